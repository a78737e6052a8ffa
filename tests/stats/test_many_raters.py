from __future__ import annotations

from fractions import Fraction
from itertools import combinations, permutations
from typing import Any, Literal, get_args

import krippendorff
import numpy as np
import pytest
import scipy.stats
from hypothesis import example, given, settings, strategies as st
from sklearn.metrics import cohen_kappa_score, f1_score
from statsmodels.stats.inter_rater import fleiss_kappa

from bedside.stats import many_raters, reliability, two_raters
from bedside.stats.result import Result
from tests.reference import statistics as published
from tests.stats.results import ends, estimate, interval_of

Metric = Literal["nominal", "ordinal", "interval", "ratio"]
tables = st.integers(2, 4).flatmap(
    lambda raters: st.lists(st.lists(st.integers(1, 5), min_size=raters, max_size=raters), min_size=2, max_size=15)
)
holed = st.integers(2, 4).flatmap(
    lambda raters: st.lists(
        st.lists(st.one_of(st.none(), st.integers(1, 5)), min_size=raters, max_size=raters), min_size=2, max_size=12
    )
)


def alpha_by_definition(table: list[list[int | None]], metric: str) -> float | None:
    """Mean distance within items against that of all pairs of ratings, summed pair by pair (Krippendorff 2011)."""
    items = [[value for value in row if value is not None] for row in table]
    items = [row for row in items if len(row) >= 2]
    everything = [value for row in items for value in row]
    counts = {value: everything.count(value) for value in set(everything)}

    def distance(c: int, k: int) -> float:
        if metric == "nominal":
            return float(c != k)
        if metric == "interval":
            return float((c - k) ** 2)
        if metric == "ratio":
            return ((c - k) / (c + k)) ** 2 if c + k else 0.0
        low, high = min(c, k), max(c, k)
        between = sum(count for value, count in counts.items() if low <= value <= high)
        return (between - (counts[low] + counts[high]) / 2) ** 2

    n = len(everything)
    if n < 2:
        return None
    observed = sum(sum(distance(a, b) for a, b in permutations(row, 2)) / (len(row) - 1) for row in items) / n
    expected = sum(distance(a, b) for a, b in permutations(everything, 2)) / (n * (n - 1))
    return None if expected == 0 else 1 - observed / expected


def whole(items: list[list[str | None]]) -> list[list[int | None]]:
    return [[None if cell is None else int(cell) for cell in row] for row in items]


def test_fleiss_published() -> None:
    result = many_raters.fleiss_kappa_from_counts(published.FLEISS_1971)
    assert result.estimate == pytest.approx(0.4302445201, abs=1e-10)
    assert result.statistic == pytest.approx(17.65183, abs=5e-6)
    per_level = [round(result.details[f"kappa of {level}"] or 0, 3) for level in range(1, 6)]
    assert per_level == [0.245, 0.245, 0.520, 0.471, 0.566]
    ratings = [[level for level, count in enumerate(row) for _ in range(count)] for row in published.FLEISS_1971]
    assert many_raters.conger_kappa(ratings).estimate == pytest.approx(0.4418085, abs=5e-8)
    assert many_raters.fleiss_kappa(ratings).estimate == pytest.approx(result.estimate)


@settings(max_examples=60, deadline=None)
@given(tables)
def test_fleiss_against_statsmodels(table: list[list[int]]) -> None:
    result = many_raters.fleiss_kappa(table, scale=(1, 2, 3, 4, 5))
    counts = np.array([[row.count(level) for level in range(1, 6)] for row in table])
    if (counts.sum(axis=0) > 0).sum() == 1:
        assert result.estimate is None
        assert result.missing
    else:
        assert result.estimate == pytest.approx(fleiss_kappa(counts, method="fleiss"), abs=1e-12)
        # Relabelling the levels and reordering items and raters changes nothing.
        other = [[6 - value for value in reversed(row)] for row in reversed(table)]
        again = many_raters.fleiss_kappa(other)
        assert again.estimate == pytest.approx(result.estimate, abs=1e-12)


