"""How a table is set so that it fits a page: in which size, with which text wrapped, turned round, or in parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import Literal

from bedside.reports.renderers.wrapped_text import BOLD, ITALIC, RAISED, lines, number_shape, text_width, widest_piece
from bedside.reports.table_content import Cell, Column, Row, TableContent

#: What may be broken into lines: nothing, headings, columns of text too, or anything, within a word if need be.
Broken = Literal["nothing", "headings", "text", "anything"]
#: The least width of a column that is wrapped, in points: of one of text, and of any.
_NARROW, _LEAST = 60.0, 30.0
#: Columns that name the rows take no more of a line than this share of it where a table comes in parts.
_NAMES_SHARE = 0.45
#: Fewest rows in a part of a table.
_FEWEST = 3
#: Rows that may become columns.
_MOST_TURNED = 8
#: Rules with the space about them, between groups, and between parts one under another, in points.
_RULES, _SPAN_RULE, _BETWEEN_GROUPS, _BETWEEN_PARTS = 12.0, 5.0, 5.0, 7.0
#: A caption's line and the space about it; a note's line; above the notes; in points.
_CAPTION_LINE, _ABOUT_CAPTION, _NOTE_LINE, _ABOVE_NOTES = 12.0, 16.0, 9.5, 4.0
CONTINUED = " (continued)"


@dataclass(frozen=True, slots=True)
class TextSize:
    """A size of text.

    Attributes:
        name: of LaTeX's command, without the backslash.
        points: its height.
        scale: widths beside those of 10 pt.
        line: from one line to the next, in points.
        gap: between two columns, in points.
    """

    name: str
    points: int
    scale: float
    line: float
    gap: float


#: From the usual size down. Small letters are cut wider, so that widths shrink less than heights.
SIZES = (
    TextSize("normalsize", 10, 1.0, 12.0, 12.0),
    TextSize("small", 9, 0.926, 11.0, 10.0),
    TextSize("footnotesize", 8, 0.852, 9.5, 8.0),
    TextSize("scriptsize", 7, 0.8, 8.0, 6.0),
)
_NORMAL, _SMALL, _FOOTNOTE, _SCRIPT = SIZES


@dataclass(frozen=True, slots=True)
class Frame:
    """Where a table can stand.

    Attributes:
        name: of the environment.
        width: in points.
        height: in points, without a page's head and foot.
    """

    name: str
    width: float
    height: float


class MeasuredTable:
    """The widths of what stands in a table's columns at 10 pt, in points.

    Args:
        table: the table.
        aligned: whether numbers stand with their decimal points one under another.
    """

    def __init__(self, table: TableContent, *, aligned: bool = False) -> None:
        self.table = table
        self._aligned = aligned

    @cached_property
    def bodies(self) -> list[float]:
        """Of each column, its widest cell."""
        widths = []
        for column, cells in zip(self.table.columns, self._cells(), strict=True):
            shape = number_shape(cells) if self._aligned and column.align == "right" else None
            width = max(map(_cell_width, cells), default=0.0)
            widths.append(width if shape is None else max(width, shape.width))
        return widths

    @cached_property
    def body_pieces(self) -> list[float]:
        """Of each column, the widest piece that can't be broken."""
        return [max((_cell_width(cell, widest_piece) for cell in cells), default=0.0) for cells in self._cells()]

    @cached_property
    def titles(self) -> list[float]:
        """Of each column, its title."""
        return [text_width(column.title) for column in self.table.columns]

    @cached_property
    def title_pieces(self) -> list[float]:
        """Of each column, the widest piece of its title."""
        return [widest_piece(column.title) for column in self.table.columns]

    @cached_property
    def widest_character(self) -> float:
        """Of all that stands in the table, bold where it may be."""
        texts = [cell.text + cell.marks for cells in self._cells() for cell in cells]
        texts += [text for column in self.table.columns for text in (column.title, column.group or "")]
        return BOLD * max(map(text_width, {character for text in texts for character in text}), default=0.0)

    def _cells(self) -> list[list[Cell]]:
        return [[row.cells[place] for row in self.table.rows] for place in range(len(self.table.columns))]


