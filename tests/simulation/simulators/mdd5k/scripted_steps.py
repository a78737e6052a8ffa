"""An interview that is only counted: who asks is a list, and what the evaluator says is a function."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from bedside.simulation.simulators.contract import Draws
from bedside.simulation.simulators.mdd5k.case_fields import FOLDER
from bedside.simulation.simulators.mdd5k.doctor import AskedTopic, TopicTree, read_tree
from bedside.simulation.simulators.mdd5k.interview import CorrectedSchedule, ReleasedSchedule

GROUPS = ("female_teen", "female_adult", "male_teen", "male_adult")


def tree(group: str, language: str = "zh") -> TopicTree:
    return read_tree(FOLDER / "trees" / language / f"{group}.json")


def often(draw: Random) -> Callable[[str, int], bool]:
    """Verdicts of which four of five end a topic."""
    return lambda topic, number: draw.random() < 0.8


@dataclass
class ScriptedSteps:
    """What a schedule asks for, without anybody who speaks.

    Attributes:
        verdict: whether a topic ends, by the topic and the number of verdicts before.
        kinds: angles that grow each time.
        said: topics that the patient has answered already, by the number of exchanges so far.
        same: topics that mean the same as an angle.
    """

    verdict: Callable[[str, int], bool] = lambda topic, number: True
    kinds: Callable[[int], int] = lambda number: 2
    said: Callable[[int, Sequence[str]], Sequence[str]] = lambda exchanges, topics: ()
    same: Callable[[Sequence[str]], Sequence[str]] = lambda topics: ()
    asked: list[AskedTopic] = field(default_factory=list)
    judged: list[tuple[str, int]] = field(default_factory=list)
    parses: int = 0

    @property
    def exchanges(self) -> int:
        return len(self.asked)

    @property
    def spoken(self) -> int:
        return 2 * len(self.asked)

    def ask(self, topic: AskedTopic) -> Generator[Any, Any, str]:
        self.asked.append(topic)
        return ""
        yield

    def topic_ends(self, topic: str, start: int) -> Generator[Any, Any, bool]:
        self.judged.append((topic, start))
        return self.verdict(topic, len(self.judged) - 1)
        yield

    def answered(self, topics: Sequence[str]) -> Generator[Any, Any, Mapping[str, str]]:
        return {topic: f"said of {topic}" for topic in self.said(self.exchanges, topics)}
        yield

    def angles(self, most: int) -> Generator[Any, Any, tuple[str, ...]]:
        self.parses += 1
        return tuple(f"angle {self.parses}.{n}" for n in range(self.kinds(self.parses)))[:most]
        yield

    def covered(self, topics: Sequence[str], angles: Sequence[str]) -> Generator[Any, Any, Mapping[str, str]]:
        return dict.fromkeys(self.same(topics), angles[0])
        yield

    def same_topics(self, topics: Sequence[str], angles: Sequence[str]) -> Generator[Any, Any, tuple[str, ...]]:
        return tuple(self.same(topics))
        yield


def ended(exchange: Generator[Any, Any, str]) -> str:
    """The result of a part of a controller that asks nobody."""
    try:
        next(exchange)
    except StopIteration as end:
        return str(end.value)
    raise AssertionError("somebody was asked")


def corrected(group: str, seed: int, steps: ScriptedSteps, **more: Any) -> CorrectedSchedule:
    """An interview held as the paper means it."""
    topics = tree(group)
    schedule = CorrectedSchedule(topics, topics.order(Draws(seed, "case"), 1), steps, **more)
    assert ended(schedule.hold()) == ""
    return schedule


def released(group: str, seed: int, steps: ScriptedSteps) -> ReleasedSchedule:
    """An interview held as the released code holds it."""
    topics = tree(group)
    schedule = ReleasedSchedule(
        topics,
        topics.order(Draws(seed, "case"), 1),
        steps,
        opening=group.startswith("female"),
        draws=Draws(seed, "talk"),
    )
    assert ended(schedule.hold()) == ""
    return schedule
