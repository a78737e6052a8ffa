"""How far a judge agrees with people: weighted kappa and its reading, a row for each criterion."""

from __future__ import annotations

from pydantic import Field

from bedside.analysis.agreement import Agreement, agree
from bedside.analysis.choices import Weights
from bedside.analysis.ratings_view import RatingsView
from bedside.ratings.names import is_judge
from bedside.reports.measures import Headed, named_metrics
from bedside.reports.number_text import DASH, number, rater_words
from bedside.reports.table import Table
from bedside.reports.table_content import Cell, Column, Row
from bedside.reports.table_kind import Options, TableKind
from bedside.reports.table_notes import absent_notes
from bedside.stats.kappa_bands import reading


class JudgeAgreementOptions(Options):
    """Which criteria a table of agreement with a judge shows.

    Attributes:
        metrics: the rubrics; all that a judge and people rated unless named.
        weights: of kappa, as for ``bedside agree``.
        heading: what stands over the column of kappa.
    """

    metrics: Headed = Field(default_factory=dict)
    weights: Weights = "quadratic"
    heading: str = "κ, weighted"


def build(view: RatingsView, seed: int, options: JudgeAgreementOptions) -> Table | None:
    """Kappa of each judge with people, the mean over persons; None where no judge rated what a person rated."""
    metrics = named_metrics(view, options.metrics)
    judged = set(view.ratings.filter(view.ratings["label"].is_null())["metric"])
    names = [name for name in metrics.rated or view.metrics() if name in judged]
    if metrics.none_rated or not names:
        return None
    titles = {measure.metric: measure.title for measures in options.metrics.values() for measure in measures}
    agreements = [
        agreement
        for agreement in agree(view, metrics=names, weights=options.weights, seed=seed)
        if agreement.kind == "mean" and agreement.rater is not None and is_judge(agreement.rater)
    ]
    if not agreements:
        return None
    agreements.sort(key=lambda agreement: (names.index(agreement.metric), agreement.rater))
    judges = list(dict.fromkeys(str(agreement.rater) for agreement in agreements))
    return options.finish(
        Table(
            name="judge_agreement",
            title="Agreement of people and judge",
            columns=(Column("Criterion", "left"), Column(options.heading), Column("Interpretation", "left")),
            rows=tuple(
                Row(
                    (
                        Cell(titles.get(agreement.metric) or agreement.title),
                        *(Cell(text, record=place) for text in _texts(agreement)),
                    ),
                    rater_words(str(agreement.rater)) if len(judges) > 1 else None,
                )
                for place, agreement in sorted(
                    enumerate(agreements), key=lambda entry: judges.index(str(entry[1].rater))
                )
            ),
            notes=(
                f"κ: Cohen's with {options.weights} weights, of the judge with each person, the mean over persons. "
                "Interpretation: the bands of Landis and Koch (1977).",
                f"Judge: {', '.join(map(rater_words, judges))}.",
                *_size_notes(agreements),
            ),
            records=tuple(_record(agreement) for agreement in agreements),
        ),
        absent_notes(metrics.absent),
    )


def _texts(agreement: Agreement) -> tuple[str, str]:
    kappa = agreement.statistics.get("kappa")
    if kappa is None or kappa.estimate is None:
        return DASH, DASH
    return number(kappa.estimate, 2), (reading(kappa.estimate) or DASH).capitalize()


def _size_notes(agreements: list[Agreement]) -> list[str]:
    """On how much kappa rests, and why it is missing where it is."""
    units = sorted({agreement.units for agreement in agreements})
    notes = [f"Units: {units[0]:,}" + (f" to {units[-1]:,}" if len(units) > 1 else "") + " a criterion."]
    for agreement in agreements:
        kappa = agreement.statistics.get("kappa")
        if kappa is None or kappa.estimate is None:
            why = kappa.missing if kappa is not None else "it does not apply"
            notes.append(f"{DASH} {agreement.title}: {why}.")
    return notes


def _record(agreement: Agreement) -> dict[str, object]:
    kappa = agreement.statistics.get("kappa")
    interval = None if kappa is None else kappa.interval
    return {
        "cell": f"{agreement.metric}@{agreement.rater}/kappa", "metric": agreement.metric, "raters": agreement.rater,
        "people": len(agreement.raters) - 1, "units": agreement.units, "statistic": "kappa",
        "value": None if kappa is None else kappa.estimate, "low": interval.low if interval else None,
        "high": interval.high if interval else None, "method": None if kappa is None else kappa.method,
        "reading": reading(kappa.estimate if kappa is not None else None),
        "missing": None if kappa is None else kappa.missing,
    }  # fmt: skip


TABLE = TableKind("judge_agreement", "Agreement of people and judge", 51, build, JudgeAgreementOptions, shown="named")
