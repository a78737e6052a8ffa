"""Cells of tables against a slow recomputation from the ratings; tables as they are handed out."""

from __future__ import annotations

import copy
import dataclasses
import math
import pickle
import random
import statistics
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import bedside
from bedside.analysis.agreement import Agreement
from bedside.analysis.comparison import Comparisons, compare
from bedside.analysis.estimation import Estimate
from bedside.analysis.ratings_view import RatingsView, open_ratings_view
from bedside.analysis.validation import JudgeCard
from bedside.core.errors import DataError
from bedside.ratings.table import frame_of
from bedside.reports.build import build_tables
from bedside.reports.contents import make_parts
from bedside.reports.number_text import number
from bedside.reports.planned_tables import looked_at
from bedside.reports.results_options import ResultsOptions
from bedside.reports.table import Table, Tables
from bedside.reports.tables import TABLES
from bedside.reports.tables.counts import CountsOptions
from bedside.reports.tables.cumulative import CumulativeOptions
from bedside.reports.tables.distribution import DistributionOptions
from bedside.scoring.score import score

EXAMPLES = Path(bedside.__file__).parent / "examples"
RATERS = ("judge:m", "human:x", "human:y")
METRICS = ("empathy", "safety", "smog.clinician", "matched_concerns", "submitted_findings")
MICRO = {"metric": "concern_precision", "sum": ["matched_concerns"], "over": ["submitted_findings"]}


def results(view: RatingsView, **options: Any) -> Table | None:
    return TABLES.load("results").make(view, 0, ResultsOptions.model_validate(options))


def row(
    system: str | None, case: int, metric: str, rater: str, value: float | None, **more: Any
) -> tuple[Any, ...]:
    return (
        f"{system}-{case}", system, f"c{case}", more.get("unit", "transcript"), metric, rater,
        more.get("replicate", 0), value, more.get("label"), None, None if value is not None else "as drawn",
    )  # fmt: skip


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
            factors.append(
                {"transcript_id": f"{system}-{case}", "setting": source.choice(["open", "guarded", None])}
            )
            for metric in METRICS:
                for rater in RATERS[: 1 if metric.endswith("s") else 3]:
                    for replicate in range(source.choice((1, 1, 2))):
                        value = None if source.random() < gaps else source.choice(levels)
                        rows.append(row(system, case, metric, rater, value, replicate=replicate))
    if not rows:
        factors.append({"transcript_id": "a-0", "setting": "open"})
        rows.append(row("a", 0, "empathy", "judge:m", None))
    table = pl.DataFrame(factors, schema={"transcript_id": pl.String(), "setting": pl.String()})
    return RatingsView(frame_of(rows), {}, table, "ratings")


def slow(view: RatingsView, record: dict[str, Any]) -> tuple[list[float], int, list[str]]:
    """The values of a record's transcripts by plain loops, passes before people; how many have none; and the cases."""
    settings_of = dict(view.factors.iter_rows()) if view.factors is not None else {}
    values: dict[str, dict[str, list[float]]] = {}
    seen = set()
    for rating in view.ratings.to_dicts():
        group = "people" if rating["rater"].startswith("human:") else rating["rater"]
        if (
            rating["metric"] != record["metric"]
            or group != record["raters"]
            or rating["unit"] != "transcript"
        ):
            continue
        if record["system"] not in ("all", rating["system"]):
            continue
        if (
            "setting" in record
            and (settings_of[rating["transcript_id"]] or "none given") != record["setting"]
        ):
            continue
        seen.add(rating["transcript_id"])
        if rating["value"] is not None:
            by_rater = values.setdefault(rating["transcript_id"], {})
            by_rater.setdefault(rating["rater"], []).append(rating["value"])
    means = [statistics.fmean(map(statistics.fmean, by_rater.values())) for by_rater in values.values()]
    case_of = dict(view.ratings.select("transcript_id", "case_id").iter_rows())
    return means, len(seen - values.keys()), [case_of[name] or name for name in values]


