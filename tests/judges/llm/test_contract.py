"""What every client keeps to, those of other packages included; and what becomes of names that none takes."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from dataclasses import replace
from datetime import date
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from bedside.core import registry
from bedside.core.errors import MissingExtraError, RegistryError
from bedside.judges.llm import contract
from bedside.judges.llm.contract import CLIENTS, ClientKind, known_price, open_model, read_name
from bedside.judges.llm.endpoints import model_name
from bedside.judges.llm.model_names import ModelName
from bedside.judges.llm.prices import Price, listed_price
from bedside.judges.llm.protocol import Reply, Request, Sampling

#: A name that each client of the package takes.
EXAMPLES = {
    "openai_compatible": ("http://127.0.0.1:9/v1#m", "https://example.org/v1#m", "openai/gpt-x", "openrouter/a/b"),
    "azure": ("azure/deployment",),
    "anthropic": ("anthropic/claude-x",),
    "bedrock": ("bedrock/us.anthropic.claude-x-v1:0",),
    "gemini": ("gemini/gemini-x",),
    "ollama": ("ollama/llama3.2",),
    "deepeval": ("grok/grok-x", "litellm/openai/gpt-x"),
    "local": ("local",),
}
HEAVY = ("aiohttp", "aiobotocore", "botocore", "deepeval", "torch", "transformers", "openai")


@pytest.mark.parametrize(
    "name",
    # What deepeval imports takes seconds; it knows the prices of others' models too.
    [pytest.param(name, marks=pytest.mark.slow if name not in ("local", "ollama") else ()) for name in CLIENTS.names()],
)
def test_every_client_keeps_the_contract(name: str) -> None:
    kind = CLIENTS.load(name)
    assert kind.name == name
    assert kind.title
    assert not kind.title.endswith(".")
    assert kind.beginnings
    for text in EXAMPLES[name]:
        model = read_name(text)
        assert (model.client, model.text) == (name, text)
        assert model.model
        assert isinstance(known_price(model), Price | None)


def test_no_two_clients_take_the_same_names() -> None:
    beginnings = Counter(beginning for kind in CLIENTS.all().values() for beginning in kind.beginnings)
    assert set(beginnings.values()) == {1}


def printed(code: str) -> str:
    """What a new process prints, without a word beside it."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout


def test_clients_are_imported_without_what_they_need() -> None:
    code = f"""if True:
        import sys
        import bedside.judges.judgement_queue, bedside.judges.rubric_ratings
        from bedside.judges.llm.contract import CLIENTS, known_price, read_name
        CLIENTS.all()
        read_name("http://127.0.0.1:9/v1#m"), read_name("anthropic/m")
        print(sorted(set({HEAVY!r}) & set(sys.modules)))
        sys.modules["deepeval"] = None
        print(known_price(read_name("anthropic/claude-x")))
    """
    assert printed(code) == "[]\nNone\n"


class Echo:
    max_prompt_tokens: int | None = None

    async def complete(self, request: Request) -> Reply:
        return Reply(request.single())

    async def close(self) -> None:
        """Nothing is open."""


def _name(text: str) -> ModelName:
    return ModelName(text.removeprefix("echo:"), "echo", None)


ECHO = ClientKind("echo", "what was asked", ("echo:",), _name, lambda name, sampling: Echo())
CLASHING = replace(ECHO, name="clashing", beginnings=("openai/",))


@pytest.fixture
def other_package(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    fresh = registry.Registry(CLIENTS.package, "CLIENT", "client", ClientKind, group="bedside.clients")
    monkeypatch.setattr(contract, "CLIENTS", fresh)
    return monkeypatch


def entry_points(monkeypatch: pytest.MonkeyPatch, **places: str) -> None:
    points = [EntryPoint(name, f"{__name__}:{place}", "bedside.clients") for name, place in places.items()]
    monkeypatch.setattr(registry, "entry_points", lambda group: points if group == "bedside.clients" else [])


def test_a_client_of_another_package(other_package: pytest.MonkeyPatch) -> None:
    entry_points(other_package, echo="ECHO")
    name = model_name("echo:loud")
    assert (name.identity, name.client) == ("echo/loud", "echo")
    assert isinstance(open_model(name, Sampling()), Echo)
    assert known_price(name) is None


def test_two_clients_that_take_the_same_names_are_refused(other_package: pytest.MonkeyPatch) -> None:
    entry_points(other_package, clashing="CLASHING")
    with pytest.raises(RegistryError, match="both take names that begin with openai/"):
        read_name("openai/gpt-x")
    assert read_name("anthropic/claude-x").client == "anthropic"


def test_two_clients_of_one_name_are_refused(other_package: pytest.MonkeyPatch) -> None:
    entry_points(other_package, local="ECHO")
    with pytest.raises(RegistryError, match="two entries are called 'local'"):
        read_name("openai/gpt-x")


def test_a_library_that_is_missing_is_named(other_package: pytest.MonkeyPatch) -> None:
    # What is imported already is out of reach, too.
    for name in ("deepeval", *(name for name in sys.modules if name.startswith("deepeval."))):
        other_package.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtraError, match=r"needs deepeval.*bedside\[judge\]"):
        open_model(read_name("portkey/gpt-x"), Sampling())


