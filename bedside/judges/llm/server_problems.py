"""What servers that speak OpenAI's protocol say is wrong and how long they ask to wait, with no key in any of it.

OpenAI: ``{"error": {"message", "type", "param", "code"}}``. Azure adds ``innererror`` and ``status``, and answers some
errors with ``{"statusCode", "message"}``. vLLM: as OpenAI, or without the outer object, and the code is a number.
llama.cpp: ``n_ctx`` and ``n_prompt_tokens`` beside the message. OpenRouter: a number for a code, and ``metadata``, also
in an answer whose status is 200. FastAPI's servers: ``{"detail": …}``, a text or a list with the ``loc`` of each
fault, which Mistral has in ``message``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import orjson

from bedside.core.addresses import passwords_in
from bedside.judges.llm.protocol import FaultError, RefusedError, retry_after

# -- Secrets --------------------------------------------------------------------------------------------

_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL", re.IGNORECASE)
#: What is shorter is no secret but a word, such as the EMPTY that some servers want for a key.
_SHORTEST_SECRET = 8


class Secrets:
    """The values that must never be written anywhere: those of the environment whose names say so."""

    def __init__(self, environment: Mapping[str, str] | None = None, more: Iterable[str] = ()) -> None:
        environment = os.environ if environment is None else environment
        values = {
            value.strip()
            for name, value in environment.items()
            if _SECRET_NAME.search(name) and len(value.strip()) >= _SHORTEST_SECRET
        }
        # Those of proxies stand in addresses.
        more = [*more, *(password for value in environment.values() for password in passwords_in(value))]
        values |= {value for value in more if len(value) >= _SHORTEST_SECRET}
        self._values = sorted(values, key=len, reverse=True)

    def scrub(self, text: str) -> str:
        """The text without any of them."""
        for value in self._values:
            if value in text:
                text = text.replace(value, "[key removed]")
        return text

    def line(self, text: str, limit: int = 300) -> str:
        """The beginning of a text that came from outside, in one printable line without secrets."""
        plain = " ".join(self.scrub(text).split())
        if not plain.isprintable():
            plain = "".join(character if character.isprintable() else "\ufffd" for character in plain)
        return plain if len(plain) <= limit else f"{plain[:limit]}…"


# -- What servers that speak OpenAI's protocol say is wrong ---------------------------------------------

_TOO_LONG = re.compile(
    r"context[ _]length|context (window|size)|maximum (context|model|input|prompt) |max_model_len"
    r"|(prompt|input|request) (is|was) too (long|large)|too many (input )?tokens|longer than the (model|maximum)"
    r"|reduce the length of the (messages|input|prompt)|request too large|range of input length|input too long"
    r"|input token count|exceeds? (the )?(model's )?(maximum )?context|exceeds the maximum number|context limit",
    re.IGNORECASE,
)
_FILTERED = re.compile(
    r"content management policy|flagged as potentially violating|content exists risk|data_?inspection_?failed"
    r"|inappropriate content|content filter(ing)? policy|blocked by content filter|violates? (our )?(usage|content) "
    r"(guidelines|polic)|considered high risk|不安全或敏感内容|request was blocked by .{0,40}safety",
    re.IGNORECASE,
)
_MEMORY = re.compile(
    r"out of memory|requires more system memory|unable to allocate|not enough (gpu |system )?memory|OutOfMemory"
    r"|insufficient (gpu |system )?memory|cudaMalloc failed",
    re.IGNORECASE,
)
#: What asks for a reply in events: Qwen's servers, and gateways before others.
_STREAMS_ONLY = re.compile(
    r"non-?streaming|非流式|only supports? (the )?stream|stream(ing)? (mode )?(is required|only)|stream.{0,12} must be "
    r"(set to )?true",
    re.IGNORECASE,
)
_TOO_LONG_CODES = {"context_length_exceeded", "exceed_context_size_error", "string_above_max_length"}
_FILTER_CODES = {
    "content_filter", "content_policy_violation", "ResponsibleAIPolicyViolation", "invalid_prompt",
    "data_inspection_failed", "DataInspectionFailed", "1301",
}  # fmt: skip
_QUOTA_CODES = {
    "insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "insufficient_balance", "Arrearage",
}  # fmt: skip
#: Said with status 403, by OpenRouter and xAI.
_NO_CREDIT = re.compile(r"key limit exceeded|any credits", re.IGNORECASE)
_TOO_MUCH = re.compile(r"too (large|many|high|big)|at most|less than or equal|maximum|above_max", re.IGNORECASE)
_TOO_LITTLE = re.compile(r"too (small|few|low)|at least|greater than|minimum|below_min", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ServerProblem:
    """An error as a server describes it.

    Attributes:
        status: of HTTP, or what stands in its place in the body.
        message: its words; empty where there are none.
        codes: its code, type and inner code, as texts.
        parameters: the parameters that it names as such.
        filtered: the content filter's categories that were met, with how severe; empty where none is named.
        flagged: whether a content filter or moderation stopped the request.
    """

    status: int
    message: str = ""
    codes: frozenset[str] = frozenset()
    parameters: tuple[str, ...] = ()
    filtered: tuple[str, ...] = ()
    flagged: bool = False

    @property
    def too_long(self) -> bool:
        """Whether the request is longer than the model takes in, or than the account may ever send."""
        if self.status < 400 or (self.status == 429 and "request too large" not in self.message.lower()):
            return False
        long = self.status == 413 or bool(self.codes & _TOO_LONG_CODES)
        return long or _TOO_LONG.search(self.message) is not None

    @property
    def out_of_memory(self) -> bool:
        """Whether the model doesn't fit into what the server has."""
        return self.status >= 400 and _MEMORY.search(self.message) is not None

    @property
    def streams_only(self) -> bool:
        """Whether the request is answered as a stream of events alone."""
        return self.status in (400, 422) and _STREAMS_ONLY.search(self.message) is not None

    @property
    def out_of_quota(self) -> bool:
        """Whether nothing is answered until somebody pays, however long one waits."""
        if self.status == 403 and _NO_CREDIT.search(self.message):
            return True
        return self.status == 402 or bool(self.codes & _QUOTA_CODES)


