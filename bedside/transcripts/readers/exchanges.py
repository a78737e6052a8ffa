"""Tables with one exchange a row: a column for each of the two who speak."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from bedside.support.errors import AmbiguousError, InputError
from bedside.support.registry import nearest
from bedside.transcripts.contract import Head, Reader
from bedside.transcripts.message_lists import MODEL_SPEAKERS
from bedside.transcripts.readers.rows import COLUMNS as ROW_COLUMNS
from bedside.transcripts.source_file import SourceFile
from bedside.transcripts.table_ids import TABLE_FIELDS, SheetIds
from bedside.transcripts.table_rows import table
from bedside.transcripts.transcript import Transcript, role_of
from bedside.transcripts.transcript_fields import factor_or_reference

#: Names of two columns of which the first says what is asked and the second what is answered, in lower case.
_PAIRS = (
    ("question", "answer"), ("questiontext", "answertext"), ("questions", "answers"), ("query", "answer"),
    ("query", "response"), ("question", "response"), ("prompt", "response"), ("prompt", "completion"),
    ("input", "output"), ("instruction", "output"), ("human", "ai"), ("human", "bot"), ("prompt", "answer"),
)  # fmt: skip
#: The value of ``columns=id=…`` by which each row is a transcript.
_EACH_ROW = "row"
_SPEECH = re.compile(r"\w\W*\s+\w|[.?!。？！]$|[\u4e00-\u9fff]{3}")
_COLUMNS = {"question": (), "answer": (), **TABLE_FIELDS}


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where things stand in a row.

    Attributes:
        said: the columns of those who speak, in the order of the turns.
        owner: the place of the column of ids; None where the file has none.
        each_row: whether each row is a transcript.
        fields: the places of a transcript's system, case and language.
        others: those of columns that bedside has no name for.
    """

    said: tuple[tuple[str, int], ...]
    owner: int | None
    each_row: bool
    fields: Mapping[str, int]
    others: Mapping[str, int]


def _pair(source: SourceFile, header: Sequence[str]) -> tuple[str, str] | None:
    """The columns of an exchange, as the user names them, by known names, or of two known speakers."""
    columns = source.options.columns
    if columns.get("question") or columns.get("answer"):
        return source.needed("question", (), header), source.needed("answer", (), header)
    plain = {name.strip().casefold().replace("_", "").replace(" ", ""): name for name in header}
    for question, answer in _PAIRS:
        if question in plain and answer in plain:
            return plain[question], plain[answer]
    speakers = {
        name: role
        for name in header
        if (role := role_of(name, source.options.roles) or MODEL_SPEAKERS.get(name.strip().casefold()))
        in ("clinician", "patient")
    }
    if len(speakers) == 2 and len({*speakers.values()}) == 2 and _hold_speech(source, header, [*speakers]):
        one, two = speakers
        return one, two
    return None


def _hold_speech(source: SourceFile, header: Sequence[str], names: Sequence[str]) -> bool:
    """Whether columns hold what was said, and not who: words between spaces, or behind each other in Chinese."""
    rows = [] if source.columns is None else source.columns[1]
    for name in names:
        at = header.index(name)
        cells = [row[at].strip() for row in rows if at < len(row) and row[at].strip()]
        if 2 * sum(_SPEECH.search(cell) is not None for cell in cells) < max(1, len(cells)):
            return False
    return True


def _claims(head: Head) -> Literal["transcripts", "companion"] | None:
    if head.columns is None:
        return None
    header, _ = head.columns
    if all(head.source.column(name, ROW_COLUMNS[name], header) for name in ("speaker", "text")):
        return None
    return None if _pair(head.source, header) is None else "transcripts"


def _layout(source: SourceFile, header: Sequence[str]) -> _Layout:
    columns = source.options.columns
    unknown = [name for name in columns if name not in _COLUMNS]
    if unknown:
        raise InputError(
            f"bedside knows no column {unknown[0]!r} here (`columns`)",
            where=source.name,
            todo=nearest(unknown[0], _COLUMNS),
        )
    pair = _pair(source, header)
    if pair is None:
        raise InputError(
            "no two columns are known to hold what is asked and what is answered",
            where=source.header_place,
            todo=f"name them with `columns=question=NAME,answer=NAME`; columns: {', '.join(header)}",
        )
    rest = [name for name in header if name not in pair]
    each_row = columns.get("id") == _EACH_ROW and _EACH_ROW not in header
    names = {
        name: column
        for name, aliases in TABLE_FIELDS.items()
        if not (name == "id" and each_row) and (column := source.column(name, aliases, rest)) is not None
    }
    if "id" not in names and "id" not in columns:
        _check_rows(source, pair)
    source.account.columns.update({"question": pair[0], "answer": pair[1], **names})
    source.account.remark(f"In each row {pair[0]!r} speaks before {pair[1]!r}.")
    return _Layout(
        said=tuple((name, header.index(name)) for name in pair),
        owner=header.index(names["id"]) if "id" in names else None,
        each_row=each_row,
        fields={name: header.index(column) for name, column in names.items() if name != "id"},
        others={name: header.index(name) for name in rest if name and name not in names.values()},
    )


