"""May a judge replace raters, what would raters have said of all, and how many items are needed?"""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
from scipy import stats

from bedside.core.errors import DataError
from bedside.stats import (
    alternative_annotator,
    label_free,
    prediction_powered,
    sample_size as planning,
    stratified_means,
)
from bedside.stats.arrays import Array
from bedside.stats.two_raters import kappa_from_counts
from tests.reference import statistics as published
from tests.stats.results import ends, interval_of


def made_up() -> tuple[list[str], list[list[str]]]:
    """Forty items, three raters and a judge that err at fixed places."""
    items = np.arange(40)
    truth = items % 2
    raters = [truth, np.where(items % 5 == 0, 1 - truth, truth), np.where(items % 4 == 3, 1 - truth, truth)]
    judge = np.where(items % 10 == 7, 1 - truth, truth)
    labels = np.array(["A", "B"])
    return list(labels[judge]), [list(row) for row in labels[np.stack(raters, axis=1)]]


@pytest.mark.parametrize(("epsilon", "rate"), [(0, 0.0), (0.1, 0.6667), (0.15, 1.0), (0.2, 1.0)])
def test_alternative_annotator_published(epsilon: float, rate: float) -> None:
    result = alternative_annotator.alternative_annotator(*made_up(), epsilon=epsilon)
    assert result.advantage == pytest.approx(0.95)
    assert round(result.winning_rate or 0, 4) == rate
    assert result.replaceable == (rate >= 0.5)
    if epsilon == 0.1:
        p = sorted((one.p or 0 for one in result.raters), reverse=True)
        assert p == pytest.approx([0.0799554801, 0.0033386848, 0.0033386848], abs=1e-9)


def alternative_annotator_by_definition(judge: Array, table: Array, epsilon: float) -> tuple[float, float]:
    """Item by item, with the authors' minus root mean squared difference."""
    p_values, advantages = [], []
    for rater in range(table.shape[1]):
        lead, wins = [], []
        for item in range(len(judge)):
            others = [table[item, other] for other in range(table.shape[1]) if other != rater]
            others = [value for value in others if not np.isnan(value)]
            if np.isnan(table[item, rater]) or not others:
                continue
            by_judge = -np.sqrt(np.mean([(judge[item] - value) ** 2 for value in others]))
            by_rater = -np.sqrt(np.mean([(table[item, rater] - value) ** 2 for value in others]))
            wins.append(by_judge >= by_rater - 1e-12)
            lead.append(float(by_rater >= by_judge - 1e-12) - wins[-1])
        p_values.append(stats.ttest_1samp(lead, epsilon, alternative="less").pvalue)
        advantages.append(np.mean(wins))
    rejected = stats.false_discovery_control(p_values, method="by") <= 0.05
    return float(rejected.mean()), float(np.mean(advantages))


def test_alternative_annotator_of_distances() -> None:
    rng = np.random.default_rng(1)
    truth = rng.integers(1, 6, 60).astype(float)
    table = np.clip(truth[:, None] + rng.integers(-1, 2, (60, 4)), 1, 5)
    table[rng.random((60, 4)) < 0.1] = np.nan
    judge = np.clip(truth + rng.choice((-1, 0, 0, 1), 60), 1, 5)
    for epsilon in (0.0, 0.1, 0.2):
        rate, advantage = alternative_annotator_by_definition(judge, table.astype(float), epsilon)
        result = alternative_annotator.alternative_annotator(judge, table, epsilon=epsilon, score="distance")
        assert result.winning_rate == pytest.approx(rate)
        assert result.advantage == pytest.approx(advantage)


def test_alternative_annotator_degenerate() -> None:
    same = [["A", "A", "A"]] * 35
    result = alternative_annotator.alternative_annotator(["A"] * 35, same, epsilon=0.1)
    assert result.winning_rate == 1.0
    assert all(one.p == pytest.approx(0.5**35) for one in result.raters)
    none = alternative_annotator.alternative_annotator(["A"] * 35, same, epsilon=0.0)
    assert none.winning_rate is None
    few = alternative_annotator.alternative_annotator(["A"] * 5, same[:5], epsilon=0.1)
    assert few.missing
    assert few.raters[0].missing == "5 items in common, fewer than 30"


