"""What raters differ on, under its adjudicator's one link, while they still rate.

Plans are fixed, so that what comes later stands in a further adjudication: each is kept in the run as those of
``annotate adjudicate``, and has a page folder of its own. Their items are shown as one list.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bedside.annotation.adjudication import adjudications_of, further_adjudication
from bedside.annotation.annotation_plan import KINDS, AnnotationPlan, plan_hash
from bedside.annotation.answer_store import plan_folder, read_store
from bedside.annotation.page_words import words_of
from bedside.annotation.plan_file import write_plan
from bedside.annotation.rating_page.page_collection import collect
from bedside.annotation.rating_page.page_database import SentEntry
from bedside.annotation.rating_page.page_folder import page_folder
from bedside.annotation.rating_page.page_state import NoSuchItemError, PageState, page_common, study_words
from bedside.annotation.study_file import help_of
from bedside.core.errors import InputError
from bedside.core.files import make_folder, saying_where
from bedside.ratings.run import Run

#: Open items below which what raters differ on by then is queued: else every single one would make a plan.
FEWEST_OPEN = 10


def queued_plans(run: Run, plan: AnnotationPlan) -> list[AnnotationPlan]:
    """The adjudications of a plan's round that have a rating page of bedside's own, the oldest first."""
    return [other for other in adjudications_of(run, plan) if page_folder(run, other).path.is_dir()]


def collect_queued(run: Run, plan: AnnotationPlan) -> None:
    """Put what adjudicators handed in on the page into the run.

    Raises:
        RunError: as :func:`~.page_collection.collect`.
    """
    for other in queued_plans(run, plan):
        if page_folder(run, other).database.is_file():
            collect(page_folder(run, other), Run(run.path), other)


class AdjudicationQueue:
    """A page of what a plan's raters differ on; but for :meth:`fill`, for the thread of the plan's own page.

    Args:
        plan: the plan whose raters differ.
        run: its run.
        adjudicators: who settles.
        text: what adjudicators read first, as Markdown.
        help_text: as raters have it.
        rule: ``rubrics``, ``beyond`` and ``seed``, as :func:`~bedside.annotation.adjudication.adjudicate` takes them.

    Raises:
        InputError: an adjudicator is a rater of the plan.
        DataError: the plan can't be adjudicated so.
    """

    def __init__(
        self, plan: AnnotationPlan, run: Run, adjudicators: Sequence[str], text: str = "",
        help_text: str | None = None, **rule: Any,
    ) -> None:  # fmt: skip
        raters = {rater.casefold() for rater in plan.raters}
        for name in adjudicators:
            if name.casefold() in raters:
                raise InputError(
                    f"{name} is a rater of the plan", where="`adjudicators`", todo="name somebody who rates nothing"
                )
        self.adjudicators = adjudicators
        self._plan, self._run, self._rule, self._text = plan, run, rule, text
        asked = tuple(planned for planned in plan.rubrics if planned.rubric.kind in KINDS["adjudicate"])
        shown = plan.model_copy(update={"mode": "adjudicate", "wholes": (), "rubrics": asked})
        for name in ("questions", "flow_of", "by_name"):
            shown.__dict__.pop(name, None)
        self._common = {**page_common(shown, text), "plan": f"{plan_hash(plan)}-adjudicate", "queue": True}
        shown_help = help_of(plan, help_text)
        self._study = None if shown_help is None else study_words(help=shown_help)
        self._states: dict[str, PageState] = {}
        self._collected: dict[str, int] = {}
        further_adjudication(run, plan, adjudicators, **rule)
        self.take_up()

    def take_up(self) -> None:
        """Show what was queued since."""
        for plan in queued_plans(self._run, self._plan):
            if plan_hash(plan) not in self._states:
                self._states[plan_hash(plan)] = PageState(plan, self._run, page_folder(self._run, plan), self._text)

    def close(self) -> None:
        """End the connections to databases."""
        for state in self._states.values():
            state.database.close()

    def last_revisions(self) -> dict[str, int]:
        """Plan → the number of the last answer that was handed in."""
        return {name: state.database.last_revision() for name, state in self._states.items()}

    def fill(self, plan: AnnotationPlan, revisions: Mapping[str, int]) -> None:
        """Put what was settled into the run, and queue what raters differ on now, where little is open.

        Args:
            plan: the plan as it is assigned now.
            revisions: what :meth:`last_revisions` gave.

        Raises:
            RunError: the run can't be read or written.
        """
        still_open = 0
        for other in queued_plans(self._run, plan):
            name = plan_hash(other)
            if name in revisions and self._collected.get(name) != revisions[name]:
                collect(page_folder(self._run, other), Run(self._run.path), other)
                self._collected[name] = revisions[name]
            still_open += len(other.items) - len(read_store(self._run, other).counting())
        if still_open >= FEWEST_OPEN:
            return
        current = Run(self._run.path)
        further = further_adjudication(current, plan, self.adjudicators, **self._rule)
        if further is not None:
            # The page's folder first: by it the plan is known as one of the queue.
            page_folder(current, further).make()
            folder = plan_folder(current, further)
            with saying_where(folder):
                make_folder(folder)
            write_plan(further, folder / "plan.json")

    def share(self, rater: str) -> dict[str, Any]:
        """What an adjudicator has to settle, as a rater's :meth:`.PageState.share`."""
        shares = [state.share(rater) for state in self._states.values() if rater in state.plan.raters]
        training = {"done": False, "passed": True, "kappa": None, "wanted": None}
        items = [item for share in shares for item in share["items"]]
        more = {"items": items, "training": training, "stage": "rating", "study": self._study}
        return {**self._common, "rater": rater, **more}

    def item(self, rater: str, item: str) -> dict[str, Any]:
        """As :meth:`.PageState.item`."""
        return self._state(rater, item).item(rater, item)

    def save(self, rater: str, item: str, sent: SentEntry) -> dict[str, Any]:
        """As :meth:`.PageState.save`."""
        return self._state(rater, item).save(rater, item, sent)

    def _state(self, rater: str, item: str) -> PageState:
        for state in self._states.values():
            if item in state.plan.assignment.get(rater, ()):
                return state
        raise NoSuchItemError(words_of(self._plan).say("no_such_item"))
