"""The log of a simulation: what was replied is on disk before anything else is asked.

One SQLite file in write-ahead mode, for its owner's eyes. Requests are noted in a file beside it as they go out, which
is taken in when the log is closed, or opened again. A reply is known by its conversation's key (or by that of
what several conversations share), the call site, the ordinal and the attempt. Going on is playing the controllers over
the log: what is there is not asked again. A call that got no answer is kept as failed, and asked again.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import uuid
import zlib
from asyncio import Future, get_running_loop
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, get_args

import orjson

from bedside.core.engines.part_databases import PartDatabases
from bedside.core.errors import RunError
from bedside.core.files import (
    Format,
    address_to_read,
    cells_digest,
    check_no_links,
    replacing,
    sqlite_address,
    unpacked,
)
from bedside.core.json_shape import BOOLEAN, INTEGER, TEXT, ObjectOf, misfit
from bedside.ratings.names import is_human
from bedside.simulation.simulators.calls import ActorReply
from bedside.transcripts.simulation_folder import LOG_FILE

FORMAT = Format("log of the simulation", 2, todo="simulate into a new folder")
_DAMAGE = (sqlite3.Error, zlib.error, ValueError, TypeError, LookupError)

#: ``answered``: there is a reply. ``failed``: none was had; it is asked again by the next run.
ReplyState = Literal["answered", "failed"]
#: ``finished``: there is a transcript. ``failed``: it can't be used. ``unfinished``: a limit was reached, or the run
#: was ended.
ConversationState = Literal["finished", "failed", "unfinished"]
#: Endings: of a conversation with a transcript, and of one without.
_FINISHED = {"stop": TEXT, "completed": BOOLEAN, "flags": ObjectOf(INTEGER)}
_LOST = {"whose": TEXT, "reason": TEXT, "detail": TEXT}

_TABLES = """
CREATE TABLE replies (
    key TEXT NOT NULL,             -- of the conversation, or of what conversations share, with #2 and so on where
                                   -- an actor with a memory began anew
    purpose TEXT NOT NULL,         -- the call site
    ordinal INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    prompt TEXT NOT NULL,          -- SHA-256 of all that was asked
    parts TEXT NOT NULL,           -- JSON: digests of the parts of it, by name
    actor TEXT NOT NULL,           -- the role
    model TEXT NOT NULL,           -- who played it
    parameters TEXT NOT NULL,      -- JSON
    state TEXT NOT NULL,
    reply BLOB NOT NULL,           -- JSON, compressed: text, cut, declined, and how it failed where it did
    faults TEXT NOT NULL,          -- JSON: what went wrong on the way
    calls INTEGER NOT NULL,        -- requests sent
    input_tokens INTEGER,
    output_tokens INTEGER,
    cost REAL,                     -- US dollars
    started TEXT NOT NULL,
    finished TEXT NOT NULL,
    endpoint TEXT,                 -- the address of the server that replied
    digest TEXT,                   -- SHA-256 of the other cells, here and below
    PRIMARY KEY (key, purpose, ordinal, attempt)
) WITHOUT ROWID;
CREATE TABLE plan (
    place INTEGER PRIMARY KEY,     -- among the conversations of the last run
    key TEXT NOT NULL,
    id TEXT NOT NULL,              -- the transcript's
    about TEXT NOT NULL,           -- JSON: system, case, persona, setting, length, repeat
    digest TEXT
);
CREATE TABLE conversations (
    key TEXT PRIMARY KEY,
    state TEXT NOT NULL,
    session INTEGER NOT NULL,      -- how often it was begun
    ending TEXT NOT NULL,          -- JSON: how it ended, or why it can't be used
    transcript BLOB,               -- JSON, compressed
    states BLOB,                   -- JSON lines, compressed
    digest TEXT
) WITHOUT ROWID;
CREATE INDEX plan_ids ON plan (id);
CREATE TABLE sessions (key TEXT PRIMARY KEY, session INTEGER NOT NULL, digest TEXT) WITHOUT ROWID;
"""
#: Requests that went out, whatever became of them, by role and process. Earlier versions had only those in ``replies``.
_SENT = "CREATE TABLE sent (process TEXT, actor TEXT, requests INTEGER, digest TEXT, PRIMARY KEY (process, actor))"
#: That conversations were removed, where some were.
_REMOVED = (
    "CREATE TABLE IF NOT EXISTS removed (place INTEGER PRIMARY KEY, kind TEXT, date TEXT, by TEXT, transcripts INTEGER,"
    " replies INTEGER, spent TEXT, digest TEXT)"
)


@dataclass(frozen=True, slots=True)
class CallSite:
    """Where in a simulation a call stands."""

    key: str
    purpose: str
    ordinal: int
    attempt: int


@dataclass(frozen=True, slots=True)
class LoggedReply:
    """One reply as it is kept; see the comments of the table."""

    site: CallSite
    prompt: str
    parts: dict[str, str]
    actor: str
    model: str
    parameters: dict[str, Any]
    state: ReplyState
    reply: ActorReply
    faults: tuple[str, ...]
    calls: int
    input_tokens: int | None
    output_tokens: int | None
    cost: float | None
    started: str
    finished: str
    endpoint: str | None

    def cells(self) -> dict[str, Any]:
        """The cells of its row, by column."""
        failed = [self.reply.failed] if self.reply.failed else []
        reply = [self.reply.text, self.reply.cut, self.reply.declined, *failed]
        packing = zlib.compressobj(1, zlib.DEFLATED, 12, 4)  # the room for a larger window takes longer than a reply
        return {
            **{name: getattr(self, name) for name in _PLAIN},
            **{name: getattr(self.site, name) for name in _SITE},
            **{name: _json(getattr(self, name)) for name in ("parts", "parameters", "faults")},
            "reply": packing.compress(orjson.dumps(reply)) + packing.flush(),
        }


#: By what a row of replies is known.
_SITE = ("key", "purpose", "ordinal", "attempt")
#: What stands in a cell as it is.
_PLAIN = (
    "prompt", "actor", "model", "state", "calls", "input_tokens", "output_tokens", "cost", "started", "finished",
    "endpoint",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ListedConversation:
    """A conversation of the last run's plan.

    Attributes:
        key, id, about: see the comments of the table.
    """

    key: str
    id: str
    about: dict[str, Any]


@dataclass(frozen=True, slots=True)
class LoggedConversation:
    """What a conversation came to, as it is kept.

    Attributes:
        key, state, session, ending: see the comments of the table.
        transcript: a line of JSON; empty where there is none.
        states: lines of JSON, a line feed after each.
    """

    key: str
    state: ConversationState
    session: int
    ending: dict[str, Any]
    transcript: bytes = b""
    states: bytes = b""


def state_lines(transcript: str, states: tuple[Mapping[str, Any], ...]) -> bytes:
    """The hidden states of a conversation, a line of JSON each."""
    return b"".join(orjson.dumps({"id": transcript, **state}) + b"\n" for state in states)


def _json(value: object) -> str:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()


def _checked(content: str | bytes, shape: Any, what: str) -> Any:
    """JSON of a cell.

    Raises:
        ValueError: it is not of the shape.
    """
    value = orjson.loads(content)
    wrong = misfit(value, shape)
    if wrong is not None:
        raise ValueError(f"{what}: {wrong}")
    return value


def _logged_reply(row: sqlite3.Row) -> LoggedReply:
    text, cut, declined, *failed = orjson.loads(unpacked(row["reply"]))
    wrong = misfit([text, declined, *failed], [TEXT])
    if wrong is not None or len(failed) > 1 or not isinstance(cut, bool):
        raise ValueError("a reply is none")
    return LoggedReply(
        CallSite(**{each.name: row[each.name] for each in fields(CallSite)}),
        parts=_checked(row["parts"], ObjectOf(TEXT), "parts"),
        parameters=_checked(row["parameters"], {}, "parameters"),
        reply=ActorReply(text, cut, declined, failed[0] if failed else "", is_human(row["model"])),
        faults=tuple(_checked(row["faults"], [TEXT], "faults")),
        **{name: row[name] for name in _PLAIN},
    )


def _logged_conversation(row: sqlite3.Row) -> LoggedConversation:
    state, transcript, states = row["state"], row["transcript"], row["states"]
    if state not in get_args(ConversationState):
        raise ValueError(f"the state of a conversation is {state!r}")
    return LoggedConversation(
        row["key"],
        state,
        row["session"],
        _checked(row["ending"], _FINISHED if state == "finished" else _LOST, "ending"),
        b"" if transcript is None else unpacked(transcript),
        b"" if states is None else unpacked(states),
    )


def _sound(connection: sqlite3.Connection, table: str) -> str:
    """Says in SQL whether a row's digest is that of its other cells."""
    names = _columns(connection, table)
    return f"{table}.digest IS {_digest_of(names, f'{table}.')}" if "digest" in names else "1"


