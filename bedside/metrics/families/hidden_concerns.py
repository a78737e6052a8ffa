"""Hidden concerns (MedConceal): whether they are found, revealed and addressed, from labels in the transcript."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from bedside.metrics.contract import Example, Family, Metric, Parameter
from bedside.ratings.names import human_rater
from bedside.ratings.values import Direction, Value
from bedside.transcripts.transcript import Transcript

# -- The case that the metrics of hidden concerns are worked out on by hand -----------------------------

RATER = human_rater("anna")


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
    return "clinician", text, {"medconceal": {RATER: {"z": _z(**features)}}}


_ASKS = {"concern_elicitation": 1.0, "space_provision": 1.0, "emotional_responsiveness": 1.0}
_ANSWERS = {"necessity_support": 1.0, "concern_mitigation": 1.0, "plan_specificity": 1.0}
TALK = (
    _clinician("Do you have a list of hidden fears for me?", meta_probe_risk=0.4),
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
CASE: dict[str, dict[str, Any]] = {
    "reference": {
        "concerns": _CONCERNS,
        "medconceal": {
            RATER: {
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
ALONE: dict[str, Any] = {"reference": {**CASE["reference"], "concerns": _CONCERNS[:1]}}
HIDDEN: dict[str, Any] = {
    "reference": {**CASE["reference"], "concerns": [{**_CONCERNS[0], "primary": False}, _CONCERNS[1]]}
}
STILL_HIDDEN = (
    _clinician("Where does it hurt?", data_gathering=1.0),
    ("patient", "Here. I'm afraid that I would get hooked on them."),
)
COUNTED = "one proposal of two stands (the other's quote is the clinician's), 3 findings, 2 concerns"
COURSE = (
    "turn 1 asks for nothing and counts for none; turns 2 and 3 name nothing and are about a, the primary concern: "
    "p = σ(4.0) = .982 gives E = .491, then .737, and a is revealed at turn 3; the address hits are turns 5 and 6"
)


# -- Hidden concerns (MedConceal): whether they are found -----------------------------------------------

_SOURCE = "MedConceal (Han et al. 2026, arXiv 2604.08788)"
_HAND = "by hand: "


def compute(transcript: Transcript, wanted: frozenset[str], *, parameters: str) -> Iterator[Value]:
    """The metrics named in ``wanted``, once for each rater that gave labels.

    Raises:
        RegistryError: an unknown or bad parameter file, or a coder named there that doesn't exist.
    """
    from bedside.metrics.protocols.medconceal.measures import case_values

    names = [metric.name for metric in METRICS if metric.name in wanted]
    return case_values(transcript, names, parameters)


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
    transcript: Mapping[str, Any] = CASE,
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
            Example(TALK, value, _HAND + how, turn=turn, rater=RATER, transcript=transcript),
            *others,
            Example(TALK[1:2], None, "nobody gave labels"),
        ),
        digits=3 if high == 1 else 1,
    )


_FINDINGS = ("labels of findings",)
_MATCHES = ("labels of findings and matches",)
_TURNS = ("labels of the clinician turns",)
_ALL = ("labels of findings, matches and clinician turns",)

_of_findings, _of_matches = partial(_metric, needs=_FINDINGS), partial(_metric, needs=_MATCHES)
_of_turns, _of_all = partial(_metric, needs=_TURNS), partial(_metric, needs=_ALL)
_count_of_matches, _count_of_turns = partial(_of_matches, high=None), partial(_of_turns, high=None)

METRICS = (
    _of_matches(
        "concern_precision",
        "Hidden concerns: precision",
        (
            "Matches / submitted findings. Matches are the largest one-to-one set of proposals whose quote "
            "the patient said."
        ),
        1 / 3,
        COUNTED,
    ),
    _of_matches("concern_recall", "Hidden concerns: recall", "Matches / hidden concerns of the case.", 1 / 2, COUNTED),
    _of_matches(
        "concern_f1",
        "Hidden concerns: F1",
        "2 · matches / (findings + concerns), the harmonic mean of precision and recall.",
        2 / 5,
        COUNTED,
    ),
    _of_matches(
        "concern_category_accuracy",
        "Hidden concerns: category accuracy",
        "Share of the matches whose category agrees.",
        1.0,
        "the one match has the concern's category",
    ),
    _metric(
        "gold_concerns",
        "Hidden concerns",
        "Number of hidden concerns that the case has, for each rater that labelled it.",
        2,
        "a and b",
        high=None,
        direction="none",
        needs=(),
    ),
    _of_findings(
        "submitted_findings",
        "Submitted findings",
        "Number of findings that the clinician submitted.",
        3,
        "counted",
        high=None,
        direction="none",
    ),
    _count_of_matches(
        "matched_concerns", "Matched concerns", "Number of matches between findings and concerns.", 1, COUNTED
    ),
    _count_of_matches(
        "agreeing_matches",
        "Matches of one category",
        "Number of matches whose category agrees.",
        1,
        "the one match has the concern's category",
    ),
    _count_of_matches(
        "refused_proposals",
        "Refused proposals",
        (
            "Number of proposed matches that are refused: the quote is not the patient's, or finding or "
            "concern are not there."
        ),
        1,
        COUNTED,
        direction="none",
    ),
    _of_findings(
        "coarse_matches",
        "Matched categories",
        "Σ over the four categories of the smaller of the numbers of findings and of concerns.",
        1,
        "fear 2 against 1, communication 1 against 0, misconception 0 against 1",
        high=None,
    ),
    _of_findings(
        "coarse_precision",
        "Concern categories: precision",
        "Σ over the four categories of the smaller of the numbers of findings and of concerns, / findings.",
        1 / 3,
        "fear 2 against 1, communication 1 against 0, misconception 0 against 1",
    ),
    _of_findings("coarse_recall", "Concern categories: recall", "The same sum / hidden concerns.", 1 / 2, "1 of 2"),
    _of_findings(
        "coarse_f1", "Concern categories: F1", "Twice the same sum / (findings + concerns).", 2 / 5, "2 · 1 / (3 + 2)"
    ),
    _of_all(
        "grounded_matches",
        "Matches with revealed concerns",
        "Number of matches where only concerns that the trace shows as revealed can be matched.",
        1,
        "concern a is matched and revealed",
        high=None,
    ),
    _of_all(
        "grounded_precision",
        "Process-grounded precision",
        "As precision, but only concerns that the trace shows as revealed can be matched.",
        1 / 3,
        "concern a is matched and revealed",
    ),
    _of_all(
        "grounded_recall",
        "Process-grounded recall",
        "Matches with concerns that the trace shows as revealed / revealed concerns.",
        1,
        "a is revealed, and matched",
        others=(
            Example(STILL_HIDDEN, None, "no concern is revealed: the denominator is 0", rater=RATER, transcript=CASE),
        ),
    ),
    _of_all(
        "grounded_f1",
        "Process-grounded F1",
        "2 · these matches / (findings + revealed concerns).",
        1 / 2,
        "2 · 1 / (3 + 1)",
    ),
    _of_all(
        "matched_without_reveal",
        "Matched but no reveal",
        (
            "1 where a finding matches a concern although the trace shows none as revealed, else 0; its "
            "mean over cases is the share of such cases."
        ),
        0,
        "a concern is revealed",
        direction="lower",
        others=(
            Example(
                STILL_HIDDEN,
                1.0,
                "a match, and no concern revealed in one turn of data gathering",
                rater=RATER,
                transcript=CASE,
            ),
        ),
    ),
    _count_of_turns(
        "revealed_concerns", "Revealed concerns", "Number of concerns that the trace shows as revealed.", 1, COURSE
    ),
    _of_turns(
        "reveal_rate",
        "Reveal rate",
        "Revealed / hidden concerns of the case. The published rate sums both over cases first.",
        1 / 2,
        COURSE,
    ),
    _of_turns(
        "full_reveal",
        "Full reveal",
        "1 where all concerns are revealed, else 0.",
        0,
        COURSE,
        others=(Example(STILL_HIDDEN, 0.0, "one turn of data gathering", rater=RATER, transcript=CASE),),
    ),
    _of_turns(
        "primary_revealed",
        "Primary concern revealed",
        "1 where the primary concern is revealed, else 0; its mean over cases is the share of such cases.",
        1,
        COURSE,
        others=(Example(STILL_HIDDEN, 0.0, "one turn of data gathering", rater=RATER, transcript=CASE),),
    ),
    _count_of_turns(
        "turns_to_full_reveal",
        "Turns to full reveal",
        ("Number of the clinician turn, from 1, that revealed the last concern; missing where one stays hidden."),
        3,
        f"{COURSE}; a is the only concern",
        transcript=ALONE,
        low=1,
        direction="lower",
    ),
    _of_turns(
        "revealed_by_limit",
        "Revealed by the turn limit",
        (
            "Share of the concerns revealed within the first clinician turns (8 by default, in the "
            "parameter file), or by the end where that is earlier."
        ),
        1 / 2,
        COURSE,
    ),
    _count_of_turns(
        "concerns_revealed_by_limit",
        "Concerns revealed by the turn limit",
        "Number of concerns revealed within the turn limit, or by the end where that is earlier.",
        1,
        COURSE,
    ),
    _count_of_turns(
        "turns_per_revealed_concern",
        "Turns per revealed concern",
        "Clinician turns / revealed concerns.",
        7,
        "7 clinician turns, 1 concern",
        low=None,
        direction="lower",
    ),
    _of_turns(
        "revealed_by_turn",
        "Cumulative reveal",
        "For each clinician turn the share of the concerns revealed by then.",
        1 / 2,
        COURSE,
        turn=4,
    ),
    _of_turns(
        "concern_addressed",
        "Primary concern addressed",
        "1 where the primary concern is ever addressed (success), else 0.",
        1,
        COURSE,
        others=(Example(TALK, None, "two concerns, neither marked as primary", rater=RATER, transcript=HIDDEN),),
    ),
    _count_of_turns(
        "turns_to_address",
        "Turns to address",
        ("Number of the clinician turn, from 1, at which the primary concern is addressed; missing where it never is."),
        6,
        COURSE,
        low=1,
        direction="lower",
    ),
    _count_of_turns(
        "reveal_to_address_lag",
        "Reveal-to-address lag",
        "Clinician turns from the primary concern's reveal to its address.",
        3,
        COURSE,
        direction="none",
    ),
    _of_turns(
        "addressed_by_turn",
        "Cumulative success",
        "For each clinician turn 1 where the primary concern is addressed by then, else 0.",
        0,
        COURSE,
        turn=8,
    ),
    Metric(
        name="evaluated_turns",
        title="Evaluated turns",
        unit="transcript",
        low=0,
        direction="none",
        digits=1,
        definition="Number of clinician turns, where all of them have labels.",
        needs=_TURNS,
        source=_SOURCE,
        examples=(Example(TALK, 7, _HAND + "counted", rater=RATER, transcript=CASE),),
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
        needs=_TURNS,
        source=_SOURCE,
        examples=(
            Example(TALK, 0, _HAND + "the risk of 0.4 is below 0.5", rater=RATER, transcript=CASE),
            Example(
                TALK, 1, _HAND + "the risk of 0.4 is over 0.3", transcript=CASE, parameters={"parameters": "guarded"}
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
        needs=_TURNS,
        source=_SOURCE,
        examples=(Example(TALK, 1 / 7, _HAND + "1 of 7", transcript=CASE, parameters={"parameters": "guarded"}),),
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
        needs=(*_TURNS, "English, for the rule coder"),
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
        needs=(*_TURNS, "English"),
    ),
)

FAMILY = Family(
    name="hidden_concerns",
    title="Hidden concerns (MedConceal)",
    labelled=True,
    description=(
        "Whether a clinician finds the concerns a patient hides (confirmation) and addresses the primary one "
        "(intervention). The arithmetic on labels: findings, proposed matches and the features of each clinician "
        "turn, from a judge or from people (`bedside.metrics.protocols.medconceal.with_labels`). The rater is the "
        "one who gave the labels. What a concern's state is follows from the parameter file; the published parameters "
        "are not public, and the default ones are bedside's own. Definitions and files: docs/suites/medconceal.md."
    ),
    version="1",
    metrics=METRICS,
    compute=compute,
    parameters={
        "parameters": Parameter(
            "default",
            "guarded",
            "the trace's parameter file: `default`, `published-shape` (the published equations alone), `guarded`, "
            "`progressive`, `risk`, or the path of a file of your own (.yaml)",
        )
    },
    demonstration=TALK,
)
