"""What the rating page's server knows: the plan as it is assigned now, whose link is whose, what is shown and kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import asdict, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

import orjson

from bedside.annotation.annotation_plan import AnnotationPlan, RaterStanding, TrainingItem, plan_hash
from bedside.annotation.answer_check import AnswerCheck
from bedside.annotation.answer_ratings import flow_leads, listed_entries
from bedside.annotation.answer_revisions import AnswerKey
from bedside.annotation.answer_store import PLAN, current_plan, plan_folder
from bedside.annotation.answers import RaterAnswer, shown_answer
from bedside.annotation.assignment_by_need import (
    FEW,
    NeedDesign,
    Supply,
    WorkDone,
    counted_late,
    hand_out,
    need_design,
    stop,
    stored_work,
)
from bedside.annotation.fields import (
    CASE_KINDS,
    LISTED,
    MARKED_MODES,
    NONE,
    NOTES,
    NOTHING,
    REASONED_MODES,
    choices,
    code_field,
    entry_fields,
    entry_part,
    evidence_field,
    reason_field,
)
from bedside.annotation.items import clean, coded_positions, input_titles, item_kind, label_studio_tasks
from bedside.annotation.labelling_page import instructions_page
from bedside.annotation.page_words import PageWords, words_of
from bedside.annotation.rating_page.page_database import (
    PageDatabase,
    PageEntry,
    SentEntry,
    checked_entry,
    entry_answer,
    open_questions,
)
from bedside.annotation.rating_page.page_folder import PageFolder
from bedside.annotation.reassignment import FILE as REASSIGNED, Need, as_assigned, decide, need_of
from bedside.annotation.study_file import help_of
from bedside.annotation.training_cases import TrainingResult, training_result
from bedside.core.errors import BedsideError, InputError
from bedside.core.page_serving import secret_digest
from bedside.judges.rubrics.answer_form import LINKED_KINDS
from bedside.judges.rubrics.rubric import Rubric, link_form
from bedside.judges.rubrics.rubric_files import level_lines
from bedside.ratings.run import Run

# -- What a browser is given to show --------------------------------------------------------------------
# Everything is text and numbers; the page builds its elements of them, so that no text can become part of the page.

#: Keys for choices beside the figures. Left out are those that move between questions or look like figures.
_LETTERS = "xzvbmasdfghqwertup"


def page_items(plan: AnnotationPlan, run: Run) -> dict[str, bytes]:
    """Item → what is shown of it, as JSON: the very content of a Label Studio task.

    Raises:
        RunError, DataError, InputError: as :func:`~bedside.annotation.items.label_studio_tasks`.
    """
    tasks = label_studio_tasks(plan, run)
    return {task["data"]["external_id"]: orjson.dumps(task["data"]) for task in tasks}


def page_questions(plan: AnnotationPlan) -> list[dict[str, Any]]:
    """What is asked, in order: words, choices with their descriptors and keys, and the names of the fields."""
    return [_question(plan, number) for number in range(len(plan.questions))]


def _question(plan: AnnotationPlan, number: int) -> dict[str, Any]:
    rubric = plan.questions[number]
    shown = rubric.shown()
    question: dict[str, Any] = {
        "name": rubric.name,
        "title": shown.title,
        "definition": shown.definition,
        "several": rubric.kind == "set",
        "role": rubric.role if plan.mode == "codes" else None,
        "reason": reason_field(rubric.name) if plan.mode in REASONED_MODES else None,
        "evidence": evidence_field(rubric.name) if plan.mode in MARKED_MODES else None,
        "of_case": plan.of_case(rubric),
        "linked": rubric.kind in (*LINKED_KINDS, "list"),
        "pick": rubric.kind in LINKED_KINDS and link_form(rubric).of_turns,
        "leads": None,
    }
    if flow := plan.flow_of.get(rubric.name):
        # What an answer weighs is no part of the page.
        starts = flow.question_rubrics[flow.flow.first].name == rubric.name
        question |= {"leads": flow_leads(flow, rubric.name), "starts": starts}
    if rubric.kind == "list":
        label_part, text_part = entry_part(rubric)
        fields = zip(label_part.labels, entry_fields(rubric), strict=True)
        question["about_entries"] = text_part.descriptor
        question["entries"] = [
            {"field": field, "title": label.called, "descriptor": label.descriptor} for label, field in fields
        ]
    else:
        question["choices"] = _choices(plan, rubric, choices(rubric))
    if plan.mode == "pairs":
        question["levels"] = level_lines(plan.rubrics[number].rubric)
    return question


def _choices(plan: AnnotationPlan, rubric: Rubric, described: Sequence[tuple[str, str]]) -> list[dict[str, str]]:
    """Choices as the page shows them, with the keys that choose them."""
    words = words_of(plan)
    values = words.values(plan, rubric)
    return [
        {
            "value": value,
            "shown": values.get(value, value),
            "descriptor": words.say("value_none_means") if value == NONE else descriptor,
            "key": key,
        }
        for (value, descriptor), key in zip(described, choice_keys([v for v, _ in described]), strict=True)
    ]


def _of_case(plan: AnnotationPlan, item: str) -> dict[str, list[dict[str, Any]]]:
    """Rubric → what it asks of an item's own case."""
    return {
        rubric.name: [
            {
                "field": asked.name,
                "asked": clean(asked.asked),
                "choices": _choices(plan, rubric, asked.choices),
                "of": asked.of,
                "reason": reason_field(asked.name) if asked.said else None,
                "evidence": evidence_field(asked.name) if asked.quoted else None,
            }
            for asked in plan.asked_of(item, rubric)
            if asked.name != rubric.name  # what a list lacks is asked as in findings
        ]
        for rubric in plan.questions
        if plan.of_case(rubric)
    }


