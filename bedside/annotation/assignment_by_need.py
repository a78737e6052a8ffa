"""Who rates what next, where raters get items by need: a few at a time, until the numbers are precise enough.

The design is the plan's. Items enter in an order drawn at random; each gets as many different raters as the plan gives
it, pairs of raters in balance; all transcripts of one case go to the same raters, gold items and second showings come
in their share, and training comes first. Nothing that raters said decides who rates what.

Nobody is asked for more than their share of the plan, and their part of what dropouts left of theirs.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from bedside.annotation.annotation_plan import AnnotationPlan
from bedside.annotation.answer_revisions import AnswerKey
from bedside.annotation.answer_store import plan_folder, read_store
from bedside.annotation.answers import RaterAnswer, time_now
from bedside.annotation.plan_file import read_plan
from bedside.annotation.reassignment import Need, Record, as_assigned, changing, first_showing, need_of
from bedside.annotation.strata import places_of
from bedside.core.errors import InputError
from bedside.ratings.run import Run

#: Who has fewer open items than the first number gets more, so that there are as many as the second.
FEW, BATCH = 2, 3
#: How many other items come between an item and its second showing, at least.
_APART = 10

#: What a rater can expect: ``more`` items; perhaps some ``later``, where others drop out; none, as all are ``done`` or
#: as it is ``enough``.
Supply = Literal["more", "later", "done", "enough"]


@dataclass(frozen=True, slots=True)
class WorkDone:
    """What raters have done so far.

    Attributes:
        answered: what was handed in or skipped.
        begun: what was begun and not handed in.
        active: rater → when they last did something, in seconds of the epoch.
    """

    answered: Set[AnswerKey] = frozenset()
    begun: Set[AnswerKey] = frozenset()
    active: Mapping[str, float] = field(default_factory=dict)


def stored_work(run: Run, plan: AnnotationPlan) -> WorkDone:
    """What raters have done by the answers in the run."""
    active: dict[str, float] = {}
    counting = read_store(run, plan).counting()
    for (_, rater), revision in counting.items():
        moment = datetime.fromisoformat(revision.answer.updated or revision.received)
        active[rater] = max(active.get(rater, 0.0), moment.replace(tzinfo=moment.tzinfo or UTC).timestamp())
    return WorkDone(frozenset(counting), active=active)


class NeedDesign:
    """What a plan's design asks for: which items enter when, and by how many raters.

    Args:
        plan: the plan as it was drawn.
        places: transcript → its place (:func:`~bedside.annotation.strata.places_of`): items of one go together.

    Attributes:
        plan: the plan.
        wanted: item → how many raters it gets; second showings aren't among them.
        settled: items whose lists leave nothing to ask.
        bundles: items that go to the same raters, in the order in which they enter.
    """

    def __init__(self, plan: AnnotationPlan, places: Mapping[str, str]) -> None:
        self.plan = plan
        orders = [(*plan.assignment[rater], *plan.settled.get(rater, ())) for rater in plan.raters]
        raters = Counter(name for order in orders for name in order)
        firsts = [item for item in plan.items if not item.replicate]
        shown_by = {(item.transcript, item.unit): item for item in firsts}
        self.wanted: dict[str, int] = {item.id: raters[item.id] for item in firsts if raters[item.id]}
        self.settled: frozenset[str] = frozenset(name for names in plan.settled.values() for name in names)
        self._again = {first.id: item.id for item in plan.items if (first := first_showing(item, shown_by)) is not None}
        bundles: dict[tuple[str, int], list[str]] = {}
        for item in firsts:
            unit = "" if item.unit.startswith("pair:") else item.unit
            # What all rate was drawn from its place, and the rest of that goes to others.
            place = f"{places[item.transcript]}:{unit}", self.wanted.get(item.id, 0)
            bundles.setdefault(place, []).append(item.id)
        order = random.Random(f"{plan.seed}:need").sample(sorted(bundles), len(bundles))
        self.bundles: list[list[str]] = [bundles[place] for place in order if place[1]]
        sizes = (len(self.wanted.keys() & set(own)) for own in orders)
        self._sizes = dict(zip(plan.raters, sizes, strict=True))
        self._gold = {rater: _gold_places(plan, rater, self.wanted) for rater in plan.raters}

    def size(self, rater: str) -> int:
        """A rater's share of the plan, in items; of somebody new, the largest."""
        return self._sizes.get(rater, max(self._sizes.values()))

    def lacking(self, plan: AnnotationPlan) -> int:
        """How many ratings nobody is to give, by the plan as it is assigned now."""
        orders = (*plan.assignment.values(), *plan.settled.values())
        had = Counter(name for order in orders for name in order)
        return sum(max(0, wanted - had[name]) for name, wanted in self.wanted.items())

    def next_items(
        self, rater: str, shares: Mapping[str, Set[str]], count: int, *, away: Collection[str] = ()
    ) -> list[str]:
        """What a rater is asked next, in the order of its showing; whole bundles, so that it may be more.

        Args:
            rater: who.
            shares: rater → items that they have or had answered.
            count: how many items.
            away: raters who dropped out: pairs with them needn't be in balance.
        """
        raters_of: dict[str, list[str]] = {name: [] for name in self.wanted}
        for name, items in shares.items():
            for item in raters_of.keys() & items:
                raters_of[item].append(name)
        own = shares[rater]
        pairs = Counter(name for item in raters_of.keys() & own for name in raters_of[item] if name != rater)
        others = {name for who in raters_of.values() for name in who} - {rater, *away}
        begun: list[tuple[int, list[str], set[str]]] = []
        fresh: list[list[str]] = []
        half = 0
        for place, bundle in enumerate(self.bundles):
            lacking = [item for item in bundle if len(raters_of[item]) < self.wanted[item]]
            if not lacking:
                continue
            holders = {name for item in bundle for name in raters_of[item]}
            half += bool(holders)
            lacking = [item for item in lacking if item not in own]
            if lacking and holders:
                begun.append((place, lacking, holders - {rater}))
            elif lacking:
                fresh.append(lacking)
        fresh.reverse()
        chosen: list[str] = []
        while len(chosen) < count and (begun or fresh):
            balance = [(max((pairs[name] for name in holders), default=0), sum(pairs[name] for name in holders), place)
                       for place, _, holders in begun]  # fmt: skip
            best = min(balance, default=None)
            lowest = min((pairs[name] for name in others), default=0)
            # What is begun is made whole first, unless that has a pair run ahead while few items are half done.
            if best is not None and (not fresh or best[0] <= lowest or half > len(others)):
                _, lacking, holders = begun.pop(balance.index(best))
                pairs.update({name: len(lacking) for name in holders})
                half -= all(len(raters_of[item]) + 1 >= self.wanted[item] for item in lacking)
            else:
                lacking = fresh.pop()
                half += any(self.wanted[item] > 1 for item in lacking)
            chosen += lacking
        random.Random(f"{self.plan.seed}:{rater}:{len(own)}").shuffle(chosen)
        return chosen

    def with_known(
        self, rater: str, order: Sequence[str], chosen: Sequence[str], answered: Set[AnswerKey]
    ) -> list[str]:
        """What a rater is asked next, with the gold items and second showings that are due.

        Args:
            rater: who.
            order: what they got before, in order.
            chosen: what they get now.
            answered: what was handed in.
        """
        before = [name for name in order if name in self.wanted]
        again = [
            self._again[name]
            for name in before[: max(0, len(before) - _APART) if chosen else None]
            if name in self._again and (name, rater) in answered and self._again[name] not in order
        ]
        places = self._gold.get(rater, self._gold[self.plan.raters[0]])
        gold = [(after, name) for after, name in places if name not in order]
        items: list[str] = []
        for number, name in enumerate(chosen, len(before)):
            while gold and gold[0][0] <= number:
                items.append(gold.pop(0)[1])
            items.append(name)
        # The last of them may come after all others.
        items += [] if chosen else [name for after, name in gold if after <= len(before)]
        return [*again, *items]


