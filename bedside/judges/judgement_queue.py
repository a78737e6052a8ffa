"""Judgements in the making: many are asked for at once, and each is kept as soon as it is there.

A *group* is all that one pass of one rubric asks about one transcript. Groups go in as an iterator and come out in the
same order, when all their answers are there; between the two there is a bounded number of them, so that memory doesn't
grow with their number.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Generic, Protocol, TypedDict, TypeVar, Unpack

from bedside.core.errors import InputError
from bedside.core.neutral_text import neutral
from bedside.core.stopping import run_to_end
from bedside.core.trace_spans import span
from bedside.judges.counts import JudgingProgress, Tally
from bedside.judges.llm.contract import known_price
from bedside.judges.llm.endpoints import rooms
from bedside.judges.llm.lessons import EndpointMemory
from bedside.judges.llm.model_names import ModelName
from bedside.judges.llm.prices import Price
from bedside.judges.llm.protocol import (
    Client,
    DeclinedError,
    FaultError,
    LanguageModelError,
    NotAskableError,
    NotAskedError,
    RefusedError,
    Reply,
    Request,
    UnusableError,
)
from bedside.judges.llm.queue import CallRecord, RequestQueue, known_sum
from bedside.judges.llm.sharing import open_client
from bedside.judges.llm.spending import CostLimit, PricedClient
from bedside.judges.prompt import NotAskable, Prompt, objection
from bedside.judges.questions import AnswerGroup, JudgeAnswer
from bedside.judges.reply import expected_score
from bedside.judges.rubrics.rubric import Rubric
from bedside.judges.settings import JudgeSettings
from bedside.judges.store import Judgement, State, Store, judgement_key, key_parameters, parameters_text

# -- One judgement --------------------------------------------------------------------------------------

#: How much of a reply that can't be used is shown to the model again.
_SHOWN_AGAIN = 4000
_UNUSABLE = "no usable reply in {}: {}"


@dataclass(slots=True)
class Ask:
    """A judgement to be asked for.

    Attributes:
        group: what it belongs to.
        place: of its answer there.
        prompt: what is asked.
        digest: of the prompt.
        key: of the judgement.
        before: what an earlier run left of it that came to nothing.
        shared: whether other calls begin as its prompt does.
    """

    group: AnswerGroup
    place: int
    prompt: Prompt
    digest: str
    key: str
    before: Judgement | None = None
    shared: bool = False

    @property
    def opening(self) -> str:
        """Digest by which what its prompt begins with is known."""
        return self.prompt.pieces[self.prompt.shared - 1].digest


@dataclass(slots=True)
class _Outcome:
    """What asking came to; the fields are a judgement's."""

    state: State
    answer: dict[str, Any] | None = None
    error: str | None = None
    expected: float | None = None
    expected_note: str | None = None
    cut_at: int | None = None
    stop: BaseException | None = None


