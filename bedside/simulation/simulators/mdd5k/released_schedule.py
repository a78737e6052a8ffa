"""Which topic comes next, as the released code has it, for checking against the released dialogues.

Only women's interviews begin with the root; a man's begins with the first leaf of the events, whatever it is. The
second topic is judged before it was asked about, so that an "ended" leaves it out. From the sixth verdict on, verdicts
are overruled by chance. Duplicates are looked for only where angles grow, against the angles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from bedside.simulation.simulators.calls import Exchange
from bedside.simulation.simulators.draws import Draws
from bedside.simulation.simulators.mdd5k.doctor import AskedTopic
from bedside.simulation.simulators.mdd5k.interview_steps import InterviewSteps, ScheduleLog
from bedside.simulation.simulators.mdd5k.interview_tools import MOST_ANGLES
from bedside.simulation.simulators.mdd5k.topic_tree import PARSE, TopicTree

#: The verdict from which on they are overruled.
FIRST_OVERRULED = 6


def overruled(verdicts: Sequence[bool], draws: Draws) -> bool:
    """What the last verdict is taken as: whether its topic ends.

    Args:
        verdicts: those before it as they were taken, and the last as it was replied.
        draws: chance, a stream for each verdict.
    """
    last = verdicts[-1]
    if len(verdicts) < FIRST_OVERRULED:
        return last
    third = draws.stream("overruled verdict", len(verdicts)).randrange(3) == 0
    if not verdicts[-2]:
        # After two verdicts to go on it ends; after one, in two cases of three.
        return True if not verdicts[-3] or not third else last
    return last or third


@dataclass(slots=True)
class ReleasedSchedule:
    """The course of one interview.

    Attributes:
        tree: of topics.
        order: its leaves as they were drawn.
        steps: who asks.
        opening: whether the root is a topic.
        draws: chance in overruling verdicts.
        log: what was done.
    """

    tree: TopicTree
    order: tuple[str, ...]
    steps: InterviewSteps
    opening: bool
    draws: Draws
    log: ScheduleLog = field(init=False)
    _topics: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self._topics = [*((self.tree.root,) if self.opening else ()), *self.order]
        self.log = ScheduleLog(tuple(self._topics))

    def held(self) -> Exchange[str]:
        """The whole of it; why it ended early, empty where the last topic was dealt with."""
        self.log.asked.append(self._topics[0])
        stop = yield from self.steps.ask(AskedTopic(self._topics[0], opening=True))
        place, start, follow_up = 1, 0, 0
        verdicts: list[bool] = []
        while not stop:
            verdicts.append((yield from self.steps.topic_ends(self._topics[place], start)))
            verdicts[-1] = overruled(verdicts, self.draws)
            if verdicts[-1]:
                if not follow_up:
                    self.log.drop(self._topics[place], "verdict", "judged before it was asked about")
                if place == len(self._topics) - 1:
                    return ""
                place, start, follow_up = place + 1, self.steps.spoken, 0
            if self._topics[place] == PARSE:
                yield from self._grow(place)
            topic = self._topics[place]
            if not follow_up:
                self.log.asked.append(topic)
            stop = yield from self.steps.ask(AskedTopic(topic, follow_up, parsed=topic in self._parsed()))
            follow_up += 1
        return stop

    def _grow(self, place: int) -> Exchange[None]:
        """Put angles in the place of ``parse``, and leave out what means the same as one of them."""
        texts = yield from self.steps.angles(MOST_ANGLES)
        rest = self._topics[place + 1 :]
        same = yield from self.steps.same_topics(rest, texts)
        for topic in same:
            self.log.drop(topic, "angle", ", ".join(texts))
        self.log.angles += [{"topic": text, "under": PARSE} for text in texts]
        self._topics[place:] = [*texts, *(topic for topic in rest if topic not in same)]

    def _parsed(self) -> set[str]:
        return {angle["topic"] for angle in self.log.angles}


def most_released_exchanges(order: Sequence[str]) -> int:
    """The most exchanges that an interview can have: once verdicts are overruled, three on each topic at most."""
    return 1 + FIRST_OVERRULED + 3 * (len(order) + 1 + MOST_ANGLES)
