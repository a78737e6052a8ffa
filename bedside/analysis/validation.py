"""May this judge be believed? What checks it against people, metric by metric, and the verdict."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

import numpy as np
import polars as pl

from bedside.analysis.agreement import Agreement, agree
from bedside.analysis.case_values import own_case
from bedside.analysis.checked_units import Chances, CheckedUnits, checked_units, drawn_ratings
from bedside.analysis.choices import Weights
from bedside.analysis.fresh_view import fresh_view, linked_view
from bedside.analysis.judge_accuracy import (
    ALPHA,
    EXPECTED,
    FEWEST_OF_LEVEL,
    JudgeCalibration,
    LevelAccuracy,
    LevelDecision,
    decisions,
    is_worse,
    judge_calibration,
    level_accuracy,
    level_words,
    levels_of_units,
    yes_level,
)
from bedside.analysis.judge_versions import VERSIONS, unversioned, version_counts, version_words
from bedside.analysis.metric_facts import MetricRatings
from bedside.analysis.pair_preferences import PositionBias, position_bias
from bedside.analysis.rater_kinds import kind_words
from bedside.analysis.ratings_view import RatingsView
from bedside.analysis.selection import beside_preferences
from bedside.analysis.self_preference import SelfPreference, self_preferences
from bedside.analysis.trend import correlation_by_case
from bedside.core.errors import DataError, one_of
from bedside.core.words import counted
from bedside.judges.rubrics.description import tuning_words
from bedside.ratings.names import is_human, is_judge, rated_by_humans
from bedside.stats.alternative_annotator import FEWEST_CLUSTERS, FEWEST_CLUSTERS_OF_TWO, AlternativeAnnotator
from bedside.stats.result import Result
from bedside.stats.stand_in import CASES_NEEDED, P_WORSE, Costs

# -- May a judge stand in for one of the people ---------------------------------------------------------

#: With fewer units rated by people, or units of fewer cases, no verdict is given.
FEWEST_UNITS, FEWEST_CASES = 30, FEWEST_CLUSTERS


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a judge may stand in for one of the people.

    Attributes:
        stands_in: True where it may, False where it is shown to be worse than a person, None where that isn't known.
        why: the reasons in words; empty where it may, and where a decision is the reason.
        because: the decision that speaks against it most, or needs the most cases, and the test of it; None where
            there is none.
    """

    stands_in: bool | None
    why: str = ""
    because: tuple[LevelDecision, Result] | None = None


def verdict_on(
    units: CheckedUnits,
    alternative: AlternativeAnnotator | None,
    agreement: Result | None,
    levels: tuple[float | str, ...],
    decided: Sequence[LevelDecision],
) -> Verdict:
    """The verdict on a judge, about what people decide by its ratings.

    It may stand in where it is shown, of every level or cut that people use, to find it no worse than one of them by
    the margin, and to clear the others no worse. Of numbers without levels, the alternative annotator test stands for
    that. The judge must also vary and agree with people beyond chance.

    Args:
        units: what it and people rated.
        alternative: the alternative annotator test; None where fewer than two people rated.
        agreement: a coefficient of agreement with people that corrects for chance, such as kappa.
        levels: of the scale; empty where there is none.
        decided: what people decide by these levels.
    """
    unknown = _unknown(units, alternative, is_decided=bool(decided))
    if unknown is not None or alternative is None:
        return Verdict(None, unknown or "")
    against, doubts = _reasons(units, agreement, levels)
    tests = [(decision, test) for decision in decided for test in decision.tests]
    worse = [(decision, test) for decision, test in tests if is_worse(test, len(tests))]
    if against or worse:
        return Verdict(False, "; ".join(against), None if against else min(worse, key=_p_worse))
    if not decided and levels and not alternative.epsilon:
        doubts.append("what people decide can be checked only with a margin (ε) above 0")
    elif not decided and levels:
        # Whatever its levels, of the one at which a transcript fails there is nothing on one side.
        doubts.append("of what two people rated, all or none would fail")
    elif not decided and not alternative.replaceable:
        doubts.append("one of these people may be better")
    unsettled = [(decision, test) for decision, test in tests if test.p is None or test.p >= ALPHA]
    if doubts or not unsettled:
        return Verdict(None if doubts else True, "; ".join(doubts))
    return Verdict(None, "", max(unsettled, key=lambda tested: tested[1].details.get(CASES_NEEDED) or inf))


