"""What people typed in conversations: each line stands in a file as soon as it is typed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import orjson

from bedside.core.errors import InputError
from bedside.core.files import read_json_lines

#: The file, in the folder of a simulation.
TYPED_LINES = "typed.jsonl"


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
        self._lines = list(_read(path)) if path.is_file() else []

    def at(self, place: TypedAt) -> tuple[TypedLine, ...]:
        """What was typed at a call, in order."""
        return tuple(line for line in self._lines if line.at == place)

    def of(self, conversation: str, actor: str) -> tuple[TypedLine, ...]:
        """What one side typed in a conversation, in order."""
        return tuple(
            line for line in self._lines if line.at.conversation == conversation and line.at.actor == actor
        )

    def add(self, line: TypedLine) -> None:
        """Keep a line; it is on the disk when this returns."""
        record = {
            **asdict(line.at),
            "text": line.text,
            "seconds": line.seconds,
            "finding": line.finding,
        }
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


def _read(path: Path) -> Iterator[TypedLine]:
    """The lines of a file; what was cut off in the middle of its last line is taken away."""
    content = path.read_bytes()
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        os.truncate(path, whole)
    todo = "put the file back as it was"
    for place, record in read_json_lines(path, "file of what was typed", kind=InputError, todo=todo):
        try:
            seconds, words = float(record.pop("seconds")), str(record.pop("text"))
            finding = bool(record.pop("finding"))
            yield TypedLine(TypedAt(**record), words, seconds, finding)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError("this line is none that was typed", where=place, todo=todo) from error
