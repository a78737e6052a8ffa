"""Actors that need no model: toys for trying things out, which match English words and understand nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bedside.metrics.protocols.medconceal.policy import content, overlap
from bedside.simulation.simulators.calls import ActorReply, ActorRole, Call
from bedside.simulation.simulators.multisense.stages import (
    DECIDING,
    EXIT,
    FOLDER,
    FOSTERING,
    GATHERING,
    NAMES,
    PROVIDING,
    RESPONDING,
    guides,
)
from bedside.simulation.simulators.toys import ToyWords, object_reply

_WORDS = ToyWords(FOLDER)
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"“])")
_VITAL = re.compile(r"\b(?:blood pressure|pulse|heart rate|temperature|respirations?)\b", re.IGNORECASE)
_LISTED = re.compile(r"^(?:-|\d+\.) (.*)$", re.MULTILINE)

# -- the patient ------------------------------------------------------------------------------------

#: A fact that shares fewer words than this with a message isn't asked for by it.
_LEAST, _MOST_CHOSEN = 1, 2
#: Nor is one that shares a smaller part of the message's words: who names everything at once asks for nothing.
_LEAST_SHARE = 0.15


def _patient(call: Call) -> dict[str, Any]:
    material = call.material
    if call.purpose == "decomposition":
        sentences = _SENTENCE.split(material["study"])
        vitals = [sentence for sentence in sentences if _VITAL.search(sentence)]
        return {"vitals": vitals, "facts": [sentence for sentence in sentences if sentence not in vitals] or sentences}
    if call.purpose in ("intent", "goal"):
        return {"rationale": "The toy's only answer.", "intent": "journey", "goal": "function"}
    if call.purpose == "opening":
        number = 2 if material["traits"].get("extraversion") == "high" else 1
        facts = [_in_first_person(fact) for fact in material["facts"][1 : 1 + number]]
        return _said(" ".join(("Hello.", *facts, _WORDS["intents"][material["intent"]])))
    heard = call.history[-1].text
    asked = heard.rstrip().endswith("?")
    if call.purpose == "selection":
        return {"reasoning": "Words that are shared.", "facts": _selected(heard, asked, material)}
    if call.purpose == "answer" and call.attempt == 1:
        beginning = "All right. " if material["stage"] >= DECIDING else ""
        return _said(beginning + " ".join(_in_first_person(fact) for fact in material["facts"]))
    lines = _WORDS["denials" if asked and material["stage"] < PROVIDING else "assents"]
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
    words = content(heard) - content(_WORDS["idle"])
    shared = {number: len(words & content(fact)) for number, fact in enumerate(facts, start=1) if number > 1}
    asked = [number for number, count in shared.items() if count >= max(_LEAST, _LEAST_SHARE * len(words))]
    return sorted(sorted(asked, key=lambda number: (-shared[number], number))[:_MOST_CHOSEN])


def _in_first_person(fact: str) -> str:
    """A fact as its person would say it, as far as pronouns and the first verb go."""
    text = re.sub(r"^What you want most", "What I want most", fact)
    text = re.sub(r"^(?:She|He) (\w+(?:'t)?)", _first_person_verb, text)
    text = re.sub(r"\b(?:she|he) (\w+)", _first_person_verb, text)
    text = re.sub(r"\b(?:her|his|your)\b", "my", re.sub(r"^(?:Her|His)\b", "My", text))
    return re.sub(r"\byou\b", "I", text)


def _first_person_verb(match: re.Match[str]) -> str:
    verb = match[1]
    plain = verb[:-1] if verb.endswith("s") and not verb.endswith("ss") else verb
    return f"I {_WORDS['verbs'].get(verb, plain)}"


# -- the evaluator ----------------------------------------------------------------------------------

#: Share of words by which a fact is one that is known, and a message one that was said.
_KNOWN, _REDUNDANT = 0.7, 0.6


def _evaluator(call: Call) -> dict[str, Any]:
    material = call.material
    if call.purpose == "extraction":
        sentences = _SENTENCE.split(str(material["message"]))
        courtesies = {*_WORDS["denials"], *_WORDS["assents"], *_WORDS["intents"].values(), "Hello.", "All right."}
        facts = [text for text in sentences if text not in courtesies and not text.endswith("?")]
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
    stages = {name: stage for stage, name in NAMES.items()}
    for name, cue in _WORDS["cues"].items():
        if re.search(cue, message, re.IGNORECASE):
            return max(stages[name], least)
    return max(GATHERING if message.rstrip().endswith("?") else FOSTERING, least)


# -- the clinician ----------------------------------------------------------------------------------

_STAYS_IN_GATHERING = 2


def _clinician(call: Call) -> ActorReply:
    material = call.material
    if call.purpose == "stage":
        move = material["stage"] != GATHERING or material["stays"] >= _STAYS_IN_GATHERING
        return object_reply(
            {"reasoning": "The toy counts.", "confidence": 8 if move else 2, "decision": "move" if move else "stay"}
        )
    if call.purpose == "candidates":
        lines = _lines(material["stage"], material["facts"])
        fresh = [line for line in lines if line not in material["said"]]
        return object_reply({"reasoning": "The toy's lines.", "candidates": (fresh + list(lines))[:3]})
    heard = [line.text for line in call.history if line.role == "patient"]
    plan = (FOSTERING, GATHERING, GATHERING, GATHERING, PROVIDING, DECIDING, RESPONDING, EXIT)
    place = min(int(material["number"]), len(plan)) - 1
    return ActorReply(_lines(plan[place], heard)[plan[:place].count(plan[place])])


def _lines(stage: int, facts: Sequence[str]) -> tuple[str, ...]:
    """What the toy can say in a stage."""
    lines = _WORDS["lines"][NAMES[stage]]
    if stage != PROVIDING:
        return tuple(lines)
    words = content(" ".join(facts))
    shared = {name: sorted(words & content(cues)) for name, cues in _WORDS["conditions"].items()}
    condition = max(shared, key=lambda name: len(shared[name]))
    why = f"You spoke of {', '.join(shared[condition][:3])}." if shared[condition] else ""
    fixed = guides("en").fixed_sentence
    return tuple(" ".join(line.format(condition=condition, why=why, fixed=fixed).split()) for line in lines)


#: The toys by role.
RULES: Mapping[ActorRole, Callable[[Call], ActorReply]] = {
    "clinician": _clinician,
    "patient": lambda call: object_reply(_patient(call)),
    "evaluator": lambda call: object_reply(_evaluator(call)),
}
