"""A learned rater's ratings of a run."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bedside.metrics.coders.learned.training_set import text_hash
from bedside.ratings.learnt_units import (
    LEARNED_RATERS,
    LearntUnits,
    learned_raters,
    unit_digests,
    with_learnt,
)
from bedside.ratings.run import Run
from bedside.ratings.table import missing_counts, rating_writer
from bedside.scoring.run_transcripts import TranscriptSource
from bedside.scoring.versions import run_versions
from bedside.tuning.learned_rater import LearnedRater


def add_learned_ratings(run: Run, rater: LearnedRater, transcripts: TranscriptSource) -> int:
    """Have a learned rater rate a run's transcripts. The run must be locked.

    What it learnt from stands in the manifest, and is no evidence on it: cases and transcripts of the names that it
    learnt from, and transcripts of the same text, whatever they are called here.

    Args:
        run: the run.
        rater: the rater.
        transcripts: those of the run.

    Returns:
        How many ratings of the metric it gave; those that are missing don't count.
    """
    texts = frozenset(rater.card["training"]["text_sha256"])
    learnt = set(rater.card["training"]["learnt_from"])
    with tempfile.TemporaryDirectory(prefix=".judging.", dir=run.path) as folder:
        writer = rating_writer(Path(folder))
        count = 0
        for transcript in transcripts():
            if text_hash(transcript) in texts:
                learnt.update(unit_digests([(transcript.id, transcript.case_id)]))
            for row in rater.ratings(transcript):
                writer.add(row)
                count += row[4] == rater.metric and row[-1] is None
        ratings = writer.result()
        entry: Mapping[str, Any] = {
            "suite": None,
            "metrics": [rater.metric],
            "parameters": {},
            **run_versions(),
            "ratings": count,
            "raters": [rater.rater],
            "missing": missing_counts(ratings),
        }
        summary = {
            "metric": rater.metric,
            "unit": rater.card["unit"],
            "features": rater.card["features"],
            "training": {
                key: value
                for key, value in rater.card["training"].items()
                if key not in ("learnt_from", "text_sha256")
            },
        }
        manifest = {
            **run.manifest,
            "scorings": [*run.manifest["scorings"], entry],
            LEARNED_RATERS: {**learned_raters(run.manifest), rater.rater: summary},
        }
        manifest = with_learnt(manifest, LearntUnits(rater.rater, rater.metric, frozenset(learnt)))
        run.add(ratings, manifest)
    return count
