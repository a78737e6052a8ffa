"""Every statistic on data that have nothing to say: a result or a reason, and no warning (see conftest)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import fields
from functools import partial
from typing import Any, cast

import numpy as np
import pytest

from bedside.stats import (
    effects,
    equivalence,
    intervals,
    many_raters,
    overlapping,
    paired,
    prediction_powered,
    reliability,
    scale_means,
    several,
    shape,
    two_raters,
    unpaired,
)
from bedside.stats.result import Effect, Interval, Result

NAN = float("nan")
SCALE = (0, 1, 2, 3, 4, 5)

PAIRS: dict[str, tuple[list[Any], list[Any]]] = {
    "nothing": ([], []),
    "all missing": ([None, NAN], [1, 0]),
    "one pair": ([1], [0]),
    "one equal pair": ([1], [1]),
    "two pairs": ([1, 0], [0, 0]),
    "constant and equal": ([1] * 6, [1] * 6),
    "constant zeros": ([0] * 6, [0] * 6),
    "constant and different": ([1] * 6, [0] * 6),
    "one rater constant": ([1] * 6, [0, 1, 0, 1, 1, 1]),
    "equal differences of values": ([1, 0, 1, 0, 1], [1, 0, 1, 0, 1]),
    "three with a missing one": ([1, None, 0], [0, 1, 1]),
    "nearly constant": ([0.1 + 0.2, 0.3, 0.3], [0.3, 0.3, 0.3]),
    "two levels far apart": ([0, 0, 0, 0, 0, 1], [0, 0, 0, 0, 1, 0]),
    "perfect disagreement": ([0, 1, 0, 1], [1, 0, 1, 0]),
    "large": ([1e9, 1e9 + 1, 1e9 + 2], [1e9, 1e9, 1e9]),
}

TABLES: dict[str, list[list[Any]]] = {
    "nothing": [],
    "all missing": [[None, None, None], [NAN, None, None]],
    "one item": [[1, 2, 1]],
    "one item agreed": [[1, 1, 1]],
    "constant": [[2, 2, 2]] * 5,
    "one rater each": [[1, None, None], [None, 2, None]],
    "perfect": [[1, 1, 1], [2, 2, 2], [3, 3, 3], [1, 1, 1]],
    "constant raters that differ": [[1, 2, 3]] * 4,
    "one disagreement": [[1, 1, 1], [1, 1, 1], [1, 1, 2], [1, 1, 1]],
    "two items": [[1, 2, 1], [3, 3, 3]],
    "missing cells": [[1, None, 1], [2, 2, None], [None, None, 3], [1, 2, 1], [None, 4, 4]],
    "raters never meet": [[1, 1, None, None], [2, 2, None, None], [None, None, 1, 1], [None, None, 3, 3]],
}

BINARY = {
    "equivalence paired proportions",
    "equivalence proportions",
    "mcnemar",
    "mcnemar mid-p",
    "mcnemar melded",
    "rogan-gladen",
}
OF_PAIRS: dict[str, Callable[[Any, Any], Result | Effect]] = {
    "wilcoxon": paired.wilcoxon,
    "wilcoxon wilcox": partial(paired.wilcoxon, zeros="wilcox", method="asymptotic"),
    "permutation": partial(paired.permutation, resamples=50),
    "permutation bca": partial(paired.permutation, resamples=50, interval="bca"),
    "permutation percentile": partial(paired.permutation, resamples=50, interval="percentile"),
    "permutation inverted": partial(paired.permutation, resamples=50, interval="inverted"),
    "paired t": paired.t_test,
    "equivalence paired": partial(equivalence.paired_means, margin=0.3),
    "equivalence paired with span": partial(equivalence.paired_means, margin=0.3, span=5),
    "equivalence unpaired": partial(equivalence.unpaired_means, margin=0.3),
    "equivalence paired proportions": partial(equivalence.paired_proportions, margin=0.3),
    "equivalence proportions": partial(equivalence.unpaired_proportions, margin=0.3),
    "overlapping t": lambda x, y: overlapping.t_test(x[:2], y[:2], x[2:], y[2:]),
    "mcnemar": paired.mcnemar,
    "mcnemar mid-p": partial(paired.mcnemar, method="mid-p"),
    "mcnemar melded": partial(paired.mcnemar, interval="melded"),
    "mann-whitney": unpaired.mann_whitney,
    "mann-whitney exact": partial(unpaired.mann_whitney, method="exact"),
    "mann-whitney monte carlo": partial(unpaired.mann_whitney, method="monte-carlo", resamples=50),
    "studentised permutation": partial(unpaired.permutation, resamples=50),
    "welch": unpaired.t_test,
    "student": partial(unpaired.t_test, equal_variances=True, hedges=True),
    "rank-biserial": effects.rank_biserial,
    "cliff": effects.cliffs_delta,
    "dz": effects.cohens_dz,
    "d": effects.cohens_d,
    "kappa": two_raters.kappa,
    "kappa linear": partial(two_raters.kappa, scale=SCALE, weights="linear", interval="bca", resamples=50),
    "kappa analytic": partial(two_raters.kappa, scale=SCALE, weights="quadratic", interval="analytic"),
    "scott": partial(two_raters.scott_pi, interval="percentile", resamples=50),
    "percent": two_raters.percent_agreement,
    "spearman": two_raters.correlation,
    "kendall": partial(two_raters.correlation, kind="kendall"),
    "pearson": partial(two_raters.correlation, kind="pearson"),
    "mae": partial(two_raters.mean_absolute_error, resamples=50),
    "bias": two_raters.bias,
    "bland-altman": two_raters.bland_altman,
    "mean t": lambda x, y: intervals.mean_t(x),
    "mean clusters": lambda x, y: intervals.mean_t(x, clusters=["a"] * len(x)),
    "mean on a scale": lambda x, y: scale_means.scale_mean(x, low=-1, high=1e10),
    "mean on a scale, clusters": lambda x, y: scale_means.scale_mean(
        x, low=0, high=1e10, clusters=[i // 2 for i in range(len(x))]
    ),
    "mean from an end": lambda x, y: scale_means.scale_mean(x, low=0),
    "mean bca": lambda x, y: intervals.mean_bootstrap(x, resamples=50),
    "mean percentile": lambda x, y: intervals.mean_bootstrap(x, method="percentile", resamples=50),
    "skewness": lambda x, y: shape.skewness(x),
    "kruskal": lambda x, y: several.kruskal_wallis([x, y]),
    "ppi": lambda x, y: prediction_powered.mean(x, y, y),
    "ppi t": lambda x, y: prediction_powered.mean(x, y, x, interval="t"),
    "ppi unpaired": lambda x, y: prediction_powered.unpaired_difference(x, y, y, y, x, x),
    "rogan-gladen": lambda x, y: prediction_powered.rogan_gladen(x, y, y, interval="bootstrap", resamples=50),
}  # fmt: skip

OF_TABLES: dict[str, Callable[[Any], Result]] = {
    "fleiss": many_raters.fleiss_kappa,
    "fleiss bca": partial(many_raters.fleiss_kappa, interval="bca", resamples=50),
    "conger": partial(many_raters.conger_kappa, scale=SCALE, weights="linear"),
    "pairwise": partial(many_raters.mean_pairwise_kappa, scale=SCALE),
    "pairwise percentile": partial(many_raters.mean_pairwise_kappa, scale=SCALE, interval="percentile", resamples=50),
    "ac1": partial(many_raters.gwet_ac, scale=SCALE),
    "ac2": partial(many_raters.gwet_ac, scale=SCALE, weights="quadratic", interval="bca", resamples=50),
    "ac2 analytic": partial(many_raters.gwet_ac, scale=SCALE, weights="quadratic", interval="analytic"),
    **{
        f"alpha {metric} {interval}": partial(
            reliability.krippendorff_alpha, metric=metric, interval=interval, resamples=50
        )
        for metric in cast("tuple[Any, ...]", reliability.METRICS)
        for interval in ("jackknife", "bca", "percentile")
    },
    "icc": reliability.icc,
    **{
        f"icc {model} {average}": partial(reliability.icc, model=model, average=average)
        for model in (1, 2, 3)
        for average in (False, True)
    },
    "fleiss weighted": partial(many_raters.fleiss_kappa, scale=SCALE, weights="quadratic"),
    "percent": partial(many_raters.percent_agreement, resamples=50),
    "friedman": several.friedman,
}


def sound(result: Result | Effect) -> None:
    """No NaN, no infinity, intervals in order around the estimate, and a reason for what is missing."""
    for field in fields(result):
        value = getattr(result, field.name)
        if isinstance(value, float):
            assert math.isfinite(value), (field.name, value)
    if result.estimate is None:
        assert result.missing
        assert result.interval is None
    if result.interval is not None:
        assert isinstance(result.interval, Interval)
        assert math.isfinite(result.interval.low)
        assert math.isfinite(result.interval.high)
        assert result.interval.low <= result.interval.high
    if isinstance(result, Result):
        assert result.p is None or 0 <= result.p <= 1
        for name, value in result.details.items():
            assert value is None or math.isfinite(value), (name, value)
        if result.effect is not None:
            sound(result.effect)


def applies(statistic: str, data: str) -> bool:
    """Binary statistics need zeros and ones, weighted kappa ratings on the scale."""
    given = {value for column in PAIRS[data] for value in column if value is not None and value == value}
    if statistic in BINARY:
        return given <= {0, 1}
    return not statistic.startswith("kappa ") or given <= set(SCALE)


@pytest.mark.parametrize(("statistic", "data"), [(s, d) for s in OF_PAIRS for d in PAIRS if applies(s, d)])
def test_pairs(statistic: str, data: str) -> None:
    x, y = PAIRS[data]
    result = OF_PAIRS[statistic](x, y)
    sound(result)
    if data in ("nothing", "all missing") and statistic not in ("mean t", "mean bca"):
        assert result.estimate is None


@pytest.mark.parametrize("data", TABLES)
@pytest.mark.parametrize("statistic", OF_TABLES)
def test_tables(statistic: str, data: str) -> None:
    table = TABLES[data] or np.empty((0, 3))
    result = OF_TABLES[statistic](table)
    sound(result)
    if data in ("nothing", "all missing"):
        assert result.estimate is None


def test_perfect_agreement_has_an_estimate_but_no_interval() -> None:
    perfect = TABLES["perfect"]
    for result in (
        reliability.krippendorff_alpha(perfect, metric="ordinal"),
        many_raters.fleiss_kappa(perfect),
        many_raters.gwet_ac(perfect, scale=SCALE),
        many_raters.mean_pairwise_kappa(perfect, scale=SCALE),
        reliability.icc(perfect),
        two_raters.kappa([1, 2, 3], [1, 2, 3]),
    ):
        assert result.estimate == pytest.approx(1)
        assert result.interval is None
        assert "no interval" in (result.missing or "")


def test_constant_ratings_have_no_chance_corrected_agreement() -> None:
    constant = TABLES["constant"]
    for result in (
        reliability.krippendorff_alpha(constant, metric="nominal"),
        many_raters.fleiss_kappa(constant),
        many_raters.conger_kappa(constant),
        many_raters.mean_pairwise_kappa(constant, scale=SCALE),
        reliability.icc(constant),
        two_raters.kappa([2] * 5, [2] * 5, scale=SCALE),
        two_raters.scott_pi([2] * 5, [2] * 5),
    ):
        assert result.estimate is None
        assert result.missing
    # Gwet's chance agreement is 0 there, and percent agreement needs none.
    assert many_raters.gwet_ac(constant, scale=SCALE).estimate == 1
    assert many_raters.percent_agreement(constant).estimate == 1
