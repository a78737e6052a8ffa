"""How ratings move with the number of messages, over bins of it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import polars as pl

from bedside.analysis.case_values import mean_in_group, own_case
from bedside.analysis.checked_units import Bounds, mean_within, value_bounds
from bedside.analysis.metric_facts import MetricRatings
from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.selection import (
    NothingError,
    by_raters,
    quality_metrics,
    rated_groups,
    system_values,
    systems_or_all,
)
from bedside.core.errors import DataError
from bedside.stats.arrays import Array
from bedside.stats.result import Interval, Result

#: The metric that holds a transcript's number of messages, for ratings that are a plain file.
MESSAGES = "turns"
#: Fewer cases than these give no p where a case has several transcripts.
FEWEST_CASES = 5


@dataclass(frozen=True, slots=True)
class Bin:
    """The transcripts whose number of messages lies in one bin.

    Attributes:
        low: the least number of messages; None in the first bin.
        below: the number that the bin ends before; None in the last bin.
        mean: of the values, with its interval and n.
        missing: transcripts without a value.
    """

    low: int | None
    below: int | None
    mean: Result
    missing: int


@dataclass(frozen=True, slots=True)
class Trend(MetricRatings):
    """One metric of one system under one group of raters, by number of messages.

    Attributes:
        facts, raters, system: what was rated, by whom.
        bins: from short to long.
        correlation: Spearman's of value and number of messages over transcripts, its p corrected within its family.
    """

    raters: str
    system: str
    bins: tuple[Bin, ...]
    correlation: Result


def trend(
    view: RatingsView,
    *,
    edges: Sequence[int] | None = None,
    systems: Sequence[str] | None = None,
    metrics: Sequence[str] | None = None,
    raters: Sequence[str] | None = None,
    role: str | None = None,
) -> tuple[Trend, ...]:
    """Each metric by bins of the number of messages, with a test of the trend.

    The test is Spearman's rank correlation of value and number of messages over transcripts, whatever the bins; p is
    corrected by Holm over all trends. Where a case has several transcripts, interval and p are those of a jackknife
    over cases.

    Args:
        view: the ratings of a run, or of a file in which the metric ``turns`` holds the numbers of messages.
        edges: where bins begin: ``10, 20`` makes the bins under 10, 10 to 19, and 20 and more. Unless given, the
            quartiles of all transcripts.
        systems, metrics, raters: as for :func:`drift`.
        role: whose messages are counted, as the metric ``turns.clinician`` or ``turns.patient`` holds them; those of
            both unless given.

    Raises:
        DataError: edges that don't ascend, numbers of messages that nobody gives, or nothing to follow.
    """
    from bedside.stats.families import family

    view = by_raters(view, raters)
    chosen = systems_or_all(view, systems)
    names = view.metrics(metrics) if metrics is not None else quality_metrics(view)
    counts = message_counts(view, role)
    values = system_values(view, names, chosen).join(counts, on="transcript_id")
    if values["value"].null_count() == values.height:
        raise NothingError("no metric to follow has a value", where=view.name, todo="name some with `metrics`")
    cuts = _cuts(edges, values.unique("transcript_id")["length"].to_numpy())
    trends = [
        Trend(view.facts(metric), group, system, _bins(table, cuts, value_bounds(view, metric)), _spearman(table))
        for metric, group, system, table in rated_groups(view, values, names)
    ]
    tested = family([followed.correlation for followed in trends], "trends with the number of messages", method="holm")
    return tuple(
        replace(followed, correlation=correlation) for followed, correlation in zip(trends, tested, strict=True)
    )


def message_counts(view: RatingsView, role: str | None) -> pl.DataFrame:
    """How many messages each transcript has, of a role or of both: ``transcript_id, length``."""
    if view.run is not None and role is None:
        return view.run.index.select(transcript_id="id", length=pl.col("turns").cast(pl.Float64()))
    name = MESSAGES if role is None else f"{MESSAGES}.{role}"
    rated = view.ratings.filter(pl.col("metric") == name, pl.col("unit") == "transcript")
    if rated.is_empty():
        raise NothingError(
            "the ratings don't say how many messages a transcript has" + (f" of the {role}" if role else ""),
            where=view.name,
            todo=f"give a run, or add the metric {name!r} to the file"
            if role is None
            else f"score the metric {MESSAGES!r}",
        )
    return rated.drop_nulls("value").group_by("transcript_id").agg(length=mean_in_group("value"))


def _cuts(edges: Sequence[int] | None, lengths: Array) -> tuple[int, ...]:
    if edges is None:
        quartiles = np.unique(np.ceil(np.quantile(lengths, (0.25, 0.5, 0.75))).astype(int))
        return tuple(int(cut) for cut in quartiles if cut > lengths.min())
    cuts = tuple(edges)
    if any(a >= b for a, b in pairwise(cuts)) or not cuts or cuts[0] < 1:
        written = ", ".join(map(str, cuts))
        what = f"edges must ascend from 1, and {written} do not" if cuts else "no edge is given"
        raise DataError(what, where="`edges`", todo="write `edges=10,20,40`")
    return cuts


def _bins(table: pl.DataFrame, cuts: Sequence[int], within: Bounds) -> tuple[Bin, ...]:
    place = np.searchsorted(cuts, table["length"].to_numpy(), side="right")
    bounds = (None, *cuts, None)
    bins = []
    for index, (low, below) in enumerate(pairwise(bounds)):
        inside = table.filter(pl.Series(place == index))
        present = inside.drop_nulls("value")
        cases = _cases(present)
        clusters = None if np.unique(cases).size == cases.size else cases
        mean = mean_within(present["value"].to_numpy(), within, clusters=clusters)
        bins.append(Bin(low, below, mean, inside["value"].null_count()))
    return tuple(bins)


def _spearman(table: pl.DataFrame) -> Result:
    present = table.drop_nulls("value")
    lengths, values = present["length"].to_numpy(), present["value"].to_numpy()
    correlation = correlation_by_case(lengths, values, _cases(present))
    result = replace(correlation, dropped=table.height - present.height)
    if result.estimate is None:
        reason = "fewer than three transcripts"
        if present.height > 2:
            same = "number of messages" if present["length"].n_unique() == 1 else "value"
            reason = f"all transcripts have the same {same}"
        return replace(result, missing=reason)
    return result


def _cases(rows: pl.DataFrame) -> Array:
    """The name of each row's case; a transcript without a case is one of its own."""
    cases: Array = rows.select(own_case())["case"].to_numpy()
    return cases


