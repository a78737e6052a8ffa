"""Findings: what an answer comes to, as data from which sentences are made.

A finding is claimed only where it is shown: by intervals that hold all at once over the measures of a question (each as
wide as Bonferroni's correction asks), or by p-values that are corrected together. What is not shown is a finding of its
own, that it is not known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, comb, factorial, isfinite, log2
from typing import TYPE_CHECKING, Any, Literal, cast

from bedside.analysis.rater_effects import owes_raters, rests_on_raters
from bedside.core.words import counted

if TYPE_CHECKING:
    from bedside.analysis.agreement import Agreement, RatedApart
    from bedside.analysis.comparison import Comparison, Comparisons, Overall
    from bedside.analysis.deviation import Deviation
    from bedside.analysis.drift import Drift
    from bedside.analysis.estimation import Estimate
    from bedside.analysis.gate import Gate
    from bedside.analysis.jury_agreement import JuryAgreement
    from bedside.analysis.metric_facts import MetricFacts
    from bedside.analysis.non_inferiority import MarginTest
    from bedside.analysis.pair_preferences import PairVerdicts, SystemPreferences
    from bedside.analysis.rater_effects import RaterDesign
    from bedside.analysis.trend import Trend
    from bedside.analysis.validation import JudgeCard, Validation
    from bedside.stats.result import Result

#: From which kappa on raters are said to agree at least moderately (Landis and Koch 1977).
MODERATE = 0.40
#: The chance of a false claim among all that are made of one answer.
ALPHA = 0.05
#: Fewer cases than this make rough intervals; with fewer than the second nothing is claimed.
FEW_CASES, FEWEST_CASES = 10, 4
#: Why nothing can be shown where not even the greatest difference could be.
TOO_FEW = "there are too few cases"
#: Why nothing is shown where what raters add to a difference may be all of it.
OF_RATERS = "not the same people rated them, which alone may make the difference"
_UNTESTED = "it can't be tested"

FindingKind = Literal[
    "agree", "agree barely", "agreement not known", "never differ", "too few cases", "nobody twice", "better",
    "no difference shown", "difference not known", "differ", "mixed", "better by some", "above by some",
    "raters disagree", "scored the same", "not rated", "may stand in", "may not stand in", "stand-in not known",
    "corrected difference", "no corrected difference", "correction not known", "systems differ", "no system differs",
    "leads", "last", "pairs differ", "preferred", "no preference shown", "preference not known", "alike", "no worse",
    "worse by margin", "apart by margin", "margin not shown", "margin not known", "alike not shown",
    "alike not known", "passes", "fails", "fails safety",
    "passing not known", "safety not known", "rises", "falls", "no change shown", "change not known",
    "above reference", "below reference", "no deviation shown", "deviation not known", "number", "a look",
    "one look", "every look", "enough", "judge changed", "judge the same", "judge change not known", "numbers moved",
    "right by agreement", "right by people", "settles", "settles nothing", "routed",
]  # fmt: skip
#: For how many looks intervals hold: for one, as always; for one, though there are some for every look; for every look.
#: Or that people stopped as it was enough.
LookKind = Literal["a look", "one look", "every look", "enough"]
#: Kinds that claim a difference: their measures come first where not all of them are printed.
SHOWN: frozenset[FindingKind] = frozenset((
    "better", "differ", "mixed", "better by some", "above by some", "corrected difference", "leads", "last",
    "preferred", "worse by margin", "apart by margin", "fails", "fails safety", "rises", "falls", "above reference",
    "below reference",
))  # fmt: skip
Warnings = Literal["few cases", "other raters"]


@dataclass(frozen=True, slots=True)
class MeasureFinding:
    """A measure that a finding is about, with its figure.

    Attributes:
        metric, title: the metric, and in words.
        estimate, low, high: the figure with its 95 % interval; None where there is none.
        n, of: what it rests on, of how many.
        why: why nothing is shown, or what speaks against it, in words; empty else.
        figure: what the estimate is: κ, α, ρ, % or difference, the mean of the first system minus that of the second.
        raters: who gave the values, where several groups of raters gave some; empty else.
        groups: of a comparison, how many groups of raters gave some.
        people: of a comparison, how many people's it is where it is about these alone; 0 else.
        limit: what the figure is held against: a margin, or a level of safety.
        needed: how many cases would answer what isn't known, where that can be told; 0 where there are as many.
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
    limit: float | None = None
    needed: int | None = None
    groups: int = 0
    people: int = 0

    @property
    def name(self) -> tuple[str, str]:
        """What was measured, whoever rated it."""
        return self.metric, self.title


@dataclass(frozen=True, slots=True)
class OtherRaters:
    """That two systems were not rated by the same people, on the measure where most of the ratings were by others.

    Attributes:
        title: the measure, in words.
        systems: the two.
        only: of each, the people who rated none of the other's.
        share: of the ratings, the part that would have to be by other people for both systems to be rated alike.
        shift: what that alone makes of their difference; None where these people share no ratings that tell it.
        measures: on how many measures and pairs of systems it matters.
    """

    title: str
    systems: tuple[str, str]
    only: tuple[tuple[str, ...], tuple[str, ...]]
    share: float
    shift: float | None
    measures: int


