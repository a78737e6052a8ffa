"""No key of the environment comes out, in no run, temporary file, log or error, whatever a server says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import bedside
from tests.judges.llm.providers.server import Answer, Call, ProviderServer
from tests.judges.llm.server import Action, JudgeServer, Received, fitting
from tests.safety.traces import secrets_in

EXAMPLE = Path(bedside.__file__).parent / "examples" / "transcripts.jsonl"
#: Every variable with a secret that bedside or deepeval reads.
VARIABLES = """
    BEDSIDE_API_KEY LABEL_STUDIO_API_KEY OWN_SERVER OPENAI_API_KEY OPENROUTER_API_KEY ANTHROPIC_API_KEY
    AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN AZURE_OPENAI_API_KEY AZURE_OPENAI_AD_TOKEN
    CONFIDENT_API_KEY DEEPSEEK_API_KEY GOOGLE_API_KEY GOOGLE_SERVICE_ACCOUNT_KEY GROK_API_KEY HF_TOKEN
    LITELLM_API_KEY LITELLM_PROXY_API_KEY LM_STUDIO_API_KEY LOCAL_MODEL_API_KEY MOONSHOT_API_KEY PORTKEY_API_KEY
    VLLM_API_KEY
""".split()
KEYS = {name: f"kq{number:02d}Zx-{name.lower()}-9f8e7d6c5b4a" for number, name in enumerate(VARIABLES)}
#: In an address, not in a variable of its own.
PASSWORD = "hunter22-Qv7-of-the-proxy"
#: Runs commands one after the other in one process. What each prints goes to a file of its own, and how it ended to
#: standard output.
MANY = """
import json, os, sys
from bedside.cli import main
out = os.dup(1)
for number, command in enumerate(json.loads(sys.argv[2])):
    said = os.open(f"{sys.argv[1]}-{number}.txt", os.O_WRONLY | os.O_CREAT)
    os.dup2(said, 1)
    os.dup2(said, 2)
    try:
        main(command)
    except SystemExit as ended:
        os.write(out, f"{ended.code or 0}\\n".encode())
    sys.stdout.flush()
    sys.stderr.flush()
"""


@dataclass
class Sandbox:
    """A home, a working folder and a folder for temporary files, all of which are searched."""

    folder: Path
    environment: dict[str, str] = field(default_factory=dict)
    started: int = 0

    def __post_init__(self) -> None:
        for name in ("home", "work", "tmp"):
            (self.folder / name).mkdir(parents=True)
        lines = EXAMPLE.read_text("utf-8").splitlines(keepends=True)
        (self.folder / "work" / "few.jsonl").write_text("".join(lines[:4]))

    def bedside(self, *commands: Sequence[object], **more: str) -> list[tuple[int, str]]:
        """Run commands in one process; each one's exit code and all that it printed, which is also searched."""
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "PYTHONPATH") if name in os.environ}
        # Development mode says more, asyncio too. Its checks of memory take two thirds of the time and say nothing.
        places = {"HOME": str(self.folder / "home"), "TMPDIR": str(self.folder / "tmp"), "OMP_NUM_THREADS": "1"}
        places["PYTHONMALLOC"] = "default"
        self.started += 1
        said = self.folder / f"said-{self.started}"
        typed = json.dumps([[str(word) for word in words] for words in commands])
        done = subprocess.run(
            [sys.executable, "-X", "dev", "-W", "ignore", "-c", MANY, said, typed],
            cwd=self.folder / "work",
            env={**kept, **places, **KEYS, **self.environment, **more},
            capture_output=True,
            text=True,
            check=False,
            timeout=240,
        )
        (self.folder / f"said-{self.started}-at-the-start.txt").write_text(done.stderr)
        printed = [path.read_text() for path in sorted(self.folder.glob(f"said-{self.started}-*"))]
        assert not [text for text in printed if "Traceback" in text], printed
        printed = [Path(f"{said}-{number}.txt").read_text() for number in range(len(commands))]
        return list(zip(map(int, done.stdout.split()), printed, strict=True))

    def codes(self, *commands: Sequence[object], **more: str) -> list[int]:
        """Run commands in one process; their exit codes."""
        return [code for code, _ in self.bedside(*commands, **more)]

    def check(self) -> None:
        assert secrets_in(self.folder, [*KEYS.values(), PASSWORD]) == []


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[Sandbox]:
    made = Sandbox(tmp_path / "sandbox")
    yield made
    made.check()


def heard(request: Received) -> str:
    """All that a request says of who sends it."""
    return json.dumps(request.headers)


def echo(status: int, headers: bool = False) -> Callable[[Received, int], Action]:
    def script(request: Received, number: int) -> Action:
        sent = request.headers.get("Authorization") or request.headers.get("x-api-key") or ""
        body = {"error": {"message": f"Incorrect API key provided: {sent}. Headers: {heard(request)}", "type": "x"}}
        more = {"Location": f"http://127.0.0.1:9/?key={sent}", "X-Echo": sent} if headers else {}
        return Action(status=status, body=json.dumps(body).encode(), headers={**more, "Retry-After": "0"})

    return script


