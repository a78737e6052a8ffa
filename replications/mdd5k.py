"""MDD-5k (Yin et al., AAAI 2025)."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import polars as pl

from bedside.analysis.ratings_view import RatingsView, open_ratings_view
from bedside.ratings.run import Run
from bedside.ratings.suites import SUITES
from bedside.reports.contents import make_tables
from bedside.reports.report_settings import ReportSettings
from bedside.scoring.score import score
from bedside.stats.intervals import wilson
from bedside.transcripts.transcript import Role
from replications._figures import AGAIN, DATA, NO_RESULT, Figure, Rest

PROTOCOL = "mdd5k"
SOURCE = (
    "Table 1 is of the first 20 patients, by gpt-4o; their 100 dialogues are in the public release "
    "(github.com/lemonsis/MDD-5k), each without its last exchange, in which the doctor tells the diagnosis. "
    "Characters a turn are pooled over turns. The authors' script divides the doctor's by exchanges + 1, and the "
    "patient's, without those of the last turn, by exchanges: the last rows are by that."
)
#: The folder of the public release beside the other data.
RELEASE = "mdd5k-release"
_RATED = 20
_LAST = "the release has dropped each dialogue's last exchange"
#: Of the table of the suite's source: printed, and why it differs.
_TABLE = {
    "Avg. turns": ("26.8", f"{_LAST}; with it there are 26.84"), "Avg. words #dial": ("6906.8", _LAST),
    "Avg. words #doc": ("91.1", f"{_LAST}; the script divides by one turn more"),
    "Avg. words #pat": ("162.8", f"{_LAST}; the script counts it as a turn of the patient's too, which gives 162.8"),
}  # fmt: skip
_FEWER = "925 of 1,000 patients are released"
#: Code, the codes that it is a share of, where it is printed, and as what.
_DIAGNOSES = (
    ("F32.901", "F32", "within depressive disorder", "51"), ("F32.900", "F32", "within depressive disorder", "35"),
    ("F41.200x002", "F41", "within anxiety disorders", "47"), ("F41.101", "F41", "within anxiety disorders", "26"),
)  # fmt: skip


_NAMES = ["exchanges", "characters", "characters_per_turn", "turns"]
_ROLES: dict[str, Role] = {"doctor": "clinician", "patient": "patient"}
_PER_TURN = {side: f"characters_per_turn.{role}" for side, role in _ROLES.items()}


def held(data: Path) -> str:
    """How many patients of the release are at hand, in words; empty where none are."""
    files = list((data / RELEASE / "MDD_5k").glob("*.json"))
    return f"MDD-5k ({len(files)} patients)" if files else ""


def scored(given: list[Path], work: Path) -> Run:
    """A run of dialogues."""
    return score(given, work, metrics=_NAMES).run


def means_of_dialogues(view: RatingsView) -> dict[str, float]:
    """Characters a turn of each side, the mean over dialogues of their own means."""
    means = view.transcript_values(list(_PER_TURN.values())).group_by("metric").agg(pl.col("value").mean())
    by_metric = dict(means.iter_rows())
    return {side: by_metric[metric] for side, metric in _PER_TURN.items()}


def dataset(run: Run) -> dict[str, float]:
    """The numbers behind Table 1 of a run, as ``bedside report --as-published`` has them, not rounded."""
    view, plain = open_ratings_view(run.path), ReportSettings(as_published=True)
    (table,) = make_tables(view, ["dataset"], suite=SUITES.load(PROTOCOL), settings=plain)
    return {record["measure"]: record["value"] for record in table.records if record["value"] is not None}


def by_script(run: Run) -> dict[str, float]:
    """Characters of a dialogue and of each side's turn, as the authors' script counts those of MDD-5k."""
    said = [
        {side: [len(turn.text) for turn in one.of(role)] for side, role in _ROLES.items()} for one in run.transcripts()
    ]
    doctor, patient = sum(sum(one["doctor"]) for one in said), sum(sum(one["patient"][:-1]) for one in said)
    exchanges = sum(len(one["doctor"]) for one in said)
    return {
        "Avg. words #dial": (doctor + patient) / len(said),
        "Avg. words #doc": doctor / (exchanges + len(said)),
        "Avg. words #pat": patient / exchanges,
    }


def diagnoses(run: Run) -> list[tuple[str, ...]]:
    """The ICD codes of each dialogue."""
    return [tuple(str(one.reference.get("icd_code", "")).split(",")) for one in run.transcripts()]


def figures(data: Path, work: Path) -> list[Figure]:
    """The figures; ``work`` is an empty folder for the runs."""
    release = data / RELEASE
    rated: dict[str, float] = {}
    whole: dict[str, float] = {}
    means: dict[str, float] = {}
    scripted: dict[str, float | None] = dict.fromkeys(row for row in _TABLE if "words" in row)
    codes: list[tuple[str, ...]] = []
    if release.exists():
        first = [release / "MDD_5k" / f"patient_{patient}.json" for patient in range(1, _RATED + 1)]
        rated = dataset(scored(first, work / "rated"))
        run = scored([release], work / "release")
        whole, codes = dataset(run), diagnoses(run)
        scripted |= by_script(run)
        means = means_of_dialogues(open_ratings_view(run.path))

    def share(hits: Iterable[bool]) -> float | None:
        told = list(hits)
        return 100 * (wilson(sum(told), len(told)).estimate or 0.0) if told else None

    every = [code for own in codes for code in own]
    either = (any(code.startswith(("F32", "F41")) for code in own) for own in codes)
    return [
        *(
            Figure("1", row, "MDD-5k*", "", printed, rated.get(row), DATA, why=why)
            for row, (printed, why) in _TABLE.items()
        ),
        Figure("1", "Total num", "MDD-5k*", "", "5000", whole.get("Total num"), DATA, why=_FEWER),
        Figure("1", "Illness", "MDD-5k*", "", ">25", whole.get("Illness"), DATA),
        Figure("text", "MDD-5k", "F32 or F41", "conversations", "75", share(either), DATA, why=_FEWER),
        *(
            Figure("text", "MDD-5k", code, group, printed,
                   share(one == code for one in every if one.startswith(whole_group)), DATA, why=_FEWER)
            for code, whole_group, group, printed in _DIAGNOSES
        ),
        *(Figure("", f"all dialogues of the release, {row}", "", "", "", whole.get(row), DATA) for row in _TABLE),
        *(
            Figure("", f"all dialogues of the release, mean of dialogues' characters a {side} turn", "", "", "",
                   means.get(side), DATA)
            for side in _PER_TURN
        ),
        *(
            Figure("", f"all dialogues of the release, {row}, by the authors' script", "", "", "", ours, DATA)
            for row, ours in scripted.items()
        ),
    ]  # fmt: skip


RESTS = [
    Rest("1", 15, "D4, CPsyCounD, Role-playing", "these dialogues are other people's, or are not published"),
    Rest("2", 28, "people's ratings", "the raters' single ratings are not published"),
    Rest("text", 5, "sex, age, history (Figure 3)", "patients' records are not published"),
    Rest("text", 1, "other disorders (Figure 3)", "the paper doesn't say which codes these are"),
    Rest("text", 3, "turns and characters", "from Table 1", AGAIN),
    Rest("text", 13, "patients, dialogues, models, annotators", "they describe the data", NO_RESULT),
]
