"""A cascade: a cheap judge, a stronger one where it is unsure, then people; fitted on units that people rated."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from bedside.analysis.findings import Finding, FindingKind, MeasureFinding
from bedside.analysis.judge_accuracy import EXPECTED
from bedside.analysis.metric_facts import MetricRatings, facts
from bedside.analysis.plan_draws import ROUTES_KEY
from bedside.analysis.ratings_view import RatingsView
from bedside.core.errors import DataError, InputError, one_of
from bedside.core.files import read_sealed, write_sealed
from bedside.core.json_shape import INTEGER, NUMBER, TEXT, ObjectOf, OrNull
from bedside.judges.call_plan import RubricPlan
from bedside.judges.llm.protocol import Client
from bedside.judges.llm.spending import CostLimit
from bedside.judges.rubrics.rubric import Rubric
from bedside.judges.rubrics.rubric_files import own_rubrics
from bedside.judges.settings import JudgeSettings, settings_before
from bedside.judges.store import read_judgements
from bedside.ratings.juries import Jury, JuryMetric, cascade_routes, juries_in, sure_answers
from bedside.ratings.learnt_units import unit_digests
from bedside.ratings.names import judge_model, rated_by_humans
from bedside.ratings.run import Run
from bedside.ratings.table import SCHEMA
from bedside.scoring.judging_orders import STORE, JudgingWork, rubrics_of
from bedside.scoring.preview import preview_judging
from bedside.scoring.run_judging import JudgingWatch, judge_run
from bedside.stats.arrays import Array
from bedside.stats.selective import JudgeStage, escalation
from bedside.transcripts.transcript import Transcript
from bedside.tuning.jury_making import add_jury, levels_of, members_of, shared_metrics
from bedside.tuning.label_split import LabelledUnit, case_count, labelled_units

# -- Judges in turn, as a file keeps them ---------------------------------------------------------------

_FORMAT = 1
_SHAPE = {
    "format": INTEGER, "name": TEXT,
    "judges": [{"rater": TEXT, "model": TEXT, "passes": INTEGER, "asked": {}}],
    "terms": {"disagreement": NUMBER, "confidence": NUMBER, "within": NUMBER},
    "metrics": ObjectOf({"levels": [NUMBER], "thresholds": [OrNull(NUMBER)], "learnt_from": [TEXT]}),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class CascadeJudge:
    """A judge of a cascade, which is asked as it was where the cascade was fitted.

    Attributes:
        rater: its name in the ratings table.
        model: what it is asked as.
        passes: how often it is asked.
        asked: other settings that its answers hang on, such as the temperature, which how sure it is rests on; and
            whether it is asked for the expected level.
    """

    rater: str
    model: str
    passes: int
    asked: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CascadeMetric:
    """A metric of a cascade: its levels, each judge's threshold, and digests of what these were learnt from."""

    levels: tuple[float, ...]
    thresholds: tuple[float | None, ...]
    learnt_from: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CascadeTerms:
    """The share of disagreement tolerated, with which confidence, and how far off still counts as agreement."""

    disagreement: float
    confidence: float
    within: float


@dataclass(frozen=True, slots=True)
class Cascade:
    """Judges asked in turn, the cheapest first, and how sure each must be; ``name`` is its jury's."""

    name: str
    judges: tuple[CascadeJudge, ...]
    terms: CascadeTerms
    metrics: Mapping[str, CascadeMetric]

    def jury(self) -> Jury:
        """The jury that rates as it says."""
        equal = (1 / len(self.judges),) * len(self.judges)
        how = {
            metric: JuryMetric(own.levels, equal, {"thresholds": list(own.thresholds)})
            for metric, own in self.metrics.items()
        }
        members = tuple(judge.rater for judge in self.judges)
        return Jury(name=self.name, members=members, rule="cascade", quorum=1, metrics=how)


def write_cascade(cascade: Cascade, path: str | os.PathLike[str]) -> None:
    """Keep a cascade as a JSON file."""
    write_sealed(Path(path), {"format": _FORMAT, **asdict(cascade)})


