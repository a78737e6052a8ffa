"""The contract of simulators: each is one folder, and makes the conversations of one protocol.

A simulator states what it needs of a case, and in ``simulator.yaml`` its settings and options; it gives a controller: a
generator without input or output (see :mod:`bedside.simulation.simulators.calls`). The rules of the protocol live in
it, never only in a prompt. What a side must not know is in no call to it. A conversation is a
:class:`~bedside.simulation.simulators.ledger.ProtocolTalk`, of which a protocol writes the course and what it came to;
what was said, hidden states and counts are kept in its one ledger. What its toys say stands in ``toys.yaml``.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

from bedside.core.errors import RegistryError
from bedside.core.model_errors import to_model
from bedside.core.registry import Registry
from bedside.core.yaml_files import keys_and_values
from bedside.metrics.protocols.label_files import Strict, Text
from bedside.simulation.simulators.calls import ACTOR_ROLES, ActorReply, ActorRole, Call, Exchange
from bedside.simulation.simulators.case import Case, Persona, patient_facts

#: Whose doing it is that a conversation can't be used; the material's, where nothing can be made of it.
Culprit = Literal["patient", "evaluator", "infrastructure", "material"]


class UnusableConversationError(Exception):
    """A conversation can't go on for a reason that is not the clinician's: it is missing, and counted as such.

    Args:
        whose: whose doing it is.
        reason: which fault, in a few words that many conversations can share, e.g. ``reveals what is hidden``.
        detail: what exactly, with the call's purpose.
        states: the hidden states up to there.
    """

    def __init__(self, whose: Culprit, reason: str, detail: str = "", states: Sequence[Mapping[str, Any]] = ()) -> None:
        super().__init__(f"{whose}: {reason}")
        self.whose = whose
        self.reason = reason
        self.detail = detail
        self.states: tuple[Mapping[str, Any], ...] = tuple(states)


@dataclass(frozen=True, slots=True)
class Draws:
    """Streams of random numbers of one conversation, or of what several share.

    Attributes:
        seed: the user's.
        key: whose streams they are; another key, other numbers.
    """

    seed: int
    key: str

    def stream(self, purpose: str, ordinal: int = 1) -> random.Random:
        """The stream for a purpose, at its ``ordinal``-th use; the same whenever it is asked for."""
        name = f"{self.seed}\n{self.key}\n{purpose}\n{ordinal}"
        return random.Random(hashlib.sha256(name.encode()).digest())


@dataclass(frozen=True, slots=True)
class Situation:
    """What one conversation starts from.

    Attributes:
        case: whose conversation it is.
        persona: how the patient is; None where the protocol has none.
        setting: one of the simulator's settings.
        length: target length, where the protocol has one.
        options: a value for each of the simulator's options.
        draws: chance in this conversation.
        shared_draws: chance in what all conversations about the case share.
        repeat: which of the conversations that differ in nothing else it is, from 1.
    """

    case: Case
    persona: Persona | None
    setting: str
    length: int | None
    options: Mapping[str, Any]
    draws: Draws
    shared_draws: Draws
    repeat: int = 1


@dataclass(frozen=True, slots=True)
class SpokenTurn:
    """A turn of the conversation as it is written down.

    Attributes:
        role: who speaks.
        text: the words, as they were replied.
        meta: as in a transcript's turn.
        labels: what the evaluator says of the turn, by protocol, as in a label file. A controller doesn't know who the
            evaluator is: it is written to ``meta`` as ``{protocol: {rater: labels}}`` under the evaluator's rater.
    """

    role: Literal["clinician", "patient"]
    text: str
    meta: Mapping[str, Any] = field(default_factory=dict)
    labels: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a conversation came to.

    Attributes:
        turns: what was said.
        stop: why it ended, in a word or two.
        completed: whether it ended as the protocol means conversations to end.
        reference: what the protocol's suite needs of it, beside what the simulation adds.
        simulation: what goes into ``reference["simulation"]`` beside what the simulation adds, such as the hash of a
            parameter file. Where turns are labelled, ``turn_rater`` stands there too: the evaluator's rater.
        labelled: whether the evaluator labels the clinician's turns, also where there are none.
        released: hidden concern → index of the turn from which on the patient may tell it.
        fixed_lines: what the protocol gives the patient to say word for word, as often as it likes.
        factors: likewise.
        states: the hidden states, decisions and candidates: flat objects with ``turn`` (index) and ``purpose``.
        flags: what is to be counted of it, such as fallback lines.
    """

    turns: tuple[SpokenTurn, ...]
    stop: str
    completed: bool
    reference: Mapping[str, Any] = field(default_factory=dict)
    factors: Mapping[str, Any] = field(default_factory=dict)
    states: tuple[Mapping[str, Any], ...] = ()
    flags: Mapping[str, int] = field(default_factory=dict)
    simulation: Mapping[str, Any] = field(default_factory=dict)
    labelled: bool = False
    released: Mapping[str, int] = field(default_factory=dict)
    fixed_lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MadeRecord:
    """A record that was made.

    Attributes:
        content: what is written, as a line of JSON.
        states: how it came about: flat objects.
        flags: what is to be counted of it.
    """

    content: Mapping[str, Any]
    states: tuple[Mapping[str, Any], ...] = ()
    flags: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SimulatorOption:
    """A choice that ``--set`` makes.

    Attributes:
        name: as it is written after the protocol's name and a point.
        default: its value where nobody sets it; its type is the option's.
        description: one sentence.
        choices: the values it can have; empty for any of the type.
        own: whether it is bedside's own where the source is silent, rather than the source's.
    """

    name: str
    default: bool | int | float | str
    description: str
    choices: tuple[Any, ...] = ()
    own: bool = False


