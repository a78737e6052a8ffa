"""``bedside benchmark``: simulate, score and report in one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bedside.api.benchmarking import (
    BenchmarkSettings,
    ExtendSettings,
    benchmark,
    extend_benchmark,
    preview_benchmark,
    swapped_casts,
)
from bedside.cli import completion as complete
from bedside.cli.help import App
from bedside.cli.output import Shown, is_json, say, say_limit, show_answer
from bedside.cli.progress import judging_progress, scoring_progress, simulation_progress
from bedside.cli.settings_options import takes_settings, takes_settings_with
from bedside.cli.simulate import (
    CasesArgument,
    ModelPriceOption,
    PreviewOption,
    SimulatorSetOption,
    actor_names,
    has_person,
    read_prices,
    say_failures,
    say_links,
    simulator_options,
)
from bedside.core.words import counted, listed, typed
from bedside.ratings.names import is_human

if TYPE_CHECKING:
    from bedside.api.benchmarking import Benchmark, BenchmarkWatch
    from bedside.reports.simulations import BenchmarkPreview
    from bedside.reports.table import Tables

benchmark_app: App = App("", runs=True)
ProtocolArgument = Annotated[
    str,
    typer.Argument(
        metavar="PROTOCOL",
        help="Protocol that the conversations follow, and whose suite scores them: bedside list protocols names them. "
        "Or a protocol file of your own.",
        autocompletion=complete.simulators,
    ),
]
BenchmarkArgument = Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder that bedside benchmark made.")]


@benchmark_app.command("run", hidden=True)
@takes_settings_with(out=Path("bench"))
def benchmark_run(
    protocol: ProtocolArgument,
    settings: BenchmarkSettings,
    shown: Shown,
    cases: CasesArgument = None,
    set_: SimulatorSetOption = None,
    price: ModelPriceOption = None,
    dry_run: PreviewOption = False,
) -> None:
    judges = listed(settings.judges, "judge")
    actors = list(dict.fromkeys(name for cast in swapped_casts(settings) for name in actor_names(cast)))
    settings = replace(
        settings,
        cases=cases or None,
        options=simulator_options(set_ or [], protocol),
        prices=read_prices(price or [], [*actors, *judges]),
    )
    if dry_run:
        for cast in swapped_casts(settings):
            _say_planned(preview_benchmark.with_settings(protocol, cast), shown)
        return
    with _watched(bar=settings.page or not has_person(settings)) as watch:
        done = benchmark.with_settings(protocol, replace(settings, watch=watch, links=partial(say_links, settings)))
    _say_done(done, shown, judged=bool(judges), max_cost=settings.max_cost)


@benchmark_app.command("add")
@takes_settings
def benchmark_add(
    folder: BenchmarkArgument, settings: ExtendSettings, shown: Shown, price: ModelPriceOption = None
) -> None:
    names: list[str] = list(settings.clinician)  # type: ignore[arg-type]
    with _watched(bar=settings.page or not any(map(is_human, names))) as watch:
        more = replace(
            settings, prices=read_prices(price or [], names), watch=watch, links=partial(say_links, settings)
        )
        done = extend_benchmark.with_settings(folder, more)
    _say_done(done, shown, judged=True, max_cost=settings.max_cost)


@contextmanager
def _watched(*, bar: bool) -> Iterator[BenchmarkWatch]:
    """Progress of each step; where a person types, nothing is written between their lines.

    A step's bar is there from its first call to the first of the next step.
    """
    from bedside.api.benchmarking import BenchmarkWatch

    with ExitStack() as stack:
        shown: dict[str, Any] = {}

        def step(name: str, progress: Any) -> Any:
            def call(*state: Any) -> None:
                if name not in shown:
                    stack.pop_all().close()
                    shown.clear()
                    shown[name] = stack.enter_context(progress())
                if shown[name] is not None:
                    shown[name](*state)

            return call

        yield BenchmarkWatch(
            simulating=step("simulating", lambda: simulation_progress(bar=bar)),
            scoring=step("scoring", scoring_progress),
            judging=step("judging", judging_progress),
        )


def _say_planned(tables: Tables[BenchmarkPreview], shown: Shown) -> None:
    """What a benchmark would take: in all first, then by step; by role and rubric where all is asked for."""
    from bedside.reports.simulations import benchmark_plan_sentences
    from bedside.reports.table import Tables

    preview = tables.results
    *parts, whole = tables
    screen = tables if is_json() else Tables([whole, *parts], preview)
    show_answer(screen, shown, benchmark_plan_sentences(preview))


def _say_done(done: Benchmark, shown: Shown, *, judged: bool, max_cost: float | None) -> None:
    """What became of the benchmark, and what to do next."""
    from bedside.judges.counts import spent
    from bedside.reports.table import Tables
    from bedside.reports.tables.leaderboard import leaderboard_sentences

    if done.report is not None:
        others = [] if done.sensitivity is None else [done.sensitivity]
        sentences = [*leaderboard_sentences(done.leaderboard), *(str(table.notes[0]) for table in others)]
        show_answer(Tables([done.leaderboard, *others], None), shown, sentences)
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
            f"No judge was named, so ratings by {counted(len(rubrics), 'rubric')} are missing. To add them: bedside "
            f"score {typed(done.simulation.folder)} --judge MODEL --out {run}; bedside report {run}."
        )
