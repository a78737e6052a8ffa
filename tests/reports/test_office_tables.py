"""Tables in Word and Excel: as they are shown, read back with the libraries that other programs read them with."""

from __future__ import annotations

import io
import math
import re
import sys
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import docx
import openpyxl
import pytest
from docx.enum.section import WD_ORIENTATION
from docx.oxml.ns import qn

from bedside.analysis.ratings_view import open_ratings_view
from bedside.core.errors import MissingExtraError
from bedside.reports.build import usual_formats, write_report, write_tables
from bedside.reports.contents import make_tables
from bedside.reports.number_text import number
from bedside.reports.table import Table
from bedside.reports.table_content import Cell, Column, Row
from bedside.reports.table_formats import excel, word
from tests.conftest import Call
from tests.reports.builders import made_run, scored
from tests.reports.test_latex_layout import grid, hostile_tables, interval_table
from tests.reports.test_renderers import NASTY, table as nasty_table

SPACES = re.compile(r"[ \u00a0\u2009\u202f]")


def small() -> Table:
    """A table of two levels of headings, marks and cells of several numbers."""
    return Table(
        "small",
        "Empathy by system",
        (Column("Metric", "left"), Column("one", group="Systems"), Column("two", group="Systems"), Column("p")),
        (
            Row((Cell("Empathy"), Cell("3.50 (0.20)", bold=True, marks="**", record=0),
                 Cell("−1.25 (0.50) n=3/6", underline=True), Cell("< .001")), "People"),
            Row((Cell("=1+1"), Cell("45 % {46.2}"), Cell("1,234"), Cell(".62")), "People"),
            Row((Cell("Warmth"), Cell("–"), Cell("+0.31 [−.05, 1.20]"), Cell("3 metrics", marks="a")), "A judge"),
        ),
        ("A note.", "=Another"),
        ({"cell": "empathy/one", "value": 3.4987},),
    )  # fmt: skip


def workbook(content: bytes) -> Any:
    return openpyxl.load_workbook(io.BytesIO(content), rich_text=True)


def shown(value: float, number_format: str) -> str:
    """A number as a spreadsheet shows it: its format's part for its sign, with the signs that are to be shown as they
    are."""
    positive, negative, zero = number_format.split(";")
    part = negative if value < 0 else zero if value == 0 else positive
    text, digits = "", ""
    for literal, quoted, pattern in re.findall(r'\\(.)|"([^"]*)"|([#,.0]+)', part):
        if pattern:
            assert not digits, "one number in a cell"
            digits = pattern
            decimals = len(pattern.partition(".")[2])
            # Halves are rounded up there.
            scaled = math.floor(abs(value) * 10**decimals + 0.5 + 1e-9) / 10**decimals
            number = f"{scaled:,.{decimals}f}" if "," in pattern else f"{scaled:.{decimals}f}"
            text += number.removeprefix("0") if pattern.startswith(".") and scaled < 1 else number
        else:
            text += literal or quoted
    return text


def sheet_rows(sheet: Any) -> Iterator[list[str]]:
    """Each row's cells as they are shown."""
    for row in sheet.iter_rows():
        yield [
            shown(cell.value, cell.number_format) if isinstance(cell.value, (int, float)) else str(cell.value)
            for cell in row
            if cell.value is not None
        ]


def test_excel_has_numbers_as_numbers_that_look_as_in_the_table() -> None:
    sheet = workbook(excel([small()]))["small"]
    assert list(sheet_rows(sheet)) == [
        ["Empathy by system"], ["Metric", "Systems", "p"], ["one", "two"], ["People"],
        ["Empathy", "3.50", "(0.20)**", "−1.25", "(0.50)", "n=3", "/6", "< .001"],
        ["=1+1", "45 %", "{46.2}", "1,234", ".62"], ["A judge"],
        ["Warmth", "–", "+0.31", "[−.05,", "1.20]", "3 metricsa"], ["A note."], ["=Another"],
    ]  # fmt: skip
    by_text = {str(cell.value): cell for row in sheet.iter_rows() for cell in row if cell.value is not None}
    assert by_text["=1+1"].data_type == "s", "text is no formula"
    assert sheet["B5"].value == 3.4987, "all digits, where the records have them"
    assert sheet["B5"].font.b
    assert sheet["D5"].font.u == "single"
    assert sheet["D6"].value == 1234
    assert {"B2:G2", "A2:A3", "B3:C3", "D3:G3"} <= {str(merged) for merged in sheet.merged_cells.ranges}
    assert sheet.freeze_panes == "B4"


