"""Does a judge find a level no worse than one of the people does? Sensitivity, specificity and loss, by case.

Each person in turn says what is so; the judge, and each other person, is set against them on the same units. Shares are
differences, judge minus one person, so that below zero the judge is worse.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bedside.core.errors import DataError
from bedside.stats._resampling import aligned
from bedside.stats.arrays import Array, generator, vector
from bedside.stats.equivalence import PLANNED_POWER
from bedside.stats.result import Interval, Result
from bedside.stats.sample_size import SampleSize

#: With fewer cases that speak for a level, in effect, nothing is shown of it; of a loss, in which few dear cases weigh
#: most, with fewer than twice as many.
FEWEST_EFFECTIVE, FEWEST_OF_LOSS = 20, 40
#: Names of what a result's details hold.
JUDGE, PERSON = "judge", "one person"
EFFECTIVE, SKEWNESS, P_WORSE, CASES_NEEDED = "cases in effect", "skewness", "p worse", "cases needed"
#: The cases in effect that a test needs; and those that its standard error rests on, at the margin.
FEWEST, SPREAD = "fewest cases in effect", "cases of the spread"
#: The margin that is in force: as asked, or half of one person's share where that is less.
MARGIN = "margin"
_ALPHA = 0.05
#: No study of more cases is planned.
_MOST_CASES = 100_000


@dataclass(frozen=True, slots=True)
class Costs:
    """What an error costs, in any unit; only their ratio counts.

    Attributes:
        miss: of a level that people give and the judge doesn't.
        false_alarm: of a level that the judge gives and people don't.
    """

    miss: float
    false_alarm: float = 1.0


@dataclass(frozen=True, slots=True)
class _Sums:
    """Sums over the units of each case.

    Attributes:
        so, not_so: the share of people who give the level, and who don't.
        found, found_by_person: of ``so``, what the judge gives, and one other person.
        cleared, cleared_by_person: of ``not_so``, what the judge doesn't give, and one other person.
    """

    so: Array
    found: Array
    found_by_person: Array
    not_so: Array
    cleared: Array
    cleared_by_person: Array


def no_worse_than_one_person(
    judge: Any, people: Any, *, margin: float, clusters: Any = None, weights: Any = None, costs: Costs | None = None
) -> tuple[Result, ...]:
    """The judge's sensitivity and specificity minus one person's, and with costs one person's loss minus the judge's.

    Args:
        judge: of each unit 1 where the judge gives the level, 0 where it doesn't.
        people: units × people, likewise; NaN where a person didn't rate. Units of one person don't count.
        margin: by how much the judge may fall short, above 0 and below 1, but of a share by no more than half of one
            person's; of the loss, in shares of what a rater loses who never looks and takes the cheaper answer
            throughout.
        clusters: the case of each unit; unless given, each is its own.
        weights: of each unit, above 0.
        costs: of errors; without them there is no loss.

    Returns:
        Each with its 90 % interval, whose ends are the margins at which the one-sided tests of 5 % turn; p, that the
        judge is no worse by the margin; the standard error were there no difference; and in the details both shares, p
        that it is worse by more, how many cases carry it in effect, and :func:`cases_needed`. There is no p with fewer
        than :data:`FEWEST_EFFECTIVE` cases in effect, of a loss :data:`FEWEST_OF_LOSS`.

    The test is of the cases' sums, linearised at the margin, by Hall's transformation of t, which takes out their
    skewness. Its degrees of freedom are those of a sum of squares whose terms weigh as the squared shares. A few dear
    errors may make most of a loss's spread: there they are those of the cases' values, where these are fewer. The
    standard error is no smaller than that of as many independent cases of which the margin's share differs. In
    simulated studies (a prevalence of .02 to .5, two to five people, cases of one and five units) a judge at the margin
    passes in 0 to 5.6 %: ``benchmarks/validate_error_rates.py``.

    Source:
        Hall (1992), On the removal of skewness by transformation, J R Stat Soc B 54.
    """
    if not 0 < margin < 1:
        raise DataError(f"the margin is a share above 0 and below 1, not {margin}")
    sums, cases = _sums(vector(judge, "the judge's ratings"), np.asarray(people, dtype=float), clusters, weights)
    results = []
    for name, of, hits, by_person in (
        ("sensitivity", sums.so, sums.found, sums.found_by_person),
        ("specificity", sums.not_so, sums.cleared, sums.cleared_by_person),
    ):
        blank = _blank(f"{name}, judge minus one person", margin, cases)
        results.append(_tested(blank, hits - by_person, of, hits, by_person))
    if costs is not None:
        missed = costs.miss * (sums.found - sums.found_by_person)
        gain = missed + costs.false_alarm * (sums.cleared - sums.cleared_by_person)
        kinds = (costs.miss * sums.so, costs.false_alarm * sums.not_so)
        unlooked = kinds[int(kinds[1].sum() < kinds[0].sum())]
        lost, lost_by_person = (
            costs.miss * (sums.so - found) + costs.false_alarm * (sums.not_so - cleared)
            for found, cleared in (
                (sums.found, sums.cleared), (sums.found_by_person, sums.cleared_by_person),
            )
        )  # fmt: skip
        blank = _blank("loss, one person minus judge", margin, cases)
        results.append(_tested(blank, gain, unlooked, lost, lost_by_person, stakes=kinds[0] + kinds[1]))
    return tuple(results)


def _blank(name: str, margin: float, cases: int) -> Result:
    method = f"{name}, margin {margin:g}, Hall's transformed t over cases"
    return Result(name=name, method=method, n=cases, options={"margin": margin})


def _sums(judge: Array, people: Array, clusters: Any, weights: Any) -> tuple[_Sums, int]:
    """The sums of each case, and how many cases there are."""
    if people.ndim != 2 or judge.shape != people.shape[:1]:
        raise DataError("people's ratings must be units by people, with one rating of the judge a unit")
    votes = (~np.isnan(people)).sum(axis=1)
    kept = (votes > 1) & ~np.isnan(judge)
    members = np.arange(judge.size) if clusters is None else aligned(clusters, judge.size).astype(str)
    _, places = np.unique(members[kept], return_inverse=True)
    loads = (np.ones(judge.size) if weights is None else vector(weights, "weights"))[kept]
    m, yes, says = votes[kept], np.nansum(people[kept], axis=1), judge[kept]
    no, others = m - yes, m - 1
    cases = int(places.max()) + 1 if places.size else 0

    def summed(values: Array) -> Array:
        return np.bincount(places, values * loads, cases).astype(float)

    sums = _Sums(
        so=summed(yes / m), found=summed(says * yes / m), found_by_person=summed(yes * (yes - 1) / (m * others)),
        not_so=summed(no / m), cleared=summed((1 - says) * no / m),
        cleared_by_person=summed(no * (no - 1) / (m * others)),
    )  # fmt: skip
    return sums, cases


def _tested(
    blank: Result, gains: Array, totals: Array, judge: Array, person: Array, stakes: Array | None = None
) -> Result:
    """The ratio of the sums of gains and totals, held against the margin; of a loss, stakes are what each case could
    cost."""
    from scipy.optimize import brentq

    margin, counted = float(blank.options["margin"]), totals > 0
    whole = float(totals.sum())
    if not whole:
        return blank.no_value("no person gave it" if "sens" in blank.name else "people gave it to every unit")
    is_share, fewest = stakes is None, FEWEST_EFFECTIVE if stakes is None else FEWEST_OF_LOSS
    # An error of the other kind may stand in a case that has nothing to lose by not looking.
    counted |= not is_share
    gain, total = gains[counted], totals[counted]
    estimate = float(gain.sum() / whole)
    # Where misses are dear, a few cases decide the loss, however many have something to lose by not looking.
    effective = min(_in_effect(total), _in_effect(total if stakes is None else stakes))
    of_person = float(person.sum() / whole)
    in_force = min(margin, of_person / 2) if is_share else margin
    details: dict[str, float | None] = {
        JUDGE: float(judge.sum() / whole), PERSON: of_person, EFFECTIVE: effective, MARGIN: in_force, FEWEST: fewest,
    }  # fmt: skip
    result = replace(blank, estimate=estimate, details=details)
    if is_share and not of_person:
        return replace(result, missing="it can't be told, as no two people agree on it")
    if gain.size < 3 or effective <= 2:
        needed = float(np.ceil(blank.n * fewest / effective))
        return replace(result, details={**details, CASES_NEEDED: needed}, missing="it rests on too few cases")

    def spread(values: Array) -> float:
        return effective if is_share else min(effective, _in_effect(values))

    def p_of(values: Array, at: float) -> float:
        """p of the test that the mean of the cases' values is no higher than 0; a difference is about so large."""
        return _p_above(values, total, at, effective, spread(values) - 1)

    def p_above(bound: float) -> float:
        """p of the test that the difference is no higher than the bound."""
        return p_of(gain - bound * total, abs(bound))

    # A share differs by 1 at most; a loss may be any multiple of what not looking loses.
    most = 1.0 if is_share else 100 * (1 + abs(estimate))
    low = brentq(lambda bound: p_above(bound) - _ALPHA, -most, estimate) if p_above(-most) < _ALPHA else -most
    high = brentq(lambda bound: p_above(bound) - 1 + _ALPHA, estimate, most) if p_above(most) > 1 - _ALPHA else most
    error = _error(gain - estimate * total, total, margin, effective) * gain.size / whole
    # As if every case counted: those that don't speak for the level are left out of the test.
    skewness = _skewness(gain + margin * total, total, margin, effective) * float(np.sqrt(blank.n / gain.size))
    details |= {SKEWNESS: skewness, SPREAD: spread(gain + margin * total)}
    result = replace(result, standard_error=error)
    enough = effective >= fewest
    p = max(p_above(-margin), p_of((judge - person / 2)[counted], margin) if is_share else 0.0)
    worse = p_of(-(gain + in_force * total), in_force)
    return replace(
        result,
        interval=Interval(low, high, 1 - 2 * _ALPHA, "inverted one-sided tests"),
        p=p if enough else None,
        details={**details, P_WORSE: worse if enough else None, CASES_NEEDED: cases_needed([result])},
        missing=None if enough else f"it rests on {effective:.0f} cases in effect, fewer than {fewest}",
    )


