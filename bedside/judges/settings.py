"""How judges are asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from bedside.core.errors import InputError, one_of
from bedside.core.question_settings import changed_fields
from bedside.judges.ask_settings import ORDERS, REASONING_EFFORTS, BatchAsking, Order, Requests
from bedside.judges.llm.endpoints import with_endpoint_fields
from bedside.judges.llm.extra_fields import checked_extra
from bedside.judges.llm.model_names import ModelName
from bedside.judges.llm.prices import Price
from bedside.judges.llm.protocol import Sampling
from bedside.judges.llm.queue import Patience
from bedside.judges.llm.sharing import Sharing


@dataclass(frozen=True, slots=True)
class JudgeSettings:
    """How judges are asked.

    Attributes:
        passes: how often each thing is asked; the pass is the rating's replicate.
        temperature: 0 to 2; None leaves it to the provider, for models that refuse one.
        max_concurrency: requests under way at once; where several endpoints serve a judge, at that of the largest
            weight.
        max_calls: requests sent at most, repeated ones included; the rest is left missing and isn't kept, so that the
            same call asks it the next time. None for no limit.
        max_cost: US dollars at most, see :class:`bedside.judges.llm.spending.CostLimit`, likewise.
        max_prompt_tokens: what is estimated to be longer is not sent, and its rating says so.
        order: whether a prompt begins with the transcript (a server's prefix cache then serves all rubrics) or with
            the rubric.
        expected: also ask for token probabilities, and rate ``<rubric>.expected`` where a rubric has levels.
        price: of the model, in place of the listed one.
        seed: of random waits, and of sampling where the temperature isn't 0: each pass has its own.
        max_tokens: limit of a reply's tokens, those of the reasoning before it included.
        timeout: seconds until a request counts as unanswered.
        patience: how hard to try.
        reasoning_effort: how long a model that reasons does so, one of
            :data:`bedside.judges.ask_settings.REASONING_EFFORTS`; None leaves it to the provider.
        extra: fields that are added to each request, see :mod:`bedside.judges.llm.extra_fields`.
        rpm, tpm: requests and tokens a minute that each address is sent; None for no limit.

    Raises:
        InputError: a number is out of range.
    """

    passes: int = 1
    temperature: float | None = 0.0
    max_concurrency: int = 8
    max_calls: int | None = None
    max_cost: float | None = None
    max_prompt_tokens: int | None = None
    order: Order = "transcript-first"
    expected: bool = False
    price: Price | None = None
    seed: int = 0
    max_tokens: int = 4096
    timeout: float = 120.0
    patience: Patience = field(default_factory=Patience)
    reasoning_effort: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)
    rpm: float | None = None
    tpm: float | None = None

    def __post_init__(self) -> None:
        check_numbers(passes=self.passes, max_concurrency=self.max_concurrency, max_tokens=self.max_tokens)
        for name, limit in (("max_calls", self.max_calls), ("max_prompt_tokens", self.max_prompt_tokens)):
            if limit is not None:
                check_numbers(least=0, **{name: limit})
        for name, most in (("max_cost", self.max_cost), ("rpm", self.rpm), ("tpm", self.tpm)):
            if most is not None and not (isinstance(most, int | float) and most > 0):
                raise InputError(f"`{name}` must be above 0, and is {most!r}")
        one_of(self.order, ORDERS, "order", InputError, where="`order`")
        degree = self.temperature
        if degree is not None and not (isinstance(degree, int | float) and 0 <= degree <= 2):
            raise InputError(
                f"a temperature must lie between 0 and 2, and {degree!r} does not",
                where="`temperature`",
                todo="give another, or none",
            )

        effort = self.reasoning_effort
        if effort is not None:
            one_of(effort, REASONING_EFFORTS, "effort", InputError, where="`reasoning_effort`")

    def sampling(self, name: ModelName | None = None) -> Sampling:
        """How a model is asked to write; with ``name``, with what its endpoints add."""
        sampling = Sampling(
            self.temperature, self.max_tokens, self.expected, self.seed, self.timeout, self.max_prompt_tokens,
            self.reasoning_effort, self.extra,
        )  # fmt: skip
        return sampling if name is None else with_endpoint_fields(sampling, name)

    def sharing(self) -> Sharing:
        """How calls are shared out where several endpoints serve a judge."""
        return Sharing(self.max_concurrency, self.patience.first_wait, self.patience.longest_wait, self.rpm, self.tpm)


def judge_settings(asked: Requests) -> JudgeSettings:
    """How judges are asked, by what a user said of it.

    Raises:
        InputError: a number is out of range, the price is none, or a limit of single requests is said of a batch.
    """
    if isinstance(asked, BatchAsking) and asked.batch:
        refuse_limits(asked, "batch")
    try:
        price = None if asked.price is None else Price(*map(float, asked.price))
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{asked.price!r:.40} is not a price", where="`price`", todo="give dollars for tokens in and out: (0.25, 2)"
        ) from error
    own = {each.name for each in fields(asked)} & {each.name for each in fields(JudgeSettings)} - {"price", "extra"}
    extra = checked_extra(asked.extra or {}, "`extra`")
    return JudgeSettings(**{name: getattr(asked, name) for name in own}, price=price, extra=extra)


def refuse_limits(asked: Requests, batch: str) -> None:
    """Refuse limits of single requests where a batch is made; ``batch`` is the option that makes it.

    Raises:
        InputError: one was said.
    """
    for name in ("max_concurrency", "rpm", "tpm"):
        if name in changed_fields(asked):
            what = "a batch is sent whole, and its provider says how fast it is answered"
            raise InputError(what, where=f"`{name}`", todo=f"leave it out, or ask without `{batch}`")


def settings_before(how: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that a judge's answers hang on, as it was asked before.

    Args:
        how: what a run's manifest records of the judge.
    """
    wanted = {**(how.get("wanted") or how), "order": how.get("order")}
    wanted["expected"] = wanted.get("probabilities")
    names = ("temperature", "max_tokens", "reasoning_effort", "seed", "extra", "order", "expected")
    known = {name: wanted[name] for name in names if name in wanted}
    return {name: value for name, value in known.items() if value is not None or name == "temperature"}


def price_before(how: Mapping[str, Any]) -> Price | None:
    """The price that was given for a judge as it was asked before; None where none was."""
    return None if how.get("price") is None else Price(**how["price"])


def check_numbers(*, least: int = 1, **numbers: int) -> None:
    """Refuse numbers that must be ``least`` or more.

    Raises:
        InputError: one is less, or is no whole number.
    """
    for name, number in numbers.items():
        if not isinstance(number, int) or number < least:
            raise InputError(f"`{name}` must be {least} or more, and is {number!r}")
