"""One person's ratings against those of each of many others: which of them rate most alike."""

from __future__ import annotations

from typing import Any

import numpy as np

from bedside.core.errors import DataError
from bedside.stats._kappa_parts import kappa_values, penalties
from bedside.stats.arrays import Array, Scale, levels, matrix, vector

#: Others whose tables of joint counts are in memory at once.
_ROWS = 20_000


def kappas_with_each(ratings: Any, others: Any, *, scale: Scale, weights: str | Any = "unweighted") -> Array:
    """Cohen's kappa of one rater with each of several others, on the same items.

    Args:
        ratings: the one's, items; numeric levels of the scale, none missing.
        others: others × items, likewise.
        scale: all levels from lowest to highest, numeric.
        weights: as for :func:`bedside.stats.two_raters.kappa`, whose estimates these are.

    Returns:
        A kappa for each of the others, from -1 to 1; NaN where both put every item on the same one level.

    Raises:
        DataError: the numbers of items differ, or a rating is no level of the scale.
    """
    one, many, positions = vector(ratings, "ratings"), matrix(others, "others"), levels(scale)
    if many.shape[1] != one.size:
        raise DataError(f"{one.size} items can't be compared with {many.shape[1]}")
    ours, theirs = _places(one, positions, "ratings"), _places(many, positions, "others")
    disagreement, _ = penalties(weights, positions)
    k = positions.size
    values = []
    for start in range(0, len(theirs), _ROWS):
        part = theirs[start : start + _ROWS]
        joint = np.zeros((len(part), k, k))
        rows = np.arange(len(part))
        for item, level in enumerate(ours):
            joint[rows, level, part[:, item]] += 1
        values.append(kappa_values(joint, disagreement))
    return np.concatenate(values) if values else np.zeros(0)


def _places(ratings: Array, positions: Array, name: str) -> Any:
    """Places in the scale."""
    places = np.searchsorted(positions, ratings)
    inside = places < positions.size
    if not inside.all() or (positions[np.where(inside, places, 0)] != ratings).any():
        raise DataError(f"`{name}` holds a rating that is no level of the scale")
    return places
