"""Features of turns for a trained coder: hashed n-grams and a few numbers, with nothing of the text in them.

An n-gram is hashed to one of :data:`BUCKETS` columns; which n-grams fell into a column is not kept. The hashes are
arithmetic modulo 2^64 and therefore the same everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from itertools import chain
from math import log1p
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bedside.metrics.coders.shipped.rules import question_and_type
from bedside.transcripts.transcript import Role, Transcript

#: Changes when the same turn gets other features.
VERSION = 1
BUCKETS = 2**18
#: Of a longer turn, in characters, only beginning and end are looked at.
LONGEST = 4_000
#: Turns whose n-grams are made at once; their number fits in 16 bits.
_BATCH = 2_000

_WORD = re.compile(r"[\w']+|[?!.,…]")
_SENTENCE = re.compile(r"(?<=[.?!…])\s+")
_MARKS = frozenset("?!.,…")
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xBF58476D1CE4E5B9)
#: The highest bits of a hash are its column.
_SHIFT = np.uint64(64 - (BUCKETS.bit_length() - 1))

#: Words that are repeated in any talk: no sign that a turn gives back what was said before it.
_FUNCTION = _MARKS | frozenset(
    """
    a about all am an and are as at be because been but by can could did do does don't for from get go going got had
    has have he her him his how i i'm i've if in is it it's just know like me mean my no not of oh okay on or our out
    really she so some that that's the their them then there they this to uh um up was we well were what when which
    who why will with would yeah yes you you're your
    """.split()
)
_SECOND = frozenset("you you're you've you'd you'll your yours yourself".split())
_FIRST = frozenset("i i'm i've i'd i'll my me mine myself".split())
_NEGATION = frozenset("no not don't can't won't never didn't isn't wasn't doesn't couldn't wouldn't nothing".split())

#: Frames of talk for and against a change, by what they say of the speaker; the usual kinds of change talk (Miller &
#: Rollnick) and their opposites.
_CUES = tuple(
    re.compile(pattern)
    for pattern in (
        r"\b(?:i|we)(?:'d| would| really| just| do| kind of| also)* (?:want|wanna|like to|love to|wish|hope)\b",
        r"\b(?:don't|do not|didn't|not) (?:really )?(?:want|ready|interested|wanna)\b",
        r"\b(?:need to|have to|should|must|got to|gotta|ought to|supposed to)\b",
        r"\bi (?:can|could|think i can|know i can|might)\b|\bable to\b",
        r"\b(?:can't|couldn't|hard|difficult|impossible|not able|never)\b",
        r"\b(?:i will|i'll|i'm going to|i'm gonna|gonna|plan|promise|willing|definitely|ready)\b",
        r"\b(?:try|trying|tried|start|starting|started|stop|stopped|quit|cut down|cut back|change|better|less)\b",
        r"\b(?:worr(?:y|ied)|scared|afraid|concern(?:ed)?|healthy?|family|kids|die|embarrass\w*|guilty|regret|problem)\b",
        r"\b(?:like it|enjoy|fun|relax\w*|helps|no(?:t a)? problem|not that bad|fine|don't (?:think|see|need)"
        r"|every(?:one|body)|friends|stress\w*|but|no reason|only)\b",
        r"\b(?:i don't know|maybe|guess|not sure|i mean)\b",
    )
)

#: Names of the numbers beside the n-grams, in order.
NUMBERS = (
    "constant", "rule none", "rule open", "rule closed", "type open", "marks", "ends in mark", "last sentence asks",
    "words", "to three words", "over 40 words", "sentences", "position", "first turns", "last turns", "second person",
    "first person", "repeated", "share repeated", "words before", "asked before", "open before", "closed before",
    "negations", *(f"cue {k}" for k in range(len(_CUES))), *(f"cue {k} before" for k in range(len(_CUES))),
)  # fmt: skip

Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class TurnFeatures:
    """Features of the turns of one role in a transcript.

    Attributes:
        turns: their indices, shape (n,).
        earlier: index of the role's turn before each, shape (n,); -1 where there is none.
        grams: scipy CSR matrix, float32, shape (n, BUCKETS); blocks of n-grams of length 1 or less each.
        numbers: shape (n, len(NUMBERS)), about 0 to 1 each.
    """

    turns: Rows
    earlier: Rows
    grams: Any
    numbers: NDArray[np.float64]


@dataclass(slots=True)
class _TurnText:
    """A turn taken apart once, for itself and for the turns after it."""

    text: str
    tokens: list[str]
    hashes: list[int]
    content: frozenset[str]
    sentences: int
    last: list[int]
    marked: bool
    asks: str
    kind: str
    cues: list[int]


def _shortened(text: str) -> str:
    if len(text) > LONGEST:
        text = f"{text[: LONGEST // 2]} {text[-LONGEST // 2 :]}"
    return " ".join(text.lower().replace("’", "'").replace("‘", "'").split())


def _read(text: str, clinician: bool) -> _TurnText:
    plain = _shortened(text)
    tokens = _WORD.findall(plain)
    sentences = _SENTENCE.split(plain)
    asked = next((s for s in reversed(sentences) if s.endswith("?")), sentences[-1])
    asks, kind = question_and_type(plain) if clinician else ("none", "closed")
    hashes = _hashes(tokens)
    return _TurnText(
        plain,
        tokens,
        hashes,
        frozenset(tokens) - _FUNCTION,
        len(sentences),
        hashes if len(sentences) == 1 else _hashes(_WORD.findall(asked)),
        asked.endswith("?"),
        asks,
        kind,
        [] if clinician else [min(2, len(cue.findall(plain))) for cue in _CUES],
    )


def turn_features(transcript: Transcript, roles: Iterable[Role]) -> dict[Role, TurnFeatures]:
    """Features of all turns of some roles.

    A turn is described by its words, its characters, its last question, the turn before it and the last turn of the
    same role; nothing after it is looked at.
    """
    from scipy.sparse import csr_matrix, vstack

    parts: dict[Role, list[TurnFeatures]] = {role: [] for role in roles}
    for role, part in feature_batches(transcript, list(parts)):
        parts[role].append(part)
    features = {}
    for role, role_parts in parts.items():
        nothing = csr_matrix((0, BUCKETS), dtype=np.float32)
        grams = vstack([nothing, *(part.grams for part in role_parts)], format="csr")
        grams.sum_duplicates()
        features[role] = TurnFeatures(
            np.concatenate([np.empty(0, np.int64), *(part.turns for part in role_parts)]),
            np.concatenate([np.empty(0, np.int64), *(part.earlier for part in role_parts)]),
            grams,
            np.concatenate([np.empty((0, len(NUMBERS))), *(part.numbers for part in role_parts)]),
        )
    return features


def feature_batches(transcript: Transcript, roles: Sequence[Role]) -> Iterator[tuple[Role, TurnFeatures]]:
    """What :func:`turn_features` gives, some thousand turns at a time; a column may stand twice in a row of n-grams."""
    read = [_read(turn.text, turn.role == "clinician") for turn in transcript.turns]
    for role in roles:
        turns = [turn.index for turn in transcript.turns if turn.role == role]
        earlier = [-1, *turns[:-1]]
        for at in range(0, len(turns), _BATCH):
            own, before = turns[at : at + _BATCH], earlier[at : at + _BATCH]
            numbers = [_numbers(read[index], read[index - 1] if index else None, index, len(read)) for index in own]
            yield (
                role,
                TurnFeatures(
                    np.array(own, np.int64),
                    np.array(before, np.int64),
                    _grams_of(read, own, before),
                    np.array(numbers, np.float64),
                ),
            )


# -- n-grams ------------------------------------------------------------------------------------------


@lru_cache(maxsize=100_000)
def _hash(token: str) -> int:
    return int.from_bytes(blake2b(token.encode("utf-8", "replace"), digest_size=8).digest(), "little")


def _hashes(tokens: list[str]) -> list[int]:
    """Hashes of words between marks for the turn's beginning and end."""
    return [_BEGINNING, *map(_hash, tokens), _ENDING]


