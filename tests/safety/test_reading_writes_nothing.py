"""Questions write nothing into the folder that they read, and follow no link that stands in it."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import socket
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import bedside
from bedside.annotation.plan_file import write_plan
from bedside.annotation.rating_page.page_folder import page_folder
from bedside.core.errors import RunError
from bedside.core.files import address_to_read
from bedside.judges.store import open_to_read, open_to_write
from bedside.ratings.run import Run, write_manifest
from tests.annotation.study import EMPATHY, rating_plan

Call = Callable[..., tuple[int, str, str]]
#: What is asked of a run.
QUESTIONS = (
    "agree run --confusion",
    "validate run",
    "estimate run",
    "compare run --systems steady,careless",
    "compare run --over messages",
    "compare run --against run --metrics turns",
    "explain run --cell empathy/steady",
    "judge answers list run",
    "verify run",
    "view run --export copy",
    "report run --out elsewhere --format md",
    "export run --to csv-folder --licence cc-by-4.0 --origin simulated --out exported",
    "merge run other --out merged",
)


def state(folder: Path) -> dict[str, tuple[int, str, str]]:
    """When each file and folder was changed, what it holds, and where a link leads."""
    return {
        str(path.relative_to(folder)): (
            path.lstat().st_mtime_ns,
            os.readlink(path) if path.is_symlink() else "",
            hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() and not path.is_symlink() else "",
        )
        for path in (folder, *sorted(folder.rglob("*")))
    }


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that people and a judge rated, with a store of judgements."""
    folder = tmp_path_factory.mktemp("read") / "run"
    run = bedside.score(bedside.EXAMPLES / "transcripts.jsonl", folder, metrics=["structure"]).run
    bedside.import_ratings(run, bedside.EXAMPLES / "ratings.csv", scales="1-5")
    table = pl.read_csv(bedside.EXAMPLES / "ratings.csv").filter(pl.col("rater") == "anna")
    table.with_columns(pl.lit("judge:m").alias("rater")).write_csv(folder.parent / "judge.csv")
    bedside.import_ratings(run, folder.parent / "judge.csv", scales="1-5")
    open_to_write(folder / "judgements.sqlite").close()
    return folder


