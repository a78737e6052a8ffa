"""What making records would ask, counted by hand."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from bedside.judges.llm.prices import Price, estimate_tokens
from bedside.judges.llm.protocol import Sampling
from bedside.reports.record_plans import record_plan_table
from bedside.simulation.actor_contract import read_actor
from bedside.simulation.record_making import MadeRecord, RecordPlan, RecordTask
from bedside.simulation.record_preview import preview_records
from bedside.simulation.simulate import SimulationSettings
from bedside.simulation.simulators.calls import ActorReply, Call, Exchange
from bedside.simulation.simulators.contract import SIMULATORS, UnusableConversationError

MODEL = "http://localhost:9/v1#mine"


def record(number: int) -> Exchange[MadeRecord]:
    """One question to the writer and two to the evaluator; every fifth record comes to nothing after the first."""
    yield (Call("clinician", "writing", 1, instruction="Write."),)
    if number % 5 == 4:
        raise UnusableConversationError("evaluator", "nothing")
    yield (Call("evaluator", "check", 1, instruction="Check."), Call("evaluator", "check", 2))
    return MadeRecord({"id": str(number)})


def plan(number: int, writer: str = "rules") -> RecordPlan:
    simulator = SIMULATORS.load("note2chat")
    toys = dict.fromkeys(simulator.rules, lambda call: ActorReply("Yes, it is so."))
    simulator = replace(simulator, rules=toys)
    cast = {name: read_actor(actor, simulator, "x") for name, actor in (("", "rules"), ("writing", writer))}
    tasks = tuple(RecordTask(str(place), "case", "en", "", partial(record, place)) for place in range(number))
    sampling = Sampling(temperature=None, max_tokens=10, seed=0, timeout=1.0)
    return RecordPlan("things", 1, simulator, tasks, cast, {}, sampling, 0, roles={"writing": "clinician"})


def test_calls_tokens_and_costs_are_those_of_every_record() -> None:
    settings = SimulationSettings(prices={MODEL: Price(2.0, 10.0)})
    preview = preview_records(plan(10, MODEL), settings)
    assert (preview.records, preview.played) == (10, 10)
    writer, checker = preview.actors
    assert (writer.role, writer.calls, checker.role, checker.calls) == ("clinician", 10, "evaluator", 16)
    read, written = 10 * estimate_tokens("Write."), 10 * estimate_tokens("Yes, it is so.")
    assert (writer.input_tokens, writer.output_tokens) == (read, written)
    assert writer.cost == pytest.approx((2 * read + 10 * written) / 1e6)
    assert checker.cost == 0


def test_of_many_records_some_are_made_and_the_others_count_as_their_mean() -> None:
    preview = preview_records(plan(100), SimulationSettings())
    assert (preview.records, preview.played) == (100, 20)
    # Every fifth record is made: 0, 5, 10 …, none of which comes to nothing.
    assert [actor.calls for actor in preview.actors] == [100, 200]
    assert preview_records(plan(0), SimulationSettings()).actors == ()


def test_a_price_that_is_not_known_is_no_zero() -> None:
    table = record_plan_table(preview_records(plan(3, MODEL), SimulationSettings()))
    assert table.records[0]["cost"] is None
    assert table.records[1]["cost"] == 0
    assert table.notes[0].startswith("3 to be made; cost ")
    assert "$" not in table.notes[0]
