"""Judges made better or tried, from Python: tuned rubrics, probes, juries and learned raters."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from bedside.api.chosen_ratings import ALL_METRICS, ROUNDS
from bedside.api.judging import named_judges
from bedside.api.run_files import RunOrFolder, open_run
from bedside.core.errors import DataError, InputError
from bedside.core.question_settings import HOW, JUDGES, OPTIONS, OUTPUT, WHICH, Seeded, option, question, settings_class
from bedside.core.words import Names, listed
from bedside.judges.ask_settings import ModelAsking, RepeatedAsking, Requests, RubricNames, RubricShowing
from bedside.ratings.names import JuryRule, is_judge
from bedside.ratings.rating_reading import SCALES
from bedside.reports.table import Tables

if TYPE_CHECKING:
    from bedside.analysis.jury_agreement import JuryAgreement
    from bedside.analysis.ratings_view import RatingsView
    from bedside.judges.call_plan import RubricPlan
    from bedside.judges.rubrics.rubric import Rubric
    from bedside.metrics.coders.learned.embeddings import Embeddings
    from bedside.ratings.run import Run
    from bedside.reports.table import Table
    from bedside.scoring.run_judging import JudgingWatch
    from bedside.transcripts.memory_reading import TranscriptInput
    from bedside.transcripts.read_options import ReadOptions
    from bedside.transcripts.transcript import Transcript
    from bedside.tuning.cascade import CascadeFit, Routed
    from bedside.tuning.judge_drift import DriftOrder, JudgeDrift
    from bedside.tuning.label_split import LabelSplit
    from bedside.tuning.probes.probing import Probed, ProbeOrder, ProbingWatch
    from bedside.tuning.rater_training import LearnedRaterTrial
    from bedside.tuning.tuned_judge import TuningOrder, TuningOutcome
    from bedside.tuning.tuning_ledger import TuningTry


#: The heading of the options on probes.
PROBES = "Probes of a judge"

# -- Judges made better by people's ratings -------------------------------------------------------------


@dataclass(frozen=True, slots=True, repr=False)
class TunedJudge:
    """What tuning a rubric for a judge came to.

    Attributes:
        rubric: the tuned rubric, with its history, to judge by; None where nothing that was tried did better in
            training.
        outcome: the split, the candidates, and the figures on what was held out.
        tables: the same as tables.
        tries: the tunings so far on the same labels, this one last.
    """

    rubric: Rubric | None
    outcome: TuningOutcome
    tables: tuple[Table, ...]
    tries: tuple[TuningTry, ...] = ()

    @property
    def shown(self) -> bool:
        """Whether the gain is shown on what was held out: its whole interval lies above 0."""
        return self.outcome.shown

    def __repr__(self) -> str:
        from bedside.reports.tuning import verdict

        return f"TunedJudge({self.outcome.rater}: {verdict(self.outcome)})"

    def __str__(self) -> str:
        return "\n\n".join(map(str, self.tables))

    def _repr_html_(self) -> str:
        return "".join(table._repr_html_() for table in self.tables)


@settings_class
class TuneSettings(RubricShowing, ModelAsking):
    """Tune a rubric for a judge by people's ratings; show the gain on held-out cases.

    On some cases the judge proposes wordings, examples are chosen, and a map of levels is learnt. The same command
    again asks only what is missing.

    Examples:
        $ bedside judge tune run --rubric empathy --judge openai/gpt-5-mini --dry-run
        $ bedside judge tune run --rubric empathy --judge openai/gpt-5-mini --out tuned.yaml
    """

    judge: str = option(
        "Language model to tune it for: openai/MODEL, http://host:port/v1#MODEL …, or a YAML file of addresses.",
        heading=JUDGES, metavar="MODEL", offers="judges", kw_only=False,
    )  # fmt: skip
    rubric: str | os.PathLike[str] | Rubric = option(
        "The rubric to tune, or its file: one that asks for one level of a conversation or turn.",
        heading=JUDGES, metavar="NAME", offers="rubrics", form="word",
    )  # fmt: skip
    out: str | os.PathLike[str] | None = option(
        "YAML file to write the tuned rubric to, whether or not a gain is shown, which it says. With examples it holds "
        "parts of transcripts. Without it, nothing is written.",
        "--out", "-o", default=None, heading=OUTPUT, metavar="FILE",
    )  # fmt: skip
    split: float = option(
        "Share of cases to learn from; what tuning brought is shown on the others.",
        default=0.5, heading=HOW, metavar="SHARE",
    )  # fmt: skip
    wordings: int = option(
        "How many wordings the judge proposes; 0 leaves the wording as it is.", default=4, heading=HOW, metavar="NUMBER"
    )
    examples: int = option(
        "How many examples that people rated the judge is shown; 0 for a rubric without text of transcripts.",
        default=3, heading=HOW, metavar="NUMBER",
    )  # fmt: skip
    budget: int | None = option(
        "Most judgements to ask for in all; fewer wordings are tried where it is small.",
        default=None, heading=HOW, metavar="CALLS",
    )  # fmt: skip
    rounds: Names | None = ROUNDS
    progress: JudgingWatch | None = option("Called with the judge and how far it is.", default=None, heading=None)


@question(TuneSettings, "The run, or its folder.")
def tune_judge(run: RunOrFolder, settings: TuneSettings) -> TunedJudge:
    """People rated the run's transcripts by the rubric, and it keeps their text. What agrees best with people in
    training rates the units that were held out, once, beside the rubric as it was: that alone is the result.

    Raises:
        BedsideError: there are too few ratings by people, which is said with how many are needed; a rubric that can't
            be tuned; a budget that is too small; or a judge that can't be asked. What it answered is kept.
    """
    from bedside.judges.llm.contract import check_models
    from bedside.reports.tuning import tuning_tables
    from bedside.tuning.tuned_judge import tune
    from bedside.tuning.tuned_rubric import check_rubric_file, with_history, write_tuned_rubric
    from bedside.tuning.tuning_ledger import keep_try, label_digests

    file = None if settings.out is None else check_rubric_file(settings.out)
    opened = open_run(run)
    order = _ordered(opened, settings)
    view, parts = _split_of(opened, order, settings.rounds)
    check_models([order.judge])
    watch = None if settings.progress is None else partial(settings.progress, order.judge.shown)
    with opened.locked():
        outcome = tune(opened, parts, order, progress=watch)
        tries = keep_try(opened, order, outcome, label_digests(view, order.rubric.name))
    tuned = with_history(outcome, order, view)
    if tuned is not None and file is not None:
        write_tuned_rubric(tuned, file)
    return TunedJudge(tuned, outcome, tuning_tables(outcome, order.rubric.title, tries), tries)


@question(TuneSettings, "The run, or its folder.")
def preview_tuning(run: RunOrFolder, settings: TuneSettings) -> Tables[tuple[RubricPlan, ...]]:
    """Nothing is asked: it says how many requests, tokens and dollars the same call of tune_judge would take at most.

    Raises:
        BedsideError: as for :func:`tune_judge`.
    """
    from bedside.reports.judgements import plan_table
    from bedside.tuning.tuned_rubric import forecast

    opened = open_run(run)
    order = _ordered(opened, settings)
    _, parts = _split_of(opened, order, settings.rounds)
    plans = forecast(opened, parts, order)
    note = (
        f"At most: {len(parts.training):,} units to learn from, {len(parts.held_out):,} held out. Where no wording or "
        "example does better in training, less is asked."
    )
    return Tables([plan_table(plans, (), [note])], plans)


def _whole_view(run: Run, rounds: Names | None = "all", scales: Names = ()) -> RatingsView:
    """A run's ratings, of each kind; those of all rounds unless some are named."""
    from bedside.analysis.ratings_view import open_ratings_view
    from bedside.ratings.scales import parse_scales

    own_scales = parse_scales(listed(scales, "scales"))
    return open_ratings_view(run, scales=own_scales, rounds=listed(rounds, "rounds"), one_kind=False)


