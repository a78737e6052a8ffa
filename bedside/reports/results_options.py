"""What a table of results shows, and how it is laid out: what a suite can say of it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from bedside.analysis.choices import Correction, CorrectionFamily, Test
from bedside.reports.measures import Headed
from bedside.reports.table_kind import Options

#: Names of the dimensions that are not factors.
METRIC, SYSTEM = "metric", "system"
Spread = Literal["sd", "ci", "none"]
Best = Literal["interval", "always", "never"]


class ResultsOptions(Options):
    """What a table of results shows, and how it is laid out.

    Attributes:
        metrics: the measures, under headings or as a bare list; all metrics of whole transcripts unless named.
        rows, columns: ``metric``, ``system`` or the name of a factor. The last of the rows labels a row, those before
            it head groups of rows; likewise for columns. Without ``system`` all systems are taken together.
        spread: beside a mean its standard deviation (``sd``), its 95 % interval (``ci``), or nothing.
        best: bold for the best of systems where the 95 % ``interval`` of differences tells it from another,
            ``always``, or ``never``.
        test: test each system against ``against``; where that isn't named and there are two systems in columns, the
            test stands in columns of its own.
        against: the system that others are tested against.
        family, correction: as for ``bedside compare``.
        deviation: beside each mean its distance from the mean of the reference corpus.
        case_level: after each ratio of sums the mean of the transcripts' own values.
        counts: begin with the number of transcripts and of cases.
    """

    metrics: Headed = Field(default_factory=dict)
    rows: tuple[str, ...] = (METRIC,)
    columns: tuple[str, ...] = (SYSTEM,)
    spread: Spread = "sd"
    best: Best = "interval"
    test: Test | None = None
    against: str | None = None
    family: CorrectionFamily = "all"
    correction: Correction = "holm"
    deviation: bool = False
    case_level: bool = False
    counts: bool = False

    @model_validator(mode="after")
    def _laid_out(self) -> ResultsOptions:
        dimensions = (*self.rows, *self.columns)
        if not self.rows or not self.columns or len(set(dimensions)) < len(dimensions):
            raise ValueError("rows and columns need one dimension each, and none twice")
        if METRIC not in dimensions:
            raise ValueError("either the rows or the columns hold the metric")
        if self.deviation and (self.rows, self.columns) != ((METRIC,), (SYSTEM,)):
            raise ValueError("deviation needs metrics in rows and systems in columns")
        return self

    @property
    def factors(self) -> tuple[str, ...]:
        """The dimensions that are factors."""
        return tuple(name for name in (*self.rows, *self.columns) if name not in (METRIC, SYSTEM))
