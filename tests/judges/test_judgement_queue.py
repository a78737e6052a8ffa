"""Judging from end to end against a real server: complete, in order, resumable, patient, and bounded."""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import signal
import subprocess
import sys
import textwrap
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("aiohttp")

from bedside.core.errors import InputError
from bedside.judges.counts import JudgingProgress, JudgingSummary
from bedside.judges.judgement_queue import CallOrder
from bedside.judges.llm.endpoints import model_name
from bedside.judges.llm.prices import Price
from bedside.judges.llm.protocol import LanguageModelError
from bedside.judges.llm.queue import Patience
from bedside.judges.questions import JudgeAnswer
from bedside.judges.raters import rater_of
from bedside.judges.rubric_ratings import ratings_of
from bedside.judges.rubrics.rubric_files import find_rubric
from bedside.judges.settings import JudgeSettings
from bedside.judges.store import Judgement, read_judgements, read_prompt
from bedside.ratings.table import COLUMNS, frame_of
from bedside.transcripts.transcript import Transcript
from tests.conftest import conversation
from tests.forked import CONTEXT, preload
from tests.judges.judging import judge_transcripts, plan_judging
from tests.judges.llm.server import FAULTS, Action, JudgeServer, Received, Script, faulty, fitting, with_settings
from tests.soak import budget

pytestmark = pytest.mark.server

NAMES = ("empathy", "values_detected")
QUICK = Patience(first_wait=0.01, longest_wait=0.1)
NOBODY = "http://127.0.0.1:9/v1#tiny"


def talks(count: int, **fields: Any) -> list[Transcript]:
    return [
        conversation(
            ("clinician", f"Hello, this is talk {number}."), ("patient", "I drink too much."),
            ("clinician", "What would help you?"),
            id=f"t{number}", system=f"s{number % 2}", case_id=f"c{number}", **fields,
        )
        for number in range(count)
    ]  # fmt: skip


