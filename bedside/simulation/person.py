"""A person who is the clinician or the patient of a conversation, at the keyboard or a page; what they typed is kept.

What they see is what a model in their place is sent, and nothing else: their brief, what was said, what is wanted now.
"""

from __future__ import annotations

import contextlib
import io
import math
import os
import shutil
import signal
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

import orjson

from bedside.core.errors import InputError
from bedside.core.files import cells_digest, read_json_lines
from bedside.core.words import visible
from bedside.simulation.simulators.calls import ActorReply, Call
from bedside.simulation.simulators.contract import EarlyForm

# -- What people typed in conversations -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TypedAt:
    """The call that a line was typed at.

    Attributes:
        conversation: the conversation's key.
        actor: whose line it is: the clinician's or the patient's.
        purpose, ordinal, attempt: as the call has them.
    """

    conversation: str
    actor: str
    purpose: str
    ordinal: int
    attempt: int


@dataclass(frozen=True, slots=True)
class TypedLine:
    """A line that was typed.

    Attributes:
        at: the call.
        text: the line.
        seconds: how long the person was waited for.
        finding: whether it entered a finding before it was asked for.
    """

    at: TypedAt
    text: str
    seconds: float
    finding: bool = False


class TypedLines:
    """The lines of a simulation's people, in a file that only its owner reads.

    Args:
        path: the file; made at the first line.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._latest: dict[tuple[str, str], str] = {}
        if path.is_file() and not (content := path.read_bytes()).endswith(b"\n"):
            os.truncate(path, content.rfind(b"\n") + 1)  # a line that was cut off in the middle
        self._lines = list(typed_lines(path, self._latest)) if path.is_file() else []

    def at(self, place: TypedAt) -> tuple[TypedLine, ...]:
        """What was typed at a call, in order."""
        return tuple(line for line in self._lines if line.at == place)

    def of(self, conversation: str, actor: str) -> tuple[TypedLine, ...]:
        """What one side typed in a conversation, in order."""
        return tuple(line for line in self._lines if line.at.conversation == conversation and line.at.actor == actor)

    def add(self, line: TypedLine) -> None:
        """Keep a line; it is on the disk when this returns."""
        side = line.at.conversation, line.at.actor
        record = {**asdict(line.at), "text": line.text, "seconds": line.seconds, "finding": line.finding}
        record["digest"] = self._latest[side] = cells_digest(self._latest.get(side, ""), *record.values())
        try:
            descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            with os.fdopen(descriptor, "ab") as file:
                file.write(orjson.dumps(record) + b"\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise InputError(
                f"what was typed can't be kept ({error.strerror})",
                where=str(self._path),
                todo="make room, or make the folder one that can be written to",
            ) from error
        self._lines.append(line)


def typed_lines(path: Path, latest: dict[tuple[str, str], str]) -> Iterator[TypedLine]:
    """The lines of a file, each sealed with the SHA-256 of itself and of that side's line before.

    ``latest`` takes the last SHA-256 of each side of a conversation; earlier versions wrote none.
    """
    todo = "put the file back as it was"
    for place, record in read_json_lines(path, "file of what was typed", kind=InputError, todo=todo):
        try:
            digest, side = str(record.pop("digest", "")), (record["conversation"], record["actor"])
            before, latest[side] = latest.get(side, ""), digest
            if (digest or before) and digest != cells_digest(before, *record.values()):
                raise ValueError("another digest")
            seconds, words = float(record.pop("seconds")), str(record.pop("text"))
            finding = bool(record.pop("finding"))
            yield TypedLine(TypedAt(**record), words, seconds, finding)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            what = f"line {place.rpartition(':')[2]} or one before it isn't as it was typed"
            raise InputError(what, where=place, todo=todo) from error


# -- A form for a person at the keyboard ----------------------------------------------------------------

#: Says a line to the person.
Show = Callable[[str], None]
#: Asks the person for a line, which comes without white space around it.
Ask = Callable[[str], str]

_YES, _NO = ("y", "yes", "true", "1"), ("n", "no", "false", "0")


@dataclass(frozen=True, slots=True)
class KeyboardForm:
    """Asks for a value that fits a schema, field by field, until each is one that fits.

    Attributes:
        ask: asks for a line.
        show: says a line.
        early: what the person entered before, offered where a list of such entries is wanted.
    """

    ask: Ask
    show: Show
    early: Sequence[Mapping[str, str]] = ()

    def fill(self, schema: Mapping[str, Any], name: str = "") -> Any:
        """A value that fits ``schema``; ``name`` is what it is called. What may be null is, where nothing is typed."""
        schema, nullable = _without_null(schema)
        value = self._value(schema, name)
        return None if nullable and value in ("", []) else value

    def _value(self, schema: Mapping[str, Any], name: str) -> Any:
        if "enum" in schema:
            return self._choice(list(schema["enum"]), name)
        kind = _kind(schema)
        if kind == "object":
            return self._object(schema)
        if kind == "array":
            return self._list(schema, name)
        if kind == "boolean":
            return self._yes(name)
        if kind in ("integer", "number"):
            return self._number(schema, name, whole=kind == "integer")
        return self._text(schema, name)

    def _object(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        return {name: self.fill(part, field_title(name, part)) for name, part in schema.get("properties", {}).items()}

    def _list(self, schema: Mapping[str, Any], name: str) -> list[Any]:
        """Entries, one a line; an empty line ends them."""
        read = self._entry_reader(schema.get("items", {}))
        least, most = int(schema.get("minItems", 0)), schema.get("maxItems")
        self.show(f"{name or 'List'}: {read.hint}. An empty line ends the list.")
        entries: list[Any] = self._kept(read.categorised) if read.categorised is not None else []
        while most is None or len(entries) < most:
            line = self.ask(f"{len(entries) + 1}. ")
            if not line:
                if len(entries) >= least:
                    break
                self.show(f"At least {least} {'is' if least == 1 else 'are'} wanted.")
                continue
            try:
                entries.append(read.entry(line))
            except ValueError as error:
                self.show(str(error))
        return entries

    def _kept(self, form: CategorisedEntries) -> list[Mapping[str, str]]:
        """What the person entered before and hands in."""
        entries = []
        for entry in self.early:
            self.show(f"You entered: {form.line(entry)}")
            if self._yes("Hand it in"):
                entries.append(entry)
        return entries

    def _entry_reader(self, schema: Mapping[str, Any]) -> _EntryReader:
        """How one line of a list is read."""
        form = CategorisedEntries.of(schema)
        if form is not None:
            return _EntryReader(form.entry, f"one a line, as {form.hint}", form)
        if schema.get("properties"):
            return _EntryReader(lambda line: self._object_after(line, schema), "one a line, then what is asked of it")
        return _EntryReader(lambda line: line, "one a line")

    def _object_after(self, line: str, schema: Mapping[str, Any]) -> dict[str, Any]:
        """An object whose first field was typed already."""
        (first, part), *more = schema["properties"].items()
        if "enum" in part:
            value: Any = _chosen(line, list(part["enum"]))
        elif _kind(part) == "string":
            value = line
        else:
            raise ValueError(f"{first} can't be typed on one line.")
        return {first: value, **{name: self.fill(rest, field_title(name, rest)) for name, rest in more}}

    def _choice(self, choices: list[Any], name: str) -> Any:
        while True:
            line = self.ask(f"{name or 'Choose'} ({_numbered(map(str, choices))}): ")
            try:
                return _chosen(line, choices)
            except ValueError as error:
                self.show(str(error))

    def _yes(self, name: str) -> bool:
        while True:
            line = self.ask(f"{name}? (y or n): ").casefold()
            if line in _YES or line in _NO:
                return line in _YES
            self.show("Type y for yes or n for no.")

    def _number(self, schema: Mapping[str, Any], name: str, *, whole: bool) -> float | int:
        least, most = schema.get("minimum"), schema.get("maximum")
        wanted = "a whole number" if whole else "a number"
        if least is not None and most is not None:
            wanted += f" from {least} to {most}"
        while True:
            line = self.ask(f"{name} ({wanted}): ")
            try:
                value = int(line) if whole else float(line)
            except ValueError:
                value = None
            if (
                value is not None
                and math.isfinite(value)
                and (least is None or value >= least)
                and (most is None or value <= most)
            ):
                return value
            self.show(f"Type {wanted}.")

    def _text(self, schema: Mapping[str, Any], name: str) -> str:
        while True:
            line = self.ask(f"{name or 'Text'}: ")
            if line or not schema.get("minLength"):
                return line
            self.show("Something must be typed here.")


@dataclass(frozen=True, slots=True)
class _EntryReader:
    entry: Callable[[str], Any]
    hint: str
    categorised: CategorisedEntries | None = None


@dataclass(frozen=True, slots=True)
class CategorisedEntries:
    """Entries of a category and a text each, which one line can hold.

    Attributes:
        category, text: what the two are called.
        choices: the categories.
    """

    category: str
    text: str
    choices: tuple[str, ...]

    @classmethod
    def of(cls, schema: Mapping[str, Any]) -> CategorisedEntries | None:
        """Those that ``schema`` describes; None where it describes others."""
        parts = dict(schema.get("properties", {}))
        chosen = [name for name, part in parts.items() if "enum" in part]
        texts = [name for name, part in parts.items() if "enum" not in part and _kind(part) == "string"]
        if not len(chosen) == len(texts) == 1 or len(parts) != 2:
            return None
        return cls(chosen[0], texts[0], tuple(str(value) for value in parts[chosen[0]]["enum"]))

    @property
    def hint(self) -> str:
        """How they are typed."""
        return f"CATEGORY: TEXT; categories are {_numbered(self.choices)}"

    def entry(self, line: str) -> dict[str, str]:
        """What a line says.

        Raises:
            ValueError: it says no category, or nothing of it.
        """
        chosen, colon, words = line.partition(":")
        if not colon or not words.strip():
            raise ValueError(f"Write {self.hint}.")
        return {self.category: _chosen(chosen.strip(), self.choices), self.text: words.strip()}

    def line(self, entry: Mapping[str, str]) -> str:
        """An entry as it could have been typed."""
        return f"{entry[self.category]}: {entry[self.text]}"


def listed_entries(schema: Mapping[str, Any]) -> CategorisedEntries | None:
    """The entries of a form's first list, where each is a category and a text."""
    for part in schema.get("properties", {}).values():
        if _kind(part) == "array":
            return CategorisedEntries.of(part.get("items", {}))
    return None


