"""Generalisability: Shrout and Fleiss's published coefficients, lme4's variances, sums of squares by statsmodels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import statsmodels.formula.api as smf
from scipy.stats import f

from bedside.core.errors import DataError
from bedside.stats.arrays import Array
from bedside.stats.generalisability import RaterStudy, _CrossedSums, rater_study, raters_for
from bedside.stats.mixed_models import MixedDesign
from tests.stats.results import ends
from tests.stats.test_mixed_models import KEPT, SHROUT, near

CASES, RATERS = np.repeat(np.arange(6), 4), np.tile(list("abcd"), 6)


def study_of_shrout() -> RaterStudy:
    return rater_study(CASES, RATERS, SHROUT)


def test_published_coefficients() -> None:
    """Of one p × r design Φ is ICC(2, ·) and Eρ² is ICC(3, ·) (Shrout and Fleiss 1979, table 4)."""
    study = study_of_shrout()
    published = {("absolute", 1): 0.29, ("relative", 1): 0.71, ("absolute", 4): 0.62, ("relative", 4): 0.91}
    for (kind, raters), value in published.items():
        result = study.coefficient(kind, raters=raters)  # type: ignore[arg-type]
        assert result.estimate == pytest.approx(value, abs=0.005)
    assert [study.of_cases, study.of_raters, study.of_both] == near([2.5555556, 5.2444444, 1.0194444])
    assert study.of_repeats is None
    # The interval of Eρ² is the exact one, from F = 11.0272 (their table 2) with 5 and 15 degrees of freedom.
    ratio = 11.2417 / 1.0194
    low, high = (float(ratio / f.ppf(at, 5, 15)) for at in (0.975, 0.025))
    assert ends(study.coefficient("relative", raters=4)) == pytest.approx((1 - 1 / low, 1 - 1 / high), abs=0.01)
    # Theirs of ICC(2, 1) is .02 to .76, by Satterthwaite.
    assert ends(study.coefficient("absolute")) == pytest.approx((0.02, 0.76), abs=0.06)


def test_published_decision_study() -> None:
    """Brennan (2001), synthetic data 1: ten persons, twelve items; variances, Eρ² and Φ of the mean of twelve."""
    scores = (
        "101000000000", "111001000000", "111110000000", "110110010000", "111110100000", "111011100000", "111111100000",
        "111101111100", "111111111110", "111111111111",
    )  # fmt: skip
    values = np.array([[float(score) for score in row] for row in scores])
    person, item = np.indices(values.shape)
    study = rater_study(person.ravel(), item.ravel(), values.ravel())
    assert study.parts[:3] == pytest.approx([0.0574, 0.0754, 0.1269], abs=5e-5)
    for kind, published in (("relative", 0.844), ("absolute", 0.773)):
        assert study.coefficient(kind, raters=12).estimate == pytest.approx(published, abs=5e-4)  # type: ignore[arg-type]


def test_full_designs_are_those_of_restricted_maximum_likelihood() -> None:
    rng = np.random.default_rng(8)
    case, rater = np.repeat(np.arange(20), 8), np.tile(np.repeat(np.arange(4), 2), 20)
    y = rng.normal(size=20)[case] + rng.normal(size=4)[rater] + rng.normal(size=80)[case * 4 + rater]
    y = y + rng.normal(size=160)
    factors = {"cases": case.tolist(), "raters": rater.tolist(), "both": (case * 4 + rater).tolist()}
    fitted = MixedDesign(np.ones((160, 1)), factors).fit(y).variances
    expected = [fitted[name] for name in ("cases", "raters", "both", "residual")]
    assert min(expected) > 0.1
    assert rater_study(case, rater, y).parts == near(expected, 1e-5)


def test_a_larger_pilot_tells_more_of_the_same() -> None:
    """A pilot of the same numbers leaves open what this one does, and one of many next to nothing."""
    study = study_of_shrout()
    same = study.of_pilot(6, 4)
    assert ends(same.coefficient("relative")) == pytest.approx(ends(study.coefficient("relative")), abs=0.01)
    assert ends(same.coefficient("absolute")) == pytest.approx(ends(study.coefficient("absolute")), abs=0.02)
    low, high = np.quantile(study.of_pilot(4000, 400).drawn[:3], [0.025, 0.975], axis=1)
    assert low == pytest.approx(study.parts[:3], rel=0.2)
    assert high == pytest.approx(study.parts[:3], rel=0.2)
    reached = study.drawn[0] / (study.drawn[0] + study.drawn[2] / 4) >= 0.8
    assert study.chance("relative", 0.8, raters=4) == reached.mean()


def test_raters_needed() -> None:
    study = study_of_shrout()
    for kind, target in (("relative", 0.8), ("absolute", 0.8), ("absolute", 0.95)):
        needed = raters_for(study.coefficient(kind).estimate or 0, target)  # type: ignore[arg-type]
        assert needed is not None
        reached, fewer = (study.coefficient(kind, raters=count).estimate or 0 for count in (needed, needed - 1))  # type: ignore[arg-type]
        assert fewer < target <= reached
    assert raters_for(0.5, 0.8) == 4
    assert raters_for(0.9, 0.5) == 1
    assert raters_for(0.0, 0.8) is None
    with pytest.raises(DataError, match="between 0 and 1"):
        raters_for(0.5, 1)


def test_ratings_that_are_missing() -> None:
    # lmer(y ~ 1 + (1 | case) + (1 | rater)) without three of the ratings
    study = rater_study(CASES[KEPT], RATERS[KEPT], SHROUT[KEPT])
    assert [study.of_cases, study.of_raters, study.of_both] == near([3.2873533, 4.7079594, 0.87953906])
    assert (study.cases, study.raters, study.ratings) == (6, 4, 21)


def test_sums_of_squares_are_those_of_least_squares() -> None:
    """With gaps and repeats: each effect's sum after all others, and its expectation by drawn effects."""
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(3)
    case, rater = rng.integers(0, 12, 60), rng.integers(0, 4, 60)
    cell = np.unique(case * 4 + rater, return_inverse=True)[1]
    y = rng.normal(size=60) + rng.normal(size=12)[case] + rng.normal(size=4)[rater]
    sums = _CrossedSums(case, rater, cell, y)
    frame = pandas.DataFrame({"y": y, "case": case, "rater": rater, "cell": cell})
    left = {words: smf.ols(f"y ~ {words}", frame).fit().ssr for words in (
        "C(case) + C(rater)", "C(case)", "C(rater)", "C(cell)"
    )}  # fmt: skip
    whole = left["C(case) + C(rater)"]
    assert sums.raters == near(left["C(case)"] - whole)
    assert sums.cases == near(left["C(rater)"] - whole)
    assert sums.both == near(whole - left["C(cell)"])
    assert sums.within == near(left["C(cell)"])

    def mean(name: str, codes: Any) -> float:
        effects = np.eye(codes.max() + 1)
        return float(sum(getattr(_CrossedSums(case, rater, cell, effect[codes]), name) for effect in effects))

    # The sum over a factor's unit effects is the expectation for effects of variance 1.
    for name, expected in (("both_in_raters", "raters"), ("both_in_cases", "cases"), ("both_in_both", "both")):
        assert getattr(sums, name) == near(mean(expected, cell))
    assert sums.raters_in_raters == near(mean("raters", rater))
    assert sums.cases_in_cases == near(mean("cases", case))


