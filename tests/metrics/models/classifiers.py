"""Tiny classifiers of premise and hypothesis with random weights, made on the spot."""

from __future__ import annotations

import json
import string
from pathlib import Path
from typing import Any, cast

LABELS = ("entailment", "neutral", "contradiction")
WINDOW = 32
_CONTROL = ["[PAD]", "[CLS]", "[SEP]", "[UNK]"]
_WORDS = ["i", "you", "drink", "never", "not", "wine", "smoke", "day", "every", "yes", "no"]


def tokenizer(window: int = WINDOW) -> Any:
    """A tokenizer that knows a few words, and letters for all others: WordPiece, with two texts as BERT has them."""
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    signs = [*string.ascii_lowercase, *string.digits, *string.punctuation]
    pieces = [*_CONTROL, *_WORDS, *(sign for sign in signs if sign not in _WORDS)]
    pieces += [f"##{letter}" for letter in string.ascii_lowercase + string.digits]
    inner = Tokenizer(models.WordPiece({piece: at for at, piece in enumerate(pieces)}, unk_token="[UNK]"))
    inner.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    inner.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    return cast(Any, transformers).PreTrainedTokenizerFast(
        tokenizer_object=inner,
        pad_token="[PAD]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        unk_token="[UNK]",
        model_max_length=window,
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    )


def classifier(
    kind: str = "DebertaV2", labels: tuple[str, ...] = LABELS, window: int = WINDOW, seed: int = 0, **more: Any
) -> Any:
    """A classifier with random weights that are large enough for its probabilities to differ."""
    import torch
    import transformers

    sizes: dict[str, Any] = {
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 32,
        "max_position_embeddings": window,
        "initializer_range": 0.5,
    }
    if kind == "DebertaV2":  # as DeBERTa v3 is configured
        sizes |= {
            "relative_attention": True,
            "pos_att_type": ["p2c", "c2p"],
            "position_biased_input": False,
            "norm_rel_ebd": "layer_norm",
            "share_att_key": True,
            "position_buckets": 32,  # half of it lies within the lengths of the pairs
            "type_vocab_size": 0,
        }
    if kind == "Roberta":  # positions begin after that of padding
        sizes |= {"max_position_embeddings": window + 1, "pad_token_id": 0}
    if kind == "GPT2":
        sizes = {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": window, "initializer_range": 0.5}
    config = getattr(transformers, f"{kind}Config")(
        vocab_size=len(tokenizer()),
        id2label=dict(enumerate(labels)),
        label2id={label: at for at, label in enumerate(labels)},
        **(sizes | more),
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return getattr(transformers, f"{kind}ForSequenceClassification")(config).eval()


def save(folder: Path, model: Any = None, window: int = WINDOW) -> Path:
    """A classifier and its tokenizer in a folder, as a user has them."""
    (model or classifier(window=window)).save_pretrained(folder)
    tokenizer(window).save_pretrained(folder)
    return folder


def export(folder: Path, model: Any, window: int = WINDOW) -> Path:
    """The same for onnxruntime: ``model.onnx`` in the place of safetensors."""
    import warnings

    import torch

    save(folder, model, window)
    given = tokenizer()("i drink wine", "you smoke", return_tensors="pt")
    names = ["input_ids", "attention_mask", "token_type_ids"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the exporter, which is due to be replaced
        torch.onnx.export(
            model,
            tuple(given[name] for name in names),
            folder / "model.onnx",
            input_names=names,
            output_names=["logits"],
            dynamic_axes={name: {0: "pairs", 1: "tokens"} for name in names} | {"logits": {0: "pairs"}},
            dynamo=False,
        )
    (folder / "model.safetensors").unlink()
    return folder


def change_config(folder: Path, **values: Any) -> Path:
    """Change a model's config.json; None takes an entry out."""
    path = folder / "config.json"
    config = json.loads(path.read_text()) | values
    path.write_text(json.dumps({key: value for key, value in config.items() if value is not None}))
    return folder