def _gold_places(plan: AnnotationPlan, rater: str, counted: Collection[str]) -> list[tuple[int, str]]:
    """After how many of the counted items each gold item comes, as the plan mixed them."""
    gold, others, places = {item.id for item in plan.gold}, 0, []
    for name in plan.assignment[rater]:
        if name in gold:
            places.append((others, name))
        others += name in counted
    return places


def need_design(run: Run, plan: AnnotationPlan) -> NeedDesign:
    """The design of a plan, whoever rates what now."""
    file = plan_folder(run, plan) / "plan.json"
    return NeedDesign(read_plan(file) if file.is_file() else plan, places_of(run))


def begin(run: Run, plan: AnnotationPlan, until: str, idle: float, work: WorkDone) -> Need:
    """Have items handed out by need from now on; what is answered or begun stays with its rater.

    Where they are already, only the targets and the hours change; after other targets were reached it goes on.

    Args:
        run: the run.
        plan: the plan.
        until: the targets at which it ends.
        idle: hours after which what isn't handed in goes to somebody else.
        work: what raters have done.

    Raises:
        InputError: the plan settles what raters differ on, or the hours are none.
        RunError: who rates what can't be read or written.
    """
    if plan.mode == "adjudicate":
        raise InputError("what is adjudicated is all of it needed", where="`until`", todo="leave it out")
    if not 0 < idle < math.inf:
        raise InputError(f"{idle:g} is no number of hours", where="`idle`", todo="give 24 for a day")
    with changing(run, plan) as (now, record):
        if record.need is None:
            kept = {*work.answered, *work.begun, *((item.id, rater) for item in plan.training for rater in now.raters)}
            for rater, own in record.assignment.items():
                own[:] = [name for name in own if (name, rater) in kept]
            need = Need(until=until, idle=idle, began=int(time_now().timestamp()))
        else:
            need = record.need.model_copy(update={"until": until, "idle": idle})
            need.stopped = need.stopped if until == record.need.until else ""
        record.need = need
    return need


