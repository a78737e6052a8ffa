"""Measures of a table or figure as a suite names them, and the metrics in the ratings that they stand for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from bedside.analysis.ratings_view import RatingsView

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
        minus: a system: what is printed is the difference of the measure from that system's.
        deviation: what is printed is the distance from the mean of the reference corpus, of which less is better.
        count: ``transcripts``, ``cases``, or a field of the transcripts' references, such as ``reference.diagnosis``:
            what is printed is how many there are, of a field how many different values.
        direction: which way is better; the metric's own unless given.
        note: a footnote: how the measure differs from the source's.
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
    minus: str | None = None
    deviation: bool = False
    count: str | None = Field(default=None, pattern=r"^(transcripts|cases|reference\.\w+)$")
    direction: Better | None = None
    trim: bool = False
    note: str | None = None

    @model_validator(mode="after")
    def _of_one_kind(self) -> TableMeasure:
        if bool(self.sum) != bool(self.over):
            raise ValueError("a ratio of sums needs both: sum and over")
        if bool(self.sum) + bool(self.mean) + (self.count is not None) > 1:
            raise ValueError("a measure is one of: a ratio of sums, a mean of metrics, a count")
        if self.minus is not None and self.deviation:
            raise ValueError(
                "a measure is a difference from a system or a distance from the reference, not both"
            )
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
    names = [measure.metric for measures in headed.values() for measure in measures if measure.count is None]
    matches = {name: view.metrics_like(name) for name in names}
    return NamedMetrics(
        names=tuple(names),
        rated=tuple(metric for name in names for metric in matches[name]),
        absent=tuple(name for name in names if not matches[name]),
    )
