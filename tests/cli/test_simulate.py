"""Simulating as a user meets it: what is typed, what is printed, how it goes on, what is wrong in one line."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import bedside
from bedside.api.simulating import simulate
from bedside.simulation.simulators.contract import SIMULATORS
from tests.conftest import Call, works

BRISK = ("simulate", "--protocol", "note2chat", "--clinician", "script:brisk", "--sample", "1")


def refusal(call: Call, *arguments: object) -> str:
    code, out, err = call(*arguments)
    assert code == 2
    assert out == ""
    assert err.count("\n") == 1, err
    return err


@pytest.fixture(scope="module")
def talks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A simulation of two scripted clinicians."""
    folder = tmp_path_factory.mktemp("simulated") / "talks"
    simulate(None, "note2chat", folder, clinician=["script:brisk", "script:good"], sample=2)
    return folder


def test_it_simulates_says_what_to_do_next_and_goes_on(call: Call, tmp_path: Path) -> None:
    out, _ = works(call, *BRISK, "--out", "mine")
    assert out.startswith("Finished 1 conversation of 1 in mine; ")
    assert "0 replies taken from the log" in out
    assert "Next: bedside score mine --out run; bedside report run" in out
    assert "Toys without a model took part (rules-toy, script:brisk)" in out
    before = (tmp_path / "mine" / "transcripts.jsonl").read_bytes()
    _, out, _ = call(*BRISK, "--out", "mine")
    assert "; 0 calls asked now" in out
    (tmp_path / "mine" / "transcripts.jsonl").unlink()
    assert call(*BRISK, "--out", "mine", "--replay")[0] == 0
    assert (tmp_path / "mine" / "transcripts.jsonl").read_bytes() == before


def test_the_tables_as_json(call: Call) -> None:
    out, err = works(call, *BRISK, "--json")
    conversations, spent = (table["rows"] for table in json.loads(out))
    assert conversations[0]["system"] == "script:brisk"
    assert conversations[0]["finished"] == conversations[0]["completed"] == 1
    assert {row["role"] for row in spent} >= {"clinician", "patient"}
    assert "Next: bedside score talks" in err


def test_a_dry_run_asks_and_writes_nothing(call: Call, tmp_path: Path) -> None:
    clinician, other = "http://localhost:9/v1#one", "http://localhost:9/v1#other"
    arguments = (
        "simulate", "--protocol", "medconceal", "--clinician", clinician, "--patient", other, "--dry-run"
    )  # fmt: skip
    out, _ = works(call, *arguments, "--price", f"{other},in=1,out=2", "--json")
    assert not (tmp_path / "talks").exists()
    rows = {row["role"]: row for row in json.loads(out)[0]["rows"]}
    cases = 6
    # Eight messages and the findings; an evaluation and a reply of each.
    assert rows["clinician"]["calls"] == cases * 9
    assert rows["evaluator"]["calls"] == cases * 8
    patient = rows["patient"]
    tokens = patient["input_tokens"] + 2 * patient["output_tokens"]
    assert patient["cost"] == pytest.approx(tokens / 1e6, rel=1e-3)
    unknown = json.loads(call(*arguments, "--json")[1])[0]["rows"]
    assert next(row for row in unknown if row["role"] == "patient")["cost"] is None


def test_a_price_for_all(call: Call) -> None:
    arguments = ("simulate", "--protocol", "note2chat", "--clinician", "http://localhost:9/v1#one")
    _, out, _ = call(*arguments, "--dry-run", "--price", "in=1,out=2", "--json")
    costs = {row["role"]: row["cost"] for row in json.loads(out)[0]["rows"]}
    assert costs["clinician"] > 0
    assert costs["patient"] == 0, "rules cost nothing"


