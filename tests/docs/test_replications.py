"""Printed figures come out, or differ for the reason given; each one is accounted for, and none is made up."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType

import polars as pl
import pytest

from bedside.analysis.ratings_view import open_ratings_view
from bedside.ratings.suites.published_numbers import published_numbers
from replications import annomi, mdd5k, mindeval, multisense, textbooks
from replications.__main__ import PAPERS, SOURCES
from replications._figures import PRINTED, STATUSES, Figure, counts, section
from tests.conftest import DATA

DOCS = Path(__file__).resolve().parents[2] / "docs"
TABLES = DATA.parent / "tables"
FACTS = DATA.parent / "FACTS.md"
no_tables = pytest.mark.skipif(not TABLES.exists(), reason=f"the printed numbers are not beside the project ({TABLES})")
papers = pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.PROTOCOL)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Figure]]:
    """The figures of each source, of the data beside the project."""
    return {source.__name__: source.figures(DATA, tmp_path_factory.mktemp("runs")) for source in SOURCES}


def printed_rows(protocol: str) -> list[dict[str, str]]:
    files = sorted(TABLES.glob("published-*.csv"))
    rows = [row for file in files for row in csv.DictReader(file.read_text("utf-8").splitlines())]
    return [row for row in rows if row["protocol"] == protocol]


def is_printed(one: Figure, row: dict[str, str]) -> bool:
    """Whether a printed number, its standard deviation or its word is the figure's."""
    if one.part == "SD":
        return row["sd"] == one.published
    if one.published[:1].isalpha():
        return row["note"] == f"printed label: {one.published}"
    bound = {"<": ("less than", "printed as p <"), ">": ("bold; printed as over",)}.get(one.published[:1])
    return row["value"].lstrip("+") == one.published.lstrip("+<>") and (bound is None or row["note"].startswith(bound))


@pytest.mark.slow
@no_tables
@papers
def test_what_is_called_printed_is_printed(paper: ModuleType, found: dict[str, list[Figure]]) -> None:
    by_place: dict[tuple[str, ...], list[dict[str, str]]] = {}
    for row in printed_rows(paper.PROTOCOL):
        by_place.setdefault((row["table"], row["row"], row["column"], row["group"]), []).append(row)
    figures = [one for one in found[paper.__name__] if one.published]
    assert len({(one.where, one.published) for one in figures}) == len(figures)
    for one in figures:
        place = (one.table, one.row, one.column, one.group)
        assert any(is_printed(one, row) for row in by_place.get(place, ())), f"{one.where}: {one.published}"


@no_tables
@papers
def test_the_numbers_that_suites_ship_are_those_printed(paper: ModuleType) -> None:
    there = Counter((row["table"], row["value"].lstrip("+"), row["sd"]) for row in printed_rows(paper.PROTOCOL))
    own = Counter(
        (one.place.removeprefix("Table ") if one.place.startswith("Table") else "text", one.text.lstrip("+"), one.sd)
        for one in published_numbers(paper.PROTOCOL)
    )
    assert not own - there


@pytest.mark.slow
@no_tables
@papers
def test_each_printed_figure_has_one_status(paper: ModuleType, found: dict[str, list[Figure]]) -> None:
    there = Counter[str]()
    for row in printed_rows(paper.PROTOCOL):
        there[row["table"]] += 1 + bool(row["sd"]) + row["note"].startswith("printed label")
    told = Counter(one.table for one in found[paper.__name__] if one.published)
    for rest in paper.RESTS:
        told[rest.table] += rest.count
    assert told == there


@pytest.mark.slow
def test_figures_come_out_or_differ_for_a_reason(found: dict[str, list[Figure]]) -> None:
    page = (DOCS / "replications.md").read_text("utf-8")
    for one in (one for figures in found.values() for one in figures):
        assert one.ours is None or one.agrees or one.why, f"{one.where}: printed {one.published}, here {one.shown}"
        if one.status == PRINTED:
            line = f"| {one.where.replace(' | ', ', ')} | {one.published} | {one.shown} | {one.status} |"
            assert line in page, f"docs/replications.md is stale: {one.where}"
    own = [counts([one for one in found[paper.__name__] if one.published], paper.RESTS) for paper in PAPERS]
    for total in (*own, {status: sum(each[status] for each in own) for status in STATUSES}):
        assert f" | {' | '.join(f'{total[status]:,}' for status in STATUSES)} | {sum(total.values()):,} |" in page