def choice_keys(values: Sequence[str]) -> list[str]:
    """The key that chooses each value: the figure itself where a choice is one, else its place, then letters."""
    figures = {value for value in values if len(value) == 1 and value.isascii() and value.isdecimal()}
    if len(figures) < 2:
        figures = set()
    free = iter(_LETTERS if figures else f"1234567890{_LETTERS}")
    return [value if value in figures else next(free, "") for value in values]


def training_feedback(plan: AnnotationPlan, answer: RaterAnswer, task: Mapping[str, Any]) -> list[dict[str, Any]]:
    """How an answer to a training item compares with the known one, a line for each question or turn.

    Each has ``title``, ``right`` (None where lists are compared by reading them), ``known`` and ``own``, as texts.
    """
    item = plan.by_id[answer.item]
    assert isinstance(item, TrainingItem)
    words = words_of(plan)
    lines: list[dict[str, Any]] = []
    for rubric in plan.questions:
        known = item.answers.get(rubric.name)
        if known is None:
            continue
        title, values = rubric.shown().title, words.values(plan, rubric)
        if plan.mode == "findings":
            label, text = entry_part(rubric)
            own_entries, known_entries = (
                [f"{values.get(entry[label.name], entry[label.name])}: {entry[text.name]}" for entry in entries]
                for entries in (listed_entries(rubric, answer), known)
            )
            right = None if own_entries and known_entries else own_entries == known_entries
            lines.append(_line(words, values, title, right, known_entries, own_entries))
        elif plan.mode == "codes":
            lines += _coded_lines(words, values, rubric, title, known, answer, task)
        elif rubric.kind in CASE_KINDS:
            lines += _case_lines(plan, words, rubric, title, known, answer)
        else:
            expected = sorted(known) if isinstance(known, list) else [known]
            lines.append(_compared(words, values, title, expected, answer.choices.get(rubric.name, ())))
    return lines


def _case_lines(
    plan: AnnotationPlan, words: PageWords, rubric: Rubric, title: str, known: Mapping[str, str], answer: RaterAnswer
) -> Iterator[dict[str, Any]]:
    """A line for each criterion or entry; and for what is said of its link, where both made it."""
    values, every = words.values(plan, rubric), plan.every_of(answer.item, rubric)
    entries = {asked.name: asked.asked for asked in every if asked.asked != rubric.shown().definition}
    for asked in every:
        row, own = asked.name.rpartition("__")[0], answer.choices.get(asked.name, ())
        same_link = asked.said or known.get(row) == next(iter(answer.choices.get(row, ())), None)
        if asked.name in known and same_link:
            true, mine = (
                [shown_answer(plan, answer.item, rubric, asked.name, choice) for choice in said]
                for said in ((known[asked.name],), own)
            )
            about = [title, *(clean(entries[name]) for name in dict.fromkeys((row, asked.name)) if name in entries)]
            yield _line(words, values, ": ".join(about), list(own) == [known[asked.name]], true, mine)


