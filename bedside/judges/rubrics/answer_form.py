"""The form of an answer to a rubric: its parts, their JSON Schema, and what is wrong with a reply."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import (
    ConfigDict,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    StringConstraints,
    field_validator,
    model_validator,
)
from pydantic.dataclasses import dataclass

from bedside.judges.rubrics.prompt_words import PromptWords, prompt_words
from bedside.transcripts.transcript import ROLES

PartType = Literal["text", "quote", "number", "boolean", "level", "label", "labels", "probabilities", "index", "list"]


#: Levels beyond this are slips of the pen.
MAX_LEVEL = 1000


#: How far the probabilities of a reply may be from a sum of 1; what reads them divides by their sum.
PROBABILITY_SLACK = 0.05


FieldName: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$")]


#: A rubric's name; with a dot, that of a question that is a part of a vector.
RubricName: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)?$")]


FieldText: TypeAlias = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]


STRICT = ConfigDict(extra="forbid")


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Level:
    """One level of an ordered scale.

    Attributes:
        value: the number that is recorded.
        descriptor: what a conversation (or turn) at this level looks like.
    """

    value: Annotated[StrictInt | StrictFloat, Field(json_schema_extra={"minimum": -MAX_LEVEL, "maximum": MAX_LEVEL})]
    descriptor: FieldText

    @field_validator("value")
    @classmethod
    def _whole(cls, value: int | float) -> int | float:
        if not abs(value) <= MAX_LEVEL:
            raise ValueError(f"a level lies between -{MAX_LEVEL} and {MAX_LEVEL}")
        return int(value) if value == int(value) else value


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Label:
    """One label of a nominal code or of a set.

    Attributes:
        label: what is recorded.
        descriptor: when it is given.
        title: what people's pages show in place of the label, as in another language; the label unless given.
    """

    label: FieldText
    descriptor: FieldText
    title: FieldText | None = None

    @property
    def called(self) -> str:
        """What people's pages show."""
        return self.title or self.label


@dataclass(frozen=True, kw_only=True, config=STRICT)
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

    name: FieldName
    type: PartType
    descriptor: FieldText
    of: FieldName | None = None
    scale: tuple[Level, ...] = ()
    labels: tuple[Label, ...] = ()
    items: tuple[RubricPart, ...] = ()
    optional: StrictBool = False

    @model_validator(mode="after")
    def _belongs(self) -> Self:
        needed_keys = {
            "of": self.type in ("index", "quote"),
            "scale": self.type == "level",
            "labels": self.type in ("label", "labels", "probabilities"),
            "items": self.type == "list",
        }
        for key, needed in needed_keys.items():
            if needed and not getattr(self, key):
                raise ValueError(f"{key}: a part of type {self.type} needs this key")
            if not needed and getattr(self, key):
                raise ValueError(f"{key}: a part of type {self.type} has no such key")
        if self.type == "quote" and self.of not in ROLES:
            raise ValueError(f"of: a quote is of one of the roles {', '.join(ROLES)}")
        if any(item.type == "list" for item in self.items):
            raise ValueError("items: a list in a list is not supported")
        check_ascending(self.scale)
        check_distinct("labels", [label.label for label in self.labels])
        check_distinct("items", [item.name for item in self.items])
        return self

    def schema(self, words: PromptWords | None = None) -> dict[str, Any]:
        """The JSON Schema of this part of a reply, described in ``words``; in English by default."""
        part_schema = _part_schema(self, words or prompt_words())
        if self.optional:
            part_schema["type"] = [part_schema["type"], "null"]
            if "enum" in part_schema:
                part_schema["enum"] = [*part_schema["enum"], None]
        return part_schema

    def problem(self, value: object, counts: Mapping[str, int]) -> str | None:
        """What is wrong with ``value`` as this part of a reply; None if it fits. See :meth:`Rubric.problem`."""
        if value is None and self.optional:
            return None
        fault = _part_fault(self, value, counts)
        return f"{self.name}{'' if fault.startswith(('.', '[')) else ': '}{fault}" if fault else None


