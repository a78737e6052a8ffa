"""Which cells of a table of results hold the best system, and which the second best."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bedside.analysis.comparison import means_differ
from bedside.reports.results_layout import CellKey, ResultsLayout
from bedside.reports.results_options import Best
from bedside.reports.samples import MeasureRow, Sample


@dataclass(frozen=True, slots=True)
class BestCells:
    """The cells that are best, and second best, among those that differ only in the system."""

    best: frozenset[CellKey]
    second: frozenset[CellKey]


def best_cells(layout: ResultsLayout) -> BestCells:
    """The best and second best cells of a table, as its options say."""
    by_system: dict[tuple[int, tuple[str, ...]], dict[str, Sample]] = {}
    for (position, (system, stratum)), sample in layout.samples.items():
        by_system.setdefault((position, stratum), {})[system] = sample
    best: set[CellKey] = set()
    second: set[CellKey] = set()
    for (position, stratum), samples in by_system.items():
        ordered = {system: samples[system] for system in sorted(samples)}
        best_systems, second_systems = systems_ranked(layout.items[position], ordered, layout.options.best)
        best |= {(position, (system, stratum)) for system in best_systems}
        second |= {(position, (system, stratum)) for system in second_systems}
    return BestCells(frozenset(best), frozenset(second))


def systems_ranked(item: MeasureRow, samples: Mapping[str, Sample], rule: Best) -> tuple[set[str], set[str]]:
    """The systems that are best, and second best, by what is printed.

    Args:
        item: what is measured.
        samples: the values of each system.
        rule: whether the best are ``always`` those with the best number, by ``interval`` those too that no 95 %
            interval of the difference tells from them, or ``never`` any.
    """
    printed = {
        system: round(sample.estimate * item.scale, item.digits)
        for system, sample in samples.items()
        if sample.estimate is not None
    }
    if rule == "never" or item.direction == "none" or len(set(printed.values())) < 2:
        return set(), set()
    choose = max if item.direction == "higher" else min
    best_number = choose(printed.values())
    first = next(system for system, number in printed.items() if number == best_number)
    best = {system for system, number in printed.items() if number == best_number}
    if rule == "interval":
        best |= {
            system
            for system in printed
            if system not in best and not means_differ(samples[first], samples[system])
        }
        if len(best) == len(printed):
            return set(), set()
    other_numbers = [number for system, number in printed.items() if system not in best]
    if len(printed) < 3 or not other_numbers:
        return best, set()
    second_number = choose(other_numbers)
    return best, {
        system for system, number in printed.items() if system not in best and number == second_number
    }