def repeating(request: Received, number: int) -> Action:
    """A model that repeats the key in its reasons, and at times in place of a reply."""
    sent = request.headers["Authorization"]
    if number % 4 == 1:
        return Action(text=f"your key is {sent}")
    if number % 4 == 2:
        return Action(text=json.dumps({"reason": "r", "score": sent}))
    return Action(text=fitting(request).replace("because of turn 0", f"because {sent}"))


SCORE = ("score", "few.jsonl", "--suite", "multisense", "--rubrics", "conversation_flow", "--out", "run")


def test_the_search_finds_a_key(tmp_path: Path) -> None:
    (tmp_path / "a").write_text(f"x{KEYS['OPENAI_API_KEY']}y")
    assert secrets_in(tmp_path, KEYS.values())


@pytest.mark.server
def test_a_judge_that_repeats_its_key(sandbox: Sandbox) -> None:
    with JudgeServer(repeating) as server:
        commands = ((*SCORE, "--judge", server.judge), ("report", "run"), ("judge", "answers", "list", "run"))
        assert sandbox.codes(*commands) == [0, 0, 0]
        assert len(server.received) >= 4
        assert all(KEYS["BEDSIDE_API_KEY"] in one.headers["Authorization"] for one in server.received)


@pytest.mark.server
def test_a_server_that_repeats_the_key_in_an_error(sandbox: Sandbox) -> None:
    statuses = (301, 400, 401, 403, 404, 422)
    with ExitStack() as running:
        servers = [running.enter_context(JudgeServer(echo(status, headers=True))) for status in statuses]
        ended = sandbox.bedside(*((*SCORE, "--judge", server.judge) for server in servers))
    for status, server, (code, said) in zip(statuses, servers, ended, strict=True):
        assert server.received
        assert code == 2
        assert "[key removed]" in said or status == 301


@pytest.mark.server
@pytest.mark.slow
def test_a_server_that_fails(sandbox: Sandbox) -> None:
    """What was kept of the faults on the way holds none either."""

    def at_first(request: Received, number: int) -> Action:
        return echo(500 if number % 2 else 429)(request, number) if number % 3 else Action()

    with JudgeServer(at_first) as server:
        assert sandbox.codes((*SCORE, "--judge", server.judge)) == [0]


@pytest.mark.slow
def test_nobody_answers(sandbox: Sandbox) -> None:
    ((code, said),) = sandbox.bedside((*SCORE, "--judge", "http://127.0.0.1:9/v1#m"))
    assert code == 2
    assert "no server answers" in said


@pytest.mark.server
@pytest.mark.parametrize("key", ["kq-half\nof-a-broken-key-1234", "kq-schlüssel-der-nicht-geht-1234"])
def test_a_key_that_can_not_be_sent(key: str, sandbox: Sandbox) -> None:
    with JudgeServer(echo(401)) as server:
        commands = ((*SCORE, "--judge", server.judge), ("doctor", "--judge", server.judge))
        assert sandbox.codes(*commands, BEDSIDE_API_KEY=key)[0] == 2
    assert secrets_in(sandbox.folder, [key, *key.split("\n")]) == []


@pytest.mark.server
def test_a_key_in_a_variable_of_the_users_own(sandbox: Sandbox) -> None:
    """A name that doesn't say that it holds a secret."""
    with JudgeServer(repeating) as server:
        (sandbox.folder / "judges.yaml").write_text(f"- address: {server.judge}\n  key_env: OWN_SERVER\n")
        assert sandbox.codes((*SCORE, "--judge", sandbox.folder / "judges.yaml")) == [0]
        assert all(KEYS["OWN_SERVER"] in one.headers["Authorization"] for one in server.received)


@pytest.mark.server
def test_batch_files(sandbox: Sandbox) -> None:
    command = (*SCORE, "--judge", "openai/gpt-5-mini", "--batch-out", "calls.jsonl")
    assert sandbox.codes(command) == [0]
    calls = [json.loads(line) for line in (sandbox.folder / "work" / "calls.jsonl").read_text().splitlines()]
    reply = json.dumps({"reason": f"the key is {KEYS['OPENAI_API_KEY']}", "score": 3})
    outside = sandbox.folder.parent / "answers.jsonl"
    with outside.open("w") as file:
        for number, call in enumerate(calls):
            body = {"choices": [{"message": {"content": reply}}]}
            failed = {"error": {"message": f"Incorrect key {KEYS['OPENAI_API_KEY']}"}}
            ok = {"custom_id": call["custom_id"], "response": {"status_code": 200, "body": body}}
            bad = {"custom_id": call["custom_id"], "response": {"status_code": 401, "body": failed}}
            file.write(json.dumps(bad if number % 3 == 0 else ok) + "\n")
    sandbox.bedside(("judge", "answers", "import", "run", outside, "--out", "more.jsonl"))


