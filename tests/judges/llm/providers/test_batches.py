"""``--batch``: calls go to the provider's batch service, and come back as if they had been live."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("aiohttp")

import bedside
from bedside.judges.llm.clients import _batch_services
from bedside.judges.llm.contract import known_price, read_name
from tests.conftest import conversation
from tests.judges.llm.providers import anthropic, gemini, openai
from tests.judges.llm.providers.batch_services import BatchProvider
from tests.judges.llm.providers.command import Ended
from tests.judges.llm.providers.profiles import PROFILES, Provider, Providers
from tests.judges.llm.providers.server import Answer, Call

pytestmark = pytest.mark.server
NAMES = ["openai", "anthropic", "gemini"]


def all_rated(ended: Ended) -> Ended:
    assert ended.code == 0, ended.err
    assert all(row["value"] is not None for row in ended.ratings)
    return ended


def ledger(folder: Path) -> list[dict[str, Any]]:
    path = folder / "run" / "batches.json"
    batches: list[dict[str, Any]] = json.loads(path.read_bytes())["batches"] if path.exists() else []
    return batches


def no_looks(service: BatchProvider) -> Callable[[Call], Answer]:
    """A provider that takes batches, and then refuses to say how far they are."""
    refused = openai.error(401, "Incorrect API key provided")
    return lambda call: refused if "/batches/" in call.path else service(call)


@pytest.mark.parametrize("name", NAMES)
def test_a_batch_comes_to_what_a_live_run_comes_to(name: str, provider: Providers, tmp_path: Path) -> None:
    """The same bodies, ratings, tokens and versions; half the price, by arithmetic on the listed one."""
    asked, service = provider(name), BatchProvider(name)
    ended = all_rated(asked.judge(service, "--batch", "--passes", 2, "--temperature", 1))
    assert "4 of 4 judgements" in ended.err
    assert (len(service.batches), len(service.requests), ledger(tmp_path)) == (1, 4, [])
    by_batch = {each.key: each for each in ended.judgements}
    batched = sorted(json.dumps(body, sort_keys=True) for _, body in service.requests)
    ratings = ended.ratings
    (tmp_path / "run").rename(tmp_path / "batched")
    live = all_rated(asked.judge(None, "--passes", 2, "--temperature", 1))
    sent = [dict(call.body) for call in asked.calls if call.method == "POST"]
    for body in sent:
        for message in body.get("messages", ()):  # a live call marks what the provider's cache is to keep
            if isinstance(message["content"], list):
                message["content"] = "".join(part["text"] for part in message["content"])
    assert sorted(json.dumps(body, sort_keys=True) for body in sent) == batched
    assert live.ratings == ratings
    price = known_price(read_name(PROFILES[name].judge))
    assert price is not None
    assert price.batch == 0.5
    once = (500 * price.input + 40 * price.output) / 1e6
    for each in live.judgements:
        other = by_batch.pop(each.key)
        for field in ("answer", "replies", "faults", "calls", "input_tokens", "output_tokens", "unsent", "served"):
            assert getattr(each, field) == getattr(other, field), field
        assert each.cost == pytest.approx(once)
        assert other.cost == pytest.approx(once / 2)
    assert not by_batch
    assert not ended.files_with(asked.key)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_refused_unusable_or_expired(name: str, provider: Providers, tmp_path: Path) -> None:
    """An unusable reply is asked again in the next batch; what expired or failed is missing, and asked next time."""
    asked = provider(name)
    busy = {
        "openai": openai.error(500, "The server had an error.", kind="server_error"),
        "anthropic": anthropic.error(529, "overloaded_error", "Overloaded"),
        "gemini": gemini.error(503, "UNAVAILABLE", "The model is overloaded."),
    }[name]
    bad = {"openai": openai.chat, "anthropic": anthropic.message, "gemini": gemini.content}[name]

    def fate(body: dict[str, Any], number: int) -> Any:
        reply = bad(Call("POST", "", {}, {}, body, 1), '{"reason": "r", "score": 77}')
        return {0: reply, 1: "expired", 2: None, 3: busy}.get(number)

    service = BatchProvider(name, fate)
    ended = asked.judge(service, "--batch", "--passes", 2)
    assert ended.code == 0, ended.err
    assert [len(batch.requests) for batch in service.batches] == [4, 1]
    assert "can't be used" in json.dumps(service.batches[1].requests)
    assert "Not everything was answered: the same command asks what is missing." in ended.said
    errors = sorted(row["error"] for row in ended.ratings if row["error"] is not None)
    assert len(errors) == 2
    assert all("the same command asks it again" in error for error in errors)
    assert ledger(tmp_path) == []
    again = all_rated(asked.judge(service, "--batch", "--passes", 2))
    assert [len(batch.requests) for batch in service.batches] == [4, 1, 2]
    assert sorted(each.calls for each in again.judgements) == [1, 1, 1, 2]


def garbled(name: str, call: Call, answer: Answer) -> Answer:
    """The results of a batch with an error before each answer, what belongs to nobody, and what is no answer."""
    if name == "gemini":
        listed = answer.body.get("response", {}).get("inlinedResponses", {}).get("inlinedResponses")
        if listed:
            late = [{"metadata": each["metadata"], "error": {"code": 14, "message": "late"}} for each in listed]
            listed[:] = [5, {}, {"metadata": {"key": "other"}, "response": {}}, *late, *listed, *listed]
        return answer
    if not call.path.endswith(("/content", "/results")):
        return answer
    lines = answer.body.splitlines()
    error = {"response": None, "error": {"message": "late"}, "result": {"type": "expired"}}
    errors = [json.dumps({**json.loads(line), **error}).encode() for line in lines]
    other = json.dumps({**json.loads(lines[0]), "custom_id": "other"}).encode()
    return Answer(b"\n".join([b'{"custom_id": 5}', b"[1]", b"", other, *errors, *lines, *lines, lines[0][:99]]))


@pytest.mark.parametrize("name", NAMES)
def test_results_that_are_garbled(name: str, provider: Providers, tmp_path: Path) -> None:
    """Answers go before errors to the same call, whatever else stands there; what holds no answer is read again."""
    service, garbage = BatchProvider(name), [b"<html>busy</html>", b""]
    path = {"openai": "/content", "anthropic": "/results", "gemini": "batch_1"}[name]

    def behaviour(call: Call) -> Answer:
        answer = service(call)
        if name != "gemini" and call.path.endswith(path) and garbage:
            return Answer(garbage.pop())
        return garbled(name, call, answer)

    provider(name).rated(behaviour, "--batch")
    assert (len(service.batches), ledger(tmp_path)) == (1, [])


def test_results_that_are_gone_or_elsewhere(provider: Providers, tmp_path: Path) -> None:
    """Nothing is sent again by itself; the key goes nowhere else."""
    asked, service = provider("openai"), BatchProvider("openai")
    gone = [openai.error(404, "No such file"), Answer(b"", 302, {"Location": f"{asked.server.url}/elsewhere"})]
    for answer in gone:

        def behaviour(call: Call, answer: Answer = answer) -> Answer:
            return answer if "/files/out" in call.path else service(call)

        ended = asked.judge(behaviour, "--batch")
        assert "batches.json" in ended.line or "redirects" in ended.line
        assert not any("elsewhere" in call.path for call in asked.calls)
    asked.rated(service, "--batch")
    assert (len(service.batches), ledger(tmp_path)) == (1, [])


def test_two_judges_in_one_command(provider: Providers, tmp_path: Path) -> None:
    service = BatchProvider("openai")
    ended = all_rated(provider("openai").judge(service, "--batch", "--judge", "openai/gpt-4.1-mini"))
    assert [len(batch.requests) for batch in service.batches] == [2, 2]
    assert "4 of 4 judgements, in 2 batches at the provider" in " ".join(ended.err.split())
    assert len({row["rater"] for row in ended.ratings}) == 2


def test_a_parameter_that_is_refused_is_left_out_in_the_next_batch(provider: Providers) -> None:
    def fate(body: dict[str, Any], number: int) -> Any:
        return (
            openai.error(400, "Unsupported value", param="temperature", code=openai.VALUE)
            if "temperature" in body
            else None
        )

    service = BatchProvider("openai", fate)
    ended = provider("openai").rated(service, "--batch")
    assert [["temperature" in body for _, body in batch.requests] for batch in service.batches] == [
        [True] * 2,
        [False] * 2,
    ]
    assert {each.unsent for each in ended.judgements} == {("temperature",)}


def test_gemini_without_keys_answers_in_order(provider: Providers) -> None:
    service = BatchProvider("gemini", keys=False)
    provider("gemini").rated(service, "--batch")


@pytest.mark.parametrize("name", NAMES)
def test_no_answer_to_what_was_sent_is_looked_for_and_not_sent_again(name: str, provider: Providers) -> None:
    answers = [Answer(drop=True)]
    service = BatchProvider(name, after_taking=lambda: answers.pop() if answers else None)
    provider(name).rated(service, "--batch")
    assert len(service.batches) == 1


@pytest.mark.parametrize("late", [False, True], ids=["there before", "at the same time"])
def test_another_runs_batch_of_the_same_size_is_not_taken_for_ours(
    late: bool, provider: Providers, tmp_path: Path
) -> None:
    """Where the sending of ours broke off, another's is the only one that is listed."""
    asked, service, broken = provider("anthropic"), BatchProvider("anthropic"), [Answer(drop=True)]

    def of_another() -> None:
        service.take("", [(f"{number:048x}-0_0", {"messages": []}) for number in range(2)])

    if not late:
        of_another()

    def behaviour(call: Call) -> Answer:
        if call.method == "POST" and broken:
            if late:
                of_another()
            return broken.pop()
        return service(call)

    asked.rated(behaviour, "--batch")
    assert [len(batch.requests) for batch in service.batches] == [2, 2]
    assert (service.batches[0].looks > 0, ledger(tmp_path)) == (late, [])


