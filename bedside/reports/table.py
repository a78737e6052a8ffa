"""Tables as they are handed out: printed as Markdown, shown as HTML in a notebook, read as data frames."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Generic, SupportsIndex, TypeVar, cast, overload

from bedside.core.errors import DataError, nearest
from bedside.core.words import counted
from bedside.reports.renderers.html import html
from bedside.reports.renderers.markdown import markdown
from bedside.reports.table_content import TableContent

if TYPE_CHECKING:
    import pandas
    import polars as pl

    from bedside.analysis.findings import Finding


#: What tables are made of.
Results = TypeVar("Results")


@dataclass(frozen=True, slots=True, repr=False)
class Table(TableContent):
    """A table; its attributes are those of :class:`TableContent`."""

    def __repr__(self) -> str:
        return f"Table({self.name!r}, {len(self.rows)} rows)"

    def __str__(self) -> str:
        return markdown(self)

    def _repr_html_(self) -> str:
        return html(self)

    def to_polars(self) -> pl.DataFrame:
        """The records, at full precision, as a Polars data frame."""
        import polars

        return polars.DataFrame([dict(record) for record in self.records], infer_schema_length=None)

    def to_pandas(self) -> pandas.DataFrame:
        """The records, at full precision, as a pandas data frame.

        Raises:
            MissingExtraError: pandas is not installed.
        """
        from bedside.ratings.table import to_pandas

        return to_pandas(self.to_polars())


@dataclass(frozen=True, repr=False, init=False)
class Tables(Generic[Results]):
    """Tables that answer one question: gone through in order, and each had by its position or its name.

    Attributes:
        levels: where the question was answered within the levels of a factor, the tables of each; else empty.
        within: that factor; else empty.
        findings: what the answer comes to, as data; :meth:`sentences` has them in words.
    """

    _tables: tuple[Table, ...]
    # They hold NaN, which is not equal to itself; what they come to stands in the tables.
    _results: Results | None = field(compare=False)
    levels: Mapping[str, Tables[Results]] = field(compare=False)
    within: str = field(compare=False)
    findings: tuple[Finding, ...] = field(compare=False)

    def __init__(
        self,
        tables: Iterable[Table],
        results: Results | None,
        levels: Mapping[str, Tables[Results]] | None = None,
        findings: Iterable[Finding] = (),
        within: str = "",
    ) -> None:
        object.__setattr__(self, "_tables", tuple(tables))
        object.__setattr__(self, "_results", results)
        object.__setattr__(self, "levels", dict(levels or {}))
        object.__setattr__(self, "findings", tuple(findings))
        object.__setattr__(self, "within", within)

    @property
    def results(self) -> Results:
        """What the tables show, as the analysis gave it: agreements, comparisons, judge cards, estimates; None where
        there is nothing but the tables.

        Raises:
            DataError: the question was answered within the levels of a factor, each of which has results of its own.
        """
        if self.levels:
            level = next(iter(self.levels))
            raise DataError(
                f"each of the levels {', '.join(self.levels)} has results of its own",
                todo=f"ask for those of one: levels[{level!r}].results",
            )
        return cast(Results, self._results)

    @property
    def tables(self) -> tuple[Table, ...]:
        """The tables, in order."""
        return self._tables

    def sentences(self) -> list[str]:
        """What the answer comes to, in words; of levels of a factor the first thing of each, then the next."""
        from bedside.reports.finding_words import sentences

        if not self.levels:
            return sentences(self.findings)
        levels: dict[str, list[str]] = {}
        by_level = ([(level, words) for words in tables.sentences()] for level, tables in self.levels.items())
        for level, words in filter(None, chain(*zip_longest(*by_level))):
            levels.setdefault(words, []).append(level)
        return [f"{self.within} {', '.join(of)}: {words}" for words, of in levels.items()]

    def __len__(self) -> int:
        return len(self._tables)

    def __iter__(self) -> Iterator[Table]:
        return iter(self._tables)

    @overload
    def __getitem__(self, key: SupportsIndex | str) -> Table: ...

    @overload
    def __getitem__(self, key: slice) -> tuple[Table, ...]: ...

    def __getitem__(self, key: SupportsIndex | str | slice) -> Table | tuple[Table, ...]:
        """The table at a position or of a name, or those of a slice.

        Raises:
            IndexError: there is none at this position.
            DataError: there is none of this name; the nearest are given.
        """
        if not isinstance(key, str):
            return self._tables[key]
        table = next((table for table in self._tables if table.name == key), None)
        if table is None:
            raise DataError(f"no table is called {key!r}", todo=nearest(key, self.names))
        return table

    @property
    def names(self) -> tuple[str, ...]:
        """The tables' names, in order."""
        return tuple(table.name for table in self._tables)

    def __repr__(self) -> str:
        sizes = (f"{table.name}: {counted(len(table.rows), 'row')}" for table in self._tables)
        return f"Tables({', '.join(sizes)})"

    def __str__(self) -> str:
        return "\n".join(map(str, self._tables))

    def _repr_html_(self) -> str:
        from bedside.reports.renderers.html import paragraph

        return paragraph(self.sentences()) + "".join(table._repr_html_() for table in self._tables)

    def to_polars(self) -> pl.DataFrame:
        """The records of all tables, at full precision, as one Polars data frame.

        Its first column, ``table``, says which table a record is of; what a table has no such column for is null. A
        column that holds numbers in one table and words in another is text.
        """
        import polars as pl

        frames = [
            table.to_polars().select(pl.lit(table.name).alias("table"), pl.all())
            for table in self._tables
            if table.records
        ]
        return pl.concat(frames, how="diagonal_relaxed") if frames else pl.DataFrame({"table": []})

    def to_pandas(self) -> pandas.DataFrame:
        """The records of all tables as one pandas data frame, as :meth:`to_polars` has them.

        Raises:
            MissingExtraError: pandas is not installed.
        """
        from bedside.ratings.table import to_pandas

        return to_pandas(self.to_polars())
