"""A provider's server for each module, the command that judges, and providers that are set up."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.judges.llm.providers.command import JudgeCommand
from tests.judges.llm.providers.profiles import Provider, Providers
from tests.judges.llm.providers.server import ProviderServer


@pytest.fixture(scope="module")
def server() -> Iterator[ProviderServer]:
    with ProviderServer() as opened:
        yield opened


@pytest.fixture
def command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> JudgeCommand:
    return JudgeCommand(tmp_path, capsys)


@pytest.fixture
def provider(server: ProviderServer, command: JudgeCommand, monkeypatch: pytest.MonkeyPatch) -> Providers:
    return lambda name: Provider(name, server, command, monkeypatch)
