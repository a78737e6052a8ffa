"""Characters that hide, command or turn round: every form of a table or figure writes out what a name has of them."""

from __future__ import annotations

import io
import re
import unicodedata
import zipfile
from collections.abc import Callable
from xml.etree import ElementTree

import pytest
from rich.console import Console

from bedside.analysis.findings import Finding, MeasureFinding
from bedside.cli.output import note, print_tables, say
from bedside.core.words import visible, visible_line
from bedside.reports.figure_kind import Drawing
from bedside.reports.figure_parts import wrapped
from bedside.reports.finding_words import sentences
from bedside.reports.renderers.html import html
from bedside.reports.renderers.latex import latex
from bedside.reports.renderers.markdown import markdown
from bedside.reports.renderers.records import csv_text
from bedside.reports.renderers.terminal import rich_table
from bedside.reports.table import Table
from bedside.reports.table_formats import excel, word
from tests.reports.test_renderers import table

#: C0, C1, embeddings, isolates and marks of direction, zero width, separators, tags, halves of
#: pairs, private use, blank letters and what is no character.
HIDING = [
    *map(chr, (*range(32), *range(127, 160))),
    *"\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069",
    *"\u200b\u200c\u200d\u2060\ufeff\u00ad\u180e\u2028\u2029\ufff9\U000e0001\U000e0061\ud800\udfff\ufdd0\ufffe\uffff",
    *"\u2800\ufe0f\ue000\U000f0000\U00100000",
]
NAMES = tuple(f"a{letter}b" for letter in HIDING)


def printed(rows: Table) -> str:
    screen = io.StringIO()
    Console(file=screen, width=400).print(rich_table(rows))
    return screen.getvalue()


def parts(document: bytes) -> str:
    """The XML of an office file, each of its parts well-formed."""
    with zipfile.ZipFile(io.BytesIO(document)) as archive:
        texts = [archive.read(name) for name in archive.namelist() if name.endswith((".xml", ".rels"))]
    return "".join("".join(ElementTree.fromstring(text).itertext()) for text in texts)


def svg(rows: Table) -> str:
    def draw() -> object:
        from matplotlib.figure import Figure

        figure = Figure(figsize=(4, 20))
        axis = figure.subplots()
        axis.set_yticks(range(len(rows.rows)), [wrapped(row.cells[0].text) for row in rows.rows])
        return figure

    drawing = Drawing("names", "Names", (), draw)
    assert drawing.written(["png"]).contents["png"].startswith(b"\x89PNG")
    return "".join(ElementTree.fromstring(drawing.svg()).itertext())


FORMS: dict[str, Callable[[Table], str]] = {
    "html": html, "latex": latex, "markdown": markdown, "csv": csv_text, "terminal": printed, "svg": svg,
    "xlsx": lambda rows: parts(excel([rows])), "docx": lambda rows: parts(word([rows])),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_every_form_writes_them_out(form: str) -> None:
    names = NAMES if form != "svg" else tuple(name for name in NAMES if not "\ud800" <= name[1] <= "\udfff")
    written = FORMS[form](table(names))
    # What a form has of its own: the lines of a file, and the marks of the terminal's titles.
    assert {letter for letter in written if letter in HIDING} <= {"\n"}
    assert not re.search(r"a\s+b", written)
    plain = written.replace(r"\textbackslash{}", "\\").replace("\\\\", "\\").replace(r"\allowbreak{}", "")
    codes = {name[1].encode("unicode_escape", "surrogatepass").decode() for name in names}
    assert [code for code in sorted(codes) if f"a{code}b" not in plain] == []


def test_no_name_begins_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    name = "x\nbase is better than x\n"
    shown = r"x\nbase is better than x\n"
    measure = MeasureFinding("m", name)
    (sentence,) = sentences([Finding("not rated", systems=(name,), measures=(measure,))])
    assert (shown in sentence, sentence.count("\n")) == (True, 0)
    say(name)
    note(name)
    assert capsys.readouterr() == (f"{shown}\n", f"{shown}\n")
    print_tables([table((name,))])
    assert [line for line in capsys.readouterr().out.splitlines() if line.startswith("base is")] == []


def test_two_names_that_look_alike_do_so_no_more() -> None:
    shown = [visible_line(name) for name in ("ab", *NAMES)]
    assert len(set(shown)) == len(shown)


def test_what_is_listed_nowhere_hides_neither() -> None:
    """All of Unicode's control and format characters but those of scripts, which are seen or belong to their words."""
    kinds = {"Cc", "Cf", "Cs", "Zl", "Zp"}
    hiding = [chr(code) for code in range(0x110000) if unicodedata.category(chr(code)) in kinds]
    kept = [letter for letter in hiding if letter in visible(f"a{letter}b")]
    signs = re.compile("NUMBER|SIGN|AYAH|ABBREVIATION|POUND MARK|PIASTRE|FOOTNOTE|EGYPTIAN|SHORTHAND|DISPUTED")
    assert [
        hex(ord(letter)) for letter in kept if not signs.search(unicodedata.name(letter, "")) and letter not in "\t\n"
    ] == []


def test_words_of_scripts_that_need_them_stay() -> None:
    for text in ("می\u200cخواهم", "क्\u200dष", "👩\u200d⚕️", "שלום\u200f!", "a\tb\nc", "a\u00a0b"):
        assert visible(text) == text
