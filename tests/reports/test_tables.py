"""Cells of tables against a slow recomputation from the ratings; tables as they are handed out and in the report."""

from __future__ import annotations

import copy
import dataclasses
import math
import pickle
import random
import re
import statistics
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

import bedside
from bedside.analysis.agreement import Agreement
from bedside.analysis.comparison import Comparisons, compare
from bedside.analysis.estimation import Estimate
from bedside.analysis.ratings_view import RatingsView, open_ratings_view
from bedside.analysis.validation import JudgeCard
from bedside.core.errors import DataError
from bedside.ratings.run import Run
from bedside.reports.build import build_tables, write_report
from bedside.reports.contents import looked_at, make_parts
from bedside.reports.number_text import between, decimal, number, p_value
from bedside.reports.results_layout import ResultsOptions
from bedside.reports.table import Table, Tables
from bedside.scoring.score import score
from tests.reports.builders import (
    by_system,
    cells_by_title,
    cells_of,
    full_table,
    people_rated,
    rated,
    rating,
    scored,
    table_of,
    titles_of,
    view_of,
)

RATERS = ("judge:m", "human:x", "human:y")
METRICS = ("empathy", "safety", "smog.clinician", "matched_concerns", "submitted_findings")
MICRO = {"metric": "concern_precision", "sum": ["matched_concerns"], "over": ["submitted_findings"]}


def results(view: RatingsView, **options: Any) -> Table:
    return full_table("results", view, **options)


@st.composite
def evaluations(draw: st.DrawFn) -> RatingsView:
    """Runs with missing values, ties, passes, one system, one item, transcripts without system or factor."""
    source = random.Random(draw(st.integers(0, 10**6)))
    systems: list[str | None] = draw(st.sampled_from([["a"], ["a", "b"], ["a", "b", "c"], [None]]))
    cases = draw(st.integers(1, 5))
    gaps = draw(st.sampled_from([0.0, 0.3, 0.9]))
    levels = draw(st.sampled_from([(1.0,), (0.0, 1.0), (1.0, 2.0, 3.0, 4.5)]))
    rows, factors = [], []
    for system in systems:
        for case in range(cases):
            if source.random() < 0.15:
                continue
            factors.append({"transcript_id": f"{system}-{case}", "setting": source.choice(["open", "guarded", None])})
            for metric in METRICS:
                for rater in RATERS[: 1 if metric.endswith("s") else 3]:
                    for replicate in range(source.choice((1, 1, 2))):
                        value = None if source.random() < gaps else source.choice(levels)
                        head = (f"{system}-{case}", system, f"c{case}", metric)
                        rows.append(rating(*head, value, rater, replicate=replicate))
    if not rows:
        factors.append({"transcript_id": "a-0", "setting": "open"})
        rows += rated("a", 0, empathy=None)
    table = pl.DataFrame(factors, schema={"transcript_id": pl.String(), "setting": pl.String()})
    return view_of(rows, table)


def slow(view: RatingsView, record: dict[str, Any]) -> tuple[list[float], int, list[str]]:
    """The values of a record's transcripts by plain loops, passes before people; how many have none; and the cases."""
    settings_of = dict(view.factors.iter_rows()) if view.factors is not None else {}
    values: dict[str, dict[str, list[float]]] = {}
    seen = set()
    for r in view.ratings.to_dicts():
        group = "people" if r["rater"].startswith("human:") else r["rater"]
        own = (r["metric"], group, r["unit"]) == (record["metric"], record["raters"], "transcript")
        if not own or record["system"] not in ("all", r["system"]):
            continue
        setting = settings_of.get(r["transcript_id"]) or "none given"
        if record.get("setting", setting) != setting:
            continue
        seen.add(r["transcript_id"])
        if r["value"] is not None:
            by_rater = values.setdefault(r["transcript_id"], {})
            by_rater.setdefault(r["rater"], []).append(r["value"])
    means = [statistics.fmean(map(statistics.fmean, by_rater.values())) for by_rater in values.values()]
    case_of = dict(view.ratings.select("transcript_id", "case_id").iter_rows())
    return means, len(seen - values.keys()), [case_of[name] or name for name in values]


