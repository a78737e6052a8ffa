"""Making a jury of raters that have rated a run, with equal weights or with weights learnt from people's ratings."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

import numpy as np
import polars as pl

from bedside.analysis.judge_accuracy import EXPECTED
from bedside.analysis.ratings_view import RatingsView
from bedside.core.errors import DataError, InputError
from bedside.core.registry import nearest
from bedside.ratings.juries import JURIES_KEY, JURY_RULES, Jury, JuryMetric, JuryRule, taken_together
from bedside.ratings.learnt_units import LearntUnits, learnt_in, with_learnt
from bedside.ratings.names import has_kind, is_human, is_jury, judge_rater, rates_unit
from bedside.ratings.run import Run
from bedside.ratings.table import SCHEMA
from bedside.tuning.jury_weights import LearntWeights, level_weights, vote_weights
from bedside.tuning.label_split import LabelSplit, split_labels

#: What a jury can be called.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,40}")


def jury_of(
    view: RatingsView,
    name: str,
    members: Sequence[str],
    *,
    rule: JuryRule = "median",
    quorum: int | None = None,
    metrics: Sequence[str] | None = None,
    share: float = 0.5,
    seed: int = 0,
) -> tuple[Jury, tuple[LabelSplit, ...]]:
    """A jury of raters that have rated a run; nothing is changed yet, see :func:`add_jury`.

    Args:
        view: the ratings of a run.
        name: the jury's.
        members: raters, two or more; a judge's model needs no ``judge:`` before it.
        rule: how members' numbers become one; labels always go by most votes.
        quorum: how many members must have rated a unit; all unless given.
        metrics: metrics or patterns; all that every member has rated unless named.
        share: for the rule ``weights``, the share of cases that weights are learnt from.
        seed: of the division into parts.

    Returns:
        The jury, and for the rule ``weights`` how each metric's labels were split.

    Raises:
        DataError: a name that is none, a member that rated nothing, or too few ratings by people.
    """
    if not _NAME.fullmatch(name):
        raise InputError(
            f"{name!r:.40} can't be a jury's name", where="`jury`", todo="use letters, digits, . _ and -"
        )
    if rule not in JURY_RULES:
        raise InputError(f"{rule!r} is no rule", where="`by`", todo=f"one of {', '.join(JURY_RULES)}")
    raters = _members(view, members)
    if quorum is not None and not 1 <= quorum <= len(raters):
        raise InputError(
            f"a quorum of {quorum} of {len(raters)} judges can't be reached or asks for nobody",
            where="`quorum`",
            todo=f"give a number from 1 to {len(raters)}",
        )
    names = _metrics(view, raters, metrics)
    learning: dict[str, Any] = {}
    splits: list[LabelSplit] = []
    weights = {metric: tuple(1 / len(raters) for _ in raters) for metric in names}
    if rule == "weights":
        for metric in names:
            split, learnt = _learnt(view, metric, raters, share=share, seed=seed)
            splits.append(split)
            weights[metric] = learnt.weights
            learning[metric] = {
                **{key: value for key, value in split.record().items() if key != "held_out_digests"},
                "strength": "equal weights" if np.isinf(learnt.strength) else learnt.strength,
                "accuracies": list(learnt.accuracies),
            }
    jury = Jury(
        name=name,
        members=raters,
        rule=rule,
        quorum=len(raters) if quorum is None else quorum,
        metrics={metric: JuryMetric(_levels(view, metric), weights[metric]) for metric in names},
        learning=learning,
    )
    return jury, tuple(splits)


def add_jury(run: Run, jury: Jury, splits: Sequence[LabelSplit] = ()) -> None:
    """Put a jury and its ratings into a run; a jury of the same name goes. The run must be locked.

    What the jury learnt from, and what its members learnt from, stands in the manifest: it is no evidence on the jury.
    """
    manifest: dict[str, Any] = {
        **run.manifest,
        JURIES_KEY: {**(run.manifest.get(JURIES_KEY) or {}), jury.name: jury.to_json()},
    }
    digests = {split.metric: set(split.digests()) for split in splits}
    for entry in learnt_in(run.manifest):
        if entry.rater in jury.members and entry.metric in jury.metrics:
            digests.setdefault(entry.metric, set()).update(entry.digests)
    for metric, own in digests.items():
        manifest = with_learnt(manifest, LearntUnits(jury.rater, metric, frozenset(own)))
    run.add(pl.LazyFrame(schema=SCHEMA), manifest)


def _members(view: RatingsView, members: Sequence[str]) -> tuple[str, ...]:
    """The raters that are named."""
    known = view.raters()
    raters: dict[str, None] = {}
    for text in members:
        rater = (
            text
            if text in known or (has_kind(text) and judge_rater(text) not in known)
            else judge_rater(text)
        )
        if is_human(rater) or is_jury(rater):
            raise DataError(
                f"{rater} is {'a person' if is_human(rater) else 'a jury'}, and no member of a jury",
                where="`jury`",
                todo="name judges or algorithms; what people say together is their consensus",
            )
        if rater not in known:
            raise DataError(f"{rater} has rated nothing", where=view.name, todo=nearest(rater, known))
        raters[rater] = None
    if len(raters) < 2:
        raise DataError("a jury has two members or more", where="`jury`", todo="name several judges")
    return tuple(raters)


def _metrics(view: RatingsView, raters: Sequence[str], patterns: Sequence[str] | None) -> list[str]:
    """The metrics that every member has rated, by transcript or turn; those that match."""
    rated = view.ratings.filter(pl.col("rater").is_in(raters), rates_unit(), pl.col("error").is_null())
    by_metric = rated.group_by("metric").agg(pl.col("rater").n_unique().alias("raters"))
    shared = set(by_metric.filter(pl.col("raters") == len(raters))["metric"])
    names = [metric for metric in view.metrics(patterns) if not metric.endswith(EXPECTED)]
    if patterns is not None:
        lacking = next((metric for metric in names if metric not in shared), None)
        if lacking is not None:
            rating = set(rated.filter(pl.col("metric") == lacking)["rater"])
            absent = ", ".join(rater for rater in raters if rater not in rating)
            raise DataError(
                f"{absent} rated nothing by {lacking}",
                where=view.name,
                todo="leave the metric or the judge out",
            )
    chosen = [metric for metric in names if metric in shared]
    if not chosen:
        raise DataError(
            "the judges have no metric in common", where=view.name, todo="have them rate the same"
        )
    return chosen


def _levels(view: RatingsView, metric: str) -> tuple[float, ...]:
    scale = view.scales.get(metric)
    levels = () if scale is None else tuple(level for level in scale.levels if not isinstance(level, str))
    return tuple(map(float, levels))


def _learnt(
    view: RatingsView, metric: str, raters: Sequence[str], *, share: float, seed: int
) -> tuple[LabelSplit, LearntWeights]:
    """The weights on one metric, and the split they were learnt from."""
    answers = _answers(view, metric, raters)
    earlier: set[str] = set()
    if view.run is not None:
        for entry in learnt_in(view.run.manifest):
            if entry.rater in raters and entry.metric == metric:
                earlier |= entry.digests
    split = split_labels(view, metric, share=share, seed=seed, rated=set(answers), learnt=earlier)
    units = split.training
    if not any(isinstance(answer, str) for row in answers.values() for answer in row):
        return split, level_weights(
            np.array([answers[unit.key] for unit in units], dtype=np.float64),
            # The mean of people says more than a level of theirs, and weights need no level.
            np.array([fmean(map(float, unit.ratings.values())) for unit in units]),
            [unit.case for unit in units],
            np.array([unit.weight for unit in units]) / fmean(unit.weight for unit in units),
            seed,
        )
    agreed = [unit for unit in units if unit.consensus is not None]
    scale = view.scales.get(metric)
    labels = {label for unit in agreed for label in unit.ratings.values()} | {
        answer for row in answers.values() for answer in row
    }
    weights = vote_weights(
        [answers[unit.key] for unit in agreed],
        [unit.consensus for unit in agreed],
        len(scale.levels if scale is not None else labels),
    )
    return split, weights


def _answers(view: RatingsView, metric: str, raters: Sequence[str]) -> Mapping[tuple[str, str], list[Any]]:
    """What each of the raters says of each unit that all of them rated: the mean of passes, or a label."""
    rated = view.ratings.filter(
        pl.col("metric") == metric, pl.col("rater").is_in(raters), pl.col("error").is_null()
    )
    column = "label" if rated["label"].is_not_null().any() else "value"
    passes: dict[tuple[str, str], dict[str, list[Any]]] = {}
    for transcript, unit, rater, answer in (
        rated.sort("replicate").select("transcript_id", "unit", "rater", column).iter_rows()
    ):
        passes.setdefault((transcript, unit), {}).setdefault(rater, []).append(answer)
    combined = taken_together if column == "label" else fmean
    return {
        key: [combined(by_rater[rater]) for rater in raters]
        for key, by_rater in passes.items()
        if len(by_rater) == len(raters)
    }
