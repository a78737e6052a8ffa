"""What a scoring computes: metric families, the metrics of each, and their parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from bedside.core.errors import RegistryError
from bedside.core.registry import nearest
from bedside.judges.deepeval_raters.catalogue import is_deepeval
from bedside.metrics import FAMILIES, Family, Metric
from bedside.ratings.suites import Suite


@dataclass(frozen=True)
class PlannedFamily:
    """What a family is to compute.

    Attributes:
        family: the family.
        metrics: names of those of its metrics that are wanted.
        settings: all its parameters.
    """

    family: Family
    metrics: frozenset[str]
    settings: dict[str, Any]

    @cached_property
    def rater(self) -> str:
        """The rater that the family is with these parameters."""
        return self.family.rater(self.settings)


@dataclass(frozen=True, slots=True)
class ScoringPlan:
    """What is to be computed.

    Attributes:
        families: in the order in which they are computed.
    """

    families: tuple[PlannedFamily, ...]

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The metrics, in order."""
        return tuple(
            metric
            for planned in self.families
            for metric in planned.family.metrics
            if metric.name in planned.metrics
        )

    @property
    def settings(self) -> dict[str, dict[str, Any]]:
        """All parameters, by family."""
        return {planned.family.name: planned.settings for planned in self.families}


def families_by_metric() -> dict[str, str]:
    """The name of every metric's family, by the metric's name."""
    return {metric.name: family.name for family in FAMILIES.all().values() for metric in family.metrics}


def make_plan(names: Iterable[str], parameters: Mapping[str, Mapping[str, Any]] | None = None) -> ScoringPlan:
    """The plan for families and metrics named in ``names``.

    Args:
        names: of families (all their metrics) and of single metrics.
        parameters: by family, those that differ from the family's own.

    Raises:
        RegistryError: a name or parameter is unknown; the nearest are given.
    """
    families = FAMILIES.names()
    wanted: dict[str, set[str]] = {}
    owners: dict[str, str] | None = None
    for name in names:
        if name in families:
            wanted.setdefault(name, set()).update(metric.name for metric in FAMILIES.load(name).metrics)
            continue
        if owners is None:
            owners = families_by_metric()
        if is_deepeval(name):
            raise RegistryError(
                f"{name} asks a language model, and no judge is named",
                todo="give it to bedside.judge, which takes a judge",
            )
        if name not in owners:
            raise RegistryError(
                f"no metric or family is called {name!r}", todo=nearest(name, [*owners, *families])
            )
        wanted.setdefault(owners[name], set()).add(name)
    by_family = dict(parameters or {})
    for name in by_family:
        if name not in wanted:
            raise RegistryError(
                f"parameters are given for {name!r}, which is not scored", todo=nearest(name, wanted)
            )
    return ScoringPlan(
        tuple(
            PlannedFamily(
                FAMILIES.load(name),
                frozenset(metrics),
                FAMILIES.load(name).settings(by_family.get(name)),
            )
            for name, metrics in wanted.items()
        )
    )


def suite_plan(
    suite: Suite,
    metrics: Iterable[str] | None,
    parameters: Mapping[str, Mapping[str, Any]] | None,
) -> ScoringPlan:
    """The plan for a suite.

    Args:
        suite: names metrics, and parameters of their families.
        metrics: families and metrics in place of the suite's, whose parameters don't hold then.
        parameters: parameters of families, over the suite's.

    Raises:
        RegistryError: a name or parameter is unknown; the nearest are given.
    """
    merged: dict[str, dict[str, Any]] = {}
    for part in (suite.parameters if metrics is None else {}, parameters or {}):
        for family, values in part.items():
            merged.setdefault(family, {}).update(values)
    return make_plan(suite.metrics if metrics is None else metrics, merged)
