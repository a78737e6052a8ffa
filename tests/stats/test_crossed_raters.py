"""The quasi-F of cases × raters: statsmodels' analysis of variance, a t test it comes to, and null data."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest
import scipy.optimize
import scipy.stats
import statsmodels.formula.api as smf
from statsmodels.stats.anova import anova_lm

from bedside.stats.crossed_raters import (
    DF,
    SD_RATERS,
    asked_for,
    difference_with_gaps,
    paired_difference,
    some_difference,
    unpaired_difference,
)
from bedside.stats.result import Result
from tests.stats.results import interval_of

RNG = np.random.default_rng(2)
#: lme4's intercept and its standard error, of the differences of a design with gaps.
GAPS = (2.33333333333, 0.760116949543)
Array = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
X = RNG.normal(size=(14, 4)) + RNG.normal(size=4) + 0.2
Y = RNG.normal(size=(14, 4))


def test_the_error_is_that_of_an_analysis_of_variance() -> None:
    pandas = pytest.importorskip("pandas")
    deltas = X - Y
    frame = pandas.DataFrame(
        [(case, rater, deltas[case, rater]) for case in range(14) for rater in range(4)], columns=["case", "rater", "d"]
    )
    squares = anova_lm(smf.ols("d ~ C(case) + C(rater)", frame).fit())["mean_sq"]
    result = paired_difference(X, Y)
    error = (squares["C(case)"] + squares["C(rater)"] - squares["Residual"]) / deltas.size
    assert result.standard_error == pytest.approx(np.sqrt(error))
    assert result.statistic == pytest.approx(deltas.mean() ** 2 / error)
    assert result.details[SD_RATERS] == pytest.approx(np.sqrt((squares["C(rater)"] - squares["Residual"]) / 14))
    # Cochran's critical value lies between those of t over cases and of t over raters, weighted by the mean squares.
    critical = np.average(scipy.stats.t.ppf(0.975, [13, 3]), weights=[squares["C(case)"], squares["C(rater)"]])
    assert scipy.stats.t.ppf(0.975, result.details[DF]) == pytest.approx(critical)


def test_raters_who_all_agree_leave_the_t_test_of_cases() -> None:
    alike = np.repeat(X[:, :1], 3, axis=1)
    other = np.repeat(Y[:, :1], 3, axis=1)
    result = paired_difference(alike, other)
    t = scipy.stats.ttest_rel(X[:, 0], Y[:, 0])
    assert result.p == pytest.approx(t.pvalue)
    assert interval_of(result).low == pytest.approx(t.confidence_interval().low)
    welch = unpaired_difference(alike, other[:9])
    assert welch.standard_error == pytest.approx(np.sqrt(X[:, 0].var(ddof=1) / 14 + Y[:9, 0].var(ddof=1) / 9))


def test_cases_that_differ_alike_leave_the_t_test_of_raters() -> None:
    of_rater = np.array([0.4, 1.1, 0.7, 0.2])
    result = paired_difference(np.tile(of_rater, (20, 1)), np.zeros((20, 4)))
    assert result.p == pytest.approx(scipy.stats.ttest_1samp(of_rater, 0).pvalue)


def test_a_part_that_is_next_to_nothing_leaves_the_other() -> None:
    """Rounding puts the weighted critical value outside both; three people with one mean, and nearly so."""
    values = np.array([[1.0, 2.0, 3.0], [2.0, 3.0, 1.0], [3.0, 1.0, 2.0], [6.0, 6.0, 6.0]])
    for tiny in (0.0, 1e-16, 1e-15, 1e-12, 1e-9):
        result = paired_difference(values * (1 + tiny * np.arange(3)), np.zeros((4, 3)))
        assert 2 <= (result.details[DF] or 0) <= 3 + 1e-9
        assert result.p is not None


def rejections(raters: int, cases: int, between: float, *, paired: bool = True, runs: int = 600) -> tuple[float, float]:
    """Shares of null studies in which the quasi-F and a t test over cases of the raters' means reject at 5 %."""
    rng = np.random.default_rng(raters * 100 + cases)
    quasi = over_cases = 0
    for _ in range(runs):
        preference = rng.normal(0, between, (2, raters))
        own = rng.normal(0, 0.3, (2, cases, 1)) + rng.normal(0, 0.4, (2, cases, raters))
        x, y = own + preference[:, None, :]
        result = (paired_difference if paired else unpaired_difference)(x, y)
        quasi += result.p is not None and result.p < 0.05
        test = scipy.stats.ttest_rel if paired else scipy.stats.ttest_ind
        over_cases += test(x.mean(1), y.mean(1)).pvalue < 0.05
    return quasi / runs, over_cases / runs


