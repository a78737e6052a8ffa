"""What raters may see and do on the rating page, and that what they handed in comes into the run, without a network."""

from __future__ import annotations

import json
import shutil
import stat
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from bedside.annotation.adjudication import adjudicate
from bedside.annotation.answer_store import read_store, restore_answer
from bedside.annotation.plan_progress import plan_progress
from bedside.annotation.rating_page.page_collection import collect
from bedside.annotation.rating_page.page_database import EntryConflictError, PageDatabase
from bedside.annotation.rating_page.page_entries import read_entry
from bedside.annotation.rating_page.page_folder import rater_links
from bedside.annotation.rating_page.page_state import (
    ClosedItemError,
    IncompleteEntryError,
    NoSuchItemError,
    choice_keys,
)
from bedside.annotation.reassignment import as_assigned, reassign
from bedside.annotation.training_cases import read_training
from bedside.core.errors import InputError, RunError
from bedside.judges.rubrics.rubric_files import CODEBOOK, RUBRICS
from bedside.ratings.run import Run
from tests.annotation.rating_page.pages import opened, sent, written
from tests.annotation.study import EMPATHY, GOAL, JUDGE, SYSTEMS, rating_plan

RATED = {"empathy": "4", "goal_alignment": "2"}


def test_a_rater_sees_their_share_and_no_other(run: Run) -> None:
    plan = rating_plan(run, overlap=1)
    state, _ = opened(plan, run)
    for rater in plan.raters:
        share = state.share(rater)
        assert [item["item"] for item in share["items"]] == list(plan.assignment[rater])
    foreign = next(item for item in plan.assignment["ben"] if item not in plan.assignment["anna"])
    for unreachable in (foreign, "i00000000000", "../x"):
        with pytest.raises(NoSuchItemError):
            state.item("anna", unreachable)
        with pytest.raises(NoSuchItemError):
            state.save("anna", unreachable, sent(choices=RATED))


def test_nobody_sees_what_another_filled_in(run: Run) -> None:
    plan = rating_plan(run, overlap=3)
    state, _ = opened(plan, run)
    item = plan.items[0].id
    state.save("anna", item, sent(choices=RATED, texts={"notes": "mine alone"}))
    seen = json.dumps([state.item("ben", item), state.share("ben")])
    assert "mine alone" not in seen
    assert state.item("ben", item)["entry"]["choices"] == {}
    state.save("ben", item, sent("draft", choices={"empathy": "1"}))
    assert state.item("anna", item)["entry"]["choices"] == {"empathy": ("4",), "goal_alignment": ("2",)}


def test_nothing_that_is_sent_tells_systems_cases_or_files(run: Run) -> None:
    for options in ({}, {"mode": "audit", "judge": JUDGE}, {"mode": "pairs", "per": 2}):
        plan = rating_plan(run, raters=("anna",), overlap=1, **options)
        state, _ = opened(plan, run)
        seen = json.dumps([state.share("anna"), *(state.item("anna", item.id) for item in plan.items)])
        hidden = (*SYSTEMS, "secretfile", "hushcase", "bot", JUDGE, *(item.transcript for item in plan.items))
        assert [word for word in hidden if word in seen] == []