_BEGINNING, _ENDING = _hash("<"), _hash(">")


def _grams_of(read: Sequence[_TurnText], turns: Sequence[int], own_before: Sequence[int]) -> Any:
    from scipy.sparse import csr_matrix

    own = [read[index] for index in turns]
    nothing = _hashes([])
    before = [read[index - 1].hashes if index else nothing for index in turns]
    earlier = [read[index].hashes if index >= 0 else nothing for index in own_before]
    blocks = (
        (*_words([each.hashes for each in own], (1, 2, 3), "turn"), 1.0),
        (*_characters([each.text for each in own], (3, 4, 5), "characters"), 1.0),
        (*_words([each.last for each in own], (1, 2, 3), "last"), 1.0),
        (*_words(before, (1, 2), "before"), 0.7),
        (*_words(earlier, (1, 2), "earlier"), 0.3),
    )
    size = len(turns)
    rows, columns, values = [], [], []
    for block_rows, block_columns, weight in blocks:
        keys = np.unique(block_rows * BUCKETS + block_columns)
        row = (keys // BUCKETS).astype(np.uint16)
        rows.append(row)
        columns.append((keys % BUCKETS).astype(np.int32))
        values.append((weight / np.sqrt(np.bincount(row, minlength=size))).astype(np.float32)[row])
    row = np.concatenate(rows)
    order = np.argsort(row, kind="stable")
    ends = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=size))])
    return csr_matrix((np.concatenate(values)[order], np.concatenate(columns)[order], ends), shape=(size, BUCKETS))


