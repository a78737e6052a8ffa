"""Tables as the sources of suites printed them: rows, columns, order, digits, marks; and the sources' own numbers."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

import bedside
from bedside.analysis.comparison import compare
from bedside.analysis.ratings_view import RatingsView, open_ratings_view
from bedside.analysis.study_parts import StudyOrder, study_order
from bedside.core.errors import BedsideError
from bedside.ratings.scales import Scale
from bedside.ratings.suites import SUITES
from bedside.ratings.suites.published_numbers import PublishedNumber, published_numbers
from bedside.ratings.suites.suite import Suite
from bedside.reports.contents import check_suite, make_parts, make_tables
from bedside.reports.renderers.latex import latex
from bedside.reports.renderers.records import json_text
from bedside.reports.report_settings import ReportSettings
from bedside.reports.table import Table
from bedside.stats.kappa_bands import reading
from bedside.transcripts.transcript import Transcript, Turn
from replications.multisense import conversations
from tests.conftest import Call, conversation
from tests.reports.builders import (
    PROTOCOLS,
    Rating,
    cells_by_title,
    cells_of,
    file_of,
    full_table,
    made_run,
    rated,
    rating,
    scored,
    titles_of,
    view_of,
    with_rows,
)

DATA = Path(__file__).parents[3] / "shared" / "data"
DOCS = Path(__file__).parents[2] / "docs" / "suites"
PRINTED = ReportSettings(as_published=True, published_numbers=True)
PLAIN = ReportSettings(as_published=True)
JUDGE = "judge:m"
results = partial(full_table, "results")


def ratings_view(*ratings: list[Rating], **more: Any) -> RatingsView:
    return view_of((row for rows in ratings for row in rows), **more)


def suite_of(**more: Any) -> Suite:
    head = {"name": "own", "title": "Own", "description": "x", "source": "x", "metrics": ["structure"]}
    return Suite.model_validate({**head, **more})


# -- order and labels ---------------------------------------------------------------------------------


def test_systems_and_levels_stand_as_a_suite_lists_them_and_the_others_after() -> None:
    levels = {"literacy": ["low", "high"], "stage": {"b": "First", "a": "Then"}}
    suite = suite_of(systems={"z": "Zeta", "m": "Mu"}, levels=levels)
    order = study_order([suite])
    assert order.ordered_systems(["a", "m", "b", "z"]) == ["z", "m", "a", "b"]
    ordered = order.ordered_levels("literacy", ["high", "none given", "middle", "low"])
    assert ordered == ["low", "high", "middle", "none given"]
    assert order.ordered_levels("length", ["100", "30"]) == ["30", "100"]
    assert (order.system_label("z"), order.system_label("a")) == ("Zeta", "a")
    assert order.level_label("stage", "b") == "First"
    assert study_order([suite, suite_of(systems=["q"])]).systems == suite.systems
    with pytest.raises(ValueError, match="'a' is listed twice"):
        suite_of(systems=["a", "b", "a"])


def test_tables_and_the_direction_of_tests_follow_the_order() -> None:
    ratings = [rated(system, case, empathy=case + place) for place, system in enumerate("azm") for case in range(4)]
    view = ratings_view(*ratings, order=StudyOrder({"z": "Zeta", "m": "Mu"}))
    table = results(view, metrics=["empathy"])
    assert titles_of(table) == ["Metric", "Zeta", "Mu", "a"]
    assert {record["system"] for record in table.records} == {"a", "m", "z"}, "records keep the names"
    compared = full_table("comparison", view)
    assert list(cells_by_title(compared)) == ["Zeta − Mu", "Zeta − a", "Mu − a"]
    differences = [(record["a"], record["b"], record["difference"]) for record in compared.records]
    assert differences == [("z", "m", -1), ("z", "a", 1), ("m", "a", 2)]


def test_a_run_is_read_in_the_order_of_its_suite(tmp_path: Path) -> None:
    suite = tmp_path / "own.yaml"
    suite.write_text(
        "name: own\ntitle: Own\ndescription: x\nsource: x\nmetrics: [structure]\n"
        "systems: {steady: A steady one, brisk: A brisk one}\n"
        "tables:\n  - {id: talk, kind: results, metrics: [turns]}\n",
        "utf-8",
    )
    view = open_ratings_view(scored(tmp_path, suite=str(suite)).path)
    assert view.systems() == ["steady", "brisk", "careless"]
    (table,) = make_tables(view, ["talk"])
    assert titles_of(table)[1:] == ["A steady one", "A brisk one", "careless"]


# -- measures -----------------------------------------------------------------------------------------

BOTH = {
    "metric": "self_consistency", "title": "Both", "digits": 4,
    "mean": ["self_consistency.clinician", "self_consistency.patient"],
}  # fmt: skip
DISTANCE = {**BOTH, "title": "Δ", "deviation": True}


def two_roles(seed: int, systems: str = "ab") -> tuple[RatingsView, dict[str, np.ndarray[Any, Any]]]:
    draw = np.random.default_rng(seed)
    drawn = {system: draw.random((6, 2)) for system in systems}
    drawn[systems[0]][2, 1] = np.nan
    ratings = [
        rated(system, case, self_consistency__clinician=float(clinician),
              self_consistency__patient=None if np.isnan(patient) else float(patient))
        for system, values in drawn.items()
        for case, (clinician, patient) in enumerate(values)
    ]  # fmt: skip
    return ratings_view(*ratings), drawn


def test_a_mean_of_metrics_is_taken_within_each_transcript_that_has_all() -> None:
    view, drawn = two_roles(1)
    table = results(view, metrics=[BOTH])
    for system, record in zip("ab", table.records, strict=True):
        whole = drawn[system].mean(axis=1)
        whole = whole[~np.isnan(whole)]
        assert record["n"] == len(whole)
        assert (record["value"], record["sd"]) == pytest.approx((whole.mean(), whole.std(ddof=1)))
    assert table.records[0]["missing"] == 1


def test_a_mean_of_means_is_that_of_the_columns_whatever_their_n() -> None:
    """Means 0.5 of three and 0.9 of one: 0.7, where within transcripts that have both it is 0.5."""
    rows = [rated("a", 0, empathy=0.1, partnership=0.9), rated("a", 1, empathy=0.6), rated("a", 2, empathy=0.8)]
    view = ratings_view(*rows, rated("b", 0, empathy=1.0))
    metrics = [{"metric": "average", "mean": ["empathy", "partnership"], "of_means": of_means, "title": title}
               for title, of_means in (("apart", True), ("within", False))]  # fmt: skip
    table = results(view, metrics=metrics)
    values = {r["measure"]: (round(r["value"], 9), r["n"]) for r in table.records if r["system"] == "a"}
    assert values == {"apart": (0.7, 3), "within": (0.5, 1)}
    assert cells_by_title(table)["apart"][1] == "–", "b has no partnership"
    halves = pl.DataFrame({"transcript_id": ["a-0", "a-1", "a-2", "b-0"], "half": ["x", "y", "y", "y"]})
    contrast = {"title": "half", "factor": "half", "level": "y", "base": "x"}
    changes = full_table(
        "changes", replace(view, factors=halves), metrics=[{**metrics[0], "mean": ["empathy"]}], contrasts=[contrast]
    )
    assert changes.records[0]["change_percent"] == pytest.approx(100 * (0.7 / 0.1 - 1))
    with pytest.raises(ValueError, match="name these"):
        results(view, metrics=[{"metric": "empathy", "of_means": True}])


def test_a_distance_from_the_corpus_is_that_of_the_means_and_the_least_is_bold() -> None:
    view, drawn = two_roles(2)
    corpus, other = two_roles(3, systems="r")
    metrics = [{**BOTH, "direction": "reference"}, DISTANCE]
    view = replace(view, reference=corpus)
    table = results(view, metrics=metrics, best="always", spread="none", reference="AnnoMI", n=False)
    reference = np.nanmean(other["r"].mean(axis=1))
    distances = {system: abs(np.nanmean(values.mean(axis=1)) - reference) for system, values in drawn.items()}
    by_measure = {(record["measure"], record["system"]): record for record in table.records}
    for system, distance in distances.items():
        assert by_measure["Δ", system]["value"] == pytest.approx(distance)
        assert by_measure["Both", system]["reference"] == pytest.approx(reference)
    least = min(distances, key=lambda system: distances[system])
    for row in table.rows:
        assert [cell.bold for cell in row.cells[1:3]] == [system == least for system in "ab"]
    assert table.rows[0].cells[0].text == "Both", "no arrow where neither way is meant"
    assert table.rows[0].cells[-1].text == f"{reference:.4f}"


def test_without_a_corpus_a_distance_says_what_brings_one() -> None:
    table = results(two_roles(2)[0], metrics=[BOTH, DISTANCE])
    assert list(cells_by_title(table)) == ["Both"]
    assert any("Δ" in note and "bedside report RUN --reference RUN2" in note for note in table.notes)


def test_a_difference_from_a_system_is_signed_and_the_system_has_none() -> None:
    systems = (("base", 3.0), ("up", 4.25), ("down", 2.5))
    view = ratings_view(*(rated(name, case, empathy=value) for name, value in systems for case in range(3)))
    measure = {"metric": "empathy", "title": "Δ", "minus": "base", "digits": 2}
    assert cells_by_title(results(view, metrics=[measure], n=False)) == {"Δ ↑": ["–", "−0.50", "+1.25"]}


@pytest.mark.parametrize(
    ("value", "text"), [(0.03, "0.03"), (0.081, "0.081"), (100.0, "100"), (0.0, "0"), (10.5, "10.5")]
)
def test_zeros_at_the_end_are_left_out_where_a_suite_says_so(value: float, text: str) -> None:
    measure = {"metric": "empathy", "digits": 3, "trim": True}
    table = results(ratings_view(rated("a", 0, empathy=value)), metrics=[measure], spread="none")
    assert table.rows[0].cells[1].text == text


def test_of_several_raters_the_preferred_one_with_values_is_shown() -> None:
    view = ratings_view(
        rated("a", 0, JUDGE, empathy=2.0, partnership=None), rated("a", 0, "human:x", empathy=4.0, partnership=3.0)
    )
    options: dict[str, Any] = {"metrics": ["empathy", "partnership"], "spread": "none"}
    for raters, empathy in ((["judge:*", "people"], "2.00"), (["people", "judge:*"], "4.00")):
        shown = cells_by_title(results(view, **options, raters=raters))
        assert shown == {"Empathy ↑": [empathy], "Partnership ↑": ["3.00"]}
    assert len(results(view, **options).rows) == 3


def test_the_first_key_of_a_block_stands_once_and_the_best_is_sought_over_what_is_named() -> None:
    values = {("x", "8"): 1.0, ("x", "20"): 4.0, ("y", "8"): 2.0, ("y", "20"): 3.0}
    view = view_of(
        (rating("-".join(key), key[0], "c", "empathy", value) for key, value in values.items()),
        pl.DataFrame({"transcript_id": map("-".join, values), "setting": [level for _, level in values]}),
        order=StudyOrder({}, {"setting": {"8": "8-turn", "20": "long"}}),
    )
    options: dict[str, Any] = {
        "metrics": ["empathy"], "rows": ["system", "setting"], "columns": ["metric"], "key_columns": 2,
        "names": {"system": "Model"}, "spread": "none", "best": "always", "n": False,
    }  # fmt: skip
    table = results(view, **options, best_among=["system", "setting"])
    assert titles_of(table) == ["Model", "Setting", "Empathy ↑"]
    assert cells_of(table) == [
        ["x", "8-turn", "1.00"], ["", "long", "4.00"], ["y", "8-turn", "2.00"], ["", "long", "3.00"],
    ]  # fmt: skip
    assert [row.cells[2].bold for row in table.rows] == [False, True, False, False]
    assert [row.cells[2].bold for row in results(view, **options).rows] == [False, True, True, False]


# -- the sources' numbers -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("suite", "counts"),
    [
        ("calm-it", {"Table 2": 68, "Table A1": 36, "Table A15": 10, "Table A16": 60}),
        ("note2chat", {"Table 1": 82, "Table 2": 62, "Table 3": 4}),
        ("mdd5k", {"Table 1": 21, "Table 2": 28}),
        ("multisense", {"Table 1": 14, "Table 2": 140}),
        ("medconceal", {"Table 1": 96, "Table 2": 77, "Table 3": 55, "Table 4": 77, "Table 6": 12}),
    ],
)
def test_all_numbers_of_a_table_are_there_once(suite: str, counts: dict[str, int]) -> None:
    numbers = published_numbers(suite)
    by_place = Counter(number.place for number in numbers)
    assert {place: by_place[place] for place in counts} == counts
    assert len({(n.place, n.measure, n.system, n.levels) for n in numbers}) == len(numbers)
    assert all(np.isfinite(number.value) for number in numbers)


def number(suite: str, place: str, measure: str, system: str, *levels: str) -> float:
    key = (place, measure, system, levels)
    (value,) = (n.value for n in published_numbers(suite) if (n.place, n.measure, n.system, n.levels) == key)
    return value


def test_the_numbers_agree_among_themselves_where_their_sources_say_they_do() -> None:
    """MedConceal: F1 of precision and recall; Note2Chat: Avg. of six columns; CALM-IT: tables 2 and A16."""
    lines = {(n.system, n.levels) for n in published_numbers("medconceal") if n.place == "Table 1"}
    for (system, levels), kind in product(lines, ("Coarse", "Fine")):
        p, r, f1 = (number("medconceal", "Table 1", f"{kind} {what}", system, *levels) for what in ("P", "R", "F1"))
        assert f1 == pytest.approx(2 * p * r / (p + r), abs=0.0016)
    for average in (n for n in published_numbers("note2chat") if n.measure == "Avg."):
        columns = [number("note2chat", "Table 2", measure, average.system, *average.levels) for measure in IN_PERCENT]
        assert average.value == pytest.approx(np.mean(columns), abs=0.051)
    again = {(n.measure.replace("Softening", "Soften"), n.system): n.value for n in published_numbers("calm-it")
             if n.place == "Table 2"}  # fmt: skip
    shared = [n for n in published_numbers("calm-it") if n.place == "Table A16" and n.system != "AnnoMI"]
    assert len(shared) == 48
    assert all(again[n.measure, n.system] == n.value for n in shared)


def test_bounds_are_printed_as_bounds_and_standard_deviations_beside_means() -> None:
    numbers = [number for suite in PROTOCOLS for number in published_numbers(suite)]
    assert [number.printed for number in numbers if number.measure == "Illness" and number.bound] == [">25"]
    below = [number for number in numbers if number.bound == "<"]
    assert {number.text for number in below} == {"0.001", "0.05", "0.0001"}
    assert all(str(number).endswith(f"< {number.text}") for number in below)
    assert {number.printed for number in numbers if number.sd} >= {"2.45 (0.63)"}
    negative = PublishedNumber("p", "Table 1", "F1", "A", ("MT",), "-0.5", "", "%", "")
    assert (str(negative), negative.value) == ("F1, A, MT −0.5", -0.5)


def as_printed(
    suite: str, place: str, metrics: dict[str, str], scale: dict[str, float] | None = None, level: str | None = None
) -> RatingsView:
    """One transcript for each line of a printed table, whose values are the printed ones."""
    by_line: dict[tuple[str, tuple[str, ...]], dict[str, float]] = {}
    for n in published_numbers(suite):
        if n.place == place and n.measure in metrics:
            value = n.value / (scale or {}).get(n.measure, 1.0)
            by_line.setdefault((n.system, n.levels), {})[metrics[n.measure]] = value
    rows, factors = [], []
    for line, ((system, levels), values) in enumerate(by_line.items()):
        factors.append({"transcript_id": f"t{line}", **({level: levels[0]} if level else {})})
        rows += [rating(f"t{line}", system, "c", metric, value) for metric, value in values.items()]
    return view_of(rows, pl.DataFrame(factors) if level else None, order=study_order([SUITES.load(suite)]))


def printed_table(view: RatingsView, suite: str, name: str) -> Table:
    (table,) = make_tables(view, [name], suite=SUITES.load(suite), settings=PRINTED)
    return table


def count_same(table: Table) -> int:
    """Check that each number of ours is printed as the source printed it; how many there are."""
    pairs = [both for texts in cells_of(table) for text in texts if (both := re.fullmatch(r"(\S+) \{(\S+)\}", text))]
    assert [both[1].lstrip("+") for both in pairs] == [both[2] for both in pairs]
    return len(pairs)


NOTE2CHAT = {
    "F1": "history_f1_by_messages", "Recall": "history_recall", "Precision": "history_precision_by_messages",
    "Top-1": "diagnosis_top_1", "Top-2": "diagnosis_top_2", "Top-3": "diagnosis_top_3", "#Turn": "turns",
}  # fmt: skip
IN_PERCENT = dict.fromkeys(("F1", "Recall", "Precision", "Top-1", "Top-2", "Top-3"), 100.0)


def test_note2chats_first_table_is_printed_digit_by_digit() -> None:
    table = printed_table(as_printed("note2chat", "Table 1", NOTE2CHAT, IN_PERCENT), "note2chat", "models")
    assert titles_of(table) == ["Model", *NOTE2CHAT]
    assert list(cells_by_title(table))[:3] == ["GPT-4o", "o4-mini", "Gemini-2.5-flash"]
    # One of the 82 has two decimals in print: #Turn of HuatuoGPT-o1-8B.
    texts = [cell.text for row in table.rows for cell in row.cells]
    assert texts.count("2.0 {2.02}") == 1
    assert len([text for text in texts if re.fullmatch(r"(\S+) \{\1\}", text)]) == 81
    bold = {row.cells[0].text: [cell.bold for cell in row.cells[1:]] for row in table.rows}
    assert bold["Note2Chat-ST"] == [True, False, True, True, True, True, False]
    assert bold["Note2Chat-MT"] == [False, True, False, False, False, False, False]
    assert "Table 1 of Zhou et al." in table.title


def test_note2chats_averages_and_differences_come_out_as_printed() -> None:
    view = as_printed("note2chat", "Table 2", NOTE2CHAT, IN_PERCENT, level="mode")
    table = printed_table(view, "note2chat", "ablation")
    assert titles_of(table) == ["Mode", "Model", *IN_PERCENT, "Avg.", "Δ", "#Turn"]
    assert [tuple(texts[:2]) for texts in cells_of(table)] == [
        ("MT", "Qwen2.5-7B-Instruct"), ("", "+SFT"), ("", "+SFT+Self-Aug"), ("", "+SFT+Self-Aug+DPO"),
        ("ST", "+SFT"), ("", "+SFT+Self-Aug"), ("", "+SFT+Self-Aug+DPO"),
    ]  # fmt: skip
    assert table.rows[0].cells[9].text == "–", "the base has no difference"
    for row in table.rows:
        for cell in row.cells[2:]:
            both = re.fullmatch(r"\+?(\S+) \{(\S+)\}", cell.text)
            # The source took its averages before it rounded.
            assert cell.text == "–" or (both and abs(float(both[1]) - float(both[2])) < 0.11), cell.text
    assert not any("stand nowhere" in note for note in table.notes)


CALM_IT = {
    "Client Readability": "dale_chall.patient", "Reflection Quality": "reflection_quality",
    "Question Quality": "question_quality", "Therapist Readability": "dale_chall.clinician",
    "Consistency": "client_consistency", "Cultivating Change Talk": "cultivating_change_talk",
    "Softening Sustain Talk": "softening_sustain_talk", "Empathy": "empathy", "Partnership": "partnership",
    "Reflection-Question Ratio": "reflection_to_question_ratio", "% Open Question": "percent_open_questions",
    "Effectiveness": "effectiveness", "Realignment": "realignment", "Goal Alignment": "goal_alignment",
}  # fmt: skip


def test_calm_its_second_table_is_printed_digit_by_digit() -> None:
    table = printed_table(as_printed("calm-it", "Table 2", CALM_IT), "calm-it", "quality")
    assert titles_of(table) == ["Metric", "KMI", "CI-NC", "C+S", "CI"]
    titles = list(cells_by_title(table))
    assert [title.removesuffix(" ↓") for title in titles] == list(CALM_IT)
    assert count_same(table) == 14 * 4
    assert [title for title in titles if "↓" in title] == ["Client Readability ↓", "Therapist Readability ↓"]
    # KMI leads change talk and the ratio, as the layout's contradictions say.
    leads = {row.cells[0].text: [cell.bold for cell in row.cells[1:]].index(True) for row in table.rows}
    assert leads["Cultivating Change Talk"] == leads["Reflection-Question Ratio"] == 0
    assert leads["Client Readability ↓"] == leads["Goal Alignment"] == 3
    assert any(note.startswith("12 of 68 printed numbers") for note in table.notes)
    assert any("7.22 and 6.65" in note for note in table.notes), "the gap of Dale–Chall is named"


ROLES = ("clinician", "patient")
DISTANCES = {"Δ_Ref Directionality": "flow_score", "Δ_Ref Avg. Self-Consist.": "self_consistency",
             "Δ_Ref Avg. Entail.": "entailment"}  # fmt: skip


def test_calm_its_distances_are_those_from_the_corpus_digit_by_digit() -> None:
    """Printed distances to either side of the corpus' mean; three decimals without zeros at the end."""
    corpus = ratings_view(*(rated("AnnoMI", 0, "judge:m", **{f"{name}__{role}": 2.0 for name in DISTANCES.values()})
                            for role in ROLES))  # fmt: skip
    sides = dict(zip(DISTANCES, (1, -1, 1), strict=True))
    rows = [
        rating(f"t-{n.system}", n.system, "c", f"{DISTANCES[n.measure]}.{role}", 2.0 + sides[n.measure] * n.value)
        for n in published_numbers("calm-it") if n.place == "Table 2" and n.measure in DISTANCES
        for role in ROLES
    ]  # fmt: skip
    view = view_of(rows, order=study_order([SUITES.load("calm-it")]), reference=corpus)
    table = printed_table(view, "calm-it", "quality")
    assert count_same(table) == 12
    assert cells_by_title(table)["Δ_Ref Directionality ↓"] == ["0.081 {0.081}", "0.03 {0.03}", "0.048 {0.048}",
                                                               "0.005 {0.005}"]  # fmt: skip
    least = {row.cells[0].text: [cell.bold for cell in row.cells[1:]].index(True) for row in table.rows}
    assert least["Δ_Ref Avg. Self-Consist. ↓"] == 2, "C+S leads there"


