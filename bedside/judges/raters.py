"""Judges as raters: what the ratings table calls a language model, and the rows that its ratings are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from bedside.judges.llm.endpoints import named_models, places
from bedside.judges.llm.model_names import ModelName
from bedside.judges.rubrics.rubric import Rubric
from bedside.ratings.names import judge_rater
from bedside.ratings.table import RatingRow
from bedside.transcripts.transcript import Transcript

# -- Rows of the ratings table --------------------------------------------------------------------------


class RatingRows:
    """Makes rows of the ratings table, and counts them.

    Args:
        rater: whose ratings they are.
        add: called with each row.
    """

    def __init__(self, rater: str, add: Callable[[RatingRow], object]) -> None:
        self.rater = rater
        self.count: int = 0
        self._add = add

    def add(
        self,
        transcript: Transcript,
        number: int,
        unit: str,
        metric: str,
        value: float | None = None,
        label: str | None = None,
        reason: str | None = None,
        error: str | None = None,
        *,
        rater: str | None = None,
    ) -> None:
        """Add a rating of a transcript in a pass; the other arguments are cells of the row."""
        head = (transcript.id, transcript.system, transcript.case_id)
        self._add(RatingRow(*head, unit, metric, rater or self.rater, number, value, label, reason, error))
        self.count += 1


# -- Judges as raters -----------------------------------------------------------------------------------


def rater_of(name: ModelName) -> str:
    """The rater that a model is: without its server's address, which may change."""
    return judge_rater(name.identity)


def rubric_rater(name: ModelName, rubrics: Iterable[Rubric]) -> str:
    """The rater that a model is by rubrics.

    By a tuned one, which is asked alone, it is another rater than by any other, and so it is by rubrics in another
    language, or by rubrics that show system messages or tools, which are asked together: the ratings stand side by side
    and never in one column.
    """
    asked = tuple(rubrics)
    tuned = [rubric.key for rubric in asked if rubric.tuned]
    # One language for those that are asked together, or none.
    translated = dict.fromkeys(rubric.language for rubric in asked if rubric.translated_from)
    shown = sorted({kind for rubric in asked for kind in rubric.shows})
    return "+".join([rater_of(name), *tuned, *translated, *(f"shown-{kind}" for kind in shown)])


def coding_rater(name: ModelName) -> str:
    """The rater that a model is by the codebook: another one than the model by other rubrics."""
    return f"{rater_of(name)}+codebook"


def deepeval_rater(name: ModelName, library: str) -> str:
    """The rater that a model is by metrics of deepeval, in the version of that library."""
    return f"{rater_of(name)}+deepeval@{library}"


def endpoint_lines(judges: Iterable[str], max_concurrency: int) -> Iterator[str]:
    """A line for each judge that has endpoints: where they are, and what each is sent at once."""
    for name in named_models(judges):
        if name.endpoints:
            yield f"{rater_of(name)} is asked at {places(name, max_concurrency)}."
