"""How far would other raters say the same? Variances of cases, raters and what is left, and what a study needs.

Cases and raters are drawn from many, and so are repeats where a rater rates a case again (a p × r design; with repeats
o : p × r). Eρ² is the share of a mean's variance that cases make where they are told apart by these same raters; Φ
where each may have raters of its own, so that raters' severity is error, too (Cronbach, Gleser, Nanda and Rajaratnam
1972; Brennan 2001, Generalizability theory, chapters 2 to 4).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from bedside.core.errors import DataError
from bedside.stats.arrays import Array, Seed, generator, vector
from bedside.stats.mixed_models import RESIDUAL, MixedDesign
from bedside.stats.result import Interval, Result

#: Relative error has what raters and cases do together; absolute error raters' severity, too.
ErrorKind = Literal["relative", "absolute"]
_NAMES = {"relative": "generalisability coefficient Eρ²", "absolute": "dependability index Φ"}
#: Draws behind an interval, and raters above which a number is not worth printing.
_DRAWS, MOST_RATERS = 10_000, 1000
#: With fewer cases, how far their squares are from those of normal values isn't known.
FEWEST_PARTS = 20


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RaterStudy:
    """What ratings of cases vary by.

    Attributes:
        cases, raters, ratings: their numbers.
        of_cases, of_raters: variance of cases and of raters.
        of_both: of what raters and cases do together, with all that is left where nothing was repeated.
        of_repeats: of repeats by one rater of one case; None where nothing was repeated.
        drawn: draws of these four from their fiducial distribution, 4 × draws, 0 or above; repeats 0 where there are
            none.
        evenness: of the squares of cases, and of what raters and cases do together, the degrees of freedom as a share
            of those of normal values; 1 at most.
    """

    cases: int
    raters: int
    ratings: int
    of_cases: float
    of_raters: float
    of_both: float
    of_repeats: float | None
    drawn: Array
    evenness: tuple[float, float] = (1.0, 1.0)

    @property
    def parts(self) -> Array:
        """The four estimates, in the order of the draws."""
        return np.array([self.of_cases, self.of_raters, self.of_both, self.of_repeats or 0.0])

    def chance(self, kind: ErrorKind, target: float, *, raters: int, repeats: int = 1) -> float:
        """The share of draws in which a coefficient of the mean of some raters' ratings reaches a target."""
        return float((_share(self.drawn, kind, raters, repeats) >= target).mean())

    def of_pilot(self, cases: int, raters: int, *, seed: Seed = 0) -> RaterStudy:
        """What a pilot of other numbers would tell, without gaps, if its estimates were these."""
        from scipy.special import gammaincinv

        rng, repeats = generator(seed), 1 if self.of_repeats is None else 2
        of_cases, of_raters, both, of_repeats = self.parts
        means = of_repeats + repeats * np.cumsum([both, cases * of_raters])
        squares = [of_repeats, means[0], means[1], means[0] + repeats * raters * of_cases]
        of_case, of_both = self.evenness
        freedoms = [
            cases * raters * (repeats - 1),
            (cases - 1) * (raters - 1) * of_both,
            raters - 1,
            (cases - 1) * of_case,
        ]
        drawn = [
            square * freedom / (2 * gammaincinv(freedom / 2, rng.random(_DRAWS))) if freedom else np.zeros(_DRAWS)
            for square, freedom in zip(squares, freedoms, strict=True)
        ]
        within, error, by_rater, by_case = drawn
        parts = [(by_case - error) / raters, (by_rater - error) / cases, error - within]
        return replace(
            self, cases=cases, raters=raters, ratings=cases * raters * repeats,
            drawn=np.maximum(0.0, np.stack([*(part / repeats for part in parts), within])),
        )  # fmt: skip

    def coefficient(self, kind: ErrorKind, *, raters: int = 1, repeats: int = 1, level: float = 0.95) -> Result:
        """Eρ² or Φ of the mean of some raters' ratings.

        Args:
            kind: ``"relative"``: Eρ²; ``"absolute"``: Φ.
            raters: of each case.
            repeats: of each rater; of ratings that nobody repeated they tell nothing, and 1 is all that is known.
            level: of the interval.

        Raises:
            DataError: more than one repeat, and nothing was repeated.
        """
        if repeats > 1 and self.of_repeats is None:
            raise DataError("nobody rated a case again, and what repeats do isn't known", where="`repeats`")
        low, high = np.quantile(_share(self.drawn, kind, raters, repeats), [(1 - level) / 2, (1 + level) / 2])
        return Result(
            name=_NAMES[kind],
            method=f"of the mean of {raters}, variances by restricted maximum likelihood",
            estimate=float(_share(self.parts[:, None], kind, raters, repeats)[0]),
            interval=Interval(float(low), float(high), level, f"fiducial, {_DRAWS:,} draws of the mean squares"),
            n=self.cases,
            options={"raters": raters, "repeats": repeats, "level": level},
        )


