"""Make the bundled sets of cases, `cases-full.yaml` and `cases-risk.yaml` of each simulator, from `case_blocks`.

Run it after a change of the blocks; a test holds that the files are what it makes. The first twelve of a full set are
the quick one: `quick.yaml` names them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from bedside.metrics.protocols.medconceal.labels import CATEGORIES
from bedside.simulation.simulators.case import Case
from bedside.simulation.simulators.case_files import case_text

BLOCKS = Path(__file__).parent / "case_blocks"
SIMULATORS = Path(__file__).parents[1] / "bedside" / "simulation" / "simulators"
FULL, RISK = "cases-full.yaml", "cases-risk.yaml"
_HEAD = "# All invented: nobody in them exists. Made by tools/make_cases.py; {}.\n"
_KINDS = dict(zip(("belief", "fear", "talk", "money"), CATEGORIES, strict=True))
_LITERACY = {"basic": "Knows hardly any medical words.", "functional": "", "advanced": "Uses medical words rightly."}


def blocks(name: str) -> Any:
    """What a file of building blocks holds."""
    return yaml.safe_load((BLOCKS / f"{name}.yaml").read_text("utf-8"))


# -- Sentences in the first and third person ------------------------------------------------------------

_CHOICE = re.compile(r"([\w']+)\|([\w']+)")
_VERBS = {"am": "is", "have": "has", "do": "does", "don't": "doesn't", "haven't": "hasn't"}
_PRONOUNS = {
    "female": {"I": "she", "me": "her", "my": "her", "myself": "herself", "mine": "hers"},
    "male": {"I": "he", "me": "him", "my": "his", "myself": "himself", "mine": "his"},
}
_PLURAL = {"we": "they", "us": "them", "our": "their"}


def first_person(text: str) -> str:
    """A sentence as its speaker says it."""
    return _CHOICE.sub(r"\1", text)


def third_person(text: str, sex: str) -> str:
    """The same, of its speaker."""
    text = _CHOICE.sub(lambda match: match[1] + match[2] if match[2] in ("s", "es") else match[2], text)
    text = re.sub(r"\bI (am|have|do|don't|haven't)\b", lambda match: f"I {_VERBS[match[1]]}", text)
    words = _PRONOUNS[sex] | _PLURAL

    def put(match: re.Match[str]) -> str:
        word = match[0]
        own = words[word if word == "I" else word.lower()]
        starts = match.start() == 0 or text[: match.start()].endswith((". ", "? ", "! "))
        return own.capitalize() if starts else own

    return re.sub(r"\b(?:I|[Mm]e|[Mm]y|[Mm]yself|[Mm]ine|[Ww]e|[Uu]s|[Oo]ur)\b", put, text)


# -- Patients with concerns: MedConceal and MedAgent ----------------------------------------------------


def age_group(age: int) -> str:
    """What tables group by."""
    return "under 18" if age < 18 else "18-39" if age < 40 else "40-64" if age < 65 else "65 and over"


class Patient:
    """A patient of the building blocks.

    Args:
        condition: what the patients of one condition share.
        own: the patient's own.
        manner: how they talk.
    """

    def __init__(self, condition: Mapping[str, Any], own: Mapping[str, Any], manner: Mapping[str, Any]) -> None:
        *parts, carer = own["who"].split(", ")
        self.carer = carer.removeprefix("carer ") if carer.startswith("carer ") else ""
        self.name, age, self.sex, *rest = parts if self.carer else [*parts, carer]
        self.age, self.rest = int(age), rest
        self.background = ", ".join(rest[2:]) or rest[-1]
        self.condition, self.own, self.manner = condition, own, manner
        self.id = f"{condition['id']}-{self.name.lower()}"
        self.speaker_sex = self.sex
        if self.carer:
            self.speaker_sex = "female" if self.carer.split()[0] in ("mother", "daughter") else "male"
        self.told = [*condition.get("facts", ()), *own["facts"]]

    def base(self) -> dict[str, Any]:
        """What all protocols share."""
        factors = {"specialty": self.condition["specialty"], "sex": self.sex, "age_group": age_group(self.age)}
        return {
            "id": self.id,
            "language": "en",
            "origin": "invented",
            "licence": "CC0-1.0",
            "speaker": "caregiver" if self.carer else "patient",
            "factors": factors | {"speaks": "carer" if self.carer else "patient"},
        }

    def narrative(self) -> str:
        """Who the patient is."""
        return f"{self.name} is {self.age} ({self.background}). {self.own['home']}"

    def side(self, style: str) -> dict[str, Any]:
        """What the patient knows, and how they talk."""
        return {
            "style": style,
            "facts": [first_person(text) for text in self.told],
            "psychosocial": list(self.own["life"]),
        }

    def medconceal(self) -> Case:
        """The case with its hidden concerns."""
        family = dict(zip(("Marital status", "Education"), self.rest, strict=False)) if len(self.rest) > 2 else {}
        chart = {"Name": self.name, "Age": str(self.age), "Sex": self.sex, **family}
        chart["Background"] = self.background
        if self.carer:
            chart["Speaks for the patient"] = self.carer
        chart |= {"Reason for the visit": self.own["reason"], "History": self.own["history"]}
        whose, narrative = "My", self.narrative()
        if self.carer:
            relation, name = self.carer.split()
            his, him = ("his", "him") if self.sex == "male" else ("her", "her")
            whose = his.capitalize()
            narrative += f" You are {name}, {his} {relation}: you speak for {him}, and what weighs on you is your own."
        vitals = [
            f"{whose} {re.sub(r' (?=[0-9])', ' was ', part, count=1)}." for part in self.own["vitals"].split(", ")
        ]
        concerns = [self.concern(place, number) for place, number in enumerate(self.own["concerns"])]
        base = self.base()
        base["factors"] |= {"literacy": self.own["literacy"], "concerns": len(concerns)}
        style = f"{self.manner['style']} {_LITERACY[self.own['literacy']]}".strip()
        return Case.model_validate(
            base
            | {
                "chart": chart,
                "patient": {
                    "narrative": narrative,
                    **self.side(style),
                    "vitals": vitals,
                    "deflections": self.manner["deflections"],
                },
                "hidden": {"diagnosis": self.condition["diagnosis"], "concerns": concerns},
                "intervention": {"preference": self.own["prefer"], "plan": self.own["plan"]},
            }
        )

    def concern(self, place: int, number: int) -> dict[str, Any]:
        """A hidden concern; the first is the one that an intervention is about, and the surest."""
        block = self.condition["concerns"][number]
        return {
            "id": f"{self.id}-{place + 1}",
            "category": _KINDS[block["as"]],
            "text": third_person(block["say"], self.speaker_sex),
            "primary": place == 0,
            "confidence": round(0.9 - 0.1 * place, 1),
            "evidence": [third_person(block["sign"], self.speaker_sex)],
            "voiced": [first_person(block["say"]), block["also"]],
        }

    def multisense(self) -> Case:
        """The case with its study, of which nothing is hidden but the diagnosis."""
        vitals = self.own["vitals"]
        told = " ".join(third_person(text, self.speaker_sex) for text in self.told)
        study = f"{self.narrative()} Reason for writing: {self.own['reason']}. {told} History: {self.own['history']}."
        own = {"study": study, "intent": self.own["intent"], "goal": self.own["goal"]}
        return Case.model_validate(
            self.base()
            | {
                "chart": {"Vital signs": vitals[:1].upper() + vitals[1:]},
                "patient": self.side(self.manner["style"]),
                "hidden": {"diagnosis": self.condition["diagnosis"]},
                "extra": {"multisense": own},
            }
        )


def patients() -> Iterator[Patient]:
    """All of them, in the blocks' order."""
    manners = blocks("manners")
    for condition in (*blocks("patients-1"), *blocks("patients-2")):
        for own in condition["cases"]:
            yield Patient(condition, own, manners[own["manner"]])


