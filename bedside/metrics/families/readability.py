"""Readability of what clinician and patient say, in English: SMOG, Dale–Chall, Flesch and four others.

Words, sentences and syllables are counted by the rules of textstat 0.7.13, so that values equal its own; they
are counted once for all formulas. Syllables come from a table made of the CMU Pronouncing Dictionary
(``tools/make_syllables.py``), so nothing is downloaded.
"""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

from bedside.metrics.contract import Example, Family, Metric, Parameter
from bedside.ratings.values import Value, missing
from bedside.transcripts.language import ENOUGH, not_english
from bedside.transcripts.transcript import Role, Transcript, Turn

if TYPE_CHECKING:
    from pyphen import Pyphen

_ROLES: tuple[Role, ...] = ("clinician", "patient")
_FILES = Path(__file__).parents[1] / "word_lists"
#: Sentences below which SMOG is missing, and those it is defined on.
SMOG_NEEDS, SMOG_SENTENCES = 3, 30
#: Characters from which what one side says shows its language by itself.
_OWN_SAMPLE = 300
#: Distinct tokens remembered; beyond, the memory starts anew.
_REMEMBERED = 1 << 17

_WORD = re.compile(r"\w")
_NOT_WORD = re.compile(r"[^\w]")
# An apostrophe stays where a contraction may follow, every other punctuation mark goes.
_PUNCTUATION = re.compile(r"'(?!t|s|d|ve|ll|re)|[^\w\s']")
# One match for each stretch up to . ! or ? that holds a word; its group is set where it holds three words.
_STRETCH = re.compile(r"\w[^\s.!?]*+(\s[^\w.!?]*+\w[^\s.!?]*+\s[^\w.!?]*+\w)?+[^.!?]*+")


class TextCounts(NamedTuple):
    """What a text is made of, by textstat's rules.

    Attributes:
        sentences: stretches of three or more words up to ``.``, ``!`` or ``?``; at least 1, but 0 for the empty
            text.
        words: tokens between white space that hold a letter or digit.
        syllables: of all words.
        polysyllables: words of three or more syllables.
        unfamiliar: words not on the Dale–Chall list.
        unfamiliar_2, unfamiliar_3: those of them with at least two, and at least three, syllables.
        letters: letters and digits.
        characters: all but white space.
        tokens: all tokens between white space, also those of punctuation only.
    """

    sentences: int
    words: int
    syllables: int
    polysyllables: int
    unfamiliar: int
    unfamiliar_2: int
    unfamiliar_3: int
    letters: int
    characters: int
    tokens: int


# While they are added up, the counts are the 32-bit digits of one integer, the sentences lowest: a text is then
# one sum over its tokens, and a session one sum over its turns.
_COUNTS = Struct(f"<{len(TextCounts._fields)}I")
_ONE_CHARACTER = 1 << 32 * TextCounts._fields.index("characters")


@cache
def _syllable_table() -> dict[str, str]:
    """The first three letters of a word → `` REST=COUNT`` of all words that begin so."""
    text = zlib.decompress((_FILES / "syllables.txt.gz").read_bytes(), wbits=31).decode("ascii")
    return {line.partition(" ")[0]: line for line in text.splitlines()}


@cache
def _easy_words() -> frozenset[str]:
    return frozenset((_FILES / "easy_words.txt").read_text("utf-8").split())


@cache
def _hyphenation() -> Pyphen:
    from pyphen import Pyphen

    return Pyphen(lang="en_US")


def _syllables(word: str) -> int:
    """Syllables of a cleaned word in lower case: by the dictionary, else by its hyphenation points."""
    line = _syllable_table().get(word[:3])
    if line is not None:
        _, found, rest = line.partition(f" {word[3:]}=")
        if found:
            return int(rest.partition(" ")[0])
    return len(_hyphenation().positions(word)) + 1