def hand_out(
    run: Run,
    design: NeedDesign,
    rater: str,
    work: WorkDone,
    *,
    few: int = FEW,
    batch: int = BATCH,
    most: int | None = None,
) -> Supply:
    """Give a rater the next items, where few are open; what others left idle goes back first.

    Args:
        run: the run.
        design: of the plan.
        rater: who; may be new, and gets the training set first.
        work: what raters have done.
        few: nothing is given to who has as many open items.
        batch: how many are open afterwards, at least where there are any to give.
        most: the items that the rater is asked for in all; without it, their share of the plan, and their part of what
            dropouts left.

    Returns:
        What the rater can expect.

    Raises:
        RunError: who rates what can't be read or written.
    """
    moment = time_now().timestamp()
    with changing(run, design.plan) as (_, record):
        own, need = record.assignment.setdefault(rater, design.plan.first_training), record.need
        if need is None or need.stopped:
            return "enough"
        training = {item.id for item in design.plan.training}
        is_open = [name for name in own if (name, rater) not in work.answered and name not in training]
        if len(is_open) >= few:
            return "more"
        latest = {
            name: max(need.began, work.active.get(name, 0), *need.handed.get(name, {}).values())
            for name in record.assignment
        }
        away = {name for name, when in latest.items() if name != rater and when + 3600 * need.idle < moment}
        away |= {change["rater"] for change in record.changes if change.get("moved")}
        if rater in away:
            return "done"
        for name in away:
            handed = need.handed.get(name, {})
            _take_back(record, need, name, {item for item in handed if (item, name) not in work.answered})
        shares = {name: {*ids, *need.settled.get(name, ())} for name, ids in record.assignment.items()}
        done, limited = {item for item, name in work.answered if name == rater}, most is not None
        had = len((shares[rater] | done if limited else shares[rater]) & design.wanted.keys())
        if most is None:
            # Whoever is there does an even part of what dropouts left.
            left = [design.size(name) - len(shares[name] & design.wanted.keys()) for name in away]
            gone = [size for size in left if size > 0]
            most = design.size(rater) + math.ceil(sum(gone) / (len(shares) - len(gone)))
        shares[rater] |= done
        chosen = design.next_items(rater, shares, min(batch - len(is_open), most - had), away=away)
        settled = design.settled.intersection(chosen)
        items = design.with_known(rater, own, [name for name in chosen if name not in settled], work.answered)
        own += items
        if settled:
            need.settled.setdefault(rater, []).extend(sorted(settled))
        if rater in need.back:
            need.back[rater] = [name for name in need.back[rater] if name not in items]
        still = {name: when for name, when in need.handed.get(rater, {}).items() if name in is_open}
        need.handed[rater] = still | {name: int(moment) for name in items if name in design.wanted}
        if items or is_open:
            return "more"
        answers = Counter(item for item, _ in work.answered)
        # What others haven't begun, or leave, may still become this rater's.
        others = design.wanted.keys() - shares[rater] - design.settled
        return "later" if not limited and any(answers[item] < design.wanted[item] for item in others) else "done"


def take_back(run: Run, plan: AnnotationPlan, rater: str, kept: Collection[str]) -> None:
    """Have all that a rater has, but training and what is kept, go to others: who ended, or whose answers don't count.

    Raises:
        RunError: who rates what can't be read or written.
    """
    with changing(run, plan) as (now, record):
        if record.need is not None:
            stays = {*kept, *(item.id for item in now.training)}
            _take_back(record, record.need, rater, set(record.assignment.get(rater, ())) - stays)


