"""Where systems stand on a measure: the mean of each, and which of them can be told apart, corrected for all pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from bedside.analysis.case_values import CaseValues, case_values, mean_in_group, own_case
from bedside.analysis.checked_units import Bounds, mean_within, value_bounds
from bedside.analysis.comparison import Comparison, compare
from bedside.analysis.label_numbers import label_numbers
from bedside.analysis.metric_facts import MetricFacts, MetricRatings
from bedside.analysis.missing_bounds import scale_ends
from bedside.analysis.rater_effects import owes_raters
from bedside.analysis.ratings_view import PEOPLE, RatingsView
from bedside.analysis.simulated_talks import simulated_talks
from bedside.ratings.values import Direction
from bedside.stats.letter_display import letter_display, rank_ranges
from bedside.stats.result import Result
from bedside.stats.variance_components import RepeatSpread, repeat_spread, worst_of_repeats

#: Chance, at most, that any pair of systems that don't differ is told apart on a measure.
ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class RepeatReliability:
    """How steady a system is over the repeats of a conversation.

    Attributes:
        k: repeats of each.
        success: the value from which on a conversation is a success (up to which, where lower is better); None where
            nobody states one.
        succeeding: share of conversations that succeed, mean over cases; None as for ``success``.
        all_succeeding: chance that all k repeats succeed (pass^k), mean over cases; likewise.
        worst: mean over cases of the worst of k repeats.
        spread: between repeats, and between cases.
    """

    k: int
    success: float | None
    succeeding: Result | None
    all_succeeding: Result | None
    worst: Result
    spread: RepeatSpread


@dataclass(frozen=True, slots=True)
class Standing:
    """Where one system stands on a measure.

    Attributes:
        system: its name.
        values: its values, one for each case.
        of: its cases that were planned, rated or not.
        mean: over cases, with its 95 % interval; no estimate where no case has a value.
        with_worst: its mean over all planned cases, were each conversation that has no value at the scale's worst; None
            where nobody says where that is.
        unrated: how many of its conversations the clinician failed without a transcript, as in simulations of earlier
            versions: they have no rating, and the mean leaves them out.
        with_failed: its mean were each of these at the scale's worst, which orders it; None where there are none, or
            nobody says where the worst is.
        letters: those of the groups it belongs to: two systems that share one can't be told apart. Empty where it has
            no value.
        ranks: the least and greatest rank that it may have; None where it has no value, or neither way is better.
        repeats: how steady it is; None where nothing was repeated, it has no value, or neither way is better.
    """

    system: str
    values: CaseValues
    of: int
    mean: Result
    with_worst: float | None = None
    unrated: int = 0
    with_failed: float | None = None
    letters: str = ""
    ranks: tuple[int, int] | None = None
    repeats: RepeatReliability | None = None


@dataclass(frozen=True, slots=True)
class Standings(MetricRatings):
    """Where all systems stand on a metric under one group of raters.

    Attributes:
        facts, raters: the metric, and by whom it was rated.
        systems: those that have a value in the order of their means, the best first; the others last, by name.
        comparisons: all pairs of systems, p corrected by Holm over the pairs.
        better: pairs of which the test shows the first to be better.
        why: the most frequent reason of missing values; empty where nothing is missing.
        worst_order: the systems in the order of their means with the worst in place of what is missing, the best first;
            empty where it is the same order, or isn't known.
    """

    raters: str
    systems: tuple[Standing, ...]
    comparisons: tuple[Comparison, ...]
    better: tuple[tuple[str, str], ...] = ()
    why: str = ""
    worst_order: tuple[str, ...] = ()

    @property
    def by_system(self) -> dict[str, Standing]:
        """Where each system stands."""
        return {standing.system: standing for standing in self.systems}

    @property
    def against_means(self) -> tuple[tuple[str, str], ...]:
        """Pairs of which the test shows the first to be better, and the means the second."""
        places = {standing.system: place for place, standing in enumerate(self.systems)}
        return tuple((first, second) for first, second in self.better if places[first] > places[second])


def standings(
    view: RatingsView, metric: str, *, success: float | None = None, seed: int = 0, compared: bool = True
) -> tuple[Standings, ...]:
    """Where all systems stand on a metric, for each group of raters that gave values; people first.

    Raters of whom there is only what failed conversations are given, and nothing of any other, order nobody: the
    systems that failed would stand first.

    A case counts once: a value is the mean over a case's conversations. Two systems are compared case by case, at what
    both have of the factors that vary within a case (:func:`~bedside.analysis.comparison.compare`), and told apart
    where p, corrected by Holm over all pairs, is below :data:`ALPHA`, unless other people rated each and the difference
    may be theirs. So the chance that any two that don't differ are told apart is :data:`ALPHA` at most, on each measure
    by itself.

    Args:
        view: the ratings.
        metric: its name in the ratings table.
        success: the value from which on a conversation counts as a success, see :class:`RepeatReliability`.
        seed: of what is drawn at random.
        compared: whether systems are compared; else there are means only, and all share a letter.
    """
    facts = view.facts(metric)
    numbered = label_numbers(view, [metric]).view
    rated = numbered.transcript_values([metric])
    with_value = _told_of(view, rated.filter(pl.col("value").is_not_null()))["group"].unique().to_list()
    groups = sorted(with_value, key=lambda name: (name != PEOPLE, name))
    talks = _planned(view)
    ends = scale_ends(numbered, metric)
    worst = None if ends is None or facts.direction == "none" else ends[0 if facts.direction == "higher" else 1]
    ratings = view.ratings.with_columns(view.rater_group().alias("group")).filter(pl.col("metric") == metric)
    bounds = value_bounds(numbered, metric)
    by_group = []
    for group in groups:
        of_group = replace(view, ratings=ratings.filter(pl.col("group") == group).drop("group"))
        values = rated.filter(pl.col("group") == group)
        systems = of_group.systems() if compared else ()
        pairs = compare(of_group, metrics=[metric], systems=systems, seed=seed).pairs if systems[1:] else ()
        errors = values.filter(pl.col("value").is_null())["error"].drop_nulls()
        own = [
            replace(
                _standing(system, values, bounds, talks, worst),
                repeats=_reliability(view, values.filter(system=system), facts.direction, bounds, success),
            )
            for system in view.systems()
        ]
        by_group.append(_standings(facts, group, own, pairs, why=errors.mode().sort()[0] if errors.len() else ""))
    return tuple(by_group)


def _told_of(view: RatingsView, values: pl.DataFrame) -> pl.DataFrame:
    """The values of conversations that nobody failed; all of them where the clinician failed each conversation."""
    talks = simulated_talks(view, read=False)
    failed = [] if talks is None else [talk.id for talk in talks.talks if talk.failed]
    own = ~pl.col("transcript_id").is_in(failed)
    return values.filter(own) if failed and view.transcripts().filter(own).height else values


def _planned(view: RatingsView) -> pl.DataFrame:
    """All conversations that were planned, also those without a transcript: ``transcript_id, system, case``, and
    whether the clinician failed one that has none, ``unrated``."""
    transcripts = view.transcripts().select("transcript_id", "system", own_case(), pl.lit(False).alias("unrated"))
    talks = simulated_talks(view, read=False)
    gone = [] if talks is None else [talk for talk in talks.talks if talk.state != "finished"]
    rows = [(talk.id, talk.system, talk.case, bool(talk.failed)) for talk in gone]
    return pl.concat([transcripts, pl.DataFrame(rows, schema=transcripts.schema, orient="row")])


def _standing(
    system: str, values: pl.DataFrame, bounds: Bounds, planned: pl.DataFrame, worst: float | None
) -> Standing:
    """A system's mean over cases, with an interval that stays within what the metric's values can be."""
    own = case_values(values, system)
    own_planned = planned.filter(pl.col("system") == system).join(
        values.select("transcript_id", "value"), on="transcript_id", how="left"
    )
    unrated = int(own_planned["unrated"].sum())
    of = own_planned["case"].n_unique()
    return Standing(
        system,
        own,
        max(of, own.n + own.missing_cases),
        mean_within(own.values, bounds),
        None if worst is None else _mean_of_cases(own_planned, pl.col("value").fill_null(worst)),
        unrated,
        None
        if worst is None or not unrated
        else _mean_of_cases(own_planned, pl.when("unrated").then(worst).otherwise("value")),
    )


def _mean_of_cases(talks: pl.DataFrame, value: pl.Expr) -> float | None:
    """The mean over cases of the means of a value over each one's conversations."""
    mean = talks.group_by("case").agg(mean_in_group(value).alias("value")).sort("case")["value"].mean()
    return mean if isinstance(mean, float) else None