@dataclass(frozen=True, slots=True)
class SimulatorSetting:
    """A way of holding the conversations, such as a task with a number of turns.

    Attributes:
        name: as it is typed.
        title: what the tables write, e.g. ``confirmation, 8 turns``.
        description: one sentence.
        objects: purposes of the calls by which the clinician is asked for objects where it would else speak: who can
            only write words can't take part.
    """

    name: str
    title: str
    description: str
    objects: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EarlyForm:
    """A list of what was found that a person may begin before they are asked for it; a model writes no notes.

    Attributes:
        after: messages of their own after which they may.
        schema: JSON Schema of the call that asks for it when the conversation is over.
    """

    after: int
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ProtocolSource:
    """The protocol file that a simulator is made of.

    Attributes:
        make: makes the simulator of the content, in another process too.
        content: what the file and those that it names hold.
        read_people: reads files of people, in place of files of cases: each with its place.
        suite: what scores its conversations, a suite's name or file; empty for nothing.
        files: SHA-256 of the files that conversations depend on, by name.
        data: SHA-256 of the others.
    """

    make: Callable[[Any], Simulator]
    content: Any
    read_people: Callable[[Any], list[tuple[str, Case]]]
    suite: str
    files: Mapping[str, str]
    data: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Simulator:
    """A simulator of one protocol.

    Attributes:
        name: the entry's name, equal to its folder and to the protocol's suite.
        title: what it is called.
        version: of its rules and prompts; part of every conversation's key.
        source: the publication.
        languages: codes of the languages that it has prompts in.
        settings: the first is used unless others are named.
        lengths: target lengths that are used unless others are named; empty where it has none.
        personas: file of its personas; None where it has none.
        cases: file of its bundled cases, all invented.
        scripts: folder of its scripted clinicians, ``NAME.yaml`` each.
        options: what can be set.
        check_case: what a case lacks or has wrong for this protocol, a sentence each.
        briefs: what a clinician under test is told at the start, by setting, for a case: one can read it.
        converse: the controller.
        rules: actors that need no model, by role: they reply to a call from its material. Toys, named so in tables. A
            protocol has a ranker if there is one among them.
        most_calls: the most calls that a conversation can take, by role, attempts included.
        patient_facts: what is true of the patient by a case, a text each, which the patient may tell where the
            protocol lets them: what a check of the patient's words is held against.
        takes_personas: whether patients can be given personas although it brings none.
        parameters: what is bedside's own where the source gives no figure, a sentence each, for the simulation card.
        early_form: what a person to whom a call is put may begin to fill in while they talk; None for nothing. It is
            shown to nobody else.
        case_fields: the form of what a case holds for this protocol under ``extra``, by the protocol's name; None where
            it holds nothing of its own.
        case_needs: what every case must hold for it, as paths such as ``patient.facts``: what editors ask for beside
            the form of all cases. ``check_case`` asks for these and for what a form can't say.
        made_of: the protocol file that describes it; None of an entry of the registry. Nothing tells when its patient
            may tell what.
    """

    name: str
    title: str
    version: int
    source: str
    languages: tuple[str, ...]
    settings: tuple[SimulatorSetting, ...]
    cases: Path
    converse: Callable[[Situation], Exchange[Outcome]]
    check_case: Callable[[Case], Iterator[str]]
    briefs: Callable[[Case, str], str]
    rules: Mapping[ActorRole, Callable[[Call], ActorReply]]
    most_calls: Callable[[Situation], Mapping[ActorRole, int]]
    lengths: tuple[int, ...] = ()
    personas: Path | None = None
    scripts: Path | None = None
    options: tuple[SimulatorOption, ...] = ()
    patient_facts: Callable[[Case], tuple[str, ...]] = patient_facts
    takes_personas: bool = False
    parameters: tuple[str, ...] = ()
    early_form: Callable[[Call], EarlyForm | None] = lambda call: None
    case_fields: type[Strict] | None = None
    case_needs: tuple[str, ...] = ()
    made_of: ProtocolSource | None = None

    @property
    def roles(self) -> tuple[ActorRole, ...]:
        """Who takes part: the roles of every protocol, and a ranker where this one has candidates to be ranked."""
        return (*ACTOR_ROLES, "ranker") if "ranker" in self.rules else ACTOR_ROLES

    def __reduce__(self) -> tuple[Any, ...]:
        """It goes to other processes by its name, under which they load it, or with the content of its file."""
        return (_loaded, (self.name,)) if self.made_of is None else (self.made_of.make, (self.made_of.content,))


