"""No bit of a run changes without a word: all is read as it was written, or a line says which file isn't."""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict
from functools import partial
from pathlib import Path
from random import Random
from shutil import copytree, rmtree
from typing import Any

import numpy as np
import pytest

import bedside
from bedside.analysis.ratings_view import open_ratings_view
from bedside.annotation.answer_store import plan_folder, read_store
from bedside.annotation.answers import State
from bedside.annotation.plan_file import read_plan, write_plan
from bedside.annotation.rating_page.page_database import PageDatabase, PageEntry
from bedside.annotation.rating_page.study_people import People
from bedside.annotation.reassignment import as_assigned, reassign
from bedside.annotation.study_file import StudyFile
from bedside.api.benchmarking import BenchmarkRequest, read_record, write_record
from bedside.core.errors import BedsideError, InputError
from bedside.core.files import seal_of, write_sealed
from bedside.core.yaml_files import plain_yaml
from bedside.judges.llm.protocol import SentBatch
from bedside.judges.llm.provider_batches import BatchRounds
from bedside.judges.rubrics.rubric_files import RUBRICS, parse_rubric
from bedside.judges.settings import JudgeSettings
from bedside.judges.store import FILE_NAME, Store, read_judgements, read_prompt
from bedside.metrics.coders.learned.array_file import ArrayFileKind, read_arrays, write_arrays
from bedside.ratings.run import Run, run_simulations
from bedside.reports.explanation import states_tables
from bedside.reports.viewer.viewed_run import ViewedRun
from bedside.simulation.conversation_log import ConversationLog, check_rows, opened_log
from bedside.simulation.simulation_plan import read_cast, write_cast
from bedside.simulation.talks_folder import conversation_record, talks_overview
from bedside.transcripts.simulation_folder import LOG_FILE
from bedside.tuning.cascade import Cascade, CascadeJudge, CascadeMetric, CascadeTerms, read_cascade, write_cascade
from bedside.tuning.judge_drift import kept_anchors
from bedside.tuning.tuned_rubric import write_tuned_rubric
from bedside.tuning.tuning_ledger import tuning_tries
from tests.annotation.builders import keep
from tests.annotation.rating_page.recruiting import write_study
from tests.annotation.study import levels, new_study, rating_plan
from tests.judges.test_store import PIECES, SCHEMA, judgement, using
from tests.simulation.test_person import Paper
from tests.soak import budget

Call = Callable[..., tuple[int, str, str]]
#: Bits that are turned over, and ends that are cut off, of each kind of file: 10,500 with ``BEDSIDE_SOAK=7``.
TIMES = budget(20, 1500)


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of simulated conversations."""
    folder = tmp_path_factory.mktemp("changed")
    bedside.simulate(None, "note2chat", folder / "talks", clinician="script:brisk", sample=2)
    return bedside.score([folder / "talks"], folder / "run", metrics=["structure"]).run.path


@pytest.fixture(scope="module")
def reported(simulated: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same run with a report."""
    run = Path(copytree(simulated, tmp_path_factory.mktemp("reported") / "run"))
    bedside.report(run, formats=["csv", "md", "latex", "html"])
    return run


def damaged(content: bytes, random: Random) -> bytes:
    """With one bit turned over, or without its end."""
    if random.random() < 0.2:
        return content[: random.randrange(len(content))]
    changed = bytearray(content)
    changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
    return bytes(changed)


def silent(file: Path, take: Callable[[], Any], *, states: bool = False) -> list[str]:
    """What is read otherwise than before, without a word, of so many damages of a file; of ``states``, what isn't."""
    content, before, random = file.read_bytes(), take(), Random(7)
    found = []
    for _ in range(TIMES):
        file.write_bytes(damaged(content, random))
        try:
            after = take()
        except BedsideError as error:
            after = (None if states else before) if str(file) in str(error) else error
        same = after == before and file.read_bytes() != content[:-1]  # but for the last line's end
        if isinstance(after, BedsideError) or (same if states else after != before):
            found.append(f"{after} for {before}")
    file.write_bytes(content)
    assert take() == before
    return found


