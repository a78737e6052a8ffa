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
from bedside.reports.number_text import ARROWS, DASH, number, plain_words, rater_words
from bedside.reports.table_content import Cell, Heading, Row
from bedside.reports.table_kind import Options, TableKind
from bedside.simulation.likeness import APART, MARGIN, Likeness
from bedside.simulation.patient_quality import (
    FALLBACK_FLAG,
    FIDELITY,
    REVIEWED_BY_MODEL,
    TRAIT,
    QualityMeasure,
    patient_quality,
)
from bedside.transcripts.simulation_folder import HIDDEN_FLAG, reviewed_sentences

_TITLE = "Is the simulated patient any good?"
#: Headings, by aspect.
_HEADINGS = {
    "review": "Faulty conversations",
    "case": "Fidelity to the case",
    "leaks": "What gets out",
    "persona": "Adherence to the persona",
    "variety": "Variety of the patient's words",
    "sessions": "Beside real sessions",
    "simulated": "Beside sessions that are simulated too",
    "partly simulated": "Beside sessions, some of them simulated",
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
    if shown & {"sessions", "simulated", "partly simulated"}:
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


def quality_sentences(measures: Sequence[QualityMeasure]) -> list[str]:
    """What the measures come to, and what nobody looked at."""
    aspects = {measure.aspect for measure in measures}
    flags = {
        flag: (
            sum(round((own.result.estimate or 0.0) * own.result.n) for own in flagged),
            sum(o.result.n for o in flagged),
        )
        for flag in (HIDDEN_FLAG, FALLBACK_FLAG)
        if (flagged := [measure for measure in measures if measure.name == flag])
    }
    said = []
    if HIDDEN_FLAG in flags:
        count, of = flags[HIDDEN_FLAG]
        said.append(f"A side was sent a text hidden from it in {count:,} of {counted(of, 'conversation')}.")
    if flags.get(FALLBACK_FLAG, (0, 0))[0]:
        said.append(f"A line took the place of an unusable reply in {flags[FALLBACK_FLAG][0]:,} of them.")
    reviews = [own for own in measures if own.name == REVIEWED_BY_MODEL]
    if reviews:
        unreviewed = sum((Counter(own.unreviewed) for own in reviews), Counter[str]())
        said.append(reviewed_sentences(sum(own.result.n for own in reviews), unreviewed))
    if "case" not in aspects:
        said.append("Whether patients keep to their cases isn't known: --judge or --nli looks at it.")
    copies = [own.result.estimate or 0.0 for own in measures if own.name == "self_bleu_repeats" and own.result.n]
    if copies and min(copies) > 0.99:
        said.append("Repeats are copies (self-BLEU 1): they say nothing about chance.")
    if "sessions" not in aspects:
        said.append("They were not held against real sessions: --reference does.")
    return said


LIKENESS_COLUMNS = (
    recorded(cell=lambda row: f"{row.feature}/{row.system}", feature="feature"),
    Column("What patients say", "left", text=lambda row: row.title),
    Column("System", "left", field="system"),
    Column("Simulated", field="mean", form=number),
    Column("Reference", field="reference", form=number),
    recorded(estimate="result.estimate"),
    recorded(lambda row: ends(row.result)),
    recorded(p="result.p"),
    Column("Difference in SDs [90 % CI]", dash="result.missing",
           text=lambda row: ("" if row.verdict or row.result.missing else "AUC ") + plain_words(row.result)),
    Column("Verdict", "left", field="verdict", dash="the classifier has none"),
    Column("Cases", field="n"),
    Column("Reference cases", field="reference_n"),
    recorded("language", "reference_kind", margin=lambda row: row.result.options.get("margin"), method="result.method",
             missing="result.missing"),
)  # fmt: skip


@note("likeness.meaning")
def likeness_meaning(rows: Sequence[Likeness]) -> Iterator[str]:
    """What is compared, by which tests, and what it can't say."""
    margin = next((row.result.options["margin"] for row in rows if row.verdict is not None), None)
    languages = ", ".join(dict.fromkeys(row.language for row in rows))
    kind = rows[0].reference_kind
    if kind != "real":
        yield f"The reference's conversations are {kind}: likeness to them is not likeness to people."
    others = "real" if kind == "real" else "reference's"
    yield (
        f"Alike: the difference of the means is shown to be within ± {margin:g} standard deviations of the {others} "
        "conversations, by two one-sided tests at 5 % each. Not alike: shown to be beyond. Each feature is tested by "
        "itself. Words a turn are tested as logarithms."
        if margin is not None
        else "No feature of the patients' words could be compared."
    )
    yield (
        "AUC, with its 95 % interval: how often a logistic regression on these features ranks a simulated conversation "
        f"above {'a real one' if kind == 'real' else 'one of the reference'}. It sees neither before (five folds over "
        "cases); .5 is chance."
    )
    left_out = sum({row.system: row.left_out for row in rows}.values())
    others = f" {counted(left_out, 'conversation')} in other languages don't count." if left_out else ""
    yield f"Conversations in the language {languages}.{others} Alike in these features is not alike in all else."
    if not any(row.feature == "meaning" for row in rows):
        yield "Nearness in meaning was not measured: --embeddings names a model."
    if not any(row.feature == "affect" for row in rows):
        yield "Words of feeling were not counted: there is a list for English, German and Chinese."


#: How the other verdicts are said.
_OTHER_VERDICTS = {"not alike": "unlike them", "not known": "not known"}


def likeness_table(rows: Sequence[Likeness]) -> Table:
    """How alike simulated patients' words are to real ones', or to others that stand for them."""
    kind = rows[0].reference_kind
    whom = "real ones" if kind == "real" else f"those of the reference ({kind})"
    return table_of("likeness", f"Do simulated patients talk like {whom}?", rows, LIKENESS_COLUMNS,
                    notes=(likeness_meaning,))  # fmt: skip


def likeness_sentences(table: Table) -> list[str]:
    """In how many features each system's patients are alike real ones, and how well they can be told apart."""
    said = []
    for system in dict.fromkeys(record["system"] for record in table.records):
        own = [record for record in table.records if record["system"] == system]
        verdicts = Counter(record["verdict"] for record in own if record["feature"] != APART)
        area = next(record["estimate"] for record in own if record["feature"] == APART)
        others = [f"{words} in {verdicts[kind]}" for kind, words in _OTHER_VERDICTS.items() if verdicts[kind]]
        apart = [] if area is None else [f"a classifier tells them apart with an AUC of {number(area)}"]
        of = counted(verdicts.total(), "feature")
        kind = own[0]["reference_kind"]
        whom = "real ones" if kind == "real" else f"those of the reference ({kind})"
        margin = next((record["margin"] for record in own if record["margin"] not in (None, MARGIN)), None)
        within = "" if margin is None else f" within ± {margin:g} SDs"
        first = f"With {system}, patients talk like {whom} in {verdicts['alike']} of {of}{within}"
        said.append(f"{'; '.join((', '.join((first, *others)), *apart))}.")
    return said


def quality_screen(measures: Sequence[QualityMeasure]) -> Table:
    """The values alone, with the systems side by side."""
    systems = list(dict.fromkeys(measure.system for measure in measures))
    by_measure: dict[tuple[str, str], dict[str, QualityMeasure]] = {}
    for measure in measures:
        by_measure.setdefault((measure.name, measure.raters), {})[measure.system] = measure
    rows = []
    for (_, raters), own in by_measure.items():
        first = next(iter(own.values()))
        who = f" ({rater_words(raters)})" if raters and not is_algorithm(raters) else ""
        texts = [number(own[name].result.estimate, own[name].digits) if name in own else DASH for name in systems]
        rows.append(Row((Cell(first.title + who), *map(Cell, texts)), _HEADINGS[first.aspect]))
    columns = (Heading("", "left", brief=True), *(Heading(system, brief=True) for system in systems))
    return Table("simulation_quality", _TITLE, columns, tuple(rows))


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
