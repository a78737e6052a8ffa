"""Judging where behaviours of OpenAI, and of servers and routers that speak its protocol, are met."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import bedside
from tests.judges.llm.providers import open_servers, openai
from tests.judges.llm.providers.openai import PARAMETER, VALUE, refusing_parameters
from tests.judges.llm.providers.profiles import Provider, Providers
from tests.judges.llm.providers.server import Answer, Behaviour, Call

pytestmark = pytest.mark.server
CHATS = "/v1/chat/completions"
ONE_BY_ONE = ("--max-concurrency", 1)
GOOD = '{"reason": "turn 1", "score": 4}'
TOMORROW = "gpt-of-tomorrow"
NO_TEMPERATURE = refusing_parameters(temperature=VALUE)


@pytest.fixture
def asked(provider: Providers) -> Provider:
    return provider("openai")


def report_of(asked: Provider, folder: Path) -> str:
    assert asked.command.run("report", folder).code == 0
    words = (folder / "report" / "report.html").read_text("utf-8").replace("&#x27;", "'")
    return " ".join(words.split())


# -- parameters -------------------------------------------------------------------------------------


def test_the_first_command_of_the_readme(asked: Provider) -> None:
    """gpt-5-mini takes no temperature but its own, and no ``max_tokens``: known from the table, nothing is refused."""
    pytest.importorskip("deepeval")
    ended = asked.rated(refusing_parameters(temperature=VALUE, max_tokens=PARAMETER), model="gpt-5-mini")
    assert ["temperature" in body for body in asked.server.sent(CHATS)] == [False] * 2, "nothing was refused"
    assert "openai/gpt-5-mini: it takes no temperature, which is left to the provider." in ended.said
    assert ended.entry["not_taken"]["temperature"] == {"wanted": 0.0, "judgements": 2, "of": 2}
    assert {judgement.unsent for judgement in ended.judgements} == {("temperature",)}
    again = asked.rated(model="gpt-5-mini")
    assert asked.calls == []
    assert "it takes no temperature" in again.out
    assert again.entry["temperature"] is None
    assert "the provider's temperature" in report_of(asked, ended.folder)


def test_what_a_table_does_not_know_is_learnt_once(asked: Provider) -> None:
    refusing = refusing_parameters(max_tokens=PARAMETER, temperature=VALUE, seed=PARAMETER)
    ended = asked.rated(refusing, "--temperature", "0.5", *ONE_BY_ONE, model=TOMORROW)
    assert len(asked.calls) == 3 + 2, "each is refused once"
    assert asked.server.sent(CHATS)[-1]["max_completion_tokens"] == 4096
    assert ended.entry["not_taken"].keys() == {"temperature", "seed"}
    assert (ended.entry["seed"], ended.entry["max_tokens"]) == (None, 4096)
    assert [judgement.calls for judgement in ended.judgements] == [1, 1]
    asked.rated(refusing, "--temperature", "0.5", model=TOMORROW)
    assert asked.calls == []


def test_a_small_limit_of_calls_is_not_used_up_by_learning(asked: Provider) -> None:
    ended = asked.judge(NO_TEMPERATURE, "--max-calls", "1", model=TOMORROW)
    assert [judgement.state for judgement in ended.judgements] == ["answered"]


def test_differing_settings_are_asked_and_kept_apart(asked: Provider) -> None:
    requests = []
    for options in (ONE_BY_ONE, ("--temperature", "none"), ()):
        ended = asked.rated(NO_TEMPERATURE, *options, model=TOMORROW)
        requests.append(len(asked.calls))
    wanted = sorted(judgement.parameters for judgement in ended.judgements)
    assert ['"temperature":0.0' in text for text in wanted] == [True, True, False, False]
    assert requests == [1 + 2, 2, 0]


def test_judgements_of_one_setting_that_were_sent_otherwise_are_told_apart(asked: Provider) -> None:
    """A model that takes a temperature at first, and none later."""

    def turning(call: Call) -> Answer:
        return openai.chat(call) if call.number == 1 else NO_TEMPERATURE(call)

    ended = asked.rated(turning, *ONE_BY_ONE, model=TOMORROW)
    assert "(in 1 of 2 judgements, not in the others)" in ended.said
    assert ended.entry["temperature"] == 0
    assert ended.entry["not_taken"]["temperature"] == {"wanted": 0.0, "judgements": 1, "of": 2}
    assert "temperature 0 (the provider's in 1 of 2 judgements)" in report_of(asked, ended.folder)


def test_an_effort_that_is_not_taken(asked: Provider) -> None:
    ended = asked.rated(refusing_parameters(reasoning_effort=PARAMETER), "--reasoning-effort", "low")
    assert "it takes no effort of reasoning" in ended.said
    options = ("--reasoning-effort", "minimal")
    ended = asked.judge(refusing_parameters(reasoning_effort=VALUE), *options, model="gpt-5-mini")
    assert "doesn't take the reasoning effort minimal" in ended.line
    assert "--reasoning-effort" in ended.line
    assert asked.judge(None, "--reasoning-effort", "much", model="gpt-5-mini").code == 2


def test_probabilities_that_are_not_taken(asked: Provider) -> None:
    ended = asked.judge(refusing_parameters(logprobs=PARAMETER), "--expected", model=TOMORROW)
    assert ended.code == 0, ended.err
    assert "it gives no probabilities of tokens" in ended.said
    assert {row["value"] for row in ended.ratings if row["metric"] == "empathy.expected"} == {None}


@pytest.mark.parametrize(
    ("answer", "field", "options"),
    [
        (open_servers.NO_TEMPERATURE, "temperature", ()),
        (open_servers.vllm_error("Unsupported parameter: seed", nested=False), "seed", ("--temperature", "0.5")),
        (open_servers.pydantic_error(["temperature"], "Extra inputs are not permitted", "extra_forbidden"),
         "temperature", ()),
    ],
    ids=["vLLM", "vLLM before", "FastAPI"],
)  # fmt: skip
def test_a_parameter_that_a_server_refuses(
    answer: Answer, field: str, options: tuple[str, ...], provider: Providers
) -> None:
    asked = provider("open")
    ended = asked.rated(asked.where(f'"{field}":', answer), *ONE_BY_ONE, *options)
    assert len(asked.calls) == 3
    assert ended.entry["not_taken"].keys() == {field}
    assert f"it takes no {field}" in ended.said


def test_no_schema_but_words(provider: Providers) -> None:
    asked = provider("open")
    no_grammar = open_servers.llama_error(400, "Failed to parse grammar", "invalid_request_error")
    ended = asked.rated(asked.where('"response_format":', no_grammar), *ONE_BY_ONE)
    assert "it takes no JSON Schema, so that the form of its reply is described in words" in ended.said
    assert ended.entry["not_taken"]["schema"]["judgements"] == 2


def test_two_servers_of_one_model_learn_apart(provider: Providers) -> None:
    """One takes a temperature, the other doesn't: each is sent what it takes."""
    asked = provider("open")
    url = asked.server.url

    def behaviour(call: Call) -> Answer:
        strict = call.path.startswith("/strict/")
        return open_servers.NO_TEMPERATURE if strict and "temperature" in call.body else openai.chat(call)

    with asked.server.behaving(behaviour):
        ended = asked.command(
            f"{url}/strict/v1#tiny", "--judge", f"{url}/v1#tiny", "--passes", "8", "--max-concurrency", "2"
        )
        assert ended.code == 0, ended.err
        strict = [call.body for call in asked.calls if call.path.startswith("/strict/")]
        free = [call.body for call in asked.calls if not call.path.startswith("/strict/")]
    assert all("temperature" in body for body in free)
    assert len(ended.judgements) == 16
    left_out = [judgement for judgement in ended.judgements if judgement.unsent]
    assert {str(judgement.endpoint) for judgement in left_out} <= {f"{url}/strict/v1"}
    assert len(left_out) == sum("temperature" not in body for body in strict)
    if left_out and len(left_out) < 16:
        assert f"(in {len(left_out)} of 16 judgements, not in the others)" in ended.said


