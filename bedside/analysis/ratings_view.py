"""What agreement, comparison and reports start from: ratings with the scale of each metric and the factors."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import polars as pl

from bedside.analysis.study_parts import (
    ALL_ROUNDS,
    SYNTHETIC,
    AveragedFactor,
    StudyPart,
    averaged_factors,
    check_one_kind,
    checked_factor,
    levels_of,
    ratings_of_rounds,
    transcripts_where,
    with_kinds,
)
from bedside.metrics import FAMILIES
from bedside.protocols.contract import PROTOCOLS
from bedside.ratings.audit_metrics import audited_rubrics, without_audits
from bedside.ratings.frames import FRAME, Frame, is_frame
from bedside.ratings.names import rated_by_humans
from bedside.ratings.rating_files import RatingFile, read_rating_file, read_rating_frame
from bedside.ratings.run import Run
from bedside.ratings.scales import Scale
from bedside.ratings.values import Direction
from bedside.rubrics.rubric import Rubric
from bedside.rubrics.rubric_files import RUBRICS
from bedside.rubrics.run_rubrics import OwnRubrics, own_rubrics
from bedside.support.errors import DataError, InputError
from bedside.support.registry import nearest

#: The group of raters that all people make up in a table of results.
PEOPLE = "people"
#: Stands for the system of transcripts that have none, and for all systems together.
ALL = "all"
#: Where ratings are: a run or its folder, a file, what was read from one, or a data frame.
RatingSource = Run | RatingFile | str | os.PathLike[str] | Frame
#: What :meth:`RatingsView.once` computes.
Computed = TypeVar("Computed")


@dataclass(frozen=True, slots=True)
class MetricFacts:
    """What is known of a metric by its name in the ratings table (with role).

    Attributes:
        name: the name.
        title: as in a table's row.
        group: the heading it stands under.
        direction: whether higher is better, lower is better, or neither.
        digits: decimals to print.
        order: position in tables; rubrics and other ratings come before what families define.
        labels: the labels of a nominal code.
        defined: whether a metric family defines it.
        labelled: whether it is computed from a rater's labels of the whole conversation, as protocols have them.
    """

    name: str
    title: str
    group: str
    direction: Direction = "none"
    digits: int = 2
    order: int = -1
    labels: tuple[str, ...] = ()
    defined: bool = False
    labelled: bool = False


@cache
def _family_metrics() -> Mapping[str, MetricFacts]:
    by_name: dict[str, MetricFacts] = {}
    of_labels = {protocol.family for protocol in PROTOCOLS.all().values()}
    for family in FAMILIES.all().values():
        for metric in family.metrics:
            roles = ("", *metric.roles) if metric.whole or not metric.roles else metric.roles
            for role in roles:
                name = f"{metric.name}.{role}" if role else metric.name
                title = f"{metric.title}, {role}" if role else metric.title
                by_name[name] = MetricFacts(
                    name=name,
                    title=title,
                    group=family.title,
                    direction=metric.direction,
                    digits=metric.digits,
                    order=len(by_name),
                    labels=metric.labels,
                    defined=True,
                    labelled=family.name in of_labels,
                )
    return by_name


_NONE: OwnRubrics = MappingProxyType({})


def facts(name: str, rubrics: OwnRubrics = _NONE) -> MetricFacts:
    """The facts of a metric or rubric, the user's own ``rubrics`` included; else its name in words."""
    of_family = _family_metrics().get(name)
    if of_family is not None:
        return of_family
    rubric = _rubric(name, rubrics)
    if rubric is not None:
        return MetricFacts(name, rubric.title, "Rubrics", rubric.direction, labels=rubric_labels(rubric))
    return MetricFacts(name, name.replace("_", " ").capitalize(), "Ratings")


def _rubric(name: str, rubrics: OwnRubrics) -> Rubric | None:
    if name in rubrics:
        return rubrics[name]
    return RUBRICS.load(name) if name in RUBRICS else None


def rubric_labels(rubric: Rubric) -> tuple[str, ...]:
    """The labels of a rubric that asks for one; none for other kinds."""
    scale = rubric.rating_scale()
    return tuple(str(level) for level in scale.levels) if scale is not None and not scale.ordered else ()


def known_scale(name: str, rubrics: OwnRubrics = _NONE) -> Scale | None:
    """The scale that a rubric, the user's own ``rubrics`` included, or a code brings with it."""
    rubric = _rubric(name, rubrics)
    if rubric is not None:
        return rubric.rating_scale()
    code = _family_metrics().get(name)
    return Scale(code.labels, False) if code is not None and code.labels else None


