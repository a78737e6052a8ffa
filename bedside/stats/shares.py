"""How large is a share of items, where items belong together in clusters such as transcripts?"""

from __future__ import annotations

from typing import Any

import numpy as np

from bedside.core.errors import DataError
from bedside.core.words import counted
from bedside.stats._ratios import with_rate_interval
from bedside.stats._resampling import aligned
from bedside.stats.arrays import vector
from bedside.stats.result import Result


def share(hits: Any, *, clusters: Any = None, weights: Any = None, level: float = 0.95) -> Result:
    """The share of ones among zeros and ones, 0 … 1.

    Args:
        hits: zeros and ones; None or NaN where missing, which are dropped and counted.
        clusters: for each item the cluster it belongs to, such as the transcript of a turn. The interval is then the
            jackknife's over clusters on the logit scale, t with one degree of freedom less than clusters; where all or
            none are hits, Wilson's with as many items as there are clusters. Without clusters it is Wilson's (1927).
        weights: of each item, such as one over the chance with which it was drawn, above 0. The interval is then the
            jackknife's, too.
        level: nominal coverage.

    Raises:
        DataError: a value is neither 0 nor 1, or a weight isn't above 0.
    """
    values = vector(hits, "hits")
    present = ~np.isnan(values)
    if not np.isin(values[present], (0.0, 1.0)).all():
        raise DataError("a share needs values of 0 and 1")
    loads = np.ones(values.size) if weights is None else vector(weights, "weights")
    if loads.size != values.size or not (loads > 0).all():
        raise DataError(f"a weight above 0 is needed for each of {counted(values.size, 'item')}")
    members = None if clusters is None else aligned(clusters, values.size)
    blank = Result(
        name="share",
        method=f"share with {level:.0%} interval" + ("" if clusters is None else " over clusters"),
        dropped=int((~present).sum()),
        options={"clusters": clusters is not None, "weighted": weights is not None, "level": level},
    )
    if not present.any():
        return blank.no_value("no values")
    return with_rate_interval(blank, np.where(present, values, 0.0), present * loads, clusters=members, level=level)
