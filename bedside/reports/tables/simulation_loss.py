"""What became of simulated conversations, by system and persona, and whether what is lost differs between them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.simulated_talks import Loss, SimulatedTalks, reasons_of, simulated_talks
from bedside.core.words import counted
from bedside.reports.number_text import DASH, p_value
from bedside.reports.simulations import toys_of, with_toy
from bedside.reports.table import Table
from bedside.reports.table_content import Cell, Column, Row
from bedside.reports.table_kind import TableKind

_TITLE = "Simulated conversations that were completed, and lost"


def build(view: RatingsView, seed: int = 0) -> Table | None:
    """Counts by system and persona; None where nothing was simulated, or it isn't known what failed."""
    talks = simulated_talks(view)
    if talks is None or not talks.simulations:
        return None
    toys = toys_of(talks)
    personas = sorted({talk.persona for talk in talks.talks})
    rows: list[Row] = []
    records: list[dict[str, Any]] = []
    for system in talks.systems:
        for persona in personas:
            own = [talk for talk in talks.talks if (talk.system, talk.persona) == (system, persona)]
            if not own:
                continue
            counts = {
                "planned": len(own),
                "finished": sum(not talk.lost for talk in own),
                "completed": sum(talk.completed for talk in own),
                "lost": sum(talk.lost for talk in own),
            }
            reasons = reasons_of(own)
            cells = [
                Cell(with_toy(system, toys)),
                *([Cell(persona)] if personas != [""] else []),
                *(Cell(f"{counts[name]:,}", record=len(records)) for name in counts),
                Cell("; ".join(f"{reason} {number:,}" for reason, number in reasons.items()) or DASH),
            ]
            rows.append(Row(tuple(cells)))
            cell = f"{system}/{persona}" if persona else system
            records.append({"cell": cell, "system": system, "persona": persona or None, **counts, "reasons": reasons})
    return Table(
        name="simulation_loss",
        title=_TITLE,
        columns=(
            Column("System", "left"),
            *([Column("Persona", "left")] if personas != [""] else []),
            Column("Planned"), Column("With a transcript"), Column("Completed"), Column("Lost"),
            Column("Why lost", "left"),
        ),
        rows=tuple(rows),
        notes=tuple(_notes(talks, seed)),
        records=tuple(records),
    )  # fmt: skip


def _notes(talks: SimulatedTalks, seed: int) -> Iterator[str]:
    yield (
        "Completed: ended as the protocol means conversations to end. Lost: no transcript, for reasons that are the "
        "patient's, the evaluator's or the connection's; a clinician's faults are results and stay. What is lost "
        "counts in no other table: it is missing, and not a score of 0."
    )
    if talks.not_begun:
        yield (
            f"{counted(talks.not_begun, 'more conversation')} {'were' if talks.not_begun > 1 else 'was'} planned and "
            "had not begun when the simulation was scored: the table doesn't count them. bedside simulate with the "
            "same options goes on."
        )
    if any(not any(talk.lost for talk in talks.talks if talk.system == system) for system in talks.systems):
        yield f"{DASH}: none was lost."
    warned = False
    for by in ("system", "persona", "setting"):
        loss = talks.loss(by, seed=seed)
        if loss is not None and loss.differs:
            warned = True
            yield f"Warning: what is lost differs between {by}s: {_shares(loss)}."
    if warned:
        yield (
            "Differences between them are differences among what is left. Tables of the cases that are complete for "
            "all systems: bedside report RUN --complete-cases."
        )


def _shares(loss: Loss) -> str:
    shares = ", ".join(
        f"{level} {lost:,} of {planned:,}"
        for level, lost, planned in zip(loss.levels, loss.lost, loss.planned, strict=True)
    )
    if loss.test.p is None:
        return shares
    p = p_value(loss.test.p)
    return f"{shares} (p {p if p.startswith('<') else f'= {p}'}; {loss.test.method})"


TABLE = TableKind(
    "simulation_loss", _TITLE, 71, build, heading="Simulation: completed and lost", shown="always", averages=False
)
