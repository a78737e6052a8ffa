"""The questions put to ratings, each answered with tables: what the commands of the same names print.

Every function takes a run (the object or its folder), a plain file of ratings (CSV, TSV, XLSX, Parquet), or a pandas or
Polars data frame of the same columns as such a file, or a :class:`View`; a part of a run's own ``ratings`` is a data
frame, too. Where several names can be given, a lone string is one name.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from bedside.analysis.choices import (
    AlphaMetric,
    Alternative,
    ChangeOf,
    Correction,
    CorrectionFamily,
    EstimateAbout,
    EstimateMethod,
    IccForm,
    Test,
    Weights,
)
from bedside.api.chosen_ratings import (
    ALL_METRICS,
    GROUPS,
    RATERS,
    SYSTEMS,
    Chosen,
    Matched,
    RatingsPart,
    View,
    Within,
    groups_under,
    read_source,
    view_of,
    was_read,
    within_of,
)
from bedside.core.errors import DataError, InputError
from bedside.core.question_settings import HOW, OPTIONS, WHICH, Seeded, option, question, question_alone, settings_class
from bedside.core.words import Names, listed
from bedside.ratings.names import JUDGES, is_judge, rated_by_humans
from bedside.ratings.rating_reading import FileReading
from bedside.reports.table import Tables

if TYPE_CHECKING:
    from bedside.analysis.agreement import Agreement
    from bedside.analysis.comparison import Comparisons
    from bedside.analysis.deviation import Deviation
    from bedside.analysis.drift import Drift
    from bedside.analysis.estimation import Estimate
    from bedside.analysis.findings import Finding, LookKind
    from bedside.analysis.gate import Gate
    from bedside.analysis.ratings_view import RatingSource, RatingsView
    from bedside.analysis.study_size import DifferenceSizes, Goal, KappaSizes, RaterPlan
    from bedside.analysis.trend import Trend
    from bedside.analysis.validation import JudgeCard
    from bedside.annotation.plan_progress import StudyProgress
    from bedside.reports.explanation import Explanation
    from bedside.reports.figures import Drawing
    from bedside.reports.preference_tables import PreferenceAnswer
    from bedside.stats.sample_size import SampleSize

#: How long intervals hold without and with ``looks``.
_LOOKS: tuple[LookKind, LookKind] = ("one look", "every look")
#: Headings of what belongs to one of the questions that ``bedside compare`` answers.
TWO_BY_TWO, OVER_LENGTH, OVER_MESSAGES = "Systems two by two", "With --over length", "With --over messages"
_RATINGS = "A run (the object or its folder), a file of ratings, a pandas or Polars data frame of them, or a View."

_WEIGHTS: Any = option(
    "Weights of kappa on ordered scales: quadratic, linear or none. Without it, quadratic.",
    default=None, heading=HOW, metavar="NAME",
)  # fmt: skip


def _names(settings: Any, *fields: str) -> dict[str, Any]:
    """What is named in these fields, where a lone text is one name."""
    return {field: listed(getattr(settings, field), field) for field in fields}


# -- Do raters agree? -----------------------------------------------------------------------------------


@settings_class
class AgreeSettings(RatingsPart, Within, Seeded):
    """Show how well raters agree.

    It shows how well people agree among themselves, and beside them each algorithm or judge that rated the same things.
    Where people audited a judge, how often they confirm it stands in a table of its own.

    Examples:
        $ bedside agree run
        $ bedside agree run --metrics empathy,partnership --confusion
        $ bedside agree stars.csv --scale 1-5 --icc 2,k
    """

    metrics: Names | None = ALL_METRICS
    raters: Names | None = RATERS
    weights: Weights | None = _WEIGHTS
    alpha: AlphaMetric | None = option(
        "How Krippendorff's alpha takes two answers that differ: nominal, ordinal or interval. Without it, as the "
        "scale has it; labels without an order are nominal.",
        default=None, heading=HOW, metavar="NAME",
    )  # fmt: skip
    icc: IccForm = option(
        "Form of the intraclass correlation. It begins with 1 where every unit has raters of its own, with 2 where the "
        "raters stand for others like them, with 3 where these raters are all there are. It ends in 1 for the ratings "
        "of one rater, in k for the mean of all.",
        default="2,1", heading=HOW, metavar="FORM",
    )  # fmt: skip
    confusion: bool = option(
        "Show, for each pair of raters, how often one gave what the other gave.", default=False, heading=HOW
    )


@question(AgreeSettings, _RATINGS)
def agree(source: RatingSource | View, settings: AgreeSettings) -> Tables[tuple[Agreement, ...]]:
    """Raises:
    BedsideError: an unknown name, or nothing that two raters rated.
    """
    from bedside.analysis.agreement import agree as run_agree
    from bedside.reports.levels import answered
    from bedside.reports.tables.agreement import agreement_tables

    names, raters = listed(settings.metrics, "metrics"), listed(settings.raters, "raters")

    def answer(view: RatingsView) -> Tables[tuple[Agreement, ...]]:
        def compute(metrics: Sequence[str] | None) -> tuple[Agreement, ...]:
            return run_agree(
                view, metrics=metrics, raters=raters, weights=settings.weights, alpha=settings.alpha, icc=settings.icc,
                seed=settings.seed,
            )  # fmt: skip

        tables = agreement_tables(
            view, compute, metrics=names, raters=raters, confusion=settings.confusion, seed=settings.seed
        )
        return Tables(tables, tables.results, findings=_with_look(tables.findings, study))

    view = view_of(source, settings)
    view, study = _study(view, names)
    return answered(view, within_of(source, settings), answer)


@settings_class
class ValidateSettings(RatingsPart, Within, Seeded):
    """Answer "may this judge stand in for people?".

    It is about what people decide: each level, or each cut of an ordered scale. The judge must be shown to find it, and
    to clear the rest, no worse than one person by the margin. It shows, too, its agreement with people beside people's
    own, the alternative annotator test by case, its bias, and whether the levels that it expects come true.
    """

    judges: Names | None = option(
        "Raters to check, such as judge:* or an algorithm; without it, all raters that are not people.",
        "--judges", "--judge", default=None, heading=WHICH, metavar="A,B*", form="names", offers="raters",
    )  # fmt: skip
    metrics: Names | None = ALL_METRICS
    epsilon: float = option(
        "How much worse than a person the judge may be, in return for what it saves: .2 where the people are experts, "
        ".15 where they are skilled, .1 where they are crowd workers.",
        default=0.2, heading=HOW, metavar="NUMBER",
    )  # fmt: skip
    loss: Mapping[str, str] | None = option(
        "What errors cost, such as miss=10,false_alarm=1: then the judge's loss must be no worse, too.",
        default=None, heading=HOW, metavar="miss=NUMBER,…", form="pairs",
    )  # fmt: skip
    weights: Weights | None = _WEIGHTS
    made_by: Mapping[str, str] | None = option(
        "Models that made the systems' conversations, such as A=openai/gpt-5-mini, where the run doesn't know it: a "
        "judge's levels of its own model's conversations are set against people's.",
        default=None, heading=HOW, metavar="SYSTEM=MODEL,…", form="pairs",
    )  # fmt: skip


@question(ValidateSettings, _RATINGS)
def validate(source: RatingSource | View, settings: ValidateSettings) -> Tables[tuple[JudgeCard, ...]]:
    """Raises:
    BedsideError: an unknown name, or nothing that a judge and people rated.
    """
    from bedside.analysis.findings import validation_findings
    from bedside.analysis.validation import costs_of, validate as run_validate
    from bedside.reports.levels import answered
    from bedside.reports.validation import validation_tables

    view, metrics = view_of(source, settings), listed(settings.metrics, "metrics")
    view, study = _study(view, metrics)

    def answer(view: RatingsView) -> Tables[tuple[JudgeCard, ...]]:
        cards = run_validate(
            view,
            judges=listed(settings.judges, "judges"),
            metrics=metrics,
            epsilon=settings.epsilon,
            costs=costs_of(settings.loss),
            weights=settings.weights,
            made_by=settings.made_by,
            seed=settings.seed,
        )
        return Tables(validation_tables(cards, view), cards, findings=_with_look(validation_findings(cards), study))

    return answered(view, within_of(source, settings), answer)


def _study(view: RatingsView, metrics: Sequence[str] | None) -> tuple[RatingsView, StudyProgress | None]:
    """The ratings, without those of items that lacked some when a study ended at its targets; and how far people are
    who rate metrics of a run by a plan: None of ratings that are no run's, or without a plan."""
    if view.run is None or not (view.run.path / "annotations").is_dir():
        return view, None
    import polars as pl

    from bedside.annotation.plan_progress import study_progress

    rated = view.ratings.filter(rated_by_humans(), pl.col("metric").is_in(view.metrics(metrics)))
    study = study_progress(view.run, rated["round"].unique().to_list())
    if study.half:
        half = ["\n".join(place) for place in study.half]
        keys = [pl.concat_str(*names, separator="\n").is_in(half).fill_null(False)
                for names in (("round", "transcript_id"), ("round", "transcript_id", "unit"))]  # fmt: skip
        view = replace(view, ratings=view.ratings.filter(~(rated_by_humans() & (keys[0] | keys[1]))))
    return view, study


