"""Do the raters agree? People among themselves, and algorithms and judges with people."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from bedside.analysis.agreement_statistics import (
    AskedForms,
    ComparedRatings,
    Kind,
    MeasurementLevel,
    ScaleLevels,
    statistics_of,
)
from bedside.analysis.case_values import own_case
from bedside.analysis.checked_units import Chances, Grid, drawn_ratings, grid_of
from bedside.analysis.choices import ALPHA_METRICS, ICC_FORMS, WEIGHTS, AlphaMetric, IccForm, Weights
from bedside.analysis.fresh_view import fresh_view, linked_view
from bedside.analysis.metric_facts import MetricRatings
from bedside.analysis.plan_draws import cell_levels, drawn_by
from bedside.analysis.ratings_view import ALL, PEOPLE, RatingsView
from bedside.analysis.selection import NothingError, beside_preferences, by_raters
from bedside.core.errors import DataError, one_of
from bedside.ratings.names import TRANSCRIPT, is_human, is_turn, rated_by_humans, turn_index
from bedside.ratings.rubric_metrics import FinalLabels
from bedside.ratings.spellings import folded
from bedside.stats.arrays import Mask
from bedside.stats.result import Result
from bedside.stats.sampled_items import SampledItems, sampled_items
from bedside.stats.sampling_cells import Levels, sampling_cells

# -- How the units were drawn on which raters' agreement rests ------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class AgreementSample:
    """How the units of one metric were drawn.

    Attributes:
        chances: how the units that people rated were drawn.
        partly_known: whether chances are known of some units only, or come from several rounds, so that nothing can be
            weighted.
        picked: units left out because they were picked for what they are, by disagreement or the like, and not drawn.
        by: the factors that divide the strata.
        cases: the case of each unit of the grid, which is what was drawn independently.
        strata: the stratum of each unit that people rated; −1 of others. Empty unless chances differ.
        drawn: the chance of each unit that people rated; NaN of others. Empty unless chances differ.
        sizes: how many units each stratum has.
    """

    chances: Chances
    partly_known: bool
    picked: int
    by: tuple[str, ...]
    cases: np.ndarray[Any, Any]
    strata: np.ndarray[Any, Any]
    drawn: np.ndarray[Any, Any]
    sizes: np.ndarray[Any, Any]

    def clusters(self, counted: Mask) -> np.ndarray[Any, Any] | SampledItems | None:
        """What is drawn together among the counted units: their cases; None where each is drawn alone.

        Where chances differ, how they were drawn; the units that count stand for all of each stratum.
        """
        cases = self.cases[counted]
        if self.chances != "unequal":
            return cases if 1 < len(set(cases)) < len(cases) else None
        strata, sizes = self.strata[counted], self.sizes
        used, places = np.unique(strata, return_inverse=True)
        return sampled_items(self.drawn[counted], strata=places, clusters=cases, sizes=sizes[used])


def agreement_sample(view: RatingsView, ratings: pl.DataFrame, grid: Grid, picked: int) -> AgreementSample:
    """How the units of a grid were drawn.

    Args:
        view: all ratings.
        ratings: those of one metric that count, without people's of units that were picked.
        grid: the same as a grid.
        picked: how many units that took away.
    """
    people = ratings.filter(rated_by_humans())
    chances = _chances(people)
    # Of one case nothing is drawn but its transcripts.
    cases = grid.cases if len(set(grid.cases)) > 1 else grid.transcripts
    nothing = np.empty(0)
    if chances != "unequal":
        partly = chances == "unknown" and people["drawn"].is_not_null().any()
        return AgreementSample(chances, bool(partly), picked, (), cases, nothing, nothing, nothing)
    rounds = people["round"].unique().to_list()
    by = drawn_by(view.run, rounds)
    of_units = people.group_by("transcript_id", "unit").agg(
        pl.col("drawn").first(), pl.col("system").first().fill_null(ALL)
    )
    places = {place: number for number, place in enumerate(zip(grid.transcripts, grid.units, strict=True))}
    levels_of = cell_levels(view.run, by, rounds)
    drawn = np.full(len(grid.cells), np.nan)
    levels: dict[int, Levels] = {}
    for transcript, unit, chance, system in of_units.iter_rows():
        number = places.get((transcript, unit))
        if number is not None:
            drawn[number] = chance
            levels[number] = (system, *levels_of.get(transcript, ()))
    rated = np.array(sorted(levels), dtype=np.intp)
    # Which cells are joined hangs on how alike their chances are, and on nothing that anybody said.
    cells = sampling_cells(
        [levels[number] for number in rated], drawn[rated], np.ones(rated.size, dtype=np.bool_), cases[rated]
    )
    strata = np.full(len(grid.cells), -1, dtype=np.intp)
    strata[rated] = cells.numbers
    counts = _transcript_counts(view, people, levels_of)
    if counts is None:
        sizes = np.bincount(cells.numbers, weights=1 / drawn[rated])
    else:
        stratum_of = {levels[unit]: stratum for unit, stratum in zip(rated, cells.numbers, strict=True)}
        sizes = np.bincount(list(stratum_of.values()), weights=[counts[own] for own in stratum_of])
    return AgreementSample(chances, False, picked, ("system", *by), cases, strata, drawn, sizes)


def _chances(people: pl.DataFrame) -> Chances:
    """How the units that people rated were drawn."""
    of_units = people.group_by("transcript_id", "unit").agg(
        pl.col("drawn").n_unique().alias("several"), pl.col("drawn").first()
    )
    drawn = of_units["drawn"]
    if (of_units["several"] > 1).any() or drawn.null_count() or people["round"].n_unique() != 1:
        return "unknown"
    if (drawn == 0).all():
        return "none"
    return "equal" if drawn.n_unique() == 1 else "unequal"


def _transcript_counts(
    view: RatingsView, people: pl.DataFrame, levels_of: dict[str, Levels]
) -> dict[Levels, int] | None:
    """How many transcripts each cell has; None where units are turns, or the transcripts are not known."""
    if view.run is None or not (people["unit"] == TRANSCRIPT).all():
        return None
    counts: dict[Levels, int] = {}
    for name, system, _ in view.transcripts().iter_rows():
        own = (ALL if system is None else str(system), *levels_of.get(name, ()))
        counts[own] = counts.get(own, 0) + 1
    return counts


# -- Do the raters agree? People among themselves -------------------------------------------------------

#: A code that is split once more: whether there is any, beside which kind.
_NONE = "none"
_ANY_OR_NONE = ": any or none"


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
        cases: cases those are of, which is what is drawn independently; a transcript without one counts as one.
        alone: units left out because only one of the raters rated them; beside people, because the rater alone did.
        ties: units left out because people's consensus is a tie, of those that the rater rated.
        adjudicated: of a comparison with the consensus, units whose consensus is the final label of an adjudicator.
        constant: raters who give a single level to all that they rated of these units, with that level.
        chances: how the units that people rated were drawn. Where their chances differ, prevalence and statistics
            are of all that they stand for: each unit is weighted by one over its chance, and intervals are by strata.
        partly_known: whether chances are known of some units only, or come from several rounds: nothing is weighted.
        picked: units left out because they were picked for what they are, and not drawn.
        learnt: units left out because the rater learnt from people's ratings of them or of their cases.
        by: the factors that divide the strata where chances differ.
        prevalence: share of each level among all ratings that count; empty where the ratings are on no scale.
        confusion: of two raters, counts of (first's level, second's level); empty otherwise.
        statistics: results by name, those that apply, each with the number of units it rests on: ``percent agreement``,
            ``kappa`` (the mean over pairs of raters), ``kappa without constant raters`` (the same without their pairs),
            ``kappa of rated units`` (where chances differ: the same of the units at hand, none weighted),
            ``ac`` (Gwet's AC1, or AC2 with kappa's weights), ``fleiss`` (with kappa's weights), ``alpha``, ``icc``,
            ``spearman``, ``bias`` (rater minus people), ``lower limit`` and ``upper limit`` (Bland and Altman's),
            ``mae``, and of links ``link f1``.
    """

    metric: str
    title: str
    kind: Kind
    rater: str | None
    level: MeasurementLevel
    raters: tuple[str, ...]
    units: int
    transcripts: int
    cases: int
    alone: int
    ties: int = 0
    adjudicated: int = 0
    constant: Mapping[str, str] = field(default_factory=dict)
    chances: Chances = "unknown"
    partly_known: bool = False
    picked: int = 0
    learnt: int = 0
    by: tuple[str, ...] = ()
    prevalence: Mapping[str, float] = field(default_factory=dict)
    confusion: Mapping[tuple[str, str], int] = field(default_factory=dict)
    statistics: Mapping[str, Result] = field(default_factory=dict)

    @property
    def of(self) -> int:
        """All units of which those that count are some: that a person rated; beside people, that the rater rated."""
        return self.units + self.alone + (self.ties if self.kind == "consensus" else 0)

    @property
    def is_any_or_none(self) -> bool:
        """Whether what is compared is only whether there is any, not which."""
        return self.title.endswith(_ANY_OR_NONE)

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


