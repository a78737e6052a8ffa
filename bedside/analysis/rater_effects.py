"""What people as raters do to a comparison: who is severe, who rated which system, to whom the answer generalises.

Raters are drawn as cases are. An answer from few people is about these people; it is about people like them only where
three or more of them rated the same cases, so that what each makes of the systems can be told from chance.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from bedside.analysis.averaging import matched_rows
from bedside.analysis.case_values import case_means, mean_in_group, most_cases_pair, own_case
from bedside.analysis.checked_units import drawn_ratings
from bedside.analysis.metric_facts import MetricRatings
from bedside.analysis.ratings_view import RatingsView
from bedside.core.errors import DataError
from bedside.core.words import counted
from bedside.ratings.names import TRANSCRIPT, person_name, rated_by_humans, rated_by_judges, rates_unit
from bedside.stats.arrays import Array
from bedside.stats.generalisability import RaterStudy, rater_study
from bedside.stats.mixed_models import MixedDesign
from bedside.stats.result import Result

#: How a warning begins that other people rated the other system.
CONFOUNDED = "Raters and systems are confounded"
#: Least share of the cases that all raters must have rated for raters and cases to count as crossed.
CROSSED_SHARE = 0.8
#: How much of two systems' ratings may be by other people before raters and systems count as confounded.
_LARGEST_IMBALANCE = 0.1
#: People that a sentence names.
_MOST_NAMED = 6
#: Coverage of intervals.
_LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class RaterSeverity(MetricRatings):
    """How one person rates beside the others who rated the same.

    Attributes:
        facts, rater: the metric, and the person.
        mean: the mean of all that this person gave.
        ratings: units that this person rated, by system; transcripts without system under "".
        deviation: the person's level less the mean of the others' who rated the same units, or units that lead to
            these, by a mixed model; ``n`` is the number of cases. Its estimate is None where nobody rated the same.
        shared: units that somebody else rated, too.
    """

    rater: str
    mean: float
    ratings: tuple[tuple[str, int], ...]
    deviation: Result
    shared: int


@dataclass(frozen=True, slots=True)
class RaterDesign(MetricRatings):
    """Who rated two systems on a metric, and to whom their difference generalises.

    Attributes:
        facts, a, b: the metric and the systems.
        raters: the people who rated either system's cases.
        difference: for raters and cases like these, by the quasi-F of cases × raters, or by a mixed model where many
            rated some of the cases only; None where the answer is about these raters only.
        why: why it is about these raters only; empty otherwise.
        only_a, only_b: people who rated only one of the systems.
        imbalance: share of one system's ratings that would have to be by other people for both to be rated alike,
            0 … 1.
        shift: what the difference owes to who rated, by the people's deviations from each other; None where they
            can't be told.
        shift_reach: half the width of its 95 % interval, by case; infinite where one case alone tells it.
        is_spread: whether each system's cases were rated by half as many people as they are or more, so that what
            people differ by is in the cases' spread already.
    """

    a: str
    b: str
    raters: tuple[str, ...]
    difference: Result | None
    why: str
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    imbalance: float
    shift: float | None
    shift_reach: float = 0.0
    is_spread: bool = False

    @property
    def has_gaps(self) -> bool:
        """Whether the difference is that of a mixed model, as many rated some of the cases only."""
        return self.difference is not None and "gaps" in self.difference.options

    @property
    def is_confounded(self) -> bool:
        """Whether a difference of raters may look like one of systems; not where raters are drawn, and told apart."""
        is_uneven = bool(self.only_a or self.only_b) or self.imbalance > _LARGEST_IMBALANCE
        return self.difference is None and is_uneven


def rests_on_raters(people: RaterDesign | None, difference: Result, ends: Sequence[float] = (0.0,)) -> bool:
    """Whether what a difference shows, or doesn't, may owe itself to who rated: how much it does is not known, or the
    interval that is left without it, as uncertain as that is, lies otherwise beside one of the ``ends``."""
    interval, estimate = difference.interval, difference.estimate
    if people is None or not people.is_confounded:
        return False
    if people.shift is None or interval is None or estimate is None:
        return True
    low = estimate - people.shift - float(np.hypot(estimate - interval.low, people.shift_reach))
    high = estimate - people.shift + float(np.hypot(interval.high - estimate, people.shift_reach))
    return any((interval.low > end, interval.high < end) != (low > end, high < end) for end in ends)


def owes_raters(people: RaterDesign | None, difference: Result, ends: Sequence[float] = (0.0,)) -> bool:
    """Whether what a difference shows is no longer shown once its raters are taken out, or few people rated one system
    only and nothing tells how they differ."""
    if people is None or (people.shift is None and people.is_spread):
        return False
    return rests_on_raters(people, difference, ends)


def rater_severities(view: RatingsView, metrics: Sequence[str]) -> tuple[RaterSeverity, ...]:
    """How severe each person is, metric by metric; metrics that fewer than two people rated are left out.

    Args:
        view: the ratings.
        metrics: names of metrics; labels have no severity and are left out.
    """
    return view.once(("rater severities", tuple(metrics)), lambda: _severities(view, metrics))


def _severities(view: RatingsView, metrics: Sequence[str]) -> tuple[RaterSeverity, ...]:
    rated = _rated(view, metrics).with_columns(own_case())
    severities = []
    for metric in metrics:
        table = rated.filter(pl.col("metric") == metric)
        if table["rater"].n_unique() < 2:
            continue
        shared = table.filter(pl.len().over("transcript_id", "unit") > 1)
        deviations = _deviations(shared)
        for rater in sorted(table["rater"].unique()):
            rows = table.filter(pl.col("rater") == rater)
            counts = rows.group_by(pl.col("system").fill_null("")).len().sort("system")
            severities.append(
                RaterSeverity(
                    facts=view.facts(metric),
                    rater=rater,
                    mean=float(np.mean(rows["value"].to_numpy())),
                    ratings=tuple((str(system), int(count)) for system, count in counts.iter_rows()),
                    deviation=deviations.get(rater, _DEVIATION.no_value("nobody else rated the same")),
                    shared=shared.filter(pl.col("rater") == rater).height,
                )
            )
    return tuple(severities)


_DEVIATION = Result(
    name="deviation from the other raters",
    method="mixed model: raters and systems fixed; units, cases and raters × cases random; t over cases, 95%",
    options={"level": _LEVEL},
)


def _deviations(shared: pl.DataFrame) -> dict[str, Result]:
    """Each rater's level less the mean of the others', of those whom shared units connect.

    Args:
        shared: ratings of one metric, one for each rater and unit, of units that two or more rated.
    """
    from bedside.stats.arrays import linked_groups

    by_unit = shared.group_by("transcript_id", "unit", maintain_order=True).agg("rater")["rater"]
    return {
        rater: deviation
        for group in linked_groups(by_unit)
        for rater, deviation in _deviations_of(shared.filter(pl.col("rater").is_in(group)), sorted(group)).items()
    }


def _deviations_of(rows: pl.DataFrame, raters: Sequence[str]) -> dict[str, Result]:
    """The same of raters all of whom shared units connect.

    Raters are fixed, as it is these who are judged; units are random, and of like level within a system. With several
    units of a case, its raters may see something in it: cases and raters × cases are random, too.
    """
    from bedside.stats.intervals import t_interval

    systems = sorted(rows["system"].fill_null("").unique())
    fixed = [pl.col("rater") == rater for rater in raters] + [pl.col("system") == system for system in systems[1:]]
    x = rows.select(column.fill_null(value=False).cast(float).alias(str(at)) for at, column in enumerate(fixed))
    units = rows.select(pl.struct("transcript_id", "unit").rank("dense"))["transcript_id"].to_list()
    cases = rows["case"].to_list()
    factors: dict[str, Sequence[object]] = {"units": units}
    if rows["case"].n_unique() < len(set(units)):
        factors |= {"cases": cases, "raters × cases": list(zip(rows["rater"], cases, strict=True))}
    counts = dict(rows.group_by("rater").agg(pl.col("case").n_unique()).iter_rows())
    columns, values = x.to_numpy(), rows["value"].to_numpy()
    model, coefficients = None, np.linalg.lstsq(columns, values, rcond=None)[0]
    try:
        model = MixedDesign(columns, factors).fit(values)
        coefficients = model.coefficients
    except DataError as refused:
        # Where raters and systems tell all values, nothing is left to doubt; else nothing is known.
        if not np.allclose(columns @ coefficients, values):
            return {rater: _DEVIATION.no_value(str(refused)) for rater in raters}
    deviations = {}
    for at, rater in enumerate(raters):
        contrast = np.zeros(x.width)
        contrast[: len(raters)] = -1 / (len(raters) - 1)
        contrast[at] = 1.0
        # What a search hasn't closed in on is no deviation, nor are its last digits.
        estimate = round(float(contrast @ coefficients), 8 if model is None or model.converged else 6)
        estimate = 0.0 if abs(estimate) < 1e-6 else estimate
        result = replace(_DEVIATION, estimate=estimate, n=counts[rater])
        if model is None or not model.converged or result.n < 2:
            reason = "only one case" if result.n < 2 else "the same deviation on all of them"
            deviations[rater] = replace(result, missing=f"no interval: {reason}")
            continue
        error = float(np.sqrt(contrast @ model.covariance @ contrast))
        bounds = t_interval(result.estimate or 0.0, error, result.n - 1, _LEVEL, "t over cases")
        deviations[rater] = replace(result, interval=bounds, standard_error=error)
    return deviations


@dataclass(frozen=True, slots=True)
class Generality(MetricRatings):
    """Whether other people would say the same on one metric.

    Attributes:
        facts: the metric.
        study: what people's ratings vary by; a case of it is a rated transcript or turn.
        usual: people who rated a unit, the harmonic mean as a whole number.
    """

    study: RaterStudy
    usual: int


def generalities(
    view: RatingsView, metrics: Sequence[str], *, raters: Sequence[str] | None = None, seed: int = 0
) -> tuple[list[Generality], dict[str, str]]:
    """What people's ratings vary by, metric by metric, and of other metrics why it can't be told, by name.

    Args:
        view: the ratings.
        metrics: names of metrics.
        raters: names of the raters that count; all people unless given.
        seed: of the draws behind intervals.
    """
    known: list[Generality] = []
    unknown: dict[str, str] = {}
    rated = _people_rows(view).with_columns(own_case())
    for metric in metrics:
        rows, _ = drawn_ratings(rated.filter(pl.col("metric") == metric))
        if raters is not None:
            rows = rows.filter(pl.col("rater").is_in(list(raters)))
        if rows.is_empty():
            unknown[metric] = "its levels are words"
            continue
        try:
            study = rater_study(unit_numbers(rows), rows["rater"], rows["value"], clusters=rows["case"], seed=seed)
        except DataError as error:
            unknown[metric] = str(error)
            continue
        by_unit = rows.group_by("transcript_id", "unit").agg(pl.col("rater").n_unique())["rater"]
        # A half is rounded up, whatever the order of the sum leaves of it.
        usual = int(1 / float((1 / by_unit).mean()) + 0.5 + 1e-9)  # type: ignore[arg-type]
        known.append(Generality(view.facts(metric), study, usual))
    return known, unknown


def unit_numbers(rows: pl.DataFrame) -> pl.Series:
    """The rated transcript or turn of each row, as a number."""
    return rows.select(pl.struct("transcript_id", "unit").rank("dense"))["transcript_id"]


def _people_rows(view: RatingsView) -> pl.DataFrame:
    """What people gave in numbers: a small part of most runs."""
    return view.once("people rows", lambda: view.ratings.filter(rated_by_humans(), rates_unit()).drop_nulls("value"))


def _rated(view: RatingsView, metrics: Sequence[str]) -> pl.DataFrame:
    """What each person gave each unit, the mean of repeated ratings."""
    return (
        _people_rows(view)
        .filter(pl.col("metric").is_in(list(metrics)))
        .group_by("metric", "transcript_id", "unit", "rater", maintain_order=True)
        .agg(mean_in_group("value"), pl.col("system").first(), pl.col("case_id").first())
    )


def rater_design(
    view: RatingsView, metric: str, systems: tuple[str, str], *, paired: bool | None = None
) -> RaterDesign | None:
    """Who rated two systems, and the difference for raters like them where the design allows it.

    Args:
        view: the ratings.
        metric: the metric; numbers, of whole transcripts.
        systems: the two systems; the difference is first minus second.
        paired: whether cases are paired, so that only cases of both systems count; unless said, where more than half
            of the smaller system's cases have a partner.

    Returns:
        None where no person rated both systems' cases at all, and where people's sets of labels stand apart.
    """
    key = ("rater design", metric, systems, paired)
    return view.once(key, lambda: _design(view, metric, systems, paired))


@dataclass(frozen=True, slots=True)
class _RatersCells:
    """What raters gave a system's cases.

    Attributes:
        cases: sorted.
        values: the mean of each case's transcripts by each rater, NaN where there is none.
        transcripts: how many stand behind each, cases × raters.
    """

    cases: tuple[str, ...]
    values: Array
    transcripts: Array

    def of(self, cases: Collection[str]) -> _RatersCells:
        """Those of these cases."""
        kept = [place for place, case in enumerate(self.cases) if case in cases]
        if len(kept) == len(self.cases):
            return self
        return _RatersCells(tuple(self.cases[place] for place in kept), self.values[kept], self.transcripts[kept])


def _design(view: RatingsView, metric: str, systems: tuple[str, str], paired: bool | None) -> RaterDesign | None:
    if metric in view.label_sets():
        return None
    everybody, of_system = _cells(view, metric, systems)
    cases = [set(cells.cases) for cells in of_system]
    shared = cases[0] & cases[1]
    if paired or (paired is None and most_cases_pair(len(shared), map(len, cases))):
        paired = True
        of_system = [cells.of(shared) for cells in of_system]
    if not all(cells.cases for cells in of_system):
        return None
    by_anybody = np.any([cells.transcripts.any(axis=0) for cells in of_system], axis=0)
    raters = [rater for rater, is_there in zip(everybody, by_anybody, strict=True) if is_there]
    of_system = [
        _RatersCells(cells.cases, cells.values[:, by_anybody], cells.transcripts[:, by_anybody]) for cells in of_system
    ]
    if shared and not paired:
        difference, why = None, f"only {len(shared)} of the cases are shared, too few to pair"
    else:
        difference, why = _crossed_difference(of_system, raters, bool(paired))
    shares = [_shares(cells) for cells in of_system]
    gap = shares[0] - shares[1]
    shift, reach = _shift(view, metric, raters, gap)
    return RaterDesign(
        facts=view.facts(metric), a=systems[0], b=systems[1], raters=tuple(raters), difference=difference, why=why,
        only_a=tuple(rater for rater, share in zip(raters, shares[1], strict=True) if share == 0),
        only_b=tuple(rater for rater, share in zip(raters, shares[0], strict=True) if share == 0),
        imbalance=float(np.abs(gap).sum() / 2), shift=shift, shift_reach=reach,
        is_spread=all(2 / (share**2).sum() >= len(cells.cases) for share, cells in zip(shares, of_system, strict=True)),
    )  # fmt: skip


def _cells(view: RatingsView, metric: str, systems: tuple[str, str]) -> tuple[list[str], list[_RatersCells]]:
    """The people who rated by a metric, and their cells of two systems, both in the same settings."""

    def compute(systems: Sequence[str]) -> tuple[list[str], dict[str, _RatersCells]]:
        rated = (
            _people_rows(view)
            .filter(pl.col("unit") == TRANSCRIPT, pl.col("metric") == metric)
            .group_by("transcript_id", "metric", "rater", maintain_order=True)
            .agg(pl.col("system").first(), pl.col("case_id").first(), mean_in_group("value"))
            .rename({"rater": "group"})
        )
        cells = _case_means_by_rater(view, rated, systems)
        raters = sorted(cells["rater"].unique())
        columns = {rater: place for place, rater in enumerate(raters)}
        by_system = {}
        for (system,), part in cells.partition_by("system", as_dict=True).items():
            cases = tuple(part["case"].unique(maintain_order=True))
            at = part["case"].rle_id().to_numpy(), np.array([columns[rater] for rater in part["rater"]])
            values, transcripts = np.full((len(cases), len(raters)), np.nan), np.zeros((len(cases), len(raters)))
            values[at], transcripts[at] = part["value"], part["transcripts"]
            by_system[str(system)] = _RatersCells(cases, values, transcripts)
        return raters, by_system

    # With nothing to match, a system's cells are the same beside every other.
    matched = systems if view.matching(systems).by else ()
    raters, by_system = view.once(("raters' cells", metric, matched), lambda: compute(matched))
    nothing = _RatersCells((), np.empty((0, len(raters))), np.empty((0, len(raters))))
    return raters, [by_system.get(system, nothing) for system in systems]


def _case_means_by_rater(view: RatingsView, rated: pl.DataFrame, systems: Sequence[str]) -> pl.DataFrame:
    """The mean of each case by each group of ``rated``, as column ``rater``; of two systems in the same settings."""
    tables = rated.partition_by("group")
    if len(systems) > 1:
        tables = [matched_rows(view, table, *systems).rows for table in tables]
    return case_means(pl.concat(tables) if tables else rated).rename({"group": "rater"})


def rows_of_raters(view: RatingsView, metric: str, systems: Sequence[str] = ()) -> pl.DataFrame:
    """The numbers that people gave by a metric, or judges where no person did, with the ``case`` of each.

    Args:
        view, metric: the ratings, and the metric.
        systems: that they are of; all unless given.
    """
    rows = _people_rows(view).filter(pl.col("metric") == metric)
    if rows.is_empty():
        rows = view.ratings.filter(pl.col("metric") == metric, rated_by_judges(), rates_unit()).drop_nulls("value")
    return rows.filter(pl.col("system").is_in(list(systems)) if systems else pl.lit(value=True)).with_columns(
        own_case()
    )


def passes_of_cases(view: RatingsView, metric: str, systems: Sequence[str]) -> pl.DataFrame:
    """The mean of each case in each rater's first, second … rating of its transcripts.

    Args:
        view, metric: the ratings, and the metric, of whole transcripts.
        systems: one or two; of two, in the same settings. None where transcripts have none.

    Returns:
        Columns ``system, case, rater, pass, value, transcripts`` and others.
    """
    rows = rows_of_raters(view, metric, systems).filter(pl.col("unit") == TRANSCRIPT)
    number = pl.int_range(pl.len()).over("transcript_id", "rater").cast(pl.String)
    rated = rows.sort("transcript_id", "rater", "round", "replicate").with_columns(
        (number + "\n" + pl.col("rater")).alias("group")
    )
    parts = pl.col("rater").str.splitn("\n", 2).struct.rename_fields(["pass", "name"])
    cells = _case_means_by_rater(view, rated, systems).with_columns(parts.alias("parts")).unnest("parts")
    return cells.drop("rater").rename({"name": "rater"})


def _shares(cells: _RatersCells) -> Array:
    """Which share of a system's mean each rater's ratings are: of each case's ratings, averaged over cases."""
    counts = cells.transcripts
    shares = np.sort(counts / counts.sum(axis=1, keepdims=True), axis=0)
    # Added one by one in order of size, so that the last digits hang on nothing else.
    rated = np.maximum((counts > 0).sum(axis=0), 1)
    means: Array = np.add.accumulate(shares, axis=0)[-1] / rated * rated / len(cells.cases)
    return means


