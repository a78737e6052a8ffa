"""What a report of a run shows: the tables and figures of its suites, and those that every report has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl
from pydantic import ValidationError

from bedside.analysis.ratings_view import RatingsView
from bedside.ratings.run import Run
from bedside.reports.absence import absent_notes
from bedside.reports.figures import FIGURES, Drawing, FigureKind
from bedside.reports.measures import TableMeasure, matching
from bedside.reports.table import Table
from bedside.reports.table_kind import Options
from bedside.reports.tables import TABLES, TableKind
from bedside.rubrics.rubric_files import RUBRICS
from bedside.suites import SUITES, Suite
from bedside.suites.suite import Entry, first_fault
from bedside.support.errors import DataError, RegistryError
from bedside.support.registry import nearest

#: Kinds of tables and figures that every report has at its end, whatever suites it has.
_ALWAYS = ("agreement", "missing")
_OTHERS = "others"


@dataclass(frozen=True, slots=True)
class Settings:
    """What is the same for all tables and figures of a report; None leaves it to the suite.

    Attributes:
        against: the system that others are tested against, and whose means figures by system show across.
        spread: beside a mean ``sd``, ``ci`` or ``none``.
        best: bold by ``interval``, ``always`` or ``never``.
        seed: of what is drawn at random.
    """

    against: str | None = None
    spread: str | None = None
    best: str | None = None
    seed: int = 0

    def applied(self, options: Options) -> Options:
        """The options with what is set here in place of theirs, where they have it."""
        given = {"against": self.against, "spread": self.spread, "best": self.best}
        known = type(options).model_fields
        return options.model_copy(
            update={name: value for name, value in given.items() if value is not None and name in known}
        )


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


@dataclass(frozen=True, slots=True)
class _Planned:
    """A table to be made."""

    kind: TableKind
    options: Options | None

    @property
    def name(self) -> str:
        return (self.options.id if self.options is not None else None) or self.kind.name


def suites_of(run: Run) -> tuple[Suite, ...]:
    """The suites a run was scored by, as far as they say what a report shows, in order of scoring."""
    found: dict[str, Suite] = {}
    for entry in run.manifest["scorings"]:
        name = entry.get("suite")
        if entry.get("own_suite") is not None:
            found[name] = Suite.model_validate(entry["own_suite"])
        elif name in SUITES and name not in found:
            found[name] = SUITES.load(name)
    return tuple(suite for suite in found.values() if suite.tables or suite.figures)


def _suites(view: RatingsView, suite: Suite | None) -> tuple[Suite, ...]:
    if suite is not None:
        return (suite,)
    return suites_of(view.run) if view.run is not None else ()


def make_tables(
    view: RatingsView,
    names: Sequence[str] | None = None,
    *,
    suite: Suite | None = None,
    settings: Settings | None = None,
) -> tuple[Table, ...]:
    """The tables named, or all, that the evaluation has something for, in the order of a report.

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
    chosen = settings or Settings()
    own = {one.name: one for planned in _planned_of(_suites(view, suite)).values() for one in planned}
    made = []
    for name in names:
        if name not in own and name not in TABLES:
            raise RegistryError(f"no table is called {name!r}", todo=nearest(name, [*own, *TABLES.names()]))
        planned = own[name] if name in own else _Planned(TABLES.load(name), None)
        table = _made(view, planned, chosen)
        if table is None:
            raise DataError(
                f"there is nothing for the table {name!r}",
                where=view.name,
                todo=" ".join(_sources(view, planned.options)) or None,
            )
        made.append(table)
    return tuple(made)


def make_parts(
    view: RatingsView,
    *,
    suite: Suite | None = None,
    settings: Settings | None = None,
    figures: bool = True,
) -> tuple[ReportPart, ...]:
    """The parts of a report: one for each suite, then what every report has.

    Args:
        view: the ratings.
        suite: in place of the run's.
        settings: what is the same for all tables and figures.
        figures: whether to make figures too.
    """
    chosen = settings or Settings()
    suites = _suites(view, suite)
    planned = _planned_of(suites)
    parts = [_suite_part(view, each, planned[each.name], chosen, figures) for each in suites]
    if suites:
        parts += _other_parts(view, [one for mine in planned.values() for one in mine], chosen, figures)
    else:
        parts += _general_parts(view, chosen, figures, _general_kinds())
    return tuple(_figures_named_once(part for part in parts if part.tables or part.figures or part.left_out))