@dataclass(frozen=True, slots=True)
class Finding:
    """What an answer comes to, in one sentence's worth.

    Attributes:
        kind: what is said.
        raters: of whom: people, a judge or algorithm; empty where it is of all.
        systems: that it is about; of a difference the first is above, or better.
        measures: on which it is shown.
        against: of a comparison, the measures on which the second system is better; where raters disagree about which
            is, those by whom it is the second.
        of: of how many measures; of a comparison of those that were tested, each once, whoever rated it.
        tests: over how many tests p was corrected, where it was.
        alternative: of one-sided tests what they ask, that the first system is ``greater`` or ``less``; else empty.
        pairs: of three systems or more, each two that differ.
        cases: of these, how many the test of each two rests on.
        over: what changes are followed over, such as the number of messages; of a number ``cases`` where each counts
            once; empty of other findings.
        warning: what could change how it is read.
        other_raters: of that warning, who rated which system.
        disputed: beside these, on how many measures one system is better by some raters, the other by others.
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
    pairs: tuple[tuple[str, str], ...] = ()
    cases: tuple[int, ...] = ()
    over: str = ""
    other_raters: OtherRaters | None = None
    disputed: int = 0


def measured(facts: MetricFacts | str, title: str, result: Result | None, n: int, of: int | None) -> MeasureFinding:
    """A measure with a result as its figure, and how many it rests on of how many."""
    interval = result.interval if result is not None else None
    return MeasureFinding(
        facts if isinstance(facts, str) else facts.name, title, result.estimate if result is not None else None,
        interval.low if interval and isfinite(interval.low) else None,
        interval.high if interval and isfinite(interval.high) else None, n, of,
        (result.missing or "").removeprefix("no interval: ") if result is not None else "",
    )  # fmt: skip


def jury_findings(agreements: Iterable[JuryAgreement]) -> tuple[Finding, ...]:
    """What a jury's members are by their agreement alone, the most reliable first; and what people say of the same."""
    findings = []
    for own in agreements:
        by_rank = sorted(own.errors, key=lambda errors: -(errors.reliability.estimate or 0.0))
        for kind, name in (("right by agreement", "reliability"), ("right by people", "with_people")):
            measures = tuple(
                replace(measured(own.facts, own.facts.title, result, result.n, None), raters=errors.member,
                        limit=errors.reliability.estimate)
                for errors in by_rank
                if (result := getattr(errors, name)) is not None and result.interval is not None
            )  # fmt: skip
            if measures:
                findings.append(Finding(cast(FindingKind, kind), measures=measures, of=len(own.errors)))
    return tuple(findings)