def neutral_value(schema: Mapping[str, Any]) -> Any:
    """What says nothing in a field: null where that may be, else no, or an empty list or text."""
    schema, nullable = _without_null(schema)
    return None if nullable else {"boolean": False, "array": [], "string": ""}.get(_kind(schema))


def _without_null(schema: Mapping[str, Any]) -> tuple[Mapping[str, Any], bool]:
    """A schema of what isn't null, the first of several; and whether null fits too."""
    kinds = schema.get("type")
    choices = schema.get("anyOf", schema.get("oneOf")) or (
        [{**schema, "type": kind} for kind in kinds] if isinstance(kinds, list) else [schema]
    )
    values = [choice for choice in choices if choice.get("type") != "null"]
    return (values[0] if values else {}), len(values) < len(choices)


def _kind(schema: Mapping[str, Any]) -> str:
    return str(schema.get("type", "object" if "properties" in schema else "string"))


def field_title(name: str, schema: Mapping[str, Any]) -> str:
    """What a field is called: its title, or its name in words."""
    title = schema.get("title")
    return str(title) if title else name.replace("_", " ").capitalize()


def _numbered(choices: Iterable[Any]) -> str:
    """Choices with a number each, by which they can be chosen; those that are numbers themselves without."""
    names = [str(choice) for choice in choices]
    if any(map(str.isdecimal, names)):
        return ", ".join(names)
    return ", ".join(f"{number} {name}" for number, name in enumerate(names, 1))