def ended_by(number: int, asked: Provider, service: BatchProvider, until: Callable[[], bool], folder: Path) -> str:
    """What a process with a clock years ahead says, that judges by batch until something is so and is sent a signal."""
    ahead = "import sys, time; clock = time.time; time.time = lambda: clock() + 1e8; "
    command = [
        sys.executable, "-c", f"{ahead}from bedside.cli import main; main(sys.argv[1:])", "score",
        str(folder / "talks.jsonl"), "--metrics", "structure", "--rubrics", "empathy", "--judge", asked.profile.judge,
        "--out", str(folder / "run"), "--batch",
    ]  # fmt: skip
    with asked.server.behaving(service):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while not until():
            assert process.poll() is None, process.communicate()
            time.sleep(0.02)
        process.send_signal(number)
        return process.communicate(timeout=60)[1].decode()


@pytest.mark.parametrize(
    ("name", "moment"),
    [
        ("openai", "sending"),
        *(pytest.param(name, "sending", marks=pytest.mark.slow) for name in ("anthropic", "gemini")),
        *(pytest.param(name, "waiting", marks=pytest.mark.slow) for name in NAMES),
    ],
)
def test_a_killed_process_loses_no_batch(name: str, moment: str, provider: Providers, tmp_path: Path) -> None:
    """kill -9 before the provider has said that it took the batch, and while it is waited for."""
    asked, sending = provider(name), moment == "sending"
    delayed = [Answer(status=500, delay=3.0)] if sending else []
    service = BatchProvider(name, looks=10**6, after_taking=lambda: delayed.pop() if delayed else None)
    ended_by(signal.SIGKILL, asked, service,
             lambda: bool(service.batches) and (sending or service.batches[0].looks > 0), tmp_path)  # fmt: skip
    (entry,) = ledger(tmp_path)
    assert (len(entry["calls"]), entry["id"] is None) == (2, sending)
    service.batches[0].after = 0
    asked.rated(service, "--batch")
    assert (len(service.batches), ledger(tmp_path)) == (1, [])
    assert not list((tmp_path / "run").glob(".judging.*"))


