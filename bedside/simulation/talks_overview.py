"""A simulation as its log has it, also while it goes on: what became of its conversations, and what it took."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from bedside.core.errors import DataError, nearest
from bedside.core.json_shape import INTEGER, TEXT, OrNull, misfit
from bedside.simulation.conversation_log import (
    ListedConversation,
    LoggedConversation,
    earlier_conversations,
    opened_log,
    planned_conversations,
    spent_by_role,
)
from bedside.transcripts.simulation_folder import LOG_FILE

#: What is read of a transcript and of a hidden state.
_TRANSCRIPT = {"turns": OrNull([{"role": TEXT, "text": TEXT}])}
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

    def count(self, ended: LoggedConversation | None) -> None:
        """Count a conversation; None for one that hasn't ended."""
        self.planned += 1
        if ended is None or ended.state == "unfinished":
            self.unfinished += 1
        elif ended.state == "failed":
            self.failed += 1
        else:
            self.finished += 1
            self.completed += bool(ended.ending["completed"])
            self.clinician_failed += bool(ended.ending.get("failed"))
            self.turns += len(_transcript(ended).get("turns") or ())
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
    """

    ids: tuple[str, ...]
    systems: tuple[SystemTalks, ...]
    lost: tuple[LostConversation, ...]
    spent: dict[str, dict[str, Any]]
    earlier: int


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
    systems: dict[str, SystemTalks] = {}
    ids, lost = [], []
    with opened_log(folder / LOG_FILE) as connection:
        for listed, ended in planned_conversations(connection):
            ids.append(listed.id)
            system = str(listed.about["system"])
            systems.setdefault(system, SystemTalks(system)).count(ended)
            if ended is None:
                lost.append(LostConversation(listed.id, listed.about, "unfinished", "", "not ended", ""))
            elif ended.state != "finished" or ended.ending.get("failed"):
                lost.append(_lost(listed, ended))
        spent, earlier = spent_by_role(connection), earlier_conversations(connection)
    return TalksOverview(tuple(ids), tuple(systems.values()), tuple(lost), spent, earlier)


def _lost(listed: ListedConversation, ended: LoggedConversation) -> LostConversation:
    ending = ended.ending
    if ended.state == "finished":
        return LostConversation(
            listed.id, listed.about, "failed", "clinician", ending["failed"], ending["detail"]
        )
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
