"""DialoFlow (Li et al. 2021): what a turn is predicted to change of a conversation's meaning, and what it changes.

A GPT-2 reads the conversation; its state after each turn is the meaning so far. A second, one-layer GPT-2 predicts from
the states up to a turn what the next will be.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bedside.core.errors import ModelError
from bedside.core.model_files import error_text, find_model, library, quiet, read_config

_EXTRA = "local"
#: The model's own control tokens, in the order in which they were added to GPT-2's.
_CONTROL = ("<bos>", "<eos>", "<info>", "<speaker1>", "<speaker2>", "<empty>", "<pad>")
#: Tokens of a turn that the model is given, as it was when it was published.
TURN = 128
#: Of its window, what is never filled, as when it was published: 24 of 1024.
_SPARE = 24
#: Names in the checkpoint, in its authors' spelling.
_READER, _PLANNER = "speak_model.", "planing_model."

Vectors = npt.NDArray[np.float64]


class Influence(NamedTuple):
    """What each turn does to the meaning, as vectors: shape (turns, width).

    Attributes:
        actual: the state after the turn minus the state before it.
        predicted: the state that was predicted minus the state before it.
        cut: turns of which the model was given only the first :data:`TURN` tokens.
    """

    actual: Vectors
    predicted: Vectors
    cut: int


class DialoFlow:
    """The two models and their tokenizer.

    Args:
        reader, planner: GPT-2 models of transformers.
        tokenizer: GPT-2's, with or without DialoFlow's control tokens.

    Raises:
        ModelError: the reader has no vectors for the control tokens.
    """

    def __init__(self, reader: Any, planner: Any, tokenizer: Any) -> None:
        self._reader, self._planner, self._tokenizer = reader, planner, tokenizer
        tokenizer.add_tokens(list(_CONTROL), special_tokens=True)
        self._ids = {token: tokenizer.convert_tokens_to_ids(token) for token in _CONTROL}
        if max(self._ids.values()) >= reader.config.vocab_size:
            raise ModelError(
                "it is not a DialoFlow model: it has no vectors for the speakers' tokens",
                todo="put the tokenizer that belongs to it beside it",
            )
        self._limit: int = reader.config.n_positions - _SPARE

    def influences(self, turns: Sequence[str]) -> Influence:
        """The influence of as many of the first turns as fit the window.

        Args:
            turns: what two speakers say by turns.
        """
        torch = library("torch", _EXTRA)
        tokens: list[int] = []
        kinds: list[int] = []
        states, cut = [0], 0
        for number, text in enumerate(turns):
            whole = self._tokenizer.encode(text, add_special_tokens=False, split_special_tokens=True)
            said_ = whole[:TURN]
            # Ten more than are needed, as when it was published.
            if len(tokens) + len(said_) + 10 > self._limit or len(states) == self._planner.config.n_positions:
                break
            cut += len(whole) > TURN
            speaker = number % 2
            tokens += [self._ids[f"<speaker{speaker + 1}>"], *said_, self._ids["<eos>"], self._ids["<empty>"]]
            kinds += [speaker] * (len(tokens) - len(kinds))
            states.append(len(tokens) - 1)
        if not tokens:
            nothing = np.empty((0, self._reader.config.n_embd))
            return Influence(nothing, nothing, 0)
        with torch.inference_mode():
            read = self._reader(input_ids=torch.tensor([tokens]), token_type_ids=torch.tensor([kinds]), use_cache=False)
            state = read.last_hidden_state[:, states]
            planned = self._planner(inputs_embeds=state, use_cache=False).last_hidden_state
        state, planned = (each[0].double().numpy() for each in (state, planned))
        return Influence(state[1:] - state[:-1], planned[:-1] - state[:-1], cut)


@lru_cache(maxsize=1)
def load_dialoflow(folder: str) -> DialoFlow:
    """The DialoFlow model in a folder: config.json, the tokenizer's files, and the weights as safetensors.

    Raises:
        ModelError: it isn't there, its weights are pickled, or it is no DialoFlow model.
        MissingExtraError: a library isn't installed.
    """
    path = find_model(folder).path
    torch, transformers = library("torch", _EXTRA), library("transformers", _EXTRA)
    load_file = library("safetensors.torch", _EXTRA).load_file
    try:
        weights = {
            name: tensor.float()
            for part in sorted(path.glob("*.safetensors"))
            for name, tensor in load_file(part).items()
        }
        with quiet():
            config = transformers.GPT2Config.from_dict(read_config(path))
            tokenizer = transformers.AutoTokenizer.from_pretrained(path, local_files_only=True, trust_remote_code=False)
    except ModelError:
        raise
    except Exception as error:  # whatever the libraries raise
        raise ModelError(f"the model can't be loaded ({error_text(error)})", where=str(path)) from error
    table = weights.get(f"{_READER}wte.weight", torch.empty(0, 0))
    places = weights.get(f"{_PLANNER}wpe.weight", torch.empty(0, 0))
    config.vocab_size = table.shape[0]
    plan = {"n_layer": 1, "n_positions": places.shape[0], "vocab_size": 1}
    # The planner is fed states in place of words.
    words = {f"{_PLANNER}wte.weight": torch.zeros(1, config.n_embd)}
    with quiet():  # about control tokens that neither has
        reader = _filled(transformers, config.to_dict(), _READER, weights, path)
        planner = _filled(transformers, {**config.to_dict(), **plan}, _PLANNER, weights | words, path)
    return DialoFlow(reader, planner, tokenizer)


def _filled(transformers: Any, config: dict[str, Any], prefix: str, weights: dict[str, Any], path: Path) -> Any:
    """A GPT-2 with those of the weights whose names begin with the prefix."""
    mine = {name.removeprefix(prefix): each for name, each in weights.items() if name.startswith(prefix)}
    model = None
    try:
        model = transformers.GPT2Model(transformers.GPT2Config.from_dict(config))
        lacking = model.load_state_dict(mine, strict=False).missing_keys
        # Older checkpoints carry the mask of each layer too, which newer GPT-2s make themselves.
        what = f"{prefix}{lacking[0]} is missing" if lacking else None
    except (RuntimeError, ValueError, ZeroDivisionError) as error:
        what = error_text(error)
    if model is None or what is not None:
        raise ModelError(f"it is not a DialoFlow model ({what})", where=str(path))
    return model.eval()
