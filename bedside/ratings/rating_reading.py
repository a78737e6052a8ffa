"""What a user can say about a file of ratings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from bedside.ratings.column_words import plain
from bedside.ratings.scales import Scale


@dataclass(frozen=True, slots=True)
class RatingReading:
    """How a file or data frame of ratings is to be read.

    Attributes:
        form: name of the form (``bedside.ratings.forms``); None recognises it by its content.
        columns: bedside's column name → the file's; an empty name says that there is no such column.
        metric: the metric's name where the file has none; None calls it ``rating``.
        sheet: of a workbook: a worksheet's name, or ``all``; None takes the only one that holds a table.
        header_row: line or row of the column names, from 1; None finds it.
        encoding: of a text file; None recognises it.
        scales: the scale of each metric, or under None of all.
        known_scale: the scale of a metric for which ``scales`` has none, such as that of a rubric.
    """

    form: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    metric: str | None = None
    sheet: str | None = None
    header_row: int | None = None
    encoding: str | None = None
    scales: Mapping[str | None, Scale] = field(default_factory=dict)
    known_scale: Callable[[str], Scale | None] | None = None

    @property
    def only_metric(self) -> str:
        """The name of the metric of a file that names none."""
        return self.metric or "rating"

    def scale(self, metric: str) -> Scale | None:
        """A metric's scale: its own, that of all, or one that is known."""
        scale = self.scales.get(metric) or self.scales.get(None)
        return scale if scale is not None or self.known_scale is None else self.known_scale(metric)

    def knows_metric(self, name: str) -> bool:
        """Whether a name is that of a metric: a rubric's or a code's, or one that the user gave a scale."""
        names = (name.strip(), plain(name))
        if any(spelling in self.scales for spelling in names):
            return True
        return self.known_scale is not None and any(
            self.known_scale(spelling) is not None for spelling in names
        )
