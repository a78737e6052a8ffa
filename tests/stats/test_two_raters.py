from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats
from sklearn.metrics import cohen_kappa_score, confusion_matrix
from statsmodels.stats.inter_rater import cohens_kappa

from bedside.stats import many_raters, reliability, two_raters
from tests.reference import statistics as published
from tests.stats.results import ends, interval_of

SCALE = (1, 2, 3, 4, 5)
rated = st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=2, max_size=40)


def test_fleiss_cohen_everitt_published() -> None:
    plain = two_raters.kappa_from_counts(published.FLEISS_COHEN_EVERITT)
    assert plain.estimate == pytest.approx(0.4285714286, abs=1e-10)
    assert plain.standard_error == pytest.approx(np.sqrt(0.0028848720), abs=1e-9)
    assert plain.details["standard error under chance"] == pytest.approx(np.sqrt(0.0030816327), abs=1e-9)
    weighted = two_raters.kappa_from_counts(
        published.FLEISS_COHEN_EVERITT, weights=published.FLEISS_COHEN_EVERITT_PENALTIES
    )
    assert weighted.estimate == pytest.approx(0.5070699649, abs=1e-10)
    assert weighted.standard_error == pytest.approx(np.sqrt(0.0032483029), abs=1e-9)
    assert weighted.details["standard error under chance"] == pytest.approx(np.sqrt(0.0042687778), abs=1e-9)


def test_cohen_1968_published() -> None:
    plain = two_raters.kappa_from_counts(published.COHEN_1968)
    assert plain.estimate == pytest.approx(0.4915254237, abs=1e-10)
    assert plain.standard_error == pytest.approx(0.0510018, abs=1e-7)
    weighted = two_raters.kappa_from_counts(published.COHEN_1968, weights=published.COHEN_1968_PENALTIES)
    assert weighted.estimate == pytest.approx(0.3478260870, abs=1e-10)


@pytest.mark.parametrize(
    ("weights", "estimate", "error"),
    [
        ("unweighted", 0.1293302540, 0.0685985), ("linear", 0.2373806276, 0.0783163),
        ("quadratic", 0.3320455863, 0.0972975),
    ],
)  # fmt: skip
def test_sexual_fun_published(weights: str, estimate: float, error: float) -> None:
    result = two_raters.kappa_from_counts(published.SEXUAL_FUN, weights=weights)
    assert result.estimate == pytest.approx(estimate, abs=1e-10)
    assert result.standard_error == pytest.approx(error, abs=1e-7)
    analytic = two_raters.kappa_from_counts(published.SEXUAL_FUN, weights=weights, interval="analytic").interval
    assert analytic is not None
    assert analytic.high - analytic.low == pytest.approx(2 * stats.norm.ppf(0.975) * error, abs=1e-6)


def test_gwet_published() -> None:
    a, b = published.as_ratings(published.GWET)
    kappa = two_raters.kappa(a, b)
    assert kappa.estimate == pytest.approx(0.7964094, abs=5e-8)
    assert kappa.standard_error == pytest.approx(0.0589107, abs=5e-8)
    assert two_raters.percent_agreement(a, b).estimate == pytest.approx(0.89)
    assert two_raters.scott_pi(a, b).estimate == pytest.approx(0.7962397, abs=5e-8)


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(rated, st.sampled_from(["unweighted", "linear", "quadratic"]))
def test_kappa_against_scikit_learn_and_statsmodels(values: list[tuple[int, int]], weights: str) -> None:
    a, b = np.array(values).T
    result = two_raters.kappa(a, b, scale=SCALE, weights=weights)
    if len(set(a)) == 1 and set(a) == set(b):
        assert result.estimate is None
        assert result.missing
        return
    theirs = cohen_kappa_score(a, b, labels=SCALE, weights=None if weights == "unweighted" else weights)
    assert result.estimate == pytest.approx(theirs, abs=1e-12)
    table = confusion_matrix(a, b, labels=SCALE)
    wt = {"unweighted": None, "linear": "linear", "quadratic": "quadratic"}[weights]
    with np.errstate(all="ignore"):
        other = cohens_kappa(table, wt=wt, return_results=True)
    assert result.standard_error == pytest.approx(np.sqrt(max(0.0, other.var_kappa)), abs=1e-6)
    assert result.details["standard error under chance"] == pytest.approx(np.sqrt(max(0.0, other.var_kappa0)), abs=1e-6)


