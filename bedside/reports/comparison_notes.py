"""The notes below tables of comparisons: what was tested on what, how sure each number is, and people as raters."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import polars as pl

from bedside.analysis.comparison import Comparison, Overall
from bedside.analysis.non_inferiority import MarginTest
from bedside.analysis.rater_effects import (
    RaterDesign,
    confounding_in_words,
    names_of,
    people_of,
    rater_design,
    scope_in_words,
)
from bedside.analysis.ratings_view import PEOPLE, RatingsView
from bedside.core.words import counted
from bedside.ratings.names import is_judge
from bedside.reports.notes import Note, NoteText
from bedside.reports.number_text import CORRECTION_WORDS, DASH, WITHOUT_VALUE, number, rater_words
from bedside.reports.table import Table
from bedside.reports.table_notes import chance_notes, chances_by_title, said_once

# -- People as raters in tables -------------------------------------------------------------------------

#: Tables that hold systems against each other pair by pair.
_OF_PAIRS = frozenset(("comparison", "margin", "gate", "ordered"))
#: Systems that a table's notes hold against each other.
_MOST_SYSTEMS = 12
#: How the sentence begins that counts further such warnings.
CONFOUNDED_TOO = "The same holds for"
#: Said where raters are not averaged, beside what says that they are.
RATERS_APART = (
    "Where the answer is about raters like these, people's ratings are not averaged first: each rater has means of "
    "their own."
)
#: Warnings and scopes that notes give one by one.
_MOST_RATERS = 4


def design_notes(designs: Sequence[RaterDesign | None]) -> list[str]:
    """To whom comparisons by people generalise, and which of them rest on other people for each system."""
    from bedside.stats.crossed_raters import SD_RATERS

    present = [design for design in designs if design is not None]
    notes = []
    by_scope: dict[str, list[RaterDesign]] = {}
    for design in present:
        by_scope.setdefault(scope_in_words(design), []).append(design)
    for scope, members in list(by_scope.items())[:_MOST_RATERS]:
        titles = dict.fromkeys(design.facts.title for design in members)
        about = ", ".join(list(titles)[:_MOST_RATERS]) + (" …" if len(titles) > _MOST_RATERS else "")
        note = f"People ({about}): the answer is about {scope}."
        if members[0].difference is not None:
            spreads = [design.difference.details[SD_RATERS] for design in members if design.difference is not None]
            largest = max((spread for spread in spreads if spread is not None), default=None)
            dropped = max(design.difference.dropped for design in members if design.difference is not None)
            if dropped:
                note += f" Cases that some of them did not rate are left out (at most {dropped})."
            gaps = any(design.has_gaps for design in members)
            if gaps:
                note += " With many gaps it weights ratings by what they tell, so it isn't that of the means."
            note += (
                f" Cases and raters are both drawn ({'mixed model' if gaps else 'quasi-F'}); raters differ in this "
                f"difference by {'up to ' if len(members) > 1 else ''}{number(largest, members[0].facts.digits)} (SD)."
            )
        notes.append(note)
    return [*notes, *_confounding_notes(present)]


def with_rater_notes(table: Table, view: RatingsView, answer: Iterable[Table] = ()) -> Table:
    """The table with the notes of :func:`with_people_notes`, of :func:`with_version_notes` and on walks."""
    noted = with_version_notes(with_people_notes(table, view), view, answer)
    notes = tuple(NoteText(text, "raters.walks", warns=True) for text in _walk_notes(table, view))
    return replace(noted, notes=(*noted.notes, *notes)) if notes else noted


def _walk_notes(table: Table, view: RatingsView) -> Iterator[str]:
    """Of each flow in a table: answers that don't count, as the walk doesn't lead to them, and walks that stay open."""
    metrics = {record.get("metric") for record in table.records}
    flows = {rubric.name: rubric for rubric in view.rubrics.values() if rubric.kind == "flow"}
    for flow in flows.values():
        if metrics.isdisjoint(flow.metrics):
            continue
        from bedside.judges.rubric_ratings import BEHIND_OPEN, OFF_WALK, UNANSWERED

        rated = view.ratings.filter(pl.col("metric").is_in([part.name for part in flow.question_rubrics]))
        beside = rated.filter(pl.col("error").is_in([OFF_WALK, BEHIND_OPEN])).height
        if beside:
            yield (
                f"{flow.title}: {beside:,} of {counted(rated['label'].count() + beside, 'answer')} don't count: the "
                "walk doesn't ask for them, or an earlier question is open."
            )
        walks = rated.group_by("transcript_id", "rater", "replicate", "round").agg(
            (pl.col("error") == UNANSWERED).any()
        )
        if walks["error"].any():
            yield (
                f"{flow.title}: {walks['error'].sum():,} of {counted(walks.height, 'walk')} end at an open question "
                "and have no results."
            )


#: The note on a judge of which several versions answered.
VERSIONS_NOTE = "raters.versions"


def with_version_notes(
    table: Table, view: RatingsView, answer: Iterable[Table] = (), *, apart: str = "--by-version"
) -> Table:
    """The table with a warning of each judge in it of which several versions answered, or not known ones.

    Args:
        table: the table; its records say which metrics and raters it shows. Where they name nobody, those of the whole
            answer say it, or all raters count.
        view: the ratings that it was made from.
        answer: the tables that answer the question.
        apart: what takes them apart.
    """
    if view.run is None or not any(map(is_judge, view.raters())):
        return table
    from bedside.analysis.judge_versions import VERSIONS

    if any(record.get("what") == VERSIONS for record in table.records):  # the judge's card
        return table
    metrics = {str(record["metric"]) for record in table.records if record.get("metric")}
    raters = _raters_in([table], view) or _raters_in(answer, view)
    notes = version_notes(view, metrics or None, raters or None, apart=apart)
    return replace(table, notes=(*table.notes, *notes)) if notes else table


def version_notes(
    view: RatingsView,
    metrics: Iterable[str] | None = None,
    raters: Iterable[str] | None = None,
    *,
    apart: str = "bedside agree --by-version",
) -> list[NoteText]:
    """A warning of each judge of which several versions answered, or not known ones.

    Args:
        view: the ratings.
        metrics: those that are looked at; all unless named.
        raters: those that are looked at, juries for their members; all unless named.
        apart: what takes the versions apart.
    """
    from bedside.analysis.judge_versions import NOT_KNOWN, members_of, mixed_versions, version_words

    mixed = mixed_versions(view, metrics)
    shown = {member for rater in (mixed if raters is None else raters) for member in members_of(view, rater)}
    return [
        NoteText(
            (f"Not all versions of {rater_words(rater)} are known" if NOT_KNOWN in versions
             else f"{rater_words(rater)} answered in {len(versions)} versions")
            + f": {version_words(rater, versions)}. Apart: {apart}.",
            VERSIONS_NOTE, warns=True,
        )
        for rater, versions in mixed.items() if rater in shown
    ]  # fmt: skip


def _raters_in(tables: Iterable[Table], view: RatingsView) -> set[str]:
    """The raters, or people, whose names stand in the records of tables."""
    texts = {text for table in tables for record in table.records for text in record.values() if isinstance(text, str)}
    names = {rater: re.compile(rf"(?<![\w:]){re.escape(rater)}(?![\w.+@/-])") for rater in (PEOPLE, *view.raters())}
    return {rater for rater, name in names.items() if any(rater in text and name.search(text) for text in texts)}


def with_people_notes(table: Table, view: RatingsView) -> Table:
    """The table with notes on whom people's numbers in it generalise to, and on systems that other people rated.

    Args:
        table: the table; its records say which metrics, raters and systems it shows. One that holds systems against
            each other pair by pair has such notes for each pair already.
        view: the ratings that it was made from.
    """
    metrics = {str(record["metric"]) for record in table.records if record.get("raters") == PEOPLE}
    if not metrics:
        return table
    by_metric = people_of(view, metrics)
    # Labels are not what estimate corrects.
    weighted = "bedside estimate weights them by their strata." if by_metric else ""
    chances = chance_notes(chances_by_title(view, sorted(metrics)), weighted)
    table = replace(
        table, notes=(*table.notes, *(NoteText(sentence, "people.chances", warns=True) for sentence in chances))
    )
    if not by_metric:
        return table
    if table.name.partition("-")[0] in _OF_PAIRS:
        return table
    # A test of all systems at once that is about raters like these says so itself.
    like = {str(record["metric"]) for record in table.records if record.get("raters_like")}
    raters = sorted(set().union(*(names for metric, names in by_metric.items() if metric not in like)))
    shown = {record.get("system") for record in table.records}
    shown |= {name for record in table.records for name in str(record.get("systems", "")).split(", ")}
    systems = [system for system in view.systems() if system in shown]
    designs = [
        rater_design(view, metric, duo) for metric in by_metric for duo in combinations(systems, 2)
    ] if len(systems) <= _MOST_SYSTEMS else []  # fmt: skip
    scope = [people_note(raters)] if raters else []
    scope += _confounding_notes([design for design in designs if design is not None])
    return replace(table, notes=(*table.notes, *(NoteText(sentence, "people.scope") for sentence in scope)))


def _confounding_notes(designs: Sequence[RaterDesign]) -> list[str]:
    confounded = [design for design in designs if design.is_confounded]
    notes = [confounding_in_words(design) for design in confounded[:_MOST_RATERS]]
    if len(confounded) > _MOST_RATERS:
        notes.append(f"{CONFOUNDED_TOO} {counted(len(confounded) - _MOST_RATERS, 'further comparison')} by people.")
    return notes


def people_note(raters: Sequence[str]) -> str:
    """To whom people's numbers generalise that compare nothing."""
    if len(raters) == 1:
        return f"People's numbers are this rater's: {names_of(raters)}."
    return (
        f"People's numbers are about these {len(raters)} raters ({names_of(raters)}): intervals say what other cases "
        "would give, not what other raters would."
    )


