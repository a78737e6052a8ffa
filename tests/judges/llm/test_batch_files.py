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
from bedside.core.errors import InputError
from bedside.judges.llm.batch_files import Answers, CallWriter
from bedside.judges.llm.prices import Price
from bedside.judges.settings import JudgeSettings
from bedside.judges.store import read_judgements
from bedside.ratings.run import Run, write_manifest
from bedside.ratings.table import KEY
from bedside.scoring.judging_batches import read_batch, write_batch
from bedside.scoring.judging_orders import STORE, JudgingWork, rubrics_of
from bedside.scoring.run_judging import judge_run
from bedside.scoring.score import score
from tests.conftest import Call, works
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


def by_judge(folder: Path) -> pl.DataFrame:
    return Run(folder).ratings.filter(pl.col("rater").str.starts_with("judge:")).sort(KEY)


class Batch:
    """A run, and files of calls and answers beside it."""

    def __init__(self, run: Path) -> None:
        self.run, self.calls, self.answers = run, run.parent / "calls.jsonl", run.parent / "answers.jsonl"

    def export(self, work: JudgingWork | None = None, **how: Any) -> Any:
        return write_batch(Run(self.run), [JUDGE], work or EMPATHY, self.calls, settings=JudgeSettings(**how))

    def answer(self, server: JudgeServer | None = None) -> list[Line]:
        """By a server, or one that replies."""
        if server is not None:
            return answered(server, self.calls, self.answers)
        with JudgeServer() as opened:
            return answered(opened, self.calls, self.answers)

    def read(self, *files: Path, out: Path | None = None) -> Any:
        return read_batch(Run(self.run), files or [self.answers], out)

    def judged_live(self, server: JudgeServer, work: JudgingWork | None = None, **how: Any) -> Any:
        (judged,) = judge_run(Run(self.run), [EXAMPLE], [server.judge], work or EMPATHY, settings=JudgeSettings(**how))
        return judged

    def errors(self) -> list[str]:
        return by_judge(self.run)["error"].drop_nulls().to_list()


@pytest.fixture
def batch(tmp_path: Path) -> Batch:
    score([EXAMPLE], tmp_path / "run")
    return Batch(tmp_path / "run")


def bodies(server: JudgeServer) -> list[str]:
    return sorted(json.dumps(request.body, sort_keys=True) for request in server.received)


JUDGE = "http://127.0.0.1:9/v1#tiny"
EMPATHY = JudgingWork(rubrics_of(["empathy"]))


@pytest.mark.parametrize("suite", ["calm-it", "medconceal", "note2chat"])
@pytest.mark.slow
def test_a_batch_comes_to_what_a_live_run_comes_to(suite: str, call: Call, tmp_path: Path) -> None:
    """The bodies are those that a live run sends, and so are ratings, tokens and cost; said once what is judged."""

    def score_by(judge: str, *options: object) -> str:
        how = ("--suite", suite, "--passes", "2", "--temperature", "1", "--price", "in=1,out=2")
        out, _ = works(call, "score", EXAMPLE, *how, "--judge", judge, *options)
        return out

    with JudgeServer() as live:
        score_by(live.judge, "--out", "live")
    batch = Batch(tmp_path / "run")
    out = score_by(JUDGE, "--out", "run", "--batch-out", batch.calls)
    assert ("Another round follows: concern_matching" in out) == (suite == "medconceal")
    with JudgeServer() as service:
        while batch.calls.exists():
            batch.answer(service)
            batch.calls.unlink()
            out, _ = works(call, "judge", "answers", "import", "run", batch.answers, "--batch-out", batch.calls)
    assert bodies(service) == bodies(live)
    assert "Nothing is left to ask." in out
    assert by_judge(batch.run).equals(by_judge(tmp_path / "live"))
    stores = [list(read_judgements(path / STORE)) for path in (batch.run, tmp_path / "live")]
    for field in ("cost", "input_tokens", "output_tokens", "answer", "replies"):
        ours, theirs = ([getattr(judgement, field) for judgement in store] for store in stores)
        assert ours == theirs, field


