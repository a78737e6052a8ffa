"""The methods paragraph, as a paper would say it, from the run's manifest."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

import bedside
from bedside.analysis.metric_facts import facts
from bedside.analysis.rater_effects import CONFOUNDED
from bedside.analysis.ratings_view import RatingsView
from bedside.core.words import counted
from bedside.ratings.juries import Jury, juries_in
from bedside.ratings.names import LABEL_FREE_RULES, LABEL_FREE_WORDS, is_human
from bedside.ratings.run import REMOVED_KEY, Run, removed_words
from bedside.ratings.table import missing_counts
from bedside.ratings.values import causes, is_failure
from bedside.reports.comparison_notes import CONFOUNDED_TOO
from bedside.reports.simulations import simulation_words
from bedside.reports.table import Table
from bedside.reports.table_notes import BY_WHERE
from bedside.reports.tables.rubrics import rated_rubrics
from bedside.scoring.plan import families_by_metric
from bedside.scoring.run_transcripts import library_versions

# -- The methods paragraph ------------------------------------------------------------------------------

#: How the account of a table begins that compares systems or measures agreement, by what its records have.
_DONE = (
    (frozenset(("a", "b", "p_corrected")), "Systems were compared pair by pair."),
    (
        frozenset(("strength",)),
        "Two conversations at a time were compared, and systems by which of them was preferred.",
    ),
    (frozenset(("between", "statistic", "kind")), "Agreement of raters was measured."),
)
#: Libraries that compute every number, and those that run models.
_STATISTICS = ("numpy", "polars", "scipy", "statsmodels")
_MODELS = ("torch", "transformers", "onnxruntime")
#: What a note says of a command.
_WHERE = re.compile(": " + re.escape(BY_WHERE).replace(re.escape("{factor}"), ".+?"))
#: Causes of missing values that are told; the table of missing values has all.
_MOST_CAUSES = 4


def methods(run: Run, view: RatingsView, tables: Sequence[Table] = ()) -> tuple[str, ...]:
    """What was done, as paragraphs for a paper's methods section; ``tables`` are those whose tests it tells of."""
    source = run.manifest["transcripts"]
    systems = view.systems()
    files = [file for file in source["inputs"] if file["transcripts"]]
    formats = sorted({file["format"] for file in files})
    of = f" of {counted(len(systems), 'system')} ({', '.join(systems)})" if len(systems) > 1 else ""
    skipped = len(source["skipped"])
    left_out = " None was left out."
    if skipped:
        left_out = f" {skipped:,} {'was' if skipped == 1 else 'were'} left out as unreadable."
    origin = f"{counted(len(files), 'file')} (format: {', '.join(formats)})"
    if any(file["path"] is None for file in files):
        origin = f"memory (SHA-256 of their JSON lines: {files[0]['sha256'][:12]}…)"
    read = (
        f"{counted(source['count'], 'transcript')}{of} with {counted(source['turns'], 'turn')} "
        f"{'was' if source['count'] == 1 else 'were'} read from {origin}.{left_out}"
    )
    paragraphs = [
        read,
        *simulation_words(view),
        *_computed_words(run, view),
        *_judged_paragraphs(run, view),
        *compared_words(view, run.manifest.get("preferences", ())),
        *_imported_words(run),
        *removed_words(run.manifest),
        *map(jury_words, juries_in(run.manifest)),
        *deviation_words(view),
    ]
    part = " ".join(view.part.sentences())
    paragraphs += [part] if part else []
    tests = [words for table in tables if (words := _test_words(table))]
    if tests:
        versions = _versions(library_versions(), _STATISTICS)
        paragraphs += [*tests, f"Tests and intervals are by bedside {bedside.__version__} ({versions})."]
    return tuple(paragraphs)


# -- what was computed ------------------------------------------------------------------------------


