"""Lines of progress: done, total, spent and time left, as far as they are known."""

from __future__ import annotations

import sys
import time

import pytest

from bedside.cli import progress
from bedside.cli.progress import judging_line, judging_progress, simulation_line, simulation_progress
from bedside.judges.counts import JudgingProgress
from bedside.simulation.logged_actors import SimulationProgress


def test_a_judges_line_says_what_is_known() -> None:
    assert judging_line("m", JudgingProgress(1, 0, 0, 1)) == ["m: 1 judgement", "1 call"]
    whole = JudgingProgress(1500, 20, 3, 1490, total=12_000, cost=1.234)
    parts = judging_line("m", whole, "about 4 min left")
    assert parts == [
        "m: 1,500 of 12,000 judgements", "about 4 min left", "$1.23 spent", "3 missing", "20 kept from before",
        "1,490 calls",
    ]  # fmt: skip
    # A terminal of 80 columns has the time left, and what it has no room for is left out whole.
    line = progress._fitting(parts, 80 - progress._BESIDE)
    assert line == "m: 1,500 of 12,000 judgements, about 4 min left, $1.23 spent"


def test_a_simulations_line_says_what_is_known() -> None:
    assert simulation_line(SimulationProgress(12, 3, 1, 0, 90, 7)) == ["4 of 12 conversations", "90 calls"]
    paid = SimulationProgress(12, 3, 1, 0, 90, 7, cost=0.004)
    assert simulation_line(paid, "about 30 seconds left") == [
        "4 of 12 conversations", "about 30 seconds left", "$0.0040 spent", "90 calls",
    ]  # fmt: skip


def test_the_time_left_goes_by_what_was_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What was there already took no time; 480 asked in 120 seconds leave 1,500 for 375."""
    clock = iter((0.0, 0.0, 120.0, 120.0))
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    with judging_progress() as told:
        told("m", JudgingProgress(20, 20, 0, 0, total=2000, cost=0.0))
        told("m", JudgingProgress(500, 20, 0, 480, total=2000, cost=0.5))
    assert capsys.readouterr().err == (
        "m: 500 of 2,000 judgements, about 6 min left, $0.50 spent, 20 kept from before, 480 calls\n"
    )


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.2, "1 second"), (59, "59 seconds"), (90, "2 min"), (7290, "2 h 02 min")]
)
def test_durations_are_words(seconds: float, words: str) -> None:
    assert progress._duration(seconds) == words


def test_plain_lines_of_a_simulation_come_at_every_hundredth(capsys: pytest.CaptureFixture[str]) -> None:
    with simulation_progress() as told:
        assert told is not None
        for finished in range(1, 202):
            told(SimulationProgress(201, finished, 0, 0, finished, 0))
    assert capsys.readouterr().err.splitlines() == [
        "Simulated 100 of 201 conversations, 100 calls",
        "Simulated 200 of 201 conversations, 200 calls",
    ]


def test_a_terminal_has_one_line_that_changes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    with judging_progress() as told:
        told("m[1]", JudgingProgress(3, 0, 0, 3, total=9, cost=0.25))
        time.sleep(0.25)
    err = capsys.readouterr().err
    assert "m[1]: 3 of 9 judgements, $0.25 spent, 3 calls" in err
