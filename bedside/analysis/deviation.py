"""How far ratings lie from those of a reference corpus."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import polars as pl

from bedside.analysis.averaging import matched_rows
from bedside.analysis.case_values import case_values
from bedside.analysis.metric_facts import MetricFacts, MetricRatings
from bedside.analysis.ratings_view import ALL, RatingsView
from bedside.analysis.selection import NothingError, by_raters, rated_groups, system_values, systems_or_all
from bedside.core.errors import one_of
from bedside.stats.result import Result


@dataclass(frozen=True, slots=True)
class Deviation(MetricRatings):
    """How far a system's mean lies from the reference corpus' on one metric under one group of raters.

    Attributes:
        facts, raters, system: what was rated, by whom.
        mean, reference: the two means over cases; None where there is no value.
        n, reference_n: cases in them, a transcript without a case being one of its own.
        transcripts, reference_transcripts: the transcripts behind these cases.
        missing, reference_missing: transcripts without a value.
        deviation: the absolute difference of the means; None where one is missing.
        difference: system minus reference with Welch's interval, or why there is none.
    """

    raters: str
    system: str
    mean: float | None
    reference: float | None
    n: int
    reference_n: int
    transcripts: int
    reference_transcripts: int
    missing: int
    reference_missing: int
    deviation: float | None
    difference: Result


def deviation(
    view: RatingsView,
    reference: RatingsView | str,
    *,
    systems: Sequence[str] | None = None,
    metrics: Sequence[str] | None = None,
    raters: Sequence[str] | None = None,
) -> tuple[Deviation, ...]:
    """|mean over a system − mean over the reference corpus| of each metric.

    Only ratings by the same algorithm (version and parameters) or judge, or by people in both, are held against each
    other. Several transcripts of a case are averaged first; where the reference is a system, both are taken at the
    levels of factors that they share, as :func:`~bedside.analysis.averaging.matched_rows` says.

    Args:
        view: the ratings.
        reference: the ratings of the reference corpus, of which all transcripts count; or the name of a system of
            ``evaluation``.
        systems: the systems; all (but the reference) unless named.
        metrics: metrics or patterns; all that both have unless named.
        raters: raters or patterns such as ``judge:*``; all unless named.

    Raises:
        DataError: no such system, or no metric that both have.
    """
    view = by_raters(view, raters)
    name = None
    if isinstance(reference, str):
        name = reference
        one_of(name, view.systems(), "run or system", NothingError, where=view.name)
        chosen = [system for system in systems_or_all(view, systems) if system != name]
        if not chosen:
            raise NothingError(f"there is no system beside {name!r}", where=view.name)
        reference = replace(view, ratings=view.ratings.filter(pl.col("system") == name), name=name)
    else:
        chosen = systems_or_all(view, systems)
    names = view.metrics(metrics)
    reference_values = system_values(reference, names, None)
    deviations = []
    for metric, group, system, table in rated_groups(view, system_values(view, names, chosen), names):
        corpus = reference_values.filter(pl.col("metric") == metric)
        if name is not None:
            same_raters = corpus.filter(pl.col("group") == group)
            matched = matched_rows(view, pl.concat([table, same_raters]), system, name).rows
            table = matched.filter(pl.col("system") == system)
            others = corpus.filter(pl.col("group") != group)
            corpus = pl.concat([matched.filter(pl.col("system") == name), others])
        deviations.append(_deviation(view.facts(metric), group, system, table, corpus))
    shared = {row.metric for row in deviations if row.reference_n}
    if not shared:
        raise NothingError(
            f"no metric is rated by the same raters here and in the reference {reference.name}",
            where=view.name,
            todo="score the reference with the same suite",
        )
    return tuple(row for row in deviations if metrics is not None or row.metric in shared)


def _deviation(facts: MetricFacts, raters: str, system: str, table: pl.DataFrame, reference: pl.DataFrame) -> Deviation:
    from bedside.stats import unpaired

    own = case_values(table, system)
    same_raters = reference.filter(pl.col("group") == raters).with_columns(pl.lit(ALL).alias("system"))
    others = case_values(same_raters, ALL)
    result = unpaired.t_test(own.values, others.values)
    if not own.n:
        result = replace(result, missing="the system has no value")
    elif not others.n:
        groups = sorted(reference.drop_nulls("value")["group"].unique())
        elsewhere = f"the reference was rated by {', '.join(groups)}, not by {raters}"
        result = replace(result, missing=elsewhere if groups else "the reference has no value")
    mean = float(own.values.mean()) if own.n else None
    base = float(others.values.mean()) if others.n else None
    return Deviation(
        facts=facts, raters=raters, system=system, mean=mean, reference=base, n=own.n, reference_n=others.n,
        transcripts=own.n_transcripts, reference_transcripts=others.n_transcripts,
        missing=own.missing, reference_missing=others.missing,
        deviation=None if mean is None or base is None else abs(mean - base), difference=result,
    )  # fmt: skip
