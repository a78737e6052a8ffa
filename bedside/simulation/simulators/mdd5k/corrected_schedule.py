"""Which topic comes next, as the paper means it: each is asked about before it is judged, and left out on evidence.

The root is asked about once. Then come the leaves: up to two more questions on each, until the evaluator says that it
is answered. On moving on, leaves that the patient's own words have answered are left out. In the place of ``parse``
stand two or three angles that grow from what the patient told; from an angle that stays unanswered others may grow.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from bedside.simulation.simulators.calls import Exchange
from bedside.simulation.simulators.mdd5k.doctor import AskedTopic
from bedside.simulation.simulators.mdd5k.interview_steps import InterviewSteps, ScheduleLog
from bedside.simulation.simulators.mdd5k.interview_tools import MOST_ANGLES
from bedside.simulation.simulators.mdd5k.topic_tree import CAP, PARSE, TopicTree

#: Further questions on a topic at most.
FOLLOW_UPS = 2
#: How often angles may grow from angles, and angles of an interview at most.
DEPTH, ALL_ANGLES = 2, 6


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A topic to be asked about: of the tree where ``depth`` is 0, else an angle."""

    topic: str
    depth: int = 0


@dataclass(slots=True)
class CorrectedSchedule:
    """The course of one interview.

    Attributes:
        tree: of topics.
        order: its leaves as they were drawn.
        steps: who asks.
        cap: exchanges at most. When those that remain are no more than the leaves that remain, there are no further
            questions and no angles, so that every leaf is asked about.
        log: what was done.
    """

    tree: TopicTree
    order: tuple[str, ...]
    steps: InterviewSteps
    cap: int = CAP
    log: ScheduleLog = field(init=False)
    _left: list[_Leaf] = field(init=False)

    def __post_init__(self) -> None:
        self.log = ScheduleLog((self.tree.root, *self.order))
        self._left = [_Leaf(topic) for topic in self.order]

    def held(self) -> Exchange[str]:
        """The whole of it; why it ended early, empty where every topic was dealt with."""
        self.log.asked.append(self.tree.root)
        stop = yield from self.steps.ask(AskedTopic(self.tree.root, opening=True))
        while not stop:
            yield from self._leave_out_answered()
            leaf = yield from self._next_leaf()
            if leaf is None:
                return ""
            stop = yield from self._about(leaf)
        return stop

    def _about(self, leaf: _Leaf) -> Exchange[str]:
        """All questions on a topic, and what grows from it."""
        start = self.steps.spoken
        self.log.asked.append(leaf.topic)
        for follow_up in range(FOLLOW_UPS + 1):
            stop = yield from self.steps.ask(AskedTopic(leaf.topic, follow_up, parsed=leaf.depth > 0))
            again = follow_up < FOLLOW_UPS and self._spare() > 0
            deeper = 0 < leaf.depth < DEPTH and self._room() > 0
            if stop or not (again or deeper):
                return stop
            if (yield from self.steps.topic_ends(leaf.topic, start)):
                return ""
            if not again:
                yield from self._grow(leaf.topic, leaf.depth + 1)
                return ""
        raise AssertionError("the last question on a topic is no follow-up's")

    def _next_leaf(self) -> Exchange[_Leaf | None]:
        while self._left:
            leaf = self._left.pop(0)
            if leaf.topic != PARSE:
                return leaf
            yield from self._grow(PARSE, 1)
        return None

    def _leave_out_answered(self) -> Exchange[None]:
        topics = self._topics()
        if topics:
            for topic, quote in (yield from self.steps.answered(topics)).items():
                self._leave_out(topic, "answered", quote)

    def _grow(self, under: str, depth: int) -> Exchange[None]:
        """Put angles in the place of what was just taken from the front."""
        room = min(MOST_ANGLES, self._room())
        if room <= 0:
            self.log.notes.append(f"no room for angles under {under}")
            return
        angles = yield from self.steps.angles(room)
        texts = [text for text in angles if text not in self.log.asked]
        self.log.notes += [f"asked about already: {text}" for text in angles if text in self.log.asked]
        # An angle in a leaf's own words takes its place; self-harm and the family stay where they are.
        for text in texts:
            if text in self._topics() and not self.tree.kept(text):
                self._leave_out(text, "angle", text)
        texts = [text for text in texts if text not in self._topics()]
        others = [topic for topic in self._topics() if not self.tree.kept(topic)]
        if texts and others:
            for topic, angle in (yield from self.steps.covered(others, texts)).items():
                self._leave_out(topic, "angle", angle)
        self.log.angles += [{"topic": text, "under": under} for text in texts]
        self._left[:0] = [_Leaf(text, depth) for text in texts]

    def _leave_out(self, topic: str, by: str, evidence: str) -> None:
        self._left = [leaf for leaf in self._left if leaf.topic != topic]
        self.log.drop(topic, by, evidence)

    def _topics(self) -> list[str]:
        return [leaf.topic for leaf in self._left if leaf.topic != PARSE]

    def _spare(self) -> int:
        """Exchanges that aren't needed for the leaves that remain."""
        return self.cap - self.steps.exchanges - len(self._topics())

    def _room(self) -> int:
        """Angles that there is room for."""
        return min(ALL_ANGLES - len(self.log.angles), self._spare())


def most_exchanges(order: Iterable[str], cap: int = CAP) -> int:
    """The most exchanges that an interview can have: the root, and every leaf and angle with its further questions."""
    leaves = sum(topic != PARSE for topic in order)
    return min(cap, 1 + (leaves + ALL_ANGLES) * (1 + FOLLOW_UPS))
