"""Actors that requests are sent to: waiting, asking again and counting are :mod:`bedside.judges.llm.queue`'s."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from bedside.judges.llm.prices import Price
from bedside.judges.llm.protocol import (
    Client,
    DeclinedError,
    FaultError,
    NotAskableError,
    RefusedError,
    Request,
    UnusableError,
)
from bedside.judges.llm.queue import CallRecord, Patience, RequestQueue
from bedside.simulation.actor_contract import (
    ActorSettings,
    CallPlace,
    LimitedClient,
    UnansweredError,
    reason_and_detail,
    wave_key,
)
from bedside.simulation.simulators.calls import ActorReply, Call

#: Largest reply that an agent may give, in bytes.
MOST_BYTES = 10**6


class AgentFailedError(UnusableError):
    """The agent under test took what it was asked, and failed at it: that is a result, and it is not asked the same
    again.

    Args:
        what: how, in one line.
    """

    def __init__(self, what: str) -> None:
        super().__init__(what, final=True)


@dataclass(frozen=True, slots=True)
class AgentRequest(Request):
    """A request to an agent that is no language model.

    Attributes:
        payload: what it is told, see :func:`agent_payload`.
        data: whether an object that fits the schema is wanted, rather than a message.
    """

    payload: Mapping[str, Any] = field(default_factory=dict)
    data: bool = False


class QueuedActor:
    """Replies by requests; an :class:`bedside.simulation.actor_contract.Actor`.

    Args:
        client: what sends them.
        address: where to, for messages.
        settings: how the actor is opened.
        patience: how hard to try; as the settings say unless given.
        room: most requests under way at once, likewise.
        stateful: whether it remembers.
        parameters: what tells two of its replies apart.
        price: of its tokens.
    """

    conversations: int | None = None

    def __init__(
        self,
        client: Client,
        address: str,
        settings: ActorSettings,
        *,
        patience: Patience | None = None,
        room: int | None = None,
        stateful: bool = False,
        parameters: dict[str, Any] | None = None,
        price: Price | None = None,
    ) -> None:
        self.room: int = room or settings.max_concurrency
        self.stateful = stateful
        self.price = price
        self.parameters: dict[str, Any] = parameters or {}
        #: Whether it is under test: then what it can't answer, it fails at.
        self._tested = settings.role == "clinician"
        self._client = LimitedClient(client, settings.spending, price, settings.sampling)
        self._requests = RequestQueue(self._client, address, patience or settings.patience)

    def request(self, call: Call, place: CallPlace) -> Request:
        """What is sent for a call."""
        raise NotImplementedError

    async def answer(self, call: Call, place: CallPlace, record: CallRecord) -> ActorReply:
        """Reply to a call; see :class:`bedside.simulation.actor_contract.Actor`."""
        try:
            reply = await self._requests.reply(self.request(call, place), record)
        except AgentFailedError as failure:
            return _failed(failure, record)
        except UnusableError as unusable:
            record.count(unusable.reply)
            declined = unusable.problem if isinstance(unusable, DeclinedError) else ""
            return ActorReply(unusable.reply.text, unusable.reply.cut, declined)
        except FaultError as fault:
            raise _unanswered(fault.what) from fault
        except NotAskableError as unaskable:
            if self._tested:
                return _failed(unaskable, record)
            raise _unanswered(str(unaskable)) from unaskable
        except RefusedError as refused:
            raise _unanswered(str(refused)) from refused
        record.count(reply)
        return ActorReply(reply.text, reply.cut)

    async def close(self) -> None:
        """Close the client."""
        await self._client.close()


class AgentActor(QueuedActor):
    """Replies by requests to an agent that is no language model."""

    def request(self, call: Call, place: CallPlace) -> Request:
        """What is sent for a call."""
        return AgentRequest(
            call.messages(), payload=agent_payload(call, place), data=call.kind == "data", **identity(call, place)
        )


def identity(call: Call, place: CallPlace) -> dict[str, Any]:
    """What tells a request apart, and where it belongs."""
    return {
        "key": wave_key(place.conversation, place.session, call.purpose, call.ordinal),
        "number": call.attempt,
        "opening": place.conversation,
    }


def agent_payload(call: Call, place: CallPlace) -> dict[str, Any]:
    """What an agent is told: plain values that JSON can hold.

    ``session`` names the conversation; ``role`` is whom it plays; ``turn`` is the index that its message would have;
    ``kind`` is ``message`` or ``data``; ``purpose`` is what the call is for; ``attempt`` counts from 1; ``brief`` is
    what it knows and how it is to behave; ``messages`` is what was said, its own as ``assistant``, the other's as
    ``user``; ``instruction`` is what is wanted now; ``schema`` is the JSON Schema of a ``data`` reply, or of a
    message's other fields; ``material`` is what the texts were made from.
    """
    return {
        "session": place.name,
        "role": call.actor,
        "turn": len(call.history),
        "kind": call.kind,
        "purpose": call.purpose,
        "attempt": call.attempt,
        "language": place.language,
        "brief": call.brief,
        "messages": [
            {"role": "assistant" if line.role == call.actor else "user", "content": line.text} for line in call.history
        ],
        "instruction": "\n\n".join(part for part in (call.instruction, call.objection) if part),
        "schema": call.schema,
        "material": dict(call.material),
    }


def agent_text(value: Any, *, data: bool, tested: bool) -> str:
    """What an agent replied, as the text of a reply.

    Plain words in place of an object that is wanted are an object with them as ``message``: whoever returns them so or
    so can be told from one whose object can't be read.

    Args:
        value: a text; or an object, with its words as ``message`` where a message is wanted.
        data: whether an object that fits a schema is wanted.
        tested: whether it is the agent under test, whose object without words is no reply; of the others' the
            controller says what is wrong with it, and asks again.

    Raises:
        ValueError: it is no reply; the message says what it is.
    """
    if value is None:
        raise ValueError("nothing (None)")
    if isinstance(value, str):
        text = _json({"message": value}) if data and _is_prose(value) else value
    elif isinstance(value, Mapping) and (data or not tested or isinstance(value.get("message"), str)):
        try:
            words = value.get("message") if set(value) == {"message"} and not data else None
            text = words if isinstance(words, str) else _json(value)
        except (TypeError, ValueError, RecursionError) as error:
            raise ValueError(f"an object that JSON can't hold ({error})") from None
    elif isinstance(value, Mapping):
        raise ValueError("an object without a text as message")
    else:
        raise ValueError(f"neither a text nor an object ({type(value).__name__})")
    if len(text.encode("utf-8", "replace")) > MOST_BYTES:
        raise ValueError(f"more than {MOST_BYTES / 1e6:g} MB")
    return text.encode("utf-8", "replace").decode()


def _is_prose(text: str) -> bool:
    """Whether a text is words, and neither JSON nor the beginning of it, in a fence or after thoughts."""
    if text.lstrip()[:1] in ("", "{", "[", "`", "<"):
        return False
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        return True
    return False


def _json(value: Mapping[str, Any]) -> str:
    return orjson.dumps(dict(value)).decode()


def _failed(failure: Exception, record: CallRecord) -> ActorReply:
    """The reply of an actor under test that had none."""
    what = str(failure)
    if not record.faults or record.faults[-1] != what:
        record.faults.append(what)
    return ActorReply("", failed=what)


def _unanswered(what: str) -> UnansweredError:
    return UnansweredError(*reason_and_detail(what))
