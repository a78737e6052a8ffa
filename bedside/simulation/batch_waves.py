"""Asking language models by batch files, wave by wave: all calls that are open are written, and answers are read later.

A conversation goes as far as its log and the answers do. What is open then is written; when it is answered, the same
simulation goes on, and its next calls are the next wave's. Actors that are no language models are asked as ever.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from bedside.core.errors import InputError
from bedside.judges.llm.batch_files import KEY_DIGITS, Answers, BatchRead, writing
from bedside.simulation.actor_contract import ActorName, WaveFiles, wave_key
from bedside.simulation.conversation_log import opened_log


@contextmanager
def wave(out: Path | None, answers: Sequence[Path], most: int | None) -> Iterator[WaveFiles | None]:
    """The files of a wave while it is on; None where models are asked themselves.

    Args:
        out: what open calls are written to; None to write none.
        answers: what the service answered before.
        most: calls written at most; None for no limit.

    Raises:
        InputError: a file of answers can't be read.
    """
    if out is None and not answers:
        yield None
        return
    read = Answers(answers) if answers else None
    with writing(out, most) as writer:
        yield WaveFiles(read, writer)


def check_batchable(cast: Iterable[ActorName]) -> None:
    """Refuse what batch files can't have, or where nobody is asked by them.

    Raises:
        InputError: a model isn't asked in OpenAI's form, a person takes part, or no language model does.
    """
    names = list(cast)
    todo = "simulate without `batch_out`"
    for name in names:
        if name.kind == "human":
            raise InputError(f"{name.text} would wait for a batch", where="`batch_out`", todo=todo)
        if name.kind == "model" and name.detail.url is None:
            raise InputError(
                f"{name.identity} can't be asked by batch files",
                where="`batch_out`",
                todo="name an openai/ model, or http://host:port/v1#model of the server that will answer",
            )
    if not any(name.kind == "model" for name in names):
        raise InputError("no language model takes part", where="`batch_out`", todo=todo)


def finished_wave(files: WaveFiles, log: Path) -> BatchRead:
    """Put a wave's files in their places, and say what was read and written.

    Args:
        files: the wave's.
        log: the simulation's, closed.

    Raises:
        InputError: there are answers, and none of them is to a call of this simulation.
        RunError: files can't be written.
    """
    counts: dict[str, Any] = {}
    if files.answers is not None:
        todo = "name the folder that the calls were written for, and all that was asked for then"
        counts = files.answers.counts(partial(_logged_keys, log), "simulation", log.parent, todo)
    return BatchRead(files=() if files.writer is None else files.writer.finish(), **counts)


def _logged_keys(log: Path) -> set[str]:
    """What ids of answers hold, of the calls that the log has replies to."""
    with opened_log(log) as connection:
        rows = connection.execute("SELECT DISTINCT key, purpose, ordinal FROM replies WHERE state = 'answered'")
        keys = set()
        for row in rows:
            conversation, _, session = row["key"].partition("~")[0].partition("#")
            keys.add(wave_key(conversation, int(session or 1), row["purpose"], row["ordinal"])[:KEY_DIGITS])
        return keys
