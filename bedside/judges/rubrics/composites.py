"""Rubrics of several ratings: a sheet of criteria, a flow of questions with branches, points for criteria met."""

from __future__ import annotations

import dataclasses
import difflib
import hashlib
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, Self

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    StrictFloat,
    StrictInt,
    StringConstraints,
    TypeAdapter,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic.dataclasses import dataclass

from bedside.core.model_errors import plain_words
from bedside.judges.rubrics.answer_form import (
    MAX_LEVEL,
    STRICT,
    FieldName,
    FieldText,
    Label,
    Level,
    check_ascending,
    check_distinct,
)
from bedside.ratings.values import Direction

# -- A sheet: criteria that are rated in one reply ------------------------------------------------------

#: Whole levels that are named and not described, such as ``1-6``.
PlainScale = Annotated[str, StringConstraints(pattern=r"^[0-9]{1,4}-[0-9]{1,4}$")]


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Criterion:
    """One criterion of a sheet; its metric is ``<rubric>_<name>``.

    Attributes:
        name: its key in the reply.
        definition: the question, in full.
        title: as in a table's row; the name in words unless given.
        scale: its levels in ascending order, each described; or the first and the last, such as ``1-6``.
        labels: in place of a scale.
        direction: whether higher is better; as the sheet says unless given.
        aliases: other names of its column in people's sheets.
    """

    name: FieldName
    definition: FieldText
    title: FieldText | None = None
    scale: tuple[Level, ...] | PlainScale = ()
    labels: tuple[Label, ...] = ()
    direction: Direction | None = None
    aliases: tuple[FieldText, ...] = ()

    @field_validator("scale")
    @classmethod
    def _whole(cls, scale: tuple[Level, ...] | str) -> tuple[Level, ...] | str:
        if isinstance(scale, str):
            low, high = map(int, scale.split("-"))
            if not low < high <= MAX_LEVEL:
                raise ValueError(f"the first level must be below the last, and the last at most {MAX_LEVEL}")
        else:
            check_ascending(scale)
        return scale

    @model_validator(mode="after")
    def _belongs(self) -> Self:
        if bool(self.scale) == bool(self.labels):
            raise ValueError("scale: a criterion needs a scale, such as 1-6, or labels, and not both")
        if 1 in (len(self.levels), len(self.labels)):
            raise ValueError("scale: a choice needs two alternatives or more")
        check_distinct("labels", [label.label for label in self.labels])
        return self

    @property
    def levels(self) -> tuple[Level, ...]:
        """The levels of its scale; those of a plain one say where they stand on it."""
        if not isinstance(self.scale, str):
            return self.scale
        low, high = map(int, self.scale.split("-"))
        return tuple(Level(value=value, descriptor=f"{value} ({low}–{high})") for value in range(low, high + 1))


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Aggregate:
    """What is computed of a sheet's criteria, and never asked.

    Attributes:
        name: of its metric.
        mean_of: the criteria whose mean it is; missing where one of them is.
        title: as in a table's row; the name in words unless given.
    """

    name: FieldName
    mean_of: tuple[FieldName, ...]
    title: FieldText | None = None


def check_sheet(name: str, criteria: Sequence[Criterion], aggregate: Aggregate | None, direction: Direction) -> None:
    """See that the criteria of a sheet of this name and direction go together.

    Raises:
        ValueError: there is none, two have one name, or the aggregate is of others, of labels, of unlike scales or
            directions, or called like a criterion's metric.
    """
    if not criteria:
        raise ValueError("criteria: a sheet needs this key")
    names = [criterion.name for criterion in criteria]
    check_distinct("criteria", names)
    taken = {"reason", "item", "answers"}.intersection(names)
    if taken:
        raise ValueError(f"criteria: the name {taken.pop()} is taken by the reply itself")
    if aggregate is None:
        return
    numeric = [criterion.name for criterion in criteria if criterion.scale]
    unscaled = next((name for name in aggregate.mean_of if name not in numeric), None)
    if unscaled or not aggregate.mean_of:
        wrong = f"{unscaled} is no criterion with a scale" if unscaled else "it is a mean of criteria with a scale"
        raise ValueError(f"aggregate: {wrong}; those are {', '.join(numeric) or 'none'}")
    check_distinct("aggregate", aggregate.mean_of)
    check_distinct("aggregate", [aggregate.name, *(f"{name}_{criterion}" for criterion in names)])
    first, *further = (criterion for criterion in criteria if criterion.name in aggregate.mean_of)
    for other in further:
        if [level.value for level in other.levels] != [level.value for level in first.levels]:
            raise ValueError(f"aggregate: a mean needs one scale, and {other.name} has not that of {first.name}")
        if (other.direction or direction) != (first.direction or direction):
            raise ValueError(f"aggregate: a mean needs one direction, and {other.name} has not that of {first.name}")