@dataclass(frozen=True, slots=True)
class RatedApart:
    """A metric by which no two people rated the same unit.

    Attributes:
        metric, title: its name, and in words.
        raters: the people who rated by it.
        units: those that they rated.
    """

    metric: str
    title: str
    raters: tuple[str, ...]
    units: int


def rated_apart(
    view: RatingsView,
    agreements: Sequence[Agreement],
    *,
    metrics: Sequence[str] | None = None,
    raters: Sequence[str] | None = None,
) -> tuple[RatedApart, ...]:
    """The metrics that people rated and on whose agreement among themselves nothing can be said.

    Args:
        view: the ratings.
        agreements: what :func:`agree` made of them.
        metrics, raters: as it took them.
    """
    together = {agreement.metric for agreement in agreements if agreement.kind == "people"}
    chosen = view.raters(raters)
    apart = []
    for name in view.agreed_metrics(metrics):
        rated = view.ratings.filter(
            rated_by_humans(), pl.col("metric") == name, pl.col("rater").is_in(chosen), pl.col("error").is_null()
        )
        if name not in together and not rated.is_empty():
            people = tuple(rated["rater"].unique().sort())
            units = rated.select("transcript_id", "unit").n_unique()
            apart.append(RatedApart(name, view.facts(name).title, people, units))
    return tuple(apart)


