"""Counts of whole sessions from a coder's codes against those from people's, and whether they may be used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from bedside.core.errors import InputError
from bedside.metrics.coders.contract import CodeSource
from bedside.metrics.coders.people import majority
from bedside.metrics.coders.session_measures import EARLY_TURNS, MEASURES, Labels
from bedside.metrics.coders.testing.code_scores import CodedTurn
from bedside.transcripts.transcript import Transcript

#: Sessions needed for a correlation, for a verdict, and of each quality for an area under the curve.
FEWEST_SESSIONS = 3


FEWEST_FOR_VERDICT = 20


FEWEST_OF_QUALITY = 5


#: Rank correlations from which a measure may be used, and used with care.
RANKS_AS_PEOPLE, RANKS_ROUGHLY = 0.8, 0.6


#: A mean is off where it differs by more than this share of people's standard deviation.
OFF = 0.25


#: People's measure separates quality from this area under the curve; the coder's may be so much less.
SEPARATES, LESS = 0.7, 0.1


#: Factors that name a session's quality unless another is named, and their values.
QUALITY_FACTORS = ("mi_quality", "quality")


QUALITIES = ("low", "high")


@dataclass(frozen=True, slots=True)
class SessionScore:
    """A measure of whole sessions from the coder's codes against the same measure from people's.

    Attributes:
        measure: name of the metric.
        sessions: sessions where both have a value.
        missing: sessions where one of them has none (no question, …).
        pearson, spearman: correlations over sessions; None with fewer than three sessions or equal values.
        mean_absolute_error: in the measure's unit.
        mean_people, mean_coder: means over sessions.
        auc_people, auc_coder: area under the curve (0–1): how well the measure separates sessions of high from those
            of low quality, both in the direction in which people's does; None where quality isn't known of five
            sessions each.
        use: whether the coder's measure may be used: ``yes``, ``with care``, ``no``, or ``unknown``.
        why: the reasons, in words.
    """

    measure: str
    sessions: int
    missing: int
    pearson: float | None
    spearman: float | None
    mean_absolute_error: float | None
    mean_people: float | None
    mean_coder: float | None
    auc_people: float | None
    auc_coder: float | None
    use: str
    why: str


def session_qualities(transcripts: Sequence[Transcript], factor: str | None) -> list[bool | None]:
    """Whether each session is of high quality; None where that isn't known."""
    names = QUALITY_FACTORS if factor is None else (factor,)
    for name in names:
        values = [str(transcript.factors.get(name, "")).strip().casefold() for transcript in transcripts]
        if set(QUALITIES) & set(values):
            return [value == "high" if value in QUALITIES else None for value in values]
    if factor is not None:
        raise InputError(
            f"no session has a factor {factor!r} of {' or '.join(QUALITIES)}",
            where="`quality`",
            todo="name another factor",
        )
    return [None] * len(transcripts)


def session_scores(
    sessions: Sequence[tuple[Transcript, dict[int, CodedTurn]]],
    coder: CodeSource,
    qualities: Sequence[bool | None],
) -> tuple[SessionScore, ...]:
    scores = []
    for measure in MEASURES:
        if not set(measure.codes) <= set(coder.codes):
            continue
        people: list[float] = []
        coder_values: list[float] = []
        high: list[bool | None] = []
        for (transcript, turns), quality in zip(sessions, qualities, strict=True):
            indices = [turn.index for turn in transcript.of(measure.role)]
            both: list[tuple[Labels, Labels]] = []
            for index in indices[:EARLY_TURNS] if measure.early else indices:
                turn = turns[index]
                most = {code: majority(turn.labels(code).values()) for code in measure.codes}
                gold = {code: label for code, label in most.items() if label is not None}
                if all(code in gold and code in turn.coder for code in measure.codes):
                    both.append((gold, turn.coder))
            gold_value = measure.value([labels for labels, _ in both])
            coder_value = measure.value([labels for _, labels in both])
            if gold_value is not None and coder_value is not None:
                people.append(gold_value)
                coder_values.append(coder_value)
                high.append(quality)
        scores.append(_session_score(measure.name, people, coder_values, high, len(sessions)))
    return tuple(scores)


def _session_score(
    measure: str,
    people: Sequence[float],
    coder_values: Sequence[float],
    high: Sequence[bool | None],
    sessions: int,
) -> SessionScore:
    from scipy.stats import pearsonr, spearmanr

    n = len(people)
    varied = n >= FEWEST_SESSIONS and len(set(people)) > 1 and len(set(coder_values)) > 1
    spearman = float(spearmanr(people, coder_values).statistic) if varied else None
    areas = _areas(people, coder_values, high)
    use, why = _verdict(people, coder_values, spearman, areas)
    return SessionScore(
        measure=measure,
        sessions=n,
        missing=sessions - n,
        pearson=float(pearsonr(people, coder_values).statistic) if varied else None,
        spearman=spearman,
        mean_absolute_error=fmean(abs(a - b) for a, b in zip(people, coder_values, strict=True))
        if n
        else None,
        mean_people=fmean(people) if n else None,
        mean_coder=fmean(coder_values) if n else None,
        auc_people=None if areas is None else areas[0],
        auc_coder=None if areas is None else areas[1],
        use=use,
        why=why,
    )


def _areas(
    people: Sequence[float], coder_values: Sequence[float], high: Sequence[bool | None]
) -> tuple[float, float] | None:
    """Areas under the curve of people's and the coder's measure, in the direction in which people's separates."""
    from sklearn.metrics import roc_auc_score

    rated = [k for k, quality in enumerate(high) if quality is not None]
    labels = [high[k] for k in rated]
    if min(labels.count(True), labels.count(False)) < FEWEST_OF_QUALITY:
        return None
    area = float(roc_auc_score(labels, [people[k] for k in rated]))
    coded = float(roc_auc_score(labels, [coder_values[k] for k in rated]))
    return (area, coded) if area >= 0.5 else (1 - area, 1 - coded)


def _verdict(
    people: Sequence[float],
    coder_values: Sequence[float],
    spearman: float | None,
    areas: tuple[float, float] | None,
) -> tuple[str, str]:
    """Whether a coder's measure may be used, and why."""
    if spearman is None or len(people) < FEWEST_FOR_VERDICT:
        return "unknown", f"{len(people)} sessions with the measure are too few to say"
    if spearman >= RANKS_AS_PEOPLE:
        use, why = "yes", "it ranks sessions nearly as people's codes do"
    elif spearman >= RANKS_ROUGHLY:
        use, why = (
            "with care",
            "it ranks sessions only roughly as people's codes do: for means of many sessions",
        )
    else:
        use, why = "no", "it hardly ranks sessions as people's codes do"
    reasons = [f"{why} (Spearman {spearman:.2f})"]
    difference = fmean(coder_values) - fmean(people)
    if abs(difference) > OFF * stdev(people):
        use = "with care" if use == "yes" else use
        reasons.append(
            f"its mean is {abs(difference):.2g} too {'high' if difference > 0 else 'low'}: correct it by a sample "
            "that people code"
        )
    if areas is not None and areas[0] >= SEPARATES:
        shown = f"(AUC {areas[1]:.2f}; people's {areas[0]:.2f})"
        if areas[0] - areas[1] > LESS:
            use = "no" if areas[1] < SEPARATES else "with care" if use == "yes" else use
            how = "does not separate" if areas[1] < SEPARATES else "separates less well"
            reasons.append(f"it {how} sessions of high and low quality, which people's does {shown}")
        else:
            reasons.append(f"it separates sessions of high and low quality {shown}")
    return use, "; ".join(reasons)
