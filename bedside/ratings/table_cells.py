"""The cells of a table of ratings, row by row, by the columns that were found."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from bedside.ratings.rated_cells import RatedCell
from bedside.ratings.rating_content import RatingContent
from bedside.ratings.spellings import plain
from bedside.ratings.table_columns import COLUMN_NAMES, TableColumns, names_rater
from bedside.support.errors import AmbiguousError, InputError
from bedside.transcripts.table_rows import SHEET

#: Names of worksheets that may be those of rounds.
_ROUND = re.compile(
    "(round|wave|time|t|week|month|day|visit|session|pre|post|test|retest|pilot|main|baseline|follow_?up)_?[0-9]*$"
)
#: What a row says of all its ratings.
_OF_ROW = ("item", "rater", "metric", "system", "case", "turn", "replicate", "round", "drawn", "reason")


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
        self._sheet_position = self._repeated_items()

    def need(self, *names: str) -> None:
        """See that there are columns of these names.

        Raises:
            InputError: one is missing.
        """
        for name in names:
            if name not in self.columns.names:
                raise self.columns.missing(name)

    def rows(self, *more: str) -> Iterator[tuple[str, dict[str, str], list[str]]]:
        """Place, what the row says of all its ratings by bedside's names, and all its cells.

        Args:
            more: bedside's names of what it is asked for besides.

        Raises:
            InputError: a row has no item, or no rater where there is a column for it.
        """
        positions = {
            name: self._header.index(self.columns.names[name])
            for name in (*_OF_ROW, *more)
            if name in self.columns.names
        }
        for where, cells in self._rows:
            row = {"metric": "", **{name: cells[position].strip() for name, position in positions.items()}}
            if not row["item"]:
                raise InputError(
                    "the row has no item",
                    where=where,
                    todo="fill the item column, or say with `header_row=NUMBER` which row names the columns",
                )
            if "rater" in row and not row["rater"]:
                raise InputError("the row has no rater", where=where, todo="fill the rater column")
            if self._sheet_position is not None:
                sheet = cells[self._sheet_position]
                row.setdefault("case", row["item"])
                row.setdefault("system", sheet)
                row["item"] = f"{sheet}/{row['item']}"
            yield where, row, cells

    def _repeated_items(self) -> int | None:
        """The position of the column of worksheets where they rate the same items, so that each has its own of them.
        AmbiguousError where the worksheets may be raters or rounds."""
        account, names = self._content.account, self.columns.names
        if SHEET not in self._header or len(account.sheets) < 2:
            return None
        position = self._header.index(SHEET)
        of_key = [
            names[name]
            for name in ("item", "second", "rater", "metric", "turn", "replicate", "round")
            if name in names
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
        """See that worksheets of the same items can be taken for systems."""
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
    ) -> Iterator[RatedCell]:
        """The cells of columns that hold ratings each, one of the raters' or one of the metrics'.

        Args:
            columns: their names.
            of_column: what a column's name says, ``rater`` or ``metric``.
            rater: who rated, where no column says.
            comments: names of columns of what people remarked.
        """
        positions = [(name, self._header.index(name)) for name in (*columns, *comments)]
        for where, row, cells in self.rows():
            for name, position in positions:
                yield RatedCell(
                    where=f"{where} column {name}",
                    column=name,
                    value=cells[position],
                    kind="comment" if name in comments else "",
                    **{"rater": rater, **row, of_column: name},
                )

    def long(self, *more: str) -> Iterator[RatedCell]:
        """The cells of a table with one rating a row; ``more`` is what a row is asked for besides."""
        for where, row, _ in self.rows("value", *more):
            yield RatedCell(where=where, column=self.columns.names["value"], **row)

    def took(self, columns: Mapping[str, str]) -> None:
        """Note which columns were taken besides those of the row, and so which were not."""
        account, names = self._content.account, self.columns.names
        of_row = {name: names[name] for name in COLUMN_NAMES if name in names}
        account.took({**of_row, **columns}, self._header)
        account.unused += [
            column_name(position)
            for position, name in enumerate(self._header)
            if not name and any(cells[position].strip() for _, cells in self._rows)
        ]


def column_name(position: int) -> str:
    """What a column without a name is called, by its position from 0.

    >>> column_name(2)
    'column 3, without a name'
    """
    return f"column {position + 1}, without a name"


def quoted_columns(names: Sequence[str]) -> str:
    """Some names of columns, for a message."""
    more = f" and {len(names) - 4} more" if len(names) > 4 else ""
    return ", ".join(repr(name) for name in names[:4]) + more
