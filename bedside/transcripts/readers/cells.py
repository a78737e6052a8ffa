"""Tables with a whole dialogue in a cell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import orjson

from bedside.support.errors import AmbiguousError, InputError
from bedside.transcripts.cell_dialogue import DialogueLabel, dialogue_labels, is_speaker
from bedside.transcripts.contract import Head, Reader
from bedside.transcripts.message_lists import MODEL_SPEAKERS, is_message, message_turns
from bedside.transcripts.readers.rows import COLUMNS as ROW_COLUMNS
from bedside.transcripts.request_answers import list_of
from bedside.transcripts.source_file import SourceFile
from bedside.transcripts.table_layout import TABLE_FIELDS, Group, TableLayout, field_columns
from bedside.transcripts.table_rows import TABLE_ENDINGS, row_spans, table, table_kind
from bedside.transcripts.transcript import Dialogue, Transcript
from bedside.transcripts.typed_rows import cell_text

_DIALOGUE = (
    "dialogue", "dialog", "conversation", "transcript", "text", "messages", "conversations", "dialogues", "chat",
)  # fmt: skip
_COLUMNS = {"dialogue": _DIALOGUE, **TABLE_FIELDS}


def _messages(cell: str) -> list[Any] | None:
    """The list of messages that a cell holds as JSON, each as an object; None where it holds none.

    Pairs of a speaker and a text are messages, too.
    """
    value = _json(cell)
    if isinstance(value, dict):
        key = list_of(value)
        value = None if key is None else value[key]
    if not isinstance(value, list) or not value:
        return None
    if all(
        isinstance(part, list) and len(part) == 2 and all(isinstance(one, str) for one in part)
        for part in value
    ):
        return [{"speaker": speaker, "text": text} for speaker, text in value]
    return value if is_message(value[0]) else None


def _json(cell: str) -> Any:
    """The list or object that a cell holds as JSON; None where it holds none."""
    if cell.lstrip()[:1] not in ("[", "{"):
        return None
    try:
        value = orjson.loads(cell)
    except orjson.JSONDecodeError:
        return None
    if isinstance(value, dict) and value.keys() == {"speaker", "utterance"}:
        # Lists beside each other, as datasets write a list of objects; a speaker may be the number of a class.
        who, said = value["speaker"], value["utterance"]
        if isinstance(who, list) and isinstance(said, list) and len(who) == len(said):
            return [{"speaker": str(one), "text": text} for one, text in zip(who, said, strict=True)]
    return value


def _plain(cell: str) -> str:
    """A cell whose JSON is a list of lines as these lines; another as it is."""
    value = _json(cell)
    if isinstance(value, list) and value and all(isinstance(line, str) for line in value):
        return "\n".join(value)
    return cell


def _weight(source: SourceFile, cells: Sequence[str]) -> tuple[int, int]:
    """How many labels of known speakers the cells of a column have, and how many labels in all."""
    known = labels = 0
    for cell in cells:
        messages = _messages(cell)
        if messages is not None:
            known, labels = known + len(messages), labels + len(messages)
            continue
        found = dialogue_labels(_plain(cell), source.options.roles)
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
    source.check_columns(_COLUMNS)
    columns = _dialogue_columns(source, header)
    names = {
        **{f"dialogue {n}" if n else "dialogue": column for n, column in enumerate(columns)},
        **field_columns(source, [column for column in header if column not in columns]),
    }
    spoken = [name for name in names if name.partition(" ")[0] == "dialogue"]
    transcripts = TableLayout(source, header, rows, names, spoken=spoken, each_row=True)
    places = [header.index(column) for column in columns]

    def dialogue(group: Group, varying: Mapping[str, int]) -> Dialogue:
        ((where, row),) = group
        if len(places) == 1:
            return _turns(source, row, where, places[0])
        cells = [row[at] for at in places]
        joined = "\n".join(map(_plain, filter(str.strip, cells)))
        return _turns(source, [joined], f"{where}, {' and '.join(columns)}", 0)

    return transcripts.transcripts(dialogue)


def _dialogue_columns(source: SourceFile, header: list[str]) -> list[str]:
    """The column whose cells hold the dialogues; several where the user says that one goes on in the next.

    Raises:
        AmbiguousError: several do.
        InputError: none does.
    """
    named = source.options.columns.get("dialogue", "")
    if named not in header and all(name in header for name in named.split("+")):
        return named.split("+")
    if not named and source.columns is not None:
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
            return likely
    return [source.needed("dialogue", _DIALOGUE, header)]


def _turns(source: SourceFile, row: list[str], where: str, dialogue: int) -> Dialogue:
    messages = _messages(row[dialogue])
    if messages is not None:
        value = _json(row[dialogue])
        for key in value.keys() - {list_of(value)} if isinstance(value, dict) else ():
            source.leave(key, cell_text(value[key]), where, instead="give it a column of its own")
        return message_turns(source, messages, where)
    text = _plain(row[dialogue])
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
    if table_kind(source) != "delimited" or not number.isdigit():
        return [f"{where}, turn {index}" for index in range(len(labels))]
    after = sum(cell.count("\n") for cell in row[dialogue + 1 :])
    text = row[dialogue]
    return [
        f"{place}:{int(number) - after - text.count(chr(10), label.start)}, turn {index}"
        for index, label in enumerate(labels)
    ]


READER = Reader(
    name="cells",
    title="table with a dialogue in a cell (CSV, TSV, XLSX, Parquet, JSON records)",
    description=(
        "One transcript a row. A cell holds the dialogue, each turn after its speaker's label (`Doctor: …`, `Dr.: …`, "
        "`[doctor] …`, `医生：…`) at the beginning of a line or, where lines have none, within the text; or it holds a "
        "list of messages of role and content as JSON or, in Parquet, as a list of structures. What stands like a "
        "label is one, so that a third speaker (`[patient_guest]`, `mother:`) is asked for where nothing tells the "
        "role. The column is found by its content, or named with `--columns dialogue=NAME` (`dialogue=A+B` where one "
        f"goes on in the next). {', '.join(f'`{key}`' for key in TABLE_FIELDS)} "
        "are understood; other short cells become factors, long ones go to the reference."
    ),
    example='id,dialogue\na-1,"Doctor: What brings you here?\nPatient: I sleep badly."\n',
    example_name="dialogues.csv",
    endings=TABLE_ENDINGS,
    claims=_claims,
    read=_read,
    spans=row_spans,
    priority=80,
)