def cases_needed(tests: Sequence[Result]) -> float | None:
    """How many cases show all of these in 80 % of studies, were the judge as good as a person; None if not known."""
    if not all(test.standard_error and test.details[MARGIN] for test in tests):
        return None
    low, high = 0, 1
    while high < _MOST_CASES and sum(1 - _chance(test, high) for test in tests) > 1 - PLANNED_POWER:
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        is_enough = sum(1 - _chance(test, middle) for test in tests) <= 1 - PLANNED_POWER
        low, high = (low, middle) if is_enough else (middle, high)
    return float(high)


def _chance(test: Result, cases: int) -> float:
    """The chance that a study of so many cases shows it, were there no difference: of p, and that enough carry it."""
    from scipy.special import ndtr, stdtr, stdtrit

    effective = (test.details[EFFECTIVE] or 0.0) * cases / test.n
    df = max((test.details[SPREAD] or 0.0) * cases / test.n - 1, 1.0)
    shift = (test.details[MARGIN] or 0.0) / (test.standard_error or 1.0) * np.sqrt(cases / test.n)
    enough = ndtr((effective - (test.details[FEWEST] or 0.0)) / np.sqrt(effective))
    critical, skew = stdtrit(df, 1 - _ALPHA), (test.details[SKEWNESS] or 0.0) / np.sqrt(cases)
    if abs(skew) > 1e-6:
        # What t must exceed for its transformation to exceed the critical value.
        critical = 3 / skew * (np.cbrt(1 + skew * (critical - skew / 6)) - 1)
    return float(stdtr(df, shift - critical) * enough)


