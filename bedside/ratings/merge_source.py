"""A run as it goes into a merged one: as it is, or with its transcripts named by a system."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from bedside.ratings.learnt_units import LEARNT, is_learnt, learnt_in, unit_digests
from bedside.ratings.names import is_pair, pair_unit, rates_pair, second_id, second_ids
from bedside.ratings.run import Run, merged_parts
from bedside.ratings.table import (
    SCHEMA,
    TRANSCRIPT_FOLDER,
    TRANSCRIPT_SCHEMA,
    parse_transcript,
    transcript_row,
)
from bedside.support.errors import RunError


@dataclass(frozen=True)
class MergeSource:
    """A run that is to be merged with others.

    Attributes:
        run: the run.
        system: the system of its transcripts that name none, which also goes before their ids; None leaves all as
            they are.
    """

    run: Run
    system: str | None = None

    def __post_init__(self) -> None:
        """Refuse to rename what can't be written anew."""
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
        index = self.run.index.select(
            pl.col("id").alias("old"), "id", "system", "case_id", "turns", "hash", "source"
        )
        if self.system is None:
            return index.drop("source")
        names = [self._names(*row) for row in index.select("old", "system", "case_id", "source").iter_rows()]
        named = pl.DataFrame(
            names, schema=["id", "system", "case_id"], orient="row", infer_schema_length=None
        )
        return index.select(
            "old", named["id"].cast(pl.String), named["system"].cast(pl.String), named["case_id"].cast(pl.String),
            "turns", pl.lit(None, dtype=pl.String()).alias("hash"),
        )  # fmt: skip

    def _names(
        self, old: str, system: str | None, case: str | None, source: str
    ) -> tuple[str, str | None, str | None]:
        """Id, system and case of a transcript: an id that its file gave is the case, where it names none.

        A file's own name may be anything, and is no case.
        """
        if case is None and not _of_file_name(old, source):
            case = old
        return self.renamed(old), system or self.system, case

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
                pl.when(rates_pair())
                .then(pl.lit(prefix) + pl.col("second_id"))
                .otherwise("unit")
                .alias("unit"),
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
            stale = [
                names
                for (old, case), names in zip(rows, new, strict=True)
                if is_learnt(entry.digests, old, case)
            ]
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
