"""The rules of a session that no model decides, and the evaluator's calls about a side, each a closed set.

Everything that such a call holds stands in its inputs: what they leave out, the call can't give away.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import orjson

from bedside.core.errors import InputError
from bedside.simulation.simulators.asking import ask_for_data
from bedside.simulation.simulators.calls import Exchange, Line
from bedside.simulation.simulators.calm_it.client_fields import (
    BACKGROUND_KEYS,
    UNHELPFUL,
    Feeling,
    labels,
    labels_reference,
    listed,
)
from bedside.simulation.simulators.faults import HAN_CHARACTER, WORD
from bedside.simulation.simulators.ledger import Ledger
from bedside.simulation.simulators.prompt_files import filled_prompt, prompt_call

# -- The rules of a session that no model decides -------------------------------------------------------

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
    return tuple(name for name in labels("strategies") if name != running and (name != RULER or index >= RULER_FROM))


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


# -- The evaluator's calls about a side -----------------------------------------------------------------

FOLDER = Path(__file__).parent
#: A prompt with what its slots hold.
prompt_text = partial(filled_prompt, FOLDER)
#: Messages at the end of what was said that state calls see.
MESSAGES_SHOWN = 6
_INTENSITIES = ("", "low", "medium", "high")
_SPEAKERS = {"clinician": "Therapist", "patient": "Client"}
_MOST_SECONDARY, _MOST_GOALS, _CHOSEN = 2, 3, 3


def as_json(inputs: Mapping[str, Any]) -> str:
    """Inputs as a prompt shows them."""
    return orjson.dumps(dict(inputs), option=orjson.OPT_INDENT_2).decode()


def last_messages(lines: Sequence[Line]) -> list[dict[str, str]]:
    """The last messages with their speakers."""
    return [{"speaker": _SPEAKERS[line.role], "text": line.text} for line in lines[-MESSAGES_SHOWN:]]


@dataclass(slots=True)
class SideCalls:
    """The calls about one side.

    Attributes:
        side: whose they are.
        language: of the conversation.
        ledger: of the session; purpose, value and refused replies are kept, and steps of rapport that were clamped and
            sums that were clipped are counted.
    """

    side: Literal["therapist", "client"]
    language: str
    ledger: Ledger

    def ask(
        self,
        question: str,
        number: int,
        inputs: Mapping[str, Any],
        read: Callable[[Any], Any],
        *,
        choices: str = "",
        enums: Mapping[str, Sequence[str]] | None = None,
    ) -> Exchange[Any]:
        """Ask one thing.

        Args:
            question: the prompt's name without its side, and with the side the call's purpose.
            number: of the side's turn, from 1.
            inputs: all that the call holds.
            read: makes the value of the reply's object, or raises a ValueError.
            choices: what can be chosen, as the prompt shows it; empty where it is no choice.
            enums: what can be chosen, by the reply's field.
        """
        variables = {"inputs": as_json(inputs)} | ({"choices": choices} if choices else {})
        prompt = prompt_text(
            "summary" if question == "summary" else f"{self.side}_{question}", self.language, **variables
        )
        call = prompt_call(
            "evaluator",
            f"{self.side} {question}",
            number,
            prompt_text(f"{self.side}_view", self.language),
            prompt,
            schema=narrowed(prompt.schema or {}, enums or {}),
            material={**inputs, **{f"allowed_{key}": list(values) for key, values in (enums or {}).items()}},
            sources=[labels_reference()] if choices else (),
        )
        decided = yield from ask_for_data(call, read)
        refused = {"refused": decided.refused} if decided.refused else {}
        self.ledger.note(call.purpose, value=_plain(decided.value), **refused)
        return decided.value

    def label(
        self, question: str, number: int, inputs: Mapping[str, Any], kind: str, allowed: Iterable[str]
    ) -> Exchange[str]:
        """Ask for one label of those that are allowed."""
        names = tuple(allowed)
        chosen: str = yield from self.ask(
            question,
            number,
            inputs,
            lambda value: _one_of(value, "label", names),
            choices=listed(kind, names),
            enums={"label": names},
        )
        return chosen

    def feeling(self, number: int, inputs: Mapping[str, Any]) -> Exchange[Feeling]:
        """Ask for an emotion."""
        names = tuple(labels("emotions"))
        enums = {"primary": names, "secondary": names, "intensity": _INTENSITIES}
        feeling: Feeling = yield from self.ask(
            "emotion", number, inputs, _feeling, choices=listed("emotions", names), enums=enums
        )
        return feeling

    def rapport(self, number: int, inputs: Mapping[str, Any], before: float) -> Exchange[float]:
        """Ask for a step of rapport; the rapport after it."""
        step = stepped(before, (yield from self.ask("rapport", number, inputs, _delta)))
        self.ledger.flags[f"{self.side}: step of rapport clamped"] += step.clamped
        self.ledger.flags[f"{self.side}: rapport clipped"] += step.clipped
        return step.value

    def text(self, question: str, number: int, inputs: Mapping[str, Any], key: str) -> Exchange[str]:
        """Ask for a text."""
        text: str = yield from self.ask(question, number, inputs, lambda value: _words(value, key))
        return text


def narrowed(schema: Mapping[str, Any], enums: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """A schema of which some fields, or the items of some, can hold no other texts than these."""
    properties = dict(schema.get("properties", {}))
    for name, values in enums.items():
        part = dict(properties[name])
        if part["type"] == "array":
            part["items"] = {**part["items"], "enum": list(values)}
        else:
            part["enum"] = list(values)
        properties[name] = part
    return {**schema, "properties": properties}


def _plain(value: Any) -> Any:
    return value.content() if isinstance(value, Feeling) else value


def _field(value: Any, key: str) -> Any:
    if not isinstance(value, dict) or key not in value:
        raise ValueError(f'there is no "{key}"')
    return value[key]


def _one_of(value: Any, key: str, allowed: Sequence[str]) -> str:
    label = _field(value, key)
    if label not in allowed:
        raise ValueError(f'"{key}" must be one of: {"; ".join(allowed)}')
    return str(label)


def _words(value: Any, key: str) -> str:
    text = _field(value, key)
    if not isinstance(text, str) or not text.strip():
        raise ValueError(f'"{key}" must be a text with words in it')
    return " ".join(text.split())


def _delta(value: Any) -> float:
    delta = _field(value, "delta")
    if isinstance(delta, bool) or not isinstance(delta, int | float) or not delta == delta:
        raise ValueError('"delta" must be a number')
    if not LOWEST_ASKED <= delta <= HIGHEST_STEP:
        raise ValueError(f'"delta" must be from {LOWEST_ASKED:.2f} to {HIGHEST_STEP:.2f}')
    return float(delta)


def _feeling(value: Any) -> Feeling:
    names = tuple(labels("emotions"))
    primary = _one_of(value, "primary", names)
    secondary = value.get("secondary", [])
    if not isinstance(secondary, list) or not all(name in names for name in secondary):
        raise ValueError(f'"secondary" must be a list of: {"; ".join(names)}')
    others = tuple(dict.fromkeys(name for name in secondary if name != primary))
    if len(others) > _MOST_SECONDARY:
        raise ValueError('"secondary" may hold at most two emotions')
    intensity = value.get("intensity", "")
    if intensity not in _INTENSITIES:
        raise ValueError('"intensity" must be low, medium, high or empty')
    return Feeling(primary, others, str(intensity))


def read_appraisal(value: Any) -> tuple[str, str]:
    """An appraisal and the client's reason for it."""
    return _one_of(value, "label", tuple(labels("appraisals"))), _words(value, "reason")


