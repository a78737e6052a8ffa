"""What raters may see and do on the rating page, and that what they hand in comes into the run, without a network."""

from __future__ import annotations

import json
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from bedside.annotation.adjudication import adjudicate
from bedside.annotation.annotation_plan import AnnotationPlan
from bedside.annotation.answer_store import read_store, restore_answer
from bedside.annotation.fields import LISTED, NOTHING
from bedside.annotation.plan_file import read_plan, write_plan
from bedside.annotation.plan_progress import plan_progress
from bedside.annotation.rating_page import page_database
from bedside.annotation.rating_page.page_collection import collect
from bedside.annotation.rating_page.page_database import EntryConflictError, PageDatabase, read_entry
from bedside.annotation.rating_page.page_folder import PageFolder
from bedside.annotation.rating_page.page_state import (
    ClosedItemError,
    IncompleteEntryError,
    NoSuchItemError,
    PageState,
    choice_keys,
)
from bedside.annotation.reassignment import as_assigned, reassign
from bedside.annotation.training_cases import read_training
from bedside.core.errors import InputError, RunError
from bedside.ratings.run import Run
from tests.annotation.builders import (
    CLIENT_TALK,
    FINDINGS,
    MODES,
    QUESTION,
    copy_of,
    human,
    people,
    pulled,
    said_in,
)  # fmt: skip
from tests.annotation.rating_page.pages import opened, sent
from tests.annotation.study import EMPATHY, GOAL, JUDGE, SYSTEMS, USERS, exported, rating_plan

RATED = {"empathy": "4", "goal_alignment": "2"}
LIST = FINDINGS.name


def annas(run: Run, **options: Any) -> tuple[AnnotationPlan, PageState, PageFolder]:
    """The page of a plan that anna rates alone."""
    plan = rating_plan(run, **{"raters": ("anna",), "overlap": 1, **options})
    return plan, *opened(plan, run)


def test_a_rater_sees_their_share_and_no_other(run: Run) -> None:
    plan = rating_plan(run, overlap=1)
    state, _ = opened(plan, run)
    for rater in plan.raters:
        assert [item["item"] for item in state.share(rater)["items"]] == list(plan.assignment[rater])
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
    assert "mine alone" not in json.dumps([state.item("ben", item), state.share("ben")])
    assert state.item("ben", item)["entry"]["choices"] == {}
    state.save("ben", item, sent("draft", {"empathy": "1"}))
    assert state.item("anna", item)["entry"]["choices"] == {"empathy": ("4",), "goal_alignment": ("2",)}


@pytest.mark.parametrize("options", [{}, {"mode": "audit", "judge": JUDGE}, {"mode": "pairs", "per": 2}])
def test_nothing_that_is_sent_tells_systems_cases_or_files(run: Run, options: dict[str, Any]) -> None:
    plan, state, _ = annas(run, **options)
    seen = json.dumps([state.share("anna"), *(state.item("anna", item.id) for item in plan.items)])
    hidden = (*SYSTEMS, "secretfile", "hushcase", "bot", JUDGE, *(item.transcript for item in plan.items))
    assert [word for word in hidden if word in seen] == []


def test_what_is_handed_in_comes_into_the_run_with_revisions_and_skips(run: Run) -> None:
    plan, state, folder = annas(run, raters=("anna", "ben"), overlap=2)
    first, second, third = (item.id for item in plan.items[:3])
    texts = {"notes": "as a whole", "reason__empathy": "why", "evidence__empathy": ["3", "1: Hard"]}
    state.save("anna", first, sent(choices=RATED, texts=texts))
    state.save("anna", first, sent(choices={**RATED, "empathy": "5"}, texts=texts, version=1))
    state.save("anna", second, sent("skipped", texts={"notes": "no English"}))
    state.save("ben", third, sent("draft", {"empathy": "1"}))
    kept = collect(folder, run, plan)
    assert (kept.new, kept.revised, kept.submitted, kept.skipped, kept.drafts) == (2, 1, 1, 1, 1)
    again = collect(folder, Run(run.path), plan)
    assert (again.new, again.revised, again.unchanged) == (0, 0, 3)
    history = read_store(run, plan)
    levels = [revision.answer.choices.get("empathy") for revision in history.revisions]
    assert levels == [("4",), ("5",), None]
    answer = history.answers()[first, "anna"]
    assert (answer.texts["evidence__empathy"], answer.seconds) == (("1: Hard", "3"), 12.0)
    shown = {item.id: item.transcript for item in plan.items}
    skipped = (None, "skipped by the rater")
    assert set(people(run).select("transcript_id", "metric", "value", "error", "rater").iter_rows()) == {
        (shown[first], "empathy", 5.0, None, "human:anna"),
        (shown[first], "goal_alignment", 2.0, None, "human:anna"),
        (shown[second], "empathy", *skipped, "human:anna"),
        (shown[second], "goal_alignment", *skipped, "human:anna"),
    }


