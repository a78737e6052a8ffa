"""Records of Argilla's: how they are told, and the responses in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

#: How the column ends that has the users of a question, in records that are flat.
_USERS = ".responses.users"


def is_argilla_record(first: Any) -> bool:
    """Whether the first record of a file is Argilla's, in either form."""
    if not isinstance(first, dict):
        return False
    nested = isinstance(first.get("responses"), dict) and isinstance(first.get("fields"), dict)
    return nested or any(str(name).endswith(_USERS) for name in first)


def argilla_responses(record: Mapping[str, Any]) -> Iterator[tuple[str, Any, str, str | None]]:
    """Question, value, user and status of each response, from either form of a record."""
    if isinstance(record.get("responses"), dict):
        for question, responses in record["responses"].items():
            for response in responses:
                yield question, response["value"], str(response["user_id"]), response.get("status")
        return
    for name, users in record.items():
        if name.endswith(_USERS) and users:
            question = name.removesuffix(_USERS)
            values = record[f"{question}.responses"]
            states = record.get(f"{question}.responses.status") or [None] * len(users)
            yield from zip([question] * len(users), values, map(str, users), states, strict=True)
