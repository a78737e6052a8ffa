"""Fields of a request that only some providers know, such as ``enable_thinking``: what users add to requests.

They are given for a command, or for one address in a file of endpoints. ``stream: true`` among them says that replies
come as a stream of events.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bedside.core.errors import InputError

STREAM = "stream"
#: What bedside fills in, and where it is said.
_OWN = {
    "temperature": "`temperature`",
    "seed": "`seed`",
    "max_tokens": "`max_tokens`",
    "max_completion_tokens": "`max_tokens`",
    "max_output_tokens": "`max_tokens`",
    "reasoning_effort": "`reasoning_effort`",
    "logprobs": "`expected`",
    "top_logprobs": "`expected`",
    "model": "the judge's name",
    "messages": "the rubric",
    "input": "the rubric",
    "contents": "the rubric",
    "system": "the rubric",
    "response_format": "the rubric",
    "format": "the rubric",
    "tools": "the rubric",
    "n": "`passes`",
}
#: Fields that say how a request is billed, sent or labelled: with another value, the same is answered.
_BESIDE = frozenset((STREAM, "service_tier", "user", "metadata", "store", "prompt_cache_key", "safety_identifier"))


def checked_extra(extra: object, where: str) -> dict[str, Any]:
    """Fields to add to requests.

    Args:
        extra: an object, by the fields' names; one with points is a path, as in ``chat_template_kwargs.thinking``.
        where: what holds them, for messages.

    Raises:
        InputError: they are no object that JSON can hold, or one of them is bedside's to fill in.
    """
    import orjson

    if not isinstance(extra, Mapping) or not all(isinstance(name, str) and name.strip(".") for name in extra):
        raise InputError("extra fields are an object of names and values", where=where)
    fields: dict[str, Any] = {}
    for path, value in extra.items():
        first, *rest = path.split(".")
        for name in reversed(rest):
            value = {name: value}
        if first in _OWN:
            raise InputError(f"{first} is filled in by bedside", where=where, todo=f"say it by {_OWN[first]}")
        fields = with_fields(fields, {first: value})
    if not isinstance(fields.get(STREAM, False), bool):
        raise InputError(f"{STREAM} is true or false", where=where)
    try:
        orjson.dumps(fields)
    except orjson.JSONEncodeError as error:
        raise InputError(f"JSON can't hold an extra field ({error})", where=where) from error
    return fields


def with_fields(body: Mapping[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    """A request's JSON with extra fields, which go before its own; objects are joined."""
    joined = dict(body)
    for name, value in extra.items():
        own = joined.get(name)
        joined[name] = with_fields(own, value) if isinstance(own, Mapping) and isinstance(value, Mapping) else value
    return joined


def told_apart(extra: Mapping[str, Any]) -> dict[str, Any]:
    """Those of extra fields that tell two replies to the same request apart."""
    return {name: value for name, value in extra.items() if name not in _BESIDE}
