"""Print every figure, or write them as a page of the docs: ``python -m replications DATA [PAGE]``."""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

from bedside.scoring.run_transcripts import run_versions
from replications import annomi, calm_it, mdd5k, medconceal, mindeval, multisense, note2chat
from replications._figures import STATUSES, counts, section

PAPERS = (calm_it, mdd5k, medconceal, multisense, note2chat)
SOURCES = (*PAPERS, annomi, mindeval)
#: What of the summary each paper is called.
_NAMES = ("CALM-IT", "MDD-5k", "MedConceal", "MultiSenseEval", "Note2Chat")


def page(data: Path) -> str:
    """All figures of all sources as Markdown, with date and versions."""
    versions = run_versions()
    libraries = ", ".join(f"{name} {number}" for name, number in versions["libraries"].items())
    parts, summary = [], []
    total: Counter[str] = Counter()
    same = compared = 0
    lacking = False
    for source in SOURCES:
        with tempfile.TemporaryDirectory() as work:
            found = source.figures(data, Path(work))
        parts.append(section(source, found, source.RESTS))
        lacking |= any(one.ours is None for one in found)
        if source in PAPERS:
            printed = [one for one in found if one.published]
            own = counts(printed, source.RESTS)
            total.update(own)
            same += sum(one.agrees for one in printed if one.ours is not None)
            compared += sum(one.ours is not None for one in printed)
            summary.append((_NAMES[PAPERS.index(source)], own))
    lines = [f"| paper | {' | '.join(STATUSES)} | all |", "| --- " + "| ---: " * (len(STATUSES) + 1) + "|"]
    for name, own in (*summary, ("together", total)):
        lines.append(f"| {name} | {' | '.join(f'{own[status]:,}' for status in STATUSES)} | {sum(own.values()):,} |")
    held = ", ".join(filter(None, (source.held(data) for source in (annomi, mdd5k, mindeval))))
    return (
        "# What of the literature can be recomputed\n\n"
        "Each figure that five papers print has one status. *From data*: recomputed from public data. *From printed "
        "numbers*: recomputed by bedside from other numbers of the paper. *Not possible*: with the reason. *Printed "
        "again*: it stands elsewhere in the paper. *No result*: it describes the data or the study.\n\n"
        f"Of {compared} figures recomputed, {same} come out to the last printed digit; the others differ for the "
        "reason given.\n\n" + "\n".join(lines) + "\n\n"
        f"Made on {datetime.now(UTC).date()} by `python -m replications DATA docs/replications.md` with bedside "
        f"{versions['bedside']}, {libraries}. DATA holds the public copies of that day: {held or 'none'}. "
        f"{'A dash stands where the data were not there. ' if lacking else ''}"
        "Worked examples of textbooks are in [Statistics](statistics.md).\n\n" + "\n".join(parts)
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser("python -m replications", description=__doc__)
    parser.add_argument("data", type=Path, help="the folder of the public data; what it may hold, the package says")
    parser.add_argument("page", type=Path, nargs="?", help="the file to write; printed without it")
    asked = parser.parse_args()
    if not asked.data.is_dir():
        parser.error(f"{asked.data} is no folder")
    text = page(asked.data)
    if asked.page is None:
        print(text)
    else:
        asked.page.write_text(text, "utf-8")