@dataclass(frozen=True, slots=True)
class MetricRatings:
    """A result on one metric.

    Attributes:
        facts: what is known of the metric where its ratings are from.
    """

    facts: MetricFacts

    @property
    def metric(self) -> str:
        """The metric's name."""
        return self.facts.name


@dataclass(frozen=True, slots=True)
class RatingsView:
    """Ratings and what is needed to read them.

    Attributes:
        ratings: a ratings table.
        scales: the scale of each metric that has one.
        factors: a column for each factor, by ``transcript_id``; None where the ratings are a plain file.
        name: the run or file, for messages.
        run: the run; None where the ratings are a plain file.
        rubrics: the rubrics of the user's own that the run was judged by.
        reference: a reference corpus that systems are held against; None where none is named.
        part: the part of the study that was chosen; ratings and factors hold no more than it.
    """

    ratings: pl.DataFrame
    scales: Mapping[str, Scale]
    factors: pl.DataFrame | None
    name: str
    run: Run | None = None
    rubrics: OwnRubrics = field(default_factory=dict)
    reference: RatingsView | None = None
    part: StudyPart = field(default_factory=StudyPart)
    _computed: dict[Hashable, Any] = field(init=False, repr=False, compare=False, default_factory=dict)

    def once(self, key: Hashable, compute: Callable[[], Computed]) -> Computed:
        """What ``compute`` returns, computed the first time only: a table and a figure may both show it.

        Args:
            key: names what is computed, and all that it depends on besides these ratings.
            compute: called where nothing was computed under the key yet.
        """
        if key not in self._computed:
            self._computed[key] = compute()
        computed: Computed = self._computed[key]
        return computed

    def facts(self, name: str) -> MetricFacts:
        """What is known of a metric, rubric or other rating by its name."""
        return facts(name, self.rubrics)

    def metrics(self, patterns: Sequence[str] | None = None) -> list[str]:
        """Metrics that are rated, in the order of tables; those that match one of the ``patterns``.

        A pattern without role matches all roles: ``smog`` stands for ``smog.clinician`` and ``smog.patient``. Audits
        are metrics only where a pattern with a dot names them, such as ``empathy.audited``: who has seen a judge's
        rating is no independent rater (:mod:`~bedside.analysis.audits`).

        Raises:
            DataError: a pattern matches no metric.
        """
        if patterns is None:
            return without_audits(self._metric_names())
        chosen: dict[str, None] = {}
        for pattern in patterns:
            matching = self.metrics_like(pattern)
            if not matching:
                raise DataError(
                    f"no metric {pattern!r} is rated",
                    where=self.name,
                    todo=nearest(pattern, self._metric_names()),
                )
            chosen.update(dict.fromkeys(matching))
        return list(chosen)

    def metrics_like(self, pattern: str) -> list[str]:
        """Metrics that are rated and match a pattern, as :meth:`metrics` reads it; empty where none does."""
        names = self._metric_names()
        return [
            name
            for name in (names if "." in pattern else without_audits(names))
            if fnmatch.fnmatchcase(name, pattern) or name.partition(".")[0] == pattern
        ]

    def audited_rubrics(self) -> list[str]:
        """The rubrics by which people audited a judge, in the order of tables."""
        return audited_rubrics(self._metric_names())

    def _metric_names(self) -> tuple[str, ...]:
        """Everything that is rated, audits too, in the order of tables."""

        def compute() -> tuple[str, ...]:
            names = self.ratings["metric"].unique()
            return tuple(sorted(names, key=lambda name: (self.facts(name).order, name)))

        return self.once("names of metrics", compute)

    def raters(self, patterns: Sequence[str] | None = None) -> list[str]:
        """Raters, sorted; those that match one of the ``patterns``, such as ``human:*``.

        Raises:
            DataError: a pattern matches no rater.
        """
        names = sorted(self.ratings["rater"].unique())
        if patterns is None:
            return names
        for pattern in patterns:
            if not fnmatch.filter(names, pattern):
                raise DataError(
                    f"no rater matches {pattern!r}", where=self.name, todo=nearest(pattern, names)
                )
        return [name for name in names if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)]

    def systems(self) -> list[str]:
        """Systems, sorted."""
        return sorted(self.ratings["system"].drop_nulls().unique())

    def transcripts(self) -> pl.DataFrame:
        """Every transcript of the part that was chosen, rated or not: ``transcript_id, system, case_id``.

        Of a plain file of ratings, those that are rated.
        """
        columns = ("transcript_id", "system", "case_id")
        if self.run is None or self.factors is None:
            return self.ratings.select(columns).unique(maintain_order=True)
        every = self.run.index.select(pl.col("id").alias("transcript_id"), "system", "case_id")
        return every.join(self.factors.select("transcript_id"), on="transcript_id", how="semi")

    def where(self, levels: Mapping[str, Sequence[str]]) -> RatingsView:
        """The view of those transcripts that have, of each factor named, one of the levels named.

        Raises:
            DataError: there is no such factor or level, or no such transcript.
        """
        if not levels:
            return self
        factors = transcripts_where(self.factors, levels, self.name)
        ratings = self.ratings.join(factors.select("transcript_id"), on="transcript_id", how="semi")
        chosen = {**self.part.where, **{name: tuple(values) for name, values in levels.items()}}
        return replace(self, ratings=ratings, factors=factors, part=replace(self.part, where=chosen))

    def by_level(self, factor: str) -> dict[str, RatingsView]:
        """The view of the transcripts of each level of a factor, by the level.

        Raises:
            DataError: there is no such factor.
        """
        factors = checked_factor(self.factors, factor, self.name)
        return {level: self.where({factor: (level,)}) for level in levels_of(factors, factor)}

    def averaged_factors(
        self, metrics: Iterable[str] | None = None, systems: Iterable[str] | None = None
    ) -> tuple[AveragedFactor, ...]:
        """What an answer averages over: factors that vary within a system and case.

        Args:
            metrics: what the answer is about; all that are rated unless named.
            systems: the systems it is about; all unless named.
        """
        names = None if metrics is None else tuple(sorted(set(metrics)))
        only = None if systems is None else tuple(sorted(set(systems)))

        def compute() -> tuple[AveragedFactor, ...]:
            rated = self.ratings.lazy()
            if names is not None:
                rated = rated.filter(pl.col("metric").is_in(names))
            if only is not None:
                rated = rated.filter(pl.col("system").fill_null(ALL).is_in(only))
            transcripts = rated.select("transcript_id", pl.col("system").fill_null(ALL), "case_id").unique()
            return averaged_factors(transcripts.collect(), self.factors)

        return self.once(("averaged factors", names, only), compute)

    def label_sets(self) -> list[str]:
        """Metrics computed from labels, of which several people's sets lie over some transcript.

        What one person labelled may be something else than what the other did, such as other findings: their values
        are not averaged.
        """

        def compute() -> list[str]:
            names = [name for name in self.ratings["metric"].unique() if self.facts(name).labelled]
            if not names:
                return []
            labelled = self.ratings.lazy().filter(
                pl.col("metric").is_in(names), rated_by_humans(), pl.col("value").is_not_null()
            )
            sets = labelled.group_by("metric", "transcript_id").agg(pl.col("rater").n_unique().alias("n"))
            return (
                sets.filter(pl.col("n") > 1)
                .select(pl.col("metric").unique().sort())
                .collect()["metric"]
                .to_list()
            )

        return self.once("label sets", compute)

    def rater_group(self) -> pl.Expr:
        """The group of each row's rater: :data:`PEOPLE` for ratings of one thing, else the rater's own name."""
        together = rated_by_humans() & ~pl.col("metric").is_in(self.label_sets())
        return pl.when(together).then(pl.lit(PEOPLE)).otherwise(pl.col("rater"))

    def transcript_values(self, metrics: Iterable[str]) -> pl.DataFrame:
        """One value for each transcript, metric and group of raters.

        A rater's passes are averaged, and then, among people, raters: see :meth:`label_sets` for where they are not.
        Columns: ``transcript_id, system, case_id, metric, group,
        value, error``; ``group`` is a rater's name, or :data:`PEOPLE`. Where nobody of the group gave a value,
        ``value`` is null and ``error`` says why.
        """
        columns = ("transcript_id", "system", "case_id", "metric", "group", "value", "error")
        rated = (
            self.ratings.lazy()
            .filter(
                pl.col("unit") == "transcript",
                pl.col("metric").is_in(list(metrics)),
                pl.col("label").is_null(),
            )
            .with_columns(self.rater_group().alias("group"))
            .collect()
        )
        # In a run, a rater with one pass has one rating of each: most of a large run, and nothing to average.
        passes = rated.group_by("rater").agg(pl.col("replicate").max())
        once: list[str] = []
        if self.run is not None:
            once = passes.filter(pl.col("replicate") == 0, ~rated_by_humans())["rater"].to_list()
        single = pl.col("rater").is_in(once)
        mean = (
            pl.col("system").first(),
            pl.col("case_id").first(),
            pl.col("value").mean(),
            pl.col("error").drop_nulls().first(),
        )
        keys = ("transcript_id", "metric", "group")
        several = rated.lazy().filter(~single)
        together = pl.col("group") == PEOPLE
        people = several.filter(together).group_by(*keys, "rater", maintain_order=True).agg(mean)
        averaged = (
            pl.concat([people, several.filter(~together).select(people.collect_schema().names())])
            .group_by(keys, maintain_order=True)
            .agg(mean)
            .with_columns(pl.when(pl.col("value").is_null()).then(pl.col("error")).alias("error"))
            .select(columns)
            .collect()
        )
        return pl.concat([rated.filter(single).select(columns), averaged])


