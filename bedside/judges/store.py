"""The store of judgements: what has been paid for is on disk before anything else is asked.

One SQLite file, in write-ahead mode. A judgement is known by its key: the model, its parameters, the prompt's hash and
the number of the pass. Several processes can judge into one store: each claims what it is about to ask, and a claim
ends with the judgement or with the process, however that ends (the operating system then frees the lock of its owner).
"""

from __future__ import annotations

import glob
import hashlib
import shutil
import sqlite3
import stat
import time
import uuid
import zlib
from asyncio import Future, get_running_loop
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import orjson

from bedside.core.errors import RunError
from bedside.core.files import Format, address_to_read, cells_digest, replacing, saying_where, sqlite_address, unpacked
from bedside.core.locks import hold
from bedside.judges.ask_settings import State as State
from bedside.judges.llm.protocol import Sampling, Served
from bedside.judges.prompt import PromptPiece
from bedside.ratings.names import is_pair, second_id, unaltered_id

# -- The tables of a store of judgements ----------------------------------------------------------------

TABLES = """
CREATE TABLE judgements (
    key TEXT PRIMARY KEY,          -- SHA-256 of model, parameters, prompt hash and pass
    model TEXT NOT NULL,
    parameters TEXT NOT NULL,      -- JSON: what was wanted
    prompt TEXT NOT NULL,          -- SHA-256 of messages and schema
    pass INTEGER NOT NULL,
    transcript TEXT NOT NULL,      -- the first one it was asked for
    unit TEXT NOT NULL,
    items TEXT,                    -- JSON: the numbers of the items asked about
    rubric TEXT NOT NULL,
    version TEXT NOT NULL,         -- of the rubric
    state TEXT NOT NULL,
    answer TEXT,                   -- JSON, the reason included
    error TEXT,
    expected REAL,
    expected_note TEXT,            -- why there is no expected score
    replies BLOB NOT NULL,         -- JSON, compressed: the text of every reply, the last one counts
    faults TEXT NOT NULL,          -- JSON: what went wrong on the way
    calls INTEGER NOT NULL,
    input_tokens INTEGER,
    output_tokens INTEGER,
    cost REAL,                     -- US dollars
    started TEXT NOT NULL,
    finished TEXT NOT NULL,
    endpoint TEXT,                 -- the address of the server that gave the last reply
    cached_tokens INTEGER,         -- of the input's
    reasoning_tokens INTEGER,      -- of the output's
    unsent TEXT,                   -- JSON: parameters that were wanted and that the model doesn't take
    cut_at INTEGER,                -- where it is unusable because it was cut off: the limit of tokens
    served TEXT,                   -- JSON: model, fingerprint and provider as the last reply's server named them
    digest TEXT                    -- SHA-256 of the other cells
) WITHOUT ROWID;
CREATE TABLE prompts (prompt TEXT PRIMARY KEY, pieces TEXT NOT NULL, schema TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE pieces (digest TEXT PRIMARY KEY, text BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE claims (key TEXT PRIMARY KEY, owner TEXT NOT NULL) WITHOUT ROWID;
"""
#: Columns that earlier formats didn't have.
LATER_COLUMNS = {
    "endpoint": "TEXT",
    "cached_tokens": "INTEGER",
    "reasoning_tokens": "INTEGER",
    "unsent": "TEXT",
    "cut_at": "INTEGER",
    "served": "TEXT",
    "digest": "TEXT",
}


# -- The store of judgements ----------------------------------------------------------------------------

FILE_NAME = "judgements.sqlite"
FORMAT = Format("store of judgements", 5, todo="move it away to judge anew")
#: What a store's file says of itself while judgements stand in a log beside it ("beds"), which says otherwise: who puts
#: all of the log into the file, as any program does that closes it, puts that there, too.
_LOGGED = 0x62656473
_MOST_CHANGES = 500
#: How many pieces of prompts are known to be in the store without looking.
_REMEMBERED = 4096
_WAIT = "wait until it ends"
#: What comes of reading a damaged store.
_DAMAGE = (sqlite3.Error, zlib.error, ValueError, TypeError, LookupError)
T = TypeVar("T")


def judgement_key(model: str, parameters: str, prompt: str, number: int) -> str:
    """The key of a judgement (64 hexadecimal digits)."""
    return hashlib.sha256(orjson.dumps([model, parameters, prompt, number])).hexdigest()


