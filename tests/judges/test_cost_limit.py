"""A limit of what judges cost: what was paid for is kept, nothing more is sent, the same call goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

import bedside
from bedside.core.errors import BedsideError
from tests.judges.llm.server import JudgeServer

TALKS = bedside.EXAMPLES / "transcripts.jsonl"


@pytest.mark.server
def test_nothing_is_sent_once_replies_have_cost_so_much(tmp_path: Path) -> None:
    with JudgeServer() as server:
        given = {"judges": server.judge, "rubrics": "empathy", "metrics": "turns", "out": tmp_path / "run"}
        few = bedside.judge(TALKS, **given, max_cost=0.002, price=(1.0, 1.0), max_concurrency=1)  # type: ignore[arg-type]
        assert not few.complete
        (count,) = few.judges[0].rubrics
        assert count.cost is not None
        each = count.cost / count.calls
        assert 0.002 <= count.cost < 0.002 + 2 * each, "the one that reaches the limit is the last"
        assert (server.count, count.not_asked) == (count.calls, 12 - count.calls)
        errors = set(few.run.ratings.filter(metric="empathy")["error"].drop_nulls())
        assert errors == {"not asked: the limit of 0.002 US dollars was reached"}
        assert bedside.judge(TALKS, **given).complete  # type: ignore[arg-type]
        assert server.count == 12


def test_a_limit_of_costs_that_are_not_known_is_refused(tmp_path: Path) -> None:
    model = "http://localhost:9/v1#one"
    for arguments, words in (
        (
            {"max_cost": 1.0},
            "what one costs isn't known; say it with `price`, or limit calls with `max_calls`",
        ),
        ({"max_cost": -1.0}, "`max_cost` must be above 0, and is -1.0"),
    ):
        with pytest.raises(BedsideError, match=words):
            bedside.judge(
                TALKS,
                model,
                out=tmp_path / "run",
                rubrics="empathy",
                metrics="turns",
                **arguments,  # type: ignore[arg-type]
            )
