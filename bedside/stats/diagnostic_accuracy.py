"""How well does a rater tell one answer from the rest? Sensitivity, specificity, predictive values, AUC, calibration.

The truth is what others said of the same items. An item that several of them rated stands in several rows, whose
weights share its one vote and whose cluster is the item, or what the item is part of.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bedside.core.errors import DataError
from bedside.core.words import counted
from bedside.stats._ratios import ClusterRatio, cluster_ratio, with_rate_interval, with_t_interval
from bedside.stats._resampling import aligned
from bedside.stats.arrays import Array, Mask, vector
from bedside.stats.result import Interval, Result


@dataclass(frozen=True, slots=True, kw_only=True)
class DiagnosticAccuracy:
    """How well a rater tells one answer from the rest.

    Attributes:
        prevalence: share of rows where the truth is that answer.
        sensitivity: of those, the share where the rater gives it (the recall).
        specificity: of the rows where the truth is another, the share where the rater gives another.
        positive_predictive_value: of the rows where the rater gives it, the share where it is the truth (precision).
        negative_predictive_value: of the rows where the rater gives another, the share where another is the truth.
        counts: weights of the rows by (truth, rater): of true and false negatives and positives.
    """

    prevalence: Result
    sensitivity: Result
    specificity: Result
    positive_predictive_value: Result
    negative_predictive_value: Result
    counts: dict[tuple[bool, bool], float]


def diagnostic_accuracy(
    rated: Any, truth: Any, *, positive: Any, clusters: Any = None, weights: Any = None, level: float = 0.95
) -> DiagnosticAccuracy:
    """Sensitivity, specificity and predictive values of a rater for one answer, each 0 … 1.

    Args:
        rated: the rater's answers, labels or numbers; None or NaN where missing.
        truth: the true ones, in the same order.
        positive: the answer that is asked about; all others count as its opposite.
        clusters: for each row the cluster it belongs to, such as the transcript of a turn.
        weights: of each row, above 0; 1 unless given.
        level: nominal coverage.

    Each is a share of rows. Its interval is Wilson's where rows are independent and weigh the same; else the
    jackknife's over clusters with t on the logit scale (with ten clusters, whose items' intraclass correlation is up
    to .3, it covers 93.5 to 99 %), and Wilson's with as many items as clusters where the share is 0 or 1. Rows that
    miss an answer are left out and counted.
    """
    answers, true = np.asarray(rated, dtype=object), np.asarray(truth, dtype=object)
    if answers.ndim != 1 or answers.shape != true.shape:
        raise DataError(f"two lists of equal length are needed, not {answers.shape} and {true.shape}")
    kept = _present(answers) & _present(true)
    says, is_so = (answers[kept] == positive).astype(bool), (true[kept] == positive).astype(bool)
    rows = _rows(kept, clusters, weights)
    blank = Result(name="", method="", dropped=int((~kept).sum()), options={"positive": positive, "level": level})

    def share(name: str, of: Mask, hits: Mask) -> Result:
        words = replace(blank, name=name, method=f"{name}, {level:.0%}")
        result = with_rate_interval(words, hits.astype(float), rows.weights * of, clusters=rows.clusters, level=level)
        return replace(result, missing=f"{name} of no rows") if result.estimate is None else result

    counts = np.bincount(2 * is_so + says, rows.weights, 4).reshape(2, 2)
    return DiagnosticAccuracy(
        prevalence=share("prevalence", np.ones(says.size, dtype=bool), is_so),
        sensitivity=share("sensitivity", is_so, says),
        specificity=share("specificity", ~is_so, ~says),
        positive_predictive_value=share("positive predictive value", says, is_so),
        negative_predictive_value=share("negative predictive value", ~says, ~is_so),
        counts={(bool(t), bool(r)): float(counts[t, r]) for t in (0, 1) for r in (0, 1)},
    )


def area_under_curve(
    scores: Any, truth: Any, *, clusters: Any = None, weights: Any = None, level: float = 0.95
) -> Result:
    """The area under the ROC curve, 0 … 1: how often a row that is so scores higher than one that isn't.

    Args:
        scores: the rater's scores, higher where it is surer; None or NaN where missing.
        truth: 1 where it is so, 0 where not.
        clusters: for each row the cluster it belongs to.
        weights: of each row, above 0; 1 unless given.
        level: nominal coverage.

    Ties count half. The interval is the jackknife's over rows or clusters, with t on the logit scale; there is none
    where the two kinds of rows don't overlap.

    Source:
        Obuchowski (1997), Nonparametric analysis of clustered ROC curve data, Biometrics 53.
    """
    from scipy.special import expit, logit, stdtrit

    values, true = _numbers(scores, truth)
    kept = ~np.isnan(values) & ~np.isnan(true)
    values, is_so = values[kept], true[kept] == 1
    if not np.isin(true[kept], (0.0, 1.0)).all():
        raise DataError("the truth is 1 or 0 in each row")
    rows = _rows(kept, clusters, weights)
    blank = Result(
        name="area under the ROC curve", method=f"area under the ROC curve, {level:.0%}", n=values.size,
        dropped=int((~kept).sum()), options={"clusters": clusters is not None, "level": level},
    )  # fmt: skip
    if is_so.all() or not is_so.any():
        return blank.no_value("all rows are of one kind")
    load, other = rows.weights[is_so], rows.weights[~is_so]
    area = float(load @ _weight_below(values[is_so], values[~is_so], other) / load.sum() / other.sum())
    result = replace(blank, estimate=area)
    members = np.arange(values.size) if rows.clusters is None else _positions(rows.clusters)
    left_out = _areas_without(values, is_so, rows.weights, members)
    groups = left_out.size
    if not 1e-12 < area < 1 - 1e-12:
        return replace(result, missing="no interval: the two kinds of rows don't overlap")
    if groups < 2 or np.isnan(left_out).any():
        return replace(result, missing="no interval: one cluster holds all rows of a kind")
    error = float(np.sqrt((groups - 1) / groups * ((left_out - left_out.mean()) ** 2).sum()))
    half = float(stdtrit(groups - 1, (1 + level) / 2)) * error / (area * (1 - area))
    bounds = Interval(
        float(expit(logit(area) - half)), float(expit(logit(area) + half)), level,
        f"jackknife over {'rows' if clusters is None else 'clusters'}, t on the logit scale",
    )  # fmt: skip
    return replace(result, interval=bounds, standard_error=error)


def _areas_without(values: Array, is_so: Mask, weights: Array, members: Any) -> Array:
    """The area without each cluster; NaN where one kind of rows is gone then."""
    higher, lower = values[is_so], values[~is_so]
    of_higher, of_lower = weights[is_so], weights[~is_so]
    groups = int(members.max()) + 1
    # Each row's wins against the whole other kind, and those within its own cluster, which would be taken off twice.
    wins = of_higher * _weight_below(higher, lower, of_lower)
    lost = of_lower * (of_higher.sum() - _weight_below(lower, higher, of_higher))
    member_higher, member_lower = members[is_so], members[~is_so]
    within = np.zeros(groups)
    for group in np.intersect1d(member_higher, member_lower):
        first, second = member_higher == group, member_lower == group
        within[group] = of_higher[first] @ _weight_below(higher[first], lower[second], of_lower[second])
    total = wins.sum()
    gone = np.bincount(member_higher, wins, groups) + np.bincount(member_lower, lost, groups) - within
    left_higher = of_higher.sum() - np.bincount(member_higher, of_higher, groups)
    left_lower = of_lower.sum() - np.bincount(member_lower, of_lower, groups)
    pairs = left_higher * left_lower
    gap = 1e-9 * of_higher.sum() * of_lower.sum()
    areas: Array = np.divide(total - gone, pairs, out=np.full(groups, np.nan), where=pairs > gap)
    return areas


def _weight_below(values: Array, others: Array, weights: Array) -> Array:
    """For each value, the weight of the others that are lower, and half that of the equal ones."""
    order = np.argsort(others, kind="stable")
    sums = np.concatenate([[0.0], np.cumsum(weights[order])])
    ranked = others[order]
    below: Array = (sums[np.searchsorted(ranked, values, "left")] + sums[np.searchsorted(ranked, values, "right")]) / 2
    return below


@dataclass(frozen=True, slots=True)
class CalibrationPoint:
    """Rows whose expected values are alike.

    Attributes:
        expected: the mean of what the rater expects.
        observed: the mean of what is so, with its interval.
        share: of all rows' weight, the share of these.
    """

    expected: float
    observed: Result
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationCurve:
    """Whether what is expected comes true.

    Attributes:
        points: from the lowest expected values to the highest.
        error: the mean distance of the points from the diagonal, weighted by their shares (the expected calibration
            error), in the unit of the ratings; there is no interval, as chance alone drives it up: see ``by_chance``.
        by_chance: the error that a rater whose expectations hold would show with as many rows and clusters; None
            where there is no error.
        surplus: the mean of what is expected minus that of what is so, with its interval.
    """

    points: tuple[CalibrationPoint, ...]
    error: Result
    by_chance: float | None
    surplus: Result


def calibration(
    expected: Any, observed: Any, *, bins: int = 10, clusters: Any = None, weights: Any = None, level: float = 0.95
) -> CalibrationCurve:
    """Expected values beside what is so, in bins of equally many rows.

    Args:
        expected: probabilities of a yes, or expected levels; None or NaN where missing.
        observed: what is so, in the same unit: 1 or 0 of a yes or no, or a level.
        bins: number of bins; equal expectations are never divided, so that there may be fewer.
        clusters: for each row the cluster it belongs to.
        weights: of each row, above 0; 1 unless given.
        level: nominal coverage.

    Bins are those of scikit-learn's ``calibration_curve`` with quantiles. Chance alone moves a bin's mean by about
    ``s √(2 / π)``, where ``s`` is the standard error of observed − expected in the bin, by clusters.

    Source:
        Naeini, Cooper and Hauskrecht (2015), Obtaining well calibrated probabilities using Bayesian binning, AAAI.
    """
    x, y = _numbers(expected, observed)
    kept = ~np.isnan(x) & ~np.isnan(y)
    x, y = x[kept], y[kept]
    rows = _rows(kept, clusters, weights)
    blank = Result(
        name="calibration error", method=f"mean distance from the diagonal in up to {bins} bins", n=x.size,
        dropped=int((~kept).sum()), options={"bins": bins, "clusters": clusters is not None, "level": level},
    )  # fmt: skip
    difference = surplus(x, y, clusters=rows.clusters, weights=rows.weights, level=level)
    if not x.size:
        return CalibrationCurve(points=(), error=blank.no_value("no values"), by_chance=None, surplus=difference)
    inner = np.quantile(x, np.linspace(0, 1, bins + 1))[1:-1]
    bin_of = np.searchsorted(inner, x)
    points, errors = [], []
    for position in np.unique(bin_of):
        part = bin_of == position
        members = None if rows.clusters is None else rows.clusters[part]
        points.append(_point(x[part], y[part], rows.weights[part], members, share=rows.share(part), level=level))
        gap = cluster_ratio(rows.weights[part] * (y[part] - x[part]), rows.weights[part], members)
        errors.append((gap, points[-1].share))
    return CalibrationCurve(
        points=tuple(points),
        error=replace(
            blank,
            estimate=sum(abs(gap.estimate) * share for gap, share in errors if gap is not None),
            missing="no interval: chance alone drives the error up",
        ),
        by_chance=_chance_error(errors),
        surplus=difference,
    )


def surplus(expected: Any, observed: Any, *, clusters: Any = None, weights: Any = None, level: float = 0.95) -> Result:
    """The mean of expected − observed, in the unit of both: how much higher a rater rates than what is so.

    Args:
        expected, observed: of each row; None or NaN where missing.
        clusters: for each row the cluster it belongs to.
        weights: of each row, above 0; 1 unless given.
        level: nominal coverage.

    The interval is the jackknife's over rows or clusters with t: the paired t interval where each row stands alone.
    """
    x, y = _numbers(expected, observed)
    kept = ~np.isnan(x) & ~np.isnan(y)
    rows = _rows(kept, clusters, weights)
    over = "rows" if clusters is None else "clusters"
    blank = Result(
        name="expected minus observed", method=f"mean of expected minus observed, t over {over}, {level:.0%}",
        n=int(kept.sum()), dropped=int((~kept).sum()), options={"clusters": clusters is not None, "level": level},
    )  # fmt: skip
    ratio = cluster_ratio(rows.weights * (x - y)[kept], rows.weights, rows.clusters)
    return blank.no_value("no values") if ratio is None else with_t_interval(blank, ratio, level)


def _chance_error(errors: list[tuple[ClusterRatio | None, float]]) -> float | None:
    """The mean distance that chance alone gives; None where a bin doesn't say how far its rows vary."""
    spreads = [(gap.standard_error, share) for gap, share in errors if gap is not None]
    if any(spread is None for spread, _ in spreads):
        return None
    return float(np.sqrt(2 / np.pi) * sum((spread or 0.0) * share for spread, share in spreads))


