"""Findings in English: one sentence for each kind, of at most twenty words where names are short."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from bedside.analysis.findings import FEW_CASES, FEWEST_CASES, TOO_FEW, Finding, FindingKind, MeasureFinding
from bedside.analysis.rater_effects import names_of
from bedside.analysis.ratings_view import ALL, PEOPLE
from bedside.core.words import counted
from bedside.reports.number_text import between, decimal, n_of, number, rater_words, signed

#: Measures that a sentence names one by one; and cases beyond which no study is made.
_MOST, _MOST_CASES = 3, 10_000


def sentences(findings: Iterable[Finding]) -> list[str]:
    """A sentence for each finding, and one for each warning."""
    shown = list(findings)
    warnings = dict.fromkeys(_warning(each) for each in shown if each.warning is not None)
    return [*(_SENTENCES[each.kind](each) for each in shown), *warnings]


def in_past(findings: Iterable[Finding]) -> list[str]:
    """The sentences as a paper tells them, in the past tense; without warnings. Names stay as they are."""
    past: list[str] = []
    for finding in findings:
        measures = (*finding.measures, *finding.against)
        names = [*finding.systems, rater_words(finding.raters), *(_lower(measure.title) for measure in measures)]
        kept = "|".join(map(re.escape, sorted(filter(None, names), key=len, reverse=True)))
        pattern = re.compile(rf"(?<!\w)(?:({kept})|{'|'.join(_PAST)})(?!\w)")
        sentence = _SENTENCES[finding.kind](finding).replace(_TURNED, "")
        past.append(pattern.sub(lambda found: found[1] or _PAST[found[0]], sentence))
    return past


_PAST = {
    "is": "was", "are": "were", "agree": "agreed", "agrees": "agreed", "differ": "differed", "may be": "might be",
    "may stand": "could stand", "can't": "couldn't", "reaches": "reached", "reach": "reached", "point": "pointed",
    "holds": "held", "includes": "included", "has": "had", "have": "had", "disagree": "disagreed", "score": "scored",
    "leads": "led", "disagrees": "disagreed",
}  # fmt: skip


#: Advice to whoever reads agreement below zero, which no paper prints.
_TURNED = ": a scale may be turned round"


def _joined(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _titles(measures: Sequence[MeasureFinding]) -> str:
    """The measures by name, with their raters unless these are all that there are; of many how many they are."""
    by_name: dict[tuple[str, str], list[MeasureFinding]] = {}
    for measure in measures:
        by_name.setdefault(measure.name, []).append(measure)
    if len(by_name) > _MOST:
        return f"{len(by_name)} measures"
    return _joined(
        [_lower(own[0].title) + ("" if len(own) == own[0].groups else _by(*own)) for own in by_name.values()]
    )


def _by(*measures: MeasureFinding) -> str:
    raters = [rater_words(measure.raters) for measure in measures if measure.raters]
    return f" (by {_joined(raters)})" if raters else ""


def _number_of(measures: Iterable[MeasureFinding]) -> int:
    """How many measures, each counted once, whoever rated it."""
    return len({measure.name for measure in measures})


def _lower(title: str) -> str:
    """A title within a sentence: its first letter small, unless it is an abbreviation's."""
    return title if title[1:2].isupper() else title[:1].lower() + title[1:]


def _share(finding: Finding, what: str = "measures") -> str:
    """On which measures; of many how many they are, of how many."""
    count = _number_of(finding.measures)
    if count > _MOST:
        return f"all {count} {what}" if count == finding.of else f"{count} of {finding.of} {what}"
    return _titles(finding.measures)


def _count(finding: Finding, what: str = "measures") -> str:
    """Of how many measures those are that a sentence names; nothing where it names all, or none."""
    count = _number_of(finding.measures)
    return f"{count} of {finding.of} {what}; " if count <= _MOST and count < finding.of else ""


#: What a comparison counts: not those that a system lacks, or on which all score the same.
_TESTED = "tested measures"


