"""What was flagged in simulated conversations: fallback lines, leaks, repetitions and other faults, by system."""

from __future__ import annotations

from typing import Any

from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.simulated_talks import simulated_talks
from bedside.reports.columns import Block, Column, Table, grid_of, recorded
from bedside.reports.notes import Note
from bedside.reports.simulations import toys_of, with_toy
from bedside.reports.table_kind import TableKind

_TITLE = "Flagged in simulated conversations"


MEANING = Note(
    "simulation flags.meaning",
    "Share of the conversations with a transcript that have it at least once, and how often in all. Refused: a message "
    "that was asked for again, for this reason. What else stands under the patient was kept all the same; fallback is "
    "a line of the case's own in place of the model's. The clinician's messages are kept as they are. Hidden in a "
    "request: what an actor was asked held a text that was hidden from it. What isn't listed was never flagged.",
)


def build(view: RatingsView, _seed: int = 0) -> Table | None:
    """How many conversations have each flag, by system; None where nothing was simulated, or the run keeps no text."""
    talks = simulated_talks(view)
    known = [] if talks is None else [talk for talk in talks.finished if talk.flags is not None]
    if talks is None or not known:
        return None
    toys = toys_of(talks)
    flags = sorted({flag for talk in known for flag, count in (talk.flags or {}).items() if count})

    def block(system: str) -> Block:
        own = [talk for talk in known if talk.system == system]
        title = f"{with_toy(system, toys)}, n = {len(own):,}"
        if not flags:
            return Block((Column(title, text=lambda flag: "0% (0)"),))
        messages = sum(talk.messages for talk in own)

        def record(flag: str) -> dict[str, Any]:
            counts = [(talk.flags or {}).get(flag, 0) for talk in own]
            flagged, times = sum(count > 0 for count in counts), sum(counts)
            return {
                "cell": f"{flag}/{system}", "flag": flag, "system": system, "conversations": len(own),
                "flagged": flagged, "times": times, "share": flagged / len(own) if own else None,
                "per_100_messages": 100 * times / messages if messages else None,
            }  # fmt: skip

        def words(entry: dict[str, Any]) -> str:
            return "" if entry["share"] is None else f"{entry['share']:.0%} ({entry['times']:,})"

        return Block((recorded(dict), Column(title, text=words)), record)

    heads = Block((Column("Flag", "left", text=str),))
    blocks = (heads, *map(block, talks.systems))
    return grid_of("simulation_flags", _TITLE, flags or ["nothing"], blocks, notes=(MEANING,))


TABLE = TableKind("simulation_flags", _TITLE, 72, build, heading="Simulation: flagged", shown="always", averages=False)
