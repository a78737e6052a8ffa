"""The transcripts and ratings of several runs as those of one, and a run as it goes into such a merged one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from bedside.core.errors import RunError
from bedside.core.words import counted
from bedside.ratings.learnt_units import LEARNT, is_learnt, learnt_in, unit_digests
from bedside.ratings.names import is_human, is_pair, pair_unit, rated_by_humans, rates_pair, second_id, second_ids
from bedside.ratings.run import PARTS_FILE, PARTS_SCHEMA, Run, merged_parts
from bedside.ratings.table import (
    KEY,
    SCHEMA,
    TRANSCRIPT_FOLDER,
    TRANSCRIPT_SCHEMA,
    parse_transcript,
    transcript_row,
    transcript_writer,
    write_table,
)


@dataclass(frozen=True)
class MergeSource:
    """A run that is to be merged with others.

    Attributes:
        run: the run.
        system: the system of its transcripts that name none, which also goes before their ids; None leaves all as
            they are.

    Raises:
        RunError: a system is named, and the run keeps no text.
    """

    run: Run
    system: str | None = None

    def __post_init__(self) -> None:
        """See that what is renamed can be written anew."""
        if self.system is not None and not self.run.keeps_text:
            raise RunError(
                "the run keeps no text, so its transcripts can't be named by a system",
                where=self.name,
                todo="score the files again: bedside score FILES --path-fields PATTERN",
            )

    @property
    def name(self) -> str:
        """The run's folder, as it was named."""
        return str(self.run.path)

    @cached_property
    def index(self) -> pl.DataFrame:
        """A row a transcript: ``old`` and ``id``, ``system``, ``case_id``, ``turns``, and its ``hash``, which is null
        where the transcript is renamed."""
        index = self.run.index.select(pl.col("id").alias("old"), "id", "system", "case_id", "turns", "hash", "source")
        if self.system is None:
            return index.drop("source")
        names = []
        for old, system, case, source in index.select("old", "system", "case_id", "source").iter_rows():
            # An id that its file gave is the case, where it names none; a file's own name may be anything.
            case = old if case is None and not _of_file_name(old, source) else case
            names.append((self.renamed(old), system or self.system, case))
        schema = dict.fromkeys(("id", "system", "case_id"), pl.String())
        return (
            index.select("old")
            .hstack(pl.DataFrame(names, schema=schema, orient="row"))
            .with_columns(index["turns"], pl.lit(None, dtype=pl.String()).alias("hash"))
        )

    def renamed(self, name: str) -> str:
        """What the id of a transcript becomes."""
        if self.system is None or name.startswith(f"{self.system}/"):
            return name
        return f"{self.system}/{name}"

    def renamed_unit(self, unit: str) -> str:
        """What a unit becomes: a pair's names its second transcript."""
        return pair_unit(self.renamed(second_id(unit))) if is_pair(unit) else unit

    def transcript_tables(self) -> Iterator[pl.DataFrame]:
        """The run's transcripts, a file of its table at a time."""
        names = {} if self.system is None else {row[0]: row[1:4] for row in self.index.iter_rows()}
        for part in sorted((self.run.path / TRANSCRIPT_FOLDER).glob("*.parquet")):
            place = f"{TRANSCRIPT_FOLDER}/{part.name}"
            with self.run.sound(place):
                table = self.run.table(place, TRANSCRIPT_SCHEMA).collect()
                if names:
                    table = _renamed(table, names)
            yield table

    def ratings(self) -> pl.LazyFrame:
        """The run's ratings, unread."""
        ratings = self.run.scan()
        if self.system is None:
            return ratings
        names = self.index.lazy().select(pl.col("old").alias("transcript_id"), "id", "system", "case_id")
        seconds = self.index.lazy().select(pl.col("old").alias("second"), pl.col("id").alias("second_id"))
        prefix = pair_unit("")
        return (
            ratings.drop("system", "case_id")
            .join(names, on="transcript_id", how="left", maintain_order="left")
            .with_columns(second_ids().alias("second"))
            .join(seconds, on="second", how="left", maintain_order="left")
            .with_columns(
                pl.col("id").alias("transcript_id"),
                pl.when(rates_pair()).then(pl.lit(prefix) + pl.col("second_id")).otherwise("unit").alias("unit"),
            )
            .select(SCHEMA.names())
        )

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """The run's manifest; what raters learnt from is by the names that transcripts have here."""
        manifest = dict(self.run.manifest)
        learnt = learnt_in(manifest)
        if self.system is None or not learnt:
            return manifest
        rows = self.run.index.select("id", "case_id").rows()
        new = self.index.select("id", "case_id").rows()
        entries = []
        for entry in learnt:
            stale = [names for (old, case), names in zip(rows, new, strict=True) if is_learnt(entry.digests, old, case)]
            digests = entry.digests | set(unit_digests(stale))
            entries.append({"rater": entry.rater, "metric": entry.metric, "digests": sorted(digests)})
        return {**manifest, LEARNT: entries}

    def part_entries(self, rounds: list[str], sha256: str) -> list[dict[str, Any]]:
        """What a merged run's manifest says of this run: of those that it was merged of before, and of itself.

        Args:
            rounds: those in which people rated in it.
            sha256: of its ratings.
        """
        before = merged_parts(self.manifest)
        drawn_before = {name for part in before for name in part["rounds"]}
        own = {
            "run": self.name, "sha256": sha256, "transcripts": self.index.height,
            "rounds": [name for name in rounds if name not in drawn_before],
        }  # fmt: skip
        return [*before, own]


def _of_file_name(name: str, source: str) -> bool:
    """Whether a transcript's id was made of the name of the file that it was read from."""
    file = Path(re.sub(r"(?::\d+| item \d+|#[^/\\]*)$", "", source))
    return Path(name.partition("#")[0]).name in (file.stem, file.name)


def _renamed(table: pl.DataFrame, names: dict[str, tuple[str, str | None, str | None]]) -> pl.DataFrame:
    """Rows of a table of transcripts under other names."""
    rows = []
    for old, source, content in table.select("id", "source", "content").iter_rows():
        name, system, case = names[old]
        transcript = replace(parse_transcript(content, source), id=name, system=system, case_id=case)
        *others, written = transcript_row(transcript)
        rows.append((*others, written.decode()))
    return pl.DataFrame(rows, schema=TRANSCRIPT_SCHEMA, orient="row")


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
    placed = [source.index.select("id", "hash", pl.lit(place).alias(_PART)) for place, source in enumerate(sources)]
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


def write_merged_transcripts(folder: Path, sources: Sequence[MergeSource], shared: pl.DataFrame) -> tuple[int, int]:
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
                losers.lazy().filter(pl.col(_PART) == place).select(KEY), on=KEY, how="anti", maintain_order="left"
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


def _losers(tables: Sequence[pl.LazyFrame], shared: pl.DataFrame, sources: Sequence[MergeSource]) -> pl.DataFrame:
    """The ratings that another run's stand for: their keys and places, and whether a value stands for a missing one.

    Raises:
        RunError: a rating has two values.
    """
    placed = [table.with_columns(pl.lit(place, dtype=pl.Int32()).alias(_PART)) for place, table in enumerate(tables)]
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
        rated = people.join(shared.lazy(), on="transcript_id", how="semi").select(pl.col("round").unique()).collect()
        for name in rated["round"]:
            own = frozenset(
                str(entry.get("plan") or entry.get("sha256"))
                for entry in source.manifest["imports"]
                if name in entry.get("rounds", ())
            )
            plans.setdefault(name, []).append(own)
    return sorted(name for name, by_run in plans.items() if len(set(by_run)) > 1)
