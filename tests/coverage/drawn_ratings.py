"""Ratings of drawn values, as a question takes them: a table of ratings, or those of a run that is made once."""

from __future__ import annotations

import atexit
import json
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from bedside.analysis.ratings_view import RatingsView, open_ratings_view
from bedside.api.chosen_ratings import View
from bedside.ratings.names import rates_pair
from bedside.ratings.run import Run
from bedside.ratings.table import SCHEMA
from bedside.scoring.score import score
from tests.coverage.replicates import Study

Values = npt.NDArray[Any]
JUDGE = "judge:drawn"
PEOPLE = tuple(f"human:{name}" for name in "abcdefghijklmnopqrstuvwxyz")
CUTS = (-1.28, -0.52, 0.25, 1.04)


def levels(latent: Values) -> Values:
    """Levels 1 to 5 of latent values with mean 0 and standard deviation 1."""
    cut: Values = np.digitize(latent, CUTS) + 1.0
    return cut


def rated(
    values: Values, *, raters: Sequence[str | tuple[str, int]] = (JUDGE,), metric: str = "empathy",
    cases: Values | None = None, kept: bool = False,
) -> pl.DataFrame:  # fmt: skip
    """A table of ratings.

    Args:
        values: systems × cases × transcripts × raters; NaN where a rater rated nothing.
        raters: the names of the last axis, each with the number of its pass where it has several.
        metric: the metric.
        cases: systems × cases: the number of each case, where systems don't have the same.
        kept: whether what wasn't rated stands in the table as missing, and not at all otherwise.
    """
    system, case, transcript, rater = (axis.ravel() for axis in np.indices(values.shape))
    numbers = np.broadcast_to(np.arange(values.shape[1]), values.shape[:2]) if cases is None else cases
    passes = [one if isinstance(one, tuple) else (one, 0) for one in raters]
    letters = np.array([f"{chr(65 + number)}" for number in range(values.shape[0])])[system]
    names = np.char.mod("c%03d", numbers[system, case])
    ids = np.char.add(np.char.add(letters, names), np.char.mod(".%d", transcript))
    return table_of(
        ids, letters, names, np.array([name for name, _ in passes])[rater], values.ravel(),
        replicate=np.array([number for _, number in passes])[rater], metric=metric, kept=kept,
    )  # fmt: skip


def table_of(
    ids: Any, systems: Any, cases: Any, raters: Any, values: Values, *, replicate: Any = 0, metric: Any = "empathy",
    unit: Any = "transcript", label: Any = None, kept: bool = False,
) -> pl.DataFrame:  # fmt: skip
    """A table of ratings, a row for each value, as :data:`~bedside.ratings.table.SCHEMA` has its columns."""
    size = len(values)

    def column(name: str, given: Any) -> pl.Series:
        return pl.Series(name, [given] * size if given is None or np.isscalar(given) else given, dtype=SCHEMA[name])

    frame = pl.DataFrame([
        column("transcript_id", ids), column("system", systems), column("case_id", cases), column("unit", unit),
        column("metric", metric), column("rater", raters), column("replicate", replicate),
        pl.Series("value", values, dtype=pl.Float64()).fill_nan(None), column("label", label), column("reason", None),
        column("error", None), column("round", ""), column("drawn", None),
    ])  # fmt: skip
    nothing = pl.col("value").is_null() & pl.col("label").is_null()
    if not kept:
        return frame.filter(~nothing)
    return frame.with_columns(pl.when(nothing).then(pl.lit("no answer")).alias("error"))


# -- Ratings of a run -----------------------------------------------------------------------------------


class DrawnView(View):
    """A view of ratings that were drawn, and never written."""

    def __init__(self, view: RatingsView) -> None:
        self._view = view
        self._within = None


@dataclass(frozen=True, eq=False)
class DrawnRun:
    """A run that is made once, whose ratings are drawn anew.

    Attributes:
        run: the run.
        view: its ratings as they were made.
    """

    run: Run
    view: RatingsView

    def study(self, ratings: pl.DataFrame, truth: Any = 0.0, **asked: Any) -> Study:
        """A study of the run with these ratings beside its own, or in their place where they are the same ones.

        Args:
            ratings: a row for each, of the run's transcripts.
            truth, asked: as of :class:`~tests.coverage.replicates.Study`.
        """
        key = ["transcript_id", "unit", "metric", "rater", "replicate", "round"]
        own = self.view.ratings.join(ratings.select(key), on=key, how="anti")
        every = pl.concat([own, ratings])
        of_pairs = every.select(rates_pair()).to_series()

        def written(folder: Path) -> Path:
            shutil.copytree(self.run.path, folder / "run")
            run = Run(folder / "run")
            with run.locked():
                run.add(ratings.lazy(), run.manifest)
            return run.path

        view = replace(self.view, ratings=every.filter(~of_pairs), preferences=every.filter(of_pairs))
        return Study(DrawnView(view), truth, written, asked)


@cache
def folder_of_runs() -> Path:
    """Where runs are made; it goes when the process ends."""
    folder = Path(tempfile.mkdtemp(prefix="bedside-coverage-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def new_run(name: str, talks: Sequence[Mapping[str, Any]]) -> Run:
    """A run of conversations, each with ``id``, ``system``, ``case_id`` and ``factors``, and of two turns unless it
    says how many."""
    folder = folder_of_runs() / name
    folder.mkdir()
    said = ({"role": "clinician", "text": "How was your week?"}, {"role": "patient", "text": "Hard."})
    lines = [
        json.dumps({**talk, "turns": [said[number % 2] for number in range(talk.get("turns", 2))]}) for talk in talks
    ]
    (folder / "talks.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    return score([folder / "talks.jsonl"], folder / "run", metrics=["structure"]).run


def opened(run: Run) -> DrawnRun:
    """The run with its ratings as they are now."""
    return DrawnRun(run, open_ratings_view(run.path))