def test_calm_its_corpus_stands_beside_the_systems_digit_by_digit() -> None:
    metrics = {title.replace("Softening", "Soften"): metric for title, metric in CALM_IT.items()}
    view = as_printed("calm-it", "Table A16", metrics)
    own = pl.col("system") == "AnnoMI"
    corpus = replace(view, ratings=view.ratings.filter(own))
    view = replace(view, ratings=view.ratings.filter(~own), reference=corpus)
    table = printed_table(view, "calm-it", "corpus")
    assert titles_of(table) == ["Metric", "KMI", "CI-NC", "C+S", "CI", "AnnoMI"]
    assert count_same(table) == 60
    shown = [title for title in metrics if title not in ("Reflection-Question Ratio", "% Open Question")]
    assert [title.removesuffix(" ↓") for title in cells_by_title(table)] == shown


def test_calm_its_lengths_are_printed_digit_by_digit() -> None:
    metrics = {"Avg. Client Len.": "words_per_turn.patient", "Avg. Therapist Len.": "words_per_turn.clinician",
               "Completion Rate (%)": "completed"}  # fmt: skip
    view = as_printed("calm-it", "Table A1", metrics, {"Completion Rate (%)": 100.0}, level="target_length")
    table = printed_table(view, "calm-it", "lengths")
    assert titles_of(table) == ["Framework", "Target length", *metrics]
    assert [texts[:2] for texts in cells_of(table)[:4]] == [["KMI", "30"], ["", "50"], ["", "100"], ["CI-NC", "30"]]
    assert count_same(table) == 36