# -- A flow: questions, each of which hangs on the answer before ----------------------------------------

#: Where an answer leads, beside the ids of questions.
NEXT, NEXT_DIMENSION, END = "next", "next dimension", "end"
#: Where answers lead of which a flow says nothing.
_LEADS = {"yes": NEXT_DIMENSION, "no": NEXT}
#: An id may be written as a number.
QuestionId = Annotated[
    FieldText, BeforeValidator(lambda id: str(id) if type(id) is int else id, json_schema_input_type=FieldText | int)
]


@dataclass(frozen=True, kw_only=True, config=STRICT)
class FlowAnswer:
    """One answer to a question of a flow.

    Attributes:
        answer: what is recorded.
        goto: where it leads: the id of a question, ``next``, ``next dimension`` or ``end``; as ``leads`` says unless
            given.
        descriptor: when it is given.
    """

    answer: FieldText
    goto: QuestionId | None = None
    descriptor: FieldText | None = None


@dataclass(frozen=True, kw_only=True, config=STRICT)
class FlowQuestion:
    """One question of a flow; its metric is ``<rubric>_<id>``.

    Attributes:
        id: by which answers lead to it.
        question: the question, in full.
        dimension: what it belongs to, which has a result.
        severity: how much an answer to it weighs, a word that ``results`` name.
        examples: told to whoever answers.
        answers: what can be answered; ``Yes`` and ``No`` unless given.
    """

    id: QuestionId
    question: FieldText
    dimension: FieldText
    severity: FieldText | None = None
    examples: FieldText | None = None
    answers: tuple[FlowAnswer, ...] = (FlowAnswer(answer="Yes"), FlowAnswer(answer="No"))


@dataclass(frozen=True, kw_only=True, config=STRICT)
class FlowCondition:
    """What holds where a question of the dimension was answered so; case doesn't count.

    Attributes:
        answer: the answer.
        severity: of the question; of any unless given.
        question: its id; any unless given.
    """

    answer: FieldText = "Yes"
    severity: FieldText | None = None
    question: QuestionId | None = None

    def about(self, question: FlowQuestion) -> bool:
        """Whether an answer to a question may meet it."""
        return _same(self.severity or question.severity, question.severity) and self.question in (None, question.id)


def _same(text: str | None, other: str | None) -> bool:
    return (text or "").casefold() == (other or "").casefold()


@dataclass(frozen=True, kw_only=True, config=STRICT)
class FlowResult:
    """A level that a dimension may come to; the first whose condition holds is its result.

    Attributes:
        when: its condition.
        level: the level.
        otherwise: in place of both, the level where no condition holds; it stands last.
    """

    when: FlowCondition | None = None
    level: FieldText | None = None
    otherwise: FieldText | None = None

    @property
    def name(self) -> str:
        """The level."""
        return self.level or self.otherwise or ""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class FlowExit:
    """An answer by which no dimension has a result.

    Attributes:
        question: the id of a question.
        answer: its answer.
    """

    question: QuestionId
    answer: FieldText


def slug(text: str) -> str:
    """A text as a part of a metric's name; a digest of one that has no Latin letters or figures."""
    bare = unicodedata.normalize("NFKD", text.casefold()).encode("ascii", "ignore").decode()
    name = re.sub(r"[^a-z0-9]+", "_", bare).strip("_")
    return name or f"x{hashlib.sha256(text.encode()).hexdigest()[:6]}"


