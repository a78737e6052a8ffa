"""What each side has for itself: the client's true state, the therapist's picture of it. Neither reads the other's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bedside.simulation.simulators.calls import Line
from bedside.simulation.simulators.calm_it.labels import NEUTRAL


@dataclass(frozen=True, slots=True)
class SessionMoment:
    """Where a session stands when a side is about to speak.

    Attributes:
        number: of the side's turn, from 1.
        index: of its message.
        lines: what was said.
        summary: of it.
        closing: whether the message is one of those that are kept for closing.
    """

    number: int
    index: int
    lines: tuple[Line, ...]
    summary: str
    closing: bool


@dataclass(frozen=True, slots=True)
class Feeling:
    """An emotion.

    Attributes:
        primary: the strongest.
        secondary: at most two others.
        intensity: low, medium, high, or empty where nothing is said of it.
    """

    primary: str
    secondary: tuple[str, ...] = ()
    intensity: str = ""

    def content(self) -> dict[str, Any]:
        """As plain values."""
        return {"primary": self.primary, "secondary": list(self.secondary), "intensity": self.intensity}


@dataclass(frozen=True, slots=True)
class ClientColumn:
    """How the client is.

    Attributes:
        stage: of change.
        feeling: None before it is known.
        rapport: from -1 to 1.
        goal: what they want right now, in their own words.
        appraisal: how the therapist's last message was for them.
        reason: why, in their own words; empty where nobody was asked.
        actions: what they did in their messages so far, in order.
    """

    stage: str
    feeling: Feeling | None
    rapport: float
    goal: str
    appraisal: str = NEUTRAL
    reason: str = ""
    actions: tuple[str, ...] = ()

    def content(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "stage": self.stage,
            "emotion": {} if self.feeling is None else self.feeling.content(),
            "rapport": self.rapport,
            "goal": self.goal,
            "appraisal": self.appraisal,
            "appraisal_reason": self.reason,
            "previous_action": self.actions[-1] if self.actions else "",
        }


@dataclass(frozen=True, slots=True)
class TherapistColumn:
    """What the therapist takes the client to be like, inferred from what was said.

    Attributes:
        background: entries by key; they only grow.
        feeling, stage: None before anything was inferred.
        goals: what the client may want, tentatively, in the third person.
        rapport: from -1 to 1.
        process: of motivational interviewing.
        strategies: those of the therapist's messages so far, in order.
        ranking: the strategies that were last chosen, best first.
    """

    background: tuple[tuple[str, tuple[str, ...]], ...] = ()
    feeling: Feeling | None = None
    stage: str = ""
    goals: tuple[str, ...] = ()
    rapport: float = 0.0
    process: str = "engaging"
    strategies: tuple[str, ...] = ()
    ranking: tuple[str, ...] = ()

    def content(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "background": {key: "; ".join(values) for key, values in self.background},
            "emotion": {} if self.feeling is None else self.feeling.content(),
            "stage": self.stage,
            "goals": list(self.goals),
            "rapport": self.rapport,
            "process": self.process,
        }


def grown(
    background: tuple[tuple[str, tuple[str, ...]], ...], updates: tuple[tuple[str, tuple[str, ...]], ...]
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """A picture of the client with what is new added; nothing is ever taken away."""
    entries = dict(background)
    for key, values in updates:
        before = entries.get(key, ())
        known = {value.casefold() for value in before}
        new = []
        for value in values:
            if value.casefold() not in known:
                known.add(value.casefold())
                new.append(value)
        if new:
            entries[key] = (*before, *new)
    return tuple(entries.items())
