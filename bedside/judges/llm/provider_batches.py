"""A provider's batches inside a run: what is open is sent, and answered as if it had been asked at once.

A judging is gone through once for each round. What has no answer yet is written down and sent. When the provider has
answered all of it, the next round takes the answers and writes down what follows: what is asked again after a reply
that can't be used, or about other answers. A small file in the run, the ledger, says which batches are under way. It is
written before a batch is sent, so that no batch is lost or sent twice however a process ends.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
import time
import uuid
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import orjson

from bedside.core.errors import RunError
from bedside.core.files import Format, read_json, seal_of, write_json
from bedside.core.json_shape import BOOLEAN, NUMBER, TEXT, OrNull
from bedside.core.stopping import run_to_end
from bedside.judges.counts import JudgingProgress
from bedside.judges.llm.batch_files import KEY_DIGITS, URL, Answers, CallWriter, answer_in, key_of, request_id
from bedside.judges.llm.contract import batch_price, open_batches, open_model
from bedside.judges.llm.extra_fields import STREAM
from bedside.judges.llm.model_names import ModelName
from bedside.judges.llm.openai_chat import error_message
from bedside.judges.llm.protocol import (
    ANSWERED_BY,
    BatchService,
    BatchState,
    Client,
    FaultError,
    LanguageModelError,
    NotAskedError,
    OuterClient,
    RefusedError,
    Reply,
    Request,
    SentBatch,
)
from bedside.judges.llm.spending import CostLimit, most_cost
from bedside.judges.settings import JudgeSettings

T = TypeVar("T")
_SHAPE = {
    "batches": [
        {
            **dict.fromkeys(("tag", "judge", "address", "url"), TEXT),
            "calls": [TEXT],
            "sent": NUMBER,
            "most": NUMBER,
            "id": OrNull(TEXT),
            "read": BOOLEAN,
            "before": OrNull(TEXT),
        }
    ],
    "seal": TEXT,
}
_TODO = "restore it from a copy; without it, they are sent again"
_GOES_ON = "what was sent stays there: the same command goes on"
#: What an answer of another form than the provider documents leads to.
_OTHER_FORM = (LookupError, TypeError, ValueError, AttributeError)


class BatchRounds:
    """The batches of a command, round by round.

    Args:
        ledger: the file that says which are under way.
        names: the judges.
        settings: how they are asked; limits are those of all rounds together.
        folder: for calls and answers, as long as they are needed.

    Attributes:
        budget: what was spent by this command.

    Raises:
        InputError: a judge's provider has no such service.
        RunError: the ledger can't be read.
    """

    def __init__(self, ledger: Path, names: Sequence[ModelName], settings: JudgeSettings, folder: Path) -> None:
        self.budget: CostLimit = CostLimit()
        self._path, self._settings, self._folder = ledger, settings, folder
        self._services = {name.identity: open_batches(name) for name in names}
        self._ledger = _read(ledger)
        self._states: dict[SentBatch, BatchState] = {}
        self._wanted: set[SentBatch] = set()
        #: Batches that were found and are another run's.
        self._others: set[str] = set()
        #: Requests that came to nothing in this command, and why: they are asked the next time.
        self._vain: dict[str, str] = {}
        self._stop: LanguageModelError | None = None
        self._calls = 0
        self._limited = False
        self._writers: dict[str, CallWriter] = {}
        self._most: dict[str, float] = {}
        self._open_round(None)

    def _open_round(self, answers: Answers | None) -> None:
        self._answers = answers
        #: The batch of each request that was sent and not read yet.
        self._batches = {_call(custom_id): batch for batch in self._own for custom_id in batch.calls}
        self._held = sum(batch.most for batch in self._own)
        self._wanted, self._limited, self._most = set(), False, {}

    @property
    def _own(self) -> list[SentBatch]:
        places = {(judge, service.address) for judge, service in self._services.items()}
        return [batch for batch in self._ledger if (batch.judge, batch.address) in places]

    # -- a round -------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Look at what is under way, and fetch the answers of what has ended.

        Raises:
            LanguageModelError: the provider can't be asked.
        """
        files: list[Path] = []

        async def fetch() -> None:
            for batch in (looked_at := self._own):
                service = self._services[batch.judge]
                if batch.id is None:  # an earlier process doesn't know whether it came
                    batch.id = await self._patiently(service, self._finding(service, batch))
                    if batch.id is None:
                        self._ledger.remove(batch)
                    self._keep()
                    if batch.id is None:
                        continue
                path = self._folder / f"{batch.tag}.answers.jsonl"
                ours = True
                try:
                    state = await self._patiently(service, partial(service.look, batch))
                    if state.ended and not state.problem:
                        ours = await self._patiently(service, partial(_download, service, batch, state, path))
                except LanguageModelError as error:
                    if batch.read:  # what is left of it another command wanted, once
                        continue
                    cause = error.__cause__
                    gone = isinstance(cause, RefusedError) and cause.status in (404, 410)
                    if gone or isinstance(cause, _NoAnswersError):
                        again = f"if its answers are gone there, remove {self._path}, and its calls are sent again"
                        error.todo = f"{error.todo}; {again}"
                    raise
                if not ours and batch.id not in self._others:
                    # It was found by its size and time, and is another run's: ours is looked for anew, or sent.
                    self._others.add(batch.id)
                    batch.id = None
                    looked_at.append(batch)
                    continue
                self._states[batch] = state
                if path.exists():
                    files.append(path)

        self._at_providers(fetch)
        self._open_round(Answers(files) if files else None)

    def client(self, name: ModelName) -> Client:
        """What a judge is asked by in this round."""
        return _BatchedClient(name, self._settings, self)

    def end(self, stored: Callable[[], set[str]]) -> bool:
        """Strike what was read off the ledger, and send what was written; returns whether another round follows.

        Args:
            stored: the keys of what was judged.

        Raises:
            LanguageModelError: the provider refuses what is sent.
        """
        was_read = self._strike_off(stored)
        files = [(name, file) for name, writer in self._writers.items() for file in writer.finish()]
        self._writers = {}
        if self._stop is not None:
            raise self._stop

        async def send() -> None:
            for judge, file in files:
                with file.path.open("rb") as lines:
                    calls = [(call["custom_id"], call["url"]) for call in map(orjson.loads, lines)]
                ids, service = [custom_id for custom_id, _ in calls], self._services[judge]
                most = sum(self._most[custom_id] for custom_id in ids)
                batch = SentBatch(uuid.uuid4().hex, judge, service.address, calls[0][1], ids, time.time(), most)
                await self._send(service, file.path, batch)
                self._wanted.add(batch)
                file.path.unlink()

        self._at_providers(send)
        return bool(self._wanted) or (was_read and self._limited)

    def wait(self, progress: Callable[[JudgingProgress], None] | None = None) -> None:
        """Wait until the provider has ended all batches that this round wants.

        Args:
            progress: called with what it has answered, whenever that changes.

        Raises:
            LanguageModelError: the provider can't be asked; the batches stay there.
        """

        total = sum(len(batch.calls) for batch in self._wanted)

        async def wait() -> None:
            patience, before = self._settings.patience.first_wait, None
            while True:
                for batch in self._wanted:
                    state = self._states.get(batch)
                    if state is None or not state.ended:
                        service = self._services[batch.judge]
                        look = partial(service.look, batch)
                        # It may take a day, in which a connection may be away for hours.
                        self._states[batch] = await self._patiently(service, look, attempts=math.inf)
                states = [self._states[batch] for batch in self._wanted]
                done = sum(state.done for state in states)
                if progress is not None and done != before:
                    cost = self.budget.cost if self.budget.spent else None
                    progress(JudgingProgress(done, 0, 0, total, total, cost, len(states)))
                before = done
                if all(state.ended for state in states):
                    return
                await asyncio.sleep(patience)
                patience = min(2 * patience, self._settings.patience.longest_wait)

        self._at_providers(wait)

    # -- one request ---------------------------------------------------------------------------------

    def answer(self, name: ModelName, request: Request, most: float, content: bytes, url: str) -> tuple[int, bytes]:
        """Status and body of the answer to a request, as a live one would have had them.

        Raises:
            NotAskedError: there is none yet, and the request is written down or waits for its batch; or it came to
                nothing, and is asked the next time.
        """
        call = request_id(request)
        own = f"{call}_{hashlib.sha256(content).hexdigest()[:12]}"
        if call in self._vain:
            raise NotAskedError(self._vain[call])
        line = None if self._answers is None else self._answers.take(call)
        batch = self._batches.get(call)
        if line is not None:
            response = line.get("response")
            status = response.get("status_code") if isinstance(response, dict) else None
            if not isinstance(response, dict) or not isinstance(status, int):
                raise self.in_vain(request, error_message(orjson.dumps(line.get("error"))))
            # What was refused as it was sent may be sent in another way since.
            if status == 200 or line["custom_id"] == own:
                return status, orjson.dumps(response.get("body"))
        elif batch is not None and (state := self._states.get(batch)) is not None:
            if not state.ended:
                self._wanted.add(batch)
                raise NotAskedError("not answered yet: it waits for a batch")
            if state.problem:
                what, todo = f"the provider refused the batch ({state.problem})", "mend that, or limit `max_calls`"
                self._stop = LanguageModelError(what, where=batch.id, todo=f"{todo}; the same command sends it again")
            raise self.in_vain(request, f"the batch was {state.ended} without an answer")
        self._write(name, most, own, content, url)
        raise NotAskedError("not answered yet: it waits for a batch")

    def in_vain(self, request: Request, why: str, stop: LanguageModelError | None = None) -> NotAskedError:
        """The error where a batch has no answer to a request; with ``stop``, as nothing can be asked."""
        said = f"{why}; the same command asks it again"
        self._vain[request_id(request)] = said
        self._stop = self._stop or stop
        return NotAskedError(said)

    def _write(self, name: ModelName, most: float, own: str, content: bytes, url: str) -> None:
        settings = self._settings
        if settings.max_calls is not None and self._calls >= settings.max_calls:
            raise NotAskedError(f"not asked: the limit of {settings.max_calls} calls was reached")
        limit = settings.max_cost
        if limit is not None and self.budget.spent + self._held + most > limit:
            self._limited = True
            raise NotAskedError(f"not asked: the limit of {limit:g} US dollars was reached")
        self._held += most
        self._most[own] = most
        self._calls += 1
        writer = self._writers.get(name.identity)
        if writer is None:
            service, path = self._services[name.identity], self._folder / f"{len(self._writers)}.calls.jsonl"
            writer = CallWriter(path, max_requests=service.max_requests, max_bytes=service.max_bytes)
            self._writers[name.identity] = writer
        writer.add(name.identity, own, content, 0, "/v1/responses" if url.endswith("/responses") else URL)

    # -- at the provider -----------------------------------------------------------------------------

    async def _send(self, service: BatchService, calls: Path, batch: SentBatch) -> None:
        """Send a batch, once: where no answer says whether it came, it is looked for."""
        self._ledger.append(batch)
        self._keep()
        find, posted = self._finding(service, batch), False

        async def once() -> str:
            nonlocal posted
            if batch.before is None:
                batch.before = await service.newest_batch()
                self._keep()
            found = await find() if posted else None
            posted = True
            return found or await service.post_batch(calls, batch)

        try:
            batch.id = await self._patiently(service, once)
        except LanguageModelError as error:
            if isinstance(error.__cause__, RefusedError):
                self._ledger.remove(batch)
                self._keep()
            raise
        self._keep()

    def _finding(self, service: BatchService, batch: SentBatch) -> Callable[[], Awaitable[str | None]]:
        """Looks for a batch that may have come in, or may be coming in: it is looked for once more, later."""
        looked = False

        async def find() -> str | None:
            nonlocal looked
            name, before = await service.find(batch, self._known), looked
            looked = True
            if name is None and not before:
                raise FaultError("the provider doesn't list the batch that was sent")
            return name

        return find

    async def _patiently(
        self, service: BatchService, ask: Callable[[], Awaitable[T]], attempts: float | None = None
    ) -> T:
        patience, attempt, unread = self._settings.patience, 0, 0
        while True:
            try:
                try:
                    return await ask()
                except _OTHER_FORM as error:
                    unread += 1
                    raise FaultError("the batch service answered in a form that can't be read") from error
            except FaultError as fault:
                attempt += 1
                if max(attempt / (attempts or patience.attempts), unread / patience.attempts) >= 1:
                    raise LanguageModelError(fault.what, where=service.address, todo=_GOES_ON) from fault
                wait = max(patience.first_wait * 2 ** min(attempt - 1, 20), fault.wait or 0.0)
                await asyncio.sleep(min(wait, patience.longest_wait))
            except RefusedError as refused:
                todo = f"check the key, and what its account may do; {_GOES_ON}"
                raise LanguageModelError(str(refused), where=service.address, todo=todo) from refused

    def _at_providers(self, work: Callable[[], Awaitable[None]]) -> None:
        async def run() -> None:
            try:
                await work()
            finally:
                for service in self._services.values():
                    await service.close()

        run_to_end(run)

    # -- the ledger ----------------------------------------------------------------------------------

    @property
    def _known(self) -> set[str]:
        return {batch.id for batch in self._ledger if batch.id is not None} | self._others

    def _strike_off(self, stored: Callable[[], set[str]]) -> bool:
        """Strike off what was read; answers that only another command asks for stay. Returns whether any was taken."""
        ended = [batch for batch in self._own if batch in self._states and self._states[batch].ended]
        left = set() if self._answers is None else set(self._answers.left)
        judged = {key[:KEY_DIGITS] for key in stored()} if left else set()
        for batch in ended:
            batch.calls = [each for each in batch.calls if _call(each) in left and key_of(each) not in judged]
            batch.read, batch.most = True, 0.0
            if not batch.calls:
                self._ledger.remove(batch)
        if ended:
            self._keep()
        return self._answers is not None and len(left) < self._answers.ids

    def _keep(self) -> None:
        """Write the ledger; it is on disk when this returns."""
        if self._ledger:
            content = {"batches": [asdict(batch) for batch in self._ledger]}
            write_json(self._path, {**content, "seal": seal_of(content)})
        else:
            self._path.unlink(missing_ok=True)


