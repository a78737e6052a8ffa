"""``package.module:function``: a Python function, or any other callable, that replies to calls.

It is called with one argument, an object of plain values (see :func:`bedside.simulation.actors._queued.agent_payload`),
and returns its message as a text, or as an object with ``message`` beside the schema's other fields; where ``kind`` is
``data``, the object that fits the schema. It may be ``async``. Where it keeps a memory of its own for each ``session``,
it says so by an attribute ``stateful = True``: a conversation that was cut off is then begun anew. Where it can only
write messages, it says so by ``words_only = True``: settings that ask for objects in their place then refuse it.

A clinician that raises, returns nothing or no text, or doesn't return in time has failed. Where what it calls in its
turn can't be reached, it raises Python's ``ConnectionError``: that is the network's, and it is asked again.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import os
import re
import sys
import threading
import traceback
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any

from bedside.core.errors import InputError, nearest
from bedside.judges.llm.contract import CLIENTS
from bedside.judges.llm.protocol import FaultError, Reply, Request, note_sending
from bedside.judges.llm.queue import Patience
from bedside.ratings.names import algorithm_rater
from bedside.simulation.actor_contract import ActorKind, ActorName, ActorSettings
from bedside.simulation.actors._queued import AgentActor, AgentFailedError, AgentRequest, agent_text
from bedside.simulation.simulators.contract import Simulator

_NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
#: What stands before the colon in names of other kinds.
_OTHERS = ("human", "script", "trivial", "webhook", "likelihood")


class FunctionClient:
    """Calls a function; a :class:`bedside.judges.llm.protocol.Client`.

    What isn't ``async`` runs in threads that end with the process, what is in a thread with a loop of its own: whatever
    the function does, it holds up nobody else.

    Args:
        function: what is called.
        time_limit: seconds until a call counts as unanswered.
        tested: whether it is under test: what it can't answer, it fails at.
    """

    max_prompt_tokens: int | None = None

    def __init__(self, function: Callable[..., Any], time_limit: float, *, tested: bool) -> None:
        self._tested = tested
        self._failure_kind: type[Exception] = AgentFailedError if tested else FaultError
        self._function = function
        self._time_limit = time_limit
        self._loop: asyncio.AbstractEventLoop | None = None

    async def complete(self, request: Request) -> Reply:
        """Call the function; see :class:`bedside.judges.llm.protocol.Client`."""
        assert isinstance(request, AgentRequest)
        result: Future[Any] = Future()
        note_sending()
        threading.Thread(target=self._call, args=(request.payload, result), name="bedside-agent", daemon=True).start()
        try:
            value = await asyncio.wait_for(asyncio.wrap_future(result), self._time_limit)
        except TimeoutError as error:
            raise self._failure_kind(f"the agent gave no answer within {self._time_limit:g} s") from error
        except _AgentError as error:
            kind = FaultError if isinstance(error.raised, ConnectionError) else self._failure_kind
            raise kind(str(error)) from error
        try:
            return Reply(agent_text(value, data=request.data, tested=self._tested))
        except ValueError as error:
            raise self._failure_kind(f"the agent returned {error}") from error

    def _call(self, payload: Any, result: Future[Any]) -> None:
        try:
            value = self._function(payload)
            if inspect.isawaitable(value):
                value = asyncio.run_coroutine_threadsafe(_awaited(value), self._agent_loop()).result()
        except BaseException as error:  # whatever it raises ends this call, and nothing else
            outcome: BaseException | None = _AgentError(error)
        else:
            outcome = None
        with suppress(Exception):  # nobody waits for it any more
            if outcome is None:
                result.set_result(value)
            else:
                result.set_exception(outcome)

    def _agent_loop(self) -> asyncio.AbstractEventLoop:
        with _LOOP_LOCK:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, name="bedside-agent-loop", daemon=True).start()
            return self._loop

    async def close(self) -> None:
        """Stop the loop that the function's coroutines run in."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)


_LOOP_LOCK = threading.Lock()


class _AgentError(Exception):
    """What a function raised, in one line.

    Args:
        raised: what.
    """

    def __init__(self, raised: BaseException) -> None:
        super().__init__(_one_line(raised))
        self.raised = raised


async def _awaited(value: Awaitable[Any]) -> Any:
    return await value


def _one_line(error: BaseException) -> str:
    """What was raised, and where."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if len(frames) > 1 else ""
    words = " ".join(str(error).split())
    text = f": {words[:300]}" if words else ""
    return f"the agent raised {type(error).__name__}{text}{place}"


def _takes(text: str) -> bool:
    beginning = f"{text.partition(':')[0]}:"
    models = {name for kind in CLIENTS.all().values() for name in kind.beginnings}
    return bool(_NAME.fullmatch(text)) and beginning[:-1] not in _OTHERS and beginning not in models


def _read(names: Sequence[str], simulator: Simulator) -> list[ActorName]:
    return [ActorName(name, "function", name, algorithm_rater(name), detail=imported_function(name)) for name in names]


def imported_function(name: str) -> Callable[..., Any]:
    """The function that a name of the form ``package.module:function`` stands for.

    Raises:
        InputError: it can't be imported, or isn't there.
    """
    module_name, _, path = name.partition(":")
    here = os.getcwd()
    if here not in sys.path:  # where whoever wrote it expects it to be found
        sys.path.append(here)
    try:
        target: Any = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        raise InputError(
            f"no module is called {error.name}", where=name, todo="run this where it can be imported from"
        ) from error
    except (Exception, SystemExit) as error:
        words = " ".join(str(error).split())
        raise InputError(
            f"the module {module_name} can't be imported ({type(error).__name__}: {words})", where=name
        ) from error
    for part in path.split("."):
        if not hasattr(target, part):
            public = [attribute for attribute in dir(target) if not attribute.startswith("_")]
            raise InputError(f"{module_name} has no {part}", where=name, todo=nearest(part, public))
        target = getattr(target, part)
    if not callable(target):
        raise InputError(f"{path} of {module_name} can't be called", where=name, todo="name a function")
    function: Callable[..., Any] = target
    return function


def _open(name: ActorName, settings: ActorSettings) -> AgentActor:
    function = name.detail
    return AgentActor(
        FunctionClient(function, settings.sampling.timeout, tested=settings.role == "clinician"),
        name.text,
        settings,
        patience=Patience(attempts=1),
        stateful=bool(getattr(function, "stateful", False)),
    )


ACTOR = ActorKind(
    name="function",
    title="a Python function: package.module:function",
    takes=_takes,
    read=_read,
    open=_open,
    words_only=lambda name, purposes: (
        "the function says that it writes words only" if getattr(name.detail, "words_only", False) else ""
    ),
)
