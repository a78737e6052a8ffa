"""The store: on disk at once, claimed once, read back whole; merged with nothing lost and nothing twice."""

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
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bedside.core.errors import RunError
from bedside.judges import store_merge as merging
from bedside.judges.llm.protocol import Served
from bedside.judges.prompt import PromptPiece
from bedside.judges.store import (
    LATER_COLUMNS,
    InUseError,
    Judgement,
    Store,
    judgement_key,
    open_to_write,
    read_judgements,
    read_prompt,
    stored_keys,
)
from bedside.judges.store_merge import Merged, first_asked_about, merge_store

ROOT = Path(__file__).parents[2]
PIECES = (PromptPiece("the conversation\n"), PromptPiece("the rubric 严重\n"))
WORDS = "".join(piece.text for piece in PIECES)
SCHEMA = PromptPiece('{"type":"object"}')


def judgement(key: str = "k", **fields: Any) -> Judgement:
    values: dict[str, Any] = {
        "key": key, "model": "tiny", "parameters": "{}", "prompt": f"prompt of {key}", "number": 0, "transcript": "t",
        "unit": "transcript", "items": (0, 2), "rubric": "empathy", "version": "v", "state": "answered",
        "answer": {"reason": "because 🙂", "score": 4}, "error": None, "expected": 4.25, "expected_note": None,
        "replies": ("no", '{"score": 4}'), "faults": ("429",), "calls": 3, "input_tokens": 10, "output_tokens": 5,
        "cost": 0.25, "started": "2026-01-01T00:00:00.000+00:00", "finished": "2026-01-01T00:00:01.000+00:00",
        **fields,
    }  # fmt: skip
    return Judgement(**values)


def using(path: Path, work: Callable[[Store], Any], *, text: bool = True) -> Any:
    async def run() -> Any:
        store = Store(path, text=text)
        try:
            return await work(store)
        finally:
            store.close()

    return asyncio.run(run())


def finish(path: Path, judgements: Sequence[Judgement], *, text: bool = True) -> Path:
    async def work(store: Store) -> None:
        await asyncio.gather(*(store.finish(judgement, PIECES, SCHEMA) for judgement in judgements))

    using(path, work, text=text)
    return path


def named(*keys: object, **fields: Any) -> list[Judgement]:
    return [judgement(str(key), **fields) for key in keys]


def files(path: Path) -> list[str]:
    return [entry.name for entry in path.parent.iterdir()]


def read(path: Path) -> list[Judgement]:
    return list(read_judgements(path))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "judgements.sqlite"


def test_what_is_written_is_read_back(path: Path) -> None:
    finish(path, [judgement()])
    assert read(path) == [judgement()]
    assert read_prompt(path, "prompt of k") == WORDS
    claims = using(path, lambda store: store.claim(["k", "other"]))
    assert claims.found == {"k": judgement()}
    assert claims.mine == {"other": None}


def test_nothing_but_the_store_is_left(path: Path) -> None:
    using(path, lambda store: store.claim(["a", "b"]))
    assert files(path) == [path.name]
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT count(*) FROM claims").fetchone() == (0,)


def test_without_text_no_prompt_is_kept(path: Path) -> None:
    finish(path, [judgement()], text=False)
    assert read(path) == [judgement()]
    assert read_prompt(path, "prompt of k") is None


def test_pieces_that_prompts_share_are_kept_once(path: Path) -> None:
    async def work(store: Store) -> None:
        for number in range(50):
            await store.finish(judgement(str(number)), (PIECES[0], PromptPiece(f"rubric {number}")), SCHEMA)

    using(path, work)
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT count(*) FROM pieces").fetchone() == (52,)
    assert read_prompt(path, "prompt of 49") == "the conversation\nrubric 49"


