"""Wire forms of providers as they document them: what a rating or a command then says, and how many calls that takes.

Two conversations are judged one after the other by a real HTTP server. Each line is one situation; where it has a
source of its own, that is named.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from bedside.core.errors import BedsideError
from bedside.judges.judgement_queue import JudgingStage, ask_judge
from bedside.judges.llm.endpoints import model_name
from bedside.judges.llm.queue import Patience
from bedside.judges.prompt import Question
from bedside.judges.questions import JudgeAnswer, QuestionGroup, QuestionSet
from bedside.judges.rubrics.rubric_files import RUBRICS
from bedside.judges.settings import JudgeSettings
from bedside.judges.store import Judgement, read_judgements
from tests.conftest import conversation
from tests.judges.llm.providers import anthropic, azure, bedrock, gemini, ollama, open_servers, openai
from tests.judges.llm.providers.events import chunks, message_events, mistral_error, response, response_events, stream
from tests.judges.llm.providers.profiles import PROFILES, Provider, Providers, case
from tests.judges.llm.providers.server import Answer, Behaviour, Call

pytestmark = pytest.mark.server
QUICK = Patience(attempts=3, first_wait=0.001, longest_wait=0.01)
INVALID, BAD_ARGUMENT, VALIDATION = "invalid_request_error", "INVALID_ARGUMENT", "ValidationException"
RATED = "rated"


@dataclass(frozen=True)
class Judged:
    """What judging two conversations came to.

    Attributes:
        said: what is said of the first, or of all where nothing could be asked.
        state: of the first judgement; ``stops`` where nothing could be asked.
        judgements: what the store holds.
        bodies: what was posted.
        paths: where to.
    """

    said: str
    state: str
    judgements: list[Judgement]
    bodies: list[Mapping[str, Any]]
    paths: list[str]


def judged(asked: Provider, behaviour: Behaviour | Answer, folder: Path, model: str = "", **how: Any) -> Judged:
    """Judge two conversations where a provider behaves so."""
    usual = asked.profile.judge.format(url=asked.server.url)
    name = usual
    if model:
        name = f"{asked.server.url}/v1#{model}" if usual.startswith("http") else f"{usual.partition('/')[0]}/{model}"
    settings = JudgeSettings(max_concurrency=how.pop("max_concurrency", 1), timeout=5.0, **{"patience": QUICK, **how})
    questions = QuestionSet([Question(RUBRICS.load("empathy"))], 1)
    texts = [f"I slept badly for {number + 2} nights." for number in range(2)]
    talks = [conversation(("patient", text), ("clinician", "Why?"), id=text) for text in texts]
    answers: list[JudgeAnswer] = []

    def emit(group: QuestionGroup) -> None:
        answers.extend(group.answers)

    act = (lambda _: behaviour) if isinstance(behaviour, Answer) else behaviour
    store, stage = folder / "judgements.sqlite", JudgingStage(lambda: questions.groups(talks), emit)
    with asked.server.behaving(act):
        try:
            ask_judge(model_name(name), settings, store, [stage])
            said = answers[0].error or RATED
        except BedsideError as error:
            said = str(error)
            answers.clear()
        posted = [call for call in asked.calls if call.method == "POST"]
    found = sorted(read_judgements(store), key=lambda judgement: judgement.transcript)
    state = (found[0].state if found else "not asked") if answers else "stops"
    return Judged(said, state, found, [call.body for call in posted], [call.path for call in posted])


def reply(name: str, text: str | None = None, **parts: Any) -> Behaviour:
    return lambda call: PROFILES[name].reply(call, text, **parts)


def said_once(answer: Answer, good: Callable[[Call], Answer] = openai.chat, times: int = 1) -> Behaviour:
    """One answer to the first requests, and replies after it."""
    return lambda call: answer if call.number <= times else good(call)


def unless(
    condition: Callable[[Call], bool], answer: Answer, good: Callable[[Call], Answer] = openai.chat
) -> Behaviour:
    """An answer to whatever doesn't meet a condition."""
    return lambda call: good(call) if condition(call) else answer


def streamed(call: Call) -> bool:
    return call.body.get("stream") is True


