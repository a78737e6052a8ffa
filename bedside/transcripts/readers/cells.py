"""Tables with a whole dialogue in a cell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import orjson

from bedside.support.errors import AmbiguousError, InputError
from bedside.support.registry import nearest
from bedside.transcripts.cell_dialogue import DialogueLabel, dialogue_labels, is_speaker
from bedside.transcripts.contract import Head, Reader
from bedside.transcripts.message_lists import MODEL_SPEAKERS, is_message, message_turns
from bedside.transcripts.parquet_rows import is_parquet
from bedside.transcripts.readers.rows import COLUMNS as ROW_COLUMNS
from bedside.transcripts.request_answers import list_of
from bedside.transcripts.source_file import SourceFile
from bedside.transcripts.table_ids import TABLE_FIELDS, SheetIds
from bedside.transcripts.table_rows import is_workbook, row_spans, table
from bedside.transcripts.transcript import Dialogue, Transcript
from bedside.transcripts.transcript_fields import factor_or_reference

_DIALOGUE = (
    "dialogue", "dialog", "conversation", "transcript", "text", "messages", "conversations", "dialogues", "chat",
)  # fmt: skip
_COLUMNS = {"dialogue": _DIALOGUE, **TABLE_FIELDS}


def _messages(cell: str) -> list[Any] | None:
    """The list of messages that a cell holds as JSON; None where it holds none."""
    if cell.lstrip()[:1] not in ("[", "{"):
        return None
    try:
        value = orjson.loads(cell)
    except orjson.JSONDecodeError:
        return None
    if isinstance(value, dict):
        key = list_of(value)
        value = None if key is None else value[key]
    return value if isinstance(value, list) and value and is_message(value[0]) else None


def _weight(source: SourceFile, cells: Sequence[str]) -> tuple[int, int]:
    """How many labels of known speakers the cells of a column have, and how many labels in all."""
    known = labels = 0
    for cell in cells:
        messages = _messages(cell)
        if messages is not None:
            known, labels = known + len(messages), labels + len(messages)
            continue
        found = dialogue_labels(cell, source.options.roles)
        if len(found) > 1:
            labels += len(found)
            known += sum(is_speaker(label.name, source.options.roles) for label in found)
    return known, labels


def _claims(head: Head) -> Literal["transcripts", "companion"] | None:
    if head.columns is None:
        return None
    header, rows = head.columns
    if head.source.options.columns.get("dialogue"):
        return "transcripts"
    if all(head.source.column(name, ROW_COLUMNS[name], header) for name in ("speaker", "text")):
        return None
    return "transcripts" if any(_weight(head.source, row)[1] for row in rows) else None


def _read(source: SourceFile) -> Iterator[Transcript]:
    source.aliases = MODEL_SPEAKERS
    header, rows = table(source)
    unknown = [name for name in source.options.columns if name not in _COLUMNS]
    if unknown:
        raise InputError(
            f"bedside knows no column {unknown[0]!r} here (`columns`)",
            where=source.name,
            todo=nearest(unknown[0], _COLUMNS),
        )
    dialogue = _dialogue_column(source, header)
    names = {
        name: column
        for name, aliases in TABLE_FIELDS.items()
        if (column := source.column(name, aliases, [column for column in header if column != dialogue]))
    }
    source.account.columns.update({"dialogue": dialogue, **names})
    places = {name: header.index(column) for name, column in names.items()}
    ids = SheetIds(source, header, places.get("id", places.get("case_id")))
    for position, (where, row) in enumerate(rows, source.values_before):
        transcript = source.attempt(
            _transcript,
            source,
            row,
            where,
            f"{source.stem}#{position}",
            header,
            header.index(dialogue),
            places,
            ids,
        )
        if transcript is not None:
            yield transcript


def _dialogue_column(source: SourceFile, header: list[str]) -> str:
    """The column whose cells hold the dialogues.

    Raises:
        AmbiguousError: several do.
        InputError: none does.
    """
    if not source.options.columns.get("dialogue") and source.columns is not None:
        names, rows = source.columns
        weights = {
            name: weight
            for at, name in enumerate(names)
            # A row with a broken quote makes the file's head another table than the file is.
            if name
            and name in header
            and (weight := _weight(source, [row[at] for row in rows if at < len(row)]))[1]
        }
        dialogues = {name for name, (known, _) in weights.items() if known > 1} or weights.keys()
        # Notes have labels too (Allergies: none.), but of no speakers.
        likely = sorted(dialogues, key=names.index)
        if len(likely) > 1:
            raise AmbiguousError(
                f"the columns {likely[0]!r} and {likely[1]!r} both hold dialogues",
                where=source.name,
                todo=f"say which with `columns=dialogue={likely[0]}` or `columns=dialogue={likely[1]}`",
            )
        if likely:
            return likely[0]
    return source.needed("dialogue", _DIALOGUE, header)


def _transcript(
    source: SourceFile,
    row: list[str] | InputError,
    where: str,
    name: str,
    header: list[str],
    dialogue: int,
    places: dict[str, int],
    ids: SheetIds,
) -> Transcript:
    if isinstance(row, InputError):
        raise row
    messages = _messages(row[dialogue])
    turns = (
        _turns(source, row, where, dialogue) if messages is None else message_turns(source, messages, where)
    )
    fields: dict[str, Any] = {key: row[at].strip() or None for key, at in places.items()}
    factors: dict[str, Any] = {}
    reference: dict[str, Any] = {}
    for at, (column, cell) in enumerate(zip(header, row, strict=True)):
        if at != dialogue and at not in places.values() and column:
            factor_or_reference(column, cell, factors, reference, typed=False)
    fields = {**fields, "id": fields.get("id") or name}
    return source.transcript(turns, where, factors=factors, reference=reference, **ids.fields(row, fields))


def _turns(source: SourceFile, row: list[str], where: str, dialogue: int) -> Dialogue:
    text = row[dialogue]
    labels = dialogue_labels(text, source.options.roles)
    before = text[: labels[0].start].strip() if labels else text.strip()
    if before:
        raise InputError(
            f"the dialogue does not begin with a speaker but with {before!r:.40}",
            where=where,
            todo="begin each turn with a label such as Doctor:",
        )
    ends = [*(label.start for label in labels), len(text)][1:]
    speakers = [label.name for label in labels]
    texts = [text[label.end : end].strip() for label, end in zip(labels, ends, strict=True)]
    try:
        return source.turns(speakers, texts, where)
    except InputError:
        # What is wrong is told by the line it stands on.
        return source.turns(speakers, texts, _turn_places(source, row, where, dialogue, labels))


def _turn_places(
    source: SourceFile, row: list[str], where: str, dialogue: int, labels: Sequence[DialogueLabel]
) -> list[str]:
    """The place of each turn: of a text file its line, of a worksheet that of the row."""
    place, _, number = where.rpartition(":")
    if is_workbook(source) or is_parquet(source) or not number.isdigit():
        return [f"{where}, turn {index}" for index in range(len(labels))]
    after = sum(cell.count("\n") for cell in row[dialogue + 1 :])
    text = row[dialogue]
    return [
        f"{place}:{int(number) - after - text.count(chr(10), label.start)}, turn {index}"
        for index, label in enumerate(labels)
    ]


READER = Reader(
    name="cells",
    title="table with a dialogue in a cell (CSV, TSV, XLSX, Parquet)",
    description=(
        "One transcript a row. A cell holds the dialogue, each turn after its speaker's label (`Doctor: …`, `Dr.: …`, "
        "`[doctor] …`, `医生：…`) at the beginning of a line or, where lines have none, within the text; or it holds a "
        "list of messages of role and content as JSON or, in Parquet, as a list of structures. What stands like a "
        "label is one, so that a third speaker (`[patient_guest]`, `mother:`) is asked for where nothing tells the "
        "role. The column is found by its content, "
        f"or named with `--columns dialogue=NAME`. {', '.join(f'`{key}`' for key in TABLE_FIELDS)} "
        "are understood; other short cells become factors, long ones go to the reference."
    ),
    example='id,dialogue\na-1,"Doctor: What brings you here?\nPatient: I sleep badly."\n',
    example_name="dialogues.csv",
    endings=(".csv", ".tsv", ".xlsx", ".parquet"),
    claims=_claims,
    read=_read,
    spans=row_spans,
    priority=80,
)
