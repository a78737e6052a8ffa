"""The public face: what ``import bedside`` offers beside transcripts and runs."""

from bedside.api.analyses import agree, compare, estimate, explain, figure, gate, tables, validate
from bedside.api.benchmark_steps import Benchmark, BenchmarkWatch
from bedside.api.benchmarking import benchmark, extend_benchmark, preview_benchmark
from bedside.api.judging import JudgedRun, judge, preview_judging
from bedside.api.run_files import Report, import_ratings, read_ratings, report
from bedside.api.simulated_patients import simulation_quality
from bedside.api.simulating import Simulation, preview_simulation, simulate

__all__ = [
    "Benchmark",
    "BenchmarkWatch",
    "JudgedRun",
    "Report",
    "Simulation",
    "agree",
    "benchmark",
    "compare",
    "estimate",
    "explain",
    "extend_benchmark",
    "figure",
    "gate",
    "import_ratings",
    "judge",
    "preview_benchmark",
    "preview_judging",
    "preview_simulation",
    "read_ratings",
    "report",
    "simulate",
    "simulation_quality",
    "tables",
    "validate",
]
