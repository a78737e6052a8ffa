"""What would people have said of all of it? Means corrected by a sample that people rated.

Prediction-powered inference (Angelopoulos et al. 2023; PPI++, Angelopoulos, Duchi and Zrnic 2023): the judge rates
everything, people rate a random sample, and the judge's mean is corrected by its mean error on the sample.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from bedside.core.errors import DataError, one_of
from bedside.stats._blocks import deviate
from bedside.stats._resampling import percentile_bounds
from bedside.stats.arrays import Array, Seed, clean, generator, pairs, seed_in_words, vector
from bedside.stats.intervals import t_interval
from bedside.stats.result import Interval, Result


def _tuned(human: Array, judge: Array, unlabelled: Array) -> float:
    """The weight of the judge that makes the variance least (PPI++), within 0 … 1."""
    n, rest = human.size, unlabelled.size
    spread = float(np.concatenate([judge, unlabelled]).var(ddof=1))
    if spread == 0.0:
        return 0.0
    covariance = float(((human - human.mean()) * (judge - judge.mean())).mean())
    return min(1.0, max(0.0, covariance / ((1 + n / rest) * spread)))


@dataclass(frozen=True, slots=True)
class _Corrected:
    """A corrected mean or difference: its value, variance, degrees of freedom and the judge's weight."""

    value: float
    variance: float
    df: float
    weight: float | None = None


def _corrected_mean(human: Array, judge: Array, unlabelled: Array, weight: float | None, interval: str) -> _Corrected:
    used = _tuned(human, judge, unlabelled) if weight is None else weight
    ddof = 1 if interval == "t" else 0
    error = human - used * judge
    distances = error - error.mean()
    if weight is None and interval == "t" and 0 < used < 1:
        # How much further each is from the mean where the weight is tuned without it.
        spread = float(np.concatenate([judge, unlabelled]).var(ddof=1)) * (human.size - 1)
        distances = distances + (judge - judge.mean()) ** 2 / spread * (human - human.mean())
    scatter = float(distances @ distances) / (human.size - ddof)
    parts = used**2 * unlabelled.var(ddof=ddof) / unlabelled.size, scatter / human.size
    variance = float(sum(parts))
    squares = parts[0] ** 2 / (unlabelled.size - 1) + parts[1] ** 2 / (human.size - 1)
    df = variance**2 / squares if squares > 0 else np.inf
    return _Corrected(float(used * unlabelled.mean() + error.mean()), variance, float(df), float(used))


def _inputs(human: Any, judge: Any, unlabelled: Any) -> tuple[Array, Array, Array, int]:
    labelled, predicted, lost = pairs(human, judge)
    rest, lost_rest = clean(unlabelled, "the judge's ratings of unlabelled items")
    return labelled, predicted, rest, lost + lost_rest


def _interval(corrected: _Corrected, interval: str, level: float) -> tuple[Interval | None, str | None]:
    """The interval, or why there is none."""
    estimate, variance = corrected.value, corrected.variance
    if variance <= 1e-24 * max(1.0, estimate**2):
        return None, "no interval: the ratings don't vary"
    error = float(np.sqrt(variance))
    if interval == "t":
        return t_interval(estimate, error, corrected.df, level, "prediction-powered, t"), None
    half = deviate(level) * error
    return Interval(estimate - half, estimate + half, level, "prediction-powered, normal"), None


def _weight_in_words(weight: float | None) -> str:
    if weight is not None and not 0 <= weight <= 1:
        raise DataError(f"the weight of the judge goes from 0 to 1, not {weight}")
    return "power-tuned" if weight is None else f"weight of the judge {weight:g}"


