"""What a user can say about transcript files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from bedside.transcripts.transcript import Role


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What a user can say about the files.

    Attributes:
        format: name of the reader to use; None recognises each file by its content.
        roles: speaker name → role, looked at before the known aliases.
        columns: bedside's column name → the file's, for tables.
        path_fields: pattern such as ``{system}/{case_id}`` matched against the end of each file's path
            (without ending); ``system`` and ``case_id`` are set from it, other names become factors.
        on_error: ``stop`` at the first bad transcript, or ``skip`` it, keep the reason and go on.
    """

    format: str | None = None
    roles: Mapping[str, Role] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)
    path_fields: str | None = None
    on_error: Literal["stop", "skip"] = "stop"