def agree(
    view: RatingsView,
    *,
    metrics: Sequence[str] | None = None,
    raters: Sequence[str] | None = None,
    weights: Weights | None = None,
    alpha: AlphaMetric | None = None,
    icc: IccForm = "2,1",
    seed: int = 0,
) -> tuple[Agreement, ...]:
    """Agreement on every metric that at least two raters rated.

    People are compared among themselves, and one person with the consensus of the others: the human ceiling. Each
    algorithm and judge is compared with each person (and the mean of these pairs stands beside the mean of the pairs
    of people) and with people's consensus (which stands beside the ceiling). The consensus is the majority of labels,
    the median on ordered scales, the mean of other numbers; ties are left out and counted. Where a unit was
    adjudicated, the final label is its consensus; all else is of what the raters said themselves. Of several passes of
    a rater, the most frequent value counts, of equally frequent ones the one nearest their mean, else the first given.

    Intervals leave out whole cases. Units that were picked for what they are, by disagreement or the like, are left
    out where others were drawn. Where units were drawn with known chances that differ, agreement is that of all units
    that they stand for.

    Args:
        view: the ratings.
        metrics: metrics or patterns; unless named, codes, metrics with a scale, and those of files. Audits
            count only under their full names: who has seen a judge's rating is no independent rater of it.
        raters: raters or patterns such as ``human:*``; all unless named.
        weights: of kappa, Fleiss' kappa and AC on ordered scales: ``quadratic`` (default), ``linear`` or ``none``.
        alpha: the distance of Krippendorff's alpha: ``nominal``, ``ordinal`` or ``interval``; that of the ratings
            unless named, and nominal for labels without an order whatever is named.
        icc: form of the intraclass correlation: ``1,1`` (each unit has raters of its own), ``2,1`` (default), ``3,1``
            (these raters, consistency), and with ``k`` for the last that of their mean.
        seed: of the bootstrap, which draws whole cases.

    Raises:
        DataError: an unknown metric, rater or form of a statistic, nothing that two raters rated, or weights for
            labels without an order.
    """
    forms_known = {"weights": (weights, WEIGHTS), "alpha": (alpha, ALPHA_METRICS), "icc": (icc, ICC_FORMS)}
    for name, (form, known) in forms_known.items():
        if form is not None:
            one_of(form, known, "form", DataError, where=f"`{name}`")
    forms = AskedForms(weights=weights, alpha=alpha, icc=icc, seed=seed)
    view = linked_view(view)
    names = view.agreed_metrics(metrics)
    chosen = view.raters(raters)
    if raters is not None:
        view = replace(view, final=by_raters(view, raters).final)
    view = fresh_view(view)
    agreements: list[Agreement] = []
    for name in names:
        ratings = view.ratings.filter(
            pl.col("metric") == name, pl.col("rater").is_in(chosen), pl.col("error").is_null()
        )
        agreements += [
            replace(row, learnt=view.learnt.get((row.rater or "", name), 0))
            for row in _of_metric(view, name, ratings, forms)
        ]
    if not agreements:
        raise NothingError(
            "no two raters rated the same conversation or turn" + _alike(view),
            where=view.name,
            todo="see that they give it the same id, or import people's ratings with bedside ratings import"
            + beside_preferences(view),
        )
    _check_order(weights, agreements)
    return tuple(agreements)


