"""What would people have said of all of it? Means and differences by the design of the sample that people rated.

A judge rated every unit, people a sample that was drawn cell by cell (strata). Post-stratified and prediction-powered
(Angelopoulos et al. 2023; PPI++, Angelopoulos, Duchi and Zrnic 2023; by strata: Fisch et al. 2024): each cell counts as
much as it is large, and in each the judge's mean is corrected by its mean error on the sample. Given how many of a cell
were rated, those are a simple random sample of it, however many the plan asked for.

Units of one case are not independent: what they add to the error of a mean is summed by case. The same sums, taken
over both systems, are the error of a difference, so that cases that both systems have count as pairs, and a difference
is always the difference of the two means.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from bedside.core.errors import DataError, one_of
from bedside.stats.arrays import Array, Indices, Mask, vector
from bedside.stats.intervals import t_interval
from bedside.stats.result import Interval, Result

# -- Sums of means of random samples --------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _MeanPart:
    """The mean of a random sample, as a part of a sum.

    Attributes:
        clusters: numbers of the sampled clusters, the same number for the same cluster in all parts of a sum.
        errors: what each adds to the error of the sum; their squares sum to the part's variance.
        sizes: units of each cluster.
        added: variance that pseudo-labels add.
    """

    clusters: Indices
    errors: Array
    sizes: Array
    added: float = 0.0

    @property
    def variance(self) -> float:
        """Of the part, in the sum's squared units."""
        return float(self.errors @ self.errors) + self.added

    def spread(self) -> Array:
        """The part's variance by cluster, so that the squares sum to variance² / degrees of freedom.

        These are the clusters less one where all are of one size, and fewer where they are not.
        """
        squares = self.sizes**2
        shares = squares / squares.sum()
        effective = 1 / float(shares @ shares)
        spread: Array = self.variance * shares * np.sqrt(effective / max(effective - 1, 1.0))
        return spread


def _mean_part(
    values: Array, clusters: Indices, factor: float, *, left_out: Array | None = None, added: float = 0.0
) -> _MeanPart:
    """The mean of values, times a factor, as a part of a sum.

    Args:
        values: of the sampled units.
        clusters: the cluster of each, two different ones at least.
        factor: what the mean is multiplied with.
        left_out: by how much each value is further from the mean where what was tuned on it is tuned without it.
        added: variance that pseudo-labels add.

    The error of a cluster is the sum of its values' distances from the mean, over the number of values, and over the
    root of 1 − its share of them: with one value a cluster, that is the sample variance over n (Bell and McCaffrey's
    2002 CR2 for a mean).
    """
    numbers, member = np.unique(clusters, return_inverse=True)
    sizes = np.bincount(member).astype(np.float64)
    distances = values - values.mean()
    if left_out is not None:
        distances = distances + left_out
    shares = sizes / values.size
    errors = factor * np.bincount(member, distances) / values.size / np.sqrt(1 - shares)
    return _MeanPart(numbers, errors, sizes, added)


@dataclass(frozen=True, slots=True, eq=False)
class _SumOfMeans:
    """A mean over cells, or the difference of two.

    Attributes:
        value: the sum.
        parts: what its error comes from.
    """

    value: float
    parts: tuple[_MeanPart, ...]

    def __sub__(self, other: _SumOfMeans) -> _SumOfMeans:
        turned = tuple(replace(part, errors=-part.errors) for part in other.parts)
        return _SumOfMeans(self.value - other.value, self.parts + turned)

    @property
    def variance(self) -> float:
        """The sum over clusters of the squares of their errors in all parts."""
        if not self.parts:
            return 0.0
        errors = np.concatenate([part.errors for part in self.parts])
        sums = np.bincount(self._clusters, errors)
        return float(sums @ sums) + sum(part.added for part in self.parts)

    @property
    def freedom(self) -> float:
        """Satterthwaite's degrees of freedom, 1 at least; a cluster that is in several parts counts once."""
        if not self.parts:
            return float("inf")
        spread = np.bincount(self._clusters, np.concatenate([part.spread() for part in self.parts]))
        squares = float(spread @ spread)
        whole = sum(part.variance for part in self.parts)
        return max(whole**2 / squares, 1.0) if squares > 0 else float("inf")

    @property
    def _clusters(self) -> Indices:
        clusters: Indices = np.concatenate([part.clusters for part in self.parts])
        return clusters