def _ordered(run: Run, settings: TuneSettings) -> TuningOrder:
    """What is to be tuned, and how; what is misspelt stops here."""
    from bedside.judges.llm.endpoints import model_name
    from bedside.judges.settings import check_numbers, judge_settings
    from bedside.scoring.judging_orders import rubrics_of
    from bedside.tuning.tuned_judge import TuningOrder

    how = judge_settings(settings)
    check_numbers(least=0, wordings=settings.wordings, examples=settings.examples)
    if settings.budget is not None:
        check_numbers(budget=settings.budget)
    chosen = rubrics_of(
        settings.rubric, run, folder=settings.rubric_folder, language=settings.prompt_language, shows=settings.show
    )
    if len(chosen) != 1:
        raise InputError("one rubric is tuned at a time", where="`rubric`", todo="name one")
    return TuningOrder(
        judge=model_name(settings.judge), rubric=chosen[0], settings=how, share=settings.split,
        wordings=settings.wordings, examples=settings.examples, budget=settings.budget, seed=how.seed,
    )  # fmt: skip


def _split_of(run: Run, order: TuningOrder, rounds: Names | None) -> tuple[RatingsView, LabelSplit]:
    """The run's ratings, and the two parts of what people rated."""
    from bedside.tuning.tuned_judge import prepared_split

    if not run.keeps_text:
        raise InputError(
            "the run keeps no text, so that nothing of it can be shown to a judge",
            where=str(run.path),
            todo="score into a run that keeps text, without `text=False`",
        )
    view = _whole_view(run, rounds)
    return view, prepared_split(view, order)


