"""From what raters answered to ratings: every revision is kept, the latest counts.

Answers come from a Label Studio export (below), or from an offline file (:mod:`~bedside.annotation.offline`). They are
put in the run's store of the plan's answers, ``annotations/<plan hash>/answers.jsonl``, which only grows: one line a
revision of what a rater said of an item. Ratings are made of the store alone, so that what was pulled once stays,
whatever becomes of the server.

The export form of Label Studio is a list of tasks::

    {"id": 17, "data": {"external_id": …}, "annotations": [{"unique_id": …, "completed_by": 3, "updated_by": 3,
     "was_cancelled": false, "created_at": …, "updated_at": …, "lead_time": 61.2, "result":
     [{"from_name": …, "type": "choices", "value": {"choices": ["4"]}}, …]}], "drafts": […]}

Fields (``from_name``) are those of :mod:`~bedside.annotation.fields`; the value of a text area is ``{"text": ["…"]}``.

Which ratings an answer gives:

- rate: ``<rubric>``, a value or label; of a set, the number of labels, which begin the reason. No answer, and "no
  answer can be given", are missing ratings.
- audit: ``<rubric>.agrees``, a label; and ``<rubric>.audited``, the rater's own level or label, or the judge's where
  the rater agrees; beside it, the judge's as it was shown. They are metrics of their own because somebody who has seen
  the judge's score is no independent rater.
- findings: ``<rubric>``, the number of entries, with the list as JSON in the reason; and ``<rubric>.<label>`` for each
  label, such as a category of concerns, the number of its entries.
- codes: ``<code>``, a label, of each turn of the code's role; turns without are missing.

The rater is ``human:<name>``, the reason the notes. What a rater skipped is missing. The training set gives no ratings.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import orjson
import polars as pl

from bedside.annotation.fields import (
    AGREE,
    DISAGREE,
    LISTED,
    NONE,
    NOT_APPLICABLE,
    NOTES,
    NOTHING,
    agree_field,
    choices,
    code_field,
    entry_fields,
    entry_part,
)
from bedside.annotation.items import coded_turns, judge_scores
from bedside.annotation.plan import AnnotationPlan, PlanItem, TrainingItem, plan_hash, write_plan
from bedside.ratings.run import KEY, Run, frame_of, parse_transcript
from bedside.ratings.spreadsheets import Scale
from bedside.rubrics.rubric import Rubric
from bedside.support.errors import InputError, RunError
from bedside.support.files import make_folder, replacing, saying_where

State = Literal["submitted", "skipped", "draft"]
FOLDER = "annotations"
STORE = "answers.jsonl"

SKIPPED = "skipped by the rater"
UNANSWERED = "not answered"
UNCODED = "not coded"
NO_ANSWER = "the rater says that no answer can be given"

#: unit, metric, value, label, reason, error
_Rating = tuple[str, str, float | None, str | None, str | None, str | None]


@dataclass(frozen=True, slots=True)
class RaterAnswer:
    """What a rater said of an item, in one revision.

    Attributes:
        item: the item's opaque id.
        rater: the plan's rater.
        state: ``submitted``; ``skipped`` by the rater; or ``draft``, not handed in.
        choices: field → choices made.
        texts: field → texts written; notes are here too.
        id: what makes it the same annotation when it is pulled again.
        created, updated: times as ISO 8601, UTC; empty where unknown.
        seconds: time the rater took; None where unknown.
        changed_by: who changed it last, where that wasn't the rater.
        where: the task or row, for messages.
    """

    item: str
    rater: str
    state: State
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    texts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    id: str = ""
    created: str = ""
    updated: str = ""
    seconds: float | None = None
    changed_by: str | None = None
    where: str = ""

    @property
    def notes(self) -> str:
        """The rater's notes on the item."""
        return "\n".join(text.strip() for text in self.texts.get(NOTES, ()) if text.strip())


