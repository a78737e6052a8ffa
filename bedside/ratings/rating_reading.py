"""What a user can say about a file of ratings, and the names that are known before it is read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from bedside.core.errors import InputError, one_of
from bedside.core.question_settings import READING, option, settings_class
from bedside.core.words import Names, listed
from bedside.ratings.scales import Scale, number_in, parse_scales, scale_from
from bedside.ratings.spellings import folded, metric_key, plain, without_ends
from bedside.transcripts.read_options import ENCODING, HEADER_ROW, SHEET


@dataclass(frozen=True, slots=True)
class KnownMetric:
    """A metric that a file's may be.

    Attributes:
        name: in the ratings table.
        called: its title and its declared aliases.
        units: what it rates: ``transcript``, ``turn`` or ``pair``.
        scale: its scale; None where it has none.
    """

    name: str
    called: tuple[str, ...]
    units: frozenset[str]
    scale: Scale | None = None

    def is_called(self, key: str) -> bool:
        """Whether its name, title or an alias has this :func:`~bedside.ratings.spellings.metric_key`."""
        return any(metric_key(name) == key for name in (self.name, *self.called))


@dataclass(frozen=True, slots=True)
class KnownNames:
    """What a file's names may stand for.

    Attributes:
        scale: the scale that a metric brings with it; None where none is known.
        others: metrics that have a key (:func:`~bedside.ratings.spellings.metric_key`), besides those of the run.
        rated: the metrics of the run.
        raters: the people who rated in the run.
        labels: the labels that the run's ratings of a metric have.
    """

    scale: Callable[[str], Scale | None] = lambda name: None
    others: Callable[[str], Sequence[KnownMetric]] = lambda key: ()
    rated: Sequence[KnownMetric] = ()
    raters: Collection[str] = ()
    labels: Mapping[str, Collection[str]] = field(default_factory=dict)

    def rated_as(self, key: str) -> list[KnownMetric]:
        """The metrics of the run that have this key."""
        return [metric for metric in self.rated if metric.is_called(key)]


#: What becomes of cells that are struck through: they count, or are left.
Struck = Literal["keep", "leave"]


#: The scales of a file's ratings, for settings that say how it is read.
SCALES: Any = option(
    "Scale: 1-5, none/open/closed or, in order, 'mild<severe'; METRIC=SCALE is of one metric.",
    "--scale", default=(), heading=READING, metavar="SCALE", form="repeated",
)  # fmt: skip


@settings_class
class CellReading:
    """What the cells of a file of ratings are."""

    form: str | None = option(
        "Form of a file of ratings, such as by_rater or by_metric.",
        default=None, heading=READING, metavar="NAME", offers="rating_forms",
    )  # fmt: skip
    missing: Names = option(
        "What stands for no answer: 99,-9; of one metric: stars=99, or stars= for none.",
        default=(), heading=READING, metavar="CODE,…", form="names",
    )  # fmt: skip
    struck: Struck | None = option(
        "Whether cells that are struck through count.", default=None, heading=READING, metavar="keep|leave"
    )


@settings_class
class FileReading(CellReading):
    """How a file of ratings is read; a run says all of itself."""

    columns: Mapping[str, str] | None = option(
        "Columns that hold what is needed: item=Session,rater=Coder.",
        default=None, heading=READING, metavar="NAME=COLUMN,…", form="pairs",
    )  # fmt: skip
    sheet: str | None = SHEET
    header_row: int | None = HEADER_ROW
    encoding: str | None = ENCODING
    rename: Mapping[str, str] | None = option(
        "New names of metrics and raters: Empathy=empathy,AK=anna.",
        default=None, heading=READING, metavar="OLD=NEW,…", form="pairs",
    )  # fmt: skip
    exact: bool = option("Keep names as they are written: Empathy isn't empathy.", default=False, heading=READING)

    def parsed(self, scales: Names, known: KnownNames, **more: Any) -> RatingReading:
        """How ratings are read, as the readers of files take it.

        Args:
            scales: as typed.
            known, more: as attributes of :class:`RatingReading`.

        Raises:
            InputError: a scale or choice that is none.
        """
        if self.struck is not None:
            one_of(self.struck, get_args(Struck), "choice", InputError, where="`struck`")
        return RatingReading(
            form=self.form,
            columns=self.columns or {},
            sheet=self.sheet,
            header_row=self.header_row,
            encoding=self.encoding,
            scales=parse_scales(listed(scales, "scales")),
            rename=self.rename or {},
            exact=self.exact,
            missing=parse_missing(listed(self.missing, "missing")),
            struck=self.struck,
            known=known,
            **more,
        )


@dataclass(frozen=True, slots=True)
class RatingReading:
    """How a file or data frame of ratings is to be read.

    Attributes:
        form: name of the form (``bedside.ratings.forms``); None recognises it by its content.
        columns: bedside's column name → the file's; an empty name says that there is no such column.
        metric: the metric's name where the file has none; None calls it ``rating``.
        sheet: of a workbook: a worksheet's name, or ``all``; None takes the only one that holds a table.
        header_row: line or row of the column names, from 1; None finds it.
        encoding: of a text file; None recognises it.
        scales: the scale of each metric, or under None of all.
        metrics: the metrics that are taken, by the file's names; None takes all that can be.
        without: metrics and columns of comments that are left.
        rename: the file's name of a metric or rater → the one that it gets.
        exact: whether names of metrics and raters, and labels, stay as they are written. Without it, spellings that
            differ in case and blanks are one, and a metric's name or title is that of a known one.
        known: names that the file's may stand for, and the scales that metrics bring with them.
        missing: what stands for no answer, by metric, or under None of all (:func:`parse_missing`); an empty code says
            that all numbers of the metric are ratings.
        struck: whether a workbook's cells that are struck through count; None where the user doesn't say.
    """

    form: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    metric: str | None = None
    sheet: str | None = None
    header_row: int | None = None
    encoding: str | None = None
    scales: Mapping[str | None, Scale] = field(default_factory=dict)
    metrics: Collection[str] | None = None
    without: Collection[str] = ()
    rename: Mapping[str, str] = field(default_factory=dict)
    exact: bool = False
    known: KnownNames = field(default_factory=KnownNames)
    missing: Mapping[str | None, Collection[str]] = field(default_factory=dict)
    struck: Struck | None = None

    @property
    def only_metric(self) -> str:
        """The name of the metric of a file that names none."""
        return self.metric or "rating"

    def is_chosen(self, name: str) -> bool:
        """Whether the user named a metric among those that are taken."""
        return self.metrics is not None and self.is_among(name, self.metrics)

    def is_among(self, name: str, names: Iterable[str]) -> bool:
        """Whether a name is one of those that the user typed: in any spelling, unless they are meant exactly."""
        if self.exact:
            return name in names
        return metric_key(name) in map(metric_key, names)

    def typed_scale(self, *names: str) -> Scale | None:
        """The scale that the user gave a metric, which may have several names; the one of all isn't meant."""
        for typed, scale in self.scales.items():
            if typed is not None and any(self.is_among(name, (typed,)) for name in names):
                return scale
        return None

    def codes_of(self, metric: str) -> list[str]:
        """What the user said to stand for no answer of a metric, by the file's name."""
        return [
            code
            for name, codes in self.missing.items()
            if name is None or self.is_among(metric, (name,))
            for code in codes
        ]

    def is_missing(self, metric: str, cell: str) -> bool:
        """Whether the user said that a cell of a metric stands for no answer."""
        text, number = folded(cell), number_in(cell)
        return any(
            folded(code) == text or (number is not None and number_in(code) == number)
            for code in self.codes_of(metric)
            if code
        )

    def scale(self, metric: str, *names: str, in_words: bool = False) -> Scale | None:
        """A metric's scale: its own, by the user's word or behind its name, that of all, or one that is known.

        Args:
            metric: the metric.
            names: what the file calls it.
            in_words: whether no answer is a number: a scale of numbers for all isn't meant for it then.
        """
        typed = self.typed_scale(metric, *names)
        if typed is not None:
            return typed
        for name in names:
            ends = without_ends(name)[1]
            if ends is not None:
                return scale_from(*ends)
        of_all = self.scales.get(None)
        if of_all is not None and not (in_words and of_all.numeric):
            return of_all
        return self.known.scale(metric)

    def has_labels(self, answers: Iterable[str]) -> bool:
        """Whether answers are all labels of the scale that the user gave for all metrics."""
        of_all = self.scales.get(None)
        if of_all is None or of_all.numeric:
            return False
        return {folded(answer) for answer in answers} <= {folded(str(level)) for level in of_all.levels}

    def knows_metric(self, name: str) -> bool:
        """Whether a name is that of a metric: a rubric's, a code's or a run's, or one that the user said."""
        bare, ends = without_ends(name)
        return (
            ends is not None
            or self.is_chosen(name)
            or self.typed_scale(name) is not None
            or any(self.known.scale(spelling) is not None for spelling in (bare.strip(), plain(bare)))
            or bool(self.known.rated_as(metric_key(name)))
        )


#: Where the user says nothing.
AS_IT_SAYS = RatingReading()


def parse_missing(texts: Iterable[str]) -> dict[str | None, list[str]]:
    """What stands for no answer as typed, by metric: ``99``; ``metric=99`` holds for one metric, ``metric=`` has none.

    >>> parse_missing(["99", "refused", "stars=-9", "seconds="])
    {None: ['99', 'refused'], 'stars': ['-9'], 'seconds': ['']}
    """
    missing: dict[str | None, list[str]] = {}
    for text in texts:
        metric, equals, code = text.partition("=")
        missing.setdefault(metric.strip() if equals else None, []).append((code if equals else text).strip())
    return missing
