"""What holds of every error, whatever the input."""

from __future__ import annotations

from bedside.core.errors import BedsideError


def one_line(error: BedsideError) -> None:
    """An error is one line that any terminal and file takes, and no longer than one reads."""
    line = str(error)
    assert line.strip(), "an empty message"
    assert line.isprintable(), ascii(line)
    line.encode()
    assert len(line) < 8000, len(line)