def _figures(measures: Sequence[MeasureFinding]) -> str:
    """The coefficient with its interval where it is one, else the least and the greatest."""
    sign = " or ".join(dict.fromkeys(measure.figure for measure in measures if measure.figure))
    known = [measure for measure in measures if measure.estimate is not None]
    if len(known) == 1:
        interval = "" if known[0].low is None else f" {between(known[0].low, known[0].high)}"
        return f"{sign} {decimal(known[0].estimate)}{interval}"
    values = [measure.estimate for measure in known if measure.estimate is not None]
    ends = dict.fromkeys((decimal(min(values)), decimal(max(values))))
    return f"{sign} {' to '.join(ends)}"


def _who(finding: Finding) -> str:
    return f"{rater_words(finding.raters)} agrees with people" if finding.raters else "People agree"


def _agree(finding: Finding) -> str:
    figures = _count(finding) + _figures(finding.measures)
    return f"{_who(finding)} at least moderately on {_share(finding)} ({figures})."


def _agree_barely(finding: Finding) -> str:
    figures = _count(finding) + _figures(finding.measures)
    if all((measure.high if measure.high is not None else 0) < 0 for measure in finding.measures):
        who = _who(finding).replace(" agree", " disagree", 1)
        return f"{who} on {_share(finding)} ({figures}){_TURNED}."
    return f"{_who(finding)} fairly at best on {_share(finding)} ({figures})."


def _asked_how_well(finding: Finding) -> str:
    who = f"{rater_words(finding.raters)} agrees with people" if finding.raters else "people agree"
    return f"How well {who} on {_titles(finding.measures)}"


def _agreement_not_known(finding: Finding) -> str:
    if all(measure.low is None for measure in finding.measures):
        return f"{_asked_how_well(finding)} is not known: {_why_not_known(finding)}."
    beside = "" if finding.of == 1 else f" once widened for {finding.of} measures"
    if len(finding.measures) == 1:
        return f"{_asked_how_well(finding)} is not settled: {_figures(finding.measures)} reaches across .40{beside}."
    return f"{_asked_how_well(finding)} is not settled: intervals reach across .40{beside}."


def _never_differ(finding: Finding) -> str:
    who = f"{rater_words(finding.raters)} and people" if finding.raters else "People"
    return f"{who} never differ on {_titles(finding.measures)}; how far that holds in general is not known."


def _too_few_cases(finding: Finding) -> str:
    return f"{_asked_how_well(finding)} is not known: there are fewer than {FEWEST_CASES} cases."


def _nobody_twice(finding: Finding) -> str:
    return f"Agreement on {_titles(finding.measures)} is not known: no two people rated the same."


def _tested(finding: Finding) -> str:
    span = _span(measure.n for measure in (*finding.measures, *finding.against))
    return f"({span} {'case' if span == '1' else 'cases'}{_over_tests(finding, '; ')})"


def _over_tests(finding: Finding, before: str = "") -> str:
    """Over how many tests p is corrected, where there are several."""
    return f"{before}p corrected over {finding.tests:,} tests" if finding.tests > 1 else ""


def _better(finding: Finding) -> str:
    first, second = finding.systems
    share, count = _share(finding, _TESTED), _count(finding, _TESTED).rstrip("; ")
    share += f", {count}," if count else ""
    worse = f" and worse on {_titles(finding.against)}" if finding.against else " and worse on none"
    # Whether it is worse wasn't asked, or that is said of each group of raters.
    if (finding.alternative or finding.disputed) and not finding.against:
        worse, share = "", share.rstrip(",")
    return f"{first} is better than {second} on {share}{worse} {_tested(finding)}."


def _differ(finding: Finding) -> str:
    first, second = finding.systems
    known = "whether higher is better there is not known"
    return f"{first} is above {second} on {_titles(finding.measures)}; {known} {_tested(finding)}."


