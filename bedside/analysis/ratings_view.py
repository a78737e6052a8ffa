"""What agreement, comparison and reports start from: ratings with the scale of each metric and the factors."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, TypeVar

import polars as pl

from bedside.analysis.case_values import mean_in_group
from bedside.analysis.metric_facts import LevelShare, MetricFacts, facts, known_names, known_scale
from bedside.analysis.plan_draws import ratings_as_drawn
from bedside.analysis.study_parts import (
    ALL_ROUNDS,
    SYNTHETIC,
    AveragedFactor,
    StudyOrder,
    StudyPart,
    averaged_factors,
    check_one_kind,
    checked_factor,
    checked_match,
    levels_of,
    ratings_of_rounds,
    study_order,
    transcripts_where,
    with_kinds,
)
from bedside.core.errors import DataError, InputError, nearest
from bedside.judges.rubrics.rubric import Rubric
from bedside.judges.rubrics.rubric_files import OwnRubrics, own_rubrics
from bedside.ratings.names import rated_by_humans, rates_pair, second_ids
from bedside.ratings.rating_content import Frame, is_frame
from bedside.ratings.rating_files import RatingFile, read_rating_file, read_rating_frame, sheets_of, tell_of
from bedside.ratings.rating_reading import RatingReading
from bedside.ratings.rubric_metrics import FinalLabels, audited_rubrics, final_labels, is_final, without_audits
from bedside.ratings.run import Run
from bedside.ratings.scales import Scale
from bedside.ratings.spellings import folded, metric_key
from bedside.ratings.study_design import Matching, conditions_of, kinds_of, matching
from bedside.ratings.suites.run_suites import suites_of
from bedside.ratings.table import SCHEMA
from bedside.transcripts.factor_kinds import Kind

#: The group of raters that all people make up in a table of results.
PEOPLE = "people"
#: Stands for the system of transcripts that have none, and for all systems together.
ALL = "all"
#: Where ratings are: a run or its folder, a file, what was read from one, or a data frame.
RatingSource = Run | RatingFile | str | os.PathLike[str] | Frame
#: What :meth:`RatingsView.once` computes.
Computed = TypeVar("Computed")


@dataclass(frozen=True, slots=True)
class RatingsView:
    """Ratings and what is needed to read them.

    Attributes:
        ratings: a ratings table, without preferences between transcripts.
        scales: the scale of each metric that has one.
        factors: a column for each factor, by ``transcript_id``; None where the ratings are a plain file.
        name: the run or file, for messages.
        run: the run; None where the ratings are a plain file.
        rubrics: the rubrics of the user's own that the run was judged by.
        reference: a reference corpus that systems are held against; None where none is named.
        part: the part of the study that was chosen; ratings and factors hold no more than it.
        learnt: by rater and metric, units whose ratings :mod:`bedside.analysis.fresh_view` took away.
        preferences: the rows of the ratings table that are preferences (:mod:`bedside.ratings.rubric_metrics`): they
            rate no transcript by itself, and so no other question is put to them.
        final: final labels of units on which people differed (:mod:`bedside.ratings.rubric_metrics`), under the metrics
            they are by. No agreement of people counts them; they stand for what people say together.
        order: the order and the labels of systems and of levels of factors.
        declared: kinds of factors as whoever scored the run declared them.
        shares: metrics whose labels have become 1 and 0 (:func:`bedside.analysis.label_numbers.with_shares`).
        placed: where groups of transcripts stand in the place of systems: every transcript, with its group as system.
    """

    ratings: pl.DataFrame
    scales: Mapping[str, Scale]
    factors: pl.DataFrame | None
    name: str
    run: Run | None = None
    rubrics: OwnRubrics = field(default_factory=dict)
    reference: RatingsView | None = None
    part: StudyPart = field(default_factory=StudyPart)
    learnt: Mapping[tuple[str, str], int] = field(default_factory=dict)
    preferences: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=SCHEMA))
    final: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=SCHEMA))
    order: StudyOrder = field(default_factory=StudyOrder)
    declared: Mapping[str, Kind] = field(default_factory=dict)
    shares: Mapping[str, LevelShare] = field(default_factory=dict)
    placed: pl.DataFrame | None = None
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
        share, scale = self.shares.get(name), self.scales.get(name)
        if share is not None:
            own = facts(name, self.rubrics)
            return replace(own, title=f"{own.title}: {share.level}", direction=share.direction, labels=())
        return facts(name, self.rubrics, () if scale is None else scale.levels)

    def value_ends(self, name: str) -> tuple[float, float] | None:
        """The least and the greatest number that a metric can have; None where one of them isn't known."""
        scale, of_metric = self.scales.get(name), self.facts(name)
        if scale is not None and scale.ordered and scale.numeric:
            return float(scale.levels[0]), float(scale.levels[-1])
        return None if of_metric.low is None or of_metric.high is None else (of_metric.low, of_metric.high)

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
                    f"no metric {pattern!r} is rated", where=self.name, todo=nearest(pattern, self._metric_names())
                )
            chosen.update(dict.fromkeys(matching))
        return list(chosen)

    def metrics_like(self, pattern: str) -> list[str]:
        """Metrics that are rated and match a pattern, as :meth:`metrics` reads it; empty where none does.

        Where none does, those that it names in another spelling: a sheet's ``Empathy`` is read as ``empathy``.
        """
        names = self._metric_names()
        among = names if "." in pattern else without_audits(names)
        matching = [name for name in among if fnmatch.fnmatchcase(name, pattern) or name.partition(".")[0] == pattern]
        return matching or [name for name in among if metric_key(name) == metric_key(pattern)]

    def agreed_metrics(self, patterns: Sequence[str] | None = None) -> list[str]:
        """Metrics that raters may agree on: those that match, or unless named those that somebody rates.

        In a run these have a scale, stand in a file that was imported, or are what a sheet's mean or points come to;
        what else is computed of ratings or texts, such as a percentage, is left out.

        Raises:
            DataError: a pattern matches no metric.
        """
        names = self.metrics(patterns)
        if patterns is not None or self.factors is None:
            return names
        of_files = set() if self.run is None else _metrics_of_files(self.run)
        return [name for name in names if name in self.scales or name in of_files or self._is_computed(name)]

    def _is_computed(self, name: str) -> bool:
        """Whether a metric is the mean of a sheet, or points, in all or by tag."""
        return any(
            (rubric.aggregate is not None and rubric.aggregate.name == name)
            or (rubric.points is not None and f"{name}_".startswith(f"{rubric.name}_"))
            for rubric in self.rubrics.values()
        )

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
        # Who only settled what others said can be named, too, and is then one of the people whose word counts.
        names = sorted({*names, *self.final["rater"]})
        for pattern in patterns:
            if not any(fnmatch.fnmatchcase(name, pattern) for name in names):
                raise DataError(f"no rater matches {pattern!r}", where=self.name, todo=nearest(pattern, names))
        return [name for name in names if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)]

    def final_labels(self, metric: str) -> FinalLabels:
        """The final label of each unit that was adjudicated by a metric; None where a flow's gives no result."""
        rows = self.final.filter(pl.col("metric") == metric)
        return {
            (transcript, unit): value if label is None else label
            for transcript, unit, value, label in rows.select("transcript_id", "unit", "value", "label").iter_rows()
        }

    def open_walks(self, flow: Rubric) -> Mapping[tuple[str, str], str]:
        """Unit that was adjudicated by a flow → the question at which the walk of its final answers is open."""
        from bedside.judges.rubric_ratings import walk_by

        open_at: dict[tuple[str, str], str] = {}
        for _, row, own in _final_answers(self.final, self.ratings, {flow.name: flow}):
            at = walk_by(flow, own).at
            if at is not None:
                open_at[row["transcript_id"], row["unit"]] = flow.questions[at].id
        return open_at

    @property
    def compared(self) -> str:
        """What is compared, as a noun: systems, unless groups stand in their place."""
        return "system" if self.part.groups is None else "group"

    def systems(self) -> list[str]:
        """Systems, in the order of tables."""
        return self.order.ordered_systems(self.ratings["system"].drop_nulls().unique())

    def transcripts(self) -> pl.DataFrame:
        """Every transcript of the part that was chosen, rated or not: ``transcript_id, system, case_id``.

        Of a plain file of ratings, those that are rated.
        """
        columns = ("transcript_id", "system", "case_id")
        if self.run is None or self.factors is None:
            return self.ratings.select(columns).unique(maintain_order=True)
        every = self.placed
        if every is None:
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
        preferences = self.preferences.filter(
            pl.col("transcript_id").is_in(factors["transcript_id"].implode())
            & second_ids().is_in(factors["transcript_id"].implode())
        )
        chosen = {**self.part.where, **{name: tuple(values) for name, values in levels.items()}}
        part = replace(self.part, where=chosen)
        final = self.final.join(factors.select("transcript_id"), on="transcript_id", how="semi")
        return replace(self, ratings=ratings, factors=factors, part=part, preferences=preferences, final=final)

    def by_level(self, factor: str) -> dict[str, RatingsView]:
        """The view of the transcripts of each level of a factor, by the level.

        Raises:
            DataError: there is no such factor.
        """
        factors = checked_factor(self.factors, factor, self.name)
        levels = self.order.ordered_levels(factor, levels_of(factors, factor))
        return {level: self.where({factor: (level,)}) for level in levels}

    def averaged_factors(
        self, metrics: Iterable[str] | None = None, systems: Iterable[str] | None = None
    ) -> tuple[AveragedFactor, ...]:
        """What an answer averages over: conditions that vary within a system and case.

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
            return averaged_factors(transcripts.collect(), self.factors, self._conditions(), self.order.ordered_levels)

        return self.once(("averaged factors", names, only), compute)

    def kinds(self) -> dict[str, Kind | None]:
        """The kind of each factor; None where only the design of the study can tell."""
        return self.once("kinds of factors", lambda: kinds_of(self.factors, self.declared))

    def matching(self, systems: Sequence[str]) -> Matching:
        """By which factors systems are matched: the same for every question that holds them against each other.

        Raises:
            DataError: it isn't known whether they are to be matched by a factor of many levels.
        """
        if self.factors is None:
            return Matching()
        return self.once(
            ("matching", *systems), lambda: matching(self._placed(), self.kinds(), systems, self.part.match, self.name)
        )

    def _conditions(self) -> tuple[str, ...]:
        """The factors that are conditions, of all systems together."""
        return self.once("conditions", lambda: conditions_of(self._placed(), self.kinds()))

    def _placed(self) -> pl.DataFrame:
        """Every transcript of the part that was chosen, with its factors."""
        transcripts = self.transcripts().with_columns(pl.col("system").fill_null(ALL))
        if self.factors is None:
            return transcripts
        # A column of the same name as one of these says no more than it.
        factors = self.factors.drop("system", "case_id", strict=False)
        return transcripts.join(factors, on="transcript_id", how="inner")

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
            return sets.filter(pl.col("n") > 1).select(pl.col("metric").unique().sort()).collect()["metric"].to_list()

        return self.once("label sets", compute)

    def rater_group(self) -> pl.Expr:
        """The group of each row's rater: :data:`PEOPLE` for ratings of one thing, else the rater's own name."""
        together = rated_by_humans() & ~pl.col("metric").is_in(self.label_sets())
        return pl.when(together).then(pl.lit(PEOPLE)).otherwise(pl.col("rater"))

    def transcript_values(self, metrics: Iterable[str]) -> pl.DataFrame:
        """One value for each transcript, metric and group of raters.

        A rater's passes are averaged, and then, among people, raters: see :meth:`label_sets` for where they are not.
        Where people's ratings were adjudicated, the final label stands in place of their mean.
        Columns: ``transcript_id, system, case_id, metric, group,
        value, error``; ``group`` is a rater's name, or :data:`PEOPLE`. Where nobody of the group gave a value,
        ``value`` is null and ``error`` says why.
        """
        columns = ("transcript_id", "system", "case_id", "metric", "group", "value", "error")
        rated = (
            self.ratings.lazy()
            .filter(pl.col("unit") == "transcript", pl.col("metric").is_in(list(metrics)), pl.col("label").is_null())
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
            mean_in_group("value"),
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
        return pl.concat([rated.filter(single).select(columns), self._settled(averaged)])

    def _settled(self, values: pl.DataFrame) -> pl.DataFrame:
        """Values of transcripts with the final label in place of people's mean, where there is one."""
        final = self.final.filter(pl.col("unit") == "transcript", pl.col("label").is_null())
        if final.is_empty():
            return values
        settled = final.select(
            "transcript_id", "metric", pl.lit(PEOPLE).alias("group"), pl.col("value").alias("_"),
            pl.col("error").alias("why"), pl.lit(True).alias("final"),
        )  # fmt: skip
        joined = values.join(settled, on=("transcript_id", "metric", "group"), how="left", maintain_order="left")
        return joined.with_columns(
            pl.when("final").then("_").otherwise("value").alias("value"),
            pl.when("final").then("why").otherwise("error").alias("error"),
        ).drop("_", "why", "final")


