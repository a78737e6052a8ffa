"""Do two systems differ on the same cases? Paired tests; each result carries estimate, interval and effect.

``x`` and ``y`` hold one value a case, in the same order; differences are ``x − y``. Pairs that miss a value are
left out and counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from bedside.core.errors import DataError, one_of
from bedside.stats._blocks import deviate, rank_sum_tail
from bedside.stats._exact import paired_melded_bounds, signed_rank_distribution, tail
from bedside.stats._resampling import (
    Resamples,
    bootstrap_interval,
    mean_bootstraps,
    pseudo_median,
    rows_in_order,
    sign_flips,
)
from bedside.stats.arrays import (
    Alternative,
    Array,
    Seed,
    average_ranks,
    binary_pairs,
    constant,
    counts_of_two,
    differences,
    generator,
    matrix,
    pairs,
    seed_in_words,
)
from bedside.stats.effects import cohens_dz, paired_odds_ratio, rank_biserial
from bedside.stats.intervals import t_interval
from bedside.stats.result import Interval, Result

# -- The tests and intervals of discordant pairs of zeros and ones --------------------------------------


def _discordance_test(only_x: int, only_y: int, method: str) -> tuple[float, float]:
    """Statistic and p-value of discordant pairs, of which there is at least one."""
    from scipy.special import betainc, chdtrc

    fewer, pairs, apart = min(only_x, only_y), only_x + only_y, abs(only_x - only_y)
    if method in ("exact", "mid-p"):
        p = min(1.0, 2 * float(betainc(pairs - fewer, fewer + 1, 0.5)))
        return float(fewer), p - _chance_of(fewer, pairs) if method == "mid-p" and apart else p
    # Of equal counts there is nothing that the correction could take away.
    statistic = (apart - (method == "corrected" and apart > 0)) ** 2 / pairs
    return statistic, float(chdtrc(1, statistic))


def _chance_of(count: int, pairs: int) -> float:
    """With which exactly ``count`` of the discordant pairs go one way, where either way is as likely."""
    from scipy.special import gammaln

    ways = gammaln(pairs + 1) - gammaln(count + 1) - gammaln(pairs - count + 1)
    return float(np.exp(ways - pairs * np.log(2)))


def _discordance_tail(only_x: int, only_y: int, alternative: str, method: str) -> float:
    """One-sided p of discordant pairs, exact or mid-p."""
    from scipy.special import betainc

    leading, pairs = (only_x if alternative == "greater" else only_y), only_x + only_y
    p = float(betainc(leading, pairs - leading + 1, 0.5)) if leading else 1.0
    return p - _chance_of(leading, pairs) / 2 if method == "mid-p" else p


def _discordance_interval(only_x: int, only_y: int, n: int, interval: str, method: str, level: float) -> Interval:
    """Bonett and Price's or the melded interval of the share of ones in x minus that in y."""
    if interval == "bonett-price":
        return _bonett_price(only_x, only_y, n, level)
    mid = method == "mid-p"
    bounds = paired_melded_bounds(only_x, only_y, n, level=level, mid=mid)
    return Interval(*bounds, level, f"melded, {'mid-p' if mid else 'exact'} (Fay and Lumbard)")


def _bonett_price(only_x: int, only_y: int, n: int, level: float) -> Interval:
    """Bonett and Price's (2012) interval of a difference of paired proportions."""
    z = deviate(level)
    adjusted_x, adjusted_y = (only_x + 1) / (n + 2), (only_y + 1) / (n + 2)
    centre = adjusted_x - adjusted_y
    half = z * float(np.sqrt((adjusted_x + adjusted_y - centre**2) / (n + 2)))
    return Interval(max(-1.0, centre - half), min(1.0, centre + half), level, "Bonett and Price")


# -- Do two systems differ on the same cases? Paired tests ----------------------------------------------

ALTERNATIVES = ("two-sided", "greater", "less")
MeanInterval = Literal["t", "inverted", "bca", "percentile"]
McNemarMethod = Literal["exact", "mid-p", "chi-squared", "corrected"]
#: Why a paired test has no value.
NO_PAIRS = "no pairs"
#: Signed-rank tests on up to this many non-zero differences are exact where the method is ``"auto"``.
EXACT_PAIRS = 50
#: More than this would take minutes.
MOST_EXACT_PAIRS = 1000