def _chosen(line: str, choices: Sequence[Any]) -> Any:
    """The choice that was typed: its name, its number, or letters that only it begins with."""
    typed = line.casefold()
    names = [str(choice).casefold() for choice in choices]
    if typed in names:
        return choices[names.index(typed)]
    if not any(map(str.isdecimal, names)):
        if line.isdecimal() and 1 <= int(line) <= len(choices):
            return choices[int(line) - 1]
        begun = [choice for choice, name in zip(choices, names, strict=True) if typed and name.startswith(typed)]
        if len(begun) == 1:
            return begun[0]
    raise ValueError(f"{line!r} is none of {_numbered(map(str, choices))}.")


# -- A person at the keyboard who is the clinician or the patient of a conversation ---------------------

#: Seconds before the end of a conversation's time at which the person is told.
REMINDER = 120.0
_HELP = {
    "/chart": "show again what you were told at the start",
    "/plan": "show what the patient is to be guided to, where there is such a plan",
    "/find CATEGORY: TEXT": "enter a finding for the form at the end; /find alone lists what you entered",
    "/end": "end the conversation, where it can be ended",
    "/help": "show these commands",
}
_CLINICIANS = ("/plan", "/end")
_FIND = "/find CATEGORY: TEXT"


#: What a text that is shown is: the beginning of a conversation, what the person is told of themselves, what the other
#: side said, what they said before, or anything else.
ShownKind = Literal["start", "brief", "heard", "own", "note"]