def open_ratings_view(
    source: RatingSource,
    *,
    scales: Mapping[str | None, Scale] | None = None,
    columns: Mapping[str, str] | None = None,
    metric: str | None = None,
    rounds: Sequence[str] | None = None,
    where: Mapping[str, Sequence[str]] | None = None,
    one_kind: bool = True,
) -> RatingsView:
    """A view of ratings from a run, from a plain file of ratings, or from a data frame.

    Args:
        source: the run or its folder, the file, what was read from one, or the pandas or Polars data frame.
        scales: scales that go before those kept in the run; under None the one of all metrics.
        columns: for a file or data frame, bedside's column names to its own.
        metric: for a file or data frame without a column for it, the metric's name.
        rounds: the rounds of annotation whose ratings by people count, or
            :data:`~bedside.analysis.study_parts.ALL_ROUNDS`; without them, people must have rated each metric in one.
        where: levels of factors, by factor: only transcripts that have them count.
        one_kind: whether no system may have simulated conversations beside others, unless ``where`` names both kinds.

    Raises:
        InputError: it is none of these, or a file or data frame of another form.
        RunError: there is no such run or file.
        DataError: there is no such round, factor or level; no round is named, and people rated a metric in several; or
            a system has simulated conversations and others.
    """
    view = _whole_view(source, scales=scales, columns=columns, metric=metric)
    ratings = ratings_of_rounds(view.ratings, rounds, view.name)
    part = StudyPart(rounds=tuple(rounds or ()) if ALL_ROUNDS not in (rounds or ()) else (ALL_ROUNDS,))
    chosen = replace(view, ratings=ratings, part=part).where(where or {})
    if one_kind and SYNTHETIC not in chosen.part.where:
        check_one_kind(chosen.transcripts(), chosen.factors, chosen.name)
    return chosen


