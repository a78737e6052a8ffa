"""The methods paragraph, as a paper would say it, from the run's manifest; the tables of juries and learned raters."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

import bedside
from bedside.analysis.jury_agreement import AgreementGain, JuryAgreement
from bedside.analysis.metric_facts import facts
from bedside.analysis.rater_effects import CONFOUNDED
from bedside.analysis.ratings_view import RatingsView
from bedside.core.words import counted
from bedside.ratings.juries import Jury, juries_in
from bedside.ratings.names import is_human
from bedside.ratings.run import Run
from bedside.ratings.table import missing_counts
from bedside.ratings.values import causes, is_failure
from bedside.reports.comparison_notes import CONFOUNDED_TOO
from bedside.reports.number_text import DASH, bounded_record, decimal, number, plain_words, share_words
from bedside.reports.rated_rubrics import rated_rubrics
from bedside.reports.simulations import simulation_words
from bedside.reports.table import Table
from bedside.reports.table_content import Cell, Column, Row
from bedside.reports.table_notes import BY_WHERE
from bedside.scoring.plan import families_by_metric
from bedside.scoring.run_transcripts import library_versions
from bedside.stats.kappa_bands import reading
from bedside.stats.result import Result
from bedside.tuning.rater_training import LearnedRaterTrial

# -- Tables of a jury -----------------------------------------------------------------------------------

#: How a jury's rule makes one rating of several, in words.
_RULES: Mapping[str, str] = {
    "mean": "the level nearest the mean of the members' levels; halfway between two levels it is missing",
    "median": "the median of the members' levels; between two different ones it is missing",
    "majority": "the level that most members gave; where several have as many votes it is missing",
    "weights": "the level nearest the weighted mean of the members' levels; halfway between two levels it is missing",
}


def jury_words(jury: Jury) -> str:
    """A jury in a sentence, as a paper would say it."""
    by = "weights learnt from people's ratings of some cases" if jury.rule == "weights" else f"their {jury.rule}"
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
    passes = "their mean" if jury.rule in ("mean", "weights") else "the most frequent, else the one nearest their mean"
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
        for metric, imported in _imported(entry).items():
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
                words += f" (of {entry['ratings']:,}, the others having been replaced later)"
            paragraphs.insert(0, words + (f" (scales: {scales})." if scales else "."))
    return paragraphs


def _imported(entry: Mapping[str, Any]) -> dict[str, int]:
    """How many ratings of each metric an import brought; at most that many, where a run of before doesn't say."""
    metrics: dict[str, int] = entry.get("metrics") or dict.fromkeys(entry["scales"], entry["ratings"])
    return metrics


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
            f"neither is, by the rubrics (version) {titles}, in both orders: {counted(entry['pairs'], 'pair')}{drawn} "
            f"of the systems {', '.join(entry['systems'])}; {counted(preferences, 'preference')}, "
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


# -- Tables of a learned rater --------------------------------------------------------------------------


def trial_tables(trials: Sequence[LearnedRaterTrial]) -> tuple[Table, ...]:
    """Learned raters beside people; and each judge beside the learned rater, where judges rated too."""
    tables = [_trial_table(trials)]
    if any(trial.gains for trial in trials):
        tables.append(_judges_table(trials))
    return tuple(tables)


def _statistic(trial: LearnedRaterTrial, row: str, name: str) -> Result | None:
    agreement = getattr(trial, row)
    return agreement.statistics.get(name) if agreement is not None else None


def _trial_table(trials: Sequence[LearnedRaterTrial]) -> Table:
    rows, records = [], []
    for trial in trials:
        kappa = _statistic(trial, "mean", "kappa")
        figures = {
            "kappa": kappa,
            "kappa_people": _statistic(trial, "people", "kappa"),
            "kappa_consensus": _statistic(trial, "consensus", "kappa"),
            "kappa_ceiling": _statistic(trial, "ceiling", "kappa"),
        }
        units = trial.mean.units if trial.mean is not None else 0
        cases = trial.mean.cases if trial.mean is not None else 0
        cells = (
            trial.facts.title,
            share_words(kappa),
            reading(kappa.estimate if kappa else None) or DASH,
            *(share_words(figures[name]) for name in ("kappa_people", "kappa_consensus", "kappa_ceiling")),
            f"{units:,}",
            f"{cases:,}",
        )
        rows.append(Row(tuple(map(Cell, cells))))
        record: dict[str, Any] = {
            "metric": trial.metric, "rater": trial.rater, "training_units": trial.training_units,
            "training_cases": trial.training_cases, "out_of_fold": trial.out_of_fold, "units": units, "cases": cases,
        }  # fmt: skip
        for name, result in figures.items():
            record |= bounded_record(name, result)
        records.append(record)
    return Table(
        name="learned_rater",
        title=f"{trials[0].rater} beside people",
        columns=(
            Column("Metric", "left"), Column("κ [95 % CI]"), Column("Reading", "left"), Column("People's κ"),
            Column("κ with consensus"), Column("Human ceiling"), Column("Units"), Column("Cases"),
        ),
        rows=tuple(rows),
        notes=tuple(_trial_notes(trials)),
        records=tuple(records),
    )  # fmt: skip


def _trial_notes(trials: Sequence[LearnedRaterTrial]) -> Iterator[str]:
    yield "The cheap baseline: a rater that knows the words and nothing of the rubric. Any judge should beat it."
    yield (
        "κ: mean of Cohen's kappa with each person; People's κ: the mean over pairs of people. κ with consensus stands "
        "beside the human ceiling: one person against the consensus of the others."
    )
    for trial in trials:
        learnt = f"{counted(trial.training_units, 'unit')} of {counted(trial.training_cases, 'case')}"
        yield (
            f"{trial.facts.title}: learnt from {learnt}, and tried on the same by raters like it, each of which learnt "
            "from four fifths of the cases and rated the others."
            if trial.out_of_fold
            else f"{trial.facts.title}: learnt from {learnt}, and tried on others."
        )


def _judges_table(trials: Sequence[LearnedRaterTrial]) -> Table:
    rows, records = [], []
    for trial in trials:
        for gain in trial.gains:
            shown = decimal if gain.by_kappa else number
            difference = plain_words(gain.gain)
            if gain.gain.estimate is None:
                difference = f"{DASH} ({gain.gain.missing})"
            cells = (
                gain.rater, shown(gain.own), shown(gain.others), difference,
                {True: "yes", False: "not shown", None: "can't be said"}[gain.better],
                f"{gain.units:,}", f"{gain.cases:,}", f"{gain.people:,}",
            )  # fmt: skip
            rows.append(Row(tuple(map(Cell, cells)), trial.facts.title))
            records.append(gain_record(gain))
    gains = [gain for trial in trials for gain in trial.gains]
    return Table(
        name="learned_rater_judges",
        title=f"Judges beside {trials[0].rater}",
        columns=(
            Column("Judge", "left"), Column("Judge's κ"), Column("Learned rater's κ"), Column("Difference [95 % CI]"),
            Column("Beats it", "left"), Column("Units"), Column("Cases"), Column("People"),
        ),
        rows=tuple(rows),
        notes=(*measure_notes(gains), "A judge beats it where the whole interval of the difference lies above 0."),
        records=tuple(records),
    )  # fmt: skip