def _crossed_difference(
    of_system: Sequence[_RatersCells], raters: Sequence[str], paired: bool
) -> tuple[Result | None, str]:
    """The difference for raters like these, or why the design doesn't allow it."""
    from bedside.stats import crossed_raters

    if len(raters) < crossed_raters.FEWEST_RATERS:
        return None, f"{counted(len(raters), 'person')} rated, and raters like them need three or more"
    known = [~np.isnan(cells.values) for cells in of_system]
    if all(rated.any(axis=0).all() for rated in known):
        both = [known[0] & known[1]] if paired else known
        if all(rated.all(axis=1).sum() >= CROSSED_SHARE * len(rated) for rated in both):
            test = crossed_raters.paired_difference if paired else crossed_raters.unpaired_difference
            difference = test(*(np.asfortranarray(cells.values) for cells in of_system))
            return (None, difference.missing or "") if difference.p is None else (difference, "")
    rows = [
        (cells.values[row, column], own, cells.cases[row], raters[column])
        for own, (cells, rated) in enumerate(zip(of_system, known, strict=True))
        for row, column in zip(*np.nonzero(rated), strict=True)
    ]
    values, owns, cases, names = zip(*rows, strict=True)
    difference = crossed_raters.difference_with_gaps(values, owns, cases, names, paired=paired)
    return (None, difference.missing or "") if difference.p is None else (difference, "")


