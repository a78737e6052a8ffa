"""What a tuning came to: the held-out figures, and what was tried in training."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from bedside.core.words import counted
from bedside.reports.columns import Block, Part, grid_of, record_of, recorded, table_of
from bedside.reports.notes import Note, note, noted
from bedside.reports.number_text import bounded_record, decimal, plain_words, share_words
from bedside.reports.table import Table
from bedside.reports.table_content import Column

if TYPE_CHECKING:
    from bedside.tuning.tuned_judge import TuningOutcome

# -- The figures of what was held out -------------------------------------------------------------------

#: The one record: of the whole tuning.
OUTCOME_RECORD = (
    recorded(
        metric="split.metric", judge="rater",
        tuned_version=lambda outcome: None if outcome.tuned is None else outcome.tuned.version,
        units=lambda outcome: len(outcome.split.held_out), people="figures.people", shown="shown",
    ),
    *(
        recorded(lambda outcome, name=name: bounded_record(name, getattr(outcome.figures, name)))  # type: ignore[misc]
        for name in ("before", "after", "gain", "ceiling")
    ),
)  # fmt: skip
HELD_OUT_COLUMNS = Block((
    Column("Who", "left", value=lambda row: row[0]),
    Column("κ [95 % CI]", value=lambda row: row[1]),
))  # fmt: skip


def verdict(outcome: TuningOutcome) -> str:
    """What tuning brought, in a sentence."""
    if outcome.tuned is None:
        return (
            "Nothing that was tried agreed better with people in training than the rubric as it is: there is no tuned "
            "rubric."
        )
    if outcome.shown:
        return (
            "The tuned judge agrees better with people on what was held out: the whole interval of the gain lies above "
            "0."
        )
    why = f" ({outcome.gain.missing})" if outcome.gain.missing else ""
    return (
        f"A gain is not shown{why}: the tuned judge may agree with people no better, or worse, than the judge as it "
        "was. More units rated by people would tell."
    )


@note("tuning.meaning")
def meaning(outcome: TuningOutcome) -> Iterator[str]:
    """What a tuning brought, and what the figures are."""
    yield verdict(outcome)
    split = outcome.split
    training, held_out = split.record()["training"], split.record()["held_out"]
    yield (
        "κ: quadratic kappa with each person, the mean; gain: after minus before on the same units; intervals leave "
        "out one case at a time. One person and the others: the mean kappa of pairs of people, on the same units."
    )
    yield (
        f"Learnt from {counted(training['units'], 'unit')} of {counted(training['cases'], 'case')}, shown on "
        f"{counted(held_out['units'], 'unit')} of {counted(held_out['cases'], 'other case')}, drawn with seed "
        f"{split.seed}. Whatever is said later of this tuned judge leaves out what it learnt from."
    )


@note("tuning.units")
def units(outcome: TuningOutcome) -> Iterator[str]:
    """Which units were not held out, and how they were drawn."""
    split = outcome.split
    if split.earlier:
        yield f"{counted(split.earlier, 'case')} could not be held out, as an earlier tuning learnt from them."
    if split.chances == "unequal":
        yield "Units were drawn with unequal chances, and weigh by how many they stand for."
    if split.picked:
        yield f"{counted(split.picked, 'unit')} picked for what they are, and not drawn, are left out."
    if outcome.unanswered:
        yield f"{counted(outcome.unanswered, 'held-out unit')} without a usable answer of the judge are left out."


def _held_out(outcome: TuningOutcome, title: str) -> Table:
    figures = outcome.figures
    rows = (
        ("The judge as it was", share_words(figures.before)),
        ("The tuned judge", share_words(figures.after)),
        ("Gain", plain_words(figures.gain)),
        ("One person and the others", share_words(figures.ceiling)),
    )
    caption = f"{title}: agreement with people on what was held out, before and after tuning"
    table = grid_of("tuning", caption, rows, (HELD_OUT_COLUMNS,), notes=noted((meaning, units), outcome))
    return replace(table, records=(record_of(OUTCOME_RECORD, outcome),))


# -- What was tried in training -------------------------------------------------------------------------

CANDIDATE_COLUMNS = (
    recorded(wording="part.wording"),
    Column("Wording", "left", value=lambda row: row.whole[row.part.wording]),
    Column("Examples", field="examples", value="part.examples", form=str),
    Column("Map of levels", "left", field="map", value="part.level_map"),
    Column("Units", field="units", value="part.units"),
    Column("κ in training", field="training_kappa", value="part.kappa", form=decimal),
)
CANDIDATES_MEANING = Note(
    "tuning candidates.meaning",
    "κ in training chose among candidates: the best of many looks better than it is, so these figures are no "
    "result. Maps were tried on other cases than they were learnt on, wordings on other cases than they were "
    "proposed from, and no example is of the case it is shown with.",
)


@note("tuning candidates.not tried")
def not_tried(outcome: TuningOutcome) -> Iterator[str]:
    """Wordings that were proposed and not tried."""
    yield from (f"Not tried, {line}." for line in outcome.rejected)
    if outcome.fewer:
        yield f"The budget left no room for {counted(outcome.fewer, 'more wording')}."


def tuning_tables(outcome: TuningOutcome, title: str) -> tuple[Table, ...]:
    """The figures of what was held out, then the candidates; ``title`` is the rubric's."""
    names = _wording_names(outcome)
    rows = [Part(names, candidate) for candidate in outcome.candidates]
    candidates = table_of("tuning_candidates", "What was tried in training", rows, CANDIDATE_COLUMNS,
                          notes=noted((CANDIDATES_MEANING, not_tried), outcome))  # fmt: skip
    return _held_out(outcome, title), candidates


def _wording_names(outcome: TuningOutcome) -> dict[str, str]:
    """What each wording is called: as it was, or by its number among the proposed."""
    versions = dict.fromkeys(candidate.wording for candidate in outcome.candidates)
    versions.pop(outcome.base.version, None)
    names = {outcome.base.version: "as it was"}
    return names | {version: f"proposed {number} ({version})" for number, version in enumerate(versions, 1)}
