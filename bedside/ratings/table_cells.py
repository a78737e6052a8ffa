"""The cells of a table of ratings, row by row: by the columns that were found, or by two rows of column names, as
people make them for raters × metrics."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Literal

import numpy as np
import polars as pl

from bedside.core.errors import AmbiguousError, InputError
from bedside.ratings.cell_columns import CellColumns
from bedside.ratings.form_contract import FormClaim
from bedside.ratings.rated_cells import RatedCell
from bedside.ratings.rating_content import RatingContent
from bedside.ratings.scales import number_in
from bedside.ratings.spellings import plain
from bedside.ratings.summary_rows import summary_rows
from bedside.ratings.table_columns import (
    COLUMN_NAMES,
    ITEM_NAMES,
    TableColumns,
    is_about_the_row,
    is_derived,
    names_rater,
)
from bedside.transcripts.table_rows import SHEET
from bedside.transcripts.text_table import BLANKS

#: Names of worksheets that may be those of rounds.
_ROUND = re.compile(
    "(round|wave|time|t|week|month|day|visit|session|pre|post|test|retest|pilot|main|baseline|follow_?up)_?[0-9]*$"
)
#: What a row may say of all its ratings.
_OF_ROW = (
    "item", "rater", "metric", "value", "system", "case", "turn", "replicate", "round", "drawn", "reason"
)  # fmt: skip
#: What a row must have, with the words for one that hasn't, and what to do.
_NEEDED = {
    "item": (
        "the row has no item",
        "fill the item column, or say with `header_row=NUMBER` which row names the columns",
    ),
    "rater": ("the row has no rater", "fill the rater column"),
    "second": ("the row has no second transcript", "fill the column"),
}
#: What the upper of two rows of column names holds.
Upper = Literal["rater", "metric"]


class TableCells:
    """The rows of a table with its columns by bedside's names.

    Args:
        content: a table.

    Attributes:
        columns: which column holds what.

    Raises:
        InputError: it is no table.
    """

    def __init__(self, content: RatingContent) -> None:
        table, columns = content.table, content.columns
        if table is None or columns is None:
            raise InputError("this is no table", where=content.place, todo="name another form with `form`")
        self._content = content
        self._header, self._rows = table
        self.columns: TableColumns = columns
        self._before = [self._header.index(name) for name in columns.before_item]
        if self._before:
            of_both = "+".join((*columns.before_item, columns.names["item"]))
            content.account.remark(
                f"An item's id is that of {of_both}, as {columns.names['item']} repeats; "
                f"`columns=item={columns.names['item']}` takes that alone."
            )
        self._sheet_position = self._repeated_items()

    def need(self, *names: str) -> None:
        """See that there are columns of these names.

        Raises:
            InputError: one is missing.
        """
        for name in names:
            if name not in self.columns.names:
                raise self.columns.missing(name)

    def _said(self, *needed: str) -> tuple[pl.DataFrame, pl.Series]:
        """What each row says of all its ratings by bedside's names, and its position in the table.

        Args:
            needed: names without which a row is none, besides item and rater.

        Raises:
            InputError: a row has no item, or no rater where there is a column for it, or nothing that is needed.
        """
        names, cells = self.columns.names, self._rows.cells
        at = {name: self._header.index(names[name]) for name in (*_OF_ROW, *needed) if name in names}
        said = pl.DataFrame({name: _stripped(cells[str(position)]) for name, position in at.items()})
        rows = pl.int_range(said.height, dtype=pl.UInt32, eager=True)
        # A row that says who rated is no computed one, unless its name says so.
        rated = [] if "rater" in at else [self._header.index(name) for name in self.columns.rated]
        items = said["item"]
        if not rated:
            # Which names stand last, and which stand before those, the first and last of each tell.
            items = items.filter(items.is_first_distinct() | items.is_last_distinct())
        computed = self._computed(items.to_list(), rated, names["item"])
        if computed:
            left = said["item"].is_in(computed)
            first = rows.filter(left)[0]
            self._content.account.count_left_out(_computed(computed), self._rows.places[first], int(left.sum()))
            said, rows = said.filter(~left), rows.filter(~left)
        faults = [
            (row, place)
            for place, name in enumerate(_NEEDED)
            if name in said.columns and (row := (said[name] == "").arg_max()) is not None and said[name][row] == ""
        ]
        if faults:
            row, place = min(faults)
            what, todo = list(_NEEDED.values())[place]
            raise InputError(what, where=self._rows.places[rows[row]], todo=todo)
        if self._before:
            parts = [_stripped(cells[str(position)].gather(rows)) for position in self._before]
            said = said.with_columns(item=pl.concat_str(*map(pl.lit, parts), "item", separator="/"))
        if self._sheet_position is not None:
            sheet = cells[str(self._sheet_position)].gather(rows)
            said = said.with_columns(
                pl.col("case" if "case" in at else "item").alias("case"),
                *(() if "system" in at else (sheet.alias("system"),)),
                item=pl.concat_str(sheet, pl.lit("/"), "item"),
            )
        return said, rows

    def _computed(self, items: list[str], rated: Sequence[int], column: str) -> frozenset[str]:
        """As :func:`_computed_items`, of the table's rows."""
        rows = self._rows.cells.rows() if rated else ()
        return _computed_items(self._content, items, rows, self._rows.places, rated, column)

    def _repeated_items(self) -> int | None:
        """The position of the column of worksheets where they rate the same items, so that each has its own of them.

        Raises:
            AmbiguousError: the worksheets may be raters or rounds.
        """
        account, names = self._content.account, self.columns.names
        if SHEET not in self._header or len(account.sheets) < 2:
            return None
        position = self._header.index(SHEET)
        of_key = [*self.columns.before_item] + [
            names[name] for name in ("item", "second", "rater", "metric", "turn", "replicate", "round") if name in names
        ]
        if SHEET in of_key or "item" not in names:
            return None
        sheets_of: dict[tuple[str, ...], str] = {}
        at = [self._header.index(name) for name in of_key]
        repeated = any(
            sheets_of.setdefault(tuple(row[place].strip() for place in at), row[position]) != row[position]
            for _, row in self._rows
        )
        if not repeated:
            return None
        if names.get("system") != SHEET:
            self._check_sheets(account.sheets)
        account.remark(
            "The worksheets rate the same items, so that each is taken for a system with its own: "
            f"{account.sheets[0]}/ITEM. `columns=round=sheet` takes them for rounds, `columns=rater=sheet` for raters."
        )
        return position

    def _check_sheets(self, sheets: Sequence[str]) -> None:
        """See that worksheets of the same items can be taken for systems.

        Raises:
            AmbiguousError: they may be raters or rounds as well.
        """
        raters = all(map(names_rater, sheets)) or not (
            {"rater", "metric"} & self.columns.names.keys() or all(map(names_rater, self.columns.rated))
        )
        rounds = all(_ROUND.match(plain(name)) for name in sheets)
        if raters or rounds:
            raise AmbiguousError(
                f"the worksheets {quoted_columns(sheets)} rate the same items, and may be "
                + ("raters or systems" if raters else "rounds or systems"),
                where=self._content.place,
                todo=f"say `columns={'rater' if raters else 'round'}=sheet` or `columns=system=sheet`",
            )

    def by_column(
        self, columns: Sequence[str], of_column: str, *, rater: str = "", comments: Sequence[str] = ()
    ) -> CellColumns:
        """The cells of columns that hold ratings each, one of the raters' or one of the metrics'.

        Args:
            columns: their names.
            of_column: what a column's name says, ``rater`` or ``metric``.
            rater: who rated, where no column says.
            comments: names of columns of what people remarked.
        """
        said, rows = self._said()
        names = [*columns, *comments]
        columns_of = [self._rows.cells[str(self._header.index(name))].gather(rows) for name in names]
        again = pl.Series(np.repeat(np.arange(len(rows)), len(names)))
        # One row after the other, and in each one column after the other.
        order = pl.Series(np.arange(len(rows) * len(names)).reshape(len(names), -1).T.ravel())
        column = pl.concat([pl.repeat(name, len(rows), dtype=pl.String, eager=True) for name in names]).gather(order)
        cells = said[again].with_columns(
            column.alias("column"), column.alias(of_column), value=pl.concat(columns_of).gather(order)
        )
        if comments:
            kind = pl.when(column.is_in(comments)).then(pl.lit("comment")).otherwise(pl.lit(""))
            cells = cells.with_columns(kind=kind)
        of_rows = self._rows.places.of(rows.gather(again))
        same = {} if "rater" in cells.columns else {"rater": rater}
        return CellColumns(cells, replace(of_rows, ends=" column " + column), same)

    def one_a_row(self, compared: bool = False) -> CellColumns:
        """The cells of a table with one rating a row, or one comparison of two transcripts.

        Raises:
            InputError: a row of a comparison names no second transcript.
        """
        said, rows = self._said(*(("second",) if compared else ()))
        return CellColumns(said, self._rows.places.of(rows), {"column": self.columns.names["value"]})

    def took(self, columns: Mapping[str, str]) -> None:
        """Note which columns were taken besides those of the row, and so which were not."""
        account, names = self._content.account, self.columns.names
        of_row = {name: names[name] for name in COLUMN_NAMES if name in names}
        of_row |= {f"before the item {name}": name for name in self.columns.before_item}
        account.took({**of_row, **columns}, self._header)
        account.unused += [
            column_name(position)
            for position, name in enumerate(self._header)
            if not name and any(self._rows.column(position))
        ]


