"""Training files, read by the libraries they are for: ``datasets`` and TRL's own handling of conversations."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import pytest

from bedside.api.note2chat_files import write_sft
from bedside.api.note2chat_training import Asking, read_talks, write_dialogues
from bedside.core.errors import BedsideError, DataError, InputError
from bedside.judges.llm.queue import Patience
from bedside.metrics.protocols.note2chat.labels import CaseSplit, read_split
from bedside.metrics.protocols.note2chat.preferences import best_rollouts
from bedside.simulation.simulate import SimulationSettings
from bedside.simulation.simulators.case_files import read_cases
from bedside.simulation.simulators.note2chat import SIMULATOR
from bedside.simulation.simulators.note2chat.rule_actors import training_evaluator
from bedside.simulation.simulators.note2chat.training_records import message_thoughts
from bedside.transcripts.transcript import Transcript
from tests.api.note2chat_records import rolled_out, write_candidates, write_thoughts
from tests.conftest import exit_code as run
from tests.judges.llm.server import Action, JudgeServer, Received, fitting
from tests.simulation.simulators.note2chat.test_guided_dialogue import lines
from tests.simulation.simulators.playing import run_exchange

TEST = "leg-flight"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Everything that is made, by toys: interviews, rollouts, thoughts, candidates."""
    out = tmp_path_factory.mktemp("training")
    write_dialogues(SIMULATOR.cases, out / "dialogues", Asking("rules"))
    rolled_out(
        out / "dialogues" / "cases.jsonl", out / "rollouts", Asking("rules"),
        clinician="script:good", patient="rules", repeats=2, split=CaseSplit(None, frozenset({TEST})),
    )  # fmt: skip
    write_thoughts(read_talks(out / "dialogues" / "transcripts.jsonl"), out / "thoughts", Asking("rules"))
    write_candidates(
        read_talks(out / "thoughts" / "transcripts.jsonl"), out / "candidates", Asking("rules"),
        clinician="rules", patient="rules", number=5,
    )  # fmt: skip
    return out


def preferences(folder: Path, unit: str, out: Path, *options: object) -> None:
    """Pairs of what was made, of whole dialogues or of messages."""
    if unit == "message":
        files = [folder / "candidates" / "candidates.jsonl"]
    else:
        files = [folder / name / "transcripts.jsonl" for name in ("rollouts/checked", "dialogues")]
        options = ("--rule", "code", *options)
    assert run("train", "note2chat", "preferences", *files, "--unit", unit, "--out", out, *options) == 0


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


# -- rollouts ---------------------------------------------------------------------------------------


def test_a_case_that_is_kept_for_testing_is_not_rolled_out(folder: Path) -> None:
    checked = read_talks(folder / "rollouts" / "checked" / "transcripts.jsonl")
    assert {talk.case_id for talk in checked} == {
        "cough-smoker", "cough-week", "leg-negatives", "breath-pillows",
    }  # fmt: skip
    assert len(checked) == 8
    best = read_talks(folder / "rollouts" / "best.jsonl")
    assert [talk.to_json() for talk in best] == [talk.to_json() for talk in best_rollouts(checked).best]
    written = read_talks(folder / "dialogues" / "transcripts.jsonl")
    openings = {talk.case_id: talk.turns[0].text for talk in written}
    bundled = {case.id: case.note.opening for _, case in read_cases([SIMULATOR.cases]) if case.note}
    for talk in checked:
        assert talk.reference["licence"] == "Apache-2.0"
        (labels,) = talk.reference["note2chat"].values()
        assert len(labels["findings"]) == len(talk.reference["findings"])
        # The opening is that of the interview that was written, unless the case has its own.
        assert talk.case_id is not None
        assert talk.turns[0].text == (bundled[talk.case_id] or openings[talk.case_id])


def labelled(name: str, case: str, elicited: int, rank: int | None) -> Transcript:
    findings = [{"message": 2 if number < elicited else None} for number in range(4)]
    whole = {"findings": findings, "diagnosis_rank": rank}
    turns = [{"role": "clinician" if number % 2 else "patient", "text": f"{name} {number}"} for number in range(4)]
    text = {"id": name, "case_id": case, "turns": turns, "reference": {"note2chat": {"judge:j": whole}}}
    path = Path(f"{name}.jsonl")
    path.write_text(json.dumps(text))
    (talk,) = read_talks(path)
    return talk