def clustered(values: list[float], cases: list[str]) -> tuple[float, float] | None:
    """The t interval over cases of the mean over transcripts, by the textbook's sums; None of one case."""
    mean, groups = statistics.fmean(values), len(set(cases))
    if groups < 2:
        return None
    sums = [
        sum(value - mean for value, case in zip(values, cases, strict=True) if case == name)
        for name in set(cases)
    ]
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
    table = results(view, metrics=["empathy", "safety", "smog"], rows=layout[0], columns=layout[1])
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
                assert (record["low"], record["high"]) == pytest.approx(
                    (max(expected[0], 0), expected[1]), abs=1e-12
                )
            elif rated <= {0.0, 1.0} and expected[0] == expected[1]:
                # Cases that are all alike: what wasn't seen gives the interval its width.
                assert 0 <= record["low"] < record["value"] < record["high"] <= 1
            else:
                # Of a metric without a scale, zeros and ones alone are shares.
                shares = within((0, 1), *expected) if rated <= {0.0, 1.0} else expected
                assert (record["low"], record["high"]) == pytest.approx(shares, abs=1e-9)
    shown = {cell.record for line in table.rows for cell in line.cells if cell.record is not None}
    for line in table.rows:
        for cell in line.cells:
            if cell.record is not None and table.records[cell.record]["value"] is not None:
                record = table.records[cell.record]
                assert cell.text.startswith(
                    number(
                        record["value"],
                        1
                        if "." in cell.text and len(cell.text.partition(".")[2].partition(" ")[0]) == 1
                        else 2,
                    )
                )
    there = {
        place for place, record in enumerate(table.records) if record["n"] and record.get("level") != "count"
    }
    assert there <= shown


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(evaluations())
def test_ratios_of_sums_are_recomputed(view: RatingsView) -> None:
    table = results(view, metrics=[MICRO])
    if table is None:
        return
    for record in table.records:
        above = below = 0.0
        n = 0
        mine = [
            r for r in view.ratings.to_dicts() if r["system"] == record["system"] or record["system"] == "all"
        ]
        for name in {r["transcript_id"] for r in mine}:
            passes: dict[int, dict[str, float]] = {}
            for rating in mine:
                if (
                    rating["transcript_id"] == name
                    and rating["value"] is not None
                    and rating["rater"] == record["raters"]
                ):
                    passes.setdefault(rating["replicate"], {})[rating["metric"]] = rating["value"]
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
    above, below = [1, 2, 0, 3, 2], [2, 2, 3, 4, 2]
    rows = [row("a", case, name, "judge:m", float(value)) for case, pair in enumerate(zip(above, below, strict=True))
            for name, value in zip(("matched_concerns", "submitted_findings"), pair, strict=True)]  # fmt: skip
    table = results(RatingsView(frame_of(rows), {}, None, "ratings"), metrics=[MICRO], spread="ci")
    assert table is not None
    ratio = sum(above) / sum(below)
    residuals = [a - ratio * b for a, b in zip(above, below, strict=True)]
    error = math.sqrt(5 / 4 * sum(r**2 for r in residuals)) / sum(below)
    half = stats.t.ppf(0.975, 4) * error
    # Precision lies between 0 and 1.
    expected = within((0, 1), ratio - half, ratio + half)
    assert (table.records[0]["low"], table.records[0]["high"]) == pytest.approx(expected)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(evaluations())
def test_bold_is_what_intervals_of_differences_tell_apart(view: RatingsView) -> None:
    table = results(view, metrics=["empathy"])
    if table is None:
        return
    for line in table.rows:
        cells = {
            table.records[cell.record]["system"]: cell for cell in line.cells[1:] if cell.record is not None
        }
        by_case = {
            system: _cases(view, dict(table.records[cell.record]))  # type: ignore[index]
            for system, cell in cells.items()
        }
        means = {
            system: round(statistics.fmean(values.values()), 2)
            for system, values in by_case.items()
            if values
        }
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
    for rating in view.ratings.to_dicts():
        group = "people" if rating["rater"].startswith("human:") else rating["rater"]
        if (rating["metric"], group, rating["system"]) == (
            record["metric"],
            record["raters"],
            record["system"],
        ) and (rating["value"] is not None):
            by_rater = by_transcript.setdefault((rating["case_id"], rating["transcript_id"]), {})
            by_rater.setdefault(rating["rater"], []).append(rating["value"])
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


