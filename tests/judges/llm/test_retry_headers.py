"""How long servers ask to wait, in each of their ways."""

from __future__ import annotations

import pytest

from bedside.judges.llm.server_problems import asked_wait, duration


@pytest.mark.parametrize(
    ("headers", "words", "seconds"),
    [
        ({}, "", None),
        ({"Retry-After": "2"}, "", 2.0),
        ({"retry-after-ms": "250", "Retry-After": "1"}, "", 0.25),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "6m0s"}, "", 360.0),
        ({"X-RateLimit-Remaining-Requests": "0", "X-RateLimit-Reset-Requests": "20ms"}, "", 0.02),
        ({"x-ratelimit-remaining-requests": "59", "x-ratelimit-reset-requests": "1s"}, "", None),
        (
            {
                "x-ratelimit-remaining-requests": "0",
                "x-ratelimit-reset-requests": "1s",
                "x-ratelimit-remaining-tokens": "0",
                "x-ratelimit-reset-tokens": "90s",
            },
            "",
            90.0,
        ),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "soon"}, "", None),
        ({}, "Rate limit reached. Please try again in 8m38.4s. Visit the page", 518.4),
        ({}, "Please retry after 26 seconds.", 26.0),
        ({}, "Please try again in 200 milliseconds.", 0.2),
        ({"Retry-After": "nan"}, "", None),
        ({"retry-after-ms": "-5"}, "", None),
    ],
)
def test_waits(headers: dict[str, str], words: str, seconds: float | None) -> None:
    assert asked_wait(headers, words) == (None if seconds is None else pytest.approx(seconds))


def test_durations() -> None:
    assert duration("1h2m3.5s") == pytest.approx(3723.5)
    assert duration("1.5") == 1.5
    assert [duration(text) for text in ("", "1x", "s", "1s2", "inf")] == [None] * 5
