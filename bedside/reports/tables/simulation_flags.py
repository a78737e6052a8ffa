"""What was flagged in simulated conversations: fallback lines, leaks, repetitions and other faults, by system."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.simulated_talks import SimulatedTalk, simulated_talks
from bedside.reports.simulations import toys_of, with_toy
from bedside.reports.table import Table
from bedside.reports.table_content import Cell, Column, Row
from bedside.reports.table_kind import TableKind

_TITLE = "Flagged in simulated conversations"


def build(view: RatingsView, _seed: int = 0) -> Table | None:
    """How many conversations have each flag, by system; None where nothing was simulated, or the run keeps no text."""
    talks = simulated_talks(view)
    if talks is None:
        return None
    known = [talk for talk in talks.finished if talk.flags is not None]
    if not known:
        return None
    by_system = {system: [talk for talk in known if talk.system == system] for system in talks.systems}
    flags = sorted({flag for talk in known for flag, count in (talk.flags or {}).items() if count})
    rows: list[Row] = []
    records: list[dict[str, Any]] = []
    for flag in flags:
        cells = [Cell(flag)]
        for system, own in by_system.items():
            having, times = _counts(own, flag)
            messages = sum(talk.messages for talk in own)
            share = having / len(own) if own else None
            text = f"{share:.0%} ({times:,})" if share is not None else ""
            cells.append(Cell(text, record=len(records)))
            records.append(
                {
                    "cell": f"{flag}/{system}", "flag": flag, "system": system, "conversations": len(own),
                    "flagged": having, "times": times, "share": share,
                    "per_100_messages": 100 * times / messages if messages else None,
                }
            )  # fmt: skip
        rows.append(Row(tuple(cells)))
    toys = toys_of(talks)
    what = "Share of the conversations with a transcript that have it at least once, and how often in all."
    return Table(
        name="simulation_flags",
        title=_TITLE,
        columns=(
            Column("Flag", "left"),
            *(Column(f"{with_toy(system, toys)}, n = {len(own):,}") for system, own in by_system.items()),
        ),
        rows=tuple(rows) or (Row((Cell("nothing"), *(Cell("0% (0)") for _ in by_system))),),
        notes=(
            f"{what} Refused: a message that was asked for again, for this reason. What else stands under the patient "
            "was kept all the same; fallback is a line of the case's own in place of the model's. The clinician's "
            "messages are kept as they are. Hidden in a request: what an actor was asked held a text that was hidden "
            "from it. What isn't listed was never flagged.",
        ),
        records=tuple(records),
    )


def _counts(talks: Sequence[SimulatedTalk], flag: str) -> tuple[int, int]:
    """Conversations that have the flag, and how often it is there."""
    counts = [(talk.flags or {}).get(flag, 0) for talk in talks]
    return sum(count > 0 for count in counts), sum(counts)


TABLE = TableKind("simulation_flags", _TITLE, 72, build, heading="Simulation: flagged", shown="always", averages=False)
