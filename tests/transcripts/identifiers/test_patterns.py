"""Patterns: what they see and leave alone, that texts made to be slow are not, and that all planted kinds are known."""

from __future__ import annotations

import pytest

from bedside.transcripts.identifiers.kinds import KINDS, LANGUAGES
from bedside.transcripts.identifiers.patterns import PATTERNS, THRESHOLD
from bedside.transcripts.identifiers.recognition import Recognition
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


@pytest.mark.parametrize(
    ("text", "identifiers"),
    [
        ("Am 14.03.2024 von Dr. med. Brüggenwirth, seit 2019 betreut Dr. Lang sie.", "14.03.2024|Brüggenwirth|Lang"),
        ("Am 14.03.24 Oberarzt Dr. Lang. Seit 2019 durch Prof. Dr. Quandt", "14.03.24|Lang|Quandt"),
        ("In 2021 with Dr Pell of 18 Maple Dr., on 3/12 Oak Drive too.", "Pell|18 Maple Dr|3/12|Oak Drive"),
        ("Mrs. Holloway, 93, fell. 91F with cough. Temp. 99F with chills. Pt is 102.", "Holloway|93|91|102"),
        ("Herr Quandt, 94, aus 26160 Bad Zwischenahn, seine Frau (93 J.)", "Quandt|94|26160 Bad Zwischenahn|93"),
        ("Kur vom 3.-5.4.2024, OP am 3. 4. 24, Visite 3./4. Mai 2024", "3.-5.4.2024|3. 4. 24|3./4. Mai 2024"),
        ("Apgar 9/10/10 am 3.4.2024. Angehörige: Tochter Vesna Quandt", "3.4.2024|Vesna Quandt"),
        ("阿司匹林、阿莫西林。同事陈姐讨论。阿强说他很累，和小雯吵架。小雨，小心。", "陈姐|阿强|小雯"),
    ],
)
def test_seen_together(text: str, identifiers: str) -> None:
    (spans,) = Recognition("").see([text], [[]], english=False)
    assert "|".join(text[span.start : span.end] for span in spans) == identifiers