def _computed_words(run: Run, view: RatingsView) -> list[str]:
    """Of each scoring by algorithms, what of it stands: metrics with a value that no later scoring computed again."""
    there = view.ratings.lazy().filter(pl.col("error").is_null()).select("metric", "rater").unique().collect()
    valued = {(metric.partition(".")[0], rater) for metric, rater in there.iter_rows()}
    paragraphs: list[str] = []
    for entry in reversed(run.manifest["scorings"]):
        by_rater: dict[str, list[str]] = {}
        for rater in () if "judges" in entry else entry["raters"]:
            names = [name for name in dict.fromkeys(entry["metrics"]) if (name, rater) in valued]
            valued -= {(name, rater) for name in names}
            if names:
                by_rater[rater] = names
        if by_rater:
            paragraphs.insert(0, _scoring_words(view, entry, by_rater))
    return paragraphs


def _scoring_words(view: RatingsView, entry: Mapping[str, Any], by_rater: Mapping[str, Sequence[str]]) -> str:
    """What one scoring computed, by the raters that its algorithms are."""
    names = {name for metrics in by_rater.values() for name in metrics}
    owners = families_by_metric()
    models = {
        str(entry["parameters"][family]["model"])
        for family in {owners[name] for name in names if name in owners}
        if entry["parameters"].get(family, {}).get("model")
    }
    people = [rater for rater in by_rater if is_human(rater)]
    of_people = {name: None for rater in people for name in by_rater[rater]}
    computed = {rater: metrics for rater, metrics in by_rater.items() if rater not in people}
    if people:
        coders = counted(len(people), "person")
        computed[f"from the codes of {coders} in the transcripts"] = list(of_people)
    computations = "; ".join(
        f"{', '.join(dict.fromkeys(map(facts_title, metrics)))} ({by})" for by, metrics in computed.items()
    )
    metrics = [metric for metric in view.metrics() if metric.partition(".")[0] in names]
    ratings = view.ratings.lazy().filter(pl.col("metric").is_in(metrics) & pl.col("rater").is_in(list(by_rater)))
    with_models = ""
    if models:
        listed = ", ".join(sorted(map(_model_name, models)))
        with_models = f" with the {'model' if len(models) == 1 else 'models'} {listed}"
    versions = _versions(entry["libraries"], (*_STATISTICS, *(_MODELS if models else ())))
    return (
        f"bedside {entry['bedside']} (Python {entry['python']}, {versions}) computed{with_models} {computations}: "
        f"{_count_words(ratings)}."
    )


def _model_name(name: str) -> str:
    """A model as it is published; of one in a folder or file, not where that lies."""
    return Path(name).name if Path(name).expanduser().exists() or Path(name).is_absolute() else name


def _versions(libraries: Mapping[str, str], names: Sequence[str]) -> str:
    return ", ".join(f"{name} {libraries[name]}" for name in names if name in libraries)


def _count_words(ratings: pl.LazyFrame) -> str:
    """How many ratings have a value, and how many have none for which cause; what was not asked for is not counted."""
    rows = [row for row in missing_counts(ratings) if is_failure(row["error"])]
    there = ratings.filter(pl.col("error").is_null()).select(pl.len()).collect().item()
    return f"{counted(there, 'value')}, {missing_words(rows)}"


def missing_words(rows: Sequence[Mapping[str, Any]]) -> str:
    """How many ratings are missing, by cause: ``67 missing (fewer than 20 words: 63 values; no reply: 4 values)``.

    Args:
        rows: as :func:`bedside.ratings.table.missing_counts` gives them.
    """
    by_cause = causes(rows)
    if not by_cause:
        return "none missing"
    told = [f"{cause}: {counted(count, 'value')}" for cause, count in by_cause[:_MOST_CAUSES]]
    rest = sum(count for _, count in by_cause[_MOST_CAUSES:])
    told += [f"other causes: {counted(rest, 'value')}"] if rest else []
    return f"{sum(count for _, count in by_cause):,} missing ({'; '.join(told)})"


# -- what was brought -------------------------------------------------------------------------------


