"""The leaderboard of a run: its cells by hand, what orders it, what is missing, which part a measure is about."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

import bedside
from bedside.analysis.metric_facts import facts, known_scale
from bedside.analysis.ratings_view import RatingsView, open_ratings_view
from bedside.core.errors import RegistryError
from bedside.ratings.run import Run
from bedside.ratings.suites import SUITES
from bedside.ratings.table import frame_of
from bedside.reports.build import build_tables
from bedside.reports.contents import check_suite, make_parts
from bedside.reports.table import Table
from bedside.reports.table_content import Cell, Heading, Row
from bedside.reports.tables.leaderboard import leaderboard_sentences, pilot_spread
from tests.analysis import simulated_run
from tests.analysis.simulated_run import simulation
from tests.reports.builders import cells_of, rating, titles_of

SUITE: dict[str, Any] = {
    "name": "mine",
    "title": "Mine",
    "description": "Of my own.",
    "source": "nobody",
    "metrics": ["structure"],
    "tables": [
        {"id": "speech", "kind": "results", "metrics": ["words_per_turn.patient"]},
        {"id": "quality", "kind": "results", "metrics": [{"metric": "empathy", "title": "Warmth"}, "partnership"]},
    ],
}


def scored(folder: Path, simulated: Callable[[Path], Path] = simulation, **suite: Any) -> Run:
    """The run of a simulation with numbers known, scored by a suite of one's own."""
    file = folder / "mine.yaml"
    file.write_text(yaml.safe_dump({**SUITE, **suite}), "utf-8")
    return bedside.score(simulated(folder / "talks"), folder / "run", suite=str(file)).run


def judged(run: Run, rater: str = "judge:x", metric: str = "empathy", best: str = "rules-toy") -> RatingsView:
    """The run's ratings with a judge's: one system has 5, the other 2 or 3."""
    view = open_ratings_view(run)
    transcripts = view.transcripts().select("transcript_id", "system", "case_id").iter_rows()
    rows = [
        rating(name, system, case, metric, 5.0 if system == best else 2.0 + (case == "gout"), rater)
        for name, system, case in transcripts
    ]
    ratings = pl.concat([view.ratings, frame_of(rows).select(view.ratings.columns)])
    return replace(view, ratings=ratings)


def close_run(view: RatingsView) -> RatingsView:
    """The toy has 4.5 in empathy, on the metric's own scale."""
    level = pl.when(pl.col("system") == "rules-toy", pl.col("metric") == "empathy").then(4.5)
    return scaled(replace(view, ratings=view.ratings.with_columns(level.otherwise("value").alias("value"))))


def scaled(view: RatingsView) -> RatingsView:
    scale = known_scale("empathy")
    assert scale is not None
    return replace(view, scales={"empathy": scale})


def leaderboard(view: RatingsView) -> Table:
    (table,) = build_tables(view, ["leaderboard"])
    return table


def test_its_cells_by_hand(tmp_path: Path) -> None:
    table = leaderboard(judged(scored(tmp_path)))
    assert titles_of(table) == ["Rank", "System", "Empathy ↑", "Worst of 2", "Completed", "Missing", "Cost"]
    # 3 cases: mean 7/3, t interval with 2 degrees of freedom and standard error 1/3.
    assert cells_of(table) == [
        ["1–2", "rules-toy (toy)", "5.00", "5.00", "8/12", "0/12", "–"],
        ["1–2", "lab/doctor", "2.33 [0.90, 3.77]", "2.33", "5/12", "3/12", "–"],
    ]
    assert [row.cells[2].marks for row in table.rows] == ["a", "a"]
    assert leaderboard_sentences(table) == [
        "No system is shown to lead on Empathy (3 cases): rules-toy or lab/doctor may be first."
    ]
    assert [note.partition(" ")[0] for note in table.notes if getattr(note, "warns", False)] == ["Toys"]
    notes = "\n".join(table.notes)
    for part in (
        "Ordered by Empathy. It is the first of the main measures of the suite that has a value.",
        "n = 3 cases",
        "Without a value: Partnership. Not rated yet: bedside score FILES --out RUN --judge MODEL",
        "permutation",
        "A mean without brackets",
        "p is corrected by Holm over the pairs of a measure (1 that can be tested)",
        "missing, patient: wrong language 2",
        "Cost isn't known",
        "Toys are rules or scripts in place of a model (rules-toy)",
        "Averaged over persona (open, terse)",
        "missing here (lab/doctor 3 of 12",
    ):
        assert part in notes
    assert "lab/doctor: its end isn't known" not in notes
    assert "completed" not in {note.split(" ")[2] for note in table.notes if note.startswith("Averaged over")}
    record = table.records[1]
    shown = [record[name] for name in ("cell", "planned", "completed", "toy")]
    assert shown == ["empathy/lab/doctor", 12, 5, False]
    assert record["mean"] == pytest.approx(7 / 3)
    assert (record["failed"], record["missing"], record["planned_cases"]) == (0, 3, 3)


