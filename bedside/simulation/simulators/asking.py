"""Asking until a reply can be used: the one table of retries of all simulators.

The patient and the evaluator are asked three times in all, and told what was wrong the second and third time. What
can't be used after that ends the conversation as theirs, unless the fault is one that is kept and flagged. The
clinician under test is asked once more for a message that is empty, cut off, refused or none at all, and else taken as
it is: its faults are results, and whoever says nothing then has failed the conversation (:func:`silent_stop`). A
clinician's decision that can't be read takes a neutral course that the caller states.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from bedside.simulation.simulators.calls import ActorReply, Call, Exchange
from bedside.simulation.simulators.contract import UnusableConversationError

#: Attempts of a patient's or evaluator's call, and of a clinician's message.
ATTEMPTS = 3
CLINICIAN_ATTEMPTS = 2
#: Why a conversation ends in which the clinician says the same again and again.
CLINICIAN_REPEATS = "clinician repeats"
#: What stands before an answer of models that think aloud.
_THOUGHT = re.compile(r"\A\s*<(think|thinking)>(.*?)</\1>", re.DOTALL | re.IGNORECASE)
_THOUGHT_END = re.compile(r"\A(.*?)</(?:think|thinking)>", re.DOTALL | re.IGNORECASE)
_QUOTES = (('"', '"'), ("“", "”"), ("「", "」"), ("『", "』"))


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with a reply.

    Attributes:
        reason: the kind, in a few words: what is counted.
        objection: what the actor is told when it is asked again, a whole sentence; it repeats nothing that is hidden.
        kept: whether the reply is taken and flagged where it is still wrong at the last attempt.
        form: whether it is one of form or manner, which a person's own typed words never have.
        beneath: what else is wrong, which counts where that doesn't.
        fixed: what it is of an actor whose lines are fixed, which can't say them otherwise; itself unless given.
    """

    reason: str
    objection: str
    kept: bool = False
    form: bool = False
    beneath: Fault | None = None
    fixed: Fault | None = None

    def of(self, reply: ActorReply) -> Fault | None:
        """The fault of a reply: of what a person typed, only what isn't its form."""
        if self.form and reply.typed:
            return self.beneath
        return self.fixed if reply.fixed and self.fixed is not None else self


