"""Judgements in the making: many are asked for at once, and each is kept as soon as it is there.

A *group* is all that one pass of one rubric asks about one transcript. Groups go in as an iterator and come out in the
same order, when all their answers are there; between the two there is a bounded number of them, so that memory doesn't
grow with their number.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from typing import Any, Generic, TypeVar

from bedside.core.trace_spans import span
from bedside.judges.asker import Ask, JudgementAsker
from bedside.judges.counts import JudgingProgress
from bedside.judges.llm.model_names import ModelName
from bedside.judges.llm.protocol import Client, NotAskableError, NotAskedError
from bedside.judges.llm.queue import RequestQueue
from bedside.judges.prompt import NotAskable, Prompt
from bedside.judges.questions import AnswerGroup, JudgeAnswer
from bedside.judges.settings import JudgeSettings
from bedside.judges.store import Judgement, Store

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
        jobs = [
            produce,
            self._look_again(),
            *(self._work() for _ in range(self._workers)),
        ]
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
