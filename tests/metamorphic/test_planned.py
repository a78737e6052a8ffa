"""What people answer to a plan is one study, however the answers come back."""

from __future__ import annotations

import csv
import random
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import openpyxl
import pytest

import bedside
from bedside.annotation.annotation_plan import AnnotationPlan, PlanItem
from bedside.annotation.answer_store import keep_answers
from bedside.annotation.label_studio_export import read_export
from bedside.annotation.offline_files import export_files, read_files
from bedside.annotation.plan_file import write_plan
from bedside.annotation.sampling import make_plan
from bedside.judges.rubrics.rubric_files import RUBRICS
from bedside.ratings.run import Run
from tests.annotation.study import USERS, exported
from tests.metamorphic.questions import Numbers, answers, moved
from tests.metamorphic.studies import Row, study, written_run, written_table
from tests.soak import budget

pytestmark = [pytest.mark.slow, pytest.mark.soak]
RATERS = ("anna", "ben", "cleo")
RUBRIC_NAMES = ("empathy", "partnership")
ASKED = ("estimate", "validate", "agree", "estimate of the run", "compare", "report")[: budget(2, 6)]
#: How a plan is drawn, by the seed.
DRAWS: tuple[Mapping[str, Any], ...] = (
    {"by": ("system",), "per": 6, "overlap": 2},
    {"per": 9, "overlap": 1, "shared": 4},
    {"by": ("system",), "per": 7, "overlap": 3},
    {"by": ("system",), "per": 6, "overlap": 2, "focus": "disagreement", "random_share": 0.5},
)


@dataclass(frozen=True)
class Answered:
    """A run that judges rated, a plan drawn from it, and the rows that raters fill in, by rater.

    Attributes:
        run: the run, of which each test takes a copy.
        systems: in order.
        plan: the plan.
        rows: rater → rows as the plan's CSV files have them, filled in; some have no answer, and some half of one.
    """

    run: Run
    systems: list[str]
    plan: AnnotationPlan
    rows: Mapping[str, list[Row]]

    def copied(self, folder: Path) -> Run:
        shutil.copytree(self.run.path, folder / "run")
        return bedside.read_run(folder / "run")

    def put_in(self, run: Run, folder: Path, rows: Mapping[str, list[Row]], ending: str = "csv") -> None:
        """Rows as a file of each key, put into the run at once."""
        folder.mkdir()
        files = [written_table(table, folder / f"{name}.{ending}") for name, table in rows.items() if table]
        keep_answers(run, self.plan, read_files(self.plan, run, files).answers)

    def said(self, item: str, rater: str) -> Row:
        return next(row for row in self.rows[rater] if row["item"] == item)


def answered(seed: int, folder: Path) -> Answered:
    """A study whose people answer a plan; what they say hangs on the conversation and on themselves."""
    made = study(seed)
    made = replace(made, ratings=tuple(row for row in made.ratings if ":" in row["rater"]), pairs=())
    run = written_run(made, folder)
    plan = make_plan(
        run, mode="rate", rubrics=tuple(RUBRICS.load(name) for name in RUBRIC_NAMES), raters=RATERS,
        seed=seed, **DRAWS[seed % len(DRAWS)],
    )  # fmt: skip
    rng = random.Random(seed)
    truth = {talk["id"]: rng.gauss(3, 1) for talk in made.talks}
    rows: dict[str, list[Row]] = {}
    for file in export_files(plan, run, "csv", folder / "forms"):
        with file.open(encoding="utf-8-sig", newline="") as stream:
            rows[file.stem] = list(csv.DictReader(stream))
        for row in rows[file.stem]:
            item = plan.by_id[row["item"]]
            assert isinstance(item, PlanItem)
            for metric in RUBRIC_NAMES:
                level = round(truth[item.transcript] + rng.gauss(0.2 * len(file.stem), 0.6))
                row[metric] = "" if rng.random() < 0.08 else str(min(max(level, 1), 5))
    return Answered(run, made.systems, plan, rows)


Way = Callable[[Answered, Run, Path, random.Random], None]


def at_once(given: Answered, run: Run, folder: Path, rng: random.Random) -> None:
    given.put_in(run, folder / "all", given.rows)


def shuffled(given: Answered, run: Run, folder: Path, rng: random.Random) -> None:
    """Rows in another order, columns too, and the files from the last to the first."""
    rows: dict[str, list[Row]] = {}
    for rater in reversed(list(given.rows)):
        names = rng.sample(list(given.rows[rater][0]), len(given.rows[rater][0]))
        rows[rater] = [
            {name: row[name] for name in names} for row in rng.sample(given.rows[rater], len(given.rows[rater]))
        ]
    given.put_in(run, folder / "all", rows)


def in_halves(given: Answered, run: Run, folder: Path, rng: random.Random) -> None:
    """Some rows of each rater first, and the others when they are done."""
    first = {row["item"] for rows in given.rows.values() for row in rows if rng.random() < 0.5}
    for number, early in enumerate((True, False)):
        part = {rater: [row for row in rows if (row["item"] in first) == early] for rater, rows in given.rows.items()}
        given.put_in(run, folder / str(number), part)


def rater_by_rater(given: Answered, run: Run, folder: Path, rng: random.Random) -> None:
    for rater in rng.sample(RATERS, len(RATERS)):
        given.put_in(run, folder / rater, {rater: given.rows[rater]})