def _p_worse(tested: tuple[LevelDecision, Result]) -> float:
    return tested[1].details.get(P_WORSE) or 0.0


def _unknown(units: CheckedUnits, alternative: AlternativeAnnotator | None, *, is_decided: bool) -> str | None:
    """Why nothing can be said; None where something can."""
    if alternative is None:
        return "fewer than two people rated"
    if units.size < FEWEST_UNITS:
        return f"{counted(units.size, 'unit')}, fewer than {FEWEST_UNITS}"
    if units.case_count < FEWEST_CASES:
        return f"{counted(units.size, 'unit')} of {counted(units.case_count, 'case')}, fewer than {FEWEST_CASES} cases"
    if units.people.shape[1] == 2 and units.case_count < min(units.size, FEWEST_CLUSTERS_OF_TWO):
        return (
            f"{counted(units.size, 'unit')} of {counted(units.case_count, 'case')}, rated by two people, who need "
            f"{FEWEST_CLUSTERS_OF_TWO} cases"
        )
    if units.chances == "none":
        return "every unit that people rated was picked for what it is, none was drawn at random"
    if len({cell for cell in units.people.ravel() if cell is not None}) == 1:
        return "people gave every unit the same"
    if alternative.replaceable is None and not is_decided:
        return alternative.missing
    return None


def _reasons(
    units: CheckedUnits, agreement: Result | None, levels: tuple[float | str, ...]
) -> tuple[list[str], list[str]]:
    """What speaks against a judge whatever it decides, and what leaves it open."""
    values = set(units.judge.tolist())
    if len(values) == 1:
        return [f"it gives every unit the same level: {level_words(values.pop())}"], []
    if agreement is not None and agreement.interval is not None and agreement.interval.high < 0:
        return ["it says the opposite of people: its scale may be turned round"], []
    doubts = [
        f"it never gives {level_words(level)}, which people gave to {counted(units.units_given(level), 'unit')}"
        for level in levels
        if level not in values and units.units_given(level) >= FEWEST_OF_LEVEL
    ]
    if agreement is None or agreement.estimate is None:
        doubts.append("whether it agrees with people beyond chance can't be computed")
    elif agreement.interval is None:
        if agreement.estimate < 1 - 1e-12:
            doubts.append("its agreement with people has no interval, so that it may be chance")
    elif agreement.interval.low <= 0:
        doubts.append("its agreement with people may be no more than chance: the interval includes 0")
    return [], doubts


# -- May this judge be believed? What checks it against people ------------------------------------------

#: How much worse than a person a judge may be, by who the people are (Calderon et al. 2025).
EPSILONS: Mapping[str, float] = {"experts": 0.2, "skilled": 0.15, "crowd": 0.1}


def costs_of(loss: Mapping[str, Any] | None) -> Costs | None:
    """The costs of errors as typed: of a ``miss``, of a ``false_alarm``, or of both; the other is 1.

    Raises:
        DataError: another name, or no number above 0.
    """
    if loss is None:
        return None
    costs = {"miss": 1.0, "false_alarm": 1.0}
    for name, text in loss.items():
        one_of(name, tuple(costs), "error", DataError, where="`loss`")
        try:
            costs[name] = float(text)
        except ValueError:
            costs[name] = 0.0
        if not 0 < costs[name] < inf:
            raise DataError(f"{text!r} is no cost", where="`loss`", todo=f"give a number above 0, such as {name}=10")
    return Costs(**costs)


