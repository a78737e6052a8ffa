"""Records that are made as conversations are had: how each ends, who may be asked, what it may cost."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bedside.core.errors import InputError
from bedside.judges.llm.prices import Price
from bedside.judges.llm.protocol import Sampling
from bedside.simulation.actor_contract import Named, read_actor
from bedside.simulation.record_making import MadeRecord, RecordPlan, RecordTask, make_records
from bedside.simulation.simulate import SimulationSettings, SimulationSummary
from bedside.simulation.simulators.asking import ask_for_data
from bedside.simulation.simulators.calls import Call, Exchange, together
from tests.simulation.tiny import NUMBER, TINY, number

#: What each record asks for, side by side.
PARTS = ("first", "second")


def numbers(name: str) -> Callable[[], Exchange[MadeRecord]]:
    def make() -> Exchange[MadeRecord]:
        decided = yield from together(
            *(
                ask_for_data(
                    Call("evaluator", part, 1, "Count.", (), name, "data", NUMBER, prompt=f"{part}@1"), number
                )
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
    with pytest.raises(InputError, match="test_record_making:counting costs isn't known"):
        make(tmp_path / "out", counting, max_cost=1.0)
    with pytest.raises(InputError, match="what tiny costs isn't known"):
        make(tmp_path / "out", "http://127.0.0.1:9/v1#tiny", max_cost=1.0)
    assert not (tmp_path / "out").exists()
    make(tmp_path / "out", counting)
    # Nobody is asked, so that nothing costs anything.
    assert make(tmp_path / "out", counting, max_cost=1.0, replay=True).counts.finished == 3


def test_a_price_of_nobody_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'rulez'; did you mean rules"):
        make(tmp_path / "out", "rules", prices={"rulez": Price(1.0, 2.0)})
