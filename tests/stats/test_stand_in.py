"""A judge beside one person, by decision: against plain loops, scipy's t test, and studies with known truth."""

from __future__ import annotations

from itertools import permutations, product
from typing import Any

import numpy as np
import pytest
from scipy import stats

from bedside.analysis.checked_units import CheckedUnits
from bedside.analysis.judge_accuracy import LevelDecision, decisions, is_worse
from bedside.core.errors import DataError
from bedside.stats.stand_in import (
    CASES_NEEDED,
    EFFECTIVE,
    JUDGE,
    MARGIN,
    P_WORSE,
    PERSON,
    Costs,
    no_worse_than_one_person,
)
from tests.analysis.builders import definite, ends
from tests.soak import budget

Array = np.ndarray[Any, Any]


def study(
    rng: np.random.Generator, *, cases: int, people: int = 2, turns: int = 1, prevalence: float = 0.1,
    sensitivity: float = 0.8, specificity: float = 0.98, falls: float = 0.0,
) -> tuple[Array, Array, Array]:  # fmt: skip
    """People who find ``sensitivity`` of what is so, and a judge whose sensitivity beside one of them falls short.

    Units of one case are alike (intraclass correlation .3) in what is so and in whether the judge finds it.

    Returns:
        The judge's ratings, people's, and the case of each unit.
    """
    flagged = prevalence * sensitivity + (1 - prevalence) * (1 - specificity)
    finds = sensitivity - falls * flagged / (prevalence * sensitivity)

    def rates(mean: float) -> Array:
        drawn = rng.beta(mean * 7 / 3, (1 - mean) * 7 / 3, cases) if turns > 1 else np.full(cases, mean)
        return np.repeat(drawn, turns)

    truth = rng.random(cases * turns) < rates(prevalence)
    chance = np.where(truth, sensitivity, 1 - specificity)
    said = (rng.random((cases * turns, people)) < chance[:, None]).astype(float)
    judge = (rng.random(cases * turns) < np.where(truth, rates(finds), 1 - specificity)).astype(float)
    return judge, said, np.repeat(np.arange(cases), turns)


def by_loops(judge: Array, people: Array, weights: Array, level: float) -> tuple[float, float]:
    """The judge's and one person's share of what a person says, over all ordered pairs of people of each unit."""
    so = judged = told = 0.0
    for says, row, weight in zip(judge, people, weights, strict=True):
        given = [cell for cell in row if not np.isnan(cell)]
        pairs = list(permutations(given, 2))
        for one, other in pairs:
            if one == level:
                so += weight / len(pairs)
                judged += weight / len(pairs) * (says == level)
                told += weight / len(pairs) * (other == level)
    return judged / so, told / so


@pytest.mark.parametrize(("people", "has_gaps"), [(2, False), (3, True)])
def test_shares_are_those_of_loops_over_ordered_pairs_of_people(people: int, has_gaps: bool) -> None:
    rng = np.random.default_rng(1)
    judge, said, cases = study(rng, cases=300, people=people, prevalence=0.3, falls=0.1)
    weights: Array = np.ones(300)
    if has_gaps:
        said[rng.random(said.shape) < 0.3] = np.nan
        weights = rng.uniform(0.5, 4, 300)
    options: dict[str, Any] = {"weights": weights} if has_gaps else {}
    tests = no_worse_than_one_person(judge, said, margin=0.2, **options)
    for test, level in zip(tests, (1.0, 0.0), strict=True):
        judged, told = by_loops(judge, said, weights, level)
        assert test.details[JUDGE] == pytest.approx(judged)
        assert test.details[PERSON] == pytest.approx(told)
        assert test.estimate == pytest.approx(judged - told)
    assert tests[0].n == ((~np.isnan(said)).sum(axis=1) > 1).sum(), "units of one person don't count"
    by_case = no_worse_than_one_person(judge, said, margin=0.2, clusters=cases.astype(object), **options)
    assert [test.p for test in by_case] == pytest.approx([test.p for test in tests]), "each unit is its own case"


def sums_of(values: Array, cases: Array) -> Array:
    return np.bincount(cases, values)


