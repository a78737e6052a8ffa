"""Measures of a table or figure as a suite names them, the metrics that they stand for, and whose ratings are shown."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import polars as pl
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from bedside.analysis.label_numbers import flow_results, with_shares
from bedside.analysis.metric_facts import LevelShare
from bedside.analysis.ratings_view import RatingsView
from bedside.ratings.suites.suite import Definition
from bedside.reports.number_text import rater_words

# -- Measures of a table or figure as a suite names them ------------------------------------------------

#: Which way of a measure is better: ``reference`` for what is nearest to the mean of the reference corpus.
Better = Literal["higher", "lower", "reference", "none"]


class TableMeasure(BaseModel):
    """One measure of a table: a metric's mean over transcripts, or a ratio of sums over them.

    Attributes:
        metric: the metric; without role it stands for all roles. Of a ratio of sums, and of a mean of several metrics,
            it gives direction, title and digits; of a ratio its values are what tests compare.
        title: as in the row; the metric's own unless given.
        digits: decimals to print; the metric's own unless given.
        trim: leave out the zeros at the end of the decimals.
        percent: print a share as per cent.
        sum: metrics whose values are summed over transcripts, for the numerator.
        over: the same for the denominator.
        times: factor on the numerator.
        mean: metrics whose mean is taken within each transcript that has all of them under one rater.
        of_means: take the mean of these metrics' own means in place of that, each over the transcripts that have it.
        minus: a system: what is printed is the difference of the measure from that system's.
        deviation: what is printed is the distance from the mean of the reference corpus, of which less is better.
        count: ``transcripts``, ``cases``, or a field of the transcripts' references, such as ``reference.diagnosis``:
            what is printed is how many there are, of a field how many different values.
        yes_no: of a count, print whether it is above 0.
        words: pairs of a system's name in print and what is printed in place of a number: what the system is.
        direction: which way is better; the metric's own unless given.
        level: of labels, the one whose share is printed; it needs a direction. Unless given it is the best level of a
            flow that has a direction.
        note: a footnote: how the measure differs from the source's.
        definition: whose definition it follows; its table's unless given.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True)

    metric: str
    title: str | None = None
    digits: int | None = Field(default=None, ge=0, le=6)
    percent: bool = False
    sum: tuple[str, ...] = ()
    over: tuple[str, ...] = ()
    times: float = 1.0
    mean: tuple[str, ...] = ()
    of_means: bool = False
    minus: str | None = None
    deviation: bool = False
    count: str | None = Field(default=None, pattern=r"^(transcripts|cases|reference\.\w+)$")
    yes_no: bool = False
    words: tuple[tuple[str, str], ...] = ()
    direction: Better | None = None
    level: str | None = None
    trim: bool = False
    note: str | None = None
    definition: Definition | None = None

    @model_validator(mode="after")
    def _of_one_kind(self) -> TableMeasure:
        if bool(self.sum) != bool(self.over):
            raise ValueError("a ratio of sums needs both: sum and over")
        if bool(self.sum) + bool(self.mean) + (self.count is not None) > 1:
            raise ValueError("a measure is one of: a ratio of sums, a mean of metrics, a count")
        if self.level is not None and (self.parts != (self.metric,) or self.direction not in ("higher", "lower")):
            raise ValueError("level is for a metric alone, and needs direction: higher, or lower where it is bad")
        if self.of_means and not self.mean:
            raise ValueError("of_means says how the metrics of mean are taken together: name these")
        if self.minus is not None and self.deviation:
            raise ValueError("a measure is a difference from a system or a distance from the reference, not both")
        return self

    @property
    def parts(self) -> tuple[str, ...]:
        """The metrics that it is computed from."""
        if self.count is not None:
            return ()
        return (*self.sum, *self.over) or self.mean or (self.metric,)

    @property
    def compared(self) -> bool:
        """Whether what is printed is a comparison with a system or the reference corpus."""
        return self.deviation or self.minus is not None


def _one_level(headed: Mapping[str, tuple[TableMeasure, ...]]) -> Mapping[str, tuple[TableMeasure, ...]]:
    levels: dict[str, str | None] = {}
    for measure in (measure for measures in headed.values() for measure in measures):
        if levels.setdefault(measure.metric, measure.level) != measure.level:
            raise ValueError(f"two levels of {measure.metric}: a table of kind level_shares shows them all")
    return headed


MeasureEntry = Annotated[
    TableMeasure, BeforeValidator(lambda value: {"metric": value} if isinstance(value, str) else value)
]
#: Measures under headings; a bare list stands under the metrics' own headings.
Headed = Annotated[
    Mapping[str, tuple[MeasureEntry, ...]],
    BeforeValidator(lambda value: value if isinstance(value, Mapping) else {"": value}),
    AfterValidator(_one_level),
]


