"""The protocols from the command line: labels in place of a judge, fitting, preference pairs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import bedside
from tests.conftest import exit_code as run
from tests.metrics.protocols.test_fitting import drawn_turns

EXAMPLE = Path(bedside.__file__).parent / "examples" / "transcripts.jsonl"


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert run(*arguments) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    return err


def example(name: str) -> dict[str, Any]:
    return next(item for item in map(json.loads, EXAMPLE.read_text().splitlines()) if item["id"] == name)


def test_labels_take_the_place_of_a_judge(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    concerns = example("steady-alcohol")["reference"]["concerns"]
    patient = next(turn["text"] for turn in example("steady-alcohol")["turns"] if turn["role"] == "patient")
    labels = {
        "id": "steady-alcohol",
        "rater": "human:anna",
        "findings": [
            {"category": concerns[0]["category"], "text": "one"},
            {"category": concerns[1]["category"], "text": "two"},
        ],
        "matches": [{"finding": 0, "concern": concerns[0]["id"], "quote": patient[:40]}],
    }
    (tmp_path / "labels.jsonl").write_text(json.dumps(labels) + "\n")
    assert (
        run("score", EXAMPLE, "--suite", "medconceal", "--labels", tmp_path / "labels.jsonl", "--out", tmp_path / "run")
        == 0
    )
    made = bedside.read_run(tmp_path / "run")
    ratings = made.ratings.filter(transcript_id="steady-alcohol", rater="human:anna")
    values = dict(ratings.select("metric", "value").iter_rows())
    # One of two findings matches one of two concerns.
    assert values["concern_precision"] == 0.5
    assert values["concern_recall"] == 0.5
    assert len(made.manifest["scorings"][0]["labels"]["sha256"]) == 64


def test_labels_need_a_protocol(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "labels.jsonl").write_text("{}\n")
    err = refused(capsys, "score", EXAMPLE, "--labels", tmp_path / "labels.jsonl", "--out", tmp_path / "run")
    assert "--suite medconceal or --suite note2chat" in err
    err = refused(
        capsys, "score", EXAMPLE, "--suite", "medconceal", "--labels", tmp_path / "no.jsonl", "--out", tmp_path / "run"
    )
    assert "no.jsonl: there is no such file" in err
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_fitting_writes_parameters_that_scoring_takes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = drawn_turns(60, 1, replayed=False)
    lines = [row.model_dump_json(exclude_none=True, exclude={"addressed"}) for row in rows]
    (tmp_path / "turns.jsonl").write_text("\n".join(lines) + "\n")
    assert run("train", "policy", tmp_path / "turns.jsonl", "--out", tmp_path / "mine.yaml", "--json") == 0
    tables = {table["table"]: table for table in json.loads(capsys.readouterr().out)}
    assert 0.5 < tables["fit"]["rows"][0]["auc"] <= 1
    errors = [row["error"] for row in tables["grid_reveal"]["rows"]]
    assert errors == sorted(errors)
    setting = f"hidden_concerns.parameters={tmp_path / 'mine.yaml'}"
    assert run("score", EXAMPLE, "--metrics", "hidden_concerns", "--set", setting, "--out", tmp_path / "run") == 0


def test_fitting_refuses_what_it_cannot_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "turns.jsonl").write_text('{"case": "a"}\n')
    err = refused(capsys, "train", "policy", tmp_path / "turns.jsonl", "--out", tmp_path / "mine.yaml")
    assert "turns.jsonl:1: turn: it is missing" in err
    err = refused(capsys, "train", "policy", tmp_path / "turns.jsonl", "--out", tmp_path / "mine.json")
    assert "ends in .yaml" in err
    assert not (tmp_path / "mine.yaml").exists()


def talk(number: int, answers: list[str]) -> dict[str, Any]:
    turns = [{"role": "patient", "text": "My chest hurts."}]
    for answer in answers:
        turns += [{"role": "clinician", "text": f"Question {number}?"}, {"role": "patient", "text": answer}]
    turns.append({"role": "clinician", "text": "It is angina."})
    return {"id": f"d{number}", "case_id": "c", "turns": turns}


def test_preferences_are_written_for_training(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    talks, labels = [], []
    for number in range(6):
        # The first dialogue elicits all three findings, the last none, the others one or two.
        elicited = 3 if number == 0 else 0 if number == 5 else 1 + number % 2
        talks.append(talk(number, [f"answer {k}" for k in range(3)]))
        findings = [{"text": f"f{k}", "message": 2 * k + 2 if k < elicited else None} for k in range(3)]
        labels.append(
            {
                "id": f"d{number}",
                "rater": "human:anna",
                "findings": findings,
                "diagnosis_rank": 0,
                "diagnosis_message": 7,
            }
        )
    (tmp_path / "talks.jsonl").write_text("".join(json.dumps(item) + "\n" for item in talks))
    (tmp_path / "labels.jsonl").write_text("".join(json.dumps(item) + "\n" for item in labels))
    code = run(
        "train", "note2chat", "preferences", tmp_path / "talks.jsonl", "--labels", tmp_path / "labels.jsonl",
        "--alpha", "0", "--out", tmp_path / "pairs",
    )  # fmt: skip
    assert code == 0
    pairs = [json.loads(line) for line in (tmp_path / "pairs" / "train.jsonl").read_text().splitlines()]
    # Rewards are 2 · recall here: 2 stands out above, 0 below.
    assert len(pairs) == 1
    assert pairs[0]["prompt"] == [{"role": "user", "content": "My chest hurts."}]
    assert pairs[0]["chosen"][0] == {"role": "assistant", "content": "Question 0?"}
    assert pairs[0]["rejected"][0] == {"role": "assistant", "content": "Question 5?"}
    assert "Wrote 1 pair from 1 case" in capsys.readouterr().out
