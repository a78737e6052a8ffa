"""Tables from columns: what is printed, recorded and lacking; several records in a row, rows of several kinds."""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass

import bedside.reports
from bedside.reports.columns import Block, Column, MetricRow, Part, bounded, by_kind, grid_of, recorded, table_of
from bedside.reports.notes import Note
from bedside.reports.simulations import TALKS_COLUMNS
from bedside.reports.table_content import DASH
from bedside.simulation.talks_folder import SystemTalks
from bedside.stats.result import Interval, Result


@dataclass(frozen=True)
class Whole:
    """All of something."""

    total: int


@dataclass(frozen=True)
class Piece:
    """One of its parts."""

    name: str
    size: int


def test_each_block_of_a_row_has_its_record() -> None:
    sizes = {"a": {"x": 1, "y": 2000}, "b": {"y": 3}}
    count = Column("n", field="n", value=int, dash="never seen")

    def block(system: str) -> Block:
        return Block((recorded(system=lambda n: system), count), lambda name: sizes[name].get(system))

    heads = Block((Column("Name", "left", text=str),))
    table = grid_of("grid", "Grid", ["a", "b"], (heads, block("x"), block("y")), group=lambda name: "all")
    assert [[cell.text for cell in row.cells] for row in table.rows] == [["a", "1", "2,000"], ["b", DASH, "3"]]
    assert [[cell.record for cell in row.cells] for row in table.rows] == [[None, 0, 1], [None, None, 2]]
    assert table.records == ({"system": "x", "n": 1}, {"system": "y", "n": 2000}, {"system": "y", "n": 3})
    assert table.notes == (f"{DASH}: never seen (n).",)


def test_rows_of_another_kind_print_below_the_same_titles() -> None:
    pieces = (Column("Name", "left", field="name", value="part.name"), Column("Size", field="size", value="part.size"))
    wholes = (Column("", text=lambda row: "all"), Column("", field="total", value="part.total"))
    rows = [Part(None, Piece("a", 1)), Part(None, Whole(1))]
    table = table_of("kinds", "Kinds", rows, by_kind(pieces, {Whole: wholes}))
    assert [column.title for column in table.columns] == ["Name", "Size"]
    assert [[cell.text for cell in row.cells] for row in table.rows] == [["a", "1"], ["all", "1"]]
    assert table.records == ({"name": "a", "size": 1}, {"total": 1})


def test_a_row_about_a_metric_names_its_raters_where_several_gave_it() -> None:
    @dataclass(frozen=True)
    class Given:
        metric: str
        raters: str
        system: str

    rows = MetricRow.rows(
        [Given("empathy", "people", "A"), Given("empathy", "judge:m", "A"), Given("words", "x:y", "A")]
    )
    assert [row.cell("A") for row in rows] == ["empathy@people/A", "empathy@judge:m/A", "words/A"]
    assert [MetricRow.record("system").of(row)["cell"] for row in rows] == [row.cell("A") for row in rows]


def test_results_are_recorded_with_the_ends_of_their_intervals() -> None:
    known = Result(name="κ", method="m", estimate=0.5, interval=Interval(0.1, 0.9, 0.95, "t"))
    assert bounded(kappa=lambda item: known).of(None) == {"kappa": 0.5, "kappa_low": 0.1, "kappa_high": 0.9}
    assert bounded(kappa=lambda item: None).of(None) == {"kappa": None, "kappa_low": None, "kappa_high": None}


def test_a_system_without_a_finished_conversation_says_why_it_has_no_mean() -> None:
    table = table_of("simulation", "", [Part((), SystemTalks("A", planned=2))], TALKS_COLUMNS)
    assert table.rows[0].cells[-1].text == DASH
    assert table.notes == (f"{DASH}: none is finished (Messages).",)


def test_an_entry_of_the_catalogue_has_a_name_of_its_own() -> None:
    entries: dict[str, set[int]] = {}
    for module in pkgutil.walk_packages(bedside.reports.__path__, "bedside.reports."):
        for value in vars(importlib.import_module(module.name)).values():
            for entry in value if isinstance(value, tuple) else (value,):
                if isinstance(entry, Note):
                    entries.setdefault(entry.id, set()).add(id(entry))
    assert len(entries) > 100
    assert not {name for name, same in entries.items() if len(same) > 1}
