"""Tables of what protocols are fitted to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from bedside.core.words import counted
from bedside.metrics.protocols.medconceal.fitting import Fit, GridPoint
from bedside.reports.columns import Part, table_of
from bedside.reports.number_text import decimal, number
from bedside.reports.table import Table
from bedside.reports.table_content import Column

#: Settings of the grid that are shown; JSON has all.
_SHOWN = 5


def _measured(name: str) -> dict[str, Any]:
    return {"value": f"part.{name}.value", "form": partial(decimal, digits=3)}


COLUMNS = (
    Column("Part", "left", field="part", value="whole"),
    Column("Turns held out", field="turns", value="part.turns"),
    Column("Positive", field="positive", value="part.positive"),
    Column("Log loss", field="log_loss", **_measured("log_loss")),
    Column("Of the base rate", field="base_log_loss", **_measured("base_log_loss")),
    Column("AUC", field="auc", **_measured("auc")),
)


def fit_tables(fit: Fit) -> tuple[Table, ...]:
    """How well the weights predict held-out turns, and the thresholds replayed."""
    fitted = (("Reveal", fit.reveal, fit.reveal_grid), ("Address", fit.address, fit.address_grid))
    weights = table_of(
        "fit",
        f"Weights fitted to {counted(fit.rows, 'turn')} of {counted(fit.cases, 'case')}",
        [Part(name, held_out) for name, held_out, _ in fitted if held_out is not None],
        COLUMNS,
        notes=(f"Held out by case in {fit.folds} folds.", *fit.remarks),
    )
    return (weights, *(_grid(name, grid) for name, _, grid in fitted if grid))


def _grid(name: str, grid: tuple[GridPoint, ...]) -> Table:
    settings = [Column(setting, field=setting, value=_setting(setting), form=number) for setting in grid[0].values]
    columns = (
        *settings,
        Column("Turns off, mean", field="error", form=number),
        Column("Exact", field="exact", form=decimal),
    )
    title = f"{name}: thresholds replayed on held-out cases, the best of {len(grid):,}"
    table = table_of(f"grid_{name.lower()}", title, grid, columns)
    return replace(table, rows=table.rows[:_SHOWN])


def _setting(name: str) -> Callable[[GridPoint], float]:
    return lambda point: point.values[name]
