"""Tables of a simulation: who took part, what became of its conversations, why some are missing, what it took."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import orjson

from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.simulated_talks import SimulatedTalks, reasons_of, simulated_talks
from bedside.core.words import counted
from bedside.ratings.names import is_judge
from bedside.reports.number_text import DASH, decimal, money
from bedside.reports.table import Table
from bedside.reports.table_content import Cell, Column, Row
from bedside.simulation.call_preview import SimulationPreview
from bedside.simulation.talks_folder import (
    ConversationRecord,
    LostConversation,
    SystemTalks,
    conversation_record,
    talks_overview,
)
from bedside.transcripts.simulation_folder import checked_manifest

# -- Who took part in simulated conversations -----------------------------------------------------------


def actors_of(talks: SimulatedTalks) -> dict[str, list[str]]:
    """Who took part, by role; of clinicians, the systems."""
    actors: dict[str, dict[str, None]] = {
        "clinician": dict.fromkeys(talks.systems),
        "patient": {},
        "evaluator": {},
        "ranker": {},
    }
    for simulation in talks.simulations:
        for role in ("patient", "evaluator", "ranker"):
            if isinstance(simulation.manifest.get(role), str):
                actors[role][simulation.manifest[role]] = None
    for talk in talks.finished:
        for role, name in ((talk.provenance or {}).get("actors") or {}).items():
            if role != "clinician" and role in actors:
                actors[role][str(name)] = None
    return {role: list(names) for role, names in actors.items()}


def toys_of(talks: SimulatedTalks) -> set[str]:
    """The actors that are no models and nobody's agents: rules and scripts that stand in for them."""
    toys = {name for simulation in talks.simulations for name in simulation.manifest.get("toys") or ()}
    for talk in talks.finished:
        provenance = talk.provenance or {}
        actors = provenance.get("actors") or {}
        toys |= {actors[role] for role in provenance.get("toys") or () if role in actors}
    return toys


def with_toy(name: str, toys: Iterable[str]) -> str:
    """An actor's name, and that it is a toy where it is."""
    return f"{name} (toy)" if name in toys else name


def judging_actors(view: RatingsView, talks: SimulatedTalks) -> list[str]:
    """Models that took part and judge too."""
    judges = {name.partition(":")[2].partition("@")[0] for name in view.raters() if is_judge(name)}
    actors = {name for names in actors_of(talks).values() for name in names}
    return sorted(judges & actors)


#: A model in a rater's name, with the digits that stand for its content.
_SCORING_MODEL = re.compile(r"\+model=([^+]+)")
_RANKER = "likelihood:"
_DIGITS = re.compile(r"-([0-9a-f]{8})$")


def ranking_and_scoring(view: RatingsView, talks: SimulatedTalks) -> list[str]:
    """Models that ranked candidates in the conversations and whose likelihoods rate them too, by their content."""
    ranking = {name.removeprefix(_RANKER) for name in actors_of(talks)["ranker"] if name.startswith(_RANKER)}
    scoring = {name for rater in view.raters() for name in _SCORING_MODEL.findall(rater)}
    return sorted({name for name in ranking if {_content(name)} & set(map(_content, scoring))})


def _content(model: str) -> str:
    """What stands for a model's content: its digits, or its name where it has none."""
    digits = _DIGITS.search(model)
    return digits[1] if digits else model


# -- What the methods paragraph says of simulated conversations -----------------------------------------


def simulation_words(view: RatingsView) -> list[str]:
    """Paragraphs on the simulation; none where nothing was simulated."""
    talks = simulated_talks(view)
    return [] if talks is None else [" ".join((*_what(talks), *_lost(talks), *_doubts(view, talks)))]