def everything(run: Path) -> list[Any]:
    """All numbers and texts that a run gives to its readers, read anew."""
    opened = Run(run)
    talks = list(opened.transcripts())
    return [opened.manifest, opened.ratings.rows(), opened.index.rows(), talks, run_simulations(run)]


@pytest.mark.parametrize("name", ["manifest.json", "ratings.parquet", "transcripts/000000.parquet", "simulations.json"])
@pytest.mark.soak
def test_a_file_of_a_run(name: str, simulated: Path) -> None:
    assert silent(simulated / name, lambda: everything(simulated)) == []
    assert silent(simulated / name, lambda: _viewed(simulated)) == []


def _viewed(run: Path) -> list[Any]:
    viewed = ViewedRun(run)
    names = viewed.index["id"].to_list()
    return [viewed.index.rows(), [viewed.transcript(name) for name in names], viewed.ratings(names[0]).rows()]


def test_a_file_too_many_or_too_few(simulated: Path) -> None:
    part = simulated / "transcripts" / "000000.parquet"
    for other in (part.with_name("000001.parquet"), part.with_name("000007.parquet")):
        other.write_bytes(part.read_bytes())
        with pytest.raises(BedsideError, match=r"00000[17]\.parquet: the file isn't as bedside wrote it"):
            everything(simulated)
        other.unlink()
    content = (simulated / "simulations.json").read_bytes()
    (simulated / "simulations.json").unlink()
    with pytest.raises(BedsideError, match=r"simulations\.json: the table is missing"):
        everything(simulated)
    (simulated / "simulations.json").write_bytes(content)


@pytest.mark.parametrize("name", ["manifest.json", "transcripts.jsonl", "states.jsonl", "failed.jsonl"])
@pytest.mark.soak
def test_a_file_of_a_simulation(name: str, simulated: Path) -> None:
    folder, run = simulated.parent / "talks", simulated.parent / "again"

    def scored() -> list[Any]:
        rmtree(run, ignore_errors=True)
        bedside.score([folder], run, metrics=["structure"])
        states = [table.records for table in states_tables(open_ratings_view(run), Run(run).index["id"].to_list())]
        return [Run(run).ratings.rows(), run_simulations(run), states]

    if name == "failed.jsonl" and not (folder / name).stat().st_size:
        pytest.skip("none failed")
    assert silent(folder / name, scored) == []


@pytest.mark.parametrize("name", ["plan.json", "answers.jsonl"])
@pytest.mark.soak
def test_a_file_of_a_plan(name: str, tmp_path: Path) -> None:
    run = new_study(tmp_path, 2)
    plan = rating_plan(run)
    keep(run, plan, levels)
    folder = plan_folder(run, plan)
    assert silent(folder / name, lambda: [read_plan(folder / "plan.json"), read_store(run, plan).answers()]) == []


@pytest.mark.soak
def test_a_plan_by_another_name(tmp_path: Path) -> None:
    """Its ending says nothing to who reads it."""
    file = tmp_path / "drawn"
    write_plan(rating_plan(new_study(tmp_path, 2)), file)
    assert [check.state for check in bedside.verify(file).results] == ["as written"]
    assert silent(file, lambda: read_plan(file)) == []
    assert silent(file, lambda: [check.state for check in bedside.verify(file).results], states=True) == []


@pytest.mark.parametrize("name", ["results.csv", "results.md", "results.tex", "report.html", "written.json"])
@pytest.mark.soak
def test_a_file_of_a_report(name: str, reported: Path, tmp_path: Path) -> None:
    run = Path(copytree(reported, tmp_path / "run"))
    file = run / "report" / name
    sound = [check.state for check in bedside.verify([file, run]).results]
    assert set(sound) == {"as written"}
    assert silent(file, lambda: [check.state for check in bedside.verify([file, run]).results], states=True) == []


def _whole_log(folder: Path) -> list[Any]:
    with opened_log(folder / LOG_FILE) as connection:
        check_rows(connection, "sessions")
    overview = talks_overview(folder)
    return [overview, [conversation_record(folder, name) for name in overview.ids], _replies(folder / LOG_FILE)]