@dataclass(frozen=True, slots=True)
class Read:
    """What was found in an export or file.

    Attributes:
        answers: in the order found.
        strangers: user → answers left out because the user is no rater of the plan.
        foreign: tasks left out because they are of no item of the plan.
    """

    answers: tuple[RaterAnswer, ...]
    strangers: Mapping[str, int] = field(default_factory=dict)
    foreign: int = 0


@dataclass(frozen=True, slots=True)
class Kept:
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


# -- Label Studio -----------------------------------------------------------------------------------


def read_export(
    plan: AnnotationPlan, tasks: Iterable[Mapping[str, Any]], raters: Mapping[int | str, str], *, where: str
) -> Read:
    """The answers in a Label Studio export.

    Args:
        plan: the plan that the tasks were made of.
        tasks: of the export, see above.
        raters: Label Studio's user id, and e-mail address (drafts go by that), → the plan's rater.
        where: the server or file, for messages.

    Raises:
        InputError: not the form of an export; the message names the task.
    """
    answers: list[RaterAnswer] = []
    strangers: Counter[str] = Counter()
    foreign = 0
    for task in tasks:
        place = where
        try:
            place = f"{where}: task {task['id']}"
            item = task["data"].get("external_id")
            if item not in plan.by_id:
                foreign += 1
                continue
            for given in task.get("annotations") or ():
                user = _user(given["completed_by"])
                if user not in raters:
                    strangers[str(user)] += 1
                    continue
                answers.append(_annotation(given, item, raters, user, place))
            for given in task.get("drafts") or ():
                user = _user(given.get("user"))
                if user in raters:
                    answers.append(RaterAnswer(item, raters[user], "draft", where=place))
        except (KeyError, TypeError, AttributeError, ValueError, OverflowError, RecursionError) as error:
            raise InputError(
                f"not the form of a Label Studio export ({type(error).__name__}: {error})",
                where=place,
                todo="export the project as JSON",
            ) from error
    return Read(tuple(answers), dict(sorted(strangers.items())), foreign)


def _user(given: Any) -> int | str:
    return given["id"] if isinstance(given, Mapping) else given  # type: ignore[no-any-return]


def _annotation(
    given: Mapping[str, Any], item: str, raters: Mapping[int | str, str], user: int | str, where: str
) -> RaterAnswer:
    chosen: dict[str, tuple[str, ...]] = {}
    texts: dict[str, tuple[str, ...]] = {}
    for result in given["result"]:
        kind, value = result["type"], result["value"]
        if kind == "choices":
            into, found = chosen, value["choices"]
        elif kind == "textarea":
            into, found = texts, value["text"]
        else:
            raise ValueError(f"a result of type {kind!r}")
        several = (found,) if isinstance(found, str) else tuple(map(str, found))
        name = result["from_name"]
        if not isinstance(name, str):
            raise TypeError("from_name is no text")
        name = _writable(name)
        into[name] = (*into.get(name, ()), *map(_writable, several))
    by = given.get("updated_by")
    last = user if by is None else _user(by)
    seconds = None if given.get("lead_time") is None else float(given["lead_time"])
    return RaterAnswer(
        item,
        raters[user],
        "skipped" if given.get("was_cancelled") else "submitted",
        chosen,
        texts,
        _writable(str(given.get("unique_id") or given.get("id") or "")),
        _writable(str(given.get("created_at") or "")),
        _writable(str(given.get("updated_at") or "")),
        seconds if seconds is None or math.isfinite(seconds) else None,
        None if last == user else raters.get(last, _writable(f"user {last}")),
        where,
    )


def _writable(text: str) -> str:
    """Without lone surrogates, which no file can hold."""
    return text.encode("utf-8", "replace").decode()


# -- what fits ---------------------------------------------------------------------------------------


