"""Replies: from a judge's text to an answer that the rubric allows, or to what is wrong with it.

Nothing is mended: no default, no clamping, no nearest level. JSON may stand in a code fence or between other words;
where a text holds several answers that differ, it holds none.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bedside.judges.llm.prices import Token
from bedside.judges.rubrics.rubric import Rubric

#: Longer texts are no reply to a rubric.
MAX_CHARACTERS = 1_000_000
#: How many objects in a text are tried.
_MAX_OBJECTS = 200
#: Models that think aloud put it before the reply; what they try there is not the reply.
_THOUGHT = re.compile(r"\A\s*<(think|thinking|reasoning)>.*?</\1>", re.DOTALL)
#: Templates of some models open the thought in the prompt, so that the reply only closes it.
_OPENED_BEFORE = re.compile(r"\A(?:(?!<(?:think|thinking|reasoning)>).)*</(?:think|thinking|reasoning)>", re.DOTALL)
_OPEN = re.compile(r"\A\s*<(think|thinking|reasoning)>")
_SURROGATE = re.compile(r"[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Parsed:
    """A judge's text, read.

    Attributes:
        answer: the object, where it fits the rubric; where only a part of it does, that part; None otherwise.
        problem: what is wrong, in one line that can be sent back; None where nothing is.
        at: where in the text the object begins.
    """

    answer: dict[str, Any] | None
    problem: str | None
    at: int = 0


def parse(
    text: str, rubric: Rubric, *, counts: Mapping[str, int] | None = None, asked: Sequence[int] | None = None
) -> Parsed:
    """Read a judge's reply.

    Args:
        text: whatever the judge wrote.
        rubric: what was asked.
        counts: see :meth:`Rubric.problem`.
        asked: see :meth:`Rubric.problem`.
    """
    return parse_object(text, lambda answer: rubric.problem(answer, counts=counts, asked=asked), rubric.fitting_part)


def parse_object(
    text: str,
    problem_of: Callable[[dict[str, Any]], str | None],
    part_of: Callable[[dict[str, Any]], dict[str, Any] | None] | None = None,
) -> Parsed:
    """Read a reply that is to be one object.

    Args:
        text: whatever the judge wrote.
        problem_of: what is wrong with an object; None where nothing is.
        part_of: what of an object with a problem fits all the same, where there is one object.
    """
    if len(text) > MAX_CHARACTERS:
        return Parsed(None, f"the reply has {len(text)} characters")
    objects, trouble = _objects(text, len(text) - len(without_thought(text)))
    if not objects:
        ended = "" if without_thought(text) or not text.strip() else "the reply ends while the model is still thinking"
        return Parsed(None, ended or trouble or "the reply holds no JSON object")
    fitting = []
    last_problem = None
    for at, answer in objects:
        problem = problem_of(answer)
        if problem is None:
            fitting.append((at, answer))
        else:
            last_problem = problem
    if not fitting:
        alone = len(objects) == 1 and part_of is not None
        return Parsed(part_of(objects[0][1]) if alone and part_of else None, last_problem)
    if any(answer != fitting[0][1] for _, answer in fitting):
        return Parsed(None, "the reply holds several answers that differ")
    return Parsed(fitting[-1][1], None, fitting[-1][0])


def without_thought(text: str) -> str:
    """A reply without what a model that thinks aloud put before it; empty where the thought doesn't end."""
    thought = _THOUGHT.match(text) or _OPENED_BEFORE.match(text)
    if thought:
        return text[thought.end() :]
    return "" if _OPEN.match(text) else text


def _objects(text: str, start: int) -> tuple[list[tuple[int, dict[str, Any]]], str | None]:
    """The outermost JSON objects in a text with their positions, and why the first that failed did."""
    objects: list[tuple[int, dict[str, Any]]] = []
    trouble = None
    at = text.find("{", start)
    tried = 0
    while at >= 0 and tried < _MAX_OBJECTS:
        tried += 1
        try:
            value, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            trouble = trouble or f"the JSON can't be read ({_short(error)})"
            end = at + 1
        else:
            objects.append((at, value))
        at = text.find("{", end)
    return objects, trouble


def _short(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "nested too deeply"
    return error.msg if isinstance(error, json.JSONDecodeError) else str(error)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    object_: dict[str, Any] = {}
    for key, value in pairs:
        if key in object_:
            raise ValueError("a key is there twice")
        object_[_writable(key)] = _writable(value) if isinstance(value, str) else value
    return object_


def _writable(text: str) -> str:
    """Without lone surrogates, which no file can hold."""
    return _SURROGATE.sub("\ufffd", text)


def _constant(name: str) -> Any:
    raise ValueError(f"{name} is no number")


def _float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("a number is too large")
    return number


def _int(text: str) -> int:
    number = int(text)
    # What no file of answers holds.
    if not -(2**63) <= number < 2**64:
        raise ValueError("a number is too large")
    return number


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant, parse_float=_float, parse_int=_int)


