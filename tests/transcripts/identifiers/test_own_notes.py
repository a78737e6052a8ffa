"""How much of 200 own notes is seen, by kind and language, and how much else; docs/scrub.md has the same numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from bedside.transcripts.identifiers.recognition import Recognition
from tests.installed import need
from tests.transcripts.identifiers.own_notes import GROUPS, NUMBER, notes, recall

need("presidio_analyzer")

PAGE = Path(__file__).parents[3] / "docs" / "scrub.md"
TITLES = {"en": "English", "de": "German", "zh": "Chinese"}
#: What is seen at least of names, numbers and dates in notes that no pattern was made for, and false alarms at most.
FLOORS = {
    ("", "en"): (0.80, 0.95, 0.95, 3), ("", "de"): (0.95, 0.95, 0.95, 3), ("", "zh"): (0.95, 0.95, 0.95, 3),
    ("model", "en"): (0.95, 0.95, 0.95, 6),
}  # fmt: skip


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
    held_out = recall(Recognition(None if model else ""), "held out", language)
    *floors, most = FLOORS[model, language]
    for group, floor in zip(GROUPS, floors, strict=True):
        assert held_out.seen[group] >= floor * held_out.planted[group], group
    assert 1000 * len(held_out.false) / held_out.words <= most
    title = f"{TITLES[language]}, {'with the model' if model else 'patterns alone'}"
    cells = [f"{held_out.seen[group]} of {held_out.planted[group]}" for group in GROUPS]
    assert f"| {title} | {' | '.join(cells)} | {1000 * len(held_out.false) / held_out.words:.1f} |" in page


@pytest.mark.slow
@pytest.mark.parametrize("language", NUMBER)
def test_notes_that_were_written_one_by_one_are_seen_too(language: str) -> None:
    found = recall(Recognition(""), "by hand", language)
    assert all(found.seen[group] >= 0.9 * found.planted[group] for group in GROUPS)
    assert 1000 * len(found.false) / found.words <= 7
