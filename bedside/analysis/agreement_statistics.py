"""The statistics of agreement: what each is called, which comparisons of raters it is for, how it is computed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from bedside.analysis.choices import Weights
from bedside.stats.result import Result

MeasurementLevel = Literal["nominal", "ordinal", "interval"]
ScaleLevels = tuple[float, ...] | tuple[str, ...] | None
#: What a row of agreement is between, in the order they stand in a table.
Kind = Literal["people", "ceiling", "mean", "consensus", "person"]
KINDS: tuple[Kind, ...] = ("people", "ceiling", "mean", "consensus", "person")


@dataclass(frozen=True, slots=True)
class ComparedRatings:
    """Ratings of one metric by the raters of one row of agreement.

    Attributes:
        kind: what the row is between.
        level: level of measurement.
        levels: those of the scale; None where the ratings are on none.
        weights: of kappa and AC on ordered scales; quadratic unless named.
        cells: units in rows, raters in columns; None where a rater gave no rating.
        pairs: positions of the raters that are compared with one another; all pairs unless named.
        clusters: the transcript of each unit where units of a transcript are drawn together; None where each unit is
            drawn alone.
        seed: of the bootstrap.
    """

    kind: Kind
    level: MeasurementLevel
    levels: ScaleLevels
    weights: Weights | None
    cells: np.ndarray[Any, Any]
    pairs: list[tuple[int, int]] | None
    clusters: np.ndarray[Any, Any] | None
    seed: int

    @property
    def scale(self) -> tuple[float, ...] | tuple[str, ...]:
        """The levels of a scale that there is."""
        assert self.levels is not None
        return self.levels

    @property
    def penalty(self) -> str:
        """How far apart two levels count, as ``bedside.stats`` names it."""
        weights = "none" if self.level == "nominal" else self.weights or "quadratic"
        return "unweighted" if weights == "none" else weights

    def numbers(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """The cells as numbers, NaN where there is none."""
        return self.cells.astype(np.float64)


@dataclass(frozen=True, slots=True)
class AgreementStatistic:
    """One statistic of agreement.

    Attributes:
        name: by which :class:`~bedside.analysis.agreement.Agreement` holds its result.
        compute: the statistic of the ratings compared.
        kinds: the kinds of rows that it is for.
        levels: the levels of measurement that it is for.
        pair: whether it is of two raters only.
    """

    name: str
    compute: Callable[[ComparedRatings], Result]
    kinds: tuple[Kind, ...] = KINDS
    levels: tuple[MeasurementLevel, ...] = ("nominal", "ordinal", "interval")
    pair: bool = False

    def applies(self, compared: ComparedRatings) -> bool:
        """Whether the statistic is one of these ratings."""
        return (
            compared.kind in self.kinds
            and compared.level in self.levels
            and (not self.pair or compared.cells.shape[1] == 2)
        )


def statistics_of(compared: ComparedRatings) -> dict[str, Result]:
    """Every statistic that applies, by name."""
    return {
        statistic.name: statistic.compute(compared) for statistic in STATISTICS if statistic.applies(compared)
    }


def _kappa(compared: ComparedRatings) -> Result:
    from bedside.stats.many_raters import mean_pairwise_kappa

    return mean_pairwise_kappa(
        compared.cells,
        scale=compared.scale,
        weights=compared.penalty,
        pairs=compared.pairs,
        clusters=compared.clusters,
        seed=compared.seed,
    )


def _percent_agreement(compared: ComparedRatings) -> Result:
    from bedside.stats.many_raters import percent_agreement

    if compared.kind == "mean":
        return _percent_agreement_with_people(compared)
    return percent_agreement(compared.cells, clusters=compared.clusters, seed=compared.seed)


def _percent_agreement_with_people(compared: ComparedRatings) -> Result:
    """Mean over units of the share of people who say what the last column says."""
    from bedside.stats.intervals import mean_bootstrap

    people, rater = compared.cells[:, :-1], compared.cells[:, -1:]
    rated = people != None  # noqa: E711
    share = ((people == rater) & rated).sum(axis=1) / rated.sum(axis=1)
    result = mean_bootstrap(
        share.astype(float), clusters=compared.clusters, resamples=2000, seed=compared.seed
    )
    return replace(
        result, name="percent agreement", method="mean share of people who say what the rater says"
    )


def _gwet_ac(compared: ComparedRatings) -> Result:
    from bedside.stats.many_raters import gwet_ac

    return gwet_ac(
        compared.cells,
        scale=compared.scale,
        weights=compared.penalty,
        clusters=compared.clusters,
        seed=compared.seed,
    )


def _fleiss_kappa(compared: ComparedRatings) -> Result:
    from bedside.stats.many_raters import fleiss_kappa

    return fleiss_kappa(compared.cells, scale=compared.scale, clusters=compared.clusters, seed=compared.seed)


def _alpha(compared: ComparedRatings) -> Result:
    from bedside.stats.reliability import krippendorff_alpha

    return krippendorff_alpha(
        compared.cells,
        metric=compared.level,
        scale=compared.levels,
        clusters=compared.clusters,
        seed=compared.seed,
    )


def _icc(compared: ComparedRatings) -> Result:
    from bedside.stats.reliability import icc

    return icc(compared.numbers())


def _spearman(compared: ComparedRatings) -> Result:
    from bedside.stats.two_raters import correlation

    numbers = compared.numbers()
    return correlation(numbers[:, 0], numbers[:, 1], kind="spearman")


def _bias(compared: ComparedRatings) -> Result:
    from bedside.stats.two_raters import bias

    numbers = compared.numbers()
    return bias(numbers[:, 1], numbers[:, 0])


def _mean_absolute_error(compared: ComparedRatings) -> Result:
    from bedside.stats.two_raters import mean_absolute_error

    numbers = compared.numbers()
    return mean_absolute_error(numbers[:, 0], numbers[:, 1], clusters=compared.clusters, seed=compared.seed)


_OF_SCALES: tuple[MeasurementLevel, ...] = ("nominal", "ordinal")
_OF_NUMBERS: tuple[MeasurementLevel, ...] = ("ordinal", "interval")
#: Rows whose columns are raters, or people's consensus: no column stands there more than once.
_ONE_COLUMN_A_RATER: tuple[Kind, ...] = ("people", "consensus", "person")

#: In the order of a table's records.
STATISTICS: tuple[AgreementStatistic, ...] = (
    AgreementStatistic("kappa", _kappa, levels=_OF_SCALES),
    AgreementStatistic(
        "percent agreement",
        _percent_agreement,
        kinds=("people", "mean", "consensus", "person"),
        levels=_OF_SCALES,
    ),
    AgreementStatistic("ac", _gwet_ac, kinds=_ONE_COLUMN_A_RATER, levels=_OF_SCALES),
    # Labels only: it takes no order into account.
    AgreementStatistic("fleiss", _fleiss_kappa, kinds=("people",), levels=("nominal",)),
    AgreementStatistic("alpha", _alpha, kinds=_ONE_COLUMN_A_RATER),
    AgreementStatistic("icc", _icc, kinds=_ONE_COLUMN_A_RATER, levels=_OF_NUMBERS),
    AgreementStatistic("spearman", _spearman, kinds=_ONE_COLUMN_A_RATER, levels=_OF_NUMBERS, pair=True),
    # Of two people neither is the one that is off.
    AgreementStatistic("bias", _bias, kinds=("consensus", "person"), levels=_OF_NUMBERS, pair=True),
    AgreementStatistic("mae", _mean_absolute_error, kinds=_ONE_COLUMN_A_RATER, levels=_OF_NUMBERS, pair=True),
)