class JudgementAsker:
    """Asks a judge for judgements.

    Args:
        requests: puts requests to the model.
        name: the model's.
        settings: how it is asked.
    """

    def __init__(self, requests: RequestQueue, name: ModelName, settings: JudgeSettings) -> None:
        self._requests = requests
        self._name = name
        self._sampling = settings.sampling(name)
        self._parameters = parameters_text(self._sampling)
        self._key_parameters = key_parameters(self._sampling)
        self._patience = settings.patience
        self._price = settings.price or known_price(name)

    def key(self, prompt: str, number: int) -> str:
        """The key of the judgement that one pass gives on a prompt with this digest."""
        return judgement_key(self._name.identity, self._key_parameters, prompt, number)

    async def judge(self, ask: Ask) -> tuple[Judgement, BaseException | None]:
        """Ask until there is a judgement. Replies that an earlier run had count, and aren't asked for again.

        Returns:
            It, and what ended the run while more was asked; what was paid for is to be kept before that is raised.

        Raises:
            NotAskedError, NotAskableError, LanguageModelError: there is no reply.
        """
        started = _now()
        record = CallRecord()
        try:
            outcome = await self._outcome(ask, record)
        finally:
            ask.group.tally.calls += record.calls
        prompt, before = ask.prompt, ask.before
        judgement = Judgement(
            key=ask.key,
            model=self._name.identity,
            parameters=self._parameters,
            prompt=ask.digest,
            number=ask.group.number,
            transcript=ask.group.transcript.id,
            unit=prompt.unit,
            items=prompt.asked,
            rubric=ask.group.name,
            version=ask.group.version,
            state=outcome.state,
            answer=outcome.answer,
            error=outcome.error,
            expected=outcome.expected,
            expected_note=outcome.expected_note,
            replies=(*(before.replies if before else ()), *record.replies),
            faults=(*(before.faults if before else ()), *record.faults),
            calls=record.calls + (before.calls if before else 0),
            input_tokens=known_sum(record.input_tokens, before.input_tokens if before else None),
            output_tokens=known_sum(record.output_tokens, before.output_tokens if before else None),
            cost=known_sum(self._count(record, ask.group.tally), before.cost if before else None),
            started=started,
            finished=_now(),
            endpoint=record.endpoint or (before.endpoint if before else None),
            cached_tokens=known_sum(record.cached_tokens, before.cached_tokens if before else None),
            reasoning_tokens=known_sum(record.reasoning_tokens, before.reasoning_tokens if before else None),
            unsent=record.unsent if record.replies or not before else before.unsent,
            cut_at=outcome.cut_at,
            served=record.served if record.replies or not before else before.served,
        )
        return judgement, outcome.stop

    async def _outcome(self, ask: Ask, record: CallRecord) -> _Outcome:
        """What comes of asking, however often that takes; raises as :meth:`judge` does."""
        request = self._request(ask)
        outcome = _Outcome("failed")
        try:
            for number in range(request.number, max(request.number, self._patience.replies) + 1):
                problem, final, part = None, False, None
                try:
                    reply = await self._reply(request, record)
                except DeclinedError as declined:
                    record.count(declined.reply)
                    return _declined(declined)
                except UnusableError as unusable:
                    reply, problem, final = unusable.reply, unusable.problem, unusable.final
                record.count(reply)
                if problem is None:
                    outcome, problem = self._read(reply, ask)
                    part = outcome.answer
                if problem is None:
                    break
                if reply.cut and not final:
                    problem = f"{problem}; it was cut off at {self._sampling.max_tokens} tokens, so be brief"
                cut_at = self._sampling.max_tokens if reply.cut else None
                outcome = _Outcome("unusable", part, _UNUSABLE.format(number, problem), cut_at=cut_at)
                if final:
                    break
                if reply.text:
                    request = _objecting(request, reply.text, problem, ask)
                request = replace(request, number=number + 1)
        except FaultError as fault:
            outcome = _Outcome("failed", error=f"{fault.what}, after {self._patience.attempts} attempts")
        except RefusedError as refused:
            outcome = _Outcome("failed", error=str(refused))
        except NotAskableError as longer:
            if not record.replies:
                raise
            outcome = replace(outcome, error=f"{outcome.error}; not asked again: {longer}")
        except (NotAskedError, LanguageModelError, asyncio.CancelledError) as stop:
            if not record.replies:
                raise
            # What was paid for is kept, and the next run goes on from there.
            outcome = _Outcome("failed", error=outcome.error, stop=None if isinstance(stop, NotAskedError) else stop)
        return outcome

    async def _reply(self, request: Request, record: CallRecord) -> Reply:
        """A reply; where a request is too long with the earlier reply in it, to the request without that."""
        try:
            return await self._requests.reply(request, record)
        except NotAskableError as longer:
            if len(request.messages) == 1:
                raise
            record.faults.append(f"asked again without the earlier reply: {longer}")
            return await self._requests.reply(request.without_reply(), record)

    def _request(self, ask: Ask) -> Request:
        prompt, before = ask.prompt, ask.before
        request = Request.of_text(
            prompt.text,
            prompt.form,
            schema_name="judgement",
            seed=self._sampling.seed + ask.group.number if self._sampling.temperature else None,
            items=prompt.asked,
            choices=prompt.choices,
            key=ask.key,
            number=len(before.replies) + 1 if before else 1,
            opening=prompt.pieces[0].digest,
            shared=sum(len(piece.text) for piece in prompt.pieces[: prompt.shared]) if ask.shared else 0,
        )
        if before is None or not before.replies or not before.replies[-1]:
            return request
        # What was wrong with the last reply, unless it failed for another reason.
        beginning, _, problem = (before.error or "").partition(": ")
        if f"{beginning}: " != _UNUSABLE.format(len(before.replies), ""):
            return request
        return _objecting(request, before.replies[-1], problem, ask)

    def _read(self, reply: Reply, ask: Ask) -> tuple[_Outcome, str | None]:
        """What a reply comes to, and what is wrong with it."""
        parsed = ask.group.read(reply.text, ask.prompt)
        outcome = _Outcome("answered", parsed.answer)
        rubric = ask.group.levels(ask.prompt) if self._sampling.probabilities else None
        if parsed.problem is None and rubric is not None:
            outcome.expected, outcome.expected_note = _expected(reply, rubric, parsed.at)
        return outcome, parsed.problem

    def _count(self, record: CallRecord, tally: Tally) -> float | None:
        """Add a judgement's tokens to the rubric's; returns its cost."""
        tally.input_tokens += record.input_tokens or 0
        tally.output_tokens += record.output_tokens or 0
        tally.cached_tokens += record.cached_tokens or 0
        tally.reasoning_tokens += record.reasoning_tokens or 0
        cost = None
        if self._price is not None and record.replies and record.counted:
            tokens = (record.input_tokens, record.output_tokens, record.cached_tokens, record.written_tokens)
            cost = self._price.of(*(number or 0 for number in tokens))
        if cost is None and record.replies:
            tally.cost = None
        elif cost is not None and tally.cost is not None:
            tally.cost += cost
        return cost


