"""Systems held against each other within a margin, and a gate, as tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bedside.analysis.gate import Gate, SafetyCheck
from bedside.analysis.non_inferiority import ALPHA, MarginTest, Verdict
from bedside.core.words import counted
from bedside.reports.columns import record_of, recorded, table_of
from bedside.reports.comparison_notes import RATERS_APART, design_notes, label_notes
from bedside.reports.notes import Note, note, noted
from bedside.reports.number_text import (
    DASH,
    WITHOUT_VALUE,
    CellNames,
    cases_words,
    decimal,
    interval_words,
    n_of,
    number,
    p_value,
    rater_words,
)
from bedside.reports.table import Table
from bedside.reports.table_content import Column, Recorded
from bedside.stats.equivalence import NOT_ABOVE, NOT_BELOW, PLANNED_POWER

_MEANINGS: Mapping[Verdict, str] = {
    "equivalent": "the interval lies within the margin on both sides",
    "not inferior": "the interval shows the first system to be no worse by the margin",
    "inferior": "the interval shows the first system to be worse by more than the margin",
    "different": "the interval lies beyond the margin; which way is better isn't known",
    "too few cases": "nothing is shown, and were there no difference at all so many cases would show it in fewer than "
    "half of all studies",
    "other raters": "not the same people rated both systems, and what that adds may make the verdict",
    "not shown": "nothing is shown, though so many cases could have shown it",
}
#: Percent that an interval covers.
_LEVEL = f"{100 * (1 - 2 * ALPHA):g}"
#: Transcripts that a row names.
_MOST_NAMED = 3


def _cases(test: MarginTest) -> str:
    paired = test.n_a == test.n_b == test.shared
    return cases_words(test.entered, test.n_a, test.n_b, test.shared, paired=paired)


def _p_worse(test: MarginTest) -> str:
    """p of the test that the first system is worse by the margin; a dash where neither way is better."""
    if test.better == "none":
        return DASH
    return p_value(test.test.details.get(NOT_BELOW if test.better == "higher" else NOT_ABOVE))


def _verdict(test: MarginTest) -> str:
    """The verdict; of people like those who rated, cases and raters are both few."""
    like_raters = test.people is not None and test.people.difference is not None
    return "too few cases or raters" if like_raters and test.verdict == "too few cases" else test.verdict


def _test_notes(tests: Sequence[MarginTest]) -> list[str]:
    """How it was tested, what was left out, and what the verdicts mean."""
    notes = []
    for method in dict.fromkeys(test.test.method.partition(", margin")[0] for test in tests):
        count = sum(test.test.method.startswith(method) for test in tests)
        notes.append(f"{method[0].upper()}{method[1:]}: {counted(count, 'comparison')}.")
    if any(not test.entered.is_whole for test in tests):
        notes.append(WITHOUT_VALUE)
    notes.append(
        f"One-sided tests at {decimal(ALPHA)} and the interval that they invert, on one value a case: a case's "
        "transcripts, passes and raters are averaged first."
    )
    if any(test.people is not None and test.people.difference is not None for test in tests):
        notes.append(RATERS_APART)
    meanings = dict.fromkeys((_verdict(test).partition(";")[0], _MEANINGS[test.verdict]) for test in tests)
    notes += [f"{verdict[0].upper()}{verdict[1:]}: {meaning}." for verdict, meaning in meanings]
    if any(test.verdict == "too few cases" and test.cases_needed for test in tests):
        notes.append(f"Cases needed: for a chance of {100 * PLANNED_POWER:.0f} %, were there no difference.")
        notes.append("They count both systems' where they don't pair, as they are split now.")
    left_out = sum(test.left_out for test in tests)
    if left_out:
        notes.append(f"{counted(left_out, 'case')} had no partner in the other system and were left out.")
    unmatched = sum(test.unmatched for test in tests)
    if unmatched:
        notes.append(
            f"{counted(unmatched, 'value')} of transcripts in settings that the other system doesn't have there were "
            "left out."
        )
    caseless = max((test.caseless for test in tests), default=0)
    if caseless:
        notes.append(f"{counted(caseless, 'transcript')} without a case count as cases of their own.")
    return [*notes, *label_notes(tests)]


RECORD = (
    recorded(
        "metric", "raters", "a", "b", n="test.n", of="entered.of", n_a="n_a", n_b="n_b", of_a="entered.of_a",
        of_b="entered.of_b", n_shared="shared", left_out="left_out", unmatched="unmatched", caseless="caseless",
        mean_a="mean_a", mean_b="mean_b", better="better", margin="margin", difference="test.estimate",
        low=lambda test: test.test.interval.low if test.test.interval else None,
        high=lambda test: test.test.interval.high if test.test.interval else None,
        level=lambda test: 1 - 2 * ALPHA, method="test.method",
        p_not_below=lambda test: test.test.details.get(NOT_BELOW),
        p_not_above=lambda test: test.test.details.get(NOT_ABOVE),
        p_alike="test.p", verdict="verdict", chance_if_equal="chance", cases_needed="cases_needed",
        missing="test.missing",
    ),
)  # fmt: skip
COLUMNS = (
    *RECORD,
    Column("Systems", "left", text=lambda test: f"{test.a} − {test.b}", brief=True),
    Column("n", text=_cases, brief=True),
    Column("Difference", value="test", text=lambda test: number(test.test.estimate, test.facts.digits), brief=True),
    Column(f"{_LEVEL} % CI", text=lambda test: interval_words(test.test.interval, test.facts.digits), brief=True),
    Column("Margin", text=lambda test: f"{test.margin:g}", brief=True),
    Column("p not worse", text=_p_worse),
    Column("p alike", text=lambda test: p_value(test.test.p)),
    Column("Verdict", "left", text=_verdict, brief=True),
    Column(
        "Cases needed",
        text=lambda test: (
            f"{test.cases_needed:,.0f}" if test.cases_needed and test.verdict == "too few cases" else DASH
        ),
    ),
)
P_VALUES = Note(
    "margin.p",
    "p not worse: of the test that the first system is worse by the margin; p alike: of both tests. Neither is "
    "corrected for their number.",
    ("p not worse", "p alike"),
)
_DESIGNS = Note("margin.people", lambda tests: design_notes([test.people for test in tests]))


def margin_table(tests: Sequence[MarginTest]) -> Table:
    """Each pair of systems within its margin."""
    named = CellNames(tests)
    return table_of(
        "margin",
        "Systems within a margin",
        tests,
        (recorded(cell=lambda test: named(test, f"{test.a}-{test.b}")), *COLUMNS),
        group=named.title,
        notes=(Note("margin.tests", _test_notes), P_VALUES, _DESIGNS),
    )


def _failures(check: SafetyCheck) -> str:
    """Which transcripts fail, and how many have no rating."""
    parts = []
    if check.failed:
        names = ", ".join(check.failed[:_MOST_NAMED]) + (" …" if len(check.failed) > _MOST_NAMED else "")
        parts.append(f"{counted(len(check.failed), 'transcript')} failed: {names}")
    if check.unrated:
        parts.append(f"{counted(check.unrated, 'transcript')} not rated")
    return "; ".join(parts) or "none failed"


@note("gate.meaning", "Passes")
def _gate_meaning(gate: Gate) -> list[str]:
    return [
        f"Passed where {gate.system} is shown to be no worse than {gate.baseline} on every margin, and no metric of "
        f"safety fails. All must hold, so p needs no correction: a system that is worse by a margin passes in at most "
        f"{100 * ALPHA:g} % of studies. Differences are {gate.system} − {gate.baseline}."
    ]


@note("gate.safety")
def _gate_safety(gate: Gate) -> Iterator[str]:
    """How a transcript fails."""
    for check in gate.safety:
        worse = "or less" if check.better == "higher" else "or more"
        yield (
            f"{check.facts.title} fails where any rating of a transcript is {check.level:g} {worse}, or a transcript "
            f"has none; of {gate.baseline}'s transcripts {check.failed_before} failed."
        )


_NO_SAFETY = "No metric of safety was rated: nothing is said of safety."
GATE_NOTES = (
    _gate_meaning,
    Note("gate.tests", lambda gate: _test_notes(gate.margins)),
    _gate_safety,
    Note("gate.no safety", lambda gate: [] if gate.safety else [_NO_SAFETY], warns=True),
    Note("gate.people", lambda gate: design_notes([test.people for test in gate.margins])),
)


@dataclass(frozen=True, slots=True)
class GateRow:
    """A margin or a metric of safety, as a gate shows it."""

    title: str
    raters: str
    n: str
    means: str
    difference: str
    limit: str
    verdict: str
    passed: bool
    heading: str
    record: Mapping[str, Any]


def _margin_row(test: MarginTest) -> GateRow:
    digits = test.facts.digits
    return GateRow(
        test.facts.title, rater_words(test.raters), _cases(test),
        f"{number(test.mean_a, digits)}, {number(test.mean_b, digits)}",
        f"{number(test.test.estimate, digits)} {interval_words(test.test.interval, digits)}",
        f"{'−' if test.better == 'higher' else '+'}{test.margin:g}", _verdict(test), test.is_shown,
        "No worse by the margin",
        {"cell": f"{test.metric}/{test.a}-{test.b}", **record_of(RECORD, test), "check": "margin"},
    )  # fmt: skip


def _safety_row(check: SafetyCheck, gate: Gate) -> GateRow:
    transcripts = check.rated + check.unrated
    return GateRow(
        check.facts.title, "all raters", n_of(check.rated, transcripts), DASH, DASH, f"{check.level:g}",
        _failures(check), check.passed, "Safety",
        {
            "cell": f"{check.metric}/safety", "metric": check.metric, "a": gate.system, "b": gate.baseline,
            "better": check.better, "check": "safety", "fails_at": check.level, "failed": list(check.failed),
            "failed_before": check.failed_before, "n": check.rated, "of": transcripts,
            "rated": check.rated, "unrated": check.unrated,
        },
    )  # fmt: skip


GATE_COLUMNS = (
    Recorded(lambda row: row.record),
    Column("Metric", "left", text=lambda row: row.title, brief=True),
    Column("Rated by", "left", text=lambda row: row.raters),
    Column("n", text=lambda row: row.n, brief=True),
    Column("Means", text=lambda row: row.means),
    Column(f"Difference [{_LEVEL} % CI]", text=lambda row: row.difference, brief=True),
    Column("Limit", text=lambda row: row.limit, brief=True),
    Column("Verdict", "left", text=lambda row: row.verdict, brief=True),
    Column("Passes", "left", field="passed"),
)


def gate_table(gate: Gate) -> Table:
    """A gate: one row a margin and a metric of safety, and whether each passes."""
    rows = [*map(_margin_row, gate.margins), *(_safety_row(check, gate) for check in gate.safety)]
    title = f"{gate.system} against {gate.baseline}: {'passed' if gate.passed else 'not passed'}"
    return table_of("gate", title, rows, GATE_COLUMNS, group=lambda row: row.heading, notes=noted(GATE_NOTES, gate))
