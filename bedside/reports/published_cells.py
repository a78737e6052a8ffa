"""Where the numbers that a suite's source printed stand in a table of results."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from bedside.analysis.ratings_view import ALL
from bedside.analysis.study_order import StudyOrder
from bedside.core.plurals import counted
from bedside.ratings.suites.published_numbers import PublishedNumber
from bedside.reports.results_options import SYSTEM, ResultsOptions
from bedside.reports.samples import MeasureRow, Place

#: Numbers without a place that a note names one by one.
_MOST = 6


@dataclass(frozen=True, slots=True)
class PublishedCells:
    """Printed numbers by where they stand.

    Attributes:
        cells: by position of the measure, and place.
        references: those of the source's reference corpus, by position of the measure.
        elsewhere: those that have no place in the table.
    """

    cells: Mapping[tuple[int, Place], PublishedNumber] = field(default_factory=dict)
    references: Mapping[int, PublishedNumber] = field(default_factory=dict)
    elsewhere: tuple[PublishedNumber, ...] = ()

    def notes(self) -> list[str]:
        """How many printed numbers the table can't show, and which."""
        if not self.elsewhere:
            return []
        named = "; ".join(map(str, self.elsewhere[:_MOST]))
        more = f"; and {len(self.elsewhere) - _MOST} more" if len(self.elsewhere) > _MOST else ""
        every = len({*self.cells.values(), *self.references.values(), *self.elsewhere})
        return [
            f"{len(self.elsewhere):,} of {counted(every, 'printed number')} stand nowhere above, for this run has "
            f"nothing of their measure or condition: {named}{more}."
        ]


def published_cells(
    items: Sequence[MeasureRow],
    places: Collection[Place],
    options: ResultsOptions,
    order: StudyOrder,
) -> PublishedCells:
    """Where each printed number stands: by the titles of measures, and the names or labels of systems and levels.

    Args:
        items: what the table measures.
        places: the systems and strata that have values.
        options: what the table shows, with the printed numbers.
        order: of systems and levels, with their labels.
    """
    positions: dict[str, list[int]] = {}
    for place, item in enumerate(items):
        positions.setdefault(_key(item.measure.title or item.title), []).append(place)
    dimensions = (*options.rows, *options.columns)
    present = order.ordered_systems(name for name, _ in places)
    listed = [name for name in order.systems if name not in present]
    systems = _by_label({name: order.system_label(name) for name in (*listed, *present)})
    levels = [_levels_of(name, place, places, order) for place, name in enumerate(options.factors)]
    cells: dict[tuple[int, Place], PublishedNumber] = {}
    references: dict[int, PublishedNumber] = {}
    elsewhere: list[PublishedNumber] = []
    for number in options.published:
        of_measure = positions.get(_key(number.measure), [])
        if of_measure and options.reference is not None and number.system == options.reference:
            references.update(dict.fromkeys(of_measure, number))
            continue
        system = systems.get(_key(number.system)) if SYSTEM in dimensions else ALL
        stratum = _stratum(number.levels, levels)
        if stratum is None:
            stratum = _only_stratum(number, system, places, options, order)
        if stratum is None:
            stratum = _shorter_stratum(number.levels, levels)
        if not of_measure or system is None or stratum is None:
            elsewhere.append(number)
            continue
        cells.update({(position, (system, stratum)): number for position in of_measure})
    return PublishedCells(cells, references, tuple(elsewhere))


def _stratum(printed: Sequence[str], levels: Sequence[Mapping[str, str]]) -> tuple[str, ...] | None:
    """The level of each factor that a printed number is of; None where one is not among those known."""
    if len(printed) != len(levels):
        return None
    stratum = []
    rest = [_key(level) for level in printed]
    for names in levels:
        level = next((level for level in rest if level in names), None)
        if level is None:
            return None
        rest.remove(level)
        stratum.append(names[level])
    return tuple(stratum)


def _shorter_stratum(printed: Sequence[str], levels: Sequence[Mapping[str, str]]) -> tuple[str, ...] | None:
    """The levels of a number that names fewer factors than the table has: of the others an empty one."""
    rest = [_key(level) for level in printed]
    stratum = []
    for names in levels:
        level = next((level for level in rest if level in names), None)
        if level is not None:
            rest.remove(level)
        stratum.append("" if level is None else names[level])
    return None if rest or len(printed) >= len(levels) else tuple(stratum)


def _levels_of(factor: str, position: int, places: Collection[Place], order: StudyOrder) -> dict[str, str]:
    """The levels of a factor by how they or their labels are written."""
    present = sorted({stratum[position] for _, stratum in places})
    listed = [level for level in order.levels.get(factor, {}) if level not in present]
    # Of several levels under one label the last is taken: one that has values.
    return _by_label({level: order.level_label(factor, level) for level in (*listed, *present)})


def _only_stratum(
    number: PublishedNumber,
    system: str | None,
    places: Collection[Place],
    options: ResultsOptions,
    order: StudyOrder,
) -> tuple[str, ...] | None:
    """The only stratum of a system that has all levels of a printed number; None where there are none, or several."""
    printed = {_key(level) for level in number.levels}
    fitting = []
    for name, stratum in places:
        known: set[str] = set()
        for factor, level in zip(options.factors, stratum, strict=True):
            known |= {_key(level), _key(order.level_label(factor, level))}
        if name == system and printed <= known:
            fitting.append(stratum)
    return fitting[0] if len(fitting) == 1 else None


def _by_label(labels: Mapping[str, str]) -> dict[str, str]:
    """Names by how they or their labels are written, whatever the case of letters; of several the last."""
    return {_key(text): name for name, label in labels.items() for text in (name, label)}


def _key(name: str) -> str:
    return " ".join(name.casefold().split())
