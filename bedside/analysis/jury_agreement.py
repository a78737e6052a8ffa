"""A jury: whether its members agree, how many ratings it reached, and whether one rater agrees better than another."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from bedside.analysis.agreement import agreement_sample
from bedside.analysis.agreement_statistics import AskedForms, ComparedRatings, MeasurementLevel, statistics_of
from bedside.analysis.checked_units import checked_units, drawn_ratings, grid_of
from bedside.analysis.choices import Weights
from bedside.analysis.fresh_view import fresh_view
from bedside.analysis.metric_facts import MetricRatings
from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.self_preference import judge_model
from bedside.core.errors import DataError, one_of
from bedside.ratings.juries import Jury, juries_in
from bedside.ratings.names import LABEL_FREE_WORDS, is_human, rated_by_humans
from bedside.stats.consensus import majority
from bedside.stats.result import Interval, Result
from bedside.stats.sampled_items import SampledItems
from bedside.stats.shares import share

# -- Does one rater agree with people better than another? Both on the same units -----------------------


@dataclass(frozen=True, slots=True)
class AgreementGain(MetricRatings):
    """How much better one rater agrees with people than another, on the units that both and a person rated.

    Attributes:
        facts, rater, other: the metric, and who is held against whom.
        units, cases, people: on how many it rests.
        own, others: either rater's agreement with people: the mean kappa with each person; on no scale, the mean
            distance from people's mean.
        gain: the difference with its interval by case, above 0 where the rater agrees better: of kappas, or of
            distances.
        by_kappa: whether it is of kappas.
    """

    rater: str
    other: str
    units: int
    cases: int
    people: int
    own: float | None
    others: float | None
    gain: Result
    by_kappa: bool

    @property
    def better(self) -> bool | None:
        """Whether the rater agrees better: its whole interval lies above 0; None where that can't be said.

        Two that say the same of every unit have no interval, and neither is better.
        """
        if self.gain.interval is None:
            return False if self.gain.estimate == 0 else None
        return self.gain.interval.low > 0


def agreement_gains(
    view: RatingsView, metric: str, rater: str, others: Sequence[str], *, weights: Weights | None = None
) -> tuple[AgreementGain, ...]:
    """How much better a rater agrees with people than each of others; those with no unit in common are left out.

    What a rater learnt from is no evidence and doesn't count, nor do units that were picked for what they are. Where
    units were drawn with known chances that differ, the difference is that of all they stand for.

    Args:
        view: the ratings.
        metric: the metric's name.
        rater: who is held against the others.
        others: raters that are no people.
        weights: of kappa on ordered scales; quadratic unless named.
    """
    fresh = fresh_view(view)
    gains = (_gain(fresh, metric, rater, other, weights) for other in others)
    return tuple(gain for gain in gains if gain is not None)


def _gain(view: RatingsView, metric: str, rater: str, other: str, weights: Weights | None) -> AgreementGain | None:
    of_metric = view.ratings.filter(pl.col("metric") == metric, pl.col("error").is_null())
    named = pl.col("rater").is_in([rater, other])
    ratings, picked = drawn_ratings(of_metric.filter(named | rated_by_humans()))
    if not {rater, other} <= set(ratings["rater"]):
        return None
    grid = grid_of(ratings)
    people = [place for place, name in enumerate(grid.raters) if is_human(name)]
    first, second = (grid.cells[:, grid.raters.index(name)] for name in (rater, other))
    human = grid.cells[:, people]
    counted = (first != None) & (second != None) & (human != None).any(axis=1)  # noqa: E711
    if not counted.any():
        return None
    clusters = agreement_sample(view, ratings, grid, picked).clusters(counted)
    scale = view.scales.get(metric)
    labels = any(isinstance(cell, str) for cell in human[counted].ravel())
    blank = AgreementGain(
        facts=view.facts(metric),
        rater=rater,
        other=other,
        units=int(counted.sum()),
        cases=len(set(grid.cases[counted])),
        people=int((human[counted] != None).any(axis=0).sum()),  # noqa: E711
        own=None,
        others=None,
        gain=Result(name="", method=""),
        by_kappa=labels or scale is not None,
    )
    if not blank.by_kappa:
        return _by_distance(blank, first[counted], second[counted], human[counted], clusters)
    from bedside.stats.kappa_gain import kappa_gain

    ordered = scale is not None and scale.ordered
    levels = scale.levels if scale is not None else tuple(sorted(set(grid.cells[counted].ravel()) - {None}))
    penalty = {None: "quadratic", "none": "unweighted"}.get(weights, weights) if ordered else "unweighted"
    if len(levels) < 2:
        return replace(blank, gain=Result(name="", method="", missing="everybody says the same"))
    gain = kappa_gain(first[counted], second[counted], human[counted], scale=levels, weights=penalty, clusters=clusters)
    details = gain.details
    return replace(blank, own=details.get("kappa of the first"), others=details.get("kappa of the second"), gain=gain)


def _by_distance(
    blank: AgreementGain,
    first: np.ndarray[Any, Any],
    second: np.ndarray[Any, Any],
    human: np.ndarray[Any, Any],
    clusters: np.ndarray[Any, Any] | SampledItems | None,
) -> AgreementGain:
    """The same of numbers on no scale: how much nearer people's mean one rater is than the other."""
    from bedside.stats.diagnostic_accuracy import surplus

    middle = np.nanmean(human.astype(np.float64), axis=1)
    near, far = (np.abs(numbers.astype(np.float64) - middle) for numbers in (first, second))
    sampled = isinstance(clusters, SampledItems)
    weights = clusters.weights if isinstance(clusters, SampledItems) else np.ones(len(near))
    members = clusters.clusters if isinstance(clusters, SampledItems) else clusters
    gain = surplus(far, near, clusters=members, weights=weights if sampled else None)
    return replace(
        blank,
        own=float(np.average(near, weights=weights)),
        others=float(np.average(far, weights=weights)),
        gain=replace(gain, name="difference of distances from people's mean"),
    )


