"""What is chosen of a study is answered as a study that holds nothing else; a file is answered as its run is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import bedside
from bedside.reports.table import Table
from tests.metamorphic.questions import JUDGE, moved, numbers_of
from tests.metamorphic.studies import Row, Study, study, written_run, written_table
from tests.soak import budget

pytestmark = [pytest.mark.slow, pytest.mark.soak]
SEEDS = budget(1, 40)
RATED = ("empathy", "partnership", "plan_agreed")
Question = Callable[..., Iterable[Table]]


def _part(
    made: Study, talk: Callable[[Row], bool] = lambda _: True, rating: Callable[[Row], bool] = lambda _: True
) -> Study:
    """What a study would be that never had the others."""
    talks = tuple(filter(talk, made.talks))
    ids = {one["id"] for one in talks}
    return replace(
        made,
        talks=talks,
        ratings=tuple(row for row in made.ratings if row["item"] in ids and rating(row)),
        pairs=tuple(row for row in made.pairs if row["first"] in ids and row["second"] in ids and rating(row)),
    )


def _is_of(systems: Sequence[str], talk: Row) -> bool:
    return talk["system"] in systems


def _same(one: Iterable[Table], other: Iterable[Table], apart: tuple[str, ...] = ()) -> None:
    changes = moved(numbers_of(one, apart=apart), numbers_of(other, apart=apart))
    assert not changes, "\n".join(changes[:12])


def test_a_level_of_a_factor_is_a_study_of_its_own(tmp_path: Path) -> None:
    for seed in range(2, 2 + 2 * SEEDS, 2):
        made = study(seed)
        run = written_run(made, tmp_path / f"{seed}")
        short = written_run(_part(made, lambda talk: talk["factors"]["target_length"] == 8), tmp_path / f"{seed}-8")
        margin = {"baseline": made.systems[0], "system": made.systems[1], "margin": {"empathy": 0.5}, "raters": [JUDGE]}
        questions: tuple[tuple[Question, dict[str, Any]], ...] = (
            (bedside.agree, {}), (bedside.validate, {}), (bedside.estimate, {}), (bedside.compare, {}),
            (bedside.gate, margin), *(((bedside.preferences, {}),) if made.pairs else ()),
        )  # fmt: skip
        for question, options in questions:
            _same(question(run, where={"target_length": "8"}, **options), question(short, **options))


def test_systems_raters_and_metrics_that_are_named_are_all_there_is(tmp_path: Path) -> None:
    for seed in range(2, 2 + 4 * SEEDS, 4):
        made = study(seed)
        run = written_run(made, tmp_path / f"{seed}")
        two = made.systems[:2]
        of_two = _part(made, partial(_is_of, two))
        by_people = _part(made, rating=lambda row: row["rater"] in ("anna", "ben"))
        by_metric = _part(made, rating=lambda row: row["metric"] == "empathy")
        people, metric = {"raters": ["human:anna", "human:ben"]}, {"metrics": ["empathy"]}
        compared: tuple[Question, ...] = (bedside.preferences,) if made.pairs else ()
        choices: tuple[tuple[Study, tuple[Question, ...], dict[str, Any], dict[str, Any]], ...] = (
            (of_two, (bedside.estimate, bedside.compare, *compared), {"systems": two}, {}),
            (by_people, (bedside.agree, bedside.compare, *compared), people, people),
            (by_metric, (bedside.agree, bedside.compare, bedside.estimate, bedside.validate), metric, metric),
        )
        for number, (part, questions, choice, same) in enumerate(choices):
            smaller = written_run(part, tmp_path / f"{seed}-{number}")
            for question in questions:
                _same(question(run, **choice), question(smaller, **same))


def test_a_file_of_ratings_is_answered_as_its_run(tmp_path: Path) -> None:
    """But for what ratings alone don't know: how long conversations are, and that no plan drew any."""
    for seed in range(1, 1 + 2 * SEEDS, 2):
        made = replace(study(seed), pairs=()).with_ratings(
            lambda row: row if ":" in row["rater"] else {**row, "drawn": row["drawn"] or 1.0}
        )
        run = written_run(made, tmp_path / f"{seed}")
        of = {talk["id"]: talk for talk in made.talks}
        rows = [
            {**row, "system": of[row["item"]]["system"], "case": of[row["item"]]["case_id"]} for row in made.ratings
        ]
        scales = [f"{metric}={scale}" for metric, scale in made.scales.items()]
        for form in ("csv", "xlsx"):
            file = written_table(rows, tmp_path / f"{seed}.{form}")
            for question in (bedside.agree, bedside.compare, bedside.estimate):
                _same(question(run, metrics=RATED), question(file, metrics=RATED, scales=scales))
            _same(
                bedside.validate(run, metrics=RATED, judges=JUDGE),
                bedside.validate(file, metrics=RATED, judges=JUDGE, scales=scales),
                apart=("length", "length_low", "length_high", "value"),
            )


def test_what_a_report_writes_is_what_its_tables_hold(tmp_path: Path) -> None:
    """Every number of a table of the report stands in its CSV file and in its sheet of the workbook."""
    import csv

    import openpyxl

    for seed in range(SEEDS):
        run = written_run(study(seed), tmp_path / f"{seed}")
        written = bedside.report(run, tmp_path / f"report-{seed}", formats=["csv", "xlsx"])
        sheets = openpyxl.load_workbook(next(file for file in written.files if file.suffix == ".xlsx")).sheetnames
        assert len(sheets) >= len(written.tables)
        for table in written.tables:
            (file,) = (file for file in written.files if file.name == f"{table.name}.csv")
            with file.open(encoding="utf-8-sig", newline="") as stream:
                rows = list(csv.DictReader(stream))
            assert len(rows) == len(table.records)
            for row, record in zip(rows, table.records, strict=True):
                for name, value in record.items():
                    if isinstance(value, float):
                        assert float(row[name]) == pytest.approx(value, rel=1e-6), (table.name, name)
                    elif value is None:
                        assert row[name] == "", (table.name, name)
