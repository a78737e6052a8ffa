"""The folder of a simulation, read: what became of its conversations, and what stands behind one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from bedside.core.errors import DataError, InputError, RunError, nearest
from bedside.core.files import folder_held, read_json_lines, replacing, sealed, write_bytes, write_json
from bedside.core.json_shape import INTEGER, TEXT, ObjectOf, OrNull, misfit
from bedside.core.locks import is_held
from bedside.core.words import typed
from bedside.simulation.conversation_log import (
    ListedConversation,
    LoggedConversation,
    earlier_conversations,
    keys_without,
    lost_rows,
    opened_log,
    planned_conversations,
    removed_conversations,
    spent_by_role,
    worker_logs,
    write_log_without,
)
from bedside.transcripts.simulation_folder import (
    FAILED,
    LOCK,
    LOG_FILE,
    MANIFEST,
    REVIEW,
    STATES,
    TRANSCRIPTS,
    TYPED_LINES,
    ReviewCounts,
    checked_manifest,
)

#: Lost rows that a message names.
_MOST_LOST = 5

# -- The files of a simulation's folder -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TalkCounts:
    """How many conversations a simulation's folder has.

    Attributes:
        planned: conversations of the plan.
        finished: those with a transcript.
        failed: those that can't be used, by whose doing it is and the reason: they are missing.
        unfinished: those that a limit kept from their end.
        clinician_failed: those with a transcript that the clinician failed, by the reason: they are results.
    """

    planned: int
    finished: int
    failed: Mapping[tuple[str, str], int]
    unfinished: int
    clinician_failed: Mapping[str, int] = field(default_factory=dict)

    def check_usable(self, folder: Path, noun: str) -> None:
        """Refuse what holds nothing that can be used.

        Args:
            folder: the simulation's.
            noun: what one is called.

        Raises:
            RunError: every one failed.
        """
        number = sum(self.failed.values())
        if not number or number < self.planned:
            return
        (whose, reason), most = max(self.failed.items(), key=lambda item: item[1])
        raise RunError(
            f"every {noun} failed ({number:,}); the commonest reason is {whose}: {reason} ({most:,})",
            where=str(folder),
            todo=f"bedside simulate failed {typed(folder)} lists them; calls that got no answer are asked again by "
            "the same command",
        )


def write_talks(folder: Path, log: Path, records: str = TRANSCRIPTS) -> TalkCounts:
    """Write transcripts, states and failures of the last run's plan.

    Args:
        folder: where they go.
        log: the simulation's.
        records: the name of the file of what was made.

    Raises:
        RunError: a file can't be written, or the log can't be read.
    """
    planned = finished = unfinished = 0
    failed: Counter[tuple[str, str]] = Counter()
    clinician_failed: Counter[str] = Counter()
    with opened_log(log) as connection, ExitStack() as stack:
        paths = [stack.enter_context(replacing(folder / name)) for name in (records, STATES, FAILED)]
        transcripts, states, failures = (stack.enter_context(path.open("wb")) for path in paths)
        for listed, ended in planned_conversations(connection):
            planned += 1
            if ended is None:
                unfinished += 1
                continue
            states.write(ended.states)
            if ended.state == "finished":
                finished += 1
                transcripts.write(ended.transcript)
                if ended.ending.get("failed"):
                    clinician_failed[ended.ending["failed"]] += 1
                    failures.write(failure_line(listed, ended))
                continue
            failures.write(failure_line(listed, ended))
            if ended.state == "unfinished":
                unfinished += 1
            else:
                failed[ended.ending["whose"], ended.ending["reason"]] += 1
    by_reason = dict(sorted(clinician_failed.items()))
    return TalkCounts(planned, finished, dict(sorted(failed.items())), unfinished, by_reason)


def failure_line(listed: ListedConversation, ended: LoggedConversation) -> bytes:
    """Why a conversation isn't among the transcripts, or how the clinician failed it, as a line of JSON."""
    state, ending = ended.state, ended.ending
    if state == "finished":
        state = "failed"
        ending = {"whose": "clinician", "reason": ending["failed"], "detail": ending["detail"]}
    return orjson.dumps({"id": listed.id, **listed.about, "state": state, **ending}) + b"\n"


