"""Cells of ratings on their way from a file to the table, and what they hold.

That is no answer, a number as people write one, a label, a part of a whole: how a metric's cells are to be taken is
found out from all of them, before the first is read.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from bedside.core.errors import AmbiguousError, InputError
from bedside.core.words import counted
from bedside.ratings.scales import Scale, number_in, set_keys, word_key
from bedside.ratings.spellings import folded, joined_labels


class RatedCell(NamedTuple):
    """What a file says of one rating, all of it as text; what it doesn't say is empty.

    Attributes:
        where: file and row, for messages.
        column: the column or key of the file that the rating stands in: a person writes numbers in one way there.
        item: the transcript.
        rater: who rated.
        metric: on what; empty where the file has one metric alone and doesn't name it.
        value: the rating.
        second: of two transcripts that were compared, the one shown second; ``item`` is the first, and ``value`` says
            which is preferred.
        kind: ``comment`` where the cell holds what somebody remarked, in a column of comments, and no rating.
        system, case, turn, replicate, round, drawn, reason: as the columns of the ratings table, the turn as a number.
        times: how many cells it stands for, which are alike but for what they rate: it is the first of them.
        alike: gives what each of those rates; None where it is the only one.
    """

    where: str
    column: str
    item: str
    rater: str
    metric: str
    value: str
    system: str = ""
    case: str = ""
    turn: str = ""
    replicate: str = ""
    round: str = ""
    drawn: str = ""
    reason: str = ""
    second: str = ""
    kind: str = ""
    # Forms give fields as a dict of texts, which these two are not.
    times: Any = 1
    alike: Any = None

    def all_rated(self) -> Iterable[tuple[str, ...]]:
        """What each cell that it stands for rates."""
        rated: Iterable[tuple[str, ...]] = (self.rated,) if self.alike is None else self.alike()
        return rated

    @property
    def rated(self) -> tuple[str, ...]:
        """What it rates, in which pass and round."""
        return self.item, self.second, self.turn, self.replicate, self.round


def by_metric(cells: Iterable[RatedCell]) -> dict[str, list[RatedCell]]:
    """The cells of each metric."""
    cells_of: dict[str, list[RatedCell]] = {}
    for cell in cells:
        cells_of.setdefault(cell.metric, []).append(cell)
    return cells_of


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


#: The highest level of a scale whose levels are few, and fewest ratings that show it.
_SHORT, _FEWEST_RATED = 10, 6

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


def far_numbers(times: Mapping[float, int]) -> list[float]:
    """Rare numbers far from all others, which are levels of a short scale: mistyped, it may be.

    Args:
        times: how often each number was given.

    >>> far_numbers({1: 4, 2: 5, 3: 4, 5: 6, 44: 1}), far_numbers({1: 4, 2: 5, 3: 4, 10: 1})
    ([44], [])
    >>> far_numbers({0: 4, 10: 5, 20: 4, 30: 6, 100: 1}), far_numbers({1: 4, 2: 5, 3: 4, 44: 5})
    ([], [])
    """
    far = sorted(number for number in times if abs(number) > _SHORT)
    levels = sorted(times.keys() - set(far))
    rated = sum(times[level] for level in levels)
    if not far or len(levels) < 3 or rated < _FEWEST_RATED:
        return []
    gaps = [right - left for left, right in pairwise(levels)]
    # A scale of which no more than one level in a row is lacking.
    is_scale = max(gaps) <= 2 * min(gaps) and all(level * 2 == int(level * 2) for level in levels)
    rare = sum(times[number] for number in far) <= max(1, (rated + 1) // 10)
    top = max(map(abs, levels))
    return far if is_scale and rare and all(abs(number) > 2 * top for number in far) else []


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
    wholes = {None if (part := part_of_whole(cell)) is None else part[1] for cell in cells}
    return wholes.pop() if len(wholes) == 1 else None


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


_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")
_DECIMAL_POINT = re.compile(r"[+-]?\d*\.\d+")
#: What a decimal comma looks like where it may part thousands.
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")
#: Labels that a remark names.
_NAMED = 6


class MetricAnswers:
    """How the cells of one metric are to be taken: found out from all of them, before the first is read.

    Args:
        metric: the metric.
        scale: its scale; None where none is known.
        cells: all that hold a rating.
        exact: whether labels stay as they are written.
        known_labels: labels that other ratings of the metric have.
        without_codes: whether no number stands for no answer, whatever it seems.

    Attributes:
        remarks: whole sentences on what was assumed.
        joined: label as it is written → the spelling that stands for it.

    Raises:
        AmbiguousError: numbers can be read in two ways, or one may stand for no answer.
        InputError: one number has two labels.
    """

    def __init__(
        self,
        metric: str,
        scale: Scale | None,
        cells: Sequence[RatedCell],
        *,
        exact: bool = False,
        known_labels: Iterable[str] = (),
        without_codes: bool = False,
    ) -> None:
        self.metric = metric
        self.scale = scale
        self.remarks: list[str] = []
        self.joined: dict[str, str] = {}
        self._exact = exact
        self._first_kind: tuple[bool, str] | None = None
        self._level_of: Mapping[str, str] = {}
        self._parts = self._numbered = False
        self._commas: Collection[str] = ()
        if scale is not None and not scale.numeric:
            self._level_of = _spellings([str(level) for level in scale.levels])
            return
        self._parts = self._parts_of_a_whole(cells)
        self._commas = self._decimal_commas(cells)
        self._numbered = self._numbered_labels(cells)
        if scale is None:
            self._join_labels(cells, known_labels)
            if not without_codes:
                self._check_codes(cells)

    def read(self, cell: RatedCell) -> tuple[float | None, str | None]:
        """Value or label of a cell.

        Raises:
            InputError: it is off the scale, or a word where others are numbers.
        """
        text = cell.value.strip()
        if self._level_of:
            bare = (numbered(text) or ("", text))[1]
            spellings = [text, text.casefold(), bare, bare.casefold()]
            if not self._exact:
                spellings += [folded(text), folded(bare), word_key(text)]
            label = next((self._level_of[each] for each in spellings if each in self._level_of), None)
            if label is None:
                raise self._off_scale(text, cell.where)
            return None, label
        number = self._number(cell, text)
        if self.scale is not None:
            if number not in self.scale.levels:
                raise self._off_scale(text, cell.where)
            return number, None
        self._check_kind(text, is_number=number is not None, where=cell.where)
        return (number, None) if number is not None else (None, self.joined.get(text, text))

    def _number(self, cell: RatedCell, text: str) -> float | None:
        part = part_of_whole(text) if self._parts else None
        if part is not None:
            return part[0]
        if self._numbered:
            parts = numbered(text)
            text = text if parts is None else parts[0]
        if _DECIMAL_COMMA.fullmatch(text) and (cell.column in self._commas or self._numbered):
            text = text.replace(",", ".")
        return number_in(text)

    def _join_labels(self, cells: Sequence[RatedCell], known: Iterable[str]) -> None:
        """Take spellings of one label together, where the answers are labels."""
        if self._exact or self._parts or self._numbered:
            return
        labels = [(cell.rater, cell.value.strip(), cell.times) for cell in cells]
        self.joined, apart = joined_labels([answer for answer in labels if number_in(answer[1]) is None], known)
        for upper, lower in apart:
            self.remarks.append(
                f"{upper!r} and {lower!r} of {self.metric} stay two labels: one rater uses both often. "
                f"`scales={self.metric}={upper}/…` makes them one."
            )

    def _parts_of_a_whole(self, cells: Sequence[RatedCell]) -> bool:
        """Whether every answer is a number with what it is out of, the same of all: ``80%``, ``4/5``."""
        whole = whole_of(cell.value for cell in cells)
        if whole is None:
            return False
        example = cells[0].value.strip()
        number, _ = part_of_whole(example) or (0.0, "")
        out_of = "in percent, up to 100" if whole == "%" else f"out of {whole}"
        times = sum(cell.times for cell in cells)
        self.remarks.append(
            f"All of {self.metric} is numbers {out_of}: {example} is {number:g} ({counted(times, 'cell')})."
        )
        return True

    def _decimal_commas(self, cells: Sequence[RatedCell]) -> Collection[str]:
        """Columns whose numbers are written with a comma.
        AmbiguousError where a column has both, or its commas may part thousands."""
        commas: dict[str, list[RatedCell]] = {}
        points: dict[str, tuple[str, str]] = {}
        for cell in cells:
            text = cell.value.strip()
            if _DECIMAL_COMMA.fullmatch(text):
                commas.setdefault(cell.column, []).append(cell._replace(value=text))
            elif _DECIMAL_POINT.fullmatch(text):
                points.setdefault(cell.column, (text, cell.where))
        for column, written in commas.items():
            first, where = written[0].value, written[0].where
            if column in points:
                other, place = points[column]
                raise AmbiguousError(
                    f"{first!r} has a comma and {other!r} a point, so that a comma may part decimals or thousands",
                    where=f"{where} and {place}",
                    todo=f"write the numbers of {self.metric} alike, with a point before decimals and no other mark",
                )
            if all(_THOUSANDS.fullmatch(cell.value) for cell in written):
                raise AmbiguousError(
                    f"{first!r} may be {first.replace(',', '.')} or {first.replace(',', '')}",
                    where=where,
                    todo=f"write the numbers of {self.metric} with a point before decimals and no other mark",
                )
        if commas:
            example = next(iter(commas.values()))[0].value
            times = sum(cell.times for written in commas.values() for cell in written)
            self.remarks.append(
                f"Numbers of {self.metric} have a comma before their decimals: {example} is "
                f"{example.replace(',', '.')} ({counted(times, 'cell')})."
            )
        return commas.keys()

    def _numbered_labels(self, cells: Sequence[RatedCell]) -> bool:
        """Whether every answer is a number, and some have their label beside it.
        InputError where one number has two labels."""
        labels: dict[float, tuple[str, RatedCell]] = {}
        for cell in cells:
            text = cell.value.strip()
            if number_in(text) is not None or _DECIMAL_COMMA.fullmatch(text):
                continue
            parts = numbered(text)
            number = None if parts is None else number_in(parts[0].replace(",", "."))
            if parts is None or number is None:
                return False
            label, first = labels.setdefault(number, (parts[1], cell))
            if label.casefold() != parts[1].casefold():
                raise InputError(
                    f"{text!r} has another label than {first.value.strip()!r}",
                    where=f"{first.where} and {cell.where}",
                    todo="write one label for each number, or the numbers alone",
                )
        if labels:
            shown = ", ".join(f"{number:g} {label}" for number, (label, _) in sorted(labels.items())[:_NAMED])
            self.remarks.append(f"Of {self.metric} the numbers are taken, which have labels beside them: {shown}.")
        return bool(labels)

    def _check_codes(self, cells: Sequence[RatedCell]) -> None:
        """See that no number can stand for no answer, or be mistyped."""
        places: dict[float, str] = {}
        times: Counter[float] = Counter()
        for cell in cells:
            number = self._number(cell, cell.value.strip())
            if number is not None:
                places.setdefault(number, cell.where)
                times[number] += cell.times
        codes = possible_codes(places)
        far = [] if codes else far_numbers(times)
        codes = codes or far
        if codes:
            others = places.keys() - set(codes)
            shown = ",".join(f"{code:g}" for code in codes)
            mistyped, mend = (", mistyped,", "mend it, or ") if far else ("", "")
            raise AmbiguousError(
                f"{shown} of {self.metric} may be a rating{mistyped} or stand for no answer: others are from "
                f"{min(others):g} to {max(others):g}",
                where=places[codes[0]],
                todo=f"{mend}`missing={shown}` takes it for no answer, `missing={self.metric}=` for a rating, as does "
                f"a scale that has it (`scales={self.metric}=…`)",
            )

    def _check_kind(self, text: str, *, is_number: bool, where: str) -> None:
        self._first_kind = self._first_kind or (is_number, where)
        first_is_number, place = self._first_kind
        if first_is_number != is_number:
            kind = "numbers" if first_is_number else "labels"
            raise InputError(
                f"the rating of {self.metric} is {text!r}, while others are {kind} ({place})",
                where=where,
                todo=f"write all of them alike, give a scale with `scales`, or say `missing={text}` where it stands "
                "for no answer",
            )

    def _off_scale(self, text: str, where: str) -> InputError:
        levels = f"levels: {', '.join(self.scale.level_texts()) if self.scale else ''} (`scales` gives another)"
        off = f"{text!r} is not on the scale of {self.metric}"
        number = number_in(text)
        if number is None or not is_code(number):
            return InputError(off, where=where, todo=levels)
        return AmbiguousError(
            f"{off}, and may be a mistake or stand for no answer",
            where=where,
            todo=f"`missing={text}` takes it for no answer; {levels}",
        )


def holds_rating(cell: RatedCell, scale: Scale | None) -> bool:
    """Whether a cell holds a rating: a word that says there is none is one all the same if it is on the scale."""
    if not is_no_answer(cell.value):
        return True
    word = cell.value.strip().casefold()
    return scale is not None and any(isinstance(level, str) and level.casefold() == word for level in scale.levels)


def _spellings(levels: Sequence[str]) -> dict[str, str]:
    """Each level as it is written, and by its spelling in lower case and folded where no other has the same; a word of
    a set by its key, too."""
    spellings = set_keys(levels)
    for spell in (folded, str.casefold):
        times = Counter(map(spell, levels))
        spellings.update({spell(level): level for level in levels if times[spell(level)] == 1})
    return {**spellings, **{level: level for level in levels}}
