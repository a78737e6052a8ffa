"""Which measures a leaderboard shows: those that a run's suites call their main ones, or begin their tables with."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from bedside.analysis.leaderboard import Standings, standings
from bedside.analysis.metric_facts import MetricFacts, facts
from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.selection import quality_metrics
from bedside.judges.rubrics.rubric_files import RUBRICS
from bedside.ratings.suites import Suite
from bedside.ratings.suites.run_suites import suites_of
from bedside.reports.absent_metrics import absent_notes
from bedside.reports.averaging_notes import BY_WHERE, averaging_notes
from bedside.reports.measures import TableMeasure
from bedside.reports.planned_tables import PlannedTable, absent_factors, looked_at, planned_tables
from bedside.reports.simulation_methods import lost_notes

#: Measures that are taken where a suite names no main ones.
_MOST = 4


@dataclass(frozen=True, slots=True)
class BoardColumn:
    """A measure of a leaderboard, under one group of raters.

    Attributes:
        measure: as the suite names it.
        part: the part of the transcripts that it is about; empty for all.
        standings: where the systems stand.
        several: whether several groups of raters gave values.
    """

    measure: TableMeasure
    part: str
    standings: Standings
    several: bool

    @property
    def title(self) -> str:
        """What the measure is called."""
        return board_title(self.measure, self.standings.facts)

    @property
    def scale(self) -> float:
        """What a value is multiplied by to be printed."""
        return 100.0 if self.measure.percent else 1.0

    @property
    def digits(self) -> int:
        """Decimals to print."""
        if self.measure.digits is not None:
            return self.measure.digits
        return 1 if self.measure.percent else self.standings.facts.digits


@dataclass(frozen=True, slots=True)
class BoardMeasures:
    """What a leaderboard shows.

    Attributes:
        columns: in order; the first orders the systems.
        missing: what has no value, and why, a sentence each.
        named: whether a suite names the measures as its main ones.
        notes: what the numbers are averaged over.
    """

    columns: tuple[BoardColumn, ...]
    missing: tuple[str, ...]
    named: bool
    notes: tuple[str, ...]


def board_measures(view: RatingsView, *, seed: int = 0) -> BoardMeasures:
    """The measures of a run's leaderboard, with where the systems stand on them.

    Args:
        view: the ratings.
        seed: of what is drawn at random.
    """
    suites = () if view.run is None else suites_of(view.run)
    columns: list[BoardColumn] = []
    valueless: list[tuple[str, str, str]] = []
    notes: list[str] = []
    for part, chosen, measures in _parts(view, suites):
        of_part: list[BoardColumn] = []
        for measure in measures:
            own = list(_columns(chosen, measure, part, seed))
            of_part += own
            if not own:
                valueless.append(_valueless(chosen, measure, part))
        columns += of_part
        notes += _averaging(chosen, part, of_part)
    with_direction = [column for column in columns if column.standings.facts.direction != "none"]
    others = [column for column in columns if column.standings.facts.direction == "none"]
    named = any(suite.main for suite in suites)
    # What orders the systems must have a better direction.
    return BoardMeasures(
        (*with_direction, *others), tuple(_missing_notes(valueless)), named, tuple(dict.fromkeys(notes))
    )


def _averaging(view: RatingsView, part: str, columns: Sequence[BoardColumn]) -> list[str]:
    """What a part's numbers are averaged over."""
    metrics = [column.standings.metric for column in columns]
    systems = view.systems()
    pairs = [(pair.a, pair.b) for column in columns for pair in column.standings.comparisons]
    if not metrics:
        return []
    notes = averaging_notes(
        view, metrics, systems, list(dict.fromkeys(pairs)), compared=bool(pairs), shown=BY_WHERE
    )
    lost = lost_notes(view, systems)
    own = view.part.sentences() if part else []
    return [f"{part}: {note}" if part and note not in lost else note for note in notes if note not in own]


def _columns(view: RatingsView, measure: TableMeasure, part: str, seed: int) -> Iterator[BoardColumn]:
    for metric in view.metrics_like(measure.metric):
        of_groups = standings(view, metric, seed=seed)
        yield from (BoardColumn(measure, part, each, len(of_groups) > 1) for each in of_groups)


def _parts(
    view: RatingsView, suites: Sequence[Suite]
) -> Iterator[tuple[str, RatingsView, Sequence[TableMeasure]]]:
    """The parts of the transcripts that suites have tables about, each with its main measures."""
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
        yield "", view, [TableMeasure(metric=name) for name in quality_metrics(view)[:_MOST]]


def _by_part(
    results: Sequence[PlannedTable],
) -> list[tuple[Mapping[str, Sequence[str]], list[PlannedTable]]]:
    """The tables by the part of the transcripts that they are about; where the first is about one, only such."""
    parts: dict[tuple[tuple[str, tuple[str, ...]], ...], list[PlannedTable]] = {}
    for planned in results:
        where = {} if planned.options is None else planned.options.where
        parts.setdefault(tuple(sorted((name, tuple(levels)) for name, levels in where.items())), []).append(
            planned
        )
    if next(iter(parts)):
        parts.pop((), None)
    else:
        parts = {(): parts[()]}
    return [(dict(where), tables) for where, tables in parts.items()]


def _main(suite: Suite, tables: Sequence[PlannedTable]) -> list[TableMeasure]:
    """The main measures that tables show."""
    if not suite.main:
        for planned in tables:
            directed = [measure for measure in planned.measures if _has_direction(measure)]
            if directed:
                return directed[:_MOST]
        return []
    by_metric: dict[str, TableMeasure] = {}
    for planned in tables:
        for measure in planned.measures:
            by_metric.setdefault(measure.metric, measure)
    return [by_metric[name] for name in suite.main if name in by_metric]


def _has_direction(measure: TableMeasure) -> bool:
    return facts(measure.metric).direction != "none"


def _valueless(view: RatingsView, measure: TableMeasure, part: str) -> tuple[str, str, str]:
    """What a measure without a value is called, its metric where nobody rated it, and else why it has none."""
    metrics = view.metrics_like(measure.metric)
    own = view.facts(metrics[0] if metrics else measure.metric)
    title = board_title(measure, own) + (f" ({part})" if part else "")
    if not metrics:
        return title, measure.metric, ""
    errors = view.ratings.filter(view.ratings["metric"].is_in(metrics))["error"].drop_nulls()
    return title, "", errors.mode().sort()[0] if errors.len() else "no conversation has a value"


def _missing_notes(valueless: Sequence[tuple[str, str, str]]) -> Iterator[str]:
    """What has no value, by the reason; of what nobody rated, the commands that bring it."""
    absent = [(title, metric) for title, metric, _ in valueless if metric]
    if absent:
        commands = ". ".join(absent_notes(metric for _, metric in absent))
        yield f"Without a value: {', '.join(dict.fromkeys(title for title, _ in absent))}. {commands}."
    titles: dict[str, list[str]] = {}
    for title, metric, why in valueless:
        if not metric:
            titles.setdefault(why, []).append(title)
    yield from (f"Without a value: {', '.join(dict.fromkeys(own))} ({why})." for why, own in titles.items())


def board_title(measure: TableMeasure, own: MetricFacts) -> str:
    """What a measure is called outside its table: the metric's or rubric's own title, where it has one."""
    titled = own.defined or own.name.partition(".")[0] in RUBRICS
    return own.title if titled or measure.title is None else measure.title
