"""Runs merged into one: what is kept, what is refused, and that no sample is taken for what it was not drawn from."""

from __future__ import annotations

import dataclasses
import json
import shutil
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import bedside
from bedside.analysis.agreement import agree
from bedside.analysis.estimation import Estimate, estimate
from bedside.analysis.ratings_view import open_ratings_view
from bedside.annotation.answer_store import keep_answers
from bedside.annotation.answers import RaterAnswer
from bedside.annotation.sampling import make_plan
from bedside.api.run_files import merge
from bedside.core.errors import BedsideError, InputError, RunError
from bedside.ratings.run import Run, run_simulations, write_manifest
from bedside.ratings.table import KEY, frame_of
from bedside.reports.methods import methods
from bedside.scoring.judging_orders import JudgingWork, rubrics_of
from bedside.scoring.run_judging import judge_run
from bedside.scoring.score import score
from bedside.transcripts.transcript import Transcript, Turn
from tests.annotation.study import EMPATHY
from tests.conftest import Call, works
from tests.judges.llm.server import JudgeServer

pytestmark = pytest.mark.slow

EXAMPLE = [json.loads(line) for line in (bedside.EXAMPLES / "transcripts.jsonl").read_text().splitlines()]
JUDGE = "judge:m"


def talk(name: str, system: str | None = "S", case: str | None = None, words: str = "How was your week?") -> Transcript:
    turns = (Turn(0, "clinician", "c", words, {}), Turn(1, "patient", "p", f"Hard, {name}.", {}))
    return Transcript(id=name, turns=turns, system=system, case_id=case)


def small_run(folder: Path, talks: Iterable[Transcript], **options: Any) -> Run:
    return score(list(talks), folder, **{"metrics": ["structure"], **options}).run


def rated(
    run: Run, rows: Iterable[tuple[str, str, str, float | None]], round: str = "", chance: float | None = None
) -> Run:
    """The run with ratings of transcripts: id, metric, rater and value; a missing one says why."""
    of = {name: (system, case) for name, system, case in run.index.select("id", "system", "case_id").iter_rows()}
    cells = [
        (name, *of[name], "transcript", metric, rater, 0, value, None, None, "no reply" if value is None else None)
        for name, metric, rater, value in rows
    ]
    drawn = [chance] * len(cells)
    with run.locked():
        run.add(frame_of(cells, round, drawn).lazy(), run.manifest)
    return Run(run.path)


def part(folder: Path, system: str) -> Path:
    file = folder / f"{system}.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in EXAMPLE if row["system"] == system))
    return file


def refused(runs: list[Any], out: Path, **options: Any) -> str:
    with pytest.raises(BedsideError) as told:
        merge(runs, out, **options)
    assert "\n" not in str(told.value)
    assert not out.exists()
    assert not list(out.parent.glob(f".{out.name}*"))
    return str(told.value)


def test_systems_scored_apart_and_merged_are_what_scoring_them_together_gives(tmp_path: Path) -> None:
    systems = sorted({row["system"] for row in EXAMPLE})
    files = [part(tmp_path, system) for system in systems]
    runs = [score([file], tmp_path / file.stem).run for file in files]
    merged = merge(runs, tmp_path / "merged").run
    together = score(files, tmp_path / "together").run
    assert_frame_equal(merged.ratings.sort(KEY), together.ratings.sort(KEY))
    assert_frame_equal(merged.index.sort("id"), together.index.sort("id"))
    assert [each.to_json() for each in merged.transcripts()] == [each.to_json() for each in together.transcripts()]
    for key in ("count", "turns", "text", "skipped", "inputs", "options"):
        assert merged.manifest["transcripts"][key] == together.manifest["transcripts"][key], key
    (own,), (whole,) = merged.manifest["scorings"], together.manifest["scorings"]
    assert {key: own[key] for key in ("suite", "metrics", "ratings", "raters", "missing")} == {
        key: whole[key] for key in ("suite", "metrics", "ratings", "raters", "missing")
    }
    assert [entry["run"] for entry in merged.manifest["merged"]] == [str(run.path) for run in runs]
    assert bedside.compare(merged) == bedside.compare(together)