def _token_counts(token: str) -> int:
    word = _PUNCTUATION.sub("", token)
    if not word:
        return _pack(characters=len(token))
    lower = word.lower()
    syllables = _syllables(lower)
    hard = lower not in _easy_words()
    # textstat cleans a word again before it asks whether it is difficult, and lower() can add a mark ("İ").
    heard = syllables if lower.isascii() else _syllables(_PUNCTUATION.sub("", lower).lower())
    return _pack(
        words=1,
        syllables=syllables,
        polysyllables=syllables >= 3,
        unfamiliar=hard,
        unfamiliar_2=hard and heard >= 2,
        unfamiliar_3=hard and heard >= 3,
        letters=len(_NOT_WORD.sub("", token)),
        characters=len(token),
    )


def _pack(
    *,
    words: int = 0,
    syllables: int = 0,
    polysyllables: int = 0,
    unfamiliar: int = 0,
    unfamiliar_2: int = 0,
    unfamiliar_3: int = 0,
    letters: int = 0,
    characters: int,
) -> int:
    digits = _COUNTS.pack(
        0, words, syllables, polysyllables, unfamiliar, unfamiliar_2, unfamiliar_3, letters, characters, 1
    )
    return int.from_bytes(digits, "little")


class _Memory(dict[str, int]):
    """Token as written → its packed counts."""

    def __missing__(self, token: str) -> int:
        if len(self) >= _REMEMBERED:
            self.clear()
        packed = self[token] = _token_counts(token)
        return packed


_remembered = _Memory().__getitem__


def _packed(text: str) -> int:
    stretches = _STRETCH.findall(text)
    return sum(map(_remembered, text.split()), len(stretches) - stretches.count(""))


def _unpacked(packed: int) -> TextCounts:
    counts = TextCounts._make(_COUNTS.unpack(packed.to_bytes(_COUNTS.size, "little")))
    return counts if counts.sentences else counts._replace(sentences=1)


def count(text: str) -> TextCounts:
    """Everything the formulas need to know of a text, counted once."""
    return _unpacked(_packed(text)) if text else TextCounts._make([0] * len(TextCounts._fields))


def _smog(counts: TextCounts) -> float:
    if not counts.sentences:
        return 0.0
    return (1.043 * math.pow(30 * (counts.polysyllables / counts.sentences), 0.5)) + 3.1291


def _dale_chall(counts: TextCounts) -> float:
    if not counts.words:
        return 0.0
    share = 100 * counts.unfamiliar / counts.words
    score = (0.1579 * share) + (0.0496 * (counts.words / counts.sentences))
    return score + 3.6365 if share > 5 else score


def _dale_chall_new(counts: TextCounts) -> float:
    if not counts.words:
        return 0.0
    score = 0.1579 * (100 * counts.unfamiliar_2 / counts.words) + 0.0496 * (counts.words / counts.sentences)
    return score + 3.6365 if score > 0.05 else score


def _flesch_reading_ease(counts: TextCounts) -> float:
    if not counts.syllables:
        return 0.0
    return 206.835 - 1.015 * (counts.words / counts.sentences) - 84.6 * (counts.syllables / counts.words)


def _flesch_kincaid_grade(counts: TextCounts) -> float:
    if not counts.syllables:
        return 0.0
    return (0.39 * (counts.words / counts.sentences)) + (11.8 * (counts.syllables / counts.words)) - 15.59


def _gunning_fog(counts: TextCounts) -> float:
    if not counts.words:
        return 0.0
    return 0.4 * (counts.words / counts.sentences + 100 * counts.unfamiliar_3 / counts.words)


def _coleman_liau(counts: TextCounts) -> float:
    if not counts.words:
        return 0.0
    letters = counts.letters / counts.words * 100
    sentences = counts.sentences / counts.words * 100
    return (0.058 * letters) - (0.296 * sentences) - 15.8


def _automated_readability(counts: TextCounts) -> float:
    if not counts.words:
        return 0.0
    return 4.71 * (counts.characters / counts.tokens) + 0.5 * (counts.words / counts.sentences) - 21.43


