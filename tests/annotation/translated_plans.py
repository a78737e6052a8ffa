"""Plans of every mode that translations can be rated in, in any language that there are words for."""

from __future__ import annotations

from typing import Any

from bedside.annotation.adjudication import adjudicate
from bedside.annotation.annotation_plan import AnnotationPlan
from bedside.annotation.answer_store import keep_answers
from bedside.annotation.answers import RaterAnswer
from bedside.annotation.fields import NOT_APPLICABLE
from bedside.judges.rubrics.rubric_files import find_rubric
from bedside.ratings.run import Run
from tests.annotation.study import JUDGE, rating_plan

LEVELS = ("empathy", "goal_alignment")
#: What each mode asks: levels, labels of which several fit, what may not be answerable, and single turns.
ASKED = {
    "rate": (*LEVELS, "values_detected", "softening_sustain_talk"),
    "turns": ("open_question",),
    "audit": LEVELS,
    "findings": ("finding_extraction",),
    "pairs": LEVELS,
    "adjudicate": (*LEVELS, "softening_sustain_talk"),
}


def translated_plan(run: Run, name: str, language: str) -> AnnotationPlan:
    """The plan that one person, dora, rates. Of an adjudication, two raters have answered the run's units first."""
    rubrics = tuple(find_rubric(rubric, language=language) for rubric in ASKED[name])
    options: dict[str, Any] = {"rubrics": rubrics, "per": 2}
    if name == "adjudicate":
        return _to_settle(run, rating_plan(run, raters=("anna", "ben"), **options))
    mode = "rate" if name == "turns" else name
    judge = {"judge": JUDGE} if mode == "audit" else {}
    return rating_plan(run, mode=mode, raters=("dora",), overlap=1, **judge, **options)


def _to_settle(run: Run, plan: AnnotationPlan) -> AnnotationPlan:
    """They differ on all but the goal, and one can give no answer to the last."""
    said = {"anna": ("2", "3", "1"), "ben": ("5", "3", NOT_APPLICABLE)}
    answers = [
        RaterAnswer(
            item=item.id,
            rater=rater,
            state="submitted",
            choices={
                question.name: (choice,) for question, choice in zip(plan.questions, chosen, strict=True)
            },
            texts={"reason__empathy": ("because",)},
            id=f"{item.id}-{rater}",
        )
        for item in plan.items
        for rater, chosen in said.items()
    ]
    keep_answers(run, plan, answers)
    return adjudicate(Run(run.path), plan, ["dora"]).plan
