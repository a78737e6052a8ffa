"""A report of a large run: 8,232 transcripts of each of 4 systems, 25 metrics.

Prints the seconds of opening the run, of one table once it is open, and of the whole report in a process of its own
with its peak memory; beside them what pandas needs to group the same ratings into means by metric and system.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

from bedside.analysis.ratings_view import open_ratings_view
from bedside.metrics import FAMILIES
from bedside.ratings.run import FORMAT, Run, new_run, write_new_run
from bedside.ratings.table import transcript_row, transcript_writer
from bedside.reports.contents import make_tables
from bedside.scoring.run_transcripts import run_versions
from bedside.transcripts.transcript import Transcript, Turn

CASES, SYSTEMS, METRICS = 8232, ("a", "b", "c", "d"), 25


def metric_names() -> list[str]:
    """Names of metrics of transcripts that have a title and a direction of their own."""
    names = []
    for family in FAMILIES.all().values():
        for metric in family.metrics:
            if metric.unit == "transcript" and not metric.labels:
                names.append(f"{metric.name}.{metric.roles[0]}" if metric.roles else metric.name)
    return names[:METRICS]


def make_run(folder: Path) -> Path:
    """A run of made-up ratings."""
    draw = np.random.default_rng(0)
    ids = [f"{system}-{case}" for system in SYSTEMS for case in range(CASES)]
    systems = [system for system in SYSTEMS for _ in range(CASES)]
    cases = [f"case-{case}" for _ in SYSTEMS for case in range(CASES)]
    parts = []
    for name in metric_names():
        values = draw.normal(3 + np.repeat(np.arange(len(SYSTEMS)), CASES) * 0.02, 1.0).round(2)
        value = pl.Series("value", values, dtype=pl.Float64)
        gone = pl.Series(draw.random(len(ids)) < 0.02)
        parts.append(
            pl.DataFrame({"transcript_id": ids, "system": systems, "case_id": cases}).with_columns(
                unit=pl.lit("transcript"), metric=pl.lit(name), rater=pl.lit("algorithm:made@1"),
                replicate=pl.lit(0, dtype=pl.Int32), value=pl.when(gone).then(None).otherwise(value),
                label=pl.lit(None, dtype=pl.String), reason=pl.lit(None, dtype=pl.String),
                error=pl.when(gone).then(pl.lit("made to be missing")),
            )
        )  # fmt: skip
    ratings = pl.concat(parts)
    turns = (Turn(0, "clinician", "clinician", "How are you?", {}), Turn(1, "patient", "patient", "Well.", {}))
    with new_run(folder / "run") as place:
        writer = transcript_writer(place)
        for name, system, case in zip(ids, systems, cases, strict=True):
            writer.add(transcript_row(Transcript(id=name, turns=turns, system=system, case_id=case)))
        writer.close()
        scoring = {"suite": None, "metrics": metric_names(), "parameters": {}, "seed": 0, **run_versions(),
                   "ratings": ratings.height, "raters": ["algorithm:made@1"], "missing": []}  # fmt: skip
        manifest = {
            "format": FORMAT,
            "transcripts": {"count": len(ids), "turns": 2 * len(ids), "text": True, "inputs": [], "ignored": [],
                            "skipped": [], "options": {}},
            "scorings": [scoring], "imports": [],
        }  # fmt: skip
        write_new_run(place, ratings.lazy(), manifest)
    return folder / "run"


_WHOLE = """
import sys, time
from pathlib import Path
from bedside.ratings.run import Run
from bedside.reports.build import write_report
start = time.perf_counter()
write_report(Run(Path(sys.argv[1])))
print(time.perf_counter() - start)
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        path = make_run(Path(name))
        start = time.perf_counter()
        view = open_ratings_view(path)
        opened = time.perf_counter() - start
        # Once to import what is needed, then the time that counts.
        make_tables(view, ["results"])
        start = time.perf_counter()
        make_tables(view, ["results"])
        table = time.perf_counter() - start
        frame = Run(path).to_pandas()
        start = time.perf_counter()
        frame.groupby(["metric", "system"])["value"].agg(["mean", "std", "count"])
        pandas = time.perf_counter() - start
        whole = subprocess.run([sys.executable, "-c", _WHOLE, str(path)], capture_output=True, text=True, check=True)
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"{len(SYSTEMS) * CASES:,} transcripts, {len(SYSTEMS) * CASES * METRICS:,} ratings")
    print(f"open the run          {opened:7.2f} s")
    print(f"table of results      {table:7.2f} s   ({table / pandas:.1f} times pandas' group-by alone)")
    print(f"whole report          {float(whole.stdout):7.2f} s   ({peak:,.0f} MB at most)")


if __name__ == "__main__":
    main()