def _digest_of(columns: Iterable[str], prefix: str = "") -> str:
    """The digest of a row's other cells, in SQL, whatever their order."""
    return f"digest_of({', '.join(prefix + name for name in sorted({*columns} - {'digest'}))})"


def _check_row(row: sqlite3.Row) -> sqlite3.Row:
    """The row; a ValueError where what :func:`_sound` says of it doesn't hold."""
    if not row["sound"]:
        raise ValueError("a row isn't as it was written")
    return row


def check_rows(connection: sqlite3.Connection, *tables: str) -> None:
    """See that all rows of some tables are as they were written, before they are counted and summed.

    Raises:
        ValueError: one isn't.
    """
    for table in tables:
        query = f"SELECT count(*) AS number FROM {table} WHERE NOT ({_sound(connection, table)})"
        number = connection.execute(query).fetchone()["number"]
        if number:
            raise ValueError(f"rows of the table {table} that aren't as they were written: {number:,}")


def _insert(table: str, columns: Iterable[str], source: str = "", rest: str = "", verb: str = "INSERT") -> str:
    """Puts cells into a table by the names of their columns: named values, or those of a ``source``'s rows."""
    names = tuple(columns)
    if source:
        return f"{verb} INTO {table} ({', '.join(names)}) SELECT {', '.join(names)} FROM {source} {rest}"
    values = ", ".join(f":{name}" for name in names)
    return f"{verb} INTO {table} ({', '.join(names)}, digest) VALUES ({values}, {_digest_of(names, ':')}) {rest}"


