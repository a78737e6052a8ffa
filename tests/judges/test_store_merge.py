"""Merging stores: nothing lost, nothing twice, in any order, killed at any moment."""

from __future__ import annotations

import asyncio
import itertools
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from bedside.core.errors import RunError
from bedside.judges import store_merge as merging
from bedside.judges.store import (
    LATER_COLUMNS,
    InUseError,
    Judgement,
    Store,
    open_to_write,
    read_judgements,
    read_prompt,
)
from bedside.judges.store_merge import Merged, first_asked_about, merge_store
from tests.judges.test_store import PIECES, SCHEMA, judgement

ROOT = Path(__file__).parents[2]


def fill(path: Path, judgements: Sequence[Judgement], *, text: bool = True) -> Path:
    async def write() -> None:
        store = Store(path, text=text)
        try:
            await asyncio.gather(*(store.finish(each, PIECES, SCHEMA) for each in judgements))
        finally:
            store.close()

    asyncio.run(write())
    return path


def named(*keys: object, **fields: Any) -> list[Judgement]:
    return [judgement(str(key), **fields) for key in keys]


@pytest.mark.slow
def test_parts_that_overlap_become_the_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merging, "_SLICE", 100)
    whole = list(read_judgements(fill(tmp_path / "whole", named(*range(600)))))
    parts = [named(*range(240)), named(*range(200, 500)), named(*range(480, 600))]
    stores = [fill(tmp_path / f"part-{number}", part) for number, part in enumerate(parts)]
    for number, order in enumerate(itertools.permutations(stores)):
        target = tmp_path / f"merged-{number}"
        counts = [merge_store(target, store) for store in order]
        assert sum(count.new for count in counts) == 600
        assert sum(count.judgements for count in counts) == 660
        assert not any(count.differing for count in counts)
        assert list(read_judgements(target)) == whole
        assert {read_prompt(target, each.prompt) for each in whole} == {"the conversation\nthe rubric 严重\n"}
        assert merge_store(target, stores[0]) == Merged(240, 0, 0), "again"
    assert [len(list(read_judgements(store))) for store in stores] == [240, 300, 120], "they stay as they are"


EARLY = {"started": "2026-01-01T00:00:00.000+00:00"}
LATE = {"started": "2026-01-02T00:00:00.000+00:00"}
OTHER = {"answer": {"reason": "another", "score": 2}}
FAILED = {"state": "failed", "answer": None, "error": "500"}


@pytest.mark.parametrize(
    ("ours", "theirs", "kept", "counts"),
    [
        (EARLY, LATE, EARLY, (0, 0)),
        (LATE, EARLY, EARLY, (0, 0)),
        (EARLY, {**LATE, **OTHER}, EARLY, (0, 1)),
        ({**LATE, **OTHER}, EARLY, EARLY, (0, 1)),
        (EARLY | FAILED, LATE, LATE, (1, 0)),
        (LATE, EARLY | FAILED, LATE, (0, 0)),
        (EARLY | FAILED, {**LATE, **FAILED, "calls": 9}, {**LATE, **FAILED, "calls": 9}, (0, 0)),
        (EARLY, {**LATE, "state": "unusable", "answer": None, "error": "x"}, EARLY, (0, 1)),
    ],
)  # fmt: skip
def test_which_of_two_is_kept(
    tmp_path: Path,
    ours: dict[str, Any],
    theirs: dict[str, Any],
    kept: dict[str, Any],
    counts: tuple[int, int],
) -> None:
    target, source = fill(tmp_path / "a", named("k", **ours)), fill(tmp_path / "b", named("k", **theirs))
    assert merge_store(target, source) == Merged(1, *counts)
    assert list(read_judgements(target)) == named("k", **kept)


@pytest.mark.slow
def test_ties_don_t_depend_on_the_order(tmp_path: Path) -> None:
    answers = [
        named("k", answer={"reason": "r", "score": score}, replies=(str(score),)) for score in (1, 2, 3)
    ]
    found = set()
    for number, order in enumerate(itertools.permutations(answers)):
        for place, each in enumerate(order):
            fill(tmp_path / f"{number}-{place}", each)
            merge_store(tmp_path / f"{number}", tmp_path / f"{number}-{place}")
        (one,) = read_judgements(tmp_path / f"{number}")
        found.add(one.replies)
    assert len(found) == 1


def test_some_transcripts_only(tmp_path: Path) -> None:
    source = fill(tmp_path / "a", [*named(1, 2, transcript="one"), *named(3, transcript="two", prompt="q")])
    assert first_asked_about(source) == {"one": 2, "two": 1}
    assert merge_store(tmp_path / "b", source, transcripts=["one"]).new == 2
    assert {each.transcript for each in read_judgements(tmp_path / "b")} == {"one"}
    assert read_prompt(tmp_path / "b", "q") is None


def test_a_run_without_text_takes_no_words(tmp_path: Path) -> None:
    source, silent = fill(tmp_path / "a", named(1)), fill(tmp_path / "b", named(2), text=False)
    with pytest.raises(RunError, match="keeps no text"):
        merge_store(tmp_path / "c", source, text=False)
    assert not (tmp_path / "c").exists()
    assert merge_store(tmp_path / "c", silent, text=False).new == 1