def test_different_transcripts_of_one_id_are_refused_and_the_way_out_names_them_by_system(tmp_path: Path) -> None:
    one = small_run(tmp_path / "one", [talk("a", None), talk("b", None)])
    two = small_run(tmp_path / "two", [talk("a", None, words="And now?"), talk("c", None)])
    one = rated(one, [("a", "warmth", "human:anna", 3.0)])
    message = refused([one, two], tmp_path / "out")
    assert f"{one.path} and {two.path} have different transcripts with the id 'a'" in message
    assert "`systems`" in message
    done = merge([one, two], tmp_path / "out", systems=["x", "y"])
    assert done.run.index.select("id", "system", "case_id").rows() == [
        ("x/a", "x", "a"), ("x/b", "x", "b"), ("y/a", "y", "a"), ("y/c", "y", "c"),
    ]  # fmt: skip
    assert done.cases == 1
    warmth = done.run.ratings.filter(pl.col("metric") == "warmth")
    assert warmth.select("transcript_id", "system", "case_id", "value").rows() == [("x/a", "x", "a", 3.0)]
    for transcript, kept in zip(done.run.transcripts(), done.run.index["hash"], strict=True):
        assert transcript.content_hash() == kept
    assert "2 runs need as many different systems" in refused([one, two], tmp_path / "no", systems=["x"])


def test_the_name_of_a_file_is_no_case(tmp_path: Path) -> None:
    for system in "xy":
        (tmp_path / system).mkdir()
        (tmp_path / system / "talk 1.txt").write_text(f"Therapist: How are you, {system}?\nClient: Fine.\n")
    runs = [score([tmp_path / system], tmp_path / f"run-{system}").run for system in "xy"]
    done = merge(runs, tmp_path / "out", systems=["x", "y"])
    assert done.run.index.select("id", "system", "case_id").rows() == [
        ("x/talk 1", "x", None), ("y/talk 1", "y", None),
    ]  # fmt: skip


def test_runs_without_systems_are_told_of(tmp_path: Path, call: Call) -> None:
    one = small_run(tmp_path / "one", [talk("a", None)])
    two = small_run(tmp_path / "two", [talk("b", None)])
    said, _ = works(call, "merge", one.path, two.path, "-o", tmp_path / "out")
    assert f"Transcripts of {one.path} name no system" in said
    assert "Name the systems with --systems" in said


def test_what_stands_in_both_is_there_once_and_a_value_stands_for_a_missing_one(tmp_path: Path) -> None:
    talks = [talk("a"), talk("b")]
    one = rated(small_run(tmp_path / "one", talks), [("a", "warmth", JUDGE, 3.0), ("b", "warmth", JUDGE, None)])
    two = rated(small_run(tmp_path / "two", talks), [("a", "warmth", JUDGE, 3.0), ("b", "warmth", JUDGE, 4.0)])
    structure = one.ratings.filter(pl.col("metric") != "warmth").height
    done = merge([one, two], tmp_path / "out")
    assert (done.shared, done.repeated, done.filled) == (2, structure + 1, 1)
    assert not done.run.ratings.select(KEY).is_duplicated().any()
    warmth = done.run.ratings.filter(pl.col("metric") == "warmth").sort("transcript_id")
    assert warmth["value"].to_list() == [3.0, 4.0]
    assert warmth["error"].null_count() == 2
    assert done.run.ratings.height == structure + 2
    assert done.run.manifest["transcripts"]["count"] == 2


def test_two_values_of_one_rating_are_refused_with_both_runs_named(tmp_path: Path) -> None:
    one = rated(small_run(tmp_path / "one", [talk("a")]), [("a", "warmth", "human:anna", 3.0)], "main")
    two = rated(small_run(tmp_path / "two", [talk("a")]), [("a", "warmth", "human:anna", 4.0)], "main")
    message = refused([one, two], tmp_path / "out")
    assert f"human:anna rated warmth of 'a' with 3 in {one.path} and 4 in {two.path}" in message
    assert "`round`" in message


def tell_suite(run: Run, data: dict[str, Any]) -> Run:
    with run.locked():
        entry = {**run.manifest["scorings"][0], **data}
        run.add(run.scan(), {**run.manifest, "scorings": [entry]})
    return Run(run.path)


