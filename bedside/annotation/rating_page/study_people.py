"""The people who enrolled in a study: who they are, where they are, what they agreed to, and what was decided.

Ids that come from outside stand here alone, in a database beside the run; ratings know people as ``p-1``, ``p-2`` ….
Who rates what is kept in the run (:mod:`~bedside.annotation.reassignment`): a person takes a share that waits, and what
they leave waits again.
"""

from __future__ import annotations

import csv
import io
import secrets
import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import orjson

from bedside.annotation.annotation_plan import AnnotationPlan, TrainingItem, rater_of
from bedside.annotation.answer_store import read_store
from bedside.annotation.answers import time_now
from bedside.annotation.assignment_by_need import FEW, NeedDesign, Supply, hand_out, need_design, take_back
from bedside.annotation.items import coded_positions
from bedside.annotation.offline_tables import safe_cell
from bedside.annotation.rating_page.page_database import PageDatabase, opened_database, saying_which, writing
from bedside.annotation.rating_page.page_folder import PageFolder
from bedside.annotation.reassignment import Decision, Need, as_assigned, decide, hand_over, need_of
from bedside.annotation.study_file import StudyFile, present_raters, slots_of
from bedside.annotation.training_cases import CodedPositions, TrainingResult, training_result
from bedside.core.errors import InputError
from bedside.core.files import Format
from bedside.ratings.run import Run

PersonState = Literal[
    "questionnaire", "training", "rating", "completed", "screened_out", "timed_out", "excluded", "enough", "withdrawn"
]  # fmt: skip
#: States in which a person has something to do.
ACTIVE = ("questionnaire", "training", "rating")
#: States that end well: the share isn't free again.
_DONE = ("completed", "enough")
#: What a person's code is made of: nothing that looks like something else.
_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
FORMAT = Format("database of people")
_SCHEMA = """
CREATE TABLE IF NOT EXISTS study (number INTEGER PRIMARY KEY AUTOINCREMENT, content BLOB NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS consents (version TEXT PRIMARY KEY, shown BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS persons (
    number INTEGER PRIMARY KEY AUTOINCREMENT, rater TEXT NOT NULL UNIQUE, person TEXT NOT NULL UNIQUE,
    parameters BLOB NOT NULL, state TEXT NOT NULL, slot TEXT UNIQUE, version TEXT NOT NULL, decision TEXT NOT NULL,
    consented TEXT NOT NULL, until TEXT, ended TEXT, answers BLOB NOT NULL, code TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS events (
    number INTEGER PRIMARY KEY AUTOINCREMENT, time TEXT NOT NULL, rater TEXT NOT NULL, event TEXT NOT NULL,
    detail BLOB NOT NULL
);
"""
_COLUMNS = "rater, parameters, state, slot, version, consented, until, ended, answers, code"


@dataclass(frozen=True, slots=True)
class EnrolledPerson:
    """Somebody who enrolled.

    Attributes:
        rater: the name that ratings have.
        parameters: of the link that the person came by.
        state: where the person is.
        slot: the rater of the plan whose share the person has or had; None once it waits again.
        version: of what the person agreed to (:attr:`~bedside.annotation.study_file.StudyFile.version`).
        consented, until, ended: when, as ISO 8601; None where it isn't so or there is no limit.
        answers: to the questionnaire.
        code: the person's own.
    """

    rater: str
    parameters: Mapping[str, str]
    state: PersonState
    slot: str | None
    version: str
    consented: str
    until: str | None
    ended: str | None
    answers: Mapping[str, list[str]]
    code: str

    @property
    def minutes(self) -> float | None:
        """From consent to the end."""
        if self.ended is None:
            return None
        return (datetime.fromisoformat(self.ended) - datetime.fromisoformat(self.consented)).total_seconds() / 60


