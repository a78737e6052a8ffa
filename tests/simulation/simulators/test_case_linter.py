"""The linter of cases: each remark by a case that earns it, and good cases that earn none."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from bedside.simulation.simulators.case import Case
from bedside.simulation.simulators.case_files import check_cases, leaks, read_cases
from bedside.simulation.simulators.contract import SIMULATORS

CONCERN: dict[str, Any] = {
    "id": "needles",
    "category": "emotional discomfort or fear",
    "text": "He is terrified of needles since a fainting fit at school.",
    "primary": True,
    "voiced": ["To be honest, I passed out from an injection when I was a boy."],
}
GOOD: dict[str, Any] = {
    "id": "insulin",
    "origin": "invented",
    "chart": {"Reason for the encounter": "Blood sugar is too high in spite of tablets."},
    "patient": {
        "narrative": "A 54-year-old bus driver called Tom.",
        "facts": ["I take my tablets every morning.", "I get up twice a night."],
        "psychosocial": ["He lives with his wife."],
        "deflections": ["I'd rather talk about my feet."],
    },
    "hidden": {"diagnosis": "Type 2 diabetes mellitus", "concerns": [CONCERN]},
    "note": {
        "chief_complaint": "High blood sugar",
        "opening": "My blood sugar is too high.",
        "findings": [{"text": "Nocturia"}],
    },
}


def changed(**changes: Any) -> list[tuple[str, str]]:
    """Severity and key of each remark on the good case with some keys changed."""
    case: dict[str, Any] = {**GOOD}
    for name, value in changes.items():
        case[name] = {**case[name], **value} if isinstance(case[name], dict) else value
    return [(remark.severity, remark.key) for remark in leaks(Case.model_validate(case))]


def test_a_good_case_earns_no_remark() -> None:
    assert changed() == []


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"chart": {"Social history": "Terrified of needles since school."}}, ("warning", "chart.Social history")),
        (
            {"patient": {"narrative": "He fears a fainting fit at the sight of needles."}},
            ("warning", "patient.narrative"),
        ),
        ({"patient": {"facts": ["x", CONCERN["text"]]}}, ("error", "patient.facts.1")),
        (
            {"patient": {"psychosocial": ["to be honest I passed out from an injection when I was a boy"]}},
            ("error", "patient.psychosocial.0"),
        ),
        ({"patient": {"deflections": ["Needles? Terrified, me?"]}}, None),
        ({"patient": {"facts": ["I was told that it is type 2 diabetes."]}}, ("warning", "patient.facts.0")),
        ({"chart": {"History": "Diabetes mellitus type 2"}}, ("warning", "chart.History")),
        ({"chart": {"History": "Gestational diabetes, 2009"}}, None),
        ({"patient": {"deflections": []}}, ("warning", "patient.deflections")),
        ({"hidden": {"concerns": [{**CONCERN, "voiced": []}]}}, ("warning", "hidden.concerns.0.voiced")),
        ({"hidden": {"concerns": [{**CONCERN, "primary": False}]}}, ("warning", "hidden.concerns")),
        ({"hidden": {"concerns": [CONCERN, {**CONCERN, "id": "other"}]}}, ("warning", "hidden.concerns")),
        ({"hidden": {"concerns": [CONCERN, {**CONCERN, "primary": False}]}}, ("error", "hidden.concerns.1.id")),
        ({"note": {"findings": [{"text": "High blood sugar"}]}}, ("warning", "note.findings.0.text")),
        ({"note": {"vignette": "Diagnosed with type 2 diabetes mellitus."}}, ("warning", "note.vignette")),
    ],
)
def test_what_is_hidden_and_stands_in_the_open_is_told(
    changes: dict[str, Any], expected: tuple[str, str] | None
) -> None:
    assert changed(**changes) == ([] if expected is None else [expected])


def test_a_known_diagnosis_may_stand_in_the_chart_where_concerns_are_looked_for() -> None:
    chart = {"History": "Type 2 diabetes mellitus for six years."}
    assert changed(chart=chart) == [("warning", "chart.History")]
    case = Case.model_validate({**GOOD, "chart": chart, "note": None})
    assert list(leaks(case)) == []
    told = Case.model_validate({**GOOD, "note": None, "patient": {**GOOD["patient"], "facts": list(chart.values())}})
    assert [remark.key for remark in leaks(told)] == ["patient.facts.0"]


@pytest.mark.parametrize("name", SIMULATORS.names())
def test_bundled_cases_are_clean(name: str) -> None:
    simulator = SIMULATORS.load(name)
    assert list(check_cases(simulator.cases, simulator.check_case)) == []
    assert all("invented" in case.origin.casefold() for _, case in read_cases(simulator.cases))


def test_a_chinese_case_is_looked_at_alike() -> None:
    case = Case.model_validate(
        {
            "id": "zh",
            "language": "zh",
            "origin": "invented",
            "patient": {"facts": ["他害怕失去工作，所以一直不说。"], "deflections": ["没什么。"]},
            "hidden": {
                "diagnosis": "惊恐障碍",
                "concerns": [{**CONCERN, "text": "他害怕失去工作", "voiced": ["我怕丢了饭碗。"]}],
            },
            "chart": {"病史": "惊恐障碍待查"},
            "note": {"chief_complaint": "心慌"},
        }
    )
    assert [(remark.severity, remark.key) for remark in leaks(case)] == [
        ("warning", "chart.病史"),
        ("error", "patient.facts.0"),
    ]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Mr. Harrison came alone.", "a name"),
        ("My name is Peter.", "a name"),
        ("我叫李建国。", "a name"),
        ("Admitted on 2021-03-04.", "a date"),
        ("Seen on March 4, 2021.", "a date"),
        ("2021年3月4日入院。", "a date"),
        ("A 54-year-old man.", "an exact age"),
        ("54岁男性。", "an exact age"),
        ("Treated at Saint Mary Hospital.", "a place"),
        ("She lives in Boston.", "a place"),
        ("住在浙江省。", "a place"),
        ("Call 555-123-4567.", "an address or number"),
        ("Write to a.b@example.org.", "an address or number"),
        ("MRN 12345.", "an address or number"),
    ],
)
def test_what_could_tell_who_somebody_is_is_told_unless_it_is_invented(text: str, kind: str) -> None:
    case = {"id": "a", "patient": {"facts": [text]}}
    (remark,) = leaks(Case.model_validate(case))
    assert (remark.severity, remark.key) == ("warning", "patient.facts.0")
    assert f"looks like {kind}" in remark.text
    assert list(leaks(Case.model_validate({**case, "origin": "Invented by hand"}))) == []


@pytest.mark.parametrize(
    "text",
    [
        "I take 50 mg in the morning.",
        "It began three weeks ago, in March.",
        "My husband works nights and lives with us.",
        "He is in his fifties.",
        "Blood pressure 140/90, pulse 88.",
        "医院里的人很多。",
        "I may go in May.",
    ],
)
def test_what_names_nobody_is_let_alone(text: str) -> None:
    assert list(leaks(Case.model_validate({"id": "a", "patient": {"facts": [text]}}))) == []


OPEN = st.sampled_from(["chart", "narrative", "facts", "vitals", "psychosocial", "style", "deflections"])


@given(OPEN, st.booleans(), st.integers(16**7, 16**8 - 1))
def test_a_canary_of_a_concern_is_never_overlooked_in_the_open(where: str, voiced: bool, token: int) -> None:
    canary = f"It is {token:x} that frightens me"
    concern = {**CONCERN, "voiced": [canary]} if voiced else {**CONCERN, "text": canary}
    text = f"Well. {canary}, you know."
    patient: dict[str, Any] = {**GOOD["patient"]}
    chart = {"History": text} if where == "chart" else {}
    if where in ("narrative", "style"):
        patient[where] = text
    elif where != "chart":
        patient[where] = ["Nothing else.", text]
    case = {**GOOD, "chart": chart, "patient": patient, "hidden": {"concerns": [concern]}}
    remarks = [remark for remark in leaks(Case.model_validate(case)) if where in remark.key]
    assert [remark.severity for remark in remarks] == ["error"]
