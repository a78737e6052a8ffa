"""Two transcripts beside each other, as units that people can be asked about: what can be drawn, and which is first."""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence

from bedside.annotation.annotation_plan import PlanItem, opaque_id
from bedside.annotation.items import pair_problem
from bedside.annotation.strata import DrawableUnit, UnitPool
from bedside.core.errors import DataError, InputError
from bedside.judges.rubrics.rubric import Rubric
from bedside.ratings.names import pair_unit, second_id
from bedside.ratings.run import Run
from bedside.scoring.transcript_pairs import paired_transcripts

#: What divides the pairs of a plan into strata.
SYSTEMS = "systems"


def pair_pool(
    run: Run,
    rubrics: Sequence[Rubric],
    systems: Sequence[str] | None,
    excluded: Collection[tuple[str, str]] = (),
) -> UnitPool:
    """The pairs of a run's transcripts that people can compare, by the two systems.

    Args:
        run: the run.
        rubrics: by which they are compared.
        systems: whose transcripts; those of all systems unless named.
        excluded: (transcript, unit) to leave out, whichever of the two is first.

    Raises:
        DataError: there is no such system, or no two have a case in common.
        RunError: the run keeps no text.
    """
    try:
        pairs = paired_transcripts(run, systems)
    except InputError as error:
        raise DataError(error.what, where=error.where, todo=error.todo) from error
    pool = UnitPool()
    for lacking in pairs.without_partner:
        pool.left_out[f"no counterpart of {lacking.other or 'any system'}"] += len(lacking.transcripts)
    transcripts = {transcript.id: transcript for transcript in run.transcripts_named(pairs.transcripts)}
    for pair in pairs.pairs:
        transcript, second = pair.transcripts
        reason = pair_problem(rubrics, transcripts[transcript], transcripts[second])
        if reason is None and {(transcript, pair_unit(second)), (second, pair_unit(transcript))} & {
            *excluded
        }:
            reason = "rated already"
        if reason is not None:
            pool.left_out[reason] += 1
            continue
        place = ":".join(("case", pair.case, *map(str, pair.levels)))
        pool.strata.setdefault((" – ".join(pair.systems),), []).append(
            DrawableUnit(transcript, pair_unit(second), place)
        )
    return pool


def in_random_order(drawn: Sequence[tuple[DrawableUnit, int]], seed: int) -> None:
    """Draw which of two transcripts is shown first: of each two systems, either is in half of the pairs."""
    by_stratum: dict[int, list[DrawableUnit]] = {}
    for unit, stratum in drawn:
        by_stratum.setdefault(stratum, []).append(unit)
    for stratum, units in by_stratum.items():
        generator = random.Random(f"{seed}:order:{stratum}")
        turned = [number % 2 == 0 for number in range(len(units))]
        # Of an odd number, which has one more is drawn, too.
        if generator.random() < 0.5:
            turned = [not turn for turn in turned]
        generator.shuffle(turned)
        for unit, turn in zip(units, turned, strict=True):
            if turn:
                unit.transcript, unit.unit = second_id(unit.unit), pair_unit(unit.transcript)


def turned_item(item: PlanItem) -> PlanItem:
    """The same two transcripts the other way round, as they are shown a second time."""
    return item.model_copy(
        update={
            "id": opaque_id(item.id, "turned"),
            "transcript": second_id(item.unit),
            "unit": pair_unit(item.transcript),
            "replicate": 1,
        }
    )
