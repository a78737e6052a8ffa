"""Agreement: people among themselves, and algorithms and judges beside them with the human ceiling."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field

from bedside.analysis.agreement import Agreement, RatedApart, agree, rated_apart
from bedside.analysis.ratings_view import PEOPLE, RatingsView
from bedside.core.errors import DataError
from bedside.core.words import counted
from bedside.reports.agreement_notes import (
    constant_notes,
    form_notes,
    interval_notes,
    is_of_two,
    sample_notes,
    unit_notes,
)
from bedside.reports.measures import Headed, named_metrics
from bedside.reports.number_text import DASH, decimal, n_of, number, rater_words
from bedside.reports.table import Table
from bedside.reports.table_content import Cell, Column, Row
from bedside.reports.table_kind import Options, TableKind
from bedside.reports.table_notes import absent_notes, dash_notes, preferences_apart
from bedside.stats.kappa_bands import reading
from bedside.stats.result import Result

#: More people than this are not shown one by one beside a rater; the CSV has them.
MOST_PERSONS = 4
#: Headings that come before those of raters.
_HEADINGS = {"people": "People among themselves", "ceiling": "One person against the consensus of the others"}


@dataclass(frozen=True, slots=True)
class _AgreementRow:
    """A row of the table: an agreement, and people's kappa that it stands beside; None where there is none."""

    agreement: Agreement
    ceiling: Result | None


@dataclass(frozen=True, slots=True)
class FactColumn:
    """A column of what is known of an agreement, not a statistic of its own.

    Attributes:
        title: its heading.
        text: the cell's text.
        align: left or right.
        note: what the column is, below the table.
    """

    title: str
    text: Callable[[_AgreementRow], str]
    align: Literal["left", "right"] = "right"
    note: str = ""


@dataclass(frozen=True, slots=True)
class StatisticColumn:
    """A column of one statistic.

    Attributes:
        title: its heading; the first word is the statistic's sign, as notes name it.
        statistic: its name in :data:`~bedside.analysis.agreement_statistics.STATISTICS`, which says where it applies.
        interval: whether its interval is shown.
        form: how its numbers are printed.
        note: what the statistic is, below the table, after its sign.
    """

    title: str
    statistic: str
    interval: bool = False
    form: Callable[[float], str] = decimal
    note: str = ""

    @property
    def sign(self) -> str:
        """What notes call the statistic."""
        return self.title.partition(" ")[0]

    def text(self, row: _AgreementRow) -> str:
        """The cell's text, with the number of units that the statistic rests on where they are fewer than the row's."""
        result = row.agreement.statistics.get(self.statistic)
        text = _estimate(result, self.form, interval=self.interval)
        if result is None or text == DASH or result.n >= row.agreement.units:
            return text
        return f"{text} (n {n_of(result.n, row.agreement.of)})"


def _estimate(result: Result | None, form: Callable[[float], str] = decimal, *, interval: bool = False) -> str:
    if result is None or result.estimate is None:
        return DASH
    text = form(result.estimate)
    if not interval or result.interval is None:
        return text
    return f"{text} [{form(result.interval.low)}, {form(result.interval.high)}]"


def _title(row: _AgreementRow) -> str:
    return row.agreement.title


def _rater_count(row: _AgreementRow) -> str:
    return str(len(row.agreement.raters))


def _unit_count(row: _AgreementRow) -> str:
    """The units, of all that the raters compared rated."""
    return n_of(row.agreement.units, row.agreement.of)


def _reading(row: _AgreementRow) -> str:
    statistics = row.agreement.statistics
    main = statistics.get("kappa") or statistics.get("alpha")
    return reading(main.estimate if main is not None else None) or DASH


def _ceiling(row: _AgreementRow) -> str:
    return _estimate(row.ceiling)


#: In order; a column that no row has a value in is left out.
COLUMNS: tuple[FactColumn | StatisticColumn, ...] = (
    FactColumn("Metric", _title, align="left"),
    FactColumn("Raters", _rater_count),
    FactColumn("Units", _unit_count),
    StatisticColumn("Agreement", "percent agreement"),
    StatisticColumn("κ [95 % CI]", "kappa", interval=True),
    FactColumn("Reading", _reading, align="left"),
    FactColumn(
        "Ceiling",
        _ceiling,
        note="Ceiling: what people reach among themselves. It is the mean of their pairs beside a rater's mean over "
        "persons, and one person against the consensus of the others beside a rater's against the consensus. It rests "
        "on the units that several people rated.",
    ),
    StatisticColumn("Fleiss κ", "fleiss"),
    StatisticColumn("AC [95 % CI]", "ac", interval=True),
    StatisticColumn("α [95 % CI]", "alpha", interval=True),
    StatisticColumn("ICC", "icc"),
    StatisticColumn("ρ", "spearman", note="Spearman's."),
    StatisticColumn("Bias [95 % CI]", "bias", interval=True, form=number, note="mean of the rater minus people."),
    StatisticColumn("Lower limit [95 % CI]", "lower limit", interval=True, form=number),
    StatisticColumn("Upper limit [95 % CI]", "upper limit", interval=True, form=number),
)

