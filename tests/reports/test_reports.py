"""Tables, their renderings and the page: numbers against a slow recomputation, and nothing unescaped."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
import statistics
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

import bedside
from bedside.analysis.comparison import compare
from bedside.analysis.estimation import estimate
from bedside.analysis.ratings_view import open_ratings_view
from bedside.analysis.study_size import sizes_for_difference
from bedside.analysis.validation import validate
from bedside.metrics.coders import CODERS
from bedside.metrics.coders.testing.coder_test import evaluate_coder
from bedside.ratings.rating_files import import_ratings, read_rating_file
from bedside.ratings.rating_reading import RatingReading
from bedside.ratings.run import Run
from bedside.ratings.scales import parse_scales
from bedside.reports.build import build_tables, write_report
from bedside.reports.coder_test import coder_tables
from bedside.reports.estimation import estimate_table
from bedside.reports.number_text import between, decimal, number, p_value
from bedside.reports.renderers.html import html
from bedside.reports.renderers.latex import latex
from bedside.reports.renderers.markdown import markdown
from bedside.reports.renderers.records import csv_text, json_text
from bedside.reports.study_size import difference_table
from bedside.reports.table import Table
from bedside.reports.table_content import Cell, Column, Row
from bedside.reports.tables.comparison import overall_table
from bedside.reports.validation import validation_tables
from bedside.scoring.score import score
from bedside.transcripts import read_transcripts

EXAMPLES = Path(bedside.__file__).parent / "examples"
NASTY = r"""<script>alert("x")</script> & 100 % $5_a \b #1 ~^ {z} | *s* 中文 🙂 שלום"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    made = score([EXAMPLES / "transcripts.jsonl"], tmp_path_factory.mktemp("report") / "run").run
    path = EXAMPLES / "ratings.csv"
    import_ratings(made, path, read_rating_file(path, RatingReading(scales=parse_scales(["1-5"]))))
    return Run(made.path)


@pytest.mark.slow
def test_every_cell_of_the_results_is_a_mean_of_ratings(run: Run) -> None:
    table = build_tables(open_ratings_view(run.path), ["results"])[0]
    ratings = run.ratings.to_dicts()
    for record in table.records:
        values: dict[str, list[float]] = {}
        missing = set()
        for rating in ratings:
            group = "people" if rating["rater"].startswith("human:") else rating["rater"]
            if (rating["metric"], group, rating["system"], rating["unit"]) != (
                record["metric"], record["raters"], record["system"], "transcript",
            ):  # fmt: skip
                continue
            if rating["value"] is None:
                missing.add(rating["transcript_id"])
            else:
                values.setdefault(rating["transcript_id"], []).append(rating["value"])
        means = [statistics.fmean(found) for found in values.values()]
        assert record["n"] == len(means)
        assert record["missing"] == len(missing - values.keys())
        if means:
            assert record["value"] == pytest.approx(statistics.fmean(means))
        if len(means) > 1:
            assert record["sd"] == pytest.approx(statistics.stdev(means))


def test_the_best_is_bold_where_a_direction_is_known(run: Run) -> None:
    table = build_tables(open_ratings_view(run.path), ["results"])[0]
    systems = [column.title for column in table.columns[1:]]
    by_title = {row.cells[0].text: row.cells[1:] for row in table.rows}
    bold = {
        title: {system for system, cell in zip(systems, cells, strict=True) if cell.bold}
        for title, cells in by_title.items()
    }
    assert bold["Open questions (%) (people) ↑"] == {"steady"}
    assert bold["Completed ↑"] == set(), "one conversation of four is no difference"
    assert bold["Turns"] == set()
    assert bold["Empathy ↑"] == {"steady"}, "a rubric brings its direction"


@pytest.mark.slow
def test_missing_values_are_counted_where_they_are(run: Run) -> None:
    results, missing = build_tables(open_ratings_view(run.path), ["results", "missing"])
    cells = next(row.cells for row in results.rows if row.cells[0].text.startswith("Complex reflections"))
    assert "n=3" in cells[2].text
    assert {record["error"] for record in missing.records} == {"no reflection"}


@pytest.mark.slow
def test_comparison_and_agreement_stand_in_the_report(run: Run) -> None:
    tables = {table.name: table for table in build_tables(open_ratings_view(run.path))}
    assert list(tables) == [
        "results", "comparison", "agreement", "raters", "rubrics", "missing", "missing_bounds",
    ]  # fmt: skip
    assert any("Holm" in note for note in tables["comparison"].notes)
    kinds = {record["kind"] for record in tables["agreement"].records}
    assert kinds == {"people", "mean", "consensus", "person"}


@pytest.mark.slow
def test_same_run_same_bytes(run: Run, tmp_path: Path) -> None:
    _, first = write_report(run, out=tmp_path / "a")
    _, second = write_report(run, out=tmp_path / "b")
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def nasty() -> Table:
    return Table(
        name="nasty",
        title=NASTY,
        columns=(Column(NASTY, "left"), Column("value")),
        rows=(
            Row((Cell(NASTY), Cell("1", bold=True, marks="*")), NASTY),
            Row((Cell("=1+1"), Cell("−2")), None),
        ),
        notes=(NASTY,),
        records=(
            {"name": NASTY, "value": 1.0},
            {"name": "=1+1", "value": None},
            {"name": "@x", "value": 1e-9},
        ),
    )


