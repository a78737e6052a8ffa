"""Actors that need no model: toys for trying things out, which match English words and understand nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson

from bedside.metrics.protocols.medconceal.policy import content, overlap
from bedside.simulation.simulators.calls import ActorReply, ActorRole, Call
from bedside.simulation.simulators.multisense.prompt_guides import guides
from bedside.simulation.simulators.multisense.stages import (
    DECIDING,
    EXIT,
    FOSTERING,
    GATHERING,
    NAMES,
    PROVIDING,
    RESPONDING,
)

_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"“])")
_VITAL = re.compile(r"\b(?:blood pressure|pulse|heart rate|temperature|respirations?)\b", re.IGNORECASE)
_LISTED = re.compile(r"^(?:-|\d+\.) (.*)$", re.MULTILINE)

# -- the patient ------------------------------------------------------------------------------------

_INTENTS = {
    "interpretation": "I would like to understand what is going on with me.",
    "lifestyle": "I wonder what I can do about it in everyday life.",
    "journey": "I would like to know what would be right for me.",
}
_NO = (
    "No, I don't think so.",
    "Not that I know of.",
    "No, nothing like that.",
    "No, I can't say that.",
    "No, never.",
    "I am not sure, but I believe not.",
)
_YES = (
    "Yes.",
    "I see, yes.",
    "That is kind of you to say.",
    "Yes, that makes sense to me.",
    "All right, I can see that.",
    "Yes, that may well be so.",
    "Thank you, that helps.",
)
#: Words that a message shares with any fact.
_IDLE = content(
    "take time make good hear look tell come go know last week say step thing start day today year need help like "
    "something anything often long much many away people person bring write"
)
#: A fact that shares fewer words than this with a message isn't asked for by it.
_LEAST, _MOST_CHOSEN = 1, 2


def _patient(call: Call) -> dict[str, Any]:
    material = call.material
    if call.purpose == "decomposition":
        sentences = _SENTENCE.split(material["study"])
        vitals = [sentence for sentence in sentences if _VITAL.search(sentence)]
        return {
            "vitals": vitals,
            "facts": [sentence for sentence in sentences if sentence not in vitals] or sentences,
        }
    if call.purpose in ("intent", "goal"):
        return {"rationale": "The toy's only answer.", "intent": "journey", "goal": "function"}
    if call.purpose == "opening":
        number = 2 if material["traits"].get("extraversion") == "high" else 1
        facts = [_in_first_person(fact) for fact in material["facts"][1 : 1 + number]]
        return _said(" ".join(("Hello.", *facts, _INTENTS[material["intent"]])))
    heard = call.history[-1].text
    asked = heard.rstrip().endswith("?")
    if call.purpose == "selection":
        return {"reasoning": "Words that are shared.", "facts": _selected(heard, asked, material)}
    if call.purpose == "answer" and call.attempt == 1:
        beginning = "All right. " if material["stage"] >= DECIDING else ""
        return _said(beginning + " ".join(_in_first_person(fact) for fact in material["facts"]))
    lines = _NO if asked and material["stage"] < PROVIDING else _YES
    return _said(lines[(len(heard) + call.attempt) % len(lines)])


def _selected(heard: str, asked: bool, material: Mapping[str, Any]) -> list[int]:
    """Numbers of facts: what is asked for, or, where a suggestion is made, the goal, which stands first."""
    if material["stage"] == DECIDING:
        return [1]
    return _asked_for(heard, material["facts"]) if asked and material["stage"] < PROVIDING else []


def _said(message: str) -> dict[str, str]:
    return {"reasoning": "The toy's words.", "message": message}


def _asked_for(heard: str, facts: Sequence[str]) -> list[int]:
    """The numbers of the facts that share most words with a message; the first, why somebody writes, never is."""
    words = content(heard) - _IDLE
    shared = {number: len(words & content(fact)) for number, fact in enumerate(facts, start=1) if number > 1}
    asked = [number for number, count in shared.items() if count >= _LEAST]
    return sorted(sorted(asked, key=lambda number: (-shared[number], number))[:_MOST_CHOSEN])


def _in_first_person(fact: str) -> str:
    """A fact as its person would say it, as far as pronouns and the first verb go."""
    text = re.sub(r"^What you want most", "What I want most", fact)
    text = re.sub(r"^(?:She|He) (\w+(?:'t)?)", _first_person_verb, text)
    text = re.sub(r"\b(?:she|he) (\w+)", _first_person_verb, text)
    text = re.sub(r"\b(?:her|his|your)\b", "my", re.sub(r"^(?:Her|His)\b", "My", text))
    return re.sub(r"\byou\b", "I", text)


_VERBS = {
    "has": "have",
    "is": "am",
    "doesn't": "don't",
    "does": "do",
    "goes": "go",
    "was": "was",
    "takes": "take",
}


def _first_person_verb(match: re.Match[str]) -> str:
    verb = match[1]
    plain = verb[:-1] if verb.endswith("s") and not verb.endswith("ss") else verb
    return f"I {_VERBS.get(verb, plain)}"


# -- the evaluator ----------------------------------------------------------------------------------

#: Share of words by which a fact is one that is known, and a message one that was said.
_KNOWN, _REDUNDANT = 0.7, 0.6
_COURTESIES = {*_NO, *_YES, *_INTENTS.values(), "Hello.", "All right."}
#: What shows the stage of a message, the surest first.
_CUES = (
    (EXIT, r"\b(?:goodbye|take care|wish you (?:well|all the best)|come back any time)\b"),
    (PROVIDING, r"\b(?:points? to|sounds? like an? |most likely|probably an? |can't make a diagnosis)"),
    (DECIDING, r"\b(?:you could|would you try|suggest|small step|what if you|how about|one thing to try)\b"),
    (
        RESPONDING,
        r"\b(?:understandable|it makes sense that you feel|frighten\w*|that must|you are not alone)\b",
    ),
)


def _evaluator(call: Call) -> dict[str, Any]:
    material = call.material
    if call.purpose == "extraction":
        sentences = _SENTENCE.split(str(material["message"]))
        facts = [text for text in sentences if text not in _COURTESIES and not text.endswith("?")]
        return {"facts": [text for text in facts if content(text)]}
    if call.purpose == "matching":
        known = [content(text) for text in _LISTED.findall(material["known"])]
        fresh = [content(text) for text in _LISTED.findall(material["fresh"])]
        return {
            "known": [
                number
                for number, words in enumerate(fresh, start=1)
                if any(overlap(own, words) >= _KNOWN for own in known)
            ]
        }
    if call.purpose == "redundancy":
        said = [content(text) for text in _LISTED.findall(material["said"])]
        return {
            str(number): "redundant" if _like(content(text), said) else "not redundant"
            for number, text in enumerate(_LISTED.findall(material["candidates"]), start=1)
        }
    return {"stage": NAMES[_stage_of(str(material["message"]), int(material["stage"]))]}


def _like(words: frozenset[str], said: Sequence[frozenset[str]]) -> bool:
    return any(len(words & own) >= _REDUNDANT * len(words | own) for own in said if words | own)


def _stage_of(message: str, least: int) -> int:
    """The stage that words of a message show, and at least the last one's."""
    for stage, cue in _CUES:
        if re.search(cue, message, re.IGNORECASE):
            return max(stage, least)
    return max(GATHERING if message.rstrip().endswith("?") else FOSTERING, least)