@dataclass(frozen=True, slots=True)
class HeaderPairs:
    """Two rows of column names.

    Attributes:
        names: bedside's name of a column that says something of the row → its position.
        pairs: position, upper and lower name of each column of ratings.
        others: the names of the columns of which nothing is taken.
        width: number of columns.
    """

    names: dict[str, int]
    pairs: list[tuple[int, str, str]]
    others: list[str]
    width: int

    def named(self, in_upper: bool) -> list[str]:
        """The names in the upper or the lower row, each once."""
        return list(dict.fromkeys(upper if in_upper else lower for _, upper, lower in self.pairs))


def header_pairs(content: RatingContent) -> HeaderPairs | None:
    """The two rows of column names at the top of a table; None where there aren't two.

    A name of the upper row holds for the columns to its right that have none, as merged cells do.
    """
    if len(content.first_rows) < 3:
        return None
    pairs = HeaderPairs({}, [], [], max(map(len, content.first_rows[:2])))
    above = ""
    for position, column in enumerate(zip_longest(*content.first_rows[:2], fillvalue="")):
        upper, lower = map(str.strip, column)
        lower = "" if lower == upper else lower  # as cells that are merged over both rows
        alone = lower if not upper else upper if not lower else ""
        known = _row_name(alone) if alone and (not above or not lower) else None
        if known is not None and known not in pairs.names and known != "value":
            pairs.names[known] = position
            above = ""
            continue
        above = upper or above
        aside = any(is_derived(name) or is_about_the_row(name) for name in (lower, above))
        if aside or not (lower and above):
            pairs.others.append(", ".join(filter(None, (above, lower))) or column_name(position))
        else:
            pairs.pairs.append((position, above, lower))
    raised, lowered = pairs.named(True), pairs.named(False)
    number = len(pairs.pairs)
    # Each pair once, and one of the two names again and again: else it is a preamble above a table.
    once = len(set(pairs.pairs)) == number <= len(raised) * len(lowered)
    is_crossed = once and number > max(1, min(len(raised), len(lowered)))
    are_names = "item" in pairs.names and all(number_in(name) is None for name in lowered)
    return pairs if is_crossed and are_names else None


