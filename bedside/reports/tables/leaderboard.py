"""The leaderboard: systems by the suite's main measures, which can be told apart, what was completed, what it cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import stdev
from typing import Any

from bedside.analysis.leaderboard import ALPHA, RepeatReliability, Standing, Standings, standings
from bedside.analysis.metric_facts import MetricFacts
from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.simulated_talks import SimulatedTalks, reasons_of, simulated_talks
from bedside.analysis.study_parts import SYNTHETIC
from bedside.core.words import counted
from bedside.judges.rubrics.rubric_files import RUBRICS
from bedside.ratings.names import is_algorithm, is_judge
from bedside.ratings.suites.run_suites import suites_of
from bedside.reports.contents import main_measures
from bedside.reports.measures import TableMeasure, shares_shown
from bedside.reports.notes import NoteText
from bedside.reports.number_text import ARROWS, DASH, cell_name, money, n_of, number, range_words, rater_words
from bedside.reports.simulations import PilotSpread, casts_of, toys_of, with_toy
from bedside.reports.table import Table
from bedside.reports.table_content import Cell, Column, Row
from bedside.reports.table_kind import TableKind
from bedside.reports.table_notes import BY_WHERE, absent_notes, averaging_notes, lost_notes
from bedside.simulation.simulated_costs import SystemCost, simulated_costs
from bedside.stats.result import Result
from bedside.transcripts.simulation_folder import FLOOR

# -- Which measures a leaderboard shows -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class BoardColumn:
    """A measure of a leaderboard, under one group of raters.

    Attributes:
        measure: as the suite names it.
        part: the part of the transcripts that it is about; empty for all.
        standings: where the systems stand.
        several: whether several groups of raters gave values.
        share_of: of labels, the level whose share is shown.
    """

    measure: TableMeasure
    part: str
    standings: Standings
    several: bool
    share_of: str | None = None

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
    return view.once(("board measures", seed), lambda: _board_measures(view, seed))


def _board_measures(view: RatingsView, seed: int) -> BoardMeasures:
    suites = () if view.run is None else suites_of(view.run)
    talks = simulated_talks(view)
    if talks is not None and talks.others:
        view = view.where({SYNTHETIC: ("True",)})
    success = {name: value for suite in suites for name, value in suite.success.items()}
    columns: list[BoardColumn] = []
    valueless: list[tuple[str, str, str]] = []
    notes: list[str] = []
    for part, chosen, measures in main_measures(view):
        of_part: list[BoardColumn] = []
        for measure in measures:
            own = list(_columns(chosen, measure, part, success.get(measure.metric), seed))
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
    notes = averaging_notes(view, metrics, systems, list(dict.fromkeys(pairs)), compared=bool(pairs), shown=BY_WHERE)
    lost = lost_notes(view, systems)
    own = view.part.sentences() if part else []
    return [f"{part}: {note}" if part and note not in lost else note for note in notes if note not in own]


def _columns(
    view: RatingsView, measure: TableMeasure, part: str, success: float | None, seed: int
) -> Iterator[BoardColumn]:
    view = shares_shown(view, {"": (measure,)})
    for metric in view.metrics_like(measure.metric):
        of_groups = standings(view, metric, success=success, seed=seed)
        level = view.shares[metric].level if metric in view.shares else None
        yield from (BoardColumn(measure, part, each, len(of_groups) > 1, level) for each in of_groups)


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


# -- The leaderboard ------------------------------------------------------------------------------------

_TITLE = "Leaderboard"
#: What conversations can be beside completed, as columns that stand only where some are.
_GAPS = ("failed", "missing")
#: How notes begin that change how the numbers are read.
_WARNINGS = ("Warning:", "Every system is shown to beat", "Toys are")
#: The most systems that a sentence names.
_MOST_NAMED = 4


def build(view: RatingsView, seed: int = 0) -> Table | None:
    """The leaderboard of simulated systems; None where nothing was simulated."""
    talks = simulated_talks(view)
    if talks is None or not talks.systems:
        return None
    casts = casts_of(talks)
    if len(casts) > 1:
        whose = "; ".join(casts)
        return Table("leaderboard", _TITLE, (Column("System", "left"),), (), (
            f"No leaderboard: the simulations had different casts, so their patients differ ({whose}). Score each "
            "simulation into a run of its own.",
        ))  # fmt: skip
    measures = board_measures(view, seed=seed)
    board = _Board(talks, measures, simulated_costs(view))
    return Table(
        name="leaderboard",
        title=_TITLE,
        columns=board.heads(),
        rows=tuple(Row(tuple(board.cells(system))) for system in board.order),
        notes=tuple(board.notes()),
        records=tuple(board.records()),
    )


@dataclass(frozen=True, slots=True)
class _TalkCounts:
    """How many conversations of a system there are, by what became of them.

    Attributes:
        planned: all of them, in so many ``cases``.
        completed: those that ended as the protocol means them to.
        failed: those that the clinician failed.
        missing: those that have no transcript by no doing of the clinician.
    """

    planned: int
    cases: int
    completed: int
    failed: int
    missing: int

    @classmethod
    def of(cls, talks: SimulatedTalks, system: str) -> _TalkCounts:
        """Those of a system."""
        own = [talk for talk in talks.talks if talk.system == system]
        return cls(
            len(own),
            len({talk.case for talk in own}),
            sum(talk.completed and not talk.failed for talk in own),
            sum(bool(talk.failed) for talk in own),
            sum(talk.lost for talk in own),
        )


class _Board:
    """What the table is made of.

    Args:
        talks: the conversations.
        measures: what is shown.
        costs: what conversations cost; None where that isn't known.
    """

    def __init__(self, talks: SimulatedTalks, measures: BoardMeasures, costs: Mapping[str, SystemCost] | None) -> None:
        self._talks = talks
        self._columns = measures.columns
        self._measures = measures
        self._costs = costs
        self._toys = toys_of(talks)
        self._first = measures.columns[0] if measures.columns else None
        first = () if self._first is None else self._first.standings.systems
        ranked = [standing.system for standing in first]
        self.order = [*ranked, *(system for system in talks.systems if system not in ranked)]
        self._floor = next((system for system in self.order if system.startswith(FLOOR)), None)
        counts = Counter(
            standing.values.n for column in self._columns for standing in column.standings.systems if standing.values.n
        )
        self._usual = max(counts, key=lambda n: (counts[n], n), default=0)
        self._counts = {system: _TalkCounts.of(talks, system) for system in self.order}
        # One column, as more would not fit beside the measures: the first of what can be said.
        texts = {name: repeat_texts(own, self._first) for name, own in self._repeated().items() if self._first}
        self._steadiness = {name: next(iter(own.items())) for name, own in texts.items()}
        self._told = [name for name in _GAPS if any(getattr(own, name) for own in self._counts.values())]

    def heads(self) -> tuple[Column, ...]:
        """The columns."""
        return (
            Column("Rank", "left"),
            Column("System", "left"),
            *(Column(_head(column), group=column.part or None) for column in self._columns),
            *(Column(head) for head, _ in list(self._steadiness.values())[:1]),
            Column("Completed"),
            *(Column(name.capitalize()) for name in self._told),
            Column("Cost"),
        )

    def cells(self, system: str) -> Iterator[Cell]:
        """The cells of a system's row."""
        first = None if self._first is None else self._first.standings.by_system.get(system)
        yield Cell(DASH if first is None or first.ranks is None else range_words(*first.ranks))
        yield Cell(_floor_words(system) if system == self._floor else with_toy(system, self._toys))
        for position, column in enumerate(self._columns):
            yield self._cell(system, column, len(self._columns) * self.order.index(system) + position)
        if self._steadiness:
            yield Cell(self._steadiness.get(system, ("", DASH))[1].partition(" [")[0])
        own = self._counts[system]
        for name in ("completed", *self._told):
            yield Cell(f"{getattr(own, name):,}/{own.planned:,}")
        cost = (self._costs or {}).get(system)
        yield Cell(DASH if cost is None or cost.own_each is None else money(cost.own_each))

    def _repeated(self) -> dict[str, RepeatReliability]:
        """How steady each system is on the measure that orders them; empty where nothing was repeated."""
        first = () if self._first is None else self._first.standings.systems
        return {standing.system: standing.repeats for standing in first if standing.repeats is not None}

    def _cell(self, system: str, column: BoardColumn, record: int) -> Cell:
        standing = column.standings.by_system.get(system)
        if standing is None or standing.mean.estimate is None:
            return Cell(DASH, record=record)
        text = _words(standing.mean, column.digits, column.scale)
        if standing.values.n != self._usual or standing.values.n < standing.of:
            text += f" n={n_of(standing.values.n, standing.of)}"
        ranked = sum(other.values.n > 0 for other in column.standings.systems)
        best = standing.ranks is not None and standing.ranks[0] == 1 and standing.ranks[1] < ranked
        return Cell(text, bold=best, marks=standing.letters if ranked > 1 else "", record=record)

    def records(self) -> Iterator[dict[str, Any]]:
        """A record for each number, system by system."""
        pairs = {(column.standings.metric, column.standings.raters) for column in self._columns}
        several = {metric for metric, _ in pairs if sum(metric == other for other, _ in pairs) > 1}
        for system in self.order:
            own = self._counts[system]
            cost = (self._costs or {}).get(system)
            for column in self._columns:
                standing = column.standings.by_system.get(system)
                metric = column.standings.metric
                parts = (column.part, system) if column.part else (system,)
                yield {
                    "cell": cell_name(metric, column.standings.raters, several, *parts),
                    "metric": metric,
                    **({"share_of": column.share_of} if column.share_of else {}),
                    "raters": column.standings.raters,
                    "part": column.part or None,
                    "direction": column.standings.facts.direction,
                    "system": system,
                    "toy": system in self._toys,
                    **_numbers(standing),
                    "orders": column is self._first,
                    "planned": own.planned,
                    "planned_cases": own.cases,
                    "completed": own.completed,
                    "failed": own.failed,
                    "missing": own.missing,
                    "cost_a_conversation": None if cost is None else cost.own_each,
                    "cost_of_others": None if cost is None else cost.others,
                    "cast": "; ".join(
                        f"{own.manifest.get('patient')}, {own.manifest.get('evaluator')}"
                        for own in self._talks.simulations
                    ),
                }

    # -- notes ---------------------------------------------------------------------------------------

    def notes(self) -> Iterator[str]:
        """What the numbers are; those that change how they are read are marked."""
        for text in (*self._floor_notes(self._first), *self._other_notes()):
            yield NoteText(text, "leaderboard", warns=text.startswith(_WARNINGS))

    def _other_notes(self) -> Iterator[str]:
        """What doesn't concern the trivial clinicians."""
        yield from self._order_notes(self._first)
        if self._first is not None and self._steadiness:
            yield from _repeat_notes(self._repeated(), self._first)
        yield from self._gap_notes(self._first)
        yield from self._missing_notes()
        yield from self._measures.notes
        yield from self._completion_notes()
        yield from self._cost_notes()
        yield from (f"Cast: {cast}." for cast in casts_of(self._talks))
        toys = [system for system in self.order if system in self._toys]
        if toys:
            yield (
                f"Toys are rules or scripts in place of a model ({', '.join(toys)}): their rank shows nothing about "
                "any model."
            )

    def _floor_notes(self, first: BoardColumn | None) -> Iterator[str]:
        """Who is shown to be better than the best of the trivial clinicians."""
        if self._floor is None or first is None:
            return
        beating = {better for better, worse in first.standings.better if worse == self._floor}
        others = [system for system in self.order if system not in beating and system != self._floor]
        yield (
            f"Warning: with {counted(self._usual, 'case')}, not shown to beat the {_floor_words(self._floor)}, on "
            f"{first.title}: {', '.join(others)}."
            if others
            else f"Every system is shown to beat the {_floor_words(self._floor)}, on {first.title}."
        )

    def _order_notes(self, first: BoardColumn | None) -> Iterator[str]:
        if first is None:
            yield "None of the suite's main measures has a number, so the systems stand in the order of their names."
            return
        which = "main measures that the suite names" if self._measures.named else "main measures of the suite"
        part = f" ({first.part})" if first.part else ""
        by = f", as rated by {rater_words(first.standings.raters)}" if first.several else ""
        yield (
            f"Ordered by {first.title}{part}{by}. It is the first of the {which} that has a value. Measures are not "
            "added up to one score."
        )
        rated: dict[str, list[str]] = {}
        for column in self._columns:
            if not is_algorithm(column.standings.raters):
                rated.setdefault(column.standings.raters, []).append(column.title)
        if rated:
            by_whom = (
                f"{'judge ' if is_judge(raters) else ''}{rater_words(raters)} ({', '.join(dict.fromkeys(titles))})"
                for raters, titles in rated.items()
            )
            yield f"Rated by: {'; '.join(by_whom)}."
        own = any(column.measure.sum for column in self._columns)
        shares = " A share that another table takes over all conversations is here the mean of the cases' own."
        yield (
            f"Means over cases; each case counts once.{shares if own else ''} n = {counted(self._usual, 'case')} "
            "unless a cell says otherwise. In brackets: 95 % intervals over cases like these. ↑ higher is better, ↓ "
            "lower is."
        )
        standings = [standing for column in self._columns for standing in column.standings.systems]
        if any(standing.values.n and standing.mean.interval is None for standing in standings):
            yield "A mean without brackets: the cases' values don't vary, or there is only one."
        yield from self._test_notes()

    def _test_notes(self) -> Iterator[str]:
        pairs = [pair for column in self._columns for pair in column.standings.comparisons]
        if not pairs:
            yield "Only one system has values: there is nothing to tell it from."
            return
        if all(pair.test.p is None for pair in pairs):
            yield "No two systems can be told apart: there are too few cases for a test, or no differences at all."
            return
        sizes = sorted({pair.test.family_size or 0 for pair in pairs})
        methods = "; ".join(dict.fromkeys(pair.test.method for pair in pairs if pair.test.p is not None))
        yield (
            "Letters: two systems that share one can't be told apart on that measure. All pairs of systems are tested "
            f"case by case, those added later too ({methods}). p is corrected by Holm over the pairs of a measure "
            f"({' or '.join(map(str, sizes))} that can be tested). Where no systems differ, the chance that any two "
            f"are told apart is {ALPHA:.0%} at most on each measure."
        )
        yield (
            "Rank: the best and the worst place by the first measure that these tests leave open. Bold: no other "
            "system is shown to be better, and one at least to be worse."
        )
        for column in self._columns:
            for better, worse in column.standings.against_means:
                yield (
                    f"Warning: on {column.title} the test shows {better} to be better than {worse}, but the means are "
                    "the other way round. A few extreme cases may do that."
                )

    def _gap_notes(self, first: BoardColumn | None) -> Iterator[str]:
        """What failed and what is missing count for, and whether that decides the order."""
        if "failed" in self._told:
            yield (
                "Failed: the clinician said nothing, refused or broke. Such a conversation counts, with the worst "
                "values that the suite states."
            )
        if first is not None:
            yield from self._unrated_notes(first)
        if "missing" in self._told:
            yield "Missing: conversations lost to the patient, the evaluator or the network. They count nowhere."
        for system in self.order:
            if self._counts[system].missing == self._counts[system].planned:
                why = reasons_of(talk for talk in self._talks.talks if talk.system == system)
                yield f"Warning: all conversations of {system} are missing ({', '.join(why)})."
        for column in self._columns:
            if column.standings.worst_order:
                means = [
                    f"{system} {number(standing.with_worst * column.scale, column.digits)}"
                    for system in column.standings.worst_order
                    if (standing := column.standings.by_system[system]).with_worst is not None
                ]
                yield (
                    f"Warning: the order by {column.title} hangs on what is missing. With the worst in its place it "
                    f"is: {', '.join(means)}."
                )
            elif column is first and "missing" in self._told and column.standings.systems[0].with_worst is not None:
                yield f"The order by {column.title} stays the same with the worst in place of what is missing."

    def _unrated_notes(self, first: BoardColumn) -> Iterator[str]:
        """Which failed conversations have no ratings, and what places their systems."""
        unrated = [standing for standing in first.standings.systems if standing.unrated]
        if not unrated:
            return
        names = ", ".join(f"{standing.system} {standing.unrated:,}" for standing in unrated)
        yield (
            f"Warning: failed conversations without a transcript, as of earlier versions: {names}. They have no "
            "rating, and no mean counts them. Run the same bedside simulate command again: they get a transcript. Then "
            "score the folder into a new run."
        )
        means = [
            f"{standing.system} {number(standing.with_failed * first.scale, first.digits)}"
            for standing in unrated
            if standing.with_failed is not None and standing.values.n
        ]
        if means:
            yield f"What places these systems is the mean with the worst for each of them: {', '.join(means)}."

    def _missing_notes(self) -> Iterator[str]:
        yield from self._measures.missing
        for column in self._columns:
            lacking = [
                f"{standing.system} {standing.values.missing_cases}"
                for standing in column.standings.systems
                if standing.values.missing_cases
            ]
            if lacking:
                yield f"Cases without a value of {column.title}: {', '.join(lacking)} ({column.standings.why})."

    def _completion_notes(self) -> Iterator[str]:
        yield "Completed: conversations that ended as the protocol means them to, of all that were planned."
        words = []
        for system in self.order:
            own = [talk for talk in self._talks.talks if talk.system == system]
            ends = Counter(
                talk.stop or "its end isn't known" for talk in own if not (talk.lost or talk.failed or talk.completed)
            )
            failures = Counter(talk.failed for talk in own if talk.failed)
            reasons = [
                *(f"ended by {stop} {n:,}" for stop, n in sorted(ends.items())),
                *(f"failed, {reason} {n:,}" for reason, n in sorted(failures.items())),
                *(f"missing, {reason} {n:,}" for reason, n in reasons_of(own).items()),
            ]
            if reasons:
                words.append(f"{system}: {'; '.join(reasons)}")
        if words:
            yield f"Not completed: {'. '.join(words)}."
        if self._talks.not_begun:
            yield f"{counted(self._talks.not_begun, 'conversation')} that had not begun don't count here."

    def _cost_notes(self) -> Iterator[str]:
        if self._costs is None:
            yield (
                "Cost isn't known: the folder of the simulation is neither where it was when it was scored nor beside "
                "the run."
            )
            return
        known = [cost for cost in self._costs.values() if cost.system in self.order]
        words = "Cost: US dollars a conversation for the clinician's own replies, lost conversations included"
        others = [cost.others for cost in known]
        if all(cost is not None for cost in others):
            total = sum(cost for cost in others if cost is not None)
            words += f"; those of all other roles cost {money(total)} in all"
        else:
            words += "; what those of all other roles cost isn't known"
        unknown = [cost.system for cost in known if cost.own is None]
        yield f"{words}." + (f" {DASH}: no price is known of {', '.join(unknown)}." if unknown else "")


