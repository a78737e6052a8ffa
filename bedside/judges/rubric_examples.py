"""The examples of a tuned rubric, as a prompt shows them."""

from __future__ import annotations

import hashlib

from bedside.judges.fenced_text import clean, codes, fenced
from bedside.judges.rubrics.rubric import Rubric
from bedside.transcripts.transcript import Transcript


def transcript_digest(transcript: Transcript) -> str:
    """A digest of what was said, by which a transcript is known under any name (16 hexadecimal digits)."""
    said = "\n".join(f"{turn.role}: {turn.text}" for turn in transcript.turns)
    return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:16]


class RubricExamples:
    """The examples of a rubric, made ready for prompts.

    Args:
        rubric: the rubric.
    """

    def __init__(self, rubric: Rubric) -> None:
        self._words = rubric.words
        self._examples = [
            (
                example.transcript,
                f"{example.level:g}",
                "\n".join(clean(line) for line in example.conversation.split("\n")),
                clean(example.reason or ""),
            )
            for example in rubric.examples
        ]
        content = "\n".join("\n".join(parts) for parts in self._examples)
        self._code = next(codes(content, [content]))

    def text(self, transcript: Transcript) -> str:
        """What a prompt about a transcript shows: all examples but its own; empty where there is none."""
        if not self._examples:
            return ""
        own, words = transcript_digest(transcript), self._words
        parts: list[str] = []
        for source, level, conversation, reason in self._examples:
            if source == own:
                continue
            number = len(parts) + 1
            example = fenced(words.say("examples", "example", number=number), conversation, self._code, words)
            parts.append(f"\n{example}{words.say('examples', 'level', number=number, level=level)}\n")
            if reason:
                name = words.say("examples", "reason", number=number)
                parts[-1] += (
                    f"{words.say('examples', 'their_reason')}\n{fenced(name, reason, self._code, words)}"
                )
        introduction = "\n" + words.say("examples", "introduction", code=self._code)
        return introduction + "".join(parts) if parts else ""
