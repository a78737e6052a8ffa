"""The follow-up of a plan: a plan of what is proposed to be rated next."""

from __future__ import annotations

import random

from bedside.annotation.annotation_plan import (
    AnnotationPlan,
    Focus,
    PlanItem,
    Stratum,
    opaque_id,
    plan_hash,
    round_of,
)
from bedside.annotation.answer_ratings import plan_people
from bedside.annotation.plan_file import sealed
from bedside.annotation.proposals import Proposals
from bedside.annotation.rating_state import RatingState
from bedside.core.errors import DataError
from bedside.ratings.run import Run


def follow_up_plan(run: Run, plan: AnnotationPlan, proposals: Proposals, seed: int = 0) -> AnnotationPlan:
    """A plan of the proposed units by the raters and rubrics of an earlier one, of whose round it is.

    Nobody gets a unit they have rated: each goes to those with the least to do of the others.

    Args:
        run: the run.
        plan: the earlier plan.
        proposals: what is proposed by it.
        seed: of who rates what, in which order.

    Raises:
        DataError: everybody has rated all of it.
    """
    state = RatingState(run, plan)
    people = plan_people(run, plan)
    rng = random.Random(f"{seed}:follow-up")
    focus: Focus = "disagreement" if proposals.aim == "disagreement" else "random"
    ids_by_rater: dict[str, list[str]] = {rater: [] for rater in plan.raters}
    # A unit's chance is that of both plans together, and these units were drawn from what the first one left.
    chance = 0.0 if focus == "disagreement" else None
    items = []
    for proposal in proposals.proposals:
        transcript, unit = proposal.transcript, proposal.unit
        rated_by = state.raters.get((transcript, unit), set())
        candidates = [rater for rater in plan.raters if people[rater] not in rated_by]
        rng.shuffle(candidates)
        candidates.sort(key=lambda rater: len(ids_by_rater[rater]))
        if not candidates:
            continue
        purpose = f"after {plan_hash(plan)} for {proposals.aim}"
        item_id = opaque_id(plan.run, seed, purpose, transcript, unit)
        items.append(
            PlanItem(id=item_id, transcript=transcript, unit=unit, stratum=0, drawn=focus, chance=chance)
        )
        for rater in candidates[: proposal.raters_wanted]:
            ids_by_rater[rater].append(item_id)
    if not items:
        raise DataError(
            "all raters of the plan have rated all that is proposed",
            where=str(run.path),
            todo="draw a plan with another rater: bedside sample --raters",
        )
    for item_ids in ids_by_rater.values():
        rng.shuffle(item_ids)
    wanted = len(proposals.proposals)
    stratum = Stratum(factors={}, available=len(state.units), wanted=wanted, drawn=len(items))
    return sealed(
        AnnotationPlan(
            mode=plan.mode,
            run=plan.run,
            round=round_of(plan),
            rubrics=plan.rubrics,
            raters=plan.raters,
            overlap=max(proposal.raters_wanted for proposal in proposals.proposals),
            focus=focus,
            random_share=1.0 if focus == "random" else 0.0,
            seed=seed,
            strata=(stratum,),
            items=tuple(sorted(items, key=lambda item: item.id)),
            assignment={rater: tuple(item_ids) for rater, item_ids in ids_by_rater.items()},
        )
    )
