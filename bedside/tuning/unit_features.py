"""Features of whole conversations and of turns for a learned rater: what a trained coder looks at, taken together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bedside.metrics.coders.learned.embeddings import Embeddings
from bedside.metrics.coders.learned.features import BUCKETS, NUMBERS, turn_features
from bedside.ratings.names import TRANSCRIPT, is_turn, turn_index
from bedside.stats.arrays import Array
from bedside.transcripts.transcript import Role, Transcript

#: Changes when the same conversation gets other features.
VERSION = 1
#: Whose turns a conversation is described by.
_SIDES: tuple[Role, ...] = ("clinician", "patient")
#: Columns of n-grams: those of each side have columns of their own.
GRAM_COLUMNS = BUCKETS * len(_SIDES)


@dataclass(frozen=True, slots=True, eq=False)
class UnitFeatures:
    """Features of units, one row a unit.

    Attributes:
        grams: scipy CSR matrix, units × :data:`GRAM_COLUMNS`; each side's part has length 1, or 0 without a turn.
        numbers: units × numbers, see :func:`number_count`.
        vectors: units × dimensions; no columns without embeddings.
    """

    grams: Any
    numbers: Array
    vectors: Array

    def rows(self, places: Any) -> UnitFeatures:
        """Some of the units."""
        return UnitFeatures(self.grams[places], self.numbers[places], self.vectors[places])


def number_count(of_turns: bool) -> int:
    """How many numbers describe a unit: of a conversation, the means of each side's turns and how much it says."""
    return len(NUMBERS) + 2 if of_turns else len(_SIDES) * (len(NUMBERS) + 2)


def vector_count(dimensions: int) -> int:
    """Columns of vectors: the mean of each side's turns; of a turn its own, and that of the turn before."""
    return len(_SIDES) * dimensions


def unit_features(
    transcript: Transcript, units: Sequence[str], *, grams: bool, embeddings: Embeddings | None
) -> UnitFeatures:
    """Features of units of a conversation, all of them turns or the whole.

    Args:
        transcript: the conversation.
        units: ``transcript``, or turns.
        grams: whether n-grams are wanted; else their part is empty.
        embeddings: the model of sentence embeddings, if any.
    """
    of_turns = is_turn(units[0])
    vectors = None
    if embeddings is not None:
        vectors = embeddings.encode([turn.text for turn in transcript.turns]).astype(np.float64)
    if not of_turns:
        assert list(units) == [TRANSCRIPT]
        return _of_conversation(transcript, grams=grams, vectors=vectors)
    return _of_turns(transcript, [turn_index(unit) for unit in units], grams=grams, vectors=vectors)


def together(parts: Iterable[UnitFeatures]) -> UnitFeatures:
    """Features of several conversations' units, in their order."""
    from scipy.sparse import vstack

    listed = list(parts)
    return UnitFeatures(
        vstack([part.grams for part in listed], format="csr"),
        np.vstack([part.numbers for part in listed]),
        np.vstack([part.vectors for part in listed]),
    )


def _of_conversation(transcript: Transcript, *, grams: bool, vectors: Array | None) -> UnitFeatures:
    from scipy.sparse import csr_matrix, hstack

    by_side = turn_features(transcript, _SIDES)
    gram_parts, number_parts, vector_parts = [], [], []
    for side in _SIDES:
        features = by_side[side]
        count = len(features.turns)
        own = csr_matrix(np.ones((1, count))) @ features.grams if grams and count else csr_matrix((1, BUCKETS))
        length = float(np.sqrt(own.multiply(own).sum()))
        gram_parts.append(own / length if length else own)
        means = features.numbers.mean(axis=0) if count else np.zeros(len(NUMBERS))
        words = sum(len(turn.text.split()) for turn in transcript.turns if turn.role == side)
        number_parts += [means, np.log1p([count, words])]
        if vectors is not None:
            vector_parts.append(vectors[features.turns].mean(axis=0) if count else np.zeros(vectors.shape[1]))
    return UnitFeatures(
        hstack(gram_parts, format="csr", dtype=np.float64),
        np.concatenate(number_parts)[None],
        np.concatenate(vector_parts)[None] if vector_parts else np.zeros((1, 0)),
    )


def _of_turns(transcript: Transcript, turns: Sequence[int], *, grams: bool, vectors: Array | None) -> UnitFeatures:
    from scipy.sparse import csr_matrix, hstack, vstack

    roles: list[Role] = list(dict.fromkeys(transcript.turns[turn].role for turn in turns))
    by_role = turn_features(transcript, roles)
    places = {int(turn): (role, row) for role in roles for row, turn in enumerate(by_role[role].turns.tolist())}
    nothing = csr_matrix((1, BUCKETS))
    gram_rows, number_rows, vector_rows = [], [], []
    for turn in turns:
        role, row = places[turn]
        own = by_role[role].grams[row] if grams else nothing
        length = float(np.sqrt(own.multiply(own).sum()))
        sides = [nothing] * len(_SIDES)
        # A speaker who is neither has the columns of the first side.
        sides[_SIDES.index(role) if role in _SIDES else 0] = own / length if length else own
        gram_rows.append(hstack(sides, format="csr", dtype=np.float64))
        extent = np.log1p([turn, len(transcript.turns[turn].text.split())])
        number_rows.append(np.concatenate([by_role[role].numbers[row], extent]))
        if vectors is not None:
            before = vectors[turn - 1] if turn else np.zeros(vectors.shape[1])
            vector_rows.append(np.concatenate([vectors[turn], before]))
    return UnitFeatures(
        vstack(gram_rows, format="csr"),
        np.vstack(number_rows),
        np.vstack(vector_rows) if vector_rows else np.zeros((len(turns), 0)),
    )


def described_units(transcript: Transcript, roles: Sequence[str], of_turns: bool) -> Iterator[str]:
    """The units of a conversation that are rated: the whole, or the turns of some roles; none without a word."""
    from bedside.ratings.names import unit_name

    if not of_turns:
        if any(turn.text.strip() for turn in transcript.turns):
            yield TRANSCRIPT
        return
    for turn in transcript.turns:
        if turn.role in roles and turn.text.strip():
            yield unit_name(turn.index)
