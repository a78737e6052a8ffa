"""What the evaluator says of an interview while it is held: closed questions, answered by structured replies.

None of them is told anything of the case: they read what was said, and the topics.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bedside.simulation.simulators.asking import ask_for_data, flag_reader
from bedside.simulation.simulators.calls import Call, Exchange, together
from bedside.simulation.simulators.ledger import Ledger
from bedside.simulation.simulators.mdd5k.bundled_material import interview_prompt

#: Angles that are asked for at once, at least and at most.
FEWEST_ANGLES, MOST_ANGLES = 2, 3
#: Letters and figures that words must have to be quoted as an answer.
SHORTEST_QUOTE = 4
_SPEAKERS: Mapping[str, Mapping[str, str]] = {
    "zh": {"clinician": "医生：", "patient": "患者："},
    "en": {"clinician": "Doctor: ", "patient": "Patient: "},
}


@dataclass(slots=True)
class InterviewTools:
    """The evaluator's part of one interview.

    Attributes:
        language: code of the case's language.
        ledger: of the interview.
        numbers: calls at each site so far.
    """

    language: str
    ledger: Ledger
    numbers: Counter[str] = field(default_factory=Counter)

    def topic_ends(self, topic: str, start: int) -> Exchange[bool]:
        """Whether enough was said on a topic in the messages from ``start`` on."""
        material = {"topic": topic, "dialogue": self._dialogue(start)}
        decided: bool = yield from self._asked(
            "topic_end", material, flag_reader("ended"), about={"topic": topic}
        )
        return decided

    def answered(self, topics: Sequence[str]) -> Exchange[Mapping[str, str]]:
        """Topics that the patient has already answered, with the words that answer them.

        A topic counts only where the words that are quoted are the patient's own.
        """
        said = [_plain(line.text) for line in self.ledger.lines if line.role == "patient"]

        def read(value: Any) -> dict[str, str]:
            pairs = _items(value, "answered", "topic", "quote")
            if not all(isinstance(quote, str) for _, quote in pairs):
                raise ValueError('each "quote" must be a text')
            return {topics[_place(number, topics, "topic")]: quote.strip() for number, quote in pairs}

        material = {"topics": _numbered_lines(topics), "dialogue": self._dialogue()}
        replied: dict[str, str] = yield from self._asked(
            "duplicates", material, read, most={"topic": len(topics)}
        )
        quoted = {
            topic: quote
            for topic, quote in replied.items()
            if len(_plain(quote)) >= SHORTEST_QUOTE and any(_plain(quote) in text for text in said)
        }
        unquoted = sorted(set(replied) - set(quoted))
        if unquoted:
            self.ledger.note_last("duplicates", **{"not the patient's words": unquoted})
        return quoted

    def angles(self, most: int) -> Exchange[tuple[str, ...]]:
        """Angles from which to go on asking about what the patient told, ``most`` of them at most."""

        def read(value: Any) -> tuple[str, ...]:
            angles = value.get("angles") if isinstance(value, dict) else None
            if not isinstance(angles, list) or not all(
                isinstance(angle, str) and angle.strip() for angle in angles
            ):
                raise ValueError('"angles" must be a list of texts')
            distinct = tuple(dict.fromkeys(angle.strip() for angle in angles))
            if not FEWEST_ANGLES <= len(distinct) <= MOST_ANGLES:
                raise ValueError(f"there must be {FEWEST_ANGLES} or {MOST_ANGLES} different angles")
            return distinct

        texts: tuple[str, ...] = yield from self._asked("angles", {"dialogue": self._dialogue()}, read)
        return texts[:most]

    def covered(self, topics: Sequence[str], angles: Sequence[str]) -> Exchange[Mapping[str, str]]:
        """Topics that mean the same as an angle, with the angle: all in one call."""

        def read(value: Any) -> dict[str, str]:
            return {
                topics[_place(topic, topics, "topic")]: angles[_place(angle, angles, "angle")]
                for topic, angle in _items(value, "covered", "topic", "angle")
            }

        material = {"topics": _numbered_lines(topics), "angles": _numbered_lines(angles)}
        most = {"topic": len(topics), "angle": len(angles)}
        replied: dict[str, str] = yield from self._asked("covered", material, read, most=most)
        return replied

    def same_topics(self, topics: Sequence[str], angles: Sequence[str]) -> Exchange[tuple[str, ...]]:
        """Topics that mean the same as one of the angles, or nearly: each is asked about in a call of its own."""
        verdicts = yield from together(
            *(
                self._asked(
                    "same_topic",
                    {"topic": topic, "angles": _numbered_lines(angles)},
                    flag_reader("same"),
                    about={"topic": topic},
                )
                for topic in topics
            )
        )
        return tuple(topic for topic, same in zip(topics, verdicts, strict=True) if same)

    def story_is_due(self) -> Exchange[bool]:
        """Whether the patient should now tell what led to the illness."""
        due: bool = yield from self._asked("trigger", {"dialogue": self._dialogue()}, flag_reader("due"))
        return due

    def interview_ends(self) -> Exchange[bool]:
        """Whether an interview without topics should end."""
        ends: bool = yield from self._asked(
            "interview_end", {"dialogue": self._dialogue()}, flag_reader("ended")
        )
        return ends

    def _asked(
        self,
        purpose: str,
        material: Mapping[str, str],
        read: Callable[[Any], Any],
        *,
        about: Mapping[str, Any] | None = None,
        most: Mapping[str, int] | None = None,
    ) -> Exchange[Any]:
        """What is replied to the prompt that is called after the purpose; ``most`` bounds numbers of listed things."""
        self.numbers[purpose] += 1
        filled = interview_prompt(purpose, self.language, **material)
        call = Call(
            "evaluator",
            purpose,
            self.numbers[purpose],
            instruction=filled.instruction,
            kind="data",
            schema=_bounded(filled.schema, most or {}),
            material={"language": self.language, **material},
            prompt=filled.reference,
        )
        decided = yield from ask_for_data(call, read)
        refused = {"refused": decided.refused} if decided.refused else {}
        self.ledger.note_last(purpose, **(about or {}), value=decided.value, **refused)
        return decided.value

    def _dialogue(self, start: int = 0) -> str:
        speakers, lines = _SPEAKERS[self.language], self.ledger.lines[start:]
        return "\n".join(f"{speakers[line.role]}{' '.join(line.text.split())}" for line in lines)


def _items(value: Any, name: str, *keys: str) -> list[tuple[Any, ...]]:
    """The parts of each object in a list."""
    items = value.get(name) if isinstance(value, dict) else None
    if not isinstance(items, list):
        raise ValueError(f'"{name}" must be a list')
    if not all(isinstance(item, dict) and set(keys) <= set(item) for item in items):
        raise ValueError(f'each item of "{name}" needs {" and ".join(map(repr, keys))}')
    return [tuple(item[key] for key in keys) for item in items]


def _place(number: Any, things: Sequence[str], noun: str) -> int:
    """Where a thing stands that a number from 1 names."""
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= len(things):
        raise ValueError(f"there is no {noun} {number!r}: they are numbered from 1 to {len(things)}")
    return number - 1


def _bounded(schema: Any, most: Mapping[str, int]) -> Any:
    """A schema whose numbers of listed things go no further than there are things."""
    if isinstance(schema, Mapping):
        return {
            key: {**part, "maximum": most[key]}
            if key in most and isinstance(part, Mapping)
            else _bounded(part, most)
            for key, part in schema.items()
        }
    return [_bounded(part, most) for part in schema] if isinstance(schema, list) else schema


def _numbered_lines(texts: Sequence[str]) -> str:
    return "\n".join(f"{number}. {text}" for number, text in enumerate(texts, start=1))


def _plain(text: str) -> str:
    """A text's letters and figures alone, in one form."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text).casefold()))