@pytest.mark.parametrize("falls", [0.05, 0.1, 0.15, 0.25])
def test_without_skew_p_is_that_of_the_t_test_of_linearised_case_sums(falls: float) -> None:
    judge, people, cases = study(
        np.random.default_rng(2), cases=1500, turns=4, prevalence=0.5, specificity=0.8, falls=falls
    )
    first, second = people.T
    found = judge * (first + second) / 2 - first * second
    cleared = (1 - judge) * (2 - first - second) / 2 - (1 - first) * (1 - second)
    so, not_so = (first + second) / 2, (2 - first - second) / 2
    tests = no_worse_than_one_person(judge, people, margin=0.15, clusters=cases)
    for test, gained, given in zip(tests, (found, cleared), (so, not_so), strict=True):
        linear = sums_of(gained + 0.15 * given, cases)[sums_of(given, cases) > 0]
        assert test.p == pytest.approx(stats.ttest_1samp(linear, 0, alternative="greater").pvalue, abs=0.01)
        assert test.details[P_WORSE] == pytest.approx(stats.ttest_1samp(linear, 0, alternative="less").pvalue, abs=0.01)


@pytest.mark.parametrize(("turns", "falls"), [(1, 0.0), (5, 0.0), (1, 0.3), (5, 0.3)])
def test_the_intervals_ends_are_the_margins_at_which_the_tests_turn(turns: int, falls: float) -> None:
    judge, people, cases = study(np.random.default_rng(3), cases=600, turns=turns, prevalence=0.2, falls=falls)
    costs = Costs(10)
    for place, test in enumerate(no_worse_than_one_person(judge, people, margin=0.2, clusters=cases, costs=costs)):
        low, high = ends(test.interval)
        assert low < definite(test.estimate) < high
        for place_of_p, end in enumerate((low, high)):
            if -1 < end < 0:
                at = no_worse_than_one_person(judge, people, margin=-end, clusters=cases, costs=costs)[place]
                if definite(at.details[MARGIN]) < -end:
                    continue  # No margin is wider than half of what one person reaches.
                assert (at.p, at.details[P_WORSE])[place_of_p] == pytest.approx(0.05, abs=1e-6)
    if falls:
        assert high < 0, "the upper end was looked at"


def test_what_has_no_answer_says_why() -> None:
    judge, people, _ = study(np.random.default_rng(4), cases=60, prevalence=0.5)
    nobody = no_worse_than_one_person(judge, np.zeros((60, 2)), margin=0.2)
    assert (nobody[0].estimate, nobody[0].p, nobody[0].missing) == (None, None, "no person gave it")
    assert nobody[1].estimate == pytest.approx(-judge.mean())
    everybody = no_worse_than_one_person(judge, np.ones((60, 2)), margin=0.2)
    assert everybody[0].estimate == pytest.approx(judge.mean() - 1)
    assert (everybody[1].estimate, everybody[1].p, everybody[1].missing) == (
        None, None, "people gave it to every unit",
    )  # fmt: skip
    for test in no_worse_than_one_person(judge, people, margin=0.2, clusters=np.zeros(60)):
        assert (test.n, test.p, test.interval) == (1, None, None)
        assert test.missing == "it rests on too few cases"
    few = no_worse_than_one_person(judge[:30], people[:30], margin=0.2)[0]
    assert (few.p, few.details[P_WORSE]) == (None, None)
    assert "fewer than 20" in definite(few.missing)
    for margin in (0.0, -0.1, 1.0):
        with pytest.raises(DataError, match="above 0 and below 1"):
            no_worse_than_one_person(judge, people, margin=margin)


def test_a_judge_that_always_says_the_same_finds_nothing_or_clears_nothing() -> None:
    _, people, _ = study(np.random.default_rng(5), cases=200, prevalence=0.5)
    for says, shares in ((0.0, (0.0, 1.0)), (1.0, (1.0, 0.0))):
        tests = no_worse_than_one_person(np.full(200, says), people, margin=0.2)
        assert tuple(test.details[JUDGE] for test in tests) == shares
        better, worse = sorted(tests, key=lambda test: definite(test.p))
        assert definite(better.p) < 0.05 < 0.99 < definite(worse.p)
        assert is_worse(worse, 2)
        assert not is_worse(better, 2)


def test_the_plainest_shortfall_is_worse_though_its_p_is_0() -> None:
    """Two thousand units on which the judge says the opposite of two people: p is smaller than any number."""
    _, people, _ = study(np.random.default_rng(6), cases=2000, prevalence=0.5)
    test = no_worse_than_one_person(1 - people[:, 0], people, margin=0.2)[0]
    assert definite(test.details[P_WORSE]) < 1e-12
    assert is_worse(test, 100)
    same = no_worse_than_one_person(people[:, 0], people[:, [0, 0]], margin=0.2)[0]
    assert (same.estimate, definite(same.p) < 0.05, is_worse(same, 1)) == (0.0, True, False)