def signed_ranks(d: Array, zeros: str) -> Array:
    """Ranks of the absolute differences with the differences' signs; zeros give 0.

    Args:
        zeros: ``"pratt"`` ranks zeros along and then drops their ranks; ``"wilcox"`` drops them first.
    """
    ranks = np.zeros(d.size)
    kept = d != 0 if zeros == "wilcox" else np.ones(d.size, dtype=bool)
    ranks[kept] = average_ranks(np.abs(d[kept]))
    signed: Array = ranks * np.sign(d)
    return signed


def wilcoxon(
    x: Any,
    y: Any,
    *,
    zeros: Literal["pratt", "wilcox"] = "pratt",
    method: Literal["auto", "exact", "asymptotic"] = "auto",
    continuity: bool = True,
    alternative: Alternative = "two-sided",
    shift: bool = True,
    level: float = 0.95,
) -> Result:
    """Wilcoxon signed-rank test; statistic W+, estimate the Hodges–Lehmann pseudo-median of the differences.

    Args:
        zeros: what becomes of pairs without difference: ``"pratt"`` (ranked, their ranks dropped) or
            ``"wilcox"`` (left out before ranking).
        method: ``"exact"`` is the conditional distribution over all signs, right with ties and zeros;
            ``"asymptotic"`` the normal approximation with ties and zeros corrected; ``"auto"`` is exact on up
            to 50 differences other than zero.
        continuity: continuity correction of the normal approximation.
        alternative: ``"greater"``: x tends to be higher.
        shift: whether to find the pseudo-median and its interval, which take most of the time on thousands of pairs.

    The pseudo-median's interval inverts the test on Walsh averages, ties as in the test (the normal approximation
    above 50 pairs); it is two-sided whatever the alternative.
    """
    one_of(zeros, ("pratt", "wilcox"), "choice", DataError, where="`zeros`")
    one_of(method, ("auto", "exact", "asymptotic"), "method", DataError)
    one_of(alternative, ALTERNATIVES, "alternative", DataError)
    a, b, dropped = pairs(x, y)
    d = differences(a, b)
    moved = int(np.count_nonzero(d))
    used = _signed_rank_method(method, moved)
    how = used if used == "exact" else f"asymptotic with{'' if continuity else 'out'} continuity correction"
    blank = Result(
        name="pseudo-median of the differences",
        method=f"Wilcoxon signed-rank (W+), {alternative}, zeros by {zeros.capitalize()}, ties corrected, {how}",
        n=d.size,
        dropped=dropped,
        options={
            "zeros": zeros, "method": used, "continuity": continuity, "alternative": alternative, "shift": shift,
            "level": level,
        },
    )  # fmt: skip
    if d.size == 0:
        return blank.no_value(NO_PAIRS)
    estimate, interval, reason = (
        pseudo_median(d, level, exact=used == "exact", continuity=continuity) if shift else (None, None, None)
    )
    result = replace(
        blank,
        estimate=estimate,
        effect=rank_biserial(a, b, zeros=zeros, level=level),
        details={
            "median difference": float(np.median(d)),
            "mean difference": float((a - b).mean()),
            "pairs without difference": float(d.size - np.count_nonzero(d)),
        },
    )
    if moved == 0:
        return replace(result, missing="no p-value and no interval: no pair differs")
    plus, p = _signed_rank_test(d, zeros, exact=used == "exact", continuity=continuity, alternative=alternative)
    return replace(result, interval=interval, statistic=plus, p=p, missing=reason)


def _signed_rank_method(method: str, moved: int) -> str:
    """How this many differences other than zero are tested.

    Raises:
        DataError: too many for the exact distribution.
    """
    used = method if method != "auto" else ("exact" if moved <= EXACT_PAIRS else "asymptotic")
    if used == "exact" and moved > MOST_EXACT_PAIRS:
        raise DataError(
            f"the exact signed-rank test is limited to {MOST_EXACT_PAIRS} differences, not {moved}",
            todo="use the asymptotic method",
        )
    return used


