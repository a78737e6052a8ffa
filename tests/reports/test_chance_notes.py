"""People's numbers say where their units are no random sample of all."""

from __future__ import annotations

import pytest

from bedside.analysis.ratings_view import RatingsView
from bedside.ratings.table import frame_of
from bedside.reports.comparison_notes import with_people_notes
from bedside.reports.contents import make_drawing
from bedside.reports.table_notes import chance_notes, chances_by_title
from bedside.reports.tables import TABLES
from bedside.reports.tables.results import TABLE


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