def pilot_spread(view: RatingsView) -> PilotSpread | None:
    """How much systems' differences vary between cases on the measure that orders a leaderboard, of the two that vary
    most; None where no two share two cases, or nothing varies."""
    first = next(iter(board_measures(view).columns), None)
    pairs = () if first is None else first.standings.comparisons
    differences = [pair.differences or () for pair in pairs]
    spreads = [(stdev(own), len(own)) for own in differences if len(own) > 1]
    if first is None or not spreads or max(spreads)[0] == 0:
        return None
    sd, cases = max(spreads)
    return PilotSpread(first.title, sd * first.scale, cases)


def leaderboard_sentences(board: Table) -> list[str]:
    """Who leads by the measure that orders a leaderboard, as far as that is shown."""
    cells = [(row.cells[1].text.removesuffix(" (toy)"), row.cells[2]) for row in board.rows]
    records = [(name, cell, board.records[cell.record]) for name, cell in cells if cell.record is not None]
    # All conversations of a system may be missing, or have no value.
    ordered = [(name, cell, record) for name, cell, record in records if record["n"]]
    first = [(name, cell.text) for name, cell, record in ordered if record["orders"] and record["best_rank"] == 1]
    if not first:
        return [str(board.notes[0])]
    head = board.columns[2]
    measure = head.title.rstrip(" ↑↓") + (f" ({head.group})" if head.group else "")
    n, of = min((record["n"], record["of"]) for _, _, record in ordered)
    over = f"{n_of(n, of)} {'case' if of == 1 else 'cases'}"
    name, text = first[0]
    if len(ordered) == 1:
        return [f"{name} has {text} on {measure} ({over}); no other system has a value."]
    if len(first) == 1:
        return [f"{name} leads on {measure}: {text} ({over})."]
    *names, last = [name for name, _ in first]
    many = len(first) > _MOST_NAMED
    which = f"{len(first)} of {len(ordered)} systems" if many else f"{', '.join(names)} or {last}"
    return [f"No system is shown to lead on {measure} ({over}): {which} may be first."]


