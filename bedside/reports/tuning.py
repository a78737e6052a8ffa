"""What a tuning came to: the held-out figures, and what was tried in training."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from bedside.core.words import counted
from bedside.reports.number_text import bounded_record, decimal, plain_words, share_words
from bedside.reports.table import Table
from bedside.reports.table_content import Cell, Column, Row

if TYPE_CHECKING:
    from bedside.tuning.tuned_judge import TuningOutcome


def tuning_tables(outcome: TuningOutcome, title: str) -> tuple[Table, ...]:
    """The figures of what was held out, then the candidates; ``title`` is the rubric's."""
    return _held_out(outcome, title), _candidates(outcome)


def _held_out(outcome: TuningOutcome, title: str) -> Table:
    figures, split = outcome.figures, outcome.split
    rows = (
        ("The judge as it was", share_words(figures.before)),
        ("The tuned judge", share_words(figures.after)),
        ("Gain", plain_words(figures.gain)),
        ("One person and the others", share_words(figures.ceiling)),
    )
    return Table(
        name="tuning",
        title=f"{title}: agreement with people on what was held out, before and after tuning",
        columns=(Column("Who", "left"), Column("κ [95 % CI]")),
        rows=tuple(Row(tuple(map(Cell, cells))) for cells in rows),
        notes=(verdict(outcome), *_held_out_notes(outcome)),
        records=(
            {
                "metric": split.metric,
                "judge": outcome.rater,
                "tuned_version": None if outcome.tuned is None else outcome.tuned.version,
                "units": len(split.held_out),
                "people": figures.people,
                "shown": outcome.shown,
                **bounded_record("before", figures.before),
                **bounded_record("after", figures.after),
                **bounded_record("gain", figures.gain),
                **bounded_record("ceiling", figures.ceiling),
            },
        ),
    )


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


def _held_out_notes(outcome: TuningOutcome) -> Iterator[str]:
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
    if split.earlier:
        yield f"{counted(split.earlier, 'case')} could not be held out, as an earlier tuning learnt from them."
    if split.chances == "unequal":
        yield "Units were drawn with unequal chances, and weigh by how many they stand for."
    if split.picked:
        yield f"{counted(split.picked, 'unit')} picked for what they are, and not drawn, are left out."
    if outcome.unanswered:
        yield f"{counted(outcome.unanswered, 'held-out unit')} without a usable answer of the judge are left out."


def _candidates(outcome: TuningOutcome) -> Table:
    names = _wording_names(outcome)
    return Table(
        name="tuning_candidates",
        title="What was tried in training",
        columns=(
            Column("Wording", "left"), Column("Examples"), Column("Map of levels", "left"), Column("Units"),
            Column("κ in training"),
        ),
        rows=tuple(
            Row(
                tuple(
                    map(
                        Cell,
                        (
                            names[candidate.wording], str(candidate.examples), candidate.level_map,
                            f"{candidate.units:,}", decimal(candidate.kappa),
                        ),
                    )
                )
            )
            for candidate in outcome.candidates
        ),
        notes=tuple(_candidate_notes(outcome)),
        records=tuple(
            {
                "wording": candidate.wording, "examples": candidate.examples, "map": candidate.level_map,
                "units": candidate.units, "training_kappa": candidate.kappa,
            }
            for candidate in outcome.candidates
        ),
    )  # fmt: skip


def _candidate_notes(outcome: TuningOutcome) -> Iterator[str]:
    yield (
        "κ in training chose among candidates: the best of many looks better than it is, so these figures are no "
        "result. Maps were tried on other cases than they were learnt on, wordings on other cases than they were "
        "proposed from, and no example is of the case it is shown with."
    )
    for line in outcome.rejected:
        yield f"Not tried, {line}."
    if outcome.fewer:
        yield f"The budget left no room for {counted(outcome.fewer, 'more wording')}."


def _wording_names(outcome: TuningOutcome) -> dict[str, str]:
    """What each wording is called: as it was, or by its number among the proposed."""
    versions = dict.fromkeys(candidate.wording for candidate in outcome.candidates)
    versions.pop(outcome.base.version, None)
    names = {outcome.base.version: "as it was"}
    return names | {version: f"proposed {number} ({version})" for number, version in enumerate(versions, 1)}