def _with_look(
    findings: tuple[Finding, ...], study: StudyProgress | None, kind: LookKind = "a look", waiting: int = 0
) -> tuple[Finding, ...]:
    """The findings, and that the study runs while planned answers are open; at every look, whom it is about."""
    from bedside.analysis.findings import with_look

    if study and study.enough and not study.open:
        findings = with_look(findings, *study.enough, "enough")
    if study and study.open:
        return with_look(findings, study.rated, study.planned, kind, waiting)
    return with_look(findings, 0, None, kind, waiting) if kind == "every look" else findings


def _looked_at(
    view: RatingsView, settings: EstimateSettings | CompareSettings
) -> tuple[RatingsView, StudyProgress | None, frozenset[str] | None, int]:
    """The ratings; how far people are; for intervals that hold at every look, where those are asked for, the
    transcripts that people are to rate; and how many of these wait for another rater and are left out."""
    from bedside.analysis.averaging import settled_ratings

    metrics = listed(settings.metrics, "metrics")
    view, study = _study(view, metrics)
    if not settings.looks:
        return view, study, None, 0
    unfinished = study.unfinished if study and study.planned else None
    view, waiting = settled_ratings(view, view.metrics(metrics), unfinished)
    return view, study, study.transcripts if study else frozenset(), waiting


