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
from dataclasses import dataclass
from typing import Literal

from bedside.annotation.annotation_plan import AnnotationPlan
from bedside.annotation.disagreement_proposals import disagreement_proposals
from bedside.annotation.kappa_proposals import kappa_gains, kappa_proposals
from bedside.annotation.rating_state import (
    ExpectedGain,
    RatingProposal,
    RatingState,
    chosen_judge,
)
from bedside.core.errors import DataError
from bedside.ratings.run import Run

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
    else:
        chosen, gains = disagreement_proposals(state, chosen_judge(state, judge), count), []
    if not chosen:
        raise DataError("nothing is left to propose", where=str(run.path), todo="see bedside annotate status")
    return Proposals(aim, tuple(chosen), tuple(gains), len(state.open))