def coded_positions(plan: AnnotationPlan, run: Run) -> dict[str, dict[str, list[int]]]:
    """In codes mode: item → role → indices of the turns that are coded; nothing in other modes."""
    if plan.mode != "codes":
        return {}
    rubrics = [each.rubric for each in plan.rubrics]
    wanted: dict[str, list[str]] = {}
    for item in plan.everything:
        if isinstance(item, TrainingItem) and item.content is not None:
            continue
        wanted.setdefault(item.transcript, []).append(item.id)
    found = {
        item: coded_turns(rubrics, transcript)
        for transcript in run.transcripts()
        for item in wanted.get(transcript.id, ())
    }
    for item in plan.training:
        if item.content is not None:
            found[item.id] = coded_turns(rubrics, parse_transcript(item.content))
    return found


class Checker:
    """Says whether an answer can be one to the plan's questions.

    Args:
        plan: the plan.
        positions: :func:`coded_positions`; with None, how many turns there are is not looked at.
    """

    def __init__(
        self, plan: AnnotationPlan, positions: Mapping[str, Mapping[str, Sequence[int]]] | None
    ) -> None:
        self._plan = plan
        self._single: dict[str, frozenset[str]] = {}
        self._several: dict[str, frozenset[str]] = {}
        self._texts: set[str] = {NOTES}
        self._codes: dict[str, tuple[str, frozenset[str]]] = {}
        self._positions = positions
        for each in plan.rubrics:
            rubric = each.rubric
            known = frozenset(choice for choice, _ in choices(rubric))
            if plan.mode == "findings":
                self._single[rubric.name] = frozenset((LISTED, NOTHING))
                self._texts |= set(entry_fields(rubric))
            elif plan.mode == "codes":
                self._codes[rubric.name] = (str(rubric.role), known)
            elif rubric.kind == "set":
                self._several[rubric.name] = known
            else:
                self._single[rubric.name] = known
            if plan.mode == "audit":
                self._single[agree_field(rubric.name)] = frozenset((AGREE, DISAGREE))

    def check(self, answer: RaterAnswer) -> None:
        """Refuse what the plan's page can't have given.

        Raises:
            InputError: an unknown field or choice, or several where one is asked for; the place is named.
        """
        for name, chosen in answer.choices.items():
            known = self._single.get(name)
            if known is None:
                known = self._several.get(name)
            elif len(chosen) > 1:
                raise InputError(
                    f"{name} has {len(chosen)} choices ({', '.join(chosen)})", where=answer.where, todo="leave one"
                )  # fmt: skip
            if known is None:
                known = self._code(name, answer)
            for choice in chosen:
                if choice not in known:
                    raise InputError(
                        f"{choice!r} is no choice of {name}",
                        where=answer.where,
                        todo=f"its choices: {', '.join(sorted(known))}; was the page changed?",
                    )
        for name in answer.texts:
            if name not in self._texts:
                raise self._unknown(name, answer)

    def _code(self, name: str, answer: RaterAnswer) -> frozenset[str]:
        code, _, position = name.rpartition("__")
        if code not in self._codes or not position.isdecimal() or len(position) > 9:
            raise self._unknown(name, answer)
        role, known = self._codes[code]
        if self._positions is None:
            return known
        turns = len(self._positions[answer.item][role])
        if int(position) >= turns:
            raise InputError(
                f"{name} is past the {turns} turns of the {role}",
                where=answer.where,
                todo="was the page changed?",
            )
        return known

    def _unknown(self, name: str, answer: RaterAnswer) -> InputError:
        return InputError(
            f"the plan asks for no {name!r}", where=answer.where, todo="was the page changed, or is it another plan's?"
        )  # fmt: skip


# -- the store ----------------------------------------------------------------------------------------


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
    found = []
    checker = Checker(plan, None)
    for number, line in enumerate(path.read_bytes().splitlines()):
        try:
            data = orjson.loads(line)
            received = data.pop("received")
            for key in ("choices", "texts"):
                data[key] = {name: tuple(values) for name, values in data[key].items()}
            revision = Revision(RaterAnswer(**data), received, number)
            _check_stored(revision, plan, checker)
            found.append(revision)
        except (ValueError, KeyError, TypeError, AttributeError, InputError) as error:
            raise RunError(
                "the store of answers is damaged", where=f"{path}:{number + 1}", todo="restore it from a copy"
            ) from error
    return found