def _alike(view: RatingsView) -> str:
    """Two ids that differ in their spelling alone, for a message; empty where there are none."""
    first: dict[str, str] = {}
    for item in view.ratings["transcript_id"].unique(maintain_order=True):
        other = first.setdefault(folded(item), item)
        if other != item:
            return f"; {other!r} and {item!r} may be one"
    return ""


@dataclass(frozen=True, slots=True)
class _ComparedMetric:
    """What is compared: a metric, and how."""

    metric: str
    title: str
    level: MeasurementLevel
    levels: ScaleLevels
    forms: AskedForms
    sample: AgreementSample
    final: FinalLabels


def _check_order(weights: Weights | None, agreements: Sequence[Agreement]) -> None:
    """See that weights that were asked for weigh something.

    Raises:
        DataError: no metric has an order, and some have several labels without.
    """
    unordered = {row.metric for row in agreements if row.level == "nominal" and len(row.prevalence) > 2}
    if weights in (None, "none") or not unordered or any(row.level != "nominal" for row in agreements):
        return
    raise DataError(
        f"weights need an order, and the labels of {', '.join(sorted(unordered))} have no order",
        where="`weights`",
        todo="give their scale in its order, `scales=METRIC=low<middle<high`",
    )


def _of_metric(view: RatingsView, name: str, ratings: pl.DataFrame, forms: AskedForms) -> list[Agreement]:
    """All rows of agreement on one metric, and on whether there is any where its labels are kinds of something."""
    if ratings.is_empty():
        return []
    title, scale = view.facts(name).title, view.scales.get(name)
    ratings, picked = drawn_ratings(ratings)
    labels = bool(ratings["label"].is_not_null().any())
    grid = grid_of(ratings)
    ordered = scale is not None and scale.ordered
    level: MeasurementLevel = "ordinal" if ordered else "nominal" if labels or scale is not None else "interval"
    levels: ScaleLevels = scale.levels if scale is not None else None
    if labels and levels is None:
        levels = tuple(sorted({cell for cell in grid.cells.ravel() if cell is not None}))
        # Where all say the same, there was something else to say.
        levels = levels if len(levels) > 1 else (*levels, f"not {levels[0]}")
    sample = agreement_sample(view, ratings, grid, picked)
    final = view.final_labels(name)
    compared = _ComparedMetric(name, title, level=level, levels=levels, forms=forms, sample=sample, final=final)
    agreements = _rows(compared, grid)
    if levels is not None and _NONE in levels and len(levels) > 2:
        collapsed = [[cell if cell in (None, _NONE) else "any" for cell in row] for row in grid.cells]
        any_or_none = replace(grid, cells=np.array(collapsed, dtype=object).reshape(grid.cells.shape))
        collapsed_final = {unit: label if label == _NONE else "any" for unit, label in final.items()}
        compared = replace(compared, title=f"{title}{_ANY_OR_NONE}", levels=(_NONE, "any"), final=collapsed_final)
        agreements += _rows(compared, any_or_none)
    return agreements


def _rows(compared: _ComparedMetric, grid: Grid) -> list[Agreement]:
    """The agreements of each kind that some units count for."""
    people = [position for position, rater in enumerate(grid.raters) if is_human(rater)]
    names = [grid.raters[position] for position in people]
    human = grid.cells[:, people]
    rows = [_row(compared, grid, "people", rater=None, raters=names, cells=human)]
    by_several = (human != None).sum(axis=1) >= 3  # noqa: E711
    if by_several.any():
        labelled = compared.levels is not None and isinstance(compared.levels[0], str)
        answers = human if labelled else human.astype(np.float64)
        consensus_without, ties_without = zip(
            *(_consensus(compared, np.delete(answers, column, axis=1)) for column in range(len(people))), strict=True
        )
        # A person's own column, and the consensus of the others beside it.
        cells = np.column_stack([human, np.array(consensus_without, dtype=object).T])
        cells[~by_several] = None
        rows.append(
            _row(compared, grid, "ceiling", rater=None, raters=names, cells=cells, ties=int(np.sum(ties_without)))
        )
    if people:
        consensus = _settled(compared, grid, human, _consensus(compared, human)[0])
        for position in range(len(grid.raters)):
            if position not in people:
                rows += _rows_of_rater(compared, grid, position, names=names, human=human, consensus=consensus)
    return [agreement for agreement in rows if agreement is not None]


