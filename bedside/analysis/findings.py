"""Findings: what an answer comes to, as data from which sentences are made.

A finding is claimed only where it is shown: by intervals that hold all at once over the measures of a question (each as
wide as Bonferroni's correction asks), or by p-values that are corrected together. What is not shown is a finding of its
own, that it is not known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from bedside.analysis.agreement import Agreement, RatedApart
    from bedside.analysis.comparison import Comparison, Comparisons
    from bedside.analysis.estimation import Estimate
    from bedside.analysis.metric_facts import MetricFacts
    from bedside.analysis.validation import JudgeCard, Validation
    from bedside.stats.result import Result

#: From which kappa on raters are said to agree at least moderately (Landis and Koch 1977).
MODERATE = 0.40
#: The chance of a false claim among all that are made of one answer.
ALPHA = 0.05
#: Fewer cases than this make rough intervals; with fewer than the second nothing is claimed.
FEW_CASES, FEWEST_CASES = 10, 4

FindingKind = Literal[
    "agree", "agree barely", "agreement not known", "never differ", "too few cases", "nobody twice", "better",
    "no difference shown", "difference not known", "differ", "mixed", "may stand in", "may not stand in",
    "stand-in not known", "corrected difference", "no corrected difference", "correction not known",
]  # fmt: skip
#: Kinds that claim a difference: their measures come first where not all of them are printed.
SHOWN: frozenset[FindingKind] = frozenset(("better", "differ", "mixed", "corrected difference"))
Warnings = Literal["few cases", "other raters"]


@dataclass(frozen=True, slots=True)
class MeasureFinding:
    """A measure that a finding is about, with its figure.

    Attributes:
        metric, title: the metric, and in words.
        estimate, low, high: the figure with its 95 % interval; None where there is none.
        n, of: what it rests on, of how many.
        why: why nothing is shown, or what speaks against it, in words; empty else.
        figure: what the estimate is, as a sign: κ or α; empty of other figures.
        raters: who gave the values, where several groups of raters gave some; empty else.
    """

    metric: str
    title: str
    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    of: int | None = None
    why: str = ""
    figure: str = ""
    raters: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """What an answer comes to, in one sentence's worth.

    Attributes:
        kind: what is said.
        raters: of whom: people, a judge or algorithm; empty where it is of all.
        systems: that it is about; of a difference the first is above, or better.
        measures: on which it is shown.
        against: of a comparison, the measures on which the second system is better.
        of: of how many measures.
        tests: over how many tests p was corrected, where it was.
        alternative: of one-sided tests what they ask, that the first system is ``greater`` or ``less``; else empty.
        warning: what could change how it is read.
    """

    kind: FindingKind
    raters: str = ""
    systems: tuple[str, ...] = ()
    measures: tuple[MeasureFinding, ...] = ()
    against: tuple[MeasureFinding, ...] = ()
    of: int = 0
    tests: int = 0
    warning: Warnings | None = None
    alternative: str = ""


def _measured(facts: MetricFacts | str, title: str, result: Result | None, n: int, of: int | None) -> MeasureFinding:
    interval = result.interval if result is not None else None
    return MeasureFinding(
        facts if isinstance(facts, str) else facts.name,
        title,
        result.estimate if result is not None else None,
        interval.low if interval else None,
        interval.high if interval else None,
        n,
        of,
        (result.missing or "") if result is not None else "",
    )


def _bounds(result: Result | None, claims: int) -> tuple[float, float] | None:
    """The ends of an interval that holds with those of the other claims at once; None where there is none.

    Each half of the interval is stretched as a normal one would be.
    """
    from scipy.special import ndtri

    if result is None or result.estimate is None or result.interval is None:
        return None
    stretch = float(ndtri(1 - ALPHA / (2 * claims)) / ndtri((1 + result.interval.level) / 2))
    estimate, interval = result.estimate, result.interval
    return estimate - (estimate - interval.low) * stretch, estimate + (interval.high - estimate) * stretch


# -- Agreement ------------------------------------------------------------------------------------------


def agreement_findings(agreements: Sequence[Agreement], apart: Sequence[RatedApart] = ()) -> tuple[Finding, ...]:
    """Who agrees with whom: people among themselves, then each algorithm or judge with people.

    Args:
        agreements: all that were computed.
        apart: metrics by which no two people rated the same.
    """
    whole = [agreement for agreement in agreements if not agreement.is_any_or_none]
    findings = list(_agreement(whole, "people", None))
    if apart:
        measures = tuple(MeasureFinding(metric.metric, metric.title, n=metric.units) for metric in apart)
        findings.append(Finding("nobody twice", measures=measures, of=len(measures)))
    for rater in dict.fromkeys(agreement.rater for agreement in whole if agreement.rater is not None):
        findings += _agreement(whole, "mean", rater)
    return tuple(findings)


def _agreement(agreements: Iterable[Agreement], kind: str, rater: str | None) -> Iterator[Finding]:
    chosen = [agreement for agreement in agreements if agreement.kind == kind and agreement.rater == rater]
    beside = {
        agreement.title: agreement.statistics.get("alpha")
        for agreement in agreements
        if agreement.kind == "consensus" and agreement.rater == rater
    }
    by_kind: dict[FindingKind, list[MeasureFinding]] = {
        "agree": [], "agree barely": [], "agreement not known": [], "never differ": [], "too few cases": [],
    }  # fmt: skip
    for agreement in chosen:
        kappa = agreement.statistics.get("kappa")
        result = kappa or agreement.statistics.get("alpha") or beside.get(agreement.title)
        bounds = _bounds(result, len(chosen)) or _bounds_of_perfect(agreement, result, len(chosen))
        band: FindingKind = "agreement not known"
        if agreement.cases < FEWEST_CASES:
            band = "too few cases"
        elif bounds is None and result is not None and result.estimate is not None and result.estimate >= 1:
            band = "never differ"
        elif bounds is not None and bounds[0] > MODERATE:
            band = "agree"
        elif bounds is not None and bounds[1] <= MODERATE:
            band = "agree barely"
        measure = _measured(agreement.metric, agreement.title, result, agreement.units, agreement.of)
        by_kind[band].append(replace(measure, figure="κ" if kappa is not None else "α"))
    claimed: tuple[FindingKind, ...] = ("agree", "agree barely")
    few = {agreement.title for agreement in chosen if agreement.cases < FEW_CASES}
    for band, measures in by_kind.items():
        if measures:
            warning: Warnings | None = None
            if band in claimed and any(measure.title in few for measure in measures):
                warning = "few cases"
            yield Finding(band, rater or "", measures=tuple(measures), of=len(chosen), warning=warning)


def _bounds_of_perfect(agreement: Agreement, result: Result | None, claims: int) -> tuple[float, float] | None:
    """The ends where raters never differ, which leaves an interval without width: by the least share of cases on which
    they would agree (the exact binomial bound) and the agreement that chance gives at these shares of levels."""
    if result is None or result.estimate is None or result.estimate < 1 or not agreement.prevalence:
        return None
    by_chance = sum(share**2 for share in agreement.prevalence.values())
    least = float((ALPHA / (2 * claims)) ** (1 / max(agreement.cases, 1)))
    return (least - by_chance) / (1 - by_chance) if by_chance < 1 else 0.0, 1.0


# -- Comparison -----------------------------------------------------------------------------------------


def comparison_findings(comparisons: Comparisons) -> tuple[Finding, ...]:
    """Of each two systems, on how many measures the one is better, by p-values corrected together.

    What people and a judge both rated are two measures: they may say different things.
    """
    by_pair: dict[tuple[str, str], list[Comparison]] = {}
    for pair in comparisons.pairs:
        if not pair.is_one_sided:
            by_pair.setdefault((pair.a, pair.b), []).append(pair)
    findings = [finding for (a, b), pairs in by_pair.items() for finding in _pair(a, b, pairs)]
    return tuple(sorted(findings, key=lambda finding: finding.kind not in SHOWN))


def _pair(a: str, b: str, pairs: Sequence[Comparison]) -> Iterator[Finding]:
    raters_of: dict[str, set[str]] = {}
    for pair in pairs:
        raters_of.setdefault(pair.metric, set()).add(pair.raters)
    better: dict[str, list[MeasureFinding]] = {a: [], b: []}
    above: dict[str, list[MeasureFinding]] = {a: [], b: []}
    mixed: list[MeasureFinding] = []
    unshown: list[MeasureFinding] = []
    untested: list[MeasureFinding] = []
    for pair in pairs:
        measure = _compared(pair, pair.raters if len(raters_of[pair.metric]) > 1 else "")
        sign, of_means = _sign(pair), pair.difference.estimate
        if pair.test.p_adjusted is None:
            untested.append(measure)
        elif pair.test.p_adjusted >= ALPHA:
            unshown.append(measure)
        elif of_means is not None and sign * of_means <= 0:
            mixed.append(measure)
        elif pair.facts.direction == "none":
            above[a if sign > 0 else b].append(measure)
        else:
            better[a if (sign > 0) == (pair.facts.direction == "higher") else b].append(measure)
    tests = max((pair.test.family_size or 0 for pair in pairs), default=0)
    confounded = any(pair.people is not None and pair.people.is_confounded for pair in pairs)
    warning: Warnings | None = "other raters" if confounded else None
    asked = {str(pair.test.options.get("alternative", "two-sided")) for pair in pairs} - {"two-sided"}
    alternative = next(iter(asked), "")
    with_direction = sum(pair.facts.direction != "none" for pair in pairs)
    first, second = sorted((a, b), key=lambda system: len(better[system]), reverse=True)
    if better[first]:
        for_first, for_second = tuple(better[first]), tuple(better[second])
        yield Finding("better", "", (first, second), for_first, for_second, with_direction, tests, warning, alternative)
    for higher, lower in ((a, b), (b, a)):
        if above[higher]:
            of = len(pairs) - with_direction
            yield Finding("differ", "", (higher, lower), tuple(above[higher]), (), of, tests, warning, alternative)
    if mixed:
        yield Finding("mixed", "", (a, b), tuple(mixed), (), len(pairs), tests, warning, alternative)
    if unshown and len(unshown) + len(untested) == len(pairs):
        yield Finding("no difference shown", "", (a, b), tuple(unshown), (), len(pairs), tests, warning, alternative)
    if untested:
        yield Finding("difference not known", "", (a, b), tuple(untested), of=len(pairs))


def _sign(pair: Comparison) -> float:
    """Which way the tested statistic points: above 0 where the first system's values tend to be higher."""
    effect = pair.test.effect
    candidates = (
        pair.test.estimate if "ratio" not in pair.test.name else None,
        effect.estimate if effect is not None and "ratio" not in effect.name else None,
        pair.difference.estimate,
    )
    return next((estimate for estimate in candidates if estimate), 0.0)


