"""Readability of what clinician and patient say by its long words, in eleven languages: LIX and RIX."""

from __future__ import annotations

from bedside.metrics.readability_formulas import Formula, WorkedTalk, language_family

_SAMPLE = WorkedTalk(
    said=(
        "Jag har haft svår huvudvärk varje morgon i tre veckor. Det blir bättre efter frukosten",
        "Min mamma hade en tumör i huvudet. Jag är rädd att det är samma sak.",
    ),
    asked=("Vad söker du för?", "Är det något som oroar dig?"),
    short=("Vill du sluta?", "Ja."),
    counted="30 words, 4 sentences",
    language="sv",
)

_FORMULAS = (
    Formula(
        "lix",
        "LIX",
        "lix",
        (),
        "Words / sentences + percentage of words of more than six letters. Below 30 is very easy, above "
        "60 very difficult, in Swedish.",
        "Björnsson (1983), Readability of newspapers in 11 languages, Reading Research Quarterly 18, 480–497",
        30 / 4 + 300 / 30,
        "3 of them of more than six letters (huvudvärk, frukosten, huvudet)",
        low=0,
        digits=1,
    ),
    Formula(
        "rix",
        "RIX",
        "rix",
        (),
        "Words of more than six letters / sentences. Below 0.2 is read in the first school year and 7.2 "
        "or more at college, in English.",
        "Anderson (1983), Lix and Rix: variations on a little-known readability index, Journal of Reading 26, 490–496",
        3 / 4,
        "3 of them of more than six letters (huvudvärk, frukosten, huvudet)",
        low=0,
    ),
)

FAMILY = language_family(
    "readability_long_words",
    title="Readability by long words (eleven languages)",
    languages={
        "da": "Danish",
        "en": "English",
        "fi": "Finnish",
        "fr": "French",
        "de": "German",
        "it": "Italian",
        "nb": "Norwegian Bokmål",
        "nn": "Nynorsk",
        "no": "Norwegian",
        "pt": "Portuguese",
        "ru": "Russian",
        "es": "Spanish",
        "sv": "Swedish",
    },
    formulas=_FORMULAS,
    sample=_SAMPLE,
    description=(
        "Formulas that need no syllables, on what clinician and patient say, of each role over the "
        "session and of each turn; in the languages that Björnsson compared. Values of two languages "
        "are not on one scale: newspapers had 47 in Swedish, 52 in English, 59 in German and 72 in "
        "Finnish."
    ),
)