class People:
    """The database of people, for one thread at a time.

    Args:
        path: the file; made for its owner alone if it isn't there.

    Raises:
        RunError: it can't be read or written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._saying_where():
            self._connection = opened_database(path, _SCHEMA, FORMAT)

    def close(self) -> None:
        """End the connection."""
        self._connection.close()

    @contextmanager
    def changing(self) -> Iterator[sqlite3.Connection]:
        """A transaction, all of it or none; one within another is a part of it."""
        within = nullcontext() if self._connection.in_transaction else writing(self._connection)
        with self._saying_where(), within:
            yield self._connection

    def keep_study(self, study: StudyFile) -> None:
        """Keep what people are shown and promised now, and every wording that anybody may agree to."""
        content = orjson.dumps(study.model_dump(mode="json"))
        with self.changing() as database:
            database.execute("DELETE FROM study")
            database.execute("INSERT INTO study (content) VALUES (?)", (content,))
            database.execute("INSERT OR IGNORE INTO consents (version, shown) VALUES (?, ?)", (study.version, content))

    def serves(self) -> bool:
        """Whether people can enrol."""
        return bool(self._rows("SELECT 1 FROM study"))

    def study(self) -> StudyFile:
        """The study as it was served last.

        Raises:
            InputError: it never was.
        """
        row = self._rows("SELECT content FROM study")
        if not row:
            raise InputError("the plan has no study", where=str(self.path), todo="serve it with `study` first")
        return StudyFile.model_validate_json(row[0][0])

    def persons(self) -> list[EnrolledPerson]:
        """All who enrolled, in that order."""
        return list(map(_person, self._rows(f"SELECT {_COLUMNS} FROM persons ORDER BY number")))

    def person(self, name: str, by: Literal["rater", "person"] = "rater") -> EnrolledPerson | None:
        """The person of a rater's name, or who came by a key before."""
        return next(map(_person, self._rows(f"SELECT {_COLUMNS} FROM persons WHERE {by} = ?", name)), None)

    def events(self) -> list[tuple[str, str, str, Mapping[str, Any]]]:
        """Time, rater, event and details of all that happened, in order."""
        rows = self._rows("SELECT time, rater, event, detail FROM events ORDER BY number")
        return [(time, rater, event, orjson.loads(detail)) for time, rater, event, detail in rows]

    def enrol(
        self, key: str, parameters: Mapping[str, str], study: StudyFile, free: Sequence[str], taken: Collection[str]
    ) -> EnrolledPerson | None:
        """Keep that somebody agreed, with a share of their own; None where none is free.

        Args:
            key: by which the person is known again.
            parameters: of the link.
            study: what the person agreed to.
            free: raters of the plan whose share waits.
            taken: names of people in the run.
        """
        with self.changing() as database:
            known, slot = self.person(key, "person"), self.free_slot(free)
            if known is not None or slot is None:
                return known
            last = database.execute("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'persons'")
            number = int(last.fetchone()[0]) + 1
            while f"p-{number}" in taken:
                number += 1
            rater, code = f"p-{number}", "".join(secrets.choice(_LETTERS) for _ in range(10))
            state = "questionnaire" if study.questionnaire else "training"
            given, times = (number, rater, key, orjson.dumps(parameters), state, slot), (_now(), _until(study), None)
            values = (*given, study.version, "agreed", *times, orjson.dumps({}), code)
            database.execute(f"INSERT INTO persons VALUES ({', '.join('?' * len(values))}, NULL)", values)
            self.log(rater, "consented", version=study.version, slot=slot)
        return self.person(rater)

    def free_slot(self, free: Sequence[str]) -> str | None:
        """The first of the shares that wait that nobody has."""
        held = {slot for (slot,) in self._rows("SELECT slot FROM persons WHERE slot IS NOT NULL")}
        return next((slot for slot in free if slot not in held), None)

    def log(self, rater: str, event: str, **detail: Any) -> None:
        """Keep that something happened."""
        values = (_now(), rater, event, orjson.dumps(detail))
        with self.changing() as database:
            database.execute("INSERT INTO events (time, rater, event, detail) VALUES (?, ?, ?, ?)", values)

    def move(self, rater: str, state: PersonState, event: str, **detail: Any) -> None:
        """Put a person into another state, with a record of why."""
        with self.changing():
            self.keep(rater, state=state, ended=None if state in ACTIVE else _now())
            self.log(rater, event, state=state, **detail)

    def keep(self, rater: str, **values: str | bytes | None) -> None:
        """Keep what is so of a person now, by column."""
        columns = ", ".join(f"{name} = ?" for name in values)
        with self.changing() as database:
            database.execute(f"UPDATE persons SET {columns} WHERE rater = ?", (*values.values(), rater))

    def take_up(self, rater: str, free: Sequence[str]) -> None:
        """Give somebody whose part had ended a share again.

        Raises:
            InputError: none is free.
        """
        with self.changing():
            person, slot = self.person(rater), self.free_slot(free)
            if person is None or person.slot is not None:
                return
            if slot is None:
                todo = "wait until somebody leaves one"
                raise InputError(f"no share is free for {rater}", where="`rater`", todo=todo)
            self.keep(rater, slot=slot)
            self.log(rater, "took a share", slot=slot)

    def forget(self, rater: str) -> None:
        """Remove all that is known of a person from the file, but that somebody withdrew, and what is owed."""
        person = self.person(rater)
        if person is None:
            return
        owed = [detail["amount"] for _, name, _, detail in self.events() if name == rater and "amount" in detail]
        with self.changing() as database:
            database.execute("DELETE FROM persons WHERE rater = ?", (rater,))
            database.execute("DELETE FROM events WHERE rater = ?", (rater,))
            self.log("", "withdrawn", code=person.code, amount=owed[-1] if owed else "0.00")
        with self._saying_where():
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def withdrawn(self) -> int:
        """How many withdrew."""
        return int(self._rows("SELECT count(*) FROM events WHERE event = 'withdrawn'")[0][0])

    def _rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        with self._saying_where():
            return self._connection.execute(query, values).fetchall()

    def _saying_where(self) -> AbstractContextManager[None]:
        return saying_which(self.path, "people")


