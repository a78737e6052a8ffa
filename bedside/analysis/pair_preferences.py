"""Preferences between conversations: whether raters agree, which system is preferred, what levels say."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from bedside.analysis.case_values import mean_in_group, own_case
from bedside.analysis.leaderboard import ALPHA
from bedside.analysis.metric_facts import MetricFacts, MetricRatings
from bedside.analysis.ratings_view import PEOPLE, RatingsView
from bedside.analysis.selection import NothingError
from bedside.core.errors import DataError, nearest, one_of
from bedside.ratings.learnt_units import fresh_ratings, learnt_in
from bedside.ratings.names import is_human, second_ids
from bedside.ratings.rubric_metrics import preferred_by
from bedside.stats.arrays import Array
from bedside.stats.letter_display import letter_display, rank_ranges
from bedside.stats.result import Result

if TYPE_CHECKING:
    from bedside.stats.bradley_terry import Strengths
    from bedside.stats.preference_shares import OrderVerdicts


# -- Preferences as they are compared -------------------------------------------------------------------

#: Why a preference isn't counted.
FAILED = "no verdict was given"
UNKNOWN = "a conversation's system isn't known"
ONE_SYSTEM = "both conversations are of one system"
OTHER_CASES = "the conversations are of different cases"


@dataclass(frozen=True, slots=True)
class PreferenceRows:
    """The preferences by one rubric of one group of raters.

    Attributes:
        rubric: its name.
        raters: :data:`~bedside.analysis.ratings_view.PEOPLE`, or a rater's own name.
        systems: those that were compared, sorted.
        rows: columns ``rater, replicate, round, case, first, second`` (ids of conversations), ``first_system``,
            ``second_system``, ``share`` (of the win, that the first has), ``low, high`` (the two ids in their order)
            and ``low_share`` (of the win, that ``low`` has).
        left_out: number of preferences that aren't counted, by why.
    """

    rubric: str
    raters: str
    systems: tuple[str, ...]
    rows: pl.DataFrame
    left_out: Mapping[str, int]

    def shares(self) -> Array:
        """Cases × systems × systems: the mean share of the win of the row's system, shown first; NaN where none."""
        means = self.rows.group_by("case", "first_system", "second_system", maintain_order=True).agg(
            mean_in_group("share")
        )
        cases = {case: place for place, case in enumerate(means["case"].unique(maintain_order=True))}
        places = {system: place for place, system in enumerate(self.systems)}
        table: Array = np.full((len(cases), len(places), len(places)), np.nan)
        for case, first, second, share in means.iter_rows():
            table[cases[case], places[first], places[second]] = share
        return table

    def by_order(self) -> pl.DataFrame:
        """A row for each pair, rater and pass: the case, and the share of the one shown first in either order.

        Columns ``case, one, other``: ``one`` where ``low`` was shown first, ``other`` where ``high`` was; null where a
        pair wasn't shown so. The first pass in one order stands beside the first in the other, whichever passes they
        are: a person who is shown a pair again sees it the other way round.
        """
        lower = pl.col("first") == pl.col("low")
        keys = ["rater", "round", "low", "high"]
        passes = pl.col("replicate").rank("ordinal").over(*keys, "first").alias("pass")
        return self.rows.group_by(*keys, passes, maintain_order=True).agg(
            pl.col("case").first(),
            pl.col("share").filter(lower).first().alias("one"),
            pl.col("share").filter(~lower).first().alias("other"),
        )

    def verdicts(self, by: Sequence[str] = ("rater",)) -> pl.DataFrame:
        """A row for each pair (and rater): ``low_share``, the mean over orders of the mean over passes, and ``orders``.

        Args:
            by: what has a verdict of its own besides the pair; with nothing, raters are averaged, too.
        """
        keys = ("low", "high", *by)
        systems = pl.when(pl.col("first") == pl.col("low"))
        return (
            self.rows.with_columns(
                systems.then("first_system").otherwise("second_system").alias("low_system"),
                systems.then("second_system").otherwise("first_system").alias("high_system"),
            )
            .group_by(*keys, "first", maintain_order=True)
            .agg(
                pl.col("case").first(), pl.col("low_system").first(), pl.col("high_system").first(),
                mean_in_group("low_share"),
            )
            .group_by(keys, maintain_order=True)
            .agg(
                pl.col("case").first(), pl.col("low_system").first(), pl.col("high_system").first(),
                mean_in_group("low_share"), pl.len().alias("orders"),
            )
        )  # fmt: skip


