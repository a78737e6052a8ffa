"""The values behind the cells of a table: of each measure, by system and stratum."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Literal

import numpy as np
import polars as pl

from bedside.analysis.case_values import mean_in_group, means_within
from bedside.analysis.checked_units import OPEN, Bounds, mean_within, value_bounds
from bedside.analysis.comparison import SystemValues
from bedside.analysis.ratings_view import ALL, PEOPLE, RatingsView
from bedside.analysis.study_parts import WITHOUT
from bedside.core.errors import DataError, one_of
from bedside.core.words import counted
from bedside.ratings.names import is_algorithm
from bedside.ratings.table import warnings_in
from bedside.ratings.values import Direction
from bedside.reports.measures import TableMeasure, preferred_groups, shares_shown
from bedside.reports.number_text import rater_words
from bedside.stats.result import Interval, Result

#: Begins the names of the columns that hold factors.
_FACTOR = "factor:"
#: ``deviation`` and ``difference`` are of two means; they and counts have neither spread nor interval here.
SampleLevel = Literal["mean", "micro", "deviation", "difference", "count"]


@dataclass(frozen=True, slots=True)
class MeasureRow:
    """One measure under one group of raters: what makes a row (or column) of numbers.

    Attributes:
        metric: name in the ratings table.
        group: people, or a rater's name.
        title: with the raters where several groups gave values.
        heading: what it stands under; where the suite gives none, the metric's own.
        headed: whether the suite gives one.
        level: a mean over transcripts, a ratio of sums over them, or what either is compared with another.
        digits: decimals to print.
        scale: what a value is multiplied by to be printed.
        direction: whether higher is better, lower is better, or neither.
        key: what names it in a cell's name.
        measure: as the suite names it.
        share_of: of labels, the level whose share it is.
    """

    metric: str
    group: str
    title: str
    heading: str
    headed: bool
    level: SampleLevel
    digits: int
    scale: float
    direction: Direction
    key: str
    measure: TableMeasure
    share_of: str | None = None

    @property
    def nearest(self) -> bool:
        """Whether what is nearest to the reference corpus is best."""
        return self.measure.direction == "reference" and self.level in ("mean", "micro")


@dataclass(frozen=True, slots=True, eq=False)
class Sample(SystemValues):
    """The values behind one cell.

    Attributes:
        values: one for each transcript that has one. Of a ratio of sums, the linearised values whose mean is the ratio
            and whose spread is that of the ratio.
        cases: a number for the case of each value, the same in all samples of an item; −1 where it has none.
        missing: transcripts that were rated and have no value.
        why: the most frequent reason.
        of: all transcripts there, those that nobody rated too.
        estimate: the mean or ratio; None where there is none.
        sd: standard deviation (n − 1) of a mean's values; None of a ratio, or of fewer than two.
        numerator, denominator: the sums of a ratio.
        bounds: between which ends the values of the metric lie.
    """

    missing: int = 0
    why: str | None = None
    of: int | None = None
    estimate: float | None = None
    sd: float | None = None
    numerator: float | None = None
    denominator: float | None = None
    bounds: Bounds = OPEN

    @property
    def n(self) -> int:
        """Transcripts with a value."""
        return int(self.values.size)


@lru_cache(maxsize=512)
def interval_of(sample: Sample, level: SampleLevel) -> Interval | None:
    """The 95 % interval of a mean or of a ratio of sums, within what its values can be.

    Where a case has several transcripts, cases are the clusters: its transcripts don't count as independent.
    """
    if not sample.n or level not in ("mean", "micro"):
        return None
    clusters = None if sample.is_single else sample.clusters
    mean = mean_within(sample.values, sample.bounds, clusters=clusters, linearised=level == "micro")
    return mean.interval


def by_case(sample: Sample) -> Result:
    """The mean over cases, each of which counts once, whatever number of transcripts it has; with its 95 % interval."""
    cases = np.where(sample.cases < 0, -1 - np.arange(sample.n), sample.cases)
    means = [float(sample.values[cases == case].mean()) for case in np.unique(cases)]
    return mean_within(np.array(means), sample.bounds)


#: Key of a sample: system, and the values of the factors.
Place = tuple[str, tuple[str, ...]]
Samples = Mapping[Place, Sample]


@dataclass(frozen=True, slots=True)
class UnshownRaters:
    """Raters whose values of a measure aren't shown, since those of others are.

    Attributes:
        metric: of the measure.
        group: people, or the rater's name.
        title: the measure's.
        systems: those that have a value by these raters and none by those who are shown.
    """

    metric: str
    group: str
    title: str
    systems: tuple[str, ...]


#: Why a metric has no number that isn't missing.
LABELLED = "labels"


@dataclass(frozen=True, slots=True)
class MeasuredRows:
    """What :func:`measure` found.

    Attributes:
        items: those with a value somewhere, each with its samples.
        empty: titles of those that are rated but have no value anywhere, with the reason; :data:`LABELLED` of those
            whose ratings are labels.
        valueless: metric, group of raters and samples of these.
        absent: metrics that are not rated at all.
        warnings: what the values themselves warn of, with the titles of those that it is about.
        uncompared: titles of those that have nothing to be compared with, with the reason.
        unshown: values that groups of raters gave who aren't shown.
        counted: titles of ratios of sums some of whose metrics only an algorithm gives, with those metrics and it.
    """

    items: tuple[tuple[MeasureRow, Samples], ...]
    empty: Mapping[str, str]
    valueless: tuple[tuple[str, str, Samples], ...]
    absent: tuple[str, ...]
    warnings: Mapping[str, str]
    uncompared: Mapping[str, str] = field(default_factory=dict)
    unshown: tuple[UnshownRaters, ...] = ()
    counted: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


def measure(
    view: RatingsView,
    headed: Mapping[str, Sequence[TableMeasure]],
    *,
    by: Sequence[str] = (),
    pool: bool = False,
    case_level: bool = False,
    raters: Sequence[str] = (),
) -> MeasuredRows:
    """The samples of each measure, by system and by the values of the factors.

    Passes, and among people raters, are averaged for each transcript first.

    Args:
        view: the ratings.
        headed: the measures under their headings; under the empty heading a measure has its metric's own.
        by: factors.
        pool: take all systems together.
        case_level: after each ratio of sums, also the mean of the transcripts' own values.
        raters: groups of raters or patterns such as ``judge:*`` in order of preference: of a measure only the values
            of the first that has any are taken; where several groups match one pattern, of those the one that gave
            most values of all the measures. All groups, each by itself, where none is named.

    Raises:
        DataError: the transcripts have no such factor.
    """
    strata = strata_of(view, by)
    view = shares_shown(view, headed)
    if pool:
        view = replace(view, ratings=view.ratings.with_columns(system=pl.lit(ALL)))
    measures, absent = _rated_measures(view, headed, case_level)
    means = {
        rated.metric
        for rated in measures
        if not rated.is_ratio and not rated.measure.mean and rated.measure.count is None
    }
    mean_samples: dict[tuple[str, ...], dict[Place, Sample]] = {}
    for key, place, part in _parts(view.transcript_values(sorted(means)), ("metric", "group"), strata):
        mean_samples.setdefault(key, {})[place] = _mean_sample(part)
    by_measure: list[list[_Measured]] = []
    for rated in measures:
        if rated.is_ratio:
            by_group = _ratios(view, rated.measure, strata)
        elif rated.measure.count is not None:
            by_group = {"": _counts(view, rated.measure, strata, pool=pool)}
        elif rated.measure.mean:
            by_group = (_means_of_means if rated.measure.of_means else _means_within)(view, rated.measure, strata)
        else:
            by_group = {group: part for (name, group), part in mean_samples.items() if name == rated.metric}
        by_measure.append(
            [
                _Measured(rated, group, by_group[group])
                for group in sorted(by_group, key=lambda name: (name != PEOPLE, name))
            ]
        )
    counts_by_place = counts_there(view, strata, pool=pool)
    by_measure = [[_of_all(group, counts_by_place) for group in groups] for groups in by_measure]
    if not raters:
        return _rows(view, [group for groups in by_measure for group in groups], absent, case_level)
    counts: Counter[str] = Counter()
    for group in (group for groups in by_measure for group in groups):
        counts[group.group] += group.count
    shown: list[_Measured] = []
    unshown: list[UnshownRaters] = []
    for groups in by_measure:
        preferred = groups
        if groups and groups[0].rated.measure.count is None:
            names = preferred_groups([group.group for group in groups if group.has_value], raters, counts)
            names = names or preferred_groups([group.group for group in groups], raters, counts)
            preferred = [group for group in groups if group.group in names[:1]]
            unshown += _unshown(view, preferred, groups)
        shown += preferred
    return replace(_rows(view, shown, absent, case_level), unshown=tuple(unshown))


@dataclass(frozen=True, slots=True)
class _RatedMeasure:
    """A measure for one metric in the ratings, and the heading that it stands under; empty for the metric's own."""

    heading: str
    metric: str
    measure: TableMeasure

    @property
    def is_ratio(self) -> bool:
        """Whether it is a ratio of sums."""
        return bool(self.measure.sum)

    @property
    def key(self) -> tuple[str, bool, tuple[str, ...]]:
        """What is measured, whatever it is called."""
        return self.metric, self.is_ratio, (*self.measure.mean, *filter(None, (self.measure.count,)))


