"""The templates of a report's HTML: what they escape, what they refuse, and that a wheel holds them."""

from __future__ import annotations

import html as html_module
import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from jinja2 import UndefinedError

import bedside
from bedside.analysis.findings import Finding, MeasureFinding
from bedside.reports.build import FirstScreen, PageAnswer, PageFigure, Section, page
from bedside.reports.renderers.html import html, templates
from bedside.reports.renderers.latex import latex
from bedside.reports.renderers.records import csv_text
from bedside.reports.table import Table
from bedside.reports.table_content import Cell, Column, Row

FOLDER = Path(bedside.__file__).parent / "reports" / "templates"
NASTY = "</textarea></title><script>alert(1)</script>\" onload='x' & {{ 7 * 7 }} {% raw %} שלום"


DRAWING = '<svg width="1"><g id="a"/><use href="#a" fill="url(#a)"/></svg>'


def nasty_page() -> str:
    rows = (Row((Cell(NASTY), Cell(NASTY, marks=NASTY, record=0)), NASTY), Row((Cell("a"), Cell("1"))))
    records = ({"cell": NASTY, "value": 1.0}, {"cell": "b", "value": 2.0})
    columns = (Column(NASTY, "left", NASTY), Column("value"))
    table = Table("nasty", NASTY, columns, rows, (NASTY, "second"), records)
    figure = PageFigure("nasty", NASTY, (NASTY,), DRAWING)
    measure = MeasureFinding("m", NASTY, 0.5, 0.4, 0.6, 12, figure="κ")
    answer = PageAnswer(NASTY, (Finding("agree", f"judge:{NASTY}", measures=(measure,), of=1),), "nasty")
    first = FirstScreen((answer,), NASTY, (NASTY,), replace(figure, name="first", narrow=DRAWING))
    return page(NASTY, NASTY, [Section(NASTY, (NASTY,), (table,), (figure,), folded=True, paste=NASTY)], first)


class _Elements(HTMLParser):
    """What a browser makes of a page: its elements with their attributes, and the text of some."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))


def test_what_is_put_on_a_page_stays_text() -> None:
    text = nasty_page()
    parser = _Elements()
    parser.feed(text)
    tags = [tag for tag, _ in parser.elements]
    assert (tags.count("script"), tags.count("title")) == (1, 1)
    assert not [attributes for _, attributes in parser.elements if "onload" in attributes]
    assert "<script>alert" not in text
    assert "49" not in re.sub(r"<style>.*?</style>|<script>.*?</script>", "", text, flags=re.DOTALL)
    label = next(attributes["aria-label"] for tag, attributes in parser.elements if tag == "svg")
    assert label == NASTY  # an attribute holds no <bdi>, and neither does a title
    assert f"<title>{html_module.escape(NASTY)}</title>" in text
    assert f"<p><bdi>{html_module.escape(NASTY)}</bdi></p>" in text


def test_two_drawings_share_no_ids() -> None:
    figures = tuple(PageFigure(name, "c", (), DRAWING) for name in ("first", "second"))
    text = page("t", "l", [Section("one", figures=figures)])
    for pattern in (r'id="(f\d-\d-a)"', r'href="#(f\d-\d-a)"', r"url\(#(f\d-\d-a)\)"):
        assert re.findall(pattern, text) == ["f1-1-a", "f1-2-a"]


def test_what_is_copied_is_the_file() -> None:
    """Lines and all, and without the marks that set right-to-left text apart on the page."""
    rows = (Row((Cell("x"), Cell("1", record=0))), Row((Cell("y & z"), Cell("2", record=1))))
    records = ({"name": "שלום", "value": 1.0}, {"name": "y & z", "value": 2.0})
    table = Table("small", "Small", (Column("שם", "left"), Column("a")), rows, records=records)
    text = page("t", "l", [Section("one", tables=(table,))])
    for form, content in (("latex", latex(table)), ("csv", csv_text(table))):
        area = rf'<textarea id="source-small-{form}" hidden readonly>(.*?)</textarea>'
        shown = re.search(area, text, re.DOTALL)
        assert shown is not None
        assert html_module.unescape(shown[1]) == content.replace("\r\n", "\n")
        assert content.count("\n") > 2


def test_every_template_escapes_and_misses_nothing() -> None:
    for path in FOLDER.glob("*.html"):
        source = path.read_text("utf-8")
        assert "autoescape" not in source, path
        assert not re.search(r"\|\s*safe\b", source), path
    assert templates().autoescape is True
    with pytest.raises(UndefinedError):
        templates().get_template("table.html").render()


def test_a_number_that_no_record_explains_is_an_error() -> None:
    table = Table("t", "T", (Column("a", "left"), Column("b")), (Row((Cell("x"), Cell("1", record=3))),))
    with pytest.raises((UndefinedError, IndexError)):
        html(table)


@pytest.mark.slow
def test_nothing_that_prints_no_page_loads_jinja() -> None:
    program = (
        "import sys, contextlib, bedside, bedside.cli, bedside.reports.table, bedside.api, bedside.scoring.score\n"
        "with contextlib.suppress(SystemExit): bedside.cli.main(['--help'])\n"
        "sys.exit(any(name.partition('.')[0] in ('jinja2', 'markupsafe', 'filelock') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, check=False).returncode == 0


def test_a_wheel_holds_the_templates() -> None:
    """The build takes every file of the package that git does not ignore."""
    files = sorted(FOLDER.iterdir())
    assert [path.name for path in files] == ["page.css", "page.html", "page.js", "review.html", "table.html"]
    if (Path(bedside.__file__).parents[1] / ".git").exists():
        asked = ["git", "check-ignore", *map(str, files)]
        assert subprocess.run(asked, cwd=FOLDER, capture_output=True, check=False).returncode == 1
