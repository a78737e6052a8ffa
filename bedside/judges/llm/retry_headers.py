"""How long a server asks to wait, as its headers or its words say it.

``Retry-After`` (HTTP), ``retry-after-ms`` (Azure, OpenAI), and of OpenAI's limits those that are used up:
``x-ratelimit-remaining-requests`` with ``x-ratelimit-reset-requests``, likewise for tokens
(platform.openai.com/docs/guides/rate-limits; learn.microsoft.com, Azure OpenAI quotas and limits).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from bedside.judges.llm.protocol import retry_after

_DURATION = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+")
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
#: As in "Please try again in 6m0s." and "Please retry after 26 seconds."
_WORDS = re.compile(
    r"(?:try again in|retry (?:after|in))\s+(?:(\d+(?:\.\d+)?)\s*(seconds?|milliseconds?)|((?:[\d.]+(?:ms|[smhd]))+))",
    re.IGNORECASE,
)


def asked_wait(headers: Mapping[str, str], words: str = "") -> float | None:
    """Seconds that a server asks to wait; None where it doesn't say.

    Args:
        headers: of its answer, by names in any case.
        words: what it says.
    """
    by_name = {name.lower(): value for name, value in headers.items()}
    milliseconds = _number(by_name.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    wait = retry_after(by_name.get("retry-after"))
    if wait is not None:
        return wait
    resets = [
        duration(by_name.get(f"x-ratelimit-reset-{what}", ""))
        for what in ("requests", "tokens")
        if _number(by_name.get(f"x-ratelimit-remaining-{what}")) == 0
    ]
    waits = [seconds for seconds in resets if seconds is not None]
    return max(waits) if waits else _said(words)


def duration(text: str) -> float | None:
    """Seconds that a text such as ``6m0s``, ``20ms`` or ``1.5`` stands for; None for any other."""
    if _DURATION.fullmatch(text):
        return sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(text))
    return _number(text)


def _said(words: str) -> float | None:
    said = _WORDS.search(words)
    if said is None:
        return None
    if said[3]:
        return duration(said[3])
    return float(said[1]) / (1000 if said[2].lower().startswith("milli") else 1)


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if 0 <= number < float("inf") else None
