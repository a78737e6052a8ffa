"""NLI models: against transformers' own use of them, against onnxruntime, and against tables worked out by hand."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bedside.core.errors import MissingExtraError, ModelError
from bedside.metrics.models import nli as module
from bedside.metrics.models.nli import Inference, NliModel, label_order, load_nli, sentences
from tests.metrics.models.classifiers import LABELS, WINDOW, change_config, classifier, export, save, tokenizer

pytestmark = pytest.mark.model

OTHER_ORDER = ("CONTRADICTION", "Neutral", "entailment")


@pytest.fixture(scope="session", autouse=True)
def libraries() -> None:
    for name in ("torch", "transformers", "onnxruntime", "onnx"):
        if find_spec(name) is None:
            pytest.skip(f"{name} is not installed")


@pytest.fixture(scope="session", params=["DebertaV2", "Bert", "Roberta", "GPT2", "onnx"])
def folder(request: pytest.FixtureRequest, libraries: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of each kind, as a user has it."""
    path: Path = tmp_path_factory.mktemp("models") / request.param
    if request.param == "onnx":
        return export(path, classifier(labels=OTHER_ORDER))
    return save(path, classifier(request.param))


@pytest.fixture(scope="session")
def deberta(libraries: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(tmp_path_factory.mktemp("models") / "tiny deberta")


def texts(count: int, longest: int, seed: int = 0) -> list[str]:
    """Sentences of words that the tokenizer knows, and of some that it takes letter by letter."""
    draw = random.Random(seed)
    words = ["i", "you", "drink", "never", "not", "wine", "smoke", "day", "no", "ox", "!", "[SEP]", "é"]
    return [" ".join(draw.choices(words, k=draw.randint(1, longest))) for _ in range(count)]


def pairs_of(count: int, longest: int = 9, seed: int = 0) -> list[tuple[str, str]]:
    made = texts(2 * count, longest, seed)
    return list(zip(made[::2], made[1::2], strict=True))


def as_transformers_does(folder: Path, pairs: list[tuple[str, str]]) -> np.ndarray[Any, Any]:
    """Entailment, neutral and contradiction, one pair at a time: the way of a model's card."""
    import torch
    import transformers

    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder)
    words = transformers.AutoTokenizer.from_pretrained(folder, split_special_tokens=True)
    made = []
    for premise, hypothesis in pairs:
        with torch.inference_mode():
            logits = model(**words(premise, hypothesis, return_tensors="pt")).logits[0].double()
        named = {model.config.id2label[at].lower(): share for at, share in enumerate(torch.softmax(logits, 0).tolist())}
        made.append([named[label] for label in LABELS])
    return np.array(made)


# -- probabilities ----------------------------------------------------------------------------------


def test_the_same_as_transformers_one_at_a_time(folder: Path, tmp_path: Path) -> None:
    pairs = pairs_of(60)
    found = list(load_nli(str(folder)).infer(pairs))
    oracle = folder
    if folder.name == "onnx":  # transformers needs the same weights in its own form
        oracle = save(tmp_path, classifier(labels=OTHER_ORDER))
    expected = as_transformers_does(oracle, pairs)
    assert np.ptp(expected, axis=0).min() > 0.05, "a model whose probabilities differ"
    for pair, shares in zip(found, expected, strict=True):
        assert pair.entailment == pytest.approx(shares[0], abs=1e-5)
        assert pair.contradiction == pytest.approx(shares[2], abs=1e-5)
        best = LABELS[int(shares.argmax())]
        assert (pair.entails, pair.contradicts) == (best == "entailment", best == "contradiction")
        assert not pair.split
        assert not pair.cut