@dataclasses.dataclass(frozen=True)
class Flow:
    """Questions in their order, and what their answers lead to.

    Attributes:
        questions: the questions.
        results: the levels of a dimension, with their conditions.
        leads: answer → where it leads unless its question says otherwise; ``Yes`` leads to the next dimension and
            ``No`` to the next question unless it says otherwise.
        start: the id of the first question; the first of all unless given.
        not_relevant: answers by which no dimension has a result.
    """

    questions: Sequence[FlowQuestion]
    results: Sequence[FlowResult]
    leads: Mapping[str, str]
    start: str | None
    not_relevant: Sequence[FlowExit]

    @cached_property
    def places(self) -> Mapping[str, int]:
        """Where each question stands, by its id."""
        return {question.id: place for place, question in enumerate(self.questions)}

    @property
    def first(self) -> int:
        """Where the first question stands."""
        return 0 if self.start is None else self.places[self.start]

    @cached_property
    def dimensions(self) -> tuple[str, ...]:
        """The dimensions, in the order of their first questions."""
        return tuple(dict.fromkeys(question.dimension for question in self.questions))

    def lead(self, answer: FlowAnswer) -> str | None:
        """Where an answer leads, in words; None where nothing says it."""
        usual = _LEADS | {name.casefold(): lead for name, lead in self.leads.items()}
        return answer.goto or usual.get(answer.answer.casefold())

    def after(self, place: int, answer: FlowAnswer) -> int | None:
        """The question that follows on an answer to the one at a place; None at the end."""
        lead = self.lead(answer) or END
        if lead in self.places:
            return self.places[lead]
        later = range(place + 1, len(self.questions))
        if lead.casefold() == NEXT:
            return next(iter(later), None)
        if lead.casefold() == NEXT_DIMENSION:
            here = self.questions[place].dimension
            return next((at for at in later if self.questions[at].dimension != here), None)
        return None

    def result(self, dimension: str, answers: Mapping[int, str]) -> str:
        """The level that a dimension comes to by the answers of a walk, by the places of their questions."""
        asked = [(self.questions[at], said) for at, said in answers.items()]
        for result in self.results:
            when = result.when
            if when is None or any(
                question.dimension == dimension and _same(said, when.answer) and when.about(question)
                for question, said in asked
            ):
                return result.name
        raise AssertionError("the last result has no condition")

    def exit(self, answers: Mapping[int, str]) -> FlowExit | None:
        """The answer by which no dimension has a result; None where they have."""
        ways = (way for way in self.not_relevant if _same(answers.get(self.places[way.question]), way.answer))
        return next(ways, None)

    def unreached(self) -> list[int]:
        """The questions that no answers lead to, by their places."""
        return [place for place in range(len(self.questions)) if place not in self._reached]

    @cached_property
    def _reached(self) -> set[int]:
        reached, open_places = set[int](), [self.first]
        while open_places:
            place = open_places.pop()
            reached.add(place)
            after = {self.after(place, answer) for answer in self.questions[place].answers}
            open_places += [at for at in after if at is not None and at not in reached]
        return reached

    def faults(self) -> Iterator[tuple[str, str]]:
        """What keeps it from being walked: the key, and what is wrong."""
        if not self.questions:
            yield "questions", "a flow needs this key"
            return
        yield from self._result_faults()
        answers = {answer.answer.casefold() for question in self.questions for answer in question.answers}
        yield from (
            ("leads", f"no question has the answer {name!r}") for name in self.leads if name.casefold() not in answers
        )
        if len({name.casefold() for name in self.leads}) < len(self.leads):
            yield "leads", f"two of these differ by case only, which doesn't count: {', '.join(self.leads)}"
        for place, question in enumerate(self.questions):
            yield from ((f"questions.{place}", fault) for fault in self._question_faults(place, question))
        for key, name in (("start", self.start), *(("not_relevant", way.question) for way in self.not_relevant)):
            if name is not None and name not in self.places:
                yield key, f"there is no question {name}"
                return
        for way in self.not_relevant:
            if not any(_same(way.answer, one.answer) for one in self.questions[self.places[way.question]].answers):
                yield "not_relevant", f"question {way.question} has no answer {way.answer!r}"
        yield from self._loop_faults()

    def _result_faults(self) -> Iterator[tuple[str, str]]:
        for place, result in enumerate(self.results):
            last = place == len(self.results) - 1
            stated = [part is not None for part in (result.when, result.level, result.otherwise)]
            if stated != ([False, False, True] if last else [True, True, False]):
                yield f"results.{place}", "each has when and level, and the last has otherwise alone"
        names = {result.name for result in self.results}
        if len(names) < 2:
            yield "results", "a flow needs two levels or more: some with when, the last with otherwise"
        if len({name.casefold() for name in names}) < len(names):
            yield "results", f"two levels differ by case only: {', '.join(sorted(names))}"
        met, earlier = set[tuple[str, str]](), set[str]()
        for place, result in enumerate(self.results):
            if result.when:
                yield from ((f"results.{place}", fault) for fault in self._condition_faults(result.when))
                holds = {(question.id, result.when.answer.casefold()) for question in self._about(result.when)}
                if holds <= met and result.name not in earlier:
                    yield (
                        f"results.{place}",
                        f"no dimension comes to {result.name!r}: an earlier one holds where it does",
                    )
                met |= holds
            earlier.add(result.name)

    def _about(self, when: FlowCondition) -> list[FlowQuestion]:
        return [question for question in self.questions if when.about(question)]

    def _condition_faults(self, when: FlowCondition) -> Iterator[str]:
        """Why a condition can never hold."""
        about = self._about(when)
        if when.question is not None and when.question not in self.places:
            yield f"there is no question {when.question}"
        elif not about:
            of = "no question has" if when.question is None else f"question {when.question} has not"
            yield f"{of} the severity {when.severity!r}"
        elif not any(_same(when.answer, answer.answer) for question in about for answer in question.answers):
            yield f"none of the questions that it is about ({', '.join(one.id for one in about)}) has the answer " + (
                f"{when.answer!r}"
            )

    def _question_faults(self, place: int, question: FlowQuestion) -> Iterator[str]:
        if question.id in [earlier.id for earlier in self.questions[:place]]:
            yield f"question {question.id} is there twice"
        names = [answer.answer for answer in question.answers]
        if len(names) < 2 or len({name.casefold() for name in names}) < len(names):
            yield f"question {question.id} needs two answers or more, each once"
        for answer in question.answers:
            lead = self.lead(answer)
            if lead is None:
                yield (
                    f"question {question.id}, answer {answer.answer!r}: nothing says where it leads; give it a goto, "
                    f"or write leads: {{{answer.answer}: end}}"
                )
            elif lead not in self.places and lead.casefold() not in (NEXT, NEXT_DIMENSION, END):
                yield f"question {question.id}, answer {answer.answer!r}: there is no question {lead!r} to go on with"
        named = [result.when.severity for result in self.results if result.when and result.when.severity]
        if question.severity is not None and not any(_same(question.severity, name) for name in named):
            for other in difflib.get_close_matches(question.severity, named, 1, 0.8):
                yield (
                    f"question {question.id} has the severity {question.severity!r}, which no result names; if it is "
                    f"{other!r}, write severity: {{{question.severity}: {other}}}"
                )

    def _loop_faults(self) -> Iterator[tuple[str, str]]:
        """Questions from which no answers lead to the end."""
        ending = set[int]()
        while True:
            more = {
                place
                for place in self._reached - ending
                if any(self.after(place, answer) in (None, *ending) for answer in self.questions[place].answers)
            }
            if not more:
                break
            ending |= more
        stuck = sorted(self._reached - ending)
        if stuck:
            names = ", ".join(self.questions[place].id for place in stuck)
            loop = f"question {names} leads to itself" if not stuck[1:] else f"questions {names} lead to one another"
            yield f"questions.{stuck[0]}", f"{loop} in a loop, and never to the end"