@dataclass(frozen=True, slots=True)
class _Measured:
    """A measure under one group of raters, with its samples."""

    rated: _RatedMeasure
    group: str
    samples: Samples

    @property
    def has_value(self) -> bool:
        """Whether some transcript has a value."""
        if self.rated.measure.count is not None:
            return any(sample.estimate is not None for sample in self.samples.values())
        return any(sample.n for sample in self.samples.values())

    @property
    def count(self) -> int:
        """Transcripts with a value."""
        return sum(sample.n for sample in self.samples.values())

    @property
    def systems(self) -> list[str]:
        """The systems that have a value."""
        return sorted({system for (system, _), sample in self.samples.items() if sample.n})


def _of_all(measured: _Measured, counts_by_place: Mapping[Place, int]) -> _Measured:
    """The same, each sample with the number of transcripts there."""
    return replace(
        measured,
        samples={
            place: replace(sample, of=max(sample.n + sample.missing, counts_by_place.get(place, 0)))
            for place, sample in measured.samples.items()
        },
    )


def _unshown(view: RatingsView, preferred: Sequence[_Measured], groups: Sequence[_Measured]) -> Iterator[UnshownRaters]:
    """The groups of raters that gave values of a measure and aren't those preferred."""
    shown = {group.group for group in preferred}
    shown_systems = {system for group in preferred for system in group.systems}
    for group in groups:
        if group.group not in shown and group.has_value:
            metric, measure = group.rated.metric, group.rated.measure
            title = measure.title or view.facts(metric).title.partition(",")[0]
            lost = tuple(system for system in group.systems if system not in shown_systems)
            yield UnshownRaters(metric, group.group, title, lost)


