"""The page and docs/report.md agree on what is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import bedside
from bedside.ratings.suites import SUITES
from bedside.reports.build import write_report
from bedside.reports.contents import part_titles
from tests.reports.made import made_run

DOCS = Path(bedside.__file__).parents[1] / "docs" / "report.md"
#: Parts that are not made of the registry's tables.
OTHERS = {"other metrics", "transcripts to look at", "judge card", "methods", "checklists"}
OF_SUITES = "the suite's tables and figures"


def told() -> set[str]:
    """The parts that the docs' table names."""
    if not DOCS.exists():
        pytest.skip("the docs are not installed")
    table = DOCS.read_text("utf-8").partition("| part | what it shows |")[2].partition("\n\n")[0]
    firsts = re.findall(r"^\| ([^|]+) \|", table, flags=re.MULTILINE)
    return {part.strip() for first in firsts if first != "---" for part in first.split(";")}


def test_the_docs_name_every_part_that_a_page_can_have_and_no_other() -> None:
    assert told() == {title.casefold() for title in part_titles()} | OTHERS | {OF_SUITES}


@pytest.mark.slow
@pytest.mark.parametrize("suite", ["multisense", "medconceal"])
def test_every_part_of_a_page_is_one_the_docs_name(tmp_path: Path, suite: str) -> None:
    _, files = write_report(made_run(tmp_path, suite, cases=3), formats=["html"])
    headings = re.findall(r"<h2>(.+?)</h2>", files[0].read_text("utf-8"))
    suite_title = SUITES.load(suite).title
    assert suite_title in headings
    assert {heading.casefold() for heading in headings if heading != suite_title} <= told()
    assert "How people rate beside each other" in headings
