"""Questions that a survey asks again for each of several items, as Qualtrics' loop and merge exports them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bedside.ratings.answer_words import is_no_answer
from bedside.ratings.rating_content import RatingContent, Rows
from bedside.ratings.table_cells import quoted_columns
from bedside.support.errors import AmbiguousError, InputError

#: The column that says of which loop a row is.
LOOP = "loop"
#: A looped question's column: the loop's number, then the question's name.
_LOOPED = re.compile(r"(?P<loop>[1-9]\d{0,3})_(?P<question>[^\d_].*)")


def looped_columns(header: Sequence[str], ids: Sequence[str] = ()) -> dict[str, dict[str, int]]:
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


def unfolded(content: RatingContent, loops: dict[str, dict[str, int]]) -> RatingContent:
    """A table in which each loop of a response is a row of its own, with the questions' names and the loop's number.

    What a response says outside the loops holds no rating: it stays only where it names the rater, the system and the
    like. The loop is the item where nothing else is.

    Args:
        content: one response a row.
        loops: of :func:`looped_columns`.

    Raises:
        AmbiguousError: the response names an item, and so may the loop.
        InputError: a question stands in a loop and outside of one.
    """
    header, rows = content.table or ([], [])
    looped = {position for columns in loops.values() for position in columns.values()}
    outside = [position for position in range(len(header)) if position not in looped]
    questions = list(dict.fromkeys(question for columns in loops.values() for question in columns))
    doubled = {header[position] for position in outside} & {*questions, LOOP}
    if doubled:
        raise InputError(
            f"the column {min(doubled)!r} stands in a loop of the survey and outside of one",
            where=content.place,
            todo="rename one of them",
        )
    wide = content.with_table([*(header[position] for position in outside), *questions, LOOP], [])
    names = {} if wide.columns is None else dict(wide.columns.names)
    item = names.get("item")
    if item in {header[position] for position in outside} and LOOP not in names.values():
        raise AmbiguousError(
            f"each response has loops and an item ({item}), so that a loop may be an item or be about that one",
            where=content.place,
            todo=f"`columns=item={LOOP}` takes the loops for items, `columns=replicate={LOOP}` for passes over the "
            "item",
        )
    kept = [position for position in outside if header[position] in names.values()]
    lost = [header[position] for position in outside if position not in kept and _answered(rows, position)]
    _tell(content, loops, lost, item)
    number = ["item"] if item is None else [LOOP] if LOOP in names.values() else []
    long: Rows = []
    for where, row in rows:
        for loop, columns in loops.items():
            cells = [row[columns[question]] if question in columns else "" for question in questions]
            if all(map(is_no_answer, cells)):
                content.account.count_left_out("loops without an answer", f"{where} loop {loop}")
                continue
            said = [row[position] for position in kept]
            long.append((f"{where} loop {loop}", [*said, *cells, *([loop] if number else [])]))
    return content.with_table([*(header[position] for position in kept), *questions, *number], long)


def _answered(rows: Rows, position: int) -> bool:
    return any(not is_no_answer(row[position]) for _, row in rows)


def _tell(
    content: RatingContent, loops: dict[str, dict[str, int]], lost: Sequence[str], item: str | None
) -> None:
    """Say in the account how loops were taken."""
    content.account.remark(
        f"The survey asks the same questions in {len(loops)} loops: "
        + (
            "each is taken for an item of that number. Where a question says which item it was, name it with "
            "`columns=item=NAME`."
            if item is None
            else f"each is a row of its own, with the item from {item}."
        )
    )
    if lost:
        content.account.remark(f"Left out is what was asked outside of the loops: {quoted_columns(lost)}.")
