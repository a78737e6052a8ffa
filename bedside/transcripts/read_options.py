"""What a user can say about transcript files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, Literal

from bedside.core.errors import InputError, one_of
from bedside.core.question_settings import READING, option, settings_class
from bedside.transcripts.transcript import NO_SPEAKER_BUT_TEXT, ROLES, Role

#: Fields that whatever reads a table has.
SHEET: Any = option(
    "Worksheet of a workbook; all takes every one that holds a table.",
    default=None, heading=READING, metavar="NAME",
)  # fmt: skip
HEADER_ROW: Any = option(
    "Line or row of a table's column names, from 1. Without it, it is found.",
    default=None, heading=READING, metavar="NUMBER", least=1,
)  # fmt: skip
ENCODING: Any = option(
    "Encoding of a text file, such as cp1252. Without it, it is recognised.",
    default=None, heading=READING, metavar="NAME",
)  # fmt: skip


@settings_class
class ReadOptions:
    """How transcripts are read."""

    format: str | None = option(
        "Format of the files, where bedside doesn't recognise it; bedside list readers lists the formats.",
        default=None, heading=READING, metavar="READER", offers="readers",
    )  # fmt: skip
    roles: Mapping[str, Role | Literal["text"]] = option(
        'Roles of the speakers, such as "Dr Smith"=clinician,Anna=patient; First=text says that it is no speaker.',
        default_factory=dict, heading=READING, metavar="SPEAKER=ROLE,…", form="pairs",
    )  # fmt: skip
    columns: Mapping[str, str] = option(
        "Which columns of the file hold what bedside needs, such as text=utterance,speaker=who; of JSON, paths of keys "
        "joined by points. Nothing after the sign says that there is no such column.",
        default_factory=dict, heading=READING, metavar="NAME=COLUMN,…", form="columns",
    )  # fmt: skip
    path_fields: str | None = option(
        "What the files' paths say, such as '{system}/{case_id}'; other names become factors.",
        default=None, heading=READING, metavar="PATTERN",
    )  # fmt: skip
    sheet: str | None = SHEET
    header_row: int | None = HEADER_ROW
    encoding: str | None = ENCODING
    drop_empty: bool = option("Leave turns without text out, and count them.", default=False, heading=READING)
    drop_tags: bool = option(
        "Take a transcriber's tags, such as <UNIN/> and [inaudible], out of the text, and count them.",
        default=False, heading=READING,
    )  # fmt: skip
    leave_out: Sequence[str] = option(
        "Columns, keys, speakers or kinds of parts that are left out, and counted; * stands for any letters.",
        default=(), heading=READING, metavar="A,B", form="names",
    )  # fmt: skip
    on_error: Literal["stop", "skip"] = option(
        "What to do at a transcript that can't be read: stop, or skip it and go on.",
        default="stop", heading=READING, metavar="NAME",
    )  # fmt: skip
    conditions: Sequence[str] = option(
        "Factors that were set before the conversations, such as site: systems are matched by them. Needed where "
        "neither name nor design tells.",
        default=(), heading=READING, metavar="A,B", form="names",
    )  # fmt: skip
    outcomes: Sequence[str] = option(
        "Factors that are known only after a conversation, such as symptom_free: nothing is matched by them.",
        default=(), heading=READING, metavar="A,B", form="names",
    )  # fmt: skip

    def __post_init__(self) -> None:
        one_of(self.on_error, ("stop", "skip"), "choice", InputError, where="`on_error`")
        for speaker, role in self.roles.items():
            if role not in (*ROLES, NO_SPEAKER_BUT_TEXT):
                raise InputError(
                    f"{speaker!r} can't be {role!r}",
                    where="`roles`",
                    todo=f"a role is {', '.join(ROLES[:-1])} or {ROLES[-1]}, and {NO_SPEAKER_BUT_TEXT} what is no "
                    "speaker",
                )

    def leaves_out(self, name: str) -> bool:
        """Whether the user said that what is called so is left out."""
        plain = name.strip().casefold()
        return any(fnmatchcase(plain, pattern.strip().casefold()) for pattern in self.leave_out)
