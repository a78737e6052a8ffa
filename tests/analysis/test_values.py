"""Bounds of means against every way to fill in what is missing, and by hand."""

from __future__ import annotations

import random
from collections import defaultdict
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st

from bedside.analysis.case_values import case_means, case_values
from bedside.analysis.checked_units import mean_within, value_bounds
from bedside.analysis.missing_bounds import missing_bounds, scale_ends
from bedside.analysis.ratings_view import RatingsView, open_ratings_view
from bedside.ratings.scales import Scale, parse_scale
from bedside.ratings.table import frame_of
from bedside.reports.contents import make_parts
from bedside.reports.tables import TABLES
from bedside.reports.tables.results import results_table
from bedside.scoring.score import score
from bedside.stats.intervals import mean_t
from tests.analysis.builders import definite, rating
from tests.analysis.ratings_rows import Row, view
from tests.conftest import conversation, exit_code

FIVE = Scale((1.0, 2.0, 3.0, 4.0, 5.0), True)
Rating = tuple[str, int, str, int, float | None]


def test_means_are_the_same_in_every_call() -> None:
    """Polars' own mean of a group depends on which thread adds first."""
    draw = np.random.default_rng(0)
    cases = [f"c{case}" for case in draw.integers(0, 300, 2000)]
    values = pl.DataFrame(
        {
            "system": "s", "case_id": cases, "transcript_id": [str(place) for place in range(2000)], "metric": "m",
            "group": "people", "value": draw.normal(size=2000), "error": pl.Series([None] * 2000, dtype=pl.String),
        }
    )  # fmt: skip
    once = case_means(values)
    own = dict(values.group_by("case_id").agg(pl.col("value")).iter_rows())
    assert once["value"].to_list() == pytest.approx([fmean(own[case]) for case in once["case"]])
    for _ in range(20):
        assert case_means(values).equals(once)
        assert case_means(values.sample(fraction=1, shuffle=True)).equals(once)


def view_of(*ratings: Rating, metric: str = "warmth", scale: Scale | None = FIVE) -> RatingsView:
    """Ratings of (system, case, rater, pass, value)."""
    rows = [
        (f"{system}{case}", system, f"c{case}", "transcript", metric, rater, replicate, value, None, None,
         None if value is not None else "no reply")
        for system, case, rater, replicate, value in ratings
    ]  # fmt: skip
    return RatingsView(frame_of(rows), {} if scale is None else {metric: scale}, None, "ratings")


def judged(system: str, *values: float | None) -> list[Rating]:
    return [(system, case, "judge:m", 0, value) for case, value in enumerate(values)]


def test_by_hand() -> None:
    view = view_of(*judged("A", 4, 5, 4, None), *judged("B", 3, 3, 4, 4))
    (bounds,) = missing_bounds(view).metrics
    assert (bounds.metric, bounds.raters, bounds.low, bounds.high) == ("warmth", "judge:m", 1, 5)
    a, b = bounds.systems
    assert a.mean == pytest.approx(13 / 3)
    assert (a.lowest, a.highest) == (14 / 4, 18 / 4)
    assert (a.ratings, a.missing, a.share_missing) == (4, 1, 0.25)
    assert (b.mean, b.lowest, b.highest, b.missing) == (3.5, 3.5, 3.5, 0)
    # Were A's missing value the worst, the two would tie: that turns nothing round.
    assert (a.swaps, b.swaps) == ((), ())
    (closer,) = missing_bounds(view_of(*judged("A", 4, 4, 4, None), *judged("B", 3, 3, 4, 4))).metrics
    assert [system.swaps for system in closer.systems] == [("B",), ("A",)]
    (tied,) = missing_bounds(view_of(*judged("A", 1, 1), *judged("B", 1, None))).metrics
    assert [system.swaps for system in tied.systems] == [("B",), ("A",)]


def test_a_system_without_values_could_stand_anywhere() -> None:
    (bounds,) = missing_bounds(view_of(*judged("A", None, None), *judged("B", 5, 5), *judged("C", 3, 3))).metrics
    a, b, c = bounds.systems
    assert (a.mean, a.lowest, a.highest) == (None, 1, 5)
    assert (a.swaps, b.swaps, c.swaps) == (("C",), (), ("A",))