def _compared(pair: Comparison, raters: str) -> MeasureFinding:
    cases = min(pair.cases_a, pair.cases_b) if pair.paired else pair.cases_a + pair.cases_b
    return replace(_measured(pair.facts, pair.facts.title, pair.difference, cases, pair.entered.of), raters=raters)


# -- Validation -----------------------------------------------------------------------------------------


def validation_findings(cards: Sequence[JudgeCard]) -> tuple[Finding, ...]:
    """Of each judge, where it may stand in for a person, where not, and where that isn't known."""
    kinds: tuple[tuple[FindingKind, Callable[[Validation], bool]], ...] = (
        ("may stand in", lambda validation: validation.stands_in is True),
        ("may not stand in", lambda validation: validation.stands_in is False),
        ("stand-in not known", lambda validation: validation.stands_in is None),
    )
    return tuple(
        Finding(kind, card.rater, measures=tuple(map(_validated, chosen)), of=len(card.validations))
        for card in cards
        for kind, belongs in kinds
        for why in dict.fromkeys(validation.why for validation in card.validations if belongs(validation))
        if (chosen := [each for each in card.validations if belongs(each) and each.why == why])
    )


def _validated(validation: Validation) -> MeasureFinding:
    kappa = validation.mean.statistics.get("kappa") if validation.mean else None
    measure = _measured(validation.facts, validation.facts.title, kappa, validation.with_people, validation.rated)
    return replace(measure, why=validation.why)


