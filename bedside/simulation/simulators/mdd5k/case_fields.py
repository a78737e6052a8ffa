"""What MDD-5k needs of a case: a psychiatric record by its sections, in ``case.extra["mdd5k"]``.

Who sees what: the patient gets the record without treatment advice, codes and diagnosis (which stands in
``hidden.diagnosis``); the clinician gets age and sex.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from bedside.core.model_errors import complaints, key_name
from bedside.metrics.protocols.label_files import Strict, Text
from bedside.simulation.simulators.case import Case
from bedside.simulation.simulators.prompt_files import filled_prompt

# -- What stands in this folder beside the code ---------------------------------------------------------

FOLDER = Path(__file__).parent
#: What names the trees, graphs and doctors that come with bedside, in place of a file.
BUNDLED = "bundled"
#: A prompt with what its slots hold.
interview_prompt = partial(filled_prompt, FOLDER)


# -- What MDD-5k needs of a case ------------------------------------------------------------------------

#: Where the fields stand in a case's ``extra``.
PROTOCOL = "mdd5k"
Sex = Literal["female", "male"]

#: What says that there is nothing.
_NOTHING = frozenset({"", "无", "无殊", "none", "nil", "n/a"})


class PersonalHistory(Strict):
    """The personal history by heading; what isn't there was not asked."""

    birth: str = ""
    development: str = ""
    relationships: str = ""
    work: str = Field(default="", description="Work or study.")
    menses: str = ""
    character: str = Field(default="", description="Character before the illness.")
    habits: str = ""
    other: Mapping[str, Text] = Field(default={}, description="Other headings.")


class MentalExamination(Strict):
    """The mental examination by heading; what isn't there was not examined."""

    consciousness: str = ""
    orientation: str = ""
    contact: str = ""
    attention: str = Field(default="", description="Attention and memory.")
    perception: str = ""
    thought: str = ""
    affect: str = ""
    volition: str = Field(default="", description="Volition and behaviour.")
    intelligence: str = ""
    somatic: str = ""
    insight: str = ""
    other: Mapping[str, Text] = Field(default={}, description="Other headings.")


class PsychiatricRecord(Strict):
    """A patient's record.

    ``none`` or ``无`` says that there is nothing of the kind; an empty text, that nobody asked.

    Attributes:
        sex: the patient's.
        icd_codes: of the diagnosis; in no prompt.
        chief_complaint: what the patient came for.
        present_illness: how this illness went.
        physical_illness: illnesses of the body.
        family_history: illnesses in the family.
        personal_history: by heading, or as one text.
        mental_examination: by heading, or as one text.
    """

    age: Annotated[int, Field(ge=0, le=120, strict=True)] = Field(description="In years; the source rounds it to tens.")
    sex: Sex
    icd_codes: tuple[Text, ...] = ()
    chief_complaint: str = ""
    present_illness: str = ""
    physical_illness: str = ""
    family_history: str = ""
    personal_history: PersonalHistory | str = ""
    mental_examination: MentalExamination | str = ""
    treatment_advice: str = Field(default="", description="What was advised; in no prompt.")

    @property
    def work(self) -> str:
        """Work or study; empty where it isn't known."""
        history = self.personal_history
        return history.work if isinstance(history, PersonalHistory) else ""


#: Headings as patients are told them, by language.
HEADINGS: Mapping[str, Mapping[str, str]] = {
    "zh": {
        "chief_complaint": "主要不适", "present_illness": "这次生病的经过", "physical_illness": "身体疾病",
        "family_history": "家族史", "personal_history": "个人史", "mental_examination": "精神检查",
        "birth": "出生情况", "development": "发育情况", "relationships": "婚恋情况", "work": "工作或学习",
        "menses": "月经情况", "character": "病前性格", "habits": "嗜好", "consciousness": "意识",
        "orientation": "定向", "contact": "接触", "attention": "注意和记忆", "perception": "感知",
        "thought": "思维", "affect": "情感", "volition": "意志和行为", "intelligence": "智能",
        "somatic": "躯体症状", "insight": "自知力",
    },
    "en": {
        "chief_complaint": "What you came for", "present_illness": "How this illness went",
        "physical_illness": "Physical illness", "family_history": "Family history",
        "personal_history": "Personal history", "mental_examination": "Mental examination",
        "birth": "Birth", "development": "Development", "relationships": "Relationships",
        "work": "Work or study", "menses": "Periods", "character": "Character before the illness",
        "habits": "Habits", "consciousness": "Consciousness", "orientation": "Orientation",
        "contact": "Contact", "attention": "Attention and memory", "perception": "Perception",
        "thought": "Thought", "affect": "Affect", "volition": "Will and behaviour",
        "intelligence": "Intelligence", "somatic": "Bodily symptoms", "insight": "Insight",
    },
}  # fmt: skip
#: The sections that the patient knows, in order.
_SECTIONS = (
    "chief_complaint",
    "present_illness",
    "physical_illness",
    "family_history",
    "personal_history",
    "mental_examination",
)


