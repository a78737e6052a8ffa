"""Ratings that people already have, in files of many forms and in data frames, as ratings."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from bedside.ratings.answer_values import MetricAnswers, holds_rating
from bedside.ratings.answer_words import is_no_answer, is_number
from bedside.ratings.comments import FileComments, are_comments
from bedside.ratings.form_contract import form_of, holds_ratings
from bedside.ratings.frames import FRAME, Frame, is_ratings_table, ratings_table, row_place
from bedside.ratings.joined_names import JoinedNames, join_names
from bedside.ratings.known_names import NO_NAMES, KnownMetric, KnownNames
from bedside.ratings.names import pair_unit, unit_name
from bedside.ratings.pair_preferences import SHARES
from bedside.ratings.rated_cell import RatedCell
from bedside.ratings.rating_account import RatingAccount, rating_account
from bedside.ratings.rating_content import FileContent, FrameContent, RatingContent
from bedside.ratings.rating_reading import RatingReading, Struck, parse_missing
from bedside.ratings.scales import Scale, number_in
from bedside.ratings.spellings import metric_key
from bedside.ratings.table import frame_of
from bedside.ratings.word_scales import (
    are_opposites,
    decided_scale,
    strange_words,
    word_key,
    word_scales,
)
from bedside.support.errors import AmbiguousError, BedsideError, InputError
from bedside.support.registry import nearest
from bedside.transcripts.reading_account import FileAccount

#: The largest number of a turn or pass that a table holds.
_MOST = 2**31 - 1


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
    places: tuple[str, ...]

    @property
    def empty(self) -> int:
        """Number of cells without a rating."""
        return self.account.empty.total()


def read_rating_file(
    path: str | os.PathLike[str],
    *,
    form: str | None = None,
    scales: Mapping[str | None, Scale] | None = None,
    columns: Mapping[str, str] | None = None,
    metric: str | None = None,
    sheet: str | None = None,
    header_row: int | None = None,
    encoding: str | None = None,
    metrics: Collection[str] | None = None,
    without: Collection[str] = (),
    rename: Mapping[str, str] | None = None,
    exact: bool = False,
    missing: Collection[str] = (),
    struck: Struck | None = None,
    known: KnownNames = NO_NAMES,
) -> RatingFile:
    """Read ratings from CSV, TSV, XLSX, Parquet, or an annotation tool's JSON.

    The forms are the entries of :data:`~bedside.ratings.form_contract.RATING_FORMS`: tables with one rating a row, a
    column a rater, a column a metric, or two rows of column names; and the exports of Qualtrics, Label Studio,
    Prodigy, Argilla and potato. A cell that is empty or says ``NA`` (or another of
    :data:`~bedside.ratings.answer_words.NO_ANSWER`) is no rating and is counted. A rater named without a kind is a
    person: ``anna`` becomes ``human:anna``.

    Args:
        path: the file.
        form: name of the form; it is recognised by the content unless named.
        scales: the scale of each metric, or under None of all.
        columns: bedside's column name → the file's.
        metric: the metric's name where the file names none; ``rating`` unless named.
        sheet: of a workbook: a worksheet's name, or ``all``.
        header_row: line or row of the column names, from 1.
        encoding: of a text file.
        metrics: the metrics that are taken, by the file's names; all that can be unless named.
        without: metrics and columns of comments that are left.
        rename: the file's name of a metric or rater → the one that it gets.
        exact: whether names of metrics and raters, and labels, stay as they are written. Without it, spellings that
            differ in case and blanks are one, and a metric's name or title is that of a known one.
        missing: what stands for no answer, such as ``99``; ``METRIC=99`` says it of one metric, and ``METRIC=`` that
            all its numbers are ratings.
        struck: whether a workbook's cells that are struck through count (``keep``) or not (``leave``).
        known: names that the file's may stand for, and the scales that metrics bring with them.

    Raises:
        AmbiguousError: the file can be read in two ways; both are named, with what says which is meant.
        InputError: a missing column, no such metric or rater, a rating off its scale, a doubled rating (both rows are
            named), or words where a metric's other ratings are numbers.
    """
    if not os.path.isfile(path):
        raise InputError("there is no such file", where=str(path))
    reading = RatingReading(
        form=form, columns={} if columns is None else columns, metric=metric, sheet=sheet, header_row=header_row,
        encoding=encoding, scales=scales or {}, metrics=metrics, without=without, rename=rename or {}, exact=exact,
        missing=parse_missing(missing), struck=struck, known=known,
    )  # fmt: skip
    return _read(FileContent(Path(path), reading), str(path))


def is_rating_file(
    path: str | os.PathLike[str],
    *,
    columns: Mapping[str, str] | None = None,
    sheet: str | None = None,
    header_row: int | None = None,
    encoding: str | None = None,
) -> bool:
    """Whether a file is one of ratings and not of conversations, by its columns or its tool; arguments as for
    :func:`read_rating_file`.

    Raises:
        InputError: it can't be read.
    """
    reading = RatingReading(columns=columns or {}, sheet=sheet, header_row=header_row, encoding=encoding)
    return holds_ratings(FileContent(Path(path), reading))


def read_rating_frame(
    frame: Frame,
    *,
    scales: Mapping[str | None, Scale] | None = None,
    columns: Mapping[str, str] | None = None,
    metric: str | None = None,
    form: str | None = None,
    known: KnownNames = NO_NAMES,
) -> RatingFile:
    """Read ratings from a pandas or Polars data frame, by the rules of a file (:func:`read_rating_file`).

    A frame with all columns of the ratings table is taken as such, its names as they are: what a run has, or a part of
    it.

    Args:
        frame: the data frame.
        scales, columns, metric, form, known: as for a file.

    Raises:
        InputError: as for a file.
    """
    reading = RatingReading(
        form=form, columns={} if columns is None else columns, metric=metric, scales=scales or {}, known=known,
    )  # fmt: skip
    if not is_ratings_table(frame):
        return _read(FrameContent(frame, reading), FRAME)
    table = ratings_table(frame)
    scale_of = {name: reading.scale(name) for name in table["metric"].unique(maintain_order=True)}
    of_metrics = {name: scale for name, scale in scale_of.items() if scale is not None}
    return RatingFile(
        name=FRAME,
        ratings=table,
        scales=of_metrics,
        account=rating_account(
            FRAME,
            "a table of ratings as a run has",
            FileAccount(),
            ratings=table,
            scales=of_metrics,
            empty=Counter(),
            names=JoinedNames(),
            comments=FileComments(),
        ),
        places=tuple(row_place(row) for row in range(table.height)),
    )


def _read(content: RatingContent, name: str) -> RatingFile:
    collected = _CollectedRatings(content.reading, content.account)
    form = form_of(content)
    collected.add_cells(form.read(content))
    if not collected.rows:
        raise content.without_ratings()
    return collected.rating_file(name, form.title)


class _CollectedRatings:
    """The ratings of a file, each checked against those before it.

    Args:
        reading: what the user said.
        account: takes what was assumed.

    Attributes:
        rows: of the ratings table.
    """

    def __init__(self, reading: RatingReading, account: FileAccount) -> None:
        self._reading = reading
        self._account = account
        self.rows: list[tuple[Any, ...]] = []
        self._drawn: list[tuple[str, float | None]] = []
        self._places: dict[tuple[Any, ...], str] = {}
        self._scale_of: dict[str, Scale | None] = {}
        self._empty: Counter[str] = Counter()
        self._names = JoinedNames()
        self._comments = FileComments()

    def rating_file(self, name: str, form: str) -> RatingFile:
        """All that was added."""
        ratings = frame_of(self.rows, drawn=[chance for _, chance in self._drawn]).with_columns(
            pl.Series("round", [name for name, _ in self._drawn], dtype=pl.String())
        )
        scales = {name: scale for name, scale in self._scale_of.items() if scale is not None}
        account = rating_account(
            name, form, self._account, ratings=ratings, scales=scales, empty=self._empty, names=self._names,
            comments=self._comments,
        )  # fmt: skip
        return RatingFile(name, ratings, scales, account, tuple(self._places.values()))

    def add_cells(self, cells: Iterable[RatedCell]) -> None:
        """Add the ratings of cells.

        Raises:
            AmbiguousError: a metric's numbers can be read in two ways.
            InputError: a rating stands there twice, is off its scale, or is no such thing; or there is no metric or
                rater that the user named.
        """
        cells = [cell if cell.metric else cell._replace(metric=self._reading.only_metric) for cell in cells]
        rated, comments = self._divided(cells)
        rated = self._comments.beside(rated, comments)
        answered = [cell for cell in rated if not is_no_answer(cell.value)]
        self._names = names = join_names(answered, self._reading, self._fits)
        rated = [
            cell._replace(
                metric=names.metric(cell.metric), rater=names.rater(cell.rater) if cell.rater else ""
            )
            for cell in rated
        ]
        self._check_typed_scales({cell.metric for cell in cells})
        self._find_scales(rated)
        held: list[RatedCell] = []
        for cell in rated:
            if holds_rating(cell, self._scale_of[cell.metric]):
                held.append(cell)
            else:
                self._empty[cell.value.strip()] += 1
        by_metric: dict[str, list[RatedCell]] = defaultdict(list)
        for cell in held:
            by_metric[cell.metric].append(cell)
        answers = {
            metric: MetricAnswers(
                metric, self._scale_of[metric], of_metric, exact=self._reading.exact,
                known_labels=self._reading.known.labels.get(metric, ()),
                without_codes="" in self._reading.codes_of(of_metric[0].column)
                or "" in self._reading.codes_of(metric),
            )
            for metric, of_metric in by_metric.items()
        }  # fmt: skip
        self._scale_of = {metric: self._scale_of[metric] for metric in by_metric}
        for metric, of_metric in answers.items():
            if of_metric.joined:
                self._names.labels[metric] = of_metric.joined
            for remark in of_metric.remarks:
                self._account.remark(remark)
        for cell in held:
            self._add(cell, answers[cell.metric])

    def _divided(self, cells: Sequence[RatedCell]) -> tuple[list[RatedCell], list[RatedCell]]:
        """The cells of the metrics that are taken, and what was remarked beside them.

        Raises:
            InputError: the file has no metric that the user named.
        """
        reading = self._reading
        by_metric: dict[str, list[RatedCell]] = defaultdict(list)
        for cell in cells:
            by_metric[cell.metric].append(cell)
        self._check_named(by_metric)
        metrics = {metric_key(name) for name in by_metric}
        texts = {
            name
            for name, of_metric in by_metric.items()
            if self._is_text(name, [cell for cell in of_metric if not cell.kind], metrics)
        }
        left = {
            name
            for name in by_metric
            if reading.is_left(name)
            or not (
                reading.metrics is None
                or name in texts
                or all(cell.kind for cell in by_metric[name])
                or reading.is_chosen(name)
            )
        }
        rated, remarked = [], []
        for cell in cells:
            is_text = bool(cell.kind) or cell.metric in texts
            if is_no_answer(cell.value) and (is_text or cell.metric in left):
                continue
            if cell.metric in left:
                self._account.count_left_out("answers to what is not taken", cell.where)
            elif is_text:
                remarked.append(cell)
            elif reading.is_missing(cell.metric, cell.value):
                self._empty[cell.value.strip()] += 1
            else:
                rated.append(cell)
        return rated, remarked

    def _is_text(self, name: str, cells: Sequence[RatedCell], metrics: Collection[str]) -> bool:
        """Whether what stands there as a metric's answers are comments."""
        reading = self._reading
        if reading.is_chosen(name) or reading.typed_scale(name) is not None:
            return False
        if reading.known.scale(name) is not None:
            return False
        if cells and name == reading.only_metric and cells[0].column == reading.columns.get("value"):
            return False  # the only column there is, which the user named
        answers = [cell.value for cell in cells if not is_no_answer(cell.value)]
        return not reading.has_labels(answers) and are_comments(name, answers, metrics)

    def _check_named(self, metrics: Collection[str]) -> None:
        """See that the file has the metrics that the user named."""
        reading = self._reading
        columns = {*self._account.columns.values(), *self._account.unused}
        said = (
            ("metrics", reading.metrics or ()),
            ("without", reading.without),
            ("missing", reading.missing.keys() - {None}),
        )
        for option, names in said:
            for name in filter(None, names):
                among = {*metrics, *columns} if option == "without" else metrics
                if not any(reading.is_among(one, (name,)) for one in among):
                    raise InputError(
                        f"the file has no metric {name!r}",
                        where=f"`{option}`",
                        todo=nearest(name, sorted(metrics)),
                    )

    def _check_typed_scales(self, metrics: Collection[str]) -> None:
        """See that the file has the metrics that the user gave scales of, by its names or by those that they got."""
        names = {*metrics, *self._names.metrics.values()}
        for name in self._reading.scales:
            if name is not None and not any(self._reading.is_among(one, (name,)) for one in names):
                raise InputError(
                    f"the file has no metric {name!r}", where="`scales`", todo=nearest(name, sorted(names))
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

    def _find_scales(self, cells: Iterable[RatedCell]) -> None:
        """Find the scale of each metric."""
        by_metric: dict[str, list[RatedCell]] = defaultdict(list)
        for cell in cells:
            by_metric[cell.metric].append(cell)
        for metric, of_metric in by_metric.items():
            spellings = [name for name, now in self._names.metrics.items() if now == metric]
            self._scale_of[metric] = self._reading.scale(
                metric, *spellings, *(cell.metric for cell in of_metric[:1]), in_words=_in_words(of_metric)
            )
        self._find_word_scales(
            {name: of_metric for name, of_metric in by_metric.items() if self._scale_of[name] is None}
        )

    def _find_word_scales(self, by_metric: Mapping[str, Sequence[RatedCell]]) -> None:
        """Find the scale of each metric that is rated in the words of a set.

        Raises:
            AmbiguousError: the words may be of several, or some are of none.
        """
        words: dict[str, dict[str, RatedCell]] = {}
        for metric, cells in by_metric.items():
            answered = [cell for cell in cells if not is_no_answer(cell.value)]
            if _in_words(answered):
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
            self._scale_of[metric] = Scale(tuple(spelt.get(word_key(level), level) for level in levels), True)
            self._account.remark(
                f"The words of {metric} are levels in order, {'<'.join(levels)}"
                + (f"; nobody used {', '.join(unused)}" if unused else "")
                + (", as of another metric of the file" if alone[metric] is None else "")
                + f". `scales={metric}=…` gives others."
            )

    def _check_words(self, metric: str, words: Mapping[str, RatedCell]) -> None:
        """See that words which are no scale are labels, and no levels of a scale that isn't told.

        Raises:
            AmbiguousError: they may be of several sets, or some are of none.
        """
        cells = list(words.values())
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
                where=cells[0].where,
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

    def _add(self, cell: RatedCell, answers: MetricAnswers) -> None:
        where = cell.where
        if not cell.rater:
            raise InputError(
                "nothing says who rated", where=where, todo="say what does with `columns=rater=NAME`"
            )
        unit = _unit(cell)
        replicate = _whole(cell.replicate, "replicate", where) if cell.replicate else 0
        key = (cell.item, unit, answers.metric, cell.rater, replicate, cell.round)
        if key in self._places:
            self._check_renamed(answers.metric, cell.rater, f"{self._places[key]} and {where}")
            raise InputError(
                f"{cell.rater} rates {cell.item!r} on {answers.metric} twice",
                where=f"{self._places[key]} and {where}",
                todo="remove one of the rows",
            )
        self._places[key] = where
        value, label = answers.read(cell)
        if cell.second and label is not None:
            value = SHARES[label]
        self._drawn.append((cell.round, _chance(cell.drawn, where) if cell.drawn else None))
        self.rows.append(
            (cell.item, cell.system or None, cell.case or None, unit, answers.metric, cell.rater, replicate, value,
             label, cell.reason or None, None)
        )  # fmt: skip

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
    """What a cell rates.

    Raises:
        InputError: a turn is no number, or a transcript is compared with itself.
    """
    if not cell.second:
        return unit_name(_whole(cell.turn, "turn", cell.where) if cell.turn else None)
    if cell.second == cell.item:
        raise InputError(
            f"{cell.item!r} is compared with itself", where=cell.where, todo="name the other transcript"
        )
    return pair_unit(cell.second)


def _whole(cell: str, name: str, where: str) -> int:
    number = number_in(cell)
    if number is None or not 0 <= number <= _MOST or number != int(number):
        raise InputError(f"the {name} {cell!r} is not a whole number", where=where, todo="count from 0")
    return int(number)


def _chance(cell: str, where: str) -> float:
    number = number_in(cell)
    if number is None or not 0 <= number <= 1:
        raise InputError(
            f"the chance {cell!r} is no number from 0 to 1", where=where, todo="mend the column drawn"
        )
    return number