# -- the clinician ----------------------------------------------------------------------------------

_LINES: Mapping[int, tuple[str, ...]] = {
    FOSTERING: (
        "Hello, and thank you for writing. Tell me in your own way what troubles you.",
        "I'm glad that you are here. Please begin wherever you want.",
        "Welcome. What you describe deserves a careful look, and I have time.",
    ),
    GATHERING: (
        "How do you sleep, and how is your energy when you wake in the morning?",
        "When did it begin, and how has your mood been since then?",
        "What do you no longer enjoy or do because of it, at home or at work?",
        "Which medicines or tablets do you take, and do you drink alcohol, coffee or beer?",
        "Is there anything in your family, such as a father, mother or grandmother with a similar illness?",
        "Have there been times when you needed hardly any sleep and your thoughts raced?",
        "Do you notice your pulse, your chest or your breath when it comes over you?",
        "How are your appetite and your weight?",
        "Have you been to a hospital or had tests, and what was found?",
    ),
    PROVIDING: (
        "What you have told me points to {condition}. {why} {fixed}",
        "Taken together, your signs most likely mean {condition}. {why} {fixed}",
        "This sounds like a picture of {condition}. {why} {fixed}",
    ),
    DECIDING: (
        "You could begin with a small step: a fixed hour for getting up, and a short walk after breakfast.",
        "How about writing down each evening what was hard and what was good, for two weeks?",
        "What if you told somebody close to you about it, and asked them to come along to the surgery?",
        "One thing to try is to keep one pleasant hour in the week free, whatever happens.",
    ),
    RESPONDING: (
        "It is understandable that this frightens you. You are not alone with it.",
        "That must weigh on you, and you have carried it with great patience.",
        "It makes sense that you feel uneasy about hearing a name for it.",
        "Whatever you feel about this now is all right, relief as much as sadness.",
    ),
    EXIT: (
        "You know now what it may be and what to do first. Goodbye, and take care.",
        "I wish you all the best with your next step. Come back any time.",
        "Thank you for trusting me with this. Take care of yourself.",
    ),
}
#: Conditions by words that speak for them.
_CONDITIONS: Mapping[str, str] = {
    "panic disorder": "spell pulse race tight chest tingle air supermarket lift motorway nowhere",
    "bipolar disorder": "splendid four hours sleep faster follow debt credit five jobs once restless",
    "a depressive episode": "wake four energy enjoy blame kilo mistake low morning",
    "hazardous use of alcohol": "beer can open evening lads liver blood test yellow shakes",
    "type 2 diabetes that is not well controlled": "sugar thirsty water pill second feet breakfast",
    "fear of exertion after a heart attack": "stent stress walk letter box choir pulse stair medicine",
}
_STAYS_IN_GATHERING = 2