def test_repeats() -> None:
    rng = np.random.default_rng(4)
    case, rater = np.repeat(np.arange(200), 10), np.tile(np.repeat(np.arange(5), 2), 200)
    both = np.repeat(rng.normal(size=1000), 2)
    y = 2 * rng.normal(size=200)[case] + 0.5 * rng.normal(size=5)[rater] + both + 1.5 * rng.normal(size=2000)
    study = rater_study(case, rater, y)
    assert study.of_repeats is not None
    assert [study.of_both, study.of_repeats] == near([1, 2.25], 0.2)
    expected = study.of_cases / (study.of_cases + study.of_both / 3 + study.of_repeats / 6)
    assert study.coefficient("relative", raters=3, repeats=2).estimate == near(expected)
    assert np.median(study.drawn, axis=1)[[0, 2, 3]] == near([study.of_cases, study.of_both, study.of_repeats], 0.03)
    with pytest.raises(DataError, match="again"):
        study_of_shrout().coefficient("relative", repeats=2)


@pytest.mark.slow
def test_intervals_cover() -> None:
    """Of 300 studies of 20 cases, half of them rated by two of three raters."""
    rng = np.random.default_rng(5)
    held = 0
    for _ in range(300):
        rows = [(case, rater) for case in range(20) for rater in (range(3) if case % 2 else rng.permutation(3)[:2])]
        case, rater = np.array(rows).T
        y = rng.normal(size=20)[case] + 0.5 * rng.normal(size=3)[rater] + rng.normal(size=case.size)
        interval = rater_study(case, rater, y, seed=rng).coefficient("absolute", raters=3).interval
        assert interval is not None
        held += interval.low <= 1 / (1 + 1.25 / 3) <= interval.high
    assert abs(held - 285) <= 8


@pytest.mark.slow
def test_intervals_cover_where_most_are_at_one_level() -> None:
    """Yes in a sixth, 60 cases of 4 raters. By degrees of freedom of normal values it was 78 to 85 %."""
    rng, cut = np.random.default_rng(11), 1.67

    def rated(cases: int, raters: int) -> Array:
        latent = rng.normal(0, np.sqrt(2), cases)[:, None] + rng.normal(0, np.sqrt(0.1), raters)
        return (latent + rng.normal(size=(cases, raters)) > cut).astype(float)

    def part(table: Array) -> Array:
        """Variances of cases, raters and what is left, from mean squares."""
        (cases, raters), of_case, of_rater = table.shape, table.mean(axis=1), table.mean(axis=0)
        rest = table - of_case[:, None] - of_rater + table.mean()
        error = float((rest**2).sum()) / ((cases - 1) * (raters - 1))
        return np.array([of_case.var(ddof=1) - error / raters, of_rater.var(ddof=1) - error / cases, error])

    true = np.mean([part(rated(1500, 300)) for _ in range(6)], axis=0)
    held = []
    for _ in range(120):
        table = rated(60, 4)
        case, rater = np.indices(table.shape)
        found = rater_study(case.ravel(), rater.ravel(), table.ravel()).coefficient("absolute")
        low, high = ends(found.interval)
        held.append(low <= true[0] / true.sum() <= high)
    assert np.mean(held) > 0.9


def test_what_tells_nothing_is_said() -> None:
    for cases, raters, values, words in (
        ([0, 0], ["a", "b"], [1, 2], "fewer than two cases"),
        ([0, 0, 1, 1, 2, 2, 3, 3], list("ababcdcd"), [1, 2, 3, 1, 2, 5, 1, 2], "share no case"),
        ([0, 0, 1, 1], list("abbc"), [1, 2, 3, 1], "too few cases"),
        ([0, 0, 1, 1, 2, 2], list("ababab"), [1, 2, 3, 4, 7, 8], "the same on every case"),
    ):
        with pytest.raises(DataError, match=words):
            rater_study(cases, raters, values)
