"""Logs of workers beside a simulation's own, and how they are put together: nothing is lost, nothing contradicts."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from bedside.core.engines.part_databases import PartDatabases
from bedside.simulation.conversation_log import ConversationLog, explained, opened_log
from bedside.transcripts.simulation_folder import LOG_FILE

#: Folder of a simulation with the logs of workers.
PARTS = ".talk-parts"
_SITE = "key, purpose, ordinal, attempt"
#: A reply that was had isn't had again by whoever knows of it: where two logs have different ones to the same call,
#: neither process knew of the other, and what follows in one doesn't fit to the other.
_DIFFERENT = f"""
SELECT 1 FROM other.replies AS new JOIN main.replies AS mine USING ({_SITE})
WHERE new.state = 'answered' AND mine.state = 'answered' AND (new.prompt != mine.prompt OR new.reply != mine.reply)
LIMIT 1
"""
#: What was spent on calls that failed is in the other log too, as it began with what was there.
_REPLIES = """
INSERT INTO main.replies SELECT * FROM other.replies WHERE true ON CONFLICT DO UPDATE SET {columns}
WHERE replies.state = 'failed' AND (excluded.state = 'answered' OR excluded.calls > replies.calls)
"""
_CONVERSATIONS = """
INSERT INTO main.conversations SELECT * FROM other.conversations WHERE true ON CONFLICT DO UPDATE SET {columns}
WHERE conversations.state != 'finished'
"""
_SESSIONS = """
INSERT INTO main.sessions SELECT * FROM other.sessions WHERE true ON CONFLICT DO UPDATE SET
session = max(session, excluded.session)
"""


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
        for table, statement in (("replies", _REPLIES), ("conversations", _CONVERSATIONS)):
            names = [name for _, name, *_ in connection.execute(f"PRAGMA main.table_info({table})")]
            connection.execute(statement.format(columns=", ".join(f"{name} = excluded.{name}" for name in names)))
        connection.execute(_SESSIONS)
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
        for table in ("replies", "conversations", "sessions"):
            connection.executemany(
                f"INSERT OR IGNORE INTO main.{table} SELECT * FROM other.{table} WHERE key >= ? AND key < ? || '$'",
                ((key, key) for key in keys),
            )


def is_begun(path: Path) -> bool:
    """Whether a log holds any reply."""
    with opened_log(path) as connection:
        return connection.execute("SELECT 1 FROM replies LIMIT 1").fetchone() is not None


@contextmanager
def _joined(path: Path, source: Path) -> Iterator[sqlite3.Connection]:
    """A transaction with ``source`` attached as ``other``."""
    try:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("ATTACH DATABASE ? AS other", (str(source),))
            connection.execute("BEGIN IMMEDIATE")
            yield connection
            connection.execute("COMMIT")
    except sqlite3.Error as error:
        raise explained(error, source) from error
