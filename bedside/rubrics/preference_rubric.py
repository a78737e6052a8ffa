"""A rubric turned into the question which of two conversations is better by it."""

from __future__ import annotations

from bedside.ratings.pair_preferences import FIRST, SECOND, TIE
from bedside.rubrics.answer_form import Label
from bedside.rubrics.rubric import Rubric
from bedside.support.errors import InputError

_UPPER = "the one that stands higher on its levels"
_BETTER = {
    "higher": _UPPER,
    "lower": "the one that stands lower on its levels, which is their better end",
    "none": _UPPER,
}
_LABELS = {
    FIRST: "The first conversation is better.",
    SECOND: "The second conversation is better.",
    TIE: "There is no difference by this rubric.",
}


def incomparable(rubric: Rubric) -> str | None:
    """Why two conversations can't be compared by a rubric; None where they can."""
    if rubric.kind != "level":
        return f"its answers are no levels, but of kind {rubric.kind}"
    if rubric.unit != "transcript" or rubric.each is not None or not rubric.transcript:
        return "it doesn't rate a conversation as a whole"
    return None


def check_comparable(rubric: Rubric) -> None:
    """See that a judge can compare two conversations by a rubric.

    Raises:
        InputError: it rates something else than whole conversations on levels, or is tuned.
    """
    reason = incomparable(rubric)
    if rubric.tuned:
        reason = "it is tuned for levels, with examples of them"
    if reason is not None:
        raise InputError(
            f"two conversations can't be compared by {rubric.name}: {reason}",
            where="`rubrics`",
            todo="name rubrics that rate whole conversations on levels and aren't tuned; bedside rubrics lists them",
        )


def better_words(rubric: Rubric) -> str:
    """Which of two conversations is better by a rubric, in words: what its direction says."""
    return _BETTER[rubric.direction]


def level_lines(rubric: Rubric) -> tuple[str, ...]:
    """The levels of a rubric with their descriptors, a line each."""
    return tuple(f"{level.value:g}: {level.descriptor}" for level in rubric.shown().scale)


def preference_rubric(rubric: Rubric) -> Rubric:
    """The question which of two conversations is better by a rubric, of the same name: its answer is a label.

    What a level stands for is told with the instructions.
    """
    shown = rubric.shown()
    levels = " ".join(("The levels of the rubric:", *level_lines(rubric)))
    return Rubric(
        name=rubric.name,
        title=shown.title,
        construct=shown.construct,
        definition=f"{shown.definition} The better conversation is {better_words(rubric)}.",
        unit="transcript",
        kind="label",
        role=rubric.role,
        direction="none",
        labels=tuple(Label(label=label, descriptor=words) for label, words in _LABELS.items()),
        inputs=shown.inputs,
        not_applicable=shown.not_applicable,
        instructions=" ".join(filter(None, (shown.instructions, levels))),
        source=shown.source,
    )
