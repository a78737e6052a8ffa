"""Readability of what clinician and patient say, in French: Flesch by Kandel and Moles."""

from __future__ import annotations

from bedside.metrics.readability_formulas import Formula, WorkedTalk, language_family

_SAMPLE = WorkedTalk(
    said=(
        "Depuis un mois je me lève avec un grand mal de tête. Les cachets ne me font pas grand bien",
        "Ma mère est morte dans son lit. Pour cela je suis dans la peur de la mort.",
    ),
    asked=("Qu'est-ce qui vous amène ?", "Y a-t-il quelque chose qui vous inquiète ?"),
    short=("Voulez-vous arrêter ?", "Oui."),
    counted="37 words, 4 sentences",
    language="fr",
)

_FORMULAS = (
    Formula(
        "flesch_kandel_moles",
        "Flesch reading ease (Kandel and Moles)",
        "flesch_reading_ease",
        ("fr",),
        "207 − 1.015 · words / sentences − 73.6 · syllables / words. Higher is easier.",
        "Kandel & Moles (1958), Application de l'indice de Flesch à la langue française, Cahiers "
        "d'études de radio-télévision 19, 253–274",
        207 - 1.015 * 37 / 4 - 73.6 * 40 / 37,
        "40 syllables",
        digits=1,
    ),
)

FAMILY = language_family(
    "readability_french",
    title="Readability (French)",
    languages={"fr": "French"},
    formulas=_FORMULAS,
    sample=_SAMPLE,
    description=("A French formula on what clinician and patient say, of each role over the session and of each turn."),
)
