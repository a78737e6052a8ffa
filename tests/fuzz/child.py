"""One input taken in a process of its own, which says what came of it, how long it took and how much memory.

``python -m tests.fuzz.child TAKER PATH TAKER PATH…``; the process may never have more memory than :data:`MOST`.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

#: Address space, in bytes: what goes beyond is a failure, and mustn't bring down the machine.
MOST = 8 * 2**30


def _transcripts(path: Path, **options: Any) -> Any:
    from bedside.transcripts.read_options import ReadOptions
    from bedside.transcripts.reading import Reading

    reading = Reading([path], ReadOptions(**options))
    turns = [len(transcript.turns) for transcript in reading]
    return [len(turns), max(turns, default=0), len(reading.skipped)]


def _ratings(path: Path) -> Any:
    from bedside.ratings.rating_files import read_rating_file

    return read_rating_file(path).ratings.height


def _rubric(path: Path) -> Any:
    from bedside.judges.rubrics.rubric_files import parse_rubric

    return parse_rubric(path).name


def _suite(path: Path) -> Any:
    from bedside.ratings.suites.suite import parse_suite

    return parse_suite(path).name


def _coder(path: Path) -> Any:
    from bedside.metrics.coders.learned.trained_coder import load_card

    return load_card(path)[1]


def _plan(path: Path) -> Any:
    from bedside.annotation.plan_file import read_plan

    return read_plan(path).mode


def _labels(path: Path) -> Any:
    from bedside.metrics.protocols.note2chat.labels import with_labels

    return len(list(with_labels([], path)))


def _batch(path: Path) -> Any:
    from bedside.judges.llm.batch_files import Answers

    return Answers([path]).lines


def _store(path: Path) -> Any:
    from bedside.judges.store import read_judgements

    return len(list(read_judgements(path)))


TAKERS: dict[str, Callable[[Path], Any]] = {
    "transcripts": _transcripts,
    "transcripts-skip": lambda path: _transcripts(path, on_error="skip"),
    "ratings": _ratings,
    "rubric": _rubric,
    "suite": _suite,
    "coder": _coder,
    "plan": _plan,
    "labels": _labels,
    "batch": _batch,
    "store": _store,
}


def forked(said: Path, *arguments: str) -> None:
    """What :func:`main` does, in a process that was forked: all that it prints goes to a file."""
    out = os.open(said, os.O_WRONLY | os.O_CREAT)
    os.dup2(out, 1)
    os.dup2(out, 2)
    os.environ.update(POLARS_MAX_THREADS="1", RUST_BACKTRACE="0")
    main(*arguments)
    sys.stdout.flush()


def main(*arguments: str) -> None:
    """Take inputs one after the other; print what came of each, as JSON."""
    from bedside.core import files
    from bedside.core.errors import BedsideError

    files.PATIENCE = 1.0
    resource.setrlimit(resource.RLIMIT_AS, (MOST, MOST))
    told = []
    for taker, path in zip(arguments[::2], arguments[1::2], strict=True):
        before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, sum(os.times()[:4])
        found, error = None, None
        try:
            found = TAKERS[taker](Path(path))
        except BedsideError as raised:
            error = str(raised)
        megabytes = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024
        told.append({"found": found, "error": error, "seconds": sum(os.times()[:4]) - began, "megabytes": megabytes})
    sys.stdout.write(json.dumps(told))


if __name__ == "__main__":
    main(*sys.argv[1:])
