"""Agreement: people among themselves, and algorithms and judges beside them with the human ceiling."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

from pydantic import Field

from bedside.analysis.agreement import Agreement, RatedApart, SpanAgreement, agree, marked_spans, rated_apart, retests
from bedside.analysis.audits import audits
from bedside.analysis.findings import agreement_findings
from bedside.analysis.fresh_view import learnt_words
from bedside.analysis.rater_effects import Generality, generalities
from bedside.analysis.ratings_view import PEOPLE, RatingsView
from bedside.analysis.selection import NothingError, by_raters
from bedside.core.errors import DataError
from bedside.core.words import counted
from bedside.ratings.names import is_human
from bedside.reports.columns import bounded, recorded, table_of
from bedside.reports.measures import Headed, named_metrics
from bedside.reports.notes import Note, NoteText, noted
from bedside.reports.number_text import DASH, decimal, n_of, number, rater_words, share_words
from bedside.reports.table import Table, Tables
from bedside.reports.table_content import Cell, Column, Heading, Row
from bedside.reports.table_kind import Options, TableKind
from bedside.reports.table_notes import absent_notes, preferences_apart
from bedside.reports.tables.audits import audits_table
from bedside.stats.generalisability import MOST_RATERS, ErrorKind, raters_for
from bedside.stats.kappa_bands import reading
from bedside.stats.many_raters import FEW_SHARED
from bedside.stats.reliability import ICC_MODELS
from bedside.stats.result import Result

#: More people than this are not shown one by one beside a rater; the CSV has them.
MOST_PERSONS = 4
#: Fewer cases than this make a rough interval.
_FEW = 10
#: Where all levels but one make a smaller share, few cases carry the agreement beyond chance.
_RARE = 0.25
#: Metrics that a note names one by one.
_MOST_TITLES = 6
#: The coefficient that raters are counted for.
_DEPENDABLE = 0.8
#: Headings that come before those of raters.
_HEADINGS = {"people": "People among themselves", "ceiling": "One person against the consensus of the others"}


@dataclass(frozen=True, slots=True)
class AgreementRow:
    """A row of the table: an agreement, and people's kappa that it stands beside; None where there is none."""

    agreement: Agreement
    ceiling: Result | None
    place: int


@dataclass(frozen=True, slots=True)
class StatisticColumn(Column):
    """A column of one statistic, left out where no row has it; each statistic is a record of its own.

    Attributes:
        statistic: its name in :data:`~bedside.analysis.agreement_statistics.STATISTICS`, which says where it applies.
        interval: whether its interval is shown.
    """

    statistic: str = ""
    interval: bool = False

    def value_of(self, row: AgreementRow) -> Result | None:
        """The statistic; None of rows that it doesn't apply to."""
        return row.agreement.statistics.get(self.statistic)

    def text_of(self, row: AgreementRow) -> str:
        """Its value, with the number of units that it rests on where they are fewer than the row's."""
        result = self.value_of(row)
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


def _statistic(
    title: str, statistic: str, dash: str = "", *, plain: bool = False, note: str = "", brief: bool = False
) -> StatisticColumn:
    """A column of a statistic, with its interval where the title says so."""
    return StatisticColumn(title, statistic=statistic, dash=dash, form=number if plain else decimal, note=note,
                           interval="CI" in title, optional=True, brief=brief)  # fmt: skip


def _reading(row: AgreementRow) -> str:
    statistics = row.agreement.statistics
    main = statistics.get("kappa") or statistics.get("alpha")
    return reading(main.estimate if main is not None else None) or DASH


_BESIDE_PEOPLE = "only for numbers by a judge or algorithm beside one person or the consensus"
_ORDERED = "only on ordered scales; not computed in rows that are means over persons"
_NOT_A_MEAN = "not computed in rows that are means over persons"
_LIMITS = (
    "Lower and upper limit: 95 % of differences, the rater minus people, lie between them if they are normal (Bland "
    "and Altman): bias ± 1.96 standard deviations."
)