def _in_effect(shares: Array) -> float:
    """How many equal cases a sum of squares rests on as firmly."""
    return float((shares**2).sum() ** 2 / max((shares**4).sum(), 1e-300))


def _error(values: Array, totals: Array, margin: float, effective: float) -> float:
    """The standard error of the mean of the cases' values, no smaller than independent cases would have it of which so
    many differ."""
    independent = np.sqrt(margin * max(1 - margin, 0.0) / effective) * totals.mean()
    return float(max(values.std(ddof=1) / np.sqrt(values.size), independent, 1e-12))


def _skewness(values: Array, totals: Array, margin: float, effective: float) -> float:
    n = values.size
    third = float(((values - values.mean()) ** 3).mean()) * n**2 / ((n - 1) * (n - 2))
    return float(third / (_error(values, totals, margin, effective) * np.sqrt(n)) ** 3)


def _p_above(values: Array, totals: Array, margin: float, effective: float, freedoms: float) -> float:
    """p of the test that the mean of the cases' values is no higher than 0."""
    from scipy.special import stdtr

    n, mean = values.size, float(values.mean())
    error = _error(values, totals, margin, effective)
    skewness = _skewness(values, totals, margin, effective)
    t = mean / error
    transformed = t + skewness * (t**2 / 3 + 1 / 6) / np.sqrt(n) + skewness**2 * t**3 / (27 * n)
    return float(stdtr(max(freedoms, 1.0), -transformed))


