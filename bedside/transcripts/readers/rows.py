"""Tables with one utterance a row, AnnoMI among them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from bedside.core.errors import AmbiguousError, InputError
from bedside.transcripts.column_names import ROW_COLUMNS
from bedside.transcripts.contract import Head, Reader
from bedside.transcripts.labelled_text import labels_within
from bedside.transcripts.message_lists import MODEL_SPEAKERS
from bedside.transcripts.row_order import by_number, in_order
from bedside.transcripts.source_file import SourceFile
from bedside.transcripts.spans import NotDivisible, Span
from bedside.transcripts.table_layout import (
    Group,
    TableLayout,
    check_blocks,
    field_columns,
    id_column,
    id_columns,
    missing_columns,
)
from bedside.transcripts.table_rows import TABLE_ENDINGS, row_spans, table
from bedside.transcripts.transcript import CODES, Dialogue, Role, Transcript
from bedside.transcripts.transcript_fields import number_or_text

#: What is known of each turn.
_OF_TURN = ("time", "start", "stop", "stage")
#: Speakers as logs of language models name them; an observation may be somebody's.
_SPEAKERS: Mapping[str, Role] = {name: role for name, role in MODEL_SPEAKERS.items() if name != "observation"}

_ANNOMI = {"transcript_id", "utterance_id", "interlocutor", "utterance_text", "main_therapist_behaviour"}
_ANNOMI_REFERENCE = {"video_title", "video_url"}
#: AnnoMI's columns of each code: it says whether some exist and, in another column, of which kind.
_ANNOMI_CODES: Mapping[str, tuple[str, ...]] = {
    **{name: (f"{name}_exists", f"{name}_subtype") for name in ("question", "reflection", "therapist_input")},
    "main_behaviour": ("main_therapist_behaviour",),
    "client_talk": ("client_talk_type",),
}
# What the user names where labels within a text are words of it.
_WITHIN = "labels within texts"
_NOT_CODED = {"", "n/a", "na"}


def _claims(head: Head) -> Literal["transcripts", "companion"] | None:
    # The last to be asked: what a table lacks is said better by naming its columns. JSON may be anything.
    if head.columns is None:
        return None
    header, rows = head.columns
    told = all(head.source.column(name, ROW_COLUMNS[name], header) for name in ("speaker", "text"))
    flat = not any(cell[:1] in ("{", "[") for row in rows for cell in row)
    return "transcripts" if head.first is None or told or flat else None


def _names(source: SourceFile, header: Sequence[str]) -> dict[str, str]:
    """The columns by bedside's names.

    Raises:
        AmbiguousError: several may tell the transcripts.
        InputError: the text or the speaker is missing, or the numbers of turns that several people coded.
    """
    source.check_columns(ROW_COLUMNS)
    names = field_columns(source, header, {name: known for name, known in ROW_COLUMNS.items() if name != "id"})
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


class _Utterances:
    """The utterances of a table, and what is known of each.

    Args:
        source: the file.
        header: its columns.
        names: bedside's name → column.
    """

    def __init__(self, source: SourceFile, header: Sequence[str], names: Mapping[str, str]) -> None:
        place = {name: position for position, name in enumerate(header)}
        places = {name: place[column] for name, column in names.items() if column in place}
        self._source = source
        self.text, self.speaker = places["text"], places["speaker"]
        self._turn_name = names.get("turn", "")
        self._turn, self._coder = places.get("turn"), places.get("coder")
        self._meta = {name: places[name] for name in _OF_TURN if name in places}
        self._timed = {name: at for name, at in self._meta.items() if name in ("time", "start")}
        self.is_annomi: bool = place.keys() >= _ANNOMI
        columns = _ANNOMI_CODES if self.is_annomi else {name: (names[name],) for name in CODES if name in names}
        self._codes = {
            name: [place[column] for column in of_code] for name, of_code in columns.items() if of_code[0] in place
        }
        self.coded: list[int] = [at for of_code in self._codes.values() for at in of_code]
        self._labels: dict[tuple[str, ...], dict[str, str]] = {}

    def dialogue(self, group: Group, varying: Mapping[str, int]) -> Dialogue:
        """The turns of a transcript's rows."""
        utterances = self._divided(group, varying)
        opening = [rows[0] for rows in utterances]
        columns = [*self._meta.items(), *varying.items()]
        if not self._source.options.leaves_out(_WITHIN):
            self._check_labels(opening)
        return self._source.turns(
            [row[self.speaker] for _, row in opening],
            [row[self.text] for _, row in opening],
            [place for place, _ in opening],
            [self._known(rows, columns) for rows in utterances] if columns or self.coded else None,
        )

    def _check_labels(self, rows: Group) -> None:
        """An error where another speaker's label stands behind a sentence of a text: two may speak in it."""
        together = "\n".join([row[self.text] for _, row in rows])
        # To look for the names first is what makes it quick.
        names = {name for each in {row[self.speaker] for _, row in rows} if (name := each.strip()) in together}
        for where, row in rows if names else ():
            who, text = row[self.speaker].strip(), row[self.text]
            others = [name for name in names if name != who and name in text]
            for name in labels_within(text) if others else ():
                if name in others:
                    raise AmbiguousError(
                        f"the text of {who!r:.40} goes on with the label of {name!r:.40}: {text:.60}",
                        where=where,
                        todo=f'give what each says a row of its own, or say with `leave_out="{_WITHIN}"` that they '
                        "are words of one",
                    )

    def _divided(self, group: Group, varying: Mapping[str, int]) -> list[Group]:
        """The rows of each utterance (several where several people coded it), in order of the turns."""
        if self._turn is None:
            columns = {**self._timed, **varying}
            return [[placed] for placed in in_order(self._source, group, columns)]
        turns = [row[self._turn] for _, row in group]
        keys = by_number(turns)
        utterances: dict[Any, Group] = {}
        for (where, row), turn, key in zip(group, turns, keys or turns, strict=True):
            rows = utterances.setdefault(key, [])
            if rows:
                self._check_same(turn, rows, where, row)
            rows.append((where, row))
        if keys is not None:
            return [utterances[key] for key in sorted(utterances)]
        number = next((turn for turn in turns if turn.strip().isdecimal() and by_number([turn])), None)
        if number is not None:
            where, row = next(placed for placed in group if by_number([placed[1][self._turn], number]) is None)
            raise InputError(
                f"{row[self._turn]!r:.40} doesn't number a turn as {number!r:.40} does",
                where=where,
                todo="number all turns alike, or say with `columns=turn=` that the rows stand in order",
            )
        self._source.account.remark(f"The values of {self._turn_name!r} are no numbers: rows are read as they stand.")
        return list(utterances.values())

    def _check_same(self, turn: str, rows: Group, where: str, row: list[str]) -> None:
        """See that a further row of an utterance is another coder's."""
        place, other = rows[0]
        if self._coder is None:
            raise InputError(
                f"turn {turn!r} stands twice",
                where=f"{place} and {where}",
                todo="number each turn once, or name the column of coders with `columns=coder=NAME`",
            )
        for at, what in ((self.text, "texts"), (self.speaker, "speakers")):
            if row[at] != other[at]:
                raise InputError(
                    f"the utterance {turn!r} has two {what}",
                    where=f"{place} and {where}",
                    todo="make its rows agree, or number the turns anew",
                )
        if any(row[self._coder] == before[self._coder] for _, before in rows):
            raise InputError(
                f"coder {row[self._coder]!r} coded turn {turn!r} twice", where=where, todo="keep one of the rows"
            )

    def _known(self, rows: Group, columns: Sequence[tuple[str, int]]) -> dict[str, object]:
        """What columns say of a turn, of which there are several rows where several people coded it."""
        _, row = rows[0]
        meta: dict[str, object] = {}
        for column, at in columns:
            if len(rows) > 1 and self._coder is not None and len({coded[at] for _, coded in rows}) > 1:
                meta[column] = {coded[self._coder]: coded[at] for _, coded in rows}
            elif row[at]:
                meta[column] = _seconds(row[at]) if column in ("start", "stop") else row[at]
        codes = {}
        for place, row in rows if self.coded else ():
            cells = tuple([row[at] for at in self.coded])
            labels = self._labels.get(cells)
            if labels is None:
                labels = self._labels[cells] = self._labels_of(row, place)
            if labels:
                coder = "coder" if self._coder is None else row[self._coder].strip()
                if not coder:
                    raise InputError("the row has codes but no coder", where=place, todo="fill in who coded it")
                codes[coder] = labels.copy()
        if codes:
            meta["codes"] = codes
        return meta

    def _labels_of(self, row: Sequence[str], where: str) -> dict[str, str]:
        """The labels of a row by their codes."""
        labels = {}
        for name, places in self._codes.items():
            *exists, label = (row[at].strip().casefold() for at in places)
            if exists and (
                exists[0] not in ("true", "false", "n/a") or (exists != ["true"] and label not in _NOT_CODED)
            ):
                raise InputError(
                    f"{name}_exists is {exists[0]!r:.20} and {name}_subtype {label!r:.20}",
                    where=where,
                    todo="an existing code has a kind, others none: mend the row",
                )
            # That a code exists without its kind is known of no label: it counts as not coded.
            label = "none" if exists == ["false"] else label
            if label in _NOT_CODED:
                continue
            if label not in CODES[name]:
                cell = label if exists else row[places[-1]]
                raise InputError(
                    f"{name} has no label {cell!r:.40}", where=where, todo=f"labels: {', '.join(CODES[name])}"
                )
            labels[name] = label
        return labels


