"""``bedside benchmark``: simulate, score and report in one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bedside.cli import completion as complete
from bedside.cli.help import App
from bedside.cli.judges import JudgeOption
from bedside.cli.options import SeedOption
from bedside.cli.output import say, say_limit, show_tables
from bedside.cli.parsing import read_names, read_whole_numbers
from bedside.cli.progress import judging_progress, scoring_progress, simulation_progress
from bedside.cli.simulate import (
    CasesArgument,
    ClinicianOption,
    EvaluatorOption,
    LengthsOption,
    MaxConcurrencyOption,
    MaxCostOption,
    MaxRequestsOption,
    MinutesOption,
    ModelPriceOption,
    PatientOption,
    PersonasOption,
    PreviewOption,
    RankerOption,
    RepeatsOption,
    ReplayOption,
    SampleOption,
    SettingOption,
    SimulatorSetOption,
    TimeLimitOption,
    actor_names,
    has_person,
    read_prices,
    say_failures,
    simulator_options,
)
from bedside.core.words import counted, typed
from bedside.ratings.names import is_human

if TYPE_CHECKING:
    from bedside.api.benchmark_steps import Benchmark, BenchmarkWatch

benchmark_app: App = App(
    """Simulate, score and report in one: how good are these clinicians?

    bedside benchmark PROTOCOL … is short for bedside benchmark run PROTOCOL …; add puts a system beside those of a
    benchmark.

    Examples:
        $ bedside benchmark medconceal --clinician openai/gpt-5-mini --patient openai/gpt-5 --judge openai/o3 --dry-run
        $ bedside benchmark note2chat --clinician script:good --clinician script:brisk --out bench
        $ bedside benchmark add bench --clinician rules
    """,
    runs=True,
)
#: What the command makes, unless told otherwise.
_OUT = Path("bench")

ProtocolArgument = Annotated[
    str,
    typer.Argument(
        metavar="PROTOCOL",
        help="Protocol that the conversations follow, and whose suite scores them; bedside simulators lists them.",
        autocompletion=complete.simulators,
    ),
]
BenchmarkOption = Annotated[
    Path,
    typer.Option(
        "--out",
        "-o",
        metavar="FOLDER",
        help="Folder of the benchmark; the same command goes on where it was stopped.",
    ),
]
BenchmarkArgument = Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder that bedside benchmark made.")]


@benchmark_app.command("run")
def benchmark_run(
    protocol: ProtocolArgument,
    cases: CasesArgument = None,
    out: BenchmarkOption = _OUT,
    clinician: ClinicianOption = None,
    patient: PatientOption = "rules",
    evaluator: EvaluatorOption = None,
    ranker: RankerOption = None,
    minutes: MinutesOption = None,
    judge: JudgeOption = None,
    personas: PersonasOption = None,
    setting: SettingOption = None,
    lengths: LengthsOption = None,
    repeats: RepeatsOption = 1,
    sample: SampleOption = None,
    set_: SimulatorSetOption = None,
    max_concurrency: MaxConcurrencyOption = 8,
    max_calls: MaxRequestsOption = None,
    max_cost: MaxCostOption = None,
    price: ModelPriceOption = None,
    time_limit: TimeLimitOption = 120.0,
    dry_run: PreviewOption = False,
    replay: ReplayOption = False,
    seed: SeedOption = 0,
) -> None:
    """Simulate conversations, score them by the protocol's suite, report.

    It does what bedside simulate, bedside score and bedside report do, one after the other. The same command goes on
    where it was stopped, and pays for nothing twice. Without a judge, what needs one is missing.

    Examples:
        $ bedside benchmark medconceal --clinician openai/gpt-5-mini --patient openai/gpt-5 --judge openai/o3 --dry-run
        $ bedside benchmark note2chat --clinician script:good --clinician script:brisk --out bench
        $ bedside benchmark medconceal my-cases/ --clinician mypackage.agent:reply --judge openai/gpt-5 --max-cost 5
    """
    from bedside import benchmark, preview_benchmark

    actors: dict[str, Any] = {
        "clinician": clinician or [],
        "patient": patient,
        "evaluator": evaluator,
        "ranker": ranker,
    }
    asked: dict[str, Any] = {
        **actors,
        "judges": judge or [],
        "cases": cases or None,
        "personas": personas,
        "settings": read_names(setting) or [],
        "lengths": read_whole_numbers(lengths, "--lengths") if lengths else [],
        "repeats": repeats,
        "sample": sample,
        "seed": seed,
        "options": simulator_options(set_ or [], protocol),
        "max_concurrency": max_concurrency,
        "prices": read_prices(price or [], [*actor_names(actors), *(judge or [])]),
    }
    if dry_run:
        show_tables(preview_benchmark(protocol, **asked))
        return
    with _watched(bar=not has_person(actors)) as watch:
        done = benchmark(
            protocol,
            out,
            **asked,
            max_calls=max_calls,
            max_cost=max_cost,
            time_limit=time_limit,
            minutes=minutes,
            replay=replay,
            watch=watch,
        )
    _say_done(done, judged=bool(judge), max_cost=max_cost)


@benchmark_app.command("add")
def benchmark_add(
    folder: BenchmarkArgument,
    clinician: ClinicianOption = None,
    minutes: MinutesOption = None,
    max_concurrency: MaxConcurrencyOption = 8,
    max_calls: MaxRequestsOption = None,
    max_cost: MaxCostOption = None,
    price: ModelPriceOption = None,
    time_limit: TimeLimitOption = 120.0,
) -> None:
    """Put a new system beside those of a benchmark, which aren't asked again.

    It has the same patients and judges. Cases, patient, evaluator, judges, settings, seed and all else must be as they
    were. Corrections are made anew over all systems.

    Examples:
        $ bedside benchmark add bench --clinician openai/gpt-5
        $ bedside benchmark add bench --clinician mypackage.agent:reply --max-cost 2
    """
    from bedside import extend_benchmark

    names = clinician or []
    with _watched(bar=not any(map(is_human, names))) as watch:
        done = extend_benchmark(
            folder,
            clinician=names,
            max_concurrency=max_concurrency,
            max_calls=max_calls,
            max_cost=max_cost,
            prices=read_prices(price or [], names),
            time_limit=time_limit,
            minutes=minutes,
            watch=watch,
        )
    _say_done(done, judged=True, max_cost=max_cost)


@contextmanager
def _watched(*, bar: bool) -> Iterator[BenchmarkWatch]:
    """Progress of each step; where a person types, nothing is written between their lines.

    A step's bar is there from its first call to the first of the next step.
    """
    from bedside.api.benchmark_steps import BenchmarkWatch

    with ExitStack() as stack:
        shown: dict[str, Any] = {}

        def step(name: str, progress: Any) -> Any:
            def call(*state: Any) -> None:
                if name not in shown:
                    stack.pop_all().close()
                    shown[name] = stack.enter_context(progress())
                if shown[name] is not None:
                    shown[name](*state)

            return call

        yield BenchmarkWatch(
            simulating=step("simulating", lambda: simulation_progress(bar=bar)),
            scoring=step("scoring", scoring_progress),
            judging=step("judging", judging_progress),
        )


def _say_done(done: Benchmark, *, judged: bool, max_cost: float | None) -> None:
    """What became of the benchmark, and what to do next."""
    from bedside.judges.counts import spent

    if done.report is not None:
        show_tables([done.leaderboard])
    counts = done.simulation.summary.counts
    asked = sum(summary.calls for run in done.judged for summary in run.judges)
    say(
        f"{counted(counts.finished, 'conversation')} of {counts.planned:,} in {done.simulation.folder}; "
        f"{counted(done.asked, 'call')} of actors and {asked:,} of judges asked now."
    )
    say_failures(counts, done.simulation.folder)
    if not judged and done.report is not None:
        _say_unjudged(done)
    if done.report is not None:
        say(f"The report: {done.report.page}")
    if not done.complete:
        judging = spent(summary for run in done.judged for summary in run.judges)
        say_limit(None if judging is None else done.simulation.summary.cost + judging, max_cost, say)
        say(f"{done.left[0].upper()}{done.left[1:]}: the same command goes on.")


def _say_unjudged(done: Benchmark) -> None:
    from bedside.ratings.suites.run_suites import suites_of

    rubrics = {name for suite in suites_of(done.run) for name in suite.rubrics}
    if rubrics:
        run = typed(done.run.path)
        say(
            f"No judge was named: what follows from the suite's {counted(len(rubrics), 'rubric')} is missing. bedside "
            f"score {typed(done.simulation.folder)} --judge MODEL --out {run}; bedside report {run} adds it."
        )
