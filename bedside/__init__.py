"""bedside scores clinical and counselling conversations and shows how far the scores can be believed."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
#: Folder of the bundled example: transcripts and ratings, all invented.
EXAMPLES = Path(__file__).parent / "examples"

if TYPE_CHECKING:
    from bedside import stats
    from bedside.api import (
        agree,
        benchmark,
        compare,
        estimate,
        explain,
        export,
        extend_benchmark,
        figure,
        gate,
        import_ratings,
        judge,
        judge_pairs,
        jury,
        learn_rater,
        merge,
        preferences,
        preview_benchmark,
        preview_judging,
        preview_pairs,
        preview_probe,
        preview_simulation,
        preview_tuning,
        probe,
        rate,
        read_ratings,
        report,
        scrub,
        simulate,
        simulation_quality,
        tables,
        to_convokit,
        tune_judge,
        validate,
    )
    from bedside.core.errors import BedsideError
    from bedside.ratings.run import Run, read_run
    from bedside.scoring.score import score
    from bedside.transcripts import ReadOptions, Transcript, Turn, read_transcripts
    from bedside.transcripts.convokit_corpus import from_convokit
    from bedside.transcripts.reading import read_account

# Name → module: imported when first used, so that ``import bedside`` costs nothing.
_PLACES = {
    "BedsideError": "bedside.core.errors",
    "ReadOptions": "bedside.transcripts",
    "Run": "bedside.ratings.run",
    "Transcript": "bedside.transcripts",
    "Turn": "bedside.transcripts",
    **dict.fromkeys(
        (
            "agree",
            "benchmark",
            "compare",
            "estimate",
            "explain",
            "export",
            "extend_benchmark",
            "figure",
            "gate",
            "import_ratings",
            "judge",
            "judge_pairs",
            "jury",
            "learn_rater",
            "merge",
            "preferences",
            "preview_benchmark",
            "preview_judging",
            "preview_pairs",
            "preview_probe",
            "preview_simulation",
            "preview_tuning",
            "probe",
            "rate",
            "read_ratings",
            "report",
            "scrub",
            "simulate",
            "simulation_quality",
            "tables",
            "to_convokit",
            "tune_judge",
            "validate",
        ),
        "bedside.api",
    ),
    "from_convokit": "bedside.transcripts.convokit_corpus",
    "read_account": "bedside.transcripts.reading",
    "read_run": "bedside.ratings.run",
    "read_transcripts": "bedside.transcripts",
    "score": "bedside.scoring.score",
}

__all__ = [
    "EXAMPLES",
    "BedsideError",
    "ReadOptions",
    "Run",
    "Transcript",
    "Turn",
    "__version__",
    "agree",
    "benchmark",
    "compare",
    "estimate",
    "explain",
    "export",
    "extend_benchmark",
    "figure",
    "from_convokit",
    "gate",
    "import_ratings",
    "judge",
    "judge_pairs",
    "jury",
    "learn_rater",
    "merge",
    "preferences",
    "preview_benchmark",
    "preview_judging",
    "preview_pairs",
    "preview_probe",
    "preview_simulation",
    "preview_tuning",
    "probe",
    "rate",
    "read_account",
    "read_ratings",
    "read_run",
    "read_transcripts",
    "report",
    "score",
    "scrub",
    "simulate",
    "simulation_quality",
    "stats",
    "tables",
    "to_convokit",
    "tune_judge",
    "validate",
]


if not TYPE_CHECKING:  # which would take any name for one that is there

    def __getattr__(name: str) -> Any:
        if name == "stats":
            return importlib.import_module("bedside.stats")
        if name not in _PLACES:
            raise AttributeError(f"module 'bedside' has no attribute {name!r}")
        value = getattr(importlib.import_module(_PLACES[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted(__all__)