# -- What would people have said of all of it? Means and differences by the design of the sample that people rated ---

#: What a mean is about: cases like those at hand, in the same mix of cells; the population that they were drawn from,
#: whose mix they tell with an error of its own; or the units at hand alone.
About = Literal["cases", "population", "run"]
ABOUT: tuple[About, ...] = get_args(About)
#: Whose ratings a mean is of: people's, corrected by the judge's; people's alone; the judge's alone.
Ratings = Literal["both", "people", "judge"]
RATINGS: tuple[Ratings, ...] = get_args(Ratings)

#: Labels that nobody gave, which count in the variance of each cell of zeros and ones: without them a cell whose
#: labels happen to agree would be taken for one without error.
_PSEUDO_LABELS = 2.0

_WORDS = {
    "both": "prediction-powered {}, power-tuned",
    "people": "{} of people's ratings alone",
    "judge": "{} of the judge's ratings alone",
}
_OF = {
    "cases": "cases like these", "population": "the population of cases", "run": "the transcripts at hand",
}  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class JudgedUnits:
    """The units of one system that the judge rated; arrays of one length, made by :func:`judged_units`.

    Attributes:
        judge: the judge's ratings.
        human: people's ratings of the same units; NaN where they rated none.
        cells: the cell of each unit, 0, 1, 2 …
        cases: the name or number of each unit's case, the same over systems.
    """

    judge: Array
    human: Array
    cells: Indices
    cases: Any

    @property
    def labelled(self) -> Mask:
        """Which units people rated."""
        mask: Mask = ~np.isnan(self.human)
        return mask


def judged_units(judge: Any, human: Any, *, cells: Any = None, cases: Any = None) -> JudgedUnits:
    """The units of one system.

    Args:
        judge: the judge's ratings, none missing.
        human: people's ratings of the same units; None or NaN where they rated none.
        cells: the cell of each unit, 0, 1, 2 …; all units are of one cell unless given.
        cases: the case of each unit; each unit is a case of its own unless given, the same one in each system.

    Raises:
        DataError: lists of unequal length, or a unit that the judge didn't rate.
    """
    judged, labels = vector(judge, "the judge's ratings"), vector(human, "people's ratings")
    places = np.zeros(judged.size, dtype=np.intp) if cells is None else np.asarray(cells, dtype=np.intp)
    names = np.arange(judged.size) if cases is None else np.asarray(cases)
    if names.dtype.kind != "i":
        names = names.astype(str)
    if len({judged.size, labels.size, places.size, names.size}) > 1:
        raise DataError("ratings, cells and cases need lists of equal length")
    if np.isnan(judged).any():
        raise DataError("the judge must have rated every unit", todo="leave out the units it didn't rate")
    return JudgedUnits(judged, labels, places, names)


@dataclass(frozen=True, slots=True, eq=False)
class _Question:
    """What is asked of the units: as the arguments of :func:`mean`."""

    ratings: Ratings
    about: About
    share: bool
    level: float
    scale: tuple[float, float] | None = None

    def of(self, units: JudgedUnits) -> JudgedUnits:
        """The units with the ratings that count as labels."""
        return replace(units, human=units.judge) if self.ratings == "judge" else units


@dataclass(frozen=True, slots=True, eq=False)
class _CellMean:
    """A mean over cells.

    Attributes:
        total: its value and error.
        unlabelled: the part of its variance that the judge's ratings of unlabelled units make.
        shrunk: the value with pseudo-labels, inside 0 … 1 for shares.
        weight: the judge's, 0 to 1, its mean over units.
        labelled: units it rests on.
    """

    total: _SumOfMeans
    unlabelled: float
    shrunk: float
    weight: float
    labelled: int


