"""Tables as the sources of suites printed them: rows, columns, order, digits, marks; and the sources' own numbers."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import bedside
from bedside.analysis.ratings_view import RatingsView, open_ratings_view
from bedside.analysis.study_parts import StudyOrder, study_order
from bedside.cli import app
from bedside.core.errors import BedsideError
from bedside.ratings.suites import SUITES
from bedside.ratings.suites.published_numbers import PublishedNumber, published_numbers
from bedside.ratings.suites.suite import Suite
from bedside.ratings.table import frame_of
from bedside.reports.contents import check_suite, make_parts, make_tables
from bedside.reports.report_settings import ReportSettings
from bedside.reports.results_layout import ResultsOptions
from bedside.reports.table import Table
from bedside.reports.tables import TABLES
from bedside.scoring.score import score
from tests.conftest import conversation
from tests.reports.made import made_run

DATA = Path(__file__).parents[3] / "shared" / "data"
DOCS = Path(__file__).parents[2] / "docs" / "suites"
PROTOCOLS = ("calm-it", "mdd5k", "medconceal", "multisense", "note2chat")
EXAMPLE = Path(bedside.__file__).parent / "examples" / "transcripts.jsonl"
PRINTED = ReportSettings(as_published=True, published_numbers=True)
JUDGE = "judge:m"


def rated(system: str, case: int, rater: str = JUDGE, **values: float | None) -> list[tuple[Any, ...]]:
    """A transcript's ratings; a metric's role stands after two underscores."""
    return [
        (f"{system}-{case}", system, f"c{case}", "transcript", metric.replace("__", "."), rater, 0, value, None, None,
         None if value is not None else "as drawn")
        for metric, value in values.items()
    ]  # fmt: skip


def view_of(*ratings: list[tuple[Any, ...]], **more: Any) -> RatingsView:
    return RatingsView(
        frame_of(row for rows in ratings for row in rows), {}, more.pop("factors", None), "r", **more
    )


def results(view: RatingsView, **options: Any) -> Table:
    table = TABLES.load("results").make(view, 0, ResultsOptions.model_validate(options))
    assert table is not None
    return table


def cells(table: Table) -> dict[str, list[str]]:
    return {row.cells[0].text: [cell.text for cell in row.cells[1:]] for row in table.rows}


# -- order and labels ---------------------------------------------------------------------------------


def suite_of(**more: Any) -> Suite:
    head = {"name": "own", "title": "Own", "description": "x", "source": "x", "metrics": ["structure"]}
    return Suite.model_validate({**head, **more})


def test_systems_and_levels_stand_as_a_suite_lists_them_and_the_others_after() -> None:
    suite = suite_of(
        systems={"z": "Zeta", "m": "Mu"},
        levels={"literacy": ["low", "high"], "stage": {"b": "First", "a": "Then"}},
    )
    order = study_order([suite])
    assert order.ordered_systems(["a", "m", "b", "z"]) == ["z", "m", "a", "b"]
    assert order.ordered_levels("literacy", ["high", "none given", "middle", "low"]) == [
        "low", "high", "middle", "none given",
    ]  # fmt: skip
    assert order.ordered_levels("length", ["100", "30"]) == ["30", "100"]
    assert (order.system_label("z"), order.system_label("a")) == ("Zeta", "a")
    assert order.level_label("stage", "b") == "First"
    assert study_order([suite, suite_of(systems=["q"])]).systems == suite.systems


def test_a_name_is_listed_once() -> None:
    with pytest.raises(ValueError, match="'a' is listed twice"):
        suite_of(systems=["a", "b", "a"])


def test_tables_and_the_direction_of_tests_follow_the_order() -> None:
    ratings = [
        rated(system, case, empathy=case + place) for place, system in enumerate("azm") for case in range(4)
    ]
    order = StudyOrder({"z": "Zeta", "m": "Mu"})
    table = results(view_of(*ratings, order=order), metrics=["empathy"])
    assert [column.title for column in table.columns] == ["Metric", "Zeta", "Mu", "a"]
    assert {record["system"] for record in table.records} == {"a", "m", "z"}, "records keep the names"
    compared = TABLES.load("comparison").make(view_of(*ratings, order=order))
    assert compared is not None
    assert [row.cells[0].text for row in compared.rows] == ["Zeta − Mu", "Zeta − a", "Mu − a"]
    assert [(record["a"], record["b"], record["difference"]) for record in compared.records] == [
        ("z", "m", -1), ("z", "a", 1), ("m", "a", 2),
    ]  # fmt: skip


def test_a_run_is_read_in_the_order_of_its_suite(tmp_path: Path) -> None:
    suite = tmp_path / "own.yaml"
    suite.write_text(
        "name: own\ntitle: Own\ndescription: x\nsource: x\nmetrics: [structure]\n"
        "systems: {steady: A steady one, brisk: A brisk one}\n"
        "tables:\n  - {id: talk, kind: results, metrics: [turns]}\n",
        "utf-8",
    )
    run = score([EXAMPLE], tmp_path / "run", suite=str(suite)).run
    assert open_ratings_view(run.path).systems() == ["steady", "brisk", "careless"]
    (table,) = make_tables(open_ratings_view(run.path), ["talk"])
    assert [column.title for column in table.columns[1:]] == ["A steady one", "A brisk one", "careless"]


# -- measures -----------------------------------------------------------------------------------------

BOTH = {
    "metric": "self_consistency",
    "title": "Both",
    "mean": ["self_consistency.clinician", "self_consistency.patient"],
    "digits": 4,
}


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
    return view_of(*ratings), drawn


def test_a_mean_of_metrics_is_taken_within_each_transcript_that_has_all() -> None:
    view, drawn = two_roles(1)
    table = results(view, metrics=[BOTH])
    for system, record in zip("ab", table.records, strict=True):
        whole = drawn[system].mean(axis=1)
        whole = whole[~np.isnan(whole)]
        assert record["n"] == len(whole)
        assert record["value"] == pytest.approx(whole.mean())
        assert record["sd"] == pytest.approx(whole.std(ddof=1))
    assert table.records[0]["missing"] == 1


def test_a_distance_from_the_corpus_is_that_of_the_means_and_the_least_is_bold() -> None:
    view, drawn = two_roles(2)
    corpus, other = two_roles(3, systems="r")
    view = RatingsView(view.ratings, {}, None, "r", reference=corpus)
    deviation = {**BOTH, "title": "Δ", "deviation": True}
    nearest = {**BOTH, "direction": "reference"}
    table = results(
        view, metrics=[nearest, deviation], best="always", spread="none", reference="AnnoMI", n=False
    )
    reference = np.nanmean(other["r"].mean(axis=1))
    means = {system: np.nanmean(values.mean(axis=1)) for system, values in drawn.items()}
    distances = {system: abs(mean - reference) for system, mean in means.items()}
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
    view, _ = two_roles(2)
    table = results(view, metrics=[BOTH, {**BOTH, "title": "Δ", "deviation": True}])
    assert [row.cells[0].text for row in table.rows] == ["Both"]
    assert any(
        "Δ (no reference corpus is named: bedside report RUN --reference RUN2)" in note
        for note in table.notes
    )


def test_a_difference_from_a_system_is_signed_and_the_system_has_none() -> None:
    ratings = [rated(system, case, empathy=value) for system, value in (("base", 3.0), ("up", 4.25), ("down", 2.5))
               for case in range(3)]  # fmt: skip
    table = results(
        view_of(*ratings),
        metrics=[{"metric": "empathy", "title": "Δ", "minus": "base", "digits": 2}],
        n=False,
    )
    assert cells(table) == {"Δ ↑": ["–", "−0.50", "+1.25"]}


@pytest.mark.parametrize(
    ("value", "text"), [(0.03, "0.03"), (0.081, "0.081"), (100.0, "100"), (0.0, "0"), (10.5, "10.5")]
)
def test_zeros_at_the_end_are_left_out_where_a_suite_says_so(value: float, text: str) -> None:
    table = results(
        view_of(rated("a", 0, empathy=value)),
        metrics=[{"metric": "empathy", "digits": 3, "trim": True}],
        spread="none",
    )
    assert table.rows[0].cells[1].text == text


def test_of_several_raters_the_preferred_one_with_values_is_shown() -> None:
    view = view_of(
        rated("a", 0, JUDGE, empathy=2.0, partnership=None),
        rated("a", 0, "human:x", empathy=4.0, partnership=3.0),
    )
    options: dict[str, Any] = {"metrics": ["empathy", "partnership"], "spread": "none"}
    assert cells(results(view, **options, raters=["judge:*", "people"])) == {
        "Empathy ↑": ["2.00"],
        "Partnership ↑": ["3.00"],
    }
    assert cells(results(view, **options, raters=["people", "judge:*"])) == {
        "Empathy ↑": ["4.00"],
        "Partnership ↑": ["3.00"],
    }
    assert len(results(view, **options).rows) == 3


def test_the_first_key_of_a_block_stands_once_and_the_best_is_sought_over_what_is_named() -> None:
    values = {("x", "8"): 1.0, ("x", "20"): 4.0, ("y", "8"): 2.0, ("y", "20"): 3.0}
    ratings = [
        [(f"{system}-{setting}", system, "c", "transcript", "empathy", JUDGE, 0, value, None, None, None)]
        for (system, setting), value in values.items()
    ]
    factors = pl.DataFrame(
        {"transcript_id": [f"{s}-{t}" for s, t in values], "setting": [t for _, t in values]}
    )
    view = view_of(
        *ratings, factors=factors, order=StudyOrder({}, {"setting": {"8": "8-turn", "20": "long"}})
    )
    options: dict[str, Any] = {
        "metrics": ["empathy"], "rows": ["system", "setting"], "columns": ["metric"], "key_columns": 2,
        "names": {"system": "Model"}, "spread": "none", "best": "always", "n": False,
    }  # fmt: skip
    table = results(view, **options, best_among=["system", "setting"])
    assert [column.title for column in table.columns] == ["Model", "Setting", "Empathy ↑"]
    assert [[cell.text for cell in row.cells] for row in table.rows] == [
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
    keys = [(number.place, number.measure, number.system, number.levels) for number in numbers]
    assert len(set(keys)) == len(keys)
    assert all(np.isfinite(number.value) for number in numbers)


def number(suite: str, place: str, measure: str, system: str, *levels: str) -> float:
    (found,) = [
        number.value
        for number in published_numbers(suite)
        if (number.place, number.measure, number.system, number.levels) == (place, measure, system, levels)
    ]
    return found


def test_the_numbers_agree_among_themselves_where_their_sources_say_they_do() -> None:
    """MedConceal: F1 of precision and recall; Note2Chat: Avg. of six columns; CALM-IT: tables 2 and A16."""
    lines = {(n.system, n.levels) for n in published_numbers("medconceal") if n.place == "Table 1"}
    for system, levels in lines:
        for kind in ("Coarse", "Fine"):
            p, r, f1 = (
                number("medconceal", "Table 1", f"{kind} {what}", system, *levels)
                for what in ("P", "R", "F1")
            )
            assert f1 == pytest.approx(2 * p * r / (p + r), abs=0.0016)
    six = ("F1", "Recall", "Precision", "Top-1", "Top-2", "Top-3")
    for average in (n for n in published_numbers("note2chat") if n.measure == "Avg."):
        columns = [
            number("note2chat", "Table 2", measure, average.system, *average.levels) for measure in six
        ]
        assert average.value == pytest.approx(np.mean(columns), abs=0.051)
    again = {(n.measure.replace("Softening", "Soften"), n.system): n.value for n in published_numbers("calm-it")
             if n.place == "Table 2"}  # fmt: skip
    shared = [n for n in published_numbers("calm-it") if n.place == "Table A16" and n.system != "AnnoMI"]
    assert len(shared) == 48
    assert all(again[n.measure, n.system] == n.value for n in shared)


def as_printed(
    suite: str, place: str, metrics: dict[str, str], scale: dict[str, float], level: str | None = None
) -> RatingsView:
    """One transcript for each line of a printed table, whose values are the printed ones."""
    numbers = [n for n in published_numbers(suite) if n.place == place and n.measure in metrics]
    by_line: dict[tuple[str, tuple[str, ...]], dict[str, float]] = {}
    for n in numbers:
        by_line.setdefault((n.system, n.levels), {})[metrics[n.measure]] = n.value / scale.get(n.measure, 1.0)
    rows: list[tuple[Any, ...]] = []
    factors = []
    for place_, ((system, levels), values) in enumerate(by_line.items()):
        name = f"t{place_}"
        factors.append({"transcript_id": name, **({level: levels[0]} if level else {})})
        rows += [(name, system, "c", "transcript", metric, JUDGE, 0, value, None, None, None)
                 for metric, value in values.items()]  # fmt: skip
    return RatingsView(
        frame_of(rows),
        {},
        pl.DataFrame(factors) if level else None,
        "r",
        order=study_order([SUITES.load(suite)]),
    )


def printed_table(view: RatingsView, suite: str, name: str) -> Table:
    (table,) = make_tables(view, [name], suite=SUITES.load(suite), settings=PRINTED)
    return table


def the_same_cells(table: Table, suite: str, place: str) -> int:
    """Check that each number of ours is printed as the source printed it; how many there are."""
    found = 0
    for row in table.rows:
        for cell in row.cells:
            both = re.fullmatch(r"(\S+) \{(\S+)\}", cell.text)
            if both:
                found += 1
                assert both[1].lstrip("+") == both[2], (place, [cell.text for cell in row.cells])
    return found


NOTE2CHAT = {
    "F1": "history_f1", "Recall": "history_recall", "Precision": "history_precision", "Top-1": "diagnosis_top_1",
    "Top-2": "diagnosis_top_2", "Top-3": "diagnosis_top_3", "#Turn": "turns",
}  # fmt: skip
IN_PERCENT = dict.fromkeys(("F1", "Recall", "Precision", "Top-1", "Top-2", "Top-3"), 100.0)


def test_note2chats_first_table_is_printed_digit_by_digit() -> None:
    view = as_printed("note2chat", "Table 1", NOTE2CHAT, IN_PERCENT)
    table = printed_table(view, "note2chat", "models")
    assert [column.title for column in table.columns] == ["Model", *NOTE2CHAT]
    assert [row.cells[0].text for row in table.rows][:3] == ["GPT-4o", "o4-mini", "Gemini-2.5-flash"]
    # One of the 82 has two decimals in print: #Turn of HuatuoGPT-o1-8B.
    texts = [cell.text for row in table.rows for cell in row.cells]
    assert texts.count("2.0 {2.02}") == 1
    shown = [text for text in texts if re.fullmatch(r"(\S+) \{\1\}", text)]
    assert len(shown) == 81
    bold = {row.cells[0].text: [cell.bold for cell in row.cells[1:]] for row in table.rows}
    assert bold["Note2Chat-ST"] == [True, False, True, True, True, True, False]
    assert bold["Note2Chat-MT"] == [False, True, False, False, False, False, False]
    assert "in braces, as printed in Table 1 of Zhou et al." in table.title


def test_note2chats_averages_and_differences_come_out_as_printed() -> None:
    view = as_printed("note2chat", "Table 2", NOTE2CHAT, IN_PERCENT, level="mode")
    table = printed_table(view, "note2chat", "ablation")
    assert [column.title for column in table.columns] == [
        "Mode", "Model", "F1", "Recall", "Precision", "Top-1", "Top-2", "Top-3", "Avg.", "Δ", "#Turn",
    ]  # fmt: skip
    assert [(row.cells[0].text, row.cells[1].text) for row in table.rows] == [
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
    table = printed_table(as_printed("calm-it", "Table 2", CALM_IT, {}), "calm-it", "quality")
    assert [column.title for column in table.columns] == ["Metric", "KMI", "CI-NC", "C+S", "CI"]
    assert [row.cells[0].text.removesuffix(" ↓") for row in table.rows] == list(CALM_IT)
    assert the_same_cells(table, "calm-it", "Table 2") == 14 * 4
    arrows = [row.cells[0].text for row in table.rows if "↓" in row.cells[0].text]
    assert arrows == ["Client Readability ↓", "Therapist Readability ↓"]
    # KMI leads change talk and the ratio, as the layout's contradictions say.
    leads = {row.cells[0].text: [cell.bold for cell in row.cells[1:]].index(True) for row in table.rows}
    assert leads["Cultivating Change Talk"] == leads["Reflection-Question Ratio"] == 0
    assert leads["Client Readability ↓"] == leads["Goal Alignment"] == 3
    assert any(note.startswith("12 of 68 printed numbers stand nowhere above") for note in table.notes)
    assert any("7.22 and 6.65" in note for note in table.notes), "the gap of Dale–Chall is named"


def test_mdd5ks_ratings_are_printed_digit_by_digit() -> None:
    metrics = {"Professionalism": "professionalism", "Communication (i)": "communication_doctor",
               "Communication (ii)": "communication_patient", "Fluency (i)": "fluency_flow",
               "Fluency (ii)": "fluency_repetition", "Similarity": "similarity", "Safety": "safety"}  # fmt: skip
    table = printed_table(as_printed("mdd5k", "Table 2", metrics, {}), "mdd5k", "ratings")
    assert [column.title for column in table.columns] == ["Dataset", *metrics]
    assert [row.cells[0].text for row in table.rows] == ["D4", "CPsyCounD", "Role-playing", "MDD-5k"]
    assert the_same_cells(table, "mdd5k", "Table 2") == 28
    assert [cell.bold for cell in table.rows[3].cells[1:]] == [True, True, True, True, False, True, False]
    assert table.rows[0].cells[4].bold, "ties are all bold"


def test_a_number_without_a_place_is_counted_and_named() -> None:
    view = view_of(rated("Mine", 0, empathy=3.0), order=study_order([SUITES.load("calm-it")]))
    table = printed_table(view, "calm-it", "quality")
    assert cells(table) == {"Empathy": ["{4.66}", "{4.68}", "{3.53}", "{4.88}", "3.00"]}
    assert any(note.startswith("64 of 68 printed numbers stand nowhere above") for note in table.notes)
    published = {record["system"]: record.get("published") for record in table.records}
    assert published == {"KMI": 4.66, "CI-NC": 4.68, "C+S": 3.53, "CI": 4.88, "Mine": None}


def test_a_number_stands_beside_the_system_of_the_run_that_is_called_so_in_print() -> None:
    order = StudyOrder({"o1": "OpenAI o1", "openai/o1": "OpenAI o1"})
    numbers = (PublishedNumber("p", "Table 1", "Empathy", "OpenAI o1", (), "2.5", "", "", ""),)
    for system in order.systems:
        table = results(
            view_of(rated(system, 0, empathy=3.0), order=order),
            metrics=["empathy"],
            published=numbers,
            spread="none",
        )
        assert cells(table) == {"Empathy ↑": ["3.00 {2.5}"]}


def test_a_number_says_what_it_is() -> None:
    given = PublishedNumber("p", "Table 1", "F1", "A", ("MT",), "-0.5", "", "%", "")
    assert (str(given), given.value) == ("F1, A, MT −0.5", -0.5)


# -- the report ---------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("suite", ["calm-it", "mdd5k", "note2chat"])
def test_the_report_has_the_sources_tables_and_no_others_of_the_suite(suite: str, tmp_path: Path) -> None:
    run = made_run(tmp_path, suite, cases=3)
    own, *others = make_parts(open_ratings_view(run.path), settings=PRINTED, figures=False)
    assert [table.name for table in own.tables] == [
        entry.id for entry in SUITES.load(suite).as_published.tables
    ]
    assert own.left_out == ()
    assert {table.name for part in others for table in part.tables} <= {"rubrics", "missing"}


@pytest.mark.slow
def test_the_command_writes_them(tmp_path: Path) -> None:
    run = made_run(tmp_path, "mdd5k", cases=2)
    ran = CliRunner().invoke(
        app, ["report", str(run.path), "--as-published", "--published-numbers", "--format", "md"]
    )
    assert ran.exit_code == 0, ran.output
    folder = run.path / "report"
    assert {path.stem for path in folder.glob("*.md")} == {"dataset", "ratings", "rubrics", "missing"}
    assert "{6906.8}" in (folder / "dataset.md").read_text("utf-8")
    alone = CliRunner().invoke(app, ["report", str(run.path), "--published-numbers"])
    assert isinstance(alone.exception, BedsideError)
    assert "add --as-published" in str(alone.exception)
    report = bedside.report(run, tmp_path / "python", as_published=True)
    assert set(report.tables.names) >= {"dataset", "ratings"}


def test_a_run_whose_suite_has_no_source_says_so(tmp_path: Path) -> None:
    run = score([EXAMPLE], tmp_path / "run", metrics=["structure"]).run
    with pytest.raises(BedsideError, match="no suite of this run says what its source printed"):
        make_parts(open_ratings_view(run.path), settings=PRINTED)


@pytest.mark.slow
@pytest.mark.skipif(not DATA.is_dir(), reason="the published dialogues are not beside the project")
def test_real_dialogues_are_counted_as_by_hand(tmp_path: Path) -> None:
    """MDD-5k, 30 patients: dialogues, different ICD codes, exchanges and characters, counted from the files."""
    folder = DATA / "mdd5k"
    run = score([folder / "conversations"], tmp_path / "run", suite="mdd5k").run
    table = printed_table(open_ratings_view(run.path), "mdd5k", "dataset")
    talks = [talk["conversation"] for path in sorted((folder / "conversations").glob("*.json"))
             for talk in json.loads(path.read_text("utf-8"))]  # fmt: skip
    codes = {code.strip() for path in (folder / "labels").glob("*.json")
             for code in json.loads(path.read_text("utf-8"))["ICD_Code"].split(",")}  # fmt: skip
    values = {
        record["measure"]: record["value"] for record in table.records if record.get("value") is not None
    }
    assert values["Total num"] == len(talks) == 150
    assert values["Illness"] == len(codes)
    doctor = [[turn["doctor"] for turn in talk if "doctor" in turn] for talk in talks]
    assert values["Avg. words #doc"] == pytest.approx(
        np.mean([np.mean([len(text) for text in texts]) for texts in doctor]), rel=0.01
    )
    assert values["Avg. turns"] == pytest.approx(np.mean([len(talk) for talk in talks]), rel=0.02)


def test_a_wrong_option_of_a_sources_table_is_named() -> None:
    suite = suite_of(
        as_published={"tables": [{"id": "one", "kind": "results", "metrics": ["turns"], "arows": []}]}
    )
    with pytest.raises(BedsideError, match="table one: arows"):
        check_suite(suite)
    assert check_suite(
        suite_of(as_published={"tables": [{"id": "one", "kind": "results", "metrics": ["nobodys"]}]})
    )


def test_where_nobody_coded_turns_a_note_says_how_a_judge_does(tmp_path: Path) -> None:
    talk = [("clinician", "How are you?"), ("patient", "Not well."), ("clinician", "Tell me more.")]
    path = tmp_path / "talks.jsonl"
    path.write_bytes(conversation(*talk, id="a", system="CI", language="en").to_json() + b"\n")
    run = score([path], tmp_path / "run", suite="calm-it").run
    (table,) = make_tables(
        open_ratings_view(run.path), ["quality"], settings=ReportSettings(as_published=True)
    )
    assert any(
        "reflection_to_question_ratio" in note and "--judge MODEL --codes all" in note for note in table.notes
    )
    assert any(note.startswith("Left out: Δ_Ref") for note in table.notes) is False, "it has no value itself"


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


# -- several judges -----------------------------------------------------------------------------------


def test_of_several_judges_the_one_with_most_values_is_shown_and_the_others_are_named() -> None:
    raters = ("judge:*", "people")
    few, many = "judge:a", "judge:b"
    view = view_of(
        rated("A", 1, few, empathy=1.0),
        *(rated("A", case, many, empathy=3.0) for case in (1, 2, 3)),
        rated("B", 1, few, empathy=1.0),
        rated("A", 1, "human:ann", empathy=5.0),
    )
    table = results(view, metrics=["empathy"], raters=raters, spread="none", best="never")
    assert cells(table) == {"Empathy ↑": ["3.00"]}
    assert any(note.startswith("Rated by b (") for note in table.notes)
    assert "Also rated by people (Empathy); a (Empathy), not shown." in table.notes
    assert "B has values by a alone of Empathy: they are not shown here." in table.notes
    alone = results(view_of(rated("A", 1, few, empathy=1.0)), metrics=["empathy"], raters=raters)
    assert not any("not shown" in note for note in alone.notes)


def test_a_ratio_of_sums_takes_what_only_an_algorithm_counts_from_it() -> None:
    view = view_of(
        *(rated("A", case, JUDGE, elicited_findings=2.0, counted_findings=4.0) for case in (1, 2)),
        *(rated("A", case, "algorithm:history_taking@1", history_questions=6.0) for case in (1, 2)),
    )
    ratio = {
        "metric": "history_f1",
        "sum": ["elicited_findings"],
        "over": ["counted_findings", "history_questions"],
        "times": 2,
        "title": "F1",
        "digits": 1,
    }
    table = results(view, metrics=[ratio], raters=["judge:*"], spread="none")
    # 2 · 4 findings elicited, over 8 findings and 12 questions.
    assert [record["value"] for record in table.records] == [0.4]
    assert any("as counted by history_taking@1, whoever rates the rest" in note for note in table.notes)


def test_bounds_are_printed_as_bounds_and_standard_deviations_beside_means() -> None:
    numbers = [number for suite in PROTOCOLS for number in published_numbers(suite)]
    assert [number.printed for number in numbers if number.measure == "Illness" and number.bound] == [">25"]
    below = [number for number in numbers if number.bound == "<"]
    assert {number.text for number in below} == {"0.001", "0.05", "0.0001"}
    assert all(str(number).endswith(f"< {number.text}") for number in below)
    assert {number.printed for number in numbers if number.sd} >= {"2.45 (0.63)"}


# -- against a system that isn't there ----------------------------------------------------------------


def test_a_table_against_a_system_that_is_not_there_is_left_out() -> None:
    view = view_of(*(rated(system, case, empathy=float(case)) for system in "AB" for case in (1, 2, 3)))
    comparison = TABLES.load("comparison")
    assert comparison.options is not None
    options = comparison.options.model_validate({"metrics": ["empathy"], "against": "Human clinicians"})
    with pytest.raises(BedsideError, match="'Human clinicians'"):
        comparison.make(view, 0, options)