_BESIDE_PEOPLE = "of two raters on numbers, one of whom is no person, and not a mean over persons"
_ORDERED = "of ordered scales, and not a mean over persons"
_NOT_A_MEAN = "not a mean over persons"
#: What a statistic is of, where a row has none.
_NOT_OF_ROW = {
    "Ceiling": "it exists only in rows that compare a rater with two or more people who rated the same units",
    "Fleiss κ": "of people among themselves",
    "AC [95 % CI]": _NOT_A_MEAN,
    "α [95 % CI]": _NOT_A_MEAN,
    "ICC": _ORDERED,
    "ρ": _ORDERED,
    "Bias [95 % CI]": _BESIDE_PEOPLE,
    "Lower limit [95 % CI]": _BESIDE_PEOPLE,
    "Upper limit [95 % CI]": _BESIDE_PEOPLE,
}


def agreement_table(agreements: Sequence[Agreement], apart: Sequence[RatedApart] = ()) -> Table:
    """The table of agreements already computed, and what is said of the metrics that no two people both rated."""
    records: list[Mapping[str, Any]] = []
    positions: dict[tuple[int, str], int] = {}
    for place, agreement in enumerate(agreements):
        for record in _records(agreement):
            positions[place, str(record["statistic"])] = len(records)
            records.append(record)
    ceilings = _ceilings(agreements)
    shown = [
        (place, agreement)
        for place, agreement in enumerate(agreements)
        if agreement.kind != "person" or _persons(agreements, agreement) <= MOST_PERSONS
    ]
    rows = []
    for heading in _headings([agreement for _, agreement in shown]):
        for place, agreement in shown:
            if _heading(agreement) != heading:
                continue
            ceiling = ceilings.get((agreement.metric, agreement.title, agreement.kind))
            rows.append(_table_row(_AgreementRow(agreement, ceiling), heading, place, positions))
    # A column nobody has a value in says nothing.
    used = [i for i in range(len(COLUMNS)) if any(row.cells[i].text != DASH for row in rows)]
    columns = [COLUMNS[i] for i in used]
    table_columns = tuple(
        Column(column.title, column.align) if isinstance(column, FactColumn) else Column(column.title)
        for column in columns
    )
    table_rows = tuple(Row(tuple(row.cells[i] for i in used), row.group) for row in rows)
    return Table(
        name="agreement",
        title="Agreement of raters",
        columns=table_columns,
        rows=table_rows,
        notes=(
            *_apart_notes(apart),
            *_notes(agreements, columns),
            *dash_notes(table_columns, table_rows, _NOT_OF_ROW),
        ),
        records=(*records, *map(_apart_record, apart)),
    )


def _apart_notes(apart: Sequence[RatedApart]) -> list[str]:
    if not apart:
        return []
    metrics = ", ".join(
        f"{each.title} ({counted(each.units, 'unit')}, {counted(len(each.raters), 'person')})" for each in apart
    )
    return [f"No two people rated the same unit by: {metrics}."]


def _apart_record(each: RatedApart) -> Mapping[str, Any]:
    return {
        "cell": f"{each.title}/{PEOPLE}/kappa", "metric": each.metric, "title": each.title, "kind": "people",
        "between": PEOPLE, "raters": ", ".join(each.raters), "units": 0, "alone": each.units, "statistic": "kappa",
        "estimate": None, "n": 0, "missing": "no two people rated the same unit",
    }  # fmt: skip


def _table_row(row: _AgreementRow, heading: str, place: int, positions: Mapping[tuple[int, str], int]) -> Row:
    """A row with all columns; ``positions`` are those of records, by the agreement's place and the statistic."""
    cells = []
    for column in COLUMNS:
        record = None
        if isinstance(column, StatisticColumn):
            record = positions.get((place, column.statistic))
        cells.append(Cell(column.text(row), record=record))
    return Row(tuple(cells), heading)


def _ceilings(agreements: Sequence[Agreement]) -> dict[tuple[str, str, str], Result | None]:
    """People's own kappa beside each kind of comparison with a rater, by metric, title and that kind."""
    beside = {"people": "mean", "ceiling": "consensus"}
    return {
        (agreement.metric, agreement.title, beside[agreement.kind]): agreement.statistics.get("kappa")
        for agreement in agreements
        if agreement.kind in beside
    }


def _persons(agreements: Sequence[Agreement], agreement: Agreement) -> int:
    """The number of people that the agreement's rater is compared with one by one."""
    return sum(
        other.kind == "person"
        and (other.metric, other.title, other.rater) == (agreement.metric, agreement.title, agreement.rater)
        for other in agreements
    )