class Bench:
    """A folder and the ways to judge into it."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "judgements.sqlite"
        self.rows: list[tuple[Any, ...]] = []
        #: What was read of the store's prompts, by their hash.
        self.prompts: dict[str, str] = {}

    def judge(
        self, server: JudgeServer | str, transcripts: Any, names: tuple[str, ...] = NAMES, **options: Any
    ) -> JudgingSummary:
        self.rows = []
        return judge_transcripts(
            transcripts, [find_rubric(name) for name in names], server if isinstance(server, str) else server.judge,
            store_path=self.path, add=self.rows.append, **with_settings({"patience": QUICK, **options}),
        )  # fmt: skip

    @property
    def stored(self) -> list[Judgement]:
        return list(read_judgements(self.path))

    def column(self, name: str) -> list[Any]:
        return [row[list(COLUMNS).index(name)] for row in self.rows]

    @property
    def all_rated(self) -> bool:
        return set(self.column("error")) == {None}

    def alone(self) -> bool:
        return [path.name for path in self.path.parent.iterdir()] == [self.path.name]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def always(**action: Any) -> Script:
    return lambda request, number: Action(**action)


def first(count: int, **action: Any) -> Script:
    """Another action for the first requests."""
    return lambda request, number: Action(**action) if number <= count else Action()


OFF_SCALE = '{"reason": "superb", "score": 9}'


def test_ratings_say_what_the_judge_said_in_order(bench: Bench) -> None:
    with JudgeServer() as server:
        judged = bench.judge(server, iter(talks(30)), passes=2, max_concurrency=16)
        answers = {request.prompt: json.loads(fitting(request)) for request in server.received}
    assert judged.calls == server.count == judged.ratings == 120
    frame_of(bench.rows)
    keys = zip(bench.column("transcript_id"), bench.column("metric"), bench.column("replicate"), strict=True)
    assert list(keys) == [(f"t{talk}", name, n) for talk in range(30) for name in NAMES for n in range(2)]
    assert bench.rows[0][:7] == ("t0", "s0", "c0", "transcript", "empathy", "judge:tiny", 0)
    by_place = {(stored.transcript, stored.rubric, stored.number): stored for stored in bench.stored}
    for row in bench.rows:
        text = read_prompt(bench.path, by_place[row[0], row[4], row[6]].prompt)
        assert text is not None
        answer = answers[text]
        assert row[7] == (answer["score"] if row[4] == "empathy" else len(answer["labels"]))
        assert row[10] is None


def test_a_rerun_asks_nothing_and_gives_the_same_rows(bench: Bench) -> None:
    with JudgeServer() as server:
        before = bench.judge(server, talks(20))
        rows = bench.rows
        after = bench.judge(server, talks(20))
        assert server.count == before.calls == 40
    assert (after.calls, bench.rows) == (0, rows)
    assert [count.stored for count in after.rubrics] == [20, 20]
    assert after.complete


def test_more_of_anything_asks_only_what_is_new(bench: Bench) -> None:
    with JudgeServer() as server:
        bench.judge(server, talks(5))
        assert bench.judge(server, talks(6)).calls == 2
        assert bench.judge(server, talks(6), (*NAMES, "partnership")).calls == 6
        assert bench.judge(server, talks(6), passes=2).calls == 12
        assert bench.judge(server, talks(6), temperature=0.7).calls == 12
        assert bench.judge(server, talks(6), order="rubric-first").calls == 12
        assert bench.judge(server, talks(6), max_concurrency=2, timeout=5).calls == 0


def test_each_pass_has_its_seed_where_sampling(bench: Bench) -> None:
    with JudgeServer() as server:
        bench.judge(server, talks(1), ("empathy",), passes=3, temperature=1.0, seed=10)
        assert sorted(request.body["seed"] for request in server.received) == [10, 11, 12]
        server.received.clear()
        bench.judge(server, talks(1), ("empathy",), passes=3)
        assert not any("seed" in request.body for request in server.received)


def test_equal_transcripts_are_paid_for_once(bench: Bench) -> None:
    same = [Transcript(f"copy{number}", talks(1)[0].turns) for number in range(10)]
    with JudgeServer(latency=0.05) as server:
        judged = bench.judge(server, same, ("empathy",))
        assert server.count == judged.calls == 1
    assert len(set(bench.column("value"))) == 1
    assert len(bench.rows) == 10


def test_concurrency_is_bounded_and_used(bench: Bench) -> None:
    with JudgeServer(latency=0.05) as server:
        bench.judge(server, talks(40), max_concurrency=7)
        assert server.most_in_flight == 7


@pytest.mark.parametrize(("transcripts", "rubrics", "width"), [(24, 4, 8), (12, 7, 64), (50, 3, 16), (1, 6, 4)])
def test_the_first_call_that_begins_so_is_answered_before_the_others(
    transcripts: int, rubrics: int, width: int
) -> None:
    @dataclass
    class Planned:
        opening: str
        shared: bool = False

    async def rounds() -> int:
        order: Any = CallOrder(width)
        for number in range(transcripts):
            for _ in range(rubrics):
                order.put(Planned(str(number)))
        left, count, answered = transcripts * rubrics, 0, set[str]()
        while left:
            taken: list[Planned] = []
            with suppress(TimeoutError):
                while len(taken) < width:
                    taken.append(await asyncio.wait_for(order.get(), 0.001))
            assert len({call.opening for call in taken if call.opening not in answered}) == sum(
                call.opening not in answered for call in taken
            )
            for call in taken:
                assert call.shared
                order.done(call)
            answered |= {call.opening for call in taken}
            left, count = left - len(taken), count + 1
        return count

    least = -(-transcripts * rubrics // width)
    assert asyncio.run(rounds()) <= (least if transcripts >= width else least + 1)


def test_prompt_caches_are_of_use(bench: Bench) -> None:
    answered, after = set[str](), 0

    class Caching(JudgeServer):
        async def _handle(self, request: Any) -> Any:
            nonlocal after
            (talk,) = re.findall(r"talk \d+", (await request.read()).decode())
            after += talk in answered
            response = await super()._handle(request)
            answered.add(talk)
            return response

    with Caching(latency=0.05) as server:
        bench.judge(
            server, talks(24), ("empathy", "partnership", "question_quality", "effectiveness"), max_concurrency=8
        )
        assert (server.count, server.most_in_flight) == (96, 8)
    assert after == 72


def test_transcripts_are_taken_as_they_are_needed(bench: Bench) -> None:
    taken, ahead = 0, 0

    def stream() -> Iterator[Transcript]:
        nonlocal taken
        for talk in talks(600):
            taken += 1
            yield talk

    def note(progress: JudgingProgress) -> None:
        nonlocal ahead
        ahead = max(ahead, taken * 2 - progress.done)

    with JudgeServer() as server:
        bench.judge(server, stream(), max_concurrency=4, progress=note)
    assert (taken, len(bench.rows)) == (600, 1200)
    assert ahead <= 30


def test_a_slow_one_holds_back_a_bounded_number(bench: Bench) -> None:
    """What comes out is in order, and no more than a window's worth is asked meanwhile."""
    meanwhile = 0

    def script(request: Received, number: int) -> Action:
        nonlocal meanwhile
        if "talk 0." in request.prompt:
            return Action(delay=3.0)
        meanwhile += not bench.rows
        return Action()

    with JudgeServer(script) as server:
        bench.judge(server, talks(600), ("empathy",), max_concurrency=8)
    assert bench.column("transcript_id") == [f"t{number}" for number in range(600)]
    assert 100 <= meanwhile <= 300


