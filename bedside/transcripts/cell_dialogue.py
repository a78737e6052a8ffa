"""Where the turns of a dialogue in a cell begin: at the labels of those who speak."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from bedside.transcripts.transcript import ROLE_ALIASES, THIRD_WORDS, is_no_speaker, is_speaker_word

#: What transcribers put in brackets that is no speaker.
_NOISES = frozenset(
    """
    inaudible unintelligible indistinct indiscernible crosstalk overlapping overlap laughter laughs laughing laugh
    chuckles pause pauses silence noise noises music sigh sighs sighing cough coughs coughing crying cries sobs sobbing
    sniffs sniffles applause redacted deidentified name phone rings beep static background nods gasps whispers sic
    blank break end start
    foreign ph
    """.split()
)
#: Words within the labels of third persons.
_THIRDS = THIRD_WORDS | {"patient", "doctor"}
# A label at the beginning of a line: a name in brackets, or a name and a colon; perhaps in bold or behind a quote.
_LINE = re.compile(
    r"^[ \t]*[\"“*_]{0,3}[ \t]*(?:\[[ \t]*(?P<bracket>[^\]\n]{1,40}?)[ \t]*\](?:[ \t]*[:：])?"
    r"|(?P<name>[^\W\d_][^:：\n\[\]]{0,39}?)[ \t]*[*_]{0,3}[ \t]*[:：](?!//)[*_]{0,3})",
    re.MULTILINE,
)
# What no label goes without.
_MARK = re.compile(r"[\]:：]")
# What a name looks like: up to three words that begin with a capital, or a few Chinese characters.
_NAME = re.compile(r"[^\W\d_a-z][\w.'’-]*(?: (?:[^\W\d_a-z][\w.'’-]*|\d+)){0,2}")
_WORD = re.compile(r"[^\W\d_][\w.'’-]{0,29}")
_IN_BRACKETS = re.compile(r"[^\W\d_][\w.'’/-]*(?: [\w.'’/-]+){0,2}")
# Within a line, what stands behind a sentence like a label: one or two words and a colon, or a known name in brackets.
_WITHIN = re.compile(
    r"(?:(?<=[.?!…。！？”\")\]])|(?<=[.?!…。！？”\")\]] )|\A)[ \t]*"
    r"(?P<name>[^\W\d_][\w.'’-]{0,19}(?: [^\W\d_a-z][\w.'’-]{0,19})?)[ \t]*[:：](?!//)"
)
_BRACKET_WITHIN = re.compile(r"\[[ \t]*(?P<name>[^\]\n]{1,40}?)[ \t]*\](?:[ \t]*[:：])?")


class DialogueLabel(NamedTuple):
    """A speaker's label: where it begins and ends in the text, and the name."""

    start: int
    end: int
    name: str


def is_speaker(name: str, roles: Mapping[str, str]) -> bool:
    """Whether a label names a known speaker."""
    return is_speaker_word(name, roles)


def dialogue_labels(text: str, roles: Mapping[str, str]) -> list[DialogueLabel]:
    """The speakers' labels of a dialogue, known or not, in order.

    At the beginning of a line these are labels: known names; whatever looks like a name (up to three capitalised words,
    and one word in lower case where known names stand beside it); a word in brackets where known names stand in
    brackets, unless it is a transcriber's note. Known names behind a sentence within such a line are labels too. Where
    fewer than two lines begin with one, known names are looked for within the text, and what stands like them.

    Args:
        text: the dialogue.
        roles: further names that are known.
    """
    if not _MARK.search(text):
        return []
    labels = _at_lines(text, roles)
    if len(labels) > 1:
        return sorted([*labels, *_behind_sentences(text, roles, labels)])
    inline = _within(text, roles)
    return inline if len(inline) > len(labels) else labels


def known_labels(text: str, roles: Mapping[str, str]) -> int:
    """How many of a text's labels name known speakers."""
    return sum(is_speaker(label.name, roles) for label in dialogue_labels(text, roles))