def test_one_name_for_two_things_is_refused(tmp_path: Path) -> None:
    for number, (key, words) in enumerate(
        (("own_suite", "wordings of mine"), ("parameters", "parameters of behaviour: early_turns 3, and early_turns 4"))
    ):
        runs = []
        for place in (0, 1):
            data: dict[str, Any] = {"suite": "mine", "own_suite": None, "metrics": ["early_open_question_ratio"]}
            data[key] = {"title": str(place)} if key == "own_suite" else {"behaviour": {"early_turns": 3 + place}}
            run = small_run(tmp_path / f"run-{number}-{place}", [talk(f"{number}{place}")])
            runs.append(tell_suite(run, data))
        message = refused(runs, tmp_path / "out")
        assert words in message
        assert f"{runs[0].path} and {runs[1].path} have different" in message


def test_other_parameters_of_an_algorithm_are_refused_and_more_of_them_are_not(tmp_path: Path) -> None:
    def behaviour(folder: str, name: str, early: int | None) -> Run:
        parameters = {} if early is None else {"behaviour": {"early_turns": early}}
        return score([talk(name)], tmp_path / folder, metrics=["behaviour"], parameters=parameters).run

    one, two = behaviour("one", "a", None), behaviour("two", "b", 3)
    message = refused([one, two], tmp_path / "out")
    assert f"{one.path} and {two.path} have different versions of" in message
    assert "algorithm:behaviour@1, and algorithm:behaviour@1+early_turns=3" in message


def test_another_scale_and_a_run_without_text_are_refused(tmp_path: Path) -> None:
    one, two = small_run(tmp_path / "one", [talk("a")]), small_run(tmp_path / "two", [talk("b")])
    for run, name, scale in ((one, "a", "1-5"), (two, "b", "1-7")):
        file = tmp_path / f"{name}.csv"
        file.write_text(f"item,rater,metric,value\n{name},anna,warmth,3\n")
        bedside.import_ratings(run.path, file, scales=[scale])
    message = refused([one.path, two.path], tmp_path / "out")
    assert "have different scales of warmth: 1, 2, 3, 4, 5, and 1, 2, 3, 4, 5, 6, 7" in message
    for run, scale in ((one, "1-5"), (two, "1-5")):
        again = small_run(tmp_path / f"{run.path.name}-again", run.transcripts())
        (tmp_path / "ratings.csv").write_text(f"item,rater,metric,value\n{run.index['id'][0]},anna,warmth,3\n")
        bedside.import_ratings(again.path, tmp_path / "ratings.csv", scales=[scale])
    merged = merge([tmp_path / "one-again", tmp_path / "two-again"], tmp_path / "imported").run
    assert len({entry["file"] for entry in merged.manifest["imports"]}) == 2
    assert sum("imported from ratings.csv" in words for words in methods(merged, open_ratings_view(merged))) == 2
    wordless = small_run(tmp_path / "wordless", [talk("c")], text=False)
    assert f"{one.path} keeps what was said and {wordless.path} doesn't" in refused(
        [wordless, one.path], tmp_path / "out"
    )
    other = small_run(tmp_path / "other", [talk("d")], text=False)
    assert merge([wordless, other], tmp_path / "both").run.index.height == 2
    assert "keeps no text" in refused([wordless, other], tmp_path / "out", systems=["x", "y"])


def test_what_is_no_run_is_told(tmp_path: Path) -> None:
    run = small_run(tmp_path / "one", [talk("a")])
    simulation = tmp_path / "simulation"
    simulation.mkdir()
    (simulation / "manifest.json").write_text(
        json.dumps({"protocol": "x", "clinicians": ["c"], "patient": "p", "conversations": {"planned": 1}})
    )
    assert "simulations can't be merged; score them together" in refused([run, simulation], tmp_path / "out")
    assert "fewer than two runs" in refused([run], tmp_path / "out")
    assert "named twice" in refused([run, tmp_path / "." / "one"], tmp_path / "out")
    with pytest.raises(InputError, match="one run is named"):
        merge(run.path, tmp_path / "out")  # type: ignore[arg-type]
    other = small_run(tmp_path / "two", [talk("b")])
    with pytest.raises(RunError, match="there is a run already"):
        merge([run, other], other.path)
    with run.locked():
        assert "another bedside process is changing this run" in refused([run, other], tmp_path / "out")


