"""Rows of labelled turns from conversations whose clinician turns have labels: what a policy is fitted to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bedside.core.errors import DataError
from bedside.metrics.protocols.medconceal.labels import concerns_of, rater_labels, simulation_of, turn_rater
from bedside.metrics.protocols.medconceal.policy import Parameters, content, overlap
from bedside.metrics.protocols.medconceal.trace import LabelledTurn, trace
from bedside.transcripts.transcript import Transcript


def turn_rows(transcript: Transcript, parameters: Parameters) -> Iterator[LabelledTurn]:
    """A row for each clinician turn and hidden concern of a simulated conversation.

    Features and overlap are those that the patient went by; ``revealed`` and ``addressed`` are what the policy made of
    them, for somebody who reads the conversation to correct.

    Args:
        transcript: a conversation with the labels by which it was simulated.
        parameters: those that the patient went by.

    Raises:
        DataError: it was not simulated by labels of its turns or not with these parameters, or the labels are not
            there.
    """
    rater = turn_rater(transcript)
    if rater is None:
        raise DataError(
            f"conversation {transcript.id!r} was not simulated by labels of its turns",
            todo="name a simulation of medconceal",
        )
    simulated = simulation_of(transcript).get("parameters")
    if isinstance(simulated, Mapping) and simulated.get("sha256") != parameters.digest():
        raise DataError(
            f"in conversation {transcript.id!r} the patient went by the parameters {simulated.get('name')}, and these "
            f"are {parameters.name}, or another state of them",
            todo="name the patient's with `parameters`",
        )
    concerns = concerns_of(transcript)
    labels = rater_labels(transcript, rater).turns
    course = trace(transcript, concerns, labels, parameters)
    for state in course.history:
        turn = transcript.turns[state.step.turn]
        words = content(turn.text)
        for concern in concerns:
            addressed = None
            if concern.id == course.primary:
                addressed = int(course.addressed_at == state.number)
            yield LabelledTurn(
                case=transcript.id,
                turn=turn.index,
                concern=concern.id,
                category=concern.category,
                z=labels[turn.index].z,
                o=overlap(words, content(concern.text)),
                intent=labels[turn.index].intent,
                revealed=int(course.revealed_at.get(concern.id) == state.number),
                addressed=addressed,
            )