def preference_rows(view: RatingsView) -> tuple[PreferenceRows, ...]:
    """The preferences, by rubric and group of raters; people first.

    Raises:
        NothingError: nothing was compared.
    """
    if view.preferences.is_empty():
        raise NothingError(
            "no two conversations were compared with each other",
            where=view.name,
            todo="ask a judge with bedside judge pairs, or import people's preferences",
        )
    groups = [
        _group(str(rubric), str(group), rows)
        for (rubric, group), rows in _with_systems(view).group_by("rubric", "group", maintain_order=True)
    ]
    return tuple(sorted(groups, key=lambda own: (own.rubric, own.raters != PEOPLE, own.raters)))


def chosen_preferences(
    view: RatingsView,
    *,
    rubrics: Sequence[str] | None = None,
    raters: Sequence[str] | None = None,
    systems: Sequence[str] | None = None,
) -> RatingsView:
    """The view with the preferences by these rubrics, of these raters and between these systems; all unless named.

    Args:
        view: the ratings.
        rubrics: rubrics or patterns, or names of their preferences.
        raters: raters or patterns such as ``human:*``.
        systems: only comparisons among these.

    Raises:
        NothingError: nothing was compared, or no two of the systems.
        DataError: a name or pattern matches nothing that was compared.
    """
    if rubrics is None and raters is None and systems is None:
        return view
    preference_rows(view)
    table = _with_systems(view)
    table = _chosen(table, "rubric", rubrics and [preferred_by(name) for name in rubrics], view.name)
    table = _chosen(table, "rater", raters, view.name)
    if systems is not None:
        named = sorted(set(table["first_system"].drop_nulls()) | set(table["second_system"].drop_nulls()))
        for system in systems:
            one_of(system, named, "compared system", DataError, where=view.name)
        table = table.filter(pl.col("first_system").is_in(systems), pl.col("second_system").is_in(systems))
    if table.is_empty():
        raise NothingError("no two of these systems were compared", where=view.name, todo="name others with `systems`")
    return replace(view, preferences=view.preferences[table["row"].to_list()])


def _chosen(table: pl.DataFrame, column: str, names: Sequence[str] | None, where: str) -> pl.DataFrame:
    """The rows whose name matches one of the patterns; all without any."""
    if names is None:
        return table
    known = sorted(table[column].unique())
    for name in names:
        if not any(fnmatch.fnmatchcase(known_name, name) for known_name in known):
            what = "rater compared anything that matches" if column == "rater" else "conversations were compared by"
            raise DataError(f"no {what} {name!r}", where=where, todo=nearest(name, known))
    kept = [known_name for known_name in known if any(fnmatch.fnmatchcase(known_name, name) for name in names)]
    return table.filter(pl.col(column).is_in(kept))


def _with_systems(view: RatingsView) -> pl.DataFrame:
    """The preferences with the system and case of both conversations."""
    rows = view.preferences
    about = (
        pl.concat([view.transcripts(), rows.select("transcript_id", "system", "case_id")])
        .unique("transcript_id", keep="first", maintain_order=True)
        .rename({"system": "second_system", "case_id": "second_case", "transcript_id": "second"})
    )
    return (
        rows.with_row_index("row")
        .with_columns(second_ids().alias("second"))
        .join(about, on="second", how="left", maintain_order="left")
        .with_columns(
            own_case(),
            pl.col("metric").map_elements(preferred_by, return_dtype=pl.String).alias("rubric"),
            pl.when(pl.col("rater").map_elements(is_human, return_dtype=pl.Boolean))
            .then(pl.lit(PEOPLE))
            .otherwise("rater")
            .alias("group"),
        )
        .rename({"transcript_id": "first", "system": "first_system", "value": "share"})
    )


