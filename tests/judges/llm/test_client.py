"""Clients against a real server: forms of structured output, what is an error of what kind, keys that stay secret."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import textwrap
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("aiohttp")

from bedside.judges.llm.clients.deepeval import PROVIDERS
from bedside.judges.llm.endpoints import Forms, model_name
from bedside.judges.llm.http_poster import AnswerTooLargeError
from bedside.judges.llm.model_names import ModelName
from bedside.judges.llm.protocol import (
    DeclinedError,
    FaultError,
    LanguageModelError,
    NotAskableError,
    RefusedError,
    Reply,
    Request,
    Sampling,
    UnusableError,
    WrongFormError,
    retry_after,
)
from bedside.judges.llm.queue import CallRecord, Patience, RequestQueue
from bedside.judges.llm.server_problems import Secrets
from bedside.judges.llm.sharing import open_client
from bedside.judges.prompt import objection
from bedside.judges.raters import rater_of
from bedside.judges.rubrics.rubric_files import find_rubric
from tests.judges.llm.server import Action, JudgeServer, Received, Script, fitting

RUBRIC = find_rubric("empathy")
REQUEST = Request.of_text("Rate this.", json.dumps(RUBRIC.schema()), schema_name="judgement")
KEY = "sk-very-secret-0123456789"


def ask(judge: str, *requests: Request, **sampling: Any) -> list[Reply]:
    async def run() -> list[Reply]:
        client = open_client(model_name(judge), Sampling(**sampling))
        try:
            return [await client.complete(request) for request in requests]
        finally:
            await client.close()

    return asyncio.run(run())


def replied(action: Action, **sampling: Any) -> Reply:
    with JudgeServer(lambda request, number: action) as server:
        return ask(server.judge, REQUEST, **sampling)[0]


def failing(action: Action, **sampling: Any) -> Exception:
    with JudgeServer(lambda request, number: action) as server, pytest.raises(Exception) as raised:
        ask(server.judge, replace(REQUEST, form=2), **sampling)
    return raised.value


@pytest.mark.parametrize(
    ("text", "expected", "rater"),
    [
        ("http://localhost:8000/v1#meta/llama#2",
         ("meta/llama#2", None, "http://localhost:8000/v1", "BEDSIDE_API_KEY"), "meta/llama#2"),
        ("https://example.org/v1/#m", ("m", None, "https://example.org/v1", "BEDSIDE_API_KEY"), "m"),
        ("anthropic/claude-x", ("claude-x", "anthropic", None, "ANTHROPIC_API_KEY"), "anthropic/claude-x"),
        ("openrouter/meta/llama",
         ("meta/llama", "openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"), "openrouter/meta/llama"),
        ("openai/gpt-x", ("gpt-x", "openai", "https://api.openai.com/v1", "OPENAI_API_KEY"), "openai/gpt-x"),
    ],
)  # fmt: skip
def test_names(text: str, expected: tuple[Any, ...], rater: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    assert model_name(text) == ModelName(*expected)
    assert rater_of(model_name(text)) == f"judge:{rater}"


@pytest.mark.server
def test_what_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BEDSIDE_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-another-company")
    corrected = replace(REQUEST.objecting("5 of 5", objection("no JSON")), seed=7)
    with JudgeServer() as server:
        replies = ask(server.judge, REQUEST, corrected, temperature=0.5, max_tokens=77)
        first, second = server.received
    assert first.path == "/v1/chat/completions"
    assert first.headers["Authorization"] == f"Bearer {KEY}"
    assert first.body == {
        "model": "tiny",
        "max_tokens": 77,
        "temperature": 0.5,
        "messages": [{"role": "user", "content": "Rate this."}],
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "judgement", "strict": True, "schema": RUBRIC.schema()},
        },
    }
    assert [message["role"] for message in second.body["messages"]] == ["user", "assistant", "user"]
    assert second.body["messages"][1]["content"] == "5 of 5"
    assert "no JSON" in second.body["messages"][2]["content"]
    assert second.body["seed"] == 7
    assert json.loads(replies[0].text)["score"] in (1, 2, 3, 4, 5)
    assert replies[0].input_tokens == len("Rate this.") // 4


@pytest.mark.server
def test_no_key_and_no_temperature(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BEDSIDE_API_KEY", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with JudgeServer() as server:
        ask(server.judge, REQUEST, temperature=None)
        assert "Authorization" not in server.received[0].headers
        assert "temperature" not in server.received[0].body
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        ask("openai/gpt-x", REQUEST)
        assert server.received[1].headers["Authorization"] == f"Bearer {KEY}"


@pytest.mark.server
def test_probabilities() -> None:
    raw = '{"reason": "🙂", "score": 4}'.encode()
    pieces = [raw[:13], raw[13:15], raw[15:-2], b"4", b"}"]
    content = [
        {"token": piece.decode("utf-8", "replace"), "bytes": list(piece), "logprob": 0.0,
         "top_logprobs": [{"token": "4", "bytes": list(piece), "logprob": -0.5}]}
        for piece in pieces
    ]  # fmt: skip
    action = Action(text=raw.decode(), choice={"logprobs": {"content": content}})
    with JudgeServer(lambda request, number: action) as server:
        (reply,) = ask(server.judge, REQUEST, probabilities=True)
        assert (server.received[0].body["logprobs"], server.received[0].body["top_logprobs"]) == (True, 20)
    assert b"".join(token.text for token in reply.tokens) == raw
    assert reply.tokens[3].alternatives == ((b"4", -0.5),)


@pytest.mark.server
@pytest.mark.parametrize("odd", [{"content": None}, {"content": [{"token": "4"}]}, {"tokens": ["4"]}, [], "x"])
def test_probabilities_of_another_form(odd: object) -> None:
    assert replied(Action(text="{}", choice={"logprobs": odd}), probabilities=True).tokens == ()


@pytest.mark.server
def test_content_in_parts_and_cut_replies() -> None:
    parts = {"message": {"content": [{"type": "text", "text": "{}"}]}, "finish_reason": "length"}
    reply = replied(Action(choice=parts))
    assert (reply.text, reply.cut) == ("{}", True)


@pytest.mark.server
@pytest.mark.parametrize(
    ("status", "refused", "kept"),
    [
        (400, ("json_schema",), "json_object"),
        (500, ("json_schema",), "json_object"),
        (422, ("json_schema", "json_object"), "words"),
        (200, (), "json_schema"),
    ],
)
def test_the_form_a_server_takes_is_found_and_kept(status: int, refused: tuple[str, ...], kept: str) -> None:
    async def run(judge: str) -> None:
        client = open_client(model_name(judge), Sampling())
        for _ in range(5):
            request = REQUEST
            while True:
                try:
                    await client.complete(request)
                    break
                except WrongFormError as wrong:
                    request = replace(request, form=wrong.form)
                except FaultError:  # it may have been chance
                    pass
        await client.close()

    def script(request: Received, number: int) -> Action:
        return Action(status=status) if request.form in refused else Action(text="{}")

    with JudgeServer(script) as server:
        asyncio.run(run(server.judge))
        forms = [request.form for request in server.received]
    assert forms[-3:] == [kept] * 3
    # A failure may have been chance, so it is believed the second time; a refusal at once.
    assert len(forms) == 5 + len(refused) * (2 if status == 500 else 1)


@pytest.mark.server
@pytest.mark.parametrize(
    ("status", "says", "forms"),
    [
        (500, "Internal server error", ["json_schema"] * 3),
        (500, "Failed to parse grammar", ["json_schema", "json_object", "json_object"]),
        (501, "not here", ["json_schema", "json_object", "json_object"]),
    ],
)
def test_a_failure_that_passes_costs_no_request_its_schema(status: int, says: str, forms: list[str]) -> None:
    """A server fails once; two requests are asked. What says that it is the schema is taken at its word."""

    async def run(judge: str) -> None:
        client = open_client(model_name(judge), Sampling())
        queue = RequestQueue(client, judge, Patience(first_wait=0.01))
        for key in "ab":
            await queue.reply(replace(REQUEST, key=key), CallRecord())
        await client.close()

    failing_once = Action(status=status, body=json.dumps({"error": {"message": says}}).encode())
    with JudgeServer(lambda request, number: failing_once if number == 1 else Action(text="{}")) as server:
        asyncio.run(run(server.judge))
        assert [request.form for request in server.received] == forms


def test_a_form_that_worked_is_never_given_up() -> None:
    forms = Forms(2)
    forms.worked(0)
    for _ in range(10):
        forms.failed(0, refused=True)
    forms.worked(1)
    assert forms.choose(REQUEST) == 0


@pytest.mark.server
@pytest.mark.parametrize(
    ("action", "kind", "says"),
    [
        (Action(status=429), FaultError, "429: as scripted"),
        (Action(status=503), FaultError, "503"),
        (Action(status=500), FaultError, "500"),
        (Action(status=408), FaultError, "408"),
        (Action(drop=True), FaultError, "connection failed"),
        (Action(body=b"<html>"), FaultError, "not JSON"),
        (Action(body=b"{}"), FaultError, "holds no reply"),
        (Action(body=b"[1]"), FaultError, "holds no reply"),
        (Action(body=b'{"error": {"message": "overloaded"}}'), FaultError, "overloaded"),
        (Action(body=b" " * (17 * 2**20)), AnswerTooLargeError, "larger"),
        (Action(status=400), RefusedError, "400: as scripted"),
        (Action(status=413), NotAskableError, "413"),
        (Action(status=401), LanguageModelError, "refuses the key"),
        (Action(status=402), LanguageModelError, "no credit"),
        (Action(status=403), LanguageModelError, "refuses access"),
        (Action(status=404), LanguageModelError, "no model 'tiny'"),
        (Action(status=307, headers={"Location": "http://elsewhere/v1"}), LanguageModelError, "http://elsewhere"),
        (Action(status=429, body=b'{"error": {"message": "pay", "code": "insufficient_quota"}}'), LanguageModelError,
         "(429: pay (insufficient_quota))"),
        (Action(text=""), UnusableError, "empty"),
        (Action(choice={"message": {"content": None, "refusal": "I can't"}}), DeclinedError, "declined"),
    ],
    ids=lambda value: str(value.status) if isinstance(value, Action) else None,
)  # fmt: skip
def test_errors(action: Action, kind: type[Exception], says: str) -> None:
    error = failing(action)
    assert type(error) is kind
    assert says in str(error)
    assert "\n" not in str(error)


@pytest.mark.server
def test_no_answer_in_time() -> None:
    error = failing(Action(delay=5), timeout=0.2)
    assert isinstance(error, FaultError)
    assert (str(error), error.unreachable) == ("no answer within 0.2 s", True)


@pytest.mark.server
def test_half_a_surrogate_in_a_body() -> None:
    body = b'{"choices": [{"message": {"content": "{\\"reason\\": \\"\\ud83d\\"}"}}]}'
    assert replied(Action(body=body)).text == '{"reason": "?"}'


@pytest.mark.parametrize(
    ("header", "seconds"),
    [(None, None), ("7", 7), ("0.5", 0.5), ("-3", 0), ("soon", None), ("Wed, 21 Oct 2015 07:28:00 GMT", 0)],
)
def test_retry_after(header: str | None, seconds: float | None) -> None:
    assert retry_after({} if header is None else {"retry-after": header}) == seconds


def test_retry_after_a_date_by_the_servers_clock() -> None:
    dates = {"date": "Sun, 06 Nov 1994 08:49:37 GMT", "retry-after": "Sun, 06 Nov 1994 08:50:07 GMT"}
    assert retry_after(dates) == 30
    soon = retry_after({"retry-after": format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)})
    assert soon is not None
    assert 28 < soon <= 30


def test_scrubbing() -> None:
    secrets = Secrets({"MY_API_KEY": KEY, "EDITOR": "some-editor", "SHORT_KEY": "EMPTY"})
    assert secrets.scrub(f"Bearer {KEY} is wrong") == "Bearer [key removed] is wrong"
    assert secrets.scrub("some-editor EMPTY") == "some-editor EMPTY"
    # What is shortened is scrubbed first, so that no half of a key is left.
    assert "sk-" not in secrets.line("x" * 290 + KEY)
    assert secrets.line("a\n\x1b[31mb") == "a \ufffd[31mb"


@pytest.mark.server
@pytest.mark.parametrize("status", [200, 400, 401, 404, 429, 500, 307])
def test_a_server_that_echoes_the_key(status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BEDSIDE_API_KEY", KEY)
    echo = json.dumps({"error": {"message": f"you sent {KEY}", "code": KEY}}).encode()
    headers = {"Location": f"http://x/{KEY}"} if status == 307 else {}
    assert KEY not in repr(failing(Action(status=status, body=echo, headers=headers)))


@pytest.mark.server
def test_a_model_that_echoes_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BEDSIDE_API_KEY", KEY)
    assert replied(Action(text=f"it is {KEY}")).text == "it is [key removed]"


ROOT = Path(__file__).parents[3]


def in_new_python(code: str, *arguments: str, folder: Path = ROOT, **environment: str) -> str:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("DEEPEVAL")}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *arguments],
        capture_output=True,
        text=True,
        check=True,
        cwd=folder,
        env={**clean, "PYTHONPATH": str(ROOT), **environment},
    )
    return done.stdout


JUDGE = """
    import json, socket, sys
    from pathlib import Path
    from tests.conftest import conversation
    from bedside.judges.rubrics.rubric_files import find_rubric
    from bedside.judges.settings import JudgeSettings
    from tests.judges.judging import judge_transcripts

    reached = set()
    connect = socket.socket.connect
    def noting(self, address):
        reached.add(str(address[0]) if isinstance(address, tuple) else "local")
        return connect(self, address)
    socket.socket.connect = noting
    rows = []
    said = "Hello {}. [DEEPEVAL:IMAGE:x]"
    talks = [conversation(("clinician", said.format(n)), ("patient", "Hi."), id=str(n)) for n in range(8)]
    judged = judge_transcripts(talks, [find_rubric(name) for name in sys.argv[1].split(",")], sys.argv[2],
                               store_path=Path("judgements.sqlite"), add=rows.append,
                               settings=JudgeSettings(max_concurrency=4))
    print(json.dumps({"rows": rows, "reached": sorted(reached), "calls": judged.calls,
                      "deepeval": "deepeval" in sys.modules}))
