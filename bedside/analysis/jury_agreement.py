"""A jury: whether its members agree, how many ratings it reached, and whether it beats the best of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from bedside.analysis.agreement_gain import AgreementGain, agreement_gains, beats_all
from bedside.analysis.agreement_statistics import AskedForms, ComparedRatings, MeasurementLevel, statistics_of
from bedside.analysis.fresh_view import fresh_view
from bedside.analysis.grid import grid_of
from bedside.analysis.metric_facts import MetricRatings
from bedside.analysis.ratings_view import RatingsView
from bedside.core.errors import DataError
from bedside.core.registry import nearest
from bedside.ratings.juries import Jury, juries_in
from bedside.stats.result import Result


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
    """

    jury: Jury
    units: int
    cases: int
    ratings: int
    missing: Mapping[str, int]
    statistics: Mapping[str, Result]
    gains: tuple[AgreementGain, ...]
    learnt: int

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
    if name not in juries:
        raise DataError(
            f"no jury is called {name!r}",
            where=view.name,
            todo=nearest(name, juries) if juries else "make one with bedside judge jury",
        )
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
    )


def _among_members(
    view: RatingsView, jury: Jury, metric: str, seed: int
) -> tuple[int, int, Mapping[str, Result]]:
    """Units and cases that two members rated, and how well members agree on them."""
    ratings = view.ratings.filter(
        pl.col("metric") == metric, pl.col("rater").is_in(jury.members), pl.col("error").is_null()
    )
    if ratings.is_empty():
        return 0, 0, {}
    grid, scale = grid_of(ratings), view.scales.get(metric)
    labels = any(isinstance(cell, str) for cell in grid.cells.ravel())
    ordered = scale is not None and scale.ordered
    level: MeasurementLevel = (
        "ordinal" if ordered else "nominal" if labels or scale is not None else "interval"
    )
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