# -- Asking a judge again -------------------------------------------------------------------------------


@settings_class
class JudgeDriftSettings(Requests):
    """Does a judge still rate as it did? Ask it again about some of a run's transcripts.

    Anchors are drawn by system and level, and the run keeps them for the next time. The judge is asked as before, by
    the same rubrics. The answer says whether it has changed, and which numbers of the run would. No rating joins the
    run. On the same day, the same command asks only what is missing.

    Examples:
        $ bedside judge drift run --dry-run
        $ bedside judge drift run --rubrics empathy --max-cost 2
    """

    judge: str | None = option(
        "Judge of the run, or its model where the address is another now; the only one unless named.",
        default=None, heading=JUDGES, metavar="MODEL", offers="judges", kw_only=False,
    )  # fmt: skip
    rubrics: Names | None = option(
        "Rubrics that give one level or label; all that it rated by unless named.",
        "--rubrics", "--rubric", default=None, heading=JUDGES, metavar="A,B", form="names", offers="rated",
    )  # fmt: skip
    anchors: int | None = option(
        "How many transcripts to ask about again. Without it, as many as find a change by the margin (power .8). "
        "Anchors that the run keeps are taken first.",
        default=None, heading=HOW, metavar="NUMBER",
    )  # fmt: skip
    margin: float = option(
        "Change of the mean level, or of a label's share, below which the judge counts as the same.",
        default=0.3, heading=HOW, metavar="NUMBER",
    )  # fmt: skip
    progress: JudgingWatch | None = option("Called with the judge and how far it is.", default=None, heading=None)


@question(JudgeDriftSettings, "The run, or its folder.")
def judge_drift(run: RunOrFolder, settings: JudgeDriftSettings) -> Tables[tuple[JudgeDrift, ...]]:
    """Raises:
    BedsideError: no such judge or rubric, a wording that has changed, or a judge that can't be asked; what it answered
        is kept.
    """
    from bedside.reports.tuning import drift_tables
    from bedside.tuning.judge_drift import ask_again, judge_drift_findings, judge_drifts

    opened = open_run(run)
    order = _drift_order(opened, settings)
    asked = ask_again(opened, order, progress=settings.progress)
    drifts = judge_drifts(_whole_view(opened), order, asked, settings.margin)
    return Tables(drift_tables(drifts), drifts, findings=judge_drift_findings(drifts))


@question(JudgeDriftSettings, "The run, or its folder.")
def preview_drift(run: RunOrFolder, settings: JudgeDriftSettings) -> Tables[tuple[RubricPlan, ...]]:
    """Nothing is asked: it says how many requests, tokens and dollars the same call of judge_drift would take.

    Raises:
        BedsideError: as for :func:`judge_drift`.
    """
    from bedside.reports.comparison_notes import version_notes
    from bedside.reports.judgements import plan_table
    from bedside.tuning.judge_drift import plan_again

    opened = open_run(run)
    order = _drift_order(opened, settings)
    plans = plan_again(opened, order)
    notes = version_notes(_whole_view(opened), order.rubrics, [order.rater])
    return Tables([plan_table(plans, order.rubrics.values(), notes)], plans)


