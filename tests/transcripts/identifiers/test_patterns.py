"""Patterns: what they see and leave alone, that texts made to be slow are not, and that all planted kinds are known."""

from __future__ import annotations

import pytest

from bedside.transcripts.identifiers.kinds import KINDS, LANGUAGES
from bedside.transcripts.identifiers.patterns import PATTERNS, THRESHOLD
from tests.transcripts.identifiers.planted import HELD_OUT, IN_SIGHT, planted

regex = pytest.importorskip("regex", reason="presidio isn't installed")


def seen(kind: str, text: str) -> list[str]:
    """What the patterns of a kind that are clear by themselves fit."""
    return [
        match[0].strip()
        for pattern in PATTERNS
        if pattern.kind == kind and pattern.score >= THRESHOLD
        for match in regex.finditer(pattern.expression, text, regex.I | regex.M | regex.S)
        if match[0].strip()
    ]


@pytest.mark.parametrize(
    ("kind", "text", "identifier"),
    [
        ("name", "hi, my name is jenny brown and i can't sleep", "jenny brown"),
        ("name", "I saw Dr. O'Neill-Adeyemi today", "O'Neill-Adeyemi"),
        ("name", "Meine Schwester Gudrun kommt", "Gudrun"),
        ("name", "我叫王小明。", "王小明"),
        ("date", "born on the 4th of March, 1987", "4th of March, 1987"),
        ("date", "am 14. März 1966", "14. März 1966"),
        ("date", "1988年5月12日出生", "1988年5月12日"),
        ("age", "a 93-year-old man", "93"),
        ("age", "九十二岁", "九十二"),
        ("phone", "oh seven seven double zero nine oh oh", "oh seven seven double zero nine oh oh"),
        ("email", "it's maria dot k at example dot org", "maria dot k at example dot org"),
        ("record_number", "MRN: 00482913", "00482913"),
        ("record_number", "524-18-7730", "524-18-7730"),
        ("address", "at 2218 Maple Street", "2218 Maple Street"),
        ("address", "Lindenstraße 27", "Lindenstraße 27"),
        ("postal_code", "GL5 1QW", "GL5 1QW"),
        ("place", "in the Lakeview Medical Center", "Lakeview Medical Center"),
    ],
)
def test_seen(kind: str, text: str, identifier: str) -> None:
    assert any(identifier in found for found in seen(kind, text))


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("name", "my name is not important, is it"),
        ("name", "Doctor said it will pass"),
        ("date", "blood pressure 120/80, pain 5/10, 2.5 mg"),
        ("date", "may I ask 2 things"),
        ("age", "a 45-year-old man who weighs 95 kg"),
        ("age", "I'm 95 percent sure"),
        ("phone", "one or two, maybe three"),
        ("email", "all at once. What a day"),
        ("address", "5 minutes down the road"),
        ("record_number", "the case is closed after 3 days"),
    ],
)
def test_left_alone(kind: str, text: str) -> None:
    assert not [found for found in seen(kind, text) if len(found) > 1]


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["a ", "Ab ", "one ", "1-", "a.", "张", "五", "Xx-", "a dot ", " ", "A", "12/", "a_"])
def test_no_text_holds_a_pattern_up(piece: str) -> None:
    """The library ends a search that goes on for a minute; these take a part of a second."""
    text = piece * (3000 // len(piece))
    for pattern in PATTERNS:
        for _ in regex.finditer(pattern.expression, text, regex.I | regex.M | regex.S, timeout=60):
            pass


def test_what_is_planted_is_of_known_kinds_and_enough() -> None:
    marks = [mark for file in (IN_SIGHT, HELD_OUT) for _, turns in planted(file) for places in turns for mark in places]
    assert len(marks) >= 150
    assert {mark.kind for mark in marks} == set(KINDS) == {pattern.kind for pattern in PATTERNS} | {"ip", "account"}
    assert {talk.language for file in (IN_SIGHT, HELD_OUT) for talk, _ in planted(file)} == set(LANGUAGES)