def by_responses(call: Call) -> bool:
    return call.path.endswith("/responses")


USED_UP = "used all 4096 tokens for reasoning before its reply"
STOPPED, BLOCKED = "content filter stopped the prompt", "content filter stopped the reply"
QWEN = "parameter.enable_thinking must be set to false for non-streaming calls"
CHINESE = "parameter.enable_thinking必须设置为false才能进行非流式调用"
SCOPE = "This model only support stream mode, please enable the stream parameter to access the model. "
NO_CHAT = "This model is only supported in v1/responses and not in v1/chat/completions."
NO_CHAT_MODEL = (
    "This is not a chat model and thus not supported in the v1/chat/completions endpoint. Did you mean to use "
    "v1/completions?"
)
RISK = openai.error(400, "Content Exists Risk", code=INVALID)
INSPECTED = openai.error(
    400, "<400> InternalError.Algo.DataInspectionFailed: Input text data may contain inappropriate content.",
    kind="data_inspection_failed", code="data_inspection_failed",
)  # fmt: skip
NO_MEMORY = "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 15.77 GiB"
LLAMA_MEMORY = "llama runner process has terminated: cudaMalloc failed: out of memory"
PRIVACY = "No endpoints found matching your data policy (Paid model training). Configure: https://openrouter.ai/settings/privacy"
TEMPERATURE = mistral_error("temperature")
PARAMETERS = "No endpoints found that can handle the requested parameters. To learn more about provider routing, visit: https://openrouter.ai/docs/provider-routing"
ANTHROPIC_BUSY = stream(
    {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, ended=False, names=True
)


def no(field: str, answer: Answer, good: Callable[[Call], Answer] = openai.chat) -> Behaviour:
    """Refuses requests with this field."""
    return lambda call: answer if field in call.body else good(call)


SITUATIONS = [
    # -- thinking that used up all tokens ---------------------------------------------------------------
    case("openai", "thinking", openai.out_of_tokens, "unusable", USED_UP, 2),
    case("open", "nothing at the limit", reply("open", "", choice={"finish_reason": "length"}), "unusable", USED_UP, 2),
    case("open", "nothing but spaces", reply("open", " \n", choice={"finish_reason": "length"}),
         "unusable", USED_UP, 2),
    case("open", "thought cut off", reply("open", "<think>Hm, the", choice={"finish_reason": "length"}),
         "unusable", USED_UP, 2),
    case("openrouter", "reasoning", reply("openrouter", "", message={"reasoning": "Hm"},
                                          choice={"finish_reason": "length", "native_finish_reason": "max_tokens"}),
         "unusable", USED_UP, 2),
    case("anthropic", "thinking", reply("anthropic", content=[], stop_reason="max_tokens"), "unusable", USED_UP, 2),
    case("anthropic", "window", reply("anthropic", content=[], stop_reason="model_context_window_exceeded"),
         "not asked", "leaves no room for a reply", 2),
    case("gemini", "thinking", reply("gemini", candidate={"finishReason": "MAX_TOKENS", "content": {}}),
         "unusable", USED_UP, 2),
    case("ollama", "thinking", reply("ollama", "", done_reason="length", message={"thinking": "Hm"}),
         "unusable", USED_UP, 2),
    case("bedrock", "thinking", reply("bedrock", "", stopReason="max_tokens"), "unusable", USED_UP, 2),
    case("openai", "responses", lambda call: response(
        call, status="incomplete", incomplete_details={"reason": "max_output_tokens"},
        output=[{"type": "reasoning", "summary": []}]), "unusable", USED_UP, 2, {"model": "gpt-5-pro"}),
    case("open", "nothing, and not at the limit", reply("open", ""), "unusable", "the reply is empty", 6),
    # -- streams ----------------------------------------------------------------------------------------
    case("open", "Qwen, thinking", unless(streamed, openai.error(400, QWEN, code="invalid_parameter_error"), chunks),
         "answered", RATED, 3),
    case("open", "Qwen, in Chinese", unless(streamed, openai.error(400, CHINESE), chunks), "answered", RATED, 3),
    case("open", "ModelScope", unless(streamed, openai.error(400, SCOPE), chunks), "answered", RATED, 3),
    case("open", "a gateway", unless(streamed, Answer({"detail": "Stream must be set to true"}, 400), chunks),
         "answered", RATED, 3),
    case("open", "unasked for", chunks, "answered", RATED, 2),
    case("open", "asked for", chunks, "answered", RATED, 2, {"extra": {"stream": True}}),
    case("open", "thought beside", lambda call: chunks(call, thought="Hm, 1?"), "answered", RATED, 2),
    case("open", "without the mark of the end", lambda call: chunks(call, ended=False), "answered", RATED, 2),
    case("open", "cut in the middle", lambda call: chunks(call, "", thought="Hm", ending="length"),
         "unusable", USED_UP, 2),
    case("open", "broken off", lambda call: chunks(call, ending=None, ended=False),
         "failed", "the stream ended before the reply did, after 3 attempts", 6),
    case("open", "broken off once", lambda call: chunks(
        call, ending=None if call.number == 1 else "stop", ended=call.number > 1), "answered", RATED, 3),
    case("open", "an error in it", stream({"error": {"message": "overloaded", "code": 503}}),
         "failed", "overloaded", 6),
    case("open", "a filter in it", stream({"error": {"message": "Content Exists Risk", "code": 400}}),
         "filtered", STOPPED, 2),
    case("open", "a filter at its end", lambda call: chunks(call, '{"rea', ending="content_filter"),
         "filtered", BLOCKED, 2),
    case("open", "no counts taken", unless(
        lambda call: streamed(call) and "stream_options" not in call.body, mistral_error("stream_options"), chunks),
         "answered", RATED, 3, {"extra": {"stream": True}}),
    case("anthropic", "events", message_events, "answered", RATED, 2, {"extra": {"stream": True}}),
    # docs.claude.com, Streaming messages, Error events
    case("anthropic", "overloaded in it", said_once(ANTHROPIC_BUSY, anthropic.message, 4), "answered", RATED, 6,
         {"patience": replace(QUICK, attempts=8)}),
    case("anthropic", "overloaded for good", ANTHROPIC_BUSY, "failed", "529: Overloaded (overloaded_error)", 6),
    case("anthropic", "a filter in it", stream(
        {"type": "error", "error": {"type": INVALID, "message": "Output blocked by content filtering policy"}}),
         "filtered", "content filter stopped", 2),
    case("gemini", "no stream", Answer(), "stops", "Gemini isn't asked for streams", 0, {"extra": {"stream": True}}),
    case("openai", "responses as events", response_events, "answered", RATED, 2,
         {"model": "gpt-5-pro", "extra": {"stream": True}}),
    # -- the Responses API --------------------------------------------------------------------------------
    case("openai", "pro", unless(by_responses, openai.error(404, NO_CHAT), response), "answered", RATED, 2,
         {"model": "gpt-5-pro"}),
    case("openai", "codex", unless(by_responses, openai.error(404, NO_CHAT), response), "answered", RATED, 2,
         {"model": "gpt-5.1-codex-mini"}),
    case("openai", "o1-pro", unless(by_responses, openai.error(404, NO_CHAT_MODEL), response), "answered", RATED, 2,
         {"model": "o1-pro"}),
    case("openai", "learnt", unless(by_responses, openai.error(404, NO_CHAT), response), "answered", RATED, 3,
         {"model": "gpt-of-tomorrow"}),
    case("open", "learnt from a gateway", unless(by_responses, Answer(
        {"error": {"type": INVALID, "message": "Unsupported legacy protocol: /v1/chat/completions is not supported. "
                   "Please use /v1/responses."}}, 400), response), "answered", RATED, 3),
    case("openai", "no temperature", unless(
        lambda call: "temperature" not in call.body, openai.error(400, "Unsupported parameter: 'temperature' is not "
            "supported with this model.", param="temperature"), response), "answered", RATED, 3,
         {"model": "o9-pro"}),
    case("openai", "not there", openai.error(404, NO_CHAT), "stops", "can't be asked by a chat", 2,
         {"model": "gpt-of-tomorrow"}),
    case("openai", "a gateway without it", Answer({"detail": "Not Found"}, 404), "stops",
         "the Responses API isn't there for it", 1, {"model": "gpt-5-pro"}),
    case("openai", "misspelt", openai.no_such_model("gpt-5-pro", "gpt-5-mini"), "stops", "did you mean gpt-5-pro", 1,
         {"model": "gpt-5-proo"}),
    case("openai", "instruct", openai.error(404, NO_CHAT_MODEL), "stops", "can't be asked by a chat", 2,
         {"model": "gpt-3.5-turbo-instruct"}),
    case("openai", "a refusal", lambda call: response(call, output=[
        {"type": "message", "content": [{"type": "refusal", "refusal": "I won't."}]}]),
         "refused", "the judge refused: I won't.", 2, {"model": "gpt-5-pro"}),
    case("openai", "a response that failed", lambda call: response(
        call, status="failed", output=[], error={"code": "server_error", "message": "It failed."}),
         "failed", "It failed.", 6, {"model": "gpt-5-pro"}),
    case("openai", "a response that was filtered", lambda call: response(
        call, '{"rea', status="incomplete", incomplete_details={"reason": "content_filter"}),
         "filtered", BLOCKED, 2, {"model": "gpt-5-pro"}),
    case("azure", "responses", unless(by_responses, openai.error(400, NO_CHAT), response), "answered", RATED, 3),
    # -- Mistral's errors ------------------------------------------------------------------------------------
    *(case("open", f"Mistral, {form}", no("temperature", mistral_error("temperature", form=form)),
           "answered", RATED, 3) for form in ("object", "list", "text")),
    case("open", "Mistral, the limit", no("max_tokens", mistral_error("max_tokens")), "answered", RATED, 3),
    case("open", "Mistral, the form", unless(
        lambda call: "response_format" not in call.body, mistral_error("response_format")), "answered", RATED, 4),
    case("open", "Mistral, a message's field", mistral_error("messages", "0", "user", "name"),
         "failed", "messages.0.user.name: Extra inputs are not permitted", 6),
    # -- extra fields ----------------------------------------------------------------------------------------
    case("open", "enable_thinking", unless(lambda call: call.body.get("enable_thinking") is False,
                                           openai.error(400, QWEN)), "answered", RATED, 2,
         {"extra": {"enable_thinking": False}}),
    case("open", "chat_template_kwargs", unless(
        lambda call: call.body["chat_template_kwargs"] == {"enable_thinking": False}, Answer(status=500)),
         "answered", RATED, 2, {"extra": {"chat_template_kwargs": {"enable_thinking": False}}}),
    case("openai", "service_tier", unless(lambda call: call.body.get("service_tier") == "flex", Answer(status=500)),
         "answered", RATED, 2, {"extra": {"service_tier": "flex"}}),
    case("openrouter", "provider", unless(
        lambda call: call.body.get("provider") == {"sort": "price", "zdr": True}, Answer(status=500)),
         "answered", RATED, 2, {"extra": {"provider": {"sort": "price", "zdr": True}}}),
    case("gemini", "joined with its own", unless(
        lambda call: call.body["generationConfig"]["topK"] == 1 and "maxOutputTokens" in call.body["generationConfig"],
        Answer(status=500), gemini.content), "answered", RATED, 2, {"extra": {"generationConfig": {"topK": 1}}}),
    case("ollama", "keep_alive", unless(lambda call: call.body["keep_alive"] == "1h", Answer(status=500), ollama.chat),
         "answered", RATED, 2, {"extra": {"keep_alive": "1h"}}),
    case("openai", "one that isn't known", no("enable_thinking", openai.error(
        400, "Unrecognized request argument supplied: enable_thinking")), "stops",
         "refuses the extra field enable_thinking", 3, {"extra": {"enable_thinking": True}}),
    case("anthropic", "one that isn't known", no("top_q", anthropic.error(
        400, INVALID, "top_q: Extra inputs are not permitted")), "stops", "Anthropic refuses the extra field top_q", 3,
         {"extra": {"top_q": 1}}),
    # -- filters ---------------------------------------------------------------------------------------------
    case("open", "DeepSeek", RISK, "filtered", STOPPED, 2),
    case("open", "DeepSeek, before", Answer({"detail": "Content Exists Risk"}, 400), "filtered", STOPPED, 2),
    case("open", "Qwen", INSPECTED, "filtered", STOPPED, 2),
    case("open", "Qwen, the reply", openai.error(400, "Output data may contain inappropriate content.",
                                                 code="data_inspection_failed"), "filtered", STOPPED, 2),
    case("open", "Zhipu", openai.error(400, "系统检测到输入或生成内容可能包含不安全或敏感内容", code="1301"),
         "filtered", STOPPED, 2),
    case("open", "Zhipu, the reply", reply("open", "", choice={"finish_reason": "sensitive"}), "filtered", BLOCKED, 2),
    case("open", "Kimi", openai.error(400, "The request was rejected because it was considered high risk",
                                      kind="content_filter"), "filtered", STOPPED, 2),
    case("open", "xAI", Answer({"code": "The caller does not have permission to execute the specified operation",
                                "error": "Content violates usage guidelines."}, 403), "filtered", STOPPED, 2),
    case("openai", "prompt", openai.error(400, "Invalid prompt: your prompt was flagged as potentially violating our "
                                          "usage policy.", code="invalid_prompt"), "filtered", STOPPED, 2),
    case("openai", "reply", reply("openai", "", choice={"finish_reason": "content_filter"}), "filtered", BLOCKED, 2),
    case("azure", "prompt", azure.FILTERED, "filtered", f"{STOPPED} (self_harm, medium)", 2),
    case("azure", "reply", reply("azure", "", choice=azure.FILTERED_REPLY), "filtered", BLOCKED, 2),
    case("openrouter", "moderation", open_servers.ROUTER_FLAGGED, "filtered", f"{STOPPED} (self-harm)", 2),
    case("openrouter", "moderation behind it", open_servers.router_error(
        400, "Provider returned error", raw='{"error":{"message":"Content Exists Risk"}}'), "filtered", STOPPED, 2),
    case("openrouter", "privacy", open_servers.router_error(404, PRIVACY), "stops",
         "no provider of 'openai/gpt-5-mini' is allowed by the account's privacy settings", 1),
    case("openrouter", "routing by parameters", open_servers.router_error(404, PARAMETERS), "stops",
         "no provider of 'openai/gpt-5-mini' takes all that is sent", 1,
         {"extra": {"provider": {"require_parameters": True}}}),
    # -- values that aren't taken, and credit ------------------------------------------------------------------
    case("openai", "a temperature that is too high", openai.error(
        400, "Invalid 'temperature': decimal above maximum value. Expected a value <= 1, but got 1.5 instead.",
        param="temperature", code="decimal_above_max_value"), "stops", "give a lower `temperature`", 1,
         {"temperature": 1.5}),
    case("gemini", "a temperature that is too high", gemini.error(
        400, BAD_ARGUMENT, "temperature must be less than or equal to 1.0"), "stops", "give a lower `temperature`", 1,
         {"temperature": 1.5}),
    case("open", "DashScope, no credit", openai.error(
        400, "Access denied, please make sure your account is in good standing.", kind="Arrearage", code="Arrearage"),
         "stops", "has no credit left or is at its spending limit", 1),
    case("openrouter", "a key's limit", open_servers.router_error(
        403, "Key limit exceeded (total limit). Manage it using https://openrouter.ai/settings/keys"),
         "stops", "has no credit left or is at its spending limit", 1),
    case("anthropic", "output", anthropic.error(400, INVALID, "Output blocked by content filtering policy"),
         "filtered", "content filter stopped", 2),
    case("anthropic", "refusal", reply("anthropic", "", stop_reason="refusal"), "refused", "no reason is given", 2),
    case("bedrock", "output", bedrock.error(400, VALIDATION, "Output blocked by content filtering policy"),
         "filtered", "content filter stopped", 2),
    case("gemini", "a reason", gemini.blocked("SAFETY"), "filtered", "blocked the prompt: SAFETY", 2),
    case("gemini", "no reason", Answer({"promptFeedback": {}, "usageMetadata": {"promptTokenCount": 9}}),
         "filtered", "blocked the prompt: no reason is given", 2),
    case("gemini", "no candidates", Answer({"usageMetadata": {"promptTokenCount": 9}, "modelVersion": "gemini"}),
         "filtered", "blocked the prompt: no reason is given", 2),
    case("gemini", "reply", reply("gemini", candidate={"finishReason": "PROHIBITED_CONTENT", "content": {}}),
         "filtered", "ended the reply: PROHIBITED_CONTENT", 2),
    # -- memory and other limits of servers --------------------------------------------------------------------
    case("ollama", "memory", ollama.error(500, LLAMA_MEMORY), "stops", "hasn't enough memory for llama3.2", 1),
    case("ollama", "memory, 404", ollama.error(404, "model requires more system memory (39.1 GiB) than is available"),
         "stops", "hasn't enough memory for llama3.2", 1),
    case("open", "vLLM, memory", open_servers.vllm_error(NO_MEMORY, 500, kind="InternalServerError"),
         "stops", "the server hasn't enough memory for tiny", 1),
    case("open", "vLLM, memory, 404", open_servers.vllm_error(NO_MEMORY, 404), "stops", "hasn't enough memory", 1),
    case("open", "Ollama's other interface", openai.error(500, LLAMA_MEMORY, kind="api_error"),
         "stops", "hasn't enough memory", 1),
    case("open", "DeepSeek, resources", said_once(openai.chat(
        Call("POST", "/", {}, {}, {}, 1), '{"rea', choice={"finish_reason": "insufficient_system_resource"})),
         "answered", RATED, 3),
    case("open", "too long", open_servers.VLLM_TOO_LONG, "not asked", "is more than the model takes in", 2),
    case("open", "DashScope, too long", openai.error(
        400, "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]",
        code="invalid_parameter_error"), "not asked", "is more than the model takes in", 2),
    case("open", "busy", said_once(openai.error(429, "Too many requests")), "answered", RATED, 3),
    case("open", "not JSON", said_once(Answer(b"<html>Bad gateway</html>", 502)), "answered", RATED, 3),
    case("open", "no temperature", no("temperature", open_servers.NO_TEMPERATURE), "answered", RATED, 3),
]  # fmt: skip


def test_there_are_eighty() -> None:
    assert len(SITUATIONS) >= 80


@pytest.mark.parametrize(
    ("name", "behaviour", "state", "said", "requests", "how"),
    [
        pytest.param(*situation.values, *(() if len(situation.values) == 6 else ({},)), id=situation.id,
                     marks=situation.marks)
        for situation in SITUATIONS
    ],
)  # fmt: skip
def test_a_situation(
    name: str, behaviour: Behaviour | Answer, state: str, said: str, requests: int, how: dict[str, Any],
    provider: Providers, tmp_path: Path,
) -> None:  # fmt: skip
    ended = judged(provider(name), behaviour, tmp_path, **how)
    assert (said in ended.said, ended.state, len(ended.bodies)) == (True, state, requests), ended
    if state == "unusable" and said == USED_UP:
        assert [judgement.cut_at for judgement in ended.judgements] == [4096] * 2


@pytest.mark.parametrize("how", [{}, {"extra": {"stream": True}}, {"expected": True, "reasoning_effort": "low"}])
def test_a_server_of_llama_cpp_is_read_whatever_it_leaves_out(
    how: dict[str, Any], provider: Providers, tmp_path: Path
) -> None:
    """Without ``usage`` tokens and costs aren't known, which is not 0; what it ignores is no error."""
    came = judged(provider("open"), open_servers.llama_chat, tmp_path, **how)
    assert (came.said, [judgement.state for judgement in came.judgements]) == (RATED, ["answered"] * 2)
    assert len(came.bodies) == 2
    for judgement in came.judgements:
        assert (judgement.input_tokens, judgement.output_tokens, judgement.cost) == (None, None, None)
        assert judgement.served is not None
        assert judgement.served.version == "gpt-3.5-turbo b6002-0a5bc91d"
        assert judgement.expected is None
