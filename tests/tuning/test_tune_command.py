"""``bedside judge tune`` at a server: what is asked, what is printed, and that the tuned rubric is used like any."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import bedside
from bedside.cli import main
from bedside.judges.rubrics.rubric_files import parse_rubric
from bedside.ratings.run import Run
from bedside.reports.table import Tables
from tests.judges.llm.server import Action, JudgeServer, Received
from tests.tuning.tuned_run import FaultyJudge, compressed, rated_run

pytestmark = [pytest.mark.slow, pytest.mark.server]


def typed(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return int(ended.value.code or 0), out, err


def script(judge: FaultyJudge) -> object:
    def act(received: Received, number: int) -> Action:
        assert received.schema is not None
        return Action(text=judge.reply(received.prompt, received.schema))

    return act


def test_a_rubric_is_tuned_written_and_judged_by(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, file = rated_run(tmp_path), tmp_path / "tuned.yaml"
    proposal = [
        {"part": "instructions", "text": "Warmth and sympathy alone are not what is asked about here."}
    ]
    with JudgeServer(script(FaultyJudge(compressed, proposal))) as server:  # type: ignore[arg-type]
        command = (
            "judge",
            "tune",
            run.path,
            "--rubric",
            "empathy",
            "--judge",
            server.judge,
            "--wordings",
            "1",
        )
        code, out, err = typed(capsys, *command, "--dry-run", "--price", "in=1,out=2", "--json")
        assert code == 0, err
        assert not server.received
        (plan,) = json.loads(out)
        foreseen = sum(record["calls"] for record in plan["rows"])
        assert all(record["cost"] > 0 for record in plan["rows"])

        code, out, err = typed(capsys, *command, "--out", file)
        assert code == 0, err
        assert "The whole interval of the gain" in " ".join(out.split()) or "gain" in out
        assert "keep it as you keep them" in " ".join(err.split()) or not parse_rubric(file).examples
        asked = len(server.received)
        assert asked <= foreseen
        rubric = parse_rubric(file)
        assert rubric.level_map
        first = file.read_bytes()
        assert typed(capsys, *command, "--out", file)[0] == 0
        assert len(server.received) == asked, "the same command asks nothing again"
        assert file.read_bytes() == first

        code, out, err = typed(capsys, "judgements", "list", run.path, "--json")
        assert code == 0, err
        keys = {row["rubric"]: row["key"] for row in json.loads(out)[0]["rows"]}
        assert keys.keys() == {"empathy", "wording_proposal"}
        for key in keys.values():
            code, out, err = typed(capsys, "judgements", "show", run.path, key[:12])
            assert code == 0, err

        # It is a rubric like any, whose ratings are another rater's.
        assert typed(capsys, "rubrics", "check", file)[0] == 0
        code, out, err = typed(
            capsys,
            "score",
            tmp_path / "talks.jsonl",
            "--out",
            run.path,
            "--rubrics",
            file,
            "--judge",
            server.judge,
        )
        assert code == 0, err
        rater = f"judge:tiny+empathy@{rubric.version}"
        scored = Run(run.path)
        assert scored.ratings.filter(rater=rater, metric="empathy").height == 60
        assert scored.manifest["learnt"][0]["rater"] == rater
        (card,) = bedside.validate(scored, judges=[rater]).results
        (validation,) = card.validations
        (record,) = rubric.history
        assert validation.with_people == record.held_out.units
        assert validation.mean is not None
        kappa = validation.mean.statistics["kappa"]
        assert kappa.estimate == pytest.approx(record.after.estimate)
        assert dict(card.facts)["Tuned"].startswith("from empathy 8587b27f07d9")
        notes = " ".join(bedside.tables(scored, "rubrics")["rubrics"].notes)
        assert f"Empathy {rubric.version} is tuned from empathy 8587b27f07d9" in notes
        assert "another wording" not in notes
        # In another run with the same cases, what it learnt from is no evidence either; people see no examples.
        other = rated_run(tmp_path / "other")
        code, _, err = typed(
            capsys, "score", tmp_path / "other" / "talks.jsonl", "--out", other.path, "--rubrics", file, "--judge",
            server.judge,
        )  # fmt: skip
        assert code == 0, err
        (card,) = bedside.validate(Run(other.path), judges=[rater]).results
        assert card.validations[0].learnt == record.training.units
        plan = tmp_path / "plan.json"
        code, _, err = typed(
            capsys,
            "sample",
            other.path,
            "--raters",
            "anna,ben",
            "--rubrics",
            file,
            "--per",
            "4",
            "--out",
            plan,
        )
        assert code == 0, err
        (planned,) = json.loads(plan.read_text("utf-8"))["rubrics"]
        assert "examples" not in planned["rubric"]
        assert "level_map" not in planned["rubric"]
        # Both together are refused, in a line.
        code, _, err = typed(
            capsys, "score", tmp_path / "talks.jsonl", "--out", run.path, "--rubrics", f"{file},safety", "--judge",
            server.judge,
        )  # fmt: skip
        assert code != 0
        assert "ask about it alone" in err


def test_what_cannot_be_tuned_is_refused_before_anything_is_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = rated_run(tmp_path, cases=8, per_case=1)
    with JudgeServer() as server:
        command = ("judge", "tune", run.path, "--judge", server.judge)
        code, _, err = typed(capsys, *command, "--rubric", "empathy")
        assert code != 0
        assert "people rated 8 units of 8 cases by empathy" in err
        assert "16 more units" in err
        code, _, err = typed(capsys, *command, "--rubric", "open_question")
        assert "can't be tuned" in err
        code, _, err = typed(capsys, *command, "--rubric", "empathy", "--out", tmp_path / "tuned.txt")
        assert "ends in .yaml" in err
        code, _, err = typed(capsys, *command, "--rubric", "empathy", "--split", "1.5")
        assert "--split" in err
        assert not server.received


def test_the_price_of_cached_tokens_is_taken(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    given: dict[str, object] = {}

    def preview(run: Path, judge: str, **how: object) -> Tables[None]:
        given.update(how)
        return Tables([], None)

    monkeypatch.setattr("bedside.api.judge_tuning.preview_tuning", preview)
    command = ("judge", "tune", tmp_path, "--judge", "openai/gpt-5-mini", "--rubric", "empathy", "--dry-run")
    code, _, err = typed(capsys, *command, "--price", "in=1,out=2,cached=0.1")
    assert code == 0, err
    assert given["price"] == (1, 2, 0.1)