def _mixed(finding: Finding) -> str:
    first, second = finding.systems
    return (
        f"{first} and {second} differ on {_titles(finding.measures)}, but means and the test point different ways "
        f"{_tested(finding)}."
    )


def _raters_disagree(finding: Finding) -> str:
    (first, second), measures = finding.systems, _titles([replace(own, raters="") for own in finding.measures])
    by_first, by_second = (
        _joined(list(dict.fromkeys(rater_words(measure.raters) for measure in own)))
        for own in (finding.measures, finding.against)
    )
    which = finding.kind.partition(" ")[0]
    return f"Raters disagree on {measures}: by {by_first} {first} is {which}, by {by_second} {second}."


def _scored_the_same(finding: Finding) -> str:
    systems = finding.systems
    who = f"All {len(systems)} systems" if 2 < len(systems) >= finding.of else _joined(systems)
    return f"{who} score the same on {_titles(finding.measures)}: nothing to test."


def _many_disagree(finding: Finding) -> str:
    where = f"in {len(finding.pairs)} of {finding.of} pairs"
    return f"Raters disagree on {_titles(finding.measures)} about which system is better or higher, {where}."


def _not_rated(finding: Finding) -> str:
    has = "has" if len(finding.systems) == 1 else "have"
    return f"{_joined(finding.systems)} {has} no rating of {_titles(finding.measures)}."


def _no_difference(finding: Finding) -> str:
    first, second = finding.systems
    if finding.alternative:
        way = "above" if finding.alternative == "greater" else "below"
        return f"That {first} is {way} {second} is not shown on {_titles(finding.measures)} {_tested(finding)}."
    return f"No difference between {first} and {second} is shown on {_titles(finding.measures)} {_tested(finding)}."


def _difference_not_known(finding: Finding) -> str:
    first, second = finding.systems
    asked = f"Whether {first} and {second} differ on {_titles(finding.measures)} is not known"
    return f"{asked}: {_why_not_known(finding)}."


def _span(numbers: Iterable[int | None]) -> str:
    """The least and the greatest of some counts."""
    known = sorted({each for each in numbers if each is not None})
    return f"{known[0]:,}" if len(known) == 1 else f"{known[0]:,} to {known[-1]:,}"


def _why_not_known(finding: Finding) -> str:
    """Why nothing can be shown; of too few cases how many there are, and how many could."""
    why, measures = finding.measures[0].why, [measure for measure in finding.measures if measure.why]
    if why != TOO_FEW:
        return why or "there is no interval"
    cases = _span(measure.n for measure in measures)
    few = f"{cases} {'case is' if cases == '1' else 'cases are'} too few"
    needed = max((measure.needed or 0 for measure in measures), default=0)
    over = f"{finding.tests} tests need" if finding.tests > 1 else "the test needs"
    return f"{few}; {over} at least {needed}" if needed else few


def _may_stand_in(finding: Finding) -> str:
    count = f"{len(finding.measures)} of {finding.of} measures; " if len(finding.measures) < finding.of else ""
    margins = [measure.limit for measure in finding.measures if measure.limit is not None]
    within = f"no worse by more than {decimal(max(margins))} in any decision; " if margins else ""
    units = _span(measure.n for measure in finding.measures)
    return (
        f"{rater_words(finding.raters)} may stand in for one of these people on {_titles(finding.measures)} "
        f"({count}{within}{units} units)."
    )


def _with_reasons(finding: Finding, begin: str) -> str:
    return f"{begin} {_titles(finding.measures)}: {stand_in_reason(finding.measures)}."