def test_what_follows_from_answers_is_exported_when_they_are_there(batch: Batch) -> None:
    def script(request: Received, number: int) -> Action:
        assert request.schema is not None
        if "findings" not in request.schema["properties"]:
            return Action()
        finding = {"category": "emotional discomfort or fear", "text": "Is afraid"}
        return Action(text=json.dumps({"reason": "r", "findings": [finding]}))

    work = JudgingWork(rubrics_of(["finding_extraction", "concern_matching"]))
    first = batch.export(work)
    assert (first.files[0].calls, first.waiting) == (12, ("concern_matching",))
    with JudgeServer(script) as server:
        batch.answer(server)
        second = batch.read(out=batch.calls)
        assert (second.taken, second.files[0].calls, second.waiting, second.open) == (12, 12, (), 12)
        assert all("Is afraid" in call["body"]["messages"][0]["content"] for call in lines(batch.calls))
        batch.answer(server)
        last = batch.read(out=batch.run.parent / "none.jsonl")
        assert (last.taken, last.files, last.open) == (12, (), 0)
        count = server.count
        assert (batch.judged_live(server, work).calls, server.count) == (0, count)
    assert by_judge(batch.run).filter(metric="submitted_findings")["value"].to_list() == [1.0] * 12
    assert by_judge(batch.run).filter(metric="concern_recall")["value"].to_list() == [0.0] * 12


def test_live_and_batch_mix(batch: Batch) -> None:
    work = JudgingWork(rubrics_of(["empathy", "partnership"]))
    with JudgeServer() as server:
        batch.judged_live(server, max_calls=5)
        first = batch.export(work)
        assert [(file.calls, file.model) for file in first.files] == [(24 - 5, "tiny")]
        assert first.open == 19
        assert set(batch.errors()) == {"not answered yet: it waits for a batch"}
        batch.answer(server)
        count = server.count
        assert batch.read().taken == 19
        judged = batch.judged_live(server, work)
        assert (server.count, judged.calls, judged.complete) == (count, 0, True)
    assert by_judge(batch.run)["error"].null_count() == 24


def test_codes_of_turns_by_batch(batch: Batch) -> None:
    work = JudgingWork(codes=("question", "client_talk"))
    batch.export(work)
    with JudgeServer() as server:
        batch.answer(server)
        assert batch.read().open == 0
        count = server.count
        assert (batch.judged_live(server, work).calls, server.count) == (0, count)
    ratings = by_judge(batch.run)
    assert ratings.filter(metric="percent_open_questions").height == 12
    assert set(ratings.filter(metric="question")["label"]) <= {"none", "open", "closed"}


def test_a_run_without_text_reads_its_files_again(tmp_path: Path) -> None:
    score([EXAMPLE], tmp_path / "run", text=False)
    batch = Batch(tmp_path / "run")
    batch.export()
    batch.answer()
    assert batch.read().open == 0


def test_a_rubric_of_ones_own_is_remembered(batch: Batch, tmp_path: Path) -> None:
    shipped = Path(bedside.__file__).parent / "judges" / "rubrics" / "shipped" / "empathy.yaml"
    own = shipped.read_text("utf-8").replace("name: empathy", "name: warmth")
    file = tmp_path / "mine" / "warmth.yaml"
    file.parent.mkdir()
    file.write_text(re.sub(r"^title: .*$", "title: How warm it is", own, flags=re.MULTILINE), "utf-8")
    batch.export(JudgingWork(rubrics_of(["warmth"], folder=file.parent)))
    file.unlink()
    batch.answer()
    assert batch.read().taken == 12
    assert by_judge(batch.run).filter(metric="warmth")["value"].is_in([1.0, 2.0, 3.0, 4.0, 5.0]).all()
    view = open_ratings_view(batch.run)
    known = view.facts("warmth")
    assert (known.title, known.group, known.direction) == ("How warm it is", "Ratings", "higher")
    assert view.scales["warmth"].levels == (1.0, 2.0, 3.0, 4.0, 5.0)


