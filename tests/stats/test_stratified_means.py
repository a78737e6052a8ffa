"""Means by cells and cases: against other implementations, formulas of surveys, and truth that is known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.weightstats import CompareMeans, DescrStatsW

from bedside.stats import prediction_powered
from bedside.stats.arrays import Array
from bedside.stats.result import Result
from bedside.stats.sampling_cells import sampling_cells
from bedside.stats.scale_means import scale_mean
from bedside.stats.stratified_means import ABOUT, JudgedUnits, difference, judged_units, mean
from tests.stats.results import ends


def some_units(seed: int, size: int = 120, labels: int = 30, *, cells: bool = False, cases: int = 0) -> JudgedUnits:
    rng = np.random.default_rng(seed)
    truth = rng.integers(1, 6, size).astype(float)
    judge = np.clip(truth + rng.integers(-1, 3, size), 1, 5)
    human = np.full(size, np.nan)
    seen = rng.choice(size, labels, replace=False)
    human[seen] = truth[seen]
    return judged_units(
        judge, human, cells=np.arange(size) % 3 if cells else None,
        cases=[f"c{n}" for n in rng.integers(0, cases, size)] if cases else None,
    )  # fmt: skip


def ones(units: JudgedUnits) -> JudgedUnits:
    """Whether the ratings are above 3."""
    human = np.where(np.isnan(units.human), np.nan, units.human > 3)
    return judged_units(units.judge > 3, human, cells=units.cells, cases=units.cases)


def test_one_cell_is_the_plain_prediction_powered_mean() -> None:
    for seed in range(5):
        units = some_units(seed, labels=12 + 10 * seed)
        seen = units.labelled
        plain = prediction_powered.mean(units.human[seen], units.judge[seen], units.judge[~seen], interval="t")
        ours = mean(units)
        assert ours.estimate == pytest.approx(plain.estimate, abs=1e-12)
        assert ends(ours) == pytest.approx(ends(plain))
        assert ours.details["degrees of freedom"] == pytest.approx(plain.details["degrees of freedom"])


def test_each_unit_is_taken_with_the_weight_of_the_others() -> None:
    """Its part in the covariance that the weight is tuned on is taken away, unit by unit."""
    units = some_units(3, labels=20)
    human, judge = units.human[units.labelled], units.judge[units.labelled]
    y, f = human - human.mean(), judge - judge.mean()
    spread = units.judge.var(ddof=1)
    errors = []
    for place in range(20):
        others = np.arange(20) != place
        errors.append(y[place] - f[place] * (y[others] @ f[others]) / 19 / spread)
    expected = np.sqrt(np.sum(np.square(errors)) / 19 / 20 * (1 - 20 / 120))
    assert mean(units, about="run").standard_error == pytest.approx(expected, rel=0.03)
    fixed = y - f * (y @ f) / 19 / spread
    assert expected > 1.02 * np.sqrt(np.sum(np.square(fixed)) / 19 / 20 * (1 - 20 / 120))


def test_people_alone_are_students_welchs_and_the_paired_t() -> None:
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=12), rng.normal(size=30)
    units = [judged_units(np.zeros(values.size), values) for values in (x, y)]
    own = mean(units[0], ratings="people")
    assert ends(own) == pytest.approx(stats.t.interval(0.95, 11, x.mean(), stats.sem(x)))
    apart = [
        judged_units(np.zeros(values.size), values, cases=[f"{name}{n}" for n in range(values.size)])
        for name, values in (("x", x), ("y", y))
    ]
    welch = difference(*apart, ratings="people")
    theirs = stats.ttest_ind(x, y, equal_var=False).confidence_interval()
    assert ends(welch) == pytest.approx((theirs.low, theirs.high))
    paired = difference(units[0], judged_units(np.zeros(12), y[:12]), ratings="people")
    within = stats.ttest_rel(x, y[:12]).confidence_interval()
    assert ends(paired) == pytest.approx((within.low, within.high))
    assert paired.details["cases of both"] == 12
    assert CompareMeans(DescrStatsW(x), DescrStatsW(y)).tconfint_diff(usevar="unequal") == pytest.approx(ends(welch))


def test_a_stratified_mean_is_that_of_surveys() -> None:
    """Cochran (1977, 5.3): Σ W_h ȳ_h, with variance Σ W_h² (1 − f_h) s_h² / n_h; a whole cell adds none."""
    rng = np.random.default_rng(6)
    sizes, labels = (60, 100, 8), (10, 12, 8)
    values = [rng.normal(h, 1 + h, size) for h, size in enumerate(sizes)]
    human = np.concatenate(
        [np.where(np.arange(s) < n, v, np.nan) for v, s, n in zip(values, sizes, labels, strict=True)]
    )
    cells = np.repeat([0, 1, 2], sizes)
    units = judged_units(np.zeros(168), human, cells=cells)
    found = mean(units, ratings="people", about="run")
    weights = np.array(sizes) / 168
    seen = [v[:n] for v, n in zip(values, labels, strict=True)]
    assert found.estimate == pytest.approx(sum(w * v.mean() for w, v in zip(weights, seen, strict=True)))
    parts = [w**2 * (1 - n / s) * v.var(ddof=1) / n for w, v, n, s in zip(weights, seen, labels, sizes, strict=True)]
    assert parts[2] == 0
    assert found.standard_error == pytest.approx(np.sqrt(sum(parts)))
    freedom = sum(parts) ** 2 / sum(part**2 / (n - 1) for part, n in zip(parts, labels, strict=True))
    assert found.details["degrees of freedom"] == pytest.approx(freedom)
    cases = mean(units, ratings="people").standard_error
    assert cases is not None
    assert cases**2 == pytest.approx(sum(w**2 * v.var(ddof=1) / v.size for w, v in zip(weights, seen, strict=True)))


def test_a_mix_of_cells_that_is_drawn_adds_its_error() -> None:
    """Double sampling for stratification (Cochran 1977, 12.2): Σ W_h² s_h² / n_h + Σ W_h (ȳ_h − ȳ)² / (N − 1)."""
    for seed in range(4):
        units = some_units(seed, labels=60, cells=True)
        fixed, drawn = (mean(units, ratings="people", about=about) for about in ("cases", "population"))
        assert fixed.estimate == drawn.estimate
        sizes = np.bincount(units.cells) / 120
        labels = [units.human[units.labelled & (units.cells == cell)] for cell in range(3)]
        within = sum(size**2 * own.var(ddof=1) / own.size for size, own in zip(sizes, labels, strict=True))
        means = np.array([own.mean() for own in labels])
        between = float(sizes @ (means - sizes @ means) ** 2) * 120 / 119
        assert (fixed.standard_error or 0) ** 2 == pytest.approx(within)
        assert (drawn.standard_error or 0) ** 2 == pytest.approx(within + between / 120)


def test_the_correction_by_cells_follows_its_formula() -> None:
    units = some_units(7, cells=True)
    seen = units.labelled
    top = bottom = 0.0
    rows = []
    for cell in range(3):
        inside = units.cells == cell
        human, judge = units.human[inside & seen], units.judge[inside & seen]
        size, n = inside.sum(), human.size
        factor = (size / 120) ** 2 * (1 - n / size) / n
        top += factor * np.cov(human, judge)[0, 1]
        bottom += factor * units.judge[inside].var(ddof=1)
        rows.append((size / 120, 1 - n / size, human, judge, units.judge[inside & ~seen]))
    slope = top / bottom * (1 - 1 / 30)
    expected = sum(
        share * (left * slope * rest.mean() + (human - left * slope * judge).mean())
        for share, left, human, judge, rest in rows
    )
    assert mean(units).estimate == pytest.approx(expected)


def test_clusters_are_those_of_an_independent_implementation() -> None:
    """With clusters of one size the error of people's mean is that of the clusters' means."""
    rng = np.random.default_rng(8)
    values = np.repeat(rng.normal(size=12), 5) + rng.normal(size=60)
    cases = np.repeat([f"c{n}" for n in range(12)], 5)
    found = mean(judged_units(np.zeros(60), values, cases=cases), ratings="people")
    means = values.reshape(12, 5).mean(axis=1)
    assert ends(found) == pytest.approx(stats.t.interval(0.95, 11, means.mean(), stats.sem(means)))
    assert found.details["degrees of freedom"] == pytest.approx(11)
    assert found.method.endswith("by case")


def test_what_was_drawn_is_told_from_what_is_labelled_together() -> None:
    """Of the units at hand, whole cases or units one by one: the error is that of what was drawn."""
    rng = np.random.default_rng(9)
    values = np.repeat(rng.normal(size=40), 3)
    cases = np.repeat([f"c{n}" for n in range(40)], 3)
    whole = np.where(np.isin(cases, [f"c{n}" for n in range(10)]), values, np.nan)
    single = values.copy()
    single[rng.permutation(120)[30:]] = np.nan
    together, apart = (
        mean(judged_units(np.zeros(120), human, cases=cases), ratings="people", about="run")
        for human in (whole, single)
    )
    assert together.details["degrees of freedom"] == pytest.approx(9)
    assert apart.details["degrees of freedom"] == pytest.approx(29)
    assert together.standard_error == pytest.approx(stats.sem(values[:30:3]) * np.sqrt(0.75))
    seen = single[~np.isnan(single)]
    assert apart.standard_error == pytest.approx(stats.sem(seen) * np.sqrt(0.75))


@pytest.mark.parametrize("about", ABOUT)
@pytest.mark.parametrize("share", [False, True])
def test_a_difference_is_that_of_the_two_means(about: Any, share: bool) -> None:
    for seed in range(10):
        x, y = some_units(seed, cells=True, cases=50), some_units(seed + 100, labels=20, cases=50)
        if share:
            x, y = (ones(units) for units in (x, y))
        every: tuple[Literal["both", "people", "judge"], ...] = ("both", "people", "judge")
        for ratings in every:
            one, other = (mean(units, ratings=ratings, about=about, share=share) for units in (x, y))
            found = difference(x, y, ratings=ratings, about=about, share=share)
            assert found.estimate == pytest.approx((one.estimate or 0) - (other.estimate or 0), abs=1e-12)
            if found.interval is not None:
                assert found.interval.low <= (found.estimate or 0) <= found.interval.high


def test_a_lower_level_makes_a_narrower_interval() -> None:
    for share in (False, True):
        units = ones(some_units(1)) if share else some_units(1)
        other = judged_units(units.judge[::-1], units.human[::-1])
        for wide, narrow in (
            (mean(units, share=share), mean(units, share=share, level=0.8)),
            (difference(units, other, share=share), difference(units, other, share=share, level=0.8)),
        ):
            assert wide.estimate == narrow.estimate
            assert ends(wide)[0] < ends(narrow)[0] < ends(narrow)[1] < ends(wide)[1]


def test_shares_without_a_single_one_have_an_interval() -> None:
    """50 labels without a one, and a judge that agrees: before, an interval without width, or [0, 1]."""
    human = np.where(np.arange(500) < 50, 0.0, np.nan)
    judge = np.zeros(500)
    people = ends(mean(judged_units(judge, human), share=True, ratings="people"))
    both = ends(mean(judged_units(judge, human), share=True, ratings="both"))
    assert people[0] == both[0] == 0
    assert 0.05 < people[1] < 0.1
    assert 0.05 < both[1] < 0.1
    assert both[1] == pytest.approx(stats.binomtest(0, 50).proportion_ci(method="wilson").high, abs=0.02)


def test_the_interval_of_a_share_is_wilsons_where_the_sample_is_large() -> None:
    rng = np.random.default_rng(10)
    human = (rng.random(4000) < 0.2).astype(float)
    found = mean(judged_units(np.zeros(4000), human), share=True, ratings="people")
    wilson = stats.binomtest(int(human.sum()), 4000).proportion_ci(method="wilson")
    assert ends(found) == pytest.approx((wilson.low, wilson.high), abs=2e-5)


def test_cells_with_too_few_cases_are_joined_with_the_nearest() -> None:
    levels = [("A", "x")] * 6 + [("A", "y")] * 6 + [("B", "y")] * 6 + [("C", "z")] * 3
    judge = np.array([1.0] * 6 + [2.0] * 6 + [1.9] * 6 + [5.0] * 3)
    labelled = np.array(([True] * 3 + [False] * 3) * 3 + [True, False, False])
    cases = np.arange(21).astype(str)
    found = sampling_cells(levels, judge, labelled, cases)
    # All other cells differ in two factors; the judge's mean is nearest in A and y.
    assert found.joined == ((("C", "z"), ("A", "y")),)
    assert found.numbers.tolist() == [0] * 6 + [1] * 6 + [2] * 6 + [1] * 3
    one_case = np.where(np.arange(21) < 6, "same", cases)
    joined = sampling_cells(levels, judge, labelled, one_case).joined
    # A and x has three labels of one case; it differs least from A and y.
    assert (("A", "x"), ("C", "z"), ("A", "y")) in joined or (("C", "z"), ("A", "x"), ("A", "y")) in joined
    nobody = sampling_cells(levels, judge, np.zeros(21, dtype=bool), cases)
    assert nobody.numbers.tolist() == [0] * 21
    assert mean(judged_units(judge, np.full(21, np.nan), cells=nobody.numbers)).missing


def test_what_cannot_be_said() -> None:
    assert mean(judged_units([], [])).missing == "the judge rated nothing"
    lone = judged_units([1, 2, 3, 4], [1, None, 3, 4], cells=[0, 0, 1, 1])
    assert mean(lone).missing == "people rated fewer than two cases of a cell"
    assert difference(lone, lone).missing == "people rated fewer than two cases of a cell"
    single = judged_units([1.0], [None])
    assert mean(single, ratings="judge").missing == "the judge rated fewer than two cases"
    assert mean(single, ratings="people").missing == "people rated fewer than two cases"
    same = judged_units([2, 2, 2], [3, 3, None])
    assert mean(same).estimate == 3
    assert mean(same).missing == "no interval: the ratings don't vary"


Study = Callable[[np.random.Generator], tuple[Result, float]]


def stratified(rng: np.random.Generator) -> tuple[Result, float]:
    """A tenth of the units oversampled to half of the labels, and a judge that is far too kind to them."""
    cells = np.repeat([0, 1], (60, 540))
    latent = rng.normal(np.where(cells == 0, -1.0, 0.3), 1.0)
    truth = np.digitize(latent, (-1.28, -0.52, 0.25, 1.04)) + 1.0
    judge = np.digitize(latent + np.where(cells == 0, 0.8, -0.2), (-1.28, -0.52, 0.25, 1.04)) + 1.0
    human = np.full(600, np.nan)
    for cell in (0, 1):
        seen = rng.choice(np.flatnonzero(cells == cell), 25, replace=False)
        human[seen] = truth[seen]
    return mean(judged_units(judge, human, cells=cells), about="run"), float(truth.mean())


def repeated(rng: np.random.Generator) -> tuple[Result, float]:
    """Twenty cases with ten transcripts each; half of what varies is the case's."""
    case = np.repeat(np.arange(20), 10)
    truth = rng.normal(size=20)[case] + rng.normal(size=200)
    judge = truth + 0.3 + 0.5 * rng.normal(size=20)[case] + 0.5 * rng.normal(size=200)
    human = np.full(200, np.nan)
    seen = rng.choice(200, 50, replace=False)
    human[seen] = truth[seen]
    return mean(judged_units(judge, human, cases=case)), 0.0