def _read(source: SourceFile) -> Iterator[Transcript]:
    source.aliases = _SPEAKERS
    header, rows = table(source)
    names = _names(source, header)
    utterances = _Utterances(source, header, names)
    transcripts = TableLayout(source, header, rows, names, spoken=("text",), teller="speaker", used=utterances.coded)

    def dialogue(group: Group, varying: Mapping[str, int]) -> Dialogue:
        if "id" not in names and "id" not in source.options.columns:
            check_blocks(source, [row for _, row in group], utterances.speaker, transcripts.others)
        return utterances.dialogue(group, varying)

    more: Mapping[str, Any] = (
        {"system": "human", "language": "en", "reference": _ANNOMI_REFERENCE} if utterances.is_annomi else {}
    )
    return transcripts.transcripts(dialogue, **more)


def _seconds(cell: str) -> float | str:
    """A time in seconds as a number; another as it is written."""
    number = number_or_text(cell.strip())
    return cell if isinstance(number, str) else float(number)


def _spans(source: SourceFile, size: int) -> list[Span]:
    """A transcript's rows are never torn."""

    def owner(header: list[str]) -> int | None:
        column = _names(source, header).get("id")
        # A piece takes the likeliest name: whether a column tells transcripts shows in the whole file's first rows.
        named = "id" in source.options.columns
        if column is not None and column not in header:
            raise NotDivisible
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
        + "; ".join(f"`{name}` ({', '.join(known)})" for name, known in ROW_COLUMNS.items() if name not in CODES)
        + f"; and the behaviour codes {', '.join(f'`{code}`' for code in CODES)}. Only `speaker` and `text` are "
        "required. Several coders' rows of one turn become one turn. Another column becomes a factor where it is "
        "constant in the transcript, and stands with the turns (`meta`) where it changes. AnnoMI is understood as "
        "published."
    ),
    example=(
        "id,turn,speaker,text,question\na-1,0,therapist,What brings you here?,open\na-1,1,client,I sleep badly.,\n"
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
    endings=TABLE_ENDINGS,
    claims=_claims,
    read=_read,
    spans=_spans,
    priority=90,
)