def test_what_is_handed_in_comes_into_the_run_with_revisions_and_skips(run: Run) -> None:
    plan = rating_plan(run, raters=("anna", "ben"), overlap=2)
    state, folder = opened(plan, run)
    first, second, third = (item.id for item in plan.items[:3])
    texts = {"notes": "as a whole", "reason__empathy": "why", "evidence__empathy": ["3", "1: Hard"]}
    state.save("anna", first, sent(choices=RATED, texts=texts))
    state.save("anna", first, sent(version=1, choices={**RATED, "empathy": "5"}, texts=texts))
    state.save("anna", second, sent("skipped", texts={"notes": "no English"}))
    state.save("ben", third, sent("draft", choices={"empathy": "1"}))
    kept = collect(folder, run, plan)
    assert (kept.new, kept.revised, kept.submitted, kept.skipped, kept.drafts) == (2, 1, 1, 1, 1)
    again = collect(folder, Run(run.path), plan)
    assert (again.new, again.revised, again.unchanged) == (0, 0, 3)
    history = read_store(run, plan)
    assert [revision.answer.choices.get("empathy") for revision in history.revisions] == [
        ("4",),
        ("5",),
        None,
    ]
    answer = history.answers()[first, "anna"]
    assert answer.texts["evidence__empathy"] == ("1: Hard", "3")
    assert answer.seconds == 12.0
    rows = Run(run.path).ratings.filter(pl.col("rater") == "human:anna")
    by_item = {item.id: item.transcript for item in plan.items}
    values = {
        (name, metric): (value, error)
        for name, metric, value, error in rows.select("transcript_id", "metric", "value", "error").iter_rows()
    }
    assert values == {
        (by_item[first], "empathy"): (5.0, None),
        (by_item[first], "goal_alignment"): (2.0, None),
        (by_item[second], "empathy"): (None, "skipped by the rater"),
        (by_item[second], "goal_alignment"): (None, "skipped by the rater"),
    }


def test_a_restored_answer_counts_until_its_rater_says_something_else(run: Run) -> None:
    plan = rating_plan(run, raters=("anna",), overlap=1)
    state, folder = opened(plan, run)
    item = plan.items[0].id
    for version, level in enumerate("45"):
        state.save("anna", item, sent(version=version, choices={**RATED, "empathy": level}))
    collect(folder, run, plan)
    restore_answer(run, plan, 0)
    collect(folder, run, plan)
    assert read_store(run, plan).answers()[item, "anna"].choices["empathy"] == ("4",)
    state.save("anna", item, sent(version=2, choices={**RATED, "empathy": "3"}))
    collect(folder, run, plan)
    assert read_store(run, plan).answers()[item, "anna"].choices["empathy"] == ("3",)


def test_answers_wait_while_the_run_is_held_and_where_it_was_put_back(run: Run, tmp_path: Path) -> None:
    plan = rating_plan(run, raters=("anna",), overlap=1)
    state, folder = opened(plan, run)
    state.save("anna", plan.items[0].id, sent(choices=RATED))
    shutil.copytree(run.path, tmp_path / "older")
    with run.locked(), pytest.raises(RunError, match="another bedside process"):
        collect(folder, Run(run.path), plan)
    assert collect(folder, Run(run.path), plan).new == 1
    # A copy of the run from before gets everything again.
    assert collect(folder, Run(tmp_path / "older"), plan).new == 1


def test_an_answer_that_lacks_something_is_not_handed_in(run: Run) -> None:
    plan = rating_plan(run, raters=("anna",), overlap=1)
    state, folder = opened(plan, run)
    item = plan.items[0].id
    with pytest.raises(IncompleteEntryError) as refused:
        state.save("anna", item, sent(choices={"empathy": "4"}))
    assert refused.value.wanting == {"goal_alignment": "Please answer: Goal alignment."}
    for choices, texts in (
        ({"empathy": "9", "goal_alignment": "1"}, {}),
        ({"made_up": "1"}, {}),
        ({"empathy": ["1", "2"], "goal_alignment": "1"}, {}),
        (RATED, {"made_up": "x"}),
        (RATED, {"evidence__empathy": "99"}),
        (RATED, {"evidence__empathy": "here"}),
    ):
        with pytest.raises(InputError):
            state.save("anna", item, sent(choices=choices, texts=texts))
        with pytest.raises(InputError):
            state.save("anna", item, sent("draft", choices=choices, texts=texts))
    assert state.database.entry(item, "anna").version == 0
    assert collect(folder, run, plan).submitted == 0


