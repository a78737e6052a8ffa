"""MindEval (Pombal et al., 2025, arXiv 2511.18491)."""

from __future__ import annotations

from pathlib import Path

import bedside
from replications._figures import DATA, Figure, Rest

PROTOCOL = ""
SOURCE = (
    "Sixty public talks that four experts rated on ten criteria from 0 to 6: `bedside agree human_annotations.jsonl "
    "--scale 0-6`. What the paper itself prints of agreement is not at hand, so that nothing is compared."
)
RESTS: list[Rest] = []
_CRITERIA = (*(f"criterion_{place}" for place in (1, 2, 3, 4, 6, 7, 8, 9, 10)), "criterion11")


def _file(data: Path) -> Path:
    return data / "mindeval" / "human_annotations.jsonl"


def held(data: Path) -> str:
    """That the talks are at hand; empty where they are not."""
    return "MindEval (60 talks)" if _file(data).exists() else ""


def figures(data: Path, work: Path) -> list[Figure]:
    """The figures."""
    file = _file(data)
    alphas = {}
    if file.exists():
        found = bedside.agree(file, scales="0-6").results
        alphas = {one.metric: one.statistics["alpha"].estimate for one in found if one.kind == "people"}
    return [Figure("", f"ordinal α, {name}", "", "", "", alphas.get(name), DATA) for name in _CRITERIA]