@settings_class
class EstimateSettings(Matched, Within):
    """Correct a judge's means by what people rated.

    It shows each system's mean from the judge on all transcripts, from people on their sample, and from both together,
    by prediction-powered inference. What people rated is weighted as the plan drew it.

    Examples:
        $ bedside estimate run
        $ bedside estimate run --judge judge:openai/gpt-5-mini --metrics empathy
        $ bedside estimate run --about run
    """

    judge: str = option(
        "The rater that rated everything: its name, or a pattern that fits no other rater.",
        default=JUDGES, heading=WHICH, metavar="RATER", offers="raters",
    )  # fmt: skip
    people: Names | None = option(
        "People whose ratings count, such as human:anna. Without it, all of them.",
        default=None, heading=WHICH, metavar="A,B*", form="names", offers="raters",
    )  # fmt: skip
    systems: Names | None = SYSTEMS
    metrics: Names | None = ALL_METRICS
    about: EstimateAbout = option(
        "What the means are about: cases like these, in the run's mix (cases), as a paper's claims are; or this run's "
        "transcripts alone (run), of which those that people rated are known.",
        default="cases", heading=HOW, metavar="NAME",
    )  # fmt: skip
    method: EstimateMethod = option(
        "How they are corrected: prediction-powered; or rogan-gladen, for metrics of zeros and ones.",
        default="prediction-powered", heading=HOW, metavar="NAME",
    )  # fmt: skip
    looks: bool = option(
        "Intervals that hold at every look while people still rate (confidence sequences).", default=False, heading=HOW
    )


@question(EstimateSettings, _RATINGS)
def estimate(source: RatingSource | View, settings: EstimateSettings) -> Tables[tuple[Estimate, ...]]:
    """Raises:
    BedsideError: an unknown name, no such judge, or nothing that it and people rated.
    """
    from bedside.analysis.estimation import estimate as run_estimate
    from bedside.analysis.findings import estimate_findings
    from bedside.reports.estimation import estimate_table
    from bedside.reports.levels import answered

    view = view_of(source, settings)
    if settings.judge == JUDGES and not any(map(is_judge, view.raters())):
        raise DataError(
            "no judge has rated it",
            where=view.name,
            todo="score it with a judge first, or name another rater with `judge`, such as an algorithm",
        )

    view, study, looks, waiting = _looked_at(view, settings)

    def answer(view: RatingsView) -> Tables[tuple[Estimate, ...]]:
        estimates = run_estimate(
            view,
            judge=settings.judge,
            **_names(settings, "people", "systems", "metrics"),
            about=settings.about,
            method=settings.method,
            looks=looks,
        )
        findings = _with_look(estimate_findings(estimates), study, _LOOKS[settings.looks], waiting)
        return Tables([estimate_table(estimates)], estimates, findings=findings)

    return answered(view, within_of(source, settings), answer)


# -- Which system is better? ----------------------------------------------------------------------------


@settings_class
class CompareSettings(Matched, Within, Chosen, Seeded):
    """Compare systems pair by pair.

    Each case counts once: its transcripts, passes and raters are averaged first. The answer has means, a test with its
    estimate and interval, and the effect; values are paired where both systems have the case.

    Examples:
        $ bedside compare run --systems A,B
        $ bedside compare run --groups mi_quality
        $ bedside compare run --reference A --metrics 'empathy,percent_*' --test permutation
        $ bedside compare run --systems new,old --metrics empathy --margin 0.3
        $ bedside compare run --systems new,old --alternative greater --adjusted-intervals
    """

    groups: str | None = groups_under(TWO_BY_TWO)
    reference: str | None = option(
        "Compare each system with this one only.", default=None, heading=TWO_BY_TWO, metavar="SYSTEM",
    )  # fmt: skip
    margin: float | str | Mapping[str, float | str] | None = option(
        "Also say who is alike, or no worse, up to this difference; empathy=0.3 is of one metric.",
        default=None, heading=TWO_BY_TWO, metavar="NUMBER", form="margins",
    )  # fmt: skip
    test: Test = option(
        "permutation, permutation-mid-p, wilcoxon, t, mcnemar, mcnemar-mid-p, friedman (paired); welch-permutation, "
        "mannwhitney, fisher, fisher-mid-p, welch, student, kruskal (unpaired); overlapping (partly); auto: what fits.",
        default="auto", heading=TWO_BY_TWO, metavar="NAME",
    )  # fmt: skip
    alternative: Alternative = option(
        "two-sided, or that the first of a pair is greater or less.",
        default="two-sided", heading=TWO_BY_TWO, metavar="NAME",
    )  # fmt: skip
    family: CorrectionFamily = option(
        "p-values corrected together: all, or of one metric or level.",
        default="all", heading=TWO_BY_TWO, metavar="NAME",
    )  # fmt: skip
    correction: Correction = option(
        "How p-values are corrected: holm, bonferroni or bh.", default="holm", heading=TWO_BY_TWO, metavar="NAME"
    )
    adjusted_intervals: bool = option(
        "Intervals that hold all at once in a family of tests.", default=False, heading=TWO_BY_TWO
    )
    odds_ratios: bool = option(
        "Also odds ratios of a higher level on ordered scales, for raters like these.",
        default=False, heading=TWO_BY_TWO,
    )  # fmt: skip
    looks: bool = option(
        "Differences of means whose intervals and p hold at every look while people still rate.",
        default=False, heading=TWO_BY_TWO,
    )  # fmt: skip