def mean(
    units: JudgedUnits,
    *,
    ratings: Ratings = "both",
    about: About = "cases",
    share: bool = False,
    scale: tuple[float, float] | None = None,
    level: float = 0.95,
) -> Result:
    """Mean of people's ratings over all units.

    In cell h, of N_h of N units, n_h of them labelled: Σ N_h/N · (λ_h · judge's mean of the unlabelled + mean of
    people − λ_h · judge on the labelled). λ_h = λ (1 − n_h/N_h) within 0 … 1, with one λ for all cells that makes the
    variance least; in a single cell that is PPI++. Its tuning is allowed for: each labelled unit's error is taken with
    the λ of the others.

    Args:
        units: of one system. In each cell, labelled units of two cases at least.
        ratings: ``"both"``; ``"people"`` alone, λ = 0; or the ``"judge"`` alone, taken for free of error.
        about: ``"cases"``: cases like these, in the same mix of cells, with the error summed by case;
            ``"population"``: the cases that these were drawn from, where a unit's cell is chance, too, as it is where
            cells are the judge's levels: Σ (μ_h − μ)² / N² over units joins the error (double sampling for
            stratification, Cochran 1977, 12.2); or ``"run"``: these units alone, so that a cell whose units are all
            labelled has no error. What was drawn, whole cases, the n-th unit of each system on a case, or units one
            by one, is then told from which of a case are labelled together.
        share: whether the ratings are zeros and ones, or means of such. The interval is then Wilson's (1927) at the
            effective sample size, with two pseudo-labels a cell in the variance, half of them 1, spread over the
            judge's ratings as all units are.
        scale: the ends of the ratings' scale. Inside, the interval is Wilson's of the mean's place on it: where most
            ratings are at an end, Student's holds the mean too rarely.
        level: nominal coverage, with Student's t at Satterthwaite's degrees of freedom.

    Returns:
        In the ratings' units. n is the number of labelled units. Missing where a cell has labelled units of fewer than
        two cases.
    """
    one_of(ratings, RATINGS, "choice", DataError, where="`ratings`")
    one_of(about, ABOUT, "choice", DataError, where="`about`")
    question = _Question(ratings, about, share, level, scale)
    asked = question.of(units)
    blank = _blank("mean", question, (asked,))
    reason = _too_few(asked, ratings)
    if reason is not None:
        return blank.no_value(reason)
    clusters, by_case = _clusters((asked,), about)
    cell_mean = _cell_mean(asked, clusters[0], question)
    interval, missing = _interval(cell_mean, question)
    total = cell_mean.total
    return replace(
        _finished(blank, total, by_case), estimate=_inside(total.value) if share else total.value, interval=interval,
        details=_details(asked, cell_mean), missing=missing, remarks=_remarks(total.value, share),
    )  # fmt: skip


def _details(units: JudgedUnits, cell_mean: _CellMean) -> dict[str, float | None]:
    seen, variance = units.labelled, cell_mean.total.variance
    labels = units.human[seen]
    return {
        **_freedom(cell_mean.total),
        "weight": cell_mean.weight,
        "unlabelled": float(units.judge.size - labels.size),
        "variance from unlabelled": cell_mean.unlabelled,
        "cells": float(np.unique(units.cells).size),
        "cases": float(np.unique(units.cases[seen]).size),
        "judge minus human on the sample": float((units.judge - units.human)[seen].mean()),
        "effective sample size": float(labels.var(ddof=1)) / variance if variance > 0 else None,
    }


def difference(
    x: JudgedUnits,
    y: JudgedUnits,
    *,
    ratings: Ratings = "both",
    about: About = "cases",
    share: bool = False,
    level: float = 0.95,
) -> Result:
    """Difference x − y of the means of two systems; arguments as for :func:`mean`.

    It is the difference of the two :func:`mean` s. Errors of one case in both systems are subtracted before they are
    squared: cases that both systems have count as pairs, others as apart. Of shares, the interval is made from those
    of the two means and their correlation (Zou and Donner 2008, MOVER).
    """
    one_of(ratings, RATINGS, "choice", DataError, where="`ratings`")
    one_of(about, ABOUT, "choice", DataError, where="`about`")
    question = _Question(ratings, about, share, level)
    asked = question.of(x), question.of(y)
    blank = _blank("mean difference", question, asked)
    reason = _too_few(asked[0], ratings) or _too_few(asked[1], ratings)
    if reason is not None:
        return blank.no_value(reason)
    clusters, by_case = _clusters(asked, about)
    means = [_cell_mean(units, own, question) for units, own in zip(asked, clusters, strict=True)]
    total = means[0].total - means[1].total
    values = [_inside(each.total.value) if share else each.total.value for each in means]
    interval, missing = _difference_interval(means, total, question)
    cases = [set(units.cases[units.labelled]) for units in asked]
    return replace(
        _finished(blank, total, by_case),
        estimate=values[0] - values[1],
        interval=interval,
        details={
            **_freedom(total),
            "mean of x": values[0],
            "mean of y": values[1],
            "weight for x": means[0].weight,
            "weight for y": means[1].weight,
            "cases": float(len(cases[0] | cases[1])),
            "cases of both": float(len(cases[0] & cases[1])),
        },
        missing=missing,
    )


