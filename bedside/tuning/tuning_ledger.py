"""Every tuning that was tried on the same labels: of many, one shows a gain by chance.

What is held out in one try may be learnt from, or held out again, in the next: labels are used up by tries. A run keeps
its own tries in a file. Those of runs in the same folder count, too, where a label is the same: by the conversation's
content, the unit, the person and the level.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from bedside.analysis.ratings_view import RatingsView
from bedside.core.files import read_sealed, write_sealed
from bedside.core.json_shape import BOOLEAN, NUMBER, TEXT, OrNull
from bedside.ratings.names import rated_by_humans
from bedside.ratings.run import Run
from bedside.scoring.judging_orders import STORE

if TYPE_CHECKING:
    from bedside.tuning.tuned_judge import TuningOrder, TuningOutcome

#: The file of a run that keeps tries.
FILE = "tuning-tries.json"
_SHAPE = {"tunings": [{
    "metric": TEXT, "judge": TEXT, "asked": {}, "labels": [TEXT], "tuned": OrNull(TEXT), "date": TEXT,
    "gain": OrNull(NUMBER), "shown": BOOLEAN,
}]}  # fmt: skip
#: The chance that one try shows a gain where there is none: that a 95 % interval lies above 0.
FALSE_GAIN = 0.025


@dataclass(frozen=True, slots=True)
class TuningTry:
    """One tuning.

    Attributes:
        metric, judge: the rubric, and the judge.
        asked: the version that was tuned (in another language it is another), what was asked for, and with which
            temperature, effort, extra fields and the like.
        labels: digests of people's labels, as :func:`label_digests` makes them.
        tuned: the version that came of it; None where nothing did better in training.
        date: by day.
        gain: on what was held out; None where it wasn't rated twice.
        shown: whether the whole interval of the gain lies above 0.
    """

    metric: str
    judge: str
    asked: Mapping[str, Any]
    labels: tuple[str, ...]
    tuned: str | None
    date: str
    gain: float | None
    shown: bool

    def is_again(self, other: TuningTry) -> bool:
        """Whether it is the same try, whenever and in whichever run: the same judge, task and labels."""
        return (self.metric, self.judge, self.asked, self.labels) == (
            other.metric, other.judge, other.asked, other.labels
        )  # fmt: skip


def label_digests(view: RatingsView, metric: str) -> tuple[str, ...]:
    """The digest of each label that people gave by a metric: alike wherever the same conversation was rated alike."""
    content = {} if view.run is None else dict(view.run.index.select("id", "hash").iter_rows())
    given = pl.coalesce(pl.col("label"), pl.col("value").cast(pl.String()))
    people = view.ratings.filter(pl.col("metric") == metric, rated_by_humans(), given.is_not_null())
    rows = people.select("transcript_id", "unit", "rater", given).iter_rows()
    labels = {"\0".join((content.get(name, name), *label)) for name, *label in rows}
    return tuple(sorted(hashlib.sha256(label.encode()).hexdigest()[:16] for label in labels))


def tuning_tries(folder: Path, metric: str, labels: Collection[str]) -> tuple[TuningTry, ...]:
    """The tunings of a rubric that rest on some of these labels, in a run and those beside it; the run's own last.

    Raises:
        RunError: a file is damaged.
    """
    others = sorted(path.parent for path in folder.resolve().parent.glob(f"*/{FILE}"))
    tries: list[TuningTry] = []
    for run in (*(other for other in others if other != folder.resolve()), folder):
        for entry in _kept_in(run):
            if entry.metric == metric and not set(labels).isdisjoint(entry.labels):
                tries = [*(earlier for earlier in tries if not earlier.is_again(entry)), entry]
    return tuple(tries)


def _kept_in(folder: Path) -> Iterator[TuningTry]:
    path = folder / FILE
    if path.is_file():
        kept = read_sealed(path, "ledger of the run's tunings", _SHAPE, todo="restore it from a copy")
        yield from (TuningTry(**{**entry, "labels": tuple(entry["labels"])}) for entry in kept["tunings"])


def keep_try(run: Run, order: TuningOrder, outcome: TuningOutcome, labels: tuple[str, ...]) -> tuple[TuningTry, ...]:
    """Note a tuning in the ledger of a run that is locked; the tries that rest on some of its labels, itself last."""
    asked = {
        "version": outcome.base.version, "wordings": order.wordings, "examples": order.examples,
        "budget": order.budget, "split": [float(outcome.split.share), outcome.split.seed],
        **order.settings.sampling(order.judge).parameters(), "order": order.settings.order,
    }  # fmt: skip
    gain, tuned = (None, None) if outcome.tuned is None else (outcome.gain.estimate, outcome.tuned.version)
    day = f"{datetime.now(UTC):%Y-%m-%d}"
    own = TuningTry(outcome.split.metric, outcome.rater, asked, labels, tuned, day, gain, outcome.shown)
    tries = [*(earlier for earlier in _kept_in(run.path) if not earlier.is_again(own)), own]
    write_sealed(run.path / FILE, {"tunings": [asdict(entry) for entry in tries]})
    run.note(FILE, STORE)
    return tuning_tries(run.path, own.metric, labels)


def chance_of_false_gain(tries: int) -> float:
    """The chance that at least one of so many tries shows a gain where none has any.

    Each shows one with a chance of 2.5 %. They are taken as independent; tries on the same labels are alike, and
    then it is at most this (Šidák 1967).
    """
    return 1 - (1 - FALSE_GAIN) ** tries


def tries_words(tries: Sequence[TuningTry]) -> str:
    """How many tunings were tried on the same labels, and what that means; empty of one alone."""
    tested = sum(entry.gain is not None for entry in tries)
    if len(tries) < 2:
        return ""
    words = f"{len(tries)} tunings were tried on these labels, in this run and those beside it"
    if tested < 2:
        return f"{words}."
    return (
        f"{words}. If none helped, at least one would still show a gain with a chance of up to "
        f"{100 * chance_of_false_gain(tested):.0f} % ({100 * FALSE_GAIN:g} % for each of {tested}, taken as "
        "independent). Confirm a gain on new labels."
    )