def three(values: dict[str, list[float]], metric: str = "empathy") -> RatingsView:
    rows = [row(system, case, metric, "judge:m", value) for system, given in values.items()
            for case, value in enumerate(given)]  # fmt: skip
    return RatingsView(frame_of(rows), {}, None, "ratings")


def marks(table: Table | None) -> dict[str, str]:
    assert table is not None
    cells = table.rows[0].cells[1:]
    return {
        column.title: ("B" if cell.bold else "") + ("U" if cell.underline else "") + cell.marks
        for column, cell in zip(table.columns[1:], cells, strict=True)
    }


def test_best_second_and_ties() -> None:
    apart = three({"a": [4, 5, 4, 5], "b": [3, 4, 3, 4], "c": [1, 2, 1, 2]})
    assert marks(results(apart, metrics=["empathy"])) == {"a": "B", "b": "U", "c": ""}
    tied = three({"a": [4, 5, 4, 5], "b": [5, 4, 5, 4], "c": [1, 2, 1, 2]})
    assert marks(results(tied, metrics=["empathy"])) == {"a": "B", "b": "B", "c": "U"}
    within = three({"a": [1, 5, 2, 4], "b": [2, 1, 4, 4], "c": [3, 3, 1, 4]})
    assert marks(results(within, metrics=["empathy"])) == {"a": "", "b": "", "c": ""}
    assert marks(results(within, metrics=["empathy"], best="always"))["a"] == "B"
    assert marks(results(apart, metrics=["empathy"], best="never")) == {"a": "", "b": "", "c": ""}
    lower = three({"a": [4, 5, 4, 5], "b": [3, 4, 3, 4], "c": [1, 2, 1, 2]}, "meta_probe_rate")
    assert marks(results(lower, metrics=["meta_probe_rate"])) == {"a": "", "b": "U", "c": "B"}


def test_marks_are_those_of_the_comparison() -> None:
    draw = random.Random(2)
    values = {
        system: [draw.gauss(mean, 1) for _ in range(20)] for system, mean in (("a", 0), ("b", 1), ("c", 2.5))
    }
    view = three(values)
    table = results(view, metrics=["empathy"], test="t", against="a")
    assert table is not None
    for one in compare(view, metrics=["empathy"], reference="a", test="t").pairs:
        p = one.test.p_adjusted
        assert p is not None
        expected = "***" if p < 0.001 else "**" if p < 0.01 else "*" if p < 0.05 else ""
        assert marks(table)[one.a].strip("BU") == expected
    notes = " ".join(table.notes)
    for word in ("Against a", "paired t test, two-sided", "Holm", "of 2 tests"):
        assert word in notes


def test_two_systems_have_their_test_in_columns() -> None:
    """The published U and p of two groups of 1142 with 355 and 356 ones, as per cent.

    The first standard deviation is published as 46.31: that of the rounded share, 31.09.
    """
    ones = {"a": [1.0] * 355 + [0.0] * 787, "b": [1.0] * 356 + [0.0] * 786}
    rows = [(f"{s}{i}", s, None, "transcript", "diagnostic_accuracy_hard", "judge:m", 0, v, None, None, None)
            for s, given in ones.items() for i, v in enumerate(given)]  # fmt: skip
    table = results(
        RatingsView(frame_of(rows), {}, None, "r"),
        metrics=[{"metric": "diagnostic_accuracy_hard", "percent": True, "digits": 2}],
        test="mannwhitney",
    )
    assert table is not None
    assert [column.title for column in table.columns[1:]] == ["a", "b", "Statistic", "p", "p corrected"]
    assert [cell.text for cell in table.rows[0].cells[1:]] == [
        "31.09 (46.30)",
        "31.17 (46.34)",
        "651511",
        ".964",
        ".964",
    ]


def test_counts_of_transcripts_and_cases() -> None:
    table = results(three({"a": [1, 2, 3], "b": [1, 2]}), metrics=["empathy"], counts=True)
    assert table is not None
    assert [[cell.text for cell in line.cells] for line in table.rows[:2]] == [
        ["Transcripts", "3", "2"],
        ["Cases", "3", "2"],
    ]


