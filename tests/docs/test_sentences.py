"""Sentences of docs, findings and notes are short, and say nothing in the words that readers stumbled over."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

import bedside
from bedside.ratings.table import frame_of
from bedside.reports.table import Table, Tables
from tests.analysis.preference_study import Chooser, simulated_study
from tests.reports.builders import made_run, people_rated, scored

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
REPORTS = ROOT / "bedside" / "reports"
#: Most words of a sentence.
MOST = 25
#: What no sentence says: each has plainer words.
PHRASES = re.compile(
    r"of whom one is no person|one of whom is no person|but for the shares|not a mean over persons"
    r"|left out among people|it exists only in rows|of which each counts once|whatever number of"
    r"|what single raters make of",
    flags=re.IGNORECASE,
)
#: Pages that are written by tools, from what others state.
MADE = {"licences.md", "replications.md"}
PAGES = sorted({ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS.rglob("*.md")})

_FENCE = re.compile(r"^ *```.*?^ *```$", flags=re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->", flags=re.DOTALL)
_ITEM = re.compile(r"^\s*(?:[-*+]|\d+\.)\s")
_NO_PROSE = re.compile(r"\s*(?:\||#|!\[|→|$)")
#: A link or an image, and code, each of which is read as one name.
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_CODE = re.compile(r"`+[^`]+`+")
_END = re.compile(r"(?<=[.!?…])[*”\")\]]*\s+(?=[*“\"(\[]*(?:[A-Z\u0370-\u03ff]|bedside|spaCy|--|–|df:|[np]\b))")


def paragraphs(text: str) -> Iterator[tuple[int, str]]:
    """The first line and the words of each paragraph and item of a list; code, tables and headings are none."""
    for part in (_FENCE, _COMMENT):
        text = part.sub(lambda match: "\n" * match[0].count("\n"), text)
    begun, lines = 0, list[str]()
    for number, line in enumerate([*text.splitlines(), ""], start=1):
        if _NO_PROSE.match(line) or _ITEM.match(line):
            if lines:
                yield begun, "\n".join(lines)
            lines = []
        if _NO_PROSE.match(line):
            continue
        begun = begun if lines else number
        lines.append(_ITEM.sub("", line, count=1) if not lines else line)


def sentences(text: str) -> Iterator[tuple[int, str]]:
    """The line and words of each sentence on a page; lists of links are none."""
    for begun, paragraph in paragraphs(text):
        if len(re.findall(r"\w+", _LINK.sub("", paragraph))) <= 3:
            continue
        # A link or code keeps its line breaks, so that lines are told by what is before.
        plain = _CODE.sub(lambda code: "Code" + "\n" * code[0].count("\n"), _LINK.sub(r"\1", paragraph))
        start = 0
        for end in [*(match.end() for match in _END.finditer(plain)), len(plain)]:
            yield begun + plain[:start].count("\n"), " ".join(plain[start:end].split())
            start = end


def faults(text: str) -> list[tuple[int, str]]:
    """The sentences of a page that are too long, or say what has plainer words."""
    return [
        (line, f"{count} words: {sentence}")
        for line, sentence in sentences(text)
        if (count := len(re.findall(r"[\w’'%.-]*\w[\w’'%.-]*", sentence))) > MOST or PHRASES.search(sentence)
    ]


@pytest.mark.parametrize("page", [page for page in PAGES if page.name not in MADE], ids=lambda page: page.name)
def test_sentences_of_a_page_are_short(page: Path) -> None:
    found = faults(page.read_text("utf-8"))
    assert not found, "\n".join(f"{page.relative_to(ROOT)}:{line}: {words}" for line, words in found)


def texts(module: ast.Module) -> Iterator[tuple[int, str]]:
    """The line and words of each text of a module, with a word for each name or number that is put in; no docstring."""
    parts = {part for node in ast.walk(module) if isinstance(node, ast.JoinedStr) for part in node.values}
    parts |= {node.value for node in ast.walk(module) if isinstance(node, ast.Expr)}
    for node in ast.walk(module):
        if isinstance(node, ast.JoinedStr):
            said = (str(part.value) if isinstance(part, ast.Constant) else "It" for part in node.values)
            yield node.lineno, "".join(said)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in parts:
            yield node.lineno, node.value


@pytest.mark.parametrize("room", [".", "figures", "tables"])
def test_sentences_of_findings_and_notes_are_short(room: str) -> None:
    """All of them, whatever holds of an answer; a template of a file is none."""
    found = [
        f"{path.relative_to(ROOT)}:{line}: {said}"
        for path in sorted((REPORTS / room).glob("*.py"))
        for line, said in texts(ast.parse(path.read_text("utf-8")))
        if not said.startswith("<") and faults(said)
    ]
    assert not found, "\n".join(found)


#: Names of metrics and systems as a note lists them, with counts and how many more: one word.
_NAMES = re.compile(r"It(?: \d+ of \d+)?(?:[,;] (?:and )?It(?: \d+ of \d+)?)+(?:[,;]? and \d+ more| …)?")


def with_short_names(note: str, tables: Iterable[Table]) -> str:
    """The note with a word for each list of metrics or systems of these tables."""
    records = (record for table in tables for record in table.records)
    names = {str(record[key]) for record in records for key in ("title", "metric", "system") if record.get(key)}
    names |= {name for table in tables for row in table.rows for name in (row.group, row.cells[0].text) if name}
    names |= {re.split(" [(↑↓]", name)[0] for name in names}
    listed = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    return _NAMES.sub("It", re.sub(rf"(?<!\w)(?:{listed})(?!\w)", "It", note) if names else note)


@pytest.mark.slow
def test_notes_are_short_as_they_are_printed(tmp_path: Path) -> None:
    """With what methods, designs and reasons are called, on the bundled conversations and on simulated studies."""
    talks = people_rated(scored(tmp_path)).path
    (tmp_path / "made").mkdir()
    made = made_run(tmp_path / "made", "calm-it", cases=3).path
    study = frame_of(simulated_study({"A": 0.9, "B": 0.2}, [Chooser("human:anna"), Chooser("judge:m")], cases=8).rows)
    rated = bedside.EXAMPLES / "study.csv"
    margin: dict[str, float | str] = {"empathy": 0.5}
    answers: list[Tables[Any]] = [
        *(bedside.agree(source) for source in (talks, made)),
        *(bedside.validate(source) for source in (talks, made)),
        *(bedside.compare(source) for source in (talks, made)),
        *(bedside.tables(source) for source in (talks, made)),
        bedside.agree(rated), bedside.validate(rated),
        bedside.compare(rated), bedside.estimate(rated),
        bedside.compare(talks, within="persona"), bedside.compare(talks, metrics="empathy", margin=0.5),
        bedside.gate(talks, baseline="steady", system="brisk", margin=margin), bedside.drift(made),
        bedside.trend(talks), bedside.deviation(talks, reference="steady"), bedside.preferences(study),
    ]  # fmt: skip
    notes = {note: with_short_names(note, answer) for answer in answers for table in answer for note in table.notes}
    assert len(notes) > 100
    found = [f"{note}\n{words}" for note, words in notes.items() if faults(words)]
    assert not found, "\n".join(found)


def test_what_counts_as_a_sentence() -> None:
    long = "word " * 26
    text = "\n".join(
        (
            f"# {long}", "", "```console", f"$ {long}", "```", "", f"| {long} |", "| --- |", "",
            "Short. Two [links that are long](a.md).", f"Then {long}", "ends.", "", "- An item.", f"- {long}here.", "",
            f"[One](a.md) · [two](b.md) · {'[more](c.md) · ' * 30}", "", "Of two, of whom one is no person.",
        )
    )  # fmt: skip
    assert [line for line, _ in faults(text)] == [11, 15, 19]
    assert [words for _, words in sentences("One `a b` is 0.5. Is it? κ is.")] == [
        "One Code is 0.5.",
        "Is it?",
        "κ is.",
    ]