def read_problem(status: int, body: bytes) -> ServerProblem:
    """What is wrong, as the body of an answer says it."""
    try:
        data = orjson.loads(body)
    except orjson.JSONDecodeError:
        data = body[:2000].decode("utf-8", "replace")
    return problem_in(status, data)


def problem_in(status: int, data: Any) -> ServerProblem:
    """What is wrong, as the JSON of an answer says it."""
    error = data.get("error", data) if isinstance(data, Mapping) else data
    if isinstance(error, str):
        return ServerProblem(status, error, flagged=filtered(error))
    if not isinstance(error, Mapping):
        return ServerProblem(status)
    inner = _object(error.get("innererror") or error.get("inner_error"))
    metadata = _object(error.get("metadata"))
    said, details = _unpacked(error.get("message")), error.get("detail")
    if isinstance(said, Mapping | list):  # Mistral's
        details = said.get("detail", details) if isinstance(said, Mapping) else said
    message = next((text for text in (said, details) if isinstance(text, str)), "")
    parameters = [error.get("param")]
    if isinstance(details, list):
        faults = [_object(fault) for fault in details]
        message = message or "; ".join(filter(None, map(_fault_words, faults)))
        parameters += [part for fault in faults for part in fault.get("loc") or ()]
    if isinstance(metadata.get("raw"), str):  # what the provider behind a router said
        message = f"{message}: {metadata['raw'][:500]}"
    codes = {str(part.get(name)) for part in (error, inner) for name in ("code", "type") if part.get(name)}
    categories = _categories(inner.get("content_filter_result") or inner.get("content_filter_results"))
    categories += tuple(str(reason) for reason in metadata.get("reasons") or ())
    flagged = bool(codes & _FILTER_CODES or categories or _FILTERED.search(message))
    named = tuple(str(name) for name in parameters if name and name not in ("body", "prompt"))
    return ServerProblem(status, message, frozenset(codes), named, categories, flagged)


