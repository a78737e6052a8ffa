"""Whether a simulated patient is any good: faults, fidelity, leaks, persona, variety, likeness to real sessions."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from bedside.analysis.case_values import case_means, case_values
from bedside.analysis.checked_units import mean_within, value_bounds
from bedside.analysis.deviation import deviation
from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.selection import NothingError, rated_groups, system_values
from bedside.analysis.simulated_talks import SimulatedTalk, SimulatedTalks, simulated_talks
from bedside.simulation.likeness import reference_kind
from bedside.stats.result import Result
from bedside.transcripts.simulation_folder import HIDDEN_FLAG, REVIEW_RUBRIC, ReviewCounts

#: What is held against the case, by algorithms, judges or people.
FIDELITY = ("case_contradiction_level", "case_invention", "case_contradiction_rate", "case_support_rate")
LEAK = "diagnosis_said_first"
#: The measure of what the reviewer finds while they are had.
REVIEWED_BY_MODEL = "reviewed_by_model"
#: The flag of conversations in which a line took the place of an unusable reply.
FALLBACK_FLAG = "patient: fallback"
#: The rubric that asks for the trait, and the factor that says which one a persona has.
TRAIT, PERSONA = "dominant_trait", "persona"
#: The factor of a persona's health literacy, its lowest and highest level, and what literacy is seen in.
LITERACY, LOW, HIGH = "health_literacy", "basic", "advanced"
READABILITY = ("flesch_kincaid_grade.patient", "smog.patient")
#: What patients are held against real ones by.
STYLE = (
    "turns.patient", "words_per_turn.patient", "characters_per_turn.patient", "talk_share.patient",
    "flesch_reading_ease.patient", "flesch_kincaid_grade.patient",
)  # fmt: skip
#: Most texts that are compared with one another, and most words that distinct n-grams are counted in.
TEXTS, WORDS = 60, 20_000

#: Vectors of length 1 of texts, one row a text.
Encode = Callable[[Sequence[str]], npt.NDArray[np.float32]]
#: The ratings that say whether a patient keeps to its case: without any, nobody has checked it.
CHECKS = (*FIDELITY, REVIEW_RUBRIC, "factual_conflict", "factual_conflict_rate")


@dataclass(frozen=True, slots=True)
class QualityMeasure:
    """One number about a simulated patient.

    Attributes:
        aspect: what it is about: ``review``, ``case``, ``leaks``, ``persona``, ``variety``, or ``sessions``;
            of a reference that isn't real, what it is.
        name: of the measure.
        title: the same in words.
        system: the clinician whose conversations it is from.
        raters: who rated it; empty where nobody did.
        result: the number, with the reason where there is none.
        unit: what ``result.n`` counts.
        digits: decimals to print.
        reference: the same in the reference corpus; None where it isn't held against one.
        deviation: the absolute difference from it.
        unreviewed: why the reviewer did not review the other conversations, with counts.
    """

    aspect: str
    name: str
    title: str
    system: str
    raters: str
    result: Result
    unit: str = "cases"
    digits: int = 2
    reference: float | None = None
    deviation: float | None = None
    unreviewed: Mapping[str, int] = field(default_factory=dict)


def patient_quality(view: RatingsView, *, encode: Encode | None = None, seed: int = 0) -> tuple[QualityMeasure, ...]:
    """All that is known of how good the simulated patients of a view are.

    Args:
        view: the ratings of simulated conversations; its reference corpus is what they are held against.
        encode: turns texts into vectors of length 1; without it distances of embeddings are left out.
        seed: of the texts and words that are drawn where there are too many.

    Raises:
        NothingError: no conversation was simulated.
    """
    talks = simulated_talks(view)
    if talks is None or not talks.finished:
        raise NothingError("no conversation was simulated", where=view.name)
    measures = (
        *_reviewed(view, talks),
        *_rated(view, "case", FIDELITY),
        *_rated(view, "leaks", (LEAK,)),
        *_flagged(talks),
        *_literacy(view),
        *_traits(view),
        *_variety(view, talks, encode, seed),
        *_sessions(view),
    )
    aspects = list(dict.fromkeys(measure.aspect for measure in measures))
    names = list(dict.fromkeys((measure.name, measure.raters) for measure in measures))
    return tuple(
        sorted(
            measures, key=lambda measure: (aspects.index(measure.aspect), names.index((measure.name, measure.raters)))
        )
    )


def is_checked(view: RatingsView) -> bool:
    """Whether anything is known of how far the simulated patients keep to their cases."""
    rated = view.ratings.filter(pl.col("metric").is_in(CHECKS), pl.col("value").is_not_null())
    return rated.height > 0


def _rated(view: RatingsView, aspect: str, names: Sequence[str]) -> Iterator[QualityMeasure]:
    """Means over cases of what was rated of whole conversations."""
    wanted = [name for name in names if name in view.metrics()]
    for metric, raters, system, table in rated_groups(view, system_values(view, wanted, None), wanted):
        facts = view.facts(metric)
        values = case_values(table, system)
        result = mean_within(values.values, value_bounds(view, metric))
        yield QualityMeasure(aspect, metric, facts.title, system, raters, result, digits=facts.digits)


def _flagged(talks: SimulatedTalks) -> Iterator[QualityMeasure]:
    """Shares of conversations with a flag that says that something got out, or had to be put in."""
    from bedside.stats.intervals import proportion

    known = [talk for talk in talks.finished if talk.flags is not None]
    for system in sorted({talk.system for talk in known}):
        own = [talk for talk in known if talk.system == system]
        for flag, title in ((HIDDEN_FLAG, "Hidden text sent to a side"), (FALLBACK_FLAG, "Line in place of a reply")):
            shares = [float(bool((talk.flags or {}).get(flag))) for talk in own]
            result = proportion(shares, clusters=[talk.case for talk in own])
            yield QualityMeasure("leaks", flag, title, system, "", result, "conversations", 3)


def _reviewed(view: RatingsView, talks: SimulatedTalks) -> Iterator[QualityMeasure]:
    """Shares of conversations with a faulty patient, by rules and by who rated them."""
    from bedside.stats.intervals import proportion

    title = "Conversations with a faulty patient"
    for system in talks.systems:
        own = [talk for talk in talks.finished if talk.system == system]
        for by, name, words in (("rules", "reviewed", "rules"), ("reviewer", REVIEWED_BY_MODEL, "the reviewer")):
            counts = [(talk.case, ReviewCounts.of(by, [talk.provenance])) for talk in own]
            known = [(case, float(verdict)) for case, each in counts for verdict in each.known]
            unreviewed = sum((each.unreviewed for _, each in counts), Counter[str]())
            # What rules review is known of all, but in transcripts of earlier versions and of people.
            if (known or unreviewed) and (by == "reviewer" or len(known) == len(own)):
                result = proportion([value for _, value in known], clusters=[case for case, _ in known])
                measure = QualityMeasure("review", name, f"{title}, by {words}", system, "", result, "conversations", 3)
                yield replace(measure, unreviewed=unreviewed)
    wanted = [REVIEW_RUBRIC] if REVIEW_RUBRIC in view.metrics() else []
    for _, raters, system, table in rated_groups(view, system_values(view, wanted, None), wanted):
        faulty = [float(value > 0) for value in table["value"].to_list()]
        result = proportion(faulty, clusters=table["case_id"].fill_null(table["transcript_id"]).to_list())
        yield QualityMeasure("review", REVIEW_RUBRIC, title, system, raters, result, "conversations", 3)


def _literacy(view: RatingsView) -> Iterator[QualityMeasure]:
    """How much harder patients of high literacy are to read than those of low, paired over cases."""
    from bedside.stats.paired import t_test

    if view.factors is None or LITERACY not in view.factors.columns:
        return
    names = [name for name in READABILITY if name in view.metrics()]
    levels = view.factors.select("transcript_id", LITERACY)
    values = system_values(view, names, None).join(levels, on="transcript_id")
    for metric, raters, system, table in rated_groups(view, values, names):
        low, high = (
            dict(case_means(table.filter(pl.col(LITERACY) == level)).select("case", "value").iter_rows())
            for level in (LOW, HIGH)
        )
        if not low or not high:
            continue
        shared = sorted(low.keys() & high.keys())
        result = t_test([high[case] for case in shared], [low[case] for case in shared])
        facts = view.facts(metric)
        title = f"{facts.title}: literacy {HIGH} − {LOW}"
        yield QualityMeasure("persona", metric, title, system, raters, result, digits=facts.digits)


def _traits(view: RatingsView) -> Iterator[QualityMeasure]:
    """How often raters name the trait that the persona has, where the personas are the rubric's traits."""
    from bedside.stats.intervals import proportion

    labels = view.facts(TRAIT).labels
    if view.factors is None or PERSONA not in view.factors.columns or TRAIT not in view.metrics():
        return
    traits = view.factors.filter(pl.col(PERSONA).is_in(labels)).select("transcript_id", PERSONA)
    rated = (
        view.ratings.filter(pl.col("metric") == TRAIT, pl.col("unit") == "transcript", pl.col("label").is_not_null())
        .with_columns(view.rater_group().alias("group"), pl.col("system").fill_null("all"))
        .join(traits, on="transcript_id")
        .with_columns((pl.col("label") == pl.col(PERSONA)).cast(pl.Float64).alias("correct"))
        .sort("system", "group", "transcript_id", "rater", "replicate")
    )
    for (system, raters), table in rated.group_by("system", "group", maintain_order=True):
        cases = table["case_id"].fill_null(table["transcript_id"]).to_list()
        result = proportion(table["correct"].to_list(), clusters=cases)
        chance = {"share by chance": 1 / len(labels)}
        yield QualityMeasure(
            "persona", TRAIT, f"Trait told apart (chance {1 / len(labels):.2f})", str(system), str(raters),
            replace(result, details={**result.details, **chance}), "ratings",
        )  # fmt: skip


