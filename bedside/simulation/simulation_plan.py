"""Which conversations a simulation has, how models are asked to write, and the conversations' keys."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import Any

import orjson

from bedside.core.errors import InputError, one_of
from bedside.core.files import file_digest, write_text
from bedside.core.json_shape import INTEGER, TEXT, OrNull, misfit
from bedside.judges.llm.endpoints import with_endpoint_fields
from bedside.judges.llm.protocol import Sampling
from bedside.judges.rubrics.prompt_words import languages, prompt_words
from bedside.ratings.names import is_human
from bedside.simulation.actor_contract import ACTORS, ActorName, Named, read_actor, read_actors
from bedside.simulation.conversation_log import ListedConversation
from bedside.simulation.simulators.calls import ActorRole, Scope
from bedside.simulation.simulators.case import Case, Persona
from bedside.simulation.simulators.contract import Draws, Simulator, SimulatorOption, Situation
from bedside.simulation.simulators.scripts import bundled_scripts, read_script

# -- How language models are asked to write -------------------------------------------------------------
# A simulator that has an option of the same name says what its default is.

#: What stands for a temperature that is left to the provider.
PROVIDERS_OWN = "none"
_MOST_TOKENS = 4096


def _temperature(role: ActorRole) -> SimulatorOption:
    return SimulatorOption(
        f"{role}_temperature",
        PROVIDERS_OWN,
        f"Temperature that the {role}'s model writes with, from 0 to 2; none leaves it to the provider.",
        own=True,
    )


def _max_tokens(role: ActorRole) -> SimulatorOption:
    return SimulatorOption(
        f"{role}_max_tokens", _MOST_TOKENS, f"Most tokens of a reply of the {role}'s model.", own=True
    )


@dataclass(frozen=True, slots=True)
class SimulationOptions:
    """A value for each option.

    Attributes:
        own: those of the simulator.
        sampling: how each role's model is asked to write.
    """

    own: Mapping[str, Any]
    sampling: Mapping[ActorRole, Sampling]

    def digest(self) -> str:
        """SHA-256 of the simulator's options (64 hexadecimal digits)."""
        return hashlib.sha256(orjson.dumps(dict(self.own), option=orjson.OPT_SORT_KEYS)).hexdigest()


def options_of(simulator: Simulator) -> tuple[SimulatorOption, ...]:
    """All options of a simulation: the simulator's, and those that every simulation has."""
    names = {option.name for option in simulator.options}
    by_role = (option for role in simulator.roles for option in (_temperature(role), _max_tokens(role)))
    return (*simulator.options, *(option for option in by_role if option.name not in names))


def read_options(
    simulator: Simulator, values: Mapping[str, Any], *, seed: int, time_limit: float, extra: Mapping[str, Any]
) -> SimulationOptions:
    """The values that are set, checked, with the defaults of the others.

    Raises:
        InputError: there is no such option, or its value can't be.
    """
    known = {option.name: option for option in options_of(simulator)}
    for name in values:
        one_of(name, known, f"{simulator.name} option", InputError, where="`options`")
    chosen = {
        name: _value(option, values[name]) if name in values else option.default for name, option in known.items()
    }
    sampling = {
        role: Sampling(
            temperature=_degrees(role, chosen[f"{role}_temperature"]),
            max_tokens=_tokens(role, chosen[f"{role}_max_tokens"]),
            seed=seed,
            timeout=time_limit,
            extra=extra,
        )
        for role in simulator.roles
    }
    own = {option.name: chosen[option.name] for option in simulator.options}
    return SimulationOptions(own, sampling)


def _value(option: SimulatorOption, value: Any) -> Any:
    """A value of an option, of the option's type."""
    if option.choices and value not in option.choices:
        raise _wrong(option.name, value, f"one of {', '.join(map(str, option.choices))}")
    if option.name.endswith("_temperature"):
        return value
    kind = type(option.default)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if type(value) is not kind:
        words = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}
        raise _wrong(option.name, value, words[kind])
    return value


