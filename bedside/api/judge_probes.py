"""Probing judges from Python: whether their levels move with what they must not move with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bedside.api.judging import judge_settings, named_judges
from bedside.api.run_files import RunOrFolder, open_run
from bedside.core.errors import InputError
from bedside.core.words import Names, listed
from bedside.ratings.names import is_judge
from bedside.ratings.run import Run
from bedside.reports.table import Table, Tables

if TYPE_CHECKING:
    from bedside.judges.call_plan import RubricPlan
    from bedside.judges.prompt import Order
    from bedside.judges.rubrics.rubric import Rubric
    from bedside.scoring.judging_orders import RubricNames
    from bedside.transcripts.memory_reading import TranscriptInput
    from bedside.transcripts.transcript import Transcript
    from bedside.tuning.probes.probing import Probed, ProbeOrder, ProbingWatch


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
    from bedside.judges.cost_limit import JudgeBudget
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
        from bedside.reports.probes import probe_table
        from bedside.reports.self_preference import self_preference_table

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
    from bedside.judges.rubrics.rubric_files import RUBRICS
    from bedside.judges.rubrics.run_rubrics import own_rubrics

    own = own_rubrics(run)
    rated = run.ratings.select("metric", "rater").unique(maintain_order=True).iter_rows()
    names = dict.fromkeys(metric for metric, rater in rated if is_judge(rater))
    return [name for name in names if name in own or name in RUBRICS]


def _by_id(translations: TranscriptInput) -> Iterator[tuple[str, Transcript]]:
    from bedside.transcripts.memory_reading import open_reading, several_times

    for transcript in open_reading(several_times(translations), None):
        yield transcript.id, transcript
