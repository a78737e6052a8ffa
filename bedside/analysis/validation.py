"""May this judge be believed? What checks it against people, metric by metric, and what is known of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from bedside.analysis.agreement import Agreement, agree
from bedside.analysis.choices import Weights
from bedside.analysis.grid import grid_of
from bedside.analysis.ratings_view import MetricRatings, RatingsView
from bedside.ratings.names import HUMANS, is_algorithm, is_human, is_judge, rated_by_humans
from bedside.stats.alternative_annotator import AlternativeAnnotator
from bedside.stats.result import Result
from bedside.support.errors import DataError

#: How much worse than a person a judge may be, by who the people are (Calderon et al. 2025).
EPSILONS: Mapping[str, float] = {"experts": 0.2, "skilled": 0.15, "crowd": 0.1}
#: With fewer units rated by people, no verdict is given.
FEWEST_UNITS = 30


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
        bias: mean of the rater minus people's mean, with its interval; None for labels.
        limits: Bland and Altman's limits of agreement; None for labels.
        length: Spearman's correlation of the rater's difference from people with the transcript's number of turns: a
            judge that favours long conversations shows here; None for labels and outside a run.
        rated: units the rater rated; with_people: those of them that people rated too.
        failures: ratings the rater failed to give.
        stands_in: whether it may stand in for one of these people; None where that can't be said.
        verdict: the same in words, with the reason.
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
    rated: int
    with_people: int
    failures: int
    stands_in: bool | None
    verdict: str


@dataclass(frozen=True, slots=True)
class JudgeCard:
    """What is known of one judge, as (what, value) pairs; what the run does not record says so.

    Attributes:
        rater: the judge.
        facts: what is known of it.
        validations: what was found on each metric.
    """

    rater: str
    facts: tuple[tuple[str, str], ...]
    validations: tuple[Validation, ...] = field(default=())


def validate(
    view: RatingsView,
    *,
    judges: Sequence[str] | None = None,
    metrics: Sequence[str] | None = None,
    epsilon: float = EPSILONS["experts"],
    weights: Weights | None = None,
    seed: int = 0,
) -> tuple[JudgeCard, ...]:
    """Check judges against people on every metric that both rated.

    Args:
        view: the ratings.
        judges: raters or patterns; every rater that is no person unless named.
        metrics: metrics or patterns; every one that people and a judge rated unless named.
        epsilon: how much worse than a person the judge may be in the alternative annotator test.
        weights: of kappa on ordered scales.
        seed: of what is drawn at random.

    Raises:
        DataError: no metric was rated by a judge and by a person.
    """
    if not 0 <= epsilon < 1:
        raise DataError(
            f"the share must be at least 0 and below 1, and {epsilon} is not",
            where="`epsilon`",
            todo="give .2 for experts, .1 for crowd workers",
        )
    chosen = [name for name in view.raters(judges) if not is_human(name)]
    by_judge: dict[str, list[Validation]] = {}
    for name in _metrics_of_people(view, metrics):
        ratings = view.ratings.filter(pl.col("metric") == name)
        judges_of_metric = [judge for judge in chosen if judge in set(ratings["rater"])]
        if not judges_of_metric:
            continue
        rows = agree(
            view,
            metrics=[name],
            raters=[*view.raters([HUMANS]), *judges_of_metric],
            weights=weights,
            seed=seed,
        )
        agreements = [row for row in rows if row.title == view.facts(name).title]
        for judge in judges_of_metric:
            validation = _validation(
                view, name, judge, ratings, agreements=agreements, epsilon=epsilon, seed=seed
            )
            by_judge.setdefault(judge, []).append(validation)
    if not by_judge:
        raise DataError(
            "no metric was rated by a judge and by a person",
            where=view.name,
            todo="import people's ratings with bedside ratings import",
        )
    return tuple(
        JudgeCard(judge, _card(view, judge, validations), tuple(validations))
        for judge, validations in by_judge.items()
    )


def _metrics_of_people(view: RatingsView, metrics: Sequence[str] | None) -> list[str]:
    """Metrics that people rated: those that match, or unless named those with a scale in a run."""
    rated = view.ratings.filter(rated_by_humans())["metric"].unique()
    return [
        name
        for name in view.metrics(metrics)
        if name in rated and (metrics is not None or name in view.scales or view.run is None)
    ]


def _validation(
    view: RatingsView,
    metric: str,
    judge: str,
    ratings: pl.DataFrame,
    *,
    agreements: Sequence[Agreement],
    epsilon: float,
    seed: int,
) -> Validation:
    from bedside.stats import alternative_annotator, two_raters

    by_kind = {row.kind: row for row in agreements if row.rater in (None, judge) and row.kind != "person"}
    by_judge = pl.col("rater") == judge
    judgements = ratings.filter(by_judge)
    grid = grid_of(ratings.filter(rated_by_humans() | by_judge))
    column = grid.raters.index(judge) if judge in grid.raters else None
    human = np.delete(grid.cells, column, axis=1) if column is not None else grid.cells
    verdicts = grid.cells[:, column] if column is not None else np.full(len(grid.cells), None, dtype=object)
    alternative = bias = limits = length = None
    labels = any(isinstance(cell, str) for cell in grid.cells.ravel())
    if human.shape[1] > 1:
        alternative = alternative_annotator.alternative_annotator(
            verdicts, human, epsilon=epsilon, score="match" if labels else "distance"
        )
    both = (verdicts != None) & (human != None).any(axis=1)  # noqa: E711
    if not labels and both.any():
        by_people = [[np.nan if cell is None else cell for cell in row] for row in human[both]]
        average = np.nanmean(np.array(by_people, dtype=float), axis=1)
        numbers = verdicts[both].astype(float)
        bias = two_raters.bias(numbers, average)
        limits = two_raters.bland_altman(numbers, average)
        if view.run is not None:
            turns = dict(view.run.index.select("id", "turns").iter_rows())
            lengths = [turns[name] for name in grid.transcripts[both]]
            length = two_raters.correlation(numbers - average, lengths, kind="spearman")
    passes = int(judgements["replicate"].max() or 0) + 1  # type: ignore[arg-type]
    stands_in, verdict = _verdict(alternative, int(both.sum()))
    return Validation(
        facts=view.facts(metric),
        rater=judge,
        mean=by_kind.get("mean"),
        consensus=by_kind.get("consensus"),
        people=by_kind.get("people"),
        ceiling=by_kind.get("ceiling"),
        alternative=alternative,
        passes=passes,
        self_agreement=self_agreement(judgements, view, metric, seed) if passes > 1 else None,
        bias=bias,
        limits=limits,
        length=length,
        rated=int((verdicts != None).sum()),  # noqa: E711
        with_people=int(both.sum()),
        failures=judgements["error"].len() - judgements["error"].null_count(),
        stands_in=stands_in,
        verdict=verdict,
    )


def self_agreement(judgements: pl.DataFrame, view: RatingsView, metric: str, seed: int) -> Result:
    """Alpha of the passes as if each were a rater.

    Args:
        judgements: one rater's ratings of the metric.
    """
    from bedside.stats import reliability

    labels = bool(judgements["label"].is_not_null().any())
    wide = judgements.pivot(
        "replicate", index=["transcript_id", "unit"], values="label" if labels else "value"
    )
    cells = np.array(wide.drop("transcript_id", "unit").rows(), dtype=object)
    scale = view.scales.get(metric)
    level: Any = "nominal" if labels else "ordinal" if scale is not None else "interval"
    members = wide["transcript_id"].to_numpy()
    nested = 1 < len(set(members)) < len(members)
    return reliability.krippendorff_alpha(
        cells,
        metric=level,
        scale=scale.levels if scale else None,
        clusters=members if nested else None,
        seed=seed,
    )


def _verdict(alternative: AlternativeAnnotator | None, units: int) -> tuple[bool | None, str]:
    if alternative is None:
        return None, "can't be said: fewer than two people rated"
    if units < FEWEST_UNITS:
        return None, f"can't be said: {units} units, fewer than {FEWEST_UNITS}"
    if alternative.replaceable is None:
        return None, f"can't be said: {alternative.missing}"
    if alternative.replaceable:
        return True, "may stand in for one of these people"
    return False, "not shown to be as good as one of these people"


def _card(view: RatingsView, judge: str, validations: Sequence[Validation]) -> tuple[tuple[str, str], ...]:
    """What is known of a judge: its kind, date, model, prompts, passes and failures."""
    unknown = "not recorded"
    scoring: Mapping[str, Any] = {}
    if view.run is not None:
        for entry in view.run.manifest["scorings"]:
            if judge in entry["raters"]:
                scoring = entry
    rated = sum(validation.rated for validation in validations)
    with_people = sum(validation.with_people for validation in validations)
    failures = sum(validation.failures for validation in validations)
    share = f"{100 * with_people / rated:.0f} %" if rated else "none"
    kind = "language-model judge" if is_judge(judge) else "algorithm" if is_algorithm(judge) else unknown
    facts = [
        ("Rater", judge),
        ("Kind", kind),
        ("Date", str(scoring.get("date", unknown))),
        ("bedside", str(scoring.get("bedside", unknown))),
    ]
    if is_judge(judge):
        settings = scoring.get("judges", {}).get(judge, {})
        facts += [
            ("Model", str(settings.get("model", unknown))),
            ("Temperature", str(settings.get("temperature", unknown))),
        ]
        prompts = settings.get("prompts", {})
        metrics = [validation.metric for validation in validations]
        versions = [f"{metric} {prompts[metric]}" for metric in metrics if metric in prompts]
        facts.append(("Rubric versions", ", ".join(versions) or unknown))
    return (
        *facts,
        ("Passes", str(max(validation.passes for validation in validations))),
        ("Ratings given", f"{rated:,}"),
        ("Failures", f"{failures:,}"),
        ("Checked against people", f"{with_people:,} ratings ({share} of those given)"),
        ("Position probe", "none in this run"),
    )
