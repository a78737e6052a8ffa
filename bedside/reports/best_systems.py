"""Which cells of a table of results hold the best system, and which the second best."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bedside.analysis.comparison import means_differ
from bedside.reports.results_layout import CellKey, ResultsLayout
from bedside.reports.results_options import Best
from bedside.reports.samples import MeasureRow, Place, Sample


@dataclass(frozen=True, slots=True)
class BestCells:
    """The cells that are best, and second best, among those that differ only in the system."""

    best: frozenset[CellKey]
    second: frozenset[CellKey]


def best_cells(layout: ResultsLayout, references: Mapping[int, Sample]) -> BestCells:
    """The best and second best cells of a table, as its options say.

    Args:
        layout: the table.
        references: the means of the reference corpus, by position of the item.
    """
    options = layout.options
    apart = [place for place, name in enumerate(options.factors) if name not in options.best_among]
    by_place: dict[tuple[int, tuple[str, ...]], dict[Place, Sample]] = {}
    for (position, place), sample in layout.samples.items():
        stratum = tuple(place[1][factor] for factor in apart)
        by_place.setdefault((position, stratum), {})[place] = sample
    best: set[CellKey] = set()
    second: set[CellKey] = set()
    for (position, _), samples in by_place.items():
        systems = layout.order.ordered_systems(system for system, _ in samples)
        ordered = {
            place: samples[place]
            for place in sorted(samples, key=lambda key: (systems.index(key[0]), key[1]))
        }
        reference = references.get(position)
        best_places, second_places = places_ranked(
            layout.items[position],
            ordered,
            options.best,
            reference.estimate if reference is not None else None,
        )
        best |= {(position, place) for place in best_places}
        second |= {(position, place) for place in second_places}
    return BestCells(frozenset(best), frozenset(second if options.second else ()))


def places_ranked(
    item: MeasureRow, samples: Mapping[Place, Sample], rule: Best, reference: float | None = None
) -> tuple[set[Place], set[Place]]:
    """The places that are best, and second best, by what is printed.

    Args:
        item: what is measured.
        samples: the values of each system, and of each level where the best is looked for over these too.
        reference: the mean of the reference corpus; None where there is none.
        rule: whether the best are ``always`` those with the best number, by ``interval`` those too that no 95 %
            interval of the difference tells from them, or ``never`` any.
    """
    printed = {
        place: round(sample.estimate * item.scale, item.digits)
        for place, sample in samples.items()
        if sample.estimate is not None
    }
    if item.nearest and reference is not None:
        near = round(reference * item.scale, item.digits)
        printed = {place: round(abs(number - near), item.digits) for place, number in printed.items()}
    undirected = item.direction == "none" and (not item.nearest or reference is None)
    if rule == "never" or undirected or len(set(printed.values())) < 2:
        return set(), set()
    choose = max if item.direction == "higher" else min
    if item.nearest or item.measure.compared or item.level == "count":
        # The distance of two distances has no interval here.
        rule = "always"
    best_number = choose(printed.values())
    first = next(place for place, number in printed.items() if number == best_number)
    best = {place for place, number in printed.items() if number == best_number}
    if rule == "interval":
        best |= {
            place
            for place in printed
            if place not in best and not means_differ(samples[first], samples[place])
        }
        if len(best) == len(printed):
            return set(), set()
    other_numbers = [number for place, number in printed.items() if place not in best]
    if len(printed) < 3 or not other_numbers:
        return best, set()
    second_number = choose(other_numbers)
    return best, {place for place, number in printed.items() if place not in best and number == second_number}
