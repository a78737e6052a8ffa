"""The tables of agreement, and of audits where people audited judges: the answer of ``bedside agree``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from bedside.analysis.agreement import Agreement, rated_apart
from bedside.analysis.audits import audits
from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.retest import retests
from bedside.analysis.selection import NothingError, by_raters
from bedside.reports.table import Table, Tables
from bedside.reports.table_notes import preferences_apart
from bedside.reports.tables.agreement import agreement_table, audit_notes, confusion_tables
from bedside.reports.tables.audits import audits_table
from bedside.reports.tables.retest import retest_table


def agreement_tables(
    view: RatingsView,
    compute: Callable[[Sequence[str] | None], tuple[Agreement, ...]],
    *,
    metrics: Sequence[str] | None,
    raters: Sequence[str] | None,
    confusion: bool,
    seed: int,
) -> Tables[tuple[Agreement, ...]]:
    """Agreement of raters who rated on their own, then what people say of judges whose ratings they were shown,
    and how well people agree with themselves.

    Args:
        view: the ratings.
        compute: gives the agreements on metrics that match these patterns, or on all.
        metrics, raters: names or patterns that choose them; they choose the audits, too. A rubric that was only audited
            is no metric of independent raters.
        confusion: whether to show who gave what.
        seed: of what is drawn at random.

    Raises:
        NothingError: there are neither.
        DataError: an unknown name or option.
    """
    verdicts = audits(view, metrics=metrics, raters=raters)
    rated = None if metrics is None else [pattern for pattern in metrics if view.metrics_like(pattern)]
    agreements: tuple[Agreement, ...] = ()
    try:
        if rated != [] or not verdicts:
            agreements = compute(rated)
    except NothingError:
        if not verdicts:
            raise
    tables: list[Table] = []
    if agreements:
        apart = rated_apart(view, agreements, metrics=rated, raters=raters)
        agreement = agreement_table(agreements, apart)
        tables.append(
            replace(agreement, notes=(*agreement.notes, *audit_notes(view), *preferences_apart(view)))
        )
        tables += confusion_tables(agreements) if confusion else ()
    tables += [audits_table(verdicts)] if verdicts else []
    tables += _retest_tables(view, rated, raters, seed) if rated != [] else []
    return Tables(tables, agreements)


def _retest_tables(
    view: RatingsView, metrics: Sequence[str] | None, raters: Sequence[str] | None, seed: int
) -> list[Table]:
    """How well people agree with themselves, where they rated anything twice."""
    try:
        return [retest_table(retests(by_raters(view, raters), metrics=metrics, seed=seed))]
    except NothingError:
        return []