def _check_stored(revision: Revision, plan: AnnotationPlan, checker: Checker) -> None:
    answer = revision.answer
    texts = [
        answer.id,
        answer.created,
        answer.updated,
        answer.where,
        revision.received,
    ]
    texts += [] if answer.changed_by is None else [answer.changed_by]
    for given in (answer.choices, answer.texts):
        texts += [text for values in given.values() for text in values]
    if (
        answer.item not in plan.by_id
        or answer.rater not in plan.raters
        or answer.state not in ("submitted", "skipped")
        or not all(isinstance(text, str) for text in texts)
        or not isinstance(answer.seconds, int | float | None)
    ):
        raise ValueError("what no answer says")
    if answer.state == "submitted":
        checker.check(answer)


def current(revisions: Iterable[Revision]) -> dict[tuple[str, str], RaterAnswer]:
    """(item, rater) → the answer that counts: the one changed last."""
    latest: dict[tuple[str, str], Revision] = {}
    for revision in revisions:
        key = (revision.answer.item, revision.answer.rater)
        if key not in latest or _when(latest[key]) <= _when(revision):
            latest[key] = revision
    return {key: revision.answer for key, revision in latest.items()}


_SECONDS = re.compile(r"^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d+)?")


def _when(revision: Revision) -> tuple[str, str, int]:
    found = _SECONDS.match(revision.answer.updated or revision.received)
    return (found[1], (found[2] or "").ljust(7, "0"), revision.number) if found else ("", "", revision.number)


def _same(answer: RaterAnswer) -> tuple[Any, ...]:
    """What makes two revisions the same."""
    return (answer.state, dict(answer.choices), dict(answer.texts), answer.seconds, answer.changed_by)