def _reliability(
    view: RatingsView, values: pl.DataFrame, direction: Direction, bounds: Bounds, success: float | None
) -> RepeatReliability | None:
    """How steady a system's values are over repeats."""
    talks = simulated_talks(view, read=False)
    known = {} if talks is None else {talk.id: talk for talk in talks.talks}
    k = len({talk.repeat for talk in known.values()})
    rows = [row for row in values.select("transcript_id", "value").drop_nulls().iter_rows() if row[0] in known]
    if k < 2 or direction == "none" or not rows:
        return None
    cells: dict[tuple[str, str], list[float]] = {}
    for name, value in rows:
        cells.setdefault((known[name].case, known[name].situation), []).append(float(value))
    sign = 1.0 if direction == "higher" else -1.0
    turned = {place: [sign * value for value in own] for place, own in cells.items()}
    worst = mean_within(sign * worst_of_repeats(turned, k), bounds)
    if success is None:
        return RepeatReliability(k, None, None, None, worst, repeat_spread(cells))
    reached = {place: [float(value >= sign * success) for value in own] for place, own in turned.items()}
    once, always = (mean_within(worst_of_repeats(reached, number), (0.0, 1.0)) for number in (1, k))
    return RepeatReliability(k, success, once, always, worst, repeat_spread(cells))