@pytest.mark.slow
def test_ctrl_c_says_how_to_go_on(provider: Providers, tmp_path: Path) -> None:
    asked, service = provider("openai"), BatchProvider("openai", looks=10**6)
    said = ended_by(signal.SIGINT, asked, service,
                    lambda: bool(service.batches) and service.batches[0].looks > 0, tmp_path)  # fmt: skip
    assert (
        f"2 calls of {asked.profile.judge} wait for 1 batch at the provider.\nThe command that sent them goes on"
        in said
    )
    assert "Traceback" not in said
    service.batches[0].after = 0
    asked.rated(service, "--batch")
    assert len(service.batches) == 1


def test_a_run_says_what_it_waits_for(provider: Providers, tmp_path: Path) -> None:
    asked, service, run = provider("openai"), BatchProvider("openai", looks=10**6), tmp_path / "run"
    asked.judge(no_looks(service), "--batch")
    waits = f"2 calls of {asked.profile.judge} wait for 1 batch at the provider"
    judge = ("--judge", asked.profile.judge)
    questions: list[tuple[object, ...]] = [
        ("agree", run), ("report", run), ("judge", "answers", "list", run),
        ("export", run, "--to", "csv-folder", "--out", tmp_path / "out"),
        ("sample", run, "--raters", "anna", "--rubrics", "empathy"),
        ("judge", "pairs", run, *judge, "--rubric", "empathy", "--dry-run"),
        ("judge", "drift", run, *judge, "--dry-run"),
    ]  # fmt: skip
    assert waits in repr(bedside.read_run(run))
    for question in questions:
        said = asked.command.run(*question).err
        assert f"{waits}.\nThe command that sent them goes on, typed again.\n" in said
        assert said.count("at the provider") == 1
    with bedside.read_run(run).locked():
        held = f"bedside: {run}: another bedside process is changing this run: {waits}; wait until it ends"
        assert asked.judge(service, "--batch").line == held
    service.batches[0].after = 0
    asked.rated(service, "--batch")
    assert "at the provider" not in asked.command.run("report", run).err
    assert bedside.read_run(run).waiting() == []


