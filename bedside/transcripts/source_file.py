"""One file on its way to transcripts: what a reader is given."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from bedside.core.errors import BedsideError, InputError
from bedside.transcripts.json_source import JsonSource
from bedside.transcripts.read_options import ReadOptions
from bedside.transcripts.spans import Span
from bedside.transcripts.table_rows import raw_tables, table_kind
from bedside.transcripts.transcript import Role, Transcript
from bedside.transcripts.transcript_maker import TranscriptMaker

# -- Tables of published sets ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """A published set.

    Attributes:
        name: of the set.
        signature: columns that it has, upper and lower case alike.
        columns: bedside's name → column; an empty one says that there is none, though a name looks like one.
        roles: of its speakers, or of its columns of those who speak.
        holds: what cells of a column hold, as a regular expression, where the names are those of many other tables.
        instead: what to do with a table that holds no talks, as a sentence's end; empty for one that does.
    """

    name: str
    signature: tuple[str, ...]
    columns: Mapping[str, str] = field(default_factory=dict)
    roles: Mapping[str, Role] = field(default_factory=dict)
    holds: Mapping[str, str] = field(default_factory=dict)
    instead: str = ""

    def fits(self, header: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
        """Whether a table is of the set."""
        plain = [name.strip().casefold() for name in header]
        if not set(plain).issuperset(self.signature) or (self.holds and not rows):
            return False
        return all(
            re.search(pattern, row[at], re.IGNORECASE)
            for name, pattern in self.holds.items()
            for row in rows
            if (at := plain.index(name)) < len(row)
        )

    def named(self, header: Sequence[str]) -> dict[str, str]:
        """Bedside's name → column as the table writes it."""
        written = {name.strip().casefold(): name for name in header}
        return {
            name: "+".join(written.get(part, part) for part in column.split("+"))
            for name, column in self.columns.items()
        }


PUBLISHED: tuple[PublishedTable, ...] = (
    PublishedTable(
        "HOPE",
        # The column of acts is called Dialog_Act in some files and Dialogue_Act in others.
        ("id", "type", "utterance"),
        # Its ids number the utterances of a file.
        {"id": "", "speaker": "type", "text": "utterance"},
        {"T": "clinician", "P": "patient"},
        {"type": r"^\s*[TP]?\s*$"},
    ),
    PublishedTable(
        "DAIC-WOZ",
        ("start_time", "stop_time", "speaker", "value"),
        {"text": "value", "start": "start_time", "stop": "stop_time"},
        {"Ellie": "clinician", "Participant": "patient"},
    ),
    PublishedTable(
        "Psych8k",
        ("instruction", "input", "output"),
        {"question": "input", "answer": "output", "id": "row"},
        {"input": "patient", "output": "clinician"},
        {"instruction": "psycholog|counsel|therap", "input": r"\w"},
    ),
    PublishedTable("CACTUS", ("dialogue", "intake_form", "cbt_technique", "cbt_plan"), {"dialogue": "dialogue"}),
    PublishedTable(
        "FED",
        ("context", "response", "system", "annotations"),
        {"dialogue": "context+response"},
        {"User": "patient", "System": "clinician"},
    ),
    PublishedTable(
        "MedDialog",
        ("utterances",),
        {"dialogue": "utterances"},
        holds={"utterances": r"^\s*\[\s*\"(?:patient|doctor|病人|医生)\s*[:：]"},
    ),
    PublishedTable(
        # As datasets write both before they are processed: who speaks is a number.
        "MedDialog or COVID-Dialogue",
        ("dialogue_id", "dialogue_url", "dialogue_turns"),
        {"dialogue": "dialogue_turns"},
        {"0": "patient", "1": "clinician"},
    ),
    PublishedTable(
        # Those of its test have no acts.
        "IMCS-21",
        ("sentence_id", "speaker", "sentence"),
        {"turn": "sentence_id", "text": "sentence"},
    ),
    PublishedTable(
        "AugESC",
        ("text",),
        {"dialogue": "text"},
        {"usr": "patient", "sys": "clinician"},
        {"text": r"^\s*\[\s*\[\s*\"(?:usr|sys)\""},
    ),
    PublishedTable(
        "MT-bench",
        ("question_id", "model_1", "model_2", "judge"),
        instead="these are judges' preferences: read them as ratings",
    ),
)  # fmt: skip


