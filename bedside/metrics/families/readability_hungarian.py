"""Readability of what clinician and patient say, in Hungarian: Flesch and the fog index."""

from __future__ import annotations

from bedside.metrics.readability_formulas import Formula, WorkedTalk, language_family

_SAMPLE = WorkedTalk(
    said=(
        "Három hete minden reggel nagyon fáj a fejem és utána fáradt vagyok. A tabletta csak kicsit segít nekem",
        "Az anyám fejében daganat volt. Ezért félek a fájdalom kezelhetetlenségétől nagyon.",
    ),
    asked=("Mi hozta ide?", "Van valami, ami aggasztja?"),
    short=("Abba akarja hagyni?", "Igen."),
    counted="29 words, 4 sentences",
    language="hu",
)

_FORMULAS = (
    Formula(
        "flesch_hungarian",
        "Flesch reading ease, Hungarian",
        "flesch_reading_ease",
        ("hu",),
        "206.835 − 1.015 · words / sentences − 58.5 · syllables / words. Higher is easier.",
        "Dóra (2019), Olvashatósági tesztek: elmélet és gyakorlat, Képzés és Gyakorlat 17(2), 21–34; as "
        "textstat takes it",
        206.835 - 1.015 * 29 / 4 - 58.5 * 58 / 29,
        "58 syllables",
        digits=1,
    ),
    Formula(
        "gunning_fog_hungarian",
        "Fog index, Hungarian",
        "gunning_fog",
        ("hu",),
        "0.4 · (words / sentences + percentage of hard words), years of schooling; hard is a word of "
        "five or more syllables, where English has three. As textstat has it words of an English list "
        "of easy words don't count as hard.",
        "Dóra (2019), Olvashatósági tesztek: elmélet és gyakorlat, Képzés és Gyakorlat 17(2), 21–34; as "
        "textstat takes it",
        0.4 * (29 / 4 + 100 / 29),
        "1 of them hard (kezelhetetlenségétől)",
        low=0,
    ),
)

FAMILY = language_family(
    "readability_hungarian",
    title="Readability (Hungarian)",
    languages={"hu": "Hungarian"},
    formulas=_FORMULAS,
    sample=_SAMPLE,
    description=(
        "Hungarian formulas on what clinician and patient say, of each role over the session and of "
        "each turn. Who brought them into textstat reports a fault of method in the publication that "
        "they are from: compare with them rather than take them for grades."
    ),
)