def mean(
    human: Any,
    judge: Any,
    unlabelled: Any,
    *,
    weight: float | None = None,
    interval: Literal["normal", "t"] = "normal",
    level: float = 0.95,
) -> Result:
    """Mean of human ratings over all items, from a labelled sample and the judge's ratings of everything.

    Args:
        human: human ratings of the sampled items.
        judge: the judge's ratings of the same items, in the same order.
        unlabelled: the judge's ratings of all other items.
        weight: lambda, how far the judge is trusted: 0 is the plain mean of the human ratings, 1 the original
            method; None finds the value of least variance (PPI++), between 0 and 1.
        interval: ``"normal"`` with population variances, as the authors' own; or ``"t"`` with sample variances
            and Welch's degrees of freedom, each item's error taken with the weight that the others would give, which
            covers better on fewer than a hundred labelled items.
        level: nominal coverage.

    The sample must be a simple random one of all items, each a case of its own; for samples drawn by stratum and for
    several items a case see :mod:`~bedside.stats.stratified_means`. n is the number of labelled items.
    """
    one_of(interval, ("normal", "t"), "interval", DataError)
    labelled, predicted, rest, dropped = _inputs(human, judge, unlabelled)
    blank = Result(
        name="mean",
        method=f"prediction-powered mean, {_weight_in_words(weight)}, {interval} interval",
        n=labelled.size,
        dropped=dropped,
        options={"weight": weight, "interval": interval, "level": level},
    )
    if labelled.size < 2 or rest.size < 2:
        kind = "labelled" if labelled.size < 2 else "unlabelled"
        return blank.no_value(f"fewer than two {kind} items")
    corrected = _corrected_mean(labelled, predicted, rest, weight, interval)
    spread = float(labelled.var(ddof=1 if interval == "t" else 0))
    bounds, reason = _interval(corrected, interval, level)
    return replace(
        blank,
        estimate=corrected.value,
        interval=bounds,
        standard_error=float(np.sqrt(corrected.variance)),
        details={
            "weight": corrected.weight,
            "unlabelled": float(rest.size),
            "mean of the human ratings": float(labelled.mean()),
            "mean of the judge": float(np.concatenate([predicted, rest]).mean()),
            "judge minus human on the sample": float((predicted - labelled).mean()),
            "effective sample size": spread / corrected.variance if corrected.variance > 0 else None,
            "degrees of freedom": corrected.df if np.isfinite(corrected.df) else None,
        },
        missing=reason,
    )


def paired_difference(
    human_x: Any, judge_x: Any, unlabelled_x: Any, human_y: Any, judge_y: Any, unlabelled_y: Any,
    *, weight: float | None = None, interval: Literal["normal", "t"] = "t", level: float = 0.95,
) -> Result:  # fmt: skip
    """Mean difference x − y of two systems on the same cases; arguments as for :func:`mean`, case by case.

    People rated the same sampled cases of both systems: the method is applied to the differences.
    """
    parts = []
    for first, second in ((human_x, human_y), (judge_x, judge_y), (unlabelled_x, unlabelled_y)):
        a, b = vector(first, "x"), vector(second, "y")
        if a.size != b.size:
            raise DataError(f"paired values need two lists of equal length, not {a.size} and {b.size}")
        parts.append(a - b)
    result = mean(*parts, weight=weight, interval=interval, level=level)
    words = f"prediction-powered paired difference, {_weight_in_words(weight)}, {interval} interval"
    return replace(result, name="mean difference", method=words)


def unpaired_difference(
    human_x: Any, judge_x: Any, unlabelled_x: Any, human_y: Any, judge_y: Any, unlabelled_y: Any,
    *, weight: float | None = None, interval: Literal["normal", "t"] = "t", level: float = 0.95,
) -> Result:  # fmt: skip
    """Difference x − y of the means of two systems on different cases; arguments as for :func:`mean`.

    Each mean has its own weight where ``weight`` is None; the variances add.
    """
    x = mean(human_x, judge_x, unlabelled_x, weight=weight, interval=interval, level=level)
    y = mean(human_y, judge_y, unlabelled_y, weight=weight, interval=interval, level=level)
    blank = Result(
        name="mean difference",
        method=f"prediction-powered unpaired difference, {_weight_in_words(weight)}, {interval} interval",
        n=x.n + y.n,
        dropped=x.dropped + y.dropped,
        options={"weight": weight, "interval": interval, "level": level},
    )
    if x.estimate is None or y.estimate is None or x.standard_error is None or y.standard_error is None:
        return replace(blank, missing=x.missing or y.missing)
    variances = x.standard_error**2, y.standard_error**2
    variance, spread = sum(variances), 0.0
    for part, mean_of_system in zip(variances, (x, y), strict=True):
        df = mean_of_system.details["degrees of freedom"]
        spread += part**2 / df if df else 0.0
    difference = _Corrected(x.estimate - y.estimate, variance, variance**2 / spread if spread else np.inf)
    bounds, reason = _interval(difference, interval, level)
    return replace(
        blank,
        estimate=difference.value,
        interval=bounds,
        standard_error=float(np.sqrt(variance)),
        details={
            "mean of x": x.estimate,
            "mean of y": y.estimate,
            "weight for x": x.details["weight"],
            "weight for y": y.details["weight"],
        },
        missing=reason,
    )


