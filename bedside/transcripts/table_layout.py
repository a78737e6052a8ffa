"""What the columns of a table hold, and which of its rows are one transcript."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from bedside.core.errors import AmbiguousError, InputError
from bedside.core.words import counted
from bedside.transcripts.column_names import TABLE_FIELDS
from bedside.transcripts.labelled_text import known_labels
from bedside.transcripts.role_evidence import names_speaker
from bedside.transcripts.source_file import SourceFile
from bedside.transcripts.table_rows import SHEET, Rows, raw_tables, table_kind, worksheets
from bedside.transcripts.transcript import Dialogue, Transcript, Turn, is_speaker_word, plain_name, role_of
from bedside.transcripts.transcript_fields import factor_or_reference
from bedside.transcripts.transcript_maker import is_speech
from bedside.transcripts.unknown_speakers import UnknownSpeakers, as_csv, as_typed
from bedside.transcripts.workbook_rows import UNREADABLE

#: Fields that are one in a transcript.
_OF_TRANSCRIPT = ("system", "case_id", "language")
#: Fewest rows that tell whether a column has another value in each.
_ENOUGH_ROWS = 3
#: Names of columns, beside those of speakers, in which an answer stands that somebody gave; and what was asked.
_ANSWERS = frozenset(
    ("answer", "completion", "generation", "model_answer", "model_output", "model_response", "output", "prediction",
     "reply", "response")
)  # fmt: skip
_ASKED = frozenset(("input", "instruction", "prompt", "query", "question"))
#: Most who speak in a table that doesn't say which column names them, and the longest of their names.
_MOST_SPEAKERS, _LONGEST_NAME = 8, 40
_NUMERIC = re.compile(r"[\d.,:/ -]+")
#: Words of which a name consists that says whom or which document a row is of; a name that ends in one of the second
#: does, too, unless it begins with what a talk itself is divided into.
_WHOSE = frozenset(
    "case client clinic code counsellor counselor doc document dyad participant patient person pid proband respondent "
    "site subject therapist".split()
)
_NAMING = frozenset(("id", "nr", "number"))
_PARTS_OF_TALK = frozenset(
    "act answer block chapter chunk item line message msg page paragraph part phase question row section segment "
    "sentence stage step topic turn utterance".split()
)
_WORDS = re.compile(r"[^\W\d_]+?(?=[A-Z][a-z]|[\W\d_]|ID\b|Id\b|id\b|$)")
#: Columns that a message shows, and letters of a cell.
_SHOWN, _LETTERS = 12, 30

#: Rows of a transcript, each with its place.
Group = list[tuple[str, list[str]]]


class TableLayout:
    """What the columns of a table hold, and its transcripts.

    A column that holds neither turns nor a field of the transcript is a factor where it is constant in the transcript
    (or in the reference, where it is long), and else stands with the turns. One without a name is called after its
    place.

    Args:
        source: the file.
        header: its columns.
        rows: place and cells of each row.
        names: bedside's name → column.
        spoken: bedside's names of the columns of turns.
        teller: bedside's name of the column of speakers; None where each row is of two.
        used: places of further columns whose cells are read.
        each_row: whether each row is a transcript.

    Attributes:
        others: the places of columns that bedside has no name for.

    Raises:
        AmbiguousError: a column or worksheet that isn't read may hold turns.
    """

    def __init__(
        self,
        source: SourceFile,
        header: Sequence[str],
        rows: Rows,
        names: Mapping[str, str],
        *,
        spoken: Sequence[str],
        teller: str | None = None,
        used: Collection[int] = (),
        each_row: bool = False,
    ) -> None:
        self._source, self._header, self._rows, self._each_row = source, header, rows, each_row
        own = names.get("id")
        #: Several places where the user says that an id is made of several columns.
        parts = [] if own is None else [own] if own in header else own.split("+")
        self._owners = [header.index(part) for part in parts]
        self._places = {
            name: header.index(column) for name, column in names.items() if name != "id" or column in header
        }
        self._owner = self._owners[0] if self._owners else None
        self._spoken = [self._places[name] for name in spoken]
        self._teller = None if teller is None else self._places[teller]
        self._spoken_names = [names[name] for name in spoken]
        taken = {*self._places.values(), *used}
        others = {
            column or (f"column {at + 1}" if f"column {at + 1}" not in header else f"column {at + 1} (unnamed)"): at
            for at, column in enumerate(header)
            if at not in taken
        }
        self._left = {name: at for name, at in others.items() if source.options.leaves_out(name)}
        self.others: dict[str, int] = {name: at for name, at in others.items() if name not in self._left}
        source.account.columns.update(names)
        source.account.unused = [*self._left]
        if table_kind(source) == "workbook":
            self._check_worksheets()
        self._check_voices()
        #: Columns of those or of what rows are of, by which transcripts may differ that share an id.
        self._whose = {} if "id" in source.options.columns or each_row else {
            column: at
            for column, at in {
                **self.others, **{names[name]: self._places[name] for name in ("case_id", "system") if name in names}
            }.items()
            if at != self._owner and (at in self._places.values() or _says_whose(column))
        }  # fmt: skip
        self._keyed = self._places.get("case_id") if each_row and self._owner is None else self._owner
        self._sheet = self._repeating_sheets()

    def _check_worksheets(self) -> None:
        """See that nothing of a workbook is lost without a word: comments, texts in merged cells, and worksheets
        that aren't read.

        Raises:
            AmbiguousError: a worksheet that isn't read may hold a talk, or a comment what was said.
            InputError: a text stands in cells that are merged, or a cell reads as empty where it isn't.
        """
        from openpyxl.utils.cell import range_boundaries

        source = self._source
        tables = raw_tables(source)
        hidden: Counter[str] = Counter()
        for table in tables:
            spoken = [at for at, name in enumerate(table.names, 1) if name in self._spoken_names]
            for kind, cells, text in source.book.oddities(table.sheet):
                if kind == "comment":
                    source.check_unread("comments", text, f"{table.place}:{cells}")
                elif kind not in UNREADABLE:
                    hidden[kind] += 1
                else:
                    left, _, right, bottom = range_boundaries(cells)
                    # Another cell counts for all that are merged into it; a text would be said again.
                    lost = kind == "formula" or any(left <= at <= right for at in spoken)
                    if bottom > table.header and lost:
                        raise InputError(
                            f"the value of {cells} can't be read: {UNREADABLE[kind]}",
                            where=table.place,
                            todo="write the value into each cell, and save the file again",
                        )
        for kind, number in hidden.items():
            name, are = "struck-through cell" if kind == "struck" else kind, "is" if number == 1 else "are"
            source.account.remark(f"{counted(number, name)} in the worksheets {are} read like all others.")
        for name in source.account.other_sheets if source.options.sheet is None else ():
            texts = [cell for _, row in worksheets(source)[name].sample for cell in row if cell.strip()]
            roles = source.options.roles
            speakers = sum(is_speaker_word(text, roles) or known_labels(text, roles) > 0 for text in texts)
            if min(speakers, sum(map(is_speech, texts))) > 1:
                raise AmbiguousError(
                    f"the worksheet {name!r}, which isn't read, may hold a talk, too",
                    where=source.name,
                    todo=f"say `sheet={as_typed(tables[0].sheet)}` to read that alone, or `sheet={as_typed(name)}`",
                )

    def _repeating_sheets(self) -> int | None:
        """The place of the column of worksheets where several have the same ids (or cases, where there is no other), so
        that a transcript's id is told with its worksheet; None where it isn't needed."""
        source = self._source
        if self._keyed is None or SHEET not in self._header or len(source.account.sheets) < 2:
            return None
        sheet_of: dict[str, str] = {}
        for table in raw_tables(source):
            at = table.names.index(self._header[self._keyed])
            for number, row in table.numbered():
                if number <= table.header or isinstance(row, InputError) or len(row) <= at:
                    continue
                own = row[at].strip()
                if own and sheet_of.setdefault(own, table.sheet) != table.sheet:
                    source.account.remark(
                        "The worksheets have the same ids, which are taken for cases; a transcript's id is sheet/id. "
                        "`columns=system=sheet` takes the worksheets for systems."
                    )
                    return self._header.index(SHEET)
        return None

    def _check_voices(self) -> None:
        """See that no column is left that may hold what a further speaker says."""
        rows = raw_tables(self._source)[0].below
        voices = _ANSWERS | (_ASKED if "question" in self._places else frozenset())
        for name, at in self.others.items():
            if not (plain_name(name).replace(" ", "_") in voices or names_speaker(name)):
                continue
            cells = {row[at] for row in rows if at < len(row) and row[at].strip()}
            # One text in all rows is no speech; whoever says one thing in a talk speaks, too.
            filled = sum(at < len(row) and bool(row[at].strip()) for row in rows)
            several = len(cells) > 1 or len(rows) == 1 or (filled < len(rows) and names_speaker(name))
            if several and 2 * sum(map(is_speech, cells)) > len(cells):
                answer = ""
                if "dialogue" in self._places and not names_speaker(name):
                    told = f"dialogue={self._header[self._places['dialogue']]},answer={name}"
                    answer = f"say `columns={as_typed(told)}` if it was said after them, or "
                raise AmbiguousError(
                    f"the column {name!r} holds what may have been said, beside "
                    f"{' and '.join(map(repr, self._spoken_names))}: {min(cells):.60}",
                    where=self._source.header_place,
                    todo=f"{answer}leave it out with `leave_out={as_typed(name)}`"
                    + ("" if answer else ", or name the columns of those who speak with `columns`"),
                )

    def transcripts(self, build: Callable[[Group, Mapping[str, int]], Dialogue], **more: Any) -> Iterator[Transcript]:
        """The transcripts of the table; bad ones are left out where so wished.

        Args:
            build: gives the turns of a transcript's rows; it is told which columns vary in them.
            more: fields that all transcripts have unless the table says otherwise; ``reference`` names columns that
                belong to it.
        """
        groups = self._single_rows() if self._each_row else self._source.by_transcript(self._items())
        for name, group in groups:
            transcript = self._source.attempt(self._transcript, name, group, build, more)
            if transcript is not None:
                yield transcript

    def _items(self) -> Iterator[tuple[str, str, int, list[str]] | InputError]:
        owner, sheet, stem, spoken = self._owner, self._sheet, self._source.stem, self._spoken
        alone, said = (at[0] if len(at) == 1 else None for at in (self._owners, spoken))
        width = len(self._header) - (self._header[-1] == SHEET)
        whose: dict[str, list[str]] = {}
        before = None
        first, names = self._header[0], list(self._header[:width])
        for where, row in self._rows:
            if isinstance(row, InputError):
                yield row
            elif row[0] == first and row[:width] == names:
                yield InputError(
                    "the names of the columns stand here again, as if another table began",
                    where=where,
                    todo="remove the row, or put the other table in a file of its own",
                )
            else:
                name = row[alone].strip() if alone is not None else stem if owner is None else self._id_of(row)
                if owner is not None and sheet is not None:
                    name = f"{row[sheet]}/{name.strip()}"
                if owner is not None and self._whose and name != before:
                    own = [row[at] for at in self._whose.values()]
                    former = whose.setdefault(name, own)
                    for column, one, other in zip(self._whose, former, own, strict=True):
                        if one != other:
                            raise self._shared(name, column, one, other, where)
                    before = name
                yield where, name, len(row[said]) if said is not None else sum([len(row[at]) for at in spoken]), row

    def _id_of(self, row: Sequence[str]) -> str:
        parts = [row[at].strip() for at in self._owners]
        return "/".join(parts) if all(parts) else ""

    def _shared(self, name: str, column: str, owner: str, another: str, where: str) -> AmbiguousError:
        """The error for rows that have an id and differ in whose they are, as it seems."""
        own = self._header[self._owners[0]]
        both = as_typed(f"id={column}+{own}")
        return AmbiguousError(
            f"{own} {name!r:.40} is of several in {column!r}: {owner!r:.40} and {another!r:.40}",
            where=where,
            todo=f"say `columns={both}` if both tell a transcript, or `columns={as_typed(f'id={own}')}` if it alone "
            "does",
        )

    def _single_rows(self) -> Iterator[tuple[str, list[tuple[str, Any]]]]:
        for position, (where, row) in enumerate(self._rows, self._source.values_before):
            named = self._owner is not None and isinstance(row, list) and self._id_of(row)
            yield named or f"{self._source.stem}#{position}", [(where, row)]

    def _transcript(
        self, name: str, group: Group, build: Callable[[Group, Mapping[str, int]], Dialogue], more: Mapping[str, Any]
    ) -> Transcript:
        where, first = group[0]
        if isinstance(first, InputError):
            raise first
        if self._owner is not None and not self._each_row and not self._id_of(first):
            raise InputError("the row has no transcript id", where=where, todo="fill it")
        varying = {column: at for column, at in self.others.items() if len({row[at] for _, row in group}) > 1}
        if self._owner is not None:
            rows = [row for _, row in group]
            for column, number in _blocks(rows, self._teller, self._whose):
                values = list(dict.fromkeys(row[self._whose[column]] for row in rows))
                if number < len(rows):
                    raise self._shared(name, column, values[0], values[1], where)
        dialogue = build(group, varying)
        factors: dict[str, Any] = {}
        reference: dict[str, Any] = {}
        for column, at in self.others.items():
            if column in more.get("reference", ()):
                reference[column] = first[at]
            elif column not in varying:
                factor_or_reference(column, first[at], factors, reference, typed=False)
        for column, at in self._left.items():
            for place, row in group:
                if row[at].strip():
                    self._source.account.note_unread(column, row[at], place)
        fields = {key: value for key, value in more.items() if key != "reference"}
        fields |= {key: _constant(group, self._places[key], key) for key in _OF_TRANSCRIPT if key in self._places}
        fields["id"] = name.strip()
        if self._sheet is not None and self._keyed is not None and (own := first[self._keyed].strip()):
            fields |= {"id": f"{first[self._sheet]}/{own}", "case_id": fields.get("case_id") or own}
        return self._source.transcript(dialogue, where, factors=factors, reference=reference, **fields)


def _says_whose(column: str) -> bool:
    """Whether a column's name says that it names those or the document a row is of."""
    words = [word.casefold() for word in _WORDS.findall(column)]
    named = bool(words) and words[-1] in _NAMING and words[0] not in _PARTS_OF_TALK
    return named or (bool(words) and _WHOSE.issuperset(words) and words != ["code"])


