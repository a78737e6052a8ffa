"""The trace: from the turns' features to which concerns are revealed and whether the primary one is addressed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bedside.protocols.medconceal.labels import (
    FEATURES,
    CategoryName,
    Concern,
    ConcernTurnLabels,
    Features,
    Intent,
    primary_of,
)
from bedside.protocols.medconceal.overlap import content, overlap
from bedside.protocols.medconceal.policy_parameters import REVEAL_FEATURES, Parameters
from bedside.support.errors import DataError
from bedside.transcripts.transcript import Transcript


@dataclass(frozen=True, slots=True)
class Step:
    """What a clinician turn brings to the latent policy.

    Attributes:
        turn: index in the transcript.
        blocked: whether it is taken as probing for categories of concerns, so that nothing changes.
        reveal: p of each concern, in the concerns' order, 0 to 1.
        address: p of addressing the primary concern.
    """

    turn: int
    blocked: bool
    reveal: tuple[float, ...]
    address: float


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


def sigmoid(x: float) -> float:
    """``1 / (1 + e^−x)``, without overflow."""
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


def is_blocked(z: Features, intent: Intent | None, parameters: Parameters) -> bool:
    """Whether a turn counts as meta-category probing: by its intent, or by its risk."""
    return intent == "meta_probe" or z.meta_probe_risk >= parameters.meta_probe


def reveal_probability(
    z: Sequence[float], shared: float, category: CategoryName, parameters: Parameters
) -> float:
    """``p = σ((w + δ_category) · [z; o])`` of a turn with features ``z`` and overlap ``shared`` (o)."""
    weights, more = parameters.reveal.weights, parameters.reveal.by_category.get(category, {})
    return sigmoid(
        sum(
            (weights[name] + more.get(name, 0.0)) * value
            for name, value in zip(REVEAL_FEATURES, (*z, shared), strict=True)
        )
    )


def address_probability(z: Sequence[float], parameters: Parameters) -> float:
    """``p = σ(v · z)``."""
    weights = parameters.address.weights
    return sigmoid(sum(weights[name] * value for name, value in zip(FEATURES, z, strict=True)))


def tightened(threshold: float, progressive: float, before: int) -> float:
    """A threshold after ``before`` concerns were revealed: each takes it ``progressive`` of the way to 1."""
    return threshold + (1 - threshold) * (1 - (1 - progressive) ** before)


def replay(
    steps: Sequence[Step], concerns: Sequence[str], primary: str | None, parameters: Parameters
) -> Trace:
    """Run the latent policy over the turns.

    A blocked turn changes nothing: neither evidence nor rows of turns nor the number of turns since the reveal. All
    concerns of a turn meet the thresholds that held before it.

    Args:
        steps: the clinician turns in order.
        concerns: ids, in the order of each step's ``reveal``.
        primary: id of the concern that can be addressed; without one none is.
        parameters: thresholds and decays.
    """
    reveal, address = parameters.reveal, parameters.address
    evidence = [0.0] * len(concerns)
    rows = [0] * len(concerns)  # turns in a row with evidence of the low threshold
    revealed_at: dict[str, int] = {}
    since = 0  # turns since the primary concern was revealed
    address_evidence, hits, addressed_at = 0.0, 0, None
    history = []
    for number, step in enumerate(steps, start=1):
        now: list[str] = []
        hit = False
        if not step.blocked:
            since += primary in revealed_at
            high, low = (
                tightened(each, reveal.progressive, len(revealed_at)) for each in (reveal.high, reveal.low)
            )
            for place, concern in enumerate(concerns):
                evidence[place] = reveal.decay * evidence[place] + (1 - reveal.decay) * step.reveal[place]
                rows[place] = rows[place] + 1 if evidence[place] >= low else 0
                if concern not in revealed_at and (
                    evidence[place] >= high or rows[place] >= reveal.consecutive
                ):
                    now.append(concern)
            revealed_at |= dict.fromkeys(now, number)
            address_evidence = address.decay * address_evidence + (1 - address.decay) * step.address
            hit = (
                primary in revealed_at
                and since >= address.lag
                and step.address >= address.probability
                and address_evidence >= address.evidence
            )
            hits = hits + 1 if hit else 0
            if addressed_at is None and hits >= address.consecutive:
                addressed_at = number
        history.append(
            TurnState(
                number, step, tuple(evidence), tuple(now), address_evidence, hit, addressed_at is not None
            )
        )
    return Trace(tuple(concerns), primary, revealed_at, addressed_at, tuple(history))


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
    wordings = [content(concern.text) for concern in concerns]
    steps = []
    for turn in turns:
        turn_labels = labels[turn.index]
        z = tuple(turn_labels.z.model_dump().values())
        words = content(turn.text)
        steps.append(
            Step(
                turn.index,
                is_blocked(turn_labels.z, turn_labels.intent, parameters),
                tuple(
                    reveal_probability(z, overlap(words, wording), concern.category, parameters)
                    for concern, wording in zip(concerns, wordings, strict=True)
                ),
                address_probability(z, parameters),
            )
        )
    return replay(steps, [concern.id for concern in concerns], primary_of(concerns), parameters)