@pytest.mark.parametrize(
    "change",
    [
        {"state": "approved"}, {"version": -1}, {"version": "0"}, {"seconds": -1}, {"seconds": 1e300}, {"mark": "x"},
        {"choices": []}, {"choices": {"empathy": "4"}}, {"choices": {"a": ["b" * 400]}},
        {"texts": {"notes": ["x" * 20_001]}},
        {"texts": {"notes": ["x"] * 501}}, {"rater": "ben"}, {"texts": {"notes": [None]}},
    ],
)  # fmt: skip
def test_what_no_page_sends_is_refused(change: dict[str, Any]) -> None:
    good = {
        "state": "draft", "version": 0, "mark": "a" * 32, "seconds": 1.5, "choices": {"empathy": ["4"]}, "texts": {},
    }  # fmt: skip
    read_entry(json.dumps(good).encode())
    for body in (json.dumps({**good, **change}).encode(), b"", b"[]", b"\xff", b"{"):
        with pytest.raises(InputError, match="can't be kept"):
            read_entry(body)


def test_in_an_audit_they_agree_who_choose_as_the_judge(run: Run) -> None:
    plan = rating_plan(run, mode="audit", judge=JUDGE, rubrics=(EMPATHY,), raters=("anna",), overlap=1)
    state, folder = opened(plan, run)
    shown = {}
    for place, item in enumerate(plan.items):
        judge = int(state.item("anna", item.id)["task"]["judge_empathy"])
        shown[item.transcript] = (judge, own := judge if place % 2 else judge % 5 + 1)
        # What a browser says of agreeing doesn't count: the choice does.
        state.save("anna", item.id, sent(choices={"empathy": str(own), "agree__empathy": "agree"}))
    collect(folder, run, plan)
    rows = Run(run.path).ratings.filter(pl.col("rater") == "human:anna")
    said: dict[str, dict[str, Any]] = {}
    for name, metric, value, label in rows.select("transcript_id", "metric", "value", "label").iter_rows():
        said.setdefault(name, {})[metric] = label or value
    assert said == {
        name: {"empathy.agrees": "agree" if judge == own else "disagree", "empathy.audited": float(own)}
        for name, (judge, own) in shown.items()
    }


def test_findings_are_listed_or_there_is_nothing(run: Run) -> None:
    rubric = RUBRICS.load("finding_extraction")
    plan = rating_plan(run, mode="findings", rubrics=(rubric,), raters=("anna",), overlap=1)
    state, folder = opened(plan, run)
    first, second = plan.items[0].id, plan.items[1].id
    name = rubric.name
    for choices, texts in (
        ({}, {f"{name}__0": "x"}), ({name: "listed"}, {}), ({name: "listed"}, {f"{name}__0": ["  "]}),
        ({name: "nothing to list"}, {f"{name}__0": "x"}),
    ):  # fmt: skip
        with pytest.raises(IncompleteEntryError):
            state.save("anna", first, sent(choices=choices, texts=texts))
    state.save(
        "anna",
        first,
        sent(choices={name: "listed"}, texts={f"{name}__0": ["afraid of <b>needles</b>", "头痛"]}),
    )
    state.save("anna", second, sent(choices={name: "nothing to list"}))
    collect(folder, run, plan)
    rows = Run(run.path).ratings.filter(pl.col("rater") == "human:anna", pl.col("metric") == name)
    shown = {item.transcript: item.id for item in plan.items}
    counts = {shown[unit]: value for unit, value in rows.select("transcript_id", "value").iter_rows()}
    assert counts == {first: 2.0, second: 0.0}


