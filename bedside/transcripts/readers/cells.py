"""Tables with a whole dialogue in a cell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bedside.core.errors import AmbiguousError, InputError
from bedside.transcripts.column_names import ROW_COLUMNS, TABLE_FIELDS
from bedside.transcripts.contract import Claim, Head, Reader
from bedside.transcripts.labelled_text import cell_labels
from bedside.transcripts.message_lists import MODEL_SPEAKERS, is_message, loaded_json, message_turns
from bedside.transcripts.request_answers import list_of
from bedside.transcripts.source_file import SourceFile
from bedside.transcripts.table_layout import Group, TableLayout, field_columns
from bedside.transcripts.table_rows import TABLE_ENDINGS, row_spans, table, table_kind
from bedside.transcripts.transcript import Dialogue, Transcript, is_speaker_word
from bedside.transcripts.transcript_maker import is_speech
from bedside.transcripts.typed_rows import cell_text

_DIALOGUE = (
    "dialogue", "dialog", "conversation", "transcript", "text", "messages", "conversations", "dialogues", "chat",
)  # fmt: skip
_COLUMNS = {"dialogue": _DIALOGUE, "answer": (), **TABLE_FIELDS}


def _content(cell: str) -> tuple[list[Any] | str, dict[str, Any]]:
    """What a cell holds: messages, where it is JSON of them or of pairs of a speaker and a text, or else a text; and
    what stands beside a list of messages."""
    value, beside = loaded_json(cell), {}
    if isinstance(value, dict) and value.keys() == {"speaker", "utterance"}:
        # Lists beside each other, as datasets write a list of objects; a speaker may be the number of a class.
        who, said = value["speaker"], value["utterance"]
        if isinstance(who, list) and isinstance(said, list) and len(who) == len(said):
            value = [{"speaker": str(one), "text": text} for one, text in zip(who, said, strict=True)]
    if isinstance(value, dict):
        key = list_of(value)
        beside = {name: inner for name, inner in value.items() if name != key}
        value = None if key is None else value[key]
    if not isinstance(value, list) or not value:
        return cell, {}
    if all(isinstance(line, str) for line in value):
        return "\n".join(value), {}
    if all(isinstance(pair, list) and list(map(type, pair)) == [str, str] for pair in value):
        return [{"speaker": speaker, "text": text} for speaker, text in value], beside
    return (value, beside) if is_message(value[0]) else (cell, {})


def _weight(source: SourceFile, cells: Sequence[str]) -> tuple[int, int]:
    """How many labels of known speakers the cells of a column have, and how many labels in all."""
    known = labels = 0
    for cell in cells:
        content, _ = _content(cell)
        if isinstance(content, list):
            known, labels = known + len(content), labels + len(content)
            continue
        found = cell_labels(content, source.options.roles)
        if len(found) > 1:
            labels += len(found)
            known += sum(is_speaker_word(label.name, source.options.roles) for label in found)
    return known, labels


def _claims(head: Head) -> Claim | None:
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
    answer = source.column("answer", (), header)
    names = {
        **{f"dialogue {n}" if n else "dialogue": column for n, column in enumerate(columns)},
        **field_columns(source, [column for column in header if column not in (*columns, answer)]),
        **({} if answer is None else {"answer": answer}),
    }
    spoken = [name for name in names if name.partition(" ")[0] == "dialogue"]
    transcripts = TableLayout(source, header, rows, names, spoken=spoken, each_row=True)
    places = [header.index(column) for column in columns]

    def dialogue(group: Group, varying: Mapping[str, int]) -> Dialogue:
        ((where, row),) = group
        said = "" if answer is None else row[header.index(answer)]
        if len(places) == 1:
            (at,) = places
            below = sum(cell.count("\n") for cell in row[at + 1 :])
            return _turns(source, row[at], where, below, said)
        cells = [(row[at], _content(row[at])[0]) for at in places if row[at].strip()]
        for (cell, content), column in zip(cells[1:], columns[1:], strict=False):
            if isinstance(content, str) and not cell_labels(content, source.options.roles):
                raise InputError(
                    f"the cell of {column!r} begins with no speaker: {cell.strip():.40}",
                    where=where,
                    todo=f'say `columns="dialogue={columns[0]},answer={column}"` if it answers the dialogue',
                )
        joined = "\n".join(content if isinstance(content, str) else cell for cell, content in cells)
        return _turns(source, joined, f"{where}, {' and '.join(columns)}", answer=said)

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
            if name and name in header and (weight := _weight(source, [row[at] for row in rows if at < len(row)]))[1]
        }
        # Notes have labels too (Allergies: none.), but of no speakers.
        likely = [name for name, (known, _) in weights.items() if known > 1] or list(weights)
        if len(likely) > 1:
            raise AmbiguousError(
                f"the columns {likely[0]!r} and {likely[1]!r} both hold dialogues",
                where=source.name,
                todo=f"say which with `columns=dialogue={likely[0]}` or `columns=dialogue={likely[1]}`",
            )
        if likely:
            return likely
    return [source.needed("dialogue", _DIALOGUE, header)]


def _turns(source: SourceFile, cell: str, where: str, below: int = 0, answer: str = "") -> Dialogue:
    """The turns of a cell, behind which the row has so many further lines; and what the other side answered then."""
    content, beside = _content(cell)
    if isinstance(content, list):
        if answer.strip():
            content = [*content, {"role": "assistant", "content": answer}]
        for key, value in beside.items():
            source.check_unread(key, cell_text(value), where, instead="give it a column of its own")
        return message_turns(source, content, where)
    labels = cell_labels(content, source.options.roles)
    before = content[: labels[0].start].strip() if labels else content.strip()
    if before:
        raise InputError(
            f"the dialogue does not begin with a speaker but with {before!r:.40}",
            where=where,
            todo="begin each turn with a label such as Doctor:",
        )
    ends = [*(label.start for label in labels), len(content)][1:]
    speakers = [label.name for label in labels]
    texts = [content[label.end : end].strip() for label, end in zip(labels, ends, strict=True)]
    for line in [line for text in texts for line in text.split("\n")[1:] if is_speech(line)]:
        source.account.note_joined(line, where)
    if answer.strip():
        other = next((name for name in reversed(speakers) if name != speakers[-1]), None)
        if other is None:
            raise InputError(
                "one side speaks in the dialogue, so nothing tells who answers it",
                where=where,
                todo="write the answer behind its speaker's label",
            )
        speakers.append(other)
        texts.append(answer.strip())
    try:
        return source.turns(speakers, texts, where)
    except InputError:
        place, _, last = where.rpartition(":")
        if table_kind(source) != "delimited" or not last.isdigit():
            raise
        # What is wrong is told by the line it stands on.
        if answer.strip():
            raise
        numbers = [int(last) - below - cell.count("\n", label.start) for label in labels]
        places = [f"{place}:{number}, turn {index}" for index, number in enumerate(numbers)]
        return source.turns(speakers, texts, places)


READER = Reader(
    name="cells",
    title="table with a dialogue in a cell (CSV, TSV, XLSX, Parquet, JSON records)",
    description=(
        "One transcript a row. A cell holds the dialogue, each turn after its speaker's label (`Doctor: …`, `Dr.: …`, "
        "`[doctor] …`, `医生：…`) at the beginning of a line or, where lines have none, within the text; or it holds a "
        "list of messages of role and content as JSON or, in Parquet, as a list of structures. What stands like a "
        "label is one, so that a third speaker (`[patient_guest]`, `mother:`) is asked for where nothing tells the "
        "role. The column is found by its content, or named with `--columns dialogue=NAME` (`dialogue=A+B` where the "
        "labels go on in another, `dialogue=A,answer=B` where another holds the answer to it). "
        f"{', '.join(f'`{key}`' for key in TABLE_FIELDS)} "
        "are understood; other short cells become factors, long ones go to the reference."
    ),
    example='id,dialogue\na-1,"Doctor: What brings you here?\nPatient: I sleep badly."\n',
    example_name="dialogues.csv",
    facts={
        "family": "tables",
        "known_by": "a column of labelled dialogues or lists of messages",
        "turns": "labelled lines, or messages, of a cell",
        "kept": "id, system, case, language; short cells as factors, long ones in the reference",
        "left": "other worksheets, comments, rows above the column names; not counted: colours",
        "decided_by": "`--columns dialogue=NAME`",
    },
    endings=TABLE_ENDINGS,
    claims=_claims,
    read=_read,
    spans=row_spans,
    priority=80,
)