def _drift_order(run: Run, settings: JudgeDriftSettings) -> DriftOrder:
    """What is asked again; what is misspelt stops here."""
    from bedside.judges.settings import check_numbers, judge_settings
    from bedside.stats.rater_change import anchors_for_change
    from bedside.tuning.judge_drift import SPREAD, drift_order

    if not settings.margin > 0:
        raise InputError("a margin must be above 0", where="`margin`", todo="give half a level or less")
    if settings.anchors is not None:
        check_numbers(least=2, anchors=settings.anchors)
    planned, margin = settings.anchors, settings.margin
    return drift_order(
        run, settings.judge, listed(settings.rubrics, "rubrics"),
        lambda strata: planned or anchors_for_change(margin, spread=SPREAD, strata=strata), judge_settings(settings),
    )  # fmt: skip


# -- Probing judges from Python -------------------------------------------------------------------------


@settings_class
class ProbeSettings(RepeatedAsking):
    """Does a judge's level move with what it must not move with, or stay where it must move?

    A sample of conversations is shown to the judge as it is, again, and changed: padded, reordered, formatted, with
    orders and flattery in it, in another language, by a reworded rubric. Answers are kept in the run as they come: the
    same call after a stop asks only what is missing. What came of it stands in the run's report; no rating joins it.
    """

    judges: Names = option("Models, as for bedside.judge.", heading=None, kw_only=False)
    rubrics: RubricNames | None = option(
        "Names, files or objects that give a whole conversation one level; those that judges rated the run by, else "
        "those of its suite, unless named.",
        default=None, heading=None,
    )  # fmt: skip
    rubric_folder: str | os.PathLike[str] | None = option(
        "Folder of your own rubrics.", default=None, heading=PROBES, metavar="FOLDER"
    )
    probes: Names | None = option(
        "Probe with these only: {probes}. The same prompt asked again is always among them.",
        default=None, heading=PROBES, metavar="A,B", form="names", offers="probes",
    )  # fmt: skip
    transcripts: int = option(
        "How many conversations are drawn, as many of each system.", default=30, heading=PROBES, metavar="NUMBER"
    )
    margin: float | None = option(
        "By how much a level may move and still count as where it was. Without it, half a level.",
        default=None, heading=PROBES, metavar="NUMBER",
    )  # fmt: skip
    translator: str | None = option(
        "Model that translates the conversations; it may be the judge.",
        default=None, heading=PROBES, metavar="MODEL", offers="judges",
    )  # fmt: skip
    language: str | None = option(
        "Language to translate into, such as de. Without it, English, and of English conversations Chinese.",
        default=None, heading=PROBES, metavar="TAG",
    )  # fmt: skip
    translations: TranscriptInput | None = option(
        "Translated conversations with the ids of the originals, in place of a translator.",
        default=None, heading=PROBES, metavar="FILE", form="repeated",
    )  # fmt: skip
    made_by: Mapping[str, str] | None = option(
        "The model that made each system's conversations, where the run doesn't know it.", default=None, heading=None
    )
    progress: ProbingWatch | None = option("Called with who is asked and how far they are.", default=None, heading=None)


@question(ProbeSettings, "The run, or its folder.")
def probe(run: RunOrFolder, settings: ProbeSettings) -> Tables[tuple[Probed, ...]]:
    """The limits are those of all judges and of the translator together.

    Raises:
        BedsideError: a name that is none, a rubric without levels, a run without texts, or a model that can't be asked;
            what was answered before is kept.
    """
    from bedside.analysis.self_preference import makers
    from bedside.judges.llm.contract import check_models
    from bedside.judges.llm.spending import CostLimit
    from bedside.reports.judgements import judged_table
    from bedside.tuning.probes.probing import probe_judge

    call = _ProbingCall(run, settings)
    orders = call.orders()
    if settings.made_by:
        makers(_whole_view(call.run), settings.made_by)
    check_models(model for order in orders for model in order.models)
    budget = CostLimit(settings.max_cost)
    probed = tuple(probe_judge(call.run, order, progress=settings.progress, budget=budget) for order in orders)
    tables = [
        table if len(probed) == 1 else replace(table, name=f"{table.name}_{number}")
        for number, each in enumerate(probed, 1)
        for table in call.tables(each)
    ]
    judged = judged_table([summary for each in probed for summary in each.judged], call.rubrics)
    return Tables([*tables, judged], probed)


