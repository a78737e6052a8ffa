"""Preferences beside levels: whether two ways of asking the same raters say the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bedside.analysis.pair_preferences import PreferenceLevels
from bedside.analysis.ratings_view import RatingsView
from bedside.reports.columns import recorded, table_of
from bedside.reports.notes import Note, note
from bedside.reports.number_text import decimal, rater_words, share_words
from bedside.reports.preference_notes import PREFERENCE_RECORD, heading, levels_of
from bedside.reports.table import Table
from bedside.reports.table_content import Column
from bedside.reports.table_kind import TableKind

_TITLE = "Preferences beside levels"


COLUMNS = (
    PREFERENCE_RECORD,
    recorded(cell=lambda beside: f"{beside.metric}@{beside.raters}"),
    Column("Raters", "left", text=lambda beside: rater_words(beside.raters)),
    Column("Pairs", field="pairs"),
    Column("Cases", field="cases"),
    Column("Better level preferred [95 % CI]", field="agreeing", form=share_words),
    recorded(decided="agreeing.n"),
    Column("Equal levels", field="equal_levels", value=lambda beside: beside.level_ties),
    Column("No preference", field="no_preference", value=lambda beside: beside.verdict_ties),
    Column("Neither", field="neither", value=lambda beside: beside.both_ties),
    Column("τ of systems", field="tau", value=lambda beside: beside.correlation, form=decimal),
    recorded(
        means=lambda beside: "; ".join(f"{system} {mean:.4f}" for system, mean in beside.means.items()),
        turned=lambda beside: "; ".join(f"{a} over {b}" for a, b in beside.turned),
    ),
)
MEANING = Note(
    "preference levels.meaning",
    "Pairs of conversations that the same raters compared and gave levels by the same rubric. Better level preferred: "
    "of the pairs with a preference and different levels, the share in which the preferred one has the better level. "
    "Its interval is over cases. Equal levels: a preference all the same, which a finer look or the place may give. No "
    "preference: a tie, or a verdict that depends on the order, although levels differ. τ: Kendall's, of the systems' "
    "strengths and mean levels, where there are three or more.",
)


@note("preference levels.turned", "τ of systems")
def turned(shown: Sequence[PreferenceLevels]) -> Iterator[str]:
    """Systems that one way of asking puts the other way round."""
    for beside in shown:
        for a, b in beside.turned:
            yield (
                f"{heading(beside.facts, beside.raters)}: {a} is preferred to {b} by strength, and has the worse mean "
                f"level ({decimal(beside.means[a])} beside {decimal(beside.means[b])})."
            )


def preference_level_table(shown: Sequence[PreferenceLevels]) -> Table:
    """The table of what is already computed."""
    return table_of("preference_levels", _TITLE, shown, COLUMNS, group=lambda beside: beside.facts.title,
                    notes=(MEANING, turned))  # fmt: skip


def _build(view: RatingsView, seed: int) -> Table | None:
    shown = levels_of(view, seed)
    return preference_level_table(shown) if shown else None


TABLE = TableKind("preference_levels", _TITLE, 26, _build, shown="always", averages=False)