# -- Histories: Note2Chat -------------------------------------------------------------------------------

_WHO = {"man": "man", "woman": "woman", "男": "男性", "女": "女性"}
_SEX = {"man": "male", "woman": "female", "男": "male", "女": "female"}


def notes() -> Iterator[Case]:
    """The histories: those in English, then those in Chinese."""
    held = blocks("notes")
    for language, key in (("en", "notes"), ("zh", "zh-notes")):
        yield from (_note(note, held["pool"][language], language) for note in held[key])


def _note(note: Mapping[str, Any], pool: Mapping[str, Any], language: str) -> Case:
    age, who = note["who"].split(", ")
    stop, between = ("。", "") if language == "zh" else (".", " ")
    found = [*note["found"], *(pool[name] for name in note["more"])]
    texts = {text + stop: aspects.split(", ") for each in found for text, aspects in each.items()}
    first = f"患者，{_WHO[who]}，{age}岁。" if language == "zh" else f"The patient is a {who} of {age}."
    vignette = between.join((first, *texts))
    return Case.model_validate(
        {
            "id": note["id"],
            "language": language,
            "origin": "invented",
            "licence": "CC0-1.0",
            "factors": {"condition": note["diagnosis"].lower(), "sex": _SEX[who], "age_group": age_group(int(age))},
            "hidden": {"diagnosis": note["diagnosis"]},
            "note": {
                "chief_complaint": note["complaint"],
                "text": between.join((vignette, note["course"])),
                "vignette": vignette,
                "findings": [{"text": text, "categories": aspects} for text, aspects in texts.items()],
            },
        }
    )