def _coded_lines(
    words: PageWords, values: Mapping[str, str], rubric: Rubric, title: str, known: Mapping[str, str],
    answer: RaterAnswer, task: Mapping[str, Any],
) -> list[dict[str, Any]]:  # fmt: skip
    lines = []
    for position, turn in enumerate(task[f"{rubric.role}_turns"]):
        if turn["turn"] in known:
            own = answer.choices.get(code_field(rubric.name, position), ())
            said = words.say("known_turn", turn=turn["turn"], title=title)
            lines.append(_compared(words, values, said, [known[turn["turn"]]], own))
    return lines


def _compared(
    words: PageWords, values: Mapping[str, str], title: str, known: Sequence[str], own: Sequence[str]
) -> dict[str, Any]:
    right = sorted(set(own) - {NONE}) == sorted(known)
    return _line(words, values, title, right, known or [NONE], own)


def _line(
    words: PageWords, values: Mapping[str, str], title: str, right: bool | None, known: Sequence[str],
    own: Sequence[str],
) -> dict[str, Any]:  # fmt: skip
    return {
        "title": title,
        "right": right,
        "known": "; ".join(values.get(one, one) for one in known) or values[NOTHING],
        "own": "; ".join(values.get(one, one) for one in own) or words.say("no_answer"),
    }


# -- What the rating page's server knows ----------------------------------------------------------------

T = TypeVar("T")
#: Where a rater is.
Stage = Literal["questionnaire", "training", "rating", "ended"]


def study_words(**more: Any) -> dict[str, Any]:
    """What a rater's page shows of a study: nothing beside what is named."""
    return {
        "title": "", "contact": "", "help": None, "questions": [], "ending": None, "until": None, "can_withdraw": False,
        **more,
    }  # fmt: skip


class NoSuchItemError(BedsideError):
    """An item that isn't in the rater's share, whether there is one of that name or not."""


class ClosedItemError(BedsideError):
    """An item that is closed until its rater has passed the training."""


class OtherLinkError(BedsideError):
    """What another kind of link opens, and this one doesn't."""


class IncompleteEntryError(BedsideError):
    """What was handed in lacks something.

    Args:
        wanting: field → what is still to do there.
    """

    def __init__(self, wanting: dict[str, str]) -> None:
        self.wanting = wanting
        super().__init__(" ".join(list(wanting.values())[:3]))


def page_common(plan: AnnotationPlan, text: str) -> dict[str, Any]:
    """What is the same for all raters of a plan: the questions, and what is read first."""
    words = words_of(plan)
    return {
        "plan": plan_hash(plan),
        "mode": plan.mode,
        "questions": page_questions(plan),
        "instructions": instructions_page(plan, text),
        "notes": NOTES,
        "kind": item_kind(plan),
        "inputs": input_titles(plan.questions),
        "lists": {
            "listed": LISTED,
            "listed_shown": words.say("value_listed"),
            "nothing": NOTHING,
            "nothing_shown": words.say("value_nothing"),
        },
        "queue": False,
    }