def _constant(group: Group, at: int, what: str) -> str | None:
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


def field_columns(
    source: SourceFile, header: Sequence[str], known: Mapping[str, Iterable[str]] = TABLE_FIELDS
) -> dict[str, str]:
    """The columns of a transcript's fields, or others that are known, by bedside's names."""
    found = {name: source.column(name, aliases, header) for name, aliases in known.items()}
    return {name: column for name, column in found.items() if column is not None}


def missing_columns(
    source: SourceFile, header: Sequence[str], names: Mapping[str, str], missing: Sequence[str]
) -> InputError:
    """The message for a table of utterances that lacks columns: all of them, and a guess of all that has to be said.

    Args:
        source: the file.
        header: its columns.
        names: bedside's name → column, of those that are known.
        missing: ``text``, ``speaker`` or both.
    """
    rows = raw_tables(source)[0].below
    every = {
        column: [row[at].strip() for row in rows if at < len(row) and row[at].strip()]
        for at, column in enumerate(header)
        if column
    }
    cells = {column: own for column, own in every.items() if column not in names.values()}
    texts = [name for name, own in cells.items() if own and 2 * sum(map(is_speech, own)) >= len(own)]
    short = {column: own for column, own in cells.items() if column not in texts}
    likely = {"text": texts, "speaker": _speakers(source, short)}
    guesses = {name: likely[name][0] for name in missing if len(likely[name]) == 1}
    options = {name: guesses.get(name, "NAME") for name in missing}
    text, speaker = (names.get(name, guesses.get(name)) for name in ("text", "speaker"))
    roles = ""
    if text is not None and speaker is not None:
        at, said = header.index(speaker), header.index(text)
        spoken = [row for row in rows if len(row) > max(at, said) and row[at].strip() and row[said].strip()]
        roles = unknown_roles(source, [row[at] for row in spoken], [row[said] for row in spoken])
        if "id" not in names and "id" not in source.options.columns:
            unnamed = {column: header.index(column) for column in cells if column not in (text, speaker)}
            blocks = _blocks(rows, at, unnamed)
            options |= {"id": blocks[0][0]} if blocks else {}
    pairs = ",".join(f"{name}={column}" for name, column in options.items())
    shown = [
        f"{column} ({every[column][0]:.{_LETTERS}})" if every.get(column) else column for column in header[:_SHOWN]
    ]
    more = f" and {len(header) - _SHOWN} more" if len(header) > _SHOWN else ""
    sure = "say which with" if "NAME" in options.values() else "this may be"
    exchange = ""
    if len(missing) == 2 == len(texts):
        asked, answered = map(as_csv, texts)
        exchange = f", or `columns={as_typed(f'question={asked},answer={answered}')}` if each row is an exchange"
    return InputError(
        f"no column holds the {' and the '.join(missing)}",
        where=source.header_place,
        todo=f"{sure} `columns={as_typed(pairs)}`{exchange}{roles and '; '}{roles}; columns: {', '.join(shown)}{more}",
    )


