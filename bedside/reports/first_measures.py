"""The first answer of a scoring: a screen of measures with their means over transcripts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bedside.analysis.ratings_view import ALL, PEOPLE, RatingsView
from bedside.core.words import counted, typed
from bedside.ratings.names import ALGORITHMS, JUDGES, JURIES, is_judge, is_jury
from bedside.reports.columns import Block, grid_of, recorded
from bedside.reports.comparison_notes import version_notes
from bedside.reports.contents import main_measures
from bedside.reports.measures import TableMeasure
from bedside.reports.number_text import DASH, n_of, number, rater_words
from bedside.reports.samples import MeasureRow, Sample, measure
from bedside.reports.table import Table
from bedside.reports.table_content import Column

#: Measures, and systems beside each other, that fit a screen of so many columns.
_MOST, _SYSTEMS, _WIDTH = 8, 4, 80
#: The longest name of a system, and the least that is left to those of measures.
_LABEL, _TITLE = 10, 20
#: Values that have a middle half.
_FEWEST = 4
#: What a terminal puts between two columns, and at both ends.
_GAP, _ENDS = 3, 2


@dataclass(frozen=True, slots=True)
class _FirstMeasure:
    """A measure of the screen.

    Attributes:
        item: what is measured, and by whom.
        part: the part of the transcripts that it is about; empty for all.
        samples: its values by system; under :data:`ALL` those of all together.
        of: all transcripts of the part, rated or not.
        others: who else rated it.
    """

    item: MeasureRow
    part: str
    samples: Mapping[str, Sample]
    of: int
    others: tuple[str, ...]

    @property
    def title(self) -> str:
        """What it is called, with the part that it is about."""
        return f"{self.item.title} ({self.part})" if self.part else self.item.title

    def transcripts(self) -> str:
        """How many transcripts have a value, and of how many where these are more."""
        return n_of(sum(sample.n for sample in self.samples.values()), self.of)


@dataclass(frozen=True, slots=True)
class _FirstMean:
    """A measure's values of one system, or of all together."""

    item: MeasureRow
    system: str
    sample: Sample

    @property
    def quartiles(self) -> tuple[float, float] | None:
        """The ends of the middle half of the values; None of few values, and of a ratio of sums."""
        if self.item.level != "mean" or self.sample.n < _FEWEST:
            return None
        low, high = np.percentile(self.sample.values, (25, 75))
        return float(low), float(high)

    def mean(self) -> str:
        """The mean as a table of results prints it."""
        return self._number(self.sample.estimate)

    def middle_half(self) -> str:
        """The ends of the middle half as printed."""
        ends = self.quartiles
        return DASH if ends is None else " – ".join(map(self._number, ends))

    def ends(self) -> dict[str, float | None]:
        """The ends of the middle half, for records."""
        low, high = self.quartiles or (None, None)
        return {"quartile_low": low, "quartile_high": high}

    def _number(self, value: float | None) -> str:
        return number(None if value is None else value * self.item.scale, self.item.digits)


def first_measures(view: RatingsView, *, judged: bool = False) -> Table | None:
    """The suite's main measures, then the first of the table of results; None where no transcript has a number.

    A measure has one row: people's ratings go before those of judges, and these before an algorithm's.

    Args:
        view: the ratings.
        judged: whether what judges rated comes first, and goes before people's ratings.
    """
    labels = _labels(view)
    every = list(_measures(view, judged=judged, pool=not labels))
    if judged:
        every.sort(key=lambda own: not is_judge(own.item.group))
    shown = every[:_MOST]
    if not shown:
        return None
    means = [
        _means(label, system, several=bool(labels), halves=any(_mean(own, system).quartiles for own in shown))
        for system, label in (labels or {ALL: "Mean"}).items()
    ]
    transcripts = Block((Column("Transcripts", text=_FirstMeasure.transcripts),))
    room = _room([*means, transcripts], shown)
    by_models = any(is_judge(rater) or is_jury(rater) for rater in view.raters())
    return grid_of(
        "first_measures",
        "Means over transcripts",
        shown,
        (Block((Column("Measure", "left", text=lambda own: _shortened(own.title, room)),)), *means, transcripts),
        notes=[*_notes(view, shown, len(every), apart=bool(labels)), *(version_notes(view) if by_models else ())],
    )


