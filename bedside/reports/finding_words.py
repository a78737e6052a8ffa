"""Findings in English: one sentence for each kind, of at most twenty words where names are short."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from string import Formatter

from bedside.analysis.findings import FEW_CASES, FEWEST_CASES, TOO_FEW, Finding, FindingKind, MeasureFinding
from bedside.analysis.rater_effects import names_of
from bedside.analysis.ratings_view import ALL, PEOPLE
from bedside.core.words import counted, visible_line
from bedside.reports.number_text import between, decimal, n_of, number, rater_words, signed

#: Measures that a sentence names one by one; and cases beyond which no study is made.
_MOST, _MOST_CASES = 3, 10_000


def sentences(findings: Iterable[Finding]) -> list[str]:
    """A sentence for each finding, and one for each warning."""
    shown = list(findings)
    warnings = dict.fromkeys(_warning(each) for each in shown if each.warning is not None)
    return list(map(visible_line, [*(_SENTENCES[each.kind](each) for each in shown), *warnings]))


def in_past(findings: Iterable[Finding]) -> list[str]:
    """The sentences as a paper tells them, in the past tense; without warnings. Names stay as they are."""
    past: list[str] = []
    for finding in findings:
        measures = (*finding.measures, *finding.against)
        names = [*finding.systems, rater_words(finding.raters), *(_lower(measure.title) for measure in measures)]
        kept = "|".join(map(re.escape, sorted(filter(None, names), key=len, reverse=True)))
        pattern = re.compile(rf"(?<!\w)(?:({kept})|{'|'.join(_PAST)})(?!\w)")
        sentence = _SENTENCES[finding.kind](finding).replace(_TURNED, "")
        past.append(visible_line(pattern.sub(lambda found: found[1] or _PAST[found[0]], sentence)))
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


def _tested(finding: Finding) -> str:
    measures = (*finding.measures, *finding.against)
    span = _span(finding.cases or (measure.n for measure in measures))
    return f"({span} {'case' if span == '1' else 'cases'}{_for_these(measures)}{_over_tests(finding, '; ')})"


def _for_these(measures: Sequence[MeasureFinding]) -> str:
    """For how many people what people say holds, where it is for these alone; nothing where others say it all."""
    people = [measure.people for measure in measures if measure.people]
    if not people:
        return ""
    who = "" if len(people) == len(measures) else "by people, "
    return f"; {who}for {'this rater' if max(people) == 1 else f'these {_span(people)} raters'}"


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
    within = "by ω alone, as these numbers have no levels; "
    if margins:
        within = f"no worse by more than {decimal(max(margins))} in any decision; "
    units = _span(measure.n for measure in finding.measures)
    return (
        f"{rater_words(finding.raters)} may stand in for one of these people on {_titles(finding.measures)} "
        f"({count}{within}{units} units)."
    )


def stand_in_reason(measures: Sequence[MeasureFinding]) -> str:
    """Why something isn't claimed: in words as given, or by how far a judge lies from one person in a decision."""
    first = measures[0]
    most = max((measure.needed or 0 for measure in measures), default=0)
    needed = f"; about {most:,} cases could show it, were it as good as one person" if 0 < most <= _MOST_CASES else ""
    if not most and any(measure.needed == 0 for measure in measures):
        needed = "; 80 % of studies as large would show it, were it as good as one person"
    if first.limit is None:
        return first.why or "there is no interval"
    if measures[1:]:
        margin = max(measure.limit or 0.0 for measure in measures)
        return f"in some decision it is not shown to be within {decimal(margin)} of one person{needed}"
    if first.low is None:
        return f"its {first.figure} {first.why.removeprefix('it ')}{needed}"
    # Two decimals may put an end of the interval on the margin that lies beyond it.
    digits = 3 if number(first.low) == number(-first.limit) else 2
    interval = f"90 % interval {between(first.low, first.high, digits)} of the difference"
    is_worse = first.high is not None and first.high < -first.limit
    apart = round(first.estimate or 0.0, 2)
    beside = f"{decimal(abs(apart))} {'worse' if apart < 0 else 'better'} than" if apart else "equal to"
    few = f", but {first.why}" if first.why else ""
    said = f"its {first.figure} is {beside} one person's ({interval}, which must lie above {decimal(-first.limit)})"
    return f"{said}{few}{'' if is_worse else needed}"


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
    return "no difference" if measure.estimate is None else _bounded(measure)