def _degrees(role: ActorRole, value: Any) -> float | None:
    if value is None or value == PROVIDERS_OWN:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 2:
        raise _wrong(f"{role}_temperature", value, f"a number from 0 to 2, or {PROVIDERS_OWN}")
    return float(value)


def _tokens(role: ActorRole, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise _wrong(f"{role}_max_tokens", value, "a whole number from 1")
    return value


def _wrong(name: str, value: Any, todo: str) -> InputError:
    return InputError(f"the option {name} can't be {value!r:.60}", where="`options`", todo=f"give {todo}")


# -- Which conversations a simulation has ---------------------------------------------------------------

#: How often a conversation is had at most where something is wrong with its patient.
MOST_DRAWS = 3


@dataclass(frozen=True, slots=True)
class PlannedConversation:
    """One conversation to be had.

    Attributes:
        id: its transcript's id.
        key: SHA-256 of all that it depends on.
        shared_keys: those of what conversations about the case, or about the case with the persona, share.
        clinician: who is under test.
        case, persona, setting, length, repeat: what it is of.
    """

    id: str
    key: str
    shared_keys: dict[Scope, str]
    clinician: ActorName
    case: Case
    persona: Persona | None
    setting: str
    length: int | None
    repeat: int

    def listed(self) -> ListedConversation:
        """It, as the log lists it."""
        about = {
            "system": self.clinician.identity,
            "case": self.case.id,
            "persona": None if self.persona is None else self.persona.id,
            "setting": self.setting,
            "length": self.length,
            "repeat": self.repeat,
        }
        return ListedConversation(self.key, self.id, {k: v for k, v in about.items() if v is not None})

    def key_of(self, scope: Scope) -> str:
        """The key that replies of a scope are kept under."""
        return self.key if scope == "conversation" else self.shared_keys[scope]


@dataclass(frozen=True, slots=True)
class SimulationPlan:
    """The conversations of a simulation.

    Attributes:
        simulator: the protocol's.
        cases, personas, settings, lengths, repeats, clinicians: what is crossed; no persona or no length is None.
        patient, evaluator: the other actors.
        options: what is set.
        seed: the user's.
        ranker: who ranks candidates; None where the protocol has none.
        reviewer: who reviews each conversation's patient after the rules; None where nobody is named.
        cast_by: whose cast it is; empty where no file of a cast was named.
    """

    simulator: Simulator
    cases: tuple[Case, ...]
    personas: tuple[Persona | None, ...]
    settings: tuple[str, ...]
    lengths: tuple[int | None, ...]
    repeats: int
    clinicians: tuple[ActorName, ...]
    patient: ActorName
    evaluator: ActorName
    options: SimulationOptions
    seed: int
    ranker: ActorName | None = None
    reviewer: ActorName | None = None
    cast_by: str = ""

    def __len__(self) -> int:
        return self.number()

    def number(self, clinician: ActorName | None = None) -> int:
        """How many conversations there are, or how many one clinician has."""
        if self.has_people():
            return sum(1 for _ in self.conversations(clinician))
        clinicians = self.clinicians if clinician is None else (clinician,)
        crossed = (self.cases, self.personas, self.settings, self.lengths, clinicians)
        number = self.repeats
        for values in crossed:
            number *= len(values)
        return number

    def conversations(self, clinician: ActorName | None = None) -> Iterator[PlannedConversation]:
        """All of them by case, or those of one clinician; each case's stand together.

        A person gets no case twice: of what would be crossed, a conversation of each case is drawn for them.
        """
        clinicians = self.clinicians if clinician is None else (clinician,)
        for case in self.cases:
            if self.has_people():
                everything = tuple(self._crossed(case, self.clinicians))
                for conversation in self._met_once(everything):
                    if conversation.clinician in clinicians:
                        yield conversation
            else:
                yield from self._crossed(case, clinicians)

    def draws(self, conversation: PlannedConversation) -> int:
        """How often a conversation is had at most: again where its patient is faulty, unless it would say the same or
        a person would have to talk anew."""
        return 1 if self.patient.toy or self.people(conversation) else MOST_DRAWS

    def people(self, conversation: PlannedConversation) -> frozenset[str]:
        """Those who take part in a conversation at the keyboard."""
        names = self.roles(conversation.clinician).values()
        return frozenset(name.identity for name in names if is_human(name.identity))

    def has_people(self) -> bool:
        """Whether anybody takes part at the keyboard."""
        return any(is_human(name.identity) for _, name in self.parts())

    def _met_once(self, conversations: Sequence[PlannedConversation]) -> Iterator[PlannedConversation]:
        """Those of a case's conversations that are had: of those with the same person, one, drawn by its id."""
        met: set[str] = set()
        left_out = set()
        for conversation in sorted(conversations, key=lambda planned: _rank(self.seed, planned.id)):
            people = self.people(conversation)
            if people & met:
                left_out.add(conversation.id)
            else:
                met |= people
        yield from (conversation for conversation in conversations if conversation.id not in left_out)

    def _crossed(self, case: Case, clinicians: Sequence[ActorName]) -> Iterator[PlannedConversation]:
        for persona in self.personas:
            shared: dict[Scope, str] = {
                "case": _digest({"scope": "case", **self._common(case, None)}),
                "persona": _digest({"scope": "persona", **self._common(case, persona)}),
            }
            for setting in self.settings:
                for length in self.lengths:
                    for repeat in range(1, self.repeats + 1):
                        for system in clinicians:
                            yield self._conversation(system, shared, case, persona, setting, length, repeat)

    def _conversation(
        self,
        clinician: ActorName,
        shared_keys: dict[Scope, str],
        case: Case,
        persona: Persona | None,
        setting: str,
        length: int | None,
        repeat: int,
    ) -> PlannedConversation:
        about: dict[str, Any] = {"setting": setting, "length": length, "repeat": repeat}
        common = self._common(case, persona)
        key = _digest({**common, **about, "clinician": self.playing("clinician", clinician)})
        named = None if persona is None else persona.id
        parts = (self.simulator.name, clinician.identity, case.id, named, *about.values())
        name = "/".join(str(part) for part in parts if part is not None)
        return PlannedConversation(name, key, shared_keys, clinician, case, persona, **about)

    def _common(self, case: Case, persona: Persona | None) -> dict[str, Any]:
        return {
            "protocol": self.simulator.name,
            "version": self.simulator.version,
            "case": case.digest(),
            "persona": None if persona is None else persona.digest(),
            "patient": self.playing("patient", self.patient),
            "evaluator": self.playing("evaluator", self.evaluator),
            **({} if self.ranker is None else {"ranker": self.playing("ranker", self.ranker)}),
            **({} if self.simulator.made_of is None else {"files": dict(self.simulator.made_of.files)}),
            "options": self.options.digest(),
            "seed": self.seed,
        }

    def content(self) -> dict[str, Any]:
        """What the conversations are about, and how many of each there are, as JSON."""
        return {
            "cases": {case.id: case.digest() for case in self.cases},
            "personas": {persona.id: persona.digest() for persona in self.personas if persona is not None},
            "settings": list(self.settings),
            "lengths": [length for length in self.lengths if length is not None],
            "repeats": self.repeats,
            "options": dict(self.options.own),
            "seed": self.seed,
        }

    def playing(self, role: ActorRole, actor: ActorName) -> dict[str, Any]:
        """What an actor's replies in a role depend on, beside what it is asked."""
        sampling = {}
        if actor.kind == "model":
            sampling = with_endpoint_fields(self.options.sampling[role], actor.detail).parameters()
        return {"actor": actor.identity, "digest": actor.digest, "sampling": sampling}

    def cast(self) -> dict[str, Any]:
        """All that makes up the other side of every conversation, whoever is tested: as JSON, without addresses."""
        others = {role: name for role, name in self.roles(self.patient).items() if role != "clinician"}
        roles: dict[str, Any] = {role: self.playing(role, name) for role, name in others.items()}
        source = self.simulator.made_of
        prompts = sorted((self.simulator.cases.parent / "prompts").glob("*"))
        files = {path.name: file_digest(path) for path in prompts} if source is None else dict(source.files)
        return {
            "protocol": self.simulator.name,
            "version": self.simulator.version,
            "prompts": _digest(files),
            **roles,
            "parameters": {name: self._option_content(name, value) for name, value in self.options.own.items()},
            "personas": {persona.id: persona.digest() for persona in self.personas if persona is not None},
            "seed": self.seed,
        }

    def _option_content(self, name: str, value: Any) -> Any:
        """An option's value; of one that names a file, or a set of the protocol's, the digest of what it holds."""
        shipped = resources.files("bedside.metrics.protocols") / self.simulator.name / name / f"{value}.yaml"
        for path in (Path(str(value)), Path(str(shipped))):
            if isinstance(value, str) and path.is_file():
                return f"sha256:{file_digest(path)}"
        return value

    def cast_digest(self) -> str:
        """SHA-256 of the cast (64 hexadecimal digits)."""
        return _digest(self.cast())

    def situation(self, conversation: PlannedConversation) -> Situation:
        """What a conversation starts from."""
        return Situation(
            conversation.case,
            conversation.persona,
            conversation.setting,
            conversation.length,
            dict(self.options.own),
            Draws(self.seed, conversation.key),
            Draws(self.seed, conversation.shared_keys["case"]),
            conversation.repeat,
        )

    def roles(self, clinician: ActorName) -> dict[ActorRole, ActorName]:
        """Who plays what in a clinician's conversations."""
        roles: dict[ActorRole, ActorName] = {
            "clinician": clinician,
            "patient": self.patient,
            "evaluator": self.evaluator,
        }
        return {**roles, **self._others()}

    def _others(self) -> dict[ActorRole, ActorName]:
        """Who takes part in some simulations only."""
        named: dict[ActorRole, ActorName | None] = {"ranker": self.ranker, "reviewer": self.reviewer}
        return {role: name for role, name in named.items() if name is not None}

    def parts(self) -> list[tuple[ActorRole, ActorName]]:
        """Everybody who takes part, with the role."""
        parts: list[tuple[ActorRole, ActorName]] = [("clinician", name) for name in self.clinicians]
        parts += [("patient", self.patient), ("evaluator", self.evaluator)]
        return [*parts, *self._others().items()]

    def reviewer_digest(self) -> str:
        """SHA-256 of what the reviewer's replies depend on beside what it is asked (64 hexadecimal digits)."""
        return _digest({} if self.reviewer is None else self.playing("reviewer", self.reviewer))


def sampled(cases: Sequence[Case], number: int | None, seed: int) -> tuple[Case, ...]:
    """So many cases, drawn; which a case is drawn before doesn't depend on the others that there are.

    Args:
        cases: all of them.
        number: how many; None for all.
        seed: of the draw.
    """
    if number is None or number >= len(cases):
        return tuple(cases)
    ranks = {case.id: _rank(seed, f"sample\n{case.id}") for case in cases}
    drawn = set(sorted(ranks, key=lambda name: ranks[name])[:number])
    return tuple(case for case in cases if case.id in drawn)


def check_cases(simulator: Simulator, cases: Sequence[tuple[str, Case]]) -> None:
    """Refuse cases that the protocol can't use.

    Args:
        simulator: the protocol's.
        cases: each with its place.

    Raises:
        InputError: a case lacks something, is in another language, or two have one id.
    """
    places: dict[str, str] = {}
    for where, case in cases:
        if case.id in places:
            raise InputError(
                f"two cases are called {case.id!r}",
                where=where,
                todo=f"rename one of them; the first is at {places[case.id]}",
            )
        places[case.id] = where
        if case.language not in simulator.languages:
            known = ", ".join(simulator.languages)
            raise InputError(
                f"{simulator.name} can't be simulated in the language {case.language} of case {case.id!r}",
                where=where,
                todo=f"it can in {known}",
            )
        problem = next(iter(simulator.check_case(case)), None)
        if problem is not None:
            raise InputError(f"case {case.id!r} can't be used by {simulator.name}: {problem}", where=where)
    if not cases:
        raise InputError("there are no cases", where="`cases`", todo="name a file of cases")


def _rank(seed: int, name: str) -> bytes:
    """Where a name stands in an order that is drawn; it doesn't depend on the others."""
    return hashlib.sha256(f"{seed}\n{name}".encode()).digest()


def _digest(content: dict[str, Any]) -> str:
    return hashlib.sha256(orjson.dumps(content, option=orjson.OPT_SORT_KEYS)).hexdigest()


# -- The plan that a user asks for ----------------------------------------------------------------------

#: Files or folders of cases, bundled:full, bundled:quick or bundled:risk, or cases themselves.
CaseInput = str | os.PathLike[str] | Case | Sequence[str | os.PathLike[str] | Case]
#: A name or a function, or several.
ActorInput = Named | Sequence[Named]
#: Kinds of actors that can review.
_REVIEWERS = ("model", "function", "webhook", "script")
#: A file of personas, or personas themselves.
PersonaInput = str | os.PathLike[str] | Sequence[Persona]


@dataclass(frozen=True, slots=True)
class SimulationRequest:
    """What a user asks to have simulated.

    Attributes:
        protocol: the simulator's name, or a protocol file.
        clinicians: who is tested.
        patient: who plays the patient; None for the cast's, or the protocol's toy.
        evaluator: who does what is neither side's part; None for the patient's actor.
        cases: None for the protocol's own few.
        personas: None for the protocol's own.
        settings: names of the simulator's settings; none for its first.
        lengths: target lengths; none for the simulator's own.
        repeats: how often each conversation is had.
        sample: how many of the cases are drawn; None for all.
        options: values by name, see :func:`bedside.simulation.simulation_plan.options_of`.
        seed: of all chance; None for the cast's, or 0.
        time_limit: seconds until a request counts as unanswered.
        ranker: who ranks candidates, where the protocol has any; None for the protocol's own toy.
        extra: fields that are added to each request to a model.
        reviewer: who reviews each conversation's patient after the rules; None for nobody.
        cast: file of a cast, which says what isn't said here, and with which the plan must agree; None for none.
    """

    protocol: str
    clinicians: ActorInput
    patient: Named | None = None
    evaluator: Named | None = None
    cases: CaseInput | None = None
    personas: PersonaInput | None = None
    settings: Sequence[str] = ()
    lengths: Sequence[int] = ()
    repeats: int = 1
    sample: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    seed: int | None = None
    time_limit: float = 120.0
    ranker: Named | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    reviewer: Named | None = None
    cast: str | os.PathLike[str] | None = None

    def plan(self) -> SimulationPlan:
        """The conversations that are asked for.

        Raises:
            BedsideError: a name is none, a file can't be read, a number is out of range, or the cast is another one.
        """
        if self.cast is not None:
            return self._plan_of_cast(Path(self.cast))
        from bedside.simulation.simulators.file_talk import find_simulator

        simulator = find_simulator(self.protocol)
        seed = 0 if self.seed is None else self.seed
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
                "no clinician is named", where="`clinician`", todo="name a model, such as openai/gpt-5-mini, or rules"
            )
        settings = self._settings(simulator)
        _check_objects(simulator, clinicians, settings)
        patient = read_actor("rules" if self.patient is None else self.patient, simulator, "patient")
        evaluator = self.evaluator
        if evaluator is None and is_human(patient.identity) and simulator.made_of is not None:
            evaluator = "rules"  # whom nothing is asked
        if evaluator is None and is_human(patient.identity):
            raise InputError(
                "a person plays the patient, and nobody is named who labels turns and checks facts",
                where="`evaluator`",
                todo="name a model, or rules",
            )
        options = read_options(simulator, self.options, seed=seed, time_limit=self.time_limit, extra=self.extra)
        reviewer = self._reviewer(simulator, patient)
        if reviewer is not None:
            sampling = Sampling(seed=seed, timeout=self.time_limit, extra=self.extra)
            options = replace(options, sampling={**options.sampling, "reviewer": sampling})
        plan = SimulationPlan(
            simulator,
            sampled([case for _, case in cases], self.sample, seed),
            self._personas(simulator),
            settings,
            self._lengths(simulator),
            self.repeats,
            clinicians,
            patient,
            patient if evaluator is None else read_actor(evaluator, simulator, "evaluator"),
            options,
            seed,
            self._ranker(simulator),
            reviewer,
        )
        _check_languages(plan)
        return plan

    def _plan_of_cast(self, path: Path) -> SimulationPlan:
        """The plan with a cast of a file in place of what isn't said; what is said otherwise must come to the same."""
        from bedside.simulation.simulators.file_talk import find_simulator

        cast = read_cast(path)
        asked, own, protocol = cast["asked"], cast["depends on"].get("protocol"), find_simulator(self.protocol).name
        if own != protocol:
            raise InputError(
                f"the cast is of {own}, and {protocol} is simulated", where=str(path),
                todo=f"name the protocol {own}, or leave the cast out",
            )  # fmt: skip
        names = [name for name in ("patient", "evaluator", "ranker", "reviewer", "seed") if name in asked]
        unsaid = {name: asked[name] for name in names if getattr(self, name) is None}
        merged: dict[str, Any] = {name: {**asked[name], **getattr(self, name)} for name in ("options", "extra")}
        plan = replace(self, cast=None, **unsaid, **merged).plan()
        found = orjson.loads(orjson.dumps(plan.cast()))
        kept = cast["depends on"]
        differing = [name for name in {**kept, **found} if kept.get(name) != found.get(name)]
        if differing:
            raise InputError(
                f"the cast is another one than {cast['by']}'s: {', '.join(differing)}",
                where=str(path),
                todo="leave out what is said beside it, or use the version of bedside that wrote it",
            )
        return replace(plan, cast_by=cast["by"])

    def _ranker(self, simulator: Simulator) -> ActorName | None:
        if "ranker" in simulator.roles:
            return read_actor("rules" if self.ranker is None else self.ranker, simulator, "ranker")
        if self.ranker is not None:
            raise InputError(f"{simulator.name} has no candidates to be ranked", where="`ranker`", todo="leave it out")
        return None

    def _reviewer(self, simulator: Simulator, patient: ActorName) -> ActorName | None:
        if self.reviewer is None:
            return None
        reviewer = read_actor(self.reviewer, simulator, "reviewer")
        if reviewer.kind not in _REVIEWERS:
            todo = "name a model: rules review without being named, people by the rubric patient_faults"
            raise InputError(f"{reviewer.text} can't be the reviewer", where="`reviewer`", todo=todo)
        if is_human(patient.identity):
            raise InputError("what a person types isn't reviewed", where="`reviewer`", todo="leave it out")
        return reviewer

    def _check_numbers(self) -> None:
        for name, number in (("repeats", self.repeats), ("sample", self.sample)):
            if number is not None and (isinstance(number, bool) or not isinstance(number, int) or number < 1):
                raise InputError(f"`{name}` must be 1 or more, and is {number!r}")
        if not (isinstance(self.time_limit, int | float) and self.time_limit > 0):
            raise InputError(f"`time_limit` must be above 0, and is {self.time_limit!r}")
        if isinstance(self.seed, bool) or not isinstance(self.seed, int | None):
            raise InputError(f"`seed` must be a whole number, and is {self.seed!r}")

    def _cases(self, simulator: Simulator) -> list[tuple[str, Case]]:
        from bedside.simulation.simulators.case_files import BUNDLED, bundled_cases, read_cases

        cases: Any = simulator.cases if self.cases is None else self.cases
        if isinstance(cases, str | os.PathLike | Case):
            cases = [cases]
        read: list[tuple[str, Case]] = []
        for number, case in enumerate(cases, 1):
            if isinstance(case, Case):
                read.append((f"case {number}", case))
            elif simulator.made_of is not None:
                read += simulator.made_of.read_people(case)
            elif str(case).startswith(BUNDLED):
                read += bundled_cases(str(case).removeprefix(BUNDLED), simulator.cases)
            else:
                read += read_cases(Path(case))
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