def parameters_text(sampling: Sampling) -> str:
    """The parameters that a judge is to be asked with, as JSON."""
    return orjson.dumps(sampling.parameters(), option=orjson.OPT_SORT_KEYS).decode()


def key_parameters(sampling: Sampling) -> str:
    """The parameters that are part of a judgement's key, as JSON.

    They are those that are wanted, whether the model takes them or not: that may be known at one place and found out at
    another, and the same command must find what it asked before. What wasn't sent stands with each judgement. The limit
    of tokens is left out: a reply that it didn't cut would be the same with another.
    """
    parameters = {name: value for name, value in sampling.parameters().items() if name != "max_tokens"}
    return orjson.dumps(parameters, option=orjson.OPT_SORT_KEYS).decode()


@dataclass(frozen=True, slots=True)
class Judgement:
    """One judgement as it is stored; see the comments of the table."""

    key: str
    model: str
    parameters: str
    prompt: str
    number: int
    transcript: str
    unit: str
    items: tuple[int, ...] | None
    rubric: str
    version: str
    state: State
    answer: dict[str, Any] | None
    error: str | None
    expected: float | None
    expected_note: str | None
    replies: tuple[str, ...]
    faults: tuple[str, ...]
    calls: int
    input_tokens: int | None
    output_tokens: int | None
    cost: float | None
    started: str
    finished: str
    endpoint: str | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None
    unsent: tuple[str, ...] = ()
    cut_at: int | None = None
    served: Served | None = None

    def to_ask_again(self, max_tokens: int) -> bool:
        """Whether a run with this limit of tokens asks for it again."""
        return self.state == "failed" or (self.cut_at is not None and self.cut_at < max_tokens)

    def cells(self) -> dict[str, Any]:
        """The cells of its row, by column."""
        cells = {column: getattr(self, name) for name, column in _COLUMNS.items()}
        cells |= {column: write(cells[column]) for column, write in _WRITTEN.items()}
        return {**cells, "digest": cells_digest(*cells.values())}


def _json(value: object) -> str:
    return orjson.dumps(value).decode()


def _json_or_null(value: object) -> str | None:
    return None if value is None else _json(value)


def _as_it_is(value: Any) -> Any:
    return value


#: How an attribute becomes its cell, and a cell its attribute, where they differ.
_WRITTEN: Mapping[str, Callable[[Any], Any]] = {
    "items": _json_or_null,
    "answer": _json_or_null,
    "replies": lambda replies: zlib.compress(orjson.dumps(replies), 1),
    "faults": _json,
    "unsent": lambda unsent: _json(unsent) if unsent else None,
    "served": lambda served: None if served is None else _json(served.as_data()),
}
_READ: Mapping[str, Callable[[Any], Any]] = {
    "items": lambda cell: None if cell is None else tuple(orjson.loads(cell)),
    "answer": lambda cell: None if cell is None else orjson.loads(cell),
    "replies": lambda cell: tuple(orjson.loads(unpacked(cell))),
    "faults": lambda cell: tuple(orjson.loads(cell)),
    "unsent": lambda cell: tuple(orjson.loads(cell or "[]")),
    "served": lambda cell: None if cell is None else Served(**orjson.loads(cell)),
}


def seal_rows(connection: sqlite3.Connection, *, all_of_them: bool = False) -> None:
    """Give rows that have none the digest of their cells, or all rows a new one."""
    connection.create_function("digest_of", len(_COLUMNS), cells_digest, deterministic=True)
    which = "" if all_of_them else " WHERE digest IS NULL"
    connection.execute(f"UPDATE main.judgements SET digest = digest_of({', '.join(_COLUMNS.values())}){which}")


def _judgement(row: sqlite3.Row) -> Judgement:
    cells = dict(zip(row.keys(), row, strict=True))  # earlier formats have fewer
    if "digest" in cells and cells["digest"] != cells_digest(*[cells[column] for column in _COLUMNS.values()]):
        raise ValueError(f"a judgement about {row['transcript']!r} isn't as it was written")
    return Judgement(
        **{name: _READ.get(name, _as_it_is)(cells[column]) for name, column in _COLUMNS.items() if column in cells}
    )


#: The column of each attribute.
_COLUMNS = {each.name: "pass" if each.name == "number" else each.name for each in fields(Judgement)}
_INSERT = (
    f"INSERT OR REPLACE INTO judgements ({', '.join(_COLUMNS.values())}, digest) "
    f"VALUES ({', '.join(f':{column}' for column in _COLUMNS.values())}, :digest)"
)


