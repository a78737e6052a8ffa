"""Examples for a judge: conversations that people rated, with the level on which they settled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from bedside.judges.prompt import Conversation, turns_shown
from bedside.judges.rubric_examples import transcript_digest
from bedside.judges.rubrics.rubric import Rubric
from bedside.judges.rubrics.tuned_parts import RatedExample
from bedside.ratings.names import TRANSCRIPT, turn_index
from bedside.transcripts.transcript import Transcript
from bedside.tuning.label_split import LabelledUnit

#: Most characters of an example's conversation, and of a person's reason.
MOST_CHARACTERS, MOST_OF_REASON = 4000, 500
#: How many examples are kept ready beyond those shown: what shares a case with what is rated has one in its place.
SPARE = 3


def excerpt(rubric: Rubric, transcript: Transcript, unit: str, most: int = MOST_CHARACTERS) -> str:
    """What a rubric shows of a unit, a line a turn; of what is too long the beginning and the end, or of a turn what
    came just before it."""
    turn = None if unit == TRANSCRIPT else transcript.turns[turn_index(unit)]
    conversation = Conversation(transcript)
    lines = [conversation.lines([shown]).text for shown in turns_shown(rubric, transcript, turn)]
    inputs = [
        _shortened([f"{name.replace('_', ' ')}: {_plain(transcript.reference[name])}"], most, tail=False)
        for name in rubric.references
        if name in transcript.reference
    ]
    return "\n".join([*inputs, _shortened(lines, most, tail=turn is not None)])


def _plain(value: object) -> str:
    return "; ".join(map(_plain, value)) if isinstance(value, list | tuple) else str(value)


def _shortened(lines: Sequence[str], most: int, *, tail: bool) -> str:
    """Lines within a number of characters: the last ones, or as many from either end."""
    if sum(len(line) + 1 for line in lines) <= most:
        return "\n".join(lines)
    first, last, room = 0, len(lines), most
    while first < last:
        from_end = tail or (first > len(lines) - last)
        line = lines[last - 1] if from_end else lines[first]
        if len(line) + 1 > room:
            break
        room -= len(line) + 1
        first, last = (first, last - 1) if from_end else (first + 1, last)
    if first == 0 and last == len(lines):
        return lines[-1][:most] if tail else lines[0][:most]
    gap = "[…] (turns are left out here)"
    return "\n".join([*lines[:first], gap, *lines[last:]])


def example_pool(
    rubric: Rubric,
    units: Sequence[LabelledUnit],
    transcripts: Mapping[str, Transcript],
    number: int,
    *,
    seed: int,
) -> tuple[tuple[str, RatedExample], ...]:
    """Examples in the order in which they are shown, each with its case: the levels by turns, each case once.

    Of a level, those come first on which people agree most, then those that are short. A consensus that lies between
    two levels is no example.
    """
    levels = [level.value for level in rubric.scale]
    order = np.random.default_rng(seed).permutation(len(units))
    by_level: dict[float, list[tuple[float, float, int, LabelledUnit]]] = {}
    for place, unit in enumerate(units):
        if unit.consensus in levels:
            values = [float(value) for value in unit.ratings.values()]
            length = min(len(excerpt(rubric, transcripts[unit.transcript], unit.unit)) / MOST_CHARACTERS, 1.0)
            key = (float(np.std(values)) - 0.01 * len(values), round(length, 1), int(order[place]), unit)
            by_level.setdefault(float(unit.consensus), []).append(key)
    queues = {level: sorted(rated, key=lambda key: key[:3]) for level, rated in by_level.items()}
    pool: list[tuple[str, RatedExample]] = []
    used: set[str] = set()
    while len(pool) < number + SPARE and any(queues.values()):
        for level in _ends_first(sorted(queues)):
            queue = queues[level]
            while queue and queue[0][3].case in used:
                queue.pop(0)
            if queue and len(pool) < number + SPARE:
                unit = queue.pop(0)[3]
                used.add(unit.case)
                pool.append((unit.case, _example(rubric, unit, transcripts[unit.transcript])))
    return tuple(pool)


def examples_shown(
    pool: Sequence[tuple[str, RatedExample]], number: int, case: str | None = None
) -> tuple[RatedExample, ...]:
    """The examples shown with what is of a case: the first ones that are of other cases."""
    return tuple(example for own, example in pool if own != case)[:number]


def _ends_first(levels: Sequence[float]) -> list[float]:
    """Levels from both ends of the scale to its middle: where few are shown, they say how far it reaches."""
    ordered = list(levels)
    chosen: list[float] = []
    while ordered:
        chosen.append(ordered.pop(0 if len(chosen) % 2 else -1))
    return chosen


def _example(rubric: Rubric, unit: LabelledUnit, transcript: Transcript) -> RatedExample:
    assert not isinstance(unit.consensus, str)
    assert unit.consensus is not None
    said = [reason for rater, reason in unit.reasons.items() if unit.ratings.get(rater) == unit.consensus]
    reason = min(said, key=len)[:MOST_OF_REASON].strip() if said else ""
    return RatedExample(
        conversation=excerpt(rubric, transcript, unit.unit),
        level=next(level.value for level in rubric.scale if level.value == unit.consensus),
        reason=reason or None,
        transcript=transcript_digest(transcript),
    )