def test_a_router_is_sent_what_the_model_takes(provider: Providers) -> None:
    pytest.importorskip("deepeval")
    asked = provider("openrouter")
    ended = asked.rated()
    sent = asked.server.sent("/api/v1/chat/completions")[0]
    assert (sent["model"], "temperature" in sent) == ("openai/gpt-5-mini", False)
    assert "it takes no temperature" in ended.said


def test_extra_fields_are_sent_and_kept_with_the_run(asked: Provider) -> None:
    ended = asked.rated(None, "--extra", "service_tier=flex", "--extra", 'metadata={"study": [1]}', "--extra", "a.b=1")
    sent = asked.server.sent(CHATS)[0]
    assert (sent["service_tier"], sent["metadata"], sent["a"]) == ("flex", {"study": [1]}, {"b": 1})
    assert ended.entry["wanted"]["extra"] == {"service_tier": "flex", "metadata": {"study": [1]}, "a": {"b": 1}}
    asked.rated(None, "--extra", "a.b=1")
    assert asked.calls == [], "how it is billed makes no other judgement"
    asked.rated(None, "--extra", "a.b=2")
    assert len(asked.calls) == 2
    for wrong, words in (("a", "is not KEY=VALUE"), ("seed=1", "seed is filled in by bedside; say it by --seed")):
        assert words in asked.judge(None, "--extra", wrong).line


