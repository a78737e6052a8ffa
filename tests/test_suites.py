"""The shipped suites: what they name exists, and they run."""

from __future__ import annotations

from pathlib import Path

import pytest

import bedside
from bedside.judges import RUBRICS
from bedside.scoring import make_plan, score
from bedside.suites import SUITES

EXAMPLE = Path(bedside.__file__).parent / "examples" / "transcripts.jsonl"
PROTOCOLS = ("calm-it", "mdd5k", "medconceal", "multisense", "note2chat")


def test_the_five_protocols_are_there() -> None:
    assert set(PROTOCOLS) <= set(SUITES.names())


def test_every_rubric_belongs_to_a_suite() -> None:
    named = {rubric for name in PROTOCOLS for rubric in SUITES.load(name).rubrics}
    assert named == set(RUBRICS.names())


@pytest.mark.parametrize("name", SUITES.names())
def test_what_a_suite_names_exists(name: str) -> None:
    suite = SUITES.load(name)
    assert make_plan(suite.metrics, suite.parameters).metrics
    for rubric in suite.rubrics:
        assert RUBRICS.load(rubric).name == rubric


@pytest.mark.parametrize("name", SUITES.names())
def test_a_suite_runs_without_a_judge(name: str, tmp_path: Path) -> None:
    summary = score([EXAMPLE], tmp_path / "run", suite=name)
    assert summary.transcripts == 12
    assert summary.ratings > 0