def test_failed_judgements_are_asked_again_and_unusable_ones_are_not(path: Path) -> None:
    finish(path, named("failed", state="failed", answer=None, error="500"))
    finish(path, named("unusable", state="unusable", answer=None, error="6"))
    claims = using(path, lambda store: store.claim(["failed", "unusable"]))
    assert list(claims.mine) == ["failed"]
    assert set(claims.found) == {"unusable"}
    assert stored_keys(path) == {"unusable"}


def test_what_one_claims_another_does_not_get(path: Path) -> None:
    async def work(first: Store) -> None:
        assert set((await first.claim(["a", "b"])).mine) == {"a", "b"}
        second = Store(path)
        claims = await second.claim(["a", "b", "c"])
        assert (set(claims.mine), claims.others) == ({"c"}, {"a", "b"})
        await first.finish(judgement("a"), PIECES, SCHEMA)
        await first.release(["b"])
        claims = await second.claim(["a", "b"])
        assert (set(claims.found), set(claims.mine)) == ({"a"}, {"b"})
        second.close()
        assert set((await first.claim(["b", "c"])).mine) == {"b", "c"}

    using(path, work)


CLAIMER = """
    import asyncio, sys
    from pathlib import Path
    from bedside.judges.store import Store
    from tests.judges.test_store import PIECES, SCHEMA, judgement

    async def work():
        store = Store(Path(sys.argv[1]))
        await store.claim(["done", "claimed"])
        await store.finish(judgement("done"), PIECES, SCHEMA)
        print("ready", flush=True)
        await asyncio.sleep(60)

    asyncio.run(work())
"""