def best_system(view: RatingsView) -> str | None:
    """The system that leads on the measure that orders a leaderboard; None where no main measure has a value."""
    for _, chosen, measures in main_measures(view):
        for measure in measures:
            shown = shares_shown(chosen, {"": (measure,)})
            for metric in shown.metrics_like(measure.metric):
                for found in standings(shown, metric, compared=False):
                    if found.facts.direction != "none":
                        return found.systems[0].system
    return None


def _floor_words(system: str) -> str:
    from bedside.simulation.actors.trivial import trivial_clinicians

    return f"best of {len(trivial_clinicians())} trivial: {system.removeprefix(FLOOR)}"


def repeat_texts(repeats: RepeatReliability, column: BoardColumn) -> dict[str, str]:
    """How steady a system is over its repeats, as printed, by what stands above it."""
    passing = repeats.all_succeeding
    return {
        **({} if passing is None else {f"pass^{repeats.k}": _words(passing, 2)}),
        f"Worst of {repeats.k}": _words(repeats.worst, column.digits, column.scale),
    }


def success_words(repeats: RepeatReliability, column: BoardColumn) -> str:
    """What counts as a success; empty where nobody says it."""
    if repeats.success is None:
        return ""
    sign = "≥" if column.standings.facts.direction == "higher" else "≤"
    return f"{column.title} {sign} {repeats.success * column.scale:g}"


