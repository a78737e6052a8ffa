"""Requests to one model: each waits after faults and while the server is at its limit, and a limit of calls is kept."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, field, replace
from typing import TypeVar

from bedside.judges.llm.protocol import (
    Client,
    FaultError,
    LanguageModelError,
    NotAskableError,
    NotAskedError,
    NotTakenError,
    RefusedError,
    Reply,
    Request,
    Served,
    UnusableError,
    WrongFormError,
)

Number = TypeVar("Number", int, float)
#: Attempts of a request while nothing has answered yet that speaks the protocol.
_FIRST_ATTEMPTS = 3
#: So many requests in a row that came to nothing, with no reply to any other meanwhile, end the run.
_GIVE_UP = 3


@dataclass(frozen=True, slots=True)
class Patience:
    """How hard to try.

    Attributes:
        attempts: how often a request is sent until it is answered.
        replies: how often a model is asked until its reply can be used.
        first_wait: seconds before the second attempt; doubled each time.
        longest_wait: seconds that no wait exceeds, whatever the server asks for.
    """

    attempts: int = 8
    replies: int = 3
    first_wait: float = 0.5
    longest_wait: float = 60.0


@dataclass(slots=True)
class CallRecord:
    """What happened while one thing was asked, in however many calls.

    Attributes:
        calls: how often a request was sent.
        replies: the words of every reply.
        faults: what went wrong on the way.
        input_tokens, output_tokens, cached_tokens, reasoning_tokens, written_tokens: of the requests and replies, see
            :class:`bedside.judges.llm.protocol.Reply`; None where no provider said.
        form: the form of structured output that was arrived at.
        endpoint: the address of the server that gave the last reply.
        unsent: parameters that were not sent with the last reply's request.
        served: the version that gave the last reply.
        counted: whether the tokens of all replies are known.
    """

    calls: int = 0
    replies: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None
    form: int = 0
    endpoint: str | None = None
    unsent: tuple[str, ...] = ()
    served: Served | None = None
    written_tokens: int | None = None
    counted: bool = True

    def count(self, reply: Reply) -> None:
        """Note a reply."""
        self.replies.append(reply.text)
        self.endpoint = reply.endpoint
        self.unsent = reply.unsent
        self.served = reply.served
        self.counted = self.counted and reply.is_counted
        for kind in ("input", "output", "cached", "reasoning", "written"):
            name = f"{kind}_tokens"
            setattr(self, name, known_sum(getattr(self, name), getattr(reply, name)))


def known_sum(before: Number | None, more: Number | None) -> Number | None:
    """The sum of what is known."""
    return before if more is None else more if before is None else before + more


class RequestQueue:
    """Puts requests to one model, as many at once as callers wait for.

    Args:
        client: the model.
        address: where it is, for messages.
        patience: how hard to try.
        max_calls: requests sent at most; None for no limit.
        seed: of random waits.
        calls: requests that count as sent already.

    Attributes:
        calls: how many requests were sent.
    """

    def __init__(
        self,
        client: Client,
        address: str,
        patience: Patience,
        *,
        max_calls: int | None = None,
        seed: int = 0,
        calls: int = 0,
    ) -> None:
        self.calls: int = calls
        self._client = client
        self._address = address
        self._patience = patience
        self._max_calls = max_calls
        self._random = random.Random(seed)
        # What is known of the server.
        self._resume_at = 0.0
        self._server_answered = False
        self._model_replied = False
        self._in_vain = 0

    async def reply(self, request: Request, record: CallRecord) -> Reply:
        """A reply to one request, however many attempts it takes.

        Args:
            request: what is asked.
            record: what calls and faults are noted in; not the reply, which may be unusable to the caller.

        Raises:
            FaultError: the attempts are used up.
            RefusedError, NotAskableError, UnusableError, LanguageModelError: as the client does.
            NotAskedError: the limit of calls is reached, or the client sends nothing.
        """
        attempt = 0
        while True:
            while (seconds := self._resume_at - asyncio.get_running_loop().time()) > 0:
                await asyncio.sleep(seconds + self._jitter(self._patience.first_wait))
            if self._max_calls is not None and self.calls >= self._max_calls:
                raise NotAskedError(f"not asked: the limit of {self._max_calls} calls was reached")
            self._count_call(1, record)
            try:
                if request.form != record.form:
                    request = replace(request, form=record.form)
                reply = await self._client.complete(request)
            except (NotAskedError, NotAskableError):
                self._count_call(-1, record)
                raise
            except WrongFormError as wrong:
                self._server_answered = True
                record.form = wrong.form
                record.faults.append(f"form {wrong.form - 1} of structured output not taken")
            except NotTakenError as not_taken:
                # It cost nothing, and would otherwise use up a small limit of calls before anything is learnt.
                self._server_answered = True
                self._count_call(-1, record)
                record.faults.append(f"{not_taken.parameter} not taken")
            except FaultError as fault:
                record.faults.append(fault.what)
                if fault.elsewhere:
                    continue
                attempt += 1
                self._note_unanswered(fault, attempt)
                if attempt >= self._patience.attempts:
                    self._came_to_nothing(fault.what, again=True)
                    raise
                await self._wait_after(fault, attempt)
            except RefusedError as refused:
                record.faults.append(str(refused))
                if not self._model_replied:
                    self._came_to_nothing(str(refused), again=False)
                raise
            except UnusableError:
                self._has_replied()
                raise
            else:
                self._has_replied()
                return reply

    def _count_call(self, number: int, record: CallRecord) -> None:
        self.calls += number
        record.calls += number

    def _has_replied(self) -> None:
        self._server_answered = self._model_replied = True
        self._in_vain = 0

    def _note_unanswered(self, fault: FaultError, attempt: int) -> None:
        """Note whether a language model's server answered at all.

        Raises:
            LanguageModelError: none ever did, in as many attempts as that takes.
        """
        self._server_answered = self._server_answered or not (fault.unreachable or fault.other_protocol)
        if not self._server_answered and attempt >= _FIRST_ATTEMPTS:
            raise LanguageModelError(
                f"no {'language model' if fault.other_protocol else 'server'} answers: {fault.what}",
                where=self._address,
                todo="check its address, and the provider that is named"
                if fault.other_protocol
                else "check that it runs and its address",
            ) from fault

    def _came_to_nothing(self, problem: str, *, again: bool) -> None:
        """Count requests in a row that were given up.

        Args:
            problem: why the last one was.
            again: whether it may be answered another time.

        Raises:
            LanguageModelError: there were too many.
        """
        self._in_vain += 1
        if self._in_vain >= _GIVE_UP:
            raise LanguageModelError(
                f"{self._in_vain} requests in a row were given up, the last because {problem}",
                where=self._address,
                todo="what is finished is kept; run the same command again to go on"
                if again
                else "the same requests would be refused again: see what the server says, and name another model or "
                "other settings",
            )

    async def _wait_after(self, fault: FaultError, attempt: int) -> None:
        doubled = self._patience.first_wait * 2 ** (attempt - 1)
        wait = min(max(doubled, fault.wait or 0.0), self._patience.longest_wait)
        if fault.busy:
            pause = min(fault.wait or self._patience.first_wait, self._patience.longest_wait)
            self._resume_at = max(self._resume_at, asyncio.get_running_loop().time() + pause)
        await asyncio.sleep(wait + self._jitter(wait / 2))

    def _jitter(self, most: float) -> float:
        return self._random.random() * most
