"""The store: on disk at once, claimed once, read back whole."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bedside.core.errors import RunError
from bedside.judges.prompt import PromptPiece
from bedside.judges.store import (
    Judgement,
    Store,
    judgement_key,
    read_judgements,
    read_prompt,
    stored_keys,
)

PIECES = (PromptPiece("the conversation\n"), PromptPiece("the rubric 严重\n"))
SCHEMA = PromptPiece('{"type":"object"}')


def judgement(key: str = "k", **fields: Any) -> Judgement:
    made = {
        "key": key, "model": "tiny", "parameters": "{}", "prompt": f"prompt of {key}", "number": 0, "transcript": "t",
        "unit": "transcript", "items": (0, 2), "rubric": "empathy", "version": "v", "state": "answered",
        "answer": {"reason": "because 🙂", "score": 4}, "error": None, "expected": 4.25, "expected_note": None,
        "replies": ("no", '{"score": 4}'), "faults": ("429",), "calls": 3, "input_tokens": 10, "output_tokens": 5,
        "cost": 0.25, "started": "2026-01-01T00:00:00.000+00:00", "finished": "2026-01-01T00:00:01.000+00:00",
        **fields,
    }  # fmt: skip
    return Judgement(**made)


def using(path: Path, work: Callable[[Store], Any], *, text: bool = True) -> Any:
    async def run() -> Any:
        store = Store(path, text=text)
        try:
            return await work(store)
        finally:
            store.close()

    return asyncio.run(run())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "judgements.sqlite"


def test_what_is_written_is_read_back(path: Path) -> None:
    made = judgement()
    using(path, lambda store: store.finish(made, PIECES, SCHEMA))
    assert list(read_judgements(path)) == [made]
    assert read_prompt(path, made.prompt) == "the conversation\nthe rubric 严重\n"
    claims = using(path, lambda store: store.claim(["k", "other"]))
    assert claims.found == {"k": made}
    assert claims.mine == {"other": None}


def test_nothing_but_the_store_is_left(path: Path) -> None:
    using(path, lambda store: store.claim(["a", "b"]))
    assert [each.name for each in path.parent.iterdir()] == [path.name]
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT count(*) FROM claims").fetchone() == (0,)


def test_without_text_no_prompt_is_kept(path: Path) -> None:
    made = judgement()
    using(path, lambda store: store.finish(made, PIECES, SCHEMA), text=False)
    assert list(read_judgements(path)) == [made]
    assert read_prompt(path, made.prompt) is None


def test_pieces_that_prompts_share_are_kept_once(path: Path) -> None:
    async def work(store: Store) -> None:
        for number in range(50):
            await store.finish(judgement(str(number)), (PIECES[0], PromptPiece(f"rubric {number}")), SCHEMA)

    using(path, work)
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT count(*) FROM pieces").fetchone() == (52,)
    assert read_prompt(path, "prompt of 49") == "the conversation\nrubric 49"


def test_failed_judgements_are_asked_again_and_unusable_ones_are_not(path: Path) -> None:
    async def work(store: Store) -> Any:
        await store.finish(judgement("failed", state="failed", answer=None, error="500"), PIECES, SCHEMA)
        await store.finish(judgement("unusable", state="unusable", answer=None, error="6"), PIECES, SCHEMA)
        return await store.claim(["failed", "unusable"])

    claims = using(path, work)
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
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(CLAIMER), str(path)],
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    alive = using(path, lambda store: store.claim(["done", "claimed"]))
    assert (set(alive.found), alive.others) == ({"done"}, {"claimed"})
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    after = using(path, lambda store: store.claim(["done", "claimed"]))
    assert (set(after.found), set(after.mine)) == ({"done"}, {"claimed"})
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_many_at_once_are_all_there(path: Path) -> None:
    async def work(store: Store) -> None:
        await asyncio.gather(*(store.finish(judgement(str(number)), PIECES, SCHEMA) for number in range(500)))

    using(path, work)
    assert stored_keys(path) == {str(number) for number in range(500)}


def test_keys_tell_model_parameters_prompt_and_pass_apart() -> None:
    keys = {
        judgement_key("m", "p", "h", 0),
        judgement_key("n", "p", "h", 0),
        judgement_key("m", "q", "h", 0),
        judgement_key("m", "p", "i", 0),
        judgement_key("m", "p", "h", 1),
        judgement_key("mp", "", "h", 0),
    }
    assert len(keys) == 6
    assert judgement_key("m", "p", "h", 0) in keys


def test_no_store_is_an_empty_one(path: Path) -> None:
    assert list(read_judgements(path)) == []
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
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_a_store_of_another_format_is_refused(path: Path) -> None:
    using(path, lambda store: store.claim(["a"]))
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(RunError, match="format 99"):
        Store(path)
    with pytest.raises(RunError, match="format 99"):
        stored_keys(path)


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
    using(path, lambda store: store.finish(cut, PIECES, SCHEMA))
    for limit, again in ((32, False), (64, False), (65, True)):
        claims = using(path, lambda store, limit=limit: store.claim(["cut"], limit))
        assert (claims.mine == {"cut": cut}) is again
        assert stored_keys(path, max_tokens=limit) == (set() if again else {"cut"})
    assert stored_keys(path, failed=True, max_tokens=65) == {"cut"}
    assert next(iter(read_judgements(path))).unsent == ("temperature",)