def _imported_words(run: Run) -> list[str]:
    """Of each import the ratings that stand: those of a later one took the place of the same ones of an earlier."""
    imports = run.manifest["imports"]
    if not imports:
        return []
    counts = run.scan().group_by("metric", "round").len().collect()
    left = {(metric, round): count for metric, round, count in counts.iter_rows()}
    paragraphs: list[str] = []
    for entry in reversed(imports):
        standing = 0
        # At most so many, where a run of before doesn't say.
        brought: dict[str, int] = entry.get("metrics") or dict.fromkeys(entry["scales"], entry["ratings"])
        for metric, imported in brought.items():
            for round in entry.get("rounds", ("",)):
                taken = min(imported, left.get((metric, round), 0))
                left[metric, round] = left.get((metric, round), 0) - taken
                imported -= taken
                standing += taken
        if standing:
            scales = "; ".join(f"{name} {levels_words(levels)}" for name, levels in entry["scales"].items())
            were = "was" if standing == 1 else "were"
            source = (
                f"made of people's answers to plan {entry['plan']}"
                if "plan" in entry
                else f"imported from {Path(entry['file']).name}"
            )
            words = f"{counted(standing, 'rating')} {were} {source}"
            if entry.get("shows"):
                words += f", whose raters were shown {_shown_words(entry['shows'])}"
            if standing < entry["ratings"]:
                gone = "replaced or removed" if run.manifest.get(REMOVED_KEY) else "replaced"
                words += f" (of {entry['ratings']:,}, the others having been {gone} later)"
            paragraphs.insert(0, words + (f" (scales: {scales})." if scales else "."))
    return paragraphs


# -- what judges did --------------------------------------------------------------------------------


def _judged_paragraphs(run: Run, view: RatingsView) -> list[str]:
    """What each judge did; of the same rubrics asked again, the last account."""
    last = {
        (rater, *sorted(judge["prompts"])): (judge, entry)
        for entry in run.manifest["scorings"]
        for rater, judge in entry.get("judges", {}).items()
    }
    return [judged_words(view, rater, judge, entry) for (rater, *_), (judge, entry) in last.items()]


#: What a judge or rater was shown beside conversations that others aren't.
_SHOWN = {"system": "the system messages", "tools": "the calls of tools and what they gave"}


def _shown_words(kinds: Sequence[str]) -> str:
    return " and ".join(_SHOWN[kind] for kind in kinds)


def judged_words(view: RatingsView, rater: str, judge: Mapping[str, Any], entry: Mapping[str, Any]) -> str:
    """What one judge did."""
    titles = ", ".join(f"{view.facts(name).title} ({version})" for name, version in judge["prompts"].items())
    calls = sum(count["calls"] for count in judge["rubrics"])
    passes = "once" if judge["passes"] == 1 else f"{judge['passes']} times"
    asked_by = f"{judge['order'].replace('-', ' ')}, by the rubrics (version) {titles}"
    if judge.get("shows"):
        asked_by += f", and was shown {_shown_words(judge['shows'])}"
    if "deepeval" in judge:
        asked_by = f"by metrics of deepeval {judge['deepeval']['version']} in its own words (version) {titles}"
    rows = [row for row in entry["missing"] if is_failure(row["error"])]
    there = entry["ratings"] - sum(row["n"] for row in entry["missing"])
    return (
        f"{rater} was asked {passes} at {_sampling_words(judge)}, {asked_by}: "
        f"{counted(there, 'rating')} from {counted(calls, 'call')}, {missing_words(rows)} "
        f"(bedside {entry['bedside']})."
    )


def _sampling_words(judge: Mapping[str, Any]) -> str:
    """How a judge was asked to write, as it was sent."""
    heat = judge["temperature"]
    words = "the provider's temperature" if heat is None else f"temperature {heat:g}"
    told = judge.get("not_taken", {}).get("temperature")
    if told and heat is not None:
        words += f" (the provider's in {told['judgements']:,} of {counted(told['of'], 'judgement')})"
    effort = judge.get("reasoning_effort")
    return words if effort is None else f"{words} with reasoning effort {effort}"


