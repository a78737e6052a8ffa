"""Text of others in a prompt: between marker lines with a code that doesn't occur in it, no line of it on its own.

What stands so can't close its fence, open another, or look like a turn that isn't there.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from bedside.judges.rubrics.prompt_words import PromptWords

# -- What is said where a model doesn't take a parameter that was wanted --------------------------------

_WORDS = {
    "temperature": "it takes no temperature, which is left to the provider",
    "seed": "it takes no seed",
    "probabilities": "it gives no probabilities of tokens",
    "max_tokens": "it takes no limit of tokens",
    "reasoning_effort": "it takes no effort of reasoning",
    "schema": "it takes no JSON Schema, so that the form of its reply is described in words",
}


def unsent_words(parameter: str) -> str:
    """What is said of a model that doesn't take a parameter, to go on after its name."""
    return _WORDS.get(parameter, f"it takes no {parameter}")


def unsent_lines(raters: Iterable[tuple[str, Mapping[str, Any]]]) -> Iterator[str]:
    """A line for each parameter that a judge didn't take.

    Args:
        raters: judges, each with the parameters of its :class:`bedside.judges.counts.JudgingSummary`.
    """
    for rater, parameters in raters:
        for parameter, told in parameters.get("not_taken", {}).items():
            some = told["judgements"] < told["of"]
            part = (
                f" (in {told['judgements']:,} of {told['of']:,} judgements, not in the others)"
                if some
                else ""
            )
            yield f"{rater}: {unsent_words(parameter)}{part}."


# -- Text of others in a prompt -------------------------------------------------------------------------

_CONTINUED = "\n    | "
#: Control characters other than tab become their visible pictures; lone surrogates can't be written at all.
_CONTROLS: dict[int, int] = {code: 0x2400 + code for code in range(32) if code != 9} | {0x7F: 0x2421}
_UNCLEAN = re.compile(r"[\x00-\x08\x0a-\x1f\x7f\x85\u2028\u2029\ud800-\udfff]|\[DEEPEVAL:")
_SURROGATE = re.compile(r"[\ud800-\udfff]")


def clean(text: str) -> str:
    """A text whose lines can't be mistaken for a turn of their own, without invisible characters that break servers.

    deepeval's image marker is taken apart too: it would make that library load what the marker names.
    """
    if not _UNCLEAN.search(text):
        return text
    lines = _SURROGATE.sub("\ufffd", text).replace("[DEEPEVAL:", "[DEEPEVAL :").splitlines()
    return _CONTINUED.join(line.translate(_CONTROLS) for line in lines)


def fence(name: str, end: str, code: str, words: PromptWords) -> str:
    """A marker line where material ``begins`` or ``ends``."""
    return words.say("prompt", end, name=name, code=code) + "\n"


def fenced(name: str, content: str, code: str, words: PromptWords) -> str:
    """Material between its marker lines."""
    return f"{fence(name, 'begins', code, words)}{content}\n{fence(name, 'ends', code, words)}"


def codes(content: str, absent_from: Sequence[str]) -> Iterator[str]:
    """Codes of twelve hexadecimal digits, worked out of a content, that occur in none of some texts."""
    start = hashlib.sha256(content.encode())
    for attempt in range(1_000_000):
        digest = start.copy()
        digest.update(str(attempt).encode())
        code = digest.hexdigest()[:12]
        if all(code not in text for text in absent_from):
            yield code
    raise AssertionError("a text can't hold every code")