def rogan_gladen_from_rates(positive: int, n: int, *, sensitivity: float, specificity: float) -> Result:
    """True share from the share a judge calls positive, its sensitivity and specificity known (Rogan, Gladen 1978).

    ``(positive / n + specificity − 1) / (sensitivity + specificity − 1)``, kept within 0 … 1. Missing where the
    judge does no better than chance (sensitivity + specificity <= 1).
    """
    if not 0 <= positive <= n or not (0 <= sensitivity <= 1 and 0 <= specificity <= 1):
        raise DataError("counts and rates must be possible: 0 <= positive <= n, and rates from 0 to 1")
    blank = Result(
        name="corrected share",
        method="Rogan–Gladen",
        n=n,
        options={"sensitivity": sensitivity, "specificity": specificity},
    )
    if n == 0:
        return blank.no_value("no verdicts")
    power = sensitivity + specificity - 1
    if power <= 1e-12:
        return blank.no_value("the judge does no better than chance")
    raw = (positive / n + specificity - 1) / power
    estimate = min(1.0, max(0.0, raw))
    remarks = () if raw == estimate else (f"the uncorrected value {raw:.4g} lies outside 0 to 1",)
    return replace(blank, estimate=estimate, remarks=remarks, details={"share called positive": positive / n})


@dataclass(frozen=True, slots=True)
class _Verdicts:
    """Counts of a judge's zeros and ones.

    Attributes:
        ones, zeros: items that people labelled so.
        hits: ones that the judge called ones.
        rejections: zeros that the judge called zeros.
        positive, n: unlabelled items that the judge called ones, and all of them.
    """

    ones: int
    zeros: int
    hits: int
    rejections: int
    positive: int
    n: int


def rogan_gladen(
    human: Any,
    judge: Any,
    unlabelled: Any,
    *,
    interval: Literal["adjusted", "bootstrap"] = "adjusted",
    resamples: int = 10_000,
    level: float = 0.95,
    seed: Seed = 0,
) -> Result:
    """True share of ones among items that only the judge saw, from its errors on items people labelled.

    Args:
        human: 0 or 1 on the labelled items.
        judge: the judge's 0 or 1 on the same items.
        unlabelled: the judge's 0 or 1 on the items whose share is wanted.
        interval: ``"adjusted"``: Lang and Reiczigel's (2014), from counts with pseudo-observations; or
            ``"bootstrap"``: percentiles, resampling the labelled items of either class and the unlabelled
            verdicts.
        resamples, seed: of the bootstrap.

    n is the number of unlabelled items. The labelled ones need not have the same share of ones.
    """
    one_of(interval, ("adjusted", "bootstrap"), "interval", DataError)
    truth, verdict, rest, dropped = _inputs(human, judge, unlabelled)
    if not all(np.isin(values, (0.0, 1.0)).all() for values in (truth, verdict, rest)):
        raise DataError("Rogan–Gladen needs verdicts of 0 and 1")
    options: dict[str, Any] = {"interval": interval, "level": level}
    if interval == "bootstrap":
        options |= {"resamples": resamples, "seed": seed}
    verdicts = _Verdicts(
        ones=int(truth.sum()), zeros=int((1 - truth).sum()), hits=int(verdict[truth == 1].sum()),
        rejections=int((1 - verdict[truth == 0]).sum()), positive=int(rest.sum()), n=rest.size,
    )  # fmt: skip
    ones, zeros, positive, n = verdicts.ones, verdicts.zeros, verdicts.positive, verdicts.n
    words = f"Rogan–Gladen, {interval} interval"
    if not (ones and zeros and n):
        blank = Result(name="corrected share", method=words, n=n, dropped=dropped, options=options)
        reason = "no unlabelled verdicts" if not n else "the labelled items lack one of the two classes"
        return blank.no_value(reason)
    sensitivity, specificity = verdicts.hits / ones, verdicts.rejections / zeros
    details = {
        "sensitivity": sensitivity, "specificity": specificity, "share called positive": positive / n,
        "labelled ones": float(ones), "labelled zeros": float(zeros),
    }  # fmt: skip
    result = replace(
        rogan_gladen_from_rates(positive, n, sensitivity=sensitivity, specificity=specificity),
        method=words, dropped=dropped, options=options, details=details,
    )  # fmt: skip
    if result.estimate is None:
        return result
    if interval == "adjusted":
        return _with_adjusted(result, result.estimate, verdicts, level)
    return _with_bootstrap(result, verdicts, resamples=resamples, level=level, seed=seed)


