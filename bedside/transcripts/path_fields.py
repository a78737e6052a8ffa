"""What the path of a file says of its transcripts, by the user's pattern."""

from __future__ import annotations

import os
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

from bedside.support.errors import InputError
from bedside.transcripts.path_names import printable_path
from bedside.transcripts.transcript_fields import number_or_text


@lru_cache(maxsize=8)
def _path_pattern(pattern: str) -> re.Pattern[str]:
    parts = re.split(r"\{(\w+)\}", pattern)
    expression = "".join(
        re.escape(part) if position % 2 == 0 else f"(?P<{part}>[^/]+?)" for position, part in enumerate(parts)
    )
    try:
        return re.compile(rf"(?:^|/){expression}$")
    except re.error as error:
        raise InputError(
            f"`path_fields={pattern}` is not a pattern ({error})", todo="write it as {system}/{case_id}"
        ) from error


def path_values(path: Path, bare_path: str, pattern: str) -> dict[str, Any]:
    """What the path says of its transcripts by the user's pattern.

    Args:
        path: of the file.
        bare_path: the same without endings.
        pattern: for its end, such as ``{system}/{case_id}``.

    Raises:
        InputError: the path does not match, or the pattern is none.
    """
    match = _path_pattern(pattern).search(printable_path(bare_path).replace(os.sep, "/"))
    if match is None:
        raise InputError(
            f"the path does not match `path_fields={pattern}`",
            where=printable_path(path),
            todo="give a pattern for the end of the path, such as {system}/{case_id}",
        )
    return {
        key: value if key in ("system", "case_id") else number_or_text(value)
        for key, value in match.groupdict().items()
    }