def test_what_was_cut_off_gives_way_to_what_was_not(tmp_path: Path) -> None:
    """A reply that no limit cut, though it was asked for later; of replies that were cut, the one with more tokens."""
    short = judgement("k", state="unusable", answer=None, error="cut", cut_at=64)
    longer = judgement("k", state="unusable", answer=None, error="cut", cut_at=128, started="2026-01-02")
    whole = judgement("k", started="2026-01-03")
    stores = [fill(tmp_path / name, [each]) for name, each in (("s", short), ("l", longer), ("w", whole))]
    for number, order in enumerate(itertools.permutations(stores)):
        target = tmp_path / f"merged-{number}"
        for store in order:
            merge_store(target, store)
        assert list(read_judgements(target)) == [whole]
    merge_store(stores[0], stores[1])
    assert [each.cut_at for each in read_judgements(stores[0])] == [128]


def test_a_store_of_before_there_were_endpoints(tmp_path: Path) -> None:
    for name in ("a", "b"):
        fill(tmp_path / name, named(name, endpoint="http://x/v1"))
        with sqlite3.connect(tmp_path / name) as connection:
            for column in LATER_COLUMNS:
                connection.execute(f"ALTER TABLE judgements DROP COLUMN {column}")
            connection.execute("PRAGMA user_version = 1")
    assert [each.endpoint for each in read_judgements(tmp_path / "a")] == [None]
    fill(tmp_path / "a", named("new", endpoint="http://y/v1"))
    assert {each.key: each.endpoint for each in read_judgements(tmp_path / "a")} == {
        "a": None,
        "new": "http://y/v1",
    }
    merge_store(tmp_path / "a", tmp_path / "b")
    assert {each.key: each.endpoint for each in read_judgements(tmp_path / "a")}["b"] is None


@pytest.mark.parametrize("content", [b"not a database at all" * 100, None])
def test_what_is_no_store_is_refused(tmp_path: Path, content: bytes | None) -> None:
    source = tmp_path / "source"
    if content is not None:
        source.write_bytes(content)
    with pytest.raises(RunError) as raised:
        merge_store(tmp_path / "target", source)
    assert "\n" not in str(raised.value)
    assert not (tmp_path / "target").exists()


def test_one_that_is_used_is_left_alone(tmp_path: Path) -> None:
    source = tmp_path / "a"
    fill(source, named(1))
    connection = open_to_write(source, alone=True)
    try:
        with pytest.raises(InUseError):
            merge_store(tmp_path / "b", source, patience=0.1)
    finally:
        connection.close()
    assert merge_store(tmp_path / "b", source).new == 1


PROGRAM = """
    import sys
    from pathlib import Path
    import bedside.judges.store_merge as merging
    merging._SLICE = 50
    merging.merge_store(Path(sys.argv[1]), Path(sys.argv[2]))
    merging.merge_store(Path(sys.argv[1]), Path(sys.argv[3]))
"""


@pytest.mark.slow
def test_killed_at_random_moments(tmp_path: Path) -> None:
    """Both stores stay whole, and the same command does what is left."""
    sources = [
        fill(tmp_path / "a", named(*range(0, 4000, 2))),
        fill(tmp_path / "b", named(*range(0, 4000, 3))),
    ]
    copies = [source.read_bytes() for source in sources]
    expected = {str(key) for key in (*range(0, 4000, 2), *range(0, 4000, 3))}
    generator, target, interrupted = random.Random(0), tmp_path / "target", 0
    for _ in range(8):
        command = [sys.executable, "-c", textwrap.dedent(PROGRAM), *map(str, (target, *sources))]
        process = subprocess.Popen(command, cwd=ROOT)
        while not target.exists() and process.poll() is None:
            time.sleep(0.001)
        time.sleep(generator.uniform(0, 0.15))
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        had = [each.key for each in read_judgements(target)]
        assert len(had) == len(set(had))
        assert {*had} <= expected
        assert all(read_prompt(target, f"prompt of {key}") for key in had)
        interrupted += 0 < len(had) < len(expected)
        if len(had) == len(expected):
            target.unlink()
            for left in tmp_path.glob("target-*"):
                left.unlink()
    assert interrupted
    for source in sources:
        merge_store(target, source)
    assert {each.key for each in read_judgements(target)} == expected
    assert [source.read_bytes() for source in sources] == copies


def test_the_sources_files_are_as_they_were(tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    source = fill(folder / "judgements.sqlite", named(*range(10)))
    before = source.read_bytes()
    merge_store(tmp_path / "target", source)
    assert [each.name for each in folder.iterdir()] == [source.name]
    assert source.read_bytes() == before
    shutil.rmtree(folder)
    assert len(list(read_judgements(tmp_path / "target"))) == 10


@pytest.mark.skipif(
    getattr(os, "geteuid", int)() == 0, reason="root can write everywhere, as can Windows' users"
)
def test_a_source_that_can_t_be_written(tmp_path: Path) -> None:
    """As on a disk that is mounted to be read only."""
    folder = tmp_path / "elsewhere é?#"
    folder.mkdir()
    source = fill(folder / "judgements.sqlite", named(*range(10)))
    source.chmod(0o400)
    folder.chmod(0o500)
    try:
        assert merge_store(tmp_path / "target", source).new == 10
        assert [each.name for each in folder.iterdir()] == [source.name]
    finally:
        folder.chmod(0o700)
