"""Which system is preferred? Comparisons of two conversations at a time: strengths, win rates, place and passes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from bedside.analysis.leaderboard import ALPHA
from bedside.analysis.metric_facts import MetricFacts, MetricRatings
from bedside.analysis.preference_rows import PreferenceRows, preference_rows
from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.selection import NothingError
from bedside.stats.arrays import Array
from bedside.stats.letter_display import letter_display, rank_ranges
from bedside.stats.result import Result

if TYPE_CHECKING:
    from bedside.stats.bradley_terry import Strengths
    from bedside.stats.preference_shares import OrderVerdicts


@dataclass(frozen=True, slots=True)
class SystemStrength:
    """Where one system stands.

    Attributes:
        system: its name.
        strength: log-odds; those of the systems on one scale sum to 0.
        chance: that it is preferred to a system of mean strength where the place doesn't count, with interval.
        wins: its share of the wins over all others it was compared with, each case counting once, with interval.
        letters: of the groups it belongs to: two systems that share one can't be told apart.
        ranks: the least and greatest rank that the tests of all pairs leave open.
    """

    system: str
    strength: Result
    chance: Result
    wins: Result
    letters: str
    ranks: tuple[int, int]


@dataclass(frozen=True, slots=True)
class PairVerdicts:
    """Two systems that were compared, or may be through others.

    Attributes:
        a, b: the systems; shares are a's.
        conversations: pairs of their conversations (and people) that have a verdict.
        cases: with any.
        better, worse: how many of them a won, and lost, in each order that was asked, over all passes of it; ties: a
            tie in each.
        unsettled: those whose verdict depends on the order.
        one_order: those that were asked in one order only, whose verdict is that order's.
        wins: share of the wins that a has of b, cases counting once and both orders the same, with interval.
        expected: the share that the strengths foretell; None where one has no place on their scale.
        difference: of their strengths, with interval, and the test that they are equal, p corrected over all pairs.
    """

    a: str
    b: str
    conversations: int
    cases: int
    better: int
    worse: int
    ties: int
    unsettled: int
    one_order: int
    wins: Result
    expected: float | None
    difference: Result


@dataclass(frozen=True, slots=True)
class PositionBias(MetricRatings):
    """How much the place counts for a group of raters on one rubric, and how steady their verdicts are.

    Attributes:
        facts, raters: the rubric, and by whom conversations were compared.
        comparisons: that have a verdict; ties: those without a winner.
        first: of the decided ones, the share that the one shown first won, with interval by case, and p that the place
            doesn't count.
        balanced: whether ``first`` is of pairs that were shown in both orders alone.
        one_order: pairs (for each rater and pass) that were shown in one order only.
        orders: verdicts on pairs that were shown in both; None where there are none.
        passes: share of pairs in one order of which two passes gave the same verdict; None where there is one pass.
    """

    raters: str
    comparisons: int
    ties: int
    first: Result
    balanced: bool
    one_order: int
    orders: OrderVerdicts | None
    passes: Result | None


@dataclass(frozen=True, slots=True)
class SystemPreferences(MetricRatings):
    """What one group of raters prefers by one rubric.

    Attributes:
        facts, raters: the rubric, and by whom conversations were compared.
        systems: strongest first; those without a place on the scale by their share of wins among them.
        pairs: each two systems, the first that which stands further up.
        position: how much the place counts.
        position_effect: the log-odds that the first of two equals is preferred; None where it can't be told.
        comparisons, cases: what this rests on.
        left_out: preferences that aren't counted, by why.
        remarks: what a reader should know of the strengths.
    """

    raters: str
    systems: tuple[SystemStrength, ...]
    pairs: tuple[PairVerdicts, ...]
    position: PositionBias
    position_effect: Result | None
    comparisons: int
    cases: int
    left_out: Mapping[str, int]
    remarks: tuple[str, ...]


def system_preferences(view: RatingsView, *, seed: int = 0) -> tuple[SystemPreferences, ...]:
    """Which system is preferred by each rubric and group of raters: people together, each judge by itself.

    A comparison counts for the system that won it, a tie half for each. The raters, passes and conversations of two
    systems in one order on one case are averaged first; intervals and tests are over cases. Both orders count the
    same, and the effect of the place is estimated beside the strengths, so that it isn't in them.

    Args:
        view: the ratings.
        seed: of random sign flips.

    Raises:
        NothingError: no two conversations were compared, or no comparison counts, with the reasons.
    """
    return view.once(("system preferences", seed), lambda: _all_preferences(view, seed))


def _all_preferences(view: RatingsView, seed: int) -> tuple[SystemPreferences, ...]:
    groups = preference_rows(view)
    counted = [rows for rows in groups if rows.rows.height]
    if not counted:
        why = dict.fromkeys(reason for rows in groups for reason in rows.left_out)
        raise NothingError(
            f"of the comparisons of two conversations none counts: {'; '.join(why)}", where=view.name,
            todo="compare conversations of two systems on one case, such as by bedside judge pairs",
        )  # fmt: skip
    return tuple(_preferences(view.facts(rows.rubric), rows, seed) for rows in counted)


def position_bias(view: RatingsView, rater: str, *, seed: int = 0) -> tuple[PositionBias, ...]:
    """How much the place counts for one rater, rubric by rubric; nothing where it compared no conversations."""
    if rater not in set(view.preferences["rater"]):
        return ()
    own = replace(view, preferences=view.preferences.filter(pl.col("rater") == rater))
    return tuple(
        _position(view.facts(rows.rubric), rows, seed) for rows in preference_rows(own) if rows.rows.height
    )


def _preferences(facts: MetricFacts, rows: PreferenceRows, seed: int) -> SystemPreferences:
    from bedside.stats.bradley_terry import strengths
    from bedside.stats.preference_shares import win_rate

    shares = rows.shares()
    fitted = strengths(shares, rows.systems, seed=seed)
    wins = [
        win_rate(_mean_share(shares[:, place, :]), _mean_share(1 - shares[:, :, place]))
        for place in range(len(rows.systems))
    ]
    order = sorted(range(len(rows.systems)), key=lambda place: _height(fitted.strengths[place], wins[place]))
    better = np.zeros((len(order), len(order)), dtype=bool)
    for (first, second), difference in fitted.differences.items():
        if difference.p_adjusted is not None and difference.p_adjusted < ALPHA and difference.statistic:
            winner, loser = (first, second) if difference.statistic > 0 else (second, first)
            better[order.index(winner), order.index(loser)] = True
    letters, ranks = letter_display(better | better.T), rank_ranges(better)
    return SystemPreferences(
        facts=facts,
        raters=rows.raters,
        systems=tuple(
            SystemStrength(
                rows.systems[place], fitted.strengths[place], fitted.chances[place], wins[place],
                letters[rank], ranks[rank],
            )
            for rank, place in enumerate(order)
        ),
        pairs=tuple(
            _pair(rows, shares, fitted, (first, second)) for first, second in combinations(order, 2)
        ),
        position=_position(facts, rows, seed),
        position_effect=fitted.position,
        comparisons=rows.rows.height,
        cases=fitted.cases,
        left_out=rows.left_out,
        remarks=fitted.remarks,
    )  # fmt: skip


def _height(strength: Result, wins: Result) -> tuple[int, float]:
    """Where a system stands in the order: those on the scale between what beat them throughout and what lost."""
    rate = wins.estimate or 0.0
    if strength.estimate is not None:
        return 1, -strength.estimate
    return (0 if rate > 0.5 else 2), -rate


def _mean_share(shares: Array) -> Array:
    """The mean over the other systems of each case; NaN where there are none."""
    present = ~np.isnan(shares)
    counts = present.sum(axis=1)
    return np.where(counts > 0, np.nansum(shares, axis=1) / np.maximum(counts, 1), np.nan)


def _pair(rows: PreferenceRows, shares: Array, fitted: Strengths, pair: tuple[int, int]) -> PairVerdicts:
    from bedside.stats.preference_shares import win_rate

    a, b = (rows.systems[place] for place in pair)
    own = rows.rows.filter(pl.col("first_system").is_in([a, b]), pl.col("second_system").is_in([a, b]))
    of_a = pl.when(pl.col("first_system") == a).then("share").otherwise(1 - pl.col("share"))
    keys = ["rater", "round", "low", "high"]
    in_order = own.group_by(*keys, "first").agg((of_a.mean() - 0.5).sign().alias("verdict"))
    verdicts = in_order.group_by(keys).agg(
        pl.col("verdict").min().alias("least"),
        pl.col("verdict").max().alias("most"),
        pl.len().alias("orders"),
    )

    def counted(verdict: float) -> int:
        return verdicts.filter(pl.col("least") == verdict, pl.col("most") == verdict).height

    turned = pair if pair in fitted.differences else pair[::-1]
    difference = fitted.differences[turned]
    if turned != pair:
        difference = _negated(difference)
    expected = float(fitted.expected[pair])
    return PairVerdicts(
        a=a, b=b,
        conversations=verdicts.height,
        cases=own["case"].n_unique(),
        better=counted(1.0), worse=counted(-1.0), ties=counted(0.0),
        unsettled=verdicts.filter(pl.col("least") != pl.col("most")).height,
        one_order=verdicts.filter(pl.col("orders") == 1).height,
        wins=win_rate(shares[:, pair[0], pair[1]], 1 - shares[:, pair[1], pair[0]]),
        expected=None if np.isnan(expected) else expected,
        difference=replace(difference, name=f"strength of {a} less that of {b}"),
    )  # fmt: skip


def _negated(difference: Result) -> Result:
    """The difference the other way round."""
    interval = difference.interval
    return replace(
        difference,
        estimate=None if difference.estimate is None else -difference.estimate,
        statistic=None if difference.statistic is None else -difference.statistic,
        interval=interval and replace(interval, low=-interval.high, high=-interval.low),
    )


def _position(facts: MetricFacts, rows: PreferenceRows, seed: int) -> PositionBias:
    from bedside.stats.preference_shares import first_share, order_verdicts

    pairs = rows.by_order()
    both = pairs.drop_nulls(["one", "other"])
    # Where most are shown in one order, as people's are, the balanced ones alone would be too few to say anything.
    balanced = 2 * both.height >= pairs.height
    counted = (both if balanced else pairs).unpivot(["one", "other"], index="case").drop_nulls("value")
    return PositionBias(
        facts=facts,
        raters=rows.raters,
        comparisons=rows.rows.height,
        ties=rows.rows.filter(pl.col("share") == 0.5).height,
        first=first_share(counted["value"].to_numpy(), clusters=counted["case"].to_numpy(), seed=seed),
        balanced=balanced,
        one_order=pairs.height - both.height,
        orders=order_verdicts(
            both["one"].to_numpy(), both["other"].to_numpy(), clusters=both["case"].to_numpy()
        )
        if both.height
        else None,
        passes=_passes(rows),
    )


def _passes(rows: PreferenceRows) -> Result | None:
    """The share of pairs of passes with the same verdict, in one order by one rater; None where there is one pass."""
    from bedside.stats.shares import share

    keys = ["rater", "round", "first", "second"]
    passes = rows.rows.select(*keys, "case", "replicate", "share")
    two = passes.join(passes, on=keys).filter(pl.col("replicate") < pl.col("replicate_right"))
    if two.is_empty():
        return None
    same = (two["share"] == two["share_right"]).cast(pl.Float64).to_numpy()
    return share(same, clusters=two["case"].to_numpy())
