"""Tables with one exchange a row: a column for each of the two who speak."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from bedside.core.errors import AmbiguousError, InputError
from bedside.transcripts.column_names import ROW_COLUMNS, TABLE_FIELDS
from bedside.transcripts.contract import Head, Reader
from bedside.transcripts.labelled_text import check_quoted
from bedside.transcripts.message_lists import MODEL_SPEAKERS
from bedside.transcripts.row_order import in_order
from bedside.transcripts.source_file import SourceFile
from bedside.transcripts.table_layout import Group, TableLayout, field_columns, unknown_roles
from bedside.transcripts.table_rows import TABLE_ENDINGS, raw_tables, table
from bedside.transcripts.transcript import Dialogue, Transcript, role_of

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


def _pair(source: SourceFile, header: Sequence[str]) -> tuple[str, str] | None:
    """The columns of an exchange, as the user names them, by known names, or of two known speakers."""
    columns = source.options.columns
    if columns.get("question") or (columns.get("answer") and not columns.get("dialogue")):
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
        # Of models, the user asks: programs sort the keys of records. Of people, who comes first speaks first.
        models = [MODEL_SPEAKERS.get(name.strip().casefold()) for name in speakers]
        return (two, one) if models == ["clinician", "patient"] else (one, two)
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


def _check_rows(source: SourceFile, header: Sequence[str], pair: tuple[str, str]) -> None:
    """See that it is told which rows are a transcript.

    Raises:
        AmbiguousError: it isn't. Who speaks is asked for at once, where that isn't told either.
    """
    rows = raw_tables(source)[0].below
    if len(rows) < 2:
        return
    said = [(name, row[header.index(name)]) for row in rows for name in pair if header.index(name) < len(row)]
    roles = unknown_roles(source, *zip(*said, strict=True)) if said else ""
    raise AmbiguousError(
        f"each row holds an exchange ({pair[0]!r} and {pair[1]!r}), and no column is known to hold an id: each row "
        "may be a transcript, or all rows one",
        where=source.name,
        todo=f"say `columns=id={_EACH_ROW}` if each row is one, `columns=id=` if all are one, or `columns=id=NAME` "
        f"if a column tells{roles and '; '}{roles}",
    )


def _read(source: SourceFile) -> Iterator[Transcript]:
    source.aliases = MODEL_SPEAKERS
    header, rows = table(source)
    source.check_columns(_COLUMNS)
    pair = _pair(source, header)
    if pair is None:
        raise InputError(
            "no two columns are known to hold what is asked and what is answered",
            where=source.header_place,
            todo=f"name them with `columns=question=NAME,answer=NAME`; columns: {', '.join(header)}",
        )
    each_row = source.options.columns.get("id") == _EACH_ROW and _EACH_ROW not in header
    rest = [name for name in header if name not in pair]
    names = field_columns(source, [*rest, _EACH_ROW] if each_row else rest)
    if each_row:
        del names["id"]
    elif "id" not in names and "id" not in source.options.columns:
        _check_rows(source, header, pair)
    names = {"question": pair[0], "answer": pair[1], **names}
    source.account.remark(f"In each row {pair[0]!r} speaks before {pair[1]!r}.")
    transcripts = TableLayout(source, header, rows, names, spoken=("question", "answer"), each_row=each_row)
    said = [(name, header.index(name)) for name in pair]

    def dialogue(group: Group, varying: Mapping[str, int]) -> Dialogue:
        speakers, texts, places = list[str](), list[str](), list[str]()
        metas: list[dict[str, Any]] = []
        for place, row in in_order(source, group, varying):
            meta = {column: row[at] for column, at in varying.items() if row[at]}
            for speaker, at in said:
                if row[at].strip():
                    speakers.append(speaker)
                    texts.append(row[at].strip())
                    places.append(place)
                    metas.append(dict(meta))
                else:
                    source.account.left_out["empty cells of those who speak"] += 1
        turns = source.turns(speakers, texts, places, metas)
        check_quoted(source, turns, places)
        return turns

    return transcripts.transcripts(dialogue)


READER = Reader(
    name="exchanges",
    title="table with one exchange a row: question and answer (CSV, TSV, XLSX, Parquet, JSON records)",
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
    facts={
        "family": "tables",
        "known_by": "two columns named after who speaks, or `question` and `answer`",
        "turns": "two cells a row, the first column first",
        "kept": "id, system, case, language; other columns as factors, or with turns",
        "left": "empty cells of those who speak, other worksheets, comments, rows above the column names",
        "decided_by": "`--columns question=NAME,answer=NAME,id=row`",
    },
    endings=TABLE_ENDINGS,
    claims=_claims,
    read=_read,
    priority=85,
)
