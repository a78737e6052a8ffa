"""The copy as files: what it holds, what it refuses, and that it is there whole or not at all."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from bedside.core.errors import DataError, InputError
from bedside.ratings.run import Run
from bedside.reports.viewer import view_copy
from bedside.reports.viewer.view_copy import MARK, chosen_transcripts, one_script, write_copy
from bedside.reports.viewer.viewed_run import ViewedRun
from tests.conftest import Call, works
from tests.reports.viewer.runs import HOSTILE, HOSTILE_ID

pytestmark = pytest.mark.slow


@pytest.fixture
def viewed(rich: Run) -> ViewedRun:
    return ViewedRun(Path(rich.path))


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def data(folder: Path, name: str) -> Any:
    """What a file of data hands to the page."""
    text = (folder / "data" / f"{name}.js").read_text("utf-8")
    begin = f'bedsideData("{name}", '
    assert text.startswith(begin)
    assert text.endswith(");\n")
    return json.loads(text[len(begin) : -3])


def test_a_copy_holds_what_was_chosen_and_nothing_else(call: Call, rich: Run, tmp_path: Path) -> None:
    chosen = ("--systems", "alpha,beta", "--where", "persona=terse")
    out, _ = works(call, "view", rich.path, "--export", "copy", *chosen)
    files = contents(tmp_path / "copy")
    assert "Wrote 4 conversations to copy/index.html" in out
    assert f"The folder has {len(files)} files and {sum(map(len, files.values())) / 1e6:,.1f} MB." in out
    assert "It holds the conversations themselves" in out
    run = data(tmp_path / "copy", "run")
    assert run["index"]["id"] == ["case-1/alpha", "case-1/beta", "case-3/alpha", "case-3/beta"]
    assert [system["name"] for system in run["systems"]] == ["alpha", "beta"]
    assert not [name for name, content in files.items() if b"case-0" in content or b"gamma" in content]
    assert str(rich.path) not in (tmp_path / "copy" / "index.html").read_text()
    talk = data(tmp_path / "copy", "talks/000/000001")
    assert talk["conversation"]["id"] == "case-1/beta"
    assert len(talk["whole"]) == 4
    # Where the file lay is nobody's business.
    assert str(tmp_path) not in "".join(content.decode() for content in files.values())
    # The other one of the comparison is in the copy too.
    assert [rating["there"] for rating in talk["conversation"]["ratings"] if rating["second"]] == [True]


def test_a_copy_says_what_the_whole_run_comes_to_where_it_holds_it_whole(viewed: ViewedRun, tmp_path: Path) -> None:
    ids = viewed.index["id"].to_list()
    write_copy(viewed, ids, tmp_path / "whole")
    assert data(tmp_path / "whole", "findings") == viewed.findings() != []
    write_copy(viewed, ids[1:], tmp_path / "part")
    assert data(tmp_path / "part", "findings") == []


def test_no_text_can_end_the_script_that_holds_it(viewed: ViewedRun, tmp_path: Path) -> None:
    write_copy(viewed, [HOSTILE_ID], tmp_path / "copy")
    talk = data(tmp_path / "copy", "talks/000/000000")
    assert tuple(turn["text"] for turn in talk["conversation"]["turns"]) == HOSTILE
    for name, content in contents(tmp_path / "copy" / "data").items():
        assert b"<" not in content, name
    page = (tmp_path / "copy" / "index.html").read_text()
    assert "default-src 'none'" in page
    assert "http:" not in page
    assert "module" not in page


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_a_copy_can_be_read_by_its_owner_only(viewed: ViewedRun, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        write_copy(viewed, ["case-1/alpha"], tmp_path / "copy")
    finally:
        os.umask(before)
    for path in (tmp_path / "copy", *(tmp_path / "copy").rglob("*")):
        assert path.stat().st_mode & 0o077 == 0, path


def test_a_sample_is_drawn_by_its_seed(viewed: ViewedRun) -> None:
    every = chosen_transcripts(viewed)
    assert every == viewed.index["id"].to_list()
    drawn = chosen_transcripts(viewed, sample=6, seed=3)
    assert len(set(drawn)) == 6
    assert drawn == [name for name in every if name in set(drawn)]
    assert drawn == chosen_transcripts(viewed, sample=6, seed=3)
    assert any(drawn != chosen_transcripts(viewed, sample=6, seed=seed) for seed in range(4, 9))
    assert chosen_transcripts(viewed, sample=100) == every
    with pytest.raises(DataError, match="no transcript has length 24 and persona terse"):
        chosen_transcripts(viewed, where={"length": ["24"], "persona": ["terse"]})


def test_what_is_no_copy_stays_and_a_copy_is_replaced(viewed: ViewedRun, tmp_path: Path) -> None:
    other = tmp_path / "thesis"
    other.mkdir()
    (other / "chapter.txt").write_text("mine")
    (tmp_path / "file").write_text("mine, too")
    for taken in (other, tmp_path / "file", viewed.path):
        before = sorted(path.name for path in tmp_path.iterdir())
        with pytest.raises(InputError, match="is no copy that bedside view wrote"):
            write_copy(viewed, ["case-1/alpha"], taken)
        assert sorted(path.name for path in tmp_path.iterdir()) == before
    assert (other / "chapter.txt").read_text() == "mine"
    (tmp_path / "copy").mkdir()  # an empty folder will do
    write_copy(viewed, ["case-1/alpha", "case-1/beta"], tmp_path / "copy")
    write_copy(viewed, ["case-2/alpha"], tmp_path / "copy")
    assert data(tmp_path / "copy", "run")["index"]["id"] == ["case-2/alpha"]
    assert not (tmp_path / "copy" / "data" / "talks" / "000" / "000001.js").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy", "file", "thesis"]


def test_what_fails_halfway_leaves_what_was_there(
    viewed: ViewedRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_copy(viewed, ["case-1/alpha"], tmp_path / "copy")
    before = contents(tmp_path / "copy")

    def fail(*arguments: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(view_copy, "_write_talks", fail)
        for folder in ("copy", "new"):
            with pytest.raises(KeyboardInterrupt):
                write_copy(viewed, ["case-2/alpha"], tmp_path / folder)
    assert contents(tmp_path / "copy") == before
    assert [path.name for path in tmp_path.iterdir()] == ["copy"]


def test_the_same_copy_twice_is_the_same_bytes(viewed: ViewedRun, tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_copy(viewed, chosen_transcripts(viewed), tmp_path / name)
    assert contents(tmp_path / "a") == contents(tmp_path / "b")
    assert json.loads((tmp_path / "a" / MARK).read_text())["transcripts"] == 15


def test_modules_become_one_script() -> None:
    script = one_script({
        "a.js": "export const x = 1;\nexport async function y() {}\nfunction hidden() {}\n",
        "b.js": 'import { x, y } from "./a.js";\nexport class Z {}\n',
    })  # fmt: skip
    assert "modules.a = (() => {\nconst x = 1;\nasync function y() {}" in script
    assert "return { x, y };" in script
    assert "const { x, y } = modules.a;\nclass Z {}" in script
    assert "import" not in script
    assert "export" not in script