def test_short_rows_are_dropped_not_rescaled() -> None:
    whole = many_raters.fleiss_kappa_from_counts(published.FLEISS_1971)
    short = many_raters.fleiss_kappa_from_counts([*published.FLEISS_1971, [1, 1, 1, 1, 1]])
    assert (short.estimate, short.n, short.dropped) == (whole.estimate, 30, 1)


@pytest.mark.parametrize(
    ("rows", "metric", "value"),
    [
        (published.KRIPPENDORFF_A, "nominal", 0.0952380952), (published.KRIPPENDORFF_B, "nominal", 0.6919642857),
        (published.KRIPPENDORFF_C, "nominal", 0.7434210526), (published.KRIPPENDORFF_C, "ordinal", 0.8153875038),
        (published.KRIPPENDORFF_C, "interval", 0.8491071429), (published.KRIPPENDORFF_C, "ratio", 0.7974027747),
    ],
)  # fmt: skip
def test_alpha_published(rows: tuple[str, ...], metric: Metric, value: float) -> None:
    items = published.as_items(rows)
    result = reliability.krippendorff_alpha(items if metric == "nominal" else whole(items), metric=metric)
    assert result.estimate == pytest.approx(value, abs=1e-10)


@pytest.mark.slow
@settings(max_examples=120, deadline=None)
@given(holed, st.sampled_from(get_args(Metric)))
def test_alpha_by_definition_and_against_krippendorff(table: list[list[int | None]], metric: Metric) -> None:
    result = reliability.krippendorff_alpha(table, metric=metric)
    expected = alpha_by_definition(table, metric)
    if expected is None:
        assert result.estimate is None
        assert result.missing
        return
    assert result.estimate == pytest.approx(expected, abs=1e-10)
    matrix = np.array(table, dtype=float).T
    theirs = krippendorff.alpha(matrix, level_of_measurement=metric)
    assert result.estimate == pytest.approx(theirs, abs=1e-10)


def test_alpha_of_labels_in_order() -> None:
    table = [["low", "high"], ["mid", "mid"], ["high", "high"], ["low", "mid"]]
    ours = reliability.krippendorff_alpha(table, metric="ordinal", scale=("low", "mid", "high"))
    place = {"low": 1, "mid": 2, "high": 3}
    same = reliability.krippendorff_alpha([[place[c] for c in row] for row in table], metric="ordinal")
    assert ours.estimate == same.estimate


def test_alpha_bootstrap_recomputes_the_ordinal_distances() -> None:
    rng = np.random.default_rng(1)
    table = np.clip(rng.integers(1, 6, (30, 1)) + rng.integers(-1, 2, (30, 3)), 1, 5)
    values = []
    for _ in range(400):
        chosen = table[rng.integers(0, 30, 30)]
        values.append(krippendorff.alpha(chosen.T.astype(float), level_of_measurement="ordinal"))
    ours = reliability.krippendorff_alpha(table, metric="ordinal", interval="percentile", resamples=4000).interval
    assert ours is not None
    low, high = np.quantile(values, (0.025, 0.975))
    assert ours.low == pytest.approx(low, abs=0.03)
    assert ours.high == pytest.approx(high, abs=0.02)


def test_gwet_published() -> None:
    rows = np.array(published.as_ratings(published.GWET)).T
    result = many_raters.gwet_ac(rows, scale=(1, 2, 3))
    assert result.estimate == pytest.approx(0.8493305, abs=5e-8)
    assert result.standard_error == pytest.approx(0.0432175, abs=5e-8)
    assert reliability.krippendorff_alpha(rows, metric="nominal").estimate == pytest.approx(0.7972585, abs=5e-8)


def gwet_by_definition(table: list[list[int | None]], scale: tuple[int, ...], power: int) -> float:
    items = [[value for value in row if value is not None] for row in table]
    items = [row for row in items if row]
    length = scale[-1] - scale[0]

    def weight(a: int, b: int) -> float:
        return float(a == b) if power == 0 else 1 - (abs(a - b) / length) ** power

    several = [row for row in items if len(row) >= 2]
    observed = np.mean([np.mean([weight(a, b) for a, b in permutations(row, 2)]) for row in several])
    share = [np.mean([row.count(level) / len(row) for row in items]) for level in scale]
    total = sum(weight(a, b) for a in scale for b in scale)
    chance = total / (len(scale) * (len(scale) - 1)) * sum(p * (1 - p) for p in share)
    return float((observed - chance) / (1 - chance))


