"""Drift: how ratings change from the shortest to the longest length condition of a study, paired by case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, product
from types import MappingProxyType

import numpy as np
import polars as pl

from bedside.analysis.case_values import means_within
from bedside.analysis.choices import ChangeOf
from bedside.analysis.metric_facts import MetricFacts, MetricRatings
from bedside.analysis.ratings_view import ALL, RatingsView
from bedside.analysis.selection import (
    NothingError,
    by_raters,
    quality_metrics,
    rated_groups,
    system_values,
    systems_or_all,
)
from bedside.analysis.study_parts import checked_factor
from bedside.core.errors import DataError, one_of
from bedside.ratings.names import is_algorithm
from bedside.stats.result import Result


@dataclass(frozen=True, slots=True)
class Change(MetricRatings):
    """One metric of one system under one group of raters, from the shortest to the longest condition.

    Attributes:
        facts, raters, system: what changed, by whom it was rated.
        change: in per cent, paired by case, with its interval by t; its details hold both means. Its p is a
            paired t test's, corrected by Holm over all.
        shared: cases with a value in both conditions.
        alone_shortest, alone_longest: cases that have only one of the conditions, or whose value is missing in the
            other.
    """

    raters: str
    system: str
    change: Result
    shared: int
    alone_shortest: int
    alone_longest: int

    @property
    def without(self) -> int:
        """Pairs whose value at the shortest isn't above zero, and which so have no change of their own in per cent."""
        return int(self.change.details.get("without") or 0)

    @property
    def cases(self) -> int:
        """Cases in the change, of which each may have several pairs."""
        return int(self.change.details.get("clusters") or self.change.n)

    @property
    def signed(self) -> float | None:
        """The change, negative where it is for the worse; as it is where neither way is better."""
        estimate = self.change.estimate
        return -estimate if self.facts.direction == "lower" and estimate is not None else estimate


@dataclass(frozen=True, slots=True)
class MeanChange:
    """A system's changes taken together.

    Attributes:
        system: the system.
        raters: ``algorithms``, :data:`~bedside.analysis.ratings_view.PEOPLE` or a judge; ``all`` for all of them.
        mean: of the absolute changes in per cent; None where no change is defined.
        signed: of the changes, each negative where it is for the worse.
        n: number of changes in both.
        undefined: changes that can't be computed.
        level: what the metrics have in common; empty for all of them.
    """

    system: str
    raters: str
    mean: float | None
    signed: float | None
    n: int
    undefined: int
    level: str = ""


@dataclass(frozen=True, slots=True)
class Drift:
    """What :func:`drift` found.

    Attributes:
        by: the factor that holds the length.
        shortest, longest: the two conditions.
        between: conditions between them, which are left out.
        changes: one by one.
        means: of changes, by system and kind of raters.
        without: number of transcripts that the factor says nothing of.
        of: whether a change is one of the means, or the mean of the pairs' own changes.
    """

    by: str
    shortest: float
    longest: float
    between: tuple[float, ...]
    changes: tuple[Change, ...]
    means: tuple[MeanChange, ...]
    without: int
    of: ChangeOf = "means"


def drift(
    view: RatingsView,
    by: str,
    *,
    lengths: tuple[float, float] | None = None,
    change: ChangeOf = "means",
    systems: Sequence[str] | None = None,
    metrics: Sequence[str] | None = None,
    together: Mapping[str, Sequence[str]] = MappingProxyType({}),
    raters: Sequence[str] | None = None,
) -> Drift:
    """Percentage change of each metric from the shortest to the longest length condition, paired by case.

    Only cases with a value in both conditions count.

    Args:
        view: the ratings of a run.
        by: the factor that holds the length condition, such as ``target_length``.
        lengths: the two conditions; the least and the greatest unless given.
        change: ``means``: the change of the mean in per cent of the mean at the shortest, over cases with the mean of
            their transcripts; ``pairs``: the mean over all pairs of a short and a long transcript of a case of the
            pair's own change in per cent, which a pair lacks whose value at the shortest isn't above zero.
        systems: the systems; all unless named.
        metrics: metrics or patterns; unless named, those for which higher or lower is better and those that people
            or judges rated.
        together: further metrics by name, each the mean of several within each transcript that has all.
        raters: raters or patterns such as ``human:*``; all unless named.

    Raises:
        DataError: no such factor, a condition that is no number, fewer than two of them, or nothing to compare.
    """
    from bedside.stats.families import family

    one_of(change, ("means", "pairs"), "reading", DataError, where="`change`")
    view = by_raters(view, raters)
    chosen = systems_or_all(view, systems)
    condition, without = _conditions(view, by)
    names = [*(quality_metrics(view) if metrics is None else view.metrics(metrics)), *together]
    values = system_values(view, {*names, *chain(*together.values())}, chosen)
    means = [means_within(values, parts).with_columns(metric=pl.lit(name)) for name, parts in together.items()]
    values = pl.concat([values, *means], how="diagonal").filter(pl.col("metric").is_in(names))
    values = values.join(condition, on="transcript_id")
    conditions = sorted(values["length"].unique())
    shortest, longest = _two_conditions(by, conditions, lengths, view.name)
    changes = [
        _change(
            view.facts(metric), raters=group, system=system, table=table, lengths=(shortest, longest), of=change,
        )
        for metric, group, system, table in rated_groups(view, values, names)
    ]  # fmt: skip
    if not changes:
        raise NothingError("no metric to follow has a value", where=view.name, todo="name some with `metrics`")
    tested = family([each.change for each in changes], "changes from the shortest to the longest", method="holm")
    changes = [replace(each, change=result) for each, result in zip(changes, tested, strict=True)]
    between = tuple(length for length in conditions if shortest < length < longest)
    return Drift(
        by=by, shortest=shortest, longest=longest, between=between, changes=tuple(changes), means=mean_changes(changes),
        without=without, of=change,
    )  # fmt: skip


