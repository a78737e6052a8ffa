"""A judge of whom everything is known: what it sees of each conversation, its bias, noise and taste for positions.

It knows a conversation by a word that stands in it and nowhere else, such as ``visit0007``, so that changing the rest
of the text changes nothing of what it sees, unless ``effect`` says so. The same prompt, pass and seed give the same
reply. It is a script of :class:`tests.judges.llm.server.JudgeServer` (``JudgeServer(judge.script)``), or a client
without a server (``client=judge.client``).

    talks = simulated_talks({"A": 0.7, "B": 0.4}, cases=20, seed=1)
    judge = SimulatedJudge(true_qualities(talks), noise=0.1, position=0.05)
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from bedside.judges.llm.protocol import Reply, Request
from bedside.transcripts.transcript import Role, Transcript, Turn
from tests.judges.llm.server import Action, Received, fill

#: A stretch of a prompt between marker lines: what it is called, and its content.
_FENCED = re.compile(
    r"^--- (?P<name>[^\n]+) begins, code (?P<code>\w+) ---\n(?P<content>.*?)"
    r"\n--- (?P=name) ends, code (?P=code) ---$",
    re.DOTALL | re.MULTILINE,
)


def simulated_talks(
    systems: Mapping[str, float],
    cases: int,
    *,
    seed: int,
    case_spread: float = 0.0,
    talk_spread: float = 0.0,
    talks: int = 1,
    turns: int = 4,
) -> list[Transcript]:
    """Conversations of systems on cases, each with its true quality in ``factors["quality"]`` and a word of its own.

    A conversation's quality is its system's, plus its case's (normal with standard deviation ``case_spread``), plus
    its own (``talk_spread``). Each system has ``talks`` conversations on each case, with ``turns`` turns each.
    """
    generator = np.random.default_rng(seed)
    of_case = generator.normal(0, case_spread, cases)
    speakers: tuple[tuple[Role, str], ...] = (("clinician", "bot"), ("patient", "Pat"))
    made: list[Transcript] = []
    for case, system, talk in product(range(cases), systems, range(talks)):
        true = systems[system] + of_case[case] + generator.normal(0, talk_spread)
        lines = (f"We spoke at visit{len(made):06d}.", "I sleep badly.", "That sounds hard.", "Yes, it is.")
        made.append(
            Transcript(
                id=f"{system}-{case}-{talk}", system=system, case_id=f"case{case}",
                factors={"quality": repr(float(true))},
                turns=tuple(Turn(n, *speakers[n % 2], lines[n % 4]) for n in range(turns)),
            )
        )  # fmt: skip
    return made


def true_qualities(talks: Iterable[Transcript]) -> dict[str, float]:
    """The true quality of each of :func:`simulated_talks`, by the word it is known by."""
    qualities = {}
    for talk in talks:
        word = re.search(r"visit\d+", talk.turns[0].text)
        assert word is not None
        qualities[word[0]] = float(talk.factors["quality"])
    return qualities


@dataclass(frozen=True)
class SimulatedJudge:
    """A judge that sees ``quality + bias + effect(conversation) + noise`` of a conversation.

    By a rubric with levels it answers the level nearest to what it sees, 0 being the lowest level and 1 the highest.
    Of two conversations it says that the first is better where ``d = first − second + position + noise`` exceeds
    ``tie``, the second where it is below ``−tie``, and else that neither is. The noise of a comparison is logistic, so
    that without ties ``P(first) = 1 / (1 + exp(−(first − second + position) / noise))``, as Bradley and Terry have it
    with strengths ``quality / noise``.

    Attributes:
        quality: of each conversation, by a word that stands in it; or works it out of the conversation's text.
        bias: added to what is seen of every conversation, as by a lenient judge.
        noise: standard deviation of a rating's noise; scale of a comparison's.
        position: by how much better the conversation shown first seems in a comparison.
        tie: how near two conversations are that are called alike.
        effect: what is added for what the conversation's text is like.
        seed: of the noise.
    """

    quality: Mapping[str, float] | Callable[[str], float]
    bias: float = 0.0
    noise: float = 0.0
    position: float = 0.0
    tie: float = 0.0
    effect: Callable[[str], float] = lambda text: 0.0
    seed: int = 0

    def reply(self, prompt: str, schema: dict[str, Any], call: object = None) -> str:
        """The reply to a prompt; ``call`` tells passes apart."""
        shown = {match["name"]: match["content"] for match in _FENCED.finditer(prompt)}
        digest = hashlib.sha256(f"{self.seed}/{call}/{prompt}".encode()).digest()
        generator = np.random.default_rng(int.from_bytes(digest[:8], "big"))
        answer = fill(schema, int.from_bytes(digest[8:12], "big"), _asked(prompt))
        if "better" in schema["properties"]:
            answer["better"] = self._preferred(shown, generator)
        elif "score" in schema["properties"] and "conversation" in shown:
            levels = [level for level in schema["properties"]["score"]["enum"] if level is not None]
            seen = self._seen(shown["conversation"]) + self.bias + generator.normal(0, self.noise)
            target = min(levels) + seen * (max(levels) - min(levels))
            answer["score"] = min(levels, key=lambda level: abs(level - target))
        return json.dumps({**answer, "reason": "because of turn 0"} if "reason" in answer else answer)

    def _preferred(self, shown: Mapping[str, str], generator: np.random.Generator) -> str:
        first, second = (self._seen(shown[f"{place} conversation"]) for place in ("first", "second"))
        difference = first - second + self.position + generator.logistic(0, self.noise)
        return "tie" if abs(difference) <= self.tie else "first" if difference > 0 else "second"

    def _seen(self, text: str) -> float:
        if callable(self.quality):
            return self.quality(text) + self.effect(text)
        words = [word for word in self.quality if word in text] if len(self.quality) < 50 else [
            word for word in dict.fromkeys(re.findall(r"\w+", text)) if word in self.quality
        ]  # fmt: skip
        assert len(words) == 1, f"{len(words)} conversations are known by words in: {text[:200]}"
        return self.quality[words[0]] + self.effect(text)

    def script(self, received: Received, number: int) -> Action:
        """What a :class:`tests.judges.llm.server.JudgeServer` does with a request."""
        assert received.schema is not None, "the judge must be told the form of the reply"
        return Action(text=self.reply(received.prompt, received.schema, received.body.get("seed")))

    def client(self) -> SimulatedClient:
        """Opens a client that asks this judge without a server; its passes differ at any temperature."""
        return SimulatedClient(self)


class SimulatedClient:
    """A :class:`bedside.judges.llm.protocol.Client` that asks a simulated judge."""

    max_prompt_tokens: int | None = None

    def __init__(self, judge: SimulatedJudge) -> None:
        self.judge = judge

    async def complete(self, request: Request) -> Reply:
        assert request.schema is not None
        prompt = request.messages[0].content
        text = self.judge.reply(prompt, json.loads(request.schema), request.key)
        return Reply(text, len(prompt) // 4, len(text) // 4)

    async def close(self) -> None:
        """Nothing: no connection was opened."""


def _asked(prompt: str) -> list[int]:
    numbers = re.search(r"by number: ([\d, ]+)\.", prompt)
    return [int(number) for number in numbers[1].split(",")] if numbers else []
