"""Measures of traces, and what one rater's labels say of a case: what was revealed and when, what was addressed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from bedside.core.errors import DataError
from bedside.metrics.coders.contract import CODERS
from bedside.metrics.coders.people import majority, people_codes, proper
from bedside.metrics.protocols.label_files import Measured, ratio
from bedside.metrics.protocols.medconceal.labels import (
    Concern,
    ConcernLabels,
    ConcernTurnLabels,
    SubmittedFinding,
    concerns_of,
    label_raters,
    rater_labels,
    simulated_turns,
    simulation_of,
    submitted_findings,
    turn_rater,
)
from bedside.metrics.protocols.medconceal.matching import CaseScore, score_case
from bedside.metrics.protocols.medconceal.policy import Parameters, challenge_cues, find_parameters, is_blocked
from bedside.metrics.protocols.medconceal.trace import Trace, trace
from bedside.ratings.values import WARNING, Value, missing
from bedside.transcripts.language import not_english
from bedside.transcripts.transcript import Transcript

# -- Measures of traces ---------------------------------------------------------------------------------

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
                codes["question"] for person in people.values() if "question" in (codes := proper(person.get(turn, {})))
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


# -- What one rater's labels say of a case --------------------------------------------------------------

_FINDINGS = "no labels of the submitted findings"
_MATCHES = "no labels of matches between findings and concerns"
_TURNS = "no labels of the clinician turns"
_ANY = "no labels of the case"

#: Metrics of the matching: what is read off a case's score.
_OF_MATCHING: Mapping[str, Callable[[CaseScore], Measured]] = {
    "concern_precision": lambda case: case.fine.precision,
    "concern_recall": lambda case: case.fine.recall,
    "concern_f1": lambda case: case.fine.f1,
    "concern_category_accuracy": lambda case: case.category_accuracy,
    "matched_concerns": lambda case: _count(case.fine.correct),
    "agreeing_matches": lambda case: _count(case.agreeing),
    "refused_proposals": lambda case: _count(sum(checked.refused is not None for checked in case.proposals)),
}
#: Metrics of the categories alone: they need the findings, but no matches.
_OF_CATEGORIES: Mapping[str, Callable[[CaseScore], Measured]] = {
    "submitted_findings": lambda case: _count(case.fine.findings),
    "coarse_matches": lambda case: _count(case.coarse.correct),
    "coarse_precision": lambda case: case.coarse.precision,
    "coarse_recall": lambda case: case.coarse.recall,
    "coarse_f1": lambda case: case.coarse.f1,
}
#: Metrics of matching and trace together.
_OF_BOTH: Mapping[str, Callable[[CaseScore], Measured]] = {
    "grounded_matches": lambda case: _count(case.grounded.correct if case.grounded else 0),
    "grounded_precision": lambda case: _grounded(case, "precision"),
    "grounded_recall": lambda case: _grounded(case, "recall"),
    "grounded_f1": lambda case: _grounded(case, "f1"),
    "matched_without_reveal": lambda case: case.matched_without_reveal,
}
#: Metrics of the trace.
_OF_TRACE: Mapping[str, Callable[[CaseTrace], Measured]] = {
    "revealed_concerns": lambda case: _count(case.revealed),
    "reveal_rate": lambda case: case.reveal_rate,
    "full_reveal": lambda case: case.full_reveal,
    "primary_revealed": lambda case: case.primary_revealed,
    "turns_to_full_reveal": lambda case: case.turns_to_full_reveal,
    "revealed_by_limit": lambda case: case.revealed_by_limit,
    "concerns_revealed_by_limit": lambda case: _count(case.by_limit),
    "turns_per_revealed_concern": lambda case: case.turns_per_revealed,
    "concern_addressed": lambda case: case.success,
    "turns_to_address": lambda case: case.turns_to_address,
    "reveal_to_address_lag": lambda case: case.lag,
    "open_after_address": lambda case: case.open_after,
    "challenge_after_address": lambda case: case.challenged_after,
}
_BLOCKED = ("evaluated_turns", "blocked_turns", "meta_probe_rate")
#: A fact of the case, given beside what each rater says of it.
_GOLD = "gold_concerns"
_BY_TURN = ("revealed_by_turn", "addressed_by_turn")


def _count(number: int) -> Measured:
    return Measured(float(number))


def _grounded(case: CaseScore, part: str) -> Measured:
    measured: Measured = getattr(case.grounded, part)
    return measured


class LabelledCase:
    """One rater's labels of one transcript, and what follows from them; an error in place of what can't be had.

    Args:
        transcript: the conversation, with labels.
        rater: whose labels count.
        parameters: of the trace.
    """

    def __init__(self, transcript: Transcript, rater: str, parameters: Parameters) -> None:
        self.transcript = transcript
        self.parameters = parameters
        self.labels: ConcernLabels | DataError
        self.concerns: tuple[Concern, ...] | DataError
        try:
            self.labels = rater_labels(transcript, rater)
        except DataError as error:
            self.labels = error
        try:
            self.concerns = concerns_of(transcript)
        except DataError as error:
            self.concerns = error

    @cached_property
    def turns(self) -> Mapping[int, ConcernTurnLabels] | DataError:
        """The labels of the clinician turns: those by which the conversation was simulated, else the rater's."""
        if isinstance(self.labels, DataError):
            return self.labels
        try:
            simulated = simulated_turns(self.transcript)
        except DataError as error:
            return error
        return self.labels.turns if simulated is None else simulated

    @cached_property
    def findings(self) -> tuple[SubmittedFinding, ...] | DataError | None:
        """What the clinician submitted: as the rater says, else as the case does; None where neither says it."""
        if isinstance(self.labels, DataError) or self.labels.findings is not None:
            return self.labels if isinstance(self.labels, DataError) else self.labels.findings
        try:
            return submitted_findings(self.transcript)
        except DataError as error:
            return error

    @cached_property
    def course(self) -> Trace | DataError:
        if isinstance(self.turns, DataError):
            return self.turns
        if isinstance(self.concerns, DataError):
            return self.concerns
        if not self.turns:
            return DataError(_TURNS)
        try:
            return trace(self.transcript, self.concerns, self.turns, self.parameters)
        except DataError as error:
            return error

    @cached_property
    def measures(self) -> CaseTrace | DataError:
        if isinstance(self.course, DataError):
            return self.course
        settings = self.parameters.measures
        limit = simulation_of(self.transcript).get("turn_limit")
        return measure(
            self.transcript,
            self.course,
            turn_limit=limit if isinstance(limit, int) else settings.turn_limit,
            open_coder=settings.open_coder,
            questions=self.questions,
        )

    @cached_property
    def questions(self) -> dict[int, str]:
        """The questions that the rater labelled, by turn."""
        turns = {} if isinstance(self.labels, DataError) else self.labels.turns
        return {index: labels.question for index, labels in turns.items() if labels.question is not None}

    @cached_property
    def score(self) -> CaseScore | DataError:
        if isinstance(self.labels, DataError):
            return self.labels
        if isinstance(self.concerns, DataError):
            return self.concerns
        if self.findings is None or isinstance(self.findings, DataError):
            return self.findings or DataError(_FINDINGS)
        revealed = None if isinstance(self.course, DataError) else self.course.revealed_at
        return score_case(self.transcript, self.concerns, self.findings, self.labels.matches or (), revealed)

    @property
    def has_turns_of_the_simulation_only(self) -> bool:
        """Whether the rater evaluated the turns for the simulated patient, and labelled nothing else."""
        return (
            not isinstance(self.labels, DataError)
            and self.labels.rater == turn_rater(self.transcript)
            and self.labels.findings is None
            and self.labels.matches is None
        )

    def was_not_asked_for(self, metric: str) -> bool:
        """Whether a metric needs matches, or findings that nobody says."""
        if metric in _OF_CATEGORIES:
            return self.findings is None
        return metric in _OF_MATCHING or metric in _OF_BOTH

    def values(self, metric: str) -> Iterator[Value]:
        """The values of a metric: one, or one for each clinician turn."""
        if metric == _GOLD:
            yield (
                missing(metric, str(self.concerns))
                if isinstance(self.concerns, DataError)
                else Value(metric, float(len(self.concerns)))
            )
        elif metric in _BLOCKED:
            yield self._warned(self._blocked(metric))
        elif metric in _BY_TURN:
            yield from map(self._warned, self._by_turn(metric))
        elif metric in _OF_TRACE:
            yield self._warned(self._of_trace(metric))
        elif isinstance(self.score, DataError):
            yield missing(metric, str(self.score))
        elif metric in _OF_CATEGORIES:
            yield _value(metric, _OF_CATEGORIES[metric](self.score))
        elif not isinstance(self.labels, DataError) and self.labels.matches is None:
            yield missing(metric, _MATCHES)
        elif metric in _OF_MATCHING:
            yield _value(metric, _OF_MATCHING[metric](self.score))
        elif isinstance(self.course, DataError):
            yield missing(metric, str(self.course))
        else:
            yield self._warned(_value(metric, _OF_BOTH[metric](self.score)))

    def _warned(self, value: Value) -> Value:
        """A value of the trace, with a warning where the patient went by other parameters than it is scored with."""
        if self._other_parameters is None or value.error is not None:
            return value
        return value._replace(reason="; ".join(part for part in (self._other_parameters, value.reason) if part))

    @cached_property
    def _other_parameters(self) -> str | None:
        simulated = simulation_of(self.transcript).get("parameters")
        if not isinstance(simulated, Mapping) or simulated.get("sha256") == self.parameters.digest():
            return None
        name = simulated.get("name")
        same = " of that name, which has changed since" if name == self.parameters.name else ""
        return f"{WARNING}scored with the parameters {self.parameters.name}{same}, and the patient went by {name}"

    def _of_trace(self, metric: str) -> Value:
        if isinstance(self.measures, DataError):
            return missing(metric, str(self.measures))
        value = _value(metric, _OF_TRACE[metric](self.measures))
        if metric != "open_after_address" or value.error is not None:
            return value
        by = "the rater's own labels" if self.questions else f"the coder {self.parameters.measures.open_coder}"
        return value._replace(reason=f"open questions by {by}")

    def _blocked(self, metric: str) -> Value:
        if isinstance(self.turns, DataError):
            return missing(metric, str(self.turns))
        turns = [turn.index for turn in self.transcript.of("clinician")]
        labels = [self.turns[index] for index in turns if index in self.turns]
        if not labels:
            return missing(metric, _TURNS)
        if len(labels) < len(turns):
            return missing(metric, f"no labels of {len(turns) - len(labels)} of the {len(turns)} clinician turns")
        if metric == "evaluated_turns":
            return Value(metric, float(len(turns)))
        blocked = sum(is_blocked(turn.z, turn.intent, self.parameters) for turn in labels)
        return Value(metric, float(blocked) if metric == "blocked_turns" else blocked / len(turns))

    def _by_turn(self, metric: str) -> Iterator[Value]:
        if isinstance(self.measures, DataError):
            yield missing(metric, str(self.measures))
            return
        if metric == "addressed_by_turn" and self.measures.success.missing:
            yield missing(metric, self.measures.success.missing)
            return
        at = self.measures.addressed_at
        clinician = [turn.index for turn in self.transcript.of("clinician")]
        for number, (turn, revealed) in enumerate(
            zip(clinician, self.measures.cumulative_reveal, strict=True), start=1
        ):
            if metric == "revealed_by_turn":
                yield Value(metric, revealed / self.measures.gold, turn=turn)
            else:
                yield Value(metric, float(at is not None and at <= number), turn=turn)


