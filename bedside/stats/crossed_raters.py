"""Do two systems differ for raters like these? The quasi-F of cases × raters, both drawn from many.

Averaging raters first and testing over cases answers for these very raters: what one of them likes about a system
doesn't shrink with more cases. Here raters are drawn as cases are (Winer 1971; Clark 1973).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bedside.core.errors import DataError, one_of
from bedside.stats.arrays import Alternative, Array, linked_groups, matrix, vector
from bedside.stats.effects import single_rating_d
from bedside.stats.result import Effect, Interval, Result

#: With fewer, how much raters differ in what they make of two systems can't be told.
FEWEST_RATERS = 3
#: Names of what the details hold.
DF, SD_RATERS = "degrees of freedom", "standard deviation of raters"
#: What begins the names of details that hold the mean squares which make up the variance, and their degrees of freedom.
_VARIANCE, _VARIANCE_DF = "variance from ", "degrees of freedom of "
#: Where Cochran's critical value is one of t, for :data:`DF`.
_LEVEL = 0.95
#: A mean square and its degrees of freedom.
_Part = tuple[float, int]


def paired_difference(x: Any, y: Any, *, level: float = 0.95) -> Result:
    """The mean difference of two systems rated by the same raters on the same cases, for cases and raters like these.

    Args:
        x, y: each system's values, cases × raters; a case without the value of some rater under one of the systems is
            left out and counted. At least two cases and :data:`FEWEST_RATERS` raters must stay.
        level: nominal coverage of the t interval.

    Statistic: ``F' = I · J · mean² / (MS_case + MS_rater − MS_error)`` of the differences x − y; its error is never
    less than MS_case, nor than MS_rater, for no source of variation is negative. The critical value of its root is
    Cochran's at every level: that of t with I − 1 and with J − 1 degrees of freedom, weighted by MS_case and MS_rater;
    p is the level at which the root has it. Satterthwaite's degrees of freedom reject too much with three raters: in
    8 % of null data of 100 cases at 5 %, where Cochran's critical value stays below 6.5 % (``benchmarks/``). Neither
    will the degrees of freedom do at which t has Cochran's value of 5 %: with five systems and three raters some pair
    is then rejected in 7.4 % after correction, where it should be 5 %.

    ``details`` has those degrees of freedom all the same, for tests at about 5 %, the standard deviation of what
    raters make of the difference, 0 where they differ no more than by chance, and what makes up the variance. The
    effect is :func:`~bedside.stats.effects.single_rating_d`.

    Source: Clark (1973), "The language-as-fixed-effect fallacy"; Cochran (1964), "Approximate significance levels of
    the Behrens–Fisher test".
    """
    left, right = matrix(x, "x"), matrix(y, "y")
    deltas = left - right
    complete = ~np.isnan(deltas).any(axis=1)
    deltas = deltas[complete]
    cases, raters = deltas.shape
    blank = Result(
        name="mean difference",
        method=f"quasi-F of cases × raters, paired by case, {raters} raters, Cochran's critical value",
        n=cases, dropped=int((~complete).sum()), options={"level": level},
    )  # fmt: skip
    reason = _too_few(cases, raters)
    if reason is not None:
        return blank.no_value(reason)
    by_case, by_rater, error = _mean_squares(deltas)
    size = cases * raters
    result = quasi_f(
        blank, float(deltas.mean()),
        added={"cases": (by_case / size, cases - 1), "raters": (by_rater / size, raters - 1)}, taken=error / size,
        spread=float(np.sqrt(max(0.0, (by_rater - error) / cases))),
    )  # fmt: skip
    return replace(result, effect=_effect(result, (left[complete], right[complete])))


def unpaired_difference(x: Any, y: Any, *, level: float = 0.95) -> Result:
    """The same where each system has cases of its own, all rated by the same raters.

    Args:
        x, y: each system's values, cases × raters, the raters in the same order.
        level: nominal coverage.

    The variance of the mean difference is the sum over both systems of ``(MS_case − MS_error) / (I · J)``, and the
    variance over raters of their own differences, over J; where cases pair it is that of :func:`paired_difference`.
    """
    left, right = matrix(x, "x"), matrix(y, "y")
    kept = [table[~np.isnan(table).any(axis=1)] for table in (left, right)]
    raters = kept[0].shape[1]
    blank = Result(
        name="mean difference",
        method=f"quasi-F of cases within systems × raters, {raters} raters, Cochran's critical value",
        n=sum(len(table) for table in kept),
        dropped=len(left) + len(right) - sum(len(table) for table in kept), options={"level": level},
    )  # fmt: skip
    reason = _too_few(min(map(len, kept)), raters)
    if reason is not None:
        return blank.no_value(reason)
    added: dict[str, _Part] = {}
    taken = 0.0
    for words, table in zip(("cases of x", "cases of y"), kept, strict=True):
        cases = len(table)
        by_case, _, error = _mean_squares(table)
        added[words] = by_case / (cases * raters), cases - 1
        taken += error / (cases * raters)
    own = kept[0].mean(axis=0) - kept[1].mean(axis=0)
    added["raters"] = float(own.var(ddof=1)) / raters, raters - 1
    spread = float(np.sqrt(max(0.0, own.var(ddof=1) - raters * taken)))
    result = quasi_f(blank, float(own.mean()), added=added, taken=taken, spread=spread)
    return replace(result, effect=_effect(result, kept))


def difference_with_gaps(
    values: Any,
    systems: Sequence[int],
    cases: Sequence[Any],
    raters: Sequence[Any],
    *,
    paired: bool,
    level: float = 0.95,
) -> Result:
    """The same where raters rated some of the cases each, by a mixed model in place of mean squares.

    Args:
        values, systems, cases, raters: of each rating the value, 0 for the first system or 1 for the second, the case
            and the rater; none is missing, and nobody rated a system's case twice. :data:`FEWEST_RATERS` raters must
            have rated both systems, and cases that several rated must connect all raters.
        paired: whether both systems had the same cases; else a case's name tells it within its system.
        level: nominal coverage.

    Systems are fixed; raters, cases and what either does with a system are random, by restricted maximum likelihood
    (:class:`~bedside.stats.mixed_models.MixedDesign`). The estimate weights ratings by what they tell: it isn't the
    difference of plain means, and raters of one system only don't pass for the system. Its variance has a part of cases
    and one of raters, each with the error's, and Cochran's critical value as before. Where each rater rated both
    systems on a case or neither, the model is of differences: without gaps, and with no variance at 0, it is the test
    of :func:`paired_difference`.
    """
    from bedside.stats.mixed_models import RESIDUAL, MixedDesign

    entered, rows = vector(values), list(zip(systems, cases, raters, strict=True))
    blank = Result(
        name="mean difference",
        method=f"mixed model of cases {'' if paired else 'within systems '}× raters with gaps, "
        f"{len(set(raters))} raters, Cochran's critical value",
        n=len(set(cases) if paired else {row[:2] for row in rows}), options={"level": level, "gaps": True},
    )  # fmt: skip
    both = {rater for system, _, rater in rows if system} & {rater for system, _, rater in rows if not system}
    if len(both) < FEWEST_RATERS:
        return blank.no_value(f"fewer than {FEWEST_RATERS} raters rated both systems")
    of_case: dict[Any, set[Any]] = {}
    for system, case, rater in rows:
        of_case.setdefault((system, case), set()).add(rater)
    if len(linked_groups(of_case.values())) > 1:
        return blank.no_value("some raters share no case with the others")
    by_cell = dict(zip(rows, entered, strict=True))
    spread = _single_spread(by_cell)
    partners = [(1 - system, case, rater) in by_cell for system, case, rater in rows]
    contrast = [0.0, 1.0]
    if in_pairs := paired and all(partners):
        rows = [row for row in rows if row[0] == 0]
        entered = np.array([by_cell[row] - by_cell[1, row[1], row[2]] for row in rows])
        contrast = [1.0]
    x = [[1.0, 1.0 - system][: len(contrast)] for system, *_ in rows]
    factors: dict[str, list[Any]] = {"raters": [rater for *_, rater in rows]}
    if paired:
        factors["cases"] = [case for _, case, _ in rows]
    else:
        factors |= {
            f"cases of {name}": [case if system == at else None for system, case, _ in rows]
            for at, name in enumerate("xy")
        }
    if not in_pairs:
        factors["raters × systems"] = [(system, rater) for system, _, rater in rows]
        if paired:
            factors["cases × systems"] = [row[:2] for row in rows]
        if paired and any(partners):
            factors["together"] = [row[1:] for row in rows]
    if np.ptp(entered) == 0 or not (model := MixedDesign(x, factors).fit(entered)).converged:
        return blank.no_value("no interval and no p-value: values don't vary over cases and raters")
    weights = model.weights(contrast)
    parts = model.variance_parts(weights)
    # What is in both parts: the error, and what raters and cases do together under any system.
    error = parts[RESIDUAL] + parts.get("together", 0.0)
    added: dict[str, _Part] = {}
    for name in [name for name in factors if name in ("cases", "cases of x", "cases of y")]:
        own = weights if paired else weights[[system == "xy".index(name[-1]) for system, *_ in rows]]
        own_error = error if paired else model.variances[RESIDUAL] * float(own @ own)
        added[name] = parts[name] + parts.get("cases × systems", 0.0) + own_error, len(model.design.levels[name]) - 1
    added["raters"] = parts["raters"] + parts.get("raters × systems", 0.0) + error, len(both) - 1
    of_raters = model.variances["raters"] if in_pairs else 2 * model.variances["raters × systems"]
    result = quasi_f(blank, float(weights @ entered), added=added, taken=error, spread=float(np.sqrt(of_raters)))
    return replace(result, effect=single_rating_d(result, spread=spread))


def asked_for(difference: Result, *, alternative: Alternative = "two-sided", level: float = 0.95) -> Result:
    """A difference of :func:`paired_difference` or :func:`unpaired_difference`, tested as asked.

    Args:
        difference: the result.
        alternative: ``"greater"``: the first system is higher on average.
        level: nominal coverage of the interval, which is two-sided whatever the alternative.
    """
    one_of(alternative, ("two-sided", "greater", "less"), "alternative", DataError)
    estimate, error = difference.estimate, difference.standard_error
    if estimate is None or error is None:
        return difference
    p = {"two-sided": difference.p, "greater": _one_sided(difference), "less": _one_sided(difference, -1)}
    parts = [
        (part, int(difference.details[_VARIANCE_DF + name.removeprefix(_VARIANCE)] or 0))
        for name, part in difference.details.items()
        if name.startswith(_VARIANCE) and part is not None
    ]
    return replace(
        difference,
        method=f"{difference.method}, {alternative}",
        interval=_interval(estimate, error, parts, level),
        p=p[alternative],
        options={**difference.options, "alternative": alternative, "level": level},
    )


def some_difference(differences: Sequence[Result]) -> Result:
    """Do several systems differ at all, for raters and cases like these? Their pairs, corrected after Bonferroni.

    The smallest p of the pairs times their number. A single F over all systems takes what raters make of each for
    equally varied: where it isn't, it rejects up to 12 % of null data (three raters, five systems), and this 5 %.

    Args:
        differences: all pairs of the systems, by :func:`paired_difference` or :func:`unpaired_difference`, each with
            a p.

    Estimate: the largest effect of a pair, without its sign. Statistic: the largest quasi-F.
    """
    smallest = min(result.p or 0.0 for result in differences)
    sizes = [abs(result.effect.estimate) for result in differences if result.effect and result.effect.estimate]
    return Result(
        name="largest d of single ratings",
        method=f"smallest p of {len(differences)} pairs by the quasi-F of cases × raters, corrected after Bonferroni",
        estimate=max(sizes, default=None),
        statistic=max((result.statistic or 0.0 for result in differences), default=None),
        p=min(1.0, smallest * len(differences)),
        n=min(result.n for result in differences),
        dropped=max(result.dropped for result in differences),
    )


def _single_spread(by_cell: Mapping[tuple[int, Any, Any], float]) -> float:
    """The standard deviation of a single rating of a system, the mean variance of both."""
    from bedside.stats.mixed_models import MixedDesign

    variances = []
    for system in (0, 1):
        own = {row: value for row, value in by_cell.items() if row[0] == system}
        factors = {"cases": [case for _, case, _ in own], "raters": [rater for *_, rater in own]}
        values = np.array(list(own.values()))
        if np.ptp(values) == 0 or len(set(factors["cases"])) == len(own):
            variances.append(float(values.var(ddof=1)))
        else:
            variances.append(sum(MixedDesign(np.ones((len(own), 1)), factors).fit(values).variances.values()))
    return float(np.sqrt(np.mean(variances)))


def _too_few(cases: int, raters: int) -> str | None:
    if raters < FEWEST_RATERS:
        return f"raters like these need {FEWEST_RATERS} raters or more"
    return "fewer than two cases that all raters rated" if cases < 2 else None


def _mean_squares(table: Array) -> tuple[float, float, float]:
    """Mean squares of cases, raters and error of a table of cases × raters without gaps."""
    cases, raters = table.shape
    mean = table.mean()
    rows, columns = table.mean(axis=1), table.mean(axis=0)
    rest = table - rows[:, None] - columns[None, :] + mean
    return (
        raters * float(rows.var(ddof=1)),
        cases * float(columns.var(ddof=1)),
        float((rest**2).sum()) / ((cases - 1) * (raters - 1)),
    )


def _effect(difference: Result, tables: Sequence[Array]) -> Effect:
    """The effect of a difference, in standard deviations of single ratings of a system.

    Args:
        difference: the result of both systems.
        tables: each system's values without gaps, cases × raters.
    """
    variances = []
    for table in tables:
        cases, raters = table.shape
        by_case, by_rater, error = _mean_squares(table)
        # No source of variation is negative.
        variances.append(max(0.0, by_case - error) / raters + max(0.0, by_rater - error) / cases + error)
    return single_rating_d(difference, spread=float(np.sqrt(np.mean(variances))))


def quasi_f(blank: Result, difference: float, added: dict[str, _Part], taken: float, spread: float) -> Result:
    """The result of a difference whose variance is some mean squares less others.

    Args:
        blank: what was tested.
        difference: the estimate.
        added, taken: what makes up the variance, that of raters last, and what is taken from it; what is added has its
            degrees of freedom.
        spread: standard deviation of what raters make of the difference.
    """
    *cases, (raters, _) = added.values()
    by_cases = sum(part for part, _ in cases)
    # No source of variation is negative: what stays is at least the error of the other.
    variance = max(by_cases + raters - taken, by_cases, raters)
    result = replace(blank, estimate=difference)
    if variance <= 1e-24 + 1e-20 * difference**2:
        return replace(result, missing="no interval and no p-value: values don't vary over cases and raters")
    error = float(np.sqrt(variance))
    parts = list(added.values())
    details: dict[str, float | None] = {DF: _df(parts), SD_RATERS: spread}
    for words, (part, df) in added.items():
        details |= {_VARIANCE + words: part, _VARIANCE_DF + words: float(df)}
    return replace(
        result, interval=_interval(difference, error, parts, blank.options["level"]),
        statistic=(difference / error) ** 2, p=_p(abs(difference / error), parts), standard_error=error,
        details=details,
    )  # fmt: skip


def _critical(parts: Sequence[_Part], tail: float) -> float:
    """Cochran's critical value: those of t with the parts' own degrees of freedom, weighted by the parts.

    Args:
        parts: the parts.
        tail: the chance of a value above it.
    """
    from scipy.special import stdtrit

    total = sum(part for part, _ in parts)
    return -float(sum(part * stdtrit(df, tail) for part, df in parts) / total)


def _interval(estimate: float, error: float, parts: Sequence[_Part], level: float) -> Interval:
    half = _critical(parts, (1 - level) / 2) * error
    return Interval(estimate - half, estimate + half, level, "Cochran's t of the quasi-F")


def _one_sided(difference: Result, sign: int = 1) -> float:
    """p that the difference is above 0, or with ``sign`` −1 below it."""
    half = (difference.p or 0.0) / 2
    return half if sign * (difference.estimate or 0.0) > 0 else 1 - half


def _p(t: float, parts: Sequence[_Part]) -> float:
    """The two-sided level at which the critical value is ``t``, which is above or equal to 0."""
    from scipy.optimize import brentq
    from scipy.special import stdtr

    present = [(part, df) for part, df in parts if part > 0]
    # Each part alone would have these; of a weighted mean p lies between.
    alone = [2 * float(stdtr(df, -t)) for _, df in present]
    low, high = min(alone), max(alone)
    # Of a part that is next to nothing, rounding leaves the mean at or outside the other's value.
    for end, side in ((low, 1), (high, -1)):
        if side * (_critical(present, end / 2) - t) <= 0:
            return end
    log_p = brentq(lambda log_p: _critical(present, np.exp(log_p) / 2) - t, np.log(max(low, 1e-300)), np.log(high))
    return float(np.exp(log_p))


def _df(parts: Sequence[_Part]) -> float:
    """The degrees of freedom at which t has Cochran's critical value of 5 %."""
    from scipy.optimize import brentq
    from scipy.special import stdtrit

    present = [(part, df) for part, df in parts if part > 0]
    low, high = min(df for _, df in present), max(df for _, df in present)
    tail = (1 - _LEVEL) / 2
    critical = _critical(present, tail)
    # Of a part that is next to nothing, rounding leaves the mean at or outside the other's value.
    for end, side in ((low, 1), (high, -1)):
        if side * (-stdtrit(end, tail) - critical) <= 0:
            return float(end)
    return float(brentq(lambda df: -stdtrit(df, tail) - critical, low, high))
