"""One answer for each level of a factor: the tables of all, each saying which level it is of."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.study_parts import factor_names, levels_of
from bedside.core.errors import DataError
from bedside.core.words import counted
from bedside.reports.comparison_notes import with_rater_notes
from bedside.reports.notes import NoteText
from bedside.reports.table import Results, Table, Tables
from bedside.reports.table_content import DASH, Cell, Heading, Row
from bedside.reports.table_kind import averages
from bedside.reports.table_notes import with_averaging_notes

# -- The words of tables in which groups of transcripts stand in the place of systems -------------------

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

    def worded(text: str) -> str:
        return pattern.sub(lambda found: _WORDS.get(found[0], found[0]) if found[0] not in names else found[0], text)

    return replace(
        table,
        title=f"{worded(table.title)} ({factor})",
        columns=tuple(replace(column, title=worded(column.title)) for column in table.columns),
        notes=tuple(map(worded, table.notes)),
        records=tuple(
            {"groups": factor}
            | {name: worded(value) if name in _SENTENCES and isinstance(value, str) else value
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


# -- One answer for each level of a factor --------------------------------------------------------------


def answered(
    view: RatingsView, within: str | None, answer: Callable[[RatingsView], Tables[Results]], besides: Iterable[str] = ()
) -> Tables[Results]:
    """The answer to a question, its tables saying what they average over; one for each level of a factor where asked.

    Args:
        view: the ratings.
        within: the factor; None for one answer from all transcripts.
        answer: answers from a view.
        besides: factors by which the tables are divided already.

    Raises:
        DataError: there is no such factor; or, of the answer, where no level has one.
    """
    divided = tuple(besides)

    def noted(part: RatingsView) -> Tables[Results]:
        tables = answer(part)
        averaged = (with_averaging_notes(each, part, besides=divided) if averages(each) else each for each in tables)
        noted_tables = (with_rater_notes(table, part, tables) for table in averaged)
        shown = (in_groups(table, part) for table in noted_tables)
        return Tables(shown, tables.results, findings=tables.findings)

    return by_level(view, within, noted)


def by_level(
    view: RatingsView, within: str | None, answer: Callable[[RatingsView], Tables[Results]]
) -> Tables[Results]:
    """The answer to a question; one for each level of a factor where asked, and what is in none of these.

    The arguments and errors are those of :func:`answered`.
    """
    if within is None:
        return answer(view)
    levels: dict[str, Tables[Results]] = {}
    refusals: dict[str, DataError] = {}
    for level, part in view.by_level(within).items():
        try:
            tables = answer(part)
        except DataError as error:
            refusals[level] = error
            continue
        file = _file_name(level, len(levels))
        shown = [_of_level(table, within, level, file) for table in tables]
        levels[level] = Tables(shown, tables.results, findings=tables.findings)
    if not levels and refusals:
        raise next(iter(refusals.values()))
    if not levels:
        raise DataError(f"no transcript that was chosen has {within}", where=view.name, todo="name another factor")
    every = [table for tables in levels.values() for table in tables]
    notes = [f"No answer within {within} {level}: {error.what}." for level, error in refusals.items()]
    without = _rated_without(view, within)
    if without:
        notes.append(f"{counted(without, 'rated transcript')} without {within}: in none of these answers.")
    if notes:
        said = (NoteText(note, "within", warns=True) for note in notes)
        every[-1] = replace(every[-1], notes=(*every[-1].notes, *said))
    return Tables(every, None, levels, within=within)


def side_by_side(answer: Tables[Results]) -> Table:
    """What the answers within the levels of a factor show first as one table, each row with its level; its notes are
    the warnings.

    Args:
        answer: has levels.
    """
    shown = {level: first_shown(tables) for level, tables in answer.levels.items()}
    first, *others = dict.fromkeys(column for table in shown.values() for column in table.columns)
    rows: list[Row] = []
    records: list[Mapping[str, Any]] = []
    warned: dict[str, list[str]] = {}
    for level, table in shown.items():
        for row in table.rows:
            held = dict(zip(table.columns[1:], row.cells[1:], strict=True))
            cells = (row.cells[0], Cell(level), *(held.get(column, Cell(DASH)) for column in others))
            placed = (c if c.record is None else replace(c, record=c.record + len(records)) for c in cells)
            has_value = any(cell.text != DASH for column, cell in held.items() if column.brief)
            rows.append(replace(row, cells=tuple(placed), brief=row.brief and has_value))
        records += table.records
        for note in table.notes:
            if (
                getattr(note, "warns", False)
                and note != f"Only transcripts with {answer.within} {level} are looked at."
            ):
                warned.setdefault(note, []).append(level)
    groups = list(dict.fromkeys(row.group for row in rows))
    names = list(dict.fromkeys((row.group, row.cells[0].text) for row in rows))
    rows.sort(key=lambda row: (groups.index(row.group), names.index((row.group, row.cells[0].text))))
    said = [note if len(levels) == len(shown) else f"{answer.within} {', '.join(levels)}: {note}"
            for note, levels in warned.items()]  # fmt: skip
    said += [note for table in answer for note in table.notes if getattr(note, "id", "") == "within"]
    title = next(iter(shown.values())).title.removesuffix(f", {answer.within} {next(iter(shown))}")
    columns = (first, Heading(answer.within, "left", brief=True), *others)
    return Table(
        "levels", title, columns, tuple(rows), tuple(NoteText(each, warns=True) for each in said), tuple(records)
    )


def first_shown(tables: Tables[Any]) -> Table:
    """The table that a screen shows of an answer, with what the first of all warns of."""
    table = next((table for table in tables if any(column.brief for column in table.columns)), tables[0])
    said = (note for note in tables[0].notes if getattr(note, "warns", False))
    return table if table is tables[0] else replace(table, notes=(*table.notes, *said))


def _rated_without(view: RatingsView, factor: str) -> int:
    """How many transcripts are rated that have no level of a factor, which some transcript has."""
    if view.factors is None:
        return 0
    placed = view.factors.select("transcript_id", factor).drop_nulls()
    return view.ratings.select("transcript_id").unique().join(placed, on="transcript_id", how="anti").height


def _file_name(level: str, position: int) -> str:
    """A level in the name of a file; its number where it has letters that such a name can't have."""
    name = re.sub(r"\s+", "-", level.strip())
    return name if re.fullmatch(r"[^\W_][\w.-]*", name) else f"level-{position + 1}"


def _of_level(table: Table, factor: str, level: str, file: str) -> Table:
    """A table that says of which level it is, in its name (as ``file``), title and records."""
    notes = table.notes
    if any(record.get("p_corrected") is not None for record in table.records):
        notes = (*notes, f"p-values are corrected within {factor} {level}, not over its levels.")
    return replace(
        table,
        name=f"{table.name}-{file}",
        title=f"{table.title}, {factor} {level}",
        notes=notes,
        records=tuple({factor: level, **record} for record in table.records),
    )