@dataclass(frozen=True, slots=True)
class Spoken:
    """A message as it was accepted.

    Attributes:
        text: the words; empty only where a clinician said nothing.
        thought: what the model thought aloud before it, in its own marks.
        fields: what else an actor gave with its message; None where it gave words only.
        flags: reasons of faults that it has all the same.
        refused: what was replied before and not taken, with the reasons.
    """

    text: str
    thought: str = ""
    fields: Mapping[str, Any] | None = None
    flags: tuple[str, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Decided:
    """An object that was replied.

    Attributes:
        value: it, checked; the neutral one where no reply could be read.
        readable: whether a reply could be read.
        refused: what was replied before and not taken, with the reasons.
        silence: why the last reply held no words at all, as a message would be flagged; empty where it held some.
    """

    value: Any
    readable: bool = True
    refused: tuple[tuple[str, str], ...] = ()
    silence: str = ""


def ask_patient(
    call: Call,
    check: Callable[[str], Fault | None],
    *,
    fallback: Callable[[Fault], str | None] | None = None,
    review: Callable[[str, int], Exchange[Fault | None]] | None = None,
) -> Exchange[Spoken]:
    """A message of the patient, asked for until it passes the check.

    Args:
        call: what is asked; where it has a schema, a reply that is an object of it gives its words as ``message``.
        check: what is wrong with a text; None where nothing is.
        fallback: what is said where the last attempt fails too and its fault isn't one that is kept; the message is
            flagged ``fallback``. Without one, or where it has nothing to say to that fault, the conversation ends.
        review: a part of the controller that asks somebody else what is wrong with a text that passes the check, and
            with which attempt.

    Raises:
        UnusableConversationError: no reply could be used.
    """
    refused: list[tuple[str, str]] = []
    while True:
        (reply,) = yield (call,)
        thought, text, fields, fault = words_and_fields(reply, call)
        fault = fault or _broken_object(call, fields, text) or check(text)
        fault = fault and fault.of(reply)
        if fault is None and review is not None:
            fault = yield from review(text, call.attempt)
        if fault is None:
            return Spoken(text, thought, fields, refused=tuple(refused))
        if call.attempt == ATTEMPTS:
            break
        refused.append((text, fault.reason))
        call = call.again(fault.objection)
    if fault.kept and text:
        return Spoken(text, thought, fields, (fault.reason,), tuple(refused))
    refused.append((text, fault.reason))
    line = None if fallback is None else fallback(fault)
    if line is not None:
        return Spoken(line, flags=("fallback",), refused=tuple(refused))
    raise UnusableConversationError(
        "patient", fault.reason, f"{call.purpose} {call.ordinal}: {fault.reason}, {ATTEMPTS} times"
    )


def ask_clinician(call: Call, watch: Callable[[str], tuple[str, ...]]) -> Exchange[Spoken]:
    """A message of the clinician under test, taken as it is; asked for once more where it is none or cut off.

    Of a model that declines, words that came beside that are no message. Where there is no message the second time
    either, ``text`` is empty, and the caller ends the conversation as :func:`silent_stop` says.

    Args:
        call: what is asked; where it has a schema, a reply that is an object of it gives its words as ``message``.
        watch: the reasons of faults that a text has: it is kept and flagged.
    """
    refused: list[tuple[str, str]] = []
    while True:
        (reply,) = yield (call,)
        thought, text, fields, fault = words_and_fields(reply, call)
        ends = fields is not None and any(fields.values())
        if fault is None or ends:
            return Spoken(text, thought, fields, watch(text) if text else (), tuple(refused))
        if call.attempt == CLINICIAN_ATTEMPTS:
            break
        refused.append((text, fault.reason))
        call = call.again(fault.objection)
    if reply.declined and text:
        refused.append((text, fault.reason))
        text = ""
    flags = (fault.reason, *(watch(text) if text else ()))
    return Spoken(text, thought, fields, flags, tuple(refused))


def silent_stop(flags: Sequence[str]) -> str:
    """Why a conversation ends whose clinician gave no message; it is failed (:data:`CLINICIAN_FAILURES`).

    Args:
        flags: of what was taken for its message.
    """
    stops = {"refusal": "refused", "failed": "clinician failed"}
    return next((stops[flag] for flag in flags if flag in stops), "clinician empty")


def ask_for_data(call: Call, read: Callable[[Any], Any], *, neutral: Any = None) -> Exchange[Decided]:
    """An object that fits the call's schema, asked for until it can be read.

    Args:
        call: what is asked; it has a schema.
        read: makes the value of the object, or raises a ValueError that says what is wrong with it.
        neutral: what a clinician's decision that can't be read is taken as.

    Raises:
        UnusableConversationError: no reply of the patient or evaluator could be read.
    """
    refused: list[tuple[str, str]] = []
    while True:
        (reply,) = yield (call,)
        try:
            return Decided(read(_object(reply)), refused=tuple(refused))
        except ValueError as error:
            problem = " ".join(str(error).split())[:300]
        refused.append((reply.text, problem))
        if call.attempt == ATTEMPTS:
            break
        call = call.again(f"Your last reply could not be used: {problem}. Reply with the JSON object only.")
    if call.actor == "clinician":
        return Decided(neutral, readable=False, refused=tuple(refused), silence=nothing_in(reply))
    raise UnusableConversationError(
        "patient" if call.actor == "patient" else "evaluator",
        "reply can't be read",
        f"{call.purpose} {call.ordinal}: {problem}",
    )


def part_of(value: Any, key: str) -> Any:
    """What an object that was replied holds under a key; None where it holds nothing, or is no object."""
    return value.get(key) if isinstance(value, dict) else None


def text_of(value: Any, key: str, *, blank: bool = False, wanted: str = "a text") -> str:
    """The text under a key; a ValueError where there is none, or only white space where that isn't taken."""
    text = part_of(value, key)
    if not isinstance(text, str) or not (blank or text.strip()):
        raise ValueError(f'"{key}" must be {wanted}')
    return text


def texts_of(value: Any, key: str, nouns: str = "texts", *, blank: bool = False) -> list[str]:
    """The texts in the list under a key; a ValueError that asks for a list of ``nouns`` where it is none."""
    texts = part_of(value, key)
    if not isinstance(texts, list) or not all(isinstance(text, str) and (blank or text.strip()) for text in texts):
        raise ValueError(f'"{key}" must be a list of {nouns}')
    return texts


def choice_of(value: Any, key: str, choices: Collection[str]) -> str:
    """The name under a key, one of several; a ValueError that names them where it is none."""
    name = part_of(value, key)
    if name not in choices:
        raise ValueError(f'"{key}" must be one of {", ".join(choices)}')
    return str(name)


def flag_reader(key: str) -> Callable[[Any], bool]:
    """Reads whether an object says yes under a key; a ValueError where it says neither."""

    def read(value: Any) -> bool:
        flag = part_of(value, key)
        if not isinstance(flag, bool):
            raise ValueError(f'"{key}" must be true or false')
        return flag

    return read


def words_and_fields(reply: ActorReply, call: Call) -> tuple[str, str, dict[str, Any] | None, Fault | None]:
    """A reply to a call for a message: thought, words, what else stood beside them, and a fault where there are none.

    Args:
        reply: the reply.
        call: what was asked; where it has a schema, an object of it gives the words as ``message``.
    """
    thought, words = without_thought(reply.text)
    fields = _fields(words) if call.schema is not None else None
    text = plain_text(words if fields is None else str(fields.pop("message", "") or ""))
    return thought, text, fields, _no_words(reply, text)


def without_thought(text: str) -> tuple[str, str]:
    """What a model thought aloud between its own marks, and the rest."""
    match = _THOUGHT.match(text)
    if match:
        return match[2].strip(), text[match.end() :]
    match = _THOUGHT_END.match(text)
    return (match[1].strip(), text[match.end() :]) if match else ("", text)


def plain_text(text: str) -> str:
    """A text without white space and one pair of quotes around it; nothing else is ever taken away."""
    text = text.strip()
    for opening, closing in _QUOTES:
        inner = text[1:-1]
        if len(text) >= 2 and text[0] == opening and text[-1] == closing and not set(opening + closing) & set(inner):
            return inner.strip()
    return text


def nothing_in(reply: ActorReply) -> str:
    """Why a reply holds no words at all, as a message is flagged: empty where it holds some."""
    fault = _no_words(reply, plain_text(without_thought(reply.text)[1]))
    return "" if fault is None or fault.reason == "cut off" else fault.reason


def _no_words(reply: ActorReply, text: str) -> Fault | None:
    if reply.failed:
        return Fault("failed", "Your last reply could not be used. Write your message.")
    if reply.declined:
        return Fault("refusal", "Stay in your role and answer as this person would.")
    if not text:
        return Fault("empty", "Your last reply was empty. Write your message.")
    if reply.cut:
        return Fault("cut off", "Your last reply was cut off at the limit of length. Write a shorter message.")
    return None


def _broken_object(call: Call, fields: Mapping[str, Any] | None, text: str) -> Fault | None:
    """What is wrong with a text that was to be an object and isn't whole; nobody is to hear it read out."""
    if call.schema is None or fields is not None or not text.startswith(("{", "[", "```")):
        return None
    return Fault(
        "reply can't be read",
        "Your last reply was an object that can't be read. Reply with one whole JSON object and nothing else.",
    )


def _fields(text: str) -> dict[str, Any] | None:
    """The object that a message came in; None where it is words only."""
    try:
        value = orjson.loads(_unfenced(text))
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None


def _object(reply: ActorReply) -> Any:
    if reply.failed:
        raise ValueError(reply.failed)
    if reply.declined:
        raise ValueError(f"the model declined: {reply.declined}")
    _, text = without_thought(reply.text)
    try:
        return orjson.loads(_unfenced(text))
    except orjson.JSONDecodeError as error:
        raise ValueError("it is cut off" if reply.cut else f"it is not JSON ({error.msg})") from None


def _unfenced(text: str) -> str:
    """JSON without the fence that models put around it."""
    text = text.strip()
    match = re.fullmatch(r"```(?:json)?\s*(.*?)\s*```", text, re.DOTALL | re.IGNORECASE)
    return match[1] if match else text
