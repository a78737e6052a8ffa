"""A patient's fictitious past: written by the evaluator of drawn keywords, once for a case and repeat, and checked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bedside.simulation.simulators.asking import ask_for_data
from bedside.simulation.simulators.calls import Call, Exchange
from bedside.simulation.simulators.contract import UnusableConversationError
from bedside.simulation.simulators.mdd5k.bundled_material import interview_prompt
from bedside.simulation.simulators.mdd5k.case_fields import PsychiatricRecord
from bedside.simulation.simulators.mdd5k.doctor_personas import WORDS
from bedside.simulation.simulators.mdd5k.story_graph import StorySeed

#: Years that an age that was rounded to tens may be short of.
ROUNDING = 9
#: The age that nobody has worked before.
WORKING_AGE = 14

_SURNAMES = (
    "王李张刘陈杨赵黄吴徐孙胡朱林郭罗梁宋郑谢韩唐冯董萧曹袁邓傅沈彭吕苏卢蒋蔡贾丁魏薛"
    "叶阎潘杜戴夏钟汪田姜范廖邹熊陆郝孔崔邱秦侯邵"
)
_TITLES = "老师|同学|医生|大夫|先生|女士|阿姨|叔叔|经理|主任|总"
_NAMES: Mapping[str, re.Pattern[str]] = {
    "zh": re.compile(
        rf"小(?:明|红|华|丽|芳|军|强|刚|李|王|张|刘|陈|赵|杨)|(?:名叫|叫做|名字叫|名字是|我叫)[\u4e00-\u9fff]{{2,3}}"
        rf"|(?:[{_SURNAMES}])(?:{_TITLES})"
    ),
    "en": re.compile(
        r"\b(?:Mr|Mrs|Ms|Miss|Dr|Prof)\.? [A-Z][a-z]+|\b(?:named|called|name was|name is) [A-Z][a-z]+"
        r"|\b(?:friend|teacher|sister|brother|aunt|uncle|husband|wife|boyfriend|girlfriend|boss|colleague|classmate"
        r"|room-?mate),? [A-Z][a-z]+"
    ),
}
_ENDINGS: Mapping[str, re.Pattern[str]] = {
    "zh": re.compile(
        "走出(?:阴影|来|困境|低谷)|慢慢好(?:起来|转)|逐渐(?:好转|恢复)|开始好转|重新振作|积极面对|释怀|康复|痊愈"
        "|(?:听|遵)(?:从|照)?医(?:生|嘱)|医生(?:的)?(?:指导|建议|帮助)|接受(?:了)?(?:心理)?(?:治疗|咨询)|学会了(?:接受|面对|放下)"
    ),
    "en": re.compile(
        r"\b(?:got|getting|feel(?:ing)?|am|was) (?:much |slowly |finally )?better\b|\brecover(?:y|ed|ing)?\b"
        r"|\bheal(?:ed|ing)\b|\bmov(?:e|ed|ing) on\b|\bback on my feet\b"
        r"|\blearn(?:ed|t|ing) to (?:accept|cope|let go)\b"
        r"|\b(?:doctor|therapist|psychiatrist)(?:'s)? (?:advice|guidance|help|told|advised|said)\b"
        r"|\b(?:in|into) therapy\b",
        re.IGNORECASE,
    ),
}
_DIGITS = {character: value for value, character in enumerate("零一二三四五六七八九")} | {"两": 2}
_NUMBER = r"(\d{1,3}|[零一二两三四五六七八九十]{1,3})"
_AGES: Mapping[str, tuple[re.Pattern[str], ...]] = {
    "zh": (re.compile(_NUMBER + "岁"), re.compile(_NUMBER + "年前")),
    "en": (
        re.compile(r"\b(?:when i was|at the age of|i was|aged) (\d{1,3})\b", re.IGNORECASE),
        re.compile(r"\b(\d{1,3}) years? ago\b", re.IGNORECASE),
    ),
}
_YEARS_OF_WORK: Mapping[str, re.Pattern[str]] = {
    "zh": re.compile(rf"(?:工作|上班|干)了?{_NUMBER}(?:多)?年"),
    "en": re.compile(r"\bworked (?:\w+ ){0,4}for (\d{1,3}) years?\b"),
}


@dataclass(frozen=True, slots=True)
class PatientStory:
    """What came of writing a story.

    Attributes:
        seed: what it was to be about; None where there is no graph for the patient.
        text: it; empty where there is none.
        reason: why there is none, in a few words; empty where there is one.
        refused: what was replied and not taken, with the reasons.
    """

    seed: StorySeed | None
    text: str
    reason: str = ""
    refused: tuple[tuple[str, str], ...] = ()


def written_story(
    record: PsychiatricRecord, diagnosis: str, language: str, seed: StorySeed, number: int
) -> Exchange[PatientStory]:
    """A story, asked for up to three times until nothing is wrong with it; none where something always is.

    Args:
        record: the patient's.
        diagnosis: the true one: the story is to be the main reason of the illness.
        language: code of the case's language.
        seed: what the story is to be about.
        number: which of the case's stories it is, from 1.
    """
    filled = interview_prompt(
        "story",
        language,
        age=record.age,
        sex=WORDS[language][record.sex],
        diagnosis=diagnosis,
        work=record.work or "–",
        time=seed.time,
        person=seed.person,
        event=seed.event,
    )
    call = Call(
        "evaluator",
        "story",
        number,
        instruction=filled.instruction,
        kind="data",
        schema=filled.schema,
        material={"language": language, **seed.words()},
        scope="case",
        prompt=filled.reference,
    )

    def read(value: Any) -> str:
        text = value.get("story") if isinstance(value, dict) else None
        if not isinstance(text, str):
            raise ValueError('"story" must be a text')
        fault = next(story_faults(text.strip(), record, language), None)
        if fault is not None:
            raise ValueError(fault)
        return text.strip()

    try:
        decided = yield from ask_for_data(call, read)
    except UnusableConversationError as error:
        return PatientStory(seed, "", error.detail)
    return PatientStory(seed, decided.value, refused=decided.refused)


def story_faults(text: str, record: PsychiatricRecord, language: str) -> Iterator[str]:
    """What is wrong with a story, a sentence each.

    It is one paragraph in the case's language, without names, without an age or number of years that the patient can't
    have, and without a recovery or a doctor's advice.
    """
    if len(text) < 20:
        yield "the story is too short"
    if "\n" in text:
        yield "the story is to be one paragraph"
    if language == "zh" and sum("\u4e00" <= character <= "\u9fff" for character in text) < len(text) / 2:
        yield "the story is to be in Chinese"
    name = _NAMES[language].search(text)
    if name:
        yield f"the story names somebody ({name[0]})"
    oldest = record.age + ROUNDING
    for pattern in _AGES[language]:
        for match in pattern.finditer(text):
            if _number(match[1]) > oldest:
                yield f"the patient is too young for that ({match[0]})"
    for match in _YEARS_OF_WORK[language].finditer(text):
        if _number(match[1]) > oldest - WORKING_AGE:
            yield f"the patient can't have worked so long ({match[0]})"
    ending = _ENDINGS[language].search(text)
    if ending:
        yield f"the story speaks of recovery or of a doctor's advice ({ending[0]})"


def _number(text: str) -> int:
    """A number below 1000 in digits, or one below 100 in Chinese characters."""
    if text.isdecimal():
        return int(text)
    tens, ten, units = text.rpartition("十")
    if not ten:
        return int("".join(str(_DIGITS[character]) for character in units))
    return 10 * (_DIGITS.get(tens, 1) if tens else 1) + (_DIGITS.get(units, 0) if units else 0)
