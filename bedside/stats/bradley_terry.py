"""How strong is each of several systems, judged two at a time? Bradley and Terry's model, with the place as a term.

The log-odds that a system i, shown first, is preferred to a system j are ``strength i − strength j + position``. A tie
is half a win for each. So a strength is about the share of wins, the number that is read; a model with a term for ties
(Davidson 1970; Rao and Kupper 1967) would ask that ties are rarer the further two systems are apart, which judges need
not keep to, and says the same of who is better.

scikit-learn's logistic regression gives the estimates. What varies is the case: all comparisons on a case, of all
systems, both orders and all passes, are left out or turned together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from bedside.core.errors import DataError, from_extra
from bedside.stats._resampling import Jackknife, rows_in_order, sign_flips
from bedside.stats.arrays import Array, Indices, Mask
from bedside.stats.families import family
from bedside.stats.intervals import t_interval
from bedside.stats.result import Interval, Result

# -- Logistic regression of who is preferred ------------------------------------------------------------


@dataclass(frozen=True)
class _PairRegression:
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
    def of(cls, table: Array, groups: Sequence[Sequence[int]]) -> _PairRegression:
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
        designs = (blank.design, np.column_stack([blank.design, np.ones(firsts.size)]))
        ranks = [int(np.linalg.matrix_rank(design)) for design in designs if design.size]
        return replace(blank, has_position=len(ranks) == 1 or ranks[1] > ranks[0])

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

    @cached_property
    def estimate(self) -> Array:
        """The coefficients by maximum likelihood, a comparison's share of the win as so much of a success."""
        with from_extra("learning", "strengths of pairs need scikit-learn"):
            from sklearn.linear_model import LogisticRegression

        design = self.design
        if not design.size:
            return np.zeros(0)
        won, lost = np.nansum(self.shares, axis=0), np.nansum(1 - self.shares, axis=0)
        if np.abs((won - lost) @ design).max() <= 1e-9 * (won + lost).sum():
            return np.zeros(design.shape[1])  # where the solver begins, and would look for something better in vain
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


# -- Which systems' strengths can stand on one scale ----------------------------------------------------


@dataclass(frozen=True, slots=True)
class _ComparisonGraph:
    """Systems, and who of them had any share of a win over whom.

    Strengths are finite within a group in which each system has, through others if need be, a share of a win over each
    other one (Ford 1957).

    Attributes:
        beat: systems × systems: whether the row's system had a share of a win over the column's.
    """

    beat: Mask

    @classmethod
    def of(cls, table: Array, merged: tuple[int, int] | None = None) -> _ComparisonGraph:
        """The graph of shares of wins (cases × systems × systems); two systems may count as one."""
        won = np.nansum(table, axis=0) + np.nansum(1 - table, axis=0).T > 0
        if merged is not None:
            won[merged] = won[merged[::-1]] = True
        return cls(won)

    def _joined(self) -> tuple[int, Array]:
        from scipy.sparse.csgraph import connected_components

        count, member = connected_components(self.beat, directed=True, connection="strong")
        return int(count), member

    def largest_joined(self) -> list[int]:
        """The largest group whose strengths are finite; of two of one size that with more pairs compared."""
        count, member = self._joined()
        groups = [np.flatnonzero(member == group) for group in range(count)]
        compared = self.beat | self.beat.T
        largest = max(groups, key=lambda own: (own.size, compared[np.ix_(own, own)].sum(), -own[0]))
        return [int(system) for system in largest]

    def joined_with(self, pair: tuple[int, int]) -> list[list[int]]:
        """The group of two systems that count as one: the two together, and each other system by itself."""
        _, member = self._joined()
        others = np.flatnonzero(member == member[pair[0]]).tolist()
        return [list(pair), *([system] for system in others if system not in pair)]

    def reason(self, system: int, joined: Sequence[int], names: Sequence[str]) -> str:
        """Why a system has no place among those joined, or none has a place; empty where it has one."""
        from scipy.sparse.csgraph import connected_components

        if system in joined:
            return ""
        won, lost = self.beat[system].any(), self.beat[:, system].any()
        if not won and not lost:
            return f"{names[system]} was compared with no other system"
        if not won or not lost:
            how = "won" if won else "lost"
            return f"{names[system]} {how} every comparison, so that its strength has no finite value"
        others = ", ".join(names[other] for other in joined)
        if joined:
            _, member = connected_components(self.beat, directed=True, connection="weak")
            if member[system] != member[joined[0]]:
                return f"no comparisons join {names[system]} with {others}, directly or through others"
            reached = self._reached(system)
            if joined[0] in reached:
                return f"{names[system]} won every comparison with {others}, directly or through others"
            if system in self._reached(joined[0]):
                return f"{names[system]} lost every comparison with {others}, directly or through others"
            return f"only systems that won or lost throughout stand between {names[system]} and {others}"
        return "the systems won and lost so that no two strengths have a finite difference"

    def _reached(self, system: int) -> set[int]:
        """Systems that it beat, or that were beaten by one it beat, and so on."""
        from scipy.sparse.csgraph import breadth_first_order

        return set(breadth_first_order(self.beat, system, return_predecessors=False).tolist())


