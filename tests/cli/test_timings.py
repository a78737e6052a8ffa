"""``--timings``: phases whose seconds add up to what the process took."""

from __future__ import annotations

import re
import time

import pytest

from bedside.cli import main
from bedside.core.stopping import phase, timed


def test_a_phase_within_another_counts_once() -> None:
    began = time.perf_counter()
    with timed() as seconds, phase("outer"):
        time.sleep(0.02)
        with phase("inner"):
            time.sleep(0.05)
    assert seconds["inner"][0] == pytest.approx(0.05, abs=0.03)
    assert seconds["outer"][0] == pytest.approx(0.02, abs=0.03)
    assert sum(wall for wall, _ in seconds.values()) <= time.perf_counter() - began


def test_outside_a_timed_block_nothing_is_counted() -> None:
    with phase("outer"):
        pass
    with timed() as seconds:
        pass
    assert set(seconds) == {"computing"}


@pytest.mark.parametrize("typed", [["list", "metrics"], ["list", "metrics", "--json"], ["agree", "nothing.csv"]])
def test_every_command_prints_phases_on_standard_error(typed: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(typed)
    plain = capsys.readouterr()
    with pytest.raises(SystemExit):
        main([*typed, "--timings"])
    printed = capsys.readouterr()
    assert printed.out == plain.out
    rows = re.findall(r"^([a-z ]+?) +(?:([\d.]+) +)?([\d.]+)$", printed.err, re.MULTILINE)
    cpu = {name: float(seconds) for name, _, seconds in rows}
    parts = sum(seconds for name, seconds in cpu.items() if name not in ("starting", "all after the start"))
    assert cpu["all after the start"] == pytest.approx(parts, abs=0.006 * len(rows))
