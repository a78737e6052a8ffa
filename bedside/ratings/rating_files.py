"""Ratings that people already have, in files of many forms and in data frames, as ratings."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from bedside.core.errors import AmbiguousError, BedsideError, InputError, nearest
from bedside.core.files import file_digest
from bedside.core.words import counted
from bedside.ratings.cell_columns import RATED, Alike, CellColumns, text_codes
from bedside.ratings.form_contract import form_of, forms_by_priority
from bedside.ratings.joined_names import JoinedNames, join_names
from bedside.ratings.names import is_jury, is_pair, is_turn, pair_unit, person_name, second_id, turn_index, unit_name
from bedside.ratings.rated_cells import MetricAnswers, RatedCell, by_metric, holds_rating, is_no_answer, is_number
from bedside.ratings.rating_content import (
    FRAME,
    FileContent,
    Frame,
    RatingContent,
    frame_content,
    is_ratings_table,
    ratings_table,
    row_place,
)
from bedside.ratings.rating_reading import AS_IT_SAYS, KnownMetric, RatingReading
from bedside.ratings.rubric_metrics import SHARES
from bedside.ratings.run import Run
from bedside.ratings.run_folder import MANIFEST
from bedside.ratings.scales import Scale, are_opposites, decided_scale, number_in, strange_words, word_key, word_scales
from bedside.ratings.spellings import metric_key, plain, summed
from bedside.ratings.table import IMPORTED, KEY, SCHEMA, check_round
from bedside.ratings.table_columns import (
    COLUMN_NAMES,
    ITEM_NAMES,
    PAIR_NAMES,
    are_comments,
    comment_about,
    is_about_the_row,
    is_free_text,
)
from bedside.transcripts.column_names import ROW_COLUMNS
from bedside.transcripts.reading_account import FileAccount

#: A cell and the number of its kind.
_Kind = tuple[int, RatedCell]
#: The largest number of a turn or pass that a table holds.
_MOST = 2**31 - 1
#: The first priority of the forms that are plain tables: the others are told by marks of their own.
_PLAIN = 25
#: What the column of who speaks is called, without blanks.
_SPEAKERS = frozenset(word.replace("_", "") for word in ROW_COLUMNS["speaker"])
#: Most lines of an account, names in one of them, and characters of a name that is quoted.
_LINES, _NAMED, _LONGEST = 24, 8, 40


@dataclass(slots=True)
class FileComments:
    """What people remarked beside their ratings.

    Attributes:
        taken: column → how many of its cells became reasons of ratings.
        alone: how many stand beside no rating.
        first_alone: where the first of those stands.
    """

    taken: Counter[str] = field(default_factory=Counter)
    alone: int = 0
    first_alone: str = ""

    def beside(self, cells: CellColumns, ratings: pl.Series, comments: pl.Series, metrics: Iterable[str]) -> pl.Series:
        """The reasons of cells, with the comments.

        A comment is of the rating that its column's name says, else of the only one that its rater gave the unit. One
        on several is kept with each of them, behind the column's name.

        Args:
            cells: all cells.
            ratings, comments: which of them are ratings with an answer, and which are comments.
            metrics: the file's metrics.
        """
        keys = [cells.expr(name).alias(name) for name in (*RATED, "rater", "metric")]
        remarked = cells.columns.select(*keys, value=cells.expr("value")).with_row_index("row").filter(comments)
        rated = cells.columns.select(*keys).with_row_index("row").filter(ratings)
        by_row: dict[tuple[str, ...], list[tuple[int, str]]] = defaultdict(list)
        for position, *key, metric in rated.join(
            remarked, on=[*RATED, "rater"], how="semi", maintain_order="left"
        ).iter_rows():
            by_row[tuple(key)].append((position, metric_key(metric)))
        of_file = set(map(metric_key, metrics))
        reasons: Mapping[int, list[str]] = defaultdict(list)
        for place, *comment_key, metric, value in remarked.iter_rows():
            name = metric_key(metric)
            about = name if name in of_file else metric_key(comment_about(metric) or "")
            row = [at for at, rated_on in by_row[tuple(comment_key)] if about not in of_file or rated_on == about]
            text = " ".join(value.split())
            text = text if len(row) == 1 else f"{metric}: {text}"
            for position in row:
                reasons[position].append(text)
            self.taken[metric] += bool(row)
            self.alone += not row
            self.first_alone = self.first_alone or ("" if row else cells.places[place])
        own = cells.columns.with_columns(reason=cells.expr("reason"))["reason"]
        at = sorted(reasons)
        return own.scatter(at, ["; ".join(filter(None, (own[position], *reasons[position]))) for position in at])


@dataclass(frozen=True, slots=True)
class RatingAccount:
    """What was understood of a file of ratings, for the user to see before he believes a number.

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
    empty: Counter[str]

    def lines(self) -> list[str]:
        """The account as text, one screen at most."""
        return self._with_remarks([*self._of_the_file(), *self._of_the_ratings(), *self._of_the_names()])

    def _with_remarks(self, lines: list[str]) -> list[str]:
        """Lines, and as many remarks as a screen has room for below them."""
        remarks = self.file.remarks
        room = _LINES - len(lines)
        if len(remarks) > room:
            remarks = [*remarks[: room - 1], f"({len(remarks) - room + 1} more remarks.)"]
        return [*lines, *(f"  {remark}" for remark in remarks)]

    def brief_lines(self) -> list[str]:
        """How much was read, by whom and on which scales, and what may not be as it was meant."""
        by_scale: dict[str, list[str]] = {}
        for name, (scale, _) in self.metrics.items():
            by_scale.setdefault(scale, []).append(_cut(name))
        guessed = [f"{name} from {_cut(column)!r}" for name, column in self._of_rows().items() if name != column]
        lines = [
            f"{self.name}: {self._numbers()}",
            f"  Raters: {_counts(self.raters)}",
            *([f"  Columns: {' · '.join(guessed)}"] if guessed else []),
            *(f"  {_listed(names)}: {scale}" for scale, names in list(by_scale.items())[:_NAMED]),
            *(self._of_sheets() if len(self.file.sheets) > 1 or self.file.other_sheets else ()),
            *self._unused(),
            *(self._left() if set(self.empty) - {""} or self.file.left_out else ()),
            *self._of_the_names(),
        ]
        return self._with_remarks(lines)

    def to_json(self) -> dict[str, Any]:
        """For a manifest: all but the names of people, which the ratings have."""
        return {
            "form": self.form,
            "encoding": self.file.encoding,
            "sheets": list(self.file.sheets),
            "other_sheets": list(self.file.other_sheets),
            "columns": self._of_rows(),
            "unused_columns": list(self.file.unused),
            "metrics": {name: {"scale": scale, "ratings": count} for name, (scale, count) in self.metrics.items()},
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
        yield from self._of_sheets()
        details = [f"encoding {file.encoding}"] if file.encoding else []
        if file.header is not None:
            details.append(f"column names in row {file.header}")
        if details:
            yield f"  Table: {', '.join(details)}"
        if self._of_rows():
            yield "  Columns: " + " · ".join(
                f"{name} from {_cut(column)!r}" if name != column else name for name, column in self._of_rows().items()
            )
        yield from self._unused()

    def _of_sheets(self) -> Iterator[str]:
        file = self.file
        if file.sheets:
            left = f"; left out: {_listed(map(_cut, file.other_sheets))}" if file.other_sheets else ""
            yield f"  Sheets: {_listed(map(_cut, file.sheets))}{left}"

    def _unused(self) -> Iterator[str]:
        if self.file.unused:
            yield f"  Columns not used: {_listed(map(_cut, self.file.unused))}"

    def _of_the_ratings(self) -> Iterator[str]:
        for name, (scale, count) in list(self.metrics.items())[:_NAMED]:
            yield f"  Metric {_cut(name)}: {scale} ({counted(count, 'rating')})"
        if len(self.metrics) > _NAMED:
            yield f"  … and {counted(len(self.metrics) - _NAMED, 'more metric')}"
        yield f"  Raters: {_counts(self.raters)}"
        yield f"  {self._numbers()}"
        yield from self._left()

    def _numbers(self) -> str:
        systems = f"; systems: {_counts(self.systems)}" if self.systems else "; no system is named"
        turns = f", {counted(self.turns, 'rated turn')}" if self.turns else ""
        return f"{counted(self.ratings, 'rating')} of {counted(self.items, 'item')}{turns}{systems}"

    def _left(self) -> Iterator[str]:
        """What is no rating."""
        if self.empty:
            words = (
                f"{_cut(word)!r} ({count:,})" if word else f"empty ({count:,})" for word, count in self.empty.items()
            )
            yield f"  Cells without a rating: {_listed(words)}"
        first = self.file.first_left
        if self.file.left_out:
            left = (
                f"{count:,} {noun}" + (f" (first: {first[noun]})" if noun in first else "")
                for noun, count in self.file.left_out.items()
            )
            yield f"  Left out: {_listed(left)}"

    def _of_the_names(self) -> Iterator[str]:
        for sentence in (self.names.line(), *self.names.apart, *self.names.apart_raters):
            if sentence:
                yield f"  {sentence}"
        taken = {name: count for name, count in self.comments.taken.items() if count}
        if taken:
            yield f"  Comments, kept as reasons of ratings: {_counts(taken)}"
        if self.comments.alone:
            yield (
                f"  Left out: {counted(self.comments.alone, 'comment')} beside no rating (first: "
                f"{self.comments.first_alone})"
            )


@dataclass(frozen=True, slots=True)
class RatingFile:
    """Ratings read from a file or data frame; every question takes it in place of the file.

    Attributes:
        name: the file, for messages.
        ratings: a ratings table; ``transcript_id`` is the item.
        scales: the scale of each metric that has one.
        account: what was understood of the file.
        places: file and row of each rating, in the order of the table.
    """

    name: str
    ratings: pl.DataFrame
    scales: Mapping[str, Scale]
    account: RatingAccount
    places: Sequence[str]

    @property
    def empty(self) -> int:
        """Number of cells without a rating."""
        return self.account.empty.total()


#: What is given lines on each run or file of ratings that a question reads, before anything is computed from it.
_LISTENER: ContextVar[Callable[[Iterable[str]], None] | None] = ContextVar("listener", default=None)


@contextmanager
def listening(tell: Callable[[Iterable[str]], None]) -> Iterator[None]:
    """While a question is answered: have ``tell`` given lines on each run or file of ratings that it reads."""
    token = _LISTENER.set(tell)
    try:
        yield
    finally:
        _LISTENER.reset(token)


def tell_of(source: RatingFile | Run) -> None:
    """Say of what was read how it was understood, or what it waits for, to whoever listens."""
    tell = _LISTENER.get()
    if tell is not None:
        tell(source.waiting() if isinstance(source, Run) else source.account.brief_lines())


def read_rating_file(path: str | os.PathLike[str], reading: RatingReading = AS_IT_SAYS) -> RatingFile:
    """Read ratings from CSV, TSV, XLSX, Parquet, an annotation tool's JSON, or all sheets of a folder.

    The forms are the entries of :data:`~bedside.ratings.form_contract.RATING_FORMS`: tables with one rating a row, a
    column a rater, a column a metric, or two rows of column names; and the exports of Qualtrics, Label Studio,
    Prodigy, Argilla and potato. A cell that is empty or says ``NA`` (or another of
    :data:`~bedside.ratings.rated_cells.NO_ANSWER`) is no rating and is counted. A rater named without a kind is a
    person: ``anna`` becomes ``human:anna``.

    Args:
        path: the file, or the folder.
        reading: how it is to be read.

    Raises:
        AmbiguousError: the file can be read in two ways; both are named, with what says which is meant.
        InputError: a missing column, no such metric or rater, a rating off its scale, a doubled rating (both rows are
            named), or words where a metric's other ratings are numbers.
    """
    files = sheets_of(path) or [Path(path)]  # what is neither says so itself when it is opened
    return _read([FileContent(file, reading) for file in files], str(path))


def sheets_of(path: str | os.PathLike[str]) -> list[Path]:
    """The file that it is, or the sheets in a folder by name; none of a run, or of what isn't there."""
    place = Path(path)
    # A name that is too long, or that may not be looked at, is an error of Path's own questions.
    if not os.path.isdir(path) or os.path.exists(place / MANIFEST):
        return [place] if os.path.isfile(path) else []
    return sorted(file for file in place.glob("[!.~]*") if file.suffix.lower() in (".csv", ".tsv", ".xlsx"))


def is_rating_file(path: str | os.PathLike[str], reading: RatingReading = AS_IT_SAYS) -> bool:
    """Whether a file, or each of a folder, is of ratings: by its tool, or by columns of raters and answers.

    A table with columns of who speaks and what is said is none, whatever else it has.

    Raises:
        InputError: it can't be read.
    """
    files = [FileContent(file, reading) for file in sheets_of(path)]
    return bool(files) and all(_is_of_ratings(content, reading) for content in files)


def _is_of_ratings(content: FileContent, reading: RatingReading) -> bool:
    mapped = reading.columns.keys()
    if mapped & {"speaker", "text"}:
        return False
    if any(
        claim.certain
        for form in forms_by_priority()
        if form.priority < _PLAIN and (claim := form.claims(content)) is not None
    ):
        return True
    names, rows = content.sample
    answers = {
        name: [row[at] for row in rows if at < len(row) and not is_no_answer(row[at])]
        for at, name in enumerate(names)
        if name
    }
    words = set(map(plain, answers))
    if {word.replace("_", "") for word in words} & _SPEAKERS and (
        words & set(ROW_COLUMNS["text"])
        or any(is_free_text(cells) and comment_about(name) is None for name, cells in answers.items())
    ):
        return False
    known = mapped | {name for name, spellings in COLUMN_NAMES.items() if not words.isdisjoint(spellings)}
    rated = any(cells and all(map(is_number, cells)) and not is_about_the_row(name) for name, cells in answers.items())
    return (
        all(not words.isdisjoint(spellings) for spellings in PAIR_NAMES.values())
        or bool(known & {"rater", "value", "metric"})
        or (rated and ("item" in known or not words.isdisjoint(ITEM_NAMES)))
    )


def read_rating_frame(frame: Frame, reading: RatingReading = AS_IT_SAYS) -> RatingFile:
    """Read ratings from a pandas or Polars data frame, by the rules of a file (:func:`read_rating_file`).

    A frame with all columns of the ratings table is taken as such, its names as they are: what a run has, or a part of
    it.

    Args:
        frame: the data frame.
        reading: how it is to be read.

    Raises:
        InputError: as for a file.
    """
    if not is_ratings_table(frame):
        return _read([frame_content(frame, reading)], FRAME)
    table = ratings_table(frame)
    ratings = _FileRatings(reading, FileAccount())
    ratings.scales = {name: reading.scale(name) for name in table["metric"].unique(maintain_order=True)}
    places = [row_place(row) for row in range(table.height)]
    return ratings.rating_file(FRAME, "a table of ratings as a run has", table, places)


def _read(contents: Sequence[RatingContent], name: str) -> RatingFile:
    first = contents[0]
    ratings = _FileRatings(first.reading, first.account, first.twice)
    forms = [form_of(content) for content in contents]
    cells = [CellColumns.of(form.read(content)) for form, content in zip(forms, contents, strict=True)]
    table, places = ratings.ratings_of(CellColumns.joined(cells))
    for content in contents[1:]:
        first.account.add(content.account)
    if table.is_empty():
        raise first.without_ratings()
    title = (f"{len(forms)} files: " if forms[1:] else "") + "; ".join(dict.fromkeys(form.title for form in forms))
    return ratings.rating_file(name, title, table, places)


class _FileRatings:
    """The ratings of a file, of which each different one is looked at once.

    Args:
        reading: what the user said.
        account: takes what was assumed.
        twice: says what to do where somebody rates an item twice.

    Attributes:
        scales: of each metric.
    """

    def __init__(
        self, reading: RatingReading, account: FileAccount, twice: Callable[[], str] = lambda: "remove one of the rows"
    ) -> None:
        self._reading = reading
        self._twice = twice
        self._account = account
        self.scales: dict[str, Scale | None] = {}
        self._empty: Counter[str] = Counter()
        self._names = JoinedNames()
        self._comments = FileComments()

    def rating_file(self, name: str, form: str, table: pl.DataFrame, places: Sequence[str]) -> RatingFile:
        """A table of ratings with what was understood of it."""
        scales = {metric: scale for metric, scale in self.scales.items() if scale is not None}
        systems = table.drop_nulls("system").group_by("system", maintain_order=True)
        units = table.filter(pl.col("unit") != "transcript").select("transcript_id", "unit").unique()
        account = RatingAccount(
            name=name,
            form=form,
            file=self._account,
            metrics={
                metric: (_scale_text(scales.get(metric), table, metric), count)
                for metric, count in table.group_by("metric", maintain_order=True).len().iter_rows()
            },
            raters=dict(table.group_by("rater", maintain_order=True).len().iter_rows()),
            systems=dict(systems.agg(pl.col("transcript_id").n_unique()).iter_rows()),
            items=table["transcript_id"].n_unique(),
            turns=sum(map(is_turn, units["unit"])),
            ratings=table.height,
            names=self._names,
            comments=self._comments,
            empty=self._empty,
        )
        return RatingFile(name, table, scales, account, places)

    def ratings_of(self, columns: CellColumns) -> tuple[pl.DataFrame, Sequence[str]]:
        """The ratings of cells as a table, and where each stands.

        Raises:
            AmbiguousError: a metric's numbers can be read in two ways.
            InputError: a rating stands there twice, is off its scale, or is no such thing; or there is no metric or
                rater that the user named.
        """
        reading = self._reading
        second, turn = columns.expr("second") != "", columns.expr("turn") != ""
        of_unit = [has for name, has in (("second", second), ("turn", turn)) if columns.has(name)]
        alike = columns.alike("column", "rater", "metric", "value", "kind", *of_unit)
        cells = [
            (kind, cell if cell.metric else cell._replace(metric=reading.only_metric))
            for kind, cell in enumerate(alike.cells)
        ]
        rated, remarked = self._divided(cells)
        if remarked:
            answered = {kind for kind, cell in rated if not is_no_answer(cell.value)}
            of_all = columns.with_field("metric", alike.column(cell.metric for _, cell in cells))
            beside = {kind for kind, _ in remarked}
            ratings, comments = (
                alike.column((kind in kinds for kind, _ in cells), pl.Boolean) for kinds in (answered, beside)
            )
            metrics = {cell.metric for _, cell in rated}
            columns = columns.with_field("reason", self._comments.beside(of_all, ratings, comments, metrics))
        names = join_names([cell for _, cell in rated if not is_no_answer(cell.value)], reading, self._fits)
        self._names = names
        rated = [
            (kind, cell._replace(metric=names.metric(cell.metric), rater=names.rater(cell.rater)))
            for kind, cell in rated
        ]
        # By the file's names, or by those that they got.
        metrics = {*(cell.metric for _, cell in cells), *names.metrics.values()}
        self._check_named("scales", filter(None, reading.scales), metrics, metrics)
        self._find_scales(by_metric(cell for _, cell in rated))
        held: dict[int, RatedCell] = {}
        for kind, cell in rated:
            if holds_rating(cell, self.scales[cell.metric]):
                held[kind] = cell
            else:
                self._empty[cell.value.strip()] += cell.times
        answers = {
            metric: MetricAnswers(
                metric, self.scales[metric], of_metric, exact=reading.exact,
                known_labels=reading.known.labels.get(metric, ()),
                without_codes="" in (*reading.codes_of(of_metric[0].column), *reading.codes_of(metric)),
            )
            for metric, of_metric in by_metric(held.values()).items()
        }  # fmt: skip
        self.scales = {metric: self.scales[metric] for metric in answers}
        for metric, of_metric in answers.items():
            if of_metric.joined:
                names.labels[metric] = of_metric.joined
            for remark in of_metric.remarks:
                self._account.remark(remark)
        return self._table(columns, alike, held, answers)

    def _divided(self, kinds: Sequence[_Kind]) -> tuple[list[_Kind], list[_Kind]]:
        """The cells of the metrics that are taken, and what was remarked beside them.
        InputError where the file has no metric that the user named."""
        reading = self._reading
        cells_of = by_metric(cell for _, cell in kinds)
        columns = {*self._account.columns.values(), *self._account.unused}
        self._check_named("metrics", reading.metrics or (), cells_of, cells_of)
        self._check_named("without", reading.without, {*cells_of, *columns}, cells_of)
        self._check_named("missing", filter(None, reading.missing), cells_of, cells_of)
        metrics = set(map(metric_key, cells_of))
        texts = {
            name
            for name, of_metric in cells_of.items()
            if self._is_text(name, [cell for cell in of_metric if not cell.kind], metrics)
        }
        left = {
            name
            for name, of_metric in cells_of.items()
            if reading.is_among(name, reading.without)
            or not (
                reading.metrics is None
                or name in texts
                or all(cell.kind for cell in of_metric)
                or reading.is_chosen(name)
            )
        }
        rated, remarked = [], []
        for kind, cell in kinds:
            is_text = bool(cell.kind) or cell.metric in texts
            if is_no_answer(cell.value) and (is_text or cell.metric in left):
                continue
            if cell.metric in left:
                self._account.count_left_out("answers to what is not taken", cell.where, cell.times)
            elif is_text:
                remarked.append((kind, cell))
            elif reading.is_missing(cell.metric, cell.value):
                self._empty[cell.value.strip()] += cell.times
            else:
                rated.append((kind, cell))
        return rated, remarked

    def _is_text(self, name: str, cells: Sequence[RatedCell], metrics: Collection[str]) -> bool:
        """Whether what stands there as a metric's answers are comments."""
        reading = self._reading
        if reading.is_chosen(name) or (reading.typed_scale(name) or reading.known.scale(name)) is not None:
            return False
        if cells and name == reading.only_metric and cells[0].column == reading.columns.get("value"):
            return False  # the only column there is, which the user named
        answers = summed((cell.value, cell.times) for cell in cells if not is_no_answer(cell.value))
        return not reading.has_labels(answers) and are_comments(name, answers, metrics)

    def _check_named(
        self, option: str, names: Iterable[str | None], among: Iterable[str], metrics: Iterable[str]
    ) -> None:
        """See that the file has what the user named with an option."""
        for name in filter(None, names):
            if not any(self._reading.is_among(one, (name,)) for one in among):
                raise InputError(
                    f"the file has no metric {name!r}", where=f"`{option}`", todo=nearest(name, sorted(metrics))
                )

    def _fits(self, metric: KnownMetric, cells: Sequence[RatedCell]) -> bool:
        """Whether ratings are on the scale of a metric that nobody rated yet."""
        if metric.scale is None:
            return False
        scale = self._reading.scale(metric.name, cells[0].metric, in_words=_in_words(cells))
        if scale is not None and scale.levels != metric.scale.levels:
            return False
        try:
            answers = MetricAnswers(metric.name, metric.scale, cells)
            for cell in cells:
                answers.read(cell)
        except BedsideError:
            return False
        return True

    def _find_scales(self, cells_of: Mapping[str, Sequence[RatedCell]]) -> None:
        """Find the scale of each metric: one that was named or is known, else the set that its words are of.
        AmbiguousError where the words may be of several, or some are of none."""
        words: dict[str, dict[str, RatedCell]] = {}
        for metric, cells in cells_of.items():
            spellings = [name for name, now in self._names.metrics.items() if now == metric]
            self.scales[metric] = self._reading.scale(metric, *spellings, metric, in_words=_in_words(cells))
            answered = [cell for cell in cells if not is_no_answer(cell.value)]
            if self.scales[metric] is None and _in_words(answered):
                for cell in answered:
                    words.setdefault(metric, {}).setdefault(cell.value.strip(), cell)
        alone = {metric: decided_scale(of_metric) for metric, of_metric in words.items()}
        decided = list(filter(None, alone.values()))
        for metric, of_metric in words.items():
            levels = decided_scale(of_metric, decided)
            if levels is None:
                self._check_words(metric, of_metric)
                continue
            spelt = {word_key(label): label for label in self._reading.known.labels.get(metric, ())}
            if self._reading.exact:
                spelt.update({word_key(word): word for word in of_metric})
            unused = [level for level in levels if word_key(level) not in set(map(word_key, of_metric))]
            self.scales[metric] = Scale(tuple(spelt.get(word_key(level), level) for level in levels), True)
            self._account.remark(
                f"The words of {metric} are levels in order, {'<'.join(levels)}"
                + (f"; nobody used {', '.join(unused)}" if unused else "")
                + (", as of another metric of the file" if alone[metric] is None else "")
                + f". `scales={metric}=…` gives others."
            )

    def _check_words(self, metric: str, words: Mapping[str, RatedCell]) -> None:
        """See that words which are no scale are labels, and no levels of a scale that isn't told."""
        scales = word_scales(words)
        if are_opposites(words):
            self._account.remark(
                f"The labels of {metric} ({', '.join(words)}) may be all there are, or levels of a longer scale: "
                f"`scales={metric}={'/'.join(scales[0])}` gives that."
            )
            return
        if scales:
            two = [f"`scales={metric}={'/'.join(levels)}`" for levels in scales[:2]]
            more = f" ({len(scales)} sets have them)" if len(scales) > 2 else ""
            raise AmbiguousError(
                f"the words of {metric} ({', '.join(words)}) may be levels of {'<'.join(scales[0])} or of "
                f"{'<'.join(scales[1])}{more}",
                where=next(iter(words.values())).where,
                todo=f"say which levels there are, with those that nobody used: {' or '.join(two)}",
            )
        of_set, strange = strange_words(words)
        if strange:
            raise AmbiguousError(
                f"{strange[0]!r} is not of one scale with {', '.join(map(repr, of_set))}: it may be a level of "
                f"{metric}, or no answer, or mistyped",
                where=words[strange[0]].where,
                todo=f"give all levels with `scales={metric}=A/B/…`, or say `missing={strange[0]}`",
            )

    def _table(
        self, columns: CellColumns, alike: Alike, held: Mapping[int, RatedCell], answers: Mapping[str, MetricAnswers]
    ) -> tuple[pl.DataFrame, Sequence[str]]:
        """The ratings table, and where each rating stands. InputError says what is wrong in the first row that is."""
        if not held:
            return pl.DataFrame(schema=SCHEMA), []
        alike = replace(alike, cells=[held.get(kind) for kind in range(len(alike.cells))])
        if len(held) < len(alike.cells):
            kept = np.flatnonzero(np.isin(alike.kinds, list(held)))
            columns = columns.rows(pl.Series(kept))
            alike = Alike(alike.cells, alike.kinds[kept], np.searchsorted(kept, alike.firsts))
        # Row and number of the question that is asked of it, and what is wrong.
        faults: list[tuple[int, int, BedsideError]] = []

        def asked(question: int, alike: Alike, ask: Callable[[RatedCell], Any]) -> list[Any]:
            """What cells of each kind answer, up to the first that is wrong."""
            answered: list[Any] = [None] * len(alike.cells)
            for kind, cell in enumerate(alike.cells):
                try:
                    answered[kind] = None if cell is None else ask(cell)
                except BedsideError as error:
                    faults.append((int(alike.firsts[kind]), question, error))
                    break
            return answered

        def read(cell: RatedCell) -> tuple[float | None, str | None]:
            value, label = answers[cell.metric].read(cell)
            return (SHARES[label] if cell.second and label is not None else value), label

        second = columns.expr("second")
        of_pairs = (second != "", second == columns.expr("item")) if columns.has("second") else ()
        units, passes, drawn = columns.alike("turn", *of_pairs), columns.alike("replicate"), columns.alike("drawn")
        asked(0, alike, _check_rater)
        unit = units.column(asked(1, units, _unit))
        if of_pairs:
            unit = columns.columns.select(
                pl.when(of_pairs[0]).then(pl.format(pair_unit("{}"), second)).otherwise(unit)
            ).to_series()
        replicate = passes.column(asked(2, passes, _replicate), pl.Int32)
        metric, rater = (
            alike.column(None if cell is None else getattr(cell, name) for cell in alike.cells)
            for name in ("metric", "rater")
        )
        said = asked(4, alike, read)
        chances = drawn.column(asked(5, drawn, _chance), pl.Float64)
        table = columns.columns.select(
            transcript_id=columns.expr("item"),
            **{column: _filled(columns.expr(name)) for column, name in (("system", "system"), ("case_id", "case"))},
            unit=unit,
            metric=metric,
            rater=rater,
            replicate=replicate,
            value=alike.column((None if answer is None else answer[0] for answer in said), pl.Float64),
            label=alike.column(None if answer is None else answer[1] for answer in said),
            reason=_filled(columns.expr("reason")),
            error=pl.lit(None, dtype=pl.String()),
            round=columns.expr("round"),
            drawn=chances,
        )
        self._check_twice(table, columns.places, faults)
        if faults:
            raise min(faults, key=itemgetter(0, 1))[2]
        return table, columns.places

    def _check_twice(
        self, table: pl.DataFrame, places: Sequence[str], faults: list[tuple[int, int, BedsideError]]
    ) -> None:
        """Note among faults where somebody rates a thing again, unless another row before is wrong, too."""
        keys = [name for name in KEY if name not in ("unit", "replicate", "round") or table[name].n_unique() > 1]
        code = np.zeros(table.height, dtype=np.int64)
        for name in keys:
            # What a fault leaves open is behind that fault.
            of_key = (table[name].fill_null(0) if name == "replicate" else text_codes(table[name])).to_numpy()
            code = code * (int(of_key.max()) + 1) + of_key
            if int(code.max()) > _MOST:
                code = np.unique(code, return_inverse=True)[1]
        in_order = np.sort(code)
        if (in_order[1:] != in_order[:-1]).all():
            return
        row = int((~pl.Series(code).is_first_distinct()).to_numpy().argmax())
        if any((row, 3) > fault[:2] for fault in faults):
            return
        again, first = table.row(row, named=True), int((code == code[row]).argmax())
        where = f"{places[first]} and {places[row]}"
        self._check_renamed(again["metric"], again["rater"], where)
        what = f"{again['rater']} rates {again['transcript_id']!r} on {again['metric']} twice"
        faults.append((row, 3, InputError(what, where=where, todo=self._twice())))

    def _check_renamed(self, metric: str, rater: str, where: str) -> None:
        """See that no two names of the file became one by the user's word, where both have a rating of the same."""
        for now, stands in ((metric, self._names.metrics), (rater, self._names.raters)):
            renamed = sorted(name for name in self._names.renamed if stands.get(name) == now)
            if renamed:
                raise InputError(
                    f"{renamed[0]!r} can't be renamed to {now!r}: the file has that name too, and both rate the same",
                    where=where,
                    todo="give it another name with `rename`, or leave one of the two with `without`",
                )


def _in_words(cells: Iterable[RatedCell]) -> bool:
    """Whether no answer is a number."""
    return not any(is_number(cell.value) for cell in cells)


def _unit(cell: RatedCell) -> str:
    """What a cell rates; InputError where a turn is no number, or a transcript is compared with itself."""
    if not cell.second:
        return unit_name(_whole(cell.turn, "turn", cell.where) if cell.turn else None)
    if cell.second == cell.item:
        raise InputError(f"{cell.item!r} is compared with itself", where=cell.where, todo="name the other transcript")
    return pair_unit(cell.second)


def _check_rater(cell: RatedCell) -> None:
    if not cell.rater:
        raise InputError("nothing says who rated", where=cell.where, todo="say what does with `columns=rater=NAME`")


def _replicate(cell: RatedCell) -> int:
    return _whole(cell.replicate, "replicate", cell.where) if cell.replicate else 0


def _filled(text: pl.Expr) -> pl.Expr:
    """A text, null where it is empty."""
    return pl.when(text != "").then(text)


def _whole(cell: str, name: str, where: str) -> int:
    number = number_in(cell)
    if number is None or not 0 <= number <= _MOST or number != int(number):
        raise InputError(f"the {name} {cell!r} is not a whole number", where=where, todo="count from 0")
    return int(number)


def _chance(cell: RatedCell) -> float | None:
    number = number_in(cell.drawn)
    if cell.drawn and (number is None or not 0 <= number <= 1):
        raise InputError(
            f"the chance {cell.drawn!r} is no number from 0 to 1", where=cell.where, todo="mend the column drawn"
        )
    return number


def _scale_text(scale: Scale | None, table: pl.DataFrame, metric: str) -> str:
    """A metric's scale in words, or what was given where it has none."""
    if scale is not None:
        levels = scale.level_texts()
        if scale.numeric:
            shown = levels if len(levels) <= _NAMED else [*levels[:2], f"… {levels[-1]}"]
            return f"numbers {', '.join(shown)}"
        return f"labels {'<'.join(levels)}, in order" if scale.ordered else f"labels {'/'.join(levels)}, without order"
    part = table.lazy().filter(pl.col("metric") == metric).select("value", "label").collect()
    labels = part["label"].drop_nulls().unique(maintain_order=True).to_list()
    if labels:
        return f"labels without order, and no scale: {_listed(repr(_cut(label)) for label in labels)}"
    low, high = part.select(low=pl.col("value").min(), high=pl.col("value").max()).row(0)
    return "nothing but errors" if low is None else f"numbers from {low:g} to {high:g}, and no scale"


def _counts(numbers: Mapping[str, int]) -> str:
    return _listed(f"{_cut(name)} ({count:,})" for name, count in numbers.items())


def _listed(names: Iterable[str]) -> str:
    shown = list(names)
    more = f" and {len(shown) - _NAMED:,} more" if len(shown) > _NAMED else ""
    return ", ".join(shown[:_NAMED]) + more


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def import_ratings(
    run: Run,
    path: str | os.PathLike[str],
    file: RatingFile,
    round: str = IMPORTED,
    draw: Mapping[str, Any] | None = None,
) -> tuple[int, int]:
    """Add the ratings of a file to a run; those of the same key are replaced.

    Args:
        run: the run.
        path: where the file is.
        file: what it holds.
        round: the round of annotation that its ratings are from, where the file doesn't say so itself.
        draw: what the manifest keeps of how the units were drawn, where a plan of the run drew them.

    Returns:
        How many ratings were added, and how many of them replaced one.

    Raises:
        DataError: no round can have this name.
        InputError: the run has no such transcript, a turn is past its transcript's end, a metric has another scale in
            the run, a rater is a jury, or a rater who was joined with one of the run says otherwise than that one;
            nothing is changed then.
    """
    check_round(round)
    note_numbering(run, file)
    jury = next(filter(is_jury, file.ratings["rater"].unique().sort()), None)
    if jury is not None:
        raise InputError(
            f"{jury} is a jury, whose ratings are made from its members'",
            where=str(path),
            todo="import the members' ratings, and make the jury with bedside judge jury",
        )
    turns_of = dict(run.index.select("id", "turns").iter_rows())
    for where, item, unit in zip(file.places, file.ratings["transcript_id"], file.ratings["unit"], strict=True):
        for name in (item, second_id(unit)) if is_pair(unit) else (item,):
            if name not in turns_of:
                raise InputError(f"the run has no transcript {name!r}", where=where, todo=nearest(name, turns_of))
        turns = turns_of[item]
        if is_turn(unit) and turn_index(unit) >= turns:
            raise InputError(
                f"{item!r} has {turns} turns and so no {unit}",
                where=where,
                todo="count turns from 0, without system messages and tools",
            )
    origins = run.index.select(pl.col("id").alias("transcript_id"), "system", "case_id")
    frame = (
        file.ratings.drop("system", "case_id")
        .join(origins, on="transcript_id", how="left", maintain_order="left")
        .with_columns(pl.when(pl.col("round") == "").then(pl.lit(round)).otherwise("round").alias("round"))
        .select(SCHEMA.names())
    )
    _check_scales(run, str(path), file)
    _check_joined_raters(run, str(path), file, frame)
    entry = {
        "file": str(path),
        "sha256": file_digest(path),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "ratings": frame.height,
        "empty": file.empty,
        "scales": {metric: scale.to_json() for metric, scale in file.scales.items()},
        "metrics": dict(frame.group_by("metric", maintain_order=True).len().iter_rows()),
        "account": file.account.to_json(),
        "rounds": sorted(frame["round"].unique()),
        **(draw or {}),
    }
    with run.locked():
        manifest = {**run.manifest, "imports": [*run.manifest["imports"], entry]}
        replaced = run.add(frame.lazy(), manifest)
    return frame.height, replaced


def note_numbering(run: Run, file: RatingFile) -> None:
    """Say in the file's account where it names turns behind system messages or tools, which a file may have counted."""
    last: dict[str, int] = {}
    for item, unit in file.ratings.select("transcript_id", "unit").unique().iter_rows():
        if is_turn(unit):
            last[item] = max(last.get(item, 0), turn_index(unit))
    if not last or not run.keeps_text:
        return
    behind = sum(
        any(item.before <= last[transcript.id] for item in transcript.provenance)
        for transcript in run.transcripts_named(last)
    )
    if behind:
        file.account.file.remark(
            f"Turns are numbered without system messages and tools, which stand before rated turns in "
            f"{counted(behind, 'transcript')}: see that the file numbers them so, too."
        )


def _check_scales(run: Run, path: str, file: RatingFile) -> None:
    """Raise InputError where a metric has another scale in the run; the same file may correct its own."""
    for entry in run.manifest["imports"]:
        for metric, levels in entry["scales"].items():
            scale, old = file.scales.get(metric), Scale.from_json(levels)
            if scale is not None and entry["file"] != path and scale != old:
                now, before = (", ".join(one.level_texts()) for one in (scale, old))
                raise InputError(
                    f"{metric} is rated on another scale than in {entry['file']}: {now}, not {before}",
                    where=path,
                    todo="give the scale that both were rated on with `scales`, or import the ratings under another "
                    "metric's name",
                )


def _check_joined_raters(run: Run, path: str, file: RatingFile, frame: pl.DataFrame) -> None:
    """Raise InputError where a rater would take the place of what another spelling of the name rated otherwise.

    These may be two people, or one who corrects: only the user knows. The same file may correct its own.
    """
    names = file.account.names
    spelt = {now: name for name, now in names.raters.items() if name not in names.renamed}
    if not spelt or any(entry["file"] == path for entry in run.manifest["imports"]):
        return
    joined = pl.col("rater").is_in(list(spelt))
    of_run = run.scan().filter(joined, pl.col("error").is_null()).collect()
    other = (
        frame.with_row_index("row")
        .filter(joined)
        .join(of_run, on=KEY, how="inner", suffix=" (run)")
        .filter(pl.any_horizontal(pl.col(name).ne_missing(pl.col(f"{name} (run)")) for name in ("value", "label")))
        .sort("row")
    )
    if other.is_empty():
        return
    row, now, item, metric = other.select("row", "rater", "transcript_id", "metric").row(0)
    name, person = spelt[now], person_name(now)
    raise InputError(
        f"{name!r} may be {person!r}, who rated {item!r} on {metric} otherwise in the run "
        f"({counted(other.height, 'rating')} like this)",
        where=file.places[row],
        todo=f"say `rename={name}={person}` to replace them, or `exact` if these are two people",
    )
