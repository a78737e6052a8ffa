"""Tables of a jury: who is in it, whether its members agree, and whether it beats the best of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bedside.analysis.agreement_gain import AgreementGain
from bedside.analysis.jury_agreement import JuryAgreement
from bedside.core.words import counted
from bedside.ratings.juries import Jury
from bedside.reports.number_text import DASH, decimal, number
from bedside.reports.result_text import bounded_record, plain_words, share_words
from bedside.reports.table import Table
from bedside.reports.table_content import Cell, Column, Row

#: How a jury's rule makes one rating of several, in words.
_RULES: Mapping[str, str] = {
    "mean": "the level nearest the mean of the members' levels; halfway between two levels it is missing",
    "median": "the median of the members' levels; between two different ones it is missing",
    "majority": "the level that most members gave; where several have as many votes it is missing",
    "weights": "the level nearest the weighted mean of the members' levels; halfway between two levels it is missing",
}


def jury_words(jury: Jury) -> str:
    """A jury in a sentence, as a paper would say it."""
    by = (
        "weights learnt from people's ratings of some cases"
        if jury.rule == "weights"
        else f"their {jury.rule}"
    )
    if jury.rule == "majority":
        by = "the level that most of them gave"
    quorum = "" if jury.quorum == len(jury.members) else f" where {jury.quorum} of them rated"
    return (
        f"{jury.rater} is a jury of {', '.join(jury.members)}: their ratings combined by {by}{quorum}; labels by most "
        "votes, ties missing."
    )


def jury_tables(agreements: Sequence[JuryAgreement]) -> tuple[Table, ...]:
    """A jury's members and what they come to; and where people rated, the jury beside each member."""
    tables = [_members_table(agreements)]
    if any(agreement.gains for agreement in agreements):
        tables.append(_gains_table(agreements))
    return tuple(tables)


def _members_table(agreements: Sequence[JuryAgreement]) -> Table:
    rows, records = [], []
    for agreement in agreements:
        statistics = agreement.statistics
        cells = (
            agreement.facts.title,
            f"{agreement.ratings:,}",
            f"{sum(agreement.missing.values()):,}",
            share_words(statistics.get("kappa")),
            share_words(statistics.get("alpha")),
            share_words(statistics.get("ac")),
            f"{agreement.units:,}",
            f"{agreement.cases:,}",
        )
        rows.append(Row(tuple(map(Cell, cells))))
        records.append(
            {
                "jury": agreement.jury.rater, "metric": agreement.metric, "ratings": agreement.ratings,
                "missing": sum(agreement.missing.values()), "units": agreement.units, "cases": agreement.cases,
                **{f"weight of {member}": weight for member, weight in agreement.weights.items()},
                **bounded_record("kappa", statistics.get("kappa")),
                **bounded_record("alpha", statistics.get("alpha")),
                **bounded_record("ac", statistics.get("ac")),
            }
        )  # fmt: skip
    return Table(
        name="jury",
        title=f"{agreements[0].jury.rater}: its members among themselves",
        columns=(
            Column("Metric", "left"), Column("Ratings"), Column("Missing"), Column("Members' κ [95 % CI]"),
            Column("α [95 % CI]"), Column("AC [95 % CI]"), Column("Units"), Column("Cases"),
        ),
        rows=tuple(rows),
        notes=tuple(_member_notes(agreements)),
        records=tuple(records),
    )  # fmt: skip


def _member_notes(agreements: Sequence[JuryAgreement]) -> Iterator[str]:
    jury = agreements[0].jury
    yield f"A jury of {len(jury.members)}: {', '.join(jury.members)}."
    levels = any(agreement.jury.metrics[agreement.metric].levels for agreement in agreements)
    weighed = "votes by weight" if jury.rule == "weights" else "votes"
    rule = _RULES[jury.rule] if levels else f"the {jury.rule} of the members' numbers"
    yield f"Its rating: {rule}. Labels go by most {weighed}; a tie is missing."
    passes = (
        "their mean"
        if jury.rule in ("mean", "weights")
        else "the most frequent, else the one nearest their mean"
    )
    yield f"A member's passes are taken together first: {passes}."
    if jury.quorum < len(jury.members):
        yield f"A unit needs ratings by {jury.quorum} of the members; the others are left out of it."
    for agreement in agreements:
        if jury.rule == "weights":
            shares = ", ".join(f"{member} {decimal(weight)}" for member, weight in agreement.weights.items())
            learning = jury.learning[agreement.metric]
            yield (
                f"{agreement.facts.title}: weights {shares}, learnt from people's ratings of "
                f"{counted(learning['training']['units'], 'unit')} of "
                f"{counted(learning['training']['cases'], 'case')}"
                + (", too few or too much alike to tell the judges apart" if _are_equal(agreement) else "")
                + "."
            )
        for reason, count in agreement.missing.items():
            yield f"{agreement.facts.title}: {counted(count, 'rating')} missing: {reason}."
    yield "Members' κ: the mean over pairs of members; Units: those that two members rated."