@pytest.mark.parametrize("batch", [1, 2, 7, 64])
def test_independent_of_batch_size(folder: Path, batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = pairs_of(40) + pairs_of(6, longest=40, seed=1)  # and some longer than the window
    whole = list(load_nli(str(folder)).infer(pairs))
    monkeypatch.setattr(module, "_BATCH", batch)
    monkeypatch.setattr(module, "_CHUNK", 3 * batch)
    module._loaded.cache_clear()
    model = load_nli(str(folder))
    model._batch = batch if model._batch > 1 else 1
    assert any(pair.split for pair in whole)
    assert_same(list(model.infer(pairs)), whole)
    assert_same([next(model.infer([pair])) for pair in reversed(pairs)][::-1], whole)


def assert_same(found: list[Inference], expected: list[Inference]) -> None:
    np.testing.assert_allclose(np.array(found, dtype=float), np.array(expected, dtype=float), atol=1e-5)


def test_onnx_is_the_model_it_was_made_of(tmp_path: Path) -> None:
    model = classifier(labels=OTHER_ORDER, seed=3)
    pairs = pairs_of(30) + pairs_of(5, longest=40)
    mine = list(load_nli(str(export(tmp_path / "a", model))).infer(pairs))
    assert_same(mine, list(load_nli(str(save(tmp_path / "b", model))).infer(pairs)))


def test_onnx_needs_no_torch(tmp_path: Path) -> None:
    """In a process where importing torch or transformers fails."""
    folder = export(tmp_path / "model", classifier())
    code = (
        "import sys; sys.modules.update(dict.fromkeys(['torch', 'transformers']))\n"
        "from bedside.metrics import FAMILIES\n"
        "from bedside.metrics.models.nli import load_nli\n"
        f"made = list(load_nli({str(folder)!r}).infer([('i drink', 'you smoke'), ('no', 'i never drink wine')]))\n"
        "print(*(pair.contradiction for pair in made))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    pairs = [("i drink", "you smoke"), ("no", "i never drink wine")]
    shown = [pair.contradiction for pair in load_nli(str(folder)).infer(pairs)]
    assert [float(word) for word in done.stdout.split()] == pytest.approx(shown, abs=1e-5)


def test_control_tokens_in_a_text_are_text(deberta: Path) -> None:
    model = load_nli(str(deberta))
    inside, outside = model.infer([("i [SEP] drink", "wine"), ("i drink", "wine")])
    assert inside.contradiction != outside.contradiction
    ids = model._tokenizer.encode("i [SEP] drink", add_special_tokens=False).ids
    assert 2 not in ids


def test_labels_in_another_order_are_the_same_probabilities(tmp_path: Path) -> None:
    """Both orders, in any case, and the order that a user states: the outputs stay where they are."""
    plain = save(tmp_path / "plain", classifier(labels=LABELS))
    turned = save(tmp_path / "turned", classifier(labels=OTHER_ORDER))
    pairs = pairs_of(20)
    first, second = list(load_nli(str(plain)).infer(pairs)), list(load_nli(str(turned)).infer(pairs))
    for one, other in zip(first, second, strict=True):
        assert (one.entailment, one.entails) == (other.contradiction, other.contradicts)
        assert (one.contradiction, one.contradicts) == (other.entailment, other.entails)
    stated = load_nli(str(plain), "Contradiction, NEUTRAL, entailment").infer(pairs)
    assert_same(list(stated), second)


# -- splitting --------------------------------------------------------------------------------------


class Table:
    """A classifier that is a table of probabilities, and remembers what it was asked; a word is a token."""

    def __init__(self, table: dict[tuple[str, str], tuple[float, float, float]], **options: Any) -> None:
        from tokenizers import Tokenizer, models, pre_tokenizers, processors

        words = [f"w{at}" for at in range(40)] + ["."]
        inner = Tokenizer(models.WordLevel({"[UNK]": 0} | {w: at for at, w in enumerate(words, 1)}, "[UNK]"))
        inner.pre_tokenizer = pre_tokenizers.Whitespace()
        inner.post_processor = processors.TemplateProcessing(
            single="$A", pair="$A:0 [UNK]:1 $B:1", special_tokens=[("[UNK]", 0)]
        )
        self.asked: list[tuple[str, str]] = []
        self.table = {tuple(each.replace(" .", ".") for each in pair): row for pair, row in table.items()}
        self.inner = inner
        self.model = NliModel(self.logits, inner, (0, 1, 2), padding=0, **options)

    def logits(self, ids: Any, mask: Any, types: Any) -> Any:
        made = []
        for row, shown, kinds in zip(ids, mask, types, strict=True):
            text = self.inner.decode(row[(shown == 1) & (kinds == 0)].tolist()).replace(" .", ".")
            other = self.inner.decode(row[(shown == 1) & (kinds == 1)].tolist()[1:]).replace(" .", ".")
            self.asked.append((text, other))
            made.append(np.log(self.table[text, other]))
        return np.array(made)


def test_the_highest_over_pairs_of_sentences() -> None:
    """Window 9 of which 1 stands between: 4 + 5 tokens are too many, and four pairs of sentences take their place."""
    table = Table(
        {
            ("w1.", "w3."): (0.6, 0.3, 0.1),
            ("w1.", "w4 w5."): (0.1, 0.2, 0.7),
            ("w2.", "w3."): (0.2, 0.5, 0.3),
            ("w2.", "w4 w5."): (0.3, 0.4, 0.3),
            ("w1.", "w2."): (0.05, 0.05, 0.9),
        },
        window=9,
    )
    long, short = table.model.infer([("w1. w2.", "w3. w4 w5."), ("w1.", "w2.")])
    assert long == pytest.approx(Inference(0.6, 0.7, True, True, True, False))
    assert short == pytest.approx(Inference(0.05, 0.9, False, True, False, False))
    assert sorted(table.asked) == sorted(table.table)


def test_a_pair_that_just_fits_is_not_split() -> None:
    table = Table({("w1. w2.", "w3. w4."): (0.1, 0.7, 0.2)}, window=9)
    (pair,) = table.model.infer([("w1. w2.", "w3. w4.")])
    assert pair == pytest.approx(Inference(0.1, 0.2, False, False, False, False))


def test_a_sentence_longer_than_the_window_is_cut() -> None:
    """Room for 8: windows of 4 tokens, each beginning with the last of the one before."""
    long = " ".join(f"w{at}" for at in range(1, 11))
    table = Table(
        {
            ("w1 w2 w3 w4", "w20"): (0.1, 0.8, 0.1),
            ("w4 w5 w6 w7", "w20"): (0.4, 0.35, 0.25),
            ("w7 w8 w9 w10", "w20"): (0.2, 0.2, 0.6),
        },
        window=9,
    )
    (pair,) = table.model.infer([(long, "w20")])
    assert pair == pytest.approx(Inference(0.4, 0.6, True, True, True, True))
    assert sorted(table.asked) == sorted(table.table)


@pytest.mark.parametrize("kind", ["DebertaV2", "Roberta", "GPT2"])
def test_nothing_longer_than_the_window_reaches_a_model(kind: str, tmp_path: Path) -> None:
    model = load_nli(str(save(tmp_path, classifier(kind))))
    assert model.window == WINDOW
    inner, lengths = model._logits, []

    def watched(ids: Any, mask: Any, types: Any) -> Any:
        lengths.extend(mask.sum(axis=1).tolist())
        return inner(ids, mask, types)

    model._logits = watched
    list(model.infer([*pairs_of(30, longest=80), ("x" * 300, "i drink. " * 30), ("i", "word " * 100)]))
    assert max(lengths) == WINDOW


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two!  Three?", ["One.", "Two!", "Three?"]),
        ("He said: “No.” Then he left.", ["He said: “No.”", "Then he left."]),
        ("3.5 units a day", ["3.5 units a day"]),
        ("line\nline\n\n", ["line", "line"]),
        ("您好。怎么了？“不知道。”他说。", ["您好。", "怎么了？", "“不知道。”", "他说。"]),
        ("?!", ["?!"]),
        ("...", ["..."]),
    ],
)
def test_sentences(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


def test_sentences_of_a_hostile_text_take_no_time() -> None:
    for text in ("." * 50_000, " " * 50_000, '."' * 25_000, "。" * 50_000):
        assert sentences(text)


# -- once -------------------------------------------------------------------------------------------


@pytest.fixture
def counted(deberta: Path) -> Iterator[tuple[NliModel, Callable[[], int]]]:
    """A model whose rows are counted, with nothing kept yet."""
    module._loaded.cache_clear()
    model = load_nli(str(deberta))
    inner, rows = model._logits, [0]

    def counting(ids: Any, mask: Any, types: Any) -> Any:
        rows[0] += len(ids)
        return inner(ids, mask, types)

    model._logits = counting
    yield model, lambda: rows[0]
    module._loaded.cache_clear()


def test_each_pair_is_worked_out_once(counted: tuple[NliModel, Callable[[], int]]) -> None:
    model, rows = counted
    pairs = [("i drink", "i smoke"), ("i smoke", "i drink"), ("i drink", "i smoke")]
    one, turned, again = model.infer(pairs)
    assert rows() == 2
    assert one == again
    assert one != turned
    assert list(model.infer(pairs)) == [one, turned, again]
    assert rows() == 2


def test_what_is_kept_is_bounded(counted: tuple[NliModel, Callable[[], int]], monkeypatch: pytest.MonkeyPatch) -> None:
    model, rows = counted
    monkeypatch.setattr(module, "_KEPT", 3)
    pairs = [("i drink", f"you {word}") for word in ("drink", "smoke", "never", "not", "day")]
    whole = list(model.infer(pairs))
    assert len(model._kept) == 3
    assert_same(list(model.infer(pairs[2:])), whole[2:])
    assert rows() == 5
    list(model.infer(pairs[:1]))
    assert rows() == 6


def test_a_model_is_loaded_once(deberta: Path) -> None:
    assert load_nli(str(deberta)) is load_nli(str(deberta))


def test_pairs_are_taken_in_as_they_are_needed(deberta: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_CHUNK", 4)
    taken = []

    def endless() -> Iterator[tuple[str, str]]:
        while True:
            taken.append(1)
            yield "i drink", "i smoke"

    next(load_nli(str(deberta)).infer(endless()))
    assert len(taken) == 4


# -- labels -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "order"),
    [
        (["entailment", "neutral", "contradiction"], (0, 1, 2)),
        (["CONTRADICTION", "NEUTRAL", "ENTAILMENT"], (2, 1, 0)),
        (["Contradictory", "Entailed", "Neutral"], (1, 2, 0)),
    ],
)
def test_label_order(names: list[str], order: tuple[int, int, int]) -> None:
    assert label_order({"id2label": {str(at): name for at, name in enumerate(names)}}) == order


def test_label_order_that_is_said() -> None:
    assert label_order({"id2label": {}}, "neutral,entailment,contradiction") == (1, 0, 2)


@pytest.mark.parametrize("named", [["entailment"], {"first": "entailment"}, 3])
def test_a_config_whose_labels_are_something_else(named: Any) -> None:
    with pytest.raises(ModelError, match=r"consistency\.labels="):
        label_order({"id2label": named})


@pytest.mark.parametrize("labels", ["yes,no,maybe", "entailment,neutral", "entailment", ",,"])
def test_an_order_that_is_none(labels: str) -> None:
    with pytest.raises(ModelError, match=f"'{labels}'"):
        label_order({}, labels)


# -- bad models -------------------------------------------------------------------------------------


def refused(folder: Path, message: str, labels: str = "") -> None:
    """Refused when it is loaded or first asked, in one line."""
    with pytest.raises((ModelError, MissingExtraError), match=message) as caught:
        list(load_nli(str(folder), labels).infer([("i drink", "you smoke")]))
    assert "\n" not in str(caught.value)


def test_four_labels(tmp_path: Path) -> None:
    refused(save(tmp_path, classifier(labels=(*LABELS, "other"))), "4 labels")


def test_four_outputs_where_three_are_stated(tmp_path: Path) -> None:
    folder = save(tmp_path, classifier(labels=("a", "b", "c", "d")))
    refused(folder, "gives 1 × 4 numbers for 1 pairs, not three a pair", "entailment,neutral,contradiction")


def test_unnamed_labels(tmp_path: Path) -> None:
    folder = save(tmp_path, classifier(labels=("LABEL_0", "LABEL_1", "LABEL_2")))
    refused(folder, r"doesn't name its labels.*consistency.labels=contradiction,neutral,entailment")
    assert list(load_nli(str(folder), "entailment,neutral,contradiction").infer([("i", "you")]))


@pytest.mark.parametrize("text", ["{", "[]", '{"model_type": "nothing", "id2label": {"0": "x"}}'])
def test_a_config_that_is_none(text: str, tmp_path: Path) -> None:
    save(tmp_path)
    (tmp_path / "config.json").write_text(text)
    refused(tmp_path, "can't be read|1 labels")


def test_a_kind_that_nobody_knows(tmp_path: Path) -> None:
    refused(change_config(save(tmp_path), model_type="nothing"), "can't be loaded")


def test_weights_without_a_classifier(tmp_path: Path) -> None:
    """transformers would make up the classifier at random."""
    save(tmp_path)
    labels = json.loads((tmp_path / "config.json").read_text())["id2label"]
    body = import_module("transformers").DebertaV2Model(classifier().config)
    body.save_pretrained(tmp_path)
    change_config(tmp_path, id2label=labels)
    refused(tmp_path, r"not those of a classifier: (classifier|pooler)")


def test_broken_weights(tmp_path: Path) -> None:
    save(tmp_path / "a")
    (tmp_path / "a" / "model.safetensors").write_bytes(b"nothing")
    refused(tmp_path / "a", "can't be loaded")
    save(tmp_path / "b")
    (tmp_path / "b" / "model.onnx").write_bytes(b"nothing")
    refused(tmp_path / "b", "can't be loaded")


def test_a_gguf_file(tmp_path: Path) -> None:
    (tmp_path / "model.gguf").write_bytes(b"GGUF")
    refused(tmp_path / "model.gguf", "holds no classifier")


def test_onnx_without_a_tokenizer(tmp_path: Path) -> None:
    folder = export(tmp_path, classifier())
    (folder / "tokenizer.json").unlink()
    refused(folder, "no tokenizer.json")


def test_a_model_of_something_else_in_onnx(tmp_path: Path) -> None:
    import onnx

    save(tmp_path)
    given = onnx.helper.make_tensor_value_info("pixels", onnx.TensorProto.FLOAT, ["n", 3])
    made = onnx.helper.make_tensor_value_info("logits", onnx.TensorProto.FLOAT, ["n", 3])
    graph = onnx.helper.make_graph([onnx.helper.make_node("Relu", ["pixels"], ["logits"])], "g", [given], [made])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, tmp_path / "model.onnx")
    refused(tmp_path, "wants pixels")