def _figures_named_once(parts: Iterable[ReportPart]) -> Iterator[ReportPart]:
    """The parts; a figure whose name is taken by one of an earlier part gets a number."""
    taken: dict[str, int] = {}
    for part in parts:
        drawings = []
        for drawing in part.figures:
            count = taken[drawing.name] = taken.get(drawing.name, 0) + 1
            drawings.append(drawing if count == 1 else replace(drawing, name=f"{drawing.name}-{count}"))
        yield replace(part, figures=tuple(drawings))


def _general_kinds() -> list[TableKind]:
    kinds = (TABLES.load(name) for name in TABLES.names())
    return sorted((kind for kind in kinds if kind.general), key=lambda kind: (kind.order, kind.name))


def _suite_part(
    view: RatingsView,
    suite: Suite,
    tables_planned: Sequence[_Planned],
    settings: Settings,
    figures: bool,
) -> ReportPart:
    tables, left_out = [], []
    for planned in tables_planned:
        try:
            table = _made(view, planned, settings)
        except DataError as error:  # a factor the transcripts don't have, a test that doesn't fit
            left_out.append(f"{_title(planned)}: {error.what}.")
            continue
        if table is not None:
            tables.append(table)
        else:
            sources = _sources(view, planned.options) or ["Nothing in this run."]
            left_out.append(" ".join((f"{_title(planned)}.", *sources)))
    drawings: list[Drawing] = []
    for kind, options in _planned_figures(suite) if figures else ():
        try:
            drawing = kind.build(view, settings.seed, settings.applied(options))
        except DataError:  # said of the table already
            continue
        if drawing is not None:
            drawings.append(drawing)
    return ReportPart(suite.title, f"After {suite.source}.", tuple(tables), tuple(drawings), tuple(left_out))


def _other_parts(
    view: RatingsView, planned: Sequence[_Planned], settings: Settings, figures: bool
) -> Iterator[ReportPart]:
    """Metrics that no table of the suites shows, agreement unless a suite shows it, and what is missing."""
    rated = set(view.metrics())
    named = {
        name
        for one in planned
        for each in _measures(one.options)
        for name in (each.metric, *each.sum, *each.over)
    }
    shown = {own for name in named for own in ([name] if name in rated else matching(view, name))}
    others = [name for name in view.metrics() if name not in shown]
    if others:
        options = TABLES.load("results").options
        assert options is not None
        given = {"id": _OTHERS, "title": "Metrics that no table above shows", "metrics": others}
        table = _made(view, _Planned(TABLES.load("results"), options.model_validate(given)), settings)
        yield ReportPart("Other metrics", tables=(table,) if table is not None else ())
    kinds = [TABLES.load(name) for name in _ALWAYS if name not in {one.kind.name for one in planned}]
    yield from _general_parts(view, settings, figures, kinds, only=[kind.name for kind in kinds])


def _general_parts(
    view: RatingsView,
    settings: Settings,
    figures: bool,
    kinds: Sequence[TableKind],
    only: Sequence[str] | None = None,
) -> Iterator[ReportPart]:
    """A part for each table, with the figures that go with it."""
    drawings: dict[str, list[Drawing]] = {}
    if figures:
        for kind in sorted(FIGURES.all().values(), key=lambda one: (one.order, one.name)):
            place = _FIGURE_PLACES.get(kind.name, kind.name)
            if not kind.general or (only is not None and place not in only):
                continue
            drawing = kind.build(view, settings.seed, settings.applied(kind.options()))
            if drawing is not None:
                drawings.setdefault(place, []).append(drawing)
    for table_kind in kinds:
        table = _made(view, _Planned(table_kind, None), settings)
        mine = tuple(drawings.pop(table_kind.name, ()))
        if table is not None:
            yield ReportPart(_HEADINGS.get(table_kind.name, table_kind.title), tables=(table,), figures=mine)


_HEADINGS: Mapping[str, str] = {
    "results": "Results",
    "comparison": "Comparison",
    "agreement": "Agreement",
    "missing": "Missing",
}
#: The table that a figure stands with, where that has another name.
_FIGURE_PLACES: Mapping[str, str] = {
    "points": "results",
    "confusion": "agreement",
    "scatter": "agreement",
    "bland_altman": "agreement",
}


