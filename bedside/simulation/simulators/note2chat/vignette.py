"""The vignette: the part of a note that the patient knows; the prompts, fixed sentences and evaluator's questions."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from bedside.metrics.protocols.note2chat.labels import says
from bedside.simulation.simulators.asking import ask_for_data
from bedside.simulation.simulators.calls import Exchange
from bedside.simulation.simulators.contract import facts_in
from bedside.simulation.simulators.prompt_files import filled_prompt, prompt_call

# -- The prompts of the interview and of the preparation of notes ---------------------------------------

FOLDER = Path(__file__).parent
#: A prompt with what its slots hold.
prompt = partial(filled_prompt, FOLDER)


# -- A question to the evaluator ------------------------------------------------------------------------

T = TypeVar("T")


def ask_evaluator(
    purpose: str,
    ordinal: int,
    language: str,
    read: Callable[[Any], T],
    *,
    variables: Mapping[str, str],
    material: Mapping[str, Any] | None = None,
) -> Exchange[T]:
    """What the evaluator replies to the prompt that is called after the purpose.

    Args:
        purpose: the prompt, which is the call site's name too.
        ordinal: of the call at its site, from 1.
        language: code of the prompt's language.
        read: makes the value of the object that is replied, or raises a ValueError that says what is wrong with it.
        variables: what the prompt's slots hold.
        material: what the variables were made from, for actors that are no language models; the variables themselves
            unless given.

    Raises:
        UnusableConversationError: no reply could be read, three times.
    """
    filled = prompt(purpose, language, **variables)
    call = prompt_call("evaluator", purpose, ordinal, filled, material=variables if material is None else material)
    value: T = (yield from ask_for_data(call, read)).value
    return value


# -- The two sentences that the vignette patient has for what it doesn't know and for what it was asked before ---


@dataclass(frozen=True, slots=True)
class FixedSentences:
    """What the patient says word for word.

    Attributes:
        dont_know: where the vignette doesn't answer the question.
        already_asked: where the question was answered before.
    """

    dont_know: str
    already_asked: str

    def holds(self, text: str) -> bool:
        """Whether a text is one of the two."""
        return says(text, self.dont_know) or says(text, self.already_asked)


def fixed_sentences(options: Mapping[str, Any], language: str) -> FixedSentences:
    """The two sentences of a conversation."""
    return FixedSentences(*(str(options[f"{name}_{language}"]) for name in ("dont_know", "already_asked")))


#: What they are where nobody sets them, by language.
SENTENCES: Mapping[str, FixedSentences] = {
    language: fixed_sentences({option.name: option.default for option in facts_in(FOLDER)["options"]}, language)
    for language in ("en", "zh")
}


# -- The part of a note that the patient knows ----------------------------------------------------------

#: Signs that models write in another form than the note.
_SIGNS = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "–": "-", "—": "-", "\u2010": "-", "\u2011": "-"})
#: A sentence of a note; an abbreviation's or a number's point ends none.
_SENTENCE_END = re.compile(
    r"(?<!\bDr)(?<!\bMr)(?<!\bMs)(?<!\bMrs)(?<!\bvs)[.!?]+[\"'”’)]*\s+|[。！？]+[”’」』）]*\s*|\s*\n+\s*"
)


def sentences(text: str) -> tuple[str, ...]:
    """The sentences of a vignette, in order, each with the sign that ends it."""
    parts = []
    start = 0
    for match in _SENTENCE_END.finditer(text):
        parts.append(text[start : match.end()].strip())
        start = match.end()
    parts.append(text[start:].strip())
    return tuple(part for part in parts if any(map(str.isalnum, part)))


def shared_start(history: str, before: str) -> str | None:
    """The beginning of a history that a copy of it holds, in the history's own characters.

    White space, case and the form of quotation marks and dashes don't count.

    Args:
        history: the whole.
        before: the copy of its beginning.

    Returns:
        The beginning with the mark that ends its sentence; None where the copy is empty, isn't how the history begins,
        or ends within a word.
    """
    copied = [character for _, character in _plain(before)]
    whole = list(_plain(history))[: len(copied)]
    if not copied or [character for _, character in whole] != copied:
        return None
    end = whole[-1][0] + 1
    if end < len(history) and all(each.isascii() and each.isalnum() for each in history[end - 1 : end + 1]):
        return None
    while end < len(history) and history[end] in ".!?。！？":
        end += 1
    return history[:end].strip()


def folded(text: str) -> str:
    """A text as it is compared with another: without white space, case and the form of quotation marks and dashes."""
    return "".join(character for _, character in _plain(text))


def _plain(text: str) -> Iterator[tuple[int, str]]:
    """The characters that count, each with the place in the text that it comes from."""
    for place, character in enumerate(text):
        for plain in unicodedata.normalize("NFKC", character).translate(_SIGNS).casefold():
            if not plain.isspace():
                yield place, plain
