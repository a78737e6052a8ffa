"""The numbers that the sources of shipped suites printed: facts, each with its table or figure."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

#: Parts the levels of a number's conditions in the files.
_BETWEEN_LEVELS = " | "


@dataclass(frozen=True, slots=True)
class PublishedNumber:
    """One number as a source printed it.

    Attributes:
        paper: the source.
        place: its table or figure, such as ``Table 2``; ``text`` of what stands in running text alone.
        measure: as the source calls it.
        system: as the source calls it; empty where the number is of none.
        levels: the levels of factors that it is of, or what else it is of.
        text: as printed, decimals and all, but for a plus sign and a bound.
        sd: its standard deviation, where the source prints one.
        unit, note: what it is in, and what else is to be known of it.
    """

    paper: str
    place: str
    measure: str
    system: str
    levels: tuple[str, ...]
    text: str
    sd: str
    unit: str
    note: str

    @property
    def value(self) -> float:
        """The number."""
        return float(self.text)

    @property
    def bound(self) -> str:
        """``<`` or ``>`` where the source prints no number but what it is below or above; else empty."""
        if self.note.startswith("less than") or "printed as p <" in self.note:
            return "<"
        return ">" if "printed as over" in self.note else ""

    @property
    def printed(self) -> str:
        """The number as printed: with its bound, its standard deviation in brackets, and a true minus sign."""
        spread = f" ({self.sd})" if self.sd else ""
        return f"{self.bound}{self.text}{spread}".replace("-", "−")

    def __str__(self) -> str:
        named = ", ".join(filter(None, (self.measure, self.system, *self.levels)))
        return (
            f"{named} {self.bound} {self.printed.removeprefix(self.bound)}" if self.bound else f"{named} {self.printed}"
        )


@cache
def published_numbers(suite: str) -> tuple[PublishedNumber, ...]:
    """The numbers that the source of a shipped suite printed, in its order; none of any other suite."""
    file = files("bedside.ratings.suites.published") / f"{suite}.csv"
    if not file.is_file():
        return ()
    return tuple(
        PublishedNumber(
            paper=row["paper"],
            place=row["place"],
            measure=row["measure"],
            system=row["system"],
            levels=tuple(level for level in row["levels"].split(_BETWEEN_LEVELS) if level),
            text=row["value"],
            sd=row["sd"],
            unit=row["unit"],
            note=row["note"],
        )
        for row in csv.DictReader(file.read_text("utf-8").splitlines())
    )
