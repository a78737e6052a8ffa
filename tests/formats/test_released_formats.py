"""What each released version wrote is read, and what is written now has a format of its own where it differs."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import polars as pl
import pytest
import yaml

import bedside
from bedside.annotation import plan_file
from bedside.annotation.plan_file import PlanError, read_plan
from bedside.annotation.rating_page import page_database, study_people
from bedside.annotation.rating_page.page_database import PageDatabase
from bedside.annotation.rating_page.study_people import People
from bedside.api.benchmarking import read_record
from bedside.core.errors import BedsideError, InputError, RunError
from bedside.core.files import Format, read_sealed, seal_of, write_sealed
from bedside.judges import store
from bedside.judges.llm.provider_batches import BatchRounds
from bedside.judges.rubrics.rubric_files import parse_rubric
from bedside.judges.settings import JudgeSettings
from bedside.judges.store import read_judgements
from bedside.metrics.coders.learned import trained_coder
from bedside.metrics.coders.learned.trained_coder import load_coder
from bedside.ratings import run as runs
from bedside.ratings.run import Run, write_manifest
from bedside.ratings.table import in_round
from bedside.reports.viewer.viewed_run import ViewedRun
from bedside.simulation import conversation_log
from bedside.simulation.conversation_log import check_log
from bedside.simulation.simulation_plan import read_cast
from bedside.transcripts import simulation_folder
from bedside.tuning import learned_rater
from bedside.tuning.cascade import read_cascade
from bedside.tuning.judge_drift import kept_anchors
from bedside.tuning.learned_rater import load_rater
from bedside.tuning.probes.probe_record import probe_records
from bedside.tuning.tuning_ledger import tuning_tries
from tests.formats.make import HERE, make
from tests.safety.test_reading_writes_nothing import state

Call = Callable[..., tuple[int, str, str]]
RELEASES = sorted((path for path in HERE.glob("*.*.*")), key=lambda path: [*map(int, path.name.split("."))])
#: Commands that read.
COMMANDS = (
    "agree run --confusion",
    "validate run",
    "estimate run",
    "compare run",
    "compare run --over messages",
    "explain run --cell empathy/GPT-Secret",
    "judge answers list run",
    "annotate status plan.json --run run",
    "annotate revisions plan.json --run run",
    "simulate status talks",
    "simulate failed talks",
    "score talks --metrics turns --out scored",
    "verify run plan.json talks own/empathy.yaml own/cast.yaml own/cascade.json own/benchmark.json",
    "view run --export copy",
    "report run --out elsewhere --format md",
    "export run --to csv-folder --licence cc-by-4.0 --origin simulated --out exported",
    "merge run other --out merged",
)


@pytest.fixture(params=RELEASES, ids=lambda path: path.name)
def released(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return Path(shutil.copytree(request.param, tmp_path / "released"))


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_reads_what_a_release_wrote(
    released: Path, command: str, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(released)
    before = {name: state(released / name) for name in ("run", "talks", "own")}
    if command.startswith("merge"):
        bedside.score(bedside.EXAMPLES / "transcripts.jsonl", "other", metrics=["structure"])
    code, out, err = call(*command.split())
    assert code == 0, out + err
    after = {name: state(released / name) for name in before}
    if command.startswith("merge"):  # which holds the run meanwhile, with a file that goes again
        before["run"]["."] = after["run"]["."]
    assert after == before


def test_what_has_no_command_of_its_own_is_read(released: Path) -> None:
    own, run = released / "own", Run(released / "run")
    assert len(list(run.transcripts())) == run.index.height == 8
    assert len(list(read_judgements(run.path / "judgements.sqlite"))) == 2
    assert len(probe_records(run.path)) == 1
    plan = read_plan(released / "plan.json", run)
    with closing(PageDatabase(released / "page.sqlite", plan)) as page:
        assert page.entry(plan.items[0].id, "anna").version == 1
    People(released / "people.sqlite").close()
    assert [batch.tag for batch in BatchRounds(released / "batches.json", [], JudgeSettings(), own)._ledger]
    check_log(released / "talks" / "log.sqlite")
    assert parse_rubric(own / "empathy.yaml").name == "empathy"
    assert read_cast(own / "cast.yaml")
    assert len(read_cascade(own / "cascade.json").judges) == 2
    assert read_record(own) is not None
    assert kept_anchors(own)["judge:m"]
    assert len(tuning_tries(own, "empathy", ["a1"])) == 1
    assert load_rater(own / "rater.npz").card["metric"] == "empathy"
    assert load_coder(own / "coder.npz").card["name"] == "tiny"


# -- is what is written now the same? -------------------------------------------------------------------


def described(folder: Path) -> dict[str, Any]:
    """The form of each file: columns with their types, keys, tables; never a value."""
    return {
        re.sub(r"[0-9a-f]{12}", "PLAN", path.relative_to(folder).as_posix()): _form(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def _form(path: Path) -> Any:
    if path.suffix == ".parquet":
        return {name: str(kind) for name, kind in pl.read_parquet_schema(path).items()}
    if path.suffix == ".sqlite":
        with closing(sqlite3.connect(f"file:{path}?immutable=1", uri=True)) as connection:
            tables = connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name").fetchall()
        return [" ".join(re.sub("--.*", "", sql).split()) for (sql,) in tables]
    if path.suffix == ".npz":
        with np.load(path) as arrays:
            card = orjson.loads(bytes(arrays["card"]))
            return [sorted(set(_keys(card))), {name: str(arrays[name].dtype) for name in arrays.files}]
    if path.suffix == ".jsonl":
        lines = path.read_text("utf-8").splitlines()
        return sorted({key for line in lines for key in _keys(json.loads(line))})
    if path.suffix in (".json", ".yaml"):
        return sorted(set(_keys(yaml.safe_load(path.read_text("utf-8")))))
    return path.read_text("utf-8").partition("\n")[0]


def _keys(value: Any, at: str = "") -> Iterator[str]:
    """Every key with the type of what stands under it; names that are values, of libraries or items, are one."""
    if isinstance(value, dict):
        for key, part in value.items():
            name = "*" if re.search(r"libraries|assignment|missing|files\b|digests", at) or not _plain(key) else key
            yield from _keys(part, f"{at}.{name}")
    elif isinstance(value, list):
        for part in value:
            yield from _keys(part, f"{at}[]")
    else:
        yield f"{at}: {'number' if type(value) in (int, float) else type(value).__name__}"


def _plain(key: str) -> bool:
    return re.fullmatch(r"[a-z][a-z_ ]*", key) is not None


def number(folder: Path, name: str) -> int:
    """The number of a file's format."""
    path = folder / name
    if path.suffix == ".sqlite":
        with closing(sqlite3.connect(f"file:{path}?immutable=1", uri=True)) as connection:
            return int(connection.execute("PRAGMA user_version").fetchone()[0])
    file = path if path.suffix == ".json" else folder / Path(name).parts[0] / "manifest.json"
    return int(json.loads(file.read_text("utf-8")).get("format", 1)) if file.is_file() else 1


