"""The doctor: trees of topics, the doctors that a clinician under test plays, and what it is told.

It is told who it plays, the patient's age and sex, and one topic at a time; nothing else of the case. Whether a topic
is over, and which comes next, is not its to decide: that is the schedule's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn

from pydantic import Field, TypeAdapter, ValidationError

from bedside.core.errors import InputError
from bedside.core.files import file_digest, read_text
from bedside.core.model_errors import first_complaint
from bedside.core.records import parse_json
from bedside.core.yaml_files import plain_yaml
from bedside.metrics.protocols.label_files import Strict, Text
from bedside.simulation.simulators.case import Case, Name
from bedside.simulation.simulators.contract import Draws
from bedside.simulation.simulators.mdd5k.case_fields import (
    BUNDLED,
    FOLDER,
    PsychiatricRecord,
    Sex,
    interview_prompt,
    record_of,
)
from bedside.simulation.simulators.prompt_files import FilledPrompt

# -- Trees of topics ------------------------------------------------------------------------------------
# A file is JSON: nested objects, null for a leaf. The root is the first topic. Below it stand four parts, whatever they
# are called: events in the patient's life, with the leaf ``parse`` where angles grow from what the patient said; the
# illness, leaves and groups of leaves; the person; and one leaf, the family.

#: The leaf that angles take the place of.
PARSE = "parse"
#: The oldest age whose tree is a teenager's.
TEEN = 20
#: Exchanges of an interview at most.
CAP = 60
#: What the topic that is never left out without evidence is about.
SELF_HARM = re.compile(r"自残|自杀|自伤|self[- ]?harm|suicid", re.IGNORECASE)

_PARTS = 4
_MOST_BYTES = 2**16
_SEE_TREE = "see docs/simulators/mdd5k.md, Trees"


@dataclass(frozen=True, slots=True)
class LeafGroup:
    """Topics that stay together; a leaf of its own is a group of one.

    Attributes:
        name: the group's, or the leaf's.
        leaves: topics.
    """

    name: str
    leaves: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TopicTree:
    """A tree of topics.

    Attributes:
        name: the file's without its ending.
        digest: SHA-256 of the file (64 hexadecimal digits).
        root: the first topic.
        events: leaves, :data:`PARSE` among them at most once.
        illness: groups of leaves.
        person: leaves.
        family: the leaf on illness in the family.
    """

    name: str
    digest: str
    root: str
    events: tuple[str, ...]
    illness: tuple[LeafGroup, ...]
    person: tuple[str, ...]
    family: str

    @property
    def leaves(self) -> tuple[str, ...]:
        """All topics below the root, :data:`PARSE` among them, in the file's order."""
        return (*self.events, *(leaf for group in self.illness for leaf in group.leaves), *self.person, self.family)

    def kept(self, topic: str) -> bool:
        """Whether a topic is asked unless the patient's own words have answered it: self-harm, and the family."""
        return topic == self.family or SELF_HARM.search(topic) is not None

    def order(self, draws: Draws, number: int) -> tuple[str, ...]:
        """The topics below the root in an order that is drawn.

        The parts stay in the file's order, save that person and family change places with probability one half. Events
        are shuffled, and so are the groups of the illness, the leaves within a group, and the person's leaves.

        Args:
            draws: chance; each shuffle has a stream of its own.
            number: which draw it is, from 1.
        """

        def shuffled(items: tuple[Any, ...], purpose: str) -> list[Any]:
            copy = list(items)
            draws.stream(purpose, number).shuffle(copy)
            return copy

        groups: list[LeafGroup] = shuffled(self.illness, "order of the illness")
        illness = [leaf for group in groups for leaf in shuffled(group.leaves, f"order of {group.name}")]
        end = [shuffled(self.person, "order of the person"), [self.family]]
        if draws.stream("family before person", number).random() < 0.5:
            end.reverse()
        return (*shuffled(self.events, "order of events"), *illness, *end[0], *end[1])