def _person(row: tuple[Any, ...]) -> EnrolledPerson:
    values: Any = {1: orjson.loads(row[1]), 8: orjson.loads(row[8])}
    return EnrolledPerson(*(values.get(place, value) for place, value in enumerate(row)))


def _now() -> str:
    return time_now().isoformat(timespec="milliseconds")


def _until(study: StudyFile) -> str | None:
    end = time_now() + timedelta(hours=study.hours or 0)
    return None if study.hours is None else end.isoformat(timespec="milliseconds")


# -- Where each of them is ------------------------------------------------------------------------------


class Recruitment:
    """People on their way through a plan: from a share that waits to one that is done, or waits again.

    Where raters get items by need, a share is a number of items, and nobody comes in whom none would be left for.

    Args:
        run: the run.
        drawn: its plan.
        people: who enrolled.
        database: what they typed and handed in.
        positions: :func:`~bedside.annotation.items.coded_positions`.
        plan: gives the plan as it is assigned now.
        need: gives what is handed out by need.
    """

    def __init__(
        self, run: Run, drawn: AnnotationPlan, people: People, database: PageDatabase, positions: CodedPositions,
        plan: Callable[[], AnnotationPlan] | None = None, need: Callable[[], Need | None] | None = None,
    ) -> None:  # fmt: skip
        self.people = people
        self._run, self._drawn, self._database, self._positions = run, drawn, database, positions
        self._plan = plan or (lambda: as_assigned(run, drawn))
        self._need = need or (lambda: need_of(run, drawn))

    @cached_property
    def _design(self) -> NeedDesign:
        return need_design(self._run, self._drawn)

    def free(self) -> list[str]:
        """The raters of the plan whose share waits for somebody."""
        slots, need = slots_of(self._drawn.raters), self._need()
        if need is None:
            return [slot for slot in slots if self._works(slot)]
        plan = self._plan()
        invited = (name for name in plan.people if name not in slots and not plan.standing(name).excluded)
        places: dict[str, str | None] = {name: name for name in invited}
        places |= {own.rater: own.slot if own.state in ACTIVE else None for own in self.people.persons()}
        promised = sum(self._lacks(plan, *place) for place in places.items())
        return slots if not need.stopped and self._design.lacking(plan) > promised else []

    def _lacks(self, plan: AnnotationPlan, rater: str, slot: str | None) -> int:
        """How many items of a share by need a rater doesn't have."""
        had = {*plan.assignment.get(rater, ()), *plan.settled.get(rater, ())}
        return 0 if slot is None else max(0, self._design.size(slot) - len(self._design.wanted.keys() & had))

    def supply(self, person: EnrolledPerson, few: int = FEW) -> Supply | None:
        """What a person can expect who has fewer open items, which are handed out; None where it isn't by need."""
        need = self._need()
        if need is None or person.slot is None:
            return None
        if few and (need.stopped or len(self._open(person.rater)) >= few):
            return "enough" if need.stopped else "more"
        size = self._design.size(person.slot)
        return hand_out(self._run, self._design, person.rater, self._database.work(), few=few, most=size)

    def _free_for(self, rater: str) -> list[str]:
        """Shares that wait of which a rater has no item yet, the rest of their own first."""
        has = self._plan().assignment[rater]
        free = [slot for slot in self.free() if not set(has).intersection(self._works(slot))]
        own = [detail["slot"] for _, name, _, detail in self.people.events() if name == rater and "slot" in detail]
        return sorted(free, key=lambda slot: slot not in own[-1:])

    def waiting(self) -> int:
        """How many shares wait that nobody has; 0 where nobody can enrol."""
        return len(set(self.free()) - {person.slot for person in self.people.persons()}) if self.people.serves() else 0

    def away(self) -> set[str]:
        """Raters who rate nothing now: people elsewhere on their way, and the shares themselves."""
        others = [person.rater for person in self.people.persons() if person.state != "rating"]
        return {*slots_of(self._drawn.raters), *others} if self.people.serves() else set()

    def _works(self, rater: str) -> list[str]:
        plan = self._plan()
        items = {item.id for item in plan.items}
        return [name for name in plan.assignment.get(rater, ()) if name in items]

    def settle(self) -> None:
        """Have who rates what be as people are: whoever was killed between two steps, the second is done here."""
        with self.people.changing():
            for person in self.people.persons():
                if person.slot is None:
                    continue
                by_need, ended = self._need() is not None, person.state not in (*ACTIVE, "completed")
                if person.state in ACTIVE and by_need and person.rater not in self._plan().assignment:
                    self.supply(person, few=0)
                elif person.state in ACTIVE and self._works(person.slot):
                    hand_over(self._run, self._drawn, person.slot, person.rater)
                elif ended:
                    kept = [] if person.state in ("excluded", "withdrawn") else self.handed_in(person.rater)
                    if by_need:
                        take_back(self._run, self._drawn, person.rater, kept)
                    else:
                        hand_over(self._run, self._drawn, person.rater, person.slot, kept)
                    self.people.keep(person.rater, slot=None)
                elif by_need and person.state == "completed" and self._lacks(self._plan(), person.rater, person.slot):
                    # There was no more for them: others take the rest.
                    self.people.keep(person.rater, slot=None)

    def handed_in(self, rater: str) -> list[str]:
        """Ids of what a rater has handed in."""
        return [item for item, (_, state) in self._database.states(rater).items() if state is not None]

    def items_done(self, rater: str) -> int:
        """How many items a rater has handed in that aren't training."""
        return sum(not isinstance(self._drawn.by_id[item], TrainingItem) for item in self.handed_in(rater))

    def skipped(self, rater: str) -> int:
        """How many of these a rater has skipped; training can't be."""
        return sum(state == "skipped" for _, state in self._database.states(rater).values())

    def training(self, rater: str) -> TrainingResult:
        """How a rater does in training."""
        answers = self._database.answers(rater) if self._drawn.training else ()
        return training_result(self._plan(), rater, answers, self._positions)

    def advance(self, rater: str, *, here: bool = False) -> None:
        """Put a person where they are by now: out of time, trained, or done.

        Where it is enough, only who is here: whoever is at an item may finish it.
        """
        person, need = self.people.person(rater), self._need()
        if person is None or person.state not in ACTIVE:
            return
        over, rating = person.until is not None and person.until < _now(), person.state == "rating"
        if need is not None and need.stopped and (here or (over and rating)) and not (rating and self._open(rater)):
            self.end(rater, "enough", "it is enough")
        elif over:
            self.end(rater, "timed_out", "timed out")
        elif person.state == "training":
            training, plan = self.training(rater), self._plan()
            shown = set(plan.assignment[rater])
            if training.passed:
                self.people.move(rater, "rating", "trained", kappa=training.kappa, let_in=training.let_in)
                self.advance(rater)
            elif training.done and all(item.id in shown for item in plan.training):
                self.end(rater, "screened_out", "training not passed", kappa=training.kappa)
        elif rating and not self._open(rater) and self.supply(person) not in ("more", "enough"):
            # Who handed in nothing, as all of it went to others, has earned nothing by that.
            done = self.items_done(rater) > 0
            self.end(rater, "completed" if done else "timed_out", "completed" if done else "nothing left to rate")

    def _open(self, rater: str) -> set[str]:
        """What a rater has to hand in before the share is done: training is for who isn't let in without."""
        training = {item.id for item in self._drawn.training}
        return set(self._plan().assignment[rater]) - training - set(self.handed_in(rater))

    def end(self, rater: str, state: PersonState, event: str, **detail: Any) -> None:
        """Have a person's part end, with a record of why."""
        self.people.move(rater, state, event, items=self.items_done(rater), **detail)
        self.settle()

    def decide(self, rater: str, decision: Decision) -> None:
        """Let a rater in, have them trained again, or exclude them, whoever they are; with a record.

        Raises:
            InputError: no such rater, no training, or no share for somebody whose part had ended.
        """
        name = rater_of(self._plan(), rater, "`rater`")
        person = self.people.person(name)
        with self.people.changing():
            if person is not None and decision != "exclude":
                if person.state in (*_DONE, "withdrawn"):
                    raise InputError(f"{name}'s part is over, as {person.state}, and stays so", where="`rater`")
                if person.state not in ACTIVE:
                    self.settle()
                    self.people.take_up(name, self._free_for(name))
                waits = bool(self.people.study().questionnaire) and not person.answers
                self.people.move(name, "questionnaire" if waits else "training", decision)
                self.people.keep(name, until=_until(self.people.study()))
            elif person is not None:
                self.people.move(name, "excluded", decision)
            else:
                self.people.log(name, decision)
            before = self._plan().assignment[name]
            after = decide(self._run, self._drawn, name, decision, self._database.next_time()).assignment[name]
            if decision == "retrain" and before == after:
                self._database.clear([item.id for item in self._drawn.training], name)
            self.settle()
        self.advance(name)

    def begin_withdrawal(self, rater: str) -> None:
        """Have the whole share of somebody who withdraws wait again, and keep what they are owed; safe to repeat.

        All else of theirs goes by :func:`bedside.annotation.withdrawal.withdraw`.
        """
        person = self.people.person(rater)
        if person is not None and person.state != "withdrawn":
            # What a person had earned before stays theirs.
            payment, paid_as = self.people.study().payment, "withdrawn" if person.state in ACTIVE else person.state
            amount = Decimal(0) if payment is None else payment.amount(paid_as, self.items_done(rater))
            with self.people.changing():
                self.people.move(rater, "withdrawn", "withdraws", amount=str(amount))
                self.settle()