@pytest.mark.slow
def test_what_is_written_now_is_of_the_last_frozen_format(tmp_path: Path) -> None:
    """Another form needs another number, and then a folder of its own: ``python -m tests.formats.make VERSION``."""
    make(tmp_path / "now")
    frozen, now = described(RELEASES[-1]), described(tmp_path / "now")
    other = {name for name in frozen.keys() | now.keys() if frozen.get(name) != now.get(name)}
    same = {name for name in other & frozen.keys() & now.keys() if "PLAN" not in name}
    unnumbered = {name for name in same if number(RELEASES[-1], name) == number(tmp_path / "now", name)}
    assert not unnumbered, "written otherwise under the same number"
    assert not other, "freeze the new format"


def test_another_form_is_seen(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(RELEASES[-1], tmp_path / "now"))
    before = described(folder)
    pl.read_parquet(folder / "run/ratings.parquet").with_columns(weight=pl.lit(1.0)).write_parquet(
        folder / "run/ratings.parquet"
    )
    manifest = json.loads((folder / "run/manifest.json").read_text("utf-8"))
    (folder / "run/manifest.json").write_text(json.dumps({**manifest, "place": "here"}), "utf-8")
    with closing(sqlite3.connect(folder / "run/judgements.sqlite")) as connection:
        connection.execute("ALTER TABLE judgements ADD COLUMN mood TEXT")
    after = described(folder)
    assert {name for name in before if after[name] != before[name]} == {
        "run/ratings.parquet", "run/manifest.json", "run/judgements.sqlite"
    }  # fmt: skip