@question(CompareSettings, _RATINGS)
def compare(source: RatingSource | View, settings: CompareSettings) -> Tables[Comparisons]:
    """Raises:
    BedsideError: an unknown name, or no metric that can be compared, with the reason for each.
    """
    from bedside.analysis.comparison import compare as run_compare, nothing_compared, ordered_effects
    from bedside.analysis.findings import comparison_findings, margin_findings
    from bedside.analysis.groups import group_view
    from bedside.analysis.non_inferiority import margins_of, within_margins
    from bedside.analysis.ratings_view import PEOPLE
    from bedside.reports.equivalence import margin_table
    from bedside.reports.levels import answered
    from bedside.reports.table_notes import preferences_apart
    from bedside.reports.tables.comparison import comparison_table, ordered_table, overall_table

    if settings.looks and settings.margin is not None:
        raise InputError("a margin is tested at one look only", where="`margin`", todo="ask without `looks`")
    systems = listed(settings.systems, "systems")
    chosen: dict[str, Any] = {
        "systems": systems if settings.groups is None else None,
        "reference": settings.reference,
        **_names(settings, "metrics", "raters"),
    }

    def answer(view: RatingsView) -> Tables[Comparisons]:
        comparisons = run_compare(
            view,
            **chosen,
            test=settings.test,
            alternative=settings.alternative,
            family=settings.family,
            correction=settings.correction,
            adjusted_intervals=settings.adjusted_intervals,
            looks=looks,
            seed=settings.seed,
        )
        if not comparisons.pairs:
            raise nothing_compared(comparisons, view.name)
        shown = [overall_table(comparisons.overall)] if comparisons.overall else []
        findings, look = comparison_findings(comparisons), _LOOKS[settings.looks]
        if settings.margin is not None:
            tests = within_margins(view, margins_of(settings.margin), **chosen)
            shown.append(margin_table(tests))
            findings, look = margin_findings(tests), "a look"
        if any(pair.raters == PEOPLE for pair in comparisons.pairs):
            findings = _with_look(findings, study, look, waiting)
        if settings.odds_ratios:
            effects = ordered_effects(view, comparisons.pairs, raters=chosen["raters"])
            if not effects:
                raise InputError(
                    "no metric on an ordered scale of three to seven levels was rated more than once a case",
                    where="`odds_ratios`", todo="name the scale with `scale`, or leave it out",
                )  # fmt: skip
            shown.append(ordered_table(effects, view.order))
        pairs = comparison_table(comparisons.pairs, comparisons.left_out, preferences_apart(view), view.order)
        return Tables((*shown, pairs), comparisons, findings=findings)

    view, study, looks, waiting = _looked_at(view_of(source, settings), settings)
    return answered(
        view if settings.groups is None else group_view(view, settings.groups, systems),
        within_of(source, settings),
        answer,
    )


@settings_class
class PreferencesSettings(RatingsPart, Within, Seeded):
    """Show which system is preferred where two conversations were compared.

    The answer has each system's strength and share of wins, systems two by two, whether the one shown first is
    preferred, how judges and people agree on what is better, and whether the levels that they gave say the same. Each
    case counts once. It asks nobody: bedside judge pairs has judges compare.

    Examples:
        $ bedside compare run --preferences
        $ bedside compare run --preferences --rubric empathy --raters 'judge:*' --systems A,B
    """

    rubrics: Names | None = option(
        "Rubrics by which conversations were compared. Without it, all of them.",
        "--rubrics", "--rubric", default=None, heading=WHICH, metavar="A,B*", form="names", offers="rubrics",
    )  # fmt: skip
    systems: Names | None = SYSTEMS
    raters: Names | None = RATERS


@question(PreferencesSettings, _RATINGS)
def preferences(source: RatingSource | View, settings: PreferencesSettings) -> Tables[PreferenceAnswer]:
    """Raises:
    BedsideError: an unknown name, or no two conversations were compared.
    """
    from bedside.analysis.pair_preferences import chosen_preferences
    from bedside.reports.levels import answered
    from bedside.reports.preference_tables import preference_tables

    def answer(view: RatingsView) -> Tables[PreferenceAnswer]:
        chosen = chosen_preferences(view, **_names(settings, "rubrics", "raters", "systems"))
        return preference_tables(chosen, settings.seed)

    return answered(view_of(source, settings), within_of(source, settings), answer)


@settings_class
class GateSettings(Matched):
    """Let a new system pass only if it is shown to be no worse.

    It ends with exit code 0 where the new system is shown to be no worse than the baseline by every margin, and no
    metric of safety fails; else with 1. It is made for continuous integration. With --json it prints an object:
    passed, the error's text if there is one, and the tables.

    Examples:
        $ bedside gate run --baseline A --margin empathy=0.3
        $ bedside gate run --baseline A --system B --margin empathy=0.3 --margin smog=1 --safety leaks=1
    """

    baseline: str = option("The system that the new one is compared with.", heading=WHICH, metavar="SYSTEM")
    margin: Mapping[str, float | str] = option(
        "How much worse the new system may be on a metric, in its unit, such as empathy=0.3. Where bedside doesn't "
        "know which way is better, say it: flags=0.1:lower.",
        heading=HOW, metavar="NAME=NUMBER", form="by_name",
    )  # fmt: skip
    system: str | None = option(
        "The new system. Without it, the only other one.", default=None, heading=WHICH, metavar="SYSTEM"
    )
    groups: str | None = GROUPS
    safety: Mapping[str, float | str] | None = option(
        "A metric of safety, and the level at which a transcript fails, or worse. Rubrics that say fails_at count "
        "without it.",
        default=None, heading=HOW, metavar="NAME=LEVEL", form="by_name",
    )  # fmt: skip
    raters: Names | None = option(
        "Raters whose ratings the margins rest on, such as human:* or judge:*. For safety all count.",
        default=None, heading=WHICH, metavar="A,B*", form="names", offers="raters",
    )  # fmt: skip


