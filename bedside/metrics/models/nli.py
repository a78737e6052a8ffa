"""Natural-language inference: does one text contradict another, or follow from it?

Any classifier of premise and hypothesis into entailment, neutral and contradiction serves: in transformers' format
(safetensors), or as ``model.onnx``, which runs in onnxruntime without torch.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bedside.core.errors import ModelError
from bedside.core.model_files import ONNX, device, error_text, find_model, library, quiet, read_config

LABELS = ("entailment", "neutral", "contradiction")
#: How labels may begin, for each of :data:`LABELS`.
_BEGINNINGS = ("entail", "neutral", "contradict")
_EXTRA = "nli"
#: Pairs that are looked up, put in order of length and worked out together.
_CHUNK = 1024
#: Pairs in a batch, and tokens in it with the padding.
_BATCH = 64
_TOKENS = 8192
#: The shortest pair in a batch has this share of the longest's tokens, but for a few: padding is work too.
_LIKE, _SLACK = 0.8, 8
#: Pairs whose answer is kept: 50 MB.
_KEPT = 2**17
#: Taken for a model's window where it states none.
_WINDOW = 512
#: Kinds of models whose first positions stand for padding.
_OFFSET = frozenset(
    "camembert data2vec-text ibert longformer luke mpnet roberta roberta-prelayernorm xlm-roberta "
    "xlm-roberta-xl".split()
)
#: Between sentences.
_BETWEEN = re.compile(
    r"(?<=[.!?…])\s+|(?<=[.!?…][\"'”’)\]])\s+|(?<=[。！？])(?![。！？”’」』）])|(?<=[。！？][”’」』）])|\n+"
)

Logits = Callable[[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]], Any]


class Inference(NamedTuple):
    """What a model says of a pair of texts, premise and hypothesis.

    Attributes:
        entailment: P(entailment), from 0 to 1; of a pair that was split, the highest of its parts.
        contradiction: P(contradiction) in the same way.
        entails, contradicts: whether that is the most probable label; of a pair that was split, in some part.
        split: whether the pair was longer than the window, and its sentences were compared instead.
        cut: whether some sentences were too, and were cut to windows of tokens.
    """

    entailment: float
    contradiction: float
    entails: bool
    contradicts: bool
    split: bool
    cut: bool


def load_nli(model: str, labels: str = "") -> NliModel:
    """The model that a user names, loaded once in a process.

    Args:
        model: as for :func:`bedside.core.model_files.find_model`.
        labels: the order of its outputs, ``contradiction,neutral,entailment`` for instance; empty: as its config says.

    Raises:
        ModelError: it isn't there, can't be loaded, is no such classifier, or doesn't name its labels.
        MissingExtraError: a library isn't installed.
    """
    return _loaded(find_model(model).path, labels)


@lru_cache(maxsize=1)
def _loaded(path: Path, labels: str) -> NliModel:
    if path.is_file():
        raise ModelError(
            "a .gguf file holds no classifier",
            where=str(path),
            todo="name a folder with config.json and model.safetensors or model.onnx",
        )
    config = read_config(path)
    order = label_order(config, labels, str(path))
    load = _onnx if (path / ONNX).is_file() else _transformers
    logits, tokenizer, window, padding = load(path, config)
    return NliModel(logits, tokenizer, order, window=window, padding=padding, where=str(path))


# -- labels -----------------------------------------------------------------------------------------


def label_order(config: Mapping[str, Any], labels: str = "", where: str | None = None) -> tuple[int, int, int]:
    """Which of a model's outputs are entailment, neutral and contradiction.

    Args:
        config: the content of its config.json.
        labels: the order in words, in place of the config's.
        where: the model, for messages.

    Raises:
        ModelError: the labels are not those three, or have no names.
    """
    state = "state the order of the model's outputs as its card gives it, for instance consistency.labels=" + ",".join(
        reversed(LABELS)
    )
    if labels:
        stated = labels.split(",")
        order = _order(stated)
        if order is None:
            raise ModelError(f"labels {labels!r} are not {', '.join(LABELS)} in some order", where=where, todo=state)
        return order
    named = config.get("id2label")
    try:
        names = [str(named[key]) for key in sorted(named, key=int)] if isinstance(named, Mapping) else []
    except ValueError:
        names = []
    if not names or all(re.fullmatch(r"label_?\d+", name.strip().lower()) for name in names):
        raise ModelError(
            f"the model's config doesn't name its labels ({', '.join(names) or 'it has no id2label'})",
            where=where,
            todo=state,
        )
    order = _order(names)
    if order is None:
        shown = ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
        why = "; one that doesn't tell contradiction from neutral can't serve" if len(names) == 2 else ""
        raise ModelError(
            f"the model has {len(names)} labels ({shown}), which are not {', '.join(LABELS)}{why}",
            where=where,
            todo="name a model for natural-language inference with these three labels",
        )
    return order


def _order(names: Sequence[str]) -> tuple[int, int, int] | None:
    plain = [name.strip().lower() for name in names]
    found = [[at for at, name in enumerate(plain) if name.startswith(start)] for start in _BEGINNINGS]
    if len(plain) != len(LABELS) or any(len(places) != 1 for places in found):
        return None
    entailment, neutral, contradiction = (places[0] for places in found)
    return entailment, neutral, contradiction


# -- loading ----------------------------------------------------------------------------------------


def _transformers(path: Path, config: Mapping[str, Any]) -> tuple[Logits, Any, int, int | None]:
    torch, transformers = library("torch", _EXTRA), library("transformers", _EXTRA)
    options = {"local_files_only": True, "trust_remote_code": False}
    try:
        with quiet():
            tokenizer = transformers.AutoTokenizer.from_pretrained(path, **options)
            model, loaded = transformers.AutoModelForSequenceClassification.from_pretrained(
                path, dtype=torch.float32, use_safetensors=True, output_loading_info=True, **options
            )
        backend = tokenizer.backend_tokenizer
    except Exception as error:  # whatever a model's own code raises
        raise ModelError(f"the model can't be loaded ({error_text(error)})", where=str(path)) from error
    if loaded["missing_keys"] or loaded["mismatched_keys"]:
        lacking = sorted(map(str, (*loaded["missing_keys"], *loaded["mismatched_keys"])))
        raise ModelError(
            f"its weights are not those of a classifier: {lacking[0]} is missing",  # and would be random
            where=str(path),
            todo="name a model that was trained for natural-language inference",
        )
    where = device()
    model = model.eval().to(where)
    padding = tokenizer.pad_token_id
    if padding is None:
        padding = model.config.pad_token_id
    model.config.pad_token_id = padding
    typed = "token_type_ids" in tokenizer.model_input_names
    within = _only_distances_within(model) if config.get("model_type") == "deberta-v2" else None

    def logits(ids: NDArray[np.int64], mask: NDArray[np.int64], types: NDArray[np.int64]) -> Any:
        more = {"token_type_ids": torch.from_numpy(types).to(where)} if typed else {}
        with torch.inference_mode():
            if within:
                within(ids.shape[1])
            output = model(
                input_ids=torch.from_numpy(ids).to(where), attention_mask=torch.from_numpy(mask).to(where), **more
            )
        return output.logits.float().cpu().numpy()

    window = _window(model.config.to_dict(), tokenizer.model_max_length)
    return logits, backend, window, padding


def _only_distances_within(model: Any) -> Callable[[int], None] | None:
    """Makes a DeBERTa work out the attention to no more distances than texts of a given number of tokens have.

    It would to all that its window allows, which for short pairs is most of its work; what it gives is the same.
    """
    encoder = model.deberta.encoder
    if not encoder.relative_attention:
        return None
    embeddings = encoder.get_rel_embedding
    attentions = [layer.attention.self for layer in encoder.layer]
    all_distances = attentions[0].pos_ebd_size

    def within(length: int) -> None:
        # Only distances to half of those it tells apart are told apart one by one.
        distances = length if 2 * length <= all_distances else all_distances
        encoder.get_rel_embedding = lambda: embeddings()[all_distances - distances : all_distances + distances]
        for attention in attentions:
            attention.pos_ebd_size = distances

    return within


def _onnx(path: Path, config: Mapping[str, Any]) -> tuple[Logits, Any, int, int | None]:
    runtime, tokenizers = library("onnxruntime", _EXTRA), library("tokenizers", _EXTRA)
    file = path / "tokenizer.json"
    if not file.is_file():
        raise ModelError(
            "the folder has no tokenizer.json, which a model.onnx needs beside it",
            where=str(path),
            todo="save it there with transformers: AutoTokenizer.from_pretrained(name).save_pretrained(folder)",
        )
    runtime.disable_telemetry_events()
    try:
        tokenizer = tokenizers.Tokenizer.from_file(str(file))
        session = runtime.InferenceSession(str(path / ONNX), providers=["CPUExecutionProvider"])
    except Exception as error:  # the libraries' own, which have no common ancestor
        raise ModelError(f"the model can't be loaded ({error_text(error)})", where=str(path)) from error
    takes = {each.name: each.type for each in session.get_inputs()}
    unknown = sorted(takes.keys() - {"input_ids", "attention_mask", "token_type_ids"})
    if unknown:
        raise ModelError(f"{ONNX} wants {unknown[0]}, which no classifier of pairs has", where=str(path))

    def logits(ids: NDArray[np.int64], mask: NDArray[np.int64], types: NDArray[np.int64]) -> Any:
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}
        fed = {name: given[name].astype(kind[7:-1]) for name, kind in takes.items()}  # tensor(int64)
        return session.run(None, fed)[0]

    settings = path / "tokenizer_config.json"
    more = read_config(path, settings.name) if settings.is_file() else {}
    pad = more.get("pad_token")
    pad = pad.get("content") if isinstance(pad, dict) else pad
    padding = config.get("pad_token_id") if pad is None else tokenizer.token_to_id(pad)
    return logits, tokenizer, _window(config, more.get("model_max_length")), padding


def _window(config: Mapping[str, Any], limit: Any) -> int:
    """How many tokens a model takes in at once, as its config and its tokenizer state it."""
    positions = config.get("max_position_embeddings") or config.get("n_positions")
    if isinstance(positions, int) and config.get("model_type") in _OFFSET:
        positions -= (1 if config.get("pad_token_id") is None else config["pad_token_id"]) + 1
    stated = [int(size) for size in (positions, limit) if isinstance(size, int | float) and 0 < size < 1e6]
    return min(stated, default=_WINDOW)


# -- asking -----------------------------------------------------------------------------------------


class NliModel:
    """A classifier of premise and hypothesis.

    Pairs go through it in batches of about one length, each pair once: answers are kept by the texts' content. A pair
    longer than the window is split into sentences, and a sentence that doesn't fit into windows of tokens.

    Args:
        logits: of token ids, attention mask and token types (batch × length each) makes logits (batch × labels).
        tokenizer: of the library tokenizers.
        order: which outputs are entailment, neutral and contradiction.
        window: tokens that fit, with those that stand between and around the texts.
        padding: the token that fills up shorter pairs; None where there is none, so that pairs go one by one.
        batch: pairs that go through together at most.
        where: the model, for messages.
    """

    def __init__(
        self,
        logits: Logits,
        tokenizer: Any,
        order: tuple[int, int, int],
        *,
        window: int = _WINDOW,
        padding: int | None = None,
        batch: int = _BATCH,
        where: str | None = None,
    ) -> None:
        self.window = window
        self._logits = logits
        self._order = list(order)
        self._padding = padding or 0
        self._batch = 1 if padding is None else batch
        self._where = where
        self._tokenizer = tokenizer
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        # What looks like a control token in a text is text.
        self._tokenizer.encode_special_tokens = True
        self._room = window - self._tokenizer.num_special_tokens_to_add(True)
        if self._room < 2:
            raise ModelError(f"the model's window of {window} tokens has no room for two texts", where=where)
        self._kept: OrderedDict[bytes, Inference] = OrderedDict()

    def infer(self, pairs: Iterable[tuple[str, str]]) -> Iterator[Inference]:
        """What the model says of pairs of premise and hypothesis, in their order.

        Pairs are taken in as they are needed: memory does not grow with their number.

        Raises:
            ModelError: the model fails.
        """
        coming = iter(pairs)
        while chunk := list(islice(coming, _CHUNK)):
            yield from self._chunk(chunk)

    def _chunk(self, pairs: Sequence[tuple[str, str]]) -> Iterator[Inference]:
        digests: dict[str, bytes] = {}
        keys = []
        for pair in pairs:
            for text in pair:
                if text not in digests:
                    digests[text] = blake2b(text.encode(), digest_size=16).digest()
            keys.append(digests[pair[0]] + digests[pair[1]])
        inferences: dict[bytes, Inference] = {}
        new: dict[bytes, tuple[str, str]] = {}
        for key, pair in zip(keys, pairs, strict=True):
            if key in self._kept:
                self._kept.move_to_end(key)
                inferences[key] = self._kept[key]
            else:
                new[key] = pair
        for key, inference in zip(new, self._work_out(list(new.values())), strict=True):
            inferences[key] = self._kept[key] = inference
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        for key in keys:
            yield inferences[key]

    def _work_out(self, pairs: Sequence[tuple[str, str]]) -> Iterator[Inference]:
        parts = _Parts(self._tokenizer, self._room, pairs)
        probability = np.zeros((len(pairs), len(LABELS)))
        chosen = np.zeros((len(pairs), len(LABELS)), dtype=bool)
        coming = iter(parts)
        while block := list(islice(coming, _CHUNK)):
            of = np.array([number for number, _, _ in block])
            made = self._classify([(premise, hypothesis) for _, premise, hypothesis in block])
            np.maximum.at(probability, of, made)
            np.logical_or.at(chosen, of, made.argmax(axis=1)[:, None] == np.arange(len(LABELS)))
        for number in range(len(pairs)):
            entailment, _, contradiction = probability[number].tolist()
            entails, _, contradicts = chosen[number].tolist()
            split, cut = number in parts.split, number in parts.cut
            yield Inference(entailment, contradiction, entails, contradicts, split, cut)

    def _classify(self, pairs: Sequence[tuple[Any, Any]]) -> NDArray[np.float64]:
        """P(entailment), P(neutral) and P(contradiction) of pairs of encodings, one row a pair."""
        joined = [self._joined(*pair) for pair in pairs]
        probabilities = np.zeros((len(pairs), len(LABELS)))
        order = sorted(range(len(pairs)), key=lambda at: len(joined[at][0]))
        lengths = [len(joined[at][0]) for at in order]
        end = len(order)
        while end:
            longest = lengths[end - 1]
            size = max(1, min(self._batch, _TOKENS // longest))
            start = max(0, end - size, bisect_left(lengths, _LIKE * longest - _SLACK))
            batch, end = order[start:end], start
            ids = np.full((len(batch), longest), self._padding, dtype=np.int64)
            mask, types = np.zeros_like(ids), np.zeros_like(ids)
            for row, at in enumerate(batch):
                length = len(joined[at][0])
                ids[row, :length], types[row, :length] = joined[at]
                mask[row, :length] = 1
            probabilities[batch] = self._probabilities(ids, mask, types)
        return probabilities

    def _joined(self, premise: Any, hypothesis: Any) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Ids and types of a pair's tokens."""
        joined = self._tokenizer.post_process(premise, hypothesis, True)
        return np.array(joined.ids, dtype=np.int32), np.array(joined.type_ids, dtype=np.int32)

    def _probabilities(
        self, ids: NDArray[np.int64], mask: NDArray[np.int64], types: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        try:
            logits = np.asarray(self._logits(ids, mask, types), dtype=np.float64)
        except Exception as error:  # whatever a model's own code raises
            raise ModelError(f"the model fails ({error_text(error)})", where=self._where) from error
        if logits.shape != (len(ids), len(LABELS)):
            raise ModelError(
                f"the model gives {' × '.join(map(str, logits.shape))} numbers for {len(ids)} pairs, not three a pair",
                where=self._where,
            )
        if not np.isfinite(logits).all():
            raise ModelError("the model gives values that are not numbers", where=self._where)
        powers = np.exp(logits - logits.max(axis=1, keepdims=True))
        shares: NDArray[np.float64] = (powers / powers.sum(axis=1, keepdims=True))[:, self._order]
        return shares


class _Parts:
    """Pairs of texts as pairs of encodings that fit into a model's window.

    Iterating yields the number of the pair, and the encodings of premise and hypothesis without the tokens around them.

    Attributes:
        split: the pairs whose sentences stand in their place.
        cut: those of which some sentences are cut.
    """

    def __init__(self, tokenizer: Any, room: int, pairs: Sequence[tuple[str, str]]) -> None:
        self.split: set[int] = set()
        self.cut: set[int] = set()
        self._tokenizer = tokenizer
        self._room = room
        self._pairs = pairs
        texts = list(dict.fromkeys(text for pair in pairs for text in pair))
        self._whole = dict(zip(texts, self._encode(texts), strict=True))
        self._known: dict[str, list[tuple[Any, list[Any]]]] = {}

    def _encode(self, texts: Sequence[str]) -> list[Any]:
        encodings: list[Any] = self._tokenizer.encode_batch(texts, add_special_tokens=False)
        return encodings

    def __iter__(self) -> Iterator[tuple[int, Any, Any]]:
        for number, (first, second) in enumerate(self._pairs):
            premise, hypothesis = self._whole[first], self._whole[second]
            if self._fit(premise, hypothesis):
                yield number, premise, hypothesis
                continue
            premises, hypotheses = self._sentences(first), self._sentences(second)
            self.split.add(number)
            for premise, lefts in premises:
                for hypothesis, rights in hypotheses:
                    if self._fit(premise, hypothesis):
                        yield number, premise, hypothesis
                        continue
                    self.cut.add(number)
                    for left in lefts:
                        for right in rights:
                            yield number, left, right

    def _fit(self, premise: Any, hypothesis: Any) -> bool:
        return len(premise) + len(hypothesis) <= self._room

    def _sentences(self, text: str) -> list[tuple[Any, list[Any]]]:
        """A text's sentences, each whole and in windows."""
        if text not in self._known:
            found = sentences(text)
            twice = zip(self._encode(found), self._encode(found), strict=True)
            self._known[text] = [(whole, self._windows(other)) for whole, other in twice]
        return self._known[text]

    def _windows(self, encoding: Any) -> list[Any]:
        """An encoding, which is used up, in windows of half the room; each begins in the last quarter of another."""
        size = self._room // 2
        encoding.truncate(size, stride=size // 4)
        return [encoding, *encoding.overflowing]


def sentences(text: str) -> list[str]:
    """The sentences of a text that is split: up to a sign that ends one and a space, or to the end of a line."""
    return [part for part in (part.strip() for part in _BETWEEN.split(text)) if part] or [text]