@settings(max_examples=50, deadline=None)
@given(rated)
def test_kappa_symmetries(values: list[tuple[int, int]]) -> None:
    a, b = np.array(values).T
    for weights in ("unweighted", "linear", "quadratic"):
        one = two_raters.kappa(a, b, scale=SCALE, weights=weights)
        if one.estimate is None:
            continue
        assert -1 - 1e-12 <= one.estimate <= 1 + 1e-12
        swapped = two_raters.kappa(b, a, scale=SCALE, weights=weights)
        assert swapped.estimate == pytest.approx(one.estimate, abs=1e-12)
        # Turning the scale round, and stretching it, changes nothing.
        turned = two_raters.kappa(6 - a, 6 - b, scale=SCALE, weights=weights)
        assert turned.estimate == pytest.approx(one.estimate, abs=1e-12)
        stretched = two_raters.kappa(3 * a, 3 * b, scale=[3 * level for level in SCALE], weights=weights)
        assert stretched.estimate == pytest.approx(one.estimate, abs=1e-12)
        labels = two_raters.kappa(
            ["abcde"[i - 1] for i in a], ["abcde"[i - 1] for i in b], scale="abcde", weights=weights
        )
        assert labels.estimate == pytest.approx(one.estimate, abs=1e-12)
        if one.interval is not None:
            assert one.interval.low <= one.estimate <= one.interval.high


def test_the_scale_must_be_given() -> None:
    a, b = [1, 2, 4, 4, 2, 1, 2, 4], [1, 2, 4, 2, 2, 1, 4, 4]
    used, whole = (two_raters.kappa(a, b, scale=scale, weights="linear") for scale in ((1, 2, 4), (1, 2, 3, 4, 5)))
    assert used.estimate == pytest.approx(whole.estimate)  # linear in level values: an unused level changes nothing
    by_order = two_raters.kappa([str(v) for v in a], [str(v) for v in b], scale=("1", "2", "4"), weights="linear")
    assert by_order.estimate != pytest.approx(whole.estimate)


def test_missing_pairs_are_dropped() -> None:
    a, b = [1, 2, None, 2, 1, float("nan"), 2], [1, 2, 2, 1, None, 1, 2]
    result = two_raters.kappa(a, b)
    assert (result.n, result.dropped) == (4, 3)
    assert result.estimate == two_raters.kappa([1, 2, 2, 2], [1, 2, 1, 2]).estimate


@pytest.mark.slow
def test_bootstrap_resamples_items() -> None:
    """The multinomial bootstrap of counts has the spread of a loop over resampled items."""
    rng = np.random.default_rng(1)
    latent = rng.normal(size=80)
    a, b = (np.digitize(latent + 0.7 * rng.normal(size=80), (-1, 0, 1)) + 1 for _ in range(2))
    values = []
    for _ in range(600):
        chosen = rng.integers(0, 80, 80)
        values.append(cohen_kappa_score(a[chosen], b[chosen], labels=(1, 2, 3, 4), weights="quadratic"))
    low, high = np.quantile(values, (0.025, 0.975))
    ours = two_raters.kappa(
        a, b, scale=(1, 2, 3, 4), weights="quadratic", interval="percentile", resamples=20_000
    ).interval
    assert ends(ours) == pytest.approx((low, high), abs=0.03)


def test_jackknife_by_definition() -> None:
    rng = np.random.default_rng(2)
    a, b = rng.integers(1, 4, 25), rng.integers(1, 4, 25)
    whole = cohen_kappa_score(a, b, labels=(1, 2, 3), weights="linear")
    left = [cohen_kappa_score(np.delete(a, i), np.delete(b, i), labels=(1, 2, 3), weights="linear") for i in range(25)]
    error = np.sqrt(24 / 25 * ((left - np.mean(left)) ** 2).sum())
    half = stats.t.ppf(0.975, 24) * error / (1 - whole**2)
    ours = two_raters.kappa(a, b, scale=(1, 2, 3), weights="linear").interval
    assert ours is not None
    assert ends(ours) == pytest.approx(
        (np.tanh(np.arctanh(whole) - half), np.tanh(np.arctanh(whole) + half)), abs=1e-10
    )


def test_clusters_are_drawn_whole() -> None:
    rng = np.random.default_rng(3)
    a = rng.integers(1, 4, 60)
    b = np.where(rng.random(60) < 0.6, a, rng.integers(1, 4, 60))
    alone = two_raters.kappa(a, b, scale=(1, 2, 3), clusters=np.arange(60))
    items = two_raters.kappa(a, b, scale=(1, 2, 3))
    assert interval_of(alone).low == pytest.approx(interval_of(items).low, abs=1e-12)
    assert alone.p is None  # items in clusters aren't independent
    assert items.p is not None
    # Ten copies of each item carry no more than one.
    copies = two_raters.kappa(
        np.repeat(a, 10), np.repeat(b, 10), scale=(1, 2, 3), clusters=np.repeat(np.arange(60), 10)
    )
    assert interval_of(copies).low == pytest.approx(interval_of(items).low, abs=1e-12)


def test_tuna_published() -> None:
    kendall = two_raters.correlation(published.TUNA_X, published.TUNA_Y, kind="kendall")
    assert (kendall.estimate, kendall.p) == pytest.approx((0.4444444, 0.1194389), abs=5e-8)
    pearson = two_raters.correlation(published.TUNA_X, published.TUNA_Y, kind="pearson")
    # R: cor.test(x, y): r 0.5711816, p 0.1082, interval −0.1497426, 0.8955795.
    assert pearson.estimate == pytest.approx(0.5711816, abs=5e-8)
    assert pearson.p == pytest.approx(0.1082, abs=5e-5)
    assert ends(pearson) == pytest.approx((-0.1497426, 0.8955795), abs=5e-8)