def test_repeats_by_hand(tmp_path: Path) -> None:
    """One case always succeeds, one in half of its repeats, one never."""
    levels = {"asthma": (5.0, 5.0), "gout": (5.0, 3.0), "migraine": (3.0, 3.0)}
    view = judged(scored(tmp_path, success={"empathy": 4}))
    values = pl.struct("metric", "system", "case_id", "transcript_id", "value").map_elements(
        lambda row: (
            levels[row["case_id"]][int(row["transcript_id"][-1]) - 1]
            if (row["metric"], row["system"]) == ("empathy", "rules-toy")
            else row["value"]
        ),
        return_dtype=pl.Float64,
    )
    table = leaderboard(replace(view, ratings=view.ratings.with_columns(values.alias("value"))))
    assert titles_of(table)[3] == "pass^2"
    assert [row[3] for row in cells_of(table)] == ["0.33", "0.00"]
    record = table.records[0]
    shown = ("system", "repeats", "success", "succeeding", "worst_of_repeats")
    assert [record[name] for name in shown] == ["rules-toy", 2, 4, 0.5, pytest.approx(11 / 3)]
    assert record["all_succeeding"] == pytest.approx(1 / 3)
    # Two of six situations have squares of 2; the cases' means 5, 4 and 3 hold a quarter of that variance.
    assert record["variance_between_repeats"] == pytest.approx(4 / 6)
    assert record["variance_between_cases"] == pytest.approx(1 - 4 / 6 / 4)
    (card,) = build_tables(view, ["simulation_card"])
    steady = {record["name"]: record["value"] for record in card.records if record["part"] == "Steady over repeats"}
    assert steady.keys() == {"rules-toy", "lab/doctor"}
    assert "success: Empathy ≥ 4" in steady["rules-toy"]


def test_the_order_that_hangs_on_what_is_missing_is_told(tmp_path: Path) -> None:
    view = judged(scored(tmp_path), best="lab/doctor")
    assert view.run is not None
    table = leaderboard(close_run(view))
    # lab/doctor has 5 in all nine conversations that it has, and 1 in the three that are missing: 5, 3 and 4.
    assert [row[1] for row in cells_of(table)] == ["lab/doctor", "rules-toy (toy)"]
    assert [record["mean"] for record in table.records] == [5.0, 4.5]
    assert [record["mean_with_worst"] for record in table.records] == [4.0, 4.5]
    worst = [note for note in table.notes if note.startswith("Warning: the order by Empathy")]
    assert [note.endswith("rules-toy 4.50, lab/doctor 4.00.") for note in worst] == [True]
    steady = leaderboard(scaled(judged(view.run)))
    # Asthma 2; gout two of 3 and two missing, at 1; migraine three of 2 and one missing.
    mean = (2 + (3 + 3 + 1 + 1) / 4 + (2 * 3 + 1) / 4) / 3
    assert steady.records[1]["mean_with_worst"] == pytest.approx(mean)
    assert "The order by Empathy stays the same with the worst in place of what is missing." in steady.notes


