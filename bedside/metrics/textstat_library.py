"""The library textstat, which computes readability: its own functions, fed with the dictionary that bedside ships.

As textstat is imported it loads the whole of NLTK, and at the first English syllable it downloads a dictionary. Here
its files are loaded under private names, with the dictionary and the word list of ``word_lists`` in the place of the
two modules that would fetch theirs. Nothing is downloaded, NLTK isn't loaded, and whoever uses textstat in the same
process has a textstat of his own, with his own dictionary.

What textstat counts in a text is, but for sentences, the sum of what it counts in the text's tokens, which stand
between white space, and there in words, whose syllables it finds. So it is asked once about each distinct word, however
it is written, and its formulas are given :class:`TextCounts` in the text's place, with counters that look up there what
they are asked.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import string
import sys
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib.metadata import version
from operator import itemgetter
from pathlib import Path
from struct import Struct
from threading import Lock
from types import ModuleType
from typing import Any, NamedTuple

from bedside.core.errors import RegistryError

_FILES = Path(__file__).parent / "word_lists"
#: What may stand round a word without a part in it.
_MARKS = string.punctuation.replace("'", "").replace("_", "") + "‘’“”–—…"
_THREE_WORDS = re.compile(r"\w\S*\s+\w\S*\s+\w")
#: Distinct tokens remembered of a language; beyond, its memory starts anew.
_REMEMBERED = 1 << 17
_loading = Lock()


class TextCounts(NamedTuple):
    """What textstat counts in a text; None is what wasn't asked for.

    Attributes:
        text: the text.
        sentences: stretches of three or more words up to ``.``, ``!`` or ``?``; at least 1, but 0 for the empty text.
        tokens: what stands between white space.
        words: tokens that hold a letter or digit.
        letters: letters and digits.
        characters: all but white space.
        long_words: words of more than six letters.
        syllables: of all words.
        monosyllables, polysyllables: words of one syllable, and of three or more.
        unfamiliar: words that are not on the list of easy words.
        unfamiliar_2: those of them with at least two syllables.
        unfamiliar_long: those with as many as make a word long in the language: three in English, four in Polish.
    """

    text: str
    sentences: int
    tokens: int
    words: int
    letters: int | None = None
    characters: int | None = None
    long_words: int | None = None
    syllables: int | None = None
    monosyllables: int | None = None
    polysyllables: int | None = None
    unfamiliar: int | None = None
    unfamiliar_2: int | None = None
    unfamiliar_long: int | None = None


#: What formulas ask of a text beside its words, tokens and sentences, as fields of :class:`TextCounts`.
ASKED: Mapping[str, tuple[str, ...]] = {
    "automated_readability_index": ("characters",),
    "coleman_liau_index": ("letters",),
    "crawford": ("syllables",),
    "dale_chall_readability_score": ("unfamiliar",),
    "dale_chall_readability_score_v2": ("unfamiliar_2",),
    "fernandez_huerta": ("syllables",),
    "flesch_kincaid_grade": ("syllables",),
    "flesch_reading_ease": ("syllables",),
    "gulpease_index": ("characters",),
    "gunning_fog": ("unfamiliar_long",),
    "gutierrez_polini": ("letters",),
    "lix": ("long_words",),
    "osman": (),
    "rix": ("long_words",),
    "smog_index": ("polysyllables",),
    "szigriszt_pazos": ("syllables",),
    "wiener_sachtextformel": ("monosyllables", "polysyllables", "long_words"),
}


def counting(formulas: Iterable[str], language: str) -> Callable[[str], TextCounts]:
    """What counts everything in a text that formulas ask, once.

    Args:
        formulas: their names.
        language: as textstat takes it, such as ``en_US`` or ``de``.
    """
    fields = ("words", *sorted({field for name in formulas for field in ASKED[name]}))
    memory = _token_counts(language, fields)
    count_sentences = _library().sentences
    counted = (*TextCounts._fields[:3], *fields)
    # Every field's place in what is counted; the last place holds None.
    arranged = itemgetter(*(counted.index(field) if field in counted else -1 for field in TextCounts._fields))

    def count(text: str) -> TextCounts:
        tokens = text.split()
        counts = memory.unpack(sum(map(memory.__getitem__, tokens)))
        return TextCounts._make(arranged((text, count_sentences(text), len(tokens), *counts, None)))

    return count


def textstat_version() -> str:
    """The version of textstat that is installed: values follow it."""
    return version("textstat")


@cache
def formula(name: str) -> Callable[..., float]:
    """A formula of ``textstat.backend.metrics``, such as ``smog_index``.

    It takes :class:`TextCounts`, and then what textstat's function takes after the text, such as a language.
    """
    function: Callable[..., float] = getattr(_library().formulas, name)
    return function


class Pronunciations:
    """The dictionary as textstat reads NLTK's: a word's pronunciations, of which it counts the sounds with a digit.

    Only the first pronunciation is there, and of it only the sounds that make a syllable.
    """

    def __init__(self) -> None:
        text = zlib.decompress((_FILES / "syllables.txt.gz").read_bytes(), wbits=31).decode("ascii")
        # The first three letters of a word → " REST=COUNT" of all words that begin so.
        self._lines = {line.partition(" ")[0]: line for line in text.splitlines()}

    def __getitem__(self, word: str) -> tuple[tuple[str, ...]]:
        """The pronunciations of a word in lower case.

        Raises:
            KeyError: the dictionary doesn't have it.
        """
        _, entry, rest = self._lines[word[:3]].partition(f" {word[3:]}=")
        if not entry:
            raise KeyError(word)
        return (("0",) * int(rest.partition(" ")[0]),)


@cache
def _pronunciations() -> Pronunciations:
    return Pronunciations()


def _cmudict(lang: str) -> Pronunciations | None:
    return _pronunciations() if lang.partition("_")[0] == "en" else None


@cache
def _english_easy_words() -> frozenset[str]:
    return frozenset((_FILES / "easy_words.txt").read_text("utf-8").split())


def _easy_words(lang: str) -> frozenset[str]:
    # As in textstat the English list serves other languages too. It has a Spanish one, which no metric here uses.
    return _english_easy_words()


class _TokenCounts(dict[str, int]):
    """Token as written → its counts, as the 32-bit digits of one integer: a text is then one sum over its tokens."""

    def __init__(self, count: Callable[[str], Iterable[int]], fields: Sequence[str]) -> None:
        super().__init__()
        self._count = count
        self._digits = Struct(f"<{len(fields)}I")
        self._character = 1 << 32 * fields.index("characters") if "characters" in fields else 0

    def __missing__(self, token: str) -> int:
        if len(self) >= _REMEMBERED:
            self.clear()
        # Marks round a word are characters of the text, and nothing else; nor does it matter whether it is in capitals.
        core = token.strip(_MARKS)
        if core.isascii() and core.isalpha():
            core = core.lower()
        if core == token:
            packed = int.from_bytes(self._digits.pack(*self._count(token)), "little")
        else:
            packed = self[core] + (len(token) - len(core)) * self._character
        self[token] = packed
        return packed

    def unpack(self, packed: int) -> tuple[int, ...]:
        """The counts that an integer, or a sum of such, stands for."""
        return self._digits.unpack(packed.to_bytes(self._digits.size, "little"))


@cache
def _token_counts(language: str, fields: tuple[str, ...]) -> _TokenCounts:
    """The memory of a language's tokens: fields of :class:`TextCounts`."""
    library = _library().words
    counters, list_words = library.counts, library.selections.list_words
    easy, long = library.utils.get_lang_easy_words(language), library.utils.get_lang_cfg(language, "syllable_threshold")

    def syllables(words: Iterable[str]) -> list[int]:
        return [counters.count_syllables(word, language) for word in words]

    def unfamiliar(words: list[str]) -> list[int]:
        return syllables(word for word in map(str.lower, words) if word not in easy)

    by_field: Mapping[str, Callable[[str, list[str]], int]] = {
        "words": lambda token, words: len(words),
        "letters": lambda token, words: counters.count_letters(token),
        "characters": lambda token, words: len(token),
        "long_words": lambda token, words: counters.count_long_words(token),
        "syllables": lambda token, words: counters.count_syllables(token, language),
        "monosyllables": lambda token, words: syllables(words).count(1),
        "polysyllables": lambda token, words: sum(n >= 3 for n in syllables(words)),
        "unfamiliar": lambda token, words: len(unfamiliar(words)),
        "unfamiliar_2": lambda token, words: sum(n >= 2 for n in unfamiliar(words)),
        "unfamiliar_long": lambda token, words: sum(n >= long for n in unfamiliar(words)),
    }
    asked = [by_field[field] for field in fields]

    def count(token: str) -> list[int]:
        words = list_words(token)
        return [field(token, words) for field in asked]

    return _TokenCounts(count, fields)