def _rows_of_rater(
    compared: _ComparedMetric,
    grid: Grid,
    position: int,
    *,
    names: list[str],
    human: np.ndarray[Any, Any],
    consensus: np.ndarray[Any, Any],
) -> list[Agreement | None]:
    """A rater beside people: the mean over them, and where there are several their consensus and each of them."""
    rater, ratings = grid.raters[position], grid.cells[:, position]
    beside = np.column_stack([human, ratings])
    rows = [_row(compared, grid, "mean", rater=rater, raters=[*names, rater], cells=beside)]
    if len(names) < 2:
        return rows
    cells = np.column_stack([consensus, ratings])
    # Of units that the rater has no rating of, or none that counts, nothing is left out for a tie.
    tied = (human != None).any(axis=1) & (consensus == None) & (ratings != None)  # noqa: E711
    ties = int(tied.sum())
    rows.append(_row(compared, grid, "consensus", rater=rater, raters=[*names, rater], cells=cells, ties=ties))
    for column, person in enumerate(names):
        cells = np.column_stack([human[:, column], ratings])
        rows.append(_row(compared, grid, "person", rater=rater, raters=[person, rater], cells=cells))
    return rows


def _consensus(compared: _ComparedMetric, human: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], int]:
    """What people say together of each unit, None where it is a tie or nobody rated, and how many are ties."""
    from bedside.stats import consensus

    if compared.level == "ordinal" and compared.levels and isinstance(compared.levels[0], str):
        # The median of labels in order is that of their places.
        places = {label: place for place, label in enumerate(compared.levels)}
        middle = consensus.median([[places.get(cell) for cell in row] for row in human])
        labels = [None if place is None else compared.levels[int(place)] for place in middle.values]
        together = replace(middle, values=tuple(labels))
    elif compared.level == "interval":
        together = consensus.mean(human)
    else:
        together = consensus.majority(human) if compared.level == "nominal" else consensus.median(human)
    values = np.array(together.values, dtype=object)
    values[list(together.ties)] = None
    return values, len(together.ties)


def _settled(
    compared: _ComparedMetric, grid: Grid, human: np.ndarray[Any, Any], consensus: np.ndarray[Any, Any]
) -> np.ndarray[Any, Any]:
    """The consensus with the final label where there is one."""
    consensus = consensus.copy()
    rated = (human != None).any(axis=1)  # noqa: E711
    for place, unit in enumerate(zip(grid.transcripts, grid.units, strict=True)):
        if rated[place] and unit in compared.final:
            consensus[place] = compared.final[unit]
    return consensus


def _row(
    compared: _ComparedMetric,
    grid: Grid,
    kind: Kind,
    *,
    rater: str | None,
    raters: list[str],
    cells: np.ndarray[Any, Any],
    ties: int = 0,
) -> Agreement | None:
    """One row: the units that count, and every statistic that applies; None where no unit was rated by two."""
    counted, alone = _counted_units(kind, cells)
    if kind == "consensus":
        alone -= ties
    if not counted.any():
        return None
    sample = compared.sample
    anyhow = (cells != None).any(axis=1) if kind == "people" else counted  # noqa: E711
    every = cells[anyhow], sample.clusters(anyhow)
    cells, raters, pairs = _compared_columns(kind, cells[counted], raters)
    clusters = sample.clusters(counted)
    compared_ratings = ComparedRatings(
        kind=kind, level=compared.level, levels=compared.levels, forms=compared.forms, cells=cells, every=every,
        pairs=pairs, clusters=clusters,
    )  # fmt: skip
    levels, constant = compared.levels or (), compared_ratings.constant_raters().items()
    settled = sum(unit in compared.final for unit in zip(grid.transcripts[counted], grid.units[counted], strict=True))
    return Agreement(
        metric=compared.metric, title=compared.title, kind=kind, rater=rater, level=compared.level,
        raters=tuple(raters), units=len(cells), transcripts=len(set(grid.transcripts[counted])),
        cases=len(set(sample.cases[counted])), alone=alone, ties=ties,
        adjudicated=settled if kind == "consensus" else 0, chances=sample.chances,
        constant={raters[column]: _level_text(level) for column, level in constant
                  if column < len(raters) and kind != "consensus"},
        partly_known=sample.partly_known, picked=sample.picked, by=sample.by,
        prevalence=_prevalence(cells, levels, clusters.weights if isinstance(clusters, SampledItems) else None),
        confusion=_confusion(cells, levels) if cells.shape[1] == 2 else {},
        statistics=statistics_of(compared_ratings),
    )  # fmt: skip