def shares_shown(view: RatingsView, headed: Mapping[str, Sequence[TableMeasure]]) -> RatingsView:
    """The view with labels as shares of a level: of the one that a measure names, or the best of a flow's results."""
    results = flow_results(view.rubrics.values())
    shares: dict[str, LevelShare] = {}
    for measure in (measure for measures in headed.values() for measure in measures if measure.parts):
        for metric in view.metrics_like(measure.metric) if measure.level else measure.parts:
            result = results.get(metric)
            if measure.level is not None:
                own = LevelShare(measure.level, "lower" if measure.direction == "lower" else "higher")
            elif result is not None and result.direction != "none":
                own = LevelShare(result.labels[-1 if result.direction == "higher" else 0].label, "higher")
            else:
                continue
            if view.shares.get(metric) != own:
                shares[metric] = own
    return with_shares(view, shares) if shares else view


@dataclass(frozen=True, slots=True)
class NamedMetrics:
    """The metrics that options name, held against the ratings.

    Attributes:
        names: as the options name them; empty where they leave the choice to the kind of table.
        rated: the metrics in the ratings that these stand for.
        absent: those of the names that stand for none.
    """

    names: tuple[str, ...]
    rated: tuple[str, ...]
    absent: tuple[str, ...]

    @property
    def none_rated(self) -> bool:
        """Whether metrics are named and nobody rated any of them."""
        return bool(self.names) and not self.rated


def named_metrics(view: RatingsView, headed: Mapping[str, Sequence[TableMeasure]]) -> NamedMetrics:
    """The metrics that measures under headings name; of a ratio of sums the one that gives it its title."""
    names = [measure.metric for measures in headed.values() for measure in measures if measure.count is None]
    matches = {name: view.metrics_like(name) for name in names}
    return NamedMetrics(
        names=tuple(names),
        rated=tuple(metric for name in names for metric in matches[name]),
        absent=tuple(name for name in names if not matches[name]),
    )


# -- Of which raters a table or figure shows each metric ------------------------------------------------


def preferred_groups(groups: Sequence[str], raters: Sequence[str], counts: Mapping[str, int]) -> list[str]:
    """The groups of raters in the order of preference, without those that it doesn't name.

    Args:
        groups: people, or names of raters.
        raters: groups or patterns such as ``judge:*``, the best first.
        counts: how many values each group gave: of the groups of one pattern the one with most comes first.
    """
    return [
        group
        for pattern in raters
        for group in sorted(groups, key=lambda name: -counts.get(name, 0))
        if group == pattern or fnmatch.fnmatchcase(group, pattern)
    ]


@dataclass(frozen=True, slots=True)
class RaterChoice:
    """Whose values of each metric a figure shows, as metric and group of raters.

    Attributes:
        keys: what is shown.
        unshown: what has values besides.
    """

    keys: tuple[tuple[str, str], ...]
    unshown: tuple[tuple[str, str], ...] = ()

    def notes(self, view: RatingsView) -> list[str]:
        """Who else rated what is shown."""
        return also_rated_notes((view.facts(metric).title, group) for metric, group in self.unshown)


def rater_choice(view: RatingsView, keys: Iterable[tuple[str, str]], raters: Sequence[str]) -> RaterChoice:
    """Of each metric the group of raters that comes first in the order of preference.

    Args:
        view: the ratings.
        keys: metric and group of raters of what has values.
        raters: groups or patterns such as ``judge:*``, the best first; without them all keys are kept. Of the groups
            of one pattern the one that gave most values is taken.
    """
    known = list(dict.fromkeys(keys))
    if not raters:
        return RaterChoice(tuple(known))
    metrics = list(dict.fromkeys(metric for metric, _ in known))
    values = view.transcript_values(metrics).filter(pl.col("value").is_not_null())
    counts = dict(values.group_by("group").len().iter_rows())
    chosen = []
    for metric in metrics:
        groups = [group for name, group in known if name == metric]
        chosen += [(metric, group) for group in preferred_groups(groups, raters, counts)[:1]]
    return RaterChoice(tuple(chosen), tuple(key for key in known if key not in chosen))


def also_rated_notes(unshown: Iterable[tuple[str, str]]) -> list[str]:
    """Who rated what is shown as others rated it; ``unshown`` has the title of each measure with the raters."""
    titles: dict[str, dict[str, None]] = {}
    for title, group in unshown:
        titles.setdefault(group, {})[title] = None
    words = "; ".join(f"{rater_words(group)} ({', '.join(listed)})" for group, listed in titles.items())
    return [f"Also rated by {words}, not shown."] if words else []