def _check_rows(source: SourceFile, pair: tuple[str, str]) -> None:
    if source.columns is not None and len(source.columns[1]) > 1:
        raise AmbiguousError(
            f"each row holds an exchange ({pair[0]!r} and {pair[1]!r}), and no column is known to hold an id: each row "
            "may be a transcript, or all rows one",
            where=source.name,
            todo=f"say `columns=id={_EACH_ROW}` if each row is one, `columns=id=` if all are one, or `columns=id=NAME` "
            "if a column tells",
        )


def _read(source: SourceFile) -> Iterator[Transcript]:
    source.aliases = MODEL_SPEAKERS
    header, rows = table(source)
    layout = _layout(source, header)
    ids = SheetIds(source, header, layout.owner)

    def items() -> Iterator[tuple[str, str, int, list[str]] | InputError]:
        for position, (where, row) in enumerate(rows):
            if isinstance(row, InputError):
                yield row
                continue
            size = sum(len(row[at]) for _, at in layout.said)
            if layout.owner is not None:
                yield where, ids.name(row, row[layout.owner]), size, row
            else:
                yield where, f"{source.stem}#{position}" if layout.each_row else source.stem, size, row

    for name, group in source.by_transcript(items()):
        transcript = source.attempt(_transcript, source, layout, ids, name, group)
        if transcript is not None:
            yield transcript


def _transcript(
    source: SourceFile, layout: _Layout, ids: SheetIds, name: str, group: list[tuple[str, list[str]]]
) -> Transcript:
    where, first = group[0]
    if layout.owner is not None and not first[layout.owner].strip():
        raise InputError("the row has no transcript id", where=where, todo="fill it")
    constant = {
        column: first[at] for column, at in layout.others.items() if len({row[at] for _, row in group}) == 1
    }
    speakers: list[str] = []
    texts: list[str] = []
    places: list[str] = []
    metas: list[dict[str, Any]] = []
    for place, row in group:
        meta = {column: row[at] for column, at in layout.others.items() if column not in constant and row[at]}
        for speaker, at in layout.said:
            if row[at].strip():
                speakers.append(speaker)
                texts.append(row[at].strip())
                places.append(place)
                metas.append(dict(meta))
            else:
                source.account.left_out["empty cells of those who speak"] += 1
    factors: dict[str, Any] = {}
    reference: dict[str, Any] = {}
    for column, value in constant.items():
        factor_or_reference(column, value, factors, reference, typed=False)
    fields: dict[str, Any] = {"id": name.strip()}
    for key, at in layout.fields.items():
        if any(row[at] != first[at] for _, row in group):
            raise InputError(
                f"the {key} changes within the transcript",
                where=where,
                todo="give it one, or an id of its own",
            )
        fields[key] = first[at].strip() or None
    return source.transcript(
        source.turns(speakers, texts, places, metas),
        where,
        factors=factors,
        reference=reference,
        **ids.fields(first, fields),
    )


READER = Reader(
    name="exchanges",
    title="table with one exchange a row: question and answer (CSV, TSV, XLSX, Parquet)",
    description=(
        "A column for each of the two who speak, named after a speaker (`patient, doctor`; `user, assistant`), or "
        f"{', '.join(f'`{one}, {two}`' for one, two in _PAIRS[:9])}; any two with "
        "`--columns question=NAME,answer=NAME`, the first of which speaks first. Where the names tell no role, "
        "`--roles question=patient,answer=clinician` does. The rows of one id are one transcript. Without a column of "
        "ids, `--columns id=row` makes each row a transcript and `--columns id=` all rows one. An empty cell is no "
        "turn, and counted. Other columns are factors where they are constant in a transcript, else they stand with "
        "the turns (`meta`)."
    ),
    example=("id,doctor,patient\na-1,What brings you here?,I sleep badly.\na-1,Since when?,Since May.\n"),
    example_name="exchanges.csv",
    endings=(".csv", ".tsv", ".xlsx", ".parquet"),
    claims=_claims,
    read=_read,
    priority=85,
)
