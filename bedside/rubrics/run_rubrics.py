"""Rubrics of a user's own, which a run keeps as they were when it was judged."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import ValidationError

from bedside.ratings.run import Run
from bedside.rubrics.rubric import Rubric, read
from bedside.support.errors import RunError

#: Rubrics of a user's own, by name.
OwnRubrics = Mapping[str, Rubric]


def own_rubrics(run: Run) -> OwnRubrics:
    """The rubrics of the user's own that a run was judged by, as they were then.

    Raises:
        RunError: the run's manifest doesn't hold them as they were written.
    """
    try:
        return {name: read(data) for name, data in run.manifest.get("rubrics", {}).items()}
    except ValidationError as error:
        raise RunError(
            "the rubrics in the run's manifest can't be read", where=str(run.path), todo="judge again"
        ) from error
