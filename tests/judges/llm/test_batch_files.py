"""Batch files: what is written, what is read, and that a batch comes to what a live run comes to."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import polars as pl
import pytest

pytest.importorskip("aiohttp")

import bedside
from bedside.analysis.ratings_view import open_ratings_view
from bedside.cli import main
from bedside.core.errors import InputError
from bedside.judges.llm.batch_files import Answers, CallWriter
from bedside.judges.llm.prices import Price
from bedside.judges.settings import JudgeSettings
from bedside.judges.store import read_judgements
from bedside.ratings.run import Run
from bedside.ratings.table import KEY
from bedside.scoring.judging_batches import read_batch, write_batch
from bedside.scoring.judging_orders import STORE, JudgingWork, chosen_rubrics
from bedside.scoring.run_judging import judge_run
from bedside.scoring.score import score
from tests.judges.llm.server import Action, JudgeServer, Received

pytestmark = pytest.mark.server
EXAMPLE = Path(bedside.__file__).parent / "examples" / "transcripts.jsonl"
Line = dict[str, Any]


def lines(path: Path) -> list[Line]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def answered(server: JudgeServer, calls: Path, out: Path) -> list[Line]:
    """What a batch service does: post the body of every line, and write what comes back."""
    made = []
    for call in lines(calls):
        assert (call["method"], call["url"]) == ("POST", "/v1/chat/completions")
        url = server.url.removesuffix("/v1") + call["url"]
        content = json.dumps(call["body"]).encode()
        request = urllib.request.Request(url, content, {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request) as response:
                status, body = response.status, response.read()
        except urllib.error.HTTPError as error:
            status, body = error.code, error.read()
        made.append(answer(call["custom_id"], json.loads(body), status))
    return write(out, made)


def answer(custom_id: str, body: Any, status: int = 200, error: Any = None) -> Line:
    response = {"status_code": status, "request_id": "r", "body": body}
    return {"id": "b", "custom_id": custom_id, "response": response, "error": error}


def write(path: Path, made: list[Line]) -> list[Line]:
    path.write_text("".join(json.dumps(line) + "\n" for line in made), "utf-8")
    return made


def command(*arguments: object) -> int:
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    return int(ended.value.code or 0)


def by_judge(folder: Path) -> pl.DataFrame:
    return Run(folder).ratings.filter(pl.col("rater").str.starts_with("judge:")).sort(KEY)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    score([EXAMPLE], tmp_path / "run")
    return tmp_path / "run"


JUDGE = "http://127.0.0.1:9/v1#tiny"
EMPATHY = JudgingWork(chosen_rubrics(["empathy"]))


# -- the whole way ----------------------------------------------------------------------------------


@pytest.mark.parametrize("suite", ["calm-it", "medconceal", "note2chat"])
@pytest.mark.slow
def test_a_batch_comes_to_what_a_live_run_comes_to(
    suite: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The bodies are those that a live run sends, and so are ratings, tokens and cost; said once what is judged."""
    options = (
        "--suite",
        suite,
        "--judge",
        None,
        "--passes",
        "2",
        "--temperature",
        "1",
        "--price",
        "in=1,out=2",
    )

    def told(judge: str) -> list[object]:
        return ["score", EXAMPLE, *(judge if each is None else each for each in options)]

    with JudgeServer() as live:
        assert command(*told(live.judge), "--out", tmp_path / "live") == 0
        sent = sorted(json.dumps(request.body, sort_keys=True) for request in live.received)
    calls, answers, run = tmp_path / "calls.jsonl", tmp_path / "answers.jsonl", tmp_path / "run"
    assert command(*told(JUDGE), "--out", run, "--batch-out", calls) == 0
    out = capsys.readouterr().out
    assert ("Another round follows: concern_matching" in out) == (suite == "medconceal")
    with JudgeServer() as service:
        while calls.exists():
            answered(service, calls, answers)
            calls.unlink()
            assert command("judgements", "import", run, answers, "--batch-out", calls) == 0
        posted = sorted(json.dumps(request.body, sort_keys=True) for request in service.received)
    assert posted == sent
    assert "Nothing is left to ask." in capsys.readouterr().out
    assert by_judge(run).equals(by_judge(tmp_path / "live"))
    for field in ("cost", "input_tokens", "output_tokens", "answer", "replies"):
        kept = [
            [getattr(each, field) for each in read_judgements(path / STORE)]
            for path in (run, tmp_path / "live")
        ]
        assert kept[0] == kept[1], field


