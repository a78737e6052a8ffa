"""What became of simulated conversations, by system and persona, and whether what is lost differs between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.simulated_talks import Loss, SimulatedTalk, SimulatedTalks, reasons_of, simulated_talks
from bedside.core.words import counted
from bedside.reports.columns import Column, Part, Table, recorded, table_of
from bedside.reports.notes import Note, note, noted
from bedside.reports.number_text import DASH, p_value
from bedside.reports.simulations import toys_of, with_toy
from bedside.reports.table_kind import TableKind

_TITLE = "Simulated conversations that were completed, and lost"


def _cell_name(row: Part) -> str:
    talk: SimulatedTalk = row.part[0]
    return f"{talk.system}/{talk.persona}" if talk.persona else talk.system


#: Of rows about the conversations of one system with one persona; the whole is what the system is called.
COLUMNS = (
    recorded(cell=_cell_name, system=lambda row: row.part[0].system),
    Column("System", "left", value="whole"),
    Column("Persona", "left", field="persona", value=lambda row: row.part[0].persona or None, optional=True,
           dash="its simulation has no personas"),
    Column("Planned", field="planned", value=lambda row: len(row.part)),
    Column("With a transcript", field="finished", value=lambda row: sum(not talk.lost for talk in row.part)),
    Column("Completed", field="completed", value=lambda row: sum(talk.completed for talk in row.part)),
    Column("Lost", field="lost", value=lambda row: sum(talk.lost for talk in row.part)),
    Column("Why lost", "left", field="reasons", value=lambda row: reasons_of(row.part),
           form=lambda reasons: "; ".join(f"{reason} {number:,}" for reason, number in reasons.items()) or DASH),
)  # fmt: skip
MEANING = Note(
    "simulation loss.meaning",
    "Completed: ended as the protocol means conversations to end. Lost: no transcript, for reasons that are the "
    "patient's, the evaluator's or the connection's; a clinician's faults are results and stay. What is lost "
    "counts in no other table: it is missing, and not a score of 0.",
)


@note("simulation loss.not begun")
def not_begun(talks: SimulatedTalks) -> Iterator[str]:
    """What the table doesn't count."""
    if talks.not_begun:
        yield (
            f"{counted(talks.not_begun, 'more conversation')} {'were' if talks.not_begun > 1 else 'was'} planned and "
            "had not begun when the simulation was scored: the table doesn't count them. bedside simulate with the "
            "same options goes on."
        )


@note("simulation loss.none", "Why lost")
def none_lost(talks: SimulatedTalks) -> Iterator[str]:
    """What a dash is."""
    if set(talks.systems) - {talk.system for talk in talks.talks if talk.lost}:
        yield f"{DASH}: none was lost."


@note("simulation loss.differs", "Lost")
def differs(losses: Mapping[str, Loss]) -> Iterator[str]:
    """That systems and the like, by their kind, differ in what is lost."""
    yield from (f"Warning: what is lost differs between {by}s: {_shares(loss)}." for by, loss in losses.items())
    if losses:
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


def build(view: RatingsView, seed: int = 0) -> Table | None:
    """Counts by system and persona; None where nothing was simulated, or it isn't known what failed."""
    talks = simulated_talks(view)
    if talks is None or not talks.simulations:
        return None
    toys = toys_of(talks)
    by_place: dict[tuple[str, str], list[SimulatedTalk]] = {}
    for talk in talks.talks:
        by_place.setdefault((talk.system, talk.persona), []).append(talk)
    rows = [Part(with_toy(system, toys), by_place[system, persona]) for system, persona in sorted(by_place)]
    losses = {by: talks.loss(by, seed=seed) for by in ("system", "persona", "setting")}
    differing = {by: loss for by, loss in losses.items() if loss is not None and loss.differs}
    notes = (*noted((MEANING, not_begun, none_lost), talks), *differs.texts(differing))
    return table_of("simulation_loss", _TITLE, rows, COLUMNS, notes=notes)


TABLE = TableKind(
    "simulation_loss", _TITLE, 71, build, heading="Simulation: completed and lost", shown="always", averages=False
)
