"""Every parameter of every statistic changes something, and equal seeds give equal results."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bedside.stats import (
    alternative_annotator,
    consensus,
    crossed_raters,
    diagnostic_accuracy,
    effects,
    equivalence,
    families,
    intervals,
    many_raters,
    overlapping,
    paired,
    prediction_powered,
    proportion_scores,
    reliability,
    sampled_items,
    sampled_means,
    scale_means,
    several,
    shape,
    shares,
    two_raters,
    unpaired,
)
from bedside.stats import sample_size as planning

RNG = np.random.default_rng(12)
SCALE = (1, 2, 3, 4, 5)
LATENT = RNG.normal(size=(60, 1))
TABLE = np.digitize(LATENT + 0.8 * RNG.normal(size=(60, 3)), (-1, -0.3, 0.4, 1)) + 1
X, Y = TABLE[:, 0].astype(float), TABLE[:, 1] - (RNG.random(60) < 0.3)
ONES, OTHERS = (X > 2).astype(int), (TABLE[:, 1] > 2).astype(int)
GOOD = np.where(RNG.random(60) < 0.1, 1 - ONES, ONES)
CLUSTERS = np.repeat(np.arange(12), 5)
SAMPLE = sampled_items.sampled_items(np.where(X > 3, 0.5, 0.1), strata=(X > 3).astype(int), clusters=CLUSTERS)
PENALTIES = np.abs(np.subtract.outer(range(5), range(5))) ** 0.5
BOOT = {"interval": "percentile", "resamples": 200}

#: Each statistic with its data, and for each parameter two settings (with what they need) that must differ.
Options = dict[str, Any]
CASES: list[tuple[Callable[..., Any], tuple[Any, ...], Options, dict[str, tuple[Options, Options]]]] = [
    (paired.wilcoxon, (X, Y), {}, {
        "zeros": ({"zeros": "pratt"}, {"zeros": "wilcox"}),
        "method": ({"method": "exact"}, {"method": "asymptotic"}),
        "continuity": ({"method": "asymptotic"}, {"method": "asymptotic", "continuity": False}),
        "alternative": ({}, {"alternative": "greater"}), "shift": ({}, {"shift": False}),
        "level": ({}, {"level": 0.9}),
    }),
    (paired.t_test, (X, Y), {}, {"alternative": ({}, {"alternative": "less"}), "level": ({}, {"level": 0.9})}),
    (paired.t_tests, ([(X, Y), (Y, X[::-1])],), {}, {
        "alternative": ({}, {"alternative": "less"}), "level": ({}, {"level": 0.9}),
    }),
    *((test, data, {}, {
        "resamples": ({"resamples": 100}, {"resamples": 200}), "alternative": ({}, {"alternative": "greater"}),
        "interval": ({}, {"interval": "bca"}), "level": ({}, {"level": 0.9}), "seed": ({}, {"seed": 1}),
    }) for test, data in ((paired.permutation, (X, Y)), (paired.permutations, (TABLE, TABLE[:, ::-1] - 0.5)))),
    (paired.mcnemar, (ONES, OTHERS), {}, {
        "method": ({}, {"method": "mid-p"}), "interval": ({}, {"interval": "melded"}),
        "alternative": ({}, {"alternative": "greater"}), "level": ({}, {"level": 0.9}),
    }),
    (paired.mcnemar_from_table, ([[9, 5], [2, 8]],), {}, {
        "method": ({}, {"method": "corrected"}), "interval": ({}, {"interval": "melded"}),
        "alternative": ({}, {"alternative": "less"}), "level": ({}, {"level": 0.9}),
    }),
    (overlapping.t_test, (X[:20], Y[:20], X[20:40], Y[40:]), {}, {
        "alternative": ({}, {"alternative": "greater"}), "level": ({}, {"level": 0.9}),
    }),
    (overlapping.detectable_difference, (4, 6, 6), {}, {
        "correlation": ({}, {"correlation": 0.5}), "alpha": ({}, {"alpha": 0.01}), "power": ({}, {"power": 0.9}),
    }),
    (equivalence.paired_means, ([3] * 9, [3] * 9), {"margin": 0.3, "span": 4}, {
        "margin": ({}, {"margin": 0.4}), "alpha": ({}, {"alpha": 0.025}), "span": ({}, {"span": 5}),
    }),
    (equivalence.unpaired_means, (X, Y), {"margin": 0.3}, {
        "margin": ({}, {"margin": 0.4}), "alpha": ({}, {"alpha": 0.025}),
    }),
    (equivalence.mean_difference, (crossed_raters.paired_difference(TABLE, TABLE[::-1]),), {"margin": 0.3}, {
        "margin": ({}, {"margin": 0.4}), "alpha": ({}, {"alpha": 0.025}),
    }),
    *((test, data, {"margin": 0.1}, {
        "margin": ({}, {"margin": 0.2}), "alpha": ({}, {"alpha": 0.025}),
    }) for test, data in (
        (equivalence.paired_proportions, (ONES, OTHERS)), (equivalence.unpaired_proportions, (ONES, OTHERS)),
        (equivalence.paired_proportions_from_table, ([[9, 5], [2, 8]],)),
    )),
    *((test, (TABLE, TABLE[::-1]), {}, {"level": ({}, {"level": 0.9})}) for test in (
        crossed_raters.paired_difference, crossed_raters.unpaired_difference,
    )),
    (crossed_raters.asked_for, (crossed_raters.paired_difference(TABLE, TABLE[::-1] + 1),), {}, {
        "alternative": ({}, {"alternative": "greater"}), "level": ({}, {"level": 0.9}),
    }),
    (proportion_scores.tango_interval, (5, 2, 20), {}, {"level": ({}, {"level": 0.9})}),
    *((test, (), {"ones_x": 5, "n_x": 9, "ones_y": 4, "n_y": 11, **more}, {
        "ones_x": ({}, {"ones_x": 6}), "n_x": ({}, {"n_x": 10}), "ones_y": ({}, {"ones_y": 5}),
        "n_y": ({}, {"n_y": 12}), **parameters,
    }) for test, more, parameters in (
        (proportion_scores.miettinen_nurminen_statistic, {"difference": 0.1}, {
            "difference": ({}, {"difference": 0.2}),
        }),
        (proportion_scores.miettinen_nurminen_interval, {}, {"level": ({}, {"level": 0.9})}),
    )),
    (unpaired.mann_whitney, (X, Y), {}, {
        "method": ({}, {"method": "exact"}), "continuity": ({}, {"continuity": False}),
        "alternative": ({}, {"alternative": "greater"}),
        "resamples": ({"method": "monte-carlo"}, {"method": "monte-carlo", "resamples": 99}),
        "shift": ({}, {"shift": False}),
        "level": ({}, {"level": 0.9}), "seed": ({"method": "monte-carlo"}, {"method": "monte-carlo", "seed": 2}),
    }),
    (unpaired.t_test, (X, Y[:40]), {}, {
        "equal_variances": ({}, {"equal_variances": True}), "hedges": ({}, {"hedges": True}),
        "alternative": ({}, {"alternative": "greater"}), "level": ({}, {"level": 0.9}),
    }),
    (unpaired.t_test_from_summary, (3.1, 1.0, 20, 2.8, 1.4, 30), {}, {
        "equal_variances": ({}, {"equal_variances": True}), "alternative": ({}, {"alternative": "greater"}),
        "level": ({}, {"level": 0.9}),
    }),
    (unpaired.fisher_exact, ([[9, 5], [2, 8]],), {}, {
        "sides": ({}, {"sides": "central"}),
        "alternative": ({}, {"alternative": "greater"}), "level": ({}, {"level": 0.9}),
    }),
    (effects.cliffs_delta, (X, Y), {}, {"level": ({}, {"level": 0.9})}),
    (effects.rank_biserial, (X, Y), {}, {"zeros": ({}, {"zeros": "wilcox"}), "level": ({}, {"level": 0.9})}),
    (effects.cohens_dz, (X, Y), {}, {"level": ({}, {"level": 0.9})}),
    (effects.single_rating_d, (crossed_raters.paired_difference(TABLE, TABLE[::-1] + 1),), {"spread": 1.0}, {
        "spread": ({}, {"spread": 2.0}), "level": ({}, {"level": 0.9}),
    }),
    (effects.cohens_d, (X, Y), {}, {"hedges": ({}, {"hedges": True}), "level": ({}, {"level": 0.9})}),
    (effects.cohens_d_from_summary, (3.1, 1.0, 20, 2.8, 1.4, 30), {}, {
        "hedges": ({}, {"hedges": True}), "level": ({}, {"level": 0.9}),
    }),
    (effects.relative_change, (X, Y), {"paired": True}, {
        "paired": ({}, {"paired": False}), "level": ({}, {"level": 0.9}),
    }),
    (effects.odds_ratio, ([[9, 5], [2, 8]],), {}, {"level": ({}, {"level": 0.9})}),
    (effects.paired_odds_ratio, (9, 5), {}, {"level": ({}, {"level": 0.9})}),
    (several.pairwise, ({"a": X, "b": Y, "c": TABLE[:, 2]}, paired.wilcoxon), {"name": "f"}, {
        "name": ({}, {"name": "g"}), "correction": ({}, {"correction": "bonferroni"}),
        "options": ({}, {"zeros": "wilcox"}),
    }),
    (families.adjusted, ([0.01, 0.02, 0.03],), {}, {"method": ({}, {"method": "bonferroni"})}),
    (families.family, ([paired.wilcoxon(X, Y), paired.t_test(X, Y)], "f"), {}, {
        "method": ({}, {"method": "bonferroni"}),
    }),
    (intervals.mean_t, (X,), {}, {"clusters": ({}, {"clusters": CLUSTERS}), "level": ({}, {"level": 0.9})}),
    (scale_means.scale_mean, (X,), {"low": 1, "high": 5}, {
        "low": ({}, {"low": 0}), "high": ({}, {"high": None}), "clusters": ({}, {"clusters": CLUSTERS}),
        "level": ({}, {"level": 0.9}),
    }),
    (intervals.mean_bootstrap, (X**1.5,), {}, {
        "method": ({}, {"method": "percentile"}), "clusters": ({}, {"clusters": CLUSTERS}),
        "resamples": ({}, {"resamples": 100}), "level": ({}, {"level": 0.9}), "seed": ({}, {"seed": 1}),
    }),
    (intervals.paired_difference_interval, (X - Y,), {}, {"level": ({}, {"level": 0.9})}),
    (intervals.welch_interval, (X, Y.astype(float)), {}, {"level": ({}, {"level": 0.9})}),
    (intervals.wilson, (3, 10), {}, {"level": ({}, {"level": 0.9})}),
    (shares.share, (ONES,), {}, {
        "clusters": ({}, {"clusters": CLUSTERS}), "weights": ({}, {"weights": 1 + X}), "level": ({}, {"level": 0.9}),
    }),
    (sampled_means.mean, (X, SAMPLE), {}, {"level": ({}, {"level": 0.9})}),
    (sampled_means.share, (ONES, SAMPLE), {}, {"level": ({}, {"level": 0.9})}),
    (sampled_means.rank_correlation, (X, Y, SAMPLE), {}, {"level": ({}, {"level": 0.9})}),
    (sampled_means.limit_of_agreement, (X - Y, SAMPLE), {"multiplier": 1.96}, {
        "multiplier": ({}, {"multiplier": -1.96}), "level": ({}, {"level": 0.9}),
    }),
    (intervals.proportion, (ONES,), {}, {"clusters": ({}, {"clusters": CLUSTERS}), "level": ({}, {"level": 0.9})}),
    (shape.skewness, (np.exp(X),), {}, {
        "adjusted": ({}, {"adjusted": True}), "alternative": ({}, {"alternative": "greater"}),
    }),
    (two_raters.kappa, (TABLE[:, 0], TABLE[:, 1]), {"scale": SCALE, "weights": "linear"}, {
        "scale": ({}, {"scale": (1, 2, 3, 4, 5, 9)}), "weights": ({}, {"weights": PENALTIES}),
        "interval": ({}, {"interval": "analytic"}), "clusters": ({}, {"clusters": CLUSTERS}),
        "resamples": (BOOT, {**BOOT, "resamples": 300}),
        "level": ({}, {"level": 0.9}), "seed": (BOOT, {**BOOT, "seed": 1}),
    }),
    (two_raters.kappa_from_counts, ([[9, 5, 1], [2, 8, 3], [1, 2, 9]],), {"weights": "linear"}, {
        "scale": ({}, {"scale": (1, 2, 5)}), "weights": ({}, {"weights": "quadratic"}),
        "interval": ({}, {"interval": "bca"}), "resamples": (BOOT, {**BOOT, "resamples": 300}),
        "level": ({}, {"level": 0.9}), "seed": (BOOT, {**BOOT, "seed": 1}),
    }),
    (two_raters.scott_pi, (TABLE[:, 0], TABLE[:, 1]), {}, {
        "scale": ({}, {"scale": (*SCALE, 9)}), "interval": ({}, {"interval": "bca"}),
        "clusters": ({}, {"clusters": CLUSTERS}), "resamples": (BOOT, {**BOOT, "resamples": 300}),
        "level": ({}, {"level": 0.9}), "seed": (BOOT, {**BOOT, "seed": 1}),
    }),
    *((test, (TABLE[:, 0], TABLE[:, 1]), {"clusters": CLUSTERS}, {
        "clusters": ({}, {"clusters": None}), "resamples": ({}, {"resamples": 300}), "level": ({}, {"level": 0.8}),
        "seed": ({}, {"seed": 1}),
    }) for test in (two_raters.percent_agreement, two_raters.mean_absolute_error)),
    (two_raters.correlation, (X, Y), {}, {"kind": ({}, {"kind": "pearson"}), "level": ({}, {"level": 0.9})}),
    (two_raters.bias, (X, Y), {}, {"clusters": ({}, {"clusters": CLUSTERS}), "level": ({}, {"level": 0.9})}),
    (two_raters.bland_altman, (X, Y), {}, {
        "multiplier": ({}, {"multiplier": 2}), "clusters": ({}, {"clusters": CLUSTERS}), "level": ({}, {"level": 0.9}),
    }),
    (many_raters.fleiss_kappa, (TABLE,), {"scale": SCALE}, {
        "scale": ({}, {"scale": (*SCALE, 9)}), "weights": ({}, {"weights": "linear"}),
        "interval": ({}, {"interval": "bca"}), "clusters": ({}, {"clusters": CLUSTERS}),
        "resamples": (BOOT, {**BOOT, "resamples": 300}),
        "level": ({}, {"level": 0.9}), "seed": (BOOT, {**BOOT, "seed": 1}),
    }),
    (many_raters.fleiss_kappa_from_counts, ([[3, 0], [2, 1], [1, 2], [0, 3], [2, 1]],), {}, {
        "scale": ({}, {"scale": ("no", "yes")}), "weights": ({}, {"weights": [[0, 1], [2, 0]]}),
        "interval": ({}, {"interval": "bca"}), "resamples": (BOOT, {**BOOT, "resamples": 300}),
        "level": ({}, {"level": 0.9}), "seed": (BOOT, {**BOOT, "seed": 1}),
    }),
    *((test, (TABLE,), {"scale": SCALE, "weights": "linear"}, {
        "scale": ({}, {"scale": (1, 2, 3, 4, 5, 9)}), "weights": ({}, {"weights": "quadratic"}),
        "interval": ({}, {"interval": "bca"}), "clusters": ({}, {"clusters": CLUSTERS}),
        "resamples": (BOOT, {**BOOT, "resamples": 300}), "level": ({}, {"level": 0.9}),
        "seed": (BOOT, {**BOOT, "seed": 1}), **more,
    }) for test, more in (
        (many_raters.conger_kappa, {}), (many_raters.gwet_ac, {}),
        (many_raters.mean_pairwise_kappa, {"pairs": ({}, {"pairs": [(0, 1)]})}),
    )),
    (reliability.krippendorff_alpha, (TABLE,), {"metric": "ordinal"}, {
        "metric": ({}, {"metric": "interval"}), "scale": ({}, {"scale": (*SCALE, 9)}),
        "interval": ({}, {"interval": "bca"}), "clusters": ({}, {"clusters": CLUSTERS}),
        "resamples": (BOOT, {**BOOT, "resamples": 300}), "level": ({}, {"level": 0.9}),
        "seed": (BOOT, {**BOOT, "seed": 1}),
    }),
    (reliability.icc, (TABLE,), {}, {
        "model": ({}, {"model": 3}), "average": ({}, {"average": True}), "clusters": ({}, {"clusters": CLUSTERS}),
        "level": ({}, {"level": 0.9}),
    }),
    (many_raters.percent_agreement, (TABLE,), {}, {
        "interval": ({}, {"interval": "percentile"}), "clusters": ({}, {"clusters": CLUSTERS}),
        "resamples": ({}, {"resamples": 300}), "level": ({}, {"level": 0.9}), "seed": ({}, {"seed": 1}),
    }),
    (alternative_annotator.alternative_annotator, (TABLE[:, 0], TABLE), {"epsilon": 0.1}, {
        "epsilon": ({}, {"epsilon": 0.2}), "score": ({}, {"score": "distance"}),
        "correction": ({}, {"correction": "holm"}), "alpha": ({}, {"alpha": 0.1}),
        "fewest_items": ({}, {"fewest_items": 61}), "clusters": ({}, {"clusters": CLUSTERS}),
        "fewest_clusters": ({"clusters": CLUSTERS}, {"clusters": CLUSTERS, "fewest_clusters": 13}),
        "weights": ({}, {"weights": X}),
    }),
    (diagnostic_accuracy.diagnostic_accuracy, (GOOD, ONES), {"positive": 1}, {
        "positive": ({}, {"positive": 0}), "clusters": ({}, {"clusters": CLUSTERS}),
        "weights": ({}, {"weights": X}), "level": ({}, {"level": 0.9}),
    }),
    *((test, data, {}, {
        "clusters": ({}, {"clusters": CLUSTERS}), "weights": ({}, {"weights": X}), "level": ({}, {"level": 0.9}),
    }) for test, data in (
        (diagnostic_accuracy.area_under_curve, (Y, ONES)), (diagnostic_accuracy.surplus, (X, Y)),
    )),
    (diagnostic_accuracy.calibration, (X + 0.1, Y), {}, {
        "bins": ({}, {"bins": 2}), "clusters": ({}, {"clusters": CLUSTERS}), "weights": ({}, {"weights": X}),
        "level": ({}, {"level": 0.9}),
    }),
    (prediction_powered.mean, (X[:30], Y[:30], Y[30:]), {}, {
        "weight": ({}, {"weight": 1}), "interval": ({}, {"interval": "t"}), "level": ({}, {"level": 0.9}),
    }),
    *((test, (X[:30], Y[:30], Y[30:], Y[:30], X[:30], X[30:]), {}, {
        "weight": ({}, {"weight": 1}), "interval": ({}, {"interval": "normal"}), "level": ({}, {"level": 0.9}),
    }) for test in (prediction_powered.paired_difference, prediction_powered.unpaired_difference)),
    (prediction_powered.rogan_gladen_from_rates, (23, 150), {"sensitivity": 0.96, "specificity": 0.89}, {
        "sensitivity": ({}, {"sensitivity": 0.9}), "specificity": ({}, {"specificity": 0.9}),
    }),
    (prediction_powered.rogan_gladen, (ONES, GOOD, GOOD[:40]), {}, {
        "interval": ({}, {"interval": "bootstrap"}),
        "resamples": ({"interval": "bootstrap"}, {"interval": "bootstrap", "resamples": 100}),
        "level": ({}, {"level": 0.9}), "seed": ({"interval": "bootstrap"}, {"interval": "bootstrap", "seed": 1}),
    }),
    (planning.expected_table, (0.6, [0.2, 0.3, 0.5]), {"disagreement": "near", "weights": "linear"}, {
        "disagreement": ({}, {"disagreement": "guessing"}), "scale": ({}, {"scale": (1, 2, 9)}),
        "weights": ({}, {"weights": "quadratic"}),
    }),
    (planning.items_for_kappa, (0.6, 0.1), {"shares": [0.2, 0.3, 0.5], "weights": "linear"}, {
        "shares": ({}, {"shares": [0.1, 0.1, 0.8]}), "disagreement": ({}, {"disagreement": "near"}),
        "scale": ({}, {"scale": (1, 2, 9)}), "weights": ({}, {"weights": "quadratic"}), "level": ({}, {"level": 0.9}),
    }),
    *((test, data, {"shares": [0.2, 0.3, 0.5], "weights": "linear", "simulations": 20, "raters": 2}, {
        "shares": ({}, {"shares": [0.1, 0.1, 0.8]}), "disagreement": ({}, {"disagreement": "near"}),
        "scale": ({}, {"scale": (1, 2, 9)}), "raters": ({}, {"raters": 4}),
        "weights": ({}, {"weights": "quadratic"}), "level": ({}, {"level": 0.9}),
        "simulations": ({}, {"simulations": 30}), "seed": ({}, {"seed": 1}),
    }) for test, data in (
        (planning.simulated_half_width, (50, 0.6)), (planning.simulated_items_for_kappa, (0.6, 0.2)),
    )),
    (planning.pairs_for_difference, (0.5, 1), {}, {
        "power": ({}, {"power": 0.9}), "alpha": ({}, {"alpha": 0.01}), "test": ({}, {"test": "wilcoxon"}),
        "alternative": ({}, {"alternative": "greater"}),
        "simulations": ({"test": "wilcoxon", "power": 0.3}, {"test": "wilcoxon", "power": 0.3, "simulations": 300}),
        "seed": ({"test": "wilcoxon", "power": 0.3}, {"test": "wilcoxon", "power": 0.3, "seed": 1}),
    }),
    (planning.simulated_power, (X - Y, 30), {"simulations": 100}, {
        "alpha": ({}, {"alpha": 0.001}), "simulations": ({}, {"simulations": 200}), "seed": ({}, {"seed": 1}),
    }),
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
    "case", CASES, ids=lambda case: f"{case[0].__module__.split('.')[-1]}.{case[0].__name__}"
)
def test_every_parameter_matters(case: Any) -> None:
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
    tested = {case[0] for case in CASES}
    modules = (
        alternative_annotator, consensus, crossed_raters, diagnostic_accuracy, effects, equivalence, families,
        intervals, many_raters, overlapping, planning, prediction_powered, proportion_scores, reliability, several,
        sampled_means, shape, shares, two_raters, unpaired,
    )  # fmt: skip
    for module in modules:
        for name, function in inspect.getmembers(module, inspect.isfunction):
            keywords = [
                p for p in inspect.signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY
            ]
            if function.__module__ == module.__name__ and not name.startswith("_") and keywords:
                assert function in tested, name
