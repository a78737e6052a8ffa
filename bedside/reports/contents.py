"""What a report of a run shows: the tables and figures that its suites ask for, and those of every report."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice

import polars as pl

from bedside.analysis.metric_facts import facts
from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.selection import NothingError, quality_metrics
from bedside.analysis.study_parts import study_order
from bedside.core.errors import BedsideError, DataError, MissingExtraError, RegistryError, nearest, one_of
from bedside.core.model_errors import to_model
from bedside.judges.rubrics.rubric import Rubric
from bedside.judges.rubrics.rubric_files import RUBRICS
from bedside.ratings.suites import SUITES, Suite
from bedside.ratings.suites.published_numbers import PublishedNumber, published_numbers
from bedside.ratings.suites.run_suites import suites_of
from bedside.ratings.suites.suite import AsPublished, Definition, Entry
from bedside.reports.comparison_notes import with_rater_notes
from bedside.reports.figures import FIGURES, Drawing, FigureKind
from bedside.reports.measures import TableMeasure
from bedside.reports.report_settings import ReportSettings
from bedside.reports.table import Table
from bedside.reports.table_kind import Options
from bedside.reports.table_notes import BY_WHERE, absent_notes, divided_by, with_averaging_notes, with_caption_notes
from bedside.reports.tables import TABLES, TableKind
from bedside.reports.tables.rubrics import rated_rubrics

# -- The tables and figures that suites ask for ---------------------------------------------------------

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
        noted = table
        if self.kind.averages:
            noted = with_averaging_notes(table, view, besides=divided_by(options), shown=BY_WHERE)
        if options is not None:
            on_source = tuple(source_notes(view, options, noted))
            records = tuple({**record, **_definition_of(record, options)} for record in noted.records)
            noted = replace(noted, notes=(*noted.notes, *on_source), source_notes=on_source, records=records)
        if printed:
            noted = with_printed(noted, printed, beside=hasattr(options, "published"))
        return with_rater_notes(noted, view)

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
    if paper.startswith("text"):
        return ["The suite's source has these numbers in its text, not in a table."]
    return [f"Laid out as {paper} of the suite's source."]


def _is_shown(measure: TableMeasure, table: Table) -> bool:
    """Whether a table has a number of a measure, or another of its metrics."""
    names = {str(record.get("metric")) for record in table.records if record.get("n") != 0}
    names |= {name.partition(".")[0] for name in names}
    return measure.metric in names


def _named_measures(view: RatingsView, options: Options, table: Table | None) -> list[tuple[str, TableMeasure]]:
    """The measures that stand in a table, or without it all, by title; with their heading where several have that."""
    headed: Mapping[str, Sequence[TableMeasure]] = getattr(options, "metrics", None) or {}
    shown = [
        (heading, measure.title or view.facts(measure.metric).title, measure)
        for heading, measures in headed.items()
        for measure in measures
        if table is None or _is_shown(measure, table)
    ]
    counts = Counter(title for _, title, _ in shown)
    return [
        (f"{title} ({heading})" if heading and counts[title] > 1 else title, measure)
        for heading, title, measure in shown
    ]


def _definition_of(record: Mapping[str, object], options: Options) -> Mapping[str, str]:
    """The definition of a record's number; nothing where none is declared, or only the source has a number."""
    if record.get("value") is None and record.get("published") is not None:
        return {}
    metric, is_ratio, measures = str(record.get("metric")), record.get("level") == "micro", _measures(options)
    named = (metric, metric.partition(".")[0])
    own = [each.definition for each in measures if each.metric in named and bool(each.sum) == is_ratio]
    definition = next(filter(None, own), options.definition if own or not measures else None)
    return {} if definition is None else {"definition": definition}