"""


def as_ollama(request: Received, number: int) -> Action:
    """What ollama's own protocol answers, to a schema in its ``format``."""
    assert request.path == "/api/chat"
    named = {"type": "json_schema", "json_schema": {"schema": request.body["format"]}}
    text = fitting(Received({**request.body, "response_format": named}, {}, ""))
    said = {"model": "m", "done": True, "message": {"role": "assistant", "content": text}}
    return Action(body=json.dumps(said).encode(), headers={"Content-Type": "application/json"})


def as_anthropic(request: Received, number: int) -> Action:
    """What Anthropic's protocol answers: the JSON in words."""
    assert request.path == "/v1/messages"
    text = 'Here it is: {"reason": "because of turn 0", "score": 4}'
    said = {"type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn",
            "content": [{"type": "text", "text": text}], "usage": {"input_tokens": 11, "output_tokens": 7}}  # fmt: skip
    return Action(body=json.dumps(said).encode(), headers={"Content-Type": "application/json"})


@pytest.mark.server
@pytest.mark.slow
@pytest.mark.parametrize(
    ("judge", "rubrics", "address", "script"),
    [
        ("portkey/gpt-4o", "empathy,partnership,effectiveness", "PORTKEY_BASE_URL", None),
        ("ollama/llama3.2", "empathy", "OLLAMA_HOST", as_ollama),
        ("anthropic/claude-sonnet-4-5", "empathy", "ANTHROPIC_BASE_URL", as_anthropic),
    ],
)
def test_nothing_but_the_provider_is_reached_or_written(
    judge: str, rubrics: str, address: str, script: Script | None, tmp_path: Path
) -> None:
    """One of deepeval's classes, and protocols other than OpenAI's, in a process that notes what it connects to."""
    if judge.startswith("portkey"):
        pytest.importorskip("deepeval")
    environment = {"PORTKEY_API_KEY": KEY, "PORTKEY_PROVIDER_NAME": "openai", "ANTHROPIC_API_KEY": KEY}
    with JudgeServer(script) as server:
        environment |= {address: server.url.removesuffix("" if script is None else "/v1")}
        home = str(tmp_path / "home")
        out = in_new_python(JUDGE, rubrics, judge, folder=tmp_path, HOME=home, **environment)
    seen = json.loads(out.splitlines()[-1])
    assert seen["deepeval"] or script is not None
    assert seen["reached"] == ["127.0.0.1"]
    assert seen["calls"] == server.count == 8 * len(rubrics.split(","))
    assert not [row for row in seen["rows"] if row[10] is not None]
    assert {row[5] for row in seen["rows"]} == {f"judge:{judge}"}
    assert {row[7] for row in seen["rows"] if row[4] == "empathy"} <= {1.0, 2.0, 3.0, 4.0, 5.0}
    assert [path.name for path in tmp_path.iterdir()] == ["judgements.sqlite"]
    assert KEY.encode() not in (tmp_path / "judgements.sqlite").read_bytes()