def _rated_measures(
    view: RatingsView, headed: Mapping[str, Sequence[TableMeasure]], case_level: bool
) -> tuple[list[_RatedMeasure], list[str]]:
    """The measures, one for each metric that one stands for, and the metrics that nobody rated."""
    names = set(view.ratings["metric"].unique())
    rated_measures: list[_RatedMeasure] = []
    absent: dict[str, None] = {}
    for heading, measure in ((name, measure) for name, measures in headed.items() for measure in measures):
        single = measure
        if measure.sum or measure.mean or measure.count is not None:
            lacking = [name for name in (*measure.sum, *measure.over, *measure.mean) if name not in names]
            absent.update(dict.fromkeys(lacking))
            if not lacking:
                rated_measures.append(_RatedMeasure(heading, measure.metric, measure))
            if not (measure.sum and case_level):
                continue
            single = measure.model_copy(update={"sum": (), "over": ()})
        metrics = [single.metric] if single.metric in names else view.metrics_like(single.metric)
        if not metrics:
            absent[single.metric] = None
        rated_measures += [_RatedMeasure(heading, metric, single) for metric in metrics]
    return rated_measures, list(absent)


def strata_of(view: RatingsView, by: Sequence[str]) -> pl.DataFrame | None:
    """One row a transcript: its id, and a column for each factor; None where no factor is asked for."""
    if not by:
        return None
    factors = view.factors
    factor_names = [] if factors is None else [name for name in factors.columns if name != "transcript_id"]
    for name in by:
        one_of(name, factor_names, "factor", DataError, where=view.name)
    assert factors is not None
    return factors.select(
        "transcript_id", *(pl.col(name).fill_null(WITHOUT).alias(f"{_FACTOR}{i}") for i, name in enumerate(by))
    )


