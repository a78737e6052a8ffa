"""Hidden concerns (MedConceal): whether they are found, revealed and addressed, from labels in the transcript."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bedside.metrics.contract import Example, Family, Metric, Parameter
from bedside.ratings.values import Direction, Value, missing
from bedside.support.errors import DataError
from bedside.transcripts.transcript import Transcript

if TYPE_CHECKING:
    from bedside.protocols.measured import Measured
    from bedside.protocols.medconceal import CaseScore, CaseTrace, Concern, Parameters, Trace
    from bedside.protocols.medconceal.labels import ConcernLabels

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
    "refused_proposals": lambda case: _count(sum(each.refused is not None for each in case.proposals)),
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
    from bedside.protocols.measured import Measured

    return Measured(float(number))


def _grounded(case: CaseScore, part: str) -> Measured:
    found: Measured = getattr(case.grounded, part)
    return found


def _parameters(name: str) -> Parameters:
    from bedside.protocols.medconceal import PARAMETERS

    path = Path(name)
    if path.suffix == ".yaml" and path.is_file():
        return _parsed(name, path.stat().st_mtime_ns)
    return PARAMETERS.find(name)


@lru_cache(maxsize=8)
def _parsed(name: str, _changed: int) -> Parameters:
    """A file of the user's own, read once and not for every transcript."""
    from bedside.protocols.medconceal import PARAMETERS

    return PARAMETERS.find(name)