def clustered(values: list[float], cases: list[str]) -> tuple[float, float] | None:
    """The t interval over cases of the mean over transcripts, by the textbook's sums; None of one case."""
    mean, groups = statistics.fmean(values), len(set(cases))
    if groups < 2:
        return None
    pairs = list(zip(values, cases, strict=True))
    sums = [sum(value - mean for value, case in pairs if case == name) for name in set(cases)]
    error = (groups / (groups - 1) * sum(s * s for s in sums)) ** 0.5 / len(values)
    half = float(stats.t.ppf(0.975, groups - 1)) * error
    return mean - half, mean + half


def within(bounds: tuple[float, float], low: float, high: float) -> tuple[float, float]:
    """The score interval on a scale for the mean of a t interval: roots of (m − p)² = t² SE² p(1 − p) / (m(1 − m))."""
    size = bounds[1] - bounds[0]
    mean, half = ((low + high) / 2 - bounds[0]) / size, (high - low) / 2 / size
    spread = half**2 / (mean * (1 - mean))
    roots = np.roots([1 + spread, -(2 * mean + spread), mean**2])
    return float(bounds[0] + size * min(roots)), float(bounds[0] + size * max(roots))


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    evaluations(),
    st.sampled_from([
        (("metric",), ("system",)), (("system",), ("metric",)), (("setting", "system"), ("metric",)),
        (("setting",), ("metric", "system")), (("setting", "metric"), ("system",)), (("setting",), ("metric",)),
    ]),
)  # fmt: skip
def test_every_cell_is_recomputed(view: RatingsView, layout: tuple[tuple[str, ...], tuple[str, ...]]) -> None:
    table = table_of("results", view, metrics=["empathy", "safety", "smog"], rows=layout[0], columns=layout[1])
    if table is None:
        shown = pl.col("metric").is_in(["empathy", "safety", "smog.clinician"])
        assert view.ratings.filter(shown)["value"].count() == 0
        return
    assert len({record["cell"] for record in table.records}) == len(table.records)
    for record in table.records:
        values, missing, cases = slow(view, dict(record))
        assert (record["n"], record["missing"]) == (len(values), missing)
        assert record["value"] == (pytest.approx(statistics.fmean(values)) if values else None)
        assert record["sd"] == (pytest.approx(statistics.stdev(values)) if len(values) > 1 else None)
        if len(values) > 1 and not set(values) <= {0.0, 1.0} and len(set(values)) > 1:
            expected = clustered(values, cases)
            rated = set(view.ratings.filter(pl.col("metric") == record["metric"])["value"].drop_nulls())
            if expected is None:
                assert (record["low"], record["high"]) == (None, None)
            elif str(record["metric"]).startswith("smog"):
                assert (record["low"], record["high"]) == pytest.approx((max(expected[0], 0), expected[1]), abs=1e-12)
            elif rated <= {0.0, 1.0} and expected[0] == expected[1]:
                # Cases that are all alike: what wasn't seen gives the interval its width.
                assert 0 <= record["low"] < record["value"] < record["high"] <= 1
            else:
                # Of a metric without a scale, zeros and ones alone are shares.
                shares = within((0, 1), *expected) if rated <= {0.0, 1.0} else expected
                assert (record["low"], record["high"]) == pytest.approx(shares, abs=1e-9)
    cells = {cell.record for line in table.rows for cell in line.cells if cell.record is not None}
    for line in table.rows:
        for cell in line.cells:
            if cell.record is not None and table.records[cell.record]["value"] is not None:
                _, _, decimals = cell.text.partition(" ")[0].partition(".")
                digits = 1 if len(decimals) == 1 else 2
                assert cell.text.startswith(number(table.records[cell.record]["value"], digits))
    counted = [place for place, record in enumerate(table.records) if record["n"] and record.get("level") != "count"]
    assert set(counted) <= cells


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(evaluations())
def test_ratios_of_sums_are_recomputed(view: RatingsView) -> None:
    table = table_of("results", view, metrics=[MICRO])
    if table is None:
        return
    for record in table.records:
        above = below = 0.0
        n = 0
        mine = [
            r for r in view.ratings.to_dicts()
            if record["system"] in (r["system"], "all") and r["rater"] == record["raters"] and r["value"] is not None
        ]  # fmt: skip
        for name in {r["transcript_id"] for r in mine}:
            passes: dict[int, dict[str, float]] = {}
            for r in mine:
                if r["transcript_id"] == name:
                    passes.setdefault(r["replicate"], {})[r["metric"]] = r["value"]
            whole = [p for p in passes.values() if {"matched_concerns", "submitted_findings"} <= p.keys()]
            if whole:
                n += 1
                above += statistics.fmean(p["matched_concerns"] for p in whole)
                below += statistics.fmean(p["submitted_findings"] for p in whole)
        if below:
            assert record["n"] == n
            assert record["value"] == pytest.approx(above / below)
            assert (record["numerator"], record["denominator"]) == pytest.approx((above, below))
        else:
            assert record["value"] is None


