"""Whether what people say holds together: contradictions within a role, and what follows from the other's words.

A classifier for natural-language inference, which the user names, judges pairs of turns
(:mod:`bedside.metrics.models.nli`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from bedside.core.errors import RegistryError
from bedside.core.words import counted
from bedside.metrics.contract import Example, Family, Metric, Parameter
from bedside.metrics.nli_parameters import NLI_PARAMETERS, named_model
from bedside.ratings.values import NO_MODEL, Value, missing
from bedside.transcripts.transcript import Role, Transcript, Turn

if TYPE_CHECKING:
    from bedside.metrics.models.nli import Inference, NliModel

#: Turns of a role up to which each is compared with all earlier ones, where no window is given.
ALL_UP_TO = 200
#: The window beyond that.
DEFAULT_WINDOW = 50

_ROLES: tuple[Role, ...] = ("clinician", "patient")
_OTHER: dict[Role, Role] = {"clinician": "patient", "patient": "clinician"}


@dataclass(slots=True)
class _Total:
    """Pairs of turns, added up."""

    pairs: int = 0
    consistency: float = 0.0
    contradicting: int = 0
    entailment: float = 0.0
    entailed: int = 0
    split: int = 0
    cut: int = 0

    def add(self, pair: Inference) -> None:
        self.pairs += 1
        self.consistency += 1 - pair.contradiction
        self.contradicting += pair.contradicts
        self.entailment += pair.entailment
        self.entailed += pair.entails
        self.split += pair.split
        self.cut += pair.cut

    def remark(self, more: str | None = None) -> str:
        """What belongs to a value of these pairs."""
        words = [counted(self.pairs, "pair") + " of turns", more]
        if self.split:
            words.append(f"{self.split} longer than the model's window, compared by sentences")
        if self.cut:
            words.append(f"{self.cut} with a sentence longer than the window, cut")
        return "; ".join(filter(None, words))


def compute(
    transcript: Transcript, metric_names: frozenset[str], *, model: str, labels: str, window: int
) -> Iterator[Value]:
    """Consistency and entailment, of each role and of each turn.

    Raises:
        RegistryError: a negative window.
        ModelError, MissingExtraError: the model can't be used.
    """
    if window < 0:
        raise RegistryError(f"window is {window}", todo="give a number of turns, or 0 for the default")
    nli = named_model(model, labels)
    turns = [turn for turn in transcript.turns if turn.role in _ROLES]
    if not turns:
        error = FAMILY.no_model if nli is None else "no clinician or patient turn"
        for metric in METRICS:
            if metric.unit == "turn" and metric.name in metric_names:
                yield missing(metric.name, error)
    for role in _ROLES:
        own = [turn for turn in turns if turn.role == role]
        if nli is None:
            yield from _missing_values(metric_names, role, own, FAMILY.no_model)
            continue
        if not metric_names.isdisjoint(_WITHIN):
            yield from (value for value in _within(nli, role, own, window) if value.metric in metric_names)
        if not metric_names.isdisjoint(_BETWEEN):
            yield from (value for value in _between(nli, role, turns) if value.metric in metric_names)


def _missing_values(metric_names: frozenset[str], role: Role, turns: Sequence[Turn], error: str) -> Iterator[Value]:
    """Missing values of all that is wanted of a role and its turns."""
    for metric in METRICS:
        if metric.name in metric_names:
            if metric.unit == "turn":
                yield from (missing(metric.name, error, turn=turn.index) for turn in turns)
            else:
                yield missing(metric.name, error, role=role)


def _within(nli: NliModel, role: Role, turns: Sequence[Turn], window: int) -> Iterator[Value]:
    """A role's turns, each against its earlier ones."""
    spoken = [turn for turn in turns if turn.text.strip()]
    remark = None
    if not window and len(spoken) > ALL_UP_TO:
        window = DEFAULT_WINDOW
        remark = f"each turn with no more than the {window} before it, as there are more than {ALL_UP_TO} turns"

    def earlier(at: int) -> Sequence[Turn]:
        return spoken[max(0, at - window) if window else 0 : at]

    pairs = nli.infer((first.text, turn.text) for at, turn in enumerate(spoken) for first in earlier(at))
    total = _Total()
    for at, turn in enumerate(spoken):
        highest, other = None, None
        for first in earlier(at):
            pair = next(pairs)
            total.add(pair)
            if highest is None or pair.contradiction > highest.contradiction:
                highest, other = pair, first.index
        if highest is None:
            yield missing("contradiction", f"no earlier {role} turn to compare with", turn=turn.index)
        else:
            yield Value(
                "contradiction", highest.contradiction, turn=turn.index, reason=_remark(f"with turn {other}", highest)
            )
    yield from _empty("contradiction", turns)
    if not total.pairs:
        error = f"no {role} turn" if not turns else f"fewer than two {role} turns that are not empty"
        yield missing("self_consistency", error, role=role)
        yield missing("contradiction_rate", error, role=role)
        return
    reason = total.remark(remark)
    yield Value("self_consistency", total.consistency / total.pairs, role=role, reason=reason)
    yield Value("contradiction_rate", total.contradicting / total.pairs, role=role, reason=reason)


