"""Do several systems differ? One test over all, then all pairs as a family."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from bedside.core.errors import DataError
from bedside.stats.arrays import Array, average_ranks, clean, constant, matrix
from bedside.stats.families import family
from bedside.stats.result import Result
from bedside.stats.unpaired import EMPTY_GROUP

#: Why a test of several systems has no value.
_NO_COMPLETE_CASE = "no case has a value of every system"
_EQUAL_SYSTEMS = "within every case all systems are equal"


def _complete(values: Any, least: int) -> tuple[Array, int]:
    table = matrix(values, "values")
    if table.shape[1] < least and table.shape[0]:
        raise DataError(f"this test needs at least {least} systems", todo="use a paired test for two")
    kept = ~np.isnan(table).any(axis=1)
    return table[kept], int((~kept).sum())


def friedman(values: Any) -> Result:
    """Friedman's test of three or more systems on the same cases; the statistic is chi-squared, ties corrected.

    Args:
        values: cases (rows) by systems (columns). Cases that miss a value are dropped and counted.

    Estimate: Kendall's W, 0 … 1. p from chi-squared with (systems − 1) degrees of freedom. Details hold each
    system's mean rank, by column number from 0 (1 is the lowest).
    """
    table, dropped = _complete(values, 3)
    n, k = table.shape
    blank = Result(
        name="Kendall's W", method=f"Friedman's test of {k} systems, ties corrected, chi-squared", n=n, dropped=dropped
    )
    if n == 0:
        return blank.no_value(_NO_COMPLETE_CASE)
    ranks = np.array([average_ranks(row) for row in table])
    details: dict[str, float | None] = {
        f"mean rank of {column}": float(value) for column, value in enumerate(ranks.mean(axis=0))
    }
    if n < 2 or (ranks == ranks[:, :1]).all():
        return replace(blank, details=details).no_value("one case" if n < 2 else _EQUAL_SYSTEMS)
    # Conover (1999), equation 5.8.4.
    between = ((ranks.sum(axis=0) - n * (k + 1) / 2) ** 2).sum()
    statistic = (k - 1) * between / ((ranks**2).sum() - n * k * (k + 1) ** 2 / 4)
    return _concordance(blank, float(statistic), k, details)


def _concordance(blank: Result, statistic: float, k: int, details: Mapping[str, float | None]) -> Result:
    """Kendall's W of a chi-squared test of ``k`` systems."""
    from scipy.special import chdtrc

    return replace(
        blank,
        estimate=statistic / (blank.n * (k - 1)),
        statistic=statistic,
        p=float(chdtrc(k - 1, statistic)),
        details={**details, "degrees of freedom": float(k - 1)},
    )


def kruskal_wallis(groups: Sequence[Any]) -> Result:
    """Kruskal and Wallis' test of two or more groups of different cases; the statistic is H, ties corrected.

    Estimate: epsilon squared, H / (n − 1), 0 … 1. p from chi-squared with (groups − 1) degrees of freedom.
    """
    from scipy.special import chdtrc

    if len(groups) < 2:
        raise DataError("this test needs at least two groups")
    cleaned = [clean(group, f"group {index}") for index, group in enumerate(groups)]
    values = [group for group, _ in cleaned]
    dropped = sum(lost for _, lost in cleaned)
    n = sum(group.size for group in values)
    blank = Result(
        name="epsilon squared",
        method=f"Kruskal–Wallis test of {len(values)} groups, ties corrected, chi-squared",
        n=n,
        dropped=dropped,
    )
    if any(group.size == 0 for group in values):
        return blank.no_value(EMPTY_GROUP)
    if constant(np.concatenate(values)):
        return blank.no_value("all values are equal")
    # Kruskal and Wallis (1952): the share of the ranks' squares that lies between the groups.
    ranks = average_ranks(np.concatenate(values))
    mean_ranks = [part.mean() for part in np.split(ranks, np.cumsum([group.size for group in values])[:-1])]
    between = sum(group.size * (mean - (n + 1) / 2) ** 2 for group, mean in zip(values, mean_ranks, strict=True))
    statistic = float((n - 1) * between / ((ranks - (n + 1) / 2) ** 2).sum())
    return replace(
        blank,
        estimate=statistic / (n - 1),
        statistic=statistic,
        p=float(chdtrc(len(values) - 1, statistic)),
        details={"degrees of freedom": float(len(values) - 1)},
    )


def cochran_q(values: Any) -> Result:
    """Cochran's Q of zeros and ones of three or more systems on the same cases; chi-squared.

    Estimate: Kendall's W of the same data, Q / (n (systems − 1)), 0 … 1. Details hold each system's share.

    Raises:
        DataError: a value is neither 0 nor 1.
    """
    table, dropped = _complete(values, 3)
    if not np.isin(table, (0.0, 1.0)).all():
        raise DataError("Cochran's Q needs values of 0 and 1")
    n, k = table.shape
    blank = Result(name="Kendall's W", method=f"Cochran's Q of {k} systems, chi-squared", n=n, dropped=dropped)
    if n == 0:
        return blank.no_value(_NO_COMPLETE_CASE)
    details: dict[str, float | None] = {
        f"share of {column}": float(value) for column, value in enumerate(table.mean(axis=0))
    }
    if (table == table[:, :1]).all():
        return replace(blank, details=details).no_value(_EQUAL_SYSTEMS)
    of_systems, of_cases = table.sum(axis=0), table.sum(axis=1)
    spread = (k - 1) * k * ((of_systems - of_systems.mean()) ** 2).sum()
    return _concordance(blank, float(spread / (of_cases * (k - of_cases)).sum()), k, details)


def pairwise(
    systems: Mapping[str, Any], test: Callable[..., Result], *, name: str, correction: str = "holm", **options: Any
) -> dict[tuple[str, str], Result]:
    """A test of two systems on all pairs of systems, corrected as one family.

    Args:
        systems: values by name of the system; in the same order of cases where the test is paired.
        test: a test of this library, e.g. :func:`bedside.stats.paired.wilcoxon`, called as
            ``test(first, second, **options)``.
        name: of the family.
        correction: as for :func:`bedside.stats.families.adjusted`.
    """
    duos = list(combinations(systems, 2))
    results = [test(systems[first], systems[second], **options) for first, second in duos]
    return dict(zip(duos, family(results, name, method=correction), strict=True))
