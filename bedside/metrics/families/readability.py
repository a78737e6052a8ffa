"""Readability of what clinician and patient say, in English: SMOG, Dale–Chall, Flesch and four others.

textstat computes them, with the syllables of the CMU Pronouncing Dictionary from a table that ships with bedside
(``tools/make_syllables.py``): nothing is downloaded.
"""

from __future__ import annotations

from collections.abc import Iterator

from bedside.core.words import counted
from bedside.metrics.contract import Family, Parameter
from bedside.metrics.readability_formulas import (
    ROLES,
    Formula,
    Verdicts,
    WorkedTalk,
    formula_metrics,
    formula_values,
    too_short,
)
from bedside.metrics.textstat_library import TextCounts, textstat_version
from bedside.ratings.values import Value
from bedside.transcripts.language import ENOUGH, not_english
from bedside.transcripts.transcript import Role, Transcript

#: Sentences below which SMOG is missing, and those it is defined on.
SMOG_NEEDS, SMOG_SENTENCES = 3, 30
#: Characters from which what one side says shows its language by itself.
_OWN_SAMPLE = 300
#: What a formula takes after the text.
_LANGUAGE = ("en_US",)


def _role_refusals(transcript: Transcript) -> dict[Role, str | None]:
    """Why there are no values for a role's language, by role.

    Where the transcript names no language, what the role says decides, and where that is little, what both say.
    """
    if transcript.language is not None:
        return dict.fromkeys(ROLES, not_english("", transcript.language))
    said = {role: "\n".join(turn.text for turn in transcript.turns if turn.role == role) for role in ROLES}
    both = "\n".join(said.values())
    return {role: not_english(text if len(text) >= _OWN_SAMPLE else both, None) for role, text in said.items()}


def _verdicts(text: TextCounts, min_words: int, raw: bool) -> Verdicts:
    """SMOG counts sentences, all others words."""
    sentences = text.sentences
    remark = few = None
    if sentences < SMOG_SENTENCES:
        remark = f"{counted(sentences, 'sentence')}; SMOG is defined on {SMOG_SENTENCES}"
        if sentences < SMOG_NEEDS:
            few = f"{remark} and means nothing on fewer than {SMOG_NEEDS}"
    if raw:
        short = few = None
    else:
        short = too_short(text, min_words)
        few = few if text.words else "no words"
    return dict.fromkeys((part.name for part in FORMULAS), (short, None)) | {"smog": (few, remark)}


def compute(transcript: Transcript, metric_names: frozenset[str], *, min_words: int, raw: bool) -> Iterator[Value]:
    """The values of ``metric_names`` for each role and for each turn of clinician and patient."""

    def turn_refusal(turn: TextCounts) -> str | None:
        # One turn of an English session may be in another language; a short one in ASCII can't be told.
        if not turn.text.isascii() or turn.words >= ENOUGH:
            return not_english(turn.text, transcript.language)
        return None

    return formula_values(
        transcript,
        metric_names,
        FORMULAS,
        language="en_US",
        role_refusals=_role_refusals(transcript),
        turn_refusal=turn_refusal,
        verdicts=lambda text: _verdicts(text, min_words, raw),
    )


_SAMPLE = WorkedTalk(
    said=(
        "I have had terrible headaches every morning for three weeks. They get better after breakfast",
        "My mother had an aneurysm. I am afraid that this is the same thing.",
    ),
    asked=("What brings you here?", "Is there anything that worries you?"),
    short=("Do you want to stop?", "Absolutely."),
    counted="29 words, 4 sentences",
)

