"""How ratings move with the length of conversations, and how far they lie from those of a reference corpus."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import polars as pl

from bedside.analysis.comparison import chosen_systems, quality_metrics
from bedside.analysis.estimation import ALL
from bedside.analysis.ratings_view import PEOPLE, MetricFacts, MetricRatings, RatingsView
from bedside.stats.arrays import Array
from bedside.stats.result import Result
from bedside.support.errors import DataError
from bedside.support.registry import nearest

#: The metric that holds a transcript's number of messages, for ratings that are a plain file.
MESSAGES = "turns"


class NothingError(DataError):
    """The ratings hold nothing of what was asked for; a report then leaves the table out."""


# -- drift: from the shortest to the longest length condition ---------------------------------------


@dataclass(frozen=True, slots=True)
class Change(MetricRatings):
    """One metric of one system under one group of raters, from the shortest to the longest condition.

    Attributes:
        facts, raters, system: what changed, by whom it was rated.
        change: in per cent of the mean at the shortest, paired by case, with its bootstrap interval; its details
            hold both means.
        alone_shortest, alone_longest: cases that have only one of the conditions, or whose value is missing in the
            other.
    """

    raters: str
    system: str
    change: Result
    alone_shortest: int
    alone_longest: int


@dataclass(frozen=True, slots=True)
class MeanChange:
    """A system's changes taken together: the mean of their absolute values.

    Attributes:
        system: the system.
        raters: ``algorithms``, :data:`~bedside.analysis.ratings_view.PEOPLE` or a judge; ``all`` for all of them.
        mean: of the absolute changes in per cent; None where no change is defined.
        n: number of changes in it.
        undefined: changes that can't be computed.
    """

    system: str
    raters: str
    mean: float | None
    n: int
    undefined: int


@dataclass(frozen=True, slots=True)
class Drift:
    """What :func:`drift` found.

    Attributes:
        by: the factor that holds the length.
        shortest, longest: the two conditions.
        between: conditions between them, which are left out.
        changes: one by one.
        means: of absolute changes, by system and kind of raters.
        without: number of transcripts that the factor says nothing of.
    """

    by: str
    shortest: float
    longest: float
    between: tuple[float, ...]
    changes: tuple[Change, ...]
    means: tuple[MeanChange, ...]
    without: int


def drift(
    view: RatingsView,
    by: str,
    *,
    lengths: tuple[float, float] | None = None,
    systems: Sequence[str] | None = None,
    metrics: Sequence[str] | None = None,
    raters: Sequence[str] | None = None,
    resamples: int = 10_000,
    seed: int = 0,
) -> Drift:
    """Percentage change of each metric's mean from the shortest to the longest length condition, paired by case.

    Only cases with a value in both conditions count. Several transcripts of a case in a condition are averaged.

    Args:
        view: the ratings of a run.
        by: the factor that holds the length condition, such as ``target_length``.
        lengths: the two conditions; the least and the greatest unless given.
        systems: the systems; all unless named.
        metrics: metrics or patterns; unless named, those for which higher or lower is better and those that people
            or judges rated.
        raters: raters or patterns such as ``human:*``; all unless named.
        resamples, seed: of the bootstrap.

    Raises:
        DataError: no such factor, a condition that is no number, fewer than two of them, or nothing to compare.
    """
    view = _by_raters(view, raters)
    chosen = _systems(view, systems)
    condition, without = _conditions(view, by)
    names = view.metrics(metrics) if metrics is not None else quality_metrics(view)
    values = _values(view, names, chosen).join(condition, on="transcript_id")
    there = sorted(values["length"].unique())
    shortest, longest = _two(by, there, lengths, view.name)
    changes = [
        _change(view.facts(metric), group, system, table, (shortest, longest), resamples, seed)
        for metric, group, system, table in _groups(values, names)
    ]
    if not changes:
        raise NothingError(
            "no metric to follow has a value", where=view.name, todo="name some with --metrics"
        )
    between = tuple(length for length in there if shortest < length < longest)
    return Drift(by, shortest, longest, between, tuple(changes), _means(changes), without)


def _conditions(view: RatingsView, by: str) -> tuple[pl.DataFrame, int]:
    """The length condition of each transcript that has one, and how many have none."""
    factors = view.factors
    if factors is None:
        raise NothingError(
            "a plain file of ratings has no factors", where=view.name,
            todo="give a run: bedside score makes one of transcripts, bedside ratings import adds the file",
        )  # fmt: skip
    known = [name for name in factors.columns if name != "transcript_id"]
    if by not in known:
        todo = nearest(by, known) if known else "give the transcripts factors"
        raise NothingError(f"no factor {by!r}", where=view.name, todo=todo)
    rows = factors.select("transcript_id", by).drop_nulls()
    lengths = []
    for name, text in rows.iter_rows():
        try:
            lengths.append(float(text))
        except ValueError:
            lengths.append(float("nan"))
        if not np.isfinite(lengths[-1]):
            raise DataError(
                f"{by} of transcript {name!r} is {text!r}, no number", where=view.name,
                todo="name a factor of numbers with --by",
            )  # fmt: skip
    return rows.select(
        "transcript_id", length=pl.Series(lengths, dtype=pl.Float64())
    ), factors.height - rows.height


def _two(
    by: str, there: Sequence[float], lengths: tuple[float, float] | None, where: str
) -> tuple[float, float]:
    if len(there) < 2:
        only = f"every transcript has {by} {there[0]:g}" if there else f"no rated transcript has {by}"
        raise NothingError(
            f"{only}: a change needs two lengths", where=where, todo="name another factor with --by"
        )
    if lengths is None:
        return there[0], there[-1]
    for length in lengths:
        if length not in there:
            known = ", ".join(f"{each:g}" for each in there)
            raise NothingError(f"no transcript has {by} {length:g}", where=where, todo=f"there are {known}")
    if lengths[0] >= lengths[1]:
        raise DataError(f"{lengths[0]:g} is not shorter than {lengths[1]:g}", where=where, todo="swap them")
    return lengths


def _change(
    facts: MetricFacts,
    raters: str,
    system: str,
    table: pl.DataFrame,
    lengths: tuple[float, float],
    resamples: int,
    seed: int,
) -> Change:
    from bedside.stats.change import percentage_change

    of_case = [_cases(table.filter(pl.col("length") == length)) for length in lengths]
    shared = sorted(of_case[0].keys() & of_case[1].keys())
    result = percentage_change(
        [of_case[0][case] for case in shared], [of_case[1][case] for case in shared],
        resamples=resamples, seed=seed,
    )  # fmt: skip
    if not shared:
        result = replace(result, missing=_unpaired(table, lengths))
    return Change(facts, raters, system, result, len(of_case[0]) - len(shared), len(of_case[1]) - len(shared))


def _cases(table: pl.DataFrame) -> dict[str, float]:
    there = table.drop_nulls(["value", "case_id"])
    return dict(there.group_by("case_id").agg(pl.col("value").mean()).iter_rows())


def _unpaired(table: pl.DataFrame, lengths: tuple[float, float]) -> str:
    there = table.drop_nulls("value")
    for length in lengths:
        if there.filter(pl.col("length") == length).is_empty():
            return f"no value at length {length:g}"
    if there["case_id"].null_count() == there.height:
        return "the transcripts don't name their case, by which lengths are paired"
    return "no case has a value at both lengths"


def _means(changes: Sequence[Change]) -> tuple[MeanChange, ...]:
    found = []
    for system in dict.fromkeys(one.system for one in changes):
        own = [one for one in changes if one.system == system]
        kinds = list(dict.fromkeys(_kind(one.raters) for one in own))
        for kind in (*kinds, ALL) if len(kinds) > 1 else kinds:
            among = [one.change.estimate for one in own if kind in (ALL, _kind(one.raters))]
            sizes = [abs(each) for each in among if each is not None]
            mean = float(np.mean(sizes)) if sizes else None
            found.append(MeanChange(system, kind, mean, len(sizes), len(among) - len(sizes)))
    return tuple(found)


def _kind(raters: str) -> str:
    return "algorithms" if raters.startswith("algorithm:") else raters


# -- trend: over bins of message counts -------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Bin:
    """The transcripts whose number of messages lies in one bin.

    Attributes:
        low: the least number of messages; None in the first bin.
        below: the number that the bin ends before; None in the last bin.
        mean: of the values, with its t interval and n.
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
) -> tuple[Trend, ...]:
    """Each metric by bins of the number of messages, with a test of the trend.

    The test is Spearman's rank correlation of value and number of messages over transcripts, whatever the bins;
    p is corrected by Holm over all trends.

    Args:
        view: the ratings of a run, or of a file in which the metric ``turns`` holds the numbers of messages.
        edges: where bins begin: ``10, 20`` makes the bins under 10, 10 to 19, and 20 and more. Unless given, the
            quartiles of all transcripts.
        systems, metrics, raters: as for :func:`drift`.

    Raises:
        DataError: edges that don't ascend, numbers of messages that nobody gives, or nothing to follow.
    """
    from bedside.stats.families import family

    view = _by_raters(view, raters)
    chosen = _systems(view, systems)
    names = view.metrics(metrics) if metrics is not None else quality_metrics(view)
    counts = _message_counts(view)
    values = _values(view, names, chosen).join(counts, on="transcript_id")
    if values["value"].null_count() == values.height:
        raise NothingError(
            "no metric to follow has a value", where=view.name, todo="name some with --metrics"
        )
    cuts = _cuts(edges, values.unique("transcript_id")["length"].to_numpy())
    found = [
        Trend(view.facts(metric), group, system, _bins(table, cuts), _spearman(table))
        for metric, group, system, table in _groups(values, names)
    ]
    tested = family([one.correlation for one in found], "trends with the number of messages", method="holm")
    return tuple(replace(one, correlation=test) for one, test in zip(found, tested, strict=True))