def _replies(log: Path) -> list[Any]:
    with opened_log(log) as connection:
        check_rows(connection, "replies")
        return [tuple(row)[:-1] for row in connection.execute("SELECT * FROM replies")]


@pytest.mark.soak
def test_the_log_of_a_simulation(simulated: Path) -> None:
    folder = simulated.parent / "talks"
    assert silent(folder / LOG_FILE, lambda: _whole_log(folder)) == []


def test_a_log_without_digests_is_read_and_goes_on_with_them(simulated: Path, tmp_path: Path) -> None:
    """A log of format 1, as it was before: the same tables without their last column."""
    folder = Path(copytree(simulated.parent / "talks", tmp_path / "talks"))
    before = _whole_log(folder)
    with closing(sqlite3.connect(folder / LOG_FILE)) as connection, connection:
        for table in ("replies", "plan", "conversations", "sessions"):
            (made,) = connection.execute("SELECT sql FROM sqlite_master WHERE name = ?", (table,)).fetchone()
            plain = re.sub(r",\s*digest TEXT", "", re.sub(r"--[^\n]*", "", made))
            connection.execute(f"ALTER TABLE {table} RENAME TO new_{table}")
            connection.execute(plain)
            kept = ", ".join(name for _, name, *_ in connection.execute(f"PRAGMA table_info({table})"))
            connection.execute(f"INSERT INTO {table} SELECT {kept} FROM new_{table}")
            connection.execute(f"DROP TABLE new_{table}")
        connection.execute("PRAGMA user_version = 1")
    assert _whole_log(folder)[:2] == before[:2]
    ConversationLog(folder / LOG_FILE).close()
    assert _whole_log(folder) == before
    with closing(sqlite3.connect(folder / LOG_FILE)) as connection, connection:
        assert connection.execute("SELECT count(*) FROM replies WHERE digest IS NULL").fetchone() == (0,)
        connection.execute("UPDATE replies SET calls = calls + 1")
    with pytest.raises(BedsideError, match=r"rows of the table replies that aren't as they were written: [0-9]+"):
        talks_overview(folder)


def _tuned(file: Path) -> Callable[[], Any]:
    write_tuned_rubric(RUBRICS.load("empathy"), file)
    return lambda: parse_rubric(file)


def _cast(file: Path) -> Callable[[], Any]:
    write_cast(BenchmarkRequest("note2chat", ("script:brisk",), sample=1).plan, file)
    return lambda: read_cast(file)


def _cascade(file: Path) -> Callable[[], Any]:
    judges = tuple(CascadeJudge(f"judge:{name}", name, 2, {"temperature": 0.5}) for name in "ab")
    own = CascadeMetric((1.0, 2.0, 3.0), (0.75, None), ("ab12", "cd34"))
    write_cascade(Cascade("both", judges, CascadeTerms(0.1, 0.95, 0.0), {"empathy": own}), file)
    return lambda: read_cascade(file)


def _benchmark(file: Path) -> Callable[[], Any]:
    write_record(file.parent, BenchmarkRequest("note2chat", ("script:brisk",), sample=1))
    return lambda: [(read_record(file.parent) or {}).get(key) for key in ("format", "asked", "depends on")]


def _anchors(file: Path) -> Callable[[], Any]:
    drawn = [{"transcript": f"talk-{number}", "stratum": "high", "size": 9} for number in range(5)]
    write_sealed(file, {"anchors": {"judge:m": {"empathy": {"version": "1", "drawn": drawn}}}})
    return lambda: kept_anchors(file.parent.parent)


def _tunings(file: Path) -> Callable[[], Any]:
    entry = {"metric": "empathy", "judge": "judge:m", "asked": {"wordings": 3}, "labels": ["a1", "b2"], "tuned": "x1",
             "date": "2026-01-01", "gain": 0.125, "shown": True}  # fmt: skip
    write_sealed(file, {"tunings": [entry]})
    return lambda: tuning_tries(file.parent, "empathy", ["a1"])


