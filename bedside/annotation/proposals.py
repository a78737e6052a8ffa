"""What to have rated next, and what it would bring.

- ``kappa``: units that narrow the interval of people's kappa. One more rating of a unit that one person rated makes a
  pair at half the price, so those come first; then units nobody rated, at random.
- ``disagreement``: units where judge and people, or people among themselves, are furthest apart: to be settled by
  somebody else, and to learn from. They are no random sample.

What it would bring to kappa is the expected half-width of the 95 % interval, by simulation with the library's own
intervals: new units are drawn from the rated ones with all their ratings.

For the means that people correct there is no aim. What they rest on must be drawn at random within its strata, and
how many of each stratum hardly matters: Neyman's allocation by the errors seen takes 0 to 5 % off the half-width
(``benchmarks/proposal_allocation.py``).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from bedside.annotation.annotation_plan import AnnotationPlan
from bedside.annotation.rating_state import (
    FEWEST,
    SIMULATIONS,
    ExpectedGain,
    RatedUnit,
    RatingProposal,
    RatingState,
    chosen_judge,
    half_width,
)
from bedside.core.errors import DataError, one_of
from bedside.ratings.names import is_human
from bedside.ratings.run import Run
from bedside.ratings.scales import Scale

# -- Units that narrow the interval of people's kappa ---------------------------------------------------

_QUANTITY = "kappa of people"


def kappa_proposals(state: RatingState, count: int, rng: random.Random) -> list[RatingProposal]:
    """The units to rate next: those that one person rated, then those that nobody did, each at random."""
    rated_once = [unit for unit in state.units if state.rated_by(unit) == 1]
    unrated = [unit for unit in state.units if state.rated_by(unit) == 0]
    rng.shuffle(rated_once)
    rng.shuffle(unrated)
    pair = "one person rated it: a second rating makes a pair"
    proposals = [state.proposal(unit, 1, pair) for unit in rated_once]
    proposals += [state.proposal(unit, 2, "nobody rated it") for unit in unrated]
    return proposals[:count]


def kappa_gains(state: RatingState, chosen: Sequence[RatingProposal], seed: int) -> list[ExpectedGain]:
    """What the proposed ratings would bring to each metric's kappa."""
    gains = []
    added = len(chosen)
    for metric in state.metrics:
        table = state.people.filter(pl.col("metric") == metric)
        if table.is_empty() or metric not in state.scales:
            gains.append(ExpectedGain(metric, _QUANTITY, 0, added, missing="nobody has rated it"))
            continue
        grid = state.grid(metric)
        rated_twice = (grid.cells != None).sum(axis=1) >= 2  # noqa: E711
        cells, members = grid.cells[rated_twice], grid.cases[rated_twice]
        transcripts = len(set(grid.transcripts[rated_twice]))
        if transcripts < FEWEST:
            reason = f"two people rated {transcripts} of it, fewer than {FEWEST}"
            gains.append(ExpectedGain(metric, _QUANTITY, len(cells), added, missing=reason))
            continue
        # What is drawn are cases, with as many units as those that were rated have.
        cases = max(1, round(added * len(set(members)) / len(cells)))
        gain = _kappa_gain(metric, state.scales[metric], cells, members, added=cases, seed=seed)
        gains.append(replace(gain, added=added))
    return gains


def _kappa_gain(
    metric: str, scale: Scale, cells: NDArray[Any], members: NDArray[Any], *, added: int, seed: int
) -> ExpectedGain:
    """What new cases would bring that are rated like those there are.

    Args:
        metric: what is rated.
        scale: its scale.
        cells: a row a unit, a column a rater.
        members: the case of each row.
        added: how many cases are added.
        seed: of the simulations.
    """
    rng = np.random.default_rng(seed)
    cases = list(dict.fromkeys(members))
    cells_by_case = {case: cells[members == case] for case in cases}
    widths = []
    for _ in range(SIMULATIONS):
        positions = rng.integers(len(cases), size=added)
        drawn = [cells_by_case[cases[position]] for position in positions]
        clusters = [members, *(np.full(len(rows), f"new {place}") for place, rows in enumerate(drawn))]
        width = _kappa_half_width(scale, np.concatenate([cells, *drawn]), np.concatenate(clusters))
        if width is not None:
            widths.append(width)
    width_now = _kappa_half_width(scale, cells, members)
    expected = float(np.mean(widths)) if widths else None
    missing = None if width_now is not None and expected is not None else "kappa has no interval yet"
    return ExpectedGain(metric, _QUANTITY, len(cells), added, width_now, expected, missing)


