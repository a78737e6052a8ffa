"""Posting to a real server that misbehaves, and past proxies that are none."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytest.importorskip("aiohttp")

from bedside.judges.llm.http_poster import AnswerTooLargeError, HttpPoster, PostAnswer
from bedside.judges.llm.protocol import FaultError, LanguageModelError, RefusedError
from tests.judges.llm.server import Action, JudgeServer, Received

KEY = "sk-very-secret-0123456789"


def posted(url: str, **settings: Any) -> tuple[PostAnswer, Exception]:
    """What an address answers, and what that means."""

    async def run() -> tuple[PostAnswer, Exception]:
        usual: dict[str, Any] = {"partner": "the agent", "where": "there", "key": KEY, "time_limit": 5.0}
        poster = HttpPoster(url, **{**usual, "most_bytes": 1000, **settings})
        try:
            answer = await poster.post(b"{}")
            return answer, poster.failure(answer)
        finally:
            await poster.close()

    return asyncio.run(run())


@pytest.fixture
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in ("http_proxy", "HTTP_PROXY", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


def answered(action: Action, **settings: Any) -> tuple[PostAnswer, Exception]:
    with JudgeServer(lambda request, number: action, keep=False) as server:
        return posted(server.url, **settings)


@pytest.mark.server
@pytest.mark.parametrize(
    ("action", "kind", "words"),
    [
        (Action(status=302, headers={"Location": "http://elsewhere/"}), LanguageModelError,
         "there: the agent redirects to http://elsewhere/; name that address"),
        (Action(status=400, body=b'{"error": "no such thing"}'), RefusedError,
         "the agent refused the request (400: no such thing)"),
        (Action(status=500, body=KEY.encode()), FaultError, "the agent answered 500: [key removed]"),
        (Action(status=429, headers={"Retry-After": "7"}), FaultError, "the agent answered 429"),
    ],
)  # fmt: skip
def test_what_an_answer_means(action: Action, kind: type[Exception], words: str) -> None:
    answer, failure = answered(action)
    assert answer.status == action.status
    assert isinstance(failure, kind)
    assert words in str(failure)
    if isinstance(failure, FaultError):
        assert (failure.wait, failure.busy) == ((7.0, True) if action.status == 429 else (None, False))


@pytest.mark.server
def test_an_answer_is_read_up_to_its_limit() -> None:
    assert len(answered(Action(body=b"x" * 1000))[0].body) == 1000
    with pytest.raises(AnswerTooLargeError):
        answered(Action(body=b"x" * 1001))


@pytest.mark.server
@pytest.mark.parametrize(
    ("action", "words"),
    [(Action(drop=True), "the connection failed"), (Action(delay=1.0), "no answer within 0.2 s"), (None, "failed")],
    ids=["dropped", "late", "nobody is there"],
)
def test_no_answer(action: Action | None, words: str) -> None:
    with pytest.raises(FaultError, match=words) as caught:
        posted("http://127.0.0.1:9/") if action is None else answered(action, time_limit=0.2)
    assert caught.value.unreachable


@pytest.mark.parametrize("variable", ["http_proxy", "HTTP_PROXY"])
def test_the_address_of_a_proxy_that_is_none(no_proxies: pytest.MonkeyPatch, variable: str) -> None:
    no_proxies.setenv(variable, "http://me:hunter22-of-the-proxy@[broken")
    with pytest.raises(LanguageModelError, match=r"^there: .*proxy.*HTTP_PROXY and HTTPS_PROXY") as caught:
        posted("http://agent.invalid/talk")
    assert "hunter22" not in str(caught.value)


def test_a_server_on_this_computer_is_asked_without_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://[broken")
    with pytest.raises(FaultError, match="the connection failed"):
        posted("http://127.0.0.1:9/")


@pytest.mark.server
def test_another_computer_is_asked_by_the_proxy_unless_it_is_excepted(no_proxies: pytest.MonkeyPatch) -> None:
    url, asked = "http://agent.invalid/v1/chat/completions", []

    def script(request: Received, number: int) -> Action:
        asked.append({name.lower(): value for name, value in request.headers.items()})
        return Action(body=b"{}")

    with JudgeServer(script, keep=False) as proxy:
        no_proxies.setenv("http_proxy", f"http://127.0.0.1:{proxy.port}")
        assert posted(url)[0].body == b"{}"
        assert asked[0]["host"] == "agent.invalid"
        # The key is the agent's: the proxy, which needs none, isn't given it as its own.
        assert "proxy-authorization" not in asked[0]
        no_proxies.setenv("no_proxy", "agent.invalid")
        with pytest.raises(FaultError, match="the connection failed"):
            posted(url)
        assert proxy.count == 1