def _cell_width(cell: Cell, width: Callable[[str], float] = text_width) -> float:
    """The width of a cell at 10 pt, in points; ``width`` is that of its text, or of its widest piece."""
    return width(cell.text) * (BOLD if cell.bold else 1.0) + text_width(cell.marks) * RAISED


@dataclass(frozen=True, slots=True)
class FittedColumn:
    """A column as it is set.

    Attributes:
        width: in points, without the gap beside it.
        wrapped: whether its cells are broken into lines.
    """

    width: float
    wrapped: bool


@dataclass(frozen=True, slots=True)
class FittedTable:
    """A table, or some columns of one, with the width of each column."""

    table: TableContent
    size: TextSize
    columns: tuple[FittedColumn, ...]

    @property
    def width(self) -> float:
        """Of the whole, in points."""
        return self.span_width(0, len(self.columns))

    def span_width(self, first: int, count: int) -> float:
        """Of ``count`` columns side by side, in points."""
        widths = sum(column.width for column in self.columns[first : first + count])
        return widths + self.size.gap * (count - 1)

    def title_lines(self, place: int) -> tuple[str, ...]:
        """The title of a column in lines that fit it."""
        return lines(self.table.columns[place].title, self.columns[place].width / self.size.scale)

    def span_lines(self, text: str, first: int, count: int) -> tuple[str, ...]:
        """A heading that columns share in lines that fit them."""
        return lines(text, self.span_width(first, count) / self.size.scale)

    def group_lines(self, heading: str) -> tuple[str, ...]:
        """A heading of rows in lines that fit the table."""
        return lines(heading, self.width / self.size.scale / ITALIC)

    def text_room(self, place: int, cell: Cell) -> float:
        """The width at 10 pt, in points, that a wrapped cell's text has."""
        room = self.columns[place].width / self.size.scale - text_width(cell.marks) * RAISED
        return room / (BOLD if cell.bold else 1.0)

    @property
    def head_height(self) -> float:
        """What stands above and below the rows, in points."""
        titles = max((len(self.title_lines(place)) for place in range(len(self.columns))), default=1)
        spans = 0
        for text, first, count in self.spans():
            spans = max(spans, len(self.span_lines(text, first, count)))
        return _RULES + (titles + spans) * self.size.line + (_SPAN_RULE if spans else 0.0)

    def spans(self) -> Iterator[tuple[str, int, int]]:
        """Each heading that columns share, with its first column and their number."""
        counts = [count for _, count in self.table.spans()]
        firsts = accumulate(counts, initial=0)
        for (text, count), first in zip(self.table.spans(), firsts, strict=False):
            if text is not None:
                yield text, first, count

    def row_height(self, row: Row) -> float:
        """Of a row, in points."""
        most = 1
        for place, cell in enumerate(row.cells):
            most = max(most, len(self.cell_lines(place, cell)))
        return most * self.size.line

    def cell_lines(self, place: int, cell: Cell) -> tuple[str, ...]:
        """A cell's text in the lines that it makes."""
        return lines(cell.text, self.text_room(place, cell)) if self.columns[place].wrapped else (cell.text,)

    def group_height(self, heading: str) -> float:
        """Of a heading of rows, in points."""
        return len(self.group_lines(heading)) * self.size.line + _BETWEEN_GROUPS


