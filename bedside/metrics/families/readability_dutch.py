"""Readability of what clinician and patient say, in Dutch: Flesch by Douma."""

from __future__ import annotations

from bedside.metrics.readability_formulas import Formula, WorkedTalk, language_family

_SAMPLE = WorkedTalk(
    said=(
        "Ik heb sinds drie weken elke morgen veel pijn in mijn hoofd. De tabletten helpen maar heel weinig",
        "Mijn moeder had een tumor in haar hoofd. Daarom ben ik bang voor het onderzoek.",
    ),
    asked=("Waarvoor komt u?", "Is er iets waar u zich zorgen over maakt?"),
    short=("Wilt u stoppen?", "Zeker."),
    counted="33 words, 4 sentences",
    language="nl",
)

_FORMULAS = (
    Formula(
        "flesch_douma",
        "Flesch reading ease (Douma)",
        "flesch_reading_ease",
        ("nl",),
        "206.835 − 0.93 · words / sentences − 77 · syllables / words. Higher is easier.",
        "Douma (1960), De leesbaarheid van landbouwbladen, Bulletin 17, Landbouwhogeschool Wageningen",
        206.835 - 0.93 * 33 / 4 - 77 * 45 / 33,
        "45 syllables",
        digits=1,
    ),
)

FAMILY = language_family(
    "readability_dutch",
    title="Readability (Dutch)",
    languages={"nl": "Dutch"},
    formulas=_FORMULAS,
    sample=_SAMPLE,
    description=("A Dutch formula on what clinician and patient say, of each role over the session and of each turn."),
)
