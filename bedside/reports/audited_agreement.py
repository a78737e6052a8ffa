"""The tables of agreement, and of audits where people audited judges: the answer of ``bedside agree``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from bedside.analysis.agreement import Agreement
from bedside.analysis.audits import audits
from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.retest import retests
from bedside.analysis.selection import NothingError, by_raters
from bedside.reports.table import Table, Tables
from bedside.reports.tables.agreement import agreement_table, audit_notes, confusion_tables
from bedside.reports.tables.audits import audits_table
from bedside.reports.tables.retest import retest_table
from bedside.support.errors import DataError


def agreement_tables(
    view: RatingsView,
    compute: Callable[[], tuple[Agreement, ...]],
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
        compute: gives the agreements.
        metrics, raters: names or patterns that chose them; they choose the audits, too.
        confusion: whether to show who gave what.
        seed: of what is drawn at random.

    Raises:
        DataError: there are neither.
    """
    verdicts = audits(view, metrics=metrics, raters=raters)
    try:
        agreements = compute()
    except DataError:
        if not verdicts:
            raise
        return Tables([audits_table(verdicts)], ())
    agreement = agreement_table(agreements)
    tables = [replace(agreement, notes=(*agreement.notes, *audit_notes(view)))]
    tables += confusion_tables(agreements) if confusion else ()
    tables += [audits_table(verdicts)] if verdicts else []
    return Tables([*tables, *_retest_tables(view, metrics, raters, seed)], agreements)


def _retest_tables(
    view: RatingsView, metrics: Sequence[str] | None, raters: Sequence[str] | None, seed: int
) -> list[Table]:
    """How well people agree with themselves, where they rated anything twice."""
    try:
        return [retest_table(retests(by_raters(view, raters), metrics=metrics, seed=seed))]
    except NothingError:
        return []
