"""What the methods paragraph says of simulated conversations: which part was simulated, and by what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.simulated_talks import SimulatedTalks, reasons_of, simulated_talks
from bedside.core.words import counted
from bedside.reports.simulated_actors import (
    actors_of,
    judging_actors,
    ranking_and_scoring,
    toys_of,
    with_toy,
)


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
        + (
            f"; {counted(talks.others, 'other')} {'are' if talks.others != 1 else 'is'} not."
            if talks.others
            else "."
        )
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
        sentences.append(
            "A toy is rules or a script in place of a model: nothing about a model follows from it."
        )
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
    said = dict.fromkeys(
        f"{provenance.get('protocol')}, version {provenance.get('version')}"
        for provenance in (talk.provenance or {} for talk in talks.finished)
        if provenance
    )
    return list(kinds or said)


def _lost(talks: SimulatedTalks) -> list[str]:
    if not talks.simulations:
        return [
            "What could not be simulated isn't known, as the transcripts were scored without the simulation."
        ]
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
        *(
            f"{name} took part in the conversations and judged them too."
            for name in judging_actors(view, talks)
        ),
        *(
            f"{name} ranked the candidates in the conversations and scored their likelihood too."
            for name in ranking_and_scoring(view, talks)
        ),
    ]