def _blank(name: str, question: _Question, units: tuple[JudgedUnits, ...]) -> Result:
    kind = "Wilson's interval at the effective sample size" if question.share else "t interval"
    if question.scale is not None and not question.share:
        kind = "Wilson's interval on the scale"
    if question.share and len(units) > 1:
        kind = "interval from those of the two means"
    words = _WORDS[question.ratings].format(name)
    return Result(
        name=name,
        method=f"{words}, of {_OF[question.about]}, {kind}",
        n=sum(int(each.labelled.sum()) for each in units),
        options={
            "ratings": question.ratings, "about": question.about, "share": question.share, "scale": question.scale,
            "level": question.level,
        },
    )  # fmt: skip


def _finished(blank: Result, total: _SumOfMeans, by_case: bool) -> Result:
    error = float(np.sqrt(total.variance))
    return replace(
        blank, method=blank.method + (" by case" if by_case else ""), standard_error=error if error > 0 else None
    )


def _freedom(total: _SumOfMeans) -> dict[str, float | None]:
    return {"degrees of freedom": total.freedom if np.isfinite(total.freedom) else None}


def _inside(share: float) -> float:
    return min(1.0, max(0.0, share))


def _remarks(value: float, share: bool) -> tuple[str, ...]:
    if not share or 0 <= value <= 1:
        return ()
    return (f"the corrected share {value:.4g} lies outside 0 to 1 and is put at the end",)


def _too_few(units: JudgedUnits, ratings: Ratings) -> str | None:
    """Why there is no mean of these ratings, or with them."""
    if units.judge.size == 0:
        return "the judge rated nothing"
    labelled = units.labelled
    for cell in np.unique(units.cells):
        if np.unique(units.cases[labelled & (units.cells == cell)]).size < 2:
            who = "the judge" if ratings == "judge" else "people"
            return f"{who} rated fewer than two cases" + (" of a cell" if units.cells.any() else "")
    return None


def _clusters(units: tuple[JudgedUnits, ...], about: About) -> tuple[list[Indices], bool]:
    """The number of each unit's cluster, and whether clusters are cases of several units."""
    numbers = np.unique(np.concatenate([system.cases for system in units]), return_inverse=True)[1]
    several = any(np.unique(system.cases).size < system.cases.size for system in units) or len(units) > 1
    if about == "run" and not (several and _drawn_together(units, numbers)):
        numbers = _counterparts(units, numbers)
        several = len(units) > 1 and _drawn_together(units, numbers)
        numbers = numbers if several else np.arange(numbers.size)
    ends = np.cumsum([system.cases.size for system in units])[:-1]
    return np.split(numbers, ends), several and np.unique(numbers).size < numbers.size


def _counterparts(units: tuple[JudgedUnits, ...], cases: Indices) -> Indices:
    """Clusters of the first unit of each system on a case, of the second of each, and so on."""
    system = np.repeat(np.arange(len(units)), [each.cases.size for each in units])
    order = np.lexsort((cases, system))
    own = system[order] * (cases.max() + 1) + cases[order]
    starts = np.flatnonzero(np.diff(own, prepend=-1))
    rank = np.empty(cases.size, dtype=np.intp)
    rank[order] = np.arange(cases.size) - np.repeat(starts, np.diff(np.append(starts, cases.size)))
    clusters: Indices = np.unique(cases * (rank.max() + 1) + rank, return_inverse=True)[1].astype(np.intp)
    return clusters


