"""Measures of traces: what was revealed and when, whether the primary concern was addressed, and what came after."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from bedside.metrics.coders import CODERS, people_codes
from bedside.metrics.coders.people import majority, proper
from bedside.metrics.protocols.contract import Measured, mean, ratio
from bedside.metrics.protocols.medconceal.cues import challenge_cues
from bedside.metrics.protocols.medconceal.trace import Trace
from bedside.transcripts.language import not_english
from bedside.transcripts.transcript import Transcript

_NO_PRIMARY = "the case doesn't say which concern is the primary one"
_NOT_ADDRESSED = "the primary concern was not addressed"
_NONE_REVEALED = "no concern was revealed"


@dataclass(frozen=True, slots=True)
class CaseTrace:
    """The measures of one trace. Turns are clinician turns, counted from 1.

    Attributes:
        transcript: the transcript's id.
        gold, revealed, turns, blocked: number of hidden concerns, of revealed ones, of turns, of blocked turns.
        by_limit: number of concerns revealed by the turn limit, or by the end where that is earlier.
        reveal_rate: revealed / gold.
        full_reveal: 1 where all are revealed, else 0.
        primary_revealed: 1 where the primary concern is revealed, else 0.
        turns_to_full_reveal: the turn that revealed the last one.
        revealed_by_limit: by_limit / gold.
        turns_per_revealed: turns / revealed.
        success: 1 where the primary concern was addressed, else 0.
        turns_to_address: the turn at which it was.
        lag: turns from the primary concern's reveal to then.
        meta_probe_rate: blocked / turns.
        open_after: share of the clinician turns after it that ask an open question.
        challenged_after: share of the patient turns after it with a challenge cue.
        cumulative_reveal: for each turn the number of concerns revealed by then.
        addressed_at: the turn at which the primary concern was addressed, or None.
    """

    transcript: str
    gold: int
    revealed: int
    turns: int
    blocked: int
    by_limit: int
    reveal_rate: Measured
    full_reveal: Measured
    primary_revealed: Measured
    turns_to_full_reveal: Measured
    revealed_by_limit: Measured
    turns_per_revealed: Measured
    success: Measured
    turns_to_address: Measured
    lag: Measured
    meta_probe_rate: Measured
    open_after: Measured
    challenged_after: Measured
    cumulative_reveal: tuple[int, ...]
    addressed_at: int | None


def measure(
    transcript: Transcript,
    trace: Trace,
    *,
    turn_limit: int,
    open_coder: str = "rules",
    questions: Mapping[int, str] | None = None,
) -> CaseTrace:
    """All measures of one trace.

    Args:
        transcript: the conversation.
        trace: its trace.
        turn_limit: clinician turns for ``revealed_by_limit``.
        open_coder: who tells open from closed questions: a coder's name, or ``human`` for what most people coded.
        questions: clinician turn → ``open``, ``closed`` or ``none``, by whoever labelled the turns; where there are
            any, they go before the coder's.

    Raises:
        RegistryError: an unknown coder.
    """
    gold, revealed = len(trace.concerns), len(trace.revealed_at)
    by_limit = trace.revealed_by(turn_limit)
    none = Measured(missing=_NO_PRIMARY)
    success = lasted = lag = primary = none
    if trace.primary is not None:
        primary = Measured(float(trace.primary in trace.revealed_at))
        success = Measured(float(trace.addressed_at is not None))
        lasted = lag = Measured(missing=_NOT_ADDRESSED)
    if trace.addressed_at is not None and trace.primary is not None:
        lasted = Measured(float(trace.addressed_at))
        lag = Measured(float(trace.addressed_at - trace.revealed_at[trace.primary]))
    return CaseTrace(
        transcript=transcript.id,
        gold=gold,
        revealed=revealed,
        turns=trace.turns,
        blocked=trace.blocked,
        by_limit=by_limit,
        reveal_rate=ratio(revealed, gold, "no hidden concern"),
        full_reveal=Measured(float(revealed == gold)),
        primary_revealed=primary,
        turns_to_full_reveal=Measured(float(max(trace.revealed_at.values())))
        if revealed == gold
        else Measured(missing=f"{gold - revealed} of {gold} concerns stayed hidden"),
        revealed_by_limit=ratio(by_limit, gold, "no hidden concern"),
        turns_per_revealed=ratio(trace.turns, revealed, _NONE_REVEALED),
        success=success,
        turns_to_address=lasted,
        lag=lag,
        meta_probe_rate=ratio(trace.blocked, trace.turns, "no clinician turn"),
        open_after=_open_after(transcript, trace, open_coder, questions or {}),
        challenged_after=_challenged_after(transcript, trace),
        cumulative_reveal=tuple(trace.revealed_by(state.number) for state in trace.history),
        addressed_at=trace.addressed_at,
    )


def _addressed_index(trace: Trace) -> int | None:
    return None if trace.addressed_at is None else trace.history[trace.addressed_at - 1].step.turn


def _not_after(trace: Trace) -> Measured:
    return Measured(missing=_NO_PRIMARY if trace.primary is None else _NOT_ADDRESSED)


def _open_after(transcript: Transcript, trace: Trace, coder: str, questions: Mapping[int, str]) -> Measured:
    index = _addressed_index(trace)
    if index is None:
        return _not_after(trace)
    turns = [turn.index for turn in transcript.of("clinician") if turn.index > index]
    if not turns:
        return Measured(missing="no clinician turn after the concern was addressed")
    labels: list[str | None]
    if questions:
        labels = [questions.get(turn) for turn in turns]
    elif coder == "human":
        people = people_codes(transcript)
        labels = [
            majority(
                codes["question"]
                for person in people.values()
                if "question" in (codes := proper(person.get(turn, {})))
            )
            for turn in turns
        ]
    else:
        loaded = CODERS.load(coder)
        why = loaded.refuses(transcript)
        if why is not None:
            return Measured(missing=why)
        turn_codes = loaded.code(transcript)
        labels = [turn_codes.get(turn, {}).get("question") for turn in turns]
    coded = [label for label in labels if label is not None]
    return ratio(coded.count("open"), len(coded), "no clinician turn after that has a code of its question")


def _challenged_after(transcript: Transcript, trace: Trace) -> Measured:
    index = _addressed_index(trace)
    if index is None:
        return _not_after(trace)
    said = [turn.text for turn in transcript.of("patient") if turn.index > index]
    if not said:
        return Measured(missing="no patient turn after the concern was addressed")
    why = not_english(" ".join(turn.text for turn in transcript.of("patient")), transcript.language)
    if why is not None:
        return Measured(missing=why)
    return ratio(sum(bool(challenge_cues(text)) for text in said), len(said), "")


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


def summarise(cases: Iterable[CaseTrace]) -> TraceSummary:
    """Traces taken together; means leave out the cases without a value and count them."""
    traces = list(cases)
    n = len(traces)
    gold, revealed = sum(case.gold for case in traces), sum(case.revealed for case in traces)
    turns, blocked = sum(case.turns for case in traces), sum(case.blocked for case in traces)
    judged = [case for case in traces if case.success.value is not None]
    longest = max((case.turns for case in traces), default=0)
    return TraceSummary(
        cases=n,
        reveal_rate=ratio(revealed, gold, "no case", n=n),
        reveal_rate_by_case=mean([case.reveal_rate for case in traces], "no case"),
        full_reveal_rate=mean([case.full_reveal for case in traces], "no case"),
        turns_to_full_reveal=mean(
            [case.turns_to_full_reveal for case in traces], "no case with all concerns revealed"
        ),
        revealed_by_limit=ratio(sum(case.by_limit for case in traces), gold, "no case", n=n),
        turns_per_revealed=ratio(turns, revealed, _NONE_REVEALED, n=n),
        success_rate=mean([case.success for case in traces], _NO_PRIMARY),
        turns_to_address=mean([case.turns_to_address for case in traces], _NOT_ADDRESSED),
        lag=mean([case.lag for case in traces], _NOT_ADDRESSED),
        meta_probe_rate=ratio(blocked, turns, "no clinician turn", n=n),
        blocked=blocked,
        open_after=mean(
            [case.open_after for case in traces], "no case went on after its concern was addressed"
        ),
        challenged_after=mean(
            [case.challenged_after for case in traces], "no case went on after its concern was addressed"
        ),
        cumulative_reveal=_cumulated([case.cumulative_reveal for case in traces], gold, longest),
        cumulative_success=tuple(
            sum(case.addressed_at is not None and case.addressed_at <= turn for case in judged) / len(judged)
            for turn in range(1, longest + 1)
        )
        if judged
        else (),
    )


def _cumulated(courses: Sequence[tuple[int, ...]], gold: int, longest: int) -> tuple[float, ...]:
    return tuple(
        sum(course[min(turn, len(course)) - 1] for course in courses if course) / gold
        for turn in range(1, longest + 1)
    )
