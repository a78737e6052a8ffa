"""``bedside demo``: the whole loop on the bundled example."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from bedside.cli import completion as complete
from bedside.cli.output import say, show_tables
from bedside.core.errors import RunError
from bedside.core.words import counted
from bedside.ratings.run_folder import is_run

#: What a judge is asked in the demonstration: what the two invented people rated.
_RUBRICS = ("empathy", "goal_alignment", "partnership")
#: The simulation that the demonstration makes, without a model, and where in its run it and its scores stand.
_PROTOCOL, _CLINICIANS = "medconceal", ("script:good", "script:brisk")
_TALKS, _SIMULATED = "talks", "simulated"


def demo(
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="FOLDER", help="Folder of the run; an earlier demonstration is replaced."),
    ] = Path("demo-run"),
    judge: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="A language model that rates the example too, as in bedside score.",
            autocompletion=complete.judges,
        ),
    ] = None,
) -> None:
    """Run the whole loop on a bundled example: a first look.

    It scores and compares twelve invented conversations of three systems, which two invented people rated, and writes
    the report. Then it has two scripted clinicians talk with simulated patients, and scores and reports that too.

    Examples:
        $ bedside demo
        $ bedside demo --judge local
    """
    from importlib.resources import as_file, files

    _remove_earlier(out)
    with as_file(files("bedside") / "examples") as folder:
        _score(folder, out)
        if judge is not None:
            _judge(folder / "transcripts.jsonl", out, judge)
    _report(out)
    _simulate(out)
    if judge is None:
        say(
            "  To add a judge: bedside demo --judge MODEL (openai/…, http://host:port/v1#model or local; see "
            "docs/judges.md)"
        )


def _remove_earlier(out: Path) -> None:
    """Remove an earlier demonstration, and nothing else."""
    from bedside.core.files import remove
    from bedside.ratings.run import Run

    if not out.exists():
        return
    todo = "choose another folder with --out"
    if not is_run(out):
        raise RunError("this exists and is not a run", where=str(out), todo=todo)
    names = [file["path"] for file in Run(out).manifest["transcripts"]["inputs"]]
    if [Path(name or "").parts[-2:] for name in names] != [("examples", "transcripts.jsonl")]:
        raise RunError("this holds another run", where=str(out), todo=todo)
    remove(out)


def _score(folder: Path, out: Path) -> None:
    """Score the example and bring in the ratings of its two raters."""
    from bedside.ratings.rating_files import import_ratings, read_rating_file
    from bedside.ratings.rating_reading import RatingReading
    from bedside.ratings.scales import parse_scales
    from bedside.scoring.score import score

    say("Twelve invented conversations: three systems with four patients each; two invented raters.")
    say(f"1. bedside score {folder}/transcripts.jsonl --out {out}")
    summary = score([folder / "transcripts.jsonl"], out)
    say(
        f"   {counted(summary.transcripts, 'transcript')}, {counted(summary.ratings, 'rating')}, "
        f"{summary.missing:,} missing"
    )
    say(f"2. bedside ratings import {out} {folder}/ratings.csv --scale 1-5")
    path = folder / "ratings.csv"
    added, _ = import_ratings(summary.run, path, read_rating_file(path, RatingReading(scales=parse_scales(["1-5"]))))
    say(f"   {counted(added, 'rating')} by two people")


def _judge(transcripts: Path, out: Path, judge: str) -> None:
    """Have a judge rate what the people rated."""
    from bedside.ratings.run import read_run
    from bedside.scoring.judging_orders import JudgingWork, rubrics_of
    from bedside.scoring.run_judging import judge_run

    say(f"   bedside score {transcripts} --out {out} --judge {judge} --rubrics {','.join(_RUBRICS)}")
    for judged in judge_run(read_run(out), [transcripts], [judge], JudgingWork(rubrics_of(_RUBRICS))):
        say(f"   {counted(judged.ratings, 'rating')} by {judged.rater} from {counted(judged.calls, 'call')}")


def _report(out: Path) -> None:
    """Write the report; print the results, the agreement, and where the files are."""
    from bedside.analysis.ratings_view import open_ratings_view
    from bedside.analysis.selection import quality_metrics
    from bedside.ratings.run import read_run
    from bedside.reports.build import write_report
    from bedside.reports.tables.results import results_table

    say(f"3. bedside compare {out}; bedside agree {out}; bedside report {out}\n")
    tables, written = write_report(read_run(out))
    view = open_ratings_view(out)
    results = results_table(view, quality_metrics(view))
    shown = (results, *(table for table in tables if table.name == "agreement"))
    for table in shown:
        if table is not None:
            show_tables([table])
    _say_files(written)


def _simulate(out: Path) -> None:
    """Have scripted clinicians talk with simulated patients; score and report it."""
    from bedside import report, simulate
    from bedside.scoring.score import score

    talks, run = out / _TALKS, out / _SIMULATED
    clinicians = " ".join(f"--clinician {name}" for name in _CLINICIANS)
    say(f"\n4. bedside simulate --protocol {_PROTOCOL} {clinicians} --out {talks}")
    counts = simulate(None, _PROTOCOL, talks, clinician=_CLINICIANS).summary.counts
    say(
        f"   {counted(counts.finished, 'conversation')} of two scripted clinicians with invented patients who answer "
        "by rules: toys, without a model or a key"
    )
    say(f"5. bedside score {talks} --suite {_PROTOCOL} --out {run}; bedside report {run}\n")
    scored = score([talks], run, suite=_PROTOCOL).run
    written = report(scored)
    show_tables(written.tables[:1])
    say(f"Their report: {written.page}")


def _say_files(written: Sequence[Path]) -> None:
    say("The whole report, with the comparison of systems:")
    for file in written:
        if file.suffix == ".html":
            say(f"  {file}")
    endings = sorted({file.suffix.lstrip(".") for file in written} - {"html"})
    say(f"  and every table as {', '.join(endings)} in {written[0].parent}")
