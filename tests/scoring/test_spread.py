"""Scoring in parts gives the run of scoring in one go: files, errors, what is skipped, what is resumed."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from typing import Any

import pytest

from bedside.core.engines.contract import Engine, TaskOutcome, call_task
from bedside.core.errors import BedsideError, EngineError, RunError
from bedside.core.locks import hold
from bedside.scoring import spread as spreading
from bedside.scoring.plan import ScoringSummary
from bedside.scoring.score import score
from bedside.transcripts.read_options import ReadOptions

Round = Generator[tuple[int, TaskOutcome[Any]], None, None]


class Here(Engine):
    """Works where it is asked, the last task first; what it loses on the way it loses for good."""

    name = "here"

    def __init__(self, lose: Callable[[Any], bool] = lambda task: False, meanwhile: Any = None) -> None:
        self.lose, self.meanwhile = lose, meanwhile
        self.tasks: list[Any] = []

    @property
    def workers(self) -> int:
        return 1

    def run_round(self, function: Callable[[Any], Any], tasks: Mapping[int, Any]) -> Round:
        if self.meanwhile is not None and tasks:
            self.meanwhile(next(iter(tasks.values())))
        for number, task in reversed(list(tasks.items())):
            self.tasks.append(task)
            lost: TaskOutcome[Any] = TaskOutcome(lost="it died")
            yield (number, lost) if self.lose(task) else call_task(function, number, task)

    def close(self) -> None:
        pass


def line(name: str, words: str = "How do you sleep these days?") -> str:
    turns = [{"role": "clinician", "text": words}, {"role": "patient", "text": "I wake up at three. " * 40}]
    return json.dumps({"id": name, "system": name[0], "turns": turns}) + "\n"


def spoken_by(name: str, speaker: str) -> str:
    return line(name).replace('"clinician"', f'"{speaker}"')


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spreading, "_SMALLEST", 3000)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two files that are divided, and three that make up a part together."""
    path = tmp_path / "in"
    path.mkdir()
    for file in "ab":
        (path / f"{file}.jsonl").write_text("".join(line(f"{file}{n}") for n in range(20)))
    for file in "cde":
        (path / f"{file}.jsonl").write_text(line(f"{file}0"))
    return path


def contents(run: Path) -> dict[str, bytes]:
    files = (p for p in run.rglob("*") if p.is_file() and p.name not in ("manifest.json", ".lock"))
    return {str(path.relative_to(run)): path.read_bytes() for path in files}


