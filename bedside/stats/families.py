"""Many tests at once: p-values corrected within a named family."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bedside.core.errors import DataError, one_of
from bedside.stats.arrays import Array, vector
from bedside.stats.result import Result

CORRECTIONS = ("holm", "bonferroni", "benjamini-hochberg", "benjamini-yekutieli")


def adjusted(p_values: Any, *, method: str = "holm") -> Array:
    """p-values corrected for their number; NaN (or None) stays NaN and doesn't count.

    Args:
        p_values: in any order; the result is in the same order.
        method: ``"holm"`` (Holm 1979, family-wise error), ``"bonferroni"``, ``"benjamini-hochberg"`` (false
            discovery rate), ``"benjamini-yekutieli"`` (the same under any dependence).
    """
    one_of(method, CORRECTIONS, "correction", DataError)
    values = vector(p_values, "p-values")
    present = np.flatnonzero(~np.isnan(values))
    order = present[np.argsort(values[present], kind="stable")]
    result = np.full(values.size, np.nan)
    ranked, places = values[order], np.arange(1, order.size + 1)
    if method == "bonferroni":
        raised = ranked * order.size
    elif method == "holm":
        raised = np.maximum.accumulate(ranked * places[::-1])
    else:
        under_dependence = (1 / places).sum() if method == "benjamini-yekutieli" else 1.0
        raised = np.minimum.accumulate((ranked * order.size / places * under_dependence)[::-1])[::-1]
    result[order] = np.minimum(1.0, raised)
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
