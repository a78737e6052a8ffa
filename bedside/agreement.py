"""Do the raters agree? People among themselves, and algorithms and judges with people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import polars as pl

from bedside.errors import DataError
from bedside.evaluation import PEOPLE, Evaluation, facts
from bedside.rating_files import Scale
from bedside.stats.results import Result

Level = Literal["nominal", "ordinal", "interval"]
Weights = Literal["none", "linear", "quadratic"]
WEIGHTS: tuple[Weights, ...] = ("none", "linear", "quadratic")

#: A code that is split once more: whether there is any, beside which kind.
_NONE = "none"


@dataclass(frozen=True, slots=True)
class Agreement:
    """How well one set of raters agrees on one metric.

    Attributes:
        metric: the metric.
        title: its title, with what of it is compared.
        between: ``people``, or ``RATER and people``.
        level: level of measurement.
        raters: the raters, people first.
        units: units rated by at least two of them.
        transcripts: transcripts those units are of.
        alone: units left out because only one of them rated them.
        prevalence: share of each label among all ratings; empty where the ratings are numbers off any scale.
        statistics: results by name: ``percent agreement``, ``kappa`` (mean of all pairs of raters), ``fleiss``,
            ``alpha``; those that don't apply are not there (Fleiss' kappa takes no order into account, so it
            is for labels only).
    """

    metric: str
    title: str
    between: str
    level: Level
    raters: tuple[str, ...]
    units: int
    transcripts: int
    alone: int
    prevalence: Mapping[str, float] = field(default_factory=dict)
    statistics: Mapping[str, Result] = field(default_factory=dict)


def agree(
    evaluation: Evaluation,
    *,
    metrics: Sequence[str] | None = None,
    raters: Sequence[str] | None = None,
    weights: Weights | None = None,
    seed: int = 0,
) -> tuple[Agreement, ...]:
    """Agreement on every metric that at least two raters rated.

    People are compared among themselves; each algorithm and judge with each person, on the units that both rated,
    and the mean of these pairs is given, so that it stands beside the mean of the pairs of people.

    Args:
        evaluation: the ratings.
        metrics: metrics or patterns; unless named, codes and metrics with a scale, and those of a plain file.
        raters: raters or patterns such as ``human:*``; all unless named.
        weights: of kappa on ordered scales: ``quadratic`` (default), ``linear`` or ``none``.
        seed: of the bootstrap, which draws whole transcripts where turns are rated.

    Raises:
        DataError: an unknown metric, rater or weighting, or nothing that two raters rated.
    """
    if weights is not None and weights not in WEIGHTS:
        raise DataError(f"{weights!r} is not known", where="--weights", todo="one of " + ", ".join(WEIGHTS))
    names = evaluation.metrics(metrics)
    if metrics is None and evaluation.factors is not None:
        names = [name for name in names if name in evaluation.scales]
    chosen = evaluation.raters(raters)
    found: list[Agreement] = []
    for name in names:
        ratings = evaluation.ratings.filter(
            pl.col("metric") == name,
            pl.col("rater").is_in(chosen),
            pl.col("error").is_null(),
            pl.col("replicate") == 0,
        )
        found += _of_metric(name, ratings, evaluation.scales.get(name), weights, seed)
    if not found:
        raise DataError(
            "no unit was rated by two raters",
            where=evaluation.name,
            todo="import people's ratings with bedside ratings import",
        )
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Grid:
    """Ratings of one metric: units in rows, raters in columns; None where a rater gave none."""

    cells: np.ndarray
    raters: tuple[str, ...]
    transcripts: np.ndarray


def _grid(ratings: pl.DataFrame, column: str) -> _Grid:
    wide = ratings.pivot("rater", index=["transcript_id", "unit"], values=column, sort_columns=True)
    raters = tuple(name for name in wide.columns if name not in ("transcript_id", "unit"))
    return _Grid(
        np.array(wide.select(raters).rows(), dtype=object).reshape(wide.height, len(raters)),
        raters,
        wide["transcript_id"].to_numpy(),
    )


def _of_metric(
    name: str, ratings: pl.DataFrame, scale: Scale | None, weights: Weights | None, seed: int
) -> list[Agreement]:
    """Agreement of people, and of each other rater with people, on one metric."""
    if ratings.is_empty():
        return []
    labels = ratings["label"].is_not_null().any()
    grid = _grid(ratings, "label" if labels else "value")
    people = [position for position, rater in enumerate(grid.raters) if rater.startswith("human:")]
    others = [position for position in range(len(grid.raters)) if position not in people]
    level: Level = "nominal" if labels else "ordinal" if scale is not None else "interval"
    title = facts(name).title
    found = []
    for between, columns, pairs in [
        (PEOPLE, people, None),
        *(
            (
                f"{grid.raters[other]} and {PEOPLE}",
                [*people, other],
                [(p, len(people)) for p in range(len(people))],
            )
            for other in others
        ),
    ]:
        if len(columns) < 2:
            continue
        cells = grid.cells[:, columns]
        raters = tuple(grid.raters[column] for column in columns)
        levels = scale.levels if scale is not None else None
        made = _agreement(name, title, between, level, raters, cells, grid, levels, pairs, weights, seed)
        if made is not None:
            found.append(made)
        if made is not None and levels is not None and _NONE in levels and len(levels) > 2:
            collapsed = np.array(
                [
                    [None if cell is None else _NONE if cell == _NONE else "any" for cell in row]
                    for row in cells
                ]
            )
            existence = _agreement(
                name, f"{title}: any or none", between, level, raters, collapsed, grid, (_NONE, "any"), pairs,
                weights, seed,
            )  # fmt: skip
            found += [existence] if existence is not None else []
    return found


def _agreement(
    name: str,
    title: str,
    between: str,
    level: Level,
    raters: tuple[str, ...],
    cells: np.ndarray,
    grid: _Grid,
    levels: tuple[float, ...] | tuple[str, ...] | None,
    pairs: list[tuple[int, int]] | None,
    weights: Weights | None,
    seed: int,
) -> Agreement | None:
    from bedside.stats import many_raters

    there = cells != None  # noqa: E711
    # Beside people, a rater's units are those that it and at least one person rated.
    compared = there.sum(axis=1) >= 2 if pairs is None else there[:, -1] & there[:, :-1].any(axis=1)
    alone = int((there.any(axis=1) if pairs is None else there[:, -1]).sum() - compared.sum())
    if not compared.any():
        return None
    cells, members = cells[compared], grid.transcripts[compared]
    transcripts = len(set(members))
    clusters = members if 1 < transcripts < len(members) else None
    # People who rated none of these units are not among the raters compared.
    active = [column for column in range(cells.shape[1]) if (cells[:, column] != None).any()]  # noqa: E711
    cells, raters = cells[:, active], tuple(raters[column] for column in active)
    if pairs is not None:
        pairs = [(column, len(active) - 1) for column in range(len(active) - 1)]
    statistics: dict[str, Result] = {}
    if level == "interval":
        statistics["alpha"] = many_raters.krippendorff_alpha(
            cells, metric="interval", clusters=clusters, seed=seed
        )
    else:
        assert levels is not None or level == "nominal"
        scale = levels or tuple(sorted({cell for cell in cells.ravel() if cell is not None}))
        how = "none" if level == "nominal" else weights or "quadratic"
        statistics["kappa"] = many_raters.mean_pairwise_kappa(
            cells,
            scale=scale,
            weights="unweighted" if how == "none" else how,
            pairs=pairs,
            clusters=clusters,
            seed=seed,
        )
        if pairs is None:
            statistics["percent agreement"] = many_raters.percent_agreement(
                cells, clusters=clusters, seed=seed
            )
            if level == "nominal":
                statistics["fleiss"] = many_raters.fleiss_kappa(
                    cells, scale=scale, clusters=clusters, seed=seed
                )
            statistics["alpha"] = many_raters.krippendorff_alpha(
                cells,
                metric="nominal" if level == "nominal" else "ordinal",
                scale=scale,
                clusters=clusters,
                seed=seed,
            )
        else:
            statistics["percent agreement"] = _agreement_with_people(cells, clusters, seed)
    given = [cell for cell in cells.ravel() if cell is not None]
    prevalence = {str(label): given.count(label) / len(given) for label in levels} if levels else {}
    return Agreement(
        metric=name, title=title, between=between, level=level, raters=raters, units=len(cells),
        transcripts=transcripts, alone=alone, prevalence=prevalence, statistics=statistics,
    )  # fmt: skip


def _agreement_with_people(cells: np.ndarray, clusters: np.ndarray | None, seed: int) -> Result:
    """Mean over units of the share of people who say what the last column says."""
    from dataclasses import replace

    from bedside.stats.intervals import mean_bootstrap

    same = cells[:, :-1] == cells[:, -1:]
    there = cells[:, :-1] != None  # noqa: E711
    share = (same & there).sum(axis=1) / there.sum(axis=1)
    result = mean_bootstrap(share.astype(float), clusters=clusters, resamples=2000, seed=seed)
    return replace(
        result, name="percent agreement", method="mean share of people who say what the rater says"
    )