def _shift(view: RatingsView, metric: str, raters: Sequence[str], gap: Array) -> tuple[float | None, float]:
    """What the raters' shares, ``gap`` apart, do to the difference, and half the width of its 95 % interval; None where
    nothing tells some raters' levels apart.

    Levels are least squares of ratings on units and raters, over what two or more of them rated. The interval is by
    case, with t of one degree of freedom less than cases (a sandwich estimate).
    """
    from scipy.special import stdtrit

    inverse, sums, left = view.once(("raters' levels", metric, *raters), lambda: _levels(view, metric, raters))
    if inverse is None:
        return None, 0.0
    pull = gap @ inverse
    by_case: dict[str, float] = {}
    for at, own, case in left:
        by_case[case] = by_case.get(case, 0.0) + float(pull[at] @ own)
    cases = len(by_case)
    reach = float("inf")
    if cases > 1:
        error = np.sqrt(cases / (cases - 1) * sum(value**2 for value in by_case.values()))
        reach = float(stdtrit(cases - 1, 0.975) * error)
    return float(pull @ sums), reach if np.abs(gap).any() else 0.0


def _levels(
    view: RatingsView, metric: str, raters: Sequence[str]
) -> tuple[Array | None, Array, list[tuple[Array, Array, str]]]:
    """What the raters' levels follow from: the inverse of their weights, None where nothing tells some levels apart;
    their sums; and of each unit that several rated who did, what levels leave of their ratings, and the case."""
    positions = {rater: position for position, rater in enumerate(raters)}
    rated = _rated(view, [metric]).filter(pl.col("rater").is_in(list(raters))).with_columns(own_case())
    units = (
        rated.group_by("transcript_id", "unit", maintain_order=True)
        .agg("rater", "value", pl.col("case").first())
        .filter(pl.col("rater").list.len() > 1)
    )
    weights, sums = np.zeros((len(raters), len(raters))), np.zeros(len(raters))
    places = [np.array([positions[name] for name in names]) for names in units["rater"]]
    centred = [(ratings := values.to_numpy()) - ratings.mean() for values in units["value"]]
    for at, own in zip(places, centred, strict=True):
        weights[at, at] += 1
        weights[np.ix_(at, at)] -= 1 / at.size
        sums[at] += own
    if np.linalg.matrix_rank(weights) < len(raters) - 1:
        return None, sums, []
    inverse = np.asarray(np.linalg.pinv(weights), dtype=np.float64)
    levels = inverse @ sums
    left = [own - (levels[at] - levels[at].mean()) for at, own in zip(places, centred, strict=True)]
    return inverse, sums, [*zip(places, left, units["case"], strict=True)]


