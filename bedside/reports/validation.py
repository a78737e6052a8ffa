"""Tables of a judge's validation and of corrected estimates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bedside.analysis.estimation import Estimate
from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.validation import FEWEST_UNITS, JudgeCard, Validation, validate
from bedside.ratings.names import is_judge
from bedside.reports.number_text import DASH, between, decimal, number
from bedside.reports.table import Table
from bedside.reports.table_content import Cell, Column, Row
from bedside.stats.kappa_bands import reading
from bedside.stats.result import Result
from bedside.support.errors import DataError


def validation_tables(cards: Sequence[JudgeCard]) -> tuple[Table, ...]:
    """For each judge: what it is (the judge card), its agreement with people, its bias and steadiness."""
    tables: list[Table] = []
    for position, card in enumerate(cards, 1):
        tables += [_card(card, position), _agreement(card, position), _bias(card, position)]
    return tuple(tables)


def card_tables(view: RatingsView, seed: int = 0) -> tuple[Table, ...]:
    """The judge cards of a run's language-model judges; none where no judge and no person rated the same."""
    judges = list(filter(is_judge, view.raters()))
    if not judges:
        return ()
    try:
        return validation_tables(validate(view, judges=judges, seed=seed))
    except DataError:
        return ()


def _card(card: JudgeCard, position: int) -> Table:
    return Table(
        name=f"judge-card-{position}",
        title=f"Judge card: {card.rater}",
        columns=(Column("", "left"), Column("", "left")),
        rows=tuple(Row((Cell(what), Cell(value))) for what, value in card.facts),
        records=tuple({"what": what, "value": value} for what, value in card.facts),
    )


def _share(result: Result | None) -> str:
    if result is None or result.estimate is None:
        return DASH
    interval = f" {between(result.interval.low, result.interval.high)}" if result.interval else ""
    return decimal(result.estimate) + interval


def _plain(result: Result | None, digits: int = 2) -> str:
    if result is None or result.estimate is None:
        return DASH
    bounds = result.interval
    interval = f" [{number(bounds.low, digits)}, {number(bounds.high, digits)}]" if bounds else ""
    return number(result.estimate, digits) + interval


def _kappa(validation: Validation) -> Result | None:
    return validation.mean.statistics.get("kappa") if validation.mean else None


def _agreement(card: JudgeCard, position: int) -> Table:
    rows = []
    for validation in card.validations:
        kappa = _kappa(validation)
        beside = validation.consensus or validation.mean
        test = validation.alternative
        cells = (
            validation.facts.title,
            f"{validation.with_people:,}",
            _share(kappa),
            reading(kappa.estimate if kappa else None) or DASH,
            _share(validation.people.statistics.get("kappa") if validation.people else None),
            _share(beside.statistics.get("ac") if beside else None),
            decimal(test.winning_rate if test else None),
            decimal(test.advantage if test else None),
            {True: "yes", False: "not shown", None: "can't be said"}[validation.stands_in],
        )
        rows.append(Row(tuple(map(Cell, cells))))
    tests = [validation.alternative for validation in card.validations if validation.alternative is not None]
    notes = [
        "κ: mean of Cohen's kappa of the judge with each person; People's κ: the mean over pairs of people, the figure "
        "to set it against."
    ]
    if tests:
        notes.append(
            f"ω: share of people that the judge is not worse than by more than ε = {tests[0].epsilon:g}; ρ: mean share "
            "of units on which it is at least as close to the other people as the one left out. It may stand in for "
            f"one of these people where ω is .5 or more, on {FEWEST_UNITS} units or more (Calderon et al. 2025)."
        )
        notes.append(f"{tests[0].method.capitalize()}.")
    notes += [
        f"{validation.facts.title} {validation.verdict}."
        for validation in card.validations
        if validation.stands_in is None
    ]
    return Table(
        name=f"validation-{position}",
        title=f"{card.rater} beside people",
        columns=(
            Column("Metric", "left"), Column("Units"), Column("κ [95 % CI]"), Column("Reading", "left"),
            Column("People's κ"), Column("AC [95 % CI]"), Column("ω"), Column("ρ"), Column("May stand in", "left"),
        ),
        rows=tuple(rows),
        notes=tuple(notes),
        records=tuple(map(_record, card.validations)),
    )  # fmt: skip