def test_its_options_reach_the_simulation(call: Call, tmp_path: Path) -> None:
    works(
        call,
        *BRISK[:-2], "--setting", "26-messages,40-messages", "--repeats", "2", "--sample", "2", "--seed", "3",
        "--set", "note2chat.brief=tuned", "--out", "mine",
    )  # fmt: skip
    manifest = json.loads((tmp_path / "mine" / "manifest.json").read_text())
    assert manifest["conversations"]["planned"] == 2 * 2 * 2
    assert (manifest["seed"], manifest["options"]["brief"]) == (3, "tuned")
    assert manifest["settings"] == ["26-messages", "40-messages"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--protocol", "notechat", "--clinician", "rules"], "did you mean note2chat?"),
        (["--protocol", "note2chat"], "--clinician: no clinician is named"),
        (["--protocol", "note2chat", "--clinician", "script:god"], "good"),
        (["--protocol", "note2chat", "--clinician", "rules", "--set", "x.y=1"], "--set: 'x' is not the protocol"),
        (
            ["--protocol", "note2chat", "--clinician", "rules", "--set", "strict=off"],
            "'strict=off' is not note2chat.NAME=VALUE; bedside show note2chat --kind protocols lists them",
        ),
        (
            ["--protocol", "note2chat", "--clinician", "rules", "--set", "note2chat.brif=1"],
            "--set: there is no note2chat option",
        ),
        (
            ["--protocol", "note2chat", "--clinician", "rules", "--setting", "26"],
            "--setting: there is no note2chat setting '26'",
        ),
        (["--protocol", "note2chat", "--clinician", "rules", "--lengths", "30"], "no target lengths"),
        (["--protocol", "note2chat", "--clinician", "rules", "--lengths", "x"], "--lengths"),
        (["--protocol", "note2chat", "--clinician", "rules", "--price", "2"], "write --price MODEL,in="),
        (["--protocol", "note2chat", "--clinician", "rule"], "or rules, script:NAME"),
        (["--protocol", "note2chat", "--clinician", "opnai/gpt"], "did you mean openai?; or rules, script:NAME"),
        (
            ["--protocol", "note2chat", "--clinician", "rules", "--sample", "9"],
            "--sample: there are 5 cases, and 9 are to be drawn",
        ),
        (["--protocol", "note2chat", "--clinician", "rules", "--price", "in=2"], "write --price MODEL,in="),
        (["--protocol", "note2chat", "--clinician", "rules", "--replay"], "there is no log to replay"),
        (["--protocol", "note2chat", "--clinician", "human:"], "human:NAME"),
        (["--protocol", "note2chat", "--clinician", "rules", "nowhere.yaml"], "nowhere.yaml"),
        (["--protocol", "note2chat", "--clinician", "rules", "nowhere/"], "there is no such file or folder"),
        (["--protocol", "note2chat", "--clinician", "rules", "--minutes", "0"], "--minutes"),
        (["--clinician", "rules"], "--protocol"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(call: Call, tmp_path: Path, arguments: list[str], says: str) -> None:
    assert says in refusal(call, "simulate", *arguments)
    assert not (tmp_path / "talks").exists()


def test_a_key_that_is_missing_is_said_before_anything_runs(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    arguments = ("simulate", "--protocol", "note2chat", "--clinician", "openai/gpt-5-mini")
    assert "OPENAI_API_KEY is not set" in refusal(call, *arguments)


def test_a_folder_of_something_else_is_left_alone(call: Call, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("x")
    assert "something else" in refusal(call, *BRISK, "--out", "full")
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["thesis.txt"]


def test_status(call: Call, talks: Path) -> None:
    out, _ = works(call, "simulate", "status", talks)
    assert "script:brisk" in out
    assert "They ended by: diagnosis 4." in out
    rows = json.loads(call("simulate", "status", talks, "--json")[1])[0]["rows"]
    transcripts = [json.loads(line) for line in (talks / "transcripts.jsonl").read_text().splitlines()]
    for row in rows:
        own = [len(each["turns"]) for each in transcripts if each["system"] == row["system"]]
        assert row["mean_messages"] == sum(own) / len(own)
        assert row["finished"] == len(own)


def test_failed(call: Call, talks: Path, tmp_path: Path) -> None:
    assert call("simulate", "failed", talks)[1] == "Every conversation has a transcript.\n"
    mute = tmp_path / "mute.py"
    mute.write_text("def reply(asked):\n    return ''\n")
    code, out, err = call(
        "simulate", "--protocol", "note2chat", "--clinician", "script:brisk", "--patient", "mute:reply",
        "--evaluator", "rules", "--sample", "1",
    )  # fmt: skip
    assert code == 2
    assert "0 conversations of 1 in talks" in out
    assert err.splitlines()[-1] == (
        "bedside: talks: every conversation failed (1); the commonest reason is patient: empty (1); bedside simulate "
        "failed talks lists them; calls that got no answer are asked again by the same command"
    )
    assert "Next:" not in out, "there is nothing to score"
    _, out, _ = call("simulate", "failed", "talks", "--json")
    (row,) = json.loads(out)[0]["rows"]
    assert (row["state"], row["whose"], row["reason"]) == ("failed", "patient", "empty")
    assert row["system"] == "script:brisk"


def test_show(call: Call, talks: Path) -> None:
    ids = call("simulate", "show", talks)[1].splitlines()
    transcripts = [json.loads(line) for line in (talks / "transcripts.jsonl").read_text().splitlines()]
    assert ids == [transcript["id"] for transcript in transcripts]
    _, out, _ = call("simulate", "show", talks, ids[0])
    for index, turn in enumerate(transcripts[0]["turns"]):
        assert f"{index} {turn['role']}: {turn['text']}" in out
    assert "[decision] by" in out
    assert ids[0] in refusal(call, "simulate", "show", talks, ids[0][:-1])


@pytest.mark.parametrize("command", ["status", "failed", "show"])
def test_a_folder_that_is_no_simulation(call: Call, tmp_path: Path, command: str) -> None:
    assert "there is no log of a simulation" in refusal(call, "simulate", command, tmp_path)


def test_scoring_the_folder_takes_the_protocols_suite(call: Call, talks: Path) -> None:
    _, err = works(call, "score", talks, "--out", "run")
    assert "The suite is note2chat" in err
    assert bedside.read_run("run").manifest["transcripts"]["count"] == 4


def test_the_protocols_are_listed_and_shown(call: Call) -> None:
    _, out, _ = call("list", "protocols")
    for name, simulator in SIMULATORS.all().items():
        assert name in out
        _, shown, _ = call("show", name, "--kind", "protocols")
        assert simulator.source in shown
        assert all(setting.name in shown for setting in simulator.settings)
        assert all(option.name in shown for option in simulator.options)
        assert all(text in shown for text in simulator.parameters)
        assert "What the clinician is told in" in shown
    assert "did you mean" in refusal(call, "show", "medconcel", "--kind", "protocols")
    assert "asthma" in refusal(call, "show", "note2chat", "--kind", "protocols", "--case", "asthma")


def test_a_protocol_of_ones_own_from_a_new_folder_to_the_leaderboard(call: Call, tmp_path: Path) -> None:
    file = tmp_path / "my-study" / "protocol.yaml"
    _, out, _ = call("simulate", "new", tmp_path / "my-study")
    assert "Wrote 5 files" in out
    assert "already there" in refusal(call, "simulate", "new", tmp_path / "my-study")
    assert "can't be called 'My Study'" in refusal(call, "simulate", "new", tmp_path / "My Study")
    assert call("simulate", "check", file)[1].strip() == f"{file}: good (4 people)"
    shown = call("show", file, "--case", "Bruno")[1]
    assert "You are Bruno, 58 years old." in shown
    assert "Only the patient is told: mood, week, worry, style" in shown
    assert shown.partition("What the clinician is told, Bruno:")[2].split()[:5] == "You check in with Bruno,".split()
    assert "Bruna" in refusal(call, "show", file, "--case", "Bruna")
    works(call, "simulate", "--protocol", file, "--clinician", "rules", "--set", "my-study.patient_max_tokens=9",
          "--out", tmp_path / "talks")  # fmt: skip
    assert f"The suite is {file.with_name('suite.yaml')}" in works(call, "score", tmp_path / "talks", "--out", "own")[1]
    works(call, "benchmark", file, "--clinician", "rules", "--sample", 2, "--out", tmp_path / "bench")
    out, _ = works(call, "benchmark", "add", tmp_path / "bench", "--clinician", "trivial:echo")
    assert "Open-question ratio" in out
    (file.parent / "clinician.txt").write_text("You check in with {name}.", "utf-8")
    again = ("--clinician", "rules", "--clinician", "trivial:echo", "--sample", 2, "--out", tmp_path / "bench")
    assert "files (changed: clinician.txt)" in refusal(call, "benchmark", file, *again)
    (file.parent / "suite.yaml").unlink()
    file.write_text(file.read_text("utf-8").replace("suite: suite.yaml", ""), "utf-8")
    assert "has no suite" in refusal(call, "benchmark", file, "--clinician", "rules", "--out", tmp_path / "other")


def test_people_who_give_themselves_away_are_listed(call: Call, tmp_path: Path) -> None:
    call("simulate", "new", tmp_path / "own")
    clinician = tmp_path / "own" / "clinician.txt"
    clinician.write_text("You see {name}, who failed an exam and told nobody.", "utf-8")
    code, _, err = call("simulate", "check", tmp_path / "own" / "protocol.yaml")
    assert code == 2
    assert re.search(r"people.csv:4: error: Chandra: Its 'week', which the clinician may not know", err)
    assert "1 error in the people" in err


def test_a_field_counts_once_under_all_its_names(call: Call, tmp_path: Path) -> None:
    call("simulate", "new", tmp_path / "own")
    file = tmp_path / "own" / "protocol.yaml"
    text = re.sub("knows: .*", "knows: [job, name]", file.read_text("utf-8"))
    file.write_text(f"{text}fields: {{job: style, felt: mood}}\n", "utf-8")
    file.with_name("clinician.txt").write_text("You see {name}: {job}", "utf-8")
    file.with_name("patient.txt").write_text("You are {name}: {felt}", "utf-8")
    file.write_text(file.read_text("utf-8").replace("opens: false", "opens: My week {week}"), "utf-8")
    shown = call("show", file)[1]
    assert "Both are told: name, week\n" in shown
    assert "Only the patient is told: mood, felt\n" in shown
    assert "Only the clinician is told: style, job\n" in shown
    (nobody,) = re.findall("Nobody is told: (.*)", shown)
    assert not {"style", "job", "mood", "felt", "name"} & set(nobody.split(", "))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("rubrics: [empathy]", "rubrics: [empathyy]", "there is no rubric 'empathyy'; did you mean empathy"),
        ("rubrics: [empathy]", "rubrics: [nope.yaml]", "nope.yaml"),
        ("    kind: results", "    kind: results\n    colour: red", "table results: colour: unknown key"),
        ("main: [empathy,", "main: [zzz,", "main: there is no tabulated measure 'zzz'"),
        ("metrics: [structure,", "metrics: [structures,", "'structures'"),
    ],
)
def test_a_suite_is_checked_before_anybody_is_asked(call: Call, tmp_path: Path, old: str, new: str, words: str) -> None:
    call("simulate", "new", tmp_path / "own")
    file, out = tmp_path / "own" / "protocol.yaml", tmp_path / "out"
    suite = file.with_name("suite.yaml")
    suite.write_text(suite.read_text("utf-8").replace(old, new, 1), "utf-8")
    for asked in (
        ("simulate", "check", file),
        ("simulate", "--protocol", file, "--clinician", "rules", "--out", out),
        ("benchmark", file, "--clinician", "rules", "--out", out),
        ("benchmark", file, "--clinician", "rules", "--dry-run"),
    ):
        said = refusal(call, *asked)
        assert f"{suite}: " in said
        assert words in said
    assert not out.exists()


def test_time_at_the_keyboard_is_for_somebody_who_sits_there(call: Call) -> None:
    said = refusal(call, "simulate", "--protocol", "medconceal", "--clinician", "rules", "--minutes", 5)
    assert "--minutes: no person takes part" in said
    said = refusal(call, "simulate", "--protocol", "medconceal", "--clinician", "rules", "--patient", "human:b")
    assert "--evaluator: a person plays the patient" in said


def test_rows_that_were_corrected_by_hand_are_not_written_over(call: Call, tmp_path: Path) -> None:
    rows = tmp_path / "turns.jsonl"
    rows.write_text("corrected\n")
    assert "the file is already there" in refusal(call, "simulate", "turns", "talks", "--out", rows)
    assert rows.read_text() == "corrected\n"


def test_patients_take_personas_where_the_protocol_has_a_use_for_them(call: Call, tmp_path: Path) -> None:
    personas = tmp_path / "personas.yaml"
    personas.write_text(
        "- {id: open, manner: You like to talk., factors: {talkative: high}}\n"
        "- {id: shy, manner: You say little., parameters: guarded, sentences: 1, factors: {talkative: low}}\n"
    )
    made = bedside.simulate(
        None, "medconceal", tmp_path / "talks", clinician="script:checklist", personas=personas, sample=1
    )
    parameters = {
        transcript.factors["persona"]: transcript.reference["simulation"]["parameters"]["name"]
        for transcript in made.transcripts()
    }
    assert parameters == {"open": "default", "shy": "guarded"}
    assert {transcript.factors["talkative"] for transcript in made.transcripts()} == {"high", "low"}
    arguments = ("--protocol", "note2chat", "--clinician", "rules", "--personas", personas)
    assert "note2chat has no personas" in refusal(call, "simulate", *arguments)


def test_cases_are_checked(call: Call, tmp_path: Path) -> None:
    good = tmp_path / "good.yaml"
    good.write_text(SIMULATORS.load("note2chat").cases.read_text("utf-8"), "utf-8")
    assert call("simulate", "check", good, "--protocol", "note2chat")[1].startswith(f"{good}: good (")
    empty = tmp_path / "empty.yaml"
    empty.write_text("[]\n")
    assert "there are no cases" in refusal(call, "simulate", "check", empty)
    code, out, err = call("simulate", "check", good, "--protocol", "medconceal")
    assert (code, out) == (2, "")
    *problems, last = err.splitlines()
    assert problems
    assert all(line.startswith(f"{good}:") for line in problems), "each with its file and line"
    assert "mend what is listed above" in last
    bad = tmp_path / "bad.yaml"
    bad.write_text("id: a\nchartt: {}\n")
    code, _, err = call("simulate", "check", bad)
    assert code == 2
    assert "chartt" in err