def _definition_notes(titles: Mapping[str, Definition | None], of_table: Definition | None) -> list[str]:
    """Which definition measures follow, as far as declared; ``titles`` has the measures' own by their titles."""
    groups: dict[Definition | None, list[str]] = {} if titles else {of_table: []}
    for title, own in titles.items():
        groups.setdefault(own or of_table, []).append(title)
    most = max(groups, key=lambda each: (each is None, len(groups[each])))
    words = {each: "by us" if each == "ours" else f"as in the {each}" for each in groups}
    parts = [f"{words[each]}: {', '.join(own)}" for each, own in groups.items() if each != most]
    if most is not None:
        parts.append(f"the rest {words[most]}" if parts else words[most])
    return [f"Defined {'; '.join(parts)}."] if parts else []


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
        return replace(table, title=f"{table.title}; in braces, as printed in {place_words(place)} of {paper}")
    note = printed_note(printed)
    return replace(table, notes=(*table.notes, note), source_notes=(*table.source_notes, note))


def printed_note(printed: Sequence[PublishedNumber]) -> str:
    """The numbers that a source printed, one by one."""
    paper, place = printed[0].paper, printed[0].place
    return f"As printed in {place_words(place)} of {paper}: {'; '.join(map(str, printed))}."


def place_words(place: str) -> str:
    """A table or figure of a source, or its running text, in a sentence."""
    return "the text" if place.startswith("text") else place