@pytest.mark.slow
def test_prices_and_missing_keys_of_deepevals_providers() -> None:
    pytest.importorskip("deepeval")
    out = in_new_python(
        """
        from bedside.judges.llm.contract import known_price
        from bedside.judges.llm.endpoints import model_name
        from bedside.judges.llm.protocol import LanguageModelError, Sampling
        from bedside.judges.llm.sharing import open_client
        from deepeval.models.llms.constants import OPENAI_MODELS_DATA
        listed = OPENAI_MODELS_DATA["gpt-4o"]
        price = known_price(model_name("openai/gpt-4o"))
        print(abs(price.of(1000, 10) - (1000 * listed.input_price + 10 * listed.output_price)) < 1e-12)
        print(known_price(model_name("openai/no-such-model")), known_price(model_name("http://localhost/v1#gpt-4o")))
        try:
            open_client(model_name("deepseek/x"), Sampling())
        except LanguageModelError as error:
            print(error)
        """
    )
    lines = out.splitlines()
    assert lines[:2] == ["True", "None None"]
    assert "deepseek is not set up" in lines[2]


#: What makes each of deepeval's classes: the library it needs, if that isn't deepeval's own, a model, and settings.
CLASSES: dict[str, tuple[str | None, str, dict[str, str]]] = {
    "deepseek": (None, "deepseek-chat", {"DEEPSEEK_API_KEY": KEY}),
    "grok": ("xai_sdk", "grok-4", {"GROK_API_KEY": KEY}),
    "kimi": (None, "kimi-k2", {"MOONSHOT_API_KEY": KEY}),
    "litellm": ("litellm", "openai/gpt-4o", {"LITELLM_API_KEY": KEY}),
    "portkey": (None, "gpt-4o", {"PORTKEY_API_KEY": KEY, "PORTKEY_PROVIDER_NAME": "openai",
                                 "PORTKEY_BASE_URL": "http://127.0.0.1:9"}),
}  # fmt: skip


