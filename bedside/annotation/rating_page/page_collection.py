"""Answers go from the rating page's database into the run: all that the run doesn't have yet, in the order given."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import replace

import orjson

from bedside.annotation.annotation_plan import AnnotationPlan
from bedside.annotation.answer_store import STORE, StoreSummary, keep_answers, plan_path
from bedside.annotation.answers import RaterAnswer
from bedside.annotation.assignment_by_need import entering
from bedside.annotation.rating_page.page_database import PageDatabase
from bedside.annotation.rating_page.page_folder import PageFolder
from bedside.core.errors import RunError
from bedside.core.files import holding
from bedside.ratings.run import Run

_LOCK = "collection.lock"
#: How long to wait for another process that does the same, in seconds.
_PATIENCE = 60.0


def collect(folder: PageFolder, run: Run, plan: AnnotationPlan) -> StoreSummary:
    """Put all answers that were handed in into the run. Safe to repeat, and while the page is served.

    Args:
        folder: the page's.
        run: the run.
        plan: its plan as it is assigned now.

    Raises:
        RunError: another process holds the run, or something can't be read or written; the answers stay in the
            database.
    """
    refusal = RunError("another process puts answers into the run", where=str(folder.path), todo="wait")
    with holding(folder.path / _LOCK, refusal, _PATIENCE):
        with closing(PageDatabase(folder.database, plan)) as database:
            answers, drafts = _answers(database, plan), database.drafts()
        answers = entering(run, plan, answers)
        missing = _missing(run, plan, answers)
        kept = keep_answers(run, plan, missing, current=True)
    return replace(kept, unchanged=len(answers) - len(missing) + kept.unchanged, drafts=drafts)


def uncollected(folder: PageFolder, run: Run, plan: AnnotationPlan) -> list[RaterAnswer]:
    """The answers that were handed in and aren't in the run, the first one first."""
    with closing(PageDatabase(folder.database, plan)) as database:
        return _missing(run, plan, _answers(database, plan))


def _answers(database: PageDatabase, plan: AnnotationPlan) -> list[RaterAnswer]:
    # Who came since the plan was read comes next time.
    return [answer for answer in database.answers() if answer.rater in plan.raters]


def _missing(run: Run, plan: AnnotationPlan, answers: Sequence[RaterAnswer]) -> list[RaterAnswer]:
    # No two revisions of an answer have the same time: the database sees to that.
    stored = _stored(run, plan)
    return [answer for answer in answers if (answer.id, answer.updated) not in stored]


def _stored(run: Run, plan: AnnotationPlan) -> set[tuple[str, str]]:
    """The annotation and time of every revision in the run; what is damaged there, who adds to it says."""
    path = plan_path(run, plan, STORE)
    stored = set()
    for line in path.read_bytes().splitlines() if path.is_file() else ():
        with suppress(ValueError, KeyError, TypeError):
            revision = orjson.loads(line)
            stored.add((revision["id"], revision["updated"]))
    return stored
