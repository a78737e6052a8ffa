"""What a user can say of how language models are asked, shared by all that has them judge."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, get_args

from bedside.core.question_settings import COST, JUDGES, Seeded, option, settings_class
from bedside.core.words import Names

if TYPE_CHECKING:
    from bedside.judges.rubrics.rubric import Rubric

    #: Rubrics by their names or files, or as they are; a lone one is one.
    RubricNames = str | os.PathLike[str] | Rubric | Iterable[str | os.PathLike[str] | Rubric]
else:
    RubricNames = Any

#: What a prompt begins with.
Order = Literal["transcript-first", "rubric-first"]
ORDERS: tuple[Order, ...] = get_args(Order)
#: How long a model that reasons does so.
ReasoningEffort = Literal["none", "minimal", "low", "medium", "high", "xhigh"]
REASONING_EFFORTS: tuple[ReasoningEffort, ...] = get_args(ReasoningEffort)
#: ``answered``: there is an answer. ``unusable``: the model's replies fitted the rubric no time; that is a result, but
#: where they were cut off, for as long as no more tokens are allowed. ``refused``, ``filtered``: the model, or its
#: provider's content filter, won't answer; these are results too. ``failed``: no reply was had; it is asked again by
#: the next run.
State = Literal["answered", "unusable", "refused", "filtered", "failed"]
STATES: tuple[State, ...] = get_args(State)
#: US dollars for a million tokens in and out, and of those in the provider's cache.
Dollars = tuple[float, float] | tuple[float, float, float]


@settings_class
class RubricShowing:
    """Where rubrics are, and how they are shown to judges."""

    rubric_folder: str | os.PathLike[str] | None = option(
        "Folder of your own rubrics.", default=None, heading=JUDGES, metavar="FOLDER"
    )
    prompt_language: str | None = option(
        "Ask in this language: en, de or zh. Each rubric is asked in its own unless you name one; a judge asked in "
        "another is a rater of its own in the tables.",
        default=None, heading=JUDGES, metavar="LANGUAGE",
    )  # fmt: skip
    show: Names = option(
        "Show raters system messages, or calls of tools, too. Without it nobody who rates sees them; the report "
        "says so where they do.",
        default=(), heading=JUDGES, metavar="system,tools", form="names",
    )  # fmt: skip


@settings_class
class RubricChoice(RubricShowing):
    """The rubrics that judges are asked by, and how these are shown."""

    rubrics: RubricNames | None = option(
        "Rubrics to rate by; bedside list rubrics lists them. Without it, those of the suite.",
        "--rubrics", "--rubric", default=None, heading=JUDGES, metavar="A,B", form="names", offers="rubrics",
    )  # fmt: skip


@settings_class
class ExtraFields:
    """What is added to each request, for providers that know it."""

    extra: Mapping[str, Any] | None = option(
        "A field to add to each request, such as enable_thinking=false or service_tier=flex. The value is JSON, or a "
        "text; points in a name lead into an object, as in provider.sort=price. stream=true has replies come as "
        "events.",
        default=None, heading=JUDGES, metavar="KEY=VALUE", form="fields",
    )  # fmt: skip


@settings_class
class Requests(ExtraFields, Seeded):
    """How many requests are sent, and what they cost."""

    max_concurrency: int = option(
        "Most requests under way at once to a judge, or to each address that serves it.",
        default=8, heading=COST, metavar="NUMBER",
    )  # fmt: skip
    max_calls: int | None = option(
        "Most requests to send before stopping; the same again goes on from there.",
        default=None, heading=COST, metavar="NUMBER",
    )  # fmt: skip
    rpm: float | None = option(
        "Most requests a minute to a judge, or to each address that serves it: they are spaced evenly.",
        default=None, heading=COST, metavar="NUMBER",
    )  # fmt: skip
    tpm: float | None = option(
        "Most tokens a minute, of requests and replies, likewise.", default=None, heading=COST, metavar="NUMBER"
    )
    price: Dollars | None = option(
        "US dollars for a million tokens, where bedside doesn't know the price, such as in=0.25,out=2; cached is that "
        "of tokens in the provider's cache.",
        default=None, heading=COST, metavar="in=N,out=N[,cached=N]", form="price",
    )  # fmt: skip
    max_cost: float | None = option(
        "US dollars after which nothing more is sent; the same again goes on from there.",
        default=None, heading=COST, metavar="DOLLARS",
    )  # fmt: skip


@settings_class
class ModelAsking(Requests):
    """How a language model is asked, and how much."""

    temperature: float | None = option(
        "Temperature of the model's answers, from 0 to 2; none leaves it to the provider.",
        default=0.0, heading=JUDGES, metavar="NUMBER", form="number_or_none",
    )  # fmt: skip
    reasoning_effort: ReasoningEffort | None = option(
        "How much a model that reasons may do so: none, minimal, low, medium, high or xhigh; models take some of "
        "these. Without it, the provider decides.",
        default=None, heading=JUDGES, metavar="NAME",
    )  # fmt: skip
    max_prompt_tokens: int | None = option(
        "Most tokens in a prompt, by an estimate. Longer prompts are not sent, and their ratings say so.",
        default=None, heading=COST, metavar="NUMBER",
    )  # fmt: skip
    max_tokens: int = option(
        "Most tokens of a reply, those of the reasoning before it included.",
        default=4096, heading=COST, metavar="NUMBER",
    )  # fmt: skip
    order: Order = option(
        "What a prompt begins with, which a provider may cache: transcript-first or rubric-first.",
        default="transcript-first", heading=COST, metavar="NAME",
    )  # fmt: skip


@settings_class
class RepeatedAsking(ModelAsking):
    """How a language model is asked, and how often."""

    passes: int = option("How often each question is asked.", default=1, heading=JUDGES, metavar="NUMBER")


@settings_class
class BatchAsking(RepeatedAsking):
    """How a language model is asked, at once or by batches."""

    batch: bool = option(
        "Ask by the provider's batch service (OpenAI, Anthropic, Gemini): it answers within a day, at half the price "
        "for most models. The command waits; stopped, the same command goes on.",
        default=False, heading=COST,
    )  # fmt: skip