def test_what_follows_from_answers_is_exported_when_they_are_there(folder: Path, tmp_path: Path) -> None:
    def script(request: Received, number: int) -> Action:
        assert request.schema is not None
        if "findings" not in request.schema["properties"]:
            return Action()
        finding = {"category": "emotional discomfort or fear", "text": "Is afraid"}
        return Action(text=json.dumps({"reason": "r", "findings": [finding]}))

    calls, answers = tmp_path / "calls.jsonl", tmp_path / "answers.jsonl"
    work = JudgingWork(chosen_rubrics(["finding_extraction", "concern_matching"]))
    first = write_batch(Run(folder), [JUDGE], work, calls)
    assert (first.files[0].calls, first.waiting) == (12, ("concern_matching",))
    with JudgeServer(script) as server:
        answered(server, calls, answers)
        second = read_batch(Run(folder), [answers], calls)
        assert (second.taken, second.files[0].calls, second.waiting, second.open) == (12, 12, (), 12)
        assert all("Is afraid" in call["body"]["messages"][0]["content"] for call in lines(calls))
        answered(server, calls, answers)
        last = read_batch(Run(folder), [answers], tmp_path / "none.jsonl")
        assert (last.taken, last.files, last.open) == (12, (), 0)
        count = server.count
        (judged,) = judge_run(Run(folder), [EXAMPLE], [server.judge], work)
        assert (judged.calls, server.count) == (0, count)
    assert by_judge(folder).filter(metric="submitted_findings")["value"].to_list() == [1.0] * 12
    assert by_judge(folder).filter(metric="concern_recall")["value"].to_list() == [0.0] * 12


def test_live_and_batch_mix(folder: Path, tmp_path: Path) -> None:
    calls, answers = tmp_path / "calls.jsonl", tmp_path / "answers.jsonl"
    work = JudgingWork(chosen_rubrics(["empathy", "partnership"]))
    with JudgeServer() as server:
        judge_run(Run(folder), [EXAMPLE], [server.judge], EMPATHY, settings=JudgeSettings(max_calls=5))
        first = write_batch(Run(folder), [JUDGE], work, calls)
        assert [(file.calls, file.model) for file in first.files] == [(24 - 5, "tiny")]
        assert first.open == 19
        waiting = by_judge(folder).filter(pl.col("error").is_not_null())
        assert set(waiting["error"]) == {"not answered yet: it waits for a batch"}
        answered(server, calls, answers)
        count = server.count
        assert read_batch(Run(folder), [answers]).taken == 19
        judged = judge_run(Run(folder), [EXAMPLE], [server.judge], work)
        assert (server.count, judged[0].calls, judged[0].complete) == (count, 0, True)
    assert by_judge(folder)["error"].null_count() == 24


def test_codes_of_turns_by_batch(folder: Path, tmp_path: Path) -> None:
    calls, answers = tmp_path / "calls.jsonl", tmp_path / "answers.jsonl"
    work = JudgingWork(codes=("question", "client_talk"))
    write_batch(Run(folder), [JUDGE], work, calls)
    with JudgeServer() as server:
        answered(server, calls, answers)
        assert read_batch(Run(folder), [answers]).open == 0
        count = server.count
        (judged,) = judge_run(Run(folder), [EXAMPLE], [server.judge], work)
        assert (judged.calls, server.count) == (0, count)
    ratings = by_judge(folder)
    assert ratings.filter(metric="percent_open_questions").height == 12
    assert set(ratings.filter(metric="question")["label"]) <= {"none", "open", "closed"}


def test_a_run_without_text_reads_its_files_again(tmp_path: Path) -> None:
    score([EXAMPLE], tmp_path / "run", text=False)
    calls, answers = tmp_path / "calls.jsonl", tmp_path / "answers.jsonl"
    write_batch(Run(tmp_path / "run"), [JUDGE], EMPATHY, calls)
    with JudgeServer() as server:
        answered(server, calls, answers)
    assert read_batch(Run(tmp_path / "run"), [answers]).open == 0


