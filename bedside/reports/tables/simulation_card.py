"""The card of a simulation: what was simulated and by whom, and what in it is bedside's own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.simulated_talks import SimulatedTalk, SimulatedTalks, simulated_talks
from bedside.analysis.study_parts import SYNTHETIC
from bedside.core.words import counted
from bedside.reports.columns import Column, Table, recorded, table_of
from bedside.reports.notes import note, noted
from bedside.reports.simulations import actors_of, judging_actors, ranking_and_scoring, toys_of, with_toy
from bedside.reports.table_kind import TableKind
from bedside.reports.tables.leaderboard import board_measures, repeat_texts, spread_words, success_words
from bedside.simulation.patient_quality import is_checked
from bedside.transcripts.simulation_folder import ReviewCounts, reviewed_sentences

_TITLE = "Simulation card"
_SIMULATED, _ACTORS, _OWN = "What was simulated", "Who took part", "bedside's own, where the source is silent"
_REPEATS = "Steady over repeats"
_REVIEW, _BY_REVIEWER = "Faulty patients, found by rules", "Faulty patients, found by the reviewer after the rules"
#: Roles as the card names them, by an actor's role.
_ROLES = {"clinician": "Clinician under test", "patient": "Patient", "evaluator": "Evaluator", "ranker": "Ranker",
          "reviewer": "Reviewer"}  # fmt: skip


class Fact(NamedTuple):
    """A line of the card, of one of its parts."""

    part: str
    name: str
    value: str


COLUMNS = (recorded("part"), Column("", "left", field="name"), Column("", "left", field="value"))


def _simulated(talks: SimulatedTalks) -> Iterator[tuple[str, str, str]]:
    for simulation in talks.simulations:
        manifest = simulation.manifest
        yield _SIMULATED, "Protocol", f"{manifest.get('protocol')}, version {manifest.get('version')}"
        if manifest.get("source"):
            yield _SIMULATED, "Source", str(manifest["source"])
        for label, key in (("Settings", "settings"), ("Lengths", "lengths")):
            if manifest.get(key):
                yield _SIMULATED, label, ", ".join(map(str, manifest[key]))
        for name, value in (manifest.get("options") or {}).items():
            yield _SIMULATED, f"Option {name}", str(value)
        yield _SIMULATED, "Seed", str(manifest.get("seed"))
        yield _SIMULATED, "bedside", str(manifest.get("bedside"))
    if not talks.simulations:
        yield from ((_SIMULATED, "Protocol", kind) for kind in talks.protocols)
    yield _SIMULATED, "Cases", f"{len({talk.case for talk in talks.talks}):,}"
    personas = sorted({talk.persona for talk in talks.talks} - {""})
    if personas:
        yield _SIMULATED, "Personas", f"{len(personas)}: {', '.join(personas)}"
    yield _SIMULATED, "Repeats", f"{len({talk.repeat for talk in talks.talks}):,}"
    finished = len(talks.finished)
    completed = sum(talk.completed for talk in talks.finished)
    states = [talk.state for talk in talks.talks]
    words = f"{len(states) + talks.not_begun:,} planned" if talks.simulations else f"{finished:,} with a transcript"
    if talks.simulations:
        words += f", {finished:,} with a transcript"
    words += f", {completed:,} of them completed as the protocol means"
    if talks.simulations:
        unfinished = states.count("unfinished") + talks.not_begun
        words += f"; {states.count('failed'):,} failed, {unfinished:,} not finished"
    yield _SIMULATED, "Conversations", words
    if talks.others:
        yield _SIMULATED, "Not simulated", counted(talks.others, "transcript")
    yield from _ranked(talks)


def _ranked(talks: SimulatedTalks) -> Iterator[tuple[str, str, str]]:
    """Messages whose candidates were ranked, by side, and how often the most repetitive candidate won."""
    by_side: dict[str, Counter[str]] = {}
    for talk in talks.finished:
        for side, counts in ((talk.provenance or {}).get("ranked") or {}).items():
            by_side.setdefault(side, Counter()).update(counts)
    for side, counts in by_side.items():
        ranked, repetitive = counts["messages"], counts["won by the most repetitive"]
        yield (
            _SIMULATED,
            f"Ranked messages, {side}",
            f"{ranked:,}; in {repetitive:,} ({repetitive / ranked:.0%}) the candidate won that is most like what its "
            "side had said before",
        )


def _actors(talks: SimulatedTalks) -> Iterator[tuple[str, str, str]]:
    toys = toys_of(talks)
    for role, names in actors_of(talks).items():
        yield from ((_ACTORS, _ROLES[role], with_toy(name, toys)) for name in names)
    for simulation in talks.simulations:
        for role, sampling in (simulation.manifest.get("sampling") or {}).items():
            words = ", ".join(f"{name} {value}" for name, value in sampling.items() if value not in (None, False))
            if words and not set(actors_of(talks).get(role, ())) <= toys:
                yield _ACTORS, f"{_ROLES.get(role, role)}, sampling", words


def _reviewed(talks: SimulatedTalks) -> Iterator[tuple[str, str, str]]:
    """The share of faulty conversations by protocol and system, by rules and by the reviewer apart."""
    groups: dict[tuple[str, str], list[SimulatedTalk]] = {}
    for talk in talks.finished:
        groups.setdefault((str((talk.provenance or {}).get("protocol", "")), talk.system), []).append(talk)
    for part, by in ((_REVIEW, "rules"), (_BY_REVIEWER, "reviewer")):
        for (protocol, system), own in sorted(groups.items()):
            counts = ReviewCounts.of(by, (talk.provenance for talk in own))
            faulty, number = sum(counts.known), len(counts.known)
            words = f"{faulty:,} of {number:,}" + (f" ({faulty / number:.1%})" if number else "")
            words += f": {', '.join(f'{kind} {n:,}' for kind, n in sorted(counts.kinds.items()))}" if faulty else ""
            words += f"; {counts.draws}" if counts.draws else ""
            words += f". {reviewed_sentences(number, counts.unreviewed)}" if by == "reviewer" else ""
            if counts.verdicts:
                yield part, f"{protocol}, {system}", words


def _own(talks: SimulatedTalks) -> Iterator[tuple[str, str, str]]:
    for simulation in talks.simulations:
        manifest: Mapping[str, Any] = simulation.manifest
        for number, sentence in enumerate(manifest.get("parameters of bedside's own") or (), start=1):
            yield _OWN, f"Parameter {number}", str(sentence)


def _steady(view: RatingsView, seed: int) -> Iterator[tuple[str, str, str]]:
    """How steady each system is over its repeats, on the measure that orders the leaderboard."""
    for column in board_measures(view, seed=seed).columns[:1]:
        for standing in column.standings.systems:
            if standing.repeats is not None:
                texts = repeat_texts(standing.repeats, column).items()
                success = success_words(standing.repeats, column)
                yield (
                    _REPEATS,
                    standing.system,
                    "; ".join((*(f"{name} {text}" for name, text in texts), spread_words(standing.repeats, column)))
                    + (f"; success: {success}" if success else ""),
                )


@note("simulation card.toys")
def toys_there(talks: SimulatedTalks) -> Iterator[str]:
    """That figures show nothing of models, or aren't those of published ones."""
    toys = toys_of(talks)
    if toys:
        yield (
            f"Toys are rules or scripts in place of a model: {', '.join(sorted(toys))}. Nothing about a model follows "
            "from what they say."
        )
    if any(simulation.manifest.get("parameters of bedside's own") for simulation in talks.simulations):
        yield "Where parameters are bedside's own, figures are not to be compared with published ones."