def outcome(log: Path, counts: TalkCounts, noun: str = "conversations", done: str = "finished") -> dict[str, Any]:
    """What a manifest says of what became of all, and what it took."""
    with opened_log(log) as connection:
        spent, removed = spent_by_role(connection), removed_conversations(connection)
    numbers = {"planned": counts.planned, done: counts.finished, "failed": sum(counts.failed.values())}
    by_clinician = [{"reason": why, noun: number} for why, number in counts.clinician_failed.items()]
    return {
        noun: {**numbers, "unfinished": counts.unfinished},
        "failures": [
            {"whose": whose, "reason": reason, noun: number} for (whose, reason), number in counts.failed.items()
        ],
        **({"failed by the clinician": by_clinician} if by_clinician else {}),
        "spent": spent,
        **({"removed": removed} if removed else {}),
    }


def forget_case(folder: Path, name: str, by: str) -> tuple[int, int]:
    """Remove the conversations of a case, or one by its id, from a simulation; a record that some were is in its log.

    The log is put in its place whole, and all else is written by it: where this is interrupted, the same call goes on.

    Returns:
        How many conversations and replies were removed.

    Raises:
        InputError: there is no such case, and nothing was left of it.
        RunError: another process uses the folder, or something can't be read or written.
    """
    log = folder / LOG_FILE
    replies = 0
    with folder_held(folder, LOCK, "a simulation", is_ours=lambda names: LOG_FILE in names):
        worker_logs(folder).collect()
        with opened_log(log) as connection:
            (keys, number), before = keys_without(connection, name), removed_conversations(connection)
        said = {key: value for key, value in checked_manifest(folder).items() if key not in ("files", "seal")}
        if not number and said.get("removed", []) == before:  # it is written last
            raise InputError(f"no such case {name}", where=str(folder), todo="see bedside simulate status")
        if number:
            date = datetime.now(UTC).isoformat(timespec="seconds")
            record = {"kind": "case", "date": date, "by": by, "transcripts": number}
            replies = write_log_without(log, log, keys, record)
        typed_file = folder / TYPED_LINES
        if typed_file.is_file():
            lines = typed_file.read_bytes().splitlines(keepends=True)
            write_bytes(typed_file, b"".join(line for line in lines if orjson.loads(line)["conversation"] in keys))
        cases = {case: digest for case, digest in (said.get("cases") or {}).items() if case != name}
        write_manifest(folder, {**said, "cases": cases, **outcome(log, write_talks(folder, log))})
    return number, replies


def write_manifest(folder: Path, content: Mapping[str, Any]) -> None:
    """Write what a simulation is of, and what it took, with the SHA-256 of each of its files."""
    typed_file = folder / TYPED_LINES
    own = {"lines typed": typed_file.read_bytes().count(b"\n")} if typed_file.is_file() else {}
    write_json(folder / MANIFEST, sealed({**content, **own}, folder, (TRANSCRIPTS, STATES, FAILED)))


# -- The folder of a simulation -------------------------------------------------------------------------


def read_failures(folder: Path) -> Iterator[dict[str, Any]]:
    """Why conversations aren't among the transcripts, an object each.

    Raises:
        RunError: the folder is no simulation's, or the file is damaged.
    """
    lines = read_json_lines(folder / FAILED, "list of what failed", todo="name a simulation's folder")
    return (failure for _, failure in lines)