@pytest.mark.slow
def test_killed_with_what_it_had_done_on_disk_and_its_claims_free(path: Path) -> None:
    command = [sys.executable, "-c", textwrap.dedent(CLAIMER), str(path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    alive = using(path, lambda store: store.claim(["done", "claimed"]))
    assert (set(alive.found), alive.others) == ({"done"}, {"claimed"})
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    after = using(path, lambda store: store.claim(["done", "claimed"]))
    assert (set(after.found), set(after.mine)) == ({"done"}, {"claimed"})
    assert files(path) == [path.name]


def test_a_new_store_is_opened_by_several_at_once(tmp_path: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        for number in range(40):
            begin = threading.Barrier(4)

            def open_it(_: int, path: Path = tmp_path / f"{number}.sqlite", begin: threading.Barrier = begin) -> None:
                begin.wait()
                open_to_write(path).close()

            assert list(pool.map(open_it, range(4))) == [None] * 4


def test_many_at_once_are_all_there(path: Path) -> None:
    finish(path, named(*range(500)))
    assert stored_keys(path) == {str(number) for number in range(500)}


def test_keys_tell_model_parameters_prompt_and_pass_apart() -> None:
    keys = [("m", "p", "h", 0), ("n", "p", "h", 0), ("m", "q", "h", 0), ("m", "p", "i", 0), ("m", "p", "h", 1),
            ("mp", "", "h", 0)]  # fmt: skip
    assert len({judgement_key(*parts) for parts in keys}) == len(keys)
    assert judgement_key("m", "p", "h", 0) == judgement_key(*keys[0])


def test_no_store_is_an_empty_one(path: Path) -> None:
    assert read(path) == []
    assert stored_keys(path) == set()
    assert read_prompt(path, "x") is None
    assert not path.exists()


@pytest.mark.parametrize("content", [b"not a database at all" * 100, b"SQLite format 3\x00" + b"\x00" * 4080])
def test_a_damaged_store_is_one_line(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(RunError) as raised:
        Store(path)
    assert str(path) in str(raised.value)
    assert "\n" not in str(raised.value)
    with pytest.raises(RunError):
        stored_keys(path)
    assert files(path) == [path.name]


@pytest.mark.parametrize("begun", [False, True])
def test_a_store_whose_maker_was_killed_at_once_is_empty(path: Path, begun: bool) -> None:
    path.touch()
    if begun:
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
    assert list(read_judgements(path)) == []
    assert stored_keys(path) == set()


@pytest.mark.parametrize("more", [0, 600])
def test_a_copy_without_its_log_is_known(path: Path, tmp_path: Path, more: int) -> None:
    """Copied while it is written: alone it is refused, to read and to write; with its log all is there."""
    copies, keys = tmp_path / "copies", {"a", *map(str, range(more))}

    async def work(store: Store) -> None:
        for key in sorted(keys):
            await store.finish(judgement(key), PIECES, SCHEMA)
        for name in ("both", "alone"):
            (copies / name).mkdir(parents=True)
            for file in tmp_path.glob(f"{path.name}*" if name == "both" else path.name):
                shutil.copyfile(file, copies / name / file.name)

    using(path, work)
    both, alone = (copies / name / path.name for name in ("both", "alone"))
    assert stored_keys(both) == keys
    for reading in (stored_keys, read, Store, open_to_write):
        with pytest.raises(RunError) as refusal:
            reading(alone)
        assert f"{path.name}-wal" in refusal.value.what
    assert files(alone) == [path.name]
    alone.with_name(f"{path.name}-wal").touch()
    assert "b" in stored_keys(finish(alone, named("b"))) < keys | {"b"}
    with closing(sqlite3.connect(both)) as another_program:
        another_program.execute("SELECT count(*) FROM judgements")
    assert files(both) == [path.name], "its log is part of it now"
    assert stored_keys(both) == keys
    # What is whole may be copied alone.
    for whole in (path, both, alone):
        finish(whole, named("c"))
        (copies / "copy").write_bytes(whole.read_bytes())
        assert "c" in stored_keys(copies / "copy")


def test_a_store_of_another_format_is_refused(path: Path) -> None:
    using(path, lambda store: store.claim(["a"]))
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    for work in (Store, stored_keys):
        with pytest.raises(RunError, match="format is 99"):
            work(path)


def by_sql(path: Path) -> None:
    """A copy as ``sqlite3 FILE .dump`` makes, in its place."""
    with closing(sqlite3.connect(path)) as connection:
        lines = "\n".join(connection.iterdump())
    path.unlink()
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(lines)


def test_a_copy_by_sql_lost_its_number_alone(path: Path) -> None:
    by_sql(finish(path, named("a")))
    assert [entry.key for entry in read(path)] == ["a"]
    assert stored_keys(finish(path, named("b"))) == {"a", "b"}


def test_a_place_where_nothing_can_be_put(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="file"):
        Store(tmp_path / "file" / "judgements.sqlite")


def test_a_store_that_can_no_longer_be_written_says_so(path: Path) -> None:
    async def work(store: Store) -> None:
        with sqlite3.connect(path) as other:
            other.execute("DROP TABLE judgements")
        await store.finish(judgement(), PIECES, SCHEMA)

    with pytest.raises(RunError, match="store of judgements"):
        using(path, work)


def test_what_was_cut_off_is_asked_again_with_more_tokens(path: Path) -> None:
    cut = judgement("cut", state="unusable", answer=None, error="no", cut_at=64, unsent=("temperature",))
    finish(path, [cut])
    for limit, again in ((32, False), (64, False), (65, True)):
        claims = using(path, partial(Store.claim, keys=["cut"], max_tokens=limit))
        assert (claims.mine == {"cut": cut}) is again
        assert stored_keys(path, max_tokens=limit) == (set() if again else {"cut"})
    assert stored_keys(path, failed=True, max_tokens=65) == {"cut"}
    assert read(path)[0].unsent == ("temperature",)


@pytest.mark.slow
def test_parts_that_overlap_become_the_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merging, "_SLICE", 100)
    whole = read(finish(tmp_path / "whole", named(*range(600))))
    parts = [named(*range(240)), named(*range(200, 500)), named(*range(480, 600))]
    stores = [finish(tmp_path / f"part-{number}", part) for number, part in enumerate(parts)]
    for number, order in enumerate(itertools.permutations(stores)):
        target = tmp_path / f"merged-{number}"
        counts = [merge_store(target, store) for store in order]
        assert sum(count.new for count in counts) == 600
        assert sum(count.judgements for count in counts) == 660
        assert not any(count.differing for count in counts)
        assert read(target) == whole
        assert {read_prompt(target, entry.prompt) for entry in whole} == {WORDS}
        assert merge_store(target, stores[0]) == Merged(240, 0, 0), "again"
    assert [len(read(store)) for store in stores] == [240, 300, 120], "they stay as they are"


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
def test_which_of_two_is_kept(tmp_path: Path, ours: Any, theirs: Any, kept: Any, counts: Any) -> None:
    target, source = finish(tmp_path / "a", named("k", **ours)), finish(tmp_path / "b", named("k", **theirs))
    assert merge_store(target, source) == Merged(1, *counts)
    assert read(target) == named("k", **kept)


@pytest.mark.slow
def test_ties_don_t_depend_on_the_order(tmp_path: Path) -> None:
    answers = [named("k", answer={"reason": "r", "score": n}, replies=(str(n),)) for n in (1, 2, 3)]
    kept = set()
    for number, order in enumerate(itertools.permutations(answers)):
        target = tmp_path / f"{number}"
        for place, answer in enumerate(order):
            merge_store(target, finish(tmp_path / f"{number}-{place}", answer))
        kept |= {judgement.replies for judgement in read(target)}
    assert len(kept) == 1


def test_some_transcripts_only(tmp_path: Path) -> None:
    source = finish(tmp_path / "a", [*named(1, 2, transcript="one"), *named(3, transcript="two", prompt="q")])
    assert first_asked_about(source) == {"one": 2, "two": 1}
    assert merge_store(tmp_path / "b", source, transcripts=["one"]).new == 2
    assert {entry.transcript for entry in read(tmp_path / "b")} == {"one"}
    assert read_prompt(tmp_path / "b", "q") is None


def test_a_run_without_text_takes_no_words(tmp_path: Path) -> None:
    source, silent = finish(tmp_path / "a", named(1)), finish(tmp_path / "b", named(2), text=False)
    with pytest.raises(RunError, match="keeps no text"):
        merge_store(tmp_path / "c", source, text=False)
    assert not (tmp_path / "c").exists()
    assert merge_store(tmp_path / "c", silent, text=False).new == 1


def test_what_was_cut_off_gives_way_to_what_was_not(tmp_path: Path) -> None:
    """A reply that no limit cut, though it was asked for later; of replies that were cut, the one with more tokens."""
    short = judgement("k", state="unusable", answer=None, error="cut", cut_at=64)
    longer = judgement("k", state="unusable", answer=None, error="cut", cut_at=128, started="2026-01-02")
    whole = judgement("k", started="2026-01-03")
    stores = [finish(tmp_path / f"store-{n}", [kind]) for n, kind in enumerate((short, longer, whole))]
    for number, order in enumerate(itertools.permutations(stores)):
        target = tmp_path / f"merged-{number}"
        for store in order:
            merge_store(target, store)
        assert read(target) == [whole]
    merge_store(stores[0], stores[1])
    assert [judgement.cut_at for judgement in read(stores[0])] == [128]


def test_a_store_of_before_there_were_endpoints(tmp_path: Path) -> None:
    for name in ("a", "b"):
        finish(tmp_path / name, named(name, endpoint="http://x/v1"))
        with sqlite3.connect(tmp_path / name) as connection:
            for column in LATER_COLUMNS:
                connection.execute(f"ALTER TABLE judgements DROP COLUMN {column}")
            connection.execute("PRAGMA user_version = 1")
    assert endpoints(tmp_path / "a") == {"a": None}
    finish(tmp_path / "a", named("new", endpoint="http://y/v1"))
    assert endpoints(tmp_path / "a") == {"a": None, "new": "http://y/v1"}
    merge_store(tmp_path / "a", tmp_path / "b")
    assert endpoints(tmp_path / "a")["b"] is None


def test_a_store_of_before_there_were_versions(tmp_path: Path) -> None:
    served = Served("tiny-2026-06-01", "fp_1", "Azure")
    old, new = (finish(tmp_path / name, named(name, served=served)) for name in ("a", "b"))
    with sqlite3.connect(old) as connection:
        connection.execute("ALTER TABLE judgements DROP COLUMN served")
        connection.execute("ALTER TABLE judgements DROP COLUMN digest")
        connection.execute("PRAGMA user_version = 3")
    assert [judgement.served for judgement in read(old)] == [None]
    merge_store(old, new)
    assert {judgement.key: judgement.served for judgement in read(old)} == {"a": None, "b": served}


def endpoints(path: Path) -> dict[str, str | None]:
    return {judgement.key: judgement.endpoint for judgement in read(path)}


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
    source = finish(tmp_path / "a", named(1))
    with closing(open_to_write(source, alone=True)), pytest.raises(InUseError):
        merge_store(tmp_path / "b", source, patience=0.1)
    assert merge_store(tmp_path / "b", source).new == 1


MERGER = """
    import sys
    from pathlib import Path
    import bedside.judges.store_merge as merging
    merging._SLICE = 50
    merging.merge_store(Path(sys.argv[1]), Path(sys.argv[2]))
    merging.merge_store(Path(sys.argv[1]), Path(sys.argv[3]))
"""


@pytest.mark.slow
def test_merging_killed_at_random_moments(tmp_path: Path) -> None:
    """Both stores stay whole, and the same command does what is left."""
    ranges = {"a": range(0, 4000, 2), "b": range(0, 4000, 3)}
    sources = [finish(tmp_path / name, named(*keys)) for name, keys in ranges.items()]
    copies = [source.read_bytes() for source in sources]
    expected = {str(key) for keys in ranges.values() for key in keys}
    generator, target, interrupted = random.Random(0), tmp_path / "target", 0
    for _ in range(8):
        command = [sys.executable, "-c", textwrap.dedent(MERGER), *map(str, (target, *sources))]
        process = subprocess.Popen(command, cwd=ROOT)
        while not target.exists() and process.poll() is None:
            time.sleep(0.001)
        time.sleep(generator.uniform(0, 0.15))
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        keys = [judgement.key for judgement in read(target)]
        assert len(keys) == len(set(keys))
        assert {*keys} <= expected
        assert all(read_prompt(target, f"prompt of {key}") for key in keys)
        interrupted += 0 < len(keys) < len(expected)
        if len(keys) == len(expected):
            target.unlink()
            for left in tmp_path.glob("target-*"):
                left.unlink()
    assert interrupted
    for source in sources:
        merge_store(target, source)
    assert {judgement.key for judgement in read(target)} == expected
    assert [source.read_bytes() for source in sources] == copies


def test_the_sources_files_are_as_they_were(tmp_path: Path) -> None:
    source = tmp_path / "elsewhere" / "judgements.sqlite"
    source.parent.mkdir()
    before = finish(source, named(*range(10))).read_bytes()
    merge_store(tmp_path / "target", source)
    assert (files(source), source.read_bytes()) == ([source.name], before)
    shutil.rmtree(source.parent)
    assert len(read(tmp_path / "target")) == 10


@pytest.mark.skipif(getattr(os, "geteuid", int)() == 0, reason="root can write everywhere")
def test_a_source_that_can_t_be_written(tmp_path: Path) -> None:
    """As on a disk that is mounted to be read only."""
    folder = tmp_path / "elsewhere é?#"
    folder.mkdir()
    source = finish(folder / "judgements.sqlite", named(*range(10)))
    source.chmod(0o400)
    folder.chmod(0o500)
    try:
        assert merge_store(tmp_path / "target", source).new == 10
        assert files(source) == [source.name]
    finally:
        folder.chmod(0o700)
