"""Gold items: units with known answers, hidden among what raters rate."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from itertools import pairwise

from bedside.annotation.annotation_plan import GoldItem, opaque_id
from bedside.annotation.training_cases import TrainingCase
from bedside.core.errors import DataError


def gold_items(cases: Sequence[TrainingCase], identity: str, seed: int) -> tuple[GoldItem, ...]:
    """The gold items of a plan, in the order of their ids.

    Args:
        cases: units with known answers.
        identity: of the run.
        seed: of the plan.
    """
    items = (
        GoldItem(
            id=opaque_id(identity, seed, "gold", case.transcript, case.unit),
            transcript=case.transcript,
            unit=case.unit,
            content=case.content,
            answers=dict(case.answers),
        )
        for case in cases
    )
    return tuple(sorted(items, key=lambda item: item.id))


def with_gold(
    assignment: Mapping[str, Sequence[str]],
    gold: Sequence[GoldItem],
    *,
    before: int,
    share: float,
    seed: int,
) -> dict[str, tuple[str, ...]]:
    """The assignment with gold items among each rater's others.

    A rater gets so many that they are ``share`` of what the rater is shown, rounded, at least one, and all there are
    where there are fewer; which ones is drawn for each rater. They are spread evenly: what a rater is shown is cut
    into as many stretches as there are gold items, and each has one at a place drawn at random.

    Args:
        assignment: rater → ids in the order they are shown.
        gold: all gold items.
        before: how many items come first in any case: the training set.
        share: above 0 and below 1.
        seed: of what is drawn.
    """
    return {
        rater: (*order[:before], *_mixed(order[before:], gold, share, random.Random(f"{seed}:gold:{rater}")))
        for rater, order in assignment.items()
    }


def _mixed(order: Sequence[str], gold: Sequence[GoldItem], share: float, rng: random.Random) -> list[str]:
    if not order:
        return []
    count = min(len(gold), max(1, round(share / (1 - share) * len(order))))
    drawn = [item.id for item in rng.sample(gold, count)]
    whole = len(order) + count
    ends = [whole * number // count for number in range(count + 1)]
    places = {rng.randrange(start, end) for start, end in pairwise(ends)}
    others = iter(order)
    return [drawn.pop() if place in places else next(others) for place in range(whole)]


def check_gold_share(share: float) -> None:
    """See that gold items can be this share of what a rater is shown.

    Raises:
        DataError: they can't.
    """
    if not 0 < share < 1:
        raise DataError(
            f"gold items are a share above 0 and below 1, and {share:g} is not",
            where="`gold_share`",
            todo="give .1 for one item in ten",
        )


def check_hidden(gold: Sequence[TrainingCase], training: Sequence[TrainingCase]) -> None:
    """See that raters aren't told the answers to gold items in training.

    Raises:
        DataError: a case is in both.
    """
    told = {(case.transcript, case.unit) for case in training}
    for case in gold:
        if (case.transcript, case.unit) in told:
            raise DataError(
                f"transcript {case.transcript!r} is in the training set and among the gold items",
                where="`gold`",
                todo="leave it out of one of them",
            )
