"""What an adjudicator is shown of a unit: what its raters said, and nothing of who they are."""

from __future__ import annotations

from collections.abc import Iterator

from bedside.annotation.annotation_plan import AnnotationPlan, Opinion
from bedside.annotation.page_words import PageWords, words_of


def said_field(rubric: str) -> str:
    """The name under which a task holds what raters said by a rubric."""
    return f"said_{rubric}"


def said_by_raters(plan: AnnotationPlan, item: str) -> Iterator[tuple[str, str]]:
    """Of each rubric of an adjudication, its :func:`said_field` and what the item's raters said by it."""
    words = words_of(plan)
    opinions = plan.opinions[item]
    for rubric in plan.questions:
        values = words.values(plan, rubric)
        said = [
            _said(words, number, values.get(opinion.answer, opinion.answer), opinion)
            for number, opinion in enumerate(opinions.get(rubric.name, ()), 1)
        ]
        yield said_field(rubric.name), "\n\n".join(said) or words.say("nothing_to_settle")


def _said(words: PageWords, number: int, answer: str, opinion: Opinion) -> str:
    said = words.say("said_of", what=words.say("rater", number=number), text=answer)
    return words.say("said_of", what=said, text=opinion.reason) if opinion.reason else said