def _words(lists: Sequence[list[int]], lengths: Sequence[int], salt: str) -> tuple[Rows, Rows]:
    units = np.array(list(chain.from_iterable(lists)), np.uint64)
    return _runs(units, np.repeat(np.arange(len(lists)), list(map(len, lists))), lengths, salt)


def _characters(texts: Sequence[str], lengths: Sequence[int], salt: str) -> tuple[Rows, Rows]:
    padded = [f" {text} " for text in texts]
    units = np.frombuffer("".join(padded).encode("utf-32-le", "replace"), "<u4").astype(np.uint64) + np.uint64(1)
    return _runs(units, np.repeat(np.arange(len(padded)), list(map(len, padded))), lengths, salt)


def _runs(units: NDArray[np.uint64], owners: Rows, lengths: Sequence[int], salt: str) -> tuple[Rows, Rows]:
    """Owner and column of every run of ``lengths`` units that belong to one owner."""
    rows, columns = [], []
    rolling = np.zeros_like(units)
    for length in range(1, min(max(lengths), len(units)) + 1):
        rolling = rolling[: len(units) - length + 1] * _MULTIPLIER + units[length - 1 :]
        if length not in lengths:
            continue
        inside = owners[: len(rolling)] == owners[length - 1 :]
        mixed = (rolling[inside] ^ np.uint64(_hash(f"{salt} {length}"))) * _MIX
        mixed = (mixed ^ (mixed >> np.uint64(29))) * _MULTIPLIER
        rows.append(owners[: len(rolling)][inside])
        columns.append((mixed >> _SHIFT).astype(np.int64))
    return np.concatenate(rows), np.concatenate(columns)


# -- numbers ------------------------------------------------------------------------------------------


def _numbers(turn: _TurnText, before: _TurnText | None, index: int, count: int) -> list[float]:
    words = [token for token in turn.tokens if token not in _MARKS]
    length = len(words)
    share = 3 / max(1, length)
    repeated = len(turn.content & before.content) if before else 0
    asked = before.asks if before else "none"
    return [
        1.0,
        turn.asks == "none",
        turn.asks == "open",
        turn.asks == "closed",
        turn.kind == "open",
        min(3, turn.text.count("?")) / 2,
        "?" in turn.text[-3:],
        turn.marked,
        log1p(length) / 3,
        length <= 3,
        length > 40,
        log1p(turn.sentences),
        index / max(1, count - 1),
        index < 4,
        index >= count - 4,
        share * sum(map(_SECOND.__contains__, words)),
        share * sum(map(_FIRST.__contains__, words)),
        log1p(repeated),
        repeated / max(1, len(turn.content)),
        log1p(len(before.tokens)) / 3 if before else 0.0,
        before is not None and "?" in before.text,
        asked == "open",
        asked == "closed",
        share * sum(map(_NEGATION.__contains__, words)),
        *(cue / 2 for cue in turn.cues or _NO_CUES),
        *(cue / 2 for cue in (before.cues if before else None) or _NO_CUES),
    ]


_NO_CUES = [0] * len(_CUES)
