"""A dash in a table always has its reason below it, and a count fits its noun."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bedside.analysis.ratings_view import open_ratings_view
from bedside.ratings.run import Run
from bedside.reports.build import judge_cards, write_report
from bedside.reports.contents import make_tables
from bedside.reports.number_text import DASH
from bedside.reports.table_content import Cell, Column, Row
from bedside.reports.table_notes import dash_notes
from bedside.scoring.score import score
from tests.conftest import conversation
from tests.reports.made import made_run
from tests.reports.test_page import EXAMPLES

pytestmark = pytest.mark.slow

_NOUNS = (
    "transcript|turn|rating|value|unit|case|system|rater|comparison|test|metric|pair|conversation|item|call"
)


def unexplained(run: Run) -> list[str]:
    """The tables that have a dash and no note on dashes."""
    view = open_ratings_view(run.path)
    return [
        table.name
        for table in (*make_tables(view), *judge_cards(view, 0))
        if any(cell.text == DASH for row in table.rows for cell in row.cells)
        and not any(note.startswith(DASH) or f"({DASH})" in note for note in table.notes)
    ]


@pytest.mark.parametrize("suite", ["calm-it", "mdd5k", "medconceal", "multisense", "note2chat"])
def test_dashes_of_a_suite_have_reasons(tmp_path: Path, suite: str) -> None:
    assert unexplained(made_run(tmp_path, suite, cases=3)) == []


def test_dashes_of_the_example_have_reasons(tmp_path: Path) -> None:
    assert unexplained(Run(score([EXAMPLES / "transcripts.jsonl"], tmp_path / "run").run.path)) == []


def test_a_reason_names_the_columns_it_is_of() -> None:
    columns = (Column("System", "left"), Column("A"), Column("B"), Column("C"))
    rows = (
        Row((Cell("x"), Cell(DASH), Cell("1"), Cell(DASH))),
        Row((Cell("y"), Cell("2"), Cell("3"), Cell(DASH))),
    )
    reasons = {"A": "asked once", "B": "no people", "C": "asked once"}
    assert dash_notes(columns, rows, reasons) == ("–: asked once (A, C).",)
    assert dash_notes(columns, rows[1:], {"A": "asked once"}) == ()


def test_one_is_told_in_the_singular_throughout_a_report(tmp_path: Path) -> None:
    file = tmp_path / "one.jsonl"
    talk = conversation(("clinician", "How are you today?"), ("patient", "Well."), id="alone", system="a")
    file.write_bytes(talk.to_json() + b"\n")
    run = Run(score([file], tmp_path / "run", metrics=["words", "flesch_reading_ease"]).run.path)
    _, files = write_report(run, formats=["html", "md"])
    for path in files:
        text = re.sub(
            r"<textarea.*?</textarea>|<script>.*?</script>", "", path.read_text("utf-8"), flags=re.DOTALL
        )
        assert re.findall(rf"(?<![\d,.–])\b1 (?:{_NOUNS})s\b", text) == []