#: Metric → its formula; each gives 0.0 where textstat does.
FORMULAS: dict[str, Callable[[TextCounts], float]] = {
    "smog": _smog,
    "dale_chall": _dale_chall,
    "dale_chall_new": _dale_chall_new,
    "flesch_reading_ease": _flesch_reading_ease,
    "flesch_kincaid_grade": _flesch_kincaid_grade,
    "gunning_fog": _gunning_fog,
    "coleman_liau": _coleman_liau,
    "automated_readability": _automated_readability,
}


def _unclosed(text: str) -> bool:
    """Whether words follow the last ``.``, ``!`` or ``?``."""
    last = max(text.rfind("."), text.rfind("!"), text.rfind("?"))
    return _WORD.search(text, last + 1) is not None


def _refusals(transcript: Transcript, turns: list[Turn]) -> dict[Role, str | None]:
    """Why there are no values for a role's language, by role.

    Where the transcript names no language, what the role says decides, and where that is little, what both say.
    """
    if transcript.language is not None:
        return dict.fromkeys(_ROLES, not_english("", transcript.language))
    said = {role: "\n".join(turn.text for turn in turns if turn.role == role) for role in _ROLES}
    both = "\n".join(said.values())
    return {
        role: not_english(text if len(text) >= _OWN_SAMPLE else both, None) for role, text in said.items()
    }


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _rated(
    metrics: list[tuple[str, str]],
    counts: TextCounts,
    min_words: int,
    raw: bool,
    *,
    role: Role | None = None,
    turn: int | None = None,
) -> Iterator[Value]:
    """The values of (metric, formula) pairs on one text."""
    short = remark = few = None
    if not counts.words:
        short = few = "no words"
    elif counts.words < min_words:
        short = f"{_number(counts.words, 'word')}, fewer than {min_words}"
    if counts.sentences < SMOG_SENTENCES:
        remark = f"{_number(counts.sentences, 'sentence')}; SMOG is defined on {SMOG_SENTENCES}"
        if few is None and counts.sentences < SMOG_NEEDS:
            few = f"{remark} and means nothing on fewer than {SMOG_NEEDS}"
    for metric, formula in metrics:
        error, reason = (few, remark) if formula == "smog" else (short, None)
        if error is None or raw:
            yield Value(metric, FORMULAS[formula](counts), role=role, turn=turn, reason=reason)
        else:
            yield missing(metric, error, role=role, turn=turn)


def compute(
    transcript: Transcript, metric_names: frozenset[str], *, min_words: int, raw: bool
) -> Iterator[Value]:
    """The values of ``metric_names`` for each role and for each turn of clinician and patient."""
    turns = [turn for turn in transcript.turns if turn.role in _ROLES]
    refusals = _refusals(transcript, turns)
    counted = {turn.index: _packed(turn.text) for turn in turns if refusals[turn.role] is None}
    session = [(name, name) for name in FORMULAS if name in metric_names]
    for role in _ROLES if session else ():
        own = [turn for turn in turns if turn.role == role]
        refusal = refusals[role] if own else f"no turns of the {role}"
        if refusal is not None:
            yield from (missing(metric, refusal, role=role) for metric, _ in session)
            continue
        stops = sum(_unclosed(turn.text) for turn in own)
        total = sum(counted[turn.index] for turn in own) + stops * _ONE_CHARACTER
        counts = _unpacked(total) if total else count("")
        yield from _rated(session, counts, min_words, raw, role=role)
    by_turn = [(f"turn_{name}", name) for name in FORMULAS if f"turn_{name}" in metric_names]
    if not turns:
        yield from (missing(metric, "no turns of clinician or patient") for metric, _ in by_turn)
    for turn in turns if by_turn else ():
        refusal = refusals[turn.role]
        if refusal is None:
            counts = _unpacked(counted[turn.index]) if turn.text else count("")
            # One turn of an English session may be in another language; a short one in ASCII can't be told.
            if not turn.text.isascii() or counts.words >= ENOUGH:
                refusal = not_english(turn.text, transcript.language)
        if refusal is not None:
            yield from (missing(metric, refusal, turn=turn.index) for metric, _ in by_turn)
        else:
            yield from _rated(by_turn, counts, min_words, raw, turn=turn.index)


