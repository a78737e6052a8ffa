"""Linear mixed models with any number of random intercepts, crossed or nested, whatever ratings are missing.

``y = X β + Σ Z_k b_k + e``, each factor's effects and the residuals independent and normal. Variances are those of
restricted maximum likelihood, or of maximum likelihood, by the profiled deviance of penalised least squares over
relative standard deviations (Bates, Mächler, Bolker and Walker 2015, Fitting linear mixed-effects models using lme4,
Journal of Statistical Software 67, section 3): R's ``lmer`` with ``(1 | factor)`` terms. statsmodels' ``MixedLM`` has
one grouping only. The largest factor's equations are diagonal and eliminated first: thousands of cases crossed with
few raters cost little.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bedside.core.errors import DataError
from bedside.stats.arrays import Array, matrix, vector

#: What observations differ by that share all levels.
RESIDUAL = "residual"
#: A factor's standard deviation over the residual one: below, it counts as 0; at most, there are no residuals.
_ZERO, _MOST = 1e-4, 1e4
#: Where a factor that came to 0 is tried again, as the deviance is flat at 0 itself, and how often at most.
_TRIED, _ROUNDS = (0.03, 0.2), 12
#: Levels of the largest factor times those of the others that a model takes at most.
_MOST_CELLS = 50_000_000


class MixedDesign:
    """Which observations share what, for one or many sets of values.

    Args:
        x: X, observations × columns of full rank; a column of ones is the intercept.
        factors: by name, each observation's level: any labels, with None where the factor has no effect on it.

    Raises:
        DataError: X isn't of full rank, lengths differ, there are no factors, or one has a level for each observation.
    """

    def __init__(self, x: Any, factors: Mapping[str, Sequence[Any]]) -> None:
        from scipy import sparse

        self.x = matrix(x, "x")
        self.n, columns = self.x.shape
        # Orthonormal columns of the same space lose no digits where X's are of unlike size.
        self.basis, self.triangle = np.linalg.qr(self.x)
        size = np.abs(np.diag(self.triangle))
        if self.n <= columns or not size.min() > 1e-10 * size.max():
            raise DataError("the columns of x tell the same, or are as many as the values", where="`x`")
        if not factors:
            raise DataError("a mixed model needs a factor with random effects", where="`factors`")
        found = {name: sorted({label for label in labels if label is not None}) for name, labels in factors.items()}
        self.levels = dict(sorted(found.items(), key=lambda factor: -len(factor[1])))
        self.sizes = [len(levels) for levels in self.levels.values()]
        if self.sizes[0] * sum(self.sizes[1:]) > _MOST_CELLS:
            raise DataError(f"factors of {' and '.join(map(str, self.sizes))} levels are too many for one model")
        by_factor = []
        for name, levels in self.levels.items():
            if len(factors[name]) != self.n:
                raise DataError(f"{name} has {len(factors[name])} levels for {self.n} observations", where="`factors`")
            if not 0 < len(levels) < self.n:
                raise DataError(f"{name} needs a level that observations share", where="`factors`")
            places = {label: at for at, label in enumerate(levels)}
            at = [(row, places[label]) for row, label in enumerate(factors[name]) if label is not None]
            by_factor.append(sparse.csr_matrix((np.ones(len(at)), tuple(zip(*at, strict=True))), (self.n, len(levels))))
        self.z: Any = sparse.hstack(by_factor, format="csr")
        self.of_basis: Array = self.z.T @ self.basis
        most = self.sizes[0]
        squares = (self.z.T @ self.z).tocsr()
        self._counts = squares[:most].diagonal()
        self._crossed, self._others = squares[most:, :most].toarray(), squares[most:, most:].toarray()

    def spread(self, theta: Array) -> Array:
        """A factor's relative standard deviation at each of its levels."""
        return np.repeat(theta, self.sizes)

    def equations(self, theta: Array) -> _Equations:
        """``Λ Zᵀ Z Λ + I``; Λ has the relative standard deviations."""
        own, other = np.split(self.spread(theta), [self.sizes[0]])
        diagonal = own**2 * self._counts + 1
        crossed = other[:, None] * self._crossed * own
        rest = other[:, None] * self._others * other - (crossed / diagonal) @ crossed.T
        rest.flat[:: other.size + 1] += 1
        size = float(np.log(diagonal).sum() + np.linalg.slogdet(rest)[1])
        return _Equations(diagonal, crossed, np.linalg.inv(rest), size)

    def fit(self, y: Any, *, restricted: bool = True) -> MixedModel:
        """The model of these values.

        Args:
            y: a value for each observation, none missing.
            restricted: by restricted maximum likelihood rather than by maximum likelihood.

        Raises:
            DataError: a value is missing, or X tells all values.
        """
        from scipy.optimize import minimize

        values = vector(y, "y")
        if values.size != self.n or np.isnan(values).any():
            raise DataError(f"{self.n} observations need as many values, none missing", where="`y`")
        first = self.basis.T @ values
        left = values - self.basis @ first
        if not np.abs(left).max() > 1e-10 * np.abs(values).max():
            raise DataError("the columns of x tell all values: nothing is left to share out", where="`y`")
        scale = float(left.std())
        problem = _Problem(self, left / scale, self.z.T @ left / scale, restricted)
        theta: Array = np.ones(len(self.sizes))
        for _ in range(_ROUNDS):
            theta = minimize(
                problem.with_slope, theta, jac=True, method="L-BFGS-B", bounds=[(0.0, _MOST)] * theta.size,
                options={"ftol": 1e-13, "gtol": 1e-6},
            ).x  # fmt: skip
            theta, is_least = problem.at_boundary(theta)
            if is_least:
                # With next to no residuals there is no least to settle on.
                theta = problem.settled(theta) if theta.max() < _MOST / 2 else theta
                break
        solved = problem.solved(theta)
        to_x = np.linalg.inv(self.triangle)
        residual = solved.residual * scale**2
        return MixedModel(
            coefficients=to_x @ (first + solved.coefficients * scale),
            covariance=residual * to_x @ np.linalg.inv(solved.schur) @ to_x.T,
            variances={
                **{name: float(part**2 * residual) for name, part in zip(self.levels, theta, strict=True)},
                RESIDUAL: residual,
            },
            deviance=solved.deviance
            + problem.freedom * 2 * float(np.log(scale))
            + restricted * 2 * float(np.log(np.abs(np.diag(self.triangle))).sum()),
            converged=is_least and bool(theta.max() < _MOST / 2),
            design=self,
            theta=theta,
            values=values,
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MixedModel:
    """A fitted model.

    Attributes:
        coefficients, covariance: of the columns of X, and their estimated covariance.
        variances: of each factor's effects, and of :data:`RESIDUAL`.
        deviance: −2 log restricted likelihood, or −2 log likelihood.
        converged: whether the least deviance was found, at a residual variance above 0.
        design, values: what was fitted to what.
        theta: the factors' standard deviations over the residual one.
    """

    coefficients: Array
    covariance: Array
    variances: Mapping[str, float]
    deviance: float
    converged: bool
    design: MixedDesign
    values: Array
    theta: Array

    @property
    def at_boundary(self) -> tuple[str, ...]:
        """Factors whose variance came to 0."""
        return tuple(name for name, part in zip(self.design.levels, self.theta, strict=True) if part == 0)

    def effects(self, factor: str) -> tuple[Array, Array]:
        """Each level's effect as predicted, in order of the design's levels, and its variance given coefficients and
        variances (lme4's conditional modes and ``condVar``)."""
        design = self.design
        spread, equations = design.spread(self.theta), design.equations(self.theta)
        names = list(design.levels)
        start = sum(design.sizes[: names.index(factor)])
        own = slice(start, start + len(design.levels[factor]))
        left = design.z.T @ (self.values - design.x @ self.coefficients)
        unit = np.zeros((spread.size, own.stop - own.start))
        unit[own] = np.diag(spread[own])
        conditional = self.variances[RESIDUAL] * spread[own] * np.diag(equations.solved(unit)[own])
        return (spread * equations.solved(spread * left))[own], conditional

    def weights(self, contrast: Any) -> Array:
        """With what weight each value enters a contrast of the coefficients: their sum over values is its estimate."""
        design = self.design
        spread, equations = design.spread(self.theta), design.equations(self.theta)
        toward = design.x @ (self.covariance @ vector(contrast, "contrast"))
        absorbed = spread * equations.solved(spread * (design.z.T @ toward))
        entered: Array = (toward - design.z @ absorbed) / self.variances[RESIDUAL]
        return entered

    def variance_parts(self, weights: Any) -> dict[str, float]:
        """What each factor, and :data:`RESIDUAL`, add to the variance of a weighted sum of the values."""
        entered = vector(weights, "weights")
        totals = np.split((self.design.z.T @ entered) ** 2, np.cumsum(self.design.sizes)[:-1])
        squares = [float(total.sum()) for total in totals] + [float(entered @ entered)]
        return {name: part * square for (name, part), square in zip(self.variances.items(), squares, strict=True)}


@dataclass(frozen=True, slots=True)
class _Equations:
    """The penalised equations, those of the largest factor first: its diagonal, how the other levels cross with it,
    the inverse of what these have left once it is eliminated, and the log of the determinant of all."""

    diagonal: Array
    crossed: Array
    inverse: Array
    size: float

    def solved(self, right: Array) -> Array:
        """The solution for a right side, levels × columns."""
        most = self.diagonal.size
        diagonal = self.diagonal.reshape(-1, *[1] * (right.ndim - 1))
        others = self.inverse @ (right[most:] - self.crossed @ (right[:most] / diagonal))
        return np.concatenate([(right[:most] - self.crossed.T @ others) / diagonal, others])

    def inverse_diagonal(self) -> Array:
        """The diagonal of the inverse."""
        through = np.einsum("ij,ij->j", self.crossed, self.inverse @ self.crossed)
        return np.concatenate([(1 + through / self.diagonal) / self.diagonal, np.diag(self.inverse)])


@dataclass(frozen=True, slots=True)
class _Solved:
    """The penalised least squares of some relative standard deviations: their equations, coefficients of the
    orthonormal columns, what these have left of their cross-products, residual variance and deviance."""

    equations: _Equations
    coefficients: Array
    schur: Array
    residual: float
    deviance: float


@dataclass(frozen=True, slots=True)
class _Problem:
    """The least squares of one set of values, which have no projection on X, and their sums over levels."""

    design: MixedDesign
    values: Array
    sums: Array
    restricted: bool

    @property
    def freedom(self) -> int:
        return self.design.n - self.design.x.shape[1] * self.restricted

    def solved(self, theta: Array) -> _Solved:
        design = self.design
        spread, equations = design.spread(theta), design.equations(theta)
        crossed = spread[:, None] * np.column_stack([design.of_basis, self.sums])
        taken = crossed.T @ equations.solved(crossed)
        columns = design.of_basis.shape[1]
        schur, beside = np.eye(columns) - taken[:-1, :-1], -taken[:-1, -1]
        coefficients: Array = np.asarray(np.linalg.solve(schur, beside), dtype=np.float64)
        residual = float(self.values @ self.values - taken[-1, -1] - beside @ coefficients) / self.freedom
        residual = max(residual, 1e-20)
        deviance = equations.size + self.freedom * (1 + np.log(2 * np.pi * residual))
        if self.restricted:
            deviance += float(np.linalg.slogdet(schur)[1])
        return _Solved(equations, coefficients, schur, residual, deviance)

    def with_slope(self, theta: Array) -> tuple[float, Array]:
        """The deviance and its derivatives."""
        design, solved = self.design, self.solved(theta)
        spread, equations = design.spread(theta), solved.equations
        known = 1 - equations.inverse_diagonal()
        if self.restricted:
            of_basis = equations.solved(spread[:, None] * design.of_basis)
            known -= np.einsum("ij,ji->i", of_basis, np.linalg.solve(solved.schur, of_basis.T))
        effects = equations.solved(spread * (self.sums - design.of_basis @ solved.coefficients))
        parts = np.split(known - effects**2 / solved.residual, np.cumsum(design.sizes)[:-1])
        slopes = [2 * part.sum() / own if own > 0 else 0.0 for part, own in zip(parts, theta, strict=True)]
        return solved.deviance, np.array(slopes)

    def settled(self, theta: Array) -> Array:
        """The least near a point that a search found, to the last digits but few: in whatever order observations come,
        the search ends elsewhere in the eighth digit. Newton's steps, as long as the slope lessens."""
        free = np.flatnonzero(theta)
        slope = self.with_slope(theta)[1][free]
        for _ in range(_ROUNDS):
            curvature = np.empty((free.size, free.size))
            for column, factor in enumerate(free):
                apart = np.zeros_like(theta)
                apart[factor] = 1e-5 * theta[factor]
                above, below = (self.with_slope(theta + sign * apart)[1][free] for sign in (1, -1))
                curvature[:, column] = (above - below) / (2 * apart[factor])
            step = np.linalg.lstsq(curvature, slope, rcond=None)[0]
            nearer = theta.copy()
            nearer[free] -= step
            if not (np.abs(step) < 0.01 * theta[free]).all():
                break
            left = self.with_slope(nearer)[1][free]
            if not left @ left < slope @ slope:
                break
            theta, slope = nearer, left
        return theta

    def at_boundary(self, theta: Array) -> tuple[Array, bool]:
        """The point with what is next to 0 at 0, and whether no factor at 0 is better off above; else a point to go on
        from, with those above that are."""
        theta = np.where(theta < _ZERO, 0.0, theta)
        least, better = self.solved(theta).deviance, theta.copy()
        for factor in np.flatnonzero(theta == 0):
            for tried in _TRIED:
                other = theta.copy()
                other[factor] = tried
                if self.solved(other).deviance < least - 1e-9:
                    better[factor] = tried
        return better, bool((better == theta).all())