@question(GateSettings, _RATINGS)
def gate(source: RatingSource | View, settings: GateSettings) -> Tables[Gate]:
    """Returns:
        The table; ``results.passed`` says whether it may pass.

    Raises:
        BedsideError: an unknown name, a margin or level that can't be read, or a metric of which it isn't known which
            way is better.
    """
    from bedside.analysis.findings import gate_findings
    from bedside.analysis.gate import gate as run_gate
    from bedside.analysis.groups import group_view
    from bedside.analysis.non_inferiority import margins_of
    from bedside.analysis.ratings_view import PEOPLE
    from bedside.reports.equivalence import gate_table
    from bedside.reports.levels import answered

    def answer(view: RatingsView) -> Tables[Gate]:
        result = run_gate(
            view,
            baseline=settings.baseline,
            margins=margins_of(settings.margin),
            system=settings.system,
            safety={name: _level(level) for name, level in (settings.safety or {}).items()},
            raters=listed(settings.raters, "raters"),
        )
        findings = gate_findings(result)
        if any(test.raters == PEOPLE for test in result.margins):
            findings = _with_look(findings, study)
        return Tables([gate_table(result)], result, findings=findings)

    view = view_of(source, settings)
    view, study = _study(view, None)
    return answered(view if settings.groups is None else group_view(view, settings.groups), None, answer)


def _level(level: float | str) -> float:
    try:
        return float(level)
    except ValueError:
        raise InputError(f"{level!r} is no number", where="`safety`", todo="write NAME=LEVEL") from None


@settings_class
class DeviationSettings(Matched, Within):
    """Show how far systems' means lie from those of a reference corpus.

    Examples:
        $ bedside compare run --against annomi-run
        $ bedside compare run --against human --metrics 'percent_*'
    """

    reference: str | os.PathLike[str] = option(
        "The reference corpus: a run, a file of ratings, or one of the run's systems.", heading=WHICH,
        metavar="REFERENCE",
    )  # fmt: skip
    systems: Names | None = SYSTEMS
    metrics: Names | None = ALL_METRICS
    raters: Names | None = RATERS


@question(DeviationSettings, _RATINGS)
def deviation(source: RatingSource | View, settings: DeviationSettings) -> Tables[tuple[Deviation, ...]]:
    """Raises:
    BedsideError: an unknown name, no such run or system, or no metric that both have.
    """
    from bedside.analysis.deviation import deviation as deviations_from
    from bedside.analysis.findings import deviation_findings
    from bedside.analysis.ratings_view import open_ratings_view
    from bedside.ratings.scales import parse_scales
    from bedside.reports.levels import answered
    from bedside.reports.tables.deviation import deviation_table

    path = Path(settings.reference)
    corpus: RatingsView | str = str(settings.reference)
    # What says how a file is read is meant for whichever of the two is a file.
    unread = replace(settings, **{each.name: cast(Any, each.default) for each in fields(FileReading)})
    if path.exists():
        reading = unread if path.is_dir() and not was_read(source) else settings
        corpus = open_ratings_view(read_source(path, reading), scales=parse_scales(listed(settings.scales, "scales")))
    view = view_of(source, unread if path.is_file() and was_read(source) else settings)

    def answer(view: RatingsView) -> Tables[tuple[Deviation, ...]]:
        deviations = deviations_from(view, corpus, **_names(settings, "systems", "metrics", "raters"))
        table = deviation_table(deviations, path.name, view.order)
        return Tables([table], deviations, findings=deviation_findings(deviations, path.name))

    return answered(view, within_of(source, settings), answer)


# -- What changes over a conversation's length? ---------------------------------------------------------


@settings_class
class DriftSettings(RatingsPart, Within, Chosen):
    """Show how metrics change from the shortest to the longest conversations.

    Changes are in per cent of the mean and paired by case, so each case has to be run at both lengths.

    Examples:
        $ bedside compare run --over length
        $ bedside compare run --over length --by target_length --lengths 20,80
    """

    by: str = option(
        "Factor of the transcripts that holds the length.",
        default="target_length", heading=OVER_LENGTH, metavar="FACTOR",
    )  # fmt: skip
    lengths: Sequence[float] | None = option(
        "The two lengths to compare, such as 20,80. Without it, the shortest and the longest.",
        default=None, heading=OVER_LENGTH, metavar="SHORT,LONG", form="numbers",
    )  # fmt: skip
    change: ChangeOf = option(
        "Change of the means, or mean of pairs' changes.", default="means", heading=OVER_LENGTH, metavar="means|pairs"
    )