def _signed_rank_test(d: Array, zeros: str, *, exact: bool, continuity: bool, alternative: str) -> tuple[float, float]:
    """W+ and its p-value, of differences of which some are other than zero."""
    ranks = signed_ranks(d, zeros)
    ranks = ranks[ranks != 0]
    plus = float(ranks[ranks > 0].sum())
    if exact:
        return plus, tail(signed_rank_distribution(np.abs(ranks)), round(2 * plus), alternative)
    deviation = plus - np.abs(ranks).sum() / 2
    return plus, rank_sum_tail(deviation, np.sqrt((ranks**2).sum()) / 2, continuity, alternative)


def t_test(x: Any, y: Any, *, alternative: Alternative = "two-sided", level: float = 0.95) -> Result:
    """Paired t test of the mean difference; the interval is two-sided whatever the alternative."""
    return t_tests([(x, y)], alternative=alternative, level=level)[0]


def t_tests(
    samples: Sequence[tuple[Any, Any]], *, alternative: Alternative = "two-sided", level: float = 0.95
) -> tuple[Result, ...]:
    """:func:`t_test` of many samples at once, such as all metrics of all pairs of systems.

    Args:
        samples: ``x`` and ``y`` of each test; their lengths may differ from test to test.
        alternative: ``"greater"``: x is higher on average.
        level: nominal coverage.
    """
    from scipy.special import stdtr

    one_of(alternative, ALTERNATIVES, "alternative", DataError)
    blank = Result(
        name="mean difference",
        method=f"paired t test, {alternative}",
        options={"alternative": alternative, "level": level},
    )
    complete = [pairs(x, y) for x, y in samples]
    results = [replace(_mean_difference(blank, a, b), dropped=dropped) for a, b, dropped in complete]
    tested = [position for position, result in enumerate(results) if result.missing is None]
    apart = [complete[position][0] - complete[position][1] for position in tested]
    t = np.array([d.mean() / np.sqrt(d.var(ddof=1) / d.size) for d in apart])
    side = {"two-sided": -np.abs(t), "greater": -t, "less": t}[alternative]
    p_values = stdtr(np.array([d.size - 1 for d in apart]), side) * (1 + (alternative == "two-sided"))
    for position, statistic, p in zip(tested, t, p_values, strict=True):
        results[position] = replace(results[position], statistic=float(statistic), p=float(p))
    return tuple(results)


def _mean_difference(blank: Result, a: Array, b: Array) -> Result:
    """A result with the mean difference of complete pairs, its t interval and Cohen's dz, but without a test.

    Args:
        blank: what the test is, with its options.
    """
    d = a - b
    blank = replace(blank, n=d.size)
    if d.size == 0:
        return blank.no_value(NO_PAIRS)
    mean = float(d.mean())
    means: dict[str, float | None] = {"mean of x": float(a.mean()), "mean of y": float(b.mean())}
    result = replace(blank, estimate=mean, details=means)
    if d.size == 1 or constant(differences(a, b)):
        reason = "one pair" if d.size == 1 else "all differences are equal"
        return replace(result, missing=f"no p-value and no interval: {reason}")
    sd, df, level = float(d.std(ddof=1)), d.size - 1, blank.options["level"]
    error = float(sd / np.sqrt(d.size))
    return replace(
        result,
        interval=t_interval(mean, error, df, level, "t"),
        standard_error=error,
        effect=cohens_dz(a, b, level=level),
        details={**means, "degrees of freedom": float(df), "standard deviation of the differences": sd},
    )


def permutation(
    x: Any,
    y: Any,
    *,
    resamples: int = 10_000,
    alternative: Alternative = "two-sided",
    interval: MeanInterval = "t",
    mid: bool = False,
    level: float = 0.95,
    seed: Seed = 0,
) -> Result:
    """Paired permutation test of the mean difference by sign flips, with an interval of that difference.

    Args:
        resamples: random sign flips, and resamples of a bootstrap interval. p = (as extreme + 1) / (flips + 1). Where
            the 2^n sign patterns are no more than ``resamples``, all are taken and p is exact.
        alternative: ``"greater"``: x is higher on average.
        interval: ``"t"``; ``"inverted"``, the shifts that the same sign flips don't reject; or a ``"bca"`` or
            ``"percentile"`` bootstrap over pairs.
        mid: whether sign patterns that are as extreme as the data count half (mid-p). Of whole levels, where many are,
            it finds nothing that isn't there in 1.5 to 5 % of studies; without it in 0.3 to 3.6 % (6 to 40 pairs).
        level: nominal coverage.
        seed: seed or generator.
    """
    a, b, dropped = pairs(x, y)
    result = permutations(
        a[:, None], b[:, None], resamples=resamples, alternative=alternative, interval=interval, mid=mid, level=level,
        seed=seed,
    )[0]  # fmt: skip
    return replace(result, dropped=dropped)