def test_what_is_asked_though_it_waits_is_said_before(provider: Providers, tmp_path: Path) -> None:
    asked, service = provider("openai"), BatchProvider("openai", looks=10**6)
    asked.judge(no_looks(service), "--batch")
    judge = asked.profile.judge
    under_way = "Under way in a batch at the provider: 2 of"
    again = f"{under_way} 2 calls of {judge}. --batch doesn't send them again; without it they are paid twice."
    planned = asked.judge(None, "--dry-run", "--passes", 2, "--temperature", 1)
    assert under_way not in " ".join(planned.out.split()), "other settings are other calls"
    for passes, sent in ((1, 2), (2, 4)):
        planned = asked.judge(None, "--dry-run", "--batch", "--passes", passes)
        (table,) = json.loads(asked.judge(None, "--dry-run", "--batch", "--passes", passes, "--json").out)
        assert [(row["calls"], row["under_way"]) for row in table["rows"]] == [(sent, 2)]
        words = f"{under_way} {sent} calls of {judge}. --batch doesn't send them again"
        assert words in " ".join(planned.out.split())
    assert again in " ".join(asked.judge(None, "--dry-run").out.split())
    assert under_way not in asked.judge(None, "--batch", "--dry-run", "--prompt-language", "de").out
    live = all_rated(asked.judge(None))
    assert live.err.count(again) == 1
    assert under_way not in all_rated(asked.judge(None)).err, "they are answered now"


def test_what_another_command_asks_is_left_for_it(provider: Providers, tmp_path: Path) -> None:
    """A batch of another rubric is neither waited for nor lost."""
    asked, service = provider("openai"), BatchProvider("openai", looks=10**6)
    ended = asked.judge(no_looks(service), "--batch")
    assert "the same command goes on" in ended.line
    service.looks, first = 1, service.batches[0]
    with asked.server.behaving(service):
        judge = asked.profile.judge
        all_rated(asked.command(judge, "--batch", rubric="partnership"))
        assert [len(batch.requests) for batch in service.batches] == [2, 2]
        first.after = 0
        asked.command(judge, "--batch", rubric="partnership")
        assert [(entry["id"], entry["read"]) for entry in ledger(tmp_path)] == [(first.id, True)]
        assert bedside.read_run(tmp_path / "run").waiting() == [], "it has ended"
        ended = all_rated(asked.command(judge, "--batch"))
    assert (len(service.batches), ledger(tmp_path), len(ended.judgements)) == (2, [], 4)