def fitted(measure: MeasuredTable, size: TextSize, width: float, broken: Broken) -> FittedTable | None:
    """The table in a size and a width; None where it doesn't fit.

    Args:
        measure: of the table.
        size: of its text.
        width: that it may have, in points.
        broken: what may be broken into lines.
    """
    table, scale = measure.table, size.scale
    natural = [scale * max(pair) for pair in zip(measure.bodies, measure.titles, strict=True)]
    least = [scale * width_needed for width_needed in _least(measure, broken)]
    if broken == "anything":
        narrowest = max(_LEAST, scale * measure.widest_character)
        least = [min(width_needed, narrowest) for width_needed in natural]
    else:
        _widen_for_spans(table, least, size, whole=broken == "nothing")
    natural = [max(pair) for pair in zip(natural, least, strict=True)]
    room = width - size.gap * (len(table.columns) - 1)
    if sum(least) > room:
        return None
    widths = _narrowed(natural, least, room)
    return FittedTable(
        table,
        size,
        tuple(
            FittedColumn(own, wrapped=own < scale * body - 0.01)
            for own, body in zip(widths, measure.bodies, strict=True)
        ),
    )


def _least(measure: MeasuredTable, broken: Broken) -> list[float]:
    """The least width of each column at 10 pt, in points."""
    least = []
    for place, column in enumerate(measure.table.columns):
        body, title = measure.bodies[place], measure.title_pieces[place]
        if broken == "nothing":
            title = measure.titles[place]
        elif broken != "headings" and column.align == "left":
            body = max(min(body, _NARROW), measure.body_pieces[place])
        least.append(max(body, title))
    return least


def _widen_for_spans(table: TableContent, least: list[float], size: TextSize, *, whole: bool) -> None:
    """Widen columns whose shared heading, or its widest piece, is wider than they are."""
    first = 0
    for heading, count in table.spans():
        if heading is not None:
            needed = size.scale * (text_width(heading) if whole else widest_piece(heading))
            lacking = needed - sum(least[first : first + count]) - size.gap * (count - 1)
            for place in range(first, first + count):
                least[place] += max(0.0, lacking) / count
        first += count


def _narrowed(natural: Sequence[float], least: Sequence[float], room: float) -> list[float]:
    """Widths that fit ``room``: the widest columns give way first, none below its least."""

    def limited(limit: float) -> list[float]:
        return [max(low, min(wide, limit)) for wide, low in zip(natural, least, strict=True)]

    if sum(natural) <= room:
        return list(natural)
    low, high = 0.0, max(natural)
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if sum(limited(middle)) <= room else (low, middle)
    return limited(low)


@dataclass(frozen=True, slots=True)
class RowRun:
    """Rows under one heading; ``continued`` where the group began in another part."""

    heading: str | None
    continued: bool
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class TablePart:
    """Some columns and rows of a table that stand together."""

    fitted: FittedTable
    runs: tuple[RowRun, ...]