def with_look(
    findings: Sequence[Finding], rated: int, planned: int | None, kind: LookKind, waiting: int = 0
) -> tuple[Finding, ...]:
    """The findings of an answer, and after the first that the study runs: of the planned answers so many are in, where
    some are open; and so many transcripts wait for another rater."""
    waits = (MeasureFinding("", "waiting transcripts", n=waiting),) if waiting else ()
    of = "items" if kind == "enough" else "planned answers"
    look = Finding(kind, measures=(MeasureFinding("", of, n=rated, of=planned), *waits))
    return (*findings[:1], look, *findings[1:])


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
    from bedside.stats.many_raters import FEW_SHARED

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
        if kappa is not None and (kappa.missing or "").startswith(FEW_SHARED):
            kappa = None
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
        measure = measured(agreement.metric, agreement.title, result, agreement.units, agreement.of)
        if len(agreement.constant) == len(agreement.raters) and len(set(agreement.constant.values())) == 1:
            measure = replace(measure, why="all ratings are equal")
        elif band == "agreement not known" and bounds is not None and measure.estimate == 1:
            never = "they never differ, but"
            measure = replace(measure, why=f"{never} {counted(agreement.cases, 'case')} can't rule out less than .40")
        by_kind[band].append(replace(measure, figure="κ" if kappa is not None else "α"))
    claimed: tuple[FindingKind, ...] = ("agree", "agree barely")
    few = {agreement.title for agreement in chosen if agreement.cases < FEW_CASES}
    for band, measures in by_kind.items():
        # What isn't known is said with its reason.
        reasons = dict.fromkeys(measure.why for measure in measures) if band == "agreement not known" else [None]
        for why in reasons if measures else ():
            own = tuple(measure for measure in measures if why in (None, measure.why))
            is_rough = band in claimed and any(measure.title in few for measure in own)
            yield Finding(band, rater or "", measures=own, of=len(chosen), warning="few cases" if is_rough else None)


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

    Of three systems or more, who leads and who is last on which measures; then those two of which this doesn't say it
    all. What people and a judge both rated is one measure; where they say different things, it is said who says what.
    Measures on which there is nothing to test have sentences of their own.
    """
    pairs = [pair for pair in comparisons.pairs if not pair.is_one_sided]
    groups: dict[str, set[str]] = {}
    for pair in comparisons.pairs:
        groups.setdefault(pair.metric, set()).add(pair.raters)
    duels = [_duel(pair, len(groups[pair.metric])) for pair in pairs]
    tests = max((pair.test.family_size or 0 for pair in pairs), default=0)
    resting = [
        (pair.people, duel.kind in SHOWN)
        for pair, duel in zip(pairs, duels, strict=True)
        if duel.measure.why != TOO_FEW and rests_on_raters(pair.people, pair.difference)
    ]
    # What is claimed is warned of before what isn't shown.
    others = _other_raters([people for people, is_shown in resting if is_shown] or [people for people, _ in resting])
    asked = {str(pair.test.options.get("alternative", "two-sided")) for pair in pairs} - {"two-sided"}
    about = Finding("better", tests=tests, warning="other raters" if others else None, other_raters=others,
                    alternative=next(iter(asked), ""))  # fmt: skip
    by_pair: dict[tuple[str, str], list[_Duel]] = {}
    for pair, duel in zip(pairs, duels, strict=True):
        by_pair.setdefault((pair.a, pair.b), []).append(duel)
    # At every look there is no test of all at once: all are told of where each is held against each.
    all_pairs = 1 < len(by_pair) == comb(len({system for systems in by_pair for system in systems}), 2)
    many = bool(comparisons.overall) or (all_pairs and any(pair.at_every_look for pair in pairs))
    standings: list[Finding] = []
    if many:
        # What owes itself to raters between two systems does so among all.
        owing = {duel.measure.metric for duel in duels if duel.measure.why == OF_RATERS}
        owing -= {duel.measure.metric for duel in duels if duel.kind in SHOWN}
        overall = [test for test in comparisons.overall if test.metric not in owing]
        standings = [*_at_once(overall, groups), *_disputed(by_pair), *_standings(duels, about)]
        if any(duel.kind in SHOWN for duel in duels):
            standings = [finding for finding in standings if finding.kind != "no system differs"]
    of_pairs = [
        finding
        for systems, own in by_pair.items()
        if not many or _disputes(own) or not all(_is_told(duel, standings) for duel in own)
        for finding in _pair(systems, own, about)
        if not many or finding.kind in SHOWN or finding.measures[0].why == OF_RATERS
    ]
    of_pairs.sort(key=lambda finding: finding.kind not in SHOWN)
    unrated = _unrated(comparisons.pairs, groups)
    return (*standings, *unrated, *of_pairs) if many else (*of_pairs, *unrated)


@dataclass(frozen=True, slots=True)
class _Duel:
    """Two systems on one measure, and what their test shows.

    Attributes:
        kind: one of those of pairs: better, differ, mixed, preferred, not shown, not known.
        a, b: the systems; where one is shown to be better or higher, it is the first.
        measure: with its figure; and why nothing can be shown.
    """

    kind: FindingKind
    a: str
    b: str
    measure: MeasureFinding

    def turned(self) -> _Duel:
        """The same with the other system first."""
        own = self.measure
        estimate, low, high = (None if each is None else -each for each in (own.estimate, own.high, own.low))
        return replace(self, a=self.b, b=self.a, measure=replace(own, estimate=estimate, low=low, high=high))


def _duel(pair: Comparison, groups: int) -> _Duel:
    measure, sign, of_means = _compared(pair, groups), _sign(pair), pair.difference.estimate
    if pair.is_equal or pair.test.p_adjusted is None:
        untested: FindingKind = "scored the same" if pair.is_equal else "difference not known"
        return _Duel(untested, pair.a, pair.b, replace(measure, why=_UNTESTED))
    if pair.test.p_adjusted >= ALPHA:
        sides = 2 if pair.test.options.get("alternative", "two-sided") == "two-sided" else 1
        if pair.at_every_look:
            measure = measure if pair.difference.interval else replace(measure, why=TOO_FEW)
        elif "t test" not in pair.test.method and "quasi-F" not in pair.test.method:
            others = None if pair.paired else pair.cases_b
            # Half of the chance of what is seen counts in a mid-p.
            tests = (pair.test.family_size or 1) / (2 if "mid-p" in pair.test.method else 1)
            if "studentised" in pair.test.method and others != pair.cases_a:
                sides = 1  # of unequal arms, nothing on the other side need be as far out
            measure = _with_power(measure, pair.cases_a, others, tests, sides)
        kind: FindingKind = "difference not known" if measure.why else "no difference shown"
        return _Duel(kind, pair.a, pair.b, measure)
    if of_means is not None and sign * of_means <= 0:
        return _Duel("mixed", pair.a, pair.b, measure)
    if owes_raters(pair.people, pair.difference):
        return _Duel("difference not known", pair.a, pair.b, replace(measure, why=OF_RATERS))
    above = sign > 0 if pair.facts.direction != "lower" else sign < 0
    duel = _Duel("differ" if pair.facts.direction == "none" else "better", pair.a, pair.b, measure)
    return duel if above else duel.turned()


def _other_raters(designs: Iterable[RaterDesign | None]) -> OtherRaters | None:
    """Who rated which system, on the measure where most of the ratings were by others; None where there are none."""
    apart = [design for design in designs if design is not None and design.imbalance > 0]
    if not apart:
        return None
    most = max(apart, key=lambda design: design.imbalance)
    return OtherRaters(
        most.facts.title, (most.a, most.b), (most.only_a, most.only_b), most.imbalance, most.shift, len(apart)
    )


def _warned_of_raters(findings: tuple[Finding, ...], designs: Iterable[RaterDesign | None]) -> tuple[Finding, ...]:
    """The findings with the warning that they may owe themselves to who rated, where some rest on such designs."""
    others = _other_raters(designs)
    if others is None:
        return findings
    return tuple(replace(each, warning="other raters", other_raters=others) for each in findings)


def _with_power(
    measure: MeasureFinding, cases: int, others: int | None, tests: float, sides: int = 2
) -> MeasureFinding:
    """The measure, with why nothing could be shown where not even the greatest difference could: a test of signs or
    ranks has a least p, which falls with the number of cases.

    Args:
        measure: on which nothing is shown.
        cases, others: those that pair, or those of both systems.
        tests: over which p is corrected.
        sides: of the test.
    """
    least = sides / (2**cases if others is None else comb(cases + others, others)) * tests
    needed = ceil(log2(sides * tests / ALPHA)) if others is None else None
    return replace(measure, why=TOO_FEW, needed=needed) if least >= ALPHA else measure


def _pair(systems: tuple[str, str], duels: Sequence[_Duel], about: Finding) -> Iterator[Finding]:
    """What is shown of two systems; ``about`` has what holds of all findings of an answer."""
    disputes = _disputes(duels)
    of_kind: dict[FindingKind, list[_Duel]] = {}
    for duel in duels:
        if duel.measure.name not in disputes:
            of_kind.setdefault(duel.kind, []).append(duel)
    about = replace(about, of=_tested_names(duels))

    def measures(kind: FindingKind, first: str = systems[0]) -> tuple[MeasureFinding, ...]:
        return tuple(duel.measure for duel in of_kind.get(kind, ()) if duel.a == first)

    def finding(kind: FindingKind, systems: tuple[str, ...], shown: tuple[MeasureFinding, ...]) -> Finding:
        return replace(about, kind=kind, systems=systems, measures=shown)

    first, second = sorted(systems, key=lambda own: -len({shown.name for shown in measures("better", own)}))
    if better := measures("better", first):
        against = tuple(duel.turned().measure for duel in of_kind["better"] if duel.a == second)
        yield replace(finding("better", (first, second), better), against=against, disputed=len(disputes))
    for views in dict.fromkeys(disputes.values()):
        own = [duel for duel in duels if disputes.get(duel.measure.name) == views and duel.kind in _OF_SOME]
        shown = tuple(duel.measure for duel in own if duel.a == systems[0])
        against = tuple(duel.turned().measure for duel in own if duel.a == systems[1])
        yield replace(finding(_OF_SOME[own[0].kind], systems, shown), against=against)
    for higher, lower in (systems, systems[::-1]):
        if above := measures("differ", higher):
            yield finding("differ", (higher, lower), above)
    if mixed := measures("mixed"):
        yield finding("mixed", systems, mixed)
    is_shown = bool(disputes or of_kind.keys() & {"better", "differ", "mixed"})
    if not is_shown and (unshown := measures("no difference shown")):
        yield finding("no difference shown", systems, unshown)
    unknown = measures("difference not known")
    for why in dict.fromkeys(measure.why for measure in unknown):
        if why != TOO_FEW or not of_kind.keys() - {"difference not known", "scored the same"}:
            because = tuple(measure for measure in unknown if measure.why == why)
            told = finding("difference not known", systems, because)
            yield told if why == OF_RATERS else replace(told, warning=None)
    if same := measures("scored the same"):
        yield replace(finding("scored the same", systems, same), warning=None)


#: What is said where raters disagree about which system is better, or higher.
_OF_SOME: Mapping[FindingKind, FindingKind] = {"better": "better by some", "differ": "above by some"}


def _tested_names(duels: Iterable[_Duel]) -> int:
    """How many measures were tested, each counted once, whoever rated it."""
    return len({duel.measure.name for duel in duels if duel.measure.why != _UNTESTED})


def _disputes(duels: Iterable[_Duel]) -> dict[tuple[str, str], tuple[tuple[str, ...], ...]]:
    """Measures on which one system is better, or higher, by some raters, the other by others; with who says which."""
    said: dict[tuple[str, str], tuple[tuple[str, ...], ...]] = {}
    for duel in duels:
        if duel.kind in _OF_SOME:
            said[duel.measure.name] = (*said.get(duel.measure.name, ()), (duel.measure.raters, duel.a, duel.kind))
    return {name: views for name, views in said.items() if len({view[1] for view in views}) > 1}


def _disputed(by_pair: Mapping[tuple[str, str], Sequence[_Duel]]) -> Iterator[Finding]:
    """Of many systems, on which measures raters disagree about which of two is better, or higher, and how often."""
    measures: dict[tuple[str, str], MeasureFinding] = {}
    pairs = []
    for systems, duels in by_pair.items():
        if disputes := _disputes(duels):
            pairs.append(systems)
            of_name = {duel.measure.name: duel.measure for duel in duels}
            measures |= {name: replace(_without_figure(of_name[name]), raters="") for name in disputes}
    if pairs:
        every = tuple(dict.fromkeys(system for pair in by_pair for system in pair))
        yield Finding("raters disagree", systems=every, measures=tuple(measures.values()), of=len(by_pair),
                      pairs=tuple(pairs))  # fmt: skip


def _unrated(pairs: Iterable[Comparison], groups: Mapping[str, set[str]]) -> Iterator[Finding]:
    """The measures of which systems have no rating; those that lack the same together."""
    lacking: dict[str, dict[MeasureFinding, None]] = {}
    for pair in pairs:
        of = len(groups[pair.metric])
        measure = MeasureFinding(pair.metric, pair.facts.title, raters=pair.raters if of > 1 else "", groups=of)
        for system in pair.unrated:
            lacking.setdefault(system, {})[measure] = None
    for measures in dict.fromkeys(map(tuple, lacking.values())):
        systems = tuple(system for system, own in lacking.items() if tuple(own) == measures)
        yield Finding("not rated", systems=systems, measures=measures)


def _without_figure(measure: MeasureFinding) -> MeasureFinding:
    """The measure as one of several pairs of systems, each of which has a difference of its own."""
    return replace(measure, estimate=None, low=None, high=None, figure="")


def _at_once(overall: Sequence[Overall], groups: Mapping[str, set[str]]) -> Iterator[Finding]:
    """Whether there is any difference among all systems, by the tests of all at once."""
    if not overall:
        return
    systems, tests = overall[0].systems, max(test.test.family_size or 0 for test in overall)
    tested = [test for test in overall if test.test.p_adjusted is not None and _could_show(test)]
    differing = [test for test in tested if (test.test.p_adjusted or 0.0) < ALPHA]
    kind: FindingKind = "systems differ" if differing else "no system differs"
    measures = tuple(
        MeasureFinding(test.metric, test.facts.title, n=test.test.n, of=test.of, groups=len(groups[test.metric]),
                       raters=test.raters if len(groups[test.metric]) > 1 else "")
        for test in differing or tested
    )  # fmt: skip
    if measures:
        of = len({test.metric for test in tested})
        yield Finding(kind, systems=systems, measures=measures, of=of, tests=tests)


def _could_show(test: Overall) -> bool:
    """Whether the greatest difference among matched systems could be shown: the statistic of ranks has a greatest
    value, which grows with the number of cases."""
    from scipy.special import chdtrc

    others = len(test.systems) - 1
    if not test.test.method.startswith(("Friedman", "Cochran")):
        return True
    return float(chdtrc(others, others * test.test.n)) * (test.test.family_size or 1) < ALPHA


def _standings(duels: Sequence[_Duel], about: Finding) -> Iterator[Finding]:
    """Of many systems, which one is better than every other on which measures, which is worse; and how many differ."""
    by_measure: dict[tuple[str, str], list[_Duel]] = {}
    for duel in duels:
        by_measure.setdefault((duel.measure.metric, duel.measure.raters), []).append(duel)
    systems = tuple(dict.fromkeys(system for duel in duels for system in (duel.a, duel.b)))
    ends: tuple[tuple[FindingKind, str], ...] = (("leads", "a"), ("last", "b"))
    for kind, end in ends:
        standing: dict[str, list[MeasureFinding]] = {}
        for own in by_measure.values():
            named = [getattr(duel, end) for duel in own if duel.kind in ("better", "preferred")]
            rivals = {system for duel in own for system in (duel.a, duel.b)}
            for system in dict.fromkeys(named):
                if named.count(system) == len(rivals) - 1:
                    standing.setdefault(system, []).append(_without_figure(replace(own[0].measure, why="")))
        for system, measures in sorted(standing.items(), key=lambda entry: -len(entry[1])):
            yield replace(about, kind=kind, systems=(system,), measures=tuple(measures), of=_tested_names(duels),
                          warning=None)  # fmt: skip
    differing = {frozenset((duel.a, duel.b)): (duel.a, duel.b) for duel in duels if duel.kind in SHOWN}
    of = len({frozenset((duel.a, duel.b)) for duel in duels})
    differ: list[MeasureFinding] = []
    cases: dict[int, None] = {}
    same: dict[tuple[str, ...], list[MeasureFinding]] = {}
    for own in by_measure.values():
        measure = next((duel.measure for duel in own if not duel.measure.why), own[0].measure)
        of_systems = tuple(dict.fromkeys(system for duel in own for system in (duel.a, duel.b)))
        is_same = all(duel.kind == "scored the same" for duel in own)
        (same.setdefault(of_systems, []) if is_same else differ).append(_without_figure(measure))
        if not is_same:
            cases |= dict.fromkeys(duel.measure.n for duel in own)
    if differ:
        yield replace(about, kind="pairs differ", systems=systems, measures=tuple(differ), of=of,
                      pairs=tuple(differing.values()), cases=tuple(sorted(cases)))  # fmt: skip
    for of_systems, measures in same.items():
        yield Finding("scored the same", systems=of_systems, measures=tuple(measures), of=len(systems))


def _is_told(duel: _Duel, standings: Sequence[Finding]) -> bool:
    """Whether the standings say of two systems on a measure what is shown of them."""
    return (duel.kind not in SHOWN and duel.measure.why != OF_RATERS) or any(
        finding.systems == ((duel.a,) if finding.kind == "leads" else (duel.b,))
        and any((measure.metric, measure.raters) == (duel.measure.metric, duel.measure.raters)
                for measure in finding.measures)
        for finding in standings
        if finding.kind in ("leads", "last")
    )  # fmt: skip


def _sign(pair: Comparison) -> float:
    """Which way the tested statistic points: above 0 where the first system's values tend to be higher."""
    effect = pair.test.effect
    candidates = (
        pair.test.estimate if "ratio" not in pair.test.name else None,
        effect.estimate if effect is not None and "ratio" not in effect.name else None,
        pair.difference.estimate,
    )
    return next((estimate for estimate in candidates if estimate), 0.0)


