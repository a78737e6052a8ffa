"""Findings in English: one sentence for each kind, of at most twenty words where names are short."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from bedside.analysis.findings import FEWEST_CASES, Finding, FindingKind, MeasureFinding
from bedside.core.words import counted
from bedside.reports.number_text import between, decimal, number, rater_words

#: Measures that a sentence names one by one.
_MOST = 3


def sentences(findings: Iterable[Finding]) -> list[str]:
    """A sentence for each finding, and one for each warning."""
    shown = list(findings)
    warnings = dict.fromkeys(_WARNINGS[each.warning] for each in shown if each.warning is not None)
    return [*(_SENTENCES[each.kind](each) for each in shown), *warnings]


def in_past(findings: Iterable[Finding]) -> list[str]:
    """The sentences as a paper tells them, in the past tense; without warnings. Names stay as they are."""
    past: list[str] = []
    for finding in findings:
        measures = (*finding.measures, *finding.against)
        names = [*finding.systems, rater_words(finding.raters), *(_lower(measure.title) for measure in measures)]
        kept = "|".join(map(re.escape, sorted(filter(None, names), key=len, reverse=True)))
        pattern = re.compile(rf"(?<!\w)(?:({kept})|{'|'.join(_PAST)})(?!\w)")
        past.append(pattern.sub(lambda found: found[1] or _PAST[found[0]], _SENTENCES[finding.kind](finding)))
    return past


_PAST = {
    "is": "was", "are": "were", "agree": "agreed", "agrees": "agreed", "differ": "differed", "may be": "might be",
    "may stand": "could stand", "can't": "couldn't", "reaches": "reached", "reach": "reached", "point": "pointed",
    "holds": "held", "includes": "included",
}  # fmt: skip


def _joined(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _titles(measures: Sequence[MeasureFinding]) -> str:
    """The measures by name; of many how many they are."""
    if len(measures) > _MOST:
        return f"{len(measures)} measures"
    return _joined([_lower(measure.title) + _by(measure) for measure in measures])


def _by(measure: MeasureFinding) -> str:
    return f" ({rater_words(measure.raters)})" if measure.raters else ""


def _lower(title: str) -> str:
    """A title within a sentence: its first letter small, unless it is an abbreviation's."""
    return title if title[1:2].isupper() else title[:1].lower() + title[1:]


def _share(finding: Finding) -> str:
    """On which measures; of many how many they are, of how many."""
    count = len(finding.measures)
    if count > _MOST:
        return f"all {count} measures" if count == finding.of else f"{count} of {finding.of} measures"
    return _titles(finding.measures)


def _count(finding: Finding) -> str:
    """Of how many measures those are that a sentence names; nothing where it names all, or none."""
    count = len(finding.measures)
    return f"{count} of {finding.of} measures; " if count <= _MOST and count < finding.of else ""


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
    return f"{_who(finding)} fairly at best on {_share(finding)} ({figures})."


def _asked_how_well(finding: Finding) -> str:
    who = f"{rater_words(finding.raters)} agrees with people" if finding.raters else "people agree"
    return f"How well {who} on {_titles(finding.measures)}"


def _agreement_not_known(finding: Finding) -> str:
    if all(measure.low is None for measure in finding.measures):
        return f"{_asked_how_well(finding)} is not known: there is no interval."
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
    cases = [measure.n for measure in (*finding.measures, *finding.against)]
    span = f"{min(cases):,}" if min(cases) == max(cases) else f"{min(cases):,} to {max(cases):,}"
    cases_word = "case" if span == "1" else "cases"
    return f"({span} {cases_word}; p corrected over {counted(finding.tests, 'test')})"


def _better(finding: Finding) -> str:
    first, second = finding.systems
    count = len(finding.measures)
    share = f"{_share(finding)}, {count} of {finding.of} measures," if _count(finding) else _share(finding)
    worse = f" and worse on {_titles(finding.against)}" if finding.against else " and worse on none"
    if finding.alternative and not finding.against:  # whether it is worse wasn't asked
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


def _no_difference(finding: Finding) -> str:
    first, second = finding.systems
    if finding.alternative:
        way = "above" if finding.alternative == "greater" else "below"
        return f"That {first} is {way} {second} is not shown on {_titles(finding.measures)} {_tested(finding)}."
    return f"No difference between {first} and {second} is shown on {_titles(finding.measures)} {_tested(finding)}."


def _difference_not_known(finding: Finding) -> str:
    first, second = finding.systems
    return f"Whether {first} and {second} differ on {_titles(finding.measures)} is not known: it can't be tested."


def _may_stand_in(finding: Finding) -> str:
    return (
        f"{rater_words(finding.raters)} may stand in for one of these people on {_titles(finding.measures)} "
        f"({len(finding.measures)} of {finding.of} measures)."
    )


def _with_reasons(finding: Finding, begin: str) -> str:
    return f"{begin} {_titles(finding.measures)}: {finding.measures[0].why or 'there is no interval'}."


def _may_not_stand_in(finding: Finding) -> str:
    return _with_reasons(finding, f"{rater_words(finding.raters)} is not shown to be able to stand in on")


def _stand_in_not_known(finding: Finding) -> str:
    return _with_reasons(finding, f"Whether {rater_words(finding.raters)} may stand in is not known on")


def _corrected(finding: Finding) -> str:
    first, second = finding.systems
    words = [
        f"{_lower(measure.title)} (by {number(abs(measure.estimate or 0.0))})" for measure in finding.measures[:_MOST]
    ]
    more = f" and {len(finding.measures) - _MOST} more measures" if len(finding.measures) > _MOST else ""
    return f"Corrected by people, {first} is above {second} on {_joined(words)}{more}."


def _no_corrected(finding: Finding) -> str:
    first, second = finding.systems
    return f"Corrected by people, no difference between {first} and {second} is shown on {_titles(finding.measures)}."


def _correction_not_known(finding: Finding) -> str:
    first, second = finding.systems
    return _with_reasons(finding, f"How {first} and {second} differ once corrected by people is not known on")


_SENTENCES: Mapping[FindingKind, Callable[[Finding], str]] = {
    "agree": _agree,
    "agree barely": _agree_barely,
    "agreement not known": _agreement_not_known,
    "never differ": _never_differ,
    "too few cases": _too_few_cases,
    "nobody twice": _nobody_twice,
    "better": _better,
    "no difference shown": _no_difference,
    "difference not known": _difference_not_known,
    "differ": _differ,
    "mixed": _mixed,
    "may stand in": _may_stand_in,
    "may not stand in": _may_not_stand_in,
    "stand-in not known": _stand_in_not_known,
    "corrected difference": _corrected,
    "no corrected difference": _no_corrected,
    "correction not known": _correction_not_known,
}
_WARNINGS: Mapping[str, str] = {
    "few cases": "There are few cases: the intervals are rough.",
    "other raters": "Not all people rated both alike: part of a difference, or of none, may be the raters' own.",
}
