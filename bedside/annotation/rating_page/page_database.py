"""What raters typed and handed in on the rating page: what a browser sends, kept in an SQLite database.

``entries`` holds what stands on a rater's page of an item now, a draft or what was handed in; ``revisions`` every
answer that was ever handed in, and only grows. Both are written in one transaction, in write-ahead mode with full
syncs, before anything is acknowledged: a process killed or a machine that loses power leaves all that was.
"""

from __future__ import annotations

import re
import sqlite3
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeVar

import orjson
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from bedside.annotation.annotation_plan import AnnotationPlan, known_rater, name_digest, plan_hash
from bedside.annotation.answer_ratings import beside_walks
from bedside.annotation.answers import RaterAnswer, State, in_order, marked_words, time_now
from bedside.annotation.assignment_by_need import WorkDone
from bedside.annotation.fields import (
    LISTED,
    MARKED_MODES,
    NONE,
    NOTHING,
    agree_field,
    code_field,
    entry_fields,
    evidence_field,
    one_answer,
)
from bedside.annotation.items import clean
from bedside.annotation.page_words import words_of
from bedside.core.errors import BedsideError, InputError, RunError
from bedside.core.files import Format, address_to_read, cells_digest
from bedside.judges.rubrics.answer_form import LINKED_KINDS
from bedside.judges.rubrics.rubric import Rubric, link_form
from bedside.ratings.rubric_metrics import AGREE, DISAGREE

# -- What raters typed and handed in on the rating page -------------------------------------------------

_SCHEMA = """
CREATE TABLE IF NOT EXISTS page (plan TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS entries (
    item TEXT NOT NULL, rater TEXT NOT NULL, version INTEGER NOT NULL, mark TEXT NOT NULL, state TEXT NOT NULL,
    content BLOB NOT NULL, created TEXT NOT NULL, PRIMARY KEY (item, rater)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS revisions (
    number INTEGER PRIMARY KEY AUTOINCREMENT, item TEXT NOT NULL, rater TEXT NOT NULL, state TEXT NOT NULL,
    content BLOB NOT NULL, created TEXT NOT NULL, updated TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS withdrawn (digest TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS revisions_of ON revisions (rater, item);
"""
#: How long one process waits for another that writes, in seconds.
_PATIENCE = 20.0
#: What has no number is of the first, and was made before all had one: its rows may keep no digests.
FORMAT = Format("database of the rating page")
#: Pages whose last answer isn't what was handed in, and numbers that are gone though nobody and no item was removed.
_LOST_ANSWERS = """
SELECT 1 FROM entries e WHERE state != 'draft' AND (state, content) IS NOT (
    SELECT state, content FROM revisions r WHERE r.item = e.item AND r.rater = e.rater ORDER BY number DESC LIMIT 1
) UNION ALL SELECT 1 FROM sqlite_sequence WHERE name = 'revisions' AND ? AND seq > (SELECT count(*) FROM revisions)
    AND NOT EXISTS (SELECT 1 FROM withdrawn)
"""


class EntryConflictError(BedsideError):
    """What stands on a rater's page isn't what the change was made from, or can't be changed any more."""


@dataclass(frozen=True, slots=True)
class PageEntry:
    """What stands on a rater's page of an item.

    Attributes:
        state: ``draft`` until it is handed in or skipped, and again when it is changed afterwards.
        choices, texts: field → what is filled in.
        seconds: time that the page was in sight, altogether.
        version: how often it was kept; 0 of an entry that nobody has touched.
        handed_in: the state of the answer that was handed in last; None where there is none.
    """

    state: State = "draft"
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    texts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    seconds: float = 0.0
    version: int = 0
    handed_in: State | None = None