def _group(rubric: str, group: str, table: pl.DataFrame) -> PreferenceRows:
    """The rows of one group that count, and the numbers of the others."""
    why = (
        pl.when(pl.col("share").is_null()).then(pl.lit(FAILED))
        .when(pl.col("first_system").is_null() | pl.col("second_system").is_null()).then(pl.lit(UNKNOWN))
        .when(pl.col("first_system") == pl.col("second_system")).then(pl.lit(ONE_SYSTEM))
        .when(pl.col("case_id").ne_missing(pl.col("second_case"))).then(pl.lit(OTHER_CASES))
    )  # fmt: skip
    told = table.with_columns(why.alias("why"))
    left_out = dict(told["why"].drop_nulls().value_counts(sort=True).iter_rows())
    ordered = pl.col("first") < pl.col("second")
    rows = told.filter(pl.col("why").is_null()).select(
        "rater", "replicate", "round", "first", "second", "first_system", "second_system", "share",
        pl.when(ordered).then("first").otherwise("second").alias("low"),
        pl.when(ordered).then("second").otherwise("first").alias("high"),
        pl.when(ordered).then("share").otherwise(1 - pl.col("share")).alias("low_share"),
        # Two conversations without a case make up one of their own.
        pl.when(pl.col("case_id").is_null()).then(pl.min_horizontal("first", "second")).otherwise("case").alias("case"),
    )  # fmt: skip
    systems = sorted(set(rows["first_system"]) | set(rows["second_system"]))
    return PreferenceRows(rubric, group, tuple(systems), rows, left_out)


# -- Do raters prefer the same conversation of two? Judges beside people --------------------------------


@dataclass(frozen=True, slots=True)
class PreferenceAgreement(MetricRatings):
    """Two groups of raters, or the people of one, on the same pairs of conversations by one rubric.

    A verdict is which conversation has more of the win over both orders and all passes, or a tie; so the place cancels
    where both orders were asked.

    Attributes:
        facts: the rubric.
        raters, others: who is compared with whom; both are :data:`~bedside.analysis.ratings_view.PEOPLE` where people
            are compared among themselves, two by two.
        verdicts: pairs of verdicts on one pair of conversations; pairs: of conversations; cases: of these.
        same: share of them that are the same, with interval by case.
        kappa: Cohen's, of better, tie and worse, with interval by case. Each pair counts both ways round, so that it
            doesn't depend on which conversation is called the first, and chance knows no better one.
        decided: of those that both decided, the share that went to the same conversation.
        one_order: pairs of verdicts of which one at least rests on one order, with the place in it.
        learnt: preferences of one of them left out because it learnt from people's ratings of that case.
    """

    raters: str
    others: str
    verdicts: int
    pairs: int
    cases: int
    same: Result
    kappa: Result
    decided: Result
    one_order: int
    learnt: int


def preference_agreement(view: RatingsView) -> tuple[PreferenceAgreement, ...]:
    """Agreement of each two groups of raters that compared the same conversations, and of people with one another.

    Raises:
        NothingError: no two conversations were compared.
    """
    left_out = {(rows.rubric, rows.raters): rows.rows.height for rows in preference_rows(view)}
    learnt = () if view.run is None else learnt_in(view.run.manifest)
    if learnt:
        view = replace(view, preferences=fresh_ratings(view.preferences, learnt).ratings)
    groups = preference_rows(view) if not view.preferences.is_empty() else ()
    for rows in groups:
        left_out[rows.rubric, rows.raters] -= rows.rows.height
    agreements: list[PreferenceAgreement] = []
    for rubric in dict.fromkeys(rows.rubric for rows in groups):
        own = [rows for rows in groups if rows.rubric == rubric]
        agreements += [_among_people(view, rows) for rows in own if rows.raters == PEOPLE]
        agreements += [_between(view, first, second) for second, first in combinations(own, 2)]
    return tuple(
        replace(
            agreement, learnt=sum(left_out[agreement.metric, group] for group in {agreement.raters, agreement.others})
        )
        for agreement in agreements
        if agreement.verdicts
    )


