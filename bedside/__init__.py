"""bedside scores clinical and counselling conversations and shows how far the scores can be believed."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
#: Folder of the bundled example: transcripts and ratings, all invented.
EXAMPLES = Path(__file__).parent / "examples"

if TYPE_CHECKING:
    from bedside import stats as stats
    from bedside.api.annotating import (
        adjudicate as adjudicate,
        annotation_status as annotation_status,
        answer_revisions as answer_revisions,
        export_tasks as export_tasks,
        import_answers as import_answers,
        propose_next as propose_next,
        pull as pull,
        push as push,
        rating_page as rating_page,
        reassign as reassign,
        sample as sample,
        serve_label_studio as serve_label_studio,
        study_people as study_people,
        withdraw as withdraw,
    )
    from bedside.api.benchmarking import (
        benchmark as benchmark,
        extend_benchmark as extend_benchmark,
        preview_benchmark as preview_benchmark,
    )
    from bedside.api.chosen_ratings import View as View
    from bedside.api.demonstration import demo as demo
    from bedside.api.forgetting import forget as forget
    from bedside.api.installation import doctor as doctor
    from bedside.api.judge_tuning import (
        cascade as cascade,
        judge_drift as judge_drift,
        jury as jury,
        learn_rater as learn_rater,
        preview_drift as preview_drift,
        preview_probe as preview_probe,
        preview_route as preview_route,
        preview_tuning as preview_tuning,
        probe as probe,
        rate as rate,
        route as route,
        tune_judge as tune_judge,
    )
    from bedside.api.judging import (
        export_judgements as export_judgements,
        import_judgements as import_judgements,
        judge as judge,
        judge_pairs as judge_pairs,
        judge_passes as judge_passes,
        judgement as judgement,
        judgements as judgements,
        merge_judgements as merge_judgements,
        preview_judging as preview_judging,
        preview_pairs as preview_pairs,
    )
    from bedside.api.model_training import (
        evaluate_coder as evaluate_coder,
        fit_redirection as fit_redirection,
        train_coder as train_coder,
    )
    from bedside.api.rating_questions import (
        agree as agree,
        compare as compare,
        deviation as deviation,
        drift as drift,
        estimate as estimate,
        explain as explain,
        figure as figure,
        gate as gate,
        plan_difference as plan_difference,
        plan_judge as plan_judge,
        plan_kappa as plan_kappa,
        plan_raters as plan_raters,
        preferences as preferences,
        tables as tables,
        trend as trend,
        validate as validate,
    )
    from bedside.api.run_files import (
        export as export,
        import_ratings as import_ratings,
        merge as merge,
        read_ratings as read_ratings,
        report as report,
        to_convokit as to_convokit,
        view as view,
    )
    from bedside.api.scrubbing import scrub as scrub
    from bedside.api.simulating import (
        preview_simulation as preview_simulation,
        simulate as simulate,
        simulation_quality as simulation_quality,
    )
    from bedside.api.verifying import sign as sign, verify as verify
    from bedside.core.errors import BedsideError as BedsideError
    from bedside.ratings.run import Run as Run, read_run as read_run
    from bedside.scoring.score import score as score
    from bedside.transcripts.convokit_corpus import from_convokit as from_convokit
    from bedside.transcripts.read_options import ReadOptions as ReadOptions
    from bedside.transcripts.reading import read_account as read_account, read_transcripts as read_transcripts
    from bedside.transcripts.transcript import Transcript as Transcript, Turn as Turn

#: Public names by the module that has them: imported when first used, so that ``import bedside`` costs nothing.
_NAMES = {
    "bedside.api.annotating": (
        "adjudicate annotation_status answer_revisions export_tasks import_answers propose_next pull push rating_page "
        "reassign sample serve_label_studio study_people withdraw"
    ),
    "bedside.api.benchmarking": "benchmark extend_benchmark preview_benchmark",
    "bedside.api.chosen_ratings": "View",
    "bedside.api.demonstration": "demo",
    "bedside.api.forgetting": "forget",
    "bedside.api.installation": "doctor",
    "bedside.api.judge_tuning": (
        "cascade judge_drift jury learn_rater preview_drift preview_probe preview_route preview_tuning probe rate "
        "route tune_judge"
    ),
    "bedside.api.judging": (
        "export_judgements import_judgements judge judge_pairs judge_passes judgement judgements merge_judgements "
        "preview_judging preview_pairs"
    ),
    "bedside.api.model_training": "evaluate_coder fit_redirection train_coder",
    "bedside.api.rating_questions": (
        "agree compare deviation drift estimate explain figure gate plan_difference plan_judge plan_kappa plan_raters "
        "preferences tables trend validate"
    ),
    "bedside.api.run_files": "export import_ratings merge read_ratings report to_convokit view",
    "bedside.api.scrubbing": "scrub",
    "bedside.api.simulating": "preview_simulation simulate simulation_quality",
    "bedside.api.verifying": "sign verify",
    "bedside.core.errors": "BedsideError",
    "bedside.ratings.run": "Run read_run",
    "bedside.scoring.score": "score",
    "bedside.transcripts.read_options": "ReadOptions",
    "bedside.transcripts.transcript": "Transcript Turn",
    "bedside.transcripts.convokit_corpus": "from_convokit",
    "bedside.transcripts.reading": "read_account read_transcripts",
}
_PLACES = {name: module for module, names in _NAMES.items() for name in names.split()}
__all__ = sorted(("EXAMPLES", "__version__", "stats", *_PLACES))


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
    return list(__all__)