@dataclass(frozen=True, slots=True)
class Validation(MetricRatings):
    """A judge (or algorithm) on one metric beside people.

    Attributes:
        facts, rater: what was rated, by whom.
        mean: agreement with each person, the mean; None where no unit was rated by both.
        consensus: agreement with people's consensus; None where fewer than two people rated.
        people, ceiling: people among themselves, and one person against the consensus of the others; None where too few
            rated.
        alternative: the alternative annotator test; None where fewer than two people rated.
        passes: number of passes of the rater.
        self_agreement: Krippendorff's alpha of the rater's passes; None where there is one pass.
        bias: mean of the rater minus people's mean, with its interval by case; None for labels.
        limits: Bland and Altman's limits of agreement; None for labels.
        length: Spearman's correlation, over transcripts, of the rater's mean difference from people with the number of
            turns, its interval by case: a judge that favours long conversations shows here; None for labels and
            outside a run.
        accuracy: where there are two levels, how well the rater finds the one that means yes; else None.
        decisions: for each level that people give, or each cut of an ordered scale, whether it finds it no worse than
            one of them; empty where the scale has no levels.
        lacks_loss: whether errors have costs, but not on this metric: it has neither two levels nor one that fails.
        calibration: its expected levels beside what people say; None where it gives none.
        rated: units the rater rated; with_people: those of them that people rated too; cases: the cases of these.
        chances: how the units that people rated were drawn. Where their chances differ, agreement, the alternative
            annotator test, bias, accuracy and calibration weigh each unit by one over its chance.
        picked: units left out because they were picked for what they are, and not drawn.
        learnt: units left out because the rater learnt from people's ratings of them or of their cases.
        adjudicated: units with a final label, which the consensus, bias, limits, accuracy and calibration take in place
            of what people said; agreement with each person and the alternative annotator test take the originals.
        failures: ratings the rater failed to give.
        stands_in: whether it may stand in for one of these people; None where that can't be said.
        why, because: the reason, as of :class:`Verdict`.
    """

    rater: str
    mean: Agreement | None
    consensus: Agreement | None
    people: Agreement | None
    ceiling: Agreement | None
    alternative: AlternativeAnnotator | None
    passes: int
    self_agreement: Result | None
    bias: Result | None
    limits: Result | None
    length: Result | None
    accuracy: LevelAccuracy | None
    decisions: tuple[LevelDecision, ...]
    lacks_loss: bool
    calibration: JudgeCalibration | None
    rated: int
    with_people: int
    cases: int
    chances: Chances
    picked: int
    learnt: int
    adjudicated: int
    failures: int
    stands_in: bool | None
    why: str
    because: tuple[LevelDecision, Result] | None

    @property
    def has_loss(self) -> bool:
        """Whether what its errors cost was held against one person's."""
        return any(len(decision.tests) > 2 for decision in self.decisions)


@dataclass(frozen=True, slots=True)
class JudgeCard:
    """What is known of one judge, as (what, value) pairs; what the run does not record says so.

    Attributes:
        rater: the judge.
        facts: what is known of it.
        validations: what was found on each metric.
        positions: how much the place counts where it compared two conversations, rubric by rubric; empty where it
            compared none.
        self_preferences: how much it favours what its own model made, by metric; empty where that isn't known.
    """

    rater: str
    facts: tuple[tuple[str, str], ...]
    validations: tuple[Validation, ...] = field(default=())
    positions: tuple[PositionBias, ...] = field(default=())
    self_preferences: tuple[SelfPreference, ...] = field(default=())