def test_a_wording_that_changed_is_asked_anew(provider: Providers, tmp_path: Path) -> None:
    asked, service = provider("openai"), BatchProvider("openai", looks=10**6)
    asked.judge(no_looks(service), "--batch")
    service.looks, service.batches[0].after = 1, 0
    asked.rated(service, "--batch", "--prompt-language", "de")
    assert [len(batch.requests) for batch in service.batches] == [2, 2]


def test_costs_are_limited_before_anything_is_sent(provider: Providers) -> None:
    """The most that a call can cost is known before; rounds follow as long as there is room."""
    asked, service = provider("openai"), BatchProvider("openai", looks=0)
    price = known_price(read_name(PROFILES["openai"].judge))
    assert price is not None
    most_of_reply = 4096 * price.output / 2 / 1e6
    ended = asked.judge(service, "--batch", "--max-cost", most_of_reply / 2)
    assert (service.batches, ended.code) == ([], 0)
    assert "limit of" in str([row["error"] for row in ended.ratings])
    ended = asked.judge(service, "--batch", "--max-cost", 1.6 * most_of_reply)
    assert [len(batch.requests) for batch in service.batches] == [1, 1]
    assert all(row["value"] is not None for row in ended.ratings)
    limited = asked.judge(service, "--batch", "--passes", 3, "--max-calls", 3)
    assert [len(batch.requests) for batch in service.batches] == [1, 1, 3]
    assert "Not everything was answered" in limited.said
    assert "1 not asked: the limit of 3 calls was reached." in " ".join(limited.out.split())


@pytest.mark.parametrize("end", ["failed", "cancelled", "expired"])
def test_a_batch_that_ends_otherwise(end: str, provider: Providers, tmp_path: Path) -> None:
    asked, service = provider("openai"), BatchProvider("openai", end=end)
    ended = asked.judge(service, "--batch")
    if end == "failed":
        assert "refused the batch (too many enqueued tokens)" in ended.line
    else:
        assert {row["error"] for row in ended.ratings} == {
            f"the batch was {end} without an answer; the same command asks it again"
        }
    assert ledger(tmp_path) == []
    service.end = ""
    asked.rated(service, "--batch")
    assert [len(batch.requests) for batch in service.batches] == [2, 2]


def test_a_refused_key_and_a_provider_without_batches(provider: Providers, tmp_path: Path) -> None:
    asked = provider("openai")
    ended = asked.judge(openai.error(401, "Incorrect API key provided"), "--batch")
    assert "401: Incorrect API key provided" in ended.line
    assert ledger(tmp_path) == []
    for name in ("open", "openrouter", "ollama"):
        ended = provider(name).judge(None, "--batch")
        assert "has no batch service that bedside asks by itself" in ended.line
        assert ended.line.startswith("bedside: --batch")
    ended = asked.judge(None, "--batch", "--batch-out", tmp_path / "calls.jsonl")
    assert "another way" in ended.line
    assert asked.calls == []


@pytest.mark.parametrize("limit", ["--max-concurrency", "--rpm", "--tpm"])
def test_limits_of_single_requests_mean_nothing_to_a_batch(limit: str, provider: Providers, tmp_path: Path) -> None:
    asked = provider("openai")
    why = "a batch is sent whole, and its provider says how fast it is answered"
    wrong = f"bedside: {limit}: {why}; leave it out, or ask without --batch"
    judge = ("--judge", asked.profile.judge, "--rubric", "empathy", "--batch", limit, 60)
    assert asked.judge(None, "--batch", limit, 60).line == wrong
    file = asked.judge(None, "--batch-out", tmp_path / "calls.jsonl", limit, 60)
    assert file.line == wrong.replace("--batch", "--batch-out")
    assert asked.command.run("judge", "pairs", tmp_path / "run", *judge).line == wrong
    assert {file.name for file in tmp_path.iterdir()} == {"talks.jsonl"}


