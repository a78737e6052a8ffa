"""Comparisons under the designs that studies have: clusters, partly shared cases, labels, one-sided tests, families."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.stats
from numpy.typing import NDArray

from bedside import api
from bedside.analysis.comparison import Comparison, compare
from bedside.analysis.ratings_view import RatingsView, open_ratings_view
from bedside.core.errors import DataError
from bedside.ratings.scales import Scale, parse_scale
from bedside.reports.tables.comparison import comparison_table
from tests.analysis.builders import definite, ends

Row = tuple[str, str, str | None, float | str | None]


def frame(rows: list[Row], rater: str = "anna") -> pl.DataFrame:
    """Ratings of (item, system, case, value)."""
    return pl.DataFrame(rows, schema=["item", "system", "case", "value"], orient="row").with_columns(
        rater=pl.lit(rater), metric=pl.lit("danger")
    )


def view(rows: list[Row], scale: Scale | None = None) -> RatingsView:
    return open_ratings_view(frame(rows), scales={"danger": scale} if scale else None)


def only(rows: list[Row], **options: Any) -> Comparison:
    pairs = compare(view(rows), **options).pairs
    assert len(pairs) == 1
    return pairs[0]


def unpaired_rows(a: NDArray[np.float64], b: NDArray[np.float64]) -> list[Row]:
    """Cases in rows, transcripts in columns; the systems share no case."""
    return [
        (f"{system}{i}.{k}", system, f"{system}{i}", float(value))
        for system, table in (("A", a), ("B", b))
        for i, row in enumerate(table)
        for k, value in enumerate(row)
    ]


def paired_rows(a: list[Any], b: list[Any]) -> list[Row]:
    return [(f"{s}{i}", s, str(i), v) for s, values in (("A", a), ("B", b)) for i, v in enumerate(values)]


def test_transcripts_of_a_case_do_not_count_as_cases_where_nothing_pairs() -> None:
    rng = np.random.default_rng(1)
    a, b = (rng.normal(0, 1, (10, 1)) + rng.normal(0, 0.3, (10, 5)) for _ in range(2))
    rows = unpaired_rows(a, b)
    found = only(rows)
    expected = scipy.stats.mannwhitneyu(a.mean(axis=1), b.mean(axis=1), method="asymptotic")
    assert found.test.p == pytest.approx(expected.pvalue)
    assert (found.cases_a, found.cases_b, found.transcripts_a, found.transcripts_b) == (10, 10, 50, 50)
    assert definite(found.test.effect).n == 20
    welch = scipy.stats.ttest_ind(a.mean(axis=1), b.mean(axis=1), equal_var=False)
    assert only(rows, test="welch").test.p == pytest.approx(welch.pvalue)
    table = comparison_table([found])
    assert any("50 transcripts of 10 cases" in note for note in table.notes)
    assert table.rows[0].cells[1].text == "10, 10"


def test_kruskal_takes_case_means() -> None:
    rng = np.random.default_rng(2)
    groups = {name: rng.normal(size=(6, 4)) for name in "ABC"}
    rows: list[Row] = [
        (f"{name}{i}.{k}", name, f"{name}{i}", float(table[i, k]))
        for name, table in groups.items()
        for i in range(6)
        for k in range(4)
    ]
    overall = compare(view(rows)).overall[0]
    expected = scipy.stats.kruskal(*(table.mean(axis=1) for table in groups.values()))
    assert (overall.test.statistic, overall.test.n) == (pytest.approx(expected.statistic), 18)


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
    found = only(rows)
    assert "only 3 of 10 cases pair" in found.why
    assert (found.paired, found.shared, found.cases_a, found.differences) == (False, 3, 10, None)
    # Derrick et al. (2017), written out.
    n_a, n_b, r = 10, 10, np.corrcoef(a[7:], b[:3])[0, 1]
    va, vb = a.var(ddof=1), b.var(ddof=1)
    error = np.sqrt(va / n_a + vb / n_b - 2 * r * np.sqrt(va * vb) * 3 / (n_a * n_b))
    welch = (va / n_a + vb / n_b) ** 2 / ((va / n_a) ** 2 / 9 + (vb / n_b) ** 2 / 9)
    df = 2 + (welch - 3 + 1) / (14 + 6) * 14
    t = (a.mean() - b.mean()) / error
    assert found.test.p == pytest.approx(2 * scipy.stats.t.sf(abs(t), df))
    assert comparison_table([found]).rows[0].cells[1].text == "10, 10 (3 shared)"


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
    a, b = ["yes"] * 9 + ["no"] * 3, ["yes"] * 3 + ["no"] * 6 + ["yes"] + ["no"] * 2
    found = only(paired_rows(a, b))
    assert found.yes == "yes"
    assert found.test.p == pytest.approx(scipy.stats.binomtest(6, 7).pvalue)
    assert (found.mean_a, found.mean_b) == (pytest.approx(9 / 12), pytest.approx(4 / 12))
    numbers = only(paired_rows([float(v == "yes") for v in a], [float(v == "yes") for v in b]))
    assert numbers.test.interval == found.test.interval
    assert any("“yes”" in note for note in comparison_table([found]).notes)
    rows: list[Row] = [(f"A{i}", "A", f"a{i}", v) for i, v in enumerate(a)]
    rows += [(f"B{i}", "B", f"b{i}", v) for i, v in enumerate(b)]
    unpaired = only(rows)
    greater, less = (
        scipy.stats.fisher_exact([[9, 3], [4, 8]], alternative=side)[1] for side in ("greater", "less")
    )
    assert unpaired.test.p == pytest.approx(2 * min(greater, less))


@pytest.mark.parametrize(
    ("labels", "yes"),
    [(("absent", "present"), "present"), (("no", "unsafe"), "unsafe"), (("blue", "red"), "red")],
)
def test_which_label_is_counted_is_said(labels: tuple[str, str], yes: str) -> None:
    found = only(paired_rows([labels[0], labels[1], labels[1]], [labels[0], labels[0], labels[1]]))
    assert found.yes == yes


def test_people_who_label_a_transcript_are_averaged() -> None:
    rows = paired_rows(["yes", "no", "yes"], ["no", "no", "yes"])
    ben = paired_rows(["yes", "yes", "yes"], ["no", "no", "no"])
    table = pl.concat([frame(rows), frame(ben, rater="ben")])
    found = compare(open_ratings_view(table)).pairs[0]
    assert (found.mean_a, found.mean_b) == (pytest.approx(2.5 / 3), pytest.approx(0.5 / 3))
    assert "Wilcoxon" in found.test.method


def test_ordered_labels_are_compared_by_their_places() -> None:
    labels = ("mild", "moderate", "severe")
    a, b = [2, 2, 1, 2, 0, 1], [0, 1, 1, 0, 0, 2]
    rows = paired_rows([labels[i] for i in a], [labels[i] for i in b])
    found = compare(view(rows, parse_scale("mild<moderate<severe"))).pairs[0]
    assert found.test.p == only(paired_rows([float(i) for i in a], [float(i) for i in b])).test.p
    assert any("from 0 for mild to 2 for severe" in note for note in comparison_table([found]).notes)


def test_metrics_that_cannot_be_compared_say_why() -> None:
    rows = paired_rows(["red", "blue", "green"], ["red", "red", "blue"])
    compared = compare(view(rows), metrics=["danger"])
    assert not compared.pairs
    assert "3 labels have no order" in compared.left_out["danger"]
    with pytest.raises(DataError, match=r"danger: its 3 labels have no order"):
        api.compare(frame(rows), metrics=["danger"])
    both = pl.concat(
        [frame(rows), frame(paired_rows(["yes", "no"], ["no", "no"])).with_columns(metric=pl.lit("ok"))]
    )
    table = api.compare(both)["comparison"]
    assert any(note.startswith("Not compared: danger (its 3 labels have no order") for note in table.notes)


def test_shares_of_averaged_transcripts_are_no_longer_zeros_and_ones() -> None:
    rows: list[Row] = [
        (f"{s}{i}.{k}", s, str(i), float((i * 3 + k * 5 + shift) % 3 == 0))
        for s, shift in (("A", 0), ("B", 1))
        for i in range(12)
        for k in range(3)
    ]
    found = only(rows[:-1])
    assert "Wilcoxon" in found.test.method
    assert only([row for row in rows if row[0].endswith(".0")]).why.endswith("values are 0 or 1")
    with pytest.raises(DataError, match="its cases' transcripts being averaged"):
        only([(name, s, str(int(case or 0) // 2), value) for name, s, case, value in rows], test="mcnemar")


@pytest.mark.parametrize(
    "test", ["wilcoxon", "permutation", "t", "mannwhitney", "welch", "student", "overlapping"]
)
def test_the_interval_and_p_are_of_one_method(test: str) -> None:
    """The values of the second system moved by a bound are at the edge of rejection."""
    rng = np.random.default_rng(6)
    a, b = rng.normal(0.4, 1, 12), rng.normal(0, 1, 12)
    found = only(paired_rows(list(a), list(b)), test=test)
    for bound, outwards in ((definite(found.test.interval).low, -1), (definite(found.test.interval).high, 1)):
        for step, inside in ((1e-6, False), (-1e-6, True)):
            moved = list(b + bound + outwards * step)
            p = definite(only(paired_rows(list(a), moved), test=test).test.p)
            assert (p > 0.05) is inside, (bound, step, p)


@pytest.mark.parametrize("alternative", ["greater", "less"])
@pytest.mark.parametrize("test", ["wilcoxon", "permutation", "t", "mannwhitney", "welch", "overlapping"])
def test_one_sided_tests_have_intervals_of_one_end(test: str, alternative: str) -> None:
    rng = np.random.default_rng(7)
    a, b = rng.normal(0.4, 1, 12), rng.normal(0, 1, 12)
    found = only(paired_rows(list(a), list(b)), test=test, alternative=alternative)
    low, high = definite(found.test.interval).low, definite(found.test.interval).high
    end, infinite = (low, high) if alternative == "greater" else (high, low)
    assert np.isinf(infinite)
    assert definite(found.test.interval).level == 0.95
    for step, inside in ((1e-6, False), (-1e-6, True)):
        moved = list(b + end + (-step if alternative == "greater" else step))
        p = definite(only(paired_rows(list(a), moved), test=test, alternative=alternative).test.p)
        assert (p > 0.05) is inside
    two_sided = only(paired_rows(list(a), list(b)), test=test)
    assert found.test.effect == two_sided.test.effect
    table = comparison_table([found])
    assert "∞" in table.rows[0].cells[4].text
    assert None in (table.records[0]["low"], table.records[0]["high"])


def test_one_sided_exact_tests_of_shares() -> None:
    a, b = [1.0] * 9 + [0.0] * 3, [1.0] * 3 + [0.0] * 6 + [1.0] + [0.0] * 2
    paired = only(paired_rows(a, b), alternative="greater")
    assert paired.test.p == pytest.approx(scipy.stats.binomtest(6, 7, alternative="greater").pvalue)
    rows = unpaired_rows(np.array(a)[:, None], np.array(b)[:, None])
    unpaired = only(rows, alternative="greater")
    assert unpaired.test.p == pytest.approx(
        scipy.stats.fisher_exact([[9, 3], [4, 8]], alternative="greater")[1]
    )


def test_intervals_adjusted_for_their_family_are_those_at_bonferronis_level() -> None:
    rng = np.random.default_rng(8)
    values = {name: rng.normal(shift, 1, 15) for name, shift in (("A", 0.0), ("B", 0.4), ("C", 0.9))}
    rows: list[Row] = [(f"{s}{i}", s, str(i), float(v)) for s, vs in values.items() for i, v in enumerate(vs)]
    plain, adjusted = (compare(view(rows), test="t", adjusted_intervals=flag).pairs for flag in (False, True))
    for before, after in zip(plain, adjusted, strict=True):
        expected = scipy.stats.ttest_rel(values[before.a], values[before.b]).confidence_interval(1 - 0.05 / 3)
        assert ends(after.test.interval) == pytest.approx(tuple(expected))
        assert (after.test.p, after.test.p_adjusted) == (before.test.p, before.test.p_adjusted)
        assert after.test.effect == before.test.effect
    table = comparison_table(adjusted)
    assert "Estimate [adjusted CI]" in [column.title for column in table.columns]
    assert any("98.33 % of 3 tests" in note for note in table.notes)
    with pytest.raises(DataError, match="Benjamini"):
        compare(view(rows), adjusted_intervals=True, correction="bh")


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
    found = only(unpaired_rows(a[:, None], b[:, None]))
    assert definite(found.test.p) <= 0.05
    table = comparison_table([found])
    assert "(0.00" in table.rows[0].cells[4].text
    assert any(note.startswith("A round bracket") for note in table.notes)


def test_transcripts_without_a_case_are_counted_as_cases_and_that_is_said(tmp_path: Path) -> None:
    rows: list[Row] = [(f"{s}{i}", s, None, float(i * 7 % 5)) for s in "AB" for i in range(9)]
    found = only(rows)
    assert (found.cases_a, found.caseless) == (9, 18)
    assert any("18 transcripts without a case" in note for note in comparison_table([found]).notes)


def test_too_few_pairs_for_an_interval_are_said() -> None:
    found = only(paired_rows([3.0, 4.0, 5.0, 5.0], [1.0, 1.0, 1.0, 2.0]))
    assert found.test.p == pytest.approx(0.125)
    assert found.test.interval is None
    assert "1 comparison without an interval: too few pairs for 95%." in comparison_table([found]).notes
