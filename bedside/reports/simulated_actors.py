"""Who took part in simulated conversations, toys named as toys."""

from __future__ import annotations

import re
from collections.abc import Iterable

from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.simulated_talks import SimulatedTalks
from bedside.ratings.names import is_judge


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