def lost_notes(view: RatingsView, systems: Collection[str]) -> list[str]:
    """That simulated conversations were lost, for the notes below numbers that they would have been part of.

    Args:
        view: the ratings.
        systems: those that the numbers are of; empty where all stand together.
    """
    talks = simulated_talks(view, read=False)
    if talks is None:
        return []
    lost = Counter(talk.system for talk in talks.talks if talk.lost)
    planned = Counter(talk.system for talk in talks.talks)
    shown = [system for system in talks.systems if not systems or system in systems]
    if not any(lost[system] for system in shown):
        return []
    words = "; ".join(f"{system} {lost[system]:,} of {planned[system]:,}" for system in shown)
    return [
        f"Simulated conversations that could not be had are missing here ({words}): the table simulation_loss says "
        "why, and --complete-cases of the report shows what is complete for all systems."
    ]


def _what(talks: SimulatedTalks) -> list[str]:
    toys, actors = toys_of(talks), actors_of(talks)
    named = {role: _listed([with_toy(name, toys) for name in names]) for role, names in actors.items()}
    kinds = _kinds(talks)
    whole = counted(len(talks.finished), "transcript")
    sentences = [
        f"{whole} {'are' if len(talks.finished) != 1 else 'is'} simulated"
        + (f" by the protocol {' and '.join(kinds)}" if kinds else "")
        + (f"; {counted(talks.others, 'other')} {'are' if talks.others != 1 else 'is'} not." if talks.others else ".")
    ]
    if named["patient"]:
        sentences.append(
            f"The patient was played by {named['patient']}"
            + (
                f", labels and decisions during the conversations were {named['evaluator']}'s"
                if named["evaluator"]
                else ""
            )
            + (f", candidates for messages were ranked by {named['ranker']}" if named["ranker"] else "")
            + f", and the clinicians under test are {named['clinician']}."
        )
    if toys:
        sentences.append("A toy is rules or a script in place of a model: nothing about a model follows from it.")
    for simulation in talks.simulations:
        own = simulation.manifest.get("parameters of bedside's own") or ()
        if own:
            sentences.append(
                f"Of {simulation.manifest.get('protocol')}, {counted(len(own), 'parameter')} "
                f"{'are' if len(own) != 1 else 'is'} bedside's own (simulation card), so that figures are not to be "
                "compared with published ones."
            )
    return sentences


def _listed(names: list[str]) -> str:
    return " and ".join((*([", ".join(names[:-1])] if names[:-1] else []), *names[-1:]))


def _kinds(talks: SimulatedTalks) -> list[str]:
    """Protocol and version, with seed and bedside's version where they are known."""
    kinds = dict.fromkeys(
        f"{each.manifest.get('protocol')}, version {each.manifest.get('version')} "
        f"(bedside {each.manifest.get('bedside')}, seed {each.manifest.get('seed')})"
        for each in talks.simulations
    )
    return list(kinds) or talks.protocols


def _lost(talks: SimulatedTalks) -> list[str]:
    if not talks.simulations:
        return ["What could not be simulated isn't known, as the transcripts were scored without the simulation."]
    reasons = reasons_of(talks.talks)
    if talks.not_begun:
        reasons["not begun"] = talks.not_begun
    if not reasons:
        return ["None of the conversations planned is missing."]
    planned = counted(len(talks.talks) + talks.not_begun, "conversation")
    words = "; ".join(f"{reason} {number:,}" for reason, number in reasons.items())
    return [f"Of {planned} planned, {sum(reasons.values()):,} have no transcript ({words})."]


def _doubts(view: RatingsView, talks: SimulatedTalks) -> list[str]:
    return [
        *(f"{name} took part in the conversations and judged them too." for name in judging_actors(view, talks)),
        *(
            f"{name} ranked the candidates in the conversations and scored their likelihood too."
            for name in ranking_and_scoring(view, talks)
        ),
    ]


# -- Tables of a simulation -----------------------------------------------------------------------------

#: What becomes of conversations that failed, by whose doing it was, and of those that have not ended.
_STATES = {
    "clinician": "failed by the clinician: they count as the worst",
    "failed": "missing, by no doing of the clinician",
    "unfinished": "unfinished",
}


def simulation_tables(folder: Path) -> tuple[Table, Table]:
    """What became of a simulation's conversations, by system, and what it took, by role.

    Raises:
        RunError: the folder is no simulation's, or its log is damaged.
    """
    overview = talks_overview(folder)
    toys = checked_manifest(folder).get("toys") or ()
    return _conversations(overview.systems, overview.lost, toys), _spent(overview.spent, overview.earlier)


