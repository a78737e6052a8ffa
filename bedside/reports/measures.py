"""Measures of a table or figure as a suite names them, and the metrics in the ratings that they stand for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from bedside.analysis.ratings_view import RatingsView


class TableMeasure(BaseModel):
    """One measure of a table: a metric's mean over transcripts, or a ratio of sums over them.

    Attributes:
        metric: the metric; without role it stands for all roles. Of a ratio of sums it gives direction, title and
            digits, and its values are what tests compare.
        title: as in the row; the metric's own unless given.
        digits: decimals to print; the metric's own unless given.
        percent: print a share as per cent.
        sum: metrics whose values are summed over transcripts, for the numerator.
        over: the same for the denominator.
        times: factor on the numerator.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    metric: str
    title: str | None = None
    digits: int | None = Field(default=None, ge=0, le=6)
    percent: bool = False
    sum: tuple[str, ...] = ()
    over: tuple[str, ...] = ()
    times: float = 1.0

    @model_validator(mode="after")
    def _both_sums(self) -> TableMeasure:
        if bool(self.sum) != bool(self.over):
            raise ValueError("a ratio of sums needs both: sum and over")
        return self


def _measure(value: Any) -> Any:
    return {"metric": value} if isinstance(value, str) else value


def _headed(value: Any) -> Any:
    return value if isinstance(value, Mapping) else {"": value}


MeasureEntry = Annotated[TableMeasure, BeforeValidator(_measure)]
#: Measures under headings; a bare list stands under the metrics' own headings.
Headed = Annotated[Mapping[str, tuple[MeasureEntry, ...]], BeforeValidator(_headed)]


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
    names = [measure.metric for measures in headed.values() for measure in measures]
    matches = {name: view.metrics_like(name) for name in names}
    return NamedMetrics(
        names=tuple(names),
        rated=tuple(metric for name in names for metric in matches[name]),
        absent=tuple(name for name in names if not matches[name]),
    )