@dataclass(frozen=True, slots=True)
class Claims:
    """What became of a claim.

    Attributes:
        found: judgements that are there already, by key.
        mine: keys to be asked now, each with what an earlier run that failed left of it, if there is any.
        others: keys that somebody is asking at the moment.
    """

    found: dict[str, Judgement] = field(default_factory=dict)
    mine: dict[str, Judgement | None] = field(default_factory=dict)
    others: set[str] = field(default_factory=set)


class Store:
    """A store that is open for judging, to be used from one event loop.

    What is asked of it within one turn of the loop is one transaction. It runs on the loop itself: a thread would have
    to wait for the interpreter's lock at each statement, which takes longer than the statements.

    Args:
        path: the file; made if it isn't there.
        text: whether prompts are kept; without them, judgements are to be :func:`~bedside.judges.questions.wordless`.
        alone: whether no other process may use it meanwhile, as where machines share the file system.

    Raises:
        RunError: it can't be opened or written, or is no store of judgements.
    """

    def __init__(self, path: Path, *, text: bool = True, alone: bool = False) -> None:
        self.path = path
        self.text = text
        self._jobs: list[_StoreJob] = []
        #: Pieces that are surely there.
        self._kept: set[str] = set()
        self._put_at = 0 if alone else _MOST_CHANGES  # changed rows: what is in the log is put into the file then
        with saying_where(path):
            held = None
            while held is None:  # another process may have taken the file for one that is left over
                self._owner = uuid.uuid4().hex
                held = hold(self._lock_file(self._owner))
        self._held = held
        try:
            self._connection = open_to_write(path, alone=alone)
            self._connection.execute("PRAGMA wal_autocheckpoint = 0")
            self._reap()
        except Exception as error:
            self._held.release()
            raise explained(error, path) from error

    async def claim(self, keys: Sequence[str], max_tokens: int = 0) -> Claims:
        """Look up judgements, and claim those that are neither there nor being asked by somebody else.

        Args:
            keys: the judgements'.
            max_tokens: the limit of a reply's tokens; what was cut off at a lower one counts as not there.
        """
        return await self._do(lambda: self._claim(keys, max_tokens))

    async def finish(self, judgement: Judgement, pieces: Sequence[PromptPiece], schema: PromptPiece) -> None:
        """Write a judgement; it is on disk when this returns. Its claim ends."""
        await self._do(lambda: self._finish(judgement, pieces, schema))

    async def release(self, keys: Sequence[str]) -> None:
        """Give up claims."""
        await self._do(lambda: self._delete_claims(keys))

    def close(self) -> None:
        """Finish what was begun, give up all claims and close the file."""
        self._transact()
        with suppress(sqlite3.Error):
            self._connection.execute("DELETE FROM claims WHERE owner = ?", (self._owner,))
        self._connection.close()
        self._held.release()

    async def _do(self, work: Callable[[], T]) -> T:
        loop = get_running_loop()
        result: Future[T] = loop.create_future()
        if not self._jobs:
            loop.call_soon(self._transact)
        self._jobs.append(_StoreJob(work, result))
        return await result

    def _transact(self) -> None:
        """Do all that was asked for in one transaction: all of it is on disk, or nothing is."""
        jobs, self._jobs = self._jobs, []
        if not jobs:
            return
        results: list[Any] = []
        failed: Exception | None = None
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            results = [job.work() for job in jobs]
            self._connection.execute("COMMIT")
        except Exception as error:
            failed = explained(error, self.path)
            with suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")
        if self._connection.total_changes > self._put_at:
            self._put_at = self._connection.total_changes + _MOST_CHANGES
            with suppress(sqlite3.Error):  # the log grows until there is room
                _put_into_file(self._connection)
        for number, job in enumerate(jobs):
            if job.result.done():  # whoever wanted it was stopped
                continue
            if failed is not None:
                job.result.set_exception(failed)
            else:
                job.result.set_result(results[number])

    def _claim(self, keys: Sequence[str], max_tokens: int) -> Claims:
        claims = Claims()
        marks = ",".join("?" * len(keys))
        failed: dict[str, Judgement] = {}
        for row in self._connection.execute(f"SELECT * FROM judgements WHERE key IN ({marks})", list(keys)):
            judgement = _judgement(row)
            again = judgement.to_ask_again(max_tokens)
            (failed if again else claims.found)[judgement.key] = judgement
        for key in keys:
            if key in claims.found or key in claims.mine:
                continue
            claim = self._connection.execute("INSERT OR IGNORE INTO claims VALUES (?, ?)", (key, self._owner))
            if claim.rowcount:
                claims.mine[key] = failed.get(key)
            else:
                claims.others.add(key)
        if claims.others:
            self._reap()
        return claims

    def _finish(self, judgement: Judgement, pieces: Sequence[PromptPiece], schema: PromptPiece) -> None:
        self._connection.execute(_INSERT, judgement.cells())
        self._delete_claims([judgement.key])
        if not self.text:
            return
        digests = _json([piece.digest for piece in pieces])
        new = self._connection.execute(
            "INSERT OR IGNORE INTO prompts VALUES (?, ?, ?)", (judgement.prompt, digests, schema.digest)
        )
        if not new.rowcount:
            return
        for piece in (*pieces, schema):
            if piece.digest in self._kept:
                continue
            packed = zlib.compress(piece.text.encode(), 3)
            self._connection.execute("INSERT OR IGNORE INTO pieces VALUES (?, ?)", (piece.digest, packed))
            if len(self._kept) >= _REMEMBERED:
                self._kept.clear()
            self._kept.add(piece.digest)

    def _reap(self) -> None:
        """End the claims of processes that are no more, and remove their locks; they may have claimed nothing."""
        claiming = self._connection.execute("SELECT DISTINCT owner FROM claims").fetchall()
        begin, end = self._lock_file("*").name.split("*")
        locks = self.path.parent.glob(f"{glob.escape(begin)}*{end}")
        owners = {name for (name,) in claiming} | {path.name.removeprefix(begin).removesuffix(end) for path in locks}
        for owner in sorted(owners - {self._owner}):
            held = hold(self._lock_file(owner))
            if held is not None:
                with held:
                    self._connection.execute("DELETE FROM claims WHERE owner = ?", (owner,))

    def _delete_claims(self, keys: Sequence[str]) -> None:
        self._connection.executemany("DELETE FROM claims WHERE key = ?", [(key,) for key in keys])

    def _lock_file(self, owner: str) -> Path:
        return self.path.with_name(f".{self.path.stem}-{owner}.lock")