def test_calm_its_agreement_is_read_as_the_paper_reads_it() -> None:
    numbers = [n for n in published_numbers("calm-it") if n.place == "Table A15"]
    assert {n.measure: f"printed label: {(reading(n.value) or '').capitalize()}" for n in numbers} == {
        n.measure: n.note for n in numbers
    }
    measures = SUITES.load("calm-it").as_published.tables[3].options()["metrics"]
    assert [measure["title"] for measure in measures] == [n.measure for n in numbers]
    # κ by hand: 3 of 4 agree, chance is half: (0.75 − 0.5) / 0.5.
    rows = [
        rated("CI", case, rater, empathy=value)
        for rater, own in ((JUDGE, (1, 1, 5, 5)), ("human:x", (1, 1, 5, 1)))
        for case, value in enumerate(own)
    ]
    view = ratings_view(*rows, scales={"empathy": Scale((1, 2, 3, 4, 5), True)})
    table = full_table("judge_agreement", view, metrics=[measures[3]], heading="Human-LLM κ_w")
    assert cells_of(table) == [["Empathy", "0.5", "Moderate"]]
    # One of four is off by a level; by chance they were 1.625 apart, 4.5 squared: 1 − 0.25 / 1.625 and 1 − 0.25 / 4.5.
    rows = [
        rated("CI", case, rater, empathy=value)
        for rater, own in ((JUDGE, (1, 2, 2, 5)), ("human:x", (1, 2, 3, 5)))
        for case, value in enumerate(own)
    ]
    view = ratings_view(*rows, scales={"empathy": Scale((1, 2, 3, 4, 5), True)})
    kappas = {name: cells_of(published(view, "calm-it", name))[0][1] for name in ("judge", "judge-linear")}
    assert kappas == {"judge": "0.944", "judge-linear": "0.846"}


def test_calm_its_relative_changes_stand_beside_wilcoxons_p() -> None:
    """CI against each other system, CI first: 4.45 over 4.27, 2.86 and 1.19."""
    spread = np.linspace(-0.4, 0.4, 12)
    means = {"KMI": 4.27, "CI-NC": 2.86, "C+S": 1.19, "CI": 4.45}
    values = {name: mean + spread[:: 1 if name == "CI" else -1] for name, mean in means.items()}
    view = ratings_view(*(rated(name, case, effectiveness=float(value)) for name, own in values.items()
                          for case, value in enumerate(own)), order=study_order([SUITES.load("calm-it")]))  # fmt: skip
    table = published(view, "calm-it", "tests", PRINTED)
    assert titles_of(table)[4] == "CI over it, %"
    # As the paper has it: CI first in differences, too.
    assert [record["a"] for record in table.records] == ["CI"] * 3
    assert [record["difference"] for record in table.records] == pytest.approx([0.18, 1.59, 3.26])
    (note,) = (note for note in table.notes if note.startswith("As printed in the text of Nguyen et al."))
    assert "Effectiveness, CI over C+S, relative change 273.95" in note
    assert (note.count("< 0.001"), note.count("relative change")) == (9, 3)
    assert "Redirection ratio" not in note
    assert {record["b"]: f"{record['relative_change']:.2f}" for record in table.records} == {
        "KMI": "4.22", "CI-NC": "55.59", "C+S": "273.95"
    }  # fmt: skip
    ps = [stats.wilcoxon(values["CI"] - values[name], zero_method="pratt", method="exact").pvalue
          for name in ("KMI", "CI-NC", "C+S")]  # fmt: skip
    assert [record["p"] for record in table.records] == pytest.approx(ps)
    assert [record["p_corrected"] for record in table.records] == pytest.approx(multipletests(ps, method="holm")[1])


def test_calm_its_skewness_is_over_clients() -> None:
    """Three sessions a client: skewness and z are those of the clients' means, by scipy, in points of per cent."""
    drawn = np.random.default_rng(4).gamma(2.0, 0.05, (20, 3))
    rows = [rating(f"{case}-{place}", "CI", f"c{case}", "delta_sustain_talk", float(value))
            for case, own in enumerate(drawn) for place, value in enumerate(own)]  # fmt: skip
    table = published(view_of(rows), "calm-it", "skewness")
    means = 100 * drawn.mean(axis=1)
    test = stats.skewtest(means)
    (texts,) = cells_of(table)
    assert texts[:3] == ["CI", "20", f"{means.mean():.3f}"]
    assert texts[7:9] == [f"{value:.3f}".replace("-", "−") for value in (stats.skew(means), test.statistic)]
    assert table.records[0]["p"] == pytest.approx(test.pvalue)
    rows = [(name, system, None, *rest) for name, system, _, *rest in rows]
    assert "n: transcripts, as none names its case." in published(view_of(rows), "calm-it", "skewness").notes


# -- whose definition a number follows ----------------------------------------------------------------