# -- One file on its way to transcripts -----------------------------------------------------------------

#: Rows of a table that are shown to readers.
_SHOWN = 5


class SourceFile(JsonSource, TranscriptMaker):
    """One file on its way to transcripts: its content, and the making of transcripts from it.

    Args:
        path: the file.
        stem: the id given to a transcript that has none of its own: the path below the folder common to
            all files read, without endings.
        options: what the user said.
        skipped: takes the errors of transcripts that are left out.
        bare_path: the path without endings.
        span: the piece of the file to read; None for all of it.

    Attributes:
        account: what was understood of the file; a reader fills it in.
    """

    def __init__(
        self,
        path: Path,
        stem: str,
        options: ReadOptions,
        skipped: list[BedsideError],
        *,
        bare_path: str,
        span: Span | None = None,
    ) -> None:
        JsonSource.__init__(self, path, stem, span, options)
        TranscriptMaker.__init__(self, path, stem, options, skipped, bare_path)

    def json_transcripts(self, build: Callable[[SourceFile, Any, str, str], Transcript]) -> Iterator[Transcript]:
        """``build(source, value, place, id)`` of each JSON value; bad ones are left out where so wished."""

        def built(where: str, name: str, value: Any) -> Transcript:
            if isinstance(value, InputError):
                raise value
            return build(self, value, where, name)

        made = (self.attempt(built, *item) for item in self.json_values())
        return (transcript for transcript in made if transcript is not None)

    @cached_property
    def columns(self) -> tuple[list[str], list[list[str]]] | None:
        """Header and first rows of a table; None where the file is none."""
        if table_kind(self) == "delimited" and self.json is not None:
            return None
        first = raw_tables(self)[0]
        shown = first.names, first.below[:_SHOWN]
        known = next((one for one in PUBLISHED if one.fits(*shown)), None)
        if known is not None:
            self._take_as_published(known, first.names)
        return shown if known is not None or len(first.names) > 1 else None

    def _take_as_published(self, known: PublishedTable, header: Sequence[str]) -> None:
        """Take columns and roles of a published set where the user says nothing of them."""
        if known.instead:
            raise InputError(f"the columns are those of {known.name}", where=self.name, todo=known.instead)
        columns = {**known.named(header), **self.options.columns}
        self.options = replace(self.options, columns=columns, roles={**known.roles, **self.options.roles})
        self.account.remark(f"The columns are those of {known.name}, and read so.")

    def column(self, name: str, aliases: Iterable[str], header: Sequence[str]) -> str | None:
        """The file's column for bedside's ``name``: as mapped by the user, or one of the ``aliases``.

        None where there is none, or where the user says so by an empty name. An id may be made of several (``A+B``).
        Upper case, spaces, points, hyphens and underscores make no difference to an alias.

        Raises:
            InputError: the user named a column that is not there.
        """
        mapped = self.options.columns.get(name)
        if mapped is not None:
            if not mapped:
                return None
            if mapped in header or (name == "id" and set(mapped.split("+")) <= set(header)):
                return mapped
            raise InputError(
                f"there is no column {mapped!r}", where=self.header_place, todo=f"columns: {', '.join(header)}"
            )
        plain = {_plain(column): column for column in reversed(header)}
        return next((plain[key] for alias in aliases if (key := _plain(alias)) in plain), None)

    @property
    def header_place(self) -> str:
        """The place of the column names, for messages."""
        return f"{self.name}:{self.account.header or 1}"

    def needed(self, name: str, aliases: Iterable[str], header: Sequence[str]) -> str:
        """As :meth:`column`; an error where there is none lists the columns and shows how to map one."""
        column = self.column(name, aliases, header)
        if column is None:
            raise InputError(
                f"no column holds the {name}",
                where=self.header_place,
                todo=f"say which with `columns={name}=NAME`; columns: {', '.join(header)}",
            )
        return column


def _plain(column: str) -> str:
    return re.sub(r"[\s_.-]+", "", column).casefold()
