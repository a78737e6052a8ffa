"""The tables and figures that suites ask for, before they are made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from bedside.analysis.ratings_view import RatingsView
from bedside.core.errors import DataError, RegistryError
from bedside.core.model_errors import to_model
from bedside.core.registry import nearest
from bedside.judges.rubrics.rubric_files import RUBRICS
from bedside.ratings.suites import Suite
from bedside.ratings.suites.published_numbers import PublishedNumber, published_numbers
from bedside.ratings.suites.suite import Entry
from bedside.reports.averaging_notes import BY_WHERE, divided_by, with_averaging_notes
from bedside.reports.figures import FIGURES, FigureKind
from bedside.reports.measures import TableMeasure
from bedside.reports.rated_rubrics import rated_rubrics
from bedside.reports.rater_effects import with_people_notes
from bedside.reports.report_settings import ReportSettings
from bedside.reports.table import Table
from bedside.reports.table_kind import Options
from bedside.reports.table_notes import absent_notes
from bedside.reports.tables import TABLES, TableKind

#: Reasons of missing values that are named where a table has nothing to show.
_MOST_REASONS = 3


@dataclass(frozen=True, slots=True)
class PlannedTable:
    """A table to be built: its kind, what a suite says of it, and that suite; None where no suite says anything."""

    kind: TableKind
    options: Options | None
    suite: str | None = None

    @property
    def name(self) -> str:
        """The table's name."""
        return (self.options.id if self.options is not None else None) or self.kind.name

    @property
    def title(self) -> str:
        """Its title, for where it is left out."""
        return (self.options.title if self.options is not None else None) or self.kind.title

    @property
    def measures(self) -> list[TableMeasure]:
        """The measures that its options name."""
        return _measures(self.options)

    def build(self, view: RatingsView, settings: ReportSettings) -> Table | None:
        """The table; None where the ratings have nothing for it."""
        options = self.options
        chosen = view if options is None else looked_at(view, options.where)
        if chosen is None:
            return None
        view = chosen
        printed = self._printed(settings)
        if self.kind.options is not None:
            options = settings.applied(options or self.kind.options())
            if printed and "published" in type(options).model_fields:
                options = options.model_copy(update={"published": printed})
            table = self.kind.make(view, settings.seed, options)
        else:
            table = self.kind.make(view, settings.seed)
            if table is not None and options is not None:
                table = replace(table, name=self.name, title=options.title or table.title)
        if table is None:
            return None
        noted = with_averaging_notes(table, view, besides=divided_by(options), shown=BY_WHERE)
        if options is not None:
            on_source = tuple(source_notes(view, options, noted))
            noted = replace(noted, notes=(*noted.notes, *on_source), source_notes=on_source)
        if printed:
            noted = with_printed(noted, printed, beside=hasattr(options, "published"))
        return with_people_notes(noted, view)

    def _printed(self, settings: ReportSettings) -> tuple[PublishedNumber, ...]:
        """The numbers that the suite's source printed in this table; none where nobody asks for them."""
        if not settings.published_numbers or self.suite is None or self.options is None:
            return ()
        return numbers_of(self.suite, self.options)

    def reasons_for_nothing(self, view: RatingsView) -> list[str]:
        """Why there is no table: the reasons of missing values, the commands that bring what isn't rated."""
        rated = set(view.metrics())
        names = dict.fromkeys(name for measure in self.measures for name in measure.parts)
        metrics_by_name = {name: [name] if name in rated else view.metrics_like(name) for name in names}
        metrics = [metric for metrics in metrics_by_name.values() for metric in metrics]
        of_metrics = view.ratings.filter(pl.col("metric").is_in(metrics))
        has_value = pl.col("value").is_not_null() | pl.col("label").is_not_null()
        # What has a value somewhere is not what is in the way.
        valued = of_metrics.filter(has_value)["metric"].unique()
        reasons = (
            of_metrics.filter(~pl.col("metric").is_in(valued.implode()))["error"]
            .drop_nulls()
            .value_counts()
            .sort(["count", "error"], descending=[True, False])["error"]
            .head(_MOST_REASONS)
            .to_list()
        )
        missing = [f"Missing for every transcript: {'; '.join(reasons)}."] if reasons else []
        return [*missing, *absent_notes(name for name in names if not metrics_by_name[name])]


