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
from typing import Any, Generic, Protocol, TypeVar

from bedside.core.errors import InputError
from bedside.core.stopping import run_to_end
from bedside.core.trace_spans import span
from bedside.judges.call_plan import JudgeBudget, PricedClient
from bedside.judges.counts import JudgingProgress, Tally
from bedside.judges.llm.contract import known_price
from bedside.judges.llm.endpoints import rooms
from bedside.judges.llm.model_names import ModelName
from bedside.judges.llm.prices import Price
from bedside.judges.llm.protocol import (
    Client,
    DeclinedError,
    FaultError,
    NotAskableError,
    NotAskedError,
    RefusedError,
    Reply,
    Request,
    UnusableError,
)
from bedside.judges.llm.queue import CallRecord, RequestQueue
from bedside.judges.llm.sharing import open_client
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
Number = TypeVar("Number", int, float)


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
    """

    group: AnswerGroup
    place: int
    prompt: Prompt
    digest: str
    key: str
    before: Judgement | None = None


@dataclass(slots=True)
class _Outcome:
    """What asking came to; the fields are a judgement's."""

    state: State
    answer: dict[str, Any] | None = None
    error: str | None = None
    expected: float | None = None
    expected_note: str | None = None
    cut_at: int | None = None


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
        self._sampling = settings.sampling()
        self._parameters = parameters_text(self._sampling)
        self._key_parameters = key_parameters(self._sampling)
        self._patience = settings.patience
        self._price = settings.price or known_price(name)

    def key(self, prompt: str, number: int) -> str:
        """The key of the judgement that one pass gives on a prompt with this digest."""
        return judgement_key(self._name.identity, self._key_parameters, prompt, number)

    async def judge(self, ask: Ask) -> Judgement:
        """Ask until there is a judgement. Replies that an earlier run had count, and aren't asked for again.

        Raises:
            NotAskedError, NotAskableError: nothing was sent.
        """
        started = _now()
        record = CallRecord()
        try:
            outcome = await self._outcome(ask, record)
        finally:
            ask.group.tally.calls += record.calls
        prompt, before = ask.prompt, ask.before
        return Judgement(
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
            input_tokens=_sum(record.input_tokens, before.input_tokens if before else None),
            output_tokens=_sum(record.output_tokens, before.output_tokens if before else None),
            cost=_sum(self._count(record, ask.group.tally), before.cost if before else None),
            started=started,
            finished=_now(),
            endpoint=record.endpoint or (before.endpoint if before else None),
            cached_tokens=_sum(record.cached_tokens, before.cached_tokens if before else None),
            reasoning_tokens=_sum(record.reasoning_tokens, before.reasoning_tokens if before else None),
            unsent=record.unsent if record.replies or not before else before.unsent,
            cut_at=outcome.cut_at,
        )

    async def _outcome(self, ask: Ask, record: CallRecord) -> _Outcome:
        """What comes of asking, however often that takes.

        Raises:
            NotAskedError, NotAskableError: nothing was sent.
        """
        request = self._request(ask)
        first = len(ask.before.replies) + 1 if ask.before else 1
        outcome = _Outcome("failed")
        try:
            for number in range(first, max(first, self._patience.replies) + 1):
                problem, final = None, False
                try:
                    reply = await self._requests.reply(replace(request, number=number), record)
                except DeclinedError as declined:
                    record.count(declined.reply)
                    return _declined(declined)
                except UnusableError as unusable:
                    reply, problem, final = unusable.reply, unusable.problem, unusable.final
                record.count(reply)
                if problem is None:
                    outcome, problem = self._read(reply, ask)
                if problem is None:
                    break
                if reply.cut and not final:
                    problem = f"{problem}; it was cut off at {self._sampling.max_tokens} tokens, so be brief"
                cut_at = self._sampling.max_tokens if reply.cut else None
                outcome = _Outcome("unusable", error=_UNUSABLE.format(number, problem), cut_at=cut_at)
                if final:
                    break
                if reply.text:
                    request = _objecting(request, reply.text, problem, ask)
        except FaultError as fault:
            outcome = _Outcome("failed", error=f"{fault.what}, after {self._patience.attempts} attempts")
        except RefusedError as refused:
            outcome = _Outcome("failed", error=str(refused))
        except NotAskedError:
            if not record.replies:
                raise
            # What was paid for is kept, and the next run goes on from there.
            outcome = _Outcome("failed", error=outcome.error)
        return outcome

    def _request(self, ask: Ask) -> Request:
        prompt, before = ask.prompt, ask.before
        request = Request.of_text(
            prompt.text,
            prompt.form,
            schema_name="judgement",
            seed=self._sampling.pass_seed(ask.group.number),
            items=prompt.asked,
            choices=prompt.choices,
            key=ask.key,
            opening=prompt.pieces[0].digest,
        )
        if before is None or not before.replies or not before.replies[-1]:
            return request
        problem = _problem_of(before)
        return request if problem is None else _objecting(request, before.replies[-1], problem, ask)

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
        if self._price is not None and record.input_tokens is not None and record.output_tokens is not None:
            cost = self._price.of(record.input_tokens, record.output_tokens, record.cached_tokens or 0)
        if cost is None and record.replies:
            tally.cost = None
        elif cost is not None and tally.cost is not None:
            tally.cost += cost
        return cost


