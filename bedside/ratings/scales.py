"""Scales: what a rater may answer, and how people write that.

Sets of words that people rate with (agreement, frequency, quality, intensity) are known in their order, in ten
languages.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from bedside.core.errors import DataError

#: An end of a scale as typed.
_LEVEL = re.compile("[0-9]{1,15}")


@dataclass(frozen=True, slots=True)
class Scale:
    """What a rater may answer.

    Attributes:
        levels: the levels, numbers in ascending order or labels; ordered labels stand from the lowest to the highest.
        ordered: whether the levels have an order: numbers always, labels where it is said.
    """

    levels: tuple[float, ...] | tuple[str, ...]
    ordered: bool

    @property
    def numeric(self) -> bool:
        """Whether the levels are numbers, not labels."""
        return not isinstance(self.levels[0], str)

    def level_texts(self) -> list[str]:
        """The levels as they are shown, in their order."""
        return [f"{level:g}" if isinstance(level, float) else str(level) for level in self.levels]

    def to_json(self) -> list[float] | list[str]:
        """The levels as a list, for a manifest; ordered labels as one text with their order, ``low<middle<high``."""
        labels = [level for level in self.levels if isinstance(level, str)]
        return ["<".join(labels)] if self.ordered and labels else list(self.levels)  # type: ignore[return-value]

    @staticmethod
    def from_json(levels: Sequence[Any]) -> Scale:
        """The scale of :meth:`to_json`."""
        if len(levels) == 1 and isinstance(levels[0], str):
            return Scale(tuple(levels[0].split("<")), True)
        return Scale(tuple(levels), all(isinstance(level, int | float) for level in levels))


def scale_from(first: int, last: int) -> Scale:
    """The scale of whole numbers between two, both included."""
    return Scale(tuple(float(level) for level in range(first, last + 1)), True)


def parse_scale(text: str) -> Scale:
    """A scale as typed: ``1-5`` (whole numbers), ``0,0.5,1`` (these numbers), ``none/open/closed`` (labels), or
    ``mild<moderate<severe`` (labels that have this order).

    Three labels or more that are words of a known order, and stand in it, have that order however they are parted:
    ``never/rarely/often`` is ``never<rarely<often``.

    Raises:
        DataError: it is none of these.
    """
    low, dash, high = text.strip().partition("-")
    if dash and _LEVEL.fullmatch(low.strip()) and _LEVEL.fullmatch(high.strip()):
        first, last = int(low), int(high)
        if first < last <= first + 1000:
            return scale_from(first, last)
    ranked = [part.strip() for part in text.split("<")]
    if len(ranked) >= 2 and all(ranked) and len(set(ranked)) == len(ranked):
        return Scale(tuple(ranked), True)
    parts = [part.strip() for part in text.replace("/", ",").split(",")]
    if len(parts) >= 2 and all(parts) and len(set(parts)) == len(parts):
        numbers = [number_in(part) for part in parts]
        if all(number is not None for number in numbers):
            return Scale(tuple(sorted(number for number in numbers if number is not None)), True)
        order = standing_order(parts) if len(parts) > 2 else None
        return Scale(tuple(parts) if order is None else order, order is not None)
    raise DataError(
        f"{text!r:.60} is not a scale",
        where="`scales`",
        todo="write 1-5, or 0,0.5,1, or none/open/closed, or mild<moderate<severe",
    )


def parse_scales(texts: Sequence[str]) -> dict[str | None, Scale]:
    """Scales as typed, by metric; one without ``metric=`` holds for all and has the key None."""
    scales: dict[str | None, Scale] = {}
    for text in texts:
        metric, equals, rest = text.partition("=")
        scales[metric.strip() if equals else None] = parse_scale(rest if equals else text)
    return scales


def number_in(cell: str) -> float | None:
    """The finite number that a cell holds; None where it holds none."""
    try:
        number = float(cell)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


#: A line a set, from its lowest level; ``|`` parts words for one level. A level in parentheses may be lacking: the set
#: is known with it and without it.
_SETS = Path(__file__).with_name("word_scales.txt")
#: What parts words of a level, or stands around them.
_BETWEEN = re.compile(r"[\s_/,;.!…،。、\-‐‑–—]+")
_APOSTROPHES = str.maketrans(dict.fromkeys("’‘`´ʼ", "'"))
#: Fewest words that prove an order: one word is of many sets. From this many on, words that are the whole of a set are
#: that set, though a longer one may have them too.
_FEWEST, _PROVE = 2, 5

#: Words for each level of a set, by their key.
_Levels = tuple[dict[str, str], ...]


def word_key(text: str) -> str:
    """What spellings of one word have in common: no case, accents, marks and doubled blanks.

    >>> word_key("Tout à fait d’accord"), word_key("teils/teils "), word_key("Häufig")
    ("tout a fait d'accord", 'teils teils', 'haufig')
    """
    # Marks that are letters of their own in Devanagari and the like are no part of any set.
    bare = "".join(
        letter
        for letter in unicodedata.normalize("NFKD", text.translate(_APOSTROPHES).casefold())
        if unicodedata.category(letter) != "Mn"
    )
    return _BETWEEN.sub(" ", bare).strip()


@cache
def _sets() -> tuple[tuple[_Levels, ...], dict[str, frozenset[int]]]:
    """All sets, and which of them each word is of."""
    sets: list[_Levels] = []
    for line in _SETS.read_text("utf-8").splitlines():
        texts = line.split("<")
        levels = [{word_key(word): word for word in text.strip("()").split("|")} for text in texts]
        optional = [at for at, text in enumerate(texts) if text.startswith("(")]
        sets.append(tuple(levels))
        sets += [tuple(level for at, level in enumerate(levels) if at != left) for left in optional]
    places: dict[str, set[int]] = defaultdict(set)
    for number, of_set in enumerate(sets):
        for level in of_set:
            for word in level:
                places[word].add(number)
    return tuple(sets), {word: frozenset(numbers) for word, numbers in places.items()}


def set_keys(words: Iterable[str]) -> dict[str, str]:
    """Those of some words that are of a set, by their key."""
    return {key: word for word in words if (key := word_key(word)) in _sets()[1]}


def word_scales(words: Iterable[str]) -> list[tuple[str, ...]]:
    """The levels of each set that has all of some words, each as another level; none for a word alone.

    >>> word_scales(["Never", "seldom", "often", "always", "sometimes"])[0]
    ('never', 'seldom', 'sometimes', 'often', 'always')
    >>> word_scales(["open", "closed"])
    []
    """
    sets, places = _sets()
    keys = set(map(word_key, words))
    if len(keys) < _FEWEST or not keys <= places.keys():
        return []
    scales: dict[tuple[str, ...], None] = {}
    for number in sorted(frozenset.intersection(*(places[key] for key in keys))):
        taken = [keys & level.keys() for level in sets[number]]
        if sum(map(bool, taken)) == len(keys):
            names = (
                level[min(own)] if own else next(iter(level.values()))
                for own, level in zip(taken, sets[number], strict=True)
            )
            scales[tuple(names)] = None
    return list(scales)


def decided_scale(words: Iterable[str], decided: Iterable[tuple[str, ...]] = ()) -> tuple[str, ...] | None:
    """The levels of the set that words are of, from the lowest, where it is decided which one; None else.

    It is where no other set has them, or where they are the whole of a set of five levels or more and no set has only
    one level besides: four levels may be five of which nobody used the middle.

    Args:
        words: the words.
        decided: the sets that other words of the same form are of: these are of such a one, if it has them.
    """
    distinct = {word_key(word) for word in words}
    scales = word_scales(distinct)
    if len(scales) > 1:
        scales = [scale for scale in decided if scale in scales] or [
            scale
            for scale in scales
            if len(scale) == len(distinct) >= _PROVE and not any(len(other) == len(scale) + 1 for other in scales)
        ]
    return scales[0] if len(set(scales)) == 1 else None


def are_opposites(words: Iterable[str]) -> bool:
    """Whether words are the two levels of a set that has no others, so that no number depends on their order.

    >>> are_opposites(["agree", "disagree"]), are_opposites(["agree", "strongly agree"])
    (True, False)
    """
    distinct = set(map(word_key, words))
    return len(distinct) == 2 and any(len(scale) == 2 for scale in word_scales(distinct))


def strange_words(words: Iterable[str]) -> tuple[list[str], list[str]]:
    """Words of which most are of one set, parted into those and the others; nothing where most are of none.

    >>> strange_words(["agree", "disagree", "dunno"]), strange_words(["change", "neutral", "sustain"])
    ((['agree', 'disagree'], ['dunno']), ([], []))
    """
    by_key = {word_key(word): word for word in words}
    sets, places = _sets()
    numbers = {number for key in by_key for number in places.get(key, ())}
    known = max(
        (sorted(by_key.keys() & {word for level in sets[number] for word in level}) for number in sorted(numbers)),
        key=len,
        default=[],
    )
    if len(known) < _FEWEST or 2 * len(known) <= len(by_key) or len(known) == len(by_key):
        known = [key for key in by_key if key in places]
        # Words of several sets, none of which has most of them, are a mixture all the same.
        if len(known) < _FEWEST or len(known) < len(by_key):
            return [], []
        known = known[:1]
    return [by_key[key] for key in known], [word for key, word in by_key.items() if key not in known]


def standing_order(labels: Sequence[str]) -> tuple[str, ...] | None:
    """Labels from the lowest, where they stand in the order of a set that all of them are of, up or down.

    >>> standing_order(["Often", "rarely", "never"]), standing_order(["often", "never", "rarely"])
    (('never', 'rarely', 'Often'), None)
    """
    sets, places = _sets()
    keys = [word_key(label) for label in labels]
    if len(set(keys)) < len(keys) or not all(key in places for key in keys) or len(keys) < _FEWEST:
        return None
    for number in sorted(frozenset.intersection(*(places[key] for key in keys))):
        order = [next(at for at, level in enumerate(sets[number]) if key in level) for key in keys]
        if len(set(order)) == len(order) and order in (sorted(order), sorted(order, reverse=True)):
            return tuple(labels) if order == sorted(order) else tuple(labels[::-1])
    return None
