"""What a rubric states: the question, the scale with a descriptor for every level, and the form of the answer.

A rubric is read by LLM judges and by people alike. What either of them sees is :meth:`Rubric.shown`; its hash is
:attr:`Rubric.version`, so that ratings made with different wordings are never taken for one another.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, field, fields, replace
from functools import cached_property
from itertools import pairwise
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import (
    StrictBool,
    StrictFloat,
    StrictInt,
    StringConstraints,
    TypeAdapter,
    ValidationError,
    model_validator,
)
from pydantic.dataclasses import dataclass

from bedside.core.model_errors import plain_words
from bedside.judges.rubrics.answer_form import (
    MAX_LEVEL,
    STRICT,
    FieldName,
    FieldText,
    Kind,
    Label,
    Level,
    RubricName,
    RubricPart,
    all_parts,
    check_ascending,
    check_distinct,
    closed_object,
    form_fault,
    is_index,
    items_fault,
    key_fault,
)
from bedside.judges.rubrics.composites import (
    Aggregate,
    Criterion,
    Flow,
    FlowAnswer,
    FlowExit,
    FlowQuestion,
    FlowResult,
    Points,
    QuestionId,
    check_sheet,
    slug,
)
from bedside.judges.rubrics.prompt_words import ENGLISH, PromptWords, languages, prompt_words
from bedside.ratings.scales import Scale
from bedside.ratings.values import Direction
from bedside.transcripts.transcript import PROVENANCE_KINDS, ProvenanceKind, Role, Transcript

# -- What a tuned rubric holds besides its wording ------------------------------------------------------

Digest = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{8,64}$")]


@dataclass(frozen=True, kw_only=True, config=STRICT)
class RatedExample:
    """A conversation, or a part of one, with the level that people gave it; judges are shown it, people aren't.

    Attributes:
        conversation: its turns, a line each, as a prompt shows them.
        level: people's consensus.
        reason: why, in people's words.
        transcript: a digest of the transcript it is from, which is never shown its own example.
    """

    conversation: FieldText
    level: StrictInt | StrictFloat
    reason: FieldText | None = None
    transcript: Digest


@dataclass(frozen=True, kw_only=True, config=STRICT)
class MappedLevel:
    """One step of a map of levels.

    Attributes:
        said: a level that the judge gives.
        level: the level that is recorded in its place.
    """

    said: StrictInt | StrictFloat
    level: StrictInt | StrictFloat


@dataclass(frozen=True, kw_only=True, config=STRICT)
class TunedFigure:
    """A figure with its 95 % interval; None where there is none.

    Attributes:
        estimate, low, high: the figure and its bounds.
    """

    estimate: StrictFloat | None = None
    low: StrictFloat | None = None
    high: StrictFloat | None = None


@dataclass(frozen=True, kw_only=True, config=STRICT)
class TunedPart:
    """One part of the units that people rated.

    Attributes:
        units, cases: how many.
        digests: of its transcripts and cases (:mod:`bedside.ratings.learnt_units`).
    """

    units: StrictInt
    cases: StrictInt
    digests: tuple[Digest, ...]


@dataclass(frozen=True, kw_only=True, config=STRICT)
class TunedCandidate:
    """A candidate, and how it did in training; these figures chose among candidates and are no result.

    Attributes:
        wording: the version of its wording.
        examples: how many examples.
        level_map: how levels are mapped.
        kappa: agreement with people in the inner cross-validation; None where it was dropped before, or undefined.
        units: training units that it was tried on.
    """

    wording: FieldText
    examples: StrictInt
    level_map: FieldText
    kappa: StrictFloat | None = None
    units: StrictInt


@dataclass(frozen=True, kw_only=True, config=STRICT)
class TuningRecord:
    """How a rubric was tuned.

    Attributes:
        rubric, version: what it was tuned from.
        judge: the judge it was tuned for; temperature: at which it was asked.
        run: the name of the run; bedside: the version of the software.
        split, seed, rounds: the share of cases for training, the seed of all draws, and the rounds of annotation.
        training, held_out: the two parts.
        candidates: what was tried.
        statistic: the name of the statistic of the figures below, which are of the held-out part.
        before, after: agreement with people before and after; gain: the paired difference; ceiling: one person with
            the others, on the same units.
        shown: whether the whole interval of the gain lies above 0.
    """

    rubric: FieldName
    version: FieldText
    judge: FieldText
    temperature: StrictFloat | None
    run: FieldText
    bedside: FieldText
    split: StrictFloat
    seed: StrictInt
    rounds: tuple[str, ...] = ()
    training: TunedPart
    held_out: TunedPart
    candidates: tuple[TunedCandidate, ...]
    statistic: FieldText
    before: TunedFigure
    after: TunedFigure
    gain: TunedFigure
    ceiling: TunedFigure
    shown: StrictBool


def tuning_fault(
    kind: str, scale: Sequence[Level], examples: Sequence[RatedExample], level_map: Sequence[MappedLevel]
) -> str | None:
    """What is wrong with the examples or the map of a rubric; None where nothing is."""
    if (examples or level_map) and kind != "level":
        key = "examples" if examples else "level_map"
        return f"{key}: for rubrics of kind level, and this one is of kind {kind}"
    levels = [level.value for level in scale]
    for example in examples:
        if example.level not in levels:
            return f"examples: {example.level} is not one of the scale's levels"
    if level_map:
        if [step.said for step in level_map] != levels:
            return "level_map: says for each level of the scale, once and in order, what is recorded"
        if any(step.level not in levels for step in level_map):
            return "level_map: maps to levels of the scale"
        if any(after.level < before.level for before, after in pairwise(level_map)):
            return "level_map: a higher level can't be recorded as a lower one than a lower level is"
    return None


# -- What a rubric states -------------------------------------------------------------------------------

Unit = Literal["transcript", "turn"]

#: Inputs worked out from the conversation itself and not looked up in ``Transcript.reference``; they may be empty.
FROM_TRANSCRIPT: Mapping[str, str] = {
    "pending_question": "the patient's latest question that no clinician turn before the rated one has answered"
}


#: The key that holds the form of an answer, by kind; ``answer`` for the others.
#: What people choose from where a judge gives a number from 0 to 1.
STEPS = tuple(Level(value=step / 4, descriptor=f"{step / 4:g}") for step in range(5))
_FORMS = {"level": "scale", "label": "labels", "set": "labels", "sheet": "criteria", "flow": "questions"}
_REFERENCE = re.compile(r"\{([a-z][a-z0-9_]*)\}")
#: Keys that neither judge nor person sees.
_UNSEEN: Any = {
    **dict.fromkeys((
        "name", "aliases", "direction", "fails_at", "source", "notes", "deviations", "history", "translated_from",
    ), True),
    "criteria": {"__all__": {"aliases", "direction"}},
}  # fmt: skip


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Input:
    """Something the judge needs beside the conversation.

    Attributes:
        name: the key in ``Transcript.reference``, or of a factor, or one of :data:`FROM_TRANSCRIPT`. Texts of the
            rubric name it in braces: ``the {background}``.
        description: what it is, told to whoever rates.
        title: what it is called in texts; its name, with blanks for underscores, unless given.
    """

    name: FieldName
    description: FieldText
    title: FieldText | None = None

    @property
    def called(self) -> str:
        """What it is called in texts."""
        return self.title or plain_name(self.name)


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Rubric:
    """One question put to a judge, LLM or human.

    Attributes:
        name: equal to the file's name; the name of the metric in the ratings table.
        title: as in a table's row.
        aliases: other names by which people's sheets may call it.
        construct: what is measured, in a phrase.
        definition: the question, in full.
        unit: what is rated: a whole ``transcript`` or a ``turn``.
        kind: the form of the answer. ``level``: one level of the ordered ``scale``. ``label``: one of ``labels``.
            ``set``: any of ``labels``, or none of them. ``vector``: named numbers from 0 to 1, given in ``answer``
            with whatever goes with them. ``pairs``, ``list`` and ``index``: structured answers, given in ``answer``.
            ``sheet``: a level or label by each of ``criteria``, in one reply. ``flow``: answers to ``questions``, of
            which each hangs on the answer before. ``points``: whether each of a case's own criteria is met.
        role: whose part in the conversation is rated; None for the conversation as such.
        direction: whether higher is better, lower is better, or neither.
        fails_at: for ``level``: the level that a transcript must stay clear of, with all that are worse. Whatever
            else is better, ``bedside gate`` lets no system pass that reaches it.
        scale: for ``level``: the levels in ascending order.
        labels: for ``label`` and ``set``.
        answer: for ``vector``, ``pairs``, ``list`` and ``index``: the parts of the answer.
        criteria: for ``sheet``.
        justified: for ``sheet``: whether each criterion has a reason of its own.
        aggregate: for ``sheet``: what is computed of the criteria.
        questions: for ``flow``: in the order of the walk.
        results: for ``flow``: the levels that each dimension may come to; the metric is ``<rubric>_<dimension>``.
        leads: for ``flow``: where an answer leads unless its question says otherwise.
        start: for ``flow``: the id of the first question, where it isn't the first of all.
        not_relevant: for ``flow``: answers by which no dimension has a result.
        points: for ``points``: where the criteria stand, with what each is worth.
        inputs: what the judge needs beside the conversation.
        shows: what was behind the conversation and is shown nevertheless, by name: ``system`` messages, ``tools``.
            Nobody who rates is shown it by other rubrics.
        each: where the question is asked about every item of an input, that input's name; about every turn (of
            ``role``), ``turns``. One reply then holds an answer for each of them, and a long list can be split.
        window: for turns asked about one by one: how many turns before the rated one are shown; all of them if
            None. Later turns never are.
        window_role: for turns asked about one by one: the role whose turns are shown before the rated one and counted
            by ``window``; everybody's if None.
        stage: for whole conversations: where turns of the rated ``role`` carry this stage (``Turn.meta["stage"]``),
            they alone are shown; a conversation without such turns is shown whole.
        transcript: whether the conversation is shown at all.
        not_applicable: when no answer can be given; the reply is null then and the rating missing, with the reason.
        instructions: anything else to tell the judge, such as how doubtful cases are decided.
        source: citation.
        notes: known defects of the source and what was done about them.
        deviations: what this rubric asks otherwise than its source, in substance, and so may move its ratings; one
            text each.
        examples: of a tuned rubric: conversations that people rated, which judges are shown; people never are.
        level_map: of a tuned rubric: what is recorded where a judge gives a level.
        history: of a tuned rubric: how it came to be, the latest tuning last.
        language: the language of its texts, one of :func:`bedside.judges.rubrics.prompt_words.languages`; prompts and
            pages are in it.
        translated_from: of a translation: the version of what it is made
            from.
    """

    name: RubricName
    title: FieldText
    construct: FieldText
    definition: FieldText
    unit: Unit
    kind: Kind
    role: Role | None = None
    direction: Direction
    fails_at: StrictInt | StrictFloat | None = None
    scale: tuple[Level, ...] = ()
    labels: tuple[Label, ...] = ()
    answer: tuple[RubricPart, ...] = ()
    criteria: tuple[Criterion, ...] = ()
    justified: StrictBool = False
    aggregate: Aggregate | None = None
    questions: tuple[FlowQuestion, ...] = ()
    results: tuple[FlowResult, ...] = ()
    leads: Mapping[FieldText, QuestionId] = field(default_factory=dict)
    start: QuestionId | None = None
    not_relevant: tuple[FlowExit, ...] = ()
    points: Points | None = None
    inputs: tuple[Input, ...] = ()
    shows: tuple[ProvenanceKind, ...] = ()
    each: FieldName | None = None
    window: StrictInt | None = None
    window_role: Role | None = None
    stage: FieldText | None = None
    transcript: StrictBool = True
    not_applicable: FieldText | None = None
    instructions: FieldText | None = None
    source: FieldText
    notes: FieldText | None = None
    deviations: tuple[FieldText, ...] = ()
    examples: tuple[RatedExample, ...] = ()
    level_map: tuple[MappedLevel, ...] = ()
    history: tuple[TuningRecord, ...] = ()
    language: FieldText = ENGLISH
    translated_from: FieldText | None = None
    aliases: tuple[FieldText, ...] = ()

    @model_validator(mode="after")
    def _belongs(self) -> Self:
        form = _FORMS.get(self.kind, "answer")
        for key in ("scale", "labels", "answer", "criteria", "questions"):
            if key == form and not getattr(self, key):
                raise ValueError(f"{key}: a rubric of kind {self.kind} needs this key")
            if key != form and getattr(self, key):
                raise ValueError(f"{key}: a rubric of kind {self.kind} has no such key")
        if self.kind == "flow":
            self._check_flow()
        elif self.results or self.leads or self.not_relevant or self.start:
            raise ValueError("results: for rubrics of kind flow")
        if self.kind == "sheet":
            check_sheet(self.name, self.criteria, self.aggregate, self.direction)
            check_distinct("criteria", [part.name for part in self.parts])
        elif self.aggregate is not None or self.justified:
            raise ValueError("aggregate: for rubrics of kind sheet" if self.aggregate else "justified: for sheets")
        if (self.points is not None) != (self.kind == "points"):
            raise ValueError("points: a rubric of kind points has this key, and no other has")
        if self.points is not None and (self.each, self.unit) != (self.points.key, "transcript"):
            raise ValueError(f"each: points are given for whole transcripts, by each of the {self.points.key}")
        if self.kind in ("sheet", "flow") and self.each is not None:
            raise ValueError(f"each: a rubric of kind {self.kind} has no such key")
        if len(self.scale) == 1 or (self.kind == "label" and len(self.labels) == 1):
            raise ValueError(f"{form}: a choice needs two alternatives or more")
        check_ascending(self.scale)
        if self.fails_at is not None and (
            self.direction == "none" or self.fails_at not in [level.value for level in self.scale]
        ):
            raise ValueError("fails_at: one of the scale's levels, where the direction says which are worse")
        check_distinct("labels", [label.label for label in self.labels])
        check_distinct("answer", [part.name for part in self.answer])
        check_distinct("inputs", [item.name for item in self.inputs])
        reserved = {"reason", "item", "answers"}.intersection(part.name for part in self.answer)
        if reserved:
            raise ValueError(f"answer: the name {reserved.pop()} is taken by the reply itself")
        misshapen = form_fault(self.kind, self.answer)
        if misshapen is not None:
            raise ValueError(f"answer: {misshapen}")
        check_distinct("shows", self.shows)
        if any(item.name in self.shows for item in self.inputs):
            raise ValueError(f"inputs: {' and '.join(PROVENANCE_KINDS)} are what the rubric shows of the conversation")
        if any(item.name == "turns" for item in self.inputs):
            raise ValueError("inputs: the name turns is taken by the conversation itself")
        countable = {"turns", *(item.name for item in self.inputs)}
        for part in all_parts(self.answer):
            if part.type == "index" and part.of not in countable:
                raise ValueError(f"answer: {part.name} counts the items of {part.of}, which is not one of its inputs")
        if self.each is not None and self.each not in countable:
            raise ValueError(f"each: {self.each} is neither an input nor turns")
        if self.each == "turns" and self.unit != "turn":
            raise ValueError("each: turns are asked about where the unit is turn")
        if self.window is not None and (self.unit != "turn" or self.each or self.window < 0):
            raise ValueError("window: a number of turns, for turns that are asked about one by one")
        if self.window_role is not None and (self.unit != "turn" or self.each):
            raise ValueError("window_role: whose turns are shown, for turns that are asked about one by one")
        if self.window_role is not None and self.window == 0:
            raise ValueError("window_role: no turn before the rated one is shown, where the window is 0")
        if self.stage is not None and (self.unit == "turn" or not self.transcript):
            raise ValueError("stage: which turns are shown, where a whole conversation is")
        check_distinct("deviations", self.deviations)
        check_distinct("aliases", self.aliases)
        if not self.transcript and self.unit == "turn":
            raise ValueError("transcript: a turn can't be rated without the conversation")
        if self.not_applicable and self.kind not in ("level", "label", "sheet"):
            raise ValueError(f"not_applicable: a rubric of kind {self.kind} has no such key")
        if self.language not in languages():
            raise ValueError(f"language: one of {', '.join(languages())}")
        mistuned = tuning_fault(self.kind, self.scale, self.examples, self.level_map)
        if mistuned is not None:
            raise ValueError(mistuned)
        return self

    def _check_flow(self) -> None:
        for key, fault in self.flow.faults():
            raise ValueError(f"{key}: {fault}")
        if self.unit != "transcript" or not self.transcript:
            raise ValueError("unit: a flow is asked about a whole transcript, which is shown")
        check_distinct("questions", self.metrics)

    @cached_property
    def version(self) -> str:
        """The first 12 hexadecimal digits of the SHA-256 of what a judge sees, and of the map of its levels.

        It changes with any change of wording, scale, inputs, form, examples or map, and with nothing else: not with
        notes, source, direction, ``fails_at``, deviations, history, name or aliases, nor with the order of keys.
        """
        seen = _RUBRIC.dump_python(self.shown(), mode="json", exclude=_UNSEEN, exclude_defaults=True)
        return hashlib.sha256(json.dumps(seen, sort_keys=True, ensure_ascii=False).encode()).hexdigest()[:12]

    def shown(self) -> Rubric:
        """The rubric as a judge sees it: in its texts, inputs in braces have become plain words.

        A prompt or a labelling page takes its words from here, and shows none of name, direction, ``fails_at``,
        source, notes and deviations.
        """
        names = {item.name: item.called for item in self.inputs}
        return read(_worded(_RUBRIC.dump_python(self), names))

    @property
    def words(self) -> PromptWords:
        """What prompts say around it."""
        return prompt_words(self.language)

    @property
    def tuned(self) -> bool:
        """Whether it was tuned: what judges rate by it is told apart from what they rate by others of its name."""
        return bool(self.history or self.examples or self.level_map)

    @property
    def key(self) -> str:
        """What tells it from other rubrics of a run: its name, with its version where it is tuned, translated or shows
        provenance."""
        apart = self.tuned or self.translated_from or self.shows
        return f"{self.name}@{self.version}" if apart else self.name

    @property
    def for_people(self) -> Rubric:
        """The rubric as people rate by it: without examples and map, which are for judges."""
        return replace(self, examples=(), level_map=()) if self.tuned else self

    @property
    def learnt_from(self) -> frozenset[str]:
        """The digests of what it was tuned on, all times together (:mod:`bedside.ratings.learnt_units`)."""
        return frozenset(digest for record in self.history for digest in record.training.digests)

    def recorded_level(self, said: float) -> float:
        """The level that is recorded where a judge gives one."""
        return next((float(step.level) for step in self.level_map if step.said == said), said)

    @property
    def references(self) -> tuple[str, ...]:
        """The inputs that a transcript's ``reference`` must hold for the rubric to be rated."""
        stated = (self.points.key,) if self.points and self.points.criteria else ()
        return tuple(item.name for item in self.inputs if item.name not in (*FROM_TRANSCRIPT, *stated))

    @property
    def shown_inputs(self) -> tuple[Input, ...]:
        """All that is shown beside the conversation: the inputs, then provenance that the rubric shows."""
        words = self.words
        return (
            *self.inputs,
            *(
                Input(
                    name=kind, title=words.say("provenance", kind), description=words.say("provenance", f"about_{kind}")
                )
                for kind in self.shows
            ),
        )

    def provenance(self, transcript: Transcript, kind: str, turn: int | None = None) -> list[str]:
        """Provenance of a kind, each text with its place; of a turn that is rated, what stands before it."""
        say = self.words.say
        return [
            say("provenance", "before", number=item.before, text=item.text)
            for item in transcript.provenance
            if item.kind == kind and (turn is None or item.before <= turn)
        ]

    @cached_property
    def parts(self) -> tuple[RubricPart, ...]:
        """The parts of an answer, whatever the kind; after the reason, in the order of a reply."""
        optional = self.not_applicable is not None
        words = self.words
        null = words.say("answer", "null_where", when=self.not_applicable) if optional else ""
        match self.kind:
            case "level":
                about = words.say("answer", "level", null=null)
                part = RubricPart(name="score", type="level", descriptor=about, scale=self.scale, optional=optional)
            case "label":
                about = words.say("answer", "label", null=null)
                part = RubricPart(name="label", type="label", descriptor=about, labels=self.labels, optional=optional)
            case "set":
                about = words.say("answer", "labels")
                part = RubricPart(name="labels", type="labels", descriptor=about, labels=self.labels)
            case "sheet":
                return tuple(self._criterion_parts(null))
            case _:
                return self.answer
        return (part,)

    def _criterion_parts(self, null: str) -> Iterator[RubricPart]:
        for criterion in self.criteria:
            if self.justified:
                reason = self.words.say("answer", "criterion_reason", criterion=plain_name(criterion.name))
                yield RubricPart(name=f"{criterion.name}_reason", type="text", descriptor=reason)
            yield RubricPart(
                name=criterion.name, type="level" if criterion.scale else "label",
                descriptor=f"{criterion.definition}{null}", scale=criterion.levels, labels=criterion.labels,
                optional=bool(null),
            )  # fmt: skip

    @cached_property
    def measures(self) -> tuple[Rubric, ...]:
        """The rubrics of single ratings that its answers come to, each named like its metric; none of a plain rubric.

        People are asked a sheet by these, judges the questions of a flow, which come before its results; and tables
        take titles, scales and directions from them.
        """
        if self.kind == "flow":
            return tuple(self._flow_measures())
        return tuple(
            replace(
                self, name=f"{self.name}_{criterion.name}", title=criterion.title or titled(criterion.name),
                definition=criterion.definition, kind="level" if criterion.scale else "label",
                direction=criterion.direction or (self.direction if criterion.scale else "none"),
                scale=criterion.levels, labels=criterion.labels,
                aliases=(criterion.name, *criterion.aliases), criteria=(), justified=False, aggregate=None,
            )
            for criterion in self.criteria
        )  # fmt: skip

    @property
    def question_rubrics(self) -> tuple[Rubric, ...]:
        """The rubrics of single questions that people are asked: a sheet's criteria, a flow's questions, a vector's
        ratings, or itself."""
        if self.kind == "vector":
            return tuple(self._vector_questions()) or (self,)
        return self.measures[: len(self.questions)] if self.kind == "flow" else self.measures or (self,)

    def _vector_questions(self) -> Iterator[Rubric]:
        """Each named like the metric of a judge's: numbers in steps, the likeliest label as a choice; none where a part
        is anything else."""
        rated = [part for part in self.answer if part.type not in ("text", "quote")]
        if any(part.optional or part.type not in ("number", "level", "label", "probabilities") for part in rated):
            return
        instructions = self.words.join(self.definition, self.instructions or "")
        for part in rated:
            yield replace(
                self, name=f"{self.name}.{part.name}", title=titled(part.name), definition=part.descriptor,
                kind="label" if part.labels else "level", answer=(), labels=part.labels, aliases=(),
                scale=STEPS if part.type == "number" else part.scale,
                instructions=instructions if part is rated[0] else None,
            )  # fmt: skip

    def _flow_measures(self) -> Iterator[Rubric]:
        def labelled(name: str, answers: Iterable[FlowAnswer], **texts: Any) -> Rubric:
            labels = tuple(Label(label=one.answer, descriptor=one.descriptor or one.answer) for one in answers)
            return replace(
                self, name=f"{self.name}_{slug(name)}", kind="label", labels=labels, questions=(), results=(),
                leads={}, not_relevant=(), start=None, **texts,
            )  # fmt: skip

        for question in self.questions:
            told = self.words.join(self.instructions or "", question.examples or "") or None
            yield labelled(
                question.id, question.answers, direction="none", title=f"{question.dimension} ({question.id})",
                construct=question.dimension, definition=question.question, instructions=told,
            )  # fmt: skip
        levels = [FlowAnswer(answer=level) for level in dict.fromkeys(result.name for result in self.results)]
        for dimension in self.flow.dimensions:
            yield labelled(dimension, levels, title=dimension, construct=dimension)

    @cached_property
    def flow(self) -> Flow:
        """The questions as they are walked through."""
        return Flow(self.questions, self.results, self.leads, self.start, self.not_relevant)

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics of its ratings, by name, but for the parts of a vector."""
        names = tuple(measure.name for measure in self.measures) or (self.name,)
        return names if self.aggregate is None else (*names, self.aggregate.name)

    def fitting_part(self, reply: object) -> dict[str, Any] | None:
        """Of a reply that lacks something, what fits all the same: those criteria of a sheet that are answered."""
        if self.kind != "sheet" or not isinstance(reply, dict):
            return None
        fitting = {part.name for part in self.parts if part.name in reply and not part.problem(reply[part.name], {})}
        kept = {name: reply[name] for name in ("reason", *reply) if name in fitting or name == "reason"}
        return kept if fitting and isinstance(kept.setdefault("reason", ""), str) else None

    def rating_scale(self) -> Scale | None:
        """What a rater may answer, as the scale of the ratings; None for kinds that are not one level or label."""
        if self.kind == "level":
            return Scale(tuple(float(level.value) for level in self.scale), True)
        if self.kind == "label":
            # Labels of which it is said which end is better stand in order.
            return Scale(tuple(label.label for label in self.labels), self.direction != "none")
        return None

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of a judge's reply: the reason first, then the answer.

        It stays within what providers enforce: closed objects, all keys required, levels and labels as ``enum``. The
        limits it can't state (numbers from 0 to 1, their sum, items named twice, a number past the end of a list) are
        :meth:`problem`'s. With ``each``, the reply holds ``answers``, each with the number of its ``item``.
        """
        words = self.words
        reason = {"type": "string", "description": self.reason_wanted}
        parts: dict[str, Any] = {"reason": reason}
        parts |= {part.name: part.schema(words) for part in self.shown().parts}
        if self.each is None:
            return closed_object(parts)
        about = "_turn" if self.each == "turns" else ""
        item = {"type": "integer", "description": words.say("answer", f"item{about}")}
        return closed_object(
            {
                "answers": {
                    "type": "array",
                    "description": words.say("answer", f"answers{about}"),
                    "items": closed_object({"item": item, **parts}),
                }
            }
        )

    @property
    def reason_wanted(self) -> str:
        """What a judge is to write before its answer."""
        kinds = ("reason", "" if self.each is None else "_each", "_turns" if self.transcript else "")
        return self.words.say("answer", "".join(kinds))

    def problem(
        self, reply: object, *, counts: Mapping[str, int] | None = None, asked: Sequence[int] | None = None
    ) -> str | None:
        """What is wrong with a judge's reply, in one line that could be sent back; None if it fits.

        Args:
            reply: the parsed JSON.
            counts: the number of items of each input that an index counts, and of ``turns``; an index of anything
                else is only checked not to be negative.
            asked: with ``each``, the numbers of the items that were asked about: each must be answered once.
        """
        counts = counts or {}
        names = ["reason", *(part.name for part in self.parts)]
        if self.each is None:
            return self._answer_problem(reply, names, counts)
        fault = key_fault(reply, ["answers"])
        if fault is not None:
            return fault
        answers = reply["answers"]  # type: ignore[index]
        if not isinstance(answers, list):
            return "answers: not a list"
        seen: list[int] = []
        for position, answer in enumerate(answers):
            fault = self._answer_problem(answer, ["item", *names], counts)
            if fault is None and not is_index(answer["item"]):
                fault = "item: not a number of an item"
            if fault is not None:
                return f"answers[{position}].{fault}"
            seen.append(int(answer["item"]))
        return None if asked is None else items_fault(seen, asked)

    def _answer_problem(self, reply: object, names: Sequence[str], counts: Mapping[str, int]) -> str | None:
        fault = key_fault(reply, names)
        if fault is not None:
            return fault
        assert isinstance(reply, dict)
        if not isinstance(reply["reason"], str):
            return "reason: not a text"
        faults = (part.problem(reply[part.name], counts) for part in self.parts)
        return next((fault for fault in faults if fault is not None), None)


