"""Judges compare conversations of a run: what is asked, kept, asked again, and written into the run."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import bedside
from bedside.judges.rubrics.rubric_files import RUBRICS
from bedside.judges.settings import JudgeSettings
from bedside.judges.store import read_judgements
from bedside.ratings.run import Run
from bedside.scoring.judging_orders import STORE
from bedside.scoring.pair_judging import PairingWork, judge_run_pairs, preview_run_pairs
from bedside.scoring.score import score
from bedside.scoring.transcript_pairs import paired_transcripts
from bedside.transcripts.transcript import Transcript
from tests.conftest import Call
from tests.judges.llm.server import Action, JudgeServer, Received
from tests.judges.simulated_judge import SimulatedJudge, simulated_talks, true_qualities

EMPATHY, SAFETY = RUBRICS.load("empathy"), RUBRICS.load("safety")
JUDGE = "http://127.0.0.1:1/v1#simulated"
TALKS = simulated_talks({"A": 0.9, "B": 0.5, "C": 0.1}, cases=4, seed=1)
SIMULATED = SimulatedJudge(true_qualities(TALKS))


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return score(TALKS, tmp_path / "run", metrics=["structure"]).run


def work(
    run: Run, systems: str | None = None, rubrics: tuple[Any, ...] = (EMPATHY,), **draw: Any
) -> PairingWork:
    return PairingWork(paired_transcripts(run, systems.split(",") if systems else None, **draw), rubrics)


def preferences(run: Run) -> pl.DataFrame:
    return run.ratings.filter(pl.col("unit").str.starts_with("pair:"))


def test_both_orders_of_every_pair_are_asked_and_written(run: Run) -> None:
    (plan,) = preview_run_pairs(run, JUDGE, work(run))
    (judged,) = judge_run_pairs(run, JUDGE, work(run), client=SIMULATED.client)
    assert plan.calls == judged.calls == judged.ratings == 2 * 3 * 4
    table = preferences(run)
    shown = set(table.select("transcript_id", "unit").iter_rows())
    assert shown == {
        pair
        for one, other in combinations("ABC", 2)
        for case in range(4)
        for pair in (
            (f"{one}-{case}-0", f"pair:{other}-{case}-0"),
            (f"{other}-{case}-0", f"pair:{one}-{case}-0"),
        )
    }
    assert set(table["metric"]) == {"empathy.preference"}
    assert set(table["rater"]) == {"judge:simulated"}
    for first, unit, label, value in table.select("transcript_id", "unit", "label", "value").iter_rows():
        better = first[0] < unit.removeprefix("pair:")[0]  # A is better than B, and B than C
        assert (label, value) == (("first", 1.0) if better else ("second", 0.0))
    (entry,) = Run(run.path).manifest["preferences"]
    assert entry["prompts"].keys() == {"empathy"}
    assert entry["systems"] == ["A", "B", "C"]
    assert entry["complete"]


def test_ties_and_positions_are_as_the_judge_has_them(run: Run) -> None:
    leaning = SimulatedJudge(true_qualities(TALKS), position=5.0)
    judge_run_pairs(run, JUDGE, work(run), client=leaning.client)
    assert set(preferences(run)["label"]) == {"first"}
    even = SimulatedJudge(true_qualities(TALKS), tie=5.0)
    judge_run_pairs(run, "http://127.0.0.1:1/v1#even", work(run), client=even.client)
    ties = preferences(run).filter(pl.col("rater") == "judge:even")
    assert set(ties.select("label", "value").iter_rows()) == {("tie", 0.5)}


def test_only_what_is_missing_is_asked_again(run: Run) -> None:
    (judged,) = judge_run_pairs(run, JUDGE, work(run, "A,B"), client=SIMULATED.client)
    assert judged.calls == 8
    limited = JudgeSettings(max_calls=3)
    (judged,) = judge_run_pairs(run, JUDGE, work(run), settings=limited, client=SIMULATED.client)
    assert judged.calls == 3
    assert not judged.complete
    missing = preferences(run).filter(pl.col("error").is_not_null())
    assert missing.height == 13
    assert preferences(run).height == 24
    (plan,) = preview_run_pairs(run, JUDGE, work(run))
    assert (plan.calls, plan.stored) == (13, 11)
    (judged,) = judge_run_pairs(run, JUDGE, work(run), client=SIMULATED.client)
    assert (judged.calls, judged.ratings) == (13, 24)
    assert preferences(run)["error"].null_count() == 24
    more = JudgeSettings(passes=2)
    (judged,) = judge_run_pairs(
        run, JUDGE, work(run, rubrics=(EMPATHY, SAFETY)), settings=more, client=SIMULATED.client
    )
    assert judged.calls == 24 + 48
    assert preferences(run).height == 96
    assert set(preferences(run)["replicate"]) == {0, 1}


@pytest.mark.slow
def test_other_scorings_of_the_run_leave_preferences_and_are_left(run: Run) -> None:
    judge_run_pairs(run, JUDGE, work(run), client=SIMULATED.client)
    before = preferences(run)
    again = score(TALKS, run.path, metrics=["structure", "smog"]).run
    assert preferences(again).equals(before)
    with JudgeServer(SIMULATED.script) as server:
        bedside.judge(again, server.judge, rubrics="empathy")
    judged = Run(run.path)
    assert preferences(judged).equals(before)
    assert judged.ratings.filter(pl.col("metric") == "empathy").height == len(TALKS)
    others = judged.ratings.filter(~pl.col("unit").str.starts_with("pair:"))
    judge_run_pairs(judged, JUDGE, work(judged), client=SIMULATED.client)
    assert judged.ratings.filter(~pl.col("unit").str.starts_with("pair:")).equals(others)


def test_a_pair_that_is_too_long_is_missing_with_its_reason(run: Run) -> None:
    (judged,) = judge_run_pairs(
        run, JUDGE, work(run, "A,B"), settings=JudgeSettings(max_prompt_tokens=100), client=SIMULATED.client
    )
    assert judged.calls == 0
    assert all("more than the limit of 100" in error for error in preferences(run)["error"])
    assert judged.complete


def test_a_reply_that_is_none_is_asked_again_and_then_missing(run: Run) -> None:
    def script(received: Received, number: int) -> Action:
        if "visit000000" in received.prompt:
            return Action(text='{"reason": "x", "better": "both"}')
        return SIMULATED.script(received, number)

    with JudgeServer(script) as server:
        compared = bedside.judge_pairs(run, server.judge, rubrics="empathy", systems=["A", "B"])
    assert compared.complete
    assert compared.judges[0].rubrics[0].unusable == 2
    table = preferences(Run(run.path))
    of_it = table.filter((pl.col("transcript_id") == "A-0-0") | (pl.col("unit") == "pair:A-0-0"))
    assert of_it.height == 2
    assert all("not one of first, second, tie" in error for error in of_it["error"])
    assert table["error"].null_count() == 6


def test_a_run_without_text_keeps_labels_and_no_words(tmp_path: Path) -> None:
    lines = "".join(talk.to_json().decode() + "\n" for talk in TALKS)
    (tmp_path / "talks.jsonl").write_text(lines, "utf-8")
    run = score([tmp_path / "talks.jsonl"], tmp_path / "run", metrics=["structure"], text=False).run
    judge_run_pairs(run, JUDGE, work(run), client=SIMULATED.client)
    table = preferences(run)
    assert table["label"].null_count() == 0
    assert table["reason"].null_count() == table.height
    for judgement in read_judgements(run.path / STORE):
        assert judgement.answer is not None
        assert judgement.answer["reason"] == ""
    assert b"sleep badly" not in (run.path / STORE).read_bytes()


def test_from_python_a_draw_of_pairs_is_asked_and_told(run: Run) -> None:
    with JudgeServer(SIMULATED.script) as server:
        plans = bedside.preview_pairs(run.path, server.judge, rubrics="empathy", pairs=5, seed=2)
        compared = bedside.judge_pairs(run.path, server.judge, rubrics="empathy", pairs=5, seed=2)
        assert plans.results[0].calls == compared.judges[0].calls == 10
        larger = bedside.judge_pairs(run.path, server.judge, rubrics="empathy", pairs=8, seed=2)
        assert larger.judges[0].calls == 6
    assert "5 pairs of conversations, drawn of 12" in str(compared)
    assert repr(compared).startswith("ComparedRun(")
    assert len(compared.pairs.pairs) == 5


def test_the_command_plans_asks_and_goes_on(call: Call, run: Run) -> None:
    with JudgeServer(SIMULATED.script) as server:
        asked = ("judge", "pairs", run.path, "--rubric", "empathy", "--judge", server.judge)
        code, out, _ = call(*asked, "--dry-run")
        assert code == 0
        assert "24 calls" in out
        assert "12 pairs of conversations, of 3 systems on 4 cases, matched by case." in out
        assert not preferences(Run(run.path)).height
        code, out, _ = call(*asked, "--max-calls", 5)
        assert code == 0
        assert "Not everything was answered" in out
        code, out, _ = call(*asked, "--json")
        assert code == 0
        assert '"empathy.preference"' in out
        assert len(server.received) == 24
        assert preferences(Run(run.path))["error"].null_count() == 24


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--rubric", "open_question"), "two conversations can't be compared by open_question"),
        (("--rubric", "empathy", "--systems", "A,Z"), "--systems: there is no system 'Z'"),
        (("--rubric", "empathy", "--pairs", "0"), "--pairs"),
        (("--rubric", "empathyy"), "empathy"),
    ],
)
def test_what_is_misspelt_stops_in_one_line(
    call: Call, run: Run, options: tuple[str, ...], words: str
) -> None:
    code, _, err = call("judge", "pairs", run.path, "--judge", JUDGE, *options)
    assert code == 2
    assert len(err.strip().splitlines()) == 1
    assert words in err


def test_what_was_compared_elsewhere_is_not_asked_again(call: Call, tmp_path: Path) -> None:
    run, other = (score(TALKS, tmp_path / name, metrics=["structure"]).run for name in ("here", "there"))
    judge_run_pairs(other, JUDGE, work(other), client=SIMULATED.client)
    code, out, _ = call("judgements", "merge", run.path, other.path)
    assert code == 0
    assert "judge:simulated by empathy.preference: bedside judge pairs makes them of what is kept now." in out
    (judged,) = judge_run_pairs(Run(run.path), JUDGE, work(run), client=SIMULATED.client)
    assert (judged.calls, judged.ratings) == (0, 24)


def test_odd_ids_come_back_as_they_are(tmp_path: Path) -> None:
    names = {"A": "pair:turn:1 ü", "B": "transcript", "C": 'a/b;c,"d"'}
    talks = [
        Transcript(id=names[talk.system or ""], system=talk.system, case_id=talk.case_id, factors=talk.factors,
                   turns=talk.turns)
        for talk in simulated_talks({"A": 0.9, "B": 0.5, "C": 0.1}, cases=1, seed=1)
    ]  # fmt: skip
    run = score(talks, tmp_path / "run", metrics=["structure"]).run
    judge_run_pairs(run, JUDGE, work(run), client=SimulatedJudge(true_qualities(talks)).client)
    units = set(preferences(run).select("transcript_id", "unit").iter_rows())
    assert units == {
        (one, f"pair:{other}") for one in names.values() for other in names.values() if one != other
    }


@pytest.mark.slow
def test_what_was_put_into_a_judge_comes_out_of_its_answers(tmp_path: Path) -> None:
    """Strengths and the taste for the place of a judge of whom both are known, by the whole way of asking it."""
    qualities = {"A": 0.0, "B": 0.5, "C": 1.0, "D": 1.5}
    talks = simulated_talks(qualities, cases=24, seed=5)
    run = score(talks, tmp_path / "run", metrics=["structure"]).run
    judge = SimulatedJudge(true_qualities(talks), noise=1.0, position=0.4, seed=3)
    judge_run_pairs(run, JUDGE, work(run), client=judge.client)
    strengths = bedside.preferences(run.path, seed=1)["strengths"].records
    assert len(strengths) == 4
    for record in strengths:
        true = qualities[record["system"]] - 0.75
        width = record["strength_high"] - record["strength_low"]
        assert abs(record["strength"] - true) < 0.75 * width  # three standard errors
        assert abs(record["position_effect"] - 0.4) < 0.75 * (
            record["position_effect_high"] - record["position_effect_low"]
        )