def _drawn_together(units: tuple[JudgedUnits, ...], cases: Indices) -> bool:
    """Whether units of one case (or cluster) are labelled together more often than halfway from chance to always."""
    rates = np.concatenate(
        [
            np.bincount(system.cells, system.labelled)[system.cells] / np.bincount(system.cells)[system.cells]
            for system in units
        ]
    )
    labelled = np.concatenate([system.labelled for system in units]).astype(np.float64)

    def pairs(values: Array) -> float:
        return float((np.bincount(cases, values) ** 2 - np.bincount(cases, values**2)).sum()) / 2

    # In each case from the highest rate down: the r-th is the lesser of the two in r − 1 pairs.
    order = np.lexsort((-rates, cases))
    starts = np.flatnonzero(np.diff(cases[order], prepend=-1))
    rank = np.arange(order.size) - np.repeat(starts, np.diff(np.append(starts, order.size)))
    together = float(rates[order] @ rank)
    return pairs(labelled) > (pairs(rates) + together) / 2


def _cell_mean(units: JudgedUnits, clusters: Indices, question: _Question) -> _CellMean:
    labelled, total = units.labelled, units.judge.size
    tuned, slope = _tuned_weights(units) if question.ratings == "both" else ({}, 0.0)
    value = shift = weight = unlabelled = 0.0
    parts: list[_MeanPart] = []
    of_cells = np.zeros(total)
    for cell in np.unique(units.cells):
        inside = units.cells == cell
        seen, rest = inside & labelled, inside & ~labelled
        share, left = float(inside.sum()) / total, float(rest.sum()) / float(inside.sum())
        trust = tuned.get(int(cell), 0.0)
        weight += share * trust
        of_cells[inside] = (units.human[seen] - trust * units.judge[seen]).mean()
        if trust > 0:
            of_cells[inside] += trust * units.judge[rest].mean()
            if question.about != "run":
                parts.append(_mean_part(units.judge[rest], clusters[rest], share * trust))
                unlabelled += parts[-1].variance
        value += share * float(of_cells[inside][0])
        if question.about == "run" and left == 0:
            continue
        # Of the units at hand, the judge's mean of all is known: its error is that of people − trust/left · judge.
        apart = trust if question.about != "run" or trust == 0 else trust / left
        factor = share * (1.0 if question.about != "run" else float(np.sqrt(left)))
        errors = units.human[seen] - apart * units.judge[seen]
        added = moved = 0.0
        left_out = None
        if question.share:
            added, moved = _pseudo_labels(errors, apart * units.judge[inside], np.unique(clusters[seen]).size)
        elif 0 < trust < 1:
            left_out = _left_out(units, inside, seen, slope)
        parts.append(_mean_part(errors, clusters[seen], factor, left_out=left_out, added=factor**2 * added))
        shift += share * moved
    if question.about == "population":
        parts.append(_mean_part(of_cells, clusters, 1.0))
    return _CellMean(_SumOfMeans(value, tuple(parts)), unlabelled, value + shift, weight, int(labelled.sum()))


def _influence(inside: Mask, seen: Mask) -> float:
    """How much a cell's variance counts in that of the mean: (N_h/N)² (1 − n_h/N_h) / n_h."""
    size, count = float(inside.sum()), float(seen.sum())
    return (size / inside.size) ** 2 * (1 - count / size) / count


def _tuned_weights(units: JudgedUnits) -> tuple[dict[int, float], float]:
    """The judge's weight in each cell, 0 to 1; and the judge's variance within cells that they rest on.

    λ = Σ a_h cov_h(people, judge) / Σ a_h var_h(judge), a_h as :func:`_influence` says; the covariance on the labelled
    units, the variance on all. Like PPI++, a little smaller than that, by 1 − 1/n.
    """
    labelled = units.labelled
    covariance = variance = 0.0
    left: dict[int, float] = {}
    for cell in np.unique(units.cells):
        inside = units.cells == cell
        seen, rest = inside & labelled, inside & ~labelled
        influence = _influence(inside, seen)
        human, judge = units.human[seen], units.judge[seen]
        covariance += influence * float(((human - human.mean()) * (judge - judge.mean())).sum()) / (human.size - 1)
        variance += influence * float(units.judge[inside].var(ddof=1))
        enough = np.unique(units.cases[rest]).size > 1
        left[int(cell)] = float(rest.sum()) / float(inside.sum()) if enough else 0.0
    slope = covariance / variance * (1 - 1 / float(labelled.sum())) if variance > 0 else 0.0
    return {cell: min(1.0, max(0.0, slope * part)) for cell, part in left.items()}, variance


