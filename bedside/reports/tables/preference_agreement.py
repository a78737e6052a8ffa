"""Agreement of raters on which of two conversations is better."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bedside.analysis.pair_preferences import PreferenceAgreement
from bedside.analysis.ratings_view import PEOPLE, RatingsView
from bedside.core.words import counted
from bedside.reports.columns import recorded, table_of
from bedside.reports.notes import Note, note
from bedside.reports.number_text import DASH, rater_words, share_words
from bedside.reports.preference_notes import PREFERENCE_RECORD, agreement_of
from bedside.reports.table import Table
from bedside.reports.table_content import Column
from bedside.reports.table_kind import TableKind
from bedside.stats.kappa_bands import reading

_TITLE = "Preferences: how raters agree"


def _between(agreement: PreferenceAgreement) -> str:
    if agreement.raters == agreement.others == PEOPLE:
        return "people among themselves"
    return f"{rater_words(agreement.raters)} and {rater_words(agreement.others)}"


COLUMNS = (
    PREFERENCE_RECORD,
    recorded(cell=lambda agreement: f"{agreement.metric}/{agreement.raters}-{agreement.others}", others="others",
             verdicts="verdicts"),
    Column("Raters", "left", text=_between),
    Column("Pairs", field="pairs"),
    Column("Cases", field="cases"),
    Column("Same verdict [95 % CI]", field="same", form=share_words),
    Column("κ [95 % CI]", field="kappa", form=share_words),
    Column("Reading", "left", text=lambda agreement: reading(agreement.kappa.estimate) or DASH),
    Column("Same winner [95 % CI]", field="same_winner", value="decided", form=share_words),
    recorded(decided="decided.n", one_order="one_order", learnt="learnt", missing="kappa.missing"),
)  # fmt: skip
MEANING = Note(
    "preference agreement.meaning",
    "A verdict is a tie, or which of two conversations won more over both orders and all passes. So the place "
    "cancels where both orders were asked. κ: Cohen's of better, tie and worse, each pair both ways round, so "
    "that it doesn't matter which one is called the first. Same winner: of the pairs that both decided. With several "
    "people, each one's verdicts stand beside the other's. Intervals are over cases.",
)


@note("preference agreement.people")
def among_people(shown: Sequence[PreferenceAgreement]) -> Iterator[str]:
    """Whether there is a human figure to set the others against."""
    if any(agreement.raters == agreement.others == PEOPLE for agreement in shown):
        yield "People among themselves are the figure to set the others against."
    elif any(PEOPLE in (agreement.raters, agreement.others) for agreement in shown):
        yield "No two people compared the same pairs: how well people agree among themselves isn't known."


@note("preference agreement.rests on")
def rests_on(shown: Sequence[PreferenceAgreement]) -> Iterator[str]:
    """What is in each figure that shouldn't be, and what was left out."""
    for agreement in shown:
        which = f"{agreement.facts.title}, {_between(agreement)}"
        if agreement.one_order:
            yield (
                f"{which}: {agreement.one_order:,} of {agreement.verdicts:,} pairs of verdicts rest on one order at "
                "least once, with the place in it."
            )
        if agreement.learnt:
            yield (
                f"{which}: {counted(agreement.learnt, 'preference')} left out, of cases whose ratings by people the "
                "rater learnt from."
            )


def preference_agreement_table(shown: Sequence[PreferenceAgreement]) -> Table:
    """The table of agreements already computed."""
    return table_of("preference_agreement", _TITLE, shown, COLUMNS, group=lambda agreement: agreement.facts.title,
                    notes=(MEANING, among_people, rests_on))  # fmt: skip


def _build(view: RatingsView, seed: int) -> Table | None:
    shown = agreement_of(view)
    return preference_agreement_table(shown) if shown else None


TABLE = TableKind(
    "preference_agreement", _TITLE, 25, _build, heading="Preferences: agreement", shown="always", averages=False
)
