"""Which versions of a model answered under one judge's name: a name stays while what is served behind it changes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from bedside.analysis.ratings_view import RatingsView
from bedside.core.words import counted
from bedside.judges.store import FILE_NAME, read_judgements
from bedside.ratings.juries import jury_named
from bedside.ratings.names import JUDGE_VERSION, judge_rater, unit_name
from bedside.ratings.run import Run

#: What a judge's card calls them; and what stands in the place of one that isn't known.
VERSIONS, NOT_KNOWN = "Versions that answered", "not known"
#: Versions that a line names; the others are counted.
_NAMED = 3
#: The columns that say which judgement a rating is of.
_OF_JUDGEMENT = ("transcript_id", "unit", "rubric", "replicate")


@dataclass(frozen=True, slots=True, eq=False)
class _Versions:
    """The versions that answered in a run, of judges of which any is known.

    Attributes:
        single: judges that answered in one version throughout, as the run's manifest counts answers, with that.
        rubrics: of the others, the rubrics that they were asked by.
        stored: of the others, the judgements with the version of each, a row for every unit that one is about.
        names: of the others, what each version is called as a rater, by judge and version.
    """

    single: Mapping[str, str]
    rubrics: Mapping[str, frozenset[str]]
    stored: pl.DataFrame
    names: Mapping[tuple[str, str], str]


def _versions(view: RatingsView) -> _Versions | None:
    """The versions that answered in the view's run; None where there is none."""
    run = view.run
    return None if run is None else view.once("versions of judges", lambda: _versions_in(run))


def _versions_in(run: Run) -> _Versions:
    known: dict[str, set[str]] = defaultdict(set)
    rubrics: dict[str, set[str]] = defaultdict(set)
    in_part = set()
    for rater, counts in _counted(run):
        for count in counts:
            served = count.get("served") or {}
            known[rater] |= set(served)
            rubrics[rater].add(count["rubric"])
            if sum(served.values()) < count.get("replied", 1):
                in_part.add(rater)
    several = {rater for rater, own in known.items() if len(own) > 1 or (own and rater in in_part)}
    stored = _stored(run, several) if several else _stored_table([])
    unknown = stored.filter(pl.col("version").is_null())["rater"]
    several = {rater for rater in several if len(known[rater]) > 1 or rater in unknown}
    return _Versions(
        {rater: next(iter(own)) for rater, own in known.items() if len(own) == 1 and rater not in several},
        {rater: frozenset(rubrics[rater]) for rater in several},
        stored,
        {
            (rater, version): f"{rater}{JUDGE_VERSION}{short}"
            for rater in several
            for version, short in _short(known[rater], rater).items()
        },
    )


def _counted(run: Run) -> Iterator[tuple[str, list[Mapping[str, Any]]]]:
    """Each judge with the counts of its rubrics, of every time that it was asked."""
    for entry in run.manifest["scorings"]:
        for rater, how in (entry.get("judges") or {}).items():
            yield rater, how.get("rubrics") or []
    for entry in run.manifest.get("preferences") or ():
        yield entry["rater"], entry.get("rubrics") or []


def version_counts(view: RatingsView, metrics: Iterable[str] | None = None) -> dict[str, dict[str, int]]:
    """How many ratings each version of each judge gave, most first; judges of which no version is known are left out.

    Of some ratings it isn't known, as of older ones, or where the same was asked about two transcripts.

    Args:
        view: the ratings.
        metrics: those that are looked at; all unless named.
    """
    versions = _versions(view)
    if versions is None:
        return {}
    counts = view.once("ratings of versions", lambda: _version_counts(view, versions))
    if metrics is not None:
        counts = counts.filter(pl.col("metric").is_in(list(metrics)))
    judges: dict[str, dict[str, int]] = {}
    of_version = counts.group_by("rater", "version").agg(pl.col("n").sum())
    for rater, version, n in of_version.sort("n", "version", descending=[True, False]).iter_rows():
        judges.setdefault(rater, {})[version] = n
    return {rater: judges[rater] for rater in sorted(judges) if set(judges[rater]) != {NOT_KNOWN}}


def _version_counts(view: RatingsView, versions: _Versions) -> pl.DataFrame:
    names = {name: version for (_, version), name in versions.names.items()}
    given = pl.col("value").is_not_null() | pl.col("label").is_not_null()
    known = pl.col("rater").is_in([*versions.single, *versions.rubrics, *names])
    rated = _with_version(pl.concat([view.ratings, view.preferences]).filter(given, known), versions)
    version = pl.col("rater").replace_strict(names, default=pl.col("version"), return_dtype=pl.String())
    return rated.group_by("rater", "metric", version.fill_null(NOT_KNOWN).alias("version")).len("n")


def _with_version(ratings: pl.DataFrame, versions: _Versions) -> pl.DataFrame:
    """Ratings with the column ``version``; null of people and algorithms, and where it isn't known."""
    of_one = pl.col("rater").replace_strict(versions.single, default=None, return_dtype=pl.String())
    ratings = ratings.with_columns(of_one.alias("version"))
    parts = [ratings.filter(~pl.col("rater").is_in(list(versions.rubrics)))]
    for rater, rubrics in versions.rubrics.items():
        own = ratings.filter(pl.col("rater") == rater)
        parts.append(_joined(own, versions.stored.filter(pl.col("rater") == rater), rubrics))
    return pl.concat(parts)


