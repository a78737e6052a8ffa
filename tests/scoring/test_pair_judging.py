"""Judges compare conversations of a run: which, what is asked, kept, asked again, and written into the run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from itertools import combinations, permutations
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import bedside
from bedside.judges.rubrics.rubric_files import RUBRICS
from bedside.judges.settings import JudgeSettings
from bedside.judges.store import read_judgements
from bedside.ratings.run import Run
from bedside.scoring.judging_orders import STORE, JudgingWork
from bedside.scoring.preview import preview_judging
from bedside.scoring.run_judging import judge_run
from bedside.scoring.score import score
from bedside.scoring.transcript_pairs import PairedTranscripts, paired_transcripts
from bedside.transcripts.transcript import Transcript, Turn
from tests.conftest import Call, works
from tests.judges.llm.server import Action, JudgeServer, Received
from tests.judges.simulated_judge import SimulatedJudge, simulated_talks, true_qualities

EMPATHY, SAFETY = RUBRICS.load("empathy"), RUBRICS.load("safety")
JUDGE = "http://127.0.0.1:1/v1#simulated"
TALKS = simulated_talks({"A": 0.9, "B": 0.5, "C": 0.1}, cases=4, seed=1)
SIMULATED = SimulatedJudge(true_qualities(TALKS))


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return score(TALKS, tmp_path / "run", metrics=["structure"]).run


def work(run: Run, systems: str | None = None, rubrics: tuple[Any, ...] = (EMPATHY,)) -> JudgingWork:
    return JudgingWork(rubrics, pairs=paired_transcripts(run, systems.split(",") if systems else None))


def judge_pairs(run: Run, order: Any = None, judge: SimulatedJudge = SIMULATED, **how: Any) -> Any:
    settings = JudgeSettings(**how)
    (judged,) = judge_run(run, None, JUDGE, order or work(run), settings=settings, client=judge.client)
    return judged


def preferences(run: Run) -> pl.DataFrame:
    return run.ratings.filter(pl.col("unit").str.starts_with("pair:"))


def test_both_orders_of_every_pair_are_asked_and_written(run: Run) -> None:
    (plan,) = preview_judging(run.path, None, JUDGE, work(run))
    judged = judge_pairs(run)
    assert plan.calls == judged.calls == judged.ratings == 2 * 3 * 4
    table = preferences(run)
    talks = {
        (f"{one}-{case}-0", f"pair:{other}-{case}-0") for one, other in permutations("ABC", 2) for case in range(4)
    }
    assert set(table.select("transcript_id", "unit").iter_rows()) == talks
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
    judge_pairs(run, judge=SimulatedJudge(true_qualities(TALKS), position=5.0))
    assert set(preferences(run)["label"]) == {"first"}
    even = SimulatedJudge(true_qualities(TALKS), tie=5.0)
    judge_run(run, None, "http://127.0.0.1:1/v1#even", work(run), client=even.client)
    ties = preferences(run).filter(rater="judge:even")
    assert set(ties.select("label", "value").iter_rows()) == {("tie", 0.5)}


def test_only_what_is_missing_is_asked_again(run: Run) -> None:
    assert judge_pairs(run, work(run, "A,B")).calls == 8
    judged = judge_pairs(run, max_calls=3)
    assert (judged.calls, judged.complete) == (3, False)
    table = preferences(run)
    assert (table.height, table["error"].null_count()) == (24, 11)
    (plan,) = preview_judging(run.path, None, JUDGE, work(run))
    assert (plan.calls, plan.stored) == (13, 11)
    judged = judge_pairs(run)
    assert (judged.calls, judged.ratings) == (13, 24)
    assert preferences(run)["error"].null_count() == 24
    assert judge_pairs(run, work(run, rubrics=(EMPATHY, SAFETY)), passes=2).calls == 24 + 48
    assert preferences(run).height == 96
    assert set(preferences(run)["replicate"]) == {0, 1}


@pytest.mark.slow
def test_other_scorings_of_the_run_leave_preferences_and_are_left(run: Run) -> None:
    judge_pairs(run)
    before = preferences(run)
    again = score(TALKS, run.path, metrics=["structure", "smog"]).run
    assert preferences(again).equals(before)
    with JudgeServer(SIMULATED.script) as server:
        bedside.judge(again, server.judge, rubrics="empathy")
    judged = Run(run.path)
    assert preferences(judged).equals(before)
    assert judged.ratings.filter(pl.col("metric") == "empathy").height == len(TALKS)
    others = judged.ratings.filter(~pl.col("unit").str.starts_with("pair:"))
    judge_pairs(judged)
    assert judged.ratings.filter(~pl.col("unit").str.starts_with("pair:")).equals(others)


def test_a_pair_that_is_too_long_is_missing_with_its_reason(run: Run) -> None:
    judged = judge_pairs(run, work(run, "A,B"), max_prompt_tokens=100)
    assert (judged.calls, judged.complete) == (0, True)
    assert all("more than the limit of 100" in error for error in preferences(run)["error"])


def test_a_reply_that_is_none_is_asked_again_and_then_missing(run: Run) -> None:
    def script(received: Received, number: int) -> Action:
        spoilt = Action(text='{"reason": "x", "better": "both"}')
        return spoilt if "visit000000" in received.prompt else SIMULATED.script(received, number)

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
    judge_pairs(run)
    table = preferences(run)
    assert table["label"].null_count() == 0
    assert table["reason"].null_count() == table.height
    assert {(judgement.answer or {})["reason"] for judgement in read_judgements(run.path / STORE)} == {""}
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
        line = f"judge pairs {run.path} --rubric empathy --judge {server.judge}".split()
        out, _ = works(call, *line, "--dry-run")
        assert "24 calls" in out
        assert "12 pairs of conversations, of 3 systems on 4 cases, matched by case." in out
        assert not preferences(Run(run.path)).height
        code, out, _ = call(*line, "--max-calls", 5)
        assert (code, "Not everything was answered" in out) == (0, True)
        code, out, _ = call(*line, "--json")
        assert (code, '"empathy.preference"' in out) == (0, True)
        assert len(server.received) == 24
    assert preferences(Run(run.path))["error"].null_count() == 24


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--rubric open_question", "two conversations can't be compared by open_question"),
        ("--rubric empathy --systems A,Z", "--systems: there is no system 'Z'"),
        ("--rubric empathy --pairs 0", "--pairs"),
        ("--rubric empathyy", "empathy"),
    ],
)
def test_what_is_misspelt_stops_in_one_line(call: Call, run: Run, options: str, words: str) -> None:
    code, _, err = call(*f"judge pairs {run.path} --judge {JUDGE} {options}".split())
    assert (code, len(err.strip().splitlines())) == (2, 1)
    assert words in err


def test_what_was_compared_elsewhere_is_not_asked_again(call: Call, tmp_path: Path) -> None:
    run, other = (score(TALKS, tmp_path / name, metrics=["structure"]).run for name in ("here", "there"))
    judge_pairs(other)
    out, _ = works(call, "judge", "answers", "merge", run.path, other.path)
    assert "judge:simulated by empathy.preference: bedside judge pairs makes them of what is kept now." in out
    judged = judge_pairs(Run(run.path))
    assert (judged.calls, judged.ratings) == (0, 24)


def test_odd_ids_come_back_as_they_are(tmp_path: Path) -> None:
    names = {"A": "pair:turn:1 ü", "B": "transcript", "C": 'a/b;c,"d"'}
    talks = [
        replace(talk, id=names[talk.system or ""])
        for talk in simulated_talks({"A": 0.9, "B": 0.5, "C": 0.1}, cases=1, seed=1)
    ]
    run = score(talks, tmp_path / "run", metrics=["structure"]).run
    judge_pairs(run, judge=SimulatedJudge(true_qualities(talks)))
    units = set(preferences(run).select("transcript_id", "unit").iter_rows())
    assert units == {(one, f"pair:{other}") for one, other in permutations(names.values(), 2)}


@pytest.mark.slow
def test_what_was_put_into_a_judge_comes_out_of_its_answers(tmp_path: Path) -> None:
    """Strengths and the taste for the place of a judge of whom both are known, by the whole way of asking it."""
    qualities = {"A": 0.0, "B": 0.5, "C": 1.0, "D": 1.5}
    talks = simulated_talks(qualities, cases=24, seed=5)
    run = score(talks, tmp_path / "run", metrics=["structure"]).run
    judge_pairs(run, judge=SimulatedJudge(true_qualities(talks), noise=1.0, position=0.4, seed=3))
    strengths = bedside.preferences(run.path, seed=1)["strengths"].records
    assert len(strengths) == 4
    for record in strengths:
        for measure, true in (("strength", qualities[record["system"]] - 0.75), ("position_effect", 0.4)):
            width = record[f"{measure}_high"] - record[f"{measure}_low"]
            assert abs(record[measure] - true) < 0.75 * width  # three standard errors


def talk(name: str, system: str | None, case: str | None, **factors: Any) -> Transcript:
    turns = (Turn(0, "clinician", "bot", "Hello."), Turn(1, "patient", "Pat", "Hello."))
    return Transcript(id=name, system=system, case_id=case, factors=factors, turns=turns)


def a_run(folder: Path, talks: Iterable[Transcript]) -> Run:
    return score(list(talks), folder / "run", metrics=["structure"]).run


def compared(pairs: PairedTranscripts) -> set[tuple[str, str]]:
    return {pair.transcripts for pair in pairs.pairs}


def test_every_two_systems_are_compared_on_every_case_both_have(tmp_path: Path) -> None:
    talks = [talk(f"{system}{case}", system, case) for system in "ABC" for case in "xyz"]
    pairs = paired_transcripts(a_run(tmp_path, talks))
    assert compared(pairs) == {(a + case, b + case) for a, b in combinations("ABC", 2) for case in "xyz"}
    assert pairs.available == 9
    assert pairs.matched_by == ()
    assert [*pairs.lines()] == ["9 pairs of conversations, of 3 systems on 3 cases, matched by case."]


def test_settings_and_repeats_are_matched_and_what_lacks_a_partner_is_named(tmp_path: Path) -> None:
    talks = [
        talk(f"A-{persona}-{repeat}", "A", "x", persona=persona, repeat=repeat)
        for persona in ("shy", "bold") for repeat in (1, 2)
    ] + [
        talk("B-shy-2", "B", "x", persona="shy", repeat=2),
        talk("B-shy-1", "B", "x", persona="shy", repeat=1),
        talk("B-odd", "B", "x", persona="odd", repeat=1),
        talk("B-y", "B", "y", persona="shy", repeat=1),
        talk("B-none", "B", None),
        talk("nobody", None, "x"),
    ]  # fmt: skip
    pairs = paired_transcripts(a_run(tmp_path, talks))
    assert compared(pairs) == {("A-shy-1", "B-shy-1"), ("A-shy-2", "B-shy-2")}
    assert pairs.matched_by == ("persona", "repeat")
    lines = set(pairs.lines())
    assert lines > {
        "2 of A not compared with B, which has none of the same persona and repeat: A-bold-1, A-bold-2.",
        "1 of B not compared with A, which has none of the same persona and repeat: B-odd.",
        "1 of B not compared with A, which lacks the case: B-y.",
        "1 of B not compared, as no case is known: B-none.",
        "1 not compared, as no system is known: nobody.",
    }
    assert "matched by case, persona and repeat" in " ".join(lines)
    without = {name for lacking in pairs.without_partner for name in lacking.transcripts}
    assert without | pairs.transcripts == {entry.id for entry in talks}


def test_several_of_the_same_levels_are_matched_in_the_order_of_the_run(tmp_path: Path) -> None:
    names = ("A3", "A1", "A2", "B9", "B8")
    talks = [talk(name, name[0], "x", minutes=number) for number, name in enumerate(names)]
    pairs = paired_transcripts(a_run(tmp_path, talks))
    # The minutes are each one's own, and so nothing to match by.
    assert pairs.matched_by == ()
    assert compared(pairs) == {("A3", "B9"), ("A1", "B8")}
    assert "1 of A not compared with B, which has fewer on the case: A2." in list(pairs.lines())


def test_how_a_conversation_came_out_is_nothing_to_match_by(tmp_path: Path) -> None:
    talks = [talk(f"{system}{number}", system, "x", completed=number == done)
             for system, done in (("A", 0), ("B", 1)) for number in range(2)]  # fmt: skip
    assert paired_transcripts(a_run(tmp_path, talks)).matched_by == ()


@pytest.mark.parametrize(("systems", "cases", "most"), [(8, 40, 100), (5, 7, 23), (3, 50, 10), (6, 4, 31)])
def test_a_draw_is_balanced_and_part_of_a_larger(tmp_path: Path, systems: int, cases: int, most: int) -> None:
    names = [f"S{number}" for number in range(systems)]
    run = a_run(tmp_path, (talk(f"{name}-{c}", name, f"c{c}") for name in names for c in range(cases)))
    drawn = paired_transcripts(run, most=most, seed=3)
    assert len(drawn.pairs) == most
    assert drawn.available == cases * systems * (systems - 1) // 2
    couples = Counter(pair.systems for pair in drawn.pairs)
    of_cases = Counter(pair.case for pair in drawn.pairs)
    for counts in (
        [couples[couple] for couple in combinations(names, 2)],
        [of_cases[f"c{case}"] for case in range(cases)],
    ):
        assert max(counts) - min(counts) <= 1
    larger = paired_transcripts(run, most=most + 5, seed=3)
    assert compared(drawn) < compared(larger)
    assert compared(drawn) == compared(paired_transcripts(run, most=most, seed=3))
    assert compared(drawn) != compared(paired_transcripts(run, most=most, seed=4))
    assert f"{most:,} pairs of conversations, drawn of {drawn.available:,}" in next(drawn.lines())
