"""Tables as they are handed out: printed as Markdown, shown as HTML in a notebook, read as data frames."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, SupportsIndex, overload

from bedside.reports.renderers.html import html
from bedside.reports.renderers.markdown import markdown
from bedside.reports.table_content import TableContent
from bedside.support.errors import DataError
from bedside.support.registry import nearest

if TYPE_CHECKING:
    import pandas
    import polars as pl


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


class Tables(tuple[Table, ...]):
    """Tables that answer one question; each by its position or its name."""

    __slots__ = ()

    @overload
    def __getitem__(self, key: SupportsIndex | str) -> Table: ...

    @overload
    def __getitem__(self, key: slice) -> tuple[Table, ...]: ...

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, str):
            return super().__getitem__(key)
        table = next((table for table in self if table.name == key), None)
        if table is None:
            raise DataError(f"no table is called {key!r}", todo=nearest(key, [table.name for table in self]))
        return table

    def __str__(self) -> str:
        return "\n".join(map(str, self))

    def _repr_html_(self) -> str:
        return "".join(table._repr_html_() for table in self)
