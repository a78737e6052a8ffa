"""The evaluator's calls about a side: inputs as JSON, a closed set to choose from, a strictly read reply.

Everything that such a call holds stands in its inputs: what they leave out, the call can't give away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import orjson

from bedside.simulation.simulators.asking import ask_for_data
from bedside.simulation.simulators.calls import Call, Exchange, Line
from bedside.simulation.simulators.calm_it.columns import Feeling
from bedside.simulation.simulators.calm_it.labels import BACKGROUND_KEYS, labels, labels_reference, listed
from bedside.simulation.simulators.calm_it.turn_rules import HIGHEST_STEP, LOWEST_ASKED, stepped
from bedside.simulation.simulators.ledger import Ledger
from bedside.simulation.simulators.prompt_files import filled_prompt

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
        view = prompt_text(f"{self.side}_view", self.language)
        variables = {"inputs": as_json(inputs)} | ({"choices": choices} if choices else {})
        name = "summary" if question == "summary" else f"{self.side}_{question}"
        prompt = prompt_text(name, self.language, **variables)
        references = [view.reference, prompt.reference, *([labels_reference()] if choices else [])]
        call = Call(
            "evaluator",
            f"{self.side} {question}",
            number,
            brief=view.brief,
            instruction=prompt.instruction,
            kind="data",
            schema=narrowed(prompt.schema or {}, enums or {}),
            material={**inputs, **{f"allowed_{key}": list(values) for key, values in (enums or {}).items()}},
            prompt=" ".join(references),
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