def _at_lines(text: str, roles: Mapping[str, str]) -> list[DialogueLabel]:
    matches = list(_LINE.finditer(text))
    names = [match["bracket"] or match["name"].strip() for match in matches]
    known = [is_speaker(name, roles) for name in names]
    bracketed = any(match["bracket"] and sure for match, sure in zip(matches, known, strict=True))
    named = any(match["name"] and sure for match, sure in zip(matches, known, strict=True))
    counts: dict[str, int] = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
    labels = []
    for match, name, sure in zip(matches, names, known, strict=True):
        if sure or is_no_speaker(name, roles):
            chosen = sure
        elif match["bracket"]:
            chosen = (bracketed or (not named and len(counts) > 1)) and may_be_bracketed(name)
        else:
            chosen = _may_be_named(name, named, counts[name])
        if chosen:
            labels.append(DialogueLabel(match.start(), match.end(), name))
    return labels


def may_be_bracketed(name: str) -> bool:
    """Whether what stands in brackets may be a speaker, and is no transcriber's note."""
    return (
        len(name) <= 30
        and _IN_BRACKETS.fullmatch(name) is not None
        and not _NOISES.intersection(re.split(r"[\W_\d]+", name.casefold()))
    )


def _may_be_named(name: str, named: bool, times: int) -> bool:
    if len(name) > 30:
        return False
    if _NAME.fullmatch(name):
        return True
    if not named:
        return False
    words = {*re.split(r"[\W_\d]+", name.casefold())}
    return _WORD.fullmatch(name) is not None or (
        len(name.split()) <= 3 and (times > 1 or bool(words & _THIRDS))
    )


def _behind_sentences(
    text: str, roles: Mapping[str, str], labels: list[DialogueLabel]
) -> list[DialogueLabel]:
    """Labels of known names within lines, where others stand at the beginnings of lines."""
    capital = not labels[0].name[0].islower()
    starts = {label.end for label in labels}
    more = []
    for match in _WITHIN.finditer(text):
        name = match["name"]
        if name[0].islower() == capital or not is_speaker(name, roles):
            continue
        if not any(label.start <= match.start("name") < label.end for label in labels):
            more.append(DialogueLabel(match.start("name"), match.end(), name))
    if text[labels[0].start : labels[0].end].lstrip(' \t"“*_').startswith("["):
        more = [
            DialogueLabel(match.start(), match.end(), match["name"])
            for match in _BRACKET_WITHIN.finditer(text)
            if match.end() not in starts and is_speaker(match["name"], roles)
        ]
    return more


def _within(text: str, roles: Mapping[str, str]) -> list[DialogueLabel]:
    """Labels anywhere in running text: known names, and what stands like them behind a sentence."""
    known = [
        DialogueLabel(match.start(1), match.end(), match[1])
        for match in _anywhere(tuple(roles)).finditer(text)
    ]
    if len(known) < 2:
        return known
    # In running text "the doctor: …" is no label where labels are capitalised.
    lower = known[0].name[0].islower()
    labels = [label for label in known if lower or not label.name[0].islower()]
    taken = {label.start for label in labels}
    for match in _WITHIN.finditer(text):
        name = match["name"]
        if (
            is_no_speaker(name, roles)
            or match.start("name") in taken
            or any(label.start < match.end() and match.start("name") < label.end for label in labels)
        ):
            continue
        if lower or not name[0].islower():
            labels.append(DialogueLabel(match.start("name"), match.end(), name))
    return sorted(labels)


@lru_cache(maxsize=8)
def _anywhere(roles: tuple[str, ...]) -> re.Pattern[str]:
    names = sorted({*ROLE_ALIASES, *roles}, key=len, reverse=True)
    return re.compile(rf"(?<!\w)({'|'.join(map(re.escape, names))})[ \t]*[:：]", re.IGNORECASE)
