"""Trends, against the plainest computation on the rows themselves."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from statsmodels.stats.multitest import multipletests

from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.selection import NothingError
from bedside.analysis.trend import Bin, trend
from bedside.core.errors import DataError
from bedside.reports.tables.length import bin_words
from bedside.stats.intervals import mean_t
from tests.analysis.builders import ends
from tests.analysis.ratings_rows import Row, view


def by_messages(
    values: list[tuple[int, float | None]], metric: str = "empathy", system: str = "A"
) -> list[Row]:
    rows: list[Row] = []
    for index, (messages, value) in enumerate(values):
        name = f"{system}{index}"
        rows.append((name, system, None, metric, "human:x", value))
        rows.append((name, system, None, "turns", "algorithm:structure@1", float(messages)))
    return rows


LONG = [(4, 1.0), (9, 2.0), (10, 4.0), (19, 3.0), (20, 6.0), (35, None), (50, 5.0)]


def test_bins_and_trend_are_what_a_slow_computation_gives() -> None:
    (found,) = trend(view(by_messages(LONG)), edges=[10, 20], metrics=["empathy"])
    inside = [[v for n, v in LONG if low <= n < below] for low, below in ((0, 10), (10, 20), (20, 999))]
    for each, values in zip(found.bins, inside, strict=True):
        there = [value for value in values if value is not None]
        assert each.mean.n == len(there)
        assert each.missing == len(values) - len(there)
        assert each.mean.estimate == pytest.approx(np.mean(there))
        expected = scipy.stats.t.interval(0.95, len(there) - 1, np.mean(there), scipy.stats.sem(there))
        assert ends(each.mean.interval) == pytest.approx(expected)
    there = [(n, v) for n, v in LONG if v is not None]
    expected = scipy.stats.spearmanr(*zip(*there, strict=True))
    assert found.correlation.estimate == pytest.approx(expected.statistic)
    assert found.correlation.p == pytest.approx(expected.pvalue)
    assert (found.correlation.n, found.correlation.dropped) == (6, 1)


def test_trends_are_corrected_together_and_bins_are_quartiles_unless_given() -> None:
    rows = by_messages(LONG) + by_messages([(n, 7 - v if v else 0.0) for n, v in LONG], system="B")
    found = trend(view(rows), metrics=["empathy"])
    assert [one.system for one in found] == ["A", "B"]
    expected = multipletests([one.correlation.p for one in found], method="holm")[1]
    assert [one.correlation.p_adjusted for one in found] == pytest.approx(expected)
    # Of 4, 9, 10, 19, 20, 35, 50, twice: 9.25 → 10, 19, 31.25 → 32.
    assert [bin_words(each) for each in found[0].bins] == ["under 10", "10–18", "19–31", "32 and more"]
    assert sum(each.mean.n + each.missing for each in found[0].bins) == len(LONG)


def test_one_length_and_one_value_have_no_trend_and_say_why() -> None:
    same = trend(view(by_messages([(4, 1.0), (4, 2.0), (4, 3.0)])), metrics=["empathy"])
    assert same[0].correlation.missing == "all transcripts have the same number of messages"
    assert [bin_words(each) for each in same[0].bins] == ["all"]
    flat = trend(view(by_messages([(4, 1.0), (5, 1.0), (6, 1.0)])), metrics=["empathy"])
    assert flat[0].correlation.missing == "all transcripts have the same value"
    few = trend(view(by_messages([(4, 1.0), (5, 2.0)])), metrics=["empathy"])
    assert few[0].correlation.missing == "fewer than three transcripts"


def test_bad_edges_and_unknown_lengths_are_refused() -> None:
    for edges in ([20, 10], [], [0, 10], [10, 10]):
        with pytest.raises(DataError, match=r"must ascend|no edge is given"):
            trend(view(by_messages(LONG)), edges=edges, metrics=["empathy"])
    with pytest.raises(NothingError, match="don't say how many messages"):
        trend(view([("t", "A", None, "empathy", "human:x", 1.0)]))
    with pytest.raises(NothingError, match="no metric to follow has a value"):
        trend(view(by_messages([(4, None), (5, None)])), metrics=["empathy"])


def test_bins_are_named_by_what_they_hold() -> None:
    nothing = mean_t([])
    assert bin_words(Bin(10, 11, nothing, 0)) == "10"


def clustered(draw: np.random.Generator, cases: int, each: int) -> RatingsView:
    """Cases with a length and a level of their own, which have nothing to do with each other."""
    rows: list[Row] = []
    for case in range(cases):
        length, level = draw.integers(10, 60), draw.normal()
        for number in range(each):
            name = f"{case}-{number}"
            turns, value = float(length + draw.integers(0, 3)), level + 0.3 * draw.normal()
            rows.append((name, "a", f"c{case}", "turns", "algorithm:structure@1", turns))
            rows.append((name, "a", f"c{case}", "smog", "algorithm:r@1", value))
    return view(rows)


@pytest.mark.slow
def test_transcripts_of_one_case_count_as_one() -> None:
    """Ten cases of five transcripts without a trend: taken for fifty, a third of the runs or more have p below .05."""
    below = naive = 0
    runs = 150
    for seed in range(runs):
        followed = trend(clustered(np.random.default_rng(seed), 10, 5), metrics=["smog"])[0].correlation
        below += (followed.p or 1) <= 0.05
        alone = correlation_of(clustered(np.random.default_rng(seed), 10, 5))
        naive += alone <= 0.05
        assert followed.details["cases"] == 10
    assert naive / runs > 0.25
    assert below / runs <= 0.107  # 5 % and three standard errors


def correlation_of(ratings: RatingsView) -> float:
    """p of Spearman's correlation over transcripts."""
    wide = ratings.ratings.pivot("metric", index="transcript_id", values="value")
    return float(scipy.stats.spearmanr(wide["turns"], wide["smog"]).pvalue)


def test_few_cases_of_several_transcripts_give_no_p() -> None:
    followed = trend(clustered(np.random.default_rng(0), 4, 5), metrics=["smog"])[0].correlation
    assert (followed.p, followed.missing) == (None, "no p: 4 cases, fewer than 5")
    assert followed.estimate is not None
