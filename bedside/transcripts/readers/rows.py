"""Tables with one utterance a row, AnnoMI among them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

from bedside.support.errors import InputError
from bedside.support.registry import nearest
from bedside.transcripts.contract import Head, Reader
from bedside.transcripts.source_file import SourceFile
from bedside.transcripts.spans import NotDivisible, Span
from bedside.transcripts.table_ids import TABLE_FIELDS, SheetIds, check_blocks, id_column, id_columns
from bedside.transcripts.table_rows import row_spans, table
from bedside.transcripts.transcript import CODES, PROVENANCE_SPEAKERS, Role, Transcript
from bedside.transcripts.transcript_fields import factor_or_reference

#: Names understood without a mapping, in lower case, for each of bedside's columns.
COLUMNS: dict[str, tuple[str, ...]] = {
    **TABLE_FIELDS,
    "speaker": ("speaker", "role", "interlocutor", "participant"),
    "text": ("text", "utterance", "utterance_text", "message", "content"),
    "turn": ("turn", "turn_id", "turn_index", "utterance_id", "index"),
    "coder": ("coder", "annotator", "annotator_id", "coder_id"),
    "time": ("time", "timestamp"),
    "stage": ("stage",),
    **{code: (code,) for code in CODES},
}  # fmt: skip

#: Tools as logs of language models name them; an observation may be somebody's.
_TOOLS: Mapping[str, Role] = {name: "other" for name in PROVENANCE_SPEAKERS if name != "observation"}

_ANNOMI = {"transcript_id", "utterance_id", "interlocutor", "utterance_text", "main_therapist_behaviour"}
_ANNOMI_REFERENCE = {"video_title", "video_url"}
_NOT_CODED = {"", "n/a", "na"}


def _claims(head: Head) -> Literal["transcripts", "companion"] | None:
    # The last to be asked: what a table lacks is said better by naming its columns.
    return "transcripts" if head.columns is not None else None


@dataclass(slots=True)
class _RowLayout:
    """Where things stand in a row."""

    text: int
    speaker: int
    id: int | None = None
    turn: int | None = None
    coder: int | None = None
    annomi: bool = False
    #: Of each transcript: system, case_id, language.
    fields: dict[str, int] = field(default_factory=dict)
    #: Of each turn: time, stage.
    meta: dict[str, int] = field(default_factory=dict)
    #: Columns of codes, and how their cells become labels.
    coded: list[int] = field(default_factory=list)
    codes: Callable[[tuple[str, ...], str], dict[str, str]] = lambda cells, where: {}
    #: Columns that bedside has no name for.
    unnamed: dict[str, int] = field(default_factory=dict)


def _layout(source: SourceFile, header: list[str]) -> _RowLayout:
    unknown = [name for name in source.options.columns if name not in COLUMNS]
    if unknown:
        raise InputError(
            f"bedside knows no column {unknown[0]!r} (`columns`)",
            where=source.name,
            todo=nearest(unknown[0], COLUMNS),
        )
    place = {name: position for position, name in enumerate(header)}
    names = {
        name: column
        for name, aliases in COLUMNS.items()
        if name != "id" and (column := source.column(name, aliases, header)) is not None
    }
    owner = id_column(source, header)
    if owner is not None:
        names["id"] = owner
        if owner == names.get("turn"):
            del names["turn"]
    places = {name: place[column] for name, column in names.items()}
    layout = _RowLayout(
        text=place[source.needed("text", COLUMNS["text"], header)],
        speaker=place[source.needed("speaker", COLUMNS["speaker"], header)],
        id=places.get("id"),
        turn=places.get("turn"),
        coder=places.get("coder"),
        annomi=place.keys() >= _ANNOMI,
        fields={name: places[name] for name in ("system", "case_id", "language") if name in places},
        meta={name: places[name] for name in ("time", "stage") if name in places},
    )
    if layout.coder is not None and layout.turn is None:
        raise InputError(
            "there are coders but no column of turn numbers, so an utterance can't be told from the next",
            where=f"{source.name}:1",
            todo="say which column numbers the turns with `columns=turn=NAME`",
        )
    if layout.annomi:
        _place_annomi_codes(layout, place)
    else:
        codes = [code for code in CODES if code in places]
        layout.coded = [places[code] for code in codes]
        layout.codes = partial(_codes, codes)
    source.account.columns.update(names)
    used = {*places.values(), *layout.coded}
    layout.unnamed = {name: position for name, position in place.items() if position not in used and name}
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
    source.aliases = _TOOLS
    header, rows = table(source)
    layout = _layout(source, header)
    text, owner = layout.text, layout.id
    ids = SheetIds(source, header, owner)

    def items() -> Iterator[tuple[str, str, int, list[str]] | InputError]:
        for where, row in rows:
            if isinstance(row, InputError):
                yield row
            else:
                yield where, source.stem if owner is None else ids.name(row, row[owner]), len(row[text]), row

    codes_of_cells: dict[tuple[str, ...], dict[str, str]] = {}
    for name, group in source.by_transcript(items()):
        if owner is None and "id" not in source.options.columns:
            check_blocks(source, [row for _, row in group], layout.speaker, layout.unnamed)
        transcript = source.attempt(_transcript, source, layout, ids, name, group, codes_of_cells)
        if transcript is not None:
            yield transcript


def _transcript(
    source: SourceFile,
    layout: _RowLayout,
    ids: SheetIds,
    name: str,
    group: list[tuple[str, list[str]]],
    codes_of_cells: dict[tuple[str, ...], dict[str, str]],
) -> Transcript:
    where, first = group[0]
    if layout.id is not None and not first[layout.id].strip():
        raise InputError("the row has no transcript id", where=where, todo="fill it")
    utterances = _utterances(layout, group)
    constant = {
        column: first[position]
        for column, position in layout.unnamed.items()
        if len({row[position] for _, row in group}) == 1
    }
    varying = {column: position for column, position in layout.unnamed.items() if column not in constant}
    factors: dict[str, object] = {}
    reference: dict[str, object] = {}
    for column, value in constant.items():
        if layout.annomi and column in _ANNOMI_REFERENCE:
            reference[column] = value
        else:
            factor_or_reference(column, value, factors, reference, typed=False)
    metas = [_meta(layout, rows, varying, codes_of_cells) for rows in utterances]
    opening = [rows[0] for rows in utterances]
    fields = {key: _constant(group, at, key) for key, at in layout.fields.items()}
    if layout.annomi:
        fields = {"system": "human", "language": "en", **fields}
    return source.transcript(
        source.turns(
            [row[layout.speaker] for _, row in opening],
            [row[layout.text] for _, row in opening],
            [place for place, _ in opening],
            metas,
        ),
        where,
        factors=factors,
        reference=reference,
        **ids.fields(first, {**fields, "id": name.strip()}),
    )


def _meta(
    layout: _RowLayout,
    rows: list[tuple[str, list[str]]],
    varying: Mapping[str, int],
    codes_of_cells: dict[tuple[str, ...], dict[str, str]],
) -> dict[str, object]:
    """What is known of a turn, of which there are several rows where several people coded it."""
    _, row = rows[0]
    meta: dict[str, object] = {key: row[at] for key, at in layout.meta.items() if row[at]}
    for column, at in varying.items():
        values = {coded[at] for _, coded in rows}
        if len(values) > 1 and layout.coder is not None:
            meta[column] = {coded[layout.coder]: coded[at] for _, coded in rows}
        elif row[at]:
            meta[column] = row[at]
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


def _utterances(layout: _RowLayout, group: list[tuple[str, list[str]]]) -> list[list[tuple[str, list[str]]]]:
    """The rows of each utterance (several where several people coded it), in order of the turns."""
    if layout.turn is None:
        return [[placed] for placed in group]
    utterances: dict[str, list[tuple[str, list[str]]]] = {}
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


def _constant(group: list[tuple[str, list[str]]], at: int, what: str) -> str | None:
    """The value of a column that must not change within a transcript."""
    where, first = group[0]
    for place, row in group:
        if row[at] != first[at]:
            raise InputError(
                f"the {what} changes within the transcript: {first[at]!r:.40} and {row[at]!r:.40}",
                where=f"{where} and {place}",
                todo="give it one, or an id of its own",
            )
    return first[at].strip() or None


def _spans(source: SourceFile, size: int) -> list[Span]:
    """A transcript's rows are never torn."""

    def owner(header: list[str]) -> int | None:
        column = _layout(source, header).id
        # A piece takes the likeliest name: whether a column tells transcripts shows in the whole file's first rows.
        named = "id" in source.options.columns
        if column is not None and not named and header[column] != id_columns(source, header)[0]:
            raise NotDivisible
        return column

    return row_spans(source, size, owner)


READER = Reader(
    name="rows",
    title="table with one utterance a row (CSV, TSV, XLSX, Parquet), such as AnnoMI",
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
    endings=(".csv", ".tsv", ".xlsx", ".parquet"),
    claims=_claims,
    read=_read,
    spans=_spans,
    priority=90,
)
