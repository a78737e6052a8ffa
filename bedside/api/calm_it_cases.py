"""Cases of CALM-IT from profiles: a model writes what is missing, over a log like a simulation."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from bedside.core.errors import InputError

if TYPE_CHECKING:
    from bedside.core.records import PathOrPaths
    from bedside.simulation.actor_contract import Named
    from bedside.simulation.logged_actors import SimulationProgress
    from bedside.simulation.record_making import RecordPlan
    from bedside.simulation.simulate import SimulationSettings, SimulationSummary
    from bedside.simulation.simulators.case import Case

#: The file of cases in the folder.
CASES_FILE = "cases.jsonl"
_MOST_TOKENS = 4096


def cases_from_profiles(
    profiles: PathOrPaths,
    out: str | os.PathLike[str],
    *,
    writer: Named,
    temperature: float | None = None,
    seed: int = 0,
    settings: SimulationSettings | None = None,
    progress: Callable[[SimulationProgress], None] | None = None,
) -> SimulationSummary:
    """Write background and session goal of cases that lack them, into ``cases.jsonl`` in a folder.

    Args:
        profiles: case files of calm-it, or folders of them; what they say already stays.
        out: the folder; the same call goes on where it was stopped.
        writer: who writes, as judges are named; ``rules`` for a toy without a model.
        temperature: of a language model; None leaves it to the provider.
        seed: of the writer's own chance.
        settings: limits and prices; None for none.
        progress: called whenever a case is made, or can't be.

    Raises:
        BedsideError: a file can't be read, the writer can't be asked, or the folder can't be written.
    """
    from bedside.simulation.record_making import make_records
    from bedside.simulation.simulate import SimulationSettings

    plan = _plan(profiles, writer, temperature, seed)
    return make_records(plan, Path(out), settings or SimulationSettings(), progress)


def _plan(profiles: PathOrPaths, writer: Named, temperature: float | None, seed: int) -> RecordPlan:
    from bedside.judges.llm.protocol import Sampling
    from bedside.simulation.actor_contract import read_actor
    from bedside.simulation.record_making import RecordPlan, RecordTask
    from bedside.simulation.simulators.calm_it.profile_cases import VERSION, case_record
    from bedside.simulation.simulators.contract import SIMULATORS

    simulator = SIMULATORS.load("calm-it")
    tasks = tuple(
        RecordTask(case.id, case.id, case.language, case.digest(), partial(case_record, case))
        for case in _sketches(profiles)
    )
    sampling = Sampling(temperature=temperature, max_tokens=_MOST_TOKENS, seed=seed)
    cast = {"": read_actor(writer, simulator, "writer")}
    return RecordPlan("cases of profiles", VERSION, simulator, tasks, cast, {}, sampling, seed, CASES_FILE)


def _sketches(profiles: PathOrPaths) -> Iterator[Case]:
    from bedside.simulation.simulators.calm_it.client_fields import ClientSketch, problems
    from bedside.simulation.simulators.case_files import read_cases

    for where, case in read_cases(profiles):
        for problem in problems(case, ClientSketch):
            raise InputError(f"no case can be made of {case.id!r}: {problem}", where=where)
        yield case