@question(ProbeSettings, "The run, or its folder.")
def preview_probe(run: RunOrFolder, settings: ProbeSettings) -> Tables[tuple[RubricPlan, ...]]:
    """Nothing is asked or written: it says how many requests, tokens and dollars the same call of probe would take.

    Raises:
        BedsideError: as for :func:`probe`.
    """
    from bedside.judges.raters import endpoint_lines
    from bedside.reports.judgements import plan_table
    from bedside.tuning.probes.probing import preview_probing

    call = _ProbingCall(run, settings)
    orders = call.orders()
    plans = tuple(plan for order in orders for plan in preview_probing(call.run, order))
    lines = endpoint_lines(listed(settings.judges, "judges"), orders[0].settings.max_concurrency)
    return Tables([plan_table(plans, call.rubrics, lines)], plans)


class _ProbingCall:
    """What is probed: names that are none stop here, before anything is asked.

    Attributes:
        run: the run.
        rubrics: what judges rate by.
    """

    def __init__(self, run: RunOrFolder, settings: ProbeSettings) -> None:
        from bedside.ratings.suites.run_suites import suites_of
        from bedside.scoring.judging_orders import rubrics_of
        from bedside.tuning.probes.probe_trials import check_probeable, probeable

        self.settings = settings
        self.run = open_run(run)
        if settings.rubrics is not None:
            self.rubrics: tuple[Rubric, ...] = rubrics_of(settings.rubrics, self.run, folder=settings.rubric_folder)
            check_probeable(self.rubrics)
            return
        names = _judged_rubrics(self.run) or [name for suite in suites_of(self.run) for name in suite.rubrics]
        known = rubrics_of(names, self.run) if names else ()
        self.rubrics = tuple(rubric for rubric in known if probeable(rubric))
        if not self.rubrics:
            raise InputError(
                "no judge has rated the run by a rubric that gives a whole conversation one level",
                where="`rubrics`",
                todo="name some, such as empathy",
            )

    def orders(self) -> list[ProbeOrder]:
        """What each judge is asked."""
        from bedside.judges.llm.endpoints import model_name
        from bedside.judges.settings import judge_settings
        from bedside.tuning.probes.probe_trials import probes_named
        from bedside.tuning.probes.probing import ProbeOrder

        settings = self.settings
        _, names = named_judges(settings.judges)
        return [
            ProbeOrder(
                judge=name,
                rubrics=self.rubrics,
                probes=probes_named(listed(settings.probes, "probes")),
                settings=judge_settings(settings),
                transcripts=settings.transcripts,
                seed=settings.seed,
                margin=settings.margin,
                language=settings.language,
                translator=None if settings.translator is None else model_name(settings.translator),
                translations=None if settings.translations is None else dict(_by_id(settings.translations)),
            )
            for name in names
        ]

    def tables(self, probed: Probed) -> Iterator[Table]:
        """The table of a judge's probes, and of its preference for its own model's conversations, where known."""
        from bedside.analysis.self_preference import self_preferences
        from bedside.reports.validation import probe_table, self_preference_table

        own = {rubric.name: rubric for rubric in self.rubrics}
        yield probe_table(probed.record, own)
        preferences = self_preferences(_whole_view(self.run), probed.record.rater, self.settings.made_by)
        table = self_preference_table(preferences)
        if table is not None:
            yield table


def _judged_rubrics(run: Run) -> list[str]:
    """The rubrics that judges rated a run by."""
    from bedside.judges.rubrics.rubric_files import RUBRICS, own_rubrics

    own = own_rubrics(run)
    rated = run.ratings.select("metric", "rater").unique(maintain_order=True).iter_rows()
    names = dict.fromkeys(metric for metric, rater in rated if is_judge(rater))
    return [name for name in names if name in own or name in RUBRICS]


def _by_id(translations: TranscriptInput) -> Iterator[tuple[str, Transcript]]:
    from bedside.transcripts.memory_reading import open_reading, several_times

    for transcript in open_reading(several_times(translations), None):
        yield transcript.id, transcript


# -- Raters made of other raters ------------------------------------------------------------------------