def twice(given: Answered, run: Run, folder: Path, rng: random.Random) -> None:
    for number in range(2):
        given.put_in(run, folder / str(number), given.rows)


def half_done_and_done(given: Answered, run: Run, folder: Path, rng: random.Random) -> None:
    """The files as they stood when half of them was filled in, and once more when all was."""
    empty = {
        rater: [row if place % 2 else {**row, **dict.fromkeys(RUBRIC_NAMES, "")} for place, row in enumerate(rows)]
        for rater, rows in given.rows.items()
    }
    given.put_in(run, folder / "early", empty)
    given.put_in(run, folder / "late", given.rows)


def revised(given: Answered, run: Run, folder: Path, rng: random.Random) -> None:
    """Some answers were others at first."""
    other = {
        rater: [
            {**row, "empathy": str(6 - int(row["empathy"]))} if row["empathy"] and place % 3 == 0 else row
            for place, row in enumerate(rows)
        ]
        for rater, rows in given.rows.items()
    }
    given.put_in(run, folder / "early", other)
    given.put_in(run, folder / "late", given.rows)


def in_one_file(given: Answered, run: Run, folder: Path, rng: random.Random) -> None:
    """All raters' rows in one file, with levels as some spreadsheets write them."""
    together = [
        {**row, **{name: f"{row[name]}.0" if row[name] else "" for name in RUBRIC_NAMES}}
        for rows in given.rows.values() for row in rows
    ]  # fmt: skip
    given.put_in(run, folder / "all", {"everybody": together})


def as_workbooks(given: Answered, run: Run, folder: Path, rng: random.Random) -> None:
    """In the workbooks that raters are given, with levels as numbers."""
    files = export_files(given.plan, run, "xlsx", folder)
    for file in files:
        book = openpyxl.load_workbook(file)
        sheet = book["Answers"]
        names = [cell.value for cell in sheet[1]]
        for line in sheet.iter_rows(min_row=2):
            cells = dict(zip(names, line, strict=True))
            said = given.said(cells["item"].value, file.stem)
            for name in RUBRIC_NAMES:
                cells[name].value = int(said[name]) if said[name] else None
        book.save(file)
    keep_answers(run, given.plan, read_files(given.plan, run, files).answers)


def by_label_studio(given: Answered, run: Run, folder: Path, rng: random.Random) -> None:
    def say(item: str, rater: str) -> dict[str, str] | None:
        row = given.said(item, rater)
        return {name: row[name] for name in RUBRIC_NAMES if row[name]} or None

    tasks = exported(given.plan, say, USERS, run)
    rng.shuffle(tasks)
    names: dict[int | str, str] = {user: rater for rater, user in USERS.items()}
    keep_answers(run, given.plan, read_export(given.plan, tasks, names, where="export.json").answers)


def as_own_sheet(given: Answered, run: Run, folder: Path, rng: random.Random) -> None:
    """Typed into a sheet of one's own, with the ids of conversations."""
    plan = folder / "plan.json"
    write_plan(given.plan, plan)
    rows = [
        {"item": given.plan.by_id[row["item"]].transcript, "rater": rater, "metric": name, "value": row[name]}
        for rater, of_rater in given.rows.items() for row in of_rater for name in RUBRIC_NAMES
    ]  # fmt: skip
    file = written_table(rng.sample(rows, len(rows)), folder / "sheet.csv")
    bedside.import_ratings(run, file, plan=plan, scales=[f"{name}=1-5" for name in RUBRIC_NAMES])


#: The first ones are tried in every run of the tests.
WAYS: Mapping[str, Way] = {
    "shuffled": shuffled,
    "half done, and done": half_done_and_done,
    "as a sheet of one's own": as_own_sheet,
    "in halves": in_halves,
    "twice": twice,
    "rater by rater": rater_by_rater,
    "revised": revised,
    "in one file": in_one_file,
    "as workbooks": as_workbooks,
    "by Label Studio": by_label_studio,
}
#: Way → tables and fields of what this way alone tells: how long answers took; or leaves out: what was left open.
_APART = {
    "by Label Studio": ("rater_quality",),
    "as a sheet of one's own": ("rater_quality", "missing", "missing_bounds", "why_missing"),
}


def _numbers(given: Answered, way: Way, folder: Path, seed: int) -> dict[str, Numbers]:
    folder.mkdir(parents=True)
    run = given.copied(folder)
    way(given, run, folder, random.Random(seed))
    return answers(bedside.read_run(run.path), given.systems, ASKED)


def _told(numbers: Numbers, name: str) -> Numbers:
    """The numbers that this way tells, too."""
    apart = _APART.get(name, ())
    return {key: value for key, value in numbers.items() if key[0] not in apart and key[2] not in apart}


def test_answers_are_one_study_whatever_the_way_they_come_in(tmp_path: Path) -> None:
    for seed in range(budget(1, 24)):
        given = answered(seed, tmp_path / f"{seed}")
        before = _numbers(given, at_once, tmp_path / f"{seed}-once", seed)
        for name, way in list(WAYS.items())[: budget(3, len(WAYS))]:
            after = _numbers(given, way, tmp_path / f"{seed}-{name}", seed)
            for question in ASKED:
                changes = moved(*(_told(numbers[question], name) for numbers in (before, after)))
                assert not changes, f"{name}, seed {seed}, {question}\n" + "\n".join(changes[:12])
