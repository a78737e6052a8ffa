"""Cumulative link mixed models: R's ordinal on published data, the likelihood by brute force, and known truth."""

from __future__ import annotations

import csv
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.optimize
import scipy.special
from statsmodels.miscmodels.ordinal_model import OrderedModel

from bedside.core.errors import DataError
from bedside.stats.ordinal_mixed import BY_CASE, BY_RATER, CASES, FEWEST_CASES, RATERS, TRANSCRIPTS, fit, odds_ratio
from tests.stats.results import ends, estimate

#: Randall (1989): bitterness of wine, 1 to 5, by nine judges; of eight bottles the last four are warm, and of each four
#: the last two had contact with skins.
WINE: Any = np.array([[int(level) for level in judge] for judge in (
    "23344455", "12132354", "23325544", "32323253", "23433333", "32322454", "11222323", "22233334", "12323244",
)]).ravel()  # fmt: skip
JUDGE: Any = np.repeat(np.arange(9), 8)
BOTTLE: Any = np.tile(np.arange(8), 9)
WARM, CONTACT = (BOTTLE >= 4) * 1.0, (BOTTLE % 4 >= 2) * 1.0
RSCRIPT = shutil.which("Rscript")


def test_wine_is_as_in_r() -> None:
    """``clmm(rating ~ temp + contact + (1 | judge) + (1 | bottle), wine, control = clmm.control(gradTol = 1e-6))``."""
    model = fit(WINE, np.column_stack([WARM, CONTACT]), {"judge": JUDGE, "bottle": BOTTLE})
    assert model.converged
    assert model.boundary == ("bottle",)
    assert model.log_likelihood == pytest.approx(-81.565413, abs=1e-6)
    assert model.thresholds == pytest.approx([-1.62367, 1.51336, 4.22852, 6.08877], abs=2e-5)
    assert model.effects == pytest.approx([3.06300, 1.83490], abs=2e-5)
    errors = np.sqrt(np.diag(model.covariance))
    assert errors == pytest.approx([0.68244, 0.60374, 0.80896, 0.97246, 0.59539, 0.51256], abs=2e-5)
    assert model.deviations == {"judge": pytest.approx(1.13114, abs=2e-5), "bottle": 0.0}
    # ranef(model)$judge and the roots of condVar(model)$judge
    modes = [1.69617, -0.56579, 0.96880, -0.05956, 0.23050, 0.47703, -1.91099, -0.27296, -0.55469]
    spread = [0.55384, 0.61477, 0.59544, 0.60431, 0.59717, 0.59038, 0.58615, 0.55231, 0.56420]
    own = np.array(list(model.modes["judge"].values())).T
    assert own == pytest.approx(np.array([modes, spread]), abs=2e-5)


def test_wine_with_two_crossed_and_two_nested_factors_is_as_in_r() -> None:
    crossed = fit(WINE, CONTACT[:, None], {"judge": JUDGE, "bottle": BOTTLE})
    assert crossed.log_likelihood == pytest.approx(-90.956639, abs=1e-6)
    assert crossed.effects == pytest.approx([1.78052], abs=2e-5)
    assert np.sqrt(crossed.covariance[-1, -1]) == pytest.approx(1.11276, abs=2e-5)
    assert crossed.deviations == pytest.approx({"judge": 1.09265, "bottle": 1.39639}, abs=2e-5)
    nested = fit(WINE, np.column_stack([WARM, CONTACT]), {"judge": JUDGE, "warm": 2 * JUDGE + WARM})
    assert nested.log_likelihood == pytest.approx(-81.564871, abs=1e-6)
    assert nested.deviations == pytest.approx({"judge": 1.12964, "warm": 0.12755}, abs=2e-5)


