"""The table of corrected means and differences, and what is said under it of the sample they rest on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from bedside.analysis.estimation import Estimate, PeopleSample
from bedside.analysis.fresh_view import learnt_words
from bedside.core.words import counted
from bedside.reports.columns import recorded, table_of
from bedside.reports.notes import Note
from bedside.reports.number_text import DASH, bounded_record, decimal, n_of, number, plain_words
from bedside.reports.table import Table
from bedside.reports.table_content import Column, Recorded
from bedside.stats.result import Result

_ABOUT = {
    "cases": "All figures are about cases like these, in the run's mix{}; each transcript counts the same. The "
    "intervals say how far other such cases could have moved them.",
    "run": "All figures are about this run's transcripts alone{}; each counts the same. What people rated has no "
    "error of sampling. Nothing is said of other cases.",
}


def _figure(name: str) -> Callable[[Estimate], str]:
    """A figure with its interval, in the metric's decimals."""
    return lambda estimate: plain_words(getattr(estimate, name), estimate.facts.digits)


def _rated_words(estimate: Estimate) -> str:
    words = [n_of(estimate.labelled, estimate.of)]
    if estimate.judged < estimate.of:
        words.append(f"the judge {n_of(estimate.judged, estimate.of)}")
    pairs = estimate.labelled_pairs
    if pairs is not None:
        words.append(counted(pairs, "pair"))
    elif estimate.labelled_cases < estimate.labelled:
        words.append(counted(estimate.labelled_cases, "case"))
    return ", ".join(words)


def _correction_words(corrected: Result) -> tuple[str, str]:
    """The weights and the degrees of freedom of a corrected figure; dashes where there is none."""
    if corrected.estimate is None:
        return DASH, DASH
    details = corrected.details
    names = ("weight for x", "weight for y") if "weight for x" in details else ("weight",)
    weights = ", ".join(decimal(details.get(name)) for name in names)
    return weights, number(details.get("degrees of freedom"), 0)


def _samples(estimates: Sequence[Estimate]) -> list[tuple[Estimate, PeopleSample]]:
    """The samples that means rest on; differences rest on two of them."""
    return [(estimate, sample) for estimate in estimates if len(estimate.samples) == 1 for sample in estimate.samples]


def _factors(estimates: Sequence[Estimate]) -> list[str]:
    return list(dict.fromkeys(factor for _, sample in _samples(estimates) for factor in sample.by))


def _about(estimates: Sequence[Estimate]) -> Iterator[str]:
    factors = _factors(estimates)
    mix = f" of {' and '.join(factors)}" if factors else ""
    yield _ABOUT[estimates[0].about].format(mix if estimates[0].about == "cases" else "")


def _methods(estimates: Sequence[Estimate]) -> Iterator[str]:
    methods = dict.fromkeys(estimate.corrected.method for estimate in estimates)
    yield (
        f"{' '.join(f'Corrected: {method}.' for method in methods)} Weight: how far the judge is trusted, 0 to 1. df: "
        "degrees of freedom, by Satterthwaite."
    )


def _looks(estimates: Sequence[Estimate]) -> Iterator[str]:
    if any(estimate.corrected.p is not None for estimate in estimates):
        yield (
            "People alone and Corrected: the intervals hold at every look, however many there are (confidence "
            "sequences). A case counts once its planned answers are all in; without a plan, its ratings must stay. "
            "What sentences say of differences holds of all at once: α is divided by their number."
        )


def _matched(estimates: Sequence[Estimate]) -> Iterator[str]:
    """Of which transcripts differences are."""
    if len(_samples(estimates)) < len(estimates):
        yield (
            "A difference is that of the two means; a case of both systems counts as a pair, whether people rated "
            "both of it or one."
        )
    for estimate in estimates:
        if estimate.matched_by:
            every = estimate.judged + estimate.unmatched
            yield (
                f"{estimate.facts.title}, {estimate.quantity}: matched by {' and '.join(estimate.matched_by)}, so of "
                f"{estimate.judged:,} of {every:,} transcripts, and not the difference of the means above."
            )
    if any(sample.has_repeated_cases for _, sample in _samples(estimates)):
        yield "Several transcripts of a case are not independent: their errors are summed by case."


def _remarks(estimates: Sequence[Estimate]) -> Iterator[str]:
    for estimate in estimates:
        yield from (f"{estimate.facts.title}, {estimate.quantity}: {each}." for each in estimate.corrected.remarks)


