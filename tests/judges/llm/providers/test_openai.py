"""Judging where OpenAI's documented behaviours are met."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import bedside
from tests.judges.llm.providers import openai
from tests.judges.llm.providers.command import JudgeCommand
from tests.judges.llm.providers.server import Answer, Call, ProviderServer

pytestmark = pytest.mark.server
CHATS = "/v1/chat/completions"
KEY = "sk-test-key-of-no-one"


@pytest.fixture(autouse=True)
def environment(server: ProviderServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def test_a_judgement(server: ProviderServer, command: JudgeCommand) -> None:
    with server.behaving(openai.chat):
        ended = command("openai/gpt-4.1")
    assert ended.code == 0, ended.err
    assert len(ended.ratings) == len(server.sent(CHATS)) == 2
    assert server.calls[0].headers["authorization"] == f"Bearer {KEY}"
    sent = server.sent(CHATS)[0]
    assert (sent["temperature"], sent["max_completion_tokens"]) == (0, 4096)
    assert sent["response_format"]["type"] == "json_schema"
    assert (ended.entry["temperature"], "not_taken" in ended.entry) == (0, False)


# -- parameters -------------------------------------------------------------------------------------


def test_the_first_command_of_the_readme(server: ProviderServer, command: JudgeCommand) -> None:
    """gpt-5-mini takes no temperature but its own, and no ``max_tokens``: known from the table, nothing is refused."""
    pytest.importorskip("deepeval")
    refusing = openai.refusing_parameters(temperature="unsupported_value", max_tokens="unsupported_parameter")
    with server.behaving(refusing):
        ended = command("openai/gpt-5-mini")
        assert ended.code == 0, ended.err
        assert len(server.calls) == 2, "nothing was refused"
        assert all("temperature" not in sent for sent in server.sent(CHATS))
        assert "openai/gpt-5-mini: it takes no temperature, which is left to the provider." in ended.said
        assert ended.entry["temperature"] is None
        assert ended.entry["not_taken"]["temperature"] == {"wanted": 0.0, "judgements": 2, "of": 2}
        assert {judgement.unsent for judgement in ended.judgements} == {("temperature",)}
        assert all(row["value"] is not None for row in ended.ratings)
        again = command("openai/gpt-5-mini")
        assert len(server.calls) == 2, "a rerun asks nothing"
    assert "it takes no temperature" in again.out
    assert again.entry["temperature"] is None
    report = command.run("report", ended.folder)
    assert report.code == 0
    words = (ended.folder / "report" / "report.html").read_text("utf-8")
    assert "the provider&#x27;s temperature" in words or "the provider's temperature" in words


def test_what_a_table_does_not_know_is_learnt_once(server: ProviderServer, command: JudgeCommand) -> None:
    refusing = openai.refusing_parameters(
        max_tokens="unsupported_parameter", temperature="unsupported_value", seed="unsupported_parameter"
    )
    with server.behaving(refusing):
        ended = command("openai/gpt-of-tomorrow", "--temperature", "0.5", "--max-concurrency", "1")
        assert ended.code == 0, ended.err
        assert len(server.calls) == 3 + 2, "each is refused once"
        assert ended.entry["not_taken"].keys() == {"temperature", "seed"}
        assert ended.entry["seed"] is None
        assert ended.entry["max_tokens"] == 4096
        assert server.sent(CHATS)[-1]["max_completion_tokens"] == 4096
        before = len(server.calls)
        command("openai/gpt-of-tomorrow", "--temperature", "0.5")
        assert len(server.calls) == before
    assert [judgement.calls for judgement in ended.judgements] == [1, 1]


def test_a_small_limit_of_calls_is_not_used_up_by_learning(
    server: ProviderServer, command: JudgeCommand
) -> None:
    with server.behaving(openai.refusing_parameters(temperature="unsupported_value")):
        ended = command("openai/gpt-of-tomorrow", "--max-calls", "1")
    assert [judgement.state for judgement in ended.judgements] == ["answered"]


def test_differing_settings_are_asked_and_kept_apart(server: ProviderServer, command: JudgeCommand) -> None:
    with server.behaving(openai.refusing_parameters(temperature="unsupported_value")):
        command("openai/gpt-of-tomorrow", "--max-concurrency", "1")
        command("openai/gpt-of-tomorrow", "--temperature", "none")
        ended = command("openai/gpt-of-tomorrow")
    wanted = sorted(judgement.parameters for judgement in ended.judgements)
    assert ['"temperature":0.0' in text for text in wanted] == [True, True, False, False]
    assert len(server.calls) == 1 + 2 + 2


def test_judgements_of_one_setting_that_were_sent_otherwise_are_told_apart(
    server: ProviderServer, command: JudgeCommand
) -> None:
    """A model that takes a temperature at first, and none later."""

    def turning(call: Call) -> Answer:
        if call.number > 1 and "temperature" in call.body:
            return openai.error(
                400, "Unsupported value: 'temperature'", param="temperature", code="unsupported_value"
            )
        return openai.chat(call)

    with server.behaving(turning):
        ended = command("openai/gpt-of-tomorrow", "--max-concurrency", "1")
    assert "(in 1 of 2 judgements, not in the others)" in ended.said
    assert ended.entry["temperature"] == 0
    assert ended.entry["not_taken"]["temperature"] == {"wanted": 0.0, "judgements": 1, "of": 2}
    command.run("report", ended.folder)
    words = " ".join((ended.folder / "report" / "report.html").read_text("utf-8").split())
    assert "temperature 0 (the provider's in 1 of 2 judgements)" in words.replace("&#x27;", "'")


@pytest.mark.parametrize(
    ("model", "field"), [("gpt-5-mini", "reasoning_effort"), ("gpt-new", "reasoning_effort")]
)
def test_effort_of_reasoning(model: str, field: str, server: ProviderServer, command: JudgeCommand) -> None:
    with server.behaving(openai.chat):
        ended = command(f"openai/{model}", "--reasoning-effort", "low")
    assert {sent[field] for sent in server.sent(CHATS)} == {"low"}
    assert ended.entry["reasoning_effort"] == "low"


def test_an_effort_that_is_not_taken(server: ProviderServer, command: JudgeCommand) -> None:
    with server.behaving(openai.refusing_parameters(reasoning_effort="unsupported_parameter")):
        ended = command("openai/gpt-4.1", "--reasoning-effort", "low")
    assert ended.code == 0, ended.err
    assert "it takes no effort of reasoning" in ended.said
    with server.behaving(openai.refusing_parameters(reasoning_effort="unsupported_value")):
        ended = command("openai/gpt-5-mini", "--reasoning-effort", "minimal")
    assert "doesn't take the reasoning effort minimal" in ended.line
    assert "--reasoning-effort" in ended.line
    assert command("openai/gpt-5-mini", "--reasoning-effort", "much").code == 2


def test_probabilities_that_are_not_taken(server: ProviderServer, command: JudgeCommand) -> None:
    with server.behaving(openai.refusing_parameters(logprobs="unsupported_parameter")):
        ended = command("openai/gpt-of-tomorrow", "--expected")
    assert ended.code == 0, ended.err
    assert "it gives no probabilities of tokens" in ended.said
    expected = [row for row in ended.ratings if row["metric"] == "empathy.expected"]
    assert {row["value"] for row in expected} == {None}


# -- tokens and costs -------------------------------------------------------------------------------


def test_tokens_of_reasoning_and_of_the_cache_are_counted_and_priced(
    server: ProviderServer, command: JudgeCommand
) -> None:
    with server.behaving(openai.reasoning):
        ended = command("openai/gpt-of-tomorrow", "--price", "in=1,out=10,cached=0.1")
    (count,) = ended.entry["rubrics"]
    assert (count["input_tokens"], count["cached_tokens"]) == (4000, 3000)
    assert (count["output_tokens"], count["reasoning_tokens"]) == (680, 600)
    assert count["cost"] == pytest.approx((1000 * 1 + 3000 * 0.1 + 680 * 10) / 1e6)
    assert "Of the tokens out, 600 are of reasoning before the replies." in ended.said
    assert "3,000 were in the provider's cache" in ended.said
    assert {judgement.reasoning_tokens for judgement in ended.judgements} == {300}
    assert sum(judgement.cost or 0 for judgement in ended.judgements) == pytest.approx(count["cost"])


def test_without_their_own_price_cached_tokens_cost_as_others(
    server: ProviderServer, command: JudgeCommand
) -> None:
    with server.behaving(openai.reasoning):
        ended = command("openai/gpt-of-tomorrow", "--price", "in=1,out=10")
    assert ended.entry["rubrics"][0]["cost"] == pytest.approx((4000 + 6800) / 1e6)
    assert "cost as the others do unless --price" in ended.said


def test_all_tokens_used_for_reasoning(server: ProviderServer, command: JudgeCommand) -> None:
    with server.behaving(openai.out_of_tokens):
        ended = command("openai/gpt-5-mini", "--max-tokens", "64")
        assert ended.code == 0, ended.err
        assert len(server.calls) == 2, "the same limit would come to the same"
        (error,) = {row["error"] for row in ended.ratings}
        assert "used all 64 tokens for reasoning before its reply: allow it more (max_tokens)" in error
        assert "2 of these were cut off at the limit of tokens: with a larger --max-tokens" in ended.said
        command("openai/gpt-5-mini", "--max-tokens", "64")
        assert len(server.calls) == 2, "it is kept"
    with server.behaving(openai.reasoning):
        ended = command("openai/gpt-5-mini", "--max-tokens", "4096")
        assert len(server.calls) == 2, "more tokens: asked again"
        assert all(row["value"] is not None for row in ended.ratings)
        command("openai/gpt-5-mini", "--max-tokens", "9000")
        assert len(server.calls) == 2, "what wasn't cut is as good with more tokens"


# -- refusals and filters ---------------------------------------------------------------------------


def test_a_refusal_is_a_reason_of_its_own(server: ProviderServer, command: JudgeCommand) -> None:
    with server.behaving(openai.declining("I can't help with that.")):
        ended = command("openai/gpt-4.1")
        assert len(server.calls) == 2, "it is not asked again"
        command("openai/gpt-4.1")
        assert len(server.calls) == 2
    assert {row["error"] for row in ended.ratings} == {"the judge refused: I can't help with that."}
    assert "2 refused by the judge." in ended.said
    assert "could not be used" not in ended.said
    assert command.run("judgements", "list", ended.folder, "--state", "refused").out.count("refused") >= 2


def test_a_run_without_text_keeps_no_words_of_a_refusal(
    server: ProviderServer, command: JudgeCommand
) -> None:
    with server.behaving(openai.declining("I can't speak of sleeping badly.")):
        ended = command("openai/gpt-4.1", "--no-text")
    assert {row["error"] for row in ended.ratings} == {"the judge refused"}
    assert b"sleeping" not in (ended.folder / "judgements.sqlite").read_bytes()


def test_a_filter_stops_a_reply(server: ProviderServer, command: JudgeCommand) -> None:
    with server.behaving(lambda call: openai.chat(call, text="", choice={"finish_reason": "content_filter"})):
        ended = command("openai/gpt-4.1")
    assert len(server.calls) == 2
    assert {row["error"] for row in ended.ratings} == {"the provider's content filter stopped the reply"}
    assert "2 stopped by the provider's content filter." in ended.said


# -- errors -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", openai.STOPS)
def test_what_ends_judging_is_one_line_with_its_cure(
    name: str, server: ProviderServer, command: JudgeCommand
) -> None:
    answer, says = openai.STOPS[name]
    with server.behaving(lambda _: answer):
        ended = command("openai/gpt-4.1", "--max-concurrency", "1")
    assert ended.code == 2
    assert [words for words in says if words not in ended.line] == [], ended.line
    assert KEY not in ended.err
    assert len(server.calls) == 1


def test_a_model_that_is_not_there(server: ProviderServer, command: JudgeCommand) -> None:
    with server.behaving(openai.no_such_model(["gpt-4.1", "gpt-4.1-mini", "whisper-1"])):
        ended = command("openai/gpt-4.1-minni")
    assert "has no model 'gpt-4.1-minni'" in ended.line
    assert "did you mean gpt-4.1-mini" in ended.line


def test_a_prompt_that_is_too_long_leaves_the_others(server: ProviderServer, command: JudgeCommand) -> None:
    said = (
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens."
    )

    def behaviour(call: Call) -> Answer:
        if "2 nights" in call.body["messages"][0]["content"]:
            return openai.error(400, said, param="messages", code="context_length_exceeded")
        return openai.chat(call)

    with server.behaving(behaviour):
        ended = command("openai/gpt-4.1")
    assert ended.code == 0, ended.err
    errors = {row["transcript_id"]: row["error"] for row in ended.ratings}
    assert errors["talk-1"] is None
    assert "more than the model takes in" in errors["talk-0"]
    assert "9000 tokens" in errors["talk-0"]
    assert len(server.calls) == 2


@pytest.mark.parametrize(
    "headers",
    [
        {"Retry-After": "0.3"},
        {"retry-after-ms": "300"},
        {"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "300ms"},
        {"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "0.3s"},
    ],
    ids=lambda headers: next(reversed(headers)),
)
def test_a_rate_limit_is_waited_out(
    headers: dict[str, str], server: ProviderServer, command: JudgeCommand
) -> None:
    said = "Rate limit reached for gpt-4.1 in organization org on requests per min (RPM): Limit 3, Used 3."

    def behaviour(call: Call) -> Answer:
        if call.number == 1:
            return openai.error(429, said, kind="requests", code="rate_limit_exceeded", headers=headers)
        return openai.chat(call)

    with server.behaving(behaviour):
        ended = command("openai/gpt-4.1", "--max-concurrency", "1")
    assert ended.code == 0, ended.err
    assert len(server.calls) == 3
    assert all(row["value"] is not None for row in ended.ratings)


@pytest.mark.parametrize("status", [500, 503, 529])
def test_errors_that_pass(status: int, server: ProviderServer, command: JudgeCommand) -> None:
    def behaviour(call: Call) -> Answer:
        if call.number == 1:
            return openai.error(status, "The engine is currently overloaded, please try again later.")
        return openai.chat(call)

    with server.behaving(behaviour):
        ended = command("openai/gpt-4.1")
    assert all(row["value"] is not None for row in ended.ratings)


def test_what_is_refused_for_good_is_not_to_be_repeated(
    server: ProviderServer, command: JudgeCommand
) -> None:
    with server.behaving(lambda _: openai.error(400, "We could not parse the JSON body of your request.")):
        ended = command("openai/gpt-4.1", "--passes", "2", "--max-concurrency", "1")
    assert "would be refused again" in ended.line
    assert "run the same command again" not in ended.line


# -- replies ----------------------------------------------------------------------------------------

GOOD = '{"reason": "turn 1", "score": 4}'


@pytest.mark.parametrize(
    "text",
    [
        f"```json\n{GOOD}\n```",
        f'<think>perhaps {{"reason": "no", "score": 1}}</think>{GOOD}',
        f'perhaps {{"reason": "no", "score": 1}}</think>\n\n{GOOD}',
        f"Here it is:\n{GOOD}\nI hope that helps.",
    ],
    ids=["fences", "thought", "thought opened in the prompt", "words around"],
)
def test_replies_in_other_words(text: str, server: ProviderServer, command: JudgeCommand) -> None:
    with server.behaving(lambda call: openai.chat(call, text=text)):
        ended = command("openai/gpt-4.1")
    assert {row["value"] for row in ended.ratings} == {4.0}
    assert len(server.calls) == 2


TOOL = {
    "content": None,
    "tool_calls": [{"id": "1", "type": "function", "function": {"name": "rate", "arguments": "{}"}}],
}


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        (
            {"text": '{"reason": "turn 1", "sc', "choice": {"finish_reason": "length"}},
            "cut off at 4096 tokens",
        ),
        ({"text": '<think>perhaps {"reason": "no", "score": 1}'}, "still thinking"),
        ({"message": TOOL}, "called a tool in place of replying"),
        ({"text": ""}, "the reply is empty"),
    ],
    ids=["cut", "unclosed thought", "tool", "empty"],
)
def test_replies_that_are_none(
    parts: dict[str, object], says: str, server: ProviderServer, command: JudgeCommand
) -> None:
    with server.behaving(lambda call: openai.chat(call, **parts)):  # type: ignore[arg-type]
        ended = command("openai/gpt-4.1")
    assert len(server.calls) == 6, "asked three times"
    assert all(says in row["error"] for row in ended.ratings), ended.ratings[0]["error"]
    assert "2 replies that could not be used, after asking again." in ended.said


# -- the doctor, and Python -------------------------------------------------------------------------


def test_the_doctor_asks_as_judging_does(server: ProviderServer, command: JudgeCommand) -> None:
    refusing = openai.refusing_parameters(temperature="unsupported_value", max_tokens="unsupported_parameter")
    with server.behaving(refusing):
        ended = command.run("doctor", "--judge", "openai/gpt-of-tomorrow")
    assert ended.code == 0, ended.out
    words = " ".join(ended.out.split())
    assert "it takes no temperature" in words
    assert "price isn't known" in words
    assert server.sent(CHATS)[0]["temperature"] == 0
    with server.behaving(openai.reasoning):
        words = " ".join(command.run("doctor", "--judge", "openai/gpt-5-mini").out.split())
    assert "300 of its 340 tokens are for reasoning" in words
    with server.behaving(openai.declining("No.")):
        ended = command.run("doctor", "--judge", "openai/gpt-4.1")
    assert ended.code == 1
    assert "the judge refused" in " ".join(ended.out.split())


def test_from_python(server: ProviderServer, command: JudgeCommand) -> None:
    with server.behaving(openai.refusing_parameters(temperature="unsupported_value")):
        scored = command("openai/gpt-4.1")
        judged = bedside.judge(
            scored.folder, "openai/gpt-5-mini", rubrics="empathy", reasoning_effort="low", max_tokens=500
        )
        assert server.sent(CHATS)[-1]["reasoning_effort"] == "low"
        assert server.sent(CHATS)[-1]["max_completion_tokens"] == 500
        parameters = judged.judges[0].parameters
        assert parameters["temperature"] is None
        assert "it takes no temperature" in str(judged)
        plan = bedside.preview_judging(
            scored.folder, "openai/gpt-5-mini", rubrics="empathy", reasoning_effort="low", max_tokens=900
        )
    assert [(row.calls, row.stored) for row in plan.results] == [(0, 2)]


def test_batch_files_learn_what_is_not_taken(command: JudgeCommand, tmp_path: Path) -> None:
    calls, answers, more = (tmp_path / name for name in ("calls.jsonl", "answers.jsonl", "more.jsonl"))
    command("openai/gpt-of-tomorrow", "--batch-out", calls)
    asked = [json.loads(line) for line in calls.read_text("utf-8").splitlines()]
    assert {line["body"]["temperature"] for line in asked} == {0}
    refusal = openai.error(400, "Unsupported value", param="temperature", code="unsupported_value")
    _write(answers, [(line["custom_id"], 400, refusal.body) for line in asked])
    command.run("judgements", "import", tmp_path / "run", answers, "--batch-out", more)
    asked = [json.loads(line) for line in more.read_text("utf-8").splitlines()]
    assert len(asked) == 2
    assert all("temperature" not in line["body"] for line in asked)
    good = openai.chat(Call("POST", "/", {}, {}, asked[0]["body"], 1), text=GOOD)
    _write(more, [(line["custom_id"], 200, good.body) for line in asked])
    ended = command.run("judgements", "import", tmp_path / "run", answers, more)
    assert "it takes no temperature" in ended.said
    assert ended.entry["temperature"] is None
    assert {row["value"] for row in ended.ratings} == {4.0}


def _write(path: Path, answers: list[tuple[str, int, object]]) -> None:
    lines = [
        {"custom_id": custom_id, "response": {"status_code": status, "body": body}, "error": None}
        for custom_id, status, body in answers
    ]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")