def _standings(
    facts: MetricFacts, group: str, systems: Sequence[Standing], pairs: Sequence[Comparison], *, why: str
) -> Standings:
    """The systems in order, with letters and ranks."""
    ordered = sorted(systems, key=lambda standing: _place(standing, facts.direction))
    places = {standing.system: place for place, standing in enumerate(ordered) if standing.values.n}
    shown = [pair for pair in pairs if pair.test.p_adjusted is not None and pair.test.p_adjusted < ALPHA]
    apart = [pair for pair in shown if not owes_raters(pair.people, pair.difference)]
    differing = [(places[pair.a], places[pair.b]) for pair in apart]
    letters = letter_display(_matrix(len(places), [*differing, *((b, a) for a, b in differing)]))
    ranks: tuple[tuple[int, int], ...] = ()
    better: list[tuple[str, str]] = []
    if facts.direction != "none":
        better = [_better_first(pair, facts.direction) for pair in apart]
        ranks = rank_ranges(_matrix(len(places), [(places[first], places[second]) for first, second in better]))
    return Standings(
        facts,
        group,
        tuple(
            replace(standing, letters=letters[place], ranks=ranks[place] if ranks else None)
            if place < len(places)
            else standing
            for place, standing in enumerate(ordered)
        ),
        tuple(pairs),
        tuple(better),
        why,
        _worst_order(ordered[: len(places)], facts.direction),
    )


def _worst_order(ordered: Sequence[Standing], direction: Direction) -> tuple[str, ...]:
    """The systems in another order than this, were what is missing the worst; empty where it stays or isn't known."""
    sign = 1.0 if direction == "lower" else -1.0
    values = [standing.with_worst for standing in ordered]
    known = [value for value in values if value is not None]
    if len(known) < len(ordered):
        return ()
    # Where two come to the same, they stay as they are.
    places = sorted(range(len(ordered)), key=lambda place: round(sign * known[place], 12))
    order = tuple(ordered[place].system for place in places)
    return () if order == tuple(standing.system for standing in ordered) else order


def _place(standing: Standing, direction: Direction) -> tuple[bool, float, str]:
    mean = standing.mean.estimate if standing.with_failed is None else standing.with_failed
    if mean is None or not standing.values.n:
        return True, 0.0, standing.system
    return False, mean if direction == "lower" else -mean, standing.system


def _better_first(pair: Comparison, direction: Direction) -> tuple[str, str]:
    """The two systems of a pair that are told apart, the one first that the test shows to be better."""
    shift = next(
        (value for value in (pair.test.estimate, pair.difference.estimate) if value is not None and value), 0.0
    )
    return (pair.a, pair.b) if (shift > 0) == (direction == "higher") else (pair.b, pair.a)


def _matrix(count: int, pairs: Sequence[tuple[int, int]]) -> npt.NDArray[np.bool_]:
    """The table in which these (row, column) are true: shape (count, count)."""
    table = np.zeros((count, count), dtype=bool)
    for row, column in pairs:
        table[row, column] = True
    return table