def _difficult_words(text: TextCounts, lang: str, syllable_threshold: int = 2) -> int | None:
    if syllable_threshold <= 2:
        return text.unfamiliar_2 if syllable_threshold else text.unfamiliar
    return text.unfamiliar_long


#: What stands in the place of textstat's counters where its formulas look.
_LOOKED_UP: Mapping[str, Callable[..., int | None]] = {
    "count_sentences": lambda text: text.sentences,
    "count_words": lambda text, rm_punctuation=True: text.words if rm_punctuation else text.tokens,
    "count_letters": lambda text: text.letters,
    "count_chars": lambda text, ignore_spaces: text.characters,
    "count_long_words": lambda text: text.long_words,
    "count_syllables": lambda text, lang: text.syllables,
    "count_monosyllable_words": lambda text, lang: text.monosyllables,
    "count_polysyllable_words": lambda text, lang: text.polysyllables,
    "count_difficult_words": _difficult_words,
}
#: Counters that only the Arabic formula asks.
_ARABIC = ("count_arabic_syllables", "count_arabic_long_words", "count_complex_arabic_words", "count_faseeh")

#: What formulas ask about a language at every text.
_CONSTANTS = ("get_lang_cfg", "get_lang_root")


def _of_whole(counter: Callable[[str], int]) -> Callable[[TextCounts], int]:
    return lambda text: counter(text.text)