def all_parts(parts: Sequence[RubricPart]) -> Iterator[RubricPart]:
    for part in parts:
        yield part
        yield from all_parts(part.items)


def check_ascending(levels: Sequence[Level]) -> None:
    for before, after in pairwise(levels):
        if after.value <= before.value:
            raise ValueError(f"scale: level {after.value} stands after level {before.value}; write each once, in order")


def check_distinct(key: str, names: Sequence[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{key}: {name!r} is there twice")


def form_fault(kind: Kind, answer: Sequence[RubricPart]) -> str | None:
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


def items_fault(seen: Sequence[int], asked: Sequence[int]) -> str | None:
    for items, what in (
        (set(asked) - set(seen), "nothing about {}"),
        (set(seen) - set(asked), "{} was not asked about"),
        ({item for item in seen if seen.count(item) > 1}, "{} answered twice"),
    ):
        if items:
            return "answers: " + what.format(", ".join(map(str, sorted(items))))
    return None


def closed_object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


_JSON_TYPES = {"text": "string", "quote": "string", "boolean": "boolean", "index": "integer"}


def _part_schema(part: RubricPart, words: PromptWords) -> dict[str, Any]:
    labels = [label.label for label in part.labels]
    match part.type:
        case "number":
            return {"type": "number", "description": words.say("answer", "number", descriptor=part.descriptor)}
        case "level":
            values = [level.value for level in part.scale]
            whole = all(isinstance(value, int) for value in values)
            return {"type": "integer" if whole else "number", "description": part.descriptor, "enum": values}
        case "label":
            return {"type": "string", "description": part.descriptor, "enum": labels}
        case "labels":
            item = {"type": "string", "enum": labels}
            return {"type": "array", "description": part.descriptor, "items": item}
        case "probabilities":
            about = words.say("answer", "probabilities", descriptor=part.descriptor)
            numbers = {label.label: {"type": "number", "description": label.descriptor} for label in part.labels}
            return {"description": about, **closed_object(numbers)}
        case "list":
            items = closed_object({item.name: item.schema(words) for item in part.items})
            return {"type": "array", "description": part.descriptor, "items": items}
        case _:
            return {"type": _JSON_TYPES[part.type], "description": part.descriptor}


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_index(value: object) -> bool:
    whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    return whole and not isinstance(value, bool) and value >= 0  # type: ignore[operator]


def key_fault(reply: object, names: Collection[str]) -> str | None:
    if not isinstance(reply, dict):
        return "not a JSON object"
    for name in names:
        if name not in reply:
            return f"{name}: missing"
    for name in reply:
        if name not in names:
            return f"{name}: no such key"
    return None


def _part_fault(part: RubricPart, value: object, counts: Mapping[str, int]) -> str | None:
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
            fault = key_fault(value, labels)
            if fault is not None:
                return f".{fault}"
            assert isinstance(value, dict)
            if not all(_is_number(number) and 0 <= number <= 1 for number in value.values()):
                return "not all numbers from 0 to 1"
            total = sum(value.values())
            return None if abs(total - 1) <= PROBABILITY_SLACK else f"the sum is {total:g}, not 1"
        case "index":
            if not is_index(value):
                return f"not a number of {part.of}"
            count = counts.get(part.of or "")
            return None if count is None or value < count else f"there are only {count} {part.of}"  # type: ignore[operator]
        case "list":
            if not isinstance(value, list):
                return "not a list"
            for position, entry in enumerate(value):
                fault = key_fault(entry, [item.name for item in part.items])
                fault = fault or next(
                    (entry_fault for item in part.items if (entry_fault := item.problem(entry[item.name], counts))),
                    None,
                )
                if fault:
                    return f"[{position}].{fault}"
            return None


Kind = Literal["level", "label", "set", "vector", "pairs", "list", "index", "sheet", "flow", "points"]
#: Kinds whose answers link entries of lists, to each other or to turns.
LINKED_KINDS: tuple[Kind, ...] = ("pairs", "index")
