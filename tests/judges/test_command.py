"""Judging from the command line, against a real server on loopback: limits, passes, languages, what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import bedside
from bedside.annotation.labelling_page import labelling_page
from bedside.annotation.plan_file import read_plan
from bedside.annotation.rating_page.page_state import page_questions
from bedside.cli import main
from bedside.judges.rubrics.rubric_files import find_rubric
from bedside.scoring.judging_orders import recorded_judgings
from tests.conftest import Call, conversation, works
from tests.judges.llm.server import Action, JudgeServer, Received

pytestmark = pytest.mark.server
EXAMPLE = Path(bedside.__file__).parent / "examples" / "transcripts.jsonl"


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return int(ended.value.code or 0), out, err


def score_line(options: str, talks: object = EXAMPLE) -> list[str]:
    """What is typed to score into the folder ``run``."""
    return f"score {talks} {options} --out run".split()


def of_judges(folder: str = "run") -> pl.DataFrame:
    return bedside.read_run(folder).ratings.filter(pl.col("rater").str.starts_with("judge:"))


def test_a_suite_is_judged_and_resumed(call: Call) -> None:
    with JudgeServer() as server:
        line = score_line(f"--suite calm-it --judge {server.judge} --passes 2")
        assert call(*line)[0] == 0
        assert len(server.received) == 12 * 10 * 2
        ratings = of_judges()
        assert (ratings.height, set(ratings["replicate"])) == (240, {0, 1})
        assert ratings["value"].is_in([1.0, 2.0, 3.0, 4.0, 5.0]).all()
        assert ratings["reason"].null_count() == 0
        assert call(*line)[0] == 0
        assert len(server.received) == 240, "a rerun asks nothing"
    (judge,) = bedside.read_run("run").manifest["scorings"][-1]["judges"].values()
    assert judge["prompts"].keys() >= {"empathy", "partnership"}
    assert call("report", "run")[0] == 0
    assert "was asked 2 times at temperature 0" in Path("run/report/report.html").read_text("utf-8")


def test_a_dry_run_asks_and_writes_nothing(call: Call, tmp_path: Path) -> None:
    with JudgeServer() as server:
        line = score_line(f"--suite mdd5k --judge {server.judge} --dry-run --json --price in=1,out=2")
        code, out, err = call(*line)
        assert (code, err.splitlines()) == (0, list(bedside.read_account(EXAMPLE).lines()))
        assert not server.received
    rows = json.loads(out)[0]["rows"]
    assert [row["calls"] for row in rows] == [12] * 7
    assert all(row["cost"] > 0 for row in rows)
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_sent_once_replies_have_cost_so_much(tmp_path: Path) -> None:
    with JudgeServer() as server:
        order: dict[str, Any] = {"rubrics": "empathy", "metrics": "turns", "out": tmp_path / "run"}
        limits: dict[str, Any] = {"max_cost": 0.002, "price": (1.0, 1.0), "max_concurrency": 1}
        few = bedside.judge(EXAMPLE, server.judge, **order, **limits)
        assert not few.complete
        (count,) = few.judges[0].rubrics
        assert count.cost is not None
        assert 0.002 <= count.cost < 0.002 + 2 * count.cost / count.calls, "the one that reaches the limit is the last"
        assert (server.count, count.not_asked) == (count.calls, 12 - count.calls)
        errors = set(few.run.ratings.filter(metric="empathy")["error"].drop_nulls())
        assert errors == {"not asked: the limit of 0.002 US dollars was reached"}
        assert bedside.judge(EXAMPLE, server.judge, **order).complete
        assert server.count == 12


@pytest.mark.parametrize("engine", ["", "--engine local --workers 1"])
def test_a_judge_that_lets_nobody_in_is_one_line(call: Call, engine: str) -> None:
    with JudgeServer(lambda request, number: Action(status=401)) as server:
        code, _, err = call(*score_line(f"--rubrics empathy --judge {server.judge} {engine}"))
    assert code == 2
    assert err.startswith("Read 12 transcripts (264 turns) from transcripts.jsonl: ")
    assert "refuses the key" in err
    assert [line.startswith("bedside: ") for line in err.splitlines()][-1]
    assert "Traceback" not in err


NOBODY = "--judge openai/x"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--judge http://127.0.0.1:1/v1", "no model is named"),
        ("--judge nobody/x", "nobody"),
        (f"{NOBODY} --rubrics empathyy", "empathyy"),
        (NOBODY, "the suite has no rubrics"),
        (f"{NOBODY} --rubrics empathy --temperature 9", "a temperature must lie between 0 and 2"),
        (f"{NOBODY} --rubrics empathy --price 5", "--price"),
        (f"{NOBODY} --rubrics empathy --order x", "there is no order 'x'"),
        (f"{NOBODY} --codes questions", "'questions'; did you mean question"),
        (f"{NOBODY} --rubrics empathy --prompt-language fr", "no prompt language 'fr'; known: de, en, zh"),
        (f"{NOBODY} --codes question --prompt-language de", "behaviour codes are asked in English only"),
        (f"{NOBODY} --rubrics empathy --engine local --max-calls 5", "can't share a limit"),
        (f"{NOBODY} --rubrics empathy --engine local --max-cost 1", "can't share a limit of costs"),
        (f"{NOBODY} --rubrics empathy --engine local --rpm 60", "can't share a limit a minute"),
        (f"{NOBODY} --rubrics empathy --engine local --no-text", "keeps no text"),
        ("--rubrics empathy", "no judge is named"),
        ("--dry-run", "no judge is named"),
    ],
)
def test_bad_calls_are_a_line_and_write_nothing(options: str, words: str, call: Call, tmp_path: Path) -> None:
    code, _, err = call(*score_line(options))
    assert code == 2
    assert words in err
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_judgements_are_listed_and_shown(call: Call) -> None:
    with JudgeServer() as server:
        call(*score_line(f"--rubrics empathy --judge {server.judge}"))
    (row,) = json.loads(call(*"judge answers list run --transcript steady-heart --json".split())[1])[0]["rows"]
    out = call("judge", "answers", "show", "run", row["key"][:12])[1]
    assert "--- what was asked" in out
    assert "--- reply 1" in out
    assert row["answer"]["reason"] in out
    code, _, err = call("judge", "answers", "show", "run", "zz")
    assert (code, "no judgement has a key" in err) == (2, True)


def test_passes_are_aggregated_in_three_ways(call: Call) -> None:
    """Five passes of one conversation, counted by hand: 1, 2, 2, 5, 5 of one and 3 of the other throughout."""
    talks = (conversation(("clinician", "Hello."), ("patient", words), id=words) for words in ("sad", "glad"))
    Path("talks.jsonl").write_bytes(b"".join(talk.to_json() + b"\n" for talk in talks))
    levels = iter([1, 2, 2, 5, 5])

    def script(request: Received, number: int) -> Action:
        level = 3 if "glad" in request.prompt else next(levels)
        return Action(text=json.dumps({"reason": "r", "score": level}))

    with JudgeServer(script) as server:
        how = f"--rubrics empathy --judge {server.judge} --passes 5 --max-concurrency 1"
        call(*score_line(how, "talks.jsonl"))
    out, _ = works(call, *"judge answers passes run --json".split())
    (row,) = json.loads(out)[0]["rows"]
    assert (row["units"], row["passes"], row["unanimous"]) == (2, 5, 0.5)
    assert row["mean"] == pytest.approx((3 + 3) / 2)
    assert row["median"] == pytest.approx((2 + 3) / 2)
    assert row["mode"] == 3, "2 and 5 are as frequent, so the first conversation has no mode"
    assert row["spread"] == pytest.approx(((4 + 1 + 1 + 4 + 4) / 4) ** 0.5 / 2)
    assert row["alpha"] < 0.5
    call(*"score talks.jsonl --out once".split())
    code, _, err = call("judge", "answers", "passes", "once")
    assert (code, "no judge was asked more than once" in err) == (2, True)


def test_codes_of_turns_join_the_run_and_stand_beside_people(call: Call) -> None:
    with JudgeServer() as server:
        line = score_line(f"--judge {server.judge} --codes question,client_talk")
        code, _, err = call(*line, "--dry-run")
        assert (code, err[:20], server.received) == (0, "Read: 12 transcripts", [])
        assert call(*line)[0] == 0
    assert set(of_judges().filter(metric="question")["label"]) <= {"none", "open", "closed"}
    assert of_judges().filter(metric="percent_open_questions").height == 12
    out = call(*"validate run --judges judge:* --metrics question --json".split())[1]
    assert json.loads(out)[1]["rows"][0]["with_people"] == 132


def test_a_judge_asked_in_german_is_a_rater_beside_the_same_judge_in_english(call: Call) -> None:
    with JudgeServer() as server:
        line = score_line(f"--rubrics empathy,goal_alignment --judge {server.judge}")
        for language in ((), ("--prompt-language", "de")):
            assert call(*line, *language)[0] == 0
        german = [request for request in server.received if "Das Bewertungsraster" in request.prompt]
        sent = len(server.received)
        assert len(german) == sent / 2
        assert all("The rubric" not in request.prompt for request in german)
        assert call(*line, "--prompt-language", "de")[0] == 0
        assert len(server.received) == sent, "a rerun asks nothing"
    made = bedside.read_run("run")
    english, translated = sorted(of_judges()["rater"].unique())
    assert translated == f"{english}+de"
    versions = {entry.rater: entry.prompts["empathy"] for entry in recorded_judgings(made)}
    german_version = find_rubric("empathy", language="de").version
    assert versions == {english: find_rubric("empathy").version, translated: german_version}
    again = {entry.rater: entry.order(made) for entry in recorded_judgings(made)}[translated]
    assert again is not None
    assert {rubric.language for rubric in again.work.rubrics} == {"de"}, "the run keeps what was asked"
    out, _ = works(call, *"report run --table rubrics --out tables".split())
    assert "in German" in out + "".join(path.read_text("utf-8") for path in Path("tables").rglob("*.md"))


def test_a_plan_is_in_the_language_of_its_raters(call: Call) -> None:
    assert call(*score_line("--metrics turns"))[0] == 0
    sample = "sample run --raters anna,ben --rubrics empathy --language zh --out plan.json"
    assert call(*sample.split())[0] == 0
    assert "共情" in Path("plan.json").read_text("utf-8")
    plan = read_plan(Path("plan.json"))
    assert "治疗师" in labelling_page(plan)
    assert page_questions(plan)[0]["title"] == "共情"
    assert call(*"annotate export plan.json --out sheets --format csv".split())[0] == 0
