"""Tables as they are handed out (Markdown, HTML, data frames), and what a kind of table states about itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Generic, SupportsIndex, TypeVar, cast, overload

from pydantic import BaseModel, BeforeValidator, ConfigDict

from bedside.analysis.ratings_view import RatingsView
from bedside.core.errors import DataError, nearest
from bedside.core.registry import Registry
from bedside.core.words import counted
from bedside.reports.renderers.html import html
from bedside.reports.renderers.markdown import markdown
from bedside.reports.table_content import TableContent

if TYPE_CHECKING:
    import pandas
    import polars as pl


# -- Tables as they are handed out ----------------------------------------------------------------------

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
    """

    _tables: tuple[Table, ...]
    # They hold NaN, which is not equal to itself; what they come to stands in the tables.
    _results: Results | None = field(compare=False)
    levels: Mapping[str, Tables[Results]] = field(compare=False)

    def __init__(
        self,
        tables: Iterable[Table],
        results: Results | None,
        levels: Mapping[str, Tables[Results]] | None = None,
    ) -> None:
        object.__setattr__(self, "_tables", tuple(tables))
        object.__setattr__(self, "_results", results)
        object.__setattr__(self, "levels", dict(levels or {}))

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
        return "".join(table._repr_html_() for table in self._tables)

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


# -- What a kind of table states about itself -----------------------------------------------------------


def _several(levels: Any) -> Any:
    return (levels,) if isinstance(levels, str) else levels


class Options(BaseModel):
    """What a suite can say of a table or figure of some kind; kinds that have options add their own.

    Attributes:
        id: name of the table: of its files, and to ask for it.
        title: its caption; the kind's own unless given.
        where: levels of factors, by factor: only transcripts that have them are looked at; it is left out, with that
            as the reason, where no transcript has the factor.
        notes: what is said below it besides, such as how it differs from a paper's.
        paper: which table or figure of the suite's source it is after.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True)

    id: str | None = None
    title: str | None = None
    where: Mapping[str, Annotated[tuple[str, ...], BeforeValidator(_several)]] = {}
    notes: tuple[str, ...] = ()
    paper: str | None = None

    def finish(self, table: Table, notes: Iterable[str] = ()) -> Table:
        """A table under the name and title that are set here, with further notes below it."""
        return replace(
            table,
            name=self.id or table.name,
            title=self.title or table.title,
            notes=(*table.notes, *notes),
        )


@dataclass(frozen=True, slots=True)
class TableKind:
    """One kind of table.

    Attributes:
        name: equal to the file's name.
        title: what it shows, in a few words.
        order: position in a report.
        build: the table of a view's ratings, its random draws from a seed; None where the ratings have nothing for
            it. Where the kind has ``options``, they are the third argument.
        options: what a suite can say of such a table.
        general: whether every report has it, or only a suite that names it.
    """

    name: str
    title: str
    order: int
    build: Callable[..., Table | None]
    options: type[Options] | None = None
    general: bool = True

    def make(self, view: RatingsView, seed: int = 0, options: Options | None = None) -> Table | None:
        """The table, as the options say."""
        if self.options is None:
            return self.build(view, seed)
        return self.build(view, seed, options or self.options())


TABLES: Registry[TableKind] = Registry("bedside.reports.tables", "TABLE", "table", TableKind, group="bedside.tables")