class Screen(Protocol):
    """Where a person reads and types."""

    #: For how many seconds what the last line answers stood there unseen, and what ends a sitting, with how it goes on.
    unseen: float
    ending: tuple[str, str]

    def show(self, text: str, kind: ShownKind = "note") -> None:
        """Show a text of some kind."""

    def line(self, prompt: str) -> str:
        """Wait for a line.

        Raises:
            EOFError: there is no more to come.
        """

    def kept(self) -> None:
        """What was typed last is on the disk."""

    def reminding(self, reminders: Iterable[tuple[float, str]]) -> AbstractContextManager[None]:
        """Show lines, each so many seconds after the person saw what is asked, unless that ends before."""


@dataclass(slots=True)
class _Sitting:
    """One conversation, as the person sees it.

    Attributes:
        shown: how many of its lines they have seen.
        brief: what they were last told of themselves.
        instruction: what they were last told is wanted.
        reminded: whether they know that time is short.
        over: whether they know that it is over.
        told: whether they know that findings can be entered.
        waiting: lines of the call that were typed before, and are not typed again.
    """

    shown: int = 0
    brief: str = ""
    instruction: str = ""
    reminded: bool = False
    over: bool = False
    told: bool = False
    waiting: list[TypedLine] = field(default_factory=list)