def _prevalence(
    cells: np.ndarray[Any, Any], levels: tuple[Any, ...], weights: np.ndarray[Any, Any] | None
) -> dict[str, float]:
    """Share of each level among all ratings, of units that weigh so much."""
    if weights is None:
        times_given = Counter(cells.ravel().tolist())
        ratings = times_given.total() - times_given.pop(None, 0)
        return {_level_text(level): times_given[level] / ratings for level in levels}
    ratings_of_units = (cells != None).sum(axis=1)  # noqa: E711
    return {
        _level_text(level): float(weights @ (cells == level).sum(axis=1) / (weights @ ratings_of_units))
        for level in levels
    }


def _counted_units(kind: Kind, cells: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], int]:
    """Which units two raters rated, and how many units only one did."""
    rated = cells != None  # noqa: E711
    if kind == "ceiling":
        half = cells.shape[1] // 2
        return (rated[:, :half] & rated[:, half:]).any(axis=1), 0
    if kind == "people":
        counted = rated.sum(axis=1) >= 2
        return counted, int(rated.any(axis=1).sum() - counted.sum())
    counted = rated[:, -1] & rated[:, :-1].any(axis=1)
    return counted, int(rated[:, -1].sum() - counted.sum())


def _compared_columns(
    kind: Kind, cells: np.ndarray[Any, Any], raters: list[str]
) -> tuple[np.ndarray[Any, Any], list[str], list[tuple[int, int]] | None]:
    """The columns that hold ratings, their raters, and the positions of the pairs that are compared; None for all.

    People who rated none of these units are not among the raters compared.
    """
    rated = (cells != None).any(axis=0)  # noqa: E711
    if kind == "ceiling":
        half = cells.shape[1] // 2
        used = [column for column in range(half) if rated[column] and rated[half + column]]
        pairs = [(position, len(used) + position) for position in range(len(used))]
        both = [*used, *(half + column for column in used)]
        return cells[:, both], [raters[column] for column in used], pairs
    if kind in ("people", "mean"):
        used = [column for column in range(cells.shape[1]) if rated[column]]
        last = len(used) - 1
        with_last = [(position, last) for position in range(last)] if kind == "mean" else None
        return cells[:, used], [raters[column] for column in used], with_last
    return cells, raters, None


def _level_text(level: float | str) -> str:
    return level if isinstance(level, str) else f"{level:g}"


def _confusion(cells: np.ndarray[Any, Any], levels: tuple[Any, ...]) -> dict[tuple[str, str], int]:
    counts = Counter((first, second) for first, second in cells if first is not None and second is not None)
    return {(_level_text(a), _level_text(b)): counts[a, b] for a in levels for b in levels}


# -- How well people agree with themselves --------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Retest(MetricRatings):
    """A person's first and second ratings of the same units by one metric.

    Attributes:
        facts: what was rated.
        rater: by whom.
        units, transcripts, cases: how many were rated twice; a transcript without a case counts as one.
        same: share of units that were given the same twice.
        kappa: Cohen's kappa of the two, with quadratic weights on an ordered scale.
        shift: mean of the second rating minus the first, in the rating's unit, over cases; None of labels.
        chances: with which the units came into people's sample, each once, as far as known.
    """

    rater: str
    units: int
    transcripts: int
    cases: int
    same: Result
    kappa: Result
    shift: Result | None
    chances: tuple[float, ...] = ()


def retests(view: RatingsView, *, metrics: Sequence[str] | None = None, seed: int = 0) -> tuple[Retest, ...]:
    """Each person's agreement with themselves on each metric of which they rated units twice.

    A person's first two passes over a unit are compared, within a round of annotation. Intervals are over cases where
    several units of a case were rated.

    Args:
        view: the ratings.
        metrics: metrics or patterns; all unless named.
        seed: of what is drawn at random.

    Raises:
        NothingError: nobody rated anything twice.
    """
    ratings = view.ratings.filter(
        rated_by_humans(), pl.col("error").is_null(), (pl.col("replicate").max() > 0).over("metric", "rater", "round")
    )
    every = (
        _retest(view, metric, rater, own.filter(pl.col("rater") == rater), seed)
        for metric in view.metrics(metrics)
        for own in [ratings.filter(pl.col("metric") == metric)]
        for rater in sorted(own["rater"].unique())
    )
    compared = tuple(retest for retest in every if retest is not None)
    if not compared:
        raise NothingError(
            "nobody rated a unit twice", where=view.name, todo="draw a plan with bedside sample `repeat=0.1`"
        )
    return compared


