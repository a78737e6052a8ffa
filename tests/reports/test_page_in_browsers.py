"""The report's page as it is read: by axe-core, on a phone, on paper, and searched, in a real browser."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bedside import EXAMPLES
from bedside.ratings.run import Run
from bedside.reports.build import Section, page, print_size, write_report
from bedside.reports.table import Table
from bedside.reports.table_content import Cell, Column, Row
from bedside.scoring.score import score
from tests.reports.builders import made_run

pytestmark = pytest.mark.slow

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
SUITES = ("medconceal", "multisense")
#: Pixels between the margins of A4 upright and of letter across, the narrower of each.
UPRIGHT, ACROSS = 680, 941


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Reports of small and large runs, one of which brings transcripts to look at."""
    written = {}
    for suite in SUITES:
        folder = tmp_path_factory.mktemp(suite)
        write_report(made_run(folder, suite, cases=3), formats=["html"], out=folder / "report")
        written[suite] = folder / "report" / "report.html"
    folder = tmp_path_factory.mktemp("small")
    small = score([EXAMPLES / "transcripts.jsonl"], folder / "run").run
    write_report(Run(small.path), formats=["html"], out=folder / "report")
    written["small"] = folder / "report" / "report.html"
    return written


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip("no Chromium is installed")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        launched = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield launched
        launched.close()


def opened(browser: Any, path: Path, *, width: int = 1300, height: int = 900, scheme: str = "light") -> Any:
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
    tab = context.new_page()
    tab.on("pageerror", lambda error: pytest.fail(str(error)))
    tab.on("request", lambda asked: asked.url.startswith("file:") or pytest.fail(f"asked for {asked.url}"))
    tab.goto(path.as_uri())
    return tab


@pytest.mark.parametrize("name", [*SUITES, "small"])
@pytest.mark.parametrize(
    ("scheme", "width"),
    [
        ("light", 1300),
        ("dark", 390),
        pytest.param("light", 390, marks=pytest.mark.soak_only),
        pytest.param("dark", 1300, marks=pytest.mark.soak_only),
    ],
)
def test_axe_finds_no_violation(
    pages: dict[str, Path], browser: Any, name: str, width: int, scheme: str
) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    tab = opened(browser, pages[name], width=width, scheme=scheme)
    tab.evaluate("document.querySelectorAll('details').forEach(element => { element.open = true; })")
    found = axe.Axe().run(tab)
    assert found.violations_count == 0, found.generate_report()
    tab.context.close()


# -- on a phone -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*SUITES, "small"])
def test_a_phone_scrolls_tables_and_not_the_page(pages: dict[str, Path], browser: Any, name: str) -> None:
    tab = opened(browser, pages[name], width=390, height=844)
    assert tab.evaluate("document.documentElement.scrollWidth") == 390
    tab.context.close()


def test_the_first_column_stays_where_a_table_is_scrolled(pages: dict[str, Path], browser: Any) -> None:
    tab = opened(browser, pages["medconceal"], width=390, height=844)
    region = tab.locator("#table-confirmation .scroll")
    before = region.locator("tbody th[scope=row]").first.bounding_box()
    region.focus()
    for _ in range(8):
        tab.keyboard.press("ArrowRight")
    tab.wait_for_function("region => region.scrollLeft > 50", arg=region.element_handle())
    head, number = (
        region.locator(place).first.bounding_box() for place in ("tbody th[scope=row]", "tbody td.number")
    )
    assert head["x"] == before["x"]
    assert number["x"] < head["x"] + head["width"]
    tab.context.close()


def test_letters_of_a_figure_are_not_shrunk_on_a_phone(pages: dict[str, Path], browser: Any) -> None:
    tab = opened(browser, pages["medconceal"], width=390, height=844)
    heights = tab.evaluate(
        "[...document.querySelectorAll('figure.drawing text')].map(text => { const shown = text.getScreenCTM();"
        " return parseFloat(getComputedStyle(text).fontSize) * Math.hypot(shown.a, shown.b); })"
    )
    assert heights
    assert min(heights) > 8
    tab.context.close()


# -- with a keyboard --------------------------------------------------------------------------------


