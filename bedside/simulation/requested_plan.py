"""The plan that a user asks for: names and files become cases, personas, settings and actors, all checked."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bedside.core.errors import InputError, one_of
from bedside.ratings.names import is_human
from bedside.simulation.actor_contract import ACTORS, ActorName, Named, read_actor, read_actors
from bedside.simulation.simulation_plan import SimulationPlan, check_cases, read_options, sampled
from bedside.simulation.simulators.case import Case, Persona
from bedside.simulation.simulators.contract import SIMULATORS, Simulator

#: Files or folders of cases, or cases themselves.
CaseInput = str | os.PathLike[str] | Case | Sequence[str | os.PathLike[str] | Case]
#: A name or a function, or several.
ActorInput = Named | Sequence[Named]
#: A file of personas, or personas themselves.
PersonaInput = str | os.PathLike[str] | Sequence[Persona]


@dataclass(frozen=True, slots=True)
class SimulationRequest:
    """What a user asks to have simulated.

    Attributes:
        protocol: the simulator's name.
        clinicians: who is tested.
        patient: who plays the patient.
        evaluator: who does what is neither side's part; None for the patient's actor.
        cases: None for the protocol's own.
        personas: None for the protocol's own.
        settings: names of the simulator's settings; none for its first.
        lengths: target lengths; none for the simulator's own.
        repeats: how often each conversation is had.
        sample: how many of the cases are drawn; None for all.
        options: values by name, see :func:`bedside.simulation.simulation_plan.options_of`.
        seed: of all chance.
        time_limit: seconds until a request counts as unanswered.
        ranker: who ranks candidates, where the protocol has any; None for the protocol's own toy.
    """

    protocol: str
    clinicians: ActorInput
    patient: Named = "rules"
    evaluator: Named | None = None
    cases: CaseInput | None = None
    personas: PersonaInput | None = None
    settings: Sequence[str] = ()
    lengths: Sequence[int] = ()
    repeats: int = 1
    sample: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    time_limit: float = 120.0
    ranker: Named | None = None

    def plan(self) -> SimulationPlan:
        """The conversations that are asked for.

        Raises:
            BedsideError: a name is none, a file can't be read, or a number is out of range.
        """
        simulator = SIMULATORS.load(self.protocol)
        self._check_numbers()
        cases = self._cases(simulator)
        check_cases(simulator, cases)
        if self.sample is not None and self.sample > len(cases):
            raise InputError(
                f"there are {len(cases)} cases, and {self.sample} are to be drawn",
                where="`sample`",
                todo="leave it out to take all",
            )
        clinicians = read_actors(_several(self.clinicians), simulator)
        if not clinicians:
            raise InputError(
                "no clinician is named",
                where="`clinician`",
                todo="name a model, such as openai/gpt-5-mini, or rules",
            )
        settings = self._settings(simulator)
        _check_objects(simulator, clinicians, settings)
        patient = read_actor(self.patient, simulator, "patient")
        if self.evaluator is None and is_human(patient.identity):
            raise InputError(
                "a person plays the patient, and nobody is named who labels turns and checks facts",
                where="`evaluator`",
                todo="name a model, or rules",
            )
        return SimulationPlan(
            simulator,
            sampled([case for _, case in cases], self.sample, self.seed),
            self._personas(simulator),
            settings,
            self._lengths(simulator),
            self.repeats,
            clinicians,
            patient,
            patient if self.evaluator is None else read_actor(self.evaluator, simulator, "evaluator"),
            read_options(simulator, self.options, seed=self.seed, time_limit=self.time_limit),
            self.seed,
            self._ranker(simulator),
        )

    def _ranker(self, simulator: Simulator) -> ActorName | None:
        if "ranker" in simulator.roles:
            return read_actor("rules" if self.ranker is None else self.ranker, simulator, "ranker")
        if self.ranker is not None:
            raise InputError(f"{simulator.name} has no candidates to be ranked", where="`ranker`", todo="leave it out")
        return None

    def _check_numbers(self) -> None:
        for name, number in (("repeats", self.repeats), ("sample", self.sample)):
            if number is not None and (isinstance(number, bool) or not isinstance(number, int) or number < 1):
                raise InputError(f"`{name}` must be 1 or more, and is {number!r}")
        if not (isinstance(self.time_limit, int | float) and self.time_limit > 0):
            raise InputError(f"`time_limit` must be above 0, and is {self.time_limit!r}")
        if isinstance(self.seed, bool) or not isinstance(self.seed, int):
            raise InputError(f"`seed` must be a whole number, and is {self.seed!r}")

    def _cases(self, simulator: Simulator) -> list[tuple[str, Case]]:
        from bedside.simulation.simulators.case_files import read_cases

        cases: Any = simulator.cases if self.cases is None else self.cases
        if isinstance(cases, str | os.PathLike | Case):
            cases = [cases]
        read: list[tuple[str, Case]] = []
        for number, case in enumerate(cases, 1):
            read += [(f"case {number}", case)] if isinstance(case, Case) else read_cases(Path(case))
        return read

    def _personas(self, simulator: Simulator) -> tuple[Persona | None, ...]:
        from bedside.simulation.simulators.case_files import read_personas

        source: Any = self.personas
        if source is None:
            source = simulator.personas
        elif simulator.personas is None and not simulator.takes_personas:
            raise InputError(f"{simulator.name} has no personas", where="`personas`", todo="leave them out")
        if source is None:
            return (None,)
        personas: list[Persona] = (
            [persona for _, persona in read_personas(Path(source))]
            if isinstance(source, str | os.PathLike)
            else list(source)
        )
        names = [persona.id for persona in personas]
        doubled = next((name for name in names if names.count(name) > 1), None)
        if doubled is not None:
            raise InputError(f"two personas are called {doubled!r}", where="`personas`", todo="rename one")
        if not names:
            raise InputError("there are no personas", where="`personas`", todo="name a file of personas")
        return tuple(personas)

    def _settings(self, simulator: Simulator) -> tuple[str, ...]:
        known = [setting.name for setting in simulator.settings]
        names = [self.settings] if isinstance(self.settings, str) else list(self.settings)
        for name in names:
            one_of(name, known, f"{simulator.name} setting", InputError, where="`settings`")
        return tuple(dict.fromkeys(names)) or (known[0],)

    def _lengths(self, simulator: Simulator) -> tuple[int | None, ...]:
        lengths = [self.lengths] if isinstance(self.lengths, int) else list(self.lengths)
        if lengths and not simulator.lengths:
            raise InputError(f"{simulator.name} has no target lengths", where="`lengths`", todo="leave them out")
        for length in lengths:
            if isinstance(length, bool) or not isinstance(length, int) or length < 1:
                raise InputError(f"`lengths` must be 1 or more, and one is {length!r}")
        return tuple(dict.fromkeys(lengths)) or tuple(simulator.lengths) or (None,)


def _check_objects(simulator: Simulator, clinicians: Sequence[ActorName], settings: Sequence[str]) -> None:
    """Refuse clinicians that can only write words where a setting asks them for objects."""
    plain = [setting.name for setting in simulator.settings if not setting.objects]
    for setting in simulator.settings:
        if setting.name not in settings or not setting.objects:
            continue
        for clinician in clinicians:
            why = ACTORS.load(clinician.kind).words_only(clinician, setting.objects)
            if why:
                raise InputError(
                    f"{clinician.text} can't be the clinician in {setting.name}, where objects are asked for: {why}",
                    where="`clinician`",
                    todo=f"choose `settings` {' or '.join(plain)}" if plain else "name a model",
                )


def _several(names: ActorInput) -> tuple[Named, ...]:
    return tuple(names) if isinstance(names, Sequence) and not isinstance(names, str) else (names,)