def _are_equal(agreement: JuryAgreement) -> bool:
    weights = list(agreement.weights.values())
    return max(weights) - min(weights) < 1e-9


def _gains_table(agreements: Sequence[JuryAgreement]) -> Table:
    rows, records = [], []
    for agreement in agreements:
        for gain in agreement.gains:
            rows.append(gain_row(gain, agreement.facts.title))
            records.append({"beats_best": agreement.beats_best, **gain_record(gain)})
    return Table(
        name="jury_gain",
        title=f"{agreements[0].jury.rater} and its members beside people",
        columns=gain_columns("Member", "Jury's", "Member's"),
        rows=tuple(rows),
        notes=tuple(_gain_notes(agreements)),
        records=tuple(records),
    )


def _gain_notes(agreements: Sequence[JuryAgreement]) -> Iterator[str]:
    yield from measure_notes([gain for agreement in agreements for gain in agreement.gains])
    for agreement in agreements:
        title = agreement.facts.title
        if agreement.learnt:
            yield (
                f"{title}: of the units that people rated, {agreement.learnt:,} don't count, as "
                "the jury or a member of it learnt from them or from others of their cases."
            )
        verdict = {
            True: "the jury agrees with people better than its best member",
            False: "that the jury agrees with people better than its best member is not shown",
            None: "whether the jury agrees with people better than its best member can't be said",
        }[agreement.beats_best]
        yield f"{title}: {verdict}."
    yield (
        "It beats its best member where it beats every member with its whole interval: which of them is best is not "
        "known, and the one that looks best on these units does so by luck, too."
    )


def gain_columns(other: str, own: str, others: str) -> tuple[Column, ...]:
    """The columns of a table of gains: whom a rater is held against, and what its own and the others' figures are."""
    return (
        Column(other, "left"), Column(f"{own} κ"), Column(f"{others} κ"), Column("Difference [95 % CI]"),
        Column("Units"), Column("Cases"), Column("People"),
    )  # fmt: skip


def gain_row(gain: AgreementGain, group: str | None) -> Row:
    """A row of a table of gains."""
    shown = decimal if gain.by_kappa else number
    cells = (
        gain.other,
        shown(gain.own),
        shown(gain.others),
        plain_words(gain.gain) if gain.gain.estimate is not None else f"{DASH} ({gain.gain.missing})",
        f"{gain.units:,}",
        f"{gain.cases:,}",
        f"{gain.people:,}",
    )
    return Row(tuple(map(Cell, cells)), group)


def gain_record(gain: AgreementGain) -> dict[str, Any]:
    """A record of a table of gains."""
    return {
        "metric": gain.metric, "rater": gain.rater, "other": gain.other, "units": gain.units, "cases": gain.cases,
        "people": gain.people, "measure": "kappa" if gain.by_kappa else "distance", "own": gain.own,
        "others": gain.others, **bounded_record("difference", gain.gain), "better": gain.better,
    }  # fmt: skip


def measure_notes(gains: Sequence[AgreementGain]) -> Iterator[str]:
    """What the numbers of gains are."""
    if any(gain.by_kappa for gain in gains):
        yield (
            "κ: mean of Cohen's kappa with each person, on the units that both and a person rated. The difference's "
            "interval is the jackknife's by case, with t: above 0, the first agrees better."
        )
    titles = [gain.facts.title for gain in gains if not gain.by_kappa]
    if titles:
        yield (
            f"{', '.join(dict.fromkeys(titles))} {'is' if len(set(titles)) == 1 else 'are'} on no scale: in place of κ "
            "stands the mean distance from people's mean, and the difference is how much nearer the first is."
        )
