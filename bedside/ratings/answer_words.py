"""Words in place of numbers: those that say there is no answer, and those that have an order."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

#: What a cell says, in lower case, that holds no rating. A word that is a level of the metric's scale is a rating.
NO_ANSWER = frozenset(
    (
        "", "na", "n/a", "n.a.", "n. a.", "n.a", "#n/a", "#na", "nan", "null", "nil", ".", "-", "–", "—", "--",
        "not applicable", "not answered", "no answer", "none given", "missing", "don't know", "don’t know",
        "dont know", "do not know", "i don't know", "i don’t know", "skip", "skipped", "not rated", "unrated",
        "prefer not to say", "prefer not to answer", "keine angabe", "k. a.", "k.a.", "weiß nicht", "weiss nicht",
        "不适用", "不知道", "跳过",
    )
)  # fmt: skip
#: Families of words in their order, from the lowest; a rater's words may be some of them.
_FAMILIES = tuple(
    tuple(family.split("<"))
    for family in (
        "never<almost never<very rarely<rarely<seldom<occasionally<sometimes<often<frequently<usually<very often"
        "<almost always<always",
        "strongly disagree<disagree<moderately disagree<somewhat disagree<slightly disagree"
        "<neither agree nor disagree<slightly agree<somewhat agree<moderately agree<agree<strongly agree",
        "strongly disagree<disagree<neutral<agree<strongly agree",
        "strongly disagree<disagree<undecided<agree<strongly agree",
        "very dissatisfied<dissatisfied<neutral<satisfied<very satisfied",
        "very poor<poor<fair<good<very good<excellent",
        "very bad<bad<neutral<good<very good",
        "terrible<poor<average<good<excellent",
        "not at all<slightly<a little<somewhat<moderately<quite a bit<very<very much<extremely",
        "none<minimal<mild<moderate<severe<extreme",
        "very low<low<medium<high<very high",
        "very low<low<moderate<high<very high",
        "much worse<worse<same<better<much better",
        "absent<partial<present",
        "inadequate<adequate<good<excellent",
        "very unlikely<unlikely<neutral<likely<very likely",
        "nie<selten<manchmal<oft<häufig<immer",
        "trifft nicht zu<trifft eher nicht zu<teils teils<trifft eher zu<trifft zu",
        "sehr schlecht<schlecht<mittel<gut<sehr gut",
        "从不<很少<有时<经常<总是",
        "非常不同意<不同意<中立<同意<非常同意",
        "很差<差<一般<好<很好",
    )
)
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


def family_order(words: Iterable[str]) -> tuple[str, ...] | None:
    """The words in their order, from the lowest, where all of them are of one family that has one; None else.

    >>> family_order(["Often", "never", "rarely"])
    ('never', 'rarely', 'Often')
    >>> family_order(["none", "open", "closed"])
    """
    distinct = {" ".join(word.split()).casefold(): word for word in words}
    for family in _FAMILIES:
        if len(distinct) > 1 and distinct.keys() <= set(family):
            return tuple(distinct[word] for word in family if word in distinct)
    return None


def in_family_order(labels: Sequence[str]) -> bool:
    """Whether labels stand in the order of a family that all of them are of, up or down.

    >>> in_family_order(["never", "rarely", "often"])
    True
    """
    order = family_order(labels)
    return order is not None and tuple(labels) in (order, order[::-1])


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
