"""How often does each judge err where nobody knows the truth? Models that tell judges' errors from how they agree.

Each unit has one true level, unknown, and each judge reports a level with chances that depend on it alone: judges err
independently of one another. Fitted by crowd-kit: Dawid and Skene's model (1979), with one confusion matrix a judge;
MACE (Hovy and others 2013), where a judge knows the level or gives one of its own liking; GLAD (Whitehill and others
2009), where a judge has one ability and a unit a difficulty.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from bedside.core.errors import DataError, from_extra, one_of
from bedside.stats._resampling import draw
from bedside.stats.arrays import Array, Indices, Seed, coded, generator, scale_of, seed_in_words
from bedside.stats.intervals import wilson_bounds
from bedside.stats.result import Interval, Result

LabelFreeMethod = Literal["dawid-skene", "glad", "mace"]
METHODS: tuple[LabelFreeMethod, ...] = get_args(LabelFreeMethod)
#: With two judges, how often they agree says nothing of which errs.
FEWEST_JUDGES = 3
#: Into how many parts GLAD's units are divided by difficulty.
_PARTS = 9
#: A chance of 0 would make a level impossible for good; crowd-kit's own bound is the same.
_LEAST = 1e-10
#: When fitting ends: of crowd-kit the change of its bound, of a resample that of the chances.
_STEPS, _CHANGE, _MOVED = 200, 1e-5, 2e-4


@dataclass(frozen=True, slots=True, eq=False)
class ErrorModel:
    """How levels and judges' reports of them come about.

    Attributes:
        levels: what is reported.
        prior: the share of each level among units.
        shares: of the parts into which units are divided by difficulty; one alone unless the model is GLAD.
        chances: part × judge × true level × reported level; rows sum to 1.
    """

    levels: tuple[Any, ...]
    prior: Array
    shares: Array
    chances: Array

    def joint(self, reported: Array) -> Array:
        """The chance of each part and true level given the reports: unit × part × level.

        Args:
            reported: unit × judge × level, 1 where the judge reported it.
        """
        parts, judges, size, _ = self.chances.shape
        logs = np.log(np.maximum(self.chances, _LEAST)).transpose(1, 3, 0, 2).reshape(judges * size, parts * size)
        start = np.log(np.maximum(self.shares, _LEAST))[:, None] + np.log(np.maximum(self.prior, _LEAST))
        sums = reported.reshape(len(reported), -1) @ logs + start.ravel()
        weights = np.exp(sums - sums.max(axis=1, keepdims=True))
        joint: Array = (weights / weights.sum(axis=1, keepdims=True)).reshape(-1, parts, size)
        return joint


@dataclass(frozen=True, slots=True, eq=False)
class LabelFree:
    """What judges' agreement tells of their errors.

    Attributes:
        method: the model's name.
        model: as fitted.
        probabilities: unit × level, the chance that it is the true one.
        reliability: of each judge, how often it reports the true level, with its interval.
        confusion: judge × true level × reported level, the chance of the report; low, high: ends of its intervals.
        units, clusters: on how many it rests.
        options: every option in force, by name.
    """

    method: LabelFreeMethod
    model: ErrorModel
    probabilities: Array
    reliability: tuple[Result, ...]
    confusion: Array
    low: Array
    high: Array
    units: int
    clusters: int
    options: dict[str, Any]


def label_free(
    ratings: Any,
    *,
    method: LabelFreeMethod = "dawid-skene",
    clusters: Any = None,
    resamples: int = 200,
    level: float = 0.95,
    seed: Seed = 0,
) -> LabelFree:
    """Each unit's level and each judge's errors, from judges' ratings alone.

    Intervals are percentiles of a bootstrap over clusters: in each resample the model is fitted anew from where
    crowd-kit's ended, by the same steps of expectation and maximisation.

    Args:
        ratings: levels or labels, units × judges, None or NaN where missing; three judges at least.
        method: the model.
        clusters: for each unit the cluster it belongs to, such as its case; each unit is one of its own unless given.
        resamples: of the bootstrap.
        level: nominal coverage.
        seed: of the resamples, and of MACE's starts.

    Raises:
        DataError: fewer than three judges, units that two rated, or levels that were given.
        MissingExtraError: crowd-kit is not installed.
    """
    one_of(method, METHODS, "method", DataError)
    table = np.asarray(ratings, dtype=object)
    if table.ndim != 2 or table.shape[1] < FEWEST_JUDGES:
        raise DataError(
            f"judges' errors can't be told from fewer than {FEWEST_JUDGES} judges without people's ratings",
            todo="add judges, or have people rate a sample",
        )
    levels = scale_of(table)
    codes = coded(table, levels)
    if len(levels) < 2 or (codes < 0).all(axis=0).any():
        raise DataError("each judge must have rated, and not all the same level", todo="leave the metric out")
    kept = (codes >= 0).sum(axis=1) >= 2
    if not kept.any():
        raise DataError("no unit was rated by two of the judges", todo="have them rate the same units")
    numbers = np.arange(len(codes)) if clusters is None else np.unique(np.asarray(clusters), return_inverse=True)[1]
    member = np.unique(numbers[kept], return_inverse=True)[1].astype(np.intp)
    model, follow = _fitted(codes[kept], levels, method, int(generator(seed).integers(2**31)))
    patterns, place = np.unique(codes[kept], axis=0, return_inverse=True)
    weight = np.zeros((int(member.max()) + 1, len(patterns)))
    np.add.at(weight, (member, place), 1.0)
    reported = _reported(patterns, len(levels))
    count = weight.sum(axis=0)
    counts = _counts(model, reported, count)
    whole = _refitted(model, reported, count, follow)
    drawn = draw(np.ones(len(weight)), resamples, generator(seed)) @ weight
    again = np.stack([_counts(_refitted(whole, reported, own, follow), reported, own) for own in drawn])
    own, start, moved = map(_errors, (counts, _counts(whole, reported, count), again))
    # What the further steps change on all units is no error: resamples differ from the same steps on all.
    tables, right = (np.clip(own[part] - start[part] + moved[part], 0.0, 1.0) for part in (0, 1))
    units, part = int(kept.sum()), len(weight) / int(kept.sum())
    low, high = _ends(tables, own[0], counts.sum(axis=2)[..., None], part, level)
    lows, highs = _ends(right, own[1], counts.sum(axis=(1, 2)), part, level)
    over = "units" if clusters is None else "clusters"
    words = (
        f"percentile bootstrap over {over}, {resamples} resamples, {seed_in_words(seed)}; where less than one error is "
        f"expected, Wilson's for as many units as {over}"
    )
    results = tuple(
        Result(
            name="reliability", method=f"{method}, share of units whose level the judge reports",
            estimate=float(own[1][judge]), n=int((codes[kept][:, judge] >= 0).sum()),
            interval=Interval(float(lows[judge]), float(highs[judge]), level, words),
        )
        for judge in range(codes.shape[1])
    )  # fmt: skip
    return LabelFree(
        method, model, model.joint(_reported(codes, len(levels))).sum(axis=1), results, own[0], low, high,
        units, len(weight),
        {"method": method, "clusters": clusters is not None, "resamples": resamples, "level": level, "seed": seed},
    )  # fmt: skip


#: From the expected counts (part × judge × true × reported) and the model before, the chances that fit them best.
_Step = Callable[[Array, ErrorModel], Array]


def _reported(codes: Indices, size: int) -> Array:
    """Unit × judge × level, 1 where the judge reported it."""
    return np.stack([codes == level for level in range(size)], axis=2).astype(np.float64)


def _counts(model: ErrorModel, reported: Array, weights: Array) -> Array:
    """Judge × true level × reported level: how many units are expected to be so, by the chances of their levels."""
    chances = model.joint(reported).sum(axis=1) * weights[:, None]
    counts: Array = np.einsum("pt,pjr->jtr", chances, reported, optimize=True)
    return counts


def _errors(counts: Array) -> tuple[Array, Array]:
    """How often each judge reports which level of a true one, and the true one.

    A model's own chances would do for Dawid and Skene's; GLAD's abilities are drawn toward those of its prior.
    """
    return _rows(counts), np.einsum("...tt->...", counts) / counts.sum(axis=(-1, -2))


def _ends(values: Array, shares: Array, counts: Array, part: float, level: float) -> tuple[Array, Array]:
    """The lower and upper ends of shares' intervals: percentiles of resamples.

    Where less than one unit is expected for or against, resamples have none either: then Wilson's, where it is wider.

    Args:
        values: of resamples.
        shares: the shares; counts: of how many units.
        part: how many independent units a unit counts for.
        level: nominal coverage.
    """
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2], axis=0)
    number = np.maximum(part * counts, _LEAST)
    lowest, highest = wilson_bounds(shares, number, level)
    few = counts * np.minimum(shares, 1 - shares) < 1
    return np.where(few, np.minimum(low, lowest), low), np.where(few, np.maximum(high, highest), high)


def _refitted(model: ErrorModel, reported: Array, weights: Array, step: tuple[_Step, bool]) -> ErrorModel:
    """The model fitted to weighted patterns of reports, beginning from another."""
    maximise, with_prior = step
    kept = weights > 0
    reported, weights = reported[kept], weights[kept]
    parts, judges, size, _ = model.chances.shape
    for _ in range(_STEPS):
        joint = model.joint(reported) * weights[:, None, None]
        counts = joint.reshape(len(joint), -1).T @ reported.reshape(len(joint), -1)
        counts = counts.reshape(parts, size, judges, size).transpose(0, 2, 1, 3)
        prior = joint.sum(axis=(0, 1)) / weights.sum() if with_prior else model.prior
        after = ErrorModel(model.levels, prior, model.shares, maximise(counts, model))
        moved = np.abs(after.chances - model.chances).max()
        model = after
        if moved < _MOVED:
            break
    return model


def _fitted(
    codes: Indices, levels: Sequence[Any], method: LabelFreeMethod, seed: int
) -> tuple[ErrorModel, tuple[_Step, bool]]:
    """The model that crowd-kit fits, and how its steps go on, with whether they fit the shares of levels too."""
    with from_extra("juries", "a jury without labels needs crowd-kit"):
        import pandas as pd
        from crowdkit.aggregation import GLAD, MACE, DawidSkene
    unit, judge = np.nonzero(codes >= 0)
    answers = pd.DataFrame({"task": unit, "worker": judge, "label": codes[unit, judge]})
    size, judges = len(levels), codes.shape[1]
    ordered = list(range(size))
    even: Array = np.full(size, 1 / size)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # crowd-kit calls pandas in ways that pandas will drop
        if method == "dawid-skene":
            fit = DawidSkene(n_iter=_STEPS, tol=_CHANGE).fit(answers)
            if fit.errors_ is None or fit.priors_ is None:
                raise DataError("crowd-kit told no errors of these ratings", todo="take another method, such as glad")
            table = fit.errors_.reindex(pd.MultiIndex.from_product([range(judges), ordered]), columns=ordered)
            chances = table.fillna(0.0).to_numpy(np.float64).reshape(judges, size, size).swapaxes(1, 2)
            prior = pd.Series(fit.priors_).reindex(ordered).fillna(0.0).to_numpy(np.float64)
            model = ErrorModel(tuple(levels), prior, np.ones(1), _rows(chances)[None])
            return model, (lambda counts, before: _rows(counts), True)
        if method == "mace":
            competence = MACE(n_restarts=5, method="em", random_state=seed).fit(answers)
            by_judge = np.argsort(answers["worker"].unique())
            by_level = np.argsort(answers["label"].unique())
            liking = competence.thetas_[by_judge][:, by_level]
            chances = competence.spamming_[by_judge, 0][:, None, None] * liking[:, None, :]
            chances = chances + competence.spamming_[by_judge, 1][:, None, None] * np.eye(size)
            return ErrorModel(tuple(levels), even, np.ones(1), _rows(chances)[None]), (_know_or_guess, False)
        ability = GLAD().fit(answers)
        abilities = ability.alphas_.reindex(range(judges)).to_numpy(np.float64)
        ease = np.exp(np.quantile(ability.betas_.to_numpy(np.float64), (np.arange(_PARTS) + 0.5) / _PARTS))
        parts: Array = np.full(_PARTS, 1 / _PARTS)
        return ErrorModel(tuple(levels), even, parts, _by_ability(abilities, ease, size)), (_able(ease), False)


def _rows(chances: Array) -> Array:
    """Rows scaled to the sum 1; a level that never occurs is reported as any."""
    lifted = np.maximum(chances, _LEAST)
    scaled: Array = lifted / lifted.sum(axis=-1, keepdims=True)
    return scaled


def _know_or_guess(counts: Array, before: ErrorModel) -> Array:
    """MACE: what share of right reports came from knowing, and how the others are spread."""
    size = counts.shape[-1]
    own = before.chances[0]
    # Off the diagonal, rows of a judge are the same: what it gives where it doesn't know.
    below = np.array([[own[judge, (r + 1) % size, r] for r in range(size)] for judge in range(len(own))])
    known = np.maximum(np.einsum("jtt->jt", own) - below, 0.0)
    right = np.einsum("jtt->jt", counts[0])
    by_knowing = right * known / np.maximum(known + below, _LEAST)
    guessed = counts[0].sum(axis=1) - by_knowing
    competence = by_knowing.sum(axis=1) / np.maximum(counts[0].sum(axis=(1, 2)), _LEAST)
    liking = _rows(guessed)
    chances = (1 - competence)[:, None, None] * liking[:, None, :] + competence[:, None, None] * np.eye(size)
    table: Array = chances[None]
    return table


def _by_ability(abilities: Array, ease: Array, size: int) -> Array:
    """GLAD's chances: part × judge × true × reported."""
    right = 1 / (1 + np.exp(-np.outer(ease, abilities)))[:, :, None, None]
    chances: Array = right * np.eye(size) + (1 - right) * (1 - np.eye(size)) / (size - 1)
    return chances


def _able(ease: Array) -> _Step:
    """GLAD: the ability of each judge that fits the counts, by Newton's steps, with the prior N(1, 1)."""

    def step(counts: Array, before: ErrorModel) -> Array:
        right = np.einsum("cjtt->cj", counts)
        whole = counts.sum(axis=(2, 3))
        inside = np.clip(np.einsum("cjtt->cj", before.chances) / counts.shape[-1], _LEAST, 1 - _LEAST)
        abilities = (np.log(inside / (1 - inside)) / ease[:, None]).mean(axis=0)
        for _ in range(5):
            share = 1 / (1 + np.exp(-np.outer(ease, abilities)))
            slope = (ease[:, None] * (right - whole * share)).sum(axis=0) - (abilities - 1)
            curve = (ease[:, None] ** 2 * whole * share * (1 - share)).sum(axis=0) + 1
            abilities = abilities + slope / curve
        return _by_ability(abilities, ease, counts.shape[-1])

    return step