def _whole_view(
    source: RatingSource,
    *,
    scales: Mapping[str | None, Scale] | None,
    columns: Mapping[str, str] | None,
    metric: str | None,
) -> RatingsView:
    """The view of all ratings, as :func:`open_ratings_view` reads them."""
    asked_scales = dict(scales or {})
    if isinstance(source, RatingFile):
        names = source.ratings["metric"].unique()
        asked = {name: scale for name in names if (scale := asked_scales.get(name) or asked_scales.get(None))}
        return RatingsView(source.ratings, {**source.scales, **asked}, None, source.name)
    if is_frame(source):
        table = read_rating_frame(
            source, scales=asked_scales, columns=columns, metric=metric, known_scale=known_scale
        )
        return RatingsView(table.ratings, table.scales, None, FRAME)
    if not isinstance(source, Run | str | os.PathLike):
        raise InputError(
            f"ratings can't be read from what is of type {type(source).__name__}",
            todo="give a run, its folder, the path of a file, or a pandas or Polars data frame",
        )
    path = source.path if isinstance(source, Run) else source
    if Path(path).is_file():
        file = read_rating_file(
            path, scales=asked_scales, columns=columns, metric=metric, known_scale=known_scale
        )
        return RatingsView(file.ratings, file.scales, None, str(path))
    run = Run(path)
    rubrics = own_rubrics(run)
    scale_by_metric = {
        name: Scale.from_json(levels)
        for entry in run.manifest["imports"]
        for name, levels in entry["scales"].items()
    }
    for name in run.ratings["metric"].unique():
        scale = scale_by_metric.get(name) or known_scale(name, rubrics)
        # A scale for all is for what is rated on one, not for measurements.
        chosen = asked_scales.get(name) or (asked_scales.get(None) if scale is not None else None) or scale
        if chosen is not None:
            scale_by_metric[name] = chosen
    return RatingsView(
        ratings=run.ratings, scales=scale_by_metric, factors=with_kinds(run.factors), name=str(path), run=run,
        rubrics=rubrics,
    )  # fmt: skip
