"""What the tables of preferences have in common: the answers, made once, and the notes on who was asked about what."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import combinations

from bedside.analysis.metric_facts import MetricFacts
from bedside.analysis.pair_preferences import (
    PositionBias,
    PreferenceAgreement,
    PreferenceLevels,
    SystemPreferences,
    preference_agreement,
    preference_levels,
    preference_rows,
    system_preferences,
)
from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.selection import NothingError
from bedside.core.words import counted
from bedside.ratings.names import is_human, person_name
from bedside.ratings.rubric_metrics import preference_metric
from bedside.ratings.table import frame_of
from bedside.reports.columns import Part, recorded
from bedside.reports.notes import note
from bedside.reports.number_text import p_value, rater_words, share_words
from bedside.reports.table import Table
from bedside.reports.table_notes import averaging_notes
from bedside.stats.result import Result

#: People that a note names one by one.
_MOST = 6


def preferences_of(view: RatingsView, seed: int) -> tuple[SystemPreferences, ...]:
    """Which systems are preferred; nothing where no two conversations were compared."""
    try:
        return system_preferences(view, seed=seed)
    except NothingError:
        return ()


def agreement_of(view: RatingsView) -> tuple[PreferenceAgreement, ...]:
    """How raters agree on what is better; nothing where no two raters compared the same."""
    return () if view.preferences.is_empty() else preference_agreement(view)


def levels_of(view: RatingsView, seed: int) -> tuple[PreferenceLevels, ...]:
    """Preferences beside levels; nothing where nobody gave both."""
    try:
        return preference_levels(view, seed=seed)
    except NothingError:
        return ()


def heading(facts: MetricFacts, raters: str) -> str:
    """What a block of rows is of."""
    return f"{facts.title} ({rater_words(raters)})"


def heading_of_part(row: Part) -> str:
    """The heading of a row about a part of preferences."""
    return heading(row.whole.facts, row.whole.raters)


#: What every record of preferences begins with.
PREFERENCE_RECORD = recorded(
    metric=lambda item: preference_metric(item.facts.name), rubric="facts.name", raters="raters"
)


def reasons(results: Collection[Result]) -> Iterator[str]:
    """Why values are missing, each reason once."""
    yield from dict.fromkeys(f"{result.missing}." for result in results if result.missing)


def position_words(bias: PositionBias) -> str:
    """How much the place counts, in one line."""
    if bias.first.estimate is None:
        return "of two conversations, neither was ever preferred"
    words = f"of two conversations the one shown first won {share_words(bias.first)}"
    if bias.first.p is not None:
        p = p_value(bias.first.p)
        words += f" (p {p if p.startswith('<') else f'= {p}'})"
    if bias.orders is None:
        return f"{words}; no pair was shown in both orders"
    return f"{words}; the verdict was the same in both orders on {share_words(bias.orders.same)} of the pairs"


@note("preferences.left out")
def left_out(shown: Sequence[SystemPreferences]) -> Iterator[str]:
    """Preferences that aren't counted."""
    for preferences in shown:
        for why, number in preferences.left_out.items():
            yield (
                f"{heading(preferences.facts, preferences.raters)}: {counted(number, 'preference')} left out: {why}."
            )


def with_preference_notes(table: Table, view: RatingsView, systems: Sequence[str], shown: str) -> Table:
    """The table with notes on which people were asked, and on what the numbers average over.

    Args:
        table: the table.
        view: the ratings that it was made from.
        systems: those that it shows.
        shown: what shows the levels of a factor.
    """
    return replace(
        table,
        notes=(
            *table.notes,
            *_people_notes(view),
            *view.once(("preferences average over", *systems, shown), lambda: _averaged(view, systems, shown)),
        ),
    )


def _people_notes(view: RatingsView) -> Iterator[str]:
    people = sorted(person_name(rater) for rater in view.preferences["rater"].unique() if is_human(rater))
    if people:
        named = ", ".join(people[:_MOST]) + (f", and {len(people) - _MOST} more" if people[_MOST:] else "")
        yield (
            f"People: {named}, whose preferences are averaged on each case. The numbers are about these people; "
            "others may prefer otherwise."
        )


def _averaged(view: RatingsView, systems: Sequence[str], shown: str) -> tuple[str, ...]:
    """Each conversation's share of the wins, as a rating of it: factors that vary within a case are then seen."""
    rows = [
        (row[side], row[f"{side}_system"], row["case"], "transcript", preference_metric(own.rubric), row["rater"], 0,
         row["low_share"] if side == "low" else 1 - row["low_share"], None, None, None)
        for own in preference_rows(view)
        for row in own.verdicts().iter_rows(named=True)
        for side in ("low", "high")
    ]  # fmt: skip
    as_ratings = replace(view, ratings=frame_of(dict.fromkeys(rows)))
    metrics = as_ratings.ratings["metric"].unique().to_list()
    return averaging_notes(as_ratings, metrics, systems, list(combinations(systems, 2)), shown=shown)