_CELLS = (*_PLAIN, *_SITE, "parts", "parameters", "faults", "reply")
_KEEP = _insert("replies", _CELLS, rest="ON CONFLICT DO NOTHING")
#: What is spent on attempts that failed is added up, and sealed then.
_ADD = _insert("replies", _CELLS) + " ON CONFLICT DO UPDATE SET calls = calls + excluded.calls, " + ", ".join(
    (
        *(f"{name} = ifnull({name} + excluded.{name}, ifnull({name}, excluded.{name}))"
          for name in ("input_tokens", "output_tokens", "cost")),
        *(f"{name} = excluded.{name}"
          for name in ("prompt", "parts", "model", "parameters", "state", "reply", "faults", "finished", "endpoint")),
    )
)  # fmt: skip
_SEAL = f"UPDATE replies SET digest = {_digest_of(_CELLS)} WHERE {' AND '.join(f'{name} = :{name}' for name in _SITE)}"


class ConversationLog:
    """A log that is open to go on with, used from one event loop, by one process at a time.

    What is to be written while a transaction is on its way to the disk is the next one: a thread waits for the disk,
    and nothing else does. Whoever writes goes on when it is there.

    Args:
        path: the file; made if it isn't there.

    Raises:
        RunError: it can't be opened or written, or is no log.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._jobs: list[_LogJob] = []
        self._writing: Future[None] | None = None
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="conversation-log")
        self._sent: int | None = None
        with suppress(OSError):  # SQLite says it better
            path.touch(0o600)
        try:
            # One thread at a time uses it: the writer's, or before and after that the loop's.
            self._connection = sqlite3.connect(
                sqlite_address(path.absolute()), isolation_level=None, uri=True, check_same_thread=False
            )
            try:
                _with_digests(self._connection)
                self._make_tables()
                self._take_in_sent()
                self._reader = sqlite3.connect(sqlite_address(path.absolute()), isolation_level=None, uri=True)
                _with_digests(self._reader)
            except BaseException:
                self._connection.close()
                raise
        except _DAMAGE as error:
            raise explained(error, path) from error

    def _make_tables(self) -> None:
        run = self._connection.execute
        run("PRAGMA journal_mode = WAL")
        run("PRAGMA synchronous = FULL")
        run("BEGIN IMMEDIATE")
        version = FORMAT.of_database(self._connection, "replies")
        if version == 0:
            for statement in _TABLES.split(";"):
                run(statement)
        elif version == 1:
            for table in (*_BETTER, "plan"):
                run(f"ALTER TABLE {table} ADD COLUMN digest TEXT")
                run(f"UPDATE {table} SET digest = {_digest_of(_columns(self._connection, table))}")
        if version in (0, 1):
            run(f"PRAGMA user_version = {FORMAT.version}")
        if not _columns(self._connection, "sent"):
            run(_SENT)
            kept = "(SELECT 'earlier' AS process, actor, sum(calls) AS requests FROM replies GROUP BY actor)"
            names = ("process", "actor", "requests")
            run(f"INSERT INTO sent SELECT {', '.join(names)}, {_digest_of(names)} FROM {kept}")
        run("COMMIT")
        FORMAT.check(version or FORMAT.version, self.path)

    def close(self) -> None:
        """Finish what was begun and close the file."""
        self._writer.shutdown()
        jobs, self._jobs = self._jobs, []
        try:
            if jobs:
                self._transact(jobs)
            if self._sent is not None:
                os.close(self._sent)
                with suppress(*_DAMAGE, OSError):  # it is taken in when the log is opened again
                    self._take_in_sent()
        finally:
            self._reader.close()
            self._connection.close()

    # -- requests ------------------------------------------------------------------------------------

    def note_sent(self, role: str, number: int = 1) -> None:
        """Note that so many requests go out for a role: a process that is killed then has sent them."""
        if number < 1:
            return
        try:
            if self._sent is None:
                self._sent = os.open(_sent_file(self.path), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
                os.write(self._sent, f"{uuid.uuid4().hex}\n".encode())
            os.write(self._sent, f"{role}\n".encode() * number)
        except OSError as error:
            raise explained(error, self.path) from error

    def _take_in_sent(self) -> None:
        """Put what was noted beside the log into it; done again, it comes to the same."""
        rows = [dict(zip(("process", "actor", "requests"), row, strict=True)) for row in _noted_sent(self.path)]
        self._connection.execute("BEGIN IMMEDIATE")
        for row in rows:
            self._connection.execute(_insert("sent", row, verb="REPLACE"), row)
        self._connection.execute("COMMIT")
        _sent_file(self.path).unlink(missing_ok=True)

    # -- replies -------------------------------------------------------------------------------------

    def replies(self, key: str) -> dict[CallSite, LoggedReply]:
        """All replies that were given, under a key."""
        with _reading(self.path):
            query = f"SELECT *, {_sound(self._reader, 'replies')} AS sound FROM replies WHERE key = ?"
            rows = map(_check_row, self._reader.execute(query, (key,)).fetchall())
            answered = (_logged_reply(row) for row in rows if row["state"] == "answered")
            return {logged.site: logged for logged in answered}

    def reply(self, site: CallSite, state: ReplyState = "answered") -> LoggedReply | None:
        """What is kept of one call in a state; None where there is nothing."""
        with _reading(self.path):
            row = self._reader.execute(
                f"SELECT *, {_sound(self._reader, 'replies')} AS sound FROM replies"
                " WHERE key = ? AND purpose = ? AND ordinal = ? AND attempt = ?",
                (site.key, site.purpose, site.ordinal, site.attempt),
            ).fetchone()
            return None if row is None or _check_row(row)["state"] != state else _logged_reply(row)

    async def keep(self, logged: LoggedReply) -> None:
        """Write a reply; it is on disk when this returns. What was spent on attempts that failed is added to it."""
        cells = logged.cells()

        def work() -> None:
            if not self._connection.execute(_KEEP, cells).rowcount:
                self._connection.execute(_ADD, cells)
                self._connection.execute(_SEAL, cells)

        await self._do(work)

    # -- conversations -------------------------------------------------------------------------------

    async def end(self, conversation: LoggedConversation) -> None:
        """Write what a conversation came to."""
        packed = {
            name: zlib.compress(text, 3) if text else None
            for name, text in (("transcript", conversation.transcript), ("states", conversation.states))
        }
        plain = {name: getattr(conversation, name) for name in ("key", "state", "session")}
        cells = {**plain, "ending": _json(conversation.ending), **packed}

        def work() -> None:
            if conversation.state == "finished":  # that rows are lost can then be told
                count = self._connection.execute(_REPLIES_OF, (conversation.key, conversation.key)).fetchone()["number"]
                cells["ending"] = _json({**conversation.ending, "replies": count})
            self._connection.execute(_insert("conversations", cells, verb="REPLACE"), cells)

        await self._do(work)

    def plan(self, conversations: Iterable[ListedConversation]) -> None:
        """Write which conversations there are to be, in order, in place of an earlier plan."""
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            self._connection.execute("DELETE FROM plan")
            rows = (
                {"place": place, "key": listed.key, "id": listed.id, "about": _json(listed.about)}
                for place, listed in enumerate(conversations)
            )
            number = self._connection.executemany(_insert("plan", ("place", "key", "id", "about")), rows).rowcount
            self._connection.execute(f"PRAGMA application_id = {max(0, number)}")  # lost rows are told by it
            self._connection.execute("COMMIT")
        except _DAMAGE as error:
            raise explained(error, self.path) from error

    def session(self, key: str) -> int:
        """How often a conversation was begun with an actor that remembers; 0 where it wasn't."""
        with _reading(self.path):
            query = f"SELECT session, {_sound(self._reader, 'sessions')} AS sound FROM sessions WHERE key = ?"
            row = self._reader.execute(query, (key,)).fetchone()
            return 0 if row is None else int(_check_row(row)["session"])

    async def begin_session(self, key: str, session: int) -> None:
        """Note that a conversation is begun."""
        cells = {"key": key, "session": session}
        await self._do(lambda: self._connection.execute(_insert("sessions", cells, verb="REPLACE"), cells))

    # -- writing -------------------------------------------------------------------------------------

    async def _do(self, work: Callable[[], object]) -> None:
        done: Future[None] = get_running_loop().create_future()
        self._jobs.append(_LogJob(work, done))
        if self._writing is None:
            self._write()
        await done

    def _write(self) -> None:
        """Have all that is to be written now written by the thread."""
        jobs, self._jobs = self._jobs, []
        self._writing = get_running_loop().run_in_executor(self._writer, self._transact, jobs)
        self._writing.add_done_callback(lambda writing: self._written(jobs, writing))

    def _written(self, jobs: list[_LogJob], writing: Future[None]) -> None:
        self._writing = None
        failed = None if writing.cancelled() else writing.exception()
        for job in jobs:
            if job.done.done():  # whoever wanted it was stopped
                continue
            if failed is not None:
                job.done.set_exception(failed)
            else:
                job.done.set_result(None)
        if self._jobs:
            self._write()

    def _transact(self, jobs: list[_LogJob]) -> None:
        """Do all of it in one transaction: all of it is on disk, or nothing is."""
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            for job in jobs:
                job.work()
            self._connection.execute("COMMIT")
        except Exception as error:
            with suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")
            raise explained(error, self.path) from error


