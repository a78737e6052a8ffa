"""Network namespaces for tests: one with no interface, and two hosts of which one should hear nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ALONE = ["unshare", "-n"] if getattr(os, "geteuid", int)() == 0 else ["unshare", "-rn"]
#: Put into every process: writes down whoever it tries to speak to.
HOOK = """
import os, sys
_WATCHED = ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr", "socket.sendto",
            "socket.sendmsg", "socket.getnameinfo")
def _watch(event, arguments):
    if event in _WATCHED:
        with open(os.environ["WATCHED"], "a") as file:
            file.write(f"{event} {arguments!r}\\n")
sys.addaudithook(_watch)
"""
#: Prints a line for every packet that comes in, but ARP and what keeps IPv6 going: protocol, address, port, beginning.
LISTENER = """
import socket, struct
listening = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
print("ready", flush=True)
while True:
    frame, address = listening.recvfrom(65535)
    kind = struct.unpack("!H", frame[12:14])[0]
    if kind == 0x0800 and address[2] != socket.PACKET_OUTGOING:
        start = 14 + (frame[14] & 15) * 4
        port = struct.unpack("!H", frame[start + 2:start + 4])[0] if frame[23] in (6, 17) else 0
        print(frame[23], socket.inet_ntoa(frame[30:34]), port, frame[start:start + 60], flush=True)
    elif kind == 0x86DD and address[2] != socket.PACKET_OUTGOING and frame[20] not in (0, 58):
        print("ip6", frame[20], frame[54:100], flush=True)
"""


@cache
def need_alone() -> None:
    """Skip where a process can't be put into a namespace of its own."""
    if shutil.which("unshare") is None:
        pytest.skip("unshare (util-linux) is not installed")
    done = subprocess.run([*ALONE, "true"], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no network namespace can be made here: {done.stderr.strip()}")


def watched(folder: Path) -> dict[str, str]:
    """The environment of a process that writes down whom it tries to speak to, in ``folder/watched``."""
    place = folder / "hook"
    place.mkdir(parents=True, exist_ok=True)
    (place / "sitecustomize.py").write_text(HOOK)
    log = folder / "watched"
    log.touch()
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    (folder / "home").mkdir(exist_ok=True)
    return {**kept, "PYTHONPATH": f"{place}:{ROOT}", "WATCHED": str(log), "HOME": str(folder / "home"),
            "OMP_NUM_THREADS": "1"}  # fmt: skip


@dataclass
class Hosts:
    """A client's host, one of a server that it is to speak to, and one that gets all other packets and names."""

    client: str
    server: str
    other: str
    server_address: str
    other_address: str
    heard: Path
    server_heard: Path

    def command(self, where: str, *words: object) -> list[str]:
        return ["ip", "netns", "exec", where, *map(str, words)]


@contextmanager
def two_hosts(folder: Path) -> Iterator[Hosts]:
    """Three namespaces with a wire from the client's to each of the others; taken away at the end, however it comes."""
    if shutil.which("ip") is None:
        pytest.skip("ip (iproute2) is not installed")
    if os.geteuid() != 0:
        pytest.skip("hosts are made by root only")
    tag = f"bs{os.getpid() % 100000}"
    names = [f"{tag}-{what}" for what in ("client", "server", "other")]
    client, server, other = names
    resolver = Path("/etc/netns") / client
    listeners: list[subprocess.Popen[bytes]] = []
    try:
        for name in names:
            done = _ip("netns", "add", name)
            if done.returncode:
                pytest.skip(f"no network namespace can be made here: {done.stderr.strip()}")
            for kind in ("all", "default"):
                subprocess.run(
                    ["ip", "netns", "exec", name, "sysctl", "-qw", f"net.ipv6.conf.{kind}.disable_ipv6=1"],
                    capture_output=True, check=False,
                )  # fmt: skip
            _must("-n", name, "link", "set", "lo", "up")
        for number, name in enumerate((server, other), 1):
            ends = f"{tag}c{number}", f"{tag}h{number}"
            _must("link", "add", ends[0], "netns", client, "type", "veth", "peer", "name", ends[1], "netns", name)
            for end, where, last in ((ends[0], client, 2), (ends[1], name, 1)):
                _must("-n", where, "addr", "add", f"10.213.{number}.{last}/24", "dev", end)
                _must("-n", where, "link", "set", end, "up")
        _must("-n", client, "route", "add", "default", "via", "10.213.2.1")
        resolver.mkdir(parents=True)
        (resolver / "resolv.conf").write_text("nameserver 10.213.2.1\noptions timeout:1 attempts:1\n")
        hosts = Hosts(client, server, other, "10.213.1.1", "10.213.2.1", folder / "heard", folder / "server-heard")
        for where, log in ((other, hosts.heard), (server, hosts.server_heard)):
            with log.open("ab") as file:  # it is emptied between two looks
                command = hosts.command(where, sys.executable, "-c", LISTENER)
                listeners.append(subprocess.Popen(command, stdout=file))
            until(lambda log=log: b"ready" in log.read_bytes())
        yield hosts
    finally:
        for each in listeners:
            each.kill()
            each.wait()
        for name in names:
            _ip("netns", "delete", name)
        shutil.rmtree(resolver, ignore_errors=True)


def until(happened: object, seconds: float = 30.0) -> None:
    """Wait until something is so."""
    assert callable(happened)
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.05)


def _ip(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["ip", *words], capture_output=True, text=True, check=False)


def _must(*words: str) -> None:
    done = _ip(*words)
    if done.returncode:
        pytest.skip(f"hosts can't be joined here: ip {' '.join(words)}: {done.stderr.strip()}")