class _BatchedClient(OuterClient):
    """Answers from batches, by way of what asks the model live; a :class:`bedside.judges.llm.protocol.Client`."""

    def __init__(self, name: ModelName, settings: JudgeSettings, rounds: BatchRounds) -> None:
        sampling = settings.sampling(name)
        extra = {field: value for field, value in sampling.extra.items() if field != STREAM}
        self._sampling = replace(sampling, extra=extra)
        super().__init__(open_model(name, self._sampling))
        self._name, self._rounds, self._price = name, rounds, batch_price(name, settings.price)

    async def complete(self, request: Request) -> Reply:
        """The answer to a request; see :class:`bedside.judges.llm.protocol.Client`."""
        # Which requests begin alike differs from round to round, and a request must not.
        request = replace(request, shared=0)
        most = 0.0 if self._price is None else most_cost(request, self._price, self._sampling)
        before = ANSWERED_BY.set(partial(self._rounds.answer, self._name, request, most))
        try:
            return await self._client.complete(request)
        except LanguageModelError as stop:
            raise self._rounds.in_vain(request, stop.what, stop) from stop
        except (FaultError, RefusedError) as error:
            raise self._rounds.in_vain(request, str(error)) from error
        finally:
            ANSWERED_BY.reset(before)


class _NoAnswersError(FaultError):
    """The provider did what was asked, and no line of what it answered can be read."""