def test_html_escapes_everything() -> None:
    text = html(nasty())
    assert "<script>alert" not in text
    assert text.count("&lt;script&gt;") == 6
    assert "<strong>1</strong><sup>*</sup>" in text


def test_markdown_keeps_its_table() -> None:
    lines = markdown(nasty()).splitlines()
    rows = [line for line in lines if line.startswith("|")]
    assert all(len(re.findall(r"(?<!\\)\|", line)) == 3 for line in rows)
    assert "<script>" not in markdown(nasty())


def test_csv_is_full_precision_and_runs_no_formula() -> None:
    rows = list(csv.DictReader(io.StringIO(csv_text(nasty()))))
    assert rows[0] == {"name": NASTY, "value": "1.0"}
    assert rows[1] == {"name": "'=1+1", "value": ""}
    assert rows[2] == {"name": "'@x", "value": "1e-09"}


def test_json_holds_the_records() -> None:
    assert json.loads(json_text(nasty()))["rows"][0] == {"name": NASTY, "value": 1.0}


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (number(-0.001), "0.00"),
        (number(-1.25, 1), "−1.2"),
        (number(None), "–"),
        (decimal(0.5), ".50"),
        (decimal(-0.5), "−.50"),
        (decimal(0.999), "1.00"),
        (decimal(1.0), "1.00"),
        (decimal(0.0), ".00"),
        (decimal(-12.5), "−12.50"),
        (p_value(0.0004), "< .001"),
        (p_value(0.04), ".040"),
        (between(-0.1, 1.0), "[−.10, 1.00]"),
        (between(None, 1.0), "–"),
    ],
)
def test_numbers_as_printed(shown: str, expected: str) -> None:
    assert shown == expected


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.targets: list[str] = []
        self.outside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id":
                self.ids.append(str(value))
            if name in ("href", "src", "xlink:href", "data-source", "action") and value is not None:
                (self.targets if value.startswith("#") or name == "data-source" else self.outside).append(
                    value
                )


@pytest.mark.slow
def test_the_page_is_whole(run: Run, tmp_path: Path) -> None:
    write_report(run, formats=["html"], out=tmp_path)
    text = (tmp_path / "report.html").read_text("utf-8")
    page = _Page()
    page.feed(text)
    assert page.outside == [], "nothing is fetched"
    assert not re.search(r"url\(\s*['\"]?(?!#)", text), "nothing is fetched by styles"
    assert len(page.ids) == len(set(page.ids))
    assert {target.removeprefix("#") for target in page.targets} <= set(page.ids)
    assert len(text) < 1_000_000
    assert "1. bedside" not in text
    for heading in ("Results", "Comparison", "Agreement", "Missing", "Methods"):
        assert f">{heading}</h2>" in text


@pytest.mark.slow
def test_a_run_without_systems_or_people_has_a_report_too(mdd5k: Path, tmp_path: Path) -> None:
    made = score([mdd5k], tmp_path / "run").run
    tables, _ = write_report(made, formats=["html", "md"])
    assert [table.name for table in tables] == ["results", "missing"]
    results = {record["metric"]: record for record in tables[0].records}
    assert results["exchanges"]["n"] == 150
    assert results["smog.patient"]["value"] is None
    assert "zh" in results["smog.patient"]["why_missing"]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_latex_compiles(run: Run, tmp_path: Path) -> None:
    study = open_ratings_view(EXAMPLES / "study.csv", scales=parse_scales(["safe=0,1"]))
    tables = [
        *build_tables(open_ratings_view(run.path)),
        *validation_tables(validate(study)),
        estimate_table(estimate(study, judge="judge:*")),
        overall_table(compare(open_ratings_view(run.path)).overall),
        difference_table(sizes_for_difference(0.3, sd=0.8, power=0.8)),
        *coder_tables(evaluate_coder(read_transcripts(EXAMPLES / "transcripts.jsonl"), CODERS.load("rules"))),
        nasty(),
    ]
    # Only what pdflatex has no letters for is taken out: Chinese, Hebrew and emoji need lualatex.
    body = "\n".join(latex(table) for table in tables)
    body = re.sub(r"[\u0590-\u05ff\u4e00-\u9fff\U0001f300-\U0001faff]", "", body)
    document = (
        "\\documentclass{article}\\usepackage[T1]{fontenc}\\usepackage{textcomp}\\usepackage{array,booktabs,rotating}"
        "\\usepackage[margin=1cm]{geometry}\\begin{document}" + body + "\\end{document}"
    )
    (tmp_path / "t.tex").write_text(document, "utf-8")
    done = subprocess.run(
        ["pdflatex", "-no-shell-escape", "-interaction=nonstopmode", "-halt-on-error", "t.tex"],
        cwd=tmp_path, env={**os.environ, "HOME": str(tmp_path)}, capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout.decode("latin-1")[-2000:]