_RUBRIC = TypeAdapter(Rubric)


def read(data: Mapping[str, Any]) -> Rubric:
    """A rubric from the keys and values of its file.

    Raises:
        pydantic.ValidationError: a key is unknown, missing or wrong, or keys don't go together.
    """
    return _RUBRIC.validate_python(data)


def as_data(rubric: Rubric) -> dict[str, Any]:
    """A rubric as :func:`read` takes it: plain values, without those that are the default."""
    data: dict[str, Any] = _RUBRIC.dump_python(rubric, mode="json", exclude_defaults=True)
    return data


def named_inputs(text: str) -> set[str]:
    """The inputs that a text of a rubric names in braces."""
    return set(_REFERENCE.findall(text))


def plain_name(name: str) -> str:
    """A name as a text calls it."""
    return name.replace("_", " ")


def titled(name: str) -> str:
    """A name as a title."""
    return plain_name(name).capitalize()


def _worded(data: Any, names: Mapping[str, str]) -> Any:
    if isinstance(data, str):
        return _REFERENCE.sub(lambda match: names.get(match[1]) or plain_name(match[1]), data)
    if isinstance(data, dict):
        return {key: _worded(value, names) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_worded(value, names) for value in data]
    return data


# -- What rubrics of pairs and indices link: entries of a list, to those of another or to turns -----------


