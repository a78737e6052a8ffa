"""Actors of the interview that need no model: toys for trying things out, which match words and understand nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import orjson

from bedside.simulation.simulators.calls import ActorReply, ActorRole, Call
from bedside.simulation.simulators.mdd5k.case_fields import is_nothing

#: What a topic, a question or a text is about, by words in Chinese and English.
_CONCEPTS: Mapping[str, re.Pattern[str]] = {
    name: re.compile(pattern, re.IGNORECASE)
    for name, pattern in {
        "sleep": r"睡|失眠|做梦|多梦|sleep|awake|dream|insomnia",
        "harm": r"自伤|自杀|自残|轻生|不想活|活着|伤害|suicid|harm|\bdie\b|\bdead\b",
        "appetite": r"胃口|食欲|吃不下|appetite|no taste for food",
        "binge": r"暴食|暴饮|吃得特别多|bing",
        "chest": r"胸口|胸闷|chest",
        "head": r"头晕|头痛|头疼|dizz|headache",
        "heart": r"心慌|心跳|心悸|heart rac|racing heart|palpitation",
        "periods": r"月经|例假|\bperiods?\b",
        "voices": r"听到.*声音|幻听|voices",
        "memory": r"记性|记忆|忘事|健忘|memor|forget",
        "slowness": r"脑子转得慢|迟缓|变慢|反应慢|slow",
        "attention": r"注意力|走神|集中|concentrat|attention",
        "elation": r"兴奋|精力过旺|话多|\belat|too much energy",
        "despair": r"绝望|想哭|哭泣|流泪|情绪低落|hopeless|cry|tears|low mood",
        "love": r"恋爱|婚姻|结婚|离婚|单身|丈夫|妻子|marri|love|husband|wife|single|divorc",
        "character": r"性格|内向|外向|要强|character|outgoing|quiet person|shy",
        "work": r"工作|上班|学习|学校|单位|成绩|大学|job|work|study|school|universit",
        "relatives": r"亲属|亲戚|家族|遗传|relatives|family history|in the family",
        "parents": r"父母|爸爸|妈妈|家里人|parents|mother|father",
        "events": r"事情|经历|经过|发生|影响|压力|变化|happen|event|strain|change|life",
    }.items()
}
#: Those that the toy evaluator takes for answered where a sentence speaks of them.
_SYMPTOMS = frozenset(_CONCEPTS) - {"love", "character", "work", "relatives", "parents", "events"}
_STOPS = re.compile(r"[。；;！？!?]|(?<=[a-z])\.(?:\s|$)")
_DURATION = re.compile(r"\d|一|两|三|四|五|半|天|周|月|年|每|总是|daily|always|week|month|year|since|every")
_DENIAL = re.compile(r"没|不|无|\bno\b|\bnot\b|n't|never|none", re.IGNORECASE)
_DOCTOR_LINE = re.compile(r"^(?:医生：|Doctor: )(.*)$", re.MULTILINE)
_PATIENT_LINE = re.compile(r"^(?:患者：|Patient: )(.*)$", re.MULTILINE)
_LISTED = re.compile(r"^\d+\. (.*)$", re.MULTILINE)

# -- the doctor ---------------------------------------------------------------------------------------

_OPENINGS = {
    "zh": "你好，请坐。最近整个人的状态怎么样，慢慢说。",
    "en": "Hello, please sit down. How have you been feeling lately? Take your time.",
}
_QUESTIONS = {
    "zh": (
        "想听听“{topic}”这方面，是什么情况？",
        "“{topic}”这一点能说得再具体些吗，从什么时候开始，多久一次？",
        "关于“{topic}”，还有没有要补充的？",
    ),
    "en": (
        "Let me ask you about this: {topic}. How is that with you?",
        "Could you say more on {topic}: since when, and how often?",
        "Is there anything that you would like to add on {topic}?",
    ),
}
_FREE_QUESTIONS = {
    "zh": (
        _OPENINGS["zh"],
        "最近睡得怎么样？",
        "吃饭的胃口有没有变化？",
        "心情低落、想哭的时候多不多？",
        "有没有觉得活着没意思，或者有过伤害自己的念头？",
        "注意力和记性跟以前比怎么样？",
        "身上有没有胸闷、心慌、头晕这些不舒服？",
        "有没有哪段时间特别兴奋、精力用不完？",
        "最近生活里发生过什么让你压力很大的事情？",
        "工作或者学习现在怎么样？",
        "你平时是什么样的性格？",
        "家里亲戚有没有人得过精神方面的病？",
    ),
    "en": (
        _OPENINGS["en"],
        "How do you sleep these days?",
        "Has your appetite changed?",
        "How often do you feel hopeless, or cry?",
        "Have you had thoughts of harming yourself?",
        "How are your memory and concentration, compared with before?",
        "Do you have tightness in the chest, a racing heart or dizziness?",
        "Was there a time of unusual elation, with too much energy?",
        "What has happened in your life that puts you under strain?",
        "How is your work or study going?",
        "What kind of character would you say you have?",
        "Has anybody among your relatives had a mental illness?",
    ),
}
_CLOSINGS = {
    "zh": ("听下来，最可能是抑郁发作，建议进一步检查，按时复诊。", ("抑郁发作", "焦虑障碍", "睡眠障碍")),
    "en": (
        "From what you told me, a depressive episode is the likeliest; please come back next week.",
        ("depressive episode", "anxiety disorder", "sleep disorder"),
    ),
}


def _clinician(call: Call) -> ActorReply:
    language, material = str(call.material["language"]), call.material
    if call.purpose == "closing":
        text, names = _CLOSINGS[language]
        return _object({"message": text, "diagnoses": list(names)})
    if call.purpose == "diagnoses":
        names = _CLOSINGS[language][1]
        return _object({"diagnoses": [name for name in names if name in material["message"]]})
    if not material["topic"]:
        said = sum(line.role == "clinician" for line in call.history)
        questions = _FREE_QUESTIONS[language]
        return ActorReply(questions[min(said, len(questions) - 1)])
    if material["opening"]:
        return ActorReply(_OPENINGS[language])
    forms = _QUESTIONS[language]
    return ActorReply(forms[min(material["follow_up"], len(forms) - 1)].format(topic=material["topic"]))


# -- the patient --------------------------------------------------------------------------------------

_UNKNOWN = {
    "zh": {
        "deny": (
            "没有，{topic}方面没有什么。",
            "真的没有，{topic}一直都正常。",
            "没有别的了，{topic}就是这样。",
        ),
        "dont_know": ("{topic}我没注意过。", "{topic}我真的说不清楚。", "不知道，{topic}没有想过。"),
        "improvise": ("{topic}偶尔有一点，不严重。", "{topic}大概一个月有一两次吧。", "{topic}大概就这些。"),
    },
    "en": {
        "deny": (
            "No, nothing of the kind with {topic}.",
            "Really, there is nothing wrong with {topic}.",
            "Nothing else to tell about {topic}, it is as always.",
        ),
        "dont_know": (
            "I never noticed, as to {topic}.",
            "I really couldn't tell you about {topic}.",
            "I don't know, I never thought about {topic}.",
        ),
        "improvise": (
            "A little at times, as to {topic}, not bad.",
            "Perhaps once or twice a month, with {topic}.",
            "That is about all there is to {topic}.",
        ),
    },
}


_TOLD = {
    "zh": (
        "就是刚才说的那样，{topic}没有别的了。",
        "我说过的就是全部了，{topic}也一样。",
        "{topic}真的没有要补充的。",
    ),
    "en": (
        "As I told you, and nothing more as to {topic}.",
        "You have heard all of it, {topic} too.",
        "I really have nothing to add about {topic}.",
    ),
}


def _patient(call: Call) -> ActorReply:
    material, language = call.material, str(call.material["language"])
    said = [line.text for line in call.history if line.role == "patient"]
    clauses = list(_clauses(material["facts"]))
    if not said:
        return ActorReply(_joined([clause for clause, _ in clauses[:2]], language))
    if material["story"] and material["story"] not in said:
        return ActorReply(material["story"])
    subject = material["topic"] or call.history[-1].text
    wanted, told = _concepts(subject), "".join(said).casefold()
    fitting = [clause for clause, about in clauses if wanted & about]
    fresh = [clause for clause in fitting if clause.casefold() not in told]
    if fresh:
        return ActorReply(_joined(fresh[:2], language))
    forms = _TOLD[language] if fitting else _UNKNOWN[language][material["unknown"]]
    topic = material["topic"] or _subject(subject, language)
    replies = [form.format(topic=topic) for form in forms]
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
    matches = (words.search(question) for words in _CONCEPTS.values())
    return next((match[0] for match in matches if match), "这个" if language == "zh" else "that")


@lru_cache(maxsize=4096)
def _concepts(text: str) -> frozenset[str]:
    return frozenset(name for name, words in _CONCEPTS.items() if words.search(text))


def _joined(clauses: Sequence[str], language: str) -> str:
    if language == "zh":
        return "。".join(clauses) + "。"
    return " ".join(f"{clause[:1].upper()}{clause[1:]}." for clause in clauses)


# -- the evaluator ------------------------------------------------------------------------------------

_ANGLES = {
    "zh": (("那件事是怎么发生的", "后来给生活带来的变化"), ("身边的人怎么看这件事", "自己是怎么应付压力的")),
    "en": (
        ("how that happened", "what it changed in your life"),
        ("what people around you say to it", "how you cope with the strain"),
    ),
}
_STORY = {
    "zh": "{time}，{person}的事情让我一直放不下：{event}。起初我以为过几天就会过去，后来每天都会想起，跟谁也没有说过，"
    "到现在一想到那段日子心里就发紧。",
    "en": "It was {time}, and it was about {person}: {event}. At first I thought that it would pass, then it came back "
    "to me every day, and I told nobody. To this day I feel tight inside when I think of it.",
}
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
        wanted = _concepts(topic) & _SYMPTOMS
        quote = next((clause for clause in sentences if wanted and wanted <= _concepts(clause)), None)
        if quote is not None:
            answered.append({"topic": number, "quote": quote})
    return {"answered": answered}


def _angles(material: Mapping[str, Any]) -> dict[str, Any]:
    first, second = _ANGLES[material["language"]]
    asked = " ".join(_DOCTOR_LINE.findall(material["dialogue"]))
    return {"angles": list(second if first[0] in asked else first)}


def _trigger(material: Mapping[str, Any]) -> dict[str, Any]:
    asked = _DOCTOR_LINE.findall(material["dialogue"])
    return {"due": len(asked) > 1 and bool(_CONCEPTS["events"].search(asked[-1]))}


#: What the toy evaluator replies, by purpose.
_EVALUATIONS: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "story": lambda material: {"story": _STORY[material["language"]].format(**material)},
    "topic_end": _topic_end,
    "duplicates": _duplicates,
    "angles": _angles,
    "covered": lambda material: {"covered": []},
    "same_topic": lambda material: {"same": material["topic"] in _LISTED.findall(material["angles"])},
    "trigger": _trigger,
    "interview_end": lambda material: {"ended": len(_PATIENT_LINE.findall(material["dialogue"])) >= _ENOUGH},
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