@pytest.mark.parametrize("miss", [1.0, 10.0])
def test_loss_is_what_errors_cost_beside_a_rater_who_never_looks(miss: float) -> None:
    judge, people, _ = study(np.random.default_rng(7), cases=400, people=3, prevalence=0.2, falls=0.1)
    lost = told = always = never = 0.0
    for says, row in zip(judge, people, strict=True):
        for one, other in permutations(row, 2):
            lost += (miss if one else 1.0) * (says != one) / 6
            told += (miss if one else 1.0) * (other != one) / 6
            always += (1 - one) / 6
            never += miss * one / 6
    unlooked = min(always, never)
    test = no_worse_than_one_person(judge, people, margin=0.2, costs=Costs(miss))[2]
    assert test.details[JUDGE] == pytest.approx(lost / unlooked)
    assert test.details[PERSON] == pytest.approx(told / unlooked)
    assert test.estimate == pytest.approx((told - lost) / unlooked)
    half = no_worse_than_one_person(judge, people, margin=0.2, costs=Costs(miss / 2, 0.5))[2]
    assert (half.estimate, half.p) == pytest.approx((test.estimate, test.p)), "only the costs' ratio counts"


def test_dear_misses_of_a_few_cases_show_nothing_of_the_loss() -> None:
    """Five units of a hundred decide nearly all: a judge at the margin passed in 40 % of studies."""
    judge, people, _ = study(np.random.default_rng(8), cases=100, prevalence=0.05)
    test = no_worse_than_one_person(judge, people, margin=0.1, costs=Costs(50))[2]
    assert definite(test.details[EFFECTIVE]) < 20
    assert test.p is None


@pytest.mark.slow
@pytest.mark.soak
@pytest.mark.parametrize(
    ("miss", "cases", "design"),
    [
        (50.0, 650, {"prevalence": 0.05, "specificity": 0.95}),
        (10.0, 400, {"prevalence": 0.1, "specificity": 0.95, "people": 3}),
    ],
)
def test_a_loss_at_the_margin_is_shown_no_worse_in_a_twentieth_at_most(
    miss: float, cases: int, design: dict[str, Any]
) -> None:
    """Some 60 cases in effect, of which few dear ones differ. By the margin of .1; and what chance adds (3 errors)."""
    flagged = design["prevalence"] * 0.8 + (1 - design["prevalence"]) * 0.05
    # What is missed is dear, but for what another person misses, too.
    falls = 0.1 * min(miss * flagged, 1 - flagged) / flagged / (miss - 0.2 / 0.8)
    judge, people, _ = study(np.random.default_rng(16), cases=400_000, falls=falls, **design)
    truth = no_worse_than_one_person(judge, people, margin=0.1, costs=Costs(miss))[2]
    assert truth.estimate == pytest.approx(-0.1, abs=0.015)
    rng, runs, shown = np.random.default_rng(17), budget(40, 4000), 0
    for _ in range(runs):
        judge, people, _ = study(rng, cases=cases, falls=falls, **design)
        p = no_worse_than_one_person(judge, people, margin=0.1, costs=Costs(miss))[2].p
        shown += p is not None and p < 0.05
    assert shown / runs <= 0.05 + 3 * (0.05 * 0.95 / runs) ** 0.5


# -- what people decide ----------------------------------------------------------------------------------


def units_of(judge: Array, people: Array) -> CheckedUnits:
    names = np.arange(len(judge))
    return CheckedUnits(
        judge=judge.astype(object), people=people.astype(object), keys=names, transcripts=names, cases=names,
        chances="unknown", weights=np.ones(len(judge)), judged=len(judge), picked=0, final=np.full(len(judge), None),
    )  # fmt: skip


def words(found: tuple[LevelDecision, ...]) -> list[str]:
    return [decision.words for decision in found]


def test_each_level_each_cut_or_only_where_it_fails() -> None:
    rng = np.random.default_rng(9)
    people = np.where(rng.random((90, 2)) < 0.1, 1.0, rng.integers(1, 4, 90)[:, None])
    units, levels = units_of(people[:, 0], people), (1.0, 2.0, 3.0, 4.0)
    cuts = decisions(units, levels, margin=0.2, ordered=True)
    assert words(cuts) == ["≥ 2", "≥ 3"]
    assert [decision.given for decision in cuts] == [int((people >= cut).any(axis=1).sum()) for cut in (2, 3)]
    labels = decisions(units, levels, margin=0.2, ordered=False)
    assert words(labels) == ["1", "2", "3"]
    (fails,) = decisions(units, levels, margin=0.2, ordered=True, fails=(2.0, True), costs=Costs(10))
    assert (fails.words, fails.given, len(fails.tests)) == ("fails (≤ 2)", int((people <= 2).any(axis=1).sum()), 3)
    judged, told = by_loops((people[:, 0] <= 2).astype(float), (people <= 2).astype(float), np.ones(90), 1.0)
    assert fails.tests[0].details[JUDGE] == pytest.approx(judged)
    assert fails.tests[0].details[PERSON] == pytest.approx(told)
    two = units_of((people[:, 0] > 1).astype(float), (people > 1).astype(float))
    assert words(decisions(two, (0.0, 1.0), margin=0.2, ordered=True)) == ["1"]