def _speakers(source: SourceFile, cells: Mapping[str, Sequence[str]]) -> list[str]:
    """Columns that name who speaks, as it seems: by known words, or else by few short values that come back."""
    few = {}
    for name, texts in cells.items():
        values = {*texts}
        short = all(len(value) <= _LONGEST_NAME and not _NUMERIC.fullmatch(value) for value in values)
        if 1 < len(values) <= _MOST_SPEAKERS and 2 * len(values) <= len(texts) + 1 and short:
            few[name] = sum(is_speaker_word(value, source.options.roles) for value in values)
    known = [name for name, words in few.items() if words]
    # Who speaks changes from row to row more often than anything else does.
    changes = {name: sum(a != b for a, b in zip(cells[name], cells[name][1:], strict=False)) for name in few}
    return known or [name for name in few if changes[name] == max(changes.values())]


def unknown_roles(source: SourceFile, speakers: Sequence[str], texts: Sequence[str]) -> str:
    """What to say of speakers whose role nothing tells, with a guess; empty where all are known."""
    unknown = UnknownSpeakers()
    partners = {role_of(name, source.options.roles) or source.aliases.get(plain_name(name)) for name in speakers}
    sides = {role for role in partners if role is not None}
    turns = []
    for index, (speaker, text) in enumerate(zip(speakers, texts, strict=True)):
        role = role_of(speaker, source.options.roles, sides) or source.aliases.get(plain_name(speaker))
        if role is None:
            unknown.names.add(speaker)
        turns.append(Turn(index, role or "other", speaker, text))
    if not unknown.names:
        return ""
    unknown.add(Transcript(id=source.stem, turns=tuple(turns)))
    return unknown.complaint()[1]


