"""A server that points elsewhere is not followed there: what is sent stays with the address that the user named."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import bedside
from bedside.annotation.label_studio_client import LabelStudioClient
from bedside.core.errors import LabelStudioError
from tests.judges.llm.providers.server import Answer, Call, ProviderServer


@pytest.fixture
def hosts() -> Iterator[tuple[str, list[Call]]]:
    """The address of a server that redirects, and what the one it points to was asked."""
    with (
        ProviderServer() as elsewhere,
        elsewhere.behaving(lambda _: Answer()),
        ProviderServer() as host,
        host.behaving(lambda call: Answer(status=307, headers={"Location": elsewhere.url + call.path})),
    ):
        yield host.url, elsewhere.calls


@pytest.mark.slow
def test_label_studio(hosts: tuple[str, list[Call]]) -> None:
    address, elsewhere = hosts
    with pytest.raises(LabelStudioError, match="redirects to another address"):
        LabelStudioClient(address, "a" * 40)
    assert not elsewhere


def test_doctor(hosts: tuple[str, list[Call]]) -> None:
    address, elsewhere = hosts
    (found,) = [one for one in bedside.doctor(label_studio=address).results if one.group == "Label Studio"]
    assert found.good is False
    assert not elsewhere
