"""Comparisons on runs and files, against scipy and statsmodels on the values themselves."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import scipy.stats
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests

from bedside.analysis.comparison import Comparison, Comparisons, SystemValues, compare, means_differ
from bedside.analysis.ratings_view import RatingsView, open_ratings_view
from bedside.analysis.selection import Alternative
from bedside.core.errors import DataError
from bedside.reports.renderers.records import json_text
from bedside.reports.tables.comparison import comparison_table, overall_table


def view(tmp_path: Path, rows: list[tuple[str, str, str | None, float | None]]) -> RatingsView:
    """Ratings by one person: (item, system, case, value)."""
    table = pl.DataFrame(rows, schema=["item", "system", "case", "value"], orient="row").with_columns(
        rater=pl.lit("anna"), metric=pl.lit("warmth")
    )
    table.write_csv(tmp_path / "ratings.csv")
    return open_ratings_view(tmp_path / "ratings.csv")


def paired(tmp_path: Path, a: list[float | None], b: list[float | None]) -> RatingsView:
    rows = [(f"{s}{i}", s, str(i), v) for s, values in (("A", a), ("B", b)) for i, v in enumerate(values)]
    return view(tmp_path, rows)


def only(found: Comparisons) -> Comparison:
    assert len(found.pairs) == 1
    assert not found.overall
    return found.pairs[0]


A = [3.1, 4.2, 2.2, 5.0, 3.3, 4.8, 1.9, 3.6]
B = [2.9, 3.8, 2.3, 4.1, 3.3, 4.0, 1.0, 3.1]


def test_paired_cases_get_wilcoxon(tmp_path: Path) -> None:
    found = only(compare(paired(tmp_path, A, B)))
    assert found.paired
    assert found.why == "8 cases of both systems pair"
    # One difference is zero: Pratt ranks it; scipy's exact method then asks for permutations.
    d = np.array(A) - np.array(B)
    expected = scipy.stats.wilcoxon(
        d,
        zero_method="pratt",
        method=scipy.stats.PermutationMethod(n_resamples=np.inf),
        alternative="two-sided",
    )
    assert found.test.p == pytest.approx(expected.pvalue, abs=1e-9)
    t = scipy.stats.ttest_rel(A, B)
    assert found.difference.estimate == pytest.approx(np.mean(d))
    assert found.difference.interval is not None
    assert found.difference.interval.low == pytest.approx(t.confidence_interval().low)


def test_unpaired_values_get_mann_whitney(tmp_path: Path) -> None:
    rows = [(f"A{i}", "A", None, v) for i, v in enumerate(A)] + [
        (f"B{i}", "B", None, v) for i, v in enumerate(B[:5])
    ]
    found = only(compare(view(tmp_path, rows)))
    assert not found.paired
    expected = scipy.stats.mannwhitneyu(
        A, B[:5], alternative="two-sided", method="asymptotic", use_continuity=True
    )
    assert found.test.statistic == expected.statistic
    assert found.test.p == pytest.approx(expected.pvalue)
    welch = scipy.stats.ttest_ind(A, B[:5], equal_var=False).confidence_interval()
    assert found.difference.interval is not None
    assert found.difference.interval.high == pytest.approx(welch.high)


def test_binary_pairs_get_mcnemar(tmp_path: Path) -> None:
    a = [1.0] * 9 + [0.0] * 3
    b = [1.0] * 3 + [0.0] * 6 + [1.0] + [0.0] * 2
    found = only(compare(paired(tmp_path, a, b)))
    assert "McNemar" in found.test.method
    assert found.test.p == pytest.approx(mcnemar([[3, 6], [1, 2]], exact=True).pvalue)


def test_leftovers_and_missing_values_are_counted(tmp_path: Path) -> None:
    found = only(compare(paired(tmp_path, [*A, 5.0, 5.0], [*B[:-1], None])))
    assert found.test.n == 7
    assert (found.alone_a, found.alone_b) == (3, 0)


def test_several_transcripts_of_a_case_are_averaged(tmp_path: Path) -> None:
    rows = [
        (f"{s}{i}{k}", s, str(i), v + k)
        for s, vs in (("A", A), ("B", B))
        for i, v in enumerate(vs)
        for k in (0, 1)
    ]
    found = only(compare(view(tmp_path, rows)))
    assert found.test.n == 8
    assert found.mean_a == pytest.approx(np.mean(A) + 0.5)


def test_families_and_corrections(tmp_path: Path) -> None:
    rows = [
        (f"{s}{i}", s, str(i), v + shift)
        for s, vs, shift in (("A", A, 0.0), ("B", B, 0.0), ("C", B, 0.9))
        for i, v in enumerate(vs)
    ]
    table = view(tmp_path, rows)
    for ours, theirs in (("holm", "holm"), ("bonferroni", "bonferroni"), ("bh", "fdr_bh")):
        found = compare(table, correction=ours).pairs  # type: ignore[arg-type]
        assert [(c.a, c.b) for c in found] == [("A", "B"), ("A", "C"), ("B", "C")]
        expected = multipletests([c.test.p for c in found], method=theirs)[1]
        assert [c.test.p_adjusted for c in found] == pytest.approx(expected)
        assert {c.test.family_size for c in found} == {3}
    assert [(c.a, c.b) for c in compare(table, reference="A").pairs] == [("B", "A"), ("C", "A")]
    by_metric = compare(table, family="metric").pairs
    assert {c.test.family for c in by_metric} == {"comparisons of two systems on Warmth"}


def test_three_systems_are_also_tested_at_once(tmp_path: Path) -> None:
    rows = [
        (f"{s}{i}", s, str(i), v) for s, vs in (("A", A), ("B", B), ("C", B[::-1])) for i, v in enumerate(vs)
    ]
    table = view(tmp_path, rows)
    found = compare(table).overall
    expected = scipy.stats.friedmanchisquare(A, B, B[::-1])
    assert found[0].test.statistic == pytest.approx(expected.statistic)
    assert found[0].test.p == pytest.approx(expected.pvalue)
    assert found[0].paired
    asked = compare(table, test="kruskal")
    assert asked.overall[0].test.statistic == pytest.approx(scipy.stats.kruskal(A, B, B[::-1]).statistic)
    assert "Mann–Whitney" in asked.pairs[0].test.method
    with pytest.raises(DataError, match="friedman needs three systems"):
        compare(table, systems=["A", "B"], test="friedman")


def test_cases_that_a_system_lacks_are_left_out_of_a_test_of_all_and_counted(tmp_path: Path) -> None:
    rows = [
        (f"{s}{i}", s, str(i), v)
        for s, vs in (("A", A), ("B", B), ("C", B[:1:-1])) for i, v in enumerate(vs)
    ]  # fmt: skip
    (found,) = compare(view(tmp_path, rows)).overall
    expected = scipy.stats.friedmanchisquare(A[:6], B[:6], B[:1:-1])
    assert (found.left_out, found.test.n) == (2, 6)
    assert found.test.statistic == pytest.approx(expected.statistic)
    table = overall_table([found])
    assert "Cases that not all systems have a value of are left out (at most 2 cases)." in table.notes


@pytest.mark.slow
def test_permutations_of_a_pair_share_their_null_whatever_the_metric(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    x, y = rng.normal(0.4, 1, 25), rng.normal(0, 1, 25)
    rows = [
        (f"{s}{i}", s, str(i), metric, shift + value)
        for metric, shift in (("warmth", 0.0), ("pace", 5.0))
        for s, values in (("A", x), ("B", y))
        for i, value in enumerate(values)
    ]
    frame = pl.DataFrame(rows, schema=["item", "system", "case", "metric", "value"], orient="row")
    frame.with_columns(rater=pl.lit("anna")).write_parquet(tmp_path / "two.parquet")
    both = compare(open_ratings_view(tmp_path / "two.parquet"), test="permutation").pairs
    one = compare(open_ratings_view(tmp_path / "two.parquet"), metrics=["pace"], test="permutation").pairs
    assert {c.test.p for c in both} == {one[0].test.p}


@pytest.mark.parametrize("test", ["wilcoxon", "permutation", "t", "mannwhitney", "welch"])
def test_each_test_can_be_asked_for(tmp_path: Path, test: str) -> None:
    found = only(compare(paired(tmp_path, A, B), test=test))  # type: ignore[arg-type]
    pairs_unused = ", though 8 cases are shared and would pair" if test in ("mannwhitney", "welch") else ""
    assert found.why == f"as asked{pairs_unused}"
    assert found.test.p is not None
    assert 0 < found.test.p <= 1


def test_permutations_depend_on_the_seed_only(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    table = paired(tmp_path, list(rng.normal(0.3, 1, 40)), list(rng.normal(0, 1, 40)))
    first, again, other = (only(compare(table, test="permutation", seed=seed)).test.p for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_what_cannot_be_compared_says_why(tmp_path: Path) -> None:
    found = only(compare(paired(tmp_path, [3.0, 3.0, 3.0], [3.0, 3.0, 3.0])))
    assert found.test.p is None
    assert found.test.missing
    with pytest.raises(DataError, match="'Z'"):
        compare(paired(tmp_path, A, B), systems=["A", "Z"])
    with pytest.raises(DataError, match="a comparison needs two systems"):
        compare(view(tmp_path, [("x", "A", "1", 3.0)]))


@pytest.mark.parametrize("shift", [0.0, 0.2, 0.5, 1.0])
def test_means_differ_where_a_t_interval_leaves_out_zero(shift: float) -> None:
    """Paired where cases pair, each case's values averaged; else Welch's on the values."""
    rng = np.random.default_rng(1)
    cases = np.repeat(np.arange(15), 2)
    values = rng.normal(0, 1, 30) + np.repeat(rng.normal(0, 2, 15), 2)
    others = values + rng.normal(shift, 1, 30)
    by_case = [array.reshape(15, 2).mean(axis=1) for array in (values, others)]
    expected = scipy.stats.ttest_rel(*by_case).pvalue < 0.05
    assert means_differ(SystemValues(values, cases), SystemValues(others, cases)) == expected
    elsewhere = cases + 100
    expected = scipy.stats.ttest_ind(values, others, equal_var=False).pvalue < 0.05
    assert means_differ(SystemValues(values, cases), SystemValues(others, elsewhere)) == expected


def test_means_of_values_that_do_not_vary_differ_where_they_are_unequal() -> None:
    def system(value: float, count: int, case: int) -> SystemValues:
        return SystemValues(np.full(count, value), np.arange(case, case + count))

    assert means_differ(system(1, 3, 0), system(2, 3, 0))
    assert not means_differ(system(1, 3, 0), system(1, 3, 10))
    # One value tells nothing.
    assert not means_differ(system(1, 1, 0), system(2, 1, 10))


@pytest.mark.parametrize("paired_cases", [True, False])
def test_a_shift_without_an_interval_says_why(tmp_path: Path, paired_cases: bool) -> None:
    """Values that differ by one number say nothing of how much the difference varies, whether cases pair or not."""
    case = "{0}" if paired_cases else "{1}{0}"
    rows = [
        (f"{s}{i}", s, case.format(i, s), value) for s, value in (("A", 3.0), ("B", 2.0)) for i in range(9)
    ]
    found = only(compare(view(tmp_path, rows)))
    assert (found.paired, found.test.estimate, found.test.interval) == (paired_cases, 1.0, None)
    assert found.test.missing == "no interval: all differences are equal"
    (record,) = comparison_table([found]).records
    assert (record["low"], record["high"], record["low_open"], record["high_open"]) == (None,) * 4
    assert record["missing"] == found.test.missing


@pytest.mark.parametrize(
    ("alternative", "open_ends"),
    [("two-sided", (False, False)), ("greater", (False, True)), ("less", (True, False))],
)
def test_records_say_which_ends_are_open(
    tmp_path: Path, alternative: Alternative, open_ends: tuple[bool, bool]
) -> None:
    table = comparison_table(compare(paired(tmp_path, A, B), test="t", alternative=alternative).pairs)
    (record,) = json.loads(json_text(table))["rows"]
    assert (record["low_open"], record["high_open"]) == open_ends
    theirs = scipy.stats.ttest_rel(A, B, alternative=alternative).confidence_interval()
    for end in ("low", "high"):
        bound = getattr(theirs, end)
        assert record[end] == (None if np.isinf(bound) else pytest.approx(bound))


def test_an_end_of_zero_that_the_test_rejects_is_open(tmp_path: Path) -> None:
    """Ten of thirty cases differ, all by one: the shift's interval ends at 0, and the test rejects 0."""
    a, b = [4.0] * 10 + [3.0] * 20, [3.0] * 30
    found = only(compare(paired(tmp_path, a, b)))
    interval = found.test.interval
    assert interval is not None
    assert found.test.p is not None
    assert (interval.low, found.test.p < 0.05) == (0.0, True)
    (record,) = comparison_table([found]).records
    assert (record["low"], record["low_open"], record["high_open"]) == (0.0, True, False)
