"""Actors that need no model: toys for trying things out, which match English words and understand nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bedside.metrics.coders.contract import CODERS
from bedside.metrics.protocols.medconceal.labels import FEATURES, INTENTS
from bedside.metrics.protocols.medconceal.policy import content, overlap
from bedside.simulation.simulators.calls import ActorReply, ActorRole, Call
from bedside.simulation.simulators.medconceal.reserved_patient import FOLDER
from bedside.simulation.simulators.toys import ToyWords, beginnings, object_reply
from bedside.transcripts.transcript import Transcript, Turn

_WORDS = ToyWords(FOLDER)


# -- the evaluator ----------------------------------------------------------------------------------


def _evaluation(call: Call) -> dict[str, Any]:
    """A turn evaluator's answer by words."""
    text = str(call.material["utterance"])
    turn = Transcript("turn", (Turn(0, "clinician", "clinician", text),), language="en")
    question = CODERS.load("rules").code(turn).get(0, {}).get("question", "none")
    cues = {name for name, words in _WORDS["cues"].items() if beginnings(words).search(text)}
    kinds = sum(bool(beginnings(words).search(text)) for words in _WORDS["kinds"])
    probe = 1.0 if "as_such" in cues or kinds > 2 else 0.0
    worry, space = "worry" in cues and not probe, "space" in cues and not probe
    z = {
        "data_gathering": 0.9 if "facts" in cues else 0.5 if question == "closed" else 0.0,
        "emotional_responsiveness": 0.8 if "feeling" in cues else 0.0,
        "partnership": 0.7 if "partner" in cues else 0.0,
        "concern_elicitation": 0.9 if worry and (space or question != "none") else 0.0,
        "space_provision": 0.8 if space else 0.4 if question == "open" and not probe else 0.0,
        "necessity_support": 0.7 if "need" in cues else 0.0,
        "concern_mitigation": 0.8 if "mitigates" in cues else 0.0,
        "plan_specificity": 0.8 if "plans" in cues else 0.0,
        "pending_question_coverage": 0.6 if call.material["pending_question"] and question == "none" else 0.0,
        "meta_probe_risk": probe,
    }
    intent = _intent(z)
    rest = 0.2 / (len(INTENTS) - 1)
    return {
        "reason": "Words of a lexicon.",
        **{name: z[name] for name in FEATURES},
        "intent_probabilities": {name: 0.8 if name == intent else rest for name in INTENTS},
        "empathy_strength": z["emotional_responsiveness"],
    }


def _intent(z: Mapping[str, float]) -> str:
    by_feature = {
        "meta_probe": z["meta_probe_risk"],
        "elicit_concern": z["concern_elicitation"],
        "plan": z["plan_specificity"],
        "explain": max(z["necessity_support"], z["concern_mitigation"]) - 0.05,
        "give_space": z["space_provision"] - 0.1,
        "respond_to_emotion": z["emotional_responsiveness"] - 0.1,
        "gather_data": z["data_gathering"] - 0.1,
        "build_partnership": z["partnership"] - 0.1,
    }
    best = max(by_feature, key=by_feature.__getitem__)
    return best if by_feature[best] > 0 else "other"


# -- the patient ------------------------------------------------------------------------------------


def _patient(call: Call) -> str:
    """What the patient says: what is due, else a fact that shares words with the question, else little."""
    material = call.material
    said = [line.text for line in call.history if line.role == "patient"]
    if material["due"]:
        return " ".join(sentences[0] for sentences in material["due"])
    if material["blocked"] or material["asked"]:
        return _fresh(material["deflections"], said)
    if material["stance"] == "accepting":
        return _fresh(_WORDS["accepting"], said)
    heard = content(call.history[-1].text) - content(_WORDS["idle"])
    facts = sorted(
        (fact for fact in material["facts"] if fact not in said and heard & content(fact)),
        key=lambda fact: -overlap(heard, content(fact)),
    )
    if facts and material["stance"] != "resisting":
        return str(facts[0])
    if material["stance"] == "resisting":
        lines = [line.format(preference=material["preference"]) for line in _WORDS["resisting"]]
        return _fresh(lines, said)
    return _fresh(material["deflections"], said)


def _fresh(lines: Sequence[str], said: Sequence[str]) -> str:
    """The first line that wasn't said yet; the one that was said the fewest times where all were."""
    return min(lines or ("I don't know.",), key=lambda line: sum(line in text for text in said))


# -- the clinician ----------------------------------------------------------------------------------


def _findings(call: Call) -> list[dict[str, str]]:
    """The patient's sentences with words of a category, one for each category."""
    findings: dict[str, dict[str, str]] = {}
    for line in call.history:
        if line.role != "patient":
            continue
        for sentence in re.split(r"(?<=[.!?])\s+", line.text):
            for category, words in _WORDS["categories"].items():
                if beginnings(words).search(sentence):
                    findings.setdefault(category, {"category": category, "text": sentence})
    return list(findings.values())


def _clinician(call: Call) -> ActorReply:
    lines, number = _WORDS["clinician"], call.material["number"]
    if call.purpose == "findings":
        return object_reply({"findings": _findings(call)})
    if call.purpose == "decision":
        return object_reply({"decision": "STOP" if number >= len(lines) else "CONTINUE"})
    return ActorReply(lines[(number - 1) % len(lines)])


RULES: Mapping[ActorRole, Callable[[Call], ActorReply]] = {
    "clinician": _clinician,
    "patient": lambda call: ActorReply(_patient(call)),
    "evaluator": lambda call: object_reply(_evaluation(call)),
}