def _sent_file(path: Path) -> Path:
    return path.with_name(f"{path.name}-sent")


def _noted_sent(path: Path) -> list[tuple[str, str, int]]:
    """What is noted of requests beside a log: the process, the role and how many; nothing where there is no file."""
    file = _sent_file(path)
    process, *roles = (file.read_text("utf-8").split() if file.is_file() else []) or [""]
    return [(process, role, number) for role, number in Counter(roles).items()]


@dataclass(frozen=True, slots=True)
class _LogJob:
    work: Callable[[], object]
    done: Future[None]


_REPLIES_OF = "SELECT count(*) AS number FROM replies WHERE key >= ? AND key < ? || '$'"
_SPENT = """
SELECT actor, sum(state = 'answered') AS replies, sum(state = 'answered' AND calls > 0) AS asked,
    sum(calls) AS calls, sum(input_tokens) AS input_tokens, sum(output_tokens) AS output_tokens,
    CASE WHEN count(cost) = count(*) THEN sum(cost) END AS cost
FROM replies GROUP BY actor ORDER BY actor
"""


def explained(error: Exception, path: Path) -> Exception:
    """What an error with a log comes to, in words; errors of other kinds are given back."""
    if isinstance(error, sqlite3.OperationalError | OSError):
        full = getattr(error, "sqlite_errorname", "").startswith(("SQLITE_FULL", "SQLITE_IOERR"))
        todo = "see that its disk has room, and run the same again, which goes on" if full else None
        return RunError(f"the log of the simulation can't be used ({error})", where=str(path), todo=todo)
    if isinstance(error, _DAMAGE):
        return RunError(
            f"the log of the simulation is damaged ({error})",
            where=str(path),
            todo="restore it from a copy, or simulate into another folder",
        )
    return error


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except _DAMAGE as error:
        raise explained(error, path) from error


