"""A folder of CSV files, which every statistics program reads."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl

from bedside.core.files import replacing, write_text
from bedside.reports.exports.contract import ExportForm, WrittenTable
from bedside.reports.exports.exported_study import ExportedStudy
from bedside.reports.exports.study_card import CARD, study_card
from bedside.reports.exports.study_tables import study_tables

#: Text that a spreadsheet would run: what begins a formula, in full width too, and isn't a number.
_FORMULA = r"^\s*[=+\-@＝＋－＠]"
_NUMBER = r"^[+-]?[0-9]+(?:\.[0-9]+)?$"
_READING = """\
The files are UTF-8, with commas between cells and names in the first line; a cell without anything between its commas
is missing. An apostrophe stands before text that begins like a formula (`=`, `+`, `-`, `@`), so that no spreadsheet
runs it. In R:

```r
ratings <- read.csv("ratings.csv", na.strings = "")
```"""


def _write(study: ExportedStudy, folder: Path) -> tuple[WrittenTable, ...]:
    with TemporaryDirectory(prefix=".scratch-", dir=folder) as scratch:
        tables = study_tables(study, Path(scratch))
        for table in tables:
            with replacing(folder / f"{table.name}.csv") as temporary:
                try:
                    _safe(table.rows).sink_csv(temporary, maintain_order=True)
                except pl.exceptions.PolarsError as error:  # such as on a full disk
                    raise OSError(str(error)) from error
        write_text(folder / CARD, study_card(study, _READING, tables))
        return tuple(WrittenTable(table.name, table.count()) for table in tables)


def _safe(rows: pl.LazyFrame) -> pl.LazyFrame:
    """The rows without text that a spreadsheet would take for a formula."""
    texts = [name for name, kind in rows.collect_schema().items() if kind == pl.String]
    return rows.with_columns(
        pl.when(pl.col(name).str.contains(_FORMULA) & ~pl.col(name).str.contains(_NUMBER))
        .then(pl.concat_str(pl.lit("'"), name))
        .otherwise(name)
        .alias(name)
        for name in texts
    )


FORM = ExportForm(
    name="csv-folder",
    title="CSV files with a page that explains their columns, for R and every statistics program",
    write=_write,
)
