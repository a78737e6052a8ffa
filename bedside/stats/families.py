"""Many tests at once: p-values corrected within a named family."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from bedside.core.errors import DataError, one_of
from bedside.stats.arrays import Array, vector
from bedside.stats.result import Result

#: Corrections; the last two are of the false discovery rate, by their names in scipy.
CORRECTIONS: Mapping[str, Literal["bh", "by"] | None] = {
    "holm": None, "bonferroni": None, "benjamini-hochberg": "bh", "benjamini-yekutieli": "by",
}  # fmt: skip


def adjusted(p_values: Any, *, method: str = "holm") -> Array:
    """p-values corrected for their number; NaN (or None) stays NaN and doesn't count.

    Args:
        p_values: in any order; the result is in the same order.
        method: ``"holm"`` (Holm 1979, family-wise error), ``"bonferroni"``, ``"benjamini-hochberg"`` (false
            discovery rate), ``"benjamini-yekutieli"`` (the same under any dependence).
    """
    one_of(method, tuple(CORRECTIONS), "correction", DataError)
    values = vector(p_values, "p-values")
    present = np.flatnonzero(~np.isnan(values))
    order = present[np.argsort(values[present], kind="stable")]
    result = np.full(values.size, np.nan)
    rate, ranked = CORRECTIONS[method], values[order]
    if rate is not None:
        from scipy.stats import false_discovery_control

        result[order] = false_discovery_control(ranked, method=rate) if order.size else ranked
    elif method == "bonferroni":
        result[order] = np.minimum(1.0, ranked * order.size)
    else:
        result[order] = np.minimum(1.0, np.maximum.accumulate(ranked * np.arange(order.size, 0, -1)))
    return result


def family(results: Sequence[Result], name: str, *, method: str = "holm") -> tuple[Result, ...]:
    """The results with their p-values corrected as one family.

    Args:
        results: tests that answer one question; those without a p-value are passed on and don't count.
        name: what the family is, e.g. ``"all pairs of systems on empathy"``; it stands in every result.
        method: as for :func:`adjusted`.
    """
    corrected = adjusted([result.p for result in results], method=method)
    size = int((~np.isnan(corrected)).sum())
    return tuple(
        replace(result, family=name, family_size=size, correction=method, p_adjusted=None if np.isnan(p) else float(p))
        for result, p in zip(results, corrected, strict=True)
    )
