"""Tables in every format: marks, headings that columns share, and characters that mean something there."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest
from rich.console import Console

from bedside.core.words import visible_line
from bedside.reports.renderers.html import html
from bedside.reports.renderers.latex import escape_latex, latex
from bedside.reports.renderers.markdown import escape_markdown, markdown
from bedside.reports.renderers.records import csv_text, json_text, safe_cell
from bedside.reports.renderers.terminal import rich_table
from bedside.reports.table import Table
from bedside.reports.table_content import Cell, Column, Row

#: Turns and names as they may come.
NASTY = (
    "<script>alert('x')</script>", "a & b", "100 %", "snake_case", "$5 and $6", "back\\slash", "#1", "~tilde~", "^hat",
    "{braces}", "[x](http://y)", "a | b", "`code`", '"quoted"', "-- --- ``''", "🙂", "中文", "שלום", "مرحبا",
    "e\u0301 Å ß ž", "line\nbreak", "tab\tbell\x07nul\x00", "*stars* **two**", "- list", "1. list", "# heading",
    "=1+1", "<<>>", "½ ₂ Ω",
)  # fmt: skip

MINUS = Cell("−1")


def table(texts: tuple[str, ...] = NASTY) -> Table:
    """A table with each text in every place a text can stand."""
    return Table(
        name="nasty",
        title=" ".join(texts),
        columns=(Column("Name", "left"), *(Column(text, group=text) for text in texts[:3]), Column("n")),
        rows=tuple(
            Row((Cell(text), Cell(text, bold=True, marks="*"), Cell(text, underline=True), Cell(text), MINUS), text)
            for text in texts
        ),
        notes=texts,
        records=tuple({"name": text, "value": -1.5, "missing": None} for text in texts),
    )


def small() -> Table:
    return Table(
        "small",
        "Small",
        (Column("Metric", "left"), Column("a", group="Both"), Column("b", group="Both")),
        (Row((Cell("x"), Cell("1", bold=True, marks="**", record=0), Cell("2", underline=True))),),
        ("A note.",),
        ({"cell": "x/a", "value": 1.0},),
    )


def test_marks_and_shared_headings_in_each_format() -> None:
    assert "| x | **1**\\*\\* | <ins>2</ins> |" in markdown(small())
    assert "Both: a" in markdown(small())
    text = latex(small())
    assert r"\multicolumn{2}{c@{}}{Both}" in text
    assert r"\cmidrule(lr){2-3}" in text
    assert r"\textbf{1}\textsuperscript{**} & \underline{2}" in text
    page = html(small())
    assert '<th scope="colgroup" colspan="2">Both</th>' in page
    assert '<td class="number" data-cell="x/a"><strong>1</strong><sup>**</sup></td>' in page
    assert "<u>2</u>" in page
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(rich_table(small()))
    assert "Both" in console.export_text()


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def test_html_shows_every_text_as_it_is() -> None:
    page = _Tags()
    page.feed(html(table()))
    assert page.tags <= {"figure", "div", "table", "caption", "thead", "tbody", "tr", "th", "td", "strong", "u", "sup",
                         "figcaption", "br", "bdi", "span"}  # fmt: skip
    for text in NASTY:
        shown = "".join(" " if c.isspace() else c for c in visible_line(text))
        assert shown in page.text
    assert "<bdi>שלום</bdi>" in html(table())


def test_markdown_rows_keep_their_cells() -> None:
    lines = markdown(table()).splitlines()
    for line in (line for line in lines if line.startswith("|")):
        assert len(re.findall(r"(?<!\\)\|", line)) == 6
    assert not any(re.match(r"\s*([-+#=]|\d+\.) ", line) for line in lines)
    assert "<script" not in markdown(table())
    assert escape_markdown("$a$ ~~b~~ [c](d)") == r"\$a\$ \~\~b\~\~ \[c\](d)"


def test_csv_has_numbers_as_numbers_and_no_formula() -> None:
    rows = list(csv.DictReader(io.StringIO(csv_text(table()))))
    assert all(row["value"] == "-1.5" for row in rows)
    assert all(row["missing"] == "" for row in rows)
    assert {"'=1+1", "'- list", "a & b"} <= {row["name"] for row in rows}
    for start in ("=", "+", "-", "@", " =", "\u2003=", "＝"):
        assert str(safe_cell(f"{start}cmd")).startswith("'")
    assert safe_cell(-3.5) == -3.5
    assert safe_cell("−3") == "−3", "a true minus sign begins no formula"
    header = csv_text(Table("t", "T", (), (), (), ({"=factor": 1},))).splitlines()[0]
    assert header == "'=factor"


def test_json_is_whole() -> None:
    rows = json.loads(json_text(table()))["rows"]
    assert rows == [{"name": text, "value": -1.5, "missing": None} for text in NASTY]


def test_latex_escapes() -> None:
    assert escape_latex("a_b & 50% #1 $x$ {y} \\z ~ ^") == (
        r"a\_b \& 50\% \#1 \$x\$ \{y\} \textbackslash{}z \textasciitilde{} \textasciicircum{}"
    )
    assert escape_latex("a -- b") == "a -{}- b"
    assert escape_latex("é ž") == "é ž"
    assert escape_latex("中") == r"\bedsidecharacter{4E2D}{中}"
    assert r"\def\bedsidecharacter" in latex(table())
    assert "bedsidecharacter" not in latex(small())
    assert "\n{}[x]" in latex(Table("t", "T", (Column("a"),), (Row((Cell("[x]"),)),)))


def compiled(engine: str, folder: Path, body: str, encoding: str = "") -> str:
    """What the engine says of the document; its text, where pdftotext is there."""
    if shutil.which(engine) is None:
        pytest.skip(f"{engine} is not installed")
    head = f"\\documentclass{{article}}{encoding}\\usepackage{{array,booktabs,rotating}}"
    document = f"{head}\\begin{{document}}{body}\\listoftables\\end{{document}}"
    (folder / "t.tex").write_text(document, "utf-8")
    command = [engine, "-no-shell-escape", "-interaction=nonstopmode", "-halt-on-error", "t.tex"]
    environment = {**os.environ, "HOME": str(folder), "TEXMFVAR": str(folder)}
    for _ in range(2):
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False)
        assert done.returncode == 0, done.stdout.decode("latin-1")[-2000:]
    if shutil.which("pdftotext") is None:
        return ""
    text = subprocess.run(["pdftotext", "t.pdf", "-"], cwd=folder, capture_output=True, check=True)
    return text.stdout.decode()


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["pdflatex", "lualatex"])
@pytest.mark.parametrize("rows", [10, None], ids=["one float", "several"])
def test_latex_compiles_whatever_the_text(engine: str, rows: int | None, tmp_path: Path) -> None:
    wide = table()
    made = Table(wide.name, "Texts", wide.columns, wide.rows[:rows], wide.notes)
    encoding = "\\usepackage[T1]{fontenc}" if engine == "pdflatex" else ""
    text = compiled(engine, tmp_path, latex(made), encoding)
    if text:
        assert "a & b" in text
        assert re.search(r"100\s+%", text)
        assert "[U+4E2D]" in text, "what the font lacks is said by its code"


@pytest.mark.slow
def test_latex_compiles_without_font_encoding(tmp_path: Path) -> None:
    compiled("pdflatex", tmp_path, latex(table(NASTY[:20])))