@note("simulation card.mixed")
def mixed(shown: tuple[RatingsView, SimulatedTalks]) -> Iterator[str]:
    """That not all is simulated, was checked, or is known."""
    view, talks = shown
    if talks.others:
        both = len(view.part.where.get(SYNTHETIC, ())) > 1
        yield "Simulated conversations and others are in one run" + (
            ", and numbers are of both together, as was asked for."
            if both
            else ". No system has both: where one has these and another those, their difference is one of the kinds, "
            "too."
        )
    reviewed = ReviewCounts.of("reviewer", (talk.provenance for talk in talks.finished)).known
    if not is_checked(view) and not reviewed:
        yield ("Nobody has checked whether the simulated patients keep to their cases: bedside simulate quality does.")
    if not talks.simulations:
        yield (
            "The transcripts were scored without the simulation's folder: what failed, and what the run took, isn't "
            "known here."
        )


@note("simulation card.judges")
def judging(shown: tuple[RatingsView, SimulatedTalks]) -> Iterator[str]:
    """That those who took part rate, too."""
    for name in judging_actors(*shown):
        yield (
            f"{name} took part in the conversations and judges them: models tend to favour what they wrote themselves."
        )
    for name in ranking_and_scoring(*shown):
        yield (
            f"{name} ranked the candidates in the conversations and scores them here: a turn likelihood or redirection "
            "by it rewards what it chose itself. Score by another model."
        )


def build(view: RatingsView, seed: int = 0) -> Table | None:
    """The card; None where nothing was simulated."""
    talks = simulated_talks(view)
    if talks is None:
        return None
    facts = (*_simulated(talks), *_actors(talks), *_steady(view, seed), *_reviewed(talks), *_own(talks))
    rows = (Fact(*fact) for fact in facts)
    notes = (*toys_there.texts(talks), *noted((mixed, judging), (view, talks)))
    return table_of("simulation_card", _TITLE, rows, COLUMNS, group=lambda fact: fact.part, notes=notes)


TABLE = TableKind("simulation_card", _TITLE, 70, build, shown="always", averages=False)
