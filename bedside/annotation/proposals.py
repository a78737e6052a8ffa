"""What to have rated next, and what it would bring.

- ``kappa``: units that narrow the interval of people's kappa. One more rating of a unit that one person rated makes a
  pair at half the price, so those come first; then units nobody rated, at random.
- ``estimate``: units that narrow the corrected means of the systems most. New units go, one by one, to the system where
  the standard error of the corrected mean shrinks most by its variance formula; which ones is drawn at random, because
  the correction rests on a random sample.
- ``disagreement``: units where judge and people, or people among themselves, are furthest apart: to be settled by
  somebody else, and to learn from. They are no random sample.

What it would bring is the expected half-width of the 95 % interval, by simulation with the library's own intervals: new
units are given ratings like those there are. For kappa, they are drawn from the rated units with all their ratings; for
the corrected mean, they have the judge's rating, and people's is what goes with it so far, as far off as one drawn
from those rated.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Literal

from bedside.annotation.annotation_plan import AnnotationPlan
from bedside.annotation.disagreement_proposals import disagreement_proposals
from bedside.annotation.kappa_proposals import kappa_gains, kappa_proposals
from bedside.annotation.mean_proposals import mean_proposals
from bedside.annotation.rating_state import (
    ExpectedGain,
    RatingProposal,
    RatingState,
    chosen_judge,
)
from bedside.ratings.run import Run
from bedside.support.errors import DataError

Aim = Literal["kappa", "estimate", "disagreement"]
AIMS: tuple[Aim, ...] = ("kappa", "estimate", "disagreement")


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
        judge: for ``estimate`` and ``disagreement``, which judge; the only one unless named.
        seed: of what is drawn at random.

    Raises:
        DataError: a mode that has no kappa, no judge, nobody's ratings, or nothing left to rate.
    """
    if aim not in AIMS:
        raise DataError(f"there is no aim {aim!r}", where="`aim`", todo=f"choose one of {', '.join(AIMS)}")
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
    elif aim == "estimate":
        chosen, gains = mean_proposals(state, chosen_judge(state, judge), count, rng, seed)
    else:
        chosen, gains = disagreement_proposals(state, chosen_judge(state, judge), count), []
    if not chosen:
        raise DataError("nothing is left to propose", where=str(run.path), todo="see bedside annotate status")
    return Proposals(aim, tuple(chosen), tuple(gains), len(state.open))
