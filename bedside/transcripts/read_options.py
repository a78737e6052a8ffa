"""What a user can say about transcript files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Literal

from bedside.transcripts.transcript import Role


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What a user can say about the files.

    Attributes:
        format: name of the reader to use; None recognises each file by its content.
        roles: speaker name → role, looked at before the known aliases; ``text`` says that a word before a colon
            (``First: …``) names no speaker, and ``*`` then stands for any letters.
        columns: bedside's column name → the file's, for tables; a path of keys joined by points for JSON
            (``messages=trial_0.conversation``). An empty name says that the file has no such column.
        path_fields: pattern such as ``{system}/{case_id}`` matched against the end of each file's path
            (without ending); ``system`` and ``case_id`` are set from it, other names become factors.
        sheet: of a workbook: a worksheet's name, or ``all``; None takes the only one that holds a table.
        header_row: line or row of a table's column names, from 1; None finds it.
        encoding: of text files; None recognises it.
        drop_empty: whether turns without text are left out and counted, in place of an error.
        drop_tags: whether tags of a transcriber (``<UNIN/>``, ``[inaudible]``) are taken out of the text and counted;
            they count as words else.
        leave_out: what is left out knowingly, and counted: names of columns, keys (or paths joined by points), speakers
            or kinds of parts; ``*`` stands for any letters.
        on_error: ``stop`` at the first bad transcript, or ``skip`` it, keep the reason and go on.
        conditions: factors that are conditions: set before the conversation. Systems are matched by them.
        outcomes: factors that are outcomes: known only after it. Nothing is matched by them.
    """

    format: str | None = None
    roles: Mapping[str, Role | Literal["text"]] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)
    path_fields: str | None = None
    sheet: str | None = None
    header_row: int | None = None
    encoding: str | None = None
    drop_empty: bool = False
    drop_tags: bool = False
    leave_out: Sequence[str] = ()
    on_error: Literal["stop", "skip"] = "stop"
    conditions: Sequence[str] = ()
    outcomes: Sequence[str] = ()

    def leaves_out(self, name: str) -> bool:
        """Whether the user said that what is called so is left out."""
        plain = name.strip().casefold()
        return any(fnmatchcase(plain, pattern.strip().casefold()) for pattern in self.leave_out)
