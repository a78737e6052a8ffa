"""What stands below a table: why cells hold a dash, how intervals were made, what its numbers average over."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

import polars as pl

from bedside.analysis.averaging import Interaction, interactions
from bedside.analysis.ratings_view import PEOPLE, RatingsView
from bedside.analysis.simulated_talks import simulated_talks
from bedside.analysis.study_parts import AveragedFactor
from bedside.core.words import counted
from bedside.judges.rubrics.rubric_files import RUBRICS
from bedside.ratings.names import is_human, person_name, rated_by_humans
from bedside.ratings.study_design import is_settled
from bedside.reports.measures import named_metrics
from bedside.reports.notes import NoteText
from bedside.reports.number_text import p_value, rater_words

if TYPE_CHECKING:
    from bedside.reports.figure_kind import Drawing, FigureKind
    from bedside.reports.table import Table
    from bedside.reports.table_kind import Options

# -- Which command brings a metric that a run doesn't have ----------------------------------------------


def preferences_apart(view: RatingsView) -> tuple[str, ...]:
    """What is said under a table of ratings where two conversations were compared too."""
    if view.preferences.is_empty():
        return ()
    preferences = counted(view.preferences.height, "preference")
    return (f"{preferences} between two conversations are left to bedside compare --preferences.",)


def code_notes(metrics: Iterable[str]) -> list[str]:
    """For metrics without any value: how to get the codes of turns that some of them are counted from."""
    from bedside.scoring.plan import families_by_metric

    owners = families_by_metric()
    counted_from_codes = [name for name in dict.fromkeys(metrics) if owners.get(name.partition(".")[0]) == "behaviour"]
    if not counted_from_codes:
        return []
    return [
        f"{', '.join(counted_from_codes)}: codes of turns come from people (meta.codes of the turns), or from a judge: "
        "bedside score FILES --out RUN --judge MODEL --codes all"
    ]


#: The family whose metrics come with a simulation, and can't be had of other conversations.
_OF_SIMULATIONS = "simulated_outcomes"


def absent_notes(metrics: Iterable[str]) -> list[str]:
    """For metrics that are not rated: a line for each command that brings some of them."""
    from bedside.scoring.plan import families_by_metric

    owners = families_by_metric()
    rubrics, algorithms, others = [], [], []
    for name in dict.fromkeys(metrics):
        base = name.partition(".")[0]
        if owners.get(base) == _OF_SIMULATIONS:
            continue
        if base in RUBRICS:
            rubrics.append(base)
        elif base in owners:
            algorithms.append(base)
        else:
            others.append(name)
    notes = []
    if rubrics:
        listed = ",".join(dict.fromkeys(rubrics))
        notes.append(f"Not rated yet: bedside score FILES --out RUN --judge MODEL --rubrics {listed}")
    if algorithms:
        listed = ",".join(dict.fromkeys(algorithms))
        notes.append(f"Not scored yet: bedside score FILES --out RUN --metrics {listed}")
    if others:
        notes.append(f"Nobody rated {', '.join(others)}: bedside ratings import RUN FILE")
    return notes


# -- Why tests were taken -------------------------------------------------------------------------------

#: A whole number, with commas between thousands.
_COUNT = re.compile(r"\d+(?:,\d{3})*")


def said_once(reasons: Iterable[str]) -> list[str]:
    """Reasons in order; of those that differ in their numbers alone one, with the least and the greatest of each."""
    alike: dict[str, list[list[str]]] = {}
    for reason in reasons:
        alike.setdefault(_COUNT.sub("{}", reason), []).append(_COUNT.findall(reason))
    said = []
    for words, counts in alike.items():
        ranges = []
        for numbers in zip(*counts, strict=True):
            ordered = sorted(set(numbers), key=lambda number: int(number.replace(",", "")))
            ranges.append(" to ".join(dict.fromkeys((ordered[0], ordered[-1]))))
        said.append(words.format(*ranges))
    return said


# -- Notes on numbers in which final labels by adjudication stand in place of what people said ----------


def final_notes(view: RatingsView, metrics: Iterable[str]) -> tuple[str, ...]:
    """What is said under people's values: of how many units they are final labels; nothing where of none.

    Args:
        view: the ratings.
        metrics: those that are shown.
    """
    notes = [
        f"{view.facts(metric).title}: {counted(count, 'unit')} "
        f"{'was' if count == 1 else 'were'} adjudicated; the final label stands in place of people's mean."
        for metric in sorted(set(metrics))
        for count in (_settled(view, metric),)
        if count
    ]
    return (*notes, *_unsettled_notes(view, set(metrics)))


def _unsettled_notes(view: RatingsView, metrics: Collection[str]) -> Iterator[str]:
    """Of sheets and flows some of whose parts were adjudicated: where that settles no mean or result."""
    wholes = [rubric for rubric in view.rubrics.values() if rubric.kind == "flow" or rubric.aggregate]
    for rubric in {rubric.name: rubric for rubric in wholes}.values():
        parts = [part.name for part in rubric.question_rubrics]
        units = view.final.filter(pl.col("metric").is_in(parts)).select("transcript_id", "unit").unique()
        for metric in sorted(set(rubric.metrics).difference(parts).intersection(metrics)):
            own = len(units) - _settled(view, metric)
            if own > 0:
                of = f"{own:,} of {counted(len(units), 'adjudicated unit')} {'has' if own == 1 else 'have'}"
                why = "A further criterion is left open."
                if rubric.kind == "flow":
                    open_ids = view.open_walks(rubric).values()
                    at = " or ".join(one.id for one in rubric.questions if one.id in open_ids)
                    why = (
                        f"The walk of final answers is open at question {at}: raters differ on it, or no answer counts."
                    )
                yield f"{view.facts(metric).title}: {of} no final result; people's own stands, if any. {why}"


def _settled(view: RatingsView, metric: str) -> int:
    """The number of units whose final label stands in place of people's mean: all but those of open walks."""
    flows = [own for own in view.rubrics.values() if own.kind == "flow" and metric in own.metrics]
    left_open = {unit for flow in flows for unit in view.open_walks(flow)}
    return sum(label is not None or unit not in left_open for unit, label in view.final_labels(metric).items())