def test_a_number_says_whose_definition_it_follows_below_the_table_and_in_json() -> None:
    table = printed_table(as_printed("note2chat", "Table 1", NOTE2CHAT, IN_PERCENT), "note2chat", "models")
    followed = {record["metric"]: record["definition"] for record in table.records}
    assert [name for name, whose in followed.items() if whose == "paper"] == [f"diagnosis_top_{k}" for k in (1, 2, 3)]
    assert followed["history_precision_by_messages"] == "authors' code"
    assert "Defined as in the paper: Top-1, Top-2, Top-3; the rest as in the authors' code." in table.notes
    table = printed_table(as_printed("calm-it", "Table 2", CALM_IT), "calm-it", "quality")
    assert "Defined by us: Client Readability, Therapist Readability; the rest as in the paper." in table.notes
    assert json.loads(json_text(table))["rows"][0]["definition"] == "ours"


def test_a_ratio_of_sums_and_a_mean_of_one_metric_can_follow_two_definitions() -> None:
    ratio = {"metric": "history_recall", "sum": ["elicited_findings"], "over": ["counted_findings"], "title": "All"}
    suite = suite_of(as_published={"tables": [
        {"id": "one", "kind": "results", "definition": "ours",
         "metrics": [{"metric": "history_recall", "title": "Mean", "definition": "authors' code"}, ratio]}
    ]})  # fmt: skip
    view = ratings_view(rated("a", 0, history_recall=0.5, elicited_findings=1.0, counted_findings=2.0))
    (table,) = make_tables(view, ["one"], suite=suite.printed(), settings=PLAIN)
    assert [(record["level"], record["definition"]) for record in table.records] == [
        ("mean", "authors' code"), ("micro", "ours")
    ]  # fmt: skip
    assert "Defined by us: All; the rest as in the authors' code." in table.notes
    with pytest.raises(ValueError, match="definition"):
        suite_of(as_published={"tables": [{"id": "one", "kind": "results", "definition": "theirs"}]})


def test_measures_of_one_title_are_told_apart_by_their_headings() -> None:
    view = ratings_view(rated("a", 0, history_recall=0.5, history_f1=0.5, elicited_findings=1.0, counted_findings=2.0,
                              history_questions=2.0))  # fmt: skip
    notes = published(view, "note2chat", "recall-readings").notes
    assert "Defined as in the authors' code: Recall (Mean of cases); as in the paper: F1 (Mean of cases); the rest " \
        "by us." in notes  # fmt: skip
    assert {note.partition(":")[0] for note in notes} >= {"F1 (Mean of cases)", "F1 (All cases together)"}


def test_a_number_of_the_source_alone_has_no_definition_of_ours(tmp_path: Path) -> None:
    path = file_of(tmp_path, conversation(("clinician", "你好吗？"), ("patient", "不好。"), id="a", system="D4"))
    view = open_ratings_view(scored(tmp_path, path, suite="mdd5k").path)
    records = printed_table(view, "mdd5k", "dataset").records
    assert {r.get("definition") for r in records if r["value"] is None and "published" in r} == {None}
    assert {r["definition"] for r in records if r["system"] == "D4" and r["value"] is not None} == {"paper", "ours"}


@pytest.mark.parametrize("name", PROTOCOLS)
def test_every_table_and_figure_of_a_source_says_whose_definition_it_follows(name: str) -> None:
    published = SUITES.load(name).as_published
    undeclared = {entry.paper for entry in (*published.tables, *published.figures) if entry.definition is None}
    # Their notes say how these are defined.
    assert not undeclared


def test_mdd5ks_ratings_are_printed_digit_by_digit() -> None:
    metrics = {"Professionalism": "professionalism", "Communication (i)": "communication_doctor",
               "Communication (ii)": "communication_patient", "Fluency (i)": "fluency_flow",
               "Fluency (ii)": "fluency_repetition", "Similarity": "similarity", "Safety": "safety"}  # fmt: skip
    table = printed_table(as_printed("mdd5k", "Table 2", metrics), "mdd5k", "ratings")
    assert titles_of(table) == ["Dataset", *metrics]
    assert list(cells_by_title(table)) == ["D4", "CPsyCounD", "Role-playing", "MDD-5k"]
    assert count_same(table) == 28
    assert [cell.bold for cell in table.rows[3].cells[1:]] == [True, True, True, True, False, True, True]
    assert table.rows[0].cells[4].bold, "ties are all bold"
    assert all(row.cells[-1].bold for row in table.rows), "even where all tie"


def test_a_number_without_a_place_is_counted_and_named() -> None:
    view = ratings_view(rated("Mine", 0, empathy=3.0), order=study_order([SUITES.load("calm-it")]))
    table = printed_table(view, "calm-it", "quality")
    assert cells_by_title(table) == {"Empathy": ["{4.66}", "{4.68}", "{3.53}", "{4.88}", "3.00"]}
    assert any(note.startswith("64 of 68 printed numbers") for note in table.notes)
    published = {record["system"]: record.get("published") for record in table.records}
    assert published == {"KMI": 4.66, "CI-NC": 4.68, "C+S": 3.53, "CI": 4.88, "Mine": None}


def test_a_number_stands_beside_the_system_of_the_run_that_is_called_so_in_print() -> None:
    order = StudyOrder({"o1": "OpenAI o1", "openai/o1": "OpenAI o1"})
    numbers = (PublishedNumber("p", "Table 1", "Empathy", "OpenAI o1", (), "2.5", "", "", ""),)
    for system in order.systems:
        view = ratings_view(rated(system, 0, empathy=3.0), order=order)
        table = results(view, metrics=["empathy"], published=numbers, spread="none")
        assert cells_by_title(table) == {"Empathy ↑": ["3.00 {2.5}"]}


# -- the report ---------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("suite", ["calm-it", "mdd5k", "note2chat"])
def test_the_report_has_the_sources_tables_and_no_others_of_the_suite(suite: str, tmp_path: Path) -> None:
    run = made_run(tmp_path, suite, cases=3)
    own, *others = make_parts(open_ratings_view(run.path), settings=PRINTED, figures=False)
    # The made-up systems lack CI, which CALM-IT's tests hold against the others.
    lacking = ["tests"] if suite == "calm-it" else []
    ids = [table.id for table in SUITES.load(suite).as_published.tables]
    assert [table.name for table in own.tables] == [name for name in ids if name not in lacking]
    assert len(own.left_out) == len(lacking)
    assert all("CI" in reason for reason in own.left_out)
    assert {table.name for part in others for table in part.tables} <= {"rubrics", "missing"}


@pytest.mark.slow
def test_the_command_writes_them(tmp_path: Path, call: Call, undrawn: None) -> None:
    run = made_run(tmp_path, "mdd5k", cases=2)
    assert call("report", run.path, "--as-published", "--published-numbers", "--format", "md")[0] == 0
    folder = run.path / "report"
    assert {path.stem for path in folder.glob("*.md")} == {"dataset", "ratings", "rubrics", "missing"}
    assert "{6906.8}" in (folder / "dataset.md").read_text("utf-8")
    code, _, err = call("report", run.path, "--published-numbers")
    assert (code, "add --as-published" in err) == (2, True)
    report = bedside.report(run, tmp_path / "python", as_published=True)
    assert set(report.tables.names) >= {"dataset", "ratings"}


@pytest.mark.slow
@pytest.mark.skipif(not DATA.is_dir(), reason="the published dialogues are not beside the project")
def test_real_dialogues_are_counted_as_by_hand(tmp_path: Path) -> None:
    """MDD-5k, 30 patients: dialogues, different ICD codes, exchanges and characters, counted from the files."""
    folder = DATA / "mdd5k"
    run = scored(tmp_path, folder / "conversations", suite="mdd5k")
    table = printed_table(open_ratings_view(run.path), "mdd5k", "dataset")
    talks = [talk["conversation"] for path in sorted((folder / "conversations").glob("*.json"))
             for talk in json.loads(path.read_text("utf-8"))]  # fmt: skip
    codes = {code.strip() for path in (folder / "labels").glob("*.json")
             for code in json.loads(path.read_text("utf-8"))["ICD_Code"].split(",")}  # fmt: skip
    values = {r["measure"]: r["value"] for r in table.records if r.get("value") is not None}
    assert values["Total num"] == len(talks) == 150
    assert values["Illness"] == len(codes)
    for side, name in (("doctor", "Avg. words #doc"), ("patient", "Avg. words #pat")):
        said = [turn[side].strip() for talk in talks for turn in talk if turn.get(side, "").strip()]
        assert values[name] == pytest.approx(sum(map(len, said)) / len(said))
    assert values["Avg. turns"] == pytest.approx(np.mean([len(talk) for talk in talks]), rel=0.02)


def test_mdd5ks_rows_of_words_stand_where_the_paper_has_them(tmp_path: Path) -> None:
    """Category: the paper's word for its own sets. Labels: whether the references have a code."""
    talk = [("clinician", "你好吗？"), ("patient", "不好。")]
    made = [
        conversation(*talk, id="a", system="MDD-5k", language="zh", reference={"icd_code": "F32.9"}),
        conversation(*talk, id="b", system="mine", language="zh"),
        conversation(*talk, id="c", system="CPsyCounD", language="zh"),
    ]
    view = open_ratings_view(scored(tmp_path, file_of(tmp_path, *made), suite="mdd5k").path)
    table = printed_table(view, "mdd5k", "dataset")
    assert titles_of(table)[1:] == ["D4", "CPsyCounD", "Role-playing", "MDD-5k", "mine"]
    rows = cells_by_title(table)
    assert list(rows)[:3] + list(rows)[-1:] == ["Total num", "Category", "Illness", "Labels"]
    assert rows["Category"] == ["diagnosis", "consultation", "diagnosis", "diagnosis", "–"]
    assert rows["Labels"] == ["–", "no", "–", "yes", "no"], "of sets that aren't in the run nothing is known"
    assert {record["value"] for record in table.records if record["metric"] == "category"} == {None}
    uncoded = open_ratings_view(scored(tmp_path / "n", file_of(tmp_path, *made[1:]), suite="mdd5k").path)
    table = published(uncoded, "mdd5k", "dataset")
    assert cells_by_title(table)["Labels"] == ["no", "no"], "where no set has a code, too"
    assert "Illness" not in cells_by_title(table)