def _check_languages(plan: SimulationPlan) -> None:
    """Refuse who speaks one language only, where a case is in another."""
    for role, actor in plan.parts():
        own = ACTORS.load(actor.kind).language(actor)
        case = next((case for case in plan.cases if own not in (None, case.language)), None)
        if own is None or case is None:
            continue
        scripts = bundled_scripts(plan.simulator.scripts) if role == "clinician" else {}
        others = [
            f"script:{name}"
            for name, path in scripts.items()
            if getattr(read_script(str(path), None).script, "language", None) == case.language
        ]
        instead = f" ({', '.join(others)})" if others else ""
        raise InputError(
            f"{actor.text} speaks {_language_name(own)} only, and case {case.id!r} is in "
            f"{_language_name(case.language)}",
            where=f"`{role}`",
            todo=f"name cases in {_language_name(own)}, or a {role} for {_language_name(case.language)}{instead}",
        )


def _language_name(tag: str) -> str:
    return prompt_words(tag).language if tag in languages() else tag


def _several(names: ActorInput) -> tuple[Named, ...]:
    return tuple(names) if isinstance(names, Sequence) and not isinstance(names, str) else (names,)


# -- The file of a cast ---------------------------------------------------------------------------------
# Two sites whose casts have the same SHA-256 test their clinicians against the same patients. Cases and settings are no
# part of it: the simulation card says them.

