"""What simulated sides meant to do, beside the codes that coders gave to what they said."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bedside.analysis.ratings_view import RatingsView
from bedside.core.words import counted
from bedside.reports.columns import Column, Part, Table, bounded, by_kind, recorded, table_of
from bedside.reports.notes import Note, note
from bedside.reports.number_text import decimal, rater_words, share_words
from bedside.reports.table_kind import TableKind
from bedside.simulation.intended_acts import IntendedCoded, intended_acts

_TITLE = "Intended acts against coded ones"


def _as_meant(row: Part) -> int:
    return int(row.part.coded.get(row.part.label, 0))


def _counts(row: Part) -> str:
    ordered = sorted(row.part.coded.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{label} {number:,}" for label, number in ordered)


ACT_COLUMNS = (
    recorded(cell=lambda row: f"{row.whole.metric}/{row.whole.rater}/{row.part.act}", metric="whole.metric",
             rater="whole.rater"),
    Column("Meant", "left", field="act", value="part.act"),
    Column("Meant as", "left", field="meant", value="part.label"),
    Column("Turns", field="turns", value="part.turns"),
    Column("Coded", "left", text=_counts),
    Column("Coded as meant [95 % CI]", field="as_meant", value=_as_meant,
           text=lambda row: decimal(_as_meant(row) / row.part.turns)),
    recorded(lambda row: {f"coded_{label}": number for label, number in sorted(row.part.coded.items())}),
    Column("κ [95 % CI]", text=lambda row: ""),
)  # fmt: skip
#: Of the row below the acts, about all of them.
CODE_COLUMNS = (
    recorded(cell=lambda row: f"{row.whole.metric}/{row.whole.rater}", metric="whole.metric", rater="whole.rater",
             act=lambda row: None),
    Column("", text=lambda row: "all"),
    Column("", text=lambda row: ""),
    Column("", field="turns", value="whole.turns"),
    recorded(cases="whole.cases", undecided="whole.undecided"),
    Column("", text=lambda row: ""),
    Column("", text=lambda row: share_words(row.whole.agreement)),
    Column("", text=lambda row: share_words(row.whole.kappa)),
    bounded(agreement="whole.agreement", kappa="whole.kappa"),
    recorded(kappa_missing="whole.kappa.missing"),
)  # fmt: skip
MEANING = Note(
    "intended acts.meaning",
    "Meant as: the label of the code that a strategy or an action stands for by its definition. Acts that could be "
    "carried out in several ways, and messages with a pivot, are left out. Share coded as meant: with an interval "
    "from a bootstrap of whole cases. κ: Cohen's, of intended and coded labels; its interval is from leaving out "
    "whole cases. Where a number is low, the model may have acted badly, or the coder read badly. Only codes by "
    "people tell the two apart.",
)


@note("intended acts.missing")
def missing(rows: Sequence[Part]) -> Iterator[str]:
    """Why there are no figures."""
    for code in (row.part for row in rows if isinstance(row.part, IntendedCoded)):
        for name, value in (("Share", code.agreement), ("κ", code.kappa)):
            if value.missing:
                yield f"{name}, {code.facts.title} by {rater_words(code.rater)}: {value.missing}."


@note("intended acts.undecided")
def undecided(rows: Sequence[Part]) -> Iterator[str]:
    """Turns that are left out."""
    for code in (row.part for row in rows if isinstance(row.part, IntendedCoded)):
        if code.undecided:
            yield (
                f"{code.facts.title} by {rater_words(code.rater)}: {counted(code.undecided, 'turn')} without a "
                "most frequent label are left out."
            )


def build(view: RatingsView, seed: int = 0) -> Table | None:
    """Acts by code and coder; None where nothing was meant, or nobody coded it."""
    rows = [Part(code, part) for code in intended_acts(view, seed=seed) for part in (*code.acts, code)]
    if not rows:
        return None
    return table_of("intended_acts", _TITLE, rows, by_kind(ACT_COLUMNS, {IntendedCoded: CODE_COLUMNS}),
                    group=lambda row: f"{row.whole.facts.title}, by {rater_words(row.whole.rater)}",
                    notes=(MEANING, missing, undecided))  # fmt: skip


TABLE = TableKind("intended_acts", _TITLE, 75, build, heading="Simulation: what was meant", shown="always")