def _compared(pair: Comparison, groups: int) -> MeasureFinding:
    cases = min(pair.cases_a, pair.cases_b) if pair.paired else pair.cases_a + pair.cases_b
    measure = measured(pair.facts, pair.facts.title, pair.difference, cases, pair.entered.of)
    these = len(pair.people.raters) if pair.people is not None and pair.people.difference is None else 0
    raters = pair.raters if groups > 1 else ""
    return replace(measure, why="", figure="difference", raters=raters, groups=groups, people=these)


# -- Validation -----------------------------------------------------------------------------------------


def validation_findings(cards: Sequence[JudgeCard]) -> tuple[Finding, ...]:
    """Of each judge, where it may stand in for a person, where not, and where that isn't known."""
    kinds: tuple[tuple[FindingKind, Callable[[Validation], bool]], ...] = (
        ("may stand in", lambda validation: validation.stands_in is True),
        ("may not stand in", lambda validation: validation.stands_in is False),
        ("stand-in not known", lambda validation: validation.stands_in is None),
    )
    return tuple(
        Finding(kind, card.rater, measures=tuple(map(validated, chosen)), of=len(card.validations))
        for card in cards
        for kind, belongs in kinds
        for why in dict.fromkeys(validation.why for validation in card.validations if belongs(validation))
        if (chosen := [each for each in card.validations if belongs(each) and each.why == why])
    )


