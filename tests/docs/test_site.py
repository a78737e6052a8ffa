"""The docs as a site: built without a warning, with no dead link, nothing loaded from elsewhere, and a search."""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from markdown_it import MarkdownIt

import bedside
from bedside.judges.rubrics.rubric_files import RUBRICS
from bedside.metrics import FAMILIES

html = pytest.importorskip("lxml.html")
pytest.importorskip("material")
pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
CHROMIUM = shutil.which("chromium")
#: What a browser fetches without being asked to.
_LOADED = (
    "//script/@src | //img/@src | //iframe/@src | //source/@src | //link[not(@rel='canonical')]/@href | //form/@action"
)
#: What a page is made of, which must come out as on a code host.
_PARTS = ("h1", "h2", "h3", "li", "table", "tr", "pre", "img")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The site, built anew, and what was said."""
    folder = tmp_path_factory.mktemp("docs") / "site"
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--site-dir", folder],
        cwd=ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    return folder, done.stderr


@pytest.fixture(scope="module")
def site(built: tuple[Path, str]) -> Path:
    return built[0]


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, Any]:
    """Each page of the site, parsed, by its address."""
    return {
        path.parent.relative_to(site).as_posix().removeprefix("."): html.parse(str(path)).getroot()
        for path in site.rglob("index.html")
    }


def test_it_is_built_strictly(built: tuple[Path, str]) -> None:
    assert not re.findall(r"^(?:WARNING|ERROR).*", built[1], flags=re.MULTILINE)


def test_links_and_anchors_lead_somewhere(site: Path, pages: dict[str, Any]) -> None:
    anchors = {address: {*page.xpath("//@id"), *page.xpath("//a/@name")} for address, page in pages.items()}
    dead = []
    for address, page in pages.items():
        for target in page.xpath("//a/@href"):
            parts = urlsplit(target)
            if parts.scheme:
                assert parts.scheme in ("http", "https", "mailto"), target
                continue
            place = os.path.normpath(os.path.join(address, unquote(parts.path))).removeprefix(".")
            if place not in pages:
                if not (site / place).is_file():
                    dead.append((address, target))
            elif parts.fragment and unquote(parts.fragment) not in anchors[place]:
                dead.append((address, target))
    assert not dead


def test_nothing_is_loaded_from_elsewhere(site: Path, pages: dict[str, Any]) -> None:
    for address, page in pages.items():
        for target in page.xpath(_LOADED):
            assert not urlsplit(target).netloc, f"{address} loads {target}"
            assert not urlsplit(target).scheme or target.startswith(("data:", "javascript:")), target
    for sheet in site.rglob("*.css"):
        asked = re.findall(r"(?:url\(|@import)\s*[\"']?((?:https?:)?//[^\"')]+)", sheet.read_text("utf-8"))
        assert not asked, sheet


def test_entries_and_public_names_have_pages(pages: dict[str, Any]) -> None:
    metrics = {f"metrics/{metric.name}" for family in FAMILIES.all().values() for metric in family.metrics}
    rubrics = {f"rubrics/{name}" for name in RUBRICS.names()}
    names = {f"reference/{name}" for name in bedside.__all__ if name not in ("stats", "__version__")}
    assert metrics | rubrics | names | {f"reference/stats/{name}" for name in bedside.stats.__all__} <= {*pages}
    for name in names:
        heading = "".join(pages[name].xpath("//article//h1")[0].itertext())
        assert name.rpartition("/")[2] in heading


def test_the_reference_says_what_docstrings_say(pages: dict[str, Any]) -> None:
    said = " ".join("".join(pages["reference/score"].xpath("//article")[0].itertext()).split())
    for words in ("Score transcripts into a run.", "What is scored: the name of a suite", "ScoringSummary"):
        assert words in said
    every = [
        "".join(page.xpath("//article")[0].itertext())
        for address, page in pages.items()
        if address.startswith("reference/")
    ]
    for text in every:
        assert not re.search(r":(?:func|class|meth|mod|attr|data):", text)


def test_pages_come_out_as_on_a_code_host(pages: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "tools")
    from catalogue_pages import catalogue_pages, with_lists

    kept = {path: with_lists(path.read_text("utf-8")) for path in DOCS.rglob("*.md")}
    markdown = MarkdownIt("commonmark").enable("table")
    differing = {}
    for path, text in {**kept, **catalogue_pages()}.items():
        wanted = html.fromstring(f"<div>{markdown.render(text)}</div>")
        (article,) = pages[path.relative_to(DOCS).with_suffix("").as_posix()].xpath("//article")
        counts = [Counter(element.tag for element in tree.iter(*_PARTS)) for tree in (wanted, article)]
        if counts[0] != counts[1]:
            differing[path.name] = (counts[0] - counts[1], counts[1] - counts[0])
    assert not differing


def test_names_of_entries_lead_to_their_pages(pages: dict[str, Any]) -> None:
    """On a code host they lead to the index of their kind."""
    assert "../forms/convokit/" in pages["convokit"].xpath("//article//a/@href")


def test_the_home_page_leads_to_a_sample(site: Path, pages: dict[str, Any]) -> None:
    links = pages[""].xpath("//article//a/@href")
    assert {"sample/report.html", "sample/view/"} <= {*links}
    assert "Empathy" in (site / "sample" / "report.html").read_text("utf-8")
    assert (site / "sample" / "view" / "data" / "run.js").is_file()


def test_it_is_searched_by_names_and_words(site: Path) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text("utf-8"))
    by_title = {entry["title"]: entry["location"] for entry in index["docs"]}
    assert any(location == "metrics/smog/" for location in by_title.values())
    assert any("reference/score/" in location for location in by_title.values())
    text = " ".join(entry["text"] for entry in index["docs"])
    for words in ("human ceiling", "McLaughlin", "kappa"):
        assert words in text


def test_the_search_shows_explanations_before_the_reference(site: Path) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text("utf-8"))
    boosts: dict[str, set[float]] = {"": set(), "reference/": set(), "reference/stats/": set()}
    for entry in index["docs"]:
        kind = max((kind for kind in boosts if entry["location"].startswith(kind)), key=len)
        boosts[kind].add(entry.get("boost", 1.0))
    assert max(boosts["reference/stats/"]) < min(boosts["reference/"])
    assert max(boosts["reference/"]) < min(boosts[""])


def test_lists_are_named_by_what_they_list(pages: dict[str, Any]) -> None:
    for page, words in (
        ("metrics", "All metrics"),
        ("rubrics", "All rubrics"),
        ("forms", "All forms"),
        ("report-tables", "All tables of a report"),
    ):
        assert pages[page].findtext(".//title") == f"{words} - bedside"


def test_consoles_can_be_told_from_other_code(pages: dict[str, Any]) -> None:
    """They are set smaller, for the tables that commands print."""
    assert len(pages["do-raters-agree"].xpath("//div[contains(@class, 'language-console')]//pre")) >= 2


@pytest.fixture
def address(site: Path) -> Iterator[str]:
    """Where the site is served."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *words: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(site)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.server
