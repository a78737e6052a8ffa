"""Tiny causal language models with random weights, made on the spot."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, cast

BEGIN, END = "<|begin|>", "<|end|>"
TEMPLATE = (
    "{% for message in messages %}<|begin|>{{ message['role'] }}\n{{ message['content'] }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|begin|>assistant\n{% endif %}"
)


def tiny(kind: str = "GPT2", chat: bool = True, window: int = 4096, seed: int = 0) -> tuple[Any, Any]:
    """A model with random weights, and a tokenizer that knows bytes, a few pairs of them and control tokens."""
    import tokenizers
    import torch
    import transformers

    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    pairs = [("e", "r"), ("t", "h"), ("1", "0"), ('"', "}"), ('"', ":"), ("Ġ", "-")]
    pairs += [("s", "c"), ("o", "r"), ("sc", "or")]
    vocabulary = [*alphabet, *(first + second for first, second in pairs)]
    inner = tokenizers.Tokenizer(tokenizers.models.BPE({text: number for number, text in enumerate(vocabulary)}, pairs))
    inner.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    inner.decoder = tokenizers.decoders.ByteLevel()
    inner.add_special_tokens([BEGIN, END])
    tokenizer = cast(Any, transformers).PreTrainedTokenizerFast(tokenizer_object=inner, eos_token=END, bos_token=BEGIN)
    if chat:
        tokenizer.chat_template = TEMPLATE
    sizes: dict[str, Any] = {
        "GPT2": {"n_embd": 32, "n_layer": 2, "n_head": 2, "n_positions": window},
        "Llama": {
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "max_position_embeddings": window,
        },
        "Mamba": {"hidden_size": 32, "num_hidden_layers": 2, "state_size": 8},
    }[kind]
    config = getattr(transformers, f"{kind}Config")(
        vocab_size=len(tokenizer), initializer_range=0.4, bos_token_id=None, eos_token_id=None, **sizes
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        name = {"GPT2": "GPT2LMHeadModel"}.get(kind, f"{kind}ForCausalLM")
        model = getattr(transformers, name)(config)
    return model.eval(), tokenizer


def save(folder: Path, **given: Any) -> Path:
    """A tiny model in a folder, as a user has it."""
    for part in tiny(**given):
        part.save_pretrained(folder)
    return folder


def starting(tokenizer: Any) -> Any:
    """The same tokenizer, which begins every text with a start token when it is asked for special tokens."""
    import copy

    from tokenizers.processors import TemplateProcessing

    made = copy.deepcopy(tokenizer)
    begin = made.convert_tokens_to_ids(BEGIN)
    made.backend_tokenizer.post_processor = TemplateProcessing(single=f"{BEGIN} $A", special_tokens=[(BEGIN, begin)])
    return made


def save_dialoflow(folder: Path, window: int = 512) -> Path:
    """A tiny model with random weights in the layout of DialoFlow's checkpoint, masks of layers and heads included."""
    import torch
    from safetensors.torch import save_file

    transformers: Any = import_module("transformers")

    _, tokenizer = tiny()
    control = ["<bos>", "<eos>", "<info>", "<speaker1>", "<speaker2>", "<empty>", "<pad>"]
    sizes = {"n_embd": 32, "n_head": 2, "initializer_range": 0.4}
    with torch.random.fork_rng():
        torch.manual_seed(0)
        config = transformers.GPT2Config(
            n_layer=2, n_positions=window, vocab_size=len(tokenizer) + len(control), **sizes
        )
        reader = transformers.GPT2Model(config)
        planner = transformers.GPT2Model(transformers.GPT2Config(n_layer=1, n_positions=256, vocab_size=1, **sizes))
    weights = {f"speak_model.{name}": each for name, each in reader.state_dict().items()}
    weights |= {f"planing_model.{name}": each for name, each in planner.state_dict().items() if name != "wte.weight"}
    weights["speak_model.h.0.attn.bias"] = torch.ones(1, 1, window, window)
    weights["planing_model.h.0.attn.masked_bias"] = torch.tensor(-1e4)
    weights["lm_head.weight"] = torch.zeros(config.vocab_size, 2 * config.n_embd)
    folder.mkdir(parents=True, exist_ok=True)
    save_file(weights, folder / "model.safetensors")
    config.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@contextmanager
def tensors_with_a_device() -> Iterator[list[str]]:
    """The tensors that bedside's own code makes, each with the device that it named."""
    from torch.overrides import TorchFunctionMode

    made: list[str] = []

    class Seen(TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            maker = getattr(func, "__name__", "")
            if maker in ("tensor", "arange", "zeros", "ones", "full", "empty"):
                file = sys._getframe(1).f_code.co_filename
                if "/bedside/metrics/models/" in Path(file).as_posix():
                    made.append(f"{maker}: {(kwargs or {}).get('device')}")
            return func(*args, **(kwargs or {}))

    with Seen():
        yield made