def test_a_restored_answer_counts_until_its_rater_says_something_else(run: Run) -> None:
    plan, state, folder = annas(run)
    item = plan.items[0].id

    def counts(level: str) -> None:
        collect(folder, run, plan)
        assert read_store(run, plan).answers()[item, "anna"].choices["empathy"] == (level,)

    for version, level in enumerate("45"):
        state.save("anna", item, sent(choices={**RATED, "empathy": level}, version=version))
    counts("5")
    restore_answer(run, plan, 0)
    counts("4")
    state.save("anna", item, sent(choices={**RATED, "empathy": "3"}, version=2))
    counts("3")


def test_answers_wait_while_the_run_is_held_and_where_it_was_put_back(run: Run, tmp_path: Path) -> None:
    plan, state, folder = annas(run)
    state.save("anna", plan.items[0].id, sent(choices=RATED))
    older = copy_of(run, tmp_path / "older")
    with run.locked(), pytest.raises(RunError, match="another bedside process"):
        collect(folder, Run(run.path), plan)
    assert collect(folder, Run(run.path), plan).new == 1
    # A copy of the run from before gets everything again.
    assert collect(folder, older, plan).new == 1


@pytest.mark.parametrize(
    ("choices", "texts"),
    [
        ({"empathy": "9", "goal_alignment": "1"}, {}), ({"made_up": "1"}, {}),
        ({"empathy": ["1", "2"], "goal_alignment": "1"}, {}), (RATED, {"made_up": "x"}),
        (RATED, {"evidence__empathy": "99"}), (RATED, {"evidence__empathy": "here"}),
    ],
)  # fmt: skip
def test_what_the_plan_does_not_ask_is_refused(run: Run, choices: dict[str, Any], texts: dict[str, Any]) -> None:
    plan, state, folder = annas(run)
    item = plan.items[0].id
    for how in ("submitted", "draft"):
        with pytest.raises(InputError):
            state.save("anna", item, sent(how, choices, texts))
    assert state.database.entry(item, "anna").version == 0
    assert collect(folder, run, plan).submitted == 0


@pytest.mark.parametrize(
    ("options", "choices", "texts", "wanting"),
    [
        ({}, {"empathy": "4"}, {}, {"goal_alignment": "Please answer: Goal alignment."}),
        (
            {"mode": "codes", "rubrics": (QUESTION, CLIENT_TALK)},
            {"question__0": "open", "question__1": "none", "client_talk__0": "neutral"}, {},
            {"client_talk__1": "Please code turn 3: Client talk."},
        ),
        ({"mode": "findings", "rubrics": (FINDINGS,)}, {}, {f"{LIST}__0": "x"}, None),
        ({"mode": "findings", "rubrics": (FINDINGS,)}, {LIST: LISTED}, {}, None),
        ({"mode": "findings", "rubrics": (FINDINGS,)}, {LIST: LISTED}, {f"{LIST}__0": ["  "]}, None),
        ({"mode": "findings", "rubrics": (FINDINGS,)}, {LIST: NOTHING}, {f"{LIST}__0": "x"}, None),
    ],
)  # fmt: skip
def test_an_answer_that_lacks_something_is_not_handed_in(
    run: Run, options: dict[str, Any], choices: Any, texts: Any, wanting: dict[str, str] | None
) -> None:
    plan, state, folder = annas(run, **options)
    item = plan.items[0].id
    with pytest.raises(IncompleteEntryError) as refused:
        state.save("anna", item, sent(choices=choices, texts=texts))
    assert wanting is None or refused.value.wanting == wanting
    assert state.database.entry(item, "anna").version == 0
    assert collect(folder, run, plan).submitted == 0
    if plan.mode == "codes":
        with pytest.raises(InputError, match="past the 2 turns"):
            state.save("anna", item, sent(choices={**choices, "client_talk__2": "neutral"}))