class PersonAtKeyboard:
    """Somebody who takes a side in conversations.

    Args:
        screen: where they read and type.
        lines: where each line is kept as soon as it is typed; lines of a call that were kept aren't typed again.
        minutes: how long a conversation's messages may take; None for no limit.
        early_form: what they may begin to fill in while they talk, at a call; None for nothing.
        clock: seconds.
    """

    def __init__(
        self,
        screen: Screen,
        lines: TypedLines,
        *,
        minutes: float | None = None,
        early_form: Callable[[Call], EarlyForm | None] = lambda call: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.screen = screen
        self.lines = lines
        self.seconds: float | None = None if minutes is None else minutes * 60
        self.early_form = early_form
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
            self.say(f"--- A conversation. You are the {call.actor}. /help shows what you can type. ---", "start")
        self._show(sitting, call, whole=new)
        asking = _Asking(self, sitting, call, at, self.early_form(call))
        asking.tell_of_findings()
        return ActorReply(asking.message() if call.kind == "message" else asking.data(), typed=True)

    def _show(self, sitting: _Sitting, call: Call, *, whole: bool) -> None:
        """Show what the person hasn't seen yet: all that was said, or what others said since."""
        if call.brief != sitting.brief:
            seen = set(sitting.brief.splitlines())
            news = [line for line in call.brief.splitlines() if line not in seen]
            if sitting.brief and news:
                self.say("New for you:")
            self.say("\n".join(news), "brief")
            sitting.brief = call.brief
        for line in call.history[sitting.shown :]:
            if line.role != call.actor:
                self.say(f"{line.role.capitalize()}: {line.text}", "heard")
            elif whole:
                self.say(f"You: {line.text}", "own")
        sitting.shown = max(sitting.shown, len(call.history))
        if call.instruction != sitting.instruction:
            # How a reply is written down is for models.
            lines = (line for line in call.instruction.splitlines() if "JSON" not in line)
            self.say("\n".join(lines).strip())
            sitting.instruction = call.instruction
        if call.objection:
            self.say(call.objection)

    def say(self, text: str, kind: ShownKind = "note") -> None:
        """Show a text, unless it is empty; nothing in it does anything to a terminal."""
        if text:
            self.screen.show(visible(text), kind)


@dataclass(frozen=True, slots=True)
class _Asking:
    """One call, put to the person."""

    person: PersonAtKeyboard
    sitting: _Sitting
    call: Call
    at: TypedAt
    early: EarlyForm | None

    def tell_of_findings(self) -> None:
        """Say once that findings can be entered from now on."""
        if self._entries is None or self._asks_for_findings or self._unopened or self.sitting.told:
            return
        self.sitting.told = True
        self._say(
            f"From now on you can enter what you found, between your messages: /find {self._entries.hint}. /find "
            "alone lists what you entered; at the end you can add to it."
        )

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
                if self.call.schema is None:
                    return line
                # Fields beside the message say that it doesn't end the conversation.
                fields = {name: neutral_value(schema) for name, schema in self._endings().items()}
                return orjson.dumps({"message": line, **fields}).decode()

    def data(self) -> str:
        """An object that the call's schema describes, in JSON."""
        form = KeyboardForm(self._answer, self._say, self._findings() if self._asks_for_findings else ())
        return orjson.dumps(form.fill(self.call.schema or {})).decode()

    def _endings(self) -> dict[str, Any]:
        """The schema's fields beside the message: what a clinician says who ends the conversation."""
        fields: Mapping[str, Any] = (self.call.schema or {}).get("properties", {})
        return {name: schema for name, schema in fields.items() if name != "message"}

    def _end(self) -> str:
        """What ends the conversation; its last message lists what is handed in."""
        form = KeyboardForm(self._answer, self._say)
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
                self.person.say(f"{prompt}{kept}", "own")
                return kept
        started = self.person.clock()
        with self.person.screen.reminding(self._reminders(left)):
            line = self.person.screen.line(prompt).strip()
        seconds = max(0.0, self.person.clock() - started - self.person.screen.unseen) if left is not None else 0.0
        command, words = _command_and_words(line)
        finding = command == "/find" and bool(words) and not self._problem(words)
        self.person.lines.add(TypedLine(self.at, line, round(seconds, 3), finding))
        self.person.screen.kept()
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
        command, words = _command_and_words(line)
        if command == "/chart":
            self._say(_headed(self.call.material.get("chart")) or self.call.brief)
        elif command == "/plan" and self.call.actor == "clinician":
            self._say(self._plan())
        elif command == "/end":
            self._say("The conversation can't be ended in a form: answer what is asked.")
        elif command == "/find" and self._entries is not None:
            self._find(self._entries, words)
        else:
            if command != "/help":
                self._say(f"There is no command {command} here.")
            self._help()
        return True

    def _plan(self) -> str:
        plan = self.call.material.get("intervention")
        return _headed(plan) or "There is no plan in this conversation."

    @property
    def _entries(self) -> CategorisedEntries | None:
        """The findings that can be entered in this conversation; None where there are none."""
        return None if self.early is None else listed_entries(self.early.schema)

    @property
    def _asks_for_findings(self) -> bool:
        """Whether this call is the form itself."""
        return self.early is not None and self.call.schema == self.early.schema

    @property
    def _unopened(self) -> bool:
        """Whether it is too early to enter findings."""
        assert self.early is not None
        return sum(line.role == self.call.actor for line in self.call.history) < self.early.after

    def _problem(self, words: str) -> str:
        """Why a finding isn't entered; empty where it is."""
        if self.early is None or self._entries is None:
            return "No findings are handed in in this conversation."
        if self._asks_for_findings:
            return f"This is the form: write {self._entries.hint}."
        if self._unopened:
            return f"Findings can be entered once {self.early.after} of your messages have been answered."
        try:
            self._entries.entry(words)
        except ValueError as error:
            return str(error)
        return ""

    def _find(self, entries: CategorisedEntries, words: str) -> None:
        """Enter a finding, which was kept when it was typed; list them where there are no words."""
        if words:
            self._say(self._problem(words) or f"Entered: {entries.line(entries.entry(words))}")
        else:
            listed = "\n".join(map(entries.line, self._findings()))
            self._say(listed or "You have entered nothing yet.")

    def _findings(self) -> list[dict[str, str]]:
        """What the person entered in this conversation, in order, each once."""
        if self._entries is None:
            return []
        lines = self.person.lines.of(self.at.conversation, self.at.actor)
        entries = [self._entries.entry(_command_and_words(line.text)[1]) for line in lines if line.finding]
        return [entry for place, entry in enumerate(entries) if entry not in entries[:place]]

    def _help(self) -> None:
        for command, meaning in (*_HELP.items(), self.person.screen.ending):
            if command == _FIND:
                shown = self._entries is not None
            else:
                shown = self.call.actor == "clinician" or command not in _CLINICIANS
            if shown:
                self._say(f"  {command:<22} {meaning}")

    def _say(self, text: str) -> None:
        self.person.say(text)


def _command_and_words(line: str) -> tuple[str, str]:
    """The first word of a line, and what comes after it."""
    command, *rest = line.split(maxsplit=1) or [""]
    return command, rest[0] if rest else ""


def _headed(content: Any) -> str:
    """What stands under headings, a line each; empty where there is nothing."""
    if isinstance(content, Mapping):
        return "\n".join(f"{name}: {text}" for name, text in content.items() if text)
    return str(content or "")


@contextlib.contextmanager
def timed(reminders: Iterable[tuple[float, str]], show: Show) -> Iterator[None]:
    """Show lines, each after as many seconds, unless the block ends before."""
    timers = [threading.Timer(seconds, show, (text,)) for seconds, text in reminders]
    for timer in timers:
        timer.daemon = True
        timer.start()
    try:
        yield
    finally:
        for timer in timers:
            timer.cancel()


# -- The terminal ---------------------------------------------------------------------------------------

#: The widest that a line of text is shown.
_WIDEST = 100


class TerminalScreen:
    """Standard input and output; lines can be edited where Python has readline."""

    unseen = 0.0
    ending = ("Ctrl-C or Ctrl-D", "stop; the same command goes on where you were")

    def show(self, text: str, kind: ShownKind = "note") -> None:
        """Show a text, no line wider than the terminal."""
        width = min(shutil.get_terminal_size().columns, _WIDEST)
        for line in text.splitlines():
            indent = " " * (len(line) - len(line.lstrip()))
            sys.stdout.write(textwrap.fill(line, width, subsequent_indent=indent) + "\n")
        sys.stdout.flush()

    def line(self, prompt: str) -> str:
        """Wait for a line; what isn't of the terminal's encoding stands there as question marks.

        Raises:
            EOFError: there is no more to come.
            KeyboardInterrupt: at Ctrl-C, also where an event loop would wait with that.
        """
        with contextlib.suppress(ImportError):  # a Python without it
            import readline  # noqa: F401
        if isinstance(sys.stdin, io.TextIOWrapper) and sys.stdin.errors == "strict":
            sys.stdin.reconfigure(errors="surrogateescape")
        try:
            with _interruptible():
                return input(prompt).encode("utf-8", "replace").decode()
        except (EOFError, KeyboardInterrupt):
            sys.stdout.write("\n")
            raise

    def kept(self) -> None:
        """Nobody waits for it."""

    def reminding(self, reminders: Iterable[tuple[float, str]]) -> AbstractContextManager[None]:
        """Show lines, each after as many seconds, unless what is under way ends before."""
        return timed(reminders, self._remind)

    def _remind(self, text: str) -> None:
        sys.stdout.write(f"\n{text}\n")
        sys.stdout.flush()


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """Raise KeyboardInterrupt at Ctrl-C, in the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
