"""The words of tables in which groups of transcripts stand in the place of systems."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.study_parts import factor_names, levels_of
from bedside.reports.table import Table

#: What a table says of systems, and of groups.
_WORDS = {"system": "group", "systems": "groups", "System": "Group", "Systems": "Groups"}
#: Texts of a record that are sentences of ours.
_SENTENCES = ("why", "missing", "no_test")


def in_groups(table: Table, view: RatingsView) -> Table:
    """The table with what it says of systems said of groups; as it is where systems are compared.

    Names stay as they are: those of levels, systems, metrics, raters and factors. The title and, under ``groups``, each
    record say whose levels are compared.

    Args:
        table: as it is of systems.
        view: the ratings.
    """
    factor = view.part.groups
    if factor is None:
        return table
    names = [name for name in _names(view) if re.search(r"\bsystems?\b", name, re.IGNORECASE)]
    pattern = re.compile("|".join([*(re.escape(name) for name in names), r"\b[Ss]ystems?\b"]))

    def said(text: str) -> str:
        return pattern.sub(
            lambda found: _WORDS.get(found[0], found[0]) if found[0] not in names else found[0], text
        )

    return replace(
        table,
        title=f"{said(table.title)} ({factor})",
        columns=tuple(replace(column, title=said(column.title)) for column in table.columns),
        notes=tuple(map(said, table.notes)),
        records=tuple(
            {"groups": factor}
            | {name: said(value) if name in _SENTENCES and isinstance(value, str) else value
               for name, value in record.items()}
            for record in table.records
        ),
    )  # fmt: skip


def _names(view: RatingsView) -> Iterable[str]:
    """What users and metrics call things, and what is said of the groups themselves, the longest first."""
    names = {view.part.grouping, *view.systems(), *view.raters(), *view.metrics(), view.name}
    names |= {view.facts(metric).title for metric in view.metrics()}
    for factor in factor_names(view.factors):
        names |= {factor, *(levels_of(view.factors, factor) if view.factors is not None else ())}
    return sorted(names, key=len, reverse=True)