@pytest.fixture
def place(study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(study, tmp_path / "run")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def pending(run: Path, *, moved: bool) -> tuple[Path, int]:
    """A change that is on disk whole, as a killed process leaves it: all of it, or its ratings in place already."""
    change = run / ".change"
    change.mkdir()
    table = pl.read_parquet(run / "ratings.parquet")
    new = pl.concat([table, table.head(1).with_columns(pl.lit("human:new").alias("rater"))])
    manifest = json.loads((run / "manifest.json").read_text("utf-8"))
    new.write_parquet(change / "ratings.parquet")
    write_manifest(change, {**manifest, "settled": True}, others=manifest["files"])
    if moved:
        (change / "ratings.parquet").replace(run / "ratings.parquet")
    return change, new.height


@pytest.mark.slow
@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_changes_nothing(call: Call, place: Path, question: str) -> None:
    bedside.score(bedside.EXAMPLES / "transcripts.jsonl", place / "other", metrics=["structure"])
    for unsettled in (False, True):
        if unsettled:
            pending(place / "run", moved=False)
        before = state(place / "run")
        code, _, err = call(*question.split())
        assert code == 0, err
        after = state(place / "run")
        if question.startswith("merge"):  # which holds the run meanwhile, with a file that goes again
            before["."] = after["."]
        assert after == before
        for made in ("copy", "elsewhere", "exported", "merged"):
            shutil.rmtree(place / made, ignore_errors=True)


@pytest.mark.parametrize("moved", [False, True])
def test_a_reader_reads_a_change_where_it_stands_and_a_writer_puts_it_in_place(place: Path, moved: bool) -> None:
    change, height = pending(place / "run", moved=moved)
    before = state(place / "run")
    run = Run(place / "run")
    assert run.ratings.height == height
    assert run.manifest["settled"] is True
    assert state(place / "run") == before
    with run.locked():
        assert not change.exists()
    assert run.ratings.height == Run(place / "run").ratings.height == height
    assert Run(place / "run").manifest["settled"] is True


#: Where links stand in a received folder, and what they lead to.
LINKS = (
    (".change", "../mine"),
    ("manifest.json", "../mine/manifest.json"),
    ("ratings.parquet", "../mine/ratings.parquet"),
    ("transcripts", "../mine/transcripts"),
    ("transcripts/000000.parquet", "../../mine/ratings.parquet"),
    ("judgements.sqlite", "../nowhere.sqlite"),
    ("report", "../mine"),
    ("tables", "../mine"),
    ("annotations", "../mine"),
    (".lock", "../mine/manifest.json"),
    ("simulations.json", "../mine/manifest.json"),
    ("drift/anchors.json", "../../mine/manifest.json"),
    ("report/written.json", "../../mine/manifest.json"),
)


#: Commands on a run in which a link or what is no file stands, beside those that print tables of it.
ALSO_REFUSED = (
    *QUESTIONS[2:4],
    *QUESTIONS[6:8],
    "judge answers merge run mine",
    QUESTIONS[11],
    "merge mine run --out merged",
    "sign run --key study.key",
    "forget run --rater anna",
    "annotate import plan.json people.csv --run run",
    "annotate page plan.json --collect --run run",
    "annotate people plan.json --withdraw anna --run run",
)


@pytest.mark.parametrize(("name", "leads"), LINKS)
def test_no_link_in_a_run_is_followed(call: Call, place: Path, name: str, leads: str) -> None:
    """Before, agree moved the manifest and the ratings of another run into the folder that it read."""
    with_plan(place)
    link = place / "run" / name
    link.parent.mkdir(exist_ok=True)
    if link.is_dir():
        shutil.rmtree(link)
    else:
        link.unlink(missing_ok=True)
    link.symlink_to(leads)
    before = {folder: state(place / folder) for folder in ("mine", "run")}
    (place / "people.csv").write_text("item,rater,metric,value\nsteady-sleep,zoe,empathy,3\n", "utf-8")
    for command in (
        "agree run",
        "validate run",
        "verify run",
        "report run",
        "view run --export copy",
        "merge run mine --out merged",
        "ratings import run people.csv",
        f"score {bedside.EXAMPLES / 'transcripts.jsonl'} --metrics readability --out run",
        "sample run --raters anna,ben --rubrics empathy",
        *ALSO_REFUSED,
    ):
        code, _, err = call(*command.split())
        assert code == 2, command
        lines = [line for line in err.splitlines() if line.startswith("bedside: ")]
        assert len(lines) == 1, err
        assert "a link stands in the folder of " in lines[0]
        assert str(Path("run") / name) in lines[0]
        assert {folder: state(place / folder) for folder in ("mine", "run")} == before, command
    assert not (place / "nowhere.sqlite").exists()


def with_plan(place: Path) -> Path:
    """A copy of the run, a plan of it with a page, and a key."""
    shutil.copytree(place / "run", place / "mine")
    run = Run(place / "run")
    plan = rating_plan(run, rubrics=(EMPATHY,))
    write_plan(plan, place / "plan.json")
    (place / "study.key").write_bytes(bytes(range(32)))
    (place / "study.key").chmod(0o600)
    page_folder(run, plan).make()
    return page_folder(run, plan).path


def put(path: Path, kind: str) -> None:
    """Something that is no file."""
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(os.path.relpath(path))
    elif os.geteuid() == 0:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 5))
    else:
        pytest.skip("only who may make a device can put one there")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no such thing in a folder")
@pytest.mark.parametrize("kind", ["pipe", "socket", "device"])
@pytest.mark.parametrize(
    "name", ["manifest.json", "ratings.parquet", "transcripts/000000.parquet", "report/written.json"]
)
def test_nothing_in_a_run_is_waited_for(call: Call, place: Path, name: str, kind: str) -> None:
    with_plan(place)
    put(place / "run" / name, kind)
    for command in ("agree run", "verify run", "report run", "view run --export copy", *ALSO_REFUSED):
        code, _, err = call(*command.split())
        assert (code, str(Path("run") / name) in err, err.count("bedside: ")) == (2, True, 1), command
    put(place / "alone", kind)
    assert "alone: it is neither a file nor a folder" in call("verify", "alone")[2]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no such thing in a folder")
@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("talks/manifest.json", "score talks --metrics turns --out scored"),
        ("elsewhere/written.json", "report run --format md --out elsewhere"),
        ("exported/.bedside-export", QUESTIONS[11]),
        ("copy/bedside-view.json", "view run --export copy"),
    ],
)
def test_nothing_beside_a_run_is_waited_for(call: Call, place: Path, name: str, command: str) -> None:
    put(place / name, "pipe")
    shutil.copy(bedside.EXAMPLES / "transcripts.jsonl", (place / name).parent)
    code, _, err = call(*command.split())
    assert (code, err.count("bedside: ")) in ((0, 0), (2, 1)), err