def absent_factors(view: RatingsView, where: Mapping[str, Sequence[str]]) -> list[str]:
    """The factors that a table or figure picks its transcripts by and no transcript has."""
    factors = () if view.factors is None else view.factors.columns
    return [name for name in where if name not in factors]


def looked_at(view: RatingsView, where: Mapping[str, Sequence[str]]) -> RatingsView | None:
    """The transcripts that a table or figure is about; None where there are none.

    A factor of which all transcripts have a level that is asked for leaves all of them in.

    Raises:
        DataError: no transcript has a factor that they are picked by: which of them it is about isn't known, and all
            of them together would pass for those.
    """
    absent = absent_factors(view, where)
    if absent:
        named = f"the factor{'s' if len(absent) > 1 else ''} {' and '.join(absent)}"
        raise DataError(
            f"it needs {named}, which no transcript of this run has",
            where=view.name,
            todo="give each transcript its level under factors, and score again",
        )
    for name, levels in where.items():
        assert view.factors is not None
        has = view.factors[name].is_in(list(levels))
        if not has.any():
            return None
        if not has.fill_null(False).all():
            view = view.where({name: [level for level in levels if (view.factors[name] == level).any()]})
    return view


def _layout_notes(paper: str | None) -> list[str]:
    if paper is None:
        return []
    if paper == "text":
        return ["The suite's source has these numbers in its text, not in a table."]
    return [f"Laid out as {paper} of the suite's source."]


def _is_shown(measure: TableMeasure, table: Table) -> bool:
    """Whether a table has a number of a measure, or another of its metrics."""
    names = {str(record.get("metric")) for record in table.records if record.get("n") != 0}
    names |= {name.partition(".")[0] for name in names}
    return measure.metric in names


def numbers_of(suite: str, options: Options) -> tuple[PublishedNumber, ...]:
    """The numbers that a suite's source printed in the table or figure that this one is after."""
    if options.paper is None:
        return ()
    return tuple(number for number in published_numbers(suite) if number.place == options.paper)


def with_printed(table: Table, printed: Sequence[PublishedNumber], *, beside: bool) -> Table:
    """The table, its caption saying what stands in braces; numbers that don't stand beside its own are listed below."""
    paper, place = printed[0].paper, printed[0].place
    if beside:
        if not any(cell.text.endswith("}") for row in table.rows for cell in row.cells):
            return table
        return replace(
            table, title=f"{table.title}; in braces, as printed in {place_words(place)} of {paper}"
        )
    note = printed_note(printed)
    return replace(table, notes=(*table.notes, note), source_notes=(*table.source_notes, note))


def printed_note(printed: Sequence[PublishedNumber]) -> str:
    """The numbers that a source printed, one by one."""
    paper, place = printed[0].paper, printed[0].place
    return f"As printed in {place_words(place)} of {paper}: {'; '.join(map(str, printed))}."


def place_words(place: str) -> str:
    """A table or figure of a source, or its running text, in a sentence."""
    return "the text" if place == "text" else place


def source_notes(view: RatingsView, options: Options, table: Table | None = None) -> list[str]:
    """What a suite says below a table or figure, and of one that is after its source's each way in which it differs.

    Args:
        view: the ratings.
        options: what the suite says of it.
        table: the table, whose measures alone have footnotes; without it all that the options name.
    """
    measures = [measure for measure in _measures(options) if table is None or _is_shown(measure, table)]
    footnotes: dict[str, dict[str, None]] = {}
    for measure in measures:
        if measure.note is not None:
            title = measure.title or view.facts(measure.metric).title
            footnotes.setdefault(measure.note, {})[title] = None
    if options.paper is not None:
        metrics = {metric.partition(".")[0] for measure in measures for metric in measure.parts}
        for rated in rated_rubrics(view):
            for deviation in () if rated.reworded else rated.rubric.deviations:
                if rated.rubric.name in metrics:
                    footnotes.setdefault(deviation, {})[rated.rubric.title] = None
    return [
        *_layout_notes(options.paper),
        *(f"{', '.join(titles)}: {note}" for note, titles in footnotes.items()),
        *options.notes,
    ]


