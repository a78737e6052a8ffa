"""Who rates what now: when a rater drops out, others take over what is open; or raters get items by need.

The plan itself stays as it was drawn, with its items, chances and name; who rates what instead stands beside it in the
run, in ``annotations/<plan hash>/reassigned.json``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bedside.annotation.annotation_plan import (
    RATER,
    AnnotationPlan,
    KnownItem,
    PlanItem,
    RaterName,
    RaterStanding,
    known_rater,
    plan_hash,
    rater_of,
)
from bedside.annotation.answer_store import FOLDER, PLAN, current_plan, plan_folder, plan_path, read_store
from bedside.annotation.answers import time_now
from bedside.annotation.plan_file import write_plan
from bedside.core.errors import InputError, RunError
from bedside.core.files import holding, make_folder, read_sealed, saying_where, write_sealed
from bedside.ratings.run import Run

FILE = "reassigned.json"
#: The file in a plan's folder that is held while that is changed.
LOCK = "reassigned.lock"
_NOUN = "file of who rates what now"
#: How long to wait for another process that changes who rates what, in seconds.
_PATIENCE = 20.0

#: What is decided about a rater; ``second set``: who failed the first training set is shown the second.
Decision = Literal["let in", "retrain", "second set", "exclude"]


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
        changes: when, who dropped out and who took how many items, or what was decided about whom, in order.
        standings: of the raters about whom something was decided.
        need: what is handed out by need; None where the plan says who rates what.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    raters: list[RaterName] = Field(min_length=1)
    assignment: dict[str, list[str]]
    changes: list[dict[str, Any]]
    standings: dict[str, RaterStanding] = {}
    need: Need | None = None


def as_assigned(run: Run, plan: AnnotationPlan) -> AnnotationPlan:
    """The plan with who rates what now.

    Raises:
        RunError: the file that says so is damaged.
    """
    plan = current_plan(run, plan)
    record = _read(plan_path(run, plan, FILE), plan)
    return plan if record is None else _assigned(plan, record)


def renamed(run: Run, plan: AnnotationPlan, rater: str, share: str) -> dict[str, Any] | None:
    """What the file says, with a rater called otherwise, about whom nothing is decided any more; None where there is
    no file."""
    path = plan_path(run, plan, FILE)
    if not path.is_file():
        return None
    said = read_sealed(path, _NOUN)

    def name(known: str) -> str:
        return share if known == rater else known

    said["raters"] = list(map(name, said["raters"]))
    said["assignment"] = {name(known): ids for known, ids in said["assignment"].items()}
    for change in said["changes"]:
        moved = {name(known): count for known, count in change["moved"].items()}
        change |= {"rater": name(change["rater"]), "moved": moved}
    said.get("standings", {}).pop(rater, None)
    for part in ("handed", "back", "settled"):
        of_need = (said.get("need") or {}).get(part, {})
        if rater in of_need:
            of_need[share] = of_need.pop(rater)
    return said


def need_of(run: Run, plan: AnnotationPlan) -> Need | None:
    """What is handed out of a plan by need; None where the plan says who rates what.

    Raises:
        RunError: as :func:`as_assigned`.
    """
    record = _read(plan_path(run, plan, FILE), current_plan(run, plan))
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
    with holding(folder / LOCK, refusal, _PATIENCE):
        plan = current_plan(run, plan)
        record = _read(folder / FILE, plan)
        now = plan if record is None else _assigned(plan, record)
        need = None if record is None or record.need is None else record.need.model_copy(deep=True)
        changes = [] if record is None else list(record.changes)
        assignment = {name: list(now.assignment[name]) for name in now.raters}
        standings = {} if record is None else dict(record.standings)
        draft = Record(raters=list(now.raters), assignment=assignment, changes=changes, standings=standings, need=need)
        yield now, draft
        if draft == record:
            return
        if not (folder / "plan.json").is_file():
            write_plan(plan, folder / "plan.json")
        later = {name for name in ("standings", "need") if not getattr(draft, name)}
        data = {**draft.model_dump(mode="json", exclude=later), "raters": list(draft.assignment)}
        write_sealed(folder / FILE, data)


def reassign(
    run: Run, plan: AnnotationPlan, rater: str, to: Sequence[str] = (), away: Collection[str] = ()
) -> Reassignment:
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
        away: who can't take over, beside those who were excluded.

    Raises:
        InputError: the rater is none of the plan's, is named among those who take over, or has nothing open; or
            somebody who can't take over is named; or nobody can take over anything, as all others have it.
        RunError: another process holds the run, or it can't be written.
    """
    with run.locked(), ExitStack() as written, changing(run, plan) as (now, record):
        written.callback(run.note, *(f"{FOLDER}/{plan_hash(plan)}/{name}" for name in (PLAN, FILE)))
        leaving = rater_of(now, rater, "`rater`")
        takers = _takers(now, leaving, to, away)
        answered = read_store(run, now).counting()
        is_open = {name for name in now.assignment[leaving] if (name, leaving) not in answered}
        items = [item.id for item in now.items if item.id in is_open]
        if not items:
            raise InputError(f"{leaving} has nothing open", where="`rater`")
        assignment = record.assignment
        assignment |= {name: now.first_training for name in takers if name not in assignment}
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
        if record.need is not None:
            record.need.handed.pop(leaving, None)
            for item_id, taker in taken_by.items():
                record.need.handed.setdefault(taker, {})[item_id] = int(time_now().timestamp())
        record.changes.append(_change(leaving, moved))
    return Reassignment(as_assigned(run, plan), leaving, dict(moved), untaken, repeats)