def _objecting(request: Request, reply: str, problem: str, ask: Ask) -> Request:
    return request.objecting(reply[:_SHOWN_AGAIN], objection(problem, ask.group.words))


def _declined(declined: DeclinedError) -> _Outcome:
    """What comes of a request that the judge or a filter won't answer: a result, which isn't asked for again."""
    if declined.by == "model":
        return _Outcome("refused", error=f"the judge refused: {declined.words}")
    return _Outcome("filtered", error=declined.problem)


def _problem_of(judgement: Judgement) -> str | None:
    """What was wrong with the last reply to a judgement that failed; None where it failed for another reason."""
    beginning, _, problem = (judgement.error or "").partition(": ")
    return problem if f"{beginning}: " == _UNUSABLE.format(len(judgement.replies), "") else None


def _sum(one: Number | None, other: Number | None) -> Number | None:
    """The sum of what is known."""
    return other if one is None else one if other is None else one + other


def _expected(reply: Reply, rubric: Rubric, at: int) -> tuple[float | None, str | None]:
    if not reply.tokens:
        return None, "the provider gives no probabilities of tokens"
    with suppress(IndexError, ValueError):
        return expected_score(reply.text, reply.tokens, rubric, at)
    return None, "the score can't be found among the tokens"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


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
        self._queue: asyncio.Queue[Ask] = asyncio.Queue(self._max_concurrency)
        #: Asked by another process, or a second time here: to be answered with the first one.
        self._deferred: dict[str, list[Ask]] = {}
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
        jobs = [produce, self._look_again(), *(self._work() for _ in range(self._workers))]
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
                block.append(ask)
                if len(block) >= size:
                    await self._admit(block)
                    block = []
                    await self._wait_for_room(group)
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
                await self._queue.put(same[0])
            if rest:
                self._deferred.setdefault(key, []).extend(rest)

    async def _wait_for_room(self, group: AnswerGroup) -> None:
        # The group that must come out first is always let in whole, or nothing would ever come out.
        while self._open >= self._window and self._waiting[0] is not group:
            self._room.clear()
            await self._room.wait()

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
                await self._queue.put(first)

    # -- what comes out ------------------------------------------------------------------------------

    def _answer_stored(self, asks: list[Ask], judgement: Judgement) -> None:
        for ask in asks:
            ask.group.tally.stored += 1
            self._stored += 1
            self._answer(ask, judgement)

    def _answer(self, ask: Ask, judgement: Judgement) -> None:
        tally = ask.group.tally
        match judgement.state:
            case "answered":
                tally.answered += 1
            case "unusable":
                tally.unusable += 1
                tally.cut += judgement.cut_at is not None
            case "refused":
                tally.refused += 1
            case "filtered":
                tally.filtered += 1
            case "failed":
                tally.failed += 1
        if judgement.replies:
            tally.replied += 1
            for parameter in judgement.unsent:
                tally.unsent[parameter] = tally.unsent.get(parameter, 0) + 1
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
                judgement = await self._judged(ask)
            except (NotAskedError, NotAskableError) as error:
                await self._store.release([ask.key])
                for waiting in (ask, *self._deferred.pop(ask.key, [])):
                    self._without_answer(waiting, error)
                continue
            if not self._store.text:
                judgement = ask.group.wordless(judgement)
            await self._store.finish(judgement, ask.prompt.pieces, ask.prompt.schema)
            self._answer(ask, judgement)
            self._answer_stored(self._deferred.pop(ask.key, []), judgement)

    async def _judged(self, ask: Ask) -> Judgement:
        """A judgement, with a span of what is countable in it."""
        with span(
            f"chat {self._name.model}",
            gen_ai__operation__name="chat",
            gen_ai__provider__name=self._name.provider or self._name.client,
            gen_ai__request__model=self._name.model,
            gen_ai__request__temperature=self._temperature,
            gen_ai__request__max_tokens=self._max_tokens,
        ) as trace:
            judgement = await self._asker.judge(ask)
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
            return judgement

    def _without_answer(self, ask: Ask, why: NotAskedError | NotAskableError) -> None:
        tally = ask.group.tally
        if isinstance(why, NotAskableError):
            tally.not_askable += 1
        else:
            tally.not_asked += 1
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


