"""Agreement: raters on each metric, people among themselves and others beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bedside.agreement import Agreement, agree
from bedside.errors import DataError
from bedside.evaluation import PEOPLE, Evaluation
from bedside.reports.table import DASH, Cell, Column, Row, Table, between, decimal
from bedside.reports.tables._contract import TableKind
from bedside.stats.reading import reading

_STATISTICS = {
    "percent agreement": "percent_agreement",
    "kappa": "kappa",
    "fleiss": "fleiss",
    "alpha": "alpha",
}


def agreement_table(agreements: Sequence[Agreement]) -> Table:
    """The table of agreements already computed."""
    rows = []
    for group in dict.fromkeys(a.between for a in agreements):
        rows += [
            Row(tuple(map(Cell, _cells(agreement))), _heading(agreement))
            for agreement in agreements
            if agreement.between == group
        ]
    return Table(
        name="agreement",
        title="Agreement of raters",
        columns=(
            Column("Metric", "left"), Column("Raters"), Column("Units"), Column("Agreement"), Column("κ"),
            Column("95 % CI"), Column("Reading", "left"), Column("Fleiss κ"), Column("α"), Column("95 % CI"),
        ),
        rows=tuple(rows),
        notes=_notes(agreements),
        records=tuple(map(_record, agreements)),
    )  # fmt: skip


def _heading(agreement: Agreement) -> str:
    if agreement.between == PEOPLE:
        return "People among themselves"
    return agreement.between.partition(":")[2].replace(f" and {PEOPLE}", " beside people")


def _cells(agreement: Agreement) -> tuple[str, ...]:
    def shown(name: str) -> tuple[str, str]:
        result = agreement.statistics.get(name)
        if result is None or result.estimate is None:
            return DASH, DASH
        interval = result.interval
        return decimal(result.estimate), between(interval.low, interval.high) if interval else DASH

    kappa, kappa_interval = shown("kappa")
    alpha, alpha_interval = shown("alpha")
    main = agreement.statistics.get("kappa") or agreement.statistics.get("alpha")
    word = (reading(main.estimate) if main is not None else None) or DASH
    units = f"{agreement.units:,}"
    return (
        agreement.title, str(len(agreement.raters)), units, shown("percent agreement")[0], kappa, kappa_interval,
        word, shown("fleiss")[0], alpha, alpha_interval,
    )  # fmt: skip


def _notes(agreements: Sequence[Agreement]) -> tuple[str, ...]:
    notes = [
        "Agreement: share of pairs of raters that say the same. κ: mean of Cohen's kappa over pairs of raters "
        "(beside people: of the rater with each person); α: Krippendorff's.",
    ]
    ordered = [a for a in agreements if a.level == "ordinal" and "kappa" in a.statistics]
    if ordered:
        weights = dict.fromkeys(str(a.statistics["kappa"].options.get("weights")) for a in ordered)
        notes.append(
            f"κ of metrics on an ordered scale has {' and '.join(weights)} weights, their α is ordinal."
        )
    methods = dict.fromkeys(
        (result.interval.method, "turns" if agreement.units > agreement.transcripts else "transcripts")
        for agreement in agreements
        for name, result in agreement.statistics.items()
        if name in ("kappa", "alpha") and result.interval is not None
    )
    notes += [f"Intervals where {rated} are rated: {method}." for method, rated in methods]
    few = [a.transcripts for a in agreements if 1 < a.transcripts < 10 and a.units > a.transcripts]
    if few:
        notes.append(f"Some rest on turns of only {min(few)} transcripts: their intervals are rough.")
    alone = sum(a.alone for a in agreements if a.between == PEOPLE and ":" not in a.title)
    if alone:
        notes.append(f"Left out, as only one person rated them: {alone:,} units.")
    reasons = dict.fromkeys(r.missing for a in agreements for r in a.statistics.values() if r.missing)
    notes += [f"{DASH}: {reason}." for reason in reasons]
    notes.append("Reading after Landis and Koch (1977); a word is no verdict.")
    return tuple(notes)


def _record(agreement: Agreement) -> Mapping[str, Any]:
    record: dict[str, Any] = {
        "metric": agreement.metric,
        "title": agreement.title,
        "between": agreement.between,
        "level": agreement.level,
        "raters": len(agreement.raters),
        "units": agreement.units,
        "transcripts": agreement.transcripts,
        "alone": agreement.alone,
    }
    for name, key in _STATISTICS.items():
        result = agreement.statistics.get(name)
        record[key] = result.estimate if result else None
        record[f"{key}_low"] = result.interval.low if result and result.interval else None
        record[f"{key}_high"] = result.interval.high if result and result.interval else None
        record[f"{key}_missing"] = result.missing if result else None
    record["prevalence"] = "; ".join(f"{label} {share:.4f}" for label, share in agreement.prevalence.items())
    record["who"] = ", ".join(agreement.raters)
    return record


def build(evaluation: Evaluation, seed: int = 0) -> Table | None:
    """Agreement on every code and rubric that two raters rated; None where there is none."""
    try:
        return agreement_table(agree(evaluation, seed=seed))
    except DataError:
        return None


TABLE = TableKind("agreement", "Agreement of raters", 30, build)