@question(DriftSettings, _RATINGS)
def drift(source: RatingSource | View, settings: DriftSettings) -> Tables[Drift]:
    """Raises:
    BedsideError: an unknown name, not two lengths, or no case that was run at both.
    """
    from bedside.analysis.drift import drift as changes_by_length
    from bedside.analysis.findings import drift_findings
    from bedside.reports.levels import answered
    from bedside.reports.tables.drift import drift_table

    lengths = None if settings.lengths is None else tuple(settings.lengths)
    if lengths is not None and len(lengths) != 2:
        raise InputError(
            f"{', '.join(f'{length:g}' for length in lengths)} is not two lengths", where="`lengths`",
            todo="give two, such as 20,80",
        )  # fmt: skip

    def answer(view: RatingsView) -> Tables[Drift]:
        changes = changes_by_length(
            view,
            settings.by,
            lengths=lengths,
            change=settings.change,
            **_names(settings, "systems", "metrics", "raters"),
        )
        if not any(metric.change.n + metric.without for metric in changes.changes):
            raise DataError(
                f"no case was run at both lengths, {changes.shortest:g} and {changes.longest:g}",
                where=view.name,
                todo="name two others with `lengths`, or see bedside compare --over messages",
            )
        return Tables([drift_table(changes, view.order)], changes, findings=drift_findings(changes))

    return answered(view_of(source, settings), within_of(source, settings), answer, besides=[settings.by])


@settings_class
class TrendSettings(RatingsPart, Within, Chosen):
    """Show metrics by the number of messages, with a test of the trend.

    Examples:
        $ bedside compare run --over messages
        $ bedside compare run --over messages --edges 10,20,40 --metrics empathy
    """

    edges: Sequence[int] | None = option(
        "Numbers of messages at which a new column begins, such as 10,20,40. Without it, quartiles.",
        default=None, heading=OVER_MESSAGES, metavar="N,N", form="whole_numbers",
    )  # fmt: skip


@question(TrendSettings, _RATINGS)
def trend(source: RatingSource | View, settings: TrendSettings) -> Tables[tuple[Trend, ...]]:
    """Raises:
    BedsideError: an unknown name, or ratings without a metric called turns.
    """
    from bedside.analysis.findings import trend_findings
    from bedside.analysis.trend import trend as trends_by_length
    from bedside.reports.levels import answered
    from bedside.reports.tables.length import length_table

    def answer(view: RatingsView) -> Tables[tuple[Trend, ...]]:
        trends = trends_by_length(view, edges=settings.edges, **_names(settings, "systems", "metrics", "raters"))
        return Tables([length_table(trends, view.order)], trends, findings=trend_findings(trends))

    return answered(view_of(source, settings), within_of(source, settings), answer)


# -- Tables, figures, and what stands behind a number ---------------------------------------------------


@settings_class
class TablesSettings(Matched, Within, Seeded):
    """The tables of the report, or those of them that are named: results, agreement, comparison …"""

    names: Names | None = option(
        "Tables, such as results,agreement,comparison,missing. Without it, all that there is something for.",
        default=None, heading=WHICH, metavar="A,B", form="names", offers="tables", kw_only=False,
    )  # fmt: skip


@question(TablesSettings, _RATINGS)
def tables(source: RatingSource | View, settings: TablesSettings) -> Tables[None]:
    """Raises:
    BedsideError: an unknown name, or a table that has nothing to show.
    """
    from bedside.reports.build import build_tables
    from bedside.reports.levels import by_level

    names = listed(settings.names, "names")
    return by_level(
        view_of(source, settings),
        within_of(source, settings),
        lambda part: Tables(build_tables(part, names, settings.seed), None),
    )


@settings_class
class FigureSettings(RatingsPart, Seeded):
    """A figure of the report by its name: points, agreement, scatter …; no report is written.

    A notebook shows it; ``save("points.svg")`` writes it as SVG, PDF or PNG.
    """

    name: str = option("The figure: one of the run's suites, or a kind of figure.", heading=WHICH, kw_only=False)


@question(FigureSettings, _RATINGS)
def figure(source: RatingSource | View, settings: FigureSettings) -> Drawing:
    """Raises:
    BedsideError: an unknown name (the nearest are given), or a figure that has nothing to show.
    """
    from bedside.reports.contents import make_drawing

    return make_drawing(view_of(source, settings), settings.name, settings.seed)


@settings_class
class ExplainSettings(Matched, Within, Seeded):
    """Show what stands behind one number of a table.

    It shows the definition, every rating with its transcript and turn, how many there are, what is missing and why, the
    tests, and of simulated conversations the hidden states.

    Examples:
        $ bedside explain run --cell empathy/A
        $ bedside explain run --table agreement --cell empathy
    """

    cell: str = option(
        "Row and column of the number, such as empathy/A. The table's CSV file has this name for every number, in its "
        "column cell.",
        heading=WHICH, metavar="METRIC/SYSTEM", kw_only=False,
    )  # fmt: skip
    table: str = option(
        "The table that the number stands in.", default="results", heading=WHICH, metavar="NAME", offers="table_names"
    )


@question(ExplainSettings, _RATINGS)
def explain(source: RatingSource | View, settings: ExplainSettings) -> Explanation:
    """Raises:
    BedsideError: an unknown table or cell; the nearest are given.
    """
    from bedside.reports.build import build_tables
    from bedside.reports.explanation import Explanation, explain as run_explain, tests_of
    from bedside.reports.levels import by_level

    definitions: dict[str, None] = {}

    def answer(view: RatingsView) -> Tables[None]:
        (shown,) = build_tables(view, [settings.table], settings.seed)
        explanation = run_explain(view, shown, settings.cell, tests_of(view, settings.table, settings.seed))
        definitions.update(dict.fromkeys(explanation.definitions))
        return explanation.tables

    explained = by_level(view_of(source, settings), within_of(source, settings), answer)
    return Explanation(tuple(definitions), explained)