def ask_judge(
    name: ModelName,
    settings: JudgeSettings,
    store_path: Path,
    stages: Sequence[JudgingStage],
    *,
    text: bool = True,
    progress: Callable[[JudgingProgress], None] | None = None,
    client: Callable[[], Client] | None = None,
    alone: bool = False,
    budget: JudgeBudget | None = None,
) -> int:
    """Put questions to a judge, one stage after the other; returns how many requests were sent.

    Args:
        name: the judge.
        settings: passes, limits and the like; the limit of calls is that of all stages together.
        store_path: the file that keeps judgements; made if it isn't there.
        stages: what is asked.
        text: whether the store keeps prompts and a judge's words; without them, numbers and labels are kept.
        progress: called whenever a judgement is done.
        client: opens what is asked in place of the model that ``name`` names.
        alone: as for :class:`bedside.judges.store.Store`.
        budget: what judges may cost, where that is more than this judge; as the settings say unless given.

    Raises:
        MissingExtraError: the libraries for the judge aren't installed.
        LanguageModelError: it can't be asked. What was finished is kept.
        RunError: the store can't be used.
        InputError: costs are limited, and what it costs isn't known.
    """

    async def put(queue: QueueMaker, budget: JudgeBudget) -> int:
        begun, before = budget.calls, JudgingProgress(0, 0, 0, 0)
        for number, stage in enumerate(stages):
            later = [following.size for following in stages[number + 1 :]]
            watch = _StageProgress(before, stage.size, later, budget, progress)
            asked = queue(stage.emit, watch)
            await asked.run(watch.counted(stage.groups()))
            budget.calls, before = asked.calls, watch.total
        return budget.calls - begun

    return with_judge(name, settings, store_path, put, text=text, client=client, alone=alone, budget=budget)


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
    work: Callable[[QueueMaker, JudgeBudget], Awaitable[T]],
    *,
    text: bool = True,
    client: Callable[[], Client] | None = None,
    alone: bool = False,
    budget: JudgeBudget | None = None,
) -> T:
    """Do work with a judge that is open, and a store; returns what the work does.

    Args:
        name, settings, store_path, text, client, alone, budget: as for :func:`ask_judge`.
        work: called with what makes queues of the judge's, and with the budget, where it notes the calls of each.

    Raises:
        BedsideError: as for :func:`ask_judge`.
    """
    budget = JudgeBudget(settings.max_cost) if budget is None else budget
    price = judge_price(name, settings, budget.max_cost)
    budget.known = budget.known and price is not None
    endpoints = name.endpoints if client is None else ()
    width = sum(rooms(endpoints, settings.max_concurrency)) if endpoints else settings.max_concurrency

    async def run() -> T:
        model = client() if client is not None else open_client(name, settings.sampling(), settings.sharing())
        asked = model if price is None else PricedClient(model, price, budget)
        try:
            with closing(Store(store_path, text=text, alone=alone)) as store:

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
        budget: JudgeBudget,
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