def _among_people(view: RatingsView, rows: PreferenceRows) -> PreferenceAgreement:
    verdicts = rows.verdicts()
    two = verdicts.join(verdicts, on=["low", "high"]).filter(pl.col("rater") < pl.col("rater_right"))
    return _agreement(view, rows.rubric, two, (PEOPLE, PEOPLE))


def _between(view: RatingsView, rows: PreferenceRows, others: PreferenceRows) -> PreferenceAgreement:
    two = rows.verdicts().join(others.verdicts(), on=["low", "high"])
    return _agreement(view, rows.rubric, two, (rows.raters, others.raters))


def _agreement(view: RatingsView, rubric: str, two: pl.DataFrame, groups: tuple[str, str]) -> PreferenceAgreement:
    from bedside.stats.shares import share
    from bedside.stats.two_raters import kappa

    ours, theirs = (np.sign(two[column].to_numpy() - 0.5) for column in ("low_share", "low_share_right"))
    cases = two["case"].to_numpy()
    decided = (ours != 0) & (theirs != 0)
    alike = (ours == theirs).astype(np.float64)
    both_ways = kappa(
        np.concatenate([ours, -ours]), np.concatenate([theirs, -theirs]),
        scale=[-1, 0, 1], clusters=np.concatenate([cases, cases]),
    )  # fmt: skip
    return PreferenceAgreement(
        facts=view.facts(rubric),
        raters=groups[0],
        others=groups[1],
        verdicts=two.height,
        pairs=two.select("low", "high").n_unique() if two.height else 0,
        cases=two["case"].n_unique(),
        same=replace(share(alike, clusters=cases), name="same verdict"),
        kappa=replace(both_ways, n=two.height),
        decided=replace(share(np.where(decided, alike, np.nan), clusters=cases), name="same winner"),
        one_order=two.filter((pl.col("orders") == 1) | (pl.col("orders_right") == 1)).height,
        learnt=0,
    )


