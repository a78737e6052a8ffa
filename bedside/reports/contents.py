"""What a report of a run shows: the tables and figures of its suites, and those that every report has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.selection import NothingError
from bedside.analysis.study_order import study_order
from bedside.core.errors import DataError, RegistryError
from bedside.core.registry import nearest
from bedside.ratings.suites import SUITES, Suite
from bedside.ratings.suites.run_suites import suites_of
from bedside.ratings.suites.suite import AsPublished
from bedside.reports.averaging_notes import with_caption_notes
from bedside.reports.figures import FIGURES, Drawing, FigureKind
from bedside.reports.planned_tables import (
    PlannedTable,
    absent_factors,
    looked_at,
    numbers_of,
    planned_figures,
    planned_tables,
    printed_note,
    source_notes,
)
from bedside.reports.report_settings import ReportSettings
from bedside.reports.table import Table
from bedside.reports.table_kind import Options
from bedside.reports.tables import TABLES, TableKind

#: The kind of table that every report begins with, whatever suites it has.
_FIRST = "leaderboard"
#: Kinds of tables and figures that every report has at its end, whatever suites it has.
_ALWAYS = (
    "strengths",
    "win_rates",
    "position_bias",
    "preference_agreement",
    "preference_levels",
    "agreement",
    "audits",
    "retest",
    "raters",
    "rater_quality",
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
#: What says below the tables of a source what their numbers are by, and what is missing.
_BESIDE_PUBLISHED = ("rubrics", "missing")
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


def _suites(view: RatingsView, suite: Suite | None, *, as_published: bool = False) -> tuple[Suite, ...]:
    """The suite that is named or those of the run, with their own tables and figures or those of their sources.

    Raises:
        DataError: those of sources are asked for, and no suite has any.
    """
    run_suites = () if view.run is None else suites_of(view.run)
    suites = run_suites if suite is None else (suite,)
    if as_published:
        printed = tuple(suite.printed() for suite in suites if suite.as_published != AsPublished())
        if not printed:
            names = [name for name, shipped in SUITES.all().items() if shipped.as_published != AsPublished()]
            raise DataError(
                f"{'no suite of this run' if suite is None else suite.name} says what its source printed",
                where=view.name, todo=f"name one that does with `suite`, such as {', '.join(names)}",
            )  # fmt: skip
        return printed
    # The others say nothing of what a report shows.
    return suites if suite is not None else tuple(own for own in suites if own.tables or own.figures)


def _in_order(view: RatingsView, suite: Suite | None) -> RatingsView:
    """The view with systems and levels as a suite orders them; as its run's suites do where that orders none."""
    if suite is None or not (suite.systems or suite.levels):
        return view
    own = study_order([suite])
    return replace(view, order=replace(own, systems=own.systems or view.order.systems))


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
    settings = settings or ReportSettings()
    view = _in_order(view, suite)
    by_suite = planned_tables(_suites(view, suite, as_published=settings.as_published))
    of_suites = {planned.name: planned for tables in by_suite.values() for planned in tables}
    tables = []
    for name in names:
        if name not in of_suites and name not in TABLES:
            raise RegistryError(
                f"no table is called {name!r}", todo=nearest(name, [*of_suites, *TABLES.names()])
            )
        planned = of_suites[name] if name in of_suites else PlannedTable(TABLES.load(name), None)
        table = planned.build(view, settings)
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
    if chosen is None or drawing is None:
        return None
    noted = with_caption_notes(drawing, chosen, kind, options)
    return replace(noted, notes=(*noted.notes, *source_notes(chosen, options)))


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
    suites = _suites(view, suite, as_published=settings.as_published)
    view = _in_order(view, suite)
    by_suite = planned_tables(suites)
    parts = [
        _suite_part(
            _in_order(view, of_suite), of_suite, by_suite[of_suite.name], settings=settings, figures=figures
        )
        for of_suite in suites
    ]
    if settings.as_published:
        kinds = [TABLES.load(name) for name in _BESIDE_PUBLISHED]
        parts += _general_parts(view, settings, figures, kinds, only=_BESIDE_PUBLISHED)
    elif suites:
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
            reasons = planned.reasons_for_nothing(view) if isinstance(error, NothingError) else []
            left_out.append(" ".join((f"{planned.title}: {error.what}.", *reasons)))
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
            printed = numbers_of(suite.name, options) if settings.published_numbers else ()
            notes = (*drawing.notes, printed_note(printed)) if printed else drawing.notes
            drawings.append(replace(drawing, notes=notes))
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
        if planned.options is None or not absent_factors(view, planned.options.where)
        for measure in planned.measures
        for name in (measure.metric, *measure.parts)
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
        try:
            table = PlannedTable(table_kind, None).build(view, settings)
        except NothingError:  # nobody asked for it
            table = None
        table_figures = tuple(drawings.pop(table_kind.name, ()))
        if table is not None:
            heading = _HEADINGS.get(table_kind.name, table_kind.title)
            yield ReportPart(heading, tables=(table,), figures=table_figures)


def part_titles() -> tuple[str, ...]:
    """The headings of all parts that a report can have beside those of suites, in order."""
    return tuple(_HEADINGS.get(kind.name, kind.title) for kind in _general_kinds())


_HEADINGS: Mapping[str, str] = {
    "leaderboard": "Leaderboard",
    "results": "Results",
    "comparison": "Comparison",
    "strengths": "Preferences",
    "win_rates": "Preferences: systems two by two",
    "position_bias": "Preferences: the place",
    "preference_agreement": "Preferences: agreement",
    "preference_levels": "Preferences beside levels",
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
