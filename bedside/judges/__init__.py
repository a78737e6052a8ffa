"""Judges: rubrics, and the people and language models that rate by them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bedside.judges._describe import describe
from bedside.judges.rubric import FROM_TRANSCRIPT, Input, Kind, Label, Level, Part, Rubric, Unit
from bedside.judges.rubric_check import Remark, check
from bedside.judges.rubric_files import RUBRICS, RubricRegistry, check_file, find_rubric, rubrics_with

if TYPE_CHECKING:
    from bedside.judges._deepeval_metric import deepeval_metric

__all__ = [
    "FROM_TRANSCRIPT",
    "RUBRICS",
    "Input",
    "Kind",
    "Label",
    "Level",
    "Part",
    "Remark",
    "Rubric",
    "RubricRegistry",
    "Unit",
    "check",
    "check_file",
    "deepeval_metric",
    "describe",
    "find_rubric",
    "rubrics_with",
]


def __getattr__(name: str) -> Any:
    # What asks language models is imported when it is first used.
    if name != "deepeval_metric":
        raise AttributeError(f"module 'bedside.judges' has no attribute {name!r}")
    from bedside.judges._deepeval_metric import deepeval_metric

    return deepeval_metric
