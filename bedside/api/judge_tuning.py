"""Judges made better or tried, from Python: tuned rubrics, probes, juries and learned raters."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from bedside.api.judging import judge_settings, named_judges
from bedside.api.run_files import RunOrFolder, open_run
from bedside.core.errors import InputError
from bedside.core.words import Names, listed
from bedside.ratings.names import is_judge
from bedside.ratings.run import Run
from bedside.reports.table import Table, Tables

if TYPE_CHECKING:
    from bedside.analysis.jury_agreement import JuryAgreement
    from bedside.analysis.ratings_view import RatingsView
    from bedside.judges.call_plan import RubricPlan
    from bedside.judges.prompt import Order
    from bedside.judges.rubrics.rubric import Rubric
    from bedside.judges.settings import JudgeSettings
    from bedside.metrics.coders.learned.embeddings import Embeddings
    from bedside.ratings.juries import JuryRule
    from bedside.scoring.judging_orders import RubricNames
    from bedside.scoring.run_judging import JudgingWatch
    from bedside.transcripts import ReadOptions
    from bedside.transcripts.memory_reading import TranscriptInput
    from bedside.transcripts.transcript import Transcript
    from bedside.tuning.label_split import LabelSplit
    from bedside.tuning.probes.probing import Probed, ProbeOrder, ProbingWatch
    from bedside.tuning.rater_training import LearnedRaterTrial
    from bedside.tuning.tuned_judge import TuningOrder, TuningOutcome


# -- Judges made better by people's ratings -------------------------------------------------------------


@dataclass(frozen=True, slots=True, repr=False)
class TunedJudge:
    """What tuning a rubric for a judge came to.

    Attributes:
        rubric: the tuned rubric, with its history, to judge by; None where nothing that was tried did better in
            training.
        outcome: the split, the candidates, and the figures on what was held out.
        tables: the same as tables.
    """

    rubric: Rubric | None
    outcome: TuningOutcome
    tables: tuple[Table, ...]

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


def tune_judge(
    run: RunOrFolder,
    judge: str,
    *,
    rubric: str | os.PathLike[str] | Rubric,
    split: float = 0.5,
    wordings: int = 4,
    examples: int = 3,
    budget: int | None = None,
    out: str | os.PathLike[str] | None = None,
    rounds: Names | None = None,
    temperature: float | None = 0.0,
    max_concurrency: int = 8,
    max_calls: int | None = None,
    max_cost: float | None = None,
    max_prompt_tokens: int | None = None,
    order: Order = "transcript-first",
    price: tuple[float, float] | tuple[float, float, float] | None = None,
    seed: int = 0,
    progress: JudgingWatch | None = None,
) -> TunedJudge:
    """Tune a rubric for a judge by people's ratings: learnt from some cases, shown on the others.

    The judge rates the training units, proposes wordings from where it disagrees with people, and tries the best of
    them with examples that people rated; maps of levels are learnt. What agrees best with people in training rates the
    units that were held out, once, beside the rubric as it was: that alone is the result. Every judgement is kept in
    the run; the same call after a stop asks only what is missing.

    Args:
        run: the run, or its folder; people rated its transcripts by the rubric, and it keeps their text.
        judge: a model, as for :func:`bedside.judge`.
        rubric: its name or file, or the rubric; it asks for one level of a conversation or turn.
        split: the share of cases to learn from.
        wordings: how many wordings the judge proposes; 0 leaves the wording as it is.
        examples: how many examples are shown; 0 makes a rubric that holds no text of a transcript.
        budget: most judgements in all; fewer wordings are tried where it is small.
        out: the file for the tuned rubric, which ends in ``.yaml``; written whether or not a gain is shown, which it
            says. With examples it holds parts of transcripts.
        rounds: the rounds of annotation that count, as for :func:`bedside.agree`.
        temperature, max_concurrency, max_calls, max_cost, max_prompt_tokens, order, price, progress: as for
            :func:`bedside.judge`.
        seed: of the split and all other draws.

    Raises:
        BedsideError: there are too few ratings by people, which is said with how many are needed; a rubric that can't
            be tuned; a budget that is too small; or a judge that can't be asked. What it answered is kept.
    """
    from bedside.judges.llm.contract import check_models
    from bedside.reports.tuning import tuning_tables
    from bedside.tuning.tuned_judge import tune
    from bedside.tuning.tuned_rubric import check_rubric_file, with_history, write_tuned_rubric

    settings = judge_settings(
        temperature=temperature,
        max_concurrency=max_concurrency,
        max_calls=max_calls,
        max_cost=max_cost,
        max_prompt_tokens=max_prompt_tokens,
        order=order,
        price=price,
        seed=seed,
    )
    file = None if out is None else check_rubric_file(out)
    opened = open_run(run)
    asked = _ordered(judge, rubric, opened, settings, split, wordings=wordings, examples=examples, budget=budget)
    view, parts = _split_of(opened, asked, rounds)
    check_models([asked.judge])
    watch = None if progress is None else partial(progress, asked.judge.shown)
    with opened.locked():
        outcome = tune(opened, parts, asked, progress=watch)
    tuned = with_history(outcome, asked, view)
    if tuned is not None and file is not None:
        write_tuned_rubric(tuned, file)
    return TunedJudge(tuned, outcome, tuning_tables(outcome, asked.rubric.title))


def preview_tuning(
    run: RunOrFolder,
    judge: str,
    *,
    rubric: str | os.PathLike[str] | Rubric,
    split: float = 0.5,
    wordings: int = 4,
    examples: int = 3,
    budget: int | None = None,
    rounds: Names | None = None,
    temperature: float | None = 0.0,
    max_prompt_tokens: int | None = None,
    order: Order = "transcript-first",
    price: tuple[float, float] | tuple[float, float, float] | None = None,
    seed: int = 0,
) -> Tables[tuple[RubricPlan, ...]]:
    """What :func:`tune_judge` with the same arguments would ask at most. Nothing is asked.

    Args:
        run, judge, rubric, split, wordings, examples, budget, rounds, temperature, max_prompt_tokens, order, price,
            seed: as for :func:`tune_judge`.

    Raises:
        BedsideError: as for :func:`tune_judge`.
    """
    from bedside.reports.judgements import plan_table
    from bedside.tuning.tuned_rubric import forecast

    settings = judge_settings(
        temperature=temperature, max_prompt_tokens=max_prompt_tokens, order=order, price=price, seed=seed
    )
    opened = open_run(run)
    asked = _ordered(judge, rubric, opened, settings, split, wordings=wordings, examples=examples, budget=budget)
    _, parts = _split_of(opened, asked, rounds)
    plans = forecast(opened, parts, asked)
    note = (
        f"At most: {len(parts.training):,} units to learn from, {len(parts.held_out):,} held out. Where no wording or "
        "example does better in training, less is asked."
    )
    return Tables([plan_table(plans, (), [note])], plans)


def _ordered(
    judge: str,
    rubric: str | os.PathLike[str] | Rubric,
    run: Run,
    settings: JudgeSettings,
    split: float,
    *,
    wordings: int,
    examples: int,
    budget: int | None,
) -> TuningOrder:
    """What is to be tuned, and how; what is misspelt stops here."""
    from bedside.judges.llm.endpoints import model_name
    from bedside.judges.settings import check_numbers
    from bedside.scoring.judging_orders import rubrics_of
    from bedside.tuning.tuned_judge import TuningOrder

    check_numbers(least=0, wordings=wordings, examples=examples)
    if budget is not None:
        check_numbers(budget=budget)
    chosen = rubrics_of(rubric, run)
    if len(chosen) != 1:
        raise InputError("one rubric is tuned at a time", where="`rubric`", todo="name one")
    return TuningOrder(
        judge=model_name(judge),
        rubric=chosen[0],
        settings=settings,
        share=split,
        wordings=wordings,
        examples=examples,
        budget=budget,
        seed=settings.seed,
    )


def _split_of(run: Run, order: TuningOrder, rounds: Names | None) -> tuple[RatingsView, LabelSplit]:
    """The run's ratings, and the two parts of what people rated."""
    from bedside.analysis.ratings_view import open_ratings_view
    from bedside.tuning.tuned_judge import prepared_split

    if not run.keeps_text:
        raise InputError(
            "the run keeps no text, so that nothing of it can be shown to a judge",
            where=str(run.path),
            todo="score into a run that keeps text, without `text=False`",
        )
    view = open_ratings_view(run, rounds=listed(rounds, "rounds"), one_kind=False)
    return view, prepared_split(view, order)


