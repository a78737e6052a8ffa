"""Ordered ratings with crossed raters and cases: a cumulative link mixed model (proportional odds, logit link).

``logit P(level ≤ k) = threshold_k − fixed · effects − Σ random intercepts``, which are normal, of crossed or nested
factors; a positive effect makes higher levels likelier. The likelihood is Laplace's approximation (Agresti 2010,
Analysis of ordinal categorical data, chapter 10), as of ``clmm`` of R's ordinal (Christensen 2022).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bedside.core.errors import DataError
from bedside.stats.arrays import Array, Indices, Mask, matrix, vector
from bedside.stats.crossed_raters import FEWEST_RATERS, quasi_f
from bedside.stats.result import Interval, Result

#: What the random intercepts of :func:`odds_ratio` are of.
CASES, RATERS, TRANSCRIPTS = "cases", "raters", "transcripts"
BY_CASE, BY_RATER = "cases × system", "raters × system"
#: With fewer cases of a system nothing is said of it.
FEWEST_CASES = 10
#: Random intercepts beside those of the largest factor with which an odds ratio still takes seconds.
_MOST_BESIDE = 400
#: Largest share that the labels of a random factor may be of the ratings.
_MOST_LABELS = 0.8
#: Standard deviations below which a random factor explains nothing, and derivatives by rating of a maximum.
_BOUNDARY, _FLAT = 1e-4, 1e-9
#: Least curvature of a maximum: below it some standard error is above 30, as where a system has one level only.
_CURVED = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class OrdinalFit:
    """A fitted model.

    Attributes:
        levels, thresholds: the levels that were given, in order, and what parts them, in logits.
        effects: one for each column of the fixed part, as logarithms of cumulative odds ratios.
        covariance: of thresholds and effects, in this order.
        deviations: the standard deviation of each random factor, in logits; 0 at the boundary.
        modes: by random factor and label, the conditional mode and its conditional standard error, in logits.
        log_likelihood, converged: at the maximum, and whether it is one; else no other number is to be used.
        boundary: the random factors whose standard deviation is 0.
    """

    levels: tuple[float, ...]
    thresholds: Array
    effects: Array
    covariance: Array
    deviations: Mapping[str, float]
    modes: Mapping[str, Mapping[Any, tuple[float, float]]]
    log_likelihood: float
    converged: bool
    boundary: tuple[str, ...]


def fit(levels: Any, fixed: Any, random: Mapping[str, Sequence[Any]]) -> OrdinalFit:
    """The model of ordered ratings, by maximum likelihood.

    Args:
        levels: one number for each rating; only their order counts.
        fixed: ratings × columns, of which there may be none, without a column of ones.
        random: by name of each factor, the label of each rating, such as its rater; one factor or more.

    BFGS with the exact gradient goes to derivatives of 1e-4, four of Newton's steps on to 1e-9 a rating.

    Raises:
        DataError: fewer than two levels, missing or unequally many values, or no random factor.
    """
    ratings, columns = vector(levels, "levels"), matrix(fixed, "fixed")
    if not random or any(len(labels) != ratings.size for labels in (columns, *random.values())):
        raise DataError("levels, fixed columns and labels of one random factor or more must be as many")
    if np.isnan(ratings).any() or np.isnan(columns).any():
        raise DataError("a rating or a fixed column is missing", todo="leave such ratings out")
    scale, places = np.unique(ratings, return_inverse=True)
    if scale.size < 2:
        raise DataError("all ratings are of one level")
    labels = {name: np.unique(np.asarray(values), return_inverse=True) for name, values in random.items()}
    labels = dict(sorted(labels.items(), key=lambda item: -item[1][0].size))
    model = _Laplace(places, columns, [code for _, code in labels.values()])
    point, information, converged = _maximum(model)
    *_, curvature = model.search(point)
    effects = model.cuts + columns.shape[1]
    spreads = _spreads(point[effects:])
    scales = point[effects:][model.owner]
    modes = iter(zip((scales * model.modes).tolist(), (abs(scales) * curvature.errors()).tolist(), strict=True))
    return OrdinalFit(
        levels=tuple(scale.tolist()), thresholds=point[: model.cuts], effects=point[model.cuts : effects],
        covariance=np.asarray(np.linalg.pinv(information), np.float64)[:effects, :effects],
        deviations=dict(zip(labels, spreads.tolist(), strict=True)),
        modes={name: {label: next(modes) for label in own.tolist()} for name, (own, _) in labels.items()},
        log_likelihood=model.at(point)[0], converged=converged,
        boundary=tuple(name for name, spread in zip(labels, spreads, strict=True) if not spread),
    )  # fmt: skip


def odds_ratio(
    levels: Any, first: Any, cases: Any, raters: Any, transcripts: Any | None = None, *, level: float = 0.95
) -> Result:
    """How many times the odds of a higher level are with the first of two systems what they are with the second.

    Args:
        levels: one number for each rating.
        first: for each rating whether it is of the first system.
        cases, raters, transcripts: labels of each rating; ratings by raters of one system only are left out.
        level: nominal coverage of the interval.

    Random intercepts are of cases, raters, transcripts, and what a system makes of a case or a rater, as far as the
    design tells them apart; ``details`` has their standard deviations in logits. From three raters on the answer is for
    raters like these; two have fixed effects. Test and interval are those of the quasi-F of cases × raters, on ratings
    made linear at the modes: Wald's test rejects null data of three raters in up to 24 %, and with t in next to none.
    """
    ratings, own, rater = vector(levels, "levels"), np.asarray(first, dtype=bool), np.asarray(raters)
    kept = ~np.isnan(ratings) & np.isin(rater, np.intersect1d(rater[own], rater[~own]))
    scale, places = np.unique(ratings[kept], return_inverse=True)
    labels = {CASES: cases, RATERS: raters, TRANSCRIPTS: cases if transcripts is None else transcripts}
    codes = {name: np.unique(np.asarray(of)[kept], return_inverse=True)[1] for name, of in labels.items()}
    own, case, rater = own[kept], codes[CASES], codes[RATERS]
    both, of_each = np.unique(rater), [np.unique(case[side]).size for side in (own, ~own)]
    like_these = both.size >= FEWEST_RATERS
    wanted = {CASES: case, RATERS: rater, BY_RATER: 2 * rater + own, BY_CASE: 2 * case + own, **codes}
    factors = _told_apart({name: code for name, code in wanted.items() if like_these or name not in (RATERS, BY_RATER)})
    blank = Result(
        name="cumulative odds ratio",
        method=f"proportional odds, logit link, random intercepts of {', '.join(factors)} (Laplace's approximation), "
        "quasi-F of cases × raters, Cochran's critical value",
        n=own.size, dropped=int((~kept).sum()), options={"level": level},
    )  # fmt: skip
    if min(of_each) < FEWEST_CASES:
        return blank.no_value(f"fewer than {FEWEST_CASES} cases of a system")
    if not factors or scale.size < 2:
        return blank.no_value("ratings are all equal, or each case has one")
    if sum(int(code.max()) + 1 for code in list(factors.values())[1:]) > _MOST_BESIDE:
        return blank.no_value("so many cases take too long to model")
    beside = [rater] if both.size == 2 else []
    model = _Laplace(places, np.column_stack([own, *beside]).astype(float), list(factors.values()))
    point, _, converged = _maximum(model)
    if not converged:
        return blank.no_value("the odds ratio has no end, as where a system has one level only")
    groups = [rater == code for code in both] if like_these else [np.ones_like(own)]
    of_cases = np.array([name not in (RATERS, BY_RATER) for name in factors])
    by_rater, by_case, single = model.differences(point, of_cases, own, groups, beside)
    shared = np.intersect1d(case[own], case[~own]).size
    freedom = shared - 1 if shared == max(of_each) else sum(of_each) - 2
    # Maximum likelihood takes what it estimated for known.
    added = {CASES: (by_case * (freedom + 1) / freedom + single, freedom)}
    if like_these:
        added[RATERS] = (float(by_rater.var(ddof=1)) / by_rater.size, by_rater.size - 1)
    details = dict(zip(factors, _spreads(point[point.size - model.factors :]).tolist(), strict=True))
    effect = float(point[model.cuts])
    result = quasi_f(blank, effect, added=added, taken=single * like_these, spread=details.get(BY_RATER, 0.0))
    ends = result.interval
    return replace(
        result, estimate=float(np.exp(effect)), details=details, standard_error=None,
        interval=ends and Interval(float(np.exp(ends.low)), float(np.exp(ends.high)), level, ends.method),
    )  # fmt: skip


def _told_apart(codes: Mapping[str, Indices]) -> dict[str, Indices]:
    """The random intercepts that the design tells from each other and from single ratings, most labels first."""
    kept: dict[str, Indices] = {}
    for name, labels in codes.items():
        code = np.unique(labels, return_inverse=True)[1]
        size = code.max(initial=-1) + 1
        same = (np.unique(other * code.size + code).size == size == other.max() + 1 for other in kept.values())
        if 1 < size <= _MOST_LABELS * code.size and not any(same):
            kept[name] = code
    return dict(sorted(kept.items(), key=lambda item: -item[1].max()))


def _spreads(signed: Array) -> Array:
    """Standard deviations, 0 where they are at the boundary."""
    return np.where(np.abs(signed) < _BOUNDARY, 0.0, np.abs(signed))


def _maximum(model: _Laplace) -> tuple[Array, Array, bool]:
    """Where the likelihood is largest, the information there, and whether it is a maximum."""
    from scipy.optimize import minimize
    from scipy.special import logit

    cuts = model.cuts

    # Logarithms of what is between thresholds keep them in order.
    def natural(free: Array) -> Array:
        return np.concatenate([np.cumsum([free[0], *np.exp(free[1:cuts])]), free[cuts:]])

    def loss(free: Array) -> tuple[float, Array]:
        value, slope = model.at(natural(free))
        above = np.cumsum(slope[:cuts][::-1])[::-1]
        return -value, -np.concatenate([above[:1], above[1:] * np.exp(free[1:cuts]), slope[cuts:]])

    start = logit(np.cumsum(np.bincount(model.places))[:-1] / model.places.size)
    free = np.concatenate([start[:1], np.log(np.diff(start)), np.zeros(model.fixed.shape[1]), np.ones(model.factors)])
    point = natural(minimize(loss, free, jac=True, method="BFGS", options={"gtol": 1e-4}).x)
    steps = 1e-4 * np.eye(point.size)
    information = np.array([model.at(point - step)[1] - model.at(point + step)[1] for step in steps]) / 2e-4
    information = (information + information.T) / 2
    if np.linalg.eigvalsh(information).min() <= _CURVED:
        return point, information, False
    # Each step leaves a ten-thousandth of the way, so that neither names nor the order of ratings move a digit.
    for _ in range(4):
        point = point + np.linalg.solve(information, model.at(point)[1])
    return point, information, bool(np.abs(model.at(point)[1]).max() <= _FLAT * model.places.size)


class _Laplace:
    """Laplace's approximation of the log likelihood, of thresholds, effects and standard deviations in one array.

    A negative standard deviation is the same as a positive, so 0 is no edge. The first factor has most labels.
    """

    def __init__(self, places: Indices, fixed: Array, codes: Sequence[Indices]) -> None:
        self.places, self.fixed, self.factors, self.cuts = places, fixed, len(codes), int(places.max())
        sizes = [int(code.max()) + 1 for code in codes]
        self.columns = np.array(codes) + np.cumsum([0, *sizes[:-1]])[:, None]
        self.owner = np.repeat(np.arange(len(codes)), sizes)
        self.sizes = sizes[0], sum(sizes[1:])
        rest = self.columns[1:] - sizes[0]
        self.cross = (self.columns[0] * self.sizes[1] + rest).ravel()
        self.square = (rest[:, None] * self.sizes[1] + rest).ravel()
        # Where the last search for the modes ended: the next begins there.
        self.modes: Array = np.zeros(self.owner.size)

    def at(self, point: Array) -> tuple[float, Array]:
        """The log likelihood, log p − |modes|² / 2 − log|H| / 2 with H their curvature, and its gradient.

        The modes move with the point, and H with them: ``moved`` is what that does to log|H|.
        """
        from scipy.special import log_expit

        upper, lower, eta, curvature = self.search(point)
        spreads = point[point.size - self.factors :]
        above, below, weights = _slopes(upper, lower, eta)
        bend = above * (1 - above) * (2 * above - 1), below * (1 - below) * (1 - 2 * below)
        with np.errstate(over="ignore"):
            gap = upper - lower
            log_p = np.log(-np.expm1(-gap)) + log_expit(upper - eta) + log_expit(eta - lower)
            apart = 1 / np.expm1(gap)
        determinant = float(np.log(curvature.own).sum() + np.linalg.slogdet(curvature.schur)[1])
        value = float(log_p.sum() - self.modes @ self.modes / 2 - determinant / 2)
        by_factor = curvature.leverages()
        leverage = spreads @ by_factor
        tilt = leverage * (bend[0] + bend[1]) / 2
        adjoint = curvature.solve(self.gathered(tilt, spreads))
        moved = spreads @ adjoint[self.columns]
        of_upper = above + apart - leverage * bend[0] / 2 + moved * above * (1 - above)
        of_lower = -below - apart - leverage * bend[1] / 2 + moved * below * (1 - below)
        of_eta = below - above + tilt - weights * moved
        gradient = [
            np.bincount(self.places, of_upper)[:-1] + np.bincount(self.places, of_lower)[1:],
            of_eta @ self.fixed,
            self.modes[self.columns] @ of_eta + adjoint[self.columns] @ (below - above) - by_factor @ weights,
        ]
        return value, np.concatenate(gradient)

    def differences(
        self, point: Array, kept: Mask, own: Mask, groups: Sequence[Mask], beside: Sequence[Array]
    ) -> tuple[Array, float, float]:
        """Differences of two systems in ratings made linear at the modes, by generalised least squares.

        Args:
            point, kept: the maximum; the factors that stay random, where others are part of the differences.
            own, groups: ratings of the first system; those of each difference.
            beside: further columns.

        Returns:
            Each group's difference, and what of the variance of their mean kept factors and single ratings make.
        """
        upper, lower, eta, _ = self.search(point)
        above, below, weights = _slopes(upper, lower, eta)
        spreads = np.where(kept, point[point.size - self.factors :], 0.0)
        curvature = _Curvature(self, weights, spreads)
        columns = np.array([*(part & side for part in groups for side in (own, ~own)), *beside], dtype=float)
        solved = np.array([
            weights * (column - spreads @ curvature.solve(self.gathered(weights * column, spreads))[self.columns])
            for column in columns
        ])  # fmt: skip
        rows = np.linalg.solve(solved @ columns.T, solved)[: 2 * len(groups)]
        rows = rows[::2] - rows[1::2]
        mean = rows.mean(axis=0)
        sums = (spread * np.bincount(column, mean) for spread, column in zip(spreads, self.columns, strict=True))
        of_kept = sum(float(part @ part) for part in sums)
        return rows @ (eta + (below - above) / weights), of_kept, float(mean**2 @ (1 / weights))

    def gathered(self, values: Array, spreads: Array) -> Array:
        """Ratings' values summed for each random intercept, times its standard deviation."""
        sums = np.bincount(self.columns.ravel(), np.tile(values, self.factors), self.owner.size)
        return spreads[self.owner] * sums

    def search(self, point: Array) -> tuple[Array, Array, Array, _Curvature]:
        """The modes by Newton's method, to 1e-11: each rating's thresholds, its place, and the curvature there."""
        from scipy.special import log_expit

        spreads = point[point.size - self.factors :]
        bounds = np.concatenate([[-np.inf], point[: self.cuts], [np.inf]])
        upper, lower = bounds[self.places + 1], bounds[self.places]
        shift = self.fixed @ point[self.cuts : point.size - self.factors]

        def joint(modes: Array) -> tuple[float, Array]:
            eta = shift + spreads @ modes[self.columns]
            return float(log_expit(upper - eta).sum() + log_expit(eta - lower).sum() - modes @ modes / 2), eta

        height, eta = joint(self.modes)
        for _ in range(100):
            above, below, weights = _slopes(upper, lower, eta)
            curvature = _Curvature(self, weights, spreads)
            step = curvature.solve(self.gathered(below - above, spreads) - self.modes)
            size = np.abs(step).max()
            if size < 1e-11:
                break
            reached = joint(self.modes + step)
            while reached[0] < height - 1e-9 and size > 1e-11:
                step, size = step / 2, size / 2
                reached = joint(self.modes + step)
            self.modes = self.modes + step
            height, eta = reached
        return upper, lower, eta, curvature