def _objecting(request: Request, reply: str, problem: str, ask: Ask) -> Request:
    return request.objecting(neutral(reply[:_SHOWN_AGAIN]), neutral(objection(problem, ask.group.words)))


def _declined(declined: DeclinedError) -> _Outcome:
    """What comes of a request that the judge or a filter won't answer: a result, which isn't asked for again."""
    if declined.by == "model":
        return _Outcome("refused", error=f"the judge refused: {declined.words}")
    return _Outcome("filtered", error=declined.problem)


def _expected(reply: Reply, rubric: Rubric, at: int) -> tuple[float | None, str | None]:
    if not reply.tokens:
        return None, "the provider gives no probabilities of tokens"
    with suppress(IndexError, ValueError):
        return expected_score(reply.text, reply.tokens, rubric, at)
    return None, "the score can't be found among the tokens"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


# -- In which order calls are made ----------------------------------------------------------------------

#: Beginnings that are remembered as answered; caches forget them sooner.
_REMEMBERED = 4096


class CallOrder:
    """Calls that wait for their turn: the first that begins alike alone, then the others, so that prompt caches serve
    them.

    A provider's or server's cache holds what a prompt begins with only once a call that begins so was answered. Until
    then the others wait, and calls about other transcripts are made. New beginnings are taken up as long as fewer calls
    are ready than are made at once, so that there is always something to do while a first call is under way.

    Args:
        width: how many calls are made at once.
    """

    def __init__(self, width: int) -> None:
        self._width = width
        #: Calls whose beginning was answered; by their beginning, those of which none was made, and those that wait for
        #: the first one's answer.
        self._ready: deque[Ask] = deque()
        self._new: dict[str, deque[Ask]] = {}
        self._held: dict[str, deque[Ask]] = {}
        self._answered: dict[str, None] = {}
        self._to_make = asyncio.Semaphore(0)
        self._room = asyncio.Event()

    async def room(self) -> None:
        """Wait until fewer calls can be made than are made at once."""
        while len(self._ready) + len(self._new) >= self._width:
            self._room.clear()
            await self._room.wait()

    def put(self, call: Ask) -> None:
        """Put a call in."""
        opening = call.opening
        for waiting in (self._held, self._new):
            if opening in waiting:
                waiting[opening].append(call)
                return
        if opening in self._answered:
            self._ready.append(call)
        else:
            self._new[opening] = deque([call])
        self._to_make.release()

    async def get(self) -> Ask:
        """The call whose turn it is; :meth:`done` is to be called with it."""
        await self._to_make.acquire()
        if self._ready and (len(self._ready) >= self._width or not self._new):
            call = self._ready.popleft()
            call.shared = True
        else:
            opening = next(iter(self._new))
            others = self._held[opening] = self._new.pop(opening)
            call = others.popleft()
            call.shared = bool(others)
        self._room.set()
        return call

    def done(self, call: Ask) -> None:
        """Note that a call was answered, or came to nothing: those that begin so may be made."""
        others = self._held.pop(call.opening, None)
        if others is None:
            return
        self._answered[call.opening] = None
        if len(self._answered) > _REMEMBERED:
            del self._answered[next(iter(self._answered))]
        self._ready.extend(others)
        for _ in others:
            self._to_make.release()


