"""Rows of MedAgent's form become cases, or say that they are none; on small invented tables."""

from __future__ import annotations

from pathlib import Path

from bedside.simulation.simulators.case_files import check_cases, read_cases, unused_rows
from bedside.simulation.simulators.multisense import SIMULATOR
from tests.simulation.simulators.test_public_case_forms import table

STUDY = (
    "A 24-year-old woman comes because of spells of fear. Her pulse is 92/min. She avoids the bus. "
    "Which of the following is the most likely diagnosis?"
)
ROW = {"id": "m/1", "clinical_case_study": STUDY, "mental_health_classification": "Yes", "answer": "Panic disorder"}
OTHER = {**ROW, "id": "m2", "mental_health_classification": "no"}


def test_a_row_becomes_a_case_that_facts_can_be_made_of(tmp_path: Path) -> None:
    path = table(tmp_path, "medqa.csv", ROW, OTHER)
    ((place, case),) = read_cases(path)
    assert place == f"{path}:2"
    assert (case.id, case.hidden.diagnosis, case.speaker) == ("m-1", "Panic disorder", "patient")
    study, question = STUDY.rsplit(". ", 1)
    assert case.extra == {"multisense": {"study": f"{study}.", "question": question}}
    assert not case.patient.facts
    assert list(SIMULATOR.check_case(case)) == []
    assert unused_rows(path) == 1
    ((_, remark),) = check_cases(path, SIMULATOR.check_case)
    assert (remark.severity, remark.key) == ("warning", "extra.multisense.study")
    assert "24-year-old" in remark.text


def test_a_table_without_answers_has_cases_without_a_diagnosis(tmp_path: Path) -> None:
    row = {key: value for key, value in ROW.items() if key != "answer"}
    ((_, case),) = read_cases(table(tmp_path, "medqa.tsv", row))
    assert case.hidden.diagnosis is None
