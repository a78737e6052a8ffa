"""Notes below tables: chances of units, the reasons of dashes and of tests, counts that fit their nouns."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bedside.analysis.ratings_view import RatingsView, open_ratings_view
from bedside.ratings.run import Run
from bedside.ratings.table import frame_of
from bedside.reports.build import judge_cards, write_report
from bedside.reports.contents import make_drawing, make_tables
from bedside.reports.number_text import DASH
from bedside.reports.rater_effects import with_people_notes
from bedside.reports.table_content import Cell, Column, Row
from bedside.reports.table_notes import chance_notes, chances_by_title, dash_notes, said_once
from bedside.reports.tables import TABLES
from bedside.reports.tables.results import TABLE
from bedside.scoring.score import score
from tests.conftest import conversation
from tests.reports.builders import made_run
from tests.reports.test_page import EXAMPLES


def view(chances: list[float | None]) -> RatingsView:
    rows = [
        (
            f"{system}{case}",
            system,
            f"c{case}",
            "transcript",
            "empathy",
            "human:anna",
            0,
            float(case % 4),
            None,
            None,
            None,
        )
        for case in range(4)
        for system in "ab"
    ]
    return RatingsView(frame_of(rows, "main", chances), {}, None, "ratings")


@pytest.mark.parametrize(
    ("chances", "words"),
    [
        ([0.5] * 8, None),
        ([None] * 8, None),
        ([0.5, 0.1] * 4, "were drawn with unequal chances"),
        ([0.5, 0.0] * 4, "were partly picked for what they are"),
    ],
)
def test_unequal_chances_are_said(chances: list[float | None], words: str | None) -> None:
    ratings = view(chances)
    notes = chance_notes(chances_by_title(ratings, ["empathy"]))
    assert [words in note for note in notes] == ([] if words is None else [True])
    made = TABLE.make(ratings)
    assert made is not None
    table = with_people_notes(made, ratings)
    assert any("Figures are about the units rated" in note for note in table.notes) == (words is not None)
    if words is not None:
        assert any("bedside estimate weights them" in note for note in table.notes)


def test_figures_say_it_too() -> None:
    ratings = view([0.5, 0.1] * 4)
    drawing = make_drawing(ratings, "points", seed=0)
    assert any("were drawn with unequal chances" in note for note in drawing.notes)
    even = make_drawing(view([0.5] * 8), "points", seed=0)
    assert not any("chances" in note for note in even.notes)


def test_shares_of_labels_and_severities_say_it_too() -> None:
    """Labels, and what two people gave the same."""
    rows = [
        (f"{system}{case}", system, f"c{case}", "transcript", metric, f"human:{who}", 0, value, label, None, None)
        for case in range(4) for system in "ab" for who in ("anna", "ben")
        for metric, value, label in (("empathy", float(case % 4), None), ("style", None, ("cool", "warm")[case % 2]))
    ]  # fmt: skip
    ratings = RatingsView(
        frame_of(rows, "main", [0.5, 0.5, 0.5, 0.5, 0.1, 0.1, 0.1, 0.1] * 4), {}, None, "ratings"
    )
    for name, title in (("counts", "Style"), ("raters", "Empathy")):
        made = TABLES.load(name).make(ratings)
        assert made is not None
        notes = with_people_notes(made, ratings).notes
        (note,) = (note for note in notes if "were drawn with unequal chances" in note)
        assert note.startswith(f"{title}: ")
        assert "estimate" not in note


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


@pytest.mark.slow
@pytest.mark.parametrize("suite", ["calm-it", "mdd5k", "medconceal", "multisense", "note2chat"])
def test_dashes_of_a_suite_have_reasons(tmp_path: Path, suite: str) -> None:
    assert unexplained(made_run(tmp_path, suite, cases=3)) == []


@pytest.mark.slow
def test_dashes_of_the_example_have_reasons(tmp_path: Path) -> None:
    assert unexplained(Run(score([EXAMPLES / "transcripts.jsonl"], tmp_path / "run").run.path)) == []


@pytest.mark.slow
def test_a_reason_names_the_columns_it_is_of() -> None:
    columns = (Column("System", "left"), Column("A"), Column("B"), Column("C"))
    rows = (
        Row((Cell("x"), Cell(DASH), Cell("1"), Cell(DASH))),
        Row((Cell("y"), Cell("2"), Cell("3"), Cell(DASH))),
    )
    reasons = {"A": "asked once", "B": "no people", "C": "asked once"}
    assert dash_notes(columns, rows, reasons) == ("–: asked once (A, C).",)
    assert dash_notes(columns, rows[1:], {"A": "asked once"}) == ()


@pytest.mark.slow
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


def test_reasons_that_differ_in_numbers_alone_are_one() -> None:
    reasons = [
        "as asked, though 4 cases are shared and would pair",
        "12 cases of both systems pair, values are 0 or 1",
        "as asked, though 1,204 cases are shared and would pair",
        "only 3 of 9 cases pair",
        "as asked, though 6 cases are shared and would pair",
        "only 3 of 10 cases pair",
        "12 cases of both systems pair",
        "as asked",
    ]
    assert said_once(reasons) == [
        "as asked, though 4 to 1,204 cases are shared and would pair",
        "12 cases of both systems pair, values are 0 or 1",
        "only 3 of 9 to 10 cases pair",
        "12 cases of both systems pair",
        "as asked",
    ]
    assert said_once([]) == []
