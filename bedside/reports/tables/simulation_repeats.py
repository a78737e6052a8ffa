"""Spread between repeats of simulated conversations beside that between cases; the repeats that a difference needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter

from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.selection import NothingError
from bedside.analysis.simulated_talks import PairRepeats, SystemSpread, simulated_spreads
from bedside.reports.columns import Column, MetricRow, Table, by_kind, recorded, table_of
from bedside.reports.notes import Note, note
from bedside.reports.number_text import DASH, number
from bedside.reports.table_kind import TableKind

_TITLE = "Spread between repeats, and the repeats that a difference needs"
#: The test that the numbers are for.
LEVEL, POWER = 0.95, 0.8


def _root(name: str) -> Callable[[MetricRow], str]:
    """The standard deviation of a variance, as printed."""
    variance = attrgetter(name)

    def words(row: MetricRow) -> str:
        value = variance(row.part)
        return DASH if value is None else number(value**0.5, row.part.facts.digits)

    return words


def _needed(row: MetricRow) -> str:
    needed = row.part.needed
    return needed.missing or DASH if needed.needed is None else f"{needed.needed:,}"


COLUMNS = (
    MetricRow.record("system"),
    Column("System, or two", "left", value="part.system"),
    Column("Cases", field="cases", value="part.spread.cases"),
    recorded(n="part.spread.values"),
    Column("Mean, or difference", field="mean", value="part.spread.mean", text=MetricRow.number("spread.mean")),
    Column("SD of cases", field="variance_between_cases", value="part.spread.between", text=_root("spread.between")),
    Column("SD of repeats", field="variance_between_repeats", value="part.spread.within", text=_root("spread.within")),
    Column(
        "Share of repeats",
        field="share_of_repeats",
        value="part.spread.share",
        form=lambda share: DASH if share is None else f"{share:.0%}",
    ),
    Column("Repeats needed", text=lambda row: ""),
    Column("Or cases", text=lambda row: ""),
)
PAIR_COLUMNS = (
    MetricRow.record("a", "b"),
    Column("", text=lambda row: f"{row.part.a} − {row.part.b}"),
    Column("", field="cases", value="part.needed.cases"),
    Column("", field="difference", value="part.needed.difference", text=MetricRow.number("needed.difference")),
    recorded(repeats="part.needed.repeats"),
    Column("", field="variance_between_cases", value="part.needed.between", text=_root("needed.between")),
    Column("", field="variance_between_repeats", value="part.needed.within", text=_root("needed.within")),
    Column("", text=lambda row: ""),
    Column("", field="repeats_needed", value="part.needed.needed", text=_needed),
    Column("", field="cases_needed", value="part.needed.needed_cases"),
    recorded(missing="part.needed.missing"),
)
MEANING = Note(
    "simulation repeats.meaning",
    "SD of repeats: between repeats of one case, persona and setting with the same system. SD of cases: between "
    "cases, without what repeats add. Share of repeats: of the variance of single conversations. Components of the "
    "analysis of variance (Searle, Casella and McCulloch 1992). Conversations without a value count in nothing.",
)


@note("simulation repeats.needed", "Repeats needed", "Or cases")
def needed_words(rows: Sequence[MetricRow]) -> Iterator[str]:
    """What two systems need to be told apart."""
    if any(isinstance(row.part, PairRepeats) for row in rows):
        yield (
            "Of two systems, SD of cases is that of their true difference, and SD of repeats that of both together. "
            f"Repeats needed: of each case, for a paired t test at {1 - LEVEL:.0%} to find the difference seen with a "
            f"chance of {POWER:.0%} (Miller 2024). Or cases: with as many repeats as there are. The true difference "
            "may be smaller than the one seen; then more are needed. Where cases differ too much, no number of repeats "
            "will do."
        )


def spread_table(spreads: Sequence[SystemSpread], pairs: Sequence[PairRepeats]) -> Table:
    """The table of spreads already computed: by metric and system, then what each pair of systems needs."""
    by_metric: dict[tuple[str, str], list[SystemSpread | PairRepeats]] = {}
    for spread in spreads:
        by_metric.setdefault((spread.metric, spread.raters), []).append(spread)
    for pair in pairs:
        by_metric.get((pair.metric, pair.raters), []).append(pair)
    shown = [own for group in by_metric.values() for own in group]
    return table_of("simulation_repeats", _TITLE, MetricRow.rows(shown), by_kind(COLUMNS, {PairRepeats: PAIR_COLUMNS}),
                    group=MetricRow.directed_heading, notes=(MEANING, needed_words))  # fmt: skip


def build(view: RatingsView, _seed: int = 0) -> Table | None:
    """Spread by metric and system, then what each pair of systems needs; None where nothing was repeated."""
    try:
        return spread_table(*simulated_spreads(view))
    except NothingError:
        return None


TABLE = TableKind("simulation_repeats", _TITLE, 73, build, heading="Simulation: repeats", shown="always")
