"""The rules of a session that no model decides: what may be chosen when, rapport's arithmetic, lengths, repetition."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Literal

from bedside.core.errors import InputError
from bedside.simulation.simulators.calm_it.labels import UNHELPFUL, labels
from bedside.simulation.simulators.fault_patterns import HAN_CHARACTER, WORD

Side = Literal["clinician", "patient"]

#: Messages at the end that are kept for closing, and the largest part of a session that they are.
CLOSING, CLOSING_SHARE = 10, 0.5
#: Share of the target length from which there is planning.
PLAN_SHARE = 0.4
#: Message from which the ruler of readiness may be used, and from which a side may end the session.
RULER_FROM, END_FROM = 20, 3
RULER = "assessing readiness"
#: Times running that a strategy may be used, strategies that are looked back on, and times running that a client's
#: action may be the same before the talk counts as stuck.
RUNNING, STRATEGIES_SHOWN, SAME_ACTIONS = 2, 10, 4
#: Similarity of a side's last message with one of so many before it from which it counts as repeated.
SIMILAR, COMPARED = 0.5, 3
#: What a step of rapport may be, and the lowest that a reply may ask for.
LOWEST_STEP, HIGHEST_STEP, LOWEST_ASKED = -0.10, 0.05, -0.20
_DIGITS = 4
#: Shortest session: a greeting, the client's reason, one exchange, a farewell, the closing line.
SHORTEST = 6


def session_length(length: int | None) -> int:
    """The target length, in messages.

    Raises:
        InputError: no session can have it: the therapist opens and the client closes, so that it is even.
    """
    if length is None or length < SHORTEST or length % 2:
        raise InputError(
            f"a session of CALM-IT can't have {length} messages",
            where="`lengths`",
            todo=f"give even numbers from {SHORTEST}: the therapist opens, and the client has the last word",
        )
    return length


def closing_from(length: int) -> int:
    """Index of the first message that is kept for closing."""
    return length - min(CLOSING, math.floor(length * CLOSING_SHARE))


def plan_from(length: int) -> int:
    """Index of the first message from which there may be planning."""
    return math.ceil(length * PLAN_SHARE)


def allowed_strategies(used: Sequence[str], index: int) -> tuple[str, ...]:
    """Strategies for a message: none three times running, and the ruler from message 20 on.

    Args:
        used: those of the therapist's messages before it, in order.
        index: of the message.
    """
    running = used[-1] if len(used) >= RUNNING and len(set(used[-RUNNING:])) == 1 else None
    return tuple(
        name for name in labels("strategies") if name != running and (name != RULER or index >= RULER_FROM)
    )


def allowed_processes(current: str, index: int, length: int) -> tuple[str, ...]:
    """The process of motivational interviewing that there is, and the next; planning not before its time."""
    names = tuple(labels("processes"))
    place = names.index(current)
    following = names[place : place + 2]
    return tuple(name for name in following if name != "planning" or index >= plan_from(length))


def allowed_stages(current: str, appraisal: str) -> tuple[str, ...]:
    """Stages that the client can be in now: this one, the next, and those before only after what was unhelpful."""
    names = tuple(labels("stages"))
    place = names.index(current)
    return names[0 if appraisal in UNHELPFUL else place : place + 2]


def allowed_actions(index: int, length: int, stage: str) -> tuple[str, ...]:
    """Actions for a client's message: no plan before its time or in precontemplation, no leaving at the very start."""
    without = set()
    if index < plan_from(length) or stage == "precontemplation":
        without.add("plan")
    if index < END_FROM:
        without.add("terminate")
    return tuple(name for name in labels("actions") if name not in without)


@dataclass(frozen=True, slots=True)
class RapportStep:
    """A step of rapport.

    Attributes:
        value: the new rapport, from -1 to 1.
        step: what was added.
        clamped: whether the reply asked for a larger loss than there can be.
        clipped: whether the sum was cut to -1 or 1.
    """

    value: float
    step: float
    clamped: bool
    clipped: bool


def stepped(rapport: float, asked: float) -> RapportStep:
    """Rapport after a step: the step is from -0.10 to 0.05, the sum from -1 to 1."""
    step = min(HIGHEST_STEP, max(LOWEST_STEP, asked))
    total = round(rapport + step, _DIGITS)
    value = min(1.0, max(-1.0, total))
    return RapportStep(value, step, step != asked, value != total)


@dataclass(frozen=True, slots=True)
class TurnLength:
    """How long a message is to be.

    Attributes:
        name: of the class.
        low, high: words.
    """

    name: str
    low: int
    high: int

    @property
    def text(self) -> str:
        """The range, as a prompt says it."""
        return f"{self.low} to {self.high}"


#: Words above which a client's message is too long: twice what the longest class asks for. A class is a wish.
MOST_WORDS = 70

#: Classes of length by side, each with how often it is drawn. Silence is never drawn: a turn has words.
TURN_LENGTHS: dict[Side, tuple[tuple[TurnLength, float], ...]] = {
    "clinician": (
        (TurnLength("very short", 1, 6), 0.10),
        (TurnLength("short", 7, 18), 0.30),
        (TurnLength("medium", 19, 60), 0.60),
    ),
    "patient": (
        (TurnLength("very short", 1, 6), 0.15),
        (TurnLength("short", 7, 18), 0.35),
        (TurnLength("medium", 19, 35), 0.50),
    ),
}


def drawn_length(side: Side, stream: random.Random) -> TurnLength:
    """A class of length, drawn."""
    classes = TURN_LENGTHS[side]
    return stream.choices([kind for kind, _ in classes], [weight for _, weight in classes])[0]


def similarity(text: str, other: str) -> float:
    """Jaccard similarity of two texts' triples of neighbouring words, 0 to 1; a shorter text is one unit."""
    first, second = _trigrams(text), _trigrams(other)
    return len(first & second) / len(first | second) if first | second else 0.0


@lru_cache(maxsize=4096)
def _trigrams(text: str) -> frozenset[tuple[str, ...]]:
    # A message is compared with all that come after it.
    plain = text.casefold().replace("’", "'")
    words = [*WORD.findall(plain), *HAN_CHARACTER.findall(plain)]
    if len(words) < 3:
        return frozenset({tuple(words)}) if words else frozenset()
    return frozenset(zip(words, islice(words, 1, None), islice(words, 2, None), strict=False))


def goes_in_circles(own: Sequence[str], actions: Sequence[str]) -> bool:
    """Whether the talk is stuck by rule: the therapist's last message says again what one of the three before it did,
    or the client did the same four times running.

    Args:
        own: the therapist's messages, in order.
        actions: the client's actions, in order.
    """
    if len(own) > 1 and any(similarity(own[-1], text) >= SIMILAR for text in own[-COMPARED - 1 : -1]):
        return True
    return len(actions) >= SAME_ACTIONS and len(set(actions[-SAME_ACTIONS:])) == 1