# -- Probing judges from Python -------------------------------------------------------------------------


def probe(
    run: RunOrFolder,
    judges: Names,
    *,
    probes: Names | None = None,
    rubrics: RubricNames | None = None,
    transcripts: int = 30,
    passes: int = 1,
    margin: float | None = None,
    translator: str | None = None,
    language: str | None = None,
    translations: TranscriptInput | None = None,
    made_by: Mapping[str, str] | None = None,
    temperature: float | None = 0.0,
    reasoning_effort: str | None = None,
    max_concurrency: int = 8,
    max_calls: int | None = None,
    max_cost: float | None = None,
    max_prompt_tokens: int | None = None,
    max_tokens: int = 4096,
    order: Order = "transcript-first",
    price: tuple[float, float] | tuple[float, float, float] | None = None,
    seed: int = 0,
    progress: ProbingWatch | None = None,
) -> Tables[tuple[Probed, ...]]:
    """Does a judge's level move with what it must not move with, or stay where it must move?

    A sample of conversations is shown to the judge as it is, again, and changed: padded, reordered, formatted, with
    orders and flattery in it, in another language, by a reworded rubric. Answers are kept in the run as they come: the
    same call after a stop asks only what is missing. What came of it stands in the run's report; no rating joins it.

    Args:
        run: the run, or its folder.
        judges: models, as for :func:`bedside.judge`.
        probes: names; all of them unless named. The same prompt asked again is always among them.
        rubrics: names, files or objects that give a whole conversation one level; those that judges
            rated the run by, else those of its suite, unless named.
        transcripts: how many are drawn, as many of each system.
        passes: how often each prompt is asked; the originals twice as often.
        margin: by how much a level may move and still count as where it was, in levels; half a level unless given.
        translator: the model that translates conversations; without it and without ``translations``, the judge isn't
            shown another language.
        language: the tag of the language it translates into; English unless named, and of English conversations
            Chinese.
        translations: translated conversations with the ids of the originals, turn by turn, in place of a translator.
        made_by: the model that made each system's conversations, where the run doesn't know it: the judge's levels of
            its own model's conversations are set against people's.
        temperature, reasoning_effort, max_concurrency, max_calls, max_cost, max_prompt_tokens, max_tokens, order,
            price: as for
            :func:`bedside.judge`; the limits are those of all judges and of the translator together.
        seed: of the sample, of what changes draw, of random waits, and of sampling where the temperature isn't 0.
        progress: called with who is asked and how far they are.

    Raises:
        BedsideError: a name that is none, a rubric without levels, a run without texts, or a model that can't be asked;
            what was answered before is kept.
    """
    from bedside.judges.call_plan import JudgeBudget
    from bedside.judges.llm.contract import check_models
    from bedside.reports.judgements import judged_table
    from bedside.tuning.probes.probing import probe_judge

    call = _ProbingCall(run, rubrics)
    orders = call.orders(
        judges,
        probes,
        transcripts=transcripts,
        margin=margin,
        translator=translator,
        language=language,
        translations=translations,
        seed=seed,
        passes=passes,
        temperature=temperature,
        reasoning_effort=reasoning_effort,
        max_concurrency=max_concurrency,
        max_calls=max_calls,
        max_cost=max_cost,
        max_prompt_tokens=max_prompt_tokens,
        max_tokens=max_tokens,
        order=order,
        price=price,
    )
    call.check_makers(made_by)
    check_models(model for asked in orders for model in asked.models)
    budget = JudgeBudget(max_cost)
    probed = tuple(probe_judge(call.run, asked, progress=progress, budget=budget) for asked in orders)
    tables = [
        table if len(probed) == 1 else replace(table, name=f"{table.name}_{number}")
        for number, each in enumerate(probed, 1)
        for table in call.tables(each, made_by)
    ]
    judged = judged_table([summary for each in probed for summary in each.judged], call.rubrics)
    return Tables([*tables, judged], probed)