def spread_words(repeats: RepeatReliability, column: BoardColumn) -> str:
    """The spread between repeats, and that between cases, as standard deviations."""
    both = (repeats.spread.within, repeats.spread.between)
    within, between = (
        DASH if variance is None else number(variance**0.5 * column.scale, column.digits) for variance in both
    )
    return f"{within} between repeats, {between} between cases"


def _repeat_notes(repeated: Mapping[str, RepeatReliability], column: BoardColumn) -> Iterator[str]:
    """What the numbers over repeats are, and how far values vary between repeats and between cases."""
    first = next(iter(repeated.values()))
    success = success_words(first, column)
    if success:
        yield (
            f"pass^{first.k}: chance that all {first.k} repeats of a case succeed, without bias (Yao et al. 2024), "
            f"mean over cases. Success, as the suite states it: {success}."
        )
    worst = "; ".join(
        f"{system} {_words(repeats.worst, column.digits, column.scale).partition(' [')[0]}, SD "
        f"{spread_words(repeats, column)}"
        for system, repeats in repeated.items()
    )
    yield f"Worst of {first.k} repeats, mean over cases, and spread: {worst}."


def _words(result: Result, digits: int, scale: float = 1.0) -> str:
    """A mean with its interval."""
    text = number(None if result.estimate is None else result.estimate * scale, digits)
    if result.interval is None:
        return text
    return f"{text} [{', '.join(number(end * scale, digits) for end in (result.interval.low, result.interval.high))}]"