def _bounded(measure: MeasureFinding) -> str:
    """A measure's figure with its interval, where it has one, in its own unit."""
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


# -- One number -----------------------------------------------------------------------------------------


def _number(finding: Finding) -> str:
    measure = finding.measures[0]
    of = f" of {' − '.join(finding.systems)}" if finding.systems else ""
    what = "" if measure.figure in ("mean", "value", "difference") else f" ({measure.figure})"
    basis = "the mean of " if measure.figure == "mean" else "from "
    by_case = finding.over == "cases" or len(finding.systems) == 2
    unit = "cases" if by_case else "transcripts" if finding.systems else "units"
    if (measure.of or measure.n) == 1:
        unit = unit.removesuffix("s")
    raters = [rater_words(rater) for rater in finding.raters.split(", ") if ":" in rater or rater == PEOPLE]
    by = f", rated by {_joined(raters)}" if raters else ""
    missing = ""
    if measure.of is not None and measure.of > measure.n:
        missing = f"; {measure.of - measure.n:,} missing" + (f" ({measure.why})" if measure.why else "")
    number_of = f"{measure.title}{of}{what} is {_bounded(measure)}"
    return f"{number_of}: {basis}{n_of(measure.n, measure.of)} {unit}{by}{missing}."


def _look(finding: Finding) -> str:
    ratings, *waiting = finding.measures
    hold = {"a look": "for one look.", "one look": "for one look. Add --looks.",
            "every look": "at every look, for these raters."}[finding.kind]  # fmt: skip
    transcripts = counted(waiting[0].n, "transcript") if waiting else ""
    if ratings.of is None:
        fewer = f" Fewer raters than others: {transcripts}; a later look may move them." if waiting else ""
        return f"Intervals hold {hold}{fewer}"
    left_out = f" Left out while answers are open: {transcripts}." if waiting else ""
    answers = f"{n_of(ratings.n, ratings.of)} planned answers are in"
    return f"A look at a running study: {answers}; intervals hold {hold}{left_out}"


def _enough(finding: Finding) -> str:
    (items,) = finding.measures
    return f"People stopped when it was precise enough: {n_of(items.n, items.of)} items have all their ratings."


def _judge_change(finding: Finding) -> str:
    """A judge's change on a rubric with its interval."""
    (measure,) = finding.measures
    bounds = "" if measure.low is None else f" [{signed(measure.low, 2)}, {signed(measure.high, 2)}]"
    return f"{signed(measure.estimate, 2)}{bounds}"


def _judge_changed(finding: Finding) -> str:
    (measure,) = finding.measures
    who, title = rater_words(finding.raters), _lower(measure.title)
    what = "its mean level changed by" if measure.figure == "level" else "the share of one label changed by"
    return (
        f"{who} has changed on {title}: {what} {_judge_change(finding)}. "
        "Have it judge everything again, or keep its versions apart."
    )


def _numbers_moved(finding: Finding) -> str:
    numbers = [f"{measure.title} {number(measure.limit)} → {_bounded(measure)}" for measure in finding.measures[:_MOST]]
    return f"If it judged everything now: {'; '.join(numbers)}."


def _judge_same(finding: Finding) -> str:
    (measure,) = finding.measures
    return (
        f"{rater_words(finding.raters)} rates {_lower(measure.title)} as before, within ± {number(measure.limit)} "
        f"({_judge_change(finding)}). New ratings may stand beside the old."
    )