def _retest(view: RatingsView, metric: str, rater: str, ratings: pl.DataFrame, seed: int) -> Retest | None:
    from bedside.stats import two_raters

    column = "label" if ratings["label"].is_not_null().any() else "value"
    twice = (
        ratings.drop_nulls(column)
        .sort("replicate", maintain_order=True)
        .group_by("transcript_id", "unit", "round", maintain_order=True)
        .agg(pl.col(column), own_case().first(), pl.col("drawn").first())
        .filter(pl.col(column).list.len() > 1)
    )
    if twice.is_empty():
        return None
    first, second = (np.array(twice[column].list.get(place).to_list(), dtype=object) for place in (0, 1))
    members = twice["case"].to_numpy()
    clusters = members if len(set(members)) < members.size else None
    scale = view.scales.get(metric)
    ordered = scale is not None and scale.ordered
    return Retest(
        facts=view.facts(metric), rater=rater, units=twice.height, transcripts=twice["transcript_id"].n_unique(),
        cases=len(set(members)), same=two_raters.percent_agreement(first, second, clusters=clusters, seed=seed),
        kappa=two_raters.kappa(
            first, second, scale=scale.levels if scale is not None else None,
            weights="quadratic" if ordered else "unweighted", clusters=clusters, seed=seed,
        ),
        shift=None if column == "label" else _shift(first, second, members),
        chances=tuple(twice["drawn"].drop_nulls().unique().sort()),
    )  # fmt: skip


def _shift(first: np.ndarray[Any, Any], second: np.ndarray[Any, Any], members: np.ndarray[Any, Any]) -> Result:
    """The mean of second minus first, over cases."""
    from bedside.stats import two_raters

    _, places = np.unique(members.astype(str), return_inverse=True)
    counts = np.bincount(places)
    means = (np.bincount(places, values.astype(float)) / counts for values in (second, first))
    return two_raters.bias(*means)


# -- Do raters mark the same turns? ---------------------------------------------------------------------

_TO = r"(?:to|through|until|[-–—−])"
_UNITS = "[mkµμ]?g|mcg|m?l|[ckm]?m|h|(?:h(?:ou)?r|min(?:ute)?|sec(?:ond)?|day|week|month|year)s?|min|times|percent"
_MEASURE = rf"[\w%°]|[.:]\d|(?: ?{_TO} ?\d+)?[ -]?(?:[%°]|(?:{_UNITS})\b)"
_TURN = rf"(?:nos?\.? ?|numbers? )?[\[(#]*\d{{1,9}}(?!{_MEASURE})\]?"
_LIST = rf"{_TURN}(?: ?(?:,? ?(?:and|or|&)|[,/]|{_TO}) ?{_TURN})*"
#: Turns that a text names: ``turn 3``, ``turns #3, 5-7, and 9``; not ``turn 0.5`` or ``turns 6 months``.
_NAMED = re.compile(rf"(?i)(?<!number of )(?<!total )\bturn(?:s|\(s\))?(?: ?: ?| |(?=#))({_LIST})")
_RANGE = re.compile(rf"(?i)(\d+)\]?(?: ?{_TO} ?[\[(#]*(\d+))?")
_QUOTED = re.compile(r"""„[^“”]*[“”]|“[^“”]*”|«[^»]*»|"[^"]*"|‘(?:[^‘’]|\b’\b)*’|(?<!\w)'(?:[^']|\b'\b)*'(?!\w)""")
_MARKS = r"turns? \d{1,9}(?:(?:, |-|–)\d{1,9})*(?: “[^“”]*”)?"
#: How people's reasons end where they marked turns, whatever they wrote before.
_EVIDENCE = re.compile(rf"^(?:.* )?Evidence: ({_MARKS}(?:; {_MARKS})*)\.?$")


def named_turns(reason: str, rater: str = "") -> list[tuple[int, int]]:
    """First and last of each turn or range that a reason names outside quotes; of people those marked as evidence."""
    text = " ".join(reason.split())
    if is_human(rater):
        text = "".join(_EVIDENCE.findall(text))
    lists = _NAMED.findall(_QUOTED.sub("“”", text))
    return [(int(first), int(last or first)) for turns in lists for first, last in _RANGE.findall(turns)]


