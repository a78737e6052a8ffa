"""How often tuning errs under designs that users have: gains where there are none, intervals that miss the truth."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from tests.soak import budget
from tests.tuning.simulated_tuning import Design, Judges, drawn, true_gain, tuned

DESIGNS = (
    Design(15, 2, 2),
    Design(15, 2, 3),
    Design(25, 2, 2),
    Design(50, 1, 2),
    Design(50, 2, 3),
    Design(24, 2, 3, missing=0.3),
)
JUDGES = {
    "alike": Judges(),
    "compressed": Judges(slopes=(0.4,) * 4, biases=(0.8,) * 4, noises=(0.4,) * 4),
    "one is better": Judges(noises=(1.4, 1.2, 0.6, 1.0)),
}
pytestmark = [pytest.mark.slow, pytest.mark.soak]


def test_a_gain_is_reported_of_noise_in_one_run_of_twenty_at_most() -> None:
    runs = budget(6, 2000)
    shown = 0
    for number in range(runs):
        design = DESIGNS[number % len(DESIGNS)]
        judges = list(JUDGES.values())[number // len(DESIGNS) % len(JUDGES)]
        noise = Design(design.cases, design.per_case, design.people, signal=0.0, missing=design.missing)
        _, gain = tuned(noise, judges, seed=10_000 + number)
        shown += gain.interval is not None and gain.interval.low > 0
    assert shown <= binom.ppf(0.9999, runs, 0.05)


def test_intervals_of_the_gain_cover_the_true_gain_of_what_was_chosen() -> None:
    runs = budget(6, 2000)
    truth = {
        (design, name): drawn(design, judges, np.random.default_rng(99), 10_000 // design.per_case)
        for design in DESIGNS[: budget(2, len(DESIGNS))]
        for name, judges in JUDGES.items()
    }
    covered = counted = 0
    for number in range(runs):
        (design, name), population = list(truth.items())[number % len(truth)]
        choice, gain = tuned(design, JUDGES[name], seed=number)
        if gain.interval is None:
            # What was chosen is what there was: both figures are the same, and the difference is 0.
            assert gain.estimate is None or abs(gain.estimate) < 1e-9 or gain.n < 12
            continue
        counted += 1
        covered += gain.interval.low <= true_gain(choice, population) <= gain.interval.high
    low, high = binom.ppf([0.0001, 0.9999], counted, [0.93, 0.97])
    assert low <= covered <= high


def test_a_judge_that_is_lenient_and_sure_is_repaired_and_the_gain_shown() -> None:
    runs = budget(3, 200)
    lenient = Judges(slopes=(1.0,), biases=(1.2,), noises=(0.2,), shared=0.0)
    gains = [tuned(Design(50, 2, 3), lenient, seed=number)[1] for number in range(runs)]
    shown = [gain.interval is not None and gain.interval.low > 0 for gain in gains]
    assert np.mean([gain.estimate for gain in gains if gain.estimate is not None]) > 0.1
    assert np.mean(shown) > 0.8
