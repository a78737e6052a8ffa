"""Actors of the interview that need no model: toys for trying things out, which match words and understand nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, get_args

from bedside.metrics.protocols.note2chat.labels import Category
from bedside.simulation.simulators.calls import ActorReply, ActorRole, Call
from bedside.simulation.simulators.note2chat.vignette import FOLDER, sentences
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
    return set(_WORD.findall(text.casefold())) - {
        *TOY_WORDS["empty_words"].split(),
        *TOY_WORDS["empty_characters"],
    }


def _aspects(text: str, cues: str) -> set[Category]:
    plain = text.casefold()
    return {aspect for aspect, words in TOY_WORDS[cues].items() if any(_begins(word, plain) for word in words)}


def _begins(word: str, text: str) -> bool:
    """Whether a word of the text begins so."""
    return re.search((r"\b" if word.isascii() else "") + re.escape(word), text) is not None


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


def _check_reply(material: Mapping[str, Any]) -> dict[str, Any]:
    own = material["reply"] in material["sentences"]
    return {"only_what_was_asked": True, "conflict": not own}


def _split(material: Mapping[str, Any]) -> dict[str, Any]:
    parts = sentences(material["history"])
    before: list[str] = []
    for part in parts:
        if _CLINIC.search(part):
            break
        before.append(part)
    return {"before": " ".join(before)}


def _findings(material: Mapping[str, Any]) -> dict[str, Any]:
    return {"findings": list(sentences(material["vignette"]))}


def _finding_aspects(material: Mapping[str, Any]) -> dict[str, Any]:
    about = _aspects(material["finding"], "sentence_cues")
    return {aspect: aspect in about for aspect in _ASPECTS}


#: What the toy evaluator replies, by purpose.
_EVALUATIONS: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "decision": lambda material: {"diagnoses": listed_names(material["message"])},
    "reply_check": _check_reply,
    "split": _split,
    "findings": _findings,
    "aspects": _finding_aspects,
}


#: The toys by role.
RULES: Mapping[ActorRole, Callable[[Call], ActorReply]] = {
    "clinician": _clinician,
    "patient": _patient,
    "evaluator": lambda call: object_reply(_EVALUATIONS[call.purpose](call.material)),
}
