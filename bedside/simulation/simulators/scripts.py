"""Scripts: what an actor says by a file, without a model.

A script is strict YAML with lines that are said in order, the last one again where they run out, and patterns that are
tried first on the other side's last message::

    name: brisk
    language: en
    lines:
      - What brings you here?
      - {message: Thank you, that is all., end: true}
    patterns:
      - when: (?i)\\bafraid\\b
        say: [What are you afraid of?]
    replies:
      findings:
        - {findings: []}

``replies`` are what it replies to calls for data, by purpose, in order. What it says depends on the conversation so far
alone. A recorded conversation is JSON lines of ``actor``, ``purpose``, ``ordinal``, ``attempt`` and ``text``: the
replies of all roles.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import orjson
from pydantic import Field, field_validator

from bedside.core.errors import InputError, one_of
from bedside.core.files import file_digest
from bedside.core.json_shape import MOST_LEVELS, unwritable
from bedside.core.model_errors import to_model
from bedside.core.records import file_records
from bedside.core.words import finds
from bedside.core.yaml_files import keys_and_values
from bedside.metrics.protocols.label_files import Strict, Text
from bedside.simulation.simulators.calls import ActorReply, ActorRole, Call
from bedside.simulation.simulators.case import Name

_SEE = "the docs on simulating, Scripts"
_RECORDED = ".jsonl"
_YAML = (".yaml", ".yml")

#: A line is words, or an object with them as ``message``.
ScriptLine = Text | dict[str, Any]


class ScriptPattern(Strict):
    """What is said where the other side's last message fits an expression.

    Attributes:
        when: a regular expression, which is searched for in the other side's last message.
        say: what is said then, the last line again where they run out.
    """

    when: Annotated[Text, Field(json_schema_extra={"format": "regex"})]
    say: tuple[ScriptLine, ...] = Field(min_length=1)

    @field_validator("when")
    @classmethod
    def _readable(cls, value: str) -> str:
        try:
            finds(value, "")
        except ValueError as error:
            raise ValueError(f"it is no regular expression ({error})") from None
        return value


class Script(Strict):
    """A script, as its file holds it.

    Attributes:
        name: what tables call it; the file's name without it.
        language: the language of its lines, in which cases must be; None for those that fit any.
        lines: what is said in order, the last line again where they run out.
        patterns: what is tried before the lines, in this order.
        replies: what is replied to calls for data, by purpose, in order.
    """

    name: Name
    language: Literal["en", "zh"] | None = None
    lines: tuple[ScriptLine, ...] = ()
    patterns: tuple[ScriptPattern, ...] = ()
    replies: Mapping[str, tuple[Text | dict[str, Any] | list[Any], ...]] = {}

    def reply(self, call: Call) -> ActorReply:
        """What it replies to a call.

        Raises:
            InputError: it says nothing to such a call.
        """
        if call.purpose in self.replies:
            own = self.replies[call.purpose]
            return ActorReply(_text(own[min(call.ordinal, len(own)) - 1], call))
        if call.kind == "data":
            raise InputError(
                f"the script {self.name} has no reply for {call.purpose}", todo=f"add {call.purpose} to its replies"
            )
        return ActorReply(_text(self._spoken(call), call))

    def _spoken(self, call: Call) -> Any:
        """The line whose turn it is, by what was said before."""
        said = [0] * (len(self.patterns) + 1)
        heard = ""
        for line in call.history:
            if line.role == call.actor:
                said[self._place(heard)] += 1
                heard = ""
            else:
                heard = line.text
        place = self._place(heard)
        own = self.lines if place == len(self.patterns) else self.patterns[place].say
        if not own:
            raise InputError(f"the script {self.name} has nothing to say", todo="add lines to it")
        return own[min(said[place], len(own) - 1)]

    def _place(self, heard: str) -> int:
        """The pattern that fits what was heard; the number of patterns where none does."""
        for place, pattern in enumerate(self.patterns):
            if heard and finds(pattern.when, heard):
                return place
        return len(self.patterns)


def _text(spoken: Any, call: Call) -> str:
    if isinstance(spoken, str):
        return spoken
    if call.kind == "message" and call.schema is None and isinstance(spoken, Mapping):
        return str(spoken.get("message", ""))
    return orjson.dumps(spoken).decode()


class RecordedReply(Strict):
    """One reply of a recorded conversation.

    Attributes:
        actor: whose reply it is.
        purpose: what the call was for.
        ordinal: which call of this purpose it was, from 1.
        attempt: which attempt at it, from 1.
        text: the reply.
        cut: whether it was cut off at its longest.
        declined: why the model would not reply; empty where it did.
        failed: how the actor failed to reply; empty where it did.
    """

    actor: ActorRole
    purpose: Text
    ordinal: int = Field(default=1, ge=1)
    attempt: int = Field(default=1, ge=1)
    text: str
    cut: bool = False
    declined: str = ""
    failed: str = ""


@dataclass(frozen=True, slots=True)
class Recording:
    """A recorded conversation: what every role replied.

    Attributes:
        name: the file's, without its ending.
        replies: by role, purpose, ordinal and attempt.
    """

    name: str
    replies: Mapping[tuple[str, str, int, int], ActorReply]

    def reply(self, call: Call) -> ActorReply:
        """What was replied to a call.

        Raises:
            InputError: nothing is recorded of it.
        """
        reply = self.replies.get((call.actor, call.purpose, call.ordinal, call.attempt))
        if reply is None:
            raise InputError(
                f"the recording {self.name} has no reply of the {call.actor} to {call.purpose} {call.ordinal},"
                f" attempt {call.attempt}"
            )
        return reply


@dataclass(frozen=True, slots=True)
class ScriptFile:
    """A script or recording with where it comes from.

    Attributes:
        script: it.
        digest: SHA-256 of the file (64 hexadecimal digits).
    """

    script: Script | Recording
    digest: str


def read_script(name: str, bundled: Path | None) -> ScriptFile:
    """Read a script.

    Args:
        name: a file, or the name of one that the protocol brings.
        bundled: the folder of those; None where it brings none.

    Raises:
        InputError, RegistryError: there is no such script, or it can't be read.
    """
    if name.endswith((*_YAML, _RECORDED)):
        return _read(Path(name))
    paths = bundled_scripts(bundled)
    return _read(paths[one_of(name, paths, "script", InputError, where="script")])


def bundled_scripts(folder: Path | None) -> dict[str, Path]:
    """The files of the scripts and recordings that a protocol brings, by name, sorted."""
    paths = () if folder is None else sorted(folder.glob("*"), key=lambda path: path.stem)
    return {path.stem: path for path in paths if path.suffix in (*_YAML, _RECORDED)}


def _read(path: Path) -> ScriptFile:
    digest = file_digest(path, "script")
    script = _recording(path) if path.suffix == _RECORDED else _script(path)
    return ScriptFile(script, digest)


def _script(path: Path) -> Script:
    data = keys_and_values(path, "script", _SEE)
    wrong = unwritable(data, MOST_LEVELS)
    if wrong is not None:
        raise InputError(wrong, where=str(path))
    script = to_model({"name": path.stem, **data}, Script, str(path), todo=f"see {_SEE}")
    if not (script.lines or script.patterns or script.replies):
        raise InputError("the script says nothing", where=str(path), todo="add lines to it")
    return script


def _recording(path: Path) -> Recording:
    replies: dict[tuple[str, str, int, int], ActorReply] = {}
    for record in file_records(path, "recording"):
        recorded = record.to_model(RecordedReply, f"see {_SEE}")
        at = (recorded.actor, recorded.purpose, recorded.ordinal, recorded.attempt)
        if at in replies:
            raise InputError(
                f"the reply to {recorded.purpose} {recorded.ordinal} is recorded twice", where=record.place()
            )
        replies[at] = ActorReply(recorded.text, recorded.cut, recorded.declined, recorded.failed)
    if not replies:
        raise InputError("the recording holds no replies", where=str(path), todo=f"see {_SEE}")
    return Recording(path.stem, replies)
