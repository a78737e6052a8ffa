"""Audits: how often people confirm a judge's ratings that they are shown, and which way they correct the rest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import polars as pl
from pydantic import Field

from bedside.analysis.audits import Audit, audits
from bedside.analysis.ratings_view import RatingsView
from bedside.core.words import counted
from bedside.ratings.rubric_metrics import agreement_metric
from bedside.reports.columns import Column, Table, bounded, ends, recorded, table_of
from bedside.reports.measures import Headed
from bedside.reports.notes import Note, note
from bedside.reports.number_text import DASH, number, rater_words, share_words
from bedside.reports.table_kind import Options, TableKind

_TITLE = "Audits: a judge's ratings that people were shown"
#: Fewer cases than this make a rough interval.
_FEW = 10


def _heading(verdict: Audit) -> str:
    words = "Judge not recorded" if verdict.judge is None else f"{rater_words(verdict.judge)}, as people see it"
    return words if verdict.round is None else f"Round {verdict.round}: {words}"


def _majority(verdict: Audit) -> str:
    ties = f", {counted(verdict.ties, 'tie')}" if verdict.ties else ""
    return f"{verdict.by_majority:,} of {verdict.units:,}{ties}"


def _others(verdict: Audit) -> str:
    parts = [f"{word} {count:,}" for word, count in verdict.corrections.items()]
    if verdict.uncorrected:
        parts.append(f"not what else {verdict.uncorrected:,}")
    return ", ".join(parts) or DASH


COLUMNS = (
    recorded(
        cell=lambda own: f"{own.round or ''}/{own.title}/{own.judge or 'not recorded'}/{own.level or 'any'}".strip("/"),
        metric="rubric", title="title", judge="judge", round="round",
    ),
    Column("Metric", "left", text=lambda own: own.title if own.level is None else ""),
    Column("Judge gave", field="judge_gave", value="level", form=lambda level: "any" if level is None else level),
    recorded(people=lambda own: ", ".join(own.people)),
    Column("Units", field="units"),
    recorded("transcripts", "cases", "chances", "picked", "by_majority", "ties",
             statistic=lambda own: "share confirmed", estimate="confirmed.estimate"),
    recorded(lambda own: ends(own.confirmed)),
    recorded(interval=lambda own: own.confirmed.interval.method if own.confirmed.interval else None, n="confirmed.n"),
    Column("People", text=lambda own: str(len(own.people))),
    Column("Answers", field="answers"),
    Column("Confirmed [95 % CI]", text=lambda own: share_words(own.confirmed)),
    Column("By majority", text=_majority),
    Column("The others say", "left", text=_others),
    recorded(
        answers_confirming="confirming",
        others=lambda own: "; ".join(f"{word} {count}" for word, count in own.corrections.items()),
        others_without_answer="uncorrected", answers_missing="missing", missing="confirmed.missing",
    ),
)  # fmt: skip


#: Of a judge's lists, after the share confirmed.
LIST_COLUMNS = (
    Column("Precision [95 % CI]", text=lambda own: share_words(own.precision)),
    Column("Recall [95 % CI]", text=lambda own: share_words(own.recall)),
    bounded(precision="precision", recall="recall"),
)


def _per_cent(part: int, whole: int) -> str:
    return number(100 * part / whole if whole else None, 1)


#: As a source prints them: of answers and units as they were given, whatever their chances.
SHARES = (
    COLUMNS[0],
    Column("Metric", "left", value="title", text=lambda own: own.title),
    recorded("transcripts", "cases", "chances", "picked", "by_majority", "ties", answers_confirming="confirming",
             answers_missing="missing"),
    Column("People", text=lambda own: str(len(own.people))),
    Column("Items", field="units"),
    Column("Answers", field="answers"),
    Column("Confirmed (%)", text=lambda own: _per_cent(own.confirming, own.answers),
           note="Confirmed: of people's answers, those that say that the judge is right; without weights."),
    Column("By majority (%)", text=lambda own: _per_cent(own.by_majority, own.units),
           note="By majority: of items, those that more than half of their people confirm; a tie is no majority."),
)  # fmt: skip


def _of_units(verdicts: Sequence[Audit]) -> list[Audit]:
    """Those of all that a judge gave, not of one level."""
    return [verdict for verdict in verdicts if verdict.level is None]


def _several(verdicts: Sequence[Audit]) -> bool:
    """Whether several people audited some unit."""
    return any(verdict.answers > verdict.units for verdict in verdicts)


@note("audits.meaning")
def meaning(verdicts: Sequence[Audit]) -> Iterator[str]:
    """What the numbers are."""
    majority = "By majority: units on which more than half of those who audited them say so. "
    yield (
        "Confirmed: share of people's answers that say that the judge is right. "
        f"{majority if _several(verdicts) else ''}"
        "The others say: how many answers that don't confirm give what instead."
    )


LISTS = Note(
    "audits.lists",
    "Precision: of the entries of the judge's lists, those that people keep by its label. Recall: of all entries of "
    "the corrected lists, those. Of lists, the others say how many entries they remove, move and add.",
)
SEEN = Note(
    "audits.seen",
    "People saw the judge's rating first, which draws them towards it: this is no agreement of independent raters, and "
    "no κ is given.",
)


@note("audits.intervals", "Confirmed [95 % CI]")
def intervals(verdicts: Sequence[Audit]) -> Iterator[str]:
    """How intervals were made, and that some rest on little."""
    whole = _of_units(verdicts)
    nested = [verdict for verdict in whole if verdict.answers > verdict.cases]
    methods = dict.fromkeys(verdict.confirmed.interval.method for verdict in verdicts if verdict.confirmed.interval)
    if methods:
        drawn = "cases" if any(verdict.cases < verdict.transcripts for verdict in whole) else "transcripts"
        yield f"Intervals: {'; or '.join(methods)}.{f' Clusters: {drawn}.' if nested else ''}"
    fewest = min(nested, key=lambda verdict: verdict.cases, default=None)
    if fewest is not None and fewest.cases < _FEW:
        drawn = counted(fewest.cases, "case" if fewest.cases < fewest.transcripts else "transcript")
        yield f"Some rest on only {drawn}: their intervals are rough."


@note("audits.chances", "Confirmed [95 % CI]")
def chances(verdicts: Sequence[Audit]) -> Iterator[str]:
    """How the audited units were drawn, where not with one chance."""
    whole = _of_units(verdicts)
    unequal, none = (
        list(dict.fromkeys(verdict.title for verdict in whole if verdict.chances == how)) for how in ("unequal", "none")
    )
    if unequal:
        yield (
            f"{', '.join(unequal)}: units were drawn with unequal chances, as the plan's strata have it. The share "
            "confirmed is of all units that they were drawn from: each answer is weighted by one over its unit's "
            "chance. What is counted is counted as it was answered."
        )
    if none:
        yield (
            f"{', '.join(none)}: units were picked for what they are, such as disagreement, and not drawn. The share "
            "confirmed is about these units, and would differ if all had been audited."
        )
    for verdict in whole:
        if verdict.picked:
            yield (
                f"{verdict.title}: {counted(verdict.picked, 'unit')} picked for what they are (such as disagreement), "
                "and not drawn, are left out."
            )


@note("audits.missing", "Units")
def missing(verdicts: Sequence[Audit]) -> Iterator[str]:
    """Answers that don't count."""
    left_out = sum(verdict.missing for verdict in _of_units(verdicts))
    if left_out:
        yield f"Left out, as they were skipped or say two things at once: {counted(left_out, 'answer')}."


