"""Nearly valid input for everything that takes input: a result or one error of ours, soon, and in little memory."""

from __future__ import annotations

import logging
import os
import resource
import secrets
import warnings
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings, strategies as st

from tests.forked import CONTEXT, preload
from tests.fuzz.drive import feed
from tests.fuzz.targets import TARGETS, Target
from tests.soak import budget

preload("tests.fuzz.test_targets")
_LOG = logging.getLogger(__name__)

#: Inputs for each target in every run, and in `make soak`.
FEW = 20
MANY = 100_000
#: Targets whose few inputs take seconds: one trains first, some simulate, two start a process for each input.
SLOW = (
    "coder", "parquet-cells", "ratings-parquet", "cases", "simulation-manifest", "simulation-failed",
    "simulation-states", "simulation-kept", "simulation-said", "simulation-log",
)  # fmt: skip
#: Draws of hypothesis between two looks at the clock.
DRAWS = 5
#: Processor time that a target may take for them: what doesn't fit is left out.
SECONDS = budget(1, 12)
#: Address space of a process that takes many inputs, in bytes.
MEMORY = 8 * 2**30
#: The same inputs every time, unless others are asked for.
FRESH = os.environ.get("BEDSIDE_FUZZ_FRESH", "") not in ("", "0")


def _spent() -> float:
    """Processor time of this process and of those that it started, in seconds."""
    return sum(os.times()[:4])


def fuzz(target: Target, folder: Path, inputs: int) -> int:
    """Feed a target; how many inputs it got.

    Hypothesis draws one input of each batch, so that a failing one shrinks, and a seed for the others, which cost less.
    """
    fed, began = 0, _spent()

    @settings(
        max_examples=min(DRAWS, -(-inputs // target.batch)),
        derandomize=False,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink),
    )
    @given(st.randoms(use_true_random=False), st.integers(0, 2**63))
    def check(random: Random, number: int) -> None:
        nonlocal fed
        feed(target, folder, target.make(random))
        plain = Random(number)
        for _ in range(target.batch - 1):
            feed(target, folder, target.make(plain))
        fed += target.batch

    start = secrets.randbits(32) if FRESH else 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # openpyxl's, of what it leaves out
        while fed < inputs and _spent() - began < SECONDS:
            before = fed
            seed(start + fed)(check)()
            assert fed > before
    _LOG.info("%s: %d inputs in %.1f s", target.name, fed, _spent() - began)
    return fed


@pytest.mark.parametrize("name", TARGETS)
def test_good_input_is_taken(name: str, folder: Path) -> None:
    for data in TARGETS[name].valid:
        assert feed(TARGETS[name], folder, data) is None


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in TARGETS]
)
def test_a_few_inputs(name: str, folder: Path) -> None:
    assert fuzz(TARGETS[name], folder, FEW) > 0


@pytest.mark.slow
@pytest.mark.soak_only
@pytest.mark.parametrize("name", TARGETS)
def test_many_inputs(name: str, folder: Path, tmp_path: Path) -> None:
    """In a process of its own, which may run out of its memory alone."""
    said = tmp_path / "said"
    process = CONTEXT.Process(target=alone, args=(name, folder, said))
    process.start()
    process.join(2 * SECONDS + 600)
    assert process.exitcode == 0, said.read_text("utf-8", "replace")[-3000:]
    _LOG.info(said.read_text())


def alone(name: str, folder: Path, said: Path) -> None:
    """What :func:`test_many_inputs` runs; what it prints goes to a file."""
    out = os.open(said, os.O_WRONLY | os.O_CREAT)
    os.dup2(out, 1)
    os.dup2(out, 2)
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, hard))
    print(name, fuzz(TARGETS[name], folder, MANY), "inputs", flush=True)  # noqa: T201
