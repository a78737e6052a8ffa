"""How much better does one rater agree with people than another, on the same items? The difference of two kappas."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bedside.core.errors import DataError
from bedside.stats._kappa_parts import PairKappas, merged, penalties
from bedside.stats._resampling import aligned, leave_one_out
from bedside.stats.arrays import Array, Indices, Mask, Scale, coded, levels
from bedside.stats.intervals import t_interval
from bedside.stats.result import Result
from bedside.stats.sampled_items import SampledItems


@dataclass(frozen=True, slots=True)
class _Difference:
    """The mean kappa of one rater's pairs with people minus that of another's, as a function of items' weights."""

    first: PairKappas
    second: PairKappas

    def __call__(self, weights: Array) -> Array:
        return self.first(weights) - self.second(weights)

    def left_out(self, multiplicity: Array, member: Indices | None) -> Array:
        return self.first.left_out(multiplicity, member) - self.second.left_out(multiplicity, member)

    def left_out_of(self, sample: SampledItems) -> Array:
        return self.first.left_out_of(sample) - self.second.left_out_of(sample)


def kappa_gain(
    first: Sequence[Any],
    second: Sequence[Any],
    people: Any,
    *,
    scale: Scale,
    weights: str | Any = "quadratic",
    clusters: Any = None,
    level: float = 0.95,
) -> Result:
    """The mean kappa of one rater with each person minus that of another rater, −2 … 2.

    Args:
        first, second: what either rater says of each item; None where it says nothing.
        people: items by people; None where a person said nothing.
        scale: all levels.
        weights: as for :func:`bedside.stats.many_raters.mean_pairwise_kappa`.
        clusters: for each item the cluster it belongs to, such as its case; or how items were drawn.
        level: nominal coverage.

    Items that either rater or all people missed are left out and counted, so that both are judged on the same ones.
    The interval is the jackknife's over items or clusters with t: what both raters share, such as an item that is hard
    for everybody, cancels. Details hold either rater's kappa.
    """
    table = np.asarray(people, dtype=object)
    if table.ndim != 2 or len(table) != len(first) or len(first) != len(second):
        raise DataError("people's ratings are a table of as many items as either rater has")
    codes = coded(np.column_stack([table, np.array(first, dtype=object), np.array(second, dtype=object)]), scale)
    columns = table.shape[1]
    kept: Mask = np.array((codes[:, columns:] >= 0).all(axis=1) & (codes[:, :columns] >= 0).any(axis=1))
    disagreement, called = penalties(weights, levels(scale))
    blank = Result(
        name="difference of kappas",
        method=f"difference of mean kappas with each person ({called} weights), jackknife with t, {level:.0%}",
        n=int(kept.sum()),
        dropped=int((~kept).sum()),
        options={"weights": called, "scale": tuple(scale), "clusters": clusters is not None, "level": level},
    )
    if not kept.any():
        return blank.no_value("no item was rated by both and by a person")
    members: Any = None
    if isinstance(clusters, SampledItems):
        members = clusters.of(kept)
    elif clusters is not None:
        members = aligned(clusters, kept.size)[kept]
    rows, multiplicity = merged(codes[kept].astype(np.float64), members)
    distinct = rows.astype(np.intp)
    own, other = (
        PairKappas(distinct, [(person, columns + place) for person in range(columns)], disagreement) for place in (0, 1)
    )
    left_out = leave_one_out(_Difference(own, other), multiplicity, clusters=members)
    if np.isnan(left_out.estimate):
        return blank.no_value("kappa is undefined: nobody varies")
    every = members.weights if isinstance(members, SampledItems) else multiplicity
    details: dict[str, float | None] = {
        "kappa of the first": float(own(every[None, :])[0]),
        "kappa of the second": float(other(every[None, :])[0]),
    }
    result = replace(blank, estimate=left_out.estimate, details=details)
    error = left_out.standard_error
    if error is None:
        return result.no_value("no interval: kappa is undefined without one of the cases")
    if error <= 1e-12:
        return replace(result, missing="no interval: leaving out any case changes nothing")
    over = "items" if members is None else "clusters"
    interval = t_interval(left_out.estimate, error, left_out.freedom, level, f"jackknife over {over}, t")
    return replace(result, interval=interval, standard_error=error)