def test_failed_conversations_of_earlier_versions_order_a_system_as_the_worst(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They have no transcript and no rating: an agent that breaks where it is hard must not lead by that."""
    broken = ("infrastructure", "the agent raised ValueError")
    monkeypatch.setattr(simulated_run, "LOST", dict.fromkeys(simulated_run.LOST, broken))
    view = judged(scored(tmp_path), best="lab/doctor")
    table = leaderboard(close_run(view))
    # Of four conversations a case, two of one and one of another are 1 in place of 5: (5 + 3 + 4) / 3 = 4.
    assert [row[1] for row in cells_of(table)] == ["rules-toy (toy)", "lab/doctor"]
    assert [record["mean"] for record in table.records] == [4.5, 5.0]
    assert [row[5] for row in cells_of(table)] == ["0/12", "3/12"]
    notes = "\n".join(table.notes)
    assert "as of earlier versions: lab/doctor 3." in notes
    assert "the mean with the worst for each of them: lab/doctor 4.00." in notes


def test_what_only_failed_conversations_are_rated_with_orders_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A judge that could rate none of the sound conversations doesn't put those first that failed."""

    def failing(folder: Path) -> Path:
        """The simulation, with one system's conversations failed by it, which have transcripts all the same."""
        simulation(folder)
        talks = map(json.loads, (folder / "transcripts.jsonl").read_text("utf-8").splitlines())
        lines = [
            {"id": talk["id"], "system": "rules-toy", "case": talk["case_id"], "state": "failed", "whose": "clinician",
             "reason": "it said nothing"}
            for talk in talks if talk["system"] == "rules-toy"
        ]  # fmt: skip
        with (folder / "failed.jsonl").open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)
        return folder

    view = judged(scored(tmp_path, failing))
    assert "Empathy ↑" in titles_of(leaderboard(view))
    only = view.ratings.filter((pl.col("metric") != "empathy") | (pl.col("system") == "rules-toy"))
    table = leaderboard(replace(view, ratings=only))
    assert titles_of(table) == ["Rank", "System", "Completed", "Failed", "Missing", "Cost"]
    assert [row[:2] for row in cells_of(table)] == [["–", "lab/doctor"], ["–", "rules-toy (toy)"]]
    assert [row[3] for row in cells_of(table)] == ["0/12", "12/12"]


def test_the_suite_names_what_orders_it(tmp_path: Path) -> None:
    view = judged(scored(tmp_path, main=["partnership", "empathy"]))
    table = leaderboard(view)
    assert "It is the first of the main measures that the suite names that has a value." in table.notes[0]
    assert view.run is not None
    more = judged(view.run, metric="partnership", best="lab/doctor").ratings.filter(metric="partnership")
    both = leaderboard(replace(view, ratings=pl.concat([view.ratings, more])))
    assert titles_of(both)[2:4] == ["Partnership ↑", "Empathy ↑"]
    # Partnership has the other order.
    assert [row[1] for row in cells_of(both)] == ["lab/doctor", "rules-toy (toy)"]
    assert [record["orders"] for record in both.records] == [True, False, True, False]


def test_several_judges_have_a_column_each(tmp_path: Path) -> None:
    run = scored(tmp_path)
    one = judged(run)
    other = judged(run, rater="judge:y", best="lab/doctor").ratings.filter(rater="judge:y")
    table = leaderboard(replace(one, ratings=pl.concat([one.ratings, other])))
    assert titles_of(table)[2:4] == ["Empathy (x) ↑", "Empathy (y) ↑"]
    assert "as rated by x" in table.notes[0]
    assert {record["cell"] for record in table.records} == {
        f"empathy@judge:{judge}/{system}" for judge in "xy" for system in ("rules-toy", "lab/doctor")
    }


def test_without_any_value_it_says_what_is_missing(tmp_path: Path) -> None:
    table = leaderboard(open_ratings_view(scored(tmp_path)))
    assert [row[:3] for row in cells_of(table)] == [["–", "lab/doctor", "5/12"], ["–", "rules-toy (toy)", "8/12"]]
    assert table.notes[0].startswith("None of the suite's main measures has a number")
    assert leaderboard_sentences(table) == [table.notes[0]]


def test_the_spread_of_a_pilot_by_hand(tmp_path: Path) -> None:
    """Differences of 3, 2 and 3."""
    view = judged(scored(tmp_path))
    found = pilot_spread(view)
    assert found is not None
    assert (found.title, found.cases) == ("Empathy", 3)
    assert found.sd == pytest.approx(3**-0.5)
    assert pilot_spread(replace(view, ratings=view.ratings.filter(pl.col("system") == "rules-toy"))) is None


def test_who_leads_is_said_where_it_is_shown() -> None:
    def board(*ranks: tuple[int, int]) -> Table:
        records = [
            {"orders": True, "best_rank": low, "worst_rank": high, "n": 12, "of": 14, "system": str(place)}
            for place, (low, high) in enumerate(ranks)
        ]
        rows = [Row((Cell("1"), Cell(f"s{place}"), Cell("0.5", record=place))) for place in range(len(ranks))]
        columns = (Heading("Rank"), Heading("System"), Heading("Facts told ↑"))
        return Table("leaderboard", "Leaderboard", columns, tuple(rows), ("Ordered by it.",), tuple(records))

    assert leaderboard_sentences(board((1, 1), (2, 2))) == ["s0 leads on Facts told: 0.5 (12 of 14 cases)."]
    assert leaderboard_sentences(board((1, 2), (1, 3), (2, 3)))[0].endswith("(12 of 14 cases): s0 or s1 may be first.")
    assert leaderboard_sentences(board(*[(1, 5)] * 5))[0].endswith(": 5 of 5 systems may be first.")
    assert leaderboard_sentences(board((1, 1)))[0].endswith("no other system has a value.")


