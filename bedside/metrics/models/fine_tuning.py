"""Fine-tuning a causal language model on conversations, so that it knows how they go."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import bedside
from bedside.core.errors import DataError, MissingExtraError, ModelError, RunError, one_of
from bedside.core.files import saying_where, sync, write_json
from bedside.core.model_files import device, error_text, find_model, library, quiet
from bedside.metrics.models.dialogue import SEPARATOR, speeches
from bedside.metrics.models.language_model import load_language_model
from bedside.transcripts.transcript import Transcript

_EXTRA = "redirection"
CARD = "card.json"
METHODS = ("auto", "lora", "plain")
#: Of LoRA, as ConvoKit's redirection has them.
_RANK, _SCALE, _DROPOUT = 16, 32, 0.05
#: What the model is not asked to predict: padding.
_IGNORED = -100


@dataclass(frozen=True, slots=True)
class Tuning:
    """How a model is tuned.

    Attributes:
        method: ``lora`` trains small matrices beside the model's own (Hu et al. 2021), which are then merged into them;
            ``plain`` trains the model's own; ``auto`` is the first where peft is installed.
        epochs: times that each conversation is gone through; may be a fraction.
        learning_rate: of AdamW; 2e-4 for LoRA and 5e-5 for plain unless given. It falls linearly to 0.
        window: tokens of a piece of conversation, at most.
        batch: pieces in a step.
        held_out: share of the transcripts that are kept for measuring the loss, at least one.
        seed: of what is drawn at random.
    """

    method: str = "auto"
    epochs: float = 2.0
    learning_rate: float | None = None
    window: int = 512
    batch: int = 8
    held_out: float = 0.1
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Tuned:
    """What became of a tuning; losses are means of −log p per token of the held-out transcripts, in nats.

    Attributes:
        folder: the tuned model.
        method: how it was tuned.
        trained, held_out: transcripts.
        steps: of the optimiser.
        before, after: the loss before and after.
    """

    folder: Path
    method: str
    trained: int
    held_out: int
    steps: int
    before: float
    after: float


def fine_tune(
    transcripts: Iterable[Transcript],
    model: str,
    out: Path,
    tuning: Tuning | None = None,
    progress: Callable[[int, int, float], None] | None = None,
) -> Tuned:
    """Tune a model on transcripts and write it, with its tokenizer and a card, as safetensors into a new folder.

    The model reads conversations as redirection shows them to it (:mod:`bedside.metrics.models.dialogue`). The same
    transcripts, model, settings, versions and number of threads give the same weights on the CPU; on a graphics
    processor, which is taken where there is one, weights may differ in their last digits.

    Args:
        transcripts: at least two with something said in them.
        model: as for :func:`bedside.core.model_files.find_model`.
        out: a folder that isn't there yet.
        tuning: the settings.
        progress: called after each step with its number, the number of all steps, and the loss.

    Raises:
        DataError: there are fewer than two transcripts, or a setting makes no sense.
        ModelError: the model isn't there, can't be loaded or can't be tuned.
        RunError: the folder is there or can't be written.
        MissingExtraError: a library isn't installed.
    """
    tuning = tuning or Tuning()
    method = _tuning_method(tuning)
    if out.exists():
        raise RunError("the folder exists already", where=str(out), todo="choose another folder")
    files = find_model(model)
    talks = [
        _Talk(transcript.id, transcript.content_hash(), lines)
        for transcript in transcripts
        if (lines := _lines(transcript))
    ]
    if len(talks) < 2:
        raise DataError("tuning needs two transcripts, one of them to measure the loss on")
    count = min(max(1, round(tuning.held_out * len(talks))), len(talks) - 1)
    order = np.random.default_rng(tuning.seed).permutation(len(talks))
    held = {int(place) for place in order[:count]}
    net, tokenizer = load_language_model(files.path)
    net = net.to(device())
    window = min(tuning.window, getattr(net.config.get_text_config(), "max_position_embeddings", tuning.window))
    pieces: tuple[list[list[int]], list[list[int]]] = ([], [])
    for place, talk in enumerate(talks):
        pieces[place in held].extend(_pieces(talk.lines, tokenizer, window))
    trainer = _Trainer(net, tuning, method)
    before = trainer.loss(pieces[1])
    steps = trainer.train(pieces[0], progress)
    after = trainer.loss(pieces[1])
    card = {
        "base": files.name,
        "transcripts": {
            "trained": len(talks) - count,
            "held_out": sorted(talks[place].id for place in held),
            "sha256": hashlib.sha256("".join(sorted(talk.digest for talk in talks)).encode()).hexdigest(),
        },
        "settings": _settings(tuning, method, trainer.rate, window),
        "steps": steps,
        "loss_held_out": {"before": before, "after": after, "unit": "nats per token"},
        "versions": {"bedside": bedside.__version__, **_versions()},
    }
    _write(trainer.merged(), tokenizer, card, out)
    return Tuned(out, method, len(talks) - count, count, steps, before, after)


def _tuning_method(tuning: Tuning) -> str:
    """The method; raises DataError for settings that make no sense."""

    one_of(tuning.method, METHODS, "method", DataError)
    for name, right in {
        "epochs": tuning.epochs > 0,
        "learning rate": tuning.learning_rate is None or tuning.learning_rate > 0,
        "window": tuning.window >= 32,
        "batch": tuning.batch >= 1,
        "held-out share": 0 < tuning.held_out < 1,
    }.items():
        if not right:
            raise DataError(f"the {name} is out of range", todo="see bedside train redirection --help")
    has_peft = find_spec("peft") is not None
    if tuning.method == "lora" and not has_peft:
        raise MissingExtraError("LoRA needs peft, which isn't installed", todo='pip install "bedside[redirection]"')
    return ("lora" if has_peft else "plain") if tuning.method == "auto" else tuning.method


def _settings(tuning: Tuning, method: str, rate: float, window: int) -> dict[str, Any]:
    """The settings that a card shows: those asked for, with what was chosen in their place."""
    settings = {**asdict(tuning), "method": method, "learning_rate": rate, "window": window}
    return settings | ({"rank": _RANK, "alpha": _SCALE, "dropout": _DROPOUT} if method == "lora" else {})


def _versions() -> dict[str, str]:
    return {name: version(name) for name in ("torch", "transformers", "peft") if find_spec(name)}


@dataclass(frozen=True, slots=True)
class _Talk:
    """A transcript with something in it: its id, the hash of its content, and its speeches, a line each."""

    id: str
    digest: str
    lines: list[str]


def _lines(transcript: Transcript) -> list[str]:
    return [speech.line + SEPARATOR for speech in speeches(transcript)]


def _pieces(lines: Sequence[str], tokenizer: Any, window: int) -> Iterator[list[int]]:
    """A conversation in pieces of whole turns that fit the window; a turn that doesn't is a piece by itself, cut."""
    piece: list[int] = []
    for line in lines:
        tokens = tokenizer.encode(line, add_special_tokens=False, split_special_tokens=True)
        if piece and len(piece) + len(tokens) > window:
            yield piece
            piece = []
        piece = [*piece, *tokens][:window]
    if piece:
        yield piece