@pytest.mark.slow
def test_every_provider_goes_to_its_class() -> None:
    """Each is made without a network, or its own library is named where that isn't there."""
    pytest.importorskip("deepeval")
    assert CLASSES.keys() == PROVIDERS.keys()
    environment = {name: value for *_, given in CLASSES.values() for name, value in given.items()}
    out = in_new_python(
        """
        import json, socket, sys
        from bedside.core.errors import MissingExtraError
        from bedside.judges.llm.endpoints import model_name
        from bedside.judges.llm.protocol import Sampling
        from bedside.judges.llm.sharing import open_client

        def refuse(self, address):
            raise AssertionError(f"reached {address}")
        socket.socket.connect = refuse
        made = {}
        for provider, model in json.loads(sys.argv[1]).items():
            try:
                client = open_client(model_name(f"{provider}/{model}"), Sampling())
                made[provider] = [type(client._model).__name__, client._model.name]
            except MissingExtraError as error:
                made[provider] = str(error)
        print(json.dumps(made))
        """,
        json.dumps({provider: model for provider, (_, model, _) in CLASSES.items()}),
        folder=ROOT,
        **environment,
    )
    made = json.loads(out.splitlines()[-1])
    for provider, (library, model, _) in CLASSES.items():
        if library is not None and find_spec(library) is None:
            assert f"asking {provider}/ models needs {library}, which isn't installed" in made[provider]
        else:
            assert made[provider][0] == PROVIDERS[provider], provider
            assert model.endswith(made[provider][1].rpartition("/")[2]), provider