def test_the_page_has_the_numbers_that_are_written() -> None:
    page = (HERE.parents[1] / "docs" / "ratings-and-runs.md").read_text("utf-8")
    rows = re.findall(r"^\| ([^|]+) \| (\d)(?:, reads from (\d))? \| ", page, re.M)
    shown = {what: (int(version), int(oldest or version)) for what, version, oldest in rows}
    for what, form in {
        "run": runs.FORMAT, "store of judgements": store.FORMAT, "plan": plan_file.FORMAT,
        "log of a simulation": conversation_log.FORMAT, "learned rater, trained coder": learned_rater.FORMAT,
    }.items():  # fmt: skip
        assert shown[what] == (form.version, form.oldest), what
    for form in (simulation_folder.FORMAT, page_database.FORMAT, study_people.FORMAT, trained_coder.FORMAT):
        assert form.version == 1


# -- another number ---------------------------------------------------------------------------------------


def _renumbered(file: Path, version: int) -> None:
    if file.suffix == ".sqlite":
        with closing(sqlite3.connect(file)) as connection:
            connection.execute(f"PRAGMA user_version = {version}")
        return
    value = {**json.loads(file.read_text("utf-8")), "format": version}
    file.write_text(json.dumps({**value, "seal": seal_of(value)}), "utf-8")


#: What each file is read by.
READERS: dict[str, Callable[[Path], object]] = {
    "run/manifest.json": lambda file: Run(file.parent),
    "run/judgements.sqlite": lambda file: list(read_judgements(file)),
    "run/probes.json": lambda file: probe_records(file.parent),
    "plan.json": read_plan,
    "page.sqlite": lambda file: PageDatabase(file, read_plan(file.with_name("plan.json"))),
    "people.sqlite": People,
    "batches.json": lambda file: BatchRounds(file, [], JudgeSettings(), file.parent),
    "talks/manifest.json": lambda file: bedside.score(file.parent, file.parents[1] / "scored", metrics=["turns"]),
    "talks/log.sqlite": check_log,
    "own/cascade.json": read_cascade,
    "own/benchmark.json": lambda file: read_record(file.parent),
    "own/drift/anchors.json": lambda file: kept_anchors(file.parents[1]),
    "own/tuning-tries.json": lambda file: tuning_tries(file.parent, "empathy", []),
}


@pytest.mark.parametrize("name", READERS)
def test_a_newer_format_is_refused_in_one_line(name: str, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(RELEASES[-1], tmp_path / "newer"))
    _renumbered(folder / name, 99)
    with pytest.raises(BedsideError, match="made by a newer bedside") as refused:
        READERS[name](folder / name)
    assert refused.value.todo == "update bedside"
    assert isinstance(refused.value, RunError | InputError | PlanError)
    assert "\n" not in str(refused.value)


