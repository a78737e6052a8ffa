"""What is known of a metric by its name: what it is called, which way is better, which scale it has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from bedside.judges.deepeval_raters.catalogue import is_deepeval, words_of
from bedside.metrics import FAMILIES
from bedside.protocols.contract import PROTOCOLS
from bedside.ratings.pair_preferences import SHARES, is_preference, preferred_by
from bedside.ratings.scales import Scale
from bedside.ratings.values import Direction
from bedside.rubrics.rubric import Rubric
from bedside.rubrics.rubric_files import RUBRICS
from bedside.rubrics.run_rubrics import OwnRubrics


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


@cache
def _family_metrics() -> Mapping[str, MetricFacts]:
    by_name: dict[str, MetricFacts] = {}
    of_labels = {protocol.family for protocol in PROTOCOLS.all().values()}
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
                    labelled=family.name in of_labels,
                    low=metric.low,
                    high=metric.high,
                )
    return by_name


_NONE: OwnRubrics = MappingProxyType({})


def facts(name: str, rubrics: OwnRubrics = _NONE) -> MetricFacts:
    """The facts of a metric or rubric, the user's own ``rubrics`` included; else its name in words."""
    of_family = _family_metrics().get(name)
    if of_family is not None:
        return of_family
    rubric = _rubric(name, rubrics)
    if rubric is not None:
        return MetricFacts(name, rubric.title, "Ratings", rubric.direction, labels=rubric_labels(rubric))
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
    code = _family_metrics().get(name)
    return Scale(code.labels, False) if code is not None and code.labels else None


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