def source_notes(view: RatingsView, options: Options, table: Table | None = None) -> list[str]:
    """What a suite says below a table or figure, and of one that is after its source's each way in which it differs.

    Args:
        view: the ratings.
        options: what the suite says of it.
        table: the table, whose measures alone have footnotes; without it all that the options name.
    """
    named = _named_measures(view, options, table)
    footnotes: dict[str, dict[str, None]] = {}
    for title, measure in named:
        if measure.note is not None:
            footnotes.setdefault(measure.note, {})[title] = None
    if options.paper is not None:
        metrics = {metric.partition(".")[0] for _, measure in named for metric in measure.parts}
        for rated in rated_rubrics(view):
            for deviation in () if rated.reworded else rated.rubric.deviations:
                if rated.rubric.name in metrics and options.departures:
                    elsewhere = f"how they depart from the source's is said below {' and '.join(options.departures)}."
                    footnotes[elsewhere] = {"Rubrics": None}
                elif rated.rubric.name in metrics:
                    footnotes.setdefault(deviation, {})[rated.rubric.title] = None
    definitions = {title: measure.definition for title, measure in named}
    source = [*_layout_notes(options.paper), *_definition_notes(definitions, options.definition)]
    return [
        # What holds of the whole table stands in one line.
        *([" ".join(source)] if len(source) > 1 and ":" not in source[1] else source),
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
            raise RegistryError(f"a table of kind {entry.kind!r} has no {extra[0]!r}", where=f"table {entry.id}")
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
    """Check that a suite's metrics, rubrics, and kinds of tables and figures exist, with options they have.

    Returns:
        Remarks: metrics of its tables that neither a metric family nor a rubric gives.

    Raises:
        RegistryError: an unknown metric, rubric or kind, a wrong option, or a main measure that no table shows, which
            is named.
    """
    from bedside.scoring.judging_orders import rubrics_of
    from bedside.scoring.plan import families_by_metric, make_plan

    make_plan(suite.metrics, suite.parameters)
    rubrics = {rubric.name: rubric for rubric in rubrics_of(suite.rubrics)} if suite.rubrics else {}
    measured = {own.name: own for rubric in rubrics.values() for own in (rubric, *rubric.measures)}
    own = {name for rubric in rubrics.values() for name in (rubric.name, *rubric.metrics)}
    tagged = tuple(f"{name}_" for name, rubric in rubrics.items() if rubric.points is not None)
    owners = families_by_metric()
    options_by_entry = [(entry.id, _table_kind(entry)[1]) for entry in suite.tables]
    for shown_suite in (suite, suite.printed()):
        options_by_entry += [
            (entry.id, options)
            for entry, (_, options) in zip(shown_suite.figures, planned_figures(shown_suite), strict=True)
        ]
    options_by_entry += [(entry.id, _table_kind(entry)[1]) for entry in suite.as_published.tables]
    shown = {
        measure.metric: measure
        for entry, (_, options) in zip(suite.tables, options_by_entry, strict=False)
        if entry.kind == "results"
        for measure in _measures(options)
    }
    for name in suite.main:
        one_of(name, shown, "tabulated measure", RegistryError, where="main")
        if name in measured and measured[name].kind == "label":
            _check_level(shown[name], measured[name])
    remarks = []
    for name, options in options_by_entry:
        for measure in _measures(options):
            for metric in measure.parts:
                base = metric.partition(".")[0]
                if base not in owners and base not in RUBRICS and base not in own and not base.startswith(tagged):
                    remarks.append(
                        f"{name}: no metric or shipped rubric is called {metric!r}; it has to be imported or rated by "
                        f"a rubric of your own ({nearest(base, [*owners, *RUBRICS.names()])})"
                    )
    return list(dict.fromkeys(remarks))


def _check_level(measure: TableMeasure, rubric: Rubric) -> None:
    """Refuse a main measure of labels of which it isn't known which one counts."""
    labels = [label.label for label in rubric.labels]
    if measure.level is not None:
        one_of(measure.level, labels, f"level of {rubric.name}", RegistryError, where="main")
    elif len(labels) > 2 and rubric.direction == "none":
        raise RegistryError(
            f"{rubric.name} is one of {', '.join(labels)}, which have no mean", where="main",
            todo=f"say which one counts, in a table of results: {{metric: {rubric.name}, level: {labels[0]}, "
            "direction: lower}; or give the flow a direction",
        )  # fmt: skip


def checked_suite(name_or_path: str) -> tuple[Suite, list[str]]:
    """A suite with the remarks of :func:`check_suite`.

    Raises:
        BedsideError: as :func:`check_suite`; the suite is named.
    """
    suite = SUITES.find(name_or_path)
    try:
        return suite, check_suite(suite)
    except BedsideError as error:
        where = name_or_path if error.where is None else f"{name_or_path}: {error.where}"
        raise type(error)(error.what, where=where, todo=error.todo) from error


# -- The main measures of suites ------------------------------------------------------------------------

#: Measures that are taken where a suite names no main ones.
_MOST_MAIN = 4


def main_measures(view: RatingsView) -> Iterator[tuple[str, RatingsView, Sequence[TableMeasure]]]:
    """The parts of the transcripts that a run's suites have tables about, each with its main measures.

    A part has its name, empty for all transcripts, and a view of its own.
    """
    suites = () if view.run is None else suites_of(view.run)
    shown = False
    by_suite = planned_tables(suites)
    for suite in suites:
        results = [planned for planned in by_suite[suite.name] if planned.kind.name == "results"]
        if not results:
            continue
        unplaced: defaultdict[str, list[PlannedTable]] = defaultdict(list)
        for where, tables in _by_part(results):
            if absent_factors(view, where):
                unplaced[", ".join(absent_factors(view, where))] += tables
                continue
            chosen = looked_at(view, where)
            measures = [] if chosen is None else _main(suite, tables)
            if chosen is not None and measures:
                shown = True
                yield ", ".join(level for levels in where.values() for level in levels), chosen, measures
        for names, tables in unplaced.items():
            # All transcripts, under the name of no part of them.
            shown = True
            yield f"{names} not given", view, _main(suite, tables)
    if not shown and not by_suite:
        yield "", view, [TableMeasure(metric=name) for name in quality_metrics(view)[:_MOST_MAIN]]


def _by_part(results: Sequence[PlannedTable]) -> list[tuple[Mapping[str, Sequence[str]], list[PlannedTable]]]:
    """The tables by the part of the transcripts that they are about; where the first is about one, only such."""
    parts: dict[tuple[tuple[str, tuple[str, ...]], ...], list[PlannedTable]] = {}
    for planned in results:
        where = {} if planned.options is None else planned.options.where
        parts.setdefault(tuple(sorted((name, tuple(levels)) for name, levels in where.items())), []).append(planned)
    if next(iter(parts)):
        parts.pop((), None)
    else:
        parts = {(): parts[()]}
    return [(dict(where), tables) for where, tables in parts.items()]


def _main(suite: Suite, tables: Sequence[PlannedTable]) -> list[TableMeasure]:
    """The main measures that tables show."""
    if not suite.main:
        for planned in tables:
            directed = [measure for measure in planned.measures if facts(measure.metric).direction != "none"]
            if directed:
                return directed[:_MOST_MAIN]
        return []
    by_metric: dict[str, TableMeasure] = {}
    for planned in tables:
        for measure in planned.measures:
            by_metric.setdefault(measure.metric, measure)
    return [by_metric[name] for name in suite.main if name in by_metric]


# -- What a report of a run shows -----------------------------------------------------------------------

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
        one_of(name, [*of_suites, *TABLES.names()], "table", RegistryError)
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
    view: RatingsView, *, suite: Suite | None = None, settings: ReportSettings | None = None, figures: bool = True
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
        _suite_part(_in_order(view, of_suite), of_suite, by_suite[of_suite.name], settings=settings, figures=figures)
        for of_suite in suites
    ]
    if settings.as_published:
        of_source = {table.kind.name for tables in by_suite.values() for table in tables}
        kinds = _kinds(lambda kind: kind.beside_published and kind.name not in of_source)
        parts += _general_parts(view, settings, figures, kinds)
    elif suites:
        planned = [table for tables in by_suite.values() for table in tables]
        shown = {table.kind.name for table in planned}
        first = _kinds(lambda kind: kind.shown == "first" and kind.name not in shown)
        parts = [
            *_general_parts(view, settings, figures, first),
            *parts,
            *_other_parts(view, planned, settings, figures),
        ]
    else:
        parts += _general_parts(view, settings, figures, _kinds(lambda kind: kind.general))
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