# -- tokens and costs -------------------------------------------------------------------------------


def test_tokens_of_reasoning_and_of_the_cache_are_counted_and_priced(asked: Provider) -> None:
    ended = asked.rated(openai.reasoning, "--price", "in=1,out=10,cached=0.1", model=TOMORROW)
    (count,) = ended.entry["rubrics"]
    assert (count["input_tokens"], count["cached_tokens"]) == (4000, 3000)
    assert (count["output_tokens"], count["reasoning_tokens"]) == (680, 600)
    assert count["cost"] == pytest.approx((1000 * 1 + 3000 * 0.1 + 680 * 10) / 1e6)
    assert "Of the tokens out, 600 are of reasoning before the replies." in ended.said
    assert "3,000 were in the provider's cache" in ended.said
    assert {judgement.reasoning_tokens for judgement in ended.judgements} == {300}
    assert sum(judgement.cost or 0 for judgement in ended.judgements) == pytest.approx(count["cost"])


def test_without_their_own_price_cached_tokens_cost_as_others(asked: Provider) -> None:
    ended = asked.rated(openai.reasoning, "--price", "in=1,out=10", model=TOMORROW)
    assert ended.entry["rubrics"][0]["cost"] == pytest.approx((4000 + 6800) / 1e6)
    assert "at its lower price where that is known (--price cached=N)" in ended.said


def test_all_tokens_used_for_reasoning(asked: Provider) -> None:
    requests = []
    used_up, enough = openai.out_of_tokens, openai.reasoning
    for behaviour, limit in ((used_up, "64"), (used_up, "64"), (enough, "4096"), (enough, "9000")):
        ended = asked.judge(behaviour, "--max-tokens", limit, model="gpt-5-mini")
        assert ended.code == 0, ended.err
        requests.append(len(asked.calls))
        if len(requests) == 1:
            (error,) = {row["error"] for row in ended.ratings}
            assert "used all 64 tokens for reasoning before its reply: allow it more (max_tokens)" in error
            assert "2 of these cut off at the limit of tokens: with a larger --max-tokens" in ended.said
    # The same limit would come to the same; with more it is asked again, and what wasn't cut is as good with more yet.
    assert requests == [2, 0, 2, 0]
    assert all(row["value"] is not None for row in ended.ratings)


# -- refusals and replies ---------------------------------------------------------------------------


def test_a_refusal_is_a_reason_of_its_own(asked: Provider) -> None:
    refusing = openai.declining("I can't help with that.")
    ended = asked.judge(refusing)
    assert len(asked.calls) == 2, "it is not asked again"
    assert {row["error"] for row in ended.ratings} == {"the judge refused: I can't help with that."}
    assert "2 refused by the judge." in ended.said
    assert "could not be used" not in ended.said
    asked.judge(refusing)
    assert asked.calls == []
    listed = asked.command.run("judge", "answers", "list", ended.folder, "--state", "refused")
    assert listed.out.count("refused") >= 2


