"""Tables with a whole dialogue in a cell."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal

from bedside.support.errors import InputError
from bedside.support.registry import nearest
from bedside.transcripts.contract import Head, Reader
from bedside.transcripts.read_options import ReadOptions
from bedside.transcripts.readers.rows import COLUMNS as ROW_COLUMNS
from bedside.transcripts.source_file import SourceFile
from bedside.transcripts.table_rows import row_spans, table
from bedside.transcripts.transcript import ROLE_ALIASES, Role, Transcript, role_of
from bedside.transcripts.transcript_fields import FIELDS, factor_or_reference

_DIALOGUE = ("dialogue", "dialog", "conversation", "transcript", "text")
_COLUMNS = {"dialogue": _DIALOGUE, **FIELDS}
#: Labels of a dialogue beside the known speakers.
_SHORT: dict[str, Role] = {"dr": "clinician", "dr.": "clinician", "pt": "patient", "pt.": "patient"}

# A label at the beginning of a line: a name and a colon, or a name in brackets.
_LINE = re.compile(r"^[ \t]*(?:\[([^\]\n]{1,40})\]|([^\W\d_][^:：\n]{0,39}?)[ \t]*[:：])", re.MULTILINE)
# What no label goes without.
_MARK = re.compile(r"[\]:：]")
# What a name looks like: up to three words that begin with a capital, or a few Chinese characters.
_NAME = re.compile(r"[^\W\d_a-z][\w.'’-]*(?: (?:[^\W\d_a-z][\w.'’-]*|\d+)){0,2}")


def _is_speaker(label: str, options: ReadOptions) -> bool:
    return role_of(label, options.roles) is not None or label.strip().casefold() in _SHORT


def _labels(text: str, options: ReadOptions) -> list[tuple[int, int, str]]:
    """Beginning, end and name of each speaker's label.

    Labels stand at the beginnings of lines (known names, and whatever looks like a name), or, where fewer
    than two do, anywhere (known names only).
    """
    labels: list[tuple[int, int, str]] = []
    if not _MARK.search(text):
        return labels
    for match in _LINE.finditer(text):
        name = (match[1] or match[2]).strip()
        if _is_speaker(name, options) or (match[2] and _NAME.fullmatch(name) and len(name) <= 30):
            labels.append((match.start(), match.end(), name))
    if len(labels) > 1:
        return labels
    names = sorted({*ROLE_ALIASES, *_SHORT, *options.roles}, key=len, reverse=True)
    anywhere = re.compile(rf"(?<!\w)({'|'.join(map(re.escape, names))})[ \t]*[:：]", re.IGNORECASE)
    inline = [(match.start(), match.end(), match[1]) for match in anywhere.finditer(text)]
    # In running text "the doctor: …" is no label where labels are capitalised.
    if inline and not inline[0][2][0].islower():
        inline = [label for label in inline if not label[2][0].islower()]
    return inline if len(inline) > len(labels) else labels


def _claims(head: Head) -> Literal["transcripts", "companion"] | None:
    if head.columns is None:
        return None
    header, rows = head.columns
    if "dialogue" in head.source.options.columns:
        return "transcripts"
    if all(head.source.column(name, ROW_COLUMNS[name], header) for name in ("speaker", "text")):
        return None
    options = head.source.options
    return "transcripts" if any(len(_labels(cell, options)) > 1 for row in rows for cell in row) else None


def _read(source: SourceFile) -> Iterator[Transcript]:
    source.aliases = _SHORT
    header, rows = table(source)
    unknown = [name for name in source.options.columns if name not in _COLUMNS]
    if unknown:
        raise InputError(
            f"bedside knows no column {unknown[0]!r} here (`columns`)",
            where=source.name,
            todo=nearest(unknown[0], _COLUMNS),
        )
    dialogue = _dialogue_column(source, header)
    places = {
        name: header.index(column)
        for name, aliases in FIELDS.items()
        if (
            column := source.column(
                name, [alias for alias in aliases if alias != dialogue.casefold()], header
            )
        )
    }
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
        )
        if transcript is not None:
            yield transcript


def _dialogue_column(source: SourceFile, header: list[str]) -> str:
    if "dialogue" not in source.options.columns and source.columns is not None:
        for row in source.columns[1]:
            for name, cell in zip(header, row, strict=False):
                if len(_labels(cell, source.options)) > 1:
                    return name
    return source.needed("dialogue", _DIALOGUE, header)


def _transcript(
    source: SourceFile,
    row: list[str] | InputError,
    where: str,
    name: str,
    header: list[str],
    dialogue: int,
    places: dict[str, int],
) -> Transcript:
    if isinstance(row, InputError):
        raise row
    text = row[dialogue]
    labels = _labels(text, source.options)
    before = text[: labels[0][0]].strip() if labels else text.strip()
    if before:
        raise InputError(
            f"the dialogue does not begin with a speaker but with {before!r:.40}",
            where=where,
            todo="begin each turn with a label such as Doctor:",
        )
    ends = [*(start for start, _, _ in labels), len(text)][1:]
    fields: dict[str, Any] = {key: row[at].strip() or None for key, at in places.items()}
    factors: dict[str, Any] = {}
    reference: dict[str, Any] = {}
    for at, (column, cell) in enumerate(zip(header, row, strict=True)):
        if at != dialogue and at not in places.values() and column:
            factor_or_reference(column, cell, factors, reference, typed=False)
    return source.transcript(
        source.turns(
            [label for _, _, label in labels],
            [text[end:stop].strip() for (_, end, _), stop in zip(labels, ends, strict=True)],
            where,
        ),
        where,
        factors=factors,
        reference=reference,
        **{**fields, "id": fields.get("id") or name},
    )


READER = Reader(
    name="cells",
    title="table with a dialogue in a cell (CSV, TSV, XLSX)",
    description=(
        "One transcript a row. A cell holds the dialogue, each turn after its speaker's label (`Doctor: …`, `Dr.: …`, "
        "`[doctor] …`, `医生：…`) at the beginning of a line or, where lines have none, within the text. The column is "
        f"found by its content, or named with `--columns dialogue=NAME`. {', '.join(f'`{key}`' for key in FIELDS)} "
        "are understood; other short cells become factors, long ones go to the reference."
    ),
    example='id,dialogue\na-1,"Doctor: What brings you here?\nPatient: I sleep badly."\n',
    example_name="dialogues.csv",
    endings=(".csv", ".tsv", ".xlsx"),
    claims=_claims,
    read=_read,
    spans=row_spans,
    priority=80,
)
