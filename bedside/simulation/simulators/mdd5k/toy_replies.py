"""Actors of the interview that need no model: toys for trying things out, which match words and understand nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from bedside.simulation.simulators.calls import ActorReply, ActorRole, Call
from bedside.simulation.simulators.mdd5k.case_fields import FOLDER, is_nothing
from bedside.simulation.simulators.toys import ToyWords, object_reply

_WORDS = ToyWords(FOLDER)
_STOPS = re.compile(r"[。；;！？!?]|(?<=[a-z])\.(?:\s|$)")
_DURATION = re.compile(r"\d|一|两|三|四|五|半|天|周|月|年|每|总是|daily|always|week|month|year|since|every")
_DENIAL = re.compile(r"没|不|无|\bno\b|\bnot\b|n't|never|none", re.IGNORECASE)
_DOCTOR_LINE = re.compile(r"^(?:医生：|Doctor: )(.*)$", re.MULTILINE)
_PATIENT_LINE = re.compile(r"^(?:患者：|Patient: )(.*)$", re.MULTILINE)
_LISTED = re.compile(r"^\d+\. (.*)$", re.MULTILINE)

# -- the doctor ---------------------------------------------------------------------------------------


def _clinician(call: Call) -> ActorReply:
    language, material = str(call.material["language"]), call.material
    if call.purpose == "closing":
        return object_reply({"message": _WORDS["closings"][language], "diagnoses": _WORDS["diagnoses"][language]})
    if call.purpose == "diagnoses":
        names = _WORDS["diagnoses"][language]
        return object_reply({"diagnoses": [name for name in names if name in material["message"]]})
    if not material["topic"]:
        said = sum(line.role == "clinician" for line in call.history)
        questions = [_WORDS["openings"][language], *_WORDS["free_questions"][language]]
        return ActorReply(questions[min(said, len(questions) - 1)])
    if material["opening"]:
        return ActorReply(_WORDS["openings"][language])
    forms = _WORDS["questions"][language]
    return ActorReply(forms[min(material["follow_up"], len(forms) - 1)].format(topic=material["topic"]))


# -- the patient --------------------------------------------------------------------------------------


def _patient(call: Call) -> ActorReply:
    material, language = call.material, str(call.material["language"])
    said = [line.text for line in call.history if line.role == "patient"]
    clauses = list(_clauses(material["facts"]))
    if not said:
        return ActorReply(_joined([clause for clause, _ in clauses[:2]], language))
    if material["story"] and material["story"] not in said:
        return ActorReply(material["story"])
    # What was asked, not what the doctor was told to ask: who asks nothing is told nothing.
    asked, topic = call.history[-1].text, material["topic"]
    subject = topic if topic and topic in asked else asked
    wanted, told = _concepts(subject), "".join(said).casefold()
    fitting = [clause for clause, about in clauses if wanted & about]
    fresh = [clause for clause in fitting if clause.casefold() not in told]
    if fresh:
        return ActorReply(_joined(fresh[:2], language))
    forms = _WORDS["exhausted"][language] if fitting else _WORDS["unknown"][language][material["unknown"]]
    about = topic if subject == topic else _subject(subject, language)
    replies = [form.format(topic=about) for form in forms]
    return ActorReply(min(replies, key=said.count))


def _clauses(facts: Sequence[str]) -> Iterator[tuple[str, frozenset[str]]]:
    """What the patient knows sentence by sentence, with what each is about, by itself and by its heading."""
    for fact in facts:
        heading, _, text = fact.partition(": ")
        for clause in _STOPS.split(text):
            if clause and not is_nothing(clause):
                yield clause.strip(), _concepts(heading) | _concepts(clause)


def _subject(question: str, language: str) -> str:
    """The word by which a question is about something."""
    matches = (_matches(words, question) for words in _WORDS["concepts"].values())
    return next((match[0] for match in matches if match), "这个" if language == "zh" else "that")


def _matches(words: str, text: str) -> re.Match[str] | None:
    return re.search(words, text, re.IGNORECASE)


@lru_cache(maxsize=4096)
def _concepts(text: str) -> frozenset[str]:
    return frozenset(name for name, words in _WORDS["concepts"].items() if _matches(words, text))


def _joined(clauses: Sequence[str], language: str) -> str:
    if language == "zh":
        return "。".join(clauses) + "。"
    return " ".join(f"{clause[:1].upper()}{clause[1:]}." for clause in clauses)


# -- the evaluator ------------------------------------------------------------------------------------

#: Exchanges of a free interview after which the toy has heard enough.
_ENOUGH = 11


def _topic_end(material: Mapping[str, Any]) -> dict[str, Any]:
    answers = _PATIENT_LINE.findall(material["dialogue"])
    last = answers[-1] if answers else ""
    vague = bool(last) and not _DURATION.search(last) and not _DENIAL.search(last)
    return {"ended": not vague or len(answers) > 1}


def _duplicates(material: Mapping[str, Any]) -> dict[str, Any]:
    """Topics of which a sentence of the patient says since when, or that there is nothing."""
    sentences = [
        clause.strip()
        for answer in _PATIENT_LINE.findall(material["dialogue"])
        for clause in _STOPS.split(answer)
        if clause and len(clause.strip()) >= 6 and _DURATION.search(clause)
    ]
    answered = []
    for number, topic in enumerate(_LISTED.findall(material["topics"]), start=1):
        wanted = _concepts(topic).difference(_WORDS["not_symptoms"])
        quote = next((clause for clause in sentences if wanted and wanted <= _concepts(clause)), None)
        if quote is not None:
            answered.append({"topic": number, "quote": quote})
    return {"answered": answered}


def _angles(material: Mapping[str, Any]) -> dict[str, Any]:
    first, second = _WORDS["angles"][material["language"]]
    asked = " ".join(_DOCTOR_LINE.findall(material["dialogue"]))
    return {"angles": list(second if first[0] in asked else first)}


def _trigger(material: Mapping[str, Any]) -> dict[str, Any]:
    asked = _DOCTOR_LINE.findall(material["dialogue"])
    return {"due": len(asked) > 1 and "events" in _concepts(asked[-1])}


#: What the toy evaluator replies, by purpose.
_EVALUATIONS: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "story": lambda material: {"story": _WORDS["story"][material["language"]].format(**material)},
    "topic_end": _topic_end,
    "duplicates": _duplicates,
    "angles": _angles,
    "covered": lambda material: {"covered": []},
    "same_topic": lambda material: {"same": material["topic"] in _LISTED.findall(material["angles"])},
    "trigger": _trigger,
    "interview_end": lambda material: {"ended": len(_PATIENT_LINE.findall(material["dialogue"])) >= _ENOUGH},
}


#: The toys by role.
RULES: Mapping[ActorRole, Callable[[Call], ActorReply]] = {
    "clinician": _clinician,
    "patient": _patient,
    "evaluator": lambda call: object_reply(_EVALUATIONS[call.purpose](call.material)),
}
