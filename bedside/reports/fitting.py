"""Tables of what protocols are fitted to."""

from __future__ import annotations

from bedside.core.words import counted
from bedside.metrics.protocols.medconceal.fitting import Fit, GridPoint, HeldOut
from bedside.reports.number_text import decimal, number
from bedside.reports.table import Table
from bedside.reports.table_content import Cell, Column, Row

#: Settings of the grid that are shown; JSON has all.
_SHOWN = 5


def fit_tables(fit: Fit) -> tuple[Table, ...]:
    """How well the weights predict held-out turns, and the thresholds replayed."""
    parts: list[tuple[str, HeldOut | None]] = [("Reveal", fit.reveal), ("Address", fit.address)]
    rows, records = [], []
    for name, held_out in parts:
        if held_out is None:
            continue
        measured = (held_out.log_loss, held_out.base_log_loss, held_out.auc)
        cells = (
            name,
            f"{held_out.turns:,}",
            f"{held_out.positive:,}",
            *(decimal(m.value, 3) for m in measured),
        )
        rows.append(Row(tuple(map(Cell, cells))))
        records.append(
            {
                "part": name, "turns": held_out.turns, "positive": held_out.positive,
                "log_loss": held_out.log_loss.value, "base_log_loss": held_out.base_log_loss.value,
                "auc": held_out.auc.value,
            }
        )  # fmt: skip
    weights = Table(
        name="fit",
        title=f"Weights fitted to {counted(fit.rows, 'turn')} of {counted(fit.cases, 'case')}",
        columns=(
            Column("Part", "left"), Column("Turns held out"), Column("Positive"), Column("Log loss"),
            Column("Of the base rate"), Column("AUC"),
        ),
        rows=tuple(rows),
        notes=(f"Held out by case in {fit.folds} folds.", *fit.remarks),
        records=tuple(records),
    )  # fmt: skip
    grids = [("Reveal", fit.reveal_grid), ("Address", fit.address_grid)]
    return (weights, *(_grid(name, grid) for name, grid in grids if grid))


def _grid(name: str, grid: tuple[GridPoint, ...]) -> Table:
    settings = list(grid[0].values)
    return Table(
        name=f"grid_{name.lower()}",
        title=f"{name}: thresholds replayed on held-out cases, the best of {len(grid):,}",
        columns=(*(Column(setting) for setting in settings), Column("Turns off, mean"), Column("Exact")),
        rows=tuple(
            Row(
                tuple(
                    map(
                        Cell,
                        (
                            *(number(point.values[setting]) for setting in settings),
                            number(point.error),
                            decimal(point.exact),
                        ),
                    )
                )
            )
            for point in grid[:_SHOWN]
        ),
        records=tuple({**point.values, "error": point.error, "exact": point.exact} for point in grid),
    )