_CAST = {
    "cast": INTEGER,
    "by": TEXT,
    "asked": {
        "patient": TEXT, "evaluator": TEXT, "ranker": OrNull(TEXT), "seed": INTEGER, "options": {}, "extra": {},
    },
    "depends on": {},
    "sha256": TEXT,
}  # fmt: skip


def write_cast(plan: SimulationPlan, path: Path) -> None:
    """Write the cast of a plan, for others to test their clinicians with; it is called as the file is.

    Raises:
        InputError: a Python function takes part, which no file can hold.
    """
    import yaml

    from bedside.core.yaml_files import with_digest

    names = {role: name for role, name in plan.roles(plan.patient).items() if role != "clinician"}
    functions = [role for role, name in names.items() if name.kind == "function"]
    if functions:
        raise InputError(
            f"a file can't hold the Python function that is the {functions[0]}", todo="name a model, rules or a script"
        )
    sampling = {role: plan.options.sampling[role] for role in names if role in plan.simulator.roles}
    asked: dict[str, Any] = {
        **{role: name.text for role, name in names.items()},
        "seed": plan.seed,
        "options": {
            **plan.options.own,
            **{f"{role}_temperature": own.temperature for role, own in sampling.items()},
            **{f"{role}_max_tokens": own.max_tokens for role, own in sampling.items()},
        },
        "extra": dict(sampling["patient"].extra),
    }
    content = {"cast": 1, "by": path.stem, "asked": asked, "depends on": plan.cast(), "sha256": plan.cast_digest()}
    text = yaml.safe_dump(orjson.loads(orjson.dumps(content)), allow_unicode=True, sort_keys=False)
    write_text(path, with_digest(text))


def read_cast(path: Path) -> dict[str, Any]:
    """The content of a file of a cast.

    Raises:
        InputError: it can't be read, isn't of the form, or was changed since it was written.
    """
    from bedside.core.yaml_files import plain_yaml

    cast: dict[str, Any] = plain_yaml(path, "file of a cast", kind=InputError)
    wrong = misfit(cast, _CAST)
    todo = "write it again with bedside benchmark PROTOCOL --write-cast FILE"
    if wrong is not None or cast["cast"] != 1:
        raise InputError(f"the file holds no cast ({wrong or 'cast'})", where=str(path), todo=todo)
    if _digest(cast["depends on"]) != cast["sha256"]:
        raise InputError("the cast was changed by hand: its SHA-256 is another", where=str(path), todo=todo)
    return {key: cast.get(key) for key in _CAST}