def test_the_interval_of_a_ratio_is_the_linearised_one() -> None:
    above, below = [1.0, 2.0, 0.0, 3.0, 2.0], [2.0, 2.0, 3.0, 4.0, 2.0]
    pairs = list(zip(above, below, strict=True))
    rows = [
        row
        for case, (matched, submitted) in enumerate(pairs)
        for row in rated("a", case, matched_concerns=matched, submitted_findings=submitted)
    ]
    table = results(view_of(rows), metrics=[MICRO], spread="ci")
    ratio = sum(above) / sum(below)
    residuals = [a - ratio * b for a, b in pairs]
    error = math.sqrt(5 / 4 * sum(r**2 for r in residuals)) / sum(below)
    half = stats.t.ppf(0.975, 4) * error
    # Precision lies between 0 and 1.
    expected = within((0, 1), ratio - half, ratio + half)
    assert (table.records[0]["low"], table.records[0]["high"]) == pytest.approx(expected)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(evaluations())
def test_bold_is_what_intervals_of_differences_tell_apart(view: RatingsView) -> None:
    table = table_of("results", view, metrics=["empathy"])
    if table is None:
        return
    for line in table.rows:
        cells = {table.records[c.record]["system"]: c for c in line.cells[1:] if c.record is not None}
        by_case = {system: _cases(view, dict(table.records[cell.record or 0])) for system, cell in cells.items()}
        means = {name: round(statistics.fmean(own.values()), 2) for name, own in by_case.items() if own}
        if len(means) < 2:
            assert not any(cell.bold or cell.underline for cell in cells.values())
            continue
        top = next(system for system in sorted(means) if means[system] == max(means.values()))
        equal = {s for s in means if means[s] == means[top] or not _apart(by_case[top], by_case[s])}
        bold = equal if len(equal) < len(means) else set()
        assert {system for system, cell in cells.items() if cell.bold} == bold


def _cases(view: RatingsView, record: dict[str, Any]) -> dict[str, float]:
    """Passes are averaged, then people, then the transcripts of a case."""
    by_transcript: dict[tuple[str, str], dict[str, list[float]]] = {}
    for r in view.ratings.to_dicts():
        group = "people" if r["rater"].startswith("human:") else r["rater"]
        key = (r["metric"], group, r["system"])
        if key == (record["metric"], record["raters"], record["system"]) and r["value"] is not None:
            by_rater = by_transcript.setdefault((r["case_id"], r["transcript_id"]), {})
            by_rater.setdefault(r["rater"], []).append(r["value"])
    by_case: dict[str, list[float]] = {}
    for (case, _), by_rater in by_transcript.items():
        by_case.setdefault(case, []).append(statistics.fmean(map(statistics.fmean, by_rater.values())))
    return {case: statistics.fmean(values) for case, values in by_case.items()}


def _apart(x: dict[str, float], y: dict[str, float]) -> bool:
    shared = sorted(x.keys() & y.keys())
    if 2 * len(shared) > min(len(x), len(y)):
        differences = np.array([x[case] - y[case] for case in shared])
        if len(shared) < 2:
            return False
        if np.ptp(differences) < 1e-12:
            return bool(abs(differences[0]) > 1e-12)
        interval = stats.ttest_1samp(differences, 0).confidence_interval()
    else:
        if min(len(x), len(y)) < 2:
            return False
        a, b = list(x.values()), list(y.values())
        if shared:
            return _partly_shared_apart(a, b, [x[case] for case in shared], [y[case] for case in shared])
        if statistics.pstdev(a) == 0 and statistics.pstdev(b) == 0:
            return statistics.fmean(a) != statistics.fmean(b)
        interval = stats.ttest_ind(a, b, equal_var=False).confidence_interval()
    return bool(interval.low > 0 or interval.high < 0)


