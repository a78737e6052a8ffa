"""Revisions of answers: every one is kept, and which of them counts.

Of one annotation on a server, what the server holds when it is asked counts, whatever its clock says; of several, and
of what files say, the one changed last. What somebody else made of a rater's answer never counts as the rater's: the
rater's own last words do. A revision that was restored counts until the rater says something else.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from bedside.annotation.answers import RaterAnswer

#: Item and rater.
AnswerKey = tuple[str, str]
_SECONDS = re.compile(r"^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d+)?")


@dataclass(frozen=True, slots=True)
class Revision:
    """One line of the store of answers.

    Attributes:
        answer: what was said.
        received: when it was put into the run (ISO 8601, UTC).
        number: position in the store, from 0.
        current: whether a server held it when it was asked; else it is from a file, which may be older.
        restored: the number of the revision that was restored by it; None where it is a rater's word.
    """

    answer: RaterAnswer
    received: str
    number: int
    current: bool = False
    restored: int | None = None

    @property
    def key(self) -> AnswerKey:
        """Item and rater."""
        return self.answer.item, self.answer.rater

    @property
    def changed_at(self) -> tuple[str, str, int]:
        """When the answer was changed, in a form that sorts: seconds, their fraction, and the place in the store."""
        time = _SECONDS.match(self.answer.updated or self.received)
        return (time[1], (time[2] or "").ljust(7, "0"), self.number) if time else ("", "", self.number)

    def follows(self, other: Revision | None) -> bool:
        """Whether it takes the place of an earlier revision of the same annotation."""
        return other is None or self.current or other.changed_at <= self.changed_at


@dataclass(slots=True)
class _AnswerHistory:
    """What is known of one rater's answer to one item.

    Attributes:
        standing: annotation → its last revision, whoever made it.
        own: annotation → the last revision that is the rater's own.
        restored: the revision that was restored and that nothing came after.
    """

    standing: dict[str, Revision] = field(default_factory=dict)
    own: dict[str, Revision] = field(default_factory=dict)
    restored: Revision | None = None

    def add(self, revision: Revision) -> None:
        if revision.restored is not None:
            self.restored = revision
            return
        name = revision.answer.id
        if revision.follows(self.standing.get(name)):
            self.standing[name] = revision
        if revision.answer.changed_by is None and revision.follows(self.own.get(name)):
            self.own[name] = revision
            self.restored = None

    def counting(self) -> Revision | None:
        """The revision that counts; None where there is only what somebody else made of an answer."""
        if self.restored is not None:
            return self.restored
        return max(self.own.values(), key=lambda revision: revision.changed_at, default=None)


class RevisionHistory:
    """All revisions of a plan's answers, in the order they were put in."""

    def __init__(self, revisions: Iterable[Revision] = ()) -> None:
        self.revisions: list[Revision] = []
        self._histories: dict[AnswerKey, _AnswerHistory] = {}
        self._timed: dict[tuple[AnswerKey, str], list[tuple[Any, ...]]] = {}
        #: Raters whose answers don't count.
        self.excluded: frozenset[str] = frozenset()
        for revision in revisions:
            self.add(revision)

    def add(self, revision: Revision) -> None:
        """Put a revision at the end."""
        self.revisions.append(revision)
        self._histories.setdefault(revision.key, _AnswerHistory()).add(revision)
        self._timed.setdefault((revision.key, revision.answer.updated), []).append(_content(revision.answer))

    def knows(self, answer: RaterAnswer, current: bool) -> bool:
        """Whether an answer is nothing new.

        What a server holds is, where it held the same when it was last asked; what a file says is known by its time of
        change, however much came after it, and without a time where it is what counts.
        """
        history = self._histories.get((answer.item, answer.rater))
        if history is None:
            return False
        if current:
            standing = history.standing.get(answer.id)
            return standing is not None and (standing.answer.updated, _content(standing.answer)) == (
                answer.updated, _content(answer),
            )  # fmt: skip
        if answer.updated:
            return _content(answer) in self._timed.get(((answer.item, answer.rater), answer.updated), ())
        counting = history.counting()
        return counting is not None and _content(counting.answer) == _content(answer)

    def counting(self) -> dict[AnswerKey, Revision]:
        """Item and rater → the revision that counts."""
        return {key: revision for key, revision in self._last().items() if key[1] not in self.excluded}

    def _last(self) -> dict[AnswerKey, Revision]:
        counting = {key: history.counting() for key, history in self._histories.items()}
        return {key: revision for key, revision in counting.items() if revision is not None}

    def with_excluded(self) -> dict[AnswerKey, RaterAnswer]:
        """As :meth:`answers`, with those of raters who were excluded: their ratings are missing for that."""
        return {key: revision.answer for key, revision in self._last().items()}

    def answers(self) -> dict[AnswerKey, RaterAnswer]:
        """Item and rater → the answer that counts."""
        return {key: revision.answer for key, revision in self.counting().items()}

    def changed_by_others(self) -> dict[AnswerKey, tuple[str, ...]]:
        """Item and rater → who changed the rater's answer last, where somebody else did and it doesn't count."""
        changed: dict[AnswerKey, tuple[str, ...]] = {}
        for key, history in self._histories.items():
            names = [revision.answer.changed_by for revision in history.standing.values()]
            others = tuple(name for name in names if name is not None)
            if others and history.restored is None:
                changed[key] = others
        return changed


def times_changed(changed: Iterable[Sequence[str]]) -> dict[str, int]:
    """Who → how many answers of others they changed."""
    return dict(sorted(Counter(name for names in changed for name in names).items()))


def _content(answer: RaterAnswer) -> tuple[Any, ...]:
    """What makes two revisions the same."""
    return (answer.state, dict(answer.choices), dict(answer.texts), answer.seconds, answer.changed_by)