def validated(validation: Validation) -> MeasureFinding:
    """The measure with the reason of the verdict: where a decision is it, its difference from one person."""
    from bedside.stats.stand_in import CASES_NEEDED, MARGIN, cases_needed

    facts, n, of = validation.facts, validation.with_people, validation.rated
    if validation.because is None:
        kappa = validation.mean.statistics.get("kappa") if validation.mean else None
        decided = validation.decisions if validation.stands_in else ()
        tests = [test for decision in decided for test in decision.tests]
        margin = max((test.details.get(MARGIN) or 0.0 for test in tests), default=None)
        return replace(measured(facts, facts.title, kappa, n, of), why=validation.why, limit=margin)
    decision, test = validation.because
    needed = cases_needed([own for other in validation.decisions for own in other.tests])
    needed = needed or test.details.get(CASES_NEEDED)
    if needed is not None and needed <= test.n:
        needed = 0
    words = f"level {decision.words}" if decision.words.isdigit() else decision.words
    return replace(
        measured(facts, facts.title, test, n, of), figure=f"{test.name.partition(',')[0]} for {words}",
        limit=test.details.get(MARGIN), needed=None if needed is None else int(needed),
    )  # fmt: skip


# -- What lies above, below, or can't be told from none: estimates, change over length, a reference ------