def read_repetition(value: Any) -> bool:
    """Whether the talk goes in circles."""
    repeats = _field(value, "repetition")
    if repeats not in (0, 1):
        raise ValueError('"repetition" must be 0 or 1')
    return bool(repeats)


def read_goals(value: Any) -> tuple[str, ...]:
    """What the client may want."""
    goals = _field(value, "goals")
    if not isinstance(goals, list) or not all(isinstance(goal, str) and goal.strip() for goal in goals):
        raise ValueError('"goals" must be a list of sentences')
    if not 1 <= len(goals) <= _MOST_GOALS:
        raise ValueError('"goals" must hold one to three sentences')
    return tuple(" ".join(goal.split()) for goal in goals)


def read_updates(value: Any) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """What is new in the picture of the client."""
    updates = _field(value, "updates")
    if not isinstance(updates, list):
        raise ValueError('"updates" must be a list')
    entries = []
    for update in updates:
        key, values = _one_of(update, "key", BACKGROUND_KEYS), _field(update, "values")
        if not isinstance(values, list) or not all(isinstance(each, str) and each.strip() for each in values):
            raise ValueError('"values" must be a list of texts')
        entries.append((key, tuple(" ".join(each.split()) for each in values)))
    return tuple(entries)


def strategies_reader(allowed: Sequence[str]) -> Callable[[Any], tuple[str, ...]]:
    """Reads three different strategies of those that are allowed, best first."""

    def read(value: Any) -> tuple[str, ...]:
        names = _field(value, "strategies")
        if not isinstance(names, list) or not all(name in allowed for name in names):
            raise ValueError(f'"strategies" must be a list of: {"; ".join(allowed)}')
        if len(names) != _CHOSEN or len(set(names)) != _CHOSEN:
            raise ValueError('"strategies" must be three different ones')
        return tuple(names)

    return read