@pytest.mark.server
@pytest.mark.slow
@pytest.mark.parametrize(
    ("judges", "variable"),
    [
        (("openai/gpt-5-mini", "openai/gpt-5-nano"), "OPENAI_BASE_URL"),
        (("openrouter/m", "openrouter/n"), "OPENROUTER_BASE_URL"),
        (("anthropic/claude-sonnet-4-5", "anthropic/claude-opus-4-5"), "ANTHROPIC_BASE_URL"),
        (("ollama/llama3.2", "ollama/llama3.1"), "OLLAMA_HOST"),
    ],
    ids=["openai", "openrouter", "anthropic", "ollama"],
)
def test_providers(judges: tuple[str, str], variable: str, sandbox: Sandbox) -> None:
    """The first of two models is answered with one error, the second with another."""
    models = {judge.partition("/")[2]: status for judge, status in zip(judges, (401, 400), strict=True)}

    def script(request: Received, number: int) -> Action:
        return echo(models[request.body["model"]], headers=True)(request, number)

    with JudgeServer(script) as server:
        whole = variable in ("OPENAI_BASE_URL", "OPENROUTER_BASE_URL")
        address = server.url if whole else server.url.removesuffix("/v1")
        commands = [(*SCORE, "--judge", judge) for judge in judges]
        assert sandbox.codes(*commands, **{variable: address}) == [2, 2]
        assert {request.body["model"] for request in server.received} == models.keys()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("judges", "environment"),
    [
        (
            (f"http://me:{PASSWORD}@127.0.0.1:9/v1#m", f"https://127.0.0.1:9/v1?key={PASSWORD}#m", "openai/m",
             "anthropic/claude-sonnet-4-5"),
            {"OPENAI_BASE_URL": f"http://me:{PASSWORD}@127.0.0.1:9/v1",
             "ANTHROPIC_BASE_URL": f"http://me:{PASSWORD}@127.0.0.1:9"},
        ),
        (
            ("openai/m", "anthropic/claude-sonnet-4-5"),
            {"OPENAI_BASE_URL": f"http://127.0.0.1:9/v1?key={PASSWORD}",
             "HTTPS_PROXY": f"http://me:{PASSWORD}@127.0.0.1:9"},
        ),
        (("http://judge.invalid/v1#m",), {"HTTP_PROXY": f"http://me:{PASSWORD}@127.0.0.1:9"}),
        (("http://judge.invalid/v1#m",), {"http_proxy": f"http://me:{PASSWORD}@[broken"}),
    ],
    ids=["addresses", "a query and a provider's proxy", "proxy", "no proxy"],
)  # fmt: skip
def test_passwords_in_addresses(judges: tuple[str, ...], environment: dict[str, str], sandbox: Sandbox) -> None:
    scored = [(*SCORE, "--judge", judge) for judge in judges]
    examined = [("doctor", "--judge", judge) for judge in judges]
    codes = sandbox.codes(*scored, *examined, **environment)
    assert set(codes[: len(judges)]) == {2}
    assert set(codes[len(judges) :]) <= {1, 2}


@pytest.fixture
def label_studios() -> Iterator[list[str]]:
    """Addresses of servers that answer everything with one error each, and all headers that they were sent."""
    with ExitStack() as running:
        addresses = []
        for status in (400, 401, 403, 404, 500):

            def echo(call: Call, status: int = status) -> Answer:
                return Answer({"detail": f"Invalid token. {call.headers}"}, status)

            server = running.enter_context(running.enter_context(ProviderServer()).behaving(echo))
            addresses.append(server.url)
        yield addresses


_SAMPLE = "sample run --per 1 --overlap 1 --raters anna --rubrics empathy --out plan.json".split()
PLANNED = (("score", "few.jsonl", "--metrics", "structure", "--out", "run"), _SAMPLE)


def at(address: str) -> tuple[tuple[str, ...], ...]:
    """All commands that speak to a Label Studio."""
    push, pull = (("annotate", name, "plan.json", "--url", address) for name in ("push", "pull"))
    return push, pull, ("doctor", "--label-studio", address)


@pytest.mark.server
@pytest.mark.slow
def test_a_label_studio_that_repeats_the_key(label_studios: list[str], sandbox: Sandbox) -> None:
    commands = [command for address in label_studios for command in at(address)]
    assert sandbox.codes(*PLANNED, *commands) == [0, 0, *[2, 2, 1] * len(label_studios)]


@pytest.mark.slow
def test_a_label_studio_that_is_not_reached(sandbox: Sandbox) -> None:
    closed, secret = "http://127.0.0.1:9", f"http://me:{PASSWORD}@127.0.0.1:9"
    odd = f"ftp://me:{PASSWORD}@127.0.0.1:9"
    commands = [command for address in (closed, secret, odd) for command in at(address)]
    assert sandbox.codes(*PLANNED, *commands) == [0, 0, *[2, 2, 1] * 3]
    broken = "kq-half\nof-a-broken-key-1234"
    sandbox.bedside(at(closed)[0], LABEL_STUDIO_API_KEY=broken)
    assert secrets_in(sandbox.folder, broken.split("\n")) == []
