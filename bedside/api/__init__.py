"""The public face: what ``import bedside`` offers beside transcripts and runs."""

from bedside.api.analyses import agree, compare, estimate, explain, figure, gate, tables, validate
from bedside.api.judging import JudgedRun, judge, preview_judging
from bedside.api.run_files import Report, import_ratings, read_ratings, report

__all__ = [
    "JudgedRun",
    "Report",
    "agree",
    "compare",
    "estimate",
    "explain",
    "figure",
    "gate",
    "import_ratings",
    "judge",
    "preview_judging",
    "read_ratings",
    "report",
    "tables",
    "validate",
]