def _row_name(name: str) -> str | None:
    word = plain(name)
    if word in ITEM_NAMES:
        return "item"
    return next((known for known, spellings in COLUMN_NAMES.items() if word in spellings), None)


def pairs_claim(content: RatingContent, upper: Upper) -> FormClaim | None:
    """That a table may have two rows of column names, of which the upper is of raters or of metrics."""
    crossed = header_pairs(content)
    if crossed is None:
        return None
    raters, metrics = crossed.named(upper == "rater"), crossed.named(upper == "metric")
    knows = content.reading.knows_metric
    if any(map(knows, raters)) or any(map(names_rater, metrics)):
        return None
    form = "raters_over_metrics" if upper == "rater" else "metrics_over_raters"
    return FormClaim(
        f"{quoted_columns(raters)} are raters and {quoted_columns(metrics)} metrics",
        f"`form={form}`",
        certain=any(map(knows, metrics)) or all(map(names_rater, raters)),
    )


def pairs_cells(content: RatingContent, upper: Upper) -> Iterator[RatedCell]:
    """The cells of a table with two rows of column names.

    Raises:
        InputError: it has none such, or a row has no item.
    """
    crossed = header_pairs(content)
    if crossed is None:
        raise InputError(
            "there are no two rows of column names, of raters and metrics, beside a column for the item",
            where=content.place,
            todo="name another form with `form`",
        )
    lower: Upper = "metric" if upper == "rater" else "rater"
    names = list(zip_longest(*content.first_rows[:2], fillvalue=""))
    for name, at in crossed.names.items():
        content.account.columns[name] = names[at][0].strip() or names[at][1].strip()
    for _, above, below in crossed.pairs:
        content.account.columns[f"{upper} {above}, {below}"] = below
    content.account.unused = crossed.others
    item_at = crossed.names["item"]
    typed = [row for _, rows in content.typed_tables for row in rows[2:]]
    pairs = [position for position, _, _ in crossed.pairs]
    ids = [cells[item_at].strip() if item_at < len(cells) else "" for _, cells in typed]
    places = [where for where, _ in typed]
    cells_of = [cells for _, cells in typed]
    computed = _computed_items(content, ids, cells_of, places, pairs, content.account.columns["item"])
    for sheet, rows in content.typed_tables:
        if [cells for _, cells in rows[:2]] != content.first_rows[:2]:
            raise InputError(
                f"the worksheet {sheet!r} has other column names than the first",
                where=content.place,
                todo="read one with `sheet=NAME`, or give them the same columns",
            )
        for where, cells in rows[2:]:
            if any(cell.strip() for cell in cells[crossed.width :]):
                raise InputError(
                    f"the row has {len(cells)} cells, and there are {crossed.width} columns",
                    where=where,
                    todo="name each column, or empty the cells beyond",
                )
            row = cells + [""] * (crossed.width - len(cells))
            said = {name: row[at].strip() for name, at in crossed.names.items()}
            if said["item"] in computed:
                content.account.count_left_out(_computed(computed), where)
                continue
            if not said["item"]:
                raise InputError(
                    "the row has no item",
                    where=where,
                    todo="fill the item column, or name the first of two rows of column names with `header_row=NUMBER`",
                )
            for position, above, below in crossed.pairs:
                yield RatedCell(
                    where=f"{where} column {above}, {below}",
                    column=f"{above}, {below}",
                    value=row[position],
                    **{**said, upper: above, lower: below},
                )


