"""What is said of numbers that a statistic can't be computed from, word for word."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bedside.core.errors import BedsideError
from bedside.stats import (
    consensus,
    equivalence,
    intervals,
    many_raters,
    paired,
    reliability,
    sample_size as planning,
    several,
    two_raters,
    unpaired,
)
from bedside.stats.alternative_annotator import alternative_annotator
from bedside.stats.bradley_terry import strengths
from bedside.stats.diagnostic_accuracy import area_under_curve, diagnostic_accuracy
from bedside.stats.letter_display import letter_display, rank_ranges
from bedside.stats.matched_shares import shares_test
from bedside.stats.one_against_many import kappas_with_each
from bedside.stats.preference_shares import first_share, order_verdicts, win_rate
from bedside.stats.sampled_items import sampled_items
from bedside.stats.scale_means import scale_mean
from bedside.stats.stratified_means import judged_units, mean
from bedside.stats.variance_components import repeat_spread, repeats_needed

A, B = [1, 2, 4, 4, 2, 1, 2, 4], [1, 2, 4, 2, 2, 1, 4, 4]
WRONG: Any = "zsplit"
#: Two of which the first, or each, is better than the other.
ONE_WAY, BOTH_WAYS = np.array([[0, 1], [0, 0]]) > 0, ~np.eye(2, dtype=bool)
SAMPLE = sampled_items([0.5, 0.1, 0.1], strata=[0, 0, 0], clusters=[0, 1, 2])

CASES: dict[str, Callable[[], object]] = {
    "no repeats": lambda: repeat_spread({("a", ""): []}),
    "no case in common": lambda: repeats_needed({("a", "x"): [1.0, 2]}, {("z", "x"): [1.0]}),
    "one rater beside a judge": lambda: alternative_annotator(["A"], [["A"]], epsilon=0.1),
    "distance of labels": lambda: alternative_annotator(["A"], [["A", "B"]], epsilon=0.1, score="distance"),
    "share of disagreement": lambda: alternative_annotator(["A"], [["A", "B"]], epsilon=2),
    "weights of items": lambda: alternative_annotator(["A"], [["A", "B"]], epsilon=0.1, weights=[0]),
    "shares of levels": lambda: planning.items_for_kappa(0.6, 0.1, shares=[0.5, 0.6]),
    "no half-width": lambda: planning.items_for_kappa(0.6, 0, shares=[0.5, 0.5]),
    "power below alpha": lambda: planning.pairs_for_difference(1, 1, power=0.01),
    "kappa near 1": lambda: planning.items_for_kappa(1 - 1e-9, 0.1, shares=[0.3, 0.7], disagreement="near"),
    "tests of other length": lambda: diagnostic_accuracy([1], [1, 0], positive=1),
    "weights of tests": lambda: diagnostic_accuracy([1], [1], positive=1, weights=[0]),
    "curve of levels": lambda: area_under_curve([1, 2], [1, 2]),
    "counts above their number": lambda: shares_test([[3, 0]], [[2, 2]]),
    "mean beside its scale": lambda: scale_mean([6, 6], low=1, high=5),
    "scale without width": lambda: scale_mean([5, 5], low=5, high=5),
    "Friedman of two": lambda: several.friedman([[1, 2], [2, 1]]),
    "Cochran of levels": lambda: several.cochran_q([[1, 2, 3]]),
    "proportion of levels": lambda: intervals.proportion([0, 2]),
    "impossible proportion": lambda: intervals.wilson(3, 2),
    "labels of clusters": lambda: intervals.mean_t([1, 2, 3], clusters=[1]),
    "no tie": lambda: consensus.adjudicate(consensus.majority([[1, 1]]), {0: 1}),
    "no margin": lambda: equivalence.paired_means(A, B, margin=0),
    "margin of a proportion": lambda: equivalence.paired_proportions([1, 0], [1, 0], margin=1),
    "judged and rated of other length": lambda: judged_units([1, 2], [1]),
    "not all judged": lambda: judged_units([1, None], [1, 2]),
    "about all": lambda: mean(judged_units([1, 2], [1, 2]), about=WRONG),
    "share above 1": lambda: win_rate([1.5], [0.5]),
    "share of a place": lambda: first_share([0.75], clusters=["a"]),
    "other order": lambda: order_verdicts([1.0], [1.0, 0.0], clusters=["a"]),
    "ordinal without a scale": lambda: reliability.krippendorff_alpha([["1", "2"], ["2", "2"]], metric="ordinal"),
    "ratio below 0": lambda: reliability.krippendorff_alpha([[-1, 2], [1, 2]], metric="ratio"),
    "alpha of one rater": lambda: reliability.krippendorff_alpha([[1], [2]], metric="nominal"),
    "no table": lambda: many_raters.fleiss_kappa([[1, 2], [1]]),
    "level beside the scale": lambda: many_raters.gwet_ac([[1, 9]], scale=(1, 2)),
    "weights without a scale": lambda: many_raters.fleiss_kappa([[1, 2], [2, 2]], weights="linear"),
    "order that tells": lambda: letter_display(ONE_WAY),
    "apart from itself": lambda: letter_display(np.eye(2)),
    "better and worse": lambda: rank_ranges(BOTH_WAYS),
    "not square": lambda: rank_ranges(np.zeros((2, 3))),
    "chance of 0": lambda: sampled_items([0.0, 0.5], strata=[0, 0], clusters=[0, 1]),
    "items without a stratum": lambda: sampled_items([0.5, 0.5], strata=[0], clusters=[0, 1]),
    "number of a stratum": lambda: sampled_items([0.5, 0.5], strata=[0, 2], clusters=[0, 1]),
    "bootstrap of a sample": lambda: many_raters.mean_pairwise_kappa(
        [[1, 2, 3], [2, 2, 3], [1, 1, 2]], scale=(1, 2, 3), interval="bca", clusters=SAMPLE
    ),
    "other number of items": lambda: kappas_with_each([1, 2], [[1, 2, 3]], scale=(1, 2, 3)),
    "level of nobody's scale": lambda: kappas_with_each([1, 5], [[1, 2]], scale=(1, 2, 3)),
    "no shares of pairs": lambda: strengths(np.full((2, 3, 2), np.nan), "ab"),
    "shares above 1": lambda: strengths(np.full((1, 2, 2), 2.0), "ab"),
    "compared with itself": lambda: strengths(np.full((1, 2, 2), 0.5), "ab"),
    "too many for the exact test": lambda: unpaired.mann_whitney(range(150), range(60), method="exact"),
    "words for numbers": lambda: unpaired.mann_whitney(["a"], [1]),
    "kappa without a scale": lambda: two_raters.kappa(A, B, weights="linear"),
    "rating beside the scale": lambda: two_raters.kappa(A, B, scale=(1, 2, 3), weights="linear"),
    "scale that descends": lambda: two_raters.kappa(A, B, scale=(4, 2, 1), weights="linear"),
    "weights of agreement": lambda: two_raters.kappa(A, B, scale=(1, 2, 4), weights=np.ones((3, 3))),
    "raters of other length": lambda: two_raters.kappa(A, B[:-1]),
    "clusters of an analytic interval": lambda: two_raters.kappa(A, B, clusters=range(8), interval="analytic"),
    "other number of clusters": lambda: two_raters.kappa(A, B, clusters=[1, 2]),
    "pairs of other length": lambda: paired.wilcoxon([1, 2], [1]),
    "McNemar of levels": lambda: paired.mcnemar([0, 2], [1, 1]),
    "too many pairs": lambda: paired.wilcoxon(np.arange(1.0, 1002), np.zeros(1001), method="exact"),
    "how zeros count": lambda: paired.wilcoxon([1, 2], [2, 1], zeros=WRONG),
    "infinite": lambda: paired.t_test([1, float("inf")], [1, 2]),
}  # fmt: skip
GOLDEN = {
    "no repeats": "there are no values",
    "no case in common": "the two systems have no case in common",
    "one rater beside a judge": "the alternative annotator test needs at least two raters, not 1",
    "distance of labels": 'distances need numeric ratings; use the score "match" for labels',
    "share of disagreement": "epsilon is a probability from 0 to below 1, not 2",
    "weights of items": "a weight above 0 is needed for each of 1 item",
    "shares of levels": "shares must be positive and sum to 1, one a level",
    "no half-width": "the half-width must be above 0",
    "power below alpha": "the standard deviation must be above 0, and 0 < alpha < power < 1",
    "kappa near 1": "an expected kappa of 0.999999999 is too near to 1 to plan for; expect a lower kappa",
    "tests of other length": "two lists of equal length are needed, not (1,) and (2,)",
    "weights of tests": "a weight above 0 is needed for each of 1 row",
    "curve of levels": "the truth is 1 or 0 in each row",
    "counts above their number": "counts must be cases × groups, and none above its number",
    "mean beside its scale": "the mean 6 is not on the scale from 1 to 5",
    "scale without width": "a scale from 5 to 5 has no width",
    "Friedman of two": "this test needs at least 3 systems; use a paired test for two",
    "Cochran of levels": "Cochran's Q needs values of 0 and 1",
    "proportion of levels": "a proportion needs values of 0 and 1",
    "impossible proportion": "3 successes of 2 are impossible",
    "labels of clusters": "3 units need 3 cluster labels, not 1",
    "no tie": "item 0 is no tie, so there is nothing to adjudicate",
    "no margin": "`margin`: a margin of 0 allows nothing; give a number above 0",
    "margin of a proportion": "`margin`: a margin of 1 of a proportion allows anything; give one below 1",
    "judged and rated of other length": "ratings, cells and cases need lists of equal length",
    "not all judged": "the judge must have rated every unit; leave out the units it didn't rate",
    "about all": "`about`: there is no choice 'zsplit'; known: cases, population, run",
    "share above 1": "a share of a win lies between 0 and 1",
    "share of a place": "of one comparison the first has 1, 0 or 0.5 of the win",
    "other order": "1 pair can't stand beside 2 in the other order",
    "ordinal without a scale": "alpha of labels needs the scale for the ordinal metric; give its levels in order",
    "ratio below 0": "a ratio scale has no negative values; use the interval metric",
    "alpha of one rater": "agreement needs at least two raters",
    "no table": "ratings must be a table of items by raters; give None where a rating is missing",
    "level beside the scale":
        "9 in ratings is not on the scale 1, 2; give all levels of the scale, or correct the rating",
    "weights without a scale": "weighted kappa needs the scale; give all its levels, also those nobody used",
    "order that tells": "whether two things are told apart must not depend on their order",
    "apart from itself": "a thing can't be told apart from itself",
    "better and worse": "two things can't each be better than the other",
    "not square": "a table of pairs has as many rows as columns",
    "chance of 0": "a chance lies above 0 and is at most 1; leave out items that were not drawn",
    "items without a stratum": "each item needs its chance, its stratum and its cluster",
    "number of a stratum": "each stratum needs its size, and items",
    "bootstrap of a sample":
        "the bootstrap takes items as drawn with one chance; use the jackknife with items drawn by strata",
    "other number of items": "2 items can't be compared with 3",
    "level of nobody's scale": "`ratings` holds a rating that is no level of the scale",
    "no shares of pairs": "shares must be cases × systems × systems, with a name for each system",
    "shares above 1": "a share of a win lies between 0 and 1",
    "compared with itself": "a system can't be compared with itself",
    "too many for the exact test":
        "the exact rank-sum test is limited to 200 values, not 210; use the monte-carlo or the asymptotic method",
    "words for numbers":
        "x must be numbers: could not convert string to float: 'a'; give floats, with None where missing",
    "kappa without a scale": "weighted kappa needs the scale; give all its levels, also those nobody used",
    "rating beside the scale":
        "4 in ratings of the first rater is not on the scale 1, 2, 3; give all levels of the scale, or correct the "
        "rating",
    "scale that descends": "the levels of a scale must ascend; give them from lowest to highest",
    "weights of agreement": "penalties must be 0 on the diagonal, and 0 or more elsewhere with one above 0",
    "raters of other length":
        "two raters need two lists of equal length, not (8,) and (7,); give None where a rating is missing",
    "clusters of an analytic interval":
        "the analytic interval takes items as independent; use the jackknife with clusters",
    "other number of clusters": "8 units need 8 cluster labels, not 2",
    "pairs of other length":
        "paired values need two lists of equal length, not 2 and 1; give None where a value is missing",
    "McNemar of levels": "McNemar's test needs values of 0 and 1",
    "too many pairs": "the exact signed-rank test is limited to 1000 differences, not 1001; use the asymptotic method",
    "how zeros count": "`zeros`: there is no choice 'zsplit'; known: pratt, wilcox",
    "infinite": "x holds an infinite value; give a finite number, or None where missing",
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_message_says_what_is_wrong_and_what_to_do(case: str) -> None:
    with pytest.raises(BedsideError) as raised:
        CASES[case]()
    assert str(raised.value) == GOLDEN[case]
