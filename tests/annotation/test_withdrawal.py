"""A rater who withdraws leaves no byte in the run and beside it, nothing of others changes, and nothing comes back."""

from __future__ import annotations

import html
import itertools
import json
import os
import shutil
import sqlite3
import threading
import time
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import polars as pl
import pytest

import bedside
from bedside.annotation.adjudication import adjudicate
from bedside.annotation.annotation_plan import AnnotationPlan, plan_hash, round_of
from bedside.annotation.answer_store import keep_answers, read_store, restore_answer
from bedside.annotation.answers import RaterAnswer
from bedside.annotation.offline_files import export_files
from bedside.annotation.plan_file import read_plan
from bedside.annotation.plan_progress import plan_progress
from bedside.annotation.rating_page.page_collection import collect
from bedside.annotation.rating_page.page_database import EntryConflictError, PageDatabase
from bedside.annotation.rating_page.page_folder import PageFolder, page_folder
from bedside.annotation.rating_page.page_state import NoSuchItemError, PageState
from bedside.annotation.reassignment import as_assigned, reassign
from bedside.annotation.withdrawal import ELSEWHERE, withdraw
from bedside.api.annotating import keep_plan, withdraw as withdraw_by_file
from bedside.api.verifying import all_as_written, verify
from bedside.core.errors import InputError, RunError
from bedside.ratings.names import human_rater, rated_by_humans
from bedside.ratings.run import Run
from bedside.ratings.table import frame_of
from bedside.reports.annotation import status_tables
from tests.annotation.builders import fill_csv, rater_answer
from tests.annotation.rating_page.pages import opened, sent, serving
from tests.annotation.study import exported, level_of, levels, rating_plan
from tests.durability.recorder import recorded
from tests.durability.states import is_temporary, see_run
from tests.forked import CONTEXT, preload

preload("pytest", "tests.annotation.test_withdrawal")
#: Who withdraws, and the word that stands in each text of theirs, by the way it came.
GONE = "quetzal"
WORDS = ("pagewords", "sheetwords", "exportwords", "draftwords", "elsewords")
RATERS = (GONE, "ben", "cleo")
USERS = {GONE: 1, "ben": 2, "cleo": 3}


@dataclass(slots=True)
class Study:
    """A run with two plans and an adjudication, whose raters answered on the page, in sheets and on Label Studio."""

    folder: Path
    run: Run
    plan: AnnotationPlan
    other: AnnotationPlan
    settling: AnnotationPlan

    @property
    def file(self) -> Path:
        return self.folder / "plan.json"

    @property
    def users(self) -> dict[str, str]:
        return {str(number): rater for rater, number in USERS.items()}

    def anew(self) -> Run:
        return Run(self.run.path)

    def import_all(self) -> Any:
        files = [self.folder / "export.json", *sorted((self.folder / "sheets").glob("*.csv"))]
        return bedside.import_answers(self.file, files=files, users=self.users).results


def say(word: str, rater: str, item: str) -> tuple[dict[str, str], dict[str, str]]:
    """Choices and texts of an answer; two texts of the one who withdraws hold the word."""
    level = level_of(item, rater)
    whose = f"{word} of {rater}" if rater == GONE else f"by {rater}"
    choices = {"empathy": str(level), "goal_alignment": str(6 - level)}
    return choices, {"notes": f"note {whose}", "reason__empathy": f"why {whose}"}


def levels_of(item: str, rater: str) -> dict[str, str]:
    return {name: value for name, value in levels(item, rater).items() if isinstance(value, str)}


