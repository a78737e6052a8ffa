"""The whole loop on the bundled example."""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import as_file, files
from pathlib import Path

from bedside.analysis.comparison import quality_metrics
from bedside.analysis.ratings_view import open_ratings_view
from bedside.ratings.run import Run
from bedside.ratings.spreadsheets import import_ratings, parse_scales, read_rating_file
from bedside.reports.build import write_report
from bedside.reports.table import Table
from bedside.reports.tables.results import results_table
from bedside.scoring.score import score
from bedside.support.errors import RunError
from bedside.support.files import remove

#: What a judge is asked in the demonstration: what the two invented people rated.
_RUBRICS = ("empathy", "goal_alignment", "partnership")


def run_demo(
    out: Path, say: Callable[[str], None], show: Callable[[Table], None], judge: str | None = None
) -> None:
    """Score the example, import its two raters' ratings, have a judge rate it if one is named, and report.

    Args:
        out: folder of the run; an earlier demonstration there is replaced.
        judge: a model, see :mod:`bedside.llm.client`.
        say: prints a line.
        show: prints a table.

    Raises:
        RunError: ``out`` holds something else.
    """
    if out.exists():
        if not (out / "manifest.json").is_file():
            raise RunError("exists and is no run", where=str(out), todo="choose another folder with --out")
        names = [file["path"] for file in Run(out).manifest["transcripts"]["inputs"]]
        if [Path(name).parts[-2:] for name in names] != [("examples", "transcripts.jsonl")]:
            raise RunError("holds another run", where=str(out), todo="choose another folder with --out")
        remove(out)
    with as_file(files("bedside") / "examples") as folder:
        say("Twelve invented conversations: three systems with four patients each; two invented raters.")
        say(f"1. bedside score {folder}/transcripts.jsonl --out {out}")
        summary = score([folder / "transcripts.jsonl"], out)
        say(f"   {summary.transcripts} transcripts, {summary.ratings:,} ratings, {summary.missing} missing")
        say(f"2. bedside ratings import {out} {folder}/ratings.csv --scale 1-5")
        path = folder / "ratings.csv"
        added, _ = import_ratings(summary.run, path, read_rating_file(path, scales=parse_scales(["1-5"])))
        say(f"   {added} ratings by two people")
    if judge is not None:
        from bedside.scoring.judged import Work, chosen_rubrics, judge_run

        rubrics = ",".join(_RUBRICS)
        with as_file(files("bedside") / "examples") as folder:
            path = folder / "transcripts.jsonl"
            say(f"   bedside score {path} --out {out} --judge {judge} --rubrics {rubrics}")
            judged = judge_run(Run(out), [path], [judge], Work(chosen_rubrics(_RUBRICS)))
            for one in judged:
                say(f"   {one.ratings} ratings by {one.rater} from {one.calls} calls")
    say(f"3. bedside compare {out}; bedside agree {out}; bedside report {out}\n")
    tables, written = write_report(Run(out))
    view = open_ratings_view(out)
    short = results_table(view, quality_metrics(view))
    for table in (short, *(table for table in tables if table.name == "agreement")):
        if table is not None:
            show(table)
    say("The whole report, with the comparison of systems:")
    for file in written:
        if file.suffix == ".html":
            say(f"  {file}")
    others = sorted({file.suffix.lstrip(".") for file in written} - {"html"})
    say(f"  and every table as {', '.join(others)} in {written[0].parent}")
    if judge is None:
        say(
            "  add a judge: bedside demo --judge MODEL (openai/…, http://host:port/v1#model, local; see docs on judges)"
        )