def _learned(file: Path) -> Callable[[], Any]:
    kind = ArrayFileKind("learned rater", "learned rater", "bedside judge learn")
    write_arrays(file, {"weights": np.arange(40.0)}, {"metric": "empathy"}, kind)

    def read() -> Any:
        card, arrays = read_arrays(file, kind)
        return card, {name: array.tolist() for name, array in arrays.items()}

    return read


#: Files that stand for themselves: their name, and what writes one and gives what reads it.
OWN_FILES = {
    "empathy.yaml": _tuned, "cast.yaml": _cast, "cascade.json": _cascade, "benchmark.json": _benchmark,
    "drift/anchors.json": _anchors, "tuning-tries.json": _tunings, "learned.npz": _learned,
}  # fmt: skip


@pytest.mark.parametrize("name", OWN_FILES)
@pytest.mark.soak
def test_a_file_that_stands_for_itself(name: str, tmp_path: Path) -> None:
    file = tmp_path / "own" / name
    file.parent.mkdir(parents=True)
    take = OWN_FILES[name](file)
    assert [check.state for check in bedside.verify(file).results] == ["as written"]
    assert silent(file, take) == []


@pytest.mark.soak
def test_who_rates_what_now(tmp_path: Path) -> None:
    run = new_study(tmp_path, 2)
    plan = rating_plan(run)
    reassign(run, plan, "ben")
    assert silent(plan_folder(run, plan) / "reassigned.json", lambda: as_assigned(run, plan)) == []


def test_files_of_earlier_versions_have_no_seal_and_are_read(tmp_path: Path) -> None:
    for name in ("empathy.yaml", "cascade.json", "tuning-tries.json"):
        file = tmp_path / name
        take = OWN_FILES[name](file)
        before, text = take(), file.read_text("utf-8")
        if file.suffix == ".yaml":
            text = "".join(line for line in text.splitlines(True) if not line.startswith("# SHA-256"))
        else:
            text = json.dumps({key: value for key, value in json.loads(text).items() if key != "seal"})
        file.write_text(text, "utf-8")
        assert take() == before
        assert [check.state for check in bedside.verify(file).results] == ["no digest"]


@pytest.mark.soak
def test_the_list_of_batches_under_way(tmp_path: Path) -> None:
    file = tmp_path / "batches.json"
    kept = BatchRounds(file, [], JudgeSettings(), tmp_path)
    kept._ledger.append(SentBatch("tag", "openai/gpt-4.1", "https://host", "/v1", ["a-1", "b-1"], 1.5, 0.25, "batch_1"))
    kept._keep()
    assert silent(file, lambda: list(map(asdict, BatchRounds(file, [], JudgeSettings(), tmp_path)._ledger))) == []


@pytest.mark.soak
def test_a_store_of_judgements(tmp_path: Path) -> None:
    file = tmp_path / FILE_NAME
    using(file, partial(_finish, 40))
    prompts = sorted({entry.prompt for entry in read_judgements(file)})
    assert silent(file, lambda: [list(read_judgements(file)), [read_prompt(file, own) for own in prompts]]) == []


async def _finish(count: int, store: Store) -> None:
    for number in range(count):
        # No digest is another one with a bit turned over, as numbers are.
        key = hashlib.sha256(b"%d" % number).hexdigest()
        await store.finish(judgement(key, answer={"score": number % 5 + 1}), PIECES, SCHEMA)


def test_verify_names_what_was_changed(call: Call, simulated: Path, tmp_path: Path) -> None:
    """Each file of a run and of a simulation in turn: it alone is named, and the others can be used."""
    for folder in (simulated, simulated.parent / "talks"):
        copy = Path(copytree(folder, tmp_path / folder.name))
        files = [path for path in copy.rglob("*") if path.is_file() and path.stat().st_size]
        whole = f"All {len(list(copy.rglob('*.*')))} files of {copy} are as they were written.\n"
        assert call("verify", str(copy)) == (0, whole, "")
        for file in files:
            content = file.read_bytes()
            middle = len(content) // 2
            file.write_bytes(content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :])
            code, out, _ = call("verify", str(copy))
            assert code == 1, file
            assert out.startswith(f"{file} was changed after it was written: "), out
            if file.suffix != ".json":  # a list that can't be read names no files
                assert f" of {len(files)} files of" in out or f" of {len(files) + 1} files of" in out
            file.write_bytes(content)
        (copy / "notes.txt").write_text("mine", "utf-8")
        assert "Nothing says how notes.txt was written." in call("verify", str(copy))[1]
        (copy / "transcripts.jsonl").unlink(missing_ok=True)
        (copy / "ratings.parquet").unlink(missing_ok=True)
        code, out, _ = call("verify", str(copy))
        assert (code, " is missing: a list of its folder names it." in out) == (1, True)
    assert call("verify", str(tmp_path / "none"))[0] == 2
    assert call("verify", str(tmp_path / "run" / "notes.txt"))[0] == 1


