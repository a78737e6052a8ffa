"""Tables, their renderings and the page: numbers against a slow recomputation, and nothing unescaped."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from bedside.analysis.ratings_view import open_ratings_view
from bedside.ratings.run import Run
from bedside.reports.build import build_tables, write_report
from bedside.reports.number_text import between, decimal, number, p_value
from bedside.scoring.score import score
from tests.reports.builders import people_rated, scored


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return people_rated(scored(tmp_path_factory.mktemp("report")))


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