def test_a_wrong_option_of_a_sources_table_is_named() -> None:
    table = {"id": "one", "kind": "results", "metrics": ["turns"], "arows": []}
    with pytest.raises(BedsideError, match="table one: arows"):
        check_suite(suite_of(as_published={"tables": [table]}))
    unknown = {"id": "one", "kind": "results", "metrics": ["nobodys"]}
    assert check_suite(suite_of(as_published={"tables": [unknown]}))


def test_where_nobody_coded_turns_a_note_says_how_a_judge_does(tmp_path: Path) -> None:
    talk = [("clinician", "How are you?"), ("patient", "Not well."), ("clinician", "Tell me more.")]
    path = file_of(tmp_path, conversation(*talk, id="a", system="CI", language="en"))
    run = scored(tmp_path, path, suite="calm-it")
    (table,) = make_tables(open_ratings_view(run.path), ["quality"], settings=PLAIN)
    how = "--judge MODEL --codes all"
    assert any("reflection_to_question_ratio" in note and how in note for note in table.notes)
    assert not any(note.startswith("Left out: Δ_Ref") for note in table.notes), "it has no value itself"


# -- the docs -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PROTOCOLS)
def test_the_docs_name_every_entry_and_no_other(name: str) -> None:
    """The table of a source's tables and figures names each entry of ``as_published``, as ``id`` in its last column."""
    text = (DOCS / f"{name}.md").read_text("utf-8")
    section = text.partition("## As published")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| ") and "---" not in line][1:]
    assert rows, "a table of what the paper prints"
    named = set()
    for row in rows:
        _, what, shown, how, _ = [part.strip() for part in re.split(r"(?<!\\)\|", row)]
        assert what.startswith(("Table", "Figure", "Text"))
        assert shown in ("✓", "partly", "–")
        entries = set(re.findall(r"`([a-z0-9-]+)`", how))
        assert entries or "`bedside " in how or shown == "–", row
        named |= entries
    published = SUITES.load(name).as_published
    assert named == {entry.id for entry in (*published.tables, *published.figures)}


# -- raters and systems that are not there ------------------------------------------------------------


def test_of_several_judges_the_one_with_most_values_is_shown_and_the_others_are_named() -> None:
    raters = ("judge:*", "people")
    few, many = "judge:a", "judge:b"
    view = ratings_view(
        rated("A", 1, few, empathy=1.0),
        *(rated("A", case, many, empathy=3.0) for case in (1, 2, 3)),
        rated("B", 1, few, empathy=1.0),
        rated("A", 1, "human:ann", empathy=5.0),
    )
    table = results(view, metrics=["empathy"], raters=raters, spread="none", best="never")
    assert cells_by_title(table) == {"Empathy ↑": ["3.00"]}
    assert any(note.startswith("Rated by b (") for note in table.notes)
    assert "Also rated by people (Empathy); a (Empathy), not shown." in table.notes
    assert "B has values by a alone of Empathy: they are not shown here." in table.notes
    alone = results(ratings_view(rated("A", 1, few, empathy=1.0)), metrics=["empathy"], raters=raters)
    assert not any("not shown" in note for note in alone.notes)


def test_a_ratio_of_sums_takes_what_only_an_algorithm_counts_from_it() -> None:
    view = ratings_view(
        *(rated("A", case, JUDGE, elicited_findings=2.0, counted_findings=4.0) for case in (1, 2)),
        *(rated("A", case, "algorithm:history_taking@1", history_questions=6.0) for case in (1, 2)),
    )
    ratio = {
        "metric": "history_f1", "sum": ["elicited_findings"], "over": ["counted_findings", "history_questions"],
        "times": 2, "title": "F1", "digits": 1,
    }  # fmt: skip
    table = results(view, metrics=[ratio], raters=["judge:*"], spread="none")
    # 2 · 4 findings elicited, over 8 findings and 12 questions.
    assert [record["value"] for record in table.records] == [0.4]
    assert any("as counted by history_taking@1" in note for note in table.notes)


# -- MultiSenseEval -----------------------------------------------------------------------------------

STAGES = (
    "fostering the relationship", "gathering information", "providing information", "decision making",
    "responding to emotions", "exit",
)  # fmt: skip
MODELS = {"OpenAI o1": "o1", "DeepSeek-R1": "deepseek-r1"}


def published(view: RatingsView, suite: str, name: str, settings: ReportSettings = PLAIN) -> Table:
    (table,) = make_tables(view, [name], suite=SUITES.load(suite).printed(), settings=settings)
    return table


def rows_of(table: Table, keys: int) -> dict[tuple[str, ...], list[str]]:
    """The rows by their keys, each of which stands once above those that share it."""
    rows: dict[tuple[str, ...], list[str]] = {}
    known: list[str] = [""] * keys
    for row, texts in zip(table.rows, cells_of(table), strict=True):
        known = [text or before for text, before in zip(texts[:keys], known, strict=True)]
        rows[(*([row.group] if row.group else []), *known)] = texts[keys:]
    return rows


@pytest.fixture(scope="module")
def staged(tmp_path_factory: pytest.TempPathFactory) -> RatingsView:
    """Conversations whose turns carry stages drawn at random, under the names of the source's systems."""
    rng = np.random.default_rng(4)
    talks = []
    for place, (system, case) in enumerate(product(("deepseek-r1", "o1"), range(9))):
        stages = [str(rng.choice(STAGES[:4])) for _ in range(rng.integers(2, 9))]
        turns = tuple(
            Turn(index, ("clinician", "patient")[index % 2], "s", f"Word {index}.", {"stage": stage})
            for index, stage in enumerate([*stages, "exit"])
        )
        factors = {"persona": ("openness", "neuroticism")[place % 2], "health_literacy": "basic"}
        talks.append(Transcript(id=f"{system}-{case}", turns=turns, system=system, case_id=f"c{case}", factors=factors))
    run = scored(tmp_path_factory.mktemp("staged"), talks, suite="multisense")
    rows = []
    for name, system, case in run.index.select("id", "system", "case_id").iter_rows():
        for metric, rater in product(("perceived_benefits", "conversation_flow"), (JUDGE, "human:anna")):
            rows.append(rating(name, system, case, metric, float(rng.integers(1, 5)), rater))
        rows.append(rating(name, system, case, "diagnostic_accuracy_hard", float(rng.integers(0, 2))))
        rows.append(rating(name, system, case, "smog.clinician", float(rng.normal(12, 1)), "algorithm:readability@x"))
    return open_ratings_view(with_rows(run, rows).path)


def test_messages_per_stage_are_means_over_conversations_in_the_order_of_the_source(staged: RatingsView) -> None:
    assert staged.run is not None
    counts: dict[str, Counter[str]] = {"o1": Counter(), "deepseek-r1": Counter()}
    for transcript in staged.run.transcripts():
        counts[str(transcript.system)].update(str(turn.meta["stage"]) for turn in transcript.turns)
    table = published(staged, "multisense", "messages")
    assert titles_of(table) == ["Stage", *MODELS]
    assert {column.group for column in table.columns[1:]} == {"Avg. Number of Messages"}
    by_stage = cells_by_title(table)
    shown = [stage for stage in STAGES if counts["o1"][stage] or counts["deepseek-r1"][stage]]
    assert [title.casefold() for title in by_stage] == [*shown, "overall"]
    for stage, texts in zip([*shown, None], by_stage.values(), strict=True):
        totals = [counts[name].total() if stage is None else counts[name][stage] for name in MODELS.values()]
        assert texts == [f"{total / 9:.2f}" for total in totals]
    last = cells_of(published(staged, "multisense", "messages", PRINTED))[-1]
    assert (last[0], last[1].endswith("{19.09}")) == ("Overall", True)


def test_the_table_of_patients_has_a_line_for_each_model_and_marks_the_better(staged: RatingsView) -> None:
    assert staged.factors is not None
    table = published(staged, "multisense", "patients")
    assert titles_of(table) == [
        "Personality Trait", "Model", "Perceived Benefits", "Flow Correctness", "Diag. Acc. (Hard) (%)", "SMOG",
    ]  # fmt: skip
    lines = rows_of(table, 2)
    keys = product(("Basic Health Literacy",), ("Openness", "Neuroticism"), MODELS)
    assert list(lines) == list(keys)
    wide = staged.ratings.join(staged.factors, on="transcript_id").filter(pl.col("rater") != "human:anna")
    metrics = ("perceived_benefits", "conversation_flow", "diagnostic_accuracy_hard", "smog.clinician")
    for (_, trait, model), texts in lines.items():
        here = wide.filter(pl.col("system") == MODELS[model], pl.col("persona") == trait.lower())
        for metric, scale, text in zip(metrics, (1, 1, 100, 1), texts, strict=True):
            values = here.filter(pl.col("metric") == metric)
            if metric == "smog.clinician":
                values = values.filter(pl.col("rater") == "algorithm:readability@x")
            mean = float(np.mean(values["value"].drop_nulls().to_numpy()))
            assert text == f"{scale * mean:.2f}", (trait, model, metric)
    smog = [row.cells[-1] for row in table.rows]
    for first, second in (smog[:2], smog[2:]):
        assert first.bold == (float(first.text) < float(second.text))