@settings(max_examples=60, deadline=None)
@given(holed, st.sampled_from([("unweighted", 0), ("linear", 1), ("quadratic", 2)]))
def test_gwet_by_definition(table: list[list[int | None]], weights: tuple[str, int]) -> None:
    result = many_raters.gwet_ac(table, scale=(1, 2, 3, 4, 5), weights=weights[0])
    if result.estimate is None:
        assert all(sum(value is not None for value in row) < 2 for row in table)
    else:
        assert result.estimate == pytest.approx(gwet_by_definition(table, (1, 2, 3, 4, 5), weights[1]), abs=1e-10)


def test_gwet_of_four_raters_published() -> None:
    """R's irrCAC, gwet.ac1.raw(cac.raw4raters): Krippendorff's data with a unit that one observer rated."""
    items = published.as_items(published.KRIPPENDORFF_C)
    result = many_raters.gwet_ac(whole(items), scale=(1, 2, 3, 4, 5), interval="analytic")
    assert result.details["observed agreement"] == pytest.approx(0.8181818, abs=5e-8)
    assert result.details["chance agreement"] == pytest.approx(0.1903212, abs=5e-8)
    assert result.estimate == pytest.approx(0.77544, abs=5e-6)
    assert result.standard_error == pytest.approx(0.14295, abs=5e-6)
    assert [round(end, 3) for end in ends(result)] == [0.461, 1]


def test_gwet_error_against_the_jackknife() -> None:
    """The linearised standard error of several raters is the jackknife's in a large sample."""
    rng = np.random.default_rng(2)
    table = np.clip(rng.integers(1, 6, (300, 1)) + rng.integers(-1, 2, (300, 3)), 1, 5)
    options: dict[str, Any] = {"scale": (1, 2, 3, 4, 5), "weights": "quadratic", "interval": "analytic"}
    left = [estimate(many_raters.gwet_ac(np.delete(table, item, axis=0), **options)) for item in range(300)]
    assert many_raters.gwet_ac(table, **options).standard_error == pytest.approx(np.std(left) * np.sqrt(299), rel=0.01)


def test_unused_levels_matter_to_gwet() -> None:
    rows = np.array(published.as_ratings(published.GWET)).T
    assert many_raters.gwet_ac(rows, scale=(1, 2, 3, 4)).estimate != pytest.approx(
        many_raters.gwet_ac(rows, scale=(1, 2, 3)).estimate
    )


def test_icc_published() -> None:
    plain = reliability.icc(published.SHROUT_FLEISS)
    assert plain == reliability.icc(published.SHROUT_FLEISS, model=2, average=False)
    assert plain.statistic == pytest.approx(11.03, abs=5e-3)


#: As Shrout and Fleiss (1979) print them, and R's psych with intervals: the form, the value, low, high.
SHROUT_FLEISS_FORMS = (
    (1, False, 0.17, -0.13, 0.72), (2, False, 0.29, 0.02, 0.76), (3, False, 0.71, 0.34, 0.95),
    (1, True, 0.44, -0.88, 0.91), (2, True, 0.62, 0.07, 0.93), (3, True, 0.91, 0.68, 0.99),
)  # fmt: skip


@pytest.mark.parametrize(("model", "average", "value", "low", "high"), SHROUT_FLEISS_FORMS)
def test_icc_forms_published(model: Any, average: bool, value: float, low: float, high: float) -> None:
    result = reliability.icc(published.SHROUT_FLEISS, model=model, average=average)
    assert result.name == f"ICC({model},{'k' if average else 1})"
    assert round(result.estimate or 0, 2) == value
    assert [round(end, 2) for end in ends(result)] == [low, high]


