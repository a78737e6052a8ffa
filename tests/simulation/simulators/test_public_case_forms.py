"""Cases of AgentClinic's and CRAFT-MD's public forms, on small invented files of those forms."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from bedside.core.errors import InputError
from bedside.simulation.simulators.case import speaker
from bedside.simulation.simulators.case_files import case_text, check_cases, read_cases

OSCE: dict[str, Any] = {
    "OSCE_Examination": {
        "Objective_for_Doctor": "Assess the patient with an itching rash.",
        "Patient_Actor": {
            "Demographics": "31-year-old woman",
            "History": "An itching rash on both wrists for two weeks.",
            "Symptoms": {"Primary_Symptom": "Itching rash", "Secondary_Symptoms": ["Worse at night", "Small blisters"]},
            "Past_Medical_History": "Hay fever.",
            "Social_History": "Works in a nursery; a new bracelet.",
            "Review_of_Systems": "Information not provided.",
        },
        "Physical_Examination_Findings": {
            "Vital_Signs": {"Temperature": "36.7°C", "Heart_Rate": "70 bpm"},
            "Skin_Examination": {"Wrists": {"Left": "Erythema under the bracelet"}},
        },
        "Test_Results": {"Patch_Test": {"Nickel": "Positive"}},
        "Correct_Diagnosis": "Allergic contact dermatitis",
    }
}
CHOICES = ["Scabies", "Allergic contact dermatitis", "Lichen planus", "Psoriasis"]
VIGNETTE = (
    "A 31-year-old woman presents with an itching rash. It began two weeks ago. "
    "On examination, there are small blisters. She wears a new bracelet."
)


def osce(**changes: Any) -> dict[str, Any]:
    return {"OSCE_Examination": {**OSCE["OSCE_Examination"], **changes}}


def written(folder: Path, name: str, *objects: Any) -> Path:
    path = folder / name
    path.write_text("".join(json.dumps(each) + "\n" for each in objects), "utf-8")
    return path


def table(folder: Path, name: str, *rows: dict[str, Any]) -> Path:
    path = folder / name
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter="\t" if name.endswith("tsv") else ",")
        writer.writeheader()
        writer.writerows(rows)
    return path


def test_agentclinic_is_read(tmp_path: Path) -> None:
    path = written(tmp_path, "agentclinic_medqa.jsonl", OSCE, OSCE)
    (place, case), (second_place, second) = read_cases(path)
    assert (place, second_place) == (f"{path}:1", f"{path}:2")
    assert (case.id, second.id) == ("agentclinic_medqa-0", "agentclinic_medqa-1")
    assert case.chart == {"Task": "Assess the patient with an itching rash.", "Patient": "31-year-old woman"}
    assert case.patient.narrative == "31-year-old woman. An itching rash on both wrists for two weeks."
    assert case.patient.facts == (
        "Itching rash",
        "Worse at night",
        "Small blisters",
        "Past medical history: Hay fever.",
    )
    assert case.patient.vitals == ("Temperature: 36.7°C", "Heart rate: 70 bpm")
    assert case.patient.psychosocial == ("Works in a nursery; a new bracelet.",)
    assert case.hidden.diagnosis == "Allergic contact dermatitis"
    assert case.speaker == "patient"
    assert case.note is not None
    assert case.note.chief_complaint == "Itching rash"
    assert [finding.text for finding in case.note.findings] == ["Itching rash", "Worse at night", "Small blisters"]


def test_what_agentclinics_measurement_actor_has_is_in_no_prompt(tmp_path: Path) -> None:
    ((_, case),) = read_cases(written(tmp_path, "a.jsonl", OSCE))
    said = case.model_dump_json(include={"chart", "patient", "note", "intervention"})
    for text in ("Erythema", "Nickel", "Positive", "contact dermatitis"):
        assert text not in said
        assert text in case.model_dump_json()


@pytest.mark.parametrize(
    ("description", "expected"),
    [
        ("8-month-old boy", "caregiver"),
        ("Newborn, female", "caregiver"),
        ("A 6-year-old boy is brought by his mother, 31 years old.", "caregiver"),
        ("15-year-old girl", "patient"),
        ("A 31-year-old mother of a 3-month-old infant", "patient"),
        ("A 3-month-old infant of a 31-year-old mother", "caregiver"),
        ("a woman", "patient"),
    ],
)
def test_a_small_child_has_somebody_who_speaks(description: str, expected: str) -> None:
    assert speaker(description) == expected


@pytest.mark.parametrize(
    "value",
    [
        osce(Correct_Diagnosis=""),
        osce(Patient_Actor="a woman"),
        osce(Billing={}),
        {"OSCE_Examination": {}},
        {"OSCE_Examination": 3},
        {"question": "?", "image_url": "u", "patient_info": "x", "physical_exams": "y", "answers": []},
    ],
)
def test_another_agentclinic_form_is_refused(tmp_path: Path, value: Any) -> None:
    assert [remark.severity for _, remark in check_cases(written(tmp_path, "a.jsonl", value))] == ["error"]


def craft_md(**changes: Any) -> dict[str, Any]:
    return {
        "": "0",
        "case_vignette": VIGNETTE,
        **{f"choice_{number}": choice for number, choice in enumerate(CHOICES, start=1)},
        "answer": CHOICES[1],
        "category": "Dermatology",
        "dataset": "invented",
        "case_id": "case_0",
        **changes,
    }


def test_craft_md_is_read_from_its_table_and_from_json(tmp_path: Path) -> None:
    path = table(tmp_path, "usmle.csv", craft_md(), craft_md(case_id="case_1", case_vignette="It\nitches. Badly."))
    cases = read_cases(path)
    case = cases[0][1]
    assert [place for place, _ in cases] == [f"{path}:2", f"{path}:3"]
    assert (case.id, case.hidden.diagnosis) == ("case_0", "Allergic contact dermatitis")
    assert case.factors == {"category": "Dermatology", "dataset": "invented"}
    assert (case.patient.narrative, *case.patient.facts) == tuple(
        f"{sentence.rstrip('.')}." for sentence in VIGNETTE.split(". ")
    )
    assert case.extra["craft-md"]["choices"] == CHOICES
    assert cases[1][1].patient.narrative == "It itches."
    ((_, from_json),) = read_cases(written(tmp_path, "usmle.json", craft_md()))
    assert from_json.model_copy(update={"origin": ""}) == case.model_copy(update={"origin": ""})


def test_the_question_of_an_examination_is_nothing_that_the_patient_knows(tmp_path: Path) -> None:
    vignette = f"{VIGNETTE} Which of the following is the most likely diagnosis?"
    ((_, case),) = read_cases(table(tmp_path, "a.csv", craft_md(case_vignette=vignette)))
    assert case.note is not None
    assert case.note.vignette == VIGNETTE
    assert case.extra["craft-md"]["question"] == "Which of the following is the most likely diagnosis?"


def test_the_earlier_table_of_craft_md_is_read(tmp_path: Path) -> None:
    row = {
        "source": "",
        "case_id": "public_case01",
        "case_desc": VIGNETTE,
        **{f"Choice {number}": choice for number, choice in enumerate(CHOICES, start=1)},
        "Answer": "2",
        "answer_name": "",
        "category": "category1",
        "age": "31 years",
        "sex": "female",
        "physical_exam": "On examination, there are small blisters.",
    }
    ((_, case),) = read_cases(table(tmp_path, "dataset_final.tsv", row))
    assert case.hidden.diagnosis == "Allergic contact dermatitis"
    assert case.chart == {"Patient": "31 years, female"}
    assert "blisters" not in case.model_dump_json(include={"chart", "patient", "note"})
    assert case.extra["craft-md"]["physical_exam"] == "On examination, there are small blisters."
    with pytest.raises(InputError, match=r"b\.tsv:2: .*`Answer`"):
        read_cases(table(tmp_path, "b.tsv", {**row, "Answer": "5"}))


@pytest.mark.parametrize("value", [OSCE, craft_md()])
def test_converted_cases_are_written_in_our_form(tmp_path: Path, value: Any) -> None:
    cases = [case for _, case in read_cases(written(tmp_path, "a.jsonl", value))]
    path = tmp_path / "own.yaml"
    path.write_text(case_text(cases), "utf-8")
    assert [case for _, case in read_cases(path)] == cases
