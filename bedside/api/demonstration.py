"""The whole loop on the bundled example: a first look."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bedside.core.errors import RunError
from bedside.core.question_settings import OPTIONS, option, question_alone, settings_class
from bedside.core.words import counted
from bedside.ratings.run_folder import is_run

if TYPE_CHECKING:
    from bedside.api.run_files import Report
    from bedside.ratings.run import Run
    from bedside.reports.table import Table

#: What a judge is asked in the demonstration: what the two invented people rated.
_RUBRICS = ("empathy", "goal_alignment", "partnership")
#: What stands in the folder of a demonstration; a plan, or anything else, is somebody's work.
_MADE = frozenset(
    ("manifest.json", "ratings.parquet", "report", "simulated", "talks", "transcripts", "judgements.sqlite",
     "judgements.sqlite-shm", "judgements.sqlite-wal")
)  # fmt: skip
#: The simulation that the demonstration makes, without a model, and where in its run it and its scores stand.
_PROTOCOL, _CLINICIANS = "medconceal", ("script:good", "script:brisk")
_TALKS, _SIMULATED = "talks", "simulated"
Show = Callable[["str | Iterable[Table]"], None]


@settings_class
class DemoSettings:
    """Run the whole loop on a bundled example: a first look.

    It scores and compares twelve invented conversations of three systems, which two invented people rated, and writes
    the report. Then it has two scripted clinicians talk with simulated patients, and scores and reports that too.

    Examples:
        $ bedside demo
        $ bedside demo --judge local
    """

    out: str | os.PathLike[str] = option(
        "Folder of the run; an earlier demonstration is replaced.",
        "--out", "-o", default=Path("demo-run"), heading=OPTIONS, metavar="FOLDER", form="path", kw_only=False,
    )  # fmt: skip
    judge: str | None = option(
        "A language model that rates the example too, as in bedside score.",
        default=None, heading=OPTIONS, metavar="MODEL", offers="judges",
    )  # fmt: skip
    show: Show | None = option("Called with each line and each of the tables as they come.", default=None, heading=None)


@dataclass(frozen=True, slots=True)
class Demonstration:
    """What the demonstration made.

    Attributes:
        run: the example, scored.
        report: its report.
        simulated: the report on the simulated conversations.
    """

    run: Run
    report: Report
    simulated: Report


@question_alone(DemoSettings)
def demo(settings: DemoSettings) -> Demonstration:
    """Raises:
    BedsideError: the folder holds something else, or the judge can't be asked.
    """
    from importlib.resources import as_file, files

    out, show = Path(settings.out), settings.show or (lambda part: None)
    _remove_earlier(out)
    with as_file(files("bedside") / "examples") as folder:
        run = _score(folder, out, show)
        if settings.judge is not None:
            _judge(folder / "transcripts.jsonl", run, settings.judge, show)
    return Demonstration(run, _report(run, show), _simulate(out, show))


def _remove_earlier(out: Path) -> None:
    """Remove an earlier demonstration, and nothing else."""
    from bedside.core.files import remove
    from bedside.ratings.run import Run

    if not out.exists():
        return
    todo = "choose another folder with `out`"
    if not is_run(out):
        raise RunError("this exists and is not a run", where=str(out), todo=todo)
    names = [file["path"] for file in Run(out).manifest["transcripts"]["inputs"]]
    if [Path(name or "").parts[-2:] for name in names] != [("examples", "transcripts.jsonl")]:
        raise RunError("this holds another run", where=str(out), todo=todo)
    others = sorted(path.name for path in out.iterdir() if path.name not in _MADE)
    if (out / "judgements.sqlite").exists() and not (out / "simulated").exists():
        others = ["judgements.sqlite"]
    if others:
        raise RunError(f"it holds more than a demonstration: {', '.join(others[:3])}", where=str(out), todo=todo)
    remove(out)


def _score(folder: Path, out: Path, show: Show) -> Run:
    """Score the example and bring in the ratings of its two raters."""
    from bedside.api.run_files import import_ratings
    from bedside.scoring.score import score

    show("Twelve invented conversations: three systems with four patients each; two invented raters.")
    show(f"1. bedside score {folder}/transcripts.jsonl --out {out}")
    summary = score([folder / "transcripts.jsonl"], out)
    show(
        f"   {counted(summary.transcripts, 'transcript')}, {counted(summary.ratings, 'rating')}, "
        f"{summary.missing:,} missing"
    )
    show(f"2. bedside ratings import {out} {folder}/ratings.csv --scale 1-5")
    imported = import_ratings(summary.run, folder / "ratings.csv", scales=["1-5"])
    show(f"   {counted(imported.added, 'rating')} by two people")
    return summary.run


def _judge(transcripts: Path, run: Run, model: str, show: Show) -> None:
    """Have a judge rate what the people rated."""
    from bedside.api.judging import judge

    show(f"   bedside score {transcripts} --out {run.path} --judge {model} --rubrics {','.join(_RUBRICS)}")
    for judged in judge(run, model, rubrics=_RUBRICS).judges:
        show(f"   {counted(judged.ratings, 'rating')} by {judged.rater} from {counted(judged.calls, 'call')}")


def _report(run: Run, show: Show) -> Report:
    """Compare the systems and the raters, write the report, and show the results and where the files are."""
    from bedside.analysis.ratings_view import open_ratings_view
    from bedside.analysis.selection import quality_metrics
    from bedside.api.installation import installing
    from bedside.api.rating_questions import agree, compare
    from bedside.api.run_files import report
    from bedside.reports.build import absent_formats
    from bedside.reports.tables.results import results_table

    show(f"3. bedside compare {run.path}\n")
    show(compare(run.path))
    show(f"4. bedside agree {run.path}\n")
    show(agree(run.path))
    show(f"5. bedside report {run.path}\n")
    written = report(run.path)
    view = open_ratings_view(run.path)
    results = results_table(view, quality_metrics(view))
    show([] if results is None else [results])
    show(f"  {written.page}")
    endings = sorted({file.suffix.lstrip(".") for file in written.files} - {"html"})
    show(f"  and every table as {', '.join(endings)} in {written.files[0].parent}")
    for text in absent_formats().values():
        show(f"  {installing(text)}")
    return written


def _simulate(out: Path, show: Show) -> Report:
    """Have scripted clinicians talk with simulated patients; score and report it."""
    from bedside.api.run_files import report
    from bedside.api.simulating import simulate
    from bedside.scoring.score import score

    talks, run = out / _TALKS, out / _SIMULATED
    clinicians = " ".join(f"--clinician {name}" for name in _CLINICIANS)
    show(f"\n6. bedside simulate --protocol {_PROTOCOL} {clinicians} --out {talks}")
    counts = simulate(None, _PROTOCOL, talks, clinician=_CLINICIANS).summary.counts
    show(
        f"   {counted(counts.finished, 'conversation')} of two scripted clinicians with invented patients who answer "
        "by rules: toys, without a model or a key"
    )
    show(f"7. bedside score {talks} --suite {_PROTOCOL} --out {run}; bedside report {run}\n")
    written = report(score([talks], run, suite=_PROTOCOL).run)
    show(written.tables[:1])
    show(f"Their report: {written.page}")
    return written
