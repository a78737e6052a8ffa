"""Several endpoints that serve one judge, against real servers: shared out, sticky, patient, and as good as one."""

from __future__ import annotations

import json
import math
import threading
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("aiohttp")

from bedside.core.errors import RegistryError
from bedside.judges.llm.endpoints import model_name, named_models, rooms
from bedside.judges.llm.model_names import Endpoint, ModelName
from bedside.judges.llm.protocol import LanguageModelError
from bedside.judges.llm.queue import Patience
from bedside.judges.raters import endpoint_lines, rater_of
from bedside.judges.rubrics.rubric_files import find_rubric
from bedside.judges.store import read_judgements
from tests.judges.judging import judge_transcripts
from tests.judges.llm.server import Action, JudgeServer, Received, Script, fitting, with_settings
from tests.judges.test_judgement_queue import talks

pytestmark = pytest.mark.server

NAMES = ("empathy", "partnership", "values_detected", "open_question", "effectiveness")
QUICK = Patience(first_wait=0.02, longest_wait=0.3)


def judge(path: Path, name: Any, transcripts: Any, names: tuple[str, ...] = NAMES, **options: Any) -> Any:
    rows: list[Any] = []
    judged = judge_transcripts(
        transcripts,
        [find_rubric(each) for each in names],
        name,
        store_path=path,
        add=rows.append,
        **with_settings({"patience": QUICK, **options}),
    )
    return judged, rows


def served(*servers: JudgeServer | str, weights: tuple[float, ...] = ()) -> ModelName:
    names = [model_name(each if isinstance(each, str) else each.judge) for each in servers]
    endpoints = tuple(Endpoint(name, weight) for name, weight in zip(names, weights or [1.0] * len(names), strict=True))
    return replace(names[0], endpoints=endpoints)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "judgements.sqlite"


def refusing(status: int, after: int = 0, **how: Any) -> Script:
    return lambda request, number: Action(status=status, **how) if number > after else Action()


def test_addresses_of_one_model_are_one_judge(tmp_path: Path) -> None:
    file = tmp_path / "endpoints.yaml"
    file.write_text(
        "- http://a:1/v1#llama\n"
        "- {address: 'http://b:1/v1#llama', weight: 3, max_concurrency: 5, key_env: B_KEY}\n"
        "- http://a:1/v1#qwen\n"
    )
    names = named_models(["http://c:1/v1#qwen", str(file), "http://c:1/v1#llama", "http://c:1/v1#llama", "local"])
    assert [rater_of(name) for name in names] == ["judge:qwen", "judge:llama", "judge:local/smollm2-135m-toy"]
    qwen, llama, local = names
    assert [each.name.url for each in qwen.endpoints] == ["http://c:1/v1", "http://a:1/v1"]
    assert [(each.name.url, each.weight, each.name.key) for each in llama.endpoints] == [
        ("http://a:1/v1", 1.0, "BEDSIDE_API_KEY"),
        ("http://b:1/v1", 3.0, "B_KEY"),
        ("http://c:1/v1", 1.0, "BEDSIDE_API_KEY"),
    ]
    assert local.endpoints == ()
    assert rooms(llama.endpoints, 9) == [3, 5, 3]
    assert rooms([Endpoint(qwen, weight) for weight in (60, 40, 0.1)], 8) == [8, 5, 1]
    assert next(endpoint_lines([str(file)], 9)) == (
        "judge:llama is asked at http://a:1/v1 (weight 1, 3 at once), "
        "http://b:1/v1 (key in B_KEY) (weight 3, 5 at once)."
    )


def test_one_key_after_another_at_one_address(tmp_path: Path) -> None:
    file = tmp_path / "e.yml"
    file.write_text("- {address: openai/m, key_env: ONE}\n- {address: openai/m, key_env: TWO}\n")
    assert [each.name.key for each in model_name(str(file)).endpoints] == ["ONE", "TWO"]