def preview_probe(
    run: RunOrFolder,
    judges: Names,
    *,
    probes: Names | None = None,
    rubrics: RubricNames | None = None,
    transcripts: int = 30,
    passes: int = 1,
    translator: str | None = None,
    language: str | None = None,
    translations: TranscriptInput | None = None,
    temperature: float | None = 0.0,
    reasoning_effort: str | None = None,
    max_concurrency: int = 8,
    max_prompt_tokens: int | None = None,
    max_tokens: int = 4096,
    order: Order = "transcript-first",
    price: tuple[float, float] | tuple[float, float, float] | None = None,
    seed: int = 0,
) -> Tables[tuple[RubricPlan, ...]]:
    """What :func:`probe` with the same arguments would ask: requests, tokens, dollars. Nothing is asked or written.

    Args:
        run, judges, probes, rubrics, transcripts, passes, translator, language, translations, temperature,
            reasoning_effort, max_concurrency, max_prompt_tokens, max_tokens, order, price, seed: as for :func:`probe`.

    Raises:
        BedsideError: as for :func:`probe`.
    """
    from bedside.judges.raters import endpoint_lines
    from bedside.reports.judgements import plan_table
    from bedside.tuning.probes.probing import preview_probing

    call = _ProbingCall(run, rubrics)
    orders = call.orders(
        judges,
        probes,
        transcripts=transcripts,
        translator=translator,
        language=language,
        translations=translations,
        seed=seed,
        passes=passes,
        temperature=temperature,
        reasoning_effort=reasoning_effort,
        max_concurrency=max_concurrency,
        max_prompt_tokens=max_prompt_tokens,
        max_tokens=max_tokens,
        order=order,
        price=price,
    )
    plans = tuple(plan for asked in orders for plan in preview_probing(call.run, asked))
    lines = endpoint_lines(listed(judges, "judges"), orders[0].settings.max_concurrency)
    return Tables([plan_table(plans, call.rubrics, lines)], plans)