@dataclass(frozen=True, slots=True)
class SpanAgreement(MetricRatings):
    """How well raters agree on the turns that they mark for one metric.

    Attributes:
        raters: people, or a person and a judge or algorithm.
        alpha, gamma: of runs of turns; ``n`` is how many units two of them rated, ``dropped`` how many one did.
        named: by rater, how many turns are ``named``, of these how many ``absent``, and how many ranges ``reversed``.
    """

    raters: tuple[str, ...]
    alpha: Result
    gamma: Result
    named: Mapping[str, Counter[str]]


def marked_spans(
    view: RatingsView, *, metrics: Sequence[str] | None = None, raters: Sequence[str] | None = None, seed: int = 0
) -> tuple[SpanAgreement, ...]:
    """Agreement on marked turns, of people and of each other rater with each of them, by metric.

    People's evidence and the turns that others' reasons name are marked; runs are spans. Whoever marks one anywhere
    for a metric, and rates a unit by it without, marks nothing there. A first pass counts. Arguments are `agree`'s.
    """
    view = fresh_view(by_raters(view, raters))
    rated = view.ratings.filter(pl.col("error").is_null(), pl.any_horizontal(pl.col("value", "label").is_not_null()))
    marking = rated.filter(pl.col("reason").str.contains(r"(?i)\bturn"))
    marking = marking.filter([bool(named_turns(*own)) for own in marking.select("reason", "rater").iter_rows()])
    rows: list[SpanAgreement] = []
    for name in view.agreed_metrics(metrics) if marking.select(rated_by_humans().any()).item() else ():
        ratings = drawn_ratings(rated.filter(pl.col("metric") == name))[0].sort("replicate", maintain_order=True)
        who = sorted(set(marking.filter(pl.col("metric") == name)["rater"]))
        people = tuple(filter(is_human, who))
        groups = [people] if people and len(set(filter(is_human, ratings["rater"]))) > 1 else []
        groups += [(person, rater) for rater in who if rater not in people for person in people]
        rows += [SpanAgreement(view.facts(name), own, *_of_spans(view, ratings, own, seed)) for own in groups]
    return tuple(row for row in rows if row.alpha.n or all(map(is_human, row.raters)))


def _of_spans(view: RatingsView, ratings: pl.DataFrame, raters: Sequence[str], seed: int) -> tuple[Any, ...]:
    from bedside.stats.unitizing import gamma, unitized_alpha

    turns = {} if view.run is None else dict(view.run.index.select("id", "turns").iter_rows())
    reasons: dict[tuple[int, str, str, str], dict[str, str]] = {}
    own = ratings.filter(pl.col("rater").is_in(raters)).select("transcript_id", "unit", own_case(), "rater", "reason")
    for transcript, unit, case, rater, reason in own.iter_rows():
        length = turn_index(unit) + 1 if is_turn(unit) else turns.get(transcript, 0)
        reasons.setdefault((length, transcript, unit, case), {}).setdefault(rater, reason or "")
    lengths, cases = [unit[0] for unit in reasons], [unit[-1] for unit in reasons]
    why = "" if all(lengths) else "how many turns conversations have is known of runs only"
    named = {who: Counter[str]() for who in raters}
    marks = [
        [_spans(named_turns(said[who], who), unit[0], named[who]) if who in said else None for who in raters]
        for unit, said in reasons.items() if not why
    ]  # fmt: skip
    if why or len(raters) < 2:
        nothing = Result(name="", method="", dropped=len(reasons), missing=why or "only one person marks turns")
        return nothing, nothing, named
    clusters = cases if 1 < len(set(cases)) < len(cases) else None
    alpha = unitized_alpha(marks, lengths=lengths, clusters=clusters)
    return alpha, gamma(marks, lengths=lengths, clusters=clusters, seed=seed), named


def _spans(named: Sequence[tuple[int, int]], length: int, counts: Counter[str]) -> list[tuple[int, int]]:
    """Start and length of the runs of turns named; adds to counts of them, and of those that aren't within a length."""
    ends = [(min(pair), max(pair)) for pair in named]
    turns = {turn for first, last in ends for turn in range(first, min(last + 1, length))}
    absent = sum(max(0, last + 1 - max(first, length)) for first, last in ends)
    counts.update(named=len(turns) + absent, absent=absent, reversed=sum(first > last for first, last in named))
    starts = [turn for turn in sorted(turns) if turn - 1 not in turns]
    return [(start, min(set(range(start, length + 1)) - turns) - start) for start in starts]