# -- Estimates ------------------------------------------------------------------------------------------


def estimate_findings(estimates: Sequence[Estimate]) -> tuple[Finding, ...]:
    """Which systems differ once the judge is corrected by people, by intervals that hold all at once."""
    differences = [estimate for estimate in estimates if len(estimate.systems) == 2]
    findings = []
    for a, b in dict.fromkeys((difference.systems[0], difference.systems[1]) for difference in differences):
        of_pair = [difference for difference in differences if difference.systems == (a, b)]
        above: list[MeasureFinding] = []
        below: list[MeasureFinding] = []
        unknown: list[MeasureFinding] = []
        lacking: list[MeasureFinding] = []
        for difference in of_pair:
            bounds = _bounds(difference.corrected, len(differences))
            measure = _measured(
                difference.facts, difference.facts.title, difference.corrected, difference.labelled, difference.of
            )
            not_shown = lacking if bounds is None else unknown
            (above if bounds and bounds[0] > 0 else below if bounds and bounds[1] < 0 else not_shown).append(measure)
        if above:
            findings.append(Finding("corrected difference", "", (a, b), tuple(above), (), len(of_pair)))
        if below:
            findings.append(Finding("corrected difference", "", (b, a), tuple(below), (), len(of_pair)))
        if unknown:
            findings.append(Finding("no corrected difference", "", (a, b), tuple(unknown), (), len(of_pair)))
        for why in dict.fromkeys(measure.why for measure in lacking):
            measures = tuple(measure for measure in lacking if measure.why == why)
            findings.append(Finding("correction not known", "", (a, b), measures, (), len(of_pair)))
    return tuple(findings)