def test_a_key_in_place_of_its_name_is_not_repeated(tmp_path: Path) -> None:
    file = tmp_path / "endpoints.yaml"
    file.write_text("- {address: 'http://a:1/v1#m', key_env: sk-secret-123456789}\n")
    with pytest.raises(RegistryError, match="not the name of an environment variable") as raised:
        named_models([str(file)])
    assert "secret" not in str(raised.value)


def test_transcripts_are_spread_by_weight(path: Path) -> None:
    """With room for all, how many transcripts an endpoint is sent is binomial in its weight."""
    with JudgeServer() as one, JudgeServer() as other:
        judge(path, served(one, other, weights=(3, 1)), talks(200), ("empathy",), max_concurrency=1000)
        assert one.count + other.count == 200
        assert abs(one.count - 150) <= 4 * math.sqrt(200 * 0.75 * 0.25)


def test_a_full_house_is_spread_by_weight(path: Path) -> None:
    with JudgeServer(latency=0.05) as one, JudgeServer(latency=0.05) as other:
        judge(path, served(one, other, weights=(3, 1)), talks(60), max_concurrency=12)
        assert one.count + other.count == 300
        assert (one.most_in_flight, other.most_in_flight) == (12, 4)
        assert 1.8 <= one.count / other.count <= 4.5


def test_a_transcript_stays_where_it_is(path: Path) -> None:
    """Its prompts begin alike, so a server that has seen one need not read the transcript again for the next."""
    with ExitStack() as stack:
        servers = [stack.enter_context(JudgeServer(latency=0.03)) for _ in range(4)]
        judge(path, served(*servers), talks(80), max_concurrency=4)
        homes: dict[str, Counter[int]] = {}
        for number, server in enumerate(servers):
            for request in server.received:
                homes.setdefault(request.prompt.split("code ")[1][:12], Counter())[number] += 1
    assert len(homes) == 80
    assert sum(homes[each].total() for each in homes) == 400
    settled = sum(max(counts.values()) for counts in homes.values())
    assert settled >= 0.85 * 400
    assert all(100 * 0.4 <= server.count <= 100 * 1.8 for server in servers)


def test_the_home_of_a_transcript_is_the_same_in_every_run(tmp_path: Path) -> None:
    seen = []
    with JudgeServer() as one, JudgeServer() as other:
        for number, name in enumerate((served(one, other), served(other, one))):
            one.received.clear()
            judge(tmp_path / f"{number}.sqlite", name, talks(20), ("empathy",), max_concurrency=50)
            seen.append({request.prompt for request in one.received})
    assert seen[0] == seen[1]
    assert 0 < len(seen[0]) < 20


def test_nobody_is_idle_while_one_transcript_is_long(path: Path) -> None:
    with JudgeServer(latency=0.05) as one, JudgeServer(latency=0.05) as other:
        judge(path, served(one, other), talks(1), ("open_question",), max_concurrency=2, passes=40)
        assert min(one.count, other.count) >= 12


@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_ratings_are_the_same_however_many_endpoints(tmp_path: Path, count: int) -> None:
    with JudgeServer() as alone:
        _, expected = judge(tmp_path / "alone.sqlite", model_name(alone.judge), talks(12), passes=2)
    with ExitStack() as stack:
        servers = [stack.enter_context(JudgeServer(latency=0.01)) for _ in range(count)]
        judged, rows = judge(tmp_path / "several.sqlite", served(*servers), talks(12), passes=2)
        assert sum(server.count for server in servers) == judged.calls == 120
        # What is kept knows the model only: other endpoints have nothing to do.
        again, same = judge(tmp_path / "several.sqlite", served("http://127.0.0.1:9/v1#tiny"), talks(12), passes=2)
    assert rows == same == expected
    assert again.calls == 0


def test_who_answered_is_kept(path: Path) -> None:
    with JudgeServer() as one, JudgeServer() as other:
        judge(path, served(one, other), talks(20))
        counts = Counter(each.endpoint for each in read_judgements(path))
        assert counts == {one.url: one.count, other.url: other.count}


