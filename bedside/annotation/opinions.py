"""What an adjudicator is shown of a unit: what its raters said, and nothing of who they are."""

from __future__ import annotations

from collections.abc import Iterator

from bedside.annotation.annotation_plan import AnnotationPlan, Opinion

NOTHING_TO_SETTLE = "Its raters agree, or there is only one: leave this open."


def said_field(rubric: str) -> str:
    """The name under which a task holds what raters said by a rubric."""
    return f"said_{rubric}"


def said_by_raters(plan: AnnotationPlan, item: str) -> Iterator[tuple[str, str]]:
    """Of each rubric of an adjudication, its :func:`said_field` and what the item's raters said by it."""
    opinions = plan.opinions[item]
    for rubric in plan.questions:
        yield said_field(rubric.name), _words(opinions.get(rubric.name, ()))


def _words(opinions: tuple[Opinion, ...]) -> str:
    said = (
        f"Rater {number}: {opinion.answer}{f': {opinion.reason}' if opinion.reason else ''}"
        for number, opinion in enumerate(opinions, 1)
    )
    return "\n\n".join(said) or NOTHING_TO_SETTLE
