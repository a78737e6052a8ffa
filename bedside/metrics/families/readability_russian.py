"""Readability of what clinician and patient say, in Russian: Flesch by Oborneva."""

from __future__ import annotations

from bedside.metrics.readability_formulas import Formula, WorkedTalk, language_family

_SAMPLE = WorkedTalk(
    said=(
        "У меня каждое утро сильно болит голова и потом нет сил. Таблетки мне помогают очень мало",
        "Моя мама долго болела и потом умерла. Поэтому мне страшно идти на проверку.",
    ),
    asked=("Что вас привело?", "Вас что-то беспокоит?"),
    short=("Хотите бросить?", "Да."),
    counted="29 words, 4 sentences",
    language="ru",
)

_FORMULAS = (
    Formula(
        "flesch_oborneva",
        "Flesch reading ease (Oborneva)",
        "flesch_reading_ease",
        ("ru",),
        "206.835 − 1.3 · words / sentences − 60.1 · syllables / words. Higher is easier.",
        "Oborneva (2006), Automated assessment of the complexity of educational texts by statistical "
        "parameters, dissertation, Moscow (in Russian)",
        206.835 - 1.3 * 29 / 4 - 60.1 * 54 / 29,
        "54 syllables",
        digits=1,
    ),
)

FAMILY = language_family(
    "readability_russian",
    title="Readability (Russian)",
    languages={"ru": "Russian"},
    formulas=_FORMULAS,
    sample=_SAMPLE,
    description=(
        "A Russian formula on what clinician and patient say, of each role over the session and of each turn."
    ),
)
