"""Tables of how well a judge tells yes from no, and of whether what it expects comes true."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bedside.analysis.judge_accuracy import LevelAccuracy
from bedside.analysis.validation import JudgeCard, Validation
from bedside.core.plurals import counted
from bedside.reports.dash_notes import dash_notes
from bedside.reports.number_text import decimal, number
from bedside.reports.result_text import bounded_record, plain_words, share_words
from bedside.reports.table import Table
from bedside.reports.table_content import Cell, Column, Row
from bedside.stats.diagnostic_accuracy import DiagnosticAccuracy

#: The rows of a metric: who is set against people.
_AGAINST = ("judge", "people")


def accuracy_tables(card: JudgeCard, position: int) -> tuple[Table, ...]:
    """The tables of a card that have something to show."""
    with_yes = [validation for validation in card.validations if validation.accuracy is not None]
    with_expected = [validation for validation in card.validations if validation.calibration is not None]
    return (
        *((_accuracy(card.rater, with_yes, position),) if with_yes else ()),
        *((_calibration(card.rater, with_expected, position),) if with_expected else ()),
    )


def level_words(level: float | str) -> str:
    """A level as printed."""
    return level if isinstance(level, str) else f"{level:g}"


def rarest_words(rarest: LevelAccuracy) -> str:
    """How well a judge finds the rarest level, in words."""
    return (
        f"{level_words(rarest.level)}, which people gave to {rarest.given:,} of {counted(rarest.units, 'unit')}: "
        f"sensitivity {share_words(rarest.judge.sensitivity)}, specificity {share_words(rarest.judge.specificity)}"
    )


def _accuracy(rater: str, validations: Sequence[Validation], position: int) -> Table:
    rows, records = [], []
    for validation in validations:
        accuracy = validation.accuracy
        assert accuracy is not None
        for against in _AGAINST:
            shares: DiagnosticAccuracy | None = getattr(accuracy, against)
            if shares is None:
                continue
            cells = (
                "the judge" if against == "judge" else "one person",
                f"{accuracy.given:,} of {accuracy.units:,}",
                share_words(shares.sensitivity),
                share_words(shares.specificity),
                share_words(shares.positive_predictive_value),
                share_words(shares.negative_predictive_value),
            )
            title = f"{validation.facts.title}: {level_words(accuracy.level)}"
            rows.append(Row(tuple(map(Cell, cells)), title))
            records.append(_accuracy_record(validation, accuracy, against, shares))
    columns = (
        Column("Who", "left"), Column("Yes by people"), Column("Sensitivity [95 % CI]"),
        Column("Specificity [95 % CI]"), Column("Predictive value of yes"), Column("Predictive value of no"),
    )  # fmt: skip
    return Table(
        name=f"accuracy_{position}",
        title=f"{rater}: yes or no beside people",
        columns=columns,
        rows=tuple(rows),
        notes=(
            "Each person in turn is the truth, and each unit has one vote. Sensitivity: of people's yeses, the share "
            "to which it says yes, too; specificity: of their noes, the share to which it says no. One person: the "
            "same of one person against each other person, the figure to set it against.",
            "Yes by people: units to which at least one person said yes. Predictive values hold where yes is as "
            "frequent as here. Intervals are by case (jackknife on the logit scale; Wilson's where each unit is a case "
            "of its own with one rating).",
            *dash_notes(columns, rows, {"": "no unit of that answer to take a share of"}),
        ),
        records=tuple(records),
    )  # fmt: skip


def _accuracy_record(
    validation: Validation, accuracy: LevelAccuracy, against: str, shares: DiagnosticAccuracy
) -> Mapping[str, Any]:
    record: dict[str, Any] = {
        "metric": validation.metric, "rater": validation.rater, "who": against, "level": level_words(accuracy.level),
        "given_by_people": accuracy.given, "units": accuracy.units, "cases": validation.cases,
    }  # fmt: skip
    for name in (
        "prevalence", "sensitivity", "specificity", "positive_predictive_value", "negative_predictive_value",
    ):  # fmt: skip
        record |= bounded_record(name, getattr(shares, name))
    return record


def _calibration(rater: str, validations: Sequence[Validation], position: int) -> Table:
    rows, records = [], []
    for validation in validations:
        calibration = validation.calibration
        assert calibration is not None
        curve = calibration.curve
        cells = (
            validation.facts.title,
            f"{calibration.units:,}",
            plain_words(curve.surplus),
            number(curve.error.estimate),
            number(curve.by_chance),
            share_words(calibration.area),
        )
        rows.append(Row(tuple(map(Cell, cells))))
        records.append(
            {
                "metric": validation.metric, "rater": validation.rater, "units": calibration.units,
                **bounded_record("surplus", curve.surplus), "calibration_error": curve.error.estimate,
                "calibration_error_by_chance": curve.by_chance, **bounded_record("auc", calibration.area),
                "points": "; ".join(
                    f"{decimal(point.expected)} → {decimal(point.observed.estimate)}" for point in curve.points
                ),
            }
        )  # fmt: skip
    return Table(
        name=f"calibration_{position}",
        title=f"{rater}: expected levels beside people",
        columns=(
            Column("Metric", "left"), Column("Units"), Column("Expected − people [95 % CI]"),
            Column("Calibration error"), Column("By chance"), Column("AUC [95 % CI]"),
        ),
        rows=tuple(rows),
        notes=(
            "Expected: the mean of the levels by the judge's own probabilities; of 0 and 1 the probability of a 1. "
            "Calibration error: how far people's mean lies from it, the mean over up to ten groups of units of like "
            "expectation, in levels. By chance: the error that a judge whose expectations hold would show on as many "
            "units. AUC: how often a yes of people is expected more than a no; of two levels only.",
        ),
        records=tuple(records),
    )  # fmt: skip