def test_a_rubric_of_ones_own_is_remembered(tmp_path: Path, folder: Path) -> None:
    own = (Path(bedside.__file__).parent / "judges" / "rubrics" / "shipped" / "empathy.yaml").read_text(
        "utf-8"
    )
    (tmp_path / "mine").mkdir()
    file = tmp_path / "mine" / "warmth.yaml"
    own = re.sub(r"^title: .*$", "title: How warm it is", own, flags=re.MULTILINE)
    file.write_text(own.replace("name: empathy", "name: warmth"), "utf-8")
    calls, answers = tmp_path / "calls.jsonl", tmp_path / "answers.jsonl"
    write_batch(Run(folder), [JUDGE], JudgingWork(chosen_rubrics(["warmth"], tmp_path / "mine")), calls)
    file.unlink()
    with JudgeServer() as server:
        answered(server, calls, answers)
    assert read_batch(Run(folder), [answers]).taken == 12
    assert by_judge(folder).filter(metric="warmth")["value"].is_in([1.0, 2.0, 3.0, 4.0, 5.0]).all()
    view = open_ratings_view(folder)
    known = view.facts("warmth")
    assert (known.title, known.group, known.direction) == ("How warm it is", "Ratings", "higher")
    assert view.scales["warmth"].levels == (1.0, 2.0, 3.0, 4.0, 5.0)


# -- what goes wrong --------------------------------------------------------------------------------


def exported(folder: Path, tmp_path: Path, **how: Any) -> tuple[Path, Path]:
    calls = tmp_path / "calls.jsonl"
    write_batch(Run(folder), [JUDGE], EMPATHY, calls, settings=JudgeSettings(**how))
    return calls, tmp_path / "answers.jsonl"


def test_replies_that_cannot_be_used_are_asked_again_and_then_given_up(folder: Path, tmp_path: Path) -> None:
    """As in a live run: three replies, each but the first asked for with what was wrong with the one before."""

    def script(request: Received, number: int) -> Action:
        bad = Action(text='{"reason": "r", "score": 77}') if "[0]" in request.prompt else Action()
        return bad if "heart" in request.prompt else Action()

    with JudgeServer(script) as live:
        judge_run(Run(folder), [EXAMPLE], [live.judge], EMPATHY)
        sent = sorted(json.dumps(request.body, sort_keys=True) for request in live.received)
    expected, kept = by_judge(folder), {each.key: each for each in read_judgements(folder / STORE)}
    bad = sum(each.state == "unusable" for each in kept.values())
    assert 0 < bad < 12
    second = tmp_path / "again"
    score([EXAMPLE], second)
    calls, answers = exported(second, tmp_path)
    with JudgeServer(script) as service:
        counts = []
        for number in range(3):
            answered(service, calls, answers)
            calls.unlink()
            batched = read_batch(Run(second), [answers], calls)
            counts.append((batched.taken, batched.open, batched.unusable))
            if number < 2:
                assert all("can't be used" in call["body"]["messages"][2]["content"] for call in lines(calls))
        posted = sorted(json.dumps(request.body, sort_keys=True) for request in service.received)
    assert counts == [(12, bad, 0), (bad, bad, 0), (bad, 0, bad)]
    assert not calls.exists()
    assert posted == sent
    assert by_judge(second).equals(expected)
    for each in read_judgements(second / STORE):
        live_one = kept[each.key]
        assert (each.state, each.replies, each.calls) == (live_one.state, live_one.replies, live_one.calls)
        assert (each.input_tokens, each.output_tokens) == (live_one.input_tokens, live_one.output_tokens)


def test_errors_are_told_and_asked_again(folder: Path, tmp_path: Path) -> None:
    calls, answers = exported(folder, tmp_path)
    asked = lines(calls)
    with JudgeServer() as server:
        made = answered(server, calls, answers)
    expired = {"code": "batch_expired", "message": "This request could not be executed in time."}
    made[0] = {**made[0], "response": None, "error": expired}
    made[1] = answer(made[1]["custom_id"], {"error": {"message": "slow down"}}, 429)
    made[2] = answer(made[2]["custom_id"], {"choices": []})
    write(answers, made)
    for _ in range(2):  # the same file again changes nothing
        batched = read_batch(Run(folder), [answers], tmp_path / "next.jsonl")
        assert (batched.errors, batched.open) == (3, 3)
        assert [call["custom_id"] for call in lines(tmp_path / "next.jsonl")] == [
            call["custom_id"] for call in asked[:3]
        ]
        said = by_judge(folder)["error"].drop_nulls().to_list()
        assert sorted(error.partition(" (batch_")[0] for error in said) == [
            'the batch answered 200: {"choices":[]}',
            "the batch answered 429: slow down",
            "the batch answered an error: This request could not be executed in time.",
        ]
    with JudgeServer() as server:
        answered(server, tmp_path / "next.jsonl", tmp_path / "more.jsonl")
    # An answer goes before an error to the same call, wherever they stand.
    batched = read_batch(Run(folder), [answers, tmp_path / "more.jsonl"])
    assert (batched.open, batched.taken, batched.judged_before, batched.twice) == (0, 3, 9, 0)
    assert by_judge(folder)["error"].null_count() == 12


