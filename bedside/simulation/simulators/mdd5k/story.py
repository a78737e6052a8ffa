"""A patient's fictitious past: drawn from graphs of keywords, written by the evaluator once a case, and checked."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter, ValidationError

from bedside.core.errors import InputError
from bedside.core.files import file_digest
from bedside.core.model_errors import first_complaint
from bedside.core.yaml_files import plain_yaml
from bedside.metrics.protocols.label_files import Strict, Text
from bedside.simulation.simulators.asking import ask_for_data, text_of
from bedside.simulation.simulators.calls import Exchange
from bedside.simulation.simulators.contract import UnusableConversationError
from bedside.simulation.simulators.mdd5k.case_fields import BUNDLED, FOLDER, PsychiatricRecord, Sex, interview_prompt
from bedside.simulation.simulators.mdd5k.doctor import WORDS
from bedside.simulation.simulators.prompt_files import prompt_call

# -- Graphs that a patient's past is drawn from ---------------------------------------------------------

Decade = Literal["10", "20", "30", "40", "50"]
_SEE = "see docs/simulators/mdd5k.md, Story"


_Texts = Annotated[tuple[Text, ...], Field(min_length=1)]


class StoryGraph(Strict):
    """What can have happened to people of a sex and decade.

    Attributes:
        time: when something can have happened.
    """

    time: _Texts
    people: Mapping[Text, _Texts] = Field(min_length=1, description="People by category.")
    experience: Mapping[Text, _Texts] = Field(min_length=1, description="Events by category.")

    def problem(self) -> str | None:
        """What its parts don't agree in; None where they do."""
        for name in (*self.people, *self.experience):
            if name not in self.people:
                return f"the category {name!r} has no people"
            if name not in self.experience:
                return f"the category {name!r} has no experience"
        return None


@dataclass(frozen=True, slots=True)
class StorySeed:
    """What a story is to be about.

    Attributes:
        time: when it happened.
        category: of the people.
        person: whom it was with.
        event: what happened.
    """

    time: str
    category: str
    person: str
    event: str

    def words(self) -> dict[str, str]:
        """Its parts by name."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class GraphFile:
    """Graphs with where they come from.

    Attributes:
        graphs: by sex and decade.
        digest: SHA-256 of the file (64 hexadecimal digits).
    """

    graphs: Mapping[Sex, Mapping[Decade, StoryGraph]]
    digest: str

    def graph_for(self, record: PsychiatricRecord) -> StoryGraph | None:
        """The graph for a patient; None where there is none for the age."""
        decade = str(record.age // 10 * 10)
        return {str(name): graph for name, graph in self.graphs.get(record.sex, {}).items()}.get(decade)


def draw_story(graph: StoryGraph, stream: random.Random) -> StorySeed:
    """What a story is about, drawn as the source draws it.

    A time uniformly; a category with a probability in proportion to the number of its people; of it a person and an
    event, uniformly and apart.
    """
    time = stream.choice(graph.time)
    categories = list(graph.people)
    (category,) = stream.choices(categories, [len(graph.people[name]) for name in categories])
    return StorySeed(time, category, stream.choice(graph.people[category]), stream.choice(graph.experience[category]))


def find_graphs(name: str, language: str) -> GraphFile:
    """The graphs in a language: those that come with bedside, or a file.

    Raises:
        InputError: the file can't be read, or isn't of the form.
    """
    return read_graphs(FOLDER / f"graphs.{language}.yaml" if name == BUNDLED else Path(name))


@cache
def read_graphs(path: Path) -> GraphFile:
    """A file of graphs by sex and decade.

    Raises:
        InputError: it can't be read, or isn't of the form; the key is named.
    """
    form: TypeAdapter[Mapping[Sex, Mapping[Decade, StoryGraph]]] = TypeAdapter(
        Mapping[Sex, Mapping[Decade, StoryGraph]]
    )
    data = plain_yaml(path, "file of story graphs", aliases=True, kind=InputError)
    try:
        graphs = form.validate_python(data)
    except ValidationError as error:
        raise InputError(first_complaint(error, StoryGraph)[1], where=str(path), todo=_SEE) from error
    for sex, decades in graphs.items():
        for decade, graph in decades.items():
            problem = graph.problem()
            if problem is not None:
                raise InputError(f"{sex}.{decade}: {problem}", where=str(path), todo=_SEE)
    return GraphFile(graphs, file_digest(path))


# -- A patient's fictitious past ------------------------------------------------------------------------

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
    material = {"language": language, **seed.words()}
    call = prompt_call("evaluator", "story", number, filled, material=material, scope="case")

    def read(value: Any) -> str:
        text = text_of(value, "story", blank=True).strip()
        fault = next(story_faults(text, record, language), None)
        if fault is not None:
            raise ValueError(fault)
        return text

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
