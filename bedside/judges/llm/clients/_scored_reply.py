"""Replies that are written as their schema wants them, with the most probable value wherever there is a choice."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from bedside.judges.llm.clients._scorer import Scorer
from bedside.judges.llm.protocol import NotAskableError, Request
from bedside.judges.llm.tokens import Token

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
        alternatives = tuple(
            (f"{text}{end}".encode(), score) for text, score in zip(texts, scores, strict=True)
        )
        # The sign that ends it is part of what was weighed, and of the token; it is written with what follows.
        self._chosen.append((len(self.text.encode()), Token(f"{texts[best]}{end}".encode(), alternatives)))
        self.text += texts[best]

    def _divide(self, labels: Sequence[str], end: str) -> None:
        """Write the probability of each of several labels, as if one of them had been asked for."""
        scores = self._log_probabilities(
            [f"{json.dumps(label, ensure_ascii=False)}{end}" for label in labels]
        )
        odds = [math.exp(score - max(scores)) for score in scores]
        shares = {
            label: round(label_odds / sum(odds), 4) for label, label_odds in zip(labels, odds, strict=True)
        }
        self.text += json.dumps(shares, ensure_ascii=False)

    def _select(self, labels: Sequence[str]) -> None:
        """Write those of several labels that are more probably true than false, each taken by itself."""
        texts = [
            f"{{{json.dumps(label, ensure_ascii=False)}: {value}}}"
            for label in labels
            for value in ("true", "false")
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