def test_prediction_powered_mean_published() -> None:
    data = published.PPI_HUMAN, published.PPI_JUDGE, published.PPI_UNLABELLED
    for weight, estimate, low, high in ((1, 0.65, 0.3028318, 0.9971682), (0, 0.60, 0.2963637, 0.9036363)):
        result = prediction_powered.mean(*data, weight=weight)
        assert result.estimate == pytest.approx(estimate)
        assert ends(result) == pytest.approx((low, high), abs=5e-8)


def test_the_tuned_mean_is_that_of_its_authors_package() -> None:
    """ppi-python 0.2.3 on these numbers: ppi_mean_pointestimate, and ppi_mean_ci with alpha .05."""
    rng = np.random.default_rng(1)
    truth = rng.integers(1, 6, 400).astype(float)
    judge = np.clip(truth + rng.integers(-1, 3, 400), 1, 5)
    plain = prediction_powered.mean(truth[:100], judge[:100], judge[100:])
    assert plain.estimate == pytest.approx(3.0259711770797377, abs=1e-12)
    assert ends(plain) == pytest.approx((2.818396471688479, 3.2335458824709966), abs=1e-12)
    in_a_cell = stratified_means.mean(
        stratified_means.judged_units(judge, np.where(np.arange(400) < 100, truth, np.nan))
    )
    assert in_a_cell.estimate == pytest.approx(plain.estimate, abs=1e-12)


def test_tuned_weight_is_the_best_and_follows_the_formula() -> None:
    """lambda = cov(Y, Ŷ) / ((1 + n/N) var Ŷ), as PPI++ and its authors' package have it."""
    rng = np.random.default_rng(2)
    truth = rng.normal(size=1300)
    judge = truth + rng.normal(size=1300)
    human, predicted, rest = truth[:300], judge[:300], judge[300:]
    result = prediction_powered.mean(human, predicted, rest)
    covariance = np.cov(human, predicted, ddof=0)[0, 1]
    expected = covariance / ((1 + 300 / 1000) * np.var(np.concatenate([predicted, rest]), ddof=1))
    assert result.details["weight"] == pytest.approx(expected)
    errors = [
        prediction_powered.mean(human, predicted, rest, weight=weight).standard_error or 0
        for weight in np.linspace(0, 1, 21)
    ]
    assert result.standard_error is not None
    assert result.standard_error <= min(errors) * 1.001
    useless = prediction_powered.mean(human, rng.permutation(predicted) * 0 + 3, rest * 0 + 3)
    assert useless.details["weight"] == 0
    assert useless.estimate == pytest.approx(human.mean())


def test_t_interval_is_welchs() -> None:
    """With weight 1 the mean is a difference of two independent means: Welch's interval of rest and error."""
    rng = np.random.default_rng(3)
    human, predicted, rest = rng.normal(size=12), rng.normal(size=12), rng.normal(size=30)
    result = prediction_powered.mean(human, predicted, rest, weight=1, interval="t")
    theirs = stats.ttest_ind(rest, predicted - human, equal_var=False).confidence_interval()
    assert ends(result) == pytest.approx((theirs.low, theirs.high))


def test_differences() -> None:
    rng = np.random.default_rng(4)
    parts = [rng.normal(size=size) for size in (40, 40, 200, 40, 40, 200)]
    pair = prediction_powered.paired_difference(*parts)
    direct = prediction_powered.mean(parts[0] - parts[3], parts[1] - parts[4], parts[2] - parts[5], interval="t")
    assert (pair.estimate, pair.interval) == (direct.estimate, direct.interval)
    apart = prediction_powered.unpaired_difference(*parts, interval="normal")
    x, y = prediction_powered.mean(*parts[:3]), prediction_powered.mean(*parts[3:])
    assert apart.estimate == pytest.approx((x.estimate or 0) - (y.estimate or 0))
    assert apart.standard_error == pytest.approx(np.hypot(x.standard_error or 0, y.standard_error or 0))
    plain = prediction_powered.unpaired_difference(*parts, weight=0, interval="t")
    welch = stats.ttest_ind(parts[0], parts[3], equal_var=False).confidence_interval()
    assert ends(plain) == pytest.approx((welch.low, welch.high))