def _with_digests(connection: sqlite3.Connection) -> None:
    """Have a connection name its columns and know the digest of a row's cells."""
    connection.row_factory = sqlite3.Row
    connection.create_function("digest_of", -1, cells_digest, deterministic=True)


@contextmanager
def opened_log(path: Path) -> Iterator[sqlite3.Connection]:
    """A log that is only read, also while a simulation goes on.

    Raises:
        RunError: it isn't there, can't be read, or is damaged.
    """
    if not path.is_file():
        raise RunError("there is no log of a simulation", where=str(path), todo="name a simulation's folder")
    check_no_links(path.parent, "a simulation")
    with _reading(path), closing(sqlite3.connect(address_to_read(path), uri=True)) as connection:
        _with_digests(connection)
        FORMAT.check(FORMAT.of_database(connection, "replies"), path)
        yield connection


def check_log(path: Path) -> None:
    """See that all of a log is as it was written.

    Raises:
        RunError: it isn't, or can't be read.
    """
    with opened_log(path) as connection:
        check_rows(connection, *_BETTER, "plan", *(name for name in ("sent", "removed") if _columns(connection, name)))


def lost_rows(connection: sqlite3.Connection, kept: Mapping[str, str], spent: Mapping[str, Any]) -> Iterator[str]:
    """What rows a log must have had and has no more, each in words with the id of the conversation.

    Args:
        connection: to the log.
        kept: what transcripts say: of each conversation its id, by its key.
        spent: replies and requests by role, as the manifest has them.
    """
    run = connection.execute
    listed = {row["key"]: row["id"] for row in run("SELECT key, id FROM plan")}
    names = {**kept, **listed}
    finished = {
        row["key"]: orjson.loads(row["ending"]).get("replies", 0)
        for row in run("SELECT key, ending FROM conversations WHERE state = 'finished'")
    }
    yield from (f"the conversation {name}" for key, name in kept.items() if key not in finished)
    missing = run("PRAGMA application_id").fetchone()["application_id"] - len(listed)
    if missing > 0:
        ids = ", ".join(name for key, name in kept.items() if key not in listed)
        yield f"{missing:,} of the plan" + (f" ({ids})" if ids else "")
    for key, number in finished.items():
        count = run(_REPLIES_OF, (key, key)).fetchone()["number"]
        if count < number:
            yield f"{number - count:,} of {number:,} replies of {names.get(key, key[:12])}"
    now = spent_by_role(connection)
    for role, own in spent.items():
        for name, words in (("replies", "replies"), ("calls", "requests")):
            before, after = own.get(name) or 0, now.get(role, {}).get(name, 0)
            if after < before:
                yield f"{before - after:,} of {before:,} {words} of the {role}"