def _conditions(view: RatingsView, by: str) -> tuple[pl.DataFrame, int]:
    """The length condition of each transcript that has one, and how many have none."""
    factors = checked_factor(view.factors, by, view.name, NothingError)
    rows = factors.select("transcript_id", by).drop_nulls()
    lengths = []
    for name, text in rows.iter_rows():
        try:
            lengths.append(float(text))
        except ValueError:
            lengths.append(float("nan"))
        if not np.isfinite(lengths[-1]):
            raise DataError(
                f"{by} of transcript {name!r} is {text!r}, which is no number", where=view.name,
                todo="name a factor of numbers with `by`",
            )  # fmt: skip
    return rows.select("transcript_id", length=pl.Series(lengths, dtype=pl.Float64())), factors.height - rows.height


def _two_conditions(
    by: str, conditions: Sequence[float], lengths: tuple[float, float] | None, where: str
) -> tuple[float, float]:
    """The shortest and the longest condition, or those that are asked for."""
    if len(conditions) < 2:
        only = f"every transcript has {by} {conditions[0]:g}" if conditions else f"no rated transcript has {by}"
        raise NothingError(f"{only}: a change needs two lengths", where=where, todo="name another factor with `by`")
    if lengths is None:
        return conditions[0], conditions[-1]
    for length in lengths:
        if length not in conditions:
            todo = "there are " + ", ".join(f"{condition:g}" for condition in conditions)
            raise NothingError(f"no transcript has {by} {length:g}", where=where, todo=todo)
    if lengths[0] >= lengths[1]:
        raise DataError(f"{lengths[0]:g} is not shorter than {lengths[1]:g}", where=where, todo="swap them")
    return lengths


def _change(
    facts: MetricFacts, *, raters: str, system: str, table: pl.DataFrame, lengths: tuple[float, float], of: ChangeOf
) -> Change:
    from bedside.stats import paired
    from bedside.stats.change import mean_percentage_change, percentage_change

    present = table.drop_nulls(["value", "case_id"])
    # The values of each case's transcripts at either length, in order of size.
    at_shortest, at_longest = (
        dict(present.filter(length=length).group_by("case_id").agg(pl.col("value").sort()).iter_rows())
        for length in lengths
    )
    shared = sorted(at_shortest.keys() & at_longest.keys())
    if of == "pairs":
        paired_values = [(*pair, case) for case in shared for pair in product(at_shortest[case], at_longest[case])]
        columns = zip(*paired_values, strict=True) if shared else ((), (), ())
        before, after, members = map(list, columns)
        clusters = members if len(members) > len(shared) else None
        result = mean_percentage_change(before, after, clusters=clusters)
    else:
        before, after = ([float(np.mean(values[case])) for case in shared] for values in (at_shortest, at_longest))
        result = percentage_change(before, after)
        result = replace(result, p=paired.t_test(after, before).p)
    if not shared:
        result = replace(result, missing=_why_unpaired(table, lengths))
    return Change(
        facts=facts, raters=raters, system=system, change=result, shared=len(shared),
        alone_shortest=len(at_shortest) - len(shared), alone_longest=len(at_longest) - len(shared),
    )  # fmt: skip


def _why_unpaired(table: pl.DataFrame, lengths: tuple[float, float]) -> str:
    present = table.drop_nulls("value")
    for length in lengths:
        if present.filter(pl.col("length") == length).is_empty():
            return f"no value at length {length:g}"
    if present["case_id"].null_count() == present.height:
        return "the transcripts don't name their case, by which lengths are paired"
    return "no case has a value at both lengths"


def mean_changes(changes: Sequence[Change], level: str = "", *, by_raters: bool = True) -> tuple[MeanChange, ...]:
    """The mean changes of each system, absolute and signed, by kind of raters and for all of them."""
    means = []
    for system in dict.fromkeys(change.system for change in changes):
        of_system = [change for change in changes if change.system == system]
        kinds = list(dict.fromkeys(_kind(change.raters) for change in of_system))
        for kind in kinds if len(kinds) == 1 else (*kinds, ALL) if by_raters else (ALL,):
            values = [change.signed for change in of_system if kind in (ALL, _kind(change.raters))]
            signed = [value for value in values if value is not None]
            mean, absolute = (float(np.mean(of)) if signed else None for of in (signed, np.abs(signed)))
            means.append(MeanChange(system, kind, absolute, mean, len(signed), len(values) - len(signed), level))
    return tuple(means)


def _kind(raters: str) -> str:
    return "algorithms" if is_algorithm(raters) else raters