def _sampling(estimates: Sequence[Estimate]) -> Iterator[str]:
    """How people's transcripts were drawn, which are left out, and what is assumed of them."""
    samples, factors = _samples(estimates), _factors(estimates)
    if factors:
        yield (
            f"The transcripts that people rated were drawn by {' and '.join(factors)}. Each cell of a system counts "
            "by its share of the transcripts that the judge rated."
        )
    for estimate, sample in samples:
        for cells in sample.joined:
            names = [" and ".join(levels) for levels in cells]
            yield (
                f"{estimate.facts.title}, {estimate.quantity}: people rated fewer than two cases of a cell, so it is "
                f"joined with the nearest ({', '.join(names)}). Nearest: fewest factors differ, then the judge's mean."
            )
    yield from _count_notes(samples)
    yield from dict.fromkeys(
        learnt_words(estimate.facts.title, estimate.judge, counted(estimate.learnt, "transcript"))
        for estimate, _ in samples
        if estimate.learnt
    )


_COUNTED: Mapping[str, str] = {
    "adjudicated": "{} that people rated were adjudicated: the final label stands in place of people's mean.",
    "assumed": "how {} that people rated came to be drawn is not known. They are taken for a random sample of those "
    "the judge rated. Where they are not, the correction is wrong.",
    "picked": "{} that people rated, picked for what they are (such as disagreement) and not drawn, are left out of "
    "people's ratings.",
    "unjudged": "{} that people rated and the judge gave no value are left out: the shares and means are of those "
    "that have one.",
}


def _count_notes(samples: Sequence[tuple[Estimate, PeopleSample]]) -> Iterator[str]:
    """Notes on transcripts that were counted, the metrics of one count together."""
    for name, words in _COUNTED.items():
        counts: dict[str, int] = {}
        for estimate, sample in samples:
            title = estimate.facts.title
            counts[title] = counts.get(title, 0) + getattr(sample, name)
        for count in dict.fromkeys(filter(None, counts.values())):
            titles = ", ".join(title for title, own in counts.items() if own == count)
            yield f"{titles}: {words.format(counted(count, 'transcript'))}"


def _figures(estimate: Estimate) -> Mapping[str, Any]:
    """The three figures with their intervals and how they came to be, and what the sample left out."""
    samples = estimate.samples
    record: dict[str, Any] = {}
    for name, result in (("naive", estimate.naive), ("human", estimate.human), ("corrected", estimate.corrected)):
        record |= bounded_record(name, result)
        record[f"{name}_method"] = result.method
        record[f"{name}_missing"] = result.missing
        record[f"{name}_df"] = result.details.get("degrees of freedom")
    record |= {
        "weight": estimate.corrected.details.get("weight"),
        "by": "; ".join(dict.fromkeys(factor for sample in samples for factor in sample.by)),
        "cells": sum(sample.cells for sample in samples),
        "cells_joined": sum(len(cells) for sample in samples for cells in sample.joined),
        "picked": sum(sample.picked for sample in samples),
        "assumed_random": sum(sample.assumed for sample in samples),
        "learnt": estimate.learnt,
        "not_judged": sum(sample.unjudged for sample in samples),
        "adjudicated": sum(sample.adjudicated for sample in samples),
    }
    return record


COLUMNS = (
    recorded("metric", "judge", "quantity", "about", n="labelled", of="of", labelled="labelled",
             labelled_cases="labelled_cases", pairs="labelled_pairs", judged="judged", unmatched="unmatched"),
    Recorded(_figures),
    Column("System", "left", text=lambda estimate: estimate.quantity, brief=True),
    Column("Rated by people", text=_rated_words, brief=True),
    Column("Judge alone (naive)", value="naive", text=_figure("naive")),
    Column("People alone", value="human", text=_figure("human")),
    Column("Corrected", value="corrected", text=_figure("corrected"), brief=True),
    Column("Weight", text=lambda estimate: _correction_words(estimate.corrected)[0]),
    Column("df", text=lambda estimate: _correction_words(estimate.corrected)[1]),
)  # fmt: skip
NOTES = (
    Note(
        "estimate.interval",
        "Each with its 95 % interval. Judge alone takes the judge as free of error: its interval says nothing of the "
        "judge's bias.",
        ("Judge alone (naive)",),
    ),
    Note("estimate.about", _about),
    Note("estimate.corrected", _methods, ("Corrected", "Weight", "df")),
    Note("estimate.looks", _looks, ("People alone", "Corrected")),
    Note("estimate.matched", _matched),
    Note("estimate.sample", _sampling, warns=True),
    Note("estimate.remarks", _remarks, ("Corrected",), warns=True),
)


def estimate_table(estimates: Sequence[Estimate]) -> Table:
    """Naive, human-only and corrected means and differences, side by side."""
    title = f"Means of {estimates[0].judge}, corrected by people"
    return table_of("estimate", title, estimates, COLUMNS, group=lambda estimate: estimate.facts.title, notes=NOTES)