def _computed_items(
    content: RatingContent,
    ids: list[str],
    rows: Sequence[Sequence[str]],
    places: Sequence[str],
    rated: Sequence[int],
    column: str,
) -> frozenset[str]:
    """What stands in the item's column of rows that were computed from those above.

    Args:
        content: says what the user said of the item, and takes a remark.
        ids: what stands in the item's column of each row.
        rows: the cells of each; none where no column is asked for.
        places: of each.
        rated: positions of the columns that hold ratings.
        column: the item's column.

    Raises:
        AmbiguousError: the last row may be one, or of an item.
    """
    summary = summary_rows(ids, rows, rated)
    if summary.unsettled is None:
        return summary.computed
    odd = ids[summary.unsettled]
    if "item" not in content.reading.columns:
        raise AmbiguousError(
            f"{odd!r} is no {column} as the others are ({ids[0]!r}): the row may be of an item, or computed from those "
            "above",
            where=places[summary.unsettled],
            todo=f"say `columns=item={column}` for an item, else remove the row",
        )
    content.account.remark(f"{odd!r} is taken for an item, though it is called otherwise than all others.")
    return summary.computed


def _stripped(column: pl.Series) -> pl.Series:
    """A column's cells without blanks around them; where none has any the column itself, which takes no memory."""
    bare = column.str.strip_chars(BLANKS)
    return column if bare.equals(column) else bare


def _computed(items: Iterable[str]) -> str:
    """What the account calls rows of these names."""
    return f"rows computed from those above ({', '.join(sorted(items))})"


def column_name(position: int) -> str:
    """What a column without a name is called, by its position from 0.

    >>> column_name(2)
    'column 3, without a name'
    """
    return f"column {position + 1}, without a name"


def crossed_names(names: Sequence[str]) -> tuple[list[str], list[str]] | None:
    """The parts of names that are each of some with each of others; None where they aren't.

    >>> crossed_names(["anna_warmth", "anna_pace", "ben_warmth", "ben_pace"])
    (['anna', 'ben'], ['warmth', 'pace'])
    >>> crossed_names(["anna_warmth", "ben_pace"])
    """
    for mark in "_-.: /":
        for part in (str.partition, str.rpartition):
            pairs = {(left, right) for left, _, right in (part(name, mark) for name in names)}
            before, behind = (list(dict.fromkeys(part(name, mark)[at] for name in names)) for at in (0, 2))
            if (
                all((*before, *behind))
                and min(len(before), len(behind)) > 1
                and len(before) * len(behind) == len(pairs) == len(names)
            ):
                return before, behind
    return None


def quoted_columns(names: Sequence[str]) -> str:
    """Some names of columns, for a message."""
    more = f" and {len(names) - 4} more" if len(names) > 4 else ""
    return ", ".join(repr(name) for name in names[:4]) + more
