"""What a conversation is written down as: a transcript's line, states' lines, a failure's line.

All of it follows from settings, seed and replies: what a run took to get there stands in the log and the manifest.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from bedside.core.errors import RegistryError
from bedside.simulation.conversation_log import LoggedConversation
from bedside.simulation.conversing import HadConversation
from bedside.simulation.simulation_plan import PlannedConversation, SimulationPlan
from bedside.simulation.simulators.contract import SpokenTurn
from bedside.transcripts.transcript import Transcript, Turn

#: The flag of a call that held a text which the case hides from whom it was put to.
HIDDEN_FLAG = "hidden in a request"


def finished_conversation(
    plan: SimulationPlan, conversation: PlannedConversation, had: HadConversation
) -> LoggedConversation:
    """A conversation that was had, as the log keeps it.

    One that the clinician failed has a transcript too, without a turn where it was asked for the first words.

    Raises:
        RegistryError: the simulator made a turn without words, or none though the clinician didn't fail.
    """
    outcome = had.outcome
    states = state_lines(conversation.id, outcome.states)
    if not all(turn.text.strip() for turn in outcome.turns) or not (outcome.turns or had.failed):
        raise RegistryError(
            f"the simulator {plan.simulator.name} made {'a turn without words' if outcome.turns else 'no turns'}",
            where=conversation.id,
        )
    flags = dict(outcome.flags) | ({HIDDEN_FLAG: had.hidden} if had.hidden else {})
    rater = plan.evaluator.rater
    transcript = Transcript(
        conversation.id,
        tuple(_turn(index, turn, rater) for index, turn in enumerate(outcome.turns)),
        conversation.clinician.identity,
        conversation.case.id,
        conversation.case.language,
        _factors(plan, conversation, outcome.completed, outcome.factors),
        {
            **outcome.reference,
            "patient_facts": list(plan.simulator.patient_facts(conversation.case)),
            "simulation": {
                **_provenance(plan, conversation, had),
                **outcome.simulation,
                **({"turn_rater": rater} if outcome.labelled or any(map(_labels, outcome.turns)) else {}),
                **({"failed": had.failed} if had.failed else {}),
                "stop": outcome.stop,
                "flags": flags,
            },
        },
    )
    ending = {
        "stop": outcome.stop,
        "completed": outcome.completed,
        "flags": flags,
        **({"failed": had.failed, "detail": had.detail} if had.failed else {}),
    }
    return LoggedConversation(
        conversation.key,
        "finished",
        had.session,
        ending,
        transcript.to_json() + b"\n",
        states,
    )


def state_lines(transcript: str, states: tuple[Mapping[str, Any], ...]) -> bytes:
    """The hidden states of a conversation, a line of JSON each."""
    return b"".join(orjson.dumps({"id": transcript, **state}) + b"\n" for state in states)


def _labels(turn: SpokenTurn) -> bool:
    return bool(turn.labels)


def _turn(index: int, turn: SpokenTurn, rater: str) -> Turn:
    meta = dict(turn.meta)
    for protocol, labels in turn.labels.items():
        meta[protocol] = {**meta.get(protocol, {}), rater: dict(labels)}
    return Turn(index, turn.role, turn.role, turn.text, meta)


def _factors(
    plan: SimulationPlan, conversation: PlannedConversation, completed: bool, own: Mapping[str, Any]
) -> dict[str, Any]:
    titles = {setting.name: setting.title for setting in plan.simulator.settings}
    factors: dict[str, Any] = {**conversation.case.factors}
    if conversation.persona is not None:
        factors |= {"persona": conversation.persona.id, **conversation.persona.factors}
    factors |= {"setting": conversation.setting, "task": titles[conversation.setting]}
    if conversation.length is not None:
        factors["length"] = conversation.length
    return factors | {
        "patient_model": plan.patient.identity,
        **own,
        "repeat": conversation.repeat,
        "completed": completed,
        "synthetic": True,
    }


def _provenance(plan: SimulationPlan, conversation: PlannedConversation, had: HadConversation) -> dict[str, Any]:
    roles = plan.roles(conversation.clinician)
    playing = {role: plan.playing(role, name) for role, name in roles.items()}
    return {
        "protocol": plan.simulator.name,
        "version": plan.simulator.version,
        "key": conversation.key,
        "case": conversation.case.digest(),
        "persona": None if conversation.persona is None else conversation.persona.digest(),
        "prompts": list(had.prompts),
        "actors": {role: name.identity for role, name in roles.items()},
        "toys": sorted(role for role, name in roles.items() if name.toy),
        "sampling": {role: played["sampling"] for role, played in playing.items() if played["sampling"]},
        "options": dict(plan.options.own),
        "seed": plan.seed,
        "session": had.session,
    }
