"""What a problem that a server in OpenAI's form tells of means for whoever asks, and what cures it."""

from __future__ import annotations

from collections.abc import Iterable

from bedside.core.registry import nearest
from bedside.judges.llm.chat_address import ChatAddress
from bedside.judges.llm.protocol import DeclinedError, LanguageModelError, NotAskableError
from bedside.judges.llm.server_problems import ServerProblem

#: Said where what is finished helps the next attempt.
GOES_ON = "the same command then goes on where it stopped"
_NO_MODEL_CODES = {"model_not_found", "DeploymentNotFound", "NotFoundError"}


def request_error(problem: ServerProblem, words: str, max_tokens: int) -> Exception | None:
    """What a problem means that is one request's own; None where it is another.

    Args:
        problem: what the server said.
        words: the same in one line without secrets, with the status.
        max_tokens: the limit of the reply's tokens.
    """
    if problem.flagged:
        met = "; ".join(problem.filtered) or words
        return DeclinedError("filter", f"stopped the prompt ({met})")
    if problem.too_long:
        return NotAskableError(
            f"the prompt, with {max_tokens} tokens for the reply, is more than the model takes in ({words})"
        )
    return None


def stop(problem: ServerProblem, words: str, address: ChatAddress, model: str) -> LanguageModelError | None:
    """Why nothing can be asked of a server until somebody does something about it; None where that isn't so."""
    partner, where = address.partner, address.where
    said = problem.message.lower()
    if problem.out_of_quota:
        return LanguageModelError(
            f"the account at {partner} has no credit left or is at its spending limit ({words})",
            where=where,
            todo=f"{address.pay}; {GOES_ON}",
        )
    if problem.status == 401:
        return LanguageModelError(
            f"{partner} refuses the key ({words})", where=where, todo=f"check {address.key_name}"
        )
    if problem.codes & _NO_MODEL_CODES or problem.status == 404 or "not a valid model" in said:
        if problem.status == 403:
            return LanguageModelError(
                f"the key may not ask for {model!r} ({words})",
                where=where,
                todo=f"check {address.access}, or name another model",
            )
        return None  # which models there are is to be looked up
    if problem.status == 403:
        country = "country" in said or "unsupported_country_region_territory" in problem.codes
        todo = (
            "ask from a country that is served, or name another model"
            if country
            else f"check {address.access}"
        )
        return LanguageModelError(
            f"{partner} refuses access ({words})",
            where=where,
            todo=f"{todo}; the key is in {address.key_name}",
        )
    return None


def is_no_model(problem: ServerProblem) -> bool:
    """Whether there is no such model, or no chat at the address."""
    return problem.status == 404 or (
        problem.status == 400
        and bool(problem.codes & _NO_MODEL_CODES or "not a valid model" in problem.message.lower())
    )


def no_model(
    words: str, address: ChatAddress, model: str, models: Iterable[str] | None
) -> LanguageModelError:
    """The error where there is no such model.

    Args:
        words: what the server said.
        address: the server's.
        model: the model that was asked for.
        models: those that there are; None where that can't be had.
    """
    if models is not None and model in models:
        return LanguageModelError(
            f"{address.partner} has {model!r} and won't serve it ({words})",
            where=address.where,
            todo=f"check {address.access}",
        )
    if models is not None:
        return LanguageModelError(
            f"{address.partner} has no model {model!r} ({words})",
            where=address.where,
            todo=nearest(model, models),
        )
    return LanguageModelError(
        f"there is no model {model!r} or no chat at this address ({words})",
        where=address.where,
        todo=address.no_model,
    )
