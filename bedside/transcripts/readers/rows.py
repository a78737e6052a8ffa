"""Tables with one utterance a row, AnnoMI among them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from bedside.support.errors import InputError
from bedside.transcripts.contract import Head, Reader
from bedside.transcripts.message_lists import MODEL_SPEAKERS
from bedside.transcripts.source_file import SourceFile
from bedside.transcripts.spans import NotDivisible, Span
from bedside.transcripts.table_layout import (
    TABLE_FIELDS,
    Group,
    TableLayout,
    check_blocks,
    id_column,
    id_columns,
    missing_columns,
)
from bedside.transcripts.table_rows import row_spans, table
from bedside.transcripts.transcript import CODES, Dialogue, Role, Transcript
from bedside.transcripts.transcript_fields import number_or_text

#: Names understood without a mapping, in lower case, for each of bedside's columns.
COLUMNS: dict[str, tuple[str, ...]] = {
    **TABLE_FIELDS,
    "speaker": ("speaker", "role", "interlocutor", "participant", "from", "sender", "author"),
    "text": ("text", "utterance", "utterance_text", "message", "content", "value"),
    "turn": ("turn", "turn_id", "turn_index", "utterance_id", "index"),
    "coder": ("coder", "annotator", "annotator_id", "coder_id"),
    "time": ("time", "timestamp"),
    "start": ("start", "start_time"),
    "stop": ("stop", "stop_time", "end", "end_time"),
    "stage": ("stage",),
    **{code: (code,) for code in CODES},
}  # fmt: skip

#: What is known of each turn.
_OF_TURN = ("time", "start", "stop", "stage")
#: Speakers as logs of language models name them; an observation may be somebody's.
_SPEAKERS: Mapping[str, Role] = {name: role for name, role in MODEL_SPEAKERS.items() if name != "observation"}

_ANNOMI = {"transcript_id", "utterance_id", "interlocutor", "utterance_text", "main_therapist_behaviour"}
_ANNOMI_REFERENCE = {"video_title", "video_url"}
_NOT_CODED = {"", "n/a", "na"}


def _claims(head: Head) -> Literal["transcripts", "companion"] | None:
    # The last to be asked: what a table lacks is said better by naming its columns. JSON may be anything.
    if head.columns is None:
        return None
    header, rows = head.columns
    told = all(head.source.column(name, COLUMNS[name], header) for name in ("speaker", "text"))
    flat = not any(cell[:1] in ("{", "[") for row in rows for cell in row)
    return "transcripts" if head.first is None or told or flat else None


@dataclass(slots=True)
class _RowLayout:
    """Where things stand in a row of an utterance."""

    text: int
    speaker: int
    turn: int | None = None
    coder: int | None = None
    annomi: bool = False
    #: Of each turn: time, start, stop, stage.
    meta: dict[str, int] = field(default_factory=dict)
    #: Columns of codes, and how their cells become labels.
    coded: list[int] = field(default_factory=list)
    codes: Callable[[tuple[str, ...], str], dict[str, str]] = lambda cells, where: {}


def _names(source: SourceFile, header: Sequence[str]) -> dict[str, str]:
    """The columns by bedside's names.

    Raises:
        AmbiguousError: several may tell the transcripts.
        InputError: the text or the speaker is missing, or the numbers of turns that several people coded.
    """
    source.check_columns(COLUMNS)
    names = {
        name: column
        for name, aliases in COLUMNS.items()
        if name != "id" and (column := source.column(name, aliases, header)) is not None
    }
    missing = [name for name in ("text", "speaker") if name not in names]
    if missing:
        raise missing_columns(source, header, names, missing)
    owner = id_column(source, header)
    if owner is not None:
        names["id"] = owner
        if owner == names.get("turn"):
            del names["turn"]
    if "coder" in names and "turn" not in names:
        raise InputError(
            "there are coders but no column of turn numbers, so an utterance can't be told from the next",
            where=source.header_place,
            todo="say which column numbers the turns with `columns=turn=NAME`",
        )
    return names


def _layout(header: Sequence[str], names: Mapping[str, str]) -> _RowLayout:
    place = {name: position for position, name in enumerate(header)}
    places = {name: place[column] for name, column in names.items()}
    layout = _RowLayout(
        text=places["text"],
        speaker=places["speaker"],
        turn=places.get("turn"),
        coder=places.get("coder"),
        annomi=place.keys() >= _ANNOMI,
        meta={name: places[name] for name in _OF_TURN if name in places},
    )
    if layout.annomi:
        _place_annomi_codes(layout, place)
    else:
        codes = [code for code in CODES if code in places]
        layout.coded = [places[code] for code in codes]
        layout.codes = partial(_codes, codes)
    return layout


def _place_annomi_codes(layout: _RowLayout, place: Mapping[str, int]) -> None:
    """Say in the layout where AnnoMI's codes stand and how they are read."""
    pairs = [name for name in ("question", "reflection", "therapist_input") if f"{name}_exists" in place]
    singles = [
        (code, column)
        for code, column in (
            ("main_behaviour", "main_therapist_behaviour"),
            ("client_talk", "client_talk_type"),
        )
        if column in place
    ]
    layout.coded = [
        *(place[f"{name}_{part}"] for name in pairs for part in ("exists", "subtype")),
        *(place[column] for _, column in singles),
    ]
    layout.codes = partial(_annomi_codes, pairs, [code for code, _ in singles])


