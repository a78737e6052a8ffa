"""What a rubric states: the question, the scale with a descriptor for every level, and the form of the answer.

A rubric is read by LLM judges and by people alike. What either of them sees is :meth:`Rubric.shown`; its hash is
:attr:`Rubric.version`, so that ratings made with different wordings are never taken for one another.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import (
    ConfigDict,
    StrictBool,
    StrictFloat,
    StrictInt,
    StringConstraints,
    TypeAdapter,
    field_validator,
    model_validator,
)
from pydantic.dataclasses import dataclass

from bedside.ratings.scales import Scale
from bedside.ratings.values import Direction
from bedside.transcripts.transcript import ROLES, Role

Unit = Literal["transcript", "turn"]
Kind = Literal["level", "label", "set", "vector", "pairs", "list", "index"]
PartType = Literal[
    "text", "quote", "number", "boolean", "level", "label", "labels", "probabilities", "index", "list"
]

#: Inputs worked out from the conversation itself and not looked up in ``Transcript.reference``; they may be empty.
FROM_TRANSCRIPT: Mapping[str, str] = {
    "pending_question": "the patient's latest question that no clinician turn before the rated one has answered",
}

#: Levels beyond this are slips of the pen.
MAX_LEVEL = 1000

#: How far the probabilities of a reply may be from a sum of 1; what reads them divides by their sum.
PROBABILITY_SLACK = 0.05

_REASON = (
    "Why, in two or three sentences, with the numbers of the turns that show it. Written before the answer."
)
_REFERENCE = re.compile(r"\{([a-z][a-z0-9_]*)\}")
#: Keys that neither judge nor person sees.
_UNSEEN = {"name", "direction", "source", "notes"}

_Name: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$")]
_Text: TypeAlias = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]


_STRICT = ConfigDict(extra="forbid")


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class Level:
    """One level of an ordered scale.

    Attributes:
        value: the number that is recorded.
        descriptor: what a conversation (or turn) at this level looks like.
    """

    value: StrictInt | StrictFloat
    descriptor: _Text

    @field_validator("value")
    @classmethod
    def _whole(cls, value: int | float) -> int | float:
        if not abs(value) <= MAX_LEVEL:
            raise ValueError(f"a level lies between -{MAX_LEVEL} and {MAX_LEVEL}")
        return int(value) if value == int(value) else value


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class Label:
    """One label of a nominal code or of a set.

    Attributes:
        label: what is recorded.
        descriptor: when it is given.
    """

    label: _Text
    descriptor: _Text


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class Input:
    """Something the judge needs beside the conversation.

    Attributes:
        name: the key in ``Transcript.reference``, or one of :data:`FROM_TRANSCRIPT`. Texts of the rubric name it in
            braces: ``the {background}``.
        description: what it is, told to whoever rates.
    """

    name: _Name
    description: _Text


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class RubricPart:
    """One named part of an answer that is more than a level or label.

    Attributes:
        name: its key in the reply.
        type: ``text``; ``quote`` (words copied from a turn of the role ``of``); ``number`` (0 to 1); ``boolean``;
            ``level`` (of ``scale``); ``label`` (one of ``labels``); ``labels`` (any of them); ``probabilities`` (a
            number for each of ``labels``, with sum 1); ``index`` (the number, counted from 0, of an item of the input
            ``of``, or of a turn where ``of`` is ``turns``); ``list`` (of objects made of ``items``).
        descriptor: what to write there.
        of: for ``index`` and ``quote``.
        scale: for ``level``.
        labels: for ``label``, ``labels`` and ``probabilities``.
        items: for ``list``.
        optional: whether null is an answer.
    """

    name: _Name
    type: PartType
    descriptor: _Text
    of: _Name | None = None
    scale: tuple[Level, ...] = ()
    labels: tuple[Label, ...] = ()
    items: tuple[RubricPart, ...] = ()
    optional: StrictBool = False

    @model_validator(mode="after")
    def _belongs(self) -> Self:
        wanted = {
            "of": self.type in ("index", "quote"),
            "scale": self.type == "level",
            "labels": self.type in ("label", "labels", "probabilities"),
            "items": self.type == "list",
        }
        for key, needed in wanted.items():
            if needed and not getattr(self, key):
                raise ValueError(f"{key}: a part of type {self.type} needs this key")
            if not needed and getattr(self, key):
                raise ValueError(f"{key}: a part of type {self.type} has no such key")
        if self.type == "quote" and self.of not in ROLES:
            raise ValueError(f"of: a quote is of one of the roles {', '.join(ROLES)}")
        if any(item.type == "list" for item in self.items):
            raise ValueError("items: a list in a list is not supported")
        _ascending(self.scale)
        _distinct("labels", [label.label for label in self.labels])
        _distinct("items", [item.name for item in self.items])
        return self

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of this part of a reply."""
        made = _part_schema(self)
        if self.optional:
            made["type"] = [made["type"], "null"]
            if "enum" in made:
                made["enum"] = [*made["enum"], None]
        return made

    def problem(self, value: object, counts: Mapping[str, int]) -> str | None:
        """What is wrong with ``value`` as this part of a reply; None if it fits. See :meth:`Rubric.problem`."""
        if value is None and self.optional:
            return None
        found = _problem(self, value, counts)
        return f"{self.name}{'' if found.startswith(('.', '[')) else ': '}{found}" if found else None


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class Rubric:
    """One question put to a judge, LLM or human.

    Attributes:
        name: equal to the file's name; the name of the metric in the ratings table.
        title: as in a table's row.
        construct: what is measured, in a phrase.
        definition: the question, in full.
        unit: what is rated: a whole ``transcript`` or a ``turn``.
        kind: the form of the answer. ``level``: one level of the ordered ``scale``. ``label``: one of ``labels``.
            ``set``: any of ``labels``, or none of them. ``vector``: named numbers from 0 to 1, given in ``answer``
            with whatever goes with them. ``pairs``, ``list`` and ``index``: structured answers, given in ``answer``.
        role: whose part in the conversation is rated; None for the conversation as such.
        direction: whether higher is better, lower is better, or neither.
        scale: for ``level``: the levels in ascending order.
        labels: for ``label`` and ``set``.
        answer: for the other kinds: the parts of the answer.
        inputs: what the judge needs beside the conversation.
        each: where the question is asked about every item of an input, that input's name; about every turn (of
            ``role``), ``turns``. One reply then holds an answer for each of them, and a long list can be split.
        window: for turns asked about one by one: how many turns before the rated one are shown; all of them if
            None. Later turns never are.
        transcript: whether the conversation is shown at all.
        not_applicable: when no answer can be given; the reply is null then and the rating missing, with the reason.
        instructions: anything else to tell the judge, such as how doubtful cases are decided.
        source: citation.
        notes: known defects of the source and what was done about them.
    """

    name: _Name
    title: _Text
    construct: _Text
    definition: _Text
    unit: Unit
    kind: Kind
    role: Role | None = None
    direction: Direction
    scale: tuple[Level, ...] = ()
    labels: tuple[Label, ...] = ()
    answer: tuple[RubricPart, ...] = ()
    inputs: tuple[Input, ...] = ()
    each: _Name | None = None
    window: StrictInt | None = None
    transcript: StrictBool = True
    not_applicable: _Text | None = None
    instructions: _Text | None = None
    source: _Text
    notes: _Text | None = None

    @model_validator(mode="after")
    def _belongs(self) -> Self:
        form = {"level": "scale", "label": "labels", "set": "labels"}.get(self.kind, "answer")
        for key in ("scale", "labels", "answer"):
            if key == form and not getattr(self, key):
                raise ValueError(f"{key}: a rubric of kind {self.kind} needs this key")
            if key != form and getattr(self, key):
                raise ValueError(f"{key}: a rubric of kind {self.kind} has no such key")
        if len(self.scale) == 1 or (self.kind == "label" and len(self.labels) == 1):
            raise ValueError(f"{form}: one alternative is no choice")
        _ascending(self.scale)
        _distinct("labels", [label.label for label in self.labels])
        _distinct("answer", [part.name for part in self.answer])
        _distinct("inputs", [item.name for item in self.inputs])
        taken = {"reason", "item", "answers"}.intersection(part.name for part in self.answer)
        if taken:
            raise ValueError(f"answer: the name {taken.pop()} is taken by the reply itself")
        wanted = _misshapen(self.kind, self.answer)
        if wanted is not None:
            raise ValueError(f"answer: {wanted}")
        if any(item.name == "turns" for item in self.inputs):
            raise ValueError("inputs: the name turns is taken by the conversation itself")
        known = {"turns", *(item.name for item in self.inputs)}
        for part in _walk(self.answer):
            if part.type == "index" and part.of not in known:
                raise ValueError(f"answer: {part.name} counts the items of {part.of}, which is no input")
        if self.each is not None and self.each not in known:
            raise ValueError(f"each: {self.each} is neither an input nor turns")
        if self.each == "turns" and self.unit != "turn":
            raise ValueError("each: turns are asked about where the unit is turn")
        if self.window is not None and (self.unit != "turn" or self.each or self.window < 0):
            raise ValueError("window: a number of turns, for turns that are asked about one by one")
        if not self.transcript and self.unit == "turn":
            raise ValueError("transcript: a turn can't be rated without the conversation")
        if self.not_applicable and self.kind not in ("level", "label"):
            raise ValueError(f"not_applicable: a rubric of kind {self.kind} has no such key")
        return self

    @cached_property
    def version(self) -> str:
        """The first 12 hexadecimal digits of the SHA-256 of what a judge sees.

        It changes with any change of wording, scale, inputs or form, and with nothing else: not with notes, source,
        direction or name, nor with the order of keys in the file.
        """
        seen = _RUBRIC.dump_python(self.shown(), mode="json", exclude=_UNSEEN, exclude_defaults=True)
        return hashlib.sha256(json.dumps(seen, sort_keys=True, ensure_ascii=False).encode()).hexdigest()[:12]

    def shown(self) -> Rubric:
        """The rubric as a judge sees it: in its texts, inputs in braces have become plain words.

        A prompt or a labelling page takes its words from here, and shows none of name, direction, source and notes.
        """
        return read(_worded(_RUBRIC.dump_python(self)))

    @property
    def references(self) -> tuple[str, ...]:
        """The inputs that a transcript's ``reference`` must hold for the rubric to be rated."""
        return tuple(item.name for item in self.inputs if item.name not in FROM_TRANSCRIPT)

    @cached_property
    def parts(self) -> tuple[RubricPart, ...]:
        """The parts of an answer, whatever the kind; after the reason, in the order of a reply."""
        optional = self.not_applicable is not None
        null = f" Null where no answer can be given: {self.not_applicable}" if optional else ""
        match self.kind:
            case "level":
                about = f"The level.{null}"
                part = RubricPart(
                    name="score", type="level", descriptor=about, scale=self.scale, optional=optional
                )
            case "label":
                about = f"The label.{null}"
                part = RubricPart(
                    name="label", type="label", descriptor=about, labels=self.labels, optional=optional
                )
            case "set":
                about = "Those that apply; empty where none does."
                part = RubricPart(name="labels", type="labels", descriptor=about, labels=self.labels)
            case _:
                return self.answer
        return (part,)

    def rating_scale(self) -> Scale | None:
        """What a rater may answer, as the scale of the ratings; None for kinds that are not one level or label."""
        if self.kind == "level":
            return Scale(tuple(float(level.value) for level in self.scale), True)
        if self.kind == "label":
            return Scale(tuple(label.label for label in self.labels), False)
        return None

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of a judge's reply: the reason first, then the answer.

        It stays within what providers enforce: closed objects, all keys required, levels and labels as ``enum``. The
        limits it can't state (numbers from 0 to 1, their sum, items named twice, a number past the end of a list) are
        :meth:`problem`'s. With ``each``, the reply holds ``answers``, each with the number of its ``item``.
        """
        length = "two or three sentences" if self.each is None else "one sentence"
        shows = ", with the numbers of the turns that show it" if self.transcript else ""
        reason = {"type": "string", "description": f"Why, in {length}{shows}; written before the answer."}
        parts: dict[str, Any] = {"reason": reason}
        parts |= {part.name: part.schema() for part in self.shown().parts}
        if self.each is None:
            return _object(parts)
        about = "turn" if self.each == "turns" else "item"
        item = {"type": "integer", "description": f"The number of the {about} that this answers, as shown."}
        return _object(
            {
                "answers": {
                    "type": "array",
                    "description": f"One answer for each {about} asked about.",
                    "items": _object({"item": item, **parts}),
                }
            }
        )

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
        found = _keys(reply, ["answers"])
        if found is not None:
            return found
        answers = reply["answers"]  # type: ignore[index]
        if not isinstance(answers, list):
            return "answers: not a list"
        seen: list[int] = []
        for position, answer in enumerate(answers):
            found = self._answer_problem(answer, ["item", *names], counts)
            if found is None and not _is_index(answer["item"]):
                found = "item: not a number of an item"
            if found is not None:
                return f"answers[{position}].{found}"
            seen.append(int(answer["item"]))
        return None if asked is None else _not_as_asked(seen, asked)

    def _answer_problem(self, reply: object, names: Sequence[str], counts: Mapping[str, int]) -> str | None:
        found = _keys(reply, names)
        if found is not None:
            return found
        assert isinstance(reply, dict)
        if not isinstance(reply["reason"], str):
            return "reason: not a text"
        found_in = (part.problem(reply[part.name], counts) for part in self.parts)
        return next((found for found in found_in if found is not None), None)


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


def _walk(parts: Sequence[RubricPart]) -> Iterator[RubricPart]:
    for part in parts:
        yield part
        yield from _walk(part.items)


def _ascending(levels: Sequence[Level]) -> None:
    for before, after in pairwise(levels):
        if after.value <= before.value:
            raise ValueError(
                f"scale: level {after.value} stands after level {before.value}; write each once, in order"
            )


def _distinct(key: str, names: Sequence[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{key}: {name!r} is there twice")


def _worded(data: Any) -> Any:
    if isinstance(data, str):
        return _REFERENCE.sub(lambda match: match[1].replace("_", " "), data)
    if isinstance(data, dict):
        return {key: _worded(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_worded(value) for value in data]
    return data


# -- the forms of answers ---------------------------------------------------------------------------


def _misshapen(kind: Kind, answer: Sequence[RubricPart]) -> str | None:
    types = [part.type for part in answer]
    if kind == "vector" and "number" not in types:
        return "a vector has parts of type number"
    if kind == "index" and types.count("index") != 1:
        return "an index has one part of type index"
    if kind in ("pairs", "list") and types != ["list"]:
        return f"{'pairs are' if kind == 'pairs' else 'a list is'} one part of type list"
    if kind == "pairs" and [item.type for item in answer[0].items].count("index") != 2:
        return "the items of pairs have two parts of type index"
    return None


def _not_as_asked(seen: Sequence[int], asked: Sequence[int]) -> str | None:
    for items, what in (
        (set(asked) - set(seen), "nothing about {}"),
        (set(seen) - set(asked), "{} was not asked about"),
        ({item for item in seen if seen.count(item) > 1}, "{} answered twice"),
    ):
        if items:
            return "answers: " + what.format(", ".join(map(str, sorted(items))))
    return None


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


_JSON_TYPES = {"text": "string", "quote": "string", "boolean": "boolean", "index": "integer"}


def _part_schema(part: RubricPart) -> dict[str, Any]:
    labels = [label.label for label in part.labels]
    match part.type:
        case "number":
            return {"type": "number", "description": f"{part.descriptor} A number from 0 to 1."}
        case "level":
            values = [level.value for level in part.scale]
            whole = all(isinstance(value, int) for value in values)
            return {
                "type": "integer" if whole else "number",
                "description": part.descriptor,
                "enum": values,
            }
        case "label":
            return {"type": "string", "description": part.descriptor, "enum": labels}
        case "labels":
            item = {"type": "string", "enum": labels}
            return {"type": "array", "description": part.descriptor, "items": item}
        case "probabilities":
            about = f"{part.descriptor} Numbers from 0 to 1 with sum 1."
            numbers = {
                label.label: {"type": "number", "description": label.descriptor} for label in part.labels
            }
            return {"description": about, **_object(numbers)}
        case "list":
            items = _object({item.name: item.schema() for item in part.items})
            return {"type": "array", "description": part.descriptor, "items": items}
        case _:
            return {"type": _JSON_TYPES[part.type], "description": part.descriptor}


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_index(value: object) -> bool:
    whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    return whole and not isinstance(value, bool) and value >= 0  # type: ignore[operator]


def _keys(reply: object, names: Collection[str]) -> str | None:
    if not isinstance(reply, dict):
        return "not a JSON object"
    for name in names:
        if name not in reply:
            return f"{name}: missing"
    for name in reply:
        if name not in names:
            return f"{name}: no such key"
    return None


def _problem(part: RubricPart, value: object, counts: Mapping[str, int]) -> str | None:
    labels = [label.label for label in part.labels]
    match part.type:
        case "text":
            return None if isinstance(value, str) else "not a text"
        case "quote":
            return None if isinstance(value, str) and value.strip() else "not a quotation"
        case "boolean":
            return None if isinstance(value, bool) else "neither true nor false"
        case "number":
            return None if _is_number(value) and 0 <= value <= 1 else "not a number from 0 to 1"  # type: ignore[operator]
        case "level":
            levels = [level.value for level in part.scale]
            fits = _is_number(value) and value in levels
            return None if fits else f"not one of {', '.join(map(str, levels))}"
        case "label":
            return None if value in labels else f"not one of {', '.join(labels)}"
        case "labels":
            if not isinstance(value, list) or any(label not in labels for label in value):
                return f"not a list of some of {', '.join(labels)}"
            return None if len(set(value)) == len(value) else "a label twice"
        case "probabilities":
            found = _keys(value, labels)
            if found is not None:
                return f".{found}"
            assert isinstance(value, dict)
            if not all(_is_number(number) and 0 <= number <= 1 for number in value.values()):
                return "not all numbers from 0 to 1"
            total = sum(value.values())
            return None if abs(total - 1) <= PROBABILITY_SLACK else f"the sum is {total:g}, not 1"
        case "index":
            if not _is_index(value):
                return f"not a number of {part.of}"
            count = counts.get(part.of or "")
            return None if count is None or value < count else f"there are only {count} {part.of}"  # type: ignore[operator]
        case "list":
            if not isinstance(value, list):
                return "not a list"
            for position, entry in enumerate(value):
                found = _keys(entry, [item.name for item in part.items])
                found = found or next(
                    (bad for item in part.items if (bad := item.problem(entry[item.name], counts))), None
                )
                if found:
                    return f"[{position}].{found}"
            return None
