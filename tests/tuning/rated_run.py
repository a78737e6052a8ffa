"""Runs that are rated by whom and as one likes: judges and people whose truth, bias and noise are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import bedside
from bedside.ratings.run import Run
from bedside.ratings.table import frame_of
from bedside.transcripts.transcript import Transcript, Turn

LEVELS = (1.0, 2.0, 3.0, 4.0, 5.0)


def talks(texts: Sequence[str], per_case: int = 1) -> list[Transcript]:
    """A conversation for each text, ``per_case`` of them on each case."""
    return [
        Transcript(
            id=f"t{number:03}",
            system="s",
            case_id=f"c{number // per_case:03}",
            turns=(Turn(0, "clinician", "clinician", text), Turn(1, "patient", "patient", "I see.")),
        )
        for number, text in enumerate(texts)
    ]


def rated_run(
    folder: Path,
    size: int,
    ratings: Mapping[str, Any],
    *,
    metric: str = "empathy",
    per_case: int = 1,
    texts: Sequence[str] | None = None,
) -> Run:
    """A run of ``size`` conversations, rated by each rater with one value (or a list of passes) a conversation.

    Args:
        ratings: by rater; numbers or labels, None or NaN where it gave none.
        texts: what the clinician says in each.
    """
    made = talks(texts or [f"How are you on day {number}?" for number in range(size)], per_case)
    run = bedside.score(made, folder, metrics=["turns"]).run
    add_ratings(run, ratings, metric=metric, per_case=per_case)
    return Run(folder)


def add_ratings(run: Run, ratings: Mapping[str, Any], *, metric: str = "empathy", per_case: int = 1) -> None:
    """More of them; those of the same key are replaced."""
    rows = []
    for rater, values in ratings.items():
        for number, passes in enumerate(values):
            for replicate, value in enumerate(passes if isinstance(passes, list | tuple) else [passes]):
                lacking = value is None or value != value
                label = value if isinstance(value, str) else None
                number_given = None if lacking or label is not None else float(value)
                rows.append(
                    (f"t{number:03}", "s", f"c{number // per_case:03}", "transcript", metric, rater, replicate,
                     number_given, label, None if lacking else "so it seems", "unreadable" if lacking else None)
                )  # fmt: skip
    with run.locked():
        run.add(frame_of(rows).lazy(), run.manifest)


def levels(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Numbers as levels from 1 to 5."""
    return np.clip(np.round(values), 1, 5)


def noisy(random: np.random.Generator, truth: np.ndarray[Any, Any], spreads: Mapping[str, float]) -> dict[str, Any]:
    """Levels of raters who see the truth with noise of their own spread."""
    return {rater: levels(truth + random.normal(0, spread, truth.size)) for rater, spread in spreads.items()}


def of_rater(run: Run, pattern: str, metric: str = "empathy") -> pl.DataFrame:
    """The rows of raters that begin so, by transcript."""
    return run.ratings.filter(pl.col("rater").str.starts_with(pattern), pl.col("metric") == metric).sort(
        "transcript_id"
    )