def _kinds(chosen: Callable[[TableKind], bool]) -> list[TableKind]:
    """The kinds of tables that are chosen, in the order of a report."""
    return sorted(filter(chosen, TABLES.all().values()), key=lambda kind: (kind.order, kind.name))


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
        except (DataError, MissingExtraError) as error:  # a factor the transcripts don't have, a test that doesn't fit
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
        except (DataError, MissingExtraError):  # said of the table already
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
    kinds = _kinds(lambda kind: kind.shown == "always" and kind.name not in shown_kinds)
    yield from _general_parts(view, settings, figures, kinds)


def _general_parts(
    view: RatingsView, settings: ReportSettings, figures: bool, kinds: Sequence[TableKind]
) -> Iterator[ReportPart]:
    """A part for each table, with the figures that go with it."""
    drawings: dict[str, list[Drawing]] = {}
    if figures:
        for kind in sorted(FIGURES.all().values(), key=lambda kind: (kind.order, kind.name)):
            place = kind.beside or kind.name
            if not kind.general or place not in {table_kind.name for table_kind in kinds}:
                continue
            with suppress(MissingExtraError):  # said of the table
                drawing = _drawn(view, kind, settings.applied(kind.options()), settings.seed)
                if drawing is not None:
                    drawings.setdefault(place, []).append(drawing)
    for table_kind in kinds:
        try:
            table = PlannedTable(table_kind, None).build(view, settings)
        except NothingError:  # nobody asked for it
            table = None
        except MissingExtraError as error:
            yield ReportPart(table_kind.title, left_out=(f"{table_kind.title}: {error}.",))
            continue
        table_figures = tuple(drawings.pop(table_kind.name, ()))
        if table is not None:
            yield ReportPart(table_kind.heading or table_kind.title, tables=(table,), figures=table_figures)