def test_correlations_against_scipy() -> None:
    rng = np.random.default_rng(4)
    x, y = rng.integers(1, 6, 60).astype(float), rng.integers(1, 6, 60).astype(float)
    kinds: dict[Literal["spearman", "kendall", "pearson"], Any] = {
        "spearman": stats.spearmanr, "kendall": stats.kendalltau, "pearson": stats.pearsonr,
    }  # fmt: skip
    for kind, other in kinds.items():
        ours, theirs = two_raters.correlation(x, y, kind=kind), other(x, y)
        assert ours.estimate == pytest.approx(theirs.statistic, abs=1e-12)
        assert ours.p == pytest.approx(theirs.pvalue, abs=1e-9)


def test_bland_altman_published() -> None:
    result = two_raters.bland_altman(published.WRIGHT, published.MINI_WRIGHT)
    assert result.estimate == pytest.approx(-2.1176471, abs=5e-8)
    assert result.details["standard deviation of the differences"] == pytest.approx(38.7651299, abs=5e-8)
    assert result.details["lower limit"] == pytest.approx(-78.0973, abs=5e-5)
    assert result.details["upper limit"] == pytest.approx(73.8620, abs=5e-5)


def test_bland_altman_against_pingouin() -> None:
    pingouin = pytest.importorskip("pingouin")
    del pingouin  # its plot gives no numbers; the interval of the bias is Student's
    theirs = stats.ttest_rel(published.WRIGHT, published.MINI_WRIGHT).confidence_interval()
    ours = two_raters.bland_altman(published.WRIGHT, published.MINI_WRIGHT).interval
    assert ends(ours) == pytest.approx((theirs.low, theirs.high))


def test_error_and_bias() -> None:
    a, b = [1, 2, 3, 4, None], [2, 2, 1, 3, 5]
    error = two_raters.mean_absolute_error(a, b)
    assert (error.estimate, error.n, error.dropped) == (1.0, 4, 1)
    assert two_raters.bias(a, b).estimate == 0.5


def test_raters_independent_of_each_other_agree_by_nothing_at_all() -> None:
    """Every statistic is a ratio of whole numbers whose numerator is 0: not 1e-17, on no machine."""
    rows, columns = (3, 1, 2, 5), (1, 4, 2, 7)
    crossed = [(a, b) for a, i in enumerate(rows, 1) for b, j in enumerate(columns, 1) for _ in range(i * j)]
    a, b = zip(*crossed, strict=True)
    for kind in ("spearman", "kendall"):
        assert two_raters.correlation(a, b, kind=kind).estimate == 0.0
    for weights in ("unweighted", "linear", "quadratic"):
        assert two_raters.kappa(a, b, scale=[1, 2, 3, 4], weights=weights).estimate == 0.0
        pair = many_raters.mean_pairwise_kappa(crossed, scale=[1, 2, 3, 4], weights=weights)
        assert pair.estimate == 0.0
    assert reliability.icc(crossed).estimate == 0.0


@pytest.mark.slow
def test_limits_of_agreement_cover_where_items_are_clustered() -> None:
    """20 transcripts of 10 turns with a difference of their own: as if independent, 95 % intervals cover in 83 %."""
    rng = np.random.default_rng(0)
    truth, clusters, covered = 1.96 * np.sqrt(1.25), np.repeat(np.arange(20), 10), []
    for _ in range(200):
        differences = (0.5 * rng.normal(size=(20, 1)) + rng.normal(size=(20, 10))).ravel()
        by_cluster = two_raters.bland_altman(differences, np.zeros(200), clusters=clusters).details
        alone = two_raters.bland_altman(differences, np.zeros(200)).details
        covered.append([
            (limits["upper limit, low"] or 0) <= truth <= (limits["upper limit, high"] or 0)
            for limits in (by_cluster, alone)
        ])  # fmt: skip
    by_cluster_share, alone_share = np.mean(covered, axis=0)
    assert by_cluster_share >= 0.91
    assert alone_share <= 0.88


def test_an_icc_of_clustered_items_has_the_jackknifes_interval() -> None:
    rng = np.random.default_rng(1)
    clusters = np.repeat(np.arange(8), 4)
    ratings = rng.normal(size=(8, 1, 1)) + rng.normal(size=(8, 4, 1)) + 0.7 * rng.normal(size=(8, 4, 3))
    table = ratings.reshape(32, 3)
    for model, average in ((1, False), (2, True), (3, False)):
        form: Any = {"model": model, "average": average}
        result = reliability.icc(table, clusters=clusters, **form)
        assert result.estimate == reliability.icc(table, **form).estimate
        left_out = [reliability.icc(table[clusters != name], **form).estimate or 0 for name in range(8)]
        error = np.sqrt(7 / 8 * np.sum((np.array(left_out) - np.mean(left_out)) ** 2))
        assert result.standard_error == pytest.approx(error, abs=1e-12)
        assert result.p is None
