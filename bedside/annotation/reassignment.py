"""Who rates what now: when a rater drops out, others take over what is open; or raters get items by need.

The plan itself stays as it was drawn, with its items, chances and name; who rates what instead stands beside it in the
run, in ``annotations/<plan hash>/reassigned.json``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bedside.annotation.annotation_plan import RATER, AnnotationPlan, KnownItem, PlanItem, RaterName, rater_of
from bedside.annotation.answer_store import plan_folder, read_store
from bedside.annotation.plan_file import write_plan
from bedside.core.errors import InputError, RunError
from bedside.core.files import holding, make_folder, read_sealed, saying_where, write_sealed
from bedside.ratings.run import Run

FILE = "reassigned.json"
_NOUN = "file of who rates what now"
_LOCK = "reassigned.lock"
#: How long to wait for another process that changes who rates what, in seconds.
_PATIENCE = 20.0


@dataclass(frozen=True, slots=True)
class Reassignment:
    """What became of the open items of a rater who dropped out.

    Attributes:
        plan: the plan as it is assigned now.
        rater: who dropped out.
        moved: rater → items taken over.
        untaken: items that nobody could take over, as all who may have them already: they stay with the rater.
        repeats: second showings that nobody has any more, as the rater saw the first.
    """

    plan: AnnotationPlan
    rater: str
    moved: Mapping[str, int]
    untaken: int
    repeats: int = 0


class Need(BaseModel):
    """That raters get items by need (:mod:`~bedside.annotation.assignment_by_need`), and what they had.

    Attributes:
        until: the targets at which it ends.
        idle: hours after which what a rater doesn't hand in goes to somebody else.
        began: when it began, in seconds of the epoch.
        handed: rater → item that isn't answered → when it was handed out, in seconds of the epoch.
        back: rater → items that went back; what is handed in of them all the same counts where nobody else has its
            place.
        settled: rater → items whose lists leave nothing to ask, as they came up.
        stopped: when the targets were reached (ISO 8601); empty until then.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    until: str
    idle: float
    began: int
    handed: dict[str, dict[str, int]] = {}
    back: dict[str, list[str]] = {}
    settled: dict[str, list[str]] = {}
    stopped: str = ""