def test_only_what_misses_something_and_has_ends() -> None:
    assert missing_bounds(view_of(*judged("A", 4, 5))).metrics == ()
    assert missing_bounds(view_of(*judged("A", None, None))).metrics == ()
    unknown = missing_bounds(view_of(*judged("A", 4, None), scale=None))
    assert (unknown.metrics, unknown.without_ends) == ((), ("warmth",))
    labels = Scale(("open", "closed"), False)
    assert missing_bounds(view_of(*judged("A", 4, None), scale=labels)).metrics == ()
    # A family states the range of a share; a grade level has no upper end; a rubric brings its scale when imported.
    view = view_of(*judged("A", 0.5, None), metric="history_f1", scale=None)
    assert scale_ends(view, "history_f1") == (0, 1)
    assert scale_ends(view, "history_questions") is None
    (bounds,) = missing_bounds(view).metrics
    assert (bounds.systems[0].lowest, bounds.systems[0].highest) == (0.25, 0.75)
    assert missing_bounds(view_of(*judged("A", 4, None), metric="history_questions", scale=None)).without_ends


@st.composite
def gappy(draw: st.DrawFn) -> list[Rating]:
    """People and a judge with passes, on up to three systems, with up to eight ratings missing."""
    source = random.Random(draw(st.integers(0, 10**6)))
    ratings: list[Rating] = []
    left = 8
    for system in "ABC"[: draw(st.integers(1, 3))]:
        for case in range(draw(st.integers(1, 3))):
            for rater, passes in (("human:x", 1), ("human:y", 1), ("judge:m", 2)):
                if source.random() < 0.2:
                    continue
                for replicate in range(passes):
                    lacks = left > 0 and source.random() < 0.3
                    left -= lacks
                    ratings.append((system, case, rater, replicate, None if lacks else float(source.randint(1, 5))))
    return ratings


def means(ratings: list[Rating], group: str) -> dict[str, float]:
    """The mean of each system: over passes, over raters, over transcripts; what is missing left out."""
    nested: dict[str, dict[int, dict[str, list[float]]]] = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for system, case, rater, _, value in ratings:
        if (rater.startswith("human")) == (group == "people") and value is not None:
            nested[system][case][rater].append(value)
    return {
        system: fmean(fmean(fmean(values) for values in raters.values()) for raters in cases.values())
        for system, cases in nested.items()
    }


@pytest.mark.slow
@given(gappy())
@settings(max_examples=60, deadline=None)
def test_bounds_hold_every_way_to_fill_in_what_is_missing(ratings: list[Rating]) -> None:
    groups = {bounds.raters: bounds for bounds in missing_bounds(view_of(*ratings)).metrics}
    for group in ("people", "judge:m"):
        own = [rating for rating in ratings if rating[2].startswith("human") == (group == "people")]
        gaps = [place for place, rating in enumerate(own) if rating[4] is None]
        if not gaps or len(gaps) == len(own):
            assert group not in groups
            continue
        filled = []
        for ends in product((1.0, 5.0), repeat=len(gaps)):
            whole = list(own)
            for place, end in zip(gaps, ends, strict=True):
                whole[place] = (*own[place][:4], end)
            filled.append(means(whole, group))
        reported = means(own, group)
        for system in groups[group].systems:
            name = system.system
            assert system.mean == (pytest.approx(reported[name]) if name in reported else None)
            assert system.lowest == pytest.approx(min(fill[name] for fill in filled))
            assert system.highest == pytest.approx(max(fill[name] for fill in filled))
            assert system.missing == sum(rating[0] == name and rating[4] is None for rating in own)
            for other in groups[group].systems:
                if other is system or system.mean is None or other.mean is None:
                    continue
                signs = {sign(fill[name] - fill[other.system]) for fill in filled}
                turned = -sign(reported[name] - reported[other.system])
                expected = turned in signs if turned else signs != {0}
                assert (other.system in system.swaps) == expected


def sign(difference: float) -> int:
    return 0 if abs(difference) < 1e-9 else (1 if difference > 0 else -1)


def table_of(view: RatingsView) -> Any:
    return TABLES.load("missing_bounds").make(view)