def _kappa_half_width(scale: Scale, rows: NDArray[Any], clusters: NDArray[Any]) -> float | None:
    from bedside.stats import many_raters

    nested = len(set(clusters)) < len(clusters)
    kappa = many_raters.mean_pairwise_kappa(
        rows,
        scale=scale.levels,
        weights="quadratic" if scale.ordered else "unweighted",
        clusters=clusters if nested else None,
    )
    return half_width(kappa)


# -- Units where judge and people are furthest apart ----------------------------------------------------


def disagreement_proposals(state: RatingState, judge: str, count: int) -> list[RatingProposal]:
    """The units to rate next, the one with the largest distance by any metric first."""
    widest: dict[RatedUnit, tuple[float, str]] = {}
    columns = ("transcript_id", "unit", "metric", "rater", "value", "label")
    choices: dict[tuple[RatedUnit, str], dict[str, Any]] = {}
    for transcript, unit, metric, rater, value, label in state.ratings.select(columns).iter_rows():
        choice = label if label is not None else value
        choices.setdefault(((transcript, unit), metric), {}).setdefault(rater, choice)
    for (key, metric), by_rater in sorted(choices.items()):
        people = [choice for rater, choice in by_rater.items() if is_human(rater)]
        if not people:
            continue
        for distance, reason in _distances(metric, people, by_rater.get(judge), judge, state.scales[metric]):
            if distance > widest.get(key, (0.0, ""))[0]:
                widest[key] = (distance, reason)
    units = set(state.units)
    order = sorted((key for key in widest if key in units), key=lambda key: (-widest[key][0], key))
    return [state.proposal(key, 1, widest[key][1]) for key in order[:count]]


def _distances(
    metric: str, people: Sequence[Any], judge_choice: Any, judge: str, scale: Scale
) -> list[tuple[float, str]]:
    """How far apart people are, and judge and people, in parts of the scale (labels: 1 where they differ)."""
    if not scale.ordered:
        differ = len(set(people)) > 1
        judge_differs = judge_choice is not None and judge_choice not in people
        return [
            (float(differ), f"people differ on {metric}"),
            (float(judge_differs), f"{judge} differs from people on {metric}"),
        ]
    width = float(scale.levels[-1]) - float(scale.levels[0])
    middle = float(np.median(people))
    spread = (max(people) - min(people)) / width
    distances = [(spread, f"people gave {min(people):g} to {max(people):g} on {metric}")]
    if judge_choice is not None:
        distance = abs(judge_choice - middle) / width
        distances.append((distance, f"{judge} gave {judge_choice:g} on {metric}, people {middle:g}"))
    return distances


# -- What to have rated next ----------------------------------------------------------------------------

Aim = Literal["kappa", "disagreement"]
AIMS: tuple[Aim, ...] = ("kappa", "disagreement")


@dataclass(frozen=True, slots=True)
class Proposals:
    """What to rate next.

    Attributes:
        aim: to what end.
        proposals: in the order in which they bring most.
        gains: what they would bring; empty for disagreement.
        open: answers of the plan that are still to come; what they bring is not counted.
    """

    aim: Aim
    proposals: tuple[RatingProposal, ...]
    gains: tuple[ExpectedGain, ...]
    open: int


def propose(
    run: Run,
    plan: AnnotationPlan,
    *,
    aim: Aim = "kappa",
    count: int = 10,
    judge: str | None = None,
    seed: int = 0,
) -> Proposals:
    """Say which units to have rated next.

    Args:
        run: the run.
        plan: a plan of mode rate, or for kappa codes, whose rubrics are asked about.
        aim: to what end, see above.
        count: how many units.
        judge: for ``disagreement``, which judge; the only one unless named.
        seed: of what is drawn at random.

    Raises:
        DataError: no such aim, a mode that has no kappa, no judge, nobody's ratings, or nothing left to rate.
    """
    one_of(aim, AIMS, "aim", DataError, where="`aim`")
    if plan.mode not in ("rate", "codes") or (plan.mode == "codes" and aim != "kappa"):
        raise DataError(
            f"for a plan of mode {plan.mode} nothing can be proposed with the aim {aim}",
            where="the plan",
            todo="give a plan of mode rate (or, for kappa, codes)",
        )
    if count < 1:
        raise DataError(
            f"at least one unit must be proposed, and {count} is less",
            where="`count`",
            todo="give a number from 1",
        )
    state = RatingState(run, plan)
    rng = random.Random(f"{seed}:{aim}")
    if aim == "kappa":
        chosen = kappa_proposals(state, count, rng)
        gains = kappa_gains(state, chosen, seed)
    else:
        chosen, gains = disagreement_proposals(state, chosen_judge(state, judge), count), []
    if not chosen:
        raise DataError("nothing is left to propose", where=str(run.path), todo="see bedside annotate status")
    return Proposals(aim, tuple(chosen), tuple(gains), len(state.open))