def test_what_scrolls_can_be_reached_and_what_does_not_is_no_stop(
    pages: dict[str, Path], browser: Any
) -> None:
    tab = opened(browser, pages["medconceal"])
    wrong = tab.evaluate(
        "[...document.querySelectorAll('.scroll')].filter(region => region.getAttribute('role') !== 'region'"
        " || !region.getAttribute('aria-label')"
        " || (region.tabIndex === 0) !== (region.scrollWidth > region.clientWidth)).map(region => region.outerHTML)"
    )
    assert wrong == []
    assert tab.locator(".scroll[tabindex='0']").count() > 0
    tab.context.close()


def test_tables_and_figures_are_listed_by_the_numbers_of_their_captions(
    pages: dict[str, Path], browser: Any
) -> None:
    tab = opened(browser, pages["medconceal"])
    listed = tab.evaluate(
        "[...document.querySelectorAll('details.listing a')].map(link => [link.textContent,"
        " document.querySelector(link.getAttribute('href') + ' caption, ' + link.getAttribute('href') + ' figcaption')"
        ".textContent])"
    )
    assert len(listed) == tab.locator("figure").count()
    for entry, caption in listed:
        assert caption.startswith(entry)
    tab.locator("details.listing summary").first.press("Enter")
    tab.locator("details.listing a").first.press("Enter")
    assert tab.evaluate("location.hash").startswith("#table-")
    tab.context.close()


def test_a_search_counts_its_hits_and_goes_from_one_to_the_next(pages: dict[str, Path], browser: Any) -> None:
    tab = opened(browser, pages["small"])
    words = tab.evaluate("document.querySelector('main figure.table td[data-cell]').textContent.slice(0, 4)")
    field, told = tab.get_by_label("Search this page"), tab.get_by_role("status")
    field.fill(words)
    tab.wait_for_function("() => document.getElementById('hits').textContent")
    count = int(re.fullmatch(r"1 of (\d+) hits?", told.inner_text())[1])
    assert tab.evaluate("CSS.highlights.get('hits').size") == count
    texts = tab.evaluate("[...CSS.highlights.get('hits')].map(String)")
    assert {text.casefold() for text in texts} == {words.casefold()}
    field.press("Enter")
    assert told.inner_text().startswith("2 of " if count > 1 else "1 of ")
    field.press("Shift+Enter")
    field.press("Shift+Enter")
    assert told.inner_text().startswith(f"{count:,} of ")
    assert tab.locator(".hit").is_visible()
    field.press("Escape")
    assert told.inner_text() == ""
    assert tab.locator(".hit").count() == 0
    field.fill("no such words stand here")
    tab.wait_for_function("() => document.getElementById('hits').textContent === 'No hits'")
    tab.context.close()


def test_a_search_finds_words_across_marks_and_in_folded_transcripts(
    pages: dict[str, Path], browser: Any
) -> None:
    tab = opened(browser, pages["small"])
    turn = tab.locator("details.transcript").last.locator("ol.turns li").last
    said = " ".join(turn.text_content().split()[:6])
    assert not turn.is_visible()
    field = tab.get_by_label("Search this page")
    field.fill(said.upper())
    field.press("Enter")
    assert re.fullmatch(r"1 of \d+ hits?", tab.get_by_role("status").inner_text())
    for _ in range(50):
        if turn.is_visible():
            break
        field.press("Enter")
    assert "hit" in turn.get_attribute("class")
    tab.context.close()


def test_a_search_takes_signs_as_they_are(tmp_path: Path, browser: Any) -> None:
    cells = (Cell("a.c [x"), Cell("1 (2)", bold=True, marks="*"))
    table = Table("signs", "Signs", (Column("Sign", "left"), Column("n")), (Row(cells),))
    path = tmp_path / "page.html"
    path.write_text(page("Signs", "A lead.", (), [Section("Part", ("abc",), (table,))]), "utf-8")
    tab = opened(browser, path)
    for words, hits in (
        ("a.c", "1 of 1 hit"),
        ("c [", "1 of 1 hit"),
        ("1 (2)*", "1 of 1 hit"),
        ("a+", "No hits"),
    ):
        tab.get_by_label("Search this page").fill(words)
        tab.get_by_label("Search this page").press("Enter")
        assert tab.get_by_role("status").inner_text() == hits
    tab.context.close()


# -- on paper ---------------------------------------------------------------------------------------