def _planned_of(suites: Sequence[Suite]) -> dict[str, list[_Planned]]:
    """The tables of each suite; where a name is taken by an earlier suite, the suite's name goes before it."""
    taken: set[str] = set()
    found: dict[str, list[_Planned]] = {}
    for suite in suites:
        for entry in suite.tables:
            kind, options = _opened_table(entry)
            if entry.id in taken:
                options = options.model_copy(update={"id": f"{suite.name}-{entry.id}"})
            one = _Planned(kind, options)
            taken.add(one.name)
            found.setdefault(suite.name, []).append(one)
    return {suite.name: found.get(suite.name, []) for suite in suites}


def _opened_table(entry: Entry) -> tuple[TableKind, Options]:
    kind = TABLES.load(entry.kind)
    if kind.options is None:
        extra = sorted(set(entry.options()) - {"id", "title"})
        if extra:
            raise RegistryError(
                f"a table of kind {entry.kind!r} has no {extra[0]!r}", where=f"table {entry.id}"
            )
        return kind, Options(id=entry.id, title=entry.title)
    return kind, _checked(kind.options, entry, "table")


def _planned_figures(suite: Suite) -> Iterable[tuple[FigureKind, Options]]:
    for entry in suite.figures:
        kind = FIGURES.load(entry.kind)
        yield kind, _checked(kind.options, entry, "figure")


def _checked(options: type[Options], entry: Entry, what: str) -> Options:
    try:
        return options.model_validate(entry.options())
    except ValidationError as error:
        raise RegistryError(
            first_fault(error), where=f"{what} {entry.id}", todo=f"see the docs on suites, kind {entry.kind}"
        ) from error


def _made(view: RatingsView, planned: _Planned, settings: Settings) -> Table | None:
    kind = planned.kind
    if kind.options is None:
        table = kind.make(view, settings.seed)
        if table is None or planned.options is None:
            return table
        return replace(table, name=planned.name, title=planned.options.title or table.title)
    return kind.make(view, settings.seed, settings.applied(planned.options or kind.options()))


def _title(planned: _Planned) -> str:
    return (planned.options.title if planned.options is not None else None) or planned.kind.title


def _measures(options: Options | None) -> list[TableMeasure]:
    headed: Mapping[str, Sequence[TableMeasure]] = getattr(options, "metrics", None) or {}
    return [measure for measures in headed.values() for measure in measures]


def _sources(view: RatingsView, options: Options | None) -> list[str]:
    """Why the metrics of a table have no value: the reasons of those that are rated, the commands that bring others."""
    rated = set(view.metrics())
    wanted = dict.fromkeys(
        name
        for each in _measures(options)
        for name in ((*each.sum, *each.over) if each.sum else (each.metric,))
    )
    there = [own for name in wanted for own in ([name] if name in rated else matching(view, name))]
    reasons = (
        view.ratings.filter(pl.col("metric").is_in(there))["error"]
        .drop_nulls()
        .value_counts()
        .sort(["count", "error"], descending=[True, False])["error"]
        .head(3)
        .to_list()
    )
    missing = [f"Missing for every transcript: {'; '.join(reasons)}."] if reasons else []
    absent = [name for name in wanted if name not in rated and not matching(view, name)]
    return [*missing, *absent_notes(absent)]


def check_suite(suite: Suite) -> list[str]:
    """Check that the tables and figures of a suite are of kinds that exist, with options they have.

    Returns:
        Remarks: metrics of its tables that neither a metric family nor a rubric gives.

    Raises:
        RegistryError: an unknown kind or a wrong option, which is named.
    """
    from bedside.scoring.plan import families_by_metric

    owners = families_by_metric()
    found: list[tuple[str, Any]] = [(entry.id, _opened_table(entry)[1]) for entry in suite.tables]
    found += [
        (entry.id, options)
        for entry, (_, options) in zip(suite.figures, _planned_figures(suite), strict=True)
    ]
    remarks = []
    for name, options in found:
        for measure in _measures(options):
            for metric in (measure.metric, *measure.sum, *measure.over):
                base = metric.partition(".")[0]
                if base not in owners and base not in RUBRICS:
                    remarks.append(
                        f"{name}: no metric or shipped rubric is called {metric!r}; it has to be imported or rated by "
                        f"a rubric of your own ({nearest(base, [*owners, *RUBRICS.names()])})"
                    )
    return list(dict.fromkeys(remarks))
