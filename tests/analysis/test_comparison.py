"""Comparisons on runs, files and designs that studies have, against scipy and statsmodels on the values themselves."""

from __future__ import annotations

import csv
import io
import json
import re
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.stats
from numpy.typing import NDArray
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests

import bedside
from bedside.analysis.choices import Alternative
from bedside.analysis.comparison import Comparison, Comparisons, SystemValues, compare, means_differ
from bedside.analysis.estimation import estimate
from bedside.analysis.leaderboard import standings
from bedside.analysis.non_inferiority import margins_of, within_margins
from bedside.analysis.ratings_view import RatingsView, open_ratings_view
from bedside.core.errors import DataError
from bedside.ratings.scales import Scale, parse_scale
from bedside.reports.equivalence import margin_table
from bedside.reports.estimation import estimate_table
from bedside.reports.renderers.records import csv_text, json_text
from bedside.reports.tables.comparison import comparison_table, overall_table
from bedside.reports.tables.results import results_table
from bedside.stats.confidence_sequences import any_estimate, bounded_mean, error_with_unseen
from bedside.stats.unpaired import permutation
from tests.analysis import ratings_rows
from tests.analysis.builders import definite, ends, has_note

Row = tuple[str, str, str | None, float | str | None]


def frame(rows: list[Row], rater: str = "anna") -> pl.DataFrame:
    """Ratings of (item, system, case, value)."""
    return pl.DataFrame(rows, schema=["item", "system", "case", "value"], orient="row").with_columns(
        rater=pl.lit(rater), metric=pl.lit("danger")
    )


def view(rows: list[Row], scale: Scale | None = None) -> RatingsView:
    return open_ratings_view(frame(rows), scales={"danger": scale} if scale else None)


def only(rows: list[Row], **options: Any) -> Comparison:
    comparisons = compare(view(rows), **options)
    (pair,) = comparisons.pairs
    assert not comparisons.overall
    return pair


def paired_rows(*columns: Any) -> list[Row]:
    """The values of systems A, B …, whose cases have the same names."""
    return [(f"{s}{i}", s, str(i), v) for s, values in zip("ABC", columns, strict=False) for i, v in enumerate(values)]


def unpaired_rows(*tables: NDArray[np.float64]) -> list[Row]:
    """Cases in rows, transcripts in columns; the systems share no case."""
    return [
        (f"{system}{i}.{k}", system, f"{system}{i}", float(value))
        for system, table in zip("ABC", tables, strict=False)
        for i, row in enumerate(table)
        for k, value in enumerate(row)
    ]


A = [3.1, 4.2, 2.2, 5.0, 3.3, 4.8, 1.9, 3.6]
B = [2.9, 3.8, 2.3, 4.1, 3.3, 4.0, 1.0, 3.1]
#: Of twelve pairs three are both 1, six only A's, one only B's, and two both 0.
YES_A, YES_B = [1.0] * 9 + [0.0] * 3, [1.0] * 3 + [0.0] * 6 + [1.0] + [0.0] * 2


def test_paired_cases_get_a_permutation_of_means() -> None:
    pair = only(paired_rows(A, B))
    assert (pair.paired, pair.why) == (True, "8 cases of both systems pair")
    expected = scipy.stats.permutation_test((np.subtract(A, B),), np.mean, permutation_type="samples")
    assert only(paired_rows(A, B), test="permutation").test.p == pytest.approx(expected.pvalue)
    as_extreme = np.isclose(abs(expected.null_distribution), abs(np.mean(np.subtract(A, B)))).mean()
    assert pair.test.p == pytest.approx(expected.pvalue - as_extreme / 2)
    assert pair.difference.estimate == pytest.approx(np.mean(np.subtract(A, B)))
    # The test and the difference are of the mean, and of one method.
    assert pair.difference.interval == pair.test.interval
    # One difference is zero: Pratt ranks it; scipy's exact method then asks for permutations.
    ranks = only(paired_rows(A, B), test="wilcoxon")
    every = scipy.stats.PermutationMethod(n_resamples=np.inf)
    by_ranks = scipy.stats.wilcoxon(np.subtract(A, B), zero_method="pratt", method=every)
    assert ranks.test.p == pytest.approx(by_ranks.pvalue, abs=1e-9)
    assert ends(ranks.difference.interval) == pytest.approx(tuple(scipy.stats.ttest_rel(A, B).confidence_interval()))


def test_unpaired_values_get_the_studentised_permutation_of_the_mean() -> None:
    rows: list[Row] = [(f"{s}{i}", s, None, v) for s, vs in (("A", A), ("B", B[:5])) for i, v in enumerate(vs)]
    pair = only(rows)
    assert not pair.paired
    welch = scipy.stats.ttest_ind(A, B[:5], equal_var=False)
    every = scipy.stats.permutation_test(
        (A, B[:5]), lambda x, y: scipy.stats.ttest_ind(x, y, equal_var=False).statistic, n_resamples=np.inf
    )
    further, null = abs(welch.statistic), abs(every.null_distribution)
    as_far = np.isclose(null, further)
    assert pair.test.p == pytest.approx(((null > further) & ~as_far).mean() + as_far.mean() / 2)
    assert pair.test.statistic == pytest.approx(welch.statistic)
    # The test and the difference are of the mean, and of one method.
    assert pair.difference.estimate == pytest.approx(np.mean(A) - np.mean(B[:5]))
    assert pair.difference.interval == pair.test.interval
    ranks = only(rows, test="mannwhitney")
    expected = scipy.stats.mannwhitneyu(A, B[:5], method="asymptotic", use_continuity=True)
    assert (ranks.test.statistic, ranks.test.p) == pytest.approx((expected.statistic, expected.pvalue))
    assert ends(ranks.difference.interval) == pytest.approx(tuple(welch.confidence_interval()))
    assert (pair.cases_a, pair.caseless) == (8, 13)
    assert has_note(comparison_table([pair]), "13 transcripts without a case")