# -- the expected score -----------------------------------------------------------------------------

#: How much of the probability must lie on the rubric's levels for their expectation to mean something.
MIN_COVERAGE = 0.8
#: How much probability may stay undivided between levels that begin alike, such as 1 and 10.
MAX_UNDIVIDED = 0.001
_DIGITS = re.compile(rb"-?[0-9.]*")


def expected_score(text: str, tokens: Sequence[Token], rubric: Rubric, at: int = 0) -> tuple[float | None, str | None]:
    """The mean of a rubric's levels, weighted with the judge's probability of each.

    The probability of a level is that of the whole sequence of tokens that writes it, so that 10 written as ``1``
    and ``0`` is not taken for 1. What the provider doesn't tell (the second token of an alternative that was not
    chosen) makes the score unknown, unless it is too unlikely to matter.

    Args:
        text: the reply.
        tokens: its tokens, which together are ``text``.
        rubric: a rubric of kind ``level``.
        at: where in the text the answer's object begins.

    Returns:
        The score and None, or None and why there is none. Its range is that of the levels.

    Source:
        Weighting by token probabilities: Liu et al. (2023), G-Eval, EMNLP.
    """
    if b"".join(token.text for token in tokens) != text.encode("utf-8", "replace"):
        return None, "the provider's tokens don't make up the reply"
    place = _score_place(text, at)
    if place is None:
        return None, "the answer is no level"
    place = len(text[:place].encode("utf-8", "replace"))
    position, offset = 0, 0
    while offset + len(tokens[position].text) <= place:
        offset += len(tokens[position].text)
        position += 1
    levels = {f"{level.value:g}": float(level.value) for level in rubric.scale}
    spread = _spread(tokens, position, tokens[position].text[: place - offset], "", levels)
    if spread is None:
        return None, "the provider gives no probabilities for the score"
    if spread.undivided > MAX_UNDIVIDED:
        return (None, f"{spread.undivided:.1%} of the probability can't be divided between levels that begin alike")
    total = sum(spread.mass.values())
    if total < MIN_COVERAGE:
        return None, f"only {total:.1%} of the probability is on the rubric's levels"
    return sum(levels[name] * mass for name, mass in spread.mass.items()) / total, None


def _score_place(text: str, at: int) -> int | None:
    """Where the value of the outermost ``score`` begins."""
    end = at + 1
    while True:
        start = _skip(text, end)
        key, end = _DECODER.raw_decode(text, start)
        start = _skip(text, _skip(text, end) + 1)
        value, end = _DECODER.raw_decode(text, start)
        if key == "score":
            return start if isinstance(value, int | float) else None
        end = _skip(text, end) + 1


def _skip(text: str, at: int) -> int:
    while text[at] in " \t\r\n":
        at += 1
    return at


@dataclass(slots=True)
class _Spread:
    mass: dict[str, float]
    undivided: float


def _spread(
    tokens: Sequence[Token], position: int, lead: bytes, typed: str, levels: Mapping[str, float]
) -> _Spread | None:
    """How the probability at a token divides between levels, when ``typed`` is what there is of the number already.

    ``lead`` is what stands in the token before the number.
    """
    if position >= len(tokens) or not tokens[position].alternatives:
        return None
    token = tokens[position]
    spread = _Spread({}, 0.0)
    for text, logprob in token.alternatives:
        mass = math.exp(logprob)
        if typed:
            rest = text
        elif not lead.strip():
            rest = text.lstrip()
        elif text.startswith(lead):
            rest = text[len(lead) :]
        else:
            continue
        digits = _DIGITS.match(rest)
        assert digits is not None
        number = typed + digits[0].decode()
        ended = digits.end() < len(rest) or not rest
        candidates = [name for name in levels if name == number or (not ended and name.startswith(number))]
        if not candidates or not number:
            continue
        if len(candidates) == 1 and candidates[0] == number:
            spread.mass[number] = spread.mass.get(number, 0.0) + mass
            continue
        following = _spread(tokens, position + 1, b"", number, levels) if text == token.text else None
        if following is None:
            spread.undivided += mass
            continue
        for name, share in following.mass.items():
            spread.mass[name] = spread.mass.get(name, 0.0) + mass * share
        spread.undivided += mass * following.undivided
    return spread