def planned_conversations(
    connection: sqlite3.Connection, name: str | None = None
) -> Iterator[tuple[ListedConversation, LoggedConversation | None]]:
    """The conversations of the last run's plan, in order, and what they came to; None where they haven't ended.

    Args:
        connection: to the log.
        name: the id of the only one that is wanted; None for all.
    """
    rows = connection.execute(
        f"SELECT plan.key AS planned, id, about, conversations.*, {_sound(connection, 'plan')}"
        f" AND (conversations.key IS NULL OR {_sound(connection, 'conversations')}) AS sound"
        " FROM plan LEFT JOIN conversations USING (key)"
        f"{'' if name is None else ' WHERE +id = ?'} ORDER BY place",  # of the table: an index has no digest
        () if name is None else (name,),
    )
    lacks = False
    for row in map(_check_row, rows):
        if row["key"] is None and not lacks:  # is it under another key by now?
            lacks = True
            check_rows(connection, "conversations")
        listed = ListedConversation(row["planned"], row["id"], orjson.loads(row["about"]))
        yield listed, None if row["key"] is None else _logged_conversation(row)


def earlier_conversations(connection: sqlite3.Connection) -> int:
    """How many conversations ended in earlier runs and are not in the last run's plan."""
    query = "SELECT count(*) AS number FROM conversations WHERE key NOT IN (SELECT key FROM plan)"
    return int(connection.execute(query).fetchone()["number"])