def compared_words(view: RatingsView, entries: Iterable[Mapping[str, Any]]) -> list[str]:
    """What judges were asked of two conversations at a time; of the same question asked again, the last account."""
    last = {(entry["rater"], *sorted(entry["prompts"]), None, *entry["systems"]): entry for entry in entries}
    paragraphs = []
    for entry in last.values():
        titles = ", ".join(f"{view.facts(name).title} ({version})" for name, version in entry["prompts"].items())
        at = _sampling_words(entry)
        passes = "once" if entry["passes"] == 1 else f"{entry['passes']} times"
        preferences = entry["ratings"] - sum(row["n"] for row in entry["missing"])
        drawn = f", drawn of {entry['available']:,}" if entry["pairs"] < entry["available"] else ""
        paragraphs.append(
            f"{entry['rater']} was asked {passes} at {at} which of two conversations on one case is better, or whether "
            f"neither is, by the rubrics (version) {titles}. In both orders it saw {counted(entry['pairs'], 'pair')}"
            f"{drawn} of the systems {', '.join(entry['systems'])}: {counted(preferences, 'preference')}, "
            f"{missing_words(entry['missing'])} (bedside {entry['bedside']})."
        )
    return paragraphs


def deviation_words(view: RatingsView) -> list[str]:
    """How many of the rubrics deviate from their sources; nothing where nothing is rated by a rubric."""
    rubrics = rated_rubrics(view)
    if not rubrics:
        return []
    deviating = [rated.rubric for rated in rubrics if rated.rubric.deviations and not rated.reworded]
    words = "No rubric declares a deviation from its source."
    if deviating:
        told = "; ".join(f"{rubric.title} {len(rubric.deviations)}" for rubric in deviating)
        others = "; all others 0" if len(deviating) < len(rubrics) else ""
        words = f"Deviations that rubrics declare from their sources, by number: {told}{others}."
    reworded = [rated.rubric.title for rated in rubrics if rated.reworded]
    if reworded:
        words += f" Not known of wordings that have changed since they were asked: {'; '.join(reworded)}."
    return [words]


def jury_words(jury: Jury) -> str:
    """A jury in a sentence, as a paper would say it."""
    by = "weights learnt from people's ratings of some cases" if jury.rule == "weights" else f"their {jury.rule}"
    if jury.rule in LABEL_FREE_RULES:
        by = f"{LABEL_FREE_WORDS[jury.rule]}, from their agreement alone, as if they erred independently"
    if jury.rule == "cascade":
        return (
            f"{jury.rater} is a cascade: {', then '.join(jury.members)}, each asked where those before it were not "
            "sure enough; the rest was left to people."
        )
    if jury.rule == "majority":
        by = "the level that most of them gave"
    quorum = "" if jury.quorum == len(jury.members) else f" where {jury.quorum} of them rated"
    return (
        f"{jury.rater} is a jury of {', '.join(jury.members)}: their ratings combined by {by}{quorum}; labels by most "
        "votes, ties missing."
    )


# -- which tests ------------------------------------------------------------------------------------


def _test_words(table: Table) -> str:
    """The tests of a table, with their n, family and correction; nothing where it tests nothing."""
    keys = set().union(*table.records) if table.records else set()
    notes = [
        _WHERE.sub("", note)
        for note in table.notes
        if not note.startswith((CONFOUNDED, CONFOUNDED_TOO)) and note not in table.source_notes
    ]
    for fields, words in _DONE:
        if fields <= keys:
            return " ".join((words, *notes))
    if "p_corrected" not in keys:
        return ""
    tests = [note for note in notes if "two-sided" in note or "p corrected" in note]
    return " ".join((f"“{table.title}” has tests.", *tests)) if tests else ""


def facts_title(metric: str) -> str:
    """A metric's title in running text, by its name without role."""
    for name in (metric, f"{metric}.clinician", f"{metric}.patient"):
        if facts(name).defined:
            return facts(name).title.partition(",")[0]
    return metric


def levels_words(levels: Sequence[float | str]) -> str:
    numbers = [level for level in levels if isinstance(level, int | float)]
    if len(numbers) == len(levels):
        return f"{min(numbers):g}–{max(numbers):g}"
    return ", ".join(map(str, levels))