def _judge_not_known(finding: Finding) -> str:
    (measure,) = finding.measures
    more = "" if (measure.needed or 0) <= measure.n else f"; about {measure.needed:,} anchors would tell"
    return (
        f"Whether {rater_words(finding.raters)} has changed on {_lower(measure.title)} is not known "
        f"({_judge_change(finding)}, {counted(measure.n, 'anchor')}{more}). Keep old and new ratings apart."
    )


def _percent(measure: MeasureFinding) -> str:
    ends = [100 * (end or 0.0) for end in (measure.estimate, measure.low, measure.high)]
    return "{:.0f} % [{:.0f}, {:.0f}]".format(*ends)


def _right_by_agreement(finding: Finding) -> str:
    best, worst = finding.measures[0], finding.measures[-1]
    return (
        f"By agreement alone, {rater_words(best.raters)} is right most often on {_lower(best.title)} "
        f"({_percent(best)}), {rater_words(worst.raters)} least ({_percent(worst)})."
    )


def _right_by_people(finding: Finding) -> str:
    off = [own for own in finding.measures if not (own.low or 0.0) <= (own.limit or 0.0) <= (own.high or 0.0)]
    title = _lower(finding.measures[0].title)
    if not off:
        return f"People's ratings don't speak against it on {title}: their intervals hold all {len(finding.measures)}."
    far = max(off, key=lambda own: abs((own.estimate or 0.0) - (own.limit or 0.0)))
    lower = "less" if (far.estimate or 0.0) < (far.limit or 0.0) else "more"
    return (
        f"People's ratings speak against it on {title}: by them, {rater_words(far.raters)} is right {lower} often "
        f"({_percent(far)}, not {100 * (far.limit or 0.0):.0f} %)."
    )


def _settles(finding: Finding) -> str:
    *judges, people = finding.measures
    settled = _in_turn(judges, "settles", lambda own: f"{100 * (own.estimate or 0.0):.0f} %")
    bounds = [own.high for own in judges if own.high is not None]
    cost = ""
    if people.limit is not None:
        more = round(100 * (people.limit - 1))
        beside = f"{abs(more)} % {'more' if more > 0 else 'less'} than" if more else "as much as"
        cost = f", and all judges together cost {beside} it alone on all units"
    return (
        f"On {_lower(people.title)}, {settled}; people get {100 * (people.estimate or 0.0):.0f} %. Of what judges "
        f"settle, people disagree with at most {100 * max(bounds):.0f} %. {rater_words(judges[-1].raters)} is asked "
        f"about {100 * (judges[-1].limit or 0.0):.0f} % of {counted(people.n, 'labelled unit')}{cost}."
    )


def _in_turn(judges: Iterable[MeasureFinding], verb: str, figure: Callable[[MeasureFinding], str]) -> str:
    """The figures of judges, the verb once."""
    words = [f"{rater_words(own.raters)} {verb if not place else ''} {figure(own)}" for place, own in enumerate(judges)]
    return _joined([" ".join(each.split()) for each in words])


def _settles_nothing(finding: Finding) -> str:
    people = finding.measures[-1]
    return (
        f"On {_lower(people.title)} no judge can be left alone: no threshold keeps the bound on {people.n} labelled "
        "units. More labels, or more disagreement tolerated, may change that."
    )


def _routed(finding: Finding) -> str:
    *judges, people = finding.measures
    settled = _in_turn(judges, "settled", lambda own: f"{own.n:,}")
    waiting = f" {finding.of:,} wait for an answer: the same command asks for it." if finding.of else ""
    left = {0: "none is", 1: "1 is"}.get(people.n, f"{people.n:,} are")
    return f"Of {counted(people.of or 0, 'unit')} on {_lower(people.title)}, {settled}; {left} left to people.{waiting}"


#: What stands in a template for its names.
_NAMES: Mapping[str, Callable[[Finding], str]] = {
    "first": lambda finding: finding.systems[0],
    "second": lambda finding: finding.systems[1],
    "rater": lambda finding: rater_words(finding.raters),
    "titles": lambda finding: _titles(finding.measures),
    "margins": lambda finding: _margins(finding.measures) + _needed(finding.measures),
    "how_well": _asked_how_well,
    "tested": _tested,
    "wins": _wins,
    "why": _why_not_known,
    "reason": lambda finding: stand_in_reason(finding.measures),
}