class PageDatabase:
    """The database of one plan, for one thread at a time.

    Args:
        path: the file; made for its owner alone if it isn't there.
        plan: the plan that it is of.

    Raises:
        InputError: it is of another plan.
        RunError: it can't be read or written.
    """

    def __init__(self, path: Path, plan: AnnotationPlan) -> None:
        self.path = path
        self._words = words_of(plan)
        self._plan = plan
        with self._saying_where():
            self._connection = opened_database(path, _SCHEMA, FORMAT)
            with self._writing():
                row = self._connection.execute("SELECT plan FROM page").fetchone()
                if row is None:
                    self._connection.execute("INSERT INTO page (plan) VALUES (?)", (plan_hash(plan),))
        if row is not None and row[0] != plan_hash(plan):
            raise InputError("the database is of another plan", where=str(path), todo="move it away")

    def close(self) -> None:
        """End the connection."""
        self._connection.close()

    def save(self, item: str, rater: str, entry: PageEntry, mark: str, *, final: bool = False, since: str = "") -> int:
        """Keep what stands on a rater's page; it is on the disk when this returns.

        Args:
            item, rater: whose page of what.
            entry: what stands there, with the version that it was made from; handed in, unless it is a draft.
            mark: names this one attempt to keep it, so that an attempt whose answer was lost can be made again.
            final: whether an answer that was handed in stays as it is.
            since: from when on it does.

        Returns:
            The version that is kept now.

        Raises:
            EntryConflictError: the page was changed since that version, the answer stays as it is, or the rater
                withdrew.
            RunError: the database can't be written.
        """
        content = orjson.dumps({"choices": entry.choices, "texts": entry.texts, "seconds": entry.seconds})
        with self._saying_where(), self._writing():
            row = self._connection.execute(
                "SELECT version, mark, created FROM entries WHERE item = ? AND rater = ?", (item, rater)
            ).fetchone()
            digest = name_digest(self._plan, rater)
            if self._connection.execute("SELECT 1 FROM withdrawn WHERE digest = ?", (digest,)).fetchone():
                raise EntryConflictError(self._words.say("no_such_item"))
            version, last_mark, created = row or (0, "", self.next_time())
            if row is not None and last_mark == mark:
                return int(version)
            if final and self._was_submitted(item, rater, since):
                raise EntryConflictError(self._words.say("answers_seen"))
            if version != entry.version:
                raise EntryConflictError(self._words.say("changed_elsewhere"))
            values = (item, rater, version + 1, mark, entry.state, content, created)
            self._connection.execute(
                "INSERT OR REPLACE INTO entries (item, rater, version, mark, state, content, created) "
                "VALUES (?, ?, ?, ?, ?, ?, ?)",
                values,
            )
            if entry.state != "draft":
                self._connection.execute(
                    "INSERT INTO revisions (item, rater, state, content, created, updated) VALUES (?, ?, ?, ?, ?, ?)",
                    (item, rater, entry.state, content, created, self.next_time(since)),
                )
        return int(version) + 1

    def _was_submitted(self, item: str, rater: str, since: str) -> bool:
        query = "SELECT 1 FROM revisions WHERE rater = ? AND item = ? AND state = 'submitted' AND updated >= ?"
        return self._connection.execute(query, (rater, item, since)).fetchone() is not None

    def clear(self, items: Sequence[str], rater: str) -> None:
        """Have nothing stand on a rater's pages of items; what was handed in is kept."""
        with self._saying_where(), self._writing():
            rows = [(item, rater) for item in items]
            self._connection.executemany("DELETE FROM entries WHERE item = ? AND rater = ?", rows)

    def next_time(self, since: str = "") -> str:
        """The time now; where the clock was set back, right after all that is kept here, and not before ``since``."""
        last = "SELECT updated FROM revisions ORDER BY number DESC LIMIT 1"
        rows = self._connection.execute(f"SELECT max(created) FROM entries UNION ALL SELECT * FROM ({last})")
        after = (datetime.fromisoformat(time) + timedelta(microseconds=1) for (time,) in rows if time is not None)
        return max(since, max([time_now(), *after]).isoformat(timespec="microseconds"))

    def entry(self, item: str, rater: str, since: str = "") -> PageEntry:
        """What stands on a rater's page of an item, and what was handed in since."""
        with self._saying_where():
            row = self._connection.execute(
                "SELECT state, content, version FROM entries WHERE item = ? AND rater = ?", (item, rater)
            ).fetchone()
            handed_in = self._connection.execute(
                "SELECT state FROM revisions WHERE rater = ? AND item = ? AND updated >= ? "
                "ORDER BY number DESC LIMIT 1",
                (rater, item, since),
            ).fetchone()
        if row is None:
            return PageEntry()
        state, content, version = row
        return PageEntry(
            **{"state": state, **_content(content)},
            version=version,
            handed_in=None if handed_in is None else handed_in[0],
        )

    def states(self, rater: str) -> dict[str, tuple[State, State | None]]:
        """Item → the state of what stands on the rater's page, and of what was handed in last."""
        with self._saying_where():
            handed_in = dict(
                self._connection.execute("SELECT item, state FROM revisions WHERE rater = ? ORDER BY number", (rater,))
            )
            rows = self._connection.execute("SELECT item, state FROM entries WHERE rater = ?", (rater,))
            return {item: (state, handed_in.get(item)) for item, state in rows}

    def work(self) -> WorkDone:
        """What raters have done so far."""
        with self._saying_where():
            handed_in = self._connection.execute("SELECT item, rater, max(updated) FROM revisions GROUP BY rater, item")
            answered = {(item, rater): when for item, rater, when in handed_in}
            drafts = self._connection.execute("SELECT item, rater, created FROM entries WHERE state = 'draft'")
            begun = {(item, rater): when for item, rater, when in drafts}
        last: dict[str, str] = {}
        for (_, rater), when in (*answered.items(), *begun.items()):
            last[rater] = max(last.get(rater, ""), when)
        active = {rater: datetime.fromisoformat(when).timestamp() for rater, when in last.items()}
        return WorkDone(answered.keys(), begun.keys(), active)

    def last_revision(self) -> int:
        """The number of the last answer that was handed in; 0 where there is none."""
        with self._saying_where():
            return int(self._connection.execute("SELECT coalesce(max(number), 0) FROM revisions").fetchone()[0])

    def answers(self, rater: str | None = None) -> list[RaterAnswer]:
        """Every answer that was handed in, or those of one rater, in that order."""
        with self._saying_where():
            rows = self._connection.execute(
                "SELECT number, item, rater, state, content, created, updated FROM revisions "
                "WHERE ?1 IS NULL OR rater = ?1 ORDER BY number",
                (rater,),
            ).fetchall()
        return [
            RaterAnswer(
                item,
                rater,
                state,
                **_content(content),
                id=f"rating-page-{item}-{rater}",
                created=created,
                updated=updated,
                where=f"rating page, answer {number}",
            )
            for number, item, rater, state, content, created, updated in rows
        ]

    def drafts(self) -> int:
        """How many pages were begun and not handed in."""
        with self._saying_where():
            row = self._connection.execute(
                "SELECT count(*) FROM entries e WHERE NOT EXISTS "
                "(SELECT 1 FROM revisions r WHERE r.item = e.item AND r.rater = e.rater)"
            ).fetchone()
        return int(row[0])

    def forget(self, plan: AnnotationPlan) -> bool:
        """Remove all of those who withdrew from the plan as it is now, and of items that it lost, so that no byte of it
        stays in the files; whether there was something of such items.

        What they send later is refused. Safe to repeat, and while the page is served.

        Raises:
            RunError: another process reads at this moment, or the database can't be written.
        """
        with self._saying_where():
            with self._writing():
                names = self._connection.execute("SELECT rater FROM entries UNION SELECT rater FROM revisions")
                gone = [(name,) for (name,) in names if known_rater(plan, name) in plan.withdrawn]
                digests = [(digest,) for digest in plan.withdrawn.values()]
                had_items = False
                for table in ("entries", "revisions"):
                    self._connection.executemany(f"DELETE FROM {table} WHERE rater = ?", gone)
                    items = self._connection.execute(f"SELECT DISTINCT item FROM {table}").fetchall()
                    lost = [row for row in items if row[0] not in plan.by_id]
                    self._connection.executemany(f"DELETE FROM {table} WHERE item = ?", lost)
                    had_items |= bool(lost)
                digests += [("",)] * had_items  # says that numbers may be gone
                self._connection.executemany("INSERT OR IGNORE INTO withdrawn (digest) VALUES (?)", digests)
            self._connection.execute("VACUUM")
            if self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
                raise sqlite3.OperationalError("another process reads it")
            return had_items

    def _writing(self) -> AbstractContextManager[None]:
        return writing(self._connection)

    def _saying_where(self) -> AbstractContextManager[None]:
        return saying_which(self.path, "answers")