def _left_out(units: JudgedUnits, inside: Mask, seen: Mask, variance: float) -> Array:
    """How much further each labelled unit's error is from the mean where λ is tuned without the unit."""
    human, judge = units.human[seen], units.judge[seen]
    pull = _influence(inside, seen) * (judge - judge.mean()) ** 2 / (human.size - 1) / variance
    distances: Array = pull * (human - human.mean())
    return distances


def _pseudo_labels(errors: Array, judged: Array, cases: int) -> tuple[float, float]:
    """What pseudo-labels add to the variance of a cell's mean error, and how far they move it.

    Args:
        errors: people − weight · judge of the labelled units.
        judged: weight · judge of all units of the cell.
        cases: labelled cases, beside which each pseudo-label counts as one more.
    """
    centre = 0.5 - judged.mean()
    square = (((1 - judged) ** 2).mean() + (judged**2).mean()) / 2
    together = cases + _PSEUDO_LABELS
    middle = (cases * errors.mean() + _PSEUDO_LABELS * centre) / together
    variance = (cases * (errors**2).mean() + _PSEUDO_LABELS * square) / together - middle**2
    added = max(0.0, float(variance - errors.var())) / (cases - 1)
    return added, float(middle - errors.mean())


def _interval(cell_mean: _CellMean, question: _Question) -> tuple[Interval | None, str | None]:
    """The interval of a mean, or why there is none."""
    from scipy.special import stdtrit

    total = cell_mean.total
    if not total.parts:
        return None, "no interval: every unit was rated, so that its mean is known"
    variance, freedom = total.variance, total.freedom
    if variance <= 1e-24 * max(1.0, total.value**2):
        return None, "no interval: the ratings don't vary"
    low, high = (0.0, 1.0) if question.share else question.scale or (0.0, 0.0)
    if not question.share and not low < total.value < high:
        return t_interval(total.value, float(np.sqrt(variance)), freedom, question.level, "t"), None
    span, end = high - low, 1 / (cell_mean.labelled + 4)
    middle = min(1 - end, max(end, (cell_mean.shrunk - low) / span))
    size = middle * (1 - middle) * span**2 / variance
    t = float(stdtrit(freedom, (1 + question.level) / 2))
    share = _inside((total.value - low) / span)
    centre = (share + t**2 / (2 * size)) / (1 + t**2 / size)
    half = t * float(np.sqrt(share * (1 - share) / size + t**2 / (4 * size**2))) / (1 + t**2 / size)
    # Rounding can leave a bound at 0 or 1 off by one unit in the last place.
    ends = min(max(centre - half, 0.0), share), max(min(centre + half, 1.0), share)
    words = "Wilson at the effective sample size" if question.share else "Wilson on the scale"
    return Interval(low + span * ends[0], low + span * ends[1], question.level, words), None


def _difference_interval(
    means: list[_CellMean], total: _SumOfMeans, question: _Question
) -> tuple[Interval | None, str | None]:
    """The interval of a difference, or why there is none."""
    if not question.share:
        return _interval(_CellMean(total, 0.0, 0.0, 0.0, 0), question)
    shares, below, above = [], [], []
    for cell_mean in means:
        interval, missing = _interval(cell_mean, question)
        share = _inside(cell_mean.total.value)
        if interval is None and cell_mean.total.parts:
            return None, missing
        # A mean that is known has no error.
        shares.append(share)
        below.append(share - interval.low if interval else 0.0)
        above.append(interval.high - share if interval else 0.0)
    if not total.parts:
        return _interval(_CellMean(total, 0.0, 0.0, 0.0, 0), question)
    variances = [cell_mean.total.variance for cell_mean in means]
    product = float(np.sqrt(variances[0] * variances[1]))
    correlation = (variances[0] + variances[1] - total.variance) / 2 / product if product > 0 else 0.0
    correlation = min(1.0, max(-1.0, correlation))
    between = shares[0] - shares[1]

    def reach(first: float, second: float) -> float:
        return float(np.sqrt(max(0.0, first**2 + second**2 - 2 * correlation * first * second)))

    low, high = between - reach(below[0], above[1]), between + reach(above[0], below[1])
    return Interval(low, high, question.level, "MOVER"), None