def raters_for(single: float, target: float) -> int | None:
    """The fewest raters whose mean reaches a coefficient where one rater's is ``single`` (Spearman and Brown); None of
    more than :data:`MOST_RATERS`.

    Raises:
        DataError: the target isn't between 0 and 1.
    """
    if not 0 < target < 1:
        raise DataError("a coefficient to reach lies between 0 and 1", where="`target`")
    needed = target / (1 - target) * (1 - single) / single if single > 0 else np.inf
    return max(1, int(np.ceil(needed - 1e-9))) if needed <= MOST_RATERS else None


def rater_study(cases: Any, raters: Any, values: Any, *, clusters: Any = None, seed: Seed = 0) -> RaterStudy:
    """The variances of ratings of cases by raters, any of which may be missing.

    Args:
        cases, raters, values: of each rating the case, the rater and the value; a rater's repeats of a case are ratings
            of their own.
        clusters: of each rating what its case is part of, such as the transcript of a turn: intervals are as wide as if
            cases of one told the same.
        seed: of the draws behind intervals.

    Estimates are those of restricted maximum likelihood (:class:`~bedside.stats.mixed_models.MixedDesign`). Intervals
    are fiducial (generalised, Weerahandi 1993): each sum of squares, adjusted for all other effects, over a drawn χ²
    gives a draw of its expectation, and these a draw of the variances (Burdick, Borror and Montgomery 2005). Without
    gaps the interval of Eρ² is the exact one of F; with gaps the sums of cases and raters are χ² nearly, with
    Satterthwaite's degrees of freedom. Where most cases are at one level a few make the sums. So with
    :data:`FEWEST_PARTS` cases or more, the degrees of freedom are those that the cases' own parts of the sums tell,
    ``2 n mean² / variance``, where these are fewer.

    Raises:
        DataError: fewer than two cases or raters, ratings that don't connect all of them or leave nothing to tell
            errors by, or errors of 0.
    """
    from scipy.special import gammaincinv

    y = vector(values)
    _, case = np.unique(np.asarray(cases), return_inverse=True)
    _, rater = np.unique(np.asarray(raters), return_inverse=True)
    cells, cell = np.unique(case * (rater.max() + 1) + rater, return_inverse=True)
    count, people, n = int(case.max()) + 1, int(rater.max()) + 1, y.size
    if count < 2 or people < 2:
        raise DataError("fewer than two cases or raters")
    sums = _CrossedSums(case, rater, cell, y)
    if sums.rank < people - 1:
        raise DataError("some raters share no case with the others")
    repeated = n > cells.size
    both_freedom = cells.size - count - people + 1
    if both_freedom < 1:
        raise DataError("too few cases that several raters rated")
    if not sums.both > 1e-12 * float(((y - y.mean()) ** 2).sum()) or (repeated and not sums.within > 0):
        raise DataError("raters differ by the same on every case")
    within = sums.within / (n - cells.size) if repeated else 0.0
    parts = sums.variances(sums.cases, sums.raters, sums.both, within)
    is_full = cells.size == count * people and len(set(np.bincount(cell).tolist())) == 1
    # Without gaps, and with none below 0, these are the estimates of restricted maximum likelihood.
    if not is_full or parts[:3].min() <= 0:
        factors = {"cases": case.tolist(), "raters": rater.tolist()} | ({"both": cell.tolist()} if repeated else {})
        fitted = MixedDesign(np.ones((n, 1)), factors).fit(y).variances
        parts = np.array([fitted["cases"], fitted["raters"], fitted.get("both", fitted[RESIDUAL]), fitted[RESIDUAL]])
    rest = float(parts[2] + repeated * parts[3])
    rng = generator(seed)

    def expected(squares: float, freedom: float) -> Array:
        # By quantiles: a drawing that rejects would move them all where the degrees of freedom differ in a last digit.
        return np.asarray(squares * freedom / (2 * gammaincinv(freedom / 2, rng.random(_DRAWS))))

    # With gaps, sums of squares are near χ² with fewer degrees of freedom (Satterthwaite).
    of_case, of_rater = (
        _evenness(np.bincount(codes).astype(np.float64) * part + rest) * (np.bincount(codes).size - 1)
        for part, codes in zip(parts.tolist(), (case, rater), strict=False)
    )
    parted = np.unique(np.asarray(cases if clusters is None else clusters), return_inverse=True)[1]
    if clusters is not None:
        of_case = min(of_case, max(1, int(parted.max())))
    own = _own_freedoms(case, rater, parted, y)
    even = (min(1.0, own[0] / of_case), min(1.0, own[1] / both_freedom))
    repeats = expected(sums.within, n - cells.size) / (n - cells.size) if repeated else np.zeros(_DRAWS)
    both, by_rater = expected(sums.both, both_freedom * even[1]), expected(sums.raters, of_rater)
    drawn = np.maximum(0.0, sums.variances(expected(sums.cases, of_case * even[0]), by_rater, both, repeats))
    of_cases, of_raters, of_both, of_repeats = parts.tolist()
    return RaterStudy(
        cases=count, raters=people, ratings=n, of_cases=of_cases, of_raters=of_raters, of_both=of_both,
        of_repeats=of_repeats if repeated else None, drawn=drawn, evenness=even,
    )  # fmt: skip