def test_a_system_whose_conversations_are_all_missing_stands_last_with_the_reason(tmp_path: Path) -> None:
    """The patient answers one clinician in the language of the case, and the other in none that it is in."""

    def asks(request: dict[str, Any]) -> str:
        return "What worries you most?"

    def hums(request: dict[str, Any]) -> str:
        return "Hm, go on."

    def patient(request: dict[str, Any]) -> str:
        foreign = "Hm, go on." in json.dumps(request["messages"])
        return "我最近睡得不太好。" if foreign else f"I have said {request['turn']} things so far."

    done = bedside.benchmark(
        "medconceal", tmp_path / "out", clinician=[hums, asks], patient=patient, evaluator="rules",
        settings="confirmation-8", sample=2,
    )  # fmt: skip
    first, second = done.leaderboard.rows
    assert ("asks" in first.cells[1].text, "hums" in second.cells[1].text) == (True, True)
    assert (second.cells[0].text, second.cells[2].text) == ("–", "–")
    (sentence,) = leaderboard_sentences(done.leaderboard)
    assert sentence.endswith("(2 cases); no other system has a value.")
    (warning,) = [note for note in done.leaderboard.notes if "are missing" in note]
    assert warning == f"Warning: all conversations of {second.cells[1].text} are missing (patient: wrong language)."


@pytest.mark.slow
def test_a_report_begins_with_it_where_something_was_simulated(tmp_path: Path) -> None:
    parts = make_parts(judged(scored(tmp_path)), figures=False)
    assert parts[0].title == "Leaderboard"
    assert [table.name for table in parts[0].tables] == ["leaderboard"]
    real = bedside.score(bedside.EXAMPLES / "transcripts.jsonl", tmp_path / "real", metrics="turns").run
    names = {table.name for table in build_tables(open_ratings_view(real))}
    assert "leaderboard" not in names


@pytest.mark.slow
def test_measures_are_about_the_part_of_their_tables(tmp_path: Path) -> None:
    talks = bedside.simulate(
        None, "medconceal", tmp_path / "talks", clinician=["script:good", "script:brisk"], sample=3,
        settings=["confirmation-8", "intervention-8"],
    )  # fmt: skip
    run = bedside.score(talks.folder, tmp_path / "run", suite="medconceal").run
    table = leaderboard(open_ratings_view(run))
    assert [(column.group, column.title) for column in table.columns][2:5] == [
        ("confirmation", "Reveal rate ↑"), ("intervention", "Primary concern addressed ↑"),
        ("intervention", "Reveal rate ↑"),
    ]  # fmt: skip
    assert cells_of(table)[0][-2:] == ["6/6", "$0.00"]
    assert {record["conversations"] for record in table.records} == {3}
    assert any(note.startswith("Without a value: Hidden concerns: F1 (confirmation)") for note in table.notes)
    assert not any("Averaged over" in note for note in table.notes), "each part has one setting"
    only = bedside.simulate(None, "medconceal", tmp_path / "one", clinician="script:good", sample=2)
    lone = bedside.score(only.folder, tmp_path / "lone", suite="medconceal").run
    alone = leaderboard(open_ratings_view(lone))
    assert [row[0] for row in cells_of(alone)] == ["1"]
    assert "Only one system has values: there is nothing to tell it from." in alone.notes


def test_a_main_measure_that_no_table_shows_is_refused() -> None:
    suite = SUITES.load("note2chat").model_copy(update={"main": ("history_f2",)})
    with pytest.raises(RegistryError, match=r"'history_f2'.*history_f1"):
        check_suite(suite)


@pytest.mark.parametrize("name", SUITES.names())
def test_main_measures_of_shipped_suites_have_a_direction(name: str) -> None:
    suite = SUITES.load(name)
    check_suite(suite)
    assert all(facts(metric).direction != "none" for metric in suite.main)
