"""Cases of other projects are written in bedside's form, and checked."""

from __future__ import annotations

import json
from pathlib import Path

from bedside.simulation.simulators.case_files import read_cases
from tests.conftest import Call, works
from tests.simulation.simulators.test_medagent_cases import OTHER, ROW
from tests.simulation.simulators.test_public_case_forms import OSCE, table


def test_cases_of_agentclinic_are_converted_and_checked(call: Call, tmp_path: Path) -> None:
    source, out = tmp_path / "agentclinic_medqa.jsonl", tmp_path / "own.yaml"
    source.write_text(json.dumps(OSCE) + "\n", "utf-8")
    code, said, noted = call("simulate", "convert", source, "--out", out)
    assert (code, said) == (0, f"Wrote 1 case to {out}.\n")
    assert f"bedside simulate check {out}" in " ".join(noted.split())
    assert [case for _, case in read_cases(out)] == [case for _, case in read_cases(source)]
    said, noted = works(call, "simulate", "check", out, "--protocol", "note2chat")
    assert "31-year-old" in noted
    code, _, noted = call("simulate", "convert", source, "--out", out)
    assert code == 2
    assert "is already there" in noted


def test_a_case_that_is_no_case_is_told_with_its_line(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text("- id: a\n  chrat: {}\n", "utf-8")
    code, _, noted = call("simulate", "check", path)
    assert code == 2
    assert "own.yaml:2: error: chrat: unknown key; did you mean chart" in " ".join(noted.split())


def test_vignettes_that_are_not_about_mental_health_are_left_out_and_counted(call: Call, tmp_path: Path) -> None:
    source, out = table(tmp_path, "medqa.csv", ROW, OTHER), tmp_path / "own.yaml"
    code, said, noted = call("simulate", "convert", source, "--out", out)
    assert (code, said) == (0, f"Wrote 1 case to {out}.\n")
    assert "Left out: 1 row whose `mental_health_classification` is No." in noted
    assert [case for _, case in read_cases(out)] == [case for _, case in read_cases(source)]
    works(call, "simulate", "check", out, "--protocol", "multisense")