def _parts(
    values: pl.DataFrame, keys: Sequence[str], strata: pl.DataFrame | None
) -> Iterator[tuple[tuple[str, ...], Place, pl.DataFrame]]:
    """The values by keys and place."""
    case = pl.col("case_id").cast(pl.Categorical).to_physical().cast(pl.Int64).fill_null(-1)
    placed = values.with_columns(pl.col("system").fill_null(ALL), case.alias("case"))
    factors: list[str] = []
    if strata is not None:
        placed = placed.join(strata, on="transcript_id", how="left")
        factors = [name for name in strata.columns if name.startswith(_FACTOR)]
    names = [*keys, "system", *factors]
    for values_of, part in placed.partition_by(names, as_dict=True, include_key=False, maintain_order=True).items():
        key, (system, *stratum) = values_of[: len(keys)], values_of[len(keys) :]
        yield tuple(map(str, key)), (str(system), tuple(map(str, stratum))), part


def _transcripts_there(
    view: RatingsView, strata: pl.DataFrame | None, *, pool: bool
) -> Iterator[tuple[Place, pl.DataFrame]]:
    """The transcripts of each place, rated or not."""
    transcripts = view.transcripts()
    if pool:
        transcripts = transcripts.with_columns(system=pl.lit(ALL))
    for _, place, part in _parts(transcripts.with_columns(pl.lit("").alias("key")), ("key",), strata):
        yield place, part


def counts_there(view: RatingsView, strata: pl.DataFrame | None, *, pool: bool = False) -> dict[Place, int]:
    """How many transcripts each place has, rated or not.

    Args:
        view: the ratings.
        strata: as :func:`strata_of` gives them.
        pool: take all systems together.
    """
    return {place: part.height for place, part in _transcripts_there(view, strata, pool=pool)}


def cases_there(view: RatingsView, strata: pl.DataFrame | None) -> dict[Place, int]:
    """How many cases each place has, rated or not; a transcript without one is a case of its own."""
    return {
        place: part["case"].filter(part["case"] >= 0).n_unique() + int((part["case"] < 0).sum())
        for place, part in _transcripts_there(view, strata, pool=False)
    }


def _mean_sample(part: pl.DataFrame) -> Sample:
    rated = part.filter(pl.col("value").is_not_null())
    values = rated["value"].to_numpy()
    errors = part.filter(pl.col("value").is_null())["error"].drop_nulls()
    return Sample(
        values=values,
        cases=rated["case"].to_numpy(),
        missing=part.height - rated.height,
        why=errors.mode().sort()[0] if errors.len() else None,
        estimate=float(values.mean()) if values.size else None,
        sd=float(values.std(ddof=1)) if values.size > 1 else None,
    )


#: Parts several values that stand in one text of a reference.
_BETWEEN_VALUES = re.compile(r"\s*[,;、，；]\s*")


def _counts(
    view: RatingsView, measure: TableMeasure, strata: pl.DataFrame | None, *, pool: bool
) -> dict[Place, Sample]:
    """How many transcripts or cases there are at each place, or different values of a field of the references.

    None is no number; of a measure that asks whether there are any it is 0 where the run keeps its references.
    """
    what = measure.count or ""
    name = what.removeprefix("reference.")
    values = _reference_values(view, name) if name != what else {}
    answered = measure.yes_no and bool(values)
    samples: dict[Place, Sample] = {}
    for place, part in _transcripts_there(view, strata, pool=pool):
        count: int | None
        if what == "transcripts":
            count = part.height
        elif what == "cases":
            count = part["case_id"].drop_nulls().n_unique()
        else:
            count = len({value for transcript in part["transcript_id"] for value in values.get(transcript, ())})
        samples[place] = Sample(
            values=np.ones(part.height),
            cases=part["case"].to_numpy(),
            why=None if count or answered else f"no transcript says {name.replace('_', ' ')}",
            estimate=float(count) if count or answered else None,
        )
    return samples