def test_rogan_gladen_published() -> None:
    result = prediction_powered.rogan_gladen_from_rates(23, 150, sensitivity=0.96, specificity=0.89)
    assert result.estimate == pytest.approx(0.0509803922, abs=5e-11)
    low = prediction_powered.rogan_gladen_from_rates(6, 151, sensitivity=0.964, specificity=0.927)
    assert low.estimate == 0  # Moujaber and others (2008): kept within 0 and 1
    assert low.remarks
    chance = prediction_powered.rogan_gladen_from_rates(6, 151, sensitivity=0.5, specificity=0.5)
    assert chance.estimate is None


def test_rogan_gladens_interval_holds_its_estimate_and_stands_a_single_hit() -> None:
    """Before: .600 in [.610, 1], and a division by zero where one label was hit."""
    rng = np.random.default_rng(0)
    for _ in range(300):
        ones, zeros, n = rng.integers(1, 12, 3)
        verdicts = [(rng.random(size) < chance).astype(float) for size, chance in ((ones, 0.7), (zeros, 0.3))]
        human = np.repeat([1.0, 0.0], [ones, zeros])
        found = prediction_powered.rogan_gladen(human, np.concatenate(verdicts), (rng.random(n) < 0.5).astype(float))
        if found.interval is not None:
            assert found.estimate is not None
            assert 0 <= found.interval.low <= found.estimate <= found.interval.high <= 1
        else:
            assert found.missing
    # (hits + 1) / (ones + 2) + (rejections + 1) / (zeros + 2) is 1 here.
    guess = prediction_powered.rogan_gladen([1, 0, 0, 0, 0], [1, 0, 1, 1, 1], [1] * 10 + [0] * 30)
    assert guess.estimate is not None
    assert guess.interval is None
    assert guess.missing == "no interval: on so few labels the judge can't be told from one that guesses"


def test_the_difference_of_two_rogan_gladen_shares() -> None:
    """Its interval is Newcombe's (1998, method 10) of the shares' own intervals."""
    human, judge = [1, 0] * 50, [1, 0] * 45 + [0, 1] * 5
    x = prediction_powered.rogan_gladen(human, judge, [1] * 40 + [0] * 60)
    y = prediction_powered.rogan_gladen(human, judge, [1] * 20 + [0] * 80)
    found = prediction_powered.rogan_gladen_difference(x, y)
    assert (x.estimate, y.estimate) == pytest.approx((0.375, 0.125))
    assert found.estimate == pytest.approx(0.25)
    assert interval_of(found).low == pytest.approx(
        0.25 - np.sqrt((0.375 - interval_of(x).low) ** 2 + (interval_of(y).high - 0.125) ** 2)
    )
    none = prediction_powered.rogan_gladen(human, [0] * 100, [1] * 40 + [0] * 60)
    assert prediction_powered.rogan_gladen_difference(x, none).missing == "the judge does no better than chance"


def test_rogan_gladen_bootstrap_resamples_the_unlabelled_verdicts() -> None:
    """With a perfect judge only the unlabelled verdicts vary: the interval is that of a plain share."""
    human = [0, 1] * 100
    unlabelled = [1] * 15 + [0] * 35
    result = prediction_powered.rogan_gladen(human, human, unlabelled, interval="bootstrap")
    shares = stats.binom(50, 0.3).ppf([0.025, 0.975]) / 50
    assert ends(result) == pytest.approx((shares[0], shares[1]), abs=0.021)


@pytest.mark.slow
@pytest.mark.parametrize("interval", ["adjusted", "bootstrap"])
def test_rogan_gladen_covers_with_few_unlabelled(interval: Literal["adjusted", "bootstrap"]) -> None:
    rng = np.random.default_rng(5)
    covered = 0
    for _ in range(600):
        truth = rng.random(150) < 0.3
        judge = np.where(rng.random(150) < 0.15, ~truth, truth)
        found = prediction_powered.rogan_gladen(
            truth[:100], judge[:100], judge[100:], interval=interval, resamples=1000, seed=rng
        ).interval
        assert found is not None
        covered += found.low <= 0.3 <= found.high
    assert 0.92 < covered / 600 < 0.98


