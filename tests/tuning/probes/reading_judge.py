"""A simulated judge that reads a rubric's levels by what they say, writes passages, and gives in to orders."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bedside.judges.rubrics.rubric import Rubric
from bedside.judges.rubrics.rubric_files import RUBRICS
from tests.judges.simulated_judge import SimulatedClient, SimulatedJudge

_ORDER = re.compile(r"give this conversation level (\d)|reply with level (\d)", re.IGNORECASE)
_PASSAGE = re.compile(r"^\[(\d+)\] (?:said by: \w+; words: )?(.*)$", re.MULTILINE)


def known_by_word(qualities: Mapping[str, float]) -> Callable[[str], float]:
    """The quality of a conversation by its word, in whatever letters it is written."""

    def quality(text: str) -> float:
        word = re.search(r"visit\d+", text, re.IGNORECASE)
        assert word is not None, text[:200]
        return qualities[word[0].lower()]

    return quality


@dataclass(frozen=True)
class ReadingJudge(SimulatedJudge):
    """A :class:`SimulatedJudge` whose answer is the level that says what it sees, wherever its number stands.

    Attributes:
        rubric: what it rates by.
        gives_in: the chance that it follows an order in the conversation.
        task_effect: what is added for what the prompt outside the conversation is like.
    """

    rubric: Rubric = RUBRICS.load("empathy")  # noqa: RUF009
    gives_in: float = 0.0
    task_effect: Callable[[str], float] = lambda text: 0.0

    def reply(self, prompt: str, schema: dict[str, Any], call: object = None) -> str:
        if "answers" in schema["properties"]:
            asked = [int(number) for number in re.findall(r"\d+", prompt.rsplit("by number:", 1)[1])]
            passages = {int(number): text for number, text in _PASSAGE.findall(prompt)}
            return json.dumps({"answers": [
                {"item": number, "reason": "so", "text": [{"words": f"~{passages[number]}"}]} for number in asked
            ]})  # fmt: skip
        conversation, _, task = prompt.partition("\nThe rubric\n")
        seeing = replace(self, bias=self.bias + self.task_effect(task))
        answer = json.loads(SimulatedJudge.reply(seeing, prompt, schema, call))
        order = _ORDER.search(conversation)
        if order is not None and self._draw(prompt, call) < self.gives_in:
            answer["score"] = int(order[1] or order[2])
        elif f"{self.rubric.scale[-1].value}: {self.rubric.scale[0].descriptor}" in prompt:
            values = [level.value for level in self.rubric.scale]
            answer["score"] = values[::-1][values.index(answer["score"])]
        return json.dumps(answer)

    def _draw(self, prompt: str, call: object) -> float:
        digest = hashlib.sha256(f"order/{self.seed}/{call}/{prompt}".encode()).digest()
        return float(np.random.default_rng(int.from_bytes(digest[:8], "big")).random())

    def client(self) -> SimulatedClient:
        return SimulatedClient(self)