@pytest.mark.parametrize("average", [False, True])
def test_icc_of_items_with_raters_of_their_own(average: bool) -> None:
    """Shrout and Fleiss's ratings, each item's by four of seven raters: who they are says nothing in the first form."""
    rng = np.random.default_rng(5)
    scattered = np.full((len(published.SHROUT_FLEISS) + 2, 7), np.nan)
    for row, ratings in zip(scattered, published.SHROUT_FLEISS, strict=False):
        row[rng.choice(7, 4, replace=False)] = ratings
    scattered[-2, :2] = 3, 9  # two ratings only
    scattered[-1, 0] = 5
    whole, own = (reliability.icc(table, model=1, average=average) for table in (published.SHROUT_FLEISS, scattered))
    assert own.estimate == pytest.approx(whole.estimate, abs=1e-12)
    assert interval_of(own).low == pytest.approx(interval_of(whole).low, abs=1e-12)
    assert (own.n, own.dropped, own.method) == (whole.n, 2, whole.method)
    assert reliability.icc(scattered, model=2).missing == "fewer than two items rated by all raters"
    assert reliability.icc(scattered[-2:], model=1).missing == (
        "fewer than two items with as many ratings as each other"
    )


@pytest.mark.slow
@pytest.mark.parametrize("raters", [2, 3, 5])
def test_icc_against_pingouin(raters: int) -> None:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pandas as pd
        import pingouin as pg

        rng = np.random.default_rng(3)
        table = rng.normal(size=(20, 1)) + 0.3 * rng.normal(size=(1, raters)) + 0.6 * rng.normal(size=(20, raters))
        long = pd.DataFrame(
            [(i, j, table[i, j]) for i in range(20) for j in range(raters)], columns=["item", "rater", "value"]
        )
        theirs = pg.intraclass_corr(long, targets="item", raters="rater", ratings="value")
    names = theirs["Type"].astype(str).str.replace(r"[^A-Z0-9a-z]", "", regex=True)
    column = next(name for name in theirs.columns if str(name).startswith("CI95"))
    letters: dict[Literal[1, 2, 3], str] = {1: "1", 2: "A", 3: "C"}
    for model, letter in letters.items():
        for average in (False, True):
            of = "k" if average else "1"
            keys = (f"ICC{model}{'k' if average else ''}", f"ICC{letter}{of}")
            row = theirs[names.isin(keys)].iloc[0]
            ours = reliability.icc(table, model=model, average=average)
            assert ours.estimate == pytest.approx(row["ICC"], abs=1e-9)
            assert ends(ours) == pytest.approx(tuple(row[column]), abs=6e-3)
            assert ours.p == pytest.approx(row["pval"] if "pval" in row else row["p_val"], rel=1e-6)


def test_icc_is_missing_where_items_share_no_variance() -> None:
    """Two raters who say the opposite of each other of two items: the denominator of the formula is 0."""
    for average in (False, True):
        result = reliability.icc([[1, 2], [2, 1]], average=average)
        assert result.estimate is None
        assert result.missing == "items differ less than the disagreement of raters alone would make them"
    # Below 0 its own formula has the reliability of a mean above 1, or divides by 0.
    for ratings in ([[1, 2], [2, 1]], [[1, 2, 3], [3, 2, 1]], [[1, 2, 3], [3, 1, 2], [2, 3, 1]]):
        for model in (1, 2, 3):
            averaged = reliability.icc(ratings, model=model, average=True)
            assert averaged.estimate is None
            assert averaged.missing


@settings(max_examples=80, deadline=None)
@example([[2, 1, 5], [5, 1, 1]], 2, False)  # Satterthwaite's degrees of freedom would be all but none
@given(tables, st.sampled_from([1, 2, 3]), st.booleans())
def test_icc_by_mean_squares_and_in_bounds(table: list[list[int]], model: Any, average: bool) -> None:
    """The mean squares summed cell by cell, in exact fractions."""
    result = reliability.icc(table, model=model, average=average)
    n, k = len(table), len(table[0])
    grand = Fraction(sum(map(sum, table)), n * k)
    rows, columns = ([Fraction(sum(line), len(line)) for line in lines] for lines in (table, zip(*table, strict=True)))
    between = k * sum((row - grand) ** 2 for row in rows) / (n - 1)
    of_raters = n * sum((column - grand) ** 2 for column in columns) / (k - 1)
    cells = [(i, j) for i in range(n) for j in range(k)]
    error = sum((table[i][j] - rows[i] - columns[j] + grand) ** 2 for i, j in cells) / ((n - 1) * (k - 1))
    within = sum((table[i][j] - rows[i]) ** 2 for i, j in cells) / Fraction(n * (k - 1))
    noise = within if model == 1 else error
    extra = (of_raters - error) / n if model == 2 else 0
    denominator = between + extra if average else between + (k - 1) * noise + k * extra
    if denominator <= 0:
        assert result.estimate is None
        assert result.missing
        return
    assert result.estimate == pytest.approx(float((between - noise) / denominator), abs=1e-9)
    if result.interval is not None:
        assert result.interval.low - 1e-9 <= (result.estimate or 0) <= result.interval.high + 1e-9