class _ProbingCall:
    """What is probed: names that are none stop here, before anything is asked.

    Attributes:
        run: the run.
        rubrics: what judges rate by.
    """

    def __init__(self, run: RunOrFolder, rubrics: RubricNames | None) -> None:
        from bedside.ratings.suites.run_suites import suites_of
        from bedside.scoring.judging_orders import rubrics_of
        from bedside.tuning.probes.probe_trials import check_probeable, probeable

        self.run = open_run(run)
        if rubrics is not None:
            self.rubrics: tuple[Rubric, ...] = rubrics_of(rubrics, self.run)
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

    def orders(
        self,
        judges: Names,
        probes: Names | None,
        *,
        translator: str | None,
        language: str | None,
        translations: TranscriptInput | None,
        transcripts: int,
        seed: int,
        margin: float | None = None,
        **settings: Any,
    ) -> list[ProbeOrder]:
        """What each judge is asked."""
        from bedside.judges.llm.endpoints import model_name
        from bedside.tuning.probes.probe_trials import probes_named
        from bedside.tuning.probes.probing import ProbeOrder

        _, names = named_judges(judges)
        return [
            ProbeOrder(
                judge=name,
                rubrics=self.rubrics,
                probes=probes_named(None if probes is None else listed(probes, "probes")),
                settings=judge_settings(**settings, seed=seed),
                transcripts=transcripts,
                seed=seed,
                margin=margin,
                translator=None if translator is None else model_name(translator),
                language=language,
                translations=None if translations is None else dict(_by_id(translations)),
            )
            for name in names
        ]

    def check_makers(self, made_by: Mapping[str, str] | None) -> None:
        """Refuse systems that are none."""
        from bedside.analysis.self_preference import makers

        if made_by:
            makers(self._view(), made_by)

    def tables(self, probed: Probed, made_by: Mapping[str, str] | None) -> Iterator[Table]:
        """The table of a judge's probes, and of its preference for its own model's conversations, where known."""
        from bedside.analysis.self_preference import self_preferences
        from bedside.reports.validation import probe_table, self_preference_table

        own = {rubric.name: rubric for rubric in self.rubrics}
        yield probe_table(probed.record, own)
        table = self_preference_table(self_preferences(self._view(), probed.record.rater, made_by))
        if table is not None:
            yield table

    def _view(self) -> Any:
        from bedside.analysis.ratings_view import open_ratings_view
        from bedside.analysis.study_parts import ALL_ROUNDS

        return open_ratings_view(self.run, rounds=[ALL_ROUNDS], one_kind=False)


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


