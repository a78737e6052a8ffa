"""A rater that is asked again: changes are found, wavering isn't one, and what never moved is bounded."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from bedside.stats.rater_change import EQUIVALENCE, anchors_for_change, rater_change
from bedside.tuning.judge_drift import draw_anchors

CASES, SYSTEMS, TIMES = 100, ("new", "old", "third"), 1000


def asked_again(random: np.random.Generator, noise: float, moved: float) -> tuple[float, float]:
    """p of no change and of equivalence where ``moved`` is the mean change that is planted, at the planned n."""
    case, system = np.repeat(np.arange(CASES), len(SYSTEMS)), np.tile(np.arange(len(SYSTEMS)), CASES)
    latent = 3.3 + random.normal(0, 0.8, CASES)[case] + random.normal(0, 0.6, case.size) + 0.3 * (system - 1)
    before, now = (np.clip(np.round(latent + random.normal(0, noise, case.size)), 1, 5) for _ in range(2))
    if moved:
        now += (random.random(case.size) < moved / (now < 5).mean()) & (now < 5)
    names = [f"{SYSTEMS[own]}-{of}" for own, of in zip(system, case, strict=True)]
    table = pl.DataFrame({"transcript_id": names, "system": [SYSTEMS[own] for own in system], "value": before})
    anchors = draw_anchors(
        table.with_columns(label=pl.lit(None, dtype=pl.String())),
        lambda strata: anchors_for_change(0.3, spread=0.9, strata=strata),
        int(random.integers(2**31)),
    )
    places = {name: place for place, name in enumerate(names)}
    at = np.array([places[anchor.transcript] for anchor in anchors])
    result = rater_change(
        before[at], now[at], margin=0.3, span=4, strata=[anchor.stratum for anchor in anchors],
        sizes=[anchor.size for anchor in anchors], clusters=case[at],
    )  # fmt: skip
    assert result.p is not None
    return result.p, float(result.details[EQUIVALENCE] or 1)


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.5])
def test_errors_and_power_at_the_planned_number(noise: float) -> None:
    """An alarm without a change in 3.5 to 6.5 of 100 studies; a change of .3 level found in 80 and more."""
    random = np.random.default_rng(7)
    none, some = (np.array([asked_again(random, noise, moved) for _ in range(TIMES)]) for moved in (0.0, 0.3))
    assert 0.035 <= (none[:, 0] < 0.05).mean() <= 0.065
    assert (some[:, 0] < 0.05).mean() >= 0.8
    assert (none[:, 1] < 0.05).mean() >= 0.8
    assert (some[:, 1] < 0.05).mean() <= 0.065  # at the margin, nothing is called the same


def test_a_stratified_mean_by_hand() -> None:
    result = rater_change([1, 1, 5, 5], [2, 1, 5, 4], margin=1, strata=list("aabb"), sizes=[30, 30, 10, 10])
    # .75 · .5 − .25 · .5; each stratum's variance is .5, of two units.
    assert result.estimate == pytest.approx(0.25)
    assert result.standard_error == pytest.approx((0.75**2 * 0.25 + 0.25**2 * 0.25) ** 0.5)


def test_what_never_moves_is_bounded() -> None:
    same = rater_change([3.0] * 60, [3.0] * 60, margin=0.3, span=4)
    assert (same.estimate, same.p) == (0, 1)
    assert same.details[EQUIVALENCE] == pytest.approx((1 - 0.3 / 4) ** 60)
    moved = rater_change([3.0] * 60, [4.0] * 60, margin=0.3, span=4)
    assert moved.p is not None
    assert moved.p < 1e-9
    assert moved.details[EQUIVALENCE] == 1
    assert rater_change([3.0] * 60, [3.0] * 60, margin=0.3).interval is None


def test_missing_answers_leave_the_weights_to_the_others() -> None:
    result = rater_change([1, 1, 1, None], [2, 2, None, 1], margin=1, strata=list("aabb"), sizes=[2, 2, 8, 8], span=4)
    assert (result.n, result.dropped, result.estimate) == (2, 2, 1)


def test_how_many_anchors() -> None:
    assert anchors_for_change(0.3, spread=0.9) == 79
    assert anchors_for_change(0.3, spread=0.9, strata=15) > anchors_for_change(0.3, spread=0.9)
