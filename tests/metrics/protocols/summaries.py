"""What a protocol's measures come to over cases, which tables are held to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from bedside.metrics.protocols.label_files import Measured, mean, ratio
from bedside.metrics.protocols.medconceal.matching import CaseScore, MatchCounts
from bedside.metrics.protocols.medconceal.measures import _NO_PRIMARY, _NONE_REVEALED, _NOT_ADDRESSED, CaseTrace
from bedside.metrics.protocols.note2chat.history import History, K
from bedside.metrics.protocols.note2chat.labels import CATEGORIES, Category


def _total(counts: Iterable[MatchCounts]) -> MatchCounts:
    """Counts summed over cases."""
    cases = list(counts)
    return MatchCounts(
        correct=sum(case.correct for case in cases),
        findings=sum(case.findings for case in cases),
        gold=sum(case.gold for case in cases),
    )


#: What is reported of a matching, at both levels.
MEASURES = (
    "fine precision", "fine recall", "fine F1", "category accuracy", "coarse precision", "coarse recall", "coarse F1",
    "grounded precision", "grounded recall", "grounded F1", "matched without reveal",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class MatchingSummary:
    """Measures over cases.

    Attributes:
        level: ``micro`` (counts summed over cases, then one ratio) or ``case-level`` (mean of the cases' values).
        cases: number of cases.
        values: by name.
    """

    level: str
    cases: int
    values: dict[str, Measured]


_NO_TRACE = "no case has a trace"


def micro(cases: Sequence[CaseScore]) -> MatchingSummary:
    """Counts summed over cases, then precision, recall and F1: what the published main tables show."""
    traced = [case for case in cases if case.grounded is not None]
    values: dict[str, Measured] = {}
    for name, counts in (
        ("fine", [case.fine for case in cases]),
        ("coarse", [case.coarse for case in cases]),
        ("grounded", [case.grounded for case in traced if case.grounded is not None]),
    ):
        summed, dropped = _total(counts), len(cases) - len(counts)
        for part, found in (("precision", summed.precision), ("recall", summed.recall), ("F1", summed.f1)):
            values[f"{name} {part}"] = Measured(
                found.value, found.missing if counts else _NO_TRACE, len(counts), dropped
            )
    values["category accuracy"] = ratio(
        sum(case.agreeing for case in cases),
        sum(case.fine.correct for case in cases),
        "no finding matches a concern",
        n=len(cases),
    )
    values["matched without reveal"] = mean([case.matched_without_reveal for case in cases], _NO_TRACE)
    return MatchingSummary("micro", len(cases), {name: values[name] for name in MEASURES})


def case_level(cases: Sequence[CaseScore]) -> MatchingSummary:
    """Means of the cases' own values: what tests compare. Cases without a value are left out and counted."""
    grounded = [case.grounded for case in cases]
    none = Measured(missing=_NO_TRACE)
    values = {
        "fine precision": [case.fine.precision for case in cases],
        "fine recall": [case.fine.recall for case in cases],
        "fine F1": [case.fine.f1 for case in cases],
        "category accuracy": [case.category_accuracy for case in cases],
        "coarse precision": [case.coarse.precision for case in cases],
        "coarse recall": [case.coarse.recall for case in cases],
        "coarse F1": [case.coarse.f1 for case in cases],
        "grounded precision": [each.precision if each else none for each in grounded],
        "grounded recall": [each.recall if each else none for each in grounded],
        "grounded F1": [each.f1 if each else none for each in grounded],
        "matched without reveal": [case.matched_without_reveal for case in cases],
    }
    return MatchingSummary(
        "case-level", len(cases), {name: mean(values[name], "no case has a value") for name in MEASURES}
    )


@dataclass(frozen=True, slots=True)
class TraceSummary:
    """Measures of traces over cases.

    Attributes:
        cases: number of cases.
        reveal_rate, reveal_rate_by_case: Σ revealed / Σ gold (micro), and the mean of the cases' rates.
        full_reveal_rate: share of the cases with all concerns revealed.
        turns_to_full_reveal: mean over those.
        revealed_by_limit: Σ concerns revealed by the turn limit / Σ gold.
        turns_per_revealed: Σ turns / Σ revealed.
        success_rate: share of the cases whose primary concern was addressed.
        turns_to_address, lag: means over those.
        meta_probe_rate: Σ blocked turns / Σ turns.
        blocked: Σ blocked turns.
        open_after, challenged_after: means over the cases that went on after it.
        cumulative_reveal: share of all concerns revealed by each turn (from 1); a case that has ended stays as it was.
        cumulative_success: share of the cases addressed by each turn.
    """

    cases: int
    reveal_rate: Measured
    reveal_rate_by_case: Measured
    full_reveal_rate: Measured
    turns_to_full_reveal: Measured
    revealed_by_limit: Measured
    turns_per_revealed: Measured
    success_rate: Measured
    turns_to_address: Measured
    lag: Measured
    meta_probe_rate: Measured
    blocked: int
    open_after: Measured
    challenged_after: Measured
    cumulative_reveal: tuple[float, ...]
    cumulative_success: tuple[float, ...]


def trace_summary(cases: Iterable[CaseTrace]) -> TraceSummary:
    """Traces taken together; means leave out the cases without a value and count them."""
    traces = list(cases)
    n = len(traces)
    gold, revealed = sum(case.gold for case in traces), sum(case.revealed for case in traces)
    turns, blocked = sum(case.turns for case in traces), sum(case.blocked for case in traces)
    judged = [case for case in traces if case.success.value is not None]
    courses = [case.cumulative_reveal for case in traces]
    longest = max((case.turns for case in traces), default=0)
    return TraceSummary(
        cases=n,
        reveal_rate=ratio(revealed, gold, "no case", n=n),
        reveal_rate_by_case=mean([case.reveal_rate for case in traces], "no case"),
        full_reveal_rate=mean([case.full_reveal for case in traces], "no case"),
        turns_to_full_reveal=mean([case.turns_to_full_reveal for case in traces], "no case with all concerns revealed"),
        revealed_by_limit=ratio(sum(case.by_limit for case in traces), gold, "no case", n=n),
        turns_per_revealed=ratio(turns, revealed, _NONE_REVEALED, n=n),
        success_rate=mean([case.success for case in traces], _NO_PRIMARY),
        turns_to_address=mean([case.turns_to_address for case in traces], _NOT_ADDRESSED),
        lag=mean([case.lag for case in traces], _NOT_ADDRESSED),
        meta_probe_rate=ratio(blocked, turns, "no clinician turn", n=n),
        blocked=blocked,
        open_after=mean([case.open_after for case in traces], "no case went on after its concern was addressed"),
        challenged_after=mean(
            [case.challenged_after for case in traces], "no case went on after its concern was addressed"
        ),
        cumulative_reveal=tuple(
            sum(course[min(turn, len(course)) - 1] for course in courses if course) / gold
            for turn in range(1, longest + 1)
        ),
        cumulative_success=tuple(
            sum(case.addressed_at is not None and case.addressed_at <= turn for case in judged) / len(judged)
            for turn in range(1, longest + 1)
        )
        if judged
        else (),
    )


@dataclass(frozen=True, slots=True)
class HistorySummary:
    """Measures over cases.

    Attributes:
        cases: number of cases.
        recall, precision, f1: means of the cases' values, so that this F1 is not that of the mean precision and recall.
        questions: mean number of questions.
        top: share of the cases with the true diagnosis among the first 1, 2, 3, 4 and 5 candidates.
        by_category: findings elicited / findings of each category, summed over cases.
    """

    cases: int
    recall: Measured
    precision: Measured
    f1: Measured
    questions: Measured
    top: tuple[Measured, ...]
    by_category: Mapping[Category, Measured]


def history_summary(cases: Iterable[History]) -> HistorySummary:
    """Conversations taken together; means leave out the cases without a value and count them."""
    histories = list(cases)
    return HistorySummary(
        cases=len(histories),
        recall=mean([case.recall for case in histories], "no case has a recall"),
        precision=mean([case.precision for case in histories], "no case has a precision"),
        f1=mean([case.f1 for case in histories], "no case has an F1"),
        questions=ratio(sum(case.questions for case in histories), len(histories), "no case", n=len(histories)),
        top=tuple(mean([case.top(k) for case in histories], "no case has a rank") for k in range(1, K + 1)),
        by_category={
            category: ratio(
                sum(case.by_category[category][0] for case in histories),
                sum(case.by_category[category][1] for case in histories),
                f"no finding of the category {category}",
                n=len(histories),
            )
            for category in CATEGORIES
        },
    )
