"""The linter of rubrics: what makes a rubric unusable (errors), and what makes ratings with it doubtful (warnings)."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Literal

from bedside.judges.rubrics.answer_form import RubricPart
from bedside.judges.rubrics.rubric import Rubric, named_inputs

#: Fewer words than this don't describe a level of a scale, or a label or part of an answer.
MIN_LEVEL_WORDS = 5
MIN_LABEL_WORDS = 3
MIN_DEFINITION_WORDS = 8
#: Fewer words than this can't say what the source does and what the rubric does in its place.
MIN_DEVIATION_WORDS = 6

_NUMBER_WORDS = {
    word: str(number) for number, word in enumerate("zero one two three four five six seven eight nine ten".split())
}
_NUMBER = r"(\d+|" + "|".join(_NUMBER_WORDS) + r")"
_RANGE = re.compile(rf"\b{_NUMBER}\s*(?:to|through|and|-|–|—)\s*{_NUMBER}\b", re.IGNORECASE)
_SCORING = re.compile(
    r"\b(?:scor(?:e|es|ed|ing)|rat(?:e|es|ed|ing|ings)|grad(?:e|es|ed)|scale|levels?|points?)\b", re.IGNORECASE
)
_POINTS = re.compile(rf"\b{_NUMBER}[-\s]point\b", re.IGNORECASE)
_OUT_OF = re.compile(rf"\bout of {_NUMBER}\b|\b\d+/(\d+)\b", re.IGNORECASE)
_TWO_SIDES = re.compile(r"\bbut\s+(?:is\s+|does\s+|are\s+)?(?:not|no|without|lacks?|never)\b", re.IGNORECASE)
# A sign of a script that is written without blanks counts as a word.
_WORD = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff]|[^\W\u3040-\u30ff\u3400-\u9fff](?:[^\W\u3040-\u30ff\u3400-\u9fff]|['’])*"
)


@dataclass(frozen=True, slots=True)
class Remark:
    """What the linter says.

    Attributes:
        severity: an ``error`` refuses the rubric, a ``warning`` doesn't.
        key: the key of the file that it is about, with the position in lists counted from 0.
        text: what is wrong.
    """

    severity: Literal["error", "warning"]
    key: str
    text: str

    def __str__(self) -> str:
        return f"{self.severity}: {self.key}: {self.text}"


def check(rubric: Rubric) -> tuple[Remark, ...]:
    """Everything the linter finds, errors first.

    Errors: a gap in a scale of whole numbers; two descriptors that are the same but for a number or a word; an input
    that a text names and that is not declared, or that is declared and named nowhere; an input in braces in a
    deviation, which no judge reads; examples or a map without a history. Warnings: a level, label, part, definition or
    deviation described too briefly; a scale in words (“1 to 5”) that is not the rubric's; one question, or one level,
    that asks two things; a scale without a better and a worse end.
    """
    remarks = [remark for rule in _RULES for remark in rule(rubric)]
    return tuple(sorted(remarks, key=lambda remark: remark.severity))


def _error(key: str, text: str) -> Remark:
    return Remark("error", key, text)


def _warning(key: str, text: str) -> Remark:
    return Remark("warning", key, text)


def _gaps(rubric: Rubric) -> Iterator[Remark]:
    for key, ladder in _ladders(rubric):
        values = [value for value, _ in ladder]
        if not all(isinstance(value, int) for value in values):
            continue
        for before, after in pairwise(values):
            assert isinstance(before, int)
            assert isinstance(after, int)
            if after - before == 2:
                yield _error(key, f"level {before + 1} is missing")
            elif after - before > 2:
                yield _error(key, f"levels {before + 1} to {after - 1} are missing")


def _alike(rubric: Rubric) -> Iterator[Remark]:
    for key, entries in [*_ladders(rubric), *_label_lists(rubric)]:
        for (first, text), (second, other) in combinations(entries, 2):
            if _differing_words(text, other) <= 1:
                yield _error(
                    key, f"{first} and {second} are described alike; say what sets them apart in more than a word"
                )


def _brief(rubric: Rubric) -> Iterator[Remark]:
    criteria = [(f"criteria.{position}", criterion) for position, criterion in enumerate(rubric.criteria)]
    definitions = [(f"{key}.definition", criterion.definition) for key, criterion in criteria]
    for key, text in (("definition", rubric.definition), *definitions):
        if len(_words(text)) < MIN_DEFINITION_WORDS:
            yield _warning(key, f"under {MIN_DEFINITION_WORDS} words don't say what is asked")
    for least, lists in ((MIN_LEVEL_WORDS, _ladders(rubric)), (MIN_LABEL_WORDS, _label_lists(rubric))):
        for key, entries in lists:
            for name, text in entries:
                if len(_words(text)) < least:
                    yield _warning(key, f"{name} is described in fewer than {least} words")
    for key, criterion in criteria:
        if isinstance(criterion.scale, str):
            yield _warning(f"{key}.scale", "its levels are not described, so that raters may read them differently")
    for key, part in _parts(rubric.answer, "answer"):
        if len(_words(part.descriptor)) < MIN_LABEL_WORDS:
            yield _warning(key, f"{part.name} is described in fewer than {MIN_LABEL_WORDS} words")


def _deviations(rubric: Rubric) -> Iterator[Remark]:
    for position, text in enumerate(rubric.deviations):
        key = f"deviations.{position}"
        for name in sorted(named_inputs(text)):
            yield _error(key, f"writes {{{name}}}; braces are for texts that a judge is shown, so write {name}")
        if len(_words(text)) < MIN_DEVIATION_WORDS:
            yield _warning(
                key, f"under {MIN_DEVIATION_WORDS} words don't say what the source does and what is done here"
            )


def _inputs(rubric: Rubric) -> Iterator[Remark]:
    declared = {item.name for item in rubric.inputs}
    used = {rubric.each} | {part.of for _, part in _parts(rubric.answer, "answer")}
    for key, text in _texts(rubric):
        named = named_inputs(text)
        if not key.startswith("inputs."):
            used |= named
        for name in sorted(named - declared):
            yield _error(key, f"names the input {{{name}}}, which is not declared under inputs")
    for position, item in enumerate(rubric.inputs):
        if item.name not in used:
            yield _error(
                f"inputs.{position}", f"no text names the input; write {{{item.name}}} where it matters, or remove it"
            )


def _scale_in_words(rubric: Rubric) -> Iterator[Remark]:
    if rubric.kind != "level":
        return
    low, high = rubric.scale[0].value, rubric.scale[-1].value
    count = len(rubric.scale)
    for key, text in _texts(rubric):
        for sentence in re.split(r"(?<=[.!?])\s+", text):
            scales_named = [
                match[0]
                for match in _RANGE.finditer(sentence)
                if _SCORING.search(sentence) and not _fits(_value(match[1]), _value(match[2]), low, high)
            ]
            scales_named += [m[0] for m in _POINTS.finditer(sentence) if _value(m[1]) != count]
            scales_named += [
                m[0] for m in _OUT_OF.finditer(sentence) if _SCORING.search(sentence) and _value(m[1] or m[2]) != high
            ]
            for words in scales_named:
                yield _warning(key, f"speaks of “{words}”, and the scale is {low} to {high}")


def _two_things(rubric: Rubric) -> Iterator[Remark]:
    for key in ("title", "construct"):
        joined = re.search(r"\s(?:and|or|&)\s|\w/\w", str(getattr(rubric, key)))
        if joined and rubric.kind == "level":
            yield _warning(key, "names two things; a rubric that asks one is rated more reliably")
    for key, ladder in _ladders(rubric):
        for value, text in ladder:
            if "and/or" in text.casefold():
                yield _warning(key, f"level {value} says “and/or”: which of the two decides?")
            elif (match := _TWO_SIDES.search(text)) is not None:
                yield _warning(
                    key, f"level {value} grants one thing and denies another (“{match[0]}”): where does the reverse go?"
                )


def _untold_tuning(rubric: Rubric) -> Iterator[Remark]:
    if rubric.tuned and not rubric.history:
        yield _error("history", "a rubric with examples or a map of levels says how it was tuned")


def _unreached(rubric: Rubric) -> Iterator[Remark]:
    for place in rubric.flow.unreached() if rubric.questions else ():
        yield _warning(f"questions.{place}", f"no answer leads to question {rubric.questions[place].id}")


def _no_better_end(rubric: Rubric) -> Iterator[Remark]:
    if rubric.kind == "level" and rubric.direction == "none":
        yield _warning("direction", "an ordered scale without a better end; tables will mark nothing as best")


_RULES: Sequence[Callable[[Rubric], Iterator[Remark]]] = (
    _gaps, _alike, _inputs, _deviations, _brief, _scale_in_words, _two_things, _no_better_end, _unreached,
    _untold_tuning,
)  # fmt: skip


# -- walking through a rubric -----------------------------------------------------------------------

#: Names (levels or labels) with their descriptors.
_Entries = list[tuple[object, str]]


def _parts(parts: Sequence[RubricPart], key: str) -> Iterator[tuple[str, RubricPart]]:
    for position, part in enumerate(parts):
        yield f"{key}.{position}", part
        yield from _parts(part.items, f"{key}.{position}.items")


def _ladders(rubric: Rubric) -> list[tuple[str, _Entries]]:
    scales = [("scale", rubric.scale)]
    scales += [
        (f"criteria.{position}.scale", criterion.scale)
        for position, criterion in enumerate(rubric.criteria)
        if not isinstance(criterion.scale, str)
    ]
    scales += [(f"{key}.scale", part.scale) for key, part in _parts(rubric.answer, "answer")]
    return [(key, [(level.value, level.descriptor) for level in scale]) for key, scale in scales if scale]


def _label_lists(rubric: Rubric) -> list[tuple[str, _Entries]]:
    lists = [("labels", rubric.labels)]
    lists += [(f"criteria.{position}.labels", criterion.labels) for position, criterion in enumerate(rubric.criteria)]
    lists += [(f"{key}.labels", part.labels) for key, part in _parts(rubric.answer, "answer")]
    return [(key, [(label.label, label.descriptor) for label in labels]) for key, labels in lists if labels]


def _texts(rubric: Rubric) -> Iterator[tuple[str, str]]:
    for key in ("title", "construct", "definition", "instructions", "not_applicable"):
        text = getattr(rubric, key)
        if text is not None:
            yield key, text
    for position, criterion in enumerate(rubric.criteria):
        yield f"criteria.{position}.definition", criterion.definition
    for position, question in enumerate(rubric.questions):
        yield f"questions.{position}", "\n".join(filter(None, (question.question, question.examples)))
    for key, entries in [*_ladders(rubric), *_label_lists(rubric)]:
        for position, (_, text) in enumerate(entries):
            yield f"{key}.{position}.descriptor", text
    for key, part in _parts(rubric.answer, "answer"):
        yield f"{key}.descriptor", part.descriptor
    for position, item in enumerate(rubric.inputs):
        yield f"inputs.{position}.description", item.description


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]


def _differing_words(text: str, other: str) -> int:
    """Words in which two texts differ, when every number counts as the same word."""
    first, second = (
        ["#" if word.isdecimal() or word in _NUMBER_WORDS else word for word in _words(each)] for each in (text, other)
    )
    matcher = difflib.SequenceMatcher(None, first, second, autojunk=False)
    return sum(max(b - a, d - c) for tag, a, b, c, d in matcher.get_opcodes() if tag != "equal")


def _value(number: str) -> int:
    return int(_NUMBER_WORDS.get(number.casefold(), number))


def _fits(first: int, last: int, low: float, high: float) -> bool:
    """Whether a range told in a text is the scale's, or a part of it that leaves out the first level."""
    return (first, last) == (low, high) or low < first < last <= high
