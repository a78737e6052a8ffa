"""Checking the patients of a simulation: scored, judged and held against real sessions, in one call."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bedside.core.errors import RunError
from bedside.core.words import Names, listed
from bedside.ratings.run import Run
from bedside.ratings.run_folder import is_run

if TYPE_CHECKING:
    from bedside.reports.table import Tables
    from bedside.scoring.judged import JudgingWatch
    from bedside.simulation.patient_quality import QualityMeasure
    from bedside.transcripts.memory_reading import TranscriptInput

#: The suite that patients are checked by.
SUITE = "simulated-patient"


def simulation_quality(
    talks: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    judges: Names = (),
    nli: str = "",
    embeddings: str | None = None,
    reference: Run | TranscriptInput | None = None,
    max_concurrency: int = 8,
    max_calls: int | None = None,
    price: tuple[float, float] | tuple[float, float, float] | None = None,
    seed: int = 0,
    progress: JudgingWatch | None = None,
) -> Tables[tuple[QualityMeasure, ...]]:
    """Whether a simulation's patients are any good, in one table.

    The conversations are scored by the suite ``simulated-patient`` into a run of their own, which people can rate too
    (``bedside sample``, ``bedside annotate``): their ratings stand in the table then. The same call again asks a judge
    only what it hasn't answered.

    Args:
        talks: the folder of a simulation.
        out: folder of the run that the ratings go into; that of a reference corpus to be scored stands beside it, with
            ``-reference`` after its name.
        judges: models that rate contradictions, inventions and the trait that stands out; none unless named.
        nli: model for natural-language inference: a folder, or a name on the Hugging Face hub.
        embeddings: model of sentence embeddings: a folder, or a package that ships one.
        reference: real sessions, as a run or as transcripts.
        max_concurrency, max_calls, price: as for :func:`bedside.judge`.
        seed: of what is drawn, such as the order of texts.
        progress: called with the judge and how far it is.

    Raises:
        BedsideError: the folder is no simulation's, or a name is none.
    """
    from bedside.analysis.ratings_view import open_ratings_view
    from bedside.api.judging import judge
    from bedside.reports.averaging_notes import BY_REPORT, with_averaging_notes
    from bedside.reports.table import Tables
    from bedside.reports.tables.simulation_quality import quality_table
    from bedside.scoring.score import score
    from bedside.simulation.patient_quality import patient_quality
    from bedside.transcripts.simulation_folder import simulation_manifest

    if simulation_manifest(talks) is None:
        raise RunError(
            "this is not the folder of a simulation",
            where=str(talks),
            todo="name a folder that bedside simulate made",
        )
    encode = _encoder(embeddings)
    parameters = {"case_fidelity": {"model": nli}} if nli else {}
    names = listed(judges, "judges")
    if names:
        run = judge(
            os.fspath(talks),
            names,
            out=out,
            suite=SUITE,
            rubrics=_rubrics(talks),
            parameters=parameters,
            max_concurrency=max_concurrency,
            max_calls=max_calls,
            price=price,
            seed=seed,
            progress=progress,
        ).run
    else:
        run = score([os.fspath(talks)], out, suite=SUITE, parameters=parameters, seed=seed).run
    view = open_ratings_view(run)
    corpus = _reference(reference, Path(out), parameters)
    if corpus is not None:
        view = replace(view, reference=open_ratings_view(corpus))
    measures = patient_quality(view, encode=encode, seed=seed)
    table = with_averaging_notes(quality_table(view, measures), view, shown=BY_REPORT)
    return Tables([table], measures)


def _rubrics(talks: str | os.PathLike[str]) -> list[str]:
    """The suite's rubrics; that of the trait only where personas have one of its traits."""
    from bedside.judges.rubrics.rubric_files import RUBRICS
    from bedside.ratings.suites import SUITES
    from bedside.simulation.patient_quality import PERSONA, TRAIT
    from bedside.transcripts import read_transcripts

    rubrics = list(SUITES.load(SUITE).rubrics)
    traits = {label.label for label in RUBRICS.load(TRAIT).labels}
    if not any(transcript.factors.get(PERSONA) in traits for transcript in read_transcripts([talks])):
        rubrics.remove(TRAIT)
    return rubrics


def _encoder(embeddings: str | None) -> Any:
    if embeddings is None:
        return None
    from bedside.metrics.coders.learned.embeddings import Embeddings

    return Embeddings(embeddings).encode


def _reference(
    reference: Run | TranscriptInput | None, out: Path, parameters: Mapping[str, Mapping[str, Any]]
) -> Run | None:
    """The run of the reference corpus, scored where it isn't one yet."""
    from bedside.scoring.score import score

    if reference is None or isinstance(reference, Run):
        return reference
    if isinstance(reference, str | os.PathLike) and is_run(Path(reference)):
        return Run(Path(reference))
    folder = out.with_name(f"{out.name}-reference")
    metrics = ("structure", "readability")
    return score(reference, folder, suite=SUITE, metrics=metrics, parameters=parameters).run