def id_column(source: SourceFile, header: Sequence[str]) -> str | None:
    """The column that tells the transcript of a row, in a table with several rows a transcript.

    A column of a known name that has another value in each of the first rows numbers utterances: it is passed over.

    Raises:
        AmbiguousError: there are only such, or two columns tell different transcripts.
    """
    if "id" in source.options.columns:
        return source.column("id", TABLE_FIELDS["id"], header)
    names = id_columns(source, header)
    if not names or source.span is not None:
        return names[0] if names else None
    rows = raw_tables(source)[0].below
    telling = [name for name in names if _comes_back(rows, header.index(name))]
    if not telling:
        raise AmbiguousError(
            f"the column {names[0]!r} has another value in each row: it may tell the transcripts, each of one turn, or "
            "number the utterances",
            where=source.name,
            todo=f"say `columns=id={names[0]}` if it tells the transcripts, `columns=id=NAME` if another column does, "
            "or `columns=id=` if the file is one transcript",
        )
    places = [header.index(name) for name in telling]
    for name, at in zip(telling[1:], places[1:], strict=True):
        pairs = {(row[places[0]], row[at]) for row in rows if len(row) > max(places[0], at)}
        if len(pairs) > min(len({one for one, _ in pairs}), len({other for _, other in pairs})):
            raise AmbiguousError(
                f"the columns {telling[0]!r} and {name!r} may both tell the transcripts, and not the same ones",
                where=source.name,
                todo=f"say `columns=id={telling[0]}`, `columns=id={name}`, or "
                f"`columns={as_typed(f'id={telling[0]}+{name}')}` if both do",
            )
    return telling[0]