def test_every_turn_is_coded(run: Run) -> None:
    codes = (CODEBOOK.load("question"), CODEBOOK.load("client_talk"))
    plan = rating_plan(run, mode="codes", rubrics=codes, raters=("anna",), overlap=1)
    state, folder = opened(plan, run)
    item = plan.items[0]
    given = {"question__0": "open", "question__1": "none", "client_talk__0": "neutral"}
    with pytest.raises(IncompleteEntryError) as refused:
        state.save("anna", item.id, sent(choices=given))
    assert refused.value.wanting == {"client_talk__1": "Please code turn 3: Client talk."}
    with pytest.raises(InputError, match="past the 2 turns"):
        state.save("anna", item.id, sent(choices={**given, "client_talk__2": "neutral"}))
    state.save("anna", item.id, sent(choices={**given, "client_talk__1": "change"}))
    collect(folder, run, plan)
    rows = Run(run.path).ratings.filter(pl.col("rater") == "human:anna")
    assert set(rows.select("unit", "metric", "label").iter_rows()) == {
        ("turn:0", "question", "open"), ("turn:2", "question", "none"),
        ("turn:1", "client_talk", "neutral"), ("turn:3", "client_talk", "change"),
    }  # fmt: skip


def test_pairs_are_compared(run: Run) -> None:
    plan = rating_plan(run, mode="pairs", raters=("anna",), per=2, overlap=1)
    state, folder = opened(plan, run)
    for item in plan.items:
        task = state.item("anna", item.id)["task"]
        assert task["dialogue"]
        assert task["dialogue_second"]
        state.save("anna", item.id, sent(choices={"empathy": "first", "goal_alignment": "tie"}))
    collect(folder, run, plan)
    rows = Run(run.path).ratings.filter(pl.col("rater") == "human:anna")
    assert sorted(rows["label"]) == ["first", "first", "tie", "tie"]


@pytest.fixture
def training(tmp_path: Path) -> Path:
    turns = [
        {"role": "clinician", "speaker": "c", "text": "Hello", "meta": {}},
        {"role": "patient", "speaker": "p", "text": "I am sad", "meta": {}},
    ]
    reference = {"goal": "x", "answers": {"empathy": 2, "goal_alignment": 3}}
    case = {"id": "t1", "turns": turns, "language": "en", "reference": reference}
    path = tmp_path / "training.jsonl"
    path.write_text(json.dumps(case) + "\n")
    return path


def test_known_answers_are_shown_after_a_training_answer_which_then_stays(run: Run, training: Path) -> None:
    cases = read_training(training, "rate", (EMPATHY, GOAL))
    plan = rating_plan(run, raters=("anna",), overlap=1, training=cases)
    state, folder = opened(plan, run)
    item = plan.training[0].id
    assert state.item("anna", item)["feedback"] is None
    assert state.save("anna", item, sent("draft", choices={"empathy": "2"}))["feedback"] is None
    attempt = sent(version=1, choices={"empathy": "2", "goal_alignment": "5"})
    reply = state.save("anna", item, attempt)
    assert reply["feedback"] == [
        {"title": "Empathy", "right": True, "known": "2", "own": "2"},
        {"title": "Goal alignment", "right": False, "known": "3", "own": "5"},
    ]
    # The same attempt again, whose reply was lost, is no change; any other is.
    assert state.save("anna", item, attempt)["version"] == reply["version"]
    for changed in (sent("draft", version=2), sent(version=2, choices=RATED)):
        with pytest.raises(EntryConflictError, match="stays as it was"):
            state.save("anna", item, changed)
    collect(folder, run, plan)
    (score,) = plan_progress(run, plan).training
    assert (score.answers, score.right) == (2, 1.0)


