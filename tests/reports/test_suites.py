"""The shipped suites: what they name exists, they run, and a report prints their tables; a suite of one's own too."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from bedside.analysis.ratings_view import open_ratings_view
from bedside.core.errors import RegistryError
from bedside.judges.rubrics.rubric_files import RUBRICS
from bedside.ratings.run import Run
from bedside.ratings.suites import SUITES
from bedside.ratings.suites.suite import parse_suite
from bedside.reports.build import write_report
from bedside.reports.contents import check_suite, make_parts, make_tables
from bedside.reports.report_settings import ReportSettings
from bedside.scoring.judging_orders import rubrics_of
from bedside.scoring.plan import make_plan
from bedside.scoring.score import score
from tests.conftest import Call, works
from tests.reports.builders import PROTOCOLS, TALKS, made_run, scored

pytestmark = pytest.mark.slow


OWN = """\
name: own
title: A suite of my own
description: What I want to see.
source: none
metrics: [structure]
tables:
  - id: talk
    kind: results
    title: Who talks
    metrics: {Talk: [talk_share, {metric: completed, percent: true}]}
    spread: ci
figures:
  - id: talk
    kind: bars
    metrics: [talk_share]
"""


def own_suite(folder: Path, old: str = "", new: str = "") -> Path:
    """The file of a suite of one's own, with other words in place of some."""
    path = folder / "own.yaml"
    path.write_text(OWN.replace(old, new) if old else OWN, "utf-8")
    return path


@pytest.fixture(scope="module")
def run_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Run]:
    """Gives a suite's made-up run, made once."""
    return cache(lambda suite: made_run(tmp_path_factory.mktemp(suite), suite, cases=3))


def test_the_table_of_interventions_begins_with_the_papers_columns() -> None:
    """MedConceal, Table 3."""
    (table,) = (table for table in SUITES.load("medconceal").tables if table.id == "intervention")
    metrics = [entry["metric"] for entry in table.options()["metrics"]]
    assert metrics[:5] == [
        "concern_addressed", "primary_revealed", "reveal_rate", "turns_to_address", "reveal_to_address_lag",
    ]  # fmt: skip
    assert len(set(metrics)) == len(metrics)


def test_every_rubric_belongs_to_a_suite() -> None:
    named = {rubric for name in SUITES.names() for rubric in SUITES.load(name).rubrics}
    # Variants of a rubric are asked where a user names them.
    assert named == set(RUBRICS.names()) - {"professionalism_by_diagnosis"}


@pytest.mark.parametrize("name", SUITES.names())
def test_what_a_suite_names_exists(name: str) -> None:
    suite = SUITES.load(name)
    assert make_plan(suite.metrics, suite.parameters).metrics
    for rubric in suite.rubrics:
        assert RUBRICS.load(rubric).name == rubric
    assert check_suite(suite) == []


def test_what_a_suites_own_rubrics_give_is_known(tmp_path: Path) -> None:
    sheet = "rubric: manners\ncriteria:\n" + "".join(
        f"  - {{name: {name}, definition: How {name} the listener is., scale: 1-6}}\n" for name in ("warm", "clear")
    )
    (tmp_path / "manners.yaml").write_text(f"{sheet}aggregate: {{name: manners_mean, mean_of: [warm, clear]}}\n")
    (tmp_path / "health.yaml").write_text("rubric: health\npoints: {from: reference.criteria}\n")
    shown = "manners_warm, manners_mean, health, health_axis_x, manners_sharp"
    path = own_suite(tmp_path, "metrics: {Talk: [talk_share, {", f"metrics: {{Own: [{shown}], Talk: [talk_share, {{")
    path.write_text(path.read_text().replace("[structure]", "[structure]\nrubrics: [manners.yaml, health.yaml]"))
    (remark,) = check_suite(SUITES.find(str(path)))
    assert "'manners_sharp'" in remark


@pytest.mark.parametrize("name", PROTOCOLS)
def test_every_rubric_that_rates_is_in_a_table(name: str) -> None:
    suite = SUITES.load(name)
    told = str(suite.tables)
    for rubric in map(RUBRICS.load, suite.rubrics):
        scale = rubric.rating_scale()
        if scale is not None and scale.ordered:
            derived = rubric.name in ("information_control", "factual_conflict")
            assert (f"{rubric.name}_rate" if derived else rubric.name) in told


@pytest.mark.parametrize("name", SUITES.names())
def test_a_suite_runs_without_a_judge(name: str, tmp_path: Path) -> None:
    summary = score([TALKS], tmp_path / "run", suite=name)
    assert summary.transcripts == 12
    assert summary.ratings > 0
    parts = make_parts(open_ratings_view(summary.run.path), figures=False)
    if name in PROTOCOLS:
        assert parts[0].title == SUITES.load(name).title
        told = ("bedside score", "Missing for every transcript", "Nothing in this run", "factor")
        assert all(any(word in reason for word in told) for reason in parts[0].left_out), parts[0].left_out


