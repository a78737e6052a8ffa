"""The table of what making records would ask."""

from __future__ import annotations

from bedside.reports.number_text import money
from bedside.reports.table import Table
from bedside.reports.table_content import Cell, Column, Row
from bedside.simulation.call_preview import RecordPreview


def record_plan_table(preview: RecordPreview) -> Table:
    """What making records would ask, by role and actor."""
    rows, records = [], []
    for asked in preview.actors:
        cells = (
            asked.actor.identity,
            f"{asked.calls:,.0f}",
            f"{asked.input_tokens:,.0f}",
            f"{asked.output_tokens:,.0f}",
            money(asked.cost),
        )
        rows.append(Row(tuple(map(Cell, cells)), asked.role))
        records.append(
            {
                "role": asked.role, "actor": asked.actor.identity, "toy": asked.actor.toy, "calls": asked.calls,
                "input_tokens": asked.input_tokens, "output_tokens": asked.output_tokens, "cost": asked.cost,
            }
        )  # fmt: skip
    costs = [asked.cost for asked in preview.actors]
    total = None if None in costs else sum(cost for cost in costs if cost is not None)
    return Table(
        name="record_plan",
        title=f"What would be asked for {preview.name} (nothing was)",
        columns=(
            Column("Actor", "left"),
            Column("Calls"),
            Column("Tokens in"),
            Column("Tokens out"),
            Column("Cost"),
        ),
        rows=tuple(rows),
        notes=(
            f"{preview.records:,} to be made; cost {money(total)}.",
            f"Calls and tokens are estimates: {preview.played:,} "
            f"{'was' if preview.played == 1 else 'were'} made by toys, whose replies may be shorter than a model's. "
            "Replies that can't be used are asked for again, twice at most.",
        ),
        records=tuple(records),
    )