def stop(run: Run, design: NeedDesign, work: WorkDone) -> None:
    """End it, as the targets are reached: what nobody has begun is asked of nobody.

    Raises:
        RunError: who rates what can't be read or written.
    """
    with changing(run, design.plan) as (_, record):
        if record.need is not None and not record.need.stopped:
            record.need.stopped = datetime.now(UTC).isoformat(timespec="seconds")
            for rater, own in record.assignment.items():
                is_open = {(name, rater) for name in own} - work.answered - work.begun
                _take_back(record, record.need, rater, {name for name, _ in is_open})


def _take_back(record: Record, need: Need, rater: str, items: Set[str]) -> None:
    """Have items be nobody's; what is handed in of them all the same is known by the record."""
    if not items:
        return
    own = record.assignment[rater]
    need.back[rater] = [*need.back.get(rater, ()), *(name for name in own if name in items)]
    own[:] = [name for name in own if name not in items]
    need.handed[rater] = {name: when for name, when in need.handed.get(rater, {}).items() if name not in items}


def counted_late(run: Run, design: NeedDesign, late: Sequence[AnswerKey]) -> list[AnswerKey]:
    """Which of the items that went back are their raters' again, as nobody else has their place, in the order given.

    Only the time decides that, and never what was said: what counts is no subset that was chosen.

    Args:
        run: the run.
        design: of the plan.
        late: items that went back, with the raters who go on with them.

    Raises:
        RunError: who rates what can't be read or written.
    """
    taken = []
    with changing(run, design.plan) as (_, record):
        need = record.need
        holders = Counter(name for ids in record.assignment.values() for name in ids)
        for item, rater in late:
            free = holders[item] < design.wanted.get(item, math.inf)
            excluded = rater in record.standings and record.standings[rater].excluded
            if need is not None and free and not excluded and item in need.back.get(rater, ()):
                need.back[rater].remove(item)
                record.assignment[rater].append(item)
                holders[item] += 1
                taken.append((item, rater))
    return taken


def entering(run: Run, plan: AnnotationPlan, answers: Sequence[RaterAnswer]) -> list[RaterAnswer]:
    """The answers that go into the run: all but those to items that went back and that somebody else has by now.

    Raises:
        RunError: who rates what can't be read or written.
    """
    need = need_of(run, plan)
    went_back = {} if need is None else {rater: set(items) for rater, items in need.back.items()}
    keys = [(answer.item, answer.rater) for answer in answers]
    late = {key for key in keys if key[0] in went_back.get(key[1], ())}
    if not late:
        return list(answers)
    handed_in = dict.fromkeys(key for key, answer in zip(keys, answers, strict=True) if answer.state != "draft")
    late -= set(counted_late(run, need_design(run, plan), [key for key in handed_in if key in late]))
    return [answer for key, answer in zip(keys, answers, strict=True) if key not in late]


def is_reached(path: Path, plan: AnnotationPlan, need: Need) -> bool:
    """Whether the ratings in a run's folder, read anew, reach the targets now; not where they did before."""
    from bedside.annotation.study_targets import read_targets, target_states

    if need.stopped:
        return False
    states = target_states(Run(path), plan, read_targets(need.until))
    return bool(states) and all(state.reached for state in states)


def stop_if_reached(run: Run, plan: AnnotationPlan) -> None:
    """End what is handed out by need where the ratings in the run reach the targets.

    Raises:
        BedsideError: who rates what, or the run, can't be read or written.
    """
    need = need_of(run, plan)
    if need is not None and is_reached(run.path, plan, need):
        stop(run, need_design(run, plan), stored_work(run, plan))


def next_batch(run: Run, plan: AnnotationPlan, batch: int = 2 * BATCH) -> AnnotationPlan:
    """The plan as it is assigned once every rater has the next items, by the answers in the run.

    Where the targets are reached, nobody gets any.

    Args:
        run: the run.
        plan: the plan, of which items are handed out by need.
        batch: how many items a rater has open afterwards.

    Raises:
        BedsideError: who rates what, or the run, can't be read or written.
    """
    stop_if_reached(run, plan)
    design, work = need_design(run, plan), stored_work(run, plan)
    for rater in (name for name in plan.people if not plan.standing(name).excluded):
        hand_out(run, design, rater, work, few=batch, batch=batch)
    return as_assigned(run, plan)