def _cut(browser: Any, path: Path) -> list[str]:
    """The tables that are wider than their page of paper."""
    cut: list[str] = []
    for width, place in ((UPRIGHT, ".printed:not(.wide)"), (ACROSS, ".printed.wide")):
        tab = opened(browser, path, width=width)
        tab.emulate_media(media="print")
        cut += tab.evaluate(
            "place => [...document.querySelectorAll(place)].filter(part =>"
            " part.querySelector('table').getBoundingClientRect().width > part.getBoundingClientRect().width + 1)"
            ".map(part => part.querySelector('figure').id)",
            place,
        )
        tab.context.close()
    return cut


@pytest.mark.parametrize("name", [*SUITES, "small"])
def test_no_table_is_cut_at_the_edge_of_the_paper(pages: dict[str, Path], browser: Any, name: str) -> None:
    assert _cut(browser, pages[name]) == []


def test_a_table_of_any_width_fits_the_paper(tmp_path: Path, browser: Any) -> None:
    tables = []
    for count in (2, 8, 14, 20, 28):
        for text in ("0.12", "−12.34 (10.20)", "0.62 [−1.10, 12.70]"):
            for head in ("System", "an_identifier_without_a_space_of_some_sixty_letters_as_runs_have"):
                columns = (Column(head, "left"), *(Column(f"Measure number {at}") for at in range(count)))
                rows = tuple(
                    Row((Cell(f"{head} {at}"), *(Cell(text) for _ in range(count)))) for at in range(3)
                )
                tables.append(Table(f"{count}-{text}-{head}", "Made", columns, rows))
    sizes = [print_size(table) for table in tables]
    assert all(4 <= size.points <= 9 for size in sizes)
    assert {size.landscape for size in sizes} == {size.broken for size in sizes} == {False, True}
    path = tmp_path / "page.html"
    path.write_text(page("Wide", "A lead.", (), [Section("Part", (), tuple(tables))]), "utf-8")
    assert _cut(browser, path) == []


def _printed(tab: Any, path: Path) -> list[str]:
    """The text of each page of paper."""
    if shutil.which("pdftotext") is None:
        pytest.skip("no pdftotext is installed")
    tab.pdf(path=str(path), prefer_css_page_size=True)
    text = subprocess.run(
        ["pdftotext", "-layout", str(path), "-"], capture_output=True, check=True
    ).stdout.decode()
    return text.split("\f")[:-1]


@pytest.mark.parametrize("name", [*SUITES, "small"])
def test_no_page_of_paper_is_empty(pages: dict[str, Path], browser: Any, name: str, tmp_path: Path) -> None:
    tab = opened(browser, pages[name])
    papers = _printed(tab, tmp_path / "paper.pdf")
    assert len(papers) > 3
    assert [number for number, text in enumerate(papers, 1) if not text.strip()] == []
    assert "Copy as LaTeX" not in "".join(papers)
    tab.context.close()


def test_transcripts_are_printed_where_they_are_asked_for(
    pages: dict[str, Path], browser: Any, tmp_path: Path
) -> None:
    tab = opened(browser, pages["small"])
    turn = tab.locator("ol.turns li").last
    words = " ".join(turn.text_content().split()[-4:])
    without = " ".join("".join(_printed(tab, tmp_path / "without.pdf")).split())
    assert words not in without
    tab.get_by_label("Print the transcripts too").check()
    printed = " ".join("".join(_printed(tab, tmp_path / "with.pdf")).split())
    assert words in printed
    assert tab.locator("details.transcript[open]").count() == 0
    tab.context.close()


def test_paper_is_light_also_where_the_screen_is_dark(pages: dict[str, Path], browser: Any) -> None:
    tab = opened(browser, pages["small"], scheme="dark")
    tab.emulate_media(media="print", color_scheme="dark")
    assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    tab.context.close()


def test_every_table_of_the_page_is_measured(pages: dict[str, Path]) -> None:
    for path in pages.values():
        text = path.read_text("utf-8")
        assert text.count('class="printed') == text.count('<figure class="table"')


def test_no_heading_of_a_column_is_empty(pages: dict[str, Path]) -> None:
    for path in pages.values():
        assert not re.search(r"<th[^>]*>\s*</th>", path.read_text("utf-8"))