class LinkForm(NamedTuple):
    """What a rubric of pairs or of an index asks for.

    Attributes:
        rows: the input whose entries are linked one by one; None where there is one link.
        row: the part of a pair that is the entry's number; None of an index.
        target: the part that is the number of what it is linked to.
        parts: what else is asked of a link, or of an entry: booleans and labels.
        texts: the parts that hold what the rater says and the words that they mark.
    """

    rows: str | None
    row: str | None
    target: RubricPart
    parts: tuple[RubricPart, ...]
    texts: tuple[RubricPart, ...]

    @property
    def one_to_one(self) -> bool:
        """Whether two entries can't be linked to the same."""
        return self.row is not None

    @property
    def of_turns(self) -> bool:
        """Whether entries are linked to turns."""
        return self.target.of == "turns"

    @property
    def quoted(self) -> bool:
        """Whether words of the conversation show a link."""
        return any(part.type == "quote" for part in self.texts)


def link_form(rubric: Rubric) -> LinkForm:
    """What a rubric of pairs or of an index asks for.

    Raises:
        ValueError: people can't be asked for it.
    """
    parts = rubric.answer[0].items if rubric.kind == "pairs" else rubric.answer
    indices = [part for part in parts if part.type == "index"]
    own = tuple(part for part in parts if part.type in ("boolean", "label"))
    texts = tuple(part for part in parts if part.type in ("text", "quote"))
    if len(indices) + len(own) + len(texts) < len(parts) or rubric.unit == "turn" or rubric.each == "turns":
        raise ValueError(f"people can't answer {rubric.name}: it asks of turns, or for more than links")
    if rubric.kind == "index":
        return LinkForm(rubric.each, None, indices[0], own, texts)
    if indices[0].of == "turns":
        raise ValueError(f"people can't answer {rubric.name}: its pairs begin with turns")
    return LinkForm(indices[0].of, indices[0].name, indices[1], own, texts)


