"""The trace: from the turns' features to which concerns are revealed and whether the primary one is addressed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bedside.core.errors import DataError
from bedside.metrics.protocols.medconceal.labels import Concern, ConcernTurnLabels, primary_of
from bedside.metrics.protocols.medconceal.policy import Policy, Step, turn_step
from bedside.metrics.protocols.medconceal.policy_parameters import Parameters
from bedside.transcripts.transcript import Transcript


@dataclass(frozen=True, slots=True)
class TurnState:
    """How things stand after a clinician turn.

    Attributes:
        number: number of the clinician turn, from 1.
        step: what the turn brought.
        evidence: E of each concern, in the concerns' order.
        revealed: ids of the concerns revealed at this turn.
        address_evidence: A.
        hit: whether the turn addresses the primary concern well enough to count.
        addressed: whether the primary concern is addressed, at this turn or before.
    """

    number: int
    step: Step
    evidence: tuple[float, ...]
    revealed: tuple[str, ...]
    address_evidence: float
    hit: bool
    addressed: bool


@dataclass(frozen=True, slots=True)
class Trace:
    """The course of one conversation.

    Attributes:
        concerns: ids of the hidden concerns.
        primary: id of the primary concern; None where the case doesn't say which it is.
        revealed_at: concern → number of the clinician turn (from 1) that revealed it; the others stayed hidden.
        addressed_at: number of the clinician turn at which the primary concern was addressed; None if it never was.
        history: the state after each clinician turn.
    """

    concerns: tuple[str, ...]
    primary: str | None
    revealed_at: Mapping[str, int]
    addressed_at: int | None
    history: tuple[TurnState, ...]

    @property
    def turns(self) -> int:
        """Number of clinician turns."""
        return len(self.history)

    @property
    def blocked(self) -> int:
        """Number of blocked turns."""
        return sum(state.step.blocked for state in self.history)

    def revealed_by(self, number: int) -> int:
        """Number of concerns revealed by a clinician turn (from 1), or by the end where that is earlier."""
        return sum(at <= number for at in self.revealed_at.values())


def replay(
    steps: Sequence[Step], concerns: Sequence[str], primary: str | None, parameters: Parameters
) -> Trace:
    """Run the latent policy over the turns: :meth:`Policy.step`, one after the other.

    Args:
        steps: the clinician turns in order.
        concerns: ids, in the order of each step's ``reveal``.
        primary: id of the concern that can be addressed; without one none is.
        parameters: thresholds and decays.
    """
    policy = Policy(parameters, tuple(concerns), primary)
    state = policy.start()
    history = []
    for step in steps:
        state = policy.step(state, step)
        history.append(
            TurnState(
                state.number,
                step,
                tuple(state.evidence),
                state.revealed_now,
                state.address_evidence,
                not step.blocked and state.hits > 0,
                state.addressed_at is not None,
            )
        )
    return Trace(policy.concerns, primary, state.revealed_at, state.addressed_at, tuple(history))


def trace(
    transcript: Transcript,
    concerns: Sequence[Concern],
    labels: Mapping[int, ConcernTurnLabels],
    parameters: Parameters,
) -> Trace:
    """The trace of a labelled conversation.

    Args:
        transcript: the conversation.
        concerns: its hidden concerns.
        labels: by turn index, of every clinician turn.
        parameters: weights and thresholds.

    Raises:
        DataError: there is no clinician turn, or one without labels (a trace can't skip a turn).
    """
    turns = list(transcript.of("clinician"))
    if not turns:
        raise DataError("no clinician turn")
    lacking = [turn.index for turn in turns if turn.index not in labels]
    if lacking:
        some = ", ".join(map(str, lacking[:3])) + (", …" if len(lacking) > 3 else "")
        raise DataError(f"no labels of {len(lacking)} of the {len(turns)} clinician turns ({some})")
    steps = [
        turn_step(turn.index, turn.text, labels[turn.index], concerns=concerns, parameters=parameters)
        for turn in turns
    ]
    return replay(steps, [concern.id for concern in concerns], primary_of(concerns), parameters)