def stand_in_reason(measures: Sequence[MeasureFinding]) -> str:
    """Why something isn't claimed: in words as given, or by how far a judge lies from one person in a decision."""
    first = measures[0]
    most = max((measure.needed or 0 for measure in measures), default=0)
    needed = f"; about {most:,} cases could show it, were it as good as one" if 0 < most <= _MOST_CASES else ""
    if first.limit is None:
        return first.why or "there is no interval"
    if measures[1:]:
        margin = max(measure.limit or 0.0 for measure in measures)
        return f"in some decision it is not shown to be within {decimal(margin)} of one person{needed}"
    if first.low is None:
        return f"its {first.figure} {first.why.removeprefix('it ')}{needed}"
    interval = f"90 % interval {between(first.low, first.high)}"
    is_worse = first.high is not None and first.high < -first.limit
    of, others = ("one person's", "its own") if first.figure.startswith("loss") else ("its", "one person's")
    beside = f"{of} {first.figure} minus {others} is {decimal(first.estimate)}, {interval}"
    few = f", but {first.why}" if first.why else ""
    return f"{beside}, margin {decimal(first.limit)}{few}{'' if is_worse else needed}"


def _may_not_stand_in(finding: Finding) -> str:
    return _with_reasons(finding, f"{rater_words(finding.raters)} may not stand in for one of these people on")


def _stand_in_not_known(finding: Finding) -> str:
    return _with_reasons(finding, f"Whether {rater_words(finding.raters)} may stand in is not known on")


def _corrected(finding: Finding) -> str:
    first, second = finding.systems
    words = [f"{_lower(measure.title)} (by {_size(measure)})" for measure in finding.measures[:_MOST]]
    more = f" and {len(finding.measures) - _MOST} more measures" if len(finding.measures) > _MOST else ""
    return f"Corrected by people, {first} is above {second} on {_joined(words)}{more}."


def _size(measure: MeasureFinding) -> str:
    """How large a difference is, and its interval, whichever of the two systems is above."""
    ends = [] if measure.low is None or measure.high is None else sorted((measure.low, measure.high), key=abs)
    interval = f" [{', '.join(number(abs(end)) for end in ends)}]" if ends else ""
    return f"{number(abs(measure.estimate or 0.0))}{interval}"


def _no_corrected(finding: Finding) -> str:
    first, second = finding.systems
    shown = f"Corrected by people, no difference between {first} and {second} is shown on"
    if len(finding.measures) > _MOST:
        return f"{shown} {_titles(finding.measures)}."
    figures = _joined([f"{_lower(each.title)} ({_difference(each)})" for each in finding.measures])
    alone = any((each.low or 0) * (each.high or 0) > 0 for each in finding.measures)
    return f"{shown} {figures}{f', once intervals are widened for {finding.tests} differences' if alone else ''}."


def _correction_not_known(finding: Finding) -> str:
    first, second = finding.systems
    return _with_reasons(finding, f"How {first} and {second} differ once corrected by people is not known on")


# -- Three systems or more ------------------------------------------------------------------------------


def _systems_differ(finding: Finding) -> str:
    about = (_count(finding, _TESTED) + _over_tests(finding)).removesuffix("; ")
    return f"The {len(finding.systems)} systems differ on {_share(finding, _TESTED)}{about and f' ({about})'}."


def _no_system_differs(finding: Finding) -> str:
    on = f"any of {finding.of} {_TESTED}" if finding.of > _MOST else _titles(finding.measures)
    tests = _over_tests(finding)
    return f"No difference among the {len(finding.systems)} systems is shown on {on}{tests and f' ({tests})'}."


def _leads(finding: Finding) -> str:
    by = f" by {rater_words(finding.raters)}" if finding.raters else ""
    count = f", {_count(finding, _TESTED).rstrip('; ')}" if _count(finding) else ""
    place = "leads all others" if finding.kind == "leads" else "is last, below all others,"
    return f"{finding.systems[0]} {place} on {_share(finding, _TESTED)}{by}{count}."


def _pairs_differ(finding: Finding) -> str:
    by = f" by {rater_words(finding.raters)}" if finding.raters else ""
    count = _number_of(finding.measures)
    on = _titles(finding.measures) + by if count == 1 else f"at least one of {count} {_TESTED}"
    if finding.pairs:
        differ = "differs" if len(finding.pairs) == 1 else "differ"
        if len(finding.pairs) == finding.of:
            return f"All {finding.of} pairs of systems differ on {on} {_tested(finding)}."
        return f"Of {finding.of} pairs of systems, {len(finding.pairs)} {differ} on {on} {_tested(finding)}."
    if all(measure.why for measure in finding.measures):
        return f"Which of the {len(finding.systems)} systems differ is not known: {_why_not_known(finding)}."
    return f"No single pair of systems is shown to differ on {on} {_tested(finding)}."