def planned_tables(suites: Sequence[Suite]) -> dict[str, list[PlannedTable]]:
    """The tables of each suite; where a name is taken by an earlier suite, the suite's name goes before it.

    Raises:
        RegistryError: an unknown kind or a wrong option, which is named.
    """
    names: set[str] = set()
    by_suite: dict[str, list[PlannedTable]] = {suite.name: [] for suite in suites}
    for suite in suites:
        for entry in suite.tables:
            kind, options = _table_kind(entry)
            if entry.id in names:
                options = options.model_copy(update={"id": f"{suite.name}-{entry.id}"})
            planned = PlannedTable(kind, options, suite.name)
            names.add(planned.name)
            by_suite[suite.name].append(planned)
    return by_suite


def _table_kind(entry: Entry) -> tuple[TableKind, Options]:
    """The kind of a suite's entry, and what it says."""
    kind = TABLES.load(entry.kind)
    if kind.options is None:
        extra = sorted(set(entry.options()) - set(Options.model_fields))
        if extra:
            raise RegistryError(
                f"a table of kind {entry.kind!r} has no {extra[0]!r}", where=f"table {entry.id}"
            )
        return kind, _checked_options(Options, entry, "table")
    return kind, _checked_options(kind.options, entry, "table")


def planned_figures(suite: Suite) -> Iterator[tuple[FigureKind, Options]]:
    """The kind of each figure of a suite, and what the suite says of it.

    Raises:
        RegistryError: an unknown kind or a wrong option, which is named.
    """
    for entry in suite.figures:
        kind = FIGURES.load(entry.kind)
        yield kind, _checked_options(kind.options, entry, "figure")


def _checked_options(options: type[Options], entry: Entry, what: str) -> Options:
    todo = f"see the docs on suites, kind {entry.kind}"
    return to_model(entry.options(), options, f"{what} {entry.id}", todo=todo, kind=RegistryError)


def _measures(options: Options | None) -> list[TableMeasure]:
    headed: Mapping[str, Sequence[TableMeasure]] = getattr(options, "metrics", None) or {}
    return [measure for measures in headed.values() for measure in measures]


def check_suite(suite: Suite) -> list[str]:
    """Check that the tables and figures of a suite are of kinds that exist, with options they have.

    Returns:
        Remarks: metrics of its tables that neither a metric family nor a rubric gives.

    Raises:
        RegistryError: an unknown kind or a wrong option, or a main measure that no table shows, which is named.
    """
    from bedside.scoring.plan import families_by_metric

    owners = families_by_metric()
    options_by_entry = [(entry.id, _table_kind(entry)[1]) for entry in suite.tables]
    for shown_suite in (suite, suite.printed()):
        options_by_entry += [
            (entry.id, options)
            for entry, (_, options) in zip(shown_suite.figures, planned_figures(shown_suite), strict=True)
        ]
    options_by_entry += [(entry.id, _table_kind(entry)[1]) for entry in suite.as_published.tables]
    shown = [
        measure.metric
        for entry, (_, options) in zip(suite.tables, options_by_entry, strict=False)
        if entry.kind == "results"
        for measure in _measures(options)
    ]
    for name in suite.main:
        if name not in shown:
            raise RegistryError(
                f"no table of results shows the main measure {name!r}",
                where="main",
                todo=nearest(name, shown),
            )
    remarks = []
    for name, options in options_by_entry:
        for measure in _measures(options):
            for metric in measure.parts:
                base = metric.partition(".")[0]
                if base not in owners and base not in RUBRICS:
                    remarks.append(
                        f"{name}: no metric or shipped rubric is called {metric!r}; it has to be imported or rated by "
                        f"a rubric of your own ({nearest(base, [*owners, *RUBRICS.names()])})"
                    )
    return list(dict.fromkeys(remarks))