def test_replies_that_cannot_be_used_are_asked_again_and_then_given_up(batch: Batch, tmp_path: Path) -> None:
    """As in a live run: three replies, each but the first asked for with what was wrong with the one before."""

    def script(request: Received, number: int) -> Action:
        bad = "[0]" in request.prompt and "heart" in request.prompt
        return Action(text='{"reason": "r", "score": 77}') if bad else Action()

    with JudgeServer(script) as live:
        batch.judged_live(live)
    expected, kept = by_judge(batch.run), {each.key: each for each in read_judgements(batch.run / STORE)}
    bad = sum(each.state == "unusable" for each in kept.values())
    assert 0 < bad < 12
    second = Batch(tmp_path / "again")
    score([EXAMPLE], second.run)
    second.export()
    counts = []
    with JudgeServer(script) as service:
        for number in range(3):
            second.answer(service)
            second.calls.unlink()
            batched = second.read(out=second.calls)
            counts.append((batched.taken, batched.open, batched.unusable))
            if number < 2:
                objections = [call["body"]["messages"][2]["content"] for call in lines(second.calls)]
                assert all("can't be used" in words for words in objections)
    assert counts == [(12, bad, 0), (bad, bad, 0), (bad, 0, bad)]
    assert not second.calls.exists()
    assert bodies(service) == bodies(live)
    assert by_judge(second.run).equals(expected)
    for judgement in read_judgements(second.run / STORE):
        for field in ("state", "replies", "calls", "input_tokens", "output_tokens"):
            assert getattr(judgement, field) == getattr(kept[judgement.key], field), field


def test_errors_are_told_and_asked_again(batch: Batch, tmp_path: Path) -> None:
    batch.export()
    asked, made = lines(batch.calls), batch.answer()
    expired = {"code": "batch_expired", "message": "This request could not be executed in time."}
    made[0] = {**made[0], "response": None, "error": expired}
    made[1] = answer(made[1]["custom_id"], {"error": {"message": "slow down"}}, 429)
    made[2] = answer(made[2]["custom_id"], {"choices": []})
    write(batch.answers, made)
    following, more = tmp_path / "next.jsonl", tmp_path / "more.jsonl"
    for _ in range(2):  # the same file again changes nothing
        batched = batch.read(out=following)
        assert (batched.errors, batched.open) == (3, 3)
        assert [call["custom_id"] for call in lines(following)] == [call["custom_id"] for call in asked[:3]]
        assert sorted(error.partition(" (batch_")[0] for error in batch.errors()) == [
            'the batch answered 200: {"choices":[]}',
            "the batch answered 429: slow down",
            "the batch answered an error: This request could not be executed in time.",
        ]
    with JudgeServer() as server:
        answered(server, following, more)
    # An answer goes before an error to the same call, wherever they stand.
    batched = batch.read(batch.answers, more)
    assert (batched.open, batched.taken, batched.answered_before, batched.twice) == (0, 3, 9, 0)
    assert by_judge(batch.run)["error"].null_count() == 12


def test_lines_are_counted_whatever_they_hold(batch: Batch) -> None:
    batch.export()
    made = batch.answer()
    other = answer("somebody-else", made[0]["response"]["body"])
    stranger = answer(f"{'0' * 48}-1", made[0]["response"]["body"])
    second = json.loads(json.dumps(made[1]))
    second["response"]["body"]["choices"][0]["message"]["content"] = '{"reason": "later", "score": 1}'
    text = "".join(json.dumps(line) + "\n" for line in (*made[:-1], other, stranger, second))
    batch.answers.write_text(text + "[1]\n\n" + json.dumps(made[-1])[:-40], "utf-8")
    read = batch.read()
    counts = (read.lines, read.taken, read.unasked, read.twice, read.unreadable, read.open)
    assert counts == (14, 11, 2, 1, 2, 1)
    assert read.first_unreadable == f"{batch.answers}:15"
    assert "later" not in by_judge(batch.run)["reason"].drop_nulls().to_list()
    again = batch.read()
    assert (again.taken, again.answered_before, again.unasked, again.open) == (0, 11, 2, 1)