def _value(metric: str, measured: Measured) -> Value:
    return Value(metric, measured.value) if measured.missing is None else missing(metric, measured.missing)


def _without_labels(metric: str) -> Value:
    if metric == _GOLD:
        return missing(metric, _ANY)
    turns = metric in _OF_TRACE or metric in _BLOCKED or metric in _BY_TURN
    return missing(metric, _TURNS if turns else _FINDINGS if metric in _OF_CATEGORIES else _MATCHES)


def case_values(transcript: Transcript, metrics: Iterable[str], parameters: str) -> Iterator[Value]:
    """The values of metrics, once for each rater that gave labels.

    Args:
        transcript: the conversation, with labels.
        metrics: their names, in order.
        parameters: name or path of the parameter file; it stands in the raters' names unless it is the default one.

    Raises:
        RegistryError: an unknown or bad parameter file, or a coder named there that doesn't exist.
    """
    policy = find_parameters(parameters)
    suffix = "" if parameters == "default" else f"+parameters={policy.name}"
    names = list(metrics)
    evaluator = turn_rater(transcript)
    # Who was to evaluate the turns for a simulated patient did so too where the clinician said nothing.
    raters = label_raters(transcript) or ([evaluator] if evaluator and not transcript.turns else [])
    if not raters:
        for name in names:
            yield _without_labels(name)
        return
    for rater in raters:
        case = LabelledCase(transcript, rater, policy)
        for name in names:
            if case.has_turns_of_the_simulation_only and case.was_not_asked_for(name):
                # Who evaluated the turns for a simulated patient wasn't asked about findings.
                if len(raters) == 1:
                    yield _without_labels(name)
                continue
            for value in case.values(name):
                yield value._replace(rater=rater + suffix)