@pytest.mark.slow
@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize(("raters", "between"), [(3, 0.0), (3, 0.15), (3, 0.3), (5, 0.3)])
def test_null_data_are_rejected_in_five_of_a_hundred(raters: int, between: float, paired: bool) -> None:
    quasi, over_cases = rejections(raters, 30, between, paired=paired)
    assert quasi < 0.065 + 2.5 * np.sqrt(0.065 * 0.935 / 600)
    if between >= 0.3:
        assert over_cases > 0.25, "what averaging raters first does"


def test_a_case_that_a_rater_left_out_is_counted() -> None:
    holed = X.copy()
    holed[3, 1] = np.nan
    result = paired_difference(holed, Y)
    assert (result.n, result.dropped) == (13, 1)
    assert result.estimate == pytest.approx(np.delete(X - Y, 3, axis=0).mean())


def test_two_raters_tell_nothing_of_others() -> None:
    for test in (paired_difference, unpaired_difference):
        result = test(X[:, :2], Y[:, :2])
        assert (result.p, result.missing) == (None, "raters like these need 3 raters or more")
        assert test(X[:1], Y[:1]).p is None
        assert "don't vary" in (test(np.ones((5, 3)), np.ones((5, 3))).missing or "")


def critical(tail: float) -> float:
    """Cochran's critical value of X − Y: of t over 14 cases and over 4 raters, weighted by their mean squares."""
    deltas = X - Y
    squares = [4 * deltas.mean(axis=1).var(ddof=1), 14 * deltas.mean(axis=0).var(ddof=1)]
    return float(np.average(scipy.stats.t.isf(tail, [13, 3]), weights=squares))


def test_it_is_tested_on_one_side_and_at_other_levels() -> None:
    result = paired_difference(X, Y)
    assert result.statistic is not None
    assert result.estimate is not None
    assert result.standard_error is not None
    p = scipy.optimize.brentq(lambda p: critical(p / 2) - np.sqrt(result.statistic), 1e-6, 1)
    above, below = (p / 2, 1 - p / 2) if result.estimate > 0 else (1 - p / 2, p / 2)
    assert result.p == pytest.approx(p)
    assert asked_for(result).p == pytest.approx(p)
    assert asked_for(result, alternative="greater").p == pytest.approx(above)
    assert asked_for(result, alternative="less").p == pytest.approx(below)
    interval = asked_for(result, level=0.8).interval
    assert interval is not None
    assert interval.high == pytest.approx(result.estimate + critical(0.1) * result.standard_error)
    nothing = paired_difference(X[:1], Y[:1])
    assert asked_for(nothing) == nothing