# -- Preferences ----------------------------------------------------------------------------------------


def _wins(finding: Finding) -> str:
    measure = finding.measures[0]
    interval = "" if measure.low is None else f" {between(measure.low, measure.high)}"
    cases = f"{n_of(measure.n, measure.of)} cases{_over_tests(finding, '; ')}"
    return f"{decimal(measure.estimate)}{interval} of the wins, {cases}"


def _on_rubric(finding: Finding) -> str:
    return f"{_titles(finding.measures)} by {rater_words(finding.raters)}"


def _is_preferred(finding: Finding) -> str:
    first, second = finding.systems
    return f"{first} is preferred to {second} on {_on_rubric(finding)} ({_wins(finding)})."


def _no_preference(finding: Finding) -> str:
    first, second = finding.systems
    shown = f"No preference between {first} and {second} is shown on {_on_rubric(finding)}"
    return f"{shown} ({first} has {_wins(finding)})."


def _preference_not_known(finding: Finding) -> str:
    first, second = finding.systems
    asked = f"Whether {first} or {second} is preferred on {_on_rubric(finding)} is not known"
    return f"{asked}: {_why_not_known(finding)}."


# -- Within a margin, and a gate ------------------------------------------------------------------------


def _margins(measures: Sequence[MeasureFinding]) -> str:
    """The measures, each with its difference, interval, margin and cases; of many their number."""
    if len(measures) > _MOST:
        return f"{len(measures)} measures"
    return _joined([
        f"{_lower(measure.title)}{_by(measure)} ({_difference(measure)}, margin {measure.limit:g}; "
        f"{n_of(measure.n, measure.of)} {'case' if measure.n == 1 else 'cases'})"
        for measure in measures
    ])  # fmt: skip


def _difference(measure: MeasureFinding) -> str:
    if measure.estimate is None:
        return "no difference"
    interval = "" if measure.low is None else f" [{number(measure.low)}, {number(measure.high)}]"
    return f"{number(measure.estimate)}{interval}"


def _needed(measures: Sequence[MeasureFinding]) -> str:
    """How many cases would answer it, where that is known."""
    known = [measure.needed for measure in measures]
    return f"; {_span(known)} cases could show it" if any(known) else ""


def _of_margin(begin: str) -> Callable[[Finding], str]:
    """What makes a sentence of two systems within margins."""

    def sentence(finding: Finding) -> str:
        first, second = finding.systems
        needed = _needed(finding.measures) if finding.kind in ("margin not known", "alike not known") else ""
        if finding.kind.startswith("alike not"):
            needed += "; which way is better there is not known"
        return f"{begin.format(first, second)} {_margins(finding.measures)}{needed}."

    return sentence


def _passes(finding: Finding) -> str:
    first, second = finding.systems
    margins = [measure for measure in finding.measures if measure.low is not None]
    safe = [measure for measure in finding.measures if measure.low is None]
    begin = f"{first} passes: it is no worse than {second} on {_margins(margins)}" if margins else f"{first} passes"
    rated = max((measure.of or 0 for measure in safe), default=0)
    safety = f"; none of {counted(rated, 'transcript')} fails on {_titles(safe)}" if safe else ""
    return f"{begin}{safety}."


def _fails_safety(finding: Finding) -> str:
    parts = [
        f"{n_of(measure.n, measure.of)} {'transcript' if measure.of == 1 else 'transcripts'} "
        f"{'fails' if measure.n == 1 else 'fail'} on {_lower(measure.title)} ({measure.why}"
        f"{' …' if measure.n > measure.why.count(',') + 1 else ''})"
        for measure in finding.measures
    ]
    return f"{finding.systems[0]} does not pass: {_joined(parts)}."


