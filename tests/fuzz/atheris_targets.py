"""Parsers of bytes under atheris, which keeps the inputs that lead to code not seen before.

``python -m tests.fuzz.atheris_targets TARGET [options of libFuzzer] [folders of inputs to begin with]``

Without arguments it takes them from standard input, a JSON list a line, of which the first names the file that is
written to: each line is run in a process of its own, forked from this one, and how that ended is printed.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import NoReturn

import atheris

with atheris.instrument_imports(include=["bedside.transcripts", "bedside.judges", "bedside.core.yaml_files", "yaml"]):
    import bedside.judges.reply
    import bedside.judges.rubrics.rubric_files
    import bedside.transcripts  # noqa: F401

from tests.fuzz.targets import TARGETS


def main() -> None:
    """Run one target, or those that are asked for."""
    if len(sys.argv) > 1:
        fuzz(sys.argv)
    for line in sys.stdin:
        said, *arguments = json.loads(line)
        process = os.fork()
        if not process:
            out = os.open(said, os.O_WRONLY | os.O_CREAT)
            os.dup2(out, 1)
            os.dup2(out, 2)
            fuzz([sys.argv[0], *arguments])
        print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), flush=True)  # noqa: T201


def fuzz(arguments: list[str]) -> NoReturn:
    """Run until the options say so, or an input fails: what went wrong is then the last that is printed."""
    from tests.fuzz.drive import feed

    target = TARGETS[arguments.pop(1)]
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as name:

        def one(data: bytes) -> None:
            feed(target, Path(name), data)

        atheris.Setup(arguments, one)
        atheris.Fuzz()
    sys.exit()


if __name__ == "__main__":
    main()