def test_the_two_systems_are_tested_as_the_source_does_over_what_is_shown(staged: RatingsView) -> None:
    """Mann and Whitney's U of the judge's scores, o1 first; people's scores are not shown, and in no family."""
    table = published(staged, "multisense", "judged-scores")
    lines = cells_by_title(table)
    titles = {"Perceived Benefits": "perceived_benefits", "Flow Correctness": "conversation_flow"}
    assert list(lines) == list(titles)
    for title, metric in titles.items():
        of_judge = staged.ratings.filter(pl.col("metric") == metric, pl.col("rater") == JUDGE)
        values = [of_judge.filter(pl.col("system") == name)["value"].to_numpy() for name in MODELS.values()]
        test = stats.mannwhitneyu(*values, method="asymptotic")
        mean, _, statistic, p, *_ = lines[title]
        assert mean == f"{values[0].mean():.2f} ({values[0].std(ddof=1):.2f})"
        assert float(statistic) == pytest.approx(test.statistic, abs=0.5)
        assert p == f"{test.pvalue:.3f}".removeprefix("0") or test.pvalue > 0.9995
    assert any("of 2 tests" in note for note in table.notes)


def test_notes_say_what_is_so_of_missing_values_of_ties_and_of_braces() -> None:
    """Systems tie on one measure and lack a value of the other; of the third set only the source has a number."""
    values = ((3.0, 1.0), (3.0, None), (3.0, 2.0))
    rows = [rated(name, case, empathy=one, partnership=other)
            for name in "AB" for case, (one, other) in enumerate(values)]  # fmt: skip
    view = ratings_view(*rows)
    tied = results(view, metrics=["empathy"], test="student", n=False, spread="none")
    assert cells_of(tied) == [["Empathy ↑", "3.00", "3.00", "–", "–", "–"]]
    assert any(note.startswith("–: no test of Empathy (") for note in tied.notes)
    assert not any("not rated there" in note or "0 tests" in note for note in tied.notes)
    few = results(view, metrics=["empathy", "partnership"], n=False).notes
    assert "Cells rest on 2 to 3 transcripts; the CSV has the number of each." in few
    assert "The other transcripts have no value, the table of missing values says why." in few
    number = PublishedNumber("p", "Table 1", "Empathy", "C", (), "4", "", "", "")
    words = {"metric": "partnership", "title": "Kind", "words": [["A", "yes"]]}
    order = StudyOrder({"A": "A", "C": "C"})
    named = results(ratings_view(*rows, order=order), metrics=["empathy", words], n=False, published=[number])
    assert "–: the source has no Kind for it." in named.notes
    nameless = view_of([rating(f"t{case}", None, f"c{case}", "empathy", 3.0) for case in range(2)], order=order)
    apart = results(nameless, metrics=["empathy"], n=False, published=[number]).notes
    assert "n = 2 transcripts behind each number of this run." in apart
    assert any(note.startswith("No transcript names its system") for note in apart)


def test_relative_changes_are_those_of_means_by_hand(staged: RatingsView) -> None:
    """By persona, and by the number of the clinician's messages, which are counted here from the transcripts."""
    assert staged.run is not None
    assert staged.factors is not None
    said = {one.id: sum(turn.role == "clinician" for turn in one.turns) for one in staged.run.transcripts()}
    persona = dict(staged.factors.select("transcript_id", "persona").iter_rows())
    contrasts = [
        {"title": "trait", "factor": "persona", "level": "Neuroticism", "base": "Openness",
         "where": {"health_literacy": "Basic Health Literacy"}},
        {"title": "length", "level": "4–5", "base": "2"},
        {"title": "nobody", "level": "40", "base": "2"},
    ]  # fmt: skip
    two = ["perceived_benefits", "conversation_flow"]
    measures = [two[1], {"metric": two[0], "title": "both", "mean": two}]
    table = full_table("changes", staged, metrics=measures, contrasts=contrasts, raters=["judge:*"])
    groups: dict[str, Any] = {
        "trait": (lambda name: persona[name] == "neuroticism", lambda name: persona[name] == "openness"),
        "length": (lambda name: said[name] in (4, 5), lambda name: said[name] == 2),
    }
    judged = staged.ratings.filter(pl.col("rater") == JUDGE)
    assert [(row.group, row.cells[0].text) for row in table.rows] == [
        (title, name) for title in groups for name in ("Conversation flow", "both")
    ]
    for row, (first, second) in zip(table.rows, [groups[str(row.group)] for row in table.rows], strict=True):
        for cell, system in zip(row.cells[1:], MODELS.values(), strict=True):
            of = judged.filter(system=system).filter(
                pl.col("metric").is_in(two if "both" in row.cells[0].text else two[1:])
            )
            values = dict(of.group_by("transcript_id").agg(pl.col("value").mean()).iter_rows())
            means = [np.mean([value for name, value in values.items() if own(name)]) for own in (first, second)]
            assert cell.text == f"{100 * (means[0] / means[1] - 1):+.2f}".replace("-", "−")
    assert any(note.startswith("nobody: ") for note in table.notes)


def test_what_the_paper_prints_of_tests_and_changes_stands_beside_ours() -> None:
    """Of the conversations that fit Table 2: U and p are as printed, changes but for rounding."""
    view = conversations()
    diagnosis = cells_by_title(printed_table(view, "multisense", "diagnosis"))
    assert diagnosis["Diag. Acc. (Hard) (%)"][2:4] == ["651511 {651511}", ".964 {0.9640}"]
    assert diagnosis["Diag. Acc. (Soft) (%)"][2:4] == ["678348 {678348}", ".042 {<0.05}"]
    readability = printed_table(view, "multisense", "readability")
    assert readability.rows[0].cells[3].text.endswith("{−31.95}")
    assert not any("stand nowhere above" in note for note in readability.notes)
    changes = cells_of(printed_table(view, "multisense", "changes"))
    assert changes[3] == ["patient-centric metrics", "+2.75 {2.77}", "+0.63 {0.63}"]
    assert changes[5] == ["Diag. Acc. (Hard) (%)", "−0.73 {−0.73}", "+11.74 {11.74}"]
    assert len(changes) == 4 * 8, "nobody says how many messages these have"


@pytest.mark.parametrize("settings", [PLAIN, PRINTED], ids=["ours", "both"])
def test_the_table_of_patients_stands_on_one_page(settings: ReportSettings) -> None:
    (table,) = make_tables(conversations(), ["patients"], suite=SUITES.load("multisense"), settings=settings)
    assert latex(table).count(r"\begin{sidewaystable}") == 1
    assert [row.cells[0].text for row in table.rows[:10:2]] == [
        "Openness", "Conscientiousness", "Extraversion", "Agreeableness", "Neuroticism",
    ]  # fmt: skip


# -- MedConceal ---------------------------------------------------------------------------------------

SETTINGS = {
    "confirmation": ("confirmation, 8 turns", "confirmation, adaptive"),
    "intervention": ("intervention, 8 turns", "intervention, 20 turns"),
}


def concerns() -> Iterator[tuple[str, str, str, dict[str, str], dict[str, dict[str, float]]]]:
    """Transcripts of people and two systems: id, system, case, factors, and the values of each rater's labels."""
    rng = np.random.default_rng(1)
    for task, settings in SETTINGS.items():
        lines = [("Human clinicians", "human"), *product(("GPT-5.2", "Qwen-3.5-9B"), settings)]
        for (system, setting), case in product(lines, range(12)):
            people = system == "Human clinicians" and task == "confirmation"
            labels = {}
            gold, turns = int(rng.integers(1, 4)), int(rng.integers(4, 20))
            revealed, primary = int(rng.integers(0, gold + 1)), float(rng.integers(0, 2))
            for rater in ("human:summary", "human:model") if people else (JUDGE,):
                submitted = int(rng.integers(1, 4))
                matched = int(rng.integers(0, min(submitted, gold) + 1))
                coarse = int(rng.integers(matched, min(submitted, gold) + 1))
                labels[rater] = {
                    "gold_concerns": gold, "submitted_findings": submitted, "matched_concerns": matched,
                    "coarse_matches": coarse, "revealed_concerns": revealed, "evaluated_turns": turns,
                    "coarse_precision": coarse / submitted, "coarse_recall": coarse / gold,
                    "concern_precision": matched / submitted, "concern_recall": matched / gold,
                    "coarse_f1": 2 * coarse / (submitted + gold), "concern_f1": 2 * matched / (submitted + gold),
                    "reveal_rate": revealed / gold, "matched_without_reveal": float(matched > 0 and not revealed),
                    "primary_revealed": primary, "concern_addressed": float(primary and rng.random() < 0.6),
                }  # fmt: skip
            factors = {"task": task, "setting": setting}
            yield f"{task}-{setting}-{system}-{case}", system, f"c{case}", factors, labels


@pytest.fixture(scope="module")
def concealed(tmp_path_factory: pytest.TempPathFactory) -> RatingsView:
    talks, rows = [], []
    for name, system, case, factors, labels in concerns():
        turns = range(2 * int(next(iter(labels.values()))["evaluated_turns"]))
        said = tuple(Turn(place, ("clinician", "patient")[place % 2], "s", "Go on?", {}) for place in turns)
        talks.append(Transcript(id=name, turns=said, system=system, case_id=case, factors=factors))
        rows += [
            rating(name, system, case, metric, value, rater)
            for rater, values in labels.items()
            for metric, value in values.items()
        ]
    run = scored(tmp_path_factory.mktemp("concealed"), talks, ["turns"])
    view = open_ratings_view(with_rows(run, rows).path)
    return replace(view, order=study_order([SUITES.load("medconceal")]))


def sums(task: str, setting: str, system: str, rater: str, *names: str) -> list[float]:
    own = [
        labels[rater]
        for _, of, _, factors, labels in concerns()
        if (factors["task"], factors["setting"], of) == (task, setting, system)
    ]
    return [sum(values[name] for values in own) for name in names]


