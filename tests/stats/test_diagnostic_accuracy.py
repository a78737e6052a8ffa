"""Sensitivity, specificity, AUC and calibration: against scikit-learn, published examples and slow computation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special, stats
from sklearn.calibration import calibration_curve
from sklearn.metrics import precision_score, recall_score, roc_auc_score

from bedside.stats.diagnostic_accuracy import area_under_curve, calibration, diagnostic_accuracy
from tests.stats.results import ends, estimate


def test_published_table_of_a_test() -> None:
    """Altman and Bland (1994), Diagnostic tests 1 and 2: scans of 258 abnormal livers and 86 normal ones."""
    truth = [1] * 258 + [0] * 86
    scan = [1] * 231 + [0] * 27 + [0] * 54 + [1] * 32
    found = diagnostic_accuracy(scan, truth, positive=1)
    shares = (
        found.sensitivity, found.specificity, found.positive_predictive_value, found.negative_predictive_value,
        found.prevalence,
    )  # fmt: skip
    assert [round(share.estimate or 0, 2) for share in shares] == [0.90, 0.63, 0.88, 0.67, 0.75]
    assert [share.n for share in shares] == [258, 86, 263, 81, 344]
    assert found.counts == {(True, True): 231, (True, False): 27, (False, True): 32, (False, False): 54}
    wilson = stats.binomtest(231, 258).proportion_ci(method="wilson")
    assert ends(found.sensitivity) == pytest.approx((wilson.low, wilson.high))


def test_weights_and_labels_are_scikit_learns() -> None:
    rng = np.random.default_rng(0)
    truth, rated = rng.choice(list("abc"), 200), rng.choice(list("abc"), 200)
    weights = rng.uniform(0.5, 3, 200)
    found = diagnostic_accuracy(rated, truth, positive="b", weights=weights)
    so, says = truth == "b", rated == "b"
    for share, function, first, second in (
        (found.sensitivity, recall_score, so, says), (found.specificity, recall_score, ~so, ~says),
        (found.positive_predictive_value, precision_score, so, says),
        (found.negative_predictive_value, precision_score, ~so, ~says),
    ):  # fmt: skip
        assert share.estimate == pytest.approx(function(first, second, sample_weight=weights))


def test_clustered_interval_is_the_slow_jackknifes() -> None:
    rng = np.random.default_rng(1)
    clusters = np.repeat(np.arange(12), rng.integers(2, 9, 12))
    size = clusters.size
    truth, rated, weights = rng.random(size) < 0.5, rng.random(size) < 0.6, rng.uniform(1, 2, size)
    found = diagnostic_accuracy(rated, truth, positive=True, clusters=clusters, weights=weights).sensitivity
    left_out = []
    for cluster in np.unique(clusters[truth]):
        kept = truth & (clusters != cluster)
        left_out.append(np.average(rated[kept], weights=weights[kept]))
    groups, share = len(left_out), found.estimate or 0
    error = np.sqrt((groups - 1) / groups * np.sum((left_out - np.mean(left_out)) ** 2))
    assert found.standard_error == pytest.approx(error)
    half = stats.t(groups - 1).ppf(0.975) * error / (share * (1 - share))
    expected = special.expit(special.logit(share) + np.array([-half, half]))
    assert ends(found) == pytest.approx(tuple(expected))
    assert found.n == truth.sum()


def test_clusters_of_one_item_leave_wilsons_interval() -> None:
    truth, rated = [1, 1, 1, 0, 0], [1, 1, 0, 0, 1]
    alone = diagnostic_accuracy(rated, truth, positive=1, clusters=list("abcde"))
    assert alone == diagnostic_accuracy(rated, truth, positive=1)


def test_all_hits_in_a_few_clusters_stay_uncertain() -> None:
    """Forty hits in four transcripts say as much as four of four, no more."""
    found = diagnostic_accuracy([1] * 40, [1] * 40, positive=1, clusters=np.repeat(list("abcd"), 10))
    assert found.sensitivity.estimate == 1
    wilson = stats.binomtest(4, 4).proportion_ci(method="wilson")
    assert ends(found.sensitivity) == pytest.approx((wilson.low, 1.0))
    assert found.specificity.estimate is None
    assert found.specificity.missing == "specificity of no rows"


def test_missing_answers_are_counted() -> None:
    found = diagnostic_accuracy([1, None, 0, 1], [1, 1, None, 0], positive=1)
    assert (found.sensitivity.n, found.sensitivity.dropped) == (1, 2)
    nothing = diagnostic_accuracy([], [], positive=1)
    assert nothing.sensitivity.estimate is None


@pytest.mark.parametrize("clustered", [False, True])
def test_the_jackknife_of_the_area_is_the_slow_one(clustered: bool) -> None:
    rng = np.random.default_rng(2)
    size = 60
    truth = rng.random(size) < 0.4
    scores = np.round(truth + rng.normal(0, 1, size), 1)  # ties
    weights = rng.uniform(1, 3, size)
    clusters = rng.integers(0, 15, size) if clustered else np.arange(size)
    found = area_under_curve(scores, truth, clusters=clusters if clustered else None, weights=weights)
    assert found.estimate == pytest.approx(roc_auc_score(truth, scores, sample_weight=weights))
    left_out = []
    for cluster in np.unique(clusters):
        kept = clusters != cluster
        left_out.append(roc_auc_score(truth[kept], scores[kept], sample_weight=weights[kept]))
    groups, area = len(left_out), found.estimate or 0
    error = np.sqrt((groups - 1) / groups * np.sum((left_out - np.mean(left_out)) ** 2))
    assert found.standard_error == pytest.approx(error)
    half = stats.t(groups - 1).ppf(0.975) * error / (area * (1 - area))
    assert ends(found) == pytest.approx(tuple(special.expit(special.logit(area) + np.array([-half, half]))))


def test_areas_that_have_no_interval_say_why() -> None:
    apart = area_under_curve([1, 2, 3, 4], [0, 0, 1, 1])
    assert (apart.estimate, apart.interval) == (1.0, None)
    assert apart.missing == "no interval: the two kinds of rows don't overlap"
    assert area_under_curve([1, 2], [1, 1]).missing == "all rows are of one kind"
    assert area_under_curve([], []).estimate is None
    alone = area_under_curve([1, 3, 2, 4], [1, 1, 0, 0], clusters=["a", "a", "b", "c"])
    assert alone.missing == "no interval: one cluster holds all rows of a kind"


def test_calibration_points_are_scikit_learns() -> None:
    rng = np.random.default_rng(3)
    expected = rng.beta(0.5, 0.7, 400).round(2)
    observed = (rng.random(400) < expected**1.5).astype(float)
    curve = calibration(expected, observed)
    theirs_observed, theirs_expected = calibration_curve(observed, expected, n_bins=10, strategy="quantile")
    assert [point.expected for point in curve.points] == pytest.approx(theirs_expected)
    assert [point.observed.estimate for point in curve.points] == pytest.approx(theirs_observed)
    shares = [point.share for point in curve.points]
    assert sum(shares) == pytest.approx(1)
    assert curve.error.estimate == pytest.approx(np.abs(theirs_observed - theirs_expected) @ shares)
    assert curve.surplus.estimate == pytest.approx(expected.mean() - observed.mean())
    one = stats.ttest_1samp(expected - observed, 0).confidence_interval()
    assert ends(curve.surplus) == pytest.approx((one.low, one.high))


def test_expected_levels_are_calibrated_too() -> None:
    rng = np.random.default_rng(4)
    level = rng.integers(1, 6, 300)
    curve = calibration(level + 0.5, level)
    assert curve.error.estimate == pytest.approx(0.5)
    assert curve.surplus.estimate == pytest.approx(0.5)
    assert len(curve.points) == 5, "equal expectations share a bin"
    nothing = calibration([], [])
    assert nothing.error.estimate is None
    assert nothing.points == ()


@pytest.mark.slow
@pytest.mark.parametrize("clustered", [False, True])
def test_chance_alone_gives_the_error_that_is_said(clustered: bool) -> None:
    """A judge whose probabilities hold shows an error all the same: on average the one called by chance."""
    rng = np.random.default_rng(5)
    errors, said = [], []
    for _ in range(150):
        expected = rng.random(240)
        clusters = np.repeat(np.arange(40), 6) if clustered else None
        draw = np.repeat(rng.random(40), 6) if clustered else rng.random(240)
        curve = calibration(expected, (draw < expected).astype(float), clusters=clusters)
        errors.append(estimate(curve.error))
        assert curve.by_chance is not None
        said.append(curve.by_chance)
    assert np.mean(said) == pytest.approx(np.mean(errors), rel=0.12)
    assert np.mean(errors) > 0.04


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.6, 0.9])
def test_clustered_shares_are_covered(share: float) -> None:
    """Sixteen transcripts of ten turns that are alike: intervals of turns as if independent cover some 80 %."""
    rng = np.random.default_rng(6)
    clusters = np.repeat(np.arange(16), 10)
    covered = plain = 0
    for _ in range(250):
        within = np.repeat(rng.beta(share * 3, (1 - share) * 3, 16), 10)
        hits = rng.random(160) < within
        low, high = ends(diagnostic_accuracy(hits, [True] * 160, positive=True, clusters=clusters).sensitivity)
        covered += low <= share <= high
        low, high = ends(diagnostic_accuracy(hits, [True] * 160, positive=True).sensitivity)
        plain += low <= share <= high
    assert covered / 250 >= 0.91
    assert plain / 250 < 0.85
