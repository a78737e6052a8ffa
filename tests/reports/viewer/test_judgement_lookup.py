"""Judgements and hidden states are found by the transcript that they are of."""

from __future__ import annotations

import json
import os
import shutil
from contextlib import closing
from pathlib import Path

import pytest

import bedside
from bedside.core.errors import RunError
from bedside.judges.store import read_judgements, read_prompt
from bedside.ratings.run import Run
from bedside.reports.viewer.judgement_lookup import JudgementLookup
from bedside.reports.viewer.state_lookup import StateLookup
from tests.analysis.simulated_run import simulated_run
from tests.judges.llm.server import JudgeServer
from tests.reports.viewer.runs import HOSTILE, HOSTILE_ID
from tests.reports.viewer.runs import talks as made_talks


def test_all_judgements_of_a_transcript_are_found(rich: Run) -> None:
    store = Path(rich.path) / "judgements.sqlite"
    every = list(read_judgements(store))
    assert len(every) == 15 * 2 * 2
    with closing(JudgementLookup(Path(rich.path))) as lookup:
        for name in rich.index["id"]:
            own = {judgement.key for judgement in every if judgement.transcript == name}
            assert {listed["key"] for listed in lookup.of(name)} == own
        first = lookup.of(HOSTILE_ID)[0]
        assert (first["rater"], first["unit"]) == ("judge:tiny", "transcript")
        whole = lookup.whole(first["key"])
        assert whole is not None
        prompt = "".join(text for _, text in whole["prompt"])
        (judgement,) = [one for one in every if one.key == first["key"]]
        assert prompt == read_prompt(store, judgement.prompt)
        assert HOSTILE[0] in prompt
        assert whole["replies"] == list(judgement.replies)
        assert lookup.whole("0" * 64) is None
        assert lookup.of("nobody") == []


def test_a_store_that_changes_is_looked_through_again(rich: Run, tmp_path: Path) -> None:
    run = shutil.copytree(rich.path, tmp_path / "run")
    with closing(JudgementLookup(run)) as lookup:
        assert len(lookup.of("case-0/alpha")) == 4
        for file in run.glob("judgements.sqlite*"):
            file.unlink()
        assert lookup.of("case-0/alpha") == []
        (run / "judgements.sqlite").write_bytes(b"no database" * 100)
        with pytest.raises(RunError, match="store of judgements"):
            lookup.of("case-0/alpha")


def test_hidden_states_are_those_of_the_conversation(tmp_path: Path) -> None:
    run = simulated_run(tmp_path)
    file = tmp_path / "talks" / "states.jsonl"
    states = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    lookup = StateLookup(Path(run.path))
    assert states
    for name in run.index["id"]:
        assert lookup.of(name) == {"states": [state for state in states if state["id"] == name], "gone": []}
    assert lookup.of("nobody")["states"] == []


def test_states_that_stand_apart_or_change_are_found_again(tmp_path: Path) -> None:
    run = simulated_run(tmp_path)
    file = tmp_path / "talks" / "states.jsonl"
    lookup = StateLookup(Path(run.path))
    lines = [
        {"id": name, "turn": turn, "purpose": "p", "x": "头"} for turn in range(3) for name in ("a", "b")
    ]
    file.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), "utf-8")
    assert lookup.of("b")["states"] == [line for line in lines if line["id"] == "b"]
    file.write_text(json.dumps({"id": "b", "turn": 9}), "utf-8")
    os.utime(file, ns=(1, 1))
    assert lookup.of("b")["states"] == [{"id": "b", "turn": 9}]
    file.write_text('{"id": "b"}\n{"turn": 9}\n', "utf-8")
    with pytest.raises(RunError, match="hidden states of the simulation can't be read"):
        lookup.of("b")
    file.unlink()
    assert lookup.of("b") == {"states": [], "gone": [str(file)]}


def test_a_judgement_of_two_is_found_by_either(tmp_path: Path) -> None:
    """Which of two conversations is better is asked of both."""
    talks = [talk for talk in made_talks() if talk.case_id == "case-1" and talk.system != "beta"]
    with JudgeServer() as server:
        run = bedside.score(talks, tmp_path / "run", metrics=["structure"]).run
        bedside.judge_pairs(run, server.judge, rubrics=["empathy"])
    every = {judgement.key for judgement in read_judgements(run.path / "judgements.sqlite")}
    assert len(every) == 2  # in both orders
    with closing(JudgementLookup(run.path)) as lookup:
        for talk in talks:
            assert {listed["key"] for listed in lookup.of(talk.id)} == every


def test_of_what_was_asked_twice_the_run_says_which_its_ratings_are_made_of(tmp_path: Path) -> None:
    talks = [talk for talk in made_talks() if talk.case_id == "case-1"]
    with JudgeServer() as server:
        run = bedside.judge(talks, server.judge, out=tmp_path / "run", rubrics=["empathy"]).run
        bedside.judge_pairs(run, server.judge, rubrics=["empathy"])
        with closing(JudgementLookup(run.path)) as lookup:
            for temperature in (0.7, 0.0, 0.7):  # the second and third time of what is kept
                bedside.judge(run, server.judge, rubrics=["empathy"], temperature=temperature)
                listed = {
                    judgement["key"]: judgement
                    for judgement in lookup.of("case-1/alpha")
                    if judgement["unit"] == "transcript"
                }
                asked = {
                    key: json.loads(whole["parameters"])["temperature"]
                    for key in listed
                    if (whole := lookup.whole(key)) is not None
                }
                assert sorted(asked.values()) == [0.0, 0.7]
                for key, degree in asked.items():
                    assert listed[key]["raters"] == (["judge:tiny"] if degree == temperature else [])
            pairs = [one for one in lookup.of("case-1/alpha") if one["unit"] != "transcript"]
            assert pairs
            assert all(one["raters"] == ["judge:tiny"] for one in pairs)
