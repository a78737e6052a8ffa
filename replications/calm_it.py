"""CALM-IT (Nguyen et al.)."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from bedside.analysis.ratings_view import open_ratings_view
from bedside.ratings.suites.published_numbers import published_numbers
from bedside.scoring.score import score
from bedside.stats.intervals import wilson
from bedside.stats.kappa_bands import reading
from replications._figures import AGAIN, DATA, NO_RESULT, Figure, Rest
from replications._printed import change, number
from replications.annomi import sessions

PROTOCOL = "calm-it"
SOURCE = "The readability of AnnoMI is from its public sessions; words for κ are Landis and Koch's bands."
_MODERATE, _SUBSTANTIAL = "Moderate", "Substantial"
_KAPPA = {
    "Client Consistency": _MODERATE, "Cultivating Change Talk": _MODERATE, "Soften Sustain Talk": _MODERATE,
    "Empathy": _SUBSTANTIAL, "Partnership": _MODERATE, "Reflection Quality": _SUBSTANTIAL,
    "Question Quality": _SUBSTANTIAL, "Effectiveness": _MODERATE, "Goal Alignment": _MODERATE,
    "Realignment": _SUBSTANTIAL,
}  # fmt: skip
_TOOL = (
    "by textstat, with a full stop where a turn has no end mark; Dale–Chall moves with the tool and its list of words"
)
_READABILITY = {"patient": "Client Readability", "clinician": "Therapist Readability"}


def figures(data: Path, work: Path) -> list[Figure]:
    """The figures; ``work`` is an empty folder for the run."""
    found = []
    for system, printed in (("KMI", "4.22"), ("CI-NC", "55.59"), ("C+S", "273.95")):
        ours, theirs = (number(PROTOCOL, "Table 2", "Effectiveness", name).value for name in ("CI", system))
        found.append(Figure("text", "Effectiveness", f"CI over {system}", "relative change", printed,
                            change(ours, theirs)))  # fmt: skip
    kappas = {one.measure: one.value for one in published_numbers(PROTOCOL) if one.place == "Table A15"}
    found += [
        Figure("A15", criterion, "Human-LLM κ_w", "", printed, (reading(kappas[criterion]) or "").capitalize(),
               part="interpretation")
        for criterion, printed in _KAPPA.items()
    ]  # fmt: skip
    reviewed = wilson(48, 8232).estimate or 0.0
    found.append(Figure("text", "share of transcripts reviewed by people", "all", "design", "0.5", 100 * reviewed,
                        why="48 of 8,232; printed as about 0.5"))  # fmt: skip
    means = {} if (file := sessions(data)) is None else _readability(file, work)
    for role, row in _READABILITY.items():
        printed = number(PROTOCOL, "Table A16", row, "AnnoMI").text
        group = f"Turn-level / {row.split()[0]}"
        found.append(Figure("A16", row, "AnnoMI", group, printed, means.get(role), DATA,
                            why=_TOOL))  # fmt: skip
    return found


def _readability(file: Path, work: Path) -> dict[str, float]:
    run = score([file], work / "readability", metrics=["dale_chall"]).run
    values = open_ratings_view(run.path).transcript_values([f"dale_chall.{role}" for role in _READABILITY])
    means = values.group_by("metric").agg(pl.col("value").mean()).iter_rows()
    return {metric.rpartition(".")[2]: mean for metric, mean in means}


_UNPUBLISHED = "its conversations are not published"
RESTS = [
    Rest("2", 68, "seventeen metrics of four systems", _UNPUBLISHED),
    Rest("A1", 36, "lengths of turns and completion by target length", _UNPUBLISHED),
    Rest("A15", 10, "weighted κ of judge and people", "the ratings of judge and people are not published"),
    Rest("A16", 48, "twelve metrics of four systems", "from Table 2", AGAIN),
    Rest("A16", 10, "the judge's ratings of AnnoMI", "the judge's ratings are not published"),
    Rest("text", 7, "mean change from short to long (Figure 2)", "the values of Figure 2 are not printed"),
    Rest("text", 18, "redirection, Δ talk, skewness with z and p (Figure 3)", _UNPUBLISHED),
    Rest("text", 9, "bounds of p (Wilcoxon, Holm)", _UNPUBLISHED),
    Rest("text", 12, "means of systems, and an acceptance", "from Table 2 and the text", AGAIN),
    Rest("text", 13, "clients, transcripts, lengths, reviewers, minutes", "they describe the design", NO_RESULT),
]  # fmt: skip
