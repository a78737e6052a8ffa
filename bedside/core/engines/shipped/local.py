"""Processes on this machine, by joblib."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from typing import Any
from warnings import catch_warnings, simplefilter

from bedside.core.engines.contract import BrokenError, Engine, EngineKind, TaskOutcome, call_task
from bedside.core.errors import EngineError

#: Seconds after which a process that has nothing to do ends, so that none outlives a master that was killed.
_IDLE = 5


class _Local(Engine):
    name = "local"

    def __init__(self, workers: int) -> None:
        self._workers = workers

    @property
    def workers(self) -> int:
        return self._workers

    def run_round(
        self, function: Callable[[Any], Any], tasks: Mapping[int, Any]
    ) -> Generator[tuple[int, TaskOutcome[Any]], None, None]:
        from joblib import Parallel, delayed, parallel_config
        from joblib.externals.loky.process_executor import BrokenProcessPool

        # A thread each: several processes that take all cores each would be in one another's way.
        with parallel_config("loky", inner_max_num_threads=1, idle_worker_timeout=_IDLE):
            pool = Parallel(self._workers, return_as="generator_unordered", batch_size=1)
            outcomes = pool(delayed(call_task)(function, number, task) for number, task in tasks.items())
            try:
                for outcome in outcomes:  # noqa: UP028 - joblib's generator is closed below
                    yield outcome
            except BrokenProcessPool as error:
                raise BrokenError("a worker process was killed (out of memory?)") from error
            finally:
                with catch_warnings():  # whoever drops tasks knows that they are dropped
                    simplefilter("ignore", UserWarning)
                    outcomes.close()

    def close(self) -> None:
        from joblib.externals.loky import get_reusable_executor

        get_reusable_executor().shutdown(wait=True, kill_workers=True)


def _start(address: str | None, workers: int | None) -> Engine:
    if address is not None:
        raise EngineError(
            "the local engine has no address", where="`address`", todo="choose another `engine`: dask or ray"
        )
    if workers is None:
        import joblib

        workers = joblib.cpu_count()
    return _Local(workers)


ENGINE = EngineKind("local", "processes on this machine", _start)
