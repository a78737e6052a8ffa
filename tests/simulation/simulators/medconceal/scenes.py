"""A small case, and actors that are told what to say: evaluators by features, patients and clinicians by texts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from bedside.metrics.protocols.medconceal.labels import FEATURES, INTENTS
from bedside.simulation.simulators.calls import ActorReply, Call
from bedside.simulation.simulators.case import Case
from bedside.simulation.simulators.case_files import read_cases
from bedside.simulation.simulators.medconceal import SIMULATOR
from tests.simulation.simulators.playing import Replies

#: Features of turns that ask and listen, that answer a worry, that gather data.
ASKS = {"concern_elicitation": 1.0, "space_provision": 1.0, "emotional_responsiveness": 1.0}
ANSWERS = {"necessity_support": 1.0, "concern_mitigation": 1.0, "plan_specificity": 1.0}
NOTHING: Mapping[str, float] = {}
PROBE = {"intent": "meta_probe"}
#: Options by which every turn counts for every concern, as the equations are published.
SHAPE: dict[str, Any] = {"parameters": "published-shape"}

CASE = Case.model_validate(
    {
        "id": "ward",
        "origin": "invented",
        "chart": {"Name": "Vera", "Reason for the visit": "dizzy spells"},
        "patient": {
            "narrative": "Vera lives with her cat.",
            "facts": ["I get dizzy when I stand up.", "It began in May.", "I see well."],
            "deflections": ["I would rather not say.", "It is as it is.", "Let us leave it."],
            "style": "Short.",
        },
        "hidden": {
            "concerns": [
                {
                    "id": "a",
                    "category": "emotional discomfort or fear",
                    "text": "She dreads fainting on the escalator like her sister.",
                    "primary": True,
                    "voiced": [
                        "I dread fainting on the escalator, like my sister did.",
                        "My sister fainted on an escalator, and I dread that.",
                    ],
                    "evidence": ["She asked about lifts."],
                },
                {
                    "id": "b",
                    "category": "financial or insurance concern",
                    "text": "The scanner invoice would eat up her holiday savings.",
                    "voiced": ["The scanner invoice would eat up my holiday savings."],
                    "evidence": ["She keeps a jar."],
                },
            ]
        },
        "intervention": {"preference": "I just want drops.", "plan": "Vera drinks more and comes back."},
    }
)


@cache
def bundled() -> dict[str, Case]:
    return {case.id: case for _, case in read_cases([SIMULATOR.cases])}


def evaluation(features: Mapping[str, Any]) -> str:
    """An evaluator's reply with these features, the others at 0; ``intent`` is the intent."""
    intent = features.get("intent", "other")
    return json.dumps(
        {
            "reason": "as scripted",
            **{name: float(features.get(name, 0.0)) for name in FEATURES},
            "intent_probabilities": {name: float(name == intent) for name in INTENTS},
            "empathy_strength": 0.5,
        }
    )


def honest(call: Call) -> str:
    """A patient's reply that says what is due and nothing else."""
    if call.material["due"]:
        return " ".join(sentences[0] for sentences in call.material["due"])
    return f"Well, that is answer number {call.ordinal} of mine to you, in words of its own kind {call.ordinal}."


def actors(
    turns: Sequence[Mapping[str, Any]],
    *,
    patient: Callable[[Call], str | ActorReply] = honest,
    message: Callable[[Call], str | ActorReply] | None = None,
    data: Mapping[str, Iterable[Any]] | None = None,
) -> Replies:
    """Who plays: an evaluator that says ``turns`` in order, the last one again where they run out."""
    given = {purpose: list(values) for purpose, values in (data or {}).items()}

    def reply(call: Call) -> str | ActorReply:
        if call.actor == "evaluator":
            return evaluation(turns[min(call.ordinal, len(turns)) - 1])
        if call.actor == "patient":
            return patient(call)
        if call.purpose == "message":
            return message(call) if message else f"Message {call.ordinal} is of its own {'kind ' * call.ordinal}."
        usual: dict[str, Any] = {"decision": "CONTINUE"} if call.purpose == "decision" else {"findings": []}
        values = given.get(call.purpose, [usual])
        value = values[min(call.ordinal, len(values)) - 1]
        return value if isinstance(value, str | ActorReply) else json.dumps(value)

    return reply