@settings(max_examples=40, deadline=None)
@given(tables, st.sampled_from(["unweighted", "linear", "quadratic"]))
def test_pairwise_and_conger(table: list[list[int]], weights: str) -> None:
    scale = (1, 2, 3, 4, 5)
    columns = np.array(table).T
    result = many_raters.mean_pairwise_kappa(table, scale=scale, weights=weights)
    found = []
    for a, b in combinations(columns, 2):
        if len(set(a) | set(b)) > 1:
            found.append(cohen_kappa_score(a, b, labels=scale, weights=None if weights == "unweighted" else weights))
    if not found:
        assert result.estimate is None
        assert result.missing
        return
    assert result.estimate == pytest.approx(np.mean(found), abs=1e-10)
    undefined = [remark for remark in result.remarks if "undefined" in remark]
    assert bool(undefined) == (len(found) < len(columns) * (len(columns) - 1) // 2)
    alone = [duo for duo in combinations(columns, 2) if any(len(set(column)) == 1 for column in duo)]
    constant = sum(len(set(a) | set(b)) > 1 for a, b in alone)
    assert result.details.get("pairs with a constant rater") == (constant or None)
    if len(columns) == 2:
        conger = many_raters.conger_kappa(table, scale=scale, weights=weights)
        cohen = two_raters.kappa(*columns, scale=scale, weights=weights)
        assert conger.estimate == pytest.approx(cohen.estimate, abs=1e-10)
        if cohen.interval is not None:
            assert interval_of(conger).low == pytest.approx(cohen.interval.low, abs=1e-9)


def test_pairwise_of_named_pairs() -> None:
    rng = np.random.default_rng(4)
    table = rng.integers(1, 4, (30, 3))
    named = many_raters.mean_pairwise_kappa(table, scale=(1, 2, 3), pairs=[(0, 2), (1, 2)])
    expected = [cohen_kappa_score(table[:, i], table[:, 2], labels=(1, 2, 3), weights="quadratic") for i in (0, 1)]
    assert named.estimate == pytest.approx(np.mean(expected))


def test_percent_agreement() -> None:
    result = many_raters.percent_agreement([[1, 1, 1], [1, 1, 2], [2, None, 2], [None, 3, None]])
    assert result.estimate == pytest.approx((1 + 1 / 3 + 1) / 3)
    assert (result.n, result.dropped) == (3, 1)


#: irrCAC 0.4.4 for Python, CAC(...).fleiss() with the categories 1 … 5.
WEIGHTED_FLEISS = (("linear", 0.327937528, 0.6600265604), ("quadratic", 0.2840722496, 0.6666666667))


@pytest.mark.parametrize(("weights", "of_diagnoses", "of_units"), WEIGHTED_FLEISS)
def test_weighted_fleiss_published(weights: str, of_diagnoses: float, of_units: float) -> None:
    result = many_raters.fleiss_kappa_from_counts(published.FLEISS_1971, weights=weights)
    assert result.estimate == pytest.approx(of_diagnoses, abs=5e-10)
    # What is left of Krippendorff's units where all four observers rated them.
    rows = [row for row in published.as_items(published.KRIPPENDORFF_C) if None not in row]
    table = [[int(cell or 0) for cell in row] for row in rows]
    ours = many_raters.fleiss_kappa(table, scale=(1, 2, 3, 4, 5), weights=weights)
    assert ours.estimate == pytest.approx(of_units, abs=5e-10)


@settings(max_examples=60, deadline=None)
@given(tables, st.sampled_from([("unweighted", 0), ("linear", 1), ("quadratic", 2)]))
def test_weighted_fleiss_by_definition(table: list[list[int]], weights: tuple[str, int]) -> None:
    def weight(a: int, b: int) -> float:
        return float(a == b) if weights[1] == 0 else 1 - (abs(a - b) / 4) ** weights[1]

    observed = np.mean([np.mean([weight(a, b) for a, b in permutations(row, 2)]) for row in table])
    ratings = [value for row in table for value in row]
    chance = np.mean([[weight(a, b) for a in ratings] for b in ratings])
    result = many_raters.fleiss_kappa(table, scale=(1, 2, 3, 4, 5), weights=weights[0])
    if len(set(ratings)) == 1:
        assert result.estimate is None
    else:
        assert result.estimate == pytest.approx((observed - chance) / (1 - chance), abs=1e-9)
        assert (result.p is None) == (weights[1] > 0)


def test_a_constant_rater_is_named_and_left_out_beside() -> None:
    """Two people who agree fairly, and a third who says 3 to everything."""
    a, b = [1, 2, 3, 4, 5, 1, 2, 3], [1, 2, 3, 4, 4, 2, 2, 3]
    both = cohen_kappa_score(a, b, labels=[1, 2, 3, 4, 5], weights="quadratic")
    result = many_raters.mean_pairwise_kappa(list(zip(a, b, [3] * 8, strict=True)), scale=(1, 2, 3, 4, 5))
    assert result.estimate == pytest.approx(both / 3)
    assert result.details["mean kappa of the other pairs"] == pytest.approx(both)
    assert result.details["pairs with a constant rater"] == 2
    assert result.remarks == (
        "in 2 of 3 pairs one rater gives a single level to all that both rated, which makes kappa 0; the mean of the "
        f"other pairs is {both:.2f}",
    )


def slow_interval(
    statistic: Any, table: Any, clusters: Any, raters: float, both_centres: bool
) -> tuple[float, float] | None:
    """The jackknife's interval with the statistic computed anew without each item or cluster; t on Fisher's scale, of
    more than two raters, or where asked for, around pseudovalues and estimate on that of an intraclass correlation."""
    names = np.arange(len(table)) if clusters is None else clusters
    values = []
    for name in np.unique(names):
        kept = names != name
        values.append(statistic(table[kept], None if clusters is None else clusters[kept]).estimate)
    if None in values or len(values) < 2:
        return None
    estimate, folds = statistic(table, clusters).estimate, len(values)
    if (raters > 2 or both_centres) and all(-1 / (raters - 1) < value < 1 for value in (*values, estimate)):
        scaled = np.log((1 + (raters - 1) * np.array([estimate, *values])) / (1 - np.array([estimate, *values])))
        pseudo = folds * scaled[0] - (folds - 1) * scaled[1:]
        half = scipy.stats.t.ppf(0.975, folds - 1) * pseudo.std(ddof=1) / np.sqrt(folds)
        ends = np.exp([min(pseudo.mean(), scaled[0]) - half, max(pseudo.mean(), scaled[0]) + half])
        low, high = (ends - 1) / (ends + raters - 1)
        return float(low), float(high)
    error = np.sqrt((folds - 1) / folds * np.sum((np.array(values) - np.mean(values)) ** 2))
    half = scipy.stats.t.ppf(0.975, folds - 1) * error / (1 - estimate**2)
    low, high = np.tanh([np.arctanh(estimate) - half, np.arctanh(estimate) + half])
    return float(low), float(high)


@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("weights", ["unweighted", "linear", "quadratic"])
def test_the_jackknife_is_that_of_computing_anew(weights: str, clustered: bool) -> None:
    """What is left out is taken from sums over all; the slow way computes each value from the others."""
    rng = np.random.default_rng(6)
    scale = (1.0, 2.0, 3.0, 4.5, 5.0)
    metric: Any = {"unweighted": "nominal", "linear": "interval", "quadratic": "ordinal"}[weights]
    for items, raters in ((9, 2), (30, 4), (45, 3)):
        places = np.clip(rng.integers(0, 5, (items, 1)) + rng.integers(-1, 2, (items, raters)), 0, 4)
        whole = np.array(scale, dtype=object)[places]
        holed = whole.copy()
        holed[rng.random(holed.shape) < 0.15] = None
        # Items that fewer than two rated would be dropped, and be no folds.
        holed = holed[(holed != None).sum(axis=1) >= 2]  # noqa: E711
        for statistic, table, options in (
            (many_raters.mean_pairwise_kappa, holed, {"scale": scale, "weights": weights}),
            (many_raters.mean_pairwise_kappa, whole, {"scale": scale, "weights": weights, "pairs": [(0, 1)]}),
            (many_raters.gwet_ac, holed, {"scale": scale, "weights": weights}),
            (many_raters.fleiss_kappa, whole, {"scale": scale, "weights": weights}),
            (many_raters.conger_kappa, whole, {"scale": scale, "weights": weights}),
            (reliability.krippendorff_alpha, holed, {"metric": metric}),
        ):
            clusters = rng.integers(0, items // 3, len(table)) if clustered else None

            def of(rows: Any, names: Any, statistic: Any = statistic, options: Any = options) -> Any:
                return statistic(rows, clusters=names, **options)

            interval = of(table, clusters).interval
            of_unit = float((table != None).sum(axis=1).mean())  # noqa: E711
            raters_of_unit = 2 if "pairs" in options else of_unit
            expected = slow_interval(of, table, clusters, raters_of_unit, statistic is many_raters.gwet_ac)
            assert ends(interval) == pytest.approx(expected, abs=1e-12)


def test_the_kappa_of_pairs_that_share_few_items_is_too_low_and_has_no_interval() -> None:
    """20 raters with half of the ratings of 30 items: alpha is right, the mean of pairs' kappas is not."""
    rng = np.random.default_rng(15)

    def rated(items: int, share: float) -> Any:
        seen = np.sqrt(0.7) * rng.normal(size=(items, 1)) + np.sqrt(0.3) * rng.normal(size=(items, 20))
        levels = np.digitize(seen, (-1.28, -0.52, 0.25, 1.04)) + 1.0
        return np.where(rng.random(levels.shape) < share, levels, np.nan)

    scale = (1, 2, 3, 4, 5)
    truth = estimate(many_raters.mean_pairwise_kappa(rated(5_000, 1.0), scale=scale))
    gaps = [rated(30, 0.5) for _ in range(40)]
    kappas = [many_raters.mean_pairwise_kappa(table, scale=scale) for table in gaps]
    alphas = [estimate(reliability.krippendorff_alpha(table, metric="ordinal", scale=scale)) for table in gaps]
    assert np.mean([estimate(kappa) for kappa in kappas]) < min(truth - 0.05, np.mean(alphas) - 0.03)
    assert np.mean(alphas) == pytest.approx(truth, abs=0.05)
    assert {(kappa.interval, (kappa.missing or "")[:60]) for kappa in kappas} == {
        (None, "no interval: two raters share too few items for a kappa of t")
    }
    assert many_raters.mean_pairwise_kappa(rated(15, 1.0), scale=scale).interval is not None


@pytest.mark.parametrize("reliable", [0.3, 0.7])
def test_intervals_of_few_items_and_many_raters_cover(reliable: float) -> None:
    """On two raters' scale they held the truth in 85 to 91 % of studies of 10 items and 20 raters."""
    rng = np.random.default_rng(14)

    def rated(items: int) -> Any:
        seen = np.sqrt(reliable) * rng.normal(size=(items, 1)) + np.sqrt(1 - reliable) * rng.normal(size=(items, 20))
        return np.digitize(seen, (-1.28, -0.52, 0.25, 1.04)) + 1.0

    truth = estimate(reliability.krippendorff_alpha(rated(20_000), metric="ordinal"))
    studies = [ends(reliability.krippendorff_alpha(rated(10), metric="ordinal").interval) for _ in range(250)]
    assert np.mean([low <= truth <= high for low, high in studies]) == pytest.approx(0.95, abs=0.03)


@pytest.mark.parametrize(("raters", "items"), [(2, 10), (3, 10), (5, 20), (20, 20)])
def test_intervals_of_ac_of_few_items_cover(raters: int, items: int) -> None:
    """Around the estimate, which is too high in few items, they held the truth in 85 % of studies of 2 raters and 10
    items, and in 93 to 95 % of the others."""
    rng = np.random.default_rng(raters)
    scale = (1, 2, 3, 4, 5)

    def rated(items: int, raters: int) -> Any:
        seen = np.sqrt(0.7) * rng.normal(size=(items, 1)) + np.sqrt(0.3) * rng.normal(size=(items, raters))
        return np.digitize(seen, (-1.28, -0.52, 0.25, 1.04)) + 1.0

    def quadratic(table: Any) -> Result:
        return many_raters.gwet_ac(table, scale=scale, weights="quadratic")

    truth = estimate(quadratic(rated(40_000, 3)))
    studies = [quadratic(rated(items, raters)) for _ in range(500)]
    held = [low <= truth <= high for low, high in (ends(study.interval) for study in studies)]
    assert 0.93 <= np.mean(held) <= 0.99
    assert np.mean([estimate(study) for study in studies]) > truth


def test_an_interval_of_an_icc_of_raised_degrees_of_freedom_is_not_called_published() -> None:
    """Satterthwaite's degrees of freedom by hand: below k − 1 of the first ratings, not of Shrout and Fleiss's."""
    for ratings, is_raised in (([[2, 1, 5], [5, 1, 1]], True), (published.SHROUT_FLEISS, False)):
        table = np.asarray(ratings, dtype=float)
        n, k = table.shape
        result = reliability.icc(table)
        raters = result.details["mean square of raters"] or 0.0
        error = result.details["mean square of error"] or 0.0
        assert result.estimate is not None
        ratio = k * result.estimate / (n * (1 - result.estimate))
        a, b = ratio * raters, (1 + ratio * (n - 1)) * error
        df = (a + b) ** 2 / (a**2 / (k - 1) + b**2 / ((n - 1) * (k - 1)))
        assert (df < k - 1) is is_raised
        for average in (False, True):
            interval = reliability.icc(table, average=average).interval
            if interval is not None:
                assert ("Shrout and Fleiss" in interval.method) is not is_raised
        single = reliability.icc(table).interval
        assert single is not None
        assert ("degrees of freedom raised to raters − 1" in single.method) is is_raised


def test_where_all_ratings_are_equal_the_reason_says_so() -> None:
    assert (
        many_raters.gwet_ac(np.full((20, 3), 2.0), scale=(1.0, 2.0, 3.0)).missing
        == "no interval: all ratings are equal"
    )
    mixed = np.repeat(np.tile([1.0, 2.0], 10)[:, None], 3, axis=1)
    assert "all ratings are equal" not in (many_raters.gwet_ac(mixed, scale=(1.0, 2.0, 3.0)).missing or "")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("cells", "clusters", "f1", "reason"),
    [
        # By hand: 2 · 0 / (4 + 4), and the same without any of the entries.
        ([["a", "b"], ["b", "c"], ["c", "a"], ["a", "c"]], None, 0, "leaving out any cluster changes nothing"),
        ([["a", "a"], ["b", "b"], ["-", "-"]], None, 1, "leaving out any cluster changes nothing"),
        # Without the first case nobody links anything, and there is no F1.
        ([["a", "a"], ["b", "c"], ["-", "-"], ["-", "-"]], [1, 1, 2, 3], 0.5, "only one cluster has links"),
        # Of two pairs one has no links but those of the first case; the other has some in each.
        ([["a", "a", "a"], ["-", "-", "b"]], [1, 2], (1 + 2 / 3 + 2 / 3) / 3, None),
    ],
)
def test_links_that_vary_in_no_case_have_no_interval(cells: Any, clusters: Any, f1: float, reason: str | None) -> None:
    table = np.array(cells, dtype=object)
    result = many_raters.link_f1(table, none="-", clusters=clusters)
    assert estimate(result) == pytest.approx(f1)
    assert result.missing == (None if reason is None else f"no interval: {reason}")
    assert (result.interval is None) == (reason is not None)
    pairs = combinations(table.T, 2)
    by_sklearn = [f1_score(one, other, labels=["a", "b", "c"], average="micro") for one, other in pairs]
    assert estimate(result) == pytest.approx(np.mean(by_sklearn))