def beats_all(gains: Sequence[AgreementGain]) -> bool | None:
    """Whether a rater agrees with people better than each of the others, and so better than the best of them.

    Nobody says beforehand which of them is best, and whoever looks best on the same units does so by luck, too. To beat
    all of them is to beat the best, and that all intervals lie above 0 errs no more often than one of them does.
    """
    if not gains or any(gain.better is None for gain in gains):
        return None
    return all(gain.better for gain in gains)


# -- A jury ---------------------------------------------------------------------------------------------


class LevelChance(NamedTuple):
    """How often a member gives a level to units of one true level, with the ends of its interval."""

    true: float | str
    given: float | str
    chance: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class MemberErrors:
    """How often a member of a jury errs, as its model tells from members' agreement alone, and as people say.

    Attributes:
        member: its name.
        reliability: the share of units whose level it gives, by the model.
        with_people: the same by people's ratings, where some rated; else None.
        chances: of each true level and each level given.
    """

    member: str
    reliability: Result
    with_people: Result | None
    chances: tuple[LevelChance, ...]


def model_family(rater: str) -> str:
    """The family of a judge's model, by its name: ``gpt`` of ``judge:openai/gpt-5-mini``."""
    model = judge_model(rater).rpartition("#")[2].rpartition("/")[2].lower()
    name = re.match(r"[a-z]*", model.removeprefix("chat"))
    return "gpt" if re.match(r"o\d", model) else name[0] if name else ""


