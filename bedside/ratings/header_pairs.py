"""Tables with two rows of column names, as people make them for raters × metrics."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from bedside.ratings.form_contract import FormClaim
from bedside.ratings.rated_cells import RatedCell
from bedside.ratings.rating_content import RatingContent
from bedside.ratings.scales import number_in
from bedside.ratings.spellings import plain
from bedside.ratings.table_cells import column_name, quoted_columns
from bedside.ratings.table_columns import COLUMN_NAMES, ITEM_NAMES, is_about_the_row, is_derived, names_rater
from bedside.support.errors import InputError

#: What the upper row of names holds.
Upper = Literal["rater", "metric"]


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

    def upper(self) -> list[str]:
        """The upper names, each once."""
        return list(dict.fromkeys(upper for _, upper, _ in self.pairs))

    def lower(self) -> list[str]:
        """The lower names, each once."""
        return list(dict.fromkeys(lower for _, _, lower in self.pairs))


def header_pairs(content: RatingContent) -> HeaderPairs | None:
    """The two rows of column names at the top of a table; None where there aren't two.

    A name of the upper row holds for the columns to its right that have none, as merged cells do.
    """
    if len(content.first_rows) < 3:
        return None
    upper_row, lower_row = content.first_rows[:2]
    width = max(len(upper_row), len(lower_row))
    upper_names = [name.strip() for name in upper_row] + [""] * (width - len(upper_row))
    lower_names = [name.strip() for name in lower_row] + [""] * (width - len(lower_row))
    names: dict[str, int] = {}
    pairs: list[tuple[int, str, str]] = []
    others: list[str] = []
    above = ""
    for position, (upper, lower) in enumerate(zip(upper_names, lower_names, strict=True)):
        lower = "" if lower == upper else lower  # as cells that are merged over both rows
        alone = lower if not upper else upper if not lower else ""
        known = _row_name(alone) if alone and (not above or not lower) else None
        if known is not None and known not in names and known != "value":
            names[known] = position
            above = ""
            continue
        above = upper or above
        about = is_about_the_row(lower) or is_about_the_row(above)
        if not lower or not above or is_derived(lower) or is_derived(above) or about:
            others.append(", ".join(filter(None, (above, lower))) or column_name(position))
        else:
            pairs.append((position, above, lower))
    crossed = HeaderPairs(names, pairs, others, width)
    if "item" not in names or len(pairs) < 2 or any(number_in(lower) is not None for _, _, lower in pairs):
        return None
    # Each pair once, and one of the two names again and again: else it is a preamble above a table.
    if len(set(crossed.pairs)) != len(pairs) or len(crossed.lower()) * len(crossed.upper()) < len(pairs):
        return None
    repeated = len(crossed.lower()) < len(pairs) or len(crossed.upper()) < len(pairs)
    return crossed if repeated else None


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
    raters = crossed.upper() if upper == "rater" else crossed.lower()
    metrics = crossed.lower() if upper == "rater" else crossed.upper()
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
    first = "rater" if upper == "rater" else "metric"
    account = content.account
    upper_row, lower_row = (dict(enumerate(row)) for row in content.first_rows[:2])
    account.columns.update(
        {
            name: (upper_row.get(at, "").strip() or lower_row.get(at, "").strip())
            for name, at in crossed.names.items()
        }
    )
    account.columns.update({f"{first} {above}, {below}": below for _, above, below in crossed.pairs})
    account.unused = crossed.others
    for table in content.typed_tables:
        if [cells for _, cells in table.rows[:2]] != content.first_rows[:2]:
            raise InputError(
                f"the worksheet {table.sheet!r} has other column names than the first",
                where=content.place,
                todo="read one with `sheet=NAME`, or give them the same columns",
            )
        for where, cells in table.rows[2:]:
            if any(cell.strip() for cell in cells[crossed.width :]):
                raise InputError(
                    f"the row has {len(cells)} cells, and there are {crossed.width} columns",
                    where=where,
                    todo="name each column, or empty the cells beyond",
                )
            yield from _row_cells(crossed, upper, where, cells)


def _row_cells(crossed: HeaderPairs, upper: Upper, where: str, cells: list[str]) -> Iterator[RatedCell]:
    """The cells of a row.

    Raises:
        InputError: it has no item.
    """
    said = {name: cells[at].strip() if at < len(cells) else "" for name, at in crossed.names.items()}
    if not said["item"]:
        raise InputError(
            "the row has no item",
            where=where,
            todo="fill the item column, or name the first of two rows of column names with `header_row=NUMBER`",
        )
    for position, above, below in crossed.pairs:
        rater, metric = (above, below) if upper == "rater" else (below, above)
        yield RatedCell(
            where=f"{where} column {above}, {below}",
            column=f"{above}, {below}",
            value=cells[position] if position < len(cells) else "",
            **{**said, "rater": rater, "metric": metric},
        )
