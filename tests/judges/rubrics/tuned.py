"""A tuned rubric as a file holds it."""

from __future__ import annotations

from typing import Any

from bedside.judges.rubrics.rubric import Rubric, as_data, read
from bedside.judges.rubrics.rubric_files import RUBRICS

RECORD: dict[str, Any] = {
    "rubric": "empathy", "version": "8587b27f07d9", "judge": "judge:tiny", "temperature": 0.0, "run": "run",
    "bedside": "0.1.0", "split": 0.5, "seed": 0,
    "training": {"units": 20, "cases": 10, "digests": ["0123456789abcdef"]},
    "held_out": {"units": 20, "cases": 10, "digests": ["fedcba9876543210"]},
    "candidates": [
        {"wording": "8587b27f07d9", "examples": 0, "level_map": "none", "kappa": 0.3, "units": 20},
        {"wording": "8587b27f07d9", "examples": 1, "level_map": "isotonic", "kappa": 0.5, "units": 20},
    ],
    "statistic": "mean kappa with each person (quadratic weights)",
    "before": {"estimate": 0.3, "low": 0.1, "high": 0.5}, "after": {"estimate": 0.5, "low": 0.3, "high": 0.7},
    "gain": {"estimate": 0.2, "low": 0.05, "high": 0.35}, "ceiling": {"estimate": 0.6, "low": 0.4, "high": 0.8},
    "shown": True,
}  # fmt: skip
EXAMPLE = {
    "conversation": "[0] clinician: How is SECRETWORD?\n[1] patient: Well.",
    "level": 4,
    "reason": "It fits.",
    "transcript": "aaaaaaaaaaaaaaaa",
}
MAP = [{"said": said, "level": level} for said, level in zip(range(1, 6), (1, 1, 2, 4, 5), strict=True)]


def tuned(**changes: Any) -> Rubric:
    """The rubric of empathy, tuned; with other keys."""
    data = {**as_data(RUBRICS.load("empathy")), "examples": [EXAMPLE], "level_map": MAP, "history": [RECORD]}
    return read({key: value for key, value in {**data, **changes}.items() if value is not None})