def opened_database(path: Path, schema: str, form: Format) -> sqlite3.Connection:
    """A database with the tables of a schema, made if it isn't there, each row of which keeps the digest of its cells.
    A sqlite3.Error where it can't be used, or isn't as it was written; a RunError where its format isn't read."""
    tables = re.findall(r"TABLE IF NOT EXISTS (\w+)", schema)
    # It doesn't open what is there: to close it would end the locks of every connection of this process.
    try:
        path.touch(0o600)
    except OSError:
        if not path.is_file():
            raise
        connection = sqlite3.connect(address_to_read(path), uri=True, isolation_level=None)
        form.check(connection.execute("PRAGMA user_version").fetchone()[0] or 1, path)
        check_database(connection, tables)
        return connection  # as it can't be written, it is read
    connection = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
    run = connection.execute
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "secure_delete=ON"):
        run(f"PRAGMA {pragma}")
    form.check(run("PRAGMA user_version").fetchone()[0] or 1, path)
    if (crc := _crc(connection)) != run("PRAGMA application_id").fetchone()[0]:
        check_database(connection, tables)
        with suppress(sqlite3.OperationalError):  # where there is no room, rows are looked at again
            run(f"PRAGMA application_id = {crc if crc == _crc(connection) else 0}")
    with writing(connection):
        for statement in schema.split(";"):
            run(statement)
        for table in tables:
            names, keys, digest, sealed = _cells_of(connection, table)
            if not sealed:
                run(f"ALTER TABLE {table} ADD COLUMN seal TEXT")
                run(f"UPDATE {table} SET seal = {digest}")
                run(f"PRAGMA user_version = {form.version}")
            for event in ("INSERT", f"UPDATE OF {', '.join(names)}"):
                seal = f"UPDATE {table} SET seal = {digest} WHERE {' AND '.join(f'{key} = NEW.{key}' for key in keys)}"
                run(f"CREATE TEMP TRIGGER {table}_{event[:6]} AFTER {event} ON main.{table} BEGIN {seal}; END")
    return connection


