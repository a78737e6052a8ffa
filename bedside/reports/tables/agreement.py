"""Agreement: people among themselves, and algorithms and judges beside them with the human ceiling."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from pydantic import Field

from bedside.analysis.agreement import Agreement, agree
from bedside.analysis.ratings_view import RatingsView
from bedside.reports.absence import absent_notes
from bedside.reports.measures import Headed, matching
from bedside.reports.number_text import DASH, between, counted, decimal, number
from bedside.reports.table import Table
from bedside.reports.table_content import Cell, Column, Row
from bedside.reports.table_kind import Options, TableKind
from bedside.stats.kappa_bands import reading
from bedside.stats.result import Result
from bedside.support.errors import DataError

#: More people than this are not shown one by one beside a rater; the CSV has them.
MOST_PERSONS = 4
_HEADINGS = {"people": "People among themselves", "ceiling": "One person against the consensus of the others"}


#: The statistic of each column; none of those that hold none of the row's own.
_STATISTICS = (
    "",
    "",
    "",
    "percent agreement",
    "kappa",
    "",
    "",
    "fleiss",
    "ac",
    "alpha",
    "icc",
    "spearman",
    "bias",
)


def agreement_table(agreements: Sequence[Agreement]) -> Table:
    """The table of agreements already computed."""
    shown = [a for a in agreements if a.kind != "person" or _persons(agreements, a) <= MOST_PERSONS]
    ceilings = {
        (a.metric, a.title, kind): a.statistics.get("kappa")
        for a in agreements
        for kind, source in (("mean", "people"), ("consensus", "ceiling"))
        if a.kind == source
    }
    order = list(dict.fromkeys(_heading(agreement) for agreement in shown))
    order.sort(
        key=lambda heading: list(_HEADINGS.values()).index(heading) if heading in _HEADINGS.values() else 9
    )
    records: list[Mapping[str, Any]] = []
    places: dict[tuple[int, str], int] = {}
    for agreement in agreements:
        for record in _records(agreement):
            places[id(agreement), str(record["statistic"])] = len(records)
            records.append(record)
    rows = []
    for heading in order:
        for agreement in (one for one in shown if _heading(one) == heading):
            ceiling = ceilings.get((agreement.metric, agreement.title, agreement.kind))
            cells = [
                Cell(text, record=places.get((id(agreement), statistic)))
                for text, statistic in zip(_cells(agreement, ceiling), _STATISTICS, strict=True)
            ]
            rows.append(Row(tuple(cells), heading))
    columns = (
        Column("Metric", "left"), Column("Raters"), Column("Units"), Column("Agreement"), Column("κ [95 % CI]"),
        Column("Reading", "left"), Column("Ceiling"), Column("Fleiss κ"), Column("AC [95 % CI]"),
        Column("α [95 % CI]"), Column("ICC"), Column("ρ"), Column("Bias [95 % CI]"),
    )  # fmt: skip
    # A column nobody has a value in says nothing.
    used = [i for i in range(len(columns)) if any(row.cells[i].text != DASH for row in rows)]
    return Table(
        name="agreement",
        title="Agreement of raters",
        columns=tuple(columns[i] for i in used),
        rows=tuple(Row(tuple(row.cells[i] for i in used), row.group) for row in rows),
        notes=_notes(agreements, {columns[i].title.partition(" ")[0] for i in used}),
        records=tuple(records),
    )


def _persons(agreements: Sequence[Agreement], agreement: Agreement) -> int:
    return sum(
        a.kind == "person"
        and (a.metric, a.title, a.rater) == (agreement.metric, agreement.title, agreement.rater)
        for a in agreements
    )


def _name(rater: str) -> str:
    return rater.partition(":")[2]


def _heading(agreement: Agreement) -> str:
    if agreement.rater is None:
        return _HEADINGS[agreement.kind]
    if agreement.kind == "mean":
        return f"{_name(agreement.rater)} and each person, mean"
    if agreement.kind == "consensus":
        return f"{_name(agreement.rater)} and the consensus of people"
    return f"{_name(agreement.rater)} and {_name(agreement.raters[0])}"


def _shown(result: Result | None, *, share: bool = True, interval: bool = True) -> str:
    if result is None or result.estimate is None:
        return DASH
    text = decimal(result.estimate) if share else number(result.estimate)
    if not interval or result.interval is None:
        return text
    low, high = result.interval.low, result.interval.high
    return f"{text} {between(low, high)}" if share else f"{text} [{number(low)}, {number(high)}]"


def _cells(agreement: Agreement, ceiling: Result | None) -> tuple[str, ...]:
    found = agreement.statistics
    main = found.get("kappa") or found.get("alpha")
    return (
        agreement.title,
        str(len(agreement.raters)),
        f"{agreement.units:,}",
        _shown(found.get("percent agreement"), interval=False),
        _shown(found.get("kappa")),
        reading(main.estimate if main is not None else None) or DASH,
        _shown(ceiling, interval=False),
        _shown(found.get("fleiss"), interval=False),
        _shown(found.get("ac")),
        _shown(found.get("alpha")),
        _shown(found.get("icc"), interval=False),
        _shown(found.get("spearman"), interval=False),
        _shown(found.get("bias"), share=False),
    )


def _notes(agreements: Sequence[Agreement], columns: set[str]) -> tuple[str, ...]:
    notes = [
        "Agreement: share of pairs of raters that say the same. κ: Cohen's kappa, the mean over pairs of raters."
    ]
    if "Ceiling" in columns:
        notes.append(
            "Ceiling: the same among people: the mean of their pairs beside a rater's mean over persons, one person "
            "against the consensus of the others beside a rater's against the consensus. It rests on the units that "
            "several people rated."
        )
    ordered = [a for a in agreements if a.level == "ordinal" and "kappa" in a.statistics]
    if ordered:
        weights = " and ".join(
            dict.fromkeys(str(a.statistics["kappa"].options.get("weights")) for a in ordered)
        )
        notes.append(f"On ordered scales κ and AC (AC2) have {weights} weights, α is ordinal.")
    meant = {
        "ICC": "two-way random, single ratings, absolute agreement (2,1).",
        "ρ": "Spearman's.",
        "Bias": "mean of the rater minus people.",
    }
    if shown := [f"{column}: {words}" for column, words in meant.items() if column in columns]:
        notes.append(" ".join(shown))
    methods = dict.fromkeys(
        (result.interval.method, "turns" if agreement.units > agreement.transcripts else "transcripts")
        for agreement in agreements
        for name, result in agreement.statistics.items()
        if name in ("kappa", "alpha") and result.interval is not None
    )
    notes += [f"Intervals of κ and α where {rated} are rated: {method}." for method, rated in methods]
    few = [a.transcripts for a in agreements if 1 < a.transcripts < 10 and a.units > a.transcripts]
    if few:
        notes.append(f"Some rest on turns of only {min(few)} transcripts: their intervals are rough.")
    people = [a for a in agreements if a.kind == "people" and not a.title.endswith(": any or none")]
    beside = [a for a in agreements if a.kind == "consensus" and not a.title.endswith(": any or none")]
    alone, ties = sum(a.alone for a in people), sum(a.ties for a in beside)
    if alone:
        notes.append(f"Left out among people, as only one person rated them: {counted(alone, 'unit')}.")
    if ties:
        notes.append(f"Left out of comparisons with the consensus, as people tie: {counted(ties, 'unit')}.")
    notes += [f"{DASH}: {reason}." for reason in dict.fromkeys(
        r.missing for a in agreements for r in a.statistics.values() if r.missing and r.estimate is None)]  # fmt: skip
    notes.append("Reading after Landis and Koch (1977); a word is no verdict.")
    return tuple(notes)


def _records(agreement: Agreement) -> list[Mapping[str, Any]]:
    """One record a statistic."""
    base = {
        "metric": agreement.metric, "title": agreement.title, "kind": agreement.kind, "between": agreement.between,
        "level": agreement.level, "raters": ", ".join(agreement.raters), "units": agreement.units,
        "transcripts": agreement.transcripts, "alone": agreement.alone, "ties": agreement.ties,
        "prevalence": "; ".join(f"{label} {share:.4f}" for label, share in agreement.prevalence.items()),
    }  # fmt: skip
    return [
        {
            "cell": f"{agreement.title}/{agreement.between}/{name}",
            **base,
            "statistic": name,
            "estimate": result.estimate,
            "low": result.interval.low if result.interval else None,
            "high": result.interval.high if result.interval else None,
            "interval": result.interval.method if result.interval else None,
            "n": result.n,
            "dropped": result.dropped,
            "method": result.method,
            "missing": result.missing,
            "remarks": "; ".join(result.remarks),
        }
        for name, result in agreement.statistics.items()
    ]


def confusion_tables(agreements: Sequence[Agreement]) -> tuple[Table, ...]:
    """For every two raters compared: how often the first's level (rows) met the second's (columns)."""
    tables: list[Table] = []
    for agreement in agreements:
        if not agreement.confusion:
            continue
        levels = list(dict.fromkeys(first for first, _ in agreement.confusion))
        consensus = agreement.kind == "consensus"
        first = "consensus of people" if consensus else _name(agreement.raters[0])
        second = _name(agreement.raters[-1])
        rows = tuple(
            Row((Cell(level), *(Cell(f"{agreement.confusion[level, other]:,}") for other in levels)))
            for level in levels
        )
        tables.append(
            Table(
                name=f"confusion-{len(tables) + 1}",
                title=f"{agreement.title}: {first} (rows) and {second} (columns)",
                columns=(Column("", "left"), *(Column(level) for level in levels)),
                rows=rows,
                notes=("Shares of levels: " + ", ".join(
                    f"{label} {decimal(share)}" for label, share in agreement.prevalence.items()) + ".",),
                records=tuple(
                    {"metric": agreement.metric, "title": agreement.title, "first": first, "second": second,
                     "first_level": a, "second_level": b, "n": n}
                    for (a, b), n in agreement.confusion.items()
                ),
            )
        )  # fmt: skip
    return tuple(tables)


class AgreementOptions(Options):
    """Which agreement a table shows.

    Attributes:
        metrics: the metrics; all that two raters rated unless named.
    """

    metrics: Headed = Field(default_factory=dict)


class _Same:
    """An evaluation as a key: the same one and no other."""

    def __init__(self, view: RatingsView) -> None:
        self.view = view

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.view is self.view

    def __hash__(self) -> int:
        return id(self.view)


@lru_cache(maxsize=2)
def _agreements(same: _Same, names: tuple[str, ...], seed: int) -> tuple[Agreement, ...]:
    try:
        return agree(same.view, metrics=names or None, seed=seed)
    except DataError:
        return ()


def agreements_of(view: RatingsView, options: AgreementOptions, seed: int) -> tuple[Agreement, ...]:
    """The agreements a table or figure shows, computed once for both; none where no two raters rated anything."""
    wanted = [one.metric for measures in options.metrics.values() for one in measures]
    names = tuple(name for metric in wanted for name in matching(view, metric))
    return () if wanted and not names else _agreements(_Same(view), names, seed)


def build(view: RatingsView, seed: int, options: AgreementOptions) -> Table | None:
    """Agreement on every code and rubric that two raters rated; None where there is none."""
    found = agreements_of(view, options, seed)
    if not found:
        return None
    table = agreement_table(found)
    wanted = [one.metric for measures in options.metrics.values() for one in measures]
    absent = absent_notes(metric for metric in wanted if not matching(view, metric))
    return replace(
        table,
        name=options.id or table.name,
        title=options.title or table.title,
        notes=(*table.notes, *absent),
    )


TABLE = TableKind("agreement", "Agreement of raters", 30, build, AgreementOptions)