def _codes(names: Sequence[str], cells: tuple[str, ...], where: str) -> dict[str, str]:
    codes = {}
    for name, cell in zip(names, cells, strict=True):
        label = cell.strip().casefold()
        if label not in _NOT_CODED:
            if label not in CODES[name]:
                raise InputError(
                    f"{name} has no label {cell!r:.40}", where=where, todo=f"labels: {', '.join(CODES[name])}"
                )
            codes[name] = label
    return codes


def _annomi_codes(
    pairs: Sequence[str], singles: Sequence[str], cells: tuple[str, ...], where: str
) -> dict[str, str]:
    """AnnoMI says whether a code exists and, in another column, which kind it is."""
    values = [cell.strip().casefold() for cell in cells]
    names = [*pairs, *singles]
    labels = values[2 * len(pairs) :]
    kinds = []
    for position, name in enumerate(pairs):
        exists, subtype = values[2 * position : 2 * position + 2]
        if exists not in ("true", "false", "n/a") or (exists != "true" and subtype not in _NOT_CODED):
            raise InputError(
                f"{name}_exists is {exists!r:.20} and {name}_subtype {subtype!r:.20}",
                where=where,
                todo="an existing code has a kind, others none: mend the row",
            )
        # That a code exists without its kind is known of no label: it counts as not coded.
        kinds.append("none" if exists == "false" else subtype)
    return _codes(names, (*kinds, *labels), where)


def _read(source: SourceFile) -> Iterator[Transcript]:
    source.aliases = _SPEAKERS
    header, rows = table(source)
    names = _names(source, header)
    layout = _layout(header, names)
    transcripts = TableLayout(source, header, rows, names, spoken=("text",), used=layout.coded)
    codes_of_cells: dict[tuple[str, ...], dict[str, str]] = {}

    def dialogue(group: Group, varying: Mapping[str, int]) -> Dialogue:
        if "id" not in names and "id" not in source.options.columns:
            check_blocks(source, [row for _, row in group], layout.speaker, transcripts.others)
        utterances = _utterances(layout, group)
        opening = [rows[0] for rows in utterances]
        return source.turns(
            [row[layout.speaker] for _, row in opening],
            [row[layout.text] for _, row in opening],
            [place for place, _ in opening],
            [_meta(layout, rows, varying, codes_of_cells) for rows in utterances],
        )

    more: Mapping[str, Any] = (
        {"system": "human", "language": "en", "reference": _ANNOMI_REFERENCE} if layout.annomi else {}
    )
    return transcripts.transcripts(dialogue, **more)


