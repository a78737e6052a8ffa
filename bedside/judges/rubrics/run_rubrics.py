"""Rubrics of a user's own, which a run keeps as they were when it was judged."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import ValidationError

from bedside.core.errors import RunError
from bedside.judges.rubrics.rubric import Rubric, read
from bedside.judges.rubrics.rubric_files import RUBRICS
from bedside.ratings.run import Run

#: Rubrics of a user's own, by name; tuned and translated ones by name and version
#: (:attr:`~bedside.judges.rubrics.rubric.Rubric.key`).
OwnRubrics = Mapping[str, Rubric]


def own_rubrics(run: Run) -> OwnRubrics:
    """The rubrics of the user's own that a run was judged by, as they were then.

    A tuned rubric of a name that nothing else in the run or package has stands under its mere name, too: what people
    and other raters rate by that name is on its scale.

    Raises:
        RunError: the run's manifest doesn't hold them as they were written.
    """
    try:
        rubrics = {key: read(data) for key, data in run.manifest.get("rubrics", {}).items()}
    except ValidationError as error:
        raise RunError(
            "the rubrics in the run's manifest can't be read", where=str(run.path), todo="judge again"
        ) from error
    for rubric in list(rubrics.values()):
        if rubric.key != rubric.name and rubric.name not in RUBRICS:
            rubrics.setdefault(rubric.name, rubric.for_people)
    return rubrics
