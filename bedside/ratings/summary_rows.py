"""Rows under a table of ratings that were computed from those above, such as their mean, and are no items."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import takewhile
from statistics import mean, median, pstdev, stdev
from typing import NamedTuple

from bedside.ratings.rated_cells import is_no_answer
from bedside.ratings.scales import number_in
from bedside.ratings.spellings import plain
from bedside.ratings.table_columns import is_derived

#: What such a row may be called besides what a column is that was computed.
_NAMES = frozenset(
    """kappa cohen_s_kappa cohens_kappa fleiss_kappa weighted_kappa icc alpha krippendorff_s_alpha krippendorffs_alpha
    percent_agreement correlation count counts overall grand_total subtotal total totals sum sums means averages minimum
    maximum percent percentage missing missings valid stdabw std_abw std_dev st_dev mittelwert mittelwerte summe gesamt
    gesamtsumme durchschnitt standardabweichung varianz anzahl prozent fehlend spannweite moyenne écart_type
    ecart_type médiane somme effectif promedio desv_est desviación_estándar desviacion_estandar mediana suma media
    média varianza somma totale deviazione_standard dev_std desvio_padrão soma 平均 平均值 平均値 均值 标准差 標準差
    标准偏差 標準偏差 合计 合計 总计 總計 总和 中位数 中央値 人数 件数 평균 표준편차 합계
    """.split()
)
#: The same of one or two letters or signs, which may be an item's id among others of this kind.
_SHORT = frozenset(("n", "m", "s", "se", "%", "ø", "x̄", "σ", "μ", "∑", "#", "計"))
#: An id that is a word, with no number in it.
_WORD = re.compile(r"\D{3,}")
#: Fewest other ids of one form, of which another is unlike.
_FEWEST = 3
#: Most ids that are unlike the others: more are items of another kind.
_MOST = 12
#: Fewest cells above of which something was computed.
_FEWEST_CELLS = 2


class SummaryRows(NamedTuple):
    """Rows under a table.

    Attributes:
        computed: ids of those that were computed from the rows above.
        unsettled: position of the first that may be an item or computed; None where there is none.
    """

    computed: frozenset[str] = frozenset()
    unsettled: int | None = None


def summary_rows(ids: Sequence[str], rows: Sequence[Sequence[str]] = (), at: Sequence[int] = ()) -> SummaryRows:
    """The rows under a table that are no items: by their names, where the items' ids are no words, and the last ones
    by their numbers, too.

    Args:
        ids: what stands in the column of the items, row by row.
        rows: the cells of each row.
        at: positions of the columns that hold ratings.

    >>> sorted(summary_rows(["a1", "a2", "Mean", "SD"]).computed), sorted(summary_rows(["calm", "mean"]).computed)
    (['Mean', 'SD'], [])
    """
    known = {name for name in set(ids) if not re.search(r"\d", name) and (plain(name) in _NAMES or is_derived(name))}
    last, others = _last(ids, lambda name: not re.search(r"\d", name))
    others -= known
    if others and all(re.search(r"\d", name) for name in others):
        short = {name for name in last if name.casefold() in _SHORT or plain(name) in _SHORT}
        rest = set(last) - known - short
        if len(rest) > min(_MOST, len(others)):
            rest = set()
        equal_rows = _equal(rest, ids, rows, at)
        left = rest - equal_rows
        odd = [position for position, name in enumerate(ids) if name in left]
        alike = len(others) >= _FEWEST and len({re.sub(r"\d+", "0", name) for name in others}) == 1
        held = (position for position in odd if any(not is_no_answer(cell) for cell in _cells(rows[position], at)))
        return SummaryRows(frozenset(known | short | equal_rows), next(held, None) if alike and rows else None)
    last, others = _last(ids, lambda name: bool(_WORD.fullmatch(name)) or name in known)
    others -= known
    if others and not any(map(_WORD.fullmatch, others)):
        return SummaryRows(frozenset(known | _equal(set(last) - known, ids, rows, at)))
    last, others = _last(ids, known.__contains__)
    if len(others) < _FEWEST:
        return SummaryRows()
    # Words may be items: a mean among them is known by numbers that are no answers.
    sure = _equal(set(last), ids, rows, at, exact=True)
    maybe = _equal(set(last), ids, rows, at, exact=True, answers=True) - sure
    return SummaryRows(frozenset(sure), min(map(ids.index, maybe), default=None))


def _last(ids: Sequence[str], unlike: Callable[[str], bool]) -> tuple[list[str], set[str]]:
    """The last ids that are unlike others, from below, and all others; blank ones are none."""
    last = list(takewhile(lambda name: not name or unlike(name), reversed(ids)))
    others = set(ids[: len(ids) - len(last)]) - {""}
    names = [name for name in dict.fromkeys(last) if name]
    return ([], others) if others.intersection(names) else (names, others)


def _cells(row: Sequence[str], at: Sequence[int]) -> list[str]:
    return [row[position].strip() for position in at if position < len(row)]


def _equal(
    names: Collection[str],
    ids: Sequence[str],
    rows: Sequence[Sequence[str]],
    at: Sequence[int],
    *,
    exact: bool = False,
    answers: bool = False,
) -> set[str]:
    """Those of the last rows' names whose numbers are one statistic of all columns above, and no answers as others are.

    Args:
        names: the names.
        ids, rows, at: as of :func:`summary_rows`.
        exact: whether whole numbers must be the statistic itself.
        answers: whether all numbers may be answers of rows above, too.
    """
    if not names or not rows:
        return set()
    places = [position for position, name in enumerate(ids) if name in names]
    times = Counter(ids[position] for position in places)
    top = places[0]
    equal_rows = set()
    above = {column: _numbers(rows[:top], column) for column in at}
    statistics = {column: _statistics(numbers) for column, numbers in above.items()}
    for position in places:
        row, same, new = rows[position], set[str](), answers
        cells = {column: row[column].strip() for column in at if column < len(row)}
        answered = {column: cell for column, cell in cells.items() if not is_no_answer(cell)}
        for number, (column, cell) in enumerate(answered.items()):
            equal = {
                statistic for statistic, value in statistics[column].items() if _is_rounded(cell, value, exact=exact)
            }
            same = equal if number == 0 else same & equal
            new = new or number_in(cell.replace(",", ".", 1)) not in above[column]
        if same and new and times[ids[position]] == 1:
            equal_rows.add(ids[position])
    return equal_rows


def _numbers(rows: Sequence[Sequence[str]], column: int) -> list[float]:
    cells = (row[column].strip().replace(",", ".", 1) for row in rows if column < len(row))
    return [number for number in map(number_in, cells) if number is not None]


def _statistics(numbers: Sequence[float]) -> Mapping[str, float]:
    if len(numbers) < _FEWEST_CELLS:
        return {}
    return {
        "mean": mean(numbers),
        "median": median(numbers),
        "sum": sum(numbers),
        "count": len(numbers),
        "stdev": stdev(numbers),
        "pstdev": pstdev(numbers),
        "min": min(numbers),
        "max": max(numbers),
    }


def _is_rounded(cell: str, value: float, *, exact: bool) -> bool:
    """Whether a cell holds a number, as it is rounded; ``exact`` says that one without decimals must be the same."""
    text = cell.replace(",", ".", 1)
    number = number_in(text)
    if number is None:
        return False
    decimals = len(text.partition(".")[2])
    step = 0.0 if exact and not decimals else 0.5 * 10.0**-decimals
    return abs(number - value) <= step + 1e-9
