"""Every table of preferences, as one answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bedside.analysis.findings import preference_findings
from bedside.analysis.pair_preferences import (
    PreferenceAgreement,
    PreferenceLevels,
    SystemPreferences,
    chosen_preferences,
    preference_agreement,
    preference_levels,
    system_preferences,
)
from bedside.analysis.ratings_view import RatingsView, open_ratings_view
from bedside.analysis.study_parts import ALL_ROUNDS
from bedside.ratings.names import JUDGES
from bedside.reports.table import Table, Tables
from bedside.reports.tables.position_bias import position_table
from bedside.reports.tables.preference_agreement import preference_agreement_table
from bedside.reports.tables.preference_levels import preference_level_table
from bedside.reports.tables.strengths import strength_table
from bedside.reports.tables.win_rates import win_rate_table


@dataclass(frozen=True, slots=True)
class PreferenceAnswer:
    """What comparisons of two conversations at a time say.

    Attributes:
        systems: which system is preferred, by rubric and group of raters, and how much the place counts.
        agreement: how raters agree on it; empty where no two compared the same.
        levels: whether levels say the same; empty where nobody gave both.
    """

    systems: tuple[SystemPreferences, ...]
    agreement: tuple[PreferenceAgreement, ...]
    levels: tuple[PreferenceLevels, ...]


def preference_tables(view: RatingsView, seed: int = 0) -> Tables[PreferenceAnswer]:
    """The tables: strengths, systems two by two, the place; agreement and levels, where there is something to show.

    Raises:
        NothingError: no two conversations were compared, or no comparison counts, with the reasons.
    """
    answer = PreferenceAnswer(
        system_preferences(view, seed=seed), preference_agreement(view), preference_levels(view, seed=seed)
    )
    return Tables(
        (
            strength_table(answer.systems, view),
            win_rate_table(answer.systems, view),
            position_table([preferences.position for preferences in answer.systems]),
            *([preference_agreement_table(answer.agreement)] if answer.agreement else []),
            *([preference_level_table(answer.levels)] if answer.levels else []),
        ),
        answer,
        findings=preference_findings(answer.systems),
    )


def preferred_of(run: Path, rubrics: Sequence[str]) -> tuple[Table, ...]:
    """The tables of what judges compared.

    Args:
        run: the run's folder.
        rubrics: those that were asked.

    Raises:
        DataError: no comparison counts, as where none was answered, or what was compared can't stand in one table.
    """
    view = open_ratings_view(run, rounds=[ALL_ROUNDS])
    return tuple(preference_tables(chosen_preferences(view, rubrics=rubrics, raters=[JUDGES])))
