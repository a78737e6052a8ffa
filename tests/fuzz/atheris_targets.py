"""Parsers of bytes under atheris, which keeps the inputs that lead to code not seen before.

``python -m tests.fuzz.atheris_targets TARGET [options of libFuzzer] [folders of inputs to begin with]``
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(
    include=["bedside.transcripts", "bedside.judges", "bedside.support.yaml_files", "yaml"]
):
    import bedside.judges.reply
    import bedside.rubrics.rubric_files
    import bedside.transcripts  # noqa: F401

from tests.fuzz.targets import TARGETS


def main() -> None:
    """Run until the options say so, or an input fails: what went wrong is then the last that is printed."""
    from tests.fuzz.drive import feed

    target = TARGETS[sys.argv.pop(1)]
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as name:

        def one(data: bytes) -> None:
            feed(target, Path(name), data)

        atheris.Setup(sys.argv, one)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