@dataclass(frozen=True, slots=True)
class _StoreJob:
    work: Callable[[], Any]
    result: Future[Any]


class InUseError(RunError):
    """A store is used by a process that lets nobody else."""


def explained(error: Exception, path: Path) -> Exception:
    """What an error with a store comes to, in words; errors of other kinds are given back."""
    if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
        return InUseError("another process uses the store of judgements", where=str(path), todo=_WAIT)
    if isinstance(error, sqlite3.OperationalError | OSError):
        return RunError(f"the store of judgements can't be used ({error})", where=str(path))
    return _damaged(error, path) if isinstance(error, _DAMAGE) else error


def open_to_write(path: Path, *, alone: bool = False) -> sqlite3.Connection:
    """Open a store's file, which is made if it isn't there; ``alone`` as for :class:`Store`.

    Raises:
        RunError: it is a link, of another format, or can't be used.
    """
    if path.is_symlink():
        raise RunError("the store of judgements is a link, and none is followed", where=str(path), todo="remove it")
    with suppress(OSError):  # SQLite says it better
        path.touch(0o600)
    _check_log(path)
    address = sqlite_address(path.absolute())
    connection = sqlite3.connect(address, timeout=60, isolation_level=None, uri=True, factory=_Logged)
    connection.row_factory = sqlite3.Row
    try:
        if alone:  # then no memory is shared, which machines could not
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        _write_ahead(connection)
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("BEGIN IMMEDIATE")
        version = FORMAT.of_database(connection, "judgements")
        if version == 0:
            for statement in TABLES.split(";"):
                connection.execute(statement)
            version = _set_version(connection)
        if 1 <= version < FORMAT.version:  # the only difference
            there = {column for _, column, *_ in connection.execute("PRAGMA table_info(judgements)")}
            for column, kind in LATER_COLUMNS.items():
                if column not in there:
                    connection.execute(f"ALTER TABLE judgements ADD COLUMN {column} {kind}")
            seal_rows(connection)
            version = _set_version(connection)
        connection.execute("COMMIT")
        FORMAT.check(version, path)
        _put_into_file(connection, alone=alone)
    except BaseException:
        connection.close()
        raise
    return connection