@pytest.mark.parametrize(
    "change",
    [
        {"state": "approved"}, {"version": -1}, {"version": "0"}, {"seconds": -1}, {"seconds": 1e300}, {"mark": "x"},
        {"choices": []}, {"choices": {"empathy": "4"}}, {"choices": {"a": ["b" * 400]}}, {"rater": "ben"},
        {"texts": {"notes": ["x" * 20_001]}}, {"texts": {"notes": ["x"] * 501}}, {"texts": {"notes": [None]}},
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
    plan, state, folder = annas(run, mode="audit", judge=JUDGE, rubrics=(EMPATHY,))
    expected: set[tuple[Any, ...]] = set()
    for place, item in enumerate(plan.items):
        judge = int(state.item("anna", item.id)["task"]["judge_empathy"])
        own = judge if place % 2 else judge % 5 + 1
        # What a browser says of agreeing doesn't count: the choice does.
        state.save("anna", item.id, sent(choices={"empathy": str(own), "agree__empathy": "agree"}))
        expected.add((item.transcript, "empathy.agrees", None, "agree" if judge == own else "disagree"))
        expected.add((item.transcript, "empathy.audited", float(own), None))
    collect(folder, run, plan)
    assert set(people(run).select("transcript_id", "metric", "value", "label").iter_rows()) == expected


@pytest.mark.parametrize("mode", MODES)
def test_the_same_words_give_the_same_ratings_as_in_label_studio(run: Run, mode: str, tmp_path: Path) -> None:
    plan = rating_plan(run, mode=mode, **MODES[mode])
    other = copy_of(run, tmp_path / "other")
    state, folder = opened(plan, run)
    for rater, order in plan.assignment.items():
        for item in order:
            task = state.item(rater, item)["task"]
            assert task["dialogue"]
            assert mode != "pairs" or task["dialogue_second"]
            _, choices, texts = said_in(mode, item, rater)
            state.save(rater, item, sent(choices=choices, texts=texts))
    collect(folder, run, plan)
    pulled(other, plan, exported(plan, lambda item, rater: said_in(mode, item, rater)[0], USERS, other))
    assert human(run)
    assert human(run) == human(other)


@pytest.fixture
def training(tmp_path: Path) -> Path:
    turns = [
        {"role": "clinician", "speaker": "c", "text": "Hello", "meta": {}},
        {"role": "patient", "speaker": "p", "text": "I am sad", "meta": {}},
    ]
    case = {"id": "t1", "turns": turns, "language": "en"}
    answers = ({"empathy": 2, "goal_alignment": 3}, {"empathy": 5, "goal_alignment": 1})
    cases = [
        {**case, "id": f"t{number}", "reference": {"goal": f"{number}", "answers": known}}
        for number, known in enumerate(answers)
    ]
    path = tmp_path / "training.jsonl"
    path.write_text("\n".join(map(json.dumps, cases)) + "\n")
    return path


def test_known_answers_are_shown_after_a_training_answer_which_then_stays(run: Run, training: Path) -> None:
    cases = read_training(training, "rate", (EMPATHY, GOAL))[:1]
    plan, state, folder = annas(run, training=cases)
    item = plan.training[0].id
    assert state.item("anna", item)["feedback"] is None
    assert state.save("anna", item, sent("draft", {"empathy": "2"}))["feedback"] is None
    attempt = sent(choices={"empathy": "2", "goal_alignment": "5"}, version=1)
    reply = state.save("anna", item, attempt)
    assert reply["feedback"] == [
        {"title": "Empathy", "right": True, "known": "2", "own": "2"},
        {"title": "Goal alignment", "right": False, "known": "3", "own": "5"},
    ]
    # The same attempt again, whose reply was lost, is no change; any other is.
    assert state.save("anna", item, attempt)["version"] == reply["version"]
    for changed in (sent("draft", version=2), sent(choices=RATED, version=2)):
        with pytest.raises(EntryConflictError, match="stays as it was"):
            state.save("anna", item, changed)
    collect(folder, run, plan)
    (score,) = plan_progress(run, plan).training
    assert (score.answers, score.right) == (2, 1.0)


def test_items_are_closed_until_the_training_is_passed(run: Run, training: Path) -> None:
    cases = read_training(training, "rate", (EMPATHY, GOAL))
    plan, state, _ = annas(run, raters=("anna", "ben"), overlap=2, training=cases, training_kappa=0.6)
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
    plan, state, folder = annas(run, raters=("anna", "ben"), overlap=2)
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
        opinions = {(opinion["answer"], opinion["reason"]) for opinion in shown["opinions"]["empathy"]}
        assert opinions == {("2", "2 it is"), ("4", "4 it is")}
        with pytest.raises(IncompleteEntryError):
            state.save("dora", item.id, sent())
        state.save("dora", item.id, sent(choices={"empathy": "3"}))
    collect(folder, Run(run.path), settling)
    rows = people(run).filter(pl.col("rater") == "human:dora", pl.col("value").is_not_null())
    assert rows.select("metric", "value").rows() == [("empathy.adjudicated", 3.0)] * 3


def test_a_lost_reply_is_no_conflict_and_a_second_window_is(run: Run) -> None:
    plan, state, _ = annas(run)
    item = plan.items[0].id
    attempt = sent("draft", {"empathy": "2"})
    assert state.save("anna", item, attempt)["version"] == 1
    assert state.save("anna", item, attempt)["version"] == 1
    with pytest.raises(EntryConflictError, match="another window"):
        state.save("anna", item, sent("draft", {"empathy": "3"}))
    assert state.item("anna", item)["entry"]["choices"] == {"empathy": ("2",)}
    assert state.save("anna", item, sent("draft", {"empathy": "3"}, version=1))["version"] == 2


def test_who_takes_over_is_seen_while_the_page_is_served(run: Run, tmp_path: Path) -> None:
    write_plan(rating_plan(run, raters=("anna", "ben"), overlap=1), tmp_path / "plan.json")
    plan = read_plan(tmp_path / "plan.json")
    state, folder = opened(plan, run)
    item = plan.assignment["ben"][0]
    secret = folder.links.secrets(plan.raters)["ben"]
    assert state.rater_of(secret) == "ben"
    reassign(run, plan, "ben", ["dora"])
    with pytest.raises(NoSuchItemError):
        state.item("ben", item)
    secrets = folder.links.secrets(as_assigned(run, plan).raters)
    assert (secrets["ben"], state.rater_of(secrets["dora"])) == (secret, "dora")
    assert state.item("dora", item)["task"]["external_id"] == item


def test_secrets_are_their_raters_and_no_part_of_the_run(run: Run) -> None:
    plan = rating_plan(run)
    state, folder = opened(plan, run)
    secrets = folder.links.secrets(plan.raters)
    assert folder.links.secrets(plan.raters) == secrets
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
    links = folder.links.links("http://127.0.0.1:1", plan.raters)
    assert links["anna"] == f"http://127.0.0.1:1/#{secrets['anna']}"


@pytest.mark.parametrize("content", ["", "{}", '{"raters": {"anna": ""}}', '{"raters": {"anna": 3}}'])
def test_a_damaged_file_of_links_is_named(run: Run, content: str) -> None:
    plan = rating_plan(run)
    _, folder = opened(plan, run)
    folder.links_file.write_text(content)
    with pytest.raises(RunError, match="file of links is damaged"):
        folder.links.secrets(plan.raters)


def test_keys_are_the_figures_where_choices_are() -> None:
    assert choice_keys(["0", "1", "2", "no answer can be given"]) == ["0", "1", "2", "x"]
    assert choice_keys(["open", "closed"]) == ["1", "2"]
    assert choice_keys(["0.5", "1", "1.5"]) == ["1", "2", "3"]
    named = [key for key in choice_keys([f"label {number}" for number in range(40)]) if key]
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
    plan, state, folder = annas(run)
    item = plan.items[0].id
    state.save("anna", item, sent(choices=RATED))
    monkeypatch.setattr(page_database, "time_now", lambda: datetime.now(UTC) - timedelta(days=400))
    state.save("anna", item, sent(choices={**RATED, "empathy": "1"}, version=1))
    collect(folder, run, plan)
    assert read_store(run, plan).answers()[item, "anna"].choices["empathy"] == ("1",)
    before, after = (answer.updated for answer in state.database.answers())
    assert before < after