class Walk:
    """A walk through a flow; a question that is reached again ends it.

    Args:
        flow: the flow.

    Attributes:
        at: the place of the question that is to be answered; None at the end.
        answers: what was answered, by the places of the questions.
    """

    def __init__(self, flow: Flow) -> None:
        self._flow = flow
        self.at: int | None = flow.first
        self.answers: dict[int, str] = {}

    def take(self, said: str) -> None:
        """Take the answer to the question that is to be answered."""
        assert self.at is not None
        self.answers[self.at] = said
        answers = self._flow.questions[self.at].answers
        after = self._flow.after(self.at, next(answer for answer in answers if answer.answer == said))
        self.at = None if after in self.answers else after


# -- Points: a case's own criteria, met or not ----------------------------------------------------------

#: Points beyond this, on either side of 0, are slips of the pen.
MAX_POINTS = 1_000_000


@dataclass(frozen=True, kw_only=True, config=STRICT)
class PointCriterion:
    """A criterion that is met or not.

    Attributes:
        criterion: what must hold.
        points: what meeting it is worth; below 0 where it should not be met.
        tags: groups that have a score of their own.
    """

    criterion: FieldText
    points: Annotated[StrictInt | StrictFloat, Field(json_schema_extra={"minimum": -MAX_POINTS, "maximum": MAX_POINTS})]
    tags: tuple[FieldText, ...] = ()

    @field_validator("points")
    @classmethod
    def _bounded(cls, points: int | float) -> int | float:
        if not abs(points) <= MAX_POINTS:  # nor is what is no number
            raise ValueError(f"points lie between -{MAX_POINTS:,} and {MAX_POINTS:,}")
        return points


