"""Merging stores of judgements that were made apart: nothing is lost, and nothing is there twice."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from bedside.core.errors import RunError
from bedside.core.files import address_to_read
from bedside.judges.store import explained, open_to_read, open_to_write, seal_rows

#: Judgements merged in one transaction.
_SLICE = 1000
#: What ratings are made of: where it is the same, two judgements say the same.
_SAID = ("state", "answer", "error", "expected", "expected_note")
#: The lesser of two judgements of one key is kept: one that came to something, and that wasn't cut off, or later; of
#: failures, that for which more was sent; else the first asked. The rest settles ties, so that the order of merging
#: doesn't matter.
_RANK = (
    "({0}.state = 'failed', {0}.cut_at IS NOT NULL, iif({0}.state = 'failed', -{0}.calls, -ifnull({0}.cut_at, 0)), "
    "{0}.started, {0}.finished, {0}.replies)"
)


@dataclass(frozen=True, slots=True)
class Merged:
    """What merging a store into another did.

    Attributes:
        judgements: how many it holds.
        new: of them, those that weren't there, or had failed there.
        differing: of them, those that were there with another answer; the first asked is kept.
    """

    judgements: int
    new: int
    differing: int


def merge_store(
    path: Path,
    source: Path,
    *,
    text: bool = True,
    transcripts: Sequence[str] | None = None,
    alone: bool = False,
    patience: float = 60.0,
) -> Merged:
    """Add the judgements of one store to another; done again, or in another order, it comes to the same.

    Stopped at any moment, both stores are whole, and the same call does what is left.

    Args:
        path: the store that is added to; made if it isn't there.
        source: the other, which stays as it is.
        text: whether the first keeps what was asked and replied.
        transcripts: ids; judgements first asked about others are left out. None takes all.
        alone: as for :class:`bedside.judges.store.Store`.
        patience: seconds to wait for a process that uses one of them.

    Raises:
        InUseError: one of them is in use.
        RunError: one of them can't be used, is no store of judgements, or ``source`` holds words that the other must
            not keep.
    """
    if not source.is_file():
        raise RunError("there is no store of judgements", where=str(source))
    try:
        with closing(open_to_read(source, patience)) as connection:
            worded = connection.execute("SELECT 1 FROM prompts").fetchone() is not None
        if worded and not text:
            raise RunError(
                "the store holds what was asked and replied, and the run keeps no text",
                where=str(source),
                todo="merge into a run that keeps text, or judge without text",
            )
        with closing(open_to_write(path, alone=alone)) as connection:
            connection.execute(f"PRAGMA busy_timeout = {int(1000 * patience)}")
            connection.execute("ATTACH DATABASE ? AS other", (address_to_read(source),))
            connection.execute("CREATE TEMP TABLE wanted (transcript TEXT PRIMARY KEY)")
            ids = [(name,) for name in transcripts or ()]
            connection.executemany("INSERT OR IGNORE INTO wanted VALUES (?)", ids)
            return _merge(connection, every=transcripts is None)
    except sqlite3.Error as error:
        raise explained(error, source) from error


def _merge(connection: sqlite3.Connection, *, every: bool) -> Merged:
    chosen = "" if every else " AND new.transcript IN (SELECT transcript FROM wanted)"
    asked = f"SELECT new.prompt FROM other.judgements AS new WHERE true{chosen}"
    prompts = f"FROM other.prompts WHERE prompt IN ({asked})"
    with _transaction(connection):  # a prompt is there before the judgements that name it
        connection.execute(
            f"""INSERT OR IGNORE INTO main.pieces SELECT digest, text FROM other.pieces WHERE digest IN
            (SELECT value FROM other.prompts, json_each(pieces) WHERE prompt IN ({asked}))
            OR digest IN (SELECT schema {prompts})"""
        )
        connection.execute(f"INSERT OR IGNORE INTO main.prompts SELECT prompt, pieces, schema {prompts}")

    columns = [column for _, column, *_ in connection.execute("PRAGMA main.table_info(judgements)")]
    their_columns = {column for _, column, *_ in connection.execute("PRAGMA other.table_info(judgements)")}
    theirs = ", ".join(f"new.{name}" if name in their_columns else "NULL" for name in columns)
    within = f"new.key > :after AND new.key <= :last{chosen}"
    differs = " OR ".join(f"new.{name} IS NOT mine.{name}" for name in _SAID)
    count = f"""SELECT count(*), sum(mine.key IS NULL OR mine.state = 'failed' AND new.state != 'failed'),
        sum(mine.state != 'failed' AND new.state != 'failed' AND ({differs}))
        FROM other.judgements AS new LEFT JOIN main.judgements AS mine ON mine.key = new.key WHERE {within}"""
    add = f"""INSERT INTO main.judgements ({", ".join(columns)})
        SELECT {theirs} FROM other.judgements AS new WHERE {within}
        ON CONFLICT (key) DO UPDATE SET {", ".join(f"{name} = excluded.{name}" for name in columns[1:])}
        WHERE {_RANK.format("excluded")} < {_RANK.format("judgements")}"""
    following = "SELECT max(key) FROM (SELECT key FROM other.judgements WHERE key > ? ORDER BY key LIMIT ?)"
    totals, after = [0, 0, 0], ""
    while (last := connection.execute(following, (after, _SLICE)).fetchone()[0]) is not None:
        bounds = {"after": after, "last": last}
        with _transaction(connection):
            counted = connection.execute(count, bounds).fetchone()
            connection.execute(add, bounds)
            if "digest" not in their_columns:  # of an earlier format
                seal_rows(connection)
        totals = [total + (number or 0) for total, number in zip(totals, counted, strict=True)]
        after = last
    return Merged(*totals)


def first_asked_about(path: Path) -> dict[str, int]:
    """The ids of the transcripts that judgements were first asked about, each with how many.

    Raises:
        RunError: the store can't be read.
    """
    with closing(open_to_read(path)) as connection:
        try:
            rows = connection.execute("SELECT transcript, count(*) FROM judgements GROUP BY transcript")
            return dict(rows.fetchall())
        except sqlite3.Error as error:
            raise explained(error, path) from error


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")