def test_verify_says_of_a_store_without_its_log_that_alone(call: Call, tmp_path: Path) -> None:
    async def work(store: Store) -> None:
        await store.finish(judgement("a"), PIECES, SCHEMA)
        (tmp_path / "copy").mkdir()
        (tmp_path / "copy" / FILE_NAME).write_bytes((tmp_path / FILE_NAME).read_bytes())

    using(tmp_path / FILE_NAME, work)
    code, out, _ = call("verify", str(tmp_path / "copy"))
    log = tmp_path / "copy" / f"{FILE_NAME}-wal"
    assert (code, out.startswith(f"{log} is missing: "), "changed" in out) == (1, True, False)


@pytest.mark.parametrize("entry", [None, 1, [1], {"plan": 3, "revisions": 1}, {"plan": "../../..", "revisions": 1}])
def test_verify_takes_any_manifest(call: Call, tmp_path: Path, entry: object) -> None:
    text = json.dumps({"imports": [entry], "scorings": entry})
    (tmp_path / "manifest.json").write_text(text, "utf-8")
    assert call("verify", str(tmp_path))[0] == 1


def test_one_file_and_one_row_are_said_as_one(call: Call, simulated: Path, tmp_path: Path) -> None:
    (tmp_path / "of one").mkdir()
    _cast(tmp_path / "of one" / "cast.yaml")
    (tmp_path / "of one" / "notes.txt").write_text("mine", "utf-8")
    said = call("verify", str(tmp_path / "of one"))[1]
    assert said.startswith(f"1 file of {tmp_path / 'of one'} is as it was written.\n")
    talks = Path(copytree(simulated.parent / "talks", tmp_path / "talks"))
    with closing(sqlite3.connect(talks / LOG_FILE)) as connection, connection:
        connection.execute("UPDATE plan SET id = id || 'x' WHERE place = 0")
    refusal = pytest.raises(BedsideError, match=r"rows of the table plan that aren't as they were written: 1\b")
    with refusal, opened_log(talks / LOG_FILE) as reading:
        check_rows(reading, "plan")