def _partly_shared_apart(a: list[float], b: list[float], of_a: list[float], of_b: list[float]) -> bool:
    """Derrick, Russ, Toher and White (2017), their second statistic, of all values and of those of shared cases."""
    n, m, pairs = len(a), len(b), len(of_a)
    varies = pairs > 1 and len(set(of_a)) > 1 and len(set(of_b)) > 1
    r = stats.pearsonr(of_a, of_b).statistic if varies else 0.0
    va, vb = statistics.variance(a), statistics.variance(b)
    squared = va / n + vb / m - 2 * r * math.sqrt(va * vb) * pairs / (n * m)
    if squared < 1e-20:
        return False
    gamma = (va / n + vb / m) ** 2 / ((va / n) ** 2 / (n - 1) + (vb / m) ** 2 / (m - 1))
    alone = n + m - 2 * pairs
    df = pairs - 1 + (gamma - pairs + 1) / (alone + 2 * pairs) * alone
    t = abs(statistics.fmean(a) - statistics.fmean(b)) / math.sqrt(squared)
    return bool(t > stats.t.ppf(0.975, df))


def marks(view: RatingsView, **options: Any) -> dict[str, str]:
    """How each system's mean is set: bold, underlined, with asterisks."""
    table = results(view, metrics=view.metrics(), **options)
    return {
        column.title: "B" * cell.bold + "U" * cell.underline + cell.marks
        for column, cell in zip(table.columns[1:], table.rows[0].cells[1:], strict=True)
    }


APART: dict[str, list[float]] = {"a": [4, 5, 4, 5], "b": [3, 4, 3, 4], "c": [1, 2, 1, 2]}
ALIKE: dict[str, list[float]] = {"a": [1, 5, 2, 4], "b": [2, 1, 4, 4], "c": [3, 3, 1, 4]}


@pytest.mark.parametrize(
    ("values", "options", "expected"),
    [
        (APART, {}, ("B", "U", "")),
        ({**APART, "b": [5, 4, 5, 4]}, {}, ("B", "B", "U")),
        (ALIKE, {}, ("", "", "")),
        (ALIKE, {"best": "always"}, ("B", "U", "U")),
        (APART, {"best": "never"}, ("", "", "")),
    ],
    ids=["apart", "tied", "within", "always", "never"],
)
def test_best_second_and_ties(
    values: dict[str, list[float]], options: dict[str, Any], expected: tuple[str, ...]
) -> None:
    assert tuple(marks(by_system(values), **options).values()) == expected


def test_the_least_is_best_where_less_is_better() -> None:
    assert marks(by_system(APART, "meta_probe_rate")) == {"a": "", "b": "U", "c": "B"}


def test_marks_are_those_of_the_comparison() -> None:
    draw = random.Random(2)
    means = (("a", 0), ("b", 1), ("c", 2.5))
    view = by_system({system: [draw.gauss(mean, 1) for _ in range(20)] for system, mean in means})
    shown = marks(view, test="t", against="a")
    for pair in compare(view, metrics=["empathy"], reference="a", test="t").pairs:
        p = pair.test.p_adjusted
        assert p is not None
        expected = "***" if p < 0.001 else "**" if p < 0.01 else "*" if p < 0.05 else ""
        assert shown[pair.a].strip("BU") == expected
    notes = " ".join(results(view, metrics=["empathy"], test="t", against="a").notes)
    assert all(word in notes for word in ("Against a", "paired t test, two-sided", "Holm", "of 2 tests"))


def test_raters_with_the_same_values_have_the_marks_of_one_test() -> None:
    draw = random.Random(3)
    view = by_system({system: [draw.gauss(mean, 1) for _ in range(20)] for system, mean in (("a", 0), ("b", 3))})
    copied = view.ratings.with_columns(rater=pl.lit("algorithm:copy@1"))
    table = results(
        replace(view, ratings=pl.concat([view.ratings, copied])), metrics=["empathy"], test="t", against="a"
    )
    cells = [cell for row in table.rows for cell in row.cells]
    assert [cell.marks for cell in cells if cell.marks] == ["***", "***"]
    assert "of 1 test." in " ".join(table.notes)