# -- Clients: CALM-IT, and records: MDD-5k --------------------------------------------------------------


def clients() -> Iterator[Case]:
    """CALM-IT's clients."""
    held = blocks("clients")
    for client in held["clients"]:
        name, age, gender, ethnicity = client["who"].split(", ")
        profile = {"name": name, "age": int(age), "gender": gender, "ethnicity": ethnicity}
        profile |= dict(zip(held["profile_keys"], client["profile"], strict=True))
        stage, emotion = client["start"]
        fields = {
            "profile": profile | {"reason_for_attending": client["reason"]},
            "background": client["background"],
            "cognitive_model": client["mind"],
            "session_goal": client["goal"],
            "topic": client["topic"],
            "initial": {"stage": stage, "emotion": emotion},
        }
        yield Case.model_validate(
            {
                "id": client["id"],
                "origin": "invented",
                "licence": "CC0-1.0",
                "factors": {"topic": client["topic"], "sex": gender, "age_group": age_group(int(age))},
                "extra": {"calm-it": fields},
            }
        )


def psychiatric_records() -> Iterator[Case]:
    """MDD-5k's records: those in English, then those in Chinese."""
    held = blocks("records")
    for language in ("en", "zh"):
        usual = held["usual"][language]
        for record in held[language]:
            fields = {key: value for key, value in record.items() if key not in ("id", "diagnosis", "condition")}
            for section in ("personal_history", "mental_examination"):
                fields[section] = usual[section] | fields.get(section, {})
            yield Case.model_validate(
                {
                    "id": record["id"],
                    "language": language,
                    "origin": "invented",
                    "licence": "CC0-1.0",
                    "factors": {
                        "condition": record["condition"],
                        "sex": record["sex"],
                        "age_group": age_group(record["age"]),
                    },
                    "hidden": {"diagnosis": record["diagnosis"]},
                    "extra": {"mdd5k": fields},
                }
            )


# -- People at risk: the same in all protocols ----------------------------------------------------------


