"""What the cells of a table are made of: measures as a suite names them, and their values by system and stratum."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np
import polars as pl
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from bedside.analysis.comparison import SystemValues
from bedside.analysis.ratings_view import ALL, PEOPLE, RatingsView
from bedside.ratings.values import Direction
from bedside.support.errors import DataError
from bedside.support.registry import nearest

#: Stands for the value of a factor that a transcript doesn't have.
WITHOUT = "none given"
#: Begins the names of the columns that hold factors.
_FACTOR = "factor:"
ARROWS: Mapping[Direction, str] = {"higher": " ↑", "lower": " ↓", "none": ""}
Level = Literal["mean", "micro"]


class TableMeasure(BaseModel):
    """One measure of a table: a metric's mean over transcripts, or a ratio of sums over them.

    Attributes:
        metric: the metric; without role it stands for all roles. Of a ratio of sums it gives direction, title and
            digits, and its values are what tests compare.
        title: as in the row; the metric's own unless given.
        digits: decimals to print; the metric's own unless given.
        percent: print a share as per cent.
        sum: metrics whose values are summed over transcripts, for the numerator.
        over: the same for the denominator.
        times: factor on the numerator.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    metric: str
    title: str | None = None
    digits: int | None = Field(default=None, ge=0, le=6)
    percent: bool = False
    sum: tuple[str, ...] = ()
    over: tuple[str, ...] = ()
    times: float = 1.0

    @model_validator(mode="after")
    def _both_sums(self) -> TableMeasure:
        if bool(self.sum) != bool(self.over):
            raise ValueError("a ratio of sums needs both: sum and over")
        return self


def _measure(value: Any) -> Any:
    return {"metric": value} if isinstance(value, str) else value


def _headed(value: Any) -> Any:
    return value if isinstance(value, Mapping) else {"": value}


MeasureEntry = Annotated[TableMeasure, BeforeValidator(_measure)]
#: Measures under headings; a bare list stands under the metrics' own headings.
Headed = Annotated[Mapping[str, tuple[MeasureEntry, ...]], BeforeValidator(_headed)]


@dataclass(frozen=True, slots=True)
class MeasureRow:
    """One measure under one group of raters: what makes a row (or column) of numbers.

    Attributes:
        metric: name in the ratings table.
        group: people, or a rater's name.
        title: with the raters where several groups gave values.
        heading: what it stands under; where the suite gives none, the metric's own.
        headed: whether the suite gives one.
        level: a mean over transcripts, or a ratio of sums over them.
        digits: decimals to print.
        scale: what a value is multiplied by to be printed.
        direction: whether higher is better, lower is better, or neither.
        key: what names it in a cell's name.
    """

    metric: str
    group: str
    title: str
    heading: str
    headed: bool
    level: Level
    digits: int
    scale: float
    direction: Direction
    key: str


@dataclass(frozen=True, slots=True)
class Sample(SystemValues):
    """The values behind one cell.

    Attributes:
        values: one for each transcript that has one. Of a ratio of sums, the linearised values whose mean is the ratio
            and whose spread is that of the ratio.
        cases: a number for the case of each value, the same in all samples of an item; −1 where it has none.
        missing: transcripts without a value.
        why: the most frequent reason.
        estimate: the mean or ratio; None where there is none.
        sd: standard deviation (n − 1) of a mean's values; None of a ratio, or of fewer than two.
        numerator, denominator: the sums of a ratio.
    """

    missing: int = 0
    why: str | None = None
    estimate: float | None = None
    sd: float | None = None
    numerator: float | None = None
    denominator: float | None = None

    @property
    def n(self) -> int:
        """Transcripts with a value."""
        return int(self.values.size)


#: Key of a sample: system, and the values of the factors.
Place = tuple[str, tuple[str, ...]]
Samples = Mapping[Place, Sample]


@dataclass(frozen=True, slots=True)
class MeasuredRows:
    """What :func:`measure` found.

    Attributes:
        items: those with a value somewhere, each with its samples.
        empty: titles of those that are rated but have no value anywhere, with the reason.
        valueless: metric, group of raters and samples of these.
        absent: metrics that are not rated at all.
    """

    items: tuple[tuple[MeasureRow, Samples], ...]
    empty: Mapping[str, str]
    valueless: tuple[tuple[str, str, Samples], ...]
    absent: tuple[str, ...]


def rater_words(group: str) -> str:
    """How a group of raters is named in a row: people, or an algorithm or judge without its kind."""
    return group if group == PEOPLE else group.partition(":")[2]


def several_raters(pairs: Collection[tuple[str, str]]) -> frozenset[str]:
    """The metrics that several groups of raters rated, given (metric, group) of each."""
    metrics = [metric for metric, _ in pairs]
    return frozenset(metric for metric in metrics if metrics.count(metric) > 1)


