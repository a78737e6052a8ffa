"""The safety card: how often each system missed what people at risk needed, and how badly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from bedside.analysis.people_at_risk import GRADES, NEEDS, Escalation, NeedMissed, PersonAtRisk, escalation
from bedside.analysis.ratings_view import ALL, RatingsView
from bedside.analysis.selection import NothingError
from bedside.core.words import counted
from bedside.reports.columns import Column, Table, ends, recorded, table_of
from bedside.reports.notes import Note, note
from bedside.reports.number_text import DASH, between, number, rater_words, share_words
from bedside.reports.table_content import Cell, Heading, Row
from bedside.reports.table_kind import TableKind

_TITLE = "Safety card: what people at risk did not get"
#: Headings of the screen.
_MEANS, _OFTEN, _WITH_WHOM = "[95 % CI]; 0 is worst", "How often missed", "With whom, worst"


COLUMNS = (
    recorded(cell=lambda row: f"{row.metric}@{row.raters}/{row.system}", metric="metric", raters="raters",
             system="system"),
    Column("", "left", text=lambda row: f"{row.facts.title} ({rater_words(row.raters)})"),
    Column("Missed", field="missed", value="missed", text=lambda row: f"{row.missed:,} of {row.rated:,}",
           transcript=lambda row: row.worst_of),
    recorded("rated", "of", estimate="share.estimate", statistic=lambda row: "share missed"),
    Column("Share [95 % CI]", text=lambda row: share_words(row.share)),
    recorded(lambda row: ends(row.share)),
    Column("Worst level", field="worst", value="worst"),
    Column("No level", text=lambda row: number(row.of - row.rated, 0) if row.of > row.rated else DASH),
    recorded(missing=lambda row: "; ".join(f"{count} {reason}" for reason, count in row.unrated.items())),
)  # fmt: skip
MEANING = Note(
    "safety card.meaning",
    "Missed: conversations that any of these raters gave the rubric's failing level or a worse one. Worst level: how "
    "many of these have level 0. Intervals take cases as clusters (Wilson, with t). No level: no transcript, not "
    "rated, or the rubric can't apply, as where the risk was never told.",
)


@note("safety card.no level", "No level")
def no_level(rows: Sequence[NeedMissed]) -> Iterator[str]:
    """Why conversations have no level."""
    reasons: Counter[str] = Counter()
    for row in rows:
        reasons.update({f"{row.facts.title}: {reason}": count for reason, count in row.unrated.items()})
    yield from (f"{reason} ({count:,})." for reason, count in sorted(reasons.items()))


def card_table(at_risk: Escalation, sentences: Sequence[str] = ()) -> Table:
    """The table of what was already counted, with sentences below it."""
    return table_of(
        "safety_card", _TITLE, at_risk.needs, COLUMNS, group=lambda row: row.system,
        notes=(*sentences, MEANING, no_level),
    )  # fmt: skip


def safety_sentences(at_risk: Escalation) -> list[str]:
    """In how many conversations each system missed something, in how many it isn't known, and the worst of all."""
    said = []
    for system, people in at_risk.people.items():
        missed = sum(bool(person.missed) for person in people)
        open_ones = sum(not person.missed and not person.lost and bool(person.unknown) for person in people)
        lost = Counter(person.lost for person in people if person.lost)
        failed = sum(person.failed for person in people)
        conversations = f"{counted(len(people), 'conversation')} with people at risk"
        who = "Of all systems together" if system == ALL else system
        why = ", ".join(f"{reason} {count:,}" for reason, count in sorted(lost.items()))
        rest = [
            *([f"in {open_ones:,} more it isn't known, as needs have no level"] if open_ones else []),
            *([f"nothing is known of {lost.total():,} of {len(people):,} ({why})"] if lost else []),
            *([f"the clinician failed {failed:,} of {len(people):,}"] if failed else []),
        ]
        if open_ones + lost.total() == len(people):
            first, rest = f"it isn't known what was missed in {conversations}", rest if lost or failed else []
        else:
            first = f"something was missed in {missed:,} of {conversations}"
        said.append(f"{who}: {'; '.join((first, *rest))}.")
    if at_risk.untold:
        said.append(
            f"{counted(at_risk.untold, 'more conversation')} without a transcript: whether these people are at risk "
            "isn't known."
        )
    if at_risk.missed:
        said.append(f"Worst: {at_risk.missed[0].transcript}.")
    if at_risk.odd_grades:
        grades = ", ".join(grade for grade in GRADES if grade)
        said.append(f"No grades, and taken for below high: {', '.join(at_risk.odd_grades)} (known: {grades}).")
    return said


def missed_words(person: PersonAtRisk) -> str:
    """What was missed, each need with its level."""
    return ", ".join(f"{need} {level:g}" for need, level in person.missed.items())


def safety_screen(at_risk: Escalation) -> Table:
    """How often each need was missed, by any rater, and with whom and how badly, with the systems side by side."""
    by_need = {name: dict.fromkeys(at_risk.people, "no level") for name in NEEDS}
    for need in at_risk.pooled:
        name = next(name for name, rubric in NEEDS.items() if need.metric == rubric)
        interval = need.share.interval
        words = f"{need.missed:,} of {need.rated:,}" + (f" {between(interval.low, interval.high)}" if interval else "")
        if need.rated:
            by_need[name][need.system] = words
    by_person: dict[str, dict[str, list[PersonAtRisk]]] = {}
    everybody = [person for people in at_risk.people.values() for person in people]
    for person in (*at_risk.missed, *everybody):
        by_person.setdefault(_person(person), {})
    for person in everybody:
        by_person[_person(person)].setdefault(person.system, []).append(person)
    rows = [_screen_row(title, cells, at_risk, _OFTEN) for title, cells in by_need.items()]
    rows += (
        _screen_row(title, {system: _with_person(people) for system, people in own.items()}, at_risk, _WITH_WHOM)
        for title, own in by_person.items()
        if any(
            any(person.missed for person in people) or all(person.lost for person in people) for people in own.values()
        )
    )
    columns = (Heading(_MEANS, "left", brief=True), *(Heading(system, "left", brief=True) for system in at_risk.people))
    return Table("safety_card", _TITLE, columns, tuple(rows))


def _person(person: PersonAtRisk) -> str:
    return f"{person.case}: {person.risk}, {person.grade or DASH}"


def _with_person(people: Sequence[PersonAtRisk]) -> str:
    """In how many conversations with a person something was missed, and what in the worst."""
    missed = [person for person in people if person.missed]
    lost = sum(bool(person.lost) for person in people)
    unknown = sum(not person.missed and not person.lost and bool(person.unknown) for person in people)
    if lost == len(people):
        return f"nothing known ({lost:,} of {lost:,})"
    often = f"{len(missed):,} of {len(people):,}" + (f" ({lost + unknown:,} not known)" if lost + unknown else "")
    return f"{often}: {missed_words(missed[0])}" if missed else often


def _screen_row(title: str, cells: Mapping[str, str], at_risk: Escalation, group: str) -> Row:
    return Row((Cell(title), *(Cell(cells.get(system, DASH)) for system in at_risk.people)), group)


def build(view: RatingsView, _seed: int = 0) -> Table | None:
    """The card; None where nobody at risk was rated."""
    try:
        at_risk = escalation(view)
    except NothingError:
        return None
    return card_table(at_risk, safety_sentences(at_risk))


TABLE = TableKind("safety_card", _TITLE, 8, build, shown="first", averages=False)
