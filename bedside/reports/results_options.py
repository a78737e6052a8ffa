"""What a table of results shows, and how it is laid out: what a suite can say of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import Field, model_validator

from bedside.analysis.selection import Correction, CorrectionFamily, Test
from bedside.ratings.suites.published_numbers import PublishedNumber
from bedside.reports.measures import Headed
from bedside.reports.table import Options

#: Names of the dimensions that are not factors.
METRIC, SYSTEM, RATERS = "metric", "system", "raters"
Spread = Literal["sd", "ci", "none"]
Best = Literal["interval", "always", "never"]


class ResultsOptions(Options):
    """What a table of results shows, and how it is laid out.

    Attributes:
        metrics: the measures, under headings or as a bare list; all metrics of whole transcripts unless named.
        rows, columns: ``metric``, ``system``, ``raters`` or the name of a factor. Without ``raters`` groups of raters
            that gave values have measures of their own. The last of the rows labels a row, those before
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
        reference: a column with the reference corpus's own means, the last; the name is the one that the source gives
            its corpus.
        raters: groups of raters or patterns in order of preference, such as ``[people, "judge:*", "algorithm:*"]``: a
            measure has one row, of the first that has values. Without it each group has its own.
        n: say in a column or in cells how many transcripts a number rests on.
        arrows: of which directions titles have an arrow.
        second: underline the second best.
        best_among: dimensions over which the best is looked for: of systems, unless factors are named too.
        headings: whether metrics stand in rows under headings of their own, where the suite gives none.
        percent_signs: print ``(%)`` after the titles of measures in per cent.
        key_columns: how many of the rows' dimensions, the last ones, stand in columns of their own, each name once;
            those before them head groups of rows.
        names: what dimensions are called in print.
        heading: what stands over all columns of numbers, where these are systems or levels.
        published: the numbers that the suite's source printed in this table, to stand beside; a report sets them.
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
    reference: str | None = None
    raters: tuple[str, ...] = ()
    n: bool = True
    arrows: tuple[Literal["higher", "lower"], ...] = ("higher", "lower")
    second: bool = True
    best_among: tuple[str, ...] = (SYSTEM,)
    headings: bool = True
    percent_signs: bool = True
    key_columns: int = Field(default=1, ge=1)
    names: Mapping[str, str] = {}
    heading: str | None = None
    published: tuple[PublishedNumber, ...] = ()

    @model_validator(mode="after")
    def _laid_out(self) -> ResultsOptions:
        dimensions = (*self.rows, *self.columns)
        if not self.rows or not self.columns or len(set(dimensions)) < len(dimensions):
            raise ValueError("rows and columns need one dimension each, and none twice")
        if METRIC not in dimensions:
            raise ValueError("either the rows or the columns hold the metric")
        if RATERS in dimensions and (self.test or self.against or self.raters or self.reference):
            raise ValueError(
                "raters in rows or columns go with no test, preferred raters or reference corpus"
            )
        if self.deviation and (self.rows, self.columns) != ((METRIC,), (SYSTEM,)):
            raise ValueError("deviation needs metrics in rows and systems in columns")
        if self.reference and METRIC not in self.rows:
            raise ValueError("a column of the reference corpus needs metrics in rows")
        if self.key_columns > len(self.rows):
            raise ValueError("there are fewer dimensions in rows than key_columns")
        unknown = [name for name in self.best_among if name not in dimensions or name == METRIC]
        if unknown and unknown != [SYSTEM]:
            raise ValueError(
                f"best_among names {unknown[0]!r}, by which neither rows nor columns are divided"
            )
        return self

    @property
    def transcript_factors(self) -> tuple[str, ...]:
        """The dimensions that are factors of transcripts, and not who rated."""
        return tuple(name for name in self.factors if name != RATERS)

    @property
    def factors(self) -> tuple[str, ...]:
        """The dimensions that are factors; who rated is one of them."""
        return tuple(name for name in (*self.rows, *self.columns) if name not in (METRIC, SYSTEM))