# -- How many transcripts and raters does a study need? -------------------------------------------------


@settings_class
class KappaPlanSettings(Seeded):
    """Say how many transcripts and raters give a kappa interval of some width.

    Where levels are ordered, raters who mostly miss each other by one level need fewer transcripts than raters who
    guess: both numbers are given.

    Examples:
        $ bedside plan kappa --half-width .1 --kappa .6 --raters 2,3
    """

    half_width: float = option(
        "Half the width that kappa's 95 % interval should have.", default=0.1, heading=OPTIONS, metavar="NUMBER"
    )
    kappa: float = option("The kappa that you expect.", default=0.6, heading=OPTIONS, metavar="NUMBER")
    shares: Sequence[float] | None = option(
        "Share that you expect of each level, lowest first, such as .1,.2,.4,.2,.1.",
        default=None, heading=OPTIONS, metavar="N,N", form="numbers",
    )  # fmt: skip
    levels: int = option(
        "Number of levels of equal shares, where --shares is not given.", default=5, heading=OPTIONS, metavar="NUMBER"
    )
    raters: Sequence[int] = option(
        "Numbers of raters to plan for.", default=(2, 3, 5), heading=OPTIONS, metavar="N,N", form="whole_numbers"
    )
    weights: Weights = option(
        "Weights of kappa: quadratic, linear or none.", default="quadratic", heading=OPTIONS, metavar="NAME"
    )


@question_alone(KappaPlanSettings)
def plan_kappa(settings: KappaPlanSettings) -> Tables[KappaSizes]:
    """Raises:
    DataError: impossible values.
    """
    from bedside.analysis.study_size import sizes_for_kappa
    from bedside.reports.study_size import kappa_table

    if settings.shares is None and settings.levels < 2:
        raise DataError("a scale has at least two levels", where="`levels`")
    sizes = sizes_for_kappa(
        settings.kappa,
        settings.half_width,
        shares=[1 / settings.levels] * settings.levels if settings.shares is None else settings.shares,
        raters=(settings.raters,) if isinstance(settings.raters, int) else settings.raters,
        weights=settings.weights,
        seed=settings.seed,
    )
    return Tables([kappa_table(sizes)], sizes)


@settings_class
class JudgePlanSettings(Seeded):
    """Say how many cases show that a judge may stand in for one of the people.

    It is the question of `validate`: may it find what people look for, and clear the rest, no worse than one of them?
    The judge is taken to be as good as a person.

    Examples:
        $ bedside plan judge --prevalence .1
        $ bedside plan judge --prevalence .05 --sensitivity .7 --raters 3 --epsilon .1
    """

    prevalence: float = option(
        "Share of the units of which the level is true, such as danger in one of ten: .1.",
        heading=OPTIONS, metavar="NUMBER", kw_only=False,
    )  # fmt: skip
    sensitivity: float = option("Share of these that one person finds.", default=0.8, heading=OPTIONS, metavar="NUMBER")
    specificity: float = option(
        "Share of the others that one person clears.", default=0.95, heading=OPTIONS, metavar="NUMBER"
    )
    raters: Sequence[int] = option(
        "Numbers of people to plan for.", default=(2, 3, 5), heading=OPTIONS, metavar="N,N", form="whole_numbers"
    )
    epsilon: float = option(
        "How much worse than a person the judge may be.", default=0.2, heading=OPTIONS, metavar="NUMBER"
    )


@question_alone(JudgePlanSettings)
def plan_judge(settings: JudgePlanSettings) -> Tables[tuple[SampleSize, ...]]:
    """Raises:
    DataError: impossible values.
    """
    from bedside.reports.study_size import judge_table
    from bedside.stats.stand_in import cases_to_stand_in

    raters = (settings.raters,) if isinstance(settings.raters, int) else tuple(settings.raters)
    sizes = tuple(
        cases_to_stand_in(
            settings.prevalence, settings.sensitivity, settings.specificity, raters=count, margin=settings.epsilon,
            seed=settings.seed,
        )
        for count in raters
    )  # fmt: skip
    return Tables([judge_table(raters, sizes, settings.epsilon)], sizes)


@settings_class
class DifferencePlanSettings(Matched, Seeded):
    """Say how many cases, each run with both systems, show a difference between them.

    Examples:
        $ bedside plan difference --difference .5 --sd 1
        $ bedside plan difference --difference .5 --pilot run --metric empathy --systems A,B
    """

    difference: float = option(
        "The smallest mean difference that is worth finding.", heading=OPTIONS, metavar="NUMBER", kw_only=False
    )
    sd: float | None = option(
        "Standard deviation of the differences between systems on one case.",
        default=None, heading=OPTIONS, metavar="NUMBER",
    )  # fmt: skip
    pilot: RatingSource | None = option(
        "A run, or a file of ratings, to take the standard deviation from.",
        default=None, heading=OPTIONS, metavar="RUN", form="path",
    )  # fmt: skip
    metric: str | None = option("Metric of the pilot to take it from.", default=None, heading=OPTIONS, metavar="NAME")
    systems: Names | None = option(
        "The two systems of the pilot to take it from.", default=None, heading=OPTIONS, metavar="A,B", form="names"
    )
    power: float = option(
        "Chance of finding the difference if there is one.", default=0.8, heading=OPTIONS, metavar="NUMBER"
    )
    tests: int = option(
        "Number of tests that are corrected together; alpha is divided by it.",
        default=1, heading=OPTIONS, metavar="NUMBER",
    )  # fmt: skip


