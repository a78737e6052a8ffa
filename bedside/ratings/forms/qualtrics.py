"""What Qualtrics exports: three rows of column names, then one row a response."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bedside.core.errors import AmbiguousError, InputError
from bedside.ratings.cell_columns import CellColumns
from bedside.ratings.form_contract import CERTAIN, FormClaim, RatingForm
from bedside.ratings.forms.by_metric import FORM as BY_METRIC
from bedside.ratings.rated_cells import is_no_answer
from bedside.ratings.rating_content import RatingContent
from bedside.ratings.table_cells import quoted_columns

#: What stands in the third row of column names.
_IMPORT = re.compile(r"""\s*\{\s*["']ImportId["']""")
#: Values of the column Status of responses that nobody gave to be counted.
_TRIALS = frozenset(("survey preview", "survey test", "1", "2"))
#: The column that says of which loop a row is.
_LOOP = "loop"
#: A looped question's column: the loop's number, then the question's name.
_LOOPED = re.compile(r"(?P<loop>[1-9]\d{0,3})_(?P<question>[^\d_].*)")


def _header_rows(content: RatingContent) -> int:
    """How many rows below the first are column names, too; 0 where it is no such export."""
    top = content.first_rows
    if len(top) > 2 and all(map(_IMPORT.match, filter(None, top[2]))):
        return 2
    if len(top) < 2 or "ResponseId" not in top[0]:
        return 0
    position = top[0].index("ResponseId")
    return int(position < len(top[1]) and top[1][position].strip() == "Response ID")


def _claims(content: RatingContent) -> FormClaim | None:
    return CERTAIN if _header_rows(content) else None


def _read(content: RatingContent) -> CellColumns:
    more = _header_rows(content)
    if content.table is None or not more:
        raise InputError(
            "this is no export of Qualtrics",
            where=content.place,
            todo="export it as CSV, or name another form with `form`",
        )
    header, rows = content.table
    kept = rows[more:]
    if "Status" in header:
        position = header.index("Status")
        kept = [row for row in kept if row[1][position].strip().casefold() not in _TRIALS]
        for where, row in rows[more:]:
            if row[position].strip().casefold() in _TRIALS:
                content.account.count_left_out("previews of the survey", where)
    answered = content.with_table(header, kept)
    loops = _looped_columns(header, [cell for _, row in rows[1:more] for cell in row])
    if loops:
        answered = _unfolded(answered, loops)
    columns = answered.columns
    if columns is not None and columns.rated and "rater" not in columns.names:
        raise columns.missing("rater")
    return CellColumns.of(BY_METRIC.read(answered))


def _looped_columns(header: Sequence[str], ids: Sequence[str] = ()) -> dict[str, dict[str, int]]:
    """Position of each looped question's column, by the loop's number and the question's name; none without loops.

    Args:
        header: names of the columns.
        ids: the survey's own ids of their questions, where known: a looped one's begins with the same number.
    """
    loops: dict[str, dict[str, int]] = {}
    for position, name in enumerate(header):
        match = _LOOPED.fullmatch(name.strip())
        survey_id = ids[position] if position < len(ids) else ""
        if match is not None and (not survey_id or f'"{match["loop"]}_' in survey_id):
            loops.setdefault(match["loop"], {})[match["question"]] = position
    return loops


def _unfolded(content: RatingContent, loops: dict[str, dict[str, int]]) -> RatingContent:
    """A table in which each loop of a response is a row of its own, with the questions' names and the loop's number.

    What a response says outside the loops holds no rating: it stays only where it names the rater, the system and the
    like. The loop is the item where nothing else is.

    Args:
        content: one response a row.
        loops: of :func:`_looped_columns`.

    Raises:
        AmbiguousError: the response names an item, and so may the loop.
        InputError: a question stands in a loop and outside of one.
    """
    header, rows = content.table or ([], [])
    looped = {position for columns in loops.values() for position in columns.values()}
    outside = [(name, position) for position, name in enumerate(header) if position not in looped]
    beside = [name for name, _ in outside]
    questions = list(dict.fromkeys(question for columns in loops.values() for question in columns))
    doubled = {*beside} & {*questions, _LOOP}
    if doubled:
        raise InputError(
            f"the column {min(doubled)!r} stands in a loop of the survey and outside of one",
            where=content.place,
            todo="rename one of them",
        )
    wide = content.with_table([*beside, *questions, _LOOP], []).columns
    names = {} if wide is None else wide.names
    item = names.get("item")
    if item in beside and _LOOP not in names.values():
        raise AmbiguousError(
            f"each response has loops and an item ({item}), so that a loop may be an item or be about that one",
            where=content.place,
            todo=f"`columns=item={_LOOP}` takes the loops for items, `columns=replicate={_LOOP}` for passes over the "
            "item",
        )
    content.account.remark(
        f"The survey asks the same questions in {len(loops)} loops: "
        + (
            "each is taken for an item of that number. Where a question says which item it was, name it with "
            "`columns=item=NAME`."
            if item is None
            else f"each is a row of its own, with the item from {item}."
        )
    )
    kept = [(name, position) for name, position in outside if name in names.values()]
    lost = [
        name
        for name, position in outside
        if name not in names.values() and any(not is_no_answer(row[position]) for _, row in rows)
    ]
    if lost:
        content.account.remark(f"Left out is what was asked outside of the loops: {quoted_columns(lost)}.")
    number = ["item"] if item is None else [_LOOP] if _LOOP in names.values() else []
    long: list[tuple[str, list[str]]] = []
    for where, row in rows:
        for loop, columns in loops.items():
            cells = [row[columns[question]] if question in columns else "" for question in questions]
            if all(map(is_no_answer, cells)):
                content.account.count_left_out("loops without an answer", f"{where} loop {loop}")
            else:
                said = [row[position] for _, position in kept]
                long.append((f"{where} loop {loop}", [*said, *cells, *([loop] if number else [])]))
    return content.with_table([*(name for name, _ in kept), *questions, *number], long)


FORM = RatingForm(
    name="qualtrics",
    title="an export of Qualtrics",
    description=(
        "Names, texts and import ids of the questions in the first three rows, then a row a response: `item` is a "
        "question or embedded data, the rater `RecipientEmail` or a question, and every other question that can hold "
        "ratings a metric. Previews of the survey are left out and counted; the texts of the questions are lost. "
        "Where questions are asked in loops (`1_Q3`, `2_Q3`), each loop of a response is a row of its own, and its "
        "number the item unless a looped question is: name that with `columns=item=Q1`. What was asked outside of "
        "the loops then holds no rating, and is named."
    ),
    example=(
        "StartDate,Status,ResponseId,RecipientEmail,transcript_id,Q1,Q2\n"
        "Start Date,Response Type,Response ID,Recipient Email,Conversation,How empathic?,How clear?\n"
        '"{""ImportId"":""startDate""}","{""ImportId"":""status""}","{""ImportId"":""_recordId""}",'
        '"{""ImportId"":""recipientEmail""}","{""ImportId"":""transcript_id""}","{""ImportId"":""QID1""}",'
        '"{""ImportId"":""QID2""}"\n'
        "2025-03-01 10:00:00,IP Address,R_1,anna@example.org,a-1,4,5\n"
        "2025-03-01 10:10:00,IP Address,R_2,ben@example.org,a-1,3,5\n"
    ),
    example_name="qualtrics.csv",
    claims=_claims,
    read=_read,
    priority=10,
)