def find_tree(record: PsychiatricRecord, language: str, folder: str) -> TopicTree:
    """The tree that a patient's interview follows.

    Args:
        record: the patient's.
        language: code of the case's language.
        folder: ``bundled``, or a folder with a file for each sex and age, or with such a folder for each language.

    Raises:
        InputError: it isn't there, or isn't right.
    """
    base = FOLDER / "trees" if folder == BUNDLED else Path(folder)
    own = base / language
    age = "teen" if record.age <= TEEN else "adult"
    return read_tree((own if own.is_dir() else base) / f"{record.sex}_{age}.json")


@cache
def read_tree(path: Path) -> TopicTree:
    """A tree file.

    Raises:
        InputError: it can't be read, isn't JSON, or isn't of the form; the node is named.
    """
    text = read_text(path, "tree", most=_MOST_BYTES, todo=_SEE_TREE)
    return _Reading(path).tree(parse_json(text, path), file_digest(path))


@dataclass(frozen=True, slots=True)
class _Reading:
    """A file while it is checked."""

    path: Path

    def tree(self, whole: Any, digest: str) -> TopicTree:
        if not isinstance(whole, dict) or len(whole) != 1:
            self._wrong("a tree has one root: an object with one key, which holds the parts")
        root, parts = next(iter(whole.items()))
        if not isinstance(parts, dict) or len(parts) != _PARTS:
            self._wrong(
                f"the root {root!r} must hold four parts: events, the illness, the person, and the family as a leaf"
            )
        (events, under_events), (illness, under_illness), (person, under_person), (family, under_family) = parts.items()
        if under_family is not None:
            self._wrong(f"the fourth part, {family!r}, must be a leaf (null): the family is one topic")
        tree = TopicTree(
            self.path.stem,
            digest,
            root,
            self._leaves(events, under_events),
            tuple(
                LeafGroup(name, (name,) if below is None else self._leaves(name, below))
                for name, below in self._below(illness, under_illness).items()
            ),
            self._leaves(person, under_person),
            family,
        )
        self._check(tree)
        return tree

    def _below(self, name: str, below: Any) -> Mapping[str, Any]:
        if not isinstance(below, dict):
            self._wrong(f"{name!r} must hold nodes, and holds {json.dumps(below, ensure_ascii=False):.40}")
        if not below:
            self._wrong(f"{name!r} holds nothing; write null for a leaf")
        return below

    def _leaves(self, name: str, below: Any) -> tuple[str, ...]:
        leaves = self._below(name, below)
        for leaf, under in leaves.items():
            if under is not None:
                self._wrong(f"{leaf!r} under {name!r} must be a leaf (null): here nothing is nested any further")
        return tuple(leaves)

    def _check(self, tree: TopicTree) -> None:
        topics = (tree.root, *tree.leaves)
        for topic in topics:
            if not topic.strip():
                self._wrong("a node has no name")
            if topics.count(topic) > 1:
                self._wrong(f"the topic {topic!r} is there twice")
        if PARSE in topics and PARSE not in tree.events:
            self._wrong(f"{PARSE!r} stands outside the first part, the events")
        if not any(SELF_HARM.search(topic) for topic in topics):
            self._wrong("no topic asks about self-harm or suicide, which no interview may leave out")
        if len(topics) > CAP:
            self._wrong(f"there are {len(topics)} topics, and an interview has {CAP} exchanges at most")

    def _wrong(self, what: str) -> NoReturn:
        raise InputError(what, where=str(self.path), todo=_SEE_TREE)


# -- The doctors that a clinician under test plays ------------------------------------------------------

Speed = Literal["fast", "normal", "slow"]
Explaining = Literal["often", "sometimes", "rarely"]
_SEE = "see docs/simulators/mdd5k.md, Doctors"

#: How a brief says what a persona is, by language and value.
WORDS: Mapping[str, Mapping[str, str]] = {
    "zh": {
        "female": "女", "male": "男", "fast": "快", "normal": "适中", "slow": "慢", "often": "经常",
        "sometimes": "有时", "rarely": "很少",
    },
    "en": {
        "female": "woman", "male": "man", "fast": "quickly", "normal": "at a normal pace", "slow": "slowly",
        "often": "often", "sometimes": "sometimes", "rarely": "rarely",
    },
}  # fmt: skip


