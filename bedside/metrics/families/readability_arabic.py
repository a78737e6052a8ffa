"""Readability of what clinician and patient say, in Arabic: OSMAN."""

from __future__ import annotations

import re

from bedside.metrics.readability_formulas import Formula, WorkedTalk, language_family
from bedside.metrics.textstat_library import TextCounts

#: Fatha, damma and kasra.
_SHORT_VOWELS = re.compile("[\u064e\u064f\u0650]")


def _vowel_marks(text: TextCounts) -> str | None:
    number = len(_SHORT_VOWELS.findall(text.text))
    return f"short vowel marks, counted as characters: {number}" if number else None


_SAMPLE = WorkedTalk(
    said=(
        "عندي صداع شديد كل صباح منذ ثلاثة أسابيع وأنا متعب جدا. الدواء يساعدني قليلا فقط",
        "كان عند أمي ورم في الرأس. لذلك أخاف من الفحص الطبي كثيرا.",
    ),
    asked=("ما الذي جاء بك؟", "هل هناك ما يقلقك؟"),
    short=("هل تريد التوقف؟", "نعم."),
    counted="27 words, 4 sentences",
    language="ar",
)

_FORMULAS = (
    Formula(
        "osman",
        "OSMAN",
        "osman",
        (),
        "200.791 − 1.015 · words / sentences − 24.181 · (hard + syllables + complex + faseeh) / words. "
        "Higher is easier. Hard are words of more than five letters, complex those with more than five "
        "vowel marks, faseeh those of more than five syllables that hold ء, ئ, ؤ, ذ, ظ, وا or ون. "
        "Without vowel marks syllables are, as its authors count them, the characters but for ا, ى, "
        "white space and . ! ? and the Latin comma, less 2, and two more for each doubling or nunation "
        "mark. textstat counts short vowel marks as characters too: a text that has them carries a "
        "remark.",
        "El-Haj & Rayson (2016), OSMAN: a novel Arabic readability metric, LREC 2016, 250–255",
        200.791 - 1.015 * 27 / 4 - 24.181 * (3 + 90) / 27,
        "3 of them hard, 90 syllables, none complex or faseeh",
        digits=1,
    ),
)

FAMILY = language_family(
    "readability_arabic",
    title="Readability (Arabic)",
    languages={"ar": "Arabic"},
    formulas=_FORMULAS,
    sample=_SAMPLE,
    description=(
        "An Arabic formula on what clinician and patient say, of each role over the session and of each "
        "turn. An Arabic question mark ends no sentence to textstat."
    ),
    remark=_vowel_marks,
)