def rare(rng: np.random.Generator) -> tuple[Result, float]:
    """One in ten is a one; 50 of 500 are labelled."""
    truth = (rng.random(500) < 0.1).astype(float)
    judge = np.where(rng.random(500) < 0.12, 1 - truth, truth)
    human = np.full(500, np.nan)
    human[:50] = truth[:50]
    return mean(judged_units(judge, human), share=True), 0.1


def asked_again(rng: np.random.Generator) -> tuple[Result, float]:
    """A judge's levels of 60 cases, two transcripts each, are the cells; in 50 a version that moves some is known."""
    case = np.repeat(np.arange(60), 2)
    latent = rng.normal(size=60)[case] + rng.normal(size=120)
    before = np.digitize(latent, (-1.0, 0.0, 1.0)) + 1.0
    now = before + (rng.random(120) < 0.4)
    human = np.full(120, np.nan)
    for level in range(1, 5):
        inside = np.flatnonzero(before == level)
        seen = rng.choice(inside, max(4, round(inside.size * 50 / 120)), replace=False)
        human[seen] = now[seen]
    units = judged_units(before, human, cells=before.astype(int) - 1, cases=case)
    truth = 1.4 + stats.norm.sf((-1.0, 0.0, 1.0), scale=np.sqrt(2)).sum()
    return mean(units, about="population"), float(truth)


