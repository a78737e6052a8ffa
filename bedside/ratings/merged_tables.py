"""The transcripts and ratings of several runs as those of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from bedside.ratings.merge_source import MergeSource
from bedside.ratings.names import is_human, rated_by_humans
from bedside.ratings.run_parts import PARTS_FILE, PARTS_SCHEMA, merged_parts
from bedside.ratings.table import KEY
from bedside.ratings.table_writer import write_table
from bedside.ratings.transcript_rows import transcript_writer
from bedside.support.errors import RunError
from bedside.support.plurals import counted

#: Columns of the candidates for a rating: the place of its run, and how early it comes among those of one key.
_PART, _RANK = "_part", "_rank"


@dataclass(frozen=True, slots=True)
class MergedRatings:
    """The ratings of several runs.

    Attributes:
        table: all of them, each once, in the order of the runs.
        repeated: how many stood in several runs, with the same value.
        filled: how many were missing in one run and there in another, from which they are taken.
    """

    table: pl.LazyFrame
    repeated: int
    filled: int


def shared_transcripts(sources: Sequence[MergeSource]) -> pl.DataFrame:
    """The ids of the transcripts that are in several runs, as ``transcript_id``.

    Raises:
        RunError: a transcript of one id has other content in another run.
    """
    placed = [
        source.index.select("id", "hash", pl.lit(place).alias(_PART)) for place, source in enumerate(sources)
    ]
    several = pl.concat(placed).filter(pl.len().over("id") > 1).sort("id", _PART, maintain_order=True)
    # Of a renamed transcript no hash is known yet: it is another one, as its name is new.
    different = several.group_by("id", maintain_order=True).agg(
        (pl.col("hash").n_unique() > 1) | pl.col("hash").is_null().any(), pl.col(_PART)
    )
    clashing = different.filter("hash")
    if not clashing.is_empty():
        name, _, parts = clashing.row(0)
        more = f" (and {counted(clashing.height - 1, 'other id')})" if clashing.height > 1 else ""
        raise RunError(
            f"{sources[parts[0]].name} and {sources[parts[1]].name} have different transcripts with the id "
            f"{name!r}{more}",
            todo="if each run is of a system of its own, name them with `systems`: an id is then system/id",
        )
    return several.select(pl.col("id").alias("transcript_id")).unique()


def write_merged_transcripts(
    folder: Path, sources: Sequence[MergeSource], shared: pl.DataFrame
) -> tuple[int, int]:
    """Write the transcripts of runs into a new run's folder, each once; how many they are, and their turns.

    Args:
        folder: the new run's.
        sources: the runs.
        shared: :func:`shared_transcripts`.
    """
    writer = transcript_writer(folder)
    several, written = set(shared["transcript_id"]), set[str]()
    count = turns = 0
    for source in sources:
        for table in source.transcript_tables():
            own = several.intersection(table["id"])
            new = table.filter(~pl.col("id").is_in(list(own & written)))
            written |= own
            writer.add_table(new)
            count, turns = count + new.height, turns + int(new["turns"].sum())
    writer.close()
    return count, turns


def write_parts(folder: Path, sources: Sequence[MergeSource]) -> None:
    """Write which transcript is of which run, those that a run was merged of before among them."""
    tables, place = [], 0
    for source in sources:
        before = len(merged_parts(source.manifest))
        names = source.index.lazy()
        if before:
            moved = source.run.table(PARTS_FILE, PARTS_SCHEMA).with_columns(pl.col("part") + place)
            known = moved.rename({"transcript_id": "old"}).join(names, on="old", maintain_order="left")
            tables.append(known.select(pl.col("id").alias("transcript_id"), "part"))
        own = pl.lit(place + before, dtype=pl.Int32()).alias("part")
        tables.append(names.select(pl.col("id").alias("transcript_id"), own))
        place += before + 1
    write_table(folder / PARTS_FILE, pl.concat(tables).cast(PARTS_SCHEMA))


def people_rounds(source: MergeSource) -> list[str]:
    """The rounds in which people rated in a run."""
    rounds = source.run.scan().filter(rated_by_humans()).select(pl.col("round").unique().sort()).collect()
    return rounds["round"].to_list()


def merged_ratings(sources: Sequence[MergeSource], shared: pl.DataFrame) -> MergedRatings:
    """The ratings of several runs, each once; a value stands in place of what is missing in another run.

    Where the same transcripts were drawn for people in several runs, in a round of one name and by other plans, the
    chance of their being drawn in either isn't known.

    Args:
        sources: the runs.
        shared: :func:`shared_transcripts`.

    Raises:
        RunError: a rating has another value in another run.
    """
    tables = [source.ratings() for source in sources]
    if shared.is_empty():
        return MergedRatings(pl.concat(tables), 0, 0)
    losers = _losers(tables, shared, sources)
    if not losers.is_empty():
        tables = [
            table.join(
                losers.lazy().filter(pl.col(_PART) == place).select(KEY),
                on=KEY,
                how="anti",
                maintain_order="left",
            )
            for place, table in enumerate(tables)
        ]
    filled = losers.filter("filled").height
    rounds = _redrawn_rounds(sources, shared)
    everything = pl.concat(tables)
    if rounds:
        doubtful = (
            rated_by_humans()
            & pl.col("round").is_in(rounds)
            & pl.col("transcript_id").is_in(shared["transcript_id"].implode())
            & (pl.col("drawn") > 0)
        )
        everything = everything.with_columns(pl.when(~doubtful.fill_null(False)).then("drawn").alias("drawn"))
    return MergedRatings(everything, losers.height - filled, filled)


def _losers(
    tables: Sequence[pl.LazyFrame], shared: pl.DataFrame, sources: Sequence[MergeSource]
) -> pl.DataFrame:
    """The ratings that another run's stand for: their keys and places, and whether a value stands for a missing one.

    Raises:
        RunError: a rating has two values.
    """
    placed = [
        table.with_columns(pl.lit(place, dtype=pl.Int32()).alias(_PART)) for place, table in enumerate(tables)
    ]
    every = pl.concat(placed).join(shared.lazy(), on="transcript_id", how="semi")
    raters = every.select("metric", "rater", _PART).unique().group_by("metric", "rater").len()
    common = raters.filter(pl.col("len") > 1).collect()
    missing = pl.col("error").is_not_null()
    ranked = every.join(common.lazy(), on=("metric", "rater"), how="semi").select(
        *KEY, "value", "label", missing.alias("missing"), _PART,
        (missing * len(tables) + pl.col(_PART)).alias(_RANK),
    )  # fmt: skip
    if common.is_empty():
        ranked = ranked.clear()
    _check_values(ranked, sources)
    best = ranked.group_by(KEY).agg(
        pl.col(_RANK).min().alias("best"), pl.col("missing").all().alias("nowhere"), pl.len().alias("runs")
    )
    return (
        ranked.join(best.filter(pl.col("runs") > 1), on=KEY, how="inner")
        .filter(pl.col(_RANK) > pl.col("best"))
        .select(*KEY, _PART, (pl.col("missing") & ~pl.col("nowhere")).alias("filled"))
        .collect(engine="streaming")
    )


def _check_values(ranked: pl.LazyFrame, sources: Sequence[MergeSource]) -> None:
    """Raise RunError where a rating has two values."""
    said = pl.concat_str(pl.col("value").cast(pl.String), "label", separator="\n", ignore_nulls=True)
    different = (
        ranked.filter(~pl.col("missing"))
        .with_columns(said.alias("said"))
        .group_by(KEY)
        .agg(pl.col("said").n_unique().alias("answers"))
        .filter(pl.col("answers") > 1)
        .sort(KEY)
        .collect(engine="streaming")
    )
    if different.is_empty():
        return
    first = different.head(1)
    rows = ranked.filter(~pl.col("missing")).join(first.lazy(), on=KEY, how="semi").sort(_PART).collect()
    said_by = []
    for value, label, part in rows.select("value", "label", _PART).iter_rows():
        said_by.append(f"{label if label is not None else f'{value:g}'} in {sources[part].name}")
    transcript, unit, metric, rater, _, round_name = first.select(KEY).row(0)
    place = f"{transcript!r}" if unit == "transcript" else f"{unit} of {transcript!r}"
    more = f" (and {counted(different.height - 1, 'other rating')})" if different.height > 1 else ""
    raise RunError(
        f"{rater} rated {metric} of {place} with {' and '.join(said_by)}{more}",
        todo="if these are two rounds of annotation, import one of them again with a `round` of its own"
        if round_name or is_human(rater)
        else "score one of the runs again with the settings of the other",
    )


def _redrawn_rounds(sources: Sequence[MergeSource], shared: pl.DataFrame) -> list[str]:
    """The rounds for which transcripts that several runs have were drawn by another plan in each."""
    plans: dict[str, list[frozenset[str]]] = {}
    for source in sources:
        people = source.ratings().filter(rated_by_humans()).select("transcript_id", "round")
        rated = (
            people.join(shared.lazy(), on="transcript_id", how="semi")
            .select(pl.col("round").unique())
            .collect()
        )
        for name in rated["round"]:
            own = frozenset(
                str(entry.get("plan") or entry.get("sha256"))
                for entry in source.manifest["imports"]
                if name in entry.get("rounds", ())
            )
            plans.setdefault(name, []).append(own)
    return sorted(name for name, by_run in plans.items() if len(set(by_run)) > 1)
