"""Making a jury of raters that have rated a run, with equal weights or with weights learnt from people's ratings."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import polars as pl

from bedside.analysis.checked_units import grid_of
from bedside.analysis.judge_accuracy import EXPECTED
from bedside.analysis.ratings_view import RatingsView
from bedside.core.errors import DataError, InputError, from_extra, one_of
from bedside.ratings.juries import JURIES_KEY, Jury, JuryMetric, taken_together
from bedside.ratings.learnt_units import LearntUnits, learnt_in, with_learnt
from bedside.ratings.names import (
    JURY_RULES,
    LABEL_FREE_RULES,
    JuryRule,
    has_kind,
    is_human,
    is_jury,
    judge_rater,
    rates_unit,
)
from bedside.ratings.run import Run
from bedside.ratings.table import SCHEMA
from bedside.stats.arrays import Array, Indices
from bedside.tuning.label_split import LabelSplit, split_labels

if TYPE_CHECKING:
    from bedside.stats.label_free import LabelFreeMethod

# -- How much each judge of a jury counts ---------------------------------------------------------------

#: How hard weights are drawn toward equal ones, from not at all to wholly.
_STRENGTHS = (0.0, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, np.inf)
_FOLDS = 5
#: Of votes: every judge's share of right answers is that of so many answers more, at the mean share of all judges.
_PRIOR_ANSWERS = 20.0
#: What makes the weights sum to 1, beside the errors themselves.
_SUM = 1e4


@dataclass(frozen=True, slots=True)
class LearntWeights:
    """Weights of judges on one metric.

    Attributes:
        weights: of each judge, 0 … 1, with sum 1.
        strength: how hard they were drawn toward equal ones: of levels the penalty that cross-validation chose, inf
            for equal weights; of labels how many answers each judge was given at the mean of all.
        accuracies: of labels, each judge's share of right answers; empty of levels.
    """

    weights: tuple[float, ...]
    strength: float
    accuracies: tuple[float, ...] = ()


def level_weights(
    levels: Array, people: Array, cases: Sequence[str], unit_weights: Array, seed: int = 0
) -> LearntWeights:
    """Weights of the mean of judges that is nearest to what people say, by least squares.

    ``min Σ u (y − Xw)² + λ s² k Σ (w − 1/k)²`` with w ≥ 0 and Σ w = 1 (Lawson and Hanson's non-negative least squares),
    where k is the number of judges and s² the error of their plain mean. λ is the largest whose error on other cases
    is within a standard error of the smallest (five parts by case; Breiman and others' rule): few labels, equal
    weights.

    Args:
        levels: units × judges.
        people: people's consensus of each unit.
        cases: of each unit.
        unit_weights: of each unit, with mean about 1.
        seed: of the division into parts.
    """
    with from_extra("learning", "weighing a jury by labels needs scikit-learn"):
        from sklearn.model_selection import GroupKFold

    places: Indices = np.unique(np.array(cases), return_inverse=True)[1]
    folds = min(_FOLDS, int(places.max()) + 1)
    errors = np.zeros((len(_STRENGTHS), len(people)))
    splitter = GroupKFold(folds, shuffle=True, random_state=seed)
    for train, test in splitter.split(levels, groups=places):
        for row, strength in enumerate(_STRENGTHS):
            weights = _fitted(levels[train], people[train], unit_weights[train], strength)
            errors[row, test] = (people[test] - levels[test] @ weights) ** 2
    by_case = np.stack([np.bincount(places, weights=row * unit_weights) for row in errors]) / max(
        np.bincount(places, weights=unit_weights).mean(), 1e-12
    )
    means = by_case.mean(axis=1)
    best = int(np.argmin(means))
    # The error of the difference, case by case: what makes a case hard for all weights is no doubt about which is best.
    spread = (by_case - by_case[best]).std(axis=1, ddof=1) / np.sqrt(by_case.shape[1])
    chosen = max(row for row in range(len(_STRENGTHS)) if means[row] - means[best] <= spread[row] + 1e-12)
    strength = _STRENGTHS[chosen]
    fitted = _fitted(levels, people, unit_weights, strength)
    return LearntWeights(tuple(map(float, fitted)), float(strength))


def _fitted(levels: Array, people: Array, unit_weights: Array, strength: float) -> Array:
    """The weights of :func:`level_weights` for one strength."""
    from scipy.optimize import nnls

    k = levels.shape[1]
    equal: Array = np.full(k, 1 / k)
    if np.isinf(strength):
        return equal
    error = float(np.average((people - levels @ equal) ** 2, weights=unit_weights))
    root = np.sqrt(unit_weights)
    ridge = np.sqrt(strength * max(error, 1e-9) * k)
    # Rows are scaled so that the one for the sum outweighs all units together.
    table = np.vstack([levels * root[:, None], ridge * np.eye(k), np.full((1, k), _SUM)])
    weights, _ = nnls(table, np.concatenate([people * root, ridge * equal, [_SUM]]))
    total = weights.sum()
    return np.asarray(weights / total) if total > 0 else equal


def vote_weights(answers: Sequence[Sequence[Any]], people: Sequence[Any], labels: int) -> LearntWeights:
    """Weights of votes: the log odds that a judge is right, over those of a guess (Nitzan and Paroush 1982).

    ``w = max(0, log(p (L − 1) / (1 − p)))``, scaled to sum 1: the best weights where judges err independently of one
    another and alike on all labels, as in Dawid and Skene's model with one accuracy a judge. p is the share of right
    answers after twenty more at the mean share of all judges, so that few answers give nearly equal weights. Where no
    judge is better than a guess, weights are equal.

    Args:
        answers: units × judges; None where a judge gave none.
        people: the label that people gave by majority.
        labels: how many labels there are.
    """
    right = np.array([[answer == truth for answer in row] for row, truth in zip(answers, people, strict=True)])
    given = np.array([[answer is not None for answer in row] for row in answers])
    hits, counts = (right & given).sum(axis=0).astype(float), given.sum(axis=0).astype(float)
    mean = hits.sum() / max(counts.sum(), 1.0)
    shares = (hits + _PRIOR_ANSWERS * mean) / (counts + _PRIOR_ANSWERS)
    shares = np.clip(shares, 1e-6, 1 - 1e-6)
    weights = np.maximum(np.log(shares * (labels - 1) / (1 - shares)), 0.0)
    if not weights.sum():
        weights = np.ones(len(shares))
    raw = np.divide(hits, counts, out=np.full(len(hits), np.nan), where=counts > 0)
    return LearntWeights(tuple(map(float, weights / weights.sum())), _PRIOR_ANSWERS, tuple(map(float, raw)))


# -- Making a jury of raters that have rated a run ------------------------------------------------------

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
        raise InputError(f"{name!r:.40} can't be a jury's name", where="`jury`", todo="use letters, digits, . _ and -")
    one_of(rule, JURY_RULES, "rule", InputError, where="`by`")
    raters = members_of(view, members)
    if quorum is not None and not 1 <= quorum <= len(raters):
        raise InputError(
            f"a quorum of {quorum} of {len(raters)} judges can't be reached or asks for nobody",
            where="`quorum`",
            todo=f"give a number from 1 to {len(raters)}",
        )
    names = shared_metrics(view, raters, metrics)
    learning: dict[str, Any] = {}
    splits: list[LabelSplit] = []
    weights = {metric: tuple(1 / len(raters) for _ in raters) for metric in names}
    models: dict[str, Mapping[str, Any]] = {}
    if rule in LABEL_FREE_RULES:
        for metric in names:
            models[metric], learning[metric] = _errors_of(view, metric, raters, rule, seed)
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
        metrics={
            metric: JuryMetric(levels_of(view, metric), weights[metric], models.get(metric, {})) for metric in names
        },
        learning=learning,
    )
    return jury, tuple(splits)


def add_jury(run: Run, jury: Jury, learnt: Mapping[str, Collection[str]]) -> None:
    """Put a jury and its ratings into a run; a jury of the same name goes. The run must be locked.

    Args:
        run: the run.
        jury: the jury.
        learnt: by metric, digests of what it learnt from. With what its members learnt from, they stand in the
            manifest: they are no evidence on the jury.
    """
    manifest: dict[str, Any] = {
        **run.manifest,
        JURIES_KEY: {**(run.manifest.get(JURIES_KEY) or {}), jury.name: jury.to_json()},
    }
    digests = {metric: set(own) for metric, own in learnt.items()}
    for entry in learnt_in(run.manifest):
        if entry.rater in jury.members and entry.metric in jury.metrics:
            digests.setdefault(entry.metric, set()).update(entry.digests)
    for metric, own in digests.items():
        manifest = with_learnt(manifest, LearntUnits(jury.rater, metric, frozenset(own)))
    run.add(pl.LazyFrame(schema=SCHEMA), manifest)


def members_of(view: RatingsView, members: Sequence[str]) -> tuple[str, ...]:
    """The raters that are named."""
    known = view.raters()
    raters: dict[str, None] = {}
    for text in members:
        rater = text if text in known or (has_kind(text) and judge_rater(text) not in known) else judge_rater(text)
        if is_human(rater) or is_jury(rater):
            raise DataError(
                f"{rater} is {'a person' if is_human(rater) else 'a jury'}, and no member of a jury",
                where="`jury`",
                todo="name judges or algorithms; what people say together is their consensus",
            )
        one_of(rater, known, "rater", DataError, where=view.name)
        raters[rater] = None
    if len(raters) < 2:
        raise DataError("a jury has two members or more", where="`jury`", todo="name several judges")
    return tuple(raters)


def shared_metrics(view: RatingsView, raters: Sequence[str], patterns: Sequence[str] | None) -> list[str]:
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
                f"{absent} rated nothing by {lacking}", where=view.name, todo="leave the metric or the judge out"
            )
    chosen = [metric for metric in names if metric in shared]
    if not chosen:
        raise DataError("the judges have no metric in common", where=view.name, todo="have them rate the same")
    return chosen


def _errors_of(
    view: RatingsView, metric: str, raters: Sequence[str], rule: JuryRule, seed: int
) -> tuple[Mapping[str, Any], dict[str, Any]]:
    """How often each rater errs on a metric, by how they agree: what rates, and what is shown with its intervals."""
    from bedside.stats.label_free import label_free

    of_metric = pl.col("metric") == metric, pl.col("rater").is_in(raters), pl.col("error").is_null()
    grid = grid_of(view.ratings.filter(*of_metric))
    if not levels_of(view, metric) and not any(isinstance(cell, str) for cell in grid.cells.ravel()):
        raise DataError(
            f"{metric} has no levels, and {rule} is of levels or labels", todo="name other `metrics`, or take the mean"
        )
    cells = grid.cells[:, [grid.raters.index(rater) for rater in raters]]
    learnt = label_free(cells, method=cast("LabelFreeMethod", rule), clusters=grid.cases, seed=seed)
    model, several = learnt.model, learnt.clusters < learnt.units
    return (
        {
            "levels": list(model.levels), "prior": model.prior.round(9).tolist(),
            "shares": model.shares.round(9).tolist(), "chances": model.chances.round(9).tolist(),
        },
        {
            "units": learnt.units, "cases": learnt.clusters, "clustered": several,
            "resamples": learnt.options["resamples"], "seed": seed, "levels": list(model.levels),
            "reliability": [
                [result.estimate, result.interval.low, result.interval.high] if result.interval else None
                for result in learnt.reliability
            ],
            "confusion": learnt.confusion.tolist(), "low": learnt.low.tolist(), "high": learnt.high.tolist(),
        },
    )  # fmt: skip


def levels_of(view: RatingsView, metric: str) -> tuple[float, ...]:
    """The numbers of a metric's scale, ascending; none where it has no scale of numbers."""
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
    rated = view.ratings.filter(pl.col("metric") == metric, pl.col("rater").is_in(raters), pl.col("error").is_null())
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
