"""Every parameter of every statistic changes something, and equal seeds give equal results."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from bedside.stats import (
    alternative_annotator,
    confidence_sequences,
    consensus,
    crossed_raters,
    diagnostic_accuracy,
    effects,
    equivalence,
    families,
    fixed_width,
    generalisability,
    intervals,
    many_raters,
    overlapping,
    paired,
    prediction_powered,
    proportion_scores,
    reliability,
    sample_size as planning,
    sampled_items,
    sampled_means,
    scale_means,
    several,
    shape,
    shares,
    two_raters,
    unitizing,
    unpaired,
)

RNG = np.random.default_rng(12)
SCALE = (1, 2, 3, 4, 5)
LATENT = RNG.normal(size=(60, 1))
TABLE = np.digitize(LATENT + 0.8 * RNG.normal(size=(60, 3)), (-1, -0.3, 0.4, 1)) + 1
X, Y = TABLE[:, 0].astype(float), TABLE[:, 1] - (RNG.random(60) < 0.3)
WHO = [0] * 180 + [1] * 180, np.repeat(np.arange(60), 3).tolist() * 2, [0, 1, 2] * 120
ONES, OTHERS = (X > 2).astype(int), (TABLE[:, 1] > 2).astype(int)
GOOD = np.where(RNG.random(60) < 0.1, 1 - ONES, ONES)
CLUSTERS = np.repeat(np.arange(12), 5)
MARKS = [[[(int(value), 1 + value % 3, "ab"[value % 2])] for value in row] for row in TABLE.tolist()]
SAMPLE = sampled_items.sampled_items(np.where(X > 3, 0.5, 0.1), strata=(X > 3).astype(int), clusters=CLUSTERS)
PILOT = generalisability.rater_study(
    np.repeat(np.arange(30), 8), np.tile(np.repeat(np.arange(4), 2), 30),
    np.repeat(RNG.normal(size=30), 8) + RNG.normal(size=240),
)  # fmt: skip
PENALTIES = np.abs(np.subtract.outer(range(5), range(5))) ** 0.5
BOOT = {"interval": "percentile", "resamples": 200}

Options = dict[str, Any]


class Settings(NamedTuple):
    """Two settings of a parameter, with what they need, that must differ."""

    one: Options
    other: Options


class Case(NamedTuple):
    statistic: Callable[..., Any]
    data: tuple[Any, ...]
    base: Options
    settings: dict[str, Settings]


def beside(others: Options, **changed: Any) -> Settings:
    return Settings(others, {**others, **changed})


def case(statistic: Callable[..., Any], data: tuple[Any, ...], base: Options | None = None, /, **changed: Any) -> Case:
    """A statistic with its data, and of each parameter another value than it has."""
    settings = {
        name: value if isinstance(value, Settings) else beside({}, **{name: value}) for name, value in changed.items()
    }
    return Case(statistic, data, base or {}, settings)


CASES = [
    case(paired.wilcoxon, (X, Y), zeros=beside({"zeros": "pratt"}, zeros="wilcox"),
        method=beside({"method": "exact"}, method="asymptotic"),
        continuity=beside({"method": "asymptotic"}, continuity=False), alternative="greater", shift=False, level=0.9),
    case(paired.t_test, (X, Y), alternative="less", level=0.9),
    case(paired.t_tests, ([(X, Y), (Y, X[::-1])],), alternative="less", level=0.9),
    *(case(test, data, resamples=beside({"resamples": 100}, resamples=200), alternative="greater", interval="bca",
        mid=True, level=0.9, seed=1)
    for test, data in ((paired.permutation, (X, Y)), (paired.permutations, (TABLE, TABLE[:, ::-1] - 0.5)))),
    case(paired.mcnemar, (ONES, OTHERS), method="mid-p", interval="melded", alternative="greater", level=0.9),
    case(paired.mcnemar_from_table, ([[9, 5], [2, 8]],), method="corrected", interval="melded", alternative="less",
        level=0.9),
    case(overlapping.t_test, (X[:20], Y[:20], X[20:40], Y[40:]), alternative="greater", level=0.9),
    case(overlapping.detectable_difference, (4, 6, 6), correlation=0.5, alpha=0.01, power=0.9),
    case(equivalence.paired_means, ([3] * 9, [3] * 9), {"margin": 0.3, "span": 4}, margin=0.4, alpha=0.025, span=5),
    case(equivalence.unpaired_means, (X, Y), {"margin": 0.3}, margin=0.4, alpha=0.025),
    case(equivalence.standardised_means, (X, Y), {"margin": 0.3}, margin=0.4, alpha=0.025),
    case(equivalence.mean_difference, (crossed_raters.paired_difference(TABLE, TABLE[::-1]),), {"margin": 0.3},
        margin=0.4, alpha=0.025),
    *(case(test, data, {"margin": 0.1}, margin=0.2, alpha=0.025)
    for test, data in ((equivalence.paired_proportions, (ONES, OTHERS)),
        (equivalence.unpaired_proportions, (ONES, OTHERS)),
        (equivalence.paired_proportions_from_table, ([[9, 5], [2, 8]],)))),
    *(case(test, (TABLE, TABLE[::-1]), level=0.9)
    for test in (crossed_raters.paired_difference, crossed_raters.unpaired_difference)),
    case(crossed_raters.difference_with_gaps, (np.ravel([TABLE, TABLE[::-1]]), *WHO), {"paired": True}, paired=False,
        level=0.9),
    case(crossed_raters.asked_for, (crossed_raters.paired_difference(TABLE, TABLE[::-1] + 1),), alternative="greater",
        level=0.9),
    case(proportion_scores.tango_interval, (5, 2, 20), level=0.9),
    *(case(test, (), {"ones_x": 5, "n_x": 9, "ones_y": 4, "n_y": 11, **more}, ones_x=6, n_x=10, ones_y=5, n_y=12, **own)
    for test, more, own in (
        (proportion_scores.miettinen_nurminen_statistic, {"difference": 0.1}, {"difference": 0.2}),
        (proportion_scores.miettinen_nurminen_interval, {}, {"level": 0.9}))),
    case(unpaired.mann_whitney, (X, Y), method="exact", continuity=False, alternative="greater",
        resamples=beside({"method": "monte-carlo"}, resamples=99), shift=False, level=0.9,
        seed=beside({"method": "monte-carlo"}, seed=2)),
    case(unpaired.permutation, (X, Y), resamples=99, alternative="greater", level=0.9, seed=2),
    case(unpaired.permutations, ([(X, Y), (Y, X)],), resamples=99, alternative="greater", level=0.9, seed=2),
    case(unpaired.t_test, (X, Y[:40]), equal_variances=True, hedges=True, alternative="greater", level=0.9),
    case(unpaired.t_test_from_summary, (3.1, 1.0, 20, 2.8, 1.4, 30), equal_variances=True, alternative="greater",
        level=0.9),
    case(unpaired.fisher_exact, ([[9, 5], [2, 8]],), sides="mid-p", alternative="greater", level=0.9),
    case(effects.cliffs_delta, (X, Y), level=0.9),
    case(effects.rank_biserial, (X, Y), zeros="wilcox", level=0.9),
    case(effects.cohens_dz, (X, Y), level=0.9),
    case(effects.single_rating_d, (crossed_raters.paired_difference(TABLE, TABLE[::-1] + 1),), {"spread": 1.0},
        spread=2.0, level=0.9),
    case(effects.cohens_d, (X, Y), hedges=True, level=0.9),
    case(effects.cohens_d_from_summary, (3.1, 1.0, 20, 2.8, 1.4, 30), hedges=True, level=0.9),
    case(effects.odds_ratio, ([[9, 5], [2, 8]],), level=0.9),
    case(effects.paired_odds_ratio, (9, 5), level=0.9),
    case(several.pairwise, ({"a": X, "b": Y, "c": TABLE[:, 2]}, paired.wilcoxon), {"name": "f"}, name="g",
        correction="bonferroni", options=beside({}, zeros="wilcox")),
    case(families.adjusted, ([0.01, 0.02, 0.03],), method="bonferroni"),
    case(families.family, ([paired.wilcoxon(X, Y), paired.t_test(X, Y)], "f"), method="bonferroni"),
    case(intervals.mean_t, (X,), clusters=CLUSTERS, level=0.9),
    case(scale_means.scale_mean, (X,), {"low": 1, "high": 5}, low=0, high=None, clusters=CLUSTERS, level=0.9),
    case(intervals.mean_bootstrap, (X**1.5,), method="percentile", clusters=CLUSTERS, resamples=100, level=0.9,
        seed=1),
    case(confidence_sequences.bounded_mean, (X,), {"low": 1, "high": 5}, low=0, high=6, null=3, level=0.9),
    case(confidence_sequences.any_estimate, (1.5, 0.4), {"cases": 20, "df": 19}, cases=30, planned=50, df=15,
        ends=(0, 1), null=0.1, level=0.9),
    case(fixed_width.unseen_in_kappa, (TABLE,), {"scale": SCALE}, scale=(*SCALE, 9), weights="linear",
        clusters=SAMPLE),
    case(fixed_width.unseen_in_alpha, (TABLE,), {"metric": "ordinal"}, metric="interval", scale=(*SCALE, 9)),
    case(intervals.paired_difference_interval, (X - Y,), level=0.9),
    case(intervals.welch_interval, (X, Y.astype(float)), level=0.9),
    case(intervals.wilson, (3, 10), level=0.9),
    case(shares.share, (ONES,), clusters=CLUSTERS, weights=1 + X, level=0.9),
    case(sampled_means.mean, (X, SAMPLE), level=0.9),
    case(sampled_means.share, (ONES, SAMPLE), level=0.9),
    case(sampled_means.rank_correlation, (X, Y, SAMPLE), level=0.9),
    case(sampled_means.limit_of_agreement, (X - Y, SAMPLE), {"multiplier": 1.96}, multiplier=-1.96, level=0.9),
    case(intervals.proportion, (ONES,), clusters=CLUSTERS, level=0.9),
    case(shape.skewness, (np.exp(X),), adjusted=True, alternative="greater"),
    case(two_raters.kappa, (TABLE[:, 0], TABLE[:, 1]), {"scale": SCALE, "weights": "linear"},
        scale=(1, 2, 3, 4, 5, 9), weights=PENALTIES, interval="analytic", clusters=CLUSTERS,
        resamples=beside(BOOT, resamples=300), level=0.9, seed=beside(BOOT, seed=1)),
    case(two_raters.kappa_from_counts, ([[9, 5, 1], [2, 8, 3], [1, 2, 9]],), {"weights": "linear"}, scale=(1, 2, 5),
        weights="quadratic", interval="bca", resamples=beside(BOOT, resamples=300), level=0.9,
        seed=beside(BOOT, seed=1)),
    case(two_raters.scott_pi, (TABLE[:, 0], TABLE[:, 1]), scale=(*SCALE, 9), interval="bca", clusters=CLUSTERS,
        resamples=beside(BOOT, resamples=300), level=0.9, seed=beside(BOOT, seed=1)),
    *(case(test, (TABLE[:, 0], TABLE[:, 1]), {"clusters": CLUSTERS}, clusters=None, resamples=300, level=0.8, seed=1)
    for test in (two_raters.percent_agreement, two_raters.mean_absolute_error)),
    case(two_raters.correlation, (X, Y), kind="pearson", level=0.9),
    case(two_raters.bias, (X, Y), clusters=CLUSTERS, level=0.9),
    case(two_raters.bland_altman, (X, Y), multiplier=2, clusters=CLUSTERS, level=0.9),
    case(many_raters.fleiss_kappa, (TABLE,), {"scale": SCALE}, scale=(*SCALE, 9), weights="linear", interval="bca",
        clusters=CLUSTERS, resamples=beside(BOOT, resamples=300), level=0.9, seed=beside(BOOT, seed=1)),
    case(many_raters.fleiss_kappa_from_counts, ([[3, 0], [2, 1], [1, 2], [0, 3], [2, 1]],), scale=("no", "yes"),
        weights=[[0, 1], [2, 0]], interval="bca", resamples=beside(BOOT, resamples=300), level=0.9,
        seed=beside(BOOT, seed=1)),
    *(case(test, (TABLE,), {"scale": SCALE, "weights": "linear"}, scale=(1, 2, 3, 4, 5, 9), weights="quadratic",
        interval="bca", clusters=CLUSTERS, resamples=beside(BOOT, resamples=300), level=0.9,
        seed=beside(BOOT, seed=1), **more)
    for test, more in ((many_raters.conger_kappa, {}), (many_raters.gwet_ac, {}),
        (many_raters.mean_pairwise_kappa, {"pairs": [(0, 1)]}))),
    case(reliability.krippendorff_alpha, (TABLE,), {"metric": "ordinal"}, metric="interval", scale=(*SCALE, 9),
        interval="bca", clusters=CLUSTERS, resamples=beside(BOOT, resamples=300), level=0.9,
        seed=beside(BOOT, seed=1)),
    case(reliability.icc, (TABLE,), model=3, average=True, clusters=CLUSTERS, level=0.9),
    case(many_raters.percent_agreement, (TABLE,), interval="percentile", clusters=CLUSTERS, resamples=300, level=0.9,
        seed=1),
    case(many_raters.link_f1, (TABLE,), {"none": 1}, none=2, pairs=[(0, 1)], clusters=CLUSTERS),
    case(unitizing.unitized_alpha, (MARKS,), {"lengths": [9] * 60}, lengths=[9, 20] * 30, clusters=CLUSTERS, level=0.9),
    case(unitizing.gamma, (MARKS[:30],), {"lengths": [9] * 30}, lengths=[9, 20] * 15, clusters=CLUSTERS[:30], level=0.9,
        seed=1, categorical=0.5, precision=0.002),
    case(alternative_annotator.alternative_annotator, (TABLE[:, 0], TABLE), {"epsilon": 0.1}, epsilon=0.2,
        score="distance", correction="holm", alpha=0.1, fewest_items=61, clusters=CLUSTERS,
        fewest_clusters=beside({"clusters": CLUSTERS}, fewest_clusters=13), weights=X),
    case(diagnostic_accuracy.diagnostic_accuracy, (GOOD, ONES), {"positive": 1}, positive=0, clusters=CLUSTERS,
        weights=X, level=0.9),
    *(case(test, data, clusters=CLUSTERS, weights=X, level=0.9)
    for test, data in ((diagnostic_accuracy.area_under_curve, (Y, ONES)), (diagnostic_accuracy.surplus, (X, Y)))),
    case(diagnostic_accuracy.calibration, (X + 0.1, Y), bins=2, clusters=CLUSTERS, weights=X, level=0.9),
    case(prediction_powered.mean, (X[:30], Y[:30], Y[30:]), weight=1, interval="t", level=0.9),
    *(case(test, (X[:30], Y[:30], Y[30:], Y[:30], X[:30], X[30:]), weight=1, interval="normal", level=0.9)
    for test in (prediction_powered.paired_difference, prediction_powered.unpaired_difference)),
    case(prediction_powered.rogan_gladen_from_rates, (23, 150), {"sensitivity": 0.96, "specificity": 0.89},
        sensitivity=0.9, specificity=0.9),
    case(prediction_powered.rogan_gladen, (ONES, GOOD, GOOD[:40]), interval="bootstrap",
        resamples=beside({"interval": "bootstrap"}, resamples=100), level=0.9,
        seed=beside({"interval": "bootstrap"}, seed=1)),
    case(planning.expected_table, (0.6, [0.2, 0.3, 0.5]), {"disagreement": "near", "weights": "linear"},
        disagreement="guessing", scale=(1, 2, 9), weights="quadratic"),
    case(planning.items_for_kappa, (0.6, 0.1), {"shares": [0.2, 0.3, 0.5], "weights": "linear"},
        shares=[0.1, 0.1, 0.8], disagreement="near", scale=(1, 2, 9), weights="quadratic", level=0.9),
    *(case(test, data, {"shares": [0.2, 0.3, 0.5], "weights": "linear", "simulations": 20, "raters": 2},
        shares=[0.1, 0.1, 0.8], disagreement="near", scale=(1, 2, 9), raters=4, weights="quadratic", level=0.9,
        simulations=30, seed=1)
    for test, data in ((planning.simulated_half_width, (50, 0.6)), (planning.simulated_items_for_kappa, (0.6, 0.2)))),
    case(planning.pairs_for_difference, (0.5, 1), power=0.9, alpha=0.01, test="wilcoxon", alternative="greater",
        simulations=beside({"test": "wilcoxon", "power": 0.3}, simulations=300),
        seed=beside({"test": "wilcoxon", "power": 0.3}, seed=1)),
    case(planning.cases_for_raters, (PILOT,), {"raters": 6, "difference": 1.0}, raters=8, repeats=2, half_width=0.5,
        difference=0.9, power=0.9, seed=1,
        levels=planning.RatedLevels(SCALE, float(X.mean()), 1.0)),
    case(planning.simulated_power, (X - Y, 30), {"simulations": 100}, alpha=0.001, simulations=200, seed=1),
]  # fmt: skip


def told(result: Any) -> str:
    """What a result says in numbers: without the options it repeats."""
    if isinstance(result, tuple | list):
        return " ".join(map(told, result))
    if isinstance(result, dict):
        return " ".join(map(told, result.values()))
    if hasattr(result, "options"):
        parts = [result.estimate, result.interval and (result.interval.low, result.interval.high), result.p,
                 result.effect, result.details, result.p_adjusted, result.family, result.standard_error]  # fmt: skip
        return repr(parts)
    return repr(result)


@pytest.mark.parametrize(
    "case", CASES, ids=lambda case: f"{case.statistic.__module__.split('.')[-1]}.{case.statistic.__name__}"
)
def test_every_parameter_matters(case: Case) -> None:
    statistic, data, base, parameters = case
    signature = inspect.signature(statistic).parameters.values()
    named = {p.name for p in signature if p.kind in (p.KEYWORD_ONLY, p.VAR_KEYWORD)}
    # A scale without weights only says which ratings are allowed: naming more levels shows in the options.
    assert set(parameters) == named
    assert told(statistic(*data, **base)) == told(statistic(*data, **base))
    for name, (one, other) in parameters.items():
        first, second = (statistic(*data, **{**base, **setting}) for setting in (one, other))
        if name == "scale" and told(first) == told(second):
            assert first.options != second.options
        else:
            assert told(first) != told(second), name


def test_every_statistic_is_here() -> None:
    tested = {case.statistic for case in CASES}
    modules = (
        alternative_annotator, consensus, crossed_raters, diagnostic_accuracy, effects, equivalence, families,
        fixed_width, intervals, many_raters, overlapping, planning, prediction_powered, proportion_scores, reliability,
        several, sampled_means, shape, shares, two_raters, unitizing, unpaired,
    )  # fmt: skip
    for module in modules:
        for name, function in inspect.getmembers(module, inspect.isfunction):
            keywords = [p for p in inspect.signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY]
            if function.__module__ == module.__name__ and not name.startswith("_") and keywords:
                assert function in tested, name