def check_rows_kept(folder: Path) -> None:
    """See that a simulation's log has the rows that its transcripts, its manifest and the log itself say it had.

    Raises:
        RunError: some are lost; which.
    """
    kept: dict[str, str] = {}
    spent: dict[str, Any] = {}
    with suppress(RunError, OSError, ValueError):  # damage of other files is told of these
        spent = checked_manifest(folder).get("spent") or {}
        for line in (folder / TRANSCRIPTS).read_bytes().splitlines():
            talk = _fitting(line, {"id": TEXT, "reference": {"simulation": {"key": TEXT}}})
            kept[talk["reference"]["simulation"]["key"]] = talk["id"]
    with opened_log(folder / LOG_FILE) as connection:
        lost = list(lost_rows(connection, kept, spent))
    if lost:
        more = f" and {len(lost) - _MOST_LOST:,} more" if len(lost) > _MOST_LOST else ""
        raise RunError(
            f"rows of it are lost: {'; '.join(lost[:_MOST_LOST])}{more}",
            where=str(folder / LOG_FILE),
            todo="restore it from a copy; the same simulation, run again, asks for lost replies, but brings back no "
            "count of lost requests",
        )


# -- A simulation as its log has it ---------------------------------------------------------------------

#: What is read of a transcript and of a hidden state.
_TRANSCRIPT = {
    "turns": OrNull([{"role": TEXT, "text": TEXT}]),
    "reference": OrNull({"simulation": OrNull({"flags": OrNull(ObjectOf(INTEGER)), "review": OrNull(REVIEW)})}),
}
_STATE = {"turn": OrNull(INTEGER)}


@dataclass(slots=True)
class SystemTalks:
    """What became of the conversations of one system.

    Attributes:
        system: the clinician under test.
        planned: conversations of the plan.
        finished: those with a transcript.
        completed: those of them that ended as the protocol means conversations to end.
        clinician_failed: those of them that the clinician failed.
        failed: those that can't be used, for reasons that are not the clinician's: they are missing.
        unfinished: those that haven't ended.
        turns: messages of those that finished.
        stops: how those ended, with counts.
        flags: what was flagged in them, with counts.
    """

    system: str
    planned: int = 0
    finished: int = 0
    completed: int = 0
    clinician_failed: int = 0
    failed: int = 0
    unfinished: int = 0
    turns: int = 0
    stops: Counter[str] = field(default_factory=Counter)
    flags: Counter[str] = field(default_factory=Counter)

    def count(self, ended: LoggedConversation | None, reviews: Sequence[ReviewCounts]) -> None:
        """Count a conversation, and its reviews; None for one that hasn't ended."""
        self.planned += 1
        if ended is None or ended.state == "unfinished":
            self.unfinished += 1
        elif ended.state == "failed":
            self.failed += 1
        else:
            self.finished += 1
            self.completed += bool(ended.ending["completed"])
            self.clinician_failed += bool(ended.ending.get("failed"))
            transcript = _transcript(ended)
            self.turns += len(transcript.get("turns") or ())
            for counts in reviews:
                counts.add((transcript.get("reference") or {}).get("simulation") or {})
            self.stops[ended.ending["stop"]] += 1
            self.flags.update(ended.ending["flags"])


@dataclass(frozen=True, slots=True)
class LostConversation:
    """A conversation without a transcript, or one that the clinician failed.

    Attributes:
        id: the transcript's.
        about: system, case, persona, setting, length and repeat.
        state: ``failed`` or ``unfinished``.
        whose: whose doing it is; empty where it hasn't ended.
        reason: in a few words.
        detail: what exactly.
    """

    id: str
    about: dict[str, Any]
    state: str
    whose: str
    reason: str
    detail: str


