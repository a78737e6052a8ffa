"""The cells of ratings of a whole file as columns, of which each different kind is looked at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from bedside.ratings.rated_cells import RatedCell
from bedside.stats.arrays import Indices
from bedside.transcripts.text_table import Places

#: What a cell says besides where it stands, and what it says where a form leaves that out.
FIELDS: Mapping[str, str] = {
    name: RatedCell._field_defaults.get(name, "")
    for name in RatedCell._fields
    if name not in ("where", "times", "alike")
}
#: What a cell rates, as :attr:`RatedCell.rated` has it.
RATED = ("item", "second", "turn", "replicate", "round")


def text_codes(column: pl.Series) -> pl.Series:
    """A whole number from 1 for each different text of a column, 0 for none: numbers take less time and memory."""
    codes = column.cast(pl.Enum(column.drop_nulls().unique(maintain_order=True))).to_physical()
    return (codes + 1).fill_null(0)


@dataclass(frozen=True, slots=True)
class Alike:
    """Cells that are alike in some way.

    Attributes:
        cells: the first of each kind, in their order; None for a kind that is left out.
        kinds: of each cell, the place of its kind among them.
        firsts: the row of the first of each kind.
    """

    cells: Sequence[Any]
    kinds: Indices
    firsts: Indices

    def column(self, of_kinds: Iterable[object], dtype: pl.DataType | type[pl.DataType] = pl.String) -> pl.Series:
        """What each cell has, given what each kind has."""
        return pl.Series(list(of_kinds), dtype=dtype, strict=False).gather(self.kinds)


@dataclass(frozen=True, slots=True)
class CellColumns:
    """The cells of ratings of a file.

    Attributes:
        columns: by the names of :class:`RatedCell`'s fields, those in which cells differ.
        places: where each stands.
        same: what all cells have in other fields; the rest is empty.
    """

    columns: pl.DataFrame
    places: Places
    same: Mapping[str, str]

    @classmethod
    def of(cls, cells: Iterable[RatedCell] | CellColumns) -> CellColumns:
        """Cells as columns."""
        if isinstance(cells, CellColumns):
            return cells
        held = list(cells)
        rows = zip(*held, strict=True) if held else [()] * len(RatedCell._fields)
        columns = {
            name: pl.Series(list(column), dtype=pl.String())
            for name, column in zip(RatedCell._fields, rows, strict=True)
            if name == "where" or (name in FIELDS and any(column))
        }
        where = columns.pop("where")
        return cls(pl.DataFrame(columns, height=len(held)), Places("", where), {})

    @classmethod
    def joined(cls, parts: Sequence[CellColumns]) -> CellColumns:
        """The cells of several files, one after the other."""
        if len(parts) == 1:
            return parts[0]
        frames = [
            part.columns.with_columns(**{name: pl.lit(text) for name, text in part.same.items()}) for part in parts
        ]
        columns = pl.concat(frames, how="diagonal").fill_null("")
        return cls(columns, Places("", pl.Series([where for part in parts for where in part.places])), {})

    @property
    def height(self) -> int:
        """How many there are."""
        return self.columns.height

    def has(self, name: str) -> bool:
        """Whether cells differ in a field."""
        return name in self.columns.columns

    def expr(self, name: str) -> pl.Expr:
        """A field as an expression over the columns."""
        return pl.col(name) if self.has(name) else pl.lit(self.same.get(name, ""))

    def rows(self, rows: pl.Series) -> CellColumns:
        """The cells of some rows."""
        return replace(self, columns=self.columns[rows], places=self.places.of(rows))

    def with_field(self, name: str, values: pl.Series) -> CellColumns:
        """The cells with another column."""
        same = {known: text for known, text in self.same.items() if known != name}
        return replace(self, columns=self.columns.with_columns(values.alias(name)), same=same)

    def alike(self, *keys: str | pl.Expr) -> Alike:
        """The cells by what they have in common.

        Args:
            keys: fields, or what is computed of them, that cells of one kind have in common.
        """
        # What all have tells none apart.
        told = [key for key in keys if not isinstance(key, str) or self.has(key)]
        by = {
            f"key {at}": pl.lit(text_codes(self.columns[key])) if isinstance(key, str) else key
            for at, key in enumerate(told)
        }
        if not self.height:
            return Alike([], np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
        keyed = self.columns.select(row=pl.int_range(pl.len(), dtype=pl.UInt32), **by)
        rows = keyed.group_by(list(by), maintain_order=True).agg("row")["row"] if by else pl.Series([keyed["row"]])
        times = rows.list.len().to_numpy()
        kinds = np.zeros(self.height, dtype=np.intp)
        if by:
            kinds[rows.explode().to_numpy()] = np.repeat(np.arange(times.size, dtype=np.int32), times)
        firsts = rows.list.first()
        places, said_of = self.places.of(firsts), self.columns[firsts].iter_rows(named=True)
        common = {**dict.fromkeys(FIELDS, ""), **self.same}
        cells = [
            RatedCell(
                where=places[kind], times=int(times[kind]), alike=partial(self._rated, rows, kind), **{**common, **said}
            )
            for kind, said in enumerate(said_of)
        ]
        return Alike(cells, kinds, firsts.to_numpy())

    def _rated(self, rows: pl.Series, kind: int) -> Iterator[tuple[str, ...]]:
        """What the cells of some rows rate."""
        rated = self.columns[rows[kind]].select(**{name: self.expr(name) for name in RATED})
        return iter(rated.rows())

    def mapped(self, name: str, function: Callable[[RatedCell], str], *keys: str | pl.Expr) -> CellColumns:
        """The cells with a field made anew, by a function that needs to see one of each kind alone."""
        alike = self.alike(*keys)
        return self.with_field(name, alike.column(map(function, alike.cells)))