def test_judgements_go_along_and_wordings_that_differ_are_refused(tmp_path: Path) -> None:
    work = JudgingWork(rubrics_of(["empathy"]))
    changed = dataclasses.replace(EMPATHY, definition="How warm is the clinician, all in all?")
    with JudgeServer() as server:
        runs = []
        for name in "ab":
            run = small_run(tmp_path / name, [talk("one", words=f"How was {name}?")])
            judge_run(run, None, server.judge, work)
            runs.append(Run(run.path))
        done = merge(runs, tmp_path / "out", systems=["x", "y"])
        other = small_run(tmp_path / "other", [talk("two")])
        judge_run(other, None, server.judge, JudgingWork((changed,)))
    with closing(sqlite3.connect(done.run.path / "judgements.sqlite")) as store:
        asked = {name for (name,) in store.execute("SELECT transcript FROM judgements")}
    assert asked == {"x/one", "y/one"}
    assert done.run.ratings.filter(pl.col("metric") == "empathy").height == 2
    assert sum("judges" in entry for entry in done.run.manifest["scorings"]) == 2
    message = refused([done.run, Run(other.path)], tmp_path / "no")
    assert f"{done.run.path} and {other.path} have different wordings of empathy" in message


def test_judgements_of_pairs_name_both_transcripts_as_the_merged_run_does(tmp_path: Path) -> None:
    runs = []
    with JudgeServer() as server:
        for name in "ab":
            talks = [talk("one", "S", "c", f"How was {name}?"), talk("two", "T", "c", f"And how was {name}?")]
            run = small_run(tmp_path / name, talks)
            bedside.judge_pairs(run, server.judge, rubrics=["empathy"])
            runs.append(Run(run.path))
    done = merge(runs, tmp_path / "out", systems=["x", "y"])
    preferences = done.run.ratings.filter(pl.col("metric") == "empathy.preference")
    with closing(sqlite3.connect(done.run.path / "judgements.sqlite")) as store:
        asked = set(store.execute("SELECT transcript, unit FROM judgements"))
    assert asked == set(preferences.select("transcript_id", "unit").rows())
    assert ("x/one", "pair:x/two") in asked


def test_simulations_go_along_each_once(tmp_path: Path) -> None:
    runs = [small_run(tmp_path / name, [talk(name)]) for name in "ab"]
    failure = {"id": "f", "system": "S", "case": None, "persona": None, "state": "failed", "whose": None, "reason": "x"}
    for run in runs:
        kept = [{"path": "/there", "manifest": {}, "failures": [failure]}]
        (run.path / "simulations.json").write_text(json.dumps(kept))
        write_manifest(run.path, run.manifest)
    assert len(run_simulations(merge(runs, tmp_path / "out").run.path)) == 1
    named = run_simulations(merge(runs, tmp_path / "named", systems=["x", "y"]).run.path)
    assert [each.failures[0]["id"] for each in named] == ["x/f", "y/f"]


# -- samples ----------------------------------------------------------------------------------------


def judged_cases(folder: Path, system: str, cases: range, levels: np.ndarray[Any, Any]) -> Run:
    run = small_run(folder, [talk(f"{system}{case}", system, f"c{case}") for case in cases])
    rows = [(f"{system}{case}", "empathy", JUDGE, float(levels[case])) for case in cases]
    return rated(run, rows)


def by_name(estimates: tuple[Estimate, ...]) -> dict[str, Estimate]:
    return {each.quantity: each for each in estimates}