def filtered(words: str) -> bool:
    """Whether words tell of a content filter that stopped a prompt or a reply."""
    return _FILTERED.search(words) is not None


def out_of_range(words: str) -> Literal["lower", "higher"] | None:
    """What number is wanted in place of one that was sent; None where words don't tell of a range."""
    if _TOO_MUCH.search(words):
        return "lower"
    return "higher" if _TOO_LITTLE.search(words) else None


def _unpacked(message: object) -> Any:
    """A message, or what it holds where it is JSON with the details of a fault."""
    if isinstance(message, str) and message.startswith("{") and '"detail"' in message:
        try:
            return orjson.loads(message)
        except orjson.JSONDecodeError:
            pass
    return message


def _fault_words(fault: Mapping[str, Any]) -> str:
    """What is wrong with a field of a request, and which."""
    place = ".".join(str(part) for part in fault.get("loc") or () if part != "body")
    said = str(fault.get("msg") or "")
    return f"{place}: {said}" if place and said else said


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _categories(results: object) -> tuple[str, ...]:
    """The categories of Azure's content filter that were met."""
    met = []
    for name, result in _object(results).items():
        detail = _object(result)
        if detail.get("filtered"):
            severity = detail.get("severity")
            met.append(f"{name}, {severity}" if isinstance(severity, str) else str(name))
    return tuple(met)


#: Statuses that may pass, beside those of 500 and above; 424 is Bedrock's where the model failed.
_PASSING = (408, 409, 424, 425, 429)


def not_answered(partner: str, status: int, words: str, wait: float | None) -> FaultError | RefusedError:
    """What an answer means that is not as wanted, where nothing better is known of it.

    Args:
        partner: who answered, for messages.
        status: of HTTP.
        words: the status and what was said, in one line without secrets.
        wait: how long the partner asks to wait, in seconds.
    """
    if status in _PASSING or status >= 500:
        return FaultError(f"{partner} answered {words}", wait=wait, busy=status in (429, 503, 529))
    return RefusedError(f"{partner} refused the request ({words})", status)


# -- How long a server asks to wait ---------------------------------------------------------------------
# ``Retry-After`` (HTTP), ``retry-after-ms`` (Azure, OpenAI), and of OpenAI's limits those that are used up:
# ``x-ratelimit-remaining-requests`` with ``x-ratelimit-reset-requests``, likewise for tokens
# (platform.openai.com/docs/guides/rate-limits; learn.microsoft.com, Azure OpenAI quotas and limits).

_DURATION = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+")
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
#: As in "Please try again in 6m0s." and "Please retry after 26 seconds."
_WORDS = re.compile(
    r"(?:try again in|retry (?:after|in))\s+(?:(\d+(?:\.\d+)?)\s*(seconds?|milliseconds?)|((?:[\d.]+(?:ms|[smhd]))+))",
    re.IGNORECASE,
)


def asked_wait(headers: Mapping[str, str], words: str = "") -> float | None:
    """Seconds that a server asks to wait; None where it doesn't say.

    Args:
        headers: of its answer, by names in any case.
        words: what it says.
    """
    by_name = {name.lower(): value for name, value in headers.items()}
    milliseconds = _number(by_name.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    wait = retry_after(by_name)
    if wait is not None:
        return wait
    resets = [
        duration(by_name.get(f"x-ratelimit-reset-{what}", ""))
        for what in ("requests", "tokens")
        if _number(by_name.get(f"x-ratelimit-remaining-{what}")) == 0
    ]
    waits = [seconds for seconds in resets if seconds is not None]
    return max(waits) if waits else _said(words)


def duration(text: str) -> float | None:
    """Seconds that a text such as ``6m0s``, ``20ms`` or ``1.5`` stands for; None for any other."""
    if _DURATION.fullmatch(text):
        return sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(text))
    return _number(text)


def _said(words: str) -> float | None:
    said = _WORDS.search(words)
    if said is None:
        return None
    if said[3]:
        return duration(said[3])
    return float(said[1]) / (1000 if said[2].lower().startswith("milli") else 1)


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if 0 <= number < float("inf") else None
