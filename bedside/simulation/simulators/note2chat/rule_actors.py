"""Actors of the interview that need no model: toys for trying things out, which match words and understand nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, get_args

import orjson

from bedside.metrics.protocols.note2chat.labels import Category
from bedside.simulation.simulators.calls import ActorReply, ActorRole, Call
from bedside.simulation.simulators.note2chat.vignette import sentences

#: Beginnings of words by which a question is about an aspect of the history; of Chinese, characters.
_QUESTION_CUES: Mapping[Category, tuple[str, ...]] = {
    "history": (
        "past", "before this", "earlier illness", "history", "surger", "operation", "medication", "medicine",
        "allerg", "family", "smok", "work", "travel", "既往", "过敏", "手术", "药", "家",
    ),
    "site": ("where", "which side", "which part", "哪里", "部位"),
    "onset": ("when did", "begin", "began", "start", "first notice", "came on", "什么时候", "开始"),
    "character": ("what is it like", "feel like", "describe", "kind of", "colour", "color", "什么样", "感觉"),
    "radiation": ("spread", "radiat", "move anywhere", "travel to", "扩散", "放射"),
    "associated": (
        "other symptom", "anything else", "come with", "fever", "chill", "cough", "breath", "sweat", "nausea",
        "vomit", "其他", "别的", "发烧", "咳",
    ),
    "timing": ("how long", "how often", "come and go", "constant", "all the time", "over time", "多久", "一直"),
    "exacerbating_relieving": ("better", "worse", "reliev", "ease", "help it", "bring it on", "加重", "缓解"),
    "severity": ("how bad", "severe", "scale", "0 to 10", "keep you from", "able to do", "多严重", "程度"),
}  # fmt: skip
#: Likewise for a sentence of a note.
_SENTENCE_CUES: Mapping[Category, tuple[str, ...]] = {
    "history": (
        "history", "surgery", "operation", "flight", "medication", "tablet", "takes", "allerg", "smok", "mother",
        "father", "family", "diagnosed", "previous", "既往", "过敏", "吸烟",
    ),
    "site": ("left", "right", "calf", "chest", "leg", "ankle", "side", "thigh", "foot", "左", "右", "胸", "腿"),
    "onset": ("ago", "began", "started", "suddenly", "since", "woke", "前", "开始", "突然"),
    "character": (
        "sharp", "dull", "burning", "tight", "productive", "sputum", "warm", "red", "swollen", "ach", "throbbing",
        "刺痛", "酸胀", "痰",
    ),
    "radiation": ("radiat", "spread", "扩散", "放射"),
    "associated": (
        "fever", "chill", "cough", "breath", "sweat", "nausea", "vomit", "appetite", "swelling", "weight",
        "palpitation", "发热", "咳嗽", "气短",
    ),
    "timing": ("constant", "intermittent", "days", "weeks", "worsen", "night", "daily", "progress", "持续", "天", "周"),
    "exacerbating_relieving": (
        "worse", "better", "relieved", "lying", "walking", "rest", "pillow", "exertion", "breath in", "加重", "缓解",
        "休息",
    ),
    "severity": ("severe", "mild", "unable", "barely", "stairs", "out of 10", "scale", "严重", "不能"),
}  # fmt: skip
_ASPECTS: tuple[Category, ...] = get_args(Category)

_WORD = re.compile(r"[a-z]{3,}|[\u4e00-\u9fff]")
#: Words that a question shares with any sentence.
_EMPTY_WORDS = frozenset(
    "the and you your have has had any are was were did does for with that this what when where which who how much "
    "many there been can could would she her his him they them not but out about from into than then tell please "
    "anything".split()
) | frozenset("的了是有没吗您你我在不这那就都也")
#: Share of a question's words that a sentence holds, above which it is an answer.
_SHARED = 0.3

#: What the toy clinician asks, in this order.
QUESTIONS: Mapping[str, tuple[str, ...]] = {
    "en": (
        "Where exactly do you feel it?",
        "When did it begin?",
        "What is it like?",
        "Does it spread anywhere?",
        "Do you have other symptoms with it, such as fever, cough or trouble with your breath?",
        "How long does it last, and is it constant?",
        "What makes it better or worse?",
        "How bad is it on a scale from 0 to 10?",
        "Which illnesses, operations or medicines did you have in the past?",
    ),
    "zh": (
        "具体在哪里不舒服？",
        "什么时候开始的？",
        "是什么样的感觉？",
        "会扩散到别处吗？",
        "还有发烧、咳嗽等其他症状吗？",
        "持续多久了，一直这样吗？",
        "什么使它加重或缓解？",
        "有多严重？",
        "既往有什么疾病、手术，吃什么药？",
    ),
}
#: What the toy clinician says in the end, whoever the patient is.
DIAGNOSES: Mapping[str, tuple[str, ...]] = {
    "en": ("pneumonia", "heart failure", "deep vein thrombosis", "cellulitis", "asthma"),
    "zh": ("肺炎", "心力衰竭", "深静脉血栓形成", "蜂窝织炎", "哮喘"),
}
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
    aspects = _aspects(question, _QUESTION_CUES)
    scored = [
        (
            len(words & _words(sentence)) / max(1, len(words))
            + len(aspects & _aspects(sentence, _SENTENCE_CUES)) / max(1, len(aspects)),
            -number,
        )
        for number, sentence in enumerate(candidates)
    ]
    return [candidates[-place] for score, place in sorted(scored, reverse=True) if score >= _SHARED]


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold())) - _EMPTY_WORDS


def _aspects(text: str, cues: Mapping[Category, tuple[str, ...]]) -> set[Category]:
    plain = text.casefold()
    return {aspect for aspect, words in cues.items() if any(_begins(word, plain) for word in words)}


def _begins(word: str, text: str) -> bool:
    """Whether a word of the text begins so."""
    return re.search((r"\b" if word.isascii() else "") + re.escape(word), text) is not None


def _clinician(call: Call) -> ActorReply:
    if call.purpose == "decision":
        return _object({"diagnoses": listed_names(call.material["message"])})
    language = call.material["language"]
    number = sum(line.role == "clinician" for line in call.history)
    questions, diagnoses = QUESTIONS[language], DIAGNOSES[language]
    if not call.material["last"] and number < len(questions):
        text, ranking = questions[number], None
    else:
        ranking = list(diagnoses)
        text = "\n".join(f"{rank}. {name}" for rank, name in enumerate(diagnoses, start=1))
    return ActorReply(text) if call.schema is None else _object({"message": text, "diagnoses": ranking})


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
    about = _aspects(material["finding"], _SENTENCE_CUES)
    return {aspect: aspect in about for aspect in _ASPECTS}


#: What the toy evaluator replies, by purpose.
_EVALUATIONS: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "decision": lambda material: {"diagnoses": listed_names(material["message"])},
    "reply_check": _check_reply,
    "split": _split,
    "findings": _findings,
    "aspects": _finding_aspects,
}


def _evaluator(call: Call) -> ActorReply:
    return _object(_EVALUATIONS[call.purpose](call.material))


def _object(value: dict[str, Any]) -> ActorReply:
    return ActorReply(orjson.dumps(value).decode())


#: The toys by role.
RULES: Mapping[ActorRole, Callable[[Call], ActorReply]] = {
    "clinician": _clinician,
    "patient": _patient,
    "evaluator": _evaluator,
}