# -- How strong is each of several systems --------------------------------------------------------------

_METHOD = "Bradley–Terry by logistic regression, ties as half a win each"
_TEST = "score test of equal strengths, sign flips by case"
_IN_STRENGTHS = (
    "the effect of the place can't be told from the strengths, and is in them: the same systems were always shown first"
)
_INFINITE = (
    "the effect of the place has no finite value, as comparisons in one order went all to one side; strengths are "
    "estimated without it, from all orders together"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Strengths:
    """What the comparisons say of the systems' strengths.

    Attributes:
        strengths: of each system, log-odds; those of the systems on the scale sum to 0. Without an estimate where it
            has no place on the scale, and then ``missing`` says why.
        chances: of each system, that it is preferred to one of mean strength where the place doesn't count, 0 … 1.
        differences: of each two systems (i < j), strength i less strength j, its interval, and p of the test that they
            are equal, corrected by Holm; p is there for systems without a place on the scale, too.
        expected: systems × systems: share of the wins that the row's system has of the column's, by the strengths; NaN
            where one of them has no place.
        position: the log-odds that the one shown first is preferred to its equal; None where it can't be told from the
            strengths.
        on_scale: the systems that have a place on the scale, by their numbers.
        cases: with any comparison.
    """

    strengths: tuple[Result, ...]
    chances: tuple[Result, ...]
    differences: Mapping[tuple[int, int], Result]
    expected: Array
    position: Result | None
    on_scale: tuple[int, ...]
    cases: int
    remarks: tuple[str, ...] = field(default=())


def strengths(shares: Any, names: Sequence[str], *, level: float = 0.95, flips: int = 9999, seed: int = 0) -> Strengths:
    """The strengths of systems from comparisons of two at a time, each case and order of two systems counting once.

    Args:
        shares: cases × systems × systems: on each case the mean share of the win, 0 … 1, that went to the row's system
            where it was shown first and the column's second; NaN where they weren't compared so.
        names: of the systems, for the reasons why one has no place on the scale.
        level: nominal coverage.
        flips: random sign flips of the test; all there are where that is fewer.
        seed: of the random ones.

    Intervals are t intervals with one degree of freedom less than cases, from the jackknife over cases: what the
    strengths are without a case is found by one step of Newton's method from the estimate (Pregibon 1981), which stays
    finite where leaving out the case would leave a system unbeaten. p is that of a score test: under equal strengths of
    two systems, each case's part in the score is as likely to be the other way round.

    A system that won (or lost) everything has no finite strength, and systems that no chain of comparisons joins share
    no scale. Then the largest group of systems that have one is put on it, and the reason stands with each other one.
    With the one shown first preferred throughout, nothing can be said of strengths; where its effect has no finite
    value for another reason, such as that one of two systems won whenever it was shown first, strengths are estimated
    without it, which is told.

    Raises:
        DataError: the shares aren't such a table, or lie outside 0 … 1.
    """
    table = _checked(shares, names)
    fit, reasons = _on_one_scale(table, names, level)
    cases = int((~np.isnan(table)).any(axis=(1, 2)).sum())
    alone = [
        _blank(f"strength of {name}", cases, level).no_value(reason)
        for name, reason in zip(names, reasons, strict=True)
    ]
    placed = [fit.strength(system, blank) for system, blank in enumerate(alone)]
    return Strengths(
        strengths=tuple(placed), chances=tuple(map(_chance, placed)),
        differences=_differences(table, names, fit, alone=alone, flips=flips, seed=seed), expected=fit.expected(),
        position=fit.position(_blank("position", cases, level)), on_scale=fit.on_scale, cases=cases,
        remarks=fit.remarks,
    )  # fmt: skip


def _on_one_scale(table: Array, names: Sequence[str], level: float) -> tuple[_Unfitted, list[str]]:
    """The largest group of systems whose strengths are finite, and of each other one why it isn't among them."""
    graph = _ComparisonGraph.of(table)
    joined = graph.largest_joined() if names else []
    if len(joined) < 2:
        return _Unfitted(len(names)), [graph.reason(system, (), names) for system in range(len(names))]
    regression = _PairRegression.of(table, [[system] for system in joined])
    if regression.is_decided_by_place:
        reason = "which of two was shown first, and not which systems they were, decides who is preferred"
        return _Unfitted(len(names)), [reason] * len(names)
    remark = "" if regression.has_position else _IN_STRENGTHS
    if regression.is_separated:
        regression, remark = replace(regression, has_position=False), _INFINITE
    reasons = [graph.reason(system, joined, names) for system in range(len(names))]
    return _Fitted(regression, tuple(joined), len(names), level, remark), reasons


def _checked(shares: Any, names: Sequence[str]) -> Array:
    table = np.asarray(shares, dtype=np.float64)
    if table.ndim != 3 or table.shape[1] != table.shape[2] or table.shape[1] != len(names):
        raise DataError("shares must be cases × systems × systems, with a name for each system")
    if np.nanmin(table, initial=0.0) < 0 or np.nanmax(table, initial=1.0) > 1:
        raise DataError("a share of a win lies between 0 and 1")
    if not np.isnan(np.diagonal(table, axis1=1, axis2=2)).all():
        raise DataError("a system can't be compared with itself")
    return table


def _blank(name: str, cases: int, level: float) -> Result:
    return Result(name=name, method=_METHOD, n=cases, options={"level": level})


def _chance(strength: Result) -> Result:
    """The chance of being preferred to a system of mean strength."""
    from scipy.special import expit

    if strength.estimate is None:
        return strength
    bounds = strength.interval
    return replace(
        strength,
        name=strength.name.replace("strength of", "chance to be preferred of"),
        estimate=float(expit(strength.estimate)),
        interval=bounds and Interval(float(expit(bounds.low)), float(expit(bounds.high)), bounds.level, bounds.method),
        standard_error=None,
    )


class _Unfitted:
    """No strengths: no two systems have a place on one scale."""

    remarks: tuple[str, ...] = ()
    on_scale: tuple[int, ...] = ()

    def __init__(self, count: int) -> None:
        self._count = count

    def strength(self, _: int, blank: Result) -> Result:
        """No strength, for the reason that stands there."""
        return blank

    def difference(self, _: tuple[int, int], blank: Result, alone: Sequence[Result]) -> Result:
        """No difference."""
        return blank.no_value("; ".join(dict.fromkeys(str(result.missing) for result in alone)))

    def expected(self) -> Array:
        """Nothing is expected."""
        return np.full((self._count, self._count), np.nan)

    def position(self, _: Result) -> Result | None:
        """No effect of the place."""
        return None


class _Fitted(_Unfitted):
    """The strengths of the systems that share a scale.

    Args:
        regression: of the comparisons among them.
        on_scale: their numbers.
        count: how many systems there are.
        level: nominal coverage.
        remark: what to know of the place; empty where it has a term of its own.
    """

    def __init__(
        self, regression: _PairRegression, on_scale: tuple[int, ...], count: int, level: float, remark: str
    ) -> None:
        super().__init__(count)
        self.on_scale = on_scale
        self._regression = regression
        self._place = {system: place for place, system in enumerate(on_scale)}
        self._level = level
        self.remarks = (remark,) if remark else ()

    def _result(self, blank: Result, contrast: Array) -> Result:
        estimate = float(contrast @ self._regression.estimate)
        left_out = self._regression.left_out(contrast)
        error = left_out.standard_error
        result = replace(blank, estimate=estimate, standard_error=error, missing=None)
        if error is None:
            return replace(result, missing="no interval: without one of the cases the systems share no scale")
        if error <= 1e-9:
            return replace(result, missing="no interval: leaving out any of the cases changes nothing")
        return replace(
            result, interval=t_interval(estimate, error, left_out.freedom, self._level, "jackknife over cases, t")
        )

    def strength(self, system: int, blank: Result) -> Result:
        if system not in self._place:
            return blank
        count = len(self._place)
        contrast = np.full(count, -1.0 / count)
        contrast[self._place[system]] += 1
        return self._result(blank, self._regression.of_groups(contrast))

    def difference(self, pair: tuple[int, int], blank: Result, alone: Sequence[Result]) -> Result:
        missing = [result for system, result in zip(pair, alone, strict=True) if system not in self._place]
        if missing:
            return super().difference(pair, blank, missing)
        contrast = np.zeros(len(self._place))
        contrast[self._place[pair[0]]], contrast[self._place[pair[1]]] = 1.0, -1.0
        return self._result(blank, self._regression.of_groups(contrast))

    def expected(self) -> Array:
        from scipy.special import expit

        shares = super().expected()
        placed = list(self._place)
        levels = self._regression.group_levels()
        shares[np.ix_(placed, placed)] = expit(levels[:, None] - levels[None, :])
        np.fill_diagonal(shares, np.nan)
        return shares

    def position(self, blank: Result) -> Result | None:
        if not self._regression.has_position:
            return None
        contrast = np.zeros(self._regression.estimate.size)
        contrast[-1] = 1.0
        return self._result(blank, contrast)


def _differences(
    table: Array, names: Sequence[str], fit: _Unfitted, *, alone: Sequence[Result], flips: int, seed: int
) -> dict[tuple[int, int], Result]:
    """Each two systems: the difference of their strengths, and p that they have the same."""
    count = len(names)
    pairs = [(first, second) for first in range(count) for second in range(first + 1, count)]
    scores = {pair: _equal_scores(table, pair) for pair in pairs}
    exact = 2 ** min(table.shape[0], 62) <= flips
    how = "all there are" if exact else f"{flips:,} at random, seed {seed}"
    tested = {pair: score for pair, score in scores.items() if score is not None and score.any()}
    p_values: dict[tuple[int, int], float] = {}
    if tested:
        columns = np.column_stack(list(tested.values()))
        columns, _ = rows_in_order(columns, np.ones(columns.shape, dtype=np.bool_))
        p, _ = sign_flips(columns, resamples=flips, seed=seed, alternative="two-sided", exact=exact)
        p_values = dict(zip(tested, p.tolist(), strict=True))
    results = []
    for pair in pairs:
        blank = replace(
            alone[pair[0]], name=f"strength of {names[pair[0]]} less that of {names[pair[1]]}", missing=None,
            method=f"{_METHOD}; {_TEST}, {how}",
        )  # fmt: skip
        difference = fit.difference(pair, blank, [alone[system] for system in pair])
        score = tested.get(pair)
        statistic = None if score is None else float(score.sum() / np.sqrt(score @ score))
        results.append(replace(difference, p=p_values.get(pair), statistic=statistic))
    return dict(zip(pairs, family(results, "all pairs of systems"), strict=True)) if results else {}


def _equal_scores(table: Array, pair: tuple[int, int]) -> Array | None:
    """Each case's part in the score of a difference between two systems, where they have none; None where it has none.

    Other strengths and the effect of the place are those that fit best where the two are one. Systems that beat this
    one, or lose to it, throughout, have no part: what they do is expected with certainty.
    """
    groups = _ComparisonGraph.of(table, merged=pair).joined_with(pair)
    regression = _PairRegression.of(table, groups)
    if regression.is_decided_by_place:
        return None
    if regression.is_separated:
        regression = replace(regression, has_position=False)
    return regression.scores(regression.difference(pair))
