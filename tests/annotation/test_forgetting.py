"""A case that is removed leaves no byte in run and pages, nothing of others changes, all that is left is whole."""

from __future__ import annotations

import json
import shutil
import sqlite3
import zlib
from contextlib import closing, nullcontext, suppress
from functools import partial
from pathlib import Path

import polars as pl
import pytest

import bedside
from bedside.annotation.adjudication import adjudicate
from bedside.annotation.annotation_plan import plan_hash
from bedside.annotation.answer_store import keep_answers, read_store
from bedside.annotation.plan_file import read_plan
from bedside.annotation.rating_page.page_collection import collect
from bedside.annotation.rating_page.page_state import NoSuchItemError
from bedside.annotation.reassignment import as_assigned, reassign
from bedside.annotation.withdrawal import Forgetting
from bedside.api.annotating import keep_plan
from bedside.api.verifying import all_as_written, verify
from bedside.cli import main
from bedside.core.errors import InputError
from bedside.judges.prompt import PromptPiece
from bedside.judges.store import FILE_NAME, Judgement, Store, read_judgements, read_prompt
from bedside.ratings.run import Run, run_simulations
from bedside.ratings.table import frame_of
from bedside.transcripts.transcript import Transcript
from bedside.tuning.probes.turn_texts import of_turns
from tests.annotation.builders import rater_answer
from tests.annotation.rating_page.pages import opened, sent
from tests.annotation.study import levels, rating_plan
from tests.durability.recorder import recorded
from tests.durability.states import is_temporary, see_run
from tests.judges.test_store import SCHEMA, judgement, using

CASE, IDS = "hushcase2", ("secretfile-GPT-Secret-2", "secretfile-Llama-Hidden-2")
#: What is known of the case by name, by what was said, by raters and by judges.
WORDS = (CASE, *IDS, "week 2", "sleep better 2", "notes on two", "the judge on two")


def judge_all(run: Run) -> None:
    """A judgement of each transcript and of a pair, with prompts and replies that quote what was said."""

    async def work(store: Store) -> None:
        for number, talk in enumerate(run.transcripts()):
            words = f"the judge on {'two' if talk.id in IDS else 'others'}"
            pieces = [PromptPiece(f"{talk.turns[0].text} {talk.id}"), PromptPiece("the rubric")]
            about: list[Judgement] = [judgement(f"k{number}", transcript=talk.id, replies=(words,))]
            if number == 0:
                about.append(judgement("pair", transcript=talk.id, unit=f"pair:{IDS[0]}", replies=(words, IDS[0])))
            for one in about:
                await store.finish(one, pieces, SCHEMA)

    using(run.path / FILE_NAME, work)


