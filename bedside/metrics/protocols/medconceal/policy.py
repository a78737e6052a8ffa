"""The latent policy: what a clinician turn brings to each hidden concern, and how things stand after it.

One step is one clinician turn. A simulated patient takes it as the turn is said, a scored conversation all at once
(:func:`bedside.metrics.protocols.medconceal.trace.replay`): both come to the same numbers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bedside.metrics.protocols.medconceal.labels import (
    FEATURES,
    CategoryName,
    Concern,
    ConcernTurnLabels,
    Features,
    Intent,
    primary_of,
)
from bedside.metrics.protocols.medconceal.overlap import content, overlap
from bedside.metrics.protocols.medconceal.policy_parameters import REVEAL_FEATURES, Parameters


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
class PolicyState:
    """How things stand after a clinician turn: numbers, texts, lists and maps, so that JSON holds it as it is.

    Attributes:
        number: number of clinician turns until now.
        evidence: E of each concern, in the concerns' order, 0 to 1.
        rows: of each concern the number of unblocked turns in a row with evidence of the low threshold.
        revealed_at: concern → number of the clinician turn (from 1) that revealed it.
        since: unblocked turns since the primary concern was revealed.
        address_evidence: A, 0 to 1.
        hits: unblocked turns in a row, up to the last one, that address the primary concern well enough to count.
        addressed_at: number of the clinician turn at which it was addressed; None as long as it isn't.
    """

    number: int
    evidence: Sequence[float]
    rows: Sequence[int]
    revealed_at: Mapping[str, int]
    since: int
    address_evidence: float
    hits: int
    addressed_at: int | None

    @property
    def revealed_now(self) -> tuple[str, ...]:
        """Ids of the concerns that the last turn revealed."""
        return tuple(concern for concern, at in self.revealed_at.items() if at == self.number)


@dataclass(frozen=True, slots=True)
class Policy:
    """The latent policy of one conversation.

    Attributes:
        parameters: weights, thresholds and decays.
        concerns: ids of the hidden concerns, in the order of each step's ``reveal``.
        primary: id of the concern that can be addressed; without one none is.
    """

    parameters: Parameters
    concerns: tuple[str, ...]
    primary: str | None

    def start(self) -> PolicyState:
        """How things stand before anything is said."""
        return PolicyState(0, (0.0,) * len(self.concerns), (0,) * len(self.concerns), {}, 0, 0.0, 0, None)

    def step(self, state: PolicyState, step: Step) -> PolicyState:
        """How things stand after one more clinician turn.

        A blocked turn changes nothing but the number of turns: neither evidence nor rows of turns nor the number of
        turns since the reveal. All concerns of a turn meet the thresholds that held before it. With p of the step,
        ``E ← αE + (1 − α)p`` and ``A ← βA + (1 − β)p``.
        """
        number = state.number + 1
        if step.blocked:
            return PolicyState(
                number, state.evidence, state.rows, state.revealed_at, state.since, state.address_evidence,
                state.hits, state.addressed_at,
            )  # fmt: skip
        reveal, address = self.parameters.reveal, self.parameters.address
        since = state.since + (self.primary in state.revealed_at)
        high, low = (
            tightened(each, reveal.progressive, len(state.revealed_at)) for each in (reveal.high, reveal.low)
        )
        evidence = tuple(
            reveal.decay * before + (1 - reveal.decay) * p
            for before, p in zip(state.evidence, step.reveal, strict=True)
        )
        rows = tuple(row + 1 if value >= low else 0 for row, value in zip(state.rows, evidence, strict=True))
        revealed_at = {
            **state.revealed_at,
            **{
                concern: number
                for concern, value, row in zip(self.concerns, evidence, rows, strict=True)
                if concern not in state.revealed_at and (value >= high or row >= reveal.consecutive)
            },
        }
        address_evidence = address.decay * state.address_evidence + (1 - address.decay) * step.address
        hit = (
            self.primary in revealed_at
            and since >= address.lag
            and step.address >= address.probability
            and address_evidence >= address.evidence
        )
        hits = state.hits + 1 if hit else 0
        addressed_at = state.addressed_at
        if addressed_at is None and hits >= address.consecutive:
            addressed_at = number
        return PolicyState(number, evidence, rows, revealed_at, since, address_evidence, hits, addressed_at)


def sigmoid(x: float) -> float:
    """``1 / (1 + e^−x)``, without overflow."""
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


def is_blocked(z: Features, intent: Intent | None, parameters: Parameters) -> bool:
    """Whether a turn counts as meta-category probing.

    By its intent alone, as published, unless the parameters say that the risk counts too. A turn whose labels name no
    intent has only its risk to go by.
    """
    if intent == "meta_probe":
        return True
    by_risk = intent is None or parameters.meta_probe_by == "intent or risk"
    return by_risk and z.meta_probe_risk >= parameters.meta_probe


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


def address_probability(z: Sequence[float], category: CategoryName | None, parameters: Parameters) -> float:
    """``p = σ((v + δ_category) · z)``; δ is that of the primary concern's category, 0 where the file gives none."""
    weights = parameters.address.weights
    more = {} if category is None else parameters.address.by_category.get(category, {})
    return sigmoid(
        sum((weights[name] + more.get(name, 0.0)) * value for name, value in zip(FEATURES, z, strict=True))
    )


def tightened(threshold: float, progressive: float, before: int) -> float:
    """A threshold after ``before`` concerns were revealed: each takes it ``progressive`` of the way to 1."""
    return threshold + (1 - threshold) * (1 - (1 - progressive) ** before)


def turn_step(
    turn: int,
    text: str,
    labels: ConcernTurnLabels,
    *,
    concerns: Sequence[Concern],
    parameters: Parameters,
) -> Step:
    """What a labelled clinician turn brings to the policy.

    Args:
        turn: its index in the transcript.
        text: its words.
        labels: what is said of it.
        concerns: the hidden concerns.
        parameters: weights, and what blocks a turn.
    """
    z = tuple(labels.z.model_dump().values())
    words = content(text)
    primary = primary_of(concerns)
    return Step(
        turn,
        is_blocked(labels.z, labels.intent, parameters),
        tuple(
            reveal_probability(z, overlap(words, content(concern.text)), concern.category, parameters)
            for concern in concerns
        ),
        address_probability(
            z,
            next((concern.category for concern in concerns if concern.id == primary), None),
            parameters,
        ),
    )
