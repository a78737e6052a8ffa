"""How far each mean could move, were all that is missing worst or best."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bedside.analysis.missing_bounds import missing_bounds
from bedside.analysis.ratings_view import RatingsView
from bedside.reports.columns import Column, Part, Recorded, Table, parts_of, recorded, table_of
from bedside.reports.notes import Note, note
from bedside.reports.number_text import ARROWS, DASH, cell_name, number, rater_words, several_raters
from bedside.reports.table_kind import TableKind

_TITLE = "Means were all that is missing worst, or all best"


def _ends(row: Part) -> tuple[float, float]:
    """The mean were all that is missing worst, and were it best; lowest and highest where neither is better."""
    ends = (row.part.lowest, row.part.highest)
    return ends[::-1] if row.whole.facts.direction == "lower" else ends


def _number(row: Part, value: float | None) -> str:
    return number(value, row.whole.facts.digits)


def _missing(row: Part) -> str:
    own = row.part
    return f"{number(100 * own.share_missing, 1)} % ({own.missing:,}/{own.ratings:,})" if own.missing else "0"


def _columns(several: frozenset[str]) -> tuple[Column | Recorded, ...]:
    """The columns of rows about a system's bounds; ``several`` has the metrics that several groups rated."""
    return (
        recorded(
            cell=lambda row: cell_name(row.whole.metric, row.whole.raters, several, row.part.system),
            metric="whole.metric", raters="whole.raters",
        ),
        Column("System", "left", field="system", value="part.system"),
        Column("Mean", field="mean", value="part.mean", text=lambda row: _number(row, row.part.mean),
               dash="no value is there that a mean could be taken of"),
        recorded(ratings="part.ratings"),
        Column("Missing", field="missing", value="part.missing", text=_missing),
        recorded(share_missing="part.share_missing"),
        Column("All worst", field="worst", value=lambda row: _ends(row)[0],
               text=lambda row: _number(row, _ends(row)[0])),
        Column("All best", field="best", value=lambda row: _ends(row)[1],
               text=lambda row: _number(row, _ends(row)[1])),
        recorded(scale_low="whole.low", scale_high="whole.high", direction="whole.facts.direction"),
        Column("Could change places with", "left", field="could_change_places_with",
               value=lambda row: ", ".join(row.part.swaps), dash="there is no other system to change places with",
               text=lambda row: ", ".join(row.part.swaps) or ("none" if len(row.whole.systems) > 1 else DASH)),
    )  # fmt: skip


MEANING = (
    Note(
        "missing bounds.ends",
        "Mean: over what is there, as in the results. All worst, all best: each missing rating at that end of its "
        "scale (Manski's bounds). Nothing is assumed on why it is missing; chance of the sample comes on top.",
    ),
    Note(
        "missing bounds.places",
        "Could change places: some values of what is missing would turn the order of the two means round.",
    ),
    Note(
        "missing bounds.undefined",
        "A value that doesn't exist, such as a share of nothing, counts as missing here: the reasons stand in the "
        "table of missing values.",
    ),
)


@note("missing bounds.undirected", "All worst", "All best")
def undirected(rows: Sequence[Part]) -> Iterator[str]:
    """Where neither end is better."""
    titles = dict.fromkeys(row.whole.facts.title for row in rows if row.whole.facts.direction == "none")
    if titles:
        yield f"Neither end is better, so that worst is lowest and best highest: {', '.join(titles)}."


def build(view: RatingsView, seed: int = 0) -> Table | None:
    """Means with their bounds; None where nothing with a known scale is missing."""
    bounded = missing_bounds(view)
    if not bounded.metrics:
        return None
    several = several_raters({(bounds.metric, bounds.raters) for bounds in bounded.metrics})
    titles = dict.fromkeys(view.facts(name).title for name in bounded.without_ends)
    without = f"Without bounds, as an end of the scale is open or not known: {', '.join(titles)}."

    def heading(row: Part) -> str:
        facts, by = row.whole.facts, f" ({rater_words(row.whole.raters)})" if row.whole.metric in several else ""
        return f"{facts.title}{ARROWS[facts.direction]}{by}"

    return table_of("missing_bounds", _TITLE, parts_of(bounded.metrics, "systems"), _columns(several), group=heading,
                    notes=(*MEANING, undirected, *([without] if titles else [])))  # fmt: skip


TABLE = TableKind(
    "missing_bounds", _TITLE, 91, build, heading="How far what is missing could move the means", shown="always"
)