def _point(x: Array, y: Array, weights: Array, clusters: Any, *, share: float, level: float) -> CalibrationPoint:
    blank = Result(name="observed mean", method=f"observed mean, {level:.0%}", n=y.size)
    if np.isin(y, (0.0, 1.0)).all():
        observed = with_rate_interval(blank, y, weights, clusters=clusters, level=level)
    else:
        ratio = cluster_ratio(y * weights, weights, clusters)
        assert ratio is not None
        observed = with_t_interval(blank, ratio, level)
    return CalibrationPoint(float(np.average(x, weights=weights)), observed, share)


@dataclass(frozen=True, slots=True)
class _Rows:
    """Weights of the rows that count, and their clusters; None without clusters."""

    weights: Array
    clusters: Any

    def share(self, part: Mask) -> float:
        return float(self.weights[part].sum() / self.weights.sum())


def _rows(kept: Mask, clusters: Any, weights: Any) -> _Rows:
    loads = np.ones(kept.size) if weights is None else vector(weights, "weights")
    if loads.size != kept.size or not (loads > 0).all():
        raise DataError(f"a weight above 0 is needed for each of {counted(kept.size, 'row')}")
    return _Rows(loads[kept], None if clusters is None else aligned(clusters, kept.size)[kept])


def _positions(clusters: Any) -> Any:
    return np.unique(np.asarray(clusters).astype(str), return_inverse=True)[1]


def _present(cells: Any) -> Mask:
    return np.array([cell is not None and cell == cell for cell in cells], dtype=bool)


def _numbers(first: Any, second: Any) -> tuple[Array, Array]:
    x, y = vector(first, "the rater's values"), vector(second, "the truth")
    if x.size != y.size:
        raise DataError(f"two lists of equal length are needed, not of {x.size} and {y.size}")
    return x, y