def test_an_unreleased_format_is_refused_with_what_can_be_done_and_that_works(call: Call, tmp_path: Path) -> None:
    for name in ("old", "NEW_RUN"):
        bedside.score(bedside.EXAMPLES / "transcripts.jsonl", tmp_path / name, metrics=["structure"])
    bedside.import_ratings(tmp_path / "old", bedside.EXAMPLES / "ratings.csv", scales="1-5")
    people = Run(tmp_path / "old").ratings.filter(pl.col("rater").str.starts_with("human:"))
    _renumbered(tmp_path / "old" / "manifest.json", 0)
    with pytest.raises(RunError, match="not made by bedside"):
        Run(tmp_path / "old")
    _renumbered(tmp_path / "old" / "manifest.json", 2)
    with pytest.raises(RunError, match="before the first release") as refused:
        Run(tmp_path / "old")
    (command,) = re.findall(r"bedside (ratings import \S+) RUN/(\S+)", str(refused.value.todo))
    assert call(*command[0].split(), f"old/{command[1]}")[0] == 0
    now = Run(tmp_path / "NEW_RUN").ratings.filter(pl.col("rater").str.starts_with("human:"))
    assert now.height == people.height
    assert now["value"].sum() == people["value"].sum()


def test_a_sealed_file_of_a_format_that_is_read(tmp_path: Path) -> None:
    for version, fits in ((0, False), (1, True), (2, True), (3, False)):
        write_sealed(tmp_path / "f.json", {"format": version, "a": 1})
        if fits:
            assert read_sealed(tmp_path / "f.json", "file", version=2)["a"] == 1
        else:
            with pytest.raises(RunError, match=f"its format is {version}, this bedside reads 1 to 2"):
                read_sealed(tmp_path / "f.json", "file", version=2)


# -- an earlier format moves forward --------------------------------------------------------------------


def _later(name: str, content: Any) -> Any:
    """What the change of 22 November 2026 did to a run: a rating says its round, and the chance it was drawn with."""
    if name == "ratings.parquet":
        assert "round" not in content.collect_schema(), "taken twice"
        return in_round(content)
    return content.with_columns(source=pl.col("source").fill_null("")) if name == "transcripts" else content


@pytest.fixture
def earlier(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A run as it was before that change, and the run as it is now."""
    now = bedside.score(bedside.EXAMPLES / "transcripts.jsonl", tmp_path / "now", metrics=["structure"]).run
    folder = Path(shutil.copytree(now.path, tmp_path / "before"))
    pl.read_parquet(folder / "ratings.parquet").drop("round", "drawn").write_parquet(folder / "ratings.parquet")
    write_manifest(folder, {**now.manifest, "format": 2})
    monkeypatch.setattr(runs, "FORMAT", Format("run", 3, oldest=2, steps={2: _later}))
    return now


def test_an_earlier_run_is_read_as_a_present_one_and_nothing_is_written(earlier: Run, call: Call) -> None:
    folder = earlier.path.with_name("before")
    before = state(folder)
    run = Run(folder)
    assert run.ratings.equals(earlier.ratings)
    assert list(run.transcripts()) == list(earlier.transcripts())
    assert ViewedRun(folder).index.drop("file").equals(ViewedRun(earlier.path).index.drop("file"))
    asked = [call("compare", name, "--systems", "steady,careless", "--json")[:2] for name in ("before", "now")]
    assert [json.loads(out.replace("before", "now")) for _, out in asked] == [json.loads(asked[1][1])] * 2
    assert state(folder) == before


def test_a_writer_moves_an_earlier_run_forward_as_one_change(earlier: Run) -> None:
    folder = earlier.path.with_name("before")
    reader = Run(folder)
    with Run(folder).locked():
        pass
    assert reader.ratings.equals(earlier.ratings)
    assert list(reader.transcripts()) == list(earlier.transcripts())
    moved = json.loads((folder / "manifest.json").read_text("utf-8"))
    assert moved["format"] == 3
    assert pl.read_parquet(folder / "ratings.parquet").equals(earlier.ratings)
    assert all(check.state == "as written" for check in bedside.verify(folder).results)
    bedside.import_ratings(folder, bedside.EXAMPLES / "ratings.csv", scales="1-5")
    bedside.import_ratings(earlier, bedside.EXAMPLES / "ratings.csv", scales="1-5")
    assert Run(folder).ratings.equals(Run(earlier.path).ratings)
    assert list(Run(folder).transcripts()) == list(earlier.transcripts())