def read_cascade(path: str | os.PathLike[str]) -> Cascade:
    """A cascade from its file.

    Raises:
        InputError: there is none, or it is no cascade's.
    """
    todo = "make one with bedside judge cascade RUN"
    data = read_sealed(path, "cascade", _SHAPE, kind=InputError, todo=todo, version=_FORMAT)
    judges = tuple(CascadeJudge(**own) for own in data["judges"])
    metrics = {
        metric: CascadeMetric(tuple(map(float, own["levels"])), tuple(own["thresholds"]), tuple(own["learnt_from"]))
        for metric, own in data["metrics"].items()
    }
    whole = len(judges) > 1 and all(len(own.thresholds) == len(judges) for own in metrics.values())
    if not whole:
        raise InputError("the file is no cascade", where=str(path), todo=todo)
    for metric, kept in metrics.items():
        if set(kept.thresholds) == {None}:
            raise InputError(f"no judge can be left alone on {metric}, and asking any is for nothing", where=str(path),
                             todo="fit it with more labels, or with more disagreement tolerated")  # fmt: skip
    return Cascade(data["name"], judges, CascadeTerms(**data["terms"]), metrics)


# -- Fitting it on what people rated --------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class CascadeStage:
    """A judge of a cascade, what it settles, and what it costs a unit in US dollars; None where that isn't known."""

    judge: str
    settled: JudgeStage
    cost: float | None

    @property
    def asked(self) -> float:
        """The share of units that it is asked about: none where it can't be left alone with any."""
        return 0.0 if self.settled.threshold is None else self.settled.asked


@dataclass(frozen=True, slots=True)
class CascadeFit(MetricRatings):
    """A cascade on one metric.

    Attributes:
        facts: the metric.
        stages: judge by judge.
        units, cases: on how many labelled ones it rests.
        terms: what is tolerated, and with which confidence.
        learnt_from: digests of what it learnt from.
    """

    stages: tuple[CascadeStage, ...]
    units: int
    cases: int
    terms: CascadeTerms
    learnt_from: tuple[str, ...]

    @property
    def settles(self) -> bool:
        """Whether any judge can be left alone."""
        return any(stage.settled.threshold is not None for stage in self.stages)

    @property
    def to_people(self) -> float:
        """The share of units that no judge settles."""
        return max(0.0, 1 - sum(stage.settled.share for stage in self.stages))

    @property
    def cost_share(self) -> float | None:
        """What the judges cost, as a share of asking the last one everything; None where costs aren't known."""
        costs = [stage.asked * stage.cost for stage in self.stages if stage.cost is not None]
        last = self.stages[-1].cost
        return sum(costs) / last if last and len(costs) == len(self.stages) else None


def fit_cascade(
    view: RatingsView, name: str, judges: Sequence[str], terms: CascadeTerms, *, metrics: Sequence[str] | None = None
) -> tuple[Cascade, tuple[CascadeFit, ...]]:
    """The thresholds of judges in turn, on units that people rated; the cascade has the metrics that any can settle.

    Args:
        view: the ratings of a run; all judges rated what people rated.
        name: the cascade's.
        judges: the cheapest first, two or more.
        terms: as for :func:`~bedside.stats.selective.escalation`; ``within`` is in the metric's unit.
        metrics: metrics or patterns; all that all judges and people rated unless named.

    Raises:
        DataError: too little was rated, or a judge doesn't tell how sure it is.
    """
    raters = members_of(view, judges)
    by_people = set(view.ratings.filter(rated_by_humans())["metric"])
    names = [metric for metric in shared_metrics(view, raters, metrics) if metrics is not None or metric in by_people]
    if not names:
        raise DataError("people rated nothing that the judges rated", where=view.name, todo="import their ratings")
    asked = tuple(_asked_as(view, rater, names) for rater in raters)
    fits = tuple(_fit(view, metric, asked, terms) for metric in names)
    fitted = {
        fit.metric: CascadeMetric(
            levels_of(view, fit.metric), tuple(stage.settled.threshold for stage in fit.stages), fit.learnt_from
        )
        for fit in fits
        if fit.settles
    }
    return Cascade(name, asked, terms, fitted), fits