_SAID = (
    "I have had terrible headaches every morning for three weeks. They get better after breakfast",
    "My mother had an aneurysm. I am afraid that this is the same thing.",
)
_TALK = (
    ("clinician", "What brings you here?"),
    ("patient", _SAID[0]),
    ("clinician", "Is there anything that worries you?"),
    ("patient", _SAID[1]),
)
_ONE_TURN = (("patient", f"{_SAID[0]}. {_SAID[1]}"),)
_SHORT_TURN = (("clinician", "Do you want to stop?"), ("patient", "Absolutely."))
_CITED = "textstat 0.7.13 gives the same"
_BY_HAND = "29 words, 4 sentences, {}, counted by hand; " + _CITED


class _Facts(NamedTuple):
    title: str
    definition: str
    source: str
    value: float
    counted: str
    low: float | None = None
    digits: int = 2


_FACTS = {
    "smog": _Facts(
        "SMOG index",
        "1.0430 · √(30 · polysyllables / sentences) + 3.1291, a US school grade; polysyllables are words of three "
        "or more syllables. Defined on 30 sentences: on fewer the value carries a remark, below 3 it is missing.",
        "McLaughlin (1969), SMOG grading: a new readability formula, Journal of Reading 12, 639–646",
        1.043 * (30 * (3 / 4)) ** 0.5 + 3.1291,
        "3 of them of three or more syllables (terrible, every, aneurysm)",
        low=0,
    ),
    "dale_chall": _Facts(
        "Dale–Chall score (1948)",
        "0.1579 · percentage of unfamiliar words + 0.0496 · words / sentences, and 3.6365 more where the percentage "
        "is above 5. Unfamiliar is a word that is not on the list of 2,940 easy words in that very form: inflected "
        "forms and names count. textstat's dale_chall_readability_score.",
        "Dale & Chall (1948), A formula for predicting readability, Educational Research Bulletin 27, 11–20",
        0.1579 * 300 / 29 + 0.0496 * 29 / 4 + 3.6365,
        "3 of them not on the list (headaches, weeks, aneurysm)",
        low=0,
    ),
    "dale_chall_new": _Facts(
        "New Dale–Chall score",
        "textstat's dale_chall_readability_score_v2, which it calls the new formula: 0.1579 · percentage of "
        "unfamiliar words of two or more syllables + 0.0496 · words / sentences, and 3.6365 more where this is above "
        "0.05, which is so for any text of two words or more. It keeps the equation of 1948; the tables of the 1995 "
        "book, which turn counts into cloze scores, are not in it.",
        "Chall & Dale (1995), Readability Revisited: The New Dale–Chall Readability Formula; as computed by textstat",
        0.1579 * 200 / 29 + 0.0496 * 29 / 4 + 3.6365,
        "2 of them not on the list and of two or more syllables (headaches, aneurysm)",
        low=0,
    ),
    "flesch_reading_ease": _Facts(
        "Flesch reading ease",
        "206.835 − 1.015 · words / sentences − 84.6 · syllables / words. Higher is easier: 60 to 70 is plain English, "
        "below 30 very difficult.",
        "Flesch (1948), A new readability yardstick, Journal of Applied Psychology 32, 221–233",
        206.835 - 1.015 * 29 / 4 - 84.6 * 43 / 29,
        "43 syllables",
        digits=1,
    ),
    "flesch_kincaid_grade": _Facts(
        "Flesch–Kincaid grade",
        "0.39 · words / sentences + 11.8 · syllables / words − 15.59, a US school grade.",
        "Kincaid, Fishburne, Rogers & Chissom (1975), Research Branch Report 8-75, Naval Technical Training Command",
        0.39 * 29 / 4 + 11.8 * 43 / 29 - 15.59,
        "43 syllables",
    ),
    "gunning_fog": _Facts(
        "Gunning fog index",
        "0.4 · (words / sentences + percentage of hard words), a US school grade; hard is a word of three or more "
        "syllables that is not on the Dale–Chall list, as textstat has it.",
        "Gunning (1952), The Technique of Clear Writing",
        0.4 * (29 / 4 + 100 / 29),
        "1 of them hard (aneurysm)",
        low=0,
    ),
    "coleman_liau": _Facts(
        "Coleman–Liau index",
        "0.058 · L − 0.296 · S − 15.8, a US school grade; L is letters and digits per 100 words, S sentences per 100 "
        "words. The first factor is 0.0588 in the article; textstat cuts it to 0.058.",
        "Coleman & Liau (1975), A computer readability formula designed for machine scoring, "
        "Journal of Applied Psychology 60, 283–284",
        0.058 * 12900 / 29 - 0.296 * 400 / 29 - 15.8,
        "129 letters",
    ),
    "automated_readability": _Facts(
        "Automated readability index",
        "4.71 · characters / tokens + 0.5 · words / sentences − 21.43, a US school grade; characters are all but white "
        "space, tokens are what stands between white space.",
        "Senter & Smith (1967), Automated Readability Index, AMRL-TR-66-220",
        4.71 * 133 / 29 + 0.5 * 29 / 4 - 21.43,
        "133 characters with the full stop that closes the patient's first turn",
    ),
}