def cases_to_stand_in(
    prevalence: float,
    sensitivity: float,
    specificity: float,
    *,
    raters: int,
    margin: float,
    power: float = PLANNED_POWER,
    simulations: int = 500,
    seed: int = 0,
) -> SampleSize:
    """Cases, one unit each, on which a judge as good as a person is shown to be no worse, by simulated studies.

    Args:
        prevalence: share of the units of which the level is true.
        sensitivity, specificity: of each person and of the judge, who err independently of each other.
        raters: people who rate every unit, two or more.
        margin: by how much the judge may fall short.
        power: the chance to show it, of sensitivity and specificity together.
        simulations: studies for each number of cases that is tried.
        seed: of the studies.
    """
    for name, share in (("prevalence", prevalence), ("sensitivity", sensitivity), ("specificity", specificity)):
        if not 0 < share < 1:
            raise DataError(f"a share is above 0 and below 1, and {share:g} is not", where=f"`{name}`")
    if raters < 2:
        raise DataError("at least two people must rate, and more are better", where="`raters`")
    if not 0 < margin < 1:
        raise DataError(f"the margin is above 0 and below 1, and {margin:g} is not", where="`epsilon`")
    rng = generator(seed)

    def drawn(cases: int) -> _Sums:
        truth = rng.random(cases) < prevalence
        says = rng.random((cases, raters + 1)) < np.where(truth, sensitivity, 1 - specificity)[:, None]
        return _sums(says[:, 0].astype(float), says[:, 1:].astype(float), None, None)[0]

    def is_shown(sums: _Sums) -> bool:
        sides = ((sums.so, sums.found, sums.found_by_person), (sums.not_so, sums.cleared, sums.cleared_by_person))
        return all(_is_no_worse(*side, margin) for side in sides)

    words = (
        f"the judge and each person of sensitivity {sensitivity:g} and specificity {specificity:g}, prevalence "
        f"{prevalence:g}, margin {margin:g}, by {simulations:,} simulated studies a number"
    )
    cases, reached = 2 * FEWEST_EFFECTIVE, 0.0
    while reached < power:
        if cases > _MOST_CASES:
            return SampleSize(None, words, missing=f"more than {_MOST_CASES:,} cases")
        reached = float(np.mean([is_shown(drawn(cases)) for _ in range(simulations)]))
        if reached < power:
            # Far from it by half as many again, near it by a twentieth.
            cases = int(np.ceil(cases * (1.5 if reached < 0.4 else 1.15 if reached < 0.7 else 1.05)))
    return SampleSize(cases, words, reached, simulations=simulations)


def _is_no_worse(totals: Array, judge: Array, person: Array, margin: float) -> bool:
    counted = totals > 0
    total = totals[counted]
    effective = _in_effect(total) if total.size else 0.0
    return effective >= FEWEST_EFFECTIVE and all(
        _p_above(ahead[counted], total, margin, effective, effective - 1) < _ALPHA
        for ahead in (judge - person + margin * totals, judge - person / 2)
    )