def test_counts_of_columns_by_factor_and_system_name_both() -> None:
    view = three({"a": [1, 2, 3], "b": [1, 2]})
    levels = {name: "open" if name.endswith("0") else "closed" for name in view.ratings["transcript_id"]}
    factors = pl.DataFrame({"transcript_id": list(levels), "setting": list(levels.values())})
    table = results(
        replace(view, factors=factors), metrics=["empathy"], counts=True, columns=["setting", "system"]
    )
    assert table is not None
    counted = {
        (record["setting"], record["system"]): record["value"]
        for record in table.records
        if record["measure"] == "Transcripts"
    }
    assert counted == {("closed", "a"): 2, ("closed", "b"): 1, ("open", "a"): 1, ("open", "b"): 1}


def test_n_and_missing_stand_where_they_vary() -> None:
    rows = [row("a", 0, "empathy", "judge:m", 1.0), row("a", 1, "empathy", "judge:m", None),
            row("a", 0, "safety", "judge:m", 1.0), row("a", 1, "safety", "judge:m", 0.0)]  # fmt: skip
    table = results(RatingsView(frame_of(rows), {}, None, "r"), metrics=["empathy", "safety"])
    assert table is not None
    assert table.rows[0].cells[1].text == "1.00 n=1 of 2"
    assert "n = 2 transcripts unless a cell says otherwise." in table.notes


def test_what_is_not_there_is_said_with_its_command() -> None:
    table = results(
        three({"a": [1], "b": [2]}), metrics=["empathy", "fluency_flow", "smog.patient", "own_rubric"]
    )
    assert table is not None
    notes = " ".join(table.notes)
    assert "--judge MODEL --rubrics fluency_flow" in notes
    assert "--metrics smog" in notes
    assert "Nobody rated own_rubric" in notes
    assert results(three({"a": [1]}), metrics=["fluency_flow"]) is None


def test_a_factor_nobody_has_is_left_out_and_said() -> None:
    view = three({"a": [1, 2], "b": [2, 3]})
    table = results(view, metrics=["empathy"], rows=["setting", "system"], columns=["metric"])
    assert table is not None
    assert [line.cells[0].text for line in table.rows] == ["a", "b"]
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
    corpus = three({"people": [3, 4, 5]})
    view = RatingsView(three({"a": [1, 2], "b": [5, 5]}).ratings, {}, None, "r", reference=corpus)
    table = results(view, metrics=["empathy"], deviation=True)
    assert table is not None
    assert [cell.text for cell in table.rows[0].cells[1:]] == [
        "4.00",
        "1.50 (0.71)",
        "2.50",
        "5.00 (0.00)",
        "1.00",
    ]
    assert [(column.group, column.title) for column in table.columns[2:4]] == [
        ("a", "mean (standard deviation)"),
        ("a", "Δ"),
    ]
    without = results(three({"a": [1, 2], "b": [5, 5]}), metrics=["empathy"], deviation=True)
    assert without is not None
    assert any("--reference" in note for note in without.notes)


def test_labels_are_counted(tmp_path: Path) -> None:
    run = score([EXAMPLES / "transcripts.jsonl"], tmp_path / "run").run
    view = open_ratings_view(run.path)
    table = TABLES.load("counts").make(
        view, 0, CountsOptions.model_validate({"metrics": ["stage", "question"]})
    )
    assert table is not None
    ratings = run.ratings.to_dicts()
    for record in table.records:
        same = [
            r for r in ratings
            if r["metric"] == record["metric"] and r["system"] == record["system"] and r["label"] is not None
            and record["raters"] == ("people" if r["rater"].startswith("human:") else r["rater"])
        ]  # fmt: skip
        assert record["n"] == sum(r["label"] == record["label"] for r in same)
        assert record["share"] == pytest.approx(record["n"] / len(same))


def test_skewness_is_tested(tmp_path: Path) -> None:
    draw = np.random.default_rng(1)
    values = {"a": draw.exponential(size=30).tolist(), "b": draw.normal(size=30).tolist(), "c": [1.0, 2.0]}
    table = TABLES.load("distribution").make(
        three(values), 0, DistributionOptions.model_validate({"metrics": ["empathy"]})
    )
    assert table is not None
    for record in table.records:
        given = values[record["system"]]
        assert record["median"] == pytest.approx(statistics.median(given))
        if len(given) > 8:
            found = stats.skewtest(given)
            assert (record["statistic"], record["p"]) == pytest.approx((found.statistic, found.pvalue))
            assert record["skewness"] == pytest.approx(stats.skew(given))
        else:
            assert record["p"] is None
    assert table.records[0]["family_size"] == 2


