"""Transcripts that people coded, made ready for training: features and gold codes, by role."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bedside.core.errors import DataError, InputError, one_of
from bedside.metrics.coders.learned.classifiers import Numbers, vector_rows
from bedside.metrics.coders.learned.embeddings import Embeddings
from bedside.metrics.coders.learned.features import TurnFeatures, turn_features
from bedside.metrics.coders.people import majority, people_codes
from bedside.transcripts.transcript import CODE_ROLES, CODES, Role, Transcript

#: Transcripts needed to train or to score out of fold.
FEWEST_TRANSCRIPTS = 8


#: Turns, and transcripts, in which a label must occur for a coder to give it.
FEWEST_TURNS, FEWEST_WITH_LABEL = 10, 3


Rows = NDArray[np.int64]


def text_hash(transcript: Transcript) -> str:
    """SHA-256 (hex) of what is said by whom, without names, ids and codes."""
    whole = sha256()
    for turn in transcript.turns:
        whole.update(f"{turn.role}\n{len(turn.text)}\n{turn.text}\n".encode("utf-8", "replace"))
    return whole.hexdigest()


@dataclass(slots=True)
class RoleData:
    """The coded turns of one role in all transcripts.

    Attributes:
        transcripts, turns, groups: of each row: position of its transcript, index of the turn, and a number that
            transcripts of one text share.
        gold: code → label of each row, ``""`` where there is none.
    """

    role: Role
    transcripts: Rows
    turns: Rows
    groups: Rows
    grams: Any
    numbers: Numbers
    vectors: NDArray[np.float32] | None
    gold: dict[str, NDArray[np.str_]]


@dataclass(slots=True)
class TrainingSet:
    """Transcripts that people coded, made ready for training.

    Attributes:
        transcripts: those with codes.
        labels: code → the labels that occur often enough to be learned.
        counts: code → label → turns.
        ties: code → turns left out because people have no most frequent label.
        too_rare: code → labels left out because they are too rare, with the number of their turns.
        without_codes: transcripts left out because nobody coded them.
        coders: number of people who coded.
        text_hashes: of the transcripts, in order.
    """

    transcripts: list[Transcript]
    labels: dict[str, tuple[str, ...]]
    counts: dict[str, dict[str, int]]
    ties: dict[str, int]
    too_rare: dict[str, dict[str, int]]
    without_codes: int
    coders: int
    text_hashes: list[str]
    embeddings: Embeddings | None
    roles: dict[Role, RoleData] = field(repr=False)

    @property
    def groups(self) -> int:
        """Number of transcripts of different text."""
        return len(set(self.text_hashes))


def read_training_set(
    transcripts: Iterable[Transcript], codes: Sequence[str] | None = None, embeddings: Embeddings | None = None
) -> TrainingSet:
    """Features and gold codes of transcripts that people coded.

    Gold is the label that most people gave; a turn without a most frequent label is left out of that code.

    Args:
        transcripts: with people's codes in ``meta["codes"]``.
        codes: which codes; all that people gave unless named.
        embeddings: the model of sentence embeddings, if any.

    Raises:
        InputError: an unknown code or label.
        DataError: too few transcripts are coded, or no code has two labels that occur often enough.
    """
    chosen_codes = tuple(CODES) if codes is None else tuple(dict.fromkeys(codes))
    for code in chosen_codes:
        one_of(code, CODES, "code", InputError, where="`codes`")
    kept: list[Transcript] = []
    gold: list[dict[str, dict[int, str]]] = []
    ties: Counter[str] = Counter()
    people: set[str] = set()
    uncoded = 0
    for transcript in transcripts:
        gold_codes = _gold(transcript, chosen_codes, ties, people)
        if gold_codes:
            kept.append(transcript)
            gold.append(gold_codes)
        else:
            uncoded += 1
    hashes = [text_hash(transcript) for transcript in kept]
    if len(set(hashes)) < FEWEST_TRANSCRIPTS:
        raise DataError(
            f"people coded {len(set(hashes))} transcripts of different text; {FEWEST_TRANSCRIPTS} are needed to learn "
            "from some and be tried on others",
            todo="give more coded transcripts; bedside train test-coder FILE --coder rules needs one",
        )
    labels, counts, rare = _learnable_labels(gold, chosen_codes)
    if not labels:
        raise DataError(
            f"no code has two labels with {FEWEST_TURNS} turns in {FEWEST_WITH_LABEL} transcripts",
            todo="give more coded transcripts",
        )
    numbered = {text: number for number, text in enumerate(dict.fromkeys(hashes))}
    return TrainingSet(
        transcripts=kept,
        labels=labels,
        counts=counts,
        ties={code: ties[code] for code in counts},
        too_rare={code: few for code, few in rare.items() if few},
        without_codes=uncoded,
        coders=len(people),
        text_hashes=hashes,
        embeddings=embeddings,
        roles=_role_data(kept, gold, [numbered[text] for text in hashes], labels, embeddings),
    )


def _learnable_labels(
    gold: Sequence[Mapping[str, Mapping[int, str]]], codes: Sequence[str]
) -> tuple[dict[str, tuple[str, ...]], dict[str, dict[str, int]], dict[str, dict[str, int]]]:
    """By code: the labels that occur often enough to be learned, the turns of each label, and of those too rare."""
    labels: dict[str, tuple[str, ...]] = {}
    counts: dict[str, dict[str, int]] = {}
    rare: dict[str, dict[str, int]] = {}
    for code in codes:
        turns_by_label = Counter(label for gold_codes in gold for label in gold_codes.get(code, {}).values())
        transcripts_by_label = Counter(label for gold_codes in gold for label in set(gold_codes.get(code, {}).values()))
        if not turns_by_label:
            continue
        counts[code] = {label: turns_by_label[label] for label in CODES[code] if turns_by_label[label]}
        enough = tuple(
            label
            for label in CODES[code]
            if turns_by_label[label] >= FEWEST_TURNS and transcripts_by_label[label] >= FEWEST_WITH_LABEL
        )
        rare[code] = {label: count for label, count in counts[code].items() if label not in enough}
        if len(enough) > 1:
            labels[code] = enough
    return labels, counts, rare


def _gold(
    transcript: Transcript, codes: Sequence[str], ties: Counter[str], people: set[str]
) -> dict[str, dict[int, str]]:
    labels_by_turn: dict[str, dict[int, list[str]]] = {}
    for person, turns in people_codes(transcript).items():
        for index, labels in turns.items():
            for code in codes:
                label = labels.get(code)
                if label is None:
                    continue
                where = f"{transcript.source or transcript.id}, turn {index}, coder {person}"
                one_of(label, CODES[code], f"{code} label", InputError, where=where)
                people.add(person)
                labels_by_turn.setdefault(code, {}).setdefault(index, []).append(label)
    gold_codes: dict[str, dict[int, str]] = {}
    for code, by_turn in labels_by_turn.items():
        for index, turn_labels in by_turn.items():
            most = majority(turn_labels)
            if most is None:
                ties[code] += 1
            else:
                gold_codes.setdefault(code, {})[index] = most
    return gold_codes


def _role_data(
    transcripts: Sequence[Transcript],
    gold: Sequence[Mapping[str, Mapping[int, str]]],
    groups: Sequence[int],
    labels: Mapping[str, Sequence[str]],
    embeddings: Embeddings | None,
) -> dict[Role, RoleData]:
    from scipy.sparse import vstack

    roles = list(dict.fromkeys(CODE_ROLES[code] for code in labels))
    features: list[dict[Role, TurnFeatures]] = [turn_features(transcript, roles) for transcript in transcripts]
    vectors = None if embeddings is None else list(_vectors(transcripts, embeddings))
    data_by_role: dict[Role, RoleData] = {}
    for role in roles:
        parts = [by_role[role] for by_role in features]
        sizes = [len(part.turns) for part in parts]
        data_by_role[role] = RoleData(
            role=role,
            transcripts=np.repeat(np.arange(len(parts)), sizes),
            turns=np.concatenate([part.turns for part in parts]),
            groups=np.repeat(np.array(groups), sizes),
            grams=vstack([part.grams for part in parts], format="csr"),
            numbers=np.vstack([part.numbers for part in parts]),
            vectors=None
            if vectors is None
            else np.vstack(
                [vector_rows(part, turn_vectors) for part, turn_vectors in zip(parts, vectors, strict=True)]
            ),
            gold={
                code: np.array(
                    [
                        labels_of.get(code, {}).get(int(index), "")
                        for part, labels_of in zip(parts, gold, strict=True)
                        for index in part.turns
                    ]
                )
                for code in labels
                if CODE_ROLES[code] == role
            },
        )
    return data_by_role


def _vectors(transcripts: Sequence[Transcript], embeddings: Embeddings) -> Iterator[NDArray[np.float32]]:
    """Vectors of each transcript's turns; texts of several transcripts are encoded together, which is faster."""
    texts = [turn.text for transcript in transcripts for turn in transcript.turns]
    vectors = embeddings.encode(texts)
    at = 0
    for transcript in transcripts:
        yield vectors[at : at + len(transcript.turns)]
        at += len(transcript.turns)
