"""What a tuned rubric holds besides its wording: examples, a map of levels, and how it came to be."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated

from pydantic import StrictBool, StrictFloat, StrictInt, StringConstraints
from pydantic.dataclasses import dataclass

from bedside.judges.rubrics.answer_form import STRICT, FieldName, FieldText, Level

Digest = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{8,64}$")]


@dataclass(frozen=True, kw_only=True, config=STRICT)
class RatedExample:
    """A conversation, or a part of one, with the level that people gave it; judges are shown it, people aren't.

    Attributes:
        conversation: its turns, a line each, as a prompt shows them.
        level: people's consensus.
        reason: why, in people's words.
        transcript: a digest of the transcript it is from, which is never shown its own example.
    """

    conversation: FieldText
    level: StrictInt | StrictFloat
    reason: FieldText | None = None
    transcript: Digest


@dataclass(frozen=True, kw_only=True, config=STRICT)
class MappedLevel:
    """One step of a map of levels.

    Attributes:
        said: a level that the judge gives.
        level: the level that is recorded in its place.
    """

    said: StrictInt | StrictFloat
    level: StrictInt | StrictFloat


@dataclass(frozen=True, kw_only=True, config=STRICT)
class TunedFigure:
    """A figure with its 95 % interval; None where there is none.

    Attributes:
        estimate, low, high: the figure and its bounds.
    """

    estimate: StrictFloat | None = None
    low: StrictFloat | None = None
    high: StrictFloat | None = None


@dataclass(frozen=True, kw_only=True, config=STRICT)
class TunedPart:
    """One part of the units that people rated.

    Attributes:
        units, cases: how many.
        digests: of its transcripts and cases (:mod:`bedside.ratings.learnt_units`).
    """

    units: StrictInt
    cases: StrictInt
    digests: tuple[Digest, ...]


@dataclass(frozen=True, kw_only=True, config=STRICT)
class TunedCandidate:
    """A candidate, and how it did in training; these figures chose among candidates and are no result.

    Attributes:
        wording: the version of its wording.
        examples: how many examples.
        level_map: how levels are mapped.
        kappa: agreement with people in the inner cross-validation; None where it was dropped before, or undefined.
        units: training units that it was tried on.
    """

    wording: FieldText
    examples: StrictInt
    level_map: FieldText
    kappa: StrictFloat | None = None
    units: StrictInt


@dataclass(frozen=True, kw_only=True, config=STRICT)
class TuningRecord:
    """How a rubric was tuned.

    Attributes:
        rubric, version: what it was tuned from.
        judge: the judge it was tuned for; temperature: at which it was asked.
        run: the name of the run; bedside: the version of the software.
        split, seed, rounds: the share of cases for training, the seed of all draws, and the rounds of annotation.
        training, held_out: the two parts.
        candidates: what was tried.
        statistic: the name of the statistic of the figures below, which are of the held-out part.
        before, after: agreement with people before and after; gain: the paired difference; ceiling: one person with
            the others, on the same units.
        shown: whether the whole interval of the gain lies above 0.
    """

    rubric: FieldName
    version: FieldText
    judge: FieldText
    temperature: StrictFloat | None
    run: FieldText
    bedside: FieldText
    split: StrictFloat
    seed: StrictInt
    rounds: tuple[str, ...] = ()
    training: TunedPart
    held_out: TunedPart
    candidates: tuple[TunedCandidate, ...]
    statistic: FieldText
    before: TunedFigure
    after: TunedFigure
    gain: TunedFigure
    ceiling: TunedFigure
    shown: StrictBool


def tuning_fault(
    kind: str, scale: Sequence[Level], examples: Sequence[RatedExample], level_map: Sequence[MappedLevel]
) -> str | None:
    """What is wrong with the examples or the map of a rubric; None where nothing is."""
    if (examples or level_map) and kind != "level":
        key = "examples" if examples else "level_map"
        return f"{key}: for rubrics of kind level, and this one is of kind {kind}"
    levels = [level.value for level in scale]
    for example in examples:
        if example.level not in levels:
            return f"examples: {example.level} is not one of the scale's levels"
    if level_map:
        if [step.said for step in level_map] != levels:
            return "level_map: says for each level of the scale, once and in order, what is recorded"
        if any(step.level not in levels for step in level_map):
            return "level_map: maps to levels of the scale"
        if any(after.level < before.level for before, after in pairwise(level_map)):
            return "level_map: a higher level can't be recorded as a lower one than a lower level is"
    return None