class _Trainer:
    """A model in training."""

    def __init__(self, model: Any, tuning: Tuning, method: str) -> None:
        self._torch = library("torch", _EXTRA)
        self._tuning = tuning
        self._lora = method == "lora"
        self.rate = tuning.learning_rate or (2e-4 if self._lora else 5e-5)
        self._model = model
        if self._lora:
            peft = library("peft", _EXTRA)
            settings = peft.LoraConfig(
                r=_RANK, lora_alpha=_SCALE, lora_dropout=_DROPOUT, target_modules="all-linear", task_type="CAUSAL_LM"
            )
            try:
                with self._torch.random.fork_rng(), quiet():
                    self._torch.manual_seed(self._tuning.seed)
                    self._model = peft.get_peft_model(model, settings)
            except ValueError as error:
                raise ModelError(
                    f"it can't be tuned by LoRA ({error_text(error)})", todo="choose `method=plain`"
                ) from error

    def _batch(self, pieces: Sequence[Sequence[int]]) -> dict[str, Any]:
        longest = max(map(len, pieces))
        rows = [[*piece, *[0] * (longest - len(piece))] for piece in pieces]
        labels = [[*piece, *[_IGNORED] * (longest - len(piece))] for piece in pieces]
        mask = [[1] * len(piece) + [0] * (longest - len(piece)) for piece in pieces]
        tensor = partial(self._torch.tensor, device=self._model.device)
        return {"input_ids": tensor(rows), "labels": tensor(labels), "attention_mask": tensor(mask)}

    def loss(self, pieces: Sequence[Sequence[int]]) -> float:
        """The mean of −log p over the tokens of the pieces, but for the first of each."""
        self._model.eval()
        total, count = 0.0, 0
        with self._torch.inference_mode():
            for piece in pieces:
                if len(piece) > 1:
                    total += float(self._model(**self._batch([piece])).loss) * (len(piece) - 1)
                    count += len(piece) - 1
        if not np.isfinite(total):
            raise ModelError("the loss became infinite or undefined", todo="try another model or a lower learning rate")
        return total / count

    def train(self, pieces: Sequence[Sequence[int]], progress: Callable[[int, int, float], None] | None) -> int:
        """Train; returns the number of steps."""
        torch, how = self._torch, self._tuning
        of_one = -(-len(pieces) // how.batch)
        steps = max(1, round(how.epochs * of_one))
        parameters = [each for each in self._model.parameters() if each.requires_grad]
        optimiser = torch.optim.AdamW(parameters, lr=self.rate)
        schedule = torch.optim.lr_scheduler.LinearLR(optimiser, 1.0, 0.0, steps)
        drawn = np.random.default_rng((how.seed, 1))
        self._model.train()
        with torch.random.fork_rng():
            torch.manual_seed(self._tuning.seed)
            for step in range(steps):
                if step % of_one == 0:
                    order = drawn.permutation(len(pieces))
                chosen = order[step % of_one * how.batch :][: how.batch]
                loss = self._model(**self._batch([pieces[place] for place in chosen])).loss
                loss.backward()
                torch.nn.utils.clip_grad_norm_(parameters, 1.0)
                optimiser.step()
                schedule.step()
                optimiser.zero_grad()
                if progress is not None:
                    progress(step + 1, steps, float(loss.detach()))
        return steps

    def merged(self) -> Any:
        """The model, with what was trained beside it merged into it."""
        return self._model.merge_and_unload() if self._lora else self._model


def _write(model: Any, tokenizer: Any, card: dict[str, Any], out: Path) -> None:
    with saying_where(out):
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{out.name}.", dir=out.parent, ignore_cleanup_errors=True) as new:
            folder = Path(new) / out.name
            with quiet():
                tokenizer.save_pretrained(folder)
                model.save_pretrained(folder)
            write_json(folder / CARD, card)
            for part in folder.iterdir():
                sync(part)
            folder.rename(out)
        sync(out.parent)