def spent_by_role(connection: sqlite3.Connection) -> dict[str, dict[str, Any]]:
    """What was asked took, by role: replies, calls, tokens, US dollars (None where some aren't known).

    Calls are all requests that went out; those of them that no reply is kept of are ``unanswered`` too: they are under
    way, or were cut off, as where a process was ended, or refused.
    """
    check_rows(connection, "replies")
    rows = map(dict, connection.execute(_SPENT).fetchall())
    spent = {row.pop("actor"): row for row in rows}
    for record in removed_conversations(connection):
        for role, gone in record["spent"].items():
            own = spent.get(role)
            spent[role] = gone if own is None else {name: _sum(name, own[name], gone[name]) for name in gone}
    sent = _sent_by_role(connection)
    for role in sent:
        nothing = {"replies": 0, "asked": 0, "calls": 0, "input_tokens": None, "output_tokens": None, "cost": None}
        spent.setdefault(role, nothing)
    for role, own in spent.items():
        number = max(own["calls"], sent[role])
        own |= {"calls": number, "unanswered": number - own.pop("asked")}
    return dict(sorted(spent.items()))


def _sum(name: str, *numbers: float | None) -> float | None:
    """As :data:`_SPENT` has it: of costs, all must be known."""
    known = [number for number in numbers if number is not None]
    return sum(known) if known and (name != "cost" or len(known) == len(numbers)) else None


def _sent_by_role(connection: sqlite3.Connection) -> Counter[str]:
    """Requests that went out, by role, those that aren't taken in yet too; none of a log of an earlier version."""
    sent: dict[tuple[str, str], int] = {}
    if _columns(connection, "sent"):
        check_rows(connection, "sent")
        sent = {(row["process"], row["actor"]): row["requests"] for row in connection.execute("SELECT * FROM sent")}
    path = next(row["file"] for row in connection.execute("PRAGMA database_list") if row["name"] == "main")
    sent |= {(process, role): number for process, role, number in _noted_sent(Path(path))}
    by_role = Counter[str]()
    for (_, role), number in sent.items():
        by_role[role] += number
    return by_role


# -- Conversations are removed --------------------------------------------------------------------------


def removed_conversations(connection: sqlite3.Connection) -> list[dict[str, Any]]:
    """What was removed of a simulation, in order."""
    if not _columns(connection, "removed"):
        return []
    rows = connection.execute(f"SELECT *, {_sound(connection, 'removed')} AS sound FROM removed ORDER BY place")
    told = ("kind", "date", "by", "transcripts", "replies")
    read = map(_check_row, rows)
    return [{**{name: row[name] for name in told}, "spent": orjson.loads(row["spent"])} for row in read]


def keys_without(connection: sqlite3.Connection, name: str) -> tuple[set[str], int]:
    """Keys of the conversations that are known to be of others than a case or transcript, and how many are of it."""
    of_it: dict[str, bool] = {}
    query = f"SELECT *, {_sound(connection, 'conversations')} AS sound FROM conversations"
    for row in map(_check_row, connection.execute(query)):
        if row["transcript"] is not None:
            talk = orjson.loads(unpacked(row["transcript"]))
            of_it[row["key"]] = name in (talk.get("id"), talk.get("case_id"))
    for listed, _ in planned_conversations(connection):
        of_it[listed.key] = name in (listed.id, listed.about.get("case"))
    return {key for key, is_it in of_it.items() if not is_it}, sum(of_it.values())


def write_log_without(target: Path, source: Path, keys: Iterable[str], record: Mapping[str, Any]) -> int:
    """Write a log of some conversations alone, with a record of what was removed; no byte of others stays.

    What conversations share goes, as nobody knows of which case it is: it is asked again by conversations that go on.

    Returns:
        How many replies were removed.
    """
    ConversationLog(source).close()
    with replacing(target) as temporary:
        shutil.copyfile(source, temporary)
        address = sqlite_address(temporary.absolute())
        with closing(sqlite3.connect(address, isolation_level=None, uri=True)) as connection:
            _with_digests(connection)
            run = connection.execute
            run("CREATE TEMP TABLE kept (key TEXT PRIMARY KEY)")
            connection.executemany("INSERT INTO kept VALUES (?)", ((key,) for key in keys))
            is_gone = "CASE instr(key, '#') WHEN 0 THEN key ELSE substr(key, 1, instr(key, '#') - 1) END NOT IN kept"
            gone = run(_SPENT.replace("GROUP BY", f"WHERE {is_gone} GROUP BY")).fetchall()
            replies = int(run(f"SELECT count(*) AS number FROM replies WHERE {is_gone}").fetchone()["number"])
            for table in (*_BETTER, "plan"):
                run(f"DELETE FROM {table} WHERE {is_gone}")
            run(f"PRAGMA application_id = {run('SELECT count(*) AS number FROM plan').fetchone()['number']}")
            cells = {**record, "place": len(removed_conversations(connection)), "replies": replies}
            cells["spent"] = orjson.dumps({row.pop("actor"): row for row in map(dict, gone)}).decode()
            run(_REMOVED)
            run(_insert("removed", cells), cells)
            run("VACUUM")
            run("PRAGMA wal_checkpoint(TRUNCATE)")
    return replies


