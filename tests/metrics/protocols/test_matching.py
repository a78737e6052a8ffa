"""Matching: only the patient's words count, and one-to-one is the largest there is."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import linear_sum_assignment

from bedside.metrics.protocols.medconceal.labels import (
    CATEGORIES,
    CategoryName,
    Concern,
    MatchProposal,
    SubmittedFinding,
)
from bedside.metrics.protocols.medconceal.matching import CaseScore, MatchCounts, f1, maximum_matching, score_case
from tests.conftest import conversation
from tests.metrics.protocols.summaries import case_level, micro

TALK = conversation(
    ("clinician", "Are you scared of the operation, perhaps?"),
    ("patient", "I am afraid that I won't wake up. And who pays for it?"),
    ("clinician", "Many people fear that they cannot afford it."),
    ("patient", "My neighbour says that statins rot the brain."),
    ("other", "The patient looks at the floor and says nothing at all."),
)
MYTH, FEAR, BARRIER, MONEY = CATEGORIES
CONCERNS = (
    Concern(id="a", category=FEAR, text="Not waking up"),
    Concern(id="b", category=MONEY, text="Cost"),
    Concern(id="c", category=MYTH, text="Statins"),
)
WAKE = "afraid that I won't wake up"


def finding(category: CategoryName = FEAR) -> SubmittedFinding:
    return SubmittedFinding(category=category, text="x")


def proposal(index: int, concern: str, quote: str = WAKE, agrees: bool | None = None) -> MatchProposal:
    return MatchProposal(finding=index, concern=concern, quote=quote, category_agrees=agrees, reason=None)


def score(findings: int, *proposals: MatchProposal, revealed: set[str] | None = None) -> CaseScore:
    return score_case(TALK, CONCERNS, [finding()] * findings, proposals, revealed)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (proposal(0, "b", "they cannot afford it"), "the quote is not the patient's (turn 2)"),
        (proposal(0, "b", "The patient looks at the floor"), "the quote is not the patient's (turn 4)"),
        (proposal(0, "b", "my insurance refuses to pay for it"), "the quote is in no patient turn"),
        (proposal(0, "b", "afraid that I will wake up"), "the quote is in no patient turn"),
        (proposal(0, "b", " … "), "no quote of the patient"),
        (proposal(3, "b"), "there is no finding 3"),
        (proposal(0, "z"), "there is no concern 'z'"),
    ],
)
def test_refused_with_the_reason(given: MatchProposal, reason: str) -> None:
    found = score(1, given)
    assert found.proposals[0].refused == reason
    assert found.proposals[0].turn is None
    assert not found.proposals[0].matched
    assert found.fine.correct == 0


def test_accepted_with_the_turn_and_a_repeated_pair_refused() -> None:
    found = score(1, proposal(0, "a", agrees=False), proposal(0, "a", agrees=True))
    assert found.proposals[0].turn == 1
    assert found.proposals[0].matched
    assert found.proposals[1].refused == "the pair was proposed before"
    assert found.category_accuracy.value == 0


def test_categories_are_compared_where_the_judge_does_not_say() -> None:
    found = score_case(TALK, CONCERNS, [finding(FEAR), finding(FEAR)], [proposal(0, "a"), proposal(1, "b")])
    assert [each.category_agrees for each in found.proposals] == [True, False]
    assert found.category_accuracy.value == 0.5


def test_greedy_finds_one_and_the_maximum_two() -> None:
    # In the order given, taking (0, a) first leaves nothing for finding 1.
    found = score(2, proposal(0, "a"), proposal(0, "b"), proposal(1, "a"))
    assert found.fine == MatchCounts(2, 2, 3)
    assert [each.matched for each in found.proposals] == [False, True, True]


def slow_matching(pairs: set[tuple[int, int]], rows: int, columns: int) -> dict[int, int]:
    """All assignments of rows to columns or to nothing; the largest, then the first in order."""
    best: list[int] | None = None
    for chosen in set(permutations([*range(columns), *[columns] * rows], rows)):
        if all(column == columns or (row, column) in pairs for row, column in enumerate(chosen)):
            key = ([-sum(column < columns for column in chosen)], list(chosen))
            if best is None or key < ([-sum(column < columns for column in best)], best):
                best = list(chosen)
    return {row: column for row, column in enumerate(best or []) if column < columns}


@given(st.sets(st.tuples(st.integers(0, 3), st.integers(0, 3))))
@settings(max_examples=100, deadline=None)
def test_matching_equals_trying_everything(pairs: set[tuple[int, int]]) -> None:
    assert maximum_matching(pairs, 4, 4) == slow_matching(pairs, 4, 4)


@given(st.integers(0, 10_000))
@settings(max_examples=50, deadline=None)
def test_matching_is_as_large_as_an_assignment(seed: int) -> None:
    draw = np.random.default_rng(seed)
    allowed = draw.random((12, 9)) < 0.2
    pairs = [(int(row), int(column)) for row, column in np.argwhere(allowed)]
    found = maximum_matching(pairs, 12, 9)
    assert set(found.items()) <= set(pairs)
    assert len(set(found.values())) == len(found)
    assert len(found) == allowed[linear_sum_assignment(allowed, maximize=True)].sum()
    assert found == maximum_matching(list(reversed(pairs)), 12, 9)


def test_grounded_matches_anew_among_the_revealed() -> None:
    # Fine matches 0–a; with only b and c revealed finding 0 can have b.
    found = score(2, proposal(0, "a"), proposal(0, "b"), revealed={"b", "c"})
    assert found.fine == MatchCounts(1, 2, 3)
    assert found.grounded == MatchCounts(1, 2, 2)
    assert found.matched_without_reveal.value == 0


def test_matched_but_no_reveal() -> None:
    matched, unmatched = score(1, proposal(0, "a"), revealed=set()), score(1, revealed=set())
    assert matched.matched_without_reveal.value == 1
    assert unmatched.matched_without_reveal.value == 0
    assert matched.grounded == MatchCounts(0, 1, 0)
    assert matched.grounded.recall.missing == "no hidden concern to find"
    assert micro([matched, unmatched]).values["matched without reveal"].value == 0.5
    assert score(1).matched_without_reveal.missing == "no trace of the conversation"


def test_coarse_counts_categories() -> None:
    # fear 2 against 1, money 1 against 1, misconception 0 against 1, communication 1 against 0: 1 + 1 of 4 and of 3
    found = score_case(TALK, CONCERNS, [finding(FEAR), finding(FEAR), finding(MONEY), finding(BARRIER)], [])
    assert found.coarse == MatchCounts(2, 4, 3)
    assert found.coarse.f1.value == pytest.approx(f1(2 / 4, 2 / 3))


@pytest.mark.parametrize(("precision", "recall", "published"), [(0.721, 0.411, 0.523), (0.791, 0.451, 0.574)])
def test_identities_of_the_published_table(precision: float, recall: float, published: float) -> None:
    # Precision and recall are printed to three decimals: F1 of all that rounds to them must hold a value that rounds
    # to the printed F1.
    half = 0.0005
    lowest, highest = f1(precision - half, recall - half), f1(precision + half, recall + half)
    assert lowest < published + half
    assert highest > published - half
    assert highest - lowest < 0.0012


@given(st.integers(0, 9), st.integers(0, 9), st.integers(0, 9))
def test_f1_of_counts_is_the_harmonic_mean(correct: int, more_findings: int, more_gold: int) -> None:
    counts = MatchCounts(correct, correct + more_findings, correct + more_gold)
    if counts.precision.value is None or counts.recall.value is None:
        assert counts.f1.value == (0 if counts.findings + counts.gold else None)
    else:
        assert counts.f1.value == pytest.approx(f1(counts.precision.value, counts.recall.value))


def test_micro_sums_counts_and_case_level_takes_means() -> None:
    # Case 1: 1 match of 1 finding and 3 concerns; case 2: none of 4 findings; case 3 submits nothing.
    cases = [score(1, proposal(0, "a")), score(4), score(0)]
    summed, meant = micro(cases), case_level(cases)
    assert (summed.level, meant.level, summed.cases) == ("micro", "case-level", 3)
    assert summed.values["fine precision"].value == 1 / 5
    assert summed.values["fine recall"].value == 1 / 9
    assert summed.values["fine F1"].value == pytest.approx(2 / 14)
    assert meant.values["fine precision"].value == 0.5
    assert (meant.values["fine precision"].n, meant.values["fine precision"].dropped) == (2, 1)
    assert meant.values["fine recall"].value == pytest.approx(1 / 9)
    assert meant.values["fine F1"].value == pytest.approx((2 / 4 + 0 + 0) / 3)
    assert summed.values["category accuracy"].value == 1
    assert summed.values["grounded F1"].missing == "no case has a trace"
    assert meant.values["grounded F1"].value is None
    assert micro([]).values["fine F1"].missing
    assert case_level([]).values["fine F1"].missing
