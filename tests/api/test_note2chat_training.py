"""Training data made by the engine: the same call goes on, replays with nobody asked, and writes the same bytes."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from bedside.api.note2chat_training import Asking, read_talks, write_dialogues
from bedside.core.errors import BedsideError, InputError
from bedside.metrics.protocols.note2chat import history as note2chat_history, labels as note2chat_labels
from bedside.simulation.simulate import SimulationSettings
from bedside.simulation.simulators.calls import Call
from bedside.simulation.simulators.case_files import read_cases
from bedside.simulation.simulators.note2chat import SIMULATOR
from bedside.simulation.simulators.note2chat.rule_actors import training_evaluator
from tests.api.note2chat_records import prepare_notes
from tests.conftest import exit_code
from tests.judges.llm.server import JudgeServer

pytestmark = pytest.mark.slow

NOTES = SIMULATOR.cases.with_name("notes.yaml")
FILES = ("cases.jsonl", "transcripts.jsonl", "states.jsonl", "failed.jsonl")


def contents(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in FILES if (folder / name).exists()}


class Calls:
    """An actor that replies as the toy does and counts what it is asked."""

    def __init__(self, until: int = 10**9) -> None:
        self.sites: list[tuple[str, ...]] = []
        self.until = until

    def __call__(self, told: Any) -> str:
        self.sites.append((told["purpose"], told["instruction"]))
        if len(self.sites) > self.until:
            raise RuntimeError("cut off")
        return training_evaluator(Call("evaluator", told["purpose"], 1, material=told["material"])).text


class Critic(Calls):
    """A second one, who can be told apart."""


class Checker(Calls):
    """A third."""


def test_notes_become_cases_and_cases_interviews(tmp_path: Path) -> None:
    summary = prepare_notes(NOTES, tmp_path / "prepared", Asking("rules"))
    assert summary.counts.finished == 5
    assert summary.counts.failed == {("material", "no history before treatment"): 1}
    prepared = [case for _, case in read_cases(tmp_path / "prepared" / "cases.jsonl")]
    assert all(not list(SIMULATOR.check_case(case)) for case in prepared)
    summary = write_dialogues(tmp_path / "prepared" / "cases.jsonl", tmp_path / "dialogues", Asking("rules"))
    assert summary.counts.finished == 5
    talks = read_talks(tmp_path / "dialogues" / "transcripts.jsonl")
    assert {talk.system for talk in talks} == {"note-guided"}
    for talk, (_, case) in zip(talks, read_cases(tmp_path / "dialogues" / "cases.jsonl"), strict=True):
        assert [turn.role for turn in talk.turns] == ["patient", "clinician"] * (len(talk.turns) // 2)
        assert case.note is not None
        assert case.note.opening == talk.turns[0].text
        (rater,) = note2chat_labels.label_raters(talk)
        found = note2chat_history.history(talk, note2chat_labels.rater_labels(talk, rater))
        assert not isinstance(found, str)
        assert (found.recall.value, found.rank) == (1.0, 0)
    manifest = json.loads((tmp_path / "dialogues" / "manifest.json").read_text())
    assert manifest["records"] == {"planned": 5, "made": 5, "failed": 0, "unfinished": 0}
    assert any(prompt.startswith("critic.en@") for prompt in manifest["prompts"])
    assert stat.S_IMODE((tmp_path / "dialogues" / "log.sqlite").stat().st_mode) == 0o600


@pytest.mark.parametrize("until", [1, 30])
def test_what_was_cut_off_goes_on_to_the_same_bytes_and_asks_nothing_twice(tmp_path: Path, until: int) -> None:
    whole, parts = Calls(), Calls(until)
    cases = SIMULATOR.cases
    write_dialogues(cases, tmp_path / "whole", Asking(whole))
    with pytest.raises(BedsideError, match="cut off"):
        write_dialogues(cases, tmp_path / "parts", Asking(parts))
    parts.until = 10**9
    answered = parts.sites[:until]
    parts.sites = []
    went_on = write_dialogues(cases, tmp_path / "parts", Asking(parts))
    assert went_on.counts.finished == 5
    assert not set(answered) & set(parts.sites)
    assert contents(tmp_path / "parts") == contents(tmp_path / "whole")


def test_a_limit_stops_and_a_replay_asks_nobody(tmp_path: Path) -> None:
    actor = Calls()
    few = write_dialogues(SIMULATOR.cases, tmp_path / "d", Asking(actor, settings=SimulationSettings(max_calls=20)))
    assert few.counts.unfinished > 0
    assert len(actor.sites) <= 20
    write_dialogues(SIMULATOR.cases, tmp_path / "d", Asking(actor))
    before, asked = contents(tmp_path / "d"), len(actor.sites)
    replay = Asking(actor, settings=SimulationSettings(replay=True))
    again = write_dialogues(SIMULATOR.cases, tmp_path / "d", replay)
    assert again.calls.asked == 0
    assert len(actor.sites) == asked
    assert contents(tmp_path / "d") == before
    with pytest.raises(BedsideError, match="no log to replay"):
        write_dialogues(SIMULATOR.cases, tmp_path / "other", replay)


def test_each_part_is_asked_of_whom_it_is_given_to(tmp_path: Path) -> None:
    writer, critic, checker = Calls(), Critic(), Checker()
    asking = Asking(checker, {"decision_tree": writer, "guided_dialogue": writer, "critic": critic})
    write_dialogues(SIMULATOR.cases, tmp_path / "d", asking)
    assert {purpose for purpose, _ in writer.sites} == {"decision_tree", "guided_dialogue"}
    assert {purpose for purpose, _ in critic.sites} == {"critic"}
    assert {purpose for purpose, _ in checker.sites} == {"finding_place", "diagnosis_place"}
    (rater,) = note2chat_labels.label_raters(read_talks(tmp_path / "d" / "transcripts.jsonl")[0])
    assert "Checker" in rater
    with pytest.raises(InputError, match="two different actors"):
        write_dialogues(SIMULATOR.cases, tmp_path / "e", Asking(Calls(), {"critic": Calls()}))


def test_concurrency_changes_nothing(tmp_path: Path) -> None:
    for width in (1, 5):
        settings = SimulationSettings(max_concurrency=width)
        write_dialogues(SIMULATOR.cases, tmp_path / str(width), Asking("rules", settings=settings))
    assert contents(tmp_path / "1") == contents(tmp_path / "5")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"id": "a", "chief_complaint": "x", "history": "y"}', "diagnosis"),
        ('{"id": "a", "chief_complaint": "x", "history": "y", "diagnosis": "z", "age": 3}', "age"),
        ("[]", "no notes"),
    ],
)
def test_a_bad_note_is_named(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "notes.jsonl"
    path.write_text(text)
    with pytest.raises(InputError, match=problem):
        prepare_notes(path, tmp_path / "out", Asking("rules"))
    assert not (tmp_path / "out").exists()


def test_the_folder_is_shown_as_a_simulations_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    prepare_notes(NOTES, tmp_path / "prepared", Asking("rules"))
    for arguments in (("status",), ("failed",), ("show", "cough-week")):
        assert exit_code("simulate", arguments[0], tmp_path / "prepared", *arguments[1:]) == 0
    out = capsys.readouterr().out
    assert "no history before treatment" in out
    assert "ended: completed true" in out


@pytest.mark.server
def test_a_limit_of_costs_stops_a_command_and_a_dry_run_asks_nobody(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def command(*options: object) -> int:
        arguments = (
            "train", "note2chat", "prepare", NOTES, "--evaluator", server.judge, "--out", tmp_path / "out",
            "--temperature", ".5", *options,
        )  # fmt: skip
        return exit_code(*arguments)

    with JudgeServer() as server:
        assert command("--dry-run", "--price", "in=1,out=2") == 0
        out = capsys.readouterr().out
        assert "What would be asked for cases of notes" in out
        assert "tiny" in out
        assert (server.count, (tmp_path / "out").exists()) == (0, False)
        assert command("--max-cost", "1") == 2
        assert "what tiny costs isn't known" in capsys.readouterr().err
        assert command("--price", "other,in=1,out=2") == 2
        assert "'other'" in capsys.readouterr().err
        assert server.count == 0
        # A token costs a dollar: the first reply is above the limit.
        command("--max-cost", "1", "--price", "in=1e6,out=1e6", "--max-concurrency", "1")
        assert 0 < server.count <= 2
        assert {received.body["temperature"] for received in server.received} == {0.5}
        capsys.readouterr()