def test_lines_are_counted_whatever_they_hold(folder: Path, tmp_path: Path) -> None:
    calls, answers = exported(folder, tmp_path)
    with JudgeServer() as server:
        made = answered(server, calls, answers)
    other = answer("somebody-else", made[0]["response"]["body"])
    stranger = answer(f"{'0' * 48}-1", made[0]["response"]["body"])
    second = json.loads(json.dumps(made[1]))
    second["response"]["body"]["choices"][0]["message"]["content"] = '{"reason": "later", "score": 1}'
    text = "".join(json.dumps(line) + "\n" for line in (*made[:-1], other, stranger, second))
    answers.write_text(text + "[1]\n\n" + json.dumps(made[-1])[:-40], "utf-8")
    batched = read_batch(Run(folder), [answers])
    told = (batched.lines, batched.taken, batched.unasked, batched.twice, batched.unreadable, batched.open)
    assert told == (14, 11, 2, 1, 2, 1)
    assert batched.first_unreadable == f"{answers}:15"
    assert "later" not in by_judge(folder)["reason"].drop_nulls().to_list()
    again = read_batch(Run(folder), [answers])
    assert (again.taken, again.judged_before, again.unasked, again.open) == (0, 11, 2, 1)


def test_anothers_answers_are_refused(folder: Path, tmp_path: Path) -> None:
    calls, answers = exported(folder, tmp_path, temperature=1.0)
    with JudgeServer() as server:
        answered(server, calls, answers)
    other = tmp_path / "other"
    score([EXAMPLE], other)
    with pytest.raises(InputError, match="no calls were exported from this run"):
        read_batch(Run(other), [answers])
    exported(other, tmp_path, temperature=0.5)
    before = Run(other).manifest
    with pytest.raises(InputError, match="none of the 12 answers is to a call of this run"):
        read_batch(Run(other), [answers])
    assert Run(other).manifest == before


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "holds no answers of a batch"),
        (b"custom_id,response\n1,2\n", "holds no answers of a batch"),
        (None, "not the one of the calls"),
    ],
)
def test_other_files_are_refused(folder: Path, tmp_path: Path, content: bytes | None, words: str) -> None:
    calls, answers = exported(folder, tmp_path)
    answers.write_bytes(calls.read_bytes() if content is None else content)
    with pytest.raises(InputError, match=words):
        read_batch(Run(folder), [answers])
    with pytest.raises(InputError, match=r"nowhere\.jsonl: there is no such file"):
        read_batch(Run(folder), [tmp_path / "nowhere.jsonl"])


