"""From what raters answered to ratings: every revision is kept, the latest counts.

Answers come from a Label Studio export (below), or from an offline file (:mod:`~bedside.annotation.offline_files`). They are
put in the run's store of the plan's answers, ``annotations/<plan hash>/answers.jsonl``, which only grows: one line a
revision of what a rater said of an item. Ratings are made of the store alone, so that what was pulled once stays,
whatever becomes of the server.

The export form of Label Studio is a list of tasks::

    {"id": 17, "data": {"external_id": …}, "annotations": [{"unique_id": …, "completed_by": 3, "updated_by": 3,
     "was_cancelled": false, "created_at": …, "updated_at": …, "lead_time": 61.2, "result":
     [{"from_name": …, "type": "choices", "value": {"choices": ["4"]}}, …]}], "drafts": […]}

Fields (``from_name``) are those of :mod:`~bedside.annotation.fields`; the value of a text area is ``{"text": ["…"]}``.

Which ratings an answer gives:

- rate: ``<rubric>``, a value or label; of a set, the number of labels, which begin the reason. No answer, and "no
  answer can be given", are missing ratings.
- audit: ``<rubric>.agrees``, a label; and ``<rubric>.audited``, the rater's own level or label, or the judge's where
  the rater agrees; beside it, the judge's as it was shown. They are metrics of their own because somebody who has seen
  the judge's score is no independent rater.
- findings: ``<rubric>``, the number of entries, with the list as JSON in the reason; and ``<rubric>.<label>`` for each
  label, such as a category of concerns, the number of its entries.
- codes: ``<code>``, a label, of each turn of the code's role; turns without are missing.

The rater is ``human:<name>``, the reason the notes. What a rater skipped is missing. The training set gives no ratings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from bedside.annotation.fields import (
    NOTES,
)

State = Literal["submitted", "skipped", "draft"]


@dataclass(frozen=True, slots=True)
class RaterAnswer:
    """What a rater said of an item, in one revision.

    Attributes:
        item: the item's opaque id.
        rater: the plan's rater.
        state: ``submitted``; ``skipped`` by the rater; or ``draft``, not handed in.
        choices: field → choices made.
        texts: field → texts written; notes are here too.
        id: what makes it the same annotation when it is pulled again.
        created, updated: times as ISO 8601, UTC; empty where unknown.
        seconds: time the rater took; None where unknown.
        changed_by: who changed it last, where that wasn't the rater.
        where: the task or row, for messages.
    """

    item: str
    rater: str
    state: State
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    texts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    id: str = ""
    created: str = ""
    updated: str = ""
    seconds: float | None = None
    changed_by: str | None = None
    where: str = ""

    @property
    def notes(self) -> str:
        """The rater's notes on the item."""
        return "\n".join(text.strip() for text in self.texts.get(NOTES, ()) if text.strip())


@dataclass(frozen=True, slots=True)
class CollectedAnswers:
    """What was found in an export or file.

    Attributes:
        answers: in the order found.
        strangers: user → answers left out because the user is no rater of the plan.
        foreign: tasks left out because they are of no item of the plan.
    """

    answers: tuple[RaterAnswer, ...]
    strangers: Mapping[str, int] = field(default_factory=dict)
    foreign: int = 0


# -- Label Studio -----------------------------------------------------------------------------------


# -- what fits ---------------------------------------------------------------------------------------


# -- the store ----------------------------------------------------------------------------------------


# -- ratings ------------------------------------------------------------------------------------------
