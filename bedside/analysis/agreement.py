"""Do the raters agree? People among themselves, and algorithms and judges with people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import polars as pl

from bedside.analysis.choices import WEIGHTS, Weights
from bedside.analysis.ratings_view import PEOPLE, RatingsView
from bedside.ratings.scales import Scale
from bedside.stats.result import Result
from bedside.support.errors import DataError

Level = Literal["nominal", "ordinal", "interval"]
Levels = tuple[float, ...] | tuple[str, ...] | None

#: A code that is split once more: whether there is any, beside which kind.
_NONE = "none"


#: What a row of agreement is between, in the order they stand in a table.
Kind = Literal["people", "ceiling", "mean", "consensus", "person"]


@dataclass(frozen=True, slots=True)
class Agreement:
    """How well raters agree on one metric.

    Attributes:
        metric: the metric.
        title: its title, with what of it is compared.
        kind: ``people``: people among themselves; ``ceiling``: one person against the consensus of the others, the mean
            over persons; ``mean``: a rater with each person, the mean over persons; ``consensus``: a rater against the
            consensus of people; ``person``: a rater and one person.
        rater: the algorithm or judge that is compared with people; None for ``people`` and ``ceiling``.
        level: level of measurement.
        raters: the raters, people first.
        units: units that count.
        transcripts: transcripts those units are of.
        alone: units left out because only one of the raters rated them.
        ties: units left out because people's consensus is a tie.
        prevalence: share of each level among all ratings that count; empty where the ratings are on no scale.
        confusion: of two raters, counts of (first's level, second's level); empty otherwise.
        statistics: results by name, those that apply: ``percent agreement``, ``kappa`` (the mean over pairs of raters),
            ``ac`` (Gwet's AC1, or AC2 with kappa's weights), ``fleiss`` (labels only: it takes no order into account),
            ``alpha``, ``icc`` (single ratings), ``spearman``, ``bias`` (rater minus people), ``mae``.
    """

    metric: str
    title: str
    kind: Kind
    rater: str | None
    level: Level
    raters: tuple[str, ...]
    units: int
    transcripts: int
    alone: int
    ties: int = 0
    prevalence: Mapping[str, float] = field(default_factory=dict)
    confusion: Mapping[tuple[str, str], int] = field(default_factory=dict)
    statistics: Mapping[str, Result] = field(default_factory=dict)

    @property
    def between(self) -> str:
        """Who is compared, in words."""
        if self.kind == "people":
            return PEOPLE
        if self.kind == "ceiling":
            return "one person and the other people"
        if self.kind == "person":
            return f"{self.rater} and {self.raters[0]}"
        return f"{self.rater} and {PEOPLE if self.kind == 'mean' else 'the consensus of people'}"


def agree(
    view: RatingsView,
    *,
    metrics: Sequence[str] | None = None,
    raters: Sequence[str] | None = None,
    weights: Weights | None = None,
    seed: int = 0,
) -> tuple[Agreement, ...]:
    """Agreement on every metric that at least two raters rated.

    People are compared among themselves, and one person with the consensus of the others: the human ceiling. Each
    algorithm and judge is compared with each person (and the mean of these pairs stands beside the mean of the pairs
    of people) and with people's consensus (which stands beside the ceiling). The consensus is the majority of labels,
    the median on ordered scales, the mean of other numbers; ties are left out and counted. Of several passes of a
    rater, the most frequent value counts, of equally frequent ones the one nearest their mean (labels: none).

    Args:
        view: the ratings.
        metrics: metrics or patterns; unless named, codes and metrics with a scale, and those of a plain file.
        raters: raters or patterns such as ``human:*``; all unless named.
        weights: of kappa on ordered scales: ``quadratic`` (default), ``linear`` or ``none``.
        seed: of the bootstrap, which draws whole transcripts where turns are rated.

    Raises:
        DataError: an unknown metric, rater or weighting, or nothing that two raters rated.
    """
    if weights is not None and weights not in WEIGHTS:
        raise DataError(f"{weights!r} is not known", where="--weights", todo="one of " + ", ".join(WEIGHTS))
    names = view.metrics(metrics)
    if metrics is None and view.factors is not None:
        names = [name for name in names if name in view.scales]
    chosen = view.raters(raters)
    found: list[Agreement] = []
    for name in names:
        ratings = view.ratings.filter(
            pl.col("metric") == name,
            pl.col("rater").is_in(chosen),
            pl.col("error").is_null(),
        )
        title, scale = view.facts(name).title, view.scales.get(name)
        found += _of_metric(name, title, ratings, scale, weights, seed)
    if not found:
        raise DataError(
            "no unit was rated by two raters",
            where=view.name,
            todo="import people's ratings with bedside ratings import",
        )
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Grid:
    """Ratings of one metric: units in rows, raters in columns; None where a rater gave none."""

    cells: np.ndarray[Any, Any]
    raters: tuple[str, ...]
    transcripts: np.ndarray[Any, Any]


def grid_of(ratings: pl.DataFrame) -> Grid:
    """The ratings of one metric as units by raters, each rater's passes taken together as :func:`agree` says.

    Cells are labels where the metric has any, else numbers.
    """
    column = "label" if ratings["label"].is_not_null().any() else "value"
    one_pass = (
        ratings.drop_nulls(column)
        .group_by("transcript_id", "unit", "rater", maintain_order=True)
        .agg(pl.col(column).sort_by("replicate"))
    )
    values = [passes[0] if len(passes) == 1 else _of_passes(list(passes)) for passes in one_pass[column]]
    kind = pl.String() if column == "label" else pl.Float64()
    wide = one_pass.with_columns(pl.Series(column, values, dtype=kind)).pivot(
        "rater", index=["transcript_id", "unit"], values=column, sort_columns=True
    )
    raters = tuple(name for name in wide.columns if name not in ("transcript_id", "unit"))
    return Grid(
        np.array(wide.select(raters).rows(), dtype=object).reshape(wide.height, len(raters)),
        raters,
        wide["transcript_id"].to_numpy(),
    )


def _of_passes(values: list[Any]) -> Any:
    """A rater's value from its passes: the most frequent, of several the one nearest their mean, or no label."""
    counts = Counter(values)
    top = [value for value, count in counts.items() if count == max(counts.values())]
    if len(top) == 1:
        return top[0]
    if isinstance(top[0], str):
        return None
    mean = sum(values) / len(values)
    return min(top, key=lambda value: (abs(value - mean), value))


