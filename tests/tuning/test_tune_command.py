"""``bedside judge tune`` at a server: what is asked, what is printed, and that the tuned rubric is used like any."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import bedside
from bedside.api.judge_tuning import TuneSettings
from bedside.judges.rubrics.rubric_files import parse_rubric
from bedside.ratings.run import Run
from bedside.reports.table import Tables
from tests.conftest import Call, works
from tests.judges.llm.server import Action, JudgeServer, Received, Script
from tests.tuning.tuned_run import FaultyJudge, compressed, rated_run

pytestmark = [pytest.mark.slow, pytest.mark.server]


def script(judge: FaultyJudge) -> Script:
    def act(received: Received, number: int) -> Action:
        assert received.schema is not None
        return Action(text=judge.reply(received.prompt, received.schema))

    return act


def done(call: Call, *arguments: object) -> tuple[str, str]:
    """What a command that ends well prints."""
    out, err = works(call, *arguments)
    return out, err


def test_a_rubric_is_tuned_written_and_judged_by(call: Call, tmp_path: Path) -> None:
    run, file = rated_run(tmp_path), tmp_path / "tuned.yaml"
    proposal = [{"part": "instructions", "text": "Warmth and sympathy alone are not what is asked about here."}]
    with JudgeServer(script(FaultyJudge(compressed, proposal))) as server:
        judge = ("--judge", server.judge)
        command = ("judge", "tune", run.path, "--rubric", "empathy", *judge, "--wordings", "1")
        (plan,) = json.loads(done(call, *command, "--dry-run", "--price", "in=1,out=2", "--json")[0])
        assert not server.received
        foreseen = sum(record["calls"] for record in plan["rows"])
        assert all(record["cost"] > 0 for record in plan["rows"])

        out, err = done(call, *command, "--out", file)
        assert "gain" in out
        rubric = parse_rubric(file)
        assert "keep it as you keep them" in " ".join(err.split()) or not rubric.examples
        asked, first = len(server.received), file.read_bytes()
        assert asked <= foreseen
        assert rubric.level_map
        done(call, *command, "--out", file)
        assert len(server.received) == asked, "the same command asks nothing again"
        assert file.read_bytes() == first

        listed = json.loads(done(call, "judge", "answers", "list", run.path, "--json")[0])[0]["rows"]
        keys = {row["rubric"]: row["key"] for row in listed}
        assert keys.keys() == {"empathy", "wording_proposal"}
        for key in keys.values():
            done(call, "judge", "answers", "show", run.path, key[:12])

        # It is a rubric like any, whose ratings are another rater's.
        done(call, "show", file, "--check")
        scoring = ("score", tmp_path / "talks.jsonl", "--out", run.path, *judge, "--rubrics")
        done(call, *scoring, file)
        rater = f"judge:tiny+empathy@{rubric.version}"
        scored = Run(run.path)
        assert scored.ratings.filter(rater=rater, metric="empathy").height == 60
        assert scored.manifest["learnt"][0]["rater"] == rater
        (card,) = bedside.validate(scored, judges=[rater]).results
        (validation,) = card.validations
        (record,) = rubric.history
        assert validation.with_people == record.held_out.units
        assert validation.mean is not None
        assert validation.mean.statistics["kappa"].estimate == pytest.approx(record.after.estimate)
        assert dict(card.facts)["Tuned"].startswith("from empathy 8587b27f07d9")
        notes = " ".join(bedside.tables(scored, "rubrics")["rubrics"].notes)
        assert f"Empathy {rubric.version} is tuned from empathy 8587b27f07d9" in notes
        assert "another wording" not in notes
        # In another run with the same cases, what it learnt from is no evidence either; people see no examples.
        other = rated_run(tmp_path / "other")
        talks = tmp_path / "other" / "talks.jsonl"
        done(call, "score", talks, "--out", other.path, "--rubrics", file, *judge)
        (card,) = bedside.validate(Run(other.path), judges=[rater]).results
        assert card.validations[0].learnt == record.training.units
        done(
            call, "sample", other.path, "--raters", "anna,ben", "--rubrics", file, "--per", "4", "--out", "plan.json"
        )  # fmt: skip
        (planned,) = json.loads((tmp_path / "plan.json").read_text("utf-8"))["rubrics"]
        assert not {"examples", "level_map"} & planned["rubric"].keys()
        # Both together are refused.
        code, _, err = call(*scoring, f"{file},safety")
        assert code != 0
        assert "ask about it alone" in err


def test_what_cannot_be_tuned_is_refused_before_anything_is_asked(call: Call, tmp_path: Path) -> None:
    run = rated_run(tmp_path, cases=8, per_case=1)
    with JudgeServer() as server:
        for options, words in (
            (("--rubric", "empathy"), "people rated 8 units of 8 cases by empathy"),
            (("--rubric", "open_question"), "can't be tuned"),
            (("--rubric", "empathy", "--out", "tuned.txt"), "ends in .yaml"),
            (("--rubric", "empathy", "--split", "1.5"), "--split"),
        ):
            code, _, err = call("judge", "tune", run.path, "--judge", server.judge, *options)
            assert code != 0
            assert words in err
        assert not server.received


def test_the_price_of_cached_tokens_is_taken(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[TuneSettings] = []

    def preview(run: Path, settings: TuneSettings) -> Tables[None]:
        given.append(settings)
        return Tables([], None)

    monkeypatch.setattr(bedside.preview_tuning, "with_settings", preview)
    command = ("judge", "tune", ".", "--judge", "openai/gpt-5-mini", "--rubric", "empathy", "--dry-run")
    done(call, *command, "--price", "in=1,out=2,cached=0.1")
    assert given[0].price == (1, 2, 0.1)


def test_a_judge_is_tuned_as_it_is_asked_elsewhere(call: Call, tmp_path: Path) -> None:
    """The options of judging are those of tuning: what prompts show and their language, fields, limits a minute."""
    run = rated_run(tmp_path)
    with JudgeServer() as server:
        done(call, "judge", "tune", run.path, "--rubric", "empathy", "--judge", server.judge, "--wordings", 0,
             "--examples", 0, "--extra", "enable_thinking=false", "--rpm", 100_000, "--prompt-language", "de",
             "--show", "system")  # fmt: skip
        assert {received.body["enable_thinking"] for received in server.received} == {False}
        assert all("Einfühlung" in received.prompt or "Empathie" in received.prompt for received in server.received)
