"""How the commands of ``bedside train note2chat`` that make records ask models, and what they say of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bedside.cli.judgements import say_wave
from bedside.cli.output import say, say_limit, show_records, show_tables
from bedside.cli.progress import simulation_progress
from bedside.cli.simulate import read_prices
from bedside.core.question_settings import OPTIONS, Seeded, option, settings_class
from bedside.core.words import counted, typed
from bedside.simulation.talk_settings import COST, Batched, Replaying, RequestLimits

if TYPE_CHECKING:
    from bedside.api.note2chat_training import Asking
    from bedside.simulation.record_making import RecordPlan
    from bedside.simulation.simulate import SimulationSummary


@settings_class
class RecordSettings(Seeded, RequestLimits, Replaying):
    """How models are asked that make records."""

    temperature: float | None = option(
        "Temperature of the models. Without it, the provider's own.",
        default=None, heading=OPTIONS, metavar="NUMBER", least=0, most=2,
    )  # fmt: skip
    price: Sequence[str] = option(
        "US dollars for a million tokens of a model whose price bedside doesn't know; without MODEL, of every such "
        "model.",
        default=(), heading=COST, metavar="MODEL,in=N,out=N", form="repeated",
    )  # fmt: skip
    dry_run: bool = option(
        "Print about how many calls and tokens it takes, and what they cost, by actor; ask and write nothing.",
        default=False, heading=COST,
    )  # fmt: skip


@settings_class
class BatchedRecords(RecordSettings, Batched):
    """The same, where a service may answer in batches."""


@contextmanager
def record_asking(
    evaluator: str, settings: RecordSettings, *, others: Mapping[str, str] | None = None, sides: Sequence[str] = ()
) -> Iterator[Asking]:
    """Who is asked and how, while a line tells how far it is; ``sides`` are models that are asked beside them."""
    from bedside.api.note2chat_training import Asking
    from bedside.judges.llm.prices import Price
    from bedside.simulation.simulate import SimulationSettings

    models = [evaluator, *(others or {}).values(), *sides]
    batch: dict[str, Any] = {}
    if isinstance(settings, BatchedRecords):
        batch = {"batch_out": settings.batch_out, "batch_in": tuple(map(Path, settings.batch_in))}  # type: ignore[arg-type]
    with simulation_progress() as progress:
        yield Asking(
            evaluator,
            others or {},
            temperature=settings.temperature,
            time_limit=settings.time_limit,
            seed=settings.seed,
            settings=SimulationSettings(
                max_concurrency=settings.max_concurrency,
                max_calls=settings.max_calls,
                max_cost=settings.max_cost,
                prices={name: Price(*pair) for name, pair in read_prices(list(settings.price), models).items()},
                replay=settings.replay,
                **batch,
            ),
            progress=progress,
        )


def show_plan(plan: RecordPlan, asking: Asking) -> None:
    """What making records would ask."""
    from bedside.reports.simulations import record_plan_table
    from bedside.simulation.call_preview import preview_records
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
        say(f"bedside simulate failed {typed(out)} lists them. Calls that got no answer are asked again.")
    if summary.wave is not None:
        say_wave(summary.wave, counts.unfinished)
    elif counts.unfinished:
        say_limit(summary.cost, max_cost, say)
        say(f"{counts.unfinished:,} have not ended: the same command goes on.")