def test_items_for_kappa() -> None:
    # Flack and others (1988) and R's irr use the same large-sample variance; check by its definition.
    plan = planning.items_for_kappa(0.6, 0.1, shares=[0.5, 0.5])
    assert plan.n == int(np.ceil(1.959963985**2 * (1 - 0.6**2) / 0.1**2))  # two equal levels: variance 1 − kappa²
    table = planning.expected_table(0.6, [0.1, 0.2, 0.3, 0.4])
    for weights in ("unweighted", "linear", "quadratic"):
        counts = np.round(table * 10_000_000)
        assert kappa_from_counts(counts, weights=weights, interval="analytic").estimate == pytest.approx(0.6, abs=1e-5)
    quadratic = planning.items_for_kappa(0.6, 0.1, shares=[0.1, 0.2, 0.3, 0.4], weights="quadratic")
    reached = planning.simulated_half_width(
        quadratic.n or 0, 0.6, shares=[0.1, 0.2, 0.3, 0.4], weights="quadratic", simulations=60
    )
    assert reached.reached == pytest.approx(0.1, rel=0.05)


def test_pairs_for_difference() -> None:
    # Cohen (1988), and G*Power: dz .5, power .8, two-sided .05: 34 pairs; dz .3: 90; one-sided .5: 27.
    assert planning.pairs_for_difference(0.5, 1).n == 34
    assert planning.pairs_for_difference(-0.3, 1).n == 90
    assert planning.pairs_for_difference(0.5, 1, alternative="greater").n == 27
    assert (planning.pairs_for_difference(0.5, 1, test="wilcoxon").n or 0) > 34
    assert planning.pairs_for_difference(0, 1).missing
    normal = np.random.default_rng(6).normal(0.5, 1, 5000)
    assert planning.simulated_power(normal, 34, simulations=1000).reached == pytest.approx(0.8, abs=0.05)


def test_alternative_annotator_of_no_items_says_so() -> None:
    outcome = alternative_annotator.alternative_annotator([], np.empty((0, 3)), epsilon=0.1)
    assert outcome.winning_rate is None
    assert outcome.missing == ("no rater has enough items in common with the others (0 items in common, fewer than 30)")


