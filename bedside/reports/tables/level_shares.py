"""Shares of the levels that the dimensions of a flow come to, by system and by factors of the people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, NamedTuple

from pydantic import BeforeValidator, Field

from bedside.analysis.label_numbers import flow_results, level_metric, with_levels
from bedside.analysis.ratings_view import RatingsView
from bedside.judges.rubrics.rubric import Rubric
from bedside.reports.columns import Block, Column, Part, Table, grid_of, recorded
from bedside.reports.measures import Headed, TableMeasure
from bedside.reports.notes import Note, note
from bedside.reports.number_text import n_of, number
from bedside.reports.samples import MeasureRow, Place, Sample, by_case, cases_there, interval_of, measure, strata_of
from bedside.reports.table_kind import Options, TableKind

_TITLE = "Levels that conversations come to"
_MOST_FACTORS, _MOST_LEVELS = 2, 8


class LevelSharesOptions(Options):
    """Whose levels are shown, and for whom.

    Attributes:
        metrics: metrics that are labels; what the dimensions of flows come to unless named.
        by: factors of the people; those that hold for a case as a whole and part the cases unless named.
    """

    metrics: Headed = Field(default_factory=dict)
    by: Annotated[tuple[str, ...] | None, BeforeValidator(lambda by: (by,) if isinstance(by, str) else by)] = None


class LevelsRow(NamedTuple):
    """The levels that conversations of a system with some people come to.

    Attributes:
        item: what is measured, and by whom.
        rubric: the levels, as they are declared.
        system, factor, people: of whom; an empty factor stands for all people.
        whom: the people as they are printed.
        shares: the conversations' values by level: 1 where they came to it.
        cases: how many cases there are, rated or not.
    """

    item: MeasureRow
    rubric: Rubric
    system: str
    factor: str
    people: str
    whom: str
    shares: dict[str, Sample]
    cases: int

    @property
    def all(self) -> Sample:
        """One of them, for what is the same of all."""
        return next(iter(self.shares.values()))


def people_factors(view: RatingsView) -> tuple[str, ...]:
    """The factors that hold for a case as a whole and part the cases in a few groups, the first of them."""
    if view.factors is None:
        return ()
    cases = view.transcripts().select("transcript_id", case="case_id").join(view.factors, on="transcript_id")
    names = []
    for name, kind in view.kinds().items():
        levels = cases.select("case", name).drop_nulls().unique()
        groups = levels[name].n_unique()
        if kind is None and 1 < groups <= _MOST_LEVELS and groups < levels.height == levels["case"].n_unique():
            names.append(name)
    return tuple(names[:_MOST_FACTORS])


def level_rows(view: RatingsView, options: LevelSharesOptions) -> list[LevelsRow]:
    """The rows: of each metric all people of each system, then those with each level of each factor."""
    results = flow_results(view.rubrics.values())
    named = [own.metric for measures in options.metrics.values() for own in measures] or list(results)
    there = set(view.metrics())
    rubrics = {metric: results.get(metric) or view.rubrics.get(metric) for metric in named if metric in there}
    labelled = {metric: own for metric, own in rubrics.items() if own is not None and own.kind == "label"}
    if not labelled:
        return []
    shown = with_levels(view, {metric: [one.label for one in own.labels] for metric, own in labelled.items()})
    by = people_factors(view) if options.by is None else options.by
    rows = [row for factor in ("", *by) for row in _rows_of(shown, labelled, factor)]
    return sorted(rows, key=lambda row: list(labelled).index(row.item.metric))


def _rows_of(view: RatingsView, rubrics: Mapping[str, Rubric], factor: str) -> Iterator[LevelsRow]:
    """The rows of all people, or of those with each level of a factor, from a view of levels."""
    factors = [factor] if factor else []
    levels = {
        level_metric(metric, one.label): (metric, one.label) for metric, own in rubrics.items() for one in own.labels
    }
    measures = [TableMeasure(metric=name, title=rubrics[levels[name][0]].title, direction="higher") for name in levels]
    shares: dict[tuple[str, Place], dict[str, Sample]] = {}
    items: dict[str, MeasureRow] = {}
    for item, samples in measure(view, {"": measures}, by=factors).items:
        metric, level = levels[item.metric]
        key = metric + item.key.removeprefix(item.metric)
        items.setdefault(key, replace(item, metric=metric, key=key))
        for place, sample in samples.items():
            shares.setdefault((key, place), {})[level] = sample
    cases = cases_there(view, strata_of(view, factors))
    systems = view.order.ordered_systems({system for _, (system, _) in shares})
    people = view.order.ordered_levels(factor, {stratum for _, (_, strata) in shares for stratum in strata})
    for key, item in items.items():
        for group, system in ((group, system) for group in people or [""] for system in systems):
            place = (system, (group,) if factor else ())
            own = shares.get((key, place))
            if own is not None:
                whom = f"{factor}: {view.order.level_label(factor, group)}" if factor else "all"
                yield LevelsRow(item, rubrics[item.metric], system, factor, group, whom, own, cases[place])


@note("level shares.missing", "Conversations")
def without_level(rows: Sequence[LevelsRow]) -> Iterator[str]:
    """Why conversations have no level."""
    whys = {(row.item.title, row.all.why): None for row in rows if not row.factor and row.all.missing and row.all.why}
    reasons: dict[str, list[str]] = {}
    for title, why in whys:
        reasons.setdefault(str(why), []).append(title)
    yield from (f"Without a level: {why} ({', '.join(titles)})." for why, titles in reasons.items())


MEANING = Note(
    "level shares.meaning",
    "Per cent of the conversations that have a level; levels in the order in which they are declared. Conversations: "
    "those with a level, of all. What isn't relevant has none.",
)


def build(view: RatingsView, _seed: int, options: LevelSharesOptions) -> Table | None:
    """The table; None where nobody rated by a flow."""
    rows = level_rows(view, options)
    if not rows:
        return None
    levels = dict.fromkeys(label.label for row in rows for label in row.rubric.labels)

    def block(level: str) -> Block:
        def name(cell: Any) -> str:
            return "/".join(filter(None, (cell.whole.item.key, cell.whole.people, cell.whole.system, level)))

        record = recorded(
            _interval, cell=name,
            metric="whole.item.metric", raters="whole.item.group", system="whole.system", factor="whole.factor",
            people="whole.people", level=lambda cell: level, share="part.estimate", n="part.n", of="part.of",
            missing="part.missing", why_missing="part.why", of_cases="whole.cases",
        )  # fmt: skip
        column = Column(level, text=lambda cell: number(cell.part.estimate and 100 * cell.part.estimate, 0))
        return Block((record, column), lambda row: Part(row, row.shares[level]) if level in row.shares else None)

    heads = Block((
        Column("People", "left", value="whom"),
        Column("System", "left", text=lambda row: view.order.system_label(row.system)),
        Column("Conversations", text=lambda row: n_of(row.all.n, row.all.of)),
    ))  # fmt: skip
    table = grid_of("level_shares", _TITLE, rows, (heads, *map(block, levels)), group=lambda row: row.item.title,
                    notes=(MEANING, without_level))  # fmt: skip
    return options.finish(table)


def _interval(cell: Any) -> dict[str, Any]:
    interval, cases = interval_of(cell.part, "mean"), by_case(cell.part)
    return {
        "low": interval and interval.low, "high": interval and interval.high,
        "share_by_case": cases.estimate, "by_case_low": cases.interval and cases.interval.low,
        "by_case_high": cases.interval and cases.interval.high, "cases": cases.n,
    }  # fmt: skip


TABLE = TableKind("level_shares", _TITLE, 9, build, LevelSharesOptions, shown="always", averages=False)