def _bias(card: JudgeCard, position: int) -> Table:
    rows = []
    for validation in card.validations:
        limits = validation.limits.details if validation.limits else {}
        low, high = limits.get("lower limit"), limits.get("upper limit")
        beside = validation.consensus or validation.mean
        shares = beside.prevalence if beside else {}
        most = max(shares, key=lambda label: shares[label]) if shares else None
        cells = (
            validation.facts.title,
            _plain(validation.bias),
            f"{number(low)} to {number(high)}" if low is not None and high is not None else DASH,
            _share(validation.length),
            _share(validation.self_agreement),
            f"{most} ({decimal(shares[most])})" if most is not None else DASH,
        )
        rows.append(Row(tuple(map(Cell, cells))))
    return Table(
        name=f"bias-{position}",
        title=f"{card.rater}: bias and steadiness",
        columns=(
            Column("Metric", "left"), Column("Bias [95 % CI]"), Column("Limits of agreement"),
            Column("Length r [95 % CI]"), Column("Own α [95 % CI]"), Column("Most used level"),
        ),
        rows=tuple(rows),
        notes=(
            "Bias: mean of the judge minus people's mean. Limits of agreement: Bland and Altman's, 1.96 standard "
            "deviations. Length r: Spearman's correlation of that difference with the number of turns. Own α: "
            "Krippendorff's alpha of the judge's passes. Most used level: among the ratings compared, with its share.",
        ),
        records=tuple(map(_record, card.validations)),
    )  # fmt: skip


def _record(validation: Validation) -> Mapping[str, Any]:
    record: dict[str, Any] = {
        "metric": validation.metric, "rater": validation.rater, "rated": validation.rated,
        "with_people": validation.with_people, "failures": validation.failures, "passes": validation.passes,
        "verdict": validation.verdict,
    }  # fmt: skip
    results: dict[str, Result | None] = {
        "kappa": _kappa(validation),
        "kappa_people": validation.people.statistics.get("kappa") if validation.people else None,
        "kappa_consensus": validation.consensus.statistics.get("kappa") if validation.consensus else None,
        "kappa_ceiling": validation.ceiling.statistics.get("kappa") if validation.ceiling else None,
        "ac_consensus": validation.consensus.statistics.get("ac") if validation.consensus else None,
        "self_alpha": validation.self_agreement,
        "bias": validation.bias,
        "length": validation.length,
    }
    for name, result in results.items():
        record[name] = result.estimate if result else None
        record[f"{name}_low"] = result.interval.low if result and result.interval else None
        record[f"{name}_high"] = result.interval.high if result and result.interval else None
    limits = validation.limits.details if validation.limits else {}
    record |= {"lower_limit": limits.get("lower limit"), "upper_limit": limits.get("upper limit")}
    test = validation.alternative
    record |= {
        "omega": test.winning_rate if test else None, "rho": test.advantage if test else None,
        "epsilon": test.epsilon if test else None,
    }  # fmt: skip
    beside = validation.consensus or validation.mean
    shares = beside.prevalence if beside else {}
    record["prevalence"] = "; ".join(f"{label} {share:.4f}" for label, share in shares.items())
    return record


def estimate_table(estimates: Sequence[Estimate]) -> Table:
    """Naive, human-only and corrected means and differences, side by side."""
    rows = []
    for estimate in estimates:
        digits = estimate.facts.digits
        cells = (
            estimate.quantity,
            f"{estimate.labelled:,} of {estimate.judged:,}",
            _plain(estimate.naive, digits),
            _plain(estimate.human, digits),
            _plain(estimate.corrected, digits),
            decimal(estimate.corrected.details.get("weight")),
        )
        rows.append(Row(tuple(map(Cell, cells)), estimate.facts.title))
    methods = dict.fromkeys(estimate.corrected.method for estimate in estimates)
    reasons = dict.fromkeys(
        result.missing
        for estimate in estimates
        for result in (estimate.naive, estimate.human, estimate.corrected)
        if result.missing
    )
    return Table(
        name="estimate",
        title=f"Means of {estimates[0].judge}, corrected by people",
        columns=(
            Column("System", "left"), Column("Rated by people"), Column("Judge alone (naive)"), Column("People alone"),
            Column("Corrected"), Column("Weight"),
        ),
        rows=tuple(rows),
        notes=(
            "Each with its 95 % interval. Judge alone takes the judge as free of error: its interval says nothing of "
            "the judge's bias.",
            "Corrected: " + "; ".join(methods) + ". Weight: how far the judge is trusted, 0 to 1.",
            "The correction holds where the transcripts that people rated are a random sample of those the judge "
            "rated.",
            *(f"{DASH}: {reason}." for reason in reasons),
        ),
        records=tuple(map(_estimate_record, estimates)),
    )  # fmt: skip


def _estimate_record(estimate: Estimate) -> Mapping[str, Any]:
    record: dict[str, Any] = {
        "metric": estimate.metric, "judge": estimate.judge, "quantity": estimate.quantity,
        "labelled": estimate.labelled, "judged": estimate.judged,
    }  # fmt: skip
    for name, result in (
        ("naive", estimate.naive),
        ("human", estimate.human),
        ("corrected", estimate.corrected),
    ):
        record[name] = result.estimate
        record[f"{name}_low"] = result.interval.low if result.interval else None
        record[f"{name}_high"] = result.interval.high if result.interval else None
        record[f"{name}_method"] = result.method
        record[f"{name}_missing"] = result.missing
    return {**record, "weight": estimate.corrected.details.get("weight")}
