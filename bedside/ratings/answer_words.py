"""What cells hold in place of a plain number: words and codes for no answer, labels, parts of a whole."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

#: What a cell says, in lower case, that holds no rating. A word that is a level of the metric's scale is a rating.
NO_ANSWER = frozenset(
    (
        "", "na", "n/a", "n.a.", "n. a.", "n.a", "#n/a", "#na", "nan", "null", "nil", ".", "-", "–", "—", "--",
        "not applicable", "not answered", "no answer", "none given", "missing", "don't know", "don’t know",
        "dont know", "do not know", "i don't know", "i don’t know", "skip", "skipped", "not rated", "unrated",
        "prefer not to say", "prefer not to answer", "keine angabe", "k. a.", "k.a.", "weiß nicht", "weiss nicht",
        "entfällt", "no aplica", "no sabe", "no contesta", "ns/nc", "sin respuesta", "non applicable", "sans objet",
        "sans réponse", "ne sait pas", "non applicabile", "non so", "nessuna risposta", "não se aplica", "não sabe",
        "sem resposta", "不适用", "不適用", "不知道", "跳过", "未回答", "該当なし", "無回答", "わからない", "해당 없음",
        "무응답", "모름", "لا ينطبق", "لا أعرف",
    )
)  # fmt: skip
#: Numbers that people write for no answer.
_CODE = re.compile("-[1-9]|[89]|-?(?:7{2,4}|8{2,4}|9{2,4})")
#: A number with its label: ``4 - agree``, ``4: agree``, ``4) agree``, ``4 (agree)``, or ``agree (4)``. A label begins
#: with a letter, so that ``1-2 times`` is none.
_NUMBERED = (
    re.compile(r"(?P<number>[+-]?\d+(?:[.,]\d+)?)\s*[-–—:=.)]\s*(?P<label>[^\W\d_].*)", re.DOTALL),
    re.compile(r"(?P<number>[+-]?\d+(?:[.,]\d+)?)\s*[(\[](?P<label>[^\W\d_][^()\[\]]*)[)\]]", re.DOTALL),
    re.compile(r"(?P<label>[^\W\d_][^()\[\]]*?)\s*[(\[](?P<number>[+-]?\d+(?:[.,]\d+)?)[)\]]", re.DOTALL),
)


#: Numbers with what they are out of: ``80%``, ``82,5 %``, ``4/5``.
_NUMBER = r"(?P<number>\d{1,15}(?:\.\d+|,\d{1,2})?)"
_PERCENT = re.compile(_NUMBER + r"\s*(?P<whole>%)")
_OUT_OF = re.compile(_NUMBER + r"\s*/\s*(?P<whole>\d{1,9})")


def is_no_answer(cell: str) -> bool:
    """Whether a cell holds no rating, in whatever word it says so."""
    return cell.strip().casefold() in NO_ANSWER


def possible_codes(numbers: Iterable[float]) -> list[float]:
    """Numbers that may stand for no answer, as 99 and -9 often do, and are far from all others.

    >>> possible_codes([1, 2, 5, 99]), possible_codes([1, 2, 3, -9]), possible_codes([50, 77, 99])
    ([99], [-9], [])
    >>> possible_codes([1, 2, 3, 4, 5, 9]), possible_codes([2, 5, 9]), possible_codes([-1, 0, 1])
    ([9], [], [])
    """
    distinct = set(numbers)
    codes = set(filter(is_code, distinct))
    others = distinct - codes
    if not others or not codes:
        return []
    low, high = min(others), max(others)
    whole = all(number == int(number) for number in others)
    steps = whole and len(others) > 2 and len(others) == high - low + 1
    return sorted(
        code
        for code in codes
        if (abs(code) > 9 and max(abs(low), abs(high)) <= abs(code) / 3)
        or (code < 0 <= low and whole and high > 2)
        or (7 < code < 10 and steps and code - high > 2)
    )


def is_code(number: float) -> bool:
    """Whether a number is one of those that people write for no answer: -1, -9, 8, 9, 77, 99, 888, -999."""
    return bool(_CODE.fullmatch(f"{number:g}"))


def numbered(cell: str) -> tuple[str, str] | None:
    """Number and label of an answer that has both, as they are written; None where it has not.

    >>> numbered("4 - agree"), numbered("Agree (4)"), numbered("1-2 times")
    (('4', 'agree'), ('4', 'Agree'), None)
    """
    for form in _NUMBERED:
        match = form.fullmatch(cell.strip())
        if match is not None:
            return match["number"], match["label"].strip()
    return None


def whole_of(cells: Iterable[str]) -> str | None:
    """What all cells say their number is out of, ``%`` or a number; None where one says nothing of it, or another.

    >>> whole_of(["80%", "82.5 %"]), whole_of(["4/5", "0/5"]), whole_of(["4/5", "8/10"]), whole_of(["80%", "80"])
    ('%', '5', None, None)
    """
    wholes: set[str] = set()
    for cell in cells:
        part = part_of_whole(cell)
        if part is None:
            return None
        wholes.add(part[1])
        if len(wholes) > 1:
            return None
    return next(iter(wholes), None)


def part_of_whole(cell: str) -> tuple[float, str] | None:
    """Number of a cell and what it is out of, ``%`` or a number; None where it isn't written so.

    >>> part_of_whole("82,5 %"), part_of_whole("4/5"), part_of_whole("5/4")
    ((82.5, '%'), (4.0, '5'), None)
    """
    text = cell.strip()
    match = _PERCENT.fullmatch(text) or _OUT_OF.fullmatch(text)
    if match is None:
        return None
    number = float(match["number"].replace(",", "."))
    return None if match["whole"] != "%" and number > int(match["whole"]) else (number, match["whole"])


def is_number(cell: str) -> bool:
    """Whether a cell holds a number, as people write one: ``4``, ``4,5``, ``4 - agree``, ``80%``.

    >>> [is_number(cell) for cell in ("4", "4,5", "4 - agree", "4/5", "agree", "nan")]
    [True, True, True, True, False, False]
    """
    text = cell.strip()
    if part_of_whole(text) is not None or numbered(text) is not None:
        return True
    try:
        return math.isfinite(float(text.replace(",", ".", 1)))
    except ValueError:
        return False