def _between(nli: NliModel, role: Role, turns: Sequence[Turn]) -> Iterator[Value]:
    """A role's turns, each given the other role's last turn before it."""
    before: Turn | None = None
    pairs: list[tuple[Turn, Turn]] = []
    for turn in turns:
        if turn.role != role:
            before = turn
        elif not turn.text.strip():
            continue
        elif before is None:
            yield missing("turn_entailment", f"no {_OTHER[role]} turn before it", turn=turn.index)
        elif not before.text.strip():
            yield missing("turn_entailment", f"turn {before.index} before it is empty", turn=turn.index)
        else:
            pairs.append((before, turn))
    total = _Total()
    for (before, turn), pair in zip(pairs, nli.infer((a.text, b.text) for a, b in pairs), strict=True):
        total.add(pair)
        yield Value(
            "turn_entailment", pair.entailment, turn=turn.index, reason=_remark(f"given turn {before.index}", pair)
        )
    own = [turn for turn in turns if turn.role == role]
    yield from _empty("turn_entailment", own)
    if not total.pairs:
        error = f"no {role} turn with words after one of the {_OTHER[role]}" if own else f"no {role} turn"
        yield missing("entailment", error, role=role)
        yield missing("entailment_rate", error, role=role)
        return
    yield Value("entailment", total.entailment / total.pairs, role=role, reason=total.remark())
    yield Value("entailment_rate", total.entailed / total.pairs, role=role, reason=total.remark())


def _empty(metric: str, turns: Sequence[Turn]) -> Iterator[Value]:
    yield from (missing(metric, "the turn is empty", turn=t.index) for t in turns if not t.text.strip())


def _remark(text: str, pair: Inference) -> str:
    """What belongs to a turn's value."""
    if pair.cut:
        return f"{text}; compared by sentences, of which some are cut to the model's window"
    return f"{text}; compared by sentences" if pair.split else text


_DZIRI = "Dziri, Kamalloo, Mathewson & Zaïane, NAACL 2019 (coherence of dialogue by entailment)"
_WELLECK = "Welleck, Weston, Szlam & Cho, ACL 2019 (Dialogue NLI)"
_CALM_IT = "Nguyen et al., CALM-IT"
_TALK = (
    ("clinician", "How often do you drink?"),
    ("patient", "I never drink on weekdays."),
    ("clinician", "So you keep it to the weekend."),
    ("patient", "Yesterday I had a bottle of wine at lunch."),
    ("clinician", "You drink on weekdays too."),
    ("patient", "Yes."),
)
_NEEDS = ("a model for natural-language inference",)
_PAIRS = (
    "Each turn is the hypothesis, each earlier turn of the same role (within the window) a premise. Empty turns are "
    "left out."
)
_GIVEN = "Each turn is the hypothesis, the last turn of the other role before it the premise."
_SPLIT = "Of a pair longer than the model's window, the highest probability over the pairs of their sentences counts."