# -- Notes on people's numbers whose units are no random sample of all ----------------------------------


def chances_by_title(view: RatingsView, metrics: Iterable[str]) -> dict[str, tuple[float, ...]]:
    """Title of each metric → the chances with which the units that people rated were drawn, as far as known."""
    people = view.ratings.filter(rated_by_humans())
    return {
        view.facts(metric).title: tuple(people.filter(pl.col("metric") == metric)["drawn"].drop_nulls().unique().sort())
        for metric in metrics
    }


def chance_notes(chances: Mapping[str, Collection[float]], instead: str = "") -> list[str]:
    """What unequal chances, or none, make of people's numbers.

    Args:
        chances: of what is shown, the chances with which its units came into people's sample; 0 of those picked.
        instead: a sentence that says what weights them.
    """
    picked = [title for title, drawn in chances.items() if 0 in drawn]
    unequal = [title for title, drawn in chances.items() if 0 not in drawn and len(drawn) > 1]
    notes = []
    for titles, how in (
        (unequal, "were drawn with unequal chances, as the plan's strata have it"),
        (picked, "were partly picked for what they are, such as disagreement, and not drawn"),
    ):
        if titles:
            notes.append(
                f"{', '.join(titles)}: the units that people rated {how}. Figures are about the units rated, and would "
                f"differ if all had been.{f' {instead}' if instead else ''}"
            )
    return notes


# -- Notes on what the numbers of a table or figure average over ----------------------------------------

#: Interactions, levels and systems that a note names one by one.
_MOST = 3
#: Most levels of a factor that a note lists.
_MOST_LEVELS = 6
_ALPHA = 0.05
#: What shows the levels of a factor one by one: an answer to a question, or one part of a report.
BY_WITHIN, BY_WHERE = "--within {factor} shows each", "--where {factor}=LEVEL shows one"
BY_REPORT = "bedside report with --where {factor}=LEVEL shows one"


def divided_by(options: Options | None) -> tuple[str, ...]:
    """The factors by which a table or figure of these options is divided already."""
    factors = getattr(options, "factors", None) or getattr(options, "by", None) or ()
    return (factors,) if isinstance(factors, str) else tuple(factors)


def with_averaging_notes(
    table: Table, view: RatingsView, *, besides: Collection[str] = (), shown: str = BY_WITHIN
) -> Table:
    """The table with notes on what its numbers average over.

    Args:
        table: the table; its records say which metrics and systems it shows.
        view: the ratings that it was made from.
        besides: factors by which it is divided already.
        shown: what shows the levels of a factor.
    """
    metrics = {str(record["metric"]) for record in table.records if record.get("metric")}
    names = {record.get(key) for record in table.records for key in ("system", "a", "b")}
    names |= {name for record in table.records for name in str(record.get("systems", "")).split(", ")}
    systems = [system for system in view.systems() if system in names]
    pairs = dict.fromkeys((r["a"], r["b"]) for r in table.records if r.get("a") in names and r.get("b") in systems)
    sides = list(pairs) or list(combinations(systems, 2))
    notes = averaging_notes(view, metrics, systems, sides, compared=bool(pairs), besides=besides, shown=shown)
    if any(is_human(str(record.get("raters"))) for record in table.records):
        notes += label_set_notes(view, metrics)
    if any(record.get("raters") == PEOPLE for record in table.records):
        notes += final_notes(view, metrics)
    said = (NoteText(each, "averages over", warns=True) for each in notes)
    return replace(table, notes=(*table.notes, *said)) if notes else table