def permutations(
    x: Any,
    y: Any,
    *,
    resamples: int = 10_000,
    alternative: Alternative = "two-sided",
    interval: MeanInterval = "t",
    mid: bool = False,
    level: float = 0.95,
    seed: Seed = 0,
) -> tuple[Result, ...]:
    """:func:`permutation` on many columns at once: cases × metrics (or metrics of many pairs of systems).

    All columns share the same sign flips and resamples, each by the order of its own differences, so the whole is a
    few matrix products. A value missing in one column leaves the case out of that column only.
    """
    one_of(alternative, ALTERNATIVES, "alternative", DataError)
    one_of(interval, ("t", "inverted", "bca", "percentile"), "interval", DataError)
    left, right = _tables(x, y)
    present = ~(np.isnan(left) | np.isnan(right))
    raw, complete = rows_in_order(np.where(present, left - right, 0.0), present)
    # Two streams, so that the test doesn't depend on the kind of interval.
    flip_seed, bootstrap_seed = (int(drawn) for drawn in generator(seed).integers(0, 2**63 - 1, size=2))
    patterns = 2 ** raw.shape[0]
    exact = patterns <= resamples
    p_values, inverted = sign_flips(
        raw, complete, resamples=resamples, seed=flip_seed, alternative=alternative, exact=exact, mid=mid,
        level=level if interval == "inverted" else None,
    )  # fmt: skip
    drawn: list[Resamples] | None = None
    if interval in ("bca", "percentile"):
        drawn = mean_bootstraps(raw, complete, resamples=resamples, seed=bootstrap_seed, words=seed_in_words(seed))
    flips = f"all {patterns} sign patterns" if exact else f"{resamples} sign flips, {seed_in_words(seed)}"
    blank = Result(
        name="mean difference",
        method=f"paired permutation test of the mean difference, {'mid-p, ' * mid}{alternative}, {flips}",
        options={
            "resamples": resamples,
            "alternative": alternative,
            "interval": interval,
            "mid": mid,
            "level": level,
            "seed": seed,
        },
    )
    smallest = None if exact else (0.5 if mid else 1.0) / (resamples + 1)
    return tuple(
        _permuted(
            blank,
            left[present[:, column], column],
            right[present[:, column], column],
            dropped=int((~present[:, column]).sum()),
            p=float(p_values[column]),
            smallest=smallest,
            drawn=None if drawn is None else drawn[column],
            inverted=inverted[column] if inverted else None,
        )
        for column in range(raw.shape[1])
    )


def _tables(x: Any, y: Any) -> tuple[Array, Array]:
    """Two tables of cases × columns.

    Raises:
        DataError: unequal shapes.
    """
    left, right = matrix(x, "x"), matrix(y, "y")
    if left.shape != right.shape:
        raise DataError(f"paired tables need the same shape, not {left.shape} and {right.shape}")
    return left, right


def _permuted(
    blank: Result,
    a: Array,
    b: Array,
    *,
    dropped: int,
    p: float,
    smallest: float | None,
    drawn: Resamples | None,
    inverted: Interval | None,
) -> Result:
    """The result of one column.

    Args:
        blank: what the test is, with its options.
        a, b: the column's complete pairs.
        p: of the sign flips.
        smallest: the least p that random flips can give; None where all were taken.
        drawn: resamples of the mean, for a bootstrap interval.
        inverted: the interval that inverts the test, where it is asked for and there is one.
    """
    level, interval = blank.options["level"], blank.options["interval"]
    by_t = _mean_difference(blank, a, b)
    result = replace(by_t, statistic=by_t.estimate, dropped=dropped)
    if not a.size:
        return replace(result, p=None, missing=NO_PAIRS)
    if drawn is not None:
        bounds, reason, remarks = bootstrap_interval(drawn, level=level, method=interval)
        result = replace(result, interval=bounds, standard_error=drawn.standard_error, missing=reason, remarks=remarks)
    elif interval == "inverted":
        reason = None if inverted else f"no interval: too few pairs for {level:.0%}"
        result = replace(result, interval=inverted, missing=by_t.missing and reason)
    if drawn is None and by_t.missing:
        result = replace(result, missing="no interval: " + by_t.missing.split(": ")[-1])
    if not differences(a, b).any():
        return replace(result, p=None, missing="no p-value and no interval: no pair differs")
    if p == smallest:
        remark = f"p is the smallest that {blank.options['resamples']} flips can give"
        result = replace(result, remarks=(*result.remarks, remark))
    return replace(result, p=p)