#: Writes a data set as numbers, and what clmm says of it.
_R = """
suppressMessages({library(ordinal); library(lme4)})
data(soup, Penicillin, VerbAgg)
soup <- droplevels(subset(soup, as.integer(RESP) <= 60))
Penicillin$level <- ordered(Penicillin$diameter)
VerbAgg <- droplevels(subset(VerbAgg, as.integer(id) <= 100)); VerbAgg$level <- ordered(VerbAgg$resp)
say <- function(model, fixed, ...) {
  write.csv(data.frame(level = as.integer(model.response(model.frame(model))), fixed = fixed, ...), stdout(),
            row.names = FALSE, quote = FALSE)
  spread <- sapply(VarCorr(model), function(of) attr(of, "stddev"))
  cat("#", sprintf("%.12g", c(logLik(model), coef(model), spread[order(names(spread))])), "\\n")
}
"""
_DATA = {
    "soup": "say(clmm(SURENESS ~ PROD + (1 | RESP) + (1 | PRODID), soup), as.integer(soup$PROD) - 1, "
    "PRODID = as.integer(soup$PRODID), RESP = as.integer(soup$RESP))",
    "penicillin": "say(clmm(level ~ 1 + (1 | plate) + (1 | sample), Penicillin), 0, "
    "plate = as.integer(Penicillin$plate), sample = as.integer(Penicillin$sample))",
    "verbal aggression": "say(clmm(level ~ situ + (1 | id) + (1 | item), VerbAgg), as.integer(VerbAgg$situ) - 1, "
    "id = as.integer(VerbAgg$id), item = as.integer(VerbAgg$item))",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", _DATA)
def test_published_data_are_as_in_r(name: str, tmp_path: Path) -> None:
    if RSCRIPT is None:
        pytest.skip("R is not installed")
    script = tmp_path / "say.R"
    script.write_text(_R + _DATA[name], "utf-8")
    done = subprocess.run([RSCRIPT, script], capture_output=True, text=True, check=False)
    if "there is no package" in done.stderr:
        pytest.skip("R has no package ordinal or lme4")
    table, _, numbers = done.stdout.partition("#")
    rows = [[int(cell) for cell in row] for row in list(csv.reader(table.splitlines()))[1:]]
    columns_of: Any = np.array(rows).T
    levels, fixed, *labels = columns_of
    columns = fixed[:, None] if fixed.any() else np.empty((levels.size, 0))
    model = fit(levels, columns, {"a": labels[0], "b": labels[1]})
    own = [model.log_likelihood, *model.thresholds, *model.effects, *dict(sorted(model.deviations.items())).values()]
    # R stops where its gradient is below 1e-3, which leaves the last digits open.
    assert own == pytest.approx([float(number) for number in numbers.split()], rel=1e-4, abs=1e-4)


def _brute_log_likelihood(levels: Any, eta: Any, cuts: Sequence[float], design: Any) -> float:
    """Laplace's approximation with the modes by a general optimiser and the curvature by differences."""
    bounds = np.array([-np.inf, *cuts, np.inf])

    def loss(modes: Any) -> float:
        place = eta + design @ modes
        chance = scipy.special.expit(bounds[levels] - place) - scipy.special.expit(bounds[levels - 1] - place)
        return float(modes @ modes / 2 - np.log(chance).sum())

    modes = scipy.optimize.minimize(loss, np.zeros(design.shape[1]), options={"gtol": 1e-8}).x
    size, step = modes.size, 1e-3
    curved = np.array([
        [sum(sign * other * loss(modes + step * (sign * np.eye(size)[i] + other * np.eye(size)[j]))
             for sign in (1, -1) for other in (1, -1)) / (4 * step**2) for j in range(size)]
        for i in range(size)
    ])  # fmt: skip
    return -loss(modes) - float(np.linalg.slogdet(curved)[1]) / 2


def test_the_likelihood_is_laplaces() -> None:
    model = fit(WINE, CONTACT[:, None], {"judge": JUDGE, "bottle": BOTTLE})
    design = np.hstack([model.deviations["judge"] * (JUDGE[:, None] == np.arange(9)),
                        model.deviations["bottle"] * (BOTTLE[:, None] == np.arange(8))])  # fmt: skip
    brute = _brute_log_likelihood(WINE, model.effects[0] * CONTACT, list(model.thresholds), design)
    assert model.log_likelihood == pytest.approx(brute, abs=1e-4)


def test_a_factor_that_explains_nothing_leaves_statsmodels_model() -> None:
    model = fit(WINE, np.column_stack([WARM, CONTACT]), {"bottle": BOTTLE})
    plain = OrderedModel(WINE, np.column_stack([WARM, CONTACT]), distr="logit").fit(
        method="bfgs", gtol=1e-8, disp=False
    )
    assert model.boundary == ("bottle",)
    assert model.log_likelihood == pytest.approx(plain.llf, abs=1e-6)
    assert model.effects == pytest.approx(plain.params[:2], abs=1e-4)
    assert np.sqrt(np.diag(model.covariance))[-2:] == pytest.approx(plain.bse[:2], abs=1e-3)


def test_what_has_no_maximum_says_so() -> None:
    level = np.where(CONTACT == 1, 5, WINE.clip(1, 4))
    assert not fit(level, CONTACT[:, None], {"judge": JUDGE}).converged
    assert not fit(JUDGE, CONTACT[:, None], {"judge": JUDGE}).converged


@pytest.mark.parametrize(
    ("levels", "fixed", "random"),
    [
        ([1, 1], [[0], [1]], {"a": [0, 1]}),
        ([1, None], [[0], [1]], {"a": [0, 1]}),
        ([1, 2], [[0], [1]], {}),
        ([1, 2], [[0], [1]], {"a": [0]}),
    ],
)
def test_what_can_not_be_fitted_is_an_error(levels: Any, fixed: Any, random: Any) -> None:
    with pytest.raises(DataError):
        fit(levels, fixed, random)


# -- The odds ratio of two systems ------------------------------------------------------------------------


def drawn(
    seed: int, cases: int, raters: int, effect: float = 0.0, taste: float = 0.5
) -> tuple[Any, Any, Any, Any, Any]:
    """Ratings of two systems on the same cases by all raters: levels, whether of the first, cases, raters, severity."""
    rng = np.random.default_rng(seed)
    first = np.repeat([True, False], cases * raters)
    case, rater = np.tile(np.repeat(np.arange(cases), raters), 2), np.tile(np.arange(raters), 2 * cases)
    severity, side = rng.normal(0, 1, raters), first * 1
    latent = effect * first + rng.normal(0, 1.5, cases)[case] + severity[rater] + rng.logistic(size=first.size)
    latent += rng.normal(0, taste, (raters, 2))[rater, side] + rng.normal(0, 0.7, (cases, 2))[case, side]
    return np.searchsorted([-2.5, -0.8, 0.8, 2.5], latent), first, case, rater, severity


def test_random_intercepts_are_those_that_the_design_tells_apart() -> None:
    levels, first, case, rater, _ = drawn(1, 20, 3)
    paired = odds_ratio(levels, first, case, rater)
    assert set(paired.details) == {CASES, BY_CASE, RATERS, BY_RATER}
    unpaired = odds_ratio(levels, first, case + 20 * first, rater)
    assert set(unpaired.details) == {CASES, RATERS, BY_RATER}
    # Two raters are about themselves.
    two = rater < 2
    assert set(odds_ratio(levels[two], first[two], case[two], rater[two]).details) == {CASES, BY_CASE}
    # One rater with three passes over two conversations of each case.
    talks = odds_ratio(np.tile(levels, 2), np.tile(first, 2), np.tile(case, 2), np.zeros(240),
                       np.repeat([0, 1], 120) + 2 * np.tile(2 * case + first, 2))  # fmt: skip
    assert set(talks.details) == {CASES, BY_CASE, TRANSCRIPTS}


def test_the_odds_ratio_turns_over_with_its_systems() -> None:
    levels, first, case, rater, _ = drawn(2, 30, 4, effect=1.0)
    one, other = odds_ratio(levels, first, case, rater), odds_ratio(levels, ~first, case, rater)
    assert estimate(one) * estimate(other) == pytest.approx(1, abs=1e-4)
    assert ends(one) == pytest.approx((1 / ends(other)[1], 1 / ends(other)[0]), rel=1e-3)
    assert one.p == pytest.approx(other.p, abs=1e-4)
    assert (one.p or 0) < 0.05
    assert ends(one)[0] > 1


def test_raters_of_one_system_are_left_out() -> None:
    levels, first, case, rater, _ = drawn(3, 20, 4)
    kept = first | (rater < 3)
    result = odds_ratio(levels[kept], first[kept], case[kept], rater[kept])
    assert (result.n, result.dropped) == (120, 20)
    assert result.p == pytest.approx(odds_ratio(*(values[rater < 3] for values in (levels, first, case, rater))).p)


def test_no_odds_ratio_has_a_reason() -> None:
    levels, first, case, rater, _ = drawn(4, FEWEST_CASES, 3)
    assert "has no end" in str(odds_ratio(np.where(first, 9, levels), first, case, rater).missing)
    assert "all equal" in str(odds_ratio(np.ones(levels.size), first, case, rater).missing)
    few = case > 0
    assert "fewer than 10 cases" in str(odds_ratio(levels[few], first[few], case[few], rater[few]).missing)
    assert "fewer than 10 cases" in str(odds_ratio(levels, first, case, 2 * rater + first).missing)
    assert "too long" in str(odds_ratio(*drawn(4, 400, 3)[:4]).missing)
    once = rater == 0
    alone = odds_ratio(levels[once], first[once], case[once] + 20 * first[once], rater[once])
    assert "each case has one" in str(alone.missing)


@pytest.mark.slow
def test_intervals_hold_the_truth() -> None:
    """Of 60 studies by five raters, 95 % hold the true odds ratio and the first rater's severity beside their mean."""
    covered = np.zeros((60, 2))
    for seed in range(60):
        levels, first, case, rater, severity = drawn(seed, 30, 5, effect=0.8)
        low, high = ends(odds_ratio(levels, first, case, rater))
        random = {"case": case, "rater": rater, "both": 2 * case + first, "taste": 2 * rater + first}
        modes, errors = np.array(list(fit(levels, first[:, None] * 1.0, random).modes["rater"].values())).T
        off = modes[0] - modes.mean() - (severity[0] - severity.mean())
        covered[seed] = low <= np.exp(0.8) <= high, abs(off) <= 1.96 * errors[0]
    assert covered.mean(axis=0).min() >= 0.85