def _worded(template: str) -> Callable[[Finding], str]:
    """What makes a sentence by a template, whose names are of :data:`_NAMES`."""
    names = [name for _, name, *_ in Formatter().parse(template) if name]
    return lambda finding: template.format(**{name: _NAMES[name](finding) for name in names})


_SENTENCES: Mapping[FindingKind, Callable[[Finding], str]] = {
    "agree": _agree, "agree barely": _agree_barely, "agreement not known": _agreement_not_known,
    "never differ": _never_differ,
    "too few cases": _worded(f"{{how_well}} is not known: there are fewer than {FEWEST_CASES} cases."),
    "nobody twice": _worded("Agreement on {titles} is not known: no two people rated the same."),
    "better": _better, "no difference shown": _no_difference,
    "difference not known": _worded("Whether {first} and {second} differ on {titles} is not known: {why}."),
    "differ": _worded("{first} is above {second} on {titles}; whether higher is better there is not known {tested}."),
    "mixed": _worded("{first} and {second} differ on {titles}, but means and the test point different ways {tested}."),
    "better by some": _raters_disagree, "above by some": _raters_disagree,
    "raters disagree": _many_disagree,
    "scored the same": _scored_the_same, "not rated": _not_rated, "may stand in": _may_stand_in,
    "may not stand in": _worded("{rater} may not stand in for one of these people on {titles}: {reason}."),
    "stand-in not known": _worded("Whether {rater} may stand in is not known on {titles}: {reason}."),
    "corrected difference": _corrected, "no corrected difference": _no_corrected,
    "correction not known": _worded(
        "How {first} and {second} differ once corrected by people is not known on {titles}: {reason}."
    ),
    "systems differ": _systems_differ,
    "no system differs": _no_system_differs, "leads": _leads, "last": _leads, "pairs differ": _pairs_differ,
    "preferred": _worded("{first} is preferred to {second} on {titles} by {rater} ({wins})."),
    "no preference shown": _worded(
        "No preference between {first} and {second} is shown on {titles} by {rater} ({first} has {wins})."
    ),
    "preference not known": _worded(
        "Whether {first} or {second} is preferred on {titles} by {rater} is not known: {why}."
    ),
    "alike": _of_margin("{} and {} are alike within the margin on"),
    "no worse": _of_margin("{} is no worse than {} by the margin on"),
    "worse by margin": _of_margin("{} is worse than {} by more than the margin on"),
    "apart by margin": _of_margin("{} and {} lie further apart than the margin on"),
    "margin not shown": _of_margin("That {} is no worse than {} is not shown on"),
    "margin not known": _of_margin("Whether {} is no worse than {} is not known on"), "passes": _passes,
    "alike not shown": _of_margin("That {} and {} are alike within the margin is not shown on"),
    "alike not known": _of_margin("Whether {} and {} are alike within the margin is not known on"),
    "fails": _of_margin("{} does not pass: it is worse than {} by more than the margin on"),
    "fails safety": _fails_safety,
    "passing not known": _worded(
        "Whether {first} passes is not known: that it is no worse than {second} is not shown on {margins}."
    ),
    "safety not known": _safety_not_known,
    "judge changed": _judge_changed, "numbers moved": _numbers_moved, "judge the same": _judge_same,
    "judge change not known": _judge_not_known,
    "rises": _changes, "falls": _changes, "no change shown": _no_change, "change not known": _change_not_known,
    "above reference": _beside_reference, "below reference": _beside_reference,
    "no deviation shown": _beside_reference,
    "deviation not known": _worded("How far {first} lies from {second} is not known on {titles}: {reason}."),
    "number": _number,
    "a look": _look, "one look": _look, "every look": _look, "enough": _enough,
    "right by agreement": _right_by_agreement, "right by people": _right_by_people, "settles": _settles,
    "settles nothing": _settles_nothing, "routed": _routed,
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
