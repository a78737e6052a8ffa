"""A person at the keyboard who is the clinician or the patient of a conversation, one call after the other.

What they see is what a model in their place is sent, and nothing else: their brief, what was said, what is wanted now.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol

import orjson

from bedside.simulation.keyboard_form import KeyboardForm, field_title, neutral_value
from bedside.simulation.typed_lines import TypedAt, TypedLine, TypedLines
from bedside.simulators.calls import ActorReply, Call

#: Seconds before the end of a conversation's time at which the person is told.
REMINDER = 120.0
_HELP = {
    "/chart": "show again what you were told at the start",
    "/plan": "show what the patient is to be guided to, where there is such a plan",
    "/find CATEGORY: TEXT": "note a finding for the form at the end; /find alone lists your notes",
    "/end": "end the conversation, where it can be ended",
    "/help": "show these commands",
}
_CLINICIANS = ("/plan", "/find CATEGORY: TEXT", "/end")


class Screen(Protocol):
    """Where a person reads and types."""

    def show(self, text: str) -> None:
        """Show a line, or an empty one."""

    def line(self, prompt: str) -> str:
        """Wait for a line.

        Raises:
            EOFError: there is no more to come.
        """

    def reminding(self, reminders: Iterable[tuple[float, str]]) -> AbstractContextManager[None]:
        """Show lines, each after as many seconds, unless what is under way ends before."""


@dataclass(slots=True)
class _Sitting:
    """One conversation, as the person sees it.

    Attributes:
        shown: how many of its lines they have seen.
        brief: what they were last told of themselves.
        instruction: what they were last told is wanted.
        reminded: whether they know that time is short.
        over: whether they know that it is over.
    """

    shown: int = 0
    brief: str = ""
    instruction: str = ""
    reminded: bool = False
    over: bool = False
    waiting: list[TypedLine] = field(default_factory=list)


class PersonAtKeyboard:
    """Somebody who takes a side in conversations.

    Args:
        screen: where they read and type.
        lines: where each line is kept as soon as it is typed; lines of a call that were kept aren't typed again.
        minutes: how long a conversation's messages may take; None for no limit.
        clock: seconds.
    """

    def __init__(
        self,
        screen: Screen,
        lines: TypedLines,
        *,
        minutes: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.screen = screen
        self.lines = lines
        self.seconds = None if minutes is None else minutes * 60
        self.clock = clock
        self._sittings: dict[tuple[str, str], _Sitting] = {}

    def reply(self, conversation: str, call: Call) -> ActorReply:
        """What the person replies to a call.

        Args:
            conversation: the conversation's key.
            call: what is asked.

        Raises:
            EOFError: they typed the end of input (Ctrl-D).
        """
        new = (conversation, call.actor) not in self._sittings
        sitting = self._sittings.setdefault((conversation, call.actor), _Sitting())
        at = TypedAt(conversation, call.actor, call.purpose, call.ordinal, call.attempt)
        sitting.waiting = list(self.lines.at(at))
        if new:
            self.say(f"--- A conversation. You are the {call.actor}. /help shows what you can type. ---")
        self._show(sitting, call, whole=new)
        asking = _Asking(self, sitting, call, at)
        return ActorReply(asking.message() if call.kind == "message" else asking.data())

    def _show(self, sitting: _Sitting, call: Call, *, whole: bool) -> None:
        """Show what the person hasn't seen yet: all that was said, or what others said since."""
        if call.brief != sitting.brief:
            seen = set(sitting.brief.splitlines())
            news = [line for line in call.brief.splitlines() if line not in seen]
            if sitting.brief and news:
                self.say("New for you:")
            self.say("\n".join(news))
            sitting.brief = call.brief
        for line in call.history[sitting.shown :]:
            if line.role != call.actor:
                self.say(f"{line.role.capitalize()}: {line.text}")
            elif whole:
                self.say(f"You: {line.text}")
        sitting.shown = max(sitting.shown, len(call.history))
        if call.instruction != sitting.instruction:
            # How a reply is written down is for models.
            lines = (line for line in call.instruction.splitlines() if "JSON" not in line)
            self.say("\n".join(lines).strip())
            sitting.instruction = call.instruction
        if call.objection:
            self.say(call.objection)

    def say(self, text: str) -> None:
        """Show a text, unless it is empty; nothing in it does anything to a terminal."""
        if text:
            self.screen.show(plain(text))


