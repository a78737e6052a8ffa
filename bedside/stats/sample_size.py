"""How many items are to be annotated? Sizes for a kappa's interval and for a paired difference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from bedside.core.errors import DataError, from_extra, one_of
from bedside.stats._blocks import blocks, deviate, fewest
from bedside.stats._exact import signed_rank_distribution, tail
from bedside.stats._kappa_parts import agreement_weights, kappa_variances, penalties
from bedside.stats.arrays import (
    Alternative,
    Array,
    Indices,
    Mask,
    Scale,
    Seed,
    clean,
    constant,
    generator,
    levels,
    seed_in_words,
    vector,
)
from bedside.stats.crossed_raters import FEWEST_RATERS
from bedside.stats.generalisability import RaterStudy
from bedside.stats.many_raters import mean_pairwise_kappa
from bedside.stats.paired import ALTERNATIVES
from bedside.stats.rater_models import Disagreement, RaterModel, rater_model

#: On fewer pairs than this, the signed-rank test's number is found by simulation and not by formula.
FORMULA_PAIRS = 20
#: How far beyond the formula's number the simulation looks: the power of an exact test rises in steps, with falls.
_BEYOND = 10
_DISAGREEMENT_WORDS = {"guessing": "guessing where they disagree", "near": "who miss by a little"}


@dataclass(frozen=True, slots=True)
class SampleSize:
    """A number of items or pairs.

    Attributes:
        n: the number; None where none would do.
        method: how it was found, with its assumptions, as one line.
        reached: what that many reach: the half-width, or the power.
        missing: why there is no number.
        simulations: simulated studies that ``reached`` rests on; 0 where it is by formula.
    """

    n: int | None
    method: str
    reached: float | None = None
    missing: str | None = None
    simulations: int = 0


def expected_table(
    kappa: float,
    shares: Any,
    *,
    disagreement: Disagreement = "guessing",
    scale: Scale | None = None,
    weights: str | Any = "unweighted",
) -> Array:
    """Joint shares of two raters who use the levels alike and agree by ``kappa``, levels × levels.

    Args:
        kappa: 0 … below 1. Of guessing raters every kappa, weighted or not, is the same.
        shares: how often each level is used, lowest first; they sum to 1.
        disagreement: what raters do where they disagree; see :class:`~bedside.stats.rater_models.RaterModel`.
        scale: the levels; 1, 2, 3 … without it.
        weights: of the kappa.

    Raises:
        DataError: impossible values.
    """
    return _raters(kappa, shares, disagreement, scale, weights).table


def _raters(
    kappa: float, shares: Any, disagreement: Disagreement, scale: Scale | None, weights: str | Any
) -> RaterModel:
    disagreements, _ = penalties(weights, _levels(scale, vector(shares, "shares").size))
    return rater_model(kappa, shares, disagreement, disagreements)


def items_for_kappa(
    kappa: float,
    half_width: float,
    *,
    shares: Any,
    disagreement: Disagreement = "guessing",
    scale: Scale | None = None,
    weights: str | Any = "unweighted",
    level: float = 0.95,
) -> SampleSize:
    """Items that two raters must both rate so that kappa's interval is no wider than ± ``half_width``.

    ``z² · n · variance / half_width²`` with the large-sample variance of Fleiss, Cohen and Everitt (1969) at the
    expected table (:func:`expected_table`).

    Args:
        kappa: the expected agreement.
        half_width: half the interval's width.
        shares: expected share of each level.
        disagreement: what raters do where they disagree: ``"guessing"``, right for levels without order, asks for more
            items than ``"near"``, right for ordered levels (:class:`~bedside.stats.rater_models.RaterModel`).
        scale: the levels; 1, 2, 3 … without it.
        weights: as for kappa.
        level: of the interval.
    """
    if half_width <= 0:
        raise DataError("the half-width must be above 0")
    table = _raters(kappa, shares, disagreement, scale, weights).table
    w, called = agreement_weights(weights, _levels(scale, table.shape[0]))
    variance = kappa_variances(table, w)[0]
    z = deviate(level)
    n = max(2, int(np.ceil(z**2 * variance / half_width**2 - 1e-9)))
    words = (
        f"two raters {_DISAGREEMENT_WORDS[disagreement]}, kappa {kappa:g} ({called}), {table.shape[0]} levels, "
        f"{level:.0%} interval of half-width {half_width:g}, large-sample variance"
    )
    return SampleSize(n, words, z * float(np.sqrt(variance / n)))


def _levels(scale: Scale | None, k: int) -> Array:
    if scale is not None and len(scale) != k:
        raise DataError(f"{k} shares don't fit a scale of {len(scale)} levels")
    return levels(list(range(1, k + 1)) if scale is None else scale)


def simulated_half_width(
    n: int,
    kappa: float,
    *,
    shares: Any,
    raters: int = 2,
    disagreement: Disagreement = "guessing",
    scale: Scale | None = None,
    weights: str | Any = "unweighted",
    level: float = 0.95,
    simulations: int = 200,
    seed: Seed = 0,
) -> SampleSize:
    """What half-width ``n`` items reach on average, by simulation with the jackknife interval that is reported.

    Raters are drawn from a :class:`~bedside.stats.rater_models.RaterModel`, so that every pair of them has the joint
    shares of :func:`expected_table`.

    Args:
        raters: number of raters, all of whom rate every item; of more than two, kappa is the mean over pairs.
        simulations: simulated studies; those without an interval are left out.
        seed: seed or generator. Other arguments as for :func:`items_for_kappa`.
    """
    model = _raters(kappa, shares, disagreement, scale, weights)
    used: Any = list(range(1, model.shares.size + 1)) if scale is None else scale
    if raters < 2:
        raise DataError("agreement needs at least two raters")
    rng = generator(seed)
    names = np.array(used, dtype=object)
    widths = []
    for _ in range(simulations):
        drawn = names[model.draw(rng, n, raters)]
        interval = mean_pairwise_kappa(drawn, scale=used, weights=weights, level=level).interval
        if interval is not None:
            widths.append((interval.high - interval.low) / 2)
    words = f"mean half-width of {len(widths)} of {simulations} simulated studies of {n} items and {raters} raters"
    if not widths:
        return SampleSize(n, words, missing="no simulated study had an interval")
    return SampleSize(n, words, float(np.mean(widths)), simulations=len(widths))


def simulated_items_for_kappa(
    kappa: float,
    half_width: float,
    *,
    shares: Any,
    raters: int,
    disagreement: Disagreement = "guessing",
    scale: Scale | None = None,
    weights: str | Any = "unweighted",
    level: float = 0.95,
    simulations: int = 200,
    seed: int = 0,
) -> SampleSize:
    """Items that ``raters`` raters must all rate so that kappa's interval is about ± ``half_width`` on average.

    Starts from the two-rater formula and corrects it by the half-width simulated there, which falls with the root of
    the number of items; simulates again at the number so found, and takes all simulations together: the number is the
    least whose half-width is within ``half_width`` by them. Arguments as for :func:`simulated_half_width`.
    """
    better = (
        items_for_kappa(
            kappa, half_width, shares=shares, disagreement=disagreement, scale=scale, weights=weights, level=level
        ).n
        or 2
    )
    rng = generator(seed)
    single: list[float] = []
    for _ in range(6):
        n = max(better, 4)
        plan = simulated_half_width(
            n, kappa, shares=shares, raters=raters, disagreement=disagreement, scale=scale, weights=weights,
            level=level, simulations=simulations, seed=rng,
        )  # fmt: skip
        if plan.reached is None:
            return SampleSize(None, plan.method, missing=plan.missing)
        single.append(plan.reached * float(np.sqrt(n)))
        better = int(np.ceil((np.mean(single) / half_width) ** 2))
        if abs(better - n) <= max(1, n // 50):
            break
    n = max(better, 4)
    words = (
        f"{raters} raters {_DISAGREEMENT_WORDS[disagreement]}, kappa {kappa:g}, {len(shares)} levels, {level:.0%} "
        f"interval of half-width {half_width:g}, by {simulations * len(single)} simulated studies"
    )
    return SampleSize(n, words, float(np.mean(single) / np.sqrt(n)), simulations=simulations * len(single))


def pairs_for_difference(
    difference: float,
    sd: float,
    *,
    power: float = 0.8,
    alpha: float = 0.05,
    alternative: Alternative = "two-sided",
    test: Literal["t", "wilcoxon"] = "t",
    simulations: int = 20_000,
    seed: int = 0,
) -> SampleSize:
    """Pairs needed to find a mean difference with the given power, with normal differences.

    Args:
        difference: the smallest difference worth finding, in the unit of the ratings; its sign doesn't matter.
        sd: expected standard deviation of the differences.
        power: chance of a significant result if the difference is so large.
        alpha: level of the test; for a family of m tests, alpha / m is safe.
        alternative: ``"two-sided"``, or one-sided in the direction of the difference (``"greater"`` and
            ``"less"`` need the same number).
        test: ``"t"``, by the noncentral t distribution; or ``"wilcoxon"``: the t test's number over the asymptotic
            relative efficiency 3 / π, and where that is fewer than 20 pairs or can't reach ``alpha``
            (:func:`fewest_signed_rank_pairs`), the least number from which on simulated studies reach the power with
            the exact signed-rank test.
        simulations: simulated studies.
        seed: of the simulated studies.
    """
    one_of(alternative, ALTERNATIVES, "alternative", DataError)
    one_of(test, ("t", "wilcoxon"), "test", DataError)
    if sd <= 0 or not 0 < alpha < power < 1:
        raise DataError("the standard deviation must be above 0, and 0 < alpha < power < 1")
    words = (
        f"paired {'t test' if test == 't' else 'signed-rank test'}, difference {difference:g}, standard deviation "
        f"of the differences {sd:g}, power {power:.0%}, alpha {alpha:g}, {alternative}"
    )
    if difference == 0:
        return SampleSize(None, words, missing="no number of pairs finds a difference of 0")
    effect, one_sided = abs(difference) / sd, alternative != "two-sided"
    efficiency = 1.0 if test == "t" else 3 / np.pi
    by_formula = _pairs_by_formula(effect, power, alpha, one_sided=one_sided, efficiency=efficiency)
    if by_formula is None:
        return SampleSize(None, words, missing="more than a thousand million pairs")
    fewest = fewest_signed_rank_pairs(alpha, alternative) if test == "wilcoxon" else 2
    pairs, reached = by_formula
    if test == "t" or pairs >= max(fewest, FORMULA_PAIRS):
        return SampleSize(pairs, words, reached)
    sizes = range(fewest, max(pairs, fewest) + _BEYOND + 1)
    powers = _signed_rank_powers(effect, sizes, alpha, one_sided=one_sided, simulations=simulations, seed=seed)
    lacking = [size for size, chance in zip(sizes, powers, strict=True) if chance < power]
    pairs = lacking[-1] + 1 if lacking else fewest
    words += f", exact test, {simulations} simulated studies, {seed_in_words(seed)}"
    return SampleSize(pairs, words, powers[pairs - fewest], simulations=simulations)


def fewest_signed_rank_pairs(alpha: float, alternative: Alternative = "two-sided") -> int:
    """The fewest pairs with which the exact signed-rank test can be significant at all.

    The smallest p of ``n`` pairs, when all differ to one side, is 2 / 2^n (two-sided) or 1 / 2^n.
    """
    one_of(alternative, ALTERNATIVES, "alternative", DataError)
    smallest, pairs = (1.0 if alternative == "two-sided" else 0.5), 1
    while smallest > alpha:
        smallest, pairs = smallest / 2, pairs + 1
    return pairs


def _pairs_by_formula(
    effect: float, power: float, alpha: float, *, one_sided: bool, efficiency: float
) -> tuple[int, float] | None:
    """The least number of pairs and its power, by the noncentral t distribution; None beyond a thousand million.

    Args:
        effect: the mean difference over the standard deviation of the differences.
        efficiency: of the test, next to the t test.
    """

    def reached(pairs: int) -> float:
        return _t_power(effect, pairs * efficiency, alpha, one_sided=one_sided)

    pairs = fewest(lambda pairs: reached(pairs) >= power, 10**9)
    return None if pairs is None else (pairs, reached(pairs))


def _t_power(effect: float, size: float, alpha: float, *, one_sided: bool) -> float:
    """Power of the t test of ``size`` differences; scipy has no number for tails that are next to nothing."""
    with from_extra("statistics", "the power of t tests needs statsmodels"):
        from statsmodels.stats.power import TTestPower

    if size <= 1:
        return 0.0
    tails = [("larger", alpha)] if one_sided else [("two-sided", alpha), ("larger", alpha / 2)]
    for side, area in tails:
        power = float(TTestPower().power(effect, size, area, df=size - 1, alternative=side))
        if not np.isnan(power):
            return power
    return 1.0


def _signed_rank_powers(
    effect: float, sizes: range, alpha: float, *, one_sided: bool, simulations: int, seed: int
) -> list[float]:
    """Power of the exact signed-rank test for each number of pairs; a larger study holds the smaller one's pairs."""
    drawn = generator(seed).normal(effect, 1.0, size=(simulations, sizes[-1]))
    powers = []
    for size in sizes:
        part = drawn[:, :size]
        ranks = np.abs(part).argsort(axis=1).argsort(axis=1) + 1
        plus = (ranks * (part > 0)).sum(axis=1)
        chances = signed_rank_distribution(np.arange(1, size + 1, dtype=np.float64))
        side = "greater" if one_sided else "two-sided"
        p_values = np.array([tail(chances, 2 * value, side) for value in range(size * (size + 1) // 2 + 1)])
        powers.append(float((p_values[plus] <= alpha).mean()))
    return powers


def simulated_power(
    differences: Any, n: int, *, alpha: float = 0.05, simulations: int = 2000, seed: Seed = 0
) -> SampleSize:
    """Power of the paired t test with ``n`` pairs, if differences come as in a pilot study.

    Args:
        differences: the pilot's differences; drawn from with replacement, so a small pilot promises too much or
            too little by chance.
        n: planned number of pairs, at least two.
        alpha: level of the two-sided test.
    """
    from scipy.stats import ttest_1samp

    pilot, _ = clean(differences, "differences")
    pilot = np.sort(pilot)
    words = f"paired t test with {n} pairs, {simulations} samples from a pilot of {pilot.size}, alpha {alpha:g}"
    if n < 2:
        raise DataError("a paired test needs at least two pairs")
    if pilot.size < 2 or constant(pilot):
        reason = "fewer than two pilot differences" if pilot.size < 2 else "the pilot's differences are equal"
        return SampleSize(n, words, missing=reason)
    rng = generator(seed)
    significant = 0
    for rows in blocks(simulations, n):
        samples = pilot[rng.integers(0, pilot.size, size=(rows, n))]
        # Of a sample without variation the test is undefined, so nothing is found.
        varying = np.ptp(samples, axis=1) > 1e-12 * np.abs(samples).max(axis=1)
        if varying.any():
            tested = ttest_1samp(samples[varying], 0.0, axis=1, nan_policy="propagate")
            significant += int((tested.pvalue <= alpha).sum())
    return SampleSize(n, words, significant / simulations, simulations=simulations)


# -- Cases that raters like those of a pilot must rate ----------------------------------------------------

#: The most cases that are planned, draws of a pilot's variances, those with a number of cases of their own, studies of
#: each of these, and ratings that are drawn at once.
MOST_CASES, _DRAWS, _SINGLE, _STUDIES, _RATINGS = 10_000, 2000, 200, 300, 1_000_000
#: Why there is no number of cases.
FEW_RATERS, SMALL_PILOT = "no number of cases makes up for so few raters", "the pilot is too small to tell"


@dataclass(frozen=True, slots=True)
class RatedLevels:
    """What ratings are rounded to.

    Attributes:
        levels: the scale's levels, lowest first.
        mean: of the system, or of both systems together.
        spread: variance of ratings of one of two systems; 0 of one system alone.
    """

    levels: tuple[float, ...]
    mean: float
    spread: float = 0.0


@dataclass(frozen=True, slots=True)
class RaterCases:
    """Cases that some raters must all rate.

    Attributes:
        n: the cases with which a study succeeds with the chance asked for, whatever the pilot leaves open; or None.
        reached: that chance.
        single, low, high: the cases if the pilot's estimates were the truth, and the least and the most for 95 % of the
            draws of its variances; above :data:`MOST_CASES` where no number will do.
        missing: why there is no number.
    """

    n: int | None
    reached: float | None
    single: int
    low: int
    high: int
    missing: str = ""


def cases_for_raters(
    pilot: RaterStudy,
    *,
    raters: int,
    repeats: int = 1,
    half_width: float | None = None,
    difference: float = 0.0,
    power: float = 0.8,
    levels: RatedLevels | None = None,
    seed: Seed = 0,
) -> RaterCases:
    """Cases that raters like a pilot's must all rate, so that a study for raters and cases like these succeeds.

    Args:
        pilot: what a system's ratings vary by, or differences of two systems by the same rater on the same case.
        raters, repeats: how many rate each case, and how often each.
        half_width: half the width that the mean's 95 % interval is to have at most; without it
        difference: the mean difference that is to be found at 5 %.
        power: the chance that a study succeeds. Each simulated study has variances of its own, drawn from what the
            pilot leaves open. Test and interval are :func:`~bedside.stats.crossed_raters.paired_difference`'s.
        levels: what ratings are rounded to, where they are.
        seed: of the simulated studies.

    Raises:
        DataError: fewer than three raters, repeats that the pilot didn't have, or impossible values.
    """
    from scipy.special import ndtri

    if not (half_width or abs(difference)) > 0 or not 0.05 < power < 1:
        raise DataError("what is to be reached must be above 0, and the chance of it between .05 and 1")
    if raters < FEWEST_RATERS or repeats < 1 or (repeats > 1 and pilot.of_repeats is None):
        raise DataError(f"raters like these need {FEWEST_RATERS} or more, and repeats a pilot that has some")
    rng, difference = generator(seed), abs(difference)

    def reached(parts: Array, cases: Any, studies: int) -> Array:
        """The share of studies that succeed for each set of variances, by drawn mean squares."""
        of_cases, of_raters, both, of_repeats = parts[:, :, None]
        error, n = both + of_repeats / repeats, np.broadcast_to(cases, parts.shape[1])[:, None]
        shape, freedoms = (parts.shape[1], studies), (n - 1, n * 0 + raters - 1, (n - 1) * (raters - 1))
        expected = error + raters * of_cases, error + n * of_raters, error
        squares = [e * rng.chisquare(f, shape) / f for e, f in zip(expected, freedoms, strict=True)]
        spread = np.sqrt(of_cases / n + of_raters / raters + error / (n * raters))
        means = difference + spread * rng.standard_normal(shape)
        return np.asarray(_succeed(means, squares, n, raters, half_width).mean(axis=1))

    drawn = pilot.drawn[:, :_DRAWS]
    single = int(_fewest(lambda n: reached(pilot.parts[:, None], n, 100 * _STUDIES) >= power, 1)[0])
    of_draws = _fewest(lambda n: reached(drawn[:, :_SINGLE], n, _STUDIES) >= power, _SINGLE)
    low, high = np.quantile(of_draws, [0.025, 0.975], method="nearest").tolist()
    n = int(_fewest(lambda n: reached(drawn, n[0], 10).mean(keepdims=True) >= power, 1)[0])
    chance = float(reached(drawn, min(n, MOST_CASES), 10).mean())
    while levels is not None and n <= MOST_CASES:
        some = drawn[:, : max(200, _RATINGS // (n * raters * repeats))]
        means, squares = _rounded(some, n, raters, repeats, difference, levels, rng)
        chance = float(_succeed(means, squares, n, raters, half_width).mean())
        if chance >= power - 0.005:
            break
        wanted, had = (ndtri(np.clip(share, 0.1, 0.99)) + ndtri(0.975) for share in (power, chance))
        n = int(np.ceil(n * max(1.02, wanted / had) ** 2))
    if n <= MOST_CASES:
        return RaterCases(n, chance, single, low, high)
    return RaterCases(None, None, single, low, high, SMALL_PILOT if single <= MOST_CASES else FEW_RATERS)


def _fewest(is_enough: Callable[[Indices], Mask], sets: int) -> Indices:
    """The fewest cases that are enough for each set of variances; one beyond the most where none are."""
    low: Indices = np.ones(sets, dtype=np.int64)
    high: Indices = np.full(sets, MOST_CASES + 1)
    while (open_sets := high - low > 1).any():
        middle = np.clip(np.sqrt(low * high).astype(np.int64), low + 1, np.maximum(high - 1, low + 1))
        enough = is_enough(middle)
        low, high = np.where(open_sets & ~enough, middle, low), np.where(open_sets & enough, middle, high)
    return high


def _succeed(means: Array, squares: Sequence[Array], cases: Any, raters: int, half_width: float | None) -> Mask:
    """Which studies have so narrow an interval, or find that their mean is above 0, by the quasi-F."""
    from scipy.special import stdtrit

    by_case, by_rater, error = squares
    variance = np.maximum(by_case + by_rater - error, np.maximum(by_case, by_rater)) / (cases * raters)
    critical = by_case * stdtrit(cases - 1, 0.975) + by_rater * stdtrit(raters - 1, 0.975)
    half = critical / np.maximum(by_case + by_rater, 1e-300) * np.sqrt(variance)
    return np.asarray(means > half if half_width is None else half <= half_width)


def _rounded(
    parts: Array, cases: int, raters: int, repeats: int, difference: float, levels: RatedLevels,
    rng: np.random.Generator,
) -> tuple[Array, list[Array]]:  # fmt: skip
    """Means and mean squares of a study for each set of variances, its ratings drawn and rounded to levels."""
    systems, scale = 2 if levels.spread else 1, np.array(levels.levels)
    own, shape = parts / systems, (parts.shape[1], cases, raters, repeats)
    common = np.maximum(0.0, levels.spread - own.sum(axis=0))
    of_case, table = rng.standard_normal((*shape[:2], 1, 1)), np.zeros(shape[:3])
    for sign in (1, -1)[:systems]:
        mean = levels.mean + (sign * difference / 2 if systems == 2 else 0.0)
        centre, total, slope = _before_rounding(mean, own.sum(axis=0) + common, scale)
        # What ratings share keeps its variance through the rounding; the rest has what is left.
        shared = np.vstack([own[:2], own[2] * own[3].any(), common]) / slope**2
        shared *= np.minimum(1.0, 0.98 * total / np.maximum(shared.sum(axis=0), 1e-12))
        spreads = np.sqrt(np.vstack([shared, total - shared.sum(axis=0)]))[:, :, None, None, None]
        values = centre[:, None, None, None] + spreads[3] * of_case
        sizes = ((*shape[:2], 1, 1), (shape[0], 1, raters, 1), (*shape[:3], 1), shape)
        for spread, size in zip(spreads[[0, 1, 2, 4]], sizes, strict=True):
            values = values + spread * rng.standard_normal(size)
        table += sign * scale[np.searchsorted((scale[1:] + scale[:-1]) / 2, values)].mean(axis=3)
    rows, columns, mean = table.mean(axis=2), table.mean(axis=1), table.mean(axis=(1, 2))
    rest = table - rows[:, :, None] - columns[:, None] + mean[:, None, None]
    error = (rest**2).sum(axis=(1, 2)) / ((cases - 1) * (raters - 1))
    return mean, [raters * rows.var(axis=1, ddof=1), cases * columns.var(axis=1, ddof=1), error]


def _before_rounding(mean: float, variances: Array, scale: Array) -> tuple[Array, Array, Array]:
    """Means and variances of normal values that have these once rounded to the nearest level, and what a rounded value
    rises by for each unit of the normal one (Stein 1981)."""
    from scipy.special import ndtr

    steps, cuts = np.diff(scale), (scale[1:] + scale[:-1]) / 2
    aimed = np.minimum(variances, 0.98 * (mean - scale[0]) * (scale[-1] - mean))
    centre, spread = np.full(variances.size, mean), np.sqrt(np.maximum(aimed, 1e-12))
    for _ in range(60):
        above = (centre[:, None] - cuts) / spread[:, None]
        reached, density = scale[0] + ndtr(above) @ steps, np.exp(-(above**2) / 2) / np.sqrt(2 * np.pi)
        variance = -np.diff(ndtr(above), axis=1, prepend=1.0, append=0.0) @ scale**2 - reached**2
        slope = np.maximum(density @ steps / spread, 0.05)
        centre = centre + np.clip((mean - reached) / slope, -spread, spread)
        spread = np.clip(spread * np.sqrt(aimed / np.maximum(variance, 1e-12)), steps.min() / 20, 20 * np.ptp(scale))
    return centre, spread**2, slope
