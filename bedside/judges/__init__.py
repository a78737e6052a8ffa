"""Judges: rubrics, and the people and language models that rate by them."""

from bedside.judges._describe import describe
from bedside.judges.rubric import FROM_TRANSCRIPT, Input, Kind, Label, Level, Part, Rubric, Unit
from bedside.judges.rubric_check import Remark, check
from bedside.judges.rubric_files import RUBRICS, RubricRegistry, check_file, find_rubric, rubrics_with

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
    "describe",
    "find_rubric",
    "rubrics_with",
]