@pytest.mark.parametrize("width", [1300, 390])
def test_a_reader_finds_a_metric(address: str, width: int) -> None:
    if CHROMIUM is None:
        pytest.skip("no Chromium is installed")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        tab = browser.new_context(viewport={"width": width, "height": 900}).new_page()
        tab.set_default_timeout(60_000)
        elsewhere: list[str] = []
        faults: list[str] = []
        tab.on(
            "request",
            lambda asked: None if asked.url.startswith((address, "data:", "blob:")) else elsewhere.append(asked.url),
        )
        tab.on("pageerror", lambda error: faults.append(str(error)))
        tab.goto(address)
        if width < 1000:
            tab.click("label[for=__search].md-icon")
        tab.fill(".md-search__input", "smog")
        tab.click(".md-search-result__link >> nth=0")
        tab.wait_for_url("**/metrics/smog/**")
        for page in ("metrics/smog/", "reference/score/", "tutorial/", "validate-a-judge/"):
            tab.goto(address + page)
            assert tab.evaluate("document.documentElement.scrollWidth") <= width, page
        browser.close()
    assert not elsewhere
    assert not faults


def test_programs_find_an_index_of_all_pages_and_the_text_of_those_that_were_written(site: Path) -> None:
    index, whole = ((site / name).read_text("utf-8") for name in ("llms.txt", "llms-full.txt"))
    assert index.startswith("# bedside\n\n> ")
    places = re.findall(r"^- \[(.+)\]\((.+)\)$", index, flags=re.MULTILINE)
    assert len(places) > 200
    for title, place in places:
        assert title
        assert (site / place / "index.html" if place.endswith("/") else site / place).is_file(), place
    for page in DOCS.glob("*.md"):
        assert f"<!-- {page.name} -->\n{page.read_text('utf-8').partition(chr(10))[0]}" in whole
