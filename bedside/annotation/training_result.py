"""Whether a rater passed training: kappa with the known answers of the training set, from the first answers given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from bedside.annotation.annotation_plan import AnnotationPlan
from bedside.annotation.answer_revisions import RevisionHistory
from bedside.annotation.answers import RaterAnswer
from bedside.annotation.known_answers import compared_with_known, level_spans, pooled_kappa

#: Item → role → indices of the turns that are coded, as :func:`~bedside.annotation.items.coded_positions` gives them.
CodedPositions = Mapping[str, Mapping[str, Sequence[int]]]


@dataclass(frozen=True, slots=True)
class TrainingResult:
    """How a rater did on the training set.

    Attributes:
        rater: whose.
        items: of the training set that the rater has.
        answered: those that the rater handed in.
        answers: known answers that were compared; of lists, how many lists.
        right: those that are the same as the known one; of lists, the sum of their F1.
        off: mean distance from the known level, in the scale's unit; None where there are no levels.
        kappa: :func:`~bedside.annotation.known_answers.pooled_kappa`; None where it can't be computed, and of lists.
        wanted: the kappa that the plan asks for; None where it asks for none.
    """

    rater: str
    items: int
    answered: int
    answers: int
    right: float
    off: float | None
    kappa: float | None
    wanted: float | None

    @property
    def score(self) -> float | None:
        """``right / answers``."""
        return self.right / self.answers if self.answers else None

    @property
    def done(self) -> bool:
        """Whether the rater handed in the whole training set."""
        return self.answered == self.items

    @property
    def passed(self) -> bool:
        """Whether the rater may go on: nothing is asked for, or the whole set was handed in and kappa is reached."""
        return self.wanted is None or (self.done and self.kappa is not None and self.kappa >= self.wanted)


def training_result(
    plan: AnnotationPlan, rater: str, answers: Iterable[RaterAnswer], positions: CodedPositions
) -> TrainingResult:
    """How a rater did on the training set.

    Args:
        plan: the plan.
        rater: one of its raters.
        answers: the first answer that the rater handed in to each training item; others are passed over. After
            feedback, an answer would say what was told.
        positions: :func:`~bedside.annotation.items.coded_positions`.
    """
    training = {item.id: item for item in plan.training if item.id in set(plan.assignment[rater])}
    first: dict[str, RaterAnswer] = {}
    for answer in answers:
        if answer.rater == rater and answer.item in training and answer.state != "draft":
            first.setdefault(answer.item, answer)
    compared = [
        comparison
        for name, answer in first.items()
        for comparison in compared_with_known(plan, training[name], answer, positions.get(name, {}))
    ]
    distances = [comparison.off for comparison in compared if comparison.off is not None]
    return TrainingResult(
        rater=rater,
        items=len(training),
        answered=len(first),
        answers=len(compared),
        right=sum(comparison.right for comparison in compared),
        off=sum(distances) / len(distances) if distances else None,
        kappa=None if plan.mode == "findings" else pooled_kappa(compared, level_spans(plan)),
        wanted=plan.training_kappa,
    )


def training_results(
    plan: AnnotationPlan, history: RevisionHistory, positions: CodedPositions
) -> tuple[TrainingResult, ...]:
    """How each rater of a plan did on the training set, by what reached the run first; none without a set."""
    if not plan.training:
        return ()
    own = [revision.answer for revision in history.revisions if revision.answer.changed_by is None]
    return tuple(training_result(plan, rater, own, positions) for rater in plan.raters)