def test_binary_pairs_get_mcnemar() -> None:
    pair = only(paired_rows(YES_A, YES_B))
    exact = mcnemar([[3, 6], [1, 2]], exact=True).pvalue
    assert pair.test.p == pytest.approx(exact - scipy.stats.binom.pmf(1, 7, 0.5))
    assert only(paired_rows(YES_A, YES_B), test="mcnemar").test.p == pytest.approx(exact)


def test_leftovers_and_missing_values_are_counted() -> None:
    pair = only(paired_rows([*A, 5.0, 5.0], [*B[:-1], None]))
    assert (pair.test.n, pair.alone_a, pair.alone_b) == (7, 3, 0)


def test_several_transcripts_of_a_case_are_averaged() -> None:
    rows = paired_rows(A, B)
    twice: list[Row] = [(f"{name}.{k}", s, case, float(v or 0) + k) for name, s, case, v in rows for k in (0, 1)]
    pair = only(twice)
    assert pair.test.n == 8
    assert pair.mean_a == pytest.approx(np.mean(A) + 0.5)


def test_families_and_corrections() -> None:
    three = view(paired_rows(A, B, np.add(B, 0.9)))
    for ours, theirs in (("holm", "holm"), ("bonferroni", "bonferroni"), ("bh", "fdr_bh")):
        pairs = compare(three, correction=ours).pairs  # type: ignore[arg-type]
        assert [(c.a, c.b) for c in pairs] == [("A", "B"), ("A", "C"), ("B", "C")]
        expected = multipletests([c.test.p for c in pairs], method=theirs)[1]
        assert [c.test.p_adjusted for c in pairs] == pytest.approx(expected)
        assert {c.test.family_size for c in pairs} == {3}
    assert [(c.a, c.b) for c in compare(three, reference="A").pairs] == [("B", "A"), ("C", "A")]
    by_metric = compare(three, family="metric").pairs
    assert {c.test.family for c in by_metric} == {"comparisons of two systems on Danger"}


def test_three_systems_are_also_tested_at_once() -> None:
    table = view(paired_rows(A, B, B[::-1]))
    (overall,) = compare(table).overall
    expected = scipy.stats.friedmanchisquare(A, B, B[::-1])
    assert (overall.test.statistic, overall.test.p) == pytest.approx((expected.statistic, expected.pvalue))
    assert overall.paired
    asked = compare(table, test="kruskal")
    assert asked.overall[0].test.statistic == pytest.approx(scipy.stats.kruskal(A, B, B[::-1]).statistic)
    assert "Mann–Whitney" in asked.pairs[0].test.method
    with pytest.raises(DataError, match="`test`: friedman"):
        compare(table, systems=["A", "B"], test="friedman")


def test_cases_that_a_system_lacks_are_left_out_of_a_test_of_all_and_counted() -> None:
    (overall,) = compare(view(paired_rows(A, B, B[:1:-1]))).overall
    expected = scipy.stats.friedmanchisquare(A[:6], B[:6], B[:1:-1])
    assert (overall.left_out, overall.test.n) == (2, 6)
    assert overall.test.statistic == pytest.approx(expected.statistic)
    assert has_note(overall_table([overall]), "(at most 2 cases)")


@pytest.mark.slow
def test_permutations_of_a_pair_share_their_null_whatever_the_metric() -> None:
    rng = np.random.default_rng(3)
    rows = paired_rows(rng.normal(0.4, 1, 25).tolist(), rng.normal(0, 1, 25).tolist())
    pace = frame(rows).with_columns(pl.col("value") + 5, metric=pl.lit("pace"))
    both = open_ratings_view(pl.concat([frame(rows), pace]))
    (alone,) = compare(both, metrics=["pace"], test="permutation").pairs
    assert {c.test.p for c in compare(both, test="permutation").pairs} == {alone.test.p}


@pytest.mark.parametrize("test", ["wilcoxon", "permutation", "t", "welch-permutation", "mannwhitney", "welch"])
def test_each_test_can_be_asked_for(test: str) -> None:
    pair = only(paired_rows(A, B), test=test)
    unused = (
        ", though 8 cases are shared and would pair" if test in ("welch-permutation", "mannwhitney", "welch") else ""
    )
    assert pair.why == f"as asked{unused}"
    assert 0 < definite(pair.test.p) <= 1


def test_permutations_depend_on_the_seed_only() -> None:
    rng = np.random.default_rng(0)
    rows = paired_rows(rng.normal(0.3, 1, 40).tolist(), rng.normal(0, 1, 40).tolist())
    first, again, other = (only(rows, test="permutation", seed=seed).test.p for seed in (1, 1, 2))
    assert first == again != other


def test_what_does_not_differ_has_no_p_value() -> None:
    pair = only(paired_rows([3.0] * 3, [3.0] * 3))
    assert pair.test.p is None
    assert pair.test.missing


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
    expected = scipy.stats.ttest_ind(values, others, equal_var=False).pvalue < 0.05
    assert means_differ(SystemValues(values, cases), SystemValues(others, cases + 100)) == expected


