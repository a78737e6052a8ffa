"""What simulated conversations cost, by system: what was paid for the clinician under test, and for all else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bedside.analysis.ratings_view import RatingsView
from bedside.ratings.run import RunSimulation, run_simulations
from bedside.transcripts.simulation_folder import LOG_FILE, simulation_manifest

#: What the manifests of one simulation have in common, however often it was run.
_SAME = ("protocol", "version", "clinicians", "patient", "evaluator", "cases", "settings", "seed")
#: What each system's conversations of the last plan took; keys of conversations begun anew end in #2 and so on.
_BY_SYSTEM = """
SELECT json_extract(about, '$.system') AS system, replies.actor AS actor, count(DISTINCT plan.key) AS conversations,
    CASE WHEN count(cost) = count(*) THEN sum(cost) END AS cost
FROM replies JOIN plan ON plan.key = substr(replies.key, 1, 64) GROUP BY 1, 2
"""


@dataclass(frozen=True, slots=True)
class SystemCost:
    """What one system's conversations cost.

    Attributes:
        system: the clinician under test.
        conversations: those that anything was asked in, lost ones included.
        own: US dollars for the clinician's own replies; None where a price isn't known.
        others: US dollars for the replies of all others in these conversations, but for what conversations share;
            None likewise.
    """

    system: str
    conversations: int
    own: float | None
    others: float | None

    @property
    def own_each(self) -> float | None:
        """US dollars a conversation for the clinician's own replies."""
        return None if self.own is None or not self.conversations else self.own / self.conversations


def simulated_costs(view: RatingsView) -> dict[str, SystemCost] | None:
    """What each system's conversations cost; None where a simulation isn't there any more, or there is none.

    A simulation is looked for where it was when it was scored, and beside the run.

    Raises:
        RunError: what the run keeps of its simulations, or a log, is damaged.
    """
    if view.run is None:
        return None
    costs: dict[str, SystemCost] = {}
    simulations = run_simulations(view.run.path)
    for simulation in simulations:
        log = _log(simulation, view.run.path)
        if log is None:
            return None
        for cost in _of_log(log):
            costs[cost.system] = _sum(costs.get(cost.system), cost)
    return costs if simulations else None


def _log(simulation: RunSimulation, run: Path) -> Path | None:
    """The log of a simulation, which may have been moved together with the run."""
    kept = Path(simulation.path)
    for folder in (kept, run.parent / kept.name):
        manifest = simulation_manifest(folder) or {}
        if _is_same(manifest, simulation.manifest) and (folder / LOG_FILE).is_file():
            return folder / LOG_FILE
    return None


def _is_same(manifest: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return all(manifest.get(name) == other.get(name) for name in _SAME)


def _of_log(log: Path) -> list[SystemCost]:
    from bedside.simulation.conversation_log import check_rows, opened_log

    by_system: dict[str, dict[bool, list[tuple[int, float | None]]]] = {}
    with opened_log(log) as connection:
        check_rows(connection, "replies", "plan")
        for row in connection.execute(_BY_SYSTEM).fetchall():
            parts = by_system.setdefault(row["system"], {True: [], False: []})
            parts[row["actor"] == "clinician"].append((row["conversations"], row["cost"]))
    return [
        SystemCost(
            system,
            max((number for part in parts.values() for number, _ in part), default=0),
            total_cost([cost for _, cost in parts[True]]),
            total_cost([cost for _, cost in parts[False]]),
        )
        for system, parts in by_system.items()
    ]


def total_cost(costs: Sequence[float | None]) -> float | None:
    """The sum of costs, None where one isn't known."""
    known = [cost for cost in costs if cost is not None]
    return sum(known) if len(known) == len(costs) else None


def _sum(earlier: SystemCost | None, cost: SystemCost) -> SystemCost:
    if earlier is None:
        return cost
    return SystemCost(
        cost.system,
        earlier.conversations + cost.conversations,
        total_cost([earlier.own, cost.own]),
        total_cost([earlier.others, cost.others]),
    )
