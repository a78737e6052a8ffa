"""How far a judge agrees with people: weighted kappa and its reading, a row for each criterion."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from pydantic import Field

from bedside.analysis.agreement import Agreement, agree
from bedside.analysis.choices import Weights
from bedside.analysis.ratings_view import RatingsView
from bedside.ratings.names import is_judge
from bedside.reports.columns import Column, Recorded, Table, ends, recorded, table_of
from bedside.reports.measures import Headed, TableMeasure, named_metrics
from bedside.reports.notes import note
from bedside.reports.number_text import DASH, number, rater_words, trimmed
from bedside.reports.table_kind import Options, TableKind
from bedside.reports.table_notes import absent_notes
from bedside.stats.kappa_bands import reading
from bedside.stats.result import Result

_TITLE = "Agreement of people and judge"


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


def _kappa(agreement: Agreement) -> Result | None:
    return agreement.statistics.get("kappa")


def _estimate(agreement: Agreement) -> float | None:
    kappa = _kappa(agreement)
    return None if kappa is None else kappa.estimate


def _of_kappa(agreement: Agreement) -> dict[str, object]:
    """The interval of kappa and how it was made."""
    kappa = _kappa(agreement)
    return {**ends(kappa), "method": None if kappa is None else kappa.method}


def _printed(agreement: Agreement, measure: TableMeasure) -> str:
    text = number(_estimate(agreement), measure.digits or 2)
    return trimmed(text) if measure.trim else text


def _columns(heading: str, measures: Mapping[str, TableMeasure]) -> tuple[Column | Recorded, ...]:
    """The columns; ``heading`` stands over kappa, ``measures`` has the metrics as options name them."""
    return (
        recorded(cell=lambda own: f"{own.metric}@{own.rater}/kappa", metric="metric", raters="rater",
                 people=lambda own: len(own.raters) - 1, units="units", statistic=lambda own: "kappa"),
        Column("Criterion", "left", text=lambda own: measures[own.metric].title or own.title),
        Column(heading, field="value", value=_estimate, text=lambda own: _printed(own, measures[own.metric])),
        recorded(_of_kappa),
        Column("Interpretation", "left", field="reading", value=lambda own: reading(_estimate(own)),
               text=lambda own: (reading(_estimate(own)) or DASH).capitalize()),
        recorded(missing=lambda own: getattr(_kappa(own), "missing", None)),
    )  # fmt: skip


@note("judge agreement.units")
def units(agreements: Sequence[Agreement]) -> Iterator[str]:
    """On how much kappa rests."""
    counts = sorted({agreement.units for agreement in agreements})
    yield f"Units: {counts[0]:,}" + (f" to {counts[-1]:,}" if len(counts) > 1 else "") + " a criterion."


@note("judge agreement.missing")
def missing(agreements: Sequence[Agreement]) -> Iterator[str]:
    """Why there is no kappa."""
    for agreement in agreements:
        if _estimate(agreement) is None:
            kappa = _kappa(agreement)
            yield f"{DASH} {agreement.title}: {'it does not apply' if kappa is None else kappa.missing}."


def build(view: RatingsView, seed: int, options: JudgeAgreementOptions) -> Table | None:
    """Kappa of each judge with people, the mean over persons; None where no judge rated what a person rated."""
    metrics = named_metrics(view, options.metrics)
    judged = set(view.ratings.filter(view.ratings["label"].is_null())["metric"])
    names = [name for name in metrics.rated or view.metrics() if name in judged]
    if metrics.none_rated or not names:
        return None
    agreements = [
        agreement
        for agreement in agree(view, metrics=names, weights=options.weights, seed=seed)
        if agreement.kind == "mean" and agreement.rater is not None and is_judge(agreement.rater)
    ]
    if not agreements:
        return None
    agreements.sort(key=lambda agreement: (names.index(agreement.metric), agreement.rater))
    judges = [rater_words(str(rater)) for rater in dict.fromkeys(agreement.rater for agreement in agreements)]
    measures = {name: TableMeasure(metric=name) for name in names}
    measures |= {measure.metric: measure for own in options.metrics.values() for measure in own}
    said = (
        f"κ: Cohen's with {options.weights} weights, of the judge with each person, the mean over persons. "
        "Interpretation: the bands of Landis and Koch (1977).",
        f"Judge: {', '.join(judges)}.",
    )
    columns = _columns(options.heading, measures)
    table = table_of("judge_agreement", _TITLE, agreements, columns, notes=(*said, units, missing),
                     group=lambda own: rater_words(str(own.rater)) if len(judges) > 1 else None)  # fmt: skip
    rows = sorted(table.rows, key=lambda row: judges.index(row.group) if row.group else 0)
    return options.finish(replace(table, rows=tuple(rows)), absent_notes(metrics.absent))


TABLE = TableKind("judge_agreement", _TITLE, 51, build, JudgeAgreementOptions, shown="named")