@settings_class
class JurySettings(Seeded):
    """Make several judges one rater, and show whether it beats the best of them.

    The jury's ratings join the run, and are made anew whenever its judges' change. No model is asked anything.

    Examples:
        $ bedside judge jury run --jury panel=judge:a,judge:b,judge:c
        $ bedside judge jury run --jury panel=judge:a,judge:b,judge:c --jury-by weights --split .5
        $ bedside judge jury run --jury panel=judge:a,judge:b,judge:c --jury-by dawid-skene
    """

    name: str = option("The jury's name; one that is there is replaced.", heading=None, kw_only=False)
    judges: Names = option(
        "The members: raters of the run, two or more, such as judge:openai/gpt-5-mini; judge: may be left out.",
        heading=None, kw_only=False,
    )  # fmt: skip
    by: JuryRule = option(
        "How its judges are combined: median; mean, the level nearest it; majority, the most frequent level; or "
        "weights, learnt from people's ratings. Without labels: dawid-skene, glad or mace, which tell three judges' "
        "errors or more from how they agree. Labels go by most votes. Ties are missing.",
        "--jury-by", default="median", heading=HOW, metavar="RULE",
    )  # fmt: skip
    quorum: int | None = option(
        "How many of the judges must have rated a unit for the jury to rate it. Without it, all.",
        default=None, heading=HOW, metavar="NUMBER",
    )  # fmt: skip
    split: float = option(
        "Share of cases from which weights are learnt; what the jury is worth is shown on the others.",
        default=0.5, heading=HOW, metavar="SHARE",
    )  # fmt: skip
    metrics: Names | None = ALL_METRICS
    rounds: Names | None = ROUNDS
    scales: Names = SCALES


@question(JurySettings, "The run, or its folder.")
def jury(run: RunOrFolder, settings: JurySettings) -> Tables[tuple[JuryAgreement, ...]]:
    """The jury's name in the ratings table, ``jury:NAME@RULE-VERSION``, says how it combines and changes with members
    and weights. Of the mean rule, the mean itself stands in ``<metric>.expected``.

    Returns:
        The members' agreement among themselves; and where people rated, the jury beside each member on the units that
        it has not learnt from.

    Raises:
        BedsideError: no such run or rater, or too few ratings by people to learn weights from.
    """
    from bedside.analysis.findings import jury_findings
    from bedside.analysis.jury_agreement import jury_agreement
    from bedside.reports.comparison_notes import with_version_notes
    from bedside.reports.tuning import jury_tables
    from bedside.tuning.jury_making import add_jury, jury_of

    opened = open_run(run)
    with opened.locked():
        # Whose ratings count matters only where something is learnt from people.
        view = _whole_view(opened, settings.rounds if settings.by == "weights" else "all", settings.scales)
        panel, splits = jury_of(
            view, settings.name, listed(settings.judges, "judges"), rule=settings.by, quorum=settings.quorum,
            metrics=listed(settings.metrics, "metrics"), share=settings.split, seed=settings.seed,
        )  # fmt: skip
        add_jury(opened, panel, {split.metric: split.digests() for split in splits})
    view = _whole_view(opened, settings.rounds, settings.scales)
    agreements = jury_agreement(view, settings.name, seed=settings.seed)
    first, *others = jury_tables(agreements)
    first = with_version_notes(first, view, apart="bedside agree --by-version")
    return Tables([first, *others], agreements, findings=jury_findings(agreements))


@settings_class
class CascadeSettings:
    """Fit a cascade: a cheap judge, a stronger one where it is unsure, then people.

    Thresholds are fitted on what people rated. A bound holds how often they disagree with what judges settle.

    Examples:
        $ bedside judge cascade run --judges openai/gpt-5-mini,openai/gpt-5 --metrics danger --out cascade.json
        $ bedside judge route new-run --cascade cascade.json
    """

    judges: Names = option(
        "The judges in turn, the cheapest first: raters of the run. Each gave expected levels, or several passes.",
        "--judges", heading=WHICH, metavar="A,B", form="names", kw_only=False,
    )  # fmt: skip
    metrics: Names | None = ALL_METRICS
    disagreement: float = option(
        "How much of what judges settle people may disagree with.",
        default=0.1, heading=HOW, metavar="SHARE", form="share",
    )  # fmt: skip
    confidence: float = option(
        "With which confidence that holds.", default=0.9, heading=HOW, metavar="SHARE", form="share"
    )
    within: float = option(
        "How far from people's level still counts as agreement, in levels; 0 for the same level only.",
        default=0.0, heading=HOW, metavar="NUMBER",
    )  # fmt: skip
    name: str = option("The cascade's name.", default="cascade", heading=OUTPUT, metavar="NAME")
    out: str | os.PathLike[str] | None = option(
        "JSON file to keep the cascade in.", "--out", "-o", default=None, heading=OUTPUT, metavar="FILE", form="path"
    )  # fmt: skip
    rounds: Names | None = ROUNDS
    scales: Names = SCALES