def _variety(view: RatingsView, talks: SimulatedTalks, encode: Encode | None, seed: int) -> Iterator[QualityMeasure]:
    """How much patients' words differ: between repeats of one situation, and between cases."""
    from bedside.metrics.text_diversity import distinct_share, tokens_of

    texts: dict[str, list[str]] = {}
    for transcript in () if view.run is None or not view.run.keeps_text else view.run.transcripts():
        texts[transcript.id] = [turn.text for turn in transcript.of("patient") if turn.text.strip()]
    finished = [talk for talk in talks.finished if texts.get(talk.id)]
    systems = {system: [talk for talk in finished if talk.system == system] for system in talks.systems}
    tokens = {talk.id: tokens_of("\n".join(texts[talk.id])) for talk in finished}
    size = min((sum(len(tokens[talk.id]) for talk in own) for own in systems.values() if own), default=0)
    size = min(size, WORDS)
    for system, own in systems.items():
        if not own:
            continue
        for n in (1, 2):
            share = distinct_share([tokens[talk.id] for talk in own], n, size=size, seed=seed)
            result = Result(
                name=f"distinct-{n}",
                method=f"distinct {n}-grams of {size:,} words",
                estimate=share,
                n=size,
                missing=None if share is not None else "too few words",
            )
            yield QualityMeasure("variety", f"distinct_{n}", f"distinct-{n}", system, "", result, "words", 3)
        yield from _likeness(system, own, texts, tokens, encode, seed)


