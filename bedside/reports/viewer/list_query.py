"""What is wanted of the list of transcripts, as the page's addresses say it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from bedside.core.errors import InputError

#: What the list can be sorted by, beside factors.
SORTS = ("id", "system", "case", "turns", "value", "missing", "differ")
#: What names of factors begin with in addresses.
FACTOR = "factor."


@dataclass(frozen=True, slots=True)
class ListQuery:
    """Which transcripts are wanted, and in which order.

    Attributes:
        text: what their id, system or case contains, whatever its case.
        systems, cases: any of these; an empty text stands for none.
        factors: factor → any of these levels; an empty text stands for none.
        metric: whose values stand in the list.
        rater: whose ratings count; only transcripts that they rated.
        least, most: bounds of the metric's value, both included.
        labels: any of these is among the metric's labels.
        missing: only those with a rating that is missing.
        differ: only those on which raters differ.
        sort: one of :data:`SORTS`, or a factor after :data:`FACTOR`; the run's order where it is empty. What has
            nothing there comes last.
        descending: from the greatest.
    """

    text: str = ""
    systems: tuple[str, ...] = ()
    cases: tuple[str, ...] = ()
    factors: tuple[tuple[str, tuple[str, ...]], ...] = ()
    metric: str | None = None
    rater: str | None = None
    least: float | None = None
    most: float | None = None
    labels: tuple[str, ...] = ()
    missing: bool = False
    differ: bool = False
    sort: str = ""
    descending: bool = False


def read_query(pairs: Iterable[tuple[str, str]]) -> ListQuery:
    """What names and values of an address ask for; names that mean nothing here are left alone.

    Raises:
        InputError: a bound is no number, or the list can't be sorted so.
    """
    values: dict[str, list[str]] = {}
    for name, value in pairs:
        values.setdefault(name, []).append(value)
    sort = values.get("sort", [""])[-1]
    descending = sort.startswith("-")
    sort = sort.removeprefix("-")
    if sort and sort not in SORTS and not sort.startswith(FACTOR):
        raise InputError(f"the list can't be sorted by {sort!r}", todo=f"sort by {', '.join(SORTS)}")
    return ListQuery(
        text=values.get("q", [""])[-1].strip(),
        systems=tuple(values.get("system", ())),
        cases=tuple(values.get("case", ())),
        factors=tuple(
            (name.removeprefix(FACTOR), tuple(levels))
            for name, levels in values.items()
            if name.startswith(FACTOR)
        ),
        metric=values.get("metric", [""])[-1] or None,
        rater=values.get("rater", [""])[-1] or None,
        least=_number(values, "from"),
        most=_number(values, "to"),
        labels=tuple(values.get("label", ())),
        missing="missing" in values,
        differ="differ" in values,
        sort=sort,
        descending=descending,
    )


def _number(values: dict[str, list[str]], name: str) -> float | None:
    text = values.get(name, [""])[-1].strip()
    if not text:
        return None
    try:
        return float(text)
    except ValueError as error:
        raise InputError(
            f"{text!r} is not a number", where=name, todo="write it with figures, as 3.5"
        ) from error
