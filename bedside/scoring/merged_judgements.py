"""Judgements of other runs and stores, merged into a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bedside.core.errors import InputError
from bedside.judges.counts import JudgingSummary
from bedside.judges.store_merge import Merged, first_asked_about, merge_store
from bedside.ratings.rubric_metrics import preference_metric
from bedside.ratings.run import Run
from bedside.scoring.judged import JudgingWatch
from bedside.scoring.judging_orders import STORE, JudgingOrder, RecordedJudging, recorded_judgings
from bedside.scoring.run_transcripts import kept_transcripts
from bedside.scoring.stored_judgements import rated_from_store

#: How judges were to be asked, as the manifest tells it; ratings of different ones are not mixed.
JUDGE_SETTINGS = (
    "temperature", "probabilities", "seed", "reasoning_effort", "order", "items_per_call", "turns_per_call", "context",
    "passes", "max_prompt_tokens",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class MergedSource:
    """What one of the merged stores held.

    Attributes:
        path: the run or store, as it was named.
        merged: counts of its judgements.
        of_other_transcripts: those about transcripts that the run doesn't have.
    """

    path: Path
    merged: Merged
    of_other_transcripts: int


@dataclass(frozen=True, slots=True)
class MergedRun:
    """What merging judgements into a run did.

    Attributes:
        sources: what each store held.
        judged: what the ratings of each judge came to.
        left_out: judges, with the rubrics whose ratings were not made, and why.
    """

    sources: tuple[MergedSource, ...]
    judged: tuple[JudgingSummary, ...]
    left_out: tuple[str, ...]


def merge_judgements(run: Run, sources: Sequence[Path], *, progress: JudgingWatch | None = None) -> MergedRun:
    """Take over judgements of other runs or stores, and make the run's ratings of all that is there then.

    What two of them hold is there once; where they differ, the judgement that was asked first is kept. What is rated is
    what this run's judges were asked, and what those of the other runs were asked that this run's were not. Stopped at
    any moment, the same call does what is left.

    Args:
        run: the run.
        sources: folders of runs, or files of stores.
        progress: called with the judge and how far it is.

    Raises:
        RunError: a source is none, or can't be used.
        InputError: it is the run's own.
    """
    stores = [_store_and_run(run, path) for path in sources]
    text, transcripts = run.keeps_text, set(run.index["id"])
    with run.locked():
        merged = []
        for path, (store, _) in zip(sources, stores, strict=True):
            others = sum(count for name, count in first_asked_about(store).items() if name not in transcripts)
            merged.append(MergedSource(path, merge_store(run.path / STORE, store, text=text), others))
        orders = _MergedOrders()
        for source in (run, *(other for _, other in stores if other is not None)):
            orders.add(source)
        summaries = []
        for order, batch in orders.orders:
            with rated_from_store(run, kept_transcripts(run), order, progress) as finished:
                finished.add(run, batch=batch)
            summaries.append(finished.summary)
    return MergedRun(tuple(merged), tuple(summaries), tuple(orders.left_out))


def _store_and_run(run: Run, path: Path) -> tuple[Path, Run | None]:
    """A store, and the run that it is of."""
    other = Run(path) if path.is_dir() else None
    store = path if other is None else path / STORE
    own = run.path / STORE
    if store.exists() and own.exists() and store.samefile(own):
        raise InputError("that is the run's own store", where=str(path), todo="name others")
    if not store.is_file():
        raise InputError("nothing was judged there", where=str(path), todo="name a judged run, or a store")
    return store, other


def judge_settings(recorded: RecordedJudging) -> dict[str, Any]:
    """How a judge was asked, as far as its ratings depend on it."""
    wanted = {**recorded.judge, **recorded.judge["wanted"]}
    return {name: wanted.get(name) for name in JUDGE_SETTINGS}


class _MergedOrders:
    """What judges were asked in a run, and what they were asked in others only.

    Attributes:
        orders: each with whether it was asked by batch files.
        left_out: judges, with the rubrics whose ratings can't be made, and why.
    """

    def __init__(self) -> None:
        self.orders: list[tuple[JudgingOrder, bool]] = []
        self.left_out: list[str] = []
        #: Version and settings by rater and rubric, as the first run has them that asked.
        self._asked: dict[tuple[str, str], tuple[str, dict[str, Any]]] = {}
        self._first = True

    def add(self, run: Run) -> None:
        """Add what judges were asked in a run: of the first all, of the others what none before them asked."""
        for recorded in recorded_judgings(run):
            settings = judge_settings(recorded)
            asked = {
                (recorded.rater, rubric): (version, settings) for rubric, version in recorded.prompts.items()
            }
            listed = f"{recorded.rater} by {', '.join(recorded.prompts)}"
            if not self._first:
                if all(self._asked.get(key) == how for key, how in asked.items()):
                    continue
                if any(self._asked.get(key, how) != how for key, how in asked.items()):
                    self.left_out.append(f"{listed}, asked in {run.path} in another way")
                    continue
            order = recorded.order(run)
            if order is None:
                self.left_out.append(f"{listed}, whose wording is another since")
                continue
            self.orders.append((order, recorded.batch))
            self._asked.update(asked)
        if not self._first:
            self._add_preferences(run)
        self._first = False

    def _add_preferences(self, run: Run) -> None:
        """What judges preferred needs the pairs named again; what they said of them is in the store."""
        compared = {
            (entry["rater"], preference_metric(rubric))
            for entry in run.manifest.get("preferences", [])
            for rubric in entry["prompts"]
        }
        self.left_out += [
            f"{rater} by {metric}: bedside judge pairs makes them of what is kept now"
            for rater, metric in sorted(compared)
        ]