def hand_over(run: Run, plan: AnnotationPlan, leaving: str, taker: str, answered: Collection[str] = ()) -> bool:
    """Give all that a rater hasn't answered to one other, in its order; the run isn't held for it.

    A second showing whose first the rater has answered falls away. Items that the other has already stay.

    Args:
        run: the run.
        plan: the plan as it was drawn.
        leaving: the rater.
        taker: who takes over; may be new.
        answered: ids of what stays with the rater.

    Returns:
        Whether there was anything.
    """
    with changing(run, plan) as (now, record):
        training, items = {item.id for item in now.training}, {item.id for item in now.items}
        own, has = now.assignment.get(leaving, ()), record.assignment.get(taker, ())
        shown_by = {(item.transcript, item.unit): item for item in now.items if not item.replicate}
        moved, stays = [], {*answered, *items.intersection(has)}
        for item in (now.by_id[name] for name in own if name not in {*training, *stays, *has}):
            first = first_showing(item, shown_by)
            moved += [item.id] if first is None or first.id not in answered else []
        works = items.intersection(moved)
        record.assignment[leaving] = [name for name in own if name in stays]
        if works:
            order = {name: place for place, name in enumerate(plan.assignment.get(taker, ()))}
            others = [name for name in record.assignment.get(taker, ()) if name not in training]
            rest = sorted((*others, *moved), key=lambda name: order.get(name, len(order)))
            kept = [name for name in record.assignment.get(taker, ()) if name in training]
            record.assignment[taker] = [*(kept or now.first_training), *rest]
        if record.assignment[leaving] != list(own):
            record.changes.append(_change(leaving, {taker: len(works)} if works else {}))
    return bool(works)


def decide(run: Run, plan: AnnotationPlan, rater: str, decision: Decision, time: str = "") -> AnnotationPlan:
    """Have a rater go on, rate the training set again, or be asked nothing more; the run isn't held for it.

    Who is retrained is shown the second training set, or rates the last one again where there is none to come: what
    they hand in from ``time`` on counts. Either decision but ``exclude`` ends an exclusion.

    Returns:
        The plan as it is assigned now.

    Raises:
        InputError: the rater is none of the plan's, or is to be retrained and there is no training.
    """
    with changing(run, plan) as (now, record):
        name = rater_of(now, rater, "`rater`")
        if decision not in ("exclude", "let in") and not now.training and not now.standing(name).excluded:
            raise InputError("the plan has no training set", where="`rater`", todo="draw one with `training`")
        standing = RaterStanding(let_in=decision == "let in", excluded=decision == "exclude")
        if decision in ("retrain", "second set"):
            own = record.assignment[name]
            second = [item.id for item in now.training if item.again and item.id not in own]
            place = sum(now.by_id[item] in now.training for item in own)
            own[place:place] = second
            standing = RaterStanding(retrained=now.standing(name).retrained if second else time)
        elif decision == "exclude":
            standing = standing.model_copy(update={"retrained": now.standing(name).retrained})
        record.standings[name] = standing
        record.changes.append({**_change(name, {}), "decision": decision})
    return as_assigned(run, plan)


def _change(rater: str, moved: Mapping[str, int]) -> dict[str, Any]:
    return {"date": datetime.now(UTC).isoformat(timespec="seconds"), "rater": rater, "moved": dict(moved)}


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


def _takers(plan: AnnotationPlan, leaving: str, names: Sequence[str], away: Collection[str]) -> list[str]:
    """Who takes over: each as the plan spells the name."""
    away = {*away, *(name for name in plan.raters if plan.standing(name).excluded)}
    known = {rater.casefold(): rater for rater in plan.raters}
    takers = list(dict.fromkeys(known.get(name.casefold(), name) for name in names))
    for name in names:
        if known_rater(plan, name) in plan.withdrawn:
            raise InputError(f"{name} withdrew, or is the share of somebody who did", where="`to`", todo="name another")
    if leaving in takers:
        raise InputError(f"{leaving} can't take over from {leaving}", where="`to`")
    for name in takers:
        if name in away:
            raise InputError(f"{name} rates nothing now", where="`to`", todo="name another")
        if not re.fullmatch(RATER, name):
            raise InputError(
                f"{name!r} can't be a rater's name", where="`to`", todo="use letters, digits and . _ @ + -"
            )
    if takers:
        return takers
    others = [name for name in plan.people if name not in {leaving, *away} and plan.assignment[name]]
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
    update = {"raters": tuple(record.raters), "assignment": assignment, "settled": settled}
    assigned = plan.model_copy(update={**update, "standings": dict(record.standings)})
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
