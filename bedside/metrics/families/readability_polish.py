"""Readability of what clinician and patient say, in Polish: the fog index."""

from __future__ import annotations

from bedside.metrics.readability_formulas import Formula, WorkedTalk, language_family

_SAMPLE = WorkedTalk(
    said=(
        "Od trzech tygodni mam rano bardzo silne bóle głowy i nudności. Tabletki pomagają mi tylko trochę",
        "Moja mama miała guza w głowie i umarła. Dlatego boję się tego przeprowadzanego badania.",
    ),
    asked=("Co pana sprowadza?", "Czy coś pana niepokoi?"),
    short=("Chce pan przestać?", "Tak."),
    counted="30 words, 4 sentences",
    language="pl",
)

_FORMULAS = (
    Formula(
        "gunning_fog_polish",
        "Fog index, Polish",
        "gunning_fog",
        ("pl",),
        "0.4 · (words / sentences + percentage of hard words), years of schooling; hard is a word of "
        "four or more syllables, where English has three. As textstat has it words of an English list "
        "of easy words don't count as hard, and words stand as they are said: others take their base "
        "forms.",
        "Broda, Nitoń, Gruszczyński & Ogrodniczuk (2014), Measuring readability of Polish texts: "
        "baseline experiments, LREC 2014, 573–580",
        0.4 * (30 / 4 + 200 / 30),
        "2 of them hard (pomagają, przeprowadzanego)",
        low=0,
    ),
)

FAMILY = language_family(
    "readability_polish",
    title="Readability (Polish)",
    languages={"pl": "Polish"},
    formulas=_FORMULAS,
    sample=_SAMPLE,
    description=("A Polish formula on what clinician and patient say, of each role over the session and of each turn."),
)