@pytest.mark.skipif(not FACTS.exists(), reason="the facts are not beside the project")
def test_what_annomi_printed_is_known() -> None:
    assert ".74 main behaviour and\n.47 client talk (both as published)" in FACTS.read_text("utf-8")


@pytest.mark.slow
def test_a_page_without_data_has_dashes_and_a_wrong_call_says_what_is_right(tmp_path: Path) -> None:
    lines = [
        line for source in SOURCES for line in section(source, source.figures(tmp_path, tmp_path), ()).splitlines()
    ]
    lacking = [line for line in lines if "the data are not at hand" in line]
    assert all(" | – | from data | " in line for line in lacking)
    assert not any("None" in line for line in lines)
    assert (
        len(lacking) == sum(one.ours is None for source in SOURCES for one in source.figures(tmp_path, tmp_path)) > 20
    )
    assert [source.held(tmp_path) for source in (annomi, mdd5k, mindeval)] == ["", "", ""]
    for given, said in ((["--help"], "usage: python -m replications"), ([], "data"), (["/nowhere"], "/nowhere is no")):
        ended = subprocess.run(
            [sys.executable, "-m", "replications", *given], cwd=DOCS.parent, capture_output=True, text=True, check=False
        )
        assert ended.returncode == (0 if given == ["--help"] else 2)
        assert said in ended.stdout + ended.stderr
        assert "Traceback" not in ended.stderr


def test_textbooks_examples_come_out_as_the_page_has_them() -> None:
    assert all(one.agrees for one in textbooks.figures())
    assert textbooks.table() in (DOCS / "statistics.md").read_text("utf-8")


def test_the_numbers_of_conversations_fit_every_percentage_of_table_2() -> None:
    """Counts of right diagnoses by hand: of Basic and Openness 32 and 71 of 101 by o1, 35 and 59 by R1."""
    assert sum(multisense.SIZES.values()) == 1142
    values = multisense.conversations().where({"persona": ["Openness"]}).where(
        {"health_literacy": ["Basic Health Literacy"]}
    ).transcript_values(["diagnostic_accuracy_hard", "diagnostic_accuracy_soft"])  # fmt: skip
    right = values.group_by("metric", "system").agg(pl.col("value").sum(), n=pl.len()).sort("system", "metric")
    assert right["value"].to_list() == [35, 59, 32, 71]
    assert set(right["n"]) == {101}


@pytest.mark.slow
@pytest.mark.skipif(not (DATA / "mdd5k").exists(), reason="the dialogues are not beside the project")
def test_mdd5ks_characters_are_pooled_or_averaged_as_counted_by_hand(tmp_path: Path) -> None:
    """The release's two averages, on the dialogues beside the project and a count that reads their files itself."""
    files = sorted((DATA / "mdd5k" / "conversations").glob("*.json"))
    talks = [talk["conversation"] for file in files for talk in json.loads(file.read_text("utf-8"))]
    said = {side: [[len(one[side]) for one in talk if side in one] for talk in talks] for side in ("doctor", "patient")}
    run = mdd5k.scored([DATA / "mdd5k"], tmp_path)
    table = mdd5k.dataset(run)
    for side, row in (("doctor", "Avg. words #doc"), ("patient", "Avg. words #pat")):
        pooled = sum(map(sum, said[side])) / sum(map(len, said[side]))
        assert table[row] == pytest.approx(pooled)
        mean = sum(sum(own) / len(own) for own in said[side]) / len(talks)
        assert mdd5k.means_of_dialogues(open_ratings_view(run.path))[side] == pytest.approx(mean)
        assert abs(pooled - mean) > 0.5
    exchanges, last = sum(map(len, talks)), sum(own[-1] for own in said["patient"])
    doctor, patient = (sum(map(sum, said[side])) for side in said)
    assert table["Avg. words #dial"] == pytest.approx((doctor + patient) / len(talks))
    assert mdd5k.by_script(run) == pytest.approx({
        "Avg. words #dial": (doctor + patient - last) / len(talks),
        "Avg. words #doc": doctor / (exchanges + len(talks)),
        "Avg. words #pat": (patient - last) / exchanges,
    })  # fmt: skip
    codes = {json.loads(file.read_text("utf-8"))["ICD_Code"] for file in (DATA / "mdd5k" / "labels").glob("*.json")}
    assert table["Illness"] == len({one for code in codes for one in code.split(",")})
    assert len(mdd5k.diagnoses(run)) == len(talks)