@pytest.mark.parametrize("shift", [0.0, 0.1, 0.6, 5.0, 50.0])
@pytest.mark.parametrize("test", [paired_difference, unpaired_difference])
def test_the_interval_leaves_out_0_where_p_says_so(test: Callable[..., Result], shift: float) -> None:
    """p was that of t with Cochran's value of 5 %: at other levels interval and p were of two tests."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        result = test(rng.normal(size=(9, 3)) + shift, rng.normal(size=(9, 3)))
        assert result.p is not None
        assert 0 < result.p <= 1
        for level in (0.5, 0.9, 0.95, 0.99, 0.9999):
            interval = asked_for(result, level=level).interval
            assert interval is not None
            assert (interval.low > 0 or interval.high < 0) == (result.p < 1 - level)


def corrected_rejections(systems: int, runs: int = 400) -> tuple[float, float]:
    """Shares of null studies of 40 cases and three raters, whose tastes are large, with a difference of some pair."""
    rng = np.random.default_rng(1)
    some = at_five = 0
    for _ in range(runs):
        own = rng.normal(0, 0.3, (systems, 40, 1)) + rng.normal(0, 0.6, (systems, 40, 3))
        tables = own + rng.normal(0, 0.5, (systems, 1, 3))
        pairs = [paired_difference(x, y) for x, y in combinations(tables, 2)]
        some += (some_difference(pairs).p or 0) <= 0.05
        # What p was before: of t with the degrees of freedom that fit 5 %.
        plain = [2 * scipy.stats.t.sf(np.sqrt(pair.statistic or 0), pair.details[DF] or 0) for pair in pairs]
        at_five += min(plain) * len(pairs) <= 0.05
    return some / runs, at_five / runs


@pytest.mark.slow
def test_several_systems_are_rejected_in_five_of_a_hundred() -> None:
    corrected, before = corrected_rejections(5)
    assert corrected < 0.05 + 2.5 * np.sqrt(0.05 * 0.95 / 400)
    assert before > corrected


def test_some_difference_is_that_of_the_pairs() -> None:
    pairs = [paired_difference(X, Y), paired_difference(X, Y + 0.5), paired_difference(Y, Y + 0.5 * X)]
    result = some_difference(pairs)
    assert result.p == pytest.approx(min(1.0, 3 * min(pair.p or 1 for pair in pairs)))
    assert result.statistic == max(pair.statistic or 0 for pair in pairs)
    assert result.estimate == max(abs(pair.effect.estimate or 0) for pair in pairs if pair.effect)
    assert (result.n, result.dropped) == (14, 0)


@pytest.mark.parametrize("paired", [True, False])
def test_the_effect_is_in_standard_deviations_of_single_ratings(paired: bool) -> None:
    """As statsmodels splits the variance of a system's ratings into cases, raters and error; many raters, as few."""
    pandas = pytest.importorskip("pandas")
    variances = []
    for table in (X, Y):
        frame = pandas.DataFrame(
            [(case, rater, table[case, rater]) for case in range(14) for rater in range(4)],
            columns=["case", "rater", "value"],
        )
        squares = anova_lm(smf.ols("value ~ C(case) + C(rater)", frame).fit())["mean_sq"]
        case, rater, error = squares["C(case)"], squares["C(rater)"], squares["Residual"]
        variances.append(max(0, case - error) / 4 + max(0, rater - error) / 14 + error)
    result = (paired_difference if paired else unpaired_difference)(X, Y)
    assert result.effect is not None
    size = (X - Y).mean() / np.sqrt(np.mean(variances))
    assert result.effect.estimate == pytest.approx(size)
    assert interval_of(result.effect).low < size < interval_of(result.effect).high


@pytest.mark.slow
@pytest.mark.parametrize(("raters", "cases", "paired"), [(3, 40, True), (5, 10, True), (5, 20, False)])
def test_the_effect_and_its_interval_hold_the_truth(raters: int, cases: int, paired: bool) -> None:
    rng = np.random.default_rng(7)
    truth = 0.5 / np.sqrt(0.6**2 + 0.3**2 + 0.4**2 + 0.2**2 + 0.6**2)
    estimates, held = [], 0
    for _ in range(500):
        own = rng.normal(0, 0.6, (2, cases, 1))
        own = (own[:1] if paired else own) + rng.normal(0, 0.3, (2, cases, 1))
        values = own + rng.normal(0, 0.4, raters) + rng.normal(0, 0.2, (2, 1, raters))
        x, y = values + rng.normal(0, 0.6, (2, cases, raters)) + np.array([0.5, 0])[:, None, None]
        effect = (paired_difference if paired else unpaired_difference)(x, y).effect
        assert effect is not None
        assert effect.estimate is not None
        estimates.append(effect.estimate)
        held += interval_of(effect).low <= truth <= interval_of(effect).high
    assert np.mean(estimates) == pytest.approx(truth, rel=0.1)
    assert held / 500 > 0.93


