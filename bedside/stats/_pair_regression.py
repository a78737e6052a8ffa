"""Logistic regression of who is preferred, on who was shown first and second: the estimate, and each case's part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from bedside.stats._resampling import Jackknife
from bedside.stats.arrays import Array, Indices, Mask


@dataclass(frozen=True)
class PairRegression:
    """The regression of groups of systems; those of a group have one strength.

    Attributes:
        shares: cases × rows: the share of the win that the system shown first had; NaN where not compared. A row is an
            order of two systems that occurs.
        firsts, seconds: of each row the systems shown first and second.
        group: of each system its group, −1 where it has no part.
        groups: how many there are.
        has_position: whether the effect of the place can be told from the strengths.
    """

    shares: Array
    firsts: Indices
    seconds: Indices
    group: Indices
    groups: int
    has_position: bool

    @classmethod
    def of(cls, table: Array, groups: Sequence[Sequence[int]]) -> PairRegression:
        """Of shares of wins (cases × systems × systems), among the systems of these groups."""
        member = np.full(table.shape[1], -1, dtype=np.intp)
        for place, systems in enumerate(groups):
            member[list(systems)] = place
        inside = (member >= 0)[:, None] & (member >= 0)[None, :]
        firsts, seconds = np.nonzero(inside & ~np.isnan(table).all(axis=0))
        blank = cls(
            shares=table[:, firsts, seconds], firsts=firsts, seconds=seconds,
            group=member, groups=len(groups), has_position=False,
        )  # fmt: skip
        if not firsts.size:
            return blank
        ranks = [
            int(np.linalg.matrix_rank(design))
            for design in (blank.design, blank._with_place())
            if design.size
        ]
        return replace(blank, has_position=len(ranks) == 1 or ranks[1] > ranks[0])

    def _with_place(self) -> Array:
        return np.column_stack([self.design, np.ones(self.firsts.size)])

    @cached_property
    def design(self) -> Array:
        """Rows × coefficients: the groups but the first, and the place where it can be told."""
        columns = np.zeros((self.firsts.size, self.groups))
        rows = np.arange(self.firsts.size)
        np.add.at(columns, (rows, self.group[self.firsts]), 1.0)
        np.add.at(columns, (rows, self.group[self.seconds]), -1.0)
        place = [np.ones((self.firsts.size, 1))] if self.has_position else []
        return np.hstack([columns[:, 1:], *place])

    def of_groups(self, contrast: Array) -> Array:
        """A contrast of the groups' strengths as one of the coefficients; the first group's strength is 0."""
        return np.concatenate([contrast[1:], np.zeros(int(self.has_position))])

    def group_levels(self) -> Array:
        """The groups' strengths, which sum to 0."""
        levels = np.concatenate([[0.0], self.estimate[: self.groups - 1]])
        centred: Array = levels - levels.mean()
        return centred

    @cached_property
    def _present(self) -> Mask:
        present: Mask = ~np.isnan(self.shares)
        return present

    @property
    def is_separated(self) -> bool:
        """Whether some coefficients have no finite estimate: a rule of them foretells every win (Konis 2007)."""
        from scipy.optimize import linprog

        design = self.design
        if not design.size:
            return False
        won = np.nansum(self.shares, axis=0) > 0
        lost = np.nansum(1 - self.shares, axis=0) > 0
        sure = np.where(won & ~lost, 1.0, np.where(lost & ~won, -1.0, 0.0))
        one_way, both = sure != 0, sure == 0
        if not one_way.any():
            return False
        signed = sure[one_way, None] * design[one_way]
        rule = linprog(
            -signed.sum(axis=0), A_ub=-signed, b_ub=np.zeros(len(signed)),
            A_eq=design[both] if both.any() else None, b_eq=np.zeros(int(both.sum())) if both.any() else None,
            bounds=(-1, 1), method="highs",
        )  # fmt: skip
        return bool(-rule.fun > 1e-7)

    @property
    def is_decided_by_place(self) -> bool:
        """Whether the one shown first, or the one shown second, won every comparison."""
        return bool((np.nansum(self.shares) == 0) or (np.nansum(1 - self.shares) == 0))

    def without_place(self) -> PairRegression:
        """The same without the effect of the place."""
        return replace(self, has_position=False)

    @cached_property
    def estimate(self) -> Array:
        """The coefficients by maximum likelihood, a comparison's share of the win as so much of a success."""
        from sklearn.linear_model import LogisticRegression

        design = self.design
        if not design.size:
            return np.zeros(0)
        won, lost = np.nansum(self.shares, axis=0), np.nansum(1 - self.shares, axis=0)
        if np.abs((won - lost) @ design).max() <= 1e-9 * (won + lost).sum():
            return np.zeros(
                design.shape[1]
            )  # where the solver begins, and would look for something better in vain
        loads = np.concatenate([won, lost])
        wins = np.repeat([1, 0], len(design))
        counted = loads > 0
        model = LogisticRegression(C=np.inf, fit_intercept=False, solver="newton-cholesky", tol=1e-9)
        model.fit(np.vstack([design, design])[counted], wins[counted], sample_weight=loads[counted])
        estimate: Array = model.coef_[0]
        return estimate

    def _residuals(self) -> tuple[Array, Array]:
        """Cases × rows: what is left of the shares, 0 where not compared; and the rows' variances."""
        from scipy.special import expit

        expected = expit(self.design @ self.estimate)
        left: Array = np.where(self._present, self.shares - expected, 0.0)
        return left, expected * (1 - expected)

    @cached_property
    def _steps(self) -> Array:
        """Cases that have any comparison × coefficients: the estimate less that without the case; NaN where undefined.

        One step of Newton's method from the estimate.
        """
        left, variance = self._residuals()
        design, present = self.design, self._present
        compared = present.any(axis=1)
        scores = (left @ design)[compared]
        own = np.einsum("cr,rp,rq->cpq", present[compared] * variance, design, design, optimize=True)
        without = own.sum(axis=0) - own
        least = np.linalg.eigvalsh(without)[:, 0]
        solid = least > 1e-9 * np.trace(without, axis1=1, axis2=2)
        steps: Array = np.full(scores.shape, np.nan)
        if solid.any():
            steps[solid] = np.linalg.solve(without[solid], scores[solid][:, :, None])[:, :, 0]
        return steps

    def left_out(self, contrast: Array) -> Jackknife:
        """A contrast of the coefficients without each case; NaN where undefined."""
        estimate = float(contrast @ self.estimate)
        return Jackknife(estimate, estimate - self._steps @ contrast, np.ones(len(self._steps)))

    def difference(self, pair: tuple[int, int]) -> Array:
        """Of each row, how its log-odds rise with a difference between two systems of a group, half a way each."""
        toward = np.zeros(self.group.size)
        toward[pair[0]], toward[pair[1]] = 0.5, -0.5
        rising: Array = toward[self.firsts] - toward[self.seconds]
        return rising

    def scores(self, direction: Array) -> Array:
        """Each case's part in the score of a further term, less what the coefficients take up of it.

        Args:
            direction: of each row, how its log-odds rise with the term.
        """
        left, variance = self._residuals()
        design = self.design
        if not design.size:
            return left @ direction
        loads = variance * self._present.sum(axis=0)
        inner = design.T @ (loads[:, None] * design)
        taken = np.linalg.lstsq(inner, design.T @ (loads * direction), rcond=None)[0]
        own = direction - design @ taken
        if loads @ own**2 <= 1e-9 * (loads @ direction**2):
            # Coefficients take up all of it: nothing that was compared tells the term from them.
            return np.zeros(len(left))
        parts: Array = left @ own
        return parts
