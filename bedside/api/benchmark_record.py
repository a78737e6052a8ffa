"""What a benchmark was asked to do, as its folder says, and what in a later call differs from that."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bedside.core.errors import RunError
from bedside.core.files import read_json, write_json
from bedside.core.json_shape import INTEGER
from bedside.core.words import counted, typed

if TYPE_CHECKING:
    from bedside.ratings.suites import Suite
    from bedside.simulation.actor_contract import Named
    from bedside.simulation.requested_plan import CaseInput, PersonaInput
    from bedside.simulation.simulation_plan import SimulationPlan

RECORD = "benchmark.json"
FORMAT = 1
#: Names that a message lists one by one.
_MOST = 6


@dataclass(frozen=True)
class BenchmarkRequest:
    """What a benchmark is asked to do; the attributes are arguments of :func:`bedside.benchmark`."""

    protocol: str
    clinicians: tuple[Named, ...]
    judges: tuple[str, ...] = ()
    cases: CaseInput | None = None
    patient: Named = "rules"
    evaluator: Named | None = None
    ranker: Named | None = None
    personas: PersonaInput | None = None
    settings: tuple[str, ...] = ()
    lengths: tuple[int, ...] = ()
    repeats: int = 1
    sample: int | None = None
    seed: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)

    def simulated(self) -> dict[str, Any]:
        """The arguments of :func:`bedside.simulate` and of its preview, but cases, protocol and clinicians."""
        return {
            "patient": self.patient,
            "evaluator": self.evaluator,
            "ranker": self.ranker,
            "personas": self.personas,
            "settings": self.settings,
            "lengths": self.lengths,
            "repeats": self.repeats,
            "sample": self.sample,
            "seed": self.seed,
            "options": self.options,
        }

    @cached_property
    def plan(self) -> SimulationPlan:
        """The conversations that it has."""
        from bedside.simulation.requested_plan import SimulationRequest

        return SimulationRequest(self.protocol, self.clinicians, cases=self.cases, **self.simulated()).plan()

    @cached_property
    def suite(self) -> Suite:
        """What scores them: the suite of the protocol's name."""
        from bedside.ratings.suites import SUITES

        return SUITES.find(self.protocol)

    @cached_property
    def content(self) -> dict[str, Any]:
        """All that transcripts and ratings depend on, as JSON."""
        from bedside.judges.llm.endpoints import named_models

        plan = self.plan
        common = plan.clinicians[0]
        roles: dict[str, Any] = {
            role: plan.playing(role, name) for role, name in plan.roles(common).items() if role != "clinician"
        }
        return {
            "protocol": plan.simulator.name,
            "version": plan.simulator.version,
            "clinicians": {name.identity: plan.playing("clinician", name) for name in plan.clinicians},
            **roles,
            "cases": {case.id: case.digest() for case in plan.cases},
            "personas": {persona.id: persona.digest() for persona in plan.personas if persona is not None},
            "settings": list(plan.settings),
            "lengths": [length for length in plan.lengths if length is not None],
            "repeats": plan.repeats,
            "options": dict(plan.options.own),
            "seed": plan.seed,
            "judges": [name.identity for name in named_models(self.judges)] if self.judges else [],
            "suite": self.suite.model_dump(mode="json", include={"name", "metrics", "parameters"}),
            "rubrics": self._rubrics(),
        }

    def _rubrics(self) -> dict[str, str]:
        """The version of each rubric that judges rate by."""
        from bedside.scoring.judging_orders import chosen_rubrics

        if not self.judges:
            return {}
        return {rubric.name: rubric.version for rubric in chosen_rubrics(self.suite.rubrics)}

    def as_asked(self) -> dict[str, Any]:
        """The arguments as they were given, as JSON; under ``in memory``, which are Python objects and left out."""
        asked: dict[str, Any] = {
            "protocol": self.protocol,
            "clinicians": list(self.clinicians),
            "judges": list(self.judges),
            **{
                name: list(value) if isinstance(value, tuple) else value
                for name, value in self.simulated().items()
            },
            "options": dict(self.options),
            "cases": None if self.cases is None else [_path(case) for case in _several(self.cases)],
            "personas": None if self.personas is None else _path(self.personas),
        }
        absent = [name for name, value in asked.items() if not _is_json(value)]
        return {**{name: value for name, value in asked.items() if name not in absent}, "in memory": absent}

    def with_clinicians(self, clinicians: Sequence[Named]) -> BenchmarkRequest:
        """The same with these clinicians beside its own, each once."""
        new = [name for name in clinicians if name not in self.clinicians]
        return replace(self, clinicians=(*self.clinicians, *new))


def _several(value: Any) -> list[Any]:
    return list(value) if isinstance(value, Sequence) and not isinstance(value, str) else [value]


