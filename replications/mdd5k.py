"""MDD-5k (Yin et al., AAAI 2025): the statistics of its dialogues."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from bedside.analysis.ratings_view import open_ratings_view
from bedside.scoring.score import score
from replications._figures import Figure

SOURCE = (
    "Table 1 is of the first 20 patients, with a closing message that the release dropped. The files here are 150 "
    "dialogues of 30 other patients, so figures can be near only."
)
NEEDS = "mdd5k"
_TABLE = "other patients"
_RELEASE = "30 of 925 patients"


def figures(data: Path, work: Path) -> list[Figure]:
    """The figures; ``work`` is an empty folder for the run."""
    names = ["exchanges", "characters", "characters_per_turn"]
    run = score([data / NEEDS], work / "mdd5k", metrics=names).run
    values = open_ratings_view(run.path).transcript_values(
        ["exchanges", "characters", "characters_per_turn.clinician", "characters_per_turn.patient"]
    )
    means = dict(values.group_by("metric").agg(pl.col("value").mean()).iter_rows())
    told = (
        ("exchanges per dialogue", "exchanges", "26.8", "23.17"),
        ("characters per dialogue", "characters", "6906.8", "5339.9"),
        ("characters per doctor turn", "characters_per_turn.clinician", "91.1", "99.3"),
        ("characters per patient turn", "characters_per_turn.patient", "162.8", "131.1"),
    )
    found = []
    for what, metric, table, release in told:
        found.append(Figure(f"{what}, Table 1", table, means[metric], _TABLE))
        found.append(Figure(f"{what}, all released files", release, means[metric], _RELEASE))
    return found