COLUMNS: tuple[Column, ...] = (
    Column("Metric", "left", text=lambda row: row.agreement.title, optional=True, brief=True),
    Column("Raters", text=lambda row: str(len(row.agreement.raters)), optional=True),
    Column("Units", text=lambda row: n_of(row.agreement.units, row.agreement.of), optional=True, brief=True),
    _statistic("Agreement", "percent agreement"),
    _statistic("κ [95 % CI]", "kappa", brief=True),
    Column("Reading", "left", text=_reading, optional=True),
    Column(
        "Ceiling", text=lambda row: _estimate(row.ceiling), optional=True, brief=True,
        dash="only beside a rater; needs two people who rated the same units",
        note="Ceiling: what people reach among themselves, on the units that several of them rated. Beside a rater's "
        "mean over persons it is the mean of people's own pairs. Beside a rater's agreement with the consensus it is "
        "one person's agreement with the consensus of the others.",
    ),
    _statistic(
        "F1 [95 % CI]", "link f1", "only of links", brief=True,
        note="F1: 2 · links that both make / all links of both, the mean over pairs of raters. "
        "What is said of links is compared where both make the link.",
    ),
    _statistic("Fleiss κ", "fleiss", "of people among themselves"),
    _statistic("AC [95 % CI]", "ac", _NOT_A_MEAN),
    _statistic("α [95 % CI]", "alpha", _NOT_A_MEAN, brief=True),
    _statistic("ICC", "icc", _ORDERED),
    _statistic("ρ", "spearman", _ORDERED, note="ρ: Spearman's."),
    _statistic("Bias [95 % CI]", "bias", _BESIDE_PEOPLE, plain=True, note="Bias: mean of the rater minus people."),
    _statistic("Lower limit [95 % CI]", "lower limit", _BESIDE_PEOPLE, plain=True, note=_LIMITS),
    _statistic("Upper limit [95 % CI]", "upper limit", _BESIDE_PEOPLE, plain=True),
)  # fmt: skip


def _form_notes(agreements: Sequence[Agreement]) -> list[str]:
    """In which form the statistics are: weights, alpha's distance, which intraclass correlation."""
    notes = []
    ordered = [a for a in agreements if a.level == "ordinal" and "kappa" in a.statistics]
    alphas = dict.fromkeys(
        (a.level, str(a.statistics["alpha"].options["metric"])) for a in agreements if "alpha" in a.statistics
    )
    kinds = {"nominal": "of labels", "ordinal": "on ordered scales", "interval": "of other numbers"}
    words = [f"{metric} {kinds[level]}" for level, metric in alphas]
    if ordered:
        weights = " and ".join(
            dict.fromkeys(str(a.statistics["kappa"].options["weights"]).replace("unweighted", "no") for a in ordered)
        )
        fleiss = ", Fleiss κ" if any("fleiss" in a.statistics for a in ordered) else ""
        notes.append(f"On ordered scales κ{fleiss} and AC (AC2) have {weights} weights.")
        for title, levels in dict.fromkeys((a.title, a.statistics["kappa"].options["scale"]) for a in ordered):
            if isinstance(levels[0], str) and len(levels) > 2:
                notes.append(
                    f"{title}: labels by their place, from 0 for {levels[0]} to {len(levels) - 1} for {levels[-1]}."
                )
    if words and (ordered or len(words) > 1 or any(level != metric for level, metric in alphas)):
        notes.append(f"α is {', '.join(words)}.")
    forms = dict.fromkeys(
        (r.name, int(r.options["model"]), bool(r.options["average"]))
        for a in agreements
        if (r := a.statistics.get("icc")) is not None
    )
    notes += [
        f"ICC: {name}, {ICC_MODELS[model]}, {'the mean of all raters' if average else 'single ratings'}."
        for name, model, average in forms
    ]
    return notes


def unit_notes(agreements: Sequence[Agreement]) -> list[str]:
    """On which units statistics rest, and what is left out."""
    notes = []
    fewer = [a for a in agreements if any(r.estimate is not None and r.n < a.units for r in a.statistics.values())]
    if fewer:
        notes.append("n: the units that a statistic rests on, where they are fewer: ICC and Fleiss κ need all raters.")
    if any(a.kind in ("people", "mean") and len(a.raters) > 2 for a in fewer):
        notes.append(
            "Agreement is the mean over units of the share of raters who say the same; κ is the mean over pairs of "
            "raters. Where some raters rated fewer units, the two weigh units differently."
        )
    people = [a for a in agreements if a.kind == "people" and not a.is_any_or_none]
    beside = [a for a in agreements if a.kind == "consensus" and not a.is_any_or_none]
    alone, ties = sum(a.alone for a in people), sum(a.ties for a in beside)
    if alone:
        was, left = ("was", "is") if alone == 1 else ("were", "are")
        used = "; shares of levels in AC include all units" if any("ac" in a.statistics for a in people) else ""
        notes.append(f"{counted(alone, 'unit')} {was} rated by one person only and {left} left out{used}.")
    if ties:
        notes.append(f"People tie on {counted(ties, 'unit')}, left out of comparisons with the consensus.")
    settled = {a.title: max(b.adjudicated for b in beside if b.title == a.title) for a in beside if a.adjudicated}
    if settled:
        counts = ", ".join(f"{title} {counted(count, 'unit')}" for title, count in settled.items())
        notes.append(
            f"The consensus is the final label of an adjudicator where there is one ({counts}). All else, the ceiling "
            "too, is of what the raters said themselves."
        )
    if any(a.ties and _is_of_two(a) for a in beside):
        notes.append(
            "The consensus of two people is what both say. Such units are easier to agree on: look at the mean over "
            "persons first."
        )
    return notes