def _meta(
    layout: _RowLayout,
    rows: Group,
    varying: Mapping[str, int],
    codes_of_cells: dict[tuple[str, ...], dict[str, str]],
) -> dict[str, object]:
    """What is known of a turn, of which there are several rows where several people coded it."""
    _, row = rows[0]
    meta: dict[str, object] = {}
    for column, at in (*layout.meta.items(), *varying.items()):
        if len(rows) > 1 and layout.coder is not None and len({coded[at] for _, coded in rows}) > 1:
            meta[column] = {coded[layout.coder]: coded[at] for _, coded in rows}
        elif row[at]:
            meta[column] = _seconds(row[at]) if column in ("start", "stop") else row[at]
    codes = {}
    for place, row in rows if layout.coded else ():
        cells = tuple([row[at] for at in layout.coded])
        labels = codes_of_cells.get(cells)
        if labels is None:
            labels = codes_of_cells[cells] = layout.codes(cells, place)
        if labels:
            coder = "coder" if layout.coder is None else row[layout.coder].strip()
            if not coder:
                raise InputError("the row has codes but no coder", where=place, todo="fill in who coded it")
            codes[coder] = labels.copy()
    if codes:
        meta["codes"] = codes
    return meta


def _seconds(cell: str) -> float | str:
    """A time in seconds as a number; another as it is written."""
    number = number_or_text(cell.strip())
    return cell if isinstance(number, str) else float(number)


def _utterances(layout: _RowLayout, group: Group) -> list[Group]:
    """The rows of each utterance (several where several people coded it), in order of the turns."""
    if layout.turn is None:
        return [[placed] for placed in group]
    utterances: dict[str, Group] = {}
    for placed in group:
        where, row = placed
        rows = utterances.setdefault(row[layout.turn], [])
        if rows:
            place, other = rows[0]
            if layout.coder is None:
                raise InputError(
                    f"turn {row[layout.turn]!r} stands twice",
                    where=f"{place} and {where}",
                    todo="number each turn once, or name the column of coders with `columns=coder=NAME`",
                )
            for at, what in ((layout.text, "texts"), (layout.speaker, "speakers")):
                if row[at] != other[at]:
                    raise InputError(
                        f"the utterance {row[layout.turn]!r} has two {what}",
                        where=f"{place} and {where}",
                        todo="make its rows agree, or number the turns anew",
                    )
            if any(row[layout.coder] == before[layout.coder] for _, before in rows):
                raise InputError(
                    f"coder {row[layout.coder]!r} coded turn {row[layout.turn]!r} twice",
                    where=where,
                    todo="keep one of the rows",
                )
        rows.append(placed)
    try:
        return [utterances[key] for key in sorted(utterances, key=int)]
    except ValueError:
        return list(utterances.values())


def _spans(source: SourceFile, size: int) -> list[Span]:
    """A transcript's rows are never torn."""

    def owner(header: list[str]) -> int | None:
        column = _names(source, header).get("id")
        # A piece takes the likeliest name: whether a column tells transcripts shows in the whole file's first rows.
        named = "id" in source.options.columns
        if column is not None and not named and column != id_columns(source, header)[0]:
            raise NotDivisible
        return None if column is None else header.index(column)

    return row_spans(source, size, owner)


READER = Reader(
    name="rows",
    title="table with one utterance a row (CSV, TSV, XLSX, Parquet, JSON records), such as AnnoMI",
    description=(
        "One utterance a row, with a header; the rows of a transcript stand together. Columns, with the names "
        "understood without `--columns`: "
        + "; ".join(f"`{name}` ({', '.join(known)})" for name, known in COLUMNS.items() if name not in CODES)
        + f"; and the behaviour codes {', '.join(f'`{code}`' for code in CODES)}. Only `speaker` and `text` are "
        "required. Several coders' rows of one turn become one turn. Another column becomes a factor where it is "
        "constant in the transcript, and stands with the turns (`meta`) where it changes. AnnoMI is understood as "
        "published."
    ),
    example=(
        "id,turn,speaker,text,question\n"
        "a-1,0,therapist,What brings you here?,open\n"
        "a-1,1,client,I sleep badly.,\n"
    ),
    example_name="utterances.csv",
    facts={
        "family": "tables",
        "known_by": "a column of speakers and one of texts",
        "turns": "a row; several coders' rows of one turn joined",
        "kept": "id, system, case, language; time, stage, codes with turns; other columns as factors, or with turns",
        "left": "other worksheets, comments, rows above the column names; not counted: colours",
        "decided_by": "`--columns text=NAME,speaker=NAME,id=NAME`",
    },
    endings=(".csv", ".tsv", ".xlsx", ".parquet", ".json", ".jsonl", ".ndjson"),
    claims=_claims,
    read=_read,
    spans=_spans,
    priority=90,
)
