"""Whether the simulated patients are any good, in one table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.selection import NothingError
from bedside.core.words import counted
from bedside.ratings.names import is_algorithm
from bedside.reports.columns import Column, Part, Table, ends, recorded, table_of
from bedside.reports.notes import Note, note
from bedside.reports.number_text import ARROWS, number, plain_words, rater_words
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


def _measure(row: Part) -> str:
    """What is measured, which way is better, and by whom it was rated."""
    measure: QualityMeasure = row.part
    rated = measure.raters and not is_algorithm(measure.raters)
    arrow = ARROWS[row.whole.facts(measure.name).direction] if measure.aspect in ("case", "leaks") else ""
    return measure.title + arrow + (f" ({rater_words(measure.raters)})" if rated else "")


COLUMNS = (
    recorded(cell=lambda row: f"{row.part.name}/{row.part.system}", aspect="part.aspect", metric="part.name"),
    Column("Measure", "left", text=_measure),
    Column("System", "left", field="system", value="part.system"),
    recorded(raters="part.raters"),
    Column("n", field="n", value="part.result.n"),
    recorded(unit="part.unit", estimate="part.result.estimate"),
    recorded(lambda row: ends(row.part.result)),
    recorded(p="part.result.p"),
    Column("Value [95 % CI]", text=lambda row: plain_words(row.part.result, row.part.digits)),
    Column("Reference", field="reference", value="part.reference",
           text=lambda row: number(row.part.reference, row.part.digits)),
    Column("Deviation", field="deviation", value="part.deviation",
           text=lambda row: number(row.part.deviation, row.part.digits)),
    recorded(method="part.result.method", missing="part.result.missing"),
)  # fmt: skip
MEANING = Note(
    "simulation quality.meaning",
    "n: cases; of shares of conversations, conversations; of the trait, ratings; of distinct n-grams, words. "
    "Intervals are of the mean over cases (t); of shares they take cases as clusters.",
)


@note("simulation quality.unrated")
def unrated(rows: Sequence[Part]) -> Iterator[str]:
    """What nobody looked at."""
    rated = {row.part.name for row in rows}
    titles = [rows[0].whole.facts(name).title for name in (*FIDELITY, TRAIT) if name not in rated]
    if titles:
        yield f"Not looked at, so nothing is known of it: {', '.join(titles)}."


@note("simulation quality.aspects")
def aspects(rows: Sequence[Part]) -> Iterator[str]:
    """What the measures of words are, and what sessions they are held against."""
    shown = {row.part.aspect for row in rows}
    if "variety" in shown:
        yield (
            "distinct-n: different n-grams over all, in as many words of each system as the smallest has (Li et al. "
            "2016). Self-BLEU: BLEU-4 of a patient's words against the others' (Zhu et al. 2018), 1 where they say the "
            "same. Between repeats: conversations of one case, persona, setting and clinician; between cases: one of "
            "each. They have no interval, as texts that are compared with one another are not independent."
        )
    if "sessions" in shown:
        yield "Deviation: absolute difference of the means over cases, the system's and the reference corpus'."
    elif rows[0].whole.reference is None:
        yield "They were not held against real sessions: no reference corpus is named."


@note("simulation quality.missing", "Value [95 % CI]")
def missing(rows: Sequence[Part]) -> Iterator[str]:
    """Why values are missing."""
    reasons = Counter(row.part.result.missing for row in rows if row.part.result.missing)
    yield from (f"{counted(count, 'time')}: {reason}." for reason, count in reasons.items())


def quality_table(view: RatingsView, measures: Sequence[QualityMeasure]) -> Table:
    """The table of measures already computed."""
    return table_of("simulation_quality", _TITLE, [Part(view, measure) for measure in measures], COLUMNS,
                    group=lambda row: _HEADINGS[row.part.aspect],
                    notes=(MEANING, unrated, aspects, missing))  # fmt: skip


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