#: What is claimed of a figure above zero and below it, and what is said where neither is shown, or known.
_Kinds = tuple[FindingKind, FindingKind, FindingKind, FindingKind]


def _by_sign(
    signed: Iterable[tuple[tuple[str, ...], MeasureFinding, int | None]], kinds: _Kinds, over: str = ""
) -> tuple[Finding, ...]:
    """A finding for each system, or pair of them, and each thing that is said of it; claims come first.

    Args:
        signed: the systems, the measure, and whether its figure is shown to lie above zero (1) or below it (−1),
            is not shown to (0), or not known to (None).
        kinds: what is said.
        over: as of :class:`Finding`.
    """
    rows, findings = list(signed), []
    for systems in dict.fromkeys(row[0] for row in rows):
        own = [(measure, sign) for of, measure, sign in rows if of == systems]
        for sign, kind in zip((1, -1, 0, None), kinds, strict=True):
            chosen = [measure for measure, shown in own if shown == sign]
            order = systems[::-1] if sign == -1 and kinds[0] == kinds[1] else systems
            # What isn't known is said with its reason.
            reasons = dict.fromkeys(measure.why for measure in chosen) if sign is None else [None]
            for why in reasons if chosen else ():
                measures = tuple(measure for measure in chosen if why in (None, measure.why))
                findings.append(Finding(kind, "", order, measures, of=len(own), tests=len(rows), over=over))
    return tuple(sorted(findings, key=lambda finding: finding.kind not in SHOWN))


def estimate_findings(estimates: Sequence[Estimate]) -> tuple[Finding, ...]:
    """Which systems differ once the judge is corrected by people, by intervals that hold all at once."""
    differences = [estimate for estimate in estimates if len(estimate.systems) == 2]
    signed: list[tuple[tuple[str, ...], MeasureFinding, int | None]] = []
    for difference in differences:
        corrected = difference.corrected
        measure = measured(difference.facts, difference.facts.title, corrected, difference.labelled, difference.of)
        bounds = _bounds(corrected, len(differences))
        # On which side of zero the interval lies: 0 where it holds it, None where there is none.
        sign = None if bounds is None else 1 if bounds[0] > 0 else -1 if bounds[1] < 0 else 0
        if corrected.p is not None and sign is not None:  # at every look
            sign = (1 if (corrected.estimate or 0.0) > 0 else -1) if corrected.p * len(differences) < ALPHA else 0
        if sign and owes_raters(difference.people, corrected):
            measure, sign = replace(measure, why=OF_RATERS), None
        signed.append((difference.systems, measure, sign))
    findings = _by_sign(
        signed, ("corrected difference", "corrected difference", "no corrected difference", "correction not known")
    )
    return _warned_of_raters(
        findings, (own.people for own in differences if rests_on_raters(own.people, own.corrected))
    )


