"""The public face: what ``import bedside`` offers beside transcripts and runs."""

from bedside.api.analyses import (
    agree,
    compare,
    estimate,
    explain,
    figure,
    gate,
    preferences,
    tables,
    validate,
)
from bedside.api.benchmark_steps import Benchmark, BenchmarkWatch
from bedside.api.benchmarking import benchmark, extend_benchmark, preview_benchmark
from bedside.api.exporting import export, to_convokit
from bedside.api.judge_tuning import (
    TunedJudge,
    jury,
    learn_rater,
    preview_probe,
    preview_tuning,
    probe,
    rate,
    tune_judge,
)
from bedside.api.judging import JudgedRun, judge, preview_judging
from bedside.api.pairwise import ComparedRun, judge_pairs, preview_pairs
from bedside.api.run_files import Report, import_ratings, read_ratings, report
from bedside.api.run_merging import MergedRuns, merge
from bedside.api.scrubbing import Scrubbing, scrub
from bedside.api.simulating import Simulation, preview_simulation, simulate, simulation_quality

__all__ = [
    "Benchmark",
    "BenchmarkWatch",
    "ComparedRun",
    "JudgedRun",
    "MergedRuns",
    "Report",
    "Scrubbing",
    "Simulation",
    "TunedJudge",
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
    "jury",
    "learn_rater",
    "judge_pairs",
    "merge",
    "preferences",
    "preview_benchmark",
    "preview_judging",
    "preview_pairs",
    "preview_probe",
    "preview_simulation",
    "preview_tuning",
    "rate",
    "probe",
    "read_ratings",
    "report",
    "scrub",
    "simulate",
    "simulation_quality",
    "tables",
    "to_convokit",
    "tune_judge",
    "validate",
]
