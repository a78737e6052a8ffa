"""The form of a suite file, and the registry of suites."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bedside.errors import RegistryError
from bedside.registry import DataRegistry


class Suite(BaseModel):
    """A named set of metrics with their parameters, and of rubrics for a judge.

    Attributes:
        name: equal to the file's name.
        title: what the suite is, in a few words.
        description: what it scores and for whom.
        source: citation of the protocol.
        metrics: names of metric families (all their metrics) and of single metrics, in the order of the tables.
        parameters: parameters of families that differ from their defaults, by family and name.
        rubrics: names of rubrics, in the order of the tables; they are scored where a judge is given.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    title: str
    description: str
    source: str
    metrics: tuple[str, ...] = Field(min_length=1)
    parameters: dict[str, dict[str, Any]] = {}
    rubrics: tuple[str, ...] = ()


def parse_suite(path: Path) -> Suite:
    """Read a suite file.

    Raises:
        RegistryError: it can't be read, isn't YAML, or has an unknown, missing or wrong key, which is named.
    """
    try:
        data = yaml.safe_load(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise RegistryError("the suite file can't be read", where=str(path), todo="check its path") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{path}:{mark.line + 1}" if mark else str(path)
        raise RegistryError(f"not YAML ({getattr(error, 'problem', error)})", where=place) from error
    if not isinstance(data, dict):
        raise RegistryError("a suite file holds keys and values", where=str(path), todo="see bedside suites")
    try:
        suite = Suite.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"])) or "the file"
        raise RegistryError(f"{key}: {first['msg']}", where=str(path), todo="mend this key") from error
    if suite.name != path.stem:
        raise RegistryError(
            f"the suite calls itself {suite.name!r}", where=str(path), todo="name the file after the suite"
        )
    return suite


SUITES: DataRegistry[Suite] = DataRegistry(
    "bedside.suites", ".yaml", "suite", Suite, parse_suite, group="bedside.suites"
)