def manifest(run: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((run / "manifest.json").read_text())
    for scoring in content["scorings"]:
        scoring.pop("date")
        scoring.pop("engine", None)
    content.pop("seal")  # of the dates, too
    return content


def assert_same(one: Path, other: Path) -> None:
    assert contents(one) == contents(other)
    assert manifest(one) == manifest(other)


def assert_nothing_kept(run: Path) -> None:
    assert not [path for path in run.parent.iterdir() if path.name.startswith(".")]


def both(tmp_path: Path, *paths: Path, **how: Any) -> tuple[ScoringSummary, ScoringSummary]:
    """Scored in one go, and in parts; the two runs are the same."""
    plain = score(paths, tmp_path / "plain", **how)
    spread = score(paths, tmp_path / "spread", engine=Here(), **how)
    assert_same(tmp_path / "plain", tmp_path / "spread")
    assert_nothing_kept(tmp_path / "spread")
    for part in ("transcripts", "turns", "ratings", "missing", "skipped", "reasons", "ignored"):
        assert getattr(plain, part) == getattr(spread, part)
    return plain, spread


def refused(paths: list[Path], out: Path, **how: Any) -> str:
    """Why neither one process nor parts can score it: for the same reason."""
    messages = set()
    for engine in (None, Here()):
        with pytest.raises(BedsideError) as raised:
            score(paths, out, engine=engine, **how)
        messages.add(f"{type(raised.value).__name__}: {raised.value}")
    assert len(messages) == 1
    return messages.pop()


def test_the_run_is_that_of_one_process(folder: Path, tmp_path: Path) -> None:
    engine = Here()
    score([folder], tmp_path / "run", engine=engine)
    assert len(engine.tasks) > 10
    both(tmp_path, folder)


@pytest.mark.slow
def test_annomi(annomi: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spreading, "_SMALLEST", 100_000)
    both(tmp_path, annomi)


def test_mdd5k_with_its_labels(mdd5k: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spreading, "_SMALLEST", 100_000)
    plain, _ = both(tmp_path, mdd5k, metrics=["structure"])
    assert any("companion" in file["format"] for file in plain.run.manifest["transcripts"]["inputs"])


@pytest.mark.slow
def test_large_runs_have_the_same_files(tmp_path: Path) -> None:
    """More rows and transcripts than one file of the tables holds."""
    path = tmp_path / "t.jsonl"
    roles = ("clinician", "patient")
    turns = [{"role": roles[n % 2], "text": f"Well {n}.", "meta": {"stage": "a"}} for n in range(90)]
    path.write_text("".join(json.dumps({"id": str(n), "turns": turns}) + "\n" for n in range(250)))
    plain, _ = both(tmp_path, path, metrics=["structure"])
    assert plain.ratings > 20_000


@pytest.mark.parametrize("text", [True, False])
def test_settings_reach_the_workers(folder: Path, tmp_path: Path, text: bool) -> None:
    options, raw = (ReadOptions(path_fields="{setting}", roles={"x": "patient"}), {"readability": {"raw": True}})
    metrics = ["turns", "readability"]
    both(tmp_path, folder, metrics=metrics, parameters=raw, options=options, text=text, seed=3)


@pytest.mark.usefixtures("folder")
def test_paths_stay_as_they_were_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    both(tmp_path, Path("in/a.jsonl"), Path("in/../in/b.jsonl"))


def test_added_to_a_run_in_parts(folder: Path, tmp_path: Path) -> None:
    for name, engine in (("plain", None), ("spread", Here())):
        score([folder], tmp_path / name, metrics=["turns"])
        score([folder], tmp_path / name, metrics=["words", "turns"], engine=engine)
    assert_same(tmp_path / "plain", tmp_path / "spread")
    (folder / "a.jsonl").write_text(line("a0", "Something else?"))
    assert "differs from those of the run" in refused([folder], tmp_path / "plain", metrics=["words"])


def spoil(folder: Path, *places: tuple[str, int, str]) -> None:
    """Put lines in place of others."""
    for file, number, text in places:
        path = folder / f"{file}.jsonl"
        lines = path.read_text().splitlines(keepends=True)
        lines[number] = text
        path.write_text("".join(lines))


BAD = {
    "one bad line": [("b", 15, "{\n")],
    "the first of two": [("b", 3, "{\n"), ("a", 12, '{"turns": 3}\n')],
    "an id twice": [("b", 4, line("a3"))],
    "an id twice in a part": [("a", 4, line("a3"))],
    "an id twice before a bad line": [("b", 4, line("a3")), ("b", 5, "{\n")],
    "a bad line before an id twice": [("b", 4, "{\n"), ("b", 5, line("a3"))],
    "three of one id": [("a", 9, line("a3")), ("b", 4, line("a3")), ("b", 5, line("a3"))],
    "speakers of no known role": [("a", 4, spoken_by("a4", "Zed")), ("b", 3, "{\n"), ("b", 4, spoken_by("b4", "Yor"))],
    "a file of nothing": [("d", 0, "\n")],
    "a file of something else": [("d", 0, "once upon a time\n")],
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_what_is_bad_is_refused_as_by_one_process(folder: Path, tmp_path: Path, case: str) -> None:
    spoil(folder, *BAD[case])
    refused([folder], tmp_path / "run")
    assert not (tmp_path / "run").exists()


#: Three are enough for the fast lane: a run is written twice for each.
FEW = {"speakers of no known role", "an id twice in a part", "an id twice before a bad line"}


@pytest.mark.parametrize("case", [pytest.param(c, marks=() if c in FEW else pytest.mark.slow) for c in BAD])
def test_what_is_skipped_is_the_same(folder: Path, tmp_path: Path, case: str) -> None:
    spoil(folder, *BAD[case])
    plain, _ = both(tmp_path, folder, options=ReadOptions(on_error="skip"))
    assert plain.skipped
    if case == "speakers of no known role":
        speakers = next(reason for reason in plain.reasons if "unknown" in reason)
        assert "2 transcripts with unknown speakers 'Yor' (1 turn in 1 transcript), 'Zed'" in speakers
        assert len(plain.reasons) == plain.skipped - 1


def test_bad_labels_of_a_corpus_are_told_once(tmp_path: Path) -> None:
    for name in ("conversations", "labels"):
        (tmp_path / "in" / name).mkdir(parents=True)
    for number in range(3):
        dialogue = [{"conversation": [{"doctor": "你好。", "patient": "睡不好。"}]}]
        (tmp_path / "in" / "conversations" / f"patient_{number}.json").write_text(json.dumps(dialogue))
        label = json.dumps({"ICD_Code": "F32", "Diagnosis_Result": "x"}) if number else "{"
        (tmp_path / "in" / "labels" / f"patient_{number}_label.json").write_text(label)
    plain, _ = both(tmp_path, tmp_path / "in", metrics=["turns"], options=ReadOptions(on_error="skip"))
    assert plain.skipped == len(plain.reasons) == 1


def test_a_file_that_all_is_wrong_with(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text("{\n" * 5000)
    refused([tmp_path / "t.jsonl"], tmp_path / "run", options=ReadOptions(on_error="skip"))


def is_part(task: Any) -> bool:
    return isinstance(task, tuple)


@pytest.mark.slow
def test_what_was_lost_is_done_by_the_same_call(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    first = Here(lambda task: is_part(task) and task[0].number % 3 == 0)
    with pytest.raises(EngineError, match=r"\d+ of \d+ parts"):
        score([folder], out, engine=first)
    assert not out.exists()
    kept, done = spreading.kept_parts(out)
    assert stat.S_IMODE(kept.stat().st_mode) == 0o700
    parts = [task[0].number for task in first.tasks if is_part(task)]
    assert done == sum(number % 3 != 0 for number in parts)
    second = Here()
    summary = score([folder], out, engine=second)
    assert sum(map(is_part, second.tasks)) == len(parts) - done
    assert summary.resumed == done
    assert_nothing_kept(out)
    score([folder], tmp_path / "plain")
    assert_same(out, tmp_path / "plain")


@pytest.mark.parametrize(
    "change", ["file", *(pytest.param(word, marks=pytest.mark.slow) for word in ("metrics", "text", "options"))]
)
def test_parts_of_something_else_are_not_taken(folder: Path, tmp_path: Path, change: str) -> None:
    out = tmp_path / "run"
    with pytest.raises(EngineError):
        score([folder], out, engine=Here(lambda task: is_part(task) and task[0].number == 0))
    options = {"metrics": ["turns"], "text": False, "options": ReadOptions(on_error="skip")}
    how: dict[str, Any] = {} if change == "file" else {change: options[change]}
    for path in folder.iterdir() if change == "file" else ():
        path.write_text(path.read_text().replace("days", "nights"))
    assert score([folder], out, engine=Here(), **how).resumed == 0
    score([folder], tmp_path / "plain", **how)
    assert_same(out, tmp_path / "plain")


def test_a_file_that_changes_meanwhile_is_refused(folder: Path, tmp_path: Path) -> None:
    def meddle(task: Any) -> None:
        if is_part(task):
            (folder / "c.jsonl").write_text(line("c0", "Other words, later?"))

    with pytest.raises(RunError):
        score([folder], tmp_path / "run", engine=Here(meanwhile=meddle))


def test_one_scoring_at_a_time(folder: Path, tmp_path: Path) -> None:
    kept = spreading.parts_folder(tmp_path / "run")
    kept.mkdir()
    lock = hold(kept / ".lock")
    assert lock is not None
    with lock, pytest.raises(RunError):
        score([folder], tmp_path / "run", engine=Here())


def test_a_worker_of_another_make_is_refused(folder: Path, tmp_path: Path, monkeypatch: Any) -> None:
    versions = iter(['{"bedside":"0.1.0","numpy":"9.0"}'])
    real = spreading.installed_versions
    monkeypatch.setattr(spreading, "installed_versions", lambda: next(versions, real()))
    with pytest.raises(EngineError):
        score([folder], tmp_path / "run", engine=Here())


def test_a_worker_that_sees_no_files_says_so(folder: Path, tmp_path: Path) -> None:
    elsewhere = Here(meanwhile=lambda task: os.rename(folder, tmp_path / "moved"))
    with pytest.raises(EngineError):
        score([folder], tmp_path / "run", engine=elsewhere)
