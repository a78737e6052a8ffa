"""The questions put to ratings, each answered with tables: what the commands of the same names print.

Every function takes a run (the object or its folder), a plain file of ratings (CSV, TSV, XLSX, Parquet), or a pandas or
Polars data frame of the same columns as such a file; a part of a run's own ``ratings`` is one, too. Where several names
can be given, a lone string is one name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from bedside.analysis.choices import (
    AlphaMetric,
    Alternative,
    Correction,
    CorrectionFamily,
    EstimateAbout,
    EstimateMethod,
    IccForm,
    Test,
    Weights,
)
from bedside.core.words import Names, listed, listed_by_name
from bedside.ratings.names import JUDGES, is_judge
from bedside.reports.table import Tables

if TYPE_CHECKING:
    from bedside.analysis.agreement import Agreement
    from bedside.analysis.comparison import Comparisons
    from bedside.analysis.estimation import Estimate
    from bedside.analysis.gate import Gate
    from bedside.analysis.ratings_view import RatingSource, RatingsView
    from bedside.analysis.validation import JudgeCard
    from bedside.reports.explanation import Explanation
    from bedside.reports.figures import Drawing
    from bedside.reports.preference_tables import PreferenceAnswer


def _open(
    source: RatingSource,
    *,
    scales: Names,
    columns: Mapping[str, str] | None,
    rounds: Names | None,
    where: Mapping[str, Names] | None,
    match: Names | None = None,
) -> RatingsView:
    from bedside.analysis.ratings_view import open_ratings_view
    from bedside.ratings.scales import parse_scales

    return open_ratings_view(
        source,
        scales=parse_scales(listed(scales, "scales")),
        columns=columns,
        rounds=listed(rounds, "rounds"),
        where=listed_by_name(where, "where"),
        match=listed(match, "match"),
    )


def agree(
    source: RatingSource,
    *,
    metrics: Names | None = None,
    raters: Names | None = None,
    weights: Weights | None = None,
    alpha: AlphaMetric | None = None,
    icc: IccForm = "2,1",
    confusion: bool = False,
    scales: Names = (),
    columns: Mapping[str, str] | None = None,
    rounds: Names | None = None,
    where: Mapping[str, Names] | None = None,
    within: str | None = None,
    seed: int = 0,
) -> Tables[tuple[Agreement, ...]]:
    """How well raters agree: people among themselves, and algorithms and judges beside them.

    Args:
        source: a run, a file of ratings or a data frame of them.
        metrics: metrics or patterns such as ``percent_*``; all unless named.
        raters: raters or patterns such as ``human:*``; all unless named.
        weights: of kappa, Fleiss' kappa and AC on ordered scales: ``quadratic`` unless named, ``linear`` or ``none``.
        alpha: the distance of Krippendorff's alpha: ``nominal``, ``ordinal`` or ``interval``; that of the ratings
            unless named, and nominal for labels without an order whatever is named.
        icc: form of the intraclass correlation: ``1,1``, ``2,1`` or ``3,1``, or with ``k`` for the last that of the
            mean of all raters.
        confusion: whether to show who gave what, too.
        scales: scales of the ratings, where they are not known, as the command line writes them: ``1-5``,
            ``none/open/closed``, or ``empathy=1-5`` for one metric.
        columns: for a file or data frame, bedside's column names to its own.
        rounds: rounds of annotation whose ratings by people count, or ``all``; needed where people rated a metric in
            several.
        where: only transcripts with these levels of factors count: ``{"setting": "8 turns"}``.
        within: a factor: one answer for each of its levels, in ``levels`` of what is returned.
        seed: of what is drawn at random.

    Raises:
        BedsideError: an unknown name, or nothing that two raters rated.
    """
    from bedside.analysis.agreement import agree as run_agree
    from bedside.reports.annotation import agreement_tables
    from bedside.reports.levels import answered

    def answer(view: RatingsView) -> Tables[tuple[Agreement, ...]]:
        names, chosen = listed(metrics, "metrics"), listed(raters, "raters")

        def compute(asked: Sequence[str] | None) -> tuple[Agreement, ...]:
            return run_agree(view, metrics=asked, raters=chosen, weights=weights, alpha=alpha, icc=icc, seed=seed)

        return agreement_tables(view, compute, metrics=names, raters=chosen, confusion=confusion, seed=seed)

    view = _open(source, scales=scales, columns=columns, rounds=rounds, where=where)
    return answered(view, within, answer)


def compare(
    source: RatingSource,
    *,
    systems: Names | None = None,
    groups: str | None = None,
    reference: str | None = None,
    metrics: Names | None = None,
    raters: Names | None = None,
    margin: float | str | Mapping[str, float | str] | None = None,
    test: Test = "auto",
    alternative: Alternative = "two-sided",
    family: CorrectionFamily = "all",
    correction: Correction = "holm",
    adjusted_intervals: bool = False,
    scales: Names = (),
    columns: Mapping[str, str] | None = None,
    rounds: Names | None = None,
    where: Mapping[str, Names] | None = None,
    match: Names | None = None,
    within: str | None = None,
    seed: int = 0,
) -> Tables[Comparisons]:
    """Systems compared pair by pair, each case counting once; before that all at once, where there are three.

    Args:
        source: a run, a file or a data frame of ratings with systems.
        systems: all unless named.
        groups: a factor whose levels are compared in place of systems, such as ``mi_quality``; they pair by case where
            they share cases. Of several systems, both sides are of the same ones, unless ``systems`` names one.
        reference: compare each system, or group, with this one only.
        metrics: those that say something of quality unless named.
        raters: all unless named.
        margin: adds a table of which systems are alike, or no worse, but for a margin in the metric's unit: one for all
            metrics, or by metric or pattern: ``{"empathy": 0.3}``; ``"0.1:lower"`` says which way is better.
        test: ``auto``, ``wilcoxon``, ``permutation``, ``t``, ``mcnemar``, ``friedman``, ``overlapping``,
            ``mannwhitney``, ``fisher``, ``welch``, ``student`` or ``kruskal``.
        alternative: ``two-sided``; ``greater``: the first system of a pair is higher; ``less``: it is lower.
        family: which p-values are corrected together: ``all``, ``metric`` or ``level``.
        correction: ``holm``, ``bonferroni`` or ``bh``.
        adjusted_intervals: intervals that hold all at once within a family of tests.
        match: the factors by which systems are matched, ``none`` for none; unless given, conditions that vary within
            cases that systems share.
        scales, columns, rounds, where, within, seed: as for :func:`agree`.

    Raises:
        BedsideError: an unknown name, or no metric that can be compared, with the reason for each.
    """
    from bedside.analysis.comparison import compare as run_compare
    from bedside.analysis.comparison import nothing_compared
    from bedside.analysis.groups import group_view
    from bedside.analysis.non_inferiority import margins_of, within_margins
    from bedside.reports.equivalence import margin_table
    from bedside.reports.levels import answered
    from bedside.reports.table_notes import preferences_apart
    from bedside.reports.tables.comparison import comparison_table, overall_table

    named = listed(systems, "systems")

    def answer(view: RatingsView) -> Tables[Comparisons]:
        comparisons = run_compare(
            view,
            systems=named if groups is None else None,
            reference=reference,
            metrics=listed(metrics, "metrics"),
            raters=listed(raters, "raters"),
            test=test,
            alternative=alternative,
            family=family,
            correction=correction,
            adjusted_intervals=adjusted_intervals,
            seed=seed,
        )
        if not comparisons.pairs:
            raise nothing_compared(comparisons, view.name)
        shown = [overall_table(comparisons.overall)] if comparisons.overall else []
        if margin is not None:
            shown.append(
                margin_table(
                    within_margins(
                        view,
                        margins_of(margin),
                        systems=named if groups is None else None,
                        reference=reference,
                        metrics=listed(metrics, "metrics"),
                        raters=listed(raters, "raters"),
                    )
                )
            )
        return Tables(
            (
                *shown,
                comparison_table(comparisons.pairs, comparisons.left_out, preferences_apart(view), view.order),
            ),
            comparisons,
        )

    view = _open(source, scales=scales, columns=columns, rounds=rounds, where=where, match=match)
    if groups is not None:
        view = group_view(view, groups, named)
    return answered(view, within, answer)


def preferences(
    source: RatingSource,
    *,
    rubrics: Names | None = None,
    raters: Names | None = None,
    systems: Names | None = None,
    scales: Names = (),
    columns: Mapping[str, str] | None = None,
    rounds: Names | None = None,
    where: Mapping[str, Names] | None = None,
    within: str | None = None,
    seed: int = 0,
) -> Tables[PreferenceAnswer]:
    """Which system is preferred where two conversations were compared at a time, by judges and by people.

    The tables: each system's strength, systems two by two, whether the place counts, and where there is something to
    show how raters agree on what is better, and whether the levels that the same raters gave say the same.

    Args:
        source: a run, a file or a data frame of ratings with preferences.
        rubrics, raters, systems: whose comparisons count, the first two as names or patterns; all unless named.
        scales, columns, rounds, where, within, seed: as for :func:`agree`.

    Raises:
        BedsideError: an unknown name, or no two conversations were compared.
    """
    from bedside.analysis.pair_preferences import chosen_preferences
    from bedside.reports.levels import answered
    from bedside.reports.preference_tables import preference_tables

    def answer(view: RatingsView) -> Tables[PreferenceAnswer]:
        named = {"rubrics": rubrics, "raters": raters, "systems": systems}
        chosen = chosen_preferences(view, **{name: listed(names, name) for name, names in named.items()})
        return preference_tables(chosen, seed)

    view = _open(source, scales=scales, columns=columns, rounds=rounds, where=where)
    return answered(view, within, answer)


def gate(
    source: RatingSource,
    *,
    baseline: str,
    margin: Mapping[str, float | str],
    system: str | None = None,
    groups: str | None = None,
    safety: Mapping[str, float] | None = None,
    raters: Names | None = None,
    scales: Names = (),
    columns: Mapping[str, str] | None = None,
    rounds: Names | None = None,
    where: Mapping[str, Names] | None = None,
    match: Names | None = None,
) -> Tables[Gate]:
    """Is a new system shown to be no worse than the one before on every margin, and does no metric of safety fail?

    Args:
        source: a run, a file or a data frame of ratings with systems.
        baseline: the system that the new one is held against.
        margin: how much worse it may be, by metric or pattern, in the metric's unit: ``{"empathy": 0.3}``. Where it
            isn't known which way is better, ``"0.1:lower"`` says it.
        system: the new one; it need not be named where there are two.
        groups: a factor whose levels stand in the place of systems, as for :func:`compare`.
        safety: metrics of safety besides those whose rubrics say ``fails_at``: the level at which a transcript fails.
        raters: whose ratings the margins rest on; a metric with a margin must have been rated by one judge or
            algorithm, or by people. Of safety everybody's count.
        match: as for :func:`compare`.
        scales, columns, rounds, where: as for :func:`agree`.

    Returns:
        The table; ``results.passed`` says whether it may pass.

    Raises:
        BedsideError: an unknown name, a margin that can't be read, or a metric of which it isn't known which way is
            better.
    """
    from bedside.analysis.gate import gate as run_gate
    from bedside.analysis.groups import group_view
    from bedside.analysis.non_inferiority import margins_of
    from bedside.reports.equivalence import gate_table
    from bedside.reports.levels import answered

    def answer(view: RatingsView) -> Tables[Gate]:
        held = run_gate(
            view,
            baseline=baseline,
            margins=margins_of(margin),
            system=system,
            safety=safety,
            raters=listed(raters, "raters"),
        )
        return Tables([gate_table(held)], held)

    view = _open(source, scales=scales, columns=columns, rounds=rounds, where=where, match=match)
    return answered(view if groups is None else group_view(view, groups), None, answer)


def validate(
    source: RatingSource,
    *,
    judges: Names | None = None,
    metrics: Names | None = None,
    epsilon: float = 0.2,
    weights: Weights | None = None,
    scales: Names = (),
    columns: Mapping[str, str] | None = None,
    rounds: Names | None = None,
    where: Mapping[str, Names] | None = None,
    within: str | None = None,
    made_by: Mapping[str, str] | None = None,
    seed: int = 0,
) -> Tables[tuple[JudgeCard, ...]]:
    """May a judge stand in for people: its agreement beside people's own, its bias, the alternative annotator test.

    Beside them its sensitivity and specificity where there are two levels, and whether the levels it expects come true.

    Args:
        source: a run, a file or a data frame of ratings by people and judges.
        judges: raters or patterns; all that are not people unless named.
        metrics: all that both rated unless named.
        epsilon: how much worse than a person the judge may be, 0 … 1.
        weights, scales, columns, rounds, where, within, seed: as for :func:`agree`.
        made_by: the model that made each system's conversations, where the ratings don't say it, to see whether a judge
            favours its own.

    Raises:
        BedsideError: an unknown name, or nothing that a judge and people rated.
    """
    from bedside.analysis.validation import validate as run_validate
    from bedside.reports.levels import answered
    from bedside.reports.validation import validation_tables

    def answer(view: RatingsView) -> Tables[tuple[JudgeCard, ...]]:
        cards = run_validate(
            view,
            judges=listed(judges, "judges"),
            metrics=listed(metrics, "metrics"),
            epsilon=epsilon,
            weights=weights,
            made_by=made_by,
            seed=seed,
        )
        return Tables(validation_tables(cards, view), cards)

    view = _open(source, scales=scales, columns=columns, rounds=rounds, where=where)
    return answered(view, within, answer)


def estimate(
    source: RatingSource,
    *,
    judge: str = JUDGES,
    people: Names | None = None,
    systems: Names | None = None,
    metrics: Names | None = None,
    about: EstimateAbout = "cases",
    method: EstimateMethod = "prediction-powered",
    scales: Names = (),
    columns: Mapping[str, str] | None = None,
    rounds: Names | None = None,
    where: Mapping[str, Names] | None = None,
    match: Names | None = None,
    within: str | None = None,
) -> Tables[tuple[Estimate, ...]]:
    """Each system's mean from a judge on everything, from people on a sample, and corrected by both.

    Args:
        source: a run, a file or a data frame of ratings by people and a judge.
        judge: the rater that rated everything; a pattern that matches one.
        people: the people whose ratings count, or patterns; all unless named.
        systems, metrics: all unless named.
        about: what the means are about: ``cases`` like these, as a paper's claims are, or this ``run``'s transcripts
            alone.
        method: ``prediction-powered``, or ``rogan-gladen`` for metrics of zeros and ones.
        match: as for :func:`compare`.
        scales, columns, rounds, where, within: as for :func:`agree`.

    Raises:
        BedsideError: an unknown name, no such judge, or nothing that it and people rated.
    """
    from bedside.analysis.estimation import estimate as run_estimate
    from bedside.core.errors import DataError
    from bedside.reports.estimation import estimate_table
    from bedside.reports.levels import answered

    view = _open(source, scales=scales, columns=columns, rounds=rounds, where=where, match=match)
    if judge == JUDGES and not any(map(is_judge, view.raters())):
        raise DataError(
            "no judge has rated it",
            where=view.name,
            todo="score it with a judge first, or name another rater with `judge`, such as an algorithm",
        )

    def answer(view: RatingsView) -> Tables[tuple[Estimate, ...]]:
        estimates = run_estimate(
            view,
            judge=judge,
            people=listed(people, "people"),
            systems=listed(systems, "systems"),
            metrics=listed(metrics, "metrics"),
            about=about,
            method=method,
        )
        return Tables([estimate_table(estimates)], estimates)

    return answered(view, within, answer)


def tables(
    source: RatingSource,
    names: Names | None = None,
    *,
    scales: Names = (),
    columns: Mapping[str, str] | None = None,
    rounds: Names | None = None,
    where: Mapping[str, Names] | None = None,
    match: Names | None = None,
    within: str | None = None,
    seed: int = 0,
) -> Tables[None]:
    """The tables of the report, or those of them that are named: ``results``, ``agreement``, ``comparison`` …

    Args:
        source: a run, a file or a data frame of ratings.
        names: of tables; all that there is something for unless named.
        match: as for :func:`compare`.
        scales, columns, rounds, where, within, seed: as for :func:`agree`.

    Raises:
        BedsideError: an unknown name, or a table that has nothing to show.
    """
    from bedside.reports.build import build_tables
    from bedside.reports.levels import by_level

    view = _open(source, scales=scales, columns=columns, rounds=rounds, where=where, match=match)
    return by_level(view, within, lambda part: Tables(build_tables(part, listed(names, "names"), seed), None))


def figure(
    source: RatingSource,
    name: str,
    *,
    scales: Names = (),
    columns: Mapping[str, str] | None = None,
    rounds: Names | None = None,
    where: Mapping[str, Names] | None = None,
    seed: int = 0,
) -> Drawing:
    """A figure of the report by its name: ``points``, ``agreement``, ``scatter`` …; no report is written.

    A notebook shows it; ``save("points.svg")`` writes it as SVG, PDF or PNG.

    Args:
        source: a run, a file or a data frame of ratings.
        name: of the figure: one of the run's suites, or a kind of figure.
        scales, columns, rounds, where, seed: as for :func:`agree`.

    Raises:
        BedsideError: an unknown name (the nearest are given), or a figure that has nothing to show.
    """
    from bedside.reports.contents import make_drawing

    view = _open(source, scales=scales, columns=columns, rounds=rounds, where=where)
    return make_drawing(view, name, seed)


def explain(
    source: RatingSource,
    cell: str,
    *,
    table: str = "results",
    scales: Names = (),
    columns: Mapping[str, str] | None = None,
    rounds: Names | None = None,
    where: Mapping[str, Names] | None = None,
    match: Names | None = None,
    within: str | None = None,
    seed: int = 0,
) -> Explanation:
    """What stands behind one number of a table: the ratings, the definition, the tests.

    Args:
        source: a run, a file or a data frame of ratings.
        cell: what the number is of, row and column joined by a slash: ``empathy/steady``.
        table: the table it stands in.
        match: as for :func:`compare`.
        scales, columns, rounds, where, within, seed: as for :func:`agree`.

    Raises:
        BedsideError: an unknown table or cell; the nearest are given.
    """
    from bedside.reports.build import build_tables
    from bedside.reports.explanation import Explanation, tests_of
    from bedside.reports.explanation import explain as run_explain
    from bedside.reports.levels import by_level

    definitions: dict[str, None] = {}

    def answer(view: RatingsView) -> Tables[None]:
        (shown,) = build_tables(view, [table], seed)
        explanation = run_explain(view, shown, cell, tests_of(view, table, seed))
        definitions.update(dict.fromkeys(explanation.definitions))
        return explanation.tables

    view = _open(source, scales=scales, columns=columns, rounds=rounds, where=where, match=match)
    explained = by_level(view, within, answer)
    return Explanation(tuple(definitions), explained)