def test_two_systems_have_their_test_in_columns() -> None:
    """The published U and p of two groups of 1142 with 355 and 356 ones, as per cent.

    The first standard deviation is published as 46.31: that of the rounded share, 31.09.
    """
    rows = [
        rating(f"{system}{place}", system, None, "diagnostic_accuracy_hard", float(place < ones))
        for system, ones in (("a", 355), ("b", 356))
        for place in range(1142)
    ]
    measure = {"metric": "diagnostic_accuracy_hard", "percent": True, "digits": 2}
    table = results(view_of(rows), metrics=[measure], test="mannwhitney")
    assert titles_of(table)[1:] == ["a", "b", "Statistic", "p", "p corrected"]
    assert cells_of(table)[0][1:] == ["31.09 (46.30)", "31.17 (46.34)", "651511", ".964", ".964"]


def test_counts_of_transcripts_and_cases() -> None:
    view = by_system({"a": [1, 2, 3], "b": [1, 2]})
    table = results(view, metrics=["empathy"], counts=True)
    assert cells_of(table)[:2] == [["Transcripts", "3", "2"], ["Cases", "3", "2"]]
    names = view.ratings["transcript_id"]
    levels = ["open" if name.endswith("0") else "closed" for name in names]
    part = replace(view, factors=pl.DataFrame({"transcript_id": names, "setting": levels}))
    table = results(part, metrics=["empathy"], counts=True, columns=["setting", "system"])
    counts = {(r["setting"], r["system"]): r["value"] for r in table.records if r["measure"] == "Transcripts"}
    assert counts == {("closed", "a"): 2, ("closed", "b"): 1, ("open", "a"): 1, ("open", "b"): 1}


def test_n_and_missing_stand_where_they_vary() -> None:
    rows = [*rated("a", 0, empathy=1.0, safety=1.0), *rated("a", 1, empathy=None, safety=0.0)]
    table = results(view_of(rows), metrics=["empathy", "safety"])
    assert table.rows[0].cells[1].text == "1.00 n=1 of 2"
    assert "n = 2 transcripts unless a cell says otherwise." in table.notes


def test_what_is_not_there_is_said_with_its_command() -> None:
    metrics = ["empathy", "fluency_flow", "smog.patient", "own_rubric"]
    notes = " ".join(results(by_system({"a": [1], "b": [2]}), metrics=metrics).notes)
    assert "--judge MODEL --rubrics fluency_flow" in notes
    assert "--metrics smog" in notes
    assert "Nobody rated own_rubric" in notes
    assert table_of("results", by_system({"a": [1]}), metrics=["fluency_flow"]) is None