@dataclass(frozen=True, slots=True)
class PlacedTable:
    """What stands in one float: parts one under another, and notes below them."""

    frame: Frame
    parts: tuple[TablePart, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _FramedTable:
    frame: Frame
    fitted: FittedTable

    def height(self) -> float:
        """Without caption and notes, in points."""
        table = self.fitted
        total = table.head_height
        for heading, rows in table.table.groups():
            total += 0.0 if heading is None else table.group_height(heading)
            total += sum(map(table.row_height, rows))
        return total

    def is_whole(self, *, notes: bool) -> bool:
        """Whether the table fits its frame's height, with its notes or without."""
        content = self.fitted.table
        around = caption_height(content.title, self.frame)
        around += notes_height(content.notes, self.frame) if notes else 0.0
        return self.height() + around <= self.frame.height


def caption_height(title: str, frame: Frame) -> float:
    """Of a caption with its number, in points."""
    return len(lines(f"Table 100: {title}{CONTINUED}", frame.width)) * _CAPTION_LINE + _ABOUT_CAPTION


def notes_height(notes: Iterable[str], frame: Frame) -> float:
    """Of notes below a table, in points."""
    count = sum(len(note_lines(note, frame)) for note in notes)
    return count * _NOTE_LINE + (_ABOVE_NOTES if count else 0.0)


def note_lines(note: str, frame: Frame) -> tuple[str, ...]:
    """The lines of a note."""
    return lines(note, frame.width / _FOOTNOTE.scale)


def place(
    table: TableContent, upright: Sequence[Frame], sideways: Frame, *, aligned: bool = False
) -> list[PlacedTable]:
    """The table as it fits a page, tried in this order: as it is, then with headings and text wrapped, in smaller
    sizes, in the next frame, with rows and columns exchanged, sideways, and at last in parts.

    Args:
        table: the table.
        upright: frames, the narrowest first.
        sideways: the frame of a page that is turned.
        aligned: whether numbers stand with their decimal points one under another.

    Returns:
        What stands in each float, in order.
    """
    measure = MeasuredTable(table, aligned=aligned)
    narrow = list(_upright(measure, upright))
    # The smallest letters are for what is wide: what is high, or has long notes, goes on on another page.
    readable = [candidate for candidate in narrow if candidate.fitted.size is not _SCRIPT] or narrow
    whole = _first_whole(readable) or _first_whole(readable, notes=False)
    if whole is not None:
        return _paged([whole.fitted], table, whole.frame)
    if readable:
        # What takes several pages takes fewer in small letters.
        tall = next((each for each in readable if each.fitted.size is not _NORMAL), readable[0])
        return _paged([tall.fitted], table, tall.frame)
    turned = _turned(table)
    exchanged = _first_whole(_upright(MeasuredTable(turned, aligned=aligned), upright)) if turned is not None else None
    if exchanged is not None:
        return _paged([exchanged.fitted], exchanged.fitted.table, exchanged.frame)
    on_side = _first_whole(_in_frame(measure, sideways, SIZES[:-1])) or _first_whole(
        _in_frame(measure, sideways, SIZES), notes=False
    )
    if on_side is not None:
        return _paged([on_side.fitted], table, on_side.frame)
    return _paged(column_parts(table, upright[-1].width, aligned=aligned), table, upright[-1])


def in_parts(table: TableContent, frames: Sequence[Frame]) -> tuple[Frame, list[FittedTable]]:
    """The table in the first frame whose width it fits; in the last one, in parts of columns, where it fits none.

    Args:
        table: the table, as high as it may be.
        frames: the narrowest first.
    """
    candidate = next(_upright(MeasuredTable(table), frames), None)
    if candidate is not None:
        return candidate.frame, [candidate.fitted]
    return frames[-1], column_parts(table, frames[-1].width)


def _first_whole(candidates: Iterable[_FramedTable], *, notes: bool = True) -> _FramedTable | None:
    """The first that fits its frame's height."""
    return next((candidate for candidate in candidates if candidate.is_whole(notes=notes)), None)


def _upright(measure: MeasuredTable, frames: Sequence[Frame]) -> Iterator[_FramedTable]:
    """The table in each frame and size that it fits the width of; only the widest frame has the smallest size."""
    for frame in frames:
        yield from _in_frame(measure, frame, SIZES if frame is frames[-1] else SIZES[:-1])


def _in_frame(measure: MeasuredTable, frame: Frame, sizes: Sequence[TextSize]) -> Iterator[_FramedTable]:
    """The table in each size that fits the frame's width: text is wrapped before it is smaller than small."""
    usual = [size for size in sizes if size in (_NORMAL, _SMALL)]
    tried: list[tuple[TextSize, Broken]] = []
    for size in usual:
        tried += [(size, "nothing"), (size, "headings")]
    tried += [(size, "text") for size in usual]
    for size in sizes[len(usual) :]:
        tried += [(size, "nothing"), (size, "headings"), (size, "text")]
    for size, broken in tried:
        table = fitted(measure, size, frame.width, broken)
        if table is not None:
            yield _FramedTable(frame, table)


def _turned(table: TableContent) -> TableContent | None:
    """The table with rows and columns exchanged; None where it has too many rows, or several columns of words."""
    names = [row.cells[0] for row in table.rows]
    if not names or len(names) > _MOST_TURNED or len(table.columns) <= len(names):
        return None
    if any(column.align == "left" for column in table.columns[1:]) or any(name != Cell(name.text) for name in names):
        return None
    columns = [Column(row.cells[0].text, group=row.group) for row in table.rows]
    rows = (
        Row((Cell(column.title), *(row.cells[number] for row in table.rows)), column.group)
        for number, column in enumerate(table.columns)
        if number
    )
    return replace(table, columns=(Column("", "left"), *columns), rows=tuple(rows))


def column_parts(table: TableContent, width: float, *, aligned: bool = False) -> list[FittedTable]:
    """The table in parts of columns that fit a width, each with the columns that name the rows.

    Where names are long they are smaller, broken, or take more than their share of the width, so that no part has rows
    that can't be told apart; columns of words beyond what a page holds are no names.
    """
    tried: list[tuple[TextSize, Broken]] = [(size, "text") for size in (_SMALL, _FOOTNOTE, _SCRIPT)]
    anything: tuple[TextSize, Broken] = (_SCRIPT, "anything")
    names = next((number for number, column in enumerate(table.columns) if column.align != "left"), 1) or 1
    for count in range(names, 0, -1):
        for share, (size, broken) in (*((_NAMES_SHARE, each) for each in tried), *((1.0, each) for each in tried),
                                      (1.0, anything)):  # fmt: skip
            parts = _parts(table, size, width, broken, names=count, share=share, aligned=aligned)
            if parts is not None:
                return parts
    raise AssertionError("a column that may be broken anywhere fits")


def _parts(
    table: TableContent, size: TextSize, width: float, broken: Broken, *, names: int, share: float, aligned: bool
) -> list[FittedTable] | None:
    """The parts in a size; None where the names don't fit their share, or a column doesn't fit beside them."""

    def of_columns(numbers: Iterable[int], room: float = width) -> FittedTable | None:
        return fitted(MeasuredTable(table.of_columns(list(numbers)), aligned=aligned), size, room, broken)

    if names > 1 and of_columns(range(names), width * share) is None:
        return None
    parts: list[FittedTable] = []
    kept: list[int] = []
    for number in range(names, len(table.columns)):
        wider = of_columns([*range(names), *kept, number])
        if wider is not None:
            kept.append(number)
            parts[-1:] = [wider]
            continue
        alone = of_columns([*range(names), number])
        if alone is None:
            return None
        kept = [number]
        parts.append(alone)
    if not parts:
        only = of_columns(range(len(table.columns)))
        return None if only is None else [only]
    return parts


def _paged(blocks: Sequence[FittedTable], table: TableContent, frame: Frame) -> list[PlacedTable]:
    """Blocks of columns in as few floats as hold them; all about as full where rows go on in a further one."""
    room = frame.height - caption_height(table.title, frame)
    pages = _filled(blocks, table.notes, frame, room)
    if not any(page.parts for page in pages[1:]):
        return pages
    low, high = room / 4, room
    for _ in range(10):
        middle = (low + high) / 2
        evener = _filled(blocks, table.notes, frame, middle)
        if len(evener) > len(pages):
            low = middle
        else:
            high, pages = middle, evener
    return pages


class _Filling:
    """Floats being filled from the top."""

    def __init__(self, frame: Frame, room: float) -> None:
        self.pages: list[PlacedTable] = []
        self._frame, self.room = frame, room
        self._parts: list[TablePart] = []
        self._notes: list[str] = []
        self.left = room

    def turn(self) -> None:
        """Begin a new float."""
        if self._parts or self._notes:
            self.pages.append(PlacedTable(self._frame, tuple(self._parts), tuple(self._notes)))
        self._parts, self._notes, self.left = [], [], self.room

    def add_part(self, part: TablePart, height: float) -> None:
        self._parts.append(part)
        self.left -= height + _BETWEEN_PARTS

    def add_note(self, note: str, height: float) -> None:
        self.left -= height + (0.0 if self._notes else _ABOVE_NOTES)
        self._notes.append(note)


def _filled(blocks: Sequence[FittedTable], notes: Sequence[str], frame: Frame, room: float) -> list[PlacedTable]:
    """Floats filled from the top, each to ``room`` points."""
    filling = _Filling(frame, room)
    for block in blocks:
        _fill_rows(filling, block)
    # No part follows the last one.
    filling.left += _BETWEEN_PARTS
    for note in notes:
        left = note_lines(note, frame)
        while left:
            count = max(0, int((filling.left - _ABOVE_NOTES) / _NOTE_LINE))
            if count < min(len(left), _FEWEST):
                filling.turn()
                count = max(1, int((filling.left - _ABOVE_NOTES) / _NOTE_LINE))
            # A note that fits is left as it was, so that its spaces are its own.
            fits = len(left) <= count
            text = note if fits and left == note_lines(note, frame) else " ".join(left[:count])
            filling.add_note(text, min(len(left), count) * _NOTE_LINE)
            left = left[count:]
    filling.turn()
    return filling.pages


def _fill_rows(filling: _Filling, block: FittedTable) -> None:
    """Add a block's rows, beginning a new float wherever one is full."""
    most = max(1, int((filling.room - block.head_height - 3 * block.size.line) / block.size.line))
    rows = [
        (group, part) for group, members in block.table.groups() for row in members for part in _cut(block, row, most)
    ]
    starts = {0, *(number for number in range(1, len(rows)) if rows[number][0] != rows[number - 1][0])}
    heights = [block.row_height(row) for _, row in rows]
    above = [0.0 if group is None else block.group_height(group + CONTINUED) for group, _ in rows]

    def needed(first: int, number: int) -> float:
        return heights[number] + (above[number] if number in starts or number == first else 0.0)

    first = 0
    while first < len(rows) or not rows:
        if first and first not in starts:
            rows[first] = (rows[first][0], _with_keys(block, rows, first))
            heights[first] = block.row_height(rows[first][1])
        fewest = range(first, min(first + _FEWEST, len(rows)))
        height = block.head_height
        if height + sum(needed(first, number) for number in fewest) > filling.left:
            filling.turn()
        last = first
        while last < len(rows) and (last == first or height + needed(first, last) <= filling.left):
            height += needed(first, last)
            last += 1
        filling.add_part(TablePart(block, _runs(rows[first:last], continued=first not in starts)), height)
        if not rows:
            return
        first = last


def _with_keys(block: FittedTable, rows: Sequence[tuple[str | None, Row]], number: int) -> Row:
    """A row with the names that stand once above it, for where it is the first of a page."""
    group, row = rows[number]
    cells = list(row.cells)
    for place, column in enumerate(block.table.columns):
        if column.align != "left" or cells[place].text:
            break
        for above, named in reversed(rows[:number]):
            if above != group or named.cells[place].text:
                cells[place] = named.cells[place] if above == group else cells[place]
                break
    return replace(row, cells=tuple(cells))


def _cut(block: FittedTable, row: Row, most: int) -> list[Row]:
    """A row in rows of at most so many lines: no page holds a higher one."""
    cell_rows = [block.cell_lines(place, cell) for place, cell in enumerate(row.cells)]
    longest = max(map(len, cell_rows), default=1)
    if longest <= most:
        return [row]
    return [
        replace(
            row,
            cells=tuple(
                replace(cell, text=" ".join(cell_lines[first : first + most]), marks="" if first else cell.marks)
                for cell, cell_lines in zip(row.cells, cell_rows, strict=True)
            ),
        )
        for first in range(0, longest, most)
    ]


def _runs(rows: Sequence[tuple[str | None, Row]], *, continued: bool) -> tuple[RowRun, ...]:
    """Rows by heading; the first heading is repeated where its group began before."""
    runs: list[RowRun] = []
    for group, row in rows:
        if runs and runs[-1].heading == group:
            runs[-1] = replace(runs[-1], rows=(*runs[-1].rows, row))
        else:
            runs.append(RowRun(group, continued and not runs, (row,)))
    return tuple(runs)
