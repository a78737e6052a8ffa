"""Benchmarking as a user meets it: what is typed, what is printed, how systems are added, what is wrong in one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.test_simulate import refusal
from tests.conftest import Call, works

TOYS = ("--clinician", "script:good", "--clinician", "script:brisk", "--sample", "2")


@pytest.mark.slow
def test_it_says_who_is_where_goes_on_and_takes_new_systems(call: Call, undrawn: None) -> None:
    out, err = works(call, "benchmark", "medconceal", *TOYS)
    answer, _, rest = out.partition("Rank")
    assert " ".join(answer.split()).startswith(
        "No system is shown to lead on Reveal rate (confirmation) (2 cases): script"
    )
    assert "script:brisk (toy)" in rest
    assert "Toys are" in rest
    assert "Letters" not in rest
    assert out.count("\n") <= 24
    assert "4 conversations of 4 in bench/talks; 100 calls of actors and 0 of judges asked now." in out
    assert "No judge was named, so ratings by 10 rubrics are missing. To add them: bedside score bench/talks" in out
    assert "The report: bench/run/report/report.html" in out
    _, out, _ = call("benchmark", "run", "medconceal", *TOYS, "--json")
    (table,) = json.loads(out)
    assert {row["system"] for row in table["rows"]} == {"script:good", "script:brisk"}
    out, err = works(call, "benchmark", "add", "bench", "--clinician", "rules", "--notes")
    assert "Letters: two systems that share one" in " ".join(out.split())
    assert "6 conversations of 6 in bench/talks; 50 calls of actors and 0 of judges asked now." in out
    err = refusal(call, "benchmark", "medconceal", *TOYS)
    assert "the benchmark in this folder is another one: clinicians (without: rules-toy)" in err
    err = refusal(call, "benchmark", "medconceal", *TOYS, "--clinician", "rules", "--seed", "4")
    assert "seed (0, now 4)" in err
    _, out, _ = call("benchmark", "--sample", "2", "medconceal", *TOYS[:4], "--clinician", "rules", "--replay")
    assert "; 0 calls of actors" in out, "options may come first"


def test_a_dry_run_has_all_three_steps_and_writes_nothing(call: Call, tmp_path: Path) -> None:
    model = "http://localhost:9/v1#one"
    out, _ = works(
        call,
        "benchmark", "note2chat", "--clinician", model, "--judge", "http://localhost:9/v1#judge", "--sample", "1",
        "--price", "in=1,out=2", "--dry-run", "--json",
    )  # fmt: skip
    simulated, judged, whole = json.loads(out)
    assert [row["step"] for row in whole["rows"]] == ["Simulate", "Score", "Report", "All"]
    assert whole["rows"][3]["calls"] == whole["rows"][0]["calls"] + whole["rows"][1]["calls"]
    assert whole["rows"][3]["cost"] > 0
    assert sum(row["calls"] for row in simulated["rows"]) == whole["rows"][0]["calls"]
    assert {row["judge"] for row in judged["rows"]} == {"judge:judge"}
    assert not (tmp_path / "bench").exists()


def test_a_dry_run_says_first_what_it_comes_to(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    models = ("http://localhost:9/v1#one", "http://localhost:9/v1#two")
    command = ("benchmark", "note2chat", *(x for name in models for x in ("--clinician", name)), "--sample", "2")
    priced, _ = works(call, *command, "--price", "in=1,out=2", "--dry-run")
    lines = priced.splitlines()
    assert lines[0] == "Nothing was asked. It would be 4 conversations: 2 cases with 2 systems."
    assert lines[1].startswith("That takes about ")
    assert "No judge is named: what needs one will be missing." in lines[:6]
    assert len(lines) <= 20
    assert "what it costs isn't known" in works(call, *command, "--dry-run")[0]
    whole, _ = works(call, *command, "--price", "in=1,out=2", "--dry-run", "--all", "--notes")
    assert {"What would be asked (nothing was)", *lines[:2]} <= {line.strip() for line in whole.splitlines()}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["medconceel", "--clinician", "rules"], "did you mean medconceal?"),
        (["medconceal"], "--clinician: no clinician is named"),
        (["medconceal", "--clinician", "rules", "--judge", "opnai/x"], "did you mean openai?"),
        (["medconceal", "--clinician", "rules", "--setting", "x"], "--setting: there is no medconceal setting 'x'"),
        (["medconceal", "--clinician", "rules", "--set", "note2chat.brief=x"], "--set: 'note2chat' is not"),
        (
            ["medconceal", "--clinician", "rules", "--price", "other,in=1,out=1"],
            "--price: there is no actor or judge 'other'",
        ),
        (["medconceal", "--clinician", "rules", "--max-cost", "0"], "--max-cost"),
        (["medconceal", "--clinician", "rules", "--sample", "99"], "--sample: there are"),
        (["medconceal", "nowhere.yaml", "--clinician", "rules"], "nowhere.yaml"),
        (["medconceal", "--clinician", "rules", "--replay"], "there is no benchmark to replay"),
        (["add", "nowhere", "--clinician", "rules"], "there is no benchmark in this folder"),
        (["--clinician", "rules"], "PROTOCOL"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(call: Call, tmp_path: Path, arguments: list[str], says: str) -> None:
    assert says in refusal(call, "benchmark", *arguments)
    assert not (tmp_path / "bench").exists()


def test_its_help_has_the_options_and_the_other_command(call: Call) -> None:
    out, _ = works(call, "benchmark", "--help")
    assert "  add  Put a new system" in out
    assert "bedside benchmark [OPTIONS] PROTOCOL" in out
    assert "--clinician ACTOR" in out