@pytest.mark.parametrize("name", ["answers.sqlite", "people.sqlite", "links.json", "collection.lock"])
def test_no_link_in_the_folder_of_a_page_is_followed(call: Call, place: Path, name: str) -> None:
    page = with_plan(place)
    (page / name).symlink_to(place / "elsewhere")
    for command in ("page plan.json --collect", "page plan.json --links", "people plan.json --withdraw anna"):
        code, _, err = call("annotate", *command.split(), "--run", "run")
        assert (code, "a link stands in the folder of a rating page" in err) == (2, True), f"{command}: {err}"
    assert not (place / "elsewhere").exists()


def test_a_run_that_a_link_leads_to_is_read(place: Path) -> None:
    (place / "shortcut").symlink_to("run")
    assert Run(place / "shortcut").ratings.height == Run(place / "run").ratings.height


@pytest.mark.slow
def test_a_simulation_is_read_as_it_is_and_not_gone_on_with_through_a_link(call: Call, place: Path) -> None:
    simulate = ("simulate", "--protocol", "note2chat", "--clinician", "script:brisk", "--sample", "1", "--out", "talks")
    assert call(*simulate)[0] == 0
    before = state(place / "talks")
    assert call("simulate", "status", "talks")[0] == 0
    assert call("score", "talks", "--metrics", "turns", "--out", "scored")[0] == 0
    assert call("report", "scored", "--format", "md")[0] == 0
    assert state(place / "talks") == before
    (place / "talks" / "log.sqlite").rename(place / "elsewhere.sqlite")
    (place / "talks" / "log.sqlite").symlink_to("../elsewhere.sqlite")
    there = (place / "elsewhere.sqlite").read_bytes()
    code, _, err = call(*simulate)
    assert (code, "a link stands in the folder of a simulation" in err) == (2, True)
    assert (place / "elsewhere.sqlite").read_bytes() == there


@pytest.mark.slow
@pytest.mark.parametrize("name", ["manifest.json", "transcripts.jsonl", "states.jsonl", "log.sqlite", "notes", ".lock"])
def test_no_link_in_a_simulation_is_followed(call: Call, place: Path, name: str) -> None:
    simulate = "simulate --protocol note2chat --clinician script:brisk --sample 1 --out talks"
    assert call(*simulate.split())[0] == 0
    link, elsewhere = place / "talks" / name, place / "elsewhere"
    elsewhere.mkdir()
    if link.is_file():
        link.rename(elsewhere / name)
    link.symlink_to(elsewhere / name)
    before = state(elsewhere), state(place / "talks")
    for command in (
        "simulate status talks", "simulate failed talks", "score talks --metrics turns --out scored", "verify talks",
        simulate,
    ):  # fmt: skip
        code, _, err = call(*command.split())
        assert (code, "a link stands in the folder of " in err) == (2, True), f"{command}: {err}"
        assert (state(elsewhere), state(place / "talks")) == before, command


def test_a_store_that_is_a_link_is_not_written(tmp_path: Path) -> None:
    (tmp_path / "judgements.sqlite").symlink_to("elsewhere.sqlite")
    with pytest.raises(RunError, match="is a link"):
        open_to_write(tmp_path / "judgements.sqlite")
    assert not (tmp_path / "elsewhere.sqlite").exists()


@pytest.mark.parametrize("kept", [("-wal", "-shm"), ("-wal",)])
def test_what_a_killed_judge_left_is_read_and_left(tmp_path: Path, kept: tuple[str, ...]) -> None:
    """SQLite puts it into the database when it is next opened to be written, and makes files to do so."""
    made, store = tmp_path / "made", tmp_path / "received"
    made.mkdir()
    store.mkdir()
    connection = open_to_write(made / "judgements.sqlite")
    connection.execute("PRAGMA wal_autocheckpoint = 0")
    connection.execute("INSERT INTO claims VALUES ('key', 'owner')")
    for end in ("", *kept):
        shutil.copyfile(made / f"judgements.sqlite{end}", store / f"judgements.sqlite{end}")
    connection.close()
    before = {path.name: path.read_bytes() for path in store.iterdir() if not path.name.endswith("-shm")}
    reader = open_to_read(store / "judgements.sqlite")
    assert [key for (key,) in reader.execute("SELECT key FROM claims")] == ["key"]
    reader.close()
    after = {path.name: path.read_bytes() for path in store.iterdir() if not path.name.endswith("-shm")}
    assert after == before
    assert {path.name for path in store.iterdir()} == {f"judgements.sqlite{end}" for end in ("", *kept)}


def test_a_store_that_nobody_writes_is_read_alone(tmp_path: Path) -> None:
    path = tmp_path / "judgements.sqlite"
    open_to_write(path).close()
    reader = sqlite3.connect(address_to_read(path), uri=True)
    assert reader.execute("PRAGMA user_version").fetchone()[0] > 0
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    reader.close()