def _comes_back(rows: Sequence[Sequence[str]], at: int) -> bool:
    values = [row[at] for row in rows if at < len(row)]
    return len(values) < _ENOUGH_ROWS or len(set(values)) < len(values)


def id_columns(source: SourceFile, header: Sequence[str]) -> list[str]:
    """All columns whose names may be those of ids, the likeliest first; the case where there is no other."""
    names: list[str] = []
    rest = list(header)
    while (name := source.column("id", TABLE_FIELDS["id"], rest)) is not None:
        names.append(name)
        rest.remove(name)
    if names:
        return names
    case = source.column("case_id", TABLE_FIELDS["case_id"], header)
    return [] if case is None else [case]


def tells_transcripts(source: SourceFile, speaker: Sequence[str]) -> bool:
    """Whether records that each hold a message tell by a key of several which conversation they are of, or the user
    or a published set names the columns.

    Args:
        source: the file.
        speaker: keys of the speaker, of which the first that there is counts.
    """
    if source.columns is None:
        return False
    if "text" in source.options.columns:
        return True
    header, rows = source.columns[0], raw_tables(source)[0].below
    if any(_comes_back(rows, header.index(name)) for name in id_columns(source, header)):
        return True
    names = [name for name in speaker if name in header]
    others = {name: at for at, name in enumerate(header) if name not in names}
    return bool(names) and bool(_blocks(rows, header.index(names[0]), others))


