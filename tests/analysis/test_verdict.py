"""How often a verdict is yes: small versions of ``benchmarks/validate_error_rates.py``, which prints all."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bedside.analysis.checked_units import CheckedUnits
from bedside.analysis.verdict import verdict_on
from bedside.stats.alternative_annotator import alternative_annotator
from tests.analysis.builders import definite

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "validate_error_rates.py"


@pytest.fixture(scope="module")
def rates() -> Any:
    """The benchmark's module."""
    spec = definite(importlib.util.spec_from_file_location("validate_error_rates", BENCHMARK))
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    definite(spec.loader).exec_module(module)
    return module


def share_of_yes(rates: Any, name: str, runs: int) -> tuple[float, float]:
    """Of ``validate``, and of the alternative annotator test alone with items as independent."""
    (design,) = (design for design in rates.designs() if design.name == name)
    shares: tuple[float, float] = rates.shares(design, runs, 7)
    return shares


@pytest.mark.parametrize(
    "name",
    [
        "always no, danger 10 %, 200 units",
        "flags 3% at random, danger 10 %, 200 units",
        "five levels, skewed, constant, 200 units",
    ],
)
def test_a_judge_that_sees_nothing_is_not_let_in(rates: Any, name: str) -> None:
    yes, alone = share_of_yes(rates, name, 60)
    assert yes <= 0.05
    assert alone >= 0.9, "the alternative annotator test alone lets it in"


@pytest.mark.slow
@pytest.mark.parametrize("people", [2, 3])
@pytest.mark.parametrize(
    "where", ["20 transcripts × 20 turns, ICC 0.3", "15 transcripts × 20 turns, ICC 0.6"]
)
def test_a_judge_at_the_boundary_is_let_in_in_a_twentieth(rates: Any, people: int, where: str) -> None:
    """Up to 5 %, and two standard errors of 400 runs."""
    yes, alone = share_of_yes(rates, f"at the boundary, {people} people, {where}", 400)
    assert yes <= 0.072
    assert alone >= 0.1


def test_two_people_and_few_transcripts_have_no_verdict(rates: Any) -> None:
    """Ten transcripts whose turns are alike let a judge at the boundary in in up to 5.8 %, with two people."""
    (design,) = (
        d for d in rates.designs() if d.name.endswith("2 people, 10 transcripts × 20 turns, ICC 0.6")
    )
    judge, people, cases = design.draw(np.random.default_rng(1))
    units = CheckedUnits(
        judge=judge.astype(object), people=people.astype(object), keys=np.arange(len(judge)), transcripts=cases,
        cases=cases, chances="unknown", weights=np.ones(len(judge)), judged=len(judge), picked=0,
        final=np.full(len(judge), None),
    )  # fmt: skip
    test = alternative_annotator(judge, people, epsilon=0.2, clusters=cases)
    assert test.replaceable is None
    verdict = verdict_on(units, test, None, (0.0, 1.0))
    assert verdict.stands_in is None
    assert verdict.words == "can't be said: 200 units of 10 cases, rated by two people, who need 15 cases"


@pytest.mark.parametrize("scale", ["yes or no", "five levels"])
def test_a_judge_as_good_as_a_person_is_let_in(rates: Any, scale: str) -> None:
    yes, _ = share_of_yes(rates, f"as good as a person, {scale}, 100 units", 60)
    assert yes >= 0.8