def test_means_of_values_that_do_not_vary_differ_where_they_are_unequal() -> None:
    def system(value: float, count: int, case: int) -> SystemValues:
        return SystemValues(np.full(count, value), np.arange(case, case + count))

    assert means_differ(system(1, 3, 0), system(2, 3, 0))
    assert not means_differ(system(1, 3, 0), system(1, 3, 10))
    # One value tells nothing.
    assert not means_differ(system(1, 1, 0), system(2, 1, 10))


@pytest.mark.parametrize("paired", [True, False])
def test_a_shift_without_an_interval_says_why(paired: bool) -> None:
    """Values that differ by one number say nothing of how much the difference varies, whether cases pair or not."""
    values = np.full((9, 1), 3.0), np.full((9, 1), 2.0)
    pair = only(paired_rows([3.0] * 9, [2.0] * 9) if paired else unpaired_rows(*values))
    assert (pair.paired, pair.test.estimate, pair.test.interval) == (paired, 1.0, None)
    what = "all differences are equal" if paired else "the values within the groups don't vary"
    assert pair.test.missing == f"no interval: {what}"
    (record,) = comparison_table([pair]).records
    assert (record["low"], record["high"], record["low_open"], record["high_open"]) == (None,) * 4
    assert record["missing"] == pair.test.missing


@pytest.mark.parametrize(
    ("alternative", "open_ends"), [("two-sided", (False, False)), ("greater", (False, True)), ("less", (True, False))]
)
def test_records_say_which_ends_are_open(alternative: Alternative, open_ends: tuple[bool, bool]) -> None:
    table = comparison_table([only(paired_rows(A, B), test="t", alternative=alternative)])
    (record,) = json.loads(json_text(table))["rows"]
    assert (record["low_open"], record["high_open"]) == open_ends
    theirs = scipy.stats.ttest_rel(A, B, alternative=alternative).confidence_interval()
    for end, bound in (("low", theirs.low), ("high", theirs.high)):
        assert record[end] == (None if np.isinf(bound) else pytest.approx(bound))


def test_an_end_of_zero_that_the_test_rejects_is_open() -> None:
    """Ten of thirty cases differ, all by one: the shift's interval ends at 0, and the test rejects 0."""
    pair = only(paired_rows([4.0] * 10 + [3.0] * 20, [3.0] * 30), test="wilcoxon")
    assert (definite(pair.test.interval).low, definite(pair.test.p) < 0.05) == (0.0, True)
    (record,) = comparison_table([pair]).records
    assert (record["low"], record["low_open"], record["high_open"]) == (0.0, True, False)


# -- the designs that studies have: clusters, partly shared cases, labels, one-sided tests, families -----


def test_transcripts_of_a_case_do_not_count_as_cases_where_nothing_pairs() -> None:
    rng = np.random.default_rng(1)
    a, b = (rng.normal(0, 1, (10, 1)) + rng.normal(0, 0.3, (10, 5)) for _ in range(2))
    rows = unpaired_rows(a, b)
    pair = only(rows)
    assert pair.test.p == permutation(a.mean(axis=1), b.mean(axis=1)).p
    assert (pair.cases_a, pair.cases_b, pair.transcripts_a, pair.transcripts_b) == (10, 10, 50, 50)
    assert definite(pair.test.effect).n == 20
    welch = scipy.stats.ttest_ind(a.mean(axis=1), b.mean(axis=1), equal_var=False)
    assert pair.test.statistic == pytest.approx(welch.statistic)
    assert only(rows, test="welch").test.p == pytest.approx(welch.pvalue)
    table = comparison_table([pair])
    assert has_note(table, "50 transcripts of 10 cases")
    assert table.rows[0].cells[1].text == "10, 10"


def test_kruskal_takes_case_means() -> None:
    rng = np.random.default_rng(2)
    tables = [rng.normal(size=(6, 4)) for _ in "ABC"]
    overall = compare(view(unpaired_rows(*tables))).overall[0]
    expected = scipy.stats.kruskal(*(table.mean(axis=1) for table in tables))
    assert (overall.test.statistic, overall.test.n) == pytest.approx((expected.statistic, 18))


@pytest.mark.slow
@pytest.mark.parametrize("binary", [False, True])
def test_null_data_in_clusters_reject_no_more_often_than_they_say(binary: bool) -> None:
    """10 cases a system, five transcripts each: tests that counted transcripts rejected 31 % (0/1: 23 %)."""
    rng = np.random.default_rng(3)
    rejected = 0
    for _ in range(150):
        tables = []
        for _ in range(2):
            latent = rng.normal(0, 1, (10, 1)) + rng.normal(0, 0.7, (10, 5))
            tables.append((latent > 0.5).astype(float) if binary else np.round(30 + latent))
        rejected += (only(unpaired_rows(*tables)).test.p or 1) <= 0.05
    assert rejected <= 15