def _constant_notes(agreements: Sequence[Agreement]) -> list[str]:
    """Who gives a single level to everything, what that makes of kappa, and what it is without them."""
    notes = []
    for agreement in agreements:
        kappa = agreement.statistics.get("kappa")
        if not agreement.constant or kappa is None or kappa.estimate is None or agreement.kind == "person":
            continue
        who = ", ".join(f"{rater_words(rater)} only {level}" for rater, level in agreement.constant.items())
        without = agreement.statistics.get("kappa without constant raters")
        rest = "Every pair has such a rater."
        if without is not None and without.estimate is not None:
            rest = f"Of the other pairs κ is {share_words(without)}."
        notes.append(
            f"{agreement.title}, {agreement.between}: κ is 0 by its formula with a rater who gives one level to "
            f"everything ({who}). {rest}"
        )
    return notes


def _shared_notes(agreements: Sequence[Agreement]) -> list[str]:
    """Of which measures pairs of raters share so few units that their kappa is too low."""
    kappas = {row.title: row.statistics.get("kappa") for row in agreements if row.kind == "people"}
    few = [title for title, kappa in kappas.items() if kappa and (kappa.missing or "").startswith(FEW_SHARED)]
    if not few:
        return []
    return [f"κ is too low where two raters share few units, and has no interval: see α ({_listed(few)})."]


def _interval_notes(agreements: Sequence[Agreement]) -> list[str]:
    """How intervals are made, and which are rough."""
    titles_of: dict[str, dict[str, None]] = {}
    for agreement in agreements:
        for name in ("kappa", "alpha"):
            result = agreement.statistics.get(name)
            if result is not None and result.interval is not None:
                rated = "turns" if agreement.units > agreement.transcripts else "transcripts"
                method = result.interval.method.replace("clusters", _drawn_words(agreement))
                titles_of.setdefault(f"where {rated} are rated: {method}", {})[agreement.title] = None
    several = len(titles_of) > 1
    notes = [
        f"Intervals of κ and α {words}{f' ({_listed(list(titles))})' if several else ''}."
        for words, titles in titles_of.items()
    ]
    few = [a for a in agreements if 1 < a.cases < _FEW and a.units > a.cases]
    if few:
        fewest = min(few, key=lambda agreement: agreement.cases)
        notes.append(f"Some rest on units of only {fewest.cases} {_drawn_words(fewest)}: their intervals are rough.")
    shares = [(row, 1 - max(row.prevalence.values(), default=1.0)) for row in agreements]
    rare = {row.title: None for row, others in shares if 0 < others < _RARE and others * row.cases < _FEW}
    if rare:
        notes.append(
            f"Most ratings are one level, and all others are worth fewer than {_FEW} cases: intervals of κ and α may "
            f"be too short ({_listed(list(rare))})."
        )
    return notes


def _listed(titles: Sequence[str]) -> str:
    """Titles as a note names them; of many the first."""
    more = f" and {len(titles) - _MOST_TITLES} more" if len(titles) > _MOST_TITLES else ""
    return ", ".join(titles[:_MOST_TITLES]) + more


def _drawn_words(agreement: Agreement) -> str:
    """What is drawn as one."""
    return "cases" if agreement.cases < agreement.transcripts else "transcripts"


