"""The flow score by hand, and a tiny model in the published checkpoint's layout beside a plain computation."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bedside.core.errors import ModelError
from bedside.metrics.families.directionality import FAMILY, _scores, flow_score, similarities
from bedside.metrics.models.dialoflow import Influence, load_dialoflow
from bedside.ratings.values import Value
from tests.conftest import conversation
from tests.metrics.models.language_models import save_dialoflow

A, B = "clinician", "patient"
SAID = tuple((A if i % 2 == 0 else B, f"this is what is said in turn {i}") for i in range(8))


def values(*turns: tuple[Any, ...], **given: Any) -> list[Value]:
    return list(FAMILY.compute(conversation(*turns), frozenset({"flow_score"}), **FAMILY.settings(given)))


# -- by hand ----------------------------------------------------------------------------------------


def test_similarities_by_hand() -> None:
    actual = np.array([[3.0, 4.0], [1.0, 0.0], [2.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    predicted = np.array([[3.0, 4.0], [0.0, 5.0], [-1.0, 0.0], [1.0, 1.0], [1.0, 0.0]])
    # equal; at a right angle; opposite and half as long; cosine 1/√2 and length ratio 1/√2; no influence at all
    np.testing.assert_allclose(similarities(actual, predicted), [1, 0, -0.5, 0.5, 0], atol=1e-12)


@pytest.mark.parametrize(
    ("found", "score"),
    [([1.0], 1.0), ([0.0], 2.0), ([-0.5], 4.0), ([0.0, -0.5], 2**1.5), ([1.0, 0.0, -0.5], 2.0), ([0.5, 0.5], 4 / 3)],
)
def test_flow_score_by_hand(found: list[float], score: float) -> None:
    assert flow_score(np.array(found)) == pytest.approx(score, rel=1e-12)


def test_flow_score_of_opposites_is_finite() -> None:
    assert math.isfinite(flow_score(np.array([-1.0, 1.0])))


def test_the_published_computation_is_a_power_of_ours() -> None:
    """Its code takes the natural logarithm where the formula has base 2."""
    found = np.random.default_rng(0).uniform(-0.9, 1, 20)
    published = 2 ** -np.mean(np.log((found + 1) / 2))
    assert published == pytest.approx(flow_score(found) ** math.log(2), rel=1e-12)


def test_each_role_has_its_turns_from_the_fourth_on() -> None:
    actual = np.eye(8)
    predicted = actual * np.array([0.1, 0.1, 0.1, 1, 0.5, 0.5, 0.25, 1])[:, None]

    def influences(_: list[str]) -> Influence:
        return Influence(actual, predicted, 0)

    clinician, patient = _scores(conversation(*SAID), influences)
    assert clinician.value == pytest.approx(flow_score(np.array([0.5, 0.25])))
    assert patient.value == pytest.approx(flow_score(np.array([1, 0.5, 1])))


# -- the model --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("torch")
    return save_dialoflow(tmp_path_factory.mktemp("models") / "tiny")


def layer_norm(x: Any, weights: dict[str, Any], name: str) -> Any:
    spread = np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5)
    return (x - x.mean(axis=-1, keepdims=True)) / spread * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def blocks(x: Any, weights: dict[str, Any], prefix: str, heads: int, layers: int) -> Any:
    """GPT-2's layers from their definition, in numpy and float64."""
    x = x + weights[f"{prefix}wpe.weight"][: len(x)]
    for number in range(layers):
        at = f"{prefix}h.{number}."

        def linear(y: Any, name: str, at: str = at) -> Any:
            return y @ weights[f"{at}{name}.weight"] + weights[f"{at}{name}.bias"]

        q, k, v = np.split(linear(layer_norm(x, weights, f"{at}ln_1"), "attn.c_attn"), 3, axis=-1)
        made = []
        for part in np.split(np.arange(x.shape[1]), heads):
            logits = q[:, part] @ k[:, part].T / np.sqrt(len(part))
            logits[np.triu_indices(len(x), 1)] = -np.inf
            shares = np.exp(logits - logits.max(axis=-1, keepdims=True))
            made.append(shares / shares.sum(axis=-1, keepdims=True) @ v[:, part])
        x = x + linear(np.concatenate(made, axis=-1), "attn.c_proj")
        y = linear(layer_norm(x, weights, f"{at}ln_2"), "mlp.c_fc")
        y = 0.5 * y * (1 + np.tanh(np.sqrt(2 / np.pi) * (y + 0.044715 * y**3)))
        x = x + linear(y, "mlp.c_proj")
    return layer_norm(x, weights, f"{prefix}ln_f")