def written(texts: Sequence[str], values: Sequence[float]) -> list[Any]:
    """What a row of cells holds in Excel, where the records have these values."""
    cells = (Cell("x"), *(Cell(text, record=place) for place, text in enumerate(texts)))
    columns = (Column("", "left"), *(Column(str(place)) for place in range(len(texts))))
    table = Table("t", "T", columns, (Row(cells),), records=tuple({"value": value} for value in values))
    return [cell.value for cell in workbook(excel([table]))["t"][3]][1:]


def test_a_number_whose_record_would_look_otherwise_keeps_what_is_shown() -> None:
    shown = written(("0.12", "45.0", "7.0", "1.00"), (0.125, 0.45, 3.0, math.nan))
    assert shown == [0.12, 45.0, 7.0, 1.0]


def test_what_rounds_to_zero_has_no_minus_sign_in_excel() -> None:
    """Excel shows -0.001 with two decimals as −0.00, where the table says 0.00."""
    values = (-0.001, 0.001, -0.006, 0.0)
    assert written([number(value) for value in values], values) == [0, 0.001, -0.006, 0]


def test_a_workbook_lists_its_tables_under_names_that_excel_takes() -> None:
    names = ["a/b:c" * 10, "a/b:c" * 10, "Tables", "history", "'quoted'", ""]
    book = workbook(excel([grid(name, ["A"], [["x", "1"]], caption=f"Caption of {name}") for name in names]))
    assert book.sheetnames[0] == "Tables"
    assert len({name.lower() for name in book.sheetnames}) == len(names) + 1
    assert all(0 < len(name) <= 31 and not re.search(r"[\[\]:*?/\\]", name) for name in book.sheetnames)
    for row, name in enumerate(book.sheetnames[1:], 2):
        assert book["Tables"].cell(row, 1).value == name
        assert book["Tables"].cell(row, 1).hyperlink.location == "'" + name.replace("'", "''") + "'!A1"


def test_a_workbook_has_no_more_formats_than_excel_opens() -> None:
    cells = [[f"row {n}", f"{n}.{'0' * (n % 28 + 1)} (n={n}.{'0' * (n // 28)})"] for n in range(1, 400)]
    book = workbook(excel([grid("t", ["A"], cells)]))
    formats = {cell.number_format for row in book["t"].iter_rows() for cell in row}
    assert len(formats) <= 200
    last = list(sheet_rows(book["t"]))[-2]
    assert SPACES.sub("", "".join(last)) == SPACES.sub("", "".join(cells[-1])), "beyond them, as text"


def text_of(cell: Any) -> str:
    return "\n".join(paragraph.text for paragraph in cell.paragraphs)


def test_word_has_the_table_as_shown() -> None:
    document = docx.Document(io.BytesIO(word([small()])))
    (table,) = document.tables
    assert [[text_of(cell) for cell in row.cells] for row in table.rows] == [
        ["Metric", "Systems", "Systems", "p"], ["Metric", "one", "two", "p"], ["People"] * 4,
        ["Empathy", "3.50 (0.20)**", "−1.25 (0.50) n=3/6", "< .001"], ["=1+1", "45 % {46.2}", "1,234", ".62"],
        ["A judge"] * 4, ["Warmth", "–", "+0.31 [−.05, 1.20]", "3 metricsa"],
    ]  # fmt: skip
    styles = [cell.paragraphs[0].style for row in table.rows for cell in row.cells]
    assert {style.name for style in styles if style} == {"Table text 10 pt"}
    number, marks = table.cell(3, 1).paragraphs[0].runs
    assert number.bold
    assert marks.font.superscript
    assert table.cell(3, 2).paragraphs[0].runs[0].underline
    heads = [row._tr.trPr.find(qn("w:tblHeader")) is not None for row in table.rows]
    assert heads == [True, True, *[False] * 5], "headings are repeated on each page"
    caption, *notes = [paragraph for paragraph in document.paragraphs if paragraph.text]
    assert caption.style is not None
    assert caption.style.name == "Caption"
    assert caption.text.endswith(". Empathy by system")
    assert " SEQ Table " in caption._p.xml, "Word numbers it"
    assert [note.text for note in notes] == ["A note.", "=Another"]


def test_word_turns_the_page_for_a_wide_table_and_parts_a_wider_one() -> None:
    document = docx.Document(io.BytesIO(word([small(), interval_table(6), interval_table(14)])))
    turned = [section.orientation for section in document.sections]
    assert turned == [WD_ORIENTATION.PORTRAIT, WD_ORIENTATION.LANDSCAPE]
    width, height = document.sections[1].page_width, document.sections[1].page_height
    assert width is not None
    assert height is not None
    assert width > height
    parts = document.tables[2:]
    assert len(parts) > 1
    titles = [text_of(cell) for part in parts for cell in part.rows[0].cells if text_of(cell) != "Metric"]
    assert titles == [f"Statistic {number} [95 % CI]" for number in range(14)]
    for table, room in zip(document.tables, (451, *[698] * 9), strict=False):
        assert int(table._tbl.tblPr.find(qn("w:tblW")).get(qn("w:w"))) <= 20 * room


