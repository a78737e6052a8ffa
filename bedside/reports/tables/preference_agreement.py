"""Agreement of raters on which of two conversations is better."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bedside.analysis.pair_preferences import PreferenceAgreement
from bedside.analysis.ratings_view import PEOPLE, RatingsView
from bedside.core.words import counted
from bedside.reports.number_text import DASH, bounded_record, rater_words, share_words
from bedside.reports.preference_notes import agreement_of, record_head
from bedside.reports.table import Table
from bedside.reports.table_content import Cell, Column, Row
from bedside.reports.table_kind import TableKind
from bedside.stats.kappa_bands import reading

_TITLE = "Preferences: how raters agree"


def preference_agreement_table(shown: Sequence[PreferenceAgreement]) -> Table:
    """The table of agreements already computed."""
    return Table(
        name="preference_agreement",
        title=_TITLE,
        columns=(
            Column("Raters", "left"), Column("Pairs"), Column("Cases"), Column("Same verdict [95 % CI]"),
            Column("κ [95 % CI]"), Column("Reading", "left"), Column("Same winner [95 % CI]"),
        ),
        rows=tuple(
            Row(tuple(_cells(agreement, record)), agreement.facts.title) for record, agreement in enumerate(shown)
        ),
        notes=tuple(_notes(shown)),
        records=tuple(map(_record, shown)),
    )  # fmt: skip


def _between(agreement: PreferenceAgreement) -> str:
    if agreement.raters == agreement.others == PEOPLE:
        return "people among themselves"
    return f"{rater_words(agreement.raters)} and {rater_words(agreement.others)}"


def _cells(agreement: PreferenceAgreement, record: int) -> Iterator[Cell]:
    yield Cell(_between(agreement))
    for text in (
        f"{agreement.pairs:,}",
        f"{agreement.cases:,}",
        share_words(agreement.same),
        share_words(agreement.kappa),
        reading(agreement.kappa.estimate) or DASH,
        share_words(agreement.decided),
    ):
        yield Cell(text, record=record)


def _record(agreement: PreferenceAgreement) -> Mapping[str, Any]:
    return {
        **record_head(agreement.facts, agreement.raters),
        "cell": f"{agreement.metric}/{agreement.raters}-{agreement.others}",
        "others": agreement.others,
        "verdicts": agreement.verdicts,
        "pairs": agreement.pairs,
        "cases": agreement.cases,
        **bounded_record("same", agreement.same),
        **bounded_record("kappa", agreement.kappa),
        **bounded_record("same_winner", agreement.decided),
        "decided": agreement.decided.n,
        "one_order": agreement.one_order,
        "learnt": agreement.learnt,
        "missing": agreement.kappa.missing,
    }


def _notes(shown: Sequence[PreferenceAgreement]) -> Iterator[str]:
    yield (
        "A verdict is which of two conversations has more of the win over both orders and all passes, or a tie; so the "
        "place cancels where both orders were asked. κ: Cohen's of better, tie and worse, each pair both ways "
        "round, so that it doesn't matter which one is called the first. Same winner: of the pairs that both decided. "
        "With several people, each one's verdicts stand beside the other's. Intervals are over cases."
    )
    if any(agreement.raters == agreement.others == PEOPLE for agreement in shown):
        yield "People among themselves are the figure to set the others against."
    elif any(PEOPLE in (agreement.raters, agreement.others) for agreement in shown):
        yield "No two people compared the same pairs: how well people agree among themselves isn't known."
    for agreement in shown:
        if agreement.one_order:
            yield (
                f"{agreement.facts.title}, {_between(agreement)}: {agreement.one_order:,} of {agreement.verdicts:,} "
                "pairs of verdicts rest on one order at least once, with the place in it."
            )
        if agreement.learnt:
            yield (
                f"{agreement.facts.title}, {_between(agreement)}: {counted(agreement.learnt, 'preference')} left out, "
                "of cases whose ratings by people the rater learnt from."
            )
        if agreement.kappa.missing:
            yield f"{agreement.facts.title}, {_between(agreement)}: {agreement.kappa.missing}."


def _build(view: RatingsView, seed: int) -> Table | None:
    shown = agreement_of(view)
    return preference_agreement_table(shown) if shown else None


TABLE = TableKind("preference_agreement", _TITLE, 25, _build)
