"""The table of a judge's probes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from bedside.analysis.metric_facts import facts
from bedside.analysis.ratings_view import RatingsView
from bedside.core.words import counted
from bedside.judges.rubrics.rubric import Rubric
from bedside.reports.number_text import DASH, decimal, number
from bedside.reports.result_text import bounded_record, plain_words
from bedside.reports.table import Table
from bedside.reports.table_content import Cell, Column, Row
from bedside.stats.equivalence import CASES, PLANNED_POWER
from bedside.tuning.probes.contract import BASE_LINE
from bedside.tuning.probes.movement import ProbeEffect, probe_effects
from bedside.tuning.probes.probe_record import ProbeRecord, probe_records

#: Cases beyond this are said as more than so many.
_MOST_CASES = 10_000


def probe_table(
    record: ProbeRecord, rubrics: Mapping[str, Rubric] | None = None, *, name: str = "probes"
) -> Table:
    """What each change does to a judge's levels.

    Args:
        record: what the judge was probed with.
        rubrics: those of the user's own.
        name: of the table's files.
    """
    effects = probe_effects(record)
    rows = [
        Row(tuple(map(Cell, _cells(effect))), facts(rubric, rubrics or {}).title)
        for rubric, of_rubric in groupby(effects, key=lambda effect: effect.rubric)
        for effect in of_rubric
    ]
    return Table(
        name=name,
        title=f"{record.rater}: probes",
        columns=(
            Column("Change", "left"), Column("Transcripts"), Column("Cases"), Column("Shift [95 % CI]"),
            Column("In SDs"), Column("Moved"), Column("Beyond asking again [95 % CI]"), Column("Largest", "left"),
            Column("What is seen", "left"),
        ),
        rows=tuple(rows),
        notes=tuple(_notes(record, effects)),
        records=tuple(_record(record, effect) for effect in effects),
    )  # fmt: skip


def kept_probe_tables(view: RatingsView) -> dict[str, Table]:
    """The table of each judge that was probed on the view's run, by rater; none outside a run.

    The sample was drawn from the whole run: where a part of the study is chosen, there is none.
    """
    if view.run is None or view.part.where:
        return {}
    return {record.rater: probe_table(record, view.rubrics) for record in probe_records(view.run.path)}


def _cells(effect: ProbeEffect) -> tuple[str, ...]:
    largest = DASH
    if effect.largest is not None:
        transcript, before, after = effect.largest
        largest = f"{number(before, 1)} → {number(after, 1)} ({transcript})"
    return (
        effect.title[0].upper() + effect.title[1:],
        f"{effect.transcripts:,}",
        f"{effect.cases:,}",
        plain_words(effect.shift),
        number(effect.standardised),
        decimal(effect.moved),
        plain_words(effect.unrest),
        largest,
        reading_words(effect),
    )


def reading_words(effect: ProbeEffect) -> str:
    """What is seen of a change, in words with its numbers."""
    span, margin = f"{effect.span:g}", f"{effect.margin:g}"
    if not effect.transcripts:
        return "nothing to compare"
    if effect.reading == "base line":
        return f"base line: {decimal(effect.moved)} of the levels move by themselves"
    if effect.shift.interval is None:
        return f"can't be said: {effect.shift.missing}"
    if effect.expects == "moves":
        moved = plain_words(effect.unrest)
        if effect.reading == "moved":
            return f"noticed: levels moved by {moved} of {span} more than when asked again"
        return f"not seen to be noticed: {moved} of {span}"
    shift = plain_words(effect.shift)
    if effect.reading == "moved":
        return f"moved by {shift} of {span}" + (f", by less than {margin}" if effect.within_margin else "")
    if effect.reading == "stayed":
        return f"stayed within ± {margin} of {span}: {shift}"
    return f"can't be said: between {_ends(effect)} of {span}{_wanted(effect)}"


def _ends(effect: ProbeEffect) -> str:
    bounds = effect.shift.interval
    assert bounds is not None
    return f"{number(bounds.low)} and {number(bounds.high)}"


def _wanted(effect: ProbeEffect) -> str:
    """How many cases would show that a level stays, where it does."""
    cases = effect.equivalence.details.get(CASES)
    if cases is None or cases <= effect.cases:
        return ""
    words = f"{cases:,.0f}" if cases <= _MOST_CASES else f"more than {_MOST_CASES:,}"
    return f"; {words} cases might show it"


def _notes(record: ProbeRecord, effects: Sequence[ProbeEffect]) -> Iterator[str]:
    judged = "once" if record.passes == 1 else f"{record.passes} times"
    yield (
        f"{counted(record.sampled, 'transcript')} of {record.of:,}, drawn with seed {record.seed}, as many of each "
        f"system as there are; each prompt asked {judged}, the original twice as often. Effects speak of such a sample."
    )
    yield (
        "Shift: the level with the change minus the level without it (of a good or poor answer: late minus early), the "
        "mean over cases, in the rubric's levels; a transcript without a case is a case of its own. In SDs: of the "
        "original levels. Moved: share of transcripts whose level moved."
    )
    yield (
        "Beyond asking again: by how much more levels move, whatever the direction, than when the same prompt is asked "
        "again; it has no test of its own, but where clinician and patient are swapped, which a judge must notice."
    )
    tested = [effect for effect in effects if effect.tested.p is not None]
    if tested:
        margins = ", ".join(dict.fromkeys(f"± {effect.margin:g}" for effect in effects))
        yield (
            f"Levels are said to have moved where p, corrected by Holm for {counted(len(tested), 'test')}, is below "
            f".05; to have stayed where the 90 % interval, not corrected, lies within {margins}. What is neither "
            "is left open: a wide interval is no sign of a steady judge. Cases that might show it: for a chance of "
            f"{100 * PLANNED_POWER:.0f} %, were there no shift at all."
        )
    padded = [f"{effect.title}: {effect.added:,.0f}" for effect in effects if effect.added]
    if padded:
        yield f"Words added to a conversation, on average: {'; '.join(dict.fromkeys(padded))}."
    if record.translation is not None:
        yield (
            f"Translations: {record.translation}. What they lose can't be told from what the judge does with the "
            "language."
        )
    yield from record.notes
    yield from _missing_notes(effects)


def _missing_notes(effects: Sequence[ProbeEffect]) -> Iterator[str]:
    """Why transcripts aren't compared; reasons that several changes share stand once."""
    titles: dict[str, list[str]] = {}
    for effect in effects:
        for reason, count in effect.missing.items():
            titles.setdefault(reason, []).append(f"{effect.title} ({count:,})")
    for reason, changes in titles.items():
        several = list(dict.fromkeys(changes))
        listed = ", ".join(several) if len(several) < len(effects) or len(several) < 4 else "all changes"
        yield f"Not compared, {listed}: {reason}."


