"""A file that is gone from a folder that bedside wrote is named by ``verify``, or is one that stands for itself."""

from __future__ import annotations

from contextlib import chdir, closing
from pathlib import Path
from shutil import copytree, rmtree

import pytest

import bedside
from bedside.annotation.plan_file import read_plan
from bedside.annotation.rating_page.page_database import PageDatabase
from bedside.annotation.rating_page.page_folder import page_folder
from bedside.annotation.rating_page.study_people import People
from bedside.annotation.reassignment import reassign
from bedside.ratings.run import Run
from tests.annotation.study import new_study, rating_plan
from tests.formats.make import HERE, _rated
from tests.safety.test_changed_files import talked


def unnoticed(folder: Path) -> set[str]:
    """The files of a folder that can be gone without a word; all others are named as what is missing, alone."""
    silent = set()
    for file in (path for path in folder.rglob("*") if path.is_file() and not path.name.startswith(".")):
        content = file.read_bytes()
        file.unlink()
        missing = [check.path for check in bedside.verify(folder).results if check.state == "missing"]
        file.write_bytes(content)
        assert missing in ([], [str(file)])
        silent |= set() if missing else {file.relative_to(folder).as_posix()}
    assert all(check.state in ("as written", "no digest") for check in bedside.verify(folder).results)
    return silent


@pytest.fixture
def rated(tmp_path: Path) -> Path:
    """A run that people and a judge rated, that was probed and reported, with a plan whose items others took over."""
    with chdir(tmp_path):
        run = new_study(Path(), 4)
        _rated(run)
        reassign(Run(run.path), rating_plan(run, raters=("dora", "emil")), "emil", ["fay"])
    return tmp_path / run.path


def test_of_a_run(rated: Path, tmp_path: Path) -> None:
    assert Run(rated).seal in (rated / "report" / "written.json").read_text("utf-8"), "of which its tables are"
    assert unnoticed(rated) == set()
    bedside.score(bedside.EXAMPLES / "transcripts.jsonl", tmp_path / "other", metrics=["structure"])
    merged = bedside.merge([rated, tmp_path / "other"], tmp_path / "merged").run.path
    assert unnoticed(merged) == set()
    released = Path(copytree(HERE / "0.1.0" / "run", tmp_path / "released"))
    assert unnoticed(released) == {"probes.json", "judgements.sqlite"}, "a manifest of then doesn't name them"


def test_of_a_simulation_and_its_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    talks = talked(tmp_path, monkeypatch)
    bedside.score([talks], tmp_path / "run", metrics=["structure"])
    assert unnoticed(talks) == unnoticed(tmp_path / "run") == set()


def test_of_a_benchmark_an_export_and_a_report_elsewhere(tmp_path: Path) -> None:
    bedside.benchmark("note2chat", tmp_path / "bench", clinician="script:brisk", sample=1)
    rmtree(tmp_path / "bench" / "run" / "report")
    assert unnoticed(tmp_path / "bench") == {"benchmark.json"}
    run = tmp_path / "bench" / "run"
    bedside.export(run, "csv-folder", out=tmp_path / "shared", licence="cc-by-4.0", origin="simulated")
    bedside.report(run, tables=["results"], formats=["csv", "md"], out=tmp_path / "paper")
    assert (unnoticed(tmp_path / "shared"), unnoticed(tmp_path / "paper")) == (set(), {"written.json"})
    (tmp_path / "paper" / "written.json").unlink()
    assert {check.state for check in bedside.verify(tmp_path / "paper").results} == {"no digest"}


def test_of_a_rating_page(rated: Path) -> None:
    plan = read_plan(rated.parent / "plan.json")
    folder = page_folder(Run(rated), plan)
    folder.make()
    People(folder.people).close()
    with closing(PageDatabase(folder.database, plan)):
        folder.remember_address("http://127.0.0.1:1")
    assert unnoticed(folder.path) == {"people.sqlite", "place.json"}
