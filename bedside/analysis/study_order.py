"""The order in which systems and levels of factors are shown and compared, and how they are called in print."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from bedside.analysis.study_parts import WITHOUT, level_order
from bedside.ratings.suites import Suite


@dataclass(frozen=True, slots=True)
class StudyOrder:
    """The order and the labels that suites give to systems and levels; what none of them lists comes after.

    Attributes:
        systems: the label of each system, in order.
        levels: the label of each level, in order, by factor (or code, such as ``stage``).
    """

    systems: Mapping[str, str] = field(default_factory=dict)
    levels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def ordered_systems(self, systems: Iterable[str]) -> list[str]:
        """Systems in order, each once: those that are listed, then the others by letters."""
        names = set(systems)
        return [*(name for name in self.systems if name in names), *sorted(names - set(self.systems))]

    def ordered_levels(self, factor: str, levels: Iterable[str]) -> list[str]:
        """Levels of a factor in order, each once: those that are listed, then the others as numbers or words go."""
        names = set(levels)
        listed = [level for level in self.levels.get(factor, {}) if level in names and level != WITHOUT]
        return [*listed, *level_order([level for level in names if level not in listed])]

    def system_label(self, system: str) -> str:
        """How a system is called in print."""
        return self.systems.get(system, system)

    def level_label(self, factor: str, level: str) -> str:
        """How a level of a factor is called in print."""
        return self.levels.get(factor, {}).get(level, level)


def study_order(suites: Iterable[Suite]) -> StudyOrder:
    """The order that suites give; of what several of them order, that of the first."""
    systems: Mapping[str, str] = {}
    levels: dict[str, Mapping[str, str]] = {}
    for suite in suites:
        systems = systems or suite.systems
        for factor, labels in suite.levels.items():
            levels.setdefault(factor, labels)
    return StudyOrder(systems, levels)


#: Systems and levels by size and letters, under their own names.
UNLISTED = StudyOrder()
