"""How much of 200 own notes is seen, by kind and language, and how much else; docs/scrub.md has the same numbers."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from bedside.transcripts.identifiers.recognition import Recognition
from bedside.transcripts.identifiers.transcript_identifiers import identifiers_of
from bedside.transcripts.transcript import Transcript, Turn
from tests.transcripts.identifiers.own_notes import GROUPS, NUMBER, Recall, notes, recall
from tests.transcripts.identifiers.planted import unmarked

pytest.importorskip("presidio_analyzer", reason="presidio isn't installed")

PAGE = Path(__file__).parents[3] / "docs" / "scrub.md"
TITLES = {"en": "English", "de": "German", "zh": "Chinese"}
#: What is seen at least of names, numbers and dates in notes that no pattern was made for, and false alarms at most.
FLOORS = {
    ("", "en"): (0.80, 0.95, 0.95, 3), ("", "de"): (0.95, 0.95, 0.95, 3), ("", "zh"): (0.95, 0.95, 0.95, 3),
    ("model", "en"): (0.95, 0.95, 0.95, 6),
}  # fmt: skip


@cache
def measured(model: str | None, chosen: str, language: str) -> Recall:
    return recall(Recognition(model), chosen, language)


def test_there_are_200_notes_and_the_sets_have_nothing_in_common() -> None:
    sets = {chosen: [*notes(chosen)] for chosen in ("in sight", "held out")}
    assert sum(map(len, sets.values())) == sum(NUMBER.values()) == 200
    assert {note.text for note in sets["in sight"]}.isdisjoint(note.text for note in sets["held out"])
    kinds = {place.kind for each in sets.values() for note in each for place in note.planted}
    assert kinds <= {kind for group in GROUPS.values() for kind in group}


@pytest.mark.slow
@pytest.mark.parametrize(("model", "language"), FLOORS)
def test_as_much_is_seen_as_is_said(model: str, language: str) -> None:
    if model and Recognition(None).model is None:
        pytest.skip("no model of names is installed")
    page = PAGE.read_text("utf-8")
    found = [measured(None if model else "", chosen, language) for chosen in ("held out", "in sight")]
    held_out = found[0]
    *floors, most = FLOORS[model, language]
    for group, floor in zip(GROUPS, floors, strict=True):
        assert held_out.seen[group] >= floor * held_out.planted[group], group
    assert 1000 * len(held_out.false) / held_out.words <= most
    title = f"{TITLES[language]}, {'with the model' if model else 'patterns alone'}"
    cells = [f"{held_out.seen[group]} of {held_out.planted[group]}" for group in GROUPS]
    assert f"| {title} | {' | '.join(cells)} | {1000 * len(held_out.false) / held_out.words:.1f} |" in page


@pytest.mark.slow
def test_notes_of_another_hand_are_seen_too() -> None:
    """Notes of one author each, not drawn from texts: of names, numbers and dates in each language nine in ten, and few
    more."""
    recognition = Recognition("")
    file = Path(__file__).with_name("more_notes.txt").read_text("utf-8")
    for language in NUMBER:
        planted = seen = others = words = 0
        for line in "\n".join(re.findall(rf"(?m)^== {language}.*\n((?:[^=\n].*\n)+)", file)).splitlines():
            text, places = unmarked(line)
            talk = Transcript("note", (Turn(0, "other", "N", text),), language=language)
            spans = [(one.start, one.end) for one in identifiers_of(talk, recognition) if one.field == "text"]
            covered = {at for start, end in spans for at in range(start, end)}
            planted += len(places)
            seen += sum({at for at in range(p.start, p.end) if text[at].isalnum()} <= covered for p in places)
            others += sum(all(end <= p.start or p.end <= start for p in places) for start, end in spans)
            words += len(text) // 1.6 if language == "zh" else len(text.split())
        assert seen >= 0.93 * planted, language
        assert 1000 * others / words <= 6, language