def mcnemar(
    x: Any,
    y: Any,
    *,
    method: McNemarMethod = "exact",
    interval: Literal["bonett-price", "melded"] = "bonett-price",
    alternative: Alternative = "two-sided",
    level: float = 0.95,
) -> Result:
    """McNemar's test of paired zeros and ones; see :func:`mcnemar_from_table`.

    Raises:
        DataError: a value is neither 0 nor 1.
    """
    table, dropped = binary_pairs(x, y, "McNemar's test")
    result = mcnemar_from_table(table, method=method, interval=interval, alternative=alternative, level=level)
    return replace(result, dropped=dropped)


def mcnemar_from_table(
    table: Any,
    *,
    method: McNemarMethod = "exact",
    interval: Literal["bonett-price", "melded"] = "bonett-price",
    alternative: Alternative = "two-sided",
    level: float = 0.95,
) -> Result:
    """McNemar's test from counts ``[[both, only x], [only y, neither]]``.

    Args:
        method: ``"exact"`` binomial; ``"mid-p"`` the same less half the chance of the data seen (Fagerland et
            al. 2013); ``"chi-squared"``; ``"corrected"`` chi-squared with continuity correction.
        interval: ``"bonett-price"`` (2012), or ``"melded"`` (Fay and Lumbard 2021), which leaves out 0 exactly where
            the test rejects, exact or mid-p; two-sided whatever the alternative.
        alternative: ``"greater"``: more ones in x; by the exact method and mid-p.
        level: nominal coverage.

    Estimate: share of ones in x minus that in y, with its Wald standard error. Effect: odds ratio of the discordant
    pairs.

    Raises:
        DataError: no 2 × 2 counts, or a one-sided test by a method of chi-squared.
    """
    one_of(method, ("exact", "mid-p", "chi-squared", "corrected"), "method", DataError)
    one_of(interval, ("bonett-price", "melded"), "interval", DataError)
    one_of(alternative, ALTERNATIVES, "alternative", DataError)
    if alternative != "two-sided" and method not in ("exact", "mid-p"):
        raise DataError(f"McNemar's test is two-sided by the method {method}", todo="use the exact method")
    counts = counts_of_two(table, "McNemar's test")
    only_x, only_y, n = int(counts[0, 1]), int(counts[1, 0]), int(counts.sum())
    discordant = only_x + only_y
    blank = Result(
        name="difference of proportions",
        method=f"McNemar's test, {alternative}, {method}",
        n=n,
        options={"method": method, "interval": interval, "alternative": alternative, "level": level},
    )
    if n == 0:
        return blank.no_value(NO_PAIRS)
    estimate = (only_x - only_y) / n
    result = replace(
        blank,
        estimate=estimate,
        interval=_discordance_interval(only_x, only_y, n, interval, method, level),
        effect=paired_odds_ratio(only_x, only_y, level=level),
        details={
            "share in x": float(counts[0].sum() / n),
            "share in y": float(counts[:, 0].sum() / n),
            "only x": float(only_x),
            "only y": float(only_y),
        },
    )
    if discordant == 0:
        return replace(result, missing="no p-value: no discordant pair")
    statistic, p = _discordance_test(only_x, only_y, method)
    if alternative != "two-sided":
        p = _discordance_tail(only_x, only_y, alternative, method)
    error = float(np.sqrt(max(0.0, discordant / n - estimate**2) / n))
    return replace(result, statistic=statistic, p=p, standard_error=error)
