"""A benchmark in one call: conversations are simulated, scored and reported, and each step goes on where it stopped."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bedside.api.benchmark_steps import (
    Benchmark,
    BenchmarkCast,
    BenchmarkLimits,
    BenchmarkRequest,
    BenchmarkSteps,
    BenchmarkWatch,
    Prices,
    request_of,
)
from bedside.api.judging import preview_judging
from bedside.api.simulating import preview_simulation, simulate
from bedside.core.errors import InputError
from bedside.core.words import Names, counted, listed
from bedside.reports.judgements import plan_table
from bedside.reports.simulations import preview_table
from bedside.reports.table import Tables

if TYPE_CHECKING:
    from bedside.judges.call_plan import RubricPlan
    from bedside.reports.benchmark_plan import BenchmarkPreview
    from bedside.simulation.actor_contract import Named
    from bedside.simulation.requested_plan import ActorInput, CaseInput, PersonaInput


#: Conversations of toys, about, by which judges' calls are counted.
_PLAYED = 20


def benchmark(
    protocol: str,
    out: str | os.PathLike[str],
    *,
    clinician: ActorInput,
    judges: Names = (),
    cases: CaseInput | None = None,
    patient: Named = "rules",
    evaluator: Named | None = None,
    ranker: Named | None = None,
    personas: PersonaInput | None = None,
    settings: Names = (),
    lengths: int | Sequence[int] = (),
    repeats: int = 1,
    sample: int | None = None,
    seed: int = 0,
    options: Mapping[str, Any] | None = None,
    max_concurrency: int = 8,
    max_calls: int | None = None,
    max_cost: float | None = None,
    prices: Prices | None = None,
    time_limit: float = 120.0,
    minutes: float | None = None,
    replay: bool = False,
    watch: BenchmarkWatch | None = None,
) -> Benchmark:
    """Simulate, score and report in one: how good are these clinicians, with the same patients?

    It does what :func:`bedside.simulate`, :func:`bedside.score` or :func:`bedside.judge` with the protocol's suite, and
    :func:`bedside.report` do. Whatever ended it, the same call goes on, and nothing that was answered is asked again.

    Args:
        protocol: the simulator's name, equal to its suite's.
        out: the benchmark's folder: new, or that of the same benchmark.
        clinician: who is tested, one or several, as for :func:`bedside.simulate`; each is a system.
        judges: models that rate by the suite's rubrics, as for :func:`bedside.judge`; without any, what needs a judge
            is missing, with the reason.
        cases, patient, evaluator, ranker, personas, settings, lengths, repeats, sample, options, time_limit, minutes:
            as for :func:`bedside.simulate`.
        seed: of all chance, in conversations, judgements and the report's draws.
        max_concurrency: most calls under way at once to a model or agent, or to each address that serves it.
        max_calls: most requests to send in this call, to actors and judges together.
        max_cost: US dollars after which nothing more is sent in this call, likewise.
        prices: US dollars for a million tokens in and out, by model, where bedside doesn't know them.
        replay: whether nobody is asked, and all replies come from ``out``.
        watch: what is called while it goes on.

    Raises:
        BedsideError: a name that is none or a file that can't be read (nothing is written then), another benchmark in
            the folder, or somebody who can't be asked; what was answered before is kept.
    """
    request = _request(
        protocol,
        clinician,
        judges,
        cases=cases,
        patient=patient,
        evaluator=evaluator,
        ranker=ranker,
        personas=personas,
        settings=settings,
        lengths=lengths,
        repeats=repeats,
        sample=sample,
        seed=seed,
        options=options,
    )
    limits = BenchmarkLimits(max_concurrency, max_calls, max_cost, prices or {}, time_limit, minutes, replay)
    return BenchmarkSteps(Path(out), request, limits, watch or BenchmarkWatch()).go()


def extend_benchmark(
    out: str | os.PathLike[str],
    *,
    clinician: ActorInput,
    max_concurrency: int = 8,
    max_calls: int | None = None,
    max_cost: float | None = None,
    prices: Prices | None = None,
    time_limit: float = 120.0,
    minutes: float | None = None,
    watch: BenchmarkWatch | None = None,
) -> Benchmark:
    """Put clinicians beside those of a benchmark, with the same patients, evaluator and judges.

    Those that are there aren't asked again. All corrections are made anew over all systems that stand there then.

    Args:
        out: the benchmark's folder.
        clinician: who is new, as for :func:`benchmark`.
        max_concurrency, max_calls, max_cost, prices, time_limit, minutes, watch: as for :func:`benchmark`.

    Raises:
        BedsideError: there is no benchmark; or a case, an actor, an option, a rubric or the protocol isn't what it was,
            which is named.
    """
    folder = Path(out)
    kept = request_of(folder)
    new = _clinicians(clinician)
    if not new:
        raise InputError("no clinician is named", where="`clinician`", todo="name one, such as openai/gpt-5-mini")
    limits = BenchmarkLimits(max_concurrency, max_calls, max_cost, prices or {}, time_limit, minutes)
    request = kept.with_clinicians(new)
    return BenchmarkSteps(folder, request, limits, watch or BenchmarkWatch(), earlier=kept).go()


def preview_benchmark(
    protocol: str,
    *,
    clinician: ActorInput,
    judges: Names = (),
    cases: CaseInput | None = None,
    patient: Named = "rules",
    evaluator: Named | None = None,
    ranker: Named | None = None,
    personas: PersonaInput | None = None,
    settings: Names = (),
    lengths: int | Sequence[int] = (),
    repeats: int = 1,
    sample: int | None = None,
    seed: int = 0,
    options: Mapping[str, Any] | None = None,
    max_concurrency: int = 8,
    prices: Prices | None = None,
) -> Tables[BenchmarkPreview]:
    """What :func:`benchmark` with the same arguments would ask: calls, tokens, dollars, time. Nothing is asked.

    Conversations are counted as :func:`bedside.preview_simulation` does. What judges would be asked is counted in
    conversations between the protocol's toys, which stand for those to come.

    Args:
        protocol, clinician, judges, cases, patient, evaluator, ranker, personas, settings, lengths, repeats, sample,
            seed, options, max_concurrency, prices: as for :func:`benchmark`.

    Raises:
        BedsideError: a name that is none, or a file that can't be read.
    """
    from bedside.reports.benchmark_plan import BenchmarkPreview, benchmark_plan_table, scaled

    request = _request(
        protocol,
        clinician,
        judges,
        cases=cases,
        patient=patient,
        evaluator=evaluator,
        ranker=ranker,
        personas=personas,
        settings=settings,
        lengths=lengths,
        repeats=repeats,
        sample=sample,
        seed=seed,
        options=options,
    )
    cast = BenchmarkCast(request, prices or {})
    cast.check_prices(None)
    simulation = preview_simulation(
        cases, protocol, clinician=request.clinicians, prices=cast.actor_prices(), **request.simulated()
    )
    plans, played = _judging_plans(request, cast)
    factor = simulation.conversations / played if played else 0.0
    preview = BenchmarkPreview(simulation, scaled(plans, factor), played, max_concurrency)
    judging = [
        replace(
            plan_table(preview.judging),
            title=f"What judges would be asked, from {counted(played, 'conversation')} of toys",
        )
    ]
    return Tables([preview_table(simulation), *(judging if plans else []), benchmark_plan_table(preview)], preview)


def _judging_plans(request: BenchmarkRequest, cast: BenchmarkCast) -> tuple[list[RubricPlan], int]:
    """What judges would be asked about some conversations between the protocol's toys, and how many these are."""
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


def _request(
    protocol: str,
    clinician: ActorInput,
    judges: Names,
    *,
    settings: Names,
    lengths: int | Sequence[int],
    options: Mapping[str, Any] | None,
    **others: Any,
) -> BenchmarkRequest:
    return BenchmarkRequest(
        protocol,
        _clinicians(clinician),
        tuple(listed(judges, "judges")),
        settings=tuple(listed(settings, "settings")),
        lengths=(lengths,) if isinstance(lengths, int) else tuple(lengths),
        options=options or {},
        **others,
    )


def _clinicians(names: ActorInput) -> tuple[Named, ...]:
    return tuple(names) if isinstance(names, Sequence) and not isinstance(names, str) else (names,)
