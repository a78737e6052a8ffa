"""What a run keeps of probes: read as it was written, and damage told in a line."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bedside.core.errors import RunError
from bedside.ratings.run import Run
from bedside.scoring.score import score
from bedside.tuning.probes.contract import PROBE_FILE, keep_record, probe_records
from tests.conftest import conversation
from tests.tuning.probes.test_recovery import noisy_record


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return score(
        [conversation(("clinician", "Hello."))], tmp_path / "run", suite="default", metrics=["turns"]
    ).run


def test_read_as_written_one_for_each_judge(run: Run) -> None:
    assert probe_records(run.path) == ()
    first = noisy_record(np.random.default_rng(0), 2, 4, 0.3)
    other = replace(first, rater="judge:a", margin=0.25, notes=("A note.",))
    newer = replace(first, seed=1, date="2026-01-01", observations=first.observations[:3])
    with run.locked():
        for record in (first, other, newer):
            keep_record(run, record)
    assert probe_records(run.path) == (other, newer)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda text: text[:50], "can't be read"),
        (lambda text: text.replace('"before"', '"befor"', 1), "befor"),
        (lambda text: text.replace('"passes": 1', '"passes": "1"'), "records.0.passes"),
        (lambda text: text.replace('"format": 1', '"format": 2'), "format"),
    ],
)
def test_damage_is_told(run: Run, damage: object, said: str) -> None:
    with run.locked():
        keep_record(run, noisy_record(np.random.default_rng(0), 2, 4, 0.3))
    file = run.path / PROBE_FILE
    file.write_text(damage(json.dumps(json.loads(file.read_text("utf-8")))), "utf-8")  # type: ignore[operator]
    with pytest.raises(RunError, match=said):
        probe_records(run.path)
