"""Which transcripts of a run are compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from bedside.core.errors import BedsideError
from bedside.ratings.run import Run
from bedside.scoring.score import score
from bedside.scoring.transcript_pairs import PairedTranscripts, paired_transcripts
from bedside.transcripts.transcript import Transcript, Turn


def talk(name: str, system: str | None, case: str | None, **factors: Any) -> Transcript:
    turns = (Turn(0, "clinician", "bot", "Hello."), Turn(1, "patient", "Pat", "Hello."))
    return Transcript(id=name, system=system, case_id=case, factors=factors, turns=turns)


def a_run(folder: Path, talks: Iterable[Transcript]) -> Run:
    return score(list(talks), folder / "run", metrics=["structure"]).run


def compared(pairs: PairedTranscripts) -> set[tuple[str, str]]:
    return {pair.transcripts for pair in pairs.pairs}


def test_every_two_systems_are_compared_on_every_case_both_have(tmp_path: Path) -> None:
    talks = [talk(f"{system}{case}", system, case) for system in "ABC" for case in "xyz"]
    pairs = paired_transcripts(a_run(tmp_path, talks))
    assert compared(pairs) == {
        (one + case, other + case) for one, other in combinations("ABC", 2) for case in "xyz"
    }
    assert pairs.available == 9
    assert pairs.matched_by == ()
    assert [*pairs.lines()] == ["9 pairs of conversations, of 3 systems on 3 cases, matched by case."]


def test_settings_and_repeats_are_matched_and_what_lacks_a_partner_is_named(tmp_path: Path) -> None:
    talks = [
        talk(f"A-{persona}-{repeat}", "A", "x", persona=persona, repeat=repeat)
        for persona in ("shy", "bold") for repeat in (1, 2)
    ] + [
        talk("B-shy-2", "B", "x", persona="shy", repeat=2),
        talk("B-shy-1", "B", "x", persona="shy", repeat=1),
        talk("B-odd", "B", "x", persona="odd", repeat=1),
        talk("B-y", "B", "y", persona="shy", repeat=1),
        talk("B-none", "B", None),
        talk("nobody", None, "x"),
    ]  # fmt: skip
    pairs = paired_transcripts(a_run(tmp_path, talks))
    assert compared(pairs) == {("A-shy-1", "B-shy-1"), ("A-shy-2", "B-shy-2")}
    assert pairs.matched_by == ("persona", "repeat")
    lines = "\n".join(pairs.lines())
    assert "matched by case, persona and repeat" in lines
    assert (
        "2 of A not compared with B, which has none of the same persona and repeat: A-bold-1, A-bold-2."
        in lines
    )
    assert "1 of B not compared with A, which has none of the same persona and repeat: B-odd." in lines
    assert "1 of B not compared with A, which lacks the case: B-y." in lines
    assert "1 of B not compared, as no case is known: B-none." in lines
    assert "1 not compared, as no system is known: nobody." in lines
    without = {name for lacking in pairs.without_partner for name in lacking.transcripts}
    assert without | pairs.transcripts == {entry.id for entry in talks}


def test_several_of_the_same_levels_are_matched_in_the_order_of_the_run(tmp_path: Path) -> None:
    talks = [
        talk(name, name[0], "x", minutes=number) for number, name in enumerate(("A3", "A1", "A2", "B9", "B8"))
    ]
    pairs = paired_transcripts(a_run(tmp_path, talks))
    # The minutes are each one's own, and so nothing to match by.
    assert pairs.matched_by == ()
    assert compared(pairs) == {("A3", "B9"), ("A1", "B8")}
    assert "1 of A not compared with B, which has fewer on the case: A2." in "\n".join(pairs.lines())


def test_how_a_conversation_came_out_is_nothing_to_match_by(tmp_path: Path) -> None:
    talks = [talk(f"{system}{number}", system, "x", completed=number == done)
             for system, done in (("A", 0), ("B", 1)) for number in range(2)]  # fmt: skip
    assert paired_transcripts(a_run(tmp_path, talks)).matched_by == ()


@pytest.mark.parametrize(
    ("systems", "most", "words"),
    [
        (["A", "Q"], None, "'Q'"),
        (["A"], None, "conversations of two systems are compared, and there is A"),
        (None, 0, "must be 1 or more"),
        (["A", "D"], None, "no case has comparable conversations"),
    ],
)
def test_what_can_not_be_compared_stops_in_a_line(
    tmp_path: Path, systems: list[str] | None, most: int | None, words: str
) -> None:
    run = a_run(tmp_path, [talk("a", "A", "x"), talk("b", "B", "x"), talk("d", "D", "z")])
    with pytest.raises(BedsideError, match=words):
        paired_transcripts(run, systems, most=most)


@pytest.mark.parametrize(("systems", "cases", "most"), [(8, 40, 100), (5, 7, 23), (3, 50, 10), (6, 4, 31)])
def test_a_draw_is_balanced_and_part_of_a_larger_one(
    tmp_path: Path, systems: int, cases: int, most: int
) -> None:
    names = [f"S{number}" for number in range(systems)]
    run = a_run(
        tmp_path, (talk(f"{name}-{case}", name, f"c{case}") for name in names for case in range(cases))
    )
    drawn = paired_transcripts(run, most=most, seed=3)
    assert len(drawn.pairs) == most
    assert drawn.available == cases * systems * (systems - 1) // 2
    couples = Counter(pair.systems for pair in drawn.pairs)
    every = list(combinations(names, 2))
    counts = [couples[couple] for couple in every]
    assert max(counts) - min(counts) <= 1
    of_cases = Counter(pair.case for pair in drawn.pairs)
    by_case = [of_cases[f"c{case}"] for case in range(cases)]
    assert max(by_case) - min(by_case) <= 1
    larger = paired_transcripts(run, most=most + 5, seed=3)
    assert compared(drawn) < compared(larger)
    assert compared(drawn) == compared(paired_transcripts(run, most=most, seed=3))
    assert compared(drawn) != compared(paired_transcripts(run, most=most, seed=4))
    assert f"{most:,} pairs of conversations, drawn of {drawn.available:,}" in next(drawn.lines())