def _passing_not_known(finding: Finding) -> str:
    first, second = finding.systems
    asked = f"Whether {first} passes is not known: that it is no worse than {second} is not shown on"
    return f"{asked} {_margins(finding.measures)}{_needed(finding.measures)}."


def _safety_not_known(finding: Finding) -> str:
    parts = [
        f"{n_of(measure.n, measure.of)} transcripts have no rating of {_lower(measure.title)}"
        for measure in finding.measures
    ]
    return f"{finding.systems[0]} can't pass yet: {_joined(parts)}."


# -- Change over length, and a reference ----------------------------------------------------------------


def _figured(measures: Sequence[MeasureFinding]) -> str:
    """The measures, each with its figure, interval and cases or transcripts; of many their number."""
    if len(measures) > _MOST:
        return f"{len(measures)} measures"
    return _joined([f"{_lower(measure.title)}{_by(measure)} ({_figure(measure)})" for measure in measures])


def _figure(measure: MeasureFinding) -> str:
    """A figure with its interval, and what it rests on."""
    if measure.figure == "ρ":
        return f"{_figures([measure])}; {n_of(measure.n, measure.of)} transcripts"
    digits, unit = (0, " %") if measure.figure == "%" else (2, "")
    interval = "" if measure.low is None else f" [{signed(measure.low, digits)}, {signed(measure.high, digits)}]"
    return f"{signed(measure.estimate, digits)}{unit}{interval}; {n_of(measure.n, measure.of)} cases"


def _in_system(finding: Finding) -> str:
    return "" if finding.systems[0] == ALL else f" in {finding.systems[0]}"


def _over(finding: Finding) -> str:
    return f"from {finding.over}" if finding.measures[0].figure == "%" else f"with {finding.over}"


def _changes(finding: Finding) -> str:
    first = finding.measures[0]
    if len(finding.measures) == 1:
        where = f"{_over(finding)}{_in_system(finding)}"
        return f"{first.title}{_by(first)} {finding.kind} {where}: {_figure(first)}."
    words = f"{_figured(finding.measures)} {finding.kind.removesuffix('s')} {_over(finding)}{_in_system(finding)}."
    return words[:1].upper() + words[1:]


def _widened(finding: Finding) -> str:
    """Why an interval that leaves out zero shows nothing."""
    alone = any(measure.low is not None and measure.high is not None and measure.low * measure.high > 0
                for measure in finding.measures)  # fmt: skip
    return _over_tests(finding, ", with ") if alone else ""


def _no_change(finding: Finding) -> str:
    where = f"{_over(finding)} is shown{_in_system(finding)}"
    return f"No change {where} on {_figured(finding.measures)}{_widened(finding)}."


def _change_not_known(finding: Finding) -> str:
    verb = "changes" if len(finding.measures) == 1 else "change"
    asked = f"Whether {_titles(finding.measures)} {verb} {_over(finding)}{_in_system(finding)} is not known"
    return f"{asked}: {_why_not_known(finding)}."


def _beside_reference(finding: Finding) -> str:
    first, second = finding.systems
    words = {"above reference": "{} lies above {} on", "below reference": "{} lies below {} on"}
    begin = words.get(finding.kind, "No deviation of {} from {} is shown on").format(first, second)
    widened = _widened(finding) if finding.kind == "no deviation shown" else ""
    return f"{begin} {_figured(finding.measures)}{widened}."


def _deviation_not_known(finding: Finding) -> str:
    first, second = finding.systems
    return _with_reasons(finding, f"How far {first} lies from {second} is not known on")


# -- One number -----------------------------------------------------------------------------------------


