"""How the commands of ``bedside note2chat`` that make records ask models, and what they say of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bedside.cli.judgements import say_wave
from bedside.cli.output import say, say_limit, show_records, show_tables
from bedside.cli.progress import simulation_progress
from bedside.cli.simulate import read_prices
from bedside.core.words import counted, typed

if TYPE_CHECKING:
    from bedside.api.note2chat_training import Asking
    from bedside.simulation.record_making import RecordPlan
    from bedside.simulation.simulate import SimulationSummary


@contextmanager
def record_asking(
    evaluator: str,
    *,
    temperature: float | None,
    time_limit: float,
    seed: int,
    max_concurrency: int,
    max_calls: int | None,
    max_cost: float | None,
    price: list[str] | None,
    replay: bool,
    batch_out: Path | None = None,
    batch_in: list[Path] | None = None,
    others: Mapping[str, str] | None = None,
    sides: Sequence[str] = (),
) -> Iterator[Asking]:
    """Who is asked and how, while a line tells how far it is; ``sides`` are models that are asked beside them."""
    from bedside.api.note2chat_training import Asking
    from bedside.judges.llm.prices import Price
    from bedside.simulation.simulate import SimulationSettings

    models = [evaluator, *(others or {}).values(), *sides]
    settings = SimulationSettings(
        max_concurrency=max_concurrency,
        max_calls=max_calls,
        max_cost=max_cost,
        prices={name: Price(*pair) for name, pair in read_prices(price or [], models).items()},
        replay=replay,
        batch_out=batch_out,
        batch_in=tuple(batch_in or ()),
    )
    with simulation_progress() as progress:
        yield Asking(
            evaluator,
            others or {},
            temperature=temperature,
            time_limit=time_limit,
            seed=seed,
            settings=settings,
            progress=progress,
        )


def show_plan(plan: RecordPlan, asking: Asking) -> None:
    """What making records would ask."""
    from bedside.reports.record_plans import record_plan_table
    from bedside.simulation.record_preview import preview_records
    from bedside.simulation.simulate import SimulationSettings

    preview = preview_records(plan, asking.settings or SimulationSettings())
    show_tables([record_plan_table(preview)])


def made_record(counts: Any, place: Path) -> dict[str, Any]:
    """How much of what was planned was made, as plain values."""
    return {
        "place": str(place),
        "planned": counts.planned,
        "finished": counts.finished,
        "failed": sum(counts.failed.values()),
        "unfinished": counts.unfinished,
    }


def say_made(summary: SimulationSummary, out: Path, noun: str, max_cost: float | None = None) -> None:
    """What was made, what wasn't, and what to do; ``max_cost`` is the limit that was set for it."""
    counts, calls = summary.counts, summary.calls
    show_records(noun.replace(" ", "_"), f"What was made in {out}", [made_record(counts, out)])
    say(
        f"{counted(counts.finished, noun)} of {counts.planned:,} in {out}; {calls.asked:,} calls asked now, "
        f"{calls.replayed:,} replies taken from the log."
    )
    for (whose, reason), number in counts.failed.items():
        say(f"{number:,} failed ({whose}: {reason}).")
    if counts.failed:
        counts.check_usable(out, noun)
        say(f"bedside simulation failed {typed(out)} lists them. Calls that got no answer are asked again.")
    if summary.wave is not None:
        say_wave(summary.wave, counts.unfinished)
    elif counts.unfinished:
        say_limit(summary.cost, max_cost, say)
        say(f"{counts.unfinished:,} have not ended: the same command goes on.")