def cell_name(metric: str, group: str, several: Collection[str], *rest: str) -> str:
    """The name of a cell: the metric, its raters where ``several`` rated it, and what else it is of."""
    return "/".join((f"{metric}@{group}" if metric in several else metric, *rest))


def matching(view: RatingsView, metric: str) -> list[str]:
    """The metrics in the ratings that a measure's name stands for."""
    try:
        return view.metrics([metric])
    except DataError:
        return []


def measure(
    view: RatingsView,
    headed: Mapping[str, Sequence[TableMeasure]],
    *,
    by: Sequence[str] = (),
    pool: bool = False,
    case_level: bool = False,
) -> MeasuredRows:
    """The samples of each measure, by system and by the values of the factors.

    Passes, and among people raters, are averaged for each transcript first.

    Args:
        view: the ratings.
        headed: the measures under their headings; under the empty heading a measure has its metric's own.
        by: factors.
        pool: take all systems together.
        case_level: after each ratio of sums, also the mean of the transcripts' own values.

    Raises:
        DataError: the transcripts have no such factor.
    """
    strata = strata_of(view, by)
    if pool:
        view = replace(view, ratings=view.ratings.with_columns(system=pl.lit(ALL)))
    wanted, absent = _wanted(view, headed, case_level)
    means = {metric for _, metric, one in wanted if not one.sum}
    found: dict[tuple[str, ...], dict[Place, Sample]] = {}
    for key, place, part in _parts(view.transcript_values(sorted(means)), ("metric", "group"), strata):
        found.setdefault(key, {})[place] = _mean_sample(part)
    rows: list[tuple[str, str, TableMeasure, str, Samples]] = []
    for heading, metric, one in wanted:
        by_group = (
            _ratios(view, one, strata)
            if one.sum
            else {group: samples for (name, group), samples in found.items() if name == metric}
        )
        for group in sorted(by_group, key=lambda name: (name != PEOPLE, name)):
            rows.append((heading, metric, one, group, by_group[group]))
    return _items(view, rows, absent, case_level)


def _wanted(
    view: RatingsView, headed: Mapping[str, Sequence[TableMeasure]], case_level: bool
) -> tuple[list[tuple[str, str, TableMeasure]], list[str]]:
    """Heading, metric and measure of each row, and the metrics that nobody rated."""
    rated = set(view.ratings["metric"].unique())
    wanted: list[tuple[str, str, TableMeasure]] = []
    absent: dict[str, None] = {}
    for heading, measures in headed.items():
        for one in measures:
            if one.sum:
                lacking = [name for name in (*one.sum, *one.over) if name not in rated]
                absent.update(dict.fromkeys(lacking))
                if not lacking:
                    wanted.append((heading, one.metric, one))
                if not case_level:
                    continue
                one = one.model_copy(update={"sum": (), "over": ()})
            names = [one.metric] if one.metric in rated else matching(view, one.metric)
            if not names:
                absent[one.metric] = None
            wanted += [(heading, name, one) for name in names]
    return wanted, list(absent)