def test_progress_counts(bench: Bench) -> None:
    steps: list[JudgingProgress] = []
    with JudgeServer() as server:
        bench.judge(server, talks(3), progress=steps.append)
        assert [progress.done for progress in steps] == [1, 2, 3, 4, 5, 6]
        assert steps[-1] == JudgingProgress(done=6, stored=0, missing=0, calls=6, total=6)
        bench.judge(server, talks(3), progress=steps.append)
        assert steps[-1] == JudgingProgress(done=6, stored=6, missing=0, calls=0, total=6)


def test_within_a_running_loop(bench: Bench) -> None:
    async def notebook() -> JudgingSummary:
        with JudgeServer() as server:
            return bench.judge(server, talks(2))

    assert asyncio.run(notebook()).calls == 4


def test_tokens_and_cost_are_the_providers(bench: Bench) -> None:
    with JudgeServer() as server:
        judged = bench.judge(server, talks(4), price=Price(input=2.0, output=10.0))
        inputs = sum(len(request.prompt) // 4 for request in server.received)
        outputs = sum(len(fitting(request)) // 4 for request in server.received)
    assert sum(count.input_tokens for count in judged.rubrics) == inputs
    assert sum(count.output_tokens for count in judged.rubrics) == outputs
    cost = pytest.approx((2 * inputs + 10 * outputs) / 1e6)
    assert sum(count.cost or 0 for count in judged.rubrics) == cost
    assert sum(judgement.cost or 0 for judgement in bench.stored) == cost


def test_unknown_tokens_are_an_unknown_cost(bench: Bench) -> None:
    with JudgeServer(always(extra={"usage": None})) as server:
        judged = bench.judge(server, talks(1), ("empathy",), price=Price(1, 1))
    assert judged.rubrics[0].cost is None
    assert bench.stored[0].input_tokens is None


def test_one_reply_of_unknown_tokens_is_an_unknown_cost(bench: Bench) -> None:
    with JudgeServer(first(1, text=OFF_SCALE, extra={"usage": None})) as server:
        judged = bench.judge(server, talks(1), ("empathy",), price=Price(1, 1))
    assert (judged.rubrics[0].cost, bench.stored[0].cost) == (None, None)
    assert bench.stored[0].input_tokens, "of the second"


def test_more_tokens_in_the_cache_than_in_the_prompt_give_no_credit() -> None:
    """As of servers that count them beside the prompt's."""
    assert Price(1.0, 2.0, cached=0.1).of(100, 10, 5000) == pytest.approx((5000 * 0.1 + 10 * 2) / 1e6)


@pytest.mark.parametrize("usage", [{"prompt_tokens": 1000, "completion_tokens": 500}, {}])
def test_a_limit_of_costs_counts_what_is_under_way(bench: Bench, usage: dict[str, int]) -> None:
    options: dict[str, Any] = {"max_concurrency": 64, "price": Price(1.0, 10.0), "max_cost": 0.5}
    text = json.dumps({"reason": "x" * 1980, "score": 3})
    with JudgeServer(always(extra={"usage": usage}, text=text), 0.05) as server:
        judged = bench.judge(server, talks(400), NAMES[:1], **options)
    # Where the provider counts no tokens, four characters are taken for one.
    tokens = [(1000, 500) if usage else (-(-len(sent.prompt) // 4), -(-len(text) // 4)) for sent in server.received]
    costs = [(prompt + 10 * reply) / 1e6 for prompt, reply in tokens]
    assert sum(costs) - min(costs) < 0.5 <= sum(costs), "the one that reaches the limit is the last"
    assert (judged.calls, judged.rubrics[0].not_asked) == (server.count, 400 - server.count)
    assert server.most_in_flight >= 10
    assert set(bench.column("error")) == {None, "not asked: the limit of 0.5 US dollars was reached"}


def test_the_plan_is_what_is_then_asked(bench: Bench) -> None:
    names = (*NAMES, "client_consistency")

    def plan(count: int) -> Any:
        how = JudgeSettings(passes=2, price=Price(1, 1))
        rubrics = [*map(find_rubric, names)]
        return plan_judging(talks(count), rubrics, NOBODY, store_path=bench.path, settings=how)

    planned = plan(10)
    expected = [("empathy", 20, 0), ("values_detected", 20, 0), ("client_consistency", 0, 20)]
    assert [(entry.rubric, entry.calls, entry.not_askable) for entry in planned] == expected
    assert not bench.path.exists()
    with JudgeServer() as server:
        judged = bench.judge(server, talks(10), names, passes=2)
    for entry, count in zip(planned, judged.rubrics, strict=True):
        assert entry.calls == count.calls
        assert entry.input_tokens == pytest.approx(count.input_tokens, rel=0.02)
        assert entry.cost == pytest.approx((entry.input_tokens + entry.output_tokens) / 1e6)
    assert [(entry.calls, entry.stored) for entry in plan(12)] == [(4, 20), (4, 20), (0, 0)]


def test_a_reply_off_the_scale_is_asked_again_and_then_an_error(bench: Bench) -> None:
    problem = "score: not one of 1, 2, 3, 4, 5"
    with JudgeServer(always(text=OFF_SCALE)) as server:
        judged = bench.judge(server, talks(1), ("empathy",))
        assert server.count == 3
        second = server.received[1].body["messages"]
        assert bench.judge(server, talks(1), ("empathy",)).calls == 0
    assert second[1]["content"] == OFF_SCALE
    assert problem in second[2]["content"]
    assert bench.rows[0][7:] == (None, None, None, f"no usable reply in 3: {problem}")
    assert judged.rubrics[0].unusable == 1
    (stored,) = bench.stored
    assert (stored.replies, stored.calls, stored.answer, stored.state) == ((OFF_SCALE,) * 3, 3, None, "unusable")


def test_a_cut_reply_says_so(bench: Bench) -> None:
    with JudgeServer(always(text='{"reason": "wel', choice={"finish_reason": "length"})) as server:
        bench.judge(server, talks(1), ("empathy",), max_tokens=5)
    assert "cut off at 5 tokens" in bench.column("error")[0]


def test_structured_answers(bench: Bench) -> None:
    reference = {
        "findings": ["cough", "fever"], "concerns": [{"id": "c", "category": "x", "text": "y"}],
        "submitted_findings": [], "ranked_diagnoses": ["flu", "cold"], "diagnosis": "cold",
    }  # fmt: skip
    over_turns = ("open_question", "turn_evaluator")
    names = (*over_turns, "values_detected", "concern_matching", "finding_check", "diagnosis_match")
    with JudgeServer() as server:
        judged = bench.judge(server, talks(1, reference=reference), names)
    assert judged.calls == 7, "one call for all turns, one for each of two turns, four for the rest"
    assert bench.all_rated
    assert {row[3] for row in bench.rows if row[4].split(".")[0] in over_turns} == {"turn:0", "turn:2"}
    assert "turn_evaluator.empathy_strength" in bench.column("metric")
    assert bench.rows[-2][4:8] == ("finding_check", "judge:tiny", 0, 2.0)
    assert bench.rows[-1][4:8] == ("diagnosis_match", "judge:tiny", 0, 0.0)


def test_expected_scores(bench: Bench) -> None:
    text = '{"reason": "x", "score": 4}'

    def top(piece: str) -> dict[str, Any]:
        return {"token": piece, "logprob": 0.0, "top_logprobs": [{"token": piece, "logprob": 0.0}]}

    half = -0.6931471805599453
    four = {**top("4"), "top_logprobs": [{"token": "4", "logprob": half}, {"token": "5", "logprob": half}]}
    logprobs = {"content": [top(text[:-2]), four, top("}")]}
    with JudgeServer(always(text=text, choice={"logprobs": logprobs})) as server:
        for _ in range(2):
            bench.judge(server, talks(1), ("empathy",), expected=True)
    values = [(row[4], row[7]) for row in bench.rows]
    assert values == [("empathy", 4.0), ("empathy.expected", pytest.approx(4.5))]
    with JudgeServer() as server:
        bench.judge(server, talks(1), ("empathy",), expected=True, temperature=1.0)
    assert bench.rows[1][7:] == (None, None, None, "the provider gives no probabilities of tokens")


def test_a_missing_input_makes_no_call(bench: Bench) -> None:
    with JudgeServer() as server:
        judged = bench.judge(server, talks(3), ("client_consistency",))
        assert server.count == 0
    assert set(bench.column("error")) == {"the transcript's reference has no background"}
    assert judged.rubrics[0].not_askable == 3


def test_a_prompt_over_the_limit_is_refused_not_cut(bench: Bench) -> None:
    long = conversation(("clinician", "word " * 20_000), id="long")
    with JudgeServer() as server:
        bench.judge(server, [long, *talks(1)], ("empathy",), max_prompt_tokens=5_000)
        assert server.count == 1
    assert bench.column("error")[0].startswith("the prompt has about 25")
    assert bench.column("error")[0].endswith("limit of 5000")


def test_an_index_that_is_null_is_missing_with_its_reason() -> None:
    answer = JudgeAnswer("transcript", None, {"reason": "none fits", "candidate": None}, None)
    assert list(ratings_of(find_rubric("diagnosis_match"), talks(1)[0], [answer])) == [
        ("transcript", "diagnosis_match", None, None, "none fits", "the judge found no candidate")
    ]


def test_three_percent_of_each_fault_ends_complete(bench: Bench) -> None:
    with JudgeServer(faulty(0.03, seed=5)) as server:
        # Which request meets which fault depends on timing: three useless replies in a row would be given up.
        judged = bench.judge(server, talks(200), max_concurrency=16, patience=replace(QUICK, replies=10))
        assert server.count == judged.calls > 400
    assert bench.all_rated
    assert judged.complete
    stored = bench.stored
    assert len(stored) == 400
    assert sum(judgement.calls for judgement in stored) == server.count
    assert len({fault for judgement in stored for fault in judgement.faults}) >= len(FAULTS) - 2


def in_three_seconds() -> str:
    """A date, which has whole seconds only."""
    return format_datetime(datetime.now(UTC) + timedelta(seconds=3), usegmt=True)


@pytest.mark.parametrize(
    ("when", "longest_wait", "least", "most"),
    [(lambda: "1.5", 5, 1.5, 60), (in_three_seconds, 5, 1.9, 60), (lambda: "86400", 0.5, 0, 5)],
    ids=["seconds", "date", "bounded"],
)
def test_retry_after_is_obeyed_within_bounds(
    bench: Bench, when: Callable[[], str], longest_wait: float, least: float, most: float
) -> None:
    arrived: list[float] = []

    def script(request: Received, number: int) -> Action:
        arrived.append(time.monotonic())
        return Action(status=429, headers={"Retry-After": when()}) if number == 1 else Action()

    patience = Patience(first_wait=0.01, longest_wait=longest_wait)
    with JudgeServer(script) as server:
        bench.judge(server, talks(1), ("empathy",), patience=patience)
    assert bench.all_rated
    assert least <= arrived[1] - arrived[0] < most


def test_a_busy_server_is_given_a_rest_by_all(bench: Bench) -> None:
    """A server that takes 20 requests in 0.1 s and refuses the others."""
    window: list[float] = []

    def script(request: Received, number: int) -> Action:
        now = time.monotonic()
        window[:] = [when for when in window if now - when < 0.1]
        if len(window) >= 20:
            return Action(status=429, headers={"Retry-After": "0.1"})
        window.append(now)
        return Action()

    with JudgeServer(script) as server:
        judged = bench.judge(server, talks(150), max_concurrency=64, patience=Patience(first_wait=0.1))
    assert judged.complete
    assert bench.all_rated


@pytest.mark.parametrize(
    ("status", "error"),
    [(500, "the server answered 500: as scripted, after 8 attempts"),
     (400, "the server refused the request (400: as scripted)")],
)  # fmt: skip
def test_one_that_fails_is_an_error_and_the_run_goes_on(bench: Bench, status: int, error: str) -> None:
    broken = True

    def script(request: Received, number: int) -> Action:
        fails = broken and "talk 3." in request.prompt and number > 3
        return Action(status=status) if fails else Action()

    with JudgeServer(script) as server:
        assert not bench.judge(server, talks(10), max_concurrency=2).complete
        errors = zip(bench.column("transcript_id"), bench.column("error"), strict=True)
        assert set(errors) == {(f"t{number}", error if number == 3 else None) for number in range(10)}
        broken, before = False, server.count
        assert bench.judge(server, talks(10)).calls == server.count - before == 2
    assert bench.all_rated


def stopped(bench: Bench, judge: JudgeServer | str, **options: Any) -> str:
    with pytest.raises(LanguageModelError) as raised:
        bench.judge(judge, talks(200), **options)
    text = str(raised.value)
    assert "\n" not in text
    return text


def test_no_server(bench: Bench) -> None:
    assert "http://127.0.0.1:9/v1: no server" in stopped(bench, NOBODY, patience=Patience())


@pytest.mark.parametrize("body", [b"<html>Log in</html>", b"{}", b'{"completion": "of another protocol"}'])
def test_what_answers_is_no_language_model(bench: Bench, body: bytes) -> None:
    with JudgeServer(always(body=body)) as server:
        assert "/v1: no language model answers" in stopped(bench, server, max_concurrency=1)
        assert server.count == 3


def test_an_error_that_is_reported_as_a_success_may_pass(bench: Bench) -> None:
    with JudgeServer(first(3, body=b'{"error": {"message": "overloaded"}}')) as server:
        assert bench.judge(server, talks(2), max_concurrency=1).complete


def test_a_server_that_dies(bench: Bench) -> None:
    with JudgeServer(lambda request, number: Action(drop=number > 50)) as server:
        assert "the connection failed" in stopped(bench, server)
    answered = sum(judgement.state == "answered" for judgement in bench.stored)
    assert answered == 50
    with JudgeServer() as server:
        assert bench.judge(server, talks(200)).calls == server.count == 400 - answered
    assert bench.all_rated


@pytest.mark.parametrize(
    ("status", "most", "options"),
    [
        *((status, 4, {"max_concurrency": 4}) for status in (401, 403, 404)),
        (400, 19, {"max_concurrency": 2}),
        (503, 10_000, {"patience": Patience(attempts=3, first_wait=0.01)}),
    ],
)
def test_a_server_that_refuses_everything(bench: Bench, status: int, most: int, options: Any) -> None:
    with JudgeServer(always(status=status)) as server:
        assert str(status) in stopped(bench, server, **options)
        assert server.count <= most


def test_time_outs(bench: Bench) -> None:
    with JudgeServer(lambda request, number: Action(delay=3 if number % 10 == 2 else 0)) as server:
        assert bench.judge(server, talks(20), timeout=0.3).complete
    assert any("no answer within 0.3 s" in judgement.faults for judgement in bench.stored)


def test_max_calls_is_a_hard_stop_and_a_rerun_goes_on(bench: Bench) -> None:
    with JudgeServer(faulty(0.05, seed=1)) as server:
        judged = bench.judge(server, talks(30), max_calls=25, max_concurrency=8)
        assert server.count == judged.calls == 25
        assert not judged.complete
        assert len(bench.rows) == 60
        missing = [error for error in bench.column("error") if error is not None]
        failed = [judgement for judgement in bench.stored if judgement.state == "failed"]
        assert set(missing) == {"not asked: the limit of 25 calls was reached", *(entry.error for entry in failed)}
        assert len(missing) - len(failed) == sum(count.not_asked for count in judged.rubrics)
        assert len(missing) - len(failed) == 60 - len(bench.stored)
        kept = len(bench.stored) - len(failed)
        assert len(Counter(request.prompt for request in server.received)) >= kept
        # Which requests meet the server's faults is chance: three useless replies in a row are no surprise.
        judged = bench.judge(server, talks(30), patience=replace(QUICK, replies=10))
    assert judged.complete
    assert sum(count.stored for count in judged.rubrics) == kept
    assert bench.all_rated


def test_what_was_paid_for_before_a_stop_counts(bench: Bench) -> None:
    """The limit falls between two replies to one prompt: the next run asks for the second, and says why."""
    with JudgeServer(first(2, text=OFF_SCALE)) as server:
        bench.judge(server, talks(1), ("empathy",), max_calls=1, price=Price(1, 1))
        (before,) = bench.stored
        assert (before.state, len(before.replies), before.calls) == ("failed", 1, 1)
        assert bench.column("error") == ["no usable reply in 1: score: not one of 1, 2, 3, 4, 5"]
        assert bench.judge(server, talks(1), ("empathy",), price=Price(1, 1)).calls == 2
        (after,) = bench.stored
        assert (after.state, len(after.replies), after.calls) == ("answered", 3, 3)
        assert after.input_tokens and after.output_tokens and after.cost and before.cost  # noqa: PT018
        assert after.cost == pytest.approx((after.input_tokens + after.output_tokens) / 1e6)
        assert after.cost > before.cost > 0
        assert "score: not one of" in server.received[1].body["messages"][2]["content"]


TOO_LONG = b'{"error": {"message": "too long", "code": "context_length_exceeded"}}'
NO_CREDIT = b'{"error": {"message": "You exceeded your current quota.", "code": "insufficient_quota"}}'


def in_words(request: Received, then: Action) -> Action:
    """A reply that is none, and something else to whom that is objected to."""
    return then if len(request.body["messages"]) > 1 else Action(text="It was fine.")


def test_what_is_too_long_with_the_reply_is_asked_without_it(bench: Bench) -> None:
    def script(request: Received, number: int) -> Action:
        return in_words(request, Action(400, body=TOO_LONG)) if number < 3 else Action()

    with JudgeServer(script) as server:
        judged = bench.judge(server, talks(1), ("empathy",), price=Price(1, 1))
        first, _, last = (request.body["messages"] for request in server.received)
    (judgement,) = bench.stored
    assert (judgement.state, len(judgement.replies), judgement.calls) == ("answered", 2, 2)
    assert judgement.cost == judged.rubrics[0].cost
    (message,) = last
    assert message["content"].startswith(first[0]["content"])
    assert len(message["content"]) > len(first[0]["content"]), "the objection stands there"


def test_a_reply_that_was_paid_for_is_kept_where_asking_again_is_too_long(bench: Bench) -> None:
    with JudgeServer(
        lambda request, number: Action(400, body=TOO_LONG) if number > 1 else Action(text="Fine.")
    ) as server:
        judged = bench.judge(server, talks(1), ("empathy",), price=Price(1, 1))
        (judgement,), sent = bench.stored, server.count
        assert (judgement.state, judgement.replies, judgement.calls) == ("unusable", ("Fine.",), 1)
        prompt = server.received[0].prompt
        assert judgement.cost == pytest.approx((len(prompt) // 4 + len("Fine.") // 4) / 1e6)
        assert judgement.cost == judged.rubrics[0].cost
        assert (judged.rubrics[0].unusable, judged.rubrics[0].not_askable) == (1, 0)
        bench.judge(server, talks(1), ("empathy",))
        assert server.count == sent, "it isn't paid again"


def test_replies_that_were_paid_for_are_kept_where_the_run_is_stopped(bench: Bench) -> None:
    """One is refused, which ends the run, while another waits for its answer: of both, the first reply is kept."""

    def script(request: Received, number: int) -> Action:
        slow = "talk 1." in request.prompt
        return in_words(request, Action(429, body=NO_CREDIT, delay=5.0 if slow else 0.3))

    with JudgeServer(script) as server:
        stopped_by = stopped(bench, server, names=("empathy",), max_concurrency=2, price=Price(1, 1))
    assert "no credit" in stopped_by
    kept = [(entry.transcript, entry.state, entry.replies) for entry in bench.stored]
    assert sorted(kept) == [(f"t{number}", "failed", ("It was fine.",)) for number in range(2)]
    assert all(entry.cost for entry in bench.stored)
    with JudgeServer() as server:
        bench.judge(server, talks(2), ("empathy",), price=Price(1, 1))
        assert [len(request.body["messages"]) for request in server.received] == [3, 3]
    assert bench.all_rated
    assert {entry.state for entry in bench.stored} == {"answered"}


@pytest.mark.parametrize("option", ["passes", "max_concurrency", "items_per_call", "max_tokens"])
def test_numbers_out_of_range(bench: Bench, option: str) -> None:
    wrong: dict[str, Any] = {option: 0}
    with pytest.raises(InputError, match="must be 1 or more, and is 0"):
        bench.judge(NOBODY, [], **wrong)


PROGRAM = """
    import sys
    from pathlib import Path
    from tests.judges.test_judgement_queue import Bench, talks

    judge, folder, count, concurrency = sys.argv[1:]
    bench = Bench(Path(folder))
    judged = bench.judge(judge, talks(int(count)), max_concurrency=int(concurrency))
    print(judged.calls, len(bench.rows), sum(error is not None for error in bench.column("error")))
"""


def start(server: JudgeServer, bench: Bench, count: int, concurrency: int) -> subprocess.Popen[str]:
    arguments = (server.judge, bench.path.parent, count, concurrency)
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(PROGRAM), *map(str, arguments)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2],
    )  # fmt: skip


preload("pytest", "tests.judges.test_judgement_queue")


def work(judge: str, folder: Path, count: int, concurrency: int) -> None:
    """What PROGRAM does, for a process that is forked."""
    Bench(folder).judge(judge, talks(count), max_concurrency=concurrency)


def prompts_of(bench: Bench) -> set[str]:
    stored = {judgement.prompt for judgement in bench.stored}
    for prompt in stored - bench.prompts.keys():
        text = read_prompt(bench.path, prompt)
        assert text is not None
        bench.prompts[prompt] = text
    return {bench.prompts[prompt] for prompt in stored}


@pytest.mark.soak
def test_killed_at_random_moments(bench: Bench) -> None:
    """What was on disk is never asked again, and what was not is at most what was in flight."""
    kills = budget(12, 50)
    generator = random.Random(kills)
    count, concurrency = 8 * kills, 8
    with JudgeServer(latency=0.03) as server:
        for _ in range(kills):
            before = server.count
            kept = prompts_of(bench)
            process = CONTEXT.Process(target=work, args=(server.judge, bench.path.parent, count, concurrency))
            process.start()
            while server.count == before and process.exitcode is None:
                time.sleep(0.002)
            time.sleep(generator.uniform(0, 0.1))
            process.kill()
            process.join()
            time.sleep(0.06)  # what is still with the server is answered to nobody
            sent = [request.prompt for request in server.received[before:]]
            assert not kept & set(sent)
            assert len(sent) == len(set(sent))
            assert len(set(sent) - prompts_of(bench)) <= concurrency
            assert kept <= prompts_of(bench)
        bench.judge(server, talks(count), max_concurrency=concurrency)
        bench.prompts.clear()
        assert set(server.prompts) == prompts_of(bench)
        assert sum(server.prompts.values()) <= 2 * count + kills * concurrency
    assert bench.all_rated
    assert len(bench.rows) == len(bench.stored) == 2 * count
    assert bench.alone()


def test_interrupted(bench: Bench) -> None:
    with JudgeServer(latency=0.05) as server:
        process = start(server, bench, 200, 8)
        while server.count < 50:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)
        assert process.returncode not in (0, -signal.SIGKILL)
        time.sleep(0.2)
        sent, kept = server.count, len(bench.stored)
        assert 30 <= kept <= sent
        assert sent - kept <= 8
        assert bench.judge(server, talks(200)).calls == 400 - kept
    assert bench.alone()


def test_two_processes_share_the_work(bench: Bench) -> None:
    with JudgeServer(latency=0.03) as server:
        processes = [start(server, bench, 100, 8) for _ in range(2)]
        lines = [process.communicate(timeout=60)[0].split() for process in processes]
        assert [line[1:] for line in lines] == [["200", "0"], ["200", "0"]]
        assert sum(int(line[0]) for line in lines) == server.count == 200
        assert set(server.prompts.values()) == {1}
    assert len(bench.stored) == 200


def test_one_takes_over_what_a_killed_one_was_asking(bench: Bench) -> None:
    with JudgeServer(first(8, delay=120)) as server:
        victim = start(server, bench, 10, 8)
        while server.count < 8:
            time.sleep(0.01)
        heir = start(server, bench, 10, 8)
        time.sleep(2)
        os.kill(victim.pid, signal.SIGKILL)
        victim.wait()
        assert heir.communicate(timeout=100)[0].split()[1:] == ["20", "0"]


def test_the_key_is_written_nowhere(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    key = "sk-very-secret-0123456789"
    monkeypatch.setenv("BEDSIDE_API_KEY", key)
    caplog.set_level("DEBUG")
    echo = json.dumps({"error": {"message": f"no place for {key}"}}).encode()

    def script(request: Received, number: int) -> Action:
        assert key in request.headers["Authorization"]
        match number % 7:
            case 3:
                return Action(status=500, body=echo)
            case 5:
                return Action(status=400 if number % 2 else 429, body=echo)
            case 6:
                return Action(text=json.dumps({"reason": f"I saw {key}", "score": 3}))
        return Action()

    with JudgeServer(script) as server:
        bench.judge(server, talks(60), ("empathy",), text=True)
    assert any("[key removed]" in str(row) for row in bench.rows)
    assert key not in f"{bench.rows} {caplog.text} {bench.stored!r} {rater_of(model_name(server.judge))}"
    for path in bench.path.parent.rglob("*"):
        assert key.encode() not in path.read_bytes()


def test_no_text_keeps_no_prompt(bench: Bench) -> None:
    with JudgeServer() as server:
        bench.judge(server, talks(3), text=False)
        assert bench.judge(server, talks(3), text=False).calls == 0
    assert all(read_prompt(bench.path, judgement.prompt) is None for judgement in bench.stored)
    assert b"I drink too much" not in bench.path.read_bytes()