def test_the_table_shows_the_means_of_the_results() -> None:
    view = view_of(*judged("A", 4, 4, 4, None), *judged("B", 3, 3, 4, 4))
    table = table_of(view)
    results = definite(results_table(view, ["warmth"]))
    reported = {record["system"]: record["value"] for record in results.records if record.get("metric") == "warmth"}
    assert {record["system"]: record["mean"] for record in table.records} == reported
    assert [cell.text for cell in table.rows[0].cells] == ["A", "4.00", "25.0 % (1/4)", "3.25", "4.25", "B"]
    assert [cell.text for cell in table.rows[1].cells] == ["B", "3.50", "0", "3.50", "3.50", "A"]
    assert table_of(view_of(*judged("A", 4, 5))) is None


def test_worst_is_high_where_lower_is_better() -> None:
    view = view_of(*judged("A", 0.5, None), metric="factual_conflict_rate", scale=None)
    (record,) = table_of(view).records
    assert (record["worst"], record["best"]) == (0.75, 0.25)


def test_what_has_no_bounds_is_named() -> None:
    ratings = [
        *((f"A{case}", "A", None, "transcript", name, "judge:m", 0, value, None, None, (value is None and "x") or None)
          for name in ("history_f1", "history_questions") for case, value in enumerate((0.5, None))),
    ]  # fmt: skip
    table = table_of(RatingsView(frame_of(ratings), {}, None, "ratings"))
    assert {record["metric"] for record in table.records} == {"history_f1"}
    assert "Without bounds, as an end of the scale is open or not known: Questions." in table.notes


def test_a_report_has_them_and_they_can_be_asked_for_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    talks = [
        conversation(("patient", "x"), ("clinician", "y"), id=f"{system}{case}", system=system, case_id=f"c{case}")
        for system in "AB"
        for case in range(3)
    ]  # fmt: skip
    path = tmp_path / "talks.jsonl"
    path.write_bytes(b"".join(talk.to_json() + b"\n" for talk in talks))
    run = score([path], tmp_path / "run", metrics=["structure"]).run
    rows = [
        (f"{system}{case}", system, f"c{case}", "transcript", "empathy", "judge:m", 0, value, None, None,
         None if value is not None else "no reply")
        for system, values in (("A", (3.0, 4.0, None)), ("B", (3.0, 3.0, 4.0)))
        for case, value in enumerate(values)
    ]  # fmt: skip
    run.add(frame_of(rows).lazy(), run.manifest)
    parts = make_parts(open_ratings_view(run.path), figures=False)
    assert "missing_bounds" in [table.name for part in parts for table in part.tables]
    assert exit_code("report", run.path, "--table", "missing_bounds", "--json", "--out", tmp_path / "out") == 0
    capsys.readouterr()
    (written,) = (tmp_path / "out").glob("missing_bounds.csv")
    assert "empathy/A" in written.read_text("utf-8")


# -- one value a case and system -------------------------------------------------------------------------


RNG = np.random.default_rng(5)
#: Up to four transcripts a case and system, some without a value, some without a case.
ROWS: list[Row] = [
    (
        f"t{n}",
        str(RNG.choice(["A", "B"])),
        None if n % 11 == 0 else f"c{RNG.integers(12)}",
        "smog",
        "algorithm:r@1",
        None if n % 7 == 0 else float(RNG.normal()),
    )
    for n in range(70)
]


@pytest.mark.parametrize("system", ["A", "B"])
def test_a_case_has_the_mean_of_its_transcripts(system: str) -> None:
    by_case: dict[str, list[float | None]] = {}
    for transcript, of_system, case, *_, value in ROWS:
        if of_system == system:
            by_case.setdefault(case or f"\0{transcript}", []).append(value)
    present = {
        case: [value for value in values if value is not None]
        for case, values in by_case.items()
        if any(value is not None for value in values)
    }
    ours = case_values(view(ROWS).transcript_values(["smog"]), system)
    assert ours.cases == tuple(sorted(present))
    assert ours.values == pytest.approx([np.mean(present[case]) for case in sorted(present)])
    assert list(ours.transcripts) == [len(present[case]) for case in sorted(present)]
    assert ours.missing == sum(value is None for values in by_case.values() for value in values)
    assert ours.missing_cases == len(by_case) - len(present)
    assert ours.n_transcripts == sum(map(len, present.values()))
    assert not ours.is_single