def test_the_interval_of_ratings_alone_is_that_of_a_mean_on_a_scale() -> None:
    for seed in range(4):
        units = some_units(seed, labels=8 + 4 * seed)
        found = mean(units, ratings="people", scale=(1, 5))
        labels = scale_mean(units.human[units.labelled], low=1, high=5)
        assert (found.estimate, *ends(found)) == pytest.approx((labels.estimate, *ends(labels)))
        assert found.standard_error == mean(units, ratings="people").standard_error
        assert mean(units, scale=(1, 5)).estimate == mean(units).estimate
    beyond = judged_units([1, 1, 2, 1, 1, 1, 1, 1], [1, 1, 1, 2, *[None] * 4])
    assert ends(mean(beyond, scale=(3, 5))) == ends(mean(beyond))


def test_few_labels_near_an_end_hold_the_mean() -> None:
    """15 labels, seven in ten at the lowest level: Student's interval held the mean in 89 % of 2,000 studies."""
    rng = np.random.default_rng(4)

    def levels(values: Array) -> Any:
        return np.digitize(values, (0.5, 1.2, 1.7, 2.3)) + 1.0

    truth, covered = 1 + stats.norm.sf((0.5, 1.2, 1.7, 2.3)).sum(), {"t": 0, "Wilson on the scale": 0}
    for _ in range(400):
        latent = rng.normal(size=150)
        human = np.where(np.arange(150) < 15, levels(latent), np.nan)
        units = judged_units(levels(latent + 0.3 + 0.6 * rng.normal(size=150)), human)
        for name, found in (("t", mean(units)), ("Wilson on the scale", mean(units, scale=(1, 5)))):
            covered[name] += found.interval is None or ends(found)[0] <= truth <= ends(found)[1]
    assert covered["t"] < 0.92 * 400
    assert covered["Wilson on the scale"] == pytest.approx(0.95 * 400, abs=0.025 * 400)


@pytest.mark.slow
@pytest.mark.parametrize("study", [stratified, repeated, rare, asked_again])
def test_intervals_cover(study: Study) -> None:
    """1,000 studies of known truth: between 93 and 97.5 %, give or take two Monte Carlo errors of .7 points."""
    rng = np.random.default_rng(11)
    covered = 0
    for _ in range(1000):
        found, truth = study(rng)
        low, high = ends(found)
        covered += low <= truth <= high
    assert 0.93 - 0.014 < covered / 1000 < 0.975 + 0.014
