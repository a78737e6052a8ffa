"""The files of a simulation's folder, written whole when a run ends, in the plan's order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from bedside.core.errors import RunError
from bedside.core.files import replacing, write_json
from bedside.core.words import typed
from bedside.simulation.conversation_log import (
    ListedConversation,
    LoggedConversation,
    opened_log,
    planned_conversations,
)
from bedside.transcripts.simulation_folder import FAILED, MANIFEST, STATES, TRANSCRIPTS


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
            todo=f"bedside simulation failed {typed(folder)} lists them; calls that got no answer are asked again by "
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


def write_manifest(folder: Path, content: Mapping[str, Any]) -> None:
    """Write what a simulation is of, and what it took."""
    write_json(folder / MANIFEST, dict(content))