@pytest.mark.slow
def test_whatever_the_text_both_can_be_read_again() -> None:
    text = "".join(map(chr, (*range(32), 0xFFFE, 0xFFFF, 0x1F600))) + "".join(NASTY)
    row = Row((Cell(text, marks=text, bold=True),), text)
    odd = Table("odd", text, (Column(text, "left", text),), (row,), (text,))
    tables = [nasty_table(), odd, *hostile_tables()]
    assert len(workbook(excel(tables)).sheetnames) == len(tables) + 1
    document = docx.Document(io.BytesIO(word(tables)))
    assert len(document.tables) >= len(tables)
    assert "🙂" in text_of(document.tables[-1].cell(0, 0)) or "🙂" in document.element.xml


def test_the_same_tables_are_the_same_bytes_and_have_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    for render in (word, excel):
        first = render([small(), interval_table(6)])
        monkeypatch.setattr("time.time", lambda: 2_000_000_000.0)
        monkeypatch.setattr("time.localtime", lambda *_: (2033, 5, 18, 3, 33, 20, 2, 138, 0))
        assert render([small(), interval_table(6)]) == first
        monkeypatch.undo()
        with zipfile.ZipFile(io.BytesIO(first)) as archive:
            assert {part.date_time for part in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
            assert b"dcterms:created" not in archive.read("docProps/core.xml")


def test_without_python_docx_a_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "docx", None)
    with pytest.raises(MissingExtraError, match=r"bedside\[forms\]"):
        write_tables([small()], tmp_path / "out", ["md", "docx"])
    assert not (tmp_path / "out").exists(), "nothing is written"
    monkeypatch.delitem(sys.modules, "docx")
    monkeypatch.setattr("bedside.reports.build.find_spec", lambda _: None)
    assert "docx" not in usual_formats()
    assert "xlsx" in usual_formats()


@pytest.mark.slow
def test_every_number_of_a_report_is_in_its_workbook_as_shown(tmp_path: Path) -> None:
    run = made_run(tmp_path, "multisense", cases=3)
    tables = make_tables(open_ratings_view(run.path))
    book = workbook(excel(tables))
    numbers = 0
    for table, name in zip(tables, book.sheetnames[1:], strict=True):
        rows = {SPACES.sub("", "".join(row)) for row in sheet_rows(book[name])}
        for row in table.rows:
            assert SPACES.sub("", "".join(cell.text + cell.marks for cell in row.cells)) in rows
        numbers += sum(isinstance(cell.value, (int, float)) for row in book[name].iter_rows() for cell in row)
    assert numbers > 500


@pytest.mark.slow
def test_a_report_has_one_file_of_all_tables_and_one_of_each_that_is_named(tmp_path: Path) -> None:
    run = made_run(tmp_path, "note2chat", cases=3)
    tables, files = write_report(run, formats=["docx", "xlsx"], out=tmp_path / "whole")
    assert [file.name for file in files] == ["tables.docx", "tables.xlsx"]
    names = [table.name for table in tables]
    assert names[0] == "history"
    # A sheet can't have this name in Excel.
    assert workbook(files[1].read_bytes()).sheetnames == ["Tables", "history-table", *names[1:]]
    _, files = write_report(run, tables=["missing", "agreement"], formats=["xlsx"], out=tmp_path / "named")
    assert {file.name for file in files} == {"missing.xlsx", "agreement.xlsx"}


@pytest.mark.slow
def test_formats_and_columns_by_the_command(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scored(tmp_path, metrics=["structure"])
    asked = ("report", "run", "--table", "results", "--out", "out")
    code, out, _ = call(*asked, "--format", "latex,docx,xlsx", "--columns", "2", "--siunitx")
    assert (code, "out: 1 table (docx, tex, xlsx)" in " ".join(out.split())) == (0, True), out
    text = (tmp_path / "out" / "results.tex").read_text("utf-8")
    assert text.startswith("% Needs \\usepackage{array,booktabs,siunitx}")
    assert docx.Document(str(tmp_path / "out" / "results.docx")).tables
    code, _, err = call(*asked, "--columns", "3")
    assert (code, err.count("\n"), "--columns" in err) == (2, 1, True)
    monkeypatch.setattr("bedside.reports.build.find_spec", lambda _: None)
    code, _, err = call("report", "run", "--out", "whole")
    assert (code, "No Word document" in err) == (0, True)
    assert (tmp_path / "whole" / "tables.xlsx").is_file()
    assert not (tmp_path / "whole" / "tables.docx").exists()
