"""The sample of the site: a report, and a run to look at, of the bundled example with its invented people's ratings."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

import bedside

#: What leads to it from a page of the site, with links as from the project's root.
SAMPLE = (
    "See it whole, on the bundled example: [a report](docs/sample/report.html), and "
    "[its conversations with their ratings](docs/sample/view/index.html)."
)


def sample_files() -> Mapping[str, bytes]:
    """The files of the sample, by their place in the site."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run = bedside.score([bedside.EXAMPLES / "transcripts.jsonl"], folder / "run").run
        bedside.import_ratings(run, bedside.EXAMPLES / "ratings.csv", scales=["1-5"])
        shown = folder / "sample"
        bedside.report(run, out=shown, formats=["html"])
        bedside.view(run, export=shown / "view")
        return {
            file.relative_to(folder).as_posix(): file.read_bytes()
            for file in sorted(shown.rglob("*"))
            if file.is_file()
        }