def test_anothers_answers_are_refused(batch: Batch, tmp_path: Path) -> None:
    batch.export(temperature=1.0)
    batch.answer()
    other = Batch(tmp_path / "other")
    score([EXAMPLE], other.run)
    with pytest.raises(InputError, match="no calls were exported from this run"):
        other.read()
    other.export(temperature=0.5)
    before = Run(other.run).manifest
    with pytest.raises(InputError, match="none of the 12 answers"):
        other.read()
    assert Run(other.run).manifest == before


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "holds no answers of a batch"),
        (b"custom_id,response\n1,2\n", "holds no answers of a batch"),
        (None, "not the one of the calls"),
    ],
)
def test_other_files_are_refused(batch: Batch, tmp_path: Path, content: bytes | None, words: str) -> None:
    batch.export()
    batch.answers.write_bytes(batch.calls.read_bytes() if content is None else content)
    with pytest.raises(InputError, match=words):
        batch.read()
    with pytest.raises(InputError, match=r"nowhere\.jsonl"):
        batch.read(tmp_path / "nowhere.jsonl")


def test_the_wording_changed_since(batch: Batch) -> None:
    batch.export()
    manifest = Run(batch.run).manifest
    next(iter(manifest["scorings"][-1]["judges"].values()))["prompts"]["empathy"] = "0" * 12
    write_manifest(batch.run, manifest)
    with pytest.raises(InputError, match="another wording"):
        read_batch(Run(batch.run), out=batch.calls)


def test_the_same_export_is_the_same_file(batch: Batch, tmp_path: Path) -> None:
    batch.export()
    first = batch.calls.read_bytes()
    assert read_batch(Run(batch.run), out=batch.calls).files[0].calls == 12
    assert batch.calls.read_bytes() == first
    names = [call["custom_id"] for call in lines(batch.calls)]
    assert all(len(name) <= 64 for name in names)
    assert len(set(names)) == 12
    assert lines(batch.calls)[0]["body"]["response_format"]["type"] == "json_schema"
    assert {path.name for path in tmp_path.iterdir()} == {"run", "calls.jsonl"}


def test_calls_are_no_more_than_allowed(batch: Batch) -> None:
    batched = batch.export(max_calls=5)
    assert (batched.files[0].calls, batched.open) == (5, 12)
    assert "not asked: the limit of calls was reached" in batch.errors()


def test_one_file_is_for_one_model(batch: Batch, tmp_path: Path) -> None:
    files = write_batch(Run(batch.run), [JUDGE, "http://127.0.0.1:9/v1#other"], EMPATHY, batch.calls).files
    assert [(file.path.name, file.model) for file in files] == [("calls-1.jsonl", "tiny"), ("calls-2.jsonl", "other")]
    answers = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    with JudgeServer() as server:
        for file, path in zip(files, answers, strict=True):
            assert {call["body"]["model"] for call in lines(file.path)} == {file.model}
            answered(server, file.path, path)
    assert batch.read(*answers).taken == 24


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


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--judge", "anthropic/x", "--rubrics", "empathy"], "anthropic/x can't be asked by batch files"),
        (["--judge", "local", "--rubrics", "empathy"], "can't be asked by batch files"),
        ([], "no judge is named"),
    ],
)
def test_bad_calls_are_one_line(arguments: list[str], words: str, call: Call, tmp_path: Path) -> None:
    code, _, err = call("score", EXAMPLE, "--out", "run", "--batch-out", "calls.jsonl", *arguments)
    assert code == 2
    assert words in err
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_what_is_said(batch: Batch, call: Call) -> None:
    batch.export(price=Price(1, 2))
    made = batch.answer()
    write(batch.answers, [*made[:-2], {**made[-1], "response": None, "error": {"message": "expired"}}])
    out, _ = works(call, "judge", "answers", "import", batch.run, batch.answers)
    assert "Read 11 answers: 10 taken." in out
    assert "1 error in place of an answer; to be asked again" in out
    assert f"2 judgements are open: bedside judge answers export {batch.run} FILE.jsonl" in out
    assert "$0.0" in out
    code, out, _ = call("judge", "answers", "import", batch.run, batch.answers, "--json")
    assert (code, json.loads(out)[0]["rows"][0]["stored"]) == (0, 10)
    code, out, _ = call("judge", "answers", "export", batch.run, batch.calls)
    assert (code, "2 calls" in out, len(lines(batch.calls))) == (0, True, 2)
