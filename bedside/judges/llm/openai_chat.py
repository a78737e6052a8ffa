"""OpenAI's form of a chat: what is sent and what comes back, by HTTP or in batch files."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Unpack

import orjson

from bedside.judges.llm.chat_forms import BrokenStreamError, is_stream, joined_events, response_request
from bedside.judges.llm.extra_fields import STREAM, with_fields
from bedside.judges.llm.model_names import ModelName
from bedside.judges.llm.prices import ModelFacts, Token
from bedside.judges.llm.protocol import (
    DeclinedError,
    FaultError,
    LanguageModelError,
    Reply,
    Request,
    Sampling,
    TokenCounts,
    UnusableError,
    cache_marked,
    empty_reply,
    served_by,
)
from bedside.judges.llm.server_problems import Secrets, ServerProblem, out_of_range, problem_in

# -- Where chats in OpenAI's form are posted ------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ChatAddress:
    """An address that takes chats in OpenAI's form.

    Attributes:
        url: where chats are posted.
        where: the address as messages name it.
        key: empty where none is sent.
        key_name: the environment variable that holds it.
        key_header: the header that the key is sent in, in place of a bearer token.
        models_url: where the models are listed; None where that says nothing of what can be asked.
        responses_url: where the Responses API is; None where there is none.
        partner: who is there, for messages.
        access: what to check where access is refused though the key is right.
        no_model: what to check where there is no such model.
        pay: what to do where the account has nothing left.
    """

    url: str
    where: str
    key: str
    key_name: str
    key_header: str = ""
    models_url: str | None = None
    responses_url: str | None = None
    partner: str = "the server"
    access: str = "what the key may ask of this server"
    no_model: str = "check the address, which mostly ends in /v1, and the model's name"
    pay: str = "see its billing"


# -- Parameters of a chat in OpenAI's form --------------------------------------------------------------
# What a table of models says is left out from the start; what a server refuses by name is left out, or called by its
# other name, from then on.

#: Alternatives asked for at each token; the most that OpenAI gives.
TOP_LOGPROBS = 20
#: The two names of the limit of a reply's tokens: that of OpenAI's newer models, and that of most servers.
NEW_LIMIT, OLD_LIMIT = "max_completion_tokens", "max_tokens"
#: Tells OpenAI's machines which requests begin alike.
CACHE_KEY = "prompt_cache_key"
#: What a parameter is, by its name in a request.
_MEANINGS = {
    CACHE_KEY: CACHE_KEY,
    "temperature": "temperature",
    "seed": "seed",
    "logprobs": "probabilities",
    "top_logprobs": "probabilities",
    NEW_LIMIT: "max_tokens",
    OLD_LIMIT: "max_tokens",
    "reasoning_effort": "reasoning_effort",
    "reasoning": "reasoning_effort",
    "stream_options": "stream_options",
}
_NOT_TAKEN = re.compile(
    r"support|recogni[sz]e|unknown|unexpected|permitted|not allowed|forbidden|deprecated|not available|incompatible"
    r"|invalid|does not accept|only the default",
    re.IGNORECASE,
)
_INPUT = re.compile(r"""["']input["']""")
#: How much of a server's words is looked at.
_MOST_WORDS = 400
#: Codes and types of a parameter that is known, but not this value of it.
_OTHER_VALUE = {"unsupported_value", "invalid_value", "literal_error", "enum"}


class ChatParameters:
    """The parameters that a model is sent; used by all requests to one server.

    Args:
        model: its name there.
        sampling: how it is asked to write.
        facts: what is known of it.
        new_limit: whether the limit of tokens goes by its new name.
        effort_object: whether the effort of reasoning goes into an object ``reasoning``, as OpenRouter has it.

    Attributes:
        fields: what is sent beside messages, schema and seed; another object once something was learnt.
        unsent: what is left out though it is wanted, by the names of :meth:`Sampling.parameters`.
    """

    def __init__(
        self, model: str, sampling: Sampling, facts: ModelFacts, *, new_limit: bool = False, effort_object: bool = False
    ) -> None:
        self._model = model
        self._sampling = sampling
        self._facts = facts
        self._effort_object = effort_object
        self._limits = [NEW_LIMIT, OLD_LIMIT] if new_limit else [OLD_LIMIT, NEW_LIMIT]
        self._not_taken: set[str] = set()
        if facts.temperature is False:
            self._not_taken.add("temperature")
        if facts.probabilities is False:
            self._not_taken.add("probabilities")
        self._rewrite()

    def takes(self, meaning: str) -> bool:
        """Whether a parameter is sent where it is wanted."""
        return meaning not in self._not_taken

    def learnt(self) -> dict[str, Any]:
        """What isn't taken, as JSON has it."""
        return {"not_taken": sorted(self._not_taken), "limits": list(self._limits)}

    def recall(self, lessons: Mapping[str, Any]) -> None:
        """Begin with what was learnt before."""
        not_taken, limits = lessons.get("not_taken"), lessons.get("limits")
        if isinstance(not_taken, list):
            self._not_taken |= set(_MEANINGS.values()) & set(not_taken)
        if isinstance(limits, list):
            self._limits = [limit for limit in self._limits if limit in limits]
        self._rewrite()

    def _rewrite(self) -> None:
        sampling, refused = self._sampling, self._not_taken
        wishes: dict[str, dict[str, Any]] = {}
        if self._limits:
            wishes["max_tokens"] = {self._limits[0]: sampling.max_tokens}
        if sampling.temperature is not None:
            wishes["temperature"] = {"temperature": sampling.temperature}
        if sampling.probabilities:
            most = min(TOP_LOGPROBS, self._facts.most_probabilities or TOP_LOGPROBS)
            wishes["probabilities"] = {"logprobs": True, "top_logprobs": most}
        if sampling.reasoning_effort is not None:
            effort = sampling.reasoning_effort
            wishes["reasoning_effort"] = (
                {"reasoning": {"effort": effort}} if self._effort_object else {"reasoning_effort": effort}
            )
        self.fields: dict[str, Any] = {"model": self._model}
        for meaning, fields in wishes.items():
            if meaning not in refused:
                self.fields |= fields
        left_out = [meaning for meaning in wishes if meaning in refused]
        self.unsent: tuple[str, ...] = tuple(left_out) if self._limits else ("max_tokens", *left_out)

    def learn(self, problem: ServerProblem, sent: Mapping[str, Any]) -> str | None:
        """The parameter that a server refused and that isn't sent so again; None where it refused another thing.

        Args:
            problem: what the server said.
            sent: the fields of the request that it refused.

        Raises:
            LanguageModelError: it takes the parameter, but not this value.
        """
        name = _named(problem, sent)
        if name is None:
            return None
        meaning = _MEANINGS[name]
        self._check_value(meaning, problem)
        if meaning == "max_tokens":
            if self._limits and self._limits[0] == name:
                self._limits.pop(0)
        else:
            self._not_taken.add(meaning)
        self._rewrite()
        return meaning

    def _check_value(self, meaning: str, problem: ServerProblem) -> None:
        """Raise where another value of a parameter would be taken, which only the user can choose."""
        other = out_of_range(" ".join((problem.message, *problem.codes)))
        if meaning == "temperature" and other is not None:
            raise other_temperature(self._model, self._sampling.temperature, other, problem.message)
        if meaning == "max_tokens" and other == "lower":
            raise LanguageModelError(
                f"{self._model} doesn't write as many as {self._sampling.max_tokens} tokens ({problem.message})",
                todo="allow fewer with `max_tokens`",
            )
        other_value = problem.codes & _OTHER_VALUE or "input should be" in problem.message.lower()
        if meaning == "reasoning_effort" and other_value:
            raise LanguageModelError(
                f"{self._model} doesn't take the reasoning effort {self._sampling.reasoning_effort} "
                f"({problem.message})",
                todo="give another `reasoning_effort`, or leave it out",
            )


def other_temperature(model: str, temperature: float | None, other: str, words: str) -> LanguageModelError:
    """The error where a model takes a temperature, but a lower or higher one (``other``)."""
    return LanguageModelError(
        f"{model} doesn't take the temperature {temperature} ({words})", todo=f"give a {other} `temperature`"
    )


def refused_field(problem: ServerProblem, names: Iterable[str]) -> str | None:
    """The field that a server doesn't know, of those that the user added."""
    words = problem.message[:_MOST_WORDS]
    for name in names:
        if any(part.split(".")[0] == name for part in problem.parameters):
            return name
        if re.search(rf"\b{re.escape(name)}\b", words) and _NOT_TAKEN.search(words):
            return name
    return None


def _named(problem: ServerProblem, sent: Mapping[str, Any]) -> str | None:
    """The parameter among those sent that a problem is about."""
    for parameter in problem.parameters:
        name = parameter.split(".")[0]
        if name in sent and name in _MEANINGS:
            return name
    if problem.parameters:
        return None  # it names another, which can't be left out
    # Some servers repeat the whole request in their words, where any parameter stands.
    words = _INPUT.split(problem.message)[0][:_MOST_WORDS]
    if not (_NOT_TAKEN.search(words) or problem.codes & _OTHER_VALUE):
        return None
    places = {
        name: match.start()
        for name in sent
        if name in _MEANINGS and (match := re.search(rf"\b{name}\b", words, re.IGNORECASE))
    }
    return min(places, key=places.__getitem__, default=None)


# -- OpenAI's form of a chat ----------------------------------------------------------------------------

OPENAI_URL = "https://api.openai.com/v1"
#: Forms of structured output, the strictest first.
JSON_SCHEMA, JSON_OBJECT, WORDS = 0, 1, 2
#: Providers that are asked in OpenAI's form and know its newer parameters.
_OPENAI, _AZURE, _OPENROUTER = "openai", "azure", "openrouter"
#: Why a reply ends where a filter ended it; the second is Zhipu's.
_FILTER_ENDINGS = ("content_filter", "sensitive")
_THOUGHT_MARK = re.compile(r"<(think|thinking|reasoning)>")


def first_form(facts: ModelFacts) -> int:
    """The strictest form of structured output that a model takes."""
    if facts.schema is not False:
        return JSON_SCHEMA
    return WORDS if facts.json is False else JSON_OBJECT


@dataclass(frozen=True, slots=True)
class ChatContent:
    """A request as it is sent.

    Attributes:
        body: its JSON.
        fields: its parameters.
        unsent: parameters that were wanted and are not in it, as :attr:`Reply.unsent` has them; ``schema`` where the
            reply's form is described in words only.
    """

    body: bytes
    fields: Mapping[str, Any]
    unsent: tuple[str, ...]


class OpenAIChat:
    """Writes requests to a model, and reads its answers.

    Args:
        name: the model.
        sampling: how the model is asked to write.
        secrets: what is taken out of its answers.
        facts: what is known of the model.

    Attributes:
        parameters: what it is sent, and what it turned out not to take.
    """

    def __init__(self, name: ModelName, sampling: Sampling, secrets: Secrets, facts: ModelFacts | None = None) -> None:
        self.secrets = secrets
        self._sampling = sampling
        self._extra = {name: value for name, value in sampling.extra.items() if name != STREAM}
        #: A schema beside this form is an addition of llama.cpp's.
        self._schema_in_object = name.provider not in (_OPENAI, _AZURE)
        #: Other servers may refuse a field that they don't know.
        self._cache_key = name.url == OPENAI_URL or name.provider == _AZURE
        self._cache_marks = name.provider == _OPENROUTER and name.model.startswith("anthropic/")
        facts = facts or ModelFacts()
        listed = name.provider == _OPENAI and facts != ModelFacts()
        self.parameters: ChatParameters = ChatParameters(
            name.model,
            sampling,
            facts,
            # OpenAI's newer models refuse the old name, other servers may not know the new one.
            new_limit=name.url == OPENAI_URL or name.provider == _AZURE or listed,
            effort_object=name.provider == _OPENROUTER,
        )

    def content(
        self, request: Request, form: int = JSON_SCHEMA, *, responses: bool = False, stream: bool = False
    ) -> ChatContent:
        """A request as it is sent, with structured output of this form where it has a schema.

        Args:
            request: what is asked.
            form: of structured output.
            responses: whether it goes to the Responses API, which takes no seed.
            stream: whether the reply is to come as a stream of events.
        """
        parameters = self.parameters
        fields, unsent = parameters.fields, parameters.unsent
        if request.seed is not None:
            if parameters.takes("seed") and not responses:
                fields = {**fields, "seed": request.seed}
            else:
                unsent = (*unsent, "seed")
        if self._cache_key and request.opening and parameters.takes(CACHE_KEY):
            # Which of its machines has the beginning in its cache; a digest, as an opening may be a name.
            fields = {**fields, CACHE_KEY: hashlib.sha256(request.opening.encode()).hexdigest()[:32]}
        content = {**fields, "messages": cache_marked(request.messages, request.shared if self._cache_marks else 0)}
        if request.schema is not None:
            schema = orjson.Fragment(request.schema)
            if form == JSON_SCHEMA:
                named_schema = {"name": request.schema_name, "strict": True, "schema": schema}
                content["response_format"] = {"type": "json_schema", "json_schema": named_schema}
            elif form == JSON_OBJECT:
                more = {"schema": schema} if self._schema_in_object else {}
                content["response_format"] = {"type": "json_object", **more}
            if form == WORDS or (form == JSON_OBJECT and not self._schema_in_object):
                unsent = (*unsent, "schema")
        if responses:
            content = response_request(content)
            fields = {name: value for name, value in content.items() if name != "input"}
        if stream:
            events: dict[str, Any] = {STREAM: True}
            if parameters.takes("stream_options") and not responses:
                events["stream_options"] = {"include_usage": True}
            content, fields = {**content, **events}, {**fields, **events}
        if self._extra:
            content = with_fields(content, self._extra)
        return ChatContent(orjson.dumps(content), fields, unsent)

    def reply(self, data: Any, **asked: Unpack[TokenCounts]) -> Reply:
        """The reply in an answer's JSON, with what is known of how it was asked.

        Raises:
            FaultError: it doesn't have the protocol's form.
            UnusableError: it holds no text.
            DeclinedError: the model or a content filter won't answer.
        """
        try:
            choice = data["choices"][0]
            message = choice["message"]
            content, refusal = message.get("content"), message.get("refusal")
            counts: TokenCounts = {**asked, **_counts(data.get("usage") or {})}
            counts["served"] = served_by(data, self.secrets.line)
        except (KeyError, IndexError, TypeError, AttributeError) as error:
            problem = self.secrets.line(error_message(orjson.dumps(data)))
            # Some report an error of theirs, which may pass, as a success.
            failed = isinstance(data, dict) and bool(data.get("error"))
            raise FaultError(f"the server's answer holds no reply ({problem})", other_protocol=not failed) from error
        if isinstance(content, list):
            content = "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
        text = self.secrets.scrub(content) if isinstance(content, str) else ""
        ending = choice.get("finish_reason")
        if ending in _FILTER_ENDINGS:
            met = "; ".join(problem_in(200, {"innererror": choice}).filtered)
            raise DeclinedError("filter", f"stopped the reply{f' ({met})' if met else ''}", text, **counts)
        if ending == "insufficient_system_resource":  # DeepSeek's
            raise FaultError("the server broke the reply off for want of resources", busy=True)
        if isinstance(refusal, str) and refusal and not text.strip():
            raise DeclinedError("model", self.secrets.line(refusal), **counts)
        cut = ending == "length"
        if not text.strip():
            raise self._empty(message, cut, counts)
        if cut and _THOUGHT_MARK.match(text.lstrip()) and "</" not in text:
            raise empty_reply(True, self._sampling.max_tokens, text=text, **counts)
        tokens = listed_tokens(choice.get("logprobs")) if self._sampling.probabilities else ()
        return Reply(text, **counts, tokens=tokens, cut=cut)

    def _empty(self, message: Mapping[str, Any], cut: bool, counts: TokenCounts) -> UnusableError:
        """The error where a reply holds no words."""
        called = message.get("tool_calls") or message.get("function_call")
        if called:
            return UnusableError("the model called a tool in place of replying", **counts)
        return empty_reply(cut, self._sampling.max_tokens, **counts)


def error_message(body: bytes) -> str:
    """What an error's body says."""
    text = body[:100_000].decode("utf-8", "replace")
    try:
        data = orjson.loads(body)
    except orjson.JSONDecodeError:
        return text
    error = data.get("error", data) if isinstance(data, dict) else data
    if isinstance(error, dict):
        message = problem_in(0, {"error": error}).message
        code = error.get("code") or error.get("type")
        if message:
            return f"{message} ({code})" if isinstance(code, str) and code not in message else message
    return error if isinstance(error, str) else text


def answer_data(body: bytes) -> Any:
    """The JSON of an answer, which may come as a stream of events."""
    if is_stream(body):
        try:
            return joined_events(body)
        except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
            broken = isinstance(error, BrokenStreamError)
            what = str(error) if broken else "the server's events have another form"
            raise FaultError(what, other_protocol=not broken) from error
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        pass
    try:
        # Half a surrogate pair, which models do write, is JSON to this parser only; it is replaced.
        text = json.dumps(json.loads(body), ensure_ascii=False)
        return orjson.loads(text.encode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        raise FaultError("the server's answer is not JSON", other_protocol=True) from error


def _counts(usage: Mapping[str, Any]) -> TokenCounts:
    """The tokens of a reply as the fields of :class:`Reply` have them.

    Where a provider leaves reasoning out of the completion's tokens, as the sum of all shows, it is added: it is paid
    for as these are. Gemini counts it in the sum alone, where it is asked in this form.
    """
    prompt, completion = token_count(usage.get("prompt_tokens")), token_count(usage.get("completion_tokens"))
    total = token_count(usage.get("total_tokens"))
    reasoning = _detail(usage, "completion_tokens_details", "reasoning_tokens")
    if completion is not None and reasoning and total == (prompt or 0) + completion + reasoning:
        completion += reasoning
    elif reasoning is None and prompt is not None and total is not None and total - prompt > (completion or 0):
        completion = total - prompt
    return TokenCounts(
        input_tokens=prompt,
        output_tokens=completion,
        cached_tokens=_cached(usage),
        reasoning_tokens=reasoning,
        written_tokens=_detail(usage, "prompt_tokens_details", "cache_write_tokens"),
    )


def _cached(usage: Mapping[str, Any]) -> int | None:
    """Tokens of the prompt from the provider's cache, as OpenAI says it, or else as DeepSeek does."""
    cached = _detail(usage, "prompt_tokens_details", "cached_tokens")
    return token_count(usage.get("prompt_cache_hit_tokens")) if cached is None else cached


def _detail(usage: Mapping[str, Any], part: str, name: str) -> int | None:
    details = usage.get(part)
    return token_count(details.get(name)) if isinstance(details, Mapping) else None


def token_count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def listed_tokens(logprobs: object) -> tuple[Token, ...]:
    """The tokens of a reply; none where the provider's form is another."""
    content = logprobs.get("content") if isinstance(logprobs, dict) else None
    if not isinstance(content, list):
        return ()
    try:
        return tuple(
            Token(_bytes(token), tuple((_bytes(other), float(other["logprob"])) for other in token["top_logprobs"]))
            for token in content
        )
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        return ()


def _bytes(token: Mapping[str, Any]) -> bytes:
    numbers = token.get("bytes")
    # Of one number, Python would make as many empty bytes.
    return str(token["token"]).encode() if numbers is None else bytes([*numbers])