@pytest.mark.parametrize(
    ("suite", "tables"),
    [
        ("calm-it", ["levels", "drift", "redirection", "sustain-talk", "sessions", "pairwise", "agreement"]),
        ("mdd5k", ["dataset", "judgements", "pairwise"]),
        ("medconceal", ["confirmation", "intervention", "style", "dialogue-length", "concerns", "by-turn", "pairwise"]),
        ("multisense", ["ratings", "diagnosis", "readability", "patients", "patients-readability", "length", "stages",
                        "messages", "pairwise"]),
        ("note2chat", ["history", "socrates", "replies", "pairwise"]),
    ],
)  # fmt: skip
def test_a_report_prints_the_tables_of_the_paper(suite: str, tables: list[str], run_of: Callable[[str], Run]) -> None:
    own, *_ = make_parts(open_ratings_view(run_of(suite).path), figures=False)
    assert [table.name for table in own.tables] == tables
    assert own.left_out == ()
    for table in own.tables:
        assert table.rows
        assert table.title
        assert all(record.get("metric") or record.get("level") == "count" for record in table.records)


def test_all_metrics_of_a_run_are_somewhere(run_of: Callable[[str], Run]) -> None:
    run = run_of("mdd5k")
    shown = {record.get("metric") for table in make_tables(open_ratings_view(run.path)) for record in table.records}
    transcripts = run.ratings.filter(run.ratings["unit"] == "transcript", run.ratings["value"].is_not_null())
    assert set(transcripts["metric"]) <= shown


def test_a_suite_of_ones_own(tmp_path: Path) -> None:
    path = own_suite(tmp_path)
    run = scored(tmp_path, suite=str(path))
    path.unlink()
    tables, files = write_report(run, formats=["md", "svg"])
    assert tables[0].name == "talk"
    assert "Share of talk, clinician" in (run.path / "report" / "talk.md").read_text("utf-8")
    assert run.path / "report" / "talk.svg" in files
    (again,) = make_tables(open_ratings_view(run.path), ["talk"])
    assert again == tables[0]


def test_a_rubrics_file_stands_beside_its_suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "manners.yaml").write_text(
        "rubric: manners\ncriteria:\n  - {name: warmth, definition: How warm the listener is., scale: 1-6}\n", "utf-8"
    )
    path = own_suite(tmp_path / "deep", "[structure]\n", "[structure]\nrubrics: [empathy, manners.yaml]\n")
    monkeypatch.chdir(tmp_path)
    assert [rubric.name for rubric in rubrics_of(parse_suite(path.relative_to(tmp_path)).rubrics)] == [
        "empathy", "manners",
    ]  # fmt: skip


def test_two_suites_in_one_run_keep_their_names_apart(tmp_path: Path) -> None:
    path = own_suite(tmp_path, "id: talk\n    kind: results", "id: dataset\n    kind: results")
    scored(tmp_path, suite="mdd5k")
    run = scored(tmp_path, suite=str(path))
    names = [table.name for table in make_tables(open_ratings_view(run.path))]
    assert "dataset" in names
    assert "own-dataset" in names


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("kind: results", "kind: result", "'result'; did you mean results"),
        ("kind: bars", "kind: pie", "'pie'"),
        ("spread: ci", "spread: range", "table talk: spread: it must be"),
        ("    spread: ci", "    metrik: x", "table talk: metrik: unknown key"),
        ("figures:", "  - {id: talk, kind: counts}\nfigures:", "two are called 'talk'"),
    ],
)
def test_a_wrong_suite_is_refused_by_name(old: str, new: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(RegistryError, match=re.escape(message)):
        check_suite(parse_suite(own_suite(tmp_path, old, new)))


def test_checking_says_what_nobody_gives(tmp_path: Path, call: Call) -> None:
    path = own_suite(tmp_path, "[talk_share]", "[talk_shares]")
    (remark,) = check_suite(parse_suite(path))
    assert "did you mean talk_share" in remark
    assert "1 table, 1 figure\n" in call("show", path, "--check")[1]


def test_the_command_line_asks_for_a_suite_a_reference_and_a_system(tmp_path: Path, call: Call) -> None:
    for name in ("studied", "corpus"):
        scored(tmp_path / name, suite="default")
    out = tmp_path / "out"
    works(
        call,
        "report", tmp_path / "studied" / "run", "--suite", "calm-it", "--reference", tmp_path / "corpus" / "run",
        "--table", "levels", "--against", "steady", "--spread", "none", "--format", "md", "--out", out,
    )  # fmt: skip
    text = (out / "levels.md").read_text("utf-8")
    assert all(part in text for part in ("brisk: Δ", "Against steady:", "Reference: "))


def test_settings_go_before_the_suite(run_of: Callable[[str], Run]) -> None:
    view = open_ratings_view(run_of("mdd5k").path)
    settings = ReportSettings(spread="none", best="never")
    (table,) = make_tables(view, ["judgements"], settings=settings)
    assert not any(cell.bold for row in table.rows for cell in row.cells)
    assert not any("(" in cell.text for row in table.rows for cell in row.cells[1:])
