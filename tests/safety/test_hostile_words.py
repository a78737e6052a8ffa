"""Whatever ids, systems, cases, factors and turns are called: files stay where they belong, pages run nothing of it,
and no spreadsheet computes it."""

from __future__ import annotations

import csv
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import openpyxl
import pytest

from tests.safety.test_permissions import run

#: Out of the folder, out of the page, out of the cell, and out of the line.
WORDS = [
    "../../escaped",
    "/escaped",
    "..\\..\\escaped",
    "CON",
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(1)</script>",
    "'\"><svg onload=alert(1)>",
    '=HYPERLINK("http://127.0.0.1:9/","x")',
    "@SUM(1+1)*cmd|' /C calc'!A0",
    "+1+1",
    "-1+1",
    "\\input{/etc/passwd}",
    "{{ 7*7 }}",
    "${jndi:ldap://127.0.0.1:9/a}",
]
_FORMULA = re.compile(r"\A\s*[=@＝＠]|\A\s*[+-](?![\d.]+(?:e-?\d+)?%?\Z)", re.IGNORECASE)


class Page(HTMLParser):
    """What a browser would run or fetch of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.wrong: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if (name.startswith("on") and "alert" in (value or "")) or (
                "127.0.0.1:9" in (value or "") and name in ("src", "href")
            ):
                self.wrong.append(f"{tag} {name}={value}")
            if name == "src" and value == "x":
                self.wrong.append(f"{tag} {name}={value}")

    def handle_data(self, data: str) -> None:
        if self.cdata_elem == "script" and data.strip() == "alert(1)":
            self.wrong.append(data)


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder deep in another, with transcripts that have such words wherever there is room for words."""
    folder = tmp_path / "one" / "two" / "work"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    with (folder / "talks.jsonl").open("w", encoding="utf-8") as file:
        for number, word in enumerate(WORDS):
            turns = [
                {"role": role, "speaker": word, "text": f"{word} said {role} {turn}"}
                for turn in range(3)
                for role in ("patient", "clinician")
            ]
            for system in ("=1+1", "../../escaped"):
                talk = {
                    "id": f"{word} {system} {number}",
                    "system": system,
                    "case_id": word,
                    "factors": {"level": word},
                    "reference": {"background": word},
                    "turns": turns,
                }
                file.write(json.dumps(talk) + "\n")
    return folder


@pytest.mark.slow
def test_files_pages_and_cells(work: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("score", "talks.jsonl", "--metrics", "structure", "--out", "run")
    run("report", "run", "--format", "html,csv,md,xlsx", "--out", "shared")
    run("compare", "run", "--metrics", "turns", "--within", "level", "--out", "tables")
    run("view", "run", "--export", "copy")
    run(
        "sample",
        "run",
        "--raters",
        "anna",
        "--rubrics",
        "empathy",
        "--per",
        "9",
        "--overlap",
        "1",
        "--out",
        "plan.json",
    )
    run("annotate", "export", "plan.json", "--out", "pages")
    run("annotate", "export", "plan.json", "--out", "csv", "--format", "csv")
    outside = [path for path in tmp_path.rglob("*") if path.is_file() and work not in path.parents]
    assert outside == []
    assert not [path for path in work.rglob("*") if "escaped" in path.name]
    assert "\x1b" not in capsys.readouterr().out
    pages = sorted(work.rglob("*.html"))
    assert pages
    for path in pages:
        page = Page()
        page.feed(path.read_text("utf-8"))
        assert page.wrong == [], path
    tables = sorted(work.rglob("*.csv"))
    assert tables
    for path in tables:
        text = path.read_text("utf-8-sig")
        assert not [cell for row in csv.reader(text.splitlines()) for cell in row if _FORMULA.match(cell)], path
    books = sorted(work.rglob("*.xlsx"))
    assert books
    for path in books:
        book = openpyxl.load_workbook(path)
        cells = [cell for sheet in book for row in sheet.iter_rows() for cell in row]
        assert not [
            cell.coordinate
            for cell in cells
            if cell.data_type == "f" and any(word[:12] in str(cell.value) for word in WORDS)
        ], path
