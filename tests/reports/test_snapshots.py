"""Every table of every suite in every format, on fixed ratings, as it was last looked at.

    python -m tests.reports.test_snapshots

writes the snapshots anew; look at what changed before keeping it.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import pytest

from bedside.analysis.ratings_view import open_ratings_view
from bedside.reports.contents import make_tables
from bedside.reports.table_formats import TABLE_FORMATS
from tests.reports.builders import made_run

SUITES = ("calm-it", "mdd5k", "medconceal", "multisense", "note2chat")
FOLDER = Path(__file__).parent / "snapshots"
#: Digits beyond these may differ between machines.
_LONG = re.compile(r"-?\d+\.\d{7,}(e[-+]?\d+)?")


def rendered(folder: Path, suite: str) -> dict[str, str]:
    """All tables of a suite's report, by ending of the format."""
    tables = make_tables(open_ratings_view(made_run(folder, suite, cases=3).path))
    if suite != "mdd5k":  # those that every report has, once
        tables = tuple(table for table in tables if table.name not in ("agreement", "missing", "others"))
    return {
        form.ending: _LONG.sub(
            lambda found: f"{float(found[0]):.6g}", "\n".join(form.render(table) for table in tables)
        )
        for form in TABLE_FORMATS.values()
    }


@pytest.mark.slow
@pytest.mark.parametrize("suite", SUITES)
def test_tables_are_as_last_looked_at(suite: str, tmp_path: Path) -> None:
    for ending, text in rendered(tmp_path, suite).items():
        assert text == (FOLDER / f"{suite}.{ending}").read_text("utf-8"), f"{suite}.{ending}"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name in SUITES:
        with tempfile.TemporaryDirectory() as place:
            for kind, content in rendered(Path(place), name).items():
                (FOLDER / f"{name}.{kind}").write_text(content, "utf-8")