def audits_table(verdicts: Sequence[Audit]) -> Table:
    """The table of audits already computed.

    Where one person audited each unit, answers are units, and there is no majority.
    """
    of_lists = any(verdict.precision for verdict in verdicts)
    columns = (*COLUMNS[:-3], *LIST_COLUMNS, *COLUMNS[-3:]) if of_lists else COLUMNS
    notes = (meaning, *((LISTS,) if of_lists else ()), SEEN, intervals, chances, missing)
    table = table_of("audits", _TITLE, verdicts, columns, group=_heading, notes=notes)
    needless = () if _several(verdicts) else ("Answers", "By majority")
    return table.of_columns([place for place, column in enumerate(table.columns) if column.title not in needless])


class AuditsOptions(Options):
    """What a table of audits shows.

    Attributes:
        by_round: each round of annotation by itself, where there are several.
        rounds: the order of rounds; others stand after these.
        metrics: the audited rubrics in their order, as a source prints them: shares in per cent, no levels; all with
            intervals and levels unless named.
    """

    by_round: bool = False
    rounds: tuple[str, ...] = ()
    metrics: Headed = Field(default_factory=dict)


def build(view: RatingsView, _seed: int, options: AuditsOptions) -> Table | None:
    """What people say of judges' ratings that they were shown; None where nobody audited."""
    verdicts = audits(view)
    answers = [agreement_metric(rubric) for rubric in view.audited_rubrics()]
    rounds = view.ratings.filter(pl.col("metric").is_in(answers))["round"].unique()
    if options.by_round and len(rounds) > 1:
        order = sorted(rounds, key=lambda name: (name not in options.rounds, *map(name.__ne__, options.rounds), name))
        parts = {name: replace(view, ratings=view.ratings.filter(round=name)) for name in order}
        verdicts = tuple(replace(own, round=name) for name, part in parts.items() for own in audits(part))
    measures = [measure for measures in options.metrics.values() for measure in measures]
    if measures:
        titles = {measure.metric: measure.title for measure in measures}
        order = [*titles]
        whole = [own for own in _of_units(verdicts) if own.rubric in titles]
        heads = [*dict.fromkeys(map(_heading, whole))]
        whole.sort(key=lambda own: (heads.index(_heading(own)), order.index(own.rubric)))
        whole = [replace(own, title=titles[own.rubric] or own.title) for own in whole]
        notes = (SEEN, missing)
        return options.finish(table_of("audits", _TITLE, whole, SHARES, group=_heading, notes=notes)) if whole else None
    return options.finish(audits_table(verdicts)) if verdicts else None


TABLE = TableKind("audits", _TITLE, 31, build, AuditsOptions, heading="Audits", shown="always", beside_published=True)