# -- The notes below tables of comparisons --------------------------------------------------------------

#: Of intervals that are not adjusted.
LEVEL = 0.95
#: Metrics that a note names one by one.
_MOST = 6


def is_of_ranks(comparison: Comparison) -> bool:
    """Whether the test is one of ranks, whose estimate is a shift and no difference of means."""
    return comparison.test.name != comparison.difference.name


def _method_notes(comparisons: Sequence[Comparison]) -> Iterator[str]:
    tested = [c for c in comparisons if c.test.p is not None]
    for method in dict.fromkeys(c.test.method for c in tested):
        members = [c for c in tested if c.test.method == method]
        reasons = "; ".join(said_once(c.why for c in members))
        effects = " and ".join(dict.fromkeys(c.test.effect.name for c in members if c.test.effect is not None))
        ways = " or ".join(dict.fromkeys(c.test.interval.method for c in members if c.test.interval))
        what = "Shift" if is_of_ranks(members[0]) else "Difference"
        estimate = f" {what}: {members[0].test.name}{f', interval: {ways}' if ways else ''}."
        sizes = f" Effect: {effects}." if effects else ""
        yield f"{method}: {counted(len(members), 'comparison')}. Why: {reasons}.{estimate}{sizes}"


def _difference_notes(comparisons: Sequence[Comparison]) -> Iterator[str]:
    yield "Difference: mean of the first system minus mean of the second."
    of_ranks = sum(map(is_of_ranks, comparisons))
    if of_ranks:
        yield (
            "Beside a test of ranks, the difference's interval is that of a t test: near .05 it and p may part. The "
            "shift's interval has the shifts that the test doesn't reject."
        )
    if 0 < of_ranks < len(comparisons):
        yield f"Other tests have no shift ({DASH}): theirs is the difference."