# -- Logs of workers beside a simulation's own ----------------------------------------------------------

#: Folder of a simulation with the logs of workers.
PARTS = ".talk-parts"
#: A reply that was had isn't had again by whoever knows of it: where two logs have different ones to the same call,
#: neither process knew of the other, and what follows in one doesn't fit to the other.
_DIFFERENT = f"""
SELECT 1 FROM other.replies AS new JOIN main.replies AS mine USING ({", ".join(_SITE)})
WHERE new.state = 'answered' AND mine.state = 'answered' AND (new.prompt != mine.prompt OR new.reply != mine.reply)
LIMIT 1
"""
#: What was spent on calls that failed is in the other log too, as it began with what was there.
_BETTER = {
    "replies": "replies.state = 'failed' AND (excluded.state = 'answered' OR excluded.calls > replies.calls)",
    "conversations": "conversations.state != 'finished'",
    "sessions": "excluded.session > sessions.session",
}


def worker_logs(folder: Path) -> PartDatabases:
    """The logs of workers beside that of the simulation in a folder."""
    return PartDatabases(folder / LOG_FILE, PARTS, merge_log)


def merge_log(path: Path, source: Path) -> bool:
    """Add what a log holds to another; done again, it comes to the same.

    Args:
        path: the log that is added to; made if it isn't there.
        source: the other, which no process uses.

    Returns:
        Whether it was added. Where the two have different replies to one call, nothing of the second is: each of them
        goes on from its own.

    Raises:
        RunError: one of them can't be used.
    """
    ConversationLog(path).close()
    ConversationLog(source).close()  # what a process that was killed wrote last is put in its place
    with _joined(path, source) as connection:
        if connection.execute(_DIFFERENT).fetchone() is not None:
            return False
        for table, better in (*_BETTER.items(), ("sent", "excluded.requests > sent.requests")):
            names = _columns(connection, table)
            changes = ", ".join(f"{name} = excluded.{name}" for name in names)
            rest = f"WHERE true ON CONFLICT DO UPDATE SET {changes} WHERE {better}"
            connection.execute(_insert(f"main.{table}", names, f"other.{table}", rest))
    return True


def extract_log(path: Path, source: Path, keys: Iterable[str]) -> None:
    """Put what a log holds under some keys, and under those of conversations begun anew, into a log of its own.

    Args:
        path: the log that is made; where there is nothing to put into it, it isn't.
        source: where it is taken from.
        keys: of conversations, and of what they share.

    Raises:
        RunError: one of them can't be used.
    """
    keys = tuple(keys)
    with opened_log(source) as connection:
        query = "SELECT 1 FROM replies WHERE key >= ? AND key < ? || '$' LIMIT 1"
        if not any(connection.execute(query, (key, key)).fetchone() for key in keys):
            return
    ConversationLog(path).close()
    with _joined(path, source) as connection:
        for table in _BETTER:
            rest = "WHERE key >= ? AND key < ? || '$' ON CONFLICT DO NOTHING"
            statement = _insert(f"main.{table}", _columns(connection, table), f"other.{table}", rest)
            connection.executemany(statement, ((key, key) for key in keys))


def _columns(connection: sqlite3.Connection, table: str) -> list[str]:
    return [row["name"] for row in connection.execute(f"PRAGMA main.table_info({table})")]


def is_begun(path: Path) -> bool:
    """Whether a log holds any reply."""
    with opened_log(path) as connection:
        return connection.execute("SELECT 1 FROM replies LIMIT 1").fetchone() is not None


@contextmanager
def _joined(path: Path, source: Path) -> Iterator[sqlite3.Connection]:
    """A transaction with ``source`` attached as ``other``."""
    try:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.row_factory = sqlite3.Row
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("ATTACH DATABASE ? AS other", (str(source),))
            connection.execute("BEGIN IMMEDIATE")
            yield connection
            connection.execute("COMMIT")
    except sqlite3.Error as error:
        raise explained(error, source) from error
