"""Whether the simulated patients are any good, in one table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.selection import NothingError
from bedside.core.words import counted
from bedside.ratings.names import is_algorithm
from bedside.reports.number_text import ARROWS, number, rater_words
from bedside.reports.table import Table
from bedside.reports.table_content import Cell, Column, Row
from bedside.reports.table_kind import Options, TableKind
from bedside.simulation.patient_quality import FIDELITY, TRAIT, QualityMeasure, patient_quality

_TITLE = "Is the simulated patient any good?"
#: Headings, by aspect.
_HEADINGS = {
    "case": "Fidelity to the case",
    "leaks": "What gets out",
    "persona": "Adherence to the persona",
    "variety": "Variety of the patient's words",
    "sessions": "Beside real sessions",
}


class QualityOptions(Options):
    """What the table of patients' quality shows.

    Attributes:
        embeddings: model of sentence embeddings, a folder or a package's name; the distances are left out without one.
    """

    embeddings: str | None = None


def quality_table(view: RatingsView, measures: Sequence[QualityMeasure]) -> Table:
    """The table of measures already computed."""
    rows = [Row(_cells(view, measure, place), _HEADINGS[measure.aspect]) for place, measure in enumerate(measures)]
    return Table(
        name="simulation_quality",
        title=_TITLE,
        columns=(
            Column("Measure", "left"), Column("System", "left"), Column("n"), Column("Value [95 % CI]"),
            Column("Reference"), Column("Deviation"),
        ),
        rows=tuple(rows),
        notes=tuple(_notes(view, measures)),
        records=tuple(map(_record, measures)),
    )  # fmt: skip


def _cells(view: RatingsView, measure: QualityMeasure, place: int) -> tuple[Cell, ...]:
    result, digits = measure.result, measure.digits
    value = number(result.estimate, digits)
    if result.interval is not None:
        value += f" [{number(result.interval.low, digits)}, {number(result.interval.high, digits)}]"
    rated = measure.raters and not is_algorithm(measure.raters)
    by = f" ({rater_words(measure.raters)})" if rated else ""
    arrow = ARROWS[view.facts(measure.name).direction] if measure.aspect in ("case", "leaks") else ""
    return (
        Cell(measure.title + arrow + by),
        Cell(measure.system),
        Cell(f"{result.n:,}", record=place),
        Cell(value, record=place),
        Cell(number(measure.reference, digits), record=place),
        Cell(number(measure.deviation, digits), record=place),
    )


def _notes(view: RatingsView, measures: Sequence[QualityMeasure]) -> Iterator[str]:
    names = {measure.name for measure in measures}
    yield (
        "n: cases; of shares of conversations, conversations; of the trait, ratings; of distinct n-grams, words. "
        "Intervals are of the mean over cases (t); of shares they take cases as clusters."
    )
    unrated = [view.facts(name).title for name in (*FIDELITY, TRAIT) if name not in names]
    if unrated:
        yield f"Not looked at, so nothing is known of it: {', '.join(unrated)}."
    if any(measure.aspect == "variety" for measure in measures):
        yield (
            "distinct-n: different n-grams over all, in as many words of each system as the smallest has (Li et al. "
            "2016). Self-BLEU: BLEU-4 of a patient's words against the others' (Zhu et al. 2018), 1 where they say the "
            "same. Between repeats: conversations of one case, persona, setting and clinician; between cases: one of "
            "each. They have no interval, as texts that are compared with one another are not independent."
        )
    if any(measure.aspect == "sessions" for measure in measures):
        yield "Deviation: absolute difference of the means over cases, the system's and the reference corpus'."
    elif view.reference is None:
        yield "They were not held against real sessions: no reference corpus is named."
    reasons = Counter(measure.result.missing for measure in measures if measure.result.missing)
    for reason, count in reasons.items():
        yield f"{counted(count, 'time')}: {reason}."


def _record(measure: QualityMeasure) -> Mapping[str, Any]:
    result = measure.result
    return {
        "cell": f"{measure.name}/{measure.system}", "aspect": measure.aspect, "metric": measure.name,
        "system": measure.system, "raters": measure.raters, "n": result.n, "unit": measure.unit,
        "estimate": result.estimate, "low": result.interval.low if result.interval else None,
        "high": result.interval.high if result.interval else None, "p": result.p, "reference": measure.reference,
        "deviation": measure.deviation, "method": result.method, "missing": result.missing,
    }  # fmt: skip


def build(view: RatingsView, seed: int, options: QualityOptions) -> Table | None:
    """The table; None where nothing was simulated."""
    encode = None
    if options.embeddings is not None:
        from bedside.metrics.coders.learned.embeddings import Embeddings

        encode = Embeddings(options.embeddings).encode
    try:
        measures = patient_quality(view, encode=encode, seed=seed)
    except NothingError:
        return None
    return options.finish(quality_table(view, measures))


TABLE = TableKind("simulation_quality", _TITLE, 74, build, QualityOptions, shown="named")