def _interval_notes(comparisons: Sequence[Comparison]) -> Iterator[str]:
    intervals = [each.interval for c in comparisons for each in (c.difference, c.test) if each.interval is not None]
    if any((i.low_open and i.low == 0) or (i.high_open and i.high == 0) for i in intervals):
        yield (
            "A round bracket: 0 itself is not inside; where values have few levels, a shift is not known more finely."
        )
    levels = {
        (c.difference.interval.level, c.test.family_size or 1)
        for c in comparisons
        if c.difference.interval is not None and c.difference.interval.level != LEVEL
    }
    if levels:
        listed = ", ".join(f"{100 * level:.4g} % of {size} tests" for level, size in sorted(levels)[:_MOST])
        yield (
            "Intervals are adjusted so that with 95 % confidence all of a family hold at once. Bonferroni's adjustment "
            f"is safe beside Holm's correction of p; the level of each is {listed}."
        )
    if any(c.test.options.get("alternative", "two-sided") != "two-sided" for c in comparisons):
        yield "Tests are one-sided, and an interval has one end: what is on its other side can't be told."


def _look_notes(comparisons: Sequence[Comparison]) -> Iterator[str]:
    if any(c.at_every_look for c in comparisons):
        yield (
            "Intervals and p hold at every look, however many there are (confidence sequences). A case counts once its "
            "planned answers are all in; without a plan, its values must stay. Over a family, α is divided by the "
            "number of tests."
        )


def case_notes(comparisons: Sequence[Comparison]) -> Iterator[str]:
    """What was averaged before a case counts once."""
    if any(not c.entered.is_whole for c in comparisons):
        yield WITHOUT_VALUE
    yield (
        "Each case counts once: what is compared are means over the case's transcripts, and over passes and, among "
        "people, raters of each transcript."
    )
    if any(c.people is not None and c.people.difference is not None for c in comparisons):
        yield RATERS_APART
    counts: dict[str, tuple[int, int]] = {}
    for c in comparisons:
        for system, cases, transcripts in ((c.a, c.cases_a, c.transcripts_a), (c.b, c.cases_b, c.transcripts_b)):
            counts[system] = max(counts.get(system, (0, 0)), (cases, transcripts))
    averaged = {system: n for system, n in counts.items() if n[1] > n[0]}
    if averaged:
        listed = ", ".join(
            f"{system} {counted(transcripts, 'transcript')} of {counted(cases, 'case')}"
            for system, (cases, transcripts) in averaged.items()
        )
        yield f"Averaged by case, at most: {listed}; the CSV has both numbers by comparison."
    caseless = max((c.caseless for c in comparisons), default=0)
    if caseless:
        yield f"{counted(caseless, 'transcript')} without a case count as cases of their own."


