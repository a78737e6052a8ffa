"""What is in a run, in a line and in a small table, from what is read quickly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape

import polars as pl

from bedside.ratings.names import is_algorithm, is_human, is_judge, is_jury
from bedside.support.plurals import counted


@dataclass(frozen=True, slots=True)
class RunContents:
    """How much of what is in a run.

    Attributes:
        transcripts, turns: counts.
        ratings: counts by rater.
        metrics: how many different ones are rated.
        missing: ratings that have an error in place of a value.
    """

    transcripts: int
    turns: int
    ratings: Mapping[str, int]
    metrics: int
    missing: int

    @classmethod
    def of(cls, table: pl.LazyFrame, transcripts: int, turns: int) -> RunContents:
        """What a ratings table holds, for that many transcripts and turns."""
        by_rater, metrics = pl.collect_all(
            [
                table.group_by("rater").agg(pl.len().alias("n"), pl.col("error").count()).sort("rater"),
                table.select(pl.col("metric").n_unique()),
            ]
        )
        return cls(
            transcripts,
            turns,
            ratings=dict(by_rater.select("rater", "n").iter_rows()),
            metrics=int(metrics.item()),
            missing=int(by_rater["error"].sum()),
        )

    def line(self) -> str:
        """All of it in a line."""
        kinds = {
            "person": sum(map(is_human, self.ratings)),
            "judge": sum(map(is_judge, self.ratings)),
            "jury": sum(map(is_jury, self.ratings)),
            "algorithm": sum(map(is_algorithm, self.ratings)),
        }
        kinds["other rater"] = len(self.ratings) - sum(kinds.values())
        raters = ", ".join(counted(count, kind) for kind, count in kinds.items() if count)
        return (
            f"{counted(self.transcripts, 'transcript')}, {counted(sum(self.ratings.values()), 'rating')} on "
            f"{counted(self.metrics, 'metric')}" + (f" by {raters}" if raters else "")
        )

    def html(self, title: str) -> str:
        """A small HTML table with the ratings of each rater."""
        counts = [
            ("Transcripts", self.transcripts),
            ("Turns", self.turns),
            ("Metrics", self.metrics),
            ("Ratings", sum(self.ratings.values())),
            ("… of them missing", self.missing),
            *((f"… by {rater}", count) for rater, count in self.ratings.items()),
        ]
        rows = "".join(
            f'<tr><th scope="row" style="text-align: start"><bdi>{escape(what)}</bdi></th><td>{count:,}</td></tr>'
            for what, count in counts
        )
        return f"<table><caption><bdi>{escape(title)}</bdi></caption><tbody>{rows}</tbody></table>"