def _head(column: BoardColumn) -> str:
    by = f" ({rater_words(column.standings.raters)})" if column.several else ""
    percent = " (%)" if column.measure.percent and "%" not in column.title else ""
    return f"{column.title}{percent}{by}{ARROWS[column.standings.facts.direction]}"


def _numbers(standing: Standing | None) -> dict[str, Any]:
    """What a record says of a system's place."""
    if standing is None:
        return dict.fromkeys(
            ("mean", "low", "high", "interval", "mean_with_worst", "letters", "best_rank", "worst_rank", "n", "of",
             "cases", "conversations", "missing_cases", *_REPEATS)
        )  # fmt: skip
    interval, ranks, repeats = standing.mean.interval, standing.ranks, standing.repeats
    return {
        "mean": standing.mean.estimate,
        "low": None if interval is None else interval.low,
        "high": None if interval is None else interval.high,
        "interval": None if interval is None else interval.method,
        "mean_with_worst": standing.with_worst,
        "letters": standing.letters or None,
        "best_rank": None if ranks is None else ranks[0],
        "worst_rank": None if ranks is None else ranks[1],
        "n": standing.values.n,
        "of": standing.of,
        "cases": standing.values.n,
        "conversations": standing.values.n_transcripts,
        "missing_cases": standing.values.missing_cases,
        **(dict.fromkeys(_REPEATS) if repeats is None else _repeat_numbers(repeats)),
    }


#: What a record says of a system's repeats; nothing where there are none.
_REPEATS = (
    "repeats", "success", "succeeding", "all_succeeding", "all_succeeding_low", "all_succeeding_high",
    "worst_of_repeats", "variance_between_repeats", "variance_between_cases",
)  # fmt: skip


def _repeat_numbers(repeats: RepeatReliability) -> dict[str, Any]:
    passing, once = repeats.all_succeeding, repeats.succeeding
    ends = None if passing is None else passing.interval
    values = (
        repeats.k, repeats.success, once and once.estimate, passing and passing.estimate, ends and ends.low,
        ends and ends.high, repeats.worst.estimate, repeats.spread.within, repeats.spread.between,
    )  # fmt: skip
    return dict(zip(_REPEATS, values, strict=True))


TABLE = TableKind("leaderboard", _TITLE, 5, build, shown="first", averages=False)
