"""Changes: by how many per cent means lie over those at another level of a factor, or at another length."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import polars as pl
from pydantic import BaseModel, ConfigDict

from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.trend import message_counts
from bedside.core.errors import DataError
from bedside.ratings.suites.published_numbers import PublishedNumber
from bedside.reports.measures import Headed
from bedside.reports.number_text import percent_over, signed
from bedside.reports.samples import measure
from bedside.reports.table import Table
from bedside.reports.table_content import Cell, Column, Row
from bedside.reports.table_kind import Options, TableKind

_TITLE = "Relative changes, in per cent"
_MEANING = (
    "By how many per cent the mean over transcripts lies over that at the other level. These changes have no interval; "
    "bedside compare RUN --groups FACTOR has differences with theirs."
)


class Contrast(BaseModel):
    """Two groups of transcripts.

    Attributes:
        title: what it is called.
        factor: whose levels they have, as they are called in print; without it levels are a number of the clinician's
            messages, or the least and the most with a dash between.
        level, base: what is compared with what.
        where: levels of other factors, which both have.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True)

    title: str
    factor: str | None = None
    level: str
    base: str
    where: Mapping[str, str] = {}

    def part(self, view: RatingsView, level: str) -> RatingsView:
        """The transcripts of one of the two.

        Raises:
            DataError: none is, or nobody says how many messages they have.
        """
        named = dict(self.where) if self.factor is None else {**self.where, self.factor: level}
        if self.factor is None:
            least, _, most = level.partition("–")
            inside = pl.col("length").is_between(int(least), int(most or least))
            counts = message_counts(view, "clinician").filter(inside)
            view = replace(view, ratings=view.ratings.join(counts, on="transcript_id", how="semi"))
        known = pl.DataFrame() if view.factors is None else view.factors
        return view.where({
            name: [own for own in known.get_column(name, default=pl.Series()).drop_nulls().unique()
                   if view.order.level_label(name, own) == label] or [label]
            for name, label in named.items()
        })  # fmt: skip


class ChangesOptions(Options):
    """What a table of changes shows.

    Attributes:
        metrics, raters, published: as of a table of results.
        contrasts: what is compared with what.
    """

    metrics: Headed
    contrasts: tuple[Contrast, ...]
    raters: tuple[str, ...] = ()
    published: tuple[PublishedNumber, ...] = ()


def build(view: RatingsView, seed: int, options: ChangesOptions) -> Table | None:
    """The changes of all measures in each contrast; None where none has values at both levels."""
    systems = {name: view.order.system_label(name) for name in view.systems()}
    printed = {(one.measure, one.system, one.levels): one for one in options.published}
    rows, notes, records = [], [_MEANING], list[dict[str, Any]]()
    for contrast in options.contrasts:
        try:
            parts = [contrast.part(view, level) for level in (contrast.level, contrast.base)]
        except DataError as error:
            notes.append(f"{contrast.title}: {error.what}.")
            continue
        found = [measure(part, options.metrics, raters=options.raters).items for part in parts]
        base = {item.key: samples for item, samples in found[1]}
        shown = [(item, samples) for item, samples in found[0] if item.key in base]
        notes += [] if shown else [f"{contrast.title}: nothing is rated at both levels."]
        for item, samples in shown:
            cells = [Cell(item.title)]
            for system, label in systems.items():
                pair = [side.get((system, ())) for side in (samples, base[item.key])]
                change = percent_over(*(None if sample is None else sample.estimate for sample in pair))
                n, base_n = (0 if sample is None else sample.n for sample in pair)
                source_number = printed.get((item.title, label, (contrast.title,)))
                braced = "" if source_number is None else f" {{{source_number.printed}}}"
                cells.append(Cell(signed(change, 2) + braced, record=len(records)))
                records.append({
                    "cell": f"{contrast.title}/{item.key}/{system}", "contrast": contrast.title, "metric": item.metric,
                    "raters": item.group, "system": system, "change_percent": change, "n": n, "base_n": base_n,
                    "published": source_number and source_number.value,
                })  # fmt: skip
            rows.append(Row(tuple(cells), contrast.title))
    columns = (Column("Metric", "left"), *map(Column, systems.values()))
    table = Table("changes", _TITLE, columns, tuple(rows), tuple(notes), tuple(records))
    return options.finish(table) if rows else None


TABLE = TableKind("changes", _TITLE, 33, build, ChangesOptions, shown="named")