_share = partial(Metric, low=0, high=1, digits=3, needs=_NEEDS)
_share_of_role = partial(_share, unit="transcript", roles=_ROLES)

METRICS = (
    _share_of_role(
        name="self_consistency",
        title="Self-consistency",
        turns=("contradiction",),
        direction="higher",
        definition=f"Mean of 1 − P(contradiction) over pairs of turns of the role. {_PAIRS} {_SPLIT}",
        source=f"{_DZIRI}; {_WELLECK}; {_CALM_IT}",
        examples=(Example(_TALK, None, NO_MODEL, role="patient"),),
    ),
    _share_of_role(
        name="contradiction_rate",
        title="Contradiction rate",
        turns=("contradiction",),
        direction="lower",
        definition=(
            f"Share of pairs of turns of the role for which contradiction is the most probable label. {_PAIRS} A pair "
            "longer than the model's window contradicts where some pair of their sentences does."
        ),
        source=f"{_DZIRI}; {_WELLECK}",
        examples=(Example(_TALK, None, NO_MODEL, role="patient"),),
    ),
    _share(
        name="contradiction",
        title="Contradiction with an earlier turn",
        unit="turn",
        direction="lower",
        definition=(
            "Highest P(contradiction) of the turn with an earlier turn of the same role; the reason names that turn. "
            f"{_SPLIT}"
        ),
        source=f"{_DZIRI}; {_WELLECK}",
        examples=(Example(_TALK, None, NO_MODEL, turn=3),),
    ),
    _share_of_role(
        name="entailment",
        title="Entailment by the other's turn",
        turns=("turn_entailment",),
        direction="higher",
        definition=f"Mean P(entailment) over the turns of the role. {_GIVEN} {_SPLIT}",
        source=f"{_DZIRI}; {_CALM_IT}",
        examples=(Example(_TALK, None, NO_MODEL, role="clinician"),),
    ),
    _share_of_role(
        name="entailment_rate",
        title="Entailment rate",
        turns=("turn_entailment",),
        direction="higher",
        definition=(
            f"Share of the role's turns for which entailment is the most probable label. {_GIVEN} A pair longer than "
            "the model's window counts where some pair of their sentences does."
        ),
        source=_DZIRI,
        examples=(Example(_TALK, None, NO_MODEL, role="clinician"),),
    ),
    _share(
        name="turn_entailment",
        title="Entailment of a turn",
        unit="turn",
        direction="higher",
        definition=f"P(entailment) of the turn, given the last turn of the other role before it. {_SPLIT}",
        source=_DZIRI,
        examples=(Example(_TALK, None, NO_MODEL, turn=2),),
    ),
)
_WITHIN = ("self_consistency", "contradiction_rate", "contradiction")
_BETWEEN = ("entailment", "entailment_rate", "turn_entailment")

FAMILY = Family(
    name="consistency",
    title="Consistency and entailment",
    description=(
        "Whether a role contradicts itself, and whether its turns follow from what the other said just before, as a "
        "classifier for natural-language inference sees it. The classifier is one that you name; "
        "[how to choose it, and how far to trust it](nli.md)."
    ),
    version="1",
    model="a classifier for natural-language inference with the labels entailment, neutral and contradiction",
    metrics=METRICS,
    compute=compute,
    parameters={
        **NLI_PARAMETERS,
        "window": Parameter(
            0,
            1,
            "With how many turns before it a turn of a role is compared; 0: with all, or where the role has more than "
            f"{ALL_UP_TO} turns with {DEFAULT_WINDOW}.",
        ),
    },
    demonstration=_TALK,
)