def sample_notes(agreements: Sequence[Agreement]) -> list[str]:
    """How the units were drawn, where not with one chance, and what that makes of the figures."""
    notes = []
    by_strata: dict[tuple[str, ...], list[str]] = {}
    for agreement in agreements:
        titles = by_strata.setdefault(agreement.by, []) if agreement.chances == "unequal" else []
        if agreement.title not in titles:
            titles.append(agreement.title)
    for by, titles in by_strata.items():
        notes.append(
            f"{', '.join(titles)}: the units that people rated were drawn with unequal chances, by {' and '.join(by)}. "
            "Every figure is of all units that they were drawn from: each is weighted by how many it stands for. "
            f"Intervals are by strata.{_unweighted_words(agreements, titles)}"
        )
    unknown = list(dict.fromkeys(a.title for a in agreements if a.partly_known))
    if unknown:
        notes.append(
            f"{', '.join(unknown)}: with what chance units were drawn is not known of all of them, or they are of "
            "several rounds. So nothing is weighted. Figures are about the units rated."
        )
    picked = {a.title: a.picked for a in agreements if a.picked}
    if picked:
        listed = ", ".join(f"{title} {count:,}" for title, count in picked.items())
        notes.append(
            f"Units left out because they were picked for what they are, such as disagreement, and not drawn: {listed}."
        )
    notes += dict.fromkeys(
        learnt_words(a.title, str(a.rater), counted(a.learnt, "unit")) for a in agreements if a.learnt
    )
    none = list(dict.fromkeys(a.title for a in agreements if a.chances == "none"))
    if none:
        notes.append(
            f"{', '.join(none)}: the units that people rated were picked for what they are, such as disagreement, and "
            "not drawn. Figures are about these units, and would differ if all had been rated."
        )
    return notes


def _unweighted_words(agreements: Sequence[Agreement], titles: Sequence[str]) -> str:
    """People's kappa of the units rated alone."""
    words = []
    for agreement in agreements:
        kappa = agreement.statistics.get("kappa of rated units")
        if agreement.kind == "people" and agreement.title in titles and kappa is not None:
            title = f"{agreement.title} " if len(titles) > 1 else ""
            words.append(f"{title}{share_words(kappa)}")
    return f" Of the units rated alone, unweighted, κ among people is {', '.join(words)}." if words else ""


def _is_of_two(agreement: Agreement) -> bool:
    """Whether a consensus is that of two people."""
    return len(agreement.raters) == 3


NOTES = (
    Note(
        "agreement.meaning",
        "Agreement: share of pairs of raters that say the same. κ: Cohen's kappa, the mean over pairs of raters.",
        ("Agreement", "κ [95 % CI]"),
    ),
    Note("agreement.forms", _form_notes),
    Note("agreement.units", unit_notes, ("Units",)),
    Note("agreement.constant raters", _constant_notes, ("κ [95 % CI]",), warns=True),
    Note("agreement.shared units", _shared_notes, ("κ [95 % CI]",), warns=True),
    Note("agreement.intervals", _interval_notes),
    Note("agreement.sample", sample_notes, warns=True),
    Note("agreement.reading", "Reading after Landis and Koch (1977); a word is no verdict.", ("Reading",)),
)


