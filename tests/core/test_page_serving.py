"""By which addresses a local page may be reached."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from bedside.core.errors import InputError
from bedside.core.page_serving import LocalPage, PagePlace, checked_place, client_of, free_port, is_loopback, serve

PROXIED = PagePlace(public="https://studies.example.org/rating")


@pytest.mark.parametrize(
    ("place", "header", "accepted"),
    [
        (PagePlace(), "127.0.0.1:8086", True),
        (PagePlace(), "localhost:8086", True),
        (PagePlace(), "[::1]:8086", True),
        (PagePlace(), f"{socket.gethostname()}:8086", True),
        (PagePlace(host="0.0.0.0"), "192.168.1.7:8086", True),
        # A name of somebody else's that was made to point to this machine.
        (PagePlace(), "attacker.example:8086", False),
        (PagePlace(), "127.0.0.1.attacker.example", False),
        (PagePlace(), "localhost@attacker.example", False),
        (PagePlace(), "", False),
        (PagePlace(), "localhost:8086/x", False),
        (PROXIED, "studies.example.org", True),
        (PROXIED, "Studies.Example.org:443", True),
        (PROXIED, "other.example.org", False),
    ],
)
def test_names_of_others_are_refused(place: PagePlace, header: str, accepted: bool) -> None:
    assert place.accepts_host(header) is accepted


@pytest.mark.parametrize(
    ("place", "origin", "host", "accepted"),
    [
        (PagePlace(), "http://127.0.0.1:8086", "127.0.0.1:8086", True),
        (PagePlace(), "https://127.0.0.1:8086", "127.0.0.1:8086", False),
        (PagePlace(), "http://127.0.0.1:8087", "127.0.0.1:8086", False),
        (PagePlace(), "http://attacker.example", "127.0.0.1:8086", False),
        (PagePlace(), "null", "127.0.0.1:8086", False),
        (PagePlace(), "", "127.0.0.1:8086", False),
        (PROXIED, "https://studies.example.org", "127.0.0.1:8086", True),
        (PROXIED, "http://studies.example.org", "studies.example.org", True),  # a proxy that passes the name on
        (PROXIED, "https://studies.example.org.evil", "127.0.0.1:8086", False),
    ],
)
def test_pages_of_others_are_refused(place: PagePlace, origin: str, host: str, accepted: bool) -> None:
    assert place.accepts_origin(origin, host) is accepted


def test_what_raters_type_is_told_from_where_it_listens(tmp_path: Path) -> None:
    assert PagePlace().address == "http://127.0.0.1:8086"
    assert PagePlace(host="::1").address == "http://[::1]:8086"
    assert PagePlace(host="10.0.0.5", certificate=tmp_path, key=tmp_path, port=443).address == "https://10.0.0.5:443"
    assert not PagePlace(host="0.0.0.0").address.startswith("http://0.0.0.0")
    assert checked_place(PagePlace(public="https://a.example/x/")).address == "https://a.example/x"


def test_what_goes_unencrypted_is_told(tmp_path: Path) -> None:
    assert not PagePlace().is_readable
    assert PagePlace(host="10.0.0.5").is_readable
    assert not PagePlace(host="10.0.0.5", certificate=tmp_path, key=tmp_path).is_readable
    assert not PROXIED.is_readable
    assert PagePlace(public="http://studies.example.org").is_readable
    assert [host for host in ("127.0.0.1", "127.9.9.9", "::1", "localhost") if not is_loopback(host)] == []
    assert [host for host in ("0.0.0.0", "10.0.0.1", "example.org", "") if is_loopback(host)] == []


def test_places_that_can_be_none_are_refused(tmp_path: Path) -> None:
    for public in (
        "studies.example.org",
        "ftp://a.example",
        "https://",
        "https://u:p@a.example",
        "https://a.example/#x",
        "https://[::1/",
        "https://a.example:99999",
        "https://a.example:0",
        "",
    ):
        with pytest.raises(InputError, match="is not an address"):
            checked_place(PagePlace(public=public))
    with pytest.raises(InputError, match="to others") as refusal:
        checked_place(PagePlace(host="10.0.0.5", public="http://a.example"))
    assert refusal.value.where == "`host`"
    assert checked_place(PagePlace(host="10.0.0.5", public="https://a.example")).reach.endswith("alone do so.")
    assert checked_place(PagePlace(host="::", certificate=tmp_path, key=tmp_path)).reach.endswith(" by TLS.")
    with pytest.raises(InputError, match="needs its key"):
        checked_place(PagePlace(certificate=tmp_path))
    (tmp_path / "a.pem").write_text("no certificate")
    with pytest.raises(InputError, match="certificate can't be used") as refusal:
        PagePlace(certificate=tmp_path / "a.pem", key=tmp_path / "a.pem").tls()
    assert "_ssl" not in str(refusal.value)


def test_an_address_may_be_typed_in_capitals() -> None:
    place = checked_place(PagePlace(host="10.0.0.5", public="HTTPS://Studies.example.org/A/"))
    assert place.address == "https://Studies.example.org/A"
    assert not place.is_readable
    assert place.accepts_host("studies.example.org")
    assert place.accepts_origin("https://studies.example.org", "studies.example.org")


def page_of(answer: Callable[..., object]) -> LocalPage:
    return LocalPage(
        contents={}, asker=lambda _: "anna", answers={"/asked": answer}, statuses={}, error_words=lambda *_: {}
    )


@pytest.mark.parametrize("host", ["evil.invalid", "192.0.2.1", f"{'a' * 70}.invalid"])
def test_a_host_that_is_not_this_machines_is_named(host: str) -> None:
    page = page_of(lambda *_: None)
    with pytest.raises(InputError) as refusal:
        asyncio.run(serve(page, PagePlace(host, 8086, "https://a.example"), started=lambda: None))
    assert refusal.value.where == "`host`"


def test_a_network_of_ipv6_is_one_client() -> None:
    assert client_of("2001:db8:1:2:3:4:5:6") == client_of("2001:db8:1:2::9") != client_of("2001:db8:1:3::9")
    assert client_of("fe80::1%eth0") == client_of("fe80::2")
    assert client_of("::ffff:127.0.0.1") == client_of("127.0.0.1") != client_of("127.0.0.2")


def test_a_fault_of_an_answer_is_logged_without_its_words(caplog: pytest.LogCaptureFixture) -> None:
    def fails(*_: object) -> None:
        raise KeyError("patient" + " said")

    async def asked() -> httpx.Response:
        place, ready = PagePlace(port=free_port(0)), asyncio.Event()
        serving = asyncio.create_task(serve(page_of(fails), place, started=ready.set))
        await asyncio.wait_for(ready.wait(), 20)
        async with httpx.AsyncClient() as client:
            answer = await client.get(f"{place.address}/asked")
        serving.cancel()
        with suppress(asyncio.CancelledError):
            await serving
        return answer

    answer = asyncio.run(asked())
    assert (answer.status_code, answer.headers["Server"]) == (500, "bedside")
    (record,) = [each for each in caplog.records if each.name.startswith("bedside")]
    assert "KeyError" in record.getMessage()
    assert "in fails" in record.getMessage()
    assert "patient said" not in caplog.text + answer.text
    assert "127.0.0.1" not in record.getMessage()