def _put_into_file(connection: sqlite3.Connection, *, alone: bool = False) -> None:
    """Put what is in the log into the store's file, which says from then on that there is one."""
    connection.execute(f"PRAGMA application_id = {_LOGGED}")
    connection.execute(f"PRAGMA wal_checkpoint({'TRUNCATE' if alone else 'PASSIVE'})").fetchone()
    if not alone:  # by an empty log others see that it is held
        connection.execute("PRAGMA application_id = 0")


class _Logged(sqlite3.Connection):
    """A connection in write-ahead mode, whose file says so of itself as long as there is a log beside it."""

    def close(self) -> None:
        log = ""
        with suppress(sqlite3.Error):
            if self.in_transaction:
                self.execute("ROLLBACK")
            self.execute("PRAGMA busy_timeout = 1000")
            log = self.execute("PRAGMA database_list").fetchone()[2] + "-wal"
            self.execute("PRAGMA application_id = 0")  # is in the file before SQLite removes the log
            log = ""
        super().close()
        if log and _says_log(Path(log.removesuffix("-wal"))):  # no room to say otherwise: an empty log stands there
            with suppress(OSError):
                Path(log).touch(0o600)


def _check_log(path: Path) -> None:
    """See that what isn't in a store's file yet stands beside it, as it does after any kill.

    Raises:
        RunError: the file was copied alone while it was written, or what it left was.
    """
    log = path.with_name(f"{path.name}-wal")
    # Twice, as whoever writes may have ended between the two looks.
    if all(_says_log(path) and not log.exists() for _ in range(2)):
        raise RunError(
            f"the store of judgements was copied without {log.name}, which holds its last judgements",
            where=str(path),
            todo="copy both, or make an empty file of that name to go on without them",
        )


