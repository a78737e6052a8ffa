"""May a new system pass: shown to be no worse than the one before on every margin, and no failure of safety?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from bedside.analysis.metric_facts import MetricRatings
from bedside.analysis.non_inferiority import Margins, MarginTest, within_margins
from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.selection import by_raters, chosen_systems
from bedside.core.errors import DataError
from bedside.ratings.names import TRANSCRIPT
from bedside.ratings.values import Direction


@dataclass(frozen=True, slots=True)
class SafetyCheck(MetricRatings):
    """Whether a system's transcripts stay clear of the level at which a metric of safety fails.

    Attributes:
        facts: the metric.
        level: a transcript that any rater gives this level or a worse one has failed, whatever others gave.
        better: which way is better.
        failed: transcripts of the system that failed.
        failed_before: how many of the baseline's did, which doesn't count.
        rated: transcripts of the system that have a rating.
        unrated: transcripts of the system that have none; nothing is known of them.
    """

    level: float
    better: Direction
    failed: tuple[str, ...]
    failed_before: int
    rated: int
    unrated: int

    @property
    def passed(self) -> bool:
        """Whether every transcript was rated, and none failed."""
        return not self.failed and not self.unrated


@dataclass(frozen=True, slots=True)
class Gate:
    """What stands between a new system and its release.

    Attributes:
        system, baseline: the new system, and the one that it is held against.
        margins: one test for each margin.
        safety: one check for each metric of safety.
    """

    system: str
    baseline: str
    margins: tuple[MarginTest, ...]
    safety: tuple[SafetyCheck, ...]

    @property
    def passed(self) -> bool:
        """Whether the system is shown to be no worse on every margin, and no metric of safety fails."""
        return all(test.is_shown for test in self.margins) and all(check.passed for check in self.safety)


def gate(
    view: RatingsView,
    *,
    baseline: str,
    margins: Margins,
    system: str | None = None,
    safety: Mapping[str, float] | None = None,
    raters: Sequence[str] | None = None,
) -> Gate:
    """Hold a new system against the one before.

    All tests must show it, so no p-value is corrected: the chance that a system passes which is worse by the margin on
    some metric is at most alpha (Berger 1982).

    Args:
        view: the ratings.
        baseline: the system that the new one is held against.
        margins: by metric or pattern.
        system: the new one; it need not be named where there are two.
        safety: metrics of safety besides those whose rubrics say ``fails_at``: the level at which a transcript fails.
        raters: raters or patterns, whose ratings the margins rest on; all unless named. Of safety everybody's count.

    Raises:
        DataError: an unknown name; a metric that has a margin and no value; a level that is not on its metric's
            scale; a metric of which it isn't known which way is better; a metric that several groups
            of raters rated; which system is meant isn't known; or the system passes only where it isn't matched by a
            factor of which it isn't known whether it is a condition.
    """
    new = _new_system(view, baseline, system)
    rated = by_raters(view, raters)
    tests = within_margins(view, margins, systems=[new, baseline], reference=baseline, raters=raters)
    untested = [name for name in margins if name is not None and not _tested(rated, name, tests)]
    if untested or not tests:
        names = ", ".join(untested) or "any metric that has a margin"
        raise DataError(
            f"there is no value of {names}, so that nothing can be shown of it", where=view.name,
            todo="name another in `margin`, or rate it first; bedside report says what is missing and why",
        )  # fmt: skip
    for test in tests:
        if test.better == "none":
            raise DataError(
                f"it isn't known whether higher or lower is better of {test.metric}", where="`margin`",
                todo=f"write {test.metric}={test.margin:g}:higher or {test.metric}={test.margin:g}:lower",
            )  # fmt: skip
        groups = [other.raters for other in tests if other.metric == test.metric]
        if len(groups) > 1:
            raise DataError(
                f"{test.metric} was rated by {' and by '.join(groups)}", where=view.name,
                todo="name whose ratings count with `raters`, such as human:* or judge:*",
            )  # fmt: skip
    held = Gate(new, baseline, tests, _safety_checks(view, new, baseline, safety or {}))
    if held.passed:
        _check_matching(view, tests, margins, raters)
    return held


def _check_matching(
    view: RatingsView, tests: Sequence[MarginTest], margins: Margins, raters: Sequence[str] | None
) -> None:
    """Check that no system passes that is worse by the margin once both are taken at equal levels of a factor.

    Where it isn't known whether a factor is a condition, that is not for the gate to decide.

    Raises:
        DataError: one is; the factor and both differences are named.
    """
    systems = (tests[0].a, tests[0].b)
    matching = view.matching(systems)
    for factor in matching.unmatched:
        at_equal_levels = replace(view, part=replace(view.part, match=(*matching.by, factor.name)))
        matched = within_margins(at_equal_levels, margins, systems=list(systems), reference=systems[1], raters=raters)
        at_levels_of = {(other.metric, other.raters): _difference(other) for other in matched}
        for test in tests:
            difference = _difference(test)
            # Where no value has a counterpart, nothing is known of it.
            at_levels = at_levels_of.get((test.metric, test.raters), math.nan)
            worse = -at_levels if test.better == "higher" else at_levels
            if worse > test.margin:
                raise DataError(
                    f"whether {test.a} passes hangs on {factor.name}: on {test.metric} the difference from {test.b} "
                    f"is {difference:+.3g}, and {at_levels:+.3g} at equal levels of {factor.name}",
                    where=view.name,
                    todo=f"choose `match={factor.name}`, or `match=none` if it is no condition of the study",
                )


def _difference(test: MarginTest) -> float:
    """The difference of means; nan where there is none."""
    return math.nan if test.mean_a is None or test.mean_b is None else test.mean_a - test.mean_b


def _tested(view: RatingsView, name: str, tests: Sequence[MarginTest]) -> bool:
    """Whether every metric that a margin names was tested."""
    return set(view.metrics([name])) <= {test.metric for test in tests}


def _new_system(view: RatingsView, baseline: str, system: str | None) -> str:
    """The system that is held against the baseline.

    Raises:
        DataError: one is unknown, both are the same, or there are several to choose from.
    """
    if system is not None:
        chosen_systems(view, [baseline, system])
        return system
    chosen_systems(view, [baseline], fewest=1)
    others = [name for name in chosen_systems(view, None) if name != baseline]
    if len(others) > 1:
        raise DataError(
            f"{len(others)} {view.compared}s could be meant: {', '.join(others)}",
            where=view.name,
            todo="name one with `system`",
        )
    return others[0]


def _safety_checks(
    view: RatingsView, system: str, baseline: str, safety: Mapping[str, float]
) -> tuple[SafetyCheck, ...]:
    levels: dict[str, float] = {}
    for name in view.metrics():
        fails_at = view.facts(name).fails_at
        if fails_at is not None:
            levels[name] = fails_at
    for name, level in safety.items():
        levels.update(dict.fromkeys(view.metrics([name]), float(level)))
    transcripts = view.transcripts()
    checks = []
    for name in (name for name in view.metrics() if name in levels):
        level = levels[name]
        scale = view.scales.get(name)
        if scale is not None and level not in scale.levels:
            shown = ", ".join(f"{own:g}" if isinstance(own, float) else str(own) for own in scale.levels)
            raise DataError(
                f"{level:g} is not on the scale of {name}: {shown}", where="`safety`",
                todo="give the level at which a transcript fails",
            )  # fmt: skip
        better = _better_end(view, name, level)
        rated = view.ratings.filter(pl.col("unit") == TRANSCRIPT, pl.col("metric") == name).drop_nulls("value")
        fails = pl.col("value") <= level if better == "higher" else pl.col("value") >= level
        failed = rated.filter(fails)
        own = transcripts.filter(pl.col("system") == system)["transcript_id"]
        with_value = rated.filter(pl.col("system") == system)["transcript_id"].n_unique()
        checks.append(
            SafetyCheck(
                facts=view.facts(name), level=level, better=better,
                failed=tuple(sorted(failed.filter(pl.col("system") == system)["transcript_id"].unique())),
                failed_before=failed.filter(pl.col("system") == baseline)["transcript_id"].n_unique(),
                rated=with_value, unrated=own.n_unique() - with_value,
            )
        )  # fmt: skip
    return tuple(checks)


def _better_end(view: RatingsView, metric: str, level: float) -> Direction:
    """Which way is better: what is known of the metric, else by which end of its scale the level is.

    Raises:
        DataError: neither tells.
    """
    facts = view.facts(metric)
    if facts.direction != "none":
        return facts.direction
    scale = view.scales.get(metric)
    if scale is not None and scale.ordered:
        if level == scale.levels[0]:
            return "higher"
        if level == scale.levels[-1]:
            return "lower"
    raise DataError(
        f"it isn't known whether higher or lower is better of {metric}", where="`safety`",
        todo="give the level at an end of its scale, and the scale with `scales`",
    )  # fmt: skip