class _Curvature:
    """Minus the second derivatives of the joint log density in the modes, by blocks, and its inverse."""

    def __init__(self, model: _Laplace, weights: Array, spreads: Array) -> None:
        first, rest = model.sizes
        self.model, self.spreads, outer = model, spreads, spreads[1:, None]
        self.own = 1 + spreads[0] ** 2 * np.bincount(model.columns[0], weights, first)
        cross = np.bincount(model.cross, (spreads[0] * outer * weights).ravel(), first * rest).reshape(first, rest)
        square = np.bincount(model.square, (outer[:, None] * outer * weights).ravel(), rest**2)
        self.carried = cross / self.own[:, None]
        self.schur = np.eye(rest) + square.reshape(rest, rest) - cross.T @ self.carried
        self.inverse = np.linalg.inv(self.schur)

    def solve(self, values: Array) -> Array:
        """The inverse times a value for each random intercept."""
        first, rest = np.split(values, [self.own.size])
        rest = self.inverse @ (rest - first @ self.carried)
        return np.concatenate([first / self.own - self.carried @ rest, rest])

    def _beside(self) -> tuple[Array, Array]:
        """The inverse's block beside the first factor's, and the diagonal of the first's."""
        beside = -self.carried @ self.inverse
        return beside, 1 / self.own - (beside * self.carried).sum(axis=1)

    def errors(self) -> Array:
        """Roots of the inverse's diagonal."""
        return np.concatenate([np.sqrt(self._beside()[1]), np.sqrt(self.inverse.diagonal())])

    def leverages(self) -> Array:
        """For each factor and rating, the row of the inverse at its intercept times the rating's own row."""
        first, rest = self.model.columns[0], self.model.columns[1:] - self.own.size
        beside, diagonal = self._beside()
        across = beside[first, rest]
        between = np.einsum("g,fgn->fn", self.spreads[1:], self.inverse[rest[:, None], rest])
        own = self.spreads[0] * diagonal[first] + self.spreads[1:] @ across
        return np.vstack([own, between + self.spreads[0] * across])


def _slopes(upper: Array, lower: Array, eta: Array) -> tuple[Array, Array, Array]:
    """The chances of levels above each rating's and below it, and minus the second derivative of its log p."""
    from scipy.special import expit

    above, below = expit(eta - upper), expit(lower - eta)
    return above, below, above * (1 - above) + below * (1 - below)