def preview_table(preview: SimulationPreview) -> Table:
    """What a simulation would ask, by role and actor."""
    rows, records = [], []
    for role in preview.roles:
        if not role.most_calls:
            continue
        cells = (
            role.actor.identity,
            f"{role.calls:,.0f}",
            f"{role.most_calls:,}",
            f"{role.input_tokens:,.0f}",
            f"{role.output_tokens:,.0f}",
            money(role.cost),
        )
        rows.append(Row(tuple(map(Cell, cells)), role.role))
        records.append(
            {
                "role": role.role, "actor": role.actor.identity, "toy": role.actor.toy, "calls": role.calls,
                "most_calls": role.most_calls, "input_tokens": role.input_tokens,
                "output_tokens": role.output_tokens, "cost": role.cost,
            }
        )  # fmt: skip
    costs = [role.cost for role in preview.roles]
    total = None if None in costs else sum(cost for cost in costs if cost is not None)
    return Table(
        name="simulation_plan",
        title="What would be asked (nothing was)",
        columns=(
            Column("Actor", "left"), Column("Calls"), Column("At most"), Column("Tokens in"), Column("Tokens out"),
            Column("Cost"),
        ),
        rows=tuple(rows),
        notes=(
            f"{counted(preview.conversations, 'conversation')}; cost {money(total)}.",
            f"Calls and tokens are estimates: {counted(preview.played, 'conversation')} of each clinician "
            f"{'was' if preview.played == 1 else 'were'} had between the protocol's toys, whose replies may be shorter "
            "than a model's. At most: with every attempt that may be needed.",
        ),
        records=tuple(records),
    )  # fmt: skip


def lost_table(folder: Path) -> Table:
    """The conversations without a transcript, and those that the clinician failed, and why.

    Raises:
        RunError: the folder is no simulation's, or its log is damaged.
    """
    lost = talks_overview(folder).lost
    counts = Counter("clinician" if entry.whose == "clinician" else entry.state for entry in lost)
    return Table(
        name="simulation_failed",
        title="Conversations that failed, or have no transcript",
        columns=tuple(Column(name, "left") for name in ("Conversation", "State", "Whose", "Reason", "Detail")),
        rows=tuple(
            Row(tuple(map(Cell, (entry.id, entry.state, entry.whose or DASH, entry.reason, entry.detail or DASH))))
            for entry in lost
        ),
        notes=tuple(f"{counts[state]:,} {words}." for state, words in _STATES.items() if counts[state]),
        records=tuple({**asdict(entry), **entry.about} for entry in lost),
    )


def conversation_ids(folder: Path) -> tuple[str, ...]:
    """The ids of a simulation's conversations, in the plan's order.

    Raises:
        RunError: the folder is no simulation's, or its log is damaged.
    """
    return talks_overview(folder).ids


def conversation_text(folder: Path, name: str) -> str:
    """One conversation, turn by turn, with the hidden states that belong to each.

    Raises:
        RunError: the folder is no simulation's, or its log is damaged.
        DataError: no conversation of it has this id.
    """
    return "\n".join(_conversation_lines(conversation_record(folder, name)))


def _conversations(
    systems: Collection[SystemTalks], lost: Collection[LostConversation], toys: Collection[str]
) -> Table:
    rows, records = [], []
    for talks in systems:
        mean = None if talks.finished == 0 else talks.turns / talks.finished
        cells = (
            talks.system,
            f"{talks.planned:,}",
            f"{talks.finished:,}",
            f"{talks.completed:,}",
            f"{talks.clinician_failed:,}",
            f"{talks.failed:,}",
            f"{talks.unfinished:,}",
            DASH if mean is None else decimal(mean, 1),
        )
        rows.append(Row(tuple(map(Cell, cells))))
        records.append(
            {
                "system": talks.system, "toy": talks.system in toys, "planned": talks.planned,
                "finished": talks.finished, "completed": talks.completed,
                "clinician_failed": talks.clinician_failed, "missing": talks.failed,
                "unfinished": talks.unfinished, "mean_messages": mean, "stops": dict(talks.stops),
                "flags": dict(talks.flags),
            }
        )  # fmt: skip
    return Table(
        name="simulation",
        title="Simulated conversations",
        columns=(
            Column("System", "left"), Column("Planned"), Column("Finished"), Column("Completed"), Column("Failed"),
            Column("Missing"), Column("Unfinished"), Column("Messages"),
        ),
        rows=tuple(rows),
        notes=tuple(_notes(systems, lost, toys)),
        records=tuple(records),
    )  # fmt: skip


