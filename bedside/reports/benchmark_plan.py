"""What a benchmark would take: calls, tokens, money and time of its steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bedside.core.words import counted
from bedside.judges.call_plan import RubricPlan
from bedside.reports.number_text import DASH, money
from bedside.reports.table import Table
from bedside.reports.table_content import Cell, Column, Row
from bedside.simulation.call_preview import SimulationPreview
from bedside.simulation.simulated_costs import total_cost

#: What a call to a model is taken to last, where nothing was measured.
SECONDS_A_CALL = 3.0


@dataclass(frozen=True, slots=True)
class BenchmarkPreview:
    """What a benchmark would ask.

    Attributes:
        simulation: what the conversations would ask.
        judging: what judges would, rubric by rubric.
        played: conversations of the protocol's toys that stand for those to come in ``judging``; 0 without a judge.
        max_concurrency: most calls under way at once to a model or agent.
    """

    simulation: SimulationPreview
    judging: tuple[RubricPlan, ...]
    played: int
    max_concurrency: int

    def simulation_seconds(self) -> float:
        """About how long the conversations take, at :data:`SECONDS_A_CALL` for each call to what is no toy.

        A conversation's calls follow one another; of what each actor is asked, ``max_concurrency`` run at once.
        """
        calls: dict[str, float] = {}
        for role in self.simulation.roles:
            if not role.actor.toy:
                calls[role.actor.identity] = calls.get(role.actor.identity, 0.0) + role.calls
        chain = sum(calls.values()) / max(1, self.simulation.conversations)
        return SECONDS_A_CALL * max(chain, *(number / self.max_concurrency for number in calls.values()), 0.0)

    def judging_seconds(self) -> float:
        """About how long judges take, likewise; one judge follows the other."""
        judges = dict.fromkeys(plan.judge for plan in self.judging)
        calls = [sum(plan.calls for plan in self.judging if plan.judge == judge) for judge in judges]
        return SECONDS_A_CALL * sum(number / self.max_concurrency for number in calls)


def scaled(plans: Sequence[RubricPlan], factor: float) -> tuple[RubricPlan, ...]:
    """Plans of some conversations, for so many times as many."""
    return tuple(
        RubricPlan(
            plan.rubric,
            plan.judge,
            round(plan.calls * factor),
            plan.stored,
            round(plan.not_askable * factor),
            round(plan.input_tokens * factor),
            round(plan.output_tokens * factor),
            None if plan.cost is None else plan.cost * factor,
        )
        for plan in plans
    )


def benchmark_plan_table(preview: BenchmarkPreview) -> Table:
    """What the steps of a benchmark would take, and all of them together."""
    roles, judging = preview.simulation.roles, preview.judging
    steps: list[dict[str, Any]] = [
        {
            "step": "Simulate", "calls": sum(role.calls for role in roles),
            "most_calls": sum(role.most_calls for role in roles),
            "input_tokens": sum(role.input_tokens for role in roles),
            "output_tokens": sum(role.output_tokens for role in roles),
            "cost": total_cost([role.cost for role in roles]), "seconds": preview.simulation_seconds(),
        },
        {
            "step": "Score", "calls": sum(plan.calls for plan in judging), "most_calls": None,
            "input_tokens": sum(plan.input_tokens for plan in judging),
            "output_tokens": sum(plan.output_tokens for plan in judging),
            "cost": total_cost([plan.cost for plan in judging]), "seconds": preview.judging_seconds(),
        },
        {
            "step": "Report", "calls": 0, "most_calls": 0, "input_tokens": 0, "output_tokens": 0, "cost": 0.0,
            "seconds": 0.0,
        },
    ]  # fmt: skip
    whole: dict[str, Any] = {
        "step": "All", "most_calls": None, "cost": total_cost([step["cost"] for step in steps]),
        **{name: sum(step[name] for step in steps)
           for name in ("calls", "input_tokens", "output_tokens", "seconds")},
    }  # fmt: skip
    records = [*steps, whole]
    return Table(
        name="benchmark_plan",
        title="What the benchmark would take (nothing was asked)",
        columns=(
            Column("Step", "left"), Column("Calls"), Column("At most"), Column("Tokens in"), Column("Tokens out"),
            Column("Cost"), Column("Time"),
        ),
        rows=tuple(
            Row(
                tuple(
                    map(
                        Cell,
                        (
                            str(record["step"]), f"{record['calls']:,.0f}",
                            DASH if record["most_calls"] is None else f"{record['most_calls']:,}",
                            f"{record['input_tokens']:,.0f}", f"{record['output_tokens']:,.0f}",
                            money(record["cost"]), duration(record["seconds"]),
                        ),
                    )
                )
            )
            for record in records
        ),
        notes=tuple(_notes(preview)),
        records=tuple(records),
    )  # fmt: skip


def _notes(preview: BenchmarkPreview) -> list[str]:
    conversations = counted(preview.simulation.conversations, "conversation")
    judged = (
        f" What judges are asked is that of {counted(preview.played, 'conversation')} between the protocol's toys, for "
        f"{conversations}."
        if preview.played
        else " No judge is named: what needs one will be missing."
    )
    return [
        "The number of conversations is exact; calls, tokens and cost are estimates, from conversations between the "
        f"protocol's toys, whose messages may be shorter than a model's.{judged} What is asked again comes on top.",
        f"Time is an estimate: {SECONDS_A_CALL:g} seconds are assumed for each call to what is no toy, with "
        f"{preview.max_concurrency} under way at once to each model or agent. Algorithms and the report take seconds "
        "to minutes more.",
    ]


def duration(seconds: float) -> str:
    """A time in two figures or so."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 90 * 60:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
