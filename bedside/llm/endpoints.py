"""Judges that several endpoints serve: which addresses are one judge, and how many calls each of them takes.

Addresses that serve the same model are one judge, because ratings and judgements know the model only. They are named
one by one, or in a YAML file with a list of them, each as it would be named on its own or with settings::

    - http://gpu1:8000/v1#llama
    - address: http://gpu2:8000/v1#llama
      weight: 2
      max_concurrency: 64
      key_env: GPU2_KEY

A weight is an endpoint's share beside the others' (1 unless given), ``max_concurrency`` how many requests it is sent at
once, ``key_env`` the environment variable with its key.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from bedside.llm.client import Endpoint, JudgeName, judge_name
from bedside.support.errors import RegistryError
from bedside.support.registry import nearest
from bedside.support.yaml_files import plain_yaml

_SUFFIXES = (".yaml", ".yml")
_KEYS = ("address", "weight", "max_concurrency", "key_env")
_TODO = "see the docs on judges, Several endpoints"


def is_file(judge: str) -> bool:
    """Whether a judge's name is a file of endpoints."""
    return judge.lower().endswith(_SUFFIXES)


def judge_names(judges: Iterable[str]) -> tuple[JudgeName, ...]:
    """The judges that are named, each once, with the endpoints that serve it.

    Args:
        judges: names and files of endpoints, see :mod:`bedside.llm.client`.

    Raises:
        RegistryError: a name is none, or a file can't be read.
    """
    found: dict[str, list[Endpoint]] = {}
    for judge in judges:
        for endpoint in _in_file(Path(judge)) if is_file(judge) else [Endpoint(judge_name(judge))]:
            same = found.setdefault(endpoint.name.identity, [])
            known = next((other for other in same if label(other) == label(endpoint)), None)
            if known is None:
                same.append(endpoint)
            elif known != endpoint:
                raise RegistryError(
                    f"{label(endpoint)} is named twice, with other settings", where=judge, todo="name it once"
                )
    return tuple(map(_joined, found.values()))


def _joined(endpoints: list[Endpoint]) -> JudgeName:
    first = endpoints[0]
    if len(endpoints) == 1 and first.max_concurrency is None:
        return first.name
    return replace(first.name, endpoints=tuple(endpoints))


def rooms(endpoints: Iterable[Endpoint], max_concurrency: int) -> list[int]:
    """How many requests each endpoint is sent at once.

    The one of the largest weight is sent ``max_concurrency``, the others in proportion, and each one at least.
    """
    given = list(endpoints)
    most = max(endpoint.weight for endpoint in given)
    return [
        endpoint.max_concurrency or max(1, round(max_concurrency * endpoint.weight / most))
        for endpoint in given
    ]


def label(endpoint: Endpoint) -> str:
    """What an endpoint is called in messages; no two of a judge are called alike."""
    name = endpoint.name
    address = name.url or name.text
    usual = name.key == judge_name(name.text).key
    return address if usual else f"{address} (key in {name.key})"


def listing(judges: Iterable[str], max_concurrency: int) -> Iterator[str]:
    """A line for each judge that has endpoints: where they are, and what each is sent at once."""
    for name in judge_names(judges):
        if name.endpoints:
            sizes = rooms(name.endpoints, max_concurrency)
            each = (
                f"{label(endpoint)} (weight {endpoint.weight:g}, {room} at once)"
                for endpoint, room in zip(name.endpoints, sizes, strict=True)
            )
            yield f"{name.rater} is asked at {', '.join(each)}."


# -- files ------------------------------------------------------------------------------------------


def _in_file(path: Path) -> list[Endpoint]:
    data = plain_yaml(path, "file of endpoints")
    if not isinstance(data, list) or not data:
        raise RegistryError("a file of endpoints holds a list of them", where=str(path), todo=_TODO)
    return [_endpoint(entry, f"{path}, entry {number}") for number, entry in enumerate(data, 1)]


def _endpoint(entry: Any, where: str) -> Endpoint:
    given = {"address": entry} if isinstance(entry, str) else entry
    if not isinstance(given, Mapping) or not isinstance(given.get("address"), str):
        raise RegistryError("an endpoint has an address, such as http://host:port/v1#model", where=where)
    for key in given:
        if key not in _KEYS:
            raise RegistryError(f"an endpoint has no {key!r}", where=where, todo=nearest(str(key), _KEYS))
    if is_file(given["address"]):
        raise RegistryError("a file of endpoints names no other", where=where)
    try:
        name = judge_name(given["address"])
    except RegistryError as error:
        raise RegistryError(error.what, where=where, todo=error.todo) from error
    key = given.get("key_env")
    if key is not None:
        if not isinstance(key, str) or not re.fullmatch(r"[A-Za-z_]\w*", key, re.ASCII):
            # What it is isn't repeated: it may be the key itself.
            raise RegistryError(
                "key_env is not the name of an environment variable",
                where=where,
                todo="export the key, and give the variable's name",
            )
        if name.url is None:
            raise RegistryError(f"{name.text} takes no key_env", where=where, todo=_TODO)
        name = replace(name, key=key)
    weight, room = given.get("weight", 1.0), given.get("max_concurrency")
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 < weight < math.inf:
        raise RegistryError("weight is no number above 0", where=where)
    if room is not None and (isinstance(room, bool) or not isinstance(room, int) or room < 1):
        raise RegistryError("max_concurrency is no whole number from 1", where=where)
    return Endpoint(name, float(weight), room)