def test_curves_keep_their_last_value() -> None:
    paths = {"a": [[0, 0.5, 1], [0.5]], "b": [[0, 0, 0, 0.5]]}
    rows = [row(system, case, "revealed_by_turn", "judge:m", float(value), unit=f"turn:{2 * position}")
            for system, given in paths.items() for case, path in enumerate(given)
            for position, value in enumerate(path)]  # fmt: skip
    rows.append(row("b", 1, "revealed_by_turn", "judge:m", None))
    options = CumulativeOptions.model_validate({"metrics": ["revealed_by_turn"], "turns": [1, 2, 3, 10]})
    table = TABLES.load("cumulative").make(RatingsView(frame_of(rows), {}, None, "r"), 0, options)
    assert table is not None
    found = {(r["system"], r["turn"]): r["value"] for r in table.records}
    assert found == {("a", 1): 0.25, ("a", 2): 0.5, ("a", 3): 0.75, ("a", 4): 0.75,
                     ("b", 1): 0, ("b", 2): 0, ("b", 3): 0, ("b", 4): 0.5}  # fmt: skip
    assert [line.cells[1].text for line in table.rows] == ["2", "1 of 2"]


STUDY = bedside.EXAMPLES / "study.csv"
SCALES = ("empathy=1-5", "safe=0,1")


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Tables[Comparisons]:
    out = tmp_path_factory.mktemp("table") / "run"
    return bedside.compare(
        bedside.score(bedside.EXAMPLES / "transcripts.jsonl", out, metrics="behaviour").run
    )


def test_they_are_gone_through_and_had_by_place_and_name(compared: Tables[Comparisons]) -> None:
    assert compared.names == ("overall", "comparison")
    assert [table.name for table in compared] == list(compared.names)
    assert len(compared) == 2
    assert compared[0] is compared["overall"]
    assert compared[-1] is compared["comparison"]
    assert compared[0:1] == (compared["overall"],)
    assert compared["comparison"] in list(compared)
    assert (
        repr(compared)
        == f"Tables(overall: {len(compared[0].rows)} rows, comparison: {len(compared[1].rows)} rows)"
    )
    with pytest.raises(IndexError):
        compared[2]
    with pytest.raises(bedside.BedsideError, match="no table is called 'comparisn'; did you mean comparison"):
        compared["comparisn"]


def test_they_have_nothing_by_accident_and_stay_as_they_are(compared: Tables[Comparisons]) -> None:
    assert {name for name in dir(compared) if not name.startswith("_")} == {
        "levels", "names", "results", "to_pandas", "to_polars",
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
    assert frame.rows() == [
        ("a", "x", 1, None, None),
        ("b", "1.5", None, 1, None),
        ("c", None, None, None, 1),
    ]
    assert Tables((), None).to_polars().height == 0


@pytest.mark.slow
def test_every_report_makes_one_frame(tmp_path: Path) -> None:
    run = bedside.score(bedside.EXAMPLES / "transcripts.jsonl", tmp_path / "run", suite="calm-it").run
    found = bedside.tables(run)
    assert found.to_polars().height == sum(len(table.records) for table in found) == len(found.to_pandas())


def test_the_tests_a_number_is_part_of_are_shown(tmp_path: Path) -> None:
    """Their cells are of the records that are shown, wherever these stood before."""
    run = bedside.score(bedside.EXAMPLES / "transcripts.jsonl", tmp_path / "run", metrics="behaviour").run
    whole = bedside.compare(run)["comparison"]
    tests = bedside.explain(run, "open_question_ratio@people/steady").tables["tests"]
    assert "<th" in tests._repr_html_()
    assert 0 < len(tests.records) < len(whole.records)
    for number, row in enumerate(tests.rows):
        assert {cell.record for cell in row.cells} <= {number, None}
        assert tests.records[number]["metric"] == "open_question_ratio"


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