def _record(record: ProbeRecord, effect: ProbeEffect) -> dict[str, Any]:
    equivalence = effect.equivalence.interval
    largest = effect.largest or (None, None, None)
    return {
        "rater": record.rater, "rubric": effect.rubric, "probe": effect.probe, "variant": effect.variant,
        "title": effect.title, "expects": effect.expects, "transcripts": effect.transcripts, "cases": effect.cases,
        **bounded_record("shift", effect.shift), "p": effect.tested.p, "p_adjusted": effect.tested.p_adjusted,
        "tests": effect.tested.family_size, "in_sds": effect.standardised, "of_scale": effect.share_of_scale,
        "span": effect.span, "moved": effect.moved, "moved_again": effect.moved_again,
        **bounded_record("beyond_asking_again", effect.unrest), "margin": effect.margin,
        "p_equivalence": effect.equivalence.p,
        "equivalence_low": None if equivalence is None else equivalence.low,
        "equivalence_high": None if equivalence is None else equivalence.high,
        "cases_needed": effect.equivalence.details.get(CASES),
        "words_added": effect.added, "largest_transcript": largest[0], "largest_before": largest[1],
        "largest_after": largest[2], "missing": sum(effect.missing.values()),
        "missing_reasons": "; ".join(f"{reason} ({count:,})" for reason, count in effect.missing.items()),
        "reading": effect.reading,
        "words": reading_words(effect), "base_line": effect.probe == BASE_LINE,
    }  # fmt: skip
