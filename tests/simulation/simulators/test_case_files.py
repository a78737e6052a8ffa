"""Case files: each form is read, and what is wrong is told with file, line and key."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings, strategies as st

from bedside.core.errors import InputError
from bedside.core.records import records
from bedside.simulation.simulators.case import Case
from bedside.simulation.simulators.case_files import case_text, check_cases, read_cases, read_personas

SIMULATORS = Path(__file__).parents[3] / "bedside" / "simulation" / "simulators"
CASES: list[dict[str, Any]] = [
    {
        "id": "insulin",
        "origin": "invented",
        "chart": {"Reason for the encounter": "Blood sugar is too high in spite of tablets."},
        "patient": {"facts": ["I take my tablets."], "deflections": ["I'd rather talk about my feet."]},
        "hidden": {
            "concerns": [
                {
                    "id": "needles",
                    "category": "emotional discomfort or fear",
                    "text": "He is terrified of needles since a fainting fit at school.",
                    "primary": True,
                    "voiced": ["I fainted from a needle at school."],
                }
            ]
        },
    },
    {"id": "cough", "note": {"chief_complaint": "Cough", "findings": [{"text": "Fever for three days"}]}},
]
TEXTS = {
    "list.json": json.dumps(CASES, indent=2),
    "lines.jsonl": "\n".join(map(json.dumps, CASES)) + "\n\n",
    "list.yaml": yaml.safe_dump(CASES, sort_keys=False),
}
#: Where each file's second case begins.
SECOND = {
    "list.json": TEXTS["list.json"].split('"cough"')[0].count("\n"),
    "lines.jsonl": 2,
    "list.yaml": TEXTS["list.yaml"].split("- id: cough")[0].count("\n") + 1,
}


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, "utf-8")
    return path


@pytest.mark.parametrize("name", list(TEXTS))
def test_each_form_is_read_with_places(tmp_path: Path, name: str) -> None:
    path = written(tmp_path, name, TEXTS[name])
    cases = read_cases(path)
    assert [case for _, case in cases] == [Case.model_validate(case) for case in CASES]
    assert cases[1][0] == f"{path}:{SECOND[name]}"


def test_folders_and_several_paths_are_read_in_order(tmp_path: Path) -> None:
    written(tmp_path, "b.yaml", "id: second\n")
    written(tmp_path, "a.json", '{"id": "first"}')
    written(tmp_path, "_draft.json", "no")
    written(tmp_path, "notes.txt", "no")
    third = written(tmp_path, "c.yml", "- id: third\n")
    assert [case.id for _, case in read_cases(tmp_path)] == ["first", "second", "third"]
    assert [case.id for _, case in read_cases([third, tmp_path / "a.json"])] == ["third", "first"]


@pytest.mark.parametrize("name", list(TEXTS))
@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("Fever for three days", "", r"note\.findings\.0\.text: it must not be empty"),
        ("chief_complaint", "cheif_complaint", r"note\.cheif_complaint: unknown key; did you mean chief_complaint"),
        ("deflections", "deflection", r"patient\.deflection: unknown key; did you mean deflections"),
        ("voiced", "voice", r"hidden\.concerns\.0\.voice: unknown key; did you mean voiced"),
    ],
)
def test_a_wrong_key_is_told_with_its_line_and_the_nearest(
    tmp_path: Path, name: str, before: str, after: str, message: str
) -> None:
    text = TEXTS[name]
    if name.endswith("yaml") and not after:
        before = f"text: {before}"
        after = "text: ''"
    path = written(tmp_path, name, text.replace(before, after))
    line = text[: text.index(before)].count("\n") + 1
    with pytest.raises(InputError, match=rf"{name}:{line}: {message}"):
        read_cases(path)


def test_personas_are_read(tmp_path: Path) -> None:
    path = written(tmp_path, "p.yaml", "- id: reserved\n  sentences: 2\n- id: open\n")
    assert [persona.id for _, persona in read_personas(path)] == ["reserved", "open"]


def test_all_that_is_wrong_is_told_at_once(tmp_path: Path) -> None:
    text = TEXTS["list.yaml"].replace("voiced", "voice").replace("- id: cough", "- id: insulin")
    path = written(tmp_path, "list.yaml", text)
    remarks = list(check_cases(path, lambda case: ["it has no concern"] if not case.hidden.concerns else []))
    assert [(remark.severity, remark.key) for _, remark in remarks] == [
        ("error", "hidden.concerns.0.voice"),
        ("error", "insulin"),
    ]
    assert remarks[0][0] == f"{path}:{text[: text.index('voice')].count(chr(10)) + 1}"
    doubled = written(tmp_path, "d.yaml", "- id: a\n- id: a\n")
    assert [(place, remark.text) for place, remark in check_cases(doubled)] == [
        (f"{doubled}:2", f"'a' is there twice; the first is at {doubled}:1")
    ]


def test_cases_are_written_as_they_are_read(tmp_path: Path) -> None:
    cases = [Case.model_validate(case) for case in CASES]
    path = written(tmp_path, "cases.yaml", case_text(cases))
    assert [case for _, case in read_cases(path)] == cases


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def paths_of(value: Any) -> list[tuple[int | str, ...]]:
    members: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [(), *[(step, *rest) for step, inner in members for rest in paths_of(inner)]]


@settings(max_examples=40, deadline=None)
@given(value=st.dictionaries(st.text(), JSON, min_size=1, max_size=4), indent=st.sampled_from([None, 1, 4]))
def test_the_line_of_any_part_of_json_is_where_it_stands(value: Any, indent: int | None, tmp_path_factory: Any) -> None:
    path = tmp_path_factory.mktemp("lines") / "a.json"
    text = json.dumps(value, indent=indent)
    path.write_text(text, "utf-8")
    (record,) = records(path, "case file")
    assert record.value == value
    lines = text.split("\n")
    for part in paths_of(value):
        line = record.line_of(part)
        if part and isinstance(part[-1], str):
            assert json.dumps(part[-1]) + ":" in lines[line - 1]
        assert 1 <= line <= len(lines)


def test_the_cases_and_personas_of_the_docs_are_read_and_clean(tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs" / "cases.md").read_text("utf-8")
    case, personas = (block.split("```")[0] for block in page.split("```yaml\n")[1:])
    path = written(tmp_path, "case.yaml", case)
    ((_, insulin),) = read_cases(path)
    assert list(check_cases(path)) == []
    assert insulin.model_dump(exclude_defaults=True).keys() >= {"chart", "patient", "hidden", "note", "intervention"}
    assert len(read_personas(written(tmp_path, "personas.yaml", personas))) == 2
    told = yaml.safe_load(case.replace("I've had high sugar for six years.", "My father went blind from insulin."))
    (tmp_path / "leaky.yaml").write_text(yaml.safe_dump(told), "utf-8")
    ((_, remark),) = check_cases(tmp_path / "leaky.yaml")
    assert str(remark) in page