def test_confirmation_has_sums_over_cases_and_a_row_for_each_set_of_findings(concealed: RatingsView) -> None:
    table = published(concealed, "medconceal", "confirmation")
    lines = rows_of(table, 3)
    assert list(lines) == [
        ("Human clinicians", "Human", "model"), ("Human clinicians", "Human", "summary"),
        ("Qwen-3.5-9B", "8-turn", "m"), ("Qwen-3.5-9B", "Adaptive", "m"),
        ("GPT-5.2", "8-turn", "m"), ("GPT-5.2", "Adaptive", "m"),
    ]  # fmt: skip
    assert [title.rstrip(" ↑↓") for title in titles_of(table)[3:]] == [
        "Reveal Rate", "Coarse P", "Coarse R", "Coarse F1", "Fine P", "Fine R", "Fine F1", "MBNR",
    ]  # fmt: skip
    names = {"Human": "human", "8-turn": "confirmation, 8 turns", "Adaptive": "confirmation, adaptive"}
    for (system, setting, rater), texts in lines.items():
        kind = JUDGE if rater == "m" else f"human:{rater}"
        matched, coarse, submitted, gold, revealed, blind = sums(
            "confirmation", names[setting], system, kind,
            "matched_concerns", "coarse_matches", "submitted_findings", "gold_concerns", "revealed_concerns",
            "matched_without_reveal",
        )  # fmt: skip
        by_hand = (
            revealed / gold, coarse / submitted, coarse / gold, 2 * coarse / (submitted + gold), matched / submitted,
            matched / gold, 2 * matched / (submitted + gold), blind / 12,
        )  # fmt: skip
        assert texts == [f"{number:.3f}" for number in by_hand]
    for column in range(3, 11):
        numbers = [float(row.cells[column].text) for row in table.rows]
        best = min(numbers) if column == 10 else max(numbers)
        assert [row.cells[column].bold for row in table.rows] == [number == best for number in numbers]


def test_printed_numbers_stand_beside_each_line_and_people_keep_theirs(concealed: RatingsView) -> None:
    lines = rows_of(published(concealed, "medconceal", "confirmation", PRINTED), 3)
    assert lines["GPT-5.2", "Adaptive", "m"][1].endswith("{0.691}")
    assert lines["Qwen-3.5-9B", "8-turn", "m"][1].endswith("{0.861}")
    human = rows_of(published(concealed, "medconceal", "intervention", PRINTED), 2)["Human clinicians", "Human"]
    assert [text[-7:] for text in human[:2]] == ["{0.427}", "{0.487}"]


def test_intervention_has_the_reveal_of_the_target_and_settings_apart(concealed: RatingsView) -> None:
    lines = rows_of(published(concealed, "medconceal", "intervention"), 2)
    own = sums("intervention", SETTINGS["intervention"][1], "GPT-5.2", JUDGE, "concern_addressed", "primary_revealed")
    assert lines["GPT-5.2", "20-turn"][:2] == [f"{total / 12:.3f}" for total in own]


def test_dialogues_are_as_long_as_their_clinician_turns_in_the_long_setting(concealed: RatingsView) -> None:
    lines = rows_of(published(concealed, "medconceal", "dialogue-length"), 1)
    for system, setting in (("Human clinicians", "human"), ("GPT-5.2", None)):
        for task, text in zip(SETTINGS, lines[(system,)], strict=True):
            rater = "human:summary" if setting == "human" and task == "confirmation" else JUDGE
            (turns,) = sums(task, setting or SETTINGS[task][1], system, rater, "evaluated_turns")
            assert text == f"{turns / 12:.1f}"


#: Of the tables of people against the best AI: task, setting of people, settings of AIs, and metrics with their titles.
FINDINGS = {
    "reveal_rate": "Reveal Rate", "coarse_precision": "Coarse P", "coarse_recall": "Coarse R",
    "coarse_f1": "Coarse F1", "concern_precision": "Fine P", "concern_recall": "Fine R", "concern_f1": "Fine F1",
}  # fmt: skip
TARGET = {"primary_revealed": "Reveal Rate", "concern_addressed": "Success"}
AGAINST_BEST = {
    "model-summary-any": ("confirmation", "Claude summary", ("8-turn", "Adaptive"), FINDINGS),
    "human-summary-short": ("confirmation", "Human summary", ("8-turn",), FINDINGS),
    "human-summary-any": ("confirmation", "Human summary", ("8-turn", "Adaptive"), FINDINGS),
    "model-summary-short": ("confirmation", "Claude summary", ("8-turn",), FINDINGS),
    "people-short": ("intervention", "human", ("8-turn",), TARGET),
}
RIVALS = ("Qwen-3.5-9B", "GPT-5.2")
Line = tuple[str, str, str]


@pytest.fixture(scope="module")
def lines() -> dict[Line, dict[str, dict[int, float]]]:
    """By task, system and setting the values of each metric by case; GPT-5.2 lacks the last of 12 cases."""
    rng = np.random.default_rng(2)
    drawn: dict[Line, dict[str, dict[int, float]]] = {}
    tasks = {"confirmation": (("8-turn", "Adaptive"), FINDINGS), "intervention": (("8-turn", "20-turn"), TARGET)}
    people = [("confirmation", "Human summary"), ("confirmation", "Claude summary"), ("intervention", "human")]
    keys = [(task, "human", setting) for task, setting in people]
    keys += [(task, system, setting) for task in tasks for system in RIVALS for setting in tasks[task][0]]
    for task, system, setting in keys:
        own = drawn[task, system, setting] = {}
        for metric in tasks[task][1]:
            low = {"Claude summary": 0.25, "Human summary": 0.1, "Adaptive": 0.1}.get(setting, 0.0)
            draws = low + 0.7 * rng.random(12)
            if task == "intervention":
                draws = (rng.random(12) < (0.85 if system == "human" else 0.15)).astype(float)
            own[metric] = {case: float(draws[case]) for case in range(11 if system == "GPT-5.2" else 12)}
    del drawn["confirmation", "human", "Human summary"]["concern_precision"][4]
    return drawn


@pytest.fixture(scope="module")
def against_best(lines: dict[Line, dict[str, dict[int, float]]]) -> RatingsView:
    rows, factors = [], []
    for (task, system, setting), metrics in lines.items():
        names = {case: f"{task}-{system}-{setting}-{case}" for case in range(12)}
        factors += [{"transcript_id": name, "task": task, "setting": setting} for name in names.values()]
        rows += [
            rating(names[case], system, f"c{case}", metric, value, JUDGE)
            for metric, values in metrics.items()
            for case, value in values.items()
        ]
    return view_of(rows, pl.DataFrame(factors), order=study_order([SUITES.load("medconceal")]))


@pytest.mark.parametrize("name", AGAINST_BEST)
def test_people_stand_against_the_best_ai_as_by_hand(
    name: str, lines: dict[Line, dict[str, dict[int, float]]], against_best: RatingsView
) -> None:
    task, people, settings, metrics = AGAINST_BEST[name]
    expected, p_values = {}, []
    for metric, title in metrics.items():
        own = lines[task, "human", people][metric]
        best: tuple[float, str, list[int]] | None = None
        for system, setting in product(RIVALS, settings):
            theirs = lines[task, system, setting][metric]
            shared = sorted(own.keys() & theirs.keys())
            mean = float(np.mean([theirs[case] for case in shared]))
            if best is None or mean > best[0]:
                best, values = (mean, f"{system} ({setting})", shared), theirs
        assert best is not None
        x, y = (np.array([side[case] for case in best[2]]) for side in (own, values))
        signs = np.array(list(product((1, -1), repeat=x.size)))
        extreme = np.abs(signs @ (x - y)) >= abs((x - y).sum()) - 1e-9
        p = float(extreme.mean())
        if metric == "concern_addressed":
            only = [int(((x - y) == side).sum()) for side in (1, -1)]
            p = float(stats.binomtest(only[0], sum(only)).pvalue)
        p_values.append(p)
        ends = stats.bootstrap((x - y,), np.mean, n_resamples=20_000, random_state=1).confidence_interval
        # Of zeros and ones an end may be off by a case.
        off = 1 / x.size + 0.001 if task == "intervention" else 0.03
        expected[title] = (best[1], x.mean(), y.mean(), [pytest.approx(end, abs=off) for end in ends], x.size)
    adjusted = multipletests(p_values, method="holm")[1]
    table = published(against_best, "medconceal", name)
    assert titles_of(table) == ["Metric", "Best AI", "Ref", "AI", "Δ", "95% CI", "Holm p"]
    shown = {row.cells[0].text: row.cells[1:] for row in table.rows}
    assert [*shown] == [title for title, (_, ours, theirs, *_) in expected.items() if ours > theirs]
    for (title, (rival, ours, theirs, ends, _)), corrected in zip(expected.items(), adjusted, strict=True):
        if title not in shown:
            continue
        assert [cell.text for cell in shown[title][:4]] == [
            rival, f"{ours:.3f}", f"{theirs:.3f}", f"{ours - theirs:+.3f}",
        ]  # fmt: skip
        low, high = (float(end.replace("−", "-")) for end in shown[title][4].text.strip("[]").split(", "))
        assert [low, high] == ends
        assert shown[title][5].text == f"{corrected:.4f}"
        assert shown[title][5].marks == "*" * sum(corrected < bound for bound in (0.001, 0.01, 0.05))
    # What has no row is among the records, and was corrected for.
    assert len(table.records) == len(metrics)
    assert {record["family_size"] for record in table.records} == {len(metrics)}
    assert any(note.startswith(f"Ref is ahead in {len(shown)} of {len(metrics)} metrics") for note in table.notes)
    counts = {"12" if n == 12 else f"{n} of 12" for *_, n in expected.values()}
    (cases,) = (note for note in table.notes if note.startswith("Cases that both have"))
    assert all(count in cases for count in counts)
    exact = any("McNemar's test, two-sided, exact (Success)" in note for note in table.notes)
    assert exact == ("concern_addressed" in metrics)


