"""Strengths: systems by how they fare when two conversations are compared, with the place taken out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bedside.analysis.leaderboard import ALPHA
from bedside.analysis.pair_preferences import SystemPreferences
from bedside.analysis.ratings_view import RatingsView
from bedside.reports.columns import of_whole, parts_of, recorded, table_of
from bedside.reports.notes import Note, note, noted
from bedside.reports.number_text import bounded_record, decimal, plain_words, range_words, share_words
from bedside.reports.preference_notes import (
    PREFERENCE_RECORD,
    heading,
    heading_of_part,
    left_out,
    preferences_of,
    reasons,
    with_preference_notes,
)
from bedside.reports.table import Table
from bedside.reports.table_content import Column, Recorded
from bedside.reports.table_kind import TableKind
from bedside.reports.table_notes import BY_WHERE, BY_WITHIN

_TITLE = "Preferences: how strong each system is"


COLUMNS = (
    of_whole(PREFERENCE_RECORD),
    recorded(cell=lambda row: f"{row.whole.metric}@{row.whole.raters}/{row.part.system}"),
    Column("System", "left", field="system", value="part.system", brief=True),
    Column("Strength [95 % CI]", field="strength", value="part.strength", form=plain_words,
           marks=lambda row: row.part.letters),
    Column("Preferred to the mean [95 % CI]", field="chance", value="part.chance", form=share_words),
    Column("Share of wins [95 % CI]", field="wins", value="part.wins", form=share_words, brief=True),
    recorded(letters="part.letters"),
    Column("Rank", text=lambda row: range_words(*row.part.ranks), brief=True),
    recorded(best_rank=lambda row: row.part.ranks[0], worst_rank=lambda row: row.part.ranks[1]),
    Column("Cases", field="cases", value="whole.cases", brief=True),
    recorded(comparisons="whole.comparisons"),
    Recorded(lambda row: bounded_record("position_effect", row.whole.position_effect)),
    recorded(
        method="part.strength.method",
        interval=lambda row: row.part.strength.interval.method if row.part.strength.interval else None,
        missing="part.strength.missing",
    ),
)  # fmt: skip
MEANING = Note(
    "strengths.meaning",
    "Strength: the log-odds of Bradley and Terry's model, with a tie as half a win for each; within a block they sum "
    "to 0. Preferred to the mean: the chance to be preferred to a system of mean strength if the place didn't count. "
    "Share of wins: of all comparisons of the system, each case counting once and both orders the same. Intervals are "
    "of a jackknife over cases, with all comparisons on a case together.",
)


@note("strengths.letters", "Strength [95 % CI]", "Rank")
def letters(shown: Sequence[SystemPreferences]) -> Iterator[str]:
    """Which tests letters and ranks rest on."""
    pairs = [pair for preferences in shown for pair in preferences.pairs if pair.difference.p is not None]
    tests = dict.fromkeys(pair.difference.method.rpartition("; ")[2] for pair in pairs)
    if tests:
        yield (
            f"Letters: two systems that share one can't be told apart. Tests: {'; '.join(tests)}. Told apart: p, "
            f"corrected by Holm over the pairs of a block, is below {decimal(ALPHA)}. Rank: the best and the worst "
            "place that these tests leave open."
        )


@note("strengths.place")
def place(shown: Sequence[SystemPreferences]) -> Iterator[str]:
    """How much the place would shift a comparison of equals."""
    from scipy.special import expit

    words = []
    for preferences in shown:
        effect = preferences.position_effect
        if effect is None or effect.estimate is None:
            continue
        ends = (effect.interval.low, effect.interval.high) if effect.interval else ()
        share, *bounds = (decimal(float(expit(value))) for value in (effect.estimate, *ends))
        own = heading(preferences.facts, preferences.raters)
        words.append(f"{own} {share}{f' [{bounds[0]}, {bounds[1]}]' if bounds else ''}")
    if words:
        yield (
            "The place has a term of its own, and so isn't in the strengths. Of two equals, the one shown first has "
            f"this share of the wins: {'; '.join(words)}."
        )


@note("strengths.remarks", "Strength [95 % CI]")
def remarks(shown: Sequence[SystemPreferences]) -> Iterator[str]:
    """What a reader should know of a block, and whose strengths there are."""
    for preferences in shown:
        which = heading(preferences.facts, preferences.raters)
        yield from (f"{which}: {remark}." for remark in preferences.remarks)
        results = [system.strength for system in preferences.systems]
        yield from (f"{which}: {reason}" for reason in reasons(results))
        placed = [system.system for system in preferences.systems if system.strength.estimate is not None]
        if placed and len(placed) < len(results):
            yield f"{which}: the strengths are those of {', '.join(placed)} among themselves."


def strength_table(shown: Sequence[SystemPreferences], view: RatingsView, levels: str = BY_WITHIN) -> Table:
    """The table of preferences already analysed.

    Args:
        shown: the preferences.
        view: the ratings they are of.
        levels: what shows the levels of a factor one by one.
    """
    rows = parts_of(shown, "systems")
    said = noted((MEANING, letters, place, remarks, left_out), shown)
    table = table_of("strengths", _TITLE, rows, COLUMNS, group=heading_of_part, notes=said)
    return with_preference_notes(table, view, sorted({row.part.system for row in rows}), levels)


def _build(view: RatingsView, seed: int) -> Table | None:
    shown = preferences_of(view, seed)
    return strength_table(shown, view, BY_WHERE) if shown else None


TABLE = TableKind("strengths", _TITLE, 22, _build, heading="Preferences", shown="always", averages=False)