def with_caption_notes(drawing: Drawing, view: RatingsView, kind: FigureKind, options: Options) -> Drawing:
    """The figure with notes on what it averages over, and on how the units were drawn that people rated.

    Args:
        drawing: the figure.
        view: the ratings that it was made from.
        kind, options: what it shows.
    """
    if kind.shows == "counts":
        return drawing
    headed = getattr(options, "metrics", None) or {}
    metrics = named_metrics(view, headed).rated
    systems = [] if kind.shows == "raters" else view.systems()
    sides = list(combinations(systems, 2))
    notes = averaging_notes(view, metrics, systems, sides, besides=divided_by(options), shown=BY_WHERE)
    notes += label_set_notes(view, metrics)
    if kind.shows != "raters":
        notes += final_notes(view, metrics or view.metrics())
    if not kind.weighted:
        notes += tuple(chance_notes(chances_by_title(view, metrics or view.metrics())))
    return replace(drawing, notes=(*drawing.notes, *notes)) if notes else drawing


def averaging_notes(
    view: RatingsView,
    metrics: Iterable[str],
    systems: Sequence[str],
    pairs: Sequence[tuple[str, str]],
    *,
    compared: bool = False,
    besides: Collection[str] = (),
    shown: str = BY_WITHIN,
) -> tuple[str, ...]:
    """What numbers average over, and whether the comparison of systems depends on it; nothing where they do not.

    Args:
        view: the ratings.
        metrics: the metrics that are shown; all where none of them is rated as such.
        systems: the systems that are shown; empty where all stand together.
        pairs: those that are set side by side, two by two.
        compared: whether each pair is compared in the settings that both have.
        besides: factors by which the numbers are divided already.
        shown: what shows the levels of a factor.
    """
    rated = set(view.metrics())
    names = sorted(rated.intersection(metrics)) or sorted(rated)
    averaged = view.averaged_factors(names, systems or None)
    notes = [*view.part.sentences(), *lost_notes(view, systems), *(matching_notes(view, pairs) if compared else ())]
    for factor in averaged:
        if factor.name not in besides and not is_settled(view.factors, factor.name, besides):
            several = len(systems) > 1
            words = _pair_words(view, factor, pairs) if compared else _system_words(factor, several=several)
            note = f"{words}: {shown.format(factor=factor.name)}."
            notes.append(f"{note} {_interaction_words(view, factor, names, pairs)}".rstrip())
    return tuple(notes)


def lost_notes(view: RatingsView, systems: Collection[str]) -> list[str]:
    """That simulated conversations were lost, for the notes below numbers that they would have been part of.

    Args:
        view: the ratings.
        systems: those that the numbers are of; empty where all stand together.
    """
    talks = simulated_talks(view, read=False)
    if talks is None:
        return []
    lost = Counter(talk.system for talk in talks.talks if talk.lost)
    planned = Counter(talk.system for talk in talks.talks)
    shown = [system for system in talks.systems if not systems or system in systems]
    if not any(lost[system] for system in shown):
        return []
    words = "; ".join(f"{system} {lost[system]:,} of {planned[system]:,}" for system in shown)
    return [
        f"Simulated conversations that could not be had are missing here ({words}). The table simulation_loss says "
        "why; bedside report --complete-cases shows those complete for all systems."
    ]


def matching_notes(view: RatingsView, pairs: Sequence[tuple[str, str]]) -> Iterator[str]:
    """What pairs of systems are matched by, and what they could be matched by and are not.

    Args:
        view: the ratings.
        pairs: the systems, two by two.
    """
    matchings = [view.matching(pair) for pair in pairs]
    for by in dict.fromkeys(matching.by for matching in matchings if matching.by):
        own = [matching for matching in matchings if matching.by == by]
        of = _span([matching.transcripts for matching in own])
        kept = _span([matching.kept for matching in own])
        each = " of a pair" if len(own) > 1 else ""
        yield f"Matched by {' and '.join(by)}: {kept} of {of} transcripts{each} have a counterpart."
    reasons: dict[str, dict[str, list[tuple[int, int, tuple[str, ...]]]]] = {}
    for matching in matchings:
        for other in matching.unmatched:
            counts = (other.kept, matching.transcripts, (*matching.by, other.name))
            reasons.setdefault(other.why, {}).setdefault(other.name, []).append(counts)
    for why, factors in reasons.items():
        keeping = []
        for kept_of in list(factors.values())[:_MOST]:
            kept_by_pair, of_by_pair, options = zip(*kept_of, strict=True)
            span = f"{_span(kept_by_pair)} of {_span(of_by_pair)} transcripts"
            keeping.append(f"--match {','.join(options[0])} keeps {span}")
        yield (
            f"Not matched by {_listed(list(factors), _MOST)}, as {why}; nothing is left out for "
            f"{'it' if len(factors) == 1 else 'them'}. {'; '.join(keeping)}."
        )


