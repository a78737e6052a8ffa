"""The case that the metrics of hidden concerns are worked out on by hand."""

from __future__ import annotations

from typing import Any

from bedside.ratings.names import human_rater

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
HIDDEN = {
    "reference": {**CASE["reference"], "concerns": [{**_CONCERNS[0], "primary": False}, _CONCERNS[1]]},
}
STILL_HIDDEN = (
    _clinician("Where does it hurt?", data_gathering=1.0),
    ("patient", "Here. I'm afraid that I would get hooked on them."),
)
COUNTED = "one proposal of two stands (the other's quote is the clinician's), 3 findings, 2 concerns"
COURSE = (
    "turn 1 gives p = σ(−0.8) = .31 and E = .155; turns 2 and 3 give p = σ(4.0) = .982 for a and σ(3.6)"
    " = .973 for b, "
    "so that E is .569 and .564, then .775 and .769: both are revealed at turn 3; the address hits are turns 5 and 6"
)