def _of_metric(
    name: str, title: str, ratings: pl.DataFrame, scale: Scale | None, weights: Weights | None, seed: int
) -> list[Agreement]:
    """All rows of agreement on one metric, and on whether there is any where its labels are kinds of something."""
    if ratings.is_empty():
        return []
    labels = bool(ratings["label"].is_not_null().any())
    grid = grid_of(ratings)
    level: Level = "nominal" if labels else "ordinal" if scale is not None else "interval"
    levels: Levels = scale.levels if scale is not None else None
    if labels and levels is None:
        levels = tuple(sorted({cell for cell in grid.cells.ravel() if cell is not None}))
    found = _rows(_Question(name, title, level, levels, weights, seed), grid)
    if levels is not None and _NONE in levels and len(levels) > 2:
        collapsed = [[cell if cell in (None, _NONE) else "any" for cell in row] for row in grid.cells]
        whether = Grid(
            np.array(collapsed, dtype=object).reshape(grid.cells.shape), grid.raters, grid.transcripts
        )
        found += _rows(
            _Question(name, f"{title}: any or none", level, (_NONE, "any"), weights, seed), whether
        )
    return found


@dataclass(frozen=True, slots=True)
class _Question:
    """What is compared: a metric, and how."""

    metric: str
    title: str
    level: Level
    levels: Levels
    weights: Weights | None
    seed: int


def _rows(question: _Question, grid: Grid) -> list[Agreement]:
    people = [position for position, rater in enumerate(grid.raters) if rater.startswith("human:")]
    others = [position for position in range(len(grid.raters)) if position not in people]
    named = [grid.raters[position] for position in people]
    human = grid.cells[:, people]
    found = [_measure(question, grid, "people", None, named, human)]
    several = (human != None).sum(axis=1) >= 3  # noqa: E711
    if several.any():
        rest, ties = zip(
            *(_consensus(question, np.delete(human, column, axis=1)) for column in range(len(people))),
            strict=True,
        )
        # A person's own column, and the consensus of the others beside it.
        cells = np.column_stack([human, np.array(rest, dtype=object).T])
        cells[~several] = None
        found.append(_measure(question, grid, "ceiling", None, named, cells, ties=int(np.sum(ties))))
    consensus, tie = _consensus(question, human) if people else (np.empty(0, dtype=object), 0)
    for position in others:
        rater, own = grid.raters[position], grid.cells[:, position]
        if not people:
            continue
        beside = np.column_stack([human, own])
        found.append(_measure(question, grid, "mean", rater, [*named, rater], beside))
        if len(people) > 1:
            both = np.column_stack([consensus, own])
            found.append(_measure(question, grid, "consensus", rater, [*named, rater], both, ties=tie))
            found += [
                _measure(
                    question, grid, "person", rater, [person, rater], np.column_stack([human[:, column], own])
                )
                for column, person in enumerate(named)
            ]
    return [agreement for agreement in found if agreement is not None]


def _consensus(question: _Question, human: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], int]:
    """What people say together of each unit, None where it is a tie or nobody rated, and how many are ties."""
    from bedside.stats import consensus

    if question.level == "interval":
        made = consensus.mean(human)
    else:
        made = consensus.majority(human) if question.level == "nominal" else consensus.median(human)
    values = np.array(made.values, dtype=object)
    values[list(made.ties)] = None
    return values, len(made.ties)


