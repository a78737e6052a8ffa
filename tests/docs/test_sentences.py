"""Sentences of the docs and of findings are short, and say nothing in the words that readers stumbled over."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
FINDINGS = ROOT / "bedside" / "reports" / "finding_words.py"
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
_END = re.compile(r"(?<=[.!?…])[*”\")\]]*\s+(?=[*“\"(\[]*(?:[A-Z\u0370-\u03ff]|bedside))")


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


def test_sentences_of_findings_are_short() -> None:
    """With a word for each name or number that is put in."""
    found = [
        (node.lineno, said)
        for node in ast.walk(ast.parse(FINDINGS.read_text("utf-8")))
        if isinstance(node, ast.JoinedStr)
        for said in ["".join(str(part.value) if isinstance(part, ast.Constant) else "it" for part in node.values)]
        if faults(said)
    ]
    assert not found, "\n".join(f"{FINDINGS.relative_to(ROOT)}:{line}: {said}" for line, said in found)


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