def _reference_values(view: RatingsView, name: str) -> dict[str, tuple[str, ...]]:
    """What the reference of each transcript says in a field, value by value; nothing where the run keeps no text."""
    if view.run is None or not view.run.keeps_text:
        return {}
    values: dict[str, tuple[str, ...]] = {}
    for transcript in view.run.transcripts():
        entry = transcript.reference.get(name)
        entries = entry if isinstance(entry, list | tuple) else [entry]
        values[transcript.id] = tuple(
            value for text in entries if isinstance(text, str) for value in _BETWEEN_VALUES.split(text) if value
        )
    return values


def _means_within(
    view: RatingsView, measure: TableMeasure, strata: pl.DataFrame | None
) -> dict[str, dict[Place, Sample]]:
    """A mean of several metrics within each transcript, by group of raters and place.

    It is missing where the rater gave no value of one of them.
    """
    within = means_within(view.transcript_values(measure.mean), measure.mean)
    samples: dict[str, dict[Place, Sample]] = {}
    for (group,), place, part in _parts(within, ("group",), strata):
        samples.setdefault(group, {})[place] = _mean_sample(part)
    return samples


def _means_of_means(
    view: RatingsView, measure: TableMeasure, strata: pl.DataFrame | None
) -> dict[str, dict[Place, Sample]]:
    """The mean of several metrics' own means, by group of raters and place; missing where one of them has no value.

    The values are linearised, as those of a ratio of sums.
    """
    samples: dict[str, dict[Place, Sample]] = {}
    for (group,), place, part in _parts(view.transcript_values(measure.mean), ("group",), strata):
        wide = part.pivot(on="metric", index=["transcript_id", "case"], values="value")
        cells = np.array([wide.get_column(name, default=pl.repeat(None, wide.height, dtype=pl.Float64, eager=True))
                          .to_numpy() for name in measure.mean])  # fmt: skip
        filled = ~np.isnan(cells)
        counts, some = filled.sum(axis=1, keepdims=True), filled.any(axis=0)
        if not counts.all():
            empty = np.empty(0)
            sample = Sample(empty, empty.astype(int), missing=wide.height, why="not all of its parts are there")
        else:
            means = np.nanmean(cells, axis=1, keepdims=True)
            gaps = np.where(filled, cells - means, 0.0) * some.sum() / counts
            sample = Sample(
                values=means.mean() + gaps.mean(axis=0)[some],
                cases=wide["case"].to_numpy()[some],
                missing=int((~some).sum()),
                estimate=float(means.mean()),
            )
        samples.setdefault(group, {})[place] = sample
    return samples


def _ratios(view: RatingsView, measure: TableMeasure, strata: pl.DataFrame | None) -> dict[str, dict[Place, Sample]]:
    """A ratio of sums over transcripts, by group of raters and place.

    A transcript's sums are means over a rater's passes, of those that have all the metrics, and then over people.
    What only an algorithm counts is the same for all who rate the rest.
    """
    needed = sorted({*measure.sum, *measure.over})
    ratings = view.ratings.filter(pl.col("unit") == "transcript", pl.col("metric").is_in(needed)).with_columns(
        view.rater_group().alias("group")
    )
    counted = algorithms_parts(view, measure)
    wide = ratings.filter(~pl.col("metric").is_in(list(counted))).pivot(
        on="metric",
        index=["transcript_id", "system", "case_id", "group", "rater", "replicate", "round"],
        values="value",
        aggregate_function="first",
    )
    if counted:
        parts = ratings.filter(
            pl.struct("metric", "rater").is_in(
                [{"metric": metric, "rater": rater} for metric, rater in counted.items()]
            )
        ).pivot(on="metric", index=["transcript_id"], values="value", aggregate_function="first")
        wide = wide.join(parts, on="transcript_id", how="left", maintain_order="left")
    if any(name not in wide.columns for name in needed):
        return {}
    whole = pl.all_horizontal(pl.col(name).is_not_null() for name in needed)
    origin = ("transcript_id", "system", "case_id", "group")
    raters = wide.group_by(*origin, "rater", maintain_order=True).agg(
        mean_in_group(pl.col(name).filter(whole)) for name in needed
    )
    people = raters.group_by(origin, maintain_order=True).agg(mean_in_group(name) for name in needed)
    sums = people.select(
        "transcript_id",
        "system",
        "case_id",
        "group",
        (measure.times * pl.sum_horizontal(measure.sum, ignore_nulls=False)).alias("above"),
        pl.sum_horizontal(measure.over, ignore_nulls=False).alias("below"),
    )
    samples: dict[str, dict[Place, Sample]] = {}
    for (group,), place, part in _parts(sums, ("group",), strata):
        samples.setdefault(group, {})[place] = _ratio_sample(part)
    return samples