def _clinician(call: Call) -> Any:
    material = call.material
    if call.purpose == "stage":
        move = material["stage"] != GATHERING or material["stays"] >= _STAYS_IN_GATHERING
        return {
            "reasoning": "The toy counts.",
            "confidence": 8 if move else 2,
            "decision": "move" if move else "stay",
        }
    if call.purpose == "candidates":
        lines = _lines(material["stage"], material["facts"])
        fresh = [line for line in lines if line not in material["said"]]
        return {"reasoning": "The toy's lines.", "candidates": (fresh + list(lines))[:3]}
    heard = [line.text for line in call.history if line.role == "patient"]
    plan = (FOSTERING, GATHERING, GATHERING, GATHERING, PROVIDING, DECIDING, RESPONDING, EXIT)
    place = min(int(material["number"]), len(plan)) - 1
    return _lines(plan[place], heard)[plan[:place].count(plan[place])]


def _lines(stage: int, facts: Sequence[str]) -> tuple[str, ...]:
    """What the toy can say in a stage."""
    if stage != PROVIDING:
        return _LINES[stage]
    words = content(" ".join(facts))
    shared = {name: sorted(words & content(cues)) for name, cues in _CONDITIONS.items()}
    condition = max(shared, key=lambda name: len(shared[name]))
    why = f"You spoke of {', '.join(shared[condition][:3])}." if shared[condition] else ""
    fixed = guides("en").fixed_sentence
    return tuple(
        " ".join(line.format(condition=condition, why=why, fixed=fixed).split()) for line in _LINES[stage]
    )


def _reply(value: Any) -> ActorReply:
    return ActorReply(value if isinstance(value, str) else orjson.dumps(value).decode())


#: The toys by role.
RULES: Mapping[ActorRole, Callable[[Call], ActorReply]] = {
    "clinician": lambda call: _reply(_clinician(call)),
    "patient": lambda call: _reply(_patient(call)),
    "evaluator": lambda call: _reply(_evaluator(call)),
}
