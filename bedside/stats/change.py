"""By how many per cent does a mean change from one condition to another, or does each unit change in the mean?"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from bedside.stats._resampling import aligned
from bedside.stats.arrays import Array, pairs, vector
from bedside.stats.intervals import mean_t
from bedside.stats.result import Interval, Result


def percentage_change(before: Any, after: Any, *, level: float = 0.95) -> Result:
    """Change of the mean in per cent of the mean before, with Fieller's interval over pairs.

    ``100 · (mean after − mean before) / mean before``. It needs a mean before above zero: of zero there is no
    percentage, and below zero its sign would say the opposite. The interval holds the changes ``r`` of which a t test
    of ``after − (1 + r) · before`` within pairs is not significant, so that it leaves out 0 where the paired t test is.
    There is none where such a test of the mean before itself is not: its ends would be infinite.

    Args:
        before, after: values of the same units in the same order; None or NaN where missing.
        level: nominal coverage.

    Source: Fieller (1954), Journal of the Royal Statistical Society B 16, 175–185.
    """
    base, top, dropped = pairs(before, after)
    blank = Result(
        name="change of the mean (%)",
        method=f"change of the mean in per cent, Fieller's interval over pairs, {level:.0%}",
        n=base.size, dropped=dropped, options={"level": level},
    )  # fmt: skip
    if base.size == 0:
        return blank.no_value("no pairs")
    below, above = float(base.mean()), float(top.mean())
    result = replace(blank, details={"mean before": below, "mean after": above})
    size = float((np.abs(base) + np.abs(top)).mean())
    # What cancels leaves noise in the last digits, which is no base.
    if below <= 1e-12 * size:
        zero = abs(below) <= 1e-12 * size
        return result.no_value(f"undefined: the mean before is {'zero' if zero else 'below zero'}")
    result = replace(result, estimate=100 * (above - below) / below)
    if base.size == 1:
        return replace(result, missing="no interval: one pair")
    left = (top - above / below * base).std(ddof=1) / np.sqrt(base.size)
    if left <= 1e-12 * size * max(1.0, above / below):
        return replace(result, missing="no interval: all pairs change alike")
    result = replace(result, standard_error=100 * float(left) / below)
    bounds = _fiellers(base, top, level)
    if bounds is None:
        return replace(result, missing="no interval: values before vary too much for so few pairs")
    return replace(result, interval=Interval(*bounds, level, "Fieller's over pairs, t"))


def _fiellers(base: Array, top: Array, level: float) -> tuple[float, float] | None:
    """The ends of Fieller's interval of a change in per cent; None where they are infinite."""
    from scipy.special import stdtrit

    reach = float(stdtrit(base.size - 1, (1 + level) / 2)) ** 2 / base.size
    means = np.array([base.mean(), top.mean()])
    # Ratios r with (after − r · before)² ≤ t² · its variance lie between the roots of a parabola.
    parabola = np.outer(means, means) - reach * np.cov(base, top)
    if parabola[0, 0] <= 0:
        return None
    half = np.sqrt(max(0.0, parabola[0, 1] ** 2 - parabola[0, 0] * parabola[1, 1]))
    low, high = (100 * float((parabola[0, 1] + side * half) / parabola[0, 0] - 1) for side in (-1, 1))
    return low, high


def mean_percentage_change(before: Any, after: Any, *, clusters: Any = None, level: float = 0.95) -> Result:
    """Mean over pairs of each pair's change in per cent, with a t interval and a t test's p.

    The mean of ``100 · (after − before) / before``. A pair needs a value before above zero; the others have no change
    in per cent and are left out. ``n`` counts those that are in, and the means in ``details`` are over them; these
    count the others as ``without``, and the ``clusters`` of those that are in.

    Args:
        before, after: values of the same units in the same order; None or NaN where missing.
        clusters: for each pair the cluster it belongs to, such as the client of two sessions. The standard
            error is then the clusters'; each pair is one of them unless given.
        level: nominal coverage.
    """
    from scipy.special import stdtr

    complete, _, dropped = pairs(before, after)
    base, top = vector(before), vector(after)
    changes = np.full(base.size, np.nan)
    np.divide(100 * (top - base), base, out=changes, where=base > 0)
    kept = ~np.isnan(changes)
    without = complete.size - int(kept.sum())
    mean = mean_t(changes, clusters=clusters, level=level)
    over = "pairs" if clusters is None else "clusters of pairs"
    result = replace(
        mean, name="mean change (%)", dropped=dropped,
        method=f"mean over pairs of the change in per cent, t interval over {over}, {level:.0%}",
    )  # fmt: skip
    if not mean.n:
        why = "undefined: no value before is above zero" if without else "no pairs"
        return replace(result, details={"without": float(without)}, missing=why)
    members = mean.n if clusters is None else len(set(aligned(clusters, base.size)[kept].tolist()))
    details = {"mean before": float(base[kept].mean()), "mean after": float(top[kept].mean())}
    details |= {"without": float(without), "clusters": float(members)}
    estimate, error = float(changes[kept].mean()), mean.standard_error or 0.0
    # Clusters of one mean leave noise in the last digits, which is no error.
    varies = error > 1e-12 * float(np.abs(changes[kept]).max())
    if not varies:
        missing = mean.missing or f"no interval: the means of all {over} are equal"
        return replace(result, details=details, interval=None, standard_error=None, missing=missing)
    return replace(result, details=details, p=2 * float(stdtr(members - 1, -abs(estimate) / error)))