def validate(
    view: RatingsView,
    *,
    judges: Sequence[str] | None = None,
    metrics: Sequence[str] | None = None,
    epsilon: float = EPSILONS["experts"],
    costs: Costs | None = None,
    weights: Weights | None = None,
    made_by: Mapping[str, str] | None = None,
    seed: int = 0,
) -> tuple[JudgeCard, ...]:
    """Check judges against people on every metric that both rated.

    Args:
        view: the ratings.
        judges: raters or patterns; every rater that is no person unless named.
        metrics: metrics or patterns; every one that people and a judge rated unless named.
        epsilon: how much worse than a person the judge may be: in sensitivity and specificity, in loss, and in the
            alternative annotator test.
        costs: of errors; with them the judge's loss must not be worse either.
        weights: of kappa on ordered scales.
        made_by: the model that made each system's conversations, where the view doesn't know it.
        seed: of what is drawn at random.

    Raises:
        DataError: no metric was rated by a judge and by a person, or no such system.
    """
    if not 0 <= epsilon < 1:
        raise DataError(
            f"the share must be at least 0 and below 1, and {epsilon} is not",
            where="`epsilon`",
            todo="give .2 for experts, .1 for crowd workers",
        )
    chosen = [name for name in view.raters(judges) if not is_human(name)]
    view = linked_view(fresh_view(view))
    by_judge: dict[str, list[Validation]] = {}
    for name in _metrics_of_people(view, metrics):
        ratings, picked = drawn_ratings(view.ratings.filter(pl.col("metric") == name))
        judges_of_metric = [judge for judge in chosen if judge in set(ratings["rater"])]
        if not judges_of_metric:
            continue
        people = sorted(ratings.filter(rated_by_humans())["rater"].unique())
        rows = agree(
            replace(view, ratings=ratings), metrics=[name],
            raters=[*people, *sorted(set(view.final["rater"])), *judges_of_metric], weights=weights, seed=seed,
        )  # fmt: skip
        compared = _JudgedMetric(
            view=view, metric=name, ratings=ratings, picked=picked,
            agreements=[row for row in rows if row.title == view.facts(name).title], epsilon=epsilon, costs=costs,
            seed=seed,
        )  # fmt: skip
        for judge in judges_of_metric:
            by_judge.setdefault(judge, []).append(_validation(compared, judge))
    checked = [validation for validations in by_judge.values() for validation in validations]
    if costs is not None and checked and not any(each.has_loss for each in checked):
        raise DataError(
            "no metric that was checked has two levels, or a level at which a transcript fails", where="`loss`",
            todo="leave it out, or give a scale of two levels with `scale`, such as 0-1 or 1-2",
        )  # fmt: skip
    learnt = sorted({rater for rater, _ in view.learnt if rater in chosen})
    if not by_judge and learnt:
        raise DataError(
            f"all that people rated, too, is what {' and '.join(learnt)} learnt from",
            where=view.name,
            todo="have people rate other cases",
        )
    if not by_judge:
        raise DataError(
            "no metric was rated by a judge and by a person",
            where=view.name,
            todo="have a judge rate with bedside score … --judge MODEL"
            if _metrics_of_people(view, metrics)
            else "import people's ratings with bedside ratings import" + beside_preferences(view),
        )
    return tuple(
        JudgeCard(
            judge,
            _card(view, judge, validations),
            tuple(validations),
            position_bias(view, judge, seed=seed),
            self_preferences(view, judge, made_by),
        )
        for judge, validations in by_judge.items()
    )


def _metrics_of_people(view: RatingsView, metrics: Sequence[str] | None) -> list[str]:
    """Metrics that people rated: those that match, or unless named those that somebody rates.

    Audits count only under their full names: who has seen a judge's rating is no independent rater of it.
    """
    rated = view.ratings.filter(rated_by_humans())["metric"].unique()
    return [name for name in view.agreed_metrics(metrics) if name in rated]


@dataclass(frozen=True, slots=True, kw_only=True)
class _JudgedMetric:
    """A metric that judges and people rated, and how the judges are checked.

    Attributes:
        view: all ratings; metric: the metric's name; ratings: those of the metric that count.
        picked: units left out because they were picked.
        agreements: agreement of all raters on it.
        epsilon: how much worse than a person a judge may be; costs: of its errors; seed: of what is drawn at random.
    """

    view: RatingsView
    metric: str
    ratings: pl.DataFrame
    picked: int
    agreements: Sequence[Agreement]
    epsilon: float
    costs: Costs | None
    seed: int


