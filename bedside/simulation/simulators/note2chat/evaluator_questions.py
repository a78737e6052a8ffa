"""A question to the evaluator: a prompt of this protocol is filled, and asked until its reply can be read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from bedside.simulation.simulators.asking import ask_for_data
from bedside.simulation.simulators.calls import Call, Exchange
from bedside.simulation.simulators.note2chat.prompts import prompt

T = TypeVar("T")


def ask_evaluator(
    purpose: str,
    ordinal: int,
    language: str,
    read: Callable[[Any], T],
    *,
    variables: Mapping[str, str],
    material: Mapping[str, Any] | None = None,
) -> Exchange[T]:
    """What the evaluator replies to the prompt that is called after the purpose.

    Args:
        purpose: the prompt, which is the call site's name too.
        ordinal: of the call at its site, from 1.
        language: code of the prompt's language.
        read: makes the value of the object that is replied, or raises a ValueError that says what is wrong with it.
        variables: what the prompt's slots hold.
        material: what the variables were made from, for actors that are no language models; the variables themselves
            unless given.

    Raises:
        UnusableConversationError: no reply could be read, three times.
    """
    filled = prompt(purpose, language, **variables)
    call = Call(
        "evaluator",
        purpose,
        ordinal,
        instruction=filled.instruction,
        kind="data",
        schema=filled.schema,
        material=variables if material is None else material,
        prompt=filled.reference,
    )
    value: T = (yield from ask_for_data(call, read)).value
    return value
