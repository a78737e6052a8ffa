"""What a scoring computes (families, metrics, parameters), and scoring by one process."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import polars as pl

from bedside.core.errors import InputError, RegistryError, RunError, one_of
from bedside.judges.deepeval_raters.catalogue import is_deepeval
from bedside.metrics import FAMILIES, Family, Metric
from bedside.metrics.protocols.contract import PROTOCOLS
from bedside.ratings.run import Run
from bedside.ratings.suites import Suite
from bedside.ratings.table import ValueWriter, missing_counts, transcript_row, transcript_writer
from bedside.ratings.values import Value
from bedside.scoring.run_transcripts import failed_talk
from bedside.transcripts.memory_reading import MemoryReading
from bedside.transcripts.reading import Reading
from bedside.transcripts.reading_account import ReadingAccount
from bedside.transcripts.transcript import Transcript

# -- What a scoring computes ----------------------------------------------------------------------------


@dataclass(frozen=True)
class PlannedFamily:
    """What a family is to compute.

    Attributes:
        family: the family.
        metrics: names of those of its metrics that are wanted.
        settings: all its parameters.
    """

    family: Family
    metrics: frozenset[str]
    settings: dict[str, Any]

    @cached_property
    def rater(self) -> str:
        """The rater that the family is with these parameters."""
        return self.family.rater(self.settings)


@dataclass(frozen=True, slots=True)
class ScoringPlan:
    """What is to be computed.

    Attributes:
        families: in the order in which they are computed.
        suite: the suite that was asked for, which says what a failed conversation is rated with; None where metrics
            were named in its place.
    """

    families: tuple[PlannedFamily, ...]
    suite: Suite | None = None

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The metrics, in order."""
        return tuple(
            metric for planned in self.families for metric in planned.family.metrics if metric.name in planned.metrics
        )

    @property
    def settings(self) -> dict[str, dict[str, Any]]:
        """All parameters, by family."""
        return {planned.family.name: planned.settings for planned in self.families}


def families_by_metric() -> dict[str, str]:
    """The name of every metric's family, by the metric's name."""
    return {metric.name: family.name for family in FAMILIES.all().values() for metric in family.metrics}


def make_plan(names: Iterable[str], parameters: Mapping[str, Mapping[str, Any]] | None = None) -> ScoringPlan:
    """The plan for families and metrics named in ``names``.

    Args:
        names: of families (all their metrics) and of single metrics.
        parameters: by family, those that differ from the family's own.

    Raises:
        RegistryError: a name or parameter is unknown; the nearest are given.
    """
    families = FAMILIES.names()
    wanted: dict[str, set[str]] = {}
    owners: dict[str, str] | None = None
    for name in names:
        if name in families:
            wanted.setdefault(name, set()).update(metric.name for metric in FAMILIES.load(name).metrics)
            continue
        if owners is None:
            owners = families_by_metric()
        if is_deepeval(name):
            raise RegistryError(
                f"{name} asks a language model, and no judge is named",
                todo="give it to bedside.judge, which takes a judge",
            )
        one_of(name, [*owners, *families], "metric or family", RegistryError)
        wanted.setdefault(owners[name], set()).add(name)
    by_family = dict(parameters or {})
    for name in by_family:
        one_of(name, wanted, "scored family", RegistryError, where="`parameters`")
    return ScoringPlan(
        tuple(
            PlannedFamily(FAMILIES.load(name), frozenset(metrics), FAMILIES.load(name).settings(by_family.get(name)))
            for name, metrics in wanted.items()
        )
    )


def suite_plan(
    suite: Suite, metrics: Iterable[str] | None, parameters: Mapping[str, Mapping[str, Any]] | None
) -> ScoringPlan:
    """The plan for a suite.

    Args:
        suite: names metrics, and parameters of their families.
        metrics: families and metrics in place of the suite's, whose parameters don't hold then.
        parameters: parameters of families, over the suite's.

    Raises:
        RegistryError: a name or parameter is unknown; the nearest are given.
    """
    merged: dict[str, dict[str, Any]] = {}
    for part in (suite.parameters if metrics is None else {}, parameters or {}):
        for family, values in part.items():
            merged.setdefault(family, {}).update(values)
    plan = make_plan(suite.metrics if metrics is None else metrics, merged)
    return replace(plan, suite=suite) if metrics is None else plan


# -- Scoring by one process -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ScoringSummary:
    """What a scoring did.

    Attributes:
        run: the run.
        transcripts, turns, ratings, missing: counts of this scoring.
        replaced: ratings of the same key that were there before.
        skipped: how many transcripts and files were left out.
        reasons: why they were left out, in which all unknown speakers are told at once.
        ignored: number of files in searched folders that no reader is for.
        account: what was understood of what was read.
        resumed: parts that an interrupted call had scored before.
    """

    run: Run
    transcripts: int
    turns: int
    ratings: int
    missing: int
    replaced: int
    skipped: int
    reasons: tuple[str, ...]
    ignored: int
    account: ReadingAccount = field(repr=False)
    resumed: int = 0


