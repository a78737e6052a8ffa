"""What is known of a metric by its name: what it is called, which way is better, which scale it has."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

import polars as pl

from bedside.judges.deepeval_raters.catalogue import is_deepeval, words_of
from bedside.judges.rubrics.answer_form import LINKED_KINDS
from bedside.judges.rubrics.rubric import Rubric, plain_name, titled
from bedside.judges.rubrics.rubric_files import RUBRICS, OwnRubrics, own_rubrics
from bedside.metrics import FAMILIES
from bedside.metrics.contract import Unit
from bedside.ratings.names import rated_by_humans
from bedside.ratings.rating_reading import KnownMetric, KnownNames
from bedside.ratings.rubric_metrics import SHARES, is_preference, preferred_by
from bedside.ratings.run import RATINGS_FILE, Run
from bedside.ratings.scales import Scale
from bedside.ratings.spellings import metric_key
from bedside.ratings.values import Direction


@dataclass(frozen=True, slots=True)
class MetricFacts:
    """What is known of a metric by its name in the ratings table (with role).

    Attributes:
        name: the name.
        title: as in a table's row.
        group: the heading it stands under.
        direction: whether higher is better, lower is better, or neither.
        digits: decimals to print.
        order: position in tables; rubrics and other ratings come before what families define.
        labels: the labels of a nominal code.
        defined: whether a metric family defines it.
        labelled: whether it is computed from a rater's labels of the whole conversation, as protocols have them.
        low, high: the range of its values as its family states it; None where open, or not known.
        unit: what its family or rubric rates; None where it isn't known.
        aliases: other names by which people's sheets may call it.
        fails_at: of a rubric, the level at which a transcript fails; None where it has none.
    """

    name: str
    title: str
    group: str
    direction: Direction = "none"
    digits: int = 2
    order: int = -1
    labels: tuple[str, ...] = ()
    defined: bool = False
    labelled: bool = False
    low: float | None = None
    high: float | None = None
    unit: Unit | None = None
    aliases: tuple[str, ...] = ()
    fails_at: float | None = None


class LevelShare(NamedTuple):
    """A label whose share stands in place of a mean, and whether it is better that more conversations have it."""

    level: str
    direction: Direction


@cache
def _family_metrics() -> Mapping[str, MetricFacts]:
    by_name: dict[str, MetricFacts] = {}
    for family in FAMILIES.all().values():
        for metric in family.metrics:
            roles = ("", *metric.roles) if metric.whole or not metric.roles else metric.roles
            for role in roles:
                name = f"{metric.name}.{role}" if role else metric.name
                title = f"{metric.title}, {role}" if role else metric.title
                by_name[name] = MetricFacts(
                    name=name,
                    title=title,
                    group=family.title,
                    direction=metric.direction,
                    digits=metric.digits,
                    order=len(by_name),
                    labels=metric.labels,
                    defined=True,
                    labelled=family.labelled,
                    low=metric.low,
                    high=metric.high,
                    unit=metric.unit,
                    aliases=() if role else metric.aliases,
                )
    return by_name


_NONE: OwnRubrics = MappingProxyType({})


def facts(name: str, rubrics: OwnRubrics = _NONE, levels: Collection[object] = ()) -> MetricFacts:
    """The facts of a metric or rubric, the user's own ``rubrics`` included; else its name in words.

    Where a shipped rubric of this name lacks one of the ``levels``, of a scale or that were given, it is not meant.
    """
    # No shipped rubric is called like a metric of a family, which need not be loaded to know of it.
    rubric = _rubric(name, rubrics)
    of_family = None if name in RUBRICS else _family_metrics().get(name)
    if of_family is not None:
        return of_family
    scale = None if rubric is None or name in rubrics else rubric.rating_scale()
    if rubric is not None and (scale is None or not set(levels) - set(scale.levels)):
        return MetricFacts(
            name, rubric.title, "Ratings", rubric.direction, labels=rubric_labels(rubric), unit=rubric.unit,
            aliases=rubric.aliases, fails_at=None if rubric.fails_at is None else float(rubric.fails_at),
        )  # fmt: skip
    of_links = _rubric(name.partition(".")[0], rubrics) if "." in name else None
    if of_links is not None and of_links.kind in LINKED_KINDS:
        part = "links" if name.endswith(".link") else plain_name(name.partition(".")[2])
        return MetricFacts(name, f"{of_links.title}: {part}", "Ratings")
    for own in rubrics.values():
        if own.aggregate is not None and own.aggregate.name == name:
            of = facts(f"{own.name}_{own.aggregate.mean_of[0]}", rubrics)
            return MetricFacts(name, own.aggregate.title or titled(name), "Ratings", of.direction, unit=own.unit)
        if own.points is not None and name.startswith(f"{own.name}_"):
            return MetricFacts(name, titled(name), "Ratings", own.direction, unit=own.unit)
    if is_preference(name):
        title = facts(preferred_by(name), rubrics).title
        return MetricFacts(name, f"{title}: which is better", "Preferences", labels=tuple(SHARES))
    if is_deepeval(name):
        return MetricFacts(name, words_of(name), "deepeval", "higher", low=0.0, high=1.0)
    return MetricFacts(name, name.replace("_", " ").capitalize(), "Ratings")


def _rubric(name: str, rubrics: OwnRubrics) -> Rubric | None:
    if name in rubrics:
        return rubrics[name]
    return RUBRICS.load(name) if name in RUBRICS else None


def rubric_labels(rubric: Rubric) -> tuple[str, ...]:
    """The labels of a rubric that asks for one; none for other kinds."""
    scale = rubric.rating_scale()
    return tuple(str(level) for level in scale.levels) if scale is not None and not scale.ordered else ()


def known_scale(name: str, rubrics: OwnRubrics = _NONE) -> Scale | None:
    """The scale that a rubric, the user's own ``rubrics`` included, or a code brings with it."""
    rubric = _rubric(name, rubrics)
    if rubric is not None:
        return rubric.rating_scale()
    code = None if is_preference(name) else _family_metrics().get(name)
    return Scale(code.labels, False) if code is not None and code.labels else None