def strata_of(view: RatingsView, by: Sequence[str]) -> pl.DataFrame | None:
    """One row a transcript: its id, and a column for each factor; None where no factor is asked for."""
    if not by:
        return None
    factors = view.factors
    known = [] if factors is None else [name for name in factors.columns if name != "transcript_id"]
    for name in by:
        if name not in known:
            raise DataError(
                f"no transcript has the factor {name!r}", where=view.name, todo=nearest(name, known)
            )
    assert factors is not None
    return factors.select(
        "transcript_id",
        *(pl.col(name).fill_null(WITHOUT).alias(f"{_FACTOR}{i}") for i, name in enumerate(by)),
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
    for found, part in placed.partition_by(
        names, as_dict=True, include_key=False, maintain_order=True
    ).items():
        key, (system, *stratum) = found[: len(keys)], found[len(keys) :]
        yield tuple(map(str, key)), (str(system), tuple(map(str, stratum))), part


def _mean_sample(part: pl.DataFrame) -> Sample:
    there = part.filter(pl.col("value").is_not_null())
    values = there["value"].to_numpy()
    lacking = part.filter(pl.col("value").is_null())["error"].drop_nulls()
    return Sample(
        values=values,
        cases=there["case"].to_numpy(),
        missing=part.height - there.height,
        why=lacking.mode().sort()[0] if lacking.len() else None,
        estimate=float(values.mean()) if values.size else None,
        sd=float(values.std(ddof=1)) if values.size > 1 else None,
    )


def _ratios(
    view: RatingsView, one: TableMeasure, strata: pl.DataFrame | None
) -> dict[str, dict[Place, Sample]]:
    """A ratio of sums over transcripts, by group of raters and place.

    A transcript's sums are means over its passes, of those passes that have all the metrics.
    """
    needed = sorted({*one.sum, *one.over})
    people = pl.col("rater").str.starts_with("human:")
    wide = (
        view.ratings.filter(pl.col("unit") == "transcript", pl.col("metric").is_in(needed))
        .with_columns(pl.when(people).then(pl.lit(PEOPLE)).otherwise(pl.col("rater")).alias("group"))
        .pivot(
            on="metric",
            index=["transcript_id", "system", "case_id", "group", "rater", "replicate"],
            values="value",
            aggregate_function="first",
        )
    )
    if any(name not in wide.columns for name in needed):
        return {}
    whole = pl.all_horizontal(pl.col(name).is_not_null() for name in needed)
    passes = wide.group_by("transcript_id", "system", "case_id", "group", maintain_order=True).agg(
        pl.col(name).filter(whole).mean() for name in needed
    )
    sums = passes.select(
        "transcript_id",
        "system",
        "case_id",
        "group",
        (one.times * pl.sum_horizontal(one.sum, ignore_nulls=False)).alias("above"),
        pl.sum_horizontal(one.over, ignore_nulls=False).alias("below"),
    )
    found: dict[str, dict[Place, Sample]] = {}
    for (group,), place, part in _parts(sums, ("group",), strata):
        found.setdefault(group, {})[place] = _ratio_sample(part)
    return found


def _ratio_sample(part: pl.DataFrame) -> Sample:
    there = part.filter(pl.col("above").is_not_null())
    above, below = there["above"].to_numpy(), there["below"].to_numpy()
    missing = part.height - there.height
    sums = (float(above.sum()), float(below.sum()))
    if not below.sum():
        why = "the sum below the line is 0" if below.size else "not all of its parts are there"
        return Sample(
            np.empty(0), np.empty(0, dtype=int), part.height, why, numerator=sums[0], denominator=sums[1]
        )
    ratio = sums[0] / sums[1]
    return Sample(
        values=ratio + (above - ratio * below) / below.mean(),
        cases=there["case"].to_numpy(),
        missing=missing,
        why="not all of its parts are there" if missing else None,
        estimate=ratio,
        numerator=sums[0],
        denominator=sums[1],
    )


def _items(
    view: RatingsView,
    rows: Sequence[tuple[str, str, TableMeasure, str, Samples]],
    absent: Sequence[str],
    case_level: bool,
) -> MeasuredRows:
    giving = [row for row in rows if any(sample.n for sample in row[4].values())]
    having = {(row[1], bool(row[2].sum)) for row in giving}
    empty: dict[str, str] = {}
    for heading, metric, one, _, samples in rows:
        if (metric, bool(one.sum)) not in having:
            why = next((sample.why for sample in samples.values() if sample.why), "no value")
            title = one.title or view.facts(metric).title.partition(",")[0]
            empty.setdefault(f"{title} ({heading})" if heading and not one.title else title, why)
    result = []
    for heading, metric, one, group, samples in giving:
        known = view.facts(metric)
        title = one.title or known.title
        if one.title and "." in metric and "." not in one.metric:
            title += f", {metric.rpartition('.')[2]}"
        if one.percent and "%" not in title:
            title += " (%)"
        level: Level = "micro" if one.sum else "mean"
        if case_level and one.sum:
            title += ", micro"
        elif case_level and any(each.sum and each.metric == one.metric for _, _, each, _, _ in rows):
            title += ", case-level"
        several = len({row[3] for row in giving if (row[1], bool(row[2].sum)) == (metric, bool(one.sum))}) > 1
        digits = one.digits if one.digits is not None else 1 if one.percent else known.digits
        result.append(
            (
                MeasureRow(
                    metric=metric,
                    group=group,
                    title=f"{title} ({rater_words(group)})" if several else title,
                    heading=heading or known.group,
                    headed=bool(heading),
                    level=level,
                    digits=digits,
                    scale=100.0 if one.percent else 1.0,
                    direction=known.direction,
                    key=metric + (":micro" if one.sum else "") + (f"@{group}" if several else ""),
                ),
                samples,
            )
        )
    valueless = tuple((row[1], row[3], row[4]) for row in rows if (row[1], bool(row[2].sum)) not in having)
    return MeasuredRows(tuple(result), empty, valueless, tuple(absent))


def in_order(values: Sequence[str]) -> list[str]:
    """Values of a factor in order: numbers by size, words by letters, what is not given last."""

    def key(value: str) -> tuple[int, float, str]:
        if value == WITHOUT:
            return 2, 0.0, ""
        try:
            return 0, float(value), value
        except ValueError:
            return 1, 0.0, value

    return sorted(set(values), key=key)
