"""Spellings of one name: case, blanks and what parts words tell nothing apart, unless somebody means them to."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

_BLANKS = re.compile(r"\s+")
_BETWEEN_WORDS = re.compile(r"(?<=\w)[\s_\-‐‑–]+(?=\w)")
_BETWEEN_LETTERS = re.compile(r"(?<=[^\W\d_]) (?=[^\W\d_])")
#: Marks behind a question or a field of a form.
_MARKS = "?:*"
#: The ends of a scale behind a name, ``(1-5)``.
_ENDS = re.compile(r"\s*[(\[]\s*(\d{1,4})\s*(?:[-‐‑–—−~～至]|to|bis|\.{2,3}|…)\s*(\d{1,4})\s*[)\]]$")
#: Words for yes and no with their letters, a language each.
_YES_NO = (
    {"yes": "y", "no": "n"},
    {"true": "t", "false": "f"},
    {"ja": "j", "nein": "n"},
    {"oui": "o", "non": "n"},
    {"sí": "s", "no": "n"},
    {"si": "s", "no": "n"},
    {"sì": "s", "no": "n"},
    {"sim": "s", "não": "n"},
    {"sim": "s", "nao": "n"},
)
#: What parts labels that are given together.
_BETWEEN_LABELS = re.compile(r"\s*[;,|\n]\s*")
#: How often one rater must use each of two labels of one letter for their case to carry a meaning.
_OFTEN = 3


def folded(name: str) -> str:
    """A name without its case, with one blank for whatever parts its words.

    >>> folded(" Goal-Alignment"), folded("goal_alignment"), folded("A-"), folded("q1_1")
    ('goal alignment', 'goal alignment', 'a-', 'q1 1')
    """
    text = _BLANKS.sub(" ", unicodedata.normalize("NFKC", name).casefold().strip())
    return _BETWEEN_WORDS.sub(" ", text)


def metric_key(name: str) -> str:
    """What spellings of one metric's name have in common: words may be written together, numbers stay apart.

    >>> metric_key("GoalAlignment") == metric_key("goal_alignment"), metric_key("q1_1") == metric_key("q11")
    (True, False)
    >>> metric_key("Crisis? *") == metric_key("crisis") == metric_key("Crisis (1-5)")
    True
    """
    words = folded(without_ends(name)[0])
    return _BETWEEN_LETTERS.sub("", words.rstrip(f"{_MARKS} ") or words)


def plain(name: str) -> str:
    """A column's name in lower case, with one underscore for whatever is no letter and no digit.

    >>> plain("Email Address ")
    'email_address'
    """
    return re.sub(r"[\W_]+", "_", name.strip().casefold()).strip("_")


def without_ends(name: str) -> tuple[str, tuple[int, int] | None]:
    """A metric's name without the ends of its scale behind it, and those; None where there are none.

    >>> without_ends("Empathy (1-5)"), without_ends("Warmth [0 – 10]*"), without_ends("Pace (5-1)")
    (('Empathy', (1, 5)), ('Warmth', (0, 10)), ('Pace (5-1)', None))
    """
    match = _ENDS.search(name.rstrip(f"{_MARKS} "))
    if match is None or not match.start() or int(match[1]) >= int(match[2]):
        return name, None
    return name[: match.start()].strip(), (int(match[1]), int(match[2]))


def summed(times: Iterable[tuple[str, int]]) -> Counter[str]:
    """How often each name stands there, of which several parts are counted already."""
    sums = Counter[str]()
    for name, number in times:
        sums[name] += number
    return sums


def commonest(times: Iterable[tuple[str, int]]) -> str:
    """The name that stands there most often; of several, the first in the alphabet, whatever their order."""
    counts = summed(times)
    return min(counts, key=lambda name: (-counts[name], name))


def joined_labels(
    answers: Iterable[tuple[str, str, int]], known: Iterable[str] = ()
) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """The spelling that stands for each label: a known one, else the commonest.

    Labels that are given together are the same in any order, and ``Y`` is ``Yes`` where all labels are ``yes`` and
    ``no`` or their letters. Two labels of one letter that differ in their case stay apart where one rater uses both
    often (three times each, or more): so people write codes such as ``R`` and ``r``. Words are one label in any case.

    Args:
        answers: raters and labels, and how often each gave it.
        known: labels that other ratings of the metric have.

    Returns:
        Label as it is written → the one that stands for it, where they differ; and the labels that stay apart.
    """
    uses: dict[str, Counter[str]] = defaultdict(Counter)
    for rater, label, times in answers:
        uses[label][rater] += times
    known = list(known)
    words = _words_of_letters({*map(folded, uses), *map(folded, known)})
    known_by_key: dict[str, set[str]] = defaultdict(set)
    for label in known:
        known_by_key[_label_key(label, words)].add(label)
    by_key: dict[str, list[str]] = defaultdict(list)
    for label in uses:
        by_key[_label_key(label, words)].append(label)
    standing: dict[str, str] = {}
    apart: list[tuple[str, str]] = []
    for key, labels in by_key.items():
        others = known_by_key[key]
        if len(others) > 1:
            continue
        meant = _case_with_meaning(labels, uses)
        if meant:
            apart.append(meant)
            continue
        spelt = [label for label in labels if folded(label) not in words] or labels
        chosen = next(iter(others), None) or commonest((label, uses[label].total()) for label in spelt)
        standing.update({label: chosen for label in labels if label != chosen})
    return standing, apart


def _label_key(label: str, words: Mapping[str, str]) -> str:
    """What spellings of one label have in common: labels that are given together stand in the alphabet's order."""
    parts = sorted(map(folded, _BETWEEN_LABELS.split(label.strip())))
    return words.get(parts[0], parts[0]) if len(parts) == 1 else ";".join(parts)


def _words_of_letters(labels: set[str]) -> dict[str, str]:
    """The words that letters stand for, where all labels are words for yes and no or their letters; beside ``no`` an
    ``n`` without a ``y`` may be something else.

    >>> _words_of_letters({"yes", "no", "y"}), _words_of_letters({"yes", "y", "unclear"})
    ({'y': 'yes', 'n': 'no'}, {})
    """
    for letters in _YES_NO:
        (yes, y), (no, n) = letters.items()
        if labels & letters.keys() and labels <= {yes, y, no, n} and not (y not in labels and {no, n} <= labels):
            return {letter: word for word, letter in letters.items()}
    return {}


def _case_with_meaning(labels: list[str], uses: Mapping[str, Counter[str]]) -> tuple[str, str] | None:
    """Two labels of one letter that one rater uses often both; None where there are none."""
    letters = sorted(label for label in labels if len(label) == 1)
    for rater in sorted({rater for label in letters for rater in uses[label]}):
        often = [label for label in letters if uses[label][rater] >= _OFTEN]
        if len(often) > 1:
            return often[0], often[1]
    return None