def rate(transcript: Transcript, plan: ScoringPlan, waiting: Collection[str] = ()) -> Iterator[tuple[str, list[Value]]]:
    """The values of one transcript, by family, each with the rater of those that name none.

    Args:
        transcript: what is rated.
        plan: by what.
        waiting: metrics that are not rated as missing where there are no labels for them, nor under the rater whose
            labels a simulated patient went by: the judge's rest on the same labels.
    """
    simulation = transcript.reference.get("simulation")
    turn_rater = simulation.get("turn_rater") if isinstance(simulation, Mapping) else None
    failed = failed_talk(transcript, () if plan.suite is None else (plan.suite,))
    for planned in plan.families:
        values = planned.family.compute(transcript, planned.metrics, **planned.settings)
        if failed is not None:
            values = map(partial(failed.computed, family=planned.family.name), values)
        if waiting:
            values = (
                value
                for value in values
                if value.metric not in waiting
                or (value.error is None if value.rater is None else value.rater != turn_rater)
            )
        yield planned.rater, list(values)


class ScoringPass:
    """One pass over the files that fills the two tables.

    Args:
        plan: what is computed.
        reading: the files, or what is in memory.
        labels: a file of labels that are laid over the transcripts; None for none.
        waiting: as for :func:`rate`.
        text: whether the run keeps the transcripts' text.
        progress: called with the number of transcripts and of files done.

    Attributes:
        transcripts, turns: counts of what was scored.
        resumed: parts that were scored before and are taken as they are.

    Raises:
        InputError: the metrics planned are not those of one protocol with labels.
    """

    resumed = 0

    def __init__(
        self,
        plan: ScoringPlan,
        reading: Reading | MemoryReading,
        *,
        labels: str | os.PathLike[str] | None = None,
        waiting: frozenset[str],
        text: bool,
        progress: Callable[[int, int], None] | None,
    ) -> None:
        self.plan = plan
        self.reading = reading
        self.waiting = waiting
        self.text = text
        self.progress = progress
        self.transcripts: int = 0
        self.turns: int = 0
        self._source = iter(reading) if labels is None else _labelled(reading, plan, labels)

    def go(self, folder: Path, hashes: Mapping[str, str] | None = None) -> pl.LazyFrame:
        """Score all transcripts, and write them unless the run has them.

        Args:
            folder: where the tables are written.
            hashes: content hashes of the transcripts of a run that is scored into, by id; None for a new run.

        Returns:
            The ratings.

        Raises:
            RunError: a transcript is not one of the run's.
            InputError: a bad file, or nothing in them.
        """
        transcripts = transcript_writer(folder) if hashes is None else None
        ratings = ValueWriter(folder)
        for transcript in self._source:
            row = transcript_row(transcript, text=self.text)
            if transcripts is not None:
                transcripts.add(row)
            elif hashes is not None:
                check_hash(transcript.id, row[6], transcript.source, hashes)
            ratings.add_values(transcript, rate(transcript, self.plan, self.waiting))
            self.transcripts += 1
            self.turns += len(transcript.turns)
            if self.progress is not None:
                self.progress(self.transcripts, len(self.reading.inputs))
        self.check()
        if transcripts is not None:
            transcripts.close()
        return ratings.result()

    def check(self) -> None:
        """Raise InputError where nothing was scored."""
        if not self.transcripts:
            first = self.reading.reasons[0]
            raise InputError(f"every transcript was skipped, the first because: {first}")

    def end(self) -> None:
        """Called when the run is written."""

    def counts(self, ratings: pl.LazyFrame) -> dict[str, Any]:
        """What the manifest says of the ratings: how many, whose, and why some are missing."""
        total = ratings.select(pl.len()).collect().item()
        raters = ratings.select(pl.col("rater").unique().sort()).collect().to_series().to_list()
        return {"ratings": int(total), "raters": raters, "missing": missing_counts(ratings)}

    def summary(self, run: Run, counts: Mapping[str, Any], replaced: int) -> ScoringSummary:
        """What the scoring did, once the run is written."""
        return ScoringSummary(
            run=run,
            transcripts=self.transcripts,
            turns=self.turns,
            ratings=counts["ratings"],
            missing=sum(row["n"] for row in counts["missing"]),
            replaced=replaced,
            skipped=len(self.reading.skipped),
            reasons=tuple(self.reading.reasons),
            ignored=len(self.reading.ignored),
            account=self.reading.account,
            resumed=self.resumed,
        )


def check_hash(transcript: str, digest: str, source: str, hashes: Mapping[str, str]) -> None:
    """Raise RunError unless a transcript is one of a run's, whose content hashes are given by id."""
    if hashes.get(transcript) != digest:
        what = "differs from" if transcript in hashes else "is not among"
        raise RunError(
            f"transcript {transcript!r} ({source}) {what} those of the run",
            where="`out`",
            todo="choose another folder with `out`",
        )


def _labelled(
    reading: Reading | MemoryReading, plan: ScoringPlan, labels: str | os.PathLike[str]
) -> Iterator[Transcript]:
    """The transcripts with the labels of a file, by the protocol whose metrics are scored."""
    by_family = {protocol.family: protocol for protocol in PROTOCOLS.all().values()}
    scored = [by_family[planned.family.name] for planned in plan.families if planned.family.name in by_family]
    if len(scored) != 1:
        suites = " or ".join(f"`suite={protocol.name}`" for protocol in by_family.values())
        raise InputError("labels are for the metrics of one protocol", where="`labels`", todo=f"score one: {suites}")
    return scored[0].labels.laid_over(reading, labels)