def test_what_people_rated_in_each_run_stands_for_the_transcripts_of_that_run_alone(tmp_path: Path) -> None:
    """Rated 20 of 100 in one run and 30 of 60 in the other: each run's mean counts by its transcripts."""
    rng = np.random.default_rng(5)
    judge = rng.integers(1, 6, 160)
    people = np.where(np.arange(160) < 100, 1, 4) + rng.integers(0, 2, 160)
    chosen = [np.arange(20), np.arange(100, 130)]
    runs = []
    for name, cases, some in zip("ab", (range(100), range(100, 160)), chosen, strict=True):
        run = judged_cases(tmp_path / name, "S", cases, judge)
        runs.append(
            rated(
                run,
                [(f"S{case}", "empathy", "human:anna", float(people[case])) for case in some],
                "main",
                len(some) / len(cases),
            )
        )
    view = open_ratings_view(merge(runs, tmp_path / "out").run)
    (whole,) = estimate(view, judge=JUDGE)
    by_hand = (100 * people[chosen[0]].mean() + 60 * people[chosen[1]].mean()) / 160
    pooled = people[np.concatenate(chosen)].mean()
    assert abs(by_hand - pooled) > 0.5
    assert whole.human.estimate == pytest.approx(by_hand)
    assert whole.corrected.estimate is not None
    assert abs(whole.corrected.estimate - by_hand) < 0.3
    assert whole.samples[0].by == ("merged run",)


def test_a_run_that_nobody_rated_has_no_corrected_figure_and_says_why(tmp_path: Path) -> None:
    judge = np.random.default_rng(1).integers(1, 6, 80)
    one = judged_cases(tmp_path / "rated", "S", range(40), judge)
    one = rated(one, [(f"S{case}", "empathy", "human:anna", float(judge[case])) for case in range(20)], "main", 0.5)
    two = judged_cases(tmp_path / "unrated", "S", range(40, 80), judge)
    (whole,) = estimate(open_ratings_view(merge([one, two], tmp_path / "out").run), judge=JUDGE)
    assert whole.naive.estimate == pytest.approx(judge.mean())
    for result in (whole.human, whole.corrected):
        assert result.estimate is None
        assert result.missing is not None
        assert "runs that people didn't rate" in result.missing
    # Where the other run is of another system, this one's figure is its own, and the other's lacks labels.
    other = judged_cases(tmp_path / "other", "T", range(40), judge)
    found = by_name(estimate(open_ratings_view(merge([one, other], tmp_path / "both").run), judge=JUDGE))
    (alone,) = estimate(open_ratings_view(one), judge=JUDGE)
    assert found["S"].corrected == alone.corrected
    assert found["T"].corrected.missing is not None


def test_what_people_rate_after_the_merge_is_a_sample_of_all(tmp_path: Path) -> None:
    judge = np.random.default_rng(1).integers(1, 6, 80)
    runs = [
        judged_cases(tmp_path / name, "S", cases, judge) for name, cases in (("a", range(40)), ("b", range(40, 80)))
    ]
    merged = merge(runs, tmp_path / "out").run
    rows = [(f"S{case}", "empathy", "human:anna", float(judge[case])) for case in range(0, 80, 3)]
    (whole,) = estimate(open_ratings_view(rated(merged, rows, "later", 1 / 3)), judge=JUDGE)
    assert whole.samples[0].by == ()
    assert whole.human.estimate == pytest.approx(judge[::3].mean())


def test_runs_merged_twice_keep_apart_what_was_drawn_apart(tmp_path: Path) -> None:
    judge = np.random.default_rng(2).integers(1, 6, 90)
    runs = []
    for place, name in enumerate("abc"):
        run = judged_cases(tmp_path / name, "S", range(30 * place, 30 * place + 30), judge)
        rows = [(f"S{30 * place + k}", "empathy", "human:anna", float(1 + place)) for k in range(5 + 5 * place)]
        runs.append(rated(run, rows, "main", len(rows) / 30))
    nested = merge([merge(runs[:2], tmp_path / "ab").run, runs[2]], tmp_path / "abc").run
    flat = merge(runs, tmp_path / "flat").run
    assert [entry["rounds"] for entry in nested.manifest["merged"]] == [["main"], ["main"], [], ["main"]]
    found = [estimate(open_ratings_view(run), judge=JUDGE)[0].human for run in (nested, flat)]
    assert found[0].estimate == pytest.approx(2.0)
    assert found[0] == found[1]


