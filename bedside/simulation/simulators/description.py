"""A simulator's own facts as text, for the command line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from bedside.core.errors import DataError, one_of
from bedside.simulation.simulators.case import Case
from bedside.simulation.simulators.case_files import read_cases, read_personas
from bedside.simulation.simulators.contract import ProtocolSource, Simulator, SimulatorOption
from bedside.simulation.simulators.protocol_file import MISSING, ProtocolFile
from bedside.simulation.simulators.scripts import bundled_scripts


def describe(simulator: Simulator, options: Sequence[SimulatorOption], case: str | None = None) -> str:
    """Everything a simulator states of itself, and what a clinician under test is told.

    Args:
        simulator: whose facts.
        options: what can be set, those of every simulation among it.
        case: the bundled case that the clinician's brief is shown for; the first for None.

    Raises:
        DataError: no bundled case is called so.
    """
    return "\n".join(_lines(simulator, options, case))


def describe_file(simulator: Simulator, source: ProtocolSource, case: str | None = None) -> str:
    """What a protocol file comes to: what each side is told of a person, and what nobody is.

    Args:
        simulator: that is made of it.
        source: the file.
        case: the person; the first for None.

    Raises:
        DataError: nobody is called so.
    """
    protocol: ProtocolFile = source.content
    people = {person.id: person for _, person in source.read_people(protocol.people)}
    if case is not None:
        one_of(case, people, "person", DataError)
    return "\n".join(_lines_of_file(simulator, protocol, people[case or next(iter(people))], len(people)))


def _lines_of_file(simulator: Simulator, protocol: ProtocolFile, person: Case, number: int) -> Iterator[str]:
    form, fields = protocol.form, protocol.fields(person)
    problem = next(protocol.problems(person), None)
    if problem is not None:
        raise DataError(f"{person.id!r} can't be shown: {problem}", where=str(protocol.people))
    yield f"{simulator.name}: {simulator.title}"
    yield f"Source: {simulator.source}"
    yield f"People: {number:,} in {form.people}, known by {' and '.join(form.ids)}"
    yield f"Scored by: {form.suite or 'no suite is named'}"
    yield f"An empty reply is {'missing' if form.empty_reply == MISSING else f'taken as {form.empty_reply!r}'}."
    yield ""
    yield "Settings, the first unless others are named:"
    for setting in simulator.settings:
        yield f"  {setting.name}: {setting.title}. {setting.description}"
    # A field is the same one under each of its names; what the patient says first both hear.
    source = {name: form.new_names.get(name, name) for name in fields}
    of_patient, of_clinician = (
        {source[name] for template in (*templates, protocol.opens) for _, name, _ in template.holes()}
        for templates in ((protocol.patient,), protocol.told())
    )
    yield ""
    shares = {
        "Both are told": of_patient & of_clinician,
        "Only the patient is told": of_patient - of_clinician,
        "Only the clinician is told": of_clinician - of_patient,
        "Nobody is told": set(source.values()) - of_patient - of_clinician,
    }
    for who, names in shares.items():
        if names:
            yield f"{who}: {', '.join(name for name in fields if source[name] in names)}"
    texts = (
        (f"What the patient is told, {person.id}", protocol.patient.fill(fields)),
        ("What the patient says first", protocol.opens.fill(fields)),
        (f"What the clinician is told, {person.id}", protocol.clinician.fill(fields) or "(nothing)"),
        ("What the clinician hears first", protocol.hears_first.fill(fields)),
    )
    for heading, text in texts:
        if text:
            yield from ("", f"{heading}:", "", *(f"  {line}".rstrip() for line in text.splitlines()))


def _lines(simulator: Simulator, options: Sequence[SimulatorOption], case: str | None) -> Iterator[str]:
    cases = {entry.id: entry for _, entry in read_cases([simulator.cases])}
    if case is not None:
        one_of(case, cases, "bundled case", DataError)
    yield f"{simulator.name}: {simulator.title} (version {simulator.version})"
    yield f"Source: {simulator.source}"
    yield f"Languages: {', '.join(simulator.languages)}"
    yield ""
    yield "Settings, the first unless others are named:"
    for setting in simulator.settings:
        yield f"  {setting.name}: {setting.title}. {setting.description}"
    if simulator.lengths:
        yield f"Lengths, unless others are named: {', '.join(map(str, simulator.lengths))}"
    yield ""
    yield f"Bundled cases, all invented: {', '.join(cases)}"
    yield f"  in {simulator.cases}; of its own are also bundled:full, its first twelve bundled:quick, and bundled:risk"
    if simulator.personas is not None:
        yield f"Personas: {', '.join(_personas(simulator.personas))}"
        yield f"  in {simulator.personas}"
    scripts = [name for name, path in bundled_scripts(simulator.scripts).items() if path.suffix == ".yaml"]
    if scripts:
        yield f"Scripted clinicians: {', '.join(f'script:{name}' for name in scripts)}"
    yield f"Actors without a model (rules): {', '.join(simulator.rules)}"
    yield ""
    yield "Options:"
    for option in options:
        choices = f", one of {', '.join(map(_value, option.choices))}" if option.choices else ""
        own = " bedside's own." if option.own else ""
        yield f"  --set {simulator.name}.{option.name}={_value(option.default)}{choices}"
        yield f"      {option.description}{own}"
    if simulator.parameters:
        yield ""
        yield "bedside's own, where the source says nothing:"
        yield from (f"  - {text}" for text in simulator.parameters)
    shown = cases[case] if case is not None else next(iter(cases.values()))
    for brief, settings in _briefs(simulator, shown).items():
        yield ""
        yield f"What the clinician is told in {' and '.join(settings)}, case {shown.id}:"
        yield ""
        yield from (f"  {line}".rstrip() for line in brief.splitlines())


def _briefs(simulator: Simulator, case: Case) -> dict[str, list[str]]:
    """What a clinician is told, each text once, with the settings that it is told in."""
    briefs: dict[str, list[str]] = {}
    for setting in simulator.settings:
        briefs.setdefault(simulator.briefs(case, setting.name), []).append(setting.name)
    return briefs


def _personas(path: Path) -> list[str]:
    return [persona.id for _, persona in read_personas([path])]


def _value(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
