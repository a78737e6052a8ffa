"""Actors of the interview that need no model: toys for trying things out, which match words and understand nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from itertools import takewhile
from typing import Any, get_args

import orjson

from bedside.metrics.protocols.note2chat.labels import Category
from bedside.simulation.simulators.calls import ActorReply, ActorRole, Call
from bedside.simulation.simulators.note2chat.vignette import FOLDER, folded, sentences
from bedside.simulation.simulators.toys import ToyWords, object_reply

#: What the toys say and listen for.
TOY_WORDS = ToyWords(FOLDER)
_ASPECTS: tuple[Category, ...] = get_args(Category)

_WORD = re.compile(r"[a-z]{3,}|[\u4e00-\u9fff]")
#: Share of a question's words that a sentence holds, above which it is an answer.
_SHARED = 0.3

#: Where a note's clinic begins its own work.
_CLINIC = re.compile(
    r"\b(?:in the (?:ed|emergency department)|on arrival|was (?:given|admitted|started|transferred|treated)|on exam"
    r"|vital signs|chest x-?ray|ct (?:scan|of)|ultrasound|labs)\b|急诊|收入院|给予|查体",
    re.IGNORECASE,
)
_LISTED = re.compile(r"^\s*\d+\s*[.)、．]\s*(.+?)\s*$", re.MULTILINE)


def _patient(call: Call) -> ActorReply:
    material = call.material
    if call.purpose == "opening":
        complaint = str(material["complaint"]).strip().rstrip(".。")
        return ActorReply(
            f"医生，我{complaint}。"
            if material["language"] == "zh"
            else f"Doctor, it is about this: {complaint[:1].lower()}{complaint[1:]}."
        )
    question = call.history[-1].text
    said = [line.text for line in call.history if line.role == "patient"]
    asked = [line.text for line in call.history[:-1] if line.role == "clinician"]
    answers = answers_to(question, material["sentences"])
    unsaid = [answer for answer in answers if answer not in said]
    if question in asked or (answers and not unsaid):
        return ActorReply(material["already_asked"])
    return ActorReply(unsaid[0] if unsaid else material["dont_know"])


def answers_to(question: str, candidates: tuple[str, ...]) -> list[str]:
    """The sentences that share enough with a question, what shares most first."""
    words = _words(question)
    aspects = _aspects(question, "question_cues")
    scored = [
        (
            len(words & _words(sentence)) / max(1, len(words))
            + len(aspects & _aspects(sentence, "sentence_cues")) / max(1, len(aspects)),
            -number,
        )
        for number, sentence in enumerate(candidates)
    ]
    return [candidates[-place] for score, place in sorted(scored, reverse=True) if score >= _SHARED]


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold())) - {*TOY_WORDS["empty_words"].split(), *TOY_WORDS["empty_characters"]}


def _aspects(text: str, cues: str) -> set[Category]:
    plain = text.casefold()
    return {aspect for aspect, pattern in _patterns(cues).items() if pattern.search(plain)}


@cache
def _patterns(cues: str) -> dict[Category, re.Pattern[str]]:
    """What a word of a text begins with, by aspect."""
    begun = {aspect: [(r"\b" if word.isascii() else "") + re.escape(word) for word in words]
             for aspect, words in TOY_WORDS[cues].items()}  # fmt: skip
    return {aspect: re.compile("|".join(words)) for aspect, words in begun.items()}


def _clinician(call: Call) -> ActorReply:
    if call.purpose == "decision":
        return object_reply({"diagnoses": listed_names(call.material["message"])})
    language = call.material["language"]
    number = sum(line.role == "clinician" for line in call.history)
    questions, diagnoses = TOY_WORDS["questions"][language], TOY_WORDS["diagnoses"][language]
    if not call.material["last"] and number < len(questions):
        text, ranking = questions[number], None
    else:
        ranking = diagnoses
        text = "\n".join(f"{rank}. {name}" for rank, name in enumerate(diagnoses, start=1))
    return ActorReply(text) if call.schema is None else object_reply({"message": text, "diagnoses": ranking})


def listed_names(message: str) -> list[str] | None:
    """The numbered lines of a message."""
    return _LISTED.findall(message) or None


def _split(material: Mapping[str, Any]) -> dict[str, Any]:
    before = takewhile(lambda part: not _CLINIC.search(part), sentences(material["history"]))
    return {"before": " ".join(before)}


def _finding_aspects(material: Mapping[str, Any]) -> dict[str, Any]:
    about = _aspects(material["finding"], "sentence_cues")
    return {aspect: aspect in about for aspect in _ASPECTS}


#: What the toy evaluator replies, by purpose.
_EVALUATIONS: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "decision": lambda material: {"diagnoses": listed_names(material["message"])},
    "reply_check": lambda own: {"only_what_was_asked": True, "conflict": own["reply"] not in own["sentences"]},
    "split": _split,
    "findings": lambda material: {"findings": list(sentences(material["vignette"]))},
    "aspects": _finding_aspects,
}


#: The toys by role.
RULES: Mapping[ActorRole, Callable[[Call], ActorReply]] = {
    "clinician": _clinician,
    "patient": _patient,
    "evaluator": lambda call: object_reply(_EVALUATIONS[call.purpose](call.material)),
}


# -- The toy evaluator of training data -----------------------------------------------------------------

_WORD_OR_NUMBER = re.compile(r"[a-z]{3,}|\d+|[\u4e00-\u9fff]")
#: Share of a finding's words above which a message conveys it.
_CONVEYED = 0.6


def _tree(material: Mapping[str, Any]) -> dict[str, Any]:
    leaf = {"condition": material["diagnosis"], "confidence": "high", "is_final": True}
    node: dict[str, Any] = {"diagnoses": [leaf]}
    for sentence in reversed(sentences(material["vignette"])):
        node = {"criteria": sentence, "branches": {"yes": node}}
    return {"tree": node}


def _rule_dialogue(material: Mapping[str, Any]) -> dict[str, Any]:
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
    listed = [{"disease": name, "reason": TOY_WORDS["reason"][language]} for name in list(ranked.values())[:5]]
    return {"conversation": messages, "preliminary_diagnoses": listed}


def _place(material: Mapping[str, Any]) -> dict[str, Any]:
    words = _told_words(material["finding"])
    conveying = [
        (number, role)
        for number, (role, text) in enumerate(material["messages"])
        if len(words & _told_words(text)) > _CONVEYED * len(words)
    ]
    by_patient = [number for number, role in conveying if role == "patient"]
    by_doctor = [number for number, role in conveying if role == "clinician"]
    return {
        "opening": by_patient[:1] == [0],
        "last": max((number for number, _ in conveying if number), default=None),
        "patient_first": min(by_patient, default=None),
        "doctor_first": min(by_doctor, default=None),
    }


def _told_words(text: str) -> set[str]:
    return set(_WORD_OR_NUMBER.findall(text.casefold()))


def _critic(material: Mapping[str, Any]) -> dict[str, Any]:
    """An exchange for each missing finding, after the last message."""
    missing = [line.removeprefix("- ") for line in material["missing"].splitlines() if line.startswith("- ")]
    last = len(material["conversation"].splitlines()) - 1
    ask = TOY_WORDS["ask"][material["language"]]
    return {"edits": [{"add_turn": last, "doctor": ask, "patient": text, "comment": "missing"} for text in missing]}


def _rank(material: Mapping[str, Any]) -> dict[str, Any]:
    names = [folded(name) for name in material["candidates"]]
    truth = folded(material["diagnosis"])
    return {"candidate": names.index(truth) if truth in names else None}


def _rule_summary(material: Mapping[str, Any]) -> dict[str, Any]:
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
    said = _told_words(material["answer"])
    return {
        "findings": [
            number
            for number, finding in enumerate(material["findings"])
            if len(_told_words(finding) & said) > _CONVEYED * len(_told_words(finding))
        ]
    }


_REPLIES: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "decision_tree": _tree,
    "guided_dialogue": _rule_dialogue,
    "finding_place": _place,
    "critic": _critic,
    "diagnosis_place": _rank,
    "exchange_summary": _rule_summary,
    "diagnosis_reading": lambda material: {"diagnoses": listed_names(material["message"])},
    "exchange_findings": _told,
    "answered_before": lambda material: {"answered": ("clinician", material["question"]) in material["messages"]},
    "answerable": lambda material: {"answerable": bool(answers_to(material["question"], material["sentences"]))},
    "message_plan": lambda material: {"plan": f"({material['summaries'].count('turn')}) {material['message']}"},
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
