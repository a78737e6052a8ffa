"""Tables in LaTeX fit their paper: by their structure, and by what pdflatex says of every table there is."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from bedside import EXAMPLES
from bedside.analysis.comparison import compare
from bedside.analysis.estimation import estimate
from bedside.analysis.ratings_view import open_ratings_view
from bedside.analysis.study_size import sizes_for_difference
from bedside.analysis.validation import validate
from bedside.metrics.coders.contract import CODERS
from bedside.metrics.coders.testing.coder_test import evaluate_coder
from bedside.ratings.scales import parse_scales
from bedside.ratings.suites import SUITES
from bedside.reports.build import judge_cards
from bedside.reports.checklist import checklists
from bedside.reports.coder_test import coder_tables
from bedside.reports.contents import make_tables
from bedside.reports.estimation import estimate_table
from bedside.reports.renderers.latex import LatexPaper, escape_latex, latex
from bedside.reports.renderers.wrapped_text import text_width
from bedside.reports.report_settings import ReportSettings
from bedside.reports.study_size import difference_table
from bedside.reports.table import Table
from bedside.reports.table_content import Cell, Column, Row
from bedside.reports.tables.comparison import overall_table
from bedside.reports.validation import validation_tables
from bedside.transcripts.reading import read_transcripts
from tests.reports.builders import TALKS, made_run, scored
from tests.reports.test_renderers import table as nasty_table

needs_pdflatex = pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
SPECIAL = r"% & _ # $ ~ ^ \ {}"
LONG_WORD = "Pneumono" * 10
LONG_NAMES = (
    "gpt-4o-mini-2024-07-18-fine-tuned-on-motivational-interviewing:epoch_3",
    "meta-llama/Llama-3.1-405B-Instruct-Turbo-with-a-very-long-system-name_v2",
    LONG_WORD,
)
#: Both sizes and both numbers of columns in every run, the other two pairs in `make soak`.
PAPERS = (
    ("a4paper", 1), ("letterpaper", 2), pytest.param("a4paper", 2, marks=pytest.mark.soak_only),
    pytest.param("letterpaper", 1, marks=pytest.mark.soak_only),
)  # fmt: skip


def grid(name: str, titles: list[str], rows: list[list[str]], *, caption: str = "A title",
         notes: tuple[str, ...] = ("A note.",), grouped: bool = False) -> Table:  # fmt: skip
    """A table of a column of names and columns of numbers; grouped, with headings over columns and over rows."""
    over = [f"Group {place // 2} {SPECIAL}" if grouped else None for place in range(len(titles))]
    above = [f"Part {place // 7} {SPECIAL}" if grouped else None for place in range(len(rows))]
    columns = (Column(title, group=group) for title, group in zip(titles, over, strict=True))
    lines = tuple(Row(tuple(map(Cell, row)), part) for row, part in zip(rows, above, strict=True))
    return Table(name, caption, (Column("Metric", "left"), *columns), lines, notes)


def interval_table(columns: int, rows: int = 3) -> Table:
    """Many rows of means with intervals, under titles that say so."""
    titles = [f"Statistic {number} [95 % CI]" for number in range(columns)]
    cells = [f"{number}.50 [−0.{number % 10}1, 1.{number % 10}3]" for number in range(columns)]
    return grid("intervals", titles, [["Empathy towards the patient", *cells]] * rows)


def hostile_tables() -> list[Table]:
    """Tables with what is hardest to fit."""
    sentences = "A sentence of a note that goes on and on. " * 200
    many = [f"Measure {number} {SPECIAL}" for number in range(30)]
    numbers = [f"{number}.50 (0.10)" for number in range(30)]
    return [
        nasty_table(),
        grid("names", list(LONG_NAMES), [["Empathy", "3.50 (0.20)", "−1.25 (0.50)", "2.00"]] * 5,
             caption=" ".join(LONG_NAMES), notes=(*LONG_NAMES, " ".join(LONG_NAMES) * 10)),
        grid("row-names", ["a", "b"], [[name, "1.00", "2.00"] for name in LONG_NAMES] * 3, grouped=True),
        grid("columns", many, [["x", *numbers]] * 3, grouped=True),
        grid("rows", ["A", "B"], [[f"row {number} {SPECIAL}", "1.00", "2.00"] for number in range(200)], grouped=True),
        grid("both", many, [[f"row {number}", *numbers] for number in range(200)], grouped=True),
        grid("words", [LONG_WORD, f"{LONG_WORD}x", "B"], [[LONG_WORD, LONG_WORD, LONG_WORD, "2.00"]] * 4,
             caption=LONG_WORD * 3, notes=(LONG_WORD * 30,), grouped=True),
        grid("foreign", ["中文" * 10, "שלום" * 5], [["中文测试" * 10, "🙂🙂🙂", "مرحبا بالعالم" * 4]] * 4,
             caption="中文" * 30, notes=("العربية " * 40,)),
        grid("no-rows", ["A"], []),
        grid("notes", ["A"], [["x", "1"]], notes=(sentences,) * 3),
        grid("text", ["A"], [["x", "1"], [sentences, "2"]]),
        interval_table(14),
        interval_table(4, rows=60),
        Table("underlined", "Underlined", (Column("", "left"), Column("Text", "left")),
              (Row((Cell("a"), Cell(sentences[:400], underline=True, marks="***"))),)),
    ]  # fmt: skip


@pytest.fixture(scope="module")
def bundled(tmp_path_factory: pytest.TempPathFactory) -> list[Table]:
    """Every table of every shipped suite that an example run has something for, those of its source, and those of
    questions to ratings."""
    source = ReportSettings(as_published=True, published_numbers=True)
    tables: list[Table] = []
    for suite in SUITES.names():
        run = made_run(tmp_path_factory.mktemp(suite), suite, cases=3)
        view = open_ratings_view(run.path)
        made = make_tables(view)
        if SUITES.load(suite).as_published.tables:
            tables += make_tables(view, suite=SUITES.load(suite), settings=source)
        tables += [*made, *judge_cards(view, 0), *checklists(run, view, made)]
    study = open_ratings_view(EXAMPLES / "study.csv", scales=parse_scales(["safe=0,1"]))
    example = open_ratings_view(scored(tmp_path_factory.mktemp("example")).path)
    talks = read_transcripts(TALKS)
    return [
        *tables, *validation_tables(validate(study)), estimate_table(estimate(study, judge="judge:*")),
        overall_table(compare(example).overall), difference_table(sizes_for_difference(0.3, sd=0.8, power=0.8)),
        *coder_tables(evaluate_coder(talks, CODERS.load("rules"))),
    ]  # fmt: skip


def document(tables: list[Table], paper: str, columns: int, *, siunitx: bool = False) -> str:
    """A paper of all tables; the log has each one's name before it."""
    packages = ["array", "booktabs", "rotating", *(["siunitx"] if siunitx else [])]
    options = f"10pt,{paper}" + (",twocolumn" if columns == 2 else "")
    style = LatexPaper(columns=1 if columns == 1 else 2, siunitx=siunitx)
    body = (
        f"\\typeout{{TABLE {number} {table.name}}}\n{latex(table, style)}\\clearpage\n"
        for number, table in enumerate(tables)
    )
    return (
        f"\\documentclass[{options}]{{article}}\\usepackage[T1]{{fontenc}}\\usepackage{{{','.join(packages)}}}\n"
        f"\\begin{{document}}\n{''.join(body)}\\end{{document}}\n"
    )


