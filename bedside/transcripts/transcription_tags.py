"""What stands in the text of a turn and nobody said: a transcriber's ``<UNIN/>``, a model's ``<think>…</think>``."""

from __future__ import annotations

import re

# A tag as in XML, of which the words between opening and closing stay; or brackets that begin with a word for what was
# heard or not. Other brackets may hold words that were said, or a speaker.
_TAG = re.compile(
    r"</?[A-Za-z_][\w.-]*(?:\s[^<>\n]{0,100})?/?>"
    r"|\[\s*(?:inaudible|unintelligible|indiscernible|crosstalk|overlap\w*|laugh\w*|chuckl\w*|sigh\w*|cough\w*|"
    r"clears? (?:\w+ )?throat|cry\w*|sob\w*|sniff\w*|pause\w*|silence|noise|music|background|foreign language)"
    r"\b[^\]\n]{0,60}\]",
    re.IGNORECASE,
)
# To look for the marks first is what makes the search quick.
_MARK = re.compile(r"[<\[][A-Za-z_/ ]")
#: What the account calls what a model thought and didn't say.
THOUGHTS = "thoughts of the model that nobody was told"
# Thoughts between their marks; before a closing mark on top, whose opening one the prompt held; or cut off.
_OF_THOUGHTS = re.compile(r"</?(?:think|thinking|reasoning)>", re.IGNORECASE)
_THOUGHT = re.compile(
    r"<(think|thinking|reasoning)>.*?</\1>"
    r"|\A(?:(?!<(?:think|thinking|reasoning)>).)*</(?:think|thinking|reasoning)>\s*\n"
    r"|\A\s*<(?:think|thinking|reasoning)>.*",
    re.DOTALL | re.IGNORECASE,
)
_SPACES = re.compile(r"[ \t]{2,}")


def tags_in(text: str) -> list[str]:
    """The tags of a text, in order."""
    matches = (_TAG.match(text, mark.start()) for mark in _MARK.finditer(text))
    return [match[0] for match in matches if match]


def without_tags(text: str) -> str:
    """A text without its tags; the words between an opening and a closing one stay."""
    return _SPACES.sub(" ", _TAG.sub(" ", text)).strip()


def without_thoughts(text: str) -> tuple[str, int]:
    """A text without what a model thought before it spoke, and how many thoughts these are."""
    if not _OF_THOUGHTS.search(text):
        return text, 0
    said, number = _THOUGHT.subn("", text)
    return (said.strip() if number else text), number