def _notes(
    systems: Collection[SystemTalks], lost: Collection[LostConversation], toys: Collection[str]
) -> Iterator[str]:
    if any(talks.finished for talks in systems):
        yield "Messages: mean of the finished conversations."
    if toys:
        names = ", ".join(toys)
        yield f"Toys without a model took part ({names}): conversations with them show nothing about any model."
    stops: Counter[str] = Counter()
    flags: Counter[str] = Counter()
    for talks in systems:
        stops.update(talks.stops)
        flags.update(talks.flags)
    if stops:
        yield f"They ended by: {_counts(stops)}."
    if any(flags.values()):
        yield f"Flagged in them: {_counts(flags)}."
    failed = [entry for entry in lost if entry.state == "failed"]
    own = Counter(entry.reason for entry in failed if entry.whose == "clinician")
    if own:
        yield f"Failed by the clinician, and so the worst: {_counts(own)}."
    missing = Counter(f"{entry.whose}, {entry.reason}" for entry in failed if entry.whose != "clinician")
    if missing:
        yield f"Missing: {_counts(missing)}."


def _counts(counter: Counter[str]) -> str:
    parts = sorted(((name, n) for name, n in counter.items() if n), key=lambda part: (-part[1], part[0]))
    return "; ".join(f"{name} {number:,}" for name, number in parts)


def _spent(spent: Mapping[str, Mapping[str, Any]], earlier: int) -> Table:
    rows, records = [], []
    for role, took in spent.items():
        cells = (
            role,
            *(_amount(took[name]) for name in ("replies", "calls", "input_tokens", "output_tokens")),
            money(took["cost"]),
        )
        rows.append(Row(tuple(map(Cell, cells))))
        records.append({"role": role, **took})
    return Table(
        name="simulation_spent",
        title="What it took, in all runs of it",
        columns=(
            Column("Role", "left"), Column("Replies"), Column("Requests"), Column("Tokens in"), Column("Tokens out"),
            Column("Cost"),
        ),
        rows=tuple(rows),
        notes=(
            f"{counted(earlier, 'conversation')} that other commands had made here count in it; the folder's files hold"
            " those of the last command only, and the log has all.",
        )
        if earlier
        else (),
        records=tuple(records),
    )  # fmt: skip


def _amount(value: int | None) -> str:
    return DASH if value is None else f"{value:,}"


def _conversation_lines(record: ConversationRecord) -> Iterator[str]:
    yield record.id
    yield ", ".join(f"{name} {value}" for name, value in record.about.items())
    if record.ending is None:
        yield "It has not ended."
        return
    yield "ended: " + ", ".join(f"{name} {_shown(value)}" for name, value in record.ending.items() if value != "")
    by_turn: dict[int, list[dict[str, Any]]] = {}
    for state in record.states:
        by_turn.setdefault(state.get("turn") or 0, []).append(state)
    for index, turn in enumerate((record.transcript or {}).get("turns") or ()):
        yield ""
        yield f"{index} {turn['role']}: {turn['text']}"
        yield from _state_lines(by_turn.pop(index, []))
    for index, states in sorted(by_turn.items()):
        yield ""
        yield f"{index} (no message)"
        yield from _state_lines(states)


def _state_lines(states: Collection[Mapping[str, Any]]) -> Iterator[str]:
    for state in states:
        parts = [f"{k} {_shown(v)}" for k, v in state.items() if k not in ("id", "turn", "purpose")]
        yield f"    [{state.get('purpose', 'state')}] {', '.join(parts)}"


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()