class _Library(NamedTuple):
    """Functions of textstat's: by module of the backend, its counter of sentences, and its formulas."""

    words: Any
    sentences: Callable[[str], int]
    formulas: Any


@cache
def _loaded() -> _Library:
    fed = {"utils._get_cmudict": _cmudict, "utils._get_lang_easy_words": _easy_words}
    words = _copy("_bedside_textstat_words", fed)

    def sentence_words(sentence: str) -> int:
        # Asked only to tell sentences of one or two words: most begin with three.
        return 3 if _THREE_WORDS.match(sentence) else int(words.counts.count_words(sentence))

    sentences = _copy("_bedside_textstat_sentences", fed | {"counts._count_words": sentence_words})
    formulas = _copy(
        "_bedside_textstat_formulas",
        fed
        | {"utils._typed_cache": lambda function: function}
        | {f"utils._{name}": cache(getattr(words.utils, name)) for name in _CONSTANTS}
        | {f"counts._{name}": function for name, function in _LOOKED_UP.items()}
        | {f"counts._{name}": _of_whole(getattr(words.counts, name)) for name in _ARABIC},
    )
    return _Library(words, sentences.counts.count_sentences.__wrapped__, formulas.metrics)


def _library() -> _Library:
    with _loading:
        return _loaded()


def _copy(name: str, functions: Mapping[str, Callable[..., Any]]) -> ModuleType:
    """textstat's counters and formulas under a name of their own, with other functions in the place of some.

    Args:
        name: of the package that stands for ``textstat.backend``.
        functions: by the module below it that holds nothing else, such as ``utils._get_cmudict``.

    Raises:
        RegistryError: textstat has no such module.
    """
    place = importlib.util.find_spec("textstat")
    assert place is not None
    assert place.submodule_search_locations is not None
    folder = Path(place.submodule_search_locations[0]) / "backend"
    modules = {}
    for part, function in functions.items():
        if not folder.joinpath(*part.split(".")).with_suffix(".py").is_file():
            raise RegistryError(
                f"readability can't be computed by textstat {textstat_version()}, which has no module {part!r}",
                todo='pip install "textstat==0.7.13"',
            )
        module = modules[f"{name}.{part}"] = ModuleType(f"{name}.{part}")
        setattr(module, part.partition("._")[2], function)
    backend = modules[name] = ModuleType(name)
    backend.__path__ = [str(folder)]
    sys.modules.update(modules)
    for part in ("counts", "metrics", "utils"):
        importlib.import_module(f"{name}.{part}")
    return backend