async def _download(service: BatchService, batch: SentBatch, state: BatchState, path: Path) -> bool:
    """Write a batch's answers to a file, which is there afterwards if any line of it can be read. Returns False where
    none of them is to a call of the batch.

    Raises:
        _NoAnswersError: that isn't so where the provider did what was asked.
    """
    own = set(batch.calls)
    try:
        with path.open("wb") as file:
            await service.read(batch, state, file)
        with path.open("rb") as file:
            ours = {answer["custom_id"] in own for answer in map(answer_in, file) if answer is not None}
        if ours:
            return True in ours
    except BaseException:
        path.unlink()
        raise
    path.unlink()
    if state.ended not in ("cancelled", "expired", "failed"):
        raise _NoAnswersError("the answers of a batch that has ended can't be read")
    return True


def _call(custom_id: str) -> str:
    """The request that an id is of, however it was sent."""
    return custom_id.partition("_")[0]


def _read(path: Path) -> list[SentBatch]:
    if not path.exists():
        return []
    noun = "list of batches under way"
    content = read_json(path, noun, _SHAPE, todo=_TODO, form=Format(noun))
    if seal_of(content) != content["seal"]:
        raise RunError(f"the {noun} isn't as bedside wrote it (its seal doesn't fit)", where=str(path), todo=_TODO)
    return [SentBatch(**batch) for batch in content["batches"]]