def _own_freedoms(case: Any, rater: Any, parted: Any, y: Array) -> tuple[float, float]:
    """Degrees of freedom of the squares of cases, and of those within them, by how their independent parts vary;
    without end where there are too few parts to tell.
    """
    if parted.max() + 1 < FEWEST_PARTS:
        return np.inf, np.inf
    beside = y - (np.bincount(rater, y) / np.bincount(rater))[rater]
    means = (np.bincount(case, beside) / np.bincount(case))[case]
    freedoms = []
    for squares in (means**2, (beside - means) ** 2):
        parts = np.bincount(parted, squares)
        freedoms.append(
            max(1.0, float(2 * parts.sum() ** 2 / (parts.size * parts.var(ddof=1)))) if parts.var() else np.inf
        )
    return freedoms[0], freedoms[1]


def _share(parts: Array, kind: ErrorKind, raters: int, repeats: int) -> Array:
    """The share of cases in the variance of means over raters and repeats; 0 where nothing varies.

    Args:
        parts: variances of cases, raters, both and repeats, 4 × sets of them.
        kind, raters, repeats: as for a coefficient.
    """
    of_cases, of_raters, both, of_repeats = parts
    error = (both + of_repeats / repeats + (of_raters if kind == "absolute" else 0.0)) / raters
    total = of_cases + error
    shares: Array = np.divide(of_cases, total, out=np.zeros_like(total), where=total > 0)
    return shares


def _evenness(variances: Array) -> float:
    """1 of equal variances, less where few of them make most of the sum."""
    return float(variances.sum() ** 2 / (variances.size * (variances**2).sum()))


class _CrossedSums:
    """Sums of squares, each adjusted for the other effect, and how often each variance is in their expectation
    (Henderson's method III; Searle, Casella and McCulloch 1992, Variance components, 5.3)."""

    def __init__(self, case: Any, rater: Any, cell: Any, y: Array) -> None:
        y = y - y.mean()
        size = np.bincount(cell).astype(float)
        first = np.unique(cell, return_index=True)[1]
        of_case, of_rater = case[first], rater[first]
        per_case, per_rater = np.bincount(case).astype(float), np.bincount(rater).astype(float)
        case_means, rater_means = np.bincount(case, y) / per_case, np.bincount(rater, y) / per_rater
        # How raters' cells cross once cases' means are out, raters × cells.
        beside = np.zeros((per_rater.size, size.size))
        beside[of_rater, np.arange(size.size)] = size
        shares = np.zeros((per_rater.size, per_case.size))
        shares[of_rater, of_case] = size / per_case[of_case]
        beside -= shares[:, of_case] * size
        crossed = np.diag(per_rater) - shares @ (shares * per_case).T
        own = np.bincount(rater, y - case_means[case])
        inverse = np.linalg.pinv(crossed, rcond=1e-10)
        self.rank = int(np.linalg.matrix_rank(crossed, tol=1e-10 * per_rater.max()))
        self.raters = float(own @ inverse @ own)
        of_cases = float(per_case @ case_means**2)
        self.cases = of_cases + self.raters - float(per_rater @ rater_means**2)
        cell_means = np.bincount(cell, y) / size
        whole = of_cases + self.raters
        self.within = max(0.0, float(y @ y - size @ cell_means**2))
        self.both = float(size @ cell_means**2) - whole
        in_case, in_rater = float((size**2 / per_case[of_case]).sum()), float((size**2 / per_rater[of_rater]).sum())
        self.both_in_raters = float(np.einsum("ij,ik,kj->", beside, inverse, beside))
        self.both_in_cases = in_case + self.both_in_raters - in_rater
        self.both_in_both = y.size - in_case - self.both_in_raters
        self.raters_in_raters, self.cases_in_cases = y.size - in_case, y.size - in_rater
        self.freedoms = per_case.size - 1, per_rater.size - 1, size.size - per_case.size - per_rater.size + 1

    def variances(self, cases: Any, raters: Any, both: Any, repeats: Any) -> Array:
        """Variances of cases, raters, both and repeats from that of repeats and expectations of the three sums."""
        of_cases, of_raters, of_both = self.freedoms
        both = (both - of_both * repeats) / self.both_in_both
        cases = (cases - of_cases * repeats - self.both_in_cases * both) / self.cases_in_cases
        raters = (raters - of_raters * repeats - self.both_in_raters * both) / self.raters_in_raters
        return np.stack([cases, raters, both, repeats])
