"""Natural-language inference on the CPU: pairs a second in batches and one at a time; memory of a long transcript.

    python benchmarks/nli.py [turns of the long transcript]

The models have random weights: of a real size (6 layers of 384, as small published NLI models have) for the speed, and
a tiny one for the memory, which depends on the transcript and not on the model. Words are drawn at random; turns are
about as long as AnnoMI's (half of them up to 8 words, one in ten over 37).
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from bedside.metrics import FAMILIES
from bedside.metrics.models.nli import load_nli
from bedside.transcripts.transcript import Transcript, Turn

PAIRS = 256
TARGET = 4.0
WORDS = 5000


def tokenizer() -> Any:
    control = ["[PAD]", "[CLS]", "[SEP]", "[UNK]"]
    vocabulary = {word: at for at, word in enumerate([*control, *(f"w{at}" for at in range(WORDS))])}
    inner = Tokenizer(models.WordLevel(vocabulary, "[UNK]"))
    inner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    inner.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=inner,
        pad_token="[PAD]",
        model_max_length=512,
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    )


def save(folder: Path, kind: str, **sizes: int) -> Path:
    labels = dict(enumerate(("contradiction", "entailment", "neutral")))
    config = getattr(transformers, f"{kind}Config")(
        vocab_size=WORDS + 4, id2label=labels, label2id={label: at for at, label in labels.items()}, **sizes
    )
    torch.manual_seed(0)
    getattr(transformers, f"{kind}ForSequenceClassification")(config).eval().save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    return folder


def turns(count: int, draw: random.Random) -> list[str]:
    lengths = [max(1, min(150, round(draw.lognormvariate(2.1, 1.2)))) for _ in range(count)]
    return [" ".join(f"w{draw.randrange(WORDS)}" for _ in range(length)) for length in lengths]


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    began = time.perf_counter()
    made = work()
    return made, time.perf_counter() - began


def speed(folder: Path) -> None:
    """The same pairs as a user would ask for them with transformers, one at a time, and as bedside does."""
    draw = random.Random(0)
    texts = turns(2 * PAIRS, draw)
    pairs = list(zip(texts[::2], texts[1::2], strict=True))
    lengths = [len(premise.split()) + len(hypothesis.split()) for premise, hypothesis in pairs]
    plain = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    words = transformers.AutoTokenizer.from_pretrained(folder)

    def single() -> Any:
        with torch.inference_mode():
            return [torch.softmax(plain(**words(*pair, return_tensors="pt")).logits[0], 0).tolist() for pair in pairs]

    def padded() -> Any:
        with torch.inference_mode():
            made = []
            for at in range(0, len(pairs), 32):
                given = words(*zip(*pairs[at : at + 32], strict=True), padding=True, return_tensors="pt")
                made += torch.softmax(plain(**given).logits, 1).tolist()
            return made

    model = load_nli(str(folder))
    list(model.infer([("w1 w2", "w3")]))
    plain(**words("w1 w2", "w3", return_tensors="pt"))
    found, ours = timed(lambda: list(model.infer(pairs)))
    alone, one = timed(single)
    _, fixed = timed(padded)
    apart = max(abs(pair.contradiction - row[0]) for pair, row in zip(found, alone, strict=True))
    print(
        f"  {len(pairs)} pairs of {min(lengths)} to {max(lengths)} words (median {np.median(lengths):.0f}): "
        f"{len(pairs) / ours:.0f} pairs/s in batches of like length, {len(pairs) / one:.0f} one at a time, "
        f"{len(pairs) / fixed:.0f} in batches of 32 as they come"
    )
    ratio = one / ours
    print(
        f"  {ratio:.1f} times as fast as one at a time (target {TARGET:g}: {'met' if ratio >= TARGET else 'missed'}), "
        f"{fixed / ours:.1f} times as batches as they come; probabilities at most {apart:.0e} apart"
    )
    _, kept = timed(lambda: list(model.infer(pairs)))
    print(f"  the same pairs a second time, from what is kept: {one / kept:.0f} times as fast")


def transcript(text: list[str]) -> Transcript:
    roles: tuple[Any, ...] = ("clinician", "patient")
    return Transcript("long", tuple(Turn(at, roles[at % 2], roles[at % 2], each) for at, each in enumerate(text)))


def peak() -> float:
    """The most memory the process had since :func:`reset`, in MB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return float("nan")


def reset() -> float:
    """Begin to measure anew; returns what there is now, in MB."""
    Path("/proc/self/clear_refs").write_text("5")
    return peak()


def memory(folder: Path, count: int) -> None:
    family = FAMILIES.load("consistency")
    names = frozenset(metric.name for metric in family.metrics)
    text = turns(count, random.Random(1))
    for size in (count // 10, count):
        settings = family.settings({"model": str(folder)})
        list(family.compute(transcript(text[:10]), names, **settings))
        before = reset()
        values, seconds = timed(lambda: list(family.compute(transcript(text[:size]), names, **settings)))  # noqa: B023
        (value,) = (each for each in values if each.metric == "self_consistency" and each.role == "patient")
        print(
            f"  {size} turns: {peak() - before:.0f} MB more than before, {seconds:.0f} s ({value.reason}); "
            f"all pairs of a role would be {(size // 2) * (size // 2 - 1) // 2}"
        )


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    with tempfile.TemporaryDirectory() as place:
        sizes = {"hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 12, "intermediate_size": 1536}
        print("NLI model of 6 layers of 384 (BERT's kind)")
        speed(save(Path(place) / "bert", "Bert", **sizes))
        print("NLI model of 6 layers of 384 (DeBERTa's kind)")
        more = {"relative_attention": True, "pos_att_type": ["p2c", "c2p"], "position_buckets": 256,
                "share_att_key": True, "norm_rel_ebd": "layer_norm", "type_vocab_size": 0,
                "position_biased_input": False}  # fmt: skip
        speed(save(Path(place) / "deberta", "DebertaV2", **sizes, **more))  # type: ignore[arg-type]
        print("memory of a long transcript, with a tiny model")
        tiny = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 8}
        memory(save(Path(place) / "tiny", "Bert", **tiny), count)


if __name__ == "__main__":
    main()
