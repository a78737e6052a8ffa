"""Which rows of a table are one transcript: columns of ids, and what looks like one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bedside.support.errors import AmbiguousError, InputError
from bedside.transcripts.delimited_rows import SAMPLE
from bedside.transcripts.source_file import SourceFile
from bedside.transcripts.table_rows import SHEET, first_rows, raw_tables
from bedside.transcripts.transcript_fields import FIELDS

#: Names of a transcript's fields that are understood as columns, in lower case.
TABLE_FIELDS: Mapping[str, tuple[str, ...]] = {
    **FIELDS,
    "id": (
        *FIELDS["id"], "session", "conversation", "dialogue", "dialog", "transcript", "encounter", "interview",
        "interview_id", "visit", "visit_id", "conv_id", "chat_id", "call_id", "file", "file_id", "filename",
        "file_name",
    ),
}  # fmt: skip
#: Fewest rows that tell whether a column has another value in each.
_ENOUGH_ROWS = 3


def id_column(source: SourceFile, header: Sequence[str]) -> str | None:
    """The column that tells the transcript of a row, in a table with several rows a transcript.

    A column of a known name that has another value in each of the first rows numbers utterances: it is passed over.

    Raises:
        AmbiguousError: there are only such.
    """
    if "id" in source.options.columns:
        return source.column("id", TABLE_FIELDS["id"], header)
    names = id_columns(source, header)
    if not names or source.span is not None:
        return names[0] if names else None
    sampled = first_rows(source, SAMPLE)
    rows = [] if sampled is None else sampled[1]
    for name in names:
        at = header.index(name)
        values = [row[at] for row in rows if at < len(row)]
        if len(values) < _ENOUGH_ROWS or len(set(values)) < len(values):
            return name
    raise AmbiguousError(
        f"the column {names[0]!r} has another value in each row: it may tell the transcripts, each of one turn, or "
        "number the utterances",
        where=source.name,
        todo=f"say `columns=id={names[0]}` if it tells the transcripts, `columns=id=NAME` if another column does, or "
        "`columns=id=` if the file is one transcript",
    )


def id_columns(source: SourceFile, header: Sequence[str]) -> list[str]:
    """All columns whose names may be those of ids, the likeliest first; the case where there is no other."""
    names: list[str] = []
    rest = list(header)
    while (name := source.column("id", TABLE_FIELDS["id"], rest)) is not None:
        names.append(name)
        rest.remove(name)
    if names or "case_id" not in FIELDS:
        return names
    case = source.column("case_id", TABLE_FIELDS["case_id"], header)
    return [] if case is None else [case]


def check_blocks(
    source: SourceFile, rows: Sequence[Sequence[str]], speaker: int, columns: Mapping[str, int]
) -> None:
    """See that no column divides rows without an id into what may be several transcripts.

    Args:
        source: the file.
        rows: all of them.
        speaker: the place of the column of speakers.
        columns: the places of those that may.

    Raises:
        AmbiguousError: a column has several values, each in rows that stand together and in which two or more speak.
    """
    for name, at in columns.items():
        blocks: list[tuple[str, set[str]]] = []
        for row in rows:
            if not blocks or blocks[-1][0] != row[at]:
                blocks.append((row[at], set()))
            blocks[-1][1].add(row[speaker])
        values = [value for value, _ in blocks]
        spoken = sum(len(speakers) > 1 for _, speakers in blocks)
        if len(values) > 1 and len(set(values)) == len(values) and 2 * spoken >= len(values):
            raise AmbiguousError(
                f"no column is known to hold the id of a transcript, and {name!r} has {len(values)} values, each in "
                f"rows that stand together: they may be {len(values)} transcripts, or parts of one",
                where=source.name,
                todo=f"say `columns=id={name}` for {len(values)} transcripts, or `columns=id=` for one",
            )


class SheetIds:
    """Ids of transcripts in several worksheets, which may have the same ones.

    Args:
        source: the file.
        header: its columns.
        place: of the column of ids, or of cases where there is no other; None where there is none.
    """

    def __init__(self, source: SourceFile, header: Sequence[str], place: int | None) -> None:
        self._sheet = None
        self._place = place
        if place is None or SHEET not in header or len(source.account.sheets) < 2:
            return
        if _repeats(source, header[place]):
            self._sheet = header.index(SHEET)
            source.account.remark(
                "The worksheets have the same ids, which are taken for cases; a transcript's id is sheet/id. "
                "`columns=system=sheet` takes the worksheets for systems."
            )

    def name(self, row: Sequence[str], name: str) -> str:
        """The id of the transcript of a row, which has this one in its worksheet."""
        return name if self._sheet is None else f"{row[self._sheet]}/{name.strip()}"

    def fields(self, row: Sequence[str], fields: Mapping[str, Any]) -> dict[str, Any]:
        """A transcript's id and case as they are among all worksheets."""
        if self._sheet is None or self._place is None or not row[self._place].strip():
            return dict(fields)
        own = row[self._place].strip()
        return {**fields, "id": self.name(row, own), "case_id": fields.get("case_id") or own}


def _repeats(source: SourceFile, column: str) -> bool:
    """Whether a column has a value in two worksheets."""
    sheet_of: dict[str, str] = {}
    for table in raw_tables(source):
        at = table.names.index(column)
        for number, row in table.numbered():
            if number <= table.header or isinstance(row, InputError) or len(row) <= at or not row[at].strip():
                continue
            if sheet_of.setdefault(row[at].strip(), table.sheet) != table.sheet:
                return True
    return False