class Record(BaseModel):
    """The file.

    Attributes:
        raters: all raters now.
        assignment: rater → ids in the order they are shown.
        changes: when, who dropped out and who took how many items, in order.
        need: what is handed out by need; None where the plan says who rates what.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    raters: list[RaterName] = Field(min_length=1)
    assignment: dict[str, list[str]]
    changes: list[dict[str, Any]]
    need: Need | None = None


def as_assigned(run: Run, plan: AnnotationPlan) -> AnnotationPlan:
    """The plan with who rates what now.

    Raises:
        RunError: the file that says so is damaged.
    """
    record = _read(plan_folder(run, plan) / FILE, plan)
    return plan if record is None else _assigned(plan, record)


def need_of(run: Run, plan: AnnotationPlan) -> Need | None:
    """What is handed out of a plan by need; None where the plan says who rates what.

    Raises:
        RunError: as :func:`as_assigned`.
    """
    record = _read(plan_folder(run, plan) / FILE, plan)
    return None if record is None else record.need


@contextmanager
def changing(run: Run, plan: AnnotationPlan) -> Iterator[tuple[AnnotationPlan, Record]]:
    """The plan as it is assigned now, and what is to be changed of that: it is written when the block ends well.

    The run isn't held for it.

    Args:
        run: the run.
        plan: the plan as it was drawn.

    Raises:
        RunError: another process changes it, or the file can't be read or written.
    """
    folder = plan_folder(run, plan)
    with saying_where(folder):
        make_folder(folder)
    refusal = RunError("another process changes who rates what", where=str(folder), todo="try again")
    with holding(folder / _LOCK, refusal, _PATIENCE):
        record = _read(folder / FILE, plan)
        now = plan if record is None else _assigned(plan, record)
        need = None if record is None or record.need is None else record.need.model_copy(deep=True)
        changes = [] if record is None else list(record.changes)
        assignment = {name: list(now.assignment[name]) for name in now.raters}
        draft = Record(raters=list(now.raters), assignment=assignment, changes=changes, need=need)
        yield now, draft
        if draft == record:
            return
        if not (folder / "plan.json").is_file():
            write_plan(plan, folder / "plan.json")
        data = {**draft.model_dump(mode="json"), "raters": list(draft.assignment)}
        if draft.need is None:
            del data["need"]
        write_sealed(folder / FILE, data)


def reassign(run: Run, plan: AnnotationPlan, rater: str, to: Sequence[str] = ()) -> Reassignment:
    """Give what a rater hasn't answered to others, as evenly as it goes; the run is held meanwhile.

    Each item goes to whoever of those who don't have it has the fewest open ones; what nobody can take stays with the
    rater. A second showing goes with its first, and falls away where the rater has answered that. Gold items are no
    work to hand over: somebody new gets as many as the rater had among so many. Answers that the rater gave count as
    before.

    Args:
        run: the run.
        plan: the plan.
        rater: who drops out.
        to: who takes over, raters of the plan or new ones; all other raters of the plan by default.

    Raises:
        InputError: the rater is none of the plan's, is named among those who take over, or has nothing open; or
            nobody can take over anything, as all others have it.
        RunError: another process holds the run, or it can't be written.
    """
    with run.locked(), changing(run, plan) as (now, record):
        leaving = rater_of(now, rater, "`rater`")
        takers = _takers(now, leaving, to)
        answered = read_store(run, now).counting()
        is_open = {name for name in now.assignment[leaving] if (name, leaving) not in answered}
        items = [item.id for item in now.items if item.id in is_open]
        if not items:
            raise InputError(f"{leaving} has nothing open", where="`rater`")
        training = [item.id for item in now.training]
        assignment = record.assignment
        assignment |= {name: list(training) for name in takers if name not in assignment}
        loads = {name: sum((item, name) not in answered for item in assignment[name]) for name in takers}
        moved: Counter[str] = Counter()
        gone: set[str] = set()
        shown_by = {(item.transcript, item.unit): item for item in now.items if not item.replicate}
        taken_by: dict[str, str] = {}
        repeats = 0
        for item in sorted((now.by_id[name] for name in items), key=_replicate):
            first = first_showing(item, shown_by)
            if first is not None and first.id not in is_open:
                gone.add(item.id)
                repeats += 1
                continue
            if first is not None and first.id not in taken_by:
                continue
            free = [taken_by[first.id]] if first is not None else takers
            free = [name for name in free if item.id not in assignment[name]]
            if not free:
                continue
            taker = min(free, key=lambda name: loads[name])
            assignment[taker].append(item.id)
            taken_by[item.id] = taker
            loads[taker] += 1
            moved[taker] += 1
        if not moved and not gone:
            raise InputError(f"all others have what {leaving} hasn't answered", where="`to`", todo="name somebody new")
        untaken = len(items) - sum(moved.values()) - repeats
        gone |= set(taken_by)
        _add_gold(now, leaving, assignment, moved)
        kept = set(items) - gone
        # Gold items and training are for who goes on: they leave with the last of the others.
        gone |= set() if kept else is_open
        assignment[leaving] = [name for name in assignment[leaving] if name not in gone]
        date = datetime.now(UTC)
        if record.need is not None:
            record.need.handed.pop(leaving, None)
            for item_id, taker in taken_by.items():
                record.need.handed.setdefault(taker, {})[item_id] = int(date.timestamp())
        record.changes.append({"date": date.isoformat(timespec="seconds"), "rater": leaving, "moved": dict(moved)})
    return Reassignment(as_assigned(run, plan), leaving, dict(moved), untaken, repeats)


def _replicate(item: PlanItem | KnownItem) -> int:
    return item.replicate if isinstance(item, PlanItem) else 0


def first_showing(item: PlanItem | KnownItem, first_showings: Mapping[tuple[str, str], PlanItem]) -> PlanItem | None:
    """What the item shows again; None where it shows nothing again, or its first showing isn't the plan's."""
    if not _replicate(item):
        return None
    swapped = (item.unit.removeprefix("pair:"), f"pair:{item.transcript}")
    return first_showings.get((item.transcript, item.unit)) or first_showings.get(swapped)


def _add_gold(plan: AnnotationPlan, leaving: str, assignment: dict[str, list[str]], moved: Mapping[str, int]) -> None:
    """Put gold items evenly among what somebody without any took over, as many as the leaver had among so many."""
    gold = {item.id for item in plan.gold}
    of_plan = {item.id for item in plan.items}
    had = plan.assignment[leaving]
    share = sum(name in gold for name in had) / max(1, sum(name in of_plan for name in had))
    for taker, number in moved.items():
        order = assignment[taker]
        if not share or gold.intersection(order):
            continue
        known = [item.id for item in plan.gold][: max(1, round(share * number))]
        for place, name in enumerate(known):
            order.insert(len(order) - number + (2 * place + 1) * number // (2 * len(known)), name)


def _takers(plan: AnnotationPlan, leaving: str, names: Sequence[str]) -> list[str]:
    """Who takes over: each as the plan spells the name."""
    known = {rater.casefold(): rater for rater in plan.raters}
    takers = list(dict.fromkeys(known.get(name.casefold(), name) for name in names))
    if leaving in takers:
        raise InputError(f"{leaving} can't take over from {leaving}", where="`to`")
    for name in takers:
        if not re.fullmatch(RATER, name):
            raise InputError(
                f"{name!r} can't be a rater's name", where="`to`", todo="use letters, digits and . _ @ + -"
            )
    if takers:
        return takers
    others = [name for name in plan.raters if name != leaving and plan.assignment[name]]
    if not others:
        raise InputError("nobody else is left", where="`to`", todo="name somebody new")
    return others


def _assigned(plan: AnnotationPlan, record: Record) -> AnnotationPlan:
    assignment = {name: tuple(ids) for name, ids in record.assignment.items()}
    settled = dict(plan.settled)
    for change in record.changes:
        if change["moved"] and not assignment[change["rater"]]:
            # Who has handed in nothing leaves what nobody is asked, too.
            taker = max(change["moved"], key=change["moved"].__getitem__)
            settled[taker] = tuple(dict.fromkeys((*settled.get(taker, ()), *settled.pop(change["rater"], ()))))
    if record.need is not None:
        settled = {name: tuple(ids) for name, ids in record.need.settled.items()}
    assigned = plan.model_copy(update={"raters": tuple(record.raters), "assignment": assignment, "settled": settled})
    # What was worked out of the plan as it was drawn goes along with a copy.
    assigned.__dict__.pop("raters_of", None)
    return assigned


def _read(path: Path, plan: AnnotationPlan) -> Record | None:
    if not path.is_file():
        return None
    ids = {item.id for item in plan.everything}
    try:
        record = Record.model_validate(read_sealed(path, _NOUN))
        if set(record.assignment) != set(record.raters) or not set(plan.raters) <= set(record.raters):
            raise ValueError("the raters are not the plan's")
        if not all(ids.issuperset(names) for names in record.assignment.values()):
            raise ValueError("it names an unknown item")
    except (ValidationError, ValueError, OSError) as error:
        raise RunError(f"the {_NOUN} is damaged", where=str(path), todo="restore it from a copy") from error
    return record