def test_a_level_that_the_judge_alone_gives_is_decided_too() -> None:
    """It calls half of people's threes a four, a level that nobody uses: no cut below shows it."""
    rng = np.random.default_rng(10)
    people = np.repeat(rng.integers(1, 4, 200)[:, None], 2, axis=1).astype(float)
    judge = np.where((people[:, 0] == 3) & (rng.random(200) < 0.5), 4.0, people[:, 0])
    levels = (1.0, 2.0, 3.0, 4.0)
    *known, highest = decisions(units_of(judge, people), levels, margin=0.1, ordered=True)
    assert all(decision.is_shown for decision in known)
    assert (highest.words, highest.given, highest.is_shown) == ("≥ 4", 0, False)
    (cleared,) = highest.tests
    assert cleared.estimate == pytest.approx(-(judge == 4).mean())


def is_let_in(judge: Array, people: Array) -> bool:
    (decision,) = decisions(units_of(judge, people), (0.0, 1.0), margin=0.2, ordered=True)
    return decision.is_shown


@pytest.mark.parametrize(("finds", "cases"), [(0.3, 200), (0.4, 200), (0.3, 600)])
def test_a_judge_that_misses_most_of_what_is_rare_is_never_let_in(finds: float, cases: int) -> None:
    """One in ten is a danger, of which people find .75, so that one flags .56 of what another does; it finds .3 or .4.

    The alternative annotator test alone let such a judge in in 19 studies of 20.
    """
    found: dict[str, Any] = {"prevalence": 0.1, "sensitivity": 0.75, "specificity": 0.97}
    falls = (0.75 - finds) * 0.075 / 0.102
    judge, people, _ = study(np.random.default_rng(11), cases=100_000, people=3, falls=falls, **found)
    shares = no_worse_than_one_person(judge, people, margin=0.2)[0].details
    assert shares[PERSON] == pytest.approx(0.56, abs=0.01)
    assert shares[JUDGE] == pytest.approx(0.56 - falls, abs=0.02)
    rng = np.random.default_rng(12)
    for _ in range(20):
        judge, people, _ = study(rng, cases=cases, people=3, falls=falls, **found)
        assert not is_let_in(judge, people)


# -- how often it is right -------------------------------------------------------------------------------


def pilot(**design: Any) -> tuple[int, int]:
    """Of a large study of a judge as good as a person: how many cases 40 in effect take, and how many are needed."""
    judge, people, cases = study(np.random.default_rng(13), cases=20_000, **design)
    details = no_worse_than_one_person(judge, people, margin=0.2, clusters=cases)[0].details
    return round(40 * 20_000 / definite(details[EFFECTIVE])), int(definite(details[CASES_NEEDED]))


def share_shown(rng: np.random.Generator, runs: int, **design: Any) -> float:
    shown = 0
    for _ in range(runs):
        judge, people, cases = study(rng, **design)
        p = no_worse_than_one_person(judge, people, margin=0.2, clusters=cases)[0].p
        shown += p is not None and p < 0.05
    return shown / runs


DESIGNS = [
    {"prevalence": prevalence, "people": people, "turns": turns}
    for prevalence, people, turns in product((0.02, 0.1, 0.5), (2, 5), (1, 5))
]


@pytest.mark.slow
@pytest.mark.parametrize("design", DESIGNS, ids=str)
def test_a_judge_at_the_margin_is_shown_no_worse_in_a_twentieth_at_most(design: dict[str, Any]) -> None:
    """Up to 5 %, and 3 points for the chance of 400 studies."""
    count, _ = pilot(**design)
    assert share_shown(np.random.default_rng(14), 400, cases=count, falls=0.2, **design) <= 0.08


@pytest.mark.slow
@pytest.mark.parametrize("design", DESIGNS, ids=str)
def test_as_many_cases_as_are_needed_show_a_judge_as_good_as_a_person(design: dict[str, Any]) -> None:
    _, needed = pilot(**design)
    assert share_shown(np.random.default_rng(15), 300, cases=needed, **design) >= 0.75
