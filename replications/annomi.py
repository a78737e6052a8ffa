"""AnnoMI (Wu et al., ICASSP 2022; Future Internet 2023;15:110)."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from bedside.analysis.agreement import agree
from bedside.analysis.ratings_view import open_ratings_view
from bedside.scoring.score import score
from replications._figures import DATA, Figure, Rest

PROTOCOL = ""
SOURCE = "Fleiss' κ of seven sessions that ten people coded: `bedside score FILE --metrics behaviour`, `bedside agree`."
RESTS: list[Rest] = []
_PRINTED = {"main_behaviour": ("main behaviour of the therapist", ".74"), "client_talk": ("client talk", ".47")}


def sessions(data: Path) -> Path | None:
    """The sessions beside the project: all of them where they are there, else those that are."""
    files = (data / "annomi" / name for name in ("AnnoMI-full.csv", "annomi_dev.csv"))
    return next((file for file in files if file.exists()), None)


def held(data: Path) -> str:
    """Which sessions are at hand, in words; empty where none are."""
    if (file := sessions(data)) is None:
        return ""
    return f"AnnoMI ({pl.read_csv(file, columns=['transcript_id'])['transcript_id'].n_unique()} sessions)"


def figures(data: Path, work: Path) -> list[Figure]:
    """The figures; ``work`` is an empty folder for the run."""
    file = sessions(data)
    kappas = {}
    if file is not None:
        view = open_ratings_view(score([file], work / "annomi", metrics=["behaviour"]).run.path)
        kappas = {
            found.metric: found.statistics["fleiss"].estimate
            for found in agree(view, metrics=list(_PRINTED), raters=["human:*"])
            if found.kind == "people" and not found.title.endswith("any or none")
        }
    return [
        Figure("", f"Fleiss' κ, {what}", "", "", printed, kappas.get(metric), DATA, why="fewer sessions than in print")
        for metric, (what, printed) in _PRINTED.items()
    ]
