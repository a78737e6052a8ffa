"""Answers go from the rating page's database into the run: all that the run doesn't have yet, in the order given."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import orjson
from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError

from bedside.annotation.annotation_plan import AnnotationPlan, plan_hash, rater_of
from bedside.annotation.answer_store import STORE, StoreSummary, keep_answers, plan_path
from bedside.annotation.answers import CollectedAnswers, RaterAnswer
from bedside.annotation.assignment_by_need import entering
from bedside.annotation.rating_page.page_database import PageDatabase, SentEntry
from bedside.annotation.rating_page.page_folder import PageFolder
from bedside.annotation.rating_page.page_state import PageState
from bedside.core.errors import BedsideError, InputError, RunError
from bedside.core.files import holding
from bedside.ratings.run import Run

_LOCK = "collection.lock"
#: How long to wait for another process that does the same, in seconds.
_PATIENCE = 60.0
#: A file of saved answers, also where a tool has written it anew.
_SAVED = re.compile(rb'\A(?:\xef\xbb\xbf)?\s*\{(?s:.*)"form"\s*:\s*"bedside answers"')


class _SavedEntry(SentEntry):
    item: Annotated[str, StringConstraints(max_length=100)]


class _SavedAnswers(BaseModel):
    """What a rater saved as a file, as the page never reached its server again."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    form: Literal["bedside answers"]
    plan: str
    rater: str
    answers: list[_SavedEntry]


def is_saved(path: Path) -> bool:
    """Whether a file is one that the page had a rater save."""
    with suppress(OSError):
        return _SAVED.search(path.read_bytes()) is not None
    return False


def read_saved(folder: PageFolder, run: Run, plan: AnnotationPlan, path: Path) -> CollectedAnswers:
    """Take what a rater saved as a file as if the page had sent it, but where they handed in more since.

    Returns:
        All answers of that rater on the page, with what can't be taken.

    Raises:
        InputError: it can't be read, or is of another plan or of nobody in it.
        RunError: the database can't be written.
    """
    try:
        saved = _SavedAnswers.model_validate_json(path.read_bytes().removeprefix(b"\xef\xbb\xbf"))
    except ValidationError as error:
        todo = "have the rater save it once more"
        raise InputError("the answers in the file can't be read", where=str(path), todo=todo) from error
    if saved.plan != plan_hash(plan):
        raise InputError("the answers are of another plan", where=str(path), todo="name the plan whose page it was")
    rater, aside, firsts = rater_of(plan, saved.rater, str(path)), [], dict[str, _SavedEntry]()
    folder.make()
    with closing(PageState(plan, run, folder)) as state:
        for sent in saved.answers:
            stands, first = state.database.entry(sent.item, rater), firsts.setdefault(sent.item, sent)
            if sent is not first:
                if (sent.state, sent.choices, sent.texts) != (first.state, first.choices, first.texts):
                    aside.append(f"{path}: item {sent.item}: it is there twice; the first answer counts")
            elif sent.state == "draft":
                aside.append(f"{path}: item {sent.item}: it wasn't handed in; have the rater do that")
            elif stands.version <= sent.version or stands.handed_in is None:
                try:
                    state.save(rater, sent.item, sent.model_copy(update={"version": stands.version}))
                except RunError:
                    raise
                except BedsideError as error:
                    aside.append(f"{path}: item {sent.item}: {error}")
        return CollectedAnswers(tuple(state.database.answers(rater)), set_aside=tuple(aside))


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
