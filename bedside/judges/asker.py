"""One judgement: a judge is asked until there is one."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, TypeVar

from bedside.judges.counts import Tally
from bedside.judges.llm.contract import known_price
from bedside.judges.llm.model_names import ModelName
from bedside.judges.llm.protocol import (
    DeclinedError,
    FaultError,
    NotAskedError,
    RefusedError,
    Reply,
    Request,
    UnusableError,
)
from bedside.judges.llm.queue import CallRecord, RequestQueue
from bedside.judges.prompt import Prompt, objection
from bedside.judges.questions import AnswerGroup
from bedside.judges.reply import expected_score
from bedside.judges.rubrics.rubric import Rubric
from bedside.judges.settings import JudgeSettings
from bedside.judges.store import Judgement, State, judgement_key, key_parameters, parameters_text

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