def _validation(compared: _JudgedMetric, judge: str) -> Validation:
    view, metric = compared.view, compared.metric
    by_kind = {row.kind: row for row in compared.agreements if row.rater in (None, judge) and row.kind != "person"}
    judgements = compared.ratings.filter(pl.col("rater") == judge)
    units = checked_units(compared.ratings, judge, compared.picked, view.final_labels(metric))
    scale = view.scales.get(metric)
    levels = levels_of_units(units, scale.levels if scale is not None else None)
    alternative = _alternative(units, compared.epsilon)
    facts = view.facts(metric)
    fails = None if facts.fails_at is None or units.has_labels else (facts.fails_at, facts.direction != "lower")
    decided = decisions(
        units, levels, margin=compared.epsilon, ordered=not units.has_labels if scale is None else scale.ordered,
        fails=fails, costs=compared.costs,
    ) if compared.epsilon else ()  # fmt: skip
    verdict = verdict_on(units, alternative, _beyond_chance(by_kind), levels, decided)
    passes = int(judgements["replicate"].max() or 0) + 1  # type: ignore[arg-type]
    yes = yes_level(units, levels)
    expected = view.ratings.filter(pl.col("metric") == metric + EXPECTED, pl.col("rater") == judge)
    return Validation(
        facts=facts, rater=judge, mean=by_kind.get("mean"), consensus=by_kind.get("consensus"),
        people=by_kind.get("people"), ceiling=by_kind.get("ceiling"), alternative=alternative, passes=passes,
        self_agreement=self_agreement(judgements, view, metric, compared.seed) if passes > 1 else None,
        **_differences(units, view), accuracy=level_accuracy(units, yes) if yes is not None and units.size else None,
        decisions=decided, lacks_loss=compared.costs is not None and len(levels) != 2 and fails is None,
        calibration=judge_calibration(units, expected, levels), rated=units.judged, with_people=units.size,
        cases=units.case_count, chances=units.chances, picked=units.picked,
        learnt=view.learnt.get((judge, metric), 0), adjudicated=units.adjudicated,
        failures=judgements["error"].len() - judgements["error"].null_count(), stands_in=verdict.stands_in,
        why=verdict.why, because=verdict.because,
    )  # fmt: skip


def _alternative(units: CheckedUnits, epsilon: float) -> AlternativeAnnotator | None:
    """The alternative annotator test by case; None where fewer than two people rated."""
    from bedside.stats.alternative_annotator import alternative_annotator

    if units.people.shape[1] < 2:
        return None
    return alternative_annotator(
        units.judge, units.people, epsilon=epsilon, score="match" if units.has_labels else "distance",
        clusters=units.cases if units.case_count < units.size else None, weights=units.weights,
    )  # fmt: skip


def _beyond_chance(by_kind: Mapping[Any, Agreement]) -> Result | None:
    """Agreement with people corrected for chance: kappa, or where the ratings are on no scale alpha."""
    mean, consensus = by_kind.get("mean"), by_kind.get("consensus")
    kappa = mean.statistics.get("kappa") if mean else None
    return kappa or (consensus.statistics.get("alpha") if consensus else None)


def _differences(units: CheckedUnits, view: RatingsView) -> dict[str, Result | None]:
    """Bias, limits of agreement and the correlation of the difference with length; None for labels."""
    from bedside.stats import diagnostic_accuracy, two_raters

    if units.has_labels or not units.size:
        return {"bias": None, "limits": None, "length": None}
    numbers, average = units.judge.astype(float), units.people_numbers()
    bias = diagnostic_accuracy.surplus(numbers, average, clusters=units.cases, weights=units.weights)
    length = None
    if view.run is not None:
        turns = dict(view.run.index.select("id", "turns").iter_rows())
        names = sorted(set(units.transcripts.tolist()))
        case_of = dict(zip(units.transcripts.tolist(), units.cases.tolist(), strict=True))
        length = correlation_by_case(
            np.array([(numbers - average)[units.transcripts == name].mean() for name in names]),
            np.array([float(turns[name]) for name in names]),
            np.array([case_of[name] for name in names]),
        )
    return {
        "bias": replace(bias, name="bias"),
        "limits": two_raters.bland_altman(numbers, average, clusters=_drawn_together(units)),
        "length": length,
    }


def _drawn_together(units: CheckedUnits) -> Any:
    """The case of each unit where units share one; where they were drawn with unequal chances, with which."""
    from bedside.stats.sampled_items import sampled_items

    if units.chances == "unequal":
        return sampled_items(1 / units.weights, strata=np.zeros(units.size), clusters=units.cases)
    return units.cases if units.case_count < units.size else None


