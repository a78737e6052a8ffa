"""A real browser, and a run to look at."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bedside.ratings.run import Run
from bedside.reports.build import write_report
from tests.reports.builders import made_run, scored
from tests.reports.viewer.runs import ServedView, rich_run

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.fixture(scope="session")
def rich(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run to be looked at and not changed."""
    return rich_run(tmp_path_factory.mktemp("viewed"))


@pytest.fixture(scope="session")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Reports of small and large runs, one of which brings transcripts to look at."""
    written = {}
    for name in ("medconceal", "multisense", "small"):
        folder = tmp_path_factory.mktemp(name)
        run = scored(folder) if name == "small" else made_run(folder, name, cases=3)
        write_report(run, formats=["html"], out=folder / "report")
        written[name] = folder / "report" / "report.html"
    return written


@pytest.fixture(scope="module")
def served(rich: Run) -> Iterator[ServedView]:
    view = ServedView(rich.path)
    yield view
    view.kill()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip("no Chromium is installed")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        launched = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield launched
        launched.close()


@pytest.fixture
def open_page(browser: Any) -> Iterator[Callable[..., Any]]:
    """Opens an address in a browser of its own; whatever goes wrong in the page, or leaves the machine, is an error.

    Where the page is to be ``silent``, any word on its console is an error, too.
    """
    troubles: list[str] = []
    contexts = []

    def opened(address: str, *, silent: bool = False, **how: Any) -> Any:
        context = browser.new_context(**{"viewport": {"width": 1440, "height": 900}, **how})
        contexts.append(context)
        page = context.new_page()
        # How long the slowest machine may take for a step.
        page.set_default_timeout(300_000)
        own = (address.partition("#")[0].rpartition("/")[0], "data:")

        def complain(bad: bool, what: str) -> None:
            if bad:
                troubles.append(what)

        page.on("pageerror", lambda error: complain(True, str(error)))
        page.on("request", lambda request: complain(not request.url.startswith(own), request.url))
        page.on("console", lambda said: complain(silent or "Content Security Policy" in said.text, said.text))
        page.goto(address)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert troubles == []