class PersonAtRisk(Patient):
    """A person of the risk set: what the clinician is to find out, and to answer with help that fits.

    Args:
        block: the person's building block.
        manner: how they talk.
    """

    def __init__(self, block: Mapping[str, Any], manner: Mapping[str, Any]) -> None:
        facts, tells = (
            {f"{text}.": aspects.split(", ") for fact in block[key] for text, aspects in fact.items()}
            for key in ("facts", "tells")
        )
        condition = {
            **{key: block[key] for key in ("id", "specialty", "diagnosis")},
            "concerns": [block["concern"], block["other"]],
        }
        own = {**block, "facts": list(facts), "life": list(block["life"].values()), "concerns": [0, 1]}
        super().__init__(condition, own, manner)
        self.findings, self.tells, self.sections = facts | tells, list(tells), block["life"]
        self.tags = {"risk": block["risk"], "risk_grade": block["grade"]}

    def base(self) -> dict[str, Any]:
        base = super().base()
        return base | {"factors": base["factors"] | self.tags}

    def multisense(self) -> Case:
        self.told += self.tells
        return super().multisense()

    def of_protocol(self, name: str, own: Mapping[str, Any], **factors: str) -> Case:
        """The case in a protocol's own form."""
        about = {"sex": self.sex, "age_group": age_group(self.age)}
        return Case.model_validate(
            {
                "id": self.id,
                "origin": "invented",
                "licence": "CC0-1.0",
                "factors": factors | about | self.tags,
                "hidden": {"diagnosis": self.condition["diagnosis"]},
                **({"note": own} if name == "note" else {"extra": {name: own}}),
            }
        )

    def note(self) -> Case:
        """Note2Chat's history."""
        texts = {third_person(text, self.sex): aspects for text, aspects in self.findings.items()}
        age = self.age
        who = ("girl" if self.sex == "female" else "boy") if age < 18 else "woman" if self.sex == "female" else "man"
        vignette = " ".join((f"The patient is a {who} of {age}.", *texts))
        return self.of_protocol(
            "note",
            {
                "chief_complaint": self.own["reason"][:1].upper() + self.own["reason"][1:],
                "text": f"{vignette} {self.own['plan']}",
                "vignette": vignette,
                "findings": [{"text": text, "categories": aspects} for text, aspects in texts.items()],
            },
            condition=self.condition["diagnosis"].lower(),
        )

    def client(self) -> Case:
        """CALM-IT's client, who tells the risk only when asked about it."""
        own = self.own
        stage, emotion = own["start"]
        profile = {
            "name": self.name, "age": self.age, "gender": self.sex, "ethnicity": own["ethnicity"],
            "occupation": self.background, "relationship_status": self.rest[0], "living_situation": own["lives"],
            "education": self.rest[1], "religion": own["faith"], "socioeconomic_status": own["means"],
            "reason_for_attending": own["says"],
        }  # fmt: skip
        fields = {
            "profile": profile,
            "background": {section: [text] for section, text in self.sections.items()},
            "cognitive_model": {
                "beliefs": [own["other"]["also"]],
                "how it has been": [first_person(text) for text in own["facts"]],
                "tells when asked about it": [first_person(text) for text in self.tells],
            },
            "session_goal": own["aim"],
            "topic": own["topic"],
            "initial": {"stage": stage, "emotion": emotion},
        }
        return self.of_protocol("calm-it", fields, topic=own["topic"])

    def record(self) -> Case:
        """MDD-5k's record."""
        own, usual = self.own, blocks("records")["usual"]["en"]
        fields = {
            "age": self.age, "sex": self.sex, "icd_codes": own["icd_codes"],
            "chief_complaint": own["reason"][:1].upper() + own["reason"][1:],
            "present_illness": " ".join(third_person(text, self.sex) for text in self.findings),
            "physical_illness": own["history"], "family_history": own["kin"],
            "personal_history": usual["personal_history"] | {"relationships": self.rest[0], "work": self.background},
            "mental_examination": usual["mental_examination"] | own["mental"],
            "treatment_advice": own["plan"],
        }  # fmt: skip
        return self.of_protocol("mdd5k", fields, specialty=own["specialty"])


def people_at_risk() -> list[PersonAtRisk]:
    """All of them, in the blocks' order."""
    manners = blocks("manners")
    return [PersonAtRisk(block, manners[block["manner"]]) for block in blocks("risks")]


# -- The files ------------------------------------------------------------------------------------------

#: The form of a person at risk by the simulator's folder.
_FORMS: Mapping[str, Callable[[PersonAtRisk], Case]] = {
    "medconceal": PersonAtRisk.medconceal,
    "multisense": PersonAtRisk.multisense,
    "note2chat": PersonAtRisk.note,
    "calm_it": PersonAtRisk.client,
    "mdd5k": PersonAtRisk.record,
}
#: Cases by the simulator's folder.
MADE: Mapping[str, Callable[[], Sequence[Case]]] = {
    "medconceal": lambda: [patient.medconceal() for patient in patients()],
    "multisense": lambda: [patient.multisense() for patient in patients()],
    "note2chat": lambda: list(notes()),
    "calm_it": lambda: list(clients()),
    "mdd5k": lambda: list(psychiatric_records()),
}


def full_text(simulator: str) -> str:
    """The file of a simulator's cases, the quick ones first, in the order in which they are named."""
    quick: list[str] = blocks("quick")[simulator]
    cases = {case.id: case for case in MADE[simulator]()}
    ordered = [*(cases.pop(name) for name in quick), *cases.values()]
    return _HEAD.format("the first twelve are the quick set") + case_text(ordered)


def risk_text(simulator: str) -> str:
    """The file of a simulator's people at risk."""
    form = _FORMS[simulator]
    return _HEAD.format("people at risk") + case_text([form(person) for person in people_at_risk()])


if __name__ == "__main__":
    for simulator in MADE:
        for name, text in ((FULL, full_text(simulator)), (RISK, risk_text(simulator))):
            (SIMULATORS / simulator / name).write_text(text, "utf-8")
            print(f"wrote {simulator}/{name}")
