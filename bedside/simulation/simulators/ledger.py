"""The ledger of one conversation: what was said, the states that nobody is shown, and what is counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from bedside.simulation.simulators.asking import CLINICIAN_REPEATS, Spoken, silent_stop
from bedside.simulation.simulators.calls import Exchange, Line
from bedside.simulation.simulators.contract import Outcome, SpokenTurn, UnusableConversationError

T = TypeVar("T")
#: Messages in a row in which the clinician repeats itself that end a conversation.
REPEATS = 3


@dataclass(slots=True)
class Ledger:
    """What a simulator writes down while a conversation goes on.

    Attributes:
        turns: as they are written down.
        lines: what was said, as both sides see it.
        states: hidden states, decisions and candidates: flat objects with ``turn`` (index) and ``purpose``.
        flags: what is to be counted.
    """

    turns: list[SpokenTurn] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)
    states: list[dict[str, Any]] = field(default_factory=list)
    flags: Counter[str] = field(default_factory=Counter)

    def keep(self, course: Exchange[T]) -> Exchange[T]:
        """A course to its end; where the conversation can't be used, the error carries the states up to there.

        Raises:
            UnusableConversationError: the course does.
        """
        try:
            return (yield from course)
        except UnusableConversationError as error:
            raise UnusableConversationError(error.whose, error.reason, error.detail, self.states) from error

    def say(
        self,
        role: Literal["clinician", "patient"],
        spoken: Spoken,
        meta: Mapping[str, Any] | None = None,
        labels: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        """Write a message down, and count its faults and what was refused of the patient before it.

        Args:
            role: who speaks.
            spoken: the message.
            meta: what the turn's ``meta`` holds beside thought and flags.
            labels: what the evaluator says of the turn.
        """
        marks = dict(meta or {})
        if spoken.thought:
            marks["thought"] = spoken.thought
        if spoken.flags:
            marks["flags"] = list(spoken.flags)
        self.flags.update(f"{role}: {flag}" for flag in spoken.flags)
        if role == "patient":
            self.flags.update(f"patient, refused: {reason}" for _, reason in spoken.refused)
        self.turns.append(SpokenTurn(role, spoken.text, marks, labels or {}))
        self.lines.append(Line(role, spoken.text))

    def note(self, purpose: str, **content: Any) -> None:
        """Keep a state of the turn that comes next."""
        self.states.append({"turn": len(self.turns), "purpose": purpose, **content})

    def note_last(self, purpose: str, **content: Any) -> None:
        """Keep a state of the turn that was written down last."""
        self.states.append({"turn": len(self.turns) - 1, "purpose": purpose, **content})

    def note_refused(self, purpose: str, spoken: Spoken) -> None:
        """Keep what was replied and not taken before a message, a state each."""
        for text, reason in spoken.refused:
            self.note(purpose, refused=text, reason=reason)

    def silence(self, flags: Sequence[str]) -> str:
        """Why the conversation ends with a clinician's message that is none, whose faults are counted."""
        self.flags.update(f"clinician: {flag}" for flag in flags)
        return silent_stop(flags)

    def repeated(self) -> str:
        """Why the conversation ends where the clinician repeated itself several times running; else nothing."""
        last = [turn.meta.get("flags", ()) for turn in self.turns if turn.role == "clinician"][-REPEATS:]
        return CLINICIAN_REPEATS if len(last) == REPEATS and all("repeats itself" in flags for flags in last) else ""

    def outcome(self, stop: str, *, completed: bool, **rest: Any) -> Outcome:
        """What the conversation came to; ``rest`` are an outcome's other fields."""
        return Outcome(
            tuple(self.turns),
            stop,
            completed,
            states=tuple(self.states),
            flags={name: number for name, number in self.flags.items() if number},
            **rest,
        )
