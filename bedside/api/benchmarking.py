"""A benchmark in one call: conversations are simulated, scored and reported, and each step goes on where it stopped."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

from bedside.core.errors import InputError
from bedside.core.question_settings import JUDGES, OPTIONS, option, question, settings_class
from bedside.core.words import Names, counted, listed
from bedside.simulation.talk_settings import CLINICIAN, COST, Replaying, TalkLimits, TalkSettings

if TYPE_CHECKING:
    from bedside.api.benchmark_steps import (
        Benchmark,
        BenchmarkCast,
        BenchmarkLimits,
        BenchmarkRequest,
        BenchmarkWatch,
        Prices,
    )
    from bedside.judges.call_plan import RubricPlan
    from bedside.reports.benchmark_plan import BenchmarkPreview
    from bedside.reports.table import Tables
    from bedside.simulation.actor_contract import Named
    from bedside.simulation.simulation_plan import ActorInput, CaseInput

#: Conversations of toys, about, by which judges' calls are counted.
_PLAYED = 20


@settings_class
class PreviewedBenchmark(TalkSettings):
    """What a benchmark would take: calls, tokens, dollars, time. Nothing is asked.

    Conversations are counted as by preview_simulation. What judges would be asked is counted in conversations between
    the protocol's toys, which stand for those to come.
    """

    judges: Names = option(
        "Language models that rate by the suite's rubrics: openai/MODEL, http://host:port/v1#MODEL …, or YAML files of "
        "addresses; addresses of one model share its requests. Without any, what needs a judge is missing, with the "
        "reason.",
        "--judge", default=(), heading=JUDGES, metavar="MODEL", form="repeated", offers="judges",
    )  # fmt: skip
    cases: CaseInput | None = option(
        "Files or folders of cases, or cases themselves; the protocol's own, which are invented, unless given.",
        default=None, heading=None,
    )  # fmt: skip
    max_concurrency: int = option(
        "Most calls under way at once to a model or agent, or to each address that serves it.",
        default=8, heading=COST, metavar="NUMBER",
    )  # fmt: skip

    def of_protocol(self, protocol: str) -> BenchmarkRequest:
        """What is asked for."""
        from bedside.api.benchmark_steps import BenchmarkRequest

        return BenchmarkRequest(
            protocol, _clinicians(self.clinician), tuple(listed(self.judges, "judges")), cases=self.cases,
            **self.planned(),
        )  # fmt: skip


@settings_class
class BenchmarkSettings(PreviewedBenchmark, TalkLimits, Replaying):
    """Simulate conversations, score them by the protocol's suite, report.

    It does what bedside simulate, bedside score and bedside report do, one after the other. The same command goes on
    where it was stopped, and pays for nothing twice. Without a judge, what needs one is missing.

    Examples:
        $ bedside benchmark medconceal --clinician openai/gpt-5-mini --patient openai/gpt-5 --judge openai/o3 --dry-run
        $ bedside benchmark note2chat --clinician script:good --clinician script:brisk --out bench
        $ bedside benchmark medconceal my-cases/ --clinician mypackage.agent:reply --judge openai/gpt-5 --max-cost 5
    """

    out: str | os.PathLike[str] = option(
        "Folder of the benchmark; the same command goes on where it was stopped.",
        "--out", "-o", heading=OPTIONS, metavar="FOLDER", form="path", kw_only=False,
    )  # fmt: skip
    watch: BenchmarkWatch | None = option("What is called while it goes on.", default=None, heading=None)


@settings_class
class ExtendSettings(TalkLimits):
    """Put a new system beside those of a benchmark, which aren't asked again.

    It has the same patients and judges. Cases, patient, evaluator, judges, settings, seed and all else must be as they
    were. Corrections are made anew over all systems.

    Examples:
        $ bedside benchmark add bench --clinician openai/gpt-5
        $ bedside benchmark add bench --clinician mypackage.agent:reply --max-cost 2
    """

    clinician: ActorInput = CLINICIAN
    prices: Prices | None = option(
        "US dollars for a million tokens in and out, by model, where bedside doesn't know them.",
        default=None, heading=None,
    )  # fmt: skip
    watch: BenchmarkWatch | None = option("What is called while it goes on.", default=None, heading=None)


def _limits(settings: TalkLimits, prices: Prices | None) -> BenchmarkLimits:
    from bedside.api.benchmark_steps import BenchmarkLimits

    own = {each.name: getattr(settings, each.name) for each in fields(TalkLimits)}
    return BenchmarkLimits(**own, prices=prices or {}, replay=getattr(settings, "replay", False))


@question(BenchmarkSettings, "The simulator's name, equal to its suite's.")
def benchmark(protocol: str, settings: BenchmarkSettings) -> Benchmark:
    """The limits are those of actors and judges together, in one call; the seed is that of all chance, in
    conversations, judgements and the report's draws.

    Raises:
        BedsideError: a name that is none or a file that can't be read (nothing is written then), another benchmark in
            the folder, or somebody who can't be asked; what was answered before is kept.
    """
    from bedside.api.benchmark_steps import BenchmarkSteps, BenchmarkWatch

    request, limits = settings.of_protocol(protocol), _limits(settings, settings.prices)
    return BenchmarkSteps(Path(settings.out), request, limits, settings.watch or BenchmarkWatch()).go()


@question(ExtendSettings, "The benchmark's folder.")
def extend_benchmark(out: str | os.PathLike[str], settings: ExtendSettings) -> Benchmark:
    """Raises:
    BedsideError: there is no benchmark; or a case, an actor, an option, a rubric or the protocol isn't what it was,
        which is named.
    """
    from bedside.api.benchmark_steps import BenchmarkSteps, BenchmarkWatch, request_of

    folder = Path(out)
    kept = request_of(folder)
    new = _clinicians(settings.clinician)
    if not new:
        raise InputError("no clinician is named", where="`clinician`", todo="name one, such as openai/gpt-5-mini")
    limits, request = _limits(settings, settings.prices), kept.with_clinicians(new)
    return BenchmarkSteps(folder, request, limits, settings.watch or BenchmarkWatch(), earlier=kept).go()


@question(PreviewedBenchmark, "The simulator's name, equal to its suite's.")
def preview_benchmark(protocol: str, settings: PreviewedBenchmark) -> Tables[BenchmarkPreview]:
    """Raises:
    BedsideError: a name that is none, or a file that can't be read.
    """
    from bedside.api.benchmark_steps import BenchmarkCast
    from bedside.api.simulating import preview_simulation
    from bedside.reports.benchmark_plan import BenchmarkPreview, benchmark_plan_table, scaled
    from bedside.reports.judgements import plan_table
    from bedside.reports.simulations import preview_table
    from bedside.reports.table import Tables

    request = settings.of_protocol(protocol)
    cast = BenchmarkCast(request, settings.prices or {})
    cast.check_prices(None)
    simulation = preview_simulation(
        settings.cases, protocol, clinician=request.clinicians, prices=cast.actor_prices(), **request.simulated()
    )
    plans, played = _judging_plans(request, cast)
    factor = simulation.conversations / played if played else 0.0
    preview = BenchmarkPreview(simulation, scaled(plans, factor), played, settings.max_concurrency)
    judging = [
        replace(
            plan_table(preview.judging),
            title=f"What judges would be asked, from {counted(played, 'conversation')} of toys",
        )
    ]
    return Tables([preview_table(simulation), *(judging if plans else []), benchmark_plan_table(preview)], preview)


def _judging_plans(request: BenchmarkRequest, cast: BenchmarkCast) -> tuple[list[RubricPlan], int]:
    """What judges would be asked about some conversations between the protocol's toys, and how many these are."""
    from bedside.api.judging import preview_judging
    from bedside.api.simulating import simulate

    if not cast.judges:
        return [], 0
    cases = request.plan.cases
    each = len(request.plan) // (len(cases) * len(request.plan.clinicians) * request.repeats)
    wanted = min(len(cases), max(1, -(-_PLAYED // max(1, each))))
    toys = replace(
        request, clinicians=("rules",), patient="rules", evaluator=None, ranker=None, repeats=1, sample=None,
        cases=[cases[place * len(cases) // wanted] for place in range(wanted)],
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        talks = simulate(
            toys.cases, toys.protocol, Path(folder) / "talks", clinician=toys.clinicians, **toys.simulated()
        )
        plans: list[RubricPlan] = []
        for judge in cast.judges.values():
            planned = preview_judging(
                talks.folder, judge.texts, suite=request.suite, price=judge.price, seed=request.seed
            )
            plans += planned.results
    return plans, talks.summary.counts.finished


def _clinicians(names: ActorInput) -> tuple[Named, ...]:
    return tuple(names) if isinstance(names, Sequence) and not isinstance(names, str) else (names,)
