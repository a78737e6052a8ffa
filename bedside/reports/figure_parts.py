"""What figures are laid out from: styles, grids of panels, names in lines, legends, axes that panels share."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from bedside.core.words import visible_line
from bedside.ratings.values import Direction
from bedside.reports.number_text import ARROWS

#: After Okabe and Ito, told apart by colour-blind readers, the first four in grey too; then markers and dashes tell
#: them apart.
COLOURS = ("#0b4f8a", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#000000", "#F0E442")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)), (0, (7, 2, 1, 2)))
#: Of a letter and of a line of text, in inches, at nine points.
_LETTER, _LINE = 0.082, 0.165
#: More lines with their intervals than these can't be told apart in one panel.
MOST_LINES = 7
#: Letters in a line of a system's name beside or below panels.
NAME_WIDTH = 28
#: A word that fits no line is broken after these rather than elsewhere.
_BREAKS = re.compile(r"(?<=[/_\-.:·,|@])(?=.)")


@dataclass(frozen=True, slots=True)
class Style:
    """What one system is drawn with."""

    colour: str
    marker: str
    dash: Any


def style(position: int) -> Style:
    """The style of the system at a position: 64 differ in colour and marker, as in colour and dash."""
    colour = position % len(COLOURS)
    other = (position + position // len(COLOURS)) % len(MARKERS)
    return Style(COLOURS[colour], MARKERS[other], DASHES[other])


def paper() -> float:
    """How wide a figure may be that is drawn now, in inches."""
    from matplotlib import rcParams

    return float(rcParams["figure.figsize"][0])


def new_figure(width: float, height: float) -> Any:
    """An empty matplotlib figure, sizes in inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height))