def test_the_limit_of_calls_is_that_of_all(path: Path) -> None:
    with JudgeServer(latency=0.01) as one, JudgeServer(latency=0.01) as other:
        judged, _ = judge(path, served(one, other), talks(20), max_calls=37)
        assert one.count + other.count == judged.calls == 37


#: Where nobody listens.
DEAD = tuple(f"http://127.0.0.1:{port}/v1#tiny" for port in (9, 19, 29))


def set_aside(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.message for record in caplog.records if "is set aside" in record.message]


def answered_once(path: Path, rows: list[Any]) -> None:
    """Everything is rated, and kept once."""
    assert {row[10] for row in rows} == {None}
    stored = list(read_judgements(path))
    assert len({each.key for each in stored}) == len(stored)
    assert {each.state for each in stored} == {"answered"}


@pytest.mark.parametrize(
    "script",
    [
        refusing(429, headers={"Retry-After": "0.1"}),
        refusing(429),
        refusing(500),
        refusing(503),
        refusing(401),
        refusing(404),
        refusing(200, drop=True),
        refusing(200, body=b"<html>"),
    ],
    ids=["429 and when", "429", "500", "503", "401", "404", "drop", "no JSON"],
)
@pytest.mark.parametrize("after", [0, 15])
def test_one_that_fails_is_made_up_for(
    path: Path, script: Script, after: int, caplog: pytest.LogCaptureFixture
) -> None:
    """From the start, or from some time on."""

    def then(request: Received, number: int) -> Action:
        return Action() if number <= after else script(request, number)

    with JudgeServer(latency=0.01) as good, JudgeServer(then, latency=0.01) as bad:
        judged, rows = judge(path, served(good, bad), talks(40), max_concurrency=4)
        assert good.count == 200 - min(after, bad.count)
    answered_once(path, rows)
    assert judged.complete
    assert judged.calls == good.count + bad.count
    (line,) = set_aside(caplog)
    assert line.startswith(bad.url)
    assert line.endswith("1 of 2 endpoints are left")


def test_one_that_refuses_everything_is_no_judge_of_requests(path: Path) -> None:
    with JudgeServer(latency=0.01) as good, JudgeServer(refusing(400), latency=0.05) as bad:
        _, rows = judge(path, served(good, bad), talks(40), max_concurrency=4)
        assert bad.count < 150
    answered_once(path, rows)