def open_ratings_view(
    source: RatingSource,
    *,
    scales: Mapping[str | None, Scale] | None = None,
    columns: Mapping[str, str] | None = None,
    metric: str | None = None,
    rounds: Sequence[str] | None = None,
    where: Mapping[str, Sequence[str]] | None = None,
    match: Sequence[str] | None = None,
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
        match: the factors by which systems are matched; :data:`~bedside.analysis.study_parts.NO_MATCH` for none. Unless
            given, what :func:`~bedside.ratings.study_design.matching` says.
        one_kind: whether no system may have simulated conversations beside others, unless ``where`` names both kinds.

    Raises:
        InputError: it is none of these, or a file or data frame of another form.
        RunError: there is no such run or file.
        DataError: there is no such round, factor or level; a factor to match by is an outcome; no round is named, and
            people rated a metric in several; or a system has simulated conversations and others.
    """
    view = _whole_view(source, scales=scales, columns=columns, metric=metric)
    ratings = ratings_of_rounds(view.ratings, rounds, view.name)
    part = StudyPart(rounds=tuple(rounds or ()) if ALL_ROUNDS not in (rounds or ()) else (ALL_ROUNDS,))
    of_pairs = ratings.select(rates_pair()).to_series()
    if of_pairs.any():
        view = replace(view, preferences=ratings.filter(of_pairs))
        ratings = ratings.filter(~of_pairs)
    if ratings.select(is_final().any()).item():
        final, ratings = final_labels(ratings, view.name), ratings.filter(~is_final())
        view = replace(view, final=with_computed(final, ratings, view.rubrics))
    chosen = replace(view, ratings=ratings, part=part).where(where or {})
    if one_kind and SYNTHETIC not in chosen.part.where:
        check_one_kind(chosen.transcripts(), chosen.factors, chosen.name)
    if match is None:
        return chosen
    by = checked_match(match, chosen.factors, chosen.kinds(), chosen.name)
    return replace(chosen, part=replace(chosen.part, match=by))


#: The reason of a final label that follows from those of the parts of a sheet or flow.
_COMPUTED = "computed of the final answers to its parts"
_OF_UNIT = ("transcript_id", "unit", "metric")


def with_computed(
    final: pl.DataFrame,
    ratings: pl.DataFrame,
    rubrics: OwnRubrics,
    shares: Mapping[str, LevelShare] = MappingProxyType({}),
) -> pl.DataFrame:
    """Final labels, with the means of sheets and the results of flows that follow from those of their parts.

    A mean needs all its criteria, a flow all questions of its walk: else what people have themselves stands. A result
    that the final answers don't give, such as what isn't relevant, is a final label that is missing; so is what they
    leave open and nobody has a result of.

    Args:
        final: final labels, by their rubrics; those that were computed before are computed anew.
        ratings: all others.
        rubrics: the run's own rubrics.
        shares: metrics whose labels have become 1 and 0.
    """
    from bedside.judges.rubric_ratings import ratings_by_parts, walk_by

    final = final.filter(pl.col("reason").ne_missing(_COMPUTED))
    known = set(final.select(_OF_UNIT).iter_rows())
    rated = set(ratings.filter(rated_by_humans(), pl.col("error").is_null()).select(_OF_UNIT).iter_rows())
    rows: list[dict[str, Any]] = []
    for rubric, row, own in _final_answers(final, ratings, rubrics):
        kept = known | rated if rubric.kind == "flow" and walk_by(rubric, own).at is not None else known
        computed = list(ratings_by_parts(rubric, row["unit"], own))
        for _, metric, value, label, _, error in computed[len(rubric.questions) :]:
            if (row["transcript_id"], row["unit"], metric) in kept or (error and rubric.kind == "sheet"):
                continue
            if label is not None and metric in shares:
                value, label = float(label == shares[metric].level), None
            result = {"metric": metric, "value": value, "label": label, "error": error, "reason": _COMPUTED}
            rows.append({**row, **result})
    return pl.concat([final, pl.DataFrame(rows, schema=final.schema)]) if rows else final


def _final_answers(
    final: pl.DataFrame, ratings: pl.DataFrame, rubrics: OwnRubrics
) -> Iterator[tuple[Rubric, dict[str, Any], dict[str, float | str | None]]]:
    """Of each sheet and flow, the units with a final answer to a part: one such row, and the answers to all parts. One
    without counts as people have it together: a level by their mean, a label where they all gave it."""
    for rubric in rubrics.values():
        if rubric.kind != "flow" and rubric.aggregate is None:
            continue
        parts = pl.col("metric").is_in([part.name for part in rubric.question_rubrics])
        settled = final.filter(parts)
        if settled.is_empty():
            continue
        single = pl.when(pl.col("label").n_unique() == 1).then(pl.col("label").first())
        people = (
            ratings.filter(rated_by_humans(), parts, pl.col("error").is_null())
            .join(settled, on=("transcript_id", "unit"), how="semi")
            .group_by("transcript_id", "unit", "metric", "rater", maintain_order=True)
            .agg(pl.col("value").mean(), single)
            .group_by("transcript_id", "unit", "metric", maintain_order=True)
            .agg(pl.col("value").mean(), single)
        )
        said: dict[tuple[str, str], dict[str, float | str | None]] = {}
        for table in (people, settled.select(people.columns)):
            for transcript, unit, metric, value, label in table.iter_rows():
                if value is not None or label is not None:
                    said.setdefault((transcript, unit), {})[metric] = value if label is None else label
        for row in settled.unique(("transcript_id", "unit"), keep="first", maintain_order=True).to_dicts():
            yield rubric, row, said[row["transcript_id"], row["unit"]]


def _in_words(ratings: pl.DataFrame) -> dict[str, bool]:
    """Whether each metric has labels."""
    return dict(ratings.group_by("metric").agg(pl.col("label").is_not_null().any()).iter_rows())


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
        of_all = asked_scales.get(None)
        asked = {
            name: scale
            for name, words in _in_words(source.ratings).items()
            if (scale := asked_scales.get(name) or (None if words and of_all and of_all.numeric else of_all))
        }
        return RatingsView(source.ratings, {**source.scales, **asked}, None, source.name)
    if is_frame(source) or (isinstance(source, str | os.PathLike) and sheets_of(source)):
        how = RatingReading(scales=asked_scales, columns=columns or {}, metric=metric, known=known_names())
        file = (
            read_rating_file(source, how) if isinstance(source, str | os.PathLike) else read_rating_frame(source, how)
        )
        return RatingsView(file.ratings, file.scales, None, file.name)
    if not isinstance(source, Run | str | os.PathLike):
        raise InputError(
            f"ratings can't be read from what is of type {type(source).__name__}",
            todo="give a run, its folder, the path of a file, or a pandas or Polars data frame",
        )
    path = source.path if isinstance(source, Run) else source
    run = Run(path)
    tell_of(run)
    rubrics = own_rubrics(run)
    scale_by_metric = {
        name: Scale.from_json(levels) for entry in run.manifest["imports"] for name, levels in entry["scales"].items()
    }
    asked_scales = _scales_of_run(asked_scales, run)
    of_files = _metrics_of_files(run)
    for name, words in _in_words(run.ratings).items():
        scale = scale_by_metric.get(name) or known_scale(name, rubrics)
        # A scale for all is for what is rated on one, not for measurements.
        of_all = asked_scales.get(None)
        numeric = not words if scale is None else scale.numeric
        meant = of_all is not None and (scale is not None or name in of_files) and (numeric or not of_all.numeric)
        chosen = asked_scales.get(name) or (of_all if meant else scale)
        if chosen is not None:
            scale_by_metric[name] = chosen
    return RatingsView(
        ratings=ratings_as_drawn(run), scales=scale_by_metric, factors=with_kinds(run.factors), name=str(path), run=run,
        rubrics=rubrics, order=study_order(suites_of(run)), declared=run.declared_kinds,
    )  # fmt: skip


def _metrics_of_files(run: Run) -> set[str]:
    """The metrics that files brought into a run, and that nothing computes."""
    names = {name for entry in run.manifest["imports"] if "plan" not in entry for name in entry.get("metrics", ())}
    return {name for name in names if not facts(name).defined}


def _scales_of_run(asked: Mapping[str | None, Scale], run: Run) -> dict[str | None, Scale]:
    """Scales that were asked for, under the names of the run's metrics and with its labels, whatever their spelling.

    Raises:
        DataError: one is of a metric that isn't rated.
    """
    names = run.ratings["metric"].unique().sort().to_list() if asked.keys() - {None} else []
    scales: dict[str | None, Scale] = {}
    for typed, scale in asked.items():
        if typed is None:
            scales[None] = scale
            continue
        alike = [name for name in names if metric_key(name) == metric_key(typed)]
        if not alike:
            raise DataError(f"no metric {typed!r} is rated", where="`scales`", todo=nearest(typed, names))
        for name in [typed] if typed in names else alike:
            labels = run.ratings.filter(pl.col("metric") == name)["label"].drop_nulls().unique().to_list()
            scales.setdefault(name, _as_written(scale, labels))
    return scales


def _as_written(scale: Scale, labels: Sequence[str]) -> Scale:
    """A scale whose labels are spelt as ratings have them."""
    spelt = {folded(label): label for label in sorted(labels)}
    if scale.numeric:
        return scale
    levels = tuple(level if level in labels else spelt.get(folded(level), level) for level in map(str, scale.levels))
    return replace(scale, levels=levels) if len(set(levels)) == len(levels) else scale