def self_agreement(judgements: pl.DataFrame, view: RatingsView, metric: str, seed: int) -> Result:
    """Alpha of the passes as if each were a rater, its interval by case.

    Args:
        judgements: one rater's ratings of the metric.
    """
    from bedside.stats import reliability

    labels = bool(judgements["label"].is_not_null().any())
    wide = judgements.with_columns(own_case()).pivot(
        "replicate", index=["transcript_id", "unit", "case"], values="label" if labels else "value"
    )
    cells = np.array(wide.drop("transcript_id", "unit", "case").rows(), dtype=object)
    scale = view.scales.get(metric)
    level: Any = "nominal" if labels else "ordinal" if scale is not None else "interval"
    members = wide["case"].to_numpy()
    nested = 1 < len(set(members)) < len(members)
    return reliability.krippendorff_alpha(
        cells, metric=level, scale=scale.levels if scale else None, clusters=members if nested else None, seed=seed
    )


def _temperature(settings: Mapping[str, Any], unknown: str) -> str:
    """The temperature that a judge was sent; None is the provider's own."""
    temperature = settings.get("temperature", unknown)
    return "the provider's own" if temperature is None else str(temperature)


def _scorings(view: RatingsView, rater: str, metrics: Sequence[str]) -> list[Mapping[str, Any]]:
    """What the run records of when a rater rated by these metrics, in order: of each metric, the last time.

    A judge may be asked by one rubric today and by another tomorrow, with other settings.
    """
    if view.run is None:
        return []
    rater = unversioned(view.run, rater)
    entries = [entry for entry in view.run.manifest["scorings"] if rater in entry["raters"]]
    last: dict[str, int] = {}
    for place, entry in enumerate(entries):
        last |= dict.fromkeys(entry.get("judges", {}).get(rater, {}).get("prompts", {}), place)
    places = {last[metric] for metric in metrics if metric in last}
    return [entries[place] for place in sorted(places)] or entries[-1:]


def _each_once(words: Iterable[object], unknown: str) -> str:
    return ", ".join(dict.fromkeys(map(str, words))) or unknown


def _versions(view: RatingsView, judge: str, metrics: Sequence[str]) -> str:
    """The versions of a judge's model that gave its ratings, and how many each."""
    return version_words(judge, version_counts(view, metrics).get(judge, {}))


def _card(view: RatingsView, judge: str, validations: Sequence[Validation]) -> tuple[tuple[str, str], ...]:
    """What is known of a judge: its kind, date, model, prompts, passes and failures."""
    unknown = "not recorded"
    metrics = [validation.metric for validation in validations]
    scorings = _scorings(view, judge, metrics)
    rated = sum(validation.rated for validation in validations)
    with_people = sum(validation.with_people for validation in validations)
    failures = sum(validation.failures for validation in validations)
    share = f"{100 * with_people / rated:.0f} %" if rated else "none"
    facts = [
        ("Rater", judge),
        ("Kind", kind_words(view, judge)),
        ("Date", _each_once((entry.get("date", unknown) for entry in scorings), unknown)),
        ("bedside", _each_once((entry.get("bedside", unknown) for entry in scorings), unknown)),
    ]
    if is_judge(judge):
        asked = judge if view.run is None else unversioned(view.run, judge)
        settings = [entry.get("judges", {}).get(asked, {}) for entry in scorings]
        prompts = {name: version for each in settings for name, version in each.get("prompts", {}).items()}
        facts += [
            ("Model", _each_once((each.get("model", unknown) for each in settings), unknown)),
            ("Temperature", _each_once((_temperature(each, unknown) for each in settings), unknown)),
        ]
        facts.append((VERSIONS, _versions(view, judge, metrics) or unknown))
        versions = [f"{metric} {prompts[metric]}" for metric in metrics if metric in prompts]
        facts.append(("Rubric versions", ", ".join(versions) or unknown))
        tuned = [view.rubrics.get(f"{metric}@{prompts.get(metric)}") for metric in metrics]
        facts += [("Tuned", tuning_words(rubric)) for rubric in tuned if rubric is not None and rubric.history]
    return (
        *facts,
        ("Passes", str(max(validation.passes for validation in validations))),
        ("Ratings given", f"{rated:,}"),
        ("Failures", f"{failures:,}"),
        ("Checked against people", f"{with_people:,} ratings ({share} of those given)"),
    )