@question(CascadeSettings, "The run, or its folder.")
def cascade(run: RunOrFolder, settings: CascadeSettings) -> Tables[tuple[CascadeFit, ...]]:
    """Nothing is asked, and the run stays as it is; :func:`route` has judges rate a run by the file.

    Returns:
        For each metric what each judge settles with its bound, what is left to people, and the thresholds tried.

    Raises:
        BedsideError: no such run or rater, too little that people rated, or a judge that doesn't say how sure it is;
            with ``out``, no judge that can be left alone. A metric on which none can isn't kept.
    """
    from bedside.reports.tuning import cascade_tables
    from bedside.tuning.cascade import CascadeTerms, cascade_findings, fit_cascade, write_cascade

    view = _whole_view(open_run(run), settings.rounds, settings.scales)
    terms = CascadeTerms(settings.disagreement, settings.confidence, settings.within)
    judges, metrics = listed(settings.judges, "judges"), listed(settings.metrics, "metrics")
    fitted, fits = fit_cascade(view, settings.name, judges, terms, metrics=metrics)
    if settings.out is not None:
        if not fitted.metrics:
            raise DataError(
                "no judge can be left alone, so there is no cascade to keep", where=view.name,
                todo="see the thresholds tried without `out`; more labels or more `disagreement` may change it",
            )  # fmt: skip
        write_cascade(fitted, settings.out)
    return Tables(cascade_tables(fits), fits, findings=cascade_findings(fits))


@settings_class
class RouteSettings(Requests):
    """Have the judges of a cascade rate a run, each where those before it are unsure.

    Judges are asked as they were where the cascade was fitted. What no judge settles is left to people: bedside sample
    draws it for them. The same command again asks only what is missing.

    Examples:
        $ bedside judge route run --cascade cascade.json --dry-run
        $ bedside judge route run --cascade cascade.json --max-cost 5
        $ bedside sample run --cascade cascade --per 40
    """

    cascade: str | os.PathLike[str] = option(
        "The cascade's file, as bedside judge cascade --out wrote it.",
        "--cascade", heading=JUDGES, metavar="FILE", form="path", kw_only=False,
    )  # fmt: skip
    rubric_folder: str | os.PathLike[str] | None = option(
        "Folder of your own rubrics.", default=None, heading=OPTIONS, metavar="FOLDER"
    )
    progress: JudgingWatch | None = option("Called with the judge and how far it is.", default=None, heading=None)


@question(RouteSettings, "The run, or its folder.")
def route(run: RunOrFolder, settings: RouteSettings) -> Tables[tuple[Routed, ...]]:
    """The cascade's ratings join the run as those of a jury, ``jury:NAME@cascade-VERSION``. What is left to people has
    the last judge's level, which their ratings correct in an estimate.

    Returns:
        How many units each judge settled, and how many are left to people.

    Raises:
        BedsideError: no such run, file or rubric, or a judge that can't be asked; what it answered before is kept.
    """
    from bedside.judges.settings import judge_settings
    from bedside.reports.tuning import routed_tables
    from bedside.tuning.cascade import read_cascade, route_run, routed_findings

    opened, read, how = open_run(run), read_cascade(settings.cascade), judge_settings(settings)
    routed = route_run(opened, read, settings=how, folder=settings.rubric_folder, progress=settings.progress)
    return Tables(routed_tables(routed), routed, findings=routed_findings(routed))


@question(RouteSettings, "The run, or its folder.")
def preview_route(run: RunOrFolder, settings: RouteSettings) -> Tables[tuple[RubricPlan, ...]]:
    """Nothing is asked: it says how many requests, tokens and dollars the same call of route would take at most.

    Raises:
        BedsideError: as for :func:`route`.
    """
    from bedside.judges.settings import judge_settings
    from bedside.reports.judgements import plan_table
    from bedside.tuning.cascade import preview_routes, read_cascade

    opened, read, how = open_run(run), read_cascade(settings.cascade), judge_settings(settings)
    plans = preview_routes(opened, read, settings=how, folder=settings.rubric_folder)
    note = "At most: judges after the first are asked only where those before them are unsure."
    return Tables([plan_table(plans, (), [note])], plans)