def rogan_gladen_difference(x: Result, y: Result) -> Result:
    """Difference x − y of two shares by :func:`rogan_gladen`, with an interval made from theirs.

    The shares are taken for independent (Zou and Donner 2008, MOVER), which makes the interval too wide where both
    systems had the same cases.
    """
    blank = Result(
        name="difference of corrected shares",
        method="difference of two Rogan–Gladen shares, interval from theirs as if independent",
        n=x.n + y.n,
        dropped=x.dropped + y.dropped,
    )
    if x.estimate is None or y.estimate is None:
        return blank.no_value(x.missing or y.missing or "no share")
    between = x.estimate - y.estimate
    result = replace(blank, estimate=between, details={"mean of x": x.estimate, "mean of y": y.estimate})
    if x.interval is None or y.interval is None:
        return replace(result, missing=x.missing or y.missing)
    low = between - np.hypot(x.estimate - x.interval.low, y.interval.high - y.estimate)
    high = between + np.hypot(x.interval.high - x.estimate, y.estimate - y.interval.low)
    return replace(result, interval=Interval(float(low), float(high), x.interval.level, "MOVER"))


def _with_bootstrap(result: Result, verdicts: _Verdicts, *, resamples: int, level: float, seed: Seed) -> Result:
    """The result with percentiles of resamples of the labelled items of either class and the unlabelled verdicts."""
    ones, zeros, n = verdicts.ones, verdicts.zeros, verdicts.n
    rng = generator(seed)
    sensitivity = rng.binomial(ones, verdicts.hits / ones, size=resamples) / ones
    specificity = rng.binomial(zeros, verdicts.rejections / zeros, size=resamples) / zeros
    share = rng.binomial(n, verdicts.positive / n, size=resamples) / n
    power = sensitivity + specificity - 1
    useful = power > 1e-12
    values = np.clip((share[useful] + specificity[useful] - 1) / power[useful], 0.0, 1.0)
    remarks = result.remarks
    if not useful.all():
        remarks += (f"no better than chance on {int((~useful).sum())} of {resamples} resamples, which are left out",)
    if values.size == 0 or np.ptp(values) == 0:
        return replace(result, missing="no interval: every resample gives the same value", remarks=remarks)
    how = f"percentile bootstrap of labelled and unlabelled verdicts, {resamples} resamples, {seed_in_words(seed)}"
    return replace(result, interval=Interval(*percentile_bounds(values, level), level, how), remarks=remarks)


def _with_adjusted(result: Result, estimate: float, verdicts: _Verdicts, level: float) -> Result:
    """The result with Lang and Reiczigel's (2014) interval for unknown sensitivity and specificity.

    Its centre is not the estimate; where the estimate lies outside, the bound is put at the estimate, which can only
    widen the interval.
    """
    ones, zeros, n = verdicts.ones, verdicts.zeros, verdicts.n
    z = deviate(level)
    share = (verdicts.positive + z**2 / 2) / (n + z**2)
    sensitivity, specificity = (verdicts.hits + 1) / (ones + 2), (verdicts.rejections + 1) / (zeros + 2)
    power = sensitivity + specificity - 1
    if power <= 1e-12:
        return replace(result, missing="no interval: on so few labels the judge can't be told from one that guesses")
    adjusted = (share + specificity - 1) / power
    shift = 2 * z**2 * (
        adjusted * sensitivity * (1 - sensitivity) / (ones + 2)
        - (1 - adjusted) * specificity * (1 - specificity) / (zeros + 2)
    )  # fmt: skip
    error = np.sqrt(
        share * (1 - share) / (n + z**2)
        + adjusted**2 * sensitivity * (1 - sensitivity) / (ones + 2)
        + (1 - adjusted) ** 2 * specificity * (1 - specificity) / (zeros + 2)
    ) / power  # fmt: skip
    low, high = (min(1.0, max(0.0, float(adjusted + shift + side * z * error))) for side in (-1, 1))
    bounds = Interval(min(low, estimate), max(high, estimate), level, "Lang and Reiczigel 2014")
    return replace(result, interval=bounds)