def _path(value: Any) -> Any:
    return os.path.abspath(value) if isinstance(value, str | os.PathLike) else value


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        return False
    return True


# -- the folder ------------------------------------------------------------------------------------------


def write_record(folder: Path, request: BenchmarkRequest) -> None:
    """Write what a benchmark is asked to do into its folder."""
    from bedside import __version__

    content = {
        "format": FORMAT,
        "bedside": __version__,
        "asked": request.as_asked(),
        "depends on": request.content,
    }
    write_json(folder / RECORD, content)


def read_record(folder: Path) -> dict[str, Any] | None:
    """What a benchmark's folder says of it; None where there is nothing.

    Raises:
        RunError: it can't be read, or is of another version.
    """
    path = folder / RECORD
    if not path.is_file():
        return None
    noun = "record of the benchmark"
    record: dict[str, Any] = read_json(path, noun, {"format": INTEGER}, todo="name another folder")
    if record["format"] != FORMAT:
        raise RunError(
            f"the benchmark has format {record['format']}, and this version of bedside reads {FORMAT}",
            where=str(path),
            todo="use the version of bedside that made it",
        )
    if not {"asked", "depends on"} <= record.keys():
        raise RunError(f"the {noun} can't be read", where=str(path), todo="name another folder")
    return record


def request_of(folder: Path) -> BenchmarkRequest:
    """The request that a benchmark's folder keeps.

    Raises:
        RunError: there is no benchmark, or something in it was no name and can't be had from a file.
    """
    record = read_record(folder)
    if record is None:
        raise RunError(
            "there is no benchmark in this folder",
            where=str(folder),
            todo="make one with bedside benchmark PROTOCOL",
        )
    asked = dict(record["asked"])
    gone = asked.pop("in memory")
    if gone:
        raise RunError(
            f"what was given in Python can't be had again: {', '.join(gone)}",
            where=str(folder),
            todo="name files and package.module:function in another folder",
        )
    lists: dict[str, Any] = {
        name: tuple(asked.pop(name)) for name in ("clinicians", "judges", "settings", "lengths")
    }
    return BenchmarkRequest(**lists, **asked)


def check_same(
    folder: Path, record: Mapping[str, Any], request: BenchmarkRequest, added: Sequence[str] = ()
) -> None:
    """Refuse to go on with another benchmark.

    Args:
        folder: the benchmark's.
        record: what it says.
        request: what is asked now.
        added: identities of clinicians that are new on purpose.

    Raises:
        RunError: what differs.
    """
    kept = record["depends on"]
    now = {**request.content}
    now["clinicians"] = {
        name: value
        for name, value in now["clinicians"].items()
        if name not in added or name in kept["clinicians"]
    }
    # As JSON has it.
    now = json.loads(json.dumps(now))
    differing = [
        _difference(name, kept.get(name), now.get(name))
        for name in {**kept, **now}
        if kept.get(name) != now.get(name)
    ]
    if not differing:
        return
    more = set(now["clinicians"]) - set(kept["clinicians"])
    only_more = len(differing) == 1 and more and not set(kept["clinicians"]) - set(now["clinicians"])
    add = None
    if only_more:
        clinician = typed(sorted(more)[0])
        add = f"add to it with bedside benchmark add {typed(folder)} --clinician {clinician}"
    raise RunError(
        f"the benchmark in this folder is another one: {'; '.join(differing)}",
        where=str(folder),
        todo=add or "give the options that it was begun with, or name another folder",
    )


def _difference(name: str, kept: Any, now: Any) -> str:
    """What differs between what a folder has and what is asked, in words."""
    if (
        name in ("cases", "personas", "clinicians", "rubrics")
        and isinstance(kept, dict)
        and isinstance(now, dict)
    ):
        parts = (
            ("without", [key for key in kept if key not in now]),
            ("new", [key for key in now if key not in kept]),
            ("changed", [key for key in kept if key in now and kept[key] != now[key]]),
        )
        return f"{name} ({'; '.join(f'{word}: {_listed(keys)}' for word, keys in parts if keys)})"
    if isinstance(kept, dict) and isinstance(now, dict):
        changed = [key for key in {**kept, **now} if kept.get(key) != now.get(key)]
        words = "; ".join(f"{key} {_shown(kept.get(key))}, now {_shown(now.get(key))}" for key in changed)
        return f"{name} ({words})"
    return f"{name} ({_shown(kept)}, now {_shown(now)})"


def _listed(names: Sequence[str]) -> str:
    more = f" and {counted(len(names) - _MOST, 'other')}" if len(names) > _MOST else ""
    return ", ".join(names[:_MOST]) + more


def _shown(value: Any) -> str:
    if value is None or value in ([], {}):
        return "none"
    return _listed([str(each) for each in value]) if isinstance(value, list) else str(value)
