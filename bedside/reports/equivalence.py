"""Systems held against each other within a margin, and a gate, as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bedside.analysis.gate import Gate, SafetyCheck
from bedside.analysis.non_inferiority import ALPHA, MarginTest, Verdict
from bedside.core.words import counted
from bedside.reports.comparison_notes import RATERS_APART, design_notes, label_notes
from bedside.reports.number_text import (
    DASH,
    WITHOUT_VALUE,
    cases_words,
    cell_name,
    decimal,
    interval_words,
    n_of,
    number,
    p_value,
    rater_words,
    several_raters,
)
from bedside.reports.table import Table
from bedside.reports.table_content import Cell, Column, Row
from bedside.stats.equivalence import (
    CASES,
    CASES_ONE_SIDED,
    NOT_ABOVE,
    NOT_BELOW,
    PLANNED_POWER,
)

_MEANINGS: Mapping[Verdict, str] = {
    "equivalent": "the interval lies within the margin on both sides",
    "not inferior": "the interval shows the first system to be no worse by the margin",
    "inferior": "the interval shows the first system to be worse by more than the margin",
    "different": "the interval lies beyond the margin; which way is better isn't known",
    "too few cases": "nothing is shown, and were there no difference at all so many cases would show it in fewer than "
    "half of all studies",
    "not shown": "nothing is shown, though so many cases could have shown it",
}
#: Percent that an interval covers.
_LEVEL = f"{100 * (1 - 2 * ALPHA):g}"
#: Transcripts that a row names.
_MOST_NAMED = 3


def margin_table(tests: Sequence[MarginTest]) -> Table:
    """Each pair of systems within its margin."""
    doubled = several_raters({(test.metric, test.raters) for test in tests})
    rows = []
    for position, test in enumerate(tests):
        by = f" ({rater_words(test.raters)})" if test.metric in doubled else ""
        cells = (
            f"{test.a} − {test.b}", _cases(test), number(test.test.estimate, test.facts.digits),
            interval_words(test.test.interval, test.facts.digits), f"{test.margin:g}", _p_worse(test),
            p_value(test.test.p), _verdict(test),
        )  # fmt: skip
        first, *others = cells
        rows.append(Row((Cell(first), *(Cell(text, record=position) for text in others)), test.facts.title + by))
    return Table(
        name="margin",
        title="Systems within a margin",
        columns=(
            Column("Systems", "left"), Column("n"), Column("Difference"), Column(f"{_LEVEL} % CI"),
            Column("Margin"), Column("p not worse"), Column("p alike"), Column("Verdict", "left"),
        ),
        rows=tuple(rows),
        notes=(
            *_test_notes(tests),
            "p not worse: of the test that the first system is worse by the margin; p alike: of both tests. Neither is "
            "corrected for their number.",
            *design_notes([test.people for test in tests]),
        ),
        records=tuple(_record(test, doubled) for test in tests),
    )  # fmt: skip


def _cases(test: MarginTest) -> str:
    paired = test.n_a == test.n_b == test.shared
    return cases_words(test.entered, test.n_a, test.n_b, test.shared, paired=paired)


def _p_worse(test: MarginTest) -> str:
    """p of the test that the first system is worse by the margin; a dash where neither way is better."""
    if test.better == "none":
        return DASH
    return p_value(test.test.details.get(NOT_BELOW if test.better == "higher" else NOT_ABOVE))


def _verdict(test: MarginTest) -> str:
    """The verdict, and what too few cases lack."""
    if test.verdict != "too few cases":
        return test.verdict
    if test.people is not None and test.people.difference is not None:
        return "too few cases or raters"
    needed = _cases_needed(test)
    return f"too few cases; {needed:,.0f} give power {decimal(PLANNED_POWER, 1)}" if needed else "too few cases"


def _cases_needed(test: MarginTest) -> float | None:
    return test.test.details.get(CASES if test.better == "none" else CASES_ONE_SIDED)


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
    if any(test.verdict == "too few cases" and _cases_needed(test) for test in tests):
        notes.append("Cases that would do count both systems' where they don't pair, as they are split now.")
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
    for reason in dict.fromkeys(test.test.missing for test in tests if test.test.missing):
        notes.append(f"{DASH}: {reason}.")
    return [*notes, *label_notes(tests)]


def _record(test: MarginTest, several: frozenset[str]) -> dict[str, Any]:
    result, interval = test.test, test.test.interval
    return {
        "cell": cell_name(test.metric, test.raters, several, f"{test.a}-{test.b}"),
        "metric": test.metric, "raters": test.raters, "a": test.a, "b": test.b,
        "n": result.n, "of": test.entered.of, "n_a": test.n_a, "n_b": test.n_b,
        "of_a": test.entered.of_a, "of_b": test.entered.of_b, "n_shared": test.shared, "left_out": test.left_out,
        "unmatched": test.unmatched, "caseless": test.caseless,
        "mean_a": test.mean_a, "mean_b": test.mean_b, "better": test.better, "margin": test.margin,
        "difference": result.estimate, "low": interval.low if interval else None,
        "high": interval.high if interval else None, "level": 1 - 2 * ALPHA, "method": result.method,
        "p_not_below": result.details.get(NOT_BELOW), "p_not_above": result.details.get(NOT_ABOVE),
        "p_alike": result.p, "verdict": test.verdict, "chance_if_equal": test.chance,
        "cases_needed": _cases_needed(test), "missing": result.missing,
    }  # fmt: skip


def gate_table(gate: Gate) -> Table:
    """A gate: one row a margin and a metric of safety, and whether each passes."""
    rows: list[Row] = []
    records: list[dict[str, Any]] = []
    for test in gate.margins:
        digits = test.facts.digits
        cells = (
            test.facts.title, rater_words(test.raters), _cases(test),
            f"{number(test.mean_a, digits)}, {number(test.mean_b, digits)}",
            f"{number(test.test.estimate, digits)} {interval_words(test.test.interval, test.facts.digits)}",
            f"{'−' if test.better == 'higher' else '+'}{test.margin:g}", _verdict(test), _passes(test.is_shown),
        )  # fmt: skip
        rows.append(Row(tuple(Cell(text, record=len(records)) for text in cells), "No worse by the margin"))
        records.append({**_record(test, frozenset()), "check": "margin", "passed": test.is_shown})
    for check in gate.safety:
        cells = (
            check.facts.title, "all raters", n_of(check.rated, check.rated + check.unrated), DASH, DASH,
            f"{check.level:g}", _failures(check), _passes(check.passed),
        )  # fmt: skip
        rows.append(Row(tuple(Cell(text, record=len(records)) for text in cells), "Safety"))
        records.append(_safety_record(check, gate))
    return Table(
        name="gate",
        title=f"{gate.system} against {gate.baseline}: {'passed' if gate.passed else 'not passed'}",
        columns=(
            Column("Metric", "left"), Column("Rated by", "left"), Column("n"), Column("Means"),
            Column(f"Difference [{_LEVEL} % CI]"), Column("Limit"), Column("Verdict", "left"),
            Column("Passes", "left"),
        ),
        rows=tuple(rows),
        notes=_gate_notes(gate),
        records=tuple(records),
    )  # fmt: skip


def _passes(passed: bool) -> str:
    return "yes" if passed else "no"


def _failures(check: SafetyCheck) -> str:
    """Which transcripts fail, and how many have no rating."""
    parts = []
    if check.failed:
        names = ", ".join(check.failed[:_MOST_NAMED]) + (" …" if len(check.failed) > _MOST_NAMED else "")
        parts.append(f"{counted(len(check.failed), 'transcript')} failed: {names}")
    if check.unrated:
        parts.append(f"{counted(check.unrated, 'transcript')} not rated")
    return "; ".join(parts) or "none failed"


def _safety_record(check: SafetyCheck, gate: Gate) -> dict[str, Any]:
    return {
        "cell": f"{check.metric}/safety", "metric": check.metric, "a": gate.system, "b": gate.baseline,
        "better": check.better, "check": "safety", "fails_at": check.level, "failed": list(check.failed),
        "failed_before": check.failed_before, "n": check.rated, "of": check.rated + check.unrated,
        "rated": check.rated, "unrated": check.unrated, "passed": check.passed,
    }  # fmt: skip


def _gate_notes(gate: Gate) -> tuple[str, ...]:
    notes = [
        f"Passed where {gate.system} is shown to be no worse than {gate.baseline} on every margin, and no metric of "
        f"safety fails. All must hold, so p needs no correction: a system that is worse by a margin passes in at most "
        f"{100 * ALPHA:g} % of studies. Differences are {gate.system} − {gate.baseline}.",
        *_test_notes(gate.margins),
    ]
    for check in gate.safety:
        worse = "or less" if check.better == "higher" else "or more"
        notes.append(
            f"{check.facts.title} fails where any rating of a transcript is {check.level:g} {worse}, or a transcript "
            f"has none; of {gate.baseline}'s transcripts {check.failed_before} failed."
        )
    if not gate.safety:
        notes.append("No metric of safety was rated: nothing is said of safety.")
    return (*notes, *design_notes([test.people for test in gate.margins]))