@settings_class
class LearnSettings(Seeded):
    """Learn to rate from people's ratings: the cheap baseline that any judge should beat.

    The rater knows words, and nothing of the rubric. It rates the run, and its file rates other runs. What it learnt
    from counts in no validation of it.

    Examples:
        $ bedside judge learn run --rubric empathy --split .5 --out empathy.npz
        $ bedside score talks/ --rater empathy.npz
    """

    rubric: str = option(
        "Rubric, metric or code that people rated.",
        "--rubric", "--metric", heading=WHICH, metavar="NAME", offers="rated", kw_only=False,
    )  # fmt: skip
    out: str | os.PathLike[str] = option(
        "The rater's file to write; its name ends in .npz.",
        "--out", "-o", heading=OUTPUT, metavar="FILE", kw_only=False,
    )  # fmt: skip
    split: float = option(
        "Share of cases to learn from; the rater is tried on the others. With 1 it learns from all, and raters like it "
        "are tried on what each has not learnt from.",
        default=0.5, heading=HOW, metavar="SHARE",
    )  # fmt: skip
    features: str = option(
        "What it looks at: text, or embeddings:MODEL with the folder of a sentence-embedding model or the name of a "
        "package that ships one.",
        default="text", heading=HOW, metavar="NAME",
    )  # fmt: skip
    rounds: Names | None = ROUNDS
    scales: Names = SCALES


@question(LearnSettings, "The run, or its folder.")
def learn_rater(run: RunOrFolder, settings: LearnSettings) -> Tables[LearnedRaterTrial]:
    """The run keeps its text, and is changed. :func:`rate` has the rater rate other runs.

    Returns:
        Its agreement with people, the human ceiling, and each judge beside it.

    Raises:
        BedsideError: no such run or rubric, too few ratings by people, or a file that can't be written.
    """
    from bedside.metrics.coders.learned.array_file import check_target
    from bedside.reports.tuning import trial_tables
    from bedside.scoring.run_transcripts import kept_transcripts
    from bedside.tuning.learned_rater import RATER_FILE, add_learned_ratings, save_rater
    from bedside.tuning.rater_training import teach_rater, try_rater

    check_target(settings.out, RATER_FILE)
    grams, embeddings = _features(settings.features)
    opened = open_run(run)
    with opened.locked():
        view = _whole_view(opened, settings.rounds, settings.scales)
        (metric,) = view.metrics([settings.rubric])[:1]
        taught = teach_rater(view, metric, share=settings.split, grams=grams, embeddings=embeddings, seed=settings.seed)
        save_rater(taught.rater, settings.out)
        add_learned_ratings(opened, taught.rater, kept_transcripts(opened))
    view = _whole_view(opened, settings.rounds, settings.scales)
    trial = try_rater(view, taught.rater, taught.fresh, seed=settings.seed)
    return Tables(trial_tables([trial]), trial)


def rate(
    run: RunOrFolder,
    rater: str | os.PathLike[str],
    *,
    transcripts: TranscriptInput | None = None,
    options: ReadOptions | None = None,
    embeddings: str | os.PathLike[str] | None = None,
) -> str:
    """Have a learned rater rate a run's transcripts; its ratings join the run.

    Args:
        run: the run; it is changed.
        rater: the file that :func:`learn_rater` wrote.
        transcripts: the files, or transcripts in memory, that the run was scored from; those it keeps unless given.
        options: how to read the files.
        embeddings: the folder of the embedding model, for a rater that needs one and doesn't find it.

    Returns:
        The rater's name in the ratings table.

    Raises:
        BedsideError: no such run or file, or a file that is no learned rater's.
    """
    from bedside.scoring.run_transcripts import checked_transcripts, kept_transcripts, read_again
    from bedside.tuning.learned_rater import add_learned_ratings, load_rater

    loaded = load_rater(rater, embeddings)
    opened = open_run(run)
    with opened.locked():
        source = (
            kept_transcripts(opened)
            if transcripts is None
            else checked_transcripts(opened, read_again(transcripts, options))
        )
        add_learned_ratings(opened, loaded, source)
    return loaded.rater


def _features(text: str) -> tuple[bool, Embeddings | None]:
    """Whether n-grams are looked at, and the embedding model, if any."""
    kind, _, name = text.partition(":")
    if text == "text":
        return True, None
    if kind == "embeddings" and name:
        from bedside.metrics.coders.learned.embeddings import Embeddings

        return False, Embeddings(name)
    raise InputError(
        f"{text!r:.60} says no features",
        where="`features`",
        todo="give text, or embeddings:MODEL with a folder or the name of a package",
    )