def drift_findings(drift: Drift) -> tuple[Finding, ...]:
    """Which metrics rise or fall from the shortest to the longest condition, by p-values corrected together."""
    changes = [own for own in drift.changes if own.change.n]
    signed = []
    for own in changes:
        n, whole = own.cases, own.shared + own.alone_shortest + own.alone_longest
        measure = _of_raters(own, changes, own.change, n, whole, "%")
        signed.append(((own.system,), *_by_p(measure, own.change, few=n < FEWEST_CASES)))
    return _by_sign(signed, _CHANGES, f"{drift.by} {drift.shortest:g} to {drift.longest:g}")


_CHANGES: _Kinds = ("rises", "falls", "no change shown", "change not known")


def trend_findings(trends: Sequence[Trend]) -> tuple[Finding, ...]:
    """Which metrics rise or fall with the number of messages, by p-values corrected together."""
    signed = []
    for own in trends:
        result = own.correlation
        measure = _of_raters(own, trends, result, result.n, result.n + result.dropped, "ρ")
        # A test of ranks has a least p: that of one order of all that there are.
        least = 2 / factorial(result.n) * (result.family_size or 1)
        signed.append(((own.system,), *_by_p(measure, result, few=least > ALPHA)))
    return _by_sign(signed, _CHANGES, "the number of messages")


def _by_p(measure: MeasureFinding, result: Result, *, few: bool) -> tuple[MeasureFinding, int | None]:
    """The measure, and on which side of zero it is shown to lie; why that isn't known, as where cases are too few."""
    if result.p_adjusted is None or result.estimate is None:
        return measure, None
    if few:
        return replace(measure, why=TOO_FEW), None
    return measure, 0 if result.p_adjusted >= ALPHA else 1 if result.estimate > 0 else -1


def deviation_findings(deviations: Sequence[Deviation], reference: str) -> tuple[Finding, ...]:
    """Which systems' means lie above or below those of a reference corpus, by p-values corrected together."""
    from bedside.stats.families import family

    tested = family([own.difference for own in deviations], "deviations")
    signed = []
    for own, result in zip(deviations, tested, strict=True):
        measure = _of_raters(own, deviations, result, own.n, None, "")
        few = min(own.n, own.reference_n) < FEWEST_CASES
        signed.append(((own.system, reference), *_by_p(measure, result, few=few)))
    return _by_sign(signed, ("above reference", "below reference", "no deviation shown", "deviation not known"))


def _of_raters(own: Any, every: Sequence[Any], result: Result, n: int, of: int | None, figure: str) -> MeasureFinding:
    """The measure of one of several results, with its raters where several groups gave values of this metric."""
    several = len({other.raters for other in every if other.metric == own.metric}) > 1
    measure = measured(own.facts, own.facts.title, result, n, of)
    return replace(measure, figure=figure, raters=own.raters if several else "")


# -- Within a margin, and a gate ------------------------------------------------------------------------

_OF_VERDICT: Mapping[str, FindingKind] = {
    "equivalent": "alike", "not inferior": "no worse", "inferior": "worse by margin", "different": "apart by margin",
    "not shown": "margin not shown", "too few cases": "margin not known",
    "other raters": "margin not known",
}  # fmt: skip
#: What is said in place of it where neither way is better, so that only likeness can be asked.
_OF_BOTH_WAYS: Mapping[FindingKind, FindingKind] = {
    "margin not shown": "alike not shown", "margin not known": "alike not known",
}  # fmt: skip


def margin_findings(tests: Sequence[MarginTest]) -> tuple[Finding, ...]:
    """Which systems are alike, or no worse, within their margins: what is claimed holds of all of them at once."""
    kinds = [
        _OF_BOTH_WAYS.get(kind, kind) if test.better == "none" else kind
        for test, kind in zip(tests, _margin_kinds(tests), strict=True)
    ]
    findings = tuple(
        Finding(kind, "", (a, b), tuple(_within(test, tests) for test in chosen), of=len(of_pair), tests=len(tests))
        for a, b in dict.fromkeys((test.a, test.b) for test in tests)
        if (of_pair := [place for place, test in enumerate(tests) if (test.a, test.b) == (a, b)])
        for kind in (*dict.fromkeys(_OF_VERDICT.values()), *_OF_BOTH_WAYS.values())
        if (chosen := [tests[place] for place in of_pair if kinds[place] == kind])
    )
    return _warned_of_raters(findings, _designs_that_matter(tests))


def _designs_that_matter(tests: Sequence[MarginTest]) -> Iterator[RaterDesign | None]:
    """Who rated, where that may make a verdict within a margin."""
    return (test.people for test in tests if rests_on_raters(test.people, test.test, (0.0, -test.margin, test.margin)))


