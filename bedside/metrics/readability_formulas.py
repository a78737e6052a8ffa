"""Readability formulas as metrics: of all that a role says over a session, and of each turn."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from bedside.core.words import counted
from bedside.metrics.contract import Example, Family, Metric, Parameter
from bedside.metrics.textstat_library import TextCounts, counting, formula, textstat_version
from bedside.ratings.values import Value, missing
from bedside.transcripts.language import primary_language
from bedside.transcripts.transcript import Role, Transcript

ROLES: tuple[Role, ...] = ("clinician", "patient")
#: Why a text has no value by a formula, and else the remark that belongs to the value; by the formula's name.
Verdicts = Mapping[str, tuple[str | None, str | None]]
#: A word's first character.
_WORD = re.compile(r"\w")
_counting = cache(counting)


@dataclass(frozen=True, slots=True)
class Formula:
    """A formula of textstat's.

    Attributes:
        name: of the metric over the session; of the one of turns with ``turn_`` before it.
        title: the metric's.
        function: its name in ``textstat.backend.metrics``.
        arguments: what it takes after the text.
        definition: the formula, what its parts are, and its unit.
        source: a citation.
        value: of the family's sample, by hand.
        counted: what was counted for it beside words and sentences.
        low, digits: as in :class:`~bedside.metrics.contract.Metric`.
    """

    name: str
    title: str
    function: str
    arguments: tuple[Any, ...]
    definition: str
    source: str
    value: float
    counted: str
    low: float | None = None
    digits: int = 2

    def of(self, text: TextCounts) -> float:
        """The text's value, which textstat computes; 0 for a text without words."""
        return formula(self.function)(text, *self.arguments)


@dataclass(frozen=True, slots=True)
class WorkedTalk:
    """What a family's examples are worked on.

    Attributes:
        said: two turns of the patient, of which the first ends without a full stop.
        asked: what the clinician says before each.
        short: a clinician's turn and the patient's, of one word.
        counted: the words and sentences of ``said``.
        language: the transcript's; None where it states none.
    """

    said: tuple[str, str]
    asked: tuple[str, str]
    short: tuple[str, str]
    counted: str
    language: str | None = None

    @property
    def talk(self) -> tuple[tuple[str, str], ...]:
        """The conversation."""
        pairs = zip(self.asked, self.said, strict=True)
        return tuple(turn for asked, said in pairs for turn in (("clinician", asked), ("patient", said)))


def formula_metrics(formulas: Iterable[Formula], sample: WorkedTalk) -> Iterator[Metric]:
    """Two metrics for each formula, of a session's roles and of turns, with what is worked out by hand."""
    formulas = tuple(formulas)
    fields = {} if sample.language is None else {"language": sample.language}
    one_turn = (("patient", f"{sample.said[0]}. {sample.said[1]}"),)
    short = (("clinician", sample.short[0]), ("patient", sample.short[1]))
    for by_turn in (False, True):
        for part in formulas:
            by_hand = f"{sample.counted}, {part.counted}, counted by hand; textstat 0.7.13 gives the same"
            where: dict[str, Any] = {"turn": 0} if by_turn else {"role": "patient"}
            nowhere: dict[str, Any] = {"turn": 1} if by_turn else {"role": "patient"}
            yield Metric(
                name=f"turn_{part.name}" if by_turn else part.name,
                title=f"{part.title} of a turn" if by_turn else part.title,
                unit="turn" if by_turn else "transcript",
                roles=() if by_turn else ROLES,
                low=part.low,
                digits=part.digits,
                definition=part.definition
                + (" Of one turn." if by_turn else " Of all that a role says, one turn after the other."),
                source=part.source,
                examples=(
                    Example(one_turn if by_turn else sample.talk, part.value, by_hand, transcript=fields, **where),
                    Example(short, None, "one word is too little", transcript=fields, **nowhere),
                ),
            )


def _is_open(text: str) -> bool:
    """Whether words follow the last ``.``, ``!`` or ``?``."""
    if text[-1] in ".!?":
        return False
    last = max(text.rfind("."), text.rfind("!"), text.rfind("?"))
    return _WORD.search(text, last + 1) is not None


def too_short(text: TextCounts, min_words: int) -> str | None:
    """Why a text is too short for a formula; None where it isn't."""
    words = text.words
    if not words:
        return "no words"
    return f"{counted(words, 'word')}, fewer than {min_words}" if words < min_words else None


