"""What was flagged in simulated conversations: fallback lines, leaks, repetitions and other faults, by system."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.simulated_talks import SimulatedTalk, simulated_talks
from bedside.reports.columns import Block, grid_of, recorded
from bedside.reports.notes import Note
from bedside.reports.simulations import toys_of, with_toy
from bedside.reports.table import Table
from bedside.reports.table_content import Column
from bedside.reports.table_kind import TableKind

_TITLE = "Flagged in simulated conversations"


class Flagged(NamedTuple):
    """How often one system's conversations have a flag.

    Attributes:
        flag, system: which flag, of which system.
        conversations, messages: how many there are.
        flagged: conversations that have it.
        times: how often it is there.
    """

    flag: str
    system: str
    conversations: int
    messages: int
    flagged: int
    times: int

    @property
    def share(self) -> float | None:
        """Of the conversations that have it."""
        return self.flagged / self.conversations if self.conversations else None


def _flagged(flag: str, system: str, talks: Sequence[SimulatedTalk]) -> Flagged:
    counts = [(talk.flags or {}).get(flag, 0) for talk in talks]
    messages = sum(talk.messages for talk in talks)
    return Flagged(flag, system, len(talks), messages, sum(count > 0 for count in counts), sum(counts))


RECORD = (
    recorded(cell=lambda own: f"{own.flag}/{own.system}"),
    recorded("flag", "system", "conversations", "flagged", "times", "share"),
    recorded(per_100_messages=lambda own: 100 * own.times / own.messages if own.messages else None),
)
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
        counts = {flag: _flagged(flag, system, own) for flag in flags}

        def words(flagged: Flagged) -> str:
            return "" if flagged.share is None else f"{flagged.share:.0%} ({flagged.times:,})"

        title = f"{with_toy(system, toys)}, n = {len(own):,}"
        if not flags:
            return Block((Column(title, text=lambda flag: "0% (0)"),))
        return Block((*RECORD, Column(title, text=words)), counts.get)

    heads = Block((Column("Flag", "left", text=str),))
    blocks = (heads, *map(block, talks.systems))
    return grid_of("simulation_flags", _TITLE, flags or ["nothing"], blocks, notes=(MEANING,))


TABLE = TableKind("simulation_flags", _TITLE, 72, build)