def check_blocks(source: SourceFile, rows: Sequence[Sequence[str]], speaker: int, columns: Mapping[str, int]) -> None:
    """See that no column divides rows without an id into what may be several transcripts.

    Args:
        source: the file.
        rows: all of them.
        speaker: the place of the column of speakers.
        columns: the places of those that may.

    Raises:
        AmbiguousError: a column has several values, each in rows that stand together and in which two or more speak.
    """
    for name, number in _blocks(rows, speaker, columns):
        raise AmbiguousError(
            f"no column is known to hold the id of a transcript, and {name!r} has {number} values, each in "
            f"rows that stand together: they may be {number} transcripts, or parts of one",
            where=source.name,
            todo=f"say `columns=id={name}` for {number} transcripts, `columns=id=` for one, or "
            f"`columns=id={name}+OTHER` if another column tells them too",
        )


def _blocks(rows: Iterable[Sequence[str]], speaker: int | None, columns: Mapping[str, int]) -> list[tuple[str, int]]:
    """Columns with several values, each in rows that stand together and in which two or more speak, as they do in each
    where there is no column of speakers; how many values."""
    dividing: list[tuple[str, int]] = []
    for name, at in columns.items():
        blocks: list[tuple[str, set[str]]] = []
        for row in rows:
            if max(at, speaker or 0) >= len(row):
                continue
            if not blocks or blocks[-1][0] != row[at]:
                blocks.append((row[at], set()))
            blocks[-1][1].update(("one", "other") if speaker is None else (row[speaker],))
        values = [value for value, _ in blocks]
        spoken = sum(len(speakers) > 1 for _, speakers in blocks)
        if len(values) > 1 and len(set(values)) == len(values) and 2 * spoken >= len(values):
            dividing.append((name, len(values)))
    return dividing
