"""Each requirement of level 1 of OWASP ASVS 4.0.3 is answered once, and tests that are named are there."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "asvs.md").read_text("utf-8")
#: Section → its requirements of level 1.
LEVEL_1 = {
    "2.1": range(1, 13), "2.2": range(1, 4), "2.3": (1,), "2.5": range(1, 7), "2.7": range(1, 5), "2.8": (1,),
    "3.1": (1,), "3.2": (1, 2, 3), "3.3": (1, 2), "3.4": range(1, 6), "3.7": (1,), "4.1": (1, 2, 3, 5), "4.2": (1, 2),
    "4.3": (1, 2), "5.1": range(1, 6), "5.2": range(1, 9), "5.3": range(1, 11), "5.5": range(1, 5), "6.2": (1,),
    "7.1": (1, 2), "7.4": (1,), "8.2": (1, 2, 3), "8.3": range(1, 5), "9.1": (1, 2, 3), "10.3": (1, 2, 3),
    "11.1": range(1, 6), "12.1": (1,), "12.3": range(1, 6), "12.4": (1, 2), "12.5": (1, 2), "12.6": (1,),
    "13.1": (1, 3), "13.2": (1, 2, 3), "13.3": (1,), "14.2": (1, 2, 3), "14.3": (2, 3), "14.4": range(1, 8),
    "14.5": (1, 2, 3),
}  # fmt: skip


def rows() -> list[list[str]]:
    lines = [line for line in PAGE.splitlines() if re.match(r"\| \d", line)]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def test_all_are_answered_once() -> None:
    asked = {f"{section}.{number}" for section, numbers in LEVEL_1.items() for number in numbers}
    answered = Counter(name for row in rows() for name in row[0].split())
    assert len(asked) == 128
    assert answered.keys() == asked
    assert set(answered.values()) == {1}
    assert {row[2] for row in rows()} == {"holds", "not applicable", "does not hold"}
    assert all(row[3] for row in rows())
    counts = Counter[str]()
    for row in rows():
        counts[row[2]] += len(row[0].split())
    assert f"{counts['holds']} hold, {counts['not applicable']} don't apply" in PAGE
    assert f"{counts['does not hold']} do not hold" in PAGE


def test_tests_that_are_named_are_there() -> None:
    for file, name in re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE):
        assert f"def {name}(" in (ROOT / file).read_text("utf-8"), name