@pytest.fixture(scope="module")
def made(study_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The study's folder: four items each by the page, by a sheet and by an export of Label Studio."""
    folder = tmp_path_factory.mktemp("withdrawal")
    run = Run(shutil.copytree(study_folder, folder / "run"))
    plan = rating_plan(run, raters=RATERS, overlap=3, seed=11)
    keep_plan(plan, run, folder / "plan.json")
    items = [item.id for item in plan.items]
    by_page, by_sheet, by_export = items[:4], items[4:8], items[8:]
    state, page = opened(plan, run)
    state.rater_of("x")  # links are made
    for item in by_page:
        for rater in RATERS:
            choices, texts = say("pagewords", rater, item)
            state.save(rater, item, sent(choices=choices, texts=texts))
    state.save(GONE, by_sheet[0], sent("draft", texts={"notes": "draftwords"}))
    state.database.close()
    collect(page, run, plan)
    export_files(plan, run, "csv", folder / "sheets")
    for rater in RATERS:

        def fill(row: dict[str, str], rater: str = rater) -> None:
            if row["item"] in by_sheet:
                choices, texts = say("sheetwords", rater, row["item"])
                row |= {**choices, "reason__empathy": texts["reason__empathy"], "notes": texts["notes"]}

        fill_csv(folder / "sheets" / f"{rater}.csv", fill)

    def told(item: str, rater: str) -> dict[str, Any] | None:
        choices, texts = say("exportwords", rater, item)
        return {**choices, **{name: ("text", text) for name, text in texts.items()}} if item in by_export else None

    (folder / "export.json").write_text(json.dumps(exported(plan, told, USERS, Run(run.path))))
    bedside.import_answers(folder / "plan.json", files=[folder / "export.json", *(folder / "sheets").glob("*.csv")],
                           users={str(number): rater for rater, number in USERS.items()})  # fmt: skip
    other = rating_plan(Run(run.path), raters=(GONE.title(), "dora"), overlap=2, seed=12, round="second", per=2)
    keep_plan(other, Run(run.path), folder / "second.json")
    notes = {other.raters[0]: "elsewords", "dora": "mine"}
    answers = [
        rater_answer(item.id, rater, levels_of(item.id, rater), texts={"notes": (note,)})
        for item in other.items
        for rater, note in notes.items()
    ]
    keep_answers(Run(run.path), other, answers)
    settling = adjudicate(Run(run.path), plan, ["dora"]).plan
    keep_plan(settling, Run(run.path), folder / "settling.json")
    return folder


@pytest.fixture
def study(made: Path, tmp_path: Path) -> Study:
    folder = Path(shutil.copytree(made, tmp_path / "study"))
    read = [read_plan(folder / name) for name in ("plan.json", "second.json", "settling.json")]
    return Study(folder, Run(folder / "run"), *read)


def traces(study: Study) -> list[str]:
    """Files in the run and beside it, for pages, that hold a name, word or secret of the one who withdrew."""
    places = [study.run.path, study.run.path.with_name("run-rating-page")]
    files = [path for place in places for path in place.rglob("*") if path.is_file()]
    assert len(files) > 5
    return [
        f"{path}: {word}"
        for path in files
        for word in (GONE, *WORDS)
        # Tables are compressed: they are looked at column by column.
        if word.encode() in path.read_bytes().lower() or (path.suffix == ".parquet" and word in _table(path))
    ]


def _table(path: Path) -> str:
    frame = pl.read_parquet(path)
    return " ".join(str(value) for name in frame.columns for value in frame[name].to_list()).lower()


def of_others(run: Run) -> pl.DataFrame:
    return run.ratings.filter(~pl.col("rater").str.to_lowercase().str.contains(GONE))


def page_of(study: Study) -> PageFolder:
    return page_folder(study.run, study.plan)


def removed(study: Study) -> Any:
    return withdraw_by_file(study.file, GONE).results


# -- What goes, and what stays --------------------------------------------------------------------------


def test_no_byte_of_theirs_stays_and_all_of_others_does(study: Study) -> None:
    assert {word for trace in traces(study) for word in (GONE, *WORDS) if trace.endswith(f": {word}")} == {GONE, *WORDS}
    secret = page_of(study).links.secrets([GONE])[GONE]
    before, links = of_others(study.run), page_of(study).links.secrets(["ben", "cleo"])
    stored = read_store(study.run, study.plan).answers()
    gone = study.run.ratings.filter(rated_by_humans()).height - before.filter(rated_by_humans()).height
    done = removed(study)
    run = study.anew()
    assert traces(study) == []
    place = run.path.with_name("run-rating-page")
    assert not [path for path in place.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()]
    assert of_others(run).equals(before)
    assert run.ratings.equals(before)
    # 12 items by the first plan and 2 by the second, with two rubrics each.
    assert (done.answers, done.ratings, gone) == (14, 28, 28)
    assert (done.share, set(done.plans)) == ("unassigned-1", {plan_hash(study.plan), plan_hash(study.other)})
    assert (done.open, done.elsewhere, done.same_name) == (14, ELSEWHERE, {})
    assert page_of(study).links.secrets(["ben", "cleo"]) == links
    plan = as_assigned(run, study.plan)
    kept = read_store(run, plan).answers()
    assert kept == {key: answer for key, answer in stored.items() if key[1] != GONE}
    assert len(kept) == 24
    with closing(PageDatabase(page_of(study).database, plan)) as database:
        assert {answer.rater for answer in database.answers()} == {"ben", "cleo"}
        assert database.drafts() == 0
    assert page_of(study).database.with_name("answers.sqlite-wal").exists() is False


@pytest.mark.slow
def test_the_run_is_as_written_and_can_be_asked(study: Study) -> None:
    removed(study)
    checks = verify([study.run.path]).results
    assert all_as_written(checks)
    assert not [check for check in checks if check.state == "changed"]
    (row, *_) = bedside.agree(study.anew(), metrics="empathy", rounds=round_of(study.plan)).results
    assert (row.units, set(row.raters)) == (12, {"human:ben", "human:cleo"})
    assert bedside.estimate(study.anew(), metrics="empathy", rounds=round_of(study.plan)).results
    bedside.report(study.anew(), rounds="all", formats="html", out=study.folder / "report")
    page = html.unescape((study.folder / "report" / "report.html").read_text())
    assert "1 rater's data were removed on request: 14 answers and 28 ratings." in page
    entry = next(one for one in study.anew().manifest["imports"] if one.get("plan") == plan_hash(study.plan))
    assert entry["revisions"] == 24
    assert f"48 ratings were made of people's answers to plan {plan_hash(study.plan)} (of 72, the others having" in page


def test_status_says_it_and_their_items_are_open_for_somebody_else(study: Study) -> None:
    removed(study)
    run, plan = study.anew(), as_assigned(study.anew(), study.plan)
    assert (plan.raters, plan.people) == (("unassigned-1", "ben", "cleo"), ("ben", "cleo"))
    progress = plan_progress(run, plan)
    (share,) = [share for share in progress.shares if share.rater == "unassigned-1" and share.stratum is None]
    assert (share.assigned, share.open) == (12, 12)
    line = "1 rater's data were removed on request: 12 answers and 24 ratings."
    assert line in status_tables(plan, progress)[0].notes
    # Others who drop out don't leave their items to nobody, and nobody exports a file for nobody.
    assert sorted(path.name for path in export_files(plan, run, "csv", study.folder / "new")) == ["ben.csv", "cleo.csv"]
    moved = reassign(run, plan, "unassigned-1", ["eva"])
    assert moved.moved == {"eva": 12}
    (item, *_) = moved.plan.assignment["eva"]
    keep_answers(study.anew(), moved.plan, [rater_answer(item, "eva", levels_of(item, "eva"))])
    assert study.anew().ratings.filter(pl.col("rater") == "human:eva").height == 2
    with pytest.raises(InputError, match="withdrew"):
        reassign(study.anew(), plan, "ben", [GONE])


def test_opinions_go_from_what_others_settle(study: Study) -> None:
    before = study.settling.opinions
    done = removed(study)
    after = as_assigned(study.anew(), study.settling).opinions
    counts = [(len(before[item][rubric]), len(after[item][rubric])) for item in before for rubric in before[item]]
    assert counts
    assert set(counts) == {(3, 2)}
    assert done.opinions == len(counts)
    assert not [opinion for of in after.values() for said in of.values() for opinion in said if GONE in opinion.reason]
    # The file that the user has of it is the one as drawn.
    state, _ = opened(as_assigned(study.anew(), study.settling), study.anew())
    assert GONE not in json.dumps([state.item("dora", item) for item in study.settling.assignment["dora"]])


def test_an_open_page_of_what_others_settle_follows(study: Study) -> None:
    state, _ = opened(study.settling, study.anew())
    items = study.settling.assignment["dora"]

    def of_theirs() -> list[int]:
        return [json.dumps(state.item("dora", item)["task"]).count(GONE) for item in items]

    assert min(of_theirs()) > 0
    removed(study)
    assert set(of_theirs()) == {0}
    assert all("by ben" in json.dumps(state.item("dora", item)["task"]) for item in items)
    state.close()


def test_who_settles_can_withdraw_too(study: Study) -> None:
    item = next(iter(study.settling.opinions))
    rubric = next(iter(study.settling.opinions[item]))
    keep_answers(study.anew(), study.settling, [rater_answer(item, "dora", {rubric: "2"})])
    labels = study.anew().ratings.filter(pl.col("metric").str.ends_with(".adjudicated"))
    assert set(labels["rater"]) == {"human:dora"}
    done = withdraw(study.anew(), study.settling, page_folder(study.run, study.settling), "dora")
    assert set(done.plans) == {plan_hash(study.settling), plan_hash(study.other)}
    assert study.anew().ratings.filter(pl.col("rater") == "human:dora").is_empty()


# -- Names ----------------------------------------------------------------------------------------------


def test_the_same_name_elsewhere_is_not_theirs(study: Study) -> None:
    name = study.run.index.sort("id").row(0, named=True)
    rows = [
        (name["id"], name["system"], name["case_id"], "transcript", "warmth", rater, 0, 3.0, None, None, None)
        for rater in (human_rater(GONE), f"judge:{GONE}", human_rater(f"{GONE}x"))
    ]
    with study.run.locked():
        study.run.add(frame_of(rows, "files of others").lazy(), study.run.manifest)
    done = withdraw(study.anew(), study.plan, page_of(study), f" {GONE.upper()} ")
    assert done.same_name == {"files of others": 1}
    assert done.ratings == 28
    assert sorted(study.anew().ratings.filter(metric="warmth")["rater"]) == sorted(row[5] for row in rows)
    with pytest.raises(InputError, match="not a rater of the plan"):
        withdraw(study.anew(), study.plan, page_of(study), f"{GONE}x")


def test_who_enrolled_is_somebody_of_their_study_alone(run: Run, tmp_path: Path) -> None:
    plans: dict[str, AnnotationPlan] = {}
    for round, other in (("a", "ben"), ("b", "cleo"), ("a-more", "ben")):
        plan = rating_plan(Run(run.path), raters=("p-1", other), overlap=2, per=2, round=round, seed=len(plans))
        keep_plan(plan, run, tmp_path / f"{round}.json")
        said = [rater_answer(item.id, "p-1", levels_of(item.id, "p-1")) for item in plan.items]
        assert keep_answers(Run(run.path), plan, said).new == 2
        plans[round] = plan
    done = withdraw(Run(run.path), plans["a-more"], page_folder(run, plans["a-more"]), "p-1")
    assert set(done.plans) == {plan_hash(plans["a"]), plan_hash(plans["a-more"])}
    assert (done.answers, done.ratings, done.same_name) == (4, 8, {"b": 4})
    assert set(Run(run.path).ratings.filter(pl.col("rater") == "human:p-1")["round"]) == {"b"}
    assert as_assigned(Run(run.path), plans["b"]).people == ("p-1", "cleo")


def test_what_they_made_of_others_answers_goes_unless_it_counts(study: Study) -> None:
    items = [item for item, rater in read_store(study.run, study.plan).answers() if rater == "ben"][:2]
    changes = [
        RaterAnswer(item, "ben", "submitted", {"empathy": ("5",), "goal_alignment": ("5",)}, {"notes": (word,)},
                    id="changed", updated="2027-01-01T00:00:00Z", changed_by=GONE)
        for item, word in zip(items, ("elsewords", "kept"), strict=True)
    ]  # fmt: skip
    keep_answers(study.anew(), study.plan, changes)
    revisions = read_store(study.anew(), study.plan).revisions
    number = next(revision.number for revision in revisions if revision.answer.notes == "kept")
    restore_answer(study.anew(), study.plan, number)
    before = of_others(study.anew())
    removed(study)
    history = read_store(study.anew(), as_assigned(study.anew(), study.plan))
    kept = [revision for revision in history.revisions if revision.answer.changed_by is not None]
    assert [(each.answer.notes, each.answer.changed_by) for each in kept] == [("kept", "unassigned-1")] * 2
    assert history.revisions[kept[1].restored or 0] == kept[0]
    assert study.anew().ratings.equals(before)
    assert traces(study) == []
    kept_again = keep_answers(study.anew(), study.plan, changes, current=True)
    assert (kept_again.withdrawn, kept_again.revised) == (2, 0)


# -- Nothing comes back ---------------------------------------------------------------------------------


def test_files_bring_nothing_back(study: Study) -> None:
    removed(study)
    before, seal = study.anew().ratings, study.anew().manifest["seal"]
    stored = study.import_all().stored
    assert (stored.new, stored.withdrawn, stored.unchanged) == (0, 8, 16)
    assert study.anew().ratings.equals(before)
    assert study.anew().manifest["seal"] == seal
    assert traces(study) == []


def test_a_plan_as_it_was_drawn_brings_nothing_back(study: Study) -> None:
    drawn, stale = study.plan, study.anew()
    removed(study)
    assert read_plan(study.file).people == ("ben", "cleo")
    assert plan_hash(read_plan(study.file)) == plan_hash(drawn)
    said = levels_of(drawn.items[0].id, GONE)
    kept = keep_answers(
        stale, drawn, [rater_answer(drawn.items[0].id, rater, said) for rater in (GONE, "unassigned-1")]
    )
    assert (kept.withdrawn, kept.new) == (2, 0)
    # Drawn again in the same words, it is the plan without them.
    keep_plan(drawn, study.anew(), study.folder / "again.json")
    assert read_plan(study.folder / "again.json").people == ("ben", "cleo")
    assert traces(study) == []
    sheet = study.folder / "sheet.csv"
    rows = [f"{item.transcript},{GONE},empathy,3" for item in drawn.items]
    sheet.write_text("\n".join(("item,rater,metric,value", *rows)) + "\n")
    with pytest.raises(InputError, match="withdrew"):
        bedside.import_ratings(study.anew(), sheet, scales="1-5", plan=plan_hash(drawn))


def test_the_page_brings_nothing_back(study: Study) -> None:
    state = PageState(study.plan, study.anew(), page_of(study))
    item = study.plan.items[9].id
    secret = page_of(study).links.secrets([GONE])[GONE]
    assert state.rater_of(secret) == GONE
    with closing(PageDatabase(page_of(study).database, study.plan)) as stale:
        removed(study)
        assert state.rater_of(secret) is None
        with pytest.raises(NoSuchItemError):
            state.save(GONE, item, sent(choices=levels_of(item, GONE)))
        # What passed all checks a moment before it was removed is refused as well.
        entry = replace(stale.entry(item, GONE), state="submitted")
        with pytest.raises(EntryConflictError):
            stale.save(item, GONE, entry, "attempt-of-before")
    before = study.anew().ratings
    collected = bedside.rating_page(study.file, collect=True).stored
    assert collected is not None
    assert collected.new == 0
    assert study.anew().ratings.equals(before)
    assert bedside.rating_page(study.file, links=True).links.keys() == {"ben", "cleo"}
    assert traces(study) == []
    state.database.close()


# -- Interrupted ----------------------------------------------------------------------------------------


def test_where_it_was_interrupted_the_same_call_goes_on(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run is done, and the page is not."""
    monkeypatch.setattr("bedside.annotation.withdrawal.clear_page", _fail)
    with pytest.raises(RunError):
        removed(study)
    assert all("run-rating-page" in trace for trace in traces(study))
    assert traces(study)
    assert (study.import_all().stored.withdrawn, collect(page_of(study), study.anew(), study.plan).withdrawn) == (8, 4)
    monkeypatch.undo()
    done = removed(study)
    assert (done.answers, done.ratings, traces(study)) == (14, 28, [])
    assert len(study.anew().manifest["removed"]) == 3
    assert removed(study).answers == 14
    assert len(study.anew().manifest["removed"]) == 3


def _fail(*_: object) -> None:
    raise RunError("stopped")


def _look(study: Study, before: pl.DataFrame, whole: pl.DataFrame) -> bool:
    """What was stopped left the run as it was, or as it is to be; whether it is that."""
    run = study.anew()
    see_run(run.path)
    done = run.ratings.equals(before)
    assert done or run.ratings.equals(whole)
    plan = as_assigned(run, study.plan)
    assert (GONE in plan.raters) != done
    answers = read_store(run, plan).answers()
    assert sum(rater == GONE for _, rater in answers) == (0 if done else 12)
    assert len(answers) == (24 if done else 36)
    with pytest.MonkeyPatch.context() as patch:  # agreement is of the same ratings each time
        patch.setattr("bedside.annotation.plan_progress._agreement", lambda *_: ())
        assert sum(one.done for one in plan_progress(run, plan).shares if one.stratum is None) == len(answers)
    assert all_as_written(verify([run.path]).results)
    return done


@pytest.mark.slow
def test_killed_at_any_step_the_run_is_whole_and_the_same_call_ends(study: Study, tmp_path: Path) -> None:
    before, whole = of_others(study.run), study.run.ratings
    recording = recorded(partial(withdraw_by_file, "plan.json", GONE), study.folder, tmp_path / "recording")
    assert traces(study) == []
    seen = []
    for number, (_, _, tree) in enumerate(recording.states):
        folder = recording.put(tree, tmp_path / "states" / str(number))
        left = replace(study, folder=folder, run=Run(folder / "run"))
        seen.append(_look(left, before, whole))
        removed(left)
        assert _look(left, before, whole)
        assert traces(left) == []
        assert len(left.anew().manifest["removed"]) == 3
        assert not [path for path in folder.rglob("*") if is_temporary(str(path.relative_to(folder)))]
        shutil.rmtree(folder)
    assert len(seen) > 40
    assert set(seen) == {True, False}


@pytest.mark.slow
def test_killed_at_random_moments_the_page_is_whole_too(study: Study, tmp_path: Path) -> None:
    """What SQLite does is no event that Python knows of."""
    before, whole = of_others(study.run), study.run.ratings
    for number in range(12):
        folder = Path(shutil.copytree(study.folder, tmp_path / f"killed-{number}"))
        left = replace(study, folder=folder, run=Run(folder / "run"))
        ready, go = CONTEXT.Event(), CONTEXT.Event()
        child = CONTEXT.Process(target=_withdrawing_when, args=(folder, ready, go))
        child.start()
        ready.wait(60)
        go.set()
        time.sleep(0.02 * number)
        child.kill()
        child.join(60)
        _look(left, before, whole)
        removed(left)
        assert _look(left, before, whole)
        assert traces(left) == []
        with closing(sqlite3.connect(page_of(left).database)) as database:
            assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def _withdrawing_when(folder: Path, ready: Any, go: Any) -> None:
    os.chdir(folder)
    ready.set()
    go.wait(60)
    withdraw_by_file("plan.json", GONE)


@pytest.mark.server
@pytest.mark.slow
def test_while_the_page_is_served(study: Study) -> None:
    """Another process serves the page, and somebody sends to it all the time."""
    with serving(study.plan, study.run) as page, httpx.Client(base_url=page.address, timeout=20) as client:
        headers = {rater: {"Authorization": f"Bearer {page.secret(rater)}", "Origin": page.address} for rater in RATERS}
        ended, statuses = threading.Event(), []

        def send() -> None:
            for number, item in enumerate(itertools.cycle(study.plan.assignment[GONE][4:])):
                entry = sent("draft", texts={"notes": "draftwords"}).model_dump() | {"mark": f"while-served-{number}"}
                version = client.get(f"/items/{item}", headers=headers[GONE])
                if version.status_code == 200:
                    entry["version"] = version.json()["entry"]["version"]
                statuses.append(client.put(f"/items/{item}", json=entry, headers=headers[GONE]).status_code)
                if ended.is_set():
                    return

        sending = threading.Thread(target=send)
        sending.start()
        while len(statuses) < 5:
            time.sleep(0.01)
        removed(study)
        time.sleep(0.3)
        ended.set()
        sending.join()
        assert 200 in statuses
        assert statuses[-1] == 401
        assert traces(study) == []
        shares = [client.get("/share", headers=headers[rater]).raise_for_status().json() for rater in RATERS[1:]]
        assert [sum(item["handed_in"] is not None for item in share["items"]) for share in shares] == [4, 4]
        code, said = page.stop()
        assert code == 0, said
    assert traces(study) == []
    assert study.anew().ratings.filter(pl.col("rater") == human_rater(GONE)).is_empty()
