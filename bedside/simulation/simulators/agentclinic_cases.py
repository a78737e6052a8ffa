"""Cases of AgentClinic's public form (``agentclinic_medqa.jsonl``): one OSCE examination an object.

Schmidgall et al. 2024, AgentClinic: a multimodal agent benchmark to evaluate AI in simulated clinical environments,
arXiv:2405.07960. What the patient actor has becomes the patient's; findings of the examination and results of tests,
which a measurement actor has there, stand in ``extra`` and in no prompt.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from bedside.core.errors import InputError
from bedside.core.records import FileRecord
from bedside.simulation.simulators.case import speaker

FORM = "agentclinic"
_WHOLE = "OSCE_Examination"
_PARTS = ("Objective_for_Doctor", "Patient_Actor", "Physical_Examination_Findings", "Test_Results", "Correct_Diagnosis")
_COMPLAINTS = ("Primary_Symptom", "Secondary_Symptoms", "Symptoms")
#: Fillers that say nothing.
_NOTHING = re.compile(
    r"\s*(?:(?:information|history)? ?not (?:provided|available|applicable|specified)"
    r"|no additional (?:symptoms|information) (?:provided|noted|reported)|n/?a|none provided|unknown)\.?\s*",
    re.IGNORECASE,
)


def is_of_form(value: Any) -> bool:
    """Whether an object is such a case, or one of its sister form with images."""
    return isinstance(value, dict) and (_WHOLE in value or {"patient_info", "physical_exams"} <= set(value))


def case_object(record: FileRecord) -> dict[str, Any]:
    """The case in bedside's own form.

    Raises:
        InputError: a part is missing, unknown or of another kind, or the case rests on an image.
    """
    if _WHOLE not in record.value:
        raise InputError(
            "AgentClinic's cases with images can't be had as conversations",
            where=record.place(),
            todo="use agentclinic_medqa.jsonl or agentclinic_medqa_extended.jsonl",
        )
    whole = record.value[_WHOLE]
    _check(record, whole)
    actor = dict(whole["Patient_Actor"])
    symptoms = actor.pop("Symptoms", {})
    symptoms = symptoms if isinstance(symptoms, dict) else {"Symptoms": symptoms}
    who, history = _texts(actor.pop("Demographics", "")), _texts(actor.pop("History", ""))
    social = _texts(actor.pop("Social_History", ""))
    complaints = [
        text for key, value in symptoms.items() for text in _texts(value, "" if key in _COMPLAINTS else _words(key))
    ]
    others = [text for key, value in actor.items() for text in _texts(value, _words(key))]
    examination = dict(whole["Physical_Examination_Findings"])
    vitals = _texts(examination.get("Vital_Signs", ""))
    return {
        "id": f"{record.path.stem}-{record.number}",
        "origin": f"AgentClinic's form, {record.path.name}",
        "speaker": speaker(" ".join(who)),
        "chart": {"Task": whole["Objective_for_Doctor"], **({"Patient": who[0]} if who else {})},
        "patient": {
            "narrative": " ".join(text if text.endswith(".") else f"{text}." for text in (*who, *history)),
            "facts": [*complaints, *others],
            "vitals": vitals,
            "psychosocial": social,
        },
        "hidden": {"diagnosis": whole["Correct_Diagnosis"]},
        "note": {
            "chief_complaint": next(iter(complaints), whole["Objective_for_Doctor"]),
            "vignette": "\n".join([*who, *history, *complaints, *others, *social]),
            "findings": [{"text": text} for text in complaints],
        },
        "extra": {FORM: {"physical_examination": examination, "test_results": whole["Test_Results"]}},
    }


def _check(record: FileRecord, whole: Any) -> None:
    if not isinstance(whole, dict):
        raise InputError(f"{_WHOLE} is not an object", where=record.place((_WHOLE,)))
    for part in _PARTS:
        if part not in whole:
            raise InputError(f"{_WHOLE} has no {part}", where=record.place((_WHOLE,)), todo="see docs/cases.md")
        wanted = str if part in (_PARTS[0], _PARTS[-1]) else dict
        if not isinstance(whole[part], wanted) or (wanted is str and not whole[part].strip()):
            kind = "a text" if wanted is str else "an object"
            raise InputError(f"{part} is not {kind}", where=record.place((_WHOLE, part)))
    for part in whole:
        if part not in _PARTS:
            raise InputError(
                f"{_WHOLE} has the unknown part {part}",
                where=record.place((_WHOLE, part)),
                todo="rename or remove it: what it is for can't be known",
            )


def _texts(value: Any, heading: str = "") -> list[str]:
    """The texts of a part, each with the headings above it; fillers are left out."""
    return list(_parts(value, heading))


def _parts(value: Any, heading: str) -> Iterator[str]:
    if isinstance(value, dict):
        for key, part in value.items():
            yield from _parts(part, f"{heading}, {_words(key)}" if heading else _words(key))
    elif isinstance(value, list):
        for part in value:
            yield from _parts(part, heading)
    else:
        text = str(value).strip() if value is not None else ""
        if text and not _NOTHING.fullmatch(text):
            yield f"{heading}: {text}" if heading else text


def _words(key: str) -> str:
    return key.replace("_", " ").capitalize()
