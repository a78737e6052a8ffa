"""The statistics of agreement: what each is called, which comparisons of raters it is for, how it is computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Literal

import numpy as np

from bedside.analysis.choices import AlphaMetric, IccForm, Weights
from bedside.stats.result import Interval, Result
from bedside.stats.sampled_items import SampledItems

MeasurementLevel = Literal["nominal", "ordinal", "interval"]
ScaleLevels = tuple[float, ...] | tuple[str, ...] | None
#: The cluster of each unit, or how units were drawn; None where each was drawn alone.
Clusters = np.ndarray[Any, Any] | SampledItems | None
#: What a row of agreement is between, in the order they stand in a table.
Kind = Literal["people", "ceiling", "mean", "consensus", "person"]
#: The label of an entry of a list that is linked to nothing.
NO_LINK = "no link"
KINDS: tuple[Kind, ...] = ("people", "ceiling", "mean", "consensus", "person")


@dataclass(frozen=True, slots=True)
class AskedForms:
    """In which form statistics are asked for; those that go with the scale unless said.

    Attributes:
        weights: of kappa, Fleiss' kappa and AC on ordered scales; quadratic unless named.
        alpha: the distance of Krippendorff's alpha; that of the level of measurement unless named. That of
            labels without an order is nominal whatever is asked.
        icc: which intraclass correlation.
        seed: of the bootstrap.
    """

    weights: Weights | None = None
    alpha: AlphaMetric | None = None
    icc: IccForm = "2,1"
    seed: int = 0


@dataclass(frozen=True, slots=True)
class ComparedRatings:
    """Ratings of one metric by the raters of one row of agreement.

    Attributes:
        kind: what the row is between.
        level: level of measurement.
        levels: those of the scale; None where the ratings are on none.
        forms: in which form statistics are asked for.
        cells: units in rows, raters in columns; None where a rater gave no rating.
        every: of people the same of all units that anybody rated, those rated once too, with their clusters.
        pairs: positions of the raters that are compared with one another; all pairs unless named.
        clusters: the case of each unit where units of a case are drawn together; None where each unit is drawn alone.
            Where units were drawn with unequal chances, how they were drawn.
    """

    kind: Kind
    level: MeasurementLevel
    levels: ScaleLevels
    forms: AskedForms
    cells: np.ndarray[Any, Any]
    every: tuple[np.ndarray[Any, Any], Clusters]
    pairs: list[tuple[int, int]] | None
    clusters: Clusters

    @property
    def scale(self) -> tuple[float, ...] | tuple[str, ...]:
        """The levels of a scale that there is."""
        assert self.levels is not None
        return self.levels

    @property
    def penalty(self) -> str:
        """How far apart two levels count, as ``bedside.stats`` names it."""
        weights = "none" if self.level == "nominal" else self.forms.weights or "quadratic"
        return "unweighted" if weights == "none" else weights

    @property
    def alpha_metric(self) -> AlphaMetric:
        """How far apart two values are for alpha."""
        asked = self.forms.alpha
        return self.level if asked is None or self.level == "nominal" else asked

    @property
    def sample(self) -> SampledItems | None:
        """How units were drawn with unequal chances; None where they were not."""
        return self.clusters if isinstance(self.clusters, SampledItems) else None

    def constant_raters(self) -> dict[int, Any]:
        """The columns that hold a single level, at least twice, and that level."""
        rated = self.cells != None  # noqa: E711
        constant = {}
        for column in np.flatnonzero(rated.sum(axis=0) > 1).tolist():
            given = self.cells[rated[:, column], column]
            # Nearly everybody varies within a few units.
            if (given[:20] == given[0]).all() and (given == given[0]).all():
                constant[column] = given[0]
        return constant

    def varied_pairs(self) -> list[tuple[int, int]] | None:
        """The pairs that are compared without those of a rater who gives a single level; None where all are left."""
        pairs = self.pairs or list(combinations(range(self.cells.shape[1]), 2))
        constant = self.constant_raters()
        varied = [pair for pair in pairs if not constant.keys() & set(pair)]
        return varied if len(varied) < len(pairs) else None

    @property
    def labelled(self) -> bool:
        """Whether the ratings are labels, which have an order at most and no distances."""
        return self.levels is not None and isinstance(self.levels[0], str)

    @property
    def ratings(self) -> np.ndarray[Any, Any]:
        """The cells as statistics take them fastest: numbers, or labels and None."""
        return self.cells if self.labelled else self.numbers()

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
        numeric: whether it is of numbers only, and of no labels, though they have an order.
        needed: whether these ratings need it; they do unless said.
    """

    name: str
    compute: Callable[[ComparedRatings], Result]
    kinds: tuple[Kind, ...] = KINDS
    levels: tuple[MeasurementLevel, ...] = ("nominal", "ordinal", "interval")
    pair: bool = False
    numeric: bool = False
    needed: Callable[[ComparedRatings], bool] = lambda compared: True

    def applies(self, compared: ComparedRatings) -> bool:
        """Whether the statistic is one of these ratings."""
        return (
            compared.kind in self.kinds
            and compared.level in self.levels
            and (not self.pair or compared.cells.shape[1] == 2)
            and not (self.numeric and compared.labelled)
            and self.needed(compared)
        )