def _crc(connection: sqlite3.Connection) -> int:
    """The CRC-32 of a database and its log, but for what to note it in the header changes there: where it is the one
    that was noted, no row needs another look."""
    if not hasattr(connection, "serialize"):  # SQLite of before 2021
        return 2**31  # which none is
    content = memoryview(connection.serialize())
    return zlib.crc32(content[100:], zlib.crc32(bytes(content[:24]) + content[28:68] + content[72:92])) - 2**31


def check_database(connection: sqlite3.Connection, known: Collection[str] = ()) -> bool:
    """See that all of a database is as it was written; whether its rows keep digests. A
    sqlite3.DatabaseError where it isn't, or has other tables than those that are known."""
    run = connection.execute
    (version,) = run("PRAGMA user_version").fetchone()
    tables = [name for (name,) in run("SELECT name FROM sqlite_master WHERE type = 'table'") if name[:7] != "sqlite_"]
    wrong = [name for name in tables if known and name not in known]
    wrong += [line for (line,) in run("PRAGMA integrity_check(1)") if line != "ok"]
    sealed = {table: digest for table in tables for *_, digest, kept in [_cells_of(connection, table)] if kept}
    wrong += [name for name in tables if version and name not in sealed]
    for table, digest in sealed.items():
        wrong += [table for _ in run(f"SELECT 1 FROM {table} WHERE seal IS NOT {digest} LIMIT 1")]
    if {"entries", "revisions", "withdrawn"} <= {*tables}:
        wrong += ["revisions" for _ in run(_LOST_ANSWERS, (version,))]
    if wrong:
        raise sqlite3.DatabaseError(f"not as it was written: {wrong[0]}")
    return bool(sealed)