def test_one_that_isnt_there(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with JudgeServer(latency=0.01) as good:
        judged, rows = judge(path, served(*DEAD, good), talks(20), max_concurrency=1)
        assert good.count == 100
    answered_once(path, rows)
    assert judged.complete
    assert len(set_aside(caplog)) == 3


def test_a_slow_one_gets_less(path: Path) -> None:
    with JudgeServer(latency=0.02) as quick, JudgeServer(latency=0.4) as slow:
        _, rows = judge(path, served(quick, slow), talks(60), max_concurrency=4)
        assert quick.count + slow.count == 300
        assert slow.count < 100
    answered_once(path, rows)


def test_one_that_hangs(path: Path) -> None:
    with JudgeServer() as good, JudgeServer(latency=20) as hung:
        judged, rows = judge(path, served(good, hung), talks(20), max_concurrency=2, timeout=0.5)
        assert hung.count <= 20
    answered_once(path, rows)
    assert judged.complete


def test_one_that_comes_back_is_asked_again(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    began = time.monotonic()

    def script(request: Received, number: int) -> Action:
        return Action(drop=0.2 < time.monotonic() - began < 0.6)

    with JudgeServer(latency=0.03) as good, JudgeServer(script, latency=0.03) as other:
        _, rows = judge(path, served(good, other), talks(120), max_concurrency=4)
        assert other.count > 60
    answered_once(path, rows)
    assert set_aside(caplog)
    assert f"{other.url} answers again" in [record.message for record in caplog.records]


def test_a_limit_of_requests_is_kept_to(path: Path) -> None:
    """One that refuses what comes beside two others is sent no more than it takes, by and by."""
    refused = 0
    lock = threading.Lock()

    def script(request: Received, number: int) -> Action:
        nonlocal refused
        with lock:
            if tight.in_flight > 2:
                refused += 1
                return Action(status=429)
        return Action()

    tight = JudgeServer(script, latency=0.03)
    with JudgeServer(latency=0.03) as good, tight:
        _, rows = judge(path, served(good, tight), talks(60), max_concurrency=8)
        assert tight.count - refused > 20
    answered_once(path, rows)
    assert refused < 120


def test_all_dead_from_the_start_is_one_line(path: Path) -> None:
    with pytest.raises(LanguageModelError, match="no server answers") as raised:
        judge(path, served(*DEAD), talks(20))
    assert "\n" not in str(raised.value)


def test_nobody_lets_us_in(path: Path) -> None:
    with JudgeServer(refusing(401)) as one, JudgeServer(refusing(403)) as other:
        with pytest.raises(LanguageModelError, match="refuses"):
            judge(path, served(one, other), talks(20), max_concurrency=4)
        assert one.count + other.count <= 16, "those under way when the last one refused"


def test_all_that_die_leave_what_was_done(path: Path) -> None:
    with JudgeServer(refusing(200, 40, drop=True)) as one, JudgeServer(refusing(200, 30, drop=True)) as other:
        with pytest.raises(LanguageModelError, match="in a row were given up") as raised:
            judge(path, served(one, other), talks(40), max_concurrency=4)
        assert "\n" not in str(raised.value)
        kept = sum(each.state == "answered" for each in read_judgements(path))
        assert kept == 70
    with JudgeServer() as one, JudgeServer() as other:
        judged, rows = judge(path, served(one, other), talks(40), max_concurrency=4)
        assert one.count + other.count == judged.calls == 200 - kept
    answered_once(path, rows)


def test_keys_go_to_their_endpoint_and_nowhere_else(
    tmp_path: Path, path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    keys = {"FIRST": "sk-first-0123456789", "SECOND_NAME": "sk-second-9876543210"}
    for name, key in keys.items():
        monkeypatch.setenv(name, key)

    def echo(request: Received, number: int) -> Action:
        key = request.headers["Authorization"].removeprefix("Bearer ")
        if number % 5 == 0:
            return Action(status=500, body=json.dumps({"error": {"message": f"not with {key}"}}).encode())
        return Action(text=fitting(request).replace("because", f"because {key}"))

    with JudgeServer(echo) as one, JudgeServer(echo) as other:
        file = tmp_path / "endpoints.yaml"
        places = zip((one, other), keys, strict=True)
        file.write_text(json.dumps([{"address": server.judge, "key_env": name} for server, name in places]))
        _, rows = judge(path, named_models([str(file)])[0], talks(20))
        for server, key in zip((one, other), keys.values(), strict=True):
            assert {request.headers["Authorization"] for request in server.received} == {f"Bearer {key}"}
    assert "[key removed]" in str(rows)
    for key in keys.values():
        assert key not in f"{rows} {caplog.text} {list(read_judgements(path))!r}"
        for each in tmp_path.rglob("*"):
            assert key.encode() not in each.read_bytes()


def test_a_key_that_isnt_set_is_told_before_anything_is_asked(tmp_path: Path, path: Path) -> None:
    with JudgeServer() as server:
        file = tmp_path / "endpoints.yaml"
        file.write_text(f"- {server.judge}\n- {{address: 'http://127.0.0.1:9/v1#tiny', key_env: NOT_SET_ANYWHERE}}\n")
        with pytest.raises(LanguageModelError, match="NOT_SET_ANYWHERE is not set"):
            judge(path, model_name(str(file)), talks(1))
        assert server.count == 0