def record_of(case: Case) -> PsychiatricRecord:
    """The record of a case that was checked."""
    return PsychiatricRecord.model_validate(case.extra[PROTOCOL])


def patient_lines(case: Case) -> tuple[str, ...]:
    """What the patient knows of the record, ``heading: text`` each: no advice, no code and no diagnosis."""
    try:
        record = record_of(case)
    except (KeyError, ValidationError):
        return ()
    return tuple(f"{heading}: {text}" for heading, text in _known_sections(record, case.language))


def _known_sections(record: PsychiatricRecord, language: str) -> Iterator[tuple[str, str]]:
    headings = HEADINGS[language]
    for name in _SECTIONS:
        value = getattr(record, name)
        if isinstance(value, str):
            if value.strip():
                yield headings[name], value.strip()
            continue
        parts: dict[str, Any] = value.model_dump()
        others: Mapping[str, str] = parts.pop("other")
        for part, text in parts.items():
            if text.strip():
                yield headings[part], text.strip()
        yield from ((heading, text.strip()) for heading, text in others.items())


def is_nothing(text: str) -> bool:
    """Whether a text says that there is nothing, or is empty."""
    return text.strip().strip("。.").casefold() in _NOTHING


def gaps(record: PsychiatricRecord, diagnosis: str | None) -> Iterator[str]:
    """What a record lacks for which the source leaves a case out, in a few words each.

    Diagnosis, complaint, present illness and advice must be there; complaint, advice, mental examination and personal
    history must say more than that there is nothing.
    """
    if not (diagnosis or "").strip():
        yield "no diagnosis (`hidden.diagnosis`)"
    if not record.present_illness.strip():
        yield "no history of the present illness (`present_illness`)"
    for name, words in (
        ("chief_complaint", "no chief complaint"),
        ("treatment_advice", "no treatment advice"),
        ("mental_examination", "no mental examination"),
        ("personal_history", "no personal history"),
    ):
        if _empty(getattr(record, name)):
            yield f"{words} (`{name}`)"


def _empty(value: PersonalHistory | MentalExamination | str) -> bool:
    if isinstance(value, str):
        return is_nothing(value)
    parts = value.model_dump()
    others = parts.pop("other")
    return not any(text.strip() for text in (*parts.values(), *others.values()))


def problems(case: Case) -> Iterator[str]:
    """What a case lacks or has wrong for this protocol, a sentence each."""
    if PROTOCOL not in case.extra:
        yield (
            f"It has no `{PROTOCOL}` under `extra`: docs/simulators/mdd5k.md shows its keys, and bedside simulate "
            "convert makes it of the authors' case files."
        )
        return
    try:
        record = record_of(case)
    except ValidationError as error:
        for path, text in complaints(error, PsychiatricRecord):
            key = key_name(path)
            yield f"In `extra.{PROTOCOL}`{f', {key}' if key else ''}: {text}."
        return
    yield from (f"It has {gap}." for gap in gaps(record, case.hidden.diagnosis))
    if record.sex == "male" and isinstance(record.personal_history, PersonalHistory):
        menses = record.personal_history.menses
        if not is_nothing(menses):
            yield "Its sex is male, and its personal history says something of `menses`: which of them is right?"
    if case.speaker != "patient":
        yield "Its `speaker` is a caregiver; in this interview the patient speaks."