def statistics_of(compared: ComparedRatings) -> dict[str, Result]:
    """Every statistic that applies, by name."""
    return {statistic.name: statistic.compute(compared) for statistic in STATISTICS if statistic.applies(compared)}


def _kappa(compared: ComparedRatings) -> Result:
    from bedside.stats.many_raters import mean_pairwise_kappa

    return mean_pairwise_kappa(
        compared.ratings, scale=compared.scale, weights=compared.penalty, pairs=compared.pairs,
        clusters=compared.clusters, seed=compared.forms.seed,
    )  # fmt: skip


def _kappa_of_rated_units(compared: ComparedRatings) -> Result:
    """Kappa of the units at hand, none of which is weighted."""
    assert compared.sample is not None
    return _kappa(replace(compared, clusters=compared.sample.clusters))


def _percent_agreement(compared: ComparedRatings) -> Result:
    from bedside.stats.many_raters import percent_agreement

    if compared.kind == "mean":
        return _percent_agreement_with_people(compared)
    return percent_agreement(compared.ratings, clusters=compared.clusters, seed=compared.forms.seed)


def _percent_agreement_with_people(compared: ComparedRatings) -> Result:
    """Mean over units of the share of people who say what the last column says."""
    from bedside.stats import sampled_means
    from bedside.stats.intervals import mean_bootstrap

    people, rater = compared.cells[:, :-1], compared.cells[:, -1:]
    rated = people != None  # noqa: E711
    share = (((people == rater) & rated).sum(axis=1) / rated.sum(axis=1)).astype(float)
    if compared.sample is not None:
        result = sampled_means.share(share, compared.sample)
    else:
        result = mean_bootstrap(share, clusters=compared.clusters, resamples=2000, seed=compared.forms.seed)
    return replace(result, name="percent agreement", method="mean share of people who say what the rater says")


def _gwet_ac(compared: ComparedRatings) -> Result:
    from bedside.stats.many_raters import gwet_ac

    # How often levels are given is known from units that one person rated, too. What a judge says of units that people
    # didn't rate is no such knowledge: there may be a hundred times as many, and they were not drawn alike.
    everything = compared.kind == "people"
    cells, clusters = compared.every if everything else (compared.cells, compared.clusters)
    if not compared.labelled:
        cells = cells.astype(np.float64)
    return gwet_ac(cells, scale=compared.scale, weights=compared.penalty, clusters=clusters, seed=compared.forms.seed)


def _fleiss_kappa(compared: ComparedRatings) -> Result:
    from bedside.stats.many_raters import fleiss_kappa

    return fleiss_kappa(
        compared.ratings, scale=compared.scale, weights=compared.penalty, clusters=compared.clusters,
        seed=compared.forms.seed,
    )  # fmt: skip


def _alpha(compared: ComparedRatings) -> Result:
    from bedside.stats.reliability import krippendorff_alpha

    return krippendorff_alpha(
        compared.ratings, metric=compared.alpha_metric, scale=compared.levels, clusters=compared.clusters,
        seed=compared.forms.seed,
    )  # fmt: skip


def _icc(compared: ComparedRatings) -> Result:
    from bedside.stats.reliability import icc

    model, _, raters = compared.forms.icc.partition(",")
    return icc(compared.numbers(), model=_ICC_MODELS[model], average=raters == "k", clusters=compared.clusters)


_ICC_MODELS: Mapping[str, Literal[1, 2, 3]] = {"1": 1, "2": 2, "3": 3}


def _spearman(compared: ComparedRatings) -> Result:
    from bedside.stats.sampled_means import rank_correlation
    from bedside.stats.two_raters import correlation

    numbers = compared.numbers()
    if compared.sample is not None:
        return rank_correlation(numbers[:, 0], numbers[:, 1], compared.sample)
    result = correlation(numbers[:, 0], numbers[:, 1], kind="spearman")
    if compared.clusters is None or result.p is None:
        return result
    reason = "no interval and no p-value: units of a case are not independent"
    return replace(result, interval=None, p=None, missing=reason)