def log_of(source: str, folder: Path) -> str:
    """What pdflatex says of a document."""
    (folder / "t.tex").write_text(source, "utf-8")
    done = subprocess.run(
        ["pdflatex", "-no-shell-escape", "-interaction=nonstopmode", "-halt-on-error", "t.tex"],
        cwd=folder, env={**os.environ, "HOME": str(folder), "max_print_line": "10000"}, capture_output=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout.decode("latin-1")[-2000:]
    return (folder / "t.log").read_text("latin-1")


def need_siunitx() -> None:
    if subprocess.run(["kpsewhich", "siunitx.sty"], capture_output=True, check=False).returncode:
        pytest.skip("the LaTeX package siunitx is not installed")


def overfull(log: str) -> dict[str, list[str]]:
    """What sticks out by more than 2 pt or is higher than a page, by table."""
    problems: dict[str, list[str]] = {}
    for part in log.split("\nTABLE ")[1:]:
        name, _, said = part.partition("\n")
        boxes = [box[0] for box in re.finditer(r"Overfull \\.box \(([\d.]+)pt.*", said) if float(box[1]) > 2]
        boxes += re.findall("Float too large.*", said)
        if boxes:
            problems[name] = boxes
    return problems


@needs_pdflatex
@pytest.mark.slow
@pytest.mark.parametrize(("paper", "columns"), PAPERS)
def test_every_table_fits_its_paper(bundled: list[Table], paper: str, columns: int, tmp_path: Path) -> None:
    tables = [*bundled, *hostile_tables()]
    log = log_of(document(tables, paper, columns), tmp_path)
    assert log.count("\nTABLE ") == len(tables) > 80
    assert overfull(log) == {}


@needs_pdflatex
@pytest.mark.slow
@pytest.mark.parametrize("columns", [1, 2])
def test_tables_aligned_by_siunitx_fit_their_paper(bundled: list[Table], columns: int, tmp_path: Path) -> None:
    need_siunitx()
    source = document([*bundled[:20], *hostile_tables()], "a4paper", columns, siunitx=True)
    assert "S[" in source
    assert overfull(log_of(source, tmp_path)) == {}


@needs_pdflatex
@pytest.mark.slow
def test_measured_widths_are_those_of_latex(tmp_path: Path) -> None:
    """Kerning is all that they differ by."""
    texts = [
        "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789", "()[],.;:/!?*+=@'",
        "Empathy towards the patient (people) ↑", "0.50 [−0.01, 1.03]", "< .001", "κ = .62, χ² ≥ 3 ± 0.5 × 10",
        "É ž Å ø æ ß", SPECIAL, "“quoted” – and — … ‘so’", "中文", "→ ∞ √ Δ α ρ ω ε σ Σ μ β π · † |",
    ]  # fmt: skip
    preamble = "\n".join(latex(grid("t", ["A"], [["中", "1"]])).splitlines()[1:5])
    lines = [rf"\settowidth\measured{{{escape_latex(text)}}}\typeout{{WIDTH \the\measured}}" for text in texts]
    source = (
        "\\documentclass[10pt]{article}\\usepackage[T1]{fontenc}\\newlength\\measured\\begin{document}\n"
        f"{preamble[: preamble.index('fi}') + 3]}\n" + "\n".join(lines) + "\\end{document}\n"
    )
    widths = [float(width) for width in re.findall(r"\nWIDTH ([\d.]+)pt", log_of(source, tmp_path))]
    assert len(widths) == len(texts)
    for text, width in zip(texts, widths, strict=True):
        assert 0.995 * width <= text_width(text) <= 1.06 * width, text


def test_a_small_table_is_set_plainly() -> None:
    text = latex(grid("small", ["a", "b"], [["x", "1", "2"]]))
    assert text.startswith("% Needs \\usepackage{array,booktabs}\n\\begin{table}[htbp]\n\\centering\n")
    assert r"\begin{tabular}{@{}lrr@{}}" in text
    assert "tabcolsep" not in text
    assert "continued" not in text


def test_a_paper_of_two_columns_has_small_tables_in_one_and_wide_ones_across_both() -> None:
    paper = LatexPaper(columns=2)
    assert r"\begin{table}[htbp]" in latex(grid("small", ["a", "b"], [["x", "1", "2"]]), paper)
    assert r"\begin{table*}[htbp]" in latex(interval_table(4), paper)
    assert "longtable" not in latex(interval_table(4, rows=200), paper)


def test_titles_of_columns_break_before_letters_shrink() -> None:
    text = latex(grid("t", ["Mean words a turn of the therapist"] * 6, [["x", *["1"] * 6]]))
    assert r"\begin{tabular}[b]{@{}r@{}}" in text
    assert r"\scriptsize" not in text


def test_few_long_rows_become_columns() -> None:
    wide = grid("t", [f"A rather long measure {number}" for number in range(12)],
                [[name, *["1.50 [−0.10, 2.30]"] * 12] for name in ("one", "two")])  # fmt: skip
    text = latex(wide)
    assert " & one & two " in text
    assert text.count(r"A rather long measure") == 12
    assert text.count(r"\begin{tabular}{") == 1


def test_a_table_too_wide_for_any_page_comes_in_parts_that_each_name_their_rows() -> None:
    text = latex(interval_table(30, rows=12))
    parts = text.split(r"\midrule")[1:]
    assert len(parts) > 1
    for number in range(30):
        assert text.count(f"& {number}.50 [") == 12
    assert all(part.count("Empathy") >= 1 for part in parts)
    assert text.count(r"\label") == text.count("A note.") == 1
    floats = text.count(r"\begin{table}")
    assert text.count(r"(continued)}") == text.count(r"\addtocounter{table}{-1}") == floats - 1


def test_rows_with_several_names_have_all_of_them_in_each_part_and_on_each_page() -> None:
    systems = ("deepseek-reasoner-v3.1-terminus", "meta-llama/Llama-3.1-405B-Instruct")
    conditions = ("confirmation, eight turns, human summary", "intervention, twenty turns, adaptive")
    numbers = [f"Measure number {number}" for number in range(14)]
    rows = tuple(
        Row(tuple(map(Cell, ("" if number else system, conditions[number % 2], f"case {number}",
                             *["0.123 [0.100, 0.150]"] * len(numbers)))))
        for system in systems
        for number in range(90)
    )  # fmt: skip
    columns = (*(Column(title, "left") for title in ("System", "Setting", "Case")), *map(Column, numbers))
    text = latex(Table("names", "A title", columns, rows, ()), LatexPaper(columns=2))
    tabulars = re.findall(r"\\midrule\n(.*?)\\bottomrule", text, re.DOTALL)
    assert len(tabulars) > 3
    for tabular in tabulars:
        first, second = (line.split(" & ") for line in tabular.splitlines()[:2])
        assert first[0] in systems or len(first[0]) > 5
        assert "turns" in first[1]
        assert first[2] != second[2], "the rows can be told apart"


def test_many_floats_are_set_before_there_are_too_many() -> None:
    rows = [[f"row {number}", "1"] for number in range(3_000)]
    text = latex(grid("long", ["Number"], rows))
    between = text.split(r"\clearpage")
    assert len(between) > 1
    assert all(part.count(r"\begin{table}") <= 12 for part in between)


def test_a_long_table_has_every_row_once_and_says_where_it_goes_on() -> None:
    text = latex(grid("rows", ["A"], [[f"row {number}", "1"] for number in range(200)], grouped=True))
    assert [int(number) for number in re.findall(r"^row (\d+) &", text, re.MULTILINE)] == list(range(200))
    floats = text.split(r"\end{table}")[:-1]
    assert len(floats) > 2
    rows = [len(re.findall("^row", part, re.MULTILINE)) for part in floats]
    assert max(rows) - min(rows) <= 8, "all parts are about as long"
    assert all("(continued)" in part for part in floats[1:])


def test_numbers_are_aligned_by_siunitx_where_asked() -> None:
    cells = ("3.50 (0.20)", "−1.25 (0.50)", "12.00 (3.10)")
    rows = (
        Row((Cell("x"), Cell(cells[0], bold=True), Cell(".62"), Cell("a word"))),
        Row((Cell("y"), Cell(cells[1], marks="**"), Cell("–"), Cell("1"))),
        Row((Cell("z"), Cell(cells[2], underline=True), Cell(".05"), Cell("2"))),
    )
    columns = (Column("Metric", "left"), *map(Column, ("Mean (SD)", "p", "Word")))
    text = latex(Table("t", "T", columns, rows), LatexPaper(siunitx=True))
    assert text.startswith("% Needs \\usepackage{array,booktabs,siunitx}")
    assert re.search(r"S\[detect-weight,table-format=\+2\.2,table-space-text-post=\{ \(0\.50\)", text)
    for line in (
        r"x & \bfseries 3.50{ (0.20)} & .62 & a word",
        r"y & -1.25{ (0.50)\textsuperscript{**}} & {--} & 1",
        r"z & {\underline{12.00 (3.10)}} & .05 & 2",
        r"Metric & {Mean (SD)} & {p} & Word",
    ):
        assert line in text
    assert "S[" not in latex(Table("t", "T", columns, rows))


def signed_table() -> Table:
    rows = (
        Row((Cell("a"), Cell("+0.12"), Cell(".05"), Cell("0.50"), Cell("0.25"), Cell("0"))),
        Row((Cell("b"), Cell("−0.30", marks="*"), Cell("–"), Cell("1.50"), Cell(".75"), Cell("12"))),
        Row((Cell("c"), Cell("+1.25", bold=True), Cell("−.45 [−.60, −.30]"), Cell("0.05"), Cell("1.00"), Cell("3"))),
        Row((Cell("d"), Cell("0.00"), Cell("1.00"), Cell("0.00"), Cell("0.00"), Cell("0"))),
    )  # fmt: skip
    columns = (Column("Name", "left"), *map(Column, ("Change", "Kappa", "Mean", "Both", "n")))
    return Table("t", "T", columns, rows)


def test_siunitx_keeps_plus_signs_and_adds_no_zero_before_a_point() -> None:
    text = latex(signed_table(), LatexPaper(siunitx=True))
    assert text.count("retain-explicit-plus") == 1
    assert text.count(r">{\bedsidebarepoints}S[detect-weight,table-format=+1.2") == 1
    # Of a column in which some numbers have a zero there and others have none, siunitx would change some.
    assert len(re.findall(r"S\[", text)) == 4
    plain = latex(grid("t", ["a"], [["x", "0.50"], ["y", "1.20"]]), LatexPaper(siunitx=True))
    assert "bedsidebarepoints" not in plain
    assert "retain-explicit-plus" not in plain


@needs_pdflatex
@pytest.mark.slow
def test_what_siunitx_prints_is_what_the_table_says(tmp_path: Path) -> None:
    need_siunitx()
    if shutil.which("pdftotext") is None:
        pytest.skip("pdftotext is not installed")
    table = signed_table()
    log_of(document([table], "a4paper", 1, siunitx=True), tmp_path)
    done = subprocess.run(["pdftotext", "-layout", "t.pdf", "-"], cwd=tmp_path, capture_output=True, check=True)
    # The dash of the font has no character in the page.
    text = done.stdout.decode().replace("\x15", "–")
    printed = [" ".join(line.split()) for line in text.splitlines()]
    for row in table.rows:
        assert " ".join(cell.text + cell.marks for cell in row.cells) in printed