def jury(
    run: RunOrFolder,
    name: str,
    judges: Names,
    *,
    by: JuryRule = "median",
    quorum: int | None = None,
    metrics: Names | None = None,
    split: float = 0.5,
    rounds: Names | None = None,
    scales: Names = (),
    seed: int = 0,
) -> Tables[tuple[JuryAgreement, ...]]:
    """Make several judges of a run one rater, whose ratings join the run; no model is asked anything.

    The jury's ratings follow from its members': whenever these change, they are made anew. Its name in the ratings
    table, ``jury:NAME@RULE-VERSION``, says how it combines and changes with members and weights. A jury of the same
    name is replaced.

    Args:
        run: the run; it is changed.
        name: the jury's.
        judges: the members: raters of the run, two or more, such as ``judge:openai/gpt-5-mini``; ``judge:`` may be
            left out.
        by: ``median`` (default), ``mean`` (the level nearest the mean, which itself stands in ``<metric>.expected``),
            ``majority`` (the most frequent level), or ``weights`` learnt from people's ratings. Labels go by most
            votes. A tie is missing, and says so.
        quorum: how many members must have rated a unit for the jury to rate it; all unless given.
        metrics: metrics or patterns; all that every member has rated unless named.
        split: for ``weights``, the share of cases that they are learnt from; these count in no validation of the jury.
        rounds: the rounds of annotation whose ratings by people count, where there are several.
        scales: scales that go before those kept in the run.
        seed: of the split.

    Returns:
        The members' agreement among themselves; and where people rated, the jury beside each member on the units that
        it has not learnt from.

    Raises:
        BedsideError: no such run or rater, or too few ratings by people to learn weights from.
    """
    from bedside.analysis.jury_agreement import jury_agreement
    from bedside.analysis.ratings_view import open_ratings_view
    from bedside.analysis.study_parts import ALL_ROUNDS
    from bedside.ratings.scales import parse_scales
    from bedside.reports.methods import jury_tables
    from bedside.tuning.jury_making import add_jury, jury_of

    opened = open_run(run)
    parsed = parse_scales(listed(scales, "scales"))
    asked = listed(rounds, "rounds")
    members = listed(judges, "judges") or []
    with opened.locked():
        # Whose ratings count matters only where something is learnt from people.
        of_people = asked if by == "weights" else [ALL_ROUNDS]
        view = open_ratings_view(opened, scales=parsed, rounds=of_people, one_kind=False)
        panel, splits = jury_of(
            view,
            name,
            members,
            rule=by,
            quorum=quorum,
            metrics=listed(metrics, "metrics"),
            share=split,
            seed=seed,
        )
        add_jury(opened, panel, splits)
    view = open_ratings_view(opened, scales=parsed, rounds=asked, one_kind=False)
    agreements = jury_agreement(view, name, seed=seed)
    return Tables(jury_tables(agreements), agreements)


def learn_rater(
    run: RunOrFolder,
    rubric: str,
    out: str | os.PathLike[str],
    *,
    split: float = 0.5,
    features: str = "text",
    rounds: Names | None = None,
    scales: Names = (),
    seed: int = 0,
) -> Tables[LearnedRaterTrial]:
    """Learn to rate from people's ratings and the text alone: the cheap baseline that any judge should beat.

    The rater is written to a file, and rates the run's transcripts; :func:`rate` has it rate other runs. What it learnt
    from counts in no validation of it.

    Args:
        run: a run that keeps its text; it is changed.
        rubric: the rubric, metric or code that people rated.
        out: the file to write, ``NAME.npz``.
        split: the share of cases to learn from; it is tried on the others. With 1 it learns from all, and is tried out
            of fold: raters like it learn from four fifths of the cases and rate the rest.
        features: ``text`` for hashed words and characters, or ``embeddings:MODEL`` for sentence embeddings, where MODEL
            is a folder or a package that ships a model.
        rounds: the rounds of annotation whose ratings by people count, where there are several.
        scales: scales that go before those kept in the run.
        seed: of the split and of the parts.

    Returns:
        Its agreement with people, the human ceiling, and each judge beside it.

    Raises:
        BedsideError: no such run or rubric, too few ratings by people, or a file that can't be written.
    """
    from bedside.analysis.ratings_view import open_ratings_view
    from bedside.metrics.coders.learned.array_file import check_target
    from bedside.ratings.scales import parse_scales
    from bedside.reports.methods import trial_tables
    from bedside.scoring.run_transcripts import kept_transcripts
    from bedside.tuning.learned_rater import RATER_FILE, add_learned_ratings, save_rater
    from bedside.tuning.rater_training import teach_rater, try_rater

    check_target(out, RATER_FILE)
    grams, embeddings = _features(features)
    opened = open_run(run)
    parsed, asked = parse_scales(listed(scales, "scales")), listed(rounds, "rounds")
    with opened.locked():
        view = open_ratings_view(opened, scales=parsed, rounds=asked, one_kind=False)
        (metric,) = view.metrics([rubric])[:1]
        taught = teach_rater(view, metric, share=split, grams=grams, embeddings=embeddings, seed=seed)
        save_rater(taught.rater, out)
        add_learned_ratings(opened, taught.rater, kept_transcripts(opened))
    view = open_ratings_view(opened, scales=parsed, rounds=asked, one_kind=False)
    trial = try_rater(view, taught.rater, taught.fresh, seed=seed)
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
