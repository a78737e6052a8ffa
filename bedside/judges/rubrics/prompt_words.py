"""What prompts say around a rubric, in the language of the rubric: one file of words for each language.

Only words differ: the keys of a reply, its levels and its labels are the same in every language, so that ratings made
in different languages stand on one scale.
"""

from __future__ import annotations

import string
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from bedside.core.errors import InputError, RegistryError, one_of
from bedside.core.yaml_files import keys_and_values

ENGLISH = "en"
_FOLDER = Path(__file__).parent / "languages"
#: A word in two grammatical forms: which of them a sentence takes is its language's.
_FORMS = {"role_of": "role"}


@dataclass(frozen=True, eq=False)
class PromptWords:
    """The words of one language.

    Attributes:
        code: the language's tag, such as ``de``.
        language: its name, in English.
        sections: section → key → text, in which words in braces are filled in.
    """

    code: str
    language: str
    sections: Mapping[str, Mapping[str, str]]

    def say(self, section: str, key: str, **filled: object) -> str:
        """A text, with its words in braces filled in."""
        return self.sections[section][key].format(**filled)

    @property
    def roles(self) -> Mapping[str, str]:
        """What those who speak are called, by role."""
        return self.sections["roles"]

    def of(self, role: str) -> str:
        """A role in the genitive."""
        return self.sections["roles_of"][role]

    def join(self, *sentences: str) -> str:
        """Sentences one after the other; empty ones are left out."""
        return self.sections["prompt"]["join"].join(filter(None, sentences))


@cache
def languages() -> tuple[str, ...]:
    """The tags of the languages that there are words for, English first."""
    tags = sorted(path.stem for path in _FOLDER.glob("*.yaml"))
    return (ENGLISH, *(tag for tag in tags if tag != ENGLISH))


def check_language(tag: str) -> str:
    """The tag, where there are words for its language.

    Raises:
        InputError: there are none.
    """
    return one_of(tag, languages(), "prompt language", InputError)


@cache
def prompt_words(tag: str = ENGLISH) -> PromptWords:
    """The words of a language.

    Raises:
        InputError: there are none.
        RegistryError: they aren't those of the English, key by key, with the same words in braces.
    """
    words = _read(check_language(tag))
    if tag != ENGLISH:
        problem = next(_differences(words, prompt_words()), None)
        if problem is not None:
            raise RegistryError(problem, where=str(_FOLDER / f"{tag}.yaml"))
    return words


@cache
def _read(tag: str) -> PromptWords:
    data = keys_and_values(_FOLDER / f"{tag}.yaml", "file of words", "the docs on languages")
    return PromptWords(tag, data.pop("language"), data)


def _differences(words: PromptWords, english: PromptWords) -> Iterator[str]:
    for section in english.sections.keys() ^ words.sections.keys():
        yield f"the section {section} stands in one language only"
    for section, texts in english.sections.items():
        others = words.sections[section]
        for key in texts.keys() ^ others.keys():
            yield f"{section}.{key} stands in one language only"
        for key, text in texts.items():
            if filled_words(text) != filled_words(others[key]):
                yield f"{section}.{key} fills in other words than in English"


def filled_words(text: str) -> set[str]:
    """The words in braces of a text, whatever their grammatical form."""
    return {_FORMS.get(name, name) for _, name, _, _ in string.Formatter().parse(text) if name}