class DoctorPersona(Strict):
    """How a doctor is and asks.

    Attributes:
        id: its name, which no other doctor of the file has.
        age: in years, from 20 to 90.
        sex: the doctor's.
        speed: how fast the doctor talks.
    """

    id: Name
    age: Annotated[int, Field(ge=20, le=90, strict=True)]
    sex: Sex
    specialties: Text = Field(description="What the doctor treats most.")
    speed: Speed
    style: Text = Field(description="How the doctor talks, in a word or two.")
    empathy: bool = Field(description="Whether the doctor comforts where that is apt.")
    explains: Explaining = Field(description="How often technical terms are explained.")


def find_doctors(name: str, language: str) -> tuple[DoctorPersona, ...]:
    """The doctors in a language: those that come with bedside, or a file's.

    Raises:
        InputError: the file can't be read, or isn't of the form.
    """
    return read_doctors(FOLDER / f"doctors.{language}.yaml" if name == BUNDLED else Path(name))


@cache
def read_doctors(path: Path) -> tuple[DoctorPersona, ...]:
    """A file of doctors, a list.

    Raises:
        InputError: it can't be read, isn't of the form, or two doctors have one id.
    """
    data = plain_yaml(path, "file of doctors", kind=InputError)
    try:
        doctors = TypeAdapter(tuple[DoctorPersona, ...]).validate_python(data)
    except ValidationError as error:
        raise InputError(first_complaint(error, DoctorPersona)[1], where=str(path), todo=_SEE) from error
    if not doctors or len({doctor.id for doctor in doctors}) < len(doctors):
        what = "two doctors have one id" if doctors else "there are no doctors"
        raise InputError(what, where=str(path), todo=_SEE)
    return doctors


def draw_doctor(doctors: tuple[DoctorPersona, ...], draws: Draws, number: int) -> DoctorPersona:
    """One of the doctors, each with the same probability; ``number`` says which draw it is, from 1."""
    return draws.stream("doctor", number).choice(doctors)


# -- The doctor's messages ------------------------------------------------------------------------------

#: Settings: whether the schedule says what is asked about, or the clinician itself.
GUIDED, FREE = "guided", "direct"


@dataclass(frozen=True, slots=True)
class AskedTopic:
    """What a message of the doctor is to be about.

    Attributes:
        text: the topic; empty where the clinician decides.
        follow_up: how many messages there were on it before.
        parsed: whether it grew from what the patient said.
        opening: whether it is the first of the interview.
    """

    text: str = ""
    follow_up: int = 0
    parsed: bool = False
    opening: bool = False


def doctor_brief(language: str, record: PsychiatricRecord, persona: DoctorPersona | None) -> FilledPrompt:
    """What the clinician is told at the start.

    Args:
        language: code of the case's language.
        record: of which only age and sex are told.
        persona: whom the clinician plays; None where it is told what to find out and no more.
    """
    words = WORDS[language]
    patient: dict[str, str | int] = {"age": record.age, "sex": words[record.sex]}
    if persona is None:
        return interview_prompt("free_clinician", language, **patient)
    return interview_prompt(
        "clinician",
        language,
        **patient,
        doctor_age=persona.age,
        doctor_sex=words[persona.sex],
        specialties=persona.specialties,
        speed=words[persona.speed],
        style=persona.style,
        explains=words[persona.explains],
        manner=interview_prompt("manner_warm" if persona.empathy else "manner_short", language).brief,
    )


def topic_wish(language: str, topic: AskedTopic) -> FilledPrompt | None:
    """What a message is to be about, as the clinician is told; None where it decides."""
    if not topic.text:
        return None
    if topic.opening and topic.text == PARSE:
        return interview_prompt("open_question", language)
    name = "opening" if topic.opening else "topic_again" if topic.follow_up else "topic"
    return interview_prompt(name, language, topic=topic.text)


def brief_text(case: Case, setting: str) -> str:
    """What a clinician is told at the start about a case, as the first of the bundled doctors."""
    persona = find_doctors("bundled", case.language)[0] if setting == GUIDED else None
    return doctor_brief(case.language, record_of(case), persona).brief
