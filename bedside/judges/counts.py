"""Counts: how far judging is, and what it took."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(slots=True)
class Tally:
    """Counts of one rubric while it is judged by.

    Attributes:
        judgements: what was to be judged.
        stored: of them, those that were in the store.
        answered, unusable, failed, not_asked, not_askable, refused, filtered: what became of them: ``refused`` by the
            judge, ``filtered`` by the provider's content filter.
        calls: requests sent.
        input_tokens, output_tokens: of the requests of this run, as the provider counts them; of the output, also those
            of reasoning.
        cost: in US dollars; None where the price or the tokens aren't known.
        cached_tokens, reasoning_tokens: some of the input's, those in the provider's cache, and of the output's.
        cut: of the unusable, those that were cut off at the limit of tokens.
        replied: judgements, from the store or not, for which the judge replied anything.
        unsent: of them, those with whose last request a parameter was not sent that was wanted, by the parameter.
        served: of them, by the version of the model that replied, those for which it is known.
        unasked: those not asked or not answered yet, by the reason.
    """

    judgements: int = 0
    stored: int = 0
    answered: int = 0
    unusable: int = 0
    failed: int = 0
    not_asked: int = 0
    not_askable: int = 0
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = 0.0
    refused: int = 0
    filtered: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    cut: int = 0
    replied: int = 0
    unsent: dict[str, int] = field(default_factory=dict)
    served: dict[str, int] = field(default_factory=dict)
    unasked: dict[str, int] = field(default_factory=dict)

    def of(self, rubric: str, version: str) -> RubricCount:
        """The same, as what judging by a rubric took."""
        return RubricCount(rubric=rubric, version=version, **asdict(self))


@dataclass(frozen=True, slots=True)
class JudgingProgress:
    """How far judging is.

    Attributes:
        done: judgements that are done.
        stored: of them, those from the store.
        missing: of them, those without an answer.
        calls: requests sent.
        total: how many judgements there will be, about, until all questions are known; None while nothing is known.
        cost: what was spent so far, in US dollars; None where the price isn't known.
        batches: how many batches at providers are waited for; the other numbers are then of what is in them.
    """

    done: int
    stored: int
    missing: int
    calls: int
    total: int | None = None
    cost: float | None = None
    batches: int = 0


@dataclass(slots=True, kw_only=True)
class RubricCount(Tally):
    """What judging by one rubric took: its name, and the hash of its wording."""

    rubric: str
    version: str


@dataclass(frozen=True, slots=True)
class JudgingSummary:
    """What a judging did.

    Attributes:
        rater: the judge's name in the ratings table.
        parameters: what the model was asked with: temperature, limit of tokens, order and the like. Where it didn't
            take one that was wanted, it is None, and ``not_taken`` holds what was wanted of each such parameter, and
            for how many judgements ``of`` how many it was left out; it is not None where it was sent with some.
        passes: how often each thing was asked.
        rubrics: counts of each rubric.
        ratings: how many ratings were made.
        calls: requests sent.
        waiting: rubrics that can be asked about only when answers to others are there.
    """

    rater: str
    parameters: Mapping[str, Any]
    passes: int
    rubrics: tuple[RubricCount, ...]
    ratings: int
    calls: int
    waiting: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", _as_sent(self.parameters, self.rubrics))

    @property
    def cost(self) -> float | None:
        """What it cost, in US dollars; None where that isn't known."""
        costs = [count.cost for count in self.rubrics]
        return None if None in costs else sum(cost for cost in costs if cost is not None)

    @property
    def complete(self) -> bool:
        """Whether the same command again would ask nothing more."""
        return not any(count.failed or count.not_asked for count in self.rubrics)


def _as_sent(parameters: Mapping[str, Any], rubrics: Sequence[RubricCount]) -> dict[str, Any]:
    """Parameters as they were sent, where they may be as they were wanted."""
    told = parameters.get("not_taken", {})
    wanted = {name: told[name]["wanted"] if name in told else value for name, value in parameters.items()}
    wanted.pop("not_taken", None)
    unsent = Counter[str]()
    for count in rubrics:
        unsent.update(count.unsent)
    replied = sum(count.replied for count in rubrics)
    sent = {name: None if unsent[name] and unsent[name] >= replied else value for name, value in wanted.items()}
    if unsent:
        sent["not_taken"] = {
            name: {"wanted": wanted.get(name), "judgements": number, "of": replied}
            for name, number in sorted(unsent.items())
        }
    return sent


def spent(summaries: Iterable[JudgingSummary]) -> float | None:
    """What judgings cost together, in US dollars; None where that isn't known."""
    costs = [summary.cost for summary in summaries]
    return None if None in costs else sum(cost for cost in costs if cost is not None)
