"""What is known of a metric belongs to the ratings it is asked of."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import bedside
from bedside.analysis.agreement import agree
from bedside.analysis.comparison import compare
from bedside.analysis.metric_facts import known_scale
from bedside.analysis.ratings_view import RatingsView, open_ratings_view
from bedside.judges.rubrics.rubric import as_data
from bedside.judges.rubrics.rubric_files import parse_rubric
from bedside.ratings.run import Run
from bedside.ratings.table import frame_of
from bedside.reports.build import build_tables, extremes
from bedside.reports.explanation import explain
from bedside.reports.tables.comparison import comparison_table
from bedside.scoring.score import score

PACKAGE = Path(bedside.__file__).parent
EXAMPLE = PACKAGE / "examples" / "transcripts.jsonl"


def judged_by_own(folder: Path, title: str, direction: str, levels: int) -> Path:
    """A run of its own, judged by a rubric called warmth."""
    text = (PACKAGE / "judges" / "rubrics" / "shipped" / "empathy.yaml").read_text("utf-8")
    for key, value in (("name", "warmth"), ("title", title), ("direction", direction)):
        text = re.sub(rf"^{key}: .*$", f"{key}: {value}", text, flags=re.MULTILINE)
    for level in range(5, levels, -1):
        text = re.sub(rf"  - value: {level}\n(    .*\n| {{6}}.*\n)+", "", text)
    folder.mkdir()
    (folder / "warmth.yaml").write_text(text, "utf-8")
    rubric = parse_rubric(folder / "warmth.yaml")
    score([EXAMPLE], folder / "run", metrics=["turns"])
    run = Run(folder / "run")
    rows = [
        (name, system, case, "transcript", "warmth", rater, 0, float(1 + position % levels), None, None, None)
        for position, (name, system, case) in enumerate(run.index.select("id", "system", "case_id").iter_rows())
        for rater in ("judge:m", "human:x")
    ]  # fmt: skip
    run.add(frame_of(rows).lazy(), {**run.manifest, "rubrics": {"warmth": as_data(rubric)}})
    return folder / "run"


def told(view: RatingsView) -> dict[str, object]:
    """What results, tables and pages say of warmth."""
    compared = compare(view, metrics=["warmth"], raters=["judge:m"], family="metric").pairs
    drawn = {table.name: table for table in build_tables(view, ["results", "agreement"])}
    listed = [row.cells[0].text for row in drawn["results"].rows if row.group == "Ratings"]
    titles = {
        *(row.group for row in comparison_table(compared).rows),
        *(one.title for one in agree(view, metrics=["warmth"])),
        *(record["title"] for record in drawn["agreement"].records),
        *(text.partition(" (")[0] for text in listed),
        *(one.facts.title for one in extremes(view) if one.metric == "warmth"),
    }
    return {
        "titles": titles,
        "families": {one.test.family for one in compared},
        "directions": {one.facts.direction for one in compared},
        "arrows": {text[-1] for text in listed},
        "first end": next(one.end for one in extremes(view) if one.metric == "warmth"),
        "levels": view.scales["warmth"].levels,
        "definition": explain(view, drawn["results"], "warmth/judge:m").definitions[0].splitlines()[0],
    }


EXPECTED = {
    "a": {
        "titles": {"How warm"},
        "families": {"comparisons of two systems on How warm"},
        "directions": {"higher"},
        "arrows": {"↑"},
        "first end": "lowest",
        "levels": (1.0, 2.0, 3.0, 4.0, 5.0),
        "definition": "## How warm (`warmth`)",
    },
    "b": {
        "titles": {"How lukewarm"},
        "families": {"comparisons of two systems on How lukewarm"},
        "directions": {"lower"},
        "arrows": {"↓"},
        "first end": "highest",
        "levels": (1.0, 2.0, 3.0),
        "definition": "## How lukewarm (`warmth`)",
    },
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Two runs, each with its own rubric called warmth."""
    folder = tmp_path_factory.mktemp("runs")
    return {
        "a": judged_by_own(folder / "a", "How warm", "higher", 5),
        "b": judged_by_own(folder / "b", "How lukewarm", "lower", 3),
    }


@pytest.mark.parametrize("order", ["ab", "ba"])
def test_rubrics_of_one_name_belong_each_to_their_run(
    order: str, made: dict[str, Path], tmp_path: Path
) -> None:
    opened = {name: open_ratings_view(made[name]) for name in order}
    for name in order:
        assert told(opened[name]) == EXPECTED[name]
    # Neither says anything of a file of ratings, nor of what is shipped.
    (tmp_path / "ratings.csv").write_text("item,rater,metric,value\n1,anna,warmth,9.0\n", "utf-8")
    file = open_ratings_view(tmp_path / "ratings.csv")
    assert (file.facts("warmth").title, file.facts("warmth").group) == ("Warmth", "Ratings")
    assert file.scales == {}
    assert known_scale("warmth") is None