def test_where_less_is_better_the_best_ai_has_the_least_and_equal_ones_are_named() -> None:
    values = {("human", "human"): 1.0, ("A", "8-turn"): 2.0, ("B", "8-turn"): 2.0, ("C", "8-turn"): 3.0}
    ratings = [
        (system, setting, case, value + case / 8) for (system, setting), value in values.items() for case in range(6)
    ]
    view = ratings_view(
        *(
            [rating(f"{system}-{case}", system, f"c{case}", "turns_to_address", value)]
            for system, _, case, value in ratings
        ),
        factors=pl.DataFrame(
            {"transcript_id": f"{system}-{case}", "setting": setting} for system, setting, case, _ in ratings
        ),
    )
    table = full_table("best_ai", view, metrics=["turns_to_address"], reference="human")
    assert cells_of(table)[0][1:5] == ["A (8-turn)", "1.3", "2.3", "−1.0"]
    assert any(note.endswith("as good as the best AI is B (8-turn).") for note in table.notes)
    with pytest.raises(BedsideError, match="nobody has no transcript in these settings"):
        full_table("best_ai", view, reference="nobody")
    with pytest.raises(BedsideError, match=r"in none of 1 metric: Turns to address human \(human\) on 6 cases"):
        full_table("best_ai", view, metrics=["turns_to_address"], reference="C")


def test_an_ai_with_few_of_the_cases_is_none_to_choose_from() -> None:
    """A has all six cases; B is the best on two, which is no mean of the same cases."""
    cases = {"human": range(6), "A": range(6), "B": range(2)}
    means = {"human": 0.6, "A": 0.4, "B": 0.9}
    ratings = [rating(f"{system}-{case}", system, f"c{case}", "concern_f1", means[system] + case / 50)
               for system, own in cases.items() for case in own]  # fmt: skip
    factors = pl.DataFrame({"transcript_id": row[0], "setting": "8-turn"} for row in ratings)
    table = full_table("best_ai", view_of(ratings, factors), reference="human")
    assert cells_of(table)[0][1:5] == ["A (8-turn)", "0.650", "0.450", "+0.200"]
    few = "B (8-turn) 2 cases of 6"
    assert f"Not chosen from, with a value on half of the reference's cases or fewer: {few}." in table.notes
    only_few = [row for row in ratings if not row[0].startswith("A")]
    with pytest.raises(BedsideError, match=rf"no AI has values on most cases of human: {re.escape(few)}"):
        full_table("best_ai", view_of(only_few, factors), reference="human")


def test_an_ai_that_others_rated_is_none_to_stand_against() -> None:
    ratings = [
        rating(f"{system}-{case}", system, f"c{case}", "concern_f1", 0.5, rater)
        for system, rater in (("human", "judge:a"), ("A", "judge:b"))
        for case in range(4)
    ]
    view = view_of(ratings, pl.DataFrame({"transcript_id": row[0], "setting": "8-turn"} for row in ratings))
    with pytest.raises(BedsideError, match="no AI was rated on a case of human by the same raters"):
        full_table("best_ai", view, reference="human")


def test_success_that_is_averaged_over_talks_is_permuted() -> None:
    ratings = [
        rating(f"{system}-{case}-{take}", system, f"c{case}", "concern_addressed", float(take or system == "human"))
        for system, case, take in product(("human", "A"), range(8), range(2))
    ]
    factors = pl.DataFrame({"transcript_id": row[0], "setting": "8-turn"} for row in ratings)
    table = full_table("best_ai", view_of(ratings, factors), reference="human", exact=["concern_addressed"])
    assert cells_of(table)[0][1:5] == ["A (8-turn)", "1.000", "0.500", "+0.500"]
    assert any("paired permutation test" in note for note in table.notes)


#: Marks of the source that its own numbers contradict, and ours.
COLOURED_WRONGLY = {
    "Table 1": {("Doctor-R1", "8-turn", "Coarse F1"): ("green", "blue"),
                ("Llama3-OpenBioLLM-8B", "Adaptive", "Coarse F1"): ("", "green")},
    "Table 3": {("Claude Sonnet 4.5", "8-turn", "Turn-to-Address"): ("green", ""),
                ("GPT-5.2", "8-turn", "Turn-to-Address"): ("", "green")},
}  # fmt: skip


@pytest.mark.parametrize("place", ["Table 1", "Table 2", "Table 3", "Table 4"])
def test_the_best_of_all_and_at_matched_length_are_marked_as_the_source_colours_them(place: str) -> None:
    numbers = [number for number in published_numbers("medconceal") if number.place == place]
    measures = dict.fromkeys(number.measure for number in numbers)
    rows, factors = [], []
    for line, (system, levels) in enumerate(dict.fromkeys((number.system, number.levels) for number in numbers)):
        factors.append({"transcript_id": f"t{line}", "setting": levels[0] if levels else "human"})
        rows += [
            rating(f"t{line}", system, "c", number.measure, number.value)
            for number in numbers
            if (number.system, number.levels) == (system, levels)
        ]
    (entry,) = (entry for entry in SUITES.load("medconceal").as_published.tables if entry.paper == place)
    lower = ("MBNR", "Turn-to-Address", "Reveal-to-Address", "Meta-Probe")
    directions = {name: "none" if name == "Word/Turn" else "lower" if name in lower else "higher" for name in measures}
    table = results(
        view_of(rows, pl.DataFrame(factors), order=study_order([SUITES.load("medconceal")])),
        metrics=[{"metric": name, "digits": 3, "direction": directions[name]} for name in measures],
        rows=["system", "setting"], columns=["metric"], key_columns=2, spread="none", best="always", n=False,
        **{name: entry.options()[name] for name in ("matched", "second")}, best_among=["system", "setting"],
    )  # fmt: skip
    marks: dict[tuple[str, ...], str] = {}
    by_line = rows_of(table, 2)
    for (system, setting), row in zip(by_line, table.rows, strict=True):
        for name, cell in zip(measures, row.cells[2:], strict=True):
            marks[system, setting, name] = "green" if cell.bold else "blue" if cell.underline else ""
    wrong: dict[tuple[str, ...], tuple[str, str]] = {}
    for number in numbers:
        place_of = (number.system, number.levels[0] if number.levels else "Human", number.measure)
        if marks[place_of] != number.note.partition(":")[0]:
            wrong[place_of] = (number.note.partition(":")[0], marks[place_of])
    assert wrong == COLOURED_WRONGLY.get(place, {})


def test_without_settings_medconceals_lines_are_the_systems(tmp_path: Path) -> None:
    """Matched lengths are levels of a factor that no transcript has: nothing is marked by them."""
    talk = (("clinician", "What worries you?"), ("patient", "The pills."))
    factors = {"task": "confirmation"}
    made = [
        replace(conversation(*talk, id=name, language="en"), system=name, case_id="c", factors=factors)
        for name in ("A", "B")
    ]
    view = open_ratings_view(scored(tmp_path, made, suite="medconceal").path)
    table = published(view, "medconceal", "confirmation-style")
    assert [row.cells[0].text for row in table.rows] == ["A", "B"]
    assert any("No transcript has the factor setting" in note for note in table.notes)


def test_two_sets_of_findings_over_the_same_dialogues_are_two_rows(tmp_path: Path) -> None:
    said = "I'm afraid that I would get hooked on them"
    category = "emotional discomfort or fear"
    talks = []
    for setting, count in (("Human summary", 1), ("Claude summary", 4)):
        found = [{"category": category, "text": f"Finding {place}"} for place in range(count)]
        match = {"finding": 0, "concern": "c0", "quote": said, "category_agrees": True}
        concerns = [{"id": f"c{place}", "category": category, "text": f"Fear {place}"} for place in range(2)]
        reference = {"concerns": concerns, "submitted_findings": found, "medconceal": {JUDGE: {"matches": [match]}}}
        talks += [
            replace(
                conversation(("clinician", "What worries you?"), ("patient", said), id=f"{setting}-{case}"),
                system="human", case_id=f"c{case}", reference=reference,
                factors={"task": "confirmation", "setting": setting},
            )
            for case in range(3)
        ]  # fmt: skip
    run = scored(tmp_path, talks, suite="medconceal")
    lines = rows_of(published(open_ratings_view(run.path), "medconceal", "confirmation"), 3)
    people = {setting: texts for (_, setting, _), texts in lines.items()}
    # Coarse P, R, F1 and fine P, R, F1: 1 of 1 and 1 of 2; 2 or 1 of 4 and of 2.
    assert people == {
        "Human summary": ["1.000", "0.500", "0.667", "1.000", "0.500", "0.667"],
        "Claude summary": ["0.500", "1.000", "0.667", "0.250", "0.500", "0.333"],
    }


def test_a_bootstraps_interval_is_scipys_and_the_p_that_of_all_sign_flips() -> None:
    rng = np.random.default_rng(9)
    a, b = rng.normal(0.3, 1, 14), rng.normal(0, 1, 14)
    view = ratings_view(
        *(rated(name, case, warmth=float(value)) for name, own in zip("AB", (a, b), strict=True)
          for case, value in enumerate(own))
    )  # fmt: skip
    (pair,) = compare(view, metrics=["warmth"], test="permutation", bootstrap=True).pairs
    differences = a - b
    means = np.array(list(product((1, -1), repeat=14))) @ differences / 14
    exact = np.mean(np.abs(means) >= abs(differences.mean()) - 1e-12)
    assert pair.test.p == pytest.approx(exact, abs=0.015)
    theirs = stats.bootstrap((differences,), np.mean, n_resamples=20_000, random_state=1).confidence_interval
    assert pair.test.interval is not None
    assert pair.test.interval.low == pytest.approx(theirs.low, abs=0.05)
    assert pair.test.interval.high == pytest.approx(theirs.high, abs=0.05)
    (inverted,) = compare(view, metrics=["warmth"], test="permutation").pairs
    assert inverted.test.p == pair.test.p
    assert inverted.test.interval != pair.test.interval