def _cells_of(connection: sqlite3.Connection, table: str) -> tuple[list[str], list[str], str, bool]:
    """A table's columns, those of its key, the digest of a row in SQL, and whether its rows keep it."""
    connection.create_function("digest_of", -1, cells_digest, deterministic=True)
    columns = {row[1]: row[5] for row in connection.execute(f"PRAGMA table_info({table})")}
    names = [name for name in columns if name != "seal"]
    keys = [name for name in names if columns[name]] or ["rowid"]
    return names, keys, f"digest_of({', '.join(names)})", "seal" in columns


@contextmanager
def writing(connection: sqlite3.Connection) -> Iterator[None]:
    """A transaction: all of it, or none."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


@contextmanager
def saying_which(path: Path, noun: str) -> Iterator[None]:
    """RunError, which says where, in place of what SQLite or the disk raises at a database of something."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        damaged = type(error) is sqlite3.DatabaseError
        todo = "restore it from a copy" if damaged else "see that the disk isn't full and that the file is yours"
        raise RunError(f"the database of {noun} can't be used ({error})", where=str(path), todo=todo) from error


def _content(content: bytes) -> dict[str, Any]:
    data = orjson.loads(content)
    for name in ("choices", "texts"):
        data[name] = {field_name: tuple(values) for field_name, values in data[name].items()}
    return dict(data)


# -- What a browser sends -------------------------------------------------------------------------------

#: Bytes of one request, characters of one text, texts of a field, fields, and seconds that a page can be in sight.
MOST_BYTES = 2_000_000
_MOST_TEXT = 20_000
_MOST_TEXTS = 500
_MOST_FIELDS = 40_000
_MOST_SECONDS = 30 * 86_400.0

_Field = Annotated[str, StringConstraints(min_length=1, max_length=300)]
_Choices = Annotated[list[_Field], Field(max_length=_MOST_TEXTS)]
_Texts = Annotated[list[Annotated[str, StringConstraints(max_length=_MOST_TEXT)]], Field(max_length=_MOST_TEXTS)]


_Sent = TypeVar("_Sent", bound=BaseModel)
Mark = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9-]{8,64}$")]