# -- What a researcher sees of them ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RaterRow:
    """A rater of a plan in the table of people.

    Attributes:
        rater: the name that ratings have.
        state: where they are; of who was invited, ``rating``, ``training`` or ``excluded``.
        done, assigned: items, without training.
        skipped: how many of those done were skipped.
        minutes: from consent to the end; None where there was none, or no end yet.
        kappa: with the known answers of the last training set; None where it can't be told.
        code: the person's own; empty of who was invited.
    """

    rater: str
    state: str
    done: int
    assigned: int
    skipped: int
    minutes: float | None
    kappa: float | None
    code: str


@contextmanager
def recruitment_of(
    run: Run, plan: AnnotationPlan, folder: PageFolder, *, changing: bool = False
) -> Iterator[Recruitment | None]:
    """The people of a plan's page; None where it has none, unless they are to be changed."""
    if not changing and not (folder.people.is_file() and folder.database.is_file()):
        yield None
        return
    folder.make()
    with ExitStack() as opened:
        people, database = People(folder.people), PageDatabase(folder.database, plan)
        opened.callback(people.close)
        opened.callback(database.close)
        yield Recruitment(run, plan, people, database, coded_positions(plan, run))


def rater_rows(run: Run, plan: AnnotationPlan, recruitment: Recruitment | None) -> tuple[RaterRow, ...]:
    """All raters of a plan but shares that nobody has; who was invited by what is in the run.

    Args:
        run: the run.
        plan: the plan as it is assigned now.
        recruitment: the people of its page; None where it has none.
    """
    history, positions = read_store(run, plan), coded_positions(plan, run)
    counting = history.counting()
    own = [revision.answer for revision in history.revisions if revision.answer.changed_by is None]
    persons = {} if recruitment is None else {person.rater: person for person in recruitment.people.persons()}
    training_items = {item.id for item in plan.training}
    rows = []
    for rater in present_raters(plan, {who for _, who in history.with_excluded()}.union(persons)):
        person = persons.get(rater)
        if person is None and persons and rater in slots_of(plan.raters):
            continue
        if person is not None and recruitment is not None:
            done, training = set(recruitment.handed_in(rater)), recruitment.training(rater)
            skipped = recruitment.skipped(rater)
        else:
            states = {item: revision.answer.state for (item, who), revision in counting.items() if who == rater}
            done, skipped = set(states), list(states.values()).count("skipped")
            training = training_result(plan, rater, own, positions)
        invited = "excluded" if plan.standing(rater).excluded else "rating" if training.passed else "training"
        state, minutes, code = (invited, None, "") if person is None else (person.state, person.minutes, person.code)
        counts = len(done - training_items), len(set(plan.assignment[rater]) - training_items), skipped
        rows.append(RaterRow(rater, state, *counts, minutes, training.kappa, code))
    return tuple(rows)