def links_in(form: LinkForm, answer: Any) -> list[tuple[int, int | None, dict[str, Any]]]:
    """The links in an answer as a rating's reason holds it: number of the entry, of what it is linked to, and the rest.

    Args:
        form: of the rubric.
        answer: the reason's JSON, read: an object with one list of pairs, or a list of entries by number.
    """
    if form.row is not None:
        (pairs,) = (value for value in answer.values() if isinstance(value, list))
        return [(int(pair[form.row]), int(pair[form.target.name]), pair) for pair in pairs]
    return [(int(entry["item"]), entry[form.target.name], entry) for entry in answer]


# -- What is wrong with a key of a rubric's file --------------------------------------------------------

_PARTS = {
    part.__name__: part
    for part in (Level, Label, RubricPart, Input, RatedExample, Criterion, Aggregate, FlowQuestion, FlowAnswer)
}


#: What pydantic adds to a key that has one of several forms.
_LEVELS, _PLAIN = "tuple[Level, ...]", "constrained-str"
_ALTERNATIVES = (_LEVELS, "int", "float")


def key_faults(error: ValidationError) -> Iterator[tuple[str, str, str]]:
    """The key of each fault, its kind as pydantic calls it, and what is wrong."""
    said = set[tuple[str, str]]()
    for detail in error.errors(include_url=False):
        key, words = ".".join(str(step) for step in detail["loc"] if step not in _ALTERNATIVES), _words(detail)
        # Of a scale that is neither, what keeps it from being a list of levels is enough.
        if _PLAIN not in detail["loc"] and (key, words) not in said:
            said.add((key, words))
            yield key, detail["type"], words


def _words(detail: Mapping[str, Any]) -> str:
    kind = detail["type"]
    if kind == "unexpected_keyword_argument":
        return "unknown key"
    if kind == "string_type" and isinstance(detail["input"], bool):
        return 'it must be a text, and YAML takes a bare Yes or No for true or false: quote it ("Yes", "No")'
    if kind == "string_type":
        return "it must be a text"
    if kind == "tuple_type":
        return "it must be a list" + (
            f", or the first level and the last, such as 1-6, up to {MAX_LEVEL}" if _LEVELS in detail["loc"] else ""
        )
    if detail["loc"] and detail["loc"][-1] in _ALTERNATIVES:
        return "it must be a number"
    if kind == "dataclass_type":
        part = _PARTS.get(detail["ctx"]["class_name"])
        if part is None:
            return "it must hold keys and values"
        *first, last = (
            field.name for field in fields(part) if field.default is MISSING and field.default_factory is MISSING
        )
        return f"it must hold keys and values, at least {', '.join(first)} and {last}"
    return plain_words(detail)