def _headings(agreements: Sequence[Agreement]) -> list[str]:
    """The headings of the rows: people's first, then those of raters as they come.

    The consensus of two people comes after each of them: it rests on what they agree on, where others agree most.
    """
    first = list(_HEADINGS.values())
    ordered: list[Agreement] = []
    for rater in dict.fromkeys(agreement.rater for agreement in agreements):
        of_rater = [agreement for agreement in agreements if agreement.rater == rater]
        ordered += sorted(of_rater, key=lambda agreement: agreement.kind == "consensus" and is_of_two(agreement))
    headings = dict.fromkeys(_heading(agreement) for agreement in ordered)
    return sorted(headings, key=lambda heading: first.index(heading) if heading in first else len(first))


def _heading(agreement: Agreement) -> str:
    if agreement.rater is None:
        return _HEADINGS[agreement.kind]
    rater = rater_words(agreement.rater)
    if agreement.kind == "mean":
        return f"{rater} and each person, mean"
    if agreement.kind == "consensus":
        return f"{rater} and the consensus of people"
    return f"{rater} and {rater_words(agreement.raters[0])}"


def _notes(agreements: Sequence[Agreement], columns: Sequence[FactColumn | StatisticColumn]) -> tuple[str, ...]:
    notes = ["Agreement: share of pairs of raters that say the same. κ: Cohen's kappa, the mean over pairs of raters."]
    notes += [column.note for column in columns if isinstance(column, FactColumn) and column.note]
    notes += form_notes(agreements)
    statistics = [column for column in columns if isinstance(column, StatisticColumn) and column.note]
    if statistics:
        notes.append(" ".join(f"{column.sign}: {column.note}" for column in statistics))
    if any(isinstance(column, StatisticColumn) and column.statistic == "lower limit" for column in columns):
        notes.append(
            "Lower and upper limit: 95 % of differences, the rater minus people, lie between them if they are normal "
            "(Bland and Altman): bias ± 1.96 standard deviations."
        )
    notes += unit_notes(agreements)
    notes += constant_notes(agreements)
    notes += interval_notes(agreements)
    notes += sample_notes(agreements)
    notes += [f"{DASH}: {reason}." for reason in dict.fromkeys(
        r.missing for a in agreements for r in a.statistics.values() if r.missing and r.estimate is None)]  # fmt: skip
    notes.append("Reading after Landis and Koch (1977); a word is no verdict.")
    return tuple(notes)


def _records(agreement: Agreement) -> list[Mapping[str, Any]]:
    """One record a statistic."""
    base = {
        "metric": agreement.metric, "title": agreement.title, "kind": agreement.kind, "between": agreement.between,
        "level": agreement.level, "raters": ", ".join(agreement.raters), "units": agreement.units,
        "transcripts": agreement.transcripts, "cases": agreement.cases, "chances": agreement.chances,
        "picked": agreement.picked, "learnt": agreement.learnt, "alone": agreement.alone, "ties": agreement.ties,
        "adjudicated": agreement.adjudicated,
        "constant": "; ".join(f"{rater} {level}" for rater, level in agreement.constant.items()),
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
            "of": agreement.of,
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
        first = "consensus of people" if consensus else rater_words(agreement.raters[0])
        second = rater_words(agreement.raters[-1])
        rows = tuple(
            Row((Cell(level), *(Cell(f"{agreement.confusion[level, other]:,}") for other in levels)))
            for level in levels
        )
        tables.append(
            Table(
                name=f"confusion_{len(tables) + 1}",
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


def agreements_of(view: RatingsView, options: AgreementOptions, seed: int) -> tuple[Agreement, ...]:
    """The agreements a table or figure shows, computed once for both; none where no two raters rated anything."""
    metrics = named_metrics(view, options.metrics)
    if metrics.none_rated:
        return ()

    def compute() -> tuple[Agreement, ...]:
        try:
            return agree(view, metrics=metrics.rated or None, seed=seed)
        except DataError:
            return ()

    return view.once(("agreements", metrics.rated, seed), compute)


def build(view: RatingsView, seed: int, options: AgreementOptions) -> Table | None:
    """Agreement on every code and rubric that two raters rated; None where there is none."""
    agreements = agreements_of(view, options, seed)
    if not agreements:
        return None
    metrics = named_metrics(view, options.metrics)
    others = rated_apart(view, agreements, metrics=metrics.rated or None)
    apart = (*absent_notes(metrics.absent), *audit_notes(view), *preferences_apart(view))
    return options.finish(agreement_table(agreements, others), apart)


def audit_notes(view: RatingsView) -> tuple[str, ...]:
    """What is said under a table of agreement where people audited judges."""
    if not view.audited_rubrics():
        return ()
    return ("Audits are not among them: people who see a judge's rating don't rate independently. The table of audits "
            "has them.",)  # fmt: skip


TABLE = TableKind("agreement", "Agreement of raters", 30, build, AgreementOptions)