def payment_sheet(recruitment: Recruitment) -> tuple[str, Decimal]:
    """A table, as CSV, of all whose part has ended, with what each is paid; and the sum.

    It holds the ids that people came with. Who withdrew is in it by their code alone.
    """
    people, study = recruitment.people, recruitment.people.study()
    payment = study.payment
    currency = "" if payment is None else payment.currency
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    own = list(dict.fromkeys([*study.parameters, *(name for person in people.persons() for name in person.parameters)]))
    names = ("person", *own, "state", "consented", "ended", "items", "skipped", "code", "amount", "currency")
    writer.writerow(names)
    total = Decimal(0)
    for person in people.persons():
        if person.state in ACTIVE or person.state == "withdrawn":
            continue
        items = recruitment.items_done(person.rater)
        amount = Decimal("0.00") if payment is None else payment.amount(person.state, items)
        total += amount
        ids = [person.parameters.get(name, "") for name in own]
        done = (items, recruitment.skipped(person.rater))
        cells = [person.rater, *ids, person.state, person.consented, person.ended or "", *done, person.code]
        writer.writerow([*(safe_cell(str(cell)) for cell in cells), amount, currency])
    for time, _, event, detail in people.events():
        if event == "withdrawn":
            total += Decimal(detail["amount"])
            blank = [""] * (1 + len(own))
            writer.writerow([*blank, event, "", time, "", "", detail["code"], detail["amount"], currency])
    return out.getvalue(), total