def _bias(compared: ComparedRatings) -> Result:
    from bedside.stats.two_raters import bias

    numbers = compared.numbers()
    return bias(numbers[:, 1], numbers[:, 0], clusters=compared.clusters)


def _limit(which: Literal["lower", "upper"]) -> Callable[[ComparedRatings], Result]:
    """One of Bland and Altman's limits of agreement, with its own interval."""

    def compute(compared: ComparedRatings) -> Result:
        from bedside.stats.two_raters import bland_altman

        numbers = compared.numbers()
        result = bland_altman(numbers[:, 1], numbers[:, 0], clusters=compared.clusters)
        name = f"{which} limit"
        limit, low, high = (result.details.get(name + part) for part in ("", ", low", ", high"))
        blank = replace(result, name=f"{name} of agreement", estimate=limit, interval=None, details={})
        if limit is None:
            return replace(blank, missing=result.missing or "fewer than two units rated by both")
        if low is None or high is None or result.interval is None:
            return blank
        return replace(
            blank,
            interval=Interval(
                low,
                high,
                result.interval.level,
                "t (Bland and Altman 1999)" if compared.sample is None else result.interval.method,
            ),
        )

    return compute


def _mean_absolute_error(compared: ComparedRatings) -> Result:
    from bedside.stats.two_raters import mean_absolute_error

    numbers = compared.numbers()
    return mean_absolute_error(numbers[:, 0], numbers[:, 1], clusters=compared.clusters, seed=compared.forms.seed)


def _link_f1(compared: ComparedRatings) -> Result:
    from bedside.stats.many_raters import link_f1

    return link_f1(compared.cells, none=NO_LINK, pairs=compared.pairs, clusters=compared.clusters)


_OF_SCALES: tuple[MeasurementLevel, ...] = ("nominal", "ordinal")
_OF_NUMBERS: tuple[MeasurementLevel, ...] = ("ordinal", "interval")
#: Rows whose columns are raters, or people's consensus: no column stands there more than once.
_ONE_COLUMN_A_RATER: tuple[Kind, ...] = ("people", "consensus", "person")
#: Rows in which a rater stands beside people; beside one person, the mean over persons is of two columns, too.
_WITH_RATER: tuple[Kind, ...] = ("mean", "consensus", "person")

#: In the order of a table's records.
STATISTICS: tuple[AgreementStatistic, ...] = (
    AgreementStatistic("kappa", _kappa, levels=_OF_SCALES),
    AgreementStatistic(
        "kappa without constant raters",
        lambda compared: _kappa(replace(compared, pairs=compared.varied_pairs())),
        kinds=("people", "ceiling", "mean"),
        levels=_OF_SCALES,
        needed=lambda compared: bool(compared.varied_pairs()),
    ),
    AgreementStatistic(
        "kappa of rated units",
        _kappa_of_rated_units,
        levels=_OF_SCALES,
        needed=lambda compared: compared.sample is not None,
    ),
    AgreementStatistic(
        "percent agreement", _percent_agreement, kinds=("people", "mean", "consensus", "person"), levels=_OF_SCALES
    ),
    AgreementStatistic("ac", _gwet_ac, kinds=_ONE_COLUMN_A_RATER, levels=_OF_SCALES),
    AgreementStatistic("fleiss", _fleiss_kappa, kinds=("people",), levels=_OF_SCALES),
    AgreementStatistic("alpha", _alpha, kinds=_ONE_COLUMN_A_RATER),
    AgreementStatistic("icc", _icc, kinds=_ONE_COLUMN_A_RATER, levels=_OF_NUMBERS, numeric=True),
    AgreementStatistic(
        "spearman", _spearman, kinds=("people", *_WITH_RATER), levels=_OF_NUMBERS, numeric=True, pair=True
    ),
    # Of two people neither is the one that is off.
    AgreementStatistic("bias", _bias, kinds=_WITH_RATER, levels=_OF_NUMBERS, numeric=True, pair=True),
    AgreementStatistic("lower limit", _limit("lower"), kinds=_WITH_RATER, levels=_OF_NUMBERS, numeric=True, pair=True),
    AgreementStatistic("upper limit", _limit("upper"), kinds=_WITH_RATER, levels=_OF_NUMBERS, numeric=True, pair=True),
    AgreementStatistic(
        "mae", _mean_absolute_error, kinds=("people", *_WITH_RATER), levels=_OF_NUMBERS, numeric=True, pair=True
    ),
    AgreementStatistic(
        "link f1",
        _link_f1,
        kinds=("people", *_WITH_RATER),
        levels=("nominal",),
        needed=lambda compared: NO_LINK in (compared.levels or ()),
    ),
)