@pytest.fixture(scope="module")
def made(study_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with a plan that was answered on the page and by files, one of another round, and an adjudication."""
    folder = tmp_path_factory.mktemp("forgetting")
    run = Run(shutil.copytree(study_folder, folder / "run"))
    judge_all(run)
    gone = {"transcript_id": IDS[0], "system": "GPT-Secret", "case_id": CASE}
    rows = [(*unit, "pair:secretfile-GPT-Secret-1" if unit[0] in IDS else f"pair:{gone['transcript_id']}", "better",
             "human:x", 0, 1.0, None, None, None)
            for unit in run.index.select("id", "system", "case_id").head(6).iter_rows()]  # fmt: skip
    with run.locked():
        run.add(frame_of(rows).lazy(), run.manifest)
    plan = rating_plan(run, raters=("anna", "ben", "cleo"), overlap=3, seed=11)
    keep_plan(plan, run, folder / "plan.json")
    state, page = opened(plan, run)
    for item in plan.items:
        note = "notes on two" if item.transcript in IDS else "notes on others"
        choices = {name: value for name, value in levels(item.id, "anna").items() if isinstance(value, str)}
        state.save("anna", item.id, sent(choices=choices, texts={"notes": note}))
        state.save("ben", item.id, sent("draft", texts={"notes": note}))
    state.close()
    collect(page, run, plan)
    second = rating_plan(Run(run.path), raters=("dora", "eva"), overlap=2, seed=12, round="second", per=6)
    keep_plan(second, Run(run.path), folder / "second.json")
    answers = [
        rater_answer(item.id, rater, {"empathy": str(1 + 3 * (rater == "eva")), "goal_alignment": "2"})
        for item in second.items
        for rater in second.raters
    ]
    keep_answers(Run(run.path), second, answers)
    settling = adjudicate(Run(run.path), second, ["anna"]).plan
    keep_plan(settling, Run(run.path), folder / "settling.json")
    reassign(Run(run.path), plan, "cleo", ["finn"])
    bedside.report(Run(run.path), rounds="all", formats="csv")
    return folder


@pytest.fixture
def study(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "study"))


def traces(folder: Path) -> list[str]:
    """Files of the run and its pages that hold a word of the case, compressed or not."""
    found = []
    for path in sorted(path for path in folder.glob("run*/**/*") if path.is_file()):
        content = path.read_bytes()
        if path.suffix == ".parquet":
            content += repr(pl.read_parquet(path).to_dicts()).encode()
        if path.suffix == ".sqlite":
            with closing(sqlite3.connect(path)) as connection:
                for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
                    for cell in (cell for row in connection.execute(f"SELECT * FROM {table}") for cell in row):
                        with suppress(zlib.error, TypeError):
                            content += zlib.decompress(cell)
        found += [f"{path.relative_to(folder)}: {word}" for word in WORDS if word.encode() in content]
    return found


def removed(folder: Path, by: str = "") -> Forgetting:
    return bedside.forget(folder / "run", case=CASE, plan=tuple(map(str, folder.glob("*.json"))), by=by)


def of_others(run: Run) -> pl.DataFrame:
    about = pl.col("transcript_id").is_in(IDS) | pl.col("unit").str.contains("(?:GPT-Secret|Llama-Hidden)-2$")
    return run.ratings.filter(~about)


def test_no_byte_of_the_case_stays_and_all_of_others_does(study: Path) -> None:
    assert {trace.split(": ")[1] for trace in traces(study)} == set(WORDS)
    run, plan = Run(study / "run"), read_plan(study / "plan.json")
    before, stored = of_others(run), read_store(run, as_assigned(run, plan)).answers()
    gone = run.ratings.height - before.height
    done = removed(study, by="the data officer")
    run = Run(study / "run")
    assert traces(study) == []
    assert not any(word in path.read_text() for path in study.glob("*.json") for word in WORDS)
    assert run.ratings.equals(before)
    assert (done.transcripts, done.ratings, done.judgements, done.left) == (2, gone, 3, ())
    assert (run.index.height, run.manifest["transcripts"]["count"]) == (10, 10)
    assert {own.transcript for own in read_judgements(run.path / FILE_NAME)} == set(run.index["id"])
    assert all(read_prompt(run.path / FILE_NAME, own.prompt) for own in read_judgements(run.path / FILE_NAME))
    now = as_assigned(run, plan)
    items = set(now.by_id)
    assert (plan_hash(now), len(items)) == (plan_hash(plan), 10)
    assert read_store(run, now).answers() == {key: own for key, own in stored.items() if key[0] in items}
    assert done.answers == 2 + 4
    assert not list((run.path / "report").glob("*"))
    (entry,) = run.manifest["removed"]
    assert (entry["kind"], entry["transcripts"], entry["by"]) == ("case", 2, "the data officer")
    assert CASE not in json.dumps(run.manifest)


def test_what_is_left_can_be_verified_asked_and_rated(study: Path) -> None:
    old = read_plan(study / "plan.json")
    removed(study)
    assert all_as_written(verify([study / "run"]).results)
    assert bedside.agree(study / "run", metrics="empathy", rounds="second").results
    bedside.report(study / "run", rounds="all", formats="csv", out=study / "report")
    # A plan as it was drawn is known still, and what is said of the case comes back no more.
    (study / "old.json").write_text((study / "plan.json").read_text())
    assert bedside.annotation_status(study / "old.json", run=study / "run").results
    run, plan = Run(study / "run"), as_assigned(Run(study / "run"), old)
    item = next(item for item in plan.items)
    keep_answers(run, old, [rater_answer(item.id, "ben", {"empathy": "2", "goal_alignment": "3"})])
    lost = next(item for item in old.items if item.transcript in IDS)
    kept = keep_answers(run, old, [rater_answer(lost.id, "ben", {"empathy": "2", "goal_alignment": "3"})])
    assert (kept.new, kept.withdrawn) == (0, 1)
    state, page = opened(plan, Run(study / "run"))
    assert state.item("ben", item.id)["task"]
    state.close()
    assert collect(page, Run(study / "run"), plan).new == 0
    assert traces(study) == []


def test_a_second_time_and_a_name_that_is_none(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InputError):
        bedside.forget(study / "run", case="nobody")
    assert (study / "run" / "report").exists()
    with pytest.raises(InputError):
        bedside.forget(study / "run", case=CASE, rater="anna")
    with pytest.raises(SystemExit) as code:
        main(["forget", str(study / "run"), "--case", IDS[0], "--json"])
    assert code.value.code == 0
    row = json.loads(capsys.readouterr().out)
    assert "transcripts" in json.dumps(row)
    assert Run(study / "run").index.height == 11
    assert removed(study).transcripts == 1
    bedside.report(Run(study / "run"), rounds="all", formats="csv")
    for name in (CASE, "nobody"):
        with pytest.raises(InputError, match=f"no such case {name}"):
            bedside.forget(study / "run", case=name)
    assert (study / "run" / "report" / "written.json").exists()
    assert len(Run(study / "run").manifest["removed"]) == 2


def test_a_rater(study: Path) -> None:
    before = Run(study / "run").ratings.filter(pl.col("rater") != "human:dora")
    done = bedside.forget(study / "run", rater="Dora")
    assert Run(study / "run").ratings.equals(before)
    assert (done.answers, done.left, len(done.plans)) == (6, (), 1)
    # Nobody's plan asked for these.
    assert bedside.forget(study / "run", rater="x").ratings == 6
    assert all_as_written(verify([study / "run"]).results)
    for name in ("nobody", "p-1"):
        with pytest.raises(InputError):
            bedside.forget(study / "run", rater=name)


def test_before_a_date(tmp_path: Path) -> None:
    dates = {"a": "2023-05-01", "b": "2024-02-01T10:00:00", "c": None}
    talks = [
        {"id": name, "turns": [{"role": "clinician", "speaker": "c", "text": name}], "factors": {"date": day}}
        for name, day in dates.items()
    ]
    (tmp_path / "in.jsonl").write_text("\n".join(map(json.dumps, talks)))
    run = bedside.score([tmp_path / "in.jsonl"], tmp_path / "run", metrics=["structure"]).run
    for day, factor in (("soon", "date"), ("2024-01-01", "day")):
        with pytest.raises(InputError):
            bedside.forget(run.path, before=day, date_factor=factor)
    assert bedside.forget(run.path, before="2020-01-01").transcripts == 0
    done = bedside.forget(run.path, before="2024-02-01")
    assert (done.transcripts, done.undated, set(Run(run.path).index["id"])) == (1, 1, {"b", "c"})


def test_what_judges_saw_altered_goes_with_what_it_is_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ids = ("s-1", "s-1 [a]", "s-10", "[s-1]")
    talks = [{"id": own, "turns": [{"role": "clinician", "speaker": "c", "text": "hm"}]} for own in ids]
    (tmp_path / "in.jsonl").write_text("\n".join(map(json.dumps, talks)))
    run = bedside.score([tmp_path / "in.jsonl"], tmp_path / "run", metrics=["structure"]).run
    gone = ("s-1 [words.plain]", "s-1 [words.plain] [against]", of_turns(Transcript(id="s-1", turns=()), "de").name)
    kept = ("s-1 [a]", "s-1 [a] [words.plain]", "s-10 [words.plain]", "[s-1]", "[s-1] [words.plain]", "s-1 [")

    async def work(store: Store) -> None:
        for name in (*gone, *kept):
            piece = [PromptPiece(f"text of {name}")]
            await store.finish(judgement(name, prompt=name, transcript=name), piece, SCHEMA)
        await store.finish(judgement("pair", transcript="s-10", unit="pair:s-1"), piece, SCHEMA)

    using(run.path / FILE_NAME, work)
    (run.path / "notes.txt").write_text("seen: s-1")
    with pytest.raises(SystemExit) as code:
        main(["forget", str(run.path), "--case", "s-1"])
    assert code.value.code == 1
    assert "notes.txt" in capsys.readouterr().out
    assert {own.transcript for own in read_judgements(run.path / FILE_NAME)} == set(kept)
    assert {name for name in (*gone, *kept) if read_prompt(run.path / FILE_NAME, name)} == set(kept)


def test_names_that_begin_alike_and_a_run_without_text(tmp_path: Path) -> None:
    talks = [
        {"id": f"s-{case}", "case_id": case, "turns": [{"role": "clinician", "speaker": "c", "text": "hm"}]}
        for case in ("p-1", "p-17")
    ]
    (tmp_path / "in.jsonl").write_text("\n".join(map(json.dumps, talks)))
    bedside.score([tmp_path / "in.jsonl"], tmp_path / "run", metrics=["structure"], text=False)
    done = bedside.forget(tmp_path / "run", case="p-1")
    assert (done.transcripts, done.left, set(Run(tmp_path / "run").index["id"])) == (1, (), {"s-p-17"})


def test_a_merged_run(study: Path, tmp_path: Path) -> None:
    talk = {
        "id": "hushcase2-more",
        "system": "GPT-Secret",
        "case_id": CASE,
        "turns": [{"role": "clinician", "text": "week 2"}],
    }
    (tmp_path / "in.jsonl").write_text(json.dumps(talk | {"language": "en"}))
    more = bedside.score([tmp_path / "in.jsonl"], tmp_path / "more", metrics=["structure"]).run
    bedside.merge([study / "run", more], study / "run-merged")
    for name in ("run", "run-rating-page"):
        shutil.rmtree(study / name)
    done = bedside.forget(study / "run-merged", case=CASE)
    assert (done.transcripts, traces(study), done.left) == (3, [], ())
    assert all_as_written(verify([study / "run-merged"]).results)
    assert bedside.agree(study / "run-merged", metrics="empathy", rounds="second").results


def test_simulated_talks(tmp_path: Path) -> None:
    bedside.simulate(None, "note2chat", tmp_path / "talks", clinician="script:brisk", sample=2)
    run = bedside.score([tmp_path / "talks"], tmp_path / "run", metrics=["structure"]).run
    case = run.index["case_id"][0]
    kept = json.loads((run.path / "simulations.json").read_text())
    kept[0]["failures"] = [{"id": "z", "system": "brisk", "case": case, "persona": None, "state": "failed",
                            "whose": "patient", "reason": "empty"}]  # fmt: skip
    with run.locked():
        run.rewrite(
            run.scan(), run.manifest, files={"simulations.json": lambda path: path.write_text(json.dumps(kept))}
        )
    done = bedside.forget(run.path, case=case)
    assert (done.transcripts, done.left) == (1, ())
    assert run_simulations(run.path)[0].failures == ()


@pytest.mark.slow
def test_killed_at_any_step_the_run_is_whole_and_the_same_call_ends(study: Path, tmp_path: Path) -> None:
    run = Run(study / "run")
    before, whole = of_others(run), run.ratings
    recording = recorded(partial(bedside.forget, "run", case=CASE), study, tmp_path / "recording")
    assert traces(study) == []
    seen = set()
    for number, (_, _, tree) in enumerate(recording.states):
        folder = recording.put(tree, tmp_path / "states" / str(number))
        see_run(folder / "run")
        left = Run(folder / "run")
        done = left.ratings.equals(before)
        assert done or left.ratings.equals(whole)
        assert left.index.height == (10 if done else 12)
        # Of the report a part may be gone already, and the rest goes the next time.
        checks = [check for check in verify([left.path]).results if "report" not in Path(check.path).parts]
        assert not [check for check in checks if check.state not in ("as written", "no digest")]
        seen.add(done)
        with suppress(InputError) if traces(folder) == [] else nullcontext():
            bedside.forget(left.path, case=CASE)
        assert traces(folder) == []
        assert Run(left.path).ratings.equals(before)
        assert len(Run(left.path).manifest["removed"]) == 1
        assert not [path for path in folder.rglob("*") if is_temporary(str(path.relative_to(folder)))]
        shutil.rmtree(folder)
    assert number > 40
    assert seen == {True, False}


def test_an_open_page_shows_the_case_no_more(study: Path) -> None:
    old = read_plan(study / "plan.json")
    state, page = opened(as_assigned(Run(study / "run"), old), Run(study / "run"))
    lost = next(item.id for item in old.items if item.transcript in IDS)
    assert state.item("ben", lost)["task"]
    removed(study)
    with pytest.raises(NoSuchItemError):
        state.item("ben", lost)
    with pytest.raises(NoSuchItemError):
        state.save("ben", lost, sent(choices={"empathy": "2", "goal_alignment": "3"}))
    state.close()
    assert collect(page, Run(study / "run"), old).new == 0
    assert traces(study) == []