def _margin_kinds(tests: Sequence[MarginTest]) -> list[FindingKind]:
    """What is claimed of each test, by the p-value of its verdict, corrected by Holm over all of them."""
    from bedside.stats.families import adjusted

    corrected = adjusted([1.0 if test.p_of_verdict is None else test.p_of_verdict for test in tests])
    return [
        "margin not known"
        if test.test.n < FEWEST_CASES
        else "margin not shown"
        if test.p_of_verdict is not None and p >= ALPHA
        else _OF_VERDICT[test.verdict]
        for test, p in zip(tests, corrected, strict=True)
    ]


def _within(test: MarginTest, tests: Sequence[MarginTest]) -> MeasureFinding:
    n = test.shared if test.n_a == test.n_b == test.shared else test.n_a + test.n_b
    measure = _of_raters(test, tests, test.test, n, test.entered.of, "")
    needed = None if test.cases_needed is None or test.verdict == "other raters" else int(test.cases_needed)
    # What lies beyond the margin already, more cases would rather show.
    beyond = {"higher": -1, "lower": 1}.get(test.better, 0) * (test.test.estimate or 0.0) >= test.margin
    needed = None if beyond or (test.better == "none" and abs(test.test.estimate or 0.0) >= test.margin) else needed
    return replace(measure, limit=test.margin, needed=needed)


_OF_GATE: Mapping[FindingKind, FindingKind] = {
    "worse by margin": "fails", "apart by margin": "fails", "margin not known": "margin not known",
}  # fmt: skip


def gate_findings(gate: Gate) -> tuple[Finding, ...]:
    """Whether the system passes, doesn't, or may, and on which measures: that it passes needs all to show it, and so no
    correction; that it is worse does."""
    systems, of = (gate.system, gate.baseline), len(gate.margins) + len(gate.safety)
    by_kind: dict[FindingKind, list[MeasureFinding]] = {
        "fails safety": [], "fails": [], "passes": [], "margin not shown": [], "margin not known": [],
        "safety not known": [],
    }  # fmt: skip
    for test, kind in zip(gate.margins, _margin_kinds(gate.margins), strict=True):
        place: FindingKind = "passes" if test.is_shown else _OF_GATE.get(kind, "margin not shown")
        by_kind[place].append(_within(test, gate.margins))
    for check in gate.safety:
        transcripts = check.rated + check.unrated
        measure = MeasureFinding(check.metric, check.facts.title, n=len(check.failed), of=check.rated,
                                 why=", ".join(check.failed[:3]), limit=check.level)  # fmt: skip
        if check.failed:
            by_kind["fails safety"].append(measure)
        if check.unrated:
            by_kind["safety not known"].append(replace(measure, n=check.unrated, of=transcripts, why=""))
        elif not check.failed:
            by_kind["passes"].append(measure)
    if not by_kind["fails safety"] and not by_kind["fails"] and not gate.passed:
        unknown = [*by_kind.pop("margin not shown"), *by_kind.pop("margin not known")]
        by_kind = {"passing not known": unknown, **by_kind}
    if not gate.passed:
        del by_kind["passes"]
    findings = tuple(
        Finding(kind, "", systems, tuple(measures), of=of) for kind, measures in by_kind.items() if measures
    )
    return _warned_of_raters(findings, _designs_that_matter(gate.margins))


# -- Preferences ----------------------------------------------------------------------------------------


def preference_findings(preferences: Sequence[SystemPreferences]) -> tuple[Finding, ...]:
    """Which system is preferred by each rubric and group of raters, by p-values corrected over all of them."""
    findings: list[Finding] = []
    for own in preferences:
        tests = len(preferences) * sum(pair.difference.p is not None for pair in own.pairs)
        duels = [_preferred(own, pair, len(preferences), tests) for pair in own.pairs]
        few = any(0 < pair.cases < FEW_CASES for pair in own.pairs)
        about = Finding("preferred", own.raters, tests=tests, of=len(duels), warning="few cases" if few else None)
        standings = list(_standings(duels, about)) if len(own.systems) > 2 else []
        findings += standings
        findings += [
            replace(about, kind=duel.kind, systems=(duel.a, duel.b), measures=(duel.measure,),
                    warning=about.warning if duel.kind in SHOWN else None)
            for duel in duels
            if not standings or not _is_told(duel, standings)
        ]  # fmt: skip
    return tuple(findings)


def _preferred(own: SystemPreferences, pair: PairVerdicts, groups: int, tests: int) -> _Duel:
    measure, difference = measured(own.facts, own.facts.title, pair.wins, pair.cases, own.cases), pair.difference
    if difference.p_adjusted is None:
        why = difference.missing or "they can't be told apart"
        return _Duel("preference not known", pair.a, pair.b, replace(measure, why=why))
    if difference.p_adjusted * groups >= ALPHA or not difference.statistic:
        measure = _with_power(measure, pair.cases, None, tests)
        return _Duel("preference not known" if measure.why else "no preference shown", pair.a, pair.b, measure)
    if difference.statistic > 0:
        return _Duel("preferred", pair.a, pair.b, measure)
    turned = [None if share is None else 1 - share for share in (measure.estimate, measure.high, measure.low)]
    return _Duel("preferred", pair.b, pair.a,
                 replace(measure, estimate=turned[0], low=turned[1], high=turned[2]))  # fmt: skip