class _Case:
    """One rater's labels of one transcript, and what follows from them; an error in place of what can't be had."""

    def __init__(self, transcript: Transcript, rater: str, parameters: Parameters) -> None:
        from bedside.protocols.medconceal import concerns_of, rater_labels

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
    def course(self) -> Trace | DataError:
        from bedside.protocols.medconceal import trace

        if isinstance(self.labels, DataError):
            return self.labels
        if isinstance(self.concerns, DataError):
            return self.concerns
        if not self.labels.turns:
            return DataError(_TURNS)
        try:
            return trace(self.transcript, self.concerns, self.labels.turns, self.parameters)
        except DataError as error:
            return error

    @cached_property
    def trace(self) -> CaseTrace | DataError:
        from bedside.protocols.medconceal import measure

        if isinstance(self.course, DataError):
            return self.course
        settings = self.parameters.measures
        return measure(
            self.transcript,
            self.course,
            turn_limit=settings.turn_limit,
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
        from bedside.protocols.medconceal import score_case

        if isinstance(self.labels, DataError):
            return self.labels
        if isinstance(self.concerns, DataError):
            return self.concerns
        if self.labels.findings is None:
            return DataError(_FINDINGS)
        revealed = None if isinstance(self.course, DataError) else self.course.revealed_at
        return score_case(
            self.transcript, self.concerns, self.labels.findings, self.labels.matches or (), revealed
        )

    def lacks_matches(self) -> bool:
        return not isinstance(self.labels, DataError) and self.labels.matches is None

    def values(self, metric: str) -> Iterator[Value]:
        if metric == _GOLD:
            yield (
                missing(metric, str(self.concerns))
                if isinstance(self.concerns, DataError)
                else Value(metric, float(len(self.concerns)))
            )
        elif metric in _BLOCKED:
            yield self._blocked(metric)
        elif metric in _BY_TURN:
            yield from self._by_turn(metric)
        elif metric in _OF_TRACE:
            yield self._of_trace(metric)
        elif isinstance(self.score, DataError):
            yield missing(metric, str(self.score))
        elif metric in _OF_CATEGORIES:
            yield _value(metric, _OF_CATEGORIES[metric](self.score))
        elif self.lacks_matches():
            yield missing(metric, _MATCHES)
        elif metric in _OF_MATCHING:
            yield _value(metric, _OF_MATCHING[metric](self.score))
        elif isinstance(self.course, DataError):
            yield missing(metric, str(self.course))
        else:
            yield _value(metric, _OF_BOTH[metric](self.score))

    def _of_trace(self, metric: str) -> Value:
        if isinstance(self.trace, DataError):
            return missing(metric, str(self.trace))
        value = _value(metric, _OF_TRACE[metric](self.trace))
        if metric != "open_after_address" or value.error is not None:
            return value
        by = (
            "the rater's own labels" if self.questions else f"the coder {self.parameters.measures.open_coder}"
        )
        return value._replace(reason=f"open questions by {by}")

    def _blocked(self, metric: str) -> Value:
        from bedside.protocols.medconceal.trace import is_blocked

        if isinstance(self.labels, DataError):
            return missing(metric, str(self.labels))
        turns = [turn.index for turn in self.transcript.of("clinician")]
        labels = [self.labels.turns[index] for index in turns if index in self.labels.turns]
        if not labels:
            return missing(metric, _TURNS)
        if len(labels) < len(turns):
            return missing(
                metric, f"no labels of {len(turns) - len(labels)} of the {len(turns)} clinician turns"
            )
        if metric == "evaluated_turns":
            return Value(metric, float(len(turns)))
        blocked = sum(is_blocked(each.z, each.intent, self.parameters) for each in labels)
        return Value(metric, float(blocked) if metric == "blocked_turns" else blocked / len(turns))

    def _by_turn(self, metric: str) -> Iterator[Value]:
        if isinstance(self.trace, DataError):
            yield missing(metric, str(self.trace))
            return
        if metric == "addressed_by_turn" and self.trace.success.missing:
            yield missing(metric, self.trace.success.missing)
            return
        at = self.trace.addressed_at
        clinician = [turn.index for turn in self.transcript.of("clinician")]
        for number, (turn, revealed) in enumerate(
            zip(clinician, self.trace.cumulative_reveal, strict=True), start=1
        ):
            if metric == "revealed_by_turn":
                yield Value(metric, revealed / self.trace.gold, turn=turn)
            else:
                yield Value(metric, float(at is not None and at <= number), turn=turn)


def _value(metric: str, found: Measured) -> Value:
    return Value(metric, found.value) if found.missing is None else missing(metric, found.missing)


def _without_labels(metric: str) -> Value:
    if metric == _GOLD:
        return missing(metric, _ANY)
    turns = metric in _OF_TRACE or metric in _BLOCKED or metric in _BY_TURN
    return missing(metric, _TURNS if turns else _FINDINGS if metric in _OF_CATEGORIES else _MATCHES)


def compute(transcript: Transcript, wanted: frozenset[str], *, parameters: str) -> Iterator[Value]:
    """The metrics named in ``wanted``, once for each rater that gave labels.

    Raises:
        RegistryError: an unknown or bad parameter file, or a coder named there that doesn't exist.
    """
    from bedside.protocols.medconceal import label_raters

    chosen = _parameters(parameters)
    suffix = "" if parameters == "default" else f"+parameters={chosen.name}"
    names = [metric.name for metric in METRICS if metric.name in wanted]
    raters = label_raters(transcript)
    if not raters:
        for name in names:
            yield _without_labels(name)
        return
    for rater in raters:
        case = _Case(transcript, rater, chosen)
        for name in names:
            for value in case.values(name):
                yield value._replace(rater=rater + suffix)


_SOURCE = "MedConceal (Han et al. 2026, arXiv 2604.08788)"
_HAND = "by hand: "
_RATER = "human:anna"


def _z(**features: float) -> dict[str, float]:
    from_zero = dict.fromkeys(
        (
            "data_gathering", "emotional_responsiveness", "partnership", "concern_elicitation", "space_provision",
            "necessity_support", "concern_mitigation", "plan_specificity", "pending_question_coverage",
            "meta_probe_risk",
        ),
        0.0,
    )  # fmt: skip
    return {**from_zero, **features}


def _clinician(text: str, **features: float) -> tuple[Any, ...]:
    return "clinician", text, {"medconceal": {_RATER: {"z": _z(**features)}}}


_ASKS = {"concern_elicitation": 1.0, "space_provision": 1.0, "emotional_responsiveness": 1.0}
_ANSWERS = {"necessity_support": 1.0, "concern_mitigation": 1.0, "plan_specificity": 1.0}
_TALK = (
    _clinician("Do you have a list of hidden worries for me?", meta_probe_risk=0.4),
    ("patient", "No."),
    _clinician("What worries you about the tablets?", **_ASKS),
    ("patient", "Nothing much."),
    _clinician("You hesitate. I would like to hear it.", **_ASKS),
    ("patient", "I'm afraid that I would get hooked on them."),
    _clinician("They are not habit-forming, and your heart needs them.", **_ANSWERS),
    ("patient", "Good to know."),
    _clinician("We start low and I ring you on Friday.", **_ANSWERS),
    ("patient", "All right."),
    _clinician("And if you feel drowsy, call me at once.", **_ANSWERS),
    ("patient", "I'm still not sure. Do I really have to start now?"),
    _clinician("What would you like to know first?", **_ASKS),
    ("patient", "Whether I can drive."),
)
_CONCERNS: list[dict[str, Any]] = [
    {"id": "a", "category": "emotional discomfort or fear", "text": "Afraid of dependence", "primary": True},
    {"id": "b", "category": "misinformation or misconception", "text": "Takes herbs to be safe"},
]
_CASE: dict[str, dict[str, Any]] = {
    "reference": {
        "concerns": _CONCERNS,
        "medconceal": {
            _RATER: {
                "findings": [
                    {"category": "emotional discomfort or fear", "text": "Fears becoming dependent"},
                    {"category": "emotional discomfort or fear", "text": "Trusts herbs more"},
                    {"category": "communication barrier", "text": "Wants a letter"},
                ],
                "matches": [
                    {"finding": 0, "concern": "a", "quote": "afraid that I would get hooked on them"},
                    {"finding": 1, "concern": "b", "quote": "They are not habit-forming"},
                ],
            }
        },
    }
}
_HIDDEN = {
    "reference": {**_CASE["reference"], "concerns": [{**_CONCERNS[0], "primary": False}, _CONCERNS[1]]},
}
_STILL_HIDDEN = (
    _clinician("Where does it hurt?", data_gathering=1.0),
    ("patient", "Here. I'm afraid that I would get hooked on them."),
)
_COUNTED = "one proposal of two stands (the other's quote is the clinician's), 3 findings, 2 concerns"
_COURSE = (
    "turn 1 gives p = σ(−0.8) = .31 and E = .155; turns 2 and 3 give p = σ(4.0) = .982 for a and σ(3.6)"
    " = .973 for b, "
    "so that E is .569 and .564, then .775 and .769: both are revealed at turn 3; the address hits are turns 5 and 6"
)


def _metric(
    name: str,
    title: str,
    definition: str,
    value: float,
    how: str,
    *,
    low: float | None = 0,
    high: float | None = 1,
    direction: Direction = "higher",
    needs: tuple[str, ...],
    turn: int | None = None,
    others: tuple[Example, ...] = (),
) -> Metric:
    return Metric(
        name=name,
        title=title,
        unit="transcript" if turn is None else "turn",
        low=low,
        high=high,
        direction=direction,
        definition=definition,
        needs=("hidden concerns in the reference", *needs),
        source=_SOURCE,
        examples=(
            Example(_TALK, value, _HAND + how, turn=turn, rater=_RATER, transcript=_CASE),
            *others,
            Example(_TALK[1:2], None, "nobody gave labels"),
        ),
        digits=3 if high == 1 else 1,
    )


_F = ("labels of findings",)
_M = ("labels of findings and matches",)
_T = ("labels of the clinician turns",)
_B = ("labels of findings, matches and clinician turns",)

METRICS = (
    _metric(
        "concern_precision",
        "Hidden concerns: precision",
        (
            "Matches / submitted findings. Matches are the largest one-to-one set of proposals whose quote "
            "the patient said."
        ),
        1 / 3,
        _COUNTED,
        needs=_M,
    ),
    _metric(
        "concern_recall",
        "Hidden concerns: recall",
        "Matches / hidden concerns of the case.",
        1 / 2,
        _COUNTED,
        needs=_M,
    ),
    _metric(
        "concern_f1",
        "Hidden concerns: F1",
        "2 · matches / (findings + concerns), the harmonic mean of precision and recall.",
        2 / 5,
        _COUNTED,
        needs=_M,
    ),
    _metric(
        "concern_category_accuracy",
        "Hidden concerns: category accuracy",
        "Share of the matches whose category agrees.",
        1.0,
        "the one match has the concern's category",
        needs=_M,
    ),
    _metric(
        _GOLD,
        "Hidden concerns",
        "Number of hidden concerns that the case has, for each rater that labelled it.",
        2,
        "a and b",
        high=None,
        direction="none",
        needs=(),
    ),
    _metric(
        "submitted_findings",
        "Submitted findings",
        "Number of findings that the clinician submitted.",
        3,
        "counted",
        high=None,
        direction="none",
        needs=_F,
    ),
    _metric(
        "matched_concerns",
        "Matched concerns",
        "Number of matches between findings and concerns.",
        1,
        _COUNTED,
        high=None,
        needs=_M,
    ),
    _metric(
        "agreeing_matches",
        "Matches of one category",
        "Number of matches whose category agrees.",
        1,
        "the one match has the concern's category",
        high=None,
        needs=_M,
    ),
    _metric(
        "refused_proposals",
        "Refused proposals",
        (
            "Number of proposed matches that are refused: the quote is not the patient's, or finding or "
            "concern are not there."
        ),
        1,
        _COUNTED,
        high=None,
        direction="none",
        needs=_M,
    ),
    _metric(
        "coarse_matches",
        "Matched categories",
        "Σ over the four categories of the smaller of the numbers of findings and of concerns.",
        1,
        "fear 2 against 1, communication 1 against 0, misconception 0 against 1",
        high=None,
        needs=_F,
    ),
    _metric(
        "coarse_precision",
        "Concern categories: precision",
        "Σ over the four categories of the smaller of the numbers of findings and of concerns, / findings.",
        1 / 3,
        "fear 2 against 1, communication 1 against 0, misconception 0 against 1",
        needs=_F,
    ),
    _metric(
        "coarse_recall",
        "Concern categories: recall",
        "The same sum / hidden concerns.",
        1 / 2,
        "1 of 2",
        needs=_F,
    ),
    _metric(
        "coarse_f1",
        "Concern categories: F1",
        "Twice the same sum / (findings + concerns).",
        2 / 5,
        "2 · 1 / (3 + 2)",
        needs=_F,
    ),
    _metric(
        "grounded_matches",
        "Matches with revealed concerns",
        "Number of matches where only concerns that the trace shows as revealed can be matched.",
        1,
        "concern a is matched and revealed",
        high=None,
        needs=_B,
    ),
    _metric(
        "grounded_precision",
        "Process-grounded precision",
        "As precision, but only concerns that the trace shows as revealed can be matched.",
        1 / 3,
        "concern a is matched and revealed",
        needs=_B,
    ),
    _metric(
        "grounded_recall",
        "Process-grounded recall",
        "Matches with concerns that the trace shows as revealed / revealed concerns.",
        1 / 2,
        "a and b are revealed, a is matched",
        needs=_B,
        others=(
            Example(
                _STILL_HIDDEN,
                None,
                "no concern is revealed: the denominator is 0",
                rater=_RATER,
                transcript=_CASE,
            ),
        ),
    ),
    _metric(
        "grounded_f1",
        "Process-grounded F1",
        "2 · these matches / (findings + revealed concerns).",
        2 / 5,
        "2 · 1 / (3 + 2)",
        needs=_B,
    ),
    _metric(
        "matched_without_reveal",
        "Matched but no reveal",
        (
            "1 where a finding matches a concern although the trace shows none as revealed, else 0; its "
            "mean over cases is the share of such cases."
        ),
        0,
        "concerns are revealed",
        direction="lower",
        needs=_B,
        others=(
            Example(
                _STILL_HIDDEN,
                1.0,
                "a match, and no concern revealed in one turn of data gathering",
                rater=_RATER,
                transcript=_CASE,
            ),
        ),
    ),
    _metric(
        "revealed_concerns",
        "Revealed concerns",
        "Number of concerns that the trace shows as revealed.",
        2,
        _COURSE,
        high=None,
        needs=_T,
    ),
    _metric(
        "reveal_rate",
        "Reveal rate",
        "Revealed / hidden concerns of the case. The published rate sums both over cases first.",
        1,
        _COURSE,
        needs=_T,
    ),
    _metric(
        "full_reveal",
        "Full reveal",
        "1 where all concerns are revealed, else 0.",
        1,
        _COURSE,
        needs=_T,
        others=(Example(_STILL_HIDDEN, 0.0, "one turn of data gathering", rater=_RATER, transcript=_CASE),),
    ),
    _metric(
        "turns_to_full_reveal",
        "Turns to full reveal",
        (
            "Number of the clinician turn, from 1, that revealed the last concern; missing where one stays "
            "hidden."
        ),
        3,
        _COURSE,
        low=1,
        high=None,
        direction="lower",
        needs=_T,
    ),
    _metric(
        "revealed_by_limit",
        "Revealed by the turn limit",
        (
            "Share of the concerns revealed within the first clinician turns (8 by default, in the "
            "parameter file), or by the end where that is earlier."
        ),
        1,
        _COURSE,
        needs=_T,
    ),
    _metric(
        "concerns_revealed_by_limit",
        "Concerns revealed by the turn limit",
        "Number of concerns revealed within the turn limit, or by the end where that is earlier.",
        2,
        _COURSE,
        high=None,
        needs=_T,
    ),
    _metric(
        "turns_per_revealed_concern",
        "Turns per revealed concern",
        "Clinician turns / revealed concerns.",
        7 / 2,
        "7 clinician turns, 2 concerns",
        low=None,
        high=None,
        direction="lower",
        needs=_T,
    ),
    _metric(
        "revealed_by_turn",
        "Cumulative reveal",
        "For each clinician turn the share of the concerns revealed by then.",
        1,
        _COURSE,
        turn=4,
        needs=_T,
    ),
    _metric(
        "concern_addressed",
        "Primary concern addressed",
        "1 where the primary concern is ever addressed (success), else 0.",
        1,
        _COURSE,
        needs=_T,
        others=(
            Example(_TALK, None, "two concerns, neither marked as primary", rater=_RATER, transcript=_HIDDEN),
        ),
    ),
    _metric(
        "turns_to_address",
        "Turns to address",
        (
            "Number of the clinician turn, from 1, at which the primary concern is addressed; missing where"
            " it never is."
        ),
        6,
        _COURSE,
        low=1,
        high=None,
        direction="lower",
        needs=_T,
    ),
    _metric(
        "reveal_to_address_lag",
        "Reveal-to-address lag",
        "Clinician turns from the primary concern's reveal to its address.",
        3,
        _COURSE,
        high=None,
        direction="none",
        needs=_T,
    ),
    _metric(
        "addressed_by_turn",
        "Cumulative success",
        "For each clinician turn 1 where the primary concern is addressed by then, else 0.",
        0,
        _COURSE,
        turn=8,
        needs=_T,
    ),
    Metric(
        name="evaluated_turns",
        title="Evaluated turns",
        unit="transcript",
        low=0,
        direction="none",
        digits=1,
        definition="Number of clinician turns, where all of them have labels.",
        needs=_T,
        source=_SOURCE,
        examples=(Example(_TALK, 7, _HAND + "counted", rater=_RATER, transcript=_CASE),),
    ),
    Metric(
        name="blocked_turns",
        title="Blocked turns",
        unit="transcript",
        low=0,
        direction="lower",
        digits=1,
        definition=(
            "Number of clinician turns taken as probing for categories of hidden concerns; they change "
            "nothing in the trace."
        ),
        needs=_T,
        source=_SOURCE,
        examples=(
            Example(_TALK, 0, _HAND + "the risk of 0.4 is below 0.5", rater=_RATER, transcript=_CASE),
            Example(
                _TALK,
                1,
                _HAND + "the risk of 0.4 is over 0.3",
                transcript=_CASE,
                parameters={"parameters": "guarded"},
            ),
        ),
    ),
    Metric(
        name="meta_probe_rate",
        title="Meta-probe rate",
        unit="transcript",
        low=0,
        high=1,
        direction="lower",
        digits=3,
        definition="Blocked turns / clinician turns.",
        needs=_T,
        source=_SOURCE,
        examples=(
            Example(_TALK, 1 / 7, _HAND + "1 of 7", transcript=_CASE, parameters={"parameters": "guarded"}),
        ),
    ),
    _metric(
        "open_after_address",
        "Open questions after address",
        (
            "Share of the clinician turns after the one that addressed the primary concern that ask an open"
            " question, as the rater labelled them, or else by the rule coder or the coder named in the "
            "parameter file (the reason says which); missing where the conversation stops there."
        ),
        1,
        "the one turn after turn 6 is an open question",
        direction="none",
        needs=(*_T, "English, for the rule coder"),
    ),
    _metric(
        "challenge_after_address",
        "Challenge after address",
        (
            "Share of the patient turns after the one that addressed the primary concern with a challenge "
            "cue: continued worry, hesitation, or asking to avoid the plan; missing where the conversation "
            "stops there."
        ),
        1 / 2,
        "the first of the two patient turns after turn 6 has cues",
        direction="lower",
        needs=(*_T, "English"),
    ),
)

FAMILY = Family(
    name="hidden_concerns",
    title="Hidden concerns (MedConceal)",
    description=(
        "Whether a clinician finds the concerns a patient hides (confirmation) and addresses the primary one "
        "(intervention). The arithmetic on labels: findings, proposed matches and the features of each clinician "
        "turn, from a judge or from people (`bedside.protocols.medconceal.with_labels`). The rater is the one who "
        "gave the labels. What a concern's state is follows from the parameter file; the published parameters are "
        "not public, and the default ones are bedside's own. Definitions and files: docs/medconceal.md."
    ),
    version="1",
    metrics=METRICS,
    compute=compute,
    parameters={
        "parameters": Parameter(
            "default",
            "guarded",
            "the trace's parameter file: `default`, `guarded`, or the path of a file of your own (.yaml)",
        ),
    },
    demonstration=_TALK,
)
