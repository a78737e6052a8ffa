"""May a judge replace human raters? The alternative annotator test of Calderon, Reichart and Dror (2025)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from bedside.core.errors import DataError, one_of
from bedside.core.words import counted
from bedside.stats._ratios import cluster_ratio
from bedside.stats._resampling import aligned
from bedside.stats.arrays import Array, Indices, Mask, vector
from bedside.stats.families import CORRECTIONS, family
from bedside.stats.paired import wilcoxon
from bedside.stats.result import Result

#: With items in fewer clusters, a rater isn't tested; of two raters, where the judge need not fall behind one of them
#: only, chance alone lets more in.
FEWEST_CLUSTERS, FEWEST_CLUSTERS_OF_TWO = 10, 15


@dataclass(frozen=True, slots=True, kw_only=True)
class AlternativeAnnotator:
    """Outcome of the test.

    Attributes:
        winning_rate: omega, the share of tested raters the judge does not fall behind; at .5 or more the judge
            may replace a rater. None where no rater could be tested.
        advantage: rho, the mean over raters of the share of items on which the judge is at least as close to
            the other raters as the left-out one. None where no rater could be tested.
        replaceable: whether omega is .5 or more.
        epsilon: the advantage granted to the judge for its lower cost.
        alpha: level of the false discovery rate.
        raters: one result a rater: estimate the judge's advantage probability against that rater, details the
            rater's own and the number of clusters, p one-sided and corrected in one family.
        method: how, as one line.
        missing: why there is no winning rate.
    """

    winning_rate: float | None = None
    advantage: float | None = None
    replaceable: bool | None = None
    epsilon: float
    alpha: float
    raters: tuple[Result, ...]
    method: str
    missing: str | None = None


def alternative_annotator(
    judge: Any,
    ratings: Any,
    *,
    epsilon: float,
    score: Literal["match", "distance"] = "match",
    correction: str = "benjamini-yekutieli",
    alpha: float = 0.05,
    fewest_items: int = 30,
    clusters: Any = None,
    fewest_clusters: int | None = None,
    weights: Any = None,
) -> AlternativeAnnotator:
    """Compare a judge with each human rater in turn by closeness to the remaining raters.

    Args:
        judge: the judge's rating of each item, None or NaN where missing.
        ratings: items by human raters, None or NaN where missing; at least two raters, and the authors advise
            three or more.
        epsilon: how much worse than a human the judge may be, in probability; the authors advise .2 for experts,
            .15 for skilled raters and .1 for crowd workers.
        score: closeness to the other raters: ``"match"``, the share of them given the same rating (nominal), or
            ``"distance"``, minus the root mean squared difference (numeric).
        correction: of the raters' p-values; the authors take Benjamini–Yekutieli.
        alpha: level of the test.
        fewest_items: a rater with fewer items isn't tested; 30 is the authors' minimum for the t test.
        clusters: for each item what it shares with others, such as the transcript of a turn; unless given, each item
            stands alone, as the authors have it.
        fewest_clusters: a rater with items in fewer clusters isn't tested; unless given :data:`FEWEST_CLUSTERS`, of two
            raters :data:`FEWEST_CLUSTERS_OF_TWO`. So a judge at the boundary is accepted in at most 5 %, however alike
            the items of a cluster are (intraclass correlation up to .6); with two raters and ten clusters it would be
            up to 5.8 % (``benchmarks/validate_error_rates.py``).
        weights: of each item, such as one over the chance with which it was drawn; above 0.

    For each rater j, an item counts where the judge, j and another rater rated it. The judge wins it if at least
    as close to the others as j, j wins it if at least as close as the judge. Tested is whether the share of j's
    wins exceeds that of the judge's by less than epsilon: a one-sided t test of the differences, with the standard
    error of the jackknife over clusters and one degree of freedom less than clusters, or the exact signed-rank test
    where they don't vary. Omega counts the rejections.

    Source:
        Calderon, Reichart and Dror (2025), The alternative annotator test for LLM-as-a-judge, ACL, where items are
        independent.
    """
    one_of(score, ("match", "distance"), "score", DataError)
    one_of(correction, CORRECTIONS, "correction", DataError)
    if not 0 <= epsilon < 1:
        raise DataError(f"epsilon is a probability from 0 to below 1, not {epsilon}")
    verdicts, table = _columns(judge, ratings, score)
    if table.shape[1] < 2:
        raise DataError(f"the alternative annotator test needs at least two raters, not {table.shape[1]}")
    size = len(verdicts)
    if fewest_clusters is None:
        fewest_clusters = FEWEST_CLUSTERS_OF_TWO if table.shape[1] == 2 else FEWEST_CLUSTERS
    items = _Items(
        np.arange(size) if clusters is None else np.unique(aligned(clusters, size).astype(str), return_inverse=True)[1],
        np.ones(size) if weights is None else _checked_weights(weights, size),
        fewest=max(2, fewest_items),
        fewest_clusters=0 if clusters is None else max(2, fewest_clusters),
    )
    over = "" if clusters is None else " over clusters"
    words = f"alternative annotator test, {score}, epsilon {epsilon}, one-sided t tests{over}, {correction} at {alpha}"
    tested = family(
        [
            _against(verdicts, table, rater, epsilon=epsilon, score=score, items=items)
            for rater in range(table.shape[1])
        ],
        "raters left out in turn",
        method=correction,
    )
    valid = [result for result in tested if result.p_adjusted is not None]
    outcome = AlternativeAnnotator(epsilon=epsilon, alpha=alpha, raters=tested, method=words)
    if not valid:
        most = max(tested, key=lambda result: result.n)
        return replace(outcome, missing=f"no rater has enough items in common with the others ({most.missing})")
    rate = sum(result.p_adjusted is not None and result.p_adjusted <= alpha for result in valid) / len(valid)
    advantage = float(np.mean([result.estimate for result in valid]))
    return replace(outcome, winning_rate=rate, advantage=advantage, replaceable=rate >= 0.5)


def _columns(judge: Any, ratings: Any, score: str) -> tuple[Array, Array]:
    """Judge and raters as numbers; labels become codes."""
    first = np.asarray(judge, dtype=object)
    try:
        table = np.asarray(ratings, dtype=object)
    except ValueError:
        table = np.empty(0)
    if table.ndim != 2 or first.shape != table.shape[:1]:
        raise DataError("ratings must be items by raters, with one rating of the judge an item")
    whole = np.column_stack([first, table])
    seen = [value is not None and value == value for value in whole.ravel()]
    present = np.array(seen, dtype=bool).reshape(whole.shape)
    numbers = np.full(whole.shape, np.nan)
    if score == "distance":
        try:
            numbers[present] = whole[present].astype(np.float64)
        except (TypeError, ValueError):
            raise DataError("distances need numeric ratings", todo='use the score "match" for labels') from None
    else:
        code: dict[Any, int] = {}
        numbers[present] = [code.setdefault(value, len(code)) for value in whole[present]]
    return numbers[:, 0], numbers[:, 1:]


def _closeness(rating: Array, others: Array, score: str) -> Array:
    """Mean closeness of one rating to the others' ratings of each item."""
    count = (~np.isnan(others)).sum(axis=1)
    if score == "match":
        close: Array = (rating[:, None] == others).sum(axis=1) / count
        return close
    squared = np.nansum((rating[:, None] - others) ** 2, axis=1) / count
    # Rounded, so that equal distances reached in different ways are ties.
    distance: Array = -np.round(np.sqrt(squared), 12)
    return distance


