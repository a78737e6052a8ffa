"""A plan of proposed units."""

from __future__ import annotations

import random

from bedside.annotation.annotation_plan import AnnotationPlan, Focus, PlanItem, Stratum, opaque_id, plan_hash
from bedside.annotation.plan_file import sealed
from bedside.annotation.proposals import Proposals
from bedside.annotation.rating_state import RatingState
from bedside.ratings.run import Run
from bedside.support.errors import DataError


def follow_up(run: Run, plan: AnnotationPlan, found: Proposals, seed: int = 0) -> AnnotationPlan:
    """A plan of the proposed units by the raters and rubrics of an earlier one.

    Nobody gets a unit they have rated: each goes to those with the least to do of the others.

    Raises:
        DataError: everybody has rated all of it.
    """
    state = RatingState(run, plan)
    rng = random.Random(f"{seed}:follow-up")
    focus: Focus = "disagreement" if found.aim == "disagreement" else "random"
    own: dict[str, list[str]] = {rater: [] for rater in plan.raters}
    items = []
    for each in found.proposals:
        rated = state.raters.get((each.transcript, each.unit), set())
        others = [rater for rater in plan.raters if f"human:{rater}" not in rated]
        rng.shuffle(others)
        others.sort(key=lambda rater: len(own[rater]))
        if not others:
            continue
        name = opaque_id(
            plan.run, seed, f"after {plan_hash(plan)} for {found.aim}", each.transcript, each.unit
        )
        items.append(PlanItem(id=name, transcript=each.transcript, unit=each.unit, stratum=0, drawn=focus))
        for rater in others[: each.need]:
            own[rater].append(name)
    if not items:
        raise DataError(
            "all raters of the plan have rated all that is proposed",
            where=str(run.path),
            todo="draw a plan with another rater: bedside sample --raters",
        )
    for mine in own.values():
        rng.shuffle(mine)
    stratum = Stratum(factors={}, available=len(state.units), wanted=len(found.proposals), drawn=len(items))
    return sealed(
        AnnotationPlan(
            mode=plan.mode,
            run=plan.run,
            rubrics=plan.rubrics,
            raters=plan.raters,
            overlap=max(each.need for each in found.proposals),
            focus=focus,
            random_share=1.0 if focus == "random" else 0.0,
            seed=seed,
            strata=(stratum,),
            items=tuple(sorted(items, key=lambda item: item.id)),
            assignment={rater: tuple(mine) for rater, mine in own.items()},
        )
    )