def test_partly_shared_cases_count_as_pairs_beside_others() -> None:
    rng = np.random.default_rng(4)
    case = rng.normal(0, 2, 17)
    a, b = case[:10] + rng.normal(size=10), case[7:] + rng.normal(size=10)
    rows: list[Row] = [(f"A{i}", "A", f"c{i}", float(v)) for i, v in enumerate(a)]
    rows += [(f"B{i}", "B", f"c{i + 7}", float(v)) for i, v in enumerate(b)]
    pair = only(rows)
    assert "only 3 of 10 cases pair" in pair.why
    assert (pair.paired, pair.shared, pair.cases_a, pair.differences) == (False, 3, 10, None)
    # Derrick et al. (2017), written out.
    n_a, n_b, r = 10, 10, np.corrcoef(a[7:], b[:3])[0, 1]
    va, vb = a.var(ddof=1), b.var(ddof=1)
    error = np.sqrt(va / n_a + vb / n_b - 2 * r * np.sqrt(va * vb) * 3 / (n_a * n_b))
    welch = (va / n_a + vb / n_b) ** 2 / ((va / n_a) ** 2 / 9 + (vb / n_b) ** 2 / 9)
    df = 2 + (welch - 3 + 1) / (14 + 6) * 14
    assert pair.test.p == pytest.approx(2 * scipy.stats.t.sf(abs((a.mean() - b.mean()) / error), df))
    assert comparison_table([pair]).rows[0].cells[1].text == "10, 10 (3 shared)"


def test_three_systems_that_share_too_few_cases_have_no_test_of_all_at_once() -> None:
    rng = np.random.default_rng(5)
    rows: list[Row] = [
        (f"{s}{i}", s, f"c{i + start}", float(rng.normal()))
        for s, start in (("A", 0), ("B", 6), ("C", 12))
        for i in range(8)
    ]
    overall = compare(view(rows)).overall[0]
    assert overall.test.p is None
    assert overall.test.missing == "some cases are shared, too few for a test of all systems at once"


def test_yes_and_no_labels_are_compared_as_shares() -> None:
    a, b = (["yes" if v else "no" for v in values] for values in (YES_A, YES_B))
    pair = only(paired_rows(a, b))
    assert pair.yes == "yes"
    assert (pair.mean_a, pair.mean_b) == pytest.approx((9 / 12, 4 / 12))
    assert pair.test.p == pytest.approx(scipy.stats.binomtest(6, 7).pvalue - scipy.stats.binom.pmf(6, 7, 0.5))
    assert only(paired_rows(YES_A, YES_B)).test.interval == pair.test.interval
    assert pair.facts.title == "Danger (share of yes)"
    rows: list[Row] = [(name, s, f"{s}{case}", v) for name, s, case, v in paired_rows(a, b)]
    sides = [scipy.stats.fisher_exact([[9, 3], [4, 8]], alternative=side)[1] for side in ("greater", "less")]
    assert only(rows, test="fisher").test.p == pytest.approx(2 * min(sides))
    seen = scipy.stats.hypergeom.pmf(9, 24, 13, 12)
    assert only(rows).test.p == pytest.approx(2 * min(sides) - seen)


@pytest.mark.parametrize(
    ("labels", "yes"), [(("absent", "present"), "present"), (("no", "unsafe"), "unsafe"), (("blue", "red"), "red")]
)
def test_which_label_is_counted_is_said(labels: tuple[str, str], yes: str) -> None:
    no, other = labels
    assert only(paired_rows([no, other, other], [no, no, other])).yes == yes


def test_people_who_label_a_transcript_are_averaged() -> None:
    rows = paired_rows(["yes", "no", "yes"], ["no", "no", "yes"])
    ben = paired_rows(["yes", "yes", "yes"], ["no", "no", "no"])
    (pair,) = compare(open_ratings_view(pl.concat([frame(rows), frame(ben, rater="ben")]))).pairs
    assert (pair.mean_a, pair.mean_b) == pytest.approx((2.5 / 3, 0.5 / 3))
    assert "permutation" in pair.test.method


def test_ordered_labels_are_compared_by_their_places() -> None:
    labels = ("mild", "moderate", "severe")
    a, b = [2, 2, 1, 2, 0, 1], [0, 1, 1, 0, 0, 2]
    rows = paired_rows([labels[i] for i in a], [labels[i] for i in b])
    (pair,) = compare(view(rows, parse_scale("<".join(labels)))).pairs
    assert pair.test.p == only(paired_rows(list(map(float, a)), list(map(float, b)))).test.p
    assert has_note(comparison_table([pair]), "from 0 for mild to 2 for severe")


def test_metrics_that_cannot_be_compared_say_why() -> None:
    rows = paired_rows(["red", "blue", "green"], ["red", "red", "blue"])
    comparisons = compare(view(rows), metrics=["danger"])
    assert not comparisons.pairs
    assert "3 labels" in comparisons.left_out["danger"]
    with pytest.raises(DataError, match="danger"):
        bedside.compare(frame(rows), metrics=["danger"])
    other = frame(paired_rows(["yes", "no"], ["no", "no"])).with_columns(metric=pl.lit("ok"))
    assert has_note(
        bedside.compare(pl.concat([frame(rows), other]))["comparison"], "Not compared: danger (its 3 labels"
    )