def known_names(run: Run | None = None) -> KnownNames:
    """The names that those of a file of ratings may stand for: of rubrics and codes, and of what a run has.

    Args:
        run: the run that the ratings are for; None where they are asked about by themselves.

    Raises:
        RunError: the run's ratings are missing or damaged.
    """
    if run is None:
        return KnownNames(scale=known_scale, others=_others)
    own = own_rubrics(run)
    units, raters, labels = _rated_names(run)
    rated = [
        KnownMetric(name, (of_name.title, *of_name.aliases), of_units, known_scale(name, own))
        for name, of_units in units.items()
        for of_name in (facts(name, own),)
    ]
    return KnownNames(
        scale=lambda name: known_scale(name, own),
        others=lambda key: _others(key, own),
        rated=rated,
        raters=raters,
        labels=labels,
    )


def _rated_names(run: Run) -> tuple[dict[str, frozenset[str]], list[str], dict[str, list[str]]]:
    """The units of each metric of a run, the people who rated, and the labels of each metric."""
    table = run.scan()
    kind = pl.col("unit").str.split(":").list.first()
    with run.sound(RATINGS_FILE):
        units, raters, labels = pl.collect_all(
            [
                table.group_by("metric").agg(kind.unique()).sort("metric"),
                table.filter(rated_by_humans()).select(pl.col("rater").unique().sort()),
                table.drop_nulls("label").group_by("metric").agg(pl.col("label").unique().sort()),
            ]
        )
    return (
        {name: frozenset(kinds) for name, kinds in units.iter_rows()},
        raters["rater"].to_list(),
        dict(labels.iter_rows()),
    )


def _others(key: str, own: OwnRubrics = _NONE) -> list[KnownMetric]:
    """Rubrics and codes that have this key: by their names, or else by titles and aliases."""
    codes = [metric for metric in _family_metrics().values() if metric.labels]
    named = [name for name in RUBRICS.names() if metric_key(name) == key]
    if not named:
        # Only what may have it is read: its file says it somewhere.
        named = [name for name in RUBRICS.names() if _letters(key) in _letters(_rubric_text(name))]
    rubrics = [*own.values(), *(RUBRICS.load(name) for name in named if name not in own)]
    known = [
        KnownMetric(rubric.name, (rubric.title, *rubric.aliases), frozenset((rubric.unit,)), rubric.rating_scale())
        for rubric in {rubric.name: rubric for rubric in rubrics}.values()
    ]
    known += [
        KnownMetric(code.name, (code.title, *code.aliases), frozenset((code.unit or "",)), Scale(code.labels, False))
        for code in codes
    ]
    return [metric for metric in known if metric.scale is not None and metric.is_called(key)]


@cache
def _rubric_text(name: str) -> str:
    return RUBRICS.path(name).read_text("utf-8")


def _letters(text: str) -> str:
    return re.sub(r"[\W_]+", "", text.casefold())


@dataclass(frozen=True, slots=True)
class MetricRatings:
    """A result on one metric.

    Attributes:
        facts: what is known of the metric where its ratings are from.
    """

    facts: MetricFacts

    @property
    def metric(self) -> str:
        """The metric's name."""
        return self.facts.name