def test_the_wording_changed_since(folder: Path, tmp_path: Path) -> None:
    exported(folder, tmp_path)
    manifest = Run(folder).manifest
    next(iter(manifest["scorings"][-1]["judges"].values()))["prompts"]["empathy"] = "0" * 12
    (folder / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    with pytest.raises(InputError, match="another wording than when their calls were exported"):
        read_batch(Run(folder), out=tmp_path / "next.jsonl")


# -- the files --------------------------------------------------------------------------------------


def test_the_same_export_is_the_same_file(folder: Path, tmp_path: Path) -> None:
    calls, _ = exported(folder, tmp_path)
    first = calls.read_bytes()
    assert read_batch(Run(folder), out=calls).files[0].calls == 12
    assert calls.read_bytes() == first
    assert all(len(call["custom_id"]) <= 64 for call in lines(calls))
    assert len({call["custom_id"] for call in lines(calls)}) == 12
    body = lines(calls)[0]["body"]
    assert body["response_format"]["type"] == "json_schema"
    assert {path.name for path in tmp_path.iterdir()} == {"run", "calls.jsonl"}


def test_calls_are_no_more_than_allowed(folder: Path, tmp_path: Path) -> None:
    batched = write_batch(
        Run(folder), [JUDGE], EMPATHY, tmp_path / "calls.jsonl", settings=JudgeSettings(max_calls=5)
    )
    assert (batched.files[0].calls, batched.open) == (5, 12)
    assert "not asked: the limit of calls was reached" in by_judge(folder)["error"].to_list()


def test_one_file_is_for_one_model(folder: Path, tmp_path: Path) -> None:
    judges = [JUDGE, "http://127.0.0.1:9/v1#other"]
    batched = write_batch(Run(folder), judges, EMPATHY, tmp_path / "calls.jsonl")
    assert [(file.path.name, file.model) for file in batched.files] == [
        ("calls-1.jsonl", "tiny"),
        ("calls-2.jsonl", "other"),
    ]
    for file, model in zip(batched.files, ("tiny", "other"), strict=True):
        assert {call["body"]["model"] for call in lines(file.path)} == {model}
    answers = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    with JudgeServer() as server:
        for file, path in zip(batched.files, answers, strict=True):
            answered(server, file.path, path)
    assert read_batch(Run(folder), answers).taken == 24


def test_files_are_split_at_the_limits_and_none_is_half_written(tmp_path: Path) -> None:
    def made(**limits: int) -> list[int]:
        writer = CallWriter(tmp_path / "calls.jsonl", **limits)
        for number in range(10):
            writer.add("judge:m", f"id-{number}", b'{"a":1}', 1)
            writer.add("judge:m", f"id-{number}", b'{"a":1}', 1)
        assert not list(tmp_path.glob("calls*"))
        files = writer.finish()
        sizes = [file.path.stat().st_size for file in files]
        assert all(size <= limits.get("max_bytes", 10**9) for size in sizes)
        counts = [len(lines(file.path)) for file in files]
        for file in files:
            file.path.unlink()
        return counts

    assert made(max_requests=4) == [4, 4, 2]
    size = len(b'{"custom_id":"id-0","method":"POST","url":"/v1/chat/completions","body":{"a":1}}\n')
    assert made(max_bytes=3 * size) == [3, 3, 3, 1]
    assert made() == [10]
    writer = CallWriter(tmp_path / "calls.jsonl")
    writer.add("judge:m", "id", b"{}", 1)
    writer.discard()
    assert list(tmp_path.iterdir()) == []


def test_answers_are_looked_up_and_not_held(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", [answer(f"id-{number}", {"choices": [number]}) for number in range(100)])
    answers = Answers([tmp_path / "a.jsonl"])
    for number in (99, 0, 50):
        line = answers.take(f"id-{number}")
        assert line is not None
        assert line["response"]["body"] == {"choices": [number]}
    assert (answers.ids, answers.taken, len(answers.left)) == (100, 3, 97)
    assert answers.take("id-100") is None


# -- on the command line ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--judge", "anthropic/x", "--rubrics", "empathy"], "anthropic/x can't be asked by batch files"),
        (["--judge", "local", "--rubrics", "empathy"], "can't be asked by batch files"),
        ([], "no judge is named"),
    ],
)
def test_bad_calls_are_one_line(
    arguments: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = ("--out", tmp_path / "run", "--batch-out", tmp_path / "calls.jsonl")
    assert command("score", EXAMPLE, *out, *arguments) == 2
    err = capsys.readouterr().err
    assert words in err
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_what_is_said(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    calls, answers = exported(folder, tmp_path, price=Price(1, 2))
    with JudgeServer() as server:
        made = answered(server, calls, answers)
    write(answers, [*made[:-2], {**made[-1], "response": None, "error": {"message": "expired"}}])
    assert command("judgements", "import", folder, answers) == 0
    out = capsys.readouterr().out
    assert "Read 11 answers: 10 taken." in out
    assert "1 error in place of an answer; to be asked again" in out
    assert f"2 judgements are open: bedside judgements export {folder} FILE.jsonl" in out
    assert "$0.0" in out
    assert command("judgements", "import", folder, answers, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told[0]["rows"][0]["stored"] == 10
    assert command("judgements", "export", folder, calls) == 0
    assert "2 calls" in capsys.readouterr().out
    assert len(lines(calls)) == 2