def keep_answers(run: Run, plan: AnnotationPlan, answers: Sequence[RaterAnswer]) -> Kept:
    """Put answers into the run's store and make ratings of all that is there; the run is held meanwhile.

    Putting the same answers in twice changes nothing. An answer that is known by its time of change is not put in
    again, however many came after it; one without a time is new where it differs from the one that counts.

    Raises:
        InputError: a choice or field that the plan's rubrics don't have; nothing is kept then.
        RunError: another process holds the run, or it can't be written; nothing is half done then.
    """
    positions = coded_positions(plan, run)
    checker = Checker(plan, positions)
    handed_in = [answer for answer in answers if answer.state != "draft"]
    for answer in handed_in:
        if answer.state == "submitted":
            checker.check(answer)
    with run.locked():
        revisions = read_store(run, plan)
        new, revised, lines = _added(revisions, handed_in)
        if lines:
            _append(run, plan, lines)
        counting = current(revisions)
        rows = ratings_of(run, plan, counting, positions)
        _put(run, plan, rows)
    drafts = {(answer.item, answer.rater) for answer in answers if answer.state == "draft"}
    states = Counter(answer.state for answer in counting.values())
    changed = Counter(answer.changed_by for answer in counting.values() if answer.changed_by is not None)
    return Kept(
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
        timed.setdefault((answer.item, answer.rater, answer.updated), []).append(_same(answer))
    counting = current(revisions)
    new = revised = 0
    lines = []
    for answer in answers:
        key = (answer.item, answer.rater)
        before = counting.get(key)
        if answer.updated:
            known = timed.setdefault((*key, answer.updated), [])
        else:
            known = [] if before is None else [_same(before)]
        if _same(answer) in known:
            continue
        known.append(_same(answer))
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


def _put(run: Run, plan: AnnotationPlan, rows: pl.DataFrame) -> None:
    """Add the ratings to the run where they aren't there yet."""
    if rows.is_empty():
        return
    there = run.scan().join(rows.lazy().select(KEY), on=KEY, how="semi").collect()
    if there.sort(KEY).equals(rows.sort(KEY)):
        return
    store = plan_folder(run, plan) / STORE
    entry = {
        "file": str(store.relative_to(run.path)),
        "sha256": hashlib.sha256(store.read_bytes()).hexdigest(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "ratings": rows.height,
        "empty": rows["error"].len() - rows["error"].null_count(),
        "scales": {metric: scale.to_json() for metric, scale in scales(plan).items()},
        "plan": plan_hash(plan),
        "mode": plan.mode,
        "rubrics": {each.rubric.name: each.version for each in plan.rubrics},
    }
    others = [imported for imported in run.manifest["imports"] if imported.get("plan") != entry["plan"]]
    run.add(rows.lazy(), {**run.manifest, "imports": [*others, entry]})


# -- ratings ------------------------------------------------------------------------------------------


def audited(rubric: str) -> str:
    """The metric of what people say who see the judge's score."""
    return f"{rubric}.audited"


def agrees(rubric: str) -> str:
    """The metric of whether people agree with the judge."""
    return f"{rubric}.agrees"


def entry_metrics(rubric: Rubric) -> dict[str, str]:
    """Label → metric that counts its entries, of a list rubric."""
    label, _ = entry_part(rubric)
    return {
        each.label: f"{rubric.name}.{re.sub(r'[^a-z0-9]+', '_', each.label.casefold()).strip('_')}"
        for each in label.labels
    }


def scales(plan: AnnotationPlan) -> dict[str, Scale]:
    """The scale of each metric that the plan's answers give and that has one."""
    found: dict[str, Scale] = {}
    for each in plan.rubrics:
        scale = each.rubric.rating_scale()
        if scale is None:
            continue
        if plan.mode == "audit":
            found[audited(each.rubric.name)] = scale
            found[agrees(each.rubric.name)] = Scale((AGREE, DISAGREE), False)
        else:
            found[each.rubric.name] = scale
    return found


def ratings_of(
    run: Run,
    plan: AnnotationPlan,
    counting: Mapping[tuple[str, str], RaterAnswer],
    positions: Mapping[str, Mapping[str, Sequence[int]]],
) -> pl.DataFrame:
    """The ratings that answers give, as a ratings table in the order of items and raters.

    Args:
        run: the run.
        plan: the plan.
        counting: :func:`current`.
        positions: :func:`coded_positions`.
    """
    about = {
        name: (system, case) for name, system, case in run.index.select("id", "system", "case_id").iter_rows()
    }
    shown = judge_scores(plan, run) if plan.mode == "audit" else {}
    rows: list[tuple[Any, ...]] = []
    judged: set[str] = set()
    for (name, rater), answer in sorted(counting.items(), key=lambda entry: entry[0]):
        item = plan.by_id[name]
        if isinstance(item, TrainingItem):
            continue
        system, case = about[item.transcript]
        for each in plan.rubrics:
            given = unpacked(plan, each.rubric, item, answer, positions.get(name, {}), shown)
            rows += [
                (item.transcript, system, case, unit, metric, f"human:{rater}", 0, *rest)
                for unit, metric, *rest in given
            ]
            if plan.mode == "audit" and name not in judged:
                said = _chosen(each.rubric, shown[item.transcript, item.unit, each.rubric.name][0])
                metric = audited(each.rubric.name)
                rows.append(
                    (item.transcript, system, case, item.unit, metric, plan.judge, 0, *said, None, None)
                )
        judged.add(name)
    return frame_of(rows)


def unpacked(
    plan: AnnotationPlan,
    rubric: Rubric,
    item: PlanItem | TrainingItem,
    answer: RaterAnswer,
    positions: Mapping[str, Sequence[int]],
    shown: Mapping[tuple[str, str, str], tuple[str, str]],
) -> Iterator[_Rating]:
    """The ratings that one answer gives by one rubric."""
    why = SKIPPED if answer.state == "skipped" else None
    notes = answer.notes or None
    match plan.mode:
        case "codes":
            for position, turn in enumerate(positions[str(rubric.role)]):
                chosen = answer.choices.get(code_field(rubric.name, position), ())
                yield _rated(rubric, f"turn:{turn}", rubric.name, chosen, notes, why, UNCODED)
        case "findings":
            yield from _findings(rubric, item.unit, answer, why)
        case "audit":
            judge = shown[item.transcript, item.unit, rubric.name][0]
            yield from _audit(rubric, item.unit, answer, judge, why)
        case _:
            chosen = answer.choices.get(rubric.name, ())
            if rubric.kind == "set" and why is None and chosen:
                yield _set(item.unit, rubric.name, chosen, notes)
            else:
                yield _rated(rubric, item.unit, rubric.name, chosen, notes, why, UNANSWERED)


def _rated(
    rubric: Rubric,
    unit: str,
    metric: str,
    chosen: Sequence[str],
    notes: str | None,
    why: str | None,
    unanswered: str,
) -> _Rating:
    if why is None and not chosen:
        why = unanswered
    if why is None and chosen[0] == NOT_APPLICABLE:
        why = NO_ANSWER
    if why is not None:
        return unit, metric, None, None, notes, why
    value, label = _chosen(rubric, chosen[0])
    return unit, metric, value, label, notes, None


def _set(unit: str, metric: str, chosen: Sequence[str], notes: str | None) -> _Rating:
    labels = sorted(set(chosen) - {NONE})
    if labels and NONE in chosen:
        return unit, metric, None, None, notes, f"says {NONE!r} and names {len(labels)}"
    named = ", ".join(labels) or "none"
    return unit, metric, float(len(labels)), None, f"{named}: {notes}" if notes else named, None


def _chosen(rubric: Rubric, choice: str) -> tuple[float | None, str | None]:
    return (float(choice), None) if rubric.kind == "level" else (None, choice)


def _audit(rubric: Rubric, unit: str, answer: RaterAnswer, judge: str, why: str | None) -> Iterator[_Rating]:
    notes = answer.notes or None
    said = answer.choices.get(agree_field(rubric.name), ())
    own = answer.choices.get(rubric.name, ())
    opinion = said[0] if said else None
    wrong = why or (UNANSWERED if opinion is None else None)
    if wrong is None and opinion == AGREE and own and own[0] != judge:
        wrong = "says that the judge is right, and gives another answer"
    if wrong is None and opinion == DISAGREE and own and own[0] == judge:
        wrong = "says that the judge is wrong, and gives the same answer"
    yield unit, agrees(rubric.name), None, None if wrong else opinion, notes, wrong
    taken = own or ((judge,) if opinion == AGREE else ())
    yield _rated(rubric, unit, audited(rubric.name), taken, notes, why, "gives no answer beside the judge's")


def _findings(rubric: Rubric, unit: str, answer: RaterAnswer, why: str | None) -> Iterator[_Rating]:
    entries = entries_of(rubric, answer)
    said = answer.choices.get(rubric.name, ())
    if why is None and entries and said == (NOTHING,):
        why = f"says that there is nothing to list, and lists {len(entries)}"
    if why is None and not entries and said != (NOTHING,):
        why = "lists nothing, and doesn't say that there is nothing"
    metrics = entry_metrics(rubric)
    if why is not None:
        for metric in (rubric.name, *metrics.values()):
            yield unit, metric, None, None, answer.notes or None, why
        return
    label, _ = entry_part(rubric)
    counts = Counter(entry[label.name] for entry in entries)
    listed = orjson.dumps({"reason": answer.notes, rubric.answer[0].name: entries}).decode()
    yield unit, rubric.name, float(len(entries)), None, listed, None
    for name, metric in metrics.items():
        yield unit, metric, float(counts[name]), None, answer.notes or None, None


def entries_of(rubric: Rubric, answer: RaterAnswer) -> list[dict[str, str]]:
    """The entries of a list, in the order of the rubric's labels."""
    label, text = entry_part(rubric)
    return [
        {label.name: name, text.name: entry.strip()}
        for field_, name in entry_fields(rubric).items()
        for entry in answer.texts.get(field_, ())
        if entry.strip()
    ]
