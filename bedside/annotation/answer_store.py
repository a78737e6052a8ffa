"""The run's store of what raters answered: every revision is kept, the latest counts.

A plan's answers stand in ``annotations/<plan hash>/answers.jsonl``, which only grows: one line a revision of what a
rater said of an item. Ratings are made of the store alone, so that what was pulled once stays, whatever becomes of the
server.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import polars as pl

from bedside.annotation.annotation_plan import AnnotationPlan, plan_hash, round_of
from bedside.annotation.answer_check import AnswerCheck
from bedside.annotation.answer_ratings import plan_ratings, plan_scales
from bedside.annotation.answers import RaterAnswer
from bedside.annotation.items import coded_positions
from bedside.annotation.plan_file import write_plan
from bedside.ratings.run import Run
from bedside.ratings.table import KEY
from bedside.support.errors import InputError, RunError
from bedside.support.files import make_folder, replacing, saying_where

FOLDER = "annotations"
STORE = "answers.jsonl"


@dataclass(frozen=True, slots=True)
class StoreSummary:
    """What putting answers into a run did.

    Attributes:
        new: answers to items that the rater hadn't answered before.
        revised: answers that changed an earlier one.
        unchanged: answers that were there already.
        submitted, skipped: answers that count now, by state.
        drafts: answers among those given that were not handed in.
        changed_by: who → answers that count now and that somebody other than their rater changed last.
        ratings: ratings of the plan in the run.
        missing: those of them without value or label.
    """

    new: int
    revised: int
    unchanged: int
    submitted: int
    skipped: int
    drafts: int
    changed_by: Mapping[str, int]
    ratings: int
    missing: int


@dataclass(frozen=True, slots=True)
class Revision:
    """One line of the store.

    Attributes:
        answer: what was said.
        received: when it was put into the run (ISO 8601, UTC).
        number: position in the store, from 0.
    """

    answer: RaterAnswer
    received: str
    number: int


def plan_folder(run: Run, plan: AnnotationPlan) -> Path:
    """The folder in the run that holds a plan and its answers."""
    return run.path / FOLDER / plan_hash(plan)


def read_store(run: Run, plan: AnnotationPlan) -> list[Revision]:
    """Every revision of every answer to a plan, in the order they were put in.

    Raises:
        RunError: the store can't be read.
    """
    path = plan_folder(run, plan) / STORE
    if not path.is_file():
        return []
    revisions = []
    answer_check = AnswerCheck(plan, None)
    for number, line in enumerate(path.read_bytes().splitlines()):
        try:
            data = orjson.loads(line)
            received = data.pop("received")
            for key in ("choices", "texts"):
                data[key] = {name: tuple(values) for name, values in data[key].items()}
            revision = Revision(RaterAnswer(**data), received, number)
            _check_stored(revision, plan, answer_check)
            revisions.append(revision)
        except (ValueError, KeyError, TypeError, AttributeError, InputError) as error:
            raise RunError(
                "the store of answers is damaged", where=f"{path}:{number + 1}", todo="restore it from a copy"
            ) from error
    return revisions


def _check_stored(revision: Revision, plan: AnnotationPlan, answer_check: AnswerCheck) -> None:
    answer = revision.answer
    texts = [answer.id, answer.created, answer.updated, answer.where, revision.received]
    texts += [] if answer.changed_by is None else [answer.changed_by]
    for fields in (answer.choices, answer.texts):
        texts += [text for values in fields.values() for text in values]
    if (
        answer.item not in plan.by_id
        or answer.rater not in plan.raters
        or answer.state not in ("submitted", "skipped")
        or not all(isinstance(text, str) for text in texts)
        or not isinstance(answer.seconds, int | float | None)
    ):
        raise ValueError("the line is not an answer")
    if answer.state == "submitted":
        answer_check.check(answer)


def latest_answers(revisions: Iterable[Revision]) -> dict[tuple[str, str], RaterAnswer]:
    """(item, rater) → the answer that counts: the one changed last."""
    latest: dict[tuple[str, str], Revision] = {}
    for revision in revisions:
        key = (revision.answer.item, revision.answer.rater)
        if key not in latest or _changed_at(latest[key]) <= _changed_at(revision):
            latest[key] = revision
    return {key: revision.answer for key, revision in latest.items()}


_SECONDS = re.compile(r"^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d+)?")


def _changed_at(revision: Revision) -> tuple[str, str, int]:
    """When the answer was changed, in a form that sorts: seconds, their fraction, and the place in the store."""
    time = _SECONDS.match(revision.answer.updated or revision.received)
    return (time[1], (time[2] or "").ljust(7, "0"), revision.number) if time else ("", "", revision.number)


def _content(answer: RaterAnswer) -> tuple[Any, ...]:
    """What makes two revisions the same."""
    return (answer.state, dict(answer.choices), dict(answer.texts), answer.seconds, answer.changed_by)


def keep_answers(run: Run, plan: AnnotationPlan, answers: Sequence[RaterAnswer]) -> StoreSummary:
    """Put answers into the run's store and make ratings of all that is there; the run is held meanwhile.

    Putting the same answers in twice changes nothing. An answer that is known by its time of change is not put in
    again, however many came after it; one without a time is new where it differs from the one that counts.

    Raises:
        InputError: a choice or field that the plan's rubrics don't have; nothing is kept then.
        RunError: another process holds the run, or it can't be written; nothing is half done then.
    """
    positions = coded_positions(plan, run)
    answer_check = AnswerCheck(plan, positions)
    handed_in = [answer for answer in answers if answer.state != "draft"]
    for answer in handed_in:
        if answer.state == "submitted":
            answer_check.check(answer)
    with run.locked():
        revisions = read_store(run, plan)
        new, revised, lines = _added(revisions, handed_in)
        if lines:
            _append(run, plan, lines)
        counting = latest_answers(revisions)
        rows = _with_chances_of_round(run, plan, plan_ratings(run, plan, counting, positions))
        _put(run, plan, rows)
    drafts = {(answer.item, answer.rater) for answer in answers if answer.state == "draft"}
    states = Counter(answer.state for answer in counting.values())
    changed = Counter(answer.changed_by for answer in counting.values() if answer.changed_by is not None)
    return StoreSummary(
        new=new,
        revised=revised,
        unchanged=len(handed_in) - new - revised,
        submitted=states["submitted"],
        skipped=states["skipped"],
        drafts=len(drafts - counting.keys()),
        changed_by=dict(sorted(changed.items())),
        ratings=rows.height,
        missing=rows["error"].len() - rows["error"].null_count(),
    )


def _added(revisions: list[Revision], answers: Sequence[RaterAnswer]) -> tuple[int, int, list[bytes]]:
    """Put what is not there yet at the end of ``revisions``; how much is new and revised, and the lines to write."""
    now = datetime.now(UTC).isoformat(timespec="microseconds")
    timed: dict[tuple[str, str, str], list[tuple[Any, ...]]] = {}
    for answer in (revision.answer for revision in revisions):
        timed.setdefault((answer.item, answer.rater, answer.updated), []).append(_content(answer))
    counting = latest_answers(revisions)
    new = revised = 0
    lines = []
    for answer in answers:
        key = (answer.item, answer.rater)
        before = counting.get(key)
        if answer.updated:
            stored = timed.setdefault((*key, answer.updated), [])
        else:
            stored = [] if before is None else [_content(before)]
        if _content(answer) in stored:
            continue
        stored.append(_content(answer))
        if before is None:
            new += 1
        else:
            revised += 1
        revision = Revision(answer, now, len(revisions))
        revisions.append(revision)
        counting[key] = answer
        lines.append(_line(answer, now))
    return new, revised, lines


def _line(answer: RaterAnswer, received: str) -> bytes:
    return orjson.dumps({"received": received, **{name: getattr(answer, name) for name in answer.__slots__}})


def _append(run: Run, plan: AnnotationPlan, lines: Sequence[bytes]) -> None:
    folder = plan_folder(run, plan)
    with saying_where(folder):
        make_folder(folder)
    if not (folder / "plan.json").is_file():
        write_plan(plan, folder / "plan.json")
    path = folder / STORE
    before = path.read_bytes() if path.is_file() else b""
    with replacing(path) as temporary:
        temporary.write_bytes(before + b"".join(line + b"\n" for line in lines))


def _with_chances_of_round(run: Run, plan: AnnotationPlan, rows: pl.DataFrame) -> pl.DataFrame:
    """The ratings, without chances where other plans are of the same round: the chance of any of them isn't known."""
    others = [
        imported
        for imported in run.manifest["imports"]
        if imported.get("plan") not in (None, plan_hash(plan)) and round_of(plan) in imported["rounds"]
    ]
    return rows.with_columns(pl.when(pl.col("drawn") == 0).then("drawn")) if others else rows


def _put(run: Run, plan: AnnotationPlan, rows: pl.DataFrame) -> None:
    """Add the ratings to the run where they aren't there yet."""
    if rows.is_empty():
        return
    stored = run.scan().join(rows.lazy().select(KEY), on=KEY, how="semi").collect()
    if stored.sort(KEY).equals(rows.sort(KEY)):
        return
    store = plan_folder(run, plan) / STORE
    entry = {
        "file": str(store.relative_to(run.path)),
        "sha256": hashlib.sha256(store.read_bytes()).hexdigest(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "ratings": rows.height,
        "empty": rows["error"].len() - rows["error"].null_count(),
        "scales": {metric: scale.to_json() for metric, scale in plan_scales(plan).items()},
        "plan": plan_hash(plan),
        "rounds": [round_of(plan)],
        "by": list(plan.by),
        "mode": plan.mode,
        "rubrics": {planned.rubric.name: planned.version for planned in plan.rubrics},
    }
    imports = [imported for imported in run.manifest["imports"] if imported.get("plan") != entry["plan"]]
    run.add(rows.lazy(), {**run.manifest, "imports": [*imports, entry]})