def _says_log(path: Path) -> bool:
    with suppress(OSError), path.open("rb") as file:
        return int.from_bytes(file.read(72)[68:]) == _LOGGED
    return False


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Turn to write-ahead mode. SQLite waits for nobody here: of processes that turn a new file to it at once, all but
    one are told that it is locked."""
    end = time.monotonic() + 10
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > end:
                raise
            time.sleep(0.01)
        else:
            return


def _set_version(connection: sqlite3.Connection) -> int:
    connection.execute(f"PRAGMA user_version = {FORMAT.version}")
    return FORMAT.version


def judgements_about(path: Path, transcripts: Set[str], known: Set[str]) -> int:
    """How many judgements of a store are about transcripts, altered or not, or about pairs with one."""
    return sum(_is_about(own.transcript, own.unit, transcripts, known) for own in read_judgements(path))


def _is_about(transcript: str, unit: str, transcripts: Set[str], known: Set[str]) -> bool:
    names = (transcript, second_id(unit)) if is_pair(unit) else (transcript,)
    return any(unaltered_id(name, known) in transcripts for name in names)


def write_store_without(target: Path, source: Path, transcripts: Set[str], known: Set[str]) -> None:
    """Write a store without the judgements about transcripts, and without prompts that no other was asked with.

    No byte of them stays, as it is written anew. By all known ids it is exact whose a name is.

    Raises:
        RunError: another process uses the source, or it can't be read or written.
    """
    try:
        with closing(open_to_write(source)) as connection:
            if connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
                raise InUseError("another process uses the store of judgements", where=str(source), todo=_WAIT)
        with replacing(target) as temporary:
            shutil.copyfile(source, temporary)
            with closing(open_to_write(temporary)) as connection:
                is_about = partial(_is_about, transcripts=transcripts, known=known)
                connection.create_function("is_about", 2, is_about)
                connection.execute("DELETE FROM judgements WHERE is_about(transcript, unit)")
                connection.execute("DELETE FROM prompts WHERE prompt NOT IN (SELECT prompt FROM judgements)")
                connection.execute(
                    "DELETE FROM pieces WHERE digest NOT IN (SELECT schema FROM prompts UNION "
                    "SELECT value FROM prompts, json_each(pieces))"
                )
                connection.execute("VACUUM")
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except sqlite3.Error as error:
        raise explained(error, source) from error


# -- reading without judging ------------------------------------------------------------------------


def read_judgements(path: Path) -> Iterator[Judgement]:
    """All judgements of a store, by key; none where there is no store.

    Raises:
        RunError: it can't be read.
    """
    if not _there(path):
        return
    with closing(open_to_read(path)) as connection, reading(path):
        for row in connection.execute("SELECT * FROM judgements ORDER BY key"):
            yield _judgement(row)


def check_store(path: Path) -> None:
    """See that all of a store is as it was written.

    Raises:
        RunError: it isn't, or can't be read.
    """
    for judgement in read_judgements(path):
        read_prompt_pieces(path, judgement.prompt)


def stored_keys(path: Path, *, failed: bool = False, max_tokens: int = 0) -> set[str]:
    """The keys of all judgements that a run with this limit of tokens would not ask again; with ``failed``, also of the
    others."""
    if not _there(path):
        return set()
    with closing(open_to_read(path)) as connection, reading(path):
        left_out = ""
        if not failed:
            left_out = " WHERE state != 'failed'"
            columns = {column for _, column, *_ in connection.execute("PRAGMA table_info(judgements)")}
            if "cut_at" in columns:
                left_out += f" AND ifnull(cut_at, {int(max_tokens)}) >= {int(max_tokens)}"
        return {key for (key,) in connection.execute(f"SELECT key FROM judgements{left_out}")}


def read_judgement(path: Path, key: str) -> Judgement | None:
    """The judgement with this key; None where there is none.

    Raises:
        RunError: the store can't be read.
    """
    if not _there(path):
        return None
    with closing(open_to_read(path)) as connection, reading(path):
        row = connection.execute("SELECT * FROM judgements WHERE key = ?", (key,)).fetchone()
        return None if row is None else _judgement(row)


def read_prompt(path: Path, prompt: str) -> str | None:
    """The prompt with this hash; None where it was not kept.

    Raises:
        RunError: the store can't be read.
    """
    pieces = read_prompt_pieces(path, prompt)
    return None if pieces is None else "".join(text for _, text in pieces)


def read_prompt_pieces(path: Path, prompt: str) -> list[tuple[str, str]] | None:
    """The pieces of the prompt with this hash, each with its digest; None where it was not kept.

    Raises:
        RunError: the store can't be read.
    """
    if not _there(path):
        return None
    with closing(open_to_read(path)) as connection, reading(path):
        row = connection.execute("SELECT pieces FROM prompts WHERE prompt = ?", (prompt,)).fetchone()
        if row is None:
            # None is kept without the judgement that was asked with it.
            other = "SELECT 1 FROM prompts WHERE prompt NOT IN (SELECT prompt FROM judgements) LIMIT 1"
            if connection.execute(other).fetchone() is not None:
                raise ValueError("a prompt isn't as it was written")
            return None
        pieces = []
        for digest in orjson.loads(row["pieces"]):
            (text,) = connection.execute("SELECT text FROM pieces WHERE digest = ?", (digest,)).fetchone()
            pieces.append((digest, unpacked(text).decode()))
            if hashlib.sha256(pieces[-1][1].encode()).hexdigest() != digest:
                raise ValueError("a piece of a prompt isn't as it was written")
        return pieces


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turns what a damaged store comes to into a message that names it."""
    try:
        yield
    except _DAMAGE as error:
        raise _damaged(error, path) from error


def _damaged(error: Exception, path: Path) -> RunError:
    return RunError(
        f"the store of judgements is damaged ({error})",
        where=str(path),
        todo="restore it from a copy, or move it away to judge anew",
    )


def _there(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise RunError(f"the store of judgements can't be read ({error.strerror})", where=str(path)) from error


def open_to_read(path: Path, patience: float = 60.0) -> sqlite3.Connection:
    """Open a store's file to read it, waiting ``patience`` seconds at most for whoever uses it."""
    _check_log(path)
    try:
        connection = sqlite3.connect(address_to_read(path), timeout=patience, uri=True)
        connection.row_factory = sqlite3.Row
        connection.execute("PRAGMA query_only = 1")
        version = FORMAT.of_database(connection, "judgements")
        if version == 0 and connection.execute("SELECT 1 FROM sqlite_master").fetchone() is None:
            connection.close()  # whoever made it was killed before anything was in it
            connection = sqlite3.connect(":memory:")
            connection.row_factory = sqlite3.Row
            connection.executescript(TABLES)
            return connection
    except sqlite3.Error as error:
        if "locked" in str(error):
            raise explained(error, path) from error
        raise RunError(f"the store of judgements can't be read ({error})", where=str(path)) from error
    FORMAT.check(version, path)
    return connection
