"""The file of an annotation plan: JSON that people can read and that bedside checks.

It is sealed by a hash, so that a plan edited by hand is noticed.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from bedside.annotation.annotation_plan import AnnotationPlan, KnownItem, run_identity
from bedside.core.errors import BedsideError
from bedside.core.files import Format, read_bytes, write_text
from bedside.core.model_errors import first_complaint
from bedside.judges.rubrics.rubric import Rubric, as_data
from bedside.ratings.names import is_pair, is_turn, second_id, turn_index
from bedside.ratings.run import Run
from bedside.ratings.table import parse_transcript

#: What plans have that earlier ones had not.
_LATER = ("folder", "wholes", "criteria", "lists", "agreed", "settled", "standings", "withdrawn", "drawn_seal")
FORMAT = Format("plan", 2, todo="make another with bedside sample")
#: Largest file of a plan, in bytes.
MOST_BYTES = 2**27


class PlanError(BedsideError):
    """A plan can't be read, was changed, or belongs to another run."""


def sealed(plan: AnnotationPlan) -> AnnotationPlan:
    """The plan with its seal."""
    return plan.model_copy(update={"seal": _seal(plan)})


def _seal(plan: AnnotationPlan) -> str:
    return hashlib.sha256(_text(plan.model_copy(update={"seal": "", "folder": ""})).encode()).hexdigest()


def write_plan(plan: AnnotationPlan, path: str | os.PathLike[str]) -> None:
    """Write a plan, sealed, whole or not at all."""
    write_text(Path(path), _text(sealed(plan)))


def _text(plan: AnnotationPlan) -> str:
    """Indented JSON, with one line for each rubric, stratum, item and rater."""
    # Without what came later as before there was any, so that older seals hold.
    later = {name for name in _LATER if not getattr(plan, name)}
    data: dict[str, Any] = plan.model_dump(mode="json", exclude=later)
    for item in data["training"]:
        if not item["again"]:
            del item["again"]
    for name in {"rubrics", "wholes"} - later:
        data[name] = [
            {"version": planned.version, "rubric": as_data(planned.rubric)} for planned in getattr(plan, name)
        ]
    lines = [f"{json.dumps(key)}: {_lines(value)}" for key, value in data.items()]
    return "{\n  " + ",\n  ".join(lines) + "\n}\n"


def _lines(value: Any) -> str:
    def compact(part: Any) -> str:
        return json.dumps(part, ensure_ascii=False)

    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "[\n    " + ",\n    ".join(map(compact, value)) + "\n  ]"
    if isinstance(value, dict) and value:
        return "{\n    " + ",\n    ".join(f"{compact(k)}: {compact(v)}" for k, v in value.items()) + "\n  }"
    return compact(value)


def read_plan(path: str | os.PathLike[str], run: Run | None = None) -> AnnotationPlan:
    """Read a plan.

    Args:
        path: the file.
        run: the run it must belong to.

    Raises:
        PlanError: it can't be read, has been changed since it was made, or is of another run.
    """
    where = str(path)
    try:
        todo = "check its path, or make one with bedside sample"
        data = read_bytes(path, "plan", most=MOST_BYTES, kind=PlanError, todo=todo)
        plan = AnnotationPlan.model_validate_json(data)
    except ValidationError as error:
        with suppress(ValueError, TypeError, LookupError, RecursionError):
            FORMAT.check(json.loads(data)["format"], where, PlanError)
        key, text = first_complaint(error, AnnotationPlan)
        what = text if key else f"the file: {text}"
        raise PlanError(what, where=where, todo="make a plan with bedside sample") from error
    if _seal(plan) != plan.seal:
        raise PlanError(
            "the plan was changed after it was made",
            where=where,
            todo="use the original, or make another with bedside sample",
        )
    if run is not None:
        check_run(plan, run, where)
    return plan


def run_places(file: Path, plan: AnnotationPlan) -> list[Path]:
    """Where a plan's run may be: where the plan says, around the plan's file, and ``run`` beside it or here."""
    beside = file.resolve().parent
    place = Path(os.path.normpath(beside / plan.folder))
    here = Path.cwd()
    # From the root of the disk each place would lose the slash that tells where it begins.
    near = here != here.parent and place.is_relative_to(here)
    drawn = [place.relative_to(here) if near else place] if plan.folder else []
    return [*drawn, *file.resolve().parents, file.parent / "run", beside / "run", Path("run")]


def check_run(plan: AnnotationPlan, run: Run, where: str) -> None:
    """See that a plan is of a run, and that the run has all that is rated.

    Raises:
        PlanError: it is of another run, or the run lacks something.
    """
    if plan.run != run_identity(run):
        raise PlanError(
            "the plan was made for another run", where=where, todo=f"name its run; {run.path} has other transcripts"
        )
    _check_items(plan, run, where)


def _check_items(plan: AnnotationPlan, run: Run, where: str) -> None:
    """See that the run has all that is rated. Plans that bedside made need no such look."""
    turns = dict(run.index.select("id", "turns").iter_rows())
    for item in plan.everything:
        turn_count = turns.get(item.transcript)
        if isinstance(item, KnownItem) and item.content is not None:
            try:
                turn_count = len(parse_transcript(item.content).turns)
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise PlanError(f"the content of item {item.id} can't be read", where=where) from error
        lacks_turn = is_turn(item.unit) and turn_count is not None and turn_index(item.unit) >= turn_count
        lacks_second = is_pair(item.unit) and second_id(item.unit) not in turns
        if turn_count is None or lacks_turn or lacks_second:
            raise PlanError(
                f"the run has no {item.unit} of item {item.id}",
                where=where,
                todo="make another plan with bedside sample",
            )


def check_current(plan: AnnotationPlan, rubrics: Iterable[Rubric], where: str) -> None:
    """See that the rubrics of a plan still are those of their name.

    Args:
        plan: the plan.
        rubrics: rubrics as they are now; those that the plan hasn't are ignored.
        where: the plan's place, for the message.

    Raises:
        PlanError: one has changed since.
    """
    versions = {rubric.name: rubric.version for rubric in rubrics}
    for planned in (*plan.rubrics, *plan.wholes):
        name, version = planned.rubric.name, planned.version
        # A tuned rubric's wording is that of its own file, and not of what is registered by the name.
        version_now = version if planned.rubric.tuned else versions.get(name, version)
        if version_now != version:
            raise PlanError(
                f"the rubric {name} was changed since the plan was made ({version}, now {version_now})",
                where=where,
                todo="make another plan with bedside sample, or restore the rubric",
            )