def algorithms_parts(view: RatingsView, measure: TableMeasure) -> dict[str, str]:
    """The metrics of a ratio of sums that only algorithms give while judges or people give others, with the rater.

    Of several algorithms, or versions of one, it is the last by name.
    """
    needed = {*measure.sum, *measure.over}
    pairs = view.ratings.filter(pl.col("unit") == "transcript", pl.col("metric").is_in(needed))
    raters: dict[str, set[str]] = {}
    for metric, rater in pairs.select("metric", "rater").unique().iter_rows():
        raters.setdefault(metric, set()).add(rater)
    counted = {metric: max(names) for metric, names in raters.items() if all(is_algorithm(name) for name in names)}
    return counted if len(counted) < len(raters) else {}


def _ratio_sample(part: pl.DataFrame) -> Sample:
    rated = part.filter(pl.col("above").is_not_null())
    above, below = rated["above"].to_numpy(), rated["below"].to_numpy()
    missing = part.height - rated.height
    numerator, denominator = float(above.sum()), float(below.sum())
    if not denominator:
        return Sample(
            values=np.empty(0),
            cases=np.empty(0, dtype=int),
            missing=part.height,
            why="the sum below the line is 0" if below.size else "not all of its parts are there",
            numerator=numerator,
            denominator=denominator,
        )
    ratio = numerator / denominator
    return Sample(
        values=ratio + (above - ratio * below) / below.mean(),
        cases=rated["case"].to_numpy(),
        missing=missing,
        why="not all of its parts are there" if missing else None,
        estimate=ratio,
        numerator=numerator,
        denominator=denominator,
    )


def _rows(view: RatingsView, measured: Sequence[_Measured], absent: Sequence[str], case_level: bool) -> MeasuredRows:
    """What has a value, as rows, and what is rated but has none."""
    groups: dict[tuple[str, bool, tuple[str, ...]], list[str]] = {}
    for group in measured:
        if group.has_value:
            groups.setdefault(group.rated.key, []).append(group.group)
    levels_of = {group.rated.measure.metric for group in measured if group.rated.is_ratio and case_level}
    valueless = [group for group in measured if group.rated.key not in groups]
    items = tuple(
        (
            _row(
                view,
                group,
                several=len(set(groups[group.rated.key])) > 1,
                with_level=group.rated.measure.metric in levels_of,
            ),
            _bounded(view, group),
        )
        for group in measured
        if group.has_value
    )
    return MeasuredRows(
        items=items,
        empty=_reasons(view, valueless),
        valueless=tuple((group.rated.metric, group.group, group.samples) for group in valueless),
        absent=tuple(absent),
        warnings=_warnings(view, [row for row, _ in items]),
        counted={
            row.title: counted
            for row, _ in items
            if row.level == "micro" and (counted := algorithms_parts(view, row.measure))
        },
    )


def _bounded(view: RatingsView, measured: _Measured) -> Samples:
    """The samples, each with the ends that the metric's values lie between."""
    bounds = value_bounds(view, measured.rated.metric)
    return {place: replace(sample, bounds=bounds) for place, sample in measured.samples.items()}


