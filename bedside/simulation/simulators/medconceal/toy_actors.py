"""Actors that need no model: toys for trying things out, which match English words and understand nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson

from bedside.metrics.coders import CODERS
from bedside.metrics.protocols.medconceal.labels import FEATURES, INTENTS
from bedside.metrics.protocols.medconceal.policy import content, overlap
from bedside.simulation.simulators.calls import ActorReply, ActorRole, Call
from bedside.transcripts.transcript import Transcript, Turn


def _pattern(*alternatives: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(alternatives)})", re.IGNORECASE)


# -- the evaluator ----------------------------------------------------------------------------------

_KINDS = (
    _pattern("fears?\\b", "afraid", "emotion"),
    _pattern("costs?\\b", "money", "financ", "insurance"),
    _pattern("misunderstand", "wrong idea", "misconception", "false belief"),
    _pattern("communicat", "how we talk", "trouble talking"),
)
_AS_SUCH = _pattern(
    "hidden (?:concern|worr)", "(?:categor|kind|type|list)\\w* of (?:\\w+ )?(?:concern|worr)", "not told me"
)
_WORRY = _pattern(
    "worr(?:y|ies|ied)", "on your mind", "bother", "trouble(?:s|d)? you", "weigh", "so hard", "concerns you"
)
_SPACE = _pattern(
    "tell me more", "say more", "go on\\b", "take your time", "like to hear", "i have time", "i'?m listening",
    "what else",
)  # fmt: skip
_FEELING = _pattern(
    "sounds? (?:hard|frightening|lonely|difficult)", "that must", "i'm sorry", "i can see why", "makes sense that",
    "understandable", "no wonder", "thank you for telling", "feel (?:the same|like this)",
)  # fmt: skip
_PARTNER = _pattern(
    "together", "what would you", "what do you think", "how does that sound", "your view", "would it help",
    "you choose", "your own",
)  # fmt: skip
_NEED = _pattern(
    "because", "protects?", "good reasons?", "so that you", "lessens the risk", "you need", "important"
)
_MITIGATES = _pattern(
    "does not mean", "doesn't mean", "is safe", "not harmful", "many people", "there is help", "help for",
    "helps against", "nobody else needs to know", "can change your mind", "you are safe", "is common",
)  # fmt: skip
_PLANS = _pattern(
    "next week", "this week", "on (?:mon|tues|wednes|thurs|fri)day", "i will ring", "call me", "come back", "we start",
    "we begin", "first step", "in two weeks", "appointment", "if it gets worse",
)  # fmt: skip
_FACTS = _pattern(
    "how long", "how many", "how much", "how often", "when did", "what brings", "any pain",
    "do you (?:take|smoke|drink)", "pain\\b", "fever",
)  # fmt: skip


def _evaluation(call: Call) -> dict[str, Any]:
    """A turn evaluator's answer by words."""
    text = str(call.material["utterance"])
    turn = Transcript("turn", (Turn(0, "clinician", "clinician", text),), language="en")
    question = CODERS.load("rules").code(turn).get(0, {}).get("question", "none")
    probe = 1.0 if _AS_SUCH.search(text) or sum(bool(kind.search(text)) for kind in _KINDS) > 2 else 0.0
    worry = bool(_WORRY.search(text)) and not probe
    space = bool(_SPACE.search(text)) and not probe
    z = {
        "data_gathering": 0.9 if _FACTS.search(text) else 0.5 if question == "closed" else 0.0,
        "emotional_responsiveness": 0.8 if _FEELING.search(text) else 0.0,
        "partnership": 0.7 if _PARTNER.search(text) else 0.0,
        "concern_elicitation": 0.9 if worry and (space or question != "none") else 0.0,
        "space_provision": 0.8 if space else 0.4 if question == "open" and not probe else 0.0,
        "necessity_support": 0.7 if _NEED.search(text) else 0.0,
        "concern_mitigation": 0.8 if _MITIGATES.search(text) else 0.0,
        "plan_specificity": 0.8 if _PLANS.search(text) else 0.0,
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


#: Words that a question shares with any fact.
_IDLE = content("take time make good hear look tell come go feel know last week say step thing start")


def _patient(call: Call) -> str:
    """What the patient says: what is due, else a fact that shares words with the question, else little."""
    material = call.material
    said = [line.text for line in call.history if line.role == "patient"]
    if material["due"]:
        return " ".join(sentences[0] for sentences in material["due"])
    if material["blocked"]:
        return _fresh(material["deflections"], said)
    if material["stance"] == "accepting":
        return _fresh(
            (
                "All right, I can live with that. I will give it a try.",
                "Yes, put like that it makes sense to me.",
                "Good. Tell me again how the first step goes, please.",
            ),
            said,
        )
    heard = content(call.history[-1].text) - _IDLE
    facts = sorted(
        (fact for fact in material["facts"] if fact not in said and heard & content(fact)),
        key=lambda fact: -overlap(heard, content(fact)),
    )
    if facts and material["stance"] != "resisting":
        return str(facts[0])
    if material["stance"] == "resisting":
        return _fresh(
            (
                f"I am still not sure. {material['preference']}",
                "And what if it happens all the same?",
                "I hear you, but that does not take the worry away.",
                "Do I really have to do it right now?",
            ),
            said,
        )
    return _fresh(material["deflections"], said)


def _fresh(lines: Sequence[str], said: Sequence[str]) -> str:
    """The first line that wasn't said yet; the one that was said the fewest times where all were."""
    return min(lines or ("I don't know.",), key=lambda line: sum(line in text for text in said))


# -- the clinician ----------------------------------------------------------------------------------

_LINES = (
    "Hello. What would you like to talk about today?",
    "What worries you most about it? Take your time, I would like to hear it.",
    "That sounds hard. What else is on your mind about this? Please say more.",
    "Thank you for telling me. It makes sense that you feel like this. What makes it so hard?",
    "Many people feel the same, and it does not mean that it must go wrong. There are good reasons for it, because it "
    "protects you.",
    "So that you are safe, we start with one small step next week, and I will ring you on Friday.",
    "There is help for just that worry. We begin slowly, and you come back in two weeks.",
    "What would you need in order to try the first step together?",
)
_CATEGORY_WORDS = {
    "financial or insurance concern": _pattern("cost", "pay", "money", "afford", "insurance", "bill"),
    "emotional discomfort or fear": _pattern("afraid", "scared", "frighten", "fear", "ashamed"),
    "communication barrier": _pattern("doctor", "listen", "say(?:ing)? things", "interrupt", "understood"),
    "misinformation or misconception": _pattern(
        "believe", "heard", "read that", "ruins?", "can't harm", "neighbou?r"
    ),
}


def _findings(call: Call) -> list[dict[str, str]]:
    """The patient's sentences with words of a category, one for each category."""
    findings: dict[str, dict[str, str]] = {}
    for line in call.history:
        if line.role != "patient":
            continue
        for sentence in re.split(r"(?<=[.!?])\s+", line.text):
            for category, words in _CATEGORY_WORDS.items():
                if words.search(sentence):
                    findings.setdefault(category, {"category": category, "text": sentence})
    return list(findings.values())


def _clinician(call: Call) -> str:
    if call.purpose == "findings":
        return orjson.dumps({"findings": _findings(call)}).decode()
    if call.purpose == "decision":
        return orjson.dumps(
            {"decision": "STOP" if call.material["number"] >= len(_LINES) else "CONTINUE"}
        ).decode()
    return _LINES[(call.material["number"] - 1) % len(_LINES)]


RULES: Mapping[ActorRole, Callable[[Call], ActorReply]] = {
    "clinician": lambda call: ActorReply(_clinician(call)),
    "patient": lambda call: ActorReply(_patient(call)),
    "evaluator": lambda call: ActorReply(orjson.dumps(_evaluation(call)).decode()),
}
