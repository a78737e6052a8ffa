"""Log-probabilities beside the plainest computation, whatever the model, the batch and the hash seed."""

from __future__ import annotations

import itertools
import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bedside.core.errors import ModelError, RegistryError
from bedside.metrics.models import likelihood as likelihood_module
from bedside.metrics.models.likelihood import Continuation, Likelihood, common, load_likelihood
from tests.metrics.models.language_models import BEGIN, END, save, starting, tensors_with_a_device, tiny
from tests.soak import budget

pytestmark = pytest.mark.model


@pytest.fixture(scope="module", autouse=True)
def libraries() -> None:
    """Imported when a test is run, for it takes seconds."""
    pytest.importorskip("torch")
    pytest.importorskip("transformers")


BATCHES = (1, 64, 4096)


@pytest.fixture(scope="module", params=["GPT2", "Llama", "Mamba"])
def likelihood(request: pytest.FixtureRequest) -> Likelihood:
    return Likelihood(*tiny(request.param))


def plainly(likelihood: Likelihood, asked: Continuation) -> Any:
    """The whole sequence anew, with no mask and no cache, and the whole vocabulary in float64."""
    import torch

    tokens = [*asked.context, *asked.text]
    with torch.inference_mode():
        logits = likelihood._model(input_ids=torch.tensor([tokens]), use_cache=False).logits[0].double()
    found = torch.log_softmax(logits, dim=-1)[len(asked.context) - 1 : -1]
    return np.array([float(row[token]) for row, token in zip(found, asked.text, strict=True)])


def groups(likelihood: Likelihood, count: int = 6) -> list[list[Continuation]]:
    """Pairs as redirection has them, and others: one alone, contexts that are equal, and one that begins another."""
    drawn = random.Random(3)

    def text(most: int) -> list[int]:
        return likelihood.encode("".join(drawn.choices("abcdefgh \n", k=drawn.randint(1, most))))

    made = []
    for _ in range(count):
        stem, answer = text(60), text(40)
        made.append([Continuation([*stem, *text(80)], answer) for _ in range(2)])
    stem = text(50)
    made.append([Continuation(stem, text(30))])
    made.append([Continuation(stem, text(30)), Continuation(stem, text(30)), Continuation(stem, text(1))])
    made.append([Continuation(stem, answer), Continuation([*stem, *answer], answer)])
    return made


@pytest.mark.parametrize("batch", BATCHES)
def test_many_at_once_equal_one_at_a_time(likelihood: Likelihood, batch: int) -> None:
    asked = groups(likelihood)
    for group, found in zip(asked, likelihood.weigh(asked, batch=batch), strict=True):
        for each, values in zip(group, found, strict=True):
            assert len(values) == len(each.text)
            assert (values <= 0).all()
            np.testing.assert_allclose(values, plainly(likelihood, each), rtol=0, atol=1e-4)


def test_kinds_of_models_that_see_one_sequence_only_are_found_out() -> None:
    assert Likelihood(*tiny("GPT2")).together
    assert Likelihood(*tiny("Llama")).together
    assert not Likelihood(*tiny("Mamba")).together


def test_nothing_is_fed_twice_and_only_what_is_asked_is_weighed(monkeypatch: pytest.MonkeyPatch) -> None:
    likelihood = Likelihood(*tiny())
    seen = []
    forward = likelihood._model.forward

    def watched(**given: Any) -> Any:
        seen.append((given["input_ids"].shape[1], len(given["logits_to_keep"])))
        return forward(**given)

    monkeypatch.setattr(likelihood._model, "forward", watched)
    stem, answer = [1] * 50, [2, 3, 4, 5]
    likelihood.weigh([[Continuation([*stem, 6, 7], answer), Continuation([*stem, 8, 9, 10], answer)]])
    assert seen == [(50 + 2 + 3 + 3 + 3, 8)]


def test_window_and_start_token() -> None:
    assert Likelihood(*tiny("GPT2", window=100)).window == 100
    assert Likelihood(*tiny("Mamba")).window is None
    model, tokenizer = tiny()
    assert Likelihood(model, tokenizer).start == ()
    begun = Likelihood(model, starting(tokenizer))
    assert begun.start == (tokenizer.convert_tokens_to_ids(BEGIN),)
    assert begun.encode("a") == Likelihood(model, tokenizer).encode("a"), "none but at the very beginning"