def test_nothing_can_be_asked_of_a_model(provider: Providers, tmp_path: Path) -> None:
    """What keeps a model from being asked ends the command, after everything else was read."""

    def fate(body: dict[str, Any], number: int) -> Any:
        return openai.error(429, "You exceeded your current quota", code="insufficient_quota") if number == 0 else None

    asked, service = provider("openai"), BatchProvider("openai", fate)
    ended = asked.judge(service, "--batch")
    assert "no credit left" in ended.line
    assert len(ended.judgements) == 1
    assert ledger(tmp_path) == []
    asked.rated(service, "--batch")
    assert [len(batch.requests) for batch in service.batches] == [2, 1]


def test_limits_of_costs_hold_for_every_form(provider: Providers) -> None:
    service = BatchProvider("anthropic", looks=0)
    price = known_price(read_name(PROFILES["anthropic"].judge))
    assert price is not None
    ended = provider("anthropic").rated(service, "--batch", "--max-cost", 1.6 * 4096 * price.output / 2 / 1e6)
    assert [len(batch.requests) for batch in service.batches] == [1, 1]
    assert ended.code == 0


def test_more_than_fits_in_one_batch(provider: Providers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_batch_services.GeminiBatches, "max_bytes", 8000)
    service = BatchProvider("gemini")
    ended = all_rated(provider("gemini").judge(service, "--batch", "--passes", 3, "--temperature", 1))
    assert len(service.batches) > 1
    assert (len(service.requests), len(ended.judgements), ledger(tmp_path)) == (6, 6, [])


def test_what_follows_from_answers_goes_into_the_next_batch(provider: Providers, tmp_path: Path) -> None:
    """One rubric asks about another's findings."""

    def fate(body: dict[str, Any], number: int) -> Any:
        finding = {"category": "emotional discomfort or fear", "text": "Is afraid"}
        found = openai.chat(Call("POST", "", {}, {}, body, 1), json.dumps({"reason": "r", "findings": [finding]}))
        return found if '"findings"' in json.dumps(body.get("response_format")) else None

    service, asked = BatchProvider("openai", fate), provider("openai")
    with asked.server.behaving(service):
        ended = asked.command.run(
            "score", bedside.EXAMPLES / "transcripts.jsonl", "--metrics", "structure", "--judge", asked.profile.judge,
            "--rubrics", "finding_extraction,concern_matching", "--out", tmp_path / "run", "--batch",
        )  # fmt: skip
    assert ended.code == 0, ended.err
    assert [len(batch.requests) for batch in service.batches] == [12, 12]
    assert "Is afraid" not in json.dumps(service.batches[0].requests)
    assert all("Is afraid" in json.dumps(request) for request in service.batches[1].requests)


def test_pairs_and_python_by_batch(provider: Providers, tmp_path: Path) -> None:
    asked, service = provider("openai"), BatchProvider("openai")
    talks = [
        conversation(("patient", f"I sleep badly, {case}."), ("clinician", f"Why, asks {system}?"),
                     id=f"{system}-{case}", system=system, case_id=case)
        for system in ("one", "other") for case in ("a", "b")
    ]  # fmt: skip
    told: list[Any] = []
    with asked.server.behaving(service):
        judged = bedside.judge(
            talks, asked.profile.judge, out=tmp_path / "run", rubrics="empathy", metrics="structure", batch=True,
            progress=lambda _, state: told.append((state.done, state.total, state.batches)),
        )  # fmt: skip
        compared = bedside.judge_pairs(judged.run, asked.profile.judge, rubrics="empathy", batch=True)
    assert (judged.complete, compared.complete) == (True, True)
    assert [len(batch.requests) for batch in service.batches] == [4, 4]
    assert told == [(0, 4, 1), (4, 4, 1)]
    (summary,) = judged.judges
    assert (summary.calls, [count.stored for count in summary.rubrics]) == (4, [0])
    assert len(judged.run.manifest["scorings"]) == 2


def test_a_dry_run_prints_the_price_in_batches(provider: Providers) -> None:
    asked = provider("openai")

    def cost(*options: object) -> float:
        ended = asked.judge(None, "--dry-run", "--passes", 500, "--json", *options)
        rows = json.loads(ended.out)[0]["rows"]
        return float(sum(row["cost"] for row in rows))

    assert cost("--batch") == pytest.approx(cost() / 2)