def test_shares_of_averaged_transcripts_are_no_longer_zeros_and_ones() -> None:
    rows: list[Row] = [
        (f"{s}{i}.{k}", s, str(i), float((i * 3 + k * 5 + shift) % 3 == 0))
        for s, shift in (("A", 0), ("B", 1)) for i in range(12) for k in range(3)
    ]  # fmt: skip
    assert "permutation" in only(rows[:-1]).test.method
    assert only([row for row in rows if row[0].endswith(".0")]).why.endswith("values are 0 or 1")
    with pytest.raises(DataError, match="`test=mcnemar`"):
        only([(name, s, str(int(case or 0) // 2), value) for name, s, case, value in rows], test="mcnemar")


def p_at(rows: list[float], other: NDArray[np.float64], **options: Any) -> float:
    return definite(only(paired_rows(rows, other.tolist()), **options).test.p)


@pytest.mark.parametrize(
    "test",
    [
        "wilcoxon",
        "permutation",
        "permutation-mid-p",
        "t",
        "welch-permutation",
        "mannwhitney",
        "welch",
        "student",
        "overlapping",
    ],
)
def test_the_interval_and_p_are_of_one_method(test: str) -> None:
    """The values of the second system moved by a bound are at the edge of rejection."""
    rng = np.random.default_rng(6)
    a, b = rng.normal(0.4, 1, 12).tolist(), rng.normal(0, 1, 12)
    interval = definite(only(paired_rows(a, b.tolist()), test=test).test.interval)
    for bound, outwards in ((interval.low, -1), (interval.high, 1)):
        for step, inside in ((1e-6, False), (-1e-6, True)):
            p = p_at(a, b + bound + outwards * step, test=test)
            assert (p > 0.05) is inside, (bound, step, p)


@pytest.mark.parametrize("alternative", ["greater", "less"])
@pytest.mark.parametrize(
    "test",
    ["wilcoxon", "permutation", "permutation-mid-p", "t", "welch-permutation", "mannwhitney", "welch", "overlapping"],
)
def test_one_sided_tests_have_intervals_of_one_end(test: str, alternative: str) -> None:
    rng = np.random.default_rng(7)
    a, b = rng.normal(0.4, 1, 12).tolist(), rng.normal(0, 1, 12)
    options = {"test": test, "alternative": alternative}
    pair = only(paired_rows(a, b.tolist()), **options)
    interval = definite(pair.test.interval)
    outwards = -1 if alternative == "greater" else 1
    end, infinite = (interval.low, interval.high)[::-outwards]
    assert np.isinf(infinite)
    assert interval.level == 0.95
    assert p_at(a, b + end + outwards * 1e-6, **options) <= 0.05
    assert p_at(a, b + end - outwards * 1e-6, **options) > 0.05
    assert pair.test.effect == only(paired_rows(a, b.tolist()), test=test).test.effect
    table = comparison_table([pair])
    assert "∞" in table.rows[0].cells[3].text
    for name in ("", "difference_"):
        assert None in (table.records[0][f"{name}low"], table.records[0][f"{name}high"])


def test_one_sided_exact_tests_of_shares() -> None:
    for names, rows, expected, seen in (
        (("mcnemar", "auto"), paired_rows(YES_A, YES_B),
         scipy.stats.binomtest(6, 7, alternative="greater").pvalue, scipy.stats.binom.pmf(6, 7, 0.5)),
        (("fisher", "auto"), unpaired_rows(np.array(YES_A)[:, None], np.array(YES_B)[:, None]),
         scipy.stats.fisher_exact([[9, 3], [4, 8]], alternative="greater")[1],
         scipy.stats.hypergeom.pmf(9, 24, 13, 12)),
    ):  # fmt: skip
        exact, mid = (only(rows, test=name, alternative="greater").test.p for name in names)
        assert (exact, mid) == pytest.approx((expected, expected - seen / 2))


def test_intervals_adjusted_for_their_family_are_those_at_bonferronis_level() -> None:
    rng = np.random.default_rng(8)
    values = {name: rng.normal(shift, 1, 15) for name, shift in (("A", 0.0), ("B", 0.4), ("C", 0.9))}
    study = view(paired_rows(*(column.tolist() for column in values.values())))
    plain, adjusted = (compare(study, test="t", adjusted_intervals=flag).pairs for flag in (False, True))
    for before, after in zip(plain, adjusted, strict=True):
        expected = scipy.stats.ttest_rel(values[before.a], values[before.b]).confidence_interval(1 - 0.05 / 3)
        assert ends(after.test.interval) == pytest.approx(tuple(expected))
        assert (after.test.p, after.test.p_adjusted) == (before.test.p, before.test.p_adjusted)
        assert after.test.effect == before.test.effect
    table = comparison_table(adjusted)
    assert "Difference [adjusted CI]" in [column.title for column in table.columns]
    assert has_note(table, "98.33 % of 3 tests")
    with pytest.raises(DataError, match="`adjusted_intervals`"):
        compare(study, adjusted_intervals=True, correction="bh")


@pytest.mark.parametrize("adjusted", [False, True])
def test_beside_a_test_of_ranks_the_difference_is_that_of_means_at_the_level_of_the_answer(adjusted: bool) -> None:
    rng = np.random.default_rng(10)
    a, b, c = (rng.normal(shift, 1, 12) for shift in (0.4, 0.0, 0.2))
    level = 1 - 0.05 / 3 if adjusted else 0.95
    expected = scipy.stats.ttest_rel(a, b).confidence_interval(level)
    study = view(paired_rows(a.tolist(), b.tolist(), c.tolist()))
    pair = compare(study, adjusted_intervals=adjusted, test="wilcoxon").pairs[0]
    assert pair.difference.estimate == pytest.approx((a - b).mean())
    assert ends(pair.difference.interval) == pytest.approx(tuple(expected))
    assert comparison_table([pair]).rows[0].cells[3].text.startswith(f"{(a - b).mean():.2f} [".replace("-", "−"))
    less = compare(study, alternative="less", systems=["A", "B"], test="wilcoxon").pairs[0].difference
    assert definite(less.interval).high == pytest.approx(
        scipy.stats.ttest_rel(a, b, alternative="less").confidence_interval().high
    )


def test_a_test_of_means_and_the_difference_have_one_interval() -> None:
    pair = only(paired_rows(YES_A, YES_B))
    assert (pair.difference.estimate, pair.difference.interval) == (pair.test.estimate, pair.test.interval)


def test_intervals_of_whole_numbers_have_width_and_cover_the_difference_of_means() -> None:
    """Most cases don't differ: the shift of ranks is 0 whatever the mean, so that its interval seldom covered 0.3."""
    rng = np.random.default_rng(11)
    studies, cases, true = 150, 40, 0.3
    above = rng.choice([0.0, 1.0, 2.0], (studies, cases), p=[0.8, 0.1, 0.1])
    rows: list[ratings_rows.Row] = [
        (f"{system}{case}", system, f"c{case}", f"code_{study}", "judge:j", 2.0 + above[study, case] * (system == "A"))
        for study in range(studies) for case in range(cases) for system in "AB"
    ]  # fmt: skip
    pairs = compare(ratings_rows.view(rows), test="wilcoxon").pairs
    assert len(pairs) == studies
    table = comparison_table(pairs)
    (place,) = (place for place, column in enumerate(table.columns) if column.brief and "95 % CI" in column.title)
    printed = [
        [float(end.replace("−", "-")) for end in re.findall(r"−?[\d.]+", row.cells[place].text)[1:]]
        for row in table.rows if "," in row.cells[place].text
    ]  # fmt: skip
    assert len(printed) == studies
    assert np.mean([low <= true <= high for low, high in printed]) == pytest.approx(0.95, abs=0.05)
    by_default = [definite(pair.difference.interval) for pair in compare(ratings_rows.view(rows)).pairs]
    assert np.mean([each.low <= true <= each.high for each in by_default]) == pytest.approx(0.95, abs=0.05)
    shifts = [(pair.test.interval.low, pair.test.interval.high) for pair in pairs if pair.test.interval is not None]
    assert all(low < high for low, high in (*printed, *shifts))
    without = next(pair for pair in pairs if pair.test.interval is None)
    assert has_note(
        comparison_table([without]), "1 comparison without an interval of the shift: ties leave it no width"
    )


def test_two_copies_of_the_same_values_are_one_test() -> None:
    rng = np.random.default_rng(12)
    rows: list[ratings_rows.Row] = []
    for metric, raters in (("empathy", ("human:anna", "algorithm:r@1")), ("partnership", ("human:anna",))):
        values = rng.integers(1, 6, (2, 12)).astype(float)
        rows += [
            (f"{system}{case}", system, f"c{case}", metric, rater, value)
            for rater in raters for system, own in zip("AB", values, strict=True) for case, value in enumerate(own)
        ]  # fmt: skip
    whole = compare(ratings_rows.view(rows))
    once = compare(ratings_rows.view([row for row in rows if row[4] == "human:anna"]))
    assert [pair.test.p_adjusted for pair in whole.pairs] == [pair.test.p_adjusted for pair in once.pairs]
    assert {pair.test.family_size for pair in whole.pairs} == {2}
    assert has_note(comparison_table(whole.pairs, whole.left_out), "Empathy by r@1 (the same values as by people")
    # One other value, and both are tested.
    first = next(place for place, row in enumerate(rows) if row[4] == "algorithm:r@1")
    rows[first] = (*rows[first][:5], 6.0)
    assert {pair.test.family_size for pair in compare(ratings_rows.view(rows)).pairs} == {3}


def test_zeros_and_ties_are_counted() -> None:
    paired = only(paired_rows([3.0, 4.0, 5.0, 2.0, 1.0, 1.0], [3.0, 3.0, 4.0, 3.0, 3.0, 4.5]))
    assert (paired.zeros, paired.ties) == (1, 3)
    record = comparison_table([paired]).records[0]
    assert (record["zeros"], record["ties"], record["cases_a"], record["transcripts_b"]) == (1, 3, 6, 6)
    unpaired = only(unpaired_rows(np.array([[1.0], [2.0], [2.0]]), np.array([[2.0], [5.0]])))
    assert (unpaired.zeros, unpaired.ties) == (None, 3)


def test_an_end_of_zero_that_the_test_rejects_stands_outside() -> None:
    # Whole numbers: every shift is 0 or 1, the test rejects 0, and the least shift that is kept lies just above it.
    rng = np.random.default_rng(9)
    a, b = np.clip(np.round(rng.normal([[3.9], [3.0]], 1, (2, 60))), 1, 5)
    pair = only(unpaired_rows(a[:, None], b[:, None]), test="mannwhitney")
    assert definite(pair.test.p) <= 0.05
    table = comparison_table([pair])
    assert "(0.00" in table.rows[0].cells[4].text
    assert has_note(table, "A round bracket")


def test_too_few_pairs_for_an_interval_are_said() -> None:
    pair = only(paired_rows([3.0, 4.0, 5.0, 5.0], [1.0, 1.0, 1.0, 2.0]))
    assert pair.test.p == pytest.approx(0.0625)
    assert pair.test.interval is None
    assert has_note(comparison_table([pair]), "1 comparison without an interval")


# -- every n is "n of N": which of the cases that are there enter, and why the others don't, by hand ------


def partial_study(values: dict[str, dict[int, float | None]], *, named: bool = True) -> RatingsView:
    """Transcripts of cases, all of which have a number of turns; a judge rated the empathy of those that aren't −1."""
    rows: list[ratings_rows.Row] = []
    for system, cases in values.items():
        for case, value in cases.items():
            place = (f"{system}{case}", system, str(case) if named else None)
            rows.append((*place, "turns", "algorithm:r@1", 10.0 + case))
            if value != -1:
                rows.append((*place, "empathy", "judge:j", value))
    return ratings_rows.view(rows)


#: Not rated: −1; rated in vain: None. Pairs: 1, 3, 4, 5, 6.
GAPS_A: dict[int, float | None] = {1: 3.0, 2: None, 3: 4.0, 4: 2.0, 5: 5.0, 6: 4.0, 7: 3.0, 8: -1}
GAPS_B: dict[int, float | None] = {1: 2.0, 2: 3.0, 3: 3.0, 4: 1.0, 5: 3.0, 6: 4.0, 9: 5.0}
GAPS = {"A": GAPS_A, "B": GAPS_B}


def on_empathy(ratings: RatingsView) -> Comparison:
    (pair,) = compare(ratings, metrics=["empathy"]).pairs
    return pair


def test_pairs_of_the_cases_that_are_there() -> None:
    """Of nine cases 2 and 8 have no value of A; B doesn't have 7, and A not 9."""
    pair = on_empathy(partial_study(GAPS))
    counts = pair.entered
    assert (pair.paired, pair.cases_a, counts.of, counts.of_a, counts.of_b) == (True, 5, 9, 8, 7)
    assert (counts.no_value, counts.other_settings, counts.no_partner) == (2, 0, 2)
    table = comparison_table([pair])
    assert table.rows[0].cells[1].text == "5 of 9 (2 no value, 2 no partner)"
    (record,) = json.loads(json_text(table))["rows"]
    assert (record["n"], record["of"]) == (5, 9)
    (line,) = csv.DictReader(io.StringIO(csv_text(table)))
    assert (line["n"], line["of"], line["no_value"], line["no_partner"]) == ("5", "9", "2", "2")


def test_the_same_n_stands_without_of() -> None:
    whole: dict[int, float | None] = {case: value for case, value in GAPS_A.items() if value not in (None, -1)}
    table = comparison_table([on_empathy(partial_study({"A": whole, "B": dict.fromkeys(whole, 2.0)}))])
    assert table.rows[0].cells[1].text == "6"
    assert (table.records[0]["n"], table.records[0]["of"]) == (6, 6)


def test_unpaired_cases_are_counted_by_system() -> None:
    pair = on_empathy(partial_study(GAPS, named=False))
    assert (pair.paired, pair.cases_a, pair.cases_b) == (False, 6, 7)
    assert (pair.entered.of_a, pair.entered.of_b, pair.entered.of) == (8, 7, 15)
    table = comparison_table([pair])
    assert table.rows[0].cells[1].text == "6 of 8, 7"
    assert (table.records[0]["n"], table.records[0]["of"]) == (13, 15)


def test_values_in_other_settings_are_named_as_such() -> None:
    """Case 3 of A is at 16 turns only, of B at 8 only: it has values, but none that match."""
    lengths = {"A": {1: (8, 16), 2: (8, 16), 3: (16,)}, "B": {1: (8, 16), 2: (8, 16), 3: (8,)}}
    factors = {
        (system, str(case), length): f"{system}{case}-{length}"
        for system, cases in lengths.items() for case, own in cases.items() for length in own
    }  # fmt: skip
    rows: list[ratings_rows.Row] = [
        (name, system, case, "empathy", "judge:j", float(int(case) + length % 5))
        for (system, case, length), name in factors.items()
    ]
    pair = on_empathy(ratings_rows.view(rows, {name: place[2] for place, name in factors.items()}))
    assert (pair.cases_a, pair.entered.of, pair.entered.why_not) == (2, 3, "1 other settings")
    assert comparison_table([pair]).rows[0].cells[1].text == "2 of 3 (1 other settings)"


def test_results_say_the_same_whole() -> None:
    """A has 6 values of 8 transcripts, beside a comparison that rests on 5 of 9 cases; each says why."""
    table = definite(results_table(partial_study(GAPS), ["empathy", "turns"]))
    by_cell = {record["cell"]: record for record in table.records if "metric" in record}
    assert {cell: (record["n"], record["of"], record["missing"]) for cell, record in by_cell.items()} == {
        "empathy/A": (6, 8, 1), "empathy/B": (7, 7, 0), "turns/A": (8, 8, 0), "turns/B": (7, 7, 0),
    }  # fmt: skip
    assert any(cell.text.endswith(" n=6 of 8") for row in table.rows for cell in row.cells)
    assert has_note(table, "were not rated", "have no value")


@pytest.mark.parametrize("named", [True, False])
def test_margins_say_the_same_as_comparisons(named: bool) -> None:
    ratings = partial_study(GAPS, named=named)
    (test,) = within_margins(ratings, margins_of({"empathy": 0.5}))
    pair = on_empathy(ratings)
    assert test.entered == pair.entered
    table = margin_table([test])
    assert table.rows[0].cells[1].text == comparison_table([pair]).rows[0].cells[1].text
    assert table.records[0]["of"] == pair.entered.of


def test_all_systems_at_once_and_the_leaderboard() -> None:
    """C has every case of A and B with a value: five cases have a value of all three, of the nine that are there."""
    ratings = partial_study({**GAPS, "C": {case: float(case % 5) for case in range(1, 10)}})
    (overall,) = compare(ratings, metrics=["empathy"]).overall
    assert (overall.test.n, overall.of) == (5, 9)
    assert overall_table([overall]).rows[0].cells[2].text == "5 of 9"
    (board,) = standings(ratings, "empathy")
    assert {name: (place.values.n, place.of) for name, place in board.by_system.items()} == {
        "A": (6, 8), "B": (7, 7), "C": (9, 9),
    }  # fmt: skip


def test_estimates_count_the_transcripts_that_the_judge_lacks() -> None:
    """Of twenty transcripts the judge rated eighteen, and people twelve of these."""
    rows: list[ratings_rows.Row] = []
    for case in range(20):
        place = (f"A{case}", "A", str(case))
        rows.append((*place, "turns", "algorithm:r@1", 10.0))
        rows.append((*place, "empathy", "judge:j", float(case % 5) if case < 18 else None))
        if case < 12:
            rows.append((*place, "empathy", "human:anna", float(case % 4)))
    table = estimate_table(estimate(ratings_rows.view(rows), judge="judge:j"))
    assert table.rows[0].cells[1].text == "12 of 20, the judge 18 of 20"
    assert {key: table.records[0][key] for key in ("n", "of", "labelled", "judged")} == {
        "n": 12, "of": 20, "labelled": 12, "judged": 18,
    }  # fmt: skip


# -- At every look ---------------------------------------------------------------------------------------


def at_every_look(rows: list[Row], planned: int = 40, scale: Scale | None = None, **options: Any) -> Comparison:
    """The first cases of each system are planned to be rated."""
    of_plan = frozenset(row[0] for row in rows[:planned] + rows[-planned:])
    return only_of(compare(view(rows, scale), looks=of_plan, **options))


def only_of(comparisons: Comparisons) -> Comparison:
    (pair,) = comparisons.pairs
    return pair


def test_at_every_look_pairs_on_a_scale_are_bet_on() -> None:
    a, b = [4.0, 5, 3, 5, 4, 4, 5, 2, 4, 5], [2.0, 3, 3, 2, 1, 3, 2, 2, 1, 3]
    pair = at_every_look(paired_rows(a, b), scale=parse_scale("1-5"))
    expected = bounded_mean(np.subtract(a, b), low=-4, high=4)
    assert (pair.test.p, pair.test.interval, pair.difference.p) == (expected.p, expected.interval, expected.p)
    assert pair.difference.estimate == pytest.approx(np.mean(a) - np.mean(b))
    assert pair.at_every_look


@pytest.mark.parametrize("scale", [None, "1-5"])
def test_at_every_look_groups_go_by_the_standard_error(scale: str | None) -> None:
    """Narrowest where all planned cases are in; on a scale, with what two more cases at its ends would add."""
    a, b = np.array([[4.0], [5], [3], [5], [4], [4], [5], [2]]), np.array([[2.0], [3], [3], [2], [1], [3], [2]])
    pair = at_every_look(unpaired_rows(a, b), scale=parse_scale(scale) if scale else None, planned=15)
    welch = scipy.stats.ttest_ind(a[:, 0], b[:, 0], equal_var=False)
    error = float(np.sqrt(a.var(ddof=1) / 8 + b.var(ddof=1) / 7))
    if scale:
        error = error_with_unseen(error, [a.mean(), b.mean()], [8, 7], (1, 5))
    expected = any_estimate(a.mean() - b.mean(), error, cases=15, planned=15, df=welch.df)
    assert ends(pair.difference.interval) == pytest.approx(ends(expected.interval))
    assert pair.test.p == pytest.approx(expected.p)


def test_at_every_look_a_family_shares_its_chance() -> None:
    rng = np.random.default_rng(3)
    comparisons = compare(view(paired_rows(*rng.integers(1, 6, (3, 30)).astype(float)), parse_scale("1-5")), looks=())
    assert not comparisons.overall
    for pair in comparisons.pairs:
        assert (pair.test.correction, pair.test.family_size) == ("bonferroni", 3)
        assert pair.test.p_adjusted == pytest.approx(min(1.0, 3 * definite(pair.test.p)))
        assert definite(pair.difference.interval).level == pytest.approx(1 - 0.05 / 3)


def test_at_every_look_too_few_cases_for_an_interval_are_said_to_be() -> None:
    """One case has no spread; seven that vary much beside fifteen that don't have six degrees of freedom."""
    rng = np.random.default_rng(5)
    for size, lacking in ((1, [True, True, False]), (7, [False, True, False])):
        values = [rng.normal(0, spread, (cases, 1)) for cases, spread in ((size, 30), (40, 1), (15, 1))]
        pairs = compare(view(unpaired_rows(*values)), looks=()).pairs
        texts = ["".join(cell.text for cell in row.cells) for row in comparison_table(pairs).rows]
        assert [pair.difference.interval is None for pair in pairs] == lacking
        assert ["(too few cases)" in text for text in texts if "−" in text] == lacking


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"test": "wilcoxon"}, "`test`: wilcoxon holds for one look only"),
        ({"alternative": "greater"}, "`alternative`: greater holds for one look only"),
        ({"correction": "bh"}, "`correction`: bh holds for one look only"),
    ],
)
def test_what_holds_for_one_look_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(DataError, match=re.escape(words)):
        compare(view(paired_rows(A, B)), looks=(), **options)