def _message_counts(view: RatingsView) -> pl.DataFrame:
    if view.run is not None:
        return view.run.index.select(transcript_id="id", length=pl.col("turns").cast(pl.Float64()))
    rated = view.ratings.filter(pl.col("metric") == MESSAGES, pl.col("unit") == "transcript")
    if rated.is_empty():
        raise NothingError(
            "the ratings don't say how many messages a transcript has", where=view.name,
            todo=f"give a run, or add the metric {MESSAGES!r} to the file",
        )  # fmt: skip
    return rated.drop_nulls("value").group_by("transcript_id").agg(length=pl.col("value").mean())


def _cuts(edges: Sequence[int] | None, lengths: Array) -> tuple[int, ...]:
    if edges is None:
        quartiles = np.unique(np.ceil(np.quantile(lengths, (0.25, 0.5, 0.75))).astype(int))
        return tuple(int(cut) for cut in quartiles if cut > lengths.min())
    cuts = tuple(edges)
    if any(a >= b for a, b in pairwise(cuts)) or not cuts or cuts[0] < 1:
        raise DataError(
            f"{', '.join(map(str, cuts))} don't ascend from 1", where="--edges", todo="write --edges 10,20,40"
        )
    return cuts


def _bins(table: pl.DataFrame, cuts: Sequence[int]) -> tuple[Bin, ...]:
    from bedside.stats.intervals import mean_t

    place = np.searchsorted(cuts, table["length"].to_numpy(), side="right")
    bounds = (None, *cuts, None)
    bins = []
    for index, (low, below) in enumerate(pairwise(bounds)):
        inside = table.filter(pl.Series(place == index))["value"]
        bins.append(Bin(low, below, mean_t(inside.drop_nulls().to_numpy()), inside.null_count()))
    return tuple(bins)