@dataclass(frozen=True, slots=True)
class TalksOverview:
    """A simulation's conversations and what they took.

    Attributes:
        ids: of all conversations, in the plan's order.
        systems: by clinician, likewise.
        lost: the conversations without a transcript, and those that the clinician failed, in the plan's order.
        spent: replies, requests, tokens and US dollars by role.
        earlier: conversations that the log has of other plans, whose replies count in ``spent``.
        reviews: what the reviews come to, of the rules and of the reviewer.
        under_way: whether a process has conversations there now.
        parts: logs of workers that aren't part of the simulation's own yet.
    """

    ids: tuple[str, ...]
    systems: tuple[SystemTalks, ...]
    lost: tuple[LostConversation, ...]
    spent: dict[str, dict[str, Any]]
    earlier: int
    reviews: tuple[ReviewCounts, ...]
    under_way: bool
    parts: int


@dataclass(frozen=True, slots=True)
class ConversationRecord:
    """One conversation with what stands behind it.

    Attributes:
        id: the transcript's.
        about: system, case, persona, setting, length and repeat.
        ending: how it ended, or why it can't be used; None where it hasn't.
        transcript: the transcript's object; None where there is none.
        states: hidden states, decisions and candidates, in order.
    """

    id: str
    about: dict[str, Any]
    ending: dict[str, Any] | None
    transcript: dict[str, Any] | None
    states: tuple[dict[str, Any], ...]


def talks_overview(folder: Path) -> TalksOverview:
    """What became of a simulation's conversations.

    Raises:
        RunError: the folder is no simulation's, or its log is damaged.
    """
    under_way, parts = is_held(folder / LOCK), worker_logs(folder).number
    systems: dict[str, SystemTalks] = {}
    ids, lost = [], []
    reviews = ReviewCounts("rules"), ReviewCounts("reviewer")
    with opened_log(folder / LOG_FILE) as connection:
        for listed, ended in planned_conversations(connection):
            ids.append(listed.id)
            system = str(listed.about["system"])
            systems.setdefault(system, SystemTalks(system)).count(ended, reviews)
            if ended is None:
                lost.append(LostConversation(listed.id, listed.about, "unfinished", "", "not ended", ""))
            elif ended.state != "finished" or ended.ending.get("failed"):
                lost.append(_lost(listed, ended))
        spent, earlier = spent_by_role(connection), earlier_conversations(connection)
    return TalksOverview(tuple(ids), tuple(systems.values()), tuple(lost), spent, earlier, reviews, under_way, parts)


def _lost(listed: ListedConversation, ended: LoggedConversation) -> LostConversation:
    ending = ended.ending
    if ended.state == "finished":
        return LostConversation(listed.id, listed.about, "failed", "clinician", ending["failed"], ending["detail"])
    reasons = (str(ending[name]) for name in ("whose", "reason", "detail"))
    return LostConversation(listed.id, listed.about, ended.state, *reasons)


def conversation_record(folder: Path, name: str) -> ConversationRecord:
    """One conversation of a simulation, with its hidden states.

    Raises:
        RunError: the folder is no simulation's, or its log is damaged.
        DataError: no conversation of it has this id; the nearest are given.
    """
    with opened_log(folder / LOG_FILE) as connection:
        entry = next(planned_conversations(connection, name), None)
        if entry is None:
            names = [listed.id for listed, _ in planned_conversations(connection)]
            raise DataError(f"no conversation is called {name!r}", todo=nearest(name, names))
        listed, ended = entry
        if ended is None:
            return ConversationRecord(listed.id, listed.about, None, None, ())
        return ConversationRecord(
            listed.id,
            listed.about,
            ended.ending,
            _transcript(ended) if ended.transcript else None,
            tuple(_fitting(line, _STATE) for line in ended.states.splitlines()),
        )


def _transcript(ended: LoggedConversation) -> dict[str, Any]:
    return _fitting(ended.transcript, _TRANSCRIPT)


def _fitting(content: bytes, shape: Any) -> dict[str, Any]:
    """An object of JSON.

    Raises:
        ValueError: it is none, or not of the shape.
    """
    value: dict[str, Any] = orjson.loads(content)
    wrong = misfit(value, shape)
    if wrong is not None:
        raise ValueError(wrong)
    return value
