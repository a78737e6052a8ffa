"""A figure somebody printed, and the same one by bedside; what is printed and can't be recomputed, with the reason."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType

#: How a printed figure stands.
DATA, PRINTED, NOT_POSSIBLE = "from data", "from printed numbers", "not possible"
AGAIN, NO_RESULT = "printed again", "no result"
STATUSES = (DATA, PRINTED, NOT_POSSIBLE, AGAIN, NO_RESULT)
Number = float | str | None


@dataclass(frozen=True, slots=True)
class Figure:
    """One printed figure that bedside recomputes.

    Attributes:
        table: where it is printed: the number of a table, or ``text``.
        row, column, group: which of its numbers it is.
        published: as printed, a number, a bound such as ``<0.05``, or a word; empty where nothing is printed.
        ours: the number or word that bedside gives; None where the data are not at hand.
        status: from data, or from other printed numbers.
        why: where they differ, the reason.
        part: what of the cell it is, such as ``SD``, where not its number.
    """

    table: str
    row: str
    column: str
    group: str
    published: str
    ours: Number
    status: str = PRINTED
    why: str = ""
    part: str = ""

    @property
    def where(self) -> str:
        """Where it is printed, in words."""
        place = "text" if self.table == "text" else f"Table {self.table}"
        return ", ".join(filter(None, (place if self.table else "", self.group, self.row, self.column, self.part)))

    @property
    def shown(self) -> str:
        """Ours, to as many decimals as the published figure has; a dash where the data are not at hand."""
        if self.ours is None or isinstance(self.ours, str):
            return self.ours or "–"
        printed = self.published.lstrip("<>")
        text = f"{self.ours:.{len(printed.partition('.')[2]) if printed else 2}f}"
        text = text.replace("0.", ".", 1) if printed.lstrip("-")[:1] == "." else text
        return f"+{text}" if printed.startswith("+") and self.ours > 0 else text

    @property
    def agrees(self) -> bool:
        """Whether ours, rounded as the published figure is, is the published one, or within its bound."""
        if isinstance(self.ours, float | int) and self.published[:1] in {"<", ">"}:
            bound = float(self.published[1:])
            return self.ours < bound if self.published[0] == "<" else self.ours > bound
        return self.shown == self.published or not self.published


@dataclass(frozen=True, slots=True)
class Rest:
    """Printed figures that nobody can recompute from what is published, or that need not be.

    Attributes:
        table: where they are printed.
        count: how many.
        what: what they are.
        why: the reason.
        status: not possible, printed again, or no result of an evaluation.
    """

    table: str
    count: int
    what: str
    why: str
    status: str = NOT_POSSIBLE


def counts(figures: Sequence[Figure], rests: Sequence[Rest]) -> dict[str, int]:
    """How many figures have each status."""
    return {
        status: sum(one.status == status for one in figures) + sum(one.count for one in rests if one.status == status)
        for status in STATUSES
    }


def _lines(figures: Sequence[Figure]) -> Iterator[str]:
    yield "| printed in | published | bedside | status | where they differ |"
    yield "| --- | ---: | ---: | --- | --- |"
    for one in figures:
        # A bar parts a trait from a model in one paper's rows.
        cells = (one.where.replace(" | ", ", "), one.published or "–", one.shown, one.status)
        why = "the data are not at hand" if one.ours is None else "" if one.agrees else one.why
        yield f"| {' | '.join(cells)} | {why} |"


def section(source: ModuleType, figures: Sequence[Figure], rests: Sequence[Rest]) -> str:
    """A source's figures as Markdown."""
    parts = [f"## {(source.__doc__ or '').splitlines()[0].rstrip('.')}", source.SOURCE, "\n".join(_lines(figures))]
    if rests:
        lines = ["| printed in | figures | what | status |", "| --- | ---: | --- | --- |"]
        for one in rests:
            place = "text" if one.table == "text" else f"Table {one.table}"
            reason = f", because {one.why}" if one.status == NOT_POSSIBLE else f": {one.why}"
            lines.append(f"| {place} | {one.count} | {one.what} | *{one.status}*{reason} |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"