@dataclass(frozen=True, slots=True)
class _Asking:
    """One call, put to the person."""

    person: PersonAtKeyboard
    sitting: _Sitting
    call: Call
    at: TypedAt

    def message(self) -> str:
        """A message; an object in JSON where the call has a schema and the conversation is ended."""
        while True:
            left = self._left()
            if left is not None and left <= 0 and not self.sitting.over:
                self.sitting.over = True
                self._say("Your time for this conversation is over.")
                if self._endings():
                    return self._end()
                self._say("It can't be ended early: bring it to its end in few words.")
            line = self._line("You: ", left)
            if line == "/end" and self._endings():
                if KeyboardForm(self._answer, self._say).fill({"type": "boolean"}, "End the conversation"):
                    return self._end()
            elif line == "/end":
                self._say("This conversation can't be ended here; it ends by itself.")
            elif not line:
                self._say("Type your message and press Enter.")
            elif not self._command(line):
                return line if self.call.schema is None else self._with_fields(line)

    def data(self) -> str:
        """An object that the call's schema describes, in JSON."""
        form = KeyboardForm(self._answer, self._say, self._notes())
        return orjson.dumps(form.fill(self.call.schema or {})).decode()

    def _endings(self) -> dict[str, Any]:
        """The schema's fields beside the message: what a clinician says who ends the conversation."""
        fields: Mapping[str, Any] = (self.call.schema or {}).get("properties", {})
        return {name: schema for name, schema in fields.items() if name != "message"}

    def _with_fields(self, message: str) -> str:
        """A message that doesn't end the conversation, beside fields that say so."""
        fields = {name: neutral_value(schema) for name, schema in self._endings().items()}
        return orjson.dumps({"message": message, **fields}).decode()

    def _end(self) -> str:
        """What ends the conversation; its last message lists what is handed in."""
        form = KeyboardForm(self._answer, self._say, self._notes())
        fields: dict[str, Any] = {}
        for name, schema in self._endings().items():
            fields[name] = schema.get("type") == "boolean" or form.fill(schema, field_title(name, schema))
        entries = [str(entry) for value in fields.values() if isinstance(value, list) for entry in value]
        message = "\n".join(f"{number}. {entry}" for number, entry in enumerate(entries, 1))
        return orjson.dumps({"message": message, **fields}).decode()

    def _answer(self, prompt: str) -> str:
        """A line that is no command."""
        while True:
            line = self._line(prompt)
            if not self._command(line):
                return line

    def _line(self, prompt: str, left: float | None = None) -> str:
        """The next line of this call: one that was kept, or one that is typed now and kept.

        Args:
            prompt: what stands before it.
            left: seconds that remain; None where time doesn't count.
        """
        while self.sitting.waiting:
            kept = self.sitting.waiting.pop(0).text
            if not kept.startswith("/") or kept == "/end":
                self._say(f"{prompt}{kept}")
                return kept
        started = self.person.clock()
        with self.person.screen.reminding(self._reminders(left)):
            line = self.person.screen.line(prompt).strip()
        seconds = self.person.clock() - started if left is not None else 0.0
        self.person.lines.add(TypedLine(self.at, line, round(seconds, 3)))
        return line

    def _reminders(self, left: float | None) -> tuple[tuple[float, str], ...]:
        """What the person is told of their time while they type, and in how many seconds."""
        if left is None or left <= 0:
            return ()
        over = (left, "[Your time is over: finish this message.]")
        if left > REMINDER:
            return (left - REMINDER, f"[{REMINDER / 60:.0f} minutes left]"), over
        if not self.sitting.reminded:
            self.sitting.reminded = True
            self._say(f"[{left / 60:.1f} minutes left]")
        return (over,)

    def _left(self) -> float | None:
        """Seconds that remain for the conversation's messages; None where there is no limit."""
        if self.person.seconds is None:
            return None
        lines = self.person.lines.of(self.at.conversation, self.at.actor)
        return self.person.seconds - sum(line.seconds for line in lines)

    def _command(self, line: str) -> bool:
        """Do what a command says; whether the line is one."""
        if not line.startswith("/"):
            return False
        command, _, rest = line.partition(" ")
        if command == "/chart":
            self._say(_headed(self.call.material.get("chart")) or self.call.brief)
        elif command == "/plan" and self.call.actor == "clinician":
            self._say(self._plan())
        elif command == "/find" and self.call.actor == "clinician":
            self._say("Noted." if rest.strip() else "\n".join(self._notes()) or "You have noted nothing yet.")
        else:
            if command != "/help":
                self._say(f"There is no command {command} here.")
            self._help()
        return True

    def _plan(self) -> str:
        plan = self.call.material.get("intervention")
        return _headed(plan) or "There is no plan in this conversation."

    def _notes(self) -> list[str]:
        """What the person noted in this conversation, in order."""
        lines = self.person.lines.of(self.at.conversation, self.at.actor)
        notes = (line.text.removeprefix("/find").strip() for line in lines if line.text.startswith("/find "))
        return list(dict.fromkeys(note for note in notes if note))

    def _help(self) -> None:
        for command, meaning in _HELP.items():
            if self.call.actor == "clinician" or command not in _CLINICIANS:
                self._say(f"  {command:<22} {meaning}")
        self._say("  Ctrl-C or Ctrl-D       stop; the same command goes on where you were")

    def _say(self, text: str) -> None:
        self.person.say(text)


def _headed(content: Any) -> str:
    """What stands under headings, a line each; empty where there is nothing."""
    if isinstance(content, Mapping):
        return "\n".join(f"{name}: {text}" for name, text in content.items() if text)
    return str(content or "")


def plain(text: str) -> str:
    """A text that can do nothing to a terminal: what is no letter, sign or line break is written out."""
    return "".join(
        letter if letter.isprintable() or letter in "\n\t" else letter.encode("unicode_escape").decode()
        for letter in text.replace("\r\n", "\n")
    )
