"""The toy evaluator of training data: it writes interviews, edits and thoughts by matching words, without a model."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import orjson

from bedside.simulation.simulators.calls import ActorReply, ActorRole, Call
from bedside.simulation.simulators.note2chat.rule_actors import (
    RULES,
    TOY_WORDS,
    answers_to,
    listed_names,
)
from bedside.simulation.simulators.note2chat.vignette import folded, sentences
from bedside.simulation.simulators.toys import object_reply

_WORD = re.compile(r"[a-z]{3,}|\d+|[\u4e00-\u9fff]")
#: Share of a finding's words above which a message conveys it.
_CONVEYED = 0.6


def _tree(material: Mapping[str, Any]) -> dict[str, Any]:
    leaf = {"condition": material["diagnosis"], "confidence": "high", "is_final": True}
    node: dict[str, Any] = {"diagnoses": [leaf]}
    for sentence in reversed(sentences(material["vignette"])):
        node = {"criteria": sentence, "branches": {"yes": node}}
    return {"tree": node}


def _dialogue(material: Mapping[str, Any]) -> dict[str, Any]:
    """The vignette told sentence by sentence, all but the last: that is left for the critic."""
    node, asked = orjson.loads(material["tree"]), []
    while "criteria" in node:
        asked.append(node["criteria"])
        node = node["branches"]["yes"]
    language = material["language"]
    messages = [{"role": "patient", "content": material["complaint"]}]
    for sentence in asked[:-1] or asked:
        messages.append({"role": "doctor", "content": TOY_WORDS["ask"][language]})
        messages.append({"role": "patient", "content": sentence})
    names = [node["diagnoses"][0]["condition"], *TOY_WORDS["diagnoses"][language]]
    ranked = {folded(name): name for name in names}
    listed = [
        {"disease": name, "reason": TOY_WORDS["reason"][language]} for name in list(ranked.values())[:5]
    ]
    return {"conversation": messages, "preliminary_diagnoses": listed}


def _place(material: Mapping[str, Any]) -> dict[str, Any]:
    words = _words(material["finding"])
    conveying = [
        (number, role)
        for number, (role, text) in enumerate(material["messages"])
        if len(words & _words(text)) > _CONVEYED * len(words)
    ]
    by_patient = [number for number, role in conveying if role == "patient"]
    by_doctor = [number for number, role in conveying if role == "clinician"]
    return {
        "opening": by_patient[:1] == [0],
        "last": max((number for number, _ in conveying if number), default=None),
        "patient_first": min(by_patient, default=None),
        "doctor_first": min(by_doctor, default=None),
    }


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))


def _critic(material: Mapping[str, Any]) -> dict[str, Any]:
    """An exchange for each missing finding, after the last message."""
    missing = [line.removeprefix("- ") for line in material["missing"].splitlines() if line.startswith("- ")]
    last = len(material["conversation"].splitlines()) - 1
    ask = TOY_WORDS["ask"][material["language"]]
    return {
        "edits": [
            {"add_turn": last, "doctor": ask, "patient": text, "comment": "missing"} for text in missing
        ]
    }


def _rank(material: Mapping[str, Any]) -> dict[str, Any]:
    names = [folded(name) for name in material["candidates"]]
    truth = folded(material["diagnosis"])
    return {"candidate": names.index(truth) if truth in names else None}


def _summary(material: Mapping[str, Any]) -> dict[str, Any]:
    question, answer = material["question"], material["answer"]
    return {"summary": f"{question} – {answer}" if question else answer}


def _candidate(call: Call) -> ActorReply:
    """Four questions, others at each turn, and then a ranking of the toy's diagnoses that begins with another."""
    material = call.material
    language, number = material["language"], material["number"]
    if number % 5:
        questions = TOY_WORDS["questions"][language]
        return ActorReply(questions[(material["turn"] + number) % len(questions)])
    names = TOY_WORDS["diagnoses"][language]
    first = (material["turn"] + number // 5) % len(names)
    turned = (*names[first:], *names[:first])
    return ActorReply("\n".join(f"{rank}. {name}" for rank, name in enumerate(turned, start=1)))


def _told(material: Mapping[str, Any]) -> dict[str, Any]:
    said = _words(material["answer"])
    return {
        "findings": [
            number
            for number, finding in enumerate(material["findings"])
            if len(_words(finding) & said) > _CONVEYED * len(_words(finding))
        ]
    }


_REPLIES: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "decision_tree": _tree,
    "guided_dialogue": _dialogue,
    "finding_place": _place,
    "critic": _critic,
    "diagnosis_place": _rank,
    "exchange_summary": _summary,
    "diagnosis_reading": lambda material: {"diagnoses": listed_names(material["message"])},
    "exchange_findings": _told,
    "answered_before": lambda material: {
        "answered": ("clinician", material["question"]) in material["messages"]
    },
    "answerable": lambda material: {
        "answerable": bool(answers_to(material["question"], material["sentences"]))
    },
    "message_plan": lambda material: {
        "plan": f"({material['summaries'].count('turn')}) {material['message']}"
    },
}


def training_evaluator(call: Call) -> ActorReply:
    """The toy's reply to a call of the preparation of notes or of the making of training data."""
    reply = _REPLIES.get(call.purpose)
    return RULES["evaluator"](call) if reply is None else object_reply(reply(call.material))


#: The toys that make training data, by role.
TRAINING_RULES: Mapping[ActorRole, Callable[[Call], ActorReply]] = {
    "clinician": _candidate,
    "patient": RULES["patient"],
    "evaluator": training_evaluator,
}