def test_items_are_closed_until_the_training_is_passed(run: Run, training: Path) -> None:
    first = json.loads(training.read_text())
    second = {**first, "id": "t2", "reference": {"goal": "y", "answers": {"empathy": 5, "goal_alignment": 1}}}
    training.write_text("\n".join(map(json.dumps, (first, second))) + "\n")
    cases = read_training(training, "rate", (EMPATHY, GOAL))
    plan = rating_plan(run, raters=("anna", "ben"), overlap=2, training=cases, training_kappa=0.6)
    state, _ = opened(plan, run)
    known = {item.id: {name: str(level) for name, level in item.answers.items()} for item in plan.training}
    item = plan.items[0].id
    with pytest.raises(InputError, match="can't be skipped"):
        state.save("anna", plan.training[0].id, sent("skipped"))
    for rater, answers in (("anna", known), ("ben", dict.fromkeys(known, RATED))):
        for training_item in plan.training:
            with pytest.raises(ClosedItemError, match="until you have passed"):
                state.item(rater, item)
            with pytest.raises(ClosedItemError, match="until you have passed"):
                state.save(rater, item, sent(choices=RATED))
            state.save(rater, training_item.id, sent(choices=answers[training_item.id]))
    assert state.share("anna")["training"] == {"done": True, "passed": True, "kappa": 1.0, "wanted": 0.6}
    assert state.save("anna", item, sent(choices=RATED))["handed_in"] == "submitted"
    result = state.share("ben")["training"]
    assert (result["done"], result["passed"]) == (True, False)
    assert [entry["closed"] for entry in state.share("ben")["items"]] == [False, False] + [True] * 12
    with pytest.raises(ClosedItemError):
        state.item("ben", item)


def test_disagreements_are_settled_blind(run: Run) -> None:
    plan = rating_plan(run, raters=("anna", "ben"), overlap=2)
    state, folder = opened(plan, run)
    for place, item in enumerate(plan.items):
        for rater, level in (("anna", "2"), ("ben", "4" if place < 3 else "2")):
            choices = {"empathy": level, "goal_alignment": "3"}
            state.save(rater, item.id, sent(choices=choices, texts={"reason__empathy": f"{level} it is"}))
    collect(folder, run, plan)
    settling = adjudicate(Run(run.path), plan, ["dora"]).plan
    state, folder = opened(settling, run)
    assert len(settling.items) == 3
    for item in settling.items:
        shown = state.item("dora", item.id)
        assert "anna" not in json.dumps(shown)
        assert sorted(opinion["answer"] for opinion in shown["opinions"]["empathy"]) == ["2", "4"]
        assert {opinion["reason"] for opinion in shown["opinions"]["empathy"]} == {"2 it is", "4 it is"}
        with pytest.raises(IncompleteEntryError):
            state.save("dora", item.id, sent())
        state.save("dora", item.id, sent(choices={"empathy": "3"}))
    collect(folder, Run(run.path), settling)
    rows = Run(run.path).ratings.filter(pl.col("rater") == "human:dora", pl.col("value").is_not_null())
    assert rows.select("metric", "value").rows() == [("empathy.adjudicated", 3.0)] * 3


def test_a_lost_reply_is_no_conflict_and_a_second_window_is(run: Run) -> None:
    plan = rating_plan(run, raters=("anna",), overlap=1)
    state, _ = opened(plan, run)
    item = plan.items[0].id
    attempt = sent("draft", choices={"empathy": "2"})
    assert state.save("anna", item, attempt)["version"] == 1
    assert state.save("anna", item, attempt)["version"] == 1
    with pytest.raises(EntryConflictError, match="another window"):
        state.save("anna", item, sent("draft", choices={"empathy": "3"}))
    assert state.item("anna", item)["entry"]["choices"] == {"empathy": ("2",)}
    assert state.save("anna", item, sent("draft", version=1, choices={"empathy": "3"}))["version"] == 2


def test_who_takes_over_is_seen_while_the_page_is_served(run: Run, tmp_path: Path) -> None:
    plan = written(rating_plan(run, raters=("anna", "ben"), overlap=1), tmp_path / "plan.json")
    state, folder = opened(plan, run)
    item = plan.assignment["ben"][0]
    secret = folder.secrets(plan.raters)["ben"]
    assert state.rater_of(secret) == "ben"
    reassign(run, plan, "ben", ["dora"])
    with pytest.raises(NoSuchItemError):
        state.item("ben", item)
    secrets = folder.secrets(as_assigned(run, plan).raters)
    assert secrets["ben"] == secret
    assert state.rater_of(secrets["dora"]) == "dora"
    assert state.item("dora", item)["task"]["external_id"] == item