class SentEntry(BaseModel):
    """What stands on the page, as a browser sends it; see :class:`~.page_database.PageEntry`."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True, strict=True)

    state: State
    version: int = Field(ge=0, le=10**9)
    mark: Mark
    seconds: float = Field(ge=0, le=_MOST_SECONDS, allow_inf_nan=False)
    choices: Annotated[dict[_Field, _Choices], Field(max_length=_MOST_FIELDS)]
    texts: Annotated[dict[_Field, _Texts], Field(max_length=_MOST_FIELDS)]


def read_entry(body: bytes) -> SentEntry:
    """What a browser sent of an item; see :func:`read_sent`."""
    return read_sent(SentEntry, body)


def read_sent(model: type[_Sent], body: bytes) -> _Sent:
    """What a browser sent, as a model.

    Raises:
        InputError: it isn't of that form, or a limit is passed; the field is named.
    """
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))[:100] or "the request"
        raise InputError(
            f"What the page sent can't be kept: {place}: {first['msg']}.", todo="Shorten it, or load the page again."
        ) from error


def checked_entry(plan: AnnotationPlan, sent: SentEntry, task: Mapping[str, Any]) -> PageEntry:
    """What stands on the page, without empty fields and with what follows from it: in audit mode, whether the rater
    agrees with the judge, which is whether both chose the same."""
    picked = {name: tuple(dict.fromkeys(values)) for name, values in sent.choices.items() if values}
    if plan.mode == "audit":
        for rubric in plan.questions:
            picked.pop(agree_field(rubric.name), None)
            if rubric.name in picked and not plan.of_case(rubric):
                agrees = one_answer(picked[rubric.name]) == task[f"judge_{rubric.name}"]
                picked[agree_field(rubric.name)] = (AGREE if agrees else DISAGREE,)
    for name in beside_walks(plan, picked):
        picked.pop(name, None)
    for asked in (asked for rubric in plan.questions for asked in plan.asked_of(str(task["external_id"]), rubric)):
        if not asked.applies(picked):
            picked.pop(asked.name, None)
    texts = {
        name: tuple(kept for text in values if (kept := clean(text).strip())) for name, values in sent.texts.items()
    }
    if plan.mode in MARKED_MODES:
        # A mark that is none is refused with the other fields.
        for name in texts:
            with suppress(ValueError):
                texts[name] = in_order(texts[name]) if name.startswith(evidence_field("")) else texts[name]
    return PageEntry(
        sent.state,
        picked,
        {name: values for name, values in texts.items() if values},
        seconds=round(sent.seconds, 1),
        version=sent.version,
    )


def entry_answer(item: str, rater: str, entry: PageEntry) -> RaterAnswer:
    """What stands on the page, as an answer that can be checked."""
    return RaterAnswer(
        item, rater, entry.state, entry.choices, entry.texts, seconds=entry.seconds, where="the rating page"
    )


def open_questions(plan: AnnotationPlan, item: str, entry: PageEntry, task: Mapping[str, Any]) -> dict[str, str]:
    """Field → what is still to do there before an answer can be handed in; nothing where it is complete."""
    wanting: dict[str, str] = {}
    words, beside = words_of(plan), beside_walks(plan, entry.choices)
    for rubric in plan.questions:
        title = rubric.shown().title
        if plan.mode == "adjudicate" and rubric.name not in plan.disputed(item):
            continue
        if plan.mode == "codes":
            for position, turn in enumerate(task[f"{rubric.role}_turns"]):
                field = code_field(rubric.name, position)
                if field not in entry.choices:
                    wanting[field] = words.say("please_code", turn=turn["turn"], title=title)
            continue
        if rubric.name in beside:
            continue
        if plan.of_case(rubric):
            wanting |= dict(_open_of_case(plan, item, rubric, entry, task["dialogue"]))
            if rubric.kind != "list":
                continue
        chosen = entry.choices.get(rubric.name, ())
        if not chosen:
            wanting[rubric.name] = words.say("please_answer", title=title)
        elif rubric.kind == "list":
            listed = any(entry.texts.get(field) for field in entry_fields(rubric))
            if chosen == (LISTED,) and not listed:
                wanting[rubric.name] = words.say("please_list")
            if chosen == (NOTHING,) and listed:
                wanting[rubric.name] = words.say("nothing_but_listed")
        elif NONE in chosen and len(chosen) > 1:
            wanting[rubric.name] = words.say("none_but_named", title=title)
    return wanting


def _open_of_case(
    plan: AnnotationPlan, item: str, rubric: Rubric, entry: PageEntry, turns: Sequence[Mapping[str, str]]
) -> Iterator[tuple[str, str]]:
    """Field → what is still to do there, of what a rubric asks of the item's own case."""
    points, linking = rubric.kind == "points", rubric.kind in LINKED_KINDS
    linked, words = set[tuple[str, ...]](), words_of(plan)
    texts = link_form(rubric).texts if linking else ()
    quoted = [words.roles[str(part.of)] for part in texts if part.type == "quote"]
    said = {who: {at: turn["text"] for at, turn in enumerate(turns) if turn["speaker"] == who} for who in quoted}
    agreed = plan.agreed.get(item, {})
    linked |= {(agreed[asked.name],) for asked in plan.every_of(item, rubric) if asked.said and asked.name in agreed}
    for asked in (one for one in plan.asked_of(item, rubric) if one.applies(entry.choices)):
        chosen = entry.choices.get(asked.name, ())
        if not chosen:
            key, text = "please_judge" if points else "please_answer", asked.asked.rstrip(".。")
            yield asked.name, words.say(key, criterion=text, title=text)
        elif asked.said and linking and chosen != (NONE,):
            if chosen in linked and link_form(rubric).one_to_one:
                yield asked.name, words.say("linked_twice", entry=asked.asked.rstrip("."))
            else:
                marks = entry.texts.get(evidence_field(asked.name), ())
                for who in (who for who in quoted if not marked_words(marks, said[who])):
                    yield asked.name, words.say("please_mark", who=who, entry=asked.asked.rstrip("."))
            linked.add(chosen)