FORMULAS = (
    Formula(
        "smog",
        "SMOG index",
        "smog_index",
        _LANGUAGE,
        "1.0430 · √(30 · polysyllables / sentences) + 3.1291, a US school grade; polysyllables are words of three "
        "or more syllables. Defined on 30 sentences: on fewer the value carries a remark, below 3 it is missing.",
        "McLaughlin (1969), SMOG grading: a new readability formula, Journal of Reading 12, 639–646",
        1.043 * (30 * (3 / 4)) ** 0.5 + 3.1291,
        "3 of them of three or more syllables (terrible, every, aneurysm)",
        low=0,
    ),
    Formula(
        "dale_chall",
        "Dale–Chall score (1948)",
        "dale_chall_readability_score",
        _LANGUAGE,
        "0.1579 · percentage of unfamiliar words + 0.0496 · words / sentences, and 3.6365 more where the percentage "
        "is above 5. Unfamiliar is a word that is not on the list of 2,940 easy words in that very form: inflected "
        "forms and names count. textstat's dale_chall_readability_score.",
        "Dale & Chall (1948), A formula for predicting readability, Educational Research Bulletin 27, 11–20",
        0.1579 * 300 / 29 + 0.0496 * 29 / 4 + 3.6365,
        "3 of them not on the list (headaches, weeks, aneurysm)",
        low=0,
    ),
    Formula(
        "dale_chall_new",
        "New Dale–Chall score",
        "dale_chall_readability_score_v2",
        _LANGUAGE,
        "textstat's dale_chall_readability_score_v2, which it calls the new formula: 0.1579 · percentage of "
        "unfamiliar words of two or more syllables + 0.0496 · words / sentences, and 3.6365 more where this is above "
        "0.05, which is so for any text of two words or more. It keeps the equation of 1948; the tables of the 1995 "
        "book, which turn counts into cloze scores, are not in it.",
        "Chall & Dale (1995), Readability Revisited: The New Dale–Chall Readability Formula; as computed by textstat",
        0.1579 * 200 / 29 + 0.0496 * 29 / 4 + 3.6365,
        "2 of them not on the list and of two or more syllables (headaches, aneurysm)",
        low=0,
    ),
    Formula(
        "flesch_reading_ease",
        "Flesch reading ease",
        "flesch_reading_ease",
        _LANGUAGE,
        "206.835 − 1.015 · words / sentences − 84.6 · syllables / words. Higher is easier: 60 to 70 is plain English, "
        "below 30 very difficult.",
        "Flesch (1948), A new readability yardstick, Journal of Applied Psychology 32, 221–233",
        206.835 - 1.015 * 29 / 4 - 84.6 * 43 / 29,
        "43 syllables",
        digits=1,
    ),
    Formula(
        "flesch_kincaid_grade",
        "Flesch–Kincaid grade",
        "flesch_kincaid_grade",
        _LANGUAGE,
        "0.39 · words / sentences + 11.8 · syllables / words − 15.59, a US school grade.",
        "Kincaid, Fishburne, Rogers & Chissom (1975), Research Branch Report 8-75, Naval Technical Training Command",
        0.39 * 29 / 4 + 11.8 * 43 / 29 - 15.59,
        "43 syllables",
    ),
    Formula(
        "gunning_fog",
        "Gunning fog index",
        "gunning_fog",
        _LANGUAGE,
        "0.4 · (words / sentences + percentage of hard words), a US school grade; hard is a word of three or more "
        "syllables that is not on the Dale–Chall list, as textstat has it.",
        "Gunning (1952), The Technique of Clear Writing",
        0.4 * (29 / 4 + 100 / 29),
        "1 of them hard (aneurysm)",
        low=0,
    ),
    Formula(
        "coleman_liau",
        "Coleman–Liau index",
        "coleman_liau_index",
        (),
        "0.058 · L − 0.296 · S − 15.8, a US school grade; L is letters and digits per 100 words, S sentences per 100 "
        "words. The first factor is 0.0588 in the article; textstat cuts it to 0.058.",
        "Coleman & Liau (1975), A computer readability formula designed for machine scoring, "
        "Journal of Applied Psychology 60, 283–284",
        0.058 * 12900 / 29 - 0.296 * 400 / 29 - 15.8,
        "129 letters",
    ),
    Formula(
        "automated_readability",
        "Automated readability index",
        "automated_readability_index",
        (),
        "4.71 · characters / tokens + 0.5 · words / sentences − 21.43, a US school grade; characters are all but white "
        "space, tokens are what stands between white space.",
        "Senter & Smith (1967), Automated Readability Index, AMRL-TR-66-220",
        4.71 * 133 / 29 + 0.5 * 29 / 4 - 21.43,
        "133 characters with the full stop that closes the patient's first turn",
    ),
)

FAMILY = Family(
    name="readability",
    title="Readability (English)",
    description=(
        "School-grade and ease formulas on what clinician and patient say, of each role over the session and of "
        "each turn. Everything is counted and computed by textstat, whose version stands in the rater's name. A word "
        "holds a letter or digit; contractions and hyphenated words are one. A sentence ends with a full stop, "
        "exclamation or question mark; those of one or two words are not counted, but there is at least one. "
        "Syllables are those of a word's first entry in the CMU Pronouncing Dictionary, else of its hyphenation. "
        "Over a session a role's turns are joined, and a turn that doesn't end with such a mark is given a full stop; "
        "on that text the values equal textstat's. Much depends on this: without "
        "the marks at turns' ends the clients' mean Flesch–Kincaid grade in 100 sessions of AnnoMI would be 10.0 in "
        "place of 4.4. Most formulas were fitted on passages of about 100 words.\n\n"
        "A text that is not English, or too short, has no value: see `min_words`, and `smog`. The transcript's "
        "`language` decides what is English; without one, the script does, and from 30 words on the share of common "
        "English words.\n\n"
        "A typographic apostrophe (’) is no apostrophe to textstat: *don’t* is read as the unknown word *dont*."
    ),
    version=f"textstat-{textstat_version()}",
    metrics=tuple(formula_metrics(FORMULAS, _SAMPLE)),
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
    demonstration=_SAMPLE.talk,
)
