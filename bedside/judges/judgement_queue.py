"""The engine: asks a judge many things at once, waits out faults, and keeps every judgement as soon as it is there.

A *group* is all that one pass of one rubric asks about one transcript. Groups go in as an iterator and come out in the
same order, when all their answers are there; between the two there is a bounded number of them, so that memory doesn't
grow with their number.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, TypeVar

from bedside.judges.prompt import Conversation, NotAskable, Order, Prompt, Question
from bedside.judges.reply import expected_score, parse
from bedside.judges.store import Judgement, State, Store, judgement_key, parameters_text
from bedside.judges.wordless import wordless
from bedside.llm.client import (
    Client,
    FaultError,
    JudgeError,
    JudgeName,
    NotAskableError,
    NotAskedError,
    Price,
    RefusedError,
    Reply,
    Request,
    Sampling,
    UnusableError,
    WrongFormError,
)
from bedside.transcripts.transcript import Transcript

#: Attempts of a call while no server has answered anything yet.
_FIRST_ATTEMPTS = 3
#: So many calls in a row that came to nothing, with no reply to any other meanwhile, end the run.
_GIVE_UP = 3
#: How often judgements that another process is asking are looked for, in seconds.
_LOOK_AGAIN = 0.5
#: How much of a reply that can't be used is shown to the model again.
_SHOWN_AGAIN = 4000
_UNUSABLE = "no usable reply in {}: {}"
Number = TypeVar("Number", int, float)


@dataclass(frozen=True, slots=True)
class Patience:
    """How hard to try.

    Attributes:
        attempts: how often a call is made until it is answered.
        replies: how often a model is asked until its reply can be used.
        first_wait: seconds before the second attempt; doubled each time.
        longest_wait: seconds that no wait exceeds, whatever the server asks for.
    """

    attempts: int = 8
    replies: int = 3
    first_wait: float = 0.5
    longest_wait: float = 60.0


@dataclass(frozen=True, slots=True)
class JudgeAnswer:
    """What was had of one call.

    Attributes:
        unit: ``transcript`` or ``turn:<index>``.
        items: the numbers of the items or turns asked about; None where the rubric asks one thing.
        answer: the reply, which fits the rubric; None where there is none.
        error: why there is none; None where there is one.
        expected: the expected score, where it was asked for.
        expected_note: why there is no expected score.
    """

    unit: str
    items: tuple[int, ...] | None
    answer: dict[str, Any] | None
    error: str | None
    expected: float | None = None
    expected_note: str | None = None


@dataclass(slots=True)
class Tally:
    """Counts of one rubric.

    Attributes:
        judgements: what was to be judged.
        stored: of them, those that were in the store.
        answered, unusable, failed, not_asked, not_askable: what became of them.
        calls: requests sent.
        input_tokens, output_tokens: of the requests of this run, as the provider counts them.
        cost: in US dollars; None where the price or the tokens aren't known.
    """

    judgements: int = 0
    stored: int = 0
    answered: int = 0
    unusable: int = 0
    failed: int = 0
    not_asked: int = 0
    not_askable: int = 0
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = 0.0


@dataclass(frozen=True, slots=True)
class JudgingProgress:
    """How far judging is: judgements done, those of them from the store, those without an answer, requests sent."""

    done: int
    stored: int
    missing: int
    calls: int


class QuestionGroup:
    """All that one pass of one rubric asks about one transcript."""

    def __init__(self, conversation: Conversation, question: Question, number: int, tally: Tally) -> None:
        self.conversation = conversation
        self.question = question
        self.number = number
        self.tally = tally
        self.complete = False
        self._answers: list[JudgeAnswer | None] = []
        self._left = 0

    @property
    def transcript(self) -> Transcript:
        """The transcript."""
        return self.conversation.transcript

    @property
    def answers(self) -> list[JudgeAnswer]:
        """The answers in the order of the units; all of them once the group is done."""
        return [answer for answer in self._answers if answer is not None]

    @property
    def done(self) -> bool:
        """Whether every answer is there."""
        return self.complete and not self._left

    def expect(self) -> int:
        """Make place for an answer; returns its number."""
        self._answers.append(None)
        self._left += 1
        self.tally.judgements += 1
        return len(self._answers) - 1

    def put(self, place: int, answer: JudgeAnswer) -> None:
        """Put an answer in its place."""
        self._answers[place] = answer
        self._left -= 1


@dataclass(slots=True)
class _Ask:
    group: QuestionGroup
    place: int
    prompt: Prompt
    digest: str
    key: str
    #: What an earlier run that failed left of it.
    before: Judgement | None = None


@dataclass(slots=True)
class _Record:
    """What happened in this run while one judgement was made."""

    calls: int = 0
    replies: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    input_tokens: int | None = None
    output_tokens: int | None = None
    form: int = 0
    endpoint: str | None = None

    def count(self, reply: Reply) -> None:
        self.replies.append(reply.text)
        self.endpoint = reply.endpoint
        if reply.input_tokens is not None:
            self.input_tokens = (self.input_tokens or 0) + reply.input_tokens
        if reply.output_tokens is not None:
            self.output_tokens = (self.output_tokens or 0) + reply.output_tokens


class JudgementQueue:
    """Judges groups; used once.

    Args:
        client: the model.
        name: its name.
        store: where judgements are kept.
        sampling: how it is asked to write.
        emit: called with each group that is done, in order.
        patience: how hard to try.
        max_concurrency: requests under way at once.
        ahead: requests that the client is given beyond these, to choose from which to send next.
        max_calls: requests sent at most; None for no limit.
        max_prompt_tokens: longer prompts are not sent.
        order: what a prompt begins with.
        price: for the cost.
        progress: called whenever a judgement is done.
    """

    def __init__(
        self,
        client: Client,
        name: JudgeName,
        store: Store,
        sampling: Sampling,
        emit: Callable[[QuestionGroup], None],
        *,
        patience: Patience,
        max_concurrency: int,
        ahead: int = 0,
        max_calls: int | None = None,
        max_prompt_tokens: int | None = None,
        order: Order = "transcript-first",
        price: Price | None = None,
        progress: Callable[[JudgingProgress], None] | None = None,
    ) -> None:
        self.calls = 0
        self._client = client
        self._name = name
        self._store = store
        self._sampling = sampling
        self._parameters = parameters_text(sampling)
        self._emit = emit
        self._patience = patience
        self._max_concurrency = max_concurrency
        self._workers = max_concurrency + ahead
        self._max_calls = max_calls
        self._max_prompt_tokens = max_prompt_tokens
        self._order = order
        self._price = price
        self._progress = progress
        self._random = random.Random(sampling.seed)
        #: Calls of groups that haven't come out yet, and how many there may be.
        self._open = 0
        self._window = max(256, 16 * max_concurrency)
        self._waiting: deque[QuestionGroup] = deque()
        self._room = asyncio.Event()
        self._queue: asyncio.Queue[_Ask] = asyncio.Queue(max_concurrency)
        #: Asked by another process, or a second time here: to be answered with the first one.
        self._deferred: dict[str, list[_Ask]] = {}
        self._produced = False
        self._end: asyncio.Future[None]
        # What is known of the server.
        self._resume_at = 0.0
        self._server_answered = False
        self._model_replied = False
        self._in_vain = 0
        self._done = self._stored = self._missing = 0

    async def run(self, groups: Iterator[QuestionGroup]) -> None:
        """Judge all groups.

        Raises:
            JudgeError: the judge can't be asked; what was finished is in the store.
            RunError: the store can't be written.
        """
        self._end = asyncio.get_running_loop().create_future()
        jobs = [
            self._produce(groups),
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

    async def _produce(self, groups: Iterator[QuestionGroup]) -> None:
        size = max(1, self._max_concurrency // 2)
        block: list[_Ask] = []
        for group in groups:
            self._waiting.append(group)
            for prompt in group.question.prompts(group.conversation, self._order):
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

    def _expected(self, group: QuestionGroup, prompt: Prompt | NotAskable) -> _Ask | None:
        """The call to make for a prompt; None where it can't be made, which is then the answer."""
        place = group.expect()
        self._open += 1
        if isinstance(prompt, Prompt):
            problem = self._too_long(prompt)
            if problem is None:
                digest = prompt.digest()
                key = judgement_key(self._name.identity, self._parameters, digest, group.number)
                return _Ask(group, place, prompt, digest, key)
            prompt = NotAskable(prompt.unit, prompt.asked, problem)
        group.tally.not_askable += 1
        self._missing += 1
        self._put(group, place, JudgeAnswer(prompt.unit, prompt.asked, None, prompt.reason))
        return None

    def _too_long(self, prompt: Prompt) -> str | None:
        limits = (self._max_prompt_tokens, self._client.max_prompt_tokens)
        limit = min((limit for limit in limits if limit is not None), default=None)
        tokens = prompt.tokens
        if limit is None or tokens <= limit:
            return None
        return f"the prompt has about {tokens} tokens, more than the limit of {limit}"

    async def _admit(self, block: list[_Ask]) -> None:
        """Answer from the store what is there, and queue what is to be asked."""
        asks: dict[str, list[_Ask]] = {}
        for ask in block:
            asks.setdefault(ask.key, []).append(ask)
        claims = await self._store.claim(list(asks))
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

    async def _wait_for_room(self, group: QuestionGroup) -> None:
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
            claims = await self._store.claim(keys)
            for key, judgement in claims.found.items():
                self._answer_stored(self._deferred.pop(key, []), judgement)
            for key, before in claims.mine.items():
                first, *rest = self._deferred.pop(key)
                first.before = before
                if rest:
                    self._deferred[key] = rest
                await self._queue.put(first)

    # -- what comes out ------------------------------------------------------------------------------

    def _answer_stored(self, asks: list[_Ask], judgement: Judgement) -> None:
        for ask in asks:
            ask.group.tally.stored += 1
            self._stored += 1
            self._answer(ask, judgement)

    def _answer(self, ask: _Ask, judgement: Judgement) -> None:
        tally = ask.group.tally
        match judgement.state:
            case "answered":
                tally.answered += 1
            case "unusable":
                tally.unusable += 1
            case "failed":
                tally.failed += 1
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

    def _put(self, group: QuestionGroup, place: int, answer: JudgeAnswer) -> None:
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
                judgement = await self._judge(ask)
            except (NotAskedError, NotAskableError) as error:
                await self._store.release([ask.key])
                for each in (ask, *self._deferred.pop(ask.key, [])):
                    self._without_answer(each, error)
                continue
            if not self._store.text:
                judgement = wordless(judgement, ask.group.question.rubric)
            await self._store.finish(judgement, ask.prompt.pieces, ask.prompt.schema)
            self._answer(ask, judgement)
            self._answer_stored(self._deferred.pop(ask.key, []), judgement)

    def _without_answer(self, ask: _Ask, why: NotAskedError | NotAskableError) -> None:
        tally = ask.group.tally
        if isinstance(why, NotAskableError):
            tally.not_askable += 1
        else:
            tally.not_asked += 1
        self._missing += 1
        self._put(ask.group, ask.place, JudgeAnswer(ask.prompt.unit, ask.prompt.asked, None, str(why)))

    async def _judge(self, ask: _Ask) -> Judgement:
        """Ask until there is a judgement. Replies that an earlier run had count, and aren't asked for again.

        Raises:
            NotAskedError, NotAskableError: nothing was sent.
        """
        started = _now()
        record = _Record()
        rubric, prompt, before = ask.group.question.rubric, ask.prompt, ask.before
        had = before.replies if before else ()
        spent = (before.input_tokens, before.output_tokens, before.cost) if before else (None, None, None)
        request = Request(
            prompt.text,
            prompt.schema.text,
            seed=self._sampling.pass_seed(ask.group.number),
            asked=prompt.asked,
            choices=prompt.choices,
            key=ask.key,
            opening=prompt.pieces[0].digest,
        )
        if before is not None and had and had[-1] and (problem := _problem_of(before)) is not None:
            request = _corrected(request, had[-1], problem)
        state: State = "failed"
        answer = error = expected = note = None
        try:
            for number in range(len(had) + 1, max(len(had) + 1, self._patience.replies) + 1):
                try:
                    reply = await self._reply(replace(request, number=number), record, ask.group.tally)
                    problem = None
                except UnusableError as unusable:
                    reply, problem = unusable.reply, unusable.problem
                record.count(reply)
                at = 0
                if problem is None:
                    parsed = parse(reply.text, rubric, counts=prompt.counts, asked=prompt.asked)
                    answer, problem, at = parsed.answer, parsed.problem, parsed.at
                if problem is None:
                    state, error = "answered", None
                    if self._sampling.probabilities and rubric.kind == "level" and prompt.asked is None:
                        expected, note = _expected(reply, rubric, at)
                    break
                if reply.cut:
                    problem = f"{problem}; it was cut off at {self._sampling.max_tokens} tokens, so be brief"
                state, error = "unusable", _UNUSABLE.format(number, problem)
                if reply.text:
                    request = _corrected(request, reply.text, problem)
        except FaultError as fault:
            state, error = "failed", f"{fault.what}, after {self._patience.attempts} attempts"
        except RefusedError as refused:
            state, error = "failed", str(refused)
        except NotAskedError:
            if not record.replies:
                raise
            state = "failed"  # what was paid for is kept, and the next run goes on from there
        return Judgement(
            key=ask.key,
            model=self._name.identity,
            parameters=self._parameters,
            prompt=ask.digest,
            number=ask.group.number,
            transcript=ask.group.transcript.id,
            unit=prompt.unit,
            items=prompt.asked,
            rubric=rubric.name,
            version=ask.group.question.version,
            state=state,
            answer=answer,
            error=error,
            expected=expected,
            expected_note=note,
            replies=(*had, *record.replies),
            faults=(*(before.faults if before else ()), *record.faults),
            calls=record.calls + (before.calls if before else 0),
            input_tokens=_sum(record.input_tokens, spent[0]),
            output_tokens=_sum(record.output_tokens, spent[1]),
            cost=_sum(self._count(record, ask.group.tally), spent[2]),
            started=started,
            finished=_now(),
            endpoint=record.endpoint or (before.endpoint if before else None),
        )

    def _count(self, record: _Record, tally: Tally) -> float | None:
        """Add a judgement's tokens to the rubric's; returns its cost."""
        tally.input_tokens += record.input_tokens or 0
        tally.output_tokens += record.output_tokens or 0
        cost = None
        if self._price is not None and record.input_tokens is not None and record.output_tokens is not None:
            cost = self._price.of(record.input_tokens, record.output_tokens)
        if cost is None and record.replies:
            tally.cost = None
        elif cost is not None and tally.cost is not None:
            tally.cost += cost
        return cost

    async def _reply(self, request: Request, record: _Record, tally: Tally) -> Reply:
        """A reply to one request, however many attempts it takes.

        Raises:
            FaultError: the attempts are used up.
            RefusedError, NotAskableError, UnusableError, JudgeError: as the client does.
            NotAskedError: the limit of calls is reached, or the client sends nothing.
        """
        attempt = 0
        while True:
            await self._wait_for_server()
            if self._max_calls is not None and self.calls >= self._max_calls:
                raise NotAskedError(f"not asked: the limit of {self._max_calls} calls was reached")
            self._count_call(1, record, tally)
            try:
                reply = await self._client.complete(replace(request, form=record.form))
            except (NotAskedError, NotAskableError):
                self._count_call(-1, record, tally)
                raise
            except WrongFormError as wrong:
                self._server_answered = True
                record.form = wrong.form
                record.faults.append(f"form {wrong.form - 1} of structured output not taken")
            except FaultError as fault:
                record.faults.append(fault.what)
                if fault.elsewhere:
                    continue
                attempt += 1
                self._server_answered = self._server_answered or not fault.unreachable
                if not self._server_answered and attempt >= _FIRST_ATTEMPTS:
                    raise JudgeError(
                        f"no server answers: {fault.what}",
                        where=self._name.url or self._name.identity,
                        todo="check that it runs and its address",
                    ) from fault
                if attempt >= self._patience.attempts:
                    self._came_to_nothing(fault.what)
                    raise
                await self._wait_after(fault, attempt)
            except RefusedError as refused:
                record.faults.append(str(refused))
                if not self._model_replied:
                    self._came_to_nothing(str(refused))
                raise
            except UnusableError:
                self._has_replied()
                raise
            else:
                self._has_replied()
                return reply

    def _count_call(self, one: int, record: _Record, tally: Tally) -> None:
        self.calls += one
        record.calls += one
        tally.calls += one

    def _has_replied(self) -> None:
        self._server_answered = self._model_replied = True
        self._in_vain = 0

    def _came_to_nothing(self, what: str) -> None:
        """Count calls in a row that were given up.

        Raises:
            JudgeError: there were too many.
        """
        self._in_vain += 1
        if self._in_vain >= _GIVE_UP:
            raise JudgeError(
                f"{self._in_vain} judgements in a row were given up, the last because {what}",
                where=self._name.url or self._name.identity,
                todo="what is finished is kept; run the same command again to go on",
            )

    async def _wait_for_server(self) -> None:
        loop = asyncio.get_running_loop()
        while (left := self._resume_at - loop.time()) > 0:
            await asyncio.sleep(left + self._jitter(self._patience.first_wait))

    async def _wait_after(self, fault: FaultError, attempt: int) -> None:
        doubled = self._patience.first_wait * 2 ** (attempt - 1)
        wait = min(max(doubled, fault.wait or 0.0), self._patience.longest_wait)
        if fault.busy:
            asked = min(fault.wait or self._patience.first_wait, self._patience.longest_wait)
            self._resume_at = max(self._resume_at, asyncio.get_running_loop().time() + asked)
        await asyncio.sleep(wait + self._jitter(wait / 2))

    def _jitter(self, most: float) -> float:
        return self._random.random() * most


def _corrected(request: Request, text: str, problem: str) -> Request:
    return replace(request, corrections=((text[:_SHOWN_AGAIN], problem),))


def _problem_of(judgement: Judgement) -> str | None:
    """What was wrong with the last reply to a judgement that failed; None where it failed for another reason."""
    beginning, _, problem = (judgement.error or "").partition(": ")
    return problem if f"{beginning}: " == _UNUSABLE.format(len(judgement.replies), "") else None


def _sum(one: Number | None, other: Number | None) -> Number | None:
    """The sum of what is known."""
    return other if one is None else one if other is None else one + other


def _expected(reply: Reply, rubric: Any, at: int) -> tuple[float | None, str | None]:
    if not reply.tokens:
        return None, "the provider gives no probabilities of tokens"
    with suppress(IndexError, ValueError):
        return expected_score(reply.text, reply.tokens, rubric, at)
    return None, "the score can't be found among the tokens"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
