"""Notes below tables: chances of units, the reasons of dashes and of tests, counts that fit their nouns."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bedside.analysis.ratings_view import RatingsView, open_ratings_view
from bedside.ratings.run import Run
from bedside.ratings.table import frame_of
from bedside.reports.build import judge_cards, write_report
from bedside.reports.columns import dash_texts
from bedside.reports.comparison_notes import with_people_notes
from bedside.reports.contents import make_drawing, make_tables
from bedside.reports.number_text import DASH
from bedside.reports.table_content import Cell, Column, Row
from bedside.reports.table_notes import chance_notes, chances_by_title, said_once
from tests.conftest import conversation
from tests.reports.builders import PROTOCOLS, file_of, full_table, made_run, rating, scored, view_of


def view(chances: list[float | None]) -> RatingsView:
    rows = [
        rating(f"{system}{case}", system, f"c{case}", "empathy", float(case % 4), "human:anna")
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
    assert [str(words) in note for note in notes] == ([] if words is None else [True])
    table = with_people_notes(full_table("results", ratings), ratings)
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
    labels = ("cool", "warm")
    rows = [
        rating(f"{system}{case}", system, f"c{case}", metric, value, f"human:{who}", label=label)
        for case in range(4) for system in "ab" for who in ("anna", "ben")
        for metric, value, label in (("empathy", float(case % 4), None), ("style", None, labels[case % 2]))
    ]  # fmt: skip
    chances = [0.5] * 4 + [0.1] * 4
    ratings = RatingsView(frame_of(rows, "main", chances * 4), {}, None, "ratings")
    for name, title in (("counts", "Style"), ("raters", "Empathy")):
        notes = with_people_notes(full_table(name, ratings), ratings).notes
        (note,) = (note for note in notes if "were drawn with unequal chances" in note)
        assert note.startswith(f"{title}: ")
        assert "estimate" not in note


_NOUNS = "transcript|turn|rating|value|unit|case|system|rater|comparison|test|metric|pair|conversation|item|call"


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
@pytest.mark.parametrize("suite", [*PROTOCOLS, None])
def test_dashes_have_reasons(tmp_path: Path, suite: str | None) -> None:
    run = made_run(tmp_path, suite, cases=3) if suite is not None else scored(tmp_path)
    assert unexplained(run) == []


def test_a_reason_names_the_columns_it_is_of() -> None:
    columns = (
        Column("System", "left"), Column("A", dash="asked once"), Column("B", dash="no people"),
        Column("C", dash="asked once"),
    )  # fmt: skip
    texts = (("x", DASH, "1", DASH), ("y", "2", "3", DASH))
    rows = [Row(tuple(map(Cell, own))) for own in texts]
    assert dash_texts(columns, rows, texts) == ("–: asked once (A, C).",)
    assert dash_texts(columns[:2], rows[1:], texts[1:]) == ()


@pytest.mark.slow
def test_one_is_told_in_the_singular_throughout_a_report(tmp_path: Path) -> None:
    talk = conversation(("clinician", "How are you today?"), ("patient", "Well."), id="alone", system="a")
    run = scored(tmp_path, file_of(tmp_path, talk), ["words", "flesch_reading_ease"])
    _, files = write_report(run, formats=["html", "md"])
    for path in files:
        copied = r"<textarea.*?</textarea>|<script>.*?</script>"
        text = re.sub(copied, "", path.read_text("utf-8"), flags=re.DOTALL)
        assert re.findall(rf"(?<![\d,.–])\b1 (?:{_NOUNS})s\b", text) == []


def test_reasons_that_differ_in_numbers_alone_are_one() -> None:
    reasons = [
        "as asked, though 4 cases are shared and would pair", "12 cases of both systems pair, values are 0 or 1",
        "as asked, though 1,204 cases are shared and would pair", "only 3 of 9 cases pair",
        "as asked, though 6 cases are shared and would pair", "only 3 of 10 cases pair",
        "12 cases of both systems pair", "as asked",
    ]  # fmt: skip
    assert said_once(reasons) == [
        "as asked, though 4 to 1,204 cases are shared and would pair",
        "12 cases of both systems pair, values are 0 or 1", "only 3 of 9 to 10 cases pair",
        "12 cases of both systems pair", "as asked",
    ]  # fmt: skip
    assert said_once([]) == []


def test_labels_are_not_missing_they_have_no_mean() -> None:
    rows = [rating(f"{system}-{case}", system, case, "empathy", 3.0) for system in "ab" for case in ("1", "2")]
    for system in "ab":
        rows.append(rating(f"{system}-1", system, "1", "steps_safety", None, label="Harmful"))
        rows += [rating(f"{system}-2", system, "2", metric, None) for metric in ("steps_safety", "smog")]
    notes = full_table("results", view_of(rows), metrics=["empathy", "steps_safety", "smog"]).notes
    assert "Labels, which have no mean: Steps safety. Tables of the kind counts show their shares." in notes
    assert "Missing for every transcript: Smog (as drawn)." in notes