def names_of(raters: Sequence[str]) -> str:
    """People's names as a sentence lists them; of many the first."""
    names = [person_name(rater) for rater in raters]
    if len(names) > _MOST_NAMED:
        names = [*names[: _MOST_NAMED - 1], f"{len(names) - _MOST_NAMED + 1} more"]
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]


def confounding_in_words(design: RaterDesign, digits: int | None = None) -> str:
    """What may look like a difference of systems and be one of raters; empty where nothing may."""
    if not design.is_confounded:
        return ""
    parts = [
        f"only {system} was rated by {names_of(people)}"
        for system, people in ((design.a, design.only_a), (design.b, design.only_b))
        if people
    ]
    if not parts:
        parts = [f"{design.imbalance:.0%} of the ratings would have to be by other people for balance"]
    shift = ". They share no ratings that tell how much that does"
    if design.shift is not None:
        places = design.facts.digits if digits is None else digits
        shift = (
            f". From how these people rate beside each other, that alone makes a difference of "
            f"{design.shift:+.{places}f}".replace("-", "−")
        )
    return (
        f"{CONFOUNDED}, {design.a} − {design.b} on {design.facts.title}: {', '.join(parts)}"
        f"{shift}. A difference of raters looks like one of systems."
    )


def scope_in_words(design: RaterDesign) -> str:
    """To whom a difference generalises."""
    if design.difference is not None:
        return f"raters like these {len(design.raters)}"
    return f"these {len(design.raters)} raters only: {design.why}" if len(design.raters) > 1 else "this rater only"


def people_of(view: RatingsView, metrics: Collection[str]) -> dict[str, list[str]]:
    """The people who rated each metric with numbers, by metric; a metric that none did is left out."""
    by_metric = (
        _people_rows(view)
        .filter(pl.col("metric").is_in(list(metrics)))
        .group_by("metric")
        .agg(pl.col("rater").unique().sort())
        .sort("metric")
    )
    return {str(metric): list(raters) for metric, raters in by_metric.iter_rows()}