# -- Judgements in the making ---------------------------------------------------------------------------

#: How often judgements that another process is asking are looked for, in seconds.
_LOOK_AGAIN = 0.5
Group = TypeVar("Group", bound=AnswerGroup)


class JudgementQueue(Generic[Group]):
    """Judges groups; used once.

    Args:
        client: the model.
        name: its name.
        store: where judgements are kept.
        settings: how it is asked; passes are the groups' matter.
        emit: called with each group that is done, in order.
        max_concurrency: requests under way at once; as the settings say unless given.
        ahead: requests that the client is given beyond these, to choose from which to send next.
        calls: requests that count as sent already.
        progress: called whenever a judgement is done.
    """

    def __init__(
        self,
        client: Client,
        name: ModelName,
        store: Store,
        settings: JudgeSettings,
        emit: Callable[[Group], None],
        *,
        max_concurrency: int | None = None,
        ahead: int = 0,
        calls: int = 0,
        progress: Callable[[JudgingProgress], None] | None = None,
    ) -> None:
        self._requests = RequestQueue(
            client,
            name.url or name.identity,
            settings.patience,
            max_calls=settings.max_calls,
            seed=settings.seed,
            calls=calls,
        )
        self._store = store
        self._asker = JudgementAsker(self._requests, name, settings)
        self._emit = emit
        self._max_concurrency = max_concurrency or settings.max_concurrency
        self._workers = self._max_concurrency + ahead
        limits = (settings.max_prompt_tokens, client.max_prompt_tokens)
        self._max_prompt_tokens = min((limit for limit in limits if limit is not None), default=None)
        self._order = settings.order
        self._max_tokens = settings.max_tokens
        self._temperature = settings.temperature
        self._name = name
        self._progress = progress
        #: Calls of groups that haven't come out yet, and how many there may be.
        self._open = 0
        self._window = max(256, 16 * self._max_concurrency)
        self._waiting: deque[Group] = deque()
        self._room = asyncio.Event()
        self._queue: CallOrder = CallOrder(self._max_concurrency)
        #: Asked by another process, or a second time here: to be answered with the first one.
        self._deferred: dict[str, list[Ask]] = {}
        #: What answers led to.
        self._following: asyncio.Queue[Ask] = asyncio.Queue()
        self._produced = False
        self._end: asyncio.Future[None]
        self._done = self._stored = self._missing = 0

    @property
    def calls(self) -> int:
        """How many requests were sent."""
        return self._requests.calls

    async def run(self, groups: Iterator[Group]) -> None:
        """Judge all groups.

        Raises:
            LanguageModelError: the judge can't be asked; what was finished is in the store.
            RunError: the store can't be written.
        """
        await self._serve(self._produce(groups))

    async def run_asking(self, asking: Callable[[], Awaitable[None]]) -> None:
        """Judge the groups that are put in by :meth:`ask` for as long as ``asking`` lasts.

        Raises:
            LanguageModelError, RunError: as :meth:`run` does.
        """

        async def produce() -> None:
            await asking()
            self._produced = True
            self._check_end()

        await self._serve(produce())

    async def ask(self, group: Group) -> None:
        """Put one group in, beside others that may come later; its answers are put into it when they are there."""
        self._waiting.append(group)
        asks = [self._expected(group, prompt) for prompt in group.prompts(self._order)]
        group.complete = True
        await self._admit([ask for ask in asks if ask is not None])
        self._come_out()

    async def _serve(self, produce: Coroutine[Any, Any, None]) -> None:
        """Work until everything that was put in has come out."""
        self._end = asyncio.get_running_loop().create_future()
        jobs = [produce, self._look_again(), self._follow(), *(self._work() for _ in range(self._workers))]
        tasks = [asyncio.create_task(self._guarded(job)) for job in jobs]
        try:
            await self._end
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _guarded(self, job: Coroutine[Any, Any, None]) -> None:
        try:
            await job
        except Exception as error:
            if not self._end.done():
                self._end.set_exception(error)

    # -- what comes in -------------------------------------------------------------------------------

    async def _produce(self, groups: Iterator[Group]) -> None:
        size = max(1, self._max_concurrency // 2)
        block: list[Ask] = []
        for group in groups:
            self._waiting.append(group)
            for prompt in group.prompts(self._order):
                ask = self._expected(group, prompt)
                if ask is None:
                    continue
                # What begins alike is let in together: the first call alone, and the others known.
                alike = bool(block) and ask.opening == block[-1].opening
                if len(block) >= (4 * size if alike else size):
                    await self._admit(block)
                    block = []
                    # The group that must come out first is always let in whole, or nothing would ever come out.
                    while self._open >= self._window and self._waiting[0] is not group:
                        self._room.clear()
                        await self._room.wait()
                block.append(ask)
            group.complete = True
            self._come_out()
        if block:
            await self._admit(block)
        self._produced = True
        self._check_end()

    def _expected(self, group: AnswerGroup, prompt: Prompt | NotAskable) -> Ask | None:
        """The call to make for a prompt; None where it can't be made, which is then the answer."""
        place = group.expect()
        self._open += 1
        if isinstance(prompt, Prompt):
            problem = self._too_long(prompt)
            if problem is None:
                digest = prompt.digest()
                key = self._asker.key(digest, group.number)
                return Ask(group, place, prompt, digest, key)
            prompt = NotAskable(prompt.unit, prompt.asked, problem)
        group.tally.not_askable += 1
        self._missing += 1
        self._put(group, place, JudgeAnswer(prompt.unit, prompt.asked, None, prompt.reason))
        return None

    def _too_long(self, prompt: Prompt) -> str | None:
        limit = self._max_prompt_tokens
        tokens = prompt.tokens
        if limit is None or tokens <= limit:
            return None
        return f"the prompt has about {tokens} tokens, more than the limit of {limit}"

    async def _admit(self, block: list[Ask]) -> None:
        """Answer from the store what is there, and queue what is to be asked."""
        asks: dict[str, list[Ask]] = {}
        for ask in block:
            asks.setdefault(ask.key, []).append(ask)
        claims = await self._store.claim(list(asks), self._max_tokens)
        for key, same in asks.items():
            if key in claims.found:
                self._answer_stored(same, claims.found[key])
                continue
            rest = same
            if key in claims.mine:
                rest = same[1:]
                same[0].before = claims.mine[key]
                self._queue.put(same[0])
            if rest:
                self._deferred.setdefault(key, []).extend(rest)
        await self._queue.room()

    async def _follow(self) -> None:
        """Ask what answers lead to."""
        while True:
            block = [await self._following.get()]
            while not self._following.empty():
                block.append(self._following.get_nowait())
            await self._admit(block)

    async def _look_again(self) -> None:
        """Look for judgements that another process was asking; take over those of a process that ended."""
        while True:
            await asyncio.sleep(_LOOK_AGAIN)
            keys = list(self._deferred)[:200]
            if not keys:
                continue
            claims = await self._store.claim(keys, self._max_tokens)
            for key, judgement in claims.found.items():
                self._answer_stored(self._deferred.pop(key, []), judgement)
            for key, before in claims.mine.items():
                first, *rest = self._deferred.pop(key)
                first.before = before
                if rest:
                    self._deferred[key] = rest
                self._queue.put(first)

    # -- what comes out ------------------------------------------------------------------------------

    def _answer_stored(self, asks: list[Ask], judgement: Judgement) -> None:
        for ask in asks:
            ask.group.tally.stored += 1
            self._stored += 1
            self._answer(ask, judgement)

    def _answer(self, ask: Ask, judgement: Judgement) -> None:
        tally = ask.group.tally
        setattr(tally, judgement.state, getattr(tally, judgement.state) + 1)
        tally.cut += judgement.state == "unusable" and judgement.cut_at is not None
        if judgement.replies:
            tally.replied += 1
            for parameter in judgement.unsent:
                tally.unsent[parameter] = tally.unsent.get(parameter, 0) + 1
            if judgement.served is not None:
                version = judgement.served.version
                tally.served[version] = tally.served.get(version, 0) + 1
        self._missing += judgement.state != "answered"
        answer = JudgeAnswer(
            ask.prompt.unit,
            ask.prompt.asked,
            judgement.answer,
            judgement.error,
            judgement.expected,
            judgement.expected_note,
        )
        self._put(ask.group, ask.place, answer)

    def _put(self, group: AnswerGroup, place: int, answer: JudgeAnswer) -> None:
        group.put(place, answer)
        for prompt in group.following():
            ask = self._expected(group, prompt)
            if ask is not None:
                self._following.put_nowait(ask)
        self._done += 1
        if self._progress is not None:
            self._progress(JudgingProgress(self._done, self._stored, self._missing, self.calls))
        self._come_out()

    def _come_out(self) -> None:
        while self._waiting and self._waiting[0].done:
            group = self._waiting.popleft()
            self._open -= len(group.answers)
            self._emit(group)
        self._room.set()
        self._check_end()

    def _check_end(self) -> None:
        if self._produced and not self._waiting and not self._end.done():
            self._end.set_result(None)

    # -- asking --------------------------------------------------------------------------------------

    async def _work(self) -> None:
        while True:
            ask = await self._queue.get()
            try:
                judgement, stop = await self._judged(ask)
            except (NotAskedError, NotAskableError) as error:
                await self._store.release([ask.key])
                for waiting in (ask, *self._deferred.pop(ask.key, [])):
                    self._without_answer(waiting, error)
                continue
            finally:
                self._queue.done(ask)
            if not self._store.text:
                judgement = ask.group.wordless(judgement)
            await self._store.finish(judgement, ask.prompt.pieces, ask.prompt.schema)
            if stop is not None:
                raise stop
            self._answer(ask, judgement)
            self._answer_stored(self._deferred.pop(ask.key, []), judgement)

    async def _judged(self, ask: Ask) -> tuple[Judgement, BaseException | None]:
        """A judgement as it is asked for, with a span of what is countable in it."""
        with span(
            f"chat {self._name.model}",
            gen_ai__operation__name="chat",
            gen_ai__provider__name=self._name.provider or self._name.client,
            gen_ai__request__model=self._name.model,
            gen_ai__request__temperature=self._temperature,
            gen_ai__request__max_tokens=self._max_tokens,
        ) as trace:
            judgement, stop = await self._asker.judge(ask)
            trace.add(
                gen_ai__usage__input_tokens=judgement.input_tokens,
                gen_ai__usage__output_tokens=judgement.output_tokens,
                bedside__rubric=judgement.rubric,
                bedside__rubric_version=judgement.version,
                bedside__pass=judgement.number,
                bedside__state=judgement.state,
                bedside__requests=judgement.calls,
                bedside__cost_usd=judgement.cost,
            )
            if judgement.state != "answered":
                trace.fail(judgement.state)
            return judgement, stop

    def _without_answer(self, ask: Ask, why: NotAskedError | NotAskableError) -> None:
        tally = ask.group.tally
        if isinstance(why, NotAskableError):
            tally.not_askable += 1
        else:
            tally.not_asked += 1
            tally.unasked[str(why)] = tally.unasked.get(str(why), 0) + 1
        self._missing += 1
        self._put(ask.group, ask.place, JudgeAnswer(ask.prompt.unit, ask.prompt.asked, None, str(why)))


# -- Putting questions to a judge -----------------------------------------------------------------------
# Rubrics (:mod:`bedside.judges.rubric_ratings`), behaviour codes (:mod:`bedside.judges.turn_codes`) and the protocols
# of a run (:mod:`bedside.scoring.run_judging`) make the groups of questions.

#: Of calls that wait for one of several endpoints, as many as they take at once, times this.
_AHEAD = 3
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class JudgingStage:
    """What is asked together, once all that earlier stages ask is answered.

    Attributes:
        groups: makes the groups of questions when the stage's turn comes.
        emit: called with each group that is done, in order.
        size: how many groups there will be at most; None where that isn't known.
    """

    groups: Callable[[], Iterator[AnswerGroup]]
    emit: Callable[[Any], None]
    size: int | None = None


class JudgeAccess(TypedDict, total=False):
    """By what a judge is asked, and what its store keeps; each can be left out.

    Attributes:
        text: whether the store keeps prompts and a judge's words; without them, numbers and labels are kept.
        client: opens what is asked in place of the model that the judge's name says.
        alone: as for :class:`bedside.judges.store.Store`.
        budget: what judges may cost, where that is more than this judge; as the settings say unless given.
    """

    text: bool
    client: Callable[[], Client] | None
    alone: bool
    budget: CostLimit | None


def ask_judge(
    name: ModelName,
    settings: JudgeSettings,
    store_path: Path,
    stages: Sequence[JudgingStage],
    *,
    progress: Callable[[JudgingProgress], None] | None = None,
    **access: Unpack[JudgeAccess],
) -> int:
    """Put questions to a judge, one stage after the other; returns how many requests were sent.

    Args:
        name: the judge.
        settings: passes, limits and the like; the limit of calls is that of all stages together.
        store_path: the file that keeps judgements; made if it isn't there.
        stages: what is asked.
        progress: called whenever a judgement is done.
        access: by what it is asked.

    Raises:
        MissingExtraError: the libraries for the judge aren't installed.
        LanguageModelError: it can't be asked. What was finished is kept.
        RunError: the store can't be used.
        InputError: costs are limited, and what it costs isn't known.
    """

    async def put(queue: QueueMaker, budget: CostLimit) -> int:
        begun, before = budget.calls, JudgingProgress(0, 0, 0, 0)
        for number, stage in enumerate(stages):
            later = [following.size for following in stages[number + 1 :]]
            watch = _StageProgress(before, stage.size, later, budget, progress)
            asked = queue(stage.emit, watch)
            await asked.run(watch.counted(stage.groups()))
            budget.calls, before = asked.calls, watch.total
        return budget.calls - begun

    return with_judge(name, settings, store_path, put, **access)


class QueueMaker(Protocol):
    """Makes a queue of judgements."""

    def __call__(
        self, emit: Callable[[Group], None], progress: Callable[[JudgingProgress], None] | None = None
    ) -> JudgementQueue[Group]:
        """A queue; arguments as for :class:`bedside.judges.judgement_queue.JudgementQueue`."""
        ...


def judge_price(name: ModelName, settings: JudgeSettings, max_cost: float | None) -> Price | None:
    """What a judge's tokens cost; None where that isn't known.

    Raises:
        InputError: it isn't known, and costs are limited.
    """
    price = settings.price or known_price(name)
    if max_cost is not None and price is None:
        raise InputError(
            f"what {name.identity} costs isn't known",
            where="`max_cost`",
            todo="say it with `price`, or limit calls with `max_calls`",
        )
    return price


def with_judge(
    name: ModelName,
    settings: JudgeSettings,
    store_path: Path,
    work: Callable[[QueueMaker, CostLimit], Awaitable[T]],
    **access: Unpack[JudgeAccess],
) -> T:
    """Do work with a judge that is open, and a store; returns what the work does.

    Args:
        name, settings, store_path, access: as for :func:`ask_judge`.
        work: called with what makes queues of the judge's, and with the budget, where it notes the calls of each.

    Raises:
        BedsideError: as for :func:`ask_judge`.
    """
    client = access.get("client")
    budget = access.get("budget") or CostLimit(settings.max_cost)
    price = judge_price(name, settings, budget.max_cost)
    budget.known = budget.known and price is not None
    endpoints = name.endpoints if client is None else ()
    width = sum(rooms(endpoints, settings.max_concurrency)) if endpoints else settings.max_concurrency

    async def run() -> T:
        model = client() if client is not None else open_client(name, settings.sampling(), settings.sharing())
        asked = model if price is None else PricedClient(model, price, budget, settings.sampling())
        memory = EndpointMemory(store_path)
        memory.recall(model)
        try:
            stored = Store(store_path, text=access.get("text", True), alone=access.get("alone", False))
            with closing(stored) as store:

                def queue(
                    emit: Callable[[Group], None], progress: Callable[[JudgingProgress], None] | None = None
                ) -> JudgementQueue[Group]:
                    return JudgementQueue(
                        asked,
                        name,
                        store,
                        settings,
                        emit,
                        max_concurrency=width,
                        ahead=_AHEAD * width if len(endpoints) > 1 else 0,
                        calls=budget.calls,
                        progress=progress,
                    )

                return await work(queue, budget)
        finally:
            memory.keep(model)
            await model.close()

    return run_to_end(run)


class _StageProgress:
    """Adds what one stage does to what was done before it, and reckons how much there is to do.

    Args:
        before: what earlier stages did.
        size: how many groups the stage has at most; None where that isn't known.
        later: the same of the stages to come.
        budget: what is spent.
        progress: called with the sums.
    """

    def __init__(
        self,
        before: JudgingProgress,
        size: int | None,
        later: Sequence[int | None],
        budget: CostLimit,
        progress: Callable[[JudgingProgress], None] | None,
    ) -> None:
        self.total = self._before = before
        self._size = size
        self._later = later
        self._budget = budget
        self._progress = progress
        #: Groups whose questions are all known, and how many these are.
        self._groups = self._questions = 0
        self._whole = False

    def counted(self, groups: Iterator[AnswerGroup]) -> Iterator[AnswerGroup]:
        """The groups, of which each is complete when the next is taken."""
        for group in groups:
            yield group
            self._groups += 1
            self._questions += group.size
        self._whole = True

    def _expected(self) -> int | None:
        """How many judgements all stages have: by what groups had so far, and one a group in stages to come."""
        if None in self._later or not (self._whole or (self._groups and self._size is not None)):
            return None
        own = self._questions if self._whole else round(self._questions / self._groups * (self._size or 0))
        return self._before.done + own + sum(size or 0 for size in self._later)

    def __call__(self, stage: JudgingProgress) -> None:
        before, expected = self._before, self._expected()
        done = before.done + stage.done
        self.total = JudgingProgress(
            done,
            before.stored + stage.stored,
            before.missing + stage.missing,
            stage.calls,
            total=None if expected is None else max(done, expected),
            cost=self._budget.cost,
        )
        if self._progress is not None:
            self._progress(self.total)
