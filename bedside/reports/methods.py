"""The methods paragraph: what was done, as a paper would say it, from the run's manifest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bedside.analysis.ratings_view import RatingsView, facts
from bedside.ratings.names import is_human
from bedside.ratings.run import Run
from bedside.reports.rated_rubrics import rated_rubrics
from bedside.reports.simulation_methods import simulation_words
from bedside.reports.table import Table
from bedside.support.plurals import counted

#: Tables whose notes say how systems were compared and raters' agreement was measured, and how that begins.
_DONE = {
    "comparison": "Systems were compared pair by pair.",
    "agreement": "Agreement of raters was measured.",
}


def methods(run: Run, view: RatingsView, tables: Sequence[Table] = ()) -> tuple[str, ...]:
    """What was done, as paragraphs for a paper's methods section; ``tables`` are those whose tests it tells of."""
    source = run.manifest["transcripts"]
    systems = view.systems()
    files = [file for file in source["inputs"] if file["transcripts"]]
    formats = sorted({file["format"] for file in files})
    of = f" of {len(systems)} systems ({', '.join(systems)})" if len(systems) > 1 else ""
    skipped = len(source["skipped"])
    left_out = f" {skipped} were left out as unreadable." if skipped else " None was left out."
    origin = f"{counted(len(files), 'file')} (format: {', '.join(formats)})"
    if any(file["path"] is None for file in files):
        origin = f"memory (SHA-256 of their JSON lines: {files[0]['sha256'][:12]}…)"
    paragraphs = [
        f"{source['count']:,} transcripts{of} with {source['turns']:,} turns were read from {origin}.{left_out}",
        *simulation_words(view),
    ]
    for entry in run.manifest["scorings"]:
        titles = list(dict.fromkeys(facts_title(name) for name in entry["metrics"]))
        raters = ", ".join(rater for rater in entry["raters"] if not is_human(rater))
        missing = sum(row["n"] for row in entry["missing"])
        if "judges" in entry:
            paragraphs += [
                judged_words(view, rater, judge, entry) for rater, judge in entry["judges"].items()
            ]
            continue
        paragraphs.append(
            f"bedside {entry['bedside']} (Python {entry['python']}, polars {entry['libraries'].get('polars', '?')}) "
            f"computed {', '.join(titles)} ({raters}): {entry['ratings']:,} ratings, {missing:,} of them missing with "
            f"the reason kept."
        )
    for entry in _last_imports(run.manifest["imports"]):
        scales = "; ".join(f"{name} {levels_words(levels)}" for name, levels in entry["scales"].items())
        paragraphs.append(
            f"{entry['ratings']:,} ratings were imported from {Path(entry['file']).name}"
            + (f" (scales: {scales})." if scales else ".")
        )
    paragraphs += deviation_words(view)
    part = " ".join(view.part.sentences())
    paragraphs += [part] if part else []
    paragraphs += [" ".join((_DONE[table.name], *table.notes)) for table in tables if table.name in _DONE]
    return tuple(paragraphs)


def _last_imports(imports: Iterable[Mapping[str, Any]]) -> Iterable[Mapping[str, Any]]:
    """Of imports of one file's same metrics and rounds the last, whose ratings took the place of those before."""
    last = {
        (entry["file"], *sorted(entry["scales"]), None, *entry.get("rounds", ())): entry for entry in imports
    }
    return last.values()


def judged_words(view: RatingsView, rater: str, judge: Mapping[str, Any], entry: Mapping[str, Any]) -> str:
    """What one judge did."""
    titles = ", ".join(f"{view.facts(name).title} ({version})" for name, version in judge["prompts"].items())
    missing = sum(row["n"] for row in entry["missing"])
    calls = sum(count["calls"] for count in judge["rubrics"])
    heat = (
        "the provider's temperature"
        if judge["temperature"] is None
        else f"temperature {judge['temperature']:g}"
    )
    passes = "once" if judge["passes"] == 1 else f"{judge['passes']} times"
    return (
        f"{rater} was asked {passes} at {heat}, {judge['order'].replace('-', ' ')}, by the rubrics (version) {titles}: "
        f"{entry['ratings']:,} ratings from {calls:,} calls, {missing:,} of them missing with the reason kept "
        f"(bedside {entry['bedside']})."
    )


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
