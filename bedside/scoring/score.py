"""Scoring: transcripts go in, metrics rate them, a run comes out."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bedside.core.errors import InputError, RunError
from bedside.core.files import file_digest
from bedside.core.question_settings import question
from bedside.core.trace_spans import span
from bedside.core.words import listed
from bedside.judges.rubrics.rubric import as_data
from bedside.judges.rubrics.rubric_files import RUBRICS, SUFFIX
from bedside.ratings.run import FORMAT, Run, keep_simulations, new_run, write_new_run
from bedside.ratings.run_folder import is_run
from bedside.ratings.suites import SUITES, Suite
from bedside.ratings.suites.run_suites import unregistered
from bedside.ratings.table import wordless
from bedside.scoring.plan import ScoringPass, ScoringPlan, ScoringSummary, suite_plan
from bedside.scoring.run_transcripts import run_versions
from bedside.scoring.score_settings import ScoreSettings
from bedside.transcripts.memory_reading import MemoryReading, TranscriptInput, open_reading
from bedside.transcripts.read_options import ReadOptions
from bedside.transcripts.reading import Reading


@question(
    ScoreSettings,
    "Files, folders and patterns, or transcripts in memory, which are gone through once; a lone one of either is one.",
)
def score(transcripts: TranscriptInput, settings: ScoreSettings) -> ScoringSummary:
    """The run's folder is new, or that of an existing run of the same transcripts. The suite may be a suite object, and
    without metrics in a list none is scored. Labelled transcripts make a run of their own. Without the text, ids,
    factors and hashes are kept.

    Raises:
        BedsideError: a bad file, an unknown name, or a folder that can't be written or holds another run. Nothing
            is written then.
    """
    chosen = settings.suite if isinstance(settings.suite, Suite) else SUITES.find(settings.suite)
    plan = suite_plan(chosen, listed(settings.metrics, "metrics"), settings.parameters)
    target = Path(settings.out)
    scoring = _scoring(plan, open_reading(transcripts, settings.options), settings)
    suite = chosen if settings.metrics is None else None
    entry, rubrics = _entry(suite, plan, settings), _own_rubrics(suite)
    with span("bedside score", bedside__suite=entry["suite"], bedside__metrics=len(plan.metrics)) as trace:
        if is_run(target):
            summary = _score_again(Run(target), scoring, entry, rubrics)
        else:
            summary = _score_anew(target, scoring, entry, rubrics)
        counts = ("transcripts", "turns", "ratings", "missing", "skipped")
        trace.add(**{f"bedside__{name}": getattr(summary, name) for name in counts})
        return summary


def _scoring(plan: ScoringPlan, reading: Reading | MemoryReading, settings: ScoreSettings) -> ScoringPass:
    """One process's pass over the files, or one that an engine's workers share."""
    shared: dict[str, Any] = {
        "waiting": frozenset(listed(settings.waiting, "waiting")),
        "text": settings.text,
        "progress": settings.progress,
    }
    if settings.engine is None:
        return ScoringPass(plan, reading, labels=settings.labels, **shared)
    from bedside.scoring.spread import SpreadScoring

    if settings.labels is not None:
        raise InputError("labels are read by one process only", where="`labels`", todo="leave `engine` out")
    if isinstance(reading, MemoryReading):
        raise InputError(
            "an engine's workers read files, and the transcripts are in memory",
            where="`engine`",
            todo="leave it out, or name files",
        )
    return SpreadScoring(plan, reading, engine=settings.engine, out=Path(settings.out), **shared)


def _entry(suite: Suite | None, plan: ScoringPlan, settings: ScoreSettings) -> dict[str, Any]:
    """What the manifest says was asked for; ``suite`` is None where metrics were named in its place."""
    return {
        "suite": None if suite is None else suite.name,
        # A suite of the user's own is kept whole, so that a report can be made from the run alone.
        "own_suite": None if suite is None else unregistered(suite),
        "metrics": [metric.name for metric in plan.metrics],
        "parameters": {family: values for family, values in plan.settings.items() if values},
        "seed": settings.seed,
        "labels": None
        if settings.labels is None
        else {"path": str(Path(settings.labels)), "sha256": file_digest(Path(settings.labels))},
        **({} if settings.engine is None else {"engine": settings.engine.name}),
    }


def _own_rubrics(suite: Suite | None) -> dict[str, Any]:
    """The rubrics of a suite that are files of the user's own, for the manifest: people may rate by them, too."""
    files = () if suite is None else (name for name in suite.rubrics if name.endswith(SUFFIX))
    return {rubric.key: as_data(rubric) for rubric in map(RUBRICS.find, files)}


def _score_anew(
    target: Path, scoring: ScoringPass, entry: dict[str, Any], rubrics: Mapping[str, Any]
) -> ScoringSummary:
    """Score into a new run."""
    text, reading = scoring.text, scoring.reading
    with new_run(target) as folder:
        ratings = scoring.go(folder)
        if not text:
            ratings = wordless(ratings)
        counts = scoring.counts(ratings)
        manifest = {
            "format": FORMAT.version,
            "transcripts": {
                "count": scoring.transcripts,
                "turns": scoring.turns,
                "text": text,
                "inputs": [asdict(file) for file in reading.inputs],
                "ignored": [str(path) for path in reading.ignored],
                "skipped": [str(error) if text else error.where for error in reading.skipped],
                # Who is who is told by name, which a run without text doesn't keep.
                "options": asdict(reading.options) | ({} if text or not reading.options.roles else {"roles": None}),
            },
            "scorings": [{**entry, **run_versions(), **counts, "read": reading.account.summary(names=text)}],
            "imports": [],
            **({"rubrics": rubrics} if rubrics else {}),
        }
        keep_simulations(folder, (file.path for file in reading.inputs if file.path))
        write_new_run(folder, ratings, manifest)
    scoring.end()
    return scoring.summary(Run(target), counts, 0)


def _score_again(run: Run, scoring: ScoringPass, entry: dict[str, Any], rubrics: Mapping[str, Any]) -> ScoringSummary:
    """Score into an existing run, whose transcripts must be the same."""
    hashes = dict(run.index.select("id", "hash").iter_rows())
    with run.locked(), tempfile.TemporaryDirectory(prefix=".scoring.", dir=run.path) as folder:
        ratings = scoring.go(Path(folder), hashes)
        if scoring.transcripts != len(hashes):
            raise RunError(
                f"the run has {len(hashes)} transcripts, and {scoring.transcripts} of them were given",
                where=str(run.path),
                todo="score the same transcripts, or choose another folder with `out`",
            )
        counts = scoring.counts(ratings if run.keeps_text else wordless(ratings))
        read = scoring.reading.account.summary(names=run.keeps_text)
        options = {**run.manifest["transcripts"]["options"], **_declared(scoring.reading.options)}
        manifest = {
            **run.manifest,
            "transcripts": {**run.manifest["transcripts"], "options": options},
            "scorings": [*run.manifest["scorings"], {**entry, **run_versions(), **counts, "read": read}],
        }
        if rubrics:  # what was rated by stays as it was then
            manifest["rubrics"] = {**rubrics, **run.manifest.get("rubrics", {})}
        sources = [file.path for file in scoring.reading.inputs if file.path]
        replaced = run.add(ratings, manifest, sources=sources)
    scoring.end()
    return scoring.summary(run, counts, replaced)


def _declared(options: ReadOptions) -> dict[str, list[str]]:
    """The kinds of factors that a scoring declares, where it declares any: they take the place of those before."""
    if not options.conditions and not options.outcomes:
        return {}
    return {"conditions": [*options.conditions], "outcomes": [*options.outcomes]}