def panels(
    count: int, width: float, height: float, *, beside: float = 0.0, most_columns: int = 3, stretch: float = 1.0
) -> tuple[Any, list[Any]]:
    """A figure of that many panels, in as many rows as it takes, and their axes.

    Args:
        count: how many.
        width, height: of one panel, in inches.
        beside: what stands to the left of the first column, in inches.
        most_columns: panels in a row; fewer where they would be wider than a page, or the last row much shorter.
        stretch: how many times as wide a panel may be where there is room.
    """
    room = paper() - beside
    columns = max(1, min(most_columns, count, int(room // width)))
    rows = -(-count // columns)
    columns = -(-count // rows)
    width = min(stretch * width, room / columns)
    figure = new_figure(width * columns + beside, height * rows + 0.2)
    axes = list(figure.subplots(rows, columns, squeeze=False).ravel())
    for axis in axes[count:]:
        axis.set_visible(False)
    return figure, axes[:count]


def groups_of(items: Sequence[Any], most: int) -> list[Sequence[Any]]:
    """Items in groups of like size, none larger than ``most``; one, empty, of no items."""
    count = max(1, -(-len(items) // most))
    each = max(1, -(-len(items) // count))
    return [items[begin : begin + each] for begin in range(0, max(1, len(items)), each)]


def in_first_column(axis: Any) -> bool:
    """Whether a panel is the first of its row."""
    return bool(axis.get_subplotspec().is_first_col())


def tiles(axis: Any, grid: Any, **colours: Any) -> Any:
    """A grid of coloured tiles, the first row on top, drawn as shapes and not as an image."""
    rows, columns = grid.shape
    mesh = axis.pcolormesh(
        [place - 0.5 for place in range(columns + 1)], [place - 0.5 for place in range(rows + 1)], grid, **colours
    )
    axis.set_ylim(rows - 0.5, -0.5)
    return mesh


def letters(text: str) -> int:
    """How many letters wide a text is; those of East Asian scripts count as two."""
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def lines_of(name: str, width: int = NAME_WIDTH) -> list[str]:
    """A name, all of it, in lines of at most so many letters: broken at blanks, long words after a dash or the like."""
    lines = [""]
    for word in re.split(" +", visible_line(name.strip())):
        if letters(word) <= width:
            pieces = [word]
        else:
            pieces = [part for piece in _BREAKS.split(word) for part in _cut(piece, width)]
        for place, piece in enumerate(pieces):
            gap = " " if lines[-1] and not place else ""
            if lines[-1] and letters(lines[-1] + gap + piece) > width:
                lines.append(piece)
            else:
                lines[-1] += gap + piece
    return lines


def _cut(piece: str, width: int) -> list[str]:
    """A piece of a word in parts that each fit a line."""
    parts = []
    while letters(piece) > width:
        end = next(place for place in range(len(piece), 0, -1) if letters(piece[:place]) <= width)
        parts.append(piece[:end])
        piece = piece[end:]
    return [*parts, piece]


def with_arrow(title: str, direction: Direction) -> str:
    """A title with the arrow of its better direction, which no line begins with."""
    return title + ARROWS[direction].replace(" ", "\N{NO-BREAK SPACE}")


def _beside(width: int) -> int:
    """Letters in a line of a name beside a panel, fewer on narrow paper."""
    return min(width, int(0.4 * paper() / _LETTER))


def wrapped(title: str, width: int = 30) -> str:
    """A title in lines that fit a panel."""
    return "\n".join(lines_of(title, max(8, width)))


def width_of_names(names: Iterable[str], width: int = NAME_WIDTH) -> float:
    """How wide names in lines are, in inches."""
    width = _beside(width)
    return 0.15 + _LETTER * max((letters(line) for name in names for line in lines_of(name, width)), default=0)


def height_of_names(names: Iterable[str], width: int = NAME_WIDTH) -> float:
    """How high the highest of names in lines is, in inches."""
    return 0.04 + _LINE * max((len(lines_of(name, _beside(width))) for name in names), default=1)


def name_rows(axis: Any, names: Sequence[str], width: int = NAME_WIDTH, *, shown: bool = True) -> None:
    """Names in lines beside the rows of a panel, the first on top; no names where they stand beside another panel."""
    lines = [wrapped(name, _beside(width)) if shown else "" for name in names]
    axis.set_yticks(range(len(names)), lines)
    axis.tick_params(axis="y", length=0)
    axis.set_ylim(len(names) - 0.5, -0.5)


def share_axis(axes: Sequence[Any], keys: Sequence[Hashable | None], which: str = "y") -> None:
    """Panels of one key have one axis that holds what each shows; those without a key have their own.

    Args:
        axes: the panels.
        keys: of each panel, what its values are measured on; None for what nothing else is measured on.
        which: ``x`` or ``y``.
    """
    for key in dict.fromkeys(key for key in keys if key is not None):
        members = [axis for axis, own in zip(axes, keys, strict=True) if own == key]
        ends = [getattr(axis, f"get_{which}lim")() for axis in members]
        limits = min(low for low, _ in ends), max(high for _, high in ends)
        for axis in members:
            getattr(axis, f"set_{which}lim")(*limits)


def across_note(against: str | None, systems: Collection[str]) -> tuple[str, ...]:
    """What the dotted line of a system that others are held against is, where it is among them."""
    return (f"Dotted across: the mean of {against}.",) if against in systems else ()


def interval_mark(
    axis: Any, value: float, at: float, ends: Sequence[float] | None, look: Style, label: str | None = None
) -> None:
    """A value in a row, at ``at`` of the panel, with its interval; labelled where no mark of the label is there yet."""
    if ends is not None:
        axis.plot(ends, [at] * 2, color=look.colour, linewidth=2.2, solid_capstyle="round")
    unknown = label not in axis.get_legend_handles_labels()[1]
    axis.plot(value, at, look.marker, color=look.colour, markersize=7, markeredgecolor="white",
              label=label if unknown else None, clip_on=False, zorder=3)  # fmt: skip


def value_beside(axis: Any, text: str, at: float) -> None:
    """What a row's mark is in figures, to the right of the panel."""
    axis.text(1.02, at, text, transform=axis.get_yaxis_transform(), va="center", fontsize=8)


def spread_note(lines: Sequence[Any]) -> tuple[str, ...]:
    """What is said where lines are too many for one panel."""
    if len(lines) <= MOST_LINES:
        return ()
    return (f"No panel has more than {MOST_LINES} lines; those of one metric have one axis.",)


def legend_below(figure: Any, axes: Sequence[Any], most_columns: int = 4) -> None:
    """One legend for all panels, below them, in as many rows as it takes; the figure grows by its height.

    Names stand whole, in lines. A lone name has no legend.
    """
    handles: dict[str, Any] = {}
    for axis in axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    if len(handles) < 2:
        return
    width, height = figure.get_size_inches()
    of_name = min(NAME_WIDTH, max(8, int((width - 0.7) / _LETTER)))
    labels = [wrapped(name, of_name) for name in handles]
    column = width_of_names(handles, of_name) + 0.55
    columns = max(1, min(most_columns, len(labels), int(width // column)))
    rows = -(-len(labels) // columns)
    lines = max(label.count("\n") + 1 for label in labels)
    figure.set_size_inches(width, height + 0.15 + rows * (_LINE * lines + 0.06))
    figure.legend(
        list(handles.values()), labels, loc="outside lower center", ncols=columns, frameon=False,
        handlelength=2.6, handleheight=1.2,
    )  # fmt: skip
