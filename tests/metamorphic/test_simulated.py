"""A simulation's leaderboard, loss and repeats: neither the order of lines nor names of cases and systems move them."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import bedside
from bedside.ratings.run import Run
from tests.analysis.simulated_run import simulated_run, simulation
from tests.metamorphic.questions import moved, numbers_of
from tests.soak import budget

pytestmark = [pytest.mark.slow, pytest.mark.soak]

#: Other names of systems, in the same order of letters, and of cases, in another.
_SYSTEMS = {"lab/doctor": "alpha-one", "rules-toy": "zeta-two"}
_CASES = {"asthma": "p7", "gout": "p9", "migraine": "p2"}


def _changed(folder: Path, names: dict[str, str], seed: int) -> Run:
    """The simulation with its lines shuffled, and these names in place of others."""
    talks = simulation(folder / "talks")
    for file in sorted(talks.iterdir()):
        text = file.read_text("utf-8")
        for name, other in names.items():
            text = text.replace(name, other)
        lines = text.splitlines(keepends=True)
        if file.suffix == ".jsonl":
            random.Random(seed).shuffle(lines)
        file.write_text("".join(lines), "utf-8")
    return bedside.score(talks, folder / "run", metrics=["structure"]).run


@pytest.mark.parametrize("names", [{}, _CASES, _SYSTEMS], ids=["order", "cases", "systems"])
def test_simulated_numbers_hang_on_no_order_and_no_name(names: dict[str, str], tmp_path: Path) -> None:
    plain = bedside.tables(simulated_run(tmp_path / "plain"))
    board = [table.name for table in plain]
    assert "leaderboard" in board, board
    before = numbers_of(plain)
    for seed in range(budget(1, 30)):
        run = _changed(tmp_path / f"{seed}", names, seed)
        changes = moved(before, numbers_of(bedside.tables(run), renamed={new: old for old, new in names.items()}))
        assert not changes, "\n".join(changes[:12])
