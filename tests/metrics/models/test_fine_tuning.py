"""A tuned model knows its kind of conversation better, can be read again, and is the same for the same seed."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from bedside.core.errors import DataError, MissingExtraError, RunError
from bedside.metrics.families.redirection import FAMILY
from bedside.metrics.models import fine_tuning
from bedside.metrics.models.fine_tuning import CARD, Tuning, fine_tune
from bedside.metrics.models.language_model import load_language_model
from bedside.metrics.models.likelihood import Continuation, load_likelihood
from bedside.transcripts.transcript import Transcript
from tests.conftest import conversation, exit_code
from tests.metrics.models.language_models import save, tensors_with_a_device

pytestmark = pytest.mark.model


@pytest.fixture(scope="module", autouse=True)
def libraries() -> None:
    """Imported when a test is run, for it takes seconds."""
    pytest.importorskip("torch")
    pytest.importorskip("transformers")


TALKS = [
    conversation(
        ("clinician", "How are you today?"), ("patient", f"I am well, thank you, number {number}."), id=f"t{number}"
    )
    for number in range(12)
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(save(tmp_path_factory.mktemp("models") / "base", kind="Llama"))


@pytest.mark.parametrize("method", ["lora", "plain"])
def test_model_and_tensors_are_where_pytorch_computes(
    method: str, folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tuning = Tuning(method, epochs=1, batch=2)
    with tensors_with_a_device() as made:
        fine_tune(TALKS, folder, tmp_path / "tuned", tuning)
    assert set(made) == {"tensor: cpu"}
    monkeypatch.setattr(fine_tuning, "device", lambda: "meta")  # a device that every PyTorch has
    with pytest.raises(RuntimeError, match="meta"):
        fine_tune(TALKS, folder, tmp_path / "elsewhere", tuning)


@pytest.mark.parametrize("method", ["lora", "plain"])
def test_a_tuned_model_is_better_on_transcripts_that_it_has_not_seen(method: str, folder: str, tmp_path: Path) -> None:
    if method == "lora":
        pytest.importorskip("peft")
    out = tmp_path / "new" / "tuned"
    steps = []
    tuning = Tuning(method, epochs=6, learning_rate=0.01, batch=2, held_out=0.25)
    tuned = fine_tune(TALKS, folder, out, tuning, lambda step, of, loss: steps.append((step, of, loss)))
    assert (tuned.trained, tuned.held_out, tuned.steps) == (9, 3, 30)
    assert [step for step, _, _ in steps] == list(range(1, 31))
    assert tuned.after < tuned.before - 0.5
    assert not list(out.glob("*adapter*"))
    assert list(out.glob("*.safetensors"))
    card = json.loads((out / CARD).read_text())
    assert card["loss_held_out"] == {"before": tuned.before, "after": tuned.after, "unit": "nats per token"}
    assert card["settings"]["method"] == method
    assert len(card["transcripts"]["held_out"]) == 3
    assert str(folder) not in json.dumps(card)
    held = [each for each in TALKS if each.id in card["transcripts"]["held_out"]]
    assert loss(out, held) == pytest.approx(tuned.after, abs=1e-4), "what is read again is what was measured"
    assert loss(Path(folder), held) == pytest.approx(tuned.before, abs=1e-4)
    values = FAMILY.compute(TALKS[0], frozenset({"turn_likelihood"}), **FAMILY.settings({"model": str(out)}))
    assert all(value.value is not None for value in values)


def loss(folder: Path, talks: list[Transcript]) -> float:
    """The mean of −log p over all tokens but the first of each transcript, through the likelihood."""
    likelihood = load_likelihood(str(folder))
    tokens = [[token for line in fine_tuning._lines(each) for token in likelihood.encode(line)] for each in talks]
    found = likelihood.weigh([[Continuation(each[:1], each[1:])] for each in tokens])
    return -float(sum(group[0].sum() for group in found)) / sum(len(each) - 1 for each in tokens)


def test_the_same_seed_gives_the_same_weights(folder: str, tmp_path: Path) -> None:
    made = []
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        fine_tune(TALKS, folder, tmp_path / name, Tuning("plain", epochs=1, seed=seed))
        made.append((tmp_path / name / "model.safetensors").read_bytes())
    assert made[0] == made[1]
    assert made[0] != made[2]
    load_language_model(tmp_path / "a")


def test_long_turns_and_sessions_are_cut_in_pieces(folder: str) -> None:
    _, tokenizer = load_language_model(Path(folder))
    lines = ["a" * 20, "b" * 20, "c" * 100, "d" * 20]
    made = [tokenizer.decode(piece) for piece in fine_tuning._pieces(lines, tokenizer, 50)]
    assert made == ["a" * 20 + "b" * 20, "c" * 50, "d" * 20]


def test_bad_calls_are_refused(folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DataError):
        fine_tune([TALKS[0], conversation(("other", "x"))], folder, tmp_path / "out")
    with pytest.raises(RunError):
        fine_tune(TALKS, folder, tmp_path)
    with pytest.raises(DataError, match="'lara'"):
        fine_tune(TALKS, folder, tmp_path / "out", Tuning("lara"))
    for bad in (Tuning(epochs=0), Tuning(window=3), Tuning(held_out=1.0), Tuning(learning_rate=math.nan)):
        with pytest.raises(DataError):
            fine_tune(TALKS, folder, tmp_path / "out", bad)
    monkeypatch.setattr(fine_tuning, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"pip install \"bedside\[redirection\]\""):
        fine_tune(TALKS, folder, tmp_path / "out", Tuning("lora"))
    assert not (tmp_path / "out").exists()


def test_the_command(folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "talks.jsonl"
    file.write_bytes(b"".join(each.to_json() + b"\n" for each in TALKS))
    assert exit_code("train", "redirection", file, "--model", folder, "--out", tmp_path / "out", "--epochs", "0.5") == 0
    said = capsys.readouterr().out
    assert "The loss on 1 other, in nats per token: " in said
    assert f"--set redirection.model={tmp_path / 'out'}" in said
    assert exit_code("train", "redirection", file, "--model", tmp_path / "none", "--out", tmp_path / "new") == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not (tmp_path / "new").exists()