def _measure(
    question: _Question,
    grid: Grid,
    kind: Kind,
    rater: str | None,
    raters: list[str],
    cells: np.ndarray[Any, Any],
    *,
    ties: int = 0,
) -> Agreement | None:
    """One row: the units that count, and every statistic that applies; None where no unit was rated by two."""
    there = cells != None  # noqa: E711
    if kind == "ceiling":
        half = cells.shape[1] // 2
        counted = (there[:, :half] & there[:, half:]).any(axis=1)
        alone = 0
    elif kind == "people":
        counted = there.sum(axis=1) >= 2
        alone = int(there.any(axis=1).sum() - counted.sum())
    else:
        counted = there[:, -1] & there[:, :-1].any(axis=1)
        alone = int(there[:, -1].sum() - counted.sum()) - (ties if kind == "consensus" else 0)
    if not counted.any():
        return None
    cells, members = cells[counted], grid.transcripts[counted]
    transcripts = len(set(members))
    clusters = members if 1 < transcripts < len(members) else None
    pairs: list[tuple[int, int]] | None = None
    if kind == "ceiling":
        half = cells.shape[1] // 2
        used = [c for c in range(half) if (cells[:, c] != None).any() and (cells[:, half + c] != None).any()]  # noqa: E711
        cells = cells[:, [*used, *(half + column for column in used)]]
        pairs = [(column, len(used) + column) for column in range(len(used))]
        raters = [raters[column] for column in used]
    elif kind in ("people", "mean"):
        # People who rated none of these units are not among the raters compared.
        used = [column for column in range(cells.shape[1]) if (cells[:, column] != None).any()]  # noqa: E711
        cells, raters = cells[:, used], [raters[column] for column in used]
        if kind == "mean":
            pairs = [(column, len(used) - 1) for column in range(len(used) - 1)]
    given = [cell for cell in cells.ravel() if cell is not None]
    levels = question.levels or ()
    return Agreement(
        metric=question.metric,
        title=question.title,
        kind=kind,
        rater=rater,
        level=question.level,
        raters=tuple(raters),
        units=len(cells),
        transcripts=transcripts,
        alone=alone,
        ties=ties,
        prevalence={_shown(level): given.count(level) / len(given) for level in levels},
        confusion=_confusion(cells, levels) if cells.shape[1] == 2 else {},
        statistics=_statistics(question, kind, cells, pairs, clusters),
    )


def _shown(level: float | str) -> str:
    return level if isinstance(level, str) else f"{level:g}"


def _confusion(cells: np.ndarray[Any, Any], levels: tuple[Any, ...]) -> dict[tuple[str, str], int]:
    counts = Counter((first, second) for first, second in cells if first is not None and second is not None)
    return {(_shown(a), _shown(b)): counts[a, b] for a in levels for b in levels}


def _statistics(
    question: _Question,
    kind: Kind,
    cells: np.ndarray[Any, Any],
    pairs: list[tuple[int, int]] | None,
    clusters: np.ndarray[Any, Any] | None,
) -> dict[str, Result]:
    from bedside.stats import many_raters, two_raters

    found: dict[str, Result] = {}
    seed = question.seed
    levels = question.levels
    if question.level != "interval":
        assert levels is not None
        how = "none" if question.level == "nominal" else question.weights or "quadratic"
        weights = "unweighted" if how == "none" else how
        found["kappa"] = many_raters.mean_pairwise_kappa(
            cells, scale=levels, weights=weights, pairs=pairs, clusters=clusters, seed=seed
        )
        if kind != "ceiling":
            found["percent agreement"] = (
                _agreement_with_people(cells, clusters, seed)
                if kind == "mean"
                else many_raters.percent_agreement(cells, clusters=clusters, seed=seed)
            )
        if kind not in ("ceiling", "mean"):
            found["ac"] = many_raters.gwet_ac(
                cells, scale=levels, weights=weights, clusters=clusters, seed=seed
            )
        if kind == "people" and question.level == "nominal":
            found["fleiss"] = many_raters.fleiss_kappa(cells, scale=levels, clusters=clusters, seed=seed)
    if kind in ("ceiling", "mean"):
        return found
    found["alpha"] = many_raters.krippendorff_alpha(
        cells, metric=question.level, scale=levels, clusters=clusters, seed=seed
    )
    if question.level == "nominal":
        return found
    numbers = np.array([[np.nan if cell is None else cell for cell in row] for row in cells], dtype=float)
    found["icc"] = many_raters.icc(numbers)
    if cells.shape[1] == 2:
        found["spearman"] = two_raters.correlation(numbers[:, 0], numbers[:, 1], kind="spearman")
        # Of two people neither is the one that is off.
        if kind != "people":
            found["bias"] = two_raters.bias(numbers[:, 1], numbers[:, 0])
        found["mae"] = two_raters.mean_absolute_error(
            numbers[:, 0], numbers[:, 1], clusters=clusters, seed=seed
        )
    return found


def _agreement_with_people(
    cells: np.ndarray[Any, Any], clusters: np.ndarray[Any, Any] | None, seed: int
) -> Result:
    """Mean over units of the share of people who say what the last column says."""
    from bedside.stats.intervals import mean_bootstrap

    same = cells[:, :-1] == cells[:, -1:]
    there = cells[:, :-1] != None  # noqa: E711
    share = (same & there).sum(axis=1) / there.sum(axis=1)
    result = mean_bootstrap(share.astype(float), clusters=clusters, resamples=2000, seed=seed)
    return replace(
        result, name="percent agreement", method="mean share of people who say what the rater says"
    )
