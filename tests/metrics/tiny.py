"""Tiny models with random weights, made on the spot: what a metric family that needs a model is tried with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.metrics.models import classifiers, language_models


def consistency(folder: Path) -> dict[str, Any]:
    return {"model": str(classifiers.save(folder))}


def redirection(folder: Path) -> dict[str, Any]:
    return {"model": str(language_models.save(folder, kind="Llama"))}


def politeness(folder: Path) -> dict[str, Any]:
    """A spaCy pipeline with a parser that saw one sentence."""
    spacy = pytest.importorskip("spacy")
    from spacy.training import Example

    pipeline = spacy.blank("en")
    pipeline.add_pipe("parser", config={"min_action_freq": 1})
    spacy.util.fix_random_seed(0)
    said = {"heads": [1, 1, 3, 1, 1], "deps": ["nsubj", "ROOT", "det", "dobj", "punct"]}
    example = Example.from_dict(pipeline.make_doc("I take the tablets."), said)
    pipeline.initialize(lambda: [example])
    pipeline.update([example])
    pipeline.to_disk(folder)
    return {"model": str(folder)}


def directionality(folder: Path) -> dict[str, Any]:
    return {"model": str(language_models.save_dialoflow(folder))}


#: For each family that needs a model: makes one in a folder and returns the family's parameters that name it.
MAKERS: dict[str, Callable[[Path], dict[str, Any]]] = {
    "case_fidelity": consistency,
    "consistency": consistency,
    "directionality": directionality,
    "redirection": redirection,
    "politeness": politeness,
}