# -- Which system is preferred? Comparisons of two conversations at a time ------------------------------


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
    return tuple(_position(view.facts(rows.rubric), rows, seed) for rows in preference_rows(own) if rows.rows.height)


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
    in_order = own.group_by(*keys, "first").agg((mean_in_group(of_a) - 0.5).sign().alias("verdict"))
    verdicts = in_order.group_by(keys).agg(
        pl.col("verdict").min().alias("least"), pl.col("verdict").max().alias("most"), pl.len().alias("orders")
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
        orders=order_verdicts(both["one"].to_numpy(), both["other"].to_numpy(), clusters=both["case"].to_numpy())
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


# -- Preferences beside levels: the same raters' choice of two conversations and the levels they gave both ---


@dataclass(frozen=True, slots=True)
class PreferenceLevels(MetricRatings):
    """What a group of raters prefers, beside the levels that the same group gave by the same rubric.

    Attributes:
        facts, raters: the rubric, and who rated and compared.
        pairs: of conversations that were compared and have levels; cases: of these.
        agreeing: of the pairs with a preference and different levels, the share in which the preferred one has the
            better level, with interval by case.
        level_ties: pairs with a preference whose levels are equal; verdict_ties: pairs of different levels without a
            preference; both_ties: neither.
        means: of each system that has a place among the strengths, its mean level over cases.
        correlation: Kendall's tau of strengths and mean levels over these systems; None of fewer than three.
        turned: pairs of systems of which the preferred one, by strength, has the worse mean level.
    """

    raters: str
    pairs: int
    cases: int
    agreeing: Result
    level_ties: int
    verdict_ties: int
    both_ties: int
    means: Mapping[str, float]
    correlation: float | None
    turned: tuple[tuple[str, str], ...]


def preference_levels(view: RatingsView, *, seed: int = 0) -> tuple[PreferenceLevels, ...]:
    """Preferences beside levels, for each rubric and group of raters that gave both.

    Where lower levels are better by the rubric, the lower one counts as the better; else the higher one.

    Args:
        view: the ratings.
        seed: that of the systems' preferences, from which strengths are taken.

    Raises:
        NothingError: no two conversations were compared.
    """
    strengths_of = {(own.metric, own.raters): own.systems for own in system_preferences(view, seed=seed)}
    by_group: list[PreferenceLevels] = []
    for rows in preference_rows(view):
        levels = _levels(view, rows)
        if levels.height:
            strengths = strengths_of.get((rows.rubric, rows.raters), ())
            by_group.append(_beside(view, rows, levels, strengths))
    return tuple(beside for beside in by_group if beside.pairs)


def _levels(view: RatingsView, rows: PreferenceRows) -> pl.DataFrame:
    """Each conversation's level by the same rubric and raters, higher for better: ``transcript_id, level``.

    People who compared nothing have no part in it.
    """
    sign = -1.0 if view.facts(rows.rubric).direction == "lower" else 1.0
    own = view.ratings.filter(pl.col("rater").is_in(rows.rows["rater"].unique().implode()))
    values = replace(view, ratings=own).transcript_values([rows.rubric])
    return values.drop_nulls("value").select("transcript_id", level=sign * pl.col("value"))


def _beside(
    view: RatingsView, rows: PreferenceRows, levels: pl.DataFrame, strengths: Sequence[SystemStrength]
) -> PreferenceLevels:
    from bedside.stats.shares import share

    verdicts = rows.verdicts(by=())
    for side in ("low", "high"):
        of_side = levels.rename({"transcript_id": side, "level": f"{side}_level"})
        verdicts = verdicts.join(of_side, on=side)
    preferred = np.sign(verdicts["low_share"].to_numpy() - 0.5)
    # Means of passes and raters that are equal may differ in the last digit.
    apart = (verdicts["low_level"] - verdicts["high_level"]).to_numpy()
    higher = np.where(np.abs(apart) < 1e-9, 0.0, np.sign(apart))
    settled = (preferred != 0) & (higher != 0)
    agreeing = share(
        np.where(settled, (preferred == higher).astype(np.float64), np.nan), clusters=verdicts["case"].to_numpy()
    )
    means, correlation, turned = _systems(view, rows.rubric, verdicts, strengths)
    return PreferenceLevels(
        facts=view.facts(rows.rubric),
        raters=rows.raters,
        pairs=verdicts.height,
        cases=verdicts["case"].n_unique(),
        agreeing=replace(agreeing, name="preferred has the better level"),
        level_ties=int(((preferred != 0) & (higher == 0)).sum()),
        verdict_ties=int(((preferred == 0) & (higher != 0)).sum()),
        both_ties=int(((preferred == 0) & (higher == 0)).sum()),
        means=means,
        correlation=correlation,
        turned=turned,
    )


def _systems(
    view: RatingsView, rubric: str, verdicts: pl.DataFrame, strengths: Sequence[SystemStrength]
) -> tuple[dict[str, float], float | None, tuple[tuple[str, str], ...]]:
    """Mean levels of the systems with a strength, over the compared conversations; their rank correlation; turns."""
    from scipy.stats import kendalltau

    conversations = pl.concat(
        verdicts.select("case", system=f"{side}_system", id=side, level=f"{side}_level") for side in ("low", "high")
    ).unique("id", maintain_order=True)
    by_case = conversations.group_by("system", "case").agg(mean_in_group("level"))
    mean_of = dict(by_case.group_by("system").agg(mean_in_group("level")).iter_rows())
    placed = [
        (own.system, own.strength.estimate)
        for own in strengths
        if own.strength.estimate is not None and own.system in mean_of
    ]
    sign = -1.0 if view.facts(rubric).direction == "lower" else 1.0
    turned = tuple(
        (a, b) if strength_a > strength_b else (b, a)
        for (a, strength_a), (b, strength_b) in combinations(placed, 2)
        # Means that are equal may differ in the last digit.
        if abs(mean_of[a] - mean_of[b]) > 1e-9 and (strength_a > strength_b) != (mean_of[a] > mean_of[b])
    )
    means = {system: sign * mean_of[system] for system, _ in placed}
    if len(placed) < 3:
        return means, None, turned
    tau = kendalltau([strength for _, strength in placed], [mean_of[system] for system, _ in placed]).statistic
    return means, None if np.isnan(tau) else float(tau), turned
