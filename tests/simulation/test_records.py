"""Records that are made as conversations are had: how each ends, who may be asked, what it costs and would cost."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bedside.core.errors import InputError
from bedside.judges.llm.prices import Price, estimate_tokens
from bedside.judges.llm.protocol import Sampling
from bedside.reports.simulations import record_plan_table
from bedside.simulation.actor_contract import Named, read_actor
from bedside.simulation.call_preview import preview_records
from bedside.simulation.record_making import RecordPlan, RecordTask, make_records
from bedside.simulation.simulate import SimulationSettings, SimulationSummary
from bedside.simulation.simulators.asking import ask_for_data
from bedside.simulation.simulators.calls import ActorReply, Call, Exchange, together
from bedside.simulation.simulators.contract import SIMULATORS, MadeRecord, UnusableConversationError
from tests.simulation.tiny import NUMBER, TINY, number

#: What each record asks for, side by side.
PARTS = ("first", "second")


def numbers(name: str) -> Callable[[], Exchange[MadeRecord]]:
    def make() -> Exchange[MadeRecord]:
        decided = yield from together(
            *(
                ask_for_data(Call("evaluator", part, 1, "Count.", (), name, "data", NUMBER, prompt=f"{part}@1"), number)
                for part in PARTS
            )
        )
        return MadeRecord({"id": name, **dict(zip(PARTS, (each.value for each in decided), strict=True))})

    return make


def make(out: Path, actor: Named, **settings: Any) -> SimulationSummary:
    names = ("a", "b", "c")
    plan = RecordPlan(
        "numbers",
        1,
        TINY,
        tuple(RecordTask(name, name, "en", "0" * 64, numbers(name)) for name in names),
        {"": read_actor(actor, TINY, "evaluator")},
        {},
        Sampling(),
        seed=0,
    )
    return make_records(plan, out, SimulationSettings(**{"max_concurrency": 1, **settings}))


def counting(request: dict[str, Any]) -> Any:
    return {"number": len(request["instruction"])}


def test_records_are_written_in_order_with_what_they_took(tmp_path: Path) -> None:
    summary = make(tmp_path / "out", counting)
    assert (summary.counts.finished, summary.calls.asked) == (3, 6)
    lines = [json.loads(line) for line in (tmp_path / "out/transcripts.jsonl").open()]
    assert lines == [{"id": name, "first": 1, "second": 1} for name in ("a", "b", "c")]
    manifest = json.loads((tmp_path / "out/manifest.json").read_text())
    assert manifest["records"] == {"planned": 3, "made": 3, "failed": 0, "unfinished": 0}
    assert manifest["prompts"] == ["first@1", "second@1"]


@pytest.mark.slow
def test_how_each_record_ends(tmp_path: Path) -> None:
    def agent(request: dict[str, Any]) -> Any:
        if request["instruction"] == "a":
            raise KeyError("memory")
        return "no number" if request["instruction"].startswith("b") else {"number": 1}

    # One of a record's two calls counts where both come to nothing: the first.
    summary = make(tmp_path / "out", agent)
    assert summary.counts.failed == {
        ("evaluator", "reply can't be read"): 1, ("infrastructure", "the agent raised KeyError"): 1,
    }  # fmt: skip
    assert summary.counts.finished == 1
    limited = make(tmp_path / "limited", counting, max_calls=3)
    assert (limited.counts.finished, limited.counts.unfinished) == (1, 2)
    reasons = [json.loads(line)["reason"] for line in (tmp_path / "limited/failed.jsonl").open()]
    assert reasons == ["not asked", "not asked"]


@pytest.mark.slow
def test_what_records_cost_must_be_known_where_it_is_limited(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="test_records:counting"):
        make(tmp_path / "out", counting, max_cost=1.0)
    with pytest.raises(InputError, match="tiny"):
        make(tmp_path / "out", "http://127.0.0.1:9/v1#tiny", max_cost=1.0)
    assert not (tmp_path / "out").exists()
    make(tmp_path / "out", counting)
    # Nobody is asked, so that nothing costs anything.
    assert make(tmp_path / "out", counting, max_cost=1.0, replay=True).counts.finished == 3


def test_a_price_of_nobody_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'rulez'"):
        make(tmp_path / "out", "rules", prices={"rulez": Price(1.0, 2.0)})


MODEL = "http://localhost:9/v1#mine"


def record(number: int) -> Exchange[MadeRecord]:
    """One question to the writer and two to the evaluator; every fifth record comes to nothing after the first."""
    yield (Call("clinician", "writing", 1, instruction="Write."),)
    if number % 5 == 4:
        raise UnusableConversationError("evaluator", "nothing")
    yield (Call("evaluator", "check", 1, instruction="Check."), Call("evaluator", "check", 2))
    return MadeRecord({"id": str(number)})


def written_records(number: int, writer: str = "rules") -> RecordPlan:
    simulator = SIMULATORS.load("note2chat")
    toys = dict.fromkeys(simulator.rules, lambda call: ActorReply("Yes, it is so."))
    simulator = replace(simulator, rules=toys)
    cast = {name: read_actor(actor, simulator, "x") for name, actor in (("", "rules"), ("writing", writer))}
    tasks = tuple(RecordTask(str(place), "case", "en", "", partial(record, place)) for place in range(number))
    sampling = Sampling(temperature=None, max_tokens=10, seed=0, timeout=1.0)
    return RecordPlan("things", 1, simulator, tasks, cast, {}, sampling, 0, roles={"writing": "clinician"})


def test_calls_tokens_and_costs_are_those_of_every_record() -> None:
    settings = SimulationSettings(prices={MODEL: Price(2.0, 10.0)})
    preview = preview_records(written_records(10, MODEL), settings)
    assert (preview.records, preview.played) == (10, 10)
    writer, checker = preview.actors
    assert (writer.role, writer.calls, checker.role, checker.calls) == ("clinician", 10, "evaluator", 16)
    read, written = 10 * estimate_tokens("Write."), 10 * estimate_tokens("Yes, it is so.")
    assert (writer.input_tokens, writer.output_tokens) == (read, written)
    assert writer.cost == pytest.approx((2 * read + 10 * written) / 1e6)
    assert checker.cost == 0


def test_of_many_records_some_are_made_and_the_others_count_as_their_mean() -> None:
    preview = preview_records(written_records(100), SimulationSettings())
    assert (preview.records, preview.played) == (100, 20)
    # Every fifth record is made: 0, 5, 10 …, none of which comes to nothing.
    assert [actor.calls for actor in preview.actors] == [100, 200]
    assert preview_records(written_records(0), SimulationSettings()).actors == ()


def test_a_price_that_is_not_known_is_no_zero() -> None:
    table = record_plan_table(preview_records(written_records(3, MODEL), SimulationSettings()))
    assert table.records[0]["cost"] is None
    assert table.records[1]["cost"] == 0
    assert table.notes[0].startswith("3 to be made; cost ")
    assert "$" not in table.notes[0]