def test_what_looks_like_a_control_token_is_text() -> None:
    model, tokenizer = tiny()
    control = {tokenizer.convert_tokens_to_ids(token) for token in (BEGIN, END)}
    assert control.isdisjoint(Likelihood(model, tokenizer).encode(f"a{END}b{BEGIN}"))


def test_common_beginnings() -> None:
    assert common([[1, 2, 3], [1, 2, 4], [1, 2]]) == 2
    assert common([[1], [2]]) == 0
    assert common([[1, 2]]) == 2


def test_very_improbable_tokens_have_a_number() -> None:
    """Where probabilities are too small to be numbers, their logarithms are not."""
    model, tokenizer = tiny()
    model.lm_head.weight = type(model.lm_head.weight)(model.lm_head.weight * 300)
    found = Likelihood(model, tokenizer).weigh([[Continuation([1, 2], [3, 4, 5, 6])]])[0][0]
    assert found.min() < -1000
    assert np.isfinite(found).all()


def test_no_numbers_are_refused() -> None:
    model, tokenizer = tiny()
    model.lm_head.weight.data[0, 0] = float("nan")
    with pytest.raises(ModelError, match="no numbers"):
        Likelihood(model, tokenizer).weigh([[Continuation([1, 2], [3])]])


def test_half_precision_is_near() -> None:
    asked = groups(Likelihood(*tiny("Llama")))
    whole = Likelihood(*tiny("Llama")).weigh(asked)
    half = Likelihood(*tiny("Llama"), precision="bfloat16").weigh(asked)
    pairs = list(zip(itertools.chain(*whole), itertools.chain(*half), strict=True))
    for found, rough in pairs:
        np.testing.assert_allclose(found, rough, rtol=0.1, atol=0.5)
    assert any((found != rough).any() for found, rough in pairs)


def test_a_folder_is_loaded_once(tmp_path: Path) -> None:
    folder = str(save(tmp_path / "model"))
    assert load_likelihood(folder) is load_likelihood(folder)
    with pytest.raises(RegistryError, match="'int4'"):
        load_likelihood(folder, "int4")


def test_model_and_tensors_are_where_pytorch_computes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = str(save(tmp_path / "model"))
    plain = load_likelihood(folder)
    asked = groups(plain)
    with tensors_with_a_device() as made:
        plain.weigh(asked)
        plain._alone(asked[0][0])
    assert {each.partition(": ")[0] for each in made} == {"tensor", "arange", "zeros"}
    assert {each.partition(": ")[2] for each in made} == {"cpu"}
    load_likelihood.cache_clear()
    monkeypatch.setattr(likelihood_module, "device", lambda: "meta")  # a device that every PyTorch has
    assert load_likelihood(folder)._model.device.type == "meta"
    load_likelihood.cache_clear()


def test_a_folder_without_config_is_refused(tmp_path: Path) -> None:
    folder = save(tmp_path / "model")
    (folder / "config.json").unlink()
    with pytest.raises(ModelError):
        load_likelihood(str(folder))


_SCRIPT = """
import json, sys
from bedside.metrics.families.redirection import score_turns, turn_likelihoods
from bedside.metrics.models import likelihood as module
from tests.metrics.test_redirection import LONG
model = module.load_likelihood(sys.argv[1])
made = []
for batch in (1, 64, 4096):
    weigh = model.weigh
    model.weigh = lambda groups: weigh(groups, batch=batch)
    scores = score_turns(LONG, model, 1024)
    totals, _ = turn_likelihoods(LONG, model, 512)
    made.append([one.score for one in scores.scored] + [total for total, _ in totals.values()])
    model.weigh = weigh
print(json.dumps(made))
"""


@pytest.mark.slow
@pytest.mark.soak
def test_scores_are_the_same_for_every_hash_seed_and_batch_size(tmp_path: Path) -> None:
    folder = save(tmp_path / "model")
    found = []
    for seed in range(budget(2, 5)):
        done = subprocess.run(
            [sys.executable, "-c", _SCRIPT, str(folder)],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            cwd=Path(__file__).parents[3],
            capture_output=True,
            text=True,
            check=True,
        )
        found.append(json.loads(done.stdout))
    assert len({json.dumps(each) for each in found}) == 1, "not a digit depends on the hash seed"
    first, *others = found[0]
    assert len(first) > 8
    for other in others:
        assert other == pytest.approx(first, abs=1e-3)