def _measures(view: RatingsView, *, judged: bool, pool: bool) -> Iterator[_FirstMeasure]:
    """The main measures that have a value, then all others in the order of tables."""
    of_judges, of_people = (JUDGES, JURIES), (PEOPLE,)
    raters = (*of_judges, *of_people, ALGORITHMS) if judged else (*of_people, *of_judges, ALGORITHMS)

    def measures_of(part: str, chosen: RatingsView, named: Sequence[TableMeasure]) -> Iterator[_FirstMeasure]:
        of = chosen.transcripts().height
        means = [each for each in named if each.count is None and not each.compared]
        measured = measure(chosen, {"": means}, pool=pool, raters=raters)
        for item, samples in measured.items:
            others = tuple(own.group for own in measured.unshown if own.metric == item.metric)
            by_system = {system: sample for (system, _), sample in samples.items()}
            yield _FirstMeasure(item, part, by_system, of, others)

    main = [own for part, chosen, named in main_measures(view) for own in measures_of(part, chosen, named)]
    yield from main
    shown = {own.item.metric for own in main}
    yield from measures_of("", view, [TableMeasure(metric=name) for name in view.metrics() if name not in shown])


def _means(label: str, system: str, *, several: bool, halves: bool) -> Block:
    """The columns of a system, or of all together, whose middle half is shown beside the mean."""
    record = recorded(
        lambda own: own.ends(), cell=lambda own: f"{own.item.key}/{own.system}", metric="item.metric",
        raters="item.group", system="system", n="sample.n", of="sample.of",
    )  # fmt: skip
    mean = Column(label, field="mean", value="sample.estimate", text=_FirstMean.mean)
    half = Column("Middle half", text=_FirstMean.middle_half)
    return Block((record, mean, half) if halves and not several else (record, mean), lambda own: _mean(own, system))


def _mean(own: _FirstMeasure, system: str) -> _FirstMean:
    sample = own.samples.get(system, Sample(values=np.empty(0), cases=np.empty(0, dtype=int)))
    return _FirstMean(own.item, system, sample)


def _notes(view: RatingsView, shown: Sequence[_FirstMeasure], every: int, *, apart: bool) -> Iterator[str]:
    """Whose ratings are shown, what is no mean, and where the rest is."""
    run = typed(view.name)
    several = [own for own in shown if own.others]
    if several:
        groups = dict.fromkeys(rater_words(own.item.group) for own in several)
        others = dict.fromkeys(rater_words(group) for own in several for group in own.others)
        yield f"Several rated {len(several)} of these; shown: {', '.join(groups)}; not shown: {', '.join(others)}."
    ratios = [own.title for own in shown if own.item.level == "micro"]
    if ratios:
        yield f"Ratio of sums over transcripts, not a mean: {', '.join(ratios)}."
    systems = len(view.systems())
    if systems > 1 and not apart:
        yield f"{counted(systems, 'system')} are taken together; to compare them: bedside compare {run}"
    if every > len(shown):
        yield f"{len(shown)} of {counted(every, 'measure')} are shown; all: bedside report {run}"


# -- What fits a screen ---------------------------------------------------------------------------------


def _labels(view: RatingsView) -> dict[str, str]:
    """What systems that stand beside each other are called; none where they are one, many, or not told apart."""
    systems = view.systems()
    if not 1 < len(systems) <= _SYSTEMS or view.transcripts()["system"].null_count():
        return {}
    names = [view.order.system_label(system) for system in systems]
    for mark in "/:":
        if len({name.rpartition(mark)[0] for name in names}) == 1:
            names = [name.rpartition(mark)[2] for name in names]
    labels = [_shortened(name, _LABEL) for name in names]
    return dict(zip(systems, labels, strict=True)) if len(set(labels)) == len(labels) else {}


def _shortened(text: str, most: int) -> str:
    """A text that is at most so long, shortened in the middle."""
    if len(text) <= most:
        return text
    tail = (most - 1) // 2
    return f"{text[: most - 1 - tail]}…{text[len(text) - tail :]}"


def _room(blocks: Sequence[Block], shown: Sequence[_FirstMeasure]) -> int:
    """The columns of a screen that are left to the titles of measures."""
    room = _WIDTH - _ENDS
    for block in blocks:
        for column in block.columns:
            if isinstance(column, Column):
                texts = [column.title, *(column.text_of(block.of(own)) for own in shown)]
                room -= _GAP + max(map(len, texts))
    return max(room, _TITLE)