def _asked_as(view: RatingsView, rater: str, metrics: Sequence[str]) -> CascadeJudge:
    own = view.ratings.filter(pl.col("rater") == rater)
    passes = own.filter(pl.col("metric").is_in(metrics))["replicate"].to_list()
    expected = not {metric + EXPECTED for metric in metrics}.isdisjoint(own["metric"])
    entries = [] if view.run is None else [entry.get("judges", {}) for entry in view.run.manifest["scorings"]]
    how: Mapping[str, Any] = next((entry[rater] for entry in reversed(entries) if rater in entry), {})
    model, often = how.get("model", judge_model(rater)), max(passes, default=0) + 1
    return CascadeJudge(rater, model, often, {**settings_before(how), "expected": expected})


def _fit(view: RatingsView, metric: str, judges: tuple[CascadeJudge, ...], terms: CascadeTerms) -> CascadeFit:
    labelled, chances, _ = labelled_units(view, metric)
    levels = levels_of(view, metric)
    answers = sure_answers(view.ratings.lazy(), metric, [judge.rater for judge in judges], levels)
    units = [
        unit
        for unit in labelled
        if unit.consensus is not None and all(unit.key in own and not own[unit.key].waits for own in answers)
    ]
    if not units:
        raise DataError(f"no unit was rated by {metric} by all judges and people", where=view.name)
    for judge, own in zip(judges, answers, strict=True):
        if all(own[unit.key].sureness is None for unit in units):
            raise DataError(
                f"{judge.rater} does not tell how sure it is of {metric}: it gave one pass and no expected level",
                where=view.name,
                todo="have it rate with `passes=5`, or with `expected=True` where it gives probabilities",
            )
    stages = escalation(
        [_numbers([own[unit.key].sureness for unit in units]) for own in answers],
        [_numbers([_is_wrong(own[unit.key].answer, unit, terms.within) for unit in units]) for own in answers],
        tolerated=terms.disagreement,
        confidence=terms.confidence,
        clusters=[unit.case for unit in units] if case_count(units) < len(units) else None,
        weights=[unit.weight for unit in units] if chances == "unequal" else None,
    )
    costs = _costs(view, metric, judges)
    return CascadeFit(
        view.facts(metric),
        tuple(map(CascadeStage, (judge.rater for judge in judges), stages, costs)),
        len(units), case_count(units), terms, tuple(unit_digests((unit.transcript, unit.case_id) for unit in units)),
    )  # fmt: skip


