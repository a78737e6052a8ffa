"""Labels of whole transcripts as numbers, where they can be compared: two levels as a share, ordered ones by place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import polars as pl

from bedside.analysis.metric_facts import LevelShare, MetricFacts
from bedside.analysis.ratings_view import RatingsView
from bedside.judges.rubrics.rubric import Rubric
from bedside.ratings.scales import Scale

#: Labels that say that something is so, and that it isn't; compared without regard to case.
_AFFIRMED = frozenset(
    ("yes", "y", "true", "present", "pass", "passed", "met", "positive", "1", "ja", "oui", "是", "有")
)
_DENIED = frozenset(
    ("no", "n", "false", "absent", "none", "fail", "failed", "not met", "negative", "0", "nein", "non", "否", "无")
)


@dataclass(frozen=True, slots=True)
class LabelNumbers:
    """A view in which labels that can be compared are numbers.

    Attributes:
        view: the view; ratings with other labels are as they were.
        yes: by metrics of two levels, the level that is 1; the other is 0. Where all have one level, it is this one.
        ordered: by metrics of ordered labels, these in order; the first is 0.
        refused: by metrics whose labels can't be compared, why.
    """

    view: RatingsView
    yes: Mapping[str, str] = field(default_factory=dict)
    ordered: Mapping[str, Sequence[str]] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)

    def facts(self, metric: str) -> MetricFacts:
        """What is known of a metric; the title of labels says the share of which one is compared."""
        facts, yes = self.view.facts(metric), self.yes.get(metric)
        return facts if yes is None else replace(facts, title=f"{facts.title} (share of {yes})")


def label_numbers(view: RatingsView, metrics: Sequence[str], *, constants: bool = False) -> LabelNumbers:
    """The view with the labels of whole transcripts as numbers, as far as these metrics' can be compared; those that
    are all the same only where such ``constants`` are asked for."""
    labelled = view.ratings.filter(
        pl.col("unit") == "transcript", pl.col("metric").is_in(list(metrics)), pl.col("label").is_not_null()
    )
    if labelled.is_empty():
        return LabelNumbers(view)
    yes: dict[str, str] = {}
    ordered: dict[str, Sequence[str]] = {}
    refused: dict[str, str] = {}
    numbers: dict[str, dict[str, float]] = {}
    for (metric,), part in labelled.group_by("metric", maintain_order=True):
        name = str(metric)
        scale = view.scales.get(name)
        labels = _labels(scale, part)
        if len(labels) == 2 or (constants and len(labels) == 1):
            yes[name] = (affirmed(labels) if labels[1:] else None) or labels[-1]
            numbers[name] = {label: float(label == yes[name]) for label in labels}
        elif scale is not None and scale.ordered:
            ordered[name] = labels
            numbers[name] = {label: float(place) for place, label in enumerate(labels)}
        elif len(labels) < 2:
            refused[name] = f"every rating is {labels[0]!r}"
        else:
            refused[name] = (
                f"its {len(labels)} labels have no order; if they have one, give their scale as low<middle<high"
            )
    return LabelNumbers(_with_numbers(view, numbers), yes, ordered, refused)


def with_shares(view: RatingsView, shares: Mapping[str, LevelShare]) -> RatingsView:
    """The view in which ratings of whole transcripts by these metrics are 1 where they have the level, and else 0."""
    labels = view.ratings.filter(pl.col("metric").is_in(list(shares)), pl.col("label").is_not_null())
    numbers: dict[str, dict[str, float]] = {}
    for metric, label in labels.select("metric", "label").unique().iter_rows():
        numbers.setdefault(metric, {})[label] = float(label == shares[metric].level)
    scales = {**view.scales, **dict.fromkeys(shares, Scale((0.0, 1.0), True))}
    return replace(_with_numbers(view, numbers), scales=scales, shares={**view.shares, **shares})


def level_metric(metric: str, level: str) -> str:
    """The metric of whether ratings by another have this level."""
    return f"{metric}={level}"


def at_level(ratings: pl.DataFrame, metric: str, level: str) -> pl.DataFrame:
    """Ratings by a metric as those of :func:`level_metric`: 1 where they have the level, 0 where they have another."""
    return ratings.filter(pl.col("metric") == metric).with_columns(
        pl.lit(level_metric(metric, level)).alias("metric"), (pl.col("label") == level).cast(pl.Float64).alias("value"),
        pl.lit(None, dtype=pl.String()).alias("label"),
    )  # fmt: skip


def with_levels(view: RatingsView, levels: Mapping[str, Sequence[str]]) -> RatingsView:
    """The view of nothing but whether ratings by metrics have each of their levels, as metrics of their own."""
    each = [(metric, level) for metric, own in levels.items() for level in own]
    tables = (pl.concat([at_level(table, *one) for one in each]) for table in (view.ratings, view.final))
    return replace(view, ratings=next(tables), final=next(tables),
                   scales={level_metric(*one): Scale((0.0, 1.0), True) for one in each})  # fmt: skip


def flow_results(rubrics: Iterable[Rubric]) -> dict[str, Rubric]:
    """What the dimensions of flows come to, by metric; of a flow with a direction, levels stand from worst to best."""
    flows = [rubric for rubric in rubrics if rubric.kind == "flow"]
    return {own.name: own for rubric in flows for own in rubric.measures[len(rubric.questions) :]}


def _labels(scale: Scale | None, part: pl.DataFrame) -> list[str]:
    """The labels of a scale, or those that were given."""
    if scale is not None and all(isinstance(level, str) for level in scale.levels):
        return [str(level) for level in scale.levels]
    return sorted(part["label"].unique())


def affirmed(labels: Sequence[str]) -> str | None:
    """Which of two labels affirms, such as ``yes``; None where their words don't tell."""
    words = [label.strip().casefold() for label in labels]
    for is_meant in ([word in _AFFIRMED for word in words], [word not in _DENIED for word in words]):
        if is_meant[0] != is_meant[1]:
            return labels[is_meant.index(True)]
    return None


def _with_numbers(view: RatingsView, numbers: Mapping[str, Mapping[str, float]]) -> RatingsView:
    if not numbers:
        return view
    values = pl.DataFrame(
        [(name, label, value) for name, by_label in numbers.items() for label, value in by_label.items()],
        schema={"metric": pl.String(), "label": pl.String(), "number": pl.Float64()},
        orient="row",
    )
    whole = pl.col("unit") == "transcript"

    def numbered(ratings: pl.DataFrame) -> pl.DataFrame:
        joined = ratings.join(values, on=("metric", "label"), how="left", maintain_order="left")
        is_number = whole & pl.col("number").is_not_null()
        return joined.with_columns(
            pl.when(whole).then(pl.coalesce("number", "value")).otherwise(pl.col("value")).alias("value"),
            pl.when(is_number).then(None).otherwise(pl.col("label")).alias("label"),
        ).drop("number")

    return replace(view, ratings=numbered(view.ratings), final=numbered(view.final))
