"""What bedside depends on: pyproject.toml's requirements, all that they bring along, and under which licences.

What is read is what is installed: run the tools that build on this in an environment of ``make .venv/.dev``.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT = "bedside"

_BY_CLASSIFIER = {
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "GNU General Public License v2 or later (GPLv2+)": "GPL-2.0-or-later",
    "GNU General Public License v3 (GPLv3)": "GPL-3.0-only",
    "GNU General Public License v3 or later (GPLv3+)": "GPL-3.0-or-later",
    "GNU Lesser General Public License v2 or later (LGPLv2+)": "LGPL-2.0-or-later",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 1.1 (MPL 1.1)": "MPL-1.1",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}
#: How licences are written by those who don't use the names of SPDX.
_BY_WORDS = {
    "2-clause BSD": "BSD-2-Clause",
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache": "Apache-2.0",
    "Apache 2.0": "Apache-2.0",
    "Apache 2.0 License": "Apache-2.0",
    "Apache License, Version 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "Apache-2": "Apache-2.0",
    "BSD": "BSD-3-Clause",
    "GPL": "GPL-2.0-or-later",
    "ISC License": "ISC",
    "MIT License": "MIT",
    "PSFL": "PSF-2.0",
    "Simplified BSD": "BSD-2-Clause",
}
#: Words of a licence's own text, where the metadata say nothing.
_BY_TEXT = {
    "GNU GENERAL PUBLIC LICENSE": "GPL",
    "Apache License Version 2.0": "Apache-2.0",
    "Permission is hereby granted, free of charge, to any person obtaining a copy": "MIT",
}
_NOT_SAID = "not said"


def requirements() -> dict[str, list[Requirement]]:
    """The requirements in pyproject.toml: those of the core under ``""``, and those of each extra."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    groups = {"": project["dependencies"], **project["optional-dependencies"]}
    return {name: [Requirement(text) for text in texts] for name, texts in groups.items()}


def named(groups: Iterable[str]) -> list[Requirement]:
    """The requirements of some groups, those of bedside's own extras put in place of their names."""
    every, found, open_, seen = requirements(), [], list(groups), set()
    while open_:
        group = open_.pop(0)
        if group in seen:
            continue
        seen.add(group)
        for one in every[group]:
            if canonicalize_name(one.name) == PROJECT:
                open_ += sorted(one.extras)
            else:
                found.append(one)
    return found


def closure(wanted: Iterable[Requirement]) -> dict[str, Distribution]:
    """The installed distributions that requirements bring along, themselves included, by name.

    What is required for other platforms and versions of Python, and what isn't installed, is left out.
    """
    found: dict[str, Distribution] = {}
    seen: set[tuple[str, str]] = set()
    open_ = [(one, extra) for one in wanted if _here(one, "") for extra in ("", *sorted(one.extras))]
    while open_:
        one, extra = open_.pop()
        name = canonicalize_name(one.name)
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        try:
            found[name] = _installed(name)
        except PackageNotFoundError:
            continue
        for text in found[name].requires or []:
            brought = Requirement(text)
            if _here(brought, extra):
                open_ += [(brought, each) for each in ("", *sorted(brought.extras))]
    return dict(sorted(found.items()))


@cache
def _installed(name: str) -> Distribution:
    return distribution(name)


def _here(one: Requirement, extra: str) -> bool:
    return one.marker is None or one.marker.evaluate({"extra": extra})


def licence(found: Distribution) -> str:
    """A distribution's licence, by its name in SPDX."""
    about = found.metadata
    expression = about.get("License-Expression")
    if expression:
        return str(expression)
    words = (about.get("License") or "").strip()
    if words in _BY_WORDS or re.fullmatch(r"[A-Z][\w.-]+( (AND|OR) \(?[A-Z][\w.-]+\)?)*", words):
        return _BY_WORDS.get(words, words)
    marks = [text.rpartition(" :: ")[2] for text in about.get_all("Classifier") or () if "License ::" in text]
    if marks:
        return " OR ".join(_BY_CLASSIFIER.get(mark, mark) for mark in marks)
    for text in _texts(found):
        for words, name in _BY_TEXT.items():
            if words in " ".join(text.split()):
                return name
    return _NOT_SAID


def _texts(found: Distribution) -> Iterator[str]:
    for file in found.files or ():
        if ".dist-info" in str(file) and file.name.startswith(("LICEN", "COPYING")):
            yield file.read_text(encoding="utf-8")


def copyleft(expression: str) -> bool:
    """Whether a licence is the GPL or AGPL and leaves no choice of another."""
    return all(
        re.search(r"\bA?GPL\b|\bA?GPL-", choice) is not None
        for choice in expression.replace("(", "").replace(")", "").split(" OR ")
    )
