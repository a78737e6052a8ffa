"""Answers become ratings: every mode, every revision, and nothing lost or twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from bedside import import_ratings
from bedside.analysis.agreement import agree
from bedside.analysis.ratings_view import open_ratings_view
from bedside.annotation.annotation_plan import AnnotationPlan, plan_hash
from bedside.annotation.answer_ratings import plan_people
from bedside.annotation.answer_store import STORE, StoreSummary, keep_answers, plan_folder, read_store
from bedside.annotation.answers import RaterAnswer
from bedside.annotation.fields import NONE, NOT_APPLICABLE
from bedside.annotation.items import judge_scores
from bedside.annotation.label_studio_export import read_export
from bedside.annotation.plan_file import read_plan, write_plan
from bedside.annotation.plan_progress import plan_view
from bedside.annotation.training_cases import TrainingCase
from bedside.core.errors import InputError, RunError
from bedside.judges.rubrics.rubric_files import RUBRICS
from bedside.ratings.names import rated_by_humans
from bedside.ratings.run import Run
from tests.annotation.builders import (
    CLIENT_TALK,
    COST,
    FEAR,
    FINDINGS,
    QUESTION,
    keep,
    people as rows_of_people,
    pulled,
    rater_answer,
)
from tests.annotation.study import EMPATHY, JUDGE, RATERS, USERS, exported, levels, rating_plan, reasoned_levels

Tasks = list[dict[str, Any]]


def people(run: Run, *metrics: str) -> dict[tuple[str, str, str, str], tuple[Any, Any, Any, Any]]:
    """(transcript, unit, metric, rater) → (value, label, reason, error), of people."""
    columns = ("transcript_id", "unit", "metric", "rater", "value", "label", "reason", "error")
    return {row[:4]: row[4:] for row in rows_of_people(run, *metrics).select(columns).iter_rows()}


def files_of(run: Run) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in run.path.rglob("*") if path.is_file()}


@pytest.fixture
def plan(run: Run) -> AnnotationPlan:
    """Three raters, two for each of 12 items."""
    return rating_plan(run)


@pytest.fixture
def tasks(plan: AnnotationPlan) -> Tasks:
    return exported(plan, levels, USERS)


def test_of_two_plans_of_one_round_the_rating_that_came_first_stands(run: Run) -> None:
    first, second = (rating_plan(run, round="main", seed=seed) for seed in (1, 2))
    said = {
        plan.seed: [
            rater_answer(item, rater, {"empathy": level, "goal_alignment": level})
            for item, raters in plan.raters_of.items()
            for rater in raters
        ]
        for plan, level in ((first, "1"), (second, "5"))
    }
    assert keep_answers(run, first, said[1]).standing == {}
    before = people(run)
    theirs = {key[0::3] for key in before}
    own = {(second.by_id[answer.item].transcript, f"human:{answer.rater}") for answer in said[2]}
    assert own & theirs
    assert own - theirs
    for plan in (second, first, second):
        kept = keep_answers(Run(run.path), plan, said[plan.seed])
        rated = people(run)
        assert {key: rated[key] for key in before} == before
        assert {rated[key][0] for key in rated.keys() - before.keys()} == {5.0}
        assert {key[0::3] for key in rated} == own | theirs
        assert kept.standing == ({} if plan is first else {plan_hash(first): 2 * len(own & theirs)})
    assert len(read_store(run, second).answers()) == len(said[2])


def test_what_was_typed_is_in_the_ratings(run: Run, plan: AnnotationPlan) -> None:
    kept = keep(run, plan, reasoned_levels)
    assert kept == StoreSummary(24, 0, 0, 24, 0, 0, {}, {}, 0, 48, 0, came={"anna": 8, "ben": 8, "cleo": 8})
    expected = {}
    for item in plan.items:
        for rater in plan.raters_of[item.id]:
            typed = {name: float(level) for name, level in levels(item.id, rater).items() if name != "notes"}
            reasons = {"empathy": f"why by {rater} Evidence: turns 1, 3.", "goal_alignment": "Evidence: turn 2."}
            for metric, reason in reasons.items():
                key = (item.transcript, "transcript", metric, f"human:{rater}")
                expected[key] = (typed[metric], None, reason, None)
    assert people(run) == expected


def test_agreement_is_that_of_what_was_typed(run: Run) -> None:
    from sklearn.metrics import cohen_kappa_score

    plan = rating_plan(run, raters=("anna", "ben"))
    keep(run, plan, levels)
    rows = agree(open_ratings_view(run.path), metrics=["empathy"])
    (among,) = (row for row in rows if row.kind == "people")
    typed = [[int(levels(item.id, rater)["empathy"]) for item in plan.items] for rater in plan.raters]
    expected = cohen_kappa_score(*typed, labels=[1, 2, 3, 4, 5], weights="quadratic")
    assert among.statistics["kappa"].estimate == pytest.approx(expected)
    assert among.units == 12


def test_twice_is_once_and_what_the_server_lost_is_kept(run: Run, plan: AnnotationPlan, tasks: Tasks) -> None:
    pulled(run, plan, tasks)
    before = files_of(run)
    kept = pulled(Run(run.path), plan, tasks)
    assert (kept.new, kept.revised, kept.unchanged, kept.ratings) == (0, 0, 24, 48)
    assert files_of(run) == before
    rated = people(run)
    kept = pulled(Run(run.path), plan, tasks[:2])
    assert (kept.submitted, kept.ratings) == (24, 48)
    assert pulled(Run(run.path), plan, []).ratings == 48
    assert people(run) == rated


def test_a_correction_is_a_revision_and_the_latest_counts(run: Run, plan: AnnotationPlan, tasks: Tasks) -> None:
    pulled(run, plan, tasks)
    given = tasks[0]["annotations"][0]
    item, rater = tasks[0]["data"]["external_id"], RATERS[given["completed_by"]]
    old = json.loads(json.dumps(tasks))
    given["result"][0]["value"]["choices"] = ["5"]
    given["updated_at"] = "2026-03-02T09:00:00.5Z"
    kept = pulled(Run(run.path), plan, tasks)
    assert (kept.new, kept.revised, kept.unchanged) == (0, 1, 23)
    key = (plan.by_id[item].transcript, "transcript", "empathy", f"human:{rater}")
    assert people(run)[key][0] == 5.0
    assert len(read_store(run, plan).revisions) == 25
    # A pull of an older export changes nothing: what it holds is known, and older.
    assert pulled(Run(run.path), plan, old).unchanged == 24
    assert people(run)[key][0] == 5.0


def test_skips_and_drafts_are_counted_and_give_no_score(run: Run, plan: AnnotationPlan, tasks: Tasks) -> None:
    tasks[0]["annotations"][0]["was_cancelled"] = True
    dropped = tasks[1]["annotations"].pop(0)
    tasks[1]["drafts"] = [{"user": dropped["completed_by"], "result": dropped["result"]}]
    tasks[2]["drafts"] = [{"user": tasks[2]["annotations"][0]["completed_by"], "result": []}]
    kept = pulled(run, plan, tasks)
    assert (kept.submitted, kept.skipped, kept.drafts, kept.missing) == (22, 1, 1, 2)
    errors = [error for *_, error in people(run).values() if error]
    assert errors == ["skipped by the rater"] * 2


def test_changes_by_others_are_flagged(run: Run, plan: AnnotationPlan, tasks: Tasks) -> None:
    first, second = (task["annotations"][0] for task in tasks[:2])
    by = first["completed_by"]
    first["updated_by"] = by % 3 + 1
    second |= {"updated_by": {"id": 99}, "completed_by": {"id": second["completed_by"]}}
    kept = pulled(run, plan, tasks)
    assert kept.changed_by == {RATERS[by % 3 + 1]: 1, "user 99": 1}
    # What they made of it is no word of the rater's.
    assert (kept.submitted, kept.ratings) == (22, 44)


def test_two_annotations_of_one_rater_are_one_answer(run: Run, plan: AnnotationPlan, tasks: Tasks) -> None:
    again = {**tasks[0]["annotations"][0], "unique_id": "again", "updated_at": "2026-03-05T00:00:00Z"}
    again["result"] = [{**again["result"][0], "value": {"choices": ["3"]}}]
    tasks[0]["annotations"].append(again)
    kept = pulled(run, plan, tasks)
    assert (kept.submitted, kept.ratings, kept.missing) == (24, 48, 1)
    answer = read_store(run, plan).answers()[tasks[0]["data"]["external_id"], RATERS[again["completed_by"]]]
    assert (answer.choices["empathy"], answer.id) == (("3",), "again")


def test_strangers_and_foreign_tasks_are_left_out_and_counted(plan: AnnotationPlan, tasks: Tasks) -> None:
    tasks[0]["annotations"][0]["completed_by"] = 77
    tasks.append({"id": 500, "data": {"external_id": "unknown"}, "annotations": []})
    tasks.append({"id": 501, "data": {}, "annotations": []})
    found = read_export(plan, tasks, RATERS, where="export")
    assert (len(found.answers), found.strangers, found.unplanned_tasks) == (23, {"77": 1}, 2)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("empathy", ["9"], r"task 0: there is no empathy choice '9'; its choices are 1, 2, 3, 4, 5"),
        ("empathy", ["1", "2"], r"task 0: empathy has 2 choices"),
        ("sympathy", ["1"], r"task 0: the plan does not ask for 'sympathy'"),
        ("remarks", ("text", "x"), r"task 0: the plan does not ask for 'remarks'"),
    ],
)
def test_what_the_page_cannot_have_given_names_the_task_and_nothing_is_kept(
    run: Run, plan: AnnotationPlan, field: str, value: Any, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        keep(run, plan, lambda item, rater: {**levels(item, rater), field: value})
    assert not plan_folder(run, plan).exists()
    assert not people(run)


@pytest.mark.parametrize(
    "task",
    [
        {"id": 1, "data": None},
        {"id": 1},
        {"data": {"external_id": "ITEM"}, "annotations": [3]},
        {"id": 1, "data": {"external_id": "ITEM"}, "annotations": [{"completed_by": 1, "result": "x"}]},
        {"id": 1, "data": {"external_id": "ITEM"}, "annotations": [{"completed_by": 1, "result": [
            {"from_name": "empathy", "type": "rating", "value": {"rating": 3}}]}]},
    ],
)  # fmt: skip
def test_what_is_no_export_is_refused_in_one_line(plan: AnnotationPlan, task: Any) -> None:
    text = json.dumps([task]).replace("ITEM", plan.items[0].id)
    with pytest.raises(InputError, match=r"export.*not the form of a Label Studio export"):
        read_export(plan, json.loads(text), RATERS, where="export")


def test_an_answer_without_a_field_is_missing_and_not_zero(run: Run, plan: AnnotationPlan) -> None:
    kept = keep(run, plan, lambda item, rater: {"empathy": "2"})
    assert (kept.ratings, kept.missing) == (48, 24)
    assert {row[3] for row in people(run, "goal_alignment").values()} == {"not answered"}


def test_the_training_set_gives_no_ratings(run: Run) -> None:
    name = run.index["id"][0]
    plan = rating_plan(run, training=(TrainingCase(name, {"empathy": "4", "goal_alignment": "4"}),))
    keep(run, plan, levels)
    assert len(plan.items) == 11
    assert name not in {key[0] for key in people(run)}


def test_sets_and_no_answer(run: Run) -> None:
    values = RUBRICS.load("values_detected")
    first, second = sorted(label.label for label in values.labels)[:2]
    level = replace(EMPATHY, not_applicable="Nothing was said.")
    plan = rating_plan(run, rubrics=(values, level), overlap=3)
    both = {"values_detected": [second, first], "reason__values_detected": ("text", "both")}
    said = {
        "anna": {**both, "empathy": "2"},
        "ben": {"values_detected": [NONE], "empathy": NOT_APPLICABLE},
        "cleo": {"values_detected": [NONE, first], "empathy": "1"},
    }
    keep(run, plan, lambda item, rater: said[rater])
    found = {key[2:]: row for key, row in people(run).items()}
    assert found["values_detected", "human:anna"] == (2.0, None, f"{first}, {second}: both", None)
    assert found["values_detected", "human:ben"] == (0.0, None, "none", None)
    assert found["values_detected", "human:cleo"][3] == "says 'none of these' and names 1"
    assert found["empathy", "human:ben"] == (None, None, None, "the rater says that no answer can be given")


def test_audit_keeps_apart_from_blind_ratings(run: Run) -> None:
    plan = rating_plan(run, mode="audit", rubrics=(EMPATHY,), raters=("anna", "ben"))
    shown = judge_scores(plan, run)
    judged = {item.id: int(shown[item.transcript, "transcript", "empathy"][0]) for item in plan.items}

    def say(item: str, rater: str) -> dict[str, Any]:
        if rater == "anna":
            return {"agree__empathy": "agree"}
        return {"agree__empathy": "disagree", "empathy": str(judged[item] % 5 + 1)}

    assert keep(run, plan, say).missing == 0
    found = people(run)
    for item in plan.items:
        opinions = (("anna", "agree", judged[item.id]), ("ben", "disagree", judged[item.id] % 5 + 1))
        for rater, opinion, level in opinions:
            key = (item.transcript, "transcript", "empathy.agrees", f"human:{rater}")
            assert found[key][1] == opinion
            assert found[(*key[:2], "empathy.audited", key[3])][0] == level
    assert not people(run, "empathy")
    rows = agree(open_ratings_view(run.path), metrics=["empathy.audited", "empathy.agrees"])
    (perfect,) = [row for row in rows if row.kind == "person" and row.raters[0] == "human:anna"]
    assert perfect.rater == JUDGE
    assert perfect.statistics["percent agreement"].estimate == 1.0
    (between,) = [row for row in rows if row.kind == "people" and row.metric == "empathy.agrees"]
    assert between.statistics["percent agreement"].estimate == 0.0


@pytest.mark.parametrize(
    ("opinion", "levels_apart", "metric", "error"),
    [
        ("agree", 1, "empathy.agrees", "says that the judge is right, and gives another answer"),
        ("disagree", None, "empathy.audited", "gives no answer beside the judge's"),
    ],
)
def test_an_audit_that_contradicts_itself_is_missing(
    run: Run, opinion: str, levels_apart: int | None, metric: str, error: str
) -> None:
    plan = rating_plan(run, mode="audit", rubrics=(EMPATHY,), raters=("anna",), overlap=1)
    shown = judge_scores(plan, run)

    def say(item: str, rater: str) -> dict[str, Any]:
        judge = int(shown[plan.by_id[item].transcript, "transcript", "empathy"][0])
        level = {} if levels_apart is None else {"empathy": str(judge % 5 + levels_apart)}
        return {"agree__empathy": opinion, **level}

    keep(run, plan, say)
    assert {row[3] for row in people(run, metric).values()} == {error}


def test_findings_are_counted_and_kept_as_a_judge_would(run: Run) -> None:
    plan = rating_plan(run, mode="findings", rubrics=(FINDINGS,), overlap=3)
    said: dict[str, dict[str, Any]] = {
        "anna": {
            "finding_extraction": "listed",
            "finding_extraction__1": ("text", " afraid of needles ", "", "sad"),
            "finding_extraction__3": ("text", "cost of the drug"),
        },
        "ben": {"finding_extraction": "nothing to list", "notes": ("text", "really")},
        "cleo": {"finding_extraction": "nothing to list", "finding_extraction__0": ("text", "x")},
    }
    kept = keep(run, plan, lambda item, rater: said[rater])
    assert (kept.ratings, kept.missing) == (12 * 3 * 5, 12 * 5)
    found = {key[2:]: row for key, row in people(run).items()}
    listed = [(FEAR, "afraid of needles"), (FEAR, "sad"), (COST, "cost of the drug")]
    assert json.loads(found["finding_extraction", "human:anna"][2]) == {
        "reason": "", "findings": [{"category": category, "text": text} for category, text in listed],
    }  # fmt: skip
    counts = ("", ".emotional_discomfort_or_fear", ".communication_barrier")
    assert [found[f"finding_extraction{name}", "human:anna"][0] for name in counts] == [3.0, 2.0, 0.0]
    assert found["finding_extraction", "human:ben"][0] == 0.0
    assert found["finding_extraction", "human:cleo"][3] == "says that there is nothing to list, and lists 1"
    rows = agree(open_ratings_view(run.path), metrics=["finding_extraction"])
    assert {row.metric for row in rows} >= {"finding_extraction", "finding_extraction.communication_barrier"}


def test_codes_are_of_turns(run: Run) -> None:
    plan = rating_plan(run, mode="codes", rubrics=(QUESTION, CLIENT_TALK), raters=("anna", "ben"))
    said = {"question__0": "open", "question__1": "none", "client_talk__1": "change"}
    kept = keep(run, plan, lambda item, rater: said)
    assert (kept.ratings, kept.missing) == (12 * 2 * 4, 12 * 2)
    name = plan.items[0].transcript
    rated = people(run).items()
    found = {key[1:3]: row[1:] for key, row in rated if key[0] == name and key[3] == "human:anna"}
    assert found == {
        ("turn:0", "question"): ("open", None, None),
        ("turn:2", "question"): ("none", None, None),
        ("turn:1", "client_talk"): (None, None, "not coded"),
        ("turn:3", "client_talk"): ("change", None, None),
    }
    rows = agree(open_ratings_view(run.path), metrics=["question"])
    assert rows[0].units == 24
    with pytest.raises(InputError, match="question__2 is past the 2 turns of the clinician"):
        keep(run, plan, lambda item, rater: {"question__2": "open"})


def test_the_manifest_says_what_the_ratings_came_from(run: Run, plan: AnnotationPlan, tasks: Tasks) -> None:
    pulled(run, plan, tasks[:3])
    pulled(Run(run.path), plan, tasks)
    (entry,) = Run(run.path).manifest["imports"]
    assert entry["rubrics"] == {planned.rubric.name: planned.version for planned in plan.rubrics}
    assert entry["scales"]["empathy"] == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert (entry["ratings"], entry["empty"]) == (48, 0)
    assert read_plan(plan_folder(run, plan) / "plan.json", run) == plan


def test_a_run_that_is_held_is_refused(run: Run, plan: AnnotationPlan) -> None:
    with Run(run.path).locked(), pytest.raises(RunError, match="another bedside process"):
        keep(run, plan, levels)


_PULL = """
import sys, orjson
from bedside.annotation.answer_store import keep_answers
from bedside.annotation.label_studio_export import read_export
from bedside.annotation.plan_file import read_plan
from bedside.ratings.run import Run
run = Run(sys.argv[1])
plan = read_plan(sys.argv[2], run)
tasks = orjson.loads(open(sys.argv[3], "rb").read())
answers = read_export(plan, tasks, {1: "anna", 2: "ben", 3: "cleo"}, where="export").answers
print("go", flush=True)
keep_answers(run, plan, answers)
"""


@pytest.mark.slow
def test_killed_at_any_moment_nothing_is_half_done(
    run: Run, plan: AnnotationPlan, tasks: Tasks, tmp_path: Path
) -> None:
    write_plan(plan, tmp_path / "plan.json")
    (tmp_path / "export.json").write_bytes(orjson.dumps(tasks))
    files = [str(path) for path in (run.path, tmp_path / "plan.json", tmp_path / "export.json")]
    call = [sys.executable, "-c", _PULL, *files]
    for delay in (0.0, 0.002, 0.005, 0.01, 0.02, 0.04):
        process = subprocess.Popen(call, stdout=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(delay)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()
        opened = Run(run.path)
        stored, rated = len(read_store(opened, plan).revisions), len(people(opened))
        assert stored in (0, 24)
        assert rated in (0, 48)
        assert stored or not rated
    assert pulled(Run(run.path), plan, tasks).ratings == 48
    assert len(read_store(run, plan).revisions) == 24


def test_a_failed_write_leaves_everything_as_it_was(
    run: Run, plan: AnnotationPlan, tasks: Tasks, monkeypatch: pytest.MonkeyPatch
) -> None:
    pulled(run, plan, tasks[:4])
    before = files_of(run)
    put = os.replace

    def full(source: Any, target: Any) -> None:
        if Path(target).name == STORE:
            raise OSError(28, "No space left on device")
        put(source, target)

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(RunError, match="No space left"):
        pulled(Run(run.path), plan, tasks)
    assert files_of(run) == before


def test_an_answer_says_what_it_is() -> None:
    answer = RaterAnswer("i", "anna", "submitted", texts={"notes": (" a ", "", "b")})
    assert answer.notes == "a\nb"


def test_a_rater_of_a_plan_is_the_person_who_rated_in_the_run_under_another_spelling(run: Run) -> None:
    """Before, ``ANNA`` of a sheet and ``anna`` of the plan drawn later were two raters, with κ between them."""
    names = sorted(run.index["id"])[:4]
    sheet = run.path.parent / "sheet.csv"
    rows = [f"{name},ANNA,{level}\n" for level, name in enumerate(names)]
    sheet.write_text("item,rater,warmth\n" + "".join(rows))
    import_ratings(Run(run.path), sheet)
    run = Run(run.path)
    plan = rating_plan(run, round="main")
    assert keep(run, plan, levels).spelt == {"anna": "ANNA"}
    found = people(run)
    assert {key[3] for key in found} == {"human:ANNA", "human:ben", "human:cleo"}
    for item in plan.items:
        for rater in plan.raters_of[item.id]:
            key = (item.transcript, "transcript", "empathy", f"human:{'ANNA' if rater == 'anna' else rater}")
            assert found[key][0] == float(levels(item.id, rater)["empathy"])
    # The same answers again change nothing, and how far raters are is counted under the plan's name.
    again = keep(Run(run.path), plan, levels)
    assert (again.new, again.revised, again.standing) == (0, 0, {})
    assert people(run) == found
    answers = read_store(run, plan).answers()
    assert plan_view(Run(run.path), plan, answers).ratings.filter(rated_by_humans()).height == 48
    # A plan that spells the name as a second one in the run is of that person.
    sheet.write_text(f"item,rater,warmth\n{names[0]},anna,3\n")
    import_ratings(Run(run.path), sheet, exact=True)
    assert plan_people(Run(run.path), plan)["anna"] == "human:anna"


def test_answers_in_a_sheet_and_on_the_page_are_one_persons(run: Run, plan: AnnotationPlan) -> None:
    """Whatever comes first."""
    item = next(item for item in plan.items if "anna" in plan.raters_of[item.id])
    sheet = run.path.parent / "sheet.csv"
    sheet.write_text(f"item,rater,empathy,goal_alignment\n{item.transcript},Anna,5,5\n")
    for step in range(2):
        import_ratings(Run(run.path), sheet)
        if step == 0:
            keep(Run(run.path), plan, levels)
        assert {key[3] for key in people(run)} == {"human:Anna", "human:ben", "human:cleo"}
