"""Ratings from rows, as a view."""

from __future__ import annotations

from typing import Any

import polars as pl

from bedside.analysis.ratings_view import RatingsView
from bedside.ratings.table import frame_of

Row = tuple[str, str | None, str | None, str, str, float | None]


def view(rows: list[Row], factors: dict[str, Any] | None = None, by: str = "target_length") -> RatingsView:
    """Ratings of (transcript, system, case, metric, rater, value), with the factor of each transcript."""
    table = frame_of(
        (name, system, case, "transcript", metric, rater, 0, value, None, None, None if value is not None else "none")
        for name, system, case, metric, rater, value in rows
    )
    frame = None
    if factors is not None:
        frame = pl.DataFrame(
            {"transcript_id": list(factors), by: [None if v is None else str(v) for v in factors.values()]},
            schema={"transcript_id": pl.String(), by: pl.String()},
        )
    return RatingsView(table, {}, frame, "the run")


def of_system(system: str, values: list[float | None], metric: str = "smog", rater: str = "algorithm:r@1") -> list[Row]:
    return [(f"{system}{i}", system, None, metric, rater, v) for i, v in enumerate(values)]