def _warnings(view: RatingsView, rows: Sequence[MeasureRow]) -> dict[str, str]:
    """What values warn of, and of which rows' values, of how many."""
    metrics = list(dict.fromkeys(row.metric for row in rows))
    warned = warnings_in(view.ratings.lazy().filter(pl.col("metric").is_in(metrics))).collect()
    titles = {row.metric: row.title for row in rows}
    counts: dict[str, str] = {}
    for (warning,), group in sorted(warned.group_by("warning"), key=lambda entry: str(entry[0])):
        of = [titles[metric] for metric in metrics if metric in group["metric"]]
        transcripts = counted(group["transcript_id"].n_unique(), "transcript")
        counts[str(warning)] = f"{transcripts}; {', '.join(of)}"
    return counts


def _row(view: RatingsView, measured: _Measured, *, several: bool, with_level: bool) -> MeasureRow:
    """A row of numbers.

    Args:
        view: the ratings.
        measured: what the numbers are of.
        several: whether several groups of raters gave values: the title then names them.
        with_level: whether the title says which of a ratio of sums and the mean of transcripts it is.
    """
    metric, measure = measured.rated.metric, measured.rated.measure
    metric_facts = view.facts(metric)
    title = measure.title or metric_facts.title
    if measure.title and "." in metric and "." not in measure.metric:
        title += f", {metric.rpartition('.')[2]}"
    if measure.percent and "%" not in title:
        title += " (%)"
    if with_level:
        title += ", micro" if measured.rated.is_ratio else ", case-level"
    digits = 1 if measure.percent else metric_facts.digits
    direction = metric_facts.direction if measure.direction is None else measure.direction
    return MeasureRow(
        metric=metric,
        group=measured.group,
        title=f"{title} ({rater_words(measured.group)})" if several else title,
        heading=measured.rated.heading or metric_facts.group,
        headed=bool(measured.rated.heading),
        level="count" if measure.count is not None else "micro" if measured.rated.is_ratio else "mean",
        digits=measure.digits if measure.digits is not None else 0 if measure.count is not None else digits,
        scale=100.0 if measure.percent else 1.0,
        direction="none" if direction == "reference" else direction,
        measure=measure,
        share_of=view.shares[metric].level if metric in view.shares else None,
        key=metric
        + (":micro" if measured.rated.is_ratio else "")
        + (":mean" if measure.mean else "")
        + (f"@{measured.group}" if several else ""),
    )


def _reasons(view: RatingsView, valueless: Sequence[_Measured]) -> dict[str, str]:
    """By the titles of what has no value anywhere: why not."""
    reasons: dict[str, str] = {}
    for measured in valueless:
        measure, heading = measured.rated.measure, measured.rated.heading
        title = measure.title or view.facts(measured.rated.metric).title.partition(",")[0]
        if heading and not measure.title:
            title = f"{title} ({heading})"
        why = next((sample.why for sample in measured.samples.values() if sample.why), "no value")
        labels = view.ratings.filter(pl.col("metric") == measured.rated.metric)["label"]
        why = why if labels.null_count() == labels.len() else LABELLED
        reasons.setdefault(title, why)
    return reasons


# -- Which intervals stand beside means -----------------------------------------------------------------

#: How the words of an interval's method begin, and what a note says of it; the longest beginnings first.
_METHODS = (
    ("Wilson on the scale", "Wilson's on the scale for means between two ends"),
    ("Wilson", "Wilson's for shares"),
    ("t ", "t for the rest"),
)


def interval_note(samples: Iterable[tuple[Sample, SampleLevel]]) -> str:
    """How the 95 % intervals of these means and ratios were made, as a sentence; empty where none has one.

    They stay within what the values can be, as :func:`interval_of` makes them.
    """
    shown = list(samples)
    methods = [interval.method for each in shown if (interval := interval_of(*each)) is not None]
    kinds = {next(word for begin, word in _METHODS if method.startswith(begin)) for method in methods}
    if not kinds:
        return ""
    words = [word for _, word in _METHODS if word in kinds]
    if len(words) == 1:
        words = [words[0].replace(" for the rest", "")]
    clustered = not all(sample.is_single for sample, _ in shown)
    over = "cases, whose transcripts are not independent" if clustered else "transcripts"
    return f"95 % intervals over {over}: {', '.join(words)}."
