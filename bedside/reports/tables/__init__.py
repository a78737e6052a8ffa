"""The tables of a report, one file each; the file's name is the table's name."""

from bedside.reports.table_kind import TABLES, TableKind

__all__ = ["TABLES", "TableKind"]