def _metrics() -> Iterator[Metric]:
    for name, facts in _FACTS.items():
        by_hand = _BY_HAND.format(facts.counted)
        yield Metric(
            name=name,
            title=facts.title,
            unit="transcript",
            roles=_ROLES,
            low=facts.low,
            digits=facts.digits,
            definition=f"{facts.definition} Of all that a role says, one turn after the other.",
            source=facts.source,
            examples=(
                Example(_TALK, facts.value, by_hand, role="patient"),
                Example(_SHORT_TURN, None, "one word is too little", role="patient"),
            ),
        )
    for name, facts in _FACTS.items():
        yield Metric(
            name=f"turn_{name}",
            title=f"{facts.title} of a turn",
            unit="turn",
            low=facts.low,
            digits=facts.digits,
            definition=f"{facts.definition} Of one turn.",
            source=facts.source,
            examples=(
                Example(_ONE_TURN, facts.value, _BY_HAND.format(facts.counted), turn=0),
                Example(_SHORT_TURN, None, "one word is too little", turn=1),
            ),
        )


FAMILY = Family(
    name="readability",
    title="Readability (English)",
    description=(
        "School-grade and ease formulas on what clinician and patient say, of each role over the session and of "
        "each turn. Everything is counted by the rules of textstat 0.7.13 and equals it on the same text. A word "
        "holds a letter or digit; contractions and hyphenated words are one. A sentence ends with a full stop, "
        "exclamation or question mark; those of one or two words are not counted, but there is at least one. "
        "Syllables are those of a word's first entry in the CMU Pronouncing Dictionary, else of its hyphenation. "
        "Over a session a role's turns follow one another, and a turn whose last words no such mark ends is given a "
        "full stop. Most formulas were fitted on passages of about 100 words.\n\n"
        "A text that is not English, or too short, has no value: see `min_words`, and `smog`. The transcript's "
        "`language` decides what is English; without one, the script does, and from 30 words on the share of common "
        "English words.\n\n"
        "A typographic apostrophe (’) is no apostrophe to textstat: *don’t* is read as the unknown word *dont*."
    ),
    version="textstat-0.7.13",
    metrics=tuple(_metrics()),
    compute=compute,
    parameters={
        "min_words": Parameter(
            20,
            10,
            "Words a text needs, for all formulas but SMOG, which counts sentences. From 20 words on, less than 1 % "
            "of the turns of AnnoMI have a Flesch–Kincaid grade below 0 (half of those under 5 words do, 22 % of "
            "those of 5 to 9, 5 % of 10 to 14, 3 % of 15 to 19); 27 % of its turns are that long.",
        ),
        "raw": Parameter(
            False,
            True,
            "Give the formula's value on any English text, however short, as textstat does: 0 where there are no "
            "words.",
        ),
    },
    demonstration=_TALK,
)
