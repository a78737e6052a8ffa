"""What was understood of a file of ratings, for the user to see before he believes a number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from bedside.ratings.comments import FileComments
from bedside.ratings.joined_names import JoinedNames
from bedside.ratings.names import is_turn
from bedside.ratings.scales import Scale
from bedside.support.plurals import counted
from bedside.transcripts.reading_account import FileAccount

#: Most lines of an account, and names in one of them.
_LINES, _NAMED = 24, 8
#: Most characters of a name that is quoted.
_LONGEST = 40


@dataclass(frozen=True, slots=True)
class RatingAccount:
    """What was understood of a file of ratings.

    Attributes:
        name: the file.
        form: the form it was read as, in words.
        file: columns, sheets, encoding, and what was left out.
        metrics: the scale of each metric in words, and how many ratings it has.
        raters: how many ratings each rater gave.
        systems: how many items each system has.
        items: number of items.
        turns: number of turns that were rated by themselves.
        ratings: number of ratings.
        names: which names of the file stand for which others.
        comments: what people remarked beside their ratings.
        empty: cells without a rating, by what they say.
    """

    name: str
    form: str
    file: FileAccount
    metrics: Mapping[str, tuple[str, int]]
    raters: Mapping[str, int]
    systems: Mapping[str, int]
    items: int
    turns: int
    ratings: int
    names: JoinedNames
    comments: FileComments
    empty: Counter[str] = field(default_factory=Counter)

    def lines(self) -> list[str]:
        """The account as text, one screen at most."""
        lines = [*self._of_the_file(), *self._of_the_ratings(), *self._of_the_names()]
        remarks = self.file.remarks
        room = _LINES - len(lines)
        if len(remarks) > room:
            remarks = [*remarks[: room - 1], f"({len(remarks) - room + 1} more remarks.)"]
        return [*lines, *(f"  {remark}" for remark in remarks)]

    def to_json(self) -> dict[str, Any]:
        """For a manifest: all but the names of people, which the ratings have."""
        return {
            "form": self.form,
            "encoding": self.file.encoding,
            "sheets": list(self.file.sheets),
            "other_sheets": list(self.file.other_sheets),
            "columns": self._of_rows(),
            "unused_columns": list(self.file.unused),
            "metrics": {
                name: {"scale": scale, "ratings": count} for name, (scale, count) in self.metrics.items()
            },
            "joined": self.names.to_json(),
            "comments": dict(self.comments.taken),
            "raters": len(self.raters),
            "items": self.items,
            "empty": dict(self.empty),
            "left_out": dict(self.file.left_out),
            "remarks": list(self.file.remarks),
        }

    def _of_rows(self) -> dict[str, str]:
        """The columns that say something of a row; those of raters and metrics are named with them."""
        return {name: column for name, column in self.file.columns.items() if " " not in name}

    def _of_the_file(self) -> Iterator[str]:
        file = self.file
        yield f"{self.name} was read as {self.form}."
        if file.sheets:
            left = f"; left out: {_listed(map(_cut, file.other_sheets))}" if file.other_sheets else ""
            yield f"  Sheets: {_listed(map(_cut, file.sheets))}{left}"
        details = [f"encoding {file.encoding}"] if file.encoding else []
        if file.header is not None:
            details.append(f"column names in row {file.header}")
        if details:
            yield f"  Table: {', '.join(details)}"
        if self._of_rows():
            yield "  Columns: " + " · ".join(
                f"{name} from {_cut(column)!r}" if name != column else name
                for name, column in self._of_rows().items()
            )
        if file.unused:
            yield f"  Columns not used: {_listed(map(_cut, file.unused))}"

    def _of_the_ratings(self) -> Iterator[str]:
        for name, (scale, count) in list(self.metrics.items())[:_NAMED]:
            yield f"  Metric {_cut(name)}: {scale} ({counted(count, 'rating')})"
        if len(self.metrics) > _NAMED:
            yield f"  … and {counted(len(self.metrics) - _NAMED, 'more metric')}"
        yield "  Raters: " + _listed([f"{_cut(name)} ({count:,})" for name, count in self.raters.items()])
        of_systems = [f"{_cut(name)} ({count:,})" for name, count in self.systems.items()]
        systems = f"; systems: {_listed(of_systems)}" if of_systems else "; no system is named"
        turns = f", {counted(self.turns, 'rated turn')}" if self.turns else ""
        yield f"  {counted(self.ratings, 'rating')} of {counted(self.items, 'item')}{turns}{systems}"
        if self.empty:
            words = [
                f"{_cut(word)!r} ({count:,})" if word else f"empty ({count:,})"
                for word, count in self.empty.items()
            ]
            yield f"  Cells without a rating: {_listed(words)}"
        first = self.file.first_left
        if self.file.left_out:
            left = [
                f"{count:,} {noun}" + (f" (first: {first[noun]})" if noun in first else "")
                for noun, count in self.file.left_out.items()
            ]
            yield f"  Left out: {_listed(left)}"

    def _of_the_names(self) -> Iterator[str]:
        if self.names.line():
            yield f"  {self.names.line()}"
        for sentence in (*self.names.apart, *self.names.apart_raters):
            yield f"  {sentence}"
        taken = {name: count for name, count in self.comments.taken.items() if count}
        if taken:
            columns = _listed(f"{_cut(name)} ({count:,})" for name, count in taken.items())
            yield f"  Comments, kept as reasons of ratings: {columns}"
        if self.comments.alone:
            yield (
                f"  Left out: {counted(self.comments.alone, 'comment')} beside no rating (first: "
                f"{self.comments.first_alone})"
            )


def rating_account(
    name: str,
    form: str,
    file: FileAccount,
    *,
    ratings: pl.DataFrame,
    scales: Mapping[str, Scale],
    empty: Counter[str],
    names: JoinedNames,
    comments: FileComments,
) -> RatingAccount:
    """The account of ratings that were read.

    Args:
        name: the file.
        form: what it was read as.
        file: what was understood of the table that they stand in.
        ratings: the ratings table.
        scales: of the metrics that have one.
        empty: cells without a rating, by what they say.
        names: which names of the file stand for which others.
        comments: what people remarked beside their ratings.
    """
    by_metric = ratings.group_by("metric", maintain_order=True)
    systems = ratings.drop_nulls("system").group_by("system", maintain_order=True)
    raters = ratings.group_by("rater", maintain_order=True).len()
    turns = ratings.filter(pl.col("unit") != "transcript").select("transcript_id", "unit").unique()
    return RatingAccount(
        name=name,
        form=form,
        file=file,
        metrics={
            str(metric): (_scale_text(scales.get(str(metric)), part), part.height)
            for (metric,), part in by_metric
        },
        raters=dict(raters.iter_rows()),
        systems=dict(systems.agg(pl.col("transcript_id").n_unique()).iter_rows()),
        items=ratings["transcript_id"].n_unique(),
        turns=sum(map(is_turn, turns["unit"])),
        ratings=ratings.height,
        names=names,
        comments=comments,
        empty=empty,
    )


def _scale_text(scale: Scale | None, part: pl.DataFrame) -> str:
    """A metric's scale in words, or what was given where it has none."""
    if scale is not None:
        levels = scale.level_texts()
        if scale.numeric:
            return f"numbers {_range(levels)}"
        return (
            f"labels {'<'.join(levels)}, in order"
            if scale.ordered
            else f"labels {'/'.join(levels)}, without order"
        )
    labels = part["label"].drop_nulls().unique(maintain_order=True).to_list()
    if labels:
        return f"labels without order, and no scale: {_listed([repr(_cut(label)) for label in labels])}"
    values = part["value"].drop_nulls()
    if values.is_empty():
        return "nothing but errors"
    low, high = part.select(low=pl.col("value").min(), high=pl.col("value").max()).row(0)
    return f"numbers from {low:g} to {high:g}, and no scale"


def _range(levels: Sequence[str]) -> str:
    return ", ".join(levels) if len(levels) <= _NAMED else f"{levels[0]}, {levels[1]}, … {levels[-1]}"


def _listed(names: Iterable[str]) -> str:
    shown = list(names)
    more = f" and {len(shown) - _NAMED:,} more" if len(shown) > _NAMED else ""
    return ", ".join(shown[:_NAMED]) + more


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
