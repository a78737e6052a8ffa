"""The report's page as it is read: by axe-core, on a phone, on paper, and searched, in a real browser."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bedside.reports.build import Section, page, print_size, write_report
from bedside.reports.table import Table
from bedside.reports.table_content import Cell, Column, Row
from tests.reports.builders import reasoned_run

pytestmark = pytest.mark.slow

Opener = Callable[..., Any]
Pages = dict[str, Path]
SUITES = ("medconceal", "multisense")
each = pytest.mark.parametrize("name", [*SUITES, "small"])
#: Pixels between the margins of A4 upright and of letter across, the narrower of each.
UPRIGHT, ACROSS = 680, 941


@pytest.fixture
def opened(open_page: Callable[..., Any]) -> Opener:
    def opener(path: Path, *, width: int = 1300, height: int = 900, scheme: str = "light", silent: bool = False) -> Any:
        size = {"width": width, "height": height}
        return open_page(path.as_uri(), viewport=size, color_scheme=scheme, silent=silent)

    return opener


@pytest.fixture
def small(opened: Opener, pages: Pages) -> Any:
    """The page that brings transcripts to look at."""
    return opened(pages["small"])


@pytest.fixture
def large(opened: Opener, pages: Pages) -> Any:
    return opened(pages["medconceal"])


@pytest.fixture
def phone(opened: Opener, pages: Pages) -> Any:
    return opened(pages["medconceal"], width=390, height=844)


@each
@pytest.mark.parametrize(
    ("scheme", "width"),
    [
        ("light", 1300),
        ("dark", 390),
        pytest.param("light", 390, marks=pytest.mark.soak_only),
        pytest.param("dark", 1300, marks=pytest.mark.soak_only),
    ],
)
def test_axe_finds_no_violation(pages: Pages, opened: Opener, name: str, width: int, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    tab = opened(pages[name], width=width, scheme=scheme)
    tab.evaluate("document.querySelectorAll('details').forEach(element => { element.open = true; })")
    found = axe.Axe().run(tab)
    assert found.violations_count == 0, found.generate_report()


@each
def test_a_phone_scrolls_tables_and_not_the_page(pages: Pages, opened: Opener, name: str) -> None:
    tab = opened(pages[name], width=390, height=844)
    tab.evaluate("document.querySelectorAll('details').forEach(element => { element.open = true; })")
    assert tab.evaluate("document.documentElement.scrollWidth") == 390


@each
def test_a_figure_is_drawn_for_the_width(pages: Pages, opened: Opener, name: str) -> None:
    """A phone is shown the drawing that is made for it, whole; a page the other."""
    for width, shown in ((390, ".phone"), (1300, ".on-page")):
        tab = opened(pages[name], width=width)
        tab.evaluate("document.querySelectorAll('details').forEach(element => { element.open = true; })")
        drawings = tab.locator("figure.drawing .scroll:visible")
        assert drawings.count() == tab.locator("figure.drawing").count() > 0
        assert tab.locator(f"figure.drawing {shown}:visible").count() == drawings.count()
        cut = (
            "[...document.querySelectorAll('figure.drawing .scroll')].filter(one => one.scrollWidth > one.clientWidth)"
        )
        assert tab.evaluate(f"{cut}.length") == 0


def test_a_computer_shows_the_first_screen_whole(small: Any) -> None:
    box = small.locator(".first").bounding_box()
    assert box["y"] + box["height"] < 900


def test_a_finding_leads_to_its_table(small: Any) -> None:
    link = small.locator(".answer a").first
    link.click()
    assert small.locator(link.get_attribute("href")).is_visible()


def test_a_link_unfolds_the_part_that_it_leads_to(small: Any) -> None:
    part = small.locator("section:has(> details.part)").first
    assert not part.locator("figure").first.is_visible()
    small.locator(f"nav a[href='#{part.get_attribute('id')}']").click()
    assert part.locator("figure").first.is_visible()


def test_rows_that_stand_back_are_shown_where_they_are_asked_for(small: Any) -> None:
    table = small.locator("#table-results")
    rest = table.locator("tr.rest").last
    assert not rest.is_visible()
    table.get_by_label(re.compile("All .* rows")).check()
    assert rest.is_visible()


def test_the_first_column_stays_where_a_table_is_scrolled(phone: Any) -> None:
    region = phone.locator("#table-confirmation .scroll")
    before = region.locator("tbody th[scope=row]").first.bounding_box()
    region.focus()
    for _ in range(8):
        phone.keyboard.press("ArrowRight")
    phone.wait_for_function("region => region.scrollLeft > 50", arg=region.element_handle())
    head, number = (region.locator(place).first.bounding_box() for place in ("tbody th[scope=row]", "tbody td.number"))
    assert head["x"] == before["x"]
    assert number["x"] < head["x"] + head["width"]


def test_letters_of_a_figure_are_not_shrunk_on_a_phone(phone: Any) -> None:
    heights = phone.evaluate(
        "[...document.querySelectorAll('figure.drawing .phone text')].map(text => { const shown = text.getScreenCTM();"
        " return parseFloat(getComputedStyle(text).fontSize) * Math.hypot(shown.a, shown.b); })"
    )
    assert heights
    assert min(heights) > 8


def test_what_scrolls_can_be_reached_and_what_does_not_is_no_stop(large: Any) -> None:
    wrong = large.evaluate(
        "[...document.querySelectorAll('.scroll')].filter(region => region.getAttribute('role') !== 'region'"
        " || !region.getAttribute('aria-label')"
        " || (region.tabIndex === 0) !== (region.scrollWidth > region.clientWidth)).map(region => region.outerHTML)"
    )
    assert wrong == []
    assert large.locator(".scroll[tabindex='0']").count() > 0


def test_tables_and_figures_are_listed_by_the_numbers_of_their_captions(large: Any) -> None:
    listed = large.evaluate(
        "[...document.querySelectorAll('details.listing a')].map(link => [link.textContent,"
        " document.querySelector(link.getAttribute('href') + ' caption, ' + link.getAttribute('href') + ' figcaption')"
        ".textContent])"
    )
    assert len(listed) == large.locator("figure").count()
    for entry, caption in listed:
        assert caption.startswith(entry)
    large.locator("details.listing summary").first.press("Enter")
    large.locator("details.listing a").first.press("Enter")
    assert large.evaluate("location.hash").startswith("#table-")


def test_a_search_counts_its_hits_and_goes_from_one_to_the_next(small: Any) -> None:
    words = small.evaluate("document.querySelector('main figure.table td[data-cell]').textContent.slice(0, 4)")
    field, told = small.get_by_label("Search this page"), small.get_by_role("status")
    field.fill(words)
    small.wait_for_function("() => document.getElementById('hits').textContent")
    shown = re.fullmatch(r"1 of (\d+) hits?", told.inner_text())
    assert shown is not None
    count = int(shown[1])
    assert small.evaluate("CSS.highlights.get('hits').size") == count
    texts = small.evaluate("[...CSS.highlights.get('hits')].map(String)")
    assert {text.casefold() for text in texts} == {words.casefold()}
    field.press("Enter")
    assert told.inner_text().startswith("2 of " if count > 1 else "1 of ")
    field.press("Shift+Enter")
    field.press("Shift+Enter")
    assert told.inner_text().startswith(f"{count:,} of ")
    assert small.locator(".hit").is_visible()
    field.press("Escape")
    assert told.inner_text() == ""
    assert small.locator(".hit").count() == 0
    field.fill("no such words stand here")
    small.wait_for_function("() => document.getElementById('hits').textContent === 'No hits'")


def test_a_search_finds_words_across_marks_and_in_folded_transcripts(small: Any) -> None:
    turn = small.locator("details.transcript").last.locator("ol.turns li").last
    said = " ".join(turn.text_content().split()[:6])
    assert not turn.is_visible()
    field = small.get_by_label("Search this page")
    field.fill(said.upper())
    field.press("Enter")
    assert re.fullmatch(r"1 of \d+ hits?", small.get_by_role("status").inner_text())
    for _ in range(50):
        if turn.is_visible():
            break
        field.press("Enter")
    assert "hit" in turn.get_attribute("class")


def test_a_search_takes_signs_as_they_are(tmp_path: Path, opened: Opener) -> None:
    cells = (Cell("a.c [x"), Cell("1 (2)", bold=True, marks="*"))
    table = Table("signs", "Signs", (Column("Sign", "left"), Column("n")), (Row(cells),))
    path = tmp_path / "page.html"
    path.write_text(page("Signs", "A lead.", [Section("Part", ("abc",), (table,))]), "utf-8")
    tab = opened(path)
    for words, hits in (("a.c", "1 of 1 hit"), ("c [", "1 of 1 hit"), ("1 (2)*", "1 of 1 hit"), ("a+", "No hits")):
        tab.get_by_label("Search this page").fill(words)
        tab.get_by_label("Search this page").press("Enter")
        assert tab.get_by_role("status").inner_text() == hits


@pytest.fixture
def tab(opened: Opener, tmp_path: Path) -> Any:
    """The page of a run whose ratings have reasons that quote turns."""
    write_report(reasoned_run(tmp_path), formats=["html"], out=tmp_path / "report")
    return opened(tmp_path / "report" / "report.html", silent=True)


def unfold_transcripts(tab: Any) -> None:
    """Open the part that has them, as a reader does."""
    tab.locator("details.part > summary", has_text="Transcripts to look at").click()


def test_the_page_works_in_a_browser(tab: Any) -> None:
    broken = tab.evaluate(
        "[...document.querySelectorAll('a[href^=\"#\"]')].map(a => a.getAttribute('href').slice(1))"
        ".filter(id => !document.getElementById(id))"
    )
    assert broken == []
    doubled = tab.evaluate(
        "(() => { const all = [...document.querySelectorAll('[id]')].map(e => e.id);"
        " return all.filter((id, at) => all.indexOf(id) !== at); })()"
    )
    assert doubled == []
    # A link to a turn opens the transcript it stands in.
    unfold_transcripts(tab)
    link = tab.locator("ul.ends a[href^='#turn-']").first
    link.click()
    target = tab.locator(f"[id='{link.get_attribute('href')[1:]}']")
    assert target.is_visible()
    assert "marked" in target.get_attribute("class")
    # Every script tag is the page's own: what raters wrote stays text.
    assert tab.locator("script").count() == 1
    assert tab.locator("text=<script>alert(1)</script>").count() > 0


def test_copying_a_table_by_keyboard(tab: Any) -> None:
    button = tab.locator("button.copy").first
    source = tab.locator(f"[id='{button.get_attribute('data-source')}']")
    expected = source.input_value()
    button.focus()
    tab.keyboard.press("Enter")
    tab.wait_for_function("button => button.textContent === 'Copied'", arg=button.element_handle())
    tab.evaluate("document.body.insertAdjacentHTML('beforeend', '<textarea id=\"pasted\"></textarea>')")
    tab.locator("#pasted").focus()
    tab.keyboard.press("Control+V")
    assert tab.locator("#pasted").input_value() == expected


def test_the_first_tab_stop_skips_to_the_content(tab: Any) -> None:
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.getAttribute('href')") == "#content"


def _cut(opened: Opener, path: Path) -> list[str]:
    """The tables that are wider than their page of paper."""
    cut: list[str] = []
    for width, place in ((UPRIGHT, ".printed:not(.wide)"), (ACROSS, ".printed.wide")):
        tab = opened(path, width=width)
        tab.emulate_media(media="print")
        cut += tab.evaluate(
            "place => [...document.querySelectorAll(place)].filter(part =>"
            " part.querySelector('table').getBoundingClientRect().width > part.getBoundingClientRect().width + 1)"
            ".map(part => part.querySelector('figure').id)",
            place,
        )
    return cut


@each
def test_no_table_is_cut_at_the_edge_of_the_paper(pages: Pages, opened: Opener, name: str) -> None:
    assert _cut(opened, pages[name]) == []


def test_a_table_of_any_width_fits_the_paper(tmp_path: Path, opened: Opener) -> None:
    tables = []
    for count in (2, 8, 14, 20, 28):
        for text in ("0.12", "−12.34 (10.20)", "0.62 [−1.10, 12.70]"):
            for head in ("System", "an_identifier_without_a_space_of_some_sixty_letters_as_runs_have"):
                columns = (Column(head, "left"), *(Column(f"Measure number {at}") for at in range(count)))
                rows = tuple(Row((Cell(f"{head} {at}"), *[Cell(text)] * count)) for at in range(3))
                tables.append(Table(f"{count}-{text}-{head}", "Made", columns, rows))
    sizes = [print_size(table) for table in tables]
    assert all(4 <= size.points <= 9 for size in sizes)
    assert {size.landscape for size in sizes} == {size.broken for size in sizes} == {False, True}
    path = tmp_path / "page.html"
    path.write_text(page("Wide", "A lead.", [Section("Part", (), tuple(tables))]), "utf-8")
    assert _cut(opened, path) == []


def _printed(tab: Any, path: Path) -> list[str]:
    """The text of each page of paper."""
    if shutil.which("pdftotext") is None:
        pytest.skip("no pdftotext is installed")
    tab.pdf(path=str(path), prefer_css_page_size=True)
    command = ["pdftotext", "-layout", str(path), "-"]
    text = subprocess.run(command, capture_output=True, check=True).stdout.decode()
    return text.split("\f")[:-1]


@each
def test_no_page_of_paper_is_empty(pages: Pages, opened: Opener, name: str, tmp_path: Path) -> None:
    tab = opened(pages[name])
    papers = _printed(tab, tmp_path / "paper.pdf")
    assert len(papers) > 3
    assert [number for number, text in enumerate(papers, 1) if not text.strip()] == []
    assert "Copy as LaTeX" not in "".join(papers)


def test_transcripts_are_printed_where_they_are_asked_for(small: Any, tmp_path: Path) -> None:
    turn = small.locator("ol.turns li").last
    words = " ".join(turn.text_content().split()[-4:])
    without = " ".join("".join(_printed(small, tmp_path / "without.pdf")).split())
    assert words not in without
    unfold_transcripts(small)
    small.get_by_label("Print the transcripts too").check()
    printed = " ".join("".join(_printed(small, tmp_path / "with.pdf")).split())
    assert words in printed
    assert small.locator("details.transcript[open]").count() == 0


def test_paper_is_light_also_where_the_screen_is_dark(pages: Pages, opened: Opener) -> None:
    tab = opened(pages["small"], scheme="dark")
    tab.emulate_media(media="print", color_scheme="dark")
    assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


def test_every_table_of_the_page_is_measured(pages: Pages) -> None:
    for path in pages.values():
        text = path.read_text("utf-8")
        assert text.count('class="printed') == text.count('<figure class="table"')


def test_no_heading_of_a_column_is_empty(pages: Pages) -> None:
    for path in pages.values():
        assert not re.search(r"<th[^>]*>\s*</th>", path.read_text("utf-8"))