def _number(finding: Finding) -> str:
    measure = finding.measures[0]
    of = f" of {' − '.join(finding.systems)}" if finding.systems else ""
    what = "" if measure.figure in ("mean", "value", "difference") else f" ({measure.figure})"
    interval = "" if measure.low is None else f" [{number(measure.low)}, {number(measure.high)}]"
    basis = "the mean of " if measure.figure == "mean" else "from "
    unit = "cases" if len(finding.systems) == 2 else "transcripts" if finding.systems else "units"
    raters = [rater_words(rater) for rater in finding.raters.split(", ") if ":" in rater or rater == PEOPLE]
    by = f", rated by {_joined(raters)}" if raters else ""
    missing = ""
    if measure.of is not None and measure.of > measure.n:
        missing = f"; {measure.of - measure.n:,} missing" + (f" ({measure.why})" if measure.why else "")
    number_of = f"{measure.title}{of}{what} is {number(measure.estimate)}{interval}"
    return f"{number_of}: {basis}{n_of(measure.n, measure.of)} {unit}{by}{missing}."


_SENTENCES: Mapping[FindingKind, Callable[[Finding], str]] = {
    "agree": _agree, "agree barely": _agree_barely, "agreement not known": _agreement_not_known,
    "never differ": _never_differ, "too few cases": _too_few_cases, "nobody twice": _nobody_twice, "better": _better,
    "no difference shown": _no_difference, "difference not known": _difference_not_known, "differ": _differ,
    "mixed": _mixed, "better by some": _raters_disagree, "above by some": _raters_disagree,
    "raters disagree": _many_disagree,
    "scored the same": _scored_the_same, "not rated": _not_rated, "may stand in": _may_stand_in,
    "may not stand in": _may_not_stand_in, "stand-in not known": _stand_in_not_known,
    "corrected difference": _corrected, "no corrected difference": _no_corrected,
    "correction not known": _correction_not_known, "systems differ": _systems_differ,
    "no system differs": _no_system_differs, "leads": _leads, "last": _leads, "pairs differ": _pairs_differ,
    "preferred": _is_preferred, "no preference shown": _no_preference, "preference not known": _preference_not_known,
    "alike": _of_margin("{} and {} are alike within the margin on"),
    "no worse": _of_margin("{} is no worse than {} by the margin on"),
    "worse by margin": _of_margin("{} is worse than {} by more than the margin on"),
    "apart by margin": _of_margin("{} and {} lie further apart than the margin on"),
    "margin not shown": _of_margin("That {} is no worse than {} is not shown on"),
    "margin not known": _of_margin("Whether {} is no worse than {} is not known on"), "passes": _passes,
    "alike not shown": _of_margin("That {} and {} are alike within the margin is not shown on"),
    "alike not known": _of_margin("Whether {} and {} are alike within the margin is not known on"),
    "fails": _of_margin("{} does not pass: it is worse than {} by more than the margin on"),
    "fails safety": _fails_safety, "passing not known": _passing_not_known, "safety not known": _safety_not_known,
    "rises": _changes, "falls": _changes, "no change shown": _no_change, "change not known": _change_not_known,
    "above reference": _beside_reference, "below reference": _beside_reference,
    "no deviation shown": _beside_reference, "deviation not known": _deviation_not_known, "number": _number,
}  # fmt: skip


def _warning(finding: Finding) -> str:
    others = finding.other_raters
    if others is None:
        return f"Fewer than {FEW_CASES} cases enter: the intervals are rough."
    only = [f"{names_of(people)} rated only {system}" for system, people in zip(others.systems, others.only,
            strict=True) if people]  # fmt: skip
    who = _joined(only) if only else f"{100 * others.share:.0f} % of the ratings are not by the same people"
    shift = "how much that matters can't be told: they share no ratings"
    if others.shift is not None:
        higher, lower = others.systems if others.shift >= 0 else others.systems[::-1]
        shift = f"that alone adds {number(abs(others.shift))} to {higher} − {lower}"
    more = f" (and {counted(others.measures - 1, 'more row')})" if others.measures > 1 else ""
    return f"{who} on {_lower(others.title)}; {shift}{more}."
