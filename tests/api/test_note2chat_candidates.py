"""Candidates of single messages, made by the engine: resumed, replayed, limited, and paired by the command."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from bedside.api.note2chat_files import read_candidates
from bedside.api.note2chat_training import Asking, candidate_plan, read_talks, write_dialogues
from bedside.core.errors import BedsideError, InputError
from bedside.metrics.protocols.note2chat.labels import CaseSplit
from bedside.simulation.call_preview import preview_records
from bedside.simulation.simulate import SimulationSettings
from bedside.simulation.simulators.calls import Call
from bedside.simulation.simulators.note2chat import SIMULATOR
from bedside.simulation.simulators.note2chat.rule_actors import TRAINING_RULES
from bedside.transcripts.transcript import Transcript
from tests.api.note2chat_records import write_candidates, write_thoughts
from tests.api.test_note2chat_files import TEST, rows
from tests.api.test_note2chat_training import contents
from tests.conftest import exit_code as run
from tests.judges.llm.server import Action, JudgeServer, Received, fitting


@pytest.fixture(scope="module")
def talks(tmp_path_factory: pytest.TempPathFactory) -> tuple[Transcript, ...]:
    """Two interviews that toys wrote, with thoughts."""
    out = tmp_path_factory.mktemp("interviews")
    write_dialogues(SIMULATOR.cases, out / "dialogues", Asking("rules"))
    written = read_talks(out / "dialogues" / "transcripts.jsonl")
    write_thoughts([talk for talk in written if talk.case_id in (TEST, "cough-week")], out / "t", Asking("rules"))
    return read_talks(out / "t" / "transcripts.jsonl")


class Told:
    """An actor that replies as the toys do and counts what it is asked."""

    def __init__(self, until: int = 10**9) -> None:
        self.sites: list[tuple[str, ...]] = []
        self.until = until

    def __call__(self, told: Any) -> str:
        self.sites.append((told["role"], told["purpose"], told["instruction"], str(told["material"])))
        if len(self.sites) > self.until:
            raise ConnectionError("cut off")
        call = Call(told["role"], told["purpose"], 1, material=told["material"], history=())
        return TRAINING_RULES[told["role"]](call).text


def made(talks: Any, out: Path, actor: Any = "rules", **options: Any) -> Any:
    settings = options.pop("settings", None)
    options = {"reward": "answerable", "number": 5, **options}
    return write_candidates(talks, out, Asking(actor, settings=settings), clinician=actor, **options)


@pytest.mark.slow
def test_what_was_cut_off_goes_on_to_the_same_bytes_and_asks_nothing_twice(talks: Any, tmp_path: Path) -> None:
    whole, parts = Told(), Told(60)
    made(talks, tmp_path / "whole", whole)
    assert {role for role, *_ in whole.sites} == {"clinician", "evaluator"}
    with suppress(BedsideError):  # several in a row that come to nothing end the run
        made(talks, tmp_path / "parts", parts)
    answered, parts.until, parts.sites = parts.sites[:60], 10**9, []
    went_on = made(talks, tmp_path / "parts", parts)
    assert went_on.counts.finished == 2
    assert len(answered) + len(parts.sites) == len(whole.sites)
    files = {name: (tmp_path / name / "candidates.jsonl").read_bytes() for name in ("whole", "parts")}
    assert files["whole"] == files["parts"]
    before, parts.sites = contents(tmp_path / "parts"), []
    again = made(talks, tmp_path / "parts", parts, settings=SimulationSettings(replay=True))
    assert (again.calls.asked, parts.sites) == (0, [])
    assert contents(tmp_path / "parts") == before


@pytest.mark.slow
def test_a_limit_stops_and_the_preview_counts_what_is_asked(talks: Any, tmp_path: Path) -> None:
    few = made(talks, tmp_path / "few", Told(), settings=SimulationSettings(max_calls=30))
    assert few.counts.unfinished == 2
    asked: dict[str, Any] = {"clinician": "rules", "patient": "rules", "number": 5}
    preview = preview_records(candidate_plan(talks, Asking("rules"), **asked), SimulationSettings())
    summary = write_candidates(talks, tmp_path / "all", Asking("rules"), **asked)
    assert {actor.role for actor in preview.actors} == {"clinician", "patient", "evaluator"}
    assert sum(actor.calls for actor in preview.actors) == summary.calls.asked


def test_a_case_that_is_kept_for_testing_gets_no_candidates(talks: Any, tmp_path: Path) -> None:
    made(talks, tmp_path / "out", split=CaseSplit(None, frozenset({TEST})))
    (interview,) = read_candidates([tmp_path / "out" / "candidates.jsonl"])
    assert interview.case == "cough-week"
    assert interview.generated_recall == 1.0
    assert [turn.turn for turn in interview.turns] == list(range(1, 2 * len(interview.turns), 2))
    assert all(len(turn.candidates) == 5 for turn in interview.turns)
    with pytest.raises(InputError, match="no interview of a case to train on"):
        made(talks, tmp_path / "none", split=CaseSplit(frozenset({"other"}), frozenset()))


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"reward": "finding"}, "a patient must answer"),
        ({"patient": "rules"}, "no patient is asked"),
        ({"reward": "other"}, "there is no reward 'other'"),
        ({"number": 1}, "2 or more"),
    ],
)
def test_what_means_nothing_is_refused(talks: Any, tmp_path: Path, options: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        made(talks, tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


def test_interviews_that_cannot_be_used_are_named(talks: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="same"):
        write_candidates(talks, tmp_path / "o", Asking("rules", temperature=0.0), clinician="rules", patient="rules")
    write_dialogues(SIMULATOR.cases, tmp_path / "dialogues", Asking("rules"))
    with pytest.raises(InputError, match="no message of the interviews has a thought"):
        made(read_talks(tmp_path / "dialogues" / "transcripts.jsonl"), tmp_path / "o")
    with pytest.raises(InputError, match="two interviews are called"):
        made((*talks, talks[0]), tmp_path / "o")
    path = tmp_path / "other.jsonl"
    path.write_text('{"id": "a"}\n')
    with pytest.raises(InputError, match="case"):
        read_candidates([path])


@pytest.mark.slow
def test_the_commands_make_candidates_and_pairs(talks: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "talks.jsonl"
    path.write_bytes(b"".join(talk.to_json() + b"\n" for talk in talks))
    asked = ("train", "note2chat", "candidates", path, "--clinician", "rules", "--evaluator", "rules")
    out = ("--out", tmp_path / "candidates")
    assert run(*asked, "--patient", "rules", "--dry-run", *out) == 0
    assert "What would be asked for interviews with candidates" in capsys.readouterr().out
    assert not (tmp_path / "candidates").exists()
    assert run(*asked, "--patient", "rules", "--number", 6, *out) == 0
    file = tmp_path / "candidates" / "candidates.jsonl"
    pairs = ("train", "note2chat", "preferences", file, "--unit", "message", "--out", tmp_path / "pairs")
    assert run(*pairs) == 0
    two = rows(tmp_path / "pairs" / "train.jsonl")
    assert run(*pairs, "--max-pairs-per-turn", 1) == 0
    one = rows(tmp_path / "pairs" / "train.jsonl")
    turns = {row["chosen_id"].rpartition(".")[0] for row in two}
    assert len(one) == len(turns) < len(two) <= 2 * len(turns)
    assert all(row in two for row in one)
    for row in two:
        assert row["margin"] > 0
        assert row["chosen"] != row["rejected"]
        assert [message["role"] for message in row["prompt"]] == ["system", "user"]
    about = json.loads((tmp_path / "pairs" / "dataset_info.json").read_text())["note2chat_train"]["about"]
    assert about["rewards"] == ["finding"]
    assert about["licences of the notes"] == {"Apache-2.0": 2}
    card = (tmp_path / "pairs" / "README.md").read_text()
    assert "clinician_tuned.en@" in card
    assert "whole rests of interviews" not in card


@pytest.mark.parametrize(
    ("options", "refused"),
    [
        (("--unit", "message", "--alpha", ".1"), "--alpha"),
        (("--unit", "message", "--rule", "code"), "--rule"),
        (("--unit", "message", "--rater", "judge:x"), "--rater"),
        (("--max-pairs-per-turn", "1", "--rule", "code"), "--max-pairs-per-turn"),
        (("--rule", "code", "--alpha", ".1"), "--alpha"),
        (("--rule", "code", "--outside", "term"), "--outside"),
    ],
)
def test_an_option_that_would_not_count_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: tuple[str, ...], refused: str, talks: Any
) -> None:
    path = tmp_path / "talks.jsonl"
    path.write_bytes(talks[0].to_json() + b"\n")
    assert run("train", "note2chat", "preferences", path, *options, "--out", tmp_path / "out") == 2
    assert refused in capsys.readouterr().err


@pytest.mark.server
@pytest.mark.slow
def test_models_are_asked_in_their_roles_with_the_temperature(talks: Any, tmp_path: Path) -> None:
    def answering(request: Received, number: int) -> Action:
        if request.body["model"] == "doctor":
            return Action(text=f"<think>I wonder.</think>Is it number {number}?")
        if request.body["model"] == "patient":
            return Action(text="Sorry, I don't know.")
        properties = request.schema["properties"] if request.schema else {}
        if "opening" in properties:
            nowhere = {"opening": False, "last": None, "patient_first": None, "doctor_first": None}
            return Action(text=json.dumps(nowhere))
        return Action(text='{"diagnoses": null}' if "diagnoses" in properties else fitting(request))

    (talk,) = (talk for talk in talks if talk.case_id == TEST)
    with JudgeServer(answering) as server:
        doctor, patient, evaluator = (f"{server.url}#{name}" for name in ("doctor", "patient", "evaluator"))
        summary = write_candidates(
            [talk], tmp_path / "out", Asking(evaluator, temperature=0.7),
            clinician=doctor, patient=patient, number=3,
        )  # fmt: skip
        assert summary.counts.finished == 1
        assert {received.body["temperature"] for received in server.received} == {0.7}
        asked = {
            name: [received for received in server.received if received.body["model"] == name]
            for name in ("doctor", "patient", "evaluator")
        }
    turns = len(talk.turns) // 2
    assert (len(asked["doctor"]), len(asked["patient"])) == (3 * turns, 3 * turns)
    # Ten draws of one prompt are ten draws: each has its own seed.
    assert len({received.body["seed"] for received in asked["doctor"]}) == 3 * turns
    for received in asked["doctor"]:
        assert [message["role"] for message in received.body["messages"]] == ["system", "user"]
        assert str(talk.reference["note"]) not in str(received.body)
    for received in asked["patient"]:
        assert [message["role"] for message in received.body["messages"]][1:3] == ["assistant", "user"] or [
            message["role"] for message in received.body["messages"]
        ][:2] == ["system", "user"]
    (interview,) = read_candidates([tmp_path / "out" / "candidates.jsonl"])
    assert {candidate.thought for turn in interview.turns for candidate in turn.candidates} == {"I wonder."}
    assert {candidate.reward for turn in interview.turns for candidate in turn.candidates} == {0.0}