def test_a_chat_as_one_text() -> None:
    """A chat's messages follow each other; an earlier reply is named as such."""
    request = Request.of_text("Rate this.", "{}")
    assert request.single() == "Rate this."
    again = request.objecting("5 of 5", "No JSON.")
    assert again.single() == "Rate this.\n\nYour earlier reply:\n5 of 5\n\nNo JSON.\n"
    # Only the last reply is objected to.
    assert again.objecting("{}", "No score.").messages == request.objecting("{}", "No score.").messages


def test_registry_folder_holds_entries_only() -> None:
    folder = Path(contract.__file__).parent / "clients"
    files = {path.stem for path in folder.glob("*.py") if not path.stem.startswith("_")}
    assert files <= set(CLIENTS.names())


@pytest.mark.slow
def test_a_price_is_looked_up_without_a_word() -> None:
    """The library that knows prices says on import what it was set to, which is no part of what a command prints."""
    code = (
        "from bedside.judges.llm.contract import known_price, read_name\n"
        "assert known_price(read_name('openai/gpt-5-mini')).input > 0\n"
    )
    assert printed(code) == ""


# -- Prices, as the list of November 2026 has them --------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "price"),
    [
        ("openai/gpt-5-mini", (0.25, 2.0, 0.025)),
        ("openai/gpt-4o-2024-05-13", (5.0, 15.0)),  # a version of its own price
        ("openai/gpt-5-mini-2099-01-01", (0.25, 2.0, 0.025)),  # one that isn't listed costs what its family does
        ("anthropic/claude-sonnet-4-5-20250929", (3.0, 15.0, 0.3)),
        ("gemini/gemini-2.5-pro", (1.25, 10.0, 0.125)),
        ("azure/gpt-5-mini", (0.25, 2.0, 0.025)),
        ("bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0", (3.3, 16.5, 0.33)),
        ("openrouter/anthropic/claude-sonnet-4.5", (3.0, 15.0, 0.3)),
        ("grok/grok-4", (3.0, 15.0, 0.75)),
        ("litellm/vertex_ai/gemini-2.5-pro", (1.25, 10.0, 0.125)),
        ("openai/no-such-model", None),
        ("azure/my-deployment", None),
        ("http://127.0.0.1:9/v1#gpt-5-mini", None),
    ],
)
def test_prices(name: str, price: tuple[float, ...] | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "https://x.openai.azure.com")
    known = known_price(read_name(name))
    assert (None if known is None else known.numbers) == price


def test_prices_hold_from_a_day_on_and_those_of_caches_and_batches_are_their_own() -> None:
    deepseek = ModelName("deepseek-v4-pro", "deepseek", None)
    prices = [listed_price(deepseek, day) for day in (date(2026, 8, 16), date(2026, 8, 17))]
    assert [price and price.numbers for price in prices] == [(1.32, 3.96, 0.044), (0.66, 1.98, 0.022)]
    price = listed_price(ModelName("claude-sonnet-4-5", "anthropic", None), date(2026, 11, 1))
    assert price is not None
    # 1,000 tokens in, of which 600 are read from the cache and 300 written to it; 100 out.
    assert price.of(1000, 100, 600, 300) == pytest.approx((100 * 3 + 600 * 0.3 + 300 * 3.75 + 100 * 15) / 1e6)
    assert price.in_batches().of(1000, 100, 600, 300) == pytest.approx(price.of(1000, 100, 600, 300) / 2)
    assert price.most(1000, 100) == pytest.approx((1000 * 3.75 + 100 * 15) / 1e6)
