"""Turns marked as evidence: cells and regions become marks, and marks the words that reports find turns by."""

from __future__ import annotations

import pytest

from bedside.annotation.evidence import in_order, listed_turns, mark_of, marked_turn, reason_with_evidence
from bedside.reports.build import cited
from bedside.transcripts import Transcript, Turn

TALK = Transcript(
    "t", tuple(Turn(n, "patient", "x", text) for n, text in enumerate(["a", "I can't sleep at night", "c"]))
)


@pytest.mark.parametrize(
    ("cell", "turns"),
    [
        ("3; 5", ("3", "5")),
        ("turns 5, 3 and 3", ("3", "5")),
        ("[2]\nTurn 4", ("2", "4")),
        ("1-3; 7", ("1", "2", "3", "7")),
        ("", ()),
    ],
)
def test_a_cell_names_turns(cell: str, turns: tuple[str, ...]) -> None:
    assert listed_turns(cell) == turns


@pytest.mark.parametrize("cell", ["3.5", "the second", "5-3", "0-99999", "-1"])
def test_what_names_no_turn_is_refused(cell: str) -> None:
    with pytest.raises(ValueError, match="is not the number of a turn"):
        listed_turns(cell)


def test_marks_are_in_the_order_of_turns() -> None:
    assert in_order([mark_of(10), mark_of(2, " so\n hard "), mark_of(10)]) == ("2: so hard", "10")
    assert marked_turn("2: so hard") == 2
    with pytest.raises(ValueError, match="names no turn"):
        marked_turn("two")


def test_reports_find_the_turns_that_a_rater_marked() -> None:
    reason = reason_with_evidence("It names the worry.", ("0", "2", '1: I "can\'t" sleep'))
    assert reason == "It names the worry. Evidence: turns 0, 2; turn 1 “I 'can't' sleep”."
    assert {mark.turn for mark in cited(reason, TALK) if mark.why == "named in the reason"} == {0, 1, 2}
    assert reason_with_evidence("", ("1: can't sleep at",)) == "Evidence: turn 1 “can't sleep at”."
    assert {mark.turn for mark in cited("Evidence: turn 1 “can't sleep at”.", TALK)} == {1}
    assert reason_with_evidence("Because.", ()) == "Because."