_CRITERIA = TypeAdapter(tuple[PointCriterion, ...])


@dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid", populate_by_name=True))
class Points:
    """Where the criteria stand.

    Attributes:
        place: the key of a transcript's reference that lists them, such as ``reference.criteria``.
        text, points, tags: what an entry of the list calls its criterion, its points and its tags.
        criteria: those of every transcript, in place of a reference.
        at_once: how many one call asks about; 25 unless given.
    """

    place: Annotated[str, Field(alias="from", pattern=r"^(reference\.)?[a-z][a-z0-9_]*$")] = "reference.criteria"
    text: FieldText = "criterion"
    points: FieldText = "points"
    tags: FieldText = "tags"
    criteria: tuple[PointCriterion, ...] = ()
    at_once: Annotated[StrictInt, Field(ge=1)] | None = None

    @field_validator("criteria")
    @classmethod
    def _worth_something(cls, criteria: tuple[PointCriterion, ...]) -> tuple[PointCriterion, ...]:
        _check_points(criteria)
        return criteria

    @property
    def key(self) -> str:
        """The key of the reference."""
        return self.place.removeprefix("reference.")

    def of(self, entries: Any) -> tuple[PointCriterion, ...]:
        """The criteria that a transcript is held against whose reference has these entries at the place.

        Raises:
            ValueError: it has none, or they aren't criteria with points of which some are above 0.
        """
        if self.criteria:
            return self.criteria
        if not entries:
            raise ValueError(f"the transcript's reference has no {self.key}")
        names = {self.text: "criterion", self.points: "points", self.tags: "tags"}
        try:
            criteria = _CRITERIA.validate_python(
                [{names[key]: value for key, value in entry.items() if key in names} for entry in entries]
            )
            _check_points(criteria)
        except (ValidationError, AttributeError, TypeError) as error:
            where = ""
            if isinstance(error, ValidationError):
                fault = error.errors()[0]
                own = {key: name for name, key in names.items()}
                keys = [self.key, *(own.get(str(key), str(key)) for key in fault["loc"][:2])]
                # A whole number is one of two forms that points may have.
                words = "it must be a number" if fault["loc"][-1] in ("int", "float") else plain_words(fault)
                where = f" ({'.'.join(keys)}: {words})"
            raise ValueError(
                f"the reference's {self.key} must be a list, each entry with {self.text} and {self.points}{where}"
            ) from error
        except ValueError as error:
            raise ValueError(f"the reference's {self.key}: {error}") from error
        return criteria


def _check_points(criteria: Sequence[PointCriterion]) -> None:
    if criteria and not any(criterion.points > 0 for criterion in criteria):
        raise ValueError("none of them has points above 0, so that there is nothing to reach")
    tags: dict[str, str] = {}
    for tag in (tag for criterion in criteria for tag in criterion.tags):
        if not _same(tags.setdefault(slug(tag), tag), tag):
            raise ValueError(f"the tags {tags[slug(tag)]!r} and {tag!r} would have one name, {slug(tag)}")
