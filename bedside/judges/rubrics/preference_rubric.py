"""A rubric turned into the question which of two conversations is better by it."""

from __future__ import annotations

from bedside.core.errors import InputError
from bedside.judges.rubrics.answer_form import Label
from bedside.judges.rubrics.rubric import Rubric
from bedside.ratings.rubric_metrics import FIRST, SECOND, TIE

_LABELS = (FIRST, SECOND, TIE)


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
    return rubric.words.say("pair", "lower" if rubric.direction == "lower" else "higher")


def level_lines(rubric: Rubric) -> tuple[str, ...]:
    """The levels of a rubric with their descriptors, a line each."""
    return tuple(f"{level.value:g}: {level.descriptor}" for level in rubric.shown().scale)


def preference_rubric(rubric: Rubric) -> Rubric:
    """The question which of two conversations is better by a rubric, of the same name: its answer is a label.

    What a level stands for is told with the instructions.
    """
    shown, words = rubric.shown(), rubric.words
    levels = words.join(words.say("people_pair", "levels"), *level_lines(rubric))
    better = words.say("people_pair", "better", better=better_words(rubric))
    return Rubric(
        name=rubric.name,
        title=shown.title,
        construct=shown.construct,
        definition=words.join(shown.definition, better),
        unit="transcript",
        kind="label",
        role=rubric.role,
        direction="none",
        labels=tuple(Label(label=label, descriptor=words.say("people_pair", label)) for label in _LABELS),
        inputs=shown.inputs,
        shows=shown.shows,
        not_applicable=shown.not_applicable,
        instructions=words.join(shown.instructions or "", levels),
        source=shown.source,
        language=rubric.language,
        translated_from=rubric.translated_from,
    )