def test_the_best_is_the_highest_recall_less_one_without_the_diagnosis(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    talks = [
        labelled("a1", "a", 4, None), labelled("a2", "a", 1, 4), labelled("a3", "a", 1, 0),
        labelled("b1", "b", 4, None), labelled("b2", "b", 2, 5),
    ]  # fmt: skip
    assert [talk.id for talk in best_rollouts(talks).best] == ["a2"]
    assert best_rollouts(talks).left_out == (("b", "no interview names the true diagnosis"),)
    # Recall 1 − 1 = 0 and .25: the correct one wins; without any correct one the released code takes a wrong one.
    assert [talk.id for talk in best_rollouts(talks, require_correct=False).best] == ["a2", "b1"]


# -- splits -----------------------------------------------------------------------------------------


def test_a_case_in_both_lists_is_refused(tmp_path: Path) -> None:
    (tmp_path / "train").write_text("a\nb\n")
    (tmp_path / "test").write_text("b\n")
    with pytest.raises(InputError, match="both trained and tested"):
        read_split(tmp_path / "train", tmp_path / "test")
    split = read_split(tmp_path / "train")
    assert [split.side(case) for case in "abc"] == ["train", "train", None]
    (tmp_path / "none").write_text("\n")
    with pytest.raises(InputError, match="no ids"):
        read_split(test=tmp_path / "none")


@pytest.mark.parametrize("unit", ["dialogue", "message"])
def test_no_case_that_is_kept_for_testing_is_in_the_pairs(folder: Path, tmp_path: Path, unit: str) -> None:
    (tmp_path / "ids").write_text("cough-smoker\n")
    preferences(folder, unit, tmp_path / "all")
    preferences(folder, unit, tmp_path / "few", "--test", tmp_path / "ids")
    everything, few = (rows(tmp_path / name / "train.jsonl") for name in ("all", "few"))
    assert "cough-smoker" in {row["case"] for row in everything}
    assert few
    assert "cough-smoker" not in {row["case"] for row in few}
    if unit == "message":
        # What is drawn for a turn doesn't depend on other cases.
        assert few == [row for row in everything if row["case"] != "cough-smoker"]


@pytest.mark.parametrize("unit", ["dialogue", "message"])
@pytest.mark.parametrize("form", ["trl", "llama-factory"])
def test_no_case_is_on_both_sides(folder: Path, tmp_path: Path, unit: Any, form: Any) -> None:
    talks = read_talks(folder / "thoughts" / "transcripts.jsonl")
    split = CaseSplit(None, frozenset({TEST}))
    written = write_sft(talks, tmp_path / "out", unit=unit, form=form, split=split)
    train, test = (rows(tmp_path / "out" / f"{side}.jsonl") for side in ("train", "test"))
    assert {row["case"] for row in test} == {TEST}
    assert TEST not in {row["case"] for row in train}
    assert (len(train), len(test)) == (written.rows["train"], written.rows["test"])
    text = (tmp_path / "out" / "train.jsonl").read_bytes()
    info = json.loads((tmp_path / "out" / "dataset_info.json").read_text())
    assert info["note2chat_train"]["sha256"] == hashlib.sha256(text).hexdigest()
    assert info["note2chat_train"]["about"]["licences of the notes"] == {"Apache-2.0": 5}
    card = (tmp_path / "out" / "README.md").read_text()
    assert info["note2chat_train"]["sha256"] in card
    assert "clinician_tuned.en@" in card
    # Written again without test cases, the file of them is gone.
    write_sft(talks, tmp_path / "out", unit=unit, form=form)
    assert not (tmp_path / "out" / "test.jsonl").exists()


# -- records ----------------------------------------------------------------------------------------


def test_thoughts_stand_before_the_message_and_never_in_a_dialogue(folder: Path, tmp_path: Path) -> None:
    talks = read_talks(folder / "thoughts" / "transcripts.jsonl")
    write_sft(talks, tmp_path / "d", unit="dialogue")
    write_sft(talks, tmp_path / "m", unit="message", form="llama-factory")
    write_sft(talks, tmp_path / "t", unit="message", form="trl")
    assert "<think>" not in (tmp_path / "d" / "train.jsonl").read_text()
    records = [row for row in rows(tmp_path / "m" / "train.jsonl") if row["case"] == "cough-week"]
    (talk,) = (talk for talk in talks if talk.case_id == "cough-week")
    assert [row["turn"] for row in records] == [turn.index for turn in talk.of("clinician")]
    assert records[0]["input"] == f"current turn 0\n\n{talk.turns[0].text}"
    for before, row in pairwise(records):
        number, index = row["turn"] // 2, row["turn"]
        assert row["input"] == f"current turn {number}\n\n{before['output']}\n\n{talk.turns[index - 1].text}"
        block, message = row["output"].removeprefix("<think>\n").split("\n</think>\n\n")
        assert message == talk.turns[index].text
        thought = json.loads(block)
        assert set(thought) == {"summary", "plan"}
        assert [line.split(":")[0] for line in thought["summary"].splitlines()] == [
            f"turn {each}" for each in range(number + 1)
        ]
    same = [row for row in rows(tmp_path / "t" / "train.jsonl") if row["case"] == "cough-week"]
    assert [row["completion"][0]["content"] for row in same] == [row["output"] for row in records]
    assert [row["prompt"][1]["content"] for row in same] == [row["input"] for row in records]


def test_a_message_without_a_thought_or_after_one_without_is_skipped() -> None:
    def reply(call: Any) -> Any:
        if call.purpose == "message_plan" and call.ordinal == 2:
            return "no"
        return training_evaluator(call)

    thoughts, calls, _ = run_exchange(message_thoughts(lines(8), "en"), reply)
    assert [thought is None for thought in thoughts] == [False, True, False, False]
    assert sum(call.purpose == "exchange_summary" for call in calls) == 4

    def first_summary_missing(call: Any) -> Any:
        return "no" if call.purpose == "exchange_summary" and call.ordinal == 1 else reply(call)

    thoughts, calls, _ = run_exchange(message_thoughts(lines(6), "en"), first_summary_missing)
    # Summaries are stacked: where one is missing, so is every later one, and no plan is asked for.
    assert set(thoughts) == {None}
    assert not any(call.purpose == "message_plan" for call in calls)


def test_an_interview_in_which_the_doctor_knows_beforehand_is_left_out(folder: Path, tmp_path: Path) -> None:
    talks = list(read_talks(folder / "dialogues" / "transcripts.jsonl"))
    cast(Any, talks[0].reference)["simulation"]["flags"]["doctor states a finding first"] = 1
    written = write_sft(talks, tmp_path / "out")
    assert written.left_out == ((talks[0].id, "the doctor states a finding before the patient"),)
    assert written.cases["train"] == 4
    with pytest.raises(DataError, match="nothing to train on"):
        write_sft(talks[:1], tmp_path / "none")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("mine")
    with pytest.raises(InputError, match="holds something else"):
        write_sft(talks, tmp_path / "mine")


# -- with the libraries that train ------------------------------------------------------------------


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[Path], Any]:
    """The folder as ``datasets`` reads it, with no network."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    datasets = pytest.importorskip("datasets")
    return lambda path: datasets.load_dataset(str(path), cache_dir=str(tmp_path / "cache"))


_TEMPLATE = (
    "{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}<|end|>"
    "{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["dialogue", "message"])
def test_datasets_and_trl_read_the_files_for_fine_tuning(
    folder: Path, tmp_path: Path, load: Callable[[Path], Any], unit: Any
) -> None:
    trl = import_module("trl")
    talks = read_talks(folder / "thoughts" / "transcripts.jsonl")
    write_sft(talks, tmp_path / "out", unit=unit, split=CaseSplit(None, frozenset({TEST})))
    data = load(tmp_path / "out")
    assert set(data) == {"train", "test"}
    assert len(data["train"]) == len(rows(tmp_path / "out" / "train.jsonl"))
    example = data["train"][0]
    assert trl.is_conversational(example)
    tokenizer = _tokenizer()
    text = trl.apply_chat_template(example, tokenizer)
    whole = text["text"] if unit == "dialogue" else text["prompt"] + text["completion"]
    assert whole.startswith("<|system|>You are a doctor")
    assert whole.count("<|assistant|>") == (len(talks[0].turns) // 2 if unit == "dialogue" else 1)


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["dialogue", "message"])
def test_trl_reads_the_pairs(folder: Path, tmp_path: Path, load: Callable[[Path], Any], unit: str) -> None:
    trl = import_module("trl")
    out = tmp_path / "pairs"
    preferences(folder, unit, out)
    data = load(out)
    written = rows(out / "train.jsonl")
    assert len(data["train"]) == len(written) > 0
    tokenizer = _tokenizer()
    for example, row in zip(data["train"], written, strict=True):
        assert trl.is_conversational(example)
        text = trl.apply_chat_template(example, tokenizer)
        assert text["prompt"].endswith("<|assistant|>")
        assert text["chosen"] != text["rejected"]
        assert text["chosen"].startswith(row["chosen"][0]["content"])
        assert row["margin"] > 0
        # TRL's own cut between what is shared and what isn't lies no earlier than ours.
        both = {name: [*row["prompt"], *row[name]] for name in ("chosen", "rejected")}
        assert trl.extract_prompt(both)["prompt"][: len(row["prompt"])] == row["prompt"]


def _tokenizer() -> Any:
    """A tokenizer of single characters, made here: only the template matters."""
    from tokenizers import Tokenizer, models

    words = Tokenizer(models.WordLevel({"x": 0}, unk_token="x"))
    tokenizer = import_module("transformers").PreTrainedTokenizerFast(tokenizer_object=words)
    tokenizer.chat_template = _TEMPLATE
    return tokenizer


@pytest.mark.slow
def test_the_commands_make_it_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    notes = SIMULATOR.cases.with_name("notes.yaml")
    (tmp_path / "test-ids.txt").write_text(f"{TEST}\n")
    held = ("--test", tmp_path / "test-ids.txt")
    at = {name: tmp_path / name for name in ("prepared", "dialogues", "rollouts", "thoughts", "sft")}
    steps = [
        ("prepare", notes, "--evaluator", "rules", "--out", at["prepared"]),
        ("dialogues", at["prepared"] / "cases.jsonl", "--writer", "rules", "--out", at["dialogues"]),
        (
            "rollouts", at["dialogues"] / "cases.jsonl", "--clinician", "rules", "--patient", "rules",
            "--evaluator", "rules", "--repeats", "2", *held, "--out", at["rollouts"],
        ),
        (
            "thoughts", at["dialogues"] / "transcripts.jsonl", at["rollouts"] / "best.jsonl", "--evaluator", "rules",
            "--out", at["thoughts"],
        ),
        ("sft", at["thoughts"] / "transcripts.jsonl", *held, "--out", at["sft"]),
    ]  # fmt: skip
    for step in steps:
        assert run("train", "note2chat", *step) == 0, step
    assert TEST not in {row["case"] for row in rows(at["sft"] / "train.jsonl")}
    assert "Wrote" in capsys.readouterr().out


def _tiny_model() -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers

    transformers = import_module("transformers")
    characters = {chr(code): number for number, code in enumerate(range(32, 127))}
    own = {name: len(characters) + number for number, name in enumerate(("<unk>", "<pad>", "</s>"))}
    letters = Tokenizer(models.WordLevel(characters | own, unk_token="<unk>"))
    letters.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=letters, unk_token="<unk>", pad_token="<pad>", eos_token="</s>"
    )
    tokenizer.chat_template = _TEMPLATE
    transformers.set_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=16, intermediate_size=16, num_hidden_layers=1,
        num_attention_heads=2, num_key_value_heads=2, max_position_embeddings=8192,
        pad_token_id=tokenizer.pad_token_id, eos_token_id=tokenizer.eos_token_id,
    )  # fmt: skip
    return transformers.LlamaForCausalLM(config), tokenizer


@pytest.mark.slow
@pytest.mark.model
@pytest.mark.parametrize("unit", ["dialogue", "message", "pairs of dialogues", "pairs of messages"])
def test_trls_trainers_take_a_step_on_the_files(
    folder: Path, tmp_path: Path, load: Callable[[Path], Any], unit: Any
) -> None:
    trl = import_module("trl")
    out = tmp_path / "files"
    if unit.startswith("pairs"):
        preferences(folder, unit.removeprefix("pairs of ").removesuffix("s"), out)
    else:
        write_sft(read_talks(folder / "thoughts" / "transcripts.jsonl"), out, unit=unit)
    model, tokenizer = _tiny_model()
    common: dict[str, Any] = {
        "output_dir": str(tmp_path / "trained"), "max_steps": 1, "per_device_train_batch_size": 1,
        "report_to": "none", "use_cpu": True, "bf16": False, "max_length": 2048, "save_strategy": "no",
    }  # fmt: skip
    data: dict[str, Any] = {"train_dataset": load(out)["train"], "processing_class": tokenizer}
    if unit.startswith("pairs"):
        reference = _tiny_model()[0]
        trainer = trl.DPOTrainer(model=model, ref_model=reference, args=trl.DPOConfig(**common), **data)
    else:
        trainer = trl.SFTTrainer(model=model, args=trl.SFTConfig(**common), **data)
    assert 0 < trainer.train().training_loss < 100


# -- figures and canaries ---------------------------------------------------------------------------


def test_the_published_counts_are_fifteen_rollouts_and_two_interviews_of_each_case() -> None:
    cases, rollouts, sft, turns, pairs = 4_472, 67_077, 8_944, 80_537, 95_811
    assert 15 * cases - 3 == rollouts
    assert 2 * cases == sft
    assert round(turns / sft, 1) == 9.0
    assert round(pairs / turns, 2) == 1.19 <= 2


def test_no_call_for_thoughts_holds_what_the_interview_does_not() -> None:
    made, calls, _ = run_exchange(message_thoughts(lines(8), "en"), training_evaluator)
    assert len(made) == 4
    for call in calls:
        # The plan before a message sees the messages before it, and that message; none that comes later.
        text = str(call.messages())
        later = 2 * call.ordinal + (0 if call.purpose == "message_plan" else -1)
        assert not any(f"m{number}" in text for number in range(later, 8)), (call.purpose, call.ordinal)


@pytest.mark.server
@pytest.mark.slow
def test_a_server_that_misbehaves_leaves_records_that_are_made_in_the_next_run(folder: Path, tmp_path: Path) -> None:
    talks = read_talks(folder / "dialogues" / "transcripts.jsonl")

    def misbehaving(request: Received, number: int) -> Action:
        # Text in place of JSON, a closed connection, a refusal to serve, and every few requests an answer.
        wrong = (Action(text="Here you are:"), Action(drop=True), Action(status=500), Action(body=b"<html>"))
        return wrong[number % 8] if number % 8 < len(wrong) else Action(text=fitting(request))

    settings = SimulationSettings(patience=Patience(attempts=2, first_wait=0.01, longest_wait=0.02))
    with JudgeServer(misbehaving) as server:
        asking = Asking(server.judge, settings=settings)
        for _ in range(12):
            try:
                summary = write_thoughts(talks, tmp_path / "thoughts", asking)
            except BedsideError:  # too many in a row came to nothing: the same call goes on
                continue
            if summary.counts.finished == len(talks):
                break
        assert summary.counts.finished == len(talks)
        server.script = lambda request, number: Action(status=500)
        again = write_thoughts(talks, tmp_path / "thoughts", asking)
    assert again.calls.asked == 0
    for talk in read_talks(tmp_path / "thoughts" / "transcripts.jsonl"):
        thoughts = [turn.meta.get("thought") for turn in talk.of("clinician")]
        assert all(thought is None or json.loads(thought)["plan"] == "because of turn 0" for thought in thoughts)