def test_a_factor_nobody_has_is_left_out_and_said() -> None:
    view = by_system({"a": [1, 2], "b": [2, 3]})
    table = results(view, metrics=["empathy"], rows=["setting", "system"], columns=["metric"])
    assert list(cells_by_title(table)) == ["a", "b"]
    assert "No transcript has the factor setting" in table.notes[-1]
    with pytest.raises(DataError, match="setting"):
        results(view, metrics=["empathy"], rows=["setting"], columns=["metric", "system"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rows": ["system"], "columns": ["setting"]}, "hold the metric"),
        ({"rows": ["metric", "system"], "columns": ["system"]}, "none twice"),
        ({"rows": ["system"], "columns": ["metric"], "deviation": True}, "deviation needs"),
        ({"metrics": [{"metric": "x", "sum": ["a"]}]}, "needs both"),
        ({"metrik": []}, "Extra inputs"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ResultsOptions.model_validate(options)


def test_deviation_is_the_distance_from_the_reference() -> None:
    view = by_system({"a": [1, 2], "b": [5, 5]})
    compared = replace(view, reference=by_system({"people": [3, 4, 5]}))
    table = results(compared, metrics=["empathy"], deviation=True)
    assert cells_of(table)[0][1:] == ["4.00", "1.50 (0.71)", "2.50", "5.00 (0.00)", "1.00"]
    groups = [(column.group, column.title) for column in table.columns[2:4]]
    assert groups == [("a", "mean (standard deviation)"), ("a", "Δ")]
    assert any("--reference" in note for note in results(view, metrics=["empathy"], deviation=True).notes)


def test_labels_are_counted(tmp_path: Path) -> None:
    run = scored(tmp_path)
    table = full_table("counts", open_ratings_view(run.path), metrics=["stage", "question"])
    labels = Counter(
        (r["metric"], r["system"], "people" if r["rater"].startswith("human:") else r["rater"], r["label"])
        for r in run.ratings.to_dicts()
        if r["label"] is not None
    )
    for record in table.records:
        key = (record["metric"], record["system"], record["raters"])
        assert record["n"] == labels[*key, record["label"]]
        total = sum(count for own, count in labels.items() if own[:3] == key)
        assert record["share"] == pytest.approx(record["n"] / total)


def test_skewness_is_tested() -> None:
    draw = np.random.default_rng(1)
    values = {"a": draw.exponential(size=30).tolist(), "b": draw.normal(size=30).tolist(), "c": [1.0, 2.0]}
    table = full_table("distribution", by_system(values), metrics=["empathy"])
    for record in table.records:
        own = values[record["system"]]
        assert record["median"] == pytest.approx(statistics.median(own))
        if len(own) > 8:
            test = stats.skewtest(own)
            assert (record["statistic"], record["p"]) == pytest.approx((test.statistic, test.pvalue))
            assert record["skewness"] == pytest.approx(stats.skew(own))
        else:
            assert record["p"] is None
    assert table.records[0]["family_size"] == 2


def test_curves_keep_their_last_value() -> None:
    paths: dict[str, list[list[float]]] = {"a": [[0, 0.5, 1], [0.5]], "b": [[0, 0, 0, 0.5]]}
    rows = [
        rating(f"{system}-{case}", system, f"c{case}", "revealed_by_turn", value, unit=f"turn:{2 * place}")
        for system, own in paths.items()
        for case, path in enumerate(own)
        for place, value in enumerate(path)
    ]
    rows += rated("b", 1, revealed_by_turn=None)
    table = full_table("cumulative", view_of(rows), metrics=["revealed_by_turn"], turns=[1, 2, 3, 10])
    values = {(r["system"], r["turn"]): r["value"] for r in table.records}
    assert values == {("a", 1): 0.25, ("a", 2): 0.5, ("a", 3): 0.75, ("a", 4): 0.75,
                      ("b", 1): 0, ("b", 2): 0, ("b", 3): 0, ("b", 4): 0.5}  # fmt: skip
    assert [line.cells[1].text for line in table.rows] == ["2", "1 of 2"]


STUDY = bedside.EXAMPLES / "study.csv"
SCALES = ("empathy=1-5", "safe=0,1")


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Tables[Comparisons]:
    return bedside.compare(scored(tmp_path_factory.mktemp("table"), metrics=["behaviour"]))


def test_they_are_gone_through_and_had_by_place_and_name(compared: Tables[Comparisons]) -> None:
    assert compared.names == ("overall", "comparison")
    overall, comparison = compared
    assert len(compared) == 2
    assert compared[0] is compared["overall"] is overall
    assert compared[-1] is compared["comparison"] is comparison
    assert compared[0:1] == (overall,)
    rows = (len(overall.rows), len(comparison.rows))
    assert repr(compared) == "Tables(overall: {} rows, comparison: {} rows)".format(*rows)
    with pytest.raises(IndexError):
        compared[2]


def test_they_have_nothing_by_accident_and_stay_as_they_are(compared: Tables[Comparisons]) -> None:
    assert {name for name in dir(compared) if not name.startswith("_")} == {
        "findings", "levels", "names", "results", "sentences", "tables", "to_pandas", "to_polars", "within",
    }  # fmt: skip
    with pytest.raises(dataclasses.FrozenInstanceError):
        compared.results = None  # type: ignore[misc, assignment]
    assert copy.copy(compared) == compared == pickle.loads(pickle.dumps(compared))  # noqa: S301
    assert compared != bedside.compare(STUDY, scales=SCALES)


def test_results_are_what_the_tables_show(compared: Tables[Comparisons]) -> None:
    assert len(compared.results.pairs) == len(compared["comparison"].records)
    assert compared.results.pairs[0].difference.estimate == compared["comparison"].records[0]["difference"]
    agreements = bedside.agree(STUDY, scales=SCALES).results
    assert all(isinstance(result, Agreement) for result in agreements)
    assert agreements[0].statistics["kappa"].estimate is not None
    (card,) = bedside.validate(STUDY, scales=SCALES).results
    assert isinstance(card, JudgeCard)
    assert card.rater == "judge:invented"
    estimates = bedside.estimate(STUDY, scales=SCALES).results
    assert all(isinstance(result, Estimate) for result in estimates)
    assert bedside.tables(STUDY, "agreement", scales=SCALES).results is None


def test_one_frame_holds_all_records(compared: Tables[Comparisons]) -> None:
    frame = compared.to_polars()
    assert frame.columns[0] == "table"
    assert frame["table"].to_list() == [table.name for table in compared for _ in table.records]
    for table in compared:
        own = table.to_polars()
        part = frame.filter(pl.col("table") == table.name)
        assert part.select(own.columns).equals(own)
    pandas = compared.to_pandas()
    assert list(pandas.columns) == frame.columns
    assert pandas["p"].tolist()[-1] == frame["p"][-1]


def test_words_and_numbers_of_one_column_are_words() -> None:
    def table(name: str, value: object) -> Table:
        return Table(name, name, (), (), records=({"value": value, name: 1},))

    frame = Tables((table("a", "x"), table("b", 1.5), table("c", None)), None).to_polars()
    rows = [("a", "x", 1, None, None), ("b", "1.5", None, 1, None), ("c", None, None, None, 1)]
    assert frame.rows() == rows
    assert Tables((), None).to_polars().height == 0


@pytest.mark.slow
def test_every_report_makes_one_frame(tmp_path: Path) -> None:
    run = scored(tmp_path, suite="calm-it")
    found = bedside.tables(run)
    assert found.to_polars().height == sum(len(table.records) for table in found) == len(found.to_pandas())


def test_the_tests_a_number_is_part_of_are_shown(tmp_path: Path) -> None:
    """Their cells are of the records that are shown, wherever these stood before."""
    run = scored(tmp_path, metrics=["behaviour"])
    whole = bedside.compare(run)["comparison"]
    tests = bedside.explain(run, "open_question_ratio@people/steady").tables["tests"]
    assert "<th" in tests._repr_html_()
    assert 0 < len(tests.records) < len(whole.records)
    for place, row in enumerate(tests.rows):
        assert {cell.record for cell in row.cells} <= {place, None}
        assert tests.records[place]["metric"] == "open_question_ratio"


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> RatingsView:
    """Both tasks of MedConceal, two cases of each with either script."""
    folder = tmp_path_factory.mktemp("tasks")
    made = bedside.simulate(
        None,
        "medconceal",
        folder / "talks",
        clinician=["script:good", "script:brisk"],
        settings=["confirmation-8", "intervention-8"],
        sample=2,
    )
    return open_ratings_view(bedside.score(made.folder, folder / "run", suite="medconceal").run)


@pytest.mark.slow
def test_each_task_has_its_own_table_and_is_not_averaged_over(view: RatingsView) -> None:
    for name in ("confirmation", "intervention"):
        (table,) = build_tables(view, [name])
        assert {record["setting"] for record in table.records} == {f"{name}, 8 turns"}
        assert f"Only transcripts with task {name} are looked at." in table.notes
        assert not any("Averaged over task" in note for note in table.notes)
    (style,) = build_tables(view, ["style"])
    assert len({record["setting"] for record in style.records}) == 2
    assert not any("Averaged over task" in note for note in style.notes)


@pytest.mark.slow
def test_what_is_asked_for_may_be_all_or_nothing(view: RatingsView) -> None:
    confirmation = view.where({"task": ["confirmation"]})
    assert looked_at(confirmation, {"task": ["confirmation"]}) is confirmation
    assert looked_at(confirmation, {"task": ["intervention"]}) is None
    part = looked_at(view, {"task": ["intervention", "other"]})
    assert part is not None
    assert part.factors is not None
    assert view.factors is not None
    assert 2 * part.factors.height == view.factors.height


@pytest.mark.slow
def test_without_the_factor_that_tells_them_apart_neither_task_has_a_table(view: RatingsView) -> None:
    assert view.factors is not None
    taskless = replace(view, factors=view.factors.drop("task"))
    with pytest.raises(DataError, match="it needs the factor task, which no transcript of this run has"):
        looked_at(taskless, {"task": ["confirmation"]})
    parts = make_parts(taskless, figures=False)
    names = {table.name for part in parts for table in part.tables}
    assert not names & {"confirmation", "intervention"}
    assert sum("it needs the factor task" in reason for part in parts for reason in part.left_out) >= 2
    shown = {record.get("metric") for part in parts for table in part.tables for record in table.records}
    assert "concern_addressed" in shown, "what they would show is shown among the other metrics"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return people_rated(scored(tmp_path_factory.mktemp("report")))


def test_the_best_is_bold_where_a_direction_is_known(run: Run) -> None:
    table = build_tables(open_ratings_view(run.path), ["results"])[0]
    systems = [column.title for column in table.columns[1:]]
    by_title = {row.cells[0].text: row.cells[1:] for row in table.rows}
    bold = {
        title: {system for system, cell in zip(systems, cells, strict=True) if cell.bold}
        for title, cells in by_title.items()
    }
    assert bold["Open questions (%) (people) ↑"] == {"steady"}
    assert bold["Completed ↑"] == set(), "one conversation of four is no difference"
    assert bold["Turns"] == set()
    assert bold["Empathy ↑"] == {"steady"}, "a rubric brings its direction"


@pytest.mark.slow
def test_comparison_and_agreement_stand_in_the_report(run: Run) -> None:
    tables = {table.name: table for table in build_tables(open_ratings_view(run.path))}
    assert list(tables) == [
        "results", "comparison", "agreement", "raters", "rubrics", "missing", "missing_bounds",
    ]  # fmt: skip
    assert any("Holm" in note for note in tables["comparison"].notes)
    kinds = {record["kind"] for record in tables["agreement"].records}
    assert kinds == {"people", "mean", "consensus", "person"}


@pytest.mark.slow
def test_same_run_same_bytes(run: Run, tmp_path: Path) -> None:
    _, first = write_report(run, out=tmp_path / "a")
    _, second = write_report(run, out=tmp_path / "b")
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (number(-0.001), "0.00"),
        (number(-1.25, 1), "−1.2"),
        (number(None), "–"),
        (decimal(0.5), ".50"),
        (decimal(-0.5), "−.50"),
        (decimal(0.999), "1.00"),
        (decimal(1.0), "1.00"),
        (decimal(0.0), ".00"),
        (decimal(-12.5), "−12.50"),
        (p_value(0.0004), "< .001"),
        (p_value(0.04), ".040"),
        (between(-0.1, 1.0), "[−.10, 1.00]"),
        (between(None, 1.0), "–"),
    ],
)
def test_numbers_as_printed(shown: str, expected: str) -> None:
    assert shown == expected


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.targets: list[str] = []
        self.outside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id":
                self.ids.append(str(value))
            if name in ("href", "src", "xlink:href", "data-source", "action") and value is not None:
                (self.targets if value.startswith("#") or name == "data-source" else self.outside).append(value)


@pytest.mark.slow
def test_the_page_is_whole(run: Run, tmp_path: Path) -> None:
    write_report(run, formats=["html"], out=tmp_path)
    text = (tmp_path / "report.html").read_text("utf-8")
    page = _Page()
    page.feed(text)
    assert page.outside == [], "nothing is fetched"
    assert not re.search(r"url\(\s*['\"]?(?!#)", text), "nothing is fetched by styles"
    assert len(page.ids) == len(set(page.ids))
    assert {target.removeprefix("#") for target in page.targets} <= set(page.ids)
    assert len(text) < 1_000_000
    assert "1. bedside" not in text
    for heading in ("Results", "Comparison", "Agreement", "Missing", "Methods"):
        assert f">{heading}</h2>" in text


@pytest.mark.slow
def test_a_run_without_systems_or_people_has_a_report_too(mdd5k: Path, tmp_path: Path) -> None:
    made = score([mdd5k], tmp_path / "run").run
    tables, _ = write_report(made, formats=["html", "md"])
    assert [table.name for table in tables] == ["results", "missing"]
    results = {record["metric"]: record for record in tables[0].records}
    assert results["exchanges"]["n"] == 150
    assert results["smog.patient"]["value"] is None
    assert "zh" in results["smog.patient"]["why_missing"]