def test_a_run_without_text_keeps_no_words_of_a_refusal(asked: Provider) -> None:
    ended = asked.judge(openai.declining("I can't speak of sleeping badly."), "--no-text")
    assert {row["error"] for row in ended.ratings} == {"the judge refused"}
    assert b"sleeping" not in (ended.folder / "judgements.sqlite").read_bytes()


def test_what_is_refused_for_good_is_not_to_be_repeated(asked: Provider) -> None:
    refusal = openai.error(400, "We could not parse the JSON body of your request.")
    ended = asked.judge(refusal, "--passes", "2", *ONE_BY_ONE)
    assert "would be refused again" in ended.line
    assert "run the same command again" not in ended.line


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
def test_replies_in_other_words(text: str, asked: Provider) -> None:
    ended = asked.rated(lambda call: openai.chat(call, text=text))
    assert {row["value"] for row in ended.ratings} == {4.0}
    assert len(asked.calls) == 2


# -- the doctor, Python, batch files ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("behaviour", "model", "code", "words"),
    [
        (refusing_parameters(temperature=VALUE, max_tokens=PARAMETER), TOMORROW, 0,
         ["it takes no temperature", "price isn't known"]),
        (openai.reasoning, "gpt-5-mini", 0, ["300 of its 340 tokens are for reasoning"]),
        (openai.declining("No."), "gpt-4.1", 1, ["the judge refused"]),
    ],
    ids=["parameters", "reasoning", "refusal"],
)  # fmt: skip
def test_the_doctor_asks_as_judging_does(
    behaviour: Behaviour, model: str, code: int, words: list[str], asked: Provider
) -> None:
    with asked.server.behaving(behaviour):
        ended = asked.command.run("doctor", "--judge", f"openai/{model}")
    assert ended.code == code, ended.out
    assert [part for part in words if part not in ended.said] == []
    if model == TOMORROW:
        assert asked.server.sent(CHATS)[0]["temperature"] == 0


def test_from_python(asked: Provider) -> None:
    how: dict[str, Any] = {"rubrics": "empathy", "reasoning_effort": "low"}
    with asked.server.behaving(NO_TEMPERATURE):
        folder = asked.command("openai/gpt-4.1").folder
        judged = bedside.judge(folder, "openai/gpt-5-mini", max_tokens=500, **how)
        sent = asked.server.sent(CHATS)[-1]
        assert (sent["reasoning_effort"], sent["max_completion_tokens"]) == ("low", 500)
        assert judged.judges[0].parameters["temperature"] is None
        assert "it takes no temperature" in str(judged)
        plan = bedside.preview_judging(folder, "openai/gpt-5-mini", max_tokens=900, **how)
    assert [(row.calls, row.stored) for row in plan.results] == [(0, 2)]


def test_batch_files_learn_what_is_not_taken(asked: Provider, tmp_path: Path) -> None:
    calls, answers, more = (tmp_path / name for name in ("calls.jsonl", "answers.jsonl", "more.jsonl"))

    def bodies(path: Path) -> list[dict[str, Any]]:
        return [json.loads(line) for line in path.read_text("utf-8").splitlines()]

    def answered(path: Path, status: int, body: object) -> None:
        response = {"status_code": status, "body": body}
        lines = [{"custom_id": line["custom_id"], "response": response, "error": None} for line in exported]
        path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")

    asked.command(f"openai/{TOMORROW}", "--batch-out", calls)
    exported = bodies(calls)
    assert [line["body"]["temperature"] for line in exported] == [0, 0]
    answered(answers, 400, openai.error(400, "Unsupported value", param="temperature", code=VALUE).body)
    asked.command.run("judge", "answers", "import", tmp_path / "run", answers, "--batch-out", more)
    exported = bodies(more)
    assert ["temperature" in line["body"] for line in exported] == [False] * 2
    answered(more, 200, openai.chat(Call("POST", "/", {}, {}, exported[0]["body"], 1), text=GOOD).body)
    ended = asked.command.run("judge", "answers", "import", tmp_path / "run", answers, more)
    assert "it takes no temperature" in ended.said
    assert ended.entry["temperature"] is None
    assert {row["value"] for row in ended.ratings} == {4.0}
