"""What of a run goes into an export: which names people have, what is left out, where conversations come from."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, get_args

import orjson
import polars as pl

from bedside.analysis.ratings_view import RatingsView, open_ratings_view
from bedside.analysis.study_parts import ALL_ROUNDS, SIMULATED, SYNTHETIC
from bedside.core.errors import InputError, one_of
from bedside.ratings.names import human_rater, is_human, person_name
from bedside.ratings.run import Run
from bedside.ratings.table import TRANSCRIPT_FOLDER, TRANSCRIPT_SCHEMA, wordless
from bedside.transcripts.transcript import Transcript

# -- Names that people who rated have in an export ------------------------------------------------------

#: Key of a turn's meta under which people's codes stand, by coder.
CODES_KEY = "codes"


def people_of(run: Run, *, coders: bool) -> frozenset[str]:
    """The people who rated in a run, as raters.

    Args:
        run: the run.
        coders: whether those count, too, whose codes stand in the transcripts only.
    """
    raters = run.ratings["rater"].unique().to_list()
    people = set(filter(is_human, raters))
    if coders and run.keeps_text:
        table = run.table(f"{TRANSCRIPT_FOLDER}/*.parquet", TRANSCRIPT_SCHEMA)
        with run.sound(TRANSCRIPT_FOLDER):
            coded = table.filter(pl.col("content").str.contains(f'"{CODES_KEY}"', literal=True)).select("content")
            for (content,) in coded.collect().iter_rows():
                for turn in orjson.loads(content)["turns"]:
                    codes = turn.get("meta", {}).get(CODES_KEY)
                    if isinstance(codes, dict):
                        people.update(map(human_rater, codes))
    return frozenset(people)


def pseudonyms(people: Iterable[str]) -> dict[str, str]:
    """A name for each person that says nothing of the real one: ``human:rater-1`` and so on.

    The order is that of a hash, so that the alphabet tells nothing; the same people have the same names each time.
    """
    shuffled = sorted(people, key=lambda rater: hashlib.sha256(rater.encode()).digest())
    return {rater: human_rater(f"rater-{number}") for number, rater in enumerate(shuffled, 1)}


def renamed_in(text: str, names: Mapping[str, str]) -> str:
    """A text in which each rater who is called by a full name, such as ``human:anna``, is called by the other."""
    if not names:
        return text
    # The longest first: one name may begin another.
    choices = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    return re.sub(f"(?:{choices})(?!\\w)", lambda name: names[name[0]], text)


# -- What of a run goes into an export ------------------------------------------------------------------


@dataclass(frozen=True)
class ExportedStudy:
    """A run as it is given away.

    Attributes:
        run: the run.
        title: of the study.
        names: people who rated, as raters: real name → name in the export; empty where the real names stay.
        origins: ``transcript_id`` and ``origin`` of each transcript.
        text: whether what was said is in it.
        judgements: whether what judges were asked and replied is in it.
        licence: by which others may use it; None where none is named.
        citation: how it wants to be cited; None where nobody says.
    """

    run: Run
    title: str
    names: Mapping[str, str]
    origins: pl.DataFrame
    text: bool = True
    judgements: bool = False
    licence: str | None = None
    citation: str | None = None

    @cached_property
    def view(self) -> RatingsView:
        """All its ratings, with what is known of metrics and scales; people have their real names."""
        return open_ratings_view(self.run, rounds=(ALL_ROUNDS,), one_kind=False)

    def renamed(self, text: str) -> str:
        """A text in which people who rated are called as in the export."""
        return renamed_in(text, self.names)

    def ratings(self) -> pl.DataFrame:
        """The ratings as they are given away: with the columns of a run's."""
        ratings = self.run.ratings
        if not self.text:
            ratings = wordless(ratings.lazy()).collect()
        if not self.names:
            return ratings

        def renamed(column: str) -> pl.Expr:
            # Seldom does anything say who rated, and a table has millions of rows.
            naming = pl.col(column).str.contains_any(list(self.names))
            return pl.when(naming).then(pl.col(column).map_elements(self.renamed, pl.String())).otherwise(column)

        return ratings.with_columns(
            pl.col("rater").replace(dict(self.names)),
            *(renamed(column) for column in ("reason", "error") if ratings[column].null_count() < ratings.height),
        )

    def transcripts(self) -> Iterator[Transcript]:
        """The transcripts as they are given away: coders have their new names, and no file is named.

        Raises:
            RunError: the run keeps no text.
        """
        for transcript in self.run.transcripts():
            turns = tuple(
                replace(turn, meta=self._renamed_coders(turn.meta)) if CODES_KEY in turn.meta else turn
                for turn in transcript.turns
            )
            yield replace(transcript, turns=turns, source="")

    def _renamed_coders(self, meta: Mapping[str, Any]) -> Mapping[str, Any]:
        codes = meta[CODES_KEY]
        if not isinstance(codes, dict):
            return meta
        renamed = {
            person_name(self.names.get(human_rater(coder), human_rater(coder))): labels
            for coder, labels in codes.items()
        }
        return {**meta, CODES_KEY: dict(sorted(renamed.items()))}


# -- Where conversations come from ----------------------------------------------------------------------

Origin = Literal["simulated", "recorded", "written"]
ORIGINS: tuple[Origin, ...] = get_args(Origin)
#: What each means, in a sentence's part.
ORIGIN_WORDS: Mapping[Origin | None, str] = {
    "simulated": "a program or language model plays at least one side",
    "recorded": "real people said it",
    "written": "people made it up",
    None: "the run doesn't say, and nobody else did",
}


def origins(run: Run, stated: str | Mapping[str, str] | None) -> pl.DataFrame:
    """Where each transcript comes from: a column ``origin`` by ``transcript_id``, null where it is not known.

    A run knows which of its transcripts were simulated; the others are what the user states.

    Args:
        run: the run.
        stated: an origin for all transcripts, or one for each system that is named.

    Raises:
        InputError: there is no such origin or system, or simulated transcripts are said to be something else.
    """
    systems = run.index["system"].drop_nulls().unique().sort().to_list()
    by_system = {} if stated is None or isinstance(stated, str) else dict(stated)
    for origin in [stated] if isinstance(stated, str) else by_system.values():
        one_of(origin, ORIGINS, "origin", InputError, where="`origin`")
    for system in by_system:
        one_of(system, systems, "system", InputError, where="`origin`")
    of_user = pl.lit(stated if isinstance(stated, str) else None, dtype=pl.String())
    if by_system:
        of_user = pl.col("system").replace_strict(
            list(by_system), list(by_system.values()), default=None, return_dtype=pl.String()
        )
    factors = run.factors
    known = pl.lit(None, dtype=pl.String())
    if SYNTHETIC in factors.columns:
        known = pl.when(pl.col(SYNTHETIC) == SIMULATED).then(pl.lit("simulated"))
        factors = factors.select("transcript_id", SYNTHETIC)
    else:
        factors = factors.select("transcript_id")
    table = (
        run.index.select(pl.col("id").alias("transcript_id"), "system")
        .join(factors, on="transcript_id", how="left", maintain_order="left")
        .with_columns(of_user.alias("stated"), known.alias("known"))
    )
    wrong = table.filter(pl.col("known").is_not_null() & (pl.col("stated") != pl.col("known")))
    if not wrong.is_empty():
        raise InputError(
            f"the run says that transcript {wrong['transcript_id'][0]!r} was simulated, and not {wrong['stated'][0]}",
            where="`origin`",
            todo="name the origin of the other systems only",
        )
    return table.select("transcript_id", pl.coalesce("known", "stated").alias("origin"))