class SimulatorFacts(Strict):
    """What a simulator states of itself, as ``simulator.yaml`` in its folder holds it; see :class:`Simulator`."""

    name: Text
    title: Text
    version: int
    source: Text
    languages: tuple[Text, ...]
    settings: tuple[SimulatorSetting, ...]
    lengths: tuple[int, ...] = ()
    options: tuple[SimulatorOption, ...] = ()
    takes_personas: bool = False
    case_needs: tuple[Text, ...] = ()
    parameters: tuple[Text, ...] = ()


@cache
def facts_in(folder: Path) -> dict[str, Any]:
    """What stands in a simulator's folder, as :class:`Simulator` takes it: its facts, cases, personas and scripts.

    Raises:
        RegistryError: the facts can't be read, or a key is wrong.
    """
    path, see = folder / "simulator.yaml", "CONTRIBUTING.md"
    data = keys_and_values(path, "file of a simulator's facts", see)
    facts = to_model(data, SimulatorFacts, str(path), todo=f"see {see}", kind=RegistryError)
    files = {"cases": "cases.yaml", "personas": "personas.yaml", "scripts": "scripts"}
    there = {name: folder / file for name, file in files.items() if (folder / file).exists()}
    return {name: getattr(facts, name) for name in SimulatorFacts.model_fields} | there


#: Simulators by name.
SIMULATORS: Registry[Simulator] = Registry(
    "bedside.simulation.simulators", "SIMULATOR", "simulator", Simulator, group="bedside.simulators", folders=True
)


def _loaded(name: str) -> Simulator:
    return SIMULATORS.load(name)
