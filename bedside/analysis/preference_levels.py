"""Do preferences say what levels say? The same raters' choice of two conversations beside the levels they gave both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import polars as pl

from bedside.analysis.metric_facts import MetricRatings
from bedside.analysis.preference_rows import PreferenceRows, preference_rows
from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.system_preferences import SystemStrength, system_preferences
from bedside.stats.result import Result


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
        np.where(settled, (preferred == higher).astype(np.float64), np.nan),
        clusters=verdicts["case"].to_numpy(),
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
        verdicts.select("case", system=f"{side}_system", id=side, level=f"{side}_level")
        for side in ("low", "high")
    ).unique("id", maintain_order=True)
    by_case = conversations.group_by("system", "case").agg(pl.col("level").mean())
    mean_of = dict(by_case.group_by("system").agg(pl.col("level").mean()).iter_rows())
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
    tau = kendalltau(
        [strength for _, strength in placed], [mean_of[system] for system, _ in placed]
    ).statistic
    return means, None if np.isnan(tau) else float(tau), turned
