"""Which columns of a table stand side by side on a page of LaTeX, in which size, and how wide those of text are."""

from __future__ import annotations

from dataclasses import dataclass

from bedside.reports.renderers.plain_text import plain
from bedside.reports.table_content import TableContent

#: What a line holds, in points: that of A4 or letter paper with margins of an inch.
_LINE = 450.0
#: Between two columns, in points: twice LaTeX's \\tabcolsep.
_GAP = 12.0
#: Sizes from the usual one down, each with the width of a digit in points, which is about a letter's mean.
_SIZES = {"": 5.0, r"\small": 4.6, r"\scriptsize": 3.98}
#: Characters that are narrower, and by how much.
_SLIM, _SLIMNESS = frozenset(" .,:;[]()|/'ilI"), 0.6
#: Of a column of text that is wrapped, the least width in points.
_NARROW = 70.0


@dataclass(frozen=True, slots=True)
class ColumnBlock:
    """Columns that stand side by side.

    Attributes:
        table: the table with these columns alone.
        columns: what LaTeX's tabular is told of each.
    """

    table: TableContent
    columns: str


def column_blocks(table: TableContent, size: str) -> tuple[str, list[ColumnBlock]]:
    """The size in which a table is set, and its columns in blocks that fit a line.

    First the columns of text are wrapped, then a smaller size is taken; where that isn't enough the columns come in
    several blocks, each with those that name the rows.

    Args:
        table: the table.
        size: the size in which it is set if it fits; a smaller one is taken where it doesn't.
    """
    sizes = list(_SIZES)
    for smaller in sizes[sizes.index(size) :]:
        if sum(_least(table, smaller)) <= _LINE:
            return smaller, [_block(table, smaller)]
    least = _least(table, r"\small")
    names = next((place for place, column in enumerate(table.columns) if column.align != "left"), 1) or 1
    if sum(least[:names]) > _LINE / 2:
        names = 1
    blocks: list[list[int]] = []
    for place in range(names, len(table.columns)):
        if not blocks or sum(least[other] for other in (*blocks[-1], place)) > _LINE:
            blocks.append(list(range(names)))
        blocks[-1].append(place)
    return r"\small", [_block(table.of_columns(places), r"\small") for places in blocks] or [
        _block(table, r"\small")
    ]


def _natural(table: TableContent, size: str) -> list[float]:
    """The width of each column if nothing is wrapped, in points, the gap beside it included."""
    return [_GAP + _SIZES[size] * max(map(_digits, texts)) for texts in _texts(table)]


def _least(table: TableContent, size: str) -> list[float]:
    """The width of each column if those of text are wrapped between words."""
    least = []
    for width, texts, column in zip(_natural(table, size), _texts(table), table.columns, strict=True):
        word = max((_digits(word) for text in texts for word in text.split()), default=0.0)
        wrapped = _GAP + max(_NARROW, _SIZES[size] * word)
        least.append(min(width, wrapped) if column.align == "left" else width)
    return least


def _digits(text: str) -> float:
    """How many digits are as wide as a text."""
    return sum(_SLIMNESS if character in _SLIM else 1.0 for character in text)


def _texts(table: TableContent) -> list[list[str]]:
    """What stands in each column."""
    return [
        [plain(column.title), *(plain(row.cells[place].text + row.cells[place].marks) for row in table.rows)]
        for place, column in enumerate(table.columns)
    ]


def _block(table: TableContent, size: str) -> ColumnBlock:
    """Columns side by side: the widest columns of text give way until all fit."""
    natural, least = _natural(table, size), _least(table, size)
    widths = natural
    for limit in sorted({*natural, *least}, reverse=True):
        if sum(widths) <= _LINE:
            break
        widths = [max(low, min(width, limit)) for width, low in zip(natural, least, strict=True)]
    spare = max(0.0, _LINE - sum(widths))
    columns = ""
    for place, column in enumerate(table.columns):
        if column.align == "left" and widths[place] < natural[place]:
            width = min(natural[place], widths[place] + spare)
            spare -= width - widths[place]
            columns += f"p{{{width - _GAP:.0f}pt}}"
        else:
            columns += "l" if column.align == "left" else "r"
    return ColumnBlock(table, f"@{{}}{columns}@{{}}")
