"""What a schedule has done and asks to be done: messages of the doctor, and the evaluator's answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from bedside.simulation.simulators.calls import Exchange
from bedside.simulation.simulators.mdd5k.doctor import AskedTopic


class InterviewSteps(Protocol):
    """What a schedule asks of whoever holds the interview; each step is a part of the controller."""

    @property
    def exchanges(self) -> int:
        """Exchanges so far."""
        ...

    @property
    def spoken(self) -> int:
        """Messages so far, of both sides."""
        ...

    def ask(self, topic: AskedTopic) -> Exchange[str]:
        """One message of the doctor and the answer to it; why the interview ends with it, empty where it goes on."""
        ...

    def topic_ends(self, topic: str, start: int) -> Exchange[bool]:
        """Whether enough was said on a topic in the messages from ``start`` on."""
        ...

    def answered(self, topics: Sequence[str]) -> Exchange[Mapping[str, str]]:
        """Topics that the patient has already answered, with the words that answer them."""
        ...

    def angles(self, most: int) -> Exchange[tuple[str, ...]]:
        """Angles from which to go on asking about what the patient told."""
        ...

    def covered(self, topics: Sequence[str], angles: Sequence[str]) -> Exchange[Mapping[str, str]]:
        """Topics that mean the same as an angle, with the angle."""
        ...

    def same_topics(self, topics: Sequence[str], angles: Sequence[str]) -> Exchange[tuple[str, ...]]:
        """Topics that mean the same as one of the angles, each judged by itself."""
        ...


@dataclass(slots=True)
class ScheduleLog:
    """What a schedule did, for the transcript's ``reference.simulation.tree``.

    Attributes:
        order: the topics as they were drawn, the root first where it is one.
        asked: topics in the order in which they were first asked about.
        angles: topics that grew from what the patient said, with the topic that they grew under, or ``parse``.
        deletions: topics that weren't asked about, by whom (``answered``: the patient's words; ``angle``: an angle
            that means the same), with the evidence.
        notes: what else happened, such as angles for which there was no room.
    """

    order: tuple[str, ...]
    asked: list[str] = field(default_factory=list)
    angles: list[dict[str, str]] = field(default_factory=list)
    deletions: list[dict[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def drop(self, topic: str, by: str, evidence: str) -> None:
        """Note that a topic is left out."""
        self.deletions.append({"topic": topic, "by": by, "evidence": evidence})

    def content(self) -> dict[str, Any]:
        """It, as it is written down."""
        return {
            "order": list(self.order),
            "asked": list(self.asked),
            "angles": list(self.angles),
            "deletions": list(self.deletions),
            **({"notes": list(self.notes)} if self.notes else {}),
        }