def _joined(ratings: pl.DataFrame, stored: pl.DataFrame, rubrics: Iterable[str]) -> pl.DataFrame:
    """A judge's ratings with the versions of its judgements: a rubric's rating has that of its own, and what follows
    from several has their version where it is one."""
    is_rubric = pl.col("metric").is_in(list(rubrics))
    rubric = pl.when(is_rubric).then("metric").otherwise(pl.col("metric").str.split(".").list.first())
    table, versions = ratings.drop("version").with_columns(rubric=rubric), []
    for keys in (_OF_JUDGEMENT, ("transcript_id", "rubric", "replicate"), ("transcript_id", "replicate")):
        judged = stored.group_by(keys).agg(pl.col("version").unique())
        one = judged.filter(pl.col("version").list.len() == 1).select(*keys, pl.col("version").list.first())
        table = table.join(one.rename({"version": f"_{len(keys)}"}), on=keys, how="left", maintain_order="left")
        of_rubric = pl.col("rubric").is_in(list(rubrics))
        versions.append(pl.when(of_rubric if "rubric" in keys else ~of_rubric).then(f"_{len(keys)}"))
    return table.with_columns(version=pl.coalesce(versions)).select(ratings.columns)


def _stored(run: Run, raters: set[str]) -> pl.DataFrame:
    """The judgements of judges with the version of each, a row for every unit that one is about."""
    prompts: dict[tuple[str, str], set[str]] = defaultdict(set)
    for rater, counts in _counted(run):
        for count in counts:
            if rater in raters:
                prompts[count["rubric"], str(count["version"])].add(rater)
    return _stored_table([
        (rater, judgement.transcript, unit, judgement.rubric, version, judgement.number)
        for judgement in read_judgements(run.path / FILE_NAME)
        if judgement.state == "answered"
        for rater in prompts.get((judgement.rubric, judgement.version), ())
        # Whether the judge is the judgement's model, by whatever kind of rubric.
        if f"{rater}+".startswith(f"{judge_rater(judgement.model)}+")
        for version in [judgement.served.version if judgement.served else None]
        for unit in (judgement.unit, *map(unit_name, judgement.items or ()))
    ])  # fmt: skip


def _stored_table(rows: list[tuple[Any, ...]]) -> pl.DataFrame:
    names = ("rater", "transcript_id", "unit", "rubric", "version")
    return pl.DataFrame(rows, {**dict.fromkeys(names, pl.String()), "replicate": pl.Int32()}, orient="row")


def unversioned(run: Run, rater: str) -> str:
    """A judge by the name that it was asked under, where one of its versions is named; any other rater itself."""
    names = {name for entry in run.manifest["scorings"] for name in entry["raters"]}
    own = [name for name in names if rater.startswith(f"{name}{JUDGE_VERSION}")]
    return rater if rater in names else max(own, key=len, default=rater)


def _short(versions: Iterable[str], rater: str) -> dict[str, str]:
    """Versions without the name of the model that was asked, where all of them begin with it."""
    beginning = rater.partition(":")[2].partition("+")[0].rpartition("/")[2] + "-"
    every = [version for version in versions if version != NOT_KNOWN]
    trimmed = all(version.startswith(beginning) for version in every)
    return {version: version.removeprefix(beginning) if trimmed else version for version in every}


def by_version(view: RatingsView) -> RatingsView:
    """The view with each judge of which several versions answered as a rater for each; what isn't known stays."""
    versions = _versions(view)
    if versions is None or not versions.names:
        return view
    rows = [(*key, name) for key, name in versions.names.items()]
    split = pl.DataFrame(rows, dict.fromkeys(("rater", "version", "_name"), pl.String()), orient="row")

    def parts(ratings: pl.DataFrame) -> pl.DataFrame:
        named = _with_version(ratings, versions)
        named = named.join(split, on=("rater", "version"), how="left", maintain_order="left")
        return named.with_columns(rater=pl.coalesce("_name", "rater")).drop("version", "_name")

    return replace(view, ratings=parts(view.ratings), preferences=parts(view.preferences))


def mixed_versions(view: RatingsView, metrics: Iterable[str] | None = None) -> dict[str, dict[str, int]]:
    """The judges whose ratings are of several versions, or of one and of versions not known; as
    :func:`version_counts` has them."""
    return {rater: own for rater, own in version_counts(view, metrics).items() if len(own) > 1}


def members_of(view: RatingsView, rater: str) -> tuple[str, ...]:
    """A jury's raters; any other rater itself."""
    jury = None if view.run is None else jury_named(view.run.manifest, rater)
    return jury.members if jury else (rater,)


def version_words(rater: str, versions: Mapping[str, int]) -> str:
    """The versions that answered, and how many ratings each gave."""
    short = _short(versions, rater)
    first = list(versions.items())[:_NAMED]
    named = [f"{short.get(version, version)} ({counted(n, 'rating')})" for version, n in first]
    more = len(versions) - len(named)
    return ", ".join([*named, *([f"{more} more"] if more else [])])