def _span(counts: Sequence[int]) -> str:
    """One number, or the least and the greatest."""
    low, high = min(counts), max(counts)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _pair_words(view: RatingsView, factor: AveragedFactor, pairs: Sequence[tuple[str, str]]) -> str:
    """What pairs of systems are averaged over: the levels that both have, where they are matched by the factor."""
    shared = {pair: factor.shared_levels(pair) if factor.name in view.matching(pair).by else [] for pair in pairs}
    if not any(shared.values()):
        words = f"Averaged over {factor.name} ({_listed(factor.levels, _MOST_LEVELS)})"
        return f"{words}, each system over its own levels"
    if all(levels == list(factor.levels) for levels in shared.values()):
        return f"Averaged over {factor.name} ({_listed(factor.levels, _MOST_LEVELS)})"
    by_pair = [
        f"{a} − {b} {_listed(levels, _MOST_LEVELS) if levels else 'not matched, so each over its own'}"
        for (a, b), levels in shared.items()
    ]
    return f"Averaged over the levels of {factor.name} that both systems have ({_listed(by_pair, _MOST_LEVELS, '; ')})"


def _system_words(factor: AveragedFactor, *, several: bool) -> str:
    """What systems are averaged over; where several are shown, which of them have other levels than all together."""
    words = f"Averaged over {factor.name} ({_listed(factor.levels, _MOST_LEVELS)})"
    others = [
        f"{system} has {_listed(levels, _MOST_LEVELS)} only"
        for system, levels in factor.by_system.items()
        if levels != factor.levels
    ]
    if not several or not others:
        return words
    return f"{words}; {_listed(others, _MOST_LEVELS, '; ')}, so that means of systems are of different settings"


def _interaction_words(
    view: RatingsView, factor: AveragedFactor, metrics: Sequence[str], pairs: Sequence[tuple[str, str]]
) -> str:
    """What the tests of the interaction came to, a warning where there is one; nothing where none could be made."""
    key = ("interactions", factor.name, tuple(metrics), tuple(pairs))
    tested: tuple[Interaction, ...] = view.once(key, lambda: interactions(view, factor, metrics, pairs))
    with_p = [interaction for interaction in tested if interaction.test.p_adjusted is not None]
    if not with_p:
        return ""
    ordered = sorted(with_p, key=lambda interaction: interaction.test.p_adjusted or 0.0)
    of = f"{counted(len(with_p), 'test')}, corrected by Holm"
    strong = [interaction for interaction in ordered if (interaction.test.p_adjusted or 0.0) < _ALPHA]
    if not strong:
        least = p_value(ordered[0].test.p_adjusted)
        return f"No interaction of system and {factor.name} is shown ({of}; least p {least})."
    words = [
        f"{view.facts(interaction.metric).title} ({rater_words(interaction.raters)}), "
        f"{interaction.a} − {interaction.b}: p {_equals(interaction.test.p_adjusted)}"
        for interaction in strong
    ]
    return (
        f"Warning: how systems compare depends on {factor.name}: interaction on {_listed(words, _MOST, '; ')} ({of}; "
        f"{strong[0].test.method})."
    )


def _equals(p: float | None) -> str:
    text = p_value(p)
    return text if text.startswith("<") else f"= {text}"


def _listed(words: Sequence[str], most: int, separator: str = ", ") -> str:
    more = f"{separator}and {len(words) - most} more" if len(words) > most else ""
    return separator.join(words[:most]) + more


def label_set_notes(view: RatingsView, metrics: Iterable[str]) -> tuple[str, ...]:
    """That sets of labels are not averaged, where several people's lie over one transcript.

    Args:
        view: the ratings.
        metrics: the metrics that are shown.
    """
    apart = set(view.label_sets()) & set(metrics)
    if not apart:
        return ()
    raters = view.ratings.filter(pl.col("metric").is_in(apart))["rater"].unique()
    people = sorted(person_name(rater) for rater in raters if is_human(rater))
    return (
        f"Labels of several people lie over one transcript ({_listed(people, _MOST_LEVELS)}). Numbers from each "
        "person's set are not averaged: they may have labelled different things.",
    )