def talked(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A simulation in which a person was the clinician."""
    paper = Paper("/chart", *[f"Thank you, that is point {n}." for n in range(8)], "")
    monkeypatch.setattr("bedside.simulation.person.TerminalScreen", lambda: paper)
    bedside.simulate(None, "medconceal", folder / "talks", clinician="human:anna", sample=1)
    return folder / "talks"


@pytest.mark.soak
def test_what_people_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    talks = talked(tmp_path, monkeypatch)
    file = talks / "typed.jsonl"
    assert silent(file, lambda: [check.state for check in bedside.verify(talks).results], states=True) == []


def test_verify_knows_what_people_typed(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line changed, one gone from the middle or the end, the whole file gone: it alone is named. So is a lost log."""
    talks = talked(tmp_path, monkeypatch)
    assert call("verify", str(talks)) == (0, f"All 6 files of {talks} are as they were written.\n", "")
    typed = talks / "typed.jsonl"
    lines = typed.read_bytes().splitlines(keepends=True)
    assert len(lines) > 5
    unsealed = {key: value for key, value in json.loads(lines[3]).items() if key != "digest"}
    for changed, finding in (
        ([*lines[:3], lines[3].replace(b"Thank", b"thank"), *lines[4:]], "line 4 or one before it isn't as it was"),
        ([*lines[:3], json.dumps(unsealed).encode() + b"\n", *lines[4:]], "line 4 or one before it isn't as it was"),
        ([*lines[:3], *lines[4:]], "line 4 or one before it isn't as it was"),
        (lines[:-1], f"it has {len(lines) - 1} of {len(lines)} lines"),
    ):
        typed.write_bytes(b"".join(changed))
        code, out, _ = call("verify", str(talks))
        assert code == 1
        assert out.startswith(f"{typed} was changed after it was written: {finding}"), out
    typed.write_bytes(b"".join(lines))
    for file in (typed, talks / "log.sqlite"):
        content = file.read_bytes()
        file.unlink()
        code, out, _ = call("verify", str(talks))
        assert code == 1
        assert out.startswith(f"{file} is missing: "), out
        file.write_bytes(content)
    assert call("verify", str(talks))[0] == 0


def test_lost_counts_of_requests_come_from_a_copy_only(call: Call, simulated: Path, tmp_path: Path) -> None:
    talks = Path(copytree(simulated.parent / "talks", tmp_path / "talks"))
    manifest = json.loads((talks / "manifest.json").read_text())
    manifest["spent"]["patient"]["calls"] += 7
    (talks / "manifest.json").write_text(json.dumps({**manifest, "seal": seal_of(manifest)}))
    code, out, _ = call("verify", str(talks))
    assert code == 1
    assert "7 of 7 requests of the patient" in out
    assert "brings back no count of lost requests" in out


def test_a_table_is_held_against_its_run(call: Call, reported: Path, tmp_path: Path) -> None:
    run = Path(copytree(reported, tmp_path / "run"))
    bedside.report(run, tables=["results"], formats=["csv"], out=tmp_path / "paper")
    for form in ("csv", "md", "tex"):
        table = tmp_path / f"table-1.{form}"
        table.write_bytes((run / "report" / f"results.{form}").read_bytes())
        code, out, _ = call("verify", str(table), str(run))
        assert (code, out.splitlines()[0]) == (0, f"{table} is as it was written from {run} as it is.")
    page = run / "report" / "report.html"
    assert call("verify", str(page))[0] == 0
    content = page.read_bytes()
    page.write_bytes(content.replace(b"<title>", b"<title> ", 1))
    assert "report.html was changed after it was written" in call("verify", str(page), str(run))[1]
    page.write_bytes(content)
    table = tmp_path / "paper" / "results.csv"
    assert call("verify", str(table), str(run))[0] == 0
    ratings = (run / "ratings.parquet").read_bytes()
    (run / "ratings.parquet").write_bytes(ratings + b"1")
    code, out, _ = call("verify", str(table), str(run))
    assert (code, out.splitlines()[0]) == (
        1, f"{table} isn't from the run as it is: {run}/ratings.parquet was changed after it was written."
    )  # fmt: skip
    (run / "ratings.parquet").write_bytes(ratings)
    (tmp_path / "people.csv").write_text("item,rater,metric,value\n" + f"{Run(run).index['id'][0]},zoe,empathy,3\n")
    bedside.import_ratings(run, tmp_path / "people.csv", scales="1-5")
    code, out, _ = call("verify", str(table), str(run))
    assert (
        code,
        out.startswith(f"{table} isn't from the run as it is: it was made when {run} held other ratings"),
    ) == (1, True)
    table.write_bytes(table.read_bytes() + b"1\n")
    assert f"{table} was changed after it was written" in call("verify", str(table), str(run))[1]


def _page(folder: Path) -> tuple[Path, Callable[[], Any]]:
    run = new_study(folder, 2)
    plan, file = rating_plan(run), folder / "page" / "answers.sqlite"
    file.parent.mkdir()
    with closing(PageDatabase(file, plan)) as database:
        for number, (rater, items) in enumerate((rater, plan.assignment[rater]) for rater in plan.raters):
            for place, item in enumerate(items):
                state: State = "draft" if place == 2 else "submitted"
                entry = PageEntry(state, {"empathy": (str(1 + place % 5),)}, {"empathy_reason": ("since",)}, 12.5)
                database.save(item, rater, entry, f"mark-{number:04d}-{place:04d}")

    def read() -> Any:
        with closing(PageDatabase(file, plan)) as database:
            items = [(item, rater) for rater in plan.raters for item in plan.assignment[rater]]
            entries = [database.entry(*own) for own in items]
            return [database.answers(), entries, database.states(plan.raters[0]), database.work(), database.drafts()]

    return file, read


def _people(folder: Path) -> tuple[Path, Callable[[], Any]]:
    file = folder / "page" / "people.sqlite"
    file.parent.mkdir()
    said = plain_yaml(write_study(folder / "of"), "study file", kind=InputError)
    study = StudyFile.model_validate({**said, "parameters": ["PROLIFIC_PID"]})
    with closing(People(file)) as people:
        people.keep_study(study)
        for number in range(6):
            people.enrol(f"key-{number}", {"PROLIFIC_PID": f"id{number}"}, study, [f"s-{at}" for at in range(8)], ())
            people.move(f"p-{number + 1}", "rating", "trained", kappa=0.75)

    def read() -> Any:
        with closing(People(file)) as people:
            return [people.persons(), people.events(), people.study(), people.withdrawn(), people.free_slot(["s-0"])]

    return file, read


@pytest.mark.parametrize("made", [_page, _people])
@pytest.mark.soak
def test_a_database_of_the_page(made: Callable[[Path], tuple[Path, Callable[[], Any]]], tmp_path: Path) -> None:
    file, read = made(tmp_path)
    assert [check.state for check in bedside.verify(file).results] == ["as written"]
    for _ in ("row by row", "as a whole"):
        assert silent(file, read) == []
        before, content = read(), file.read_bytes()
    with closing(sqlite3.connect(file)) as connection, connection:  # as an earlier version has it
        for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            if not table.startswith("sqlite_"):
                connection.execute(f"ALTER TABLE {table} DROP COLUMN seal")
        connection.execute("PRAGMA user_version = 0")
    assert [check.state for check in bedside.verify(file).results] == ["no digest"]
    assert read() == before
    assert [check.state for check in bedside.verify(file).results] == ["as written"]
    file.write_bytes(content)


@pytest.mark.parametrize(
    "change", ["PRAGMA user_version = 0; DELETE FROM revisions WHERE number = 1",  # as earlier versions have it
    "DELETE FROM revisions WHERE item = 'again'", "ALTER TABLE revisions DROP COLUMN seal"],
)  # fmt: skip
def test_an_answer_that_is_gone_from_the_page_is_noticed(change: str, tmp_path: Path) -> None:
    """Also where the page shows a later one, or nothing."""
    file, _ = _page(tmp_path)
    with closing(PageDatabase(file, rating_plan(Run(tmp_path / "run")))) as database:
        database.save("again", "anna", PageEntry("submitted"), "mark-again")
        database.clear(["again"], "anna")
    assert bedside.verify(file).results[0].state == "as written"
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.executescript(change)
    assert "not as it was written: revisions" in bedside.verify(file).results[0].finding


@pytest.mark.parametrize("name", ["manifest.json", "ratings.parquet", "transcripts/000000.parquet", "simulations.json"])
@pytest.mark.parametrize("command", ["report RUN --format csv,md --out COPY", "view RUN --export COPY"])
@pytest.mark.soak
def test_a_command_prints_the_same_or_one_line(
    call: Call, simulated: Path, tmp_path: Path, name: str, command: str
) -> None:
    file, random, copy = simulated / name, Random(11), tmp_path / "copy"
    typed = command.replace("RUN", str(simulated)).replace("COPY", str(copy)).split()

    def printed() -> tuple[int, str, list[bytes]]:
        rmtree(copy, ignore_errors=True)
        code, out, err = call(*typed)
        if code == 2:
            (line,) = [line for line in err.splitlines() if line.startswith("bedside: ")]
            assert str(file) in line
        return code, out, [path.read_bytes() for path in sorted(copy.rglob("*.*")) if path.is_file()]

    content, before = file.read_bytes(), printed()
    for _ in range(budget(3, 200)):
        file.write_bytes(damaged(content, random))
        after = printed()
        assert after[0] == 2 or after == before
    file.write_bytes(content)
