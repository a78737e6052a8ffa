"""What of a run goes into an export: which names people have, what is left out, where conversations come from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import polars as pl

from bedside.analysis.ratings_view import RatingsView, open_ratings_view
from bedside.analysis.study_parts import ALL_ROUNDS
from bedside.ratings.names import human_rater, person_name
from bedside.ratings.run import Run
from bedside.ratings.table import wordless
from bedside.reports.exports.pseudonyms import CODES_KEY, renamed_in
from bedside.transcripts.transcript import Transcript


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
            return (
                pl.when(naming).then(pl.col(column).map_elements(self.renamed, pl.String())).otherwise(column)
            )

        return ratings.with_columns(
            pl.col("rater").replace(dict(self.names)),
            *(
                renamed(column)
                for column in ("reason", "error")
                if ratings[column].null_count() < ratings.height
            ),
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
