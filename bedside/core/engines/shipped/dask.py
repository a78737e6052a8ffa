"""A dask cluster: one that runs, or one of processes on this machine."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Generator, Mapping
from typing import Any

from bedside.core.engines.contract import BrokenError, Engine, EngineKind, TaskOutcome, call_task
from bedside.core.errors import EngineError, MissingExtraError

#: Seconds that a scheduler is waited for, at first and when it went away, and workers.
_REACH = 10
_RETURN = 60
_WORKERS = 60
#: Seconds between two looks at whether there are workers while nothing is finished.
_LOOK = 20


class _Dask(Engine):
    name = "dask"

    def __init__(self, library: Any, address: str | None, workers: int | None) -> None:
        self._library = library
        # The lines that dask logs of lost connections say less than ours.
        logging.getLogger("distributed").setLevel(logging.CRITICAL)
        self._cluster: Any = None
        self._given: dict[str, Any] = {"address": address}
        self._shown = address or "this machine"
        if address is None:
            # No dashboard; what else dask serves by HTTP finds a port of its own.
            self._cluster = library.LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                processes=True,
                host="127.0.0.1",
                dashboard_address=None,
                scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
            )
            self._given = {"address": self._cluster}
        elif address.endswith(".json"):
            self._given = {"scheduler_file": address}
        self._client = self._reached(_REACH)
        try:
            self._client.wait_for_workers(1, timeout=_WORKERS)
        except TimeoutError as error:
            self.close()
            raise EngineError(
                f"the dask scheduler has no worker after {_WORKERS} s",
                where=self._shown,
                todo=f"start some: dask worker {address}",
            ) from error

    def _reached(self, seconds: float) -> Any:
        try:
            return self._library.Client(**self._given, timeout=seconds, set_as_default=False)
        except (OSError, ValueError, TimeoutError) as error:
            raise EngineError(
                "no dask scheduler answers there",
                where=self._shown,
                todo="start one with dask scheduler, and give its address as tcp://HOST:8786",
            ) from error

    @property
    def workers(self) -> int:
        return len(self._client.scheduler_info(n_workers=-1)["workers"])

    def run_round(
        self, function: Callable[[Any], Any], tasks: Mapping[int, Any]
    ) -> Generator[tuple[int, TaskOutcome[Any]], None, None]:
        futures = {
            self._client.submit(call_task, function, number, task, pure=False): number for number, task in tasks.items()
        }
        alone = 0
        try:
            while futures:
                try:
                    for future, result in self._library.as_completed(
                        list(futures), loop=self._client.loop, with_results=True, raise_errors=False,
                        timeout=_LOOK,
                    ):  # fmt: skip
                        number = futures.pop(future)
                        if future.status == "finished":
                            yield result
                        elif future.status == "error":
                            # The function's own errors are results, so this is dask's.
                            yield number, TaskOutcome(lost=_line(result))
                        else:
                            raise BrokenError("the dask scheduler went away")
                except TimeoutError:
                    alone = 0 if self.workers else alone + _LOOK
                    if alone >= _WORKERS:
                        raise BrokenError("the dask scheduler has no workers left") from None
        finally:
            self._client.cancel(list(futures))

    def mend(self) -> None:
        self._client.close(timeout=1)
        began = time.monotonic()
        while True:
            try:
                self._client = self._reached(_REACH)
                return
            except EngineError as error:
                if time.monotonic() - began > _RETURN:
                    raise BrokenError(f"the dask scheduler at {self._shown} went away and didn't return") from error
                time.sleep(1)

    def close(self) -> None:
        self._client.close()
        if self._cluster is not None:
            self._cluster.close()


def _line(error: Any) -> str:
    if isinstance(error, tuple):
        error = error[1]
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]


def _start(address: str | None, workers: int | None) -> Engine:
    try:
        import distributed
    except ImportError as error:
        raise MissingExtraError("dask isn't installed", todo='pip install "bedside[dask]"') from error
    return _Dask(distributed, address, workers)


ENGINE = EngineKind("dask", "a dask cluster", _start)