def _numbers(values: Sequence[Any]) -> Array:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def _is_wrong(answer: float | str | None, unit: LabelledUnit, within: float) -> bool | None:
    """Whether people disagree, None without an answer; either of two levels between which they are split is right."""
    if answer is None:
        return None
    together = unit.consensus
    if isinstance(answer, str) or isinstance(together, str) or together is None:
        return answer != together
    levels = sorted(float(level) for level in unit.ratings.values())
    middle = {levels[(len(levels) - 1) // 2], levels[len(levels) // 2]}
    # What was settled between them by another rating stands for itself.
    right = middle if sum(middle) / len(middle) == together else {together}
    return min(abs(answer - level) for level in right) > within + 1e-9


def _costs(view: RatingsView, metric: str, judges: Sequence[CascadeJudge]) -> list[float | None]:
    """What each judge took for a unit, all its passes together, as the run keeps it."""
    by_model: dict[str, list[float]] = {}
    for judgement in () if view.run is None else read_judgements(view.run.path / STORE):
        if judgement.rubric == metric and judgement.cost is not None:
            by_model.setdefault(judgement.model, []).append(judgement.cost)
    means = {model: sum(costs) / len(costs) for model, costs in by_model.items()}
    known = [(judge.passes, means.get(judge_model(judge.rater))) for judge in judges]
    return [None if mean is None else passes * mean for passes, mean in known]


def cascade_findings(fits: Iterable[CascadeFit]) -> tuple[Finding, ...]:
    """What a cascade settles on each metric, judge by judge; the last measure is what is left to people."""
    findings = []
    for fit in fits:
        title = fit.facts.title
        measures = [
            MeasureFinding(fit.metric, title, stage.settled.share, high=stage.settled.bound, n=fit.units,
                           raters=stage.judge, limit=stage.asked)
            for stage in fit.stages
        ]  # fmt: skip
        people = MeasureFinding(fit.metric, title, fit.to_people, n=fit.units, limit=fit.cost_share)
        kind: FindingKind = "settles" if fit.settles else "settles nothing"
        findings.append(Finding(kind, measures=(*measures, people), of=fit.cases))
    return tuple(findings)


# -- Judging by it: each judge is asked where those before it are unsure --------------------------------


@dataclass(frozen=True, slots=True)
class RoutedJudge:
    """A judge of a cascade: units that it was, or is to be, asked about, those it settled, and the requests sent to it,
    over all metrics."""

    judge: str
    asked: int
    settled: int
    calls: int


@dataclass(frozen=True, slots=True)
class Routed(MetricRatings):
    """What became of a run's units in a cascade, on one metric.

    Attributes:
        facts, jury: the metric, and the cascade.
        judges: judge by judge.
        units: all units; of them ``people`` are left to people, and ``waiting`` wait for a judge's answer.
    """

    jury: Jury
    judges: tuple[RoutedJudge, ...]
    units: int
    people: int
    waiting: int


def route_run(
    run: Run,
    cascade: Cascade,
    *,
    settings: JudgeSettings | None = None,
    folder: str | os.PathLike[str] | None = None,
    progress: JudgingWatch | None = None,
    clients: Mapping[str, Callable[[], Client]] | None = None,
) -> tuple[Routed, ...]:
    """Have a cascade rate a run.

    Args:
        run: the run; it keeps the text of its transcripts.
        cascade: the cascade.
        settings: limits, of all judges together; what a judge is asked with is the cascade's.
        folder: of the user's own rubrics.
        progress: called with the judge and how far it is.
        clients: opens what is asked in place of a judge's model, by its name here.

    Raises:
        BedsideError: a rubric that is none, or a judge that can't be asked.
    """
    jury, calls, limits = cascade.jury(), [], settings or JudgeSettings()
    budget = CostLimit(limits.max_cost)
    rubrics = rubrics_of(list(cascade.metrics), run, folder=folder)
    for place, judge in enumerate(cascade.judges):
        how, client, sent = _settings_of(judge, limits), (clients or {}).get(judge.model), 0
        for transcripts, work in _work(run, jury, rubrics, place):
            (summary,) = judge_run(
                run, transcripts, [judge.model], work, settings=how, progress=progress, client=client, budget=budget
            )
            if summary.rater != judge.rater:
                raise InputError(
                    f"asked so, the judge is {summary.rater}, and the cascade was fitted to {judge.rater}",
                    where="`cascade`",
                    todo="fit it to the judge as it is asked here",
                )
            sent += summary.calls
        calls.append(sent)
    with run.locked():
        add_jury(run, jury, {metric: own.learnt_from for metric, own in cascade.metrics.items()})
    return tuple(_routed(run, jury, metric, calls) for metric in cascade.metrics)


def preview_routes(
    run: Run, cascade: Cascade, *, settings: JudgeSettings | None = None, folder: str | os.PathLike[str] | None = None
) -> tuple[RubricPlan, ...]:
    """What :func:`route_run` would send at most; nothing is sent or written."""
    jury, rubrics = cascade.jury(), rubrics_of(list(cascade.metrics), run, folder=folder)
    plans: list[RubricPlan] = []
    for place, judge in enumerate(cascade.judges):
        for transcripts, work in _work(run, jury, rubrics, place, at_most=True):
            how = _settings_of(judge, settings or JudgeSettings())
            plans += preview_judging(run.path, transcripts, [judge.model], work, settings=how)
    return tuple(plans)


def _settings_of(judge: CascadeJudge, limits: JudgeSettings) -> JudgeSettings:
    return replace(limits, passes=judge.passes, **judge.asked)


def _work(
    run: Run, jury: Jury, rubrics: Iterable[Rubric], place: int, *, at_most: bool = False
) -> list[tuple[list[Transcript] | None, JudgingWork]]:
    """What a judge is asked, and about which transcripts: those with a unit that no judge before it settles, or with
    ``at_most`` that none has settled yet; None for all. One that can't be left alone is asked nothing."""
    work: list[tuple[list[Transcript] | None, JudgingWork]] = []
    first = []
    for rubric in rubrics:
        thresholds = jury.metrics[rubric.name].model["thresholds"]
        if thresholds[place] is None:
            continue
        if set(thresholds[:place]) <= {None}:
            first.append(rubric)
            continue
        routes = cascade_routes(run.scan(), jury, rubric.name)
        names = {name for (name, _), route in routes.items() if route.place >= place}
        if at_most:
            answered = {name for (name, _), route in routes.items() if not route.waits}
            names |= {*run.index["id"]} - answered
        if names:
            work.append((list(run.transcripts_named(names)), JudgingWork((rubric,))))
    return [(None, JudgingWork(tuple(first))), *work] if first else work


def _routed(run: Run, jury: Jury, metric: str, calls: Sequence[int]) -> Routed:
    routes = cascade_routes(run.scan(), jury, metric).values()
    counts = Counter(route.place for route in routes if not route.waits)
    left, judges = len(routes), []
    for place, (judge, sent) in enumerate(zip(jury.members, calls, strict=True)):
        alone = jury.metrics[metric].model["thresholds"][place] is not None
        judges.append(RoutedJudge(judge, left if alone else 0, counts[place], sent))
        left -= counts[place]
    people = counts[len(jury.members)]
    return Routed(facts(metric, own_rubrics(run)), jury, tuple(judges), len(routes), people, left - people)


def routed_findings(routed: Iterable[Routed]) -> tuple[Finding, ...]:
    """What became of a run's units in a cascade; the last measure is what is left to people."""
    findings = []
    for own in routed:
        counts = [*((judge.judge, judge.settled) for judge in own.judges), ("", own.people)]
        measures = (MeasureFinding(own.metric, own.facts.title, n=n, of=own.units, raters=who) for who, n in counts)
        findings.append(Finding("routed", measures=tuple(measures), of=own.waiting))
    return tuple(findings)


# -- What it leaves to people, as the strata of a plan: all of it is drawn, and a share of the rest -----


def keep_routes(run: Run, name: str, rubrics: Sequence[Rubric]) -> str:
    """Keep in a run which transcripts a cascade leaves to people now; the factor that says so.

    A transcript is left to people where one of its units is, by one of the rubrics.

    Args:
        run: the run.
        name: the cascade's.
        rubrics: by which people are to rate.

    Raises:
        DataError: there is no such cascade, it rates by none of the rubrics, or its judges haven't rated everything.
    """
    cascades = {jury.name: jury for jury in juries_in(run.manifest) if jury.rule == "cascade"}
    one_of(name, cascades, "cascade", DataError, where="`cascade`", todo="rate by one with bedside judge route")
    jury = cascades[name]
    metrics = [rubric.name for rubric in rubrics if rubric.name in jury.metrics]
    if not metrics:
        raise DataError(
            f"the cascade {name} rates by {', '.join(jury.metrics)} alone", where="`cascade`", todo="name `rubrics`"
        )
    left = set()
    for metric in metrics:
        for (transcript, _), route in cascade_routes(run.scan(), jury, metric).items():
            if route.waits:
                raise DataError(
                    f"{jury.members[route.place]} has not rated all that it is asked by {metric}",
                    where="`cascade`",
                    todo="finish it with bedside judge route",
                )
            if route.place == len(jury.members):
                left.add(transcript)
    with run.locked():
        routes = run.manifest.get(ROUTES_KEY) or {}
        # The same name for the same transcripts, so that an earlier plan keeps its own.
        stem = f"route of {jury.rater}"
        factor, number = stem, 2
        while factor in routes and set(routes[factor]) != left:
            factor, number = f"{stem} ({number})", number + 1
        run.add(pl.LazyFrame(schema=SCHEMA), {**run.manifest, ROUTES_KEY: {**routes, factor: sorted(left)}})
    return factor