def _spearman(table: pl.DataFrame) -> Result:
    from bedside.stats.two_raters import correlation

    there = table.drop_nulls("value")
    result = replace(
        correlation(there["length"].to_numpy(), there["value"].to_numpy()),
        dropped=table.height - there.height,
    )
    if result.estimate is not None:
        return result
    reason = "fewer than three transcripts"
    if there.height > 2:
        same = "number of messages" if there["length"].n_unique() == 1 else "value"
        reason = f"all transcripts have the same {same}"
    return replace(result, missing=reason)


# -- deviation from a reference corpus --------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Deviation(MetricRatings):
    """How far a system's mean lies from the reference corpus' on one metric under one group of raters.

    Attributes:
        facts, raters, system: what was rated, by whom.
        mean, reference: the two means; None where there is no value.
        n, reference_n: transcripts in them.
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
    other.

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
    view = _by_raters(view, raters)
    if isinstance(reference, str):
        name = reference
        if name not in view.systems():
            raise NothingError(
                f"{name!r} is neither a run nor a system", where=view.name,
                todo=nearest(name, view.systems()),
            )  # fmt: skip
        chosen = [each for each in _systems(view, systems) if each != name]
        if not chosen:
            raise NothingError(f"there is no system beside {name!r}", where=view.name)
        own = pl.col("system") == name
        reference = replace(view, ratings=view.ratings.filter(own), name=name)
    else:
        chosen = _systems(view, systems)
    names = view.metrics(metrics)
    there = _values(reference, names, None)
    found = [
        _deviation(view.facts(metric), group, system, table, there)
        for metric, group, system, table in _groups(_values(view, names, chosen), names)
    ]
    shared = {one.metric for one in found if one.reference_n}
    if not shared:
        raise NothingError(
            f"no metric is rated by the same raters here and in the reference {reference.name}",
            where=view.name,
            todo="score the reference with the same suite",
        )
    return tuple(one for one in found if metrics is not None or one.metric in shared)


def _deviation(
    facts: MetricFacts, raters: str, system: str, table: pl.DataFrame, there: pl.DataFrame
) -> Deviation:
    from bedside.stats import unpaired

    other = there.filter(pl.col("metric") == facts.name)
    same = other.filter(pl.col("group") == raters)["value"]
    a, b = table["value"].drop_nulls().to_numpy(), same.drop_nulls().to_numpy()
    result = unpaired.t_test(a, b)
    if not a.size:
        result = replace(result, missing="the system has no value")
    elif not b.size:
        result = replace(
            result, missing=_no_reference(raters, sorted(other.drop_nulls("value")["group"].unique()))
        )
    mean = float(a.mean()) if a.size else None
    base = float(b.mean()) if b.size else None
    return Deviation(
        facts, raters, system, mean, base, a.size, b.size, table["value"].null_count(), same.null_count(),
        None if mean is None or base is None else abs(mean - base), result,
    )  # fmt: skip


def _no_reference(raters: str, others: Sequence[str]) -> str:
    if not others:
        return "the reference has no value"
    return f"the reference was rated by {', '.join(others)}, not by {raters}"


# -- what they share --------------------------------------------------------------------------------


def _by_raters(view: RatingsView, raters: Sequence[str] | None) -> RatingsView:
    if raters is None:
        return view
    wanted = view.raters(raters)
    return replace(view, ratings=view.ratings.filter(pl.col("rater").is_in(wanted)))


def _systems(view: RatingsView, systems: Sequence[str] | None) -> list[str]:
    """The systems named, or all; of transcripts that name none, :data:`ALL`."""
    if not view.systems() and systems is None:
        return [ALL]
    return chosen_systems(view, systems, fewest=1)


def _values(view: RatingsView, metrics: Iterable[str], systems: Sequence[str] | None) -> pl.DataFrame:
    values = view.transcript_values(metrics).with_columns(pl.col("system").fill_null(ALL))
    return values if systems is None else values.filter(pl.col("system").is_in(systems))


def _groups(values: pl.DataFrame, names: Sequence[str]) -> Iterator[tuple[str, str, str, pl.DataFrame]]:
    """The values of each metric, group of raters and system, in the order of tables; not where all are missing."""
    tables: Mapping[tuple[object, ...], pl.DataFrame] = values.partition_by(
        "metric", "group", "system", as_dict=True
    )
    order = {name: position for position, name in enumerate(names)}
    given = {key[:2] for key, table in tables.items() if table["value"].count()}
    for metric, group, system in sorted(
        tables, key=lambda key: (order[str(key[0])], key[1] != PEOPLE, str(key[1]), str(key[2]))
    ):
        if (metric, group) in given:
            yield str(metric), str(group), str(system), tables[metric, group, system]
