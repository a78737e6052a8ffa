"""A tiny protocol for testing the engine: a patient with a secret, a clinician that asks, an evaluator that decides.

It has every kind of call: shared by a case and by a persona, side by side, a message with fields, data of a clinician.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

from bedside.api.simulating import Simulation
from bedside.judges.llm.queue import Patience
from bedside.simulation.simulate import SimulationSettings, simulate_plan
from bedside.simulation.simulation_plan import SimulationRequest
from bedside.simulation.simulators.asking import Fault, ask_clinician, ask_for_data, ask_patient, silent_stop
from bedside.simulation.simulators.calls import ActorReply, ActorRole, Call, Exchange, Line, together
from bedside.simulation.simulators.case import Case, Hidden, HiddenConcern, PatientSide, Persona
from bedside.simulation.simulators.contract import (
    SIMULATORS,
    Outcome,
    Simulator,
    SimulatorOption,
    SimulatorSetting,
    Situation,
    SpokenTurn,
)

NUMBER = {
    "type": "object",
    "properties": {"number": {"type": "integer"}},
    "required": ["number"],
    "additionalProperties": False,
}
MESSAGE = {
    "type": "object",
    "properties": {"message": {"type": "string"}, "end": {"type": "boolean"}},
    "required": ["message", "end"],
    "additionalProperties": False,
}


def number(value: Any) -> int:
    if not isinstance(value, dict) or not isinstance(value.get("number"), int):
        raise ValueError("there is no number")
    return int(value["number"])


def fault(text: str) -> Fault | None:
    return Fault("shouts", "Don't shout.") if text.isupper() else None


def converse(situation: Situation) -> Exchange[Outcome]:
    case, persona = situation.case, situation.persona
    turns = {"short": 2, "long": 4}[situation.setting]
    facts, mood = yield from together(
        ask_for_data(
            Call("evaluator", "facts", 1, "List.", (), case.patient.narrative, "data", NUMBER, scope="case"), number
        ),
        ask_for_data(
            Call(
                "evaluator",
                "mood",
                1,
                "Guess.",
                (),
                case.patient.narrative if persona is None else f"{case.patient.narrative} {persona.id}",
                "data",
                NUMBER,
                scope="persona",
            ),
            number,
        ),
    )
    lines: list[Line] = []
    spoken: list[SpokenTurn] = []
    states: list[dict[str, Any]] = []
    flags: dict[str, int] = {}
    stop = "turns"
    for turn in range(1, turns + 1):
        said = yield from ask_clinician(
            Call(
                "clinician", "speak", turn, "You are the doctor.", tuple(lines), schema=MESSAGE, material={"turn": turn}
            ),
            lambda text: ("loud",) if text.isupper() else (),
        )
        for flag in said.flags:
            flags[flag] = flags.get(flag, 0) + 1
        if not said.text and not (said.fields and said.fields.get("end")):
            stop = silent_stop(said.flags)
            break
        lines.append(Line("clinician", said.text or "(leaves)"))
        decided = yield from ask_for_data(
            Call(
                "evaluator",
                "label",
                turn,
                "Label.",
                tuple(lines),
                case.hidden.concerns[0].text if case.hidden.concerns else "",
                "data",
                NUMBER,
            ),
            number,
        )
        labels = {"tiny": {"z": decided.value}}
        spoken.append(SpokenTurn("clinician", lines[-1].text, labels=labels))
        states.append({"turn": len(spoken) - 1, "purpose": "label", "number": decided.value})
        if said.fields and said.fields.get("end"):
            stop = "clinician"
            break
        answer = yield from ask_patient(
            Call(
                "patient",
                "answer",
                turn,
                f"You are {case.id}. {situation.draws.stream('mood', turn).random():.6f}",
                tuple(lines),
                material={"narrative": case.patient.narrative},
            ),
            fault,
        )
        lines.append(Line("patient", answer.text))
        spoken.append(SpokenTurn("patient", answer.text, {"attempts": len(answer.refused) + 1}))
    guess = yield from ask_for_data(
        Call("clinician", "guess", 1, "Guess.", tuple(lines), "What is it?", "data", NUMBER), number, neutral=-1
    )
    states.append({"turn": len(spoken) - 1, "purpose": "guess", "number": guess.value})
    return Outcome(
        tuple(spoken),
        stop,
        stop == "turns",
        {"guess": guess.value, "facts": facts.value},
        {"mood": mood.value},
        tuple(states),
        flags,
    )


def by_rules(call: Call) -> ActorReply:
    if call.kind == "data":
        return ActorReply(f'{{"number": {call.ordinal}}}')
    return ActorReply(f"{call.actor} says {len(call.history)}")


def check_case(case: Case) -> Iterator[str]:
    if not case.patient.narrative:
        yield "it has no narrative"


def most_calls(situation: Situation) -> dict[ActorRole, int]:
    turns = {"short": 2, "long": 4}[situation.setting]
    return {"clinician": 2 * turns + 3, "patient": 3 * turns, "evaluator": 3 * turns + 6}


TINY = Simulator(
    name="tiny",
    title="A tiny protocol",
    version=1,
    source="invented",
    languages=("en",),
    settings=(
        SimulatorSetting("short", "two turns", "Two turns."),
        SimulatorSetting("long", "four turns", "Four turns."),
    ),
    cases=Path("absent"),
    converse=converse,
    check_case=check_case,
    briefs=lambda case, setting: "You are the doctor.",
    rules=dict.fromkeys(("clinician", "patient", "evaluator"), by_rules),
    most_calls=most_calls,
    options=(SimulatorOption("spice", 1, "How much of it."),),
)


def cases(count: int = 3) -> list[Case]:
    return [
        Case(
            id=f"c{place}",
            patient=PatientSide(narrative=f"Person {place}."),
            hidden=Hidden(
                diagnosis=f"DIAGNOSIS{place}",
                concerns=(
                    HiddenConcern(id="k", category="emotional discomfort or fear", text=f"SECRET{place}", primary=True),
                ),
            ),
        )
        for place in range(count)
    ]


PERSONAS = [Persona(id="shy", factors={"manner": "shy"}), Persona(id="bold", factors={"manner": "bold"})]


def install(monkeypatch: Any, simulator: Simulator = TINY) -> None:
    """Have a simulator registered."""
    monkeypatch.setitem(SIMULATORS._loaded, simulator.name, simulator)


def run_tiny(out: Path, **arguments: Any) -> Simulation:
    """Simulate as the public function does, but with waits that take no time."""
    names = {field.name for field in fields(SimulationRequest)}
    request = {name: value for name, value in arguments.items() if name in names}
    rest = {name: value for name, value in arguments.items() if name not in names}
    plan = SimulationRequest(**{"protocol": "tiny", "cases": cases(), **request}).plan()
    patience = Patience(attempts=8, first_wait=0.001, longest_wait=0.01)
    return Simulation(out, simulate_plan(plan, out, SimulationSettings(patience=patience, **rest)))