def at_the_boundary(
    clusters: int, size: int, alike: float, raters: int, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Yes or no of a judge that loses to each person by .2: people err in 10 %, the judge in 35 %, alike within
    clusters.
    """
    errs = 0.35
    within = rng.beta(errs * (1 - alike) / alike, (1 - errs) * (1 - alike) / alike, clusters)
    judge = rng.random((clusters, size)) < within[:, None]
    people = rng.random((clusters * size, raters)) < 0.1
    return judge.ravel().astype(float), people.astype(float)


def test_clusters_of_one_item_change_nothing() -> None:
    judge, table = made_up()
    alone = alternative_annotator.alternative_annotator(judge, table, epsilon=0.1)
    apart = alternative_annotator.alternative_annotator(judge, table, epsilon=0.1, clusters=np.arange(40))
    assert [one.p for one in apart.raters] == pytest.approx([one.p for one in alone.raters])
    assert (apart.winning_rate, apart.advantage) == (alone.winning_rate, alone.advantage)
    weighed = alternative_annotator.alternative_annotator(judge, table, epsilon=0.1, weights=[2.0] * 40)
    assert [one.p for one in weighed.raters] == pytest.approx([one.p for one in alone.raters])


def test_the_clustered_test_is_the_slow_jackknife() -> None:
    """Weighted, with clusters of different sizes: the lead recomputed without each cluster."""
    rng = np.random.default_rng(11)
    clusters = np.repeat(np.arange(14), rng.integers(1, 9, 14))
    truth = rng.random(clusters.size) < 0.5
    judge = np.where(rng.random(clusters.size) < 0.2, ~truth, truth).astype(float)
    table = np.where(rng.random((clusters.size, 2)) < 0.2, ~truth[:, None], truth[:, None]).astype(float)
    weights = rng.uniform(1, 4, clusters.size)
    result = alternative_annotator.alternative_annotator(
        judge, table, epsilon=0.2, clusters=clusters, weights=weights, fewest_clusters=10
    )
    for rater in (0, 1):
        other = table[:, 1 - rater]
        lead = (table[:, rater] == other).astype(float) - (judge == other)
        whole = np.average(lead, weights=weights)
        left_out = []
        for cluster in range(14):
            kept = clusters != cluster
            left_out.append(np.average(lead[kept], weights=weights[kept]))
        error = np.sqrt(13 / 14 * np.sum((left_out - np.mean(left_out)) ** 2))
        assert result.raters[rater].statistic == pytest.approx((whole - 0.2) / error)
        assert result.raters[rater].p == pytest.approx(stats.t(13).cdf((whole - 0.2) / error))
        assert result.raters[rater].details["clusters"] == 14


@pytest.mark.slow
def test_turns_of_a_transcript_are_not_independent() -> None:
    """400 turns of 20 transcripts, at the boundary: taken as independent, a true null is rejected far too often."""
    rng = np.random.default_rng(12)
    clusters = np.repeat(np.arange(20), 20)
    accepted = rejected = naive = 0
    for _ in range(300):
        judge, table = at_the_boundary(20, 20, 0.3, 2, rng)
        result = alternative_annotator.alternative_annotator(judge, table, epsilon=0.2, clusters=clusters)
        accepted += bool(result.replaceable)
        rejected += (result.raters[0].p or 0) <= 0.05
        naive += (alternative_annotator.alternative_annotator(judge, table, epsilon=0.2).raters[0].p or 0) <= 0.05
    assert accepted / 300 <= 0.05
    assert rejected / 300 <= 0.085
    assert naive / 300 >= 0.14


def test_a_few_clusters_are_not_enough() -> None:
    """Three transcripts of 40 turns are no 120 units."""
    same = [["A", "A"], ["B", "B"]] * 60
    result = alternative_annotator.alternative_annotator(
        ["A", "B"] * 60, same, epsilon=0.2, clusters=np.repeat(np.arange(3), 40)
    )
    assert result.replaceable is None
    assert result.raters[0].missing == "120 items in common of 3 clusters, fewer than 15"
    three = alternative_annotator.alternative_annotator(
        ["A", "B"] * 60, [[*pair, pair[0]] for pair in same], epsilon=0.2, clusters=np.repeat(np.arange(3), 40)
    )
    assert three.raters[0].missing == "120 items in common of 3 clusters, fewer than 10"


def planted_reports(size: int, seed: int) -> tuple[Array, Array]:
    """What four judges with known confusion matrices report of three levels; and the matrices."""
    random = np.random.default_rng(seed)
    off = np.array([[0.2, 0.5, 0.3], [0.4, 0.3, 0.3], [0.1, 0.6, 0.3]])
    tables = np.stack([share * np.eye(3) + (1 - share) * off for share in (0.8, 0.7, 0.6, 0.75)])
    truth = random.choice(3, p=[0.5, 0.3, 0.2], size=size)
    reports = [[random.choice(3, p=table[level]) for table in tables] for level in truth]
    return np.array(reports, dtype=float), tables


def test_planted_confusion_matrices_come_back_within_their_intervals() -> None:
    pytest.importorskip("crowdkit")
    hits, errors = [], []
    for seed in range(3):
        reports, tables = planted_reports(500, seed)
        told = label_free.label_free(reports, clusters=np.arange(500) // 2, resamples=100, seed=seed)
        hits.append(np.mean((told.low <= tables) & (tables <= told.high)))
        errors.append(np.abs(told.confusion - tables).mean())
        assert told.units == 500
        assert told.clusters == 250
        for judge, right in enumerate(told.reliability):
            assert right.estimate == pytest.approx(np.einsum("t,tt->", [0.5, 0.3, 0.2], tables[judge]), abs=0.09)
    assert np.mean(hits) > 0.85
    assert np.mean(errors) < 0.04


def test_a_judge_that_is_never_wrong_has_an_interval_as_of_a_count() -> None:
    """Of 30 cases of two units the level is known for certain: as of 30 hits in 30, by Wilson, z² / (n + z²) wide."""
    pytest.importorskip("crowdkit")
    levels = np.repeat([1, 2], 30)
    told = label_free.label_free(np.stack([levels] * 3, axis=1), clusters=np.arange(60) // 2, resamples=50)
    z2 = stats.norm.ppf(0.975) ** 2
    for right in told.reliability:
        assert right.estimate == pytest.approx(1)
        assert ends(right) == pytest.approx((1 - z2 / (30 + z2), 1.0), abs=1e-6)
    # Fifteen cases have the true level 1.
    assert told.low[0, 0, 0] == pytest.approx(1 - z2 / (15 + z2), abs=1e-6)
    assert told.high[0, 0, 1] == pytest.approx(z2 / (15 + z2), abs=1e-6)


def test_two_judges_tell_nothing_of_their_errors() -> None:
    with pytest.raises(DataError, match="fewer than 3 judges"):
        label_free.label_free([[1, 2], [2, 2]])