def test_secrets_are_their_raters_and_no_part_of_the_run(run: Run) -> None:
    plan = rating_plan(run)
    state, folder = opened(plan, run)
    secrets = folder.secrets(plan.raters)
    assert folder.secrets(plan.raters) == secrets
    assert len(set(secrets.values())) == 3
    assert all(len(secret) >= 32 for secret in secrets.values())
    assert [state.rater_of(secret) for secret in secrets.values()] == list(plan.raters)
    for wrong in ("", "anna", secrets["anna"][:-1], secrets["anna"].swapcase(), f"{secrets['anna']}x"):
        assert state.rater_of(wrong) is None
    state.save("anna", plan.assignment["anna"][0], sent(choices=RATED))
    collect(folder, run, plan)
    for path in (*Path(run.path).rglob("*"), *folder.path.glob("answers.sqlite*")):
        content = path.read_bytes() if path.is_file() else b""
        assert not [rater for rater, secret in secrets.items() if secret.encode() in content]
    for path in (folder.links_file, *folder.path.glob("answers.sqlite*")):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700
    links = rater_links("http://127.0.0.1:1", secrets)
    assert links["anna"] == f"http://127.0.0.1:1/#{secrets['anna']}"


def test_a_damaged_file_of_links_is_named(run: Run) -> None:
    plan = rating_plan(run)
    _, folder = opened(plan, run)
    for content in ("", "{}", '{"raters": {"anna": ""}}', '{"raters": {"anna": 3}}'):
        folder.links_file.write_text(content)
        with pytest.raises(RunError, match="file of links is damaged"):
            folder.secrets(plan.raters)


def test_the_page_is_served_once(run: Run) -> None:
    plan = rating_plan(run)
    _, folder = opened(plan, run)
    folder.remember_address("http://127.0.0.1:8086")
    with (
        folder.serving(),
        pytest.raises(InputError, match="another server has this plan's rating page, at http"),
        folder.serving(),
    ):
        pass
    with folder.serving():
        pass


def test_keys_are_the_figures_where_choices_are() -> None:
    assert choice_keys(["0", "1", "2", "no answer can be given"]) == ["0", "1", "2", "x"]
    assert choice_keys(["open", "closed"]) == ["1", "2"]
    assert choice_keys(["0.5", "1", "1.5"]) == ["1", "2", "3"]
    many = choice_keys([f"label {number}" for number in range(40)])
    named = [key for key in many if key]
    assert len(set(named)) == len(named)
    assert not {"j", "k", "n"} & set(named)


def test_another_plans_database_is_refused(run: Run, tmp_path: Path) -> None:
    PageDatabase(tmp_path / "a.sqlite", rating_plan(run, seed=1)).close()
    with pytest.raises(InputError, match="of another plan"):
        PageDatabase(tmp_path / "a.sqlite", rating_plan(run, seed=2))
    (tmp_path / "b.sqlite").write_bytes(b"no database" * 100)
    with pytest.raises(RunError, match="can't be used"):
        PageDatabase(tmp_path / "b.sqlite", rating_plan(run))


def test_a_clock_set_back_leaves_the_last_answer_the_last(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from datetime import UTC, datetime, timedelta

    from bedside.annotation.rating_page import page_database

    class Clock(datetime):
        behind = timedelta()

        @classmethod
        def now(cls, tz: Any = None) -> datetime:
            return datetime.now(UTC) - cls.behind

    monkeypatch.setattr(page_database, "datetime", Clock)
    plan = rating_plan(run, raters=("anna",), overlap=1)
    state, folder = opened(plan, run)
    item = plan.items[0].id
    state.save("anna", item, sent(choices=RATED))
    Clock.behind = timedelta(days=400)
    state.save("anna", item, sent(version=1, choices={**RATED, "empathy": "1"}))
    collect(folder, run, plan)
    assert read_store(run, plan).answers()[item, "anna"].choices["empathy"] == ("1",)
    before, after = (answer.updated for answer in state.database.answers())
    assert before < after