class PageState:
    """A plan's rating page without its network: what a rater may see and do, for one thread at a time.

    Args:
        plan: the plan.
        run: its run.
        folder: the page's folder.
        text: what raters read first, as Markdown.
        others: who has a link beside the plan's raters.
        help_text: whom to turn to in distress, as Markdown; in sight wherever items are rated.

    Raises:
        BedsideError: an item can't be shown, or the folder or its database can't be used.
    """

    def __init__(
        self, plan: AnnotationPlan, run: Run, folder: PageFolder, text: str = "", others: Sequence[str] = (),
        help_text: str | None = None,
    ) -> None:  # fmt: skip
        self.words = words_of(plan)
        self._drawn = plan
        self._run = run
        self._folder = folder
        self._positions = coded_positions(plan, run)
        self._check = AnswerCheck(plan, self._positions)
        self._passed: set[tuple[str, RaterStanding]] = set()
        self._common = page_common(plan, text)
        self._others = others
        self._help = help_of(plan, help_text)
        stands = plan_folder(run, plan)
        # An adjudication's items say what raters said: not those who withdrew since.
        self._items = Fresh(lambda: (stands / PLAN,), lambda: page_items(current_plan(run, plan), Run(run.path)))
        self._items.value()
        self._plan = Fresh(lambda: (stands / REASSIGNED, stands / PLAN), lambda: as_assigned(run, plan))
        # Where the plan says who rates what, there is none.
        self._need: Fresh[Need | None] = Fresh(lambda: (stands / REASSIGNED,), lambda: need_of(run, plan))
        self._raters = Fresh(lambda: (folder.links_file,), self._raters_by_digest)
        self.database: PageDatabase = PageDatabase(folder.database, plan)

    def close(self) -> None:
        """End the connection to what is kept."""
        self.database.close()

    @property
    def plan(self) -> AnnotationPlan:
        """The plan as it is assigned now."""
        return self._plan.value()

    @property
    def need(self) -> Need | None:
        """What is handed out by need; None where the plan says who rates what."""
        return self._need.value()

    @cached_property
    def _design(self) -> NeedDesign:
        return need_design(self._run, self._drawn)

    @cached_property
    def _elsewhere(self) -> Set[AnswerKey]:
        """What was answered before, and not on this page."""
        return stored_work(self._run, self.plan).answered

    def _work(self) -> WorkDone:
        work = self.database.work()
        return replace(work, answered=work.answered | self._elsewhere)

    def stop(self) -> None:
        """Hand out nothing more, as the targets are reached; who is at an item may finish it."""
        stop(self._run, self._design, self._work())

    def _supply(self, rater: str, states: Mapping[str, Any], training: TrainingResult) -> Supply | None:
        """What a rater can expect, where items are handed out by need; those that they lack are handed out."""
        if self.need is None or self.need.stopped:
            return None if self.need is None else "enough"
        own = self.plan.assignment.get(rater, ())
        few = sum(item not in states or states[item][1] is None for item in own if not self._is_training(item)) < FEW
        if training.done and not training.passed:
            return None
        if not (few and training.done):
            return "more"
        return hand_out(self._run, self._design, rater, self._work())

    def _raters_by_digest(self) -> dict[bytes, str]:
        secrets = self._folder.links.secrets([*self._linked(), *self._others])
        return {secret_digest(secret): rater for rater, secret in secrets.items()}

    def _linked(self) -> Sequence[str]:
        """Who has a link."""
        return self.plan.people

    def rater_of(self, secret: str) -> str | None:
        """Whose link ends in a secret, a rater or one of the others; None where nobody's does."""
        return self._raters.value().get(secret_digest(secret))

    def share(self, rater: str) -> dict[str, Any]:
        """What a rater has to do and how far it is, with the questions and what is read first.

        Raises:
            NoSuchItemError: it is nobody who rates.
        """
        if rater not in self.plan.raters:
            raise NoSuchItemError(self.words.say("no_such_item"))
        self._show_second_set(rater)
        states = self.database.states(rater)
        training = self._training(rater)
        stage, cleared = self.stage(rater), bool(self.plan.standing(rater).retrained)
        supply = self._supply(rater, states, training) if stage == "rating" else None
        items = []
        for item in self.plan.assignment.get(rater, ()):
            state, handed_in = states.get(item, ("open", None))
            if cleared and self._is_training(item):
                handed_in = self._entry(item, rater).handed_in
            items.append({
                "item": item,
                "training": self._is_training(item),
                "closed": self._is_closed(item, stage, training.passed),
                "state": state,
                "handed_in": handed_in,
            })  # fmt: skip
        result = {name: getattr(training, name) for name in ("done", "passed", "kappa", "wanted")}
        result |= {} if training.link_f1 is None else {"link_f1": training.link_f1}
        said = {"training": result, "stage": stage, "study": self._study(rater, stage), "supply": supply}
        return {**self._common, "rater": rater, "items": items, **said}

    def stage(self, rater: str) -> Stage:
        """Where a rater is: who is invited rates, unless they were excluded."""
        return "ended" if self.plan.standing(rater).excluded else "rating"

    def _study(self, rater: str, stage: Stage) -> dict[str, Any] | None:
        """What the page shows of a study, and how the rater's part in it ended."""
        if stage != "ended":
            return None if self._help is None else study_words(help=self._help)
        return study_words(ending={"kind": "excluded", "code": None, "link": None, "debriefing": None})

    def _is_closed(self, item: str, stage: Stage, passed: bool) -> bool:
        if stage in ("questionnaire", "ended"):
            return True
        return not self._is_training(item) and (not passed or stage == "training")

    def _show_second_set(self, rater: str) -> None:
        """Show who has failed the first training set the second, where the plan has one."""
        is_second = {item.id for item in self._drawn.training if item.again}
        if is_second and not is_second.intersection(self.plan.assignment[rater]):
            training = self._training(rater)
            if training.done and not training.passed:
                decide(self._run, self._drawn, rater, "second set", self.database.next_time())

    def item(self, rater: str, item: str) -> dict[str, Any]:
        """What a rater is shown of an item, and what stands on their page of it.

        Raises:
            NoSuchItemError: it isn't in the rater's share.
            ClosedItemError: the rater hasn't passed the training yet.
        """
        self._see_it_is_theirs(rater, item)
        entry = self._entry(item, rater)
        task = orjson.loads(self._items.value()[item])
        opinions = self.plan.opinions.get(item, {})
        return {
            "task": task,
            "opinions": {
                field: [{"answer": opinion.answer, "reason": opinion.reason} for opinion in said]
                for field, said in opinions.items()
            },
            "of_case": _of_case(self._drawn, item),
            "entry": {**asdict(entry), "state": entry.state if entry.version else "open"},
            "feedback": self._feedback(rater, item, entry, task),
        }

    def save(self, rater: str, item: str, sent: SentEntry) -> dict[str, Any]:
        """Keep what stands on a rater's page of an item; it is on the disk when this returns.

        Raises:
            NoSuchItemError, ClosedItemError: as :meth:`item`.
            IncompleteEntryError: it is handed in and lacks something.
            InputError: a field or choice that the plan doesn't have.
            EntryConflictError: the page was changed in another window meanwhile, or the item is of the training set and
                was handed in before.
            RunError: it can't be written.
        """
        self._see_it_is_theirs(rater, item)
        task = orjson.loads(self._items.value()[item])
        entry = checked_entry(self._drawn, sent, task)
        self._check.check(entry_answer(item, rater, entry))
        if entry.state == "submitted":
            wanting = open_questions(self._drawn, item, entry, task)
            if wanting:
                raise IncompleteEntryError(wanting)
        is_training = self._is_training(item)
        if is_training and entry.state == "skipped":
            raise InputError(self.words.say("no_skip"), todo=self.words.say("no_skip_todo"))
        if item not in self.plan.assignment[rater]:
            counted_late(self._run, self._design, [(item, rater)])
        since = self._since(item, rater)
        version = self.database.save(item, rater, entry, sent.mark, final=is_training, since=since)
        kept = self._entry(item, rater)
        return {"version": version, "handed_in": kept.handed_in, "feedback": self._feedback(rater, item, kept, task)}

    def _see_it_is_theirs(self, rater: str, item: str) -> None:
        stage = self.stage(rater)
        if stage in ("questionnaire", "ended"):
            raise ClosedItemError(self.words.say("closed_stage"))
        went_back = self.need.back.get(rater, ()) if self.need is not None else ()
        if item not in self.plan.assignment.get(rater, ()) and item not in went_back:
            raise NoSuchItemError(self.words.say("no_such_item"))
        if self._is_closed(item, stage, self._has_passed(rater)):
            raise ClosedItemError(self.words.say("closed_item"))

    def _since(self, item: str, rater: str) -> str:
        """From when on what a rater handed in of an item counts."""
        return self.plan.standing(rater).retrained if self._is_training(item) else ""

    def _entry(self, item: str, rater: str) -> PageEntry:
        return self.database.entry(item, rater, self._since(item, rater))

    def _is_training(self, item: str) -> bool:
        return isinstance(self._drawn.by_id[item], TrainingItem)

    def _training(self, rater: str) -> TrainingResult:
        answers = self.database.answers(rater) if self._drawn.training else ()
        return training_result(self.plan, rater, answers, self._positions)

    def _has_passed(self, rater: str) -> bool:
        """Whether a rater may go on to the items. First answers decide: it stays so until they are retrained."""
        trained = (rater, self.plan.standing(rater))
        if trained not in self._passed and self._training(rater).passed:
            self._passed.add(trained)
        return trained in self._passed

    def _feedback(self, rater: str, item: str, entry: PageEntry, task: dict[str, Any]) -> list[dict[str, Any]] | None:
        """How a training answer compares with the known one: shown only once it is handed in, and can't be changed."""
        if not self._is_training(item) or entry.handed_in != "submitted":
            return None
        return training_feedback(self._drawn, entry_answer(item, rater, entry), task)


class Fresh(Generic[T]):
    """What is made of files, made again when one has changed or come."""

    def __init__(self, paths: Callable[[], Iterable[Path]], make: Callable[[], T]) -> None:
        self._paths = paths
        self._make = make
        self._made: tuple[T, list[tuple[int, int, int] | None]] | None = None

    def value(self) -> T:
        stamp = self._now()
        if self._made is None or stamp != self._made[1]:
            self._made = self._make(), stamp
        return self._made[0]

    def _now(self) -> list[tuple[int, int, int] | None]:
        return list(map(_stamp, self._paths()))


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