@pytest.mark.model
def test_influences_beside_a_plain_computation(folder: Path) -> None:
    from safetensors.numpy import load_file

    weights = {name: each.astype(float) for name, each in load_file(folder / "model.safetensors").items()}
    model = load_dialoflow(str(folder))
    texts = [text for _, text in SAID[:5]]
    ids, kinds, states = [], [], [0]
    for number, text in enumerate(texts):
        said = model._tokenizer.encode(text, add_special_tokens=False)
        own = [model._ids[token] for token in (f"<speaker{number % 2 + 1}>", "<eos>", "<empty>")]
        ids += [own[0], *said, own[1], own[2]]
        kinds += [number % 2] * (len(said) + 3)
        states.append(len(ids) - 1)
    table = weights["speak_model.wte.weight"]
    state = blocks(table[ids] + table[kinds], weights, "speak_model.", heads=2, layers=2)[states]
    planned = blocks(state, weights, "planing_model.", heads=2, layers=1)
    found = model.influences(texts)
    np.testing.assert_allclose(found.actual, state[1:] - state[:-1], atol=1e-4)
    np.testing.assert_allclose(found.predicted, planned[:-1] - state[:-1], atol=1e-4)
    assert found.cut == 0


@pytest.mark.model
def test_scores_of_a_folder(folder: Path) -> None:
    clinician, patient = values(*SAID, model=str(folder))
    for value in (clinician, patient):
        assert value.value is not None
        assert value.value >= 1
        assert value.reason is None
    few = values(*SAID[:4], model=str(folder))
    assert few[0].error == "no clinician turn after the first 3"
    assert few[1].value is not None
    assert values((A, "hm"), model=str(folder))[1].error == "no patient turn"


@pytest.mark.model
def test_long_turns_and_long_sessions_say_so(folder: Path) -> None:
    assert values(*SAID[:4], (A, "a" * 200), model=str(folder))[0].reason == "of 1 turns only the first 128 tokens"
    many = values(*SAID, *((role, "abc " * 30) for role, _ in SAID * 3), model=str(folder))
    assert str(many[0].reason).startswith("the first ")
    assert str(many[0].reason).endswith("of 32 turns, which fill the model's window")
    one = values((A, "a" * 600), *SAID, model=str(save_dialoflow(folder.parent / "narrow", window=64)))
    assert str(one[0].error).startswith("among the first 0, which fill the model's window, ")


@pytest.mark.model
def test_other_folders_are_refused(folder: Path, tmp_path: Path) -> None:
    from safetensors.numpy import load_file, save_file

    from tests.metrics.models.language_models import save

    with pytest.raises(ModelError, match="it is not a DialoFlow model"):
        load_dialoflow(str(save(tmp_path / "language model")))
    weights = load_file(folder / "model.safetensors")
    partly = save_dialoflow(tmp_path / "partly")
    (partly / "model.safetensors").unlink()
    del weights["planing_model.h.0.ln_2.bias"]
    save_file(weights, partly / "model.safetensors")
    with pytest.raises(ModelError, match=r"planing_model\.h\.0\.ln_2\.bias is missing"):
        load_dialoflow(str(partly))
    (partly / "model.safetensors").rename(partly / "model.bin")
    with pytest.raises(ModelError, match="in a form that can run code"):
        load_dialoflow(str(partly))
