"""A Ray cluster: one that runs, or one of processes on this machine."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Callable, Generator, Mapping
from typing import Any
from urllib.parse import urlsplit

from bedside.core.engines.contract import BrokenError, Engine, EngineKind, TaskOutcome, call_task
from bedside.core.errors import EngineError, MissingExtraError

#: Seconds that a cluster is waited for.
_REACH = 10


class _Ray(Engine):
    name = "ray"

    def __init__(self, ray: Any, address: str | None, workers: int | None) -> None:
        self._ray = ray
        how: dict[str, Any] = {"logging_level": logging.CRITICAL, "log_to_driver": False}
        if address is None:
            how |= {"address": "local", "num_cpus": workers, "include_dashboard": False}
            _stay_here()
        else:
            how["address"] = address
        try:
            if address is not None:
                _reach(address)
            ray.init(**how)
        except (ConnectionError, RuntimeError, ValueError, OSError) as error:
            raise EngineError(
                "no Ray cluster answers there" if address else "Ray doesn't start",
                where=address,
                todo="start one with ray start --head, and give its address as HOST:6379 or ray://HOST:10001",
            ) from error

    @property
    def workers(self) -> int:
        return int(self._ray.cluster_resources().get("CPU", 0))

    def run_round(
        self, function: Callable[[Any], Any], tasks: Mapping[int, Any]
    ) -> Generator[tuple[int, TaskOutcome[Any]], None, None]:
        ray = self._ray
        remote = ray.remote(call_task).options(num_cpus=1, max_retries=3)
        waiting = {remote.remote(function, number, task): number for number, task in tasks.items()}
        try:
            while waiting:
                for done in ray.wait(list(waiting), num_returns=1)[0]:
                    number = waiting.pop(done)
                    try:
                        yield ray.get(done)
                    except ray.exceptions.RayError as error:
                        yield number, TaskOutcome(lost=" ".join(str(error).split())[:300])
        except (ConnectionError, RuntimeError) as error:
            raise BrokenError("the Ray cluster went away") from error
        finally:
            for left in waiting:
                ray.cancel(left, force=True)

    def close(self) -> None:
        self._ray.shutdown()


def _reach(address: str) -> None:
    """Raise an error unless something answers there, for which Ray would wait for minutes."""
    place = urlsplit(address if "://" in address else f"ray://{address}")
    if place.hostname is None or place.port is None:
        raise ValueError("no address")
    socket.create_connection((place.hostname, place.port), _REACH).close()


def _stay_here() -> None:
    """Let a cluster here listen on loopback only, and leave out the one of its processes that speaks to others.

    That process would send statistics of use. Where these are off, it still asks what cloud this machine may stand in,
    by name. Loopback only is what Ray knows as the way of systems that have no clusters: its processes read it in the
    environment, and this one, where Ray may have been imported before, as a constant.
    """
    from ray._private import ray_constants, services

    services.start_api_server = lambda *given, **named: ("", None)
    os.environ[ray_constants.ENABLE_RAY_CLUSTERS_ENV_VAR] = "0"
    ray_constants.ENABLE_RAY_CLUSTER = False


def _start(address: str | None, workers: int | None) -> Engine:
    # Read when Ray is imported: nothing is sent to anybody about its use.
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    try:
        import ray
    except ImportError as error:
        raise MissingExtraError("Ray isn't installed", todo='pip install "bedside[ray]"') from error
    return _Ray(ray, address, workers)


ENGINE = EngineKind("ray", "a Ray cluster", _start)