def correlation_by_case(x: Array, y: Array, cases: Array) -> Result:
    """Spearman's correlation over transcripts; where a case has several, its interval and p by case.

    Args:
        x, y: one number for each transcript, none missing.
        cases: the name or number of each one's case.
    """
    from bedside.stats.two_raters import correlation

    result = correlation(x, y)
    if result.estimate is None or np.unique(cases).size == cases.size:
        return result
    return _by_cases(result, x, y, cases)


def _by_cases(result: Result, x: Array, y: Array, cases: Array) -> Result:
    """A correlation over transcripts with the interval and p of a jackknife over cases.

    The standard error of Fisher's z is that of leaving out one case at a time, ``√((G − 1)/G · Σ (z₍g₎ − z̄)²)``; z
    over it is t with G − 1 degrees of freedom. Source: Efron (1982), The jackknife, the bootstrap and other resampling
    plans, chapter 3.
    """
    from scipy.stats import ConstantInputWarning, spearmanr, t

    groups = np.unique(cases)
    result = replace(
        result,
        method=f"{result.method}, interval and p by a jackknife over cases where a case has several transcripts",
        interval=None,
        statistic=None,
        p=None,
    )
    if groups.size < FEWEST_CASES or abs(result.estimate or 0.0) == 1:
        why = f"{groups.size} cases, fewer than {FEWEST_CASES}" if groups.size < FEWEST_CASES else "ρ is 1 or −1"
        return replace(result, missing=f"no p: {why}")
    with np.errstate(invalid="ignore", divide="ignore"), warnings.catch_warnings():
        # Without one of the cases nothing may vary, which the result says.
        warnings.simplefilter("ignore", ConstantInputWarning)
        left_out = np.array([float(spearmanr(x[cases != case], y[cases != case]).statistic) for case in groups])
        z_left_out, z = np.arctanh(left_out), float(np.arctanh(result.estimate or 0.0))
    squares = (z_left_out - z_left_out.mean()) ** 2
    error = float(np.sqrt((groups.size - 1) / groups.size * squares.sum()))
    if not np.isfinite(error) or error == 0:
        return replace(result, missing="no p: without one of the cases nothing varies")
    half = float(t.ppf(0.975, groups.size - 1)) * error
    low, high = np.tanh([z - half, z + half]).tolist()
    return replace(
        result, interval=Interval(low, high, 0.95, "jackknife over cases, Fisher's z, t"), statistic=z / error,
        p=float(2 * t.sf(abs(z / error), groups.size - 1)), details={**result.details, "cases": float(groups.size)},
    )  # fmt: skip