@question_alone(DifferencePlanSettings)
def plan_difference(settings: DifferencePlanSettings) -> Tables[DifferenceSizes]:
    """Raises:
    BedsideError: impossible values, neither a standard deviation nor a pilot, or a pilot that doesn't give one.
    """
    from bedside.analysis.study_size import pilot_differences, sizes_for_difference
    from bedside.reports.study_size import difference_table

    if settings.difference == 0:
        raise DataError("no study is large enough to find a difference of 0", where="`difference`")
    pilot = None
    if settings.pilot is not None:
        view = view_of(settings.pilot, settings)
        pilot = pilot_differences(view, settings.metric, listed(settings.systems, "systems"))
    elif settings.sd is None:
        raise DataError("give `sd`, or `pilot` with `metric` and `systems`", where="plan difference")
    sizes = sizes_for_difference(
        settings.difference, sd=settings.sd, pilot=pilot, power=settings.power, tests=settings.tests, seed=settings.seed
    )
    return Tables([difference_table(sizes)], sizes)


@settings_class
class RaterPlanSettings(Matched, Seeded):
    """Say how many raters, passes and cases a study needs, after a pilot run.

    It is for raters like those of the pilot. Ask for a coefficient, for the width of an interval, or for a difference;
    unless you do, for a Φ of .80.

    Examples:
        $ bedside plan raters --pilot run --metric empathy
        $ bedside plan raters --pilot run --metric empathy --half-width .2 --systems A
        $ bedside plan raters --pilot run --metric empathy --difference .3 --systems A,B
    """

    pilot: RatingSource = option(
        "A run, or a file of ratings, in which several raters rated the same.",
        heading=OPTIONS, metavar="RUN", form="path", kw_only=False,
    )  # fmt: skip
    metric: str | None = option(
        "Metric of the pilot. Without it, the only one.", default=None, heading=OPTIONS, metavar="NAME"
    )
    systems: Names | None = option(
        "The system whose mean is asked about, or the two that are compared.",
        default=None, heading=OPTIONS, metavar="A,B", form="names",
    )  # fmt: skip
    dependability: float | None = option(
        "Φ to reach, where each unit may have other raters.", default=None, heading=OPTIONS, metavar="NUMBER"
    )
    generalisability: float | None = option(
        "G to reach, where the same raters rate all units.", default=None, heading=OPTIONS, metavar="NUMBER"
    )
    half_width: float | None = option(
        "Half the width that a mean's 95 % interval should have, or that of a difference of two systems.",
        default=None, heading=OPTIONS, metavar="NUMBER",
    )  # fmt: skip
    difference: float | None = option(
        "The smallest mean difference that is worth finding.", default=None, heading=OPTIONS, metavar="NUMBER"
    )
    power: float = option(
        "Chance that a study reaches what is asked for.", default=0.8, heading=OPTIONS, metavar="NUMBER"
    )
    raters: Sequence[int] | None = option(
        "Numbers of raters to plan for. Without it, 1 to 10.",
        default=None, heading=OPTIONS, metavar="N,N", form="whole_numbers",
    )  # fmt: skip
    passes: Sequence[int] | None = option(
        "How often each rater rates the same. Without it 1, and 2 where the pilot has passes.",
        default=None, heading=OPTIONS, metavar="N,N", form="whole_numbers",
    )  # fmt: skip


@question_alone(RaterPlanSettings)
def plan_raters(settings: RaterPlanSettings) -> Tables[RaterPlan]:
    """Raises:
    BedsideError: impossible values, two questions at once, or a pilot without the metric or the systems.
    """
    from bedside.analysis.study_size import plan_after_pilot
    from bedside.reports.study_size import rater_plan_table

    goals: tuple[tuple[str, Goal, float | None], ...] = (
        ("dependability", "Φ", settings.dependability), ("generalisability", "G", settings.generalisability),
        ("half_width", "half-width", settings.half_width), ("difference", "difference", settings.difference),
    )  # fmt: skip
    asked = [(name, goal, target) for name, goal, target in goals if target is not None]
    if len(asked) > 1:
        both = " and ".join(f"`{name}`" for name, *_ in asked)
        raise InputError("each is a question of its own", where=both, todo="ask one at a time")
    name, goal, target = asked[0] if asked else ("dependability", "Φ", 0.8)
    for field, value, most in ((name, target, 1 if goal in ("Φ", "G") else float("inf")), ("power", settings.power, 1)):
        if not 0 < value < most:
            raise DataError(f"it must lie above 0{' and below 1' if most == 1 else ''}", where=f"`{field}`")
    raters, passes = ((n,) if isinstance(n, int) else n for n in (settings.raters, settings.passes))
    plan = plan_after_pilot(
        view_of(settings.pilot, settings), settings.metric, goal, target, raters=raters, passes=passes,
        systems=listed(settings.systems, "systems") or (), power=settings.power, seed=settings.seed,
    )  # fmt: skip
    return Tables([rater_plan_table(plan)], plan)
