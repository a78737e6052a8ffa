"""CALM-IT (Nguyen et al.): relative changes, and how far the readability of AnnoMI rests on the implementation."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from bedside.analysis.ratings_view import open_ratings_view
from bedside.scoring.score import score
from bedside.stats.change import percentage_change
from bedside.stats.kappa_bands import reading
from replications._figures import Figure

SOURCE = (
    "Changes from the shortest to the longest sessions; Dale–Chall scores of 133 sessions; Landis and Koch's bands."
)
NEEDS = "annomi/annomi_dev.csv"
_DALE_CHALL = "100 sessions; textstat's word list (by that of py-readability-metrics within .03)"


def figures(data: Path, work: Path) -> list[Figure]:
    """The figures; ``work`` is an empty folder for the run."""
    found = [
        Figure(f"change from {before} to {after}, %", published,
               percentage_change([before] * 2, [after] * 2, resamples=1).estimate)
        for before, after, published in ((4.27, 4.45, "4.22"), (2.86, 4.45, "55.59"), (1.19, 4.45, "273.95"))
    ]  # fmt: skip
    found += [
        Figure(f"κ of {kappa} is read as", word, reading(kappa))
        for kappa, word in ((-0.1, "poor"), (0.15, "slight"), (0.35, "fair"), (0.55, "moderate"), (0.75, "substantial"),
                            (0.85, "almost perfect"))
    ]  # fmt: skip
    run = score([data / NEEDS], work / "annomi", metrics=["dale_chall"]).run
    values = open_ratings_view(run.path).transcript_values(["dale_chall.patient", "dale_chall.clinician"])
    means = dict(values.group_by("metric").agg(pl.col("value").mean()).iter_rows())
    found.append(Figure("Dale–Chall, AnnoMI's clients", "7.22", means["dale_chall.patient"], _DALE_CHALL))
    found.append(Figure("Dale–Chall, AnnoMI's therapists", "6.65", means["dale_chall.clinician"], _DALE_CHALL))
    return found