def long(x: Array, y: Array) -> tuple[list[float], list[int], list[int], list[int]]:
    """Two tables of cases × raters as values, systems, cases and raters, without what is missing."""
    rows = [
        (float(table[case, rater]), system, case, rater)
        for system, table in enumerate((x, y))
        for case, rater in np.argwhere(~np.isnan(table)).tolist()
    ]
    values, systems, cases, raters = map(list, zip(*rows, strict=True))
    return values, systems, cases, raters


def test_without_gaps_the_mixed_model_is_the_quasi_f() -> None:
    rng = np.random.default_rng(0)
    x, y = (rng.normal(size=(14, 4)) + 0.7 * rng.normal(size=4) + rng.normal(size=(14, 1)) for _ in range(2))
    result, expected = difference_with_gaps(*long(x, y), paired=True), paired_difference(x, y)
    for name in ("estimate", "standard_error", "p", "n", "details"):
        assert getattr(result, name) == pytest.approx(getattr(expected, name), rel=1e-6), name
    assert interval_of(result).low == pytest.approx(interval_of(expected).low)
    assert result.effect is not None
    assert expected.effect is not None
    assert result.effect.estimate == pytest.approx(expected.effect.estimate)
    # Of cases apart the error is pooled over raters, raters × systems and all else.
    apart, by_squares = difference_with_gaps(*long(x, y), paired=False), unpaired_difference(x, y)
    assert apart.estimate == pytest.approx(by_squares.estimate)
    assert apart.p == pytest.approx(by_squares.p, abs=0.02)


def test_gaps_are_modelled_as_lme4_does() -> None:
    """Each case rated by two of four raters under both systems: the intercept of the differences, and its error."""
    table = np.array([[3, 1, 4, 1], [5, 9, 2, 6], [5, 3, 5, 8], [9, 7, 9, 3], [2, 3, 8, 4], [6, 2, 6, 4]], float)
    for case in range(6):
        table[case, [(case + 1) % 4, (case + 2) % 4]] = np.nan
    result = difference_with_gaps(*long(table, np.where(np.isnan(table), np.nan, 2.0)), paired=True)
    # lmer(d ~ 1 + (1 | case) + (1 | rater))
    assert result.estimate == pytest.approx(GAPS[0], rel=1e-5)
    assert result.standard_error == pytest.approx(GAPS[1], rel=1e-5)


@pytest.mark.slow
def test_the_mixed_model_keeps_its_level() -> None:
    """20 cases, each system's rated by two of four people of its own draw, with tastes."""
    rng = np.random.default_rng(6)
    rejected = 0
    for _ in range(150):
        x, y = (
            rng.normal(0, 0.3, (20, 4)) + 0.3 * rng.normal(size=4) + 0.5 * rng.normal(size=(20, 1)) for _ in range(2)
        )
        for table in (x, y):
            for row in table:
                row[rng.choice(4, 2, replace=False)] = np.nan
        p = difference_with_gaps(*long(x, y), paired=True).p
        rejected += p is not None and p <= 0.05
    assert rejected / 150 < 0.065 + 2.5 * np.sqrt(0.065 * 0.935 / 150)


def test_what_cannot_be_told_of_raters_like_these() -> None:
    values, systems, cases, raters = long(X, Y)
    kept = [at for at in range(len(values)) if not (systems[at] and raters[at] < 2)]
    few = difference_with_gaps(
        [values[at] for at in kept], [systems[at] for at in kept], [cases[at] for at in kept],
        [raters[at] for at in kept], paired=True,
    )  # fmt: skip
    assert few.missing == "fewer than 3 raters rated both systems"
    alike = difference_with_gaps([1.0] * len(values), systems, cases, raters, paired=True)
    assert (alike.p, alike.missing) == (None, "no interval and no p-value: values don't vary over cases and raters")