def _likeness(
    system: str,
    talks: Sequence[SimulatedTalk],
    texts: Mapping[str, Sequence[str]],
    tokens: Mapping[str, tuple[str, ...]],
    encode: Encode | None,
    seed: int,
) -> Iterator[QualityMeasure]:
    """Self-BLEU and distance of embeddings, within sets of conversations."""
    from bedside.metrics.text_diversity import mean_distance, self_bleu

    for among, sets in (("repeats", _repeats(talks, seed)), ("cases", _cases(talks, seed))):
        blank = Result(
            name="self-BLEU",
            method="mean over texts of BLEU-4",
            n=sum(map(len, sets)),
            missing=None if sets else f"no two conversations to compare between {among}",
        )
        bleu = [score for ids in sets for score in self_bleu([tokens[name] for name in ids])]
        result = replace(blank, estimate=float(np.mean(bleu)) if bleu else None)
        title = f"Self-BLEU between {among}"
        yield QualityMeasure("variety", f"self_bleu_{among}", title, system, "", result, "conversations", 3)
        if encode is None:
            continue
        distances = [mean_distance(_vectors([texts[name] for name in ids], encode)) for ids in sets]
        result = replace(
            blank,
            name="cosine distance",
            method="mean over pairs of texts",
            estimate=float(np.mean(distances)) if distances else None,
        )
        title = f"Distance of embeddings between {among}"
        yield QualityMeasure("variety", f"embedding_distance_{among}", title, system, "", result, "conversations", 3)


def _vectors(conversations: Sequence[Sequence[str]], encode: Encode) -> npt.NDArray[np.float32]:
    """A vector of length 1 for each conversation: the direction of the mean of its turns' vectors."""
    means = np.stack([encode(turns).mean(axis=0) for turns in conversations])
    vectors: npt.NDArray[np.float32] = means / np.linalg.norm(means, axis=1, keepdims=True)
    return vectors


def _repeats(talks: Sequence[SimulatedTalk], seed: int) -> list[list[str]]:
    """Conversations of one situation, of as many situations as make up the most texts that are compared."""
    by_situation: dict[str, list[str]] = {}
    for talk in sorted(talks, key=lambda talk: talk.id):
        by_situation.setdefault(talk.situation, []).append(talk.id)
    sets = [ids for ids in by_situation.values() if len(ids) > 1]
    random.Random(seed).shuffle(sets)
    kept: list[list[str]] = []
    for ids in sets:
        if sum(map(len, kept)) >= TEXTS:
            break
        kept.append(ids[:TEXTS])
    return kept


def _cases(talks: Sequence[SimulatedTalk], seed: int) -> list[list[str]]:
    """One conversation of each case, drawn, of at most as many cases as are compared."""
    by_case: dict[str, list[str]] = {}
    for talk in sorted(talks, key=lambda talk: talk.id):
        by_case.setdefault(talk.case, []).append(talk.id)
    draw = random.Random(seed)
    drawn = [draw.choice(ids) for ids in by_case.values()]
    draw.shuffle(drawn)
    return [drawn[:TEXTS]] if len(drawn) > 1 else []


def _sessions(view: RatingsView) -> Iterator[QualityMeasure]:
    """Length and style beside the reference corpus."""
    if view.reference is None:
        return
    wanted = [name for name in STYLE if name in view.metrics()]
    if not wanted:
        return
    try:
        rows = deviation(view, view.reference, metrics=wanted)
    except NothingError:
        return
    kind = reference_kind(view.reference)
    for row in rows:
        result = Result(
            name="mean", method="mean over cases", estimate=row.mean, n=row.n, missing=row.difference.missing
        )
        yield QualityMeasure(
            "sessions" if kind == "real" else kind, row.metric, row.facts.title, row.system, row.raters, result,
            digits=row.facts.digits, reference=row.reference, deviation=row.deviation,
        )  # fmt: skip
