"""Changes: by how many per cent means lie over those at another level of a factor, or at another length."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Literal

import polars as pl
from pydantic import BaseModel, ConfigDict

from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.trend import message_counts
from bedside.core.errors import DataError
from bedside.ratings.suites.published_numbers import PublishedNumber
from bedside.reports.measures import Headed
from bedside.reports.number_text import signed
from bedside.reports.samples import measure
from bedside.reports.table import Table
from bedside.reports.table_content import Cell, Column, Row
from bedside.reports.table_kind import Options, TableKind
from bedside.stats.effects import relative_change

_TITLE = "Relative changes, in per cent"
_MEANING = (
    "By how many per cent the mean over transcripts lies over that at the other level. These changes have no interval; "
    "bedside compare RUN --groups FACTOR has differences with theirs."
)


class Contrast(BaseModel):
    """Two groups of transcripts.

    Attributes:
        title: what it is called.
        factor: the factor whose levels they have; ``messages`` by how many messages ``messages_of`` wrote.
        messages_of: the role.
        level, base: what is compared with what, as levels are called in print; or a number of messages, or two with
            a dash between.
        where: levels of other factors, which both have.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True)

    title: str
    factor: str = "messages"
    messages_of: Literal["clinician", "patient"] = "clinician"
    level: str
    base: str
    where: Mapping[str, str] = {}

    def part(self, view: RatingsView, level: str) -> RatingsView:
        """The transcripts of one of the two.

        Raises:
            DataError: none is, or nobody says how many messages they have.
        """
        asked = dict(self.where)
        if self.factor == "messages":
            least, _, most = level.partition("–")
            inside = message_counts(view, self.messages_of).filter(
                pl.col("length").is_between(int(least), int(most or least))
            )
            view = replace(view, ratings=view.ratings.join(inside, on="transcript_id", how="semi"))
        else:
            asked[self.factor] = level
        known = {} if view.factors is None else view.factors.drop("transcript_id").to_dict()
        levels = {
            name: [own for own in known.get(name, pl.Series([])).drop_nulls().unique()
                   if view.order.level_label(name, str(own)) == label] or [label]
            for name, label in asked.items()
        }  # fmt: skip
        return view.where(levels)


class ChangesOptions(Options):
    """What a table of changes shows.

    Attributes:
        metrics, raters: as for a table of results.
        contrasts: what is compared with what.
        published: the numbers that the suite's source printed in this table, to stand beside; a report sets them.
    """

    metrics: Headed
    contrasts: tuple[Contrast, ...]
    raters: tuple[str, ...] = ()
    published: tuple[PublishedNumber, ...] = ()


def build(view: RatingsView, seed: int, options: ChangesOptions) -> Table | None:
    """The changes of all measures in each contrast; None where none has transcripts of both levels."""
    systems = {name: view.order.system_label(name) for name in view.systems()}
    printed = {(one.measure, one.system, one.levels): one for one in options.published}
    rows, notes, records = [], [], list[dict[str, Any]]()
    for contrast in options.contrasts:
        try:
            parts = [contrast.part(view, level) for level in (contrast.level, contrast.base)]
        except DataError as error:
            notes.append(f"{contrast.title}: {error.what}.")
            continue
        own, base = ({item.key: (item, samples) for item, samples in measure(
            part, options.metrics, raters=options.raters).items} for part in parts)  # fmt: skip
        if not own.keys() & base.keys():
            notes.append(f"{contrast.title}: nothing is rated at both levels.")
        for key, (item, samples) in ((key, pair) for key, pair in own.items() if key in base):
            cells = [Cell(item.title)]
            for system, label in systems.items():
                first, second = (side.get((system, ())) for side in (samples, base[key][1]))
                values: list[Any] = [[] if sample is None else sample.values for sample in (first, second)]
                change = relative_change(*values, paired=False)
                told = printed.get((item.title, label, (contrast.title,)))
                braced = "" if told is None else f" {{{told.printed}}}"
                cells.append(Cell(signed(change.estimate, 2) + braced, record=len(records)))
                records.append({
                    "cell": f"{contrast.title}/{key}/{system}", "contrast": contrast.title, "metric": item.metric,
                    "raters": item.group, "system": system, "change_percent": change.estimate, "n": len(values[0]),
                    "base_n": len(values[1]), "published": None if told is None else told.value,
                    "missing": change.missing,
                })  # fmt: skip
            rows.append(Row(tuple(cells), contrast.title))
    columns = (Column("Metric", "left"), *map(Column, systems.values()))
    table = Table("changes", _TITLE, columns, tuple(rows), (_MEANING, *notes), tuple(records))
    return options.finish(table) if rows else None


TABLE = TableKind("changes", _TITLE, 33, build, ChangesOptions, shown="named")