def _count_notes(comparisons: Sequence[Comparison]) -> Iterator[str]:
    zeros = sum(c.zeros or 0 for c in comparisons)
    ties = sum(c.ties for c in comparisons)
    if zeros or ties:
        yield (
            f"Zeros over all comparisons (pairs without a difference): {zeros}. Ties (differences of one size, or "
            f"unpaired values that are equal): {ties}. The CSV has both by comparison."
        )
    alone = sum(c.alone_a + c.alone_b for c in comparisons)
    if alone:
        had = "had no partner on its case and was" if alone == 1 else "had no partner on their case and were"
        yield f"{counted(alone, 'value')} {had} left out; the CSV has them by comparison."
    unmatched = sum(c.unmatched_a + c.unmatched_b for c in comparisons)
    if unmatched:
        yield (
            f"{counted(unmatched, 'value')} of transcripts in settings that the other system doesn't have there were "
            "left out; the CSV has them by comparison."
        )


def label_notes(comparisons: Sequence[Comparison] | Sequence[MarginTest]) -> Iterator[str]:
    """What of ordered labels is compared."""
    for labels in dict.fromkeys(c.ordered for c in comparisons if c.ordered):
        titles = ", ".join(dict.fromkeys(c.facts.title for c in comparisons if c.ordered == labels))
        yield f"{titles}: labels by their place, from 0 for {labels[0]} to {len(labels) - 1} for {labels[-1]}."


def _missing_notes(comparisons: Sequence[Comparison]) -> Iterator[str]:
    tested = [c for c in comparisons if c.test.p is not None]
    for lacking, without in (
        (f"p ({DASH})", [c.test for c in comparisons if c.test.p is None]),
        ("an interval", [c.difference for c in tested if c.difference.interval is None]),
        ("an interval of the shift", [c.test for c in tested if c.test.interval is None and c.difference.interval]),
    ):
        for reason in dict.fromkeys(result.missing for result in without):
            count = sum(result.missing == reason for result in without)
            yield f"{counted(count, 'comparison')} without {lacking}: {_reason(reason)}."
    without_effect = [c for c in tested if c.test.effect is None or c.test.effect.estimate is None]
    for reason in dict.fromkeys(_effect_reason(c) for c in without_effect):
        count = sum(_effect_reason(c) == reason for c in without_effect)
        yield f"{counted(count, 'comparison')} without an effect size ({DASH}): {reason}."


def _effect_reason(comparison: Comparison) -> str:
    effect = comparison.test.effect
    return "the test has none" if effect is None else _reason(effect.missing)


def _reason(missing: str | None) -> str:
    """Why something is missing, without the words that say what is."""
    words = missing or "it can't be computed"
    return words.partition(": ")[2] or words if words.startswith("no ") else words


def left_out_notes(left_out: Mapping[str, str]) -> Iterator[str]:
    """Which metrics have no comparison, and why."""
    for reason in dict.fromkeys(left_out.values()):
        names = [name for name, why in left_out.items() if why == reason]
        more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
        yield f"Not compared: {', '.join(names[:_MOST])}{more} ({reason})."


def correction_notes(tested: Sequence[Comparison] | Sequence[Overall]) -> list[str]:
    """Which correction was made in which families; only the size of the families where they are many."""
    families = dict.fromkeys(
        (comparison.test.correction, comparison.test.family, comparison.test.family_size) for comparison in tested
    )
    if len(families) > 3:
        sizes = sorted({size or 0 for _, _, size in families})
        correction = next(iter(families))[0]
        return [f"p corrected by {CORRECTION_WORDS[correction]} within {len(families)} families of {sizes[0]} to "
                f"{sizes[-1]} tests, one a metric or heading."]  # fmt: skip
    return [f"p corrected by {CORRECTION_WORDS[correction]} within the family “{family}” of "
            f"{counted(size or 0, 'test')}."
            for correction, family, size in families]  # fmt: skip


#: The notes below a table of comparisons.
COMPARISON_NOTES = (
    Note("comparison.methods", _method_notes, ("Difference", "Shift", "p")),
    Note("comparison.correction", correction_notes, ("p corrected",)),
    Note("comparison.difference", _difference_notes, ("Difference", "Shift", "p")),
    Note("comparison.intervals", _interval_notes, ("Difference", "Shift")),
    Note("comparison.looks", _look_notes, ("Difference", "p")),
    Note("comparison.cases", case_notes, ("Cases",)),
    Note("comparison.counts", _count_notes, ("Cases",)),
    Note("comparison.labels", label_notes, ("Means",), warns=True),
    Note("comparison.people", lambda comparisons: design_notes([pair.people for pair in comparisons])),
    Note("comparison.missing", _missing_notes),
)
