"""AnnoMI (Wu et al., ICASSP 2022; Future Internet 2023): agreement of ten coders, and sessions by quality."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from bedside.analysis.agreement import agree
from bedside.analysis.ratings_view import open_ratings_view
from bedside.scoring.score import score
from bedside.stats import unpaired
from replications._figures import Figure

SOURCE = (
    "Fleiss' κ of seven sessions coded by ten people (Future Internet 2023;15:110). Areas under the curve: 96 sessions "
    "coded by one person, by their label of quality."
)
NEEDS = "annomi/annomi_dev.csv"
_FEWER = "four of the seven sessions"


def figures(data: Path, work: Path) -> list[Figure]:
    """The figures; ``work`` is an empty folder for the run."""
    run = score([data / NEEDS], work / "annomi", metrics=["behaviour"]).run
    view = open_ratings_view(run.path)
    kappas = {
        found.metric: found.statistics["fleiss"].estimate
        for found in agree(view, metrics=["main_behaviour", "client_talk"], raters=["human:*"])
        if found.kind == "people" and not found.title.endswith("any or none")
    }
    quality = run.factors.select("transcript_id", "mi_quality")
    values = (
        view.transcript_values(["reflection_to_question_ratio", "inputs_per_turn"])
        .filter(pl.col("group") == "people")
        .join(quality, on="transcript_id")
        .join(_coded_once(view.ratings), on="transcript_id", how="semi")
        .drop_nulls("value")
    )
    return [
        Figure("Fleiss' κ, main behaviour of the therapist", ".74", kappas["main_behaviour"], _FEWER),
        Figure("Fleiss' κ, client talk", ".47", kappas["client_talk"], _FEWER),
        Figure(
            "area under the curve, reflection-to-question ratio (high against low quality)",
            ".87",
            _area(values, "reflection_to_question_ratio"),
            "three sessions without a question have no ratio here",
        ),
        Figure(
            "area under the curve, therapist input per turn (low against high quality)",
            ".91",
            1 - _area(values, "inputs_per_turn"),
            "input per turn counts a turn once here",
        ),
    ]


def _coded_once(ratings: pl.DataFrame) -> pl.DataFrame:
    """Sessions coded by one person."""
    people = ratings.filter(pl.col("rater").str.starts_with("human:"))
    return people.group_by("transcript_id").agg(pl.col("rater").n_unique()).filter(pl.col("rater") == 1)


def _area(values: pl.DataFrame, metric: str) -> float:
    """Probability that a high-quality session has the larger value: U over the number of pairs."""
    mine = values.filter(pl.col("metric") == metric)
    high, low = (mine.filter(pl.col("mi_quality") == name)["value"].to_numpy() for name in ("high", "low"))
    statistic = unpaired.mann_whitney(high, low).statistic
    assert statistic is not None
    return statistic / (high.size * low.size)
