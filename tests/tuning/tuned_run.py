"""A run that people rated, and judges whose fault is known, to be tuned."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import bedside
from bedside.judges.llm.protocol import Reply, Request
from bedside.ratings.run import Run
from bedside.ratings.table import frame_of
from tests.conftest import conversation

#: A sentence that a wording can hold, and what makes the judge propose it.
SENTENCE = "Look only at whether feelings that were left unsaid are put into words that fit."


def quality_word(number: int) -> str:
    """The word by which a transcript is known."""
    return f"visit{number:04d}"


def rated_run(folder: Path, cases: int = 30, per_case: int = 2, people: int = 3, seed: int = 3) -> Run:
    """A run whose transcripts people rated by empathy; a transcript's quality is in :func:`qualities`."""
    folder.mkdir(exist_ok=True)
    path, true = folder / "talks.jsonl", qualities(cases * per_case, seed)
    talks = [
        conversation(
            ("clinician", f"We spoke at {quality_word(number)}, in the street called Held{number:04d}."),
            ("patient", "I sleep badly and everything is grey."),
            id=f"talk-{number:04d}",
            case_id=f"case-{number // per_case:04d}",
        )
        for number in range(cases * per_case)
    ]
    path.write_bytes(b"".join(talk.to_json() + b"\n" for talk in talks))
    run = bedside.score(path, folder / "run", metrics=["structure"]).run
    random = np.random.default_rng(seed + 1)
    rows = []
    for number, quality in enumerate(true):
        for person in range(people):
            level = float(np.clip(np.round(3 + 1.3 * quality + random.normal(0, 0.4)), 1, 5))
            rows.append((f"talk-{number:04d}", None, f"case-{number // per_case:04d}", "transcript", "empathy",
                         f"human:{'abc'[person]}", 0, level, None, f"Remark{number:04d} on it.", None))  # fmt: skip
    with run.locked():
        run.add(frame_of(rows).lazy(), run.manifest)
    return run


def qualities(count: int, seed: int = 3) -> np.ndarray[Any, Any]:
    """The quality of each transcript."""
    return np.random.default_rng(seed).normal(0, 1, count)


class FaultyJudge:
    """A client that answers by a transcript's quality with a fault, and proposes a wording when asked for one.

    Its level is of the quality, the whole prompt and noise with standard deviation 1.
    """

    max_prompt_tokens: int | None = None

    def __init__(
        self,
        level: Callable[[float, str, float], float],
        proposal: list[dict[str, str]] | None = None,
        count: int = 60,
        seed: int = 3,
    ) -> None:
        self._level, self._proposal = level, proposal or []
        self._quality = qualities(count, seed)
        self.prompts: list[str] = []

    async def complete(self, request: Request) -> Reply:
        prompt = request.messages[0].content
        self.prompts.append(prompt)
        return Reply(self.reply(prompt, json.loads(request.schema or "{}")), len(prompt) // 4, 20)

    def reply(self, prompt: str, schema: dict[str, object]) -> str:
        """What it replies to a prompt."""
        if "wording" in schema["properties"]:  # type: ignore[operator]
            return json.dumps({"reason": "It was not said.", "wording": self._proposal})
        shown = re.search(r"--- conversation begins.*?visit(\d+)", prompt, re.DOTALL)
        assert shown is not None
        noise = np.random.default_rng(int(hashlib.sha256(prompt.encode()).hexdigest()[:8], 16)).normal()
        level = self._level(float(self._quality[int(shown[1])]), prompt, float(noise))
        score = int(np.clip(round(level), 1, 5))
        return json.dumps({"reason": f"Because of turn 0 at {shown[1]}.", "score": score})

    async def close(self) -> None:
        """Nothing is open."""


def compressed(quality: float, prompt: str, noise: float) -> float:
    """Keeps to the middle of the scale, a little high: in the right order."""
    return 3.6 + 0.55 * quality + 0.15 * noise


def needs(words: str) -> Callable[[float, str, float], float]:
    """Rates well only by a prompt that holds these words."""
    return lambda quality, prompt, noise: (
        3 + 1.3 * quality + 0.4 * noise if words in prompt else 3 + 0.3 * quality + 1.2 * noise
    )


needs_sentence, needs_examples = needs(SENTENCE), needs("example 1 begins")
