"""One conversation while it is held: the ledger of what was said, of hidden states and counts, and who is asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeVar

from bedside.simulation.simulators.asking import (
    CLINICIAN_REPEATS,
    Decided,
    Fault,
    Spoken,
    ask_clinician,
    ask_for_data,
    ask_patient,
    silent_stop,
)
from bedside.simulation.simulators.calls import ActorRole, Call, Exchange, Line
from bedside.simulation.simulators.case import Case
from bedside.simulation.simulators.contract import Outcome, Situation, SpokenTurn, UnusableConversationError
from bedside.simulation.simulators.faults import clinician_watch, patient_fault
from bedside.simulation.simulators.prompt_files import FilledPrompt, filled_prompt, prompt_call

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

    def texts(self, role: Literal["clinician", "patient"]) -> list[str]:
        """What one side said, in order."""
        return [line.text for line in self.lines if line.role == role]

    def count_unreadable(self, purpose: str) -> None:
        """Count a decision of the clinician's that couldn't be read."""
        self.flags[f"clinician: {purpose} can't be read"] += 1

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


class ProtocolTalk:
    """One conversation under way. A protocol derives its own, and says the course and what it came to.

    Args:
        situation: what it starts from.

    Attributes:
        folder: of the protocol, in which its prompts stand.
        situation: as given.
        case: whose conversation it is.
        language: code of its language.
        options: a value for each of the simulator's.
        ledger: what was said, kept and counted.
    """

    folder: ClassVar[Path]

    def __init__(self, situation: Situation) -> None:
        self.situation = situation
        self.case: Case = situation.case
        self.language: str = situation.case.language
        self.options: Mapping[str, Any] = situation.options
        self.ledger = Ledger()

    @classmethod
    def converse(cls, situation: Situation) -> Exchange[Outcome]:
        """The controller; see :mod:`bedside.simulation.simulators.calls`."""
        talk = cls(situation)
        return (yield from talk.ledger.keep(talk.hold()))

    def hold(self) -> Exchange[Outcome]:
        """All of it."""
        return self.outcome((yield from self.course()))

    def course(self) -> Exchange[str]:
        """What is said, up to the end; why it ended."""
        raise NotImplementedError

    def outcome(self, stop: str) -> Outcome:
        """What it came to; ``stop`` is why it ended."""
        raise NotImplementedError

    # -- asking -------------------------------------------------------------------------------------------

    def prompt(self, name: str, **slots: str | int) -> FilledPrompt:
        """A prompt of the protocol with what its slots hold."""
        return filled_prompt(self.folder, name, self.language, **slots)

    def call(self, actor: ActorRole, purpose: str, number: int, *prompts: FilledPrompt | None, **more: Any) -> Call:
        """A call made of prompts, see :func:`.prompt_call`; a side is shown all that was said unless told otherwise."""
        if actor in ("clinician", "patient"):
            more = {"history": tuple(self.ledger.lines), **more}
        return prompt_call(actor, purpose, number, *prompts, **more)

    def ask_clinician(self, number: int, *prompts: FilledPrompt | None, **more: Any) -> Exchange[Spoken]:
        """The clinician's message number ``number``, from 1, with its faults; ``more`` is the call's."""
        purpose = more.pop("purpose", "message")
        call = self.call("clinician", purpose, number, *prompts, **more)
        return (yield from ask_clinician(call, clinician_watch(self.ledger.lines, self.language)))

    def ask_patient(self, call: Call, *, sentences: int | None, words: int | None) -> Exchange[Spoken]:
        """A message of the patient, of so many sentences and words at most."""
        own = self.ledger.texts("patient")

        def check(text: str) -> Fault | None:
            return patient_fault(text, language=self.language, earlier=own, sentences=sentences, words=words)

        return (yield from ask_patient(call, check))

    def decide(self, call: Call, read: Callable[[Any], Any], *, neutral: Any = None) -> Exchange[Decided]:
        """An object that somebody is asked for; a clinician's that can't be read is counted."""
        decided = yield from ask_for_data(replace(call, kind="data"), read, neutral=neutral)
        if not decided.readable:
            self.ledger.count_unreadable(call.purpose)
        return decided
