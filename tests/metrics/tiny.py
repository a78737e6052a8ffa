"""Tiny models with random weights, made on the spot: what a metric family that needs a model is tried with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.models import classifiers, language_models


def consistency(folder: Path) -> dict[str, Any]:
    return {"model": str(classifiers.save(folder))}


def redirection(folder: Path) -> dict[str, Any]:
    return {"model": str(language_models.save(folder, kind="Llama"))}


#: For each family that needs a model: makes one in a folder and returns the family's parameters that name it.
MAKERS: dict[str, Callable[[Path], dict[str, Any]]] = {"consistency": consistency, "redirection": redirection}