def formula_values(
    transcript: Transcript,
    metric_names: frozenset[str],
    formulas: tuple[Formula, ...],
    *,
    language: str,
    role_refusals: Mapping[Role, str | None],
    turn_refusal: Callable[[TextCounts], str | None],
    verdicts: Callable[[TextCounts], Verdicts],
) -> Iterator[Value]:
    """The values of ``metric_names`` for each role and for each turn of clinician and patient.

    Args:
        transcript: what is said.
        metric_names: those of :func:`formula_metrics` that are wanted.
        formulas: all of the family.
        language: of the texts, as textstat takes it.
        role_refusals: why nothing can be said of a role's language; None where it can.
        turn_refusal: the same of a turn's text where the role isn't refused.
        verdicts: what stands against values of a text.
    """
    turns = [turn for turn in transcript.turns if turn.role in ROLES]
    session = [(part.name, part) for part in formulas if part.name in metric_names]
    by_turn = [(f"turn_{part.name}", part) for part in formulas if f"turn_{part.name}" in metric_names]

    count = partial(_counting, tuple(part.function for _, part in session + by_turn), language)
    for role in ROLES if session else ():
        own = [turn for turn in turns if turn.role == role]
        refusal = role_refusals[role] if own else f"no turns of the {role}"
        if refusal is not None:
            yield from (missing(metric, refusal, role=role) for metric, _ in session)
        else:
            # Turns one after the other; one whose last words no ``.``, ``!`` or ``?`` ends is given a full stop.
            texts = (turn.text.rstrip() for turn in own)
            whole = "\n".join(f"{text}." if _is_open(text) else text for text in texts if text)
            yield from _rated(session, count()(whole), verdicts, role=role)
    if not turns:
        yield from (missing(metric, "no turns of clinician or patient") for metric, _ in by_turn)
    for turn in turns if by_turn else ():
        refusal = role_refusals[turn.role]
        if refusal is not None:
            yield from (missing(metric, refusal, turn=turn.index) for metric, _ in by_turn)
            continue
        text = count()(turn.text)
        refusal = turn_refusal(text)
        if refusal is not None:
            yield from (missing(metric, refusal, turn=turn.index) for metric, _ in by_turn)
        else:
            yield from _rated(by_turn, text, verdicts, turn=turn.index)


def _rated(
    metrics: list[tuple[str, Formula]],
    text: TextCounts,
    verdicts: Callable[[TextCounts], Verdicts],
    *,
    role: Role | None = None,
    turn: int | None = None,
) -> Iterator[Value]:
    against = verdicts(text)
    for metric, part in metrics:
        error, remark = against[part.name]
        if error is None:
            yield Value(metric, part.of(text), None, role, turn, None, remark)
        else:
            yield missing(metric, error, role=role, turn=turn)


def language_family(
    name: str,
    *,
    title: str,
    languages: Mapping[str, str],
    formulas: tuple[Formula, ...],
    sample: WorkedTalk,
    description: str,
    remark: Callable[[TextCounts], str | None] | None = None,
) -> Family:
    """A family of formulas that hold for the languages which transcripts state.

    Args:
        name: the family's, and its file's.
        title: what it measures.
        languages: the languages' English names, by the tag they begin with, such as ``de``.
        formulas: the formulas.
        sample: what the examples are worked on.
        description: what is particular to them.
        remark: what must be said of a text's values; None where nothing must.
    """
    return Family(
        name=name,
        title=title,
        description=f"{description} {_COUNTED_BY_TEXTSTAT}",
        version=f"textstat-{textstat_version()}",
        metrics=tuple(formula_metrics(formulas, sample)),
        compute=partial(_language_values, languages=languages, formulas=formulas, remark=remark),
        parameters={
            "min_words": Parameter(
                20,
                50,
                "Words a text needs. Such formulas were fitted on passages of about 100 words; 20 is what English "
                "ones need before they stop making grades below 0 of short turns.",
            )
        },
        demonstration=sample.talk,
        demonstration_fields={"language": sample.language},
    )


_COUNTED_BY_TEXTSTAT = (
    "The transcript's `language` decides whether they apply: where it is another, or none is stated, the values are "
    "missing. Everything is counted and computed by textstat. A word holds a letter or digit; hyphenated words are "
    "one, and so are words joined by an apostrophe. A sentence ends with a full stop, exclamation or question mark; "
    "those of one or two words are not counted, but there is at least one. Syllables are the parts into which a "
    "word can be hyphenated, which are fewer than are spoken where a single letter may not stand alone. Over a session "
    "a role's turns follow one another, and a turn whose last words no such mark ends is given a full stop."
)


def _language_values(
    transcript: Transcript,
    metric_names: frozenset[str],
    *,
    min_words: int,
    languages: Mapping[str, str],
    formulas: tuple[Formula, ...],
    remark: Callable[[TextCounts], str | None] | None,
) -> Iterator[Value]:
    refusal = _other_language(transcript.language, languages)

    def verdicts(text: TextCounts) -> Verdicts:
        error = too_short(text, min_words)
        return dict.fromkeys((part.name for part in formulas), (error, remark(text) if remark and not error else None))

    return formula_values(
        transcript,
        metric_names,
        formulas,
        language=primary_language(transcript.language or ""),
        role_refusals=dict.fromkeys(ROLES, refusal),
        turn_refusal=lambda text: None,
        verdicts=verdicts,
    )


def _other_language(stated: str | None, languages: Mapping[str, str]) -> str | None:
    if stated is not None and primary_language(stated) in languages:
        return None
    *most, last = languages.values()
    names = f"{', '.join(most)} and {last}" if most else last
    if stated is None:
        return f"made for {names}; the transcript states no language"
    return f"made for {names}; the transcript's language is {stated}"
