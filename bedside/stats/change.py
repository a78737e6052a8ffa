"""By how many per cent does a mean change from one condition to another, or does each unit change in the mean?"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np

from bedside.core.errors import DataError, one_of
from bedside.stats._resampling import StatisticOfTotals, bootstrap_interval, resample
from bedside.stats.arrays import Array, Seed, pairs
from bedside.stats.intervals import mean_bootstrap
from bedside.stats.paired import t_test
from bedside.stats.result import Result


def percentage_change(
    before: Any,
    after: Any,
    *,
    interval: Literal["bca", "percentile"] = "bca",
    resamples: int = 10_000,
    level: float = 0.95,
    seed: Seed = 0,
) -> Result:
    """Change of the mean in per cent of the mean before, with a bootstrap interval over pairs.

    ``100 · (mean after − mean before) / mean before``. It needs a mean before above zero: of zero there is no
    percentage, and below zero its sign would say the opposite. Resamples without such a mean are left out and
    counted.

    Args:
        before, after: values of the same units in the same order; None or NaN where missing.
        interval: ``"bca"`` (Efron 1987) or ``"percentile"``.
        resamples: number of resamples of the pairs.
        level: nominal coverage.
        seed: seed or generator.
    """
    one_of(interval, ("bca", "percentile"), "interval", DataError)
    base, top, dropped = pairs(before, after)
    blank = Result(
        name="change of the mean (%)",
        method=f"change of the mean in per cent, bootstrap interval over pairs ({interval}), {level:.0%}",
        n=base.size,
        dropped=dropped,
        options={"interval": interval, "resamples": resamples, "level": level, "seed": seed},
    )
    if base.size == 0:
        return blank.no_value("no pairs")
    result = replace(blank, details={"mean before": float(base.mean()), "mean after": float(top.mean())})
    size = np.abs(base) + np.abs(top)

    def of_totals(totals: Array) -> Array:
        below, above, sizes = totals.T
        # What cancels leaves noise in the last digits, which is no base.
        defined = below > 1e-12 * sizes
        changes: Array = np.divide(100 * (above - below), below, out=np.full(below.shape, np.nan), where=defined)
        return changes

    change = StatisticOfTotals(np.column_stack([base, top, size]), of_totals)
    estimate = float(change(np.ones((1, base.size)))[0])
    if np.isnan(estimate):
        zero = abs(float(base.mean())) <= 1e-12 * float(size.mean())
        reason = f"undefined: the mean before is {'zero' if zero else 'below zero'}"
        return result.no_value(reason)
    if base.size == 1:
        return replace(result, estimate=estimate, missing="no interval: one pair")
    drawn = resample(change, np.ones(base.size), resamples=resamples, seed=seed, over="pairs")
    bounds, why, remarks = bootstrap_interval(drawn, level=level, method=interval)
    return replace(
        result, estimate=estimate, interval=bounds, standard_error=drawn.standard_error if bounds else None,
        missing=why, remarks=remarks,
    )  # fmt: skip


def mean_percentage_change(
    before: Any, after: Any, *, resamples: int = 10_000, level: float = 0.95, seed: Seed = 0
) -> Result:
    """Mean over pairs of each pair's change in per cent, with a BCa bootstrap interval over pairs and a t test's p.

    The mean of ``100 · (after − before) / before``. A pair needs a value before above zero; the others have no change
    in per cent and are left out. ``n`` counts those that are in, and the means in ``details`` are over them; these
    count the others as ``without``.

    Args:
        before, after: values of the same units in the same order; None or NaN where missing.
        resamples, level, seed: as for :func:`percentage_change`.
    """
    base, top, dropped = pairs(before, after)
    based = base > 0
    base, top, without = base[based], top[based], int((~based).sum())
    changes = 100 * (top - base) / base
    found = mean_bootstrap(changes, method="bca", resamples=resamples, level=level, seed=seed)
    result = replace(
        found, name="mean change (%)", dropped=dropped,
        method=f"mean over pairs of the change in per cent, bootstrap interval over pairs (bca), {level:.0%}",
    )  # fmt: skip
    if not base.size:
        why = "undefined: no value before is above zero" if without else "no pairs"
        return replace(result, details={"without": float(without)}, missing=why)
    details = {"mean before": float(base.mean()), "mean after": float(top.mean()), "without": float(without)}
    return replace(result, details=details, p=t_test(changes, np.zeros(base.size)).p)