def planned(run: Run, per: int, level: Callable[[str, str], int], **options: Any) -> Run:
    """The run with two people's answers to a plan of the round main."""
    plan = make_plan(
        run, mode="rate", rubrics=(EMPATHY,), raters=("anna", "ben"), overlap=2, per=per, seed=3, round="main",
        **options,
    )  # fmt: skip
    answers = [
        RaterAnswer(
            id=f"{item}-{rater}", item=item, rater=rater, state="submitted",
            choices={"empathy": (str(level(plan.by_id[item].transcript, rater)),)}, texts={},
            created="2026-03-01", updated="2026-03-01", seconds=1.0, changed_by=None, where="",
        )
        for item, raters in plan.raters_of.items()
        for rater in raters
    ]  # fmt: skip
    keep_answers(run, plan, answers)
    return Run(run.path)


def test_agreement_weighs_each_runs_units_by_its_own_chances(tmp_path: Path) -> None:
    """Ten of fifty were drawn in one run and ten of twenty in the other; raters agree in the first alone."""
    judge = np.full(70, 3)
    one = planned(judged_cases(tmp_path / "one", "S", range(50), judge), 10, lambda name, _: 1 + int(name[1:]) % 5)
    two = planned(
        judged_cases(tmp_path / "two", "S", range(50, 70), judge), 10,
        lambda name, rater: 1 + (int(name[1:]) + (rater == "ben")) % 5,
    )  # fmt: skip
    merged = merge([one, two], tmp_path / "out").run
    drawn = merged.ratings.filter(pl.col("round") == "main").group_by("drawn").len().sort("drawn")
    assert drawn["drawn"].to_list() == [0.2, 0.5]
    (pair,) = (each for each in agree(open_ratings_view(merged)) if each.kind == "people")
    assert pair.chances == "unequal"
    assert pair.statistics["percent agreement"].estimate == pytest.approx(50 / 70)
    plans = sorted(path.name for path in (merged.path / "annotations").iterdir())
    assert len(plans) == 2


def test_transcripts_drawn_in_two_runs_have_no_known_chance(tmp_path: Path) -> None:
    judge = np.full(40, 3)
    runs = []
    for name, per in (("one", 10), ("two", 20)):
        run = judged_cases(tmp_path / name, "S", range(40), judge)
        runs.append(planned(run, per, lambda talk_name, _: 1 + int(talk_name[1:]) % 5))
    merged = merge(runs, tmp_path / "out").run
    assert merged.ratings.filter(pl.col("round") == "main")["drawn"].null_count() > 0
    assert not merged.ratings.select(KEY).is_duplicated().any()
    assert (merged.ratings["drawn"].drop_nulls() == 0).all()
    # The same plan with the same answers in both is one sample still.
    same = merge([runs[0], Run(copy_of(runs[0].path, tmp_path / "copy"))], tmp_path / "same").run
    assert same.ratings.filter(pl.col("round") == "main")["drawn"].unique().to_list() == [0.25]


def copy_of(run: Path, to: Path) -> Path:
    return Path(shutil.copytree(run, to))


def test_different_answers_to_one_plan_are_refused(tmp_path: Path) -> None:
    one = planned(judged_cases(tmp_path / "one", "S", range(9), np.full(9, 3)), 4, lambda *_: 2)
    copy = copy_of(one.path, tmp_path / "copy")
    (answers,) = copy.glob("annotations/*/answers.jsonl")
    answers.write_bytes(answers.read_bytes().replace(b"2026-03-01", b"2026-03-02"))
    message = refused([one, copy], tmp_path / "out")
    assert f"something else of the plan {answers.parent.name}" in message


def test_what_is_not_taken_over_is_named(tmp_path: Path, call: Call) -> None:
    one, two = small_run(tmp_path / "one", [talk("a")]), small_run(tmp_path / "two", [talk("b")])
    (one.path / "probes.json").write_text("{}")
    (one.path / "tables").mkdir()
    said, _ = works(call, "merge", one.path, two.path, "--out", tmp_path / "out")
    assert f"Merged 2 runs into {tmp_path / 'out'}: 2 transcripts of 1 system (S)" in said
    assert f"Not taken over from {one.path}: probes.json, tables." in said
