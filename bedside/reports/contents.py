"""What a report of a run shows: the tables and figures of its suites, and those that every report has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from bedside.analysis.ratings_view import RatingsView
from bedside.reports.averaging_notes import with_caption_notes
from bedside.reports.figures import FIGURES, Drawing, FigureKind
from bedside.reports.planned_tables import (
    PlannedTable,
    looked_at,
    planned_figures,
    planned_tables,
)
from bedside.reports.report_settings import ReportSettings
from bedside.reports.table import Table
from bedside.reports.table_kind import Options
from bedside.reports.tables import TABLES, TableKind
from bedside.suites import Suite
from bedside.suites.run_suites import suites_of
from bedside.support.errors import DataError, RegistryError
from bedside.support.registry import nearest

#: The kind of table that every report begins with, whatever suites it has.
_FIRST = "leaderboard"
#: Kinds of tables and figures that every report has at its end, whatever suites it has.
_ALWAYS = (
    "agreement",
    "audits",
    "simulation_card",
    "simulation_loss",
    "simulation_flags",
    "simulation_repeats",
    "simulation_evaluator",
    "intended_acts",
    "rubrics",
    "missing",
    "missing_bounds",
)
_OTHERS = "others"


@dataclass(frozen=True, slots=True)
class ReportPart:
    """A part of a report.

    Attributes:
        title: its heading.
        about: a sentence on where it is from.
        tables, figures: in order.
        left_out: titles of tables that nothing is there for, each with the command that brings it.
    """

    title: str
    about: str = ""
    tables: tuple[Table, ...] = ()
    figures: tuple[Drawing, ...] = ()
    left_out: tuple[str, ...] = ()


def _suites(view: RatingsView, suite: Suite | None) -> tuple[Suite, ...]:
    if suite is not None:
        return (suite,)
    run_suites = () if view.run is None else suites_of(view.run)
    # The others say nothing of what a report shows.
    return tuple(suite for suite in run_suites if suite.tables or suite.figures)


def make_tables(
    view: RatingsView,
    names: Sequence[str] | None = None,
    *,
    suite: Suite | None = None,
    settings: ReportSettings | None = None,
) -> tuple[Table, ...]:
    """The tables named, or all, that the ratings have something for, in the order of a report.

    Args:
        view: the ratings.
        names: names of tables of the run's suites, or kinds of tables.
        suite: in place of the run's.
        settings: what is the same for all tables.

    Raises:
        RegistryError: a name is unknown.
        DataError: a table that was asked for by name has nothing to show.
    """
    if names is None:
        return tuple(table for part in make_parts(view, suite=suite, settings=settings, figures=False)
                     for table in part.tables)  # fmt: skip
    by_suite = planned_tables(_suites(view, suite))
    of_suites = {planned.name: planned for tables in by_suite.values() for planned in tables}
    tables = []
    for name in names:
        if name not in of_suites and name not in TABLES:
            raise RegistryError(
                f"no table is called {name!r}", todo=nearest(name, [*of_suites, *TABLES.names()])
            )
        planned = of_suites[name] if name in of_suites else PlannedTable(TABLES.load(name), None)
        table = planned.build(view, settings or ReportSettings())
        if table is None:
            raise DataError(
                f"there is nothing for the table {name!r}",
                where=view.name,
                todo=" ".join(planned.reasons_for_nothing(view)) or None,
            )
        tables.append(table)
    return tuple(tables)


def make_drawing(view: RatingsView, name: str, seed: int = 0) -> Drawing:
    """The figure of this name.

    Args:
        view: the ratings.
        name: of a figure of the run's suites, or a kind of figures.
        seed: of what is drawn at random.

    Raises:
        RegistryError: the name is unknown; the nearest are given.
        DataError: there is nothing for it to show.
    """
    planned = [entry for suite in _suites(view, None) for entry in planned_figures(suite)]
    ids = [str(options.id) for _, options in planned]
    base, _, number = name.rpartition("-")
    # As in a report, where a later suite's figure of the same name has a number.
    position = int(number) - 1 if name not in ids and base in ids and number.isdecimal() else 0
    wanted = base if position > 0 else name
    kinds = [entry for entry, entry_id in zip(planned, ids, strict=True) if entry_id == wanted]
    if not kinds and name.replace("-", "_") in FIGURES:
        kind = FIGURES.load(name.replace("-", "_"))
        kinds = [(kind, kind.options())]
    if not kinds:
        raise RegistryError(f"no figure is called {name!r}", todo=nearest(name, [*ids, *FIGURES.names()]))
    settings = ReportSettings(seed=seed)
    drawings = (_drawn(view, kind, settings.applied(options), settings.seed) for kind, options in kinds)
    drawing = next(islice((drawing for drawing in drawings if drawing is not None), position, None), None)
    if drawing is None:
        raise DataError(f"there is nothing for the figure {name!r}", where=view.name)
    return replace(drawing, name=name) if position else drawing


def _drawn(view: RatingsView, kind: FigureKind, options: Options, seed: int) -> Drawing | None:
    """The figure of a kind; None where there is nothing for it to show."""
    chosen = looked_at(view, options.where)
    drawing = None if chosen is None else kind.build(chosen, seed, options)
    return None if chosen is None or drawing is None else with_caption_notes(drawing, chosen, kind, options)


def make_parts(
    view: RatingsView,
    *,
    suite: Suite | None = None,
    settings: ReportSettings | None = None,
    figures: bool = True,
) -> tuple[ReportPart, ...]:
    """The parts of a report: the leaderboard, one for each suite, then what every report has.

    Args:
        view: the ratings.
        suite: in place of the run's.
        settings: what is the same for all tables and figures.
        figures: whether to make figures too.
    """
    settings = settings or ReportSettings()
    suites = _suites(view, suite)
    by_suite = planned_tables(suites)
    parts = [
        _suite_part(view, of_suite, by_suite[of_suite.name], settings=settings, figures=figures)
        for of_suite in suites
    ]
    if suites:
        planned = [table for tables in by_suite.values() for table in tables]
        first = [] if _FIRST in {table.kind.name for table in planned} else [TABLES.load(_FIRST)]
        parts = [
            *_general_parts(view, settings, figures, first, only=[_FIRST]),
            *parts,
            *_other_parts(view, planned, settings, figures),
        ]
    else:
        parts += _general_parts(view, settings, figures, _general_kinds())
    return tuple(_figures_named_once(part for part in parts if part.tables or part.figures or part.left_out))


def _figures_named_once(parts: Iterable[ReportPart]) -> Iterator[ReportPart]:
    """The parts; a figure whose name is taken by one of an earlier part gets a number."""
    counts: dict[str, int] = {}
    for part in parts:
        drawings = []
        for drawing in part.figures:
            count = counts[drawing.name] = counts.get(drawing.name, 0) + 1
            drawings.append(drawing if count == 1 else replace(drawing, name=f"{drawing.name}-{count}"))
        yield replace(part, figures=tuple(drawings))


def _general_kinds() -> list[TableKind]:
    kinds = (TABLES.load(name) for name in TABLES.names())
    return sorted((kind for kind in kinds if kind.general), key=lambda kind: (kind.order, kind.name))


def _suite_part(
    view: RatingsView,
    suite: Suite,
    planned_of_suite: Sequence[PlannedTable],
    *,
    settings: ReportSettings,
    figures: bool,
) -> ReportPart:
    tables, left_out = [], []
    for planned in planned_of_suite:
        try:
            table = planned.build(view, settings)
        except DataError as error:  # a factor the transcripts don't have, a test that doesn't fit
            left_out.append(f"{planned.title}: {error.what}.")
            continue
        if table is not None:
            tables.append(table)
        else:
            reasons = planned.reasons_for_nothing(view) or ["Nothing in this run."]
            left_out.append(" ".join((f"{planned.title}.", *reasons)))
    drawings: list[Drawing] = []
    for kind, options in planned_figures(suite) if figures else ():
        try:
            drawing = _drawn(view, kind, settings.applied(options), settings.seed)
        except DataError:  # said of the table already
            continue
        if drawing is not None:
            drawings.append(drawing)
    return ReportPart(
        suite.title,
        about=f"After {suite.source}.",
        tables=tuple(tables),
        figures=tuple(drawings),
        left_out=tuple(left_out),
    )


def _other_parts(
    view: RatingsView, planned_of_suites: Sequence[PlannedTable], settings: ReportSettings, figures: bool
) -> Iterator[ReportPart]:
    """Metrics that no table of the suites shows, agreement unless a suite shows it, and what is missing."""
    rated = set(view.metrics())
    names = {
        name
        for planned in planned_of_suites
        for measure in planned.measures
        for name in (measure.metric, *measure.sum, *measure.over)
    }
    shown = {metric for name in names for metric in ([name] if name in rated else view.metrics_like(name))}
    others = [name for name in view.metrics() if name not in shown]
    if others:
        results = TABLES.load("results")
        assert results.options is not None
        options = results.options.model_validate(
            {"id": _OTHERS, "title": "Metrics that no table above shows", "metrics": others}
        )
        table = PlannedTable(results, options).build(view, settings)
        yield ReportPart("Other metrics", tables=(table,) if table is not None else ())
    shown_kinds = {planned.kind.name for planned in planned_of_suites}
    kinds = [TABLES.load(name) for name in _ALWAYS if name not in shown_kinds]
    yield from _general_parts(view, settings, figures, kinds, only=[kind.name for kind in kinds])


def _general_parts(
    view: RatingsView,
    settings: ReportSettings,
    figures: bool,
    kinds: Sequence[TableKind],
    only: Sequence[str] | None = None,
) -> Iterator[ReportPart]:
    """A part for each table, with the figures that go with it."""
    drawings: dict[str, list[Drawing]] = {}
    if figures:
        for kind in sorted(FIGURES.all().values(), key=lambda kind: (kind.order, kind.name)):
            place = _FIGURE_PLACES.get(kind.name, kind.name)
            if not kind.general or (only is not None and place not in only):
                continue
            drawing = _drawn(view, kind, settings.applied(kind.options()), settings.seed)
            if drawing is not None:
                drawings.setdefault(place, []).append(drawing)
    for table_kind in kinds:
        table = PlannedTable(table_kind, None).build(view, settings)
        table_figures = tuple(drawings.pop(table_kind.name, ()))
        if table is not None:
            heading = _HEADINGS.get(table_kind.name, table_kind.title)
            yield ReportPart(heading, tables=(table,), figures=table_figures)


_HEADINGS: Mapping[str, str] = {
    "leaderboard": "Leaderboard",
    "results": "Results",
    "comparison": "Comparison",
    "agreement": "Agreement",
    "audits": "Audits",
    "simulation_card": "Simulation card",
    "simulation_loss": "Simulation: completed and lost",
    "simulation_flags": "Simulation: flagged",
    "simulation_repeats": "Simulation: repeats",
    "simulation_evaluator": "Simulation: the evaluator",
    "intended_acts": "Simulation: what was meant",
    "rubrics": "Rubrics",
    "missing": "Missing",
    "missing_bounds": "How far what is missing could move the means",
}
#: The table that a figure stands with, where that has another name.
_FIGURE_PLACES: Mapping[str, str] = {
    "points": "results",
    "confusion": "agreement",
    "scatter": "agreement",
    "bland_altman": "agreement",
    "calibration": "agreement",
}
