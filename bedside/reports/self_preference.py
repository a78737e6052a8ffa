"""A judge's preference for what its own model made, in words and as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict

from bedside.analysis.self_preference import SelfPreference
from bedside.core.words import counted
from bedside.reports.number_text import number, p_value
from bedside.reports.result_text import bounded_record, plain_words
from bedside.reports.table import Table
from bedside.reports.table_content import Cell, Column, Row


def self_preference_words(preference: SelfPreference) -> str:
    """How much a judge favours its own model's conversations, in one line."""
    beside = "people" if preference.beside == "people" else "other judges"
    how = "within cases" if preference.paired else "between cases"
    return (
        f"own systems ({', '.join(preference.own)}) minus others, each beside {beside}: "
        f"{plain_words(preference.preference)} ({counted(preference.cases, 'case')}, {how})"
    )


def self_preference_table(preferences: Sequence[SelfPreference]) -> Table | None:
    """What a judge's levels are beside others' on its own systems and on the rest; None where nothing is known."""
    if not preferences:
        return None
    rows = [
        Row(tuple(map(Cell, (
            preference.facts.title, "people" if preference.beside == "people" else "other judges",
            ", ".join(preference.own), f"{preference.cases:,}", number(preference.of_own),
            number(preference.of_others), plain_words(preference.preference), p_value(preference.preference.p),
        ))))
        for preference in preferences
    ]  # fmt: skip
    return Table(
        name="self_preference",
        title=f"{preferences[0].rater}: self-preference",
        columns=(
            Column("Metric", "left"), Column("Beside", "left"), Column("Own systems", "left"), Column("Cases"),
            Column("Own"), Column("Others"), Column("Preference [95 % CI]"), Column("p"),
        ),
        rows=tuple(rows),
        notes=tuple(self_preference_notes(preferences)),
        records=tuple(_record(preference) for preference in preferences),
    )  # fmt: skip


def self_preference_notes(preferences: Sequence[SelfPreference]) -> Iterator[str]:
    """What the columns are, and what can't be told."""
    yield (
        "Own, Others: mean of the judge's level minus the others' level of the same conversation, over cases, of "
        "systems that the judge's model is and of the rest. Preference: the first minus the second, t over cases; "
        "within cases where most have both kinds. p is not corrected."
    )
    judges = sorted({name for preference in preferences for name in preference.others})
    if judges:
        yield (
            f"Where nobody rated, other judges stand in for people: {', '.join(judges)}; those that made a system are "
            "left out. That shows that judges differ about its own systems, not which of them is right."
        )


def _record(preference: SelfPreference) -> dict[str, object]:
    record = asdict(preference)
    for name in ("facts", "preference"):
        record.pop(name)
    return {
        "metric": preference.metric, **record, **bounded_record("preference", preference.preference),
        "p": preference.preference.p,
    }  # fmt: skip