@dataclass(frozen=True, slots=True)
class _Items:
    """What is known of the items, and how many a rater needs.

    Attributes:
        members: the cluster of each, from 0.
        weights: of each.
        fewest: items that a rater needs.
        fewest_clusters: clusters that a rater needs; 0 where each item is its own.
    """

    members: Indices
    weights: Array
    fewest: int
    fewest_clusters: int

    def shortage(self, kept: Mask) -> str | None:
        """Why there are too few of these; None where there are enough."""
        n, groups = int(kept.sum()), len(np.unique(self.members[kept]))
        if n < self.fewest:
            return f"{n} items in common, fewer than {self.fewest}"
        if groups < self.fewest_clusters:
            return f"{n} items in common of {groups} clusters, fewer than {self.fewest_clusters}"
        return None


def _checked_weights(weights: Any, size: int) -> Array:
    values = vector(weights, "weights")
    if values.size != size or not (values > 0).all():
        raise DataError(f"a weight above 0 is needed for each of {counted(size, 'item')}")
    return values


def _against(judge: Array, table: Array, rater: int, *, epsilon: float, score: str, items: _Items) -> Result:
    """The judge against one rater."""
    from scipy.special import stdtr

    clustered = items.fewest_clusters > 0
    words = f"one-sided t test{' over clusters' * clustered} against rater {rater}, epsilon {epsilon}"
    others = np.delete(table, rater, axis=1)
    kept = ~np.isnan(judge) & ~np.isnan(table[:, rater]) & ~np.isnan(others).all(axis=1)
    n, members, weights = int(kept.sum()), items.members[kept], items.weights[kept]
    blank = Result(name="advantage probability of the judge", method=words, n=n, dropped=int((~kept).sum()))
    shortage = items.shortage(kept)
    if shortage is not None:
        return blank.no_value(shortage)
    by_judge = _closeness(judge[kept], others[kept], score)
    by_rater = _closeness(table[kept, rater], others[kept], score)
    judge_wins, rater_wins = (by_judge >= by_rater).astype(float), (by_rater >= by_judge).astype(float)
    lead = rater_wins - judge_wins
    ratio = cluster_ratio(lead * weights, weights, members)
    assert ratio is not None
    assert ratio.standard_error is not None
    result = replace(
        blank,
        estimate=float(np.average(judge_wins, weights=weights)),
        details={
            "advantage probability of the rater": float(np.average(rater_wins, weights=weights)),
            "clusters": float(ratio.clusters),
        },
    )
    if ratio.standard_error <= 1e-12:
        # Rounded, so that a lead of epsilon itself is one.
        margins = np.full(ratio.clusters, np.round(ratio.estimate - epsilon, 12))
        exact = wilcoxon(margins, np.zeros(margins.size), zeros="pratt", method="auto", alternative="less", shift=False)
        return replace(
            result,
            method=f"{words}; signed-rank, as the differences don't vary",
            statistic=exact.statistic,
            p=exact.p,
            missing=exact.missing if exact.p is None else None,
        )
    t = (ratio.estimate - epsilon) / ratio.standard_error
    return replace(result, statistic=t, p=float(stdtr(ratio.clusters - 1, t)))