def test_passes_and_people_of_a_transcript_count_once_whatever_their_number() -> None:
    rows: list[Row] = [
        ("x", "A", "1", "warmth", "human:anna", 1.0),
        ("x", "A", "1", "warmth", "human:ben", 2.0),
        ("x", "A", "1", "warmth", "human:cleo", 3.0),
        ("y", "A", "1", "warmth", "human:anna", 5.0),
    ]
    ours = case_values(view(rows).transcript_values(["warmth"]), "A")
    assert (ours.cases, list(ours.values), list(ours.transcripts)) == (("1",), [3.5], [2])


def test_transcripts_without_a_case_or_a_system_are_cases_of_their_own() -> None:
    rows: list[Row] = [(f"t{n}", None, None, "smog", "algorithm:r@1", float(n)) for n in range(4)]
    values = view(rows).transcript_values(["smog"])
    ours = case_values(values, None)
    assert (list(ours.values), ours.is_single) == ([0.0, 1.0, 2.0, 3.0], True)
    assert case_values(values, "A").n == 0
    some = ours.of((ours.cases[2], ours.cases[0]))
    assert (list(some.values), some.n) == ([2.0, 0.0], 2)


def test_all_metrics_and_systems_at_once_are_the_same_values() -> None:
    rows = [*ROWS, *((name, s, c, "pace", r, v) for name, s, c, _, r, v in ROWS)]
    values = view(rows).transcript_values(["smog", "pace"])
    together = case_means(values)
    for (system, metric), part in values.group_by("system", "metric"):
        alone = case_values(part, str(system))
        same = together.filter(system=system, metric=metric).drop_nulls("value")
        assert tuple(same["case"]) == alone.cases
        assert same["value"].to_numpy() == pytest.approx(alone.values, rel=1e-12)


# -- the ends of values ----------------------------------------------------------------------------------


def bounded_view(values: dict[str, list[float]], scales: dict[str, Scale] | None = None) -> RatingsView:
    rows: list[Any] = [
        rating(f"t{case}", "one", f"c{case}", metric, "human:anna", value)
        for metric, listed in values.items()
        for case, value in enumerate(listed)
    ]
    return RatingsView(frame_of(rows), scales or {}, None, "ratings")


def test_a_scale_says_where_values_end() -> None:
    scales = {
        "a": parse_scale("1-5"),
        "b": parse_scale("mild<moderate<severe"),
        "c": parse_scale("yes/no"),
        "d": parse_scale("none/open/closed"),
    }
    view = bounded_view({}, scales)
    assert [value_bounds(view, name) for name in "abcd"] == [(1, 5), (0, 2), (0, 1), (None, None)]


def test_else_the_metrics_family_says_it() -> None:
    view = bounded_view({"turns": [1, 0, 1]})
    assert value_bounds(view, "reveal_rate") == (0, 1)
    assert value_bounds(view, "turns")[1] is None, "zeros and ones alone don't make a count a share"
    assert value_bounds(view, "flesch_reading_ease.clinician") == (None, None)
    assert value_bounds(view, "percent_open_questions") == (0, 100)


def test_of_an_unknown_metric_zeros_and_ones_alone_are_shares() -> None:
    view = bounded_view({"solved": [0, 1, 1], "points": [0, 1, 2]})
    assert value_bounds(view, "solved") == (0, 1)
    assert value_bounds(view, "points") == (None, None)


def test_values_beyond_the_ends_have_students_interval() -> None:
    values = np.array([0.5, 0.9, 1.2])
    assert mean_within(values, (0, 1)).interval == mean_t(values).interval
    within = definite(mean_within(values, (0, 1), linearised=True).interval)
    assert 0 < within.low < values.mean() < within.high < 1
    cut = definite(mean_within(np.array([0.0, 0.1, 3.0]), (0, None)).interval)
    assert cut.low == 0
    assert mean_within(np.array([]), (0, 1)).missing == "no values"
    assert mean_within(values, (None, None)).estimate == pytest.approx(2.6 / 3)