def test_a_model_that_gives_no_numbers(tmp_path: Path) -> None:
    import torch

    model = classifier()
    torch.nn.init.constant_(model.classifier.bias, float("nan"))
    refused(save(tmp_path, model), "values that are not numbers")


def test_a_window_without_room(tmp_path: Path) -> None:
    refused(save(tmp_path, classifier(window=8), window=4), "window of 4 tokens has no room")


@pytest.mark.parametrize("name", ["torch", "transformers"])
def test_missing_libraries_are_named(name: str, deberta: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module._loaded.cache_clear()
    monkeypatch.setitem(sys.modules, name, None)
    refused(deberta, rf"needs {name}.*pip install \"bedside\[nli\]\"")


def test_a_missing_onnxruntime_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = export(tmp_path, classifier())
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    refused(folder, r"needs onnxruntime.*pip install \"bedside\[nli\]\"")


def test_without_a_padding_token_pairs_go_one_by_one(tmp_path: Path) -> None:
    model = classifier("GPT2")
    model.config.pad_token_id = None
    model.save_pretrained(tmp_path)
    words = tokenizer()
    words.pad_token = None
    words.save_pretrained(tmp_path)
    pairs = pairs_of(10)
    found = list(load_nli(str(tmp_path)).infer(pairs))
    expected = as_transformers_does(tmp_path, pairs)
    assert [pair.contradiction for pair in found] == pytest.approx(expected[:, 2].tolist(), abs=1e-5)
