"""How probable is a text after another? Log-probabilities of its tokens under a causal language model.

Several continuations of one text, and several such texts, go through the model in one pass: side by side in one row,
where a mask keeps each from seeing the others. What continuations have in common is worked out once, there is no
padding, and the vocabulary is weighed only at the tokens that are asked about. A model that can't be asked in this way
is found out when it is loaded, and is asked one sequence at a time.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bedside.core.errors import ModelError, RegistryError, one_of
from bedside.core.model_files import device, find_model, library
from bedside.metrics.models.language_model import load_language_model

_EXTRA = "redirection"
PRECISIONS = ("float32", "bfloat16")
#: Tokens that go through the model in one pass, unless one group of continuations has more.
BATCH = 512
#: How far the two ways of working out a log-probability may be apart, in nats.
_TOLERANCE = 1e-3
_LOG = logging.getLogger(__name__)

Tokens = Sequence[int]
Values = npt.NDArray[np.float64]


class Continuation(NamedTuple):
    """A text that is weighed, and what stands before it, as tokens; neither is empty."""

    context: Tokens
    text: Tokens


class Likelihood:
    """A causal language model that is asked for log-probabilities.

    Args:
        model: the model, of transformers, in 32 bits and ready to be asked.
        tokenizer: its tokenizer.
        precision: ``float32``, or ``bfloat16``, which is several times as fast where the processor knows it, and
            rougher.

    Attributes:
        window: the most tokens that the model sees at once; None where it sets no limit.
        start: the tokens that a text begins with: the start token, of tokenizers that add one, or none.
        together: whether continuations can go through the model side by side.
    """

    def __init__(self, model: Any, tokenizer: Any, *, precision: str = "float32") -> None:
        self._torch = library("torch", _EXTRA)
        self._model = model
        self._tokenizer = tokenizer
        config = model.config.get_text_config()
        sizes = [getattr(config, name, None) for name in ("max_position_embeddings", "sliding_window")]
        self.window: int | None = min((size for size in sizes if size), default=None)
        bare, whole = (list(tokenizer.encode("a", add_special_tokens=added)) for added in (False, True))
        self.start: tuple[int, ...] = tuple(whole[: whole.index(bare[0])]) if bare[0] in whole else ()
        self._keeps = "logits_to_keep" in inspect.signature(model.forward).parameters
        self.together: bool = self._keeps and self._works_together()
        if not self.together:
            _LOG.info("A %s is asked one sequence at a time.", config.model_type)
        if precision == "bfloat16":
            self._model = model.to(self._torch.bfloat16)

    def encode(self, text: str) -> list[int]:
        """The tokens of a text; what looks like a control token is taken letter by letter."""
        return list(self._tokenizer.encode(text, add_special_tokens=False, split_special_tokens=True))

    def weigh(self, groups: Sequence[Sequence[Continuation]], *, batch: int = BATCH) -> list[list[Values]]:
        """The natural logarithm of the probability of each token of each continuation's text.

        Args:
            groups: continuations by what they have in common at their beginning, which is then worked out once.
            batch: tokens that go through the model in one pass; it changes the speed, and values by no more than
                rounding.

        Returns:
            For each group, for each continuation, an array of as many values as its text has tokens, at most 0.

        Raises:
            ModelError: the model gives something that is no number.
        """
        values_by_group: list[list[Values]] = []
        if self.together:
            for pack in _packs([_Tree(group) for group in groups], batch):
                values_by_group += self._side_by_side(pack)
        else:
            values_by_group = [[self._alone(continuation) for continuation in group] for group in groups]
        if not all(np.isfinite(values).all() for group in values_by_group for values in group):
            raise ModelError("the model gives probabilities that are no numbers", todo="try another model")
        return values_by_group

    def _alone(self, continuation: Continuation) -> Values:
        """One continuation, in the plainest way."""
        torch = self._torch
        tokens = torch.tensor([[*continuation.context, *continuation.text[:-1]]], device=self._model.device)
        keep = {"logits_to_keep": len(continuation.text)} if self._keeps else {}
        with torch.inference_mode():
            logits = self._model(input_ids=tokens, use_cache=False, **keep).logits[0, -len(continuation.text) :]
        return self._chosen(logits, continuation.text)

    def _side_by_side(self, trees: Sequence[_Tree]) -> list[list[Values]]:
        torch = self._torch
        device = self._model.device
        tokens = [token for tree in trees for token in tree.tokens]
        at = torch.tensor([place for tree in trees for place in tree.places], device=device)
        branch = torch.tensor([branch for tree in trees for branch in tree.branches], device=device)
        of = torch.repeat_interleave(
            torch.arange(len(trees), device=device), torch.tensor([len(tree.tokens) for tree in trees], device=device)
        )
        seen = (of[:, None] == of) & ((branch == _TRUNK) | (branch[:, None] == branch)) & (at <= at[:, None])
        kind = self._model.dtype
        mask = torch.zeros(seen.shape, dtype=kind, device=device).masked_fill_(~seen, torch.finfo(kind).min)
        ends = np.cumsum([len(tree.tokens) for tree in trees])
        asked = [
            end - len(tree.tokens) + node
            for tree, end in zip(trees, ends, strict=True)
            for nodes in tree.sources
            for node in nodes
        ]
        targets = [token for tree in trees for text in tree.texts for token in text]
        with torch.inference_mode():
            logits = self._model(
                input_ids=torch.tensor([tokens], device=device),
                position_ids=at[None],
                attention_mask=mask[None, None],
                use_cache=False,
                logits_to_keep=torch.tensor(asked, device=device),
            ).logits[0]
        values = self._chosen(logits, targets)
        cuts = np.cumsum([len(text) for tree in trees for text in tree.texts])[:-1]
        parts = iter(np.split(values, cuts))
        return [[next(parts) for _ in tree.texts] for tree in trees]

    def _chosen(self, logits: Any, tokens: Tokens) -> Values:
        """The log-probability of a token in each row of logits."""
        logits = logits.float()
        chosen = logits.gather(1, self._torch.tensor(tokens, device=logits.device)[:, None])[:, 0]
        found: Values = (chosen - logits.logsumexp(dim=-1)).double().cpu().numpy()
        return np.minimum(found, 0.0)

    def _works_together(self) -> bool:
        """Whether two groups side by side have the probabilities that their continuations have alone."""
        words = ("one two three", "four five", "six", "seven eight nine ten")
        a, b, c, d = ([*self.start, *self.encode(text)] for text in words)
        groups = [
            (Continuation([*a, *b], c), Continuation([*a, *c], d)),
            (Continuation(d, a), Continuation([*d, *b], c)),
        ]
        try:
            ours = self._side_by_side([_Tree(group) for group in groups])
        except Exception:  # whatever a model's own code raises when it is asked in a way it doesn't know
            return False
        return all(
            np.allclose(values, self._alone(each), rtol=0, atol=_TOLERANCE)
            for group, found in zip(groups, ours, strict=True)
            for each, values in zip(group, found, strict=True)
        )


_TRUNK = -1


class _Tree:
    """What is fed to the model for a group of continuations: what they have in common, and a branch for each.

    Attributes:
        tokens: the tokens fed; the last of a text is not, for nothing comes after it.
        places: the position of each in its own sequence.
        branches: the branch that each token belongs to, or _TRUNK.
        texts: the tokens weighed of each continuation.
        sources: for each continuation, which of ``tokens`` stand before those weighed.
    """

    def __init__(self, group: Sequence[Continuation]) -> None:
        fed = [[*continuation.context, *continuation.text[:-1]] for continuation in group]
        shared = common(fed)
        self.tokens = fed[0][:shared]
        self.places = list(range(shared))
        self.branches = [_TRUNK] * shared
        self.texts = [continuation.text for continuation in group]
        self.sources: list[list[int]] = []
        for branch, (continuation, sequence) in enumerate(zip(group, fed, strict=True)):
            offset = len(self.tokens) - shared
            self.tokens += sequence[shared:]
            self.places += range(shared, len(sequence))
            self.branches += [branch] * (len(sequence) - shared)
            first = len(continuation.context) - 1
            self.sources.append([place if place < shared else place + offset for place in range(first, len(sequence))])


def common(rows: Sequence[Tokens]) -> int:
    """How many tokens all rows begin with alike."""
    for place, tokens in enumerate(zip(*rows, strict=False)):
        if any(token != tokens[0] for token in tokens):
            return place
    return min(map(len, rows))


def _packs(trees: Sequence[_Tree], batch: int) -> Iterator[list[_Tree]]:
    """Trees one after another, as many at once as have ``batch`` tokens; at least one."""
    pack: list[_Tree] = []
    size = 0
    for tree in trees:
        if pack and size + len(tree.tokens) > batch:
            yield pack
            pack, size = [], 0
        pack.append(tree)
        size += len(tree.tokens)
    if pack:
        yield pack


@lru_cache(maxsize=1)
def load_likelihood(model: str, precision: str = "float32") -> Likelihood:
    """The model that a user names, ready to be asked; it stays loaded until another is.

    Args:
        model: as for :func:`bedside.core.model_files.find_model`.
        precision: one of :data:`PRECISIONS`.

    Raises:
        RegistryError: another precision.
        ModelError: the model isn't there or can't be loaded.
        MissingExtraError: a library isn't installed.
    """
    one_of(precision, PRECISIONS, "precision", RegistryError)
    network, tokenizer = load_language_model(find_model(model).path)
    return Likelihood(network.to(device()), tokenizer, precision=precision)