def agreement_table(agreements: Sequence[Agreement], apart: Sequence[RatedApart] = ()) -> Table:
    """The table of agreements already computed, and what is said of the metrics that no two people both rated."""
    ceilings = _ceilings(agreements)
    rows = [
        AgreementRow(agreement, ceilings.get((agreement.metric, agreement.title, agreement.kind)), place)
        for place, agreement in enumerate(agreements)
        if agreement.kind != "person" or _persons(agreements, agreement) <= MOST_PERSONS
    ]
    headings = _headings([row.agreement for row in rows])
    rows.sort(key=lambda row: headings.index(_heading(row.agreement)))
    table = table_of(
        "agreement", "Agreement of raters", rows, COLUMNS,
        group=lambda row: _heading(row.agreement),
        brief=lambda row: row.agreement.kind in ("people", "mean") and not row.agreement.is_any_or_none,
        notes=(*_apart_notes(apart), *noted(NOTES, agreements)),
    )  # fmt: skip
    records = [(place, record) for place, agreement in enumerate(agreements) for record in _records(agreement)]
    positions = {(place, record["statistic"]): position for position, (place, record) in enumerate(records)}

    statistics = {column.title: column.statistic for column in COLUMNS if isinstance(column, StatisticColumn)}

    def linked(row: AgreementRow, cell: Cell, heading: Heading) -> Cell:
        return replace(cell, record=positions.get((row.place, statistics.get(heading.title))))

    return replace(
        table,
        rows=tuple(
            replace(shown, cells=tuple(map(partial(linked, row), shown.cells, table.columns)))
            for row, shown in zip(rows, table.rows, strict=True)
        ),
        records=(*(record for _, record in records), *map(_apart_record, apart)),
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
        ordered += sorted(of_rater, key=lambda agreement: agreement.kind == "consensus" and _is_of_two(agreement))
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


# -- The answer of agreement, with audits and second ratings ---------------------------------------------


def agreement_tables(
    view: RatingsView,
    compute: Callable[[Sequence[str] | None], tuple[Agreement, ...]],
    *,
    metrics: Sequence[str] | None,
    raters: Sequence[str] | None,
    confusion: bool,
    seed: int,
) -> Tables[tuple[Agreement, ...]]:
    """Agreement of raters who rated on their own, then what people say of judges whose ratings they were shown,
    and how well people agree with themselves.

    Args:
        view: the ratings.
        compute: gives the agreements on metrics that match these patterns, or on all.
        metrics, raters: names or patterns that choose them; they choose the audits, too. A rubric that was only audited
            is no metric of independent raters.
        confusion: whether to show who gave what.
        seed: of what is drawn at random.

    Raises:
        NothingError: there are neither.
        DataError: an unknown name or option.
    """
    verdicts = audits(view, metrics=metrics, raters=raters)
    rated = None if metrics is None else [pattern for pattern in metrics if view.metrics_like(pattern)]
    agreements: tuple[Agreement, ...] = ()
    try:
        if rated != [] or not verdicts:
            agreements = compute(rated)
    except NothingError:
        if not verdicts:
            raise
    tables: list[Table] = []
    apart: Sequence[RatedApart] = ()
    if agreements:
        apart = rated_apart(view, agreements, metrics=rated, raters=raters)
        agreement = agreement_table(agreements, apart)
        tables.append(replace(agreement, notes=(*agreement.notes, *audit_notes(view), *preferences_apart(view))))
        tables += confusion_tables(agreements) if confusion else ()
    tables += _generality_tables(view, agreements, seed)
    marked = marked_spans(view, metrics=rated, raters=raters, seed=seed) if rated != [] else ()
    tables += [spans_table(marked)] if marked else []
    tables += [audits_table(verdicts)] if verdicts else []
    if rated != []:
        with suppress(NothingError):
            again = retests(by_raters(view, raters), metrics=rated, seed=seed)
            from bedside.reports.tables.retest import retest_table

            tables.append(retest_table(again))
    return Tables(tables, agreements, findings=agreement_findings(agreements, apart))


class _Coefficients(NamedTuple):
    """A row on whether other people would say the same: Φ and G of one person's ratings, and of as many as usual."""

    generality: Generality
    phi: Result
    g: Result
    phi_of_mean: Result
    g_of_mean: Result

    @classmethod
    def of(cls, generality: Generality) -> _Coefficients:
        kinds: tuple[ErrorKind, ...] = ("absolute", "relative")
        counts = (1, generality.usual)
        return cls(generality, *(generality.study.coefficient(kind, raters=n) for n in counts for kind in kinds))

    def needed(self) -> str:
        """The fewest raters whose mean is dependable, with the interval that one rater's Φ gives."""
        values = [self.phi.estimate, *((self.phi.interval.high, self.phi.interval.low) if self.phi.interval else ())]
        needed, *bounds = [str(raters_for(value or 0.0, _DEPENDABLE) or f">{MOST_RATERS}") for value in values]
        return f"{needed} [{', '.join(bounds)}]"

    def record(self) -> dict[str, float | None]:
        study = self.generality.study
        return {
            "variance_units": study.of_cases, "variance_raters": study.of_raters,
            "variance_units_by_raters": study.of_both, "variance_repeats": study.of_repeats,
            "raters_needed": raters_for(self.phi.estimate or 0.0, _DEPENDABLE),
            "raters_needed_relative": raters_for(self.g.estimate or 0.0, _DEPENDABLE),
        }  # fmt: skip


def _variances(row: _Coefficients) -> str:
    study = row.generality.study
    shares = (study.of_cases, study.of_raters, study.of_both + (study.of_repeats or 0.0))
    return " / ".join(f"{100 * share / sum(shares):.0f}" for share in shares)


GENERALITY_COLUMNS = (
    recorded(metric="generality.metric"),
    Column("Metric", "left", text=lambda row: row.generality.facts.title),
    Column("Raters", field="raters", value="generality.study.raters"),
    Column("Units", field="units", value="generality.study.cases"),
    Column("Units / raters / rest, %", text=_variances),
    recorded(_Coefficients.record),
    Column("Φ of one [95 % CI]", text=lambda row: share_words(row.phi)),
    Column("Mean of", field="mean_of", value="generality.usual"),
    Column("Its Φ [95 % CI]", text=lambda row: share_words(row.phi_of_mean)),
    Column("Its G", text=lambda row: decimal(row.g_of_mean.estimate)),
    bounded(phi="phi", g="g", phi_of_mean="phi_of_mean", g_of_mean="g_of_mean"),
    Column(f"Raters for {decimal(_DEPENDABLE)}", text=_Coefficients.needed),
)  # fmt: skip


def generality_table(generalities: Sequence[Generality], unknown: Mapping[str, str]) -> Table:
    """Whether other people would say the same, a row for each metric.

    Args:
        generalities: those of metrics that tell it.
        unknown: of the others, by title, why not.
    """
    reasons: dict[str, list[str]] = {}
    for title, reason in unknown.items():
        reasons.setdefault(reason, []).append(title)
    return table_of(
        "generalisability", "Would other people say the same?", map(_Coefficients.of, generalities), GENERALITY_COLUMNS,
        notes=(
            "Variances of units, people and the rest are those of a mixed model (REML), in per cent of their sum. "
            "Φ: share that units make of the variance of ratings, where each unit may have other raters. Mean of: "
            "people who rated a unit, usually. G: the same as Φ where the same people rate all units.",
            f"Raters for {decimal(_DEPENDABLE)}: people whose mean has that Φ, with what the interval of one "
            "person's Φ gives. Intervals are fiducial, and as wide as if units of one case told the same.",
            *(f"Not told of {', '.join(titles)}: {reason}." for reason, titles in reasons.items()),
        ),
    )  # fmt: skip


def _generality_tables(view: RatingsView, agreements: Sequence[Agreement], seed: int) -> list[Table]:
    """Whether other people would say the same, on metrics with an order that two or more people rated."""
    rated = [own for own in agreements if own.kind == "people" and own.level != "nominal"]
    chosen = sorted({rater for own in rated for rater in own.raters})
    names = list(dict.fromkeys(own.metric for own in rated))
    known, unknown = generalities(view, names, raters=chosen, seed=seed)
    return [generality_table(known, {view.facts(name).title: why for name, why in unknown.items()})] if known else []


SPAN_COLUMNS = (
    recorded("metric", raters=lambda row: ", ".join(row.raters)),
    Column("Metric", "left", text=lambda row: row.facts.title),
    Column("Raters", text=lambda row: str(len(row.raters))),
    recorded(units="alpha.n", alone="alpha.dropped", missing=lambda row: row.alpha.missing or row.gamma.missing),
    Column("Units", text=lambda row: n_of(row.alpha.n, row.alpha.n + row.alpha.dropped)),
    Column("uα [95 % CI]", field="unitized_alpha", value="alpha", form=share_words),
    Column("γ [95 % CI]", field="gamma", form=share_words),
)


def spans_table(shown: Sequence[SpanAgreement]) -> Table:
    """How well raters agree on the turns that they mark."""
    counts = sum({(row.metric, who): own for row in shown for who, own in row.named.items()}.values(), Counter[str]())
    absent, turned = n_of(counts["absent"], counts["named"]), counted(counts["reversed"], "range")
    said = [f"{absent} turns named don't exist there, and are left out."] if counts["absent"] else []
    said += [f"{turned} of turns named from last to first, read from first to last."] if counts["reversed"] else []
    table = table_of(
        "spans", "Do raters mark the same turns?", shown, SPAN_COLUMNS,
        group=lambda row: _HEADINGS["people"] if all(map(is_human, row.raters))
        else " and ".join(map(rater_words, row.raters[::-1])),
        notes=(
            "Marked are people's evidence, and the turns that a judge's reason names outside quotes. Turns that adjoin "
            "are one span. A rating without such turns marks none. Units are not weighted.",
            "uα: Krippendorff's unitised alpha (2016), by the turns that raters agree on. γ: Mathet's (2015), by the "
            "best alignment of spans. Of both 1 is the same spans, 0 is chance. Intervals leave out whole cases; where "
            "all units are of one case, units.",
            *(NoteText(text, "spans.named", warns=True) for text in said),
        ),
    )  # fmt: skip
    notes = (NoteText(note, "dash", warns=True) if getattr(note, "id", "") == "dash" else note for note in table.notes)
    return replace(table, notes=tuple(notes))


TABLE = TableKind("agreement", "Agreement of raters", 30, build, AgreementOptions, heading="Agreement", shown="always")
