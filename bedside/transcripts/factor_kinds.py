"""The kind of each factor of a study: what is set before a conversation, what is known after it, what only names it.

A kind is declared here for names that are known, by whoever reads the files for any other, and by nothing else. What
neither knows is decided by the study's design, where systems are held against each other.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Literal, get_args

from bedside.core.errors import InputError, nearest
from bedside.transcripts.read_options import ReadOptions

#: ``condition``: set before the conversation. ``outcome``: known after it. ``repeat``: tells alike conversations apart.
#: ``label``: what somebody says of it. ``identifier``: names or numbers it. ``provenance``: where it comes from.
Kind = Literal["condition", "outcome", "repeat", "label", "identifier", "provenance"]
KINDS: tuple[Kind, ...] = get_args(Kind)

#: A factor of more levels is asked about before systems are matched by it, and measures nothing if they are decimals.
MANY_LEVELS = 10
#: A factor is free text where more than half of its levels have more characters or words.
_LONGEST_LEVEL, _MOST_WORDS = 60, 8

#: Names as simulators, readers and people write them, each word by itself.
_NAMES: Mapping[Kind, str] = {
    "condition": "arm condition doctor health_literacy literacy mode patient_model persona setting synthetic task "
    "temperature",
    "outcome": "complete completed completion diagnosed dropped dropout duration elapsed end ended ending error errors "
    "exchanges failed failure finished flag flags latency messages outcome preferred reached refused refusal result "
    "score status stop stopped success succeeded tokens truncated turns usage winner words",
    "repeat": "attempt draw epoch iteration pass rep repeat repetition replicate replication run sample seed trial",
    "label": "annotation annotator code codes gold grade label labels mi_quality quality rater rating",
    "identifier": "address file filename hash id index key name nr number path title url uuid",
    "provenance": "batch build collected commit created date dataset day licence license model month origin provider "
    "source split time timestamp updated version when year",
}
_KIND_BY_NAME: dict[str, Kind] = {name: kind for kind, names in _NAMES.items() for name in names.split()}
#: A name with one of these words says what was set: ``target_length``, ``max_turns``.
_SET = frozenset("budget intended limit max maximum min minimum planned requested target".split())
#: A name that ends in one of these says what was measured: ``total_cost``, ``n_turns``, ``stop_reason``.
_MEASURED = frozenset(
    "completed cost costs count duration exchanges latency messages minutes ms price reason seconds score status "
    "tokens turns usd words".split()
)
#: After a known name these change nothing: ``persona_id``, ``run_number``.
_NUMBERING = frozenset("id index name no nr number".split())
#: A name that ends in one of these names a conversation or dates it: ``patient_id``, ``created_at``.
_NAMING: Mapping[str, Kind] = {
    "address": "identifier", "at": "provenance", "date": "provenance", "id": "identifier", "time": "provenance",
    "timestamp": "provenance", "url": "identifier", "uuid": "identifier", "version": "provenance",
}  # fmt: skip

_DATE = re.compile(
    r"(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}|\d{1,2}:\d{2})([T ,:.].*)?", re.DOTALL
)
_NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][-+]?\d+)?")


def known_kind(name: str) -> Kind | None:
    """The kind that a factor's name says; None where it says none.

    Case doesn't count, nor how words are joined: ``numTurns``, ``num-turns`` and ``num turns`` are one name.
    """
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    words = [word for word in re.split(r"[\W_]+", spaced.lower()) if word]
    if not words:
        return None
    bare = words[:-1] if len(words) > 1 and words[-1] in _NUMBERING else words
    whole = _KIND_BY_NAME.get("_".join(words)) or _KIND_BY_NAME.get("_".join(bare))
    if whole is not None:
        return whole
    if _SET.intersection(words):
        return "condition"
    if words[-1] in _MEASURED:
        return "outcome"
    return _NAMING.get(words[-1])


def form_kind(levels: Collection[str]) -> Kind | None:
    """The kind that the form of all levels of a factor says: dates, free text, many decimals; None where it says none.

    Args:
        levels: each once, as text.
    """
    if not levels:
        return None
    if all(_DATE.fullmatch(level) for level in levels):
        return "provenance"
    long = sum(len(level) > _LONGEST_LEVEL or len(level.split()) > _MOST_WORDS for level in levels)
    if 2 * long > len(levels):
        return "label"
    if (
        len(levels) > MANY_LEVELS
        and all(_NUMBER.fullmatch(level) for level in levels)
        and any("." in level or "e" in level.lower() for level in levels)
    ):
        return "outcome"
    return None


def kind_of(name: str, levels: Collection[str], declared: Mapping[str, Kind]) -> Kind | None:
    """The kind of a factor: as it was declared, else by its name, else by the form of its levels; None if none says.

    Args:
        name: the factor.
        levels: its levels as text, each once.
        declared: kinds by factor, as the user declared them.
    """
    return declared.get(name) or known_kind(name) or form_kind(levels)


def declared_kinds(options: ReadOptions) -> dict[str, Kind]:
    """The kinds that a user declared, by factor.

    Raises:
        InputError: a factor is declared to be both.
    """
    both = set(options.conditions) & set(options.outcomes)
    if both:
        raise InputError(
            f"{min(both)} is named as a condition and as an outcome", where="`conditions`",
            todo="name it under one: a condition is set before the conversation, an outcome is known after it",
        )  # fmt: skip
    return kinds_named(options.conditions, options.outcomes)


def kinds_named(conditions: Iterable[str], outcomes: Iterable[str]) -> dict[str, Kind]:
    """The kinds of factors that are named as conditions and as outcomes."""
    kinds: dict[str, Kind] = {}
    kinds.update(dict.fromkeys(conditions, "condition"))
    kinds.update(dict.fromkeys(outcomes, "outcome"))
    return kinds


def check_declared(declared: Mapping[str, Kind], factors: Collection[str]) -> None:
    """Check that every factor that a user declared is one of those that were read.

    Raises:
        InputError: one isn't.
    """
    for name, kind in declared.items():
        if name not in factors:
            todo = nearest(name, sorted(factors)) if factors else "give the transcripts factors"
            raise InputError(f"no transcript has the factor {name!r}", where=f"`{kind}s`", todo=todo)