def shared_families(members: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Members whose models are of one family, and so may make the same errors."""
    families: dict[str, list[str]] = {}
    for member in members:
        families.setdefault(model_family(member) or member, []).append(member)
    return tuple(tuple(several) for several in families.values() if len(several) > 1)


@dataclass(frozen=True, slots=True)
class JuryAgreement(MetricRatings):
    """What is known of a jury on one metric.

    Attributes:
        facts, jury: the metric, and the jury.
        units, cases: units that two members rated, and their cases.
        ratings: ratings that the jury reached.
        missing: why it reached none of other units, with how many.
        statistics: agreement among the members, by name as in
            :class:`~bedside.analysis.agreement.Agreement`; empty where no two rated the same.
        gains: the jury held against each member, on people's ratings of units that nobody learnt from; empty where
            people rated none.
        learnt: units that people rated and that are left out, because the jury learnt from them.
        errors: of a rule that tells members' errors from their agreement, those of each; else empty.
    """

    jury: Jury
    units: int
    cases: int
    ratings: int
    missing: Mapping[str, int]
    statistics: Mapping[str, Result]
    gains: tuple[AgreementGain, ...]
    learnt: int
    errors: tuple[MemberErrors, ...] = ()

    @property
    def weights(self) -> Mapping[str, float]:
        """Each member's weight."""
        return dict(zip(self.jury.members, self.jury.metrics[self.metric].weights, strict=True))

    @property
    def beats_best(self) -> bool | None:
        """Whether the jury agrees with people better than every member; None where that can't be said."""
        return beats_all(self.gains) if len(self.gains) == len(self.jury.members) else None


def jury_agreement(
    view: RatingsView, name: str, *, metrics: Sequence[str] | None = None, seed: int = 0
) -> tuple[JuryAgreement, ...]:
    """What is known of a jury, metric by metric.

    Args:
        view: the ratings of a run.
        name: the jury's.
        metrics: metrics or patterns; all that it rates unless named.
        seed: of what is drawn at random.

    Raises:
        DataError: the run has no such jury, or it rates no such metric.
    """
    juries = {} if view.run is None else {jury.name: jury for jury in juries_in(view.run.manifest)}
    todo = None if juries else "make one with bedside judge jury"
    one_of(name, juries, "jury", DataError, where=view.name, todo=todo)
    jury = juries[name]
    rated = [metric for metric in jury.metrics if metric in view.metrics()]
    asked = rated if metrics is None else [metric for metric in view.metrics(metrics) if metric in rated]
    return tuple(_of_metric(view, jury, metric, seed) for metric in asked)


def _of_metric(view: RatingsView, jury: Jury, metric: str, seed: int) -> JuryAgreement:
    of_metric = view.ratings.filter(pl.col("metric") == metric)
    own = of_metric.filter(pl.col("rater") == jury.rater)
    missing = own["error"].drop_nulls().str.replace(r"(: .*| between .*| \(.*)$", "")
    units, cases, statistics = _among_members(view, jury, metric, seed)
    return JuryAgreement(
        facts=view.facts(metric),
        jury=jury,
        units=units,
        cases=cases,
        ratings=own.height - missing.len(),
        missing=dict(sorted(missing.value_counts().iter_rows())),
        statistics=statistics,
        gains=agreement_gains(view, metric, jury.rater, jury.members),
        learnt=fresh_view(view).learnt.get((jury.rater, metric), 0),
        errors=tuple(_errors(view, jury, metric)),
    )


def _errors(view: RatingsView, jury: Jury, metric: str) -> Iterator[MemberErrors]:
    """The errors of each member, as kept when the jury was made."""
    learning = jury.learning.get(metric) if jury.metrics[metric].model else None
    if not learning:
        return
    levels = learning["levels"]
    of_metric = view.ratings.filter(pl.col("metric") == metric)
    for place, (member, ends) in enumerate(zip(jury.members, learning["reliability"], strict=True)):
        over = "cases" if learning["clustered"] else "units"
        words = f"bootstrap over {over}, {learning['resamples']} resamples; Wilson's with less than 1 error expected"
        tables = (learning[name][place] for name in ("confusion", "low", "high"))
        yield MemberErrors(
            member=member,
            reliability=Result(
                name="reliability", method=LABEL_FREE_WORDS[jury.rule], estimate=ends[0], n=learning["units"],
                interval=Interval(ends[1], ends[2], 0.95, words),
            ),
            with_people=_right_by_people(view, of_metric, metric, member),
            chances=tuple(
                LevelChance(levels[true], levels[given], *ends)
                for true, rows in enumerate(zip(*tables, strict=True))
                for given, ends in enumerate(zip(*rows, strict=True))
            ),
        )  # fmt: skip


def _right_by_people(view: RatingsView, of_metric: pl.DataFrame, metric: str, member: str) -> Result | None:
    """How often a member gives the level that people give together; units where these are tied are left out."""
    ratings, picked = drawn_ratings(of_metric.filter(pl.col("error").is_null()))
    units = checked_units(ratings, member, picked, view.final_labels(metric))
    if not units.size:
        return None
    together = majority(units.reference)
    right = [None if value is None else float(value == own) for value, own in zip(together.values, units.judge,
             strict=True)]  # fmt: skip
    weights = units.weights if units.chances == "unequal" else None
    return share(right, clusters=units.cases if units.case_count < units.size else None, weights=weights)


def _among_members(view: RatingsView, jury: Jury, metric: str, seed: int) -> tuple[int, int, Mapping[str, Result]]:
    """Units and cases that two members rated, and how well members agree on them."""
    ratings = view.ratings.filter(
        pl.col("metric") == metric, pl.col("rater").is_in(jury.members), pl.col("error").is_null()
    )
    if ratings.is_empty():
        return 0, 0, {}
    grid, scale = grid_of(ratings), view.scales.get(metric)
    labels = any(isinstance(cell, str) for cell in grid.cells.ravel())
    ordered = scale is not None and scale.ordered
    level: MeasurementLevel = "ordinal" if ordered else "nominal" if labels or scale is not None else "interval"
    levels = scale.levels if scale is not None else None
    if labels and levels is None:
        levels = tuple(sorted({cell for cell in grid.cells.ravel() if cell is not None}))
    counted = (grid.cells != None).sum(axis=1) >= 2  # noqa: E711
    cells, cases = grid.cells[counted], grid.cases[counted]
    if not len(cells) or (levels is not None and len(levels) < 2):
        return len(cells), len(set(cases)), {}
    clusters: np.ndarray[Any, Any] | None = cases if 1 < len(set(cases)) < len(cases) else None
    compared = ComparedRatings(
        kind="people",
        level=level,
        levels=levels,
        forms=AskedForms(seed=seed),
        cells=cells,
        every=(cells, clusters),
        pairs=None,
        clusters=clusters,
    )
    return len(cells), len(set(cases)), statistics_of(compared)
